use encoding_rs::{
    BIG5, EUC_JP, EUC_KR, GB18030, IBM866, ISO_8859_2, ISO_8859_7, KOI8_U, SHIFT_JIS, WINDOWS_1251,
    WINDOWS_1252, WINDOWS_1255,
};

use resemble_testutil::random::noise;

use super::*;

fn encoded(encoding: &'static Encoding, text: &str) -> Vec<u8> {
    let (bytes, _, lost) = encoding.encode(text);
    assert!(!lost, "{}", encoding.name());
    bytes.into_owned()
}

const GERMAN: &str = "Die Sitzung wurde um halb acht eröffnet. Größere Äpfel für Österreich.\n";
const RUSSIAN: &str = "Соловей летает высоко над полем, и никто не знает, куда он летит сегодня.\n";
const JAPANESE: &str = "この会議は七時半に開かれました。議長は会員を歓迎し、議事録を読みました。\n";
const CHINESE: &str = "会议于七点半开始。主席欢迎各位会员，并宣读了去年的会议记录。\n";
const KOREAN: &str = "회의는 일곱 시 반에 시작되었다. 의장은 회원들을 환영하였다.\n";
const GREEK: &str = "Η συνεδρίαση άρχισε στις επτά και μισή και όλοι ήταν παρόντες.\n";
const HEBREW: &str = "הישיבה נפתחה בשעה שבע וחצי על ידי יושבת הראש שקיבלה את פני החברים.\n";
const POLISH: &str =
    "Zebranie otworzyła przewodnicząca, która powitała członków i gości. Żółć, źdźbło.\n";

#[test]
fn encodings_are_told_apart() {
    for (encoding, text) in [
        (WINDOWS_1252, GERMAN),
        (WINDOWS_1251, RUSSIAN),
        (KOI8_U, RUSSIAN),
        (IBM866, RUSSIAN),
        (SHIFT_JIS, JAPANESE),
        (EUC_JP, JAPANESE),
        (GB18030, CHINESE),
        (
            BIG5,
            "會議於七點半開始。主席歡迎各位會員，並宣讀了去年的會議記錄。\n",
        ),
        (EUC_KR, KOREAN),
        (ISO_8859_7, GREEK),
        (WINDOWS_1255, HEBREW),
        (ISO_8859_2, POLISH),
        (ISO_2022_JP, JAPANESE),
    ] {
        let bytes = encoded(encoding, &text.repeat(3));
        let found = of(&bytes);
        let Some(Charset::Listed(found)) = found else {
            panic!("{}: {found:?}", encoding.name());
        };
        let (decoded, _, _) = found.decode(&bytes);
        assert_eq!(decoded, text.repeat(3), "{}", encoding.name());
        // The head may end within a character.
        for cut in bytes.len() - 6..bytes.len() {
            assert!(of(&bytes[..cut]).is_some(), "{} {cut}", encoding.name());
        }
    }
}

const FRENCH: &str = "La séance a été ouverte à huit heures par l'élève le plus âgé, ça va.\n";
const SPANISH: &str = "La reunión empezó a las siete y media; mañana habrá más años y niños.\n";
const CZECH: &str = "Schůzi zahájila předsedkyně, která přivítala členy a hosty; žluťoučký kůň.\n";
const BULGARIAN: &str = "Заседанието започна в седем и половина и всички бяха на местата си.\n";
const UKRAINIAN: &str = "Засідання почалося о пів на восьму, і всі були на своїх місцях у залі.\n";

/// Encodes text in a code page.
fn paged(page: CodePage, text: &str) -> Vec<u8> {
    let upper = page.upper_half();
    let byte = |character: char| match upper.iter().position(|&of| of == character) {
        Some(at) => 128 + at as u8,
        None => u8::try_from(character).ok().filter(u8::is_ascii).unwrap(),
    };
    text.chars().map(byte).collect()
}

#[test]
fn code_pages_of_dos_are_told_apart() {
    for (page, texts) in [
        (CodePage::Of850, [GERMAN, FRENCH, SPANISH]),
        (CodePage::Of437, [GERMAN, FRENCH, SPANISH]),
        (CodePage::Of852, [CZECH, POLISH, GERMAN]),
        (
            CodePage::Of855,
            [
                RUSSIAN,
                BULGARIAN,
                "Седница је почела у пола осам, и сви су били ту.\n",
            ],
        ),
    ] {
        for text in texts {
            for times in [1, 3, 60] {
                let text = text.repeat(times);
                let found = of(&paged(page, &text));
                let decoded = found.map(|found| found.decode(&paged(page, &text)));
                assert_eq!(decoded.as_deref(), Some(&text[..]), "{page:?} {found:?}");
            }
        }
    }
}

#[test]
fn encodings_of_the_mac_are_told_apart() {
    for (encoding, texts) in [
        (encoding_rs::MACINTOSH, [GERMAN, FRENCH, SPANISH]),
        (encoding_rs::X_MAC_CYRILLIC, [RUSSIAN, BULGARIAN, UKRAINIAN]),
    ] {
        let upper: Vec<char> = encoding
            .decode(&(128..=255).collect::<Vec<u8>>())
            .0
            .chars()
            .collect();
        for text in texts {
            let bytes: Vec<u8> = text
                .repeat(3)
                .chars()
                .map(|c| {
                    upper
                        .iter()
                        .position(|&of| of == c)
                        .map_or(c as u8, |at| 128 + at as u8)
                })
                .collect();
            let found = of(&bytes);
            let decoded = found.map(|found| found.decode(&bytes));
            assert_eq!(
                decoded,
                Some(text.repeat(3)),
                "{} {found:?}",
                encoding.name()
            );
        }
    }
}

#[test]
fn vietnamese_with_signs_behind_letters_is_recognised() {
    // In code page 1258, tone marks are separate characters.
    let text = "Cuô\u{323}c ho\u{323}p khai ma\u{323}c lúc ba\u{309}y giơ\u{300} rươ\u{303}i \
                va\u{300} moi ngươ\u{300}i đê\u{300}u co\u{301} mă\u{323}t.\n";
    let (bytes, _, _) = encoding_rs::WINDOWS_1258.encode(text);
    let found = of(&bytes);
    assert_eq!(found, Some(Charset::Listed(encoding_rs::WINDOWS_1258)));
}

#[test]
fn quotation_marks_and_dashes_alone_are_no_letters_of_dos() {
    let text = "He said \u{201c}wait\u{2026}\u{201d} \u{2013} and didn\u{2019}t. Well\u{2026} \
                yes\u{2026} perhaps\u{2026} \u{a9} 2003 Example\u{ae}\n";
    for times in [1, 40] {
        let bytes = encoded(WINDOWS_1252, &text.repeat(times));
        assert_eq!(of(&bytes), Some(Charset::Listed(WINDOWS_1252)));
    }
}

#[test]
fn utf_16_without_a_mark_is_known_in_every_script() {
    let armenian = "Նիստը սկսվեց ժամը յոթն անց կես, և բոլորը ներկա էին։\n";
    let arabic = "بدأت الجلسة في الساعة السابعة والنصف وكان الجميع حاضرين.\n";
    let hindi = "बैठक साढ़े सात बजे शुरू हुई और सभी सदस्य उपस्थित थे।\n";
    let thai = "การประชุมเริ่มขึ้นเวลาเจ็ดโมงครึ่ง และทุกคนมาพร้อมกัน\n";
    let latvian = "Ārā Ādažos Āgenskalnā sēde sākās pusastoņos.\n";
    for text in [
        GERMAN, RUSSIAN, GREEK, HEBREW, JAPANESE, CHINESE, KOREAN, armenian, arabic, hindi, thai,
        latvian,
    ] {
        for times in [1, 2, 50] {
            let text = text.repeat(times);
            let little: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
            let big: Vec<u8> = text.encode_utf16().flat_map(u16::to_be_bytes).collect();
            assert_eq!(of(&little), Some(Charset::Listed(UTF_16LE)), "{text}");
            assert_eq!(of(&big), Some(Charset::Listed(UTF_16BE)), "{text}");
            // The head may end within a character.
            for cut in little.len() - 3..little.len() {
                assert_eq!(
                    of(&little[..cut]),
                    Some(Charset::Listed(UTF_16LE)),
                    "{text} {cut}"
                );
            }
        }
    }
}

#[test]
fn utf_8_is_left_alone_even_if_it_is_damaged() {
    for text in [GERMAN, RUSSIAN, JAPANESE, KOREAN, "plain\n", ""] {
        let bytes = text.repeat(3).into_bytes();
        for cut in 0..bytes.len() {
            assert_eq!(of(&bytes[..cut]), None, "{text} {cut}");
        }
        let damaged = [&bytes[..], b"\xe4 \xff", &bytes].concat();
        assert!(text.is_ascii() || of(&damaged).is_none(), "{text}");
        assert_eq!(of(&[b"\xef\xbb\xbf", &bytes[..]].concat()), None);
    }
}

#[test]
fn utf_16_and_32_are_known_with_and_without_a_mark() {
    let le: Vec<u8> = GERMAN.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let be: Vec<u8> = GERMAN.encode_utf16().flat_map(u16::to_be_bytes).collect();
    let wide: Vec<u8> = GERMAN
        .chars()
        .flat_map(|c| (c as u32).to_be_bytes())
        .collect();
    assert_eq!(of(&le), Some(Charset::Listed(UTF_16LE)));
    assert_eq!(of(&be), Some(Charset::Listed(UTF_16BE)));
    assert_eq!(of(&wide), Some(Charset::Utf32 { little: false }));
    let japanese: Vec<u8> = JAPANESE.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert_eq!(
        of(&[b"\xff\xfe", &japanese[..]].concat()),
        Some(Charset::Listed(UTF_16LE))
    );
    // A byte order mark alone is not a text. Even after a byte order mark, the bytes may be data
    // instead of text.
    assert_eq!(of(b"\xff\xfe"), None);
    assert_eq!(of(b"\xff\xfe\x00\x00\x01\x00\x00\x00"), None);
    assert_eq!(of(&[b"\xff\xfb\x90\x00", &[0; 64][..]].concat()), None);
}

#[test]
fn markup_is_believed_unless_its_bytes_say_otherwise() {
    let latin = Some(Charset::Listed(WINDOWS_1252));
    assert_eq!(
        of(b"<?xml version='1.0' encoding='ISO-8859-1'?><a/>"),
        latin
    );
    assert_eq!(
        of(b"  <html><META http-equiv=x content=\"text/html; charset=iso-8859-1\">"),
        latin
    );
    assert_eq!(of(b"<html><meta charset=latin1>caf\xe9"), latin);
    assert_eq!(of("<html><meta charset=latin1>café".as_bytes()), None);
    assert_eq!(of(b"<?xml version='1.0' encoding='UTF-8'?><a/>"), None);
    assert_eq!(of(b"<?xml version='1.0' encoding='UTF-16'?><a/>"), None);
    assert_eq!(of(b"<p>charset=iso-8859-1 in the text"), None);
    assert_eq!(of(b"text about <meta charset=latin1>"), None);
}

#[test]
fn binaries_are_no_text() {
    for bytes in [
        &b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0\x03\0>\0"[..],
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\0\x10",
        b"\xff\xd8\xff\xe0\0\x10JFIF\0\x01\x01",
        b"\xca\xfe\xba\xbe\0\0\x003",
        b"\xde\x12\x04\x95\0\0\0\0\x0a\0\0\0",
    ] {
        assert_eq!(of(bytes), None, "{bytes:?}");
    }
    // Arrays of 16-bit and 32-bit numbers are not text.
    let numbers: Vec<u8> = (0u16..500).flat_map(u16::to_le_bytes).collect();
    assert_eq!(of(&numbers), None);
    let numbers: Vec<u8> = (60u32..560)
        .map(|at| at * 37)
        .flat_map(u32::to_le_bytes)
        .collect();
    assert_eq!(of(&numbers), None);
    // Random bytes of many lengths up to the limit are not text.
    for length in (64..4096).step_by(32) {
        assert_eq!(of(&noise(length as u64, length)), None);
    }
}

/// Checks real programs, libraries and images of this machine. No file with the magic number of a
/// binary format may be taken for text.
#[test]
fn no_binary_of_this_machine_is_taken_for_text() {
    let marks = [
        &b"\x7fELF"[..],
        b"\x89PNG",
        b"\xff\xd8\xff",
        b"GIF8",
        b"\x1f\x8b",
        b"PK\x03\x04",
        b"OggS",
        b"\xde\x12\x04\x95",
        b"\xca\xfe\xba\xbe",
        b"wOF",
        b"\0\x01\0\0",
        b"OTTO",
        b"SQLite",
        b"!<arch>",
    ];
    let mut looked_at = 0;
    let mut folders: Vec<std::path::PathBuf> =
        vec!["/usr/bin".into(), "/usr/lib".into(), "/usr/share".into()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let kind = entry.file_type();
            if kind.as_ref().is_ok_and(std::fs::FileType::is_dir) && folders.len() < 5000 {
                folders.push(entry.path());
            }
            if looked_at > 4000 || !kind.is_ok_and(|kind| kind.is_file()) {
                continue;
            }
            let mut head = Vec::new();
            let file = std::fs::File::open(entry.path());
            let read = file.and_then(|file| {
                std::io::Read::read_to_end(&mut std::io::Read::take(file, 4096), &mut head)
            });
            if read.is_ok() && marks.iter().any(|mark| head.starts_with(mark)) {
                looked_at += 1;
                assert_eq!(of(&head), None, "{}", entry.path().display());
            }
        }
        if looked_at > 4000 {
            break;
        }
    }
    assert!(looked_at > 50, "{looked_at}: nothing to look at");
}

fn utf16(text: &str) -> Vec<u8> {
    let units = text.encode_utf16().flat_map(u16::to_le_bytes);
    [0xff, 0xfe].into_iter().chain(units).collect()
}

/// In Unicode, combining signs are not letters. But in some scripts, every second character is a
/// combining sign.
#[test]
fn scripts_with_many_marks_are_recognised() {
    let khmer = concat!(
        "កិច្ចប្រជុំ\u{200b}បាន\u{200b}ចាប់ផ្តើម\u{200b}",
        "នៅ\u{200b}ម៉ោង\u{200b}ប្រាំពីរ\u{200b}កន្លះ។\n"
    );
    let begin = "အစည်းအဝေးကို ခုနစ်နာရီခွဲတွင် စတင်ခဲ့သည်။";
    let burmese = &format!("{begin} ဥက္ကဋ္ဌက အဖွဲ့ဝင်များကို ကြိုဆိုခဲ့သည်။\n");
    let tibetan = concat!(
        "ཚོགས་འདུ་ཆུ་ཚོད་བདུན་དང་ཕྱེད་ཀར་འགོ་བཙུགས",
        "། ཚོགས་གཙོས་ཚོགས་མི་རྣམས་ལ་དགའ་བསུ་ཞུས།\n"
    );
    for text in [khmer, burmese, tibetan] {
        let found = of(&utf16(&text.repeat(3)));
        assert_eq!(found, Some(Charset::Listed(UTF_16LE)), "{text}");
    }
}

#[test]
fn a_control_character_does_not_make_a_marked_text_unreadable() {
    let text = GERMAN.repeat(10);
    let with_one = format!("{}\u{4}{}\u{7}", &text[..40], &text[40..]);
    assert_eq!(of(&utf16(&with_one)), Some(Charset::Listed(UTF_16LE)));
    let with_many: String = text.chars().flat_map(|c| [c, '\u{4}']).collect();
    assert_eq!(of(&utf16(&with_many)), None);
    // Without a byte order mark, a single control character is enough to reject a text.
    assert_eq!(of(&utf16(&with_one)[2..]), None);
}
