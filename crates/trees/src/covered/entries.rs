//! Lists the entries that are now below the checked directory.

use std::cell::RefCell;
use std::collections::HashSet;
use std::ffi::{OsStr, OsString};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use resemble_core::{StopFlag, Stopped};
use resemble_index::{FileStat, SpecialKind};
use resemble_mounts::{FsClass, MountTable, class_of};
use resemble_proto::message::{MissingRow, SoftError};
use resemble_proto::path::PathText;
use resemble_relate::AskError;
use resemble_relate::prove::read::anchor_of;
use resemble_scan::walk::{Anchor, Found, Kind, Stat, is_snapshots};
use rustix::io::Errno;

/// A regular file.
#[derive(Clone, Debug)]
pub(super) struct Listed {
    pub(super) path: PathBuf,
    pub(super) stat: Stat,
}

impl Listed {
    /// Returns whether the present state of the file equals its state in the index.
    pub(super) fn is_as(&self, row: &FileStat) -> bool {
        let now = &self.stat;
        (now.ino, now.size, now.mtime, now.ctime) == (row.ino, row.size.0, row.mtime, row.ctime)
    }
}

/// A directory's device and inode.
pub(super) type Identity = (u64, u64);

/// A directory (or a single file) with everything below it.
#[derive(Debug)]
pub(super) struct Listing {
    /// The path in the form of the request.
    pub(super) dir: PathBuf,
    /// The descriptor from which everything below is opened.
    pub(super) anchor: Anchor,
    /// Regular files, by raw path.
    pub(super) files: Vec<Listed>,
    /// All other entries except directories, and the directories that are not entered. Nothing
    /// covers these entries.
    pub(super) missing: Vec<MissingRow>,
    pub(super) errors: Vec<SoftError>,
    /// The identities of the directory itself and of all directories below it.
    pub(super) inside: HashSet<Identity>,
    /// If the request names a single file, its folder and its name in the folder.
    pub(super) single: Option<(Identity, OsString)>,
}

/// A directory that is still to be listed.
struct Waiting {
    path: PathBuf,
    device_above: u64,
}

impl Listing {
    pub(super) fn of(dir: &Path, stop: &StopFlag) -> Result<Self, AskError> {
        let fail = |errno: Errno| AskError::Unreadable {
            path: dir.to_owned(),
            source: errno.into(),
        };
        match Anchor::open(dir) {
            Ok(anchor) => {
                let mut listing = Self::empty(dir, anchor);
                listing.walk(stop)?;
                Ok(listing)
            }
            Err(Errno::NOTDIR) => {
                let anchor = anchor_of(dir)?;
                let stat = anchor.stat_at(dir).map_err(fail)?;
                let mut listing = Self::empty(dir, anchor);
                let above = (listing.anchor.stat().dev, listing.anchor.stat().ino);
                let name = dir.file_name().unwrap_or_default().to_owned();
                listing.single = Some((above, name));
                listing.entry(dir.to_owned(), &stat);
                Ok(listing)
            }
            Err(errno) => Err(fail(errno)),
        }
    }

    fn empty(dir: &Path, anchor: Anchor) -> Self {
        Self {
            dir: dir.to_owned(),
            anchor,
            files: Vec::new(),
            missing: Vec::new(),
            errors: Vec::new(),
            inside: HashSet::new(),
            single: None,
        }
    }

    fn walk(&mut self, stop: &StopFlag) -> Result<(), Stopped> {
        let mounts = MountTable::load();
        let mut stack = vec![Waiting {
            path: self.dir.clone(),
            device_above: self.anchor.stat().dev,
        }];
        while let Some(waiting) = stack.pop() {
            stop.go_on()?;
            if let Err(errno) = self.visit(&waiting, &mounts, &mut stack) {
                self.unreadable(&waiting.path, errno);
            }
        }
        let raw = |path: &Path| path.as_os_str().as_bytes().to_vec();
        self.files.sort_by_cached_key(|file| raw(&file.path));
        Ok(())
    }

    fn visit(
        &mut self,
        waiting: &Waiting,
        mounts: &MountTable,
        stack: &mut Vec<Waiting>,
    ) -> rustix::io::Result<()> {
        let path = &waiting.path;
        let dir = self.anchor.dir(path)?;
        if dir.stat.dev != waiting.device_above && class_of(dir.as_fd())? != FsClass::Real {
            self.lost(path, 0, "mount point, not looked into");
            return Ok(());
        }
        if !self.inside.insert((dir.stat.dev, dir.stat.ino)) {
            // The directory is a bind mount, or it was moved meanwhile.
            self.lost(path, 0, "directory met twice");
            return Ok(());
        }
        // `stat` is not even called for mount points of hung or pseudo file systems.
        let never = mounts.left_out_in(path);
        let passed = RefCell::new(Vec::new());
        let skip = |name: &OsStr| {
            let skip = never.is_some_and(|never| never.contains(name));
            if skip {
                passed.borrow_mut().push(name.to_owned());
            }
            skip
        };
        let found = dir.list_all(&skip)?;
        for name in passed.into_inner() {
            self.lost(&path.join(name), 0, "mount point, not looked into");
        }
        for Found { name, stat } in found {
            let path = path.join(&name);
            match stat {
                Err(errno) => self.unreadable(&path, errno),
                Ok(stat) if stat.kind == Kind::Dir => {
                    if is_snapshots(&name) {
                        self.lost(&path, 0, "snapshot directory, not looked into");
                    } else {
                        stack.push(Waiting {
                            path,
                            device_above: dir.stat.dev,
                        });
                    }
                }
                Ok(stat) => self.entry(path, &stat),
            }
        }
        Ok(())
    }

    fn entry(&mut self, path: PathBuf, stat: &Stat) {
        let reason = match stat.kind {
            Kind::File => {
                self.files.push(Listed { path, stat: *stat });
                return;
            }
            Kind::Dir => return,
            Kind::Symlink => "symbolic link",
            Kind::Special(SpecialKind::Fifo) => "fifo",
            Kind::Special(SpecialKind::Socket) => "socket",
            Kind::Special(SpecialKind::Block) => "block device",
            Kind::Special(SpecialKind::Character) => "character device",
            Kind::Special(SpecialKind::Other) => "special file",
        };
        self.lost(&path, 0, reason);
    }

    fn lost(&mut self, path: &Path, size: u64, reason: &str) {
        self.missing.push(MissingRow {
            path: PathText::from(path),
            size,
            reason: reason.to_owned(),
        });
    }

    fn unreadable(&mut self, path: &Path, errno: Errno) {
        let error = SoftError::of_io(PathText::from(path), &errno.into());
        self.lost(path, 0, &format!("cannot be read: {}", error.message));
        self.errors.push(error);
    }
}
