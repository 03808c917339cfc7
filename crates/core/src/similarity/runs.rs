//! Exact measures from the bytes of both files.
//!
//! [`cover`] and [`exact`] compute the measures in bytes exactly as `docs/design.md` defines them.
//! [`common_runs`] returns *where* two files agree. The time of all three functions is linear in
//! both sizes, for any bytes. Their memory is at most proportional to both sizes.
//!
//! # How bytes and windows are counted
//!
//! All figures of [`cover`] and [`exact`] follow from two questions about each 64-byte window of a
//! file. Does it occur in the other file? Does it occur earlier in its own file? The covered bytes
//! are the bytes in windows that occur in the other file. The size of a file's set is the number of
//! windows that do not occur earlier. A window is in the common part of both sets if it occurs in
//! the other file and does not occur earlier in its own file. `mark` answers these questions for
//! all windows of a file at once, by a sparse index and comparisons of bytes. Equality is decided
//! on the bytes, never by a hash.
//!
//! # How runs are found
//!
//! 1. **The windows of a that are in b** are found as above, and their places are found by the same
//!    sparse index. One of the 33 blocks in a window is in the index, and the places of this block
//!    are verified on the bytes. Windows with crowded blocks have a table of their own, which is
//!    made on demand.
//! 2. **Greedy in a.** From the first unreported byte of a, the first window that b has starts a
//!    run. A few places of this window in b are remembered. The place with the longest agreement is
//!    taken. The run cannot be extended at this place. The next run may begin inside the last 63
//!    bytes of the run before. Bytes that were reported already are then left out. So every byte of
//!    a is reported at most once, and the runs cover exactly the bytes that [`cover`] counts.
//! 3. **Repetition costs nothing extra.** If a window occurs a million times, only [`PLACES`]
//!    places are remembered. Comparing them costs at most a constant times the bytes that the best
//!    place reports.
//! 4. **Beyond [`DENSE`] bytes only the sparse index is used**: it has every 33rd window of 32
//!    bytes. Any run of 64 bytes contains such a window, so all distinctive runs are still found.
//!    If a part of b repeats more than [`PLACES`] times, a run in this part may be reported
//!    incompletely.

use std::cmp::Ordering;
use std::ops::Range;

use crate::ids::{ByteLen, Score};
use crate::params::Params;
use crate::similarity::{Measures, Relation, too_small};

mod bits;
mod blocks;
mod cover;
mod filter;
mod mark;
mod places;
mod sets;
mod window;

use blocks::Blocks;
use mark::{Among, marked};
use places::{AllWindows, BlocksOfA, BlocksOfB, Starts};

pub use cover::cover;

/// The minimum length of a run that counts: one window.
pub const LEAST_RUN: usize = Params::WINDOW;

/// The number of places in b that are compared for a frequent window.
pub const PLACES: usize = 8;

/// The size of the smaller file up to which every window is examined and the runs are exact.
pub const DENSE: usize = 4 << 20;

/// A run of equal bytes: `a[run.a] == b[run.b]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommonRun {
    /// The range in the first file, in bytes.
    pub a: Range<u64>,
    /// The range in the second file, with the same length.
    pub b: Range<u64>,
}

/// Returns the runs of at least 64 bytes of `a` that `b` has, too, in the order of `a`. Each byte
/// of `a` is in one run at most. [`CommonRun::b`] is one of the places where `b` has the run. Two
/// runs may be at the same place of `b`.
///
/// A run that overlaps the run before is reported without the overlap, and may then be shorter than
/// 64 bytes. The head of this module describes what is different in files over [`DENSE`].
pub fn common_runs(a: &[u8], b: &[u8]) -> Vec<CommonRun> {
    common_runs_within(a, b, DENSE)
}

/// Like [`common_runs`], with another limit than [`DENSE`].
fn common_runs_within(a: &[u8], b: &[u8], dense: usize) -> Vec<CommonRun> {
    let least = a.len().min(b.len());
    if least < LEAST_RUN {
        Vec::new()
    } else if least <= dense {
        greedy(a, b, AllWindows::new(a, b))
    } else if b.len() <= a.len() {
        greedy(a, b, BlocksOfB::new(a, b))
    } else {
        greedy(a, b, BlocksOfA::new(a, b))
    }
}

fn greedy<S: Starts>(a: &[u8], b: &[u8], mut starts: S) -> Vec<CommonRun> {
    let mut runs: Vec<CommonRun> = Vec::new();
    let mut places = Vec::new();
    let mut reported = 0usize; // bytes of a before this were reported
    let mut at = 0;
    while let Some(next) = starts.next(at) {
        at = next;
        places.clear();
        starts.places(at, &mut places);
        let floor = reported.saturating_sub(LEAST_RUN - 1);
        let best = places
            .iter()
            .map(|&place| extend(a, b, at, place, S::WIDTH, floor))
            // Take the first of the longest runs: this choice does not depend on the table.
            .reduce(|best, run| if run.len > best.len { run } else { best });
        match best {
            Some(run) if run.len >= LEAST_RUN && run.a + run.len > reported => {
                let (end, skip) = (run.a + run.len, reported.saturating_sub(run.a));
                runs.push(CommonRun {
                    a: (run.a + skip) as u64..end as u64,
                    b: (run.b + skip) as u64..(run.b + run.len) as u64,
                });
                reported = end;
                // A window that ends within the reported bytes adds nothing, so all such windows
                // are skipped.
                at = (at + 1).max(end + 1 - S::WIDTH);
            }
            _ => at += 1,
        }
    }
    runs
}

/// A run that is being compared: `a[a..a + len] == b[b..b + len]`.
#[derive(Clone, Copy)]
struct Found {
    a: usize,
    b: usize,
    len: usize,
}

/// Returns the longest run around two equal windows, at `at` in a and at `place` in b. The run
/// begins at or after `floor` in a.
fn extend(a: &[u8], b: &[u8], at: usize, place: usize, width: usize, floor: usize) -> Found {
    let back = common_suffix(&a[floor..at], &b[..place]);
    let on = common_prefix(&a[at + width..], &b[place + width..]);
    Found {
        a: at - back,
        b: place - back,
        len: back + width + on,
    }
}

/// Returns the length of the common prefix of two strings.
fn common_prefix(a: &[u8], b: &[u8]) -> usize {
    let most = a.len().min(b.len());
    let ((a, last_a), (b, last_b)) = (a[..most].as_chunks(), b[..most].as_chunks());
    for (at, (x, y)) in a.iter().zip(b).enumerate() {
        let differing = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differing != 0 {
            return 8 * at + differing.trailing_zeros() as usize / 8;
        }
    }
    let last = last_a.iter().zip(last_b);
    8 * a.len() + last.take_while(|(x, y)| x == y).count()
}

/// Returns the length of the common suffix of two strings.
fn common_suffix(a: &[u8], b: &[u8]) -> usize {
    let most = a.len().min(b.len());
    let (a, b) = (&a[a.len() - most..], &b[b.len() - most..]);
    let ((first_a, a), (first_b, b)) = (a.as_rchunks(), b.as_rchunks());
    for (at, (x, y)) in a.iter().rev().zip(b.iter().rev()).enumerate() {
        let differing = u64::from_le_bytes(*x) ^ u64::from_le_bytes(*y);
        if differing != 0 {
            return 8 * at + differing.leading_zeros() as usize / 8;
        }
    }
    let first = first_a.iter().rev().zip(first_b.iter().rev());
    8 * a.len() + first.take_while(|(x, y)| x == y).count()
}

/// Computes the exact measures in bytes: containments by [`cover`], and the resemblance of the sets
/// of 64-byte windows. `shared_bytes` counts the bytes of the smaller file in runs of at least 64
/// bytes that the other file has, too.
///
/// As in estimates, the shares are `None` if a file is too small to judge.
pub fn exact(a: &[u8], b: &[u8]) -> Measures {
    common_bytes(a, b).measures(a, b)
}

/// If there are at least this many covered bytes for each distinct common window, a piece is
/// repeated. Runs of 68 bytes or more that are not repeated have fewer covered bytes for each
/// window.
const FOR_A_WINDOW: usize = 16;

/// The common part of two byte strings. It is counted even if it is very small.
#[derive(Clone, Copy, Debug)]
pub(super) struct CommonBytes {
    /// The number of bytes of a and of b in runs of at least 64 bytes that the other string has,
    /// too.
    pub(super) covered: (usize, usize),
    /// The number of distinct 64-byte windows in common.
    shared: usize,
    /// The number of common windows over the number of distinct windows in a or b.
    pub(super) resemblance: f64,
}

impl CommonBytes {
    /// Returns the measures of `a` and `b`, the two byte strings that were compared.
    pub(super) fn measures(&self, a: &[u8], b: &[u8]) -> Measures {
        let (in_a, in_b) = self.covered;
        let in_smaller = match a.len().cmp(&b.len()) {
            Ordering::Less => in_a,
            Ordering::Equal => in_a.min(in_b),
            Ordering::Greater => in_b,
        };
        let is_judged = [a, b]
            .iter()
            .all(|bytes| !too_small(ByteLen(bytes.len() as u64)));
        let judged = |share: Score| is_judged.then_some(share);
        Measures {
            a_in_b: judged(cover::share(in_a, a)),
            b_in_a: judged(cover::share(in_b, b)),
            resemblance: judged(Score::new(self.resemblance)),
            shared_bytes: ByteLen(in_smaller as u64),
        }
    }

    /// Returns whether the common part is only a short piece that is repeated. Repeated bytes count
    /// once, and each distinct window counts as one byte.
    pub(super) fn is_pattern(&self) -> bool {
        self.covered.0.max(self.covered.1) >= FOR_A_WINDOW * self.shared
            && (1..Relation::MIN_SHARED.0).contains(&(self.shared as u64))
    }
}

pub(super) fn common_bytes(a: &[u8], b: &[u8]) -> CommonBytes {
    let of_b = Blocks::new(b);
    let of_a = Blocks::new(a);
    let shared = marked(a, &of_b, Among::All);
    let in_a = cover::bytes_of(&shared);
    let in_b = cover::bytes_of(&marked(b, &of_a, Among::All));
    let (shared, resemblance) = sets::resemblance(&of_a, &of_b, shared);
    CommonBytes {
        covered: (in_a, in_b),
        shared,
        resemblance,
    }
}

#[cfg(test)]
mod tests;
