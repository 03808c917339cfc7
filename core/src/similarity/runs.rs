//! Exact answers, from the bytes of both files.
//!
//! [`cover`] and [`exact`] are the definitions of `docs/design.md` computed to the last byte;
//! [`common_runs`] says *where* two files agree. All three take time linear in both sizes, whatever
//! the bytes, and memory in proportion to the files up to a bound.
//!
//! # How bytes and windows are counted
//!
//! Everything [`cover`] and [`exact`] say of bytes follows from one question, asked of each 64-byte
//! window of a file: does it occur in the other one, or earlier in the same? The covered bytes are those
//! in windows that occur in the other file; a file's set of windows is as large as the number of those
//! that do not occur earlier; the sets have in common those that occur in the other file and not
//! earlier. `mark` answers it for all windows of a file at once, by a sparse index and comparisons of bytes;
//! no answer rests on a hash.
//!
//! # How runs are found
//!
//! 1. **An index of windows of the smaller file.** Every 64-byte window of it goes into a hash
//!    table under a rolling hash; each hit is verified on the bytes, so the hash decides speed only.
//!    The windows of the larger file stream by and are never stored.
//! 2. **Greedy in a.** From the first byte of a that is not yet reported, the first window that
//!    b has too starts a run. Of the places in b where it occurs (the first few are remembered) the
//!    one that agrees furthest is taken, so each run is maximal at its place. A following run may begin
//!    inside the last 63 bytes of the one before; it is then reported without the bytes that
//!    already were. So every byte of a is reported at most once, and together the runs cover
//!    exactly what [`cover`] counts.
//! 3. **Repetition costs nothing extra.** A window that occurs a million times remembers
//!    [`PLACES`] places, and comparing them costs no more than a constant times the bytes that the best
//!    one reports.
//! 4. **Beyond [`DENSE`] bytes the index thins out**: only every 33rd window of 32 bytes is
//!    indexed. Any run of 64 bytes holds one of these whole, so distinctive runs are all still found;
//!    in stretches of b that repeat more often than [`PLACES`] times a run may be reported in part.

use std::ops::Range;

use crate::digest::ContentKind;
use crate::ids::{ByteLen, Score};
use crate::params::Params;
use crate::similarity::{Measures, too_small};

mod bits;
mod blocks;
mod cover;
mod mark;
mod sets;
mod window;

use blocks::Blocks;
use mark::{Among, marked};
use window::{Roll, WindowTable, windows};

pub use cover::cover;

/// The least length of a run that counts: one window.
pub const LEAST_RUN: usize = Params::WINDOW;

/// How many places in b are compared for a window that occurs often.
pub const PLACES: usize = 8;

/// Up to this size of the smaller file every window is indexed, and the runs are exact.
pub const DENSE: usize = 4 << 20;

/// Width and distance of the windows indexed beyond [`DENSE`]: a run of 64 bytes holds
/// every phase of one.
const SPARSE_WIDTH: usize = blocks::WIDTH;
const SPARSE_STEP: usize = blocks::STEP;

/// A stretch of equal bytes: `a[run.a] == b[run.b]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CommonRun {
    /// Where in the first file, in bytes.
    pub a: Range<u64>,
    /// Where in the second file; as long as `a`.
    pub b: Range<u64>,
}

/// The runs of at least 64 bytes of `a` that `b` has too, in the order of `a`, each byte of `a` at
/// most once. `b` is where one occurrence lies; bytes of `b` may be named repeatedly.
///
/// A run that overlaps the one before it is reported without the overlap, and may then be shorter
/// than 64 bytes. See the module's text for files over [`DENSE`].
pub fn common_runs(a: &[u8], b: &[u8]) -> Vec<CommonRun> {
    let dense = a.len().min(b.len()) <= DENSE;
    let (width, step) = if dense {
        (LEAST_RUN, 1)
    } else {
        (SPARSE_WIDTH, SPARSE_STEP)
    };
    runs_with(a, b, width, step)
}

fn runs_with(a: &[u8], b: &[u8], width: usize, step: usize) -> Vec<CommonRun> {
    if a.len().min(b.len()) < LEAST_RUN {
        return Vec::new();
    }
    let (table, places) = index(a, b, width, step);
    let mut runs: Vec<CommonRun> = Vec::new();
    let mut roll = Roll::new(a, width);
    let mut reported = 0usize; // bytes of a before this are done with
    let mut at = 0;
    while at + width <= a.len() {
        roll.seek(at);
        let slot = table.find(roll.hash(), &a[at..at + width]);
        let floor = reported.saturating_sub(LEAST_RUN - 1);
        let best = slot.and_then(|slot| {
            places
                .of(slot)
                .map(|place| extend(a, b, at, place, width, floor))
                // The first of the longest: a rule that does not depend on the table.
                .reduce(|best, run| if run.len > best.len { run } else { best })
        });
        match best {
            Some(run) if run.len >= LEAST_RUN && run.a + run.len > reported => {
                let (end, skip) = (run.a + run.len, reported.saturating_sub(run.a));
                runs.push(CommonRun {
                    a: (run.a + skip) as u64..end as u64,
                    b: (run.b + skip) as u64..(run.b + run.len) as u64,
                });
                reported = end;
                // Windows that end within what is reported say nothing new.
                at = (at + 1).max(end + 1 - width);
            }
            _ => at += 1,
        }
    }
    join(runs)
}

/// Runs that continue each other in both files are one: a run found again from its trimmed rest.
fn join(runs: Vec<CommonRun>) -> Vec<CommonRun> {
    let mut joined: Vec<CommonRun> = Vec::with_capacity(runs.len());
    for run in runs {
        match joined.last_mut() {
            Some(last) if last.a.end == run.a.start && last.b.end == run.b.start => {
                last.a.end = run.a.end;
                last.b.end = run.b.end;
            }
            _ => joined.push(run),
        }
    }
    joined
}

/// A run while it is being judged: `a[a..a + len] == b[b..b + len]`.
#[derive(Clone, Copy)]
struct Found {
    a: usize,
    b: usize,
    len: usize,
}

/// The maximal run around equal windows at `at` and `place`, not reaching below `floor` in a.
fn extend(a: &[u8], b: &[u8], at: usize, place: usize, width: usize, floor: usize) -> Found {
    let back = common_suffix(&a[floor..at], &b[..place]);
    let on = common_prefix(&a[at + width..], &b[place + width..]);
    Found {
        a: at - back,
        b: place - back,
        len: back + width + on,
    }
}

/// How many bytes two strings have in common at their beginnings.
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

/// How many bytes two strings have in common at their ends.
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

/// Indexes the smaller file; the places are always those in b.
fn index<'s>(a: &'s [u8], b: &'s [u8], width: usize, step: usize) -> (WindowTable<'s>, Places) {
    let b_is_smaller = b.len() <= a.len();
    let smaller = if b_is_smaller { b } else { a };
    let mut table = WindowTable::new(smaller, width, step);
    let mut places = Places::new(table.slots());
    let mut roll = Roll::new(smaller, width);
    for at in (0..windows(smaller, width)).step_by(step) {
        roll.seek(at);
        if let Some(slot) = table.insert(roll.hash(), at)
            && b_is_smaller
        {
            places.push(slot, at);
        }
    }
    if !b_is_smaller {
        let mut roll = Roll::new(b, width);
        for at in 0..windows(b, width) {
            roll.seek(at);
            if let Some(slot) = table.find(roll.hash(), &b[at..at + width]) {
                places.push(slot, at);
            }
        }
    }
    (table, places)
}

/// The first [`PLACES`] positions in b of each indexed window, in rising order.
struct Places {
    /// By slot of the table: index of the first node plus 1, or 0.
    first: Vec<u32>,
    /// Position and index of the next node plus 1.
    nodes: Vec<(u64, u32)>,
}

impl Places {
    fn new(slots: usize) -> Self {
        Self {
            first: vec![0; slots],
            nodes: Vec::new(),
        }
    }

    fn push(&mut self, slot: usize, place: usize) {
        let new = self.nodes.len() as u32 + 1;
        let mut node = self.first[slot];
        if node == 0 {
            self.first[slot] = new;
        } else {
            for length in 1.. {
                if length == PLACES {
                    return;
                }
                let next = self.nodes[node as usize - 1].1;
                if next == 0 {
                    break;
                }
                node = next;
            }
            self.nodes[node as usize - 1].1 = new;
        }
        self.nodes.push((place as u64, 0));
    }

    fn of(&self, slot: usize) -> impl Iterator<Item = usize> + '_ {
        let mut node = self.first[slot];
        std::iter::from_fn(move || {
            let (place, next) = *self.nodes.get((node as usize).checked_sub(1)?)?;
            node = next;
            Some(place as usize)
        })
    }
}

/// The measures of `docs/design.md`, computed and not estimated: containments by [`cover`]; the
/// resemblance of two texts on their sets of word-5-shingles (Broder 1997), of anything else on
/// their sets of 64-byte windows. `shared_bytes` is the number of bytes in runs of at least 64 that
/// the other file has too, of the file with fewer of them.
///
/// Like estimates, the shares are `None` if a file is too small to judge.
pub fn exact(a: &[u8], b: &[u8], kinds: (ContentKind, ContentKind)) -> Measures {
    let of_b = Blocks::new(b);
    let of_a = Blocks::new(a);
    let shared = marked(a, &of_b, Among::All);
    let in_a = cover::bytes_of(&shared);
    let in_b = cover::bytes_of(&marked(b, &of_a, Among::All));
    let shared_bytes = ByteLen(in_a.min(in_b) as u64);
    if too_small(ByteLen(a.len() as u64)) || too_small(ByteLen(b.len() as u64)) {
        return Measures {
            a_in_b: None,
            b_in_a: None,
            resemblance: None,
            shared_bytes,
        };
    }
    let resemblance = if kinds == (ContentKind::Text, ContentKind::Text) {
        sets::resemblance_of_words(a, b)
    } else {
        sets::resemblance_of_windows(&of_a, &of_b, shared)
    };
    Measures {
        a_in_b: Some(cover::share(in_a, a)),
        b_in_a: Some(cover::share(in_b, b)),
        resemblance: Some(Score::new(resemblance)),
        shared_bytes,
    }
}

#[cfg(test)]
mod tests;
