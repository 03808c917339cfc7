//! Whole texts held against each other: proof, where samples are evidence.
//!
//! A [`Text`] is all shingles of a file in order. One of them is laid out in a [`Table`], and any
//! number of others run along it, each in time linear in its own length: what common runs of words
//! cover in either, how much of that is rare, and the resemblance of the sets of shingles (Broder
//! 1997, section 2), not estimated.
//!
//! # What is evidence
//!
//! Related texts have a run of text in common; strangers have phrases, headings and frames. Two
//! things tell them apart, and neither does alone: the *length* of a run, and how *rare* it is
//! among the files in question. So a pair [is kept](Proof::is_evidence) if a run of at least 64
//! characters, which is what a run is, says as much as half of that in rare text ([`RARE`]).
//! `docs/similarity.md` has the curves.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use crate::params::Params;
use crate::similarity::{discount, wilson};
use crate::words::{CollectedWords, collect_words};

mod slots;

use slots::Slots;

/// Characters of rare text that a run must come to; a character counts the less, the more texts
/// have its shingle ([`discount::weight`]).
pub const RARE: f64 = 32.0;

/// A pair of which one has so much of its words in the other needs no rare run, and one that
/// resembles each other so much no run.
const ALIKE: f64 = 0.25;

/// How many places of a repeated shingle are tried.
const PLACES: usize = 8;

/// A text as its shingles, in order.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Text {
    /// The shingle that begins with each word. A text of one to four words has one shingle.
    shingles: Vec<u64>,
    /// Where each word begins in the canonical text, in characters, and the length of all.
    starts: Vec<u32>,
    /// How many texts have each shingle; empty before they were counted.
    contents: Vec<u16>,
    distinct: u32,
    /// The sum of 1/(texts that have it) over the distinct shingles.
    rare: f64,
}

impl Text {
    /// The text of a file, from all its bytes.
    pub fn of(bytes: &[u8]) -> Self {
        // In characters: what a run of text is long.
        let CollectedWords { shingles, ends, .. } = collect_words(bytes, |_| 1);
        let mut sorted = shingles.clone();
        sorted.sort_unstable();
        sorted.dedup();
        Self {
            distinct: sorted.len() as u32,
            shingles,
            starts: std::iter::once(0).chain(ends).collect(),
            contents: Vec::new(),
            rare: 0.0,
        }
    }

    /// Characters of its canonical form: its words, each followed by a blank.
    pub fn len(&self) -> u32 {
        self.starts.last().copied().unwrap_or(0)
    }

    /// How many words it has.
    fn words(&self) -> u32 {
        self.starts.len().saturating_sub(1) as u32
    }

    /// How many shingles it has, each repetition counted, and how many distinct ones.
    pub const fn shingle_counts(&self) -> (usize, u32) {
        (self.shingles.len(), self.distinct)
    }

    /// Its shingles in order, each with how many texts have it, if that was counted.
    pub fn shingles(&self) -> impl Iterator<Item = (u64, u16)> + '_ {
        (0..self.shingles.len()).map(|place| (self.shingles[place], self.contents(place)))
    }

    /// Whether it has no word.
    pub fn is_empty(&self) -> bool {
        self.shingles.is_empty()
    }

    /// Takes note of how many texts have each of its shingles.
    pub fn count(&mut self, counts: &ShingleCounts) {
        let contents = self.shingles.iter().map(|&shingle| counts.of(shingle));
        self.contents = contents.collect();
        let mut all: Vec<(u64, u16)> = self
            .shingles
            .iter()
            .copied()
            .zip(self.contents.iter().copied())
            .collect();
        all.sort_unstable();
        all.dedup();
        self.rare = all.iter().map(|&(_, contents)| rarity(contents)).sum();
    }

    /// How many texts have the shingle at a place, if they were counted.
    fn contents(&self, place: usize) -> u16 {
        self.contents.get(place).copied().unwrap_or(1)
    }

    /// Where so many shingles from a place on begin and end, in characters.
    fn span(&self, from: usize, shingles: usize) -> (u32, u32) {
        let end = (from + shingles + Params::SHINGLE - 1).min(self.starts.len() - 1);
        (self.starts[from], self.starts[end])
    }
}

/// What a shingle that so many texts have counts as evidence of kinship.
fn rarity(contents: u16) -> f64 {
    1.0 / f64::from(contents.max(1))
}

/// How many texts of a collection have each shingle, or those of one part of all shingles.
#[derive(Clone, Debug, Default)]
pub struct ShingleCounts {
    parts: Vec<Counted>,
}

/// For each shingle how many texts have it, and the last of them.
type Counted = HashMap<u64, (u16, u32), BuildHasherDefault<Itself>>;

/// Shingles are hashes.
#[derive(Clone, Debug, Default)]
struct Itself(u64);

impl Hasher for Itself {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(byte);
        }
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = value;
    }
}

impl ShingleCounts {
    /// The counts of one of so many parts of all shingles: parts can be counted at the same time.
    pub fn of_part<'a>(texts: impl Iterator<Item = &'a Text>, part: usize, parts: usize) -> Self {
        let mut counted = Counted::default();
        for (number, text) in (0u32..).zip(texts) {
            for &shingle in &text.shingles {
                if part_of(shingle, parts) == part {
                    let (count, last) = counted.entry(shingle).or_insert((0, u32::MAX));
                    if *last != number {
                        *last = number;
                        *count = count.saturating_add(1);
                    }
                }
            }
        }
        // Shingles of a single text are not worth the memory.
        counted.retain(|_, (count, _)| *count > 1);
        Self {
            parts: vec![counted],
        }
    }

    /// All parts, in order.
    pub fn join(parts: impl IntoIterator<Item = Self>) -> Self {
        Self {
            parts: parts.into_iter().flat_map(|part| part.parts).collect(),
        }
    }

    fn of(&self, shingle: u64) -> u16 {
        let part = self.parts.get(part_of(shingle, self.parts.len()));
        part.and_then(|part| part.get(&shingle))
            .map_or(1, |&(count, _)| count)
    }
}

fn part_of(shingle: u64, parts: usize) -> usize {
    ((u128::from(shingle) * parts as u128) >> 64) as usize
}

/// What two texts have in common, a the one that was laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Proof {
    /// The share of a's words in runs of at least five that b has too.
    pub a_in_b: f64,
    /// The share of b's words in runs of at least five that a has too.
    pub b_in_a: f64,
    /// Shared over all shingles of both.
    pub resemblance: f64,
    /// Characters of the longest common run.
    pub longest: u32,
    /// The most characters of rare text in one run.
    pub rare: f64,
    /// The rare shingles in common (each counts 1/n if n texts have it), over those of the text
    /// with fewer: the lower end of its interval.
    pub kinship: f64,
}

impl Proof {
    /// Whether it is more than strangers have in common.
    pub fn is_evidence(&self) -> bool {
        let run = f64::from(self.longest) >= Params::WINDOW as f64;
        let alike = self.a_in_b.max(self.b_in_a) >= ALIKE;
        self.resemblance >= ALIKE || run && (alike || self.rare >= RARE)
    }
}

/// A text laid out for others to run along.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Shingles and the numbers of their entries, from 1.
    slots: Slots,
    entries: Vec<TableEntry>,
    /// The next place of the same shingle; by place.
    next: Vec<u32>,
    /// The entry of each place.
    of: Vec<u32>,
    round: u32,
    limit: u32,
}

/// A distinct shingle.
#[derive(Clone, Copy, Debug)]
struct TableEntry {
    first: u32,
    last: u32,
    /// What a character of it counts in a run.
    weight: f32,
    rarity: f32,
    /// The last comparison that met it.
    round: u32,
}

const NONE: u32 = u32::MAX;

impl Table {
    /// A table for texts that were counted; what more than `limit` of them have is no evidence.
    pub fn new(limit: u32) -> Self {
        Self {
            limit,
            ..Self::default()
        }
    }

    /// Lays a text out in the place of the one before.
    pub fn lay(&mut self, a: &Text) {
        self.slots.clear(a.shingles.len());
        self.entries.clear();
        self.next.clear();
        self.next.resize(a.shingles.len(), NONE);
        self.of.clear();
        self.round = 0;
        for (place, &shingle) in a.shingles.iter().enumerate() {
            let Some(entry) = self.entry(shingle) else {
                let contents = a.contents(place);
                self.of.push(self.entries.len() as u32);
                self.slots.put(shingle, self.entries.len() as u32 + 1);
                self.entries.push(TableEntry {
                    first: place as u32,
                    last: place as u32,
                    weight: discount::weight(u32::from(contents), self.limit) as f32,
                    rarity: rarity(contents) as f32,
                    round: 0,
                });
                continue;
            };
            let known = &mut self.entries[entry as usize];
            self.next[known.last as usize] = place as u32;
            known.last = place as u32;
            self.of.push(entry);
        }
    }

    /// The entry of a shingle, if it has one.
    #[inline]
    fn entry(&self, shingle: u64) -> Option<u32> {
        self.slots.get(shingle).checked_sub(1)
    }

    /// Runs `b` along the text that was laid out, which is `a`.
    pub fn compare(&mut self, a: &Text, b: &Text) -> Proof {
        self.round += 1;
        let least = Params::WINDOW as u32;
        let mut found = Proof::default();
        let (mut shared, mut rare) = (0u32, 0.0);
        let mut in_b = CoveredWords::default();
        let mut at = 0;
        while at < b.shingles.len() {
            let shingle = b.shingles[at];
            let may_have = self.slots.may_have(shingle);
            let Some(entry) = may_have.then(|| self.entry(shingle)).flatten() else {
                at += 1;
                continue;
            };
            let run = self.longest_run(entry, a, &b.shingles[at..]);
            let (from, to) = b.span(at, run);
            let length = to - from;
            let mut of_run = 0.0;
            for &shingle in &b.shingles[at..at + run] {
                let Some(entry) = self.entry(shingle) else {
                    continue;
                };
                let known = &mut self.entries[entry as usize];
                of_run += f64::from(known.weight);
                if known.round != self.round {
                    known.round = self.round;
                    shared += 1;
                    rare += f64::from(known.rarity);
                }
            }
            found.longest = found.longest.max(length);
            if length >= least {
                found.rare = found.rare.max(of_run * f64::from(length) / run as f64);
            }
            in_b.add(at, at + run);
            at += run;
        }
        let mut in_a = CoveredWords::default();
        if shared > 0 {
            for (place, &entry) in self.of.iter().enumerate() {
                if self.entries[entry as usize].round == self.round {
                    in_a.add(place, place + 1);
                }
            }
        }
        let share = |part: u32, of: u32| f64::from(part) / f64::from(of.max(1));
        found.a_in_b = share(in_a.of(a.words()), a.words());
        found.b_in_a = share(in_b.of(b.words()), b.words());
        found.resemblance = share(shared, a.distinct + b.distinct - shared);
        found.kinship = lower_end(rare, a.rare.min(b.rare));
        found
    }

    /// The longest run of `b`'s first shingles at one of the first places where `a` has the first
    /// of them.
    fn longest_run(&self, entry: u32, a: &Text, b: &[u64]) -> usize {
        let mut longest = 0;
        let mut place = self.entries[entry as usize].first;
        for _ in 0..PLACES {
            let from = place as usize;
            let pairs = b.iter().zip(&a.shingles[from..]);
            longest = longest.max(pairs.take_while(|(x, y)| x == y).count());
            place = self.next[from];
            if place == NONE {
                break;
            }
        }
        longest
    }
}

/// The words under shingles, which come in order.
#[derive(Default)]
struct CoveredWords {
    sum: usize,
    end: usize,
}

impl CoveredWords {
    /// The words under the shingles from one place up to another.
    fn add(&mut self, from: usize, to: usize) {
        let to = to + Params::SHINGLE - 1;
        self.sum += to - from.max(self.end);
        self.end = to;
    }

    /// How many there are in a text of so many words: the shingle of one to four words is over more
    /// than there are.
    fn of(&self, words: u32) -> u32 {
        (self.sum as u32).min(words)
    }
}

/// The lower end of the interval of a share, three standard errors below it; 0 of nothing.
fn lower_end(part: f64, of: f64) -> f64 {
    if of <= 0.0 {
        return 0.0;
    }
    wilson(part / of, of, 3.0).0
}

#[cfg(test)]
mod tests;
