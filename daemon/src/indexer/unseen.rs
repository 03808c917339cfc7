//! Finds files that were changed under names that the indexer did not observe.
//!
//! An event names a directory and a name in it, never a file. The indexer finds the file by
//! `lstat`, but by then the name may be gone. Examples are a hard link that existed only for one
//! write, and a name in a short-lived folder. If a file was opened without a name, its event has a
//! name that never existed. So:
//!
//! 1. A file with several names may be written under a name that the index does not know. Then a
//!    name that the index knows is checked as well, because the new name may be gone before it is
//!    checked.
//! 2. The event of a file that was opened with `O_TMPFILE` has `#` and the inode number as its
//!    name. If the index knows a name of this inode, that name is checked.
//! 3. Otherwise all inodes are compared ([`Ingest::changed_unheard`]). This is done before a
//!    barrier is answered, and a while after the event. Until then events are not trusted to
//!    explain why an inode changed.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Instant;

use resemble_scan::ingest::Ingest;

use super::Indexer;
use super::watches::Identity;
use crate::coalesce::Kind;
use crate::watch::{Hint, Marks};

impl Indexer {
    /// Records a hint that may be about a file with another name.
    pub(super) fn find_unseen(&mut self, path: &Path, hint: Hint, there: Option<(Kind, Identity)>) {
        let is_written = hint.marks.has_any(Marks::WRITTEN.and(Marks::CLOSED));
        let came_and_went = hint.marks.has_any(Marks::APPEARED) && hint.marks.has_any(Marks::GONE);
        let Some(dir) = path.parent() else { return };
        match there {
            // Before a new directory is watched, changes of files in it make no events. Some of
            // these files may have other names.
            Some((Kind::Directory, _)) if hint.marks.has_any(Marks::APPEARED) => {
                self.unseen.get_or_insert_with(Instant::now);
            }
            // Only files with several names are recorded here. A file with one name is found under
            // that name.
            Some((Kind::File, identity))
                if is_written
                    && std::fs::symlink_metadata(path).is_ok_and(|stat| stat.nlink() > 1) =>
            {
                self.hint_other_name(path, dir, identity.ino, hint);
            }
            None if is_written || came_and_went => {
                if let Some(ino) = nameless(path) {
                    self.hint_other_name(path, dir, ino, hint);
                } else if !self.coalescer.is_waiting(path) && !self.is_known(path) {
                    self.unseen.get_or_insert_with(Instant::now);
                    if is_written && let Some(ingest) = &mut self.ingest {
                        ingest.set_distrust(true);
                    }
                }
            }
            _ => {}
        }
    }

    fn is_known(&self, path: &Path) -> bool {
        let snapshot = self.shared.snapshot();
        snapshot.is_ok_and(|snapshot| matches!(snapshot.entry(path), Ok(Some(_))))
    }

    fn hint_other_name(&mut self, path: &Path, dir: &Path, ino: u64, hint: Hint) {
        let name = |ingest: &Ingest| ingest.name_of(dir, ino);
        if let Some(name) = self.ingest.as_ref().and_then(name)
            && name != path
        {
            tracing::trace!(?path, ?name, "written to under another name");
            self.coalescer.hint(&name, hint, Kind::File);
        }
    }

    /// Checks the files that changed under unobserved names, if there may be any. Returns `false`
    /// if the index is broken.
    pub(super) fn look_at_unseen(&mut self) -> bool {
        if self.unseen.take().is_none() {
            return true;
        }
        let Some(ingest) = &mut self.ingest else {
            return true;
        };
        let changed = ingest.changed_unheard();
        let looked = self.look_at_found(changed);
        if let Some(ingest) = &mut self.ingest {
            ingest.set_distrust(false);
        }
        looked
    }
}

/// Returns the inode number if the path is of a file without a name. Events of such a file have the
/// name `#` and that number.
fn nameless(path: &Path) -> Option<u64> {
    let name = path.file_name()?.as_bytes().strip_prefix(b"#")?;
    std::str::from_utf8(name).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_a_name_are_told_by_their_inodes() {
        assert_eq!(nameless(Path::new("/r/#10029355")), Some(10_029_355));
        for other in ["/r/#", "/r/#a", "/r/7", "/r/#7#", "/"] {
            assert_eq!(nameless(Path::new(other)), None);
        }
    }
}
