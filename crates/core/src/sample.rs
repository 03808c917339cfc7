//! The signature of a content: the fingerprints of one in 2^k of its windows or shingles.
//!
//! # What is kept
//!
//! Every window of 64 bytes of a file has a rolling hash. A file at *level* k keeps the windows
//! whose hash starts with k zero bits, one in 2^k. This is `Mod_n` with n = 2^k (Broder 1997,
//! section "Estimating the resemblance and the containment"; `MOD_m` there). The kept set is a
//! function of the *set* of windows alone. Two files that share a run of bytes keep the same
//! fingerprints from that run. So the shared part of the samples estimates the shared part of all
//! windows without bias. In texts, shingles take the place of windows ([`crate::words`]).
//!
//! # Choices
//!
//! 1. **The level grows with the file.** Broder chooses n by size class (100·2^i). Here the level
//!    is the least one, not below [`SamplingParams::least_level`], at which at most
//!    [`SamplingParams::most`] *distinct* fingerprints remain. The rule counts fingerprints instead
//!    of bytes. So it suits both random files and repetitive files, which have few distinct
//!    windows. The rule also bounds the cost of a file in the index without any estimate.
//! 2. **Samples nest.** Let `S_k(a)` be the samples of a at level k. Reduced to a level K ≥ k, they
//!    are exactly `S_K(a)`. So files of different sizes are compared at the greater of their two
//!    levels: [`Signature::at_level`].
//! 3. **The order is kept**: fingerprints are in the order of their first occurrence. A set would
//!    be enough for the ratio. The order also distinguishes one replaced block from many scattered
//!    edits. So [`crate::similarity`] can count bytes instead of windows.
//! 4. **Windows of 64 equal bytes are never sampled**: otherwise padding and holes would relate all
//!    files that contain them.
//! 5. **The window is 64 bytes**, where the papers use about 20. Long windows distinguish copied
//!    text from common phrases; `docs/decisions/0003-window-and-rate.md` has the figures.
//!
//! A binary of fewer than 64 bytes has no window and an empty signature.

use std::hint::black_box;

use crate::ids::Fingerprint;
use crate::params::SamplingParams;

/// The sampled fingerprints of a content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// Every kept fingerprint has at least this level: one window in 2^level was kept.
    pub level: u8,
    /// The distinct fingerprints in the order of their first occurrence in the file. The order
    /// distinguishes contiguous sharing from scattered edits.
    pub fingerprints: Vec<Fingerprint>,
    /// The share of repeated shingles. It is known only for some texts.
    pub repeats: Option<Repeats>,
}

/// The number of possible levels. Every level is less than this number.
pub const LEVELS: usize = 64;

/// For each level, the number of samples that have at least this level.
#[derive(Clone, Copy, Debug)]
pub struct SamplesFrom([u32; LEVELS]);

impl SamplesFrom {
    /// Counts these samples by their levels.
    pub fn of(samples: impl IntoIterator<Item = Fingerprint>) -> Self {
        let mut from = [0; LEVELS];
        for sample in samples {
            for count in &mut from[..=usize::from(sample.level()).min(LEVELS - 1)] {
                *count += 1;
            }
        }
        Self(from)
    }

    /// Returns the number of samples that have at least this level.
    pub fn level(&self, level: u8) -> f64 {
        f64::from(self.0[usize::from(level).min(LEVELS - 1)])
    }
}

/// The share of a text's shingles that repeat an earlier one, in 255ths. Samples of distinct
/// shingles do not reveal it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeats(pub u8);

impl Repeats {
    const ALL: f64 = 255.0;

    /// Computes the share from the number of all shingles (`said`) and of distinct ones.
    pub fn new(said: u64, distinct: u64) -> Self {
        let repeated = said.saturating_sub(distinct) as f64 / said.max(1) as f64;
        Self((repeated * Self::ALL).round() as u8)
    }

    /// Returns the share.
    pub fn share(self) -> f64 {
        f64::from(self.0) / Self::ALL
    }
}

impl Signature {
    /// Returns the fingerprints that a signature at `level` keeps, in order. They are complete only
    /// if `level` is at least the level of the signature.
    pub fn at_level(&self, level: u8) -> impl Iterator<Item = Fingerprint> + '_ {
        self.fingerprints
            .iter()
            .copied()
            .filter(move |fingerprint| fingerprint.level() >= level)
    }

    /// Returns the signature of the same content by sparser rules. A [`Sampler`] with these rules
    /// would make the same signature.
    #[must_use]
    pub fn thinned(&self, params: &SamplingParams) -> Self {
        Self::of_denser(self.level, &self.fingerprints, self.repeats, params)
    }

    /// Makes a signature by these rules from the fingerprints of a denser one.
    fn of_denser(
        level: u8,
        fingerprints: &[Fingerprint],
        repeats: Option<Repeats>,
        params: &SamplingParams,
    ) -> Self {
        let mut of_level = [0; u8::MAX as usize + 1];
        for fingerprint in fingerprints {
            of_level[usize::from(fingerprint.level())] += 1;
        }
        let mut level = level.max(params.least_level);
        let above = |level: u8| of_level[usize::from(level)..].iter().sum::<usize>();
        // The loop ends, because no fingerprint has a level above 35.
        while above(level) > params.most(level) {
            level += 1;
        }
        // The capacity is exact, because the signature is stored. There is only one allocation,
        // because threads contend for the allocator.
        let mut kept = Vec::with_capacity(above(level));
        let is_kept = |fingerprint: &&Fingerprint| fingerprint.level() >= level;
        kept.extend(fingerprints.iter().filter(is_kept));
        Self {
            level,
            fingerprints: kept,
            repeats,
        }
    }
}

/// Collects a [`Signature`] from the fingerprints of a file's windows in file order.
///
/// Keeps at most [`SamplingParams::most`] fingerprints. If there would be one more, the level
/// rises, and the fingerprints below the new level are dropped. A dropped fingerprint is never
/// needed again: the number of distinct fingerprints at a level only grows with the file. So the
/// result is the same as if the level were chosen for the whole file. It does not depend on how the
/// file was cut into pieces.
#[derive(Clone, Debug)]
pub struct Sampler {
    params: SamplingParams,
    level: u8,
    order: Vec<Fingerprint>,
    seen: Seen,
    /// Fingerprints that are inserted next. None of them is below the level.
    waiting: Vec<Fingerprint>,
    /// The number of pushed fingerprints, dropped ones included.
    pushed: u64,
}

/// The number of fingerprints that are looked up together.
const TOGETHER: usize = 32;

impl Sampler {
    /// Makes a sampler for one file after another (see [`Self::take`]).
    pub fn new(params: &SamplingParams) -> Self {
        Self {
            params: *params,
            level: params.least_level,
            order: Vec::new(),
            seen: Seen::with_room_for(Seen::FIRST),
            waiting: Vec::new(),
            pushed: 0,
        }
    }

    /// Makes a sampler that begins at `level`. It serves a part of a file whose other parts already
    /// have too many fingerprints below that level.
    pub(crate) fn at_level(params: &SamplingParams, level: u8) -> Self {
        let mut sampler = Self::new(params);
        sampler.level = sampler.level.max(level);
        sampler
    }

    /// Forgets the pushed fingerprints as [`Self::reset`] does, and samples by `params` from now
    /// on.
    pub(crate) fn begin(&mut self, params: &SamplingParams) {
        self.params = *params;
        self.reset();
    }

    /// Returns the level at which a file begins.
    pub(crate) const fn least_level(&self) -> u8 {
        self.params.least_level
    }

    pub(crate) const fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Sets the number of pushed fingerprints, dropped ones included.
    pub(crate) const fn set_pushed(&mut self, pushed: u64) {
        self.pushed = pushed;
    }

    /// Returns the level that a fingerprint currently needs to be kept. It only rises within a
    /// file.
    pub const fn level(&self) -> u8 {
        self.level
    }

    /// Counts `count` fingerprints as pushed; they are below the level, so they need not be passed.
    pub(crate) const fn leave_out(&mut self, count: u64) {
        self.pushed += count;
    }

    /// Takes the fingerprint of the next sampled window. Fingerprints below the level, and those
    /// seen before, only count as pushed.
    #[inline]
    pub fn push(&mut self, fingerprint: Fingerprint) {
        self.pushed += 1;
        if self.params.cap == 0 || fingerprint.level() < self.level {
            return;
        }
        if self.seen.is_small() {
            self.keep(fingerprint);
        } else {
            self.waiting.push(fingerprint);
            if self.waiting.len() == TOGETHER {
                self.keep_waiting();
            }
        }
    }

    /// Raises the level, and drops the fingerprints below it.
    pub(crate) fn raise(&mut self, level: u8) {
        self.keep_waiting();
        if level > self.level {
            self.level = level;
            self.order
                .retain(|fingerprint| fingerprint.level() >= level);
            self.refill();
        }
    }

    /// Inserts the fingerprints that wait. A large set is not in the near caches. So the slots of
    /// all these fingerprints are loaded together, before they are inserted one by one.
    pub(crate) fn keep_waiting(&mut self) {
        let mut waiting = std::mem::take(&mut self.waiting);
        black_box(self.seen.glance(&waiting));
        for fingerprint in waiting.drain(..) {
            if fingerprint.level() >= self.level {
                self.keep(fingerprint);
            }
        }
        self.waiting = waiting;
    }

    #[inline]
    fn keep(&mut self, fingerprint: Fingerprint) {
        if self.seen.insert(fingerprint) {
            self.order.push(fingerprint);
            if self.order.len() > self.params.most(self.level) {
                self.thin();
            } else if self.seen.is_full(self.order.len()) {
                self.seen = self.seen.grown();
            }
        }
    }

    /// Raises the level until at most the allowed number of fingerprints is left.
    #[cold]
    fn thin(&mut self) {
        // The loop ends: no fingerprint has a level above 35, so at 36 nothing is left.
        while self.order.len() > self.params.most(self.level) {
            self.level += 1;
            let level = self.level;
            self.order
                .retain(|fingerprint| fingerprint.level() >= level);
        }
        self.refill();
    }

    /// Reduces `seen` to the fingerprints in `order`.
    fn refill(&mut self) {
        if self.seen.is_small() {
            self.seen.clear();
            for &fingerprint in &self.order {
                self.seen.insert(fingerprint);
            }
        } else {
            self.seen.retain_level(self.level);
        }
    }

    /// Returns whether this sampler keeps any fingerprints at all.
    pub(crate) const fn samples(&self) -> bool {
        self.params.cap > 0
    }

    /// Returns the signature of the pushed fingerprints and resets the sampler ([`Self::reset`]).
    pub fn take(&mut self) -> Signature {
        self.keep_waiting();
        let signature = Signature {
            level: self.level,
            fingerprints: self.order.as_slice().into(),
            repeats: None,
        };
        self.reset();
        signature
    }

    /// Like [`Self::take`], by sparser rules.
    pub fn take_thinned(&mut self, params: &SamplingParams) -> Signature {
        self.keep_waiting();
        let signature = Signature::of_denser(self.level, &self.order, None, params);
        self.reset();
        signature
    }

    /// Like [`Self::take_thinned`], for a text. All fingerprints of the least level must have been
    /// pushed or counted (`leave_out`), as often as they occur.
    pub fn take_text(&mut self, params: &SamplingParams) -> Signature {
        self.keep_waiting();
        let sparser = self.level - self.params.least_level;
        let distinct = (self.order.len() as u64) << sparser;
        let repeats = Repeats::new(self.pushed, distinct);
        Signature {
            repeats: self.samples().then_some(repeats),
            ..self.take_thinned(params)
        }
    }

    /// Forgets the pushed fingerprints; keeps the memory, except the memory of a large set that is
    /// not well filled.
    pub fn reset(&mut self) {
        if !self.order.is_empty() {
            // After a large file the set is made small again, because it takes long to clear a
            // large set after every later file. A set that was well filled stays large: the next
            // part of the same file fills it again. A new set would grow by doubling, in memory
            // that is mapped page by page.
            if self.seen.is_small() || self.seen.is_filled(self.order.len()) {
                self.seen.clear();
            } else {
                self.seen = Seen::with_room_for(Seen::FIRST);
            }
            self.order.clear();
        }
        self.waiting.clear();
        self.pushed = 0;
        self.level = self.params.least_level;
    }
}

/// A hash set of fingerprints with open addressing. It is at most half full. Fingerprints are
/// hashes already, so their low bits are the address.
#[derive(Clone, Debug)]
struct Seen {
    /// Fingerprints have 32 bits.
    slots: Vec<u32>,
    /// True if the set has the fingerprint whose value marks a free slot.
    has_free: bool,
}

impl Seen {
    const FREE: u32 = 0;

    /// The room of a new set, enough for the fingerprints of most files.
    const FIRST: usize = 256;

    fn with_room_for(count: usize) -> Self {
        Self {
            slots: vec![Self::FREE; (2 * count).next_power_of_two()],
            has_free: false,
        }
    }

    fn clear(&mut self) {
        self.slots.fill(Self::FREE);
        self.has_free = false;
    }

    /// Returns whether the set fits the first-level cache.
    const fn is_small(&self) -> bool {
        self.slots.len() <= 4 << 10
    }

    /// Loads the slots of these fingerprints into the cache. The loads do not depend on each other.
    /// Returns a number that depends on all of them.
    fn glance(&self, fingerprints: &[Fingerprint]) -> u32 {
        let mask = self.slots.len() - 1;
        fingerprints.iter().fold(0, |all, fingerprint| {
            all ^ self.slots[fingerprint.0 as usize & mask]
        })
    }

    /// Copies the set into one with twice the room. Slots are read in order, so that they are
    /// written in order, too.
    fn grown(&self) -> Self {
        let mut all = Self::with_room_for(self.slots.len());
        all.has_free = self.has_free;
        for &slot in self.slots.iter().filter(|&&slot| slot != Self::FREE) {
            all.insert(Fingerprint(u64::from(slot)));
        }
        all
    }

    /// Keeps the fingerprints that have at least this level. The set keeps its memory, because new
    /// memory would be mapped page by page.
    fn retain_level(&mut self, level: u8) {
        let is_kept = |slot: u32| Fingerprint(u64::from(slot)).level() >= level;
        self.has_free &= is_kept(Self::FREE);
        // Half of the slots are free, and no probe sequence crosses a free slot. So each
        // fingerprint can be removed and inserted again, beginning behind a free slot. It is placed
        // at its old slot or an earlier one, never at one that is still to be visited.
        let free = self.slots.iter().position(|&slot| slot == Self::FREE);
        let first = free.map_or(0, |free| free + 1);
        for at in (first..self.slots.len()).chain(0..first) {
            let slot = std::mem::replace(&mut self.slots[at], Self::FREE);
            if slot != Self::FREE && is_kept(slot) {
                self.insert(Fingerprint(u64::from(slot)));
            }
        }
    }

    /// Returns whether `count` fingerprints fill half of the slots.
    const fn is_full(&self, count: usize) -> bool {
        2 * count >= self.slots.len()
    }

    /// Returns whether a set of `count` fingerprints is full enough to be cleared instead of
    /// replaced.
    const fn is_filled(&self, count: usize) -> bool {
        16 * count >= self.slots.len()
    }

    /// Inserts a fingerprint and returns whether it is new.
    #[inline]
    fn insert(&mut self, fingerprint: Fingerprint) -> bool {
        let fingerprint = fingerprint.0 as u32;
        if fingerprint == Self::FREE {
            return !std::mem::replace(&mut self.has_free, true);
        }
        let mask = self.slots.len() - 1;
        let mut at = fingerprint as usize & mask;
        loop {
            match self.slots[at] {
                Self::FREE => {
                    self.slots[at] = fingerprint;
                    return true;
                }
                found if found == fingerprint => return false,
                _ => at = (at + 1) & mask,
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::trivially_copy_pass_by_ref)]
mod tests {
    use std::collections::HashSet;

    use proptest::prelude::*;
    use resemble_testutil::random::Random;

    use super::*;

    /// Makes a signature by the definition: the least level at which at most
    /// [`SamplingParams::most`] distinct fingerprints remain. With a cap of 0 nothing is sampled.
    fn by_definition(params: &SamplingParams, all: &[Fingerprint]) -> Signature {
        let all = if params.cap == 0 { &[] } else { all };
        for level in params.least_level.. {
            let mut seen = HashSet::new();
            let kept: Vec<_> = all
                .iter()
                .copied()
                .filter(|f| f.level() >= level && seen.insert(*f))
                .collect();
            if kept.len() <= params.most(level) {
                return Signature {
                    level,
                    fingerprints: kept,
                    repeats: None,
                };
            }
        }
        unreachable!("no fingerprint has a level above 35")
    }

    fn fingerprints(max: usize) -> impl Strategy<Value = Vec<Fingerprint>> {
        // Few bits make repetitions and high levels common. The value zero occurs, too.
        let one = (0..33u32, any::<u64>())
            .prop_map(|(zeros, bits)| Fingerprint((bits & 0x3ff) << 22 >> zeros));
        proptest::collection::vec(one, 0..max)
    }

    proptest! {
        #[test]
        fn streaming_is_the_definition(
            all in fingerprints(400),
            least_level in 3u8..8,
            few in 0u32..60,
            cap in 0u32..40,
        ) {
            let params = SamplingParams { least_level, few, cap };
            let mut sampler = Sampler::new(&params);
            for _twice in 0..2 {
                for &f in &all {
                    sampler.push(f);
                }
                prop_assert_eq!(sampler.take(), by_definition(&params, &all));
            }
        }

        #[test]
        fn samples_nest(all in fingerprints(400), cap in 1u32..40, more in 0u8..6) {
            let small = by_definition(&SamplingParams::at(3, cap), &all);
            let level = small.level + more;
            let at_level: Vec<_> = small.at_level(level).collect();
            let direct = by_definition(&SamplingParams::at(level, 400), &all);
            prop_assert_eq!(at_level, direct.fingerprints);
        }

        #[test]
        fn a_thinned_sample_is_that_of_a_smaller_cap(
            all in fingerprints(400),
            cap in 1u32..40,
            few in 0u32..40,
            less in 1u32..40,
        ) {
            let less = SamplingParams { least_level: 3, few, cap: less.min(cap) };
            let sample = by_definition(&SamplingParams::at(3, cap), &all);
            prop_assert_eq!(sample.thinned(&less), by_definition(&less, &all));
        }
    }

    #[test]
    fn nothing_pushed_is_an_empty_signature_at_the_least_level() {
        let mut sampler = Sampler::new(&SamplingParams::at(5, 128));
        assert_eq!(
            sampler.take(),
            Signature {
                level: 5,
                ..Signature::default()
            }
        );
    }

    #[test]
    fn large_samples_are_by_the_definition() {
        let mut random = Random::new(1);
        for (few, cap) in [(3000, 9000), (20_000, 20_000), (70_000, 70_000)] {
            let params = SamplingParams {
                least_level: 3,
                few,
                cap,
            };
            let mut all: Vec<_> = (0..60_000)
                .map(|_| Fingerprint(random.draw() >> 32))
                .collect();
            all[50_000] = Fingerprint(0);
            // Some fingerprints occur twice, at small and at large distances.
            for _ in 0..20_000 {
                let (from, to) = (random.below(all.len()), random.below(all.len()));
                all[to] = all[from];
            }
            let mut sampler = Sampler::new(&params);
            for _twice in 0..2 {
                for &fingerprint in &all {
                    sampler.push(fingerprint);
                }
                assert_eq!(sampler.take(), by_definition(&params, &all), "{cap}");
            }
        }
    }

    #[test]
    fn repetitions_do_not_raise_the_level() {
        let params = SamplingParams::at(3, 4);
        let mut sampler = Sampler::new(&params);
        for round in 0..1000u64 {
            sampler.push(Fingerprint((round % 4) | 1 << 31));
        }
        assert_eq!(sampler.take().level, 3);
    }
}
