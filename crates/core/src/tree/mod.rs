//! Finds directories that resemble each other, whatever their names and their layout.
//!
//! A directory is the set of the files below it, each with a content and a size in bytes. The
//! containment of a in b is the share of the bytes of a's files that files of b have. A file counts
//! with all its bytes if an equal content is anywhere below b. Otherwise it counts in proportion to
//! its best containment in a content below b. Names, depth and order have no effect, so a tree that
//! was flattened, renamed or nested deeper is still found.
//!
//! **Candidates without all pairs.** With n directories there are n² pairs, and nearly all of them
//! have nothing in common. So the search starts from contents ([`Holdings::pairs`]). A content
//! below a and below b adds its bytes to (a, b) and to all pairs of directories above them. This is
//! done once for each *directory*, not for each file. A sweep from the leaves to the roots builds a
//! sparse list for each directory: the bytes that it shares with each other directory. The list is
//! the sum of the lists of its subdirectories and of the files directly in it. A pair is dropped as
//! soon as one side contains the other. The cost is the number of pairs with something in common,
//! summed over the levels. A second sweep computes both containments exactly for the few pairs that
//! passed.
//!
//! **Ubiquitous contents.** A content in h directories makes h² pairs. Up to [`Limits::every`]
//! directories, all pairs are made. Beyond that, a content supports only neighbours in the order of
//! the tree ([`Limits::window`]). So a directory copied a thousand times is paired with some of its
//! copies, not with all. Beyond [`Limits::most`], a content is ubiquitous and supports no pair. The
//! figures of a pair are still exact: contents in more than [`Limits::every`] directories are
//! looked up for each pair that the sweep found.
//!
//! **Hard links.** A file with several names is in several directories and is still one file. It is
//! added once in each of these directories, and subtracted once where two of them meet. So every
//! directory above counts it exactly once (the inclusion-exclusion of a path in a tree).
//!
//! **Whole bytes.** Shares are in millionths. Each file's bytes are rounded down before they are
//! added, so sums do not depend on their order.
//!
//! [`fold`] then keeps the topmost useful pairs.

mod fold;
mod forest;
mod holdings;
mod pairs;

pub use fold::fold;
pub use forest::{Forest, Node};
pub use holdings::{Held, Holdings, Limits, Link, Share};
pub use pairs::Pair;

#[cfg(test)]
mod tests;
