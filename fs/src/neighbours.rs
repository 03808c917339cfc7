//! The interface through which the overlay asks about similarity.
//!
//! The overlay knows the shape of the namespace (names, modes, handles) and nothing about
//! similarity. An implementation of [`Neighbours`] knows similarity and nothing about the
//! namespace. The paths of questions and answers are absolute paths of the watched tree.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_callers::accounts::Account;
use resemble_callers::{AccessCheck, Caller};
use resemble_core::Score;

/// A line of a `.similar` listing before it has a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// Absolute path of the real file (or directory) that the link leads to.
    pub target: PathBuf,
    /// The path of a member inside the archive `target`, its names joined by `!`; empty: the file
    /// itself.
    pub member: Vec<u8>,
    /// The size of the member in bytes, which its entry shows.
    pub member_size: u64,
    /// Share of the requested file that is in this one: the `NNN%` of the name.
    pub a_in_b: Score,
    /// True if both have equal bytes: only then does the name show 100 %.
    pub identical: bool,
    /// The relation's word.
    pub relation: &'static str,
}

impl Neighbour {
    /// Target and member as one path: `/srv/mail.eml!report.zip!a.txt`.
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

/// The answer for one file at one moment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Listing {
    /// At most 100, in no particular order; the overlay names and sorts them.
    pub neighbours: Vec<Neighbour>,
    /// The number of neighbours before the cut.
    pub total: usize,
}

/// Answers questions about files of the watched tree in microseconds to a few milliseconds, only
/// from memory or the index. Implementations must never access the overlay's own mount.
pub trait Neighbours: Send + Sync + 'static {
    /// Returns the neighbours of the file at this absolute path; empty if it has none or is not
    /// indexed.
    fn similar(&self, file: &Path) -> Listing;

    /// Returns the directories that resemble this one. The listing is also empty if the directory
    /// is too large for an immediate answer.
    fn similar_dirs(&self, dir: &Path) -> Listing;

    /// Returns the text of `.similar/.why/NAME` for a file and the [`Neighbour::path`] of its
    /// neighbour. It may read both files, so it runs on a worker thread and not on one that serves
    /// the mount.
    fn why(&self, file: &Path, neighbour: &Path) -> Vec<u8>;

    /// Opens the archive of a member, by its [`Neighbour::path`]. `None`: it no longer exists, or
    /// must not be read. It runs on a worker thread, like [`Self::why`].
    fn member<'a>(&'a self, path: &'a Path) -> Option<Box<dyn Member + 'a>> {
        let _ = path;
        None
    }

    /// Returns the text of the last entry of a truncated listing. It explains how to see the `left`
    /// other files (or directories, if it is about a directory).
    fn more(&self, of: &Path, left: usize) -> Vec<u8> {
        format!("{left} more resemble {}\n", of.display()).into_bytes()
    }

    /// Returns the bytes of `.similar/.report.json`. They are the output of `resemble find FILE
    /// --format json` for at most as many files as a listing names.
    fn report(&self, file: &Path) -> Vec<u8>;

    /// Returns whether [`Self::similar`] would name any file. The files view asks this for each
    /// file of a directory whose `.similar` is listed. Override it if that can be determined faster
    /// than by computing the neighbours.
    fn has_similar(&self, file: &Path) -> bool {
        !self.similar(file).neighbours.is_empty()
    }

    /// Returns a number that changes whenever an answer may have changed. `None`: no such number is
    /// known. `ls -l F/.similar` looks up each link that it has just listed. With this number the
    /// overlay answers from the listing; without it each look-up asks again.
    fn generation(&self) -> Option<u64> {
        None
    }
}

/// An open member of an archive.
pub trait Member {
    /// Identifies the present source of the member's bytes. Equal origins mean equal bytes.
    fn origin(&self) -> Vec<u8>;

    /// Extracts its bytes now. `None`: they are no longer available, or too many.
    fn bytes(&self) -> Option<Vec<u8>>;
}

/// The view of one of many callers.
#[derive(Clone)]
pub struct Party {
    /// The caller's access to the watched tree.
    pub sight: Arc<dyn AccessCheck>,
    /// The answers for this caller, computed only from what the caller may see.
    pub neighbours: Arc<dyn Neighbours>,
}

impl std::fmt::Debug for Party {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Party")
            .field("sight", &self.sight)
            .finish_non_exhaustive()
    }
}

/// The callers of a mount that every user may access.
pub trait Audience: Send + Sync + 'static {
    /// Returns the view of a caller. It is used for at most a second, then requested again.
    fn party(&self, caller: Caller) -> Party;

    /// Returns the account that a user is counted under.
    fn account(&self, uid: u32) -> Account;
}

/// Answers from a table, for tests and demonstrations without an index.
#[derive(Debug, Default)]
pub struct MapNeighbours {
    table: Mutex<BTreeMap<PathBuf, Listing>>,
}

impl MapNeighbours {
    /// Returns a table in which no file resembles another.
    pub fn new() -> Self {
        Self::default()
    }

    /// Replaces the neighbours of `of` (a file or a directory).
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
