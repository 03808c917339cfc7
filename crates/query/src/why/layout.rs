//! Divides both files into stripes. Every byte belongs to one shared run or to none.
//!
//! Ranges are made for counting: they may overlap in b, and a repeat may cross several ranges. A
//! display needs stripes that cover each file without overlap. Equal stripes have the same colour.
//! Overlapping bytes belong to the range in order, whose two sides are shown next to each other (a
//! *step*). Between the steps are stripes that only one file has, and moved or repeated stripes.
//!
//! If a piece of less than 64 bytes is not shown next to its equal, it is drawn as if only one file
//! had it. Such a piece, often a single `}`, is the rest of a run whose other bytes belong to
//! another run. It still counts as shared.

use std::ops::Range;

use resemble_core::similarity::runs::LEAST_RUN;

use crate::why::order::{Placing, without};
use crate::why::{Shared, SharedRange};

/// A part of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Stripe {
    pub(super) range: Range<u64>,
    /// The number, from 1, of the shared run to which the stripe belongs. It is `None` if the
    /// stripe is only in this file.
    pub(super) run: Option<u32>,
    /// The offset of the equal bytes in the other file; 0 if the stripe belongs to no run.
    pub(super) twin: u64,
}

/// Equal parts that are shown next to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Step {
    pub(super) run: u32,
    pub(super) a: Range<u64>,
    pub(super) b: Range<u64>,
}

/// A shared run with its number.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Run {
    /// The number of the run, from 1; the same on both sides.
    pub id: u32,
    /// The ranges of the run in both files.
    pub range: SharedRange,
}

/// The kind of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    /// The part is in both files. The value is the number of its run, from 1.
    Shared(u32),
    /// The part is only in a.
    OnlyA,
    /// The part is only in b.
    OnlyB,
}

/// A part of one file, or equal parts of both files that are shown next to each other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// The kind of the block: shared, or only in one file.
    pub kind: BlockKind,
    /// The bytes of a in this block.
    pub a: Option<Range<u64>>,
    /// The bytes of b in this block. If a shared block has the bytes of one file only, the equal
    /// bytes are elsewhere in the other file.
    pub b: Option<Range<u64>>,
    /// The equal bytes in the other file, if a shared block has the bytes of one file only.
    pub elsewhere: Option<Range<u64>>,
}

/// Both files, divided into stripes.
#[derive(Debug)]
pub(super) struct Layout {
    /// The stripes of all of a, in order.
    pub(super) a: Vec<Stripe>,
    /// The stripes of all of b, in order.
    pub(super) b: Vec<Stripe>,
    /// The steps, in the same ascending order in both files.
    pub(super) steps: Vec<Step>,
    pub(super) runs: Vec<Run>,
}

impl Layout {
    pub(super) fn of(shared: &Shared) -> Self {
        let mut runs = Runs::default();
        let (steps, mut numbers) = steps_of(shared, &mut runs);
        let a = stripes_of_a(shared, &steps, &mut numbers, &mut runs);
        let b = stripes_of_b(shared, &steps, &numbers, &mut runs);
        Self {
            a: filled(a, shared.sizes.0.0),
            b: filled(b, shared.sizes.1.0),
            steps,
            runs: runs.0,
        }
    }

    /// Returns the stripes of a range of one file, cut at the ends of the range.
    pub(super) fn within(stripes: &[Stripe], range: &Range<u64>) -> impl Iterator<Item = Stripe> {
        let first = stripes.partition_point(|stripe| stripe.range.end <= range.start);
        let range = range.clone();
        stripes[first..]
            .iter()
            .take_while({
                let end = range.end;
                move |stripe| stripe.range.start < end
            })
            .map(move |s| {
                let start = s.range.start.max(range.start);
                let twin = s.twin + (start - s.range.start);
                stripe(start..s.range.end.min(range.end), s.run, twin)
            })
    }

    /// Returns all blocks in the order of display. Between two steps the parts of a come first.
    pub(super) fn blocks(&self) -> Vec<Block> {
        let mut blocks = Vec::with_capacity(self.a.len() + self.b.len());
        let (mut at_a, mut at_b) = (0, 0);
        let end = |stripes: &[Stripe]| stripes.last().map_or(0, |last| last.range.end);
        let all = Step {
            run: 0,
            a: end(&self.a)..end(&self.a),
            b: end(&self.b)..end(&self.b),
        };
        for step in self.steps.iter().chain([&all]) {
            for one in Self::within(&self.a, &(at_a..step.a.start)) {
                blocks.push(Block {
                    kind: one.run.map_or(BlockKind::OnlyA, BlockKind::Shared),
                    elsewhere: one.elsewhere(),
                    a: Some(one.range),
                    b: None,
                });
            }
            for one in Self::within(&self.b, &(at_b..step.b.start)) {
                blocks.push(Block {
                    kind: one.run.map_or(BlockKind::OnlyB, BlockKind::Shared),
                    elsewhere: one.elsewhere(),
                    a: None,
                    b: Some(one.range),
                });
            }
            if step.run > 0 {
                blocks.push(Block {
                    kind: BlockKind::Shared(step.run),
                    a: Some(step.a.clone()),
                    b: Some(step.b.clone()),
                    elsewhere: None,
                });
            }
            (at_a, at_b) = (step.a.end, step.b.end);
        }
        blocks
    }
}

/// The runs that have a number.
#[derive(Default)]
struct Runs(Vec<Run>);

impl Runs {
    fn add(&mut self, range: &SharedRange) -> u32 {
        let id = self.0.len() as u32 + 1;
        let range = range.clone();
        self.0.push(Run { id, range });
        id
    }
}

/// Returns the steps, and the number of the run of each range. Repeated ranges get their numbers
/// later.
fn steps_of(shared: &Shared, runs: &mut Runs) -> (Vec<Step>, Vec<Option<u32>>) {
    let mut steps: Vec<Step> = Vec::new();
    let mut numbers: Vec<Option<u32>> = Vec::with_capacity(shared.ranges.len());
    for range in &shared.ranges {
        numbers.push(match range.placing {
            Placing::InOrder => Some(runs.add(range)),
            Placing::Moved if is_seen(&range.a) => Some(runs.add(range)),
            Placing::Moved | Placing::Again => None,
        });
        if let (Placing::InOrder, Some(&Some(run))) = (range.placing, numbers.last()) {
            let overlap = steps
                .last()
                .map_or(0, |last| last.b.end.saturating_sub(range.b.start))
                .min(range.bytes());
            if overlap < range.bytes() {
                steps.push(Step {
                    run,
                    a: range.a.start + overlap..range.a.end,
                    b: range.b.start + overlap..range.b.end,
                });
            }
        }
    }
    (steps, numbers)
}

/// Returns the stripes of a. Repeated ranges get a number if they are shown.
fn stripes_of_a(
    shared: &Shared,
    steps: &[Step],
    numbers: &mut [Option<u32>],
    runs: &mut Runs,
) -> Vec<Stripe> {
    let at_b = |place: u64| -> Option<u32> {
        let next = steps.partition_point(|step| step.b.start <= place);
        let step = &steps[next.checked_sub(1)?];
        (place < step.b.end).then_some(step.run)
    };
    let mut a: Vec<Stripe> = Vec::new();
    for (range, number) in shared.ranges.iter().zip(numbers) {
        match (range.placing, *number) {
            (Placing::InOrder, Some(run)) => {
                let step = steps.partition_point(|step| step.run < run);
                let begins = match steps.get(step) {
                    Some(step) if step.run == run => step.a.start,
                    _ => range.a.end,
                };
                // The overlapping bytes of b belong to the previous step.
                let before = at_b(range.b.start).filter(|_| begins > range.a.start);
                let head = range.a.start..begins;
                if is_seen(&head) {
                    a.push(stripe(head, before.or(Some(run)), range.b.start));
                }
                let twin = range.b.start + (begins - range.a.start);
                a.push(stripe(begins..range.a.end, Some(run), twin));
            }
            (_, Some(run)) => a.push(stripe(range.a.clone(), Some(run), range.b.start)),
            (_, None) if !is_seen(&range.a) => {}
            (_, None) => {
                let run = at_b(range.b.start).unwrap_or_else(|| runs.add(range));
                *number = Some(run);
                a.push(stripe(range.a.clone(), Some(run), range.b.start));
            }
        }
    }
    a
}

/// Returns the stripes of b: the steps, and the moved and repeated parts between them.
fn stripes_of_b(
    shared: &Shared,
    steps: &[Step],
    numbers: &[Option<u32>],
    runs: &mut Runs,
) -> Vec<Stripe> {
    let mut others: Vec<(Range<u64>, u32, u64)> = shared
        .ranges
        .iter()
        .zip(numbers)
        .filter(|(range, _)| range.placing == Placing::Moved)
        .filter_map(|(range, number)| Some((range.b.clone(), (*number)?, range.a.start)))
        .collect();
    for repeat in shared.repeats.iter().filter(|repeat| is_seen(&repeat.b)) {
        let next = shared
            .ranges
            .partition_point(|range| range.a.start <= repeat.a.start);
        let holder = next
            .checked_sub(1)
            .filter(|&at| shared.ranges[at].a.end > repeat.a.start);
        let run = holder
            .and_then(|at| numbers[at])
            .unwrap_or_else(|| runs.add(repeat));
        others.push((repeat.b.clone(), run, repeat.a.start));
    }
    others.sort_by_key(|(range, run, _)| (range.start, range.end, *run));
    let taken: Vec<Range<u64>> = steps.iter().map(|step| step.b.clone()).collect();
    let mut b: Vec<Stripe> = Vec::new();
    let mut cursor = 0;
    for (range, run, twin) in others {
        let rest = range.start.max(cursor)..range.end;
        if !rest.is_empty() {
            cursor = rest.end;
            let parts = without(&rest, &taken).into_iter().filter(is_seen);
            b.extend(parts.map(|part| {
                let twin = twin + (part.start - range.start);
                stripe(part, Some(run), twin)
            }));
        }
    }
    b.extend(
        steps
            .iter()
            .map(|step| stripe(step.b.clone(), Some(step.run), step.a.start)),
    );
    b.sort_by_key(|stripe| stripe.range.start);
    b
}

/// Returns whether a piece is large enough to be coloured, if it is not shown next to its equal.
fn is_seen(range: &Range<u64>) -> bool {
    range.end - range.start >= LEAST_RUN as u64
}

const fn stripe(range: Range<u64>, run: Option<u32>, twin: u64) -> Stripe {
    Stripe { range, run, twin }
}

impl Stripe {
    fn elsewhere(&self) -> Option<Range<u64>> {
        let len = self.range.end - self.range.start;
        self.run.map(|_| self.twin..self.twin + len)
    }
}

/// Fills the gaps between the stripes with parts that only this file has.
fn filled(stripes: Vec<Stripe>, size: u64) -> Vec<Stripe> {
    let mut all = Vec::with_capacity(2 * stripes.len() + 1);
    let mut end = 0;
    for one in stripes.into_iter().filter(|one| !one.range.is_empty()) {
        if one.range.start > end {
            all.push(stripe(end..one.range.start, None, 0));
        }
        end = one.range.end;
        all.push(one);
    }
    if end < size {
        all.push(stripe(end..size, None, 0));
    }
    all
}
