//! Taking documents apart, later and beside everything else.
//!
//! To take a file apart starts a process and may take a minute, so no other file waits for it. Its
//! bytes are in the index first, with a content that is [`Look::Unseen`]; that is also what
//! remembers it over a restart. Then it waits here for a reader of its [`queue`]. Its parts are
//! a change of their own.
//!
//! 1. **A content waits, not a file**: whatever names it has by the time of its turn, it is taken
//!    apart once. That what is read then is still this content is shown by the stat that the index
//!    has, and for a file that is unsettled by its digest.
//! 2. **A verdict is of the content**: what took too long or too much memory is as final as parts
//!    are. Only a reader that could not be run is tried again.
//! 3. A thread holds the index as long as it looks up where the content is, never while it reads.
//! 4. What is done waits in a bounded channel: threads wait for who writes the index.

mod queue;

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

/// Results that wait to be written.
const MOST_DONE: usize = 64;
/// Results wait so long for others, as long as documents are under way: each batch is a
/// transaction.
const GATHER: Duration = Duration::from_secs(1);
/// The most files of one content that are tried.
const MOST_FILES: usize = 16;
/// Bytes of a piece that is hashed.
const PIECE: usize = 1 << 20;

/// What became of a content that was to be taken apart.
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
    /// It is of no kind that is taken apart, under its present names.
    Plain,
    /// What is there is something else by now, or changed meanwhile.
    Changed,
    /// No file has it any more, or it was taken apart already.
    Over,
}

/// What a batch has to do with documents.
#[derive(Debug, Default)]
pub(super) struct DocumentBatch {
    /// Files of the batch whose contents are to be taken apart.
    pub(super) due: Vec<(PathBuf, Owner)>,
    /// Contents of which the batch says what became of them.
    pub(super) looked: Vec<ContentId>,
    /// To find that out took long.
    pub(super) is_dear: bool,
}

/// A file that has the content.
struct Candidate {
    path: PathBuf,
    stat: FileStat,
    /// Its stat alone does not tell what it holds.
    is_unsettled: bool,
}

/// What the threads share.
#[derive(Debug)]
struct Work {
    state: Mutex<WorkState>,
    changed: Condvar,
    /// Rings when something is done.
    bell: Sender<()>,
}

#[derive(Debug)]
struct WorkState {
    queue: Queue,
    ended: bool,
    /// When the first of the results that wait came.
    first_done: Option<Instant>,
}

/// Knows which contents wait to be taken apart.
#[derive(Clone, Debug)]
pub struct WaitingDocuments(Arc<Work>);

impl WaitingDocuments {
    /// Whether a content waits, or its parts are not in the index yet.
    pub fn has(&self, content: ContentId) -> bool {
        self.0.state.lock().queue.has(content)
    }

    /// The contents that wait; how many, if these are more than `most`.
    ///
    /// # Errors
    ///
    /// Their number.
    pub fn contents(&self, most: usize) -> Result<Vec<ContentId>, usize> {
        let state = self.0.state.lock();
        let contents = state.queue.contents();
        if contents.len() > most {
            return Err(contents.len());
        }
        Ok(contents.collect())
    }
}

/// How a thread takes contents apart.
#[derive(Clone, Debug)]
struct Takers {
    index: Weak<Index>,
    params: Params,
    part_reader: Arc<dyn PartReader>,
    work: Arc<Work>,
    done: Sender<TakenApart>,
}

/// The contents to take apart, and the threads that do it; started with the first one.
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
    /// With as many threads as the machine runs at once, if there is memory for their readers.
    pub(super) fn new(
        index: &Arc<Index>,
        threads: usize,
        part_reader: Option<Arc<dyn PartReader>>,
    ) -> Self {
        let most = part_reader
            .as_ref()
            .map_or(1, |reader| reader.most_at_once());
        // One more is kept for who has none, and one for questions.
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

    /// A content is to be taken apart, that this file of this owner has.
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
                // Fewer threads are slower, not wrong.
                Err(_) if self.is_started => break,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Whether the content waits or is read, or what became of it is not in the index.
    pub(super) fn has(&self, content: ContentId) -> bool {
        self.work.state.lock().queue.has(content)
    }

    /// How many are not in the index.
    pub(super) fn len(&self) -> usize {
        self.work.state.lock().queue.len()
    }

    /// A mark: what was added later has a greater one.
    pub(super) fn mark(&self) -> u64 {
        self.work.state.lock().queue.arrivals()
    }

    /// Whether all that was added before the mark is in the index.
    pub(super) fn is_past(&self, mark: u64) -> bool {
        let oldest = self.work.state.lock().queue.oldest();
        oldest.is_none_or(|oldest| oldest > mark)
    }

    /// What others may know of them.
    pub(super) fn waiting(&self) -> WaitingDocuments {
        WaitingDocuments(Arc::clone(&self.work))
    }

    /// Rings when something is done.
    pub(super) fn bell(&self) -> Receiver<()> {
        self.bell.clone()
    }

    /// When results are to be written, if there are any: at once if nothing else is under way.
    pub(super) fn due(&self) -> Option<Instant> {
        let state = self.work.state.lock();
        let first = state.first_done?;
        let is_now = state.queue.is_idle() || self.done.len() >= MOST_DONE / 2;
        Some(if is_now { first } else { first + GATHER })
    }

    /// A result, if there is one.
    pub(super) fn take_ready(&self) -> Option<TakenApart> {
        self.work.state.lock().first_done = None;
        self.done.try_recv().ok()
    }

    /// Waits for a result, not longer than this.
    pub(super) fn take(&self, wait: Duration) -> Option<TakenApart> {
        self.work.state.lock().first_done = None;
        self.done.recv_timeout(wait).ok()
    }

    /// What became of a content is in the index, or is not worth to be.
    pub(super) fn settle(&self, content: ContentId) {
        self.work.state.lock().queue.settle(content);
    }

    /// What waits is not taken apart.
    pub(super) fn clear(&self) {
        self.work.state.lock().queue.clear();
    }
}

impl Drop for Documents {
    /// The threads end by themselves. Nobody waits for them: a reader may take a minute, and it
    /// ends with its thread.
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
            // The place that is free may be for another thread's owner.
            self.work.changed.notify_one();
            // It may ring already.
            self.work.bell.try_send(()).ok();
            if !is_heard {
                return;
            }
        }
    }

    /// Waits for the next content; `None`: the queue has ended.
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
        // Who writes the index meets its failure with the next question.
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

/// Which files have the content now, the one that brought it first; `None`: it need not be taken
/// apart any more.
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

/// The file, if it is the one that the index knows, as it knows it. A path above may lead elsewhere
/// by now: what is there then is another file.
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

/// The digest of an open file; `None`: it cannot be read.
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
