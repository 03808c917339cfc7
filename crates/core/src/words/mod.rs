//! Word shingles: the samples of a text.
//!
//! # What is kept
//!
//! Every run of five words of a text is a shingle and has a hash. Shingles are sampled by the value
//! of their hash, just like the windows of other files ([`crate::sample`]): `Mod_n` on the
//! w-shingling of Broder 1997. A text of one to four words is one shingle.
//!
//! # Choices
//!
//! 1. **Words instead of windows.** A window of 64 bytes often spans two lines. Another line width,
//!    a changed blank or a capital letter changes it. A shingle of five words is as distinctive and
//!    survives these changes. In 714 licence texts, 128 windows for each file nominate 80 % of the
//!    pairs that share a third of their shingles. 128 shingles nominate all these pairs. In 1,512
//!    texts with 1,644 related pairs of 19 kinds of change, the figures are 94 % and 97 %.
//! 2. **A word** is a maximal run of letters, marks, digits and connectors such as `_` (Unicode's
//!    categories L, M, N, Pc). Each character is converted to lower case. In scripts that are
//!    written without blanks (Han, Kana, Thai, Khmer ...) each character with its marks is a word.
//!    A text that is not in UTF-8 is read as ISO 8859-1. A text that was cut within a letter, or
//!    has a few stray bytes, is still UTF-8. A run of letters of any length is one word. So a hash
//!    or a line of base64 is no more evidence than a short word.
//! 3. **Equal text, equal words.** Words are in normal form C (`normal`), without invisible
//!    characters, and with entities resolved (`entities`).
//! 4. **Markup is not text.** In HTML and XML (`markup`), tags with their attributes, comments,
//!    scripts and styles are separators. They are not words.
//! 5. **Streaming.** Pieces of any size give the same shingles. A word longer than memory costs
//!    nothing, because only its hash is kept.

use std::collections::HashSet;

use crate::hash::shingles::{WINDOW, WordBatch, WordEnd, fold};
use crate::ids::{Fingerprint, WordsDigest};
use crate::params::SamplingParams;
use crate::sample::{Sampler, Signature};

mod classes;
mod collect;
mod entities;
mod folding;
mod layout;
mod markup;
mod normal;
mod places;
mod sink;
mod spelled;
mod stream;
mod stretch;
mod tokenizer;

pub(crate) use collect::CollectedWords;
pub(crate) use folding::Folding;
pub(crate) use layout::{LineLayout, is_encoded_data, joined, short_rows, without_line_ends};
pub use layout::{rows_of, telling_rows};
pub use normal::letters_of_shape;
pub(crate) use places::places_of;
pub(crate) use sink::{Short, Sink};
pub use spelled::WordTexts;
pub use stream::WordHashes;
pub(crate) use stretch::{ShinglerStanding, WordSums};
pub(crate) use tokenizer::{Tokenizer, WrittenIn};

/// A file is text if at least one in `TEXT_IN` of its characters is in words, where each word
/// includes a separator. Otherwise it is data or nearly all markup. 95 % of 530 drawings (SVG) have
/// fewer than one character of a hundred in words; 95 % of 921 HTML pages have more than eleven of
/// a hundred.
const TEXT_IN: u64 = 10;

/// HTML or XML is mostly markup if fewer than one in `MARKUP_IN` of its characters is in words.
/// Such a text also has samples of its tags, because by [`TEXT_IN`] an edited copy may be data.
const MARKUP_IN: u64 = 4;

/// Makes shingles of a text that arrives in pieces of any size.
#[derive(Clone, Debug, Default)]
pub struct Shingler {
    tokens: Tokenizer,
    folding: Folding,
    batch: WordBatch,
    /// The number of bytes taken so far.
    taken: u64,
    /// The share of words in the first [`Self::DECIDED`] bytes, once all these bytes were taken.
    decided: Option<WordShare>,
    /// The first bytes. They wait here until the layout is known.
    head: Vec<u8>,
    layout: Option<LineLayout>,
    /// The samples that [`Self::besides`] drains.
    besides: Vec<Fingerprint>,
    /// The number of words that were counted before the current stretch: see [`stretch`].
    counted_before: u64,
    /// The least level of the fingerprints that the caller keeps.
    wanted: u8,
    /// The number of fingerprints that were left out because they are below `wanted`.
    left_out: u64,
}

/// The result of a [`Shingler`] on a whole text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shingled {
    /// The digest of all words, if the words (each with a blank) have at least
    /// [`LEAST_JUDGED`](crate::params::LEAST_JUDGED) letters. At most 16 letters of each word
    /// count. Without this limit, unrelated files would count as the same text. For example, empty
    /// forms and pages with nothing but script have the same few words.
    pub words: Option<WordsDigest>,
    /// True if the content is text. Otherwise words are too small a part of the content, as in data
    /// or in a page that is nearly all markup.
    pub is_text: bool,
    /// True if the content is HTML or XML, and less than a quarter of the content is in words.
    pub is_mostly_markup: bool,
    /// The number of bytes that continue a character of several bytes.
    pub continued: u64,
    /// True if the content is encoded data, which is compared without line ends.
    pub is_encoded: bool,
}

impl Shingled {
    /// Returns the extra fingerprints by which a content is found, beyond its signature. `shingles`
    /// is the signature of the content's words, and `more` the signature of the fingerprints of
    /// [`Shingler::besides`]. If the content is mostly markup, `with_tags` is the signature of all
    /// words, including tags.
    pub(crate) fn besides(
        &self,
        shingles: &Signature,
        more: Signature,
        with_tags: Option<Signature>,
    ) -> Vec<Fingerprint> {
        let with_tags = with_tags.map(|all| all.fingerprints);
        if self.is_text {
            let mut besides = more.fingerprints;
            besides.extend(with_tags.unwrap_or_default());
            if !besides.is_empty() {
                let mut known: HashSet<Fingerprint> =
                    shingles.fingerprints.iter().copied().collect();
                besides.retain(|&sample| known.insert(sample));
            }
            besides
        } else if self.is_encoded {
            Vec::new()
        } else {
            with_tags.unwrap_or_else(|| shingles.fingerprints.clone())
        }
    }
}

/// The share of words in a text.
#[derive(Clone, Copy, Debug)]
struct WordShare {
    /// The number of characters of all words, each with a separator; 0 for encoded data.
    letters: u64,
    characters: u64,
}

impl WordShare {
    const fn is_text(self) -> bool {
        TEXT_IN * self.letters >= self.characters
    }

    const fn is_little(self) -> bool {
        MARKUP_IN * self.letters < self.characters
    }
}

/// Hashes words, and passes on the samples of their shingles. Words wait in the batch until their
/// shingles are made.
struct Hashing<'a, F> {
    folding: &'a mut Folding,
    batch: &'a mut WordBatch,
    besides: &'a mut Vec<Fingerprint>,
    /// The greatest hash whose fingerprint has the wanted level.
    greatest: u64,
    left_out: &'a mut u64,
    sink: &'a mut F,
}

impl Shingler {
    /// Makes a shingler at the start of a text.
    pub fn new() -> Self {
        Self::default()
    }

    /// Makes a shingler that reads tags and their attributes as words.
    pub fn plain() -> Self {
        Self {
            tokens: Tokenizer::without_markup(),
            ..Self::default()
        }
    }

    /// The number of bytes at the start of a file that decide whether it is text.
    pub const DECIDED: usize = layout::DECIDED;

    /// Allows the shingler to leave out fingerprints below `level` from now on. In a large text,
    /// most of the fingerprints are below `level`.
    pub(crate) const fn want(&mut self, level: u8) {
        self.wanted = level;
    }

    /// Returns the number of fingerprints that were left out, and resets this number.
    pub(crate) const fn take_left_out(&mut self) -> u64 {
        std::mem::replace(&mut self.left_out, 0)
    }

    /// Resets the shingler to the start of a text.
    pub fn reset(&mut self) {
        self.besides.clear();
        self.left_out = 0;
        self.start_anew();
    }

    /// Drains the extra samples. If the letters of a shingle take several bytes, the extra samples
    /// are additional fingerprints of the shingle, made by other hashes. They only help to find a
    /// text; nothing is estimated from them.
    pub fn besides(&mut self) -> impl Iterator<Item = Fingerprint> + '_ {
        self.besides.drain(..)
    }

    fn start_anew(&mut self) {
        self.tokens.reset();
        self.folding = Folding::default();
        self.taken = 0;
        self.decided = None;
        self.head.clear();
        self.layout = None;
        self.counted_before = 0;
    }

    /// Returns whether the file is text. This depends only on the first [`Self::DECIDED`] bytes.
    /// Returns `None` until all these bytes were taken.
    pub fn is_text(&self) -> Option<bool> {
        self.decided.map(WordShare::is_text)
    }

    /// Returns whether the file is HTML or XML with few words. Also returns true while this is not
    /// decided yet.
    pub(crate) fn may_be_mostly_markup(&self) -> bool {
        self.tokens.is_markup().unwrap_or(true) && self.decided.is_none_or(WordShare::is_little)
    }

    /// Returns whether the file is encoded data. Returns `None` until the layout is known.
    pub(crate) const fn is_encoded(&self) -> Option<bool> {
        match &self.layout {
            None => None,
            Some(layout) => Some(matches!(layout, LineLayout::Encoded)),
        }
    }

    /// Takes the next bytes. `sink` receives the fingerprints of the shingles that end in these
    /// bytes, if their level is [`Fingerprint::BASE_LEVEL`] or above. In a table, `sink` receives
    /// the fingerprints of the rows. The first bytes are held back until they show whether the text
    /// is a table. A later call then passes on their fingerprints.
    pub fn update(&mut self, bytes: &[u8], sink: &mut impl FnMut(Fingerprint)) {
        if self.layout.is_some() {
            return self.take_decided(bytes, sink);
        }
        let is_plain = |glance: &[u8]| {
            glance.len() >= layout::GLANCE && !layout::is_worth_deciding(&glance[..layout::GLANCE])
        };
        if self.head.is_empty() {
            let is_plain = is_plain(bytes);
            if is_plain || bytes.len() >= Self::DECIDED {
                self.layout = Some(if is_plain {
                    LineLayout::Plain
                } else {
                    LineLayout::of(bytes)
                });
                return self.take_decided(bytes, sink);
            }
        }
        let was_glanced_at = self.head.len() >= layout::GLANCE;
        let room = bytes.len().min(Self::DECIDED - self.head.len());
        let (first, rest) = bytes.split_at(room);
        self.head.extend_from_slice(first);
        let is_plain = !was_glanced_at && is_plain(&self.head);
        if is_plain || self.head.len() == Self::DECIDED {
            self.begin(is_plain, sink);
            self.take_decided(rest, sink);
        }
    }

    /// Decides the layout from the buffered head, and reads the head. `is_plain` is true if the
    /// layout is already known to be plain.
    fn begin(&mut self, is_plain: bool, sink: &mut impl FnMut(Fingerprint)) {
        let head = std::mem::take(&mut self.head);
        self.layout = Some(if is_plain {
            LineLayout::Plain
        } else {
            LineLayout::of(&head)
        });
        self.take_decided(&head, sink);
        self.head = head;
        self.head.clear();
    }

    fn take_decided(&mut self, bytes: &[u8], sink: &mut impl FnMut(Fingerprint)) {
        let mut bytes = bytes;
        let undecided = (Self::DECIDED as u64).saturating_sub(self.taken) as usize;
        if self.decided.is_none() && bytes.len() >= undecided {
            let (first, rest) = bytes.split_at(undecided);
            self.take(first, sink);
            self.decided = Some(self.word_share(self.tokens.written_in()));
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
            tokens.update(bytes, &mut hashing);
            hashing.join();
            // The extra samples are made of runs of words that may cross rows, so a table has no
            // extra samples.
            return self.besides.clear();
        }
        let (tokens, mut hashing) = self.hashing(sink);
        tokens.update(bytes, &mut hashing);
        hashing.join();
    }

    /// Returns the share of words in the bytes so far.
    fn word_share(&self, written_in: WrittenIn) -> WordShare {
        let is_encoded = self.is_encoded() == Some(true);
        let letters = self.folding.length + self.folding.chain.words;
        WordShare {
            letters: if is_encoded { 0 } else { letters },
            characters: self.taken - written_in.continued,
        }
    }

    /// Ends the text and returns the result; `sink` receives the fingerprints of the last words.
    /// The shingler is then at the start of another text.
    pub fn finish(&mut self, sink: &mut impl FnMut(Fingerprint)) -> Shingled {
        if self.layout.is_none() {
            self.begin(false, sink);
        }
        let written_in = if let Some(LineLayout::Table(rows)) = &mut self.layout {
            rows.finish(&mut |shingle| give(Some(shingle), sink));
            let mut none = |_| ();
            let (tokens, mut hashing) = self.hashing(&mut none);
            let written_in = tokens.finish(&mut hashing);
            hashing.join();
            self.besides.clear();
            written_in
        } else {
            let (tokens, mut hashing) = self.hashing(sink);
            let written_in = tokens.finish(&mut hashing);
            hashing.join();
            give(self.folding.short(), sink);
            written_in
        };
        let share = self.decided.unwrap_or_else(|| self.word_share(written_in));
        let shingled = Shingled {
            words: self.folding.digest(),
            is_text: share.is_text(),
            is_mostly_markup: written_in.is_markup && share.is_little(),
            continued: written_in.continued,
            is_encoded: self.is_encoded() == Some(true),
        };
        self.start_anew();
        shingled
    }

    /// Splits the shingler into the tokenizer and the sink of its words.
    fn hashing<'a, F>(&'a mut self, sink: &'a mut F) -> (&'a mut Tokenizer, Hashing<'a, F>) {
        let Self {
            tokens,
            folding,
            batch,
            besides,
            wanted,
            left_out,
            ..
        } = self;
        let hashing = Hashing {
            folding,
            batch,
            besides,
            greatest: u64::MAX >> *wanted,
            left_out,
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
        let more = self.folding.times_more();
        let Some(word) = self.folding.take_end() else {
            return;
        };
        self.push(word);
        if more > 0 {
            self.join();
            if let Some(shingle) = self.folding.shingle() {
                let again = (0..more).map(|time| fold(shingle, u128::from(time)));
                self.besides.extend(again.filter_map(Fingerprint::of_hash));
            }
        }
    }

    fn ascii_word(&mut self, letters: &[u8]) {
        let word = self.folding.ascii_end(letters);
        self.push(word);
    }

    fn short_words(&mut self, window: &[u8; WINDOW], words: u64) {
        self.batch.push_runs(window, words);
        self.folding.length += u64::from(words.count_ones());
        self.join_if_full();
    }

    fn blocks(&mut self, bytes: &[u8]) -> usize {
        let mut at = 0;
        loop {
            let (taken, letters) = self.batch.push_blocks(&bytes[at..]);
            self.folding.length += letters;
            at += taken;
            if !self.batch.is_full() {
                return at;
            }
            self.join();
        }
    }
}

impl<F: FnMut(Fingerprint)> Hashing<'_, F> {
    #[inline]
    fn push(&mut self, word: WordEnd) {
        self.batch.push(word);
        self.join_if_full();
    }

    #[inline]
    fn join_if_full(&mut self) {
        if self.batch.is_full() {
            self.join();
        }
    }

    /// Makes shingles of all words that wait in the batch.
    fn join(&mut self) {
        let shingles = self.batch.join(&mut self.folding.chain);
        let mut wanted = 0;
        for &shingle in shingles {
            if shingle <= self.greatest {
                wanted += 1;
                give(Some(shingle), self.sink);
            }
        }
        *self.left_out += shingles.len() as u64 - wanted;
    }
}

#[inline]
fn give(shingle: Option<u64>, sink: &mut impl FnMut(Fingerprint)) {
    if let Some(fingerprint) = shingle.and_then(Fingerprint::of_hash) {
        sink(fingerprint);
    }
}

/// Returns the text of a file in the form in which it is compared: its words in lower case, each
/// followed by one blank.
///
/// Two files with equal canonical text are the *same text*. Runs of canonical text that two files
/// share do not depend on line width, capitals or markup.
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

/// The minimum number of non-ASCII characters for each broken place of a damaged UTF-8 text. A text
/// with fewer such characters is in another encoding. A text that was cut within a letter has one
/// broken place. In a text in ISO 8859-1, almost no non-ASCII bytes are valid UTF-8.
const FOR_EACH_BREAK: usize = 8;

/// Passes the words of a whole text to `sink`. In UTF-8, only the bytes of broken characters are
/// read as ISO 8859-1. In any other text all bytes are read as ISO 8859-1. A text that arrives in
/// pieces reveals its encoding too late, so it is always read like UTF-8.
pub(crate) fn tokenize(bytes: &[u8], sink: &mut impl Sink) {
    let mut tokens = whole(bytes);
    tokens.update(bytes, sink);
    tokens.finish(sink);
}

/// Returns a tokenizer for the encoding of a whole text.
fn whole(bytes: &[u8]) -> Tokenizer {
    if is_utf8(bytes) {
        Tokenizer::default()
    } else {
        Tokenizer::by_byte()
    }
}

/// Passes the words of data to `sink`, including the words of its markup.
pub(crate) fn tokenize_all(bytes: &[u8], sink: &mut impl Sink) {
    let mut tokens = Tokenizer::without_markup();
    tokens.update(bytes, sink);
    tokens.finish(sink);
}

/// Returns whether a text is in UTF-8. Damaged UTF-8 counts as UTF-8.
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

/// Samples the words of a whole content without NUL. Returns the signature, if the content is text.
/// Also returns its extra fingerprints ([`crate::Digest::besides`]).
pub fn sample(bytes: &[u8], params: &SamplingParams) -> (Option<Signature>, Vec<Fingerprint>) {
    let sample = |mut shingler: Shingler| {
        let sampler = Sampler::new(&params.of_any_text());
        let (mut all, mut more) = (sampler.clone(), sampler);
        shingler.update(bytes, &mut |fingerprint| all.push(fingerprint));
        let shingled = shingler.finish(&mut |fingerprint| all.push(fingerprint));
        shingler.besides().for_each(|sample| more.push(sample));
        (all, more, shingled)
    };
    let (mut all, mut more, shingled) = sample(Shingler::new());
    let params = params.of_text(shingled.continued);
    let shingles = all.take_text(&params);
    let with_tags = shingled
        .is_mostly_markup
        .then(|| sample(Shingler::plain()).0.take_thinned(&params));
    let besides = shingled.besides(&shingles, more.take_thinned(&params), with_tags);
    (shingled.is_text.then_some(shingles), besides)
}

/// Returns [`Shingled::is_text`] of a content without NUL.
pub fn is_text(bytes: &[u8]) -> bool {
    let mut shingler = Shingler::new();
    shingler.update(&bytes[..bytes.len().min(Shingler::DECIDED)], &mut |_| ());
    let known = shingler.is_text();
    known.unwrap_or_else(|| shingler.finish(&mut |_| ()).is_text)
}

#[cfg(test)]
mod tests;
