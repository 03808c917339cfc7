//! Proof: measures two contents by reading the contents themselves.
//!
//! # The definitions
//!
//! Two texts are measured in words. A word of a is *covered* if it is in a run of at least five
//! words that b has, too. The containment of a in b is the share of a's words that are covered. The
//! resemblance of the two texts is the resemblance of their sets of five-word shingles (Broder
//! 1997, section 2). For any other pair, a containment is a share of bytes. A byte counts if it is
//! in a run of at least 64 bytes that the other content has, too. The resemblance is the
//! resemblance of the sets of 64-byte windows ([`runs`]).
//!
//! # How words are compared
//!
//! 1. **No position is guessed.** A word is in a run of five words of b if and only if b's *set*
//!    has one of the five shingles over this word. So the sets are enough: common shingles are
//!    marked in both sets, and each text is walked once along its marks. No run is extended or
//!    preferred to another. The result for (b, a) is the result for (a, b) with the sides
//!    exchanged.
//! 2. **Each text is cut into words once** ([`ShingledText`]), for all its comparisons. Its
//!    distinct shingles are numbered in the order of their first occurrence. A table with open
//!    addressing finds the number of a shingle, and the walk uses only numbers.
//! 3. **Shingles are compared by 64-bit hashes**. Among a million hashes, the probability of a
//!    false equality is 10^-7. A false equality changes a figure by 10^-6.
//! 4. **Templates are removed from both texts** ([`TemplateShingles`]). Their shingles are in no
//!    set. The words that these shingles cover have length 0, so the words never count.
//! 5. **Tables and encoded data** have measures of their own, if both contents are tables or both
//!    are encoded data ([`ComparedText`], [`ComparedBytes`]). In tables lines are significant; in
//!    encoded data they are mere layout.

use std::cmp::Ordering;
use std::sync::OnceLock;

use crate::bits::BitSet;
use crate::ids::{ByteLen, Fingerprint, Score};
use crate::params::Params;
use crate::similarity::{Measures, Relation, TemplateShingles, Templates, Unit, runs, too_small};
use crate::words::CollectedWords;
use crate::{ContentKind, WordsDigest};

mod cover;
mod laid_out;
mod members;
mod words;

pub(super) use cover::{CoverWalk, Covered, WordLengths};
pub use laid_out::{ComparedBytes, ComparedText};
pub use members::ProvableMembers;

/// The number of words in a shingle, which is also the length of the shortest run that covers
/// words.
const SHINGLE: usize = Params::SHINGLE;

/// The minimum number of bytes of words in a run that is a *passage*: about twenty words, which do
/// not occur twice by chance. `docs/similarity.md` compares greater and smaller lengths.
pub const PASSAGE: ByteLen = ByteLen(128);

/// Two texts repeat their common text, as records do, if each has at least this many covered words
/// for each distinct common shingle. If nothing is repeated, there are at most five covered words
/// for each shingle.
const REPEATED: u64 = 8;

/// The minimum number of bytes of a passage in texts that repeat their common text. In such texts,
/// only a part of the bytes of a repeated word counts. A shorter run may be a statement that many
/// such texts have, as at the beginning of a table of a database.
const PASSAGE_OF_RECORDS: f64 = 2.0 * PASSAGE.0 as f64;

/// The value that a template shingle has instead of a number.
const OF_TEMPLATE: u32 = u32::MAX;

/// A text as its shingles.
#[derive(Clone, Debug, Default)]
pub struct ShingledText {
    /// The distinct shingles in the order of their first occurrence. The place of a shingle here is
    /// its number.
    distinct: Vec<u64>,
    /// A hash table with open addressing: for each shingle its number plus one; 0 is a free slot.
    table: Vec<u32>,
    /// For each word, the number of the shingle that begins with the word, or [`OF_TEMPLATE`]. The
    /// last four words of a text have no entry. A text of one to four words has one shingle.
    order: Vec<u32>,
    lengths: WordLengths,
    /// The end of each of the joined texts; no shingle crosses an end.
    texts: Vec<TextEnd>,
}

/// The number of shingles and words up to the end of a text, and the digest of the words of this
/// text alone.
#[derive(Clone, Copy, Debug)]
struct TextEnd {
    shingles: usize,
    words: usize,
    digest: Option<WordsDigest>,
}

impl ShingledText {
    /// Returns the shingles of the text of a content, given all its bytes.
    ///
    /// # Memory
    ///
    /// Takes about 25 bytes for each word.
    pub fn of(bytes: &[u8]) -> Self {
        Self::of_all(&[bytes])
    }

    /// Joins several texts to one, in any order. No run crosses from one text to the next.
    pub fn of_all(texts: &[&[u8]]) -> Self {
        Self::without(&TemplateShingles::default(), texts)
    }

    /// Like [`Self::of_all`], without templates.
    pub fn without(template: &TemplateShingles, texts: &[&[u8]]) -> Self {
        let collected = texts.iter().map(|bytes| CollectedWords::of(bytes));
        Self::of_collected(collected.collect(), template)
    }

    /// Joins texts whose words are known. Leaves out the templates.
    fn of_collected(collected: Vec<CollectedWords>, template: &TemplateShingles) -> Self {
        let all = collected.iter().map(|text| text.shingles.len()).sum();
        let mut joined = Self {
            distinct: Vec::with_capacity(all),
            table: vec![0; (2 * all).next_power_of_two().max(16)],
            order: Vec::with_capacity(all),
            ..Self::default()
        };
        for text in collected {
            joined.push(text, template);
        }
        joined
    }

    fn push(&mut self, text: CollectedWords, template: &TemplateShingles) {
        let mask = self.table.len() - 1;
        let of_template = template.words_of(&text);
        for shingle in text.shingles {
            if template.has(shingle) {
                self.order.push(OF_TEMPLATE);
                continue;
            }
            let mut at = shingle as usize & mask;
            let number = loop {
                match self.table[at].checked_sub(1) {
                    None => {
                        self.distinct.push(shingle);
                        self.table[at] = self.distinct.len() as u32;
                        break self.table[at] - 1;
                    }
                    Some(number) if self.distinct[number as usize] == shingle => break number,
                    Some(_) => at = (at + 1) & mask,
                }
            };
            self.order.push(number);
        }
        let first = self.lengths.places();
        self.lengths.extend(&text.ends, &of_template);
        let words = self.lengths.places();
        self.texts.push(TextEnd {
            shingles: self.order.len(),
            words,
            digest: text
                .digest
                .filter(|_| self.lengths.are_enough(first..words)),
        });
    }

    /// Counts the words that are not in templates.
    pub fn words(&self) -> u64 {
        self.lengths.words()
    }

    /// Estimates the bytes of memory that the text takes.
    pub const fn memory(&self) -> usize {
        8 * self.distinct.capacity()
            + 4 * (self.table.capacity() + self.order.capacity())
            + self.lengths.memory()
    }

    /// Counts the distinct shingles of the text that are in no template.
    pub fn distinct(&self) -> u64 {
        self.distinct.len() as u64
    }

    /// Returns the digest of the words, if this is one text with enough words to be judged.
    pub fn digest(&self) -> Option<WordsDigest> {
        match &self.texts[..] {
            [text] => text.digest,
            _ => None,
        }
    }

    /// Returns the distinct shingles of the text.
    pub fn shingles(&self) -> &[u64] {
        &self.distinct
    }

    /// Returns the number of a shingle, if the text has it.
    #[inline]
    fn number(&self, shingle: u64) -> Option<u32> {
        let mask = self.table.len() - 1;
        let mut at = shingle as usize & mask;
        loop {
            let number = self.table[at].checked_sub(1)?;
            if self.distinct[number as usize] == shingle {
                return Some(number);
            }
            at = (at + 1) & mask;
        }
    }

    /// Returns the mean weight of the words, if each word has the weight of the nearest sample. The
    /// level alone does not show how many words a sample represents. A header of 300 words has 38
    /// samples on average, and may have 30 or 46.
    ///
    /// `worth` returns the weight, 0..=1, of a sample of this level. It is called for the samples
    /// in any order.
    pub fn share_nearest(&self, level: u8, worth: impl Fn(Fingerprint) -> f64) -> f64 {
        let (mut sum, mut from, mut last) = (0.0, 0, None);
        let mut first = (0, 0);
        for text in &self.texts {
            let order = &self.order[first.0..text.shingles];
            for (place, &number) in (first.1..).zip(order) {
                let shingle = self.distinct.get(number as usize);
                let sample = shingle.and_then(|&shingle| Fingerprint::of_hash(shingle));
                let Some(sample) = sample.filter(|sample| sample.level() >= level) else {
                    continue;
                };
                // A sample is placed at the middle of its shingle.
                let place = place + SHINGLE / 2;
                if let Some((before, of_last)) = last {
                    let until = usize::midpoint(before, place);
                    sum += of_last * self.lengths.count(from..until) as f64;
                    from = until;
                }
                last = Some((place, worth(sample)));
            }
            first = (text.shingles, text.words);
        }
        if let Some((_, of_last)) = last {
            let until = self.lengths.places();
            sum += of_last * self.lengths.count(from.min(until)..until) as f64;
        }
        sum / self.words().max(1) as f64
    }

    /// Returns the sums over the words that are covered. `common` has the numbers of the shingles
    /// that the other text has, too.
    fn covered(&self, common: &BitSet) -> Covered {
        let mut walk = CoverWalk::of(&self.lengths);
        let (mut first_shingle, mut first_word) = (0, 0);
        for text in &self.texts {
            walk.until = text.words;
            let order = &self.order[first_shingle..text.shingles];
            let mut run = first_word..first_word;
            for (place, &number) in (first_word..).zip(order) {
                if common.has(number) {
                    if place != run.end {
                        walk.add(run);
                        run = place..place;
                    }
                    run.end = place + 1;
                }
            }
            walk.add(run);
            (first_shingle, first_word) = (text.shingles, text.words);
        }
        walk.covered
    }

    /// Returns the number of bytes of the heaviest run of `common` shingles. Each shingle counts
    /// the bytes of its first word, divided by how often the text has the shingle.
    fn heaviest(&self, common: &BitSet) -> f64 {
        let mut times = vec![0_u32; self.distinct.len()];
        for &number in self.order.iter().filter(|&&number| number != OF_TEMPLATE) {
            times[number as usize] += 1;
        }
        let (mut most, mut first_shingle, mut first_word) = (0.0_f64, 0, 0);
        for text in &self.texts {
            let order = &self.order[first_shingle..text.shingles];
            let mut run = 0.0;
            for (place, &number) in (first_word..).zip(order) {
                if common.has(number) {
                    let bytes = self.lengths.sum(place..place + 1);
                    run += bytes as f64 / f64::from(times[number as usize]);
                    most = most.max(run);
                } else {
                    run = 0.0;
                }
            }
            (first_shingle, first_word) = (text.shingles, text.words);
        }
        most
    }
}

/// The comparison of two texts as counts, so that nothing is rounded before it is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommonText {
    /// The number of words of a and of b in runs of at least five words that the other text has,
    /// too.
    pub covered: (u64, u64),
    /// The number of all words of a and of b.
    pub words: (u64, u64),
    /// The number of bytes of a and of b in the runs that `covered` counts. Each separator is one
    /// byte.
    pub bytes: (u64, u64),
    /// The lesser of two numbers of bytes: of the longest of these runs in a, and of the longest in
    /// b. A phrase that one text repeats again and again is not a long run in the other text.
    pub longest: u64,
    /// True if one of these runs is a [`PASSAGE`], and not a phrase that both texts repeat.
    pub has_passage: bool,
    /// The number of distinct shingles in common.
    pub shared: u64,
    /// The number of distinct shingles of a and of b.
    pub distinct: (u64, u64),
    /// True if both texts have the same words in the same order, and enough words to be judged.
    pub is_same: bool,
}

impl CommonText {
    /// Returns the comparison of two texts.
    pub fn of(a: &ShingledText, b: &ShingledText) -> Self {
        // Looks up the shingles of the smaller set in the larger one.
        let swap = a.distinct.len() > b.distinct.len();
        let (few, many) = if swap { (b, a) } else { (a, b) };
        let (mut in_few, mut in_many) = (BitSet::default(), BitSet::default());
        let mut shared = 0;
        if !many.table.is_empty() {
            for (number, &shingle) in (0..).zip(&few.distinct) {
                if let Some(other) = many.number(shingle) {
                    in_few.insert(number);
                    in_many.insert(other);
                    shared += 1;
                }
            }
        }
        let (in_a, in_b) = if swap {
            (in_many, in_few)
        } else {
            (in_few, in_many)
        };
        let (of_a, of_b) = if shared == 0 {
            (Covered::default(), Covered::default())
        } else {
            (a.covered(&in_a), b.covered(&in_b))
        };
        let longest = of_a.longest.min(of_b.longest);
        let is_repeated = of_a.words.min(of_b.words) >= REPEATED * shared;
        // The passage is no mere repetition if one of the texts has most of the passage only once.
        let is_said_once = || a.heaviest(&in_a).max(b.heaviest(&in_b)) >= PASSAGE_OF_RECORDS;
        Self {
            covered: (of_a.words, of_b.words),
            words: (a.words(), b.words()),
            bytes: (of_a.bytes, of_b.bytes),
            longest,
            has_passage: longest >= PASSAGE.0 && (!is_repeated || is_said_once()),
            shared,
            distinct: (a.distinct(), b.distinct()),
            is_same: a.digest().is_some() && a.digest() == b.digest(),
        }
    }

    /// Returns whether the common text is only a short phrase that is repeated. Repetitions count
    /// once, and each distinct shingle counts as one word.
    fn is_pattern(&self) -> bool {
        let (in_a, in_b) = (
            (self.covered.0, self.bytes.0),
            (self.covered.1, self.bytes.1),
        );
        let (words, bytes) = if in_a.0 < in_b.0 { in_b } else { in_a };
        self.shared > 0
            && words >= REPEATED * self.shared
            && self.shared as f64 * (bytes as f64 / words as f64) < Relation::MIN_SHARED.0 as f64
    }

    /// Returns the larger share of words in common runs.
    pub(super) fn containment(&self) -> f64 {
        let share = |part: u64, of: u64| part as f64 / of.max(1) as f64;
        share(self.covered.0, self.words.0).max(share(self.covered.1, self.words.1))
    }

    /// Returns the measures of two texts that are not identical. `sizes` are the sizes of their
    /// contents.
    pub fn measures(&self, sizes: (ByteLen, ByteLen)) -> Measures {
        let judged = !too_small(sizes.0) && !too_small(sizes.1);
        let union = self.distinct.0 + self.distinct.1 - self.shared;
        let share = |part, of| judged.then(|| share(part, of));
        // The words may have more bytes in UTF-8 than the file has in its own encoding.
        let bytes = |bytes: u64, size: ByteLen| bytes.min(size.0);
        let (in_a, in_b) = (bytes(self.bytes.0, sizes.0), bytes(self.bytes.1, sizes.1));
        Measures {
            a_in_b: share(self.covered.0, self.words.0),
            b_in_a: share(self.covered.1, self.words.1),
            resemblance: share(self.shared, union),
            shared_bytes: ByteLen(in_smaller(sizes, (in_a, in_b))),
        }
    }
}

/// Returns the number of shared bytes in the smaller of two contents. If the contents have equal
/// sizes, returns the lesser of the two numbers in `shared`.
fn in_smaller(sizes: (ByteLen, ByteLen), shared: (u64, u64)) -> u64 {
    match sizes.0.cmp(&sizes.1) {
        Ordering::Less => shared.0,
        Ordering::Equal => shared.0.min(shared.1),
        Ordering::Greater => shared.1,
    }
}

/// Returns the share `part` / `of` of contents that are not identical: less than 1.
fn share(part: u64, of: u64) -> Score {
    Score::new(part as f64 / of.max(1) as f64).min(Score::ALL_BUT_IDENTICAL)
}

/// Returns the unit of a pair. It is words if both contents are texts and `asked` is not bytes.
/// Otherwise it is bytes.
pub const fn unit_of(a: ContentKind, b: ContentKind, asked: Unit) -> Unit {
    match (a, b, asked) {
        (ContentKind::Text, ContentKind::Text, Unit::Words) => Unit::Words,
        _ => Unit::Bytes,
    }
}

/// Returns whether one of two contents is a text and the other is data. Such a pair has two
/// different kinds of stored samples, so estimates cannot compare them. But the index still finds
/// the pair by its words.
pub const fn are_text_and_data(a: ContentKind, b: ContentKind) -> bool {
    matches!(
        (a, b),
        (ContentKind::Text, ContentKind::Data) | (ContentKind::Data, ContentKind::Text)
    )
}

/// A content that is measured against others. It is cut into words on first use.
#[derive(Debug)]
pub struct Provable {
    kind: ContentKind,
    bytes: ComparedBytes,
    text: OnceLock<ComparedText>,
}

/// The result of measuring two contents that are not identical.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proven {
    /// The measures of the two contents.
    pub measures: Measures,
    /// The unit of the containments.
    pub unit: Unit,
    /// True if the two contents are the same text.
    pub is_same_text: bool,
    /// For two texts, true if they have a [`PASSAGE`] in common. For a text and data, true if they
    /// have at least as many bytes in common.
    pub has_passage: bool,
    /// True if all that the contents have in common is a short piece that is repeated. Counted
    /// once, the piece is shorter than [`Relation::MIN_SHARED`].
    pub is_pattern: bool,
}

impl Proven {
    /// Returns the result for the pair (b, a).
    #[must_use]
    pub fn swapped(self) -> Self {
        Self {
            measures: self.measures.swapped(),
            ..self
        }
    }

    /// Returns the measures in words of two texts that are not identical. `sizes` are the sizes of
    /// their contents.
    pub fn in_words(a: &ComparedText, b: &ComparedText, sizes: (ByteLen, ByteLen)) -> Self {
        let (common, is_same_text) = a.common(b);
        Self {
            is_same_text,
            ..Self::of_common(&common, sizes)
        }
    }

    /// Like [`Self::in_words`], for texts that were compared already.
    pub fn of_common(common: &CommonText, sizes: (ByteLen, ByteLen)) -> Self {
        Self {
            measures: common.measures(sizes),
            unit: Unit::Words,
            is_same_text: common.is_same,
            has_passage: common.has_passage,
            is_pattern: common.is_pattern(),
        }
    }

    /// Returns the measures in bytes of two contents that have these kinds and are not identical.
    pub fn in_bytes(
        (a, a_kind): (&ComparedBytes, ContentKind),
        (b, b_kind): (&ComparedBytes, ContentKind),
    ) -> Self {
        let (a, b) = a.meeting(b);
        let found = Self::of_bytes(a, b);
        let is_passage = found.measures.shared_bytes >= PASSAGE;
        Self {
            has_passage: is_passage && are_text_and_data(a_kind, b_kind),
            ..found
        }
    }

    /// Returns the measures of two byte strings that are not identical. Does not check for a
    /// passage or for the same text.
    pub fn of_bytes(a: &[u8], b: &[u8]) -> Self {
        let common = runs::common_bytes(a, b);
        Self {
            measures: common.measures(a, b).below_identical(),
            unit: Unit::Bytes,
            is_same_text: false,
            has_passage: false,
            is_pattern: common.is_pattern(),
        }
    }
}

impl Provable {
    /// Makes the content of a file of this kind.
    pub const fn new(kind: ContentKind, bytes: Vec<u8>) -> Self {
        Self {
            kind,
            bytes: ComparedBytes::new(bytes),
            text: OnceLock::new(),
        }
    }

    /// Like [`Self::new`], but without templates, both in the bytes and in the words of a text.
    pub fn without(templates: &Templates, kind: ContentKind, bytes: Vec<u8>) -> Self {
        let text = OnceLock::new();
        if !templates.is_empty() && kind == ContentKind::Text {
            text.get_or_init(|| ComparedText::without(templates, &bytes));
        }
        Self {
            kind,
            bytes: ComparedBytes::new(templates.into_payload(bytes)),
            text,
        }
    }

    /// Returns the measured bytes.
    pub fn bytes(&self) -> &[u8] {
        self.bytes.all()
    }

    /// Returns the number of measured bytes.
    pub const fn size(&self) -> ByteLen {
        self.bytes.size()
    }

    /// Returns the words of the content, if it is a text.
    pub fn words(&self) -> Option<&ShingledText> {
        (self.kind == ContentKind::Text).then(|| self.text().words())
    }

    fn text(&self) -> &ComparedText {
        self.text.get_or_init(|| ComparedText::of(self.bytes()))
    }

    /// Measures this content (a) and another one (b) in the unit that [`unit_of`] returns.
    pub fn measure(&self, other: &Self, asked: Unit) -> Proven {
        match unit_of(self.kind, other.kind, asked) {
            Unit::Words => {
                let sizes = (self.size(), other.size());
                Proven::in_words(self.text(), other.text(), sizes)
            }
            Unit::Bytes => Proven::in_bytes((&self.bytes, self.kind), (&other.bytes, other.kind)),
        }
    }
}

#[cfg(test)]
mod tests;
