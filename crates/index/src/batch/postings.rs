//! The end of a batch: boilerplate, the new segment, and the merges it causes.
//!
//! **Boilerplate is counted exactly.** The set holds every key that more live contents than the
//! limit have, with their number. A small batch looks up just the keys it touches: those of new
//! contents gain, those of dead contents lose. A large one would look up millions, so it only
//! notes that the set is out of date; the next small batch that is not of a bulk load, or the merge
//! that ends one, counts all keys in one pass over the sorted postings (about 10 ns each). Of a
//! dead content that has more postings than its signature has fingerprints, each key of the set is
//! looked up. An index with no more contents than the limit has no boilerplate, and nothing is
//! counted.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use resemble_core::{ContentId, Digest, Signature};

use super::contents::{Inherited, Settled};
use super::inherit::{InheritedPostings, bequeath_postings, segment_of};
use super::{Refusal, Writing};
use crate::fault::Fault;
use crate::schema::{self, PostingKind};
use crate::segments::block::{Posting, pack, unpack};
use crate::segments::order::Order;
use crate::segments::read::{Lists, Scan, has};
use crate::segments::write::{Merge, Source, delete, write};
use crate::segments::{Segment, plan, posted};
use crate::snapshot::{Inner, Snapshot};
use crate::state::{Boilerplate, changed_keys};
use crate::store::ReadableTableMetadata;

/// A batch with more new postings leaves counting to later.
const BULK: usize = 200_000;

/// What one look-up costs in postings of a pass over all.
const LOOKUP: u64 = 100;

/// Sorted postings of both kinds.
struct New {
    chunks: Vec<Posting>,
    fingerprints: Vec<Posting>,
}

impl New {
    fn of(
        fresh: &[(ContentId, Box<Digest>)],
        inherited: &[Inherited],
        writing: &Writing<'_>,
    ) -> Result<Self, Fault> {
        let mut chunks = Vec::new();
        let mut fingerprints = Vec::new();
        for (id, digest) in fresh {
            let keys = posted(&digest.chunks);
            if inherited.iter().any(|of| of.heir == *id) {
                let inherited = InheritedPostings::of(writing, *id);
                for key in keys {
                    if !inherited.has(key)? {
                        chunks.push(pack((key, id.0)));
                    }
                }
            } else {
                chunks.extend(keys.map(|key| pack((key, id.0))));
            }
            fingerprints.extend(digest.posted().map(|print| pack((print.0, id.0))));
        }
        Ok(Self {
            chunks: sorted(chunks),
            fingerprints: sorted(fingerprints),
        })
    }

    fn kind(&self, kind: PostingKind) -> &[Posting] {
        match kind {
            PostingKind::Chunk => &self.chunks,
            PostingKind::Fingerprint => &self.fingerprints,
        }
    }

    fn len(&self) -> usize {
        self.chunks.len() + self.fingerprints.len()
    }
}

/// The postings in order, each once.
fn sorted(mut postings: Vec<u128>) -> Vec<Posting> {
    postings.sort_unstable();
    postings.dedup();
    postings.into_iter().map(unpack).collect()
}

/// Brings postings, the dead and boilerplate up to what the batch did to the contents.
pub(super) fn add(writing: &mut Writing<'_>, settled: Settled) -> Result<(), Refusal> {
    let Settled {
        first_new,
        fresh,
        inherited,
        killed,
    } = settled;
    bury(writing, &killed)?;
    bequeath_postings(writing, &inherited)?;
    let new = New::of(&fresh, &inherited, writing)?;
    drop(fresh);
    for kind in PostingKind::ALL {
        for same in new.kind(kind).chunk_by(|a, b| a.0 == b.0) {
            writing.touched.key(kind, same[0].0);
        }
    }
    count(writing, &new, &killed, &inherited)?;
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

/// Merges everything into one segment, if there is anything to gain, and counts boilerplate if
/// that is out of date.
pub(crate) fn merge_all(writing: &mut Writing<'_>) -> Result<(), Refusal> {
    let segments = segments_before(writing);
    let uncounted = writing.counters.uncounted;
    if segments.len() > 1 || (!writing.sets.dead.is_empty() && !segments.is_empty()) {
        let mut counts = Boilerplate::default();
        merge(writing, &segments, None, Some(&mut counts))?;
        if uncounted {
            publish(writing, counts)?;
        }
    } else if uncounted {
        recount(writing, None)?;
    }
    Ok(())
}

/// Bytes of all segments: a block takes a page.
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

/// Whether [`merge_all`] would do anything.
pub(crate) fn merge_does_anything(snapshot: &Snapshot) -> bool {
    let Inner {
        segments,
        sets,
        counters,
        ..
    } = &*snapshot.inner;
    counters.uncounted || segments.len() > 1 || (!sets.dead.is_empty() && !segments.is_empty())
}

/// Whether enough is dead or scattered for [`merge_all`] to be worth its writing.
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

/// The segments as the commit before left them.
fn segments_before(writing: &Writing<'_>) -> Vec<Segment> {
    let segments = writing.before.segments().iter();
    segments.map(|segment| segment.row).collect()
}

/// Notes the killed contents as dead: their postings are still there.
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

/// Writes a segment with the postings of `run`, consecutive ones, and of the batch, and forgets
/// the dead that it leaves out. `counts` gets the boilerplate among what is written.
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
    // The newest is in it, and what its postings say may be an heir without any of its own.
    let last = new.map_or(writing.counters.next_content.saturating_sub(1), |new| new.2);
    let order = match first {
        Some(first) if !run.is_empty() => order(writing, run, new.map(|new| new.0), first, last)?,
        _ => None,
    };
    let mut written = [0; 2];
    for (kind, written) in PostingKind::ALL.into_iter().zip(&mut written) {
        let sources = sources(writing, run, new.map(|new| new.0), kind)?;
        let mut merge = Merge::new(sources, writing.sets.live(kind));
        let mut counter = counts
            .as_deref_mut()
            .map(|counts| Counter::new(counts.of_mut(kind), writing.boilerplate_limit));
        *written = write(writing.txn, kind, id, order.as_ref(), || {
            let next = merge.next()?;
            if let Some(counter) = &mut counter {
                counter.see(next);
            }
            Ok(next)
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

/// The order of a segment that `run` is merged to, if it pays.
fn order(
    writing: &Writing<'_>,
    run: &[Segment],
    new: Option<&New>,
    first: u32,
    last: u32,
) -> Result<Option<Order>, Fault> {
    /// Of so many postings the order is taken from one.
    const SHARE: usize = 32;
    /// More are not held in memory, and fewer say too little.
    const SAMPLE: std::ops::RangeInclusive<usize> = 1 << 12..=1 << 19;
    let contents = writing.txn.open_table(schema::CONTENTS)?.len()?;
    // An id that is not used any more would cost as much as one that is.
    if u64::from(last.saturating_sub(first)) > 2 * contents {
        return Ok(None);
    }
    let stored = run.iter().map(|segment| segment.fingerprint_postings);
    let postings = stored.sum::<u64>() + new.map_or(0, |new| new.fingerprints.len() as u64);
    let most = (postings as usize / SHARE).clamp(*SAMPLE.start(), *SAMPLE.end());
    let kind = PostingKind::Fingerprint;
    let mut merge = Merge::new(sources(writing, run, new, kind)?, writing.sets.live(kind));
    let mut sample = Vec::with_capacity(most);
    while sample.len() < most
        && let Some(posting) = merge.next()?
    {
        sample.push(posting);
    }
    Ok(Order::of(first, last, &sample, postings))
}

/// The dead of merged segments are no more.
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

fn sources<'n>(
    writing: &Writing<'_>,
    run: &[Segment],
    new: Option<&'n New>,
    kind: PostingKind,
) -> Result<Vec<Source<'n>>, Fault> {
    let mut sources = Vec::new();
    for segment in writing.before.segments() {
        if run.contains(&segment.row)
            && let Some(postings) = segment.postings(kind)
        {
            sources.push(Source::stored(Scan::new(postings)?));
        }
    }
    if let Some(new) = new {
        sources.push(Source::Memory(new.kind(kind)));
    }
    Ok(sources)
}

/// Counts runs of equal keys in ascending postings and keeps those above the limit.
pub(crate) struct Counter<'a> {
    counts: &'a mut HashMap<u64, u32>,
    limit: u32,
    key: u64,
    run: u32,
}

impl<'a> Counter<'a> {
    pub(crate) fn new(counts: &'a mut HashMap<u64, u32>, limit: u32) -> Self {
        Self {
            counts,
            limit,
            key: 0,
            run: 0,
        }
    }

    /// The next posting, `None` at the end.
    pub(crate) fn see(&mut self, posting: Option<Posting>) {
        match posting {
            Some((key, _)) if key == self.key && self.run > 0 => self.run += 1,
            next => {
                if self.run > self.limit {
                    self.counts.insert(self.key, self.run);
                }
                (self.key, self.run) = next.map_or((0, 0), |(key, _)| (key, 1));
            }
        }
    }
}

/// Brings the boilerplate set up to date with the batch, or notes that it is not.
fn count(
    writing: &mut Writing<'_>,
    new: &New,
    killed: &[ContentId],
    inherited: &[Inherited],
) -> Result<(), Refusal> {
    let contents = writing.txn.open_table(schema::CONTENTS)?.len()?;
    if contents <= u64::from(writing.boilerplate_limit) {
        return publish(writing, Boilerplate::default());
    }
    if new.len() > BULK || (writing.in_bulk && writing.counters.uncounted) {
        writing.counters.uncounted = true;
        return Ok(());
    }
    let stored: u64 = writing
        .before
        .segments()
        .iter()
        .map(|segment| segment.row.postings())
        .sum();
    let segments = writing.before.segments().len() as u64;
    let known = writing.sets.boilerplate.len() as u64;
    let forgetting = if known == 0 {
        0
    } else {
        let mut dense = 0;
        for &content in killed {
            let kept = writing.before.signature_raw(content)?;
            dense += u64::from(is_denser(writing, content, &kept)?);
        }
        killed.len() as u64 * 10 + dense * known
    };
    let looking_up = (new.len() as u64 * segments + forgetting) * LOOKUP;
    if writing.counters.uncounted || looking_up > stored {
        return recount(writing, Some(new));
    }
    let mut counts = (*writing.sets.boilerplate).clone();
    if known > 0 {
        for &content in killed {
            let of = inherited.iter().find(|of| of.ancestor == content);
            forget(writing, content, of, &mut counts)?;
        }
    }
    for kind in PostingKind::ALL {
        let segments = writing.before.segments().iter();
        let mut lists = Lists::new(segments.filter_map(|segment| segment.postings(kind)));
        let who = writing.sets.live(kind);
        let counts = counts.of_mut(kind);
        for same in new.kind(kind).chunk_by(|a, b| a.0 == b.0) {
            let key = same[0].0;
            let more = same.len() as u32;
            if let Some(count) = counts.get_mut(&key) {
                *count += more;
                continue;
            }
            let stored = lists.get(key, usize::MAX, who)?;
            let total = stored.map_or(0, <[_]>::len) as u32 + more;
            if total > writing.boilerplate_limit {
                counts.insert(key, total);
            }
        }
    }
    publish(writing, counts)
}

/// Whether a killed content has more postings than its signature has fingerprints.
fn is_denser(writing: &Writing<'_>, content: ContentId, kept: &Signature) -> Result<bool, Fault> {
    let row = writing.before.inner.content(content)?;
    let posted = row.map_or(0, |row| row.fingerprints as usize);
    Ok(posted > kept.fingerprints.len())
}

/// The fingerprints of a killed content that its signature has not, among those that are
/// boilerplate: the dense ones of a text, and by what it is found besides.
fn denser_than(
    writing: &Writing<'_>,
    content: ContentId,
    signature: &[u64],
    known: &HashMap<u64, u32>,
) -> Result<Vec<u64>, Fault> {
    let segment = segment_of(writing, content.0);
    let postings = segment.and_then(|segment| segment.postings(PostingKind::Fingerprint));
    let Some(postings) = postings else {
        return Ok(Vec::new());
    };
    let signature: HashSet<u64> = signature.iter().copied().collect();
    let mut found = Vec::new();
    for &key in known.keys().filter(|key| !signature.contains(key)) {
        if has(postings, (key, content.0))? {
            found.push(key);
        }
    }
    Ok(found)
}

/// The keys of a killed content lose one, but for those that an heir has.
fn forget(
    writing: &Writing<'_>,
    content: ContentId,
    inherited: Option<&Inherited>,
    counts: &mut Boilerplate,
) -> Result<(), Refusal> {
    // Read from the commit before, where its rows are still there.
    let signature = writing.before.signature_raw(content)?;
    let mut chunk_keys = match inherited {
        // What its heir has is not lost.
        Some(inherited) => inherited.gone.clone(),
        None => posted(&writing.before.chunks_raw(content)?).collect(),
    };
    let mut fingerprints: Vec<_> = signature.fingerprints.iter().map(|print| print.0).collect();
    if is_denser(writing, content, &signature)? {
        let known = counts.of_mut(PostingKind::Fingerprint);
        let denser = denser_than(writing, content, &fingerprints, known)?;
        fingerprints.extend(denser);
    }
    for (kind, keys) in [
        (PostingKind::Chunk, &mut chunk_keys),
        (PostingKind::Fingerprint, &mut fingerprints),
    ] {
        keys.sort_unstable();
        keys.dedup();
        let counts = counts.of_mut(kind);
        for key in keys {
            if let Some(count) = counts.get_mut(key) {
                *count -= 1;
                if *count <= writing.boilerplate_limit {
                    counts.remove(key);
                }
            }
        }
    }
    Ok(())
}

/// Counts every key of all segments and the batch.
fn recount(writing: &mut Writing<'_>, new: Option<&New>) -> Result<(), Refusal> {
    let segments = segments_before(writing);
    let mut counts = Boilerplate::default();
    for kind in PostingKind::ALL {
        let sources = sources(writing, &segments, new, kind)?;
        let mut merge = Merge::new(sources, writing.sets.live(kind));
        let mut counter = Counter::new(counts.of_mut(kind), writing.boilerplate_limit);
        loop {
            let next = merge.next()?;
            counter.see(next);
            if next.is_none() {
                break;
            }
        }
    }
    publish(writing, counts)
}

/// Writes what is different and makes it the set of the coming commit.
fn publish(writing: &mut Writing<'_>, counts: Boilerplate) -> Result<(), Refusal> {
    writing.counters.uncounted = false;
    if *writing.sets.boilerplate == counts {
        return Ok(());
    }
    let mut table = writing.txn.open_table(schema::BOILERPLATE)?;
    for kind in PostingKind::ALL {
        let number = kind as u8;
        let (old, new) = (writing.sets.boilerplate.of(kind), counts.of(kind));
        let mut changed: Vec<_> = changed_keys(old, new).into_iter().collect();
        changed.sort_unstable();
        for key in changed {
            if old.contains_key(&key) == new.contains_key(&key) {
                writing.touched.key(kind, key);
            } else {
                writing.touched.everything();
            }
            match new.get(&key) {
                Some(count) => drop(table.insert((number, key), count)?),
                None => drop(table.remove((number, key))?),
            }
        }
    }
    writing.sets.boilerplate = Arc::new(counts);
    Ok(())
}

/// Counts anew after the limit changed.
pub(crate) fn recount_all(writing: &mut Writing<'_>) -> Result<(), Refusal> {
    recount(writing, None)
}
