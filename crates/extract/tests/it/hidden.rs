//! Tests that hidden text of documents is left out and reported.

use crate::pieces::{sample, take};
use resemble_core::words::canonical;
use resemble_testutil::pack;

/// Returns the words of a document, and the reports of what was skipped.
fn words(bytes: &[u8]) -> (String, Vec<String>) {
    let pieces = take("x", bytes).unwrap();
    let words = canonical(pieces.bytes_of("*"));
    (String::from_utf8(words).unwrap(), pieces.skips())
}

/// Makes an Office document with this body and these styles.
fn docx(body: &str, styles: &str) -> Vec<u8> {
    let related = |kind: &str, to: &str| {
        format!(
            "<Relationships><Relationship Id=\"a\" Type=\"x/{kind}\" Target=\"{to}\"/>\
             </Relationships>"
        )
    };
    let document = format!("<w:document><w:body>{body}</w:body></w:document>");
    pack::zip(&[
        ("[Content_Types].xml", b"<Types/>"),
        (
            "_rels/.rels",
            related("officeDocument", "w/d.xml").as_bytes(),
        ),
        ("w/_rels/d.xml.rels", related("styles", "s.xml").as_bytes()),
        ("w/d.xml", document.as_bytes()),
        (
            "w/s.xml",
            format!("<w:styles>{styles}</w:styles>").as_bytes(),
        ),
    ])
}

fn run(properties: &str, text: &str) -> String {
    format!("<w:r><w:rPr>{properties}</w:rPr><w:t>{text} </w:t></w:r>")
}

#[test]
fn hidden_runs_of_a_docx_are_left_out() {
    let styles = "<w:style w:styleId=\"Secret\"><w:rPr><w:vanish/></w:rPr></w:style>\
                  <w:style w:styleId=\"Based\"><w:basedOn w:val=\"Secret\"/></w:style>\
                  <w:style w:styleId=\"Open\"><w:basedOn w:val=\"Secret\"/><w:rPr><w:vanish \
                  w:val=\"0\"/></w:rPr></w:style><w:style w:styleId=\"Loop\"><w:basedOn \
                  w:val=\"Loop\"/></w:style>";
    let of = |style: &str| format!("<w:rStyle w:val=\"{style}\"/>");
    let paragraph = |style: &str, runs: &str| {
        format!(
            "<w:p><w:pPr><w:pStyle w:val=\"{style}\"/><w:rPr><w:vanish/></w:rPr></w:pPr>{runs}\
             </w:p>"
        )
    };
    let body = [
        paragraph("None", &run("", "one")),
        paragraph(
            "Loop",
            &[
                run("<w:vanish/>", "hidden"),
                run("<w:vanish w:val=\"false\"/>", "two"),
                run(&of("Secret"), "hidden"),
                run(&of("Based"), "hidden"),
                run(&of("Open"), "three"),
                run(
                    "<w:rPrChange><w:rPr><w:vanish/></w:rPr></w:rPrChange>",
                    "four",
                ),
            ]
            .concat(),
        ),
        // Both the style of the paragraph and the style of the characters hide the text. In this
        // case, the text is shown.
        paragraph(
            "Secret",
            &[run("", "hidden"), run(&of("Secret"), "five")].concat(),
        ),
        // The text is in a text box, and the run that contains the box is hidden.
        format!(
            "<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:drawing><w:p>{}</w:p></w:drawing></w:r>{}\
             </w:p>",
            run("", "hidden"),
            run("", "six")
        ),
        "<w:p><w:del><w:r><w:t>deleted</w:t></w:r></w:del></w:p>".to_owned(),
    ]
    .concat();
    let (words, skips) = words(&docx(&body, styles));
    assert_eq!(words, "one two three four five six ");
    assert_eq!(skips, [": left out on purpose: hidden text, 5 pieces"]);
}

/// Makes an Open Document text with this body.
fn odt(body: &str) -> Vec<u8> {
    let content = format!(
        "<office:document-content><office:automatic-styles><style:style \
         style:family=\"text\" style:name=\"T1\"><style:text-properties \
         text:display=\"none\"/></style:style><style:style style:family=\"paragraph\" \
         style:name=\"P1\" style:parent-style-name=\"Secret\"/><style:style \
         style:family=\"paragraph\" style:name=\"T1\"/></office:automatic-styles><office:body>\
         <office:text>{body}</office:text></office:body></office:document-content>"
    );
    let styles = "<office:document-styles><office:styles><style:style \
                  style:family=\"paragraph\" style:name=\"Secret\"><style:text-properties \
                  text:display=\"none\"/></style:style></office:styles></office:document-styles>";
    pack::zip(&[
        ("mimetype", b"application/vnd.oasis.opendocument.text"),
        ("content.xml", content.as_bytes()),
        ("styles.xml", styles.as_bytes()),
    ])
}

#[test]
fn hidden_text_of_an_odt_is_left_out() {
    let paragraph =
        |style: &str, text: &str| format!("<text:p text:style-name=\"{style}\">{text}</text:p>");
    let field = "<text:hidden-text text:is-hidden=\"true\" text:string-value=\"no\">hidden\
                 </text:hidden-text>";
    let shown = "<text:hidden-text text:is-hidden=\"false\">two</text:hidden-text>";
    let span = |text: &str| format!("<text:span text:style-name=\"T1\">{text}</text:span>");
    let section = |attributes: &str, text: &str| {
        format!(
            "<text:section {attributes}>{}</text:section>",
            paragraph("", text)
        )
    };
    let body = [
        paragraph(
            "T1",
            &format!("one {field} {shown} {} three", span("hidden <text:s/>")),
        ),
        paragraph("P1", "hidden"),
        paragraph(
            "",
            "hidden, as is said <text:hidden-paragraph text:is-hidden=\"true\"/> further on",
        ),
        paragraph("", "four <text:hidden-paragraph text:is-hidden=\"false\"/>"),
        section("text:display=\"none\"", "hidden"),
        section(
            "text:display=\"condition\" text:condition=\"x\" text:is-hidden=\"true\"",
            "hidden",
        ),
        section("text:display=\"condition\" text:condition=\"x\"", "five"),
        section("text:display=\"true\"", "six"),
        paragraph("", "seven"),
    ]
    .concat();
    let (words, skips) = words(&odt(&body));
    assert_eq!(words, "one two three four five six seven ");
    assert_eq!(skips, [": left out on purpose: hidden text, 6 pieces"]);
}

#[test]
fn hidden_text_of_an_rtf_is_left_out() {
    let rtf = br"{\rtf1 one {\v hid{\b den}} two\v  hidden\v0  three {\deleted gone \v gone} four
                 {\v {\fonttbl no text} } five}";
    let (words, skips) = words(rtf);
    assert_eq!(words, "one two three four five ");
    assert_eq!(skips, [": left out on purpose: hidden text, 2 pieces"]);
}

#[test]
fn a_document_that_hides_nothing_says_nothing() {
    for name in [
        "minutes.docx",
        "minutes.odt",
        "notes.docx",
        "talk.pptx",
        "plots.ods",
    ] {
        assert_eq!(take(name, &sample(name)).unwrap().skipped, [], "{name}");
    }
}
