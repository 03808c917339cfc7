//! Determines which shared runs are in the same order in both files, and which were moved.
//!
//! [`common_runs`](resemble_core::similarity::runs::common_runs) finds *where* the bytes of file a
//! occur in file b, and ignores the order. The order matters to readers, because a moved block is a
//! change.
//!
//! 1. **The backbone** is the heaviest chain of runs that are in ascending order in both files (the
//!    longest increasing subsequence, weighted by bytes). A reader who goes through both texts in
//!    parallel finds these runs side by side. Neighbours may overlap in b by a few bytes, because
//!    an insertion rarely begins and ends on unique bytes. The overlap counts once and is cut off
//!    when the runs are laid out.
//! 2. **Runs off the backbone are searched on it.** A run was matched with the place where most
//!    bytes agree. If a line occurs thirty times, this may be any of the thirty places. So the gap
//!    between two neighbours of the backbone in a is compared with the gap between them in b. What
//!    these gaps share is in order. The gaps are disjoint, so the second pass costs no more than
//!    the first.
//! 3. **The rest is moved**, or **again** if b has it only inside a run that is already used. Then
//!    a has twice what b has once. If b has twice what a has once, the runs of a do not show it,
//!    because each byte of a is matched once. The runs of b in a show it.

use std::ops::Range;

use resemble_core::similarity::runs::{CommonRun, LEAST_RUN, common_runs};

/// The placing of a shared range in the two files.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Placing {
    /// The range is on the backbone, whose ranges are in the same order in both files.
    InOrder,
    /// The range is at different places in the orders of the two files.
    Moved,
    /// One file has more copies of the range than the other file. This range is a surplus copy.
    Again,
}

impl Placing {
    /// Returns `in-order`, `moved` or `again`.
    pub const fn word(self) -> &'static str {
        match self {
            Self::InOrder => "in-order",
            Self::Moved => "moved",
            Self::Again => "again",
        }
    }
}

/// The maximum number of passes over the gaps (step 2 above). Each pass finds runs that the
/// previous pass had matched out of order.
const LOOKS: usize = 3;

/// The number of preceding runs among which overlaps are searched.
const NEIGHBOURS: usize = 8;

/// Returns the runs of a with their placing, in the order of a.
pub(super) fn place(
    mut runs: Vec<CommonRun>,
    bytes: Option<(&[u8], &[u8])>,
) -> Vec<(CommonRun, Placing)> {
    let mut in_order = backbone(&runs);
    if let Some((a, b)) = bytes {
        for _ in 0..LOOKS {
            if !look_between(&mut runs, &mut in_order, a, b) {
                break;
            }
        }
    }
    let chain: Vec<Range<u64>> = runs
        .iter()
        .zip(&in_order)
        .filter(|&(_, &is)| is)
        .map(|(run, _)| run.b.clone())
        .collect();
    let is_taken = |b: &Range<u64>| {
        let next = chain.partition_point(|taken| taken.start <= b.start);
        next.checked_sub(1).is_some_and(|at| chain[at].end >= b.end)
    };
    runs.into_iter()
        .zip(in_order)
        .map(|(run, in_order)| {
            let placing = match in_order {
                true => Placing::InOrder,
                false if is_taken(&run.b) => Placing::Again,
                false => Placing::Moved,
            };
            (run, placing)
        })
        .collect()
}

/// Returns for each run whether it is on the backbone: the heaviest chain of runs in ascending
/// order in both files.
fn backbone(runs: &[CommonRun]) -> Vec<bool> {
    let mut ends: Vec<u64> = runs.iter().map(|run| run.b.end).collect();
    ends.sort_unstable();
    ends.dedup();
    let mut best = PrefixBest::new(ends.len());
    // For each run, the weight of the best chain that ends with it, and the run before it in this
    // chain.
    let mut chains: Vec<(u64, Option<usize>)> = Vec::with_capacity(runs.len());
    for (at, run) in runs.iter().enumerate() {
        let len = run.b.end - run.b.start;
        let (weight, before) = best
            .up_to(ends.partition_point(|&end| end <= run.b.start))
            .map_or((0, None), |(weight, before)| (weight, Some(before)));
        let mut chain = (weight + len, before);
        for before in (at.saturating_sub(NEIGHBOURS)..at).rev() {
            let other = &runs[before].b;
            if other.start < run.b.start && run.b.start < other.end && other.end < run.b.end {
                let weight = chains[before].0 + (run.b.end - other.end);
                if weight > chain.0 {
                    chain = (weight, Some(before));
                }
            }
        }
        best.put(ends.partition_point(|&end| end < run.b.end), (chain.0, at));
        chains.push(chain);
    }
    let mut on = vec![false; runs.len()];
    // Of several equally heavy chains, the first is used.
    let mut last = (0..runs.len()).reduce(|best, at| {
        if chains[at].0 > chains[best].0 {
            at
        } else {
            best
        }
    });
    while let Some(at) = last {
        on[at] = true;
        last = chains[at].1;
    }
    on
}

/// Finds the heaviest value at places below a bound: a Fenwick tree of maxima.
struct PrefixBest(Vec<Option<(u64, usize)>>);

impl PrefixBest {
    fn new(places: usize) -> Self {
        Self(vec![None; places + 1])
    }

    fn put(&mut self, place: usize, value: (u64, usize)) {
        let mut at = place + 1;
        while at < self.0.len() {
            if self.0[at].is_none_or(|best| value.0 > best.0) {
                self.0[at] = Some(value);
            }
            at += at & at.wrapping_neg();
        }
    }

    /// Returns the heaviest value at a place below `places`. Of several equal values, returns the
    /// first that was stored.
    fn up_to(&self, places: usize) -> Option<(u64, usize)> {
        let mut best: Option<(u64, usize)> = None;
        let mut at = places;
        while at > 0 {
            if let Some(value) = self.0[at]
                && best.is_none_or(|best| (value.0, best.1) > (best.0, value.1))
            {
                best = Some(value);
            }
            at -= at & at.wrapping_neg();
        }
        best
    }
}

/// Compares each gap between neighbours of the backbone in one file with the same gap in the other
/// file. Returns whether new runs were found.
fn look_between(runs: &mut Vec<CommonRun>, in_order: &mut Vec<bool>, a: &[u8], b: &[u8]) -> bool {
    let old = std::mem::take(runs);
    let was_in_order = std::mem::take(in_order);
    let mut from = (0, 0);
    let mut at = 0;
    let mut found = false;
    while at < old.len() {
        if was_in_order[at] {
            from = (old[at].a.end, old[at].b.end);
            runs.push(old[at].clone());
            in_order.push(true);
            at += 1;
            continue;
        }
        let next = (at..old.len()).find(|&next| was_in_order[next]);
        let to = next.map_or((a.len() as u64, b.len() as u64), |next| {
            (old[next].a.start, old[next].b.start)
        });
        let group = &old[at..next.unwrap_or(old.len())];
        at += group.len();
        let placed = in_gap(a, b, &(from.0..to.0), &(from.1..to.1));
        found |= !placed.is_empty();
        let taken: Vec<Range<u64>> = placed.iter().map(|run| run.a.clone()).collect();
        let mut all: Vec<(CommonRun, bool)> = placed.into_iter().map(|run| (run, true)).collect();
        for run in group {
            all.extend(without(&run.a, &taken).into_iter().map(|part| {
                let start = run.b.start + (part.start - run.a.start);
                let b = start..start + (part.end - part.start);
                (CommonRun { a: part, b }, false)
            }));
        }
        all.sort_by_key(|(run, _)| run.a.start);
        for (run, is_placed) in all {
            runs.push(run);
            in_order.push(is_placed);
        }
    }
    found
}

/// Returns the runs that two gaps share in order.
fn in_gap(a: &[u8], b: &[u8], of_a: &Range<u64>, of_b: &Range<u64>) -> Vec<CommonRun> {
    let is_long = |range: &Range<u64>| range.start + LEAST_RUN as u64 <= range.end;
    if !is_long(of_a) || !is_long(of_b) {
        return Vec::new();
    }
    let found = common_runs(
        &a[of_a.start as usize..of_a.end as usize],
        &b[of_b.start as usize..of_b.end as usize],
    );
    let on = backbone(&found);
    let moved = |range: &Range<u64>, by: u64| range.start + by..range.end + by;
    found
        .into_iter()
        .zip(on)
        .filter(|&(_, on)| on)
        .map(|(run, _)| CommonRun {
            a: moved(&run.a, of_a.start),
            b: moved(&run.b, of_b.start),
        })
        .collect()
}

/// Returns the content that b repeats more often than a: the parts of `of_b` that no range covers
/// yet. `of_b` are the runs of b in a, so their field `a` is a range of b. In the results, the
/// field `a` is a range of a, as usual. The results are in the order of b.
pub(super) fn repeats(ranges: &[(CommonRun, Placing)], of_b: &[CommonRun]) -> Vec<CommonRun> {
    let named = union(ranges.iter().map(|(run, _)| run.b.clone()).collect());
    let mut rest = Vec::new();
    for run in of_b {
        for part in without(&run.a, &named) {
            let (skip, len) = (part.start - run.a.start, part.end - part.start);
            rest.push(CommonRun {
                a: run.b.start + skip..run.b.start + skip + len,
                b: part,
            });
        }
    }
    rest
}

/// Joins ranges that overlap or touch, and returns them in ascending order.
pub(super) fn union(mut ranges: Vec<Range<u64>>) -> Vec<Range<u64>> {
    ranges.sort_unstable_by_key(|range| (range.start, range.end));
    let mut joined: Vec<Range<u64>> = Vec::with_capacity(ranges.len());
    for range in ranges.into_iter().filter(|range| !range.is_empty()) {
        match joined.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

/// Returns the parts of a range that lie outside of `taken`, whose ranges are disjoint and
/// ascending.
pub(super) fn without(range: &Range<u64>, taken: &[Range<u64>]) -> Vec<Range<u64>> {
    let mut parts = Vec::new();
    let mut from = range.start;
    let first = taken.partition_point(|other| other.end <= range.start);
    for other in taken[first..].iter().take_while(|o| o.start < range.end) {
        if other.start > from {
            parts.push(from..other.start);
        }
        from = other.end;
    }
    if from < range.end {
        parts.push(from..range.end);
    }
    parts
}

#[cfg(test)]
mod tests {
    use resemble_testutil::random::Random;

    use super::*;

    fn run(a: u64, b: u64, len: u64) -> CommonRun {
        CommonRun {
            a: a..a + len,
            b: b..b + len,
        }
    }

    fn placings(runs: Vec<CommonRun>) -> Vec<Placing> {
        place(runs, None).into_iter().map(|(_, p)| p).collect()
    }

    #[test]
    fn the_lighter_of_two_swapped_blocks_moved() {
        use Placing::{InOrder, Moved};
        let runs = vec![run(0, 500, 100), run(100, 0, 400), run(600, 700, 80)];
        assert_eq!(placings(runs), [Moved, InOrder, InOrder]);
        assert_eq!(placings(Vec::new()), []);
    }

    #[test]
    fn an_overlap_of_neighbours_does_not_break_the_chain() {
        use Placing::InOrder;
        let runs = vec![run(0, 0, 300), run(400, 290, 500), run(900, 785, 100)];
        assert_eq!(placings(runs), [InOrder; 3]);
    }

    #[test]
    fn a_second_copy_is_again() {
        use Placing::{Again, InOrder};
        let runs = vec![run(0, 0, 300), run(300, 100, 150), run(450, 300, 80)];
        assert_eq!(placings(runs), [InOrder, Again, InOrder]);
    }

    /// Checks by exhaustive search that the backbone is the heaviest chain.
    #[test]
    fn the_backbone_is_the_heaviest_chain() {
        let mut random = Random::new(7);
        let mut random = |below| random.below(below) as u64;
        for _ in 0..300 {
            let mut a = 0;
            let runs: Vec<CommonRun> = (0..9)
                .map(|_| {
                    let len = 1 + random(9);
                    // The places are so far apart that runs at different places of b do not
                    // overlap.
                    let run = run(a, random(12) * 10, len);
                    a += len;
                    run
                })
                .collect();
            let weight = |set: &[usize]| -> Option<u64> {
                let rises = set
                    .windows(2)
                    .all(|pair| runs[pair[0]].b.end <= runs[pair[1]].b.start);
                rises.then(|| set.iter().map(|&i| runs[i].b.end - runs[i].b.start).sum())
            };
            let heaviest = (0..1u32 << runs.len())
                .filter_map(|mask| {
                    let set: Vec<usize> =
                        (0..runs.len()).filter(|i| mask & (1 << i) != 0).collect();
                    weight(&set)
                })
                .max();
            let on = backbone(&runs);
            let set: Vec<usize> = (0..runs.len()).filter(|&i| on[i]).collect();
            assert_eq!(weight(&set), heaviest, "{runs:?}");
        }
    }

    #[test]
    fn ranges_and_their_complement() {
        let joined = union(vec![5..9, 0..3, 3..4, 8..12, 20..20]);
        assert_eq!(joined, [0..4, 5..12]);
        assert_eq!(without(&(0..15), &joined), [4..5, 12..15]);
        assert_eq!(without(&(6..8), &joined), []);
        assert_eq!(without(&(2..6), &joined), vec![4..5]);
    }
}
