//! Reads the contents of files.

use std::cell::Cell;
use std::collections::HashSet;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU64, Ordering};

use resemble_core::hash::content;
use resemble_core::{ByteLen, ContentDigest, ContentId, Params, StopFlag};
use resemble_proto::message::SoftError;
use resemble_proto::path::PathText;
use resemble_relate::parallel::Tasks;
use resemble_scan::ingest::{Amount, Observer, Progress};
use resemble_scan::read::{Contents, Lookup, ReadFailure, Reader, open_regular, read_prefix};
use resemble_scan::walk::{Anchor, Stat};
use rustix::fs::{Access, access};

use super::walk::WalkedFile;

/// The number of bytes that are read first of a file longer than [`AT_ONCE`]. The rest is read only
/// if these bytes equal those of another file.
const HEAD: usize = 4 << 10;

/// A file of at most this size is read whole in the first step.
const AT_ONCE: u64 = 64 << 10;

/// The maximum number of bytes in the files of one task, unless it is a single file.
const BYTES: u64 = 8 << 20;

/// The maximum number of files in one task.
const FILES: usize = 64;

/// The property of a file that a task determines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum How {
    /// Whether the file may be read.
    Access,
    /// The digest of the file's beginning.
    Head,
    /// The digest of the file's content.
    Whole,
}

impl How {
    /// Returns the property that is determined first.
    pub(super) const fn first(size: u64, may_be_equal: bool) -> Self {
        match (may_be_equal, size) {
            (false, _) => Self::Access,
            (true, 0..=AT_ONCE) => Self::Whole,
            (true, _) => Self::Head,
        }
    }

    const fn cost(self, size: u64) -> u64 {
        match self {
            Self::Access => 0,
            Self::Head => HEAD as u64,
            Self::Whole => size,
        }
    }
}

/// The results; files are identified by their indices.
#[derive(Default)]
pub(super) struct Done {
    /// Digests of beginnings.
    pub(super) heads: Vec<(ContentDigest, u32)>,
    pub(super) contents: Vec<(ContentDigest, u32)>,
    /// Files that could not be read or no longer existed.
    pub(super) lost: HashSet<u32>,
    /// The number of unreadable files in `lost`.
    pub(super) unreadable: u64,
    pub(super) errors: Vec<SoftError>,
    /// The number of files that changed between the walk and the end of reading.
    pub(super) moving: u64,
}

impl Done {
    pub(super) fn add(&mut self, mut other: Self) {
        self.heads.append(&mut other.heads);
        self.contents.append(&mut other.contents);
        self.lost.extend(other.lost);
        self.unreadable += other.unreadable;
        self.errors.append(&mut other.errors);
        self.moving += other.moving;
    }
}

/// Reads files.
pub(super) struct EqualSizes<'a> {
    roots: &'a [Anchor],
    files: &'a [WalkedFile],
    params: &'a Params,
    /// The progress of the walk.
    walked: Progress,
    files_read: AtomicU64,
    bytes_read: AtomicU64,
    /// Files and bytes to read.
    files_due: AtomicU64,
    bytes_due: AtomicU64,
}

impl<'a> EqualSizes<'a> {
    pub(super) const fn new(
        roots: &'a [Anchor],
        files: &'a [WalkedFile],
        params: &'a Params,
        walked: Progress,
    ) -> Self {
        Self {
            roots,
            files,
            params,
            walked,
            files_read: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
            files_due: AtomicU64::new(0),
            bytes_due: AtomicU64::new(0),
        }
    }

    /// Determines the requested property of each file, in the order of paths, on all cores.
    pub(super) fn work(&self, mut tasks: Vec<(u32, How)>, observer: &mut dyn Observer) -> Done {
        tasks.sort_unstable_by_key(|&(place, _)| place);
        let cost = |&(place, how): &(u32, How)| how.cost(self.files[place as usize].size);
        let bytes = tasks.iter().map(cost).sum();
        let files = tasks.iter().filter(|(_, how)| *how == How::Whole).count();
        self.bytes_due.fetch_add(bytes, Ordering::Relaxed);
        self.files_due.fetch_add(files as u64, Ordering::Relaxed);
        let mut batches = self.batches(&tasks);
        batches.reverse();
        let batches = Tasks::new(batches);
        let worker = |_| {
            let mut worker = EqualSizesWorker {
                reading: self,
                reader: Reader::new(self.params, StopFlag::default()),
                done: Done::default(),
            };
            while let Some(mut taken) = batches.take() {
                for &(place, how) in &tasks[taken.task().unwrap_or_default()] {
                    worker.look(place, how);
                }
            }
            worker.done
        };
        let mut done = Done::default();
        for part in batches.work(worker, || observer.progress(&self.progress())) {
            done.add(part);
        }
        done
    }

    fn batches(&self, tasks: &[(u32, How)]) -> Vec<Range<usize>> {
        let mut batches: Vec<Range<usize>> = Vec::new();
        let mut bytes = 0;
        for (at, &(place, how)) in tasks.iter().enumerate() {
            let cost = how.cost(self.files[place as usize].size);
            match batches.last_mut() {
                Some(batch) if batch.len() < FILES && bytes + cost <= BYTES => batch.end = at + 1,
                _ => {
                    bytes = 0;
                    batches.push(at..at + 1);
                }
            }
            bytes += cost;
        }
        batches
    }

    fn progress(&self) -> Progress {
        let done = Amount {
            files: self.files_read.load(Ordering::Relaxed),
            bytes: self.bytes_read.load(Ordering::Relaxed),
        };
        let all = Amount {
            files: self.files_due.load(Ordering::Relaxed),
            bytes: self.bytes_due.load(Ordering::Relaxed),
        };
        Progress {
            files_read: done.files,
            bytes_read: done.bytes,
            done,
            all: Some(all),
            ..self.walked
        }
    }
}

/// Records the digest of a content and reports the content as known, so that the reader does not
/// chunk it.
#[derive(Default)]
struct DigestOnly(Cell<Option<ContentDigest>>);

impl Contents for DigestOnly {
    fn look_up(&self, digest: &ContentDigest) -> Lookup {
        self.0.set(Some(*digest));
        Lookup::Known(ContentId(0))
    }
}

struct EqualSizesWorker<'r, 'a> {
    reading: &'r EqualSizes<'a>,
    reader: Reader,
    done: Done,
}

impl EqualSizesWorker<'_, '_> {
    fn look(&mut self, place: u32, how: How) {
        let looked = match how {
            How::Access => self.access(place),
            How::Head => self.head(place),
            How::Whole => self.whole(place),
        };
        match looked {
            Ok(()) => return,
            Err(ReadFailure::Errno(errno)) => {
                let source = std::io::Error::from_raw_os_error(errno);
                let path = PathText::from(self.file(place).path());
                self.done.errors.push(SoftError::of_io(path, &source));
                self.done.unreadable += 1;
            }
            // Another file may be at the path by now.
            Err(ReadFailure::Gone | ReadFailure::NotRegular) => {
                let path = PathText::from(self.file(place).path());
                self.done.errors.push(SoftError::vanished(path));
            }
            // This reader is never stopped or paused.
            Err(ReadFailure::Stopped | ReadFailure::Paused) => {}
        }
        self.done.lost.insert(place);
    }

    fn file(&self, place: u32) -> &WalkedFile {
        &self.reading.files[place as usize]
    }

    /// Checks the permission to read a file. The file is opened only if the check fails, because
    /// opening costs five times as much as the check, and nearly all files can be read.
    fn access(&self, place: u32) -> Result<(), ReadFailure> {
        let file = self.file(place);
        if access(file.path(), Access::READ_OK).is_err() {
            open_regular(&self.reading.roots[file.root as usize], file.path())?;
        }
        Ok(())
    }

    fn head(&mut self, place: u32) -> Result<(), ReadFailure> {
        let Some(opened) = self.unchanged(place)? else {
            return Ok(());
        };
        let head = read_prefix(&opened.0, HEAD)?;
        let read = head.len() as u64;
        self.reading.bytes_read.fetch_add(read, Ordering::Relaxed);
        self.done.heads.push((content::digest(&head), place));
        Ok(())
    }

    fn whole(&mut self, place: u32) -> Result<(), ReadFailure> {
        let Some(opened) = self.unchanged(place)? else {
            return Ok(());
        };
        let digest = DigestOnly::default();
        let size = Some(ByteLen(opened.1.size));
        let read = self.reader.read_open(opened, size, &digest)?;
        self.reading.files_read.fetch_add(1, Ordering::Relaxed);
        self.reading
            .bytes_read
            .fetch_add(read.bytes, Ordering::Relaxed);
        match digest.0.get() {
            // If a file was read again after a change, it is not the file that the walk found.
            Some(digest) if !read.moving && self.file(place).is_as(&read.stat) => {
                self.done.contents.push((digest, place));
            }
            _ => self.done.moving += 1,
        }
        Ok(())
    }

    /// Opens a file; `None` if it has changed since the walk.
    fn unchanged(&mut self, place: u32) -> Result<Option<(OwnedFd, Stat)>, ReadFailure> {
        let file = self.file(place);
        let opened = open_regular(&self.reading.roots[file.root as usize], file.path())?;
        if file.is_as(&opened.1) {
            return Ok(Some(opened));
        }
        self.done.moving += 1;
        Ok(None)
    }
}
