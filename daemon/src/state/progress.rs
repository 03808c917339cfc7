//! Records progress: the files to be read, the running scan, and totals since the start.

use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use resemble_proto::message::WatchStatus;
use resemble_scan::ingest::{Amount, Progress};

use super::Shared;
use crate::coalesce::LongWait;

impl Shared {
    /// Returns the sum of two numbers: the changed files that wait to be read, and the documents
    /// that wait to be extracted.
    pub fn pending(&self) -> u64 {
        self.pending.load(Ordering::Relaxed) + self.scanning.load(Ordering::Relaxed)
    }

    /// Returns the number of files that have grown and whose earlier bytes are not verified yet.
    pub fn assumed(&self) -> u64 {
        self.assumed.load(Ordering::Relaxed)
    }

    pub(crate) fn set_assumed(&self, files: u64) {
        self.assumed.store(files, Ordering::Relaxed);
    }

    /// Returns the files that wait longer than others because reading them takes long.
    pub fn waits(&self) -> Vec<LongWait> {
        self.waits.lock().clone()
    }

    /// Returns the age of the oldest change that is not read yet.
    pub fn lag(&self) -> Duration {
        let since = *self.oldest_change.lock();
        since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    pub(crate) fn set_oldest_change(&self, since: Option<Instant>) {
        *self.oldest_change.lock() = since;
    }

    /// Returns the time since the daemon started.
    pub fn uptime(&self) -> Duration {
        self.began.elapsed()
    }

    pub(crate) fn set_waits(&self, waits: Vec<LongWait>) {
        *self.waits.lock() = waits;
    }

    pub(crate) fn set_pending(&self, files: u64) {
        self.pending.store(files, Ordering::Relaxed);
    }

    /// Sets the paths of the files that wait to be read; `None` if there are too many to list.
    pub(crate) fn set_waiting(&self, files: Option<Vec<PathBuf>>) {
        *self.waiting.lock() = files;
    }

    /// Returns the root that is being scanned, with the progress of its scan; `None` if no scan
    /// runs. The number changes whenever a scan begins or ends.
    pub fn scan(&self) -> (u64, Option<(PathBuf, Amount)>) {
        self.scan.lock().clone()
    }

    /// Records that a scan of this root has begun; `None` records that the last scan has ended.
    pub(crate) fn set_scan(&self, root: Option<&Path>) {
        let mut scan = self.scan.lock();
        *scan = (
            scan.0 + 1,
            root.map(|root| (root.to_owned(), Amount::default())),
        );
        self.scanning.store(0, Ordering::Relaxed);
    }

    /// Records the progress of a reconcile, even if it is not the scan of a root.
    pub(crate) fn set_progress(&self, progress: &Progress) {
        self.scanning.store(progress.pending, Ordering::Relaxed);
        if let Some((_, done)) = &mut self.scan.lock().1 {
            *done = progress.done;
        }
    }

    /// Returns a number that grows with every change of the index or of the templates.
    pub fn clock(&self) -> u64 {
        drop(self.templates());
        self.clock.load(Ordering::Acquire)
    }

    pub(crate) fn tick(&self) {
        self.clock.fetch_add(1, Ordering::AcqRel);
    }

    /// Returns the number of files read since the start. Files that have not changed since an
    /// earlier run are not read.
    pub fn files_read(&self) -> u64 {
        self.files_read.load(Ordering::Relaxed)
    }

    /// Returns the number of bytes read since the start.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    pub(crate) fn count_read(&self, files: u64, bytes: u64) {
        self.files_read.fetch_add(files, Ordering::Relaxed);
        self.bytes_read.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Returns the number of watches, of polled directories and of overflows.
    pub fn watch_status(&self) -> WatchStatus {
        *self.watch.lock()
    }

    pub(crate) fn set_watched(&self, directories: usize, polled: usize) {
        let mut watch = self.watch.lock();
        watch.directories = directories as u64;
        watch.polled = polled as u64;
    }

    pub(crate) fn count_overflow(&self) {
        self.watch.lock().overflows += 1;
    }
}
