//! Makes documents like those of office programs. Such programs put the same styles and fonts into
//! every document.

use std::fmt::Write as _;

use crate::pack;
use crate::random::noise;

/// Returns a word processor document with this text. All such documents share their styles, theme
/// and fonts.
pub fn docx(text: &str) -> Vec<u8> {
    docx_with(text, None)
}

/// Returns the same document as [`docx`], with a modification time such as `2024-03-05T10:22:33Z`.
pub fn dated_docx(text: &str, modified: &str) -> Vec<u8> {
    docx_with(text, Some(modified))
}

fn docx_with(text: &str, modified: Option<&str>) -> Vec<u8> {
    let head = "<?xml version=\"1.0\" encoding=\"UTF-8\" standalone=\"yes\"?>\n";
    let types = format!(
        "{head}<Types xmlns=\"http://schemas.openxmlformats.org/package/2006/content-types\">\
         <Default Extension=\"xml\" ContentType=\"application/xml\"/></Types>"
    );
    let relations = format!(
        "{head}<Relationships \
         xmlns=\"http://schemas.openxmlformats.org/package/2006/relationships\"><Relationship \
         Id=\"r1\" Type=\"http://schemas.openxmlformats.org/officeDocument/2006/relationships/\
         officeDocument\" Target=\"word/document.xml\"/><Relationship Id=\"r2\" \
         Type=\"http://schemas.openxmlformats.org/package/2006/relationships/metadata/\
         core-properties\" Target=\"docProps/core.xml\"/></Relationships>"
    );
    let core = modified.map(|modified| {
        format!(
            "{head}<cp:coreProperties \
             xmlns:cp=\"http://schemas.openxmlformats.org/package/2006/metadata/core-properties\" \
             xmlns:dcterms=\"http://purl.org/dc/terms/\"><dcterms:modified>{modified}\
             </dcterms:modified></cp:coreProperties>"
        )
    });
    let paragraphs = text
        .lines()
        .map(|line| format!("<w:p><w:r><w:t>{line}</w:t></w:r></w:p>"))
        .collect::<Vec<_>>()
        .concat();
    let document = format!(
        "{head}<w:document \
         xmlns:w=\"http://schemas.openxmlformats.org/wordprocessingml/2006/main\"><w:body>\
         {paragraphs}</w:body></w:document>"
    );
    let template = styles();
    let font = noise(5, 30_000);
    let mut parts = vec![
        ("[Content_Types].xml", types.as_bytes()),
        ("_rels/.rels", relations.as_bytes()),
        ("word/document.xml", document.as_bytes()),
        ("word/styles.xml", &template),
        ("word/fonts/font1.odttf", &font),
    ];
    parts.extend(
        core.iter()
            .map(|core| ("docProps/core.xml", core.as_bytes())),
    );
    pack::zip(&parts)
}

fn styles() -> Vec<u8> {
    let names =
        (0..400).map(|n| format!("<w:style w:styleId=\"S{n}\"><w:sz w:val=\"{n}\"/></w:style>"));
    names.collect::<Vec<_>>().concat().into_bytes()
}

/// Returns a text document in `OpenDocument` format. All such documents share their styles and
/// font.
pub fn odt(text: &str) -> Vec<u8> {
    let paragraphs = text
        .lines()
        .map(|line| format!("<text:p>{line}</text:p>"))
        .collect::<Vec<_>>()
        .concat();
    let content = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?><office:document-content \
         xmlns:office=\"urn:oasis:names:tc:opendocument:xmlns:office:1.0\" \
         xmlns:text=\"urn:oasis:names:tc:opendocument:xmlns:text:1.0\"><office:body>\
         <office:text>{paragraphs}</office:text></office:body></office:document-content>"
    );
    pack::zip(&[
        ("mimetype", b"application/vnd.oasis.opendocument.text"),
        ("content.xml", content.as_bytes()),
        ("styles.xml", &styles()),
        ("Fonts/font1.ttf", &noise(5, 30_000)),
    ])
}

/// Returns a PDF of one page with this text. All such documents share their font.
pub fn pdf(text: &str) -> Vec<u8> {
    let mut shown = String::from("BT /F1 10 Tf 12 TL 40 800 Td\n");
    for line in text.lines() {
        writeln!(shown, "({line}) Tj T*").expect("a string");
    }
    shown.push_str("ET");
    let stream = |dictionary: &str, bytes: &[u8]| {
        let head = format!("<< {dictionary} /Length {} >>\nstream\n", bytes.len());
        [head.as_bytes(), bytes, b"\nendstream"].concat()
    };
    let objects: [Vec<u8>; 6] = [
        b"<< /Type /Catalog /Pages 2 0 R >>".to_vec(),
        b"<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_vec(),
        b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Contents 4 0 R \
          /Resources << /Font << /F1 5 0 R >> >> >>"
            .to_vec(),
        stream("", shown.as_bytes()),
        b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"
            .to_vec(),
        stream("/Type /EmbeddedFile", &noise(5, 30_000)),
    ];
    let mut out = b"%PDF-1.4\n".to_vec();
    let mut places = Vec::new();
    for (at, object) in (1..).zip(&objects) {
        places.push(out.len());
        out.extend_from_slice(format!("{at} 0 obj\n").as_bytes());
        out.extend_from_slice(object);
        out.extend_from_slice(b"\nendobj\n");
    }
    let table = out.len();
    let entries = places
        .iter()
        .map(|place| format!("{place:010} 00000 n \n"))
        .collect::<Vec<_>>()
        .concat();
    out.extend_from_slice(
        format!(
            "xref\n0 7\n0000000000 65535 f \n{entries}trailer\n<< /Size 7 /Root 1 0 R >>\n\
             startxref\n{table}\n%%EOF\n"
        )
        .as_bytes(),
    );
    out
}
