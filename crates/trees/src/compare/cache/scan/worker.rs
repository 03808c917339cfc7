//! One thread of a scan: lists directories, reads files and records them.

use std::cmp::Ordering as CmpOrdering;
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::SystemTime;

use resemble_core::{ByteLen, Digest, Digester, Params, StopFlag};
use resemble_index::packed;
use resemble_proto::message::SoftError;
use resemble_proto::path::PathText;
use resemble_scan::parts::HEAD;
use resemble_scan::read::{
    self, FileRead, ReadFailure, Reader, age, open_regular, open_regular_in, read_prefix,
};
use resemble_scan::walk::{Found, Kind, OpenDir, Stat, means_absent};

use super::{BYTES, Dirs, FILES, Notes, ScanItem, ScanShared, ScannedDocument, Task, TwinNames};
use crate::compare::cache::known::{PackedPlace, Stamp, Where};
use crate::compare::cache::pair::{Opened, PairLook, PairReader};
use crate::compare::sides::{Content, Entry, What};
use resemble_scan::unindexed::{DirChain, DirListing};

/// The place of a file: its side, its path, and its file system if it is known.
#[derive(Clone, Copy)]
struct At<'a> {
    side: usize,
    path: &'a [u8],
    fs: Option<u32>,
}

pub(super) struct Worker<'s, 'a> {
    pub(super) shared: &'s ScanShared<'a>,
    reader: Reader,
    pub(super) digester: Digester,
    pub(super) params: Params,
    pairs: PairReader,
    number: u32,
    pub(super) notes: Notes,
}

impl<'s, 'a> Worker<'s, 'a> {
    pub(super) fn new(shared: &'s ScanShared<'a>, params: &Params, number: u32) -> Self {
        Self {
            shared,
            reader: Reader::new(params, StopFlag::default()),
            digester: Digester::new(params),
            params: *params,
            pairs: PairReader::new(),
            number,
            notes: Notes::default(),
        }
    }

    pub(super) fn work(mut self) -> Notes {
        while let Some(mut taken) = self.shared.tasks.take() {
            match taken.task() {
                Some(Task::Dir { below, sides }) => self.dir(&below, sides),
                Some(Task::Files { dirs, files }) => self.files(&dirs, &files),
                Some(Task::Single(side)) => self.single(side),
                Some(Task::Document(document)) => self.take_apart(&document),
                None => {}
            }
        }
        self.notes
    }

    fn error(&mut self, side: usize, below: &[u8], errno: i32) {
        let source = std::io::Error::from_raw_os_error(errno);
        let path = self.shared.path(side, below);
        let error = SoftError::of_io(PathText::from(path.as_path()), &source);
        self.notes.errors.push(error);
    }

    fn vanished(&mut self, side: usize, below: &[u8]) {
        let path = self.shared.path(side, below);
        let error = SoftError::vanished(path.as_path().into());
        self.notes.errors.push(error);
    }

    // ---- walking ----

    #[allow(clippy::option_option)] // as in `Task::Dir`
    fn dir(&mut self, below: &[u8], sides: [Option<Option<Arc<DirChain>>>; 2]) {
        let mut chains = [None, None];
        let mut open = [None, None];
        let mut listings = [Vec::new(), Vec::new()];
        for (side, above) in sides.into_iter().enumerate() {
            let Some(above) = above else { continue };
            let Some((dir, found)) = self.list(side, below, above.as_deref()) else {
                continue;
            };
            chains[side] = Some(Arc::new(DirChain::of(&dir, above)));
            let fs = {
                let mut known = self.shared.file_systems.lock();
                let id = known.0.id_of(dir.as_fd(), dir.stat.dev);
                known.1.file_system(id)
            };
            open[side] = Some((dir, fs));
            listings[side] = found;
        }
        let dirs = Arc::new(Dirs {
            below: below.to_vec(),
            open,
        });
        let mut below_tasks = Vec::new();
        let mut files: Vec<TwinNames> = Vec::new();
        let [a, b] = listings.map(|found| found.into_iter().peekable());
        let (mut a, mut b) = (a, b);
        loop {
            let order = match (a.peek(), b.peek()) {
                (Some(a), Some(b)) => a.name.cmp(&b.name),
                (Some(_), None) => CmpOrdering::Less,
                (None, Some(_)) => CmpOrdering::Greater,
                (None, None) => break,
            };
            let found = [a.next_if(|_| order.is_le()), b.next_if(|_| order.is_ge())];
            let mut name = OsString::new();
            let found = found.map(|found| {
                let found = found?;
                name = found.name;
                Some(found.stat)
            });
            let path = joined(below, &name);
            let mut down = [None, None];
            let mut stats = [None, None];
            for (side, found) in found.into_iter().enumerate() {
                let Some(found) = found else { continue };
                if self.left_out(side, &path) {
                    continue;
                }
                match found {
                    Err(errno) if means_absent(errno) => self.vanished(side, &path),
                    Err(errno) => self.error(side, &path, errno.raw_os_error()),
                    Ok(stat) if stat.kind == Kind::Dir => {
                        down[side] = Some(chains[side].clone());
                        self.note(side, &path, What::Dir);
                    }
                    Ok(stat) if !self.admits(side, &path, &stat) => {
                        self.notes.skipped += u64::from(stat.kind == Kind::File);
                    }
                    Ok(stat) if stat.kind == Kind::File => stats[side] = Some(stat),
                    Ok(stat) => {
                        if let Some((dir, _)) = &dirs.open[side] {
                            let target = || dir.read_link(&name);
                            self.other(side, &path, stat.kind, target);
                        }
                    }
                }
            }
            if down.iter().any(Option::is_some) {
                below_tasks.push(Task::Dir {
                    below: path,
                    sides: down,
                });
            }
            if stats.iter().any(Option::is_some) {
                files.push(TwinNames { name, stats });
            }
        }
        // Tasks are taken from the end of the list. Files are put behind the subdirectories, so
        // they are read while their directory is still open.
        let mut tasks = below_tasks;
        let mut batches = batches(files);
        let own = batches.pop();
        tasks.extend(batches.into_iter().map(|files| Task::Files {
            dirs: Arc::clone(&dirs),
            files,
        }));
        self.shared.tasks.give(tasks);
        if let Some(files) = own {
            self.files(&dirs, &files);
        }
    }

    /// Opens and lists a directory. Returns `None` if the directory must not be entered or cannot
    /// be listed.
    fn list(
        &mut self,
        side: usize,
        below: &[u8],
        above: Option<&DirChain>,
    ) -> Option<(OpenDir, Vec<Found>)> {
        let anchor = &self.shared.roots[side].anchor;
        let path = self.shared.path(side, below);
        match self.shared.unindexed.list(anchor, &path, above) {
            DirListing::Dir(dir, found) => {
                self.shared.dirs.fetch_add(1, Ordering::Relaxed);
                return Some((dir, found));
            }
            DirListing::LeftOut => self.notes.skipped += 1,
            DirListing::Gone => self.vanished(side, below),
            DirListing::Failed(errno) => self.error(side, below, errno.raw_os_error()),
        }
        None
    }

    fn left_out(&self, side: usize, path: &[u8]) -> bool {
        let inner = self.shared.roots[side].inner.as_deref();
        inner.is_some_and(|inner| inner.as_os_str().as_bytes() == path)
    }

    fn admits(&self, side: usize, path: &[u8], stat: &Stat) -> bool {
        let shared = self.shared;
        let large = stat.kind != Kind::File || stat.size >= shared.min_size;
        large && (!shared.filtered || shared.roots[side].rules.admit(&shared.path(side, path)))
    }

    fn note(&mut self, side: usize, path: &[u8], what: What) {
        self.notes.items[side].push(ScanItem {
            entry: Entry {
                path: path.into(),
                what,
                inode: (0, 0),
            },
            stamp: None,
        });
    }

    fn other(
        &mut self,
        side: usize,
        path: &[u8],
        kind: Kind,
        target: impl FnOnce() -> rustix::io::Result<Vec<u8>>,
    ) {
        let what = match kind {
            Kind::Symlink => match target() {
                Ok(target) => What::Link(target),
                Err(_) => return self.vanished(side, path),
            },
            Kind::Special(kind) => What::Special(kind),
            Kind::Dir | Kind::File => return,
        };
        self.note(side, path, what);
    }

    /// Scans a root that is not a directory.
    fn single(&mut self, side: usize) {
        let root = &self.shared.roots[side];
        let path = root.path.clone();
        let name = path.file_name().unwrap_or_default().as_bytes().to_vec();
        let stat = match root.anchor.stat_at(&path) {
            Ok(stat) => stat,
            Err(errno) => return self.error(side, b"", errno.raw_os_error()),
        };
        if !self.admits(side, b"", &stat) {
            self.notes.skipped += u64::from(stat.kind == Kind::File);
        } else if stat.kind == Kind::File {
            self.shared.files.fetch_add(1, Ordering::Relaxed);
            let at = At {
                side,
                path: &name,
                fs: None,
            };
            let opened = open_regular(&root.anchor, &path);
            self.read_one(at, &stat, opened);
        } else {
            self.other(side, &name, stat.kind, || root.anchor.read_link(&path));
        }
    }

    // ---- reading ----

    fn files(&mut self, dirs: &Dirs, files: &[TwinNames]) {
        for TwinNames { name, stats } in files {
            let path = joined(&dirs.below, name);
            let mut unknown = [None, None];
            for side in 0..2 {
                let (Some(stat), Some((dir, fs))) = (&stats[side], &dirs.open[side]) else {
                    continue;
                };
                self.shared.files.fetch_add(1, Ordering::Relaxed);
                // Overlayfs shows files of several devices in one directory. The file system of a
                // file is known only if the file is on the device of its directory.
                let at = At {
                    side,
                    path: &path,
                    fs: (stat.dev == dir.stat.dev).then_some(*fs),
                };
                if !self.is_known(at, stat) {
                    unknown[side] = Some((at, stat, dir));
                }
            }
            match unknown {
                [Some((a, stat_a, dir_a)), Some((b, stat_b, dir_b))]
                    if stat_a.size == stat_b.size =>
                {
                    let opened = [open_regular_in(dir_a, name), open_regular_in(dir_b, name)];
                    self.read_both([(a, stat_a), (b, stat_b)], opened);
                }
                unknown => {
                    for (at, stat, dir) in unknown.into_iter().flatten() {
                        self.read_one(at, stat, open_regular_in(dir, name));
                    }
                }
            }
        }
    }

    /// Records a file without reading it, if possible. Returns whether the file was recorded. This
    /// is possible if an earlier scan has the file, or if this scan has read another name of the
    /// same inode.
    fn is_known(&mut self, at: At<'_>, stat: &Stat) -> bool {
        let inventory = self.shared.known[at.side].as_ref();
        if let (Some(inventory), Some(fs)) = (inventory, at.fs)
            && let Some(known) = inventory.content_of(at.path, stat, fs)
            && let Some(number) = self.shared.table.lock().known(inventory, known)
        {
            if inventory.parts.pending.contains(&known) {
                self.put_off(at, number, stat);
            }
            self.file(at, stat, What::File(number), Some(Stamp::of(stat, fs)));
            return true;
        }
        if stat.nlink > 1 {
            let linked = self
                .shared
                .linked
                .lock()
                .get(&(stat.dev, stat.ino))
                .copied();
            if let Some((number, stamp)) = linked {
                self.file(at, stat, What::File(number), stamp);
                return true;
            }
        }
        false
    }

    fn file(&mut self, at: At<'_>, stat: &Stat, what: What, stamp: Option<Stamp>) {
        self.notes.items[at.side].push(ScanItem {
            entry: Entry {
                path: at.path.into(),
                what,
                inode: (stat.dev, stat.ino),
            },
            stamp,
        });
    }

    fn read_both(&mut self, files: [(At<'_>, &Stat); 2], opened: [Result<Opened, ReadFailure>; 2]) {
        let [a, b] = opened;
        let (a, b) = match (a, b) {
            (Ok(a), Ok(b)) if a.1.size == b.1.size => (a, b),
            (a, b) => {
                self.read_one(files[0].0, files[0].1, a);
                self.read_one(files[1].0, files[1].1, b);
                return;
            }
        };
        if (a.1.dev, a.1.ino) == (b.1.dev, b.1.ino) {
            // Both paths lead to one file, so it is read once.
            let stat_b = b.1;
            if let Some((number, stamp)) = self.read_one(files[0].0, files[0].1, Ok(a)) {
                self.file(files[1].0, &stat_b, What::File(number), stamp);
            } else {
                self.read_one(files[1].0, files[1].1, Ok(b));
            }
            return;
        }
        let before = self.pairs.bytes;
        let pair = self.pairs.read([&a, &b], &mut self.digester);
        self.shared
            .bytes_read
            .fetch_add(self.pairs.bytes - before, Ordering::Relaxed);
        let numbers = match pair {
            Ok(PairLook::Equal { digest, at }) => {
                let number = self.keep(&digest);
                self.look_into(files[0].0, number, &a);
                [(number, at); 2]
            }
            Ok(PairLook::Unequal { digests, at }) => [(0, &a), (1, &b)].map(|(side, opened)| {
                let digest = &digests[side];
                let number = self.keep(digest);
                self.look_into(files[side].0, number, opened);
                (number, at)
            }),
            // The files cannot be read side by side, or one read failed. If the files are read one
            // by one, each failure is reported for its own file.
            Ok(PairLook::OneByOne) | Err(_) => {
                self.read_one(files[0].0, files[0].1, Ok(a));
                self.read_one(files[1].0, files[1].1, Ok(b));
                return;
            }
        };
        self.shared.files_read.fetch_add(2, Ordering::Relaxed);
        for (((at, _), (_, stat)), (number, read_at)) in files.into_iter().zip([a, b]).zip(numbers)
        {
            self.settle(at, &stat, number, read_at, false);
        }
    }

    /// Reads one file and returns the number of its content and its stamp. Returns `None` if the
    /// file cannot be read.
    fn read_one(
        &mut self,
        at: At<'_>,
        seen: &Stat,
        opened: Result<Opened, ReadFailure>,
    ) -> Option<(u32, Option<Stamp>)> {
        let mut is_document = false;
        let read = opened.and_then(|opened| {
            is_document = self.is_document(at.path, &opened.0);
            let size = Some(ByteLen(opened.1.size));
            self.reader.read_open(opened, size, self.shared)
        });
        let FileRead {
            stat,
            content,
            moving,
            at: when,
            bytes,
            ..
        } = match read {
            Ok(read) => read,
            Err(ReadFailure::Errno(errno)) => {
                let below = if self.shared.roots[at.side].single {
                    &[][..]
                } else {
                    at.path
                };
                self.error(at.side, below, errno);
                self.file(at, seen, What::Unread, None);
                return None;
            }
            // Now there may be another file or no file at the path. So the listed file is treated
            // as gone.
            Err(ReadFailure::Gone | ReadFailure::NotRegular) => {
                let is_single = self.shared.roots[at.side].single;
                self.vanished(at.side, if is_single { b"" } else { at.path });
                return None;
            }
            // Nothing stops or pauses the reads of a comparison, so these failures do not occur.
            Err(ReadFailure::Stopped | ReadFailure::Paused) => return None,
        };
        self.shared.files_read.fetch_add(1, Ordering::Relaxed);
        self.shared.bytes_read.fetch_add(bytes, Ordering::Relaxed);
        let number = match content {
            read::Content::Known(id) => id.0,
            read::Content::New(digest) => self.keep(&digest),
            // These two variants do not occur, because only an index has contents in flight or
            // edited. If they did occur, the table would have their digests.
            read::Content::InFlight(digest) => self.shared.table.lock().numbers.get(&digest)?,
            read::Content::Edited(edited) => {
                let table = self.shared.table.lock();
                table.numbers.get(&edited.digest.content)?
            }
        };
        if is_document && !moving {
            self.put_off(at, number, &stat);
        }
        Some((number, self.settle(at, &stat, number, when, moving)))
    }

    /// Returns whether the part reader can take a file apart.
    fn is_document(&self, path: &[u8], file: &OwnedFd) -> bool {
        self.shared.part_reader.is_some_and(|part_reader| {
            read_prefix(file, HEAD)
                .is_ok_and(|head| part_reader.applies(name_of(path), &head, Some(file.as_fd())))
        })
    }

    /// Notes a file that was read, if the part reader can take it apart.
    fn look_into(&mut self, at: At<'_>, number: u32, (file, stat): &Opened) {
        if self.is_document(at.path, file) {
            self.put_off(at, number, stat);
        }
    }

    /// Notes a document that will perhaps be taken apart after all files were read.
    fn put_off(&mut self, at: At<'_>, number: u32, stat: &Stat) {
        self.notes.documents.push(ScannedDocument {
            number,
            side: at.side,
            path: at.path.into(),
            stat: *stat,
        });
    }

    /// Records a file that was read. Returns the stamp of the file, if an inventory may trust it.
    fn settle(
        &mut self,
        at: At<'_>,
        stat: &Stat,
        number: u32,
        read_at: SystemTime,
        moving: bool,
    ) -> Option<Stamp> {
        let old = age(stat.ctime, read_at) >= self.shared.settle_window;
        let fs = at.fs.filter(|_| old && !moving);
        let stamp = fs.map(|fs| Stamp::of(stat, fs));
        self.notes.moving += u64::from(moving);
        if stat.nlink > 1 && !moving {
            self.shared
                .linked
                .lock()
                .insert((stat.dev, stat.ino), (number, stamp));
        }
        self.file(at, stat, What::File(number), stamp);
        stamp
    }

    /// Returns the number of a content. If the content is new, packs its chunks and its samples
    /// first.
    pub(super) fn keep(&mut self, digest: &Digest) -> u32 {
        let content = Content {
            digest: digest.content,
            size: digest.size,
            kind: digest.kind,
        };
        if let Some(number) = self.shared.table.lock().numbers.get(&content.digest) {
            return number;
        }
        let (arena, thread) = (&mut self.notes.arena, self.number);
        let from = arena.len();
        packed::pack(&digest.chunks, &digest.kept(&self.params), arena);
        let length = (arena.len() - from) as u32;
        let mut new = false;
        let number = self.shared.table.lock().number(content, || {
            new = true;
            PackedPlace {
                pool: Where::Arena(thread),
                from: from as u64,
                length,
            }
        });
        if !new {
            // Meanwhile, another thread has added the same content. So this copy is removed.
            arena.truncate(from);
        }
        number
    }
}

/// Returns the last component of a path.
pub(super) fn name_of(path: &[u8]) -> &[u8] {
    path.rsplit(|&byte| byte == b'/').next().unwrap_or_default()
}

fn joined(below: &[u8], name: &OsStr) -> Vec<u8> {
    let mut path = Vec::with_capacity(below.len() + 1 + name.len());
    if !below.is_empty() {
        path.extend_from_slice(below);
        path.push(b'/');
    }
    path.extend_from_slice(name.as_bytes());
    path
}

/// Splits files into batches of at most [`FILES`] files and [`BYTES`] bytes. There is one batch for
/// each task.
fn batches(files: Vec<TwinNames>) -> Vec<Vec<TwinNames>> {
    let mut batches: Vec<Vec<TwinNames>> = Vec::new();
    let mut bytes = 0;
    for file in files {
        let size: u64 = file.stats.iter().flatten().map(|stat| stat.size).sum();
        match batches.last_mut() {
            Some(batch) if batch.len() < FILES && bytes + size <= BYTES => batch.push(file),
            _ => {
                bytes = 0;
                batches.push(vec![file]);
            }
        }
        bytes += size;
    }
    batches
}
