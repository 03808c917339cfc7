//! Prefetches files: brings them into the page cache before they are read.
//!
//! A first scan reads files that nobody has read since the machine was started. While a reading
//! thread waits for the disk, it computes nothing. Two such threads have only two requests in
//! flight, but a disk can serve dozens at once. These are the times for reading 78,600 uncached
//! files of a kernel tree:
//!
//! * two threads: 9 to 11 s; eight: 4.4 s; thirty-two: 2.7 s;
//! * two rings of `io_uring`, each with 64 files in flight: 3.0 to 3.7 s.
//!
//! Reading files in the order of inodes was no faster than in the order of names, because the
//! kernel sorts a long queue itself. More reading threads would need more memory and processors. So
//! separate threads only open the queued files, ask the kernel to read them ahead, and list
//! directories that will be entered.
//!
//! 1. **Prefetching changes no result.** A prefetched file is later read in the usual way. A failed
//!    prefetch is ignored, because the later read fails, too, and reports the failure. Directories
//!    on other file systems are not prefetched.
//! 2. **Files are prefetched only if they are not cached.** If they are cached, opening each file
//!    twice would cost 5 % of a scan. Now and then, a reading thread checks whether its next file
//!    is cached (`RWF_NOWAIT` reads a byte or returns `EAGAIN`). Prefetching starts with the first
//!    file that is not cached, and ends after [`WARM_ROW`] cached files in a row. If the file
//!    system does not support the check, nothing is prefetched.
//! 3. **The page cache is not filled.** If a scan reads more than a quarter of the memory, it drops
//!    each prefetched file from the cache after reading it.

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

/// The number of prefetching threads. They wait for the disk, and need almost no processor time.
const THREADS: usize = 16;

/// The maximum number of bytes of a file that are prefetched. The kernel itself reads further bytes
/// ahead.
const MOST: u64 = 8 << 20;

/// The number of cached files in a row after which prefetching ends.
const WARM_ROW: u32 = 64;

/// The reading threads check whether a file is cached for one file out of this number.
const SAMPLED: u64 = 8;

/// Keeps track of whether files are in the page cache before they are read.
#[derive(Debug, Default)]
pub(super) struct Cache {
    /// The number of files that must still be found in the cache before prefetching ends. 0 if
    /// prefetching has ended.
    cold: AtomicU32,
    /// The number of the newest job that was begun. The files of earlier jobs need no prefetching.
    begun: AtomicU64,
}

impl Cache {
    /// Returns whether reads have to wait for the disk, so that prefetching is useful.
    pub(super) fn is_cold(&self) -> bool {
        self.cold.load(Ordering::Relaxed) > 0
    }

    /// Records whether a checked file is in the cache.
    pub(super) fn note(&self, is_cached: bool) {
        if is_cached {
            let less = |cold: u32| cold.checked_sub(1);
            let relaxed = Ordering::Relaxed;
            // If the number is already 0, `less` returns `None`, and nothing is changed.
            let _warm = self.cold.fetch_update(relaxed, relaxed, less);
        } else {
            self.cold.store(WARM_ROW, Ordering::Relaxed);
        }
    }

    /// Records that a job begins. Returns whether its thread should check if the file is cached.
    pub(super) fn begin(&self, number: u64) -> bool {
        self.begun.fetch_max(number, Ordering::Relaxed);
        number.is_multiple_of(SAMPLED) && !self.is_cold()
    }
}

/// True if the file was prefetched and was not in the page cache before.
#[derive(Debug, Default)]
pub(super) struct Fetched(AtomicBool);

impl Fetched {
    /// Drops a prefetched file from the page cache, unless it was cached before the prefetch. Opens
    /// the file once more, by its path.
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
        /// The number of the file's job.
        number: u64,
        anchor: Arc<Anchor>,
        path: PathBuf,
        fetched: Arc<Fetched>,
    },
    Directory(Upcoming),
}

/// The prefetching threads, which are started with the first request.
#[derive(Debug, Default)]
pub(super) struct Ahead {
    pub(super) cache: Arc<Cache>,
    fetchers: Option<Fetchers>,
}

#[derive(Debug)]
struct Fetchers {
    wanted: Sender<Wanted>,
    /// A clone of the threads' receiver. With this clone, requests that no thread has taken can be
    /// dropped.
    unfetched: Receiver<Wanted>,
    threads: Vec<JoinHandle<()>>,
}

impl Ahead {
    /// If files are not cached, prefetches a file before its job is begun. Returns the mark that
    /// shows whether the file was prefetched, or `None` if files are cached.
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

    /// If files are not cached, prefetches a directory by listing it before it is entered.
    pub(super) fn directory(&mut self, upcoming: impl FnOnce() -> Upcoming) {
        if self.cache.is_cold() {
            self.want(Wanted::Directory(upcoming()));
        }
    }

    /// Drops all requests that no thread has taken.
    pub(super) fn forget(&self) {
        if let Some(fetchers) = &self.fetchers {
            while fetchers.unfetched.try_recv().is_ok() {}
        }
    }

    fn want(&mut self, wanted: Wanted) {
        let cache = &self.cache;
        let fetchers = self.fetchers.get_or_insert_with(|| Fetchers::start(cache));
        // If no thread could be started, nobody would receive the request.
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
            // These threads make almost only system calls, so they need little stack.
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
        // A failure is reported later, when the directory is entered.
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

    /// Drops a file from the page cache. Returns whether this succeeded. The check reads a byte,
    /// and after that newer kernels start to read the file again.
    fn forgets(path: &Path) -> bool {
        is_cached(&forget(path).into()) == Some(false)
    }

    /// Repeats a check until it returns true. At first, it may return false, because the kernel
    /// keeps pages that it is using.
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
        // This tree is so small that it is walked before its first file is read. So the test states
        // in advance that files are not cached.
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
