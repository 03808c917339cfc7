//! Converts the shared part of a file's windows to the shared part of its words or bytes.
//!
//! # Windows are not bytes
//!
//! A file has W windows of w pieces: five words, or 64 bytes. The other file has a part p of these
//! windows. Call a maximal run of missing windows between two shared ones a *gap*. A gap of g
//! windows leaves g - (w - 1) pieces uncovered. One replaced byte makes a gap of 64 windows and
//! costs one byte. A replaced block of 10,000 bytes makes a gap of 10,063 windows and costs 10,000
//! bytes. So N missing windows in G gaps leave this number of pieces uncovered:
//!
//! ```text
//! uncovered = N - (w-1)·G                                                              (1)
//! ```
//!
//! Samples estimate p without bias, but reveal little about G. The extremes of G are known:
//!
//! * *Blocks*: there are few gaps, and all are long. The covered share is p.
//! * *Edits*: single pieces are replaced at random and independently. Each piece stays with
//!   probability q, and each window with probability p = q^w. A run of pieces that stayed ends
//!   after each piece with probability 1 - q. So the share of pieces in runs of at least n pieces
//!   is
//!
//!   ```text
//!   n·q^n - (n-1)·q^(n+1),     for n = w:   w·p - (w-1)·p^(1+1/w)                      (2)
//!   ```
//! * *Seams*: nothing is replaced, but something is inserted between two pieces, or the two pieces
//!   were brought together from elsewhere. A window breaks only at the w - 1 places inside it. So p
//!   = q^(w-1), and the covered share is w·p - (w-1)·p^(1+1/(w-1)). Seams at equal distances leave
//!   everything covered as long as p is at least 1/w. Random seams leave 0.82 of the words covered
//!   at p = 1/2.
//!
//! # The answer
//!
//! Bytes in common chunks are shared, whatever the bytes around them are. Let c be the part of the
//! file in such chunks. Then p is at least c. Of the windows outside of these chunks, the part r =
//! (p-c) / (1-c) is shared. The *estimate* is between the share for blocks and the share for edits.
//! It depends on the order of the samples. If edits are scattered, the missing samples form as many
//! runs as chance would make. If there are blocks, there are few runs. The *lower end* assumes
//! blocks. For them, (1) counts only the gaps that were seen. The result never exceeds (2). The
//! *upper end* assumes seams in everything outside common chunks.

use crate::params::Params;
use crate::similarity::WINDOW;
use crate::similarity::pattern::Pattern;

/// The average number of bytes of a word of text, including its separator.
const WORD: f64 = 6.0;

/// The lengths of a window and of the shortest run that counts, in pieces.
#[derive(Clone, Copy, Debug)]
pub(super) struct Grain {
    /// Pieces of a window: w.
    window: f64,
    /// Pieces of the shortest run: n.
    run: f64,
}

impl Grain {
    /// The grain of words: windows are shingles, and words in runs of five are covered.
    pub(super) const WORDS: Self = Self {
        window: Params::SHINGLE as f64,
        run: Params::SHINGLE as f64,
    };
    /// The grain of a text in bytes: windows are shingles, and bytes in runs of 64 are covered.
    pub(super) const BYTES_OF_TEXT: Self = Self {
        window: Params::SHINGLE as f64,
        run: WINDOW / WORD,
    };
    /// The grain of other contents: windows are 64 bytes, and bytes in runs of 64 are covered.
    pub(super) const BYTES: Self = Self {
        window: WINDOW,
        run: WINDOW,
    };

    /// Returns the share of pieces that is covered if random edits leave `windows`, a share of the
    /// windows.
    fn after_edits(self, windows: f64) -> f64 {
        let stay = windows.powf(1.0 / self.window);
        stay.powf(self.run) * (self.run * (1.0 - stay) + stay)
    }

    /// Returns the largest share of pieces that can stay covered after cuts at seams. If at least
    /// half of the windows stay, this share is 1. If fewer windows stay, it is the share that
    /// random seams leave, times a constant. The constant makes it 1 when half of the windows stay.
    fn after_seams(self, windows: f64) -> f64 {
        let inner = self.window - 1.0;
        let by_chance = |p: f64| p * (self.window - inner * p.powf(1.0 / inner));
        (by_chance(windows.min(0.5)) / by_chance(0.5)).min(1.0)
    }

    /// Estimates the share of a file that is covered. `windows` is the share of its windows that
    /// the other file has, and `chunks` the share of its bytes in common chunks. `spacing` is the
    /// number of windows for one sample.
    pub(super) fn likely(self, windows: f64, chunks: f64, samples: &Pattern, spacing: f64) -> f64 {
        let missing = samples.missing() as f64;
        let following = (samples.shared + 1) as f64 / samples.total.max(1) as f64;
        // The number of runs that the missing samples would make if edits were scattered. An edit
        // changes all windows across it, and so all samples of these windows.
        let runs = missing * following * (spacing / self.window).min(1.0);
        // A small number of runs is weak evidence. If there are few runs, a file that is mostly
        // shared counts as edited. Any other file then counts as shared in blocks.
        let scattered = samples.runs as f64 + ENDS * windows * windows;
        let scattered = (scattered / (runs + ENDS)).min(1.0);
        beside(windows, chunks, |rest| {
            rest + scattered * (self.after_edits(rest) - rest)
        })
    }

    /// Returns the least share of pieces that can be covered. `windows` is the minimum share of the
    /// windows that is shared.
    pub(super) fn least(self, windows: f64, samples: &Pattern, spacing: f64) -> f64 {
        let all = (samples.total as f64 * spacing).max(1.0);
        let free = (self.window - 1.0) * samples.breaks as f64 / all;
        (windows + free).min(self.after_edits(windows))
    }

    /// Returns the greatest share of pieces that can be covered. `windows` is the maximum share of
    /// the windows that is shared.
    pub(super) fn most(self, windows: f64, chunks: f64) -> f64 {
        beside(windows, chunks, |rest| self.after_seams(rest))
    }
}

/// The number of runs of missing samples that any file may have: one at each of its ends.
const ENDS: f64 = 2.0;

/// Adds the share covered in common chunks and the share covered outside of them. `covered`
/// computes the second share from the share of common windows among the windows outside.
fn beside(windows: f64, chunks: f64, covered: impl Fn(f64) -> f64) -> f64 {
    let chunks = chunks.min(windows);
    if chunks >= 1.0 {
        return 1.0;
    }
    let rest = (windows - chunks) / (1.0 - chunks);
    chunks + (1.0 - chunks) * covered(rest)
}

/// Returns the share of a text's words in common runs of at least five, if words were edited at
/// random. `shingles` is the share of the text's shingles that is left. For two texts without a
/// common chunk, no estimate exceeds the result.
pub fn words_in_runs(shingles: f64) -> f64 {
    Grain::WORDS.after_edits(shingles.clamp(0.0, 1.0))
}

#[cfg(test)]
mod tests {
    use resemble_testutil::random::Random;

    use super::*;

    /// Replaces about one piece in `of` at random. Returns for each piece, and for each window of
    /// five pieces, whether it stays.
    fn edited(of: usize, random: &mut Random) -> (Vec<bool>, Vec<bool>) {
        let words: Vec<bool> = (0..200_000).map(|_| random.below(of) > 0).collect();
        let shared = words.windows(5).map(|of| of.iter().all(|&w| w)).collect();
        (words, shared)
    }

    fn share(of: impl ExactSizeIterator<Item = bool>) -> f64 {
        let all = of.len() as f64;
        of.filter(|&is| is).count() as f64 / all
    }

    /// Marks each piece that is in a run of at least `least` unchanged pieces.
    fn in_runs(words: &[bool], least: usize) -> Vec<bool> {
        let runs = words.chunk_by(|a, b| a == b);
        runs.flat_map(|run| vec![run[0] && run.len() >= least; run.len()])
            .collect()
    }

    #[test]
    fn edits_leave_as_much_as_is_said() {
        let mut random = Random::new(7);
        for of in [2, 5, 20] {
            let (words, shared) = edited(of, &mut random);
            let left = share(shared.into_iter());
            let covered = share(in_runs(&words, 5).into_iter());
            assert!((words_in_runs(left) - covered).abs() < 0.01, "one in {of}");
            let bytes = Grain {
                run: 11.0,
                ..Grain::WORDS
            };
            let covered = share(in_runs(&words, 11).into_iter());
            assert!(
                (bytes.after_edits(left) - covered).abs() < 0.01,
                "one in {of}"
            );
        }
        assert_eq!((words_in_runs(0.0), words_in_runs(1.0)), (0.0, 1.0));
    }

    /// The text is cut between two pieces at random, as by an insertion. Inside a window there are
    /// four such places.
    #[test]
    fn seams_leave_no_more_than_is_said() {
        let mut random = Random::new(8);
        for of in [3, 5, 20] {
            let cuts: Vec<bool> = (0..200_000).map(|_| random.below(of) == 0).collect();
            let mut lens = vec![1];
            for cut in cuts {
                match lens.last_mut() {
                    Some(last) if !cut => *last += 1,
                    _ => lens.push(1),
                }
            }
            let all: usize = lens.iter().sum();
            let long = lens.iter().filter(|&&len| len >= 5);
            let covered = long.clone().sum::<usize>() as f64 / all as f64;
            let left = long.map(|len| len - 4).sum::<usize>() as f64 / all as f64;
            let most = Grain::WORDS.after_seams(left);
            assert!(
                most >= covered - 0.01 && most < covered * 1.35,
                "one in {of}: {most}"
            );
        }
        // Cuts at equal distances may leave everything covered.
        assert!(Grain::WORDS.after_seams(0.5) >= 1.0);
    }

    #[test]
    fn one_long_run_of_missing_samples_is_a_block() {
        let of = |text: &str| {
            let samples = Pattern::of(text.chars().map(|c| c == '1'));
            let windows = samples.shared as f64 / samples.total as f64;
            let grain = Grain::BYTES;
            (windows, grain.likely(windows, 0.0, &samples, 32.0), samples)
        };
        // In each gap of 64 windows, two samples are missing.
        let (windows, edits, samples) = of(&"111111110011111111111100".repeat(6));
        assert!(edits > 0.96 && windows < 0.86, "{edits}");
        // The lower end counts each of these gaps.
        let least = Grain::BYTES.least(windows, &samples, 32.0);
        let uncovered = 1.0 - windows - 63.0 * 11.0 / (32.0 * 144.0);
        assert!((least - (1.0 - uncovered)).abs() < 0.01, "{least}");
        let block = ["1".repeat(60), "0".repeat(24), "1".repeat(60)].concat();
        let (windows, block, _) = of(&block);
        assert!(block - windows < 0.05, "{block} of {windows}");
    }

    #[test]
    fn what_lies_in_common_chunks_is_shared_however_the_rest_is() {
        let samples = Pattern::of([true, false, true, false]);
        for grain in [Grain::WORDS, Grain::BYTES_OF_TEXT, Grain::BYTES] {
            let likely = grain.likely(0.5, 0.4, &samples, 8.0);
            assert!(likely >= 0.4 && likely <= grain.most(0.5, 0.4));
            assert!(grain.most(0.5, 0.4) < grain.most(0.5, 0.0));
            assert!(grain.most(1.0, 0.3) >= 1.0);
        }
    }
}
