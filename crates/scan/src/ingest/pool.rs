//! The reading threads of a reconcile.
//!
//! The thread that runs the reconcile sends jobs to the reading threads, and receives the results.
//! It limits the number of files that are sent, and their bytes. So the channels themselves need no
//! limit, and `send` never blocks on either side.
//!
//! After most changes, there is only one small file to read. Then no other thread is woken. The
//! thread that waits for the result reads the file itself, because waking another thread takes
//! longer than digesting the file.
//!
//! If a thread panics while it reads a file, the program has a fault, not the file. So the
//! reconcile must not end. The panic is caught, the file is recorded as unreadable, and the next
//! file is read with a new [`Reader`].

use std::collections::HashSet;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, Sender, unbounded};
use parking_lot::Mutex;
use resemble_core::{ByteLen, ContentDigest, ContentId, Params, StopFlag};
use resemble_index::{FsId, Look, Snapshot};
use rustix::io::Errno;

use super::ahead::{Ahead, Cache, Fetched};
use super::lister::Lister;
use super::target::RootOptions;
use crate::parts::PartReader;
use crate::read::look::When;
use crate::read::{Contents, FileRead, KnownFiles, Lookup, PausedReadings, ReadFailure, Reader};
use crate::walk::{Anchor, Stat};

/// A file to read.
#[derive(Debug)]
pub(super) struct Job {
    /// The position of the job in the order in which the tree is compared: see [`Pool::given`].
    pub(super) number: u64,
    pub(super) anchor: Arc<Anchor>,
    pub(super) root: Arc<RootOptions>,
    pub(super) path: PathBuf,
    /// The file system of the file.
    pub(super) fs: FsId,
    /// The `stat` of the file when it was compared.
    pub(super) seen: Stat,
    /// The size of the file in the index, if its content is indexed.
    pub(super) known_size: Option<ByteLen>,
    /// The device and inode of the file that the index has under the same name, if that is another
    /// file.
    pub(super) replaces: Option<(u64, u64)>,
    /// True if the file is unsettled in the index with the same `stat`. Then it is read for the
    /// second time.
    pub(super) second_look: bool,
    /// True if the file should be taken apart, if that is possible.
    pub(super) with_parts: bool,
    /// True if it is allowed to assume that the beginning of a grown file is unchanged.
    pub(super) may_assume: bool,
    /// The time limit for reading the file. `None` if the file is read to its end.
    pub(super) turn: Option<Duration>,
}

/// A job that was sent to the reading threads.
#[derive(Debug)]
struct Given {
    job: Job,
    /// The number of jobs that were sent before this job.
    number: u64,
    /// True if the page cache should stay unchanged when the file is read, because the files of
    /// this scan are too large for the cache.
    spares_cache: bool,
    /// Set if a prefetch of the file was requested.
    fetched: Option<Arc<Fetched>>,
}

/// A job and its result.
#[derive(Debug)]
pub(super) struct Done {
    pub(super) job: Job,
    pub(super) result: Result<FileRead, ReadFailure>,
    /// The time that reading the file took.
    pub(super) took: Duration,
}

/// The contents that the index has, and the contents that are being read. All reading threads share
/// this data.
#[derive(Debug, Default)]
pub(super) struct Known {
    snapshot: Mutex<Option<Snapshot>>,
    in_flight: Mutex<HashSet<ContentDigest>>,
}

impl Known {
    /// Sets the snapshot in which contents are looked up. `None` drops the present snapshot.
    pub(super) fn set_snapshot(&self, snapshot: Option<Snapshot>) {
        *self.snapshot.lock() = snapshot;
    }

    fn snapshot(&self) -> Option<Snapshot> {
        self.snapshot.lock().clone()
    }

    /// Marks contents as no longer being read. They are in the index now, or will not be added.
    pub(super) fn landed<'a>(&self, digests: impl Iterator<Item = &'a ContentDigest>) {
        let mut in_flight = self.in_flight.lock();
        digests.for_each(|digest| {
            in_flight.remove(digest);
        });
    }

    /// Marks all contents as no longer being read.
    pub(super) fn clear(&self) {
        self.in_flight.lock().clear();
    }
}

impl Contents for Known {
    fn look_up(&self, digest: &ContentDigest) -> Lookup {
        if let Some(id) = self.part(digest) {
            return Lookup::Known(id);
        }
        let mut in_flight = self.in_flight.lock();
        if in_flight.insert(*digest) {
            Lookup::New
        } else {
            Lookup::InFlight
        }
    }

    // If the index fails here, the content is treated as new. The thread that runs the reconcile
    // will meet the same failure, and report it.

    fn part(&self, digest: &ContentDigest) -> Option<ContentId> {
        self.snapshot()?.content_by_digest(digest).ok().flatten()
    }

    fn look(&self, content: ContentId) -> Look {
        let row = self.snapshot().and_then(|s| s.content(content).ok()?);
        row.map_or(Look::Unseen, |row| row.look)
    }
}

/// The maximum number of sent files whose results were not taken yet.
const MOST_JOBS: usize = 8192;

/// If the sent files have at least this total size, no further file is sent. A single file can be
/// larger.
const MOST_BYTES: u64 = 256 << 20;

/// The size of the largest file that the waiting thread reads itself. During a longer read, the
/// thread could neither report progress nor be stopped.
const SMALL: u64 = 64 << 10;

/// The data that all reading threads share.
#[derive(Clone, Debug)]
struct Readers {
    params: Params,
    stop: StopFlag,
    known: Arc<Known>,
    part_reader: Option<Arc<dyn PartReader>>,
    /// The states of large files. They are kept for later runs, as long as the pool exists.
    known_files: Arc<KnownFiles>,
    /// The paused reads of large files.
    paused: Arc<PausedReadings>,
}

/// The reading threads. They are started when a job needs them.
#[derive(Debug)]
pub(super) struct Pool {
    readers: Readers,
    threads: usize,
    ahead: Ahead,
    pub(super) lister: Lister,
    running: Option<Running>,
    /// A small file that is the only file to read. The thread that waits for the result reads it.
    alone: Option<Given>,
    /// True if [`Self::take_ready`] was called after `alone` was set.
    is_overdue: bool,
    /// The reader for `alone`.
    reader: Option<Reader>,
    given: u64,
    jobs: usize,
    bytes: u64,
    /// The number of bytes that this run may still add to the page cache.
    cacheable: u64,
}

#[derive(Debug)]
struct Running {
    jobs: Sender<Given>,
    done: Receiver<Done>,
    threads: Vec<JoinHandle<()>>,
}

impl Pool {
    pub(super) fn new(
        params: Params,
        threads: usize,
        stop: StopFlag,
        part_reader: Option<Arc<dyn PartReader>>,
    ) -> Self {
        let threads = match threads {
            0 => std::thread::available_parallelism().map_or(2, usize::from),
            n => n,
        };
        Self {
            readers: Readers {
                params,
                stop,
                known: Arc::default(),
                part_reader,
                known_files: Arc::default(),
                paused: Arc::default(),
            },
            threads,
            ahead: Ahead::default(),
            lister: Lister::default(),
            running: None,
            alone: None,
            is_overdue: false,
            reader: None,
            given: 0,
            jobs: 0,
            bytes: 0,
            cacheable: cache_share(),
        }
    }

    /// Prepares the pool for another run.
    pub(super) fn begin_run(&mut self, snapshot: Snapshot) {
        self.known().clear();
        self.known().set_snapshot(Some(snapshot));
        self.readers.stop.clear();
        self.ahead.forget();
        self.cacheable = cache_share();
    }

    /// Returns the maximum number of reading threads.
    pub(super) const fn threads(&self) -> usize {
        self.threads
    }

    /// Returns the contents that all reading threads share.
    pub(super) fn known(&self) -> &Known {
        &self.readers.known
    }

    /// Returns the states of large files that were read before.
    pub(super) fn known_files(&self) -> &KnownFiles {
        &self.readers.known_files
    }

    /// Makes all reading threads stop soon.
    pub(super) fn stop(&self) {
        self.readers.stop.set();
    }

    /// Returns the number of the next job. All earlier jobs and changes have smaller numbers.
    pub(super) const fn given(&self) -> u64 {
        self.given
    }

    /// Returns the number of sent files whose results were not taken yet.
    pub(super) const fn under_way(&self) -> usize {
        self.jobs
    }

    /// Returns the total size of the files of [`Self::under_way`] in bytes.
    pub(super) const fn bytes_under_way(&self) -> u64 {
        self.bytes
    }

    /// Returns whether the caller must take a result before it sends another job.
    pub(super) const fn is_full(&self) -> bool {
        self.jobs >= MOST_JOBS || (self.jobs > 0 && self.bytes >= MOST_BYTES)
    }

    pub(super) fn give(&mut self, job: Job) -> std::io::Result<()> {
        let is_alone = self.jobs == 0 && job.seen.size <= SMALL;
        if !is_alone {
            self.start()?;
        }
        let number = self.given;
        self.given += 1;
        self.jobs += 1;
        self.bytes += job.seen.size;
        let spares_cache = job.seen.size > self.cacheable;
        self.cacheable = self.cacheable.saturating_sub(job.seen.size);
        // If a thread is free, it reads the file at once, so prefetching is not necessary.
        let fetched = if self.jobs > self.threads {
            self.ahead.file(number, (&job.anchor, &job.path))
        } else {
            None
        };
        let given = Given {
            job,
            number,
            spares_cache,
            fetched,
        };
        if is_alone {
            self.alone = Some(given);
            self.is_overdue = false;
            return Ok(());
        }
        let first = self.alone.take();
        (first.into_iter().chain([given])).try_for_each(|given| self.send(given))
    }

    fn start(&mut self) -> std::io::Result<()> {
        if self.running.is_none() {
            let (readers, cache) = (&self.readers, &self.ahead.cache);
            self.running = Some(Running::start(readers, self.threads, cache)?);
        }
        Ok(())
    }

    fn send(&self, given: Given) -> std::io::Result<()> {
        // This `send` cannot fail. As long as `running` exists, the threads have the receiver.
        let running = self.running.as_ref();
        if running.is_some_and(|running| running.jobs.send(given).is_ok()) {
            Ok(())
        } else {
            Err(std::io::ErrorKind::BrokenPipe.into())
        }
    }

    /// Returns the prefetching threads, for directories that will be entered; see [`Ahead`].
    pub(super) const fn ahead(&mut self) -> &mut Ahead {
        &mut self.ahead
    }

    /// Returns a result, if one is ready. The caller does something else between two calls. So at
    /// the second call, a file in `alone` is sent to the threads.
    pub(super) fn take_ready(&mut self) -> Option<Done> {
        let is_overdue = std::mem::replace(&mut self.is_overdue, self.alone.is_some());
        if is_overdue && self.start().is_ok() {
            // If no thread can be started, the file stays in `alone`, and [`Self::take`] reads it.
            let sent = self.alone.take().map(|given| self.send(given));
            debug_assert!(!matches!(sent, Some(Err(_))), "the threads live");
        }
        let done = self.running.as_ref()?.done.try_recv().ok()?;
        Some(self.taken(done))
    }

    /// Waits for a result, for at most `wait`. Returns `None` if there is no result in that time,
    /// or if there is no file to read. A file in `alone` is read here.
    pub(super) fn take(&mut self, wait: Duration) -> Option<Done> {
        if self.jobs == 0 {
            return None;
        }
        if let Some(given) = self.alone.take() {
            let readers = &self.readers;
            let reader = self.reader.get_or_insert_with(|| readers.reader());
            let done = readers.read(reader, given, &self.ahead.cache);
            return Some(self.taken(done));
        }
        let done = self.running.as_ref()?.done.recv_timeout(wait).ok()?;
        Some(self.taken(done))
    }

    fn taken(&mut self, done: Done) -> Done {
        self.jobs -= 1;
        self.bytes -= done.job.seen.size;
        done
    }
}

/// Returns the number of bytes that a run may add to the page cache: a quarter of the memory.
fn cache_share() -> u64 {
    let system = rustix::system::sysinfo();
    (system.totalram as u64).saturating_mul(system.mem_unit.into()) / 4
}

impl Drop for Pool {
    fn drop(&mut self) {
        let Some(Running {
            jobs,
            done,
            threads,
        }) = self.running.take()
        else {
            return;
        };
        drop(jobs);
        // If nobody receives the results, each thread ends after its present file, and the
        // remaining jobs are dropped. The stop flag ends a long read.
        drop(done);
        for thread in threads {
            // The result is ignored, because a panic during a read was caught in the thread.
            thread.join().ok();
        }
    }
}

impl Running {
    fn start(readers: &Readers, count: usize, cache: &Arc<Cache>) -> std::io::Result<Self> {
        let (jobs, jobs_of_threads) = unbounded::<Given>();
        let (results, done) = unbounded();
        let mut threads = Vec::with_capacity(count);
        for number in 0..count {
            let (jobs, results) = (jobs_of_threads.clone(), results.clone());
            let (readers, cache) = (readers.clone(), Arc::clone(cache));
            let started = std::thread::Builder::new()
                .name(format!("read-{number}"))
                .spawn(move || {
                    let mut reader = readers.reader();
                    for given in jobs {
                        let done = readers.read(&mut reader, given, &cache);
                        if results.send(done).is_err() {
                            return;
                        }
                    }
                });
            match started {
                Ok(thread) => threads.push(thread),
                // With fewer threads, the reads take longer, but all files are read.
                Err(_) if !threads.is_empty() => break,
                Err(error) => return Err(error),
            }
        }
        Ok(Self {
            jobs,
            done,
            threads,
        })
    }
}

impl Readers {
    fn reader(&self) -> Reader {
        let reader = Reader::new(&self.params, self.stop.clone());
        let reader = reader.with_known(Arc::clone(&self.known_files));
        reader.with_paused(Arc::clone(&self.paused))
    }

    /// Reads the file of a job.
    fn read(&self, reader: &mut Reader, given: Given, cache: &Cache) -> Done {
        let Given {
            job,
            number,
            spares_cache,
            fetched,
        } = given;
        reader.spare_cache(spares_cache);
        reader.look_at_cache(cache.begin(number));
        let began = Instant::now();
        let result = if self.stop.is_set() {
            Err(ReadFailure::Stopped)
        } else {
            let attempt = AssertUnwindSafe(|| {
                read_patiently(reader, &job, &self.known, self.part_reader.as_deref())
            });
            catch_unwind(attempt).unwrap_or_else(|_| {
                let path = &job.path;
                tracing::error!(?path, "reading this file failed inside; please report it");
                *reader = self.reader();
                Err(ReadFailure::Errno(Errno::IO.raw_os_error()))
            })
        };
        let took = began.elapsed();
        if let Some(was_cached) = reader.was_cached() {
            cache.note(was_cached);
        }
        if spares_cache && let Some(fetched) = fetched {
            fetched.drop_from_cache(&job.anchor, &job.path);
        }
        Done { job, result, took }
    }
}

/// Reads the file of a job. If the system temporarily lacks a resource, tries again for a few
/// seconds.
fn read_patiently(
    reader: &mut Reader,
    job: &Job,
    known: &Known,
    part_reader: Option<&dyn PartReader>,
) -> Result<FileRead, ReadFailure> {
    let scarce = [Errno::MFILE, Errno::NFILE, Errno::NOMEM, Errno::AGAIN].map(Errno::raw_os_error);
    let mut wait = Duration::from_millis(10);
    reader.may_assume(job.may_assume);
    reader.replaces(job.replaces);
    reader.pause_at(job.turn.map(|turn| Instant::now() + turn));
    loop {
        let result = match part_reader.filter(|_| job.with_parts) {
            Some(part_reader) => {
                let parts = (part_reader, When::Later);
                reader.read_and_look(&job.anchor, &job.path, job.known_size, known, parts)
            }
            None => reader.read(&job.anchor, &job.path, job.known_size, known),
        };
        match result {
            Err(ReadFailure::Errno(errno))
                if scarce.contains(&errno) && wait < Duration::from_secs(2) =>
            {
                std::thread::sleep(wait);
                wait *= 2;
            }
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use resemble_index::Index;

    use super::*;
    use crate::ingest::{Ingest, IngestOptions, RootOptions, Target, Unobserved};

    /// Scans a tree of these files. (A name that ends with a slash is a folder.) Returns whether
    /// reading threads were started for the scan.
    fn needs_threads(there: &[(&str, u64)]) -> bool {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        for (name, size) in there {
            if name.ends_with('/') {
                fs::create_dir(root.join(name)).unwrap();
            } else {
                let text: String = name.chars().cycle().take(*size as usize).collect();
                fs::write(root.join(name), text).unwrap();
            }
        }
        let index = Arc::new(Index::in_memory(&Params::default()).unwrap());
        let options = IngestOptions {
            roots: vec![RootOptions::new(&root)],
            ..IngestOptions::default()
        };
        let mut ingest = Ingest::new(index, options);
        let everything = [Target::subtree(&root)];
        ingest.reconcile(&everything, &mut Unobserved).unwrap();
        let snapshot = ingest.index().snapshot().unwrap();
        for (name, size) in there.iter().filter(|(name, _)| !name.ends_with('/')) {
            let file = snapshot.file_at(&root.join(name)).unwrap().unwrap();
            let content = file.state.content().unwrap();
            assert_eq!(snapshot.content(content).unwrap().unwrap().size.0, *size);
        }
        assert_eq!(ingest.pool.under_way(), 0);
        ingest.pool.running.is_some()
    }

    #[test]
    fn a_small_file_that_is_alone_needs_no_thread() {
        assert!(!needs_threads(&[]));
        assert!(!needs_threads(&[("a", SMALL)]));
        assert!(needs_threads(&[("a", SMALL + 1)]));
        assert!(needs_threads(&[("a", 1), ("b", 1)]));
    }

    /// A walk over two folders calls [`Pool::take_ready`] twice, so the file is sent to the
    /// threads.
    #[test]
    fn a_file_that_was_alone_for_long_goes_to_the_threads() {
        assert!(needs_threads(&[("a", 1), ("d/", 0), ("e/", 0)]));
    }
}
