//! Finds the pairs of contents in memory (a block) that share pieces, for `pairs` and `groups`.
//!
//! 1. For each kind of piece, the pairs (key of the piece, content) are sorted, which gives posting
//!    lists.
//! 2. For each content, the lists of its keys are read. A counter for every later content counts
//!    those of these lists that also contain the later content. The time is proportional to the sum
//!    of the squared lengths of the lists. The memory is proportional to the number of contents.
//!    (Forman, Eshghi & Chiocchetti 2005, section 2.3, step 4, with contents instead of files.)
//! 3. Two contents that share a chunk or two fingerprints are a candidate pair
//!    ([`Common::is_candidate`]). A single common fingerprint may be from a common phrase, so it is
//!    enough only for short texts ([`Common::is_candidate_of`]).
//!
//! The frequency of a piece is the number of *otherwise different* contents that have it: a family
//! of near-copies ([`Families`]) counts once. So a list may be longer than the limit if most of its
//! contents are near-copies. In such a list, each content is paired only with its neighbours and
//! with the first content, which represents the family. So the time stays linear.
//!
//! If a collection is larger than memory, contents outside of the block are compared with the block
//! one by one ([`PostingBlock::against`]). This finds the same pairs.

use std::collections::HashSet;
use std::sync::atomic::{AtomicUsize, Ordering};

use resemble_core::similarity::Boilerplate;
use resemble_core::{ContentKind, Fingerprint, StopFlag, Stopped};
use resemble_index::PostingKind;

pub use crate::nominate::common::{Common, PieceWorth, are_enough};

use crate::nominate::evidence::Counts;
use crate::nominate::families::{Families, NEIGHBOURS};
use crate::nominate::kept::{CHUNK, StoredSketch, chunk_keys, fingerprint_keys};
use crate::nominate::levels::SignatureLevels;
use crate::parallel::{in_a_step, on_threads};

impl Common {
    /// Counts the pieces of another content that are in `pieces`. The weights stay zero.
    pub fn of(pieces: &HashSet<u64>, other: &StoredSketch) -> Self {
        let count = |keys: Vec<u64>, kind: u64| {
            let common = keys.iter().filter(|&&key| pieces.contains(&(key | kind)));
            common.count() as u32
        };
        Self {
            fingerprints: count(fingerprint_keys(&other.sketch()), 0),
            chunks: count(chunk_keys(&other.sketch()), CHUNK),
            ..Self::NONE
        }
    }

    /// Counts the pieces by which two contents nominate each other. The weights stay zero.
    pub fn of_both(a: &StoredSketch, b: &StoredSketch, counts: &Counts) -> Self {
        let count = |kind| {
            let of_b = nominating_pieces(kind, b, counts);
            let mut common = nominating_pieces(kind, a, counts);
            common.retain(|key| of_b.binary_search(key).is_ok());
            common.len() as u32
        };
        Self {
            fingerprints: count(PostingKind::Fingerprint),
            chunks: count(PostingKind::Chunk),
            ..Self::NONE
        }
    }
}

/// Contents in memory, with the posting lists of their pieces.
#[derive(Debug)]
pub struct PostingBlock {
    /// The contents. The index of a content in this list is its place.
    pub kept: Vec<StoredSketch>,
    fingerprints: Lists,
    chunks: Lists,
    stop: StopFlag,
}

impl PostingBlock {
    /// Builds a block of all contents of a question, and counts their common pieces. A piece that
    /// more than `limit` otherwise different contents have gets no list. If `stop` is set, the
    /// search for candidates ends early.
    pub fn counting(
        kept: Vec<StoredSketch>,
        families: &Families,
        limit: u32,
        stop: &StopFlag,
    ) -> (Self, Counts) {
        let mut counts = Counts::new(limit);
        let samples = own_fingerprints;
        let limits = (limit as usize, limit);
        let is_text = |content: &StoredSketch| content.kind == ContentKind::Text;
        let level = |content: &StoredSketch| (is_text(content), content.signature.level);
        let levels = SignatureLevels::of(families, (0u32..).zip(kept.iter().map(level)));
        let mut scratch = Vec::new();
        let fingerprints = Lists::new(&kept, limits, samples, |key, places| {
            let contents = families.count(places, &mut scratch);
            let is_text = is_text(&kept[places[0] as usize]);
            let contents = levels.contents(Fingerprint(key), is_text, contents, limit);
            counts.note(PostingKind::Fingerprint, key, contents);
            contents
        });
        for content in &kept {
            counts.note_passages(&content.sketch());
        }
        let mut of_chunks = Counts::new(limit);
        let chunks =
            |content: &StoredSketch| usable(own_chunks(content), PostingKind::Chunk, &counts);
        let chunks = Lists::new(&kept, limits, chunks, |key, places| {
            let contents = families.count(places, &mut scratch);
            of_chunks.note(PostingKind::Chunk, key, contents);
            contents
        });
        counts.join(of_chunks);
        let block = Self {
            kept,
            fingerprints,
            chunks,
            stop: stop.clone(),
        };
        (block, counts)
    }

    /// Builds a block of some of the contents of a question. `counts` has the pieces that are
    /// common among all of them. If `stop` is set, the search for candidates ends early.
    pub fn of(kept: Vec<StoredSketch>, counts: &Counts, stop: &StopFlag) -> Self {
        let limits = (usize::MAX, counts.limit());
        let of_kind = |kind| {
            let keys = |content: &StoredSketch| nominating_pieces(kind, content, counts);
            Lists::new(&kept, limits, keys, |_, places| places.len())
        };
        let fingerprints = of_kind(PostingKind::Fingerprint);
        let chunks = of_kind(PostingKind::Chunk);
        Self {
            kept,
            fingerprints,
            chunks,
            stop: stop.clone(),
        }
    }

    /// Returns the fingerprints in ascending order, each with the places of the contents that have
    /// it. Boilerplate is left out.
    pub(crate) fn lists_of_fingerprints(&self) -> impl Iterator<Item = (Fingerprint, &[u32])> + '_ {
        let lists = &self.fingerprints;
        (0..lists.keys.len()).map(|at| {
            let (begin, end) = lists.range(at);
            (Fingerprint(lists.keys[at].0), &lists.contents[begin..end])
        })
    }

    /// Calls `found` with the places of each pair of contents that share something, the lesser
    /// place first. Each of the `threads` threads has its own state. Returns all states, or one
    /// failure. All pairs with the same lesser place are found by the same thread, one after
    /// another.
    pub fn nominees<S: Send, E: Send + From<Stopped>>(
        &self,
        threads: usize,
        start: impl Fn() -> S + Sync,
        found: impl Fn(&mut S, usize, usize, Common) -> Result<(), E> + Sync,
    ) -> Result<Vec<S>, E> {
        let later = |_, rest: &ListRest, contents: &[u32], tally: &mut Tally, kind| {
            for &b in contents {
                tally.at(b).add(kind, rest.worth);
            }
        };
        in_a_step(self.kept.len(), |done| {
            self.nominees_by(later, threads, start, found, done)
        })
    }

    /// Does the same as [`Self::nominees`], but only for these pairs. `pairs` has, for each place,
    /// the later places that it is paired with, in ascending order.
    pub fn among<S: Send, E: Send + From<Stopped>>(
        &self,
        pairs: &[Vec<u32>],
        threads: usize,
        start: impl Fn() -> S + Sync,
        found: impl Fn(&mut S, usize, usize, Common) -> Result<(), E> + Sync,
    ) -> Result<Vec<S>, E> {
        let later = |a: usize, rest: &ListRest, contents: &[u32], tally: &mut Tally, kind| {
            let wanted = &pairs[a][..];
            let (few, many) = if wanted.len() < contents.len() {
                (wanted, contents)
            } else {
                (contents, wanted)
            };
            for &b in few.iter().filter(|b| many.binary_search(b).is_ok()) {
                tally.at(b).add(kind, rest.worth);
            }
        };
        in_a_step(self.kept.len(), |done| {
            self.nominees_by(later, threads, start, found, done)
        })
    }

    /// Does the work of [`Self::nominees`]. `later` counts the pieces that a content shares with
    /// the contents after it in a posting list.
    fn nominees_by<S: Send, E: Send + From<Stopped>>(
        &self,
        later: impl Fn(usize, &ListRest, &[u32], &mut Tally, PostingKind) + Sync,
        threads: usize,
        start: impl Fn() -> S + Sync,
        found: impl Fn(&mut S, usize, usize, Common) -> Result<(), E> + Sync,
        done: &(dyn Fn(usize) + Sync),
    ) -> Result<Vec<S>, E> {
        let next = AtomicUsize::new(0);
        on_threads(threads.min(self.kept.len()), || {
            let mut state = start();
            let mut tally = Tally::new(self.kept.len());
            loop {
                let a = next.fetch_add(1, Ordering::Relaxed);
                if a >= self.kept.len() {
                    return Ok(state);
                }
                done(1);
                self.stop.go_on()?;
                for (rest, contents) in self.fingerprints.later(a) {
                    later(a, rest, contents, &mut tally, PostingKind::Fingerprint);
                }
                for (rest, contents) in self.chunks.later(a) {
                    later(a, rest, contents, &mut tally, PostingKind::Chunk);
                }
                let drained = tally.drain(|b, common| {
                    self.stop.go_on()?;
                    found(&mut state, a, b, common)
                });
                if let Err(error) = drained {
                    // Sets `next` to the end. Then the other threads find no further content, and
                    // also end.
                    next.store(self.kept.len(), Ordering::Relaxed);
                    return Err(error);
                }
            }
        })
    }

    /// Calls `found` with the place of each content that shares something with `other`, in any
    /// order. `other` is not part of the block.
    pub fn against<E>(
        &self,
        other: &StoredSketch,
        tally: &mut Tally,
        found: impl FnMut(usize, Common) -> Result<(), E>,
    ) -> Result<(), E> {
        // Boilerplate has no list, so it is not counted.
        for key in own_fingerprints(other) {
            for &a in self.fingerprints.of_key(key) {
                tally.at(a).fingerprints += 1;
            }
        }
        for key in own_chunks(other) {
            for &a in self.chunks.of_key(key) {
                tally.at(a).chunks += 1;
            }
        }
        tally.drain(found)
    }
}

/// Returns the pieces by which a content nominates others, in ascending order.
pub fn nominating_pieces(kind: PostingKind, content: &StoredSketch, counts: &Counts) -> Vec<u64> {
    let keys = match kind {
        PostingKind::Fingerprint => own_fingerprints(content),
        PostingKind::Chunk => own_chunks(content),
    };
    usable(keys, kind, counts)
}

/// Returns the fingerprints by which a content nominates others. For a member of a family, these
/// are only the fingerprints that its leader lacks.
fn own_fingerprints(content: &StoredSketch) -> Vec<u64> {
    let mut keys = fingerprint_keys(&content.sketch());
    if let Some(of_leader) = &content.of_leader {
        keys.retain(|key| !of_leader.contains(key));
    }
    keys
}

/// Returns the chunks by which a content nominates others. For a member of a family, these are only
/// the chunks that its leader lacks.
fn own_chunks(content: &StoredSketch) -> Vec<u64> {
    let mut keys = chunk_keys(&content.sketch());
    if let Some(of_leader) = &content.of_leader {
        keys.retain(|key| !of_leader.contains(&(key | CHUNK)));
    }
    keys
}

fn usable(mut keys: Vec<u64>, kind: PostingKind, boilerplate: &Counts) -> Vec<u64> {
    keys.retain(|&key| match kind {
        PostingKind::Chunk => !Boilerplate::chunk(boilerplate, key),
        PostingKind::Fingerprint => !Boilerplate::fingerprint(boilerplate, Fingerprint(key)),
    });
    keys
}

/// The contents that follow a given content in a posting list.
#[derive(Clone, Copy, Debug, Default)]
struct ListRest {
    from: u32,
    to: u32,
    /// The weight of the key. It depends on the length of the whole list.
    worth: PieceWorth,
}

/// The posting lists of one kind of piece for the contents of a block.
#[derive(Debug)]
struct Lists {
    /// The keys that have a list, in ascending order, each with the index in `contents` at which
    /// the list begins. A list ends where the next list begins.
    keys: Vec<(u64, u32)>,
    /// The lists, one after another. A list has the places of its contents in ascending order.
    contents: Vec<u32>,
    /// For each content and each list that has it, the contents that follow it in the list. The
    /// entries of content `i` are `of[starts[i]..starts[i+1]]`.
    of: Vec<ListRest>,
    starts: Vec<usize>,
}

impl Lists {
    /// Builds the lists. Calls `count` with every key and the places of its contents. `count`
    /// returns the number of otherwise different contents among them. If this number exceeds
    /// `limit`, the key gets no list. If it exceeds `cutoff`, the key has no weight in
    /// [`Common::rare`].
    fn new(
        kept: &[StoredSketch],
        (limit, cutoff): (usize, u32),
        keys: impl Fn(&StoredSketch) -> Vec<u64>,
        mut count: impl FnMut(u64, &[u32]) -> usize,
    ) -> Self {
        let mut postings: Vec<(u64, u32)> = Vec::new();
        for (place, content) in (0u32..).zip(kept) {
            postings.extend(keys(content).into_iter().map(|key| (key, place)));
        }
        postings.sort_unstable();
        let mut lists = Self {
            keys: Vec::new(),
            contents: Vec::with_capacity(postings.len()),
            of: Vec::new(),
            starts: vec![0; kept.len() + 1],
        };
        let mut places = Vec::new();
        for list in postings.chunk_by(|a, b| a.0 == b.0) {
            places.clear();
            places.extend(list.iter().map(|&(_, place)| place));
            if count(list[0].0, &places) <= limit {
                lists.keys.push((list[0].0, lists.contents.len() as u32));
                lists.contents.extend(&places);
                // A content is paired only with later contents, so the last content of a list has
                // no entry.
                for &(_, place) in &list[..list.len() - 1] {
                    lists.starts[place as usize + 1] += 1;
                }
            }
        }
        drop(postings);
        for place in 0..kept.len() {
            lists.starts[place + 1] += lists.starts[place];
        }
        let mut next = lists.starts.clone();
        lists.of = vec![ListRest::default(); next[kept.len()]];
        for at in 0..lists.keys.len() {
            let (begin, end) = lists.range(at);
            let worth = PieceWorth::of((end - begin) as u32, cutoff);
            for from in begin..end.saturating_sub(1) {
                let next = &mut next[lists.contents[from] as usize];
                // In a list longer than the limit, only the first content is paired with all
                // others. It represents the family. Each other content is paired with its
                // neighbours.
                let to = if end - begin > limit && from > begin {
                    end.min(from + 1 + NEIGHBOURS)
                } else {
                    end
                };
                lists.of[*next] = ListRest {
                    from: from as u32 + 1,
                    to: to as u32,
                    worth,
                };
                *next += 1;
            }
        }
        lists
    }

    fn range(&self, at: usize) -> (usize, usize) {
        let end = self
            .keys
            .get(at + 1)
            .map_or(self.contents.len(), |next| next.1 as usize);
        (self.keys[at].1 as usize, end)
    }

    /// Returns, for each list that contains this content, the contents that follow it in the list.
    fn later(&self, place: usize) -> impl Iterator<Item = (&ListRest, &[u32])> + '_ {
        let lists = &self.of[self.starts[place]..self.starts[place + 1]];
        lists.iter().map(|rest| {
            let contents = &self.contents[rest.from as usize..rest.to as usize];
            (rest, contents)
        })
    }

    fn of_key(&self, key: u64) -> &[u32] {
        let Ok(at) = self.keys.binary_search_by_key(&key, |&(key, _)| key) else {
            return &[];
        };
        let (begin, end) = self.range(at);
        &self.contents[begin..end]
    }
}

/// Counts what one content shares with each content of a block.
#[derive(Debug)]
pub struct Tally {
    counts: Vec<Common>,
    touched: Vec<u32>,
}

impl Tally {
    /// Makes counters for a block of this many contents. All counters are zero.
    pub fn new(contents: usize) -> Self {
        Self {
            counts: vec![Common::NONE; contents],
            touched: Vec::new(),
        }
    }

    fn at(&mut self, place: u32) -> &mut Common {
        let count = &mut self.counts[place as usize];
        if *count == Common::NONE {
            self.touched.push(place);
        }
        count
    }

    /// Calls `found` with each content that shares something, and sets all counters to zero.
    fn drain<E>(&mut self, mut found: impl FnMut(usize, Common) -> Result<(), E>) -> Result<(), E> {
        let mut result = Ok(());
        for place in self.touched.drain(..) {
            let common = std::mem::take(&mut self.counts[place as usize]);
            if result.is_ok() {
                result = found(place as usize, common);
            }
        }
        result
    }
}

#[cfg(test)]
mod tests {
    use resemble_core::{ByteLen, ChunkList, ContentId, ContentKind, Signature};

    use super::*;

    /// In this phase all contents have been read, so only the block checks the stop flag.
    #[test]
    fn looking_for_pairs_ends_in_the_middle() {
        let alike = |id| StoredSketch {
            id: ContentId(id),
            whole: ByteLen(1000),
            size: ByteLen(1000),
            kind: ContentKind::Text,
            chunks: ChunkList::default(),
            signature: Signature {
                fingerprints: vec![Fingerprint(1), Fingerprint(2)],
                ..Signature::default()
            },
            words: None,
            of_leader: None,
        };
        let all: Vec<StoredSketch> = (0..100).map(alike).collect();
        let pairs = |stop: &StopFlag, stops: bool| {
            let (block, _) = PostingBlock::counting(all.clone(), &Families::default(), 1000, stop);
            let found = AtomicUsize::new(0);
            let looked = block.nominees(
                1,
                || (),
                |(), _, _, _| {
                    found.fetch_add(1, Ordering::Relaxed);
                    if stops {
                        stop.set();
                    }
                    Ok::<(), Stopped>(())
                },
            );
            (looked.map(drop), found.into_inner())
        };
        assert_eq!(pairs(&StopFlag::default(), false), (Ok(()), 100 * 99 / 2));
        assert_eq!(pairs(&StopFlag::default(), true), (Err(Stopped), 1));
    }
}
