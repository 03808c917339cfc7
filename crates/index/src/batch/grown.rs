//! New contents that begin as a stored one: heirs of what they were, if that goes.
//!
//! What is written of an heir is what it has besides: see [`crate::heirs`]. A content that goes on
//! living (a copy of it grew) keeps what it has, and the new one is stored whole.

use std::collections::HashSet;

use resemble_core::{ChunkList, ContentId, GrownDigest};

use super::Writing;
use super::contents::{Contents, Fresh};
use super::postings::posted;
use crate::codec::lists::{decode_chunks, encode_chunks};
use crate::fault::Fault;
use crate::heirs::Heir;
use crate::schema::{self, PostingKind};
use crate::segments::read::has;
use crate::snapshot::OpenSegment;
use crate::store::{ReadableTable, Table};

/// A new content that has what a killed one had.
pub(super) struct Inherited {
    pub(super) ancestor: ContentId,
    pub(super) heir: ContentId,
    /// Runs of chunks, and chunks, that the heir has in all.
    pub(super) runs: u64,
    pub(super) chunks: u64,
    /// Keys of chunks that the ancestor had and its heir has not, ascending.
    pub(super) gone: Vec<u64>,
}

impl Contents<'_> {
    /// Gives new contents that have grown what they begin with: as heirs, or all chunks.
    pub(super) fn inherit(
        &self,
        fresh: &mut [(Fresh, ContentId)],
        writing: &mut Writing<'_>,
    ) -> Result<Vec<Inherited>, Fault> {
        let mut inherited: Vec<Inherited> = Vec::new();
        for (fresh, heir) in fresh {
            let Some((base, runs)) = fresh.base else {
                continue;
            };
            let has_heir = inherited.iter().any(|of| of.ancestor == base);
            if self.goes(base)? && !has_heir {
                inherited.push(self.bequeath(
                    base,
                    *heir,
                    (runs, &fresh.digest.chunks),
                    writing,
                )?);
                continue;
            }
            let grown = GrownDigest {
                base: self.row(base)?.digest,
                runs,
                digest: fresh.digest.clone(),
            };
            let chunks = writing.before.chunks_raw(base)?;
            let whole = grown.whole(chunks);
            fresh.digest = whole.ok_or_else(|| Fault::damaged("a chunk list is too short"))?;
        }
        Ok(inherited)
    }

    /// Replaces the end of the chunk list of a content and makes it another's.
    fn bequeath(
        &self,
        ancestor: ContentId,
        heir: ContentId,
        (runs, further): (u64, &ChunkList),
        writing: &mut Writing<'_>,
    ) -> Result<Inherited, Fault> {
        let row = self.row(ancestor)?;
        let list = writing.sets.heirs.list_of(ancestor);
        let mut lists = writing.txn.open_table(schema::CHUNK_LISTS)?;
        let mut last = Last::of(&lists, list, row.chunk_runs, runs)?;
        let replaced = last.kept.0.split_off(last.split);
        let gone = gone(&lists, list, &last, &replaced, further)?;
        last.kept.0.extend_from_slice(&further.0);
        let mut number = last.number;
        encode_chunks(&last.kept, |part| {
            lists.insert((list, number), part)?;
            number += 1;
            Ok::<_, Fault>(())
        })?;
        lists.retain_in((list, number)..=(list, u32::MAX), |_, _| false)?;
        drop(lists);
        let mut heirs = writing.heirs();
        heirs.forget_list(ancestor)?;
        heirs.set_list(heir, list)?;
        let count = |runs: &ChunkList| runs.len_chunks();
        Ok(Inherited {
            ancestor,
            heir,
            runs: runs + further.0.len() as u64,
            chunks: row.chunks.saturating_sub(count(&ChunkList(replaced))) + count(further),
            gone,
        })
    }
}

/// The end of a chunk list: from the part on in which it is to be another one.
struct Last {
    number: u32,
    kept: ChunkList,
    /// Runs of `kept` that stay.
    split: usize,
}

impl Last {
    /// The parts from the one with run `from` on, of a list of `runs`.
    fn of(
        lists: &Table<'_, (u32, u32), &'static [u8]>,
        list: u32,
        runs: u64,
        from: u64,
    ) -> Result<Self, Fault> {
        let damaged = || Fault::damaged("a chunk list is too short");
        let mut parts: Vec<ChunkList> = Vec::new();
        let (mut number, mut first) = (0, runs);
        for row in lists.range((list, 0)..=(list, u32::MAX))?.rev() {
            let (key, part) = row?;
            let mut runs = ChunkList::default();
            decode_chunks(part.value(), &mut runs)?;
            first = (first.checked_sub(runs.0.len() as u64)).ok_or_else(damaged)?;
            number = key.value().1;
            parts.push(runs);
            if first <= from {
                break;
            }
        }
        let kept: Vec<_> = parts.into_iter().rev().flat_map(|part| part.0).collect();
        let split = from.checked_sub(first).ok_or_else(damaged)?;
        let split = usize::try_from(split).map_err(|_| damaged())?;
        if split > kept.len() {
            return Err(damaged());
        }
        Ok(Self {
            number,
            kept: ChunkList(kept),
            split,
        })
    }
}

/// The keys of `replaced` that neither the runs that stay have nor those that come.
fn gone(
    lists: &Table<'_, (u32, u32), &'static [u8]>,
    list: u32,
    last: &Last,
    replaced: &[resemble_core::ChunkRun],
    further: &ChunkList,
) -> Result<Vec<u64>, Fault> {
    let replaced = ChunkList(replaced.to_vec());
    let mut gone: HashSet<u64> = posted(&replaced).collect();
    for key in posted(further).chain(posted(&last.kept)) {
        gone.remove(&key);
    }
    let mut runs = ChunkList::default();
    // A chunk that is replaced may stand elsewhere in a content, which then still has it.
    if !gone.is_empty() && last.number > 0 {
        for part in lists.range((list, 0)..(list, last.number))? {
            runs.0.clear();
            decode_chunks(part?.1.value(), &mut runs)?;
            for key in posted(&runs) {
                gone.remove(&key);
            }
        }
    }
    let mut gone: Vec<u64> = gone.into_iter().collect();
    gone.sort_unstable();
    Ok(gone)
}

/// Notes whose postings are the heirs' now. The ancestors are among the dead already.
pub(super) fn bequeath_postings(
    writing: &mut Writing<'_>,
    inherited: &[Inherited],
) -> Result<(), Fault> {
    for Inherited {
        ancestor,
        heir,
        gone,
        ..
    } in inherited
    {
        let heirs = writing.sets.heirs.ancestors(*ancestor);
        let mut ancestors: Vec<(u32, Vec<u64>)> =
            heirs.map(|(id, heir)| (id, heir.gone.clone())).collect();
        ancestors.push((ancestor.0, Vec::new()));
        for (id, mut lost) in ancestors {
            let Some(segment) = segment_of(writing, id) else {
                continue;
            };
            let Some(table) = segment.table(PostingKind::Chunk) else {
                continue;
            };
            for &key in gone {
                if has(table, (key, id))? {
                    lost.push(key);
                }
            }
            lost.sort_unstable();
            lost.dedup();
            let heir = Heir {
                content: heir.0,
                gone: lost,
            };
            writing.heirs().put(id, heir)?;
        }
    }
    Ok(())
}

/// Whether a content has a chunk posting by one of its ancestors.
pub(super) fn has_inherited(
    writing: &Writing<'_>,
    heir: ContentId,
    key: u64,
) -> Result<bool, Fault> {
    for (ancestor, heir) in writing.sets.heirs.ancestors(heir) {
        let table = segment_of(writing, ancestor).and_then(|s| s.table(PostingKind::Chunk));
        if let Some(table) = table
            && heir.gone.binary_search(&key).is_err()
            && has(table, (key, ancestor))?
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The segment that has the postings of a content, dead or not.
pub(super) fn segment_of<'w>(writing: &'w Writing<'_>, content: u32) -> Option<&'w OpenSegment> {
    let mut segments = writing.before.segments().iter();
    segments.find(|segment| (segment.row.first..=segment.row.last).contains(&content))
}
