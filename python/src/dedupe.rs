//! `dedupe`: which texts stay, in their order, and which texts lie in one that stays.
//!
//! Each text is compared only with the texts that stay so far. Of a thousand near-copies the first
//! stays, and each other one is measured once. Pairs that samples find are measured on both texts.
//!
//! # Memory
//!
//! This takes some 30 bytes for each sample of a text that stays. The texts themselves are not
//! copied.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::num::NonZeroU32;

use pyo3::prelude::*;
use resemble_core::similarity::proof::Provable;
use resemble_core::similarity::{TemplateShingles, TextCutter};
use resemble_core::{ContentDigest, ContentKind, Digest, Fingerprint, Params, Score, StopFlag};
use resemble_relate::AskError;
use resemble_relate::parallel::ordered;

use crate::figures::{Figures, ScoreRule, fraction};
use crate::running::interruptibly;
use crate::texts::{HeldTexts, TextName};

/// The maximum number of shingles of a text that has all of them as samples. A text of up to twice
/// as many has one in two, and so on to one in eight. So samples of all lengths nest.
const SHORT: usize = 32;

/// A sample is boilerplate if more than this many of the texts that stay have it, as in an index.
const BOILERPLATE: usize = 1000;

/// The number of texts against which a text is measured: those that share most samples with it. Of
/// 7,494 hard duplicates (headers, templates, short texts), 28 are missed with one text, 11 with
/// four and 7 with eight. With 32, 6 are missed in twice the time.
const MAX_MEASURED: usize = 8;

/// A text with fewer samples needs only one in common with another.
const FEW: usize = 8;

/// The number of texts that are looked up together, before any of them stays.
const TOGETHER: usize = 4096;

/// A text that is dropped, the text that it duplicates, and the share of the first that lies in the
/// second.
type Duplicate = (u32, u32, Score);

/// A duplicate as Python gets it.
type DuplicateRow = (u32, u32, Option<f64>);

/// The places of texts that stay, ascending, and the duplicates.
#[pyfunction]
pub(crate) fn dedupe(
    py: Python<'_>,
    texts: &Bound<'_, PyAny>,
    min: f64,
) -> PyResult<(Vec<u32>, Vec<DuplicateRow>)> {
    let rule = ScoreRule::of(min, "containment")?;
    let held = HeldTexts::of(texts)?;
    let (selected, duplicates) =
        interruptibly(py, |stop| Deduplication::of(&held.slices(), rule, stop))?;
    let duplicates = duplicates.into_iter();
    let duplicates = duplicates.map(|(place, of, share)| (place, of, fraction(Some(share))));
    Ok((selected, duplicates.collect()))
}

/// A text with the samples by which it is found.
struct SampledText {
    name: TextName,
    samples: Vec<u32>,
}

impl SampledText {
    fn of(bytes: &[u8], cutter: &mut TextCutter) -> Self {
        let name = TextName::of(bytes);
        // Takes the bits of a shingle that are its fingerprint in an index.
        let bits = |shingle: u64| ((shingle << Fingerprint::BASE_LEVEL) >> 32) as u32;
        let mut samples: Vec<u32> = match name.kind {
            ContentKind::Text => {
                let read = cutter.read(bytes, &TemplateShingles::default());
                let shingles = read.shingles();
                let rate = shingles.len().div_ceil(SHORT).next_power_of_two();
                let level = rate.trailing_zeros().min(Fingerprint::BASE_LEVEL.into());
                let all = shingles.iter().copied();
                let is_kept = |shingle: &u64| shingle.leading_zeros() >= level;
                all.filter(is_kept).map(bits).collect()
            }
            ContentKind::Empty => Vec::new(),
            // Data is sampled by windows, and by words if it has some.
            ContentKind::Data | ContentKind::Binary => {
                let digest = Digest::of(bytes, &Params::default());
                digest.posted().map(|sample| sample.0 as u32).collect()
            }
        };
        samples.sort_unstable();
        samples.dedup();
        samples.shrink_to_fit();
        Self { name, samples }
    }
}

/// For each sample, the list of the places of texts that have it. All lists are in one vector.
#[derive(Default)]
struct SampleLists {
    /// The place in `links` where the list of a sample begins.
    begins: HashMap<u32, u32>,
    /// A place, and where the list continues, if it does.
    links: Vec<(u32, Option<NonZeroU32>)>,
}

impl SampleLists {
    /// The places of texts with a sample, the last first.
    fn places(&self, sample: u32) -> impl Iterator<Item = u32> + '_ {
        let first = self.begins.get(&sample).map(|&at| self.links[at as usize]);
        let next = |link: &(u32, Option<NonZeroU32>)| {
            let at = link.1?.get() - 1;
            Some(self.links[at as usize])
        };
        std::iter::successors(first, next).map(|(place, _)| place)
    }

    fn insert(&mut self, sample: u32, place: u32) {
        if self.places(sample).count() <= BOILERPLATE {
            let before = self.begins.insert(sample, self.links.len() as u32);
            let before = before.and_then(|at| NonZeroU32::new(at + 1));
            self.links.push((place, before));
        }
    }
}

/// The texts that stay so far.
struct Deduplication<'t> {
    texts: &'t [&'t [u8]],
    rule: ScoreRule,
    lists: SampleLists,
    whole: HashMap<ContentDigest, u32>,
    selected: Vec<u32>,
}

impl<'t> Deduplication<'t> {
    fn of(
        texts: &'t [&'t [u8]],
        rule: ScoreRule,
        stop: &StopFlag,
    ) -> Result<(Vec<u32>, Vec<Duplicate>), AskError> {
        let mut all = Self {
            texts,
            rule,
            lists: SampleLists::default(),
            whole: HashMap::new(),
            selected: Vec::new(),
        };
        let mut duplicates = Vec::new();
        for begin in (0..texts.len()).step_by(TOGETHER) {
            let count = texts.len().min(begin + TOGETHER) - begin;
            let found = ordered(count, TextCutter::default, |at, cutter| {
                stop.go_on()?;
                let text = SampledText::of(texts[begin + at], cutter);
                let known = all.nearest((begin + at) as u32, &text, 0);
                Ok::<_, AskError>((text, known))
            })?;
            for (place, (text, known)) in (begin as u32..).zip(found) {
                stop.go_on()?;
                // `known` was found before any text of this batch stayed. So the texts of this
                // batch are searched here.
                match known.or_else(|| all.nearest(place, &text, begin as u32)) {
                    Some((of, share)) => duplicates.push((place, of, share)),
                    None => all.keep(place, text),
                }
            }
        }
        Ok((all.selected, duplicates))
    }

    fn keep(&mut self, place: u32, text: SampledText) {
        self.selected.push(place);
        self.whole.insert(text.name.digest, place);
        for sample in text.samples {
            self.lists.insert(sample, place);
        }
    }

    /// Returns the text that has the largest share of this one, if that share is large enough. Only
    /// texts at the place `from` or later count.
    fn nearest(&self, place: u32, text: &SampledText, from: u32) -> Option<(u32, Score)> {
        let equal = self.whole.get(&text.name.digest);
        if let Some(&equal) = equal.filter(|&&equal| equal >= from) {
            return Some((equal, Score::ONE));
        }
        let ready = |place: u32| {
            let bytes = self.texts[place as usize];
            Provable::new(ContentKind::of_whole(bytes), bytes.to_vec())
        };
        let mut nominees = self.nominees(text, from).peekable();
        nominees.peek()?;
        let own = ready(place);
        let measured = nominees.filter_map(|other| {
            let figures = Figures::of(&own, &ready(other));
            let share = figures.a_in_b()?;
            (share >= self.rule.least()).then_some((other, share))
        });
        measured.max_by_key(|&(other, share)| (share, Reverse(other)))
    }

    /// The texts from a place on that share most samples with this one.
    fn nominees(&self, text: &SampledText, from: u32) -> impl Iterator<Item = u32> + use<> {
        let mut places: Vec<u32> = Vec::new();
        for &sample in &text.samples {
            let before = places.len();
            places.extend(self.lists.places(sample));
            if places.len() - before > BOILERPLATE {
                places.truncate(before);
            }
        }
        places.retain(|&place| place >= from);
        places.sort_unstable();
        let least = if text.samples.len() < FEW { 1 } else { 2 };
        let counted = places.chunk_by(|a, b| a == b);
        let counted = counted.map(|same| (Reverse(same.len()), same[0]));
        let mut nominees: Vec<_> = counted.filter(|(common, _)| common.0 >= least).collect();
        nominees.sort_unstable();
        nominees.truncate(MAX_MEASURED);
        nominees.into_iter().map(|(_, place)| place)
    }
}
