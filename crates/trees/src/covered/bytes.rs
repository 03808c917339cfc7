//! Compares the present bytes of files.

use std::os::fd::{AsFd, OwnedFd};
use std::path::{Path, PathBuf};

use resemble_core::hash::content::ContentHasher;
use resemble_core::{ContentDigest, StopFlag};
use resemble_mounts::{FsClass, class_of};
use resemble_proto::message::{SoftError, SoftErrorKind};
use resemble_proto::path::PathText;
use resemble_scan::read::{ReadFailure, data_at, fill, open_regular, open_regular_in};
use resemble_scan::walk::{Anchor, OpenDir, Stat};
use rustix::fs::Advice;
use rustix::io::Errno;

use super::Verdict;
use super::entries::{Listed, Listing};
use super::equals::Outside;

/// The number of bytes of the pieces in which files are read.
const PIECE: usize = 1 << 18;

/// Reads and compares files, always with the same buffers.
#[derive(Debug)]
pub(super) struct Verifier {
    /// The stop flag. When it is set, results are incomplete and must not be used.
    stop: StopFlag,
    ours: Vec<u8>,
    theirs: Vec<u8>,
    our_folder: LastFolder,
    their_folder: LastFolder,
}

/// The folder of the last opened file, with its path. The next file is usually in the same folder.
#[derive(Debug, Default)]
struct LastFolder(Option<(PathBuf, OpenDir)>);

impl LastFolder {
    /// Opens the folder of a path below the anchor.
    fn of(&mut self, anchor: &Anchor, path: &Path) -> rustix::io::Result<&OpenDir> {
        let folder = path.parent().ok_or(Errno::XDEV)?;
        let last = self.0.take().filter(|last| last.0 == folder);
        let last = match last {
            Some(last) => last,
            None => (folder.to_owned(), anchor.names_of(folder)?),
        };
        Ok(&self.0.insert(last).1)
    }
}

/// An open file and its stat.
type OpenFile = (OwnedFd, Stat);

/// The result of comparing a file with a candidate.
enum Tried {
    Equal,
    /// Another name of the same file.
    Link,
    /// The candidate was nominated as equal, but is not equal or can no longer be read.
    Changed,
    /// The candidate is no proof. It is in the checked directory by another path, is the checked
    /// file itself, or is on a mount without real files.
    DoesNotCount,
    /// The checked file itself changed meanwhile.
    Moving,
}

impl Verifier {
    pub(super) fn new(stop: &StopFlag) -> Self {
        Self {
            stop: stop.clone(),
            ours: Vec::new(),
            theirs: Vec::new(),
            our_folder: LastFolder::default(),
            their_folder: LastFolder::default(),
        }
    }

    /// Returns the present digest of a file. Returns `None` if the file cannot be read or changes
    /// meanwhile.
    pub(super) fn digest(&mut self, listing: &Listing, file: &Listed) -> Option<ContentDigest> {
        let (opened, before) = open_regular(&listing.anchor, &file.path).ok()?;
        let mut hasher = ContentHasher::new();
        let mut at = 0;
        while at < before.size {
            self.stop.go_on().ok()?;
            let data = stretch(&opened, &before, at);
            if data.start > at {
                hasher.update_zeros(data.start - at);
                at = data.start;
                continue;
            }
            let bytes = piece(&opened, &mut self.ours, at, data.end).ok()?;
            if bytes.is_empty() {
                return None;
            }
            hasher.update(bytes);
            at += bytes.len() as u64;
        }
        let after = Stat::of(opened.as_fd()).ok()?;
        after.unchanged_since(&before).then(|| hasher.finish())
    }

    /// Compares a file with the candidates in turn, and returns the verdict. The first candidate
    /// with equal bytes is taken. Another name of the file itself is taken only if no candidate is
    /// equal.
    pub(super) fn verdict(
        &mut self,
        listing: &Listing,
        file: &Listed,
        outside: &Outside<'_>,
        candidates: &[&Path],
    ) -> Verdict {
        let folder = self.our_folder.of(&listing.anchor, &file.path);
        let name = file.path.file_name().unwrap_or_default();
        let ours = folder.map_err(ReadFailure::from);
        let ours = match ours.and_then(|folder| open_regular_in(folder, name)) {
            Ok(ours) => ours,
            Err(failure) => return unreadable(&file.path, failure),
        };
        let (mut linked, mut changed) = (None, false);
        for &path in candidates {
            let Some(root) = outside.root_of(path) else {
                continue;
            };
            match self.try_one(&file.path, &ours, outside, root, path) {
                Ok(Tried::Equal) => return Verdict::Copy(path.to_owned()),
                Ok(Tried::Link) => {
                    linked.get_or_insert(path);
                }
                Ok(Tried::Changed) => changed = true,
                Ok(Tried::DoesNotCount) => {}
                Ok(Tried::Moving) => {
                    return Verdict::Missing("changed while it was compared".to_owned());
                }
                Err(errno) => {
                    return unreadable(&file.path, ReadFailure::Errno(errno.raw_os_error()));
                }
            }
        }
        // On some file systems, a file can be opened but not read. Such a file is treated as
        // unreadable.
        if ours.1.size > 0
            && let Err(errno) = piece(&ours.0, &mut self.ours, 0, 1)
        {
            return unreadable(&file.path, ReadFailure::Errno(errno.raw_os_error()));
        }
        match (linked, changed) {
            (Some(path), _) => Verdict::Linked(path.to_owned()),
            (None, true) => Verdict::Missing("its equal changed".to_owned()),
            (None, false) => Verdict::Missing("no equal file".to_owned()),
        }
    }

    /// Compares the checked file, `ours`, with one candidate. Fails if the checked file cannot be
    /// read.
    fn try_one(
        &mut self,
        path: &Path,
        ours: &OpenFile,
        outside: &Outside<'_>,
        root: &Anchor,
        candidate: &Path,
    ) -> rustix::io::Result<Tried> {
        let (Ok(folder), Some(name)) =
            (self.their_folder.of(root, candidate), candidate.file_name())
        else {
            return Ok(Tried::Changed);
        };
        let inside = outside.is_really_inside(folder, name);
        let Ok(theirs) = open_regular_in(folder, name) else {
            return Ok(Tried::Changed);
        };
        // A candidate on a mount without real files is no proof. For example, the overlay shows
        // views of watched files.
        let real = theirs.1.dev == root.stat().dev
            || class_of(theirs.0.as_fd()).is_ok_and(|class| class == FsClass::Real);
        if inside || !real {
            return Ok(Tried::DoesNotCount);
        }
        if (theirs.1.dev, theirs.1.ino) == (ours.1.dev, ours.1.ino) {
            // If the file has only one name, the candidate is the checked file itself under another
            // path.
            let other = theirs.1.nlink > 1 && candidate != path;
            return Ok(if other {
                Tried::Link
            } else {
                Tried::DoesNotCount
            });
        }
        if theirs.1.size != ours.1.size {
            return Ok(Tried::Changed);
        }
        let equal = self.equal(ours, &theirs)?;
        let still = |opened: &OpenFile| {
            Stat::of(opened.0.as_fd()).is_ok_and(|after| after.unchanged_since(&opened.1))
        };
        Ok(match (equal, still(ours), still(&theirs)) {
            (_, false, _) => Tried::Moving,
            (true, true, true) => Tried::Equal,
            _ => Tried::Changed,
        })
    }

    /// Returns whether two files of equal size hold the same bytes. Holes that both files have are
    /// not read. If the candidate cannot be read, it is treated as unequal. If the checked file
    /// cannot be read, returns the error.
    fn equal(&mut self, ours: &OpenFile, theirs: &OpenFile) -> rustix::io::Result<bool> {
        let size = ours.1.size;
        if size > PIECE as u64 {
            for opened in [ours, theirs] {
                // The advice is only a hint, so its failure is ignored.
                rustix::fs::fadvise(&opened.0, 0, None, Advice::Sequential).ok();
            }
        }
        let mut at = 0;
        while at < size {
            if self.stop.is_set() {
                return Ok(false);
            }
            let next = stretch(&ours.0, &ours.1, at)
                .start
                .min(stretch(&theirs.0, &theirs.1, at).start);
            if next > at {
                at = next;
                continue;
            }
            let ours = piece(&ours.0, &mut self.ours, at, size)?;
            let Ok(theirs) = piece(&theirs.0, &mut self.theirs, at, size) else {
                return Ok(false);
            };
            if ours.is_empty() || ours != theirs {
                return Ok(false);
            }
            at += ours.len() as u64;
        }
        Ok(true)
    }
}

/// Returns the next range of data at or after a position. A file without holes is data to its end.
fn stretch(file: &OwnedFd, stat: &Stat, at: u64) -> std::ops::Range<u64> {
    if stat.allocated < stat.size {
        data_at(file, at, stat.size)
    } else {
        at..stat.size
    }
}

/// Reads the bytes from `at` on. Reads at most one piece, and no byte at or after `end`.
fn piece<'b>(
    file: &OwnedFd,
    buffer: &'b mut Vec<u8>,
    at: u64,
    end: u64,
) -> rustix::io::Result<&'b [u8]> {
    let most = usize::try_from(end - at).unwrap_or(PIECE).min(PIECE);
    fill(file, buffer, most, at)
}

fn unreadable(path: &Path, failure: ReadFailure) -> Verdict {
    let errno = match failure {
        ReadFailure::Gone => Errno::NOENT,
        ReadFailure::Errno(errno) => Errno::from_raw_os_error(errno),
        ReadFailure::NotRegular | ReadFailure::Paused | ReadFailure::Stopped => {
            return Verdict::Unreadable(SoftError {
                path: PathText::from(path),
                kind: SoftErrorKind::Changing,
                message: failure.to_string(),
            });
        }
    };
    Verdict::Unreadable(SoftError::of_io(PathText::from(path), &errno.into()))
}
