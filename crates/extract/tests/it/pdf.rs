//! PDFs, one cause of lost text each.

use resemble_core::words::canonical;
use resemble_extract::Skipped;

use crate::pieces::{Pieces, pdf, take};

const LINES: [&str; 3] = [
    "The harbour master wrote down every ship that came in before the storm",
    "and each line of his book has the name of the ship and its cargo.",
    "In the third winter the ink froze twice.",
];

const FORM: &str = "/Type/XObject/Subtype/Form/BBox[0 0 612 792]/Resources<</Font<</F1 5 0 R>>>>";

/// What a test says of a document. Objects of its own have numbers from 6 on.
#[derive(Clone, Default)]
struct Parts<'a> {
    content: String,
    /// Helvetica, if it is empty.
    font: String,
    page: &'a str,
    more: Vec<String>,
}

fn stream(head: &str, content: &str) -> String {
    let length = content.len();
    format!("<<{head}/Length {length}>>\nstream\n{content}\nendstream")
}

fn made(parts: &Parts<'_>) -> Vec<u8> {
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

fn shown(lines: &[&str]) -> String {
    let lines = lines
        .iter()
        .map(|line| format!("({line}) Tj T*\n"))
        .collect::<Vec<_>>()
        .concat();
    format!("BT /F1 11 Tf 14 TL 50 740 Td\n{lines}ET\n")
}

fn of_content(content: impl Into<String>) -> Parts<'static> {
    Parts {
        content: content.into(),
        ..Parts::default()
    }
}

/// A font of two-byte codes.
fn composite(encoding: &str, ordering: &str, more: &str, to_unicode: &str) -> String {
    format!(
        "<</Type/Font/Subtype/Type0/BaseFont/F/Encoding/{encoding}{to_unicode}/DescendantFonts[\
         <</Type/Font/Subtype/CIDFontType2/BaseFont/F/CIDSystemInfo<</Registry(Adobe)\
         /Ordering({ordering})/Supplement 0>>/FontDescriptor\
         <</Type/FontDescriptor/Flags 4>>{more}>>]>>"
    )
}

/// A map of the codes of letters to these letters, as object 6.
fn to_unicode(codes: &[(u32, char)]) -> String {
    let mut map =
        "/CMapType 2 def 1 begincodespacerange <0000> <FFFF> endcodespacerange\n".to_owned();
    for some in codes.chunks(90) {
        map.extend([format!("{} beginbfchar\n", some.len())]);
        for (code, letter) in some {
            map.extend([format!("<{code:04x}> <{:04x}>\n", u32::from(*letter))]);
        }
        map += "endbfchar\n";
    }
    stream("", &map)
}

/// Letters as codes, and the map of these.
fn coded(lines: &[String]) -> (Vec<Vec<u32>>, String) {
    let mut letters: Vec<char> = lines.iter().flat_map(|line| line.chars()).collect();
    letters.sort_unstable();
    letters.dedup();
    let code = |letter: char| letters.binary_search(&letter).unwrap() as u32 + 1;
    let codes: Vec<(u32, char)> = letters
        .iter()
        .map(|letter| (code(*letter), *letter))
        .collect();
    let lines = lines.iter().map(|line| line.chars().map(code).collect());
    (lines.collect(), to_unicode(&codes))
}

fn hex(codes: &[u32]) -> String {
    let codes: Vec<_> = codes.iter().map(|code| format!("{code:04x}")).collect();
    codes.concat()
}

fn words(text: impl AsRef<[u8]>) -> String {
    String::from_utf8(canonical(text.as_ref())).unwrap()
}

fn taken(bytes: &[u8]) -> Pieces {
    take("x.pdf", bytes).unwrap()
}

fn words_of(bytes: &[u8]) -> String {
    let pieces = taken(bytes);
    assert_eq!(pieces.skipped, []);
    pieces
        .all
        .first()
        .map(|text| words(&text.bytes))
        .unwrap_or_default()
}

fn all() -> String {
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
fn widths_are_read_in_every_way_that_they_are_written() {
    let (codes, map) = coded(&LINES.map(str::to_owned));
    let blank = codes[0][3];
    let mut content = "BT /F1 10 Tf\n".to_owned();
    for (at, line) in codes.iter().enumerate() {
        content.extend([format!("1 0 0 1 10 {} Tm\n", 740 - 14 * at)]);
        // The blanks are gaps only.
        for code in line {
            let letter = format!("<{code:04x}> Tj ");
            content.extend([format!(
                "{}6 0 Td\n",
                if *code == blank { "" } else { &letter }
            )]);
        }
    }
    content += "ET";
    let list = "600 ".repeat(70);
    for widths in [
        format!("[1[{list}]]"),
        "[1 70 600]".to_owned(),
        format!("[1 20 600 21[{list}]]"),
        "[1.0 70.0 600.0]".to_owned(),
        "[0 4294967295 600]".to_owned(),
    ] {
        let font = composite(
            "Identity-H",
            "Identity",
            &format!("/DW 266/W{widths}"),
            "/ToUnicode 6 0 R",
        );
        let parts = Parts {
            font,
            more: vec![map.clone()],
            ..of_content(content.clone())
        };
        assert_eq!(words_of(&made(&parts)), all(), "{widths}");
    }
}

#[test]
fn what_is_read_from_right_to_left_is_read_so() {
    let font = || composite("Identity-H", "Identity", "/DW 500", "/ToUnicode 6 0 R");
    // As it is read, and as it stands on the page from left to right.
    for (text, stands) in [
        ("מנהל הנמל רשם כל ספינה", "הניפס לכ םשר למנה להנמ"),
        ("كتب مدير الميناء", "ءانيملا ريدم بتك"),
        ("בשנת 1887 עברו 34.5 מילים", "םילימ 34.5 ורבע 1887 תנשב"),
        ("קובץ README file בתיקייה", "הייקיתב README file ץבוק"),
        (
            "the word שלום עולם in a line",
            "the word םלוע םולש in a line",
        ),
        // The shapes of letters in a word, and two letters in one shape.
        ("سلام لا", "\u{fefb} \u{fee1}\u{fefc}\u{feb3}"),
    ] {
        let (codes, map) = coded(&[stands.to_owned()]);
        let in_order = format!("BT /F1 11 Tf 50 700 Td <{}> Tj ET", hex(&codes[0]));
        let mut placed = "BT /F1 11 Tf\n".to_owned();
        for (at, code) in codes[0].iter().enumerate().rev() {
            placed.extend([format!(
                "1 0 0 1 {} 700 Tm <{code:04x}> Tj\n",
                50.0 + 5.5 * at as f64
            )]);
        }
        for content in [in_order, placed + "ET"] {
            let parts = Parts {
                font: font(),
                more: vec![map.clone()],
                ..of_content(content)
            };
            assert_eq!(words_of(&made(&parts)), words(text), "{text}");
        }
    }
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
    // A font that is not there, or none.
    for font in ["/F2", "/F1 11 0"] {
        let content = format!("BT {font} 11 Tf 50 700 Td (one two) Tj ET {text}");
        assert_eq!(
            words_of(&made(&of_content(content))),
            "one two ".to_owned() + &all()
        );
    }
    // Without its brackets; without operands that it needs.
    let content = format!("BT /F1 11 Tf 1 Tm (one) -300 (two) TJ ET {text}");
    assert_eq!(
        words_of(&made(&of_content(content))),
        "one two ".to_owned() + &all()
    );
    // Many that have no end take no time.
    for odd in ["(<<[", "BI ", "BI ID ", "/P BMC "] {
        let pdf = made(&of_content(format!("{text}{}{text}", odd.repeat(100_000))));
        let read = words(&taken(&pdf).all[0].bytes);
        assert!(read.starts_with(&all()), "{odd}: {read}");
    }
}

#[test]
fn east_asian_encodings_are_known_by_name() {
    for (text, bytes, encoding, ordering) in [
        (
            "港の記録係",
            &b"\x8d\x60\x82\xcc\x8b\x4c\x98\x5e\x8c\x57"[..],
            "90ms-RKSJ-H",
            "Japan1",
        ),
        (
            "港の記録係",
            b"\xb9\xc1\xa4\xce\xb5\xad\xcf\xbf\xb7\xb8",
            "EUC-H",
            "Japan1",
        ),
        (
            "港の記録係",
            b"\x6e\x2f\x30\x6e\x8a\x18\x93\x32\x4f\xc2",
            "UniJIS-UTF16-H",
            "Japan1",
        ),
        (
            "港の記録係",
            b"\x6e\x2f\x30\x6e\x8a\x18\x93\x32\x4f\xc2",
            "UniJIS-UCS2-V",
            "Japan1",
        ),
        (
            "港务长记",
            b"\xb8\xdb\xce\xf1\xb3\xa4\xbc\xc7",
            "GBK-EUC-H",
            "GB1",
        ),
        (
            "港务长记",
            b"\xb8\xdb\xce\xf1\xb3\xa4\xbc\xc7",
            "GB-EUC-H",
            "GB1",
        ),
        ("港務局", b"\xb4\xe4\xb0\xc8\xa7\xbd", "ETen-B5-H", "CNS1"),
        (
            "항만장",
            b"\xc7\xd7\xb8\xb8\xc0\xe5",
            "KSCms-UHC-H",
            "Korea1",
        ),
        (
            "항만장",
            b"\xd5\x6d\xb9\xcc\xc7\xa5",
            "UniKS-UCS2-H",
            "Korea1",
        ),
    ] {
        let hex: Vec<_> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
        let hex = hex.concat();
        let content = format!("BT /F1 11 Tf 50 700 Td <{hex}> Tj ET");
        // Embedded or not: a program that cannot be read is as good as none.
        for more in [
            "/DW 1000",
            "/DW 1000/FontDescriptor<</Type/FontDescriptor/FontFile2 4 0 R>>",
        ] {
            let font = composite(encoding, ordering, more, "");
            let parts = Parts {
                font,
                ..of_content(content.clone())
            };
            assert_eq!(words_of(&made(&parts)), words(text), "{encoding}");
        }
    }
    // By the numbers that the characters have in their collection.
    let font = composite(
        "Identity-H",
        "Japan1",
        "/FontDescriptor<</FontFile2 4 0 R>>",
        "",
    );
    let parts = Parts {
        font,
        ..of_content("BT /F1 11 Tf 50 700 Td <034b> Tj ET")
    };
    assert_eq!(words_of(&made(&parts)), words("あ"));
    // Codes that are letters: by a map to themselves, or one that says nothing.
    for (map, more) in [
        ("/ToUnicode/Identity-H", Vec::new()),
        ("/ToUnicode 6 0 R", vec![stream("", "begincmap endcmap")]),
    ] {
        let font = composite("Identity-H", "Identity", "", map);
        let parts = Parts {
            font,
            more,
            ..of_content("BT /F1 11 Tf 50 700 Td <6e2f> Tj ET")
        };
        assert_eq!(words_of(&made(&parts)), words("港"));
    }
    // A map in the file that leaves the rest to one by name.
    let map = stream(
        "/Type/CMap/CMapName/Own",
        "/90ms-RKSJ-H usecmap begincmap endcmap",
    );
    let font = composite("Own", "Japan1", "", "").replace("/Encoding/Own", "/Encoding 6 0 R");
    let parts = Parts {
        font,
        more: vec![map],
        ..of_content("BT /F1 11 Tf 50 700 Td <8d60> Tj ET")
    };
    assert_eq!(words_of(&made(&parts)), words("港"));
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
fn a_text_in_the_place_of_glyphs_is_the_text() {
    let content = "BT /F1 11 Tf 50 700 Td /Span <</ActualText (office)>> BDC (\\001\\002) Tj \
                   (\\003) Tj EMC ( hours) Tj \
                   0 -14 Td /Span /P BDC (\\001) Tj EMC ET";
    let page = "/Resources<</Font<</F1 5 0 R>>/Properties<</P<</ActualText<feff00660069006e>>>>>>>";
    let parts = Parts {
        content: content.to_owned(),
        page,
        ..Parts::default()
    };
    assert_eq!(words_of(&made(&parts)), "office hours fin ");
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
    // What draws itself is drawn once.
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
    // Each draws the next one twice, 2^30 in all.
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
        [": page 1 could not be read: it draws too much"]
    );
}

#[test]
fn fonts_of_drawings_have_letters_by_name_and_by_code() {
    let font = |encoding: &str| {
        format!(
            "<</Type/Font/Subtype/Type3/FontBBox[0 0 0 0]/FontMatrix[1 0 0 1 0 0]/CharProcs\
             <</a 6 0 R>>/FirstChar 97/LastChar 99/Widths[50 50 50]{encoding}>>"
        )
    };
    // So large are its units that its size is small.
    let content = "BT .2 0 0 .2 50 700 Tm /F1 1 Tf (ab) Tj 104 0 Td (c) Tj 180 0 Td (a) Tj ET";
    let named = "/Encoding<</Differences[97/o/n/e]>>";
    for (encoding, expected) in [
        (named, "one o "),
        ("/Encoding<</Differences[97/a1/a2/a3]>>", "abc a "),
    ] {
        let parts = Parts {
            font: font(encoding),
            more: vec![stream("", "")],
            ..of_content(content)
        };
        let read = words_of(&made(&parts));
        assert_eq!(read, expected);
    }
}

#[test]
fn a_page_whose_letters_nothing_tells_is_not_read_and_no_scan() {
    let unknown = "BT /F1 11 Tf 50 700 Td <00010002000300040005> Tj ET";
    let font = composite("Identity-H", "Identity", "", "");
    let parts = Parts {
        font: font.clone(),
        ..of_content(unknown)
    };
    let why = take("x.pdf", &made(&parts)).unwrap_err();
    let reason = "no font says which letters 5 of 5 characters are".to_owned();
    assert_eq!(
        why,
        Skipped::Unread {
            place: "page 1".to_owned(),
            reason
        }
    );
    // Beside pages that are read; two that follow each other are one report.
    let objects = [
        "<</Type/Catalog/Pages 2 0 R>>".to_owned(),
        "<</Type/Pages/Kids[3 0 R 6 0 R 7 0 R]/Count 3>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/Contents 4 0 R/Resources<</Font<</F1 8 0 R>>>>>>".to_owned(),
        stream("", &shown(&LINES)),
        font,
        "<</Type/Page/Parent 2 0 R/Contents 9 0 R/Resources<</Font<</F1 5 0 R>>>>>>".to_owned(),
        "<</Type/Page/Parent 2 0 R/Contents 9 0 R/Resources<</Font<</F1 5 0 R>>>>>>".to_owned(),
        "<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>".to_owned(),
        stream("", unknown),
    ];
    let pieces = taken(&pdf(&objects));
    assert_eq!(words(&pieces.all[0].bytes), all());
    let said =
        ": pages 2 to 3 could not be read: no font says which letters 10 of 10 characters are";
    assert_eq!(pieces.skips(), [said]);
    // A page without text is one.
    let scan = made(&of_content("q 600 0 0 800 0 0 cm Q 10 10 100 100 re f"));
    let pieces = taken(&scan);
    assert!(pieces.all.is_empty() && pieces.skipped.is_empty());
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
    // Nothing of it can be had.
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
        [": 2 of 3 pages could not be read: they cannot be found"]
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
