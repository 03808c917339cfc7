//! Tests the dates that documents, web pages and pictures state.

use resemble_core::date::DateSource::{
    ExifDigitized, ExifModified, ExifTaken, MailDate, OfficeModified, OpenModified, PdfCreated,
    PdfModified, TermsModified, XmpModified,
};
use resemble_core::date::{DateSource, DocumentDate};
use resemble_extract::{Extractor, Workers};
use resemble_testutil::picture::{DIGITIZED, MODIFIED, TAKEN, heic, jpeg, png, tiff};
use resemble_testutil::{fuzz, office};

use crate::pieces::{gzip, limits, page, program, sample, stored, take, take_with, zip};

/// Returns the date that a file states. Checks that nothing of the file was skipped.
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
fn a_date_of_a_pdf_needs_no_mark() {
    let expected = |source| {
        Some(DocumentDate {
            seconds: 1_709_634_153,
            source,
        })
    };
    for (properties, source) in [
        ("/ModDate(D:20240305112233+01'00')", PdfModified),
        ("/ModDate(20240305112233+01'00')", PdfModified),
        ("/CreationDate(20240305102233)/ModDate()", PdfCreated),
        // This text is in UTF-16.
        (
            "/ModDate<FEFF00320030003200340030003300300035003100300032003200330033>",
            PdfModified,
        ),
    ] {
        let more = [format!("<<{properties}>>")];
        let mut pdf = page("BT /F1 10 Tf 40 700 Td (words of a page) Tj ET", "", &more);
        let end = memchr::memmem::rfind(&pdf, b">>\nstartxref").unwrap();
        pdf.splice(end..end, b"/Info 6 0 R".iter().copied());
        assert_eq!(date("a.pdf", &pdf), expected(source), "{properties}");
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
    // Makes the catalogue of the document refer to the XMP packet. This shifts the offsets of
    // objects, but the library finds them anyway.
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

/// Returns the date that a picture or a page states, and the source of the date.
fn stated(name: &str, bytes: &[u8]) -> Option<(DateSource, i64)> {
    date(name, bytes).map(|date| (date.source, date.seconds))
}

#[test]
fn pictures_state_the_date_of_exif() {
    let texts = [(TAKEN.0, "2024:03:05 10:22:33")];
    let expected = Some((ExifTaken, 1_709_634_153));
    let exif = tiff(&texts, 0);
    assert_eq!(stated("a.jpg", &jpeg(&exif, &[7; 9])), expected);
    assert_eq!(stated("a", &png(&exif)), expected);
    assert_eq!(stated("a", &exif), expected);
    assert_eq!(stated("a.heic", &heic(&exif, 0)), expected);
    // The directory may be far behind, after the picture data.
    assert_eq!(stated("a.tif", &tiff(&texts, 300_000)), expected);
    assert_eq!(stated("a.heic", &heic(&exif, 300_000)), expected);
}

#[test]
fn the_last_change_of_a_picture_counts_in_its_own_zone() {
    let changed = (MODIFIED.0, "2024:03:06 10:22:33");
    let taken = (TAKEN.0, "2024:03:05 10:22:33");
    let digitized = (DIGITIZED.0, "2024:03:04 10:22:33");
    let of = |texts: &[(u16, &str)]| stated("a.jpg", &jpeg(&tiff(texts, 0), b""));
    let expected = Some((ExifModified, 1_709_720_553));
    assert_eq!(of(&[changed, taken, digitized]), expected);
    assert_eq!(of(&[digitized]), Some((ExifDigitized, 1_709_547_753)));
    // A blank or invalid date is ignored.
    let blank = (MODIFIED.0, "    :  :     :  :  ");
    let zero = (MODIFIED.0, "0000:00:00 00:00:00");
    for odd in [blank, zero, (MODIFIED.0, "soon")] {
        assert_eq!(
            of(&[odd, taken]),
            Some((ExifTaken, 1_709_634_153)),
            "{odd:?}"
        );
    }
    for (zone, seconds) in [
        ("+01:00", 1_709_630_553),
        ("-09:30", 1_709_668_353),
        ("   :  ", 1_709_634_153),
        ("+99:99", 1_709_634_153),
    ] {
        let found = of(&[taken, (TAKEN.1, zone)]);
        assert_eq!(found, Some((ExifTaken, seconds)), "{zone}");
    }
}

#[test]
fn pages_state_a_date_in_their_head_alone() {
    let page = |before: usize| {
        let style = " ".repeat(before);
        format!(
            "<!doctype html><head><style>{style}</style><meta name=dcterms.modified \
             content=2024-03-05></head><body><p>Words of a page.</p>"
        )
    };
    let expected = Some((TermsModified, 1_709_596_800));
    // A date after the first 4 KiB is also found. A date after 64 KiB is not found.
    for before in [0, 5_000] {
        assert_eq!(stated("a.html", page(before).as_bytes()), expected);
    }
    assert_eq!(stated("a.html", page(70_000).as_bytes()), None);
    // A page in another encoding than UTF-8 has a date and an extracted text.
    let latin = [
        page(0).as_bytes(),
        &b"\xe9t\xe9 caf\xe9 d\xe9j\xe0 ".repeat(9),
    ]
    .concat();
    assert_eq!(stated("a.html", &latin), expected);
    // The page is also stored in UTF-16, with and without a byte order mark.
    let units: Vec<u16> = page(0).encode_utf16().collect();
    let little: Vec<u8> = units.iter().copied().flat_map(u16::to_le_bytes).collect();
    let big: Vec<u8> = units.iter().copied().flat_map(u16::to_be_bytes).collect();
    assert_eq!(stated("a.html", &little), expected);
    assert_eq!(
        stated("a.html", &[&b"\xfe\xff"[..], &big].concat()),
        expected
    );
}

#[test]
fn what_states_no_date_is_nothing_to_look_into() {
    let extractor = Extractor::new(Workers::OfOurs(program()), limits(), Vec::new());
    let exif = tiff(&[(TAKEN.0, "2024:03:05 10:22:33")], 0);
    let picture = jpeg(&exif, b"");
    // A picture has a date but no parts.
    assert!(extractor.may_state_date(&picture) && !extractor.applies(b"a.jpg", &picture, None));
    let without = [&b"\xff\xd8\xff\xe0"[..], &[0; 90]].concat();
    for none in [
        &without[..],
        b"\x89PNG\r\n\x1a\n",
        b"\0\0\0\x18ftypisom\0\0\0\0isom",
        b"<html><head></head><body>",
        b"<svg/>",
        b"a text",
        b"",
    ] {
        let is_any = extractor.may_state_date(none) || extractor.format(b"a", none).is_some();
        assert!(!is_any, "{}", String::from_utf8_lossy(none));
    }
}

#[test]
fn pictures_in_archives_cost_nothing() {
    let picture = jpeg(&tiff(&[(TAKEN.0, "2024:03:05 10:22:33")], 0), b"");
    let pieces = take("a.zip", &zip(&[stored("a.jpg", &picture)])).unwrap();
    assert_eq!((pieces.date, pieces.paths().len()), (None, 1));
}

#[test]
fn changed_pictures_are_read_or_state_nothing() {
    let texts = [
        (MODIFIED.0, "2024:03:06 10:22:33"),
        (TAKEN.0, "2024:03:05 10:22:33"),
    ];
    let exif = tiff(&texts, 0);
    let extractor = Extractor::new(Workers::OfOurs(program()), limits(), Vec::new());
    for (name, sample) in [
        ("a.jpg", jpeg(&exif, b"")),
        ("a.png", png(&exif)),
        ("a.tif", tiff(&texts, 90)),
        ("a.heic", heic(&exif, 90)),
    ] {
        fuzz(name, 40, vec![sample, Vec::new()], &mut |bytes| {
            let is_any = extractor.format(name.as_bytes(), bytes).is_some();
            is_any
                && take_with(&extractor, name, bytes).is_ok_and(|pieces| {
                    assert_eq!(pieces.skipped, [], "{name}");
                    pieces.date.is_some()
                })
        });
    }
}
