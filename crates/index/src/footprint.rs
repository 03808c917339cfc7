//! Footprints show whether a cached answer is still valid after later commits. A footprint is the
//! set of contents and posting keys that an answer depends on. Each commit records which contents
//! and keys it changes.
//!
//! The snapshot itself notes the data that a question reads ([`crate::Snapshot::noting`]). So the
//! code of a question cannot forget to note something. Two kinds of data are noted, and a commit
//! *touches* the same two kinds:
//!
//! * **contents**: a content is noted if its row, its parts, its containers, its files or their
//!   names are read. All contents in a posting list that was read are noted, too;
//! * **posting keys**: a new content touches all its keys. A deleted content touches only itself,
//!   because the index does not know all its keys. That is enough, because a question that read one
//!   of the content's posting lists has noted the content.
//!
//! Keys that are left out as boilerplate are not noted. Most questions check many such keys, and
//! each new file with a common header would touch these keys. A commit touches everything if a key
//! becomes or ceases to be boilerplate, which is rare. A commit also touches everything if its
//! changes would take too much memory. A question that reads anything else (directories, records,
//! sums) has no footprint, so its answer is kept only until the next commit.
//!
//! Keys are stored as hashes of 32 bits. If two keys have the same hash, an answer is perhaps
//! computed again although it is still valid.

use std::collections::VecDeque;
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_core::ContentId;
use resemble_core::bits::BitSet;

use crate::codec::varint::{self, Reader};
use crate::schema::PostingKind;

/// The maximum number of contents and keys in a footprint. An answer that depends on more contents
/// and keys has no footprint.
const MOST_NOTED: usize = 1 << 16;

/// The maximum number of contents and keys of all recorded commits together. A single commit with
/// more contents and keys touches everything. At 4 bytes each, they take a quarter of a megabyte.
const MOST_TOUCHED: usize = 1 << 16;

fn hashed(kind: PostingKind, key: u64) -> u32 {
    // This is Fibonacci hashing. A key has at most 48 bits, so the kind fits into the bits above
    // the key.
    let key = key ^ ((kind as u64) << 56);
    (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as u32
}

/// Everything that a question has read so far.
#[derive(Debug, Default)]
pub(crate) struct ReadSet {
    contents: BitSet,
    keys: Vec<u32>,
    is_boundless: bool,
}

impl ReadSet {
    pub(crate) fn content(&mut self, content: ContentId) {
        if !self.is_boundless {
            self.contents.insert(content.0);
            self.bound();
        }
    }

    /// Notes the posting list of a key and the contents in that list.
    pub(crate) fn list(&mut self, kind: PostingKind, key: u64, contents: &[ContentId]) {
        if !self.is_boundless {
            self.keys.push(hashed(kind, key));
            for content in contents {
                self.contents.insert(content.0);
            }
            self.bound();
        }
    }

    /// Notes that the question read something that a footprint cannot express.
    pub(crate) fn anything(&mut self) {
        *self = Self {
            is_boundless: true,
            ..Self::default()
        };
    }

    fn bound(&mut self) {
        if self.contents.len() + self.keys.len() > MOST_NOTED {
            self.anything();
        }
    }

    /// Returns the footprint of an answer that was computed from commit `generation`. `None` if the
    /// answer depends on too much, or on something that a footprint cannot express.
    pub(crate) fn footprint(&self, log: &Arc<CommitLog>, generation: u64) -> Option<Footprint> {
        if self.is_boundless {
            return None;
        }
        let mut contents = Vec::new();
        let mut last = 0;
        for content in self.contents.iter() {
            varint::put(&mut contents, u64::from(content - last));
            last = content;
        }
        let mut keys = self.keys.clone();
        keys.sort_unstable();
        keys.dedup();
        Some(Footprint {
            log: Arc::clone(log),
            generation,
            contents: contents.into_boxed_slice(),
            keys: keys.into_boxed_slice(),
        })
    }
}

/// The contents and posting keys that an answer depends on: see [`crate::Snapshot::is_untouched`].
#[derive(Clone, Debug)]
pub struct Footprint {
    log: Arc<CommitLog>,
    /// No commit up to this one has touched the footprint since the answer was computed.
    generation: u64,
    /// The contents, ascending. Each is stored as its difference from the previous content, in
    /// varints.
    contents: Box<[u8]>,
    /// Hashes of the posting keys, ascending.
    keys: Box<[u32]>,
}

impl Footprint {
    /// Returns the number of bytes of memory that the footprint takes.
    pub fn bytes(&self) -> usize {
        size_of::<Self>() + self.contents.len() + size_of_val(&*self.keys)
    }

    /// Returns whether no commit up to `generation` has touched the footprint.
    pub(crate) fn stands(&mut self, log: &Arc<CommitLog>, generation: u64) -> bool {
        // If the logs are different, the index was closed and opened again. Then later commits are
        // not known.
        let stands = Arc::ptr_eq(&self.log, log)
            && (generation <= self.generation || !log.touches(self, generation));
        if stands {
            self.generation = self.generation.max(generation);
        }
        stands
    }

    fn contents(&self) -> impl Iterator<Item = u32> + '_ {
        let mut gaps = Reader(&self.contents);
        let mut last = 0;
        std::iter::from_fn(move || {
            last += gaps.u32()?;
            Some(last)
        })
    }

    /// Returns whether the footprint has one of the contents in `touched`. `touched` must be
    /// ascending.
    fn has_content(&self, touched: &[u32]) -> bool {
        let mut touched = touched.iter().copied().peekable();
        self.contents().any(|content| {
            while touched.next_if(|&other| other < content).is_some() {}
            touched.peek() == Some(&content)
        })
    }
}

/// The contents and posting keys that a commit changes.
#[derive(Debug, Default)]
pub(crate) struct WriteSet {
    contents: Vec<u32>,
    keys: Vec<u32>,
    is_everything: bool,
}

impl WriteSet {
    pub(crate) fn content(&mut self, content: ContentId) {
        if !self.is_everything {
            self.contents.push(content.0);
            self.bound();
        }
    }

    pub(crate) fn key(&mut self, kind: PostingKind, key: u64) {
        self.keys(kind, std::iter::once(key));
    }

    pub(crate) fn keys(&mut self, kind: PostingKind, keys: impl IntoIterator<Item = u64>) {
        for key in keys {
            if self.is_everything {
                return;
            }
            self.keys.push(hashed(kind, key));
            self.bound();
        }
    }

    pub(crate) fn everything(&mut self) {
        *self = Self {
            is_everything: true,
            ..Self::default()
        };
    }

    fn len(&self) -> usize {
        self.contents.len() + self.keys.len()
    }

    fn bound(&mut self) {
        if self.len() > MOST_TOUCHED {
            self.everything();
        }
    }
}

/// The changes of the latest commits.
#[derive(Debug)]
pub(crate) struct CommitLog(Mutex<Commits>);

#[derive(Debug)]
struct Commits {
    /// A generation. All commits after it are in `known`, unless they touched nothing.
    since: u64,
    /// Commits by their generations, ascending. A commit that failed stays here, because it may
    /// have reached the disk.
    known: VecDeque<(u64, WriteSet)>,
    touched: usize,
}

impl CommitLog {
    /// Makes a log of the commits after `generation`.
    pub(crate) fn since(generation: u64) -> Arc<Self> {
        Arc::new(Self(Mutex::new(Commits {
            since: generation,
            known: VecDeque::new(),
            touched: 0,
        })))
    }

    /// Records a commit before any reader can see it.
    pub(crate) fn push(&self, generation: u64, mut touched: WriteSet) {
        let mut commits = self.0.lock();
        if touched.is_everything {
            *commits = Commits {
                since: generation,
                known: VecDeque::new(),
                touched: 0,
            };
            return;
        }
        if touched.len() == 0 {
            return;
        }
        touched.contents.sort_unstable();
        touched.contents.dedup();
        touched.keys.sort_unstable();
        touched.keys.dedup();
        commits.touched += touched.len();
        commits.known.push_back((generation, touched));
        while commits.touched > MOST_TOUCHED
            && let Some((generation, first)) = commits.known.pop_front()
        {
            commits.since = generation;
            commits.touched -= first.len();
        }
    }

    /// Returns whether any commit after the footprint's own generation and up to `generation` has
    /// touched the footprint.
    fn touches(&self, footprint: &Footprint, generation: u64) -> bool {
        let commits = self.0.lock();
        if footprint.generation < commits.since {
            return true;
        }
        let later = || {
            let known = commits.known.iter();
            known
                .filter(|(of, _)| (footprint.generation + 1..=generation).contains(of))
                .map(|(_, touched)| touched)
        };
        let mut keys = later().flat_map(|touched| &touched.keys);
        if keys.any(|key| footprint.keys.binary_search(key).is_ok()) {
            return true;
        }
        let mut contents: Vec<u32> = later().flat_map(|of| &of.contents).copied().collect();
        contents.sort_unstable();
        !contents.is_empty() && footprint.has_content(&contents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn noted(contents: &[u32], keys: &[u64]) -> ReadSet {
        let mut noted = ReadSet::default();
        for &content in contents {
            noted.content(ContentId(content));
        }
        for &key in keys {
            noted.list(PostingKind::Chunk, key, &[]);
        }
        noted
    }

    fn touched(contents: &[u32], keys: &[u64]) -> WriteSet {
        let mut touched = WriteSet::default();
        for &content in contents {
            touched.content(ContentId(content));
        }
        for &key in keys {
            touched.key(PostingKind::Chunk, key);
        }
        touched
    }

    #[test]
    fn an_answer_stands_until_a_commit_touches_what_it_depends_on() {
        let log = CommitLog::since(7);
        let noted = noted(&[3, 200, 70_000], &[5, 1 << 40]);
        let footprint = || noted.footprint(&log, 7).unwrap();
        let mut old = footprint();
        log.push(8, touched(&[0, 4, 199, 201, 69_999, 70_001], &[4, 6]));
        assert!(old.stands(&log, 8) && footprint().stands(&log, 8));
        for (generation, one) in [
            (9, touched(&[200], &[])),
            (10, touched(&[70_000], &[])),
            (11, touched(&[], &[1 << 40])),
        ] {
            log.push(generation, one);
            let before = noted.footprint(&log, generation - 1);
            assert!(!before.unwrap().stands(&log, generation), "{generation}");
        }
        assert!(!old.stands(&log, 11) && !footprint().stands(&log, 9));
        // Only commits up to the given generation are considered.
        assert!(footprint().stands(&log, 8));
        assert!(!footprint().stands(&CommitLog::since(7), 8));
    }

    #[test]
    fn a_chunk_is_no_fingerprint() {
        let log = CommitLog::since(0);
        let mut of_chunk = noted(&[], &[5]).footprint(&log, 0).unwrap();
        let mut commit = WriteSet::default();
        commit.key(PostingKind::Fingerprint, 5);
        log.push(1, commit);
        assert!(of_chunk.stands(&log, 1));
    }

    #[test]
    fn what_is_too_much_to_keep_touches_everything() {
        let log = CommitLog::since(0);
        let of = |generation| noted(&[1], &[]).footprint(&log, generation).unwrap();
        let many: Vec<u32> = (2..2 + MOST_TOUCHED as u32).collect();
        log.push(1, touched(&many, &[]));
        assert!(of(0).stands(&log, 1));
        // Both commits together exceed the limit, so the first one is dropped from the log.
        log.push(2, touched(&[2], &[]));
        assert!(!of(0).stands(&log, 2));
        assert!(of(1).stands(&log, 2) && log.0.lock().touched == 1);
        log.push(3, touched(&[&many[..], &[9]].concat(), &[]));
        assert!(!of(2).stands(&log, 3) && of(3).stands(&log, 3));
        assert_eq!(log.0.lock().touched, 0);
    }

    #[test]
    fn what_depends_on_too_much_has_no_footprint() {
        let log = CommitLog::since(0);
        let many: Vec<u32> = (0..MOST_NOTED as u32).collect();
        let mut noted = noted(&many, &[]);
        let footprint = noted.footprint(&log, 0).unwrap();
        assert!(
            footprint.bytes() < MOST_NOTED + 100,
            "{}",
            footprint.bytes()
        );
        noted.list(PostingKind::Chunk, 1, &[]);
        assert!(noted.footprint(&log, 0).is_none());
    }
}
