//! Makes a new content the heir of a stored content, if the two are mostly equal.
//!
//! For an heir, only the difference from its ancestor is written: see [`crate::heirs`]. A new
//! content can become an heir in two cases. Either the reader gave it as edits of the old content,
//! for example for a file that has grown. Or the new content is large, and its file had a mostly
//! equal content before. Examples are a disk image in which one block was written, and a mailbox
//! with a new message. If a file or a container still has the old content, that content keeps its
//! data, and the new content is written whole.

use std::collections::HashSet;
use std::ops::Range;

use memchr::memmem::Finder;
use resemble_core::{ByteLen, ChunkEdit, ChunkList, ContentId};

use super::Writing;
use super::contents::{Base, Contents, Fresh, Inherited, STEP};
use crate::codec::lists::{decode_chunks, encode_chunks, is_last};
use crate::fault::Fault;
use crate::heirs::{Heir, Heirs};
use crate::schema::{self, PostingKind};
use crate::segments::read::has;
use crate::segments::{Postings, posted};
use crate::snapshot::OpenSegment;
use crate::store::{ReadableTable, Table};

/// A range of runs in a stored chunk list, and the range of runs in a new list that replaces it.
type OtherRuns = (Range<u64>, Range<usize>);

/// A content with fewer runs of chunks than this is written whole, unless it was given as edits.
const MANY: usize = 1 << 10;

/// Edits that insert at least this many runs are not applied as they are. Instead, the old list and
/// the new list are compared from both ends, which gives one edit.
const MOST_NEW: usize = 1 << 16;

/// The number of runs in a full part of a chunk list. Suppose that the parts of a list have on
/// average fewer than half as many runs. Then the new content is written whole, unless it was given
/// as edits.
const FULL: u64 = 226;

/// Up to this many keys are searched for in the encoded bytes of a chunk list. To find more keys,
/// the list is decoded.
const FEW_GONE: usize = 4;

type ChunkLists<'t> = Table<'t, (u32, u32), &'static [u8]>;

impl Contents<'_> {
    /// Stores each new content as an heir of an old content, if that is possible. Leaves in `fresh`
    /// the chunks that are still to be written. Returns the heirs.
    pub(super) fn inherit(
        &self,
        fresh: &mut [(Fresh, ContentId)],
        writing: &mut Writing<'_>,
    ) -> Result<Vec<Inherited>, Fault> {
        let mut inherited: Vec<Inherited> = Vec::new();
        for (fresh, heir) in fresh {
            let base = fresh.base.as_ref().map(|base| base.content);
            let Some(ancestor) = base.or(fresh.was) else {
                continue;
            };
            let has_heir = inherited.iter().any(|of| of.ancestor == ancestor);
            let may_inherit = !has_heir && self.goes(ancestor)?;
            let mut fingerprints = None;
            if let Some(base) = fresh.base.take() {
                if may_inherit && are_few(&base.chunks) {
                    inherited.push(self.bequeath(base, (fresh, *heir), writing)?);
                    continue;
                }
                // The whole list is made. Then it is written, or compared with the stored list,
                // because many of the inserted chunks may only have moved.
                let stored = writing.before.chunks_raw(ancestor)?;
                if !fresh.digest.complete(&stored, base.chunks) {
                    return Err(too_short());
                }
                fingerprints = base.fingerprints;
            }
            if may_inherit
                && fresh.digest.chunks.0.len() >= MANY
                && let Some((runs, by)) = self.edit(ancestor, &fresh.digest.chunks, writing)?
            {
                let chunks = &mut fresh.digest.chunks;
                chunks.0.truncate(by.end);
                chunks.0.drain(..by.start);
                let by = std::mem::take(chunks);
                let base = Base {
                    content: ancestor,
                    chunks: vec![ChunkEdit { runs, by }],
                    fingerprints,
                };
                inherited.push(self.bequeath(base, (fresh, *heir), writing)?);
            }
        }
        Ok(inherited)
    }

    /// Returns whether these edits turn the chunks of the content `base` into those of a content of
    /// `size` bytes.
    pub(super) fn fit(
        &self,
        edits: &[ChunkEdit],
        base: ContentId,
        size: ByteLen,
        writing: &Writing<'_>,
    ) -> Result<bool, Fault> {
        let row = self.row(base)?;
        let are_apart = edits
            .windows(2)
            .all(|two| two[0].runs.end <= two[1].runs.start);
        if !are_apart || edits.iter().any(|edit| edit.runs.start > edit.runs.end) {
            return Ok(false);
        }
        let from = edits.first().map_or(u64::MAX, |edit| edit.runs.start);
        let list = writing.sets.heirs.list_of(base);
        let lists = writing.txn.open_table(schema::CHUNK_LISTS)?;
        let (mut replaced, mut first) = (0, row.chunk_runs);
        let mut runs = ChunkList::default();
        for part in lists.range((list, 0)..=(list, u32::MAX))?.rev() {
            if first <= from {
                break;
            }
            runs.0.clear();
            decode_chunks(part?.1.value(), &mut runs)?;
            let end = first;
            first = (first.checked_sub(runs.0.len() as u64)).ok_or_else(too_short)?;
            let next = edits.partition_point(|edit| edit.runs.end <= first);
            for edit in edits[next..]
                .iter()
                .take_while(|edit| edit.runs.start < end)
            {
                let of = |run: u64| (run.clamp(first, end) - first) as usize;
                let runs = &runs.0[of(edit.runs.start)..of(edit.runs.end)];
                let bytes = runs.iter().map(|run| u64::from(run.len) * run.count);
                replaced += bytes.sum::<u64>();
            }
        }
        let new: u64 = edits.iter().map(|edit| edit.by.total_len().0).sum();
        let left = row.size.0.checked_sub(replaced).ok_or_else(too_short)?;
        Ok(ByteLen(left + new) == size)
    }

    /// Returns a range of runs of a stored content, and the range of runs of `new` that replaces
    /// the stored range. Returns `None` unless more than half of the runs of each content are
    /// outside of the ranges. Also returns `None` if the stored parts are too small ([`FULL`]).
    fn edit(
        &self,
        stored: ContentId,
        new: &ChunkList,
        writing: &Writing<'_>,
    ) -> Result<Option<OtherRuns>, Fault> {
        let (new, old_runs) = (&new.0, self.row(stored)?.chunk_runs);
        let list = writing.sets.heirs.list_of(stored);
        let lists = writing.txn.open_table(schema::CHUNK_LISTS)?;
        let mut runs = ChunkList::default();
        let (mut start, mut parts) = (0, 0);
        let mut differs = false;
        for part in lists.range((list, 0)..=(list, u32::MAX))? {
            parts += 1;
            if !differs {
                runs.0.clear();
                decode_chunks(part?.1.value(), &mut runs)?;
                let same = runs.0.iter().zip(&new[start..]);
                let same = same.take_while(|(old, new)| old == new).count();
                start += same;
                differs = same < runs.0.len();
            }
        }
        let mut same_end = 0;
        let most = (new.len() as u64).min(old_runs) - start as u64;
        'parts: for part in lists.range((list, 0)..=(list, u32::MAX))?.rev() {
            runs.0.clear();
            decode_chunks(part?.1.value(), &mut runs)?;
            for old in runs.0.iter().rev() {
                let at = new.len() - same_end;
                if same_end as u64 == most || new[at - 1] != *old {
                    break 'parts;
                }
                same_end += 1;
            }
        }
        let old = start as u64..old_runs - same_end as u64;
        let new = start..new.len() - same_end;
        let stays = (start + same_end) as u64;
        let most_stays = stays > old.end - old.start && stays > new.len() as u64;
        let is_full = parts * FULL / 2 <= old_runs + FULL;
        Ok((most_stays && is_full).then_some((old, new)))
    }

    /// Applies the edits to the chunk list of an ancestor. The result is the chunk list of the
    /// heir. Only the inserted chunks stay in the digest of the heir.
    fn bequeath(
        &self,
        base: Base,
        (fresh, heir): (&mut Fresh, ContentId),
        writing: &mut Writing<'_>,
    ) -> Result<Inherited, Fault> {
        let Base {
            content: ancestor,
            chunks: mut edits,
            fingerprints,
        } = base;
        let row = self.row(ancestor)?;
        let list = writing.sets.heirs.list_of(ancestor);
        let mut lists = writing.txn.open_table(schema::CHUNK_LISTS)?;
        let (mut runs, mut chunks, mut size) = (row.chunk_runs, row.chunks, row.size.0);
        let (mut gone, mut changed) = (HashSet::new(), None);
        // The edits are applied from the last to the first, so that each edit's run numbers are
        // still right.
        for edit in edits.iter_mut().rev() {
            edit.runs = edit.runs.start.min(runs)..edit.runs.end.min(runs);
            let of = |range| Stretch::of(&lists, list, (runs, size), range);
            if !edit.by.0.is_empty() {
                narrow(edit, &of(edit.runs.clone())?.replaced);
            }
            if edit.is_none() {
                continue;
            }
            let mut stretch = of(edit.runs.clone())?;
            let by = &edit.by;
            gone.extend(self::gone(&lists, list, &stretch, by)?);
            let replaced = std::mem::take(&mut stretch.replaced);
            let (start, end) = (stretch.start, stretch.start + replaced.total_len().0);
            stretch.write(&mut lists, list, by)?;
            let behind = size.checked_sub(end).ok_or_else(too_short)?;
            let left = |had: u64, lost: u64| had.checked_sub(lost).ok_or_else(too_short);
            runs = left(runs, replaced.0.len() as u64)? + by.0.len() as u64;
            chunks = left(chunks, replaced.len_chunks())? + by.len_chunks();
            size = start + by.total_len().0 + behind;
            let (_, behind_last) = changed.unwrap_or((0, behind));
            changed = Some((start, behind_last));
        }
        if ByteLen(size) != fresh.digest.size {
            return Err(too_short());
        }
        drop(lists);
        let mut heirs = writing.heirs();
        heirs.forget_list(ancestor)?;
        heirs.set_list(heir, list)?;
        for mut edit in edits {
            fresh.digest.chunks.append(&mut edit.by);
        }
        // A chunk that one edit removes may be inserted by another edit. Then it is not gone.
        for key in posted(&fresh.digest.chunks) {
            gone.remove(&key);
        }
        let mut gone: Vec<u64> = gone.into_iter().collect();
        gone.sort_unstable();
        let (start, behind) = changed.unwrap_or((size, 0));
        Ok(Inherited {
            ancestor,
            heir,
            runs,
            chunks,
            gone,
            fingerprints,
            changed: start..size - behind,
            sizes: (row.size, ByteLen(size)),
        })
    }
}

/// Returns whether the edits can be applied as they are: see [`MOST_NEW`].
fn are_few(edits: &[ChunkEdit]) -> bool {
    edits.iter().map(|edit| edit.by.0.len()).sum::<usize>() < MOST_NEW
}

/// Removes from an edit its first and its last runs, if the replaced list has the same runs there.
fn narrow(edit: &mut ChunkEdit, replaced: &ChunkList) {
    let (start, end) = replaced.common_ends(&edit.by);
    let new = &mut edit.by.0;
    new.truncate(new.len() - end);
    new.drain(..start);
    edit.runs = edit.runs.start + start as u64..edit.runs.end - end as u64;
}

fn too_short() -> Fault {
    Fault::damaged("a chunk list is too short")
}

/// The parts of a chunk list in which an edit replaces runs.
struct Stretch {
    /// The number of the first part of the stretch, and the number of the first part behind the
    /// stretch, if there is one.
    parts: (u32, Option<u32>),
    head: ChunkList,
    replaced: ChunkList,
    tail: ChunkList,
    /// The offset of the first replaced byte in the content.
    start: u64,
}

impl Stretch {
    /// Reads the parts that hold the runs of `range`. The list has `all` runs and `size` bytes.
    fn of(
        lists: &ChunkLists<'_>,
        list: u32,
        (all, size): (u64, u64),
        range: Range<u64>,
    ) -> Result<Self, Fault> {
        let mut found: Vec<ChunkList> = Vec::new();
        let (mut first, mut start, mut parts) = (all, size, (0, None));
        for row in lists.range((list, 0)..=(list, u32::MAX))?.rev() {
            let (key, part) = row?;
            let mut runs = ChunkList::default();
            decode_chunks(part.value(), &mut runs)?;
            first = (first.checked_sub(runs.0.len() as u64)).ok_or_else(too_short)?;
            start = (start.checked_sub(runs.total_len().0)).ok_or_else(too_short)?;
            let number = key.value().1;
            if first >= range.end && number > 0 {
                parts.1 = Some(number);
                continue;
            }
            parts.0 = number;
            found.push(runs);
            if first <= range.start {
                break;
            }
        }
        let mut head: Vec<_> = found.into_iter().rev().flat_map(|part| part.0).collect();
        let at = |run: u64| {
            let at = run
                .checked_sub(first)
                .and_then(|at| usize::try_from(at).ok());
            at.filter(|&at| at <= head.len()).ok_or_else(too_short)
        };
        let (from, to) = (at(range.start)?, at(range.end)?);
        let tail = ChunkList(head.split_off(to));
        let replaced = ChunkList(head.split_off(from));
        let head = ChunkList(head);
        Ok(Self {
            parts,
            start: start + head.total_len().0,
            head,
            replaced,
            tail,
        })
    }

    /// Writes the parts of the stretch again. The runs of `by` take the place of the replaced runs.
    fn write(self, lists: &mut ChunkLists<'_>, list: u32, by: &ChunkList) -> Result<(), Fault> {
        let (number, mut next) = self.parts;
        let mut runs = self.head;
        runs.0.extend_from_slice(&by.0);
        runs.0.extend(self.tail.0);
        let mut parts = encoded(&runs)?;
        // A reader takes a short part for the last part of its list. So if the first part is short,
        // it is joined with the parts behind it. Parts are also joined if too few numbers are free
        // for them.
        while let Some(behind) = next
            && (parts.len() > (behind - number) as usize
                || (number == 0 && parts.first().is_none_or(|part| is_last(part))))
        {
            // Only the last new part can be short. So only the runs of this part are encoded again,
            // together with the runs of the part behind it.
            runs.0.clear();
            if let Some(last) = parts.pop() {
                decode_chunks(&last, &mut runs)?;
            }
            let follows = lists.get((list, behind))?.ok_or_else(too_short)?;
            decode_chunks(follows.value(), &mut runs)?;
            drop(follows);
            parts.extend(encoded(&runs)?);
            let mut rest = lists.range((list, behind + 1)..=(list, u32::MAX))?;
            next = rest.next().transpose()?.map(|row| row.0.value().1);
        }
        let end = next.map_or(u32::MAX, |behind| behind - 1);
        lists.retain_in((list, number)..=(list, end), |_, _| false)?;
        let step = match next {
            Some(behind) => (behind - number) / (parts.len() as u32).max(1),
            None => STEP,
        };
        for (part, number) in parts.iter().zip((number..).step_by(step as usize)) {
            lists.insert((list, number), &part[..])?;
        }
        Ok(())
    }
}

fn encoded(runs: &ChunkList) -> Result<Vec<Vec<u8>>, Fault> {
    let mut parts = Vec::new();
    encode_chunks(runs, |part| {
        parts.push(part.to_vec());
        Ok::<_, Fault>(())
    })?;
    Ok(parts)
}

/// Returns a searcher for each key. The searcher can find the key in the encoded bytes of a part,
/// because a key is the first five bytes of a chunk's hash.
fn finders(keys: &HashSet<u64>) -> Vec<Finder<'static>> {
    let keys = keys.iter().map(|key| key.to_be_bytes());
    keys.map(|key| Finder::new(&key[3..]).into_owned())
        .collect()
}

/// Returns the keys of the replaced runs that occur neither in the new runs nor elsewhere in the
/// list.
fn gone(
    lists: &ChunkLists<'_>,
    list: u32,
    stretch: &Stretch,
    by: &ChunkList,
) -> Result<HashSet<u64>, Fault> {
    let mut gone: HashSet<u64> = posted(&stretch.replaced).collect();
    for key in [by, &stretch.head, &stretch.tail]
        .into_iter()
        .flat_map(posted)
    {
        gone.remove(&key);
    }
    // A replaced chunk may also occur in the rest of the list. Then the content still has it.
    let (first, next) = stretch.parts;
    let before = lists.range((list, 0)..(list, first))?;
    let behind = next.map(|next| lists.range((list, next)..=(list, u32::MAX)));
    let mut runs = ChunkList::default();
    let few = (gone.len() <= FEW_GONE).then(|| finders(&gone));
    for part in before.chain(behind.transpose()?.into_iter().flatten()) {
        if gone.is_empty() {
            break;
        }
        let (_, part) = part?;
        let may_have = |finders: &Vec<Finder<'_>>| {
            let mut finders = finders.iter();
            finders.any(|finder| finder.find(part.value()).is_some())
        };
        if few.as_ref().is_some_and(|few| !may_have(few)) {
            continue;
        }
        runs.0.clear();
        decode_chunks(part.value(), &mut runs)?;
        for key in posted(&runs) {
            gone.remove(&key);
        }
    }
    Ok(gone)
}

/// For each ancestor, records the heir that takes over its postings. The ancestors are in the set
/// of dead contents already.
pub(super) fn bequeath_postings(
    writing: &mut Writing<'_>,
    inherited: &[Inherited],
) -> Result<(), Fault> {
    for inheritance in inherited {
        let Inherited {
            ancestor,
            heir,
            gone,
            fingerprints,
            changed,
            ..
        } = inheritance;
        let heirs = writing.sets.heirs.ancestors(*ancestor);
        let mut ancestors: Vec<(u32, Heir)> = heirs
            .map(|(id, before)| {
                let changed = inheritance.all_changed(before);
                (
                    id,
                    Heir {
                        changed,
                        ..before.clone()
                    },
                )
            })
            .collect();
        let of_ancestor = Heir {
            content: heir.0,
            changed: Some(changed.clone()),
            gone: Vec::new(),
            gone_fingerprints: Some(Vec::new()),
        };
        ancestors.push((ancestor.0, of_ancestor));
        for (id, mut of) in ancestors {
            let Some(segment) = segment_of(writing, id) else {
                continue;
            };
            of.content = heir.0;
            if let Some(table) = segment.postings(PostingKind::Chunk) {
                lose(&mut of.gone, gone.iter().copied(), id, table)?;
            }
            match (&mut of.gone_fingerprints, fingerprints) {
                (Some(lost), Some(edit)) => {
                    if let Some(table) = segment.postings(PostingKind::Fingerprint) {
                        lose(lost, edit.gone.iter().map(|print| print.0), id, table)?;
                    }
                }
                (lost, _) => *lost = None,
            }
            writing.heirs().put(id, of)?;
        }
    }
    Ok(())
}

/// Adds to `lost` each key of `gone` for which the segment has a posting of the ancestor.
fn lose(
    lost: &mut Vec<u64>,
    gone: impl Iterator<Item = u64>,
    ancestor: u32,
    postings: Postings<'_>,
) -> Result<(), Fault> {
    for key in gone {
        if has(postings, (key, ancestor))? {
            lost.push(key);
        }
    }
    lost.sort_unstable();
    lost.dedup();
    Ok(())
}

impl Inherited {
    /// Returns a range outside which no byte of the heir differs from its ancestor's ancestor.
    /// Returns `None` if no such range is known.
    fn all_changed(&self, before: &Heir) -> Option<Range<u64>> {
        let before = before.changed.as_ref()?;
        let (was, is) = self.sizes;
        let end = match self.changed.end {
            // In the first case, no byte follows the last change. In the second case, the sizes are
            // equal, so no byte after the last change has moved.
            end if end == is.0 => end,
            end if was == is => end.max(before.end),
            _ => return None,
        };
        Some(self.changed.start.min(before.start)..end)
    }
}

/// The postings of one kind that a content takes over from its ancestors.
pub(super) struct InheritedPostings<'w>(Vec<(u32, &'w [u64], Postings<'w>)>);

impl<'w> InheritedPostings<'w> {
    pub(super) fn of(
        writing: &'w Writing<'_>,
        heirs: &'w Heirs,
        heir: ContentId,
        kind: PostingKind,
    ) -> Self {
        let tables = heirs.ancestors(heir).filter_map(|(ancestor, heir)| {
            let table = segment_of(writing, ancestor)?.postings(kind)?;
            Some((ancestor, heir.gone(kind)?, table))
        });
        Self(tables.collect())
    }

    pub(super) fn has(&self, key: u64) -> Result<bool, Fault> {
        for (ancestor, gone, table) in &self.0 {
            if gone.binary_search(&key).is_err() && has(*table, (key, *ancestor))? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// Returns the segment whose range of ids includes the content, even if the content is dead.
pub(super) fn segment_of<'w>(writing: &'w Writing<'_>, content: u32) -> Option<&'w OpenSegment> {
    let mut segments = writing.before.segments().iter();
    segments.find(|segment| (segment.row.first..=segment.row.last).contains(&content))
}
