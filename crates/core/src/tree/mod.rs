//! Directories that resemble each other, whatever their names and their layout.
//!
//! A directory is what lies below it: a set of files, each a content and its bytes. The containment
//! of a in b is the share of the bytes of a's files that files of b have. A file counts with all
//! its bytes if an equal content lies anywhere below b, and otherwise with its best containment in
//! a content below b. Names, depth and order play no part, so a tree that was flattened, renamed or
//! nested deeper is found like one that was not.
//!
//! **Candidates without all pairs.** With n directories there are n² pairs, nearly all with nothing
//! in common. So the work starts from contents ([`Holdings::pairs`]): a content below a and below b
//! adds its bytes to (a, b), and to the pairs of all directories above them. That is done once for
//! each *directory*, not for each file: a sweep from the leaves to the roots adds up, for each
//! directory, a sparse list "of my bytes, so many are below b", made of the lists of its
//! subdirectories and of the files directly in it. A pair whose sides lie in one another is dropped
//! the moment it becomes one. The cost is the number of pairs with something in common, summed over
//! the levels. A second sweep collects the other direction for the few pairs that passed.
//!
//! **What everybody has.** A content in h directories makes h² pairs. Up to [`Limits::every`] that
//! is paid. Beyond, a content supports only neighbours in the order of the tree
//! ([`Limits::window`]), so that a directory copied a thousand times is paired with some of its
//! copies, not with all; beyond [`Limits::most`] it is ubiquitous and supports nobody. What a pair
//! has in common is exact all the same: contents of that kind are looked up for each pair that the
//! others made.
//!
//! **Hard links.** A file with several names lies in several directories and is still one file. It
//! is entered once at each, and taken away once where two of them meet, which leaves exactly one in
//! every directory above (the inclusion-exclusion of a path in a tree).
//!
//! **Whole bytes.** Shares are millionths and each file's bytes are rounded down before they are
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
