//! Takes documents apart in separate threads, after the documents themselves are indexed.
//!
//! To take a document apart, a process is started, and this can take a minute. No other file should
//! wait for that. So the bytes of the document are indexed first, and its content is stored as
//! [`Look::Unseen`]. Such a content is found again after a restart. The content then waits in a
//! [`queue`] for a reader. Its parts are written later, with a separate change.
//!
//! 1. **Contents wait, not files**: a content is taken apart once, even if several files have it.
//!    Before a file is read for this, its `stat` is compared with the indexed `stat`. For an
//!    unsettled file, the digest is compared, too.
//! 2. **The result belongs to the content.** If the reader exceeds its limit of time or memory,
//!    this outcome is stored like parts. The content is tried again only if the reader could not be
//!    run.
//! 3. A thread keeps the index open while it looks up the files of a content, but never while it
//!    reads files.
//! 4. Results wait in a channel for the writer of the index. If the channel is full, the threads
//!    wait, too.

mod queue;

use std::collections::HashSet;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, bounded};
use parking_lot::{Condvar, Mutex};
use resemble_core::hash::content::ContentHasher;
use resemble_core::{ContentDigest, ContentId, Digester, FileId, Params};
use resemble_index::{FileStat, FileState, Index, Look, ReadError};

use self::queue::{Queue, Waiting};
use crate::parts::{DigestedParts, HEAD, PartReader};
use crate::read::{open_regular, read_fully_at, read_prefix};
use crate::walk::{Anchor, Stat};

pub(super) use self::queue::Owner;

/// The maximum number of results that wait for the writer of the index.
const MOST_DONE: usize = 64;
/// The maximum time for which results are collected before they are written. Each batch is a
/// transaction, so it should have several results.
const GATHER: Duration = Duration::from_secs(1);
/// The maximum number of files that are tried for one content. Also the maximum number of paths
/// that are tried for one file.
const MOST_FILES: usize = 16;
/// The number of bytes of a file that are hashed at a time.
const PIECE: usize = 1 << 20;

/// The result for a content from the queue.
#[derive(Debug)]
pub(super) struct TakenApart {
    pub(super) content: ContentId,
    pub(super) digest: ContentDigest,
    pub(super) path: PathBuf,
    pub(super) outcome: Outcome,
    pub(super) took: Duration,
}

#[derive(Debug)]
pub(super) enum Outcome {
    Apart(DigestedParts),
    /// The content cannot be taken apart under the present names of its files.
    Plain,
    /// The file was replaced or changed meanwhile.
    Changed,
    /// No file has the content any more, or the content was taken apart meanwhile.
    Over,
}

/// The documents that the present batch concerns.
#[derive(Debug, Default)]
pub(super) struct DocumentBatch {
    /// Files of the batch whose contents must be taken apart after the commit.
    pub(super) due: Vec<(PathBuf, Owner)>,
    /// Contents that were taken apart. The batch has the result of each.
    pub(super) looked: Vec<ContentId>,
    /// Contents in roots without text whose files were looked up in this reconcile.
    pub(super) looked_up: HashSet<ContentId>,
    /// True if one of these results took a long time. Then the batch should be made durable at
    /// once.
    pub(super) is_dear: bool,
}

/// A file with the content that must be taken apart.
struct Candidate {
    path: PathBuf,
    stat: FileStat,
    /// True if the digest must be compared, too, because the file may have changed.
    is_unsettled: bool,
}

/// The data that all threads share.
#[derive(Debug)]
struct Work {
    state: Mutex<WorkState>,
    changed: Condvar,
    /// A channel that gets a message when a content is finished.
    bell: Sender<()>,
}

#[derive(Debug)]
struct WorkState {
    queue: Queue,
    ended: bool,
    /// The time at which the first of the waiting results arrived.
    first_done: Option<Instant>,
}

/// The set of contents that wait to be taken apart, or whose parts are not in the index yet. Clones
/// share the set.
#[derive(Clone, Debug)]
pub struct WaitingDocuments(Arc<Work>);

impl WaitingDocuments {
    /// Returns whether a content waits to be taken apart, or its parts are not in the index yet.
    pub fn has(&self, content: ContentId) -> bool {
        self.0.state.lock().queue.has(content)
    }

    /// Returns all contents of the set.
    ///
    /// # Errors
    ///
    /// If the set has more than `most` contents, returns their number as the error.
    pub fn contents(&self, most: usize) -> Result<Vec<ContentId>, usize> {
        let state = self.0.state.lock();
        let contents = state.queue.contents();
        if contents.len() > most {
            return Err(contents.len());
        }
        Ok(contents.collect())
    }
}

/// The data that a thread needs to take contents apart.
#[derive(Clone, Debug)]
struct Takers {
    index: Weak<Index>,
    params: Params,
    part_reader: Arc<dyn PartReader>,
    work: Arc<Work>,
    done: Sender<TakenApart>,
}

/// The queue of contents that must be taken apart, and the threads that take them apart. The
/// threads are started with the first content.
#[derive(Debug)]
pub(super) struct Documents {
    takers: Option<Takers>,
    readers: usize,
    work: Arc<Work>,
    done: Receiver<TakenApart>,
    bell: Receiver<()>,
    is_started: bool,
}

impl Documents {
    /// Plans `threads` threads and one in reserve, but no more than there is memory for.
    pub(super) fn new(
        index: &Arc<Index>,
        threads: usize,
        part_reader: Option<Arc<dyn PartReader>>,
    ) -> Self {
        let most = part_reader
            .as_ref()
            .map_or(1, |reader| reader.most_at_once());
        // Two readers are kept in reserve. One is for owners without a reader, and the other is for
        // questions.
        let readers = threads.min(most.saturating_sub(2)).max(1);
        let (bell, ringing) = bounded(1);
        let (results, done) = bounded(MOST_DONE);
        let work = Arc::new(Work {
            state: Mutex::new(WorkState {
                queue: Queue::new(readers),
                ended: false,
                first_done: None,
            }),
            changed: Condvar::new(),
            bell,
        });
        let takers = part_reader.map(|part_reader| Takers {
            index: Arc::downgrade(index),
            params: *index.params(),
            part_reader,
            work: Arc::clone(&work),
            done: results,
        });
        Self {
            takers,
            readers,
            work,
            done,
            bell: ringing,
            is_started: false,
        }
    }

    /// Queues a content to be taken apart. `file` is a file that has it.
    pub(super) fn add(
        &mut self,
        content: ContentId,
        file: FileId,
        owner: Owner,
    ) -> std::io::Result<()> {
        self.start()?;
        let waiting = Waiting {
            content,
            file,
            owner,
        };
        self.work.state.lock().queue.add(waiting);
        self.work.changed.notify_one();
        Ok(())
    }

    fn start(&mut self) -> std::io::Result<()> {
        let Some(takers) = self.takers.as_ref().filter(|_| !self.is_started) else {
            return Ok(());
        };
        for number in 0..=self.readers {
            let takers = takers.clone();
            let started = std::thread::Builder::new()
                .name(format!("documents-{number}"))
                .spawn(move || takers.run());
            match started {
                Ok(_) => self.is_started = true,
                // With fewer threads, documents take longer, but all are taken apart.
                Err(_) if self.is_started => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Returns whether a content is in the queue, is being read, or has a result that is not in the
    /// index yet.
    pub(super) fn has(&self, content: ContentId) -> bool {
        self.work.state.lock().queue.has(content)
    }

    /// Returns the number of contents whose results are not in the index yet.
    pub(super) fn len(&self) -> usize {
        self.work.state.lock().queue.len()
    }

    /// Returns a mark for [`Self::is_past`]: the number of contents that were added so far.
    pub(super) fn mark(&self) -> u64 {
        self.work.state.lock().queue.arrivals()
    }

    /// Returns whether the results of all contents that were added before the mark are in the
    /// index.
    pub(super) fn is_past(&self, mark: u64) -> bool {
        let oldest = self.work.state.lock().queue.oldest();
        oldest.is_none_or(|oldest| oldest > mark)
    }

    /// Returns the set of contents that wait. The set changes with the queue.
    pub(super) fn waiting(&self) -> WaitingDocuments {
        WaitingDocuments(Arc::clone(&self.work))
    }

    /// Returns a channel that receives a message when a content is finished.
    pub(super) fn bell(&self) -> Receiver<()> {
        self.bell.clone()
    }

    /// Returns the time at which the waiting results should be written. Returns `None` if no
    /// results wait. The results should be written at once if nothing else is queued or being read,
    /// or if many results wait.
    pub(super) fn due(&self) -> Option<Instant> {
        let state = self.work.state.lock();
        let first = state.first_done?;
        let is_now = state.queue.is_idle() || self.done.len() >= MOST_DONE / 2;
        Some(if is_now { first } else { first + GATHER })
    }

    /// Returns a result, if one is ready.
    pub(super) fn take_ready(&self) -> Option<TakenApart> {
        self.work.state.lock().first_done = None;
        self.done.try_recv().ok()
    }

    /// Waits for a result, for at most `wait`.
    pub(super) fn take(&self, wait: Duration) -> Option<TakenApart> {
        self.work.state.lock().first_done = None;
        self.done.recv_timeout(wait).ok()
    }

    /// Marks a content as finished, because its result is in the index or was dropped.
    pub(super) fn settle(&self, content: ContentId) {
        self.work.state.lock().queue.settle(content);
    }

    /// Drops the contents that no reader has begun.
    pub(super) fn clear(&self) {
        self.work.state.lock().queue.clear();
    }
}

impl Drop for Documents {
    /// Lets the threads end. They are not joined, because a document may take a minute.
    fn drop(&mut self) {
        self.work.state.lock().ended = true;
        self.work.changed.notify_all();
    }
}

impl Takers {
    fn run(self) {
        let mut digester = Digester::new(&self.params);
        while let Some(waiting) = self.next() {
            let began = Instant::now();
            let attempt = AssertUnwindSafe(|| self.take_apart(waiting, &mut digester));
            let mut taken = catch_unwind(attempt).unwrap_or_else(|_| {
                tracing::error!("taking a file apart failed inside; please report it");
                digester = Digester::new(&self.params);
                TakenApart::over(waiting)
            });
            taken.took = began.elapsed();
            let is_heard = self.done.send(taken).is_ok();
            let mut state = self.work.state.lock();
            state.queue.over(waiting.owner);
            state.first_done.get_or_insert_with(Instant::now);
            drop(state);
            // A reader is free now. Perhaps an owner who had to wait may use this reader, so
            // another thread is woken.
            self.work.changed.notify_one();
            // If the channel is full, it already has an unread message.
            self.work.bell.try_send(()).ok();
            if !is_heard {
                return;
            }
        }
    }

    /// Waits for the next content. Returns `None` when the threads must end.
    fn next(&self) -> Option<Waiting> {
        let mut state = self.work.state.lock();
        loop {
            if state.ended {
                return None;
            }
            if let Some(next) = state.queue.next() {
                return Some(next);
            }
            self.work.changed.wait(&mut state);
        }
    }

    fn take_apart(&self, waiting: Waiting, digester: &mut Digester) -> TakenApart {
        let found = self.index.upgrade().map(|index| found(&index, waiting));
        let mut taken = TakenApart::over(waiting);
        // A failure of the index is not reported here, because the writer of the index will meet
        // the same failure.
        let Some(Ok(Some((digest, candidates)))) = found else {
            return taken;
        };
        taken.digest = digest;
        for candidate in candidates {
            let outcome = self.take_file_apart(&candidate, &digest, digester);
            let is_better = matches!(taken.outcome, Outcome::Over)
                || matches!(outcome, Outcome::Apart(_) | Outcome::Plain);
            if is_better {
                taken.path = candidate.path;
                taken.outcome = outcome;
            }
            if matches!(taken.outcome, Outcome::Apart(_)) {
                break;
            }
        }
        taken
    }

    fn take_file_apart(
        &self,
        candidate: &Candidate,
        digest: &ContentDigest,
        digester: &mut Digester,
    ) -> Outcome {
        let path = &candidate.path;
        let Some(file) = open_as_known(candidate) else {
            return Outcome::Changed;
        };
        if candidate.is_unsettled && digest_of(&file) != Some(*digest) {
            return Outcome::Changed;
        }
        let Ok(head) = read_prefix(&file, HEAD) else {
            return Outcome::Changed;
        };
        let name = path.file_name().unwrap_or_default().as_bytes();
        let reader = &self.part_reader;
        if !reader.is_looked_into(name, &head, Some(file.as_fd())) {
            return Outcome::Plain;
        }
        tracing::debug!(?path, "taking apart");
        let (reader, params) = (&*self.part_reader, &self.params);
        let parts = DigestedParts::of(reader, name, &head, file.as_fd(), digester, params);
        if is_as_known(&file, candidate) {
            Outcome::Apart(parts)
        } else {
            Outcome::Changed
        }
    }
}

impl TakenApart {
    fn over(waiting: Waiting) -> Self {
        Self {
            content: waiting.content,
            digest: ContentDigest([0; 32]),
            path: PathBuf::new(),
            outcome: Outcome::Over,
            took: Duration::ZERO,
        }
    }
}

/// Returns the digest of a content, and the files that have it now. The first file is the one with
/// which the content was queued. Returns `None` if the content need not be taken apart any more.
fn found(
    index: &Index,
    waiting: Waiting,
) -> Result<Option<(ContentDigest, Vec<Candidate>)>, ReadError> {
    let snapshot = index.snapshot()?;
    let row = snapshot.content(waiting.content)?;
    let Some(row) = row.filter(|row| row.look != Look::Apart) else {
        return Ok(None);
    };
    let mut files = snapshot.files_of(waiting.content)?;
    files.sort_by_key(|file| *file != waiting.file);
    let mut candidates = Vec::new();
    for file in files.into_iter().take(MOST_FILES) {
        let Some(file) = snapshot.file(file)? else {
            continue;
        };
        let is_unsettled = matches!(file.state, FileState::Unsettled(_));
        for path in snapshot.paths(file.id)?.into_iter().take(MOST_FILES) {
            candidates.push(Candidate {
                path,
                stat: file.stat.clone(),
                is_unsettled,
            });
        }
    }
    Ok((!candidates.is_empty()).then_some((row.digest, candidates)))
}

/// Opens a file, if it is unchanged since it was indexed. The path may belong to another file now.
fn open_as_known(candidate: &Candidate) -> Option<OwnedFd> {
    let folder = candidate.path.parent().unwrap_or(Path::new("/"));
    let anchor = Anchor::open(folder).ok()?;
    let (file, _) = open_regular(&anchor, &candidate.path).ok()?;
    is_as_known(&file, candidate).then_some(file)
}

fn is_as_known(file: &OwnedFd, candidate: &Candidate) -> bool {
    let now = Stat::of(file.as_fd()).map(|stat| stat.row(candidate.stat.fs.clone()));
    now.is_ok_and(|now| now == candidate.stat)
}

/// Returns the digest of an open file. Returns `None` if the file cannot be read.
fn digest_of(file: &OwnedFd) -> Option<ContentDigest> {
    let mut hasher = ContentHasher::new();
    let mut piece = vec![0; PIECE];
    let mut at = 0;
    loop {
        match read_fully_at(file, &mut piece, at).ok()? {
            0 => return Some(hasher.finish()),
            read => {
                hasher.update(&piece[..read]);
                at += read as u64;
            }
        }
    }
}

#[cfg(test)]
mod tests;
