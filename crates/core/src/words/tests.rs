use proptest::prelude::*;
use resemble_testutil::prose::words;
use unicode_normalization::UnicodeNormalization;
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

use super::*;
use crate::hash::shingles::{OF_WORD, SHINGLE, fold, hash};

fn shingles(pieces: &[&[u8]]) -> Vec<Fingerprint> {
    let mut all = Vec::new();
    let mut shingler = Shingler::new();
    for piece in pieces {
        shingler.update(piece, &mut |f| all.push(f));
    }
    shingler.finish(&mut |f| all.push(f));
    all.extend(shingler.besides());
    all
}

/// A passage of 500 bytes has 80 words in English, 36 in Russian and 18 in Georgian. The numbers of
/// samples are about equal.
#[test]
fn letters_of_several_bytes_are_sampled_as_densely_by_their_bytes() {
    let sampled = |letters: &[&str]| {
        let mut random = resemble_testutil::random::Random::new(3);
        let mut text = String::new();
        while text.len() < 100_000 {
            for _ in 0..2 + random.below(8) {
                text += letters[random.below(letters.len())];
            }
            text.push(' ');
        }
        shingles(&[text.as_bytes()]).len()
    };
    let english = sampled(&["a", "b", "c", "d", "e", "f", "g", "h"]);
    assert!((1_800..2_100).contains(&english), "{english}");
    for letters in [
        &["а", "б", "в", "г", "д", "е", "ж", "з"],
        &["α", "β", "γ", "δ", "ε", "ζ", "η", "θ"],
        &["ა", "ბ", "გ", "დ", "ე", "ვ", "ზ", "თ"],
        &["한", "국", "어", "텍", "스", "트", "말", "글"],
    ] {
        let found = sampled(letters);
        assert!((1_500..2_400).contains(&found), "{letters:?}: {found}");
    }
    // A Chinese character is a word, and a few accents add few samples.
    for letters in [&["重", "复", "数", "据"], &["é", "a", "b", "c"]] {
        let (one, other) = (sampled(letters), sampled(&["a", "b", "c", "d"]));
        assert!(one < 3 * other, "{letters:?}: {one}, {other}");
    }
}

#[test]
fn words_of_every_length_are_the_same_at_once_and_by_letters() {
    let all = "AB_cdefgh01234_6789ijklmnopQRSTUVWXYZ_and_so_on_and_so_on";
    for length in 1..all.len() {
        let line = format!("{} ", &all[..length]).repeat(40);
        let bytes: Vec<&[u8]> = line.as_bytes().chunks(1).collect();
        assert_eq!(shingles(&bytes), shingles(&[line.as_bytes()]), "{length}");
    }
}

#[test]
fn case_and_blanks_make_no_difference() {
    let text = words(0, 3000);
    let plain = shingles(&[text.as_bytes()]);
    assert!(plain.len() > 200, "{}", plain.len());
    let wrapped = text.to_uppercase().replace(' ', " \n\t- ");
    assert_eq!(shingles(&[wrapped.as_bytes()]), plain);
    assert_ne!(shingles(&[words(5000, 3000).as_bytes()]), plain);
}

fn digest(text: &[u8]) -> Option<WordsDigest> {
    let mut shingler = Shingler::new();
    shingler.update(text, &mut |_| ());
    shingler.finish(&mut |_| ()).words
}

#[test]
fn a_text_is_named_by_its_words_and_their_order() {
    let text = words(15000, 3000);
    let named = digest(text.as_bytes());
    assert!(named.is_some());
    let wrapped = text.to_uppercase().replace(' ', " \n\t- ");
    assert_eq!(digest(wrapped.as_bytes()), named);
    let mut words: Vec<&str> = text.split(' ').collect();
    words.swap(100, 200);
    assert_ne!(digest(words.join(" ").as_bytes()), named);
    assert_ne!(digest(format!("{text}x").as_bytes()), named);
    assert_ne!(digest(text.replacen(' ', "", 1).as_bytes()), named);
}

#[test]
fn few_words_name_nothing() {
    assert_eq!(digest(b""), None);
    assert_eq!(digest(" . ".repeat(300).as_bytes()), None);
    // With their blanks, the words of the first text have 255 bytes, one too few. The words of the
    // second text have two bytes more.
    assert_eq!(
        digest(&[b"abcd ".repeat(50), b"wxyz".to_vec()].concat()),
        None
    );
    assert!(digest(&[b"abcd ".repeat(50), b"uvwxyz".to_vec()].concat()).is_some());
}

#[test]
fn letters_without_end_are_one_word() {
    let letters: String = words(40000, 4000).split(' ').collect();
    assert_eq!(canonical(letters.as_bytes()).len(), letters.len() + 1);
    assert!(shingles(&[letters.as_bytes()]).len() <= 1);
}

fn is_text(bytes: &[u8]) -> bool {
    let (mut whole, mut pieces) = (Shingler::new(), Shingler::new());
    whole.update(bytes, &mut |_| ());
    bytes
        .chunks(977)
        .for_each(|piece| pieces.update(piece, &mut |_| ()));
    let shingled = whole.finish(&mut |_| ());
    assert_eq!(pieces.finish(&mut |_| ()), shingled);
    assert_eq!(super::is_text(bytes), shingled.is_text);
    shingled.is_text
}

#[test]
fn a_text_is_mostly_words() {
    let text = words(0, 30_000);
    assert!(is_text(text.as_bytes()));
    assert!(is_text("重复数据删除".repeat(3000).as_bytes()));
    assert!(is_text("Додому, на північ. ".repeat(3000).as_bytes()));
    assert!(is_text(b"a"));
    assert!(!is_text(&b"QUJDx0VGR0hJSktM".repeat(2000)));
    let html = |with: &str| text.replace(' ', with);
    let page = |with: &str| format!("<html><body>{}</body></html>", html(with));
    assert!(is_text(page(" <b>").as_bytes()));
    assert!(!is_text(
        page(&format!("<i class='{}'>", "x ".repeat(60))).as_bytes()
    ));
    // The beginning of a file decides whether it is text, whatever follows.
    assert!(is_text(
        format!("{text}{}", "= + ".repeat(100_000)).as_bytes()
    ));
}

#[test]
fn canonical_text_is_words_in_lower_case() {
    assert_eq!(
        canonical(b" A-b  C_d,\n\xc3\x89t\xc3\xa9!"),
        "a b c_d été ".as_bytes()
    );
    assert_eq!(canonical(b"<p>One&nbsp;<b>TWO</b></p>"), b"one two ");
    assert_eq!(canonical(b" .\n"), b"");
}

#[test]
fn markup_is_not_text() {
    let text = words(10000, 3000);
    let html = format!(
        "<!DOCTYPE html>\n<html><head><style type=x>p {{ color: red }}</style>\
         <script>if (a < b) c</script></head>\n\
         <body><!-- a > b -- c --><p class=\"x y\">{}</p></body></html>",
        text.replace(' ', "</b> &amp; <i title='a b'>")
    );
    assert_eq!(shingles(&[html.as_bytes()]), shingles(&[text.as_bytes()]));
}

#[test]
fn scripts_end_with_their_end_tags() {
    let page = |within: &str| format!("<html>{within} a b</html>");
    for within in [
        "<script>x = '</b>' + y </scripT>",
        "<style media=all>p { } </strong> </span> q {}</style>",
        "<script src=\"x.js\"/>",
        "<script/>",
        "<style\n/>",
        "<STYLE>x</STYLE><script>y</script>",
    ] {
        assert_eq!(canonical(page(within).as_bytes()), b"a b ", "{within}");
    }
    assert_eq!(
        canonical(page("<scripts>x</scripts>").as_bytes()),
        b"x a b "
    );
}

#[test]
fn values_of_attributes_are_no_text() {
    let svg = b"a <?xml version=\"1.0\"?>\n<!DOCTYPE svg PUBLIC \"x\">\n\
        <svg width='10'><path d=\"M 1 2\"/>Text</svg>";
    assert_eq!(canonical(svg), b"a text ");
    assert_eq!(
        canonical(b"<?xml?><!DOCTYPE html><html a='b'>c</html>"),
        b"c "
    );
    assert_eq!(canonical(b"if a <b and c</d"), b"if a b and c d ");
}

/// The words are the same as those of the function `words` in the accuracy scripts, which uses
/// Python's categories and lower case.
#[test]
fn words_are_unicodes() {
    let of = |text: &str| String::from_utf8(canonical(text.as_bytes())).expect("UTF-8");
    for (text, words) in [
        ("Ångström’s naïve co‑op", "ångström s naïve co op "),
        ("ДОМ\u{301}а № 7½", "дом\u{301}а 7½ "),
        ("हिन्दी में", "हिन्दी में "),
        ("שָׁלוֹם עולם", "שָׁלוֹם עולם "),
        ("漢字kana かな。ㇰ々", "漢 字 kana か な ㇰ 々 "),
        ("ภาษาไทยก็", "ภ า ษ า ไ ท ย ก\u{e47} "),
        ("ខ្មែរ", "ខ\u{17d2} ម\u{17c2} រ "),
        ("한국어 텍스트", "한국어 텍스트 "),
        ("İstanbul IŞIK", "i\u{307}stanbul işik "),
        ("a\u{ad}b x\u{200b}y", "ab xy "),
        ("u\u{308}ber U\u{308}BER", "über über "),
        ("\u{1112}\u{1161}\u{11ab} 한", "한 한 "),
        ("a =\u{338} b", "a b "),
        ("e\u{200b}\u{301} 5\u{212a}", "e\u{301} 5k "),
        ("M\u{fc}ller", "müller "),
        ("\u{301}a ก\u{301}b", "\u{301}a ก\u{301} b "),
    ] {
        assert_eq!(of(text).trim_end(), words.trim_end(), "{text}");
    }
    assert_eq!(
        canonical(b"caf\xe9 \xd7 \xc9T\xc9\xa0\xbb"),
        "café été ".as_bytes()
    );
    // The bytes of a broken character are read as ISO 8859-1.
    assert_eq!(canonical(b"\xe4\xbd x"), "ä½ x ".as_bytes());
    assert_eq!(canonical(b"\xc3"), "ã ".as_bytes());
}

#[test]
fn a_text_in_utf_8_that_was_cut_within_a_letter_has_its_words_all_the_same() {
    let text = "Съешь же ещё этих мягких французских булок, да выпей чаю";
    let words = canonical(text.as_bytes());
    for cut in 1..12 {
        let found = canonical(&text.as_bytes()[..text.len() - cut]);
        assert!(found.starts_with(&words[..words.len() - 20]), "{cut}");
    }
    // A damaged letter ends its word, and no other word changes.
    let mut damaged = text.as_bytes().to_vec();
    damaged[1] = b'?';
    assert!(canonical(&damaged).ends_with(&words[words.len() - 60..]));
    // In a text in ISO 8859-1, two bytes may form a character of UTF-8. They are still two
    // characters.
    let latin = b"\xc3\xa9t\xe9 d\xe9j\xe0 \xe9t\xe9";
    assert_eq!(canonical(latin), "ã té déjà été ".as_bytes());
}

#[test]
fn scripts_without_blanks_have_a_word_for_each_character() {
    let line = "重复数据删除".repeat(3);
    let spaced: String = line.chars().flat_map(|c| [c, ' ']).collect();
    assert_eq!(shingles(&[line.as_bytes()]), shingles(&[spaced.as_bytes()]));
    assert_eq!(
        shingles(&["ДОМ кот ÉTÉ ß ΣΑΣ".as_bytes()]),
        shingles(&["дом КОТ été ß σασ".as_bytes()])
    );
}

/// Returns the words like the function `words` in the accuracy scripts: in normal form C, without
/// invisible characters, and with a blank after each word.
fn naively(text: &str) -> String {
    let is_invisible = |c: &char| {
        matches!(
            c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}'
            | '\u{e0100}'..='\u{e01ef}'
        )
    };
    let is_alone =
        |c: char| matches!(c, '\u{e00}'..='\u{e7f}' | '\u{3040}'..='\u{30ff}' | '一'..='鿿');
    let (mut words, mut alone) = (String::new(), false);
    let end = |words: &mut String| {
        if !words.is_empty() && !words.ends_with(' ') {
            words.push(' ');
        }
    };
    for c in text.nfc().filter(|c| !is_invisible(c)) {
        use GeneralCategoryGroup as Group;
        match c.general_category_group() {
            Group::Mark => {}
            Group::Letter | Group::Number if is_alone(c) => {
                end(&mut words);
                alone = true;
            }
            Group::Letter | Group::Number => {
                if std::mem::take(&mut alone) {
                    end(&mut words);
                }
            }
            _ if c == '_' => {
                if std::mem::take(&mut alone) {
                    end(&mut words);
                }
            }
            _ => {
                alone = false;
                end(&mut words);
                continue;
            }
        }
        words.extend(c.to_lowercase());
    }
    end(&mut words);
    words
}

/// Text in many scripts and notations.
const ANY_TEXT: &str = "([a-zA-Z_0-9]{1,7}|[a-z ]{40,90}|[ ,.=<>\n]|[à-öÀ-Ö]|[\u{300}-\u{338}]|\
    [ạ-ỹ]|[ά-ώ]|[\u{5b0}-\u{5b9}א-ת]|[\u{1100}-\u{1112}][\u{1161}-\u{1175}]|\
    [\u{11a8}-\u{11c2}가-각]|[\u{915}-\u{939}\u{93c}\u{94d}\u{958}-\u{95f}]|[漢字かなガ]|\
    ก\u{e31}|[\u{ad}\u{200b}-\u{200f}\u{202a}\u{2060}\u{fe0f}\u{feff}]|\u{212b}|\u{212a}){0,60}";

/// Returns the fingerprints of a canonical text, in which a blank follows each word.
fn fingerprints_of(canonical: &str) -> Vec<Fingerprint> {
    let (mut found, mut folding) = (Vec::new(), Folding::default());
    let mut push = |shingle: Option<u64>| found.extend(shingle.and_then(Fingerprint::of_hash));
    for word in canonical.split_terminator(' ') {
        word.chars()
            .for_each(|letter| folding.letter(letter.into()));
        push(folding.word());
    }
    push(folding.short());
    found
}

/// Returns the fingerprints of a text that arrives in pieces of `size` bytes. Leaves out the
/// fingerprints of [`Shingler::besides`].
fn found_in(text: &[u8], size: usize) -> Vec<Fingerprint> {
    let (mut found, mut shingler) = (Vec::new(), Shingler::new());
    for piece in text.chunks(size) {
        shingler.update(piece, &mut |f| found.push(f));
    }
    shingler.finish(&mut |f| found.push(f));
    found
}

/// A page has the same words if its letters are in normal form C, in normal form D, or entities.
#[test]
fn one_text_is_one_text_however_its_letters_are_written() {
    let texts = [
        "Für jede Zeile seines Buches gibt es größtenteils schöne Münzen",
        "Người trông coi bến cảng ghi lại mọi con tàu vào trước cơn bão",
        "항만장은 폭풍 전에 들어온 모든 배와 폭풍 뒤에 떠난 모든 배를",
        "Ο λιμενάρχης σημείωνε κάθε πλοίο που έμπαινε πριν από τη θύελλα",
        "שָׁלוֹם עוֹלָם נָמֵל",
        "बंदरगाह के मालिक ने हर जहाज़ को लिखा",
        "ガギグゲゴ がぎ 漢字",
    ];
    for text in texts {
        let of = |text: &str| String::from_utf8(canonical(text.as_bytes())).expect("UTF-8");
        let expected = of(text);
        assert_eq!(expected, naively(text));
        let apart: String = text.nfd().collect();
        assert_eq!(of(&apart), expected);
        let hidden: String = text.nfc().flat_map(|c| [c, '\u{ad}', '\u{200d}']).collect();
        assert_eq!(of(&hidden), expected, "{hidden:?}");
        let page = |text: &str| format!("<p>{text}</p><p>{text}</p>");
        let twice = expected.repeat(2);
        assert_eq!(of(&page(&apart)), twice);
        for way in [
            |c: char| format!("&#{};", c as u32),
            |c| format!("&#x{:X};", c as u32),
        ] {
            let wide = |c: char| if c.is_ascii() { c.into() } else { way(c) };
            for text in [text, &apart] {
                let entities: String = text.chars().map(wide).collect();
                assert_eq!(of(&page(&entities)), twice, "{entities}");
            }
        }
    }
    let named =
        canonical(b"<p>M&uuml;ller &amp; S&ouml;hne&nbsp;OHG u&shy;nd AT&T &Scaron;koda</p>");
    assert_eq!(named, "müller söhne ohg und at t škoda ".as_bytes());
    // Entities are not resolved in a text without markup.
    assert_eq!(canonical(b"M&uuml;ller"), b"m uuml ller ");
    assert_eq!(
        canonical(b"<p>&own; &lt a&lt 1 x&y</p>"),
        b"a 1 x y ".as_slice()
    );
    assert_eq!(canonical(b"<p>a<1 b</p>"), b"a 1 b ");
}

#[test]
fn letters_and_marks_without_end_are_one_word() {
    let marks = "a".to_owned() + &"\u{301}\u{ad}e".repeat(50_000);
    let words = String::from_utf8(canonical(marks.as_bytes())).expect("UTF-8");
    assert_eq!(words.split_terminator(' ').count(), 1);
    let entities = format!("<p>{}</p>", "&uuml;".repeat(50_000));
    let found = canonical(entities.as_bytes());
    assert_eq!(found, ("ü".repeat(50_000) + " ").into_bytes());
}

proptest! {
    #[test]
    fn any_text_has_the_words_of_its_definition(text in ANY_TEXT, size in 1usize..200) {
        let expected = naively(&text);
        prop_assert_eq!(String::from_utf8(canonical(text.as_bytes())).unwrap(), &*expected);
        let apart: String = text.nfd().collect();
        prop_assert_eq!(String::from_utf8(canonical(apart.as_bytes())).unwrap(), &*expected);
        prop_assume!(matches!(LineLayout::of(text.as_bytes()), LineLayout::Plain));
        let expected = fingerprints_of(&expected);
        prop_assert_eq!(found_in(text.as_bytes(), 1 << 20), &expected[..]);
        prop_assert_eq!(found_in(text.as_bytes(), size), expected);
    }

    /// Entities are read as the characters that they name, for any division of a page.
    #[test]
    fn entities_are_the_characters_that_they_stand_for(
        text in ANY_TEXT,
        named in prop::collection::vec(any::<bool>(), 60),
        size in 1usize..200,
    ) {
        let text = text.replace(['<', '>'], " ");
        let way = |(c, named): (char, &bool)| match c {
            _ if !named && !matches!(c, '&' | ';') => c.to_string(),
            'ä' => "&auml;".to_owned(),
            _ => format!("&#{};", c as u32),
        };
        let page = |text: &str| format!("<html><p>x {text} x</p>");
        let entities: String = text.chars().zip(named.iter().cycle()).map(way).collect();
        let expected = naively(&format!("x {text} x"));
        let (entities, plain) = (page(&entities), page(&text));
        prop_assert_eq!(String::from_utf8(canonical(entities.as_bytes())).unwrap(), &*expected);
        prop_assert_eq!(canonical(plain.as_bytes()), expected.clone().into_bytes());
        let expected = fingerprints_of(&expected);
        prop_assert_eq!(found_in(entities.as_bytes(), 1 << 20), &expected[..]);
        prop_assert_eq!(found_in(entities.as_bytes(), size), expected);
    }

    #[test]
    fn pieces_make_no_difference(
        bytes in prop::collection::vec(
            prop::sample::select(
                b"ab <>/!-&#;sc6\xc3\xa9\xcc\x81\xcc\xb8=\xc2\xad\xe4\xbd\xa0\xff".to_vec(),
            ),
            0..3000,
        ),
        cuts in prop::collection::vec(0usize..3000, 0..6),
        markup in any::<bool>(),
    ) {
        let mut all = if markup { b"<html>".to_vec() } else { Vec::new() };
        all.extend(bytes);
        let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(all.len())).collect();
        cuts.extend([0, all.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&[u8]> = cuts.windows(2).map(|cut| &all[cut[0]..cut[1]]).collect();
        prop_assert_eq!(shingles(&pieces), shingles(&[&all]));
        let mut shingler = Shingler::new();
        for piece in &pieces {
            shingler.update(piece, &mut |_| ());
        }
        prop_assert_eq!(shingler.finish(&mut |_| ()).words, digest(&all));
    }

    #[test]
    fn plain_text_is_its_definition(text in "([a-cA-C0 _.,\n]{0,30}|[a-cA-C0_]{15,60}){0,10}") {
        // By chance a text may be a table. In a table each row is read separately.
        prop_assume!(matches!(LineLayout::of(text.as_bytes()), LineLayout::Plain));
        let words: Vec<u64> = text
            .to_lowercase()
            .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
            .filter(|word| !word.is_empty())
            .map(|word| {
                let word: Vec<u8> = word.bytes().map(|byte| byte | 0x20).collect();
                word.chunks(16).fold(0, |before, sixteen| {
                    let join = |all, &byte| all << 8 | u128::from(byte);
                    fold(before, sixteen.iter().rev().fold(0, join))
                })
            })
            .collect();
        let join = |h: u64, word: &u64| h.wrapping_mul(OF_WORD).wrapping_add(*word);
        let of = |run: &[u64]| hash(run.iter().fold(0, join));
        let hashes: Vec<u64> = if words.is_empty() {
            Vec::new()
        } else {
            words.windows(SHINGLE.min(words.len())).map(of).collect()
        };
        let expected = hashes.into_iter().filter_map(Fingerprint::of_hash);
        let expected: Vec<Fingerprint> = expected.collect();
        prop_assert_eq!(shingles(&[text.as_bytes()]), expected);
    }
}

/// A text whose letters have two bytes may keep more samples ([`SamplingParams::of_text`]).
#[test]
fn a_large_text_in_letters_of_two_bytes_is_sampled_one_in_eight() {
    let text = |letters: &str| -> String {
        let words = (0..30_000u32).map(|n| format!("{letters}{} ", n * 7919 % 29_989));
        words.collect()
    };
    let posted = crate::Params::default().posted;
    let level = |letters: &str| {
        let (signature, _) = sample(text(letters).as_bytes(), &posted);
        signature.expect("a text").level
    };
    let wide = "\u{436}\u{437}".repeat(4);
    assert_eq!((level(&wide), level("zyzyzyzy")), (3, 4));
    let digest = crate::Digest::of(text(&wide).as_bytes(), &crate::Params::default());
    assert_eq!(digest.signature.level, 3);
}
