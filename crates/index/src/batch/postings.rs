//! Ends a batch: counts boilerplate ([`super::boilerplate`]), writes the new segment, and does the
//! merges that this segment causes.

use std::sync::Arc;

use resemble_core::ContentId;

use super::boilerplate::{Counter, count, publish, recount};
use super::contents::BatchOutcome;
use super::inherit::{bequeath_postings, segment_of};
use super::new_postings::{New, segments_before, sources};
use super::{Refusal, Writing};
use crate::fault::Fault;
use crate::schema::{self, PostingKind};
use crate::segments::order::{Order, Sample};
use crate::segments::write::{Merge, Numbered, delete, write};
use crate::segments::{Segment, plan};
use crate::snapshot::{Inner, Snapshot};
use crate::state::{Boilerplate, near};
use crate::store::ReadableTableMetadata;

/// Updates the postings, the set of dead contents, and the boilerplate counts for the changes of
/// the batch.
pub(super) fn add(writing: &mut Writing<'_>, settled: BatchOutcome) -> Result<(), Refusal> {
    let BatchOutcome {
        first_new,
        fresh,
        inherited,
        killed,
    } = settled;
    bury(writing, &killed)?;
    bequeath_postings(writing, &inherited)?;
    let new = New::of(&fresh, &inherited, writing)?;
    let born = fresh.len();
    drop(fresh);
    for kind in PostingKind::ALL {
        let lists = new.kind(kind).chunk_by(|a, b| a.0 == b.0);
        writing.touched.keys(kind, lists.map(|list| list[0].0));
    }
    count(writing, &new, born, &killed, &inherited)?;
    let mut segments = segments_before(writing);
    let mut sizes: Vec<u64> = segments.iter().map(Segment::postings).collect();
    if new.len() > 0 {
        sizes.push(new.len() as u64);
    }
    let contents = writing.txn.open_table(schema::CONTENTS)?.len()?;
    let mostly_dead = writing.sets.dead.len() as u64 > contents + 1000;
    let from = if mostly_dead {
        Some(0)
    } else {
        let most = if writing.in_bulk {
            plan::MOST_IN_BULK
        } else {
            plan::MOST
        };
        plan::merge_from(&sizes, most)
    };
    let last = writing.counters.next_content.saturating_sub(1);
    match from {
        Some(from) => {
            let run = segments.split_off(from.min(segments.len()));
            merge(writing, &run, Some((&new, first_new, last)), None)?;
        }
        None if new.len() > 0 => {
            merge(writing, &[], Some((&new, first_new, last)), None)?;
        }
        None => {}
    }
    Ok(())
}

/// Merges all segments into one and counts boilerplate. If there is at most one segment and no dead
/// content, nothing is merged. Then boilerplate is counted only if the counts are out of date.
pub(crate) fn merge_all(writing: &mut Writing<'_>) -> Result<(), Refusal> {
    let segments = segments_before(writing);
    let uncounted = writing.counters.uncounted;
    if segments.len() > 1 || (!writing.sets.dead.is_empty() && !segments.is_empty()) {
        let mut counts = Boilerplate::default();
        merge(writing, &segments, None, Some(&mut counts))?;
        publish(writing, &counts)?;
    } else if uncounted {
        recount(writing, None)?;
    }
    Ok(())
}

/// Returns the size of all segments in bytes. Each block of postings takes a page of 4096 bytes.
pub(crate) fn bytes(snapshot: &Snapshot) -> Result<u64, Fault> {
    let mut blocks = 0;
    for segment in snapshot.segments() {
        for kind in PostingKind::ALL {
            let postings = segment.postings(kind);
            blocks += postings.map_or(Ok(0), |postings| postings.blocks.len())?;
        }
    }
    Ok(blocks * 4096)
}

/// Returns whether [`merge_all`] would do anything.
pub(crate) fn merge_does_anything(snapshot: &Snapshot) -> bool {
    let Inner {
        segments,
        sets,
        counters,
        ..
    } = &*snapshot.inner;
    counters.uncounted || segments.len() > 1 || (!sets.dead.is_empty() && !segments.is_empty())
}

/// Returns whether [`merge_all`] is worth the writes. This is so if the boilerplate counts are out
/// of date, if many contents are dead, or if many postings are in small segments.
pub(crate) fn merge_is_useful(snapshot: &Snapshot) -> Result<bool, Fault> {
    let Inner {
        segments,
        sets,
        counters,
        contents,
        ..
    } = &*snapshot.inner;
    let sizes = segments.iter().map(|segment| segment.row.postings());
    let (total, largest) = sizes.fold((0, 0), |(sum, most), size| (sum + size, size.max(most)));
    Ok(counters.uncounted
        || sets.dead.len() as u64 > contents.len()? / 4
        || (segments.len() > 4 && (total - largest) * 4 > largest))
}

/// Adds deleted contents to the set of dead contents, if they are in the range of a segment. Such a
/// segment may still have their postings.
fn bury(writing: &mut Writing<'_>, killed: &[ContentId]) -> Result<(), Fault> {
    if killed.is_empty() {
        return Ok(());
    }
    let mut table = writing.txn.open_table(schema::DEAD_CONTENTS)?;
    for content in killed {
        if segment_of(writing, content.0).is_some() {
            Arc::make_mut(&mut writing.sets.dead).insert(content.0);
            table.insert(content.0, ())?;
        }
    }
    Ok(())
}

/// Merges the consecutive segments of `run` and the postings of the batch into one segment. Removes
/// the contents of `run` from the set of dead contents. Adds the known keys among the postings to
/// `counts`, each with the number of its contents.
fn merge(
    writing: &mut Writing<'_>,
    run: &[Segment],
    new: Option<(&New, u32, u32)>,
    mut counts: Option<&mut Boilerplate>,
) -> Result<(), Refusal> {
    let id = writing.counters.next_segment;
    writing.counters.next_segment = id.checked_add(1).ok_or(Refusal::Full("segment"))?;
    let first = run
        .first()
        .map(|segment| segment.first)
        .or(new.map(|new| new.1));
    // The range of ids includes the newest content, even if that content is an heir without
    // postings of its own.
    let last = new.map_or(writing.counters.next_content.saturating_sub(1), |new| new.2);
    let order = match first {
        Some(first) if !run.is_empty() => order(writing, run, new.map(|new| new.0), first, last)?,
        _ => None,
    };
    let mut written = [0; 2];
    for (kind, written) in PostingKind::ALL.into_iter().zip(&mut written) {
        let sources = sources(writing, run, new.map(|new| new.0), kind)?;
        let merge = Merge::new(sources, writing.sets.live(kind));
        let stored = run.iter().map(|segment| segment.count(kind)).sum::<u64>();
        let most = stored + new.map_or(0, |new| new.0.kind(kind).len() as u64);
        let mut counter = counts
            .as_deref_mut()
            .map(|counts| Counter::new(counts.of_mut(kind), near(writing.boilerplate_limit)));
        let txn = writing.txn;
        *written = Numbered::new(merge, order.as_ref()).shown_to(most, |next| {
            write(txn, kind, id, next, |posting| {
                if let Some(counter) = &mut counter {
                    counter.see(posting);
                }
            })
        })?;
    }
    let mut table = writing.txn.open_table(schema::SEGMENTS)?;
    for segment in run {
        delete(writing.txn, segment.id)?;
        table.remove(segment.id)?;
        if writing.sets.orders.contains_key(&segment.id) {
            Arc::make_mut(&mut writing.sets.orders).remove(&segment.id);
        }
    }
    if let Some(first) = first
        && written != [0, 0]
    {
        table.insert(id, (first, last, written[0], written[1]))?;
        if let Some(order) = order {
            order.put(writing.txn, id)?;
            Arc::make_mut(&mut writing.sets.orders).insert(id, Arc::new(order));
        }
    }
    drop(table);
    exhume(writing, run)
}

/// Returns an order of contents in which the merged segment is smaller. Returns `None` if storing
/// the order would take more than it saves, or if most ids of the range are unused.
fn order(
    writing: &Writing<'_>,
    run: &[Segment],
    new: Option<&New>,
    first: u32,
    last: u32,
) -> Result<Option<Order>, Fault> {
    /// The order is computed from one posting in this many.
    const SHARE: u64 = 32;
    /// The number of postings from which the order is computed. More postings would take over
    /// 16 MB. Fewer would give no useful order.
    const SAMPLE: std::ops::RangeInclusive<u64> = 1 << 12..=1 << 22;
    let contents = writing.txn.open_table(schema::CONTENTS)?.len()?;
    // An order stores a number for every id in its range, used or not. So a range with many unused
    // ids gets no order.
    if u64::from(last.saturating_sub(first)) > 2 * contents {
        return Ok(None);
    }
    let stored = run
        .iter()
        .map(|segment| segment.count(PostingKind::Fingerprint));
    let postings =
        stored.sum::<u64>() + new.map_or(0, |new| new.kind(PostingKind::Fingerprint).len() as u64);
    let most = (postings / SHARE).clamp(*SAMPLE.start(), *SAMPLE.end());
    let kind = PostingKind::Fingerprint;
    let mut merge = Merge::new(sources(writing, run, new, kind)?, writing.sets.live(kind));
    let mut sample = Sample::default();
    while sample.seen() < most
        && let Some(posting) = merge.next()?
    {
        sample.push(posting);
    }
    Ok(Order::of(first, last, sample, postings))
}

/// Removes the contents of merged segments from the set of dead contents, because their postings
/// are gone.
fn exhume(writing: &mut Writing<'_>, run: &[Segment]) -> Result<(), Refusal> {
    if run.is_empty() || writing.sets.dead.is_empty() {
        return Ok(());
    }
    let gone: Vec<u32> = writing
        .sets
        .dead
        .iter()
        .filter(|id| {
            run.iter()
                .any(|segment| (segment.first..=segment.last).contains(id))
        })
        .collect();
    if gone.is_empty() {
        return Ok(());
    }
    let dead = Arc::make_mut(&mut writing.sets.dead);
    let mut table = writing.txn.open_table(schema::DEAD_CONTENTS)?;
    for &id in &gone {
        dead.remove(id);
        table.remove(id)?;
    }
    drop(table);
    for id in gone {
        writing.heirs().remove(id)?;
    }
    Ok(())
}
