//! Counts the contents that have each boilerplate key, without reading keys that did not change.
//!
//! A key is a chunk or a fingerprint. It is boilerplate if more live contents than the boilerplate
//! limit have it. The index stores each boilerplate key with the exact number of live contents that
//! have it.
//!
//! 1. **Keys near the limit are counted, too.** A key is *known* if the number of contents that
//!    have it is above half the limit ([`near`]). The number of contents with each known key is in
//!    memory. An unknown key can pass the limit only after [`spare`] contents were added. Until
//!    then, each posting costs only one look-up in memory. Afterwards, the keys of new contents are
//!    looked up in the stored postings. When these look-ups have cost as much as a pass over all
//!    postings, all keys are counted again in one pass.
//! 2. **A key that one content gains and another loses in the same batch has no effect**. So a new
//!    version of a file with a common header changes no count of the header's keys.
//! 3. **A large batch** would look up millions of keys, so it only marks the counts as out of date.
//!    All keys are counted again by the next small batch outside a bulk load, or by the merge that
//!    ends the load. This takes one pass over the sorted postings, about 10 ns for each posting.
//! 4. A deleted content can have more fingerprint postings than its signature has fingerprints.
//!    Then each known fingerprint is looked up among the postings of this content. These look-ups
//!    are not needed if the edit that makes the heir of the content names the lost fingerprints.

use std::collections::{BTreeMap, HashMap, HashSet};

use resemble_core::ContentId;

use super::contents::Inherited;
use super::inherit::{InheritedPostings, segment_of};
use super::new_postings::{New, segments_before, sources};
use super::{Refusal, Writing};
use crate::fault::Fault;
use crate::schema::{self, PostingKind};
use crate::segments::block::Posting;
use crate::segments::posted;
use crate::segments::read::{Lists, has};
use crate::segments::write::Merge;
use crate::state::{Boilerplate, changed_keys, near};
use crate::store::ReadableTableMetadata;

/// The largest number of new postings that a batch counts itself. A larger batch marks the counts
/// as out of date.
const BULK: usize = 200_000;

/// The number of postings that a pass reads in the time of one look-up.
const LOOKUP: u64 = 100;

/// Maps each key to the change in the number of contents that have the key. A map has only chunks
/// or only fingerprints as keys. A key that is not *known* (see the module) has an entry only if
/// contents gained the key.
type Gains = BTreeMap<u64, i64>;

/// Counts runs of equal keys in sorted postings. Keeps the counts above a limit.
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

    /// Counts the next posting. `None` ends the last run.
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

/// Updates the counts for the batch, or marks them as out of date.
pub(super) fn count(
    writing: &mut Writing<'_>,
    new: &New,
    born: usize,
    killed: &[ContentId],
    inherited: &[Inherited],
) -> Result<(), Refusal> {
    let contents = writing.txn.open_table(schema::CONTENTS)?.len()?;
    let limit = writing.boilerplate_limit;
    if contents <= u64::from(limit) {
        publish(writing, &Boilerplate::default())?;
        // The index has no more contents than the limit, so no key is boilerplate and none is
        // counted.
        writing.counters.uncounted_births = contents as u32;
        return Ok(());
    }
    let born = u32::try_from(born).unwrap_or(u32::MAX);
    let births = writing.counters.uncounted_births.saturating_add(born);
    writing.counters.uncounted_births = births;
    if new.len() > BULK || (writing.in_bulk && writing.counters.uncounted) {
        writing.counters.uncounted = true;
        return Ok(());
    }
    let segments = writing.before.segments();
    let stored: u64 = segments.iter().map(|segment| segment.row.postings()).sum();
    let known = writing.sets.known() as u64;
    let killed = if known > 0 { killed } else { &[] };
    let deaths = killed.iter().map(|&content| Death::of(writing, content));
    let deaths = deaths.collect::<Result<Vec<_>, _>>()?;
    let of = |death: &Death| inherited.iter().find(|of| of.ancestor == death.content);
    // If the heir of a content was made by an edit of the fingerprints, the edit names the lost
    // fingerprints. Then no search is needed.
    let is_searched =
        |death: &&Death| death.is_denser && of(death).is_none_or(|of| of.fingerprints.is_none());
    let dense = deaths.iter().filter(is_searched).count() as u64;
    // The number of contents whose keys had to be looked up since the last full count. The contents
    // of this batch are included.
    let overdue = u64::from(births.saturating_sub(spare(limit)));
    let each = new.len() as u64 / u64::from(born.max(1)) + 1;
    let looking_up = overdue * each * segments.len() as u64 + dense * known;
    if writing.counters.uncounted || looking_up.saturating_mul(LOOKUP) > stored {
        return recount(writing, Some(new));
    }
    let mut lost = [Gains::new(), Gains::new()];
    for death in deaths {
        let of = of(&death);
        forget(writing, death, of, &mut lost)?;
    }
    let mut changes = Vec::new();
    for (kind, mut gains) in PostingKind::ALL.into_iter().zip(lost) {
        for same in new.kind(kind).chunk_by(|a, b| a.0 == b.0) {
            *gains.entry(same[0].0).or_default() += same.len() as i64;
        }
        let postings = segments.iter().filter_map(|segment| segment.postings(kind));
        let mut lists = Lists::new(postings);
        let who = writing.sets.live(kind);
        for (key, by) in gains {
            let total = match writing.sets.count_of(kind, key) {
                Some(_) if by == 0 => continue,
                Some(count) => u32::try_from(i64::from(count) + by).unwrap_or(0),
                None if by <= 0 || births <= spare(limit) => continue,
                None => {
                    let stored = lists.get(key, usize::MAX, who)?;
                    stored.map_or(0, <[_]>::len) as u32 + by as u32
                }
            };
            changes.push((kind, key, Some(total).filter(|&total| total > near(limit))));
        }
    }
    set(writing, changes)
}

/// Returns how many contents can be added before an unknown key can become boilerplate.
pub(crate) const fn spare(limit: u32) -> u32 {
    limit - near(limit)
}

/// A deleted content. It is read from the previous commit, which still has its rows.
struct Death {
    content: ContentId,
    /// The fingerprints of its signature.
    fingerprints: Vec<u64>,
    /// True if the content has more fingerprint postings than its signature has fingerprints.
    is_denser: bool,
}

impl Death {
    fn of(writing: &Writing<'_>, content: ContentId) -> Result<Self, Fault> {
        let signature = writing.before.signature_raw(content)?;
        let row = writing.before.inner.content(content)?;
        let posted = row.map_or(0, |row| row.fingerprints as usize);
        let fingerprints: Vec<_> = signature.fingerprints.iter().map(|print| print.0).collect();
        Ok(Self {
            content,
            is_denser: posted > fingerprints.len(),
            fingerprints,
        })
    }
}

/// Returns the known fingerprints that a deleted content has in its postings, but not in its
/// signature. They are denser samples of a text, and extra fingerprints.
fn denser_than(writing: &Writing<'_>, death: &Death) -> Result<Vec<u64>, Fault> {
    let (content, kind) = (death.content, PostingKind::Fingerprint);
    let segment = segment_of(writing, content.0);
    let own = segment.and_then(|segment| segment.postings(kind));
    let heirs = &writing.before.inner.sets.heirs;
    let inherited = InheritedPostings::of(writing, heirs, content, kind);
    let signature: HashSet<u64> = death.fingerprints.iter().copied().collect();
    let mut found = Vec::new();
    for key in writing.sets.known_keys(kind) {
        if signature.contains(&key) {
            continue;
        }
        let is_own = own.map_or(Ok(false), |own| has(own, (key, content.0)))?;
        if is_own || inherited.has(key)? {
            found.push(key);
        }
    }
    Ok(found)
}

/// Subtracts one from the count of each known key of a deleted content, unless the heir of the
/// content has the key.
fn forget(
    writing: &Writing<'_>,
    mut death: Death,
    inherited: Option<&Inherited>,
    lost: &mut [Gains; 2],
) -> Result<(), Refusal> {
    let mut chunk_keys = match inherited {
        // The heir takes over all other keys.
        Some(inherited) => inherited.gone.clone(),
        None => posted(&writing.before.chunks_raw(death.content)?).collect(),
    };
    let edit = inherited.and_then(|of| of.fingerprints.as_ref());
    let mut fingerprints = if let Some(edit) = edit {
        edit.gone.iter().map(|print| print.0).collect()
    } else {
        if death.is_denser {
            let denser = denser_than(writing, &death)?;
            death.fingerprints.extend(denser);
        }
        death.fingerprints
    };
    for ((kind, keys), lost) in [
        (PostingKind::Chunk, &mut chunk_keys),
        (PostingKind::Fingerprint, &mut fingerprints),
    ]
    .into_iter()
    .zip(lost)
    {
        keys.sort_unstable();
        keys.dedup();
        for &key in &*keys {
            if writing.sets.count_of(kind, key).is_some() {
                *lost.entry(key).or_default() -= 1;
            }
        }
    }
    Ok(())
}

/// Counts every key in all segments and in the batch.
pub(super) fn recount(writing: &mut Writing<'_>, new: Option<&New>) -> Result<(), Refusal> {
    let segments = segments_before(writing);
    let mut counts = Boilerplate::default();
    for kind in PostingKind::ALL {
        let sources = sources(writing, &segments, new, kind)?;
        let mut merge = Merge::new(sources, writing.sets.live(kind));
        let mut counter = Counter::new(counts.of_mut(kind), near(writing.boilerplate_limit));
        loop {
            let next = merge.next()?;
            counter.see(next);
            if next.is_none() {
                break;
            }
        }
    }
    publish(writing, &counts)
}

/// Stores `counts` as the known keys of the next commit: all keys of more contents than [`near`].
pub(super) fn publish(writing: &mut Writing<'_>, counts: &Boilerplate) -> Result<(), Refusal> {
    writing.counters.uncounted = false;
    writing.counters.uncounted_births = 0;
    let mut changes = Vec::new();
    for kind in PostingKind::ALL {
        let mut known = writing.sets.boilerplate.of(kind).clone();
        known.extend(writing.sets.near.of(kind));
        let new = counts.of(kind);
        let mut changed: Vec<_> = changed_keys(&known, new).into_iter().collect();
        changed.sort_unstable();
        let changed = changed.into_iter();
        changes.extend(changed.map(|key| (kind, key, new.get(&key).copied())));
    }
    set(writing, changes)
}

/// Sets the number of contents that have each key. `None` removes a key that too few contents have.
/// If a key becomes boilerplate or is boilerplate no longer, all cached answers are outdated.
/// Otherwise, the answers that depend on a boilerplate key of `changes` are outdated.
fn set(
    writing: &mut Writing<'_>,
    changes: Vec<(PostingKind, u64, Option<u32>)>,
) -> Result<(), Refusal> {
    if changes.is_empty() {
        return Ok(());
    }
    let limit = writing.boilerplate_limit;
    let mut table = writing.txn.open_table(schema::BOILERPLATE)?;
    for (kind, key, count) in changes {
        let was = writing.sets.boilerplate.of(kind).contains_key(&key);
        let is = count.is_some_and(|count| count > limit);
        if was != is {
            writing.touched.everything();
        } else if is {
            writing.touched.key(kind, key);
        }
        match count {
            Some(count) => drop(table.insert((kind as u8, key), count)?),
            None => drop(table.remove((kind as u8, key))?),
        }
        writing.sets.set_count(kind, key, count, limit);
    }
    Ok(())
}

/// Counts all keys again after the boilerplate limit changed.
pub(crate) fn recount_all(writing: &mut Writing<'_>) -> Result<(), Refusal> {
    recount(writing, None)
}
