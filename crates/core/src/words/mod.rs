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
//! 2. **A word** is a run of letters and digits (and `_`), in lower case. Scripts without blanks
//!    between words (Han, Kana, Hangul) have a word for each character. Bytes that are no UTF-8 are
//!    letters, so that texts in other encodings agree with themselves. From its 17th letter on a
//!    word is cut where the last four letters say so, after eight letters on average: sequences,
//!    dumps and encoded data have words as well, which a shift does not change.
//! 3. **Markup is not text.** In HTML and XML, recognised by how the file begins, tags, comments,
//!    scripts, styles and entities separate words and are none. The values of attributes are text
//!    in XML, where they are data (an SVG has little else), and none in HTML, where they are
//!    layout.
//! 4. **Streaming.** Pieces of any size give the same shingles; a word longer than memory costs
//!    nothing, because only its hash is kept.

use crate::hash::shingles::{Chosen, SHINGLE, ShingleChain, WINDOW, fold, hash, join, small};
use crate::ids::{Fingerprint, WordsDigest};
use crate::params::LEAST_JUDGED;

mod spelled;
mod stream;
mod tokenizer;

pub use spelled::WordTexts;
pub use stream::WordHashes;
pub(crate) use tokenizer::{Short, Sink, Tokenizer};

/// More letters in a row are no word of a language.
const LONG: u32 = 16;

/// Multiplier of the last four letters, odd.
const OF_WINDOW: u32 = 0x9e37_79b1;

/// Makes shingles of the bytes of a text handed over in pieces of any size.
#[derive(Clone, Debug, Default)]
pub struct Shingler {
    tokens: Tokenizer,
    folding: Folding,
    chosen: Chosen,
}

/// Hashes letters to words and words to shingles.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folding {
    /// The hash of the letters before the last up to 16, these, and how many bytes they are.
    word: u64,
    sixteen: u128,
    bytes: usize,
    /// Letters since the last separator, and the last four of them.
    letters: u32,
    window: u32,
    chain: ShingleChain,
    /// The bytes of all words so far.
    length: u64,
}

impl Folding {
    /// Takes a letter; whether a word without end is cut behind it.
    #[inline]
    pub(crate) fn letter(&mut self, letter: u32) -> bool {
        if letter < 128 {
            self.byte(letter as u8 | 0x20);
        } else {
            let bytes = letter.to_le_bytes();
            let length = 4 - letter.leading_zeros() as usize / 8;
            for &byte in &bytes[..length] {
                self.byte(byte);
            }
            // Apart from letters of ASCII that have these bytes.
            self.byte(0xff);
        }
        self.letters += 1;
        self.window = self.window << 8 | (letter | 0x20) & 0xff;
        self.letters > LONG && is_cut(self.window)
    }

    #[inline]
    fn byte(&mut self, byte: u8) {
        if self.bytes == 16 {
            self.word = fold(self.word, self.sixteen);
            (self.sixteen, self.bytes) = (0, 0);
        }
        self.sixteen |= u128::from(byte) << (8 * self.bytes);
        self.bytes += 1;
        self.length += 1;
    }

    /// Between words.
    #[inline]
    pub(crate) fn end_word(&mut self) {
        self.letters = 0;
    }

    /// Whether a word is under way.
    #[inline]
    pub(crate) const fn in_word(&self) -> bool {
        self.bytes > 0
    }

    /// Ends the word, if there is one: the shingle that it completes, if it does.
    #[inline]
    pub(crate) fn word(&mut self) -> Option<u64> {
        let word = self.take_word()?;
        self.add(word)
    }

    /// Ends the word, if there is one: its hash.
    #[inline]
    fn take_word(&mut self) -> Option<u64> {
        if !self.in_word() {
            return None;
        }
        let word = fold(self.word, self.sixteen);
        (self.word, self.sixteen, self.bytes) = (0, 0, 0);
        Some(word)
    }

    /// A whole word at once.
    #[inline]
    pub(crate) fn short_word(&mut self, word: Short) -> Option<u64> {
        self.length += word.length as u64;
        self.add(fold(0, small(word.letters)))
    }

    /// A word of any number of letters of ASCII.
    pub(crate) fn piece(&mut self, letters: &[u8]) -> Option<u64> {
        let (sixteens, rest) = letters.as_chunks::<{ Short::MOST }>();
        let mut hash = sixteens.iter().fold(0, |before, part| {
            fold(before, small(u128::from_le_bytes(*part)))
        });
        if !rest.is_empty() {
            let last = match letters.last_chunk() {
                // Together with letters before them, which are shifted out: no copy of so many
                // bytes.
                Some(last) => u128::from_le_bytes(*last) >> (8 * (Short::MOST - rest.len())),
                None => rest
                    .iter()
                    .rev()
                    .fold(0, |all, &letter| all << 8 | u128::from(letter)),
            };
            hash = fold(hash, small(last));
        }
        if letters.is_empty() {
            None
        } else {
            self.length += letters.len() as u64;
            self.add(hash)
        }
    }

    /// The next word.
    #[inline]
    fn add(&mut self, word: u64) -> Option<u64> {
        self.chain.push(word);
        (self.chain.words >= SHINGLE as u64).then(|| hash(self.chain.shingle))
    }

    /// The digest that names the words, if they have enough bytes to be judged.
    fn digest(&self) -> Option<WordsDigest> {
        let length = self.length + self.chain.words;
        (length >= LEAST_JUDGED.0).then(|| {
            let mut digest = [0; 16];
            digest[..8].copy_from_slice(&hash(self.chain.all[0] ^ length).to_le_bytes());
            digest[8..].copy_from_slice(
                &hash(self.chain.all[1].wrapping_add(self.chain.words)).to_le_bytes(),
            );
            WordsDigest(digest)
        })
    }

    /// The one shingle of a text of one to four words.
    pub(crate) fn short(&self) -> Option<u64> {
        (1..SHINGLE as u64)
            .contains(&self.chain.words)
            .then(|| hash(self.chain.shingle))
    }
}

/// Whether a word without end is cut behind these four letters, in lower case, the last one lowest.
#[inline]
const fn is_cut(window: u32) -> bool {
    window.wrapping_mul(OF_WINDOW) >> 29 == 0
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

    /// Forgets what was taken.
    pub fn reset(&mut self) {
        self.tokens.reset();
        self.folding = Folding::default();
    }

    /// Takes the next bytes; `sink` gets the fingerprints of level [`Fingerprint::BASE_LEVEL`] and
    /// more of the shingles that end in them.
    pub fn update(&mut self, bytes: &[u8], sink: &mut impl FnMut(Fingerprint)) {
        let (tokens, mut hashing) = self.hashing(sink);
        tokens.update(bytes, &mut hashing);
    }

    /// Ends the text: `sink` gets what the last words make. The shingler is then at the start of
    /// another one.
    ///
    /// Returns what names all words, of a text whose words (each with a blank) are at least
    /// [`LEAST_JUDGED`]: of pages that are all script and of forms without entries there are few
    /// words, and those are the same.
    pub fn finish(&mut self, sink: &mut impl FnMut(Fingerprint)) -> Option<WordsDigest> {
        let (tokens, mut hashing) = self.hashing(sink);
        tokens.finish(&mut hashing);
        give(self.folding.short(), sink);
        std::mem::take(&mut self.folding).digest()
    }

    /// What finds the words, and what takes them.
    fn hashing<'a, F>(&'a mut self, sink: &'a mut F) -> (&'a mut Tokenizer, Hashing<'a, F>) {
        let Self {
            tokens,
            folding,
            chosen,
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
        if self.folding.letter(letter) {
            give(self.folding.word(), self.sink);
        }
    }

    #[inline]
    fn end_word(&mut self) {
        give(self.folding.word(), self.sink);
        self.folding.end_word();
    }

    fn piece(&mut self, letters: &[u8], _last: bool) {
        give(self.folding.piece(letters), self.sink);
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
            match char::from_u32(letter) {
                Some(letter) => {
                    let mut utf8 = [0; 4];
                    self.0
                        .extend_from_slice(letter.encode_utf8(&mut utf8).as_bytes());
                }
                None => self.0.extend_from_slice(&letter.to_be_bytes()),
            }
        }

        fn end_word(&mut self) {
            if self.0.last().is_some_and(|&last| last != b' ') {
                self.0.push(b' ');
            }
        }
    }
    let mut text = CanonicalText(Vec::with_capacity(bytes.len()));
    let mut tokens = Tokenizer::default();
    tokens.update(bytes, &mut text);
    tokens.finish(&mut text);
    text.0
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use resemble_testutil::prose::words;

    use super::*;
    use crate::hash::shingles::OF_WORD;

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
        shingler.finish(&mut |_| ())
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
    fn letters_without_end_are_cut_by_what_they_say() {
        let letters: String = words(40000, 4000).split(' ').collect();
        let all = shingles(&[letters.as_bytes()]);
        assert!(all.len() > letters.len() / 100, "{}", all.len());
        let shifted = format!("xyz{letters}");
        let (mut same, of_shifted) = (0, shingles(&[shifted.as_bytes()]));
        for fingerprint in &all {
            same += usize::from(of_shifted.contains(fingerprint));
        }
        assert!(same + 5 >= all.len(), "{same} of {}", all.len());
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
    fn values_of_xml_are_text() {
        let svg = b"a <?xml version=\"1.0\"?>\n<!DOCTYPE svg PUBLIC \"x\">\n\
            <svg width='10'><path d=\"M 1 2\"/>Text</svg>";
        assert_eq!(canonical(svg), b"a 10 m 1 2 text ");
        assert_eq!(
            canonical(b"<?xml?><!DOCTYPE html><html a='b'>c</html>"),
            b"c "
        );
        assert_eq!(canonical(b"if a <b and c</d"), b"if a b and c d ");
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

    /// A run of letters as words: from the 17th on it is cut behind each letter that the last four
    /// say so of.
    fn cut(letters: &[u8]) -> Vec<Vec<u8>> {
        let mut words = vec![Vec::new()];
        for (at, &letter) in letters.iter().enumerate() {
            words.last_mut().expect("one").push(letter);
            if at >= 16
                && is_cut(u32::from_be_bytes([
                    letters[at - 3],
                    letters[at - 2],
                    letters[at - 1],
                    letter,
                ]))
            {
                words.push(Vec::new());
            }
        }
        words.retain(|word| !word.is_empty());
        words
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
            prop_assert_eq!(shingler.finish(&mut |_| ()), digest(&all));
        }

        #[test]
        fn plain_text_is_its_definition(text in "([a-cA-C0 _.,\n]{0,30}|[a-cA-C0_]{15,60}){0,10}") {
            let words: Vec<u64> = text
                .to_lowercase()
                .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                .flat_map(|word| cut(&word.bytes().map(|byte| byte | 0x20).collect::<Vec<u8>>()))
                .map(|word| {
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
}
