//! Finds files that were written to under names that nobody watched.
//!
//! Suppose that a hard link is created, written to and removed before it is watched, for example in
//! a folder without a watch. Then no event reports a change of the file. To find such a change, the
//! inodes in the index are compared with their present state. This takes some microseconds for each
//! name. So in a large index, only files with several known names are compared.

use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use resemble_index::{Entry, FileRow};

use super::target::{Cause, Target};
use super::{Ingest, IngestError};
use crate::fsid::FsIds;
use crate::walk::{Anchor, Stat};

/// The maximum number of compared names. If the index has more names, only files with several names
/// are compared, up to the same number of files.
const MOST: usize = 20_000;

impl Ingest {
    /// Returns targets for the files whose inodes have changed since they were indexed.
    pub fn changed_unheard(&self) -> Result<Vec<Target>, IngestError> {
        let snapshot = self.index.snapshot()?;
        let mut files = Vec::new();
        for root in &self.options.roots {
            snapshot.walk(&root.path, &mut |path, entry| match entry {
                Entry::File(file) => {
                    files.push((path.to_owned(), *file));
                    if files.len() > MOST {
                        return ControlFlow::Break(());
                    }
                    ControlFlow::Continue(())
                }
                _ => ControlFlow::Continue(()),
            })?;
        }
        if files.len() > MOST {
            files.clear();
            for file in snapshot.files_of_several_names(MOST)? {
                let paths = snapshot.paths(file)?;
                files.extend(paths.into_iter().map(|path| (path, file)));
            }
        }
        let mut targets = Vec::new();
        for (path, file) in files {
            let is_known = |row: &FileRow| is_as_known(&path, row);
            if !snapshot.file(file)?.as_ref().is_some_and(is_known) {
                targets.push(Target::entry(path, Cause::Unknown));
            }
        }
        Ok(targets)
    }

    /// Returns a path of the file with this inode number, if the index has a path that still leads
    /// to the file. The file must be in the file system of the directory `dir`.
    pub fn name_of(&self, dir: &Path, ino: u64) -> Option<PathBuf> {
        let anchor = Anchor::open(dir).ok()?;
        let dev = anchor.stat().dev;
        let fs = FsIds::default().id_of(anchor.as_fd(), dev);
        let snapshot = self.index.snapshot().ok()?;
        let file = snapshot.file_by_inode(&fs, ino).ok()??;
        let mut paths = snapshot.paths(file).ok()?.into_iter();
        paths.find(|path| Stat::at(path).is_ok_and(|stat| (stat.dev, stat.ino) == (dev, ino)))
    }
}

fn is_as_known(path: &Path, row: &FileRow) -> bool {
    let known = &row.stat;
    Stat::at(path).is_ok_and(|stat| {
        (stat.ino, stat.size, stat.mtime, stat.ctime)
            == (known.ino, known.size.0, known.mtime, known.ctime)
    })
}
