//! Scans one content: sums up the pieces that it shares with each subject of a batch, and decides
//! which pairs are candidates.

use resemble_core::{ByteLen, ContentKind, Fingerprint, similarity};
use resemble_index::PostingKind;
use resemble_relate::nominate::block::{Common, PieceWorth, are_enough};
use resemble_relate::nominate::evidence::CHUNK;
use resemble_relate::nominate::kinship::WindowCounts;

use super::super::PartnerQuestion;
use super::super::kin::{BatchWindows, RareAtMost, UndecidedPair};
use crate::compare::wanted::WantedKeys;

/// A content that is looked up, with the fields that are needed to choose candidates.
pub(super) struct LookedUp {
    pub(super) content: u32,
    pub(super) of_a: bool,
    pub(super) whole: ByteLen,
    pub(super) size: ByteLen,
    pub(super) shape: Shape,
    /// The level of the content's signature.
    pub(super) level: u8,
}

/// The number of fingerprints that a content has at each level.
#[derive(Clone)]
pub(super) struct Shape {
    /// The least level of any fingerprint of the content, which is at least the level of the
    /// signature.
    level: u8,
    /// The number of fingerprints at or above each level, beginning with the least possible level.
    /// A count above 255 is stored as 255.
    at_least: [u8; 32],
    /// The number of fingerprints that are left out as boilerplate.
    common: u8,
}

impl Shape {
    pub(super) fn of(keys: &[u64]) -> Self {
        let mut at_least = [0u8; 32];
        for key in keys.iter().filter(|&&key| key & CHUNK == 0) {
            let count = &mut at_least[Self::place(Fingerprint(*key).level())];
            *count = count.saturating_add(1);
        }
        for place in (0..31).rev() {
            at_least[place] = at_least[place].saturating_add(at_least[place + 1]);
        }
        Self {
            level: Self::level_of(keys).unwrap_or(u8::MAX),
            at_least,
            common: 0,
        }
    }

    /// Returns the least level of the fingerprints among these keys.
    pub(super) fn level_of(keys: &[u64]) -> Option<u8> {
        let samples = keys.iter().filter(|&&key| key & CHUNK == 0);
        samples.map(|&key| Fingerprint(key).level()).min()
    }

    /// Takes these keys out of the counts, if they are fingerprints.
    pub(super) fn leave_out(&mut self, common: impl IntoIterator<Item = u64>) {
        for key in common.into_iter().filter(|key| key & CHUNK == 0) {
            self.common = self.common.saturating_add(1);
            for count in &mut self.at_least[..=Self::place(Fingerprint(key).level())] {
                *count = count.saturating_sub(1);
            }
        }
    }

    /// Returns whether at least half of the content's samples are boilerplate.
    const fn is_header(&self) -> bool {
        self.common > 0 && self.common >= self.at_least[0]
    }

    /// Returns the number of fingerprints at or above this level.
    fn at(&self, level: u8) -> usize {
        usize::from(self.at_least[Self::place(level)])
    }

    fn place(level: u8) -> usize {
        usize::from(level.saturating_sub(Fingerprint::BASE_LEVEL)).min(31)
    }

    /// Counts the fingerprints of both contents at their common level, and returns the smaller
    /// count.
    fn fewer(&self, other: &Self) -> f64 {
        let level = self.level.max(other.level);
        self.at(level).min(other.at(level)).max(1) as f64
    }
}

/// A scanned content that shares keys with subjects.
pub(super) struct Seen {
    pub(super) content: u32,
    pub(super) found: std::ops::Range<usize>,
    pub(super) size: ByteLen,
    pub(super) shape: Shape,
}

/// The inputs of the scan for one batch of subjects. All threads share them.
pub(super) struct Scan<'a> {
    pub(super) question: &'a PartnerQuestion<'a>,
    pub(super) subjects: &'a [LookedUp],
    pub(super) windows: BatchWindows<'a>,
    pub(super) wanted: &'a WantedKeys,
    pub(super) is_looked_up: &'a [Vec<bool>; 2],
    /// The number of subjects of A, which are the first of the batch.
    pub(super) of_a: u32,
    pub(super) least: (f64, f64),
}

/// The counters of a thread.
pub(super) struct CandidateTally {
    /// The number of fingerprints, and of bytes in chunks, that the scanned content shares with
    /// each subject.
    counts: Vec<(u16, u32)>,
    /// The rarity of the pieces that the scanned content shares with each subject. Used only if the
    /// scanned content is judged by its windows.
    rarities: Vec<Common>,
    touched: Vec<u32>,
    pub(super) candidates: Vec<(u32, u32)>,
    pub(super) undecided: Vec<UndecidedPair>,
}

impl CandidateTally {
    pub(super) fn new(subjects: usize) -> Self {
        Self {
            counts: vec![(0, 0); subjects],
            rarities: Vec::new(),
            touched: Vec::new(),
            candidates: Vec::new(),
            undecided: Vec::new(),
        }
    }
}

impl Scan<'_> {
    pub(super) fn content(&self, seen: &Seen, keys: &[u32], tally: &mut CandidateTally) {
        let question = self.question;
        let content = seen.content;
        if similarity::too_small(question.content(content).size) {
            return;
        }
        let in_b = question.has(1, content);
        // Two subjects of different sides are compared only once, when the content of B is scanned.
        let in_a = question.has(0, content) && !self.is_looked_up[0][content as usize];
        let is_judged = question.is_judged(content);
        if is_judged {
            tally.rarities.resize(self.subjects.len(), Common::NONE);
        }
        for &at in keys {
            let at = at as usize;
            if self.wanted.is_common(at) {
                continue;
            }
            let counted = self.wanted.counted(at);
            let of_chunk = self.wanted.keys[at] & CHUNK != 0;
            let worth = is_judged.then(|| PieceWorth::of(counted, question.limit));
            // The places are ascending, and subjects of A are first. So one position separates the
            // sides.
            let places = self.wanted.places(at);
            let of_b = places.partition_point(|&(place, _)| place < self.of_a);
            let from = if in_b { 0 } else { of_b };
            let to = if in_a { places.len() } else { of_b };
            for &(place, bytes) in places.get(from..to).unwrap_or_default() {
                let count = &mut tally.counts[place as usize];
                if *count == (0, 0) {
                    tally.touched.push(place);
                }
                let kind = if of_chunk {
                    count.1 = count.1.saturating_add(bytes);
                    PostingKind::Chunk
                } else {
                    count.0 = count.0.saturating_add(1);
                    PostingKind::Fingerprint
                };
                if let Some(worth) = worth {
                    tally.rarities[place as usize].add(kind, worth);
                }
            }
        }
        let mut shape = seen.shape.clone();
        let places = keys.iter().map(|&at| at as usize);
        let common = places.filter(|&at| self.wanted.is_common(at));
        shape.leave_out(common.map(|at| self.wanted.keys[at]));
        for place in tally.touched.drain(..) {
            let shared = std::mem::take(&mut tally.counts[place as usize]);
            let common = is_judged.then(|| std::mem::take(&mut tally.rarities[place as usize]));
            let subject = &self.subjects[place as usize];
            if !self.could_pass(subject, (seen, &shape), shared) {
                continue;
            }
            let pair = if subject.of_a {
                (subject.content, content)
            } else {
                (content, subject.content)
            };
            let are_kin = common.map_or(Ok(true), |common| self.are_kin(place, seen, common));
            match are_kin {
                Ok(true) => tally.candidates.push(pair),
                Ok(false) => {}
                Err(are_kin) => tally.undecided.push(UndecidedPair {
                    pair,
                    of: content,
                    are_kin,
                }),
            }
        }
    }

    /// Returns whether a subject and a scanned content share more than unrelated contents do. The
    /// scanned content must be judged by its windows. Returns true if the subject is not judged by
    /// its windows. Fails if the decision depends on windows that are not counted.
    fn are_kin(&self, place: u32, other: &Seen, common: Common) -> Result<bool, RareAtMost> {
        let subject = &self.subjects[place as usize];
        if !self.question.is_judged(subject.content) {
            return Ok(true);
        }
        let (of_a, of_b) = self.subjects.split_at(self.of_a as usize);
        let find = |of: &[LookedUp]| of.binary_search_by_key(&other.content, |one| one.content);
        let in_batch = find(of_a).or_else(|_| find(of_b).map(|at| of_a.len() + at));
        let in_batch = in_batch.ok();
        let level_of_other = in_batch.map_or(other.shape.level, |at| self.subjects[at].level);
        let level = subject.level.max(level_of_other);
        let place = place as usize;
        let counts = WindowCounts::at(
            level,
            self.windows.count(place, level),
            other.shape.at(level),
        );
        counts.are_kin(common, |most| {
            if self.windows.are_at_most(place, level, most) {
                return Ok(true);
            }
            let of_other = in_batch.map(|at| self.windows.are_at_most(at, level, most));
            of_other.ok_or(RareAtMost { level, most })
        })
    }

    fn is_text(&self, content: u32) -> bool {
        self.question.content(content).kind == ContentKind::Text
    }

    /// Returns whether a pair with this much in common could reach the threshold.
    fn could_pass(
        &self,
        subject: &LookedUp,
        (other, shape): (&Seen, &Shape),
        (fingerprints, bytes): (u16, u32),
    ) -> bool {
        let whole = self.question.content(other.content).size;
        if !self.question.sizes_fit(subject.whole, whole) {
            return false;
        }
        let (least_windows, least_bytes) = self.least;
        let smaller = subject.size.0.min(other.size.0).max(1) as f64;
        // Common chunks can prove common bytes that the few samples do not show.
        if bytes > 0 && f64::from(bytes) / smaller >= least_bytes {
            return true;
        }
        // If both texts are mostly boilerplate, one common sample is enough, because only few other
        // samples are left.
        let are_texts = self.is_text(subject.content) && self.is_text(other.content);
        if are_texts && subject.shape.is_header() && shape.is_header() {
            return fingerprints > 0;
        }
        let fewer = subject.shape.fewer(shape);
        are_enough(u32::from(fingerprints), fewer)
            && f64::from(fingerprints) / fewer >= least_windows
    }
}
