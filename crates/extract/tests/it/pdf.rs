//! Tests PDFs that each have one oddity. Because of the oddity, text of a page could be lost or
//! damage could be reported wrongly.

use resemble_core::words::canonical;
use resemble_extract::Skipped;

use crate::pieces::{Pieces, pdf, take};

pub(super) const LINES: [&str; 3] = [
    "The harbour master wrote down every ship that came in before the storm",
    "and each line of his book has the name of the ship and its cargo.",
    "In the third winter the ink froze twice.",
];

const FORM: &str = "/Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources<</Font<</F1 5 0 R>>>>";

/// The parts of a test document that a test can choose. The first object in `more` has the number
/// 6.
#[derive(Clone, Default)]
pub(super) struct Parts<'a> {
    pub(super) content: String,
    /// The font object. If it is empty, the font is Helvetica.
    pub(super) font: String,
    pub(super) page: &'a str,
    pub(super) more: Vec<String>,
}

pub(super) fn stream(head: &str, content: &str) -> String {
    let length = content.len();
    format!("<<{head}/Length {length}>>\nstream\n{content}\nendstream")
}

pub(super) fn made(parts: &Parts<'_>) -> Vec<u8> {
    let font = "<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>";
    let mut objects = vec![
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R]/Count 1>>".to_owned(),
        format!(
            "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Contents 4 0 R\
             /Resources<</Font<</F1 5 0 R>>/XObject<</X 6 0 R>>>>{}>>",
            parts.page
        ),
        stream("", &parts.content),
        if parts.font.is_empty() {
            font.to_owned()
        } else {
            parts.font.clone()
        },
    ];
    objects.extend_from_slice(&parts.more);
    pdf(&objects)
}

pub(super) fn shown(lines: &[&str]) -> String {
    let lines = lines
        .iter()
        .map(|line| format!("({line}) Tj T*\n"))
        .collect::<Vec<_>>()
        .concat();
    format!("BT /F1 11 Tf 14 TL 50 740 Td\n{lines}ET\n")
}

pub(super) fn of_content(content: impl Into<String>) -> Parts<'static> {
    Parts {
        content: content.into(),
        ..Parts::default()
    }
}

pub(super) fn hex(codes: &[u32]) -> String {
    let codes: Vec<_> = codes.iter().map(|code| format!("{code:04x}")).collect();
    codes.concat()
}

pub(super) fn words(text: impl AsRef<[u8]>) -> String {
    String::from_utf8(canonical(text.as_ref())).unwrap()
}

pub(super) fn taken(bytes: &[u8]) -> Pieces {
    take("x.pdf", bytes).unwrap()
}

pub(super) fn words_of(bytes: &[u8]) -> String {
    let pieces = taken(bytes);
    assert_eq!(pieces.skipped, []);
    pieces
        .all
        .first()
        .map(|text| words(&text.bytes))
        .unwrap_or_default()
}

pub(super) fn all() -> String {
    words(LINES.join("\n"))
}

#[test]
fn what_was_filled_in_is_text() {
    let answer = "only the night of the ninth of June";
    let units: Vec<u32> = answer.encode_utf16().map(u32::from).collect();
    let utf_16 = hex(&units);
    let look = stream(FORM, &shown(&[answer]));
    let annotation =
        |more: &str| format!("<</Type/Annot{more}/Rect[50 100 500 400]/F 4/DA(/F1 10 Tf)>>");
    for (how, objects) in [
        (
            "form",
            vec![
                annotation(&format!("/Subtype/Widget/FT/Tx/V({answer})/AP<</N 7 0 R>>")),
                look.clone(),
            ],
        ),
        (
            "form that is not drawn",
            vec![annotation(&format!("/Subtype/Widget/FT/Tx/V({answer})"))],
        ),
        (
            "form drawn empty",
            vec![
                annotation(&format!("/Subtype/Widget/FT/Tx/V({answer})/AP<</N 7 0 R>>")),
                stream(FORM, "q Q"),
            ],
        ),
        (
            "value of the parent",
            vec![
                annotation("/Subtype/Widget/Parent 7 0 R"),
                format!("<</FT/Tx/V<feff{utf_16}>/Kids[6 0 R]>>"),
            ],
        ),
        (
            "choices",
            vec![annotation(
                "/Subtype/Widget/FT/Ch/V[(only the night)(of the ninth of June)]",
            )],
        ),
        (
            "text on the page",
            vec![annotation(&format!("/Subtype/FreeText/Contents({answer})"))],
        ),
        (
            "text on the page, drawn",
            vec![
                annotation(&format!(
                    "/Subtype/FreeText/Contents({answer})/AP<</N 7 0 R>>"
                )),
                look,
            ],
        ),
        (
            "note",
            vec![annotation(&format!("/Subtype/Text/Contents<feff{utf_16}>"))],
        ),
    ] {
        let parts = Parts {
            page: "/Annots[6 0 R]",
            more: objects,
            ..of_content(shown(&LINES))
        };
        assert_eq!(words_of(&made(&parts)), all() + &words(answer), "{how}");
    }
    let hidden = annotation(&format!("/Subtype/Text/Contents({answer})")).replace("/F 4", "/F 2");
    let parts = Parts {
        page: "/Annots[6 0 R]",
        more: vec![hidden],
        ..of_content(shown(&LINES))
    };
    assert_eq!(words_of(&made(&parts)), all());
}

#[test]
fn a_wrong_length_of_a_stream_loses_nothing() {
    let whole = String::from_utf8(made(&of_content(shown(&LINES)))).unwrap();
    let (before, after) = whole.split_once("/Length ").unwrap();
    let digits = after.find('>').unwrap();
    for length in ["9", "0", "99999", "-4", "7 0 R", "/No"] {
        let wrong = format!("{before}/Length {length}{}", &after[digits..]);
        assert_eq!(words_of(wrong.as_bytes()), all(), "{length}");
    }
    let missing = format!("{before}{}", &after[digits..]);
    assert_eq!(words_of(missing.as_bytes()), all());
}

#[test]
fn an_odd_token_costs_itself_alone() {
    let text = shown(&LINES);
    for odd in [
        "\u{1}",
        "0 g % (black\n",
        "0 g %\r\n\r\n0 g",
        "1 0 0 1 --5 0 cm",
        "1 0 0 1 . 0 cm",
        "1 0 0 1 0 1.2.3 cm",
        "1 0 0 1 0 2-3 cm",
        "foo$bar",
        "]",
        ") q Q",
        "(",
        "<zz>",
        "<<",
        "[(",
        "{ } >>",
        "\u{c}q",
        "BI /W 2 /H 2 ID ab EI",
        "BI /W 2 ID (\u{fffd} EI q",
        "BI",
        "ID",
        "Q Q Q",
        "BX 1 2 zz EX",
        "q 1 0 0 1 0 0cm",
        "/ /#zz",
        "/Nothing Do",
        "/Nothing gs",
        "Tj",
        "[1 2] TJ",
        "1e5 w",
        "EMC EMC",
        "/Span BDC EMC",
        "ET",
        "true false null",
    ] {
        let pdf = made(&of_content(format!("{odd}\n{text}")));
        let read = words(&taken(&pdf).all[0].bytes);
        assert!(read.ends_with(&all()), "{odd:?}: {read}");
    }
    // The content names a missing font, or it names no font.
    for font in ["/F2", "/F1 11 0"] {
        let content = format!("BT {font} 11 Tf 50 700 Td (one two) Tj ET {text}");
        assert_eq!(
            words_of(&made(&of_content(content))),
            "one two ".to_owned() + &all()
        );
    }
    // The content lacks the brackets of an array, and operands that an operator requires.
    let content = format!("BT /F1 11 Tf 1 Tm (one) -300 (two) TJ ET {text}");
    assert_eq!(
        words_of(&made(&of_content(content))),
        "one two ".to_owned() + &all()
    );
    // Many unterminated objects must not take much time.
    for odd in ["(<<[", "BI ", "BI ID ", "/P BMC "] {
        let pdf = made(&of_content(format!("{text}{}{text}", odd.repeat(100_000))));
        let read = words(&taken(&pdf).all[0].bytes);
        assert!(read.starts_with(&all()), "{odd}: {read}");
    }
}

#[test]
fn what_is_printed_twice_to_look_bold_is_there_once() {
    let line = LINES[0];
    let twice = |parts: Vec<&str>, width: f64| {
        let (mut content, mut at) = (String::new(), 40.0);
        for part in parts {
            for shift in [0.0, 0.3] {
                content.extend([format!(
                    "BT /F1 9 Tf {} 700 Td ({part}) Tj ET\n",
                    at + shift
                )]);
            }
            at += width * part.chars().count() as f64;
        }
        content
    };
    let courier = "<</Type/Font/Subtype/Type1/BaseFont/Courier>>".to_owned();
    let letters: Vec<&str> = line.split_inclusive(|_| true).collect();
    for parts in [vec![line], line.split_inclusive(' ').collect(), letters] {
        let parts = Parts {
            font: courier.clone(),
            ..of_content(twice(parts, 5.4))
        };
        assert_eq!(words_of(&made(&parts)), words(line));
    }
    let page = format!("{0} q 1 0 0 1 .3 0 cm {0} Q", shown(&LINES));
    assert_eq!(words_of(&made(&of_content(page))), all());
    assert_eq!(
        words_of(&made(&of_content(format!("2 Tr {}", shown(&LINES))))),
        all()
    );
}

#[test]
fn forms_are_read_in_each_other_and_end() {
    let nested = vec![
        stream(&FORM.replace(">>>>", ">>/XObject<</Y 7 0 R>>>>"), "/Y Do"),
        stream(FORM, &shown(&LINES)),
    ];
    let parts = Parts {
        more: nested,
        ..of_content("/X Do")
    };
    assert_eq!(words_of(&made(&parts)), all());
    // A form that draws itself is drawn once.
    let itself = stream(
        &FORM.replace(">>>>", ">>/XObject<</X 6 0 R>>>>"),
        "/X Do /X Do",
    );
    let itself = itself.replace("/X Do /X Do", "/X Do BT /F1 9 Tf (once) Tj ET /X Do");
    let itself = itself.replace("/Length 11", "/Length 40");
    let parts = Parts {
        more: vec![itself],
        ..of_content("/X Do")
    };
    assert_eq!(words_of(&made(&parts)), "once ");
    // Each form draws the next form twice, so about 2^30 forms would be drawn.
    let mut doubling: Vec<String> = (7..36)
        .map(|next| {
            stream(
                &FORM.replace(">>>>", &format!(">>/XObject<</Y {next} 0 R>>>>")),
                "/Y Do /Y Do",
            )
        })
        .collect();
    doubling.push(stream(FORM, ""));
    let parts = Parts {
        more: doubling,
        ..of_content(shown(&LINES) + "/X Do")
    };
    let pieces = taken(&made(&parts));
    assert_eq!(words(&pieces.all[0].bytes), all());
    assert_eq!(
        pieces.skips(),
        [": page 1 could not be read: it exceeds the drawing limit"]
    );
}

#[test]
fn of_damaged_content_is_kept_what_can_be_read() {
    use std::io::Write;
    let many: Vec<String> = (0..400)
        .map(|at| format!("line {at} of {}", LINES[at % 3]))
        .collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let mut encoder = flate2::write::ZlibEncoder::new(Vec::new(), flate2::Compression::default());
    encoder.write_all(shown(&many).as_bytes()).unwrap();
    let packed = encoder.finish().unwrap();
    let with = |content: &[u8]| {
        let mut pdf = made(&of_content("@"));
        let at = pdf
            .windows(23)
            .position(|bytes| bytes == b"<</Length 1>>\nstream\n@\n")
            .unwrap();
        let head = format!("<</Filter/FlateDecode/Length {}>>\nstream\n", content.len());
        pdf.splice(at..at + 22, [head.as_bytes(), content].concat());
        pdf
    };
    assert_eq!(words_of(&with(&packed)), words(many.join("\n")));
    let mut broken = packed.clone();
    let middle = broken.len() / 2;
    broken[middle..middle + 40].fill(0xff);
    for content in [&packed[..middle], &broken[..]] {
        let pieces = taken(&with(content));
        let read = words(&pieces.all[0].bytes);
        assert!(
            read.starts_with(&words(many[..100].join("\n"))),
            "{}",
            read.len()
        );
        assert_eq!(
            pieces.skips(),
            [": page 1 could not be read: a part of the content is damaged"]
        );
    }
    // The content stream is missing, so nothing can be read.
    let gone = String::from_utf8(made(&of_content(shown(&LINES)))).unwrap();
    let gone = gone.replace("/Contents 4 0 R", "/Contents 44 0 R");
    let reason = "a part of the content is damaged".to_owned();
    let why = take("x.pdf", gone.as_bytes()).unwrap_err();
    assert_eq!(
        why,
        Skipped::Unread {
            place: "page 1".to_owned(),
            reason
        }
    );
}

#[test]
fn pages_that_are_not_there_are_said() {
    let whole = String::from_utf8(made(&of_content(shown(&LINES)))).unwrap();
    let lost = whole.replace("/Kids[3 0 R]/Count 1", "/Kids[3 0 R 33 0 R 34 0 R]/Count 3");
    let pieces = taken(lost.as_bytes());
    assert_eq!(words(&pieces.all[0].bytes), all());
    assert_eq!(
        pieces.skips(),
        [": 2 of 3 pages could not be read: they are missing"]
    );
    let none = whole.replace("/Type/Page/", "/Type/Pages/");
    for (bytes, expected) in [
        (none.clone(), "damaged: no pages can be found"),
        (
            "%PDF-1.4\nnothing".to_owned(),
            "damaged: no pages can be found",
        ),
        ("%PDF-1.4\n<</Encrypt 4 0 R".to_owned(), "encrypted"),
    ] {
        let why = take("x.pdf", bytes.as_bytes()).unwrap_err();
        assert_eq!(why.to_string(), expected);
    }
}
