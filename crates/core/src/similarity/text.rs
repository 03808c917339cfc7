//! Compares whole texts. This is a proof, and a comparison of samples is only evidence.
//!
//! A text is read once ([`ReadText`]). Only the shingles that several texts have matter for pairs.
//! These shingles get numbers ([`NumberedText`]). Shingles that always occur together are merged
//! ([`Chains`]). A [`Text`] is its chains with their places. One text is laid out in a [`Table`],
//! and any number of others are compared with it. Each comparison takes time linear in the chains
//! of both texts. The measures are the same as for two texts alone ([`CommonText`]). The table adds
//! the figures that distinguish related texts from unrelated ones.
//!
//! # What is evidence
//!
//! Related texts share a run of text; unrelated texts share phrases, headings and frames. Two
//! figures together distinguish them: the *length* of a run, and its *rarity* among the compared
//! files. Both figures are measured in bytes of UTF-8. So a run of Han weighs as much as the same
//! run in another script. `docs/similarity.md` has the curves ([`Proof::is_evidence`]).

use std::collections::HashSet;

use crate::params::Params;
use crate::similarity::discount::{self, FREE, Rarities, Rarity};
use crate::similarity::proof::{CommonText, CoverWalk, WordLengths};
use crate::similarity::{TemplateShingles, wilson};
use crate::words::{CollectedWords, is_encoded_data};
use crate::{Relation, WordsDigest};

mod chains;
mod seen;
mod slots;

pub use chains::Chains;
pub use seen::SeenShingles;
use slots::Slots;

/// The minimum number of bytes of rare text in a run that is evidence. The more texts have the
/// shingle of a byte, the less the byte counts ([`discount::weight`]).
pub const RARE: f64 = 32.0;

/// If one text has this share of its words in the other, the common run need not be rare. If the
/// resemblance of the pair is this share, the pair needs no run at all. It must only have more in
/// common than a phrase.
const ALIKE: f64 = 0.25;

/// Pairs of a share and a number of bytes. Two texts need no long run if one text has this share of
/// its words in the other. But all runs together must have this many bytes of rare text.
const SCATTERED: [(f64, f64); 2] = [(0.12, 140.0), (0.5, 24.0)];

/// A chain that occurs this often in a text belongs to the frame of the text's records, and is not
/// rare text.
const REPEATED: usize = 8;

/// A text with this share of recurring words consists of records: rows with the same keys or
/// frames. Short runs between two such texts are no evidence. A long run is also no evidence if all
/// runs together are less than `OF_RECORDS` of each text. A resemblance of [`ALIKE`] is always
/// evidence.
const RECURRING: f32 = 0.33;
const OF_RECORDS: f64 = 0.4;

/// A text that was read: all its shingles in order, except the shingles of templates. Later, most
/// shingles that only one text has are removed.
#[derive(Clone, Debug, Default)]
pub struct ReadText {
    /// The place of each shingle; empty if no shingle was removed.
    places: Vec<u32>,
    shingles: Vec<u64>,
    lengths: WordLengths,
    /// The number of removed shingles. Each of them occurs only once in all texts.
    forgotten: u32,
    digest: Option<WordsDigest>,
    is_of_records: bool,
}

/// Cuts texts into words. Its memory is reused for the next text.
#[derive(Clone, Debug, Default)]
pub struct TextCutter(CollectedWords);

impl TextCutter {
    /// Reads the text of a file from all its bytes, without the shingles of the template.
    pub fn read(&mut self, bytes: &[u8], template: &TemplateShingles) -> ReadText {
        self.0.collect(bytes);
        self.cut(template)
    }

    /// Reads all words of data, including the words of its markup. Returns `None` for encoded data,
    /// which has no words.
    pub fn read_data(&mut self, bytes: &[u8]) -> Option<ReadText> {
        if is_encoded_data(bytes) {
            return None;
        }
        self.0.collect_all(bytes);
        Some(self.cut(&TemplateShingles::default()))
    }

    fn cut(&self, template: &TemplateShingles) -> ReadText {
        let words = &self.0;
        let lengths = WordLengths::of(&words.ends, &template.words_of(words));
        let mut text = ReadText {
            places: Vec::new(),
            forgotten: 0,
            digest: words
                .digest
                .filter(|_| lengths.are_enough(0..words.ends.len())),
            lengths,
            // A clone allocates exactly what it needs. That matters, because all texts are in
            // memory at the same time.
            shingles: words.shingles.clone(),
            is_of_records: words.recurring >= RECURRING,
        };
        if !template.is_empty() {
            text.keep(|shingle| !template.has(shingle));
        }
        text
    }
}

impl ReadText {
    /// Returns the shingles that are left, in order.
    pub fn shingles(&self) -> &[u64] {
        &self.shingles
    }

    /// Returns the share of this text's words in runs that the other text has, too. Both texts must
    /// still have all their shingles.
    pub fn covered_by(&self, other: &Self) -> f64 {
        let of_other: HashSet<u64> = other.shingles.iter().copied().collect();
        let mut walk = CoverWalk::of(&self.lengths);
        for (at, shingle) in self.shingles.iter().enumerate() {
            if of_other.contains(shingle) {
                let place = self.places.get(at).map_or(at, |&place| place as usize);
                walk.add(place..place + 1);
            }
        }
        share(walk.covered.words, self.lengths.words())
    }

    /// Removes the shingles that occur only once in all texts. A few of them stay, because
    /// [`SeenShingles`] wrongly reports them as repeated.
    pub fn forget_lone(&mut self, seen: &SeenShingles) {
        let all = self.shingles.len();
        self.keep(|shingle| seen.repeatedly(shingle));
        self.forgotten = (all - self.shingles.len()) as u32;
    }

    /// Keeps the shingles that `is_kept` accepts, each with its place.
    fn keep(&mut self, is_kept: impl Fn(u64) -> bool) {
        let before = std::mem::take(&mut self.places);
        let mut places = Vec::with_capacity(self.shingles.len());
        let mut at = 0;
        self.shingles.retain(|&shingle| {
            let is_kept = is_kept(shingle);
            if is_kept {
                places.push(before.get(at).copied().unwrap_or(at as u32));
            }
            at += 1;
            is_kept
        });
        self.places = places;
        self.places.shrink_to_fit();
        self.shingles.shrink_to_fit();
    }

    /// Replaces the shingles by numbers. `numbers` has a number from 1 on for each shingle, or 0 if
    /// no other text has the shingle.
    pub fn numbered(self, mut numbers: Vec<u32>) -> NumberedText {
        let mut places = self.places;
        let mut all = numbers.iter();
        places.retain(|_| all.next().is_some_and(|&number| number > 0));
        // Some shingles that no other text has are still here, because [`SeenShingles`] is not
        // exact.
        let own = self.shingles.iter().zip(&numbers);
        let own = own.filter(|&(_, &number)| number == 0);
        let mut own: Vec<u64> = own.map(|(&shingle, _)| shingle).collect();
        own.sort_unstable();
        own.dedup();
        numbers.retain(|&number| number > 0);
        for number in &mut numbers {
            *number -= 1;
        }
        NumberedText {
            places,
            numbers,
            lengths: self.lengths,
            lone: self.forgotten + own.len() as u32,
            digest: self.digest,
            is_of_records: self.is_of_records,
        }
    }
}

/// A text as numbers: one for each of its shingles that several texts have.
#[derive(Clone, Debug, Default)]
pub struct NumberedText {
    /// The place of the first word of each of these shingles.
    places: Vec<u32>,
    numbers: Vec<u32>,
    lengths: WordLengths,
    /// The number of distinct shingles that no other text has.
    lone: u32,
    digest: Option<WordsDigest>,
    is_of_records: bool,
}

impl NumberedText {
    /// Replaces the shingles by their chains. `texts` returns how many texts have a chain.
    pub fn chained(self, chains: &Chains, texts: impl Fn(u32) -> u32) -> Text {
        let begun = self.places.iter().zip(&self.numbers);
        let begun = begun.filter_map(|(&place, &number)| Some((place, chains.begun_by(number)?)));
        let (mut places, mut numbers): (Vec<u32>, Vec<u32>) = begun.unzip();
        places.shrink_to_fit();
        numbers.shrink_to_fit();
        let mut shared = numbers.clone();
        shared.sort_unstable();
        let repeated = shared.chunk_by(|a, b| a == b);
        let repeated = repeated.filter(|of_one| of_one.len() >= REPEATED);
        let repeated = repeated.map(|of_one| of_one[0]).collect();
        shared.dedup();
        let length = |chain: u32| chains.lengths()[chain as usize];
        let rare = shared
            .iter()
            .map(|&chain| f64::from(length(chain)) * rarity(texts(chain)));
        Text {
            rare: f64::from(self.lone) + rare.sum::<f64>(),
            distinct: self.lone + shared.iter().map(|&chain| length(chain)).sum::<u32>(),
            places,
            chains: numbers,
            lengths: self.lengths,
            digest: self.digest,
            repeated,
            is_of_records: self.is_of_records,
        }
    }
}

/// A text among other texts: the numbers of its chains that several texts have.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// The place of the first word of each of these chains.
    places: Vec<u32>,
    chains: Vec<u32>,
    lengths: WordLengths,
    distinct: u32,
    /// The sum over the distinct shingles of 1/n, where n is the number of texts that have the
    /// shingle.
    rare: f64,
    digest: Option<WordsDigest>,
    /// The chains that occur [`REPEATED`] times or more, ascending.
    repeated: Vec<u32>,
    is_of_records: bool,
}

impl Text {
    /// Returns the numbers of the text's chains, in order. A number may repeat.
    pub fn chains(&self) -> &[u32] {
        &self.chains
    }

    /// Counts the distinct shingles of the text, shared or not.
    pub const fn distinct(&self) -> u32 {
        self.distinct
    }

    /// Returns the weight of a byte of a chain in this text: `weight`, or 0 if the text repeats the
    /// chain.
    #[inline]
    fn weight(&self, chain: u32, weight: f32) -> f32 {
        if !self.repeated.is_empty() && self.repeated.binary_search(&chain).is_ok() {
            0.0
        } else {
            weight
        }
    }
}

/// The length of a chain, and how common it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Commonness {
    /// The number of shingles in the chain.
    pub shingles: u32,
    /// The number of texts that have the chain. The fewer texts have it, the stronger is the
    /// evidence for a pair of them.
    pub texts: u32,
    /// The number of texts that have the chain, where a group of near-copies counts once. So
    /// near-copies do not make a chain boilerplate.
    pub contents: u32,
}

/// Returns the weight, as evidence of kinship, of a shingle that this many texts have.
fn rarity(texts: u32) -> f64 {
    1.0 / f64::from(texts.max(1))
}

/// The comparison of two texts; `a` is the text that was laid out in a [`Table`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Proof {
    /// The counts from which the measures are computed.
    pub common: CommonText,
    /// The maximum number of bytes of rare text in one run of at least [`Params::WINDOW`] bytes.
    pub rare: f64,
    /// The bytes of rare text in all common runs.
    pub scattered: f64,
    /// The share of the common shingles that are not boilerplate.
    pub evident: f64,
    /// A share of common shingles, where a shingle counts 1/n if n texts have it. The sum over the
    /// common shingles is divided by the lesser of the two texts' sums over all their shingles. The
    /// value is the lower end of the interval of this share.
    pub kinship: f64,
    /// True if both texts consist of records (`RECURRING`).
    pub are_records: bool,
}

impl Proof {
    /// Returns the larger of the two containments, even if a file is too small to judge.
    pub fn containment(&self) -> f64 {
        let (covered, words) = (self.common.covered, self.common.words);
        share(covered.0, words.0).max(share(covered.1, words.1))
    }

    /// Returns whether the pair shares more than unrelated texts do. Boilerplate counts neither as
    /// shared nor as missing.
    pub fn is_evidence(&self) -> bool {
        let run = self.common.longest >= Params::WINDOW as u64;
        let (shared, distinct) = (self.common.shared, self.common.distinct);
        let containment = self.evident_containment();
        let union = distinct.0 + distinct.1 - shared;
        let bytes = self.common.bytes.0.min(self.common.bytes.1);
        let is_phrase = bytes < Params::WINDOW as u64;
        self.common.is_same
            || !is_phrase && self.without_boilerplate(shared, union) >= ALIKE
            || run
                && (containment >= ALIKE || self.rare >= RARE)
                && (!self.are_records || containment >= OF_RECORDS)
            || !self.are_records
                && SCATTERED
                    .iter()
                    .any(|&(share, rare)| containment >= share && self.scattered >= rare)
    }

    /// Returns whether the pair is evidence, or whether one text has enough of its words in the
    /// other for a relation. Boilerplate is left out.
    pub fn is_candidate(&self) -> bool {
        self.is_evidence() || self.evident_containment() >= Relation::PARTLY
    }

    /// Returns the larger containment, without boilerplate. Repetitions count once.
    fn evident_containment(&self) -> f64 {
        let (covered, words) = (self.common.covered, self.common.words);
        let (shared, distinct) = (self.common.shared, self.common.distinct);
        // A shingle covers five words at most. If more words are covered for each shingle, they are
        // repetitions.
        let once = |covered, words, distinct| {
            let most = Params::SHINGLE as f64 * self.without_boilerplate(shared, distinct);
            self.without_boilerplate(covered, words).min(most)
        };
        let in_a = once(covered.0, words.0, distinct.0);
        in_a.max(once(covered.1, words.1, distinct.1))
    }

    fn without_boilerplate(&self, part: u64, of: u64) -> f64 {
        let evident = part as f64 * self.evident;
        evident / (evident + (of - part) as f64).max(1.0)
    }
}

fn share(part: u64, of: u64) -> f64 {
    part as f64 / of.max(1) as f64
}

/// A text that is laid out for comparison with others.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// The numbers of chains, each with its entry.
    slots: Slots,
    entries: Vec<TableEntry>,
    /// The entry of each of the text's chains, in order.
    of: Vec<u32>,
    /// The entries of the common chains, ascending by the number of contents that have them. Made
    /// on demand.
    common: Option<Vec<u32>>,
    round: u32,
    /// The number of shingles that the last comparison found in common.
    shared: u64,
    limit: u32,
    /// The weight of a byte. The index is the number of texts that have the shingle of the byte.
    weights: Vec<f32>,
    rarities: Rarities,
}

/// A distinct chain.
#[derive(Clone, Copy, Debug)]
struct TableEntry {
    /// The weight of a byte of the chain in a run.
    weight: f32,
    common: Commonness,
    /// The number of occurrences of the chain in the text.
    times: u32,
    /// The number of the last comparison whose other text has the chain.
    round: u32,
}

impl Table {
    /// Makes a table for texts. A chain is no evidence if more than `limit` contents have it.
    pub fn new(limit: u32) -> Self {
        let weights = (0..=limit.min(1 << 16)).map(|count| discount::weight(count, limit) as f32);
        Self {
            limit,
            weights: weights.collect(),
            rarities: Rarities::new(limit),
            ..Self::default()
        }
    }

    /// Returns the weight of a byte whose shingle is in `contents` contents.
    pub fn weight(&self, contents: u32) -> f32 {
        self.weights.get(contents as usize).copied().unwrap_or(0.0)
    }

    /// Lays out a text in place of the previous one. `common` returns how common a chain is.
    pub fn lay(&mut self, a: &Text, common: impl Fn(u32) -> Commonness) {
        self.slots.clear(a.chains.len());
        self.entries.clear();
        self.of.clear();
        self.common = None;
        self.round = 0;
        for &chain in &a.chains {
            let entry = if let Some(entry) = self.slots.get(chain) {
                entry
            } else {
                let common = common(chain);
                self.slots.put(chain, self.entries.len() as u32);
                self.entries.push(TableEntry {
                    weight: self.weight(common.texts),
                    common,
                    times: 0,
                    round: 0,
                });
                self.entries.len() as u32 - 1
            };
            self.entries[entry as usize].times += 1;
            self.of.push(entry);
        }
    }

    /// Returns the comparison of `b` with `a`, which must be the text that was laid out.
    pub fn compare(&mut self, a: &Text, b: &Text) -> Proof {
        let mut proof = self.along(a, b);
        self.back(a, &mut proof);
        proof
    }

    /// Returns the comparison if [`Proof::is_candidate`] is true for it. Walking `b` gives upper
    /// bounds for `a`, and `a` is walked only if these bounds are enough. The bounds reject two of
    /// three unrelated pairs.
    pub fn candidate(&mut self, a: &Text, b: &Text) -> Option<Proof> {
        let mut proof = self.along(a, b);
        if !proof.is_candidate() {
            return None;
        }
        self.back(a, &mut proof);
        proof.is_candidate().then_some(proof)
    }

    /// Walks `b` and returns the proof, with upper bounds in place of the figures of `a`. The proof
    /// with exact figures is never stronger evidence than this proof.
    fn along(&mut self, a: &Text, b: &Text) -> Proof {
        self.round += 1;
        let (mut shared, mut rare, mut evident, mut times) = (0u64, 0.0, 0u64, 0u64);
        let mut in_b = RunWalk::of(&b.lengths);
        for (&place, &chain) in b.places.iter().zip(&b.chains) {
            let Some(entry) = self.slots.get(chain) else {
                continue;
            };
            let known = &mut self.entries[entry as usize];
            let shingles = known.common.shingles;
            if known.round != self.round {
                known.round = self.round;
                shared += u64::from(shingles);
                rare += f64::from(shingles) * rarity(known.common.texts);
                if known.common.contents <= self.limit {
                    evident += u64::from(shingles);
                }
                times += u64::from(known.times) * u64::from(shingles);
            }
            let weight = b.weight(chain, known.weight);
            in_b.common(place as usize, shingles, weight);
        }
        self.shared = shared;
        let (of_b, in_b) = in_b.end();
        let most = (times * Params::SHINGLE as u64).min(a.lengths.words());
        Proof {
            common: CommonText {
                covered: (most, of_b.words),
                words: (a.lengths.words(), b.lengths.words()),
                bytes: (u64::MAX, of_b.bytes),
                longest: of_b.longest,
                // Passages are not used by this comparison.
                has_passage: false,
                shared,
                distinct: (u64::from(a.distinct), u64::from(b.distinct)),
                is_same: a.digest.is_some() && a.digest == b.digest,
            },
            rare: in_b.rare,
            scattered: in_b.scattered,
            evident: share(evident, shared),
            kinship: lower_end(rare, a.rare.min(b.rare)),
            are_records: a.is_of_records && b.is_of_records,
        }
    }

    /// Walks `a` along the chains that `b` has, too, and completes the proof.
    fn back(&self, a: &Text, proof: &mut Proof) {
        let mut in_a = RunWalk::of(&a.lengths);
        if proof.common.shared > 0 {
            for ((&place, &chain), &entry) in a.places.iter().zip(&a.chains).zip(&self.of) {
                let known = &self.entries[entry as usize];
                if known.round == self.round {
                    let weight = a.weight(chain, known.weight);
                    in_a.common(place as usize, known.common.shingles, weight);
                }
            }
        }
        let (of_a, in_a) = in_a.end();
        (proof.common.covered.0, proof.common.bytes.0) = (of_a.words, of_a.bytes);
        // A phrase that one text repeats is a long run in that text only.
        proof.common.longest = proof.common.longest.min(of_a.longest);
        proof.rare = proof.rare.min(in_a.rare);
        proof.scattered = proof.scattered.min(in_a.scattered);
    }

    /// Returns the rarity of the text that the last comparison found in common. Returns `None` if
    /// each part of this text is in few contents.
    pub fn rarity(&mut self) -> Option<Rarity> {
        let entries = &self.entries;
        let contents = |&entry: &u32| entries[entry as usize].common.contents;
        let common = self.common.get_or_insert_with(|| {
            let all = 0..entries.len() as u32;
            let mut common: Vec<u32> = all.filter(|entry| contents(entry) > FREE).collect();
            common.sort_unstable_by_key(|&entry| {
                let common = entries[entry as usize].common;
                (common.contents, common.shingles)
            });
            common
        });
        let shared = common.iter().map(|&entry| &entries[entry as usize]);
        let shared = shared.filter(|entry| entry.round == self.round);
        let shared = shared.map(|entry| (entry.common.contents, entry.common.shingles));
        self.rarities.of(self.shared, shared)
    }
}

/// Collects the common runs of one of two texts.
struct RunWalk<'a> {
    cover: CoverWalk<'a>,
    /// The current run: the place of its first shingle, and the place after its last one.
    from: usize,
    to: usize,
    weight: f64,
    found: RunFigures,
}

/// Sums over the common runs of one of two texts.
#[derive(Clone, Copy, Default)]
struct RunFigures {
    rare: f64,
    scattered: f64,
}

impl<'a> RunWalk<'a> {
    fn of(lengths: &'a WordLengths) -> Self {
        Self {
            cover: CoverWalk::of(lengths),
            from: 0,
            to: 0,
            weight: 0.0,
            found: RunFigures::default(),
        }
    }

    /// Adds the next common chain, which has this many shingles.
    #[inline]
    fn common(&mut self, place: usize, shingles: u32, weight: f32) {
        if place != self.to {
            self.end_run();
            self.from = place;
        }
        self.to = place + shingles as usize;
        self.weight += f64::from(shingles) * f64::from(weight);
    }

    fn end_run(&mut self) {
        let shingles = self.to - self.from;
        if shingles == 0 {
            return;
        }
        let length = self.cover.add(self.from..self.to) as f64;
        let rare = self.weight * length / shingles as f64;
        self.weight = 0.0;
        self.found.scattered += rare;
        if length >= Params::WINDOW as f64 {
            self.found.rare = self.found.rare.max(rare);
        }
    }

    fn end(mut self) -> (crate::similarity::proof::Covered, RunFigures) {
        self.end_run();
        (self.cover.covered, self.found)
    }
}

/// Returns the lower end of the interval of a share, three standard errors below it; 0 if `of` is
/// 0.
pub fn lower_end(part: f64, of: f64) -> f64 {
    if of <= 0.0 {
        return 0.0;
    }
    wilson(part / of, of, 3.0).0
}

#[cfg(test)]
mod tests;
