//! Marks the windows of one file that occur in another file, or earlier in the same file.
//!
//! The result is verified on the bytes. It is exact unless a file was made to collide
//! ([`WindowSet`]). For files with any content, the time is linear in the sizes of both files:
//!
//! 1. A rolling hash over the file is looked up in the sparse index of the other file ([`Blocks`]).
//!    Where a block is found, the 32 bytes on either side decide about every window that contains
//!    the block. A run that continues is followed to its end and skipped. All windows of the run
//!    are marked, and none of these windows is hashed.
//! 2. A block with more than [`CROWD`] occurrences is compared only with its first [`CROWD`]
//!    occurrences. Examples are zeros, a table of equal records, a heading in every file. The
//!    windows that contain such a *crowded* block and are still unmarked stay *open*. If most
//!    blocks are common, more than [`FEW`] occurrences already make a block crowded.
//! 3. Open windows are looked up in a set of the other file's windows that contain a crowded block.
//!    This finds all windows that step 1 could not mark. Suppose that an open window occurs in the
//!    other file. If the window contains a block that was not crowded, it was marked in step 1.
//!    Otherwise the window is in that set.

use crate::similarity::runs::bits::Bits;
use crate::similarity::runs::blocks::{Blocks, WIDTH, holding};
use crate::similarity::runs::window::{Roll, WindowSet, windows};
use crate::similarity::runs::{LEAST_RUN, common_prefix, common_suffix};

/// The number of windows with crowded blocks that are in memory at a time; each takes 16 bytes.
const SEGMENT: usize = 8 << 20;

/// The maximum number of occurrences of a block that are compared one by one.
pub(super) const CROWD: usize = 16;

/// The limit that replaces [`CROWD`] if nearly every block is common.
const FEW: usize = 1;

/// The windows of the indexed file that count as occurrences.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Among {
    /// Any window of the indexed file.
    All,
    /// Only windows at earlier positions. In this case, the data are the indexed file itself.
    Earlier,
}

/// The limits of the work and of the memory, which do not change the result.
#[derive(Clone, Copy, Debug)]
pub(super) struct MarkLimits {
    /// A block with more occurrences than this is crowded.
    pub(super) crowd: usize,
    /// The approximate number of windows that step 3 has in a set at a time.
    pub(super) segment: usize,
}

/// Returns the windows of `data`, by their positions, that occur in the indexed file.
pub(super) fn marked(data: &[u8], blocks: &Blocks<'_>, among: Among) -> Bits {
    let limits = MarkLimits {
        crowd: CROWD,
        segment: SEGMENT,
    };
    marked_within(data, blocks, among, limits)
}

pub(super) fn marked_within(
    data: &[u8],
    blocks: &Blocks<'_>,
    among: Among,
    limits: MarkLimits,
) -> Bits {
    let count = windows(data, LEAST_RUN);
    let mut marks = Bits::new(count);
    if count == 0 || blocks.data().len() < LEAST_RUN {
        return marks;
    }
    if let Some(mut open) = by_blocks(data, blocks, among, limits.crowd, &mut marks) {
        open.windows.remove(&marks);
        if open.windows.next(0).is_some() {
            let crowded = blocks.crowded_windows(open.crowd);
            let segment = limits.segment;
            let by = (blocks.data(), &crowded);
            by_windows(data, &open.windows, by, among, segment, &mut marks);
        }
    }
    marks
}

/// The windows that the sparse index left open.
struct Open {
    /// The open windows. Some of them may have been marked because of another block in them.
    windows: Bits,
    /// Each open window contains a block with more occurrences than this.
    crowd: usize,
}

/// Does steps 1 and 2: marks windows, and returns the open windows.
fn by_blocks(
    data: &[u8],
    blocks: &Blocks<'_>,
    among: Among,
    crowd: usize,
    marks: &mut Bits,
) -> Option<Open> {
    let count = windows(data, LEAST_RUN);
    let source = blocks.data();
    let mut open = (!blocks.is_complete()).then(|| {
        let mut windows = Bits::new(count);
        windows.set_range(0..count);
        Open { windows, crowd }
    });
    let mut roll = Roll::new(data, WIDTH);
    // The work so far. Each place that was compared is one unit. If the bytes after the place are
    // equal, too, every 256 of them are one more unit.
    let mut work = 0;
    // All windows with a block that begins between `look` and `skip` are marked already.
    let (mut look, mut skip) = (usize::MAX, 0);
    let mut at = 0;
    loop {
        if at >= look {
            at = at.max(skip);
            (look, skip) = (usize::MAX, 0);
        }
        let end = look.min(windows(data, WIDTH));
        let Some(found) = roll.search(at, end, |hash| blocks.may_have(hash)) else {
            if end < look {
                return open;
            }
            at = look;
            continue;
        };
        at = found;
        if among == Among::Earlier && blocks.is_first(at) {
            at += 1;
            continue;
        }
        let crowd = if work <= at / 4 + 1024 {
            crowd
        } else {
            FEW.min(crowd)
        };
        let skipping = look != usize::MAX;
        // If a skip is planned, a run is followed for 32 bytes beyond this block. That is enough
        // for every window of 64 bytes that has the block. Later blocks decide about later windows.
        let most = if skipping {
            LEAST_RUN - WIDTH
        } else {
            usize::MAX
        };
        let block = &data[at..at + WIDTH];
        let before = &data[at - at.min(LEAST_RUN - WIDTH)..at];
        let after = &data[at + WIDTH..];
        let after = &after[..most.min(after.len())];
        let mut best = (0, 0);
        let mut places = blocks
            .places(roll.hash(), block)
            .take_while(|&place| among == Among::All || place < at);
        for place in places.by_ref().take(crowd) {
            let back = common_suffix(before, &source[..place]);
            let on = common_prefix(after, &source[place + WIDTH..]);
            work += 1 + on / 256;
            if back + WIDTH + on >= LEAST_RUN {
                marks.set_range(at - back..at + WIDTH + on - LEAST_RUN + 1);
                best = best.max((on, back));
            }
        }
        if places.next().is_some() {
            let open = open.get_or_insert_with(|| Open {
                windows: Bits::new(count),
                crowd,
            });
            open.windows.set_range(holding(at, count));
            open.crowd = open.crowd.min(crowd);
        }
        let (on, back) = best;
        if !skipping && on > LEAST_RUN - WIDTH {
            // The windows from `at - back` to `skip` are marked. An earlier window may still occur
            // elsewhere; another block in that window will show it.
            skip = at + WIDTH + on - LEAST_RUN + 1;
            look = (at - back + LEAST_RUN - WIDTH).clamp(at + 1, skip);
        }
        at += 1;
    }
}

/// Does step 3: marks the open windows that occur among the crowded windows of `source`, the
/// indexed file.
fn by_windows(
    data: &[u8],
    open: &Bits,
    (source, crowded): (&[u8], &Bits),
    among: Among,
    segment: usize,
    marks: &mut Bits,
) {
    let mut batch = Vec::with_capacity(BATCH);
    let mut roll = Roll::new(source, LEAST_RUN);
    let mut places = crowded.ranges().flatten().peekable();
    while places.peek().is_some() {
        let mut set = WindowSet::new(source);
        while set.len() < segment && next_batch(&mut roll, &mut places, &mut batch) {
            set.touch(batch.iter().map(|&(hash, _)| hash));
            for &(hash, at) in &batch {
                set.insert(hash, at);
            }
        }
        let mut roll = Roll::new(data, LEAST_RUN);
        let mut asked = open.ranges().flatten();
        while next_batch(&mut roll, &mut asked, &mut batch) {
            set.touch(batch.iter().map(|&(hash, _)| hash));
            for &(hash, at) in &batch {
                let place = set.find(hash, &data[at..at + LEAST_RUN]);
                if place.is_some_and(|place| among == Among::All || place < at) {
                    marks.set(at);
                }
            }
        }
    }
}

/// The number of windows that are hashed before they are looked up.
const BATCH: usize = 32;

/// Hashes the next windows; returns false at the end.
fn next_batch(
    roll: &mut Roll<'_>,
    places: &mut impl Iterator<Item = usize>,
    batch: &mut Vec<(u64, usize)>,
) -> bool {
    batch.clear();
    batch.extend(places.take(BATCH).map(|at| {
        roll.seek(at);
        (roll.hash(), at)
    }));
    !batch.is_empty()
}
