//! The interface through which the overlay asks for similar files.
//!
//! The overlay knows the names, modes and handles of the entries it shows, and nothing about
//! similarity. An implementation of [`Neighbours`] knows similarity and nothing about the overlay.
//! All paths in questions and answers are absolute paths in the watched tree.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_callers::accounts::Account;
use resemble_callers::{AccessCheck, Caller};
use resemble_core::Score;

/// A file or directory that resembles another one: an entry of a `.similar` listing that has no
/// name yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// The absolute path of the real file or directory to which the entry leads.
    pub target: PathBuf,
    /// If the neighbour is a member of the archive `target`, the member's names, joined by `!`.
    /// Otherwise empty.
    pub member: Vec<u8>,
    /// The size of the member in bytes, which the attributes of its entry show.
    pub member_size: u64,
    /// The share of the requested file that is in this neighbour: the `NNN%` of the entry's name.
    pub a_in_b: Score,
    /// True if both files have equal bytes. Only the name of such a neighbour has 100 %.
    pub identical: bool,
    /// The word for the relation of the two files.
    pub relation: &'static str,
}

impl Neighbour {
    /// Returns the path of the target, followed by the names of the member:
    /// `/srv/mail.eml!report.zip!a.txt`.
    pub fn path(&self) -> PathBuf {
        if self.member.is_empty() {
            return self.target.clone();
        }
        let mut path = self.target.clone().into_os_string().into_vec();
        path.push(b'!');
        path.extend_from_slice(&self.member);
        PathBuf::from(OsString::from_vec(path))
    }
}

/// The neighbours of one file or directory at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// The neighbours, in any order. The overlay names and sorts them, and lists the best 100.
    pub neighbours: Vec<Neighbour>,
    /// The number of all neighbours, including those that were left out.
    pub total: usize,
}

/// Answers questions about files of the watched tree, from memory, the index and the files
/// themselves. Most listings take microseconds to some milliseconds. Implementations must never
/// access the overlay's own mount.
pub trait Neighbours: Send + Sync + 'static {
    /// Returns the neighbours of the file at this absolute path. The listing is empty if there are
    /// none, or if the file is not indexed.
    fn similar(&self, file: &Path) -> Listing;

    /// Returns the directories that resemble this one. The listing is also empty if the directory
    /// is too large for a quick answer.
    fn similar_dirs(&self, dir: &Path) -> Listing;

    /// Returns the text of `.similar/.why/NAME`: an explanation of why `file` has this neighbour.
    /// `neighbour` is the [`Neighbour::path`]. The answer may read both files, so it is computed on
    /// a worker thread.
    fn why(&self, file: &Path, neighbour: &Path) -> Vec<u8>;

    /// Opens the archive of a member, given the member's [`Neighbour::path`]. Returns `None` if the
    /// archive no longer exists, or must not be read. This runs on a worker thread, like
    /// [`Self::why`].
    fn member<'a>(&'a self, path: &'a Path) -> Option<Box<dyn Member + 'a>> {
        let _ = path;
        None
    }

    /// Returns the text of the last entry of a listing that does not show all neighbours of `of`.
    /// The text has the number of further neighbours, `left`, and may explain how to see them.
    fn more(&self, of: &Path, left: usize) -> Vec<u8> {
        format!("{left} more resemble {}\n", of.display()).into_bytes()
    }

    /// Returns the bytes of `.similar/.report.json`. They equal the output of `resemble find FILE
    /// --format json`, limited to the number of files that a listing can have.
    fn report(&self, file: &Path) -> Vec<u8>;

    /// Returns whether [`Self::similar`] would return any neighbour. The files view calls this for
    /// each file of a directory when that directory's `.similar` is listed. Implement this method
    /// if it can be faster than computing the neighbours.
    fn has_similar(&self, file: &Path) -> bool {
        !self.similar(file).neighbours.is_empty()
    }

    /// Returns a number that changes whenever an answer may have changed; `None` if there is no
    /// such number. `ls -l F/.similar` looks up each entry that it has just listed. If the number
    /// is unchanged, the overlay answers these look-ups from the listing. Without a number, each
    /// look-up asks again.
    fn generation(&self) -> Option<u64> {
        None
    }
}

/// A member of an archive that has been opened.
pub trait Member {
    /// Returns bytes that identify the present version of the member. Equal origins mean equal
    /// bytes.
    fn origin(&self) -> Vec<u8>;

    /// Extracts the bytes of the member; `None` if they are no longer available, or if there are
    /// too many.
    fn bytes(&self) -> Option<Vec<u8>>;
}

/// The access checks and the source of answers for one of many callers.
#[derive(Clone)]
pub struct Party {
    /// Checks which files of the watched tree the caller may access.
    pub sight: Arc<dyn AccessCheck>,
    /// Answers the caller's questions, only from files that the caller may see.
    pub neighbours: Arc<dyn Neighbours>,
}

impl std::fmt::Debug for Party {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Party")
            .field("sight", &self.sight)
            .finish_non_exhaustive()
    }
}

/// The callers of a mount for all users.
pub trait Audience: Send + Sync + 'static {
    /// Returns the access checks and the source of answers for a caller. Both are used for at most
    /// a second, and then requested again.
    fn party(&self, caller: Caller) -> Party;

    /// Returns the account of a user, to which limits apply.
    fn account(&self, uid: u32) -> Account;
}

/// A table of answers, for tests and demonstrations without an index.
#[derive(Debug, Default)]
pub struct MapNeighbours {
    table: Mutex<BTreeMap<PathBuf, Listing>>,
}

impl MapNeighbours {
    /// Creates an empty table, so no file has neighbours.
    pub fn new() -> Self {
        Self::default()
    }

    /// Sets the neighbours of `of`, which may be a file or a directory.
    pub fn set(&self, of: impl Into<PathBuf>, neighbours: Vec<Neighbour>) {
        let listing = Listing {
            total: neighbours.len(),
            neighbours,
        };
        self.table.lock().insert(of.into(), listing);
    }

    /// Removes the neighbours of `of`.
    pub fn clear(&self, of: &Path) {
        self.table.lock().remove(of);
    }
}

/// A member with invented bytes.
struct TextMember(Vec<u8>);

impl Member for TextMember {
    fn origin(&self) -> Vec<u8> {
        self.0.clone()
    }

    fn bytes(&self) -> Option<Vec<u8>> {
        Some(self.0.clone())
    }
}

impl Neighbours for MapNeighbours {
    fn similar(&self, file: &Path) -> Listing {
        self.table.lock().get(file).cloned().unwrap_or_default()
    }

    fn similar_dirs(&self, dir: &Path) -> Listing {
        self.similar(dir)
    }

    fn why(&self, file: &Path, neighbour: &Path) -> Vec<u8> {
        format!("{} resembles {}\n", file.display(), neighbour.display()).into_bytes()
    }

    fn member<'a>(&'a self, path: &'a Path) -> Option<Box<dyn Member + 'a>> {
        let bytes = format!("the bytes of {}\n", path.display()).into_bytes();
        Some(Box::new(TextMember(bytes)))
    }

    fn report(&self, file: &Path) -> Vec<u8> {
        format!("{{\"total\":{}}}\n", self.similar(file).total).into_bytes()
    }
}
