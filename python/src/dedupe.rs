//! `dedupe`: finds the texts that stay when near-copies are removed. For each removed text, it
//! names a text that stays and contains at least the share `min` of the removed text.
//!
//! Each text is compared only with the texts that stay so far. Of a thousand near-copies, the first
//! one stays, and each of the others is measured once. Samples find candidate pairs. The two texts
//! of a candidate pair are then measured.
//!
//! # Memory
//!
//! `dedupe` needs about 30 bytes for each sample of a text that stays. The texts themselves are not
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

/// All shingles of a text are samples if the text has at most this number of shingles. If the text
/// has up to twice this number, one shingle in two is a sample, and so on, down to one in eight.
/// The samples of a sparser level are also samples of a denser level. So texts of different lengths
/// can have samples in common.
const SHORT: usize = 32;

/// A sample is boilerplate if it is in more than this number of the texts that stay. An index has
/// the same limit.
const BOILERPLATE: usize = 1000;

/// The maximum number of texts with which a text is compared. The texts that share the most samples
/// with it are chosen. Of 7,494 duplicates that are hard to find (headers, templates, short texts),
/// 28 are missed if each text is compared with one text, 11 with four texts, and 7 with eight. With
/// 32 texts, 6 are missed, in twice the time.
const MAX_MEASURED: usize = 8;

/// A text with fewer samples than this is compared with another text if they have one sample in
/// common. Other texts need two samples in common.
const FEW: usize = 8;

/// The number of texts that are looked up together, in parallel, before any of them is added to the
/// texts that stay.
const TOGETHER: usize = 4096;

/// A text that is dropped, the text that it duplicates, and the share of the dropped text that the
/// other text contains.
type Duplicate = (u32, u32, Score);

/// A [`Duplicate`] in the types that Python gets.
type DuplicateRow = (u32, u32, Option<f64>);

/// Returns the indexes of the texts that stay, in ascending order, and the duplicates.
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
        // Returns those bits of a shingle's hash that are its fingerprint in an index.
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
            // Data that are not text are sampled by windows. Data that have words are also sampled
            // by words.
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

/// For each sample, the linked list of the texts that have it. All lists are in one vector.
#[derive(Default)]
struct SampleLists {
    /// The index in `links` at which the list of a sample begins.
    begins: HashMap<u32, u32>,
    /// The texts of all lists. The second value of a link is one more than the index in `links` at
    /// which the list continues.
    links: Vec<(u32, Option<NonZeroU32>)>,
}

impl SampleLists {
    /// Returns the texts that have a sample. The text that was added last is first.
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

/// The texts that stay so far, and the lists that find them.
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
                // `known` was found before any text of this batch was added to the texts that stay.
                // So this search considers only the texts of the batch.
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

    /// Returns the text that contains the largest share of this text, if that share is large
    /// enough. Only texts with an index of at least `from` are considered.
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

    /// Returns the texts that share the most samples with this text. Only texts with an index of at
    /// least `from` are considered.
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
