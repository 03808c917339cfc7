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
//! 3. **One text is one text.** Words are those of normal form C (`normal`), without characters
//!    that are not seen, and with entities resolved (`entities`).
//! 4. **Markup is not text.** In HTML and XML, which have many tags (`markup`), tags with their
//!    attributes, comments, scripts and styles separate words and are none.
//! 5. **Streaming.** Pieces of any size give the same shingles; a word longer than memory costs
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

/// A file is text if its words, each with a separator, are at least one in so many of its
/// characters. Else it is data or a template, and words are a small part of it: 95 % of 530
/// drawings (SVG) have no word in a hundred characters, and 95 % of 921 HTML pages more than
/// eleven.
const TEXT_IN: u64 = 10;

/// Of HTML and XML of which words are less than one in so many characters a part, an edited copy or
/// the same with more prose may be text or data.
const MARKUP_IN: u64 = 4;

/// Makes shingles of the bytes of a text handed over in pieces of any size.
#[derive(Clone, Debug, Default)]
pub struct Shingler {
    tokens: Tokenizer,
    folding: Folding,
    batch: WordBatch,
    /// Bytes so far.
    taken: u64,
    /// How much of the first [`Self::DECIDED`] bytes is words, once they are known.
    decided: Option<WordShare>,
    /// The first bytes, until the layout is known.
    head: Vec<u8>,
    layout: Option<LineLayout>,
    /// [`Self::besides`].
    besides: Vec<Fingerprint>,
    /// Words before the stretch under way that it has counted: see [`stretch`].
    counted_before: u64,
    /// The least level of fingerprints that are wanted.
    wanted: u8,
    /// How many were left out below it.
    left_out: u64,
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
    /// Whether it is HTML or XML, of which tags are no text, and these are most of it.
    pub is_mostly_markup: bool,
    /// Bytes that only continue a character.
    pub continued: u64,
    /// Whether it is encoded data: it is compared without line ends.
    pub is_encoded: bool,
}

impl Shingled {
    /// What a content is found by besides its signature: `shingles` are samples of its words,
    /// `more` are those of [`Shingler::besides`], and `with_tags` of all words, those of tags among
    /// them, if it is mostly markup.
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

/// How much of a text is words.
#[derive(Clone, Copy, Debug)]
struct WordShare {
    /// Of all words, each with a separator; of encoded data none.
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

/// Gives away the samples of what it hashes. Words wait in the batch until they are joined.
struct Hashing<'a, F> {
    folding: &'a mut Folding,
    batch: &'a mut WordBatch,
    besides: &'a mut Vec<Fingerprint>,
    /// The greatest hash that has the level that is wanted.
    greatest: u64,
    left_out: &'a mut u64,
    sink: &'a mut F,
}

impl Shingler {
    /// A shingler at the start of a text.
    pub fn new() -> Self {
        Self::default()
    }

    /// A shingler to which tags and their attributes are text like all else.
    pub fn plain() -> Self {
        Self {
            tokens: Tokenizer::without_markup(),
            ..Self::default()
        }
    }

    /// So many bytes decide whether a file is text.
    pub const DECIDED: usize = layout::DECIDED;

    /// From now on fingerprints below a level may be left out: of a large text they are most of
    /// all.
    pub(crate) const fn want(&mut self, level: u8) {
        self.wanted = level;
    }

    /// Takes out how many were left out.
    pub(crate) const fn take_left_out(&mut self) -> u64 {
        std::mem::replace(&mut self.left_out, 0)
    }

    /// Forgets what was taken.
    pub fn reset(&mut self) {
        self.besides.clear();
        self.left_out = 0;
        self.start_anew();
    }

    /// Takes what was sampled besides so far: more fingerprints of shingles in letters of several
    /// bytes, by other hashes. A text is found by them, and nothing is estimated by them.
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

    /// Whether it is text, if that is known before the end.
    pub fn is_text(&self) -> Option<bool> {
        self.decided.map(WordShare::is_text)
    }

    /// Whether it is HTML or XML with few words, or may still turn out to be.
    pub(crate) fn may_be_mostly_markup(&self) -> bool {
        self.tokens.is_markup().unwrap_or(true) && self.decided.is_none_or(WordShare::is_little)
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

    /// What was kept of the beginning decides; `is_plain`: it has.
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
            // A run of words that crosses a row is no sample of a table.
            return self.besides.clear();
        }
        let (tokens, mut hashing) = self.hashing(sink);
        tokens.update(bytes, &mut hashing);
        hashing.join();
    }

    /// How much of what was taken is words.
    fn word_share(&self, written_in: WrittenIn) -> WordShare {
        let is_encoded = self.is_encoded() == Some(true);
        let letters = self.folding.length + self.folding.chain.words;
        WordShare {
            letters: if is_encoded { 0 } else { letters },
            characters: self.taken - written_in.continued,
        }
    }

    /// Ends the text: `sink` gets what the last words make. The shingler is then at the start of
    /// another one.
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

    /// What finds the words, and what takes them.
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

    /// Joins the words that wait: all that were taken.
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
    let mut tokens = whole(bytes);
    tokens.update(bytes, sink);
    tokens.finish(sink);
}

/// Finds the words of this whole text.
fn whole(bytes: &[u8]) -> Tokenizer {
    if is_utf8(bytes) {
        Tokenizer::default()
    } else {
        Tokenizer::by_byte()
    }
}

/// The same of data, of which the words of markup are words as well.
pub(crate) fn tokenize_all(bytes: &[u8], sink: &mut impl Sink) {
    let mut tokens = Tokenizer::without_markup();
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

/// The samples of the words of a content without NUL, from all its bytes: of a text its signature,
/// and what it is found by besides ([`Digest::besides`](crate::Digest::besides)).
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

/// Whether a content without NUL is text, and not data or a template of which words are a small
/// part: [`Shingled::is_text`].
pub fn is_text(bytes: &[u8]) -> bool {
    let mut shingler = Shingler::new();
    shingler.update(&bytes[..bytes.len().min(Shingler::DECIDED)], &mut |_| ());
    let known = shingler.is_text();
    known.unwrap_or_else(|| shingler.finish(&mut |_| ()).is_text)
}

#[cfg(test)]
mod tests;
