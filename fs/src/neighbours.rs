//! What the overlay asks of whoever knows the index.

use std::path::{Path, PathBuf};

use resemble_core::Score;

/// One line of a `.similar` listing before it has a name.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbour {
    /// Absolute path of the real file (or directory) that the link leads to.
    pub target: PathBuf,
    /// How much of the asked file is in this one: the `NNN%` of the name.
    pub a_in_b: Score,
    /// Equal bytes: the only ones that show 100 %.
    pub identical: bool,
    /// The relation's word.
    pub relation: &'static str,
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

    /// The directories that resemble this one (empty until the index knows how to tell).
    fn similar_dirs(&self, dir: &Path) -> Listing;

    /// The text of `.similar/.why/NAME` for (file, neighbour). May read both files; called on a
    /// worker thread, not on a thread that serves the mount.
    fn why(&self, file: &Path, neighbour: &Path) -> Vec<u8>;

    /// The bytes of `.similar/.report.json`: what `resemble find FILE --format json` prints.
    fn report(&self, file: &Path) -> Vec<u8>;
}
