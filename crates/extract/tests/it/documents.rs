//! Tests documents that other programs made. The extracted text must be the text that the author
//! wrote. The README of the samples names the programs.

use crate::pieces::{Pieces, page, sample, take};
use resemble_core::words::canonical;
use resemble_extract::{Role, Skipped};

/// Returns the text of a sample. Checks that it has no other part, and that nothing was skipped.
fn text(name: &str) -> String {
    let pieces = take(name, &sample(name)).unwrap_or_else(|why| panic!("{name}: {why}"));
    assert_eq!(pieces.skipped, [], "{name}");
    assert_eq!(pieces.paths(), ["*"], "{name}");
    String::from_utf8(pieces.all[0].bytes.clone()).unwrap()
}

fn words(text: impl AsRef<[u8]>) -> String {
    String::from_utf8(canonical(text.as_ref())).unwrap()
}

#[test]
fn one_text_has_the_same_words_in_every_format() {
    let expected = words(sample("minutes.txt"));
    assert!(expected.len() > 1900);
    assert_eq!(words(sample("minutes.html")), expected, "html");
    for name in [
        "minutes.docx",
        "minutes.odt",
        "minutes.rtf",
        "minutes.epub",
        "minutes.eml",
        "minutes-writer.pdf",
        "minutes-browser.pdf",
    ] {
        assert_eq!(words(text(name)), expected, "{name}");
    }
    let expected = words(sample("water.txt"));
    for name in ["water-ghostscript.pdf", "water-groff.pdf"] {
        assert_eq!(words(text(name)), expected, "{name}");
    }
}

#[test]
fn notes_come_after_the_text() {
    let expected = "the bridge was built in the year of the great flood and mended twice \
                    some say two years earlier ";
    for name in ["notes.docx", "notes.odt"] {
        assert_eq!(words(text(name)), expected, "{name}");
    }
}

#[test]
fn sheets_are_read_row_by_row() {
    let expected = "plot holder rent north 7 zoë łukaszewicz 48 south 2 family o brien 72 \
                    north 7 again 48 168 hives behind the chestnut trees ";
    for name in ["plots.xlsx", "plots.ods"] {
        assert_eq!(words(text(name)), expected, "{name}");
    }
}

#[test]
fn slides_are_read_in_their_order() {
    let expected = "harbour allotment society a short history in three slides water the well \
                    gives eleven litres a minute bees two colonies out of five survived ";
    for name in ["talk.pptx", "talk.odp"] {
        assert_eq!(words(text(name)), expected, "{name}");
    }
}

#[test]
fn what_needs_a_password_is_encrypted() {
    for name in ["encrypted.docx", "encrypted.odt", "encrypted.pdf"] {
        assert_eq!(
            take(name, &sample(name)).unwrap_err(),
            Skipped::Encrypted,
            "{name}"
        );
    }
    // The password of this document protects it only against changes.
    assert!(text("restricted.pdf").starts_with("The secret minutes of the meeting"));
}

#[test]
fn mails_give_their_text_and_what_is_attached() {
    let pieces = take("x", &sample("attached.eml")).unwrap();
    assert_eq!(
        pieces.paths(),
        [
            "*",
            "städte.txt",
            "städte.txt!*",
            "attachment-2.eml",
            "attachment-2.eml!*"
        ]
    );
    assert_eq!(
        words(pieces.bytes_of("*")),
        "abrechnung für märz nur html mit grüßen "
    );
    // An attachment is a member with its original bytes. If the attachment is a text in another
    // encoding, the decoded text is a part of the member.
    assert_eq!(pieces.bytes_of("städte.txt"), b"Z\xfcrich\n");
    assert_eq!(pieces.bytes_of("städte.txt!*"), "Zürich\n".as_bytes());
    assert_eq!(
        words(pieces.bytes_of("attachment-2.eml!*")),
        "inner the inner words "
    );
    assert_eq!(pieces.skipped, []);
}

#[test]
fn a_mail_without_a_valid_charset_is_read_in_the_encoding_of_its_bytes() {
    let words = "Die Gärtner hören, daß der Kompost für die Blumen schön müde war.\n".repeat(20);
    let latin: Vec<u8> = words.chars().map(|c| c as u8).collect();
    let stated = |charset: &str| format!("Content-Type: text/plain; charset={charset}\n");
    for (header, bytes) in [
        (String::new(), &latin[..]),
        (String::new(), words.as_bytes()),
        (stated("unknown-8bit"), &latin),
        (stated("us-ascii"), &latin),
        (stated("us-ascii"), words.as_bytes()),
        (stated("utf-8"), &latin),
        (stated("iso-8859-1"), &latin),
    ] {
        let head =
            format!("From: a@b\nDate: Mon, 06 Jan 2020 10:00:00 +0000\nSubject: x\n{header}");
        let mail = [
            head.as_bytes(),
            b"Content-Transfer-Encoding: 8bit\n\n",
            bytes,
        ]
        .concat();
        let pieces = take("x.eml", &mail).unwrap();
        let text = String::from_utf8_lossy(pieces.bytes_of("*")).into_owned();
        assert!(text.contains(&words), "{header}{text}");
    }
    // This HTML is encoded twice: for the mail, and in a charset that only the markup states.
    let mail = "From: a@b\nDate: Mon, 06 Jan 2020 10:00:00 +0000\nContent-Type: text/html\n\
                Content-Transfer-Encoding: quoted-printable\n\n\
                <meta charset=3Dwindows-1251><p>=CF=E8=F1=FC=EC=EE</p>\n";
    let pieces = take("x.eml", mail.as_bytes()).unwrap();
    let text = String::from_utf8_lossy(pieces.bytes_of("*")).into_owned();
    assert!(text.contains("Письмо"), "{text}");
}

#[test]
fn folders_of_mails_have_each_mail_with_the_bytes_of_its_own_file() {
    let mail = String::from_utf8(sample("minutes.eml"))
        .unwrap()
        .replace("\r\n", "\n");
    let second = "From: a@b\nSubject: two\nMessage-ID: <2>\n\nFrom here on it is quoted.\n";
    let mbox = format!(
        "From zoe@example.org Thu Jan  1 10:00:00 2026\n{mail}\n\
         From a@b Thu Jan  1 11:00:00 2026\n{}\n",
        second.replace("\nFrom here", "\n>From here")
    );
    let pieces = take("x", mbox.as_bytes()).unwrap();
    let first = "1 Minutes of the yearly meeting of the Harbour Allotment Society";
    let inside = format!("{first}!*");
    assert_eq!(pieces.paths(), [first, &*inside, "2 two", "2 two!*"]);
    assert_eq!(pieces.bytes_of(first), mail.as_bytes());
    assert_eq!(pieces.bytes_of("2 two"), second.as_bytes());
    assert_eq!(
        words(pieces.bytes_of(&inside)),
        words(sample("minutes.txt"))
    );
    assert_eq!(
        words(pieces.bytes_of("2 two!*")),
        "two from here on it is quoted "
    );
}

/// The subject of a mail can be any bytes. The name that is made from it must be one component of a
/// path, on one line and of bounded length.
#[test]
fn mails_of_a_folder_are_named_by_their_subjects() {
    let names = |subject: &str| -> String {
        let mbox = format!("From a@b Thu Jan  1 10:00:00 2026\n{subject}\nwords of it\n");
        let pieces = take("x.mbox", mbox.as_bytes()).unwrap();
        pieces.paths()[0].clone()
    };
    assert_eq!(names("Subject: =?utf-8?q?f=C3=BCr?= dich\n"), "1 für dich");
    assert_eq!(names("Subject: a\n  folded\n one\n"), "1 a folded one");
    assert_eq!(
        names("Subject: ../../etc/passwd!x\n"),
        "1 .._.._etc_passwd_x"
    );
    assert_eq!(names("Subject: =?utf-8?q?bell=07=1b[2J?=\n"), "1 bell__[2J");
    for none in ["To: a@b\n", "Subject:\n", "Subject:   \n"] {
        assert_eq!(names(none), "1", "{none}");
    }
    let long = names(&format!("Subject: {}\n", "x".repeat(5000)));
    assert_eq!(long, format!("1 {}", "x".repeat(80)));
}

#[test]
fn a_document_without_text_has_no_part() {
    let image = page("10 10 100 100 re f", "", &[]);
    assert!(take("x.pdf", &image).unwrap().all.is_empty());
    assert!(
        take("x.rtf", b"{\\rtf1\\ansi  \\par }")
            .unwrap()
            .all
            .is_empty()
    );
}

#[test]
fn a_pdf_with_a_wrong_table_is_read_all_the_same() {
    for name in [
        "water-groff.pdf",
        "water-ghostscript.pdf",
        "minutes-writer.pdf",
        "minutes-browser.pdf",
    ] {
        let whole = sample(name);
        let expected = words(text(name));
        // In the first file, bytes were inserted after the mark `%PDF`. In the second file, bytes
        // were inserted before the mark.
        let longer = [&whole[..9], b"% inserted on its way\n", &whole[9..]].concat();
        let late = [b"junk before the mark\n", &whole[..]].concat();
        for (how, bytes) in [("longer", longer), ("late", late)] {
            let pieces = take(name, &bytes).unwrap_or_else(|why| panic!("{name} {how}: {why}"));
            assert_eq!(words(pieces.bytes_of("*")), expected, "{name} {how}");
        }
    }
}

#[test]
fn a_page_is_words_whatever_way_its_glyphs_are_placed() {
    for (content, expected) in [
        ("(one two) Tj", "one two "),
        ("[(o) 20 (ne) -300 (two)] TJ", "one two "),
        ("(one) Tj 40 0 Td (two) Tj", "one two "),
        ("14 TL (one) Tj (two) ' 0 0 (three) \"", "one two three "),
        ("3 Tc (et) Tj", "e t "),
        ("(foot) Tj 5 Ts (note) Tj", "footnote "),
        ("0 1 -1 0 50 50 Tm (one) Tj 0 -14 Td (two) Tj", "one two "),
    ] {
        let pdf = page(&format!("BT /F1 12 Tf 50 700 Td {content} ET"), "", &[]);
        let pieces = take("x.pdf", &pdf).unwrap();
        let all = pieces.all.first().map(|piece| words(&piece.bytes));
        assert_eq!(all.as_deref(), Some(expected), "{content}");
    }
}

#[test]
fn rich_text_is_read_by_its_rules() {
    for (rtf, expected) in [
        (
            r"{\rtf1\ansi\ansicpg1252 caf\'e9 \u8364?\u-10179?\u-8694? end}",
            "café end ",
        ),
        (
            concat!(
                r"{\rtf1{\fonttbl{\f0\fcharset204 Arial Cyr;}{\f1\fcharset128 MS;}}",
                r"\f0 \'e4\'ee\'ec \f1 \'8e\'9a}"
            ),
            "дом 字 ",
        ),
        (
            r"{\rtf1{\info{\title No}}{\*\unknown no}{\pict 00ff}a\par b\tab c\line d}",
            "a b c d ",
        ),
        (r"{\rtf1\uc2 \u233\'c3\'a9t\u233 ??!}", "été "),
        (
            "{\\rtf1 un\r\nbroken \\bin3 }}}word{\\v hidden} \\{brace\\}}",
            "unbroken word brace ",
        ),
        (
            r"{\rtf1 text{\footnote the note} goes on}}} trailing",
            "text goes on the note ",
        ),
    ] {
        let pieces = take("x", rtf.as_bytes()).unwrap();
        assert_eq!(words(pieces.bytes_of("*")), expected, "{rtf}");
    }
}

/// Text after the end of a group belongs to the group around it, however deep that group is.
#[test]
fn rich_text_nested_beyond_any_limit_ends_where_it_ends() {
    let (open, close) = (r"{\b ".repeat(50_000), "}".repeat(50_000));
    let rtf = format!(r"{{\rtf1 first {open}deep{close} last}}");
    let pieces = take("x", rtf.as_bytes()).unwrap();
    assert_eq!(words(pieces.bytes_of("*")), "first deep last ");
}

#[test]
fn markup_in_another_encoding_keeps_its_tags() {
    let html = b"<html><meta charset=\"iso-8859-1\"><p>Gr\xfc\xdfe</p></html>";
    let pieces = take("x", html).unwrap();
    let expected = "<html><meta charset=\"iso-8859-1\"><p>Grüße</p></html>";
    assert_eq!(pieces.bytes_of("*"), expected.as_bytes());
    assert_eq!(words(pieces.bytes_of("*")), "grüße ");
}

#[test]
fn texts_in_other_encodings_have_the_words_of_their_own() {
    let minutes = String::from_utf8(sample("minutes.txt")).unwrap();
    let utf16 =
        |unit: fn(u16) -> [u8; 2]| -> Vec<u8> { minutes.encode_utf16().flat_map(unit).collect() };
    let utf32 = |unit: fn(u32) -> [u8; 4]| -> Vec<u8> {
        minutes.chars().flat_map(|c| unit(c as u32)).collect()
    };
    let marked = |mark: &[u8], text: Vec<u8>| [mark, &text].concat();
    for (name, bytes) in [
        ("utf-16 le", utf16(u16::to_le_bytes)),
        ("utf-16 be", utf16(u16::to_be_bytes)),
        (
            "utf-16 le, marked",
            marked(b"\xff\xfe", utf16(u16::to_le_bytes)),
        ),
        (
            "utf-16 be, marked",
            marked(b"\xfe\xff", utf16(u16::to_be_bytes)),
        ),
        ("utf-32 le", utf32(u32::to_le_bytes)),
        (
            "utf-32 be, marked",
            marked(b"\0\0\xfe\xff", utf32(u32::to_be_bytes)),
        ),
    ] {
        let pieces = take(name, &bytes).unwrap();
        assert_eq!(pieces.bytes_of("*"), minutes.as_bytes(), "{name}");
    }
    // The text is so long that it is decoded in several pieces.
    let long: String = std::iter::repeat_n("Жили-были дед да баба. ", 40_000).collect();
    let (koi8, _, _) = encoding_rs::KOI8_R.encode(&long);
    assert_eq!(take("x", &koi8).unwrap().bytes_of("*"), long.as_bytes());
}

#[test]
fn what_begins_as_text_and_goes_on_as_something_else_is_none() {
    let mut bytes = "Größe und Übermaß\n"
        .chars()
        .map(|c| c as u8)
        .collect::<Vec<u8>>()
        .repeat(300);
    bytes.extend([0u8, 1, 2, 3].repeat(100_000));
    assert!(take("x", &bytes).unwrap().all.is_empty());
}

#[test]
fn the_offset_of_the_file_does_not_matter_and_stays() {
    use std::io::{Seek, SeekFrom, Write};
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(&sample("minutes.docx")).unwrap();
    file.seek(SeekFrom::Start(77)).unwrap();
    let extractor = resemble_extract::Extractor::new(
        resemble_extract::Workers::OfOurs(crate::pieces::program()),
        crate::pieces::limits(),
        vec![],
    );
    let all: Vec<Pieces> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..4)
            .map(|_| scope.spawn(|| crate::pieces::take_file(&extractor, "x", &file).unwrap()))
            .collect();
        threads
            .into_iter()
            .map(|thread| thread.join().unwrap())
            .collect()
    });
    for pieces in &all {
        assert_eq!(pieces.all, all[0].all);
        assert_eq!(pieces.all[0].part.role, Role::Text);
    }
    assert_eq!(file.stream_position().unwrap(), 77);
}
