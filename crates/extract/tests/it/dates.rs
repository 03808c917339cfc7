//! The dates that documents state, as the programs wrote them.

use resemble_core::date::DateSource::{
    MailDate, OfficeModified, OpenModified, PdfCreated, PdfModified, XmpModified,
};
use resemble_core::date::DocumentDate;
use resemble_testutil::office;

use crate::pieces::{gzip, page, sample, stored, take, zip};

/// The date of a file, and nothing of it was skipped.
fn date(name: &str, bytes: &[u8]) -> Option<DocumentDate> {
    let pieces = take(name, bytes).unwrap_or_else(|why| panic!("{name}: {why}"));
    assert_eq!(pieces.skipped, [], "{name}");
    pieces.date
}

#[test]
fn every_format_states_its_date() {
    let expected = [
        ("notes.docx", Some((OfficeModified, 1_795_272_218))),
        ("talk.pptx", Some((OfficeModified, 1_795_272_219))),
        (
            "prices-openpyxl.xlsx",
            Some((OfficeModified, 1_795_865_752)),
        ),
        ("talk.odp", Some((OpenModified, 1_795_272_219))),
        ("minutes-browser.pdf", Some((PdfModified, 1_795_271_909))),
        ("minutes-writer.pdf", Some((PdfCreated, 1_795_270_955))),
        ("water-ghostscript.pdf", Some((PdfModified, 1_795_272_275))),
        ("minutes.eml", Some((MailDate, 1_767_261_600))),
        ("minutes.docx", None),
        ("minutes.odt", None),
        ("minutes.rtf", None),
    ];
    for (name, stated) in expected {
        let stated = stated.map(|(source, seconds)| DocumentDate { seconds, source });
        assert_eq!(date(name, &sample(name)), stated, "{name}");
    }
}

#[test]
fn a_packet_states_the_date_where_the_dictionary_does_not() {
    let packet = "<x:xmpmeta><rdf:Description xmp:ModifyDate=\"2024-03-05T11:22:33+01:00\"/>\
                  </x:xmpmeta>";
    let mut pdf = page(
        "BT /F1 10 Tf 40 700 Td (words of a page) Tj ET",
        "",
        &[format!(
            "<</Type/Metadata/Subtype/XML/Length {}>>\nstream\n{packet}\nendstream",
            packet.len()
        )],
    );
    // The catalogue names its packet. Offsets behind it are off then: objects are found anyway.
    let (from, to) = (
        &b"<</Type/Catalog/Pages 2 0 R>>"[..],
        &b"<</Pages 2 0 R/Metadata 6 0 R>>"[..],
    );
    assert!(pdf.windows(from.len()).any(|window| window == from));
    let at = pdf
        .windows(from.len())
        .position(|window| window == from)
        .unwrap();
    pdf.splice(at..at + from.len(), to.iter().copied());
    let stated = take("a.pdf", &pdf).unwrap().date;
    assert_eq!(
        stated,
        Some(DocumentDate {
            seconds: 1_709_634_153,
            source: XmpModified
        })
    );
}

#[test]
fn what_lies_in_a_file_is_not_its_date() {
    let document = office::dated_docx("some words", "2024-03-05T10:22:33Z");
    assert!(date("a.docx", &document).is_some());
    assert_eq!(date("a.zip", &zip(&[stored("a.docx", &document)])), None);
    assert_eq!(date("a.docx.gz", &gzip(&document)), None);
}

#[test]
fn odd_dates_cost_nothing_but_the_date() {
    for odd in [
        "",
        "soon",
        "99999999999999999999",
        "2024-99-99T99:99:99Z",
        "<b>",
        "&lol;",
    ] {
        let pieces = take("a.docx", &office::dated_docx("some words", odd)).unwrap();
        assert_eq!((pieces.date, &pieces.skipped[..]), (None, &[][..]), "{odd}");
        assert_eq!(pieces.bytes_of("*").trim_ascii(), b"some words", "{odd}");
    }
}
