//! From samples and chunks to bytes: how much of a file is shared, and in how many pieces.
//!
//! # Windows are not bytes
//!
//! Let a file have W windows of 64 bytes, of which the other file has a part p. A maximal run of
//! shared windows of length m covers m + 63 bytes, so what counts is how the missing windows lie.
//! Call a maximal run of g missing windows between two shared ones a *gap*. It leaves g - 63 bytes
//! uncovered: one replaced byte makes a gap of 64 windows and costs 1 byte, a replaced block of
//! 10,000 bytes a gap of 10,063 and costs 10,000. Missing windows at either end of the file cost
//! one byte each. With N = (1-p)·W missing windows, G gaps in all,
//!
//! ```text
//! uncovered bytes = N - 63·G                                                        (1)
//! ```
//!
//! The ratio of samples gives p without bias but says nothing of G. At one edit in 100 bytes p is
//! 0.53 where 0.98 of the bytes are shared, so G decides.
//!
//! # What knows G
//!
//! Model: gaps begin at random, λ per shared window, with a mean length of ḡ windows. Then
//! (1-p)/p = λ·ḡ, and for a given p either of λ and ḡ determines the other. Three observations
//! depend on λ:
//!
//! 1. *Breaks in the order of samples.* Samples come at a rate of r = 2^-level per window. After a
//!    shared sample the next is missing with chance
//!
//!    ```text
//!    t = λ(1-u) / (r + λ(1-u)),        u = e^(-63r) / (1 + r(ḡ-63))                 (2)
//!    ```
//!
//!    u being the chance that a gap holds no sample, for gaps of 63 windows and an exponential
//!    rest. (From a shared window on, either a sample comes first, rate r, or a gap, rate λ; the
//!    gap is seen with chance 1-u, and otherwise all starts again.) So (2) tells edits from blocks
//!    as long as r·ḡ is not small: in files up to some 10 KB, where samples stand 32 to 64 windows
//!    apart. In larger files each gap has at most one sample and the order says nothing, but for
//!    those files there are
//! 2. *breaks in the order of chunks*: a chunk of length L after a shared chunk is shared too if no
//!    gap begins in it, and
//! 3. *the share c of bytes in shared chunks*: c = p·s(λL). For chunks of TTTD, with lengths
//!    between 0.45 L and 2.8 L, s(x) = e^(-0.6x) / (1 + 0.75x) fits the survival of bytes,
//!    resynchronising included, within some percent from x = 0.2 to 5; for 2. the same form with
//!    0.55 and 0.5.
//!
//! Observation 3 is also one of p: solved for p at a given ḡ it is an estimate whose error is that
//! of the chunks cut by gaps, about 0.7 L each. Where few blocks differ it is several times as
//! precise as any affordable number of samples; where no chunk survives it is silent. Both
//! estimates of p are averaged by their variances, and their disagreement counts against that ḡ.
//!
//! # The answer
//!
//! Edits come at random: where p of the windows are shared, edits of e windows begin with a density
//! d per window such that p = e^(-63·d) / (1 + d·e), and d is λ. (At p = 0.2 a gap is three times
//! as long as a single edit makes it, because edits stand so close that nothing between them
//! counts. To let every gap be as short as one edit overrated texts with every third word replaced
//! by .25.) The likelihood of 1 to 3 is computed for e = 1, 2, 4, … up to all missing windows in
//! one gap, each as likely beforehand as any other, and for pieces in another order, which leave no
//! byte uncovered; and (1) is averaged over them. A single best e would be wrong by a lot whenever
//! the evidence is thin; the average is then in the middle.
//!
//! What the cases come to if p is so many standard errors more or less is what may be true
//! ([`Evidence::outcomes`]); its middle 95 % is the interval. Toward less, the samples count one
//! fewer: a pair is looked at because it has some in common.
//!
//! Of a text and data no samples can be compared, and chunks speak alone. What is missing is then
//! blocks as it lies, or scattered as if nothing were a block: one is as likely beforehand as the
//! other, and either explains the breaks in the order of chunks by a rate of its own.
//!
//! Real changes are mixtures: a few typing errors and one new paragraph. Runs of missing samples
//! too long to belong to the others are therefore taken out first as *solid* ([`Split`]): each is
//! one gap and fully missing. The ends of the file are judged in the same way.
//!
//! In a large file a handful of samples decides how much of what is missing is scattered, and with
//! scattered gaps of 64 windows one sample more or less stands for dozens of edits, each of which
//! spoils a chunk. So observation 3 is trusted only as far as that division is known (or as the
//! order of chunks bounds it). Taken at face value it pulled p down to c wherever a block and
//! edits met. The price is some precision where blocks differ and nothing else.
//!
//! Checked in `tests/estimates.rs`; `examples/estimates.rs` prints bias and error by kind of edit.

use crate::similarity::chunks::Layout;
use crate::similarity::interval::bound;
use crate::similarity::pattern::Pattern;

/// How many samples the expectation from chunks alone is worth: half a one, after Jeffreys. It
/// keeps two samples of two from being 100 %.
const PRIOR_WEIGHT: f64 = 0.5;

/// Standard deviation of the bytes of chunks that a gap spoils, in chunk lengths.
const SPOILT_DEVIATION: f64 = 0.7;

/// Relative error of s(x), per unit of -ln s.
const SURVIVAL_ERROR: f64 = 0.1;

/// A run of missing samples is solid if chance makes one as long less often than this.
const SOLID_CHANCE: f64 = 0.05;

/// So many samples any evidence is worth at most: what is not in the model is the rest. With 100,
/// 200 and 400 the intervals hold .968, .958 and .950 of the containments of T2, and .982, .973 and
/// .968 of those of Django's pages.
const MOST_WORTH: f64 = 200.0;

/// How far the likelihoods are trusted: they are of the same samples and chunks, and the survival
/// of chunks is only nearly right. Intervals of edited texts of 300 KB held .85 of the true values
/// with 1, and hold .96 with this.
const TRUSTED: f64 = 0.5;

/// How likely it is that pieces are in another order, beside edits of one word.
const REORDERED: f64 = 0.5;

/// How likely it is that what looks solid is scattered, before the order is looked at.
const UNJUDGED: f64 = 0.15;

/// Cases that are no likelier have no say in an interval.
const UNLIKELY: f64 = 1e-3;

/// Steps to either side in which three standard errors are gone through.
const STEPS: i32 = 9;

/// Steps in which p is solved for: 2^-10 of what may be shared beside whole chunks is a third of
/// the least error that such a p has.
const BISECTIONS: u32 = 10;

/// What a file shows of the other one.
#[derive(Clone, Copy, Debug)]
pub(super) struct Evidence<'a> {
    /// Its samples.
    pub(super) samples: &'a Pattern,
    /// Its chunks.
    pub(super) chunks: &'a Layout,
    /// Windows per sample: 1/r.
    pub(super) spacing: f64,
    /// Its windows: W.
    pub(super) windows: f64,
    /// Missing windows of a gap that cost nothing: one less than a window is long.
    pub(super) free: f64,
    /// Bytes from one window to the next.
    pub(super) unit: f64,
    /// It is a text: what its chunks have beside words is not shared in words.
    pub(super) is_text: bool,
    /// How much less likely large gaps are beforehand: a gap of n windows beyond the free ones by
    /// n^-small.
    pub(super) small: f64,
}

/// The windows that are missing, N, and the gaps they make, G; both per window of the file.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Fit {
    /// N / W = 1 - p.
    pub(super) missing: f64,
    /// G / W.
    pub(super) gaps: f64,
}

/// A length of edits, and which of the missing windows are scattered.
#[derive(Clone, Copy, Debug)]
struct Case {
    split: Split,
    /// Windows that an edit replaces; 0: pieces are in another order.
    edit: f64,
    /// p in this case.
    shared: Estimate,
    /// How likely the case is.
    weight: f64,
}

/// Missing samples, divided into those of the random process and those of solid runs.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Split {
    /// Share of the missing windows that lies in scattered gaps.
    scattered: f64,
    /// Scattered breaks.
    breaks: u64,
    /// Solid gaps.
    solid: f64,
    /// Solid ends.
    ends: f64,
    /// Standard deviation of `scattered`.
    deviation: f64,
}

/// An estimate and its variance.
#[derive(Clone, Copy, Debug)]
struct Estimate {
    value: f64,
    variance: f64,
}

impl Evidence<'_> {
    /// The expected missing windows and gaps, given everything seen.
    pub(super) fn fit(&self) -> Fit {
        let mut sum = Fit::default();
        for case in self.cases() {
            let fit = self.at(&case, case.shared.value);
            sum.missing += case.weight * fit.missing;
            sum.gaps += case.weight * fit.gaps;
        }
        sum
    }

    /// What may be true, each with its weight: for every case as much as is shared by so many
    /// standard errors more or less.
    pub(super) fn outcomes(&self) -> Vec<(f64, Fit)> {
        let (all, shared) = (self.samples.total as f64, self.samples.shared as f64);
        // Of a file of which one window in n is sampled, a part of 1/n is known.
        let known = (1.0 - 1.0 / self.spacing).max(0.05);
        let ratio = self.ratio();
        // At all and nothing the expectation beforehand has no say.
        let seen = if all > 0.0 {
            shared / all - ratio.value
        } else {
            0.0
        };
        let mut outcomes = Vec::new();
        for case in self.cases() {
            if case.weight < UNLIKELY {
                continue;
            }
            let gain = ratio.variance / case.shared.variance;
            let of = 1.0 / (known / (all.max(0.5) * gain) + 1.0 / MOST_WORTH);
            let deviation = case.shared.variance.sqrt();
            let middle = (case.shared.value + seen / gain).clamp(0.0, 1.0);
            // A pair is looked at because it has samples in common.
            let chosen = if gain < 2.0 && shared > 0.0 {
                (middle - 1.0 / all).max(0.0)
            } else {
                middle
            };
            for step in -STEPS..=STEPS {
                let errors = 3.0 * f64::from(step) / f64::from(STEPS);
                let p = if all <= 0.0 {
                    (middle + errors * deviation).clamp(0.0, 1.0)
                } else if step > 0 && shared > 0.0 && shared >= all {
                    1.0
                } else if step < 0 && shared <= 0.0 && self.is_text {
                    // What its chunks prove may be markup.
                    0.0
                } else if step < 0 {
                    bound(chosen, of, errors)
                } else {
                    bound(middle, of, errors)
                };
                let weight = case.weight * (-0.5 * errors * errors).exp();
                outcomes.push((weight, self.at(&case, p)));
            }
        }
        outcomes
    }

    /// Every length of edits, with its weight and the share that it makes likely; and the same if
    /// all that is missing were scattered.
    fn cases(&self) -> Vec<Case> {
        let ratio = self.ratio();
        let is_sampled = self.samples.total > 0;
        let split = if is_sampled {
            Split::of(self.samples, self.free / self.spacing)
        } else {
            Split::solid(&self.chunks.pattern)
        };
        let mut cases: Vec<Case> = Vec::with_capacity(32);
        if is_sampled {
            self.add_cases(split, ratio, 0.0, &mut cases);
        } else {
            // Blocks explain every break, so that they are as likely as breaks at their own rate.
            let pieces = &self.chunks.pattern;
            let breaks = pieces.breaks.len() as u64;
            let rate = (breaks as f64 + 0.5) / (pieces.steps() as f64 + 1.0);
            let prior = TRUSTED * binomial(breaks, pieces.steps(), rate);
            self.add_cases(split, ratio, prior, &mut cases);
        }
        if !is_sampled || split.solid + split.ends > 0.0 && self.samples.shared > 0 {
            let scattered = Split::scattered(self.samples);
            let prior = if is_sampled { UNJUDGED.ln() } else { 0.0 };
            self.add_cases(scattered, ratio, prior, &mut cases);
        }
        let greatest = cases.iter().map(|case| case.weight);
        let greatest = greatest.fold(f64::NEG_INFINITY, f64::max);
        let mut all = 0.0;
        for case in &mut cases {
            case.weight = (case.weight - greatest).exp();
            all += case.weight;
        }
        for case in &mut cases {
            case.weight /= all;
        }
        cases
    }

    /// Adds the cases of a division, with the logarithms of their weights.
    fn add_cases(&self, split: Split, ratio: Estimate, prior: f64, cases: &mut Vec<Case>) {
        // No sample of three more is missing in one file of twenty.
        let unseen = 3.0 / (self.samples.total as f64 + 1.0);
        let most = ((1.0 - ratio.value) * split.scattered + unseen).min(1.0);
        let most = (self.windows * most).max(1.0);
        let mut edit = 0.0;
        while edit <= most {
            let gap = self.gap(&split, edit, ratio.value);
            let (likelihood, shared) = self.given(gap, ratio, &split);
            cases.push(Case {
                split,
                edit,
                shared,
                weight: prior + TRUSTED * likelihood - self.rarity(edit),
            });
            edit = if edit < 1.0 { 1.0 } else { 2.0 * edit };
        }
    }

    /// How much less likely edits of this length are beforehand, as a logarithm.
    fn rarity(&self, edit: f64) -> f64 {
        if edit < 1.0 {
            -REORDERED.ln()
        } else {
            self.small * edit.ln()
        }
    }

    /// How many scattered gaps begin at a shared window, by edits of so many windows, where p of
    /// all windows are shared.
    fn density(&self, split: &Split, edit: f64, p: f64) -> f64 {
        let p = inside(p);
        let here = p / (p + (1.0 - p) * split.scattered);
        if edit == 0.0 && here > 0.5 {
            // Pieces in another order.
            return (1.0 - here) / (here * self.free);
        }
        density_of_edits(self.free, edit, here)
    }

    /// The mean length of a scattered gap.
    fn gap(&self, split: &Split, edit: f64, p: f64) -> f64 {
        let p = inside(p);
        let density = self.density(split, edit, p).max(1e-12);
        let gap = (1.0 - p) * split.scattered / (p * density);
        gap.max(self.free + edit)
    }

    /// What a case comes to if p of all windows are shared.
    fn at(&self, case: &Case, p: f64) -> Fit {
        let missing = 1.0 - p;
        let scattered = if p > 0.0 && p < 1.0 {
            p * self.density(&case.split, case.edit, p)
        } else {
            0.0
        };
        let most = missing * case.split.scattered / self.free;
        Fit {
            missing,
            gaps: scattered.min(most) + case.split.solid / self.windows,
        }
    }

    /// p from the samples. Without any, it is what chunks alone let expect: their share, and half
    /// of the rest when that is large, since most of what they miss then lies beside small edits.
    fn ratio(&self) -> Estimate {
        let c = self.chunks.share();
        let expected = c + (1.0 - c) * 0.5 * c.sqrt();
        let count = self.samples.total as f64 + PRIOR_WEIGHT;
        let value = (self.samples.shared as f64 + PRIOR_WEIGHT * expected) / count;
        let value = inside(value);
        // At 0 and 1 a binomial's variance vanishes, its uncertainty does not.
        let variance = (value * (1.0 - value)).max(0.2 / (count + 1.0)) / count;
        Estimate { value, variance }
    }

    /// The logarithm of the likelihood of gaps of `gap` windows on average, and what follows from
    /// them (scattered gaps only).
    fn given(&self, gap: f64, ratio: Estimate, split: &Split) -> (f64, Estimate) {
        let length = self.chunks.mean_len() / self.unit;
        let scattered = |p: f64| (1.0 - p) * split.scattered / (p * gap);
        // For chunks a solid gap is a gap like any other, and a missing end half a one.
        let all = |p: f64| scattered(p) + (split.solid + 0.5 * split.ends) / (p * self.windows);
        let predict = |p: f64| p * survival(all(p) * length, 0.6, 0.75);

        let mut likelihood = 0.0;
        let (mut p, mut variance) = (ratio.value, ratio.variance);
        if self.chunks.shared > 0 {
            let chunks = self.solve(predict, |p| {
                let runs = all(p) * p * self.windows + 1.0;
                // How far off the density of scattered gaps may be, by the few samples that tell
                // them from solid ones, but no further than chunks allow.
                let by_samples = (1.0 - p) * split.deviation / (p * gap) * length;
                (
                    runs,
                    by_samples.min(split.most_broken(&self.chunks.pattern)),
                )
            });
            let both = ratio.variance + chunks.variance;
            likelihood -= 0.5 * ((p - chunks.value).powi(2) / both + both.ln());
            p = (p * chunks.variance + chunks.value * ratio.variance) / both;
            variance = ratio.variance * chunks.variance / both;
        } else {
            // No chunk survived; so many were expected to.
            likelihood -= self.chunks.pattern.total as f64 * predict(p);
        }
        let p = inside(p);
        let density = scattered(p);

        let rate = 1.0 / self.spacing;
        let unseen = (-self.free * rate).exp() / (1.0 + (gap - self.free) * rate);
        let seen = density * (1.0 - unseen);
        likelihood += binomial(split.breaks, self.samples.steps(), seen / (rate + seen));

        let chunks = &self.chunks.pattern;
        let breaks = split.chunk_breaks(chunks);
        let whole = survival(density * length, 0.55, 0.5);
        likelihood += binomial(breaks, chunks.steps(), 1.0 - whole);

        (likelihood, Estimate { value: p, variance })
    }

    /// p from the share c of bytes in shared chunks, given c as a function of p (rising), and as
    /// another the number of shared runs and the standard deviation of the gaps in a chunk.
    fn solve(&self, predict: impl Fn(f64) -> f64, given: impl Fn(f64) -> (f64, f64)) -> Estimate {
        let c = self.chunks.share();
        // Never below c: all that is in shared chunks is shared.
        let (mut low, mut high) = (c.min(0.9999), 1.0);
        for _ in 0..BISECTIONS {
            let middle = 0.5 * (low + high);
            *(if predict(middle) < c {
                &mut low
            } else {
                &mut high
            }) = middle;
        }
        let value = 0.5 * (low + high);
        let step = (0.5 * (1.0 - value)).clamp(1e-7, 1e-3);
        let slope = ((predict(value + step) - predict(value)) / step).max(0.05);
        let survived = c / value;
        let (runs, gaps) = given(value);
        let one = SPOILT_DEVIATION * self.chunks.mean_len() / self.chunks.bytes as f64;
        // The last term: cut points in bytes that no gap spoils may differ once in a while.
        let deviation = runs.sqrt() * one * survived
            + SURVIVAL_ERROR * c * (1.0 / survived).ln()
            + c * gaps
            + 0.003;
        Estimate {
            value,
            variance: (deviation / slope).powi(2),
        }
    }
}

impl Split {
    /// `mean`: samples that a gap of the least length holds on average.
    fn of(samples: &Pattern, mean: f64) -> Self {
        if samples.shared == 0 {
            return Self {
                scattered: 0.0,
                breaks: 0,
                solid: 0.0,
                ends: 2.0,
                deviation: 0.0,
            };
        }
        let mut runs = samples.breaks.clone();
        runs.sort_unstable();
        let mut rest: u64 = runs.iter().sum();
        // Longer than one edit explains (Poisson, three deviations) with as many edits in a row as
        // there are likely to be, by the other runs.
        let is_solid = |run: u64, rest: u64, among: usize| {
            let missing = (rest as f64 + 0.5) / ((rest + samples.shared) as f64 + 1.0);
            let in_a_row = (SOLID_CHANCE / (among as f64 + 1.0)).ln() / missing.min(0.99).ln();
            run as f64 > mean + 3.0 * mean.sqrt() + 1.0 + in_a_row
        };
        let mut solid = 0.0;
        while let Some(&run) = runs.last() {
            if !is_solid(run, rest - run, runs.len()) {
                break;
            }
            runs.pop();
            rest -= run;
            solid += 1.0;
        }
        let mut ends = 0.0;
        for end in [samples.before, samples.after] {
            // Without any scattered gap there is nothing that a short end could belong to.
            let alone = rest == 0 && end as f64 > mean;
            if alone || is_solid(end, rest, runs.len()) {
                ends += 1.0;
            } else {
                rest += end;
            }
        }
        let (scattered, deviation) = match samples.missing() {
            0 => (1.0, 0.0),
            missing => {
                let share = rest as f64 / missing as f64;
                (
                    share,
                    ((rest + 1) as f64 * (1.0 - share)).sqrt() / missing as f64,
                )
            }
        };
        Self {
            scattered,
            breaks: runs.len() as u64,
            solid,
            ends,
            deviation,
        }
    }

    /// As if all that is missing were solid, by the order of pieces of which nothing else is known.
    fn solid(pieces: &Pattern) -> Self {
        let end = |missing: u64| if missing > 0 { 1.0 } else { 0.0 };
        Self {
            scattered: 0.0,
            breaks: 0,
            solid: pieces.breaks.len() as f64,
            ends: end(pieces.before) + end(pieces.after),
            deviation: 0.0,
        }
    }

    /// As if nothing were solid.
    fn scattered(samples: &Pattern) -> Self {
        Self {
            scattered: 1.0,
            breaks: samples.breaks.len() as u64,
            solid: 0.0,
            ends: 0.0,
            deviation: 0.0,
        }
    }

    /// Chunk breaks that no solid gap explains.
    fn chunk_breaks(&self, chunks: &Pattern) -> u64 {
        (chunks.breaks.len() as u64).saturating_sub(self.solid as u64)
    }

    /// The most scattered gaps per chunk that the order of chunks leaves room for.
    fn most_broken(&self, chunks: &Pattern) -> f64 {
        (self.chunk_breaks(chunks) + 1) as f64 / (chunks.steps() + 1) as f64
    }
}

/// How many gaps begin at a shared window where edits come at random, each of `edit` windows, and
/// p of all windows are shared: with d edits to an untouched window p = e^(-d·free) / (1 + d·edit).
fn density_of_edits(free: f64, edit: f64, p: f64) -> f64 {
    let sought = -p.ln();
    let mut d = sought / (free + edit);
    // -ln p is concave in d, so that Newton's steps come from below and do not leave it. What a
    // step as small as this leaves goes by its square.
    for _ in 0..6 {
        let inner = 1.0 + d * edit;
        let step = (sought - free * d - inner.ln()) / (free + edit / inner);
        d += step;
        if step < 1e-4 * d {
            break;
        }
    }
    1.0 - (-d).exp()
}

/// s(x) of the module's text.
fn survival(x: f64, decay: f64, spread: f64) -> f64 {
    (-decay * x).exp() / (1.0 + spread * x)
}

/// A chance that is neither impossible nor certain.
fn inside(p: f64) -> f64 {
    p.clamp(1e-6, 1.0 - 1e-6)
}

/// Logarithm of the chance of `hits` in `trials` at a chance of `p` each, without the constant.
fn binomial(hits: u64, trials: u64, p: f64) -> f64 {
    let p = inside(p);
    hits as f64 * p.ln() + (trials - hits) as f64 * (1.0 - p).ln()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn split(text: &str, mean: f64) -> Split {
        Split::of(&Pattern::of(text.chars().map(|c| (1, c == '1'))), mean)
    }

    #[test]
    fn one_long_run_among_short_ones_is_solid() {
        let edits = "1101110111101110111".repeat(4);
        let s = split(&edits, 0.2);
        assert_eq!((s.solid, s.ends, s.breaks), (0.0, 0.0, 16));
        assert!((s.scattered - 1.0).abs() < 1e-9);
        let s = split(&format!("{edits}{}{edits}", "0".repeat(15)), 0.2);
        assert_eq!((s.solid, s.ends, s.breaks), (1.0, 0.0, 32));
        assert!((s.scattered - 32.0 / 47.0).abs() < 1e-9);
    }

    #[test]
    fn several_blocks_are_all_solid() {
        let s = split(
            "1111111111000000000011111111110000000000111111111100000000001111111111",
            0.2,
        );
        assert_eq!((s.solid, s.breaks, s.scattered), (3.0, 0, 0.0));
    }

    #[test]
    fn a_fragment_has_solid_ends() {
        let s = split("0000000000111111100000", 2.0);
        assert_eq!((s.solid, s.ends, s.scattered), (0.0, 2.0, 0.0));
        let s = split("0000", 2.0);
        assert_eq!((s.ends, s.scattered), (2.0, 0.0));
    }

    /// Without chunks, on patterns drawn from the model itself: the fit finds the gaps again.
    #[test]
    fn dense_samples_tell_edits_from_blocks() {
        let chunks = Layout::default();
        let fit = |text: &str| {
            let samples = Pattern::of(text.chars().map(|c| (1, c == '1')));
            let windows = 32.0 * text.len() as f64;
            Evidence {
                samples: &samples,
                chunks: &chunks,
                spacing: 32.0,
                windows,
                free: 63.0,
                unit: 1.0,
                small: 0.0,
                is_text: false,
            }
            .fit()
        };
        // Gaps of 64 windows have two samples each.
        let edits = fit(&"111111110011111111111100".repeat(6));
        let bytes = |fit: Fit| fit.missing - 63.0 * fit.gaps;
        assert!(bytes(edits) < 0.05 && edits.missing > 0.13, "{edits:?}");
        // As many missing in one block.
        let block = fit(&format!(
            "{}{}{}",
            "1".repeat(60),
            "0".repeat(24),
            "1".repeat(60)
        ));
        assert!((bytes(block) - 24.0 / 144.0).abs() < 0.02, "{block:?}");
    }
}
