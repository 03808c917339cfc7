//! Tests that cells of spreadsheets have the text that programs show.

use crate::pieces::{sample, take};
use resemble_core::words::canonical;
use resemble_extract::Skipped;
use resemble_testutil::pack;

fn text(name: &str, bytes: &[u8]) -> String {
    let pieces = take(name, bytes).unwrap_or_else(|why| panic!("{name}: {why}"));
    assert_eq!(pieces.paths(), ["*"], "{name}");
    String::from_utf8(pieces.all[0].bytes.clone()).unwrap()
}

#[test]
fn a_sheet_is_the_same_text_whatever_program_saved_it() {
    let csv = canonical(&sample("prices.csv"));
    let csv = String::from_utf8(csv).unwrap();
    assert!(csv.len() > 500);
    for name in [
        "prices-openpyxl.xlsx",
        "prices-libreoffice.xlsx",
        "prices-libreoffice.ods",
        "prices-gnumeric.xlsx",
        "prices-gnumeric.ods",
    ] {
        let words = canonical(text(name, &sample(name)).as_bytes());
        assert_eq!(String::from_utf8(words).unwrap(), csv, "{name}");
    }
}

const MAIN: &str = "http://schemas.openxmlformats.org/";

/// Makes a workbook of one sheet from these pieces of XML.
fn xlsx(properties: &str, styles: &str, strings: &str, rows: &str) -> Vec<u8> {
    let related = |kind: &str, to: &str| {
        format!("<Relationship Id=\"{kind}\" Type=\"{MAIN}x/{kind}\" Target=\"{to}\"/>")
    };
    let relations = related("officeDocument", "xl/workbook.xml");
    let of_book = related("worksheet", "s.xml")
        + &related("styles", "styles.xml")
        + &related("sharedStrings", "strings.xml");
    let of_sheet = related("comments", "comments.xml");
    pack::zip(&[
        ("[Content_Types].xml", b"<Types/>"),
        (
            "_rels/.rels",
            format!("<Relationships>{relations}</Relationships>").as_bytes(),
        ),
        (
            "xl/workbook.xml",
            format!(
                "<workbook xmlns:r=\"r\">{properties}<sheets><sheet r:id=\"worksheet\"/></sheets>\
                 </workbook>"
            )
            .as_bytes(),
        ),
        (
            "xl/_rels/workbook.xml.rels",
            format!("<Relationships>{of_book}</Relationships>").as_bytes(),
        ),
        (
            "xl/_rels/s.xml.rels",
            format!("<Relationships>{of_sheet}</Relationships>").as_bytes(),
        ),
        ("xl/styles.xml", styles.as_bytes()),
        ("xl/strings.xml", strings.as_bytes()),
        (
            "xl/comments.xml",
            b"<comments><authors><author>Ada</author></authors><comment><text><r><t>too \
              </t></r><r><t>much</t></r></text></comment></comments>",
        ),
        (
            "xl/s.xml",
            format!("<worksheet><sheetData>{rows}</sheetData></worksheet>").as_bytes(),
        ),
    ])
}

const STYLES: &str = "<styleSheet><numFmts><numFmt numFmtId=\"170\" formatCode=\"0.0&quot; \
                      kg&quot;\"/><numFmt numFmtId=\"171\" formatCode=\";;;\"/></numFmts>\
                      <cellStyleXfs><xf numFmtId=\"9\"/></cellStyleXfs><cellXfs><xf \
                      numFmtId=\"0\"/><xf numFmtId=\"14\"/><xf numFmtId=\"170\"/><xf \
                      numFmtId=\"171\"/></cellXfs></styleSheet>";

const STRINGS: &str = "<sst><si><r><t>rich </t></r><r><t>text</t></r><rPh><t>sound</t></rPh></si>\
                       <si><t>second</t></si></sst>";

#[test]
fn cells_of_a_workbook_are_shown_by_their_kind_and_style() {
    let rows = "<row><c t=\"s\"><v>0</v></c><c t=\"s\"><v>1</v></c><c t=\"s\"><v>7</v></c>\
                <c t=\"inlineStr\"><is><t>here</t><rPh><t>x</t></rPh></is></c></row>\
                <row><c t=\"b\"><v>1</v></c><c t=\"b\"><v>0</v></c><c t=\"e\"><v>#N/A</v></c>\
                <c t=\"str\"><f>A1&amp;\"!\"</f><v>made</v></c>\
                <c t=\"d\"><v>2024-01-31</v></c></row>\
                <row><c><v>0.30000000000000004</v></c><c s=\"1\"><v>43844</v></c>\
                <c s=\"2\"><f>SUM(1)</f><v>12.26</v></c><c s=\"3\"><v>9</v></c>\
                <c s=\"3\" t=\"s\"><v>1</v></c><c s=\"99\"><v>5</v></c><c><v>odd</v></c></row>";
    for (properties, day) in [
        ("", "2020-01-14"),
        ("<workbookPr date1904=\"1\"/>", "2024-01-15"),
    ] {
        let text = text("x", &xlsx(properties, STYLES, STRINGS, rows));
        let expected = format!(
            "rich text\tsecond\t\there\t\nTRUE\tFALSE\t#N/A\tmade\t2024-01-31\t\n\
             0.3\t{day}\t12.3 kg\t\t\t5\todd\t\ntoo much\n"
        );
        assert_eq!(text, expected);
    }
    // If the workbook lacks styles and strings, numbers are shown unchanged.
    let rows = "<row><c s=\"1\"><v>1.5</v></c></row>";
    let bare = text("x", &xlsx("", "<styleSheet/>", "<sst/>", rows));
    assert_eq!(bare, "1.5\t\ntoo much\n");
}

#[test]
fn a_binary_workbook_is_not_supported() {
    let to = format!(
        "<Relationships><Relationship Id=\"a\" Type=\"{MAIN}officeDocument\" \
         Target=\"xl/workbook.bin\"/></Relationships>"
    );
    let bytes = pack::zip(&[
        ("[Content_Types].xml", b"<Types/>"),
        ("_rels/.rels", to.as_bytes()),
        ("xl/workbook.bin", b"\x83\x01\0"),
    ]);
    let why = Skipped::Unsupported("a binary workbook".to_owned());
    assert_eq!(take("x.xlsb", &bytes).unwrap_err(), why);
}

/// Makes an Open Document spreadsheet.
fn ods(styles: &str, table: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content><office:automatic-styles>{styles}</office:automatic-styles>\
         <office:body><office:spreadsheet><table:table>{table}</table:table>\
         </office:spreadsheet></office:body></office:document-content>"
    );
    pack::zip(&[
        (
            "mimetype",
            b"application/vnd.oasis.opendocument.spreadsheet",
        ),
        ("content.xml", content.as_bytes()),
    ])
}

fn cell(attributes: &str, shown: &str) -> String {
    format!("<table:table-cell {attributes}><text:p>{shown}</text:p></table:table-cell>")
}

#[test]
fn cells_of_open_document_are_shown_by_their_style() {
    let styles = "<number:number-style style:name=\"two\"><number:number \
                  number:decimal-places=\"2\"/></number:number-style>\
                  <number:number-style style:name=\"any\"><number:number \
                  number:min-integer-digits=\"1\"/></number:number-style>\
                  <style:style style:family=\"table-cell\" style:name=\"a\" \
                  style:data-style-name=\"two\"/><style:style style:family=\"table-cell\" \
                  style:name=\"b\" style:parent-style-name=\"a\"/><style:style \
                  style:family=\"table-cell\" style:name=\"c\" style:data-style-name=\"any\"/>";
    let float = "office:value-type=\"float\" office:value=\"1.23456789012345678\"";
    let with = |style: &str| cell(&format!("{float} table:style-name=\"{style}\""), "1.23");
    let date = "office:value-type=\"date\" office:date-value=\"2024-01-31T13:05:00\"";
    let table = [
        "<table:table-column table:number-columns-repeated=\"2\"/>",
        "<table:table-column table:default-cell-style-name=\"a\"/><table:table-row>",
        &with("a"),
        &with("b"),
        &with("c"),
        "</table:table-row><table:table-row>",
        // The third cell has no style of its own, so it has the style of its column.
        &cell(
            &format!("{float} table:number-columns-repeated=\"2\""),
            "1,23",
        ),
        &cell(float, "\u{2212}1.23"),
        "</table:table-row><table:table-row table:number-rows-repeated=\"2\">",
        &cell(date, "1/31/24 13:05"),
        &cell(date, "31.01.2024"),
        &cell(float, "TRUE"),
        "</table:table-row><table:table-row table:number-rows-repeated=\"1048000\">",
        "<table:table-cell table:number-columns-repeated=\"16384\"/></table:table-row>",
    ]
    .concat();
    assert_eq!(
        text("x", &ods(styles, &table)),
        "1.23\t1.23\t1.23456789012346\t\n1.23456789012346\t1.23456789012346\t-1.23\t\n\
         2024-01-31 13:05\t31.01.2024\tTRUE\t\n2024-01-31 13:05\t31.01.2024\tTRUE\t\n\t\n"
    );
}

#[test]
fn what_repeats_without_end_is_bounded() {
    let long = "word ".repeat(1000);
    let many = "table:number-columns-repeated=\"99999999999\"";
    let inner = [
        "<table:table-row table:number-rows-repeated=\"99999999999\">",
        &cell(many, &long),
        "</table:table-row>",
    ]
    .concat();
    // The rows are nested in cells of rows, and each row is repeated.
    let mut table = inner.clone();
    for _ in 0..5 {
        table = [
            "<table:table-row table:number-rows-repeated=\"1048576\"><table:table-cell ",
            many,
            ">",
            &table,
            "</table:table-cell></table:table-row>",
        ]
        .concat();
    }
    for table in [inner, table] {
        let result = take("x.ods", &ods("", &table));
        assert!(
            matches!(result, Err(Skipped::TooMuch(_))),
            "{:?}",
            result.map(|pieces| pieces.all.len())
        );
    }
}
