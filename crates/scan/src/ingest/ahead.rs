//! Prefetching: brings files that are about to be read into the page cache.
//!
//! A first scan meets files that nobody has read since the machine started. A reading thread that
//! waits for the disk computes nothing. Two of them keep only two requests in flight where the disk
//! could serve dozens. Reading 78,600 files of a kernel tree, cold, took:
//!
//! * two threads: 9 to 11 s; eight: 4.4 s; thirty-two: 2.7 s;
//! * two rings of `io_uring` with 64 files in flight each: 3.0 to 3.7 s.
//!
//! Reading in the order of inodes was as fast as in the order of names, since the kernel sorts a
//! long queue by itself. More digesting threads would need more memory and processors. So separate
//! threads only open the queued files, ask the kernel to read them ahead, and list upcoming
//! directories.
//!
//! 1. **Only hints.** A prefetched file is read again in the usual way. If prefetching fails, the
//!    reader fails as well and reports the failure. Directories on other file systems are left
//!    alone.
//! 2. **Only when the disk is cold.** Opening each file twice would cost a warm scan 5 %. Now and
//!    then a reading thread checks if its next file is cached (`RWF_NOWAIT` reads a byte or returns
//!    `EAGAIN`). The first file that is not cached starts the prefetching, and a row of cached
//!    files ends it. If the file system cannot answer, nothing is prefetched.
//! 3. **Nothing is left behind.** If a large scan exceeds a quarter of the memory, a prefetched
//!    file is dropped from the cache after it was read.

use std::num::NonZeroU64;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::thread::JoinHandle;

use crossbeam_channel::{Receiver, Sender, unbounded};
use rustix::fs::Advice;

use super::lister::{Listed, Upcoming};
use crate::read::{is_cached, open_regular};
use crate::walk::Anchor;

/// Threads that wait for the disk; they need almost no processor time.
const THREADS: usize = 16;

/// The maximum number of bytes prefetched per file. The kernel reads ahead the bytes after these by
/// itself.
const MOST: u64 = 8 << 20;

/// The number of successive cached files that ends the prefetching.
const WARM_ROW: u32 = 64;

/// One file in this many is checked by the thread that reads it.
const SAMPLED: u64 = 8;

/// Tracks whether files are in the page cache before they are read.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// The number of files that must be found in the cache before the cache counts as warm.
    cold: AtomicU32,
    /// The number of the last job that was begun. Files of earlier jobs need no prefetching.
    begun: AtomicU64,
}

impl Cache {
    /// Returns whether reads have to wait for the disk.
    pub(super) fn is_cold(&self) -> bool {
        self.cold.load(Ordering::Relaxed) > 0
    }

    /// Records whether a file was in the cache when that was checked.
    pub(super) fn note(&self, is_cached: bool) {
        if is_cached {
            let less = |cold: u32| cold.checked_sub(1);
            let relaxed = Ordering::Relaxed;
            // The update does nothing if the cache is warm already (0).
            let _warm = self.cold.fetch_update(relaxed, relaxed, less);
        } else {
            self.cold.store(WARM_ROW, Ordering::Relaxed);
        }
    }

    /// Begins a job. Returns whether its thread should check if the file is in the cache.
    pub(super) fn begin(&self, number: u64) -> bool {
        self.begun.fetch_max(number, Ordering::Relaxed);
        number.is_multiple_of(SAMPLED) && !self.is_cold()
    }
}

/// True if the file was not in the page cache before it was prefetched.
#[derive(Debug, Default)]
pub(super) struct Fetched(AtomicBool);

impl Fetched {
    /// Drops a prefetched file from the cache, unless it was there before. The file is opened by
    /// its path once more.
    pub(super) fn drop_from_cache(&self, anchor: &Anchor, path: &Path) {
        if self.0.load(Ordering::Relaxed)
            && let Ok((file, _)) = open_regular(anchor, path)
        {
            rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).ok();
        }
    }
}

/// A file or directory to prefetch.
#[derive(Debug)]
enum Wanted {
    File {
        /// The number of its job.
        number: u64,
        anchor: Arc<Anchor>,
        path: PathBuf,
        fetched: Arc<Fetched>,
    },
    Directory(Upcoming),
}

/// The prefetching threads, which start with the first request.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    pub(super) cache: Arc<Cache>,
    fetchers: Option<Fetchers>,
}

#[derive(Debug)]
struct Fetchers {
    wanted: Sender<Wanted>,
    /// The receiving end of the threads, from which requests are also taken back.
    unfetched: Receiver<Wanted>,
    threads: Vec<JoinHandle<()>>,
}

impl Ahead {
    /// Prefetches a file before its job is begun, if the disk is cold.
    pub(super) fn file(
        &mut self,
        number: u64,
        (anchor, path): (&Arc<Anchor>, &Path),
    ) -> Option<Arc<Fetched>> {
        if !self.cache.is_cold() {
            return None;
        }
        let fetched = Arc::<Fetched>::default();
        self.want(Wanted::File {
            number,
            anchor: Arc::clone(anchor),
            path: path.to_owned(),
            fetched: Arc::clone(&fetched),
        });
        Some(fetched)
    }

    /// Prefetches a directory by listing it before it is entered, if the disk is cold.
    pub(super) fn directory(&mut self, upcoming: impl FnOnce() -> Upcoming) {
        if self.cache.is_cold() {
            self.want(Wanted::Directory(upcoming()));
        }
    }

    /// Drops all requests.
    pub(super) fn forget(&self) {
        if let Some(fetchers) = &self.fetchers {
            while fetchers.unfetched.try_recv().is_ok() {}
        }
    }

    fn want(&mut self, wanted: Wanted) {
        let cache = &self.cache;
        let fetchers = self.fetchers.get_or_insert_with(|| Fetchers::start(cache));
        // Without any thread nobody would receive the request.
        if !fetchers.threads.is_empty() {
            fetchers.wanted.send(wanted).ok();
        }
    }
}

impl Drop for Ahead {
    fn drop(&mut self) {
        self.forget();
        let Some(Fetchers {
            wanted,
            unfetched,
            threads,
        }) = self.fetchers.take()
        else {
            return;
        };
        drop((wanted, unfetched));
        for thread in threads {
            thread.join().ok();
        }
    }
}

impl Fetchers {
    fn start(cache: &Arc<Cache>) -> Self {
        let (wanted, unfetched) = unbounded();
        let thread = |number: usize| {
            let (unfetched, cache) = (Receiver::clone(&unfetched), Arc::clone(cache));
            let thread = std::thread::Builder::new().name(format!("ahead-{number}"));
            // The system calls of these threads need little stack.
            let thread = thread.stack_size(256 << 10);
            thread.spawn(move || unfetched.iter().for_each(|wanted| fetch(&wanted, &cache)))
        };
        Self {
            wanted,
            threads: (0..THREADS)
                .map_while(|number| thread(number).ok())
                .collect(),
            unfetched,
        }
    }
}

fn fetch(wanted: &Wanted, cache: &Cache) {
    match wanted {
        Wanted::File {
            number,
            anchor,
            path,
            fetched,
        } => {
            if *number <= cache.begun.load(Ordering::Relaxed) {
                return;
            }
            let Ok((file, stat)) = open_regular(anchor, path) else {
                return;
            };
            let Some(is_cached) = is_cached(&file) else {
                return;
            };
            cache.note(is_cached);
            if !is_cached {
                let len = NonZeroU64::new(stat.size.min(MOST));
                rustix::fs::fadvise(&file, 0, len, Advice::WillNeed).ok();
                fetched.0.store(true, Ordering::Relaxed);
            }
        }
        // A failure is reported when the directory is entered.
        Wanted::Directory(upcoming) => drop(Listed::new(upcoming)),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::{Duration, Instant};

    use resemble_core::Params;
    use resemble_index::{FileState, Index};

    use super::*;
    use crate::ingest::{Cause, Ingest, IngestOptions, RootOptions, Target, Unobserved};

    /// Drops a file from the page cache.
    fn forget(path: &Path) -> fs::File {
        let file = fs::File::open(path).unwrap();
        file.sync_all().unwrap();
        rustix::fs::fadvise(&file, 0, None, Advice::DontNeed).unwrap();
        file
    }

    /// Drops a file from the page cache, and returns whether it is not there any more. To check, a
    /// byte is read; newer kernels then start to read the file again.
    fn forgets(path: &Path) -> bool {
        is_cached(&forget(path).into()) == Some(false)
    }

    /// Repeats a check until it is true. The kernel keeps pages that it is using, so it may fail at
    /// first.
    fn in_the_end(what: &str, is_so: impl Fn() -> bool) {
        let until = Instant::now() + Duration::from_secs(60);
        while !is_so() {
            assert!(Instant::now() < until, "never so: {what}");
            std::thread::yield_now();
        }
    }

    fn not_tested() {
        eprintln!("*** SKIPPED, NOT TESTED: files cannot be taken out of the page cache here ***");
    }

    #[test]
    fn one_cold_file_begins_the_fetching_and_a_row_of_warm_ones_ends_it() {
        let cache = Cache::default();
        assert!(!cache.is_cold());
        assert!(cache.begin(0) && !cache.begin(1) && cache.begin(SAMPLED));
        cache.note(true);
        assert!(!cache.is_cold());
        cache.note(false);
        assert!(cache.is_cold() && !cache.begin(2 * SAMPLED));
        (1..WARM_ROW).for_each(|_| cache.note(true));
        assert!(cache.is_cold());
        cache.note(true);
        assert!(!cache.is_cold());
    }

    #[test]
    fn a_file_is_fetched_and_dropped_unless_it_is_being_read_already() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("file");
        let asked = dir.path().join("asked");
        for path in [&path, &asked] {
            fs::write(path, vec![7; 100_000]).unwrap();
        }
        let anchor = Arc::new(Anchor::open(&fs::canonicalize(dir.path()).unwrap()).unwrap());
        let path = anchor.path().join("file");
        if !forgets(&asked) {
            return not_tested();
        }
        let fetched = Arc::<Fetched>::default();
        let wanted = Wanted::File {
            number: 5,
            anchor: Arc::clone(&anchor),
            path: path.clone(),
            fetched: Arc::clone(&fetched),
        };
        let is_cached = || is_cached(&fs::File::open(&path).unwrap().into());
        in_the_end("a file that is being read is left alone", || {
            forget(&path);
            let cache = Cache::default();
            cache.begin(5);
            fetch(&wanted, &cache);
            is_cached() == Some(false)
        });
        in_the_end("another is fetched, and dropped", || {
            forget(&path);
            let cache = Cache::default();
            fetch(&wanted, &cache);
            let was_cold = cache.is_cold();
            in_the_end("it is there", || is_cached() == Some(true));
            fetched.drop_from_cache(&anchor, &path);
            was_cold && is_cached() == Some(false)
        });
    }

    #[test]
    fn a_file_that_need_not_wait_is_not_fetched() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        fs::write(root.join("file"), "a file").unwrap();
        let index = Arc::new(Index::in_memory(&Params::default()).unwrap());
        let options = IngestOptions {
            roots: vec![RootOptions::new(&root)],
            threads: 1,
            ..IngestOptions::default()
        };
        let mut ingest = Ingest::new(Arc::clone(&index), options);
        let file = [Target::entry(root.join("file"), Cause::Modified)];
        ingest.pool.ahead().cache.note(false);
        ingest.reconcile(&file, &mut Unobserved).unwrap();
        assert!(ingest.pool.ahead().fetchers.is_none(), "nobody was asked");
        assert!(
            ingest.pool.ahead().cache.is_cold(),
            "nor was it seen to be warm"
        );
        let row = index.snapshot().unwrap().file_at(&root.join("file"));
        assert_eq!(row.unwrap().unwrap().stat.size.0, 6);
    }

    #[test]
    fn a_cold_tree_is_fetched_and_indexed_whole() {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap();
        let mut files = Vec::new();
        for n in 0..400 {
            let folder = root.join(format!("{}/{}", n % 7, n % 20));
            fs::create_dir_all(&folder).unwrap();
            files.push(folder.join(format!("{n}.txt")));
            fs::write(&files[n], format!("file {n} ").repeat(n)).unwrap();
        }
        if !files.iter().skip(1).all(|file| forgets(file)) {
            return not_tested();
        }
        let index = Arc::new(Index::in_memory(&Params::default()).unwrap());
        let options = IngestOptions {
            roots: vec![RootOptions::new(&root)],
            ..IngestOptions::default()
        };
        let mut ingest = Ingest::new(Arc::clone(&index), options);
        // A tree this small is walked before its first file is read, so note beforehand that the
        // disk is cold.
        ingest.pool.ahead().cache.note(false);
        let all = [Target::subtree(&root)];
        let report = ingest.reconcile(&all, &mut Unobserved).unwrap();
        assert_eq!((report.error_count, report.progress.files), (0, 400));
        assert!(
            ingest.pool.ahead().fetchers.is_some(),
            "threads were started"
        );
        let snapshot = index.snapshot().unwrap();
        for (n, file) in files.iter().enumerate() {
            let row = snapshot.file_at(file).unwrap().unwrap();
            let size = fs::metadata(file).unwrap().len();
            assert_eq!(row.stat.size.0, size, "{n}");
            assert!(!matches!(row.state, FileState::Unreadable(_)), "{n}");
        }
    }
}
