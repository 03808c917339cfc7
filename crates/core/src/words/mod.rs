//! Word shingles: what is sampled of a text.
//!
//! # What is kept
//!
//! Every run of five words of a text has a hash, and those are sampled by value exactly as the
//! windows of other files are ([`crate::sample`]): `Mod_n` of Broder 1997 on his own w-shingling. A
//! text of one to four words is one shingle.
//!
//! # Choices
//!
//! 1. **Words instead of windows.** A window of 64 bytes spans two lines: another line width, a
//!    changed blank, a capital letter spoils it. A shingle of five words is as distinctive and
//!    survives all that. On 714 licence texts 128 windows a file nominate 80 % of the pairs that
//!    share a third of their shingles, and 128 shingles all of them; on 1,512 texts with 1,644
//!    related pairs of 19 kinds of change 94 % and 97 %.
//! 2. **A word** is a maximal run of letters, marks, digits and connectors such as `_` (Unicode's
//!    categories L, M, N, Pc), in lower case character by character. In scripts that are written
//!    without blanks (Han, Kana, Thai, Khmer ...) each character with its marks is one. A text that
//!    is not in UTF-8 is in ISO 8859-1; one that was cut within a letter, or has some stray bytes,
//!    still is UTF-8. However long a run of letters is, it is one word:
//!    a hash or a line of base64 is evidence of no more than a short one.
//! 3. **Markup is not text.** In HTML and XML, recognised by how the file begins, tags with their
//!    attributes, comments, scripts, styles and entities separate words and are none.
//! 4. **Streaming.** Pieces of any size give the same shingles; a word longer than memory costs
//!    nothing, because only its hash is kept.

use crate::hash::shingles::{Chosen, WINDOW, join};
use crate::ids::{Fingerprint, WordsDigest};
use crate::params::SamplingParams;
use crate::sample::{Sampler, Signature};

mod classes;
mod collect;
mod folding;
mod layout;
mod spelled;
mod stream;
mod tokenizer;

pub(crate) use collect::CollectedWords;
pub(crate) use folding::Folding;
pub use layout::rows_of;
pub(crate) use layout::{LineLayout, joined, without_line_ends};
pub use spelled::WordTexts;
pub use stream::WordHashes;
pub(crate) use tokenizer::{Short, Sink, Tokenizer};

/// A file is text if its words, each with a separator, are at least one in so many of its
/// characters. Else it is data or a template, and words are a small part of it: 95 % of 530
/// drawings (SVG) have no word in a hundred characters, and 95 % of 921 HTML pages more than
/// eleven.
const TEXT_IN: u64 = 10;

/// Makes shingles of the bytes of a text handed over in pieces of any size.
#[derive(Clone, Debug, Default)]
pub struct Shingler {
    tokens: Tokenizer,
    folding: Folding,
    chosen: Chosen,
    /// Bytes so far.
    taken: u64,
    /// Whether the first [`Self::DECIDED`] bytes are text, once they are known.
    is_text: Option<bool>,
    /// The first bytes, until the layout is known.
    head: Vec<u8>,
    layout: Option<LineLayout>,
}

/// What a [`Shingler`] knows of a whole text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shingled {
    /// What names all words, of a text whose words (each with a blank) are at least
    /// [`LEAST_JUDGED`](crate::params::LEAST_JUDGED): of pages that are all script and of forms
    /// without entries there are few words, and those are the same.
    pub words: Option<WordsDigest>,
    /// Whether it is text, and not data or a template of which words are a small part.
    pub is_text: bool,
    /// Bytes that only continue a character.
    pub continued: u64,
    /// Whether it is encoded data: it is compared without line ends.
    pub is_encoded: bool,
}

/// Gives away the samples of what it hashes.
struct Hashing<'a, F> {
    folding: &'a mut Folding,
    chosen: &'a mut Chosen,
    sink: &'a mut F,
}

impl Shingler {
    /// A shingler at the start of a text.
    pub fn new() -> Self {
        Self::default()
    }

    /// So many bytes decide whether a file is text.
    pub const DECIDED: usize = layout::DECIDED;

    /// Forgets what was taken.
    pub fn reset(&mut self) {
        self.tokens.reset();
        self.folding = Folding::default();
        self.taken = 0;
        self.is_text = None;
        self.head.clear();
        self.layout = None;
    }

    /// Whether it is text, if that is known before the end.
    pub const fn is_text(&self) -> Option<bool> {
        self.is_text
    }

    /// Whether it is encoded data, if that is known before the end.
    pub(crate) const fn is_encoded(&self) -> Option<bool> {
        match &self.layout {
            None => None,
            Some(layout) => Some(matches!(layout, LineLayout::Encoded)),
        }
    }

    /// Takes the next bytes; `sink` gets the fingerprints of level [`Fingerprint::BASE_LEVEL`] and
    /// more of the shingles that end in them: of a table those of its rows.
    pub fn update(&mut self, bytes: &[u8], sink: &mut impl FnMut(Fingerprint)) {
        if self.layout.is_some() {
            return self.take_decided(bytes, sink);
        }
        let is_plain = |glance: &[u8]| {
            glance.len() >= layout::GLANCE && !layout::is_worth_deciding(&glance[..layout::GLANCE])
        };
        if self.head.is_empty() && (bytes.len() >= Self::DECIDED || is_plain(bytes)) {
            self.layout = Some(LineLayout::of(bytes));
            return self.take_decided(bytes, sink);
        }
        let was_glanced_at = self.head.len() >= layout::GLANCE;
        let room = bytes.len().min(Self::DECIDED - self.head.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        if self.head.len() == Self::DECIDED || !was_glanced_at && is_plain(&self.head) {
            self.begin(sink);
            self.take_decided(rest, sink);
        }
    }

    /// What was kept of the beginning decides.
    fn begin(&mut self, sink: &mut impl FnMut(Fingerprint)) {
        let head = std::mem::take(&mut self.head);
        self.layout = Some(LineLayout::of(&head));
        self.take_decided(&head, sink);
        self.head = head;
        self.head.clear();
    }

    fn take_decided(&mut self, bytes: &[u8], sink: &mut impl FnMut(Fingerprint)) {
        let mut bytes = bytes;
        let undecided = (Self::DECIDED as u64).saturating_sub(self.taken) as usize;
        if self.is_text.is_none() && bytes.len() >= undecided {
            let (first, rest) = bytes.split_at(undecided);
            self.take(first, sink);
            self.is_text = Some(self.has_enough_words(self.tokens.continued()));
            bytes = rest;
        }
        self.take(bytes, sink);
    }

    fn take(&mut self, bytes: &[u8], sink: &mut impl FnMut(Fingerprint)) {
        self.taken += bytes.len() as u64;
        if let Some(LineLayout::Table(rows)) = &mut self.layout {
            rows.update(bytes, &mut |shingle| give(Some(shingle), sink));
            let mut none = |_| ();
            let (tokens, mut hashing) = self.hashing(&mut none);
            return tokens.update(bytes, &mut hashing);
        }
        let (tokens, mut hashing) = self.hashing(sink);
        tokens.update(bytes, &mut hashing);
    }

    /// Whether words are enough of what was taken.
    fn has_enough_words(&self, continued: u64) -> bool {
        if self.is_encoded() == Some(true) {
            return false;
        }
        let characters = self.taken - continued;
        TEXT_IN * (self.folding.length + self.folding.chain.words) >= characters
    }

    /// Ends the text: `sink` gets what the last words make. The shingler is then at the start of
    /// another one.
    pub fn finish(&mut self, sink: &mut impl FnMut(Fingerprint)) -> Shingled {
        if self.layout.is_none() {
            self.begin(sink);
        }
        let continued = if let Some(LineLayout::Table(rows)) = &mut self.layout {
            rows.finish(&mut |shingle| give(Some(shingle), sink));
            let mut none = |_| ();
            let (tokens, mut hashing) = self.hashing(&mut none);
            tokens.finish(&mut hashing)
        } else {
            let (tokens, mut hashing) = self.hashing(sink);
            let continued = tokens.finish(&mut hashing);
            give(self.folding.short(), sink);
            continued
        };
        let shingled = Shingled {
            words: self.folding.digest(),
            is_text: self
                .is_text
                .unwrap_or_else(|| self.has_enough_words(continued)),
            continued,
            is_encoded: self.is_encoded() == Some(true),
        };
        self.reset();
        shingled
    }

    /// What finds the words, and what takes them.
    fn hashing<'a, F>(&'a mut self, sink: &'a mut F) -> (&'a mut Tokenizer, Hashing<'a, F>) {
        let Self {
            tokens,
            folding,
            chosen,
            ..
        } = self;
        let hashing = Hashing {
            folding,
            chosen,
            sink,
        };
        (tokens, hashing)
    }
}

impl<F: FnMut(Fingerprint)> Sink for Hashing<'_, F> {
    #[inline]
    fn letter(&mut self, letter: u32) {
        self.folding.letter(letter);
    }

    #[inline]
    fn end_word(&mut self) {
        give(self.folding.word(), self.sink);
    }

    fn ascii_word(&mut self, letters: &[u8]) {
        give(self.folding.ascii_word(letters), self.sink);
    }

    #[inline]
    fn short_word(&mut self, word: Short) {
        give(self.folding.short_word(word), self.sink);
    }

    fn short_words(&mut self, window: &[u8; WINDOW], words: u64) {
        let Folding { chain, length, .. } = &mut *self.folding;
        join(window, words, chain, self.chosen);
        *length += u64::from(words.count_ones());
        for &shingle in self.chosen.hashes() {
            give(Some(shingle), self.sink);
        }
    }
}

#[inline]
fn give(shingle: Option<u64>, sink: &mut impl FnMut(Fingerprint)) {
    if let Some(fingerprint) = shingle.and_then(Fingerprint::of_hash) {
        sink(fingerprint);
    }
}

/// The text of a file as it is compared: its words in lower case, each followed by one blank.
///
/// Two files with equal canonical text are the *same text*; common runs of it are what two files
/// share whatever their line widths, capitals and markup.
pub fn canonical(bytes: &[u8]) -> Vec<u8> {
    struct CanonicalText(Vec<u8>);
    impl Sink for CanonicalText {
        fn letter(&mut self, letter: u32) {
            let letter = char::from_u32(letter).unwrap_or(char::REPLACEMENT_CHARACTER);
            self.0
                .extend_from_slice(letter.encode_utf8(&mut [0; 4]).as_bytes());
        }

        fn end_word(&mut self) {
            if self.0.last().is_some_and(|&last| last != b' ') {
                self.0.push(b' ');
            }
        }
    }
    let mut text = CanonicalText(Vec::with_capacity(bytes.len()));
    tokenize(bytes, &mut text);
    text.0
}

/// A text is UTF-8 with damage, and not in another encoding, if it has so many characters beyond
/// ASCII for each place where it is broken. A text that was cut within a letter has one such place;
/// what is ISO 8859-1 has next to no such characters.
const FOR_EACH_BREAK: usize = 8;

/// Hands the words of a whole text on. Of a text in UTF-8 the bytes of broken characters are
/// characters of ISO 8859-1 each; of any other all bytes are, which a text that comes in pieces
/// shows too late: there the broken characters alone are.
pub(crate) fn tokenize(bytes: &[u8], sink: &mut impl Sink) {
    let mut tokens = if is_utf8(bytes) {
        Tokenizer::default()
    } else {
        Tokenizer::by_byte()
    };
    tokens.update(bytes, sink);
    tokens.finish(sink);
}

/// Whether a text is in UTF-8, damaged or not.
fn is_utf8(bytes: &[u8]) -> bool {
    if std::str::from_utf8(bytes).is_ok() {
        return true;
    }
    let (mut characters, mut breaks) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        characters += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        breaks += usize::from(!chunk.invalid().is_empty());
    }
    characters >= breaks * FOR_EACH_BREAK
}

/// The sample of a text, from all its bytes.
pub fn sample(bytes: &[u8], params: &SamplingParams) -> Signature {
    let mut sampler = Sampler::new(&params.of_any_text());
    let mut shingler = Shingler::new();
    shingler.update(bytes, &mut |fingerprint| sampler.push(fingerprint));
    let shingled = shingler.finish(&mut |fingerprint| sampler.push(fingerprint));
    let all = sampler.take_text();
    all.thinned(&params.of_text(shingled.continued))
}

/// Whether a content without NUL is text, and not data or a template of which words are a small
/// part: [`Shingled::is_text`].
pub fn is_text(bytes: &[u8]) -> bool {
    let mut shingler = Shingler::new();
    shingler.update(&bytes[..bytes.len().min(Shingler::DECIDED)], &mut |_| ());
    let known = shingler.is_text();
    known.unwrap_or_else(|| shingler.finish(&mut |_| ()).is_text)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use resemble_testutil::prose::words;

    use super::*;
    use crate::hash::shingles::{OF_WORD, SHINGLE, fold, hash};

    fn shingles(pieces: &[&[u8]]) -> Vec<Fingerprint> {
        let mut all = Vec::new();
        let mut shingler = Shingler::new();
        for piece in pieces {
            shingler.update(piece, &mut |f| all.push(f));
        }
        shingler.finish(&mut |f| all.push(f));
        all
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
        // 255 letters and blanks, and one more.
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
        // The first of its bytes decide.
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

    /// The words of `words` in the accuracy scripts: Python's categories and lower case.
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
            ("a\u{ad}b x\u{200b}y", "a b x y "),
            ("\u{301}a ก\u{301}b", "\u{301}a ก\u{301} b "),
        ] {
            assert_eq!(of(text).trim_end(), words.trim_end(), "{text}");
        }
        assert_eq!(
            canonical(b"caf\xe9 \xd7 \xc9T\xc9\xa0\xbb"),
            "café été ".as_bytes()
        );
        // Broken characters are bytes of ISO 8859-1.
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
        // Of ISO 8859-1 some letters make a character of UTF-8.
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

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            bytes in prop::collection::vec(
                prop::sample::select(b"ab <>/!-&;sc\xc3\xa9\xe4\xbd\xa0\xff".to_vec()),
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

    /// How many bytes only continue a letter is known when the text ends, and not after that.
    #[test]
    fn a_large_text_in_letters_of_two_bytes_is_sampled_one_in_eight() {
        let text = |letters: &str| -> String {
            let words = (0..30_000u32).map(|n| format!("{letters}{} ", n * 7919 % 29_989));
            words.collect()
        };
        let posted = crate::Params::default().posted;
        let level = |letters: &str| sample(text(letters).as_bytes(), &posted).level;
        let wide = "\u{436}\u{437}".repeat(4);
        assert_eq!((level(&wide), level("zyzyzyzy")), (3, 4));
        let digest = crate::Digest::of(text(&wide).as_bytes(), &crate::Params::default());
        assert_eq!(digest.signature.level, 3);
    }
}
