//! Tests PDFs that each have one difficulty in the letters of glyphs, their widths, or their
//! reading order.

use resemble_extract::Skipped;

use crate::pdf::{LINES, Parts, all, hex, made, of_content, shown, stream, taken, words, words_of};
use crate::pieces::{pdf, take};

/// Makes a font with two-byte codes.
fn composite(encoding: &str, ordering: &str, more: &str, to_unicode: &str) -> String {
    format!(
        "<</Type/Font/Subtype/Type0/BaseFont/F/Encoding/{encoding}{to_unicode}/DescendantFonts[\
         <</Type/Font/Subtype/CIDFontType2/BaseFont/F/CIDSystemInfo<</Registry(Adobe)\
         /Ordering({ordering})/Supplement 0>>/FontDescriptor\
         <</Type/FontDescriptor/Flags 4>>{more}>>]>>"
    )
}

/// Makes object 6, which maps codes to letters.
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

/// Gives a number (a code) to each letter of `lines`. Returns the codes of each line, and the map
/// from codes to letters.
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

#[test]
fn widths_are_read_in_every_way_that_they_are_written() {
    let (codes, map) = coded(&LINES.map(str::to_owned));
    let blank = codes[0][3];
    let mut content = "BT /F1 10 Tf\n".to_owned();
    for (at, line) in codes.iter().enumerate() {
        content.extend([format!("1 0 0 1 10 {} Tm\n", 740 - 14 * at)]);
        // A blank is not drawn. It is only a gap.
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
    // Each text is given twice: in reading order, and in the order on the page from left to right.
    for (text, stands) in [
        ("מנהל הנמל רשם כל ספינה", "הניפס לכ םשר למנה להנמ"),
        ("كتب مدير الميناء", "ءانيملا ريدم بتك"),
        ("בשנת 1887 עברו 34.5 מילים", "םילימ 34.5 ורבע 1887 תנשב"),
        ("קובץ README file בתיקייה", "הייקיתב README file ץבוק"),
        (
            "the word שלום עולם in a line",
            "the word םלוע םולש in a line",
        ),
        // On the page, these letters have contextual forms. Lam and alef are one ligature.
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
fn a_vowel_follows_the_letter_that_it_stands_under() {
    // Each text is given in reading order. Its letters with their vowels are also given, in the
    // order on the page from left to right.
    for (text, stands) in [
        ("שָׁלוֹם", ["ם", "וֹ", "ל", "שָׁ"].as_slice()),
        ("the word שָלֹ", &["the word ", "לֹ", "שָ"]),
    ] {
        let (codes, map) = coded(&[stands.concat()]);
        let code = |letter| codes[0][stands.concat().chars().position(|of| of == letter).unwrap()];
        for vowels_first in [false, true] {
            let (mut content, mut at) = ("BT /F1 10 Tf\n".to_owned(), 50);
            for cluster in stands {
                let mut letters: Vec<char> = cluster.chars().collect();
                let is_word = letters.len() > 3;
                if vowels_first && !is_word {
                    letters.rotate_left(1);
                }
                for letter in letters {
                    content.extend([format!("1 0 0 1 {at} 700 Tm <{:04x}> Tj\n", code(letter))]);
                    at += if is_word { 5 } else { 0 };
                }
                at += if is_word { 0 } else { 5 };
            }
            let parts = Parts {
                font: composite("Identity-H", "Identity", "/DW 500", "/ToUnicode 6 0 R"),
                more: vec![map.clone()],
                ..of_content(content + "ET")
            };
            assert_eq!(
                words_of(&made(&parts)),
                words(text),
                "{text} {vowels_first}"
            );
        }
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
        // Without a descriptor, the font is not embedded. With a descriptor, the font program is
        // unreadable, so the font is treated as not embedded.
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
    // In this font, the codes are the numbers of the characters in their collection.
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
    // The codes are taken as letters, because the map to Unicode is the identity or is empty.
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
    // This map is in the file. For all codes that it lacks, it refers to a named map.
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
fn fonts_of_drawings_have_letters_by_name_and_by_code() {
    let font = |encoding: &str| {
        format!(
            "<</Type/Font/Subtype/Type3/FontBBox[0 0 0 0]/FontMatrix[1 0 0 1 0 0]/CharProcs\
             <</a 6 0 R>>/FirstChar 97/LastChar 99/Widths[50 50 50]{encoding}>>"
        )
    };
    // The font has large units, so the font size is small.
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
    let reason = "the fonts do not map 5 of 5 characters to letters".to_owned();
    assert_eq!(
        why,
        Skipped::Unread {
            place: "page 1".to_owned(),
            reason
        }
    );
    // The first page is readable. The two pages after it are unreadable, and are reported together.
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
    let said = ": pages 2 to 3 could not be read: the fonts do not map 10 of 10 characters to \
                letters";
    assert_eq!(pieces.skips(), [said]);
    // A page without text is not a fault.
    let scan = made(&of_content("q 600 0 0 800 0 0 cm Q 10 10 100 100 re f"));
    let pieces = taken(&scan);
    assert!(pieces.all.is_empty() && pieces.skipped.is_empty());
}
