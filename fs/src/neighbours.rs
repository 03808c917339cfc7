//! What the overlay asks about similarity, and whoever knows the index answers.
//!
//! The overlay knows the shape of the namespace (names, modes, handles) and nothing about
//! similarity; whoever implements [`Neighbours`] knows similarity and nothing about the namespace.
//! The trait is asked with absolute paths of the watched tree and answers with absolute paths.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_callers::accounts::Account;
use resemble_callers::{Caller, Sight};
use resemble_core::Score;

/// One line of a `.similar` listing before it has a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// Absolute path of the real file (or directory) that the link leads to.
    pub target: PathBuf,
    /// The path of a member inside the archive `target`, its names joined by `!`; empty: the file
    /// itself.
    pub member: Vec<u8>,
    /// The size of the member in bytes, which its entry shows.
    pub member_size: u64,
    /// How much of the file asked about is in this one: the `NNN%` of the name.
    pub a_in_b: Score,
    /// Whether both have equal bytes: only then does the name show 100 %.
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
    /// How many there were before the cut.
    pub total: usize,
}

/// Answers about files of the watched tree, from memory or index only, in microseconds to a few
/// milliseconds. Implementations must never touch the overlay's own mount.
pub trait Neighbours: Send + Sync + 'static {
    /// The neighbours of the file at this absolute path; empty if it has none or is not indexed.
    fn similar(&self, file: &Path) -> Listing;

    /// The directories that resemble this one; empty if there are none, or if the directory is too
    /// large to be answered for while somebody waits.
    fn similar_dirs(&self, dir: &Path) -> Listing;

    /// The text of `.similar/.why/NAME` for a file and the [`Neighbour::path`] of its neighbour.
    /// This may read both files, so it is called on a worker thread and not on a thread that serves
    /// the mount.
    fn why(&self, file: &Path, neighbour: &Path) -> Vec<u8>;

    /// Opens the archive of a member, by its [`Neighbour::path`]. `None`: it is there no more, or
    /// must not be read. Called like [`Self::why`].
    fn member<'a>(&'a self, path: &'a Path) -> Option<Box<dyn Member + 'a>> {
        let _ = path;
        None
    }

    /// The text of the last entry of a listing that was cut: how to see the `left` other files, or
    /// directories if it is about one.
    fn more(&self, of: &Path, left: usize) -> Vec<u8> {
        format!("{left} more resemble {}\n", of.display()).into_bytes()
    }

    /// The bytes of `.similar/.report.json`: what `resemble find FILE --format json` prints, for at
    /// most as many files as a listing names.
    fn report(&self, file: &Path) -> Vec<u8>;

    /// Whether [`Self::similar`] would name any file. The files view asks this for each file of a
    /// directory whose `.similar` is listed; implement it if it can be cheaper than the answer.
    fn has_similar(&self, file: &Path) -> bool {
        !self.similar(file).neighbours.is_empty()
    }

    /// A number that changes whenever an answer may have changed, or `None` if no such number is
    /// known. `ls -l F/.similar` looks up each link that it has just listed: with this number the
    /// overlay answers from the listing, without it each look-up asks again.
    fn generation(&self) -> Option<u64> {
        None
    }
}

/// A member of an archive that was opened.
pub trait Member {
    /// What it would be taken out of now: bytes of equal origins are equal.
    fn origin(&self) -> Vec<u8>;

    /// Its bytes, taken out now. `None`: they cannot be had any more, or there are too many.
    fn bytes(&self) -> Option<Vec<u8>>;
}

/// What one of many callers sees.
#[derive(Clone)]
pub struct Party {
    /// What of the watched tree.
    pub sight: Arc<dyn Sight>,
    /// The answers for him, computed from that alone.
    pub neighbours: Arc<dyn Neighbours>,
}

impl std::fmt::Debug for Party {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Party")
            .field("sight", &self.sight)
            .finish_non_exhaustive()
    }
}

/// Whoever asks, of a mount that everybody may walk through.
pub trait Audience: Send + Sync + 'static {
    /// What this one sees. It is used for a second at most, then it is asked for again.
    fn party(&self, caller: Caller) -> Party;

    /// The account that a user is counted as.
    fn account(&self, uid: u32) -> Account;
}

/// Answers from a table, for tests and demonstrations, which need no index.
#[derive(Debug, Default)]
pub struct MapNeighbours {
    table: Mutex<BTreeMap<PathBuf, Listing>>,
}

impl MapNeighbours {
    /// A table in which no file resembles another.
    pub fn new() -> Self {
        Self::default()
    }

    /// From now on, `of` (a file or a directory) has exactly these neighbours.
    pub fn set(&self, of: impl Into<PathBuf>, neighbours: Vec<Neighbour>) {
        let listing = Listing {
            total: neighbours.len(),
            neighbours,
        };
        self.table.lock().insert(of.into(), listing);
    }

    /// From now on, `of` has no neighbours.
    pub fn clear(&self, of: &Path) {
        self.table.lock().remove(of);
    }
}

/// A member whose bytes are made up.
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
