//! The sample of the default measure: window or shingle fingerprints, one in 2^k.
//!
//! # What is kept
//!
//! Every window of 64 bytes of a file has a rolling hash; a file at *level* k keeps the windows
//! whose hash starts with k zero bits, one in 2^k. This is `Mod_n` with n = 2^k (Broder 1997,
//! section "Estimating the resemblance and the containment"; `MOD_m` there). The kept set is a
//! function of the *set* of windows alone, so where two files share a run of bytes they keep the
//! same fingerprints inside it, and the shared part of the samples estimates the shared part of all
//! windows without bias.
//!
//! # Choices
//!
//! 1. **The level grows with the file.** Broder fixes n by size class (100·2^i); here the level is
//!    the least one, not below [`SamplingParams::least_level`], at which at most
//!    [`SamplingParams::most`] *distinct* fingerprints remain. Counting what is kept instead of the
//!    size serves repetitive files (few distinct windows) as well as random ones, and bounds the
//!    cost of a file in the index without any estimate.
//! 2. **Samples nest.** `S_k(a)` cut down to a level K ≥ k is exactly `S_K(a)`, so files of
//!    different sizes are compared at the greater of both levels: [`Signature::at_level`].
//! 3. **The order is kept**: fingerprints stand in the order of their first occurrence. A set would
//!    do for the ratio; the order also tells one replaced block from many scattered edits, which
//!    [`crate::similarity`] needs to count bytes instead of windows.
//! 4. **Windows of 64 equal bytes are never sampled**: padding and holes would tie every two files
//!    together that contain any.
//! 5. The window is 64 bytes, where the papers use about 20: long windows tell copied text from
//!    common phrases; `docs/decisions/0003-window-and-rate.md` has the figures.
//!
//! A file of fewer than 64 bytes has no window and an empty signature.

use std::hint::black_box;

use crate::ids::Fingerprint;
use crate::params::SamplingParams;

/// The sampled fingerprints of a content.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Signature {
    /// Every kept fingerprint has at least this level: one window in 2^level was kept.
    pub level: u8,
    /// The distinct fingerprints in the order of their first occurrence in the file, so that the
    /// order tells contiguous sharing from scattered edits.
    pub fingerprints: Vec<Fingerprint>,
    /// How much of it is said more than once, of a text of which that is known.
    pub repeats: Option<Repeats>,
}

/// The share of its shingles that a text has said before, in 255ths: a sample of distinct ones does
/// not tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Repeats(pub u8);

impl Repeats {
    const ALL: f64 = 255.0;

    /// Of a text with so many shingles, each as often as it has it, of which so many are distinct.
    pub fn new(said: u64, distinct: u64) -> Self {
        let repeated = said.saturating_sub(distinct) as f64 / said.max(1) as f64;
        Self((repeated * Self::ALL).round() as u8)
    }

    /// The share.
    pub fn share(self) -> f64 {
        f64::from(self.0) / Self::ALL
    }
}

impl Signature {
    /// The fingerprints that a sample at `level` keeps, in order. Complete only for a `level` not
    /// below the signature's own: what was dropped cannot come back.
    pub fn at_level(&self, level: u8) -> impl Iterator<Item = Fingerprint> + '_ {
        self.fingerprints
            .iter()
            .copied()
            .filter(move |fingerprint| fingerprint.level() >= level)
    }

    /// The sample of the same content by sparser rules: what a [`Sampler`] with these keeps of it.
    #[must_use]
    pub fn thinned(&self, params: &SamplingParams) -> Self {
        Self::of_denser(self.level, &self.fingerprints, self.repeats, params)
    }

    /// A sample by these rules, of a denser one.
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
        // Ends: no fingerprint has a level above 35.
        while above(level) > params.most(level) {
            level += 1;
        }
        // Exactly as long as it is, for it is kept: and no more is asked of the allocator, which
        // threads wait for.
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
/// Holds at most `cap` fingerprints at any time: whenever one more arrives the level rises and
/// those below it go. What is dropped is never needed again, because the number of distinct
/// fingerprints at a level only grows with the file; so the result is the same as choosing the
/// level with the whole file at hand, and independent of how the file was cut into pieces.
#[derive(Clone, Debug)]
pub struct Sampler {
    params: SamplingParams,
    level: u8,
    order: Vec<Fingerprint>,
    seen: Seen,
    /// Fingerprints that come next, none below the level.
    waiting: Vec<Fingerprint>,
    /// How many were pushed, those included that are not kept.
    pushed: u64,
}

/// Fingerprints that are looked up together.
const TOGETHER: usize = 32;

impl Sampler {
    /// A sampler for one file after another (see [`Self::take`]).
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

    /// A sampler that begins at a level, for a part of a file of which the rest is known to have
    /// too many fingerprints below it.
    pub(crate) fn at_level(params: &SamplingParams, level: u8) -> Self {
        let mut sampler = Self::new(params);
        sampler.level = sampler.level.max(level);
        sampler
    }

    /// Forgets everything pushed and samples by these rules from now on; keeps the memory.
    pub(crate) fn begin(&mut self, params: &SamplingParams) {
        self.params = *params;
        self.reset();
    }

    /// The level that it begins a file with.
    pub(crate) const fn least_level(&self) -> u8 {
        self.params.least_level
    }

    /// How many fingerprints were pushed.
    pub(crate) const fn pushed(&self) -> u64 {
        self.pushed
    }

    /// Says how many were pushed, those included that are not kept.
    pub(crate) const fn set_pushed(&mut self, pushed: u64) {
        self.pushed = pushed;
    }

    /// A level that a fingerprint must have to be kept at present. It only rises within a file.
    pub const fn level(&self) -> u8 {
        self.level
    }

    /// Counts so many fingerprints as pushed, all below the level.
    pub(crate) const fn leave_out(&mut self, count: u64) {
        self.pushed += count;
    }

    /// Takes the fingerprint of the next sampled window. Fingerprints below the level, and those
    /// seen before, change nothing.
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

    /// Drops what is below a level, from now on too.
    pub(crate) fn raise(&mut self, level: u8) {
        self.keep_waiting();
        if level > self.level {
            self.level = level;
            self.order
                .retain(|fingerprint| fingerprint.level() >= level);
            self.refill();
        }
    }

    /// Takes those that wait. A large set lies in no near cache, so all are looked up at once, and
    /// one by one after that.
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

    /// Raises the level until no more fingerprints are left than may be.
    #[cold]
    fn thin(&mut self) {
        // Ends: no fingerprint has a level above 35, so at 36 nothing is left.
        while self.order.len() > self.params.most(self.level) {
            self.level += 1;
            let level = self.level;
            self.order
                .retain(|fingerprint| fingerprint.level() >= level);
        }
        self.refill();
    }

    /// Leaves in the set what is in order.
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

    /// Whether anything can be kept.
    pub(crate) const fn samples(&self) -> bool {
        self.params.cap > 0
    }

    /// The signature of what was pushed; the sampler is then as new, its memory kept.
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

    /// [`Self::take`], by sparser rules.
    pub fn take_thinned(&mut self, params: &SamplingParams) -> Signature {
        self.keep_waiting();
        let signature = Signature::of_denser(self.level, &self.order, None, params);
        self.reset();
        signature
    }

    /// [`Self::take_thinned`], of a text of which all fingerprints of the least level were pushed,
    /// as often as it has them.
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

    /// Forgets everything pushed; keeps the memory.
    pub fn reset(&mut self) {
        if !self.order.is_empty() {
            // After a large file the set is small again, for clearing it costs every file after.
            // One that was filled may be again: parts of a large file follow each other, and a new
            // set is made by doubling it, in memory that comes page by page.
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

/// A set of fingerprints: open addressing at most half full. Fingerprints are hashes already, so
/// their low bits are the address.
#[derive(Clone, Debug)]
struct Seen {
    /// Fingerprints have 32 bits.
    slots: Vec<u32>,
    /// Whether the fingerprint is in it that stands for a free slot.
    has_free: bool,
}

impl Seen {
    const FREE: u32 = 0;

    /// Room for what most files keep.
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

    /// Whether it fits the first-level cache.
    const fn is_small(&self) -> bool {
        self.slots.len() <= 4 << 10
    }

    /// What stands where these fingerprints belong: loads that wait for nothing.
    fn glance(&self, fingerprints: &[Fingerprint]) -> u32 {
        let mask = self.slots.len() - 1;
        fingerprints.iter().fold(0, |all, fingerprint| {
            all ^ self.slots[fingerprint.0 as usize & mask]
        })
    }

    /// The same in a set with twice the room. In the order of the slots, so that they are written
    /// in that order too.
    fn grown(&self) -> Self {
        let mut all = Self::with_room_for(self.slots.len());
        all.has_free = self.has_free;
        for &slot in self.slots.iter().filter(|&&slot| slot != Self::FREE) {
            all.insert(Fingerprint(u64::from(slot)));
        }
        all
    }

    /// Leaves those of a level or more, in the memory that is there: a set of another's would be
    /// mapped page by page.
    fn retain_level(&mut self, level: u8) {
        let is_kept = |slot: u32| Fingerprint(u64::from(slot)).level() >= level;
        self.has_free &= is_kept(Self::FREE);
        // Half of the slots are free, and nothing lies across one. So behind it each may be taken
        // out and put in again: it comes to where it was, or before, and what is behind it is not
        // looked at before its turn.
        let free = self.slots.iter().position(|&slot| slot == Self::FREE);
        let first = free.map_or(0, |free| free + 1);
        for at in (first..self.slots.len()).chain(0..first) {
            let slot = std::mem::replace(&mut self.slots[at], Self::FREE);
            if slot != Self::FREE && is_kept(slot) {
                self.insert(Fingerprint(u64::from(slot)));
            }
        }
    }

    /// Whether so many are half of what there is room for.
    const fn is_full(&self, count: usize) -> bool {
        2 * count >= self.slots.len()
    }

    /// Whether so many are a part of what there is room for that pays for clearing it.
    const fn is_filled(&self, count: usize) -> bool {
        16 * count >= self.slots.len()
    }

    /// Whether the fingerprint is new.
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

    /// The definition: the least level at which at most `cap` distinct ones remain; nothing is
    /// sampled of nothing.
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
        // Few bits make repetitions and high levels common.
        // A zero is among them.
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
            // Some stand twice, near and far.
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
