//! Turns links between contents into readable results: components, groups, versions.
//!
//! Forman, Eshghi & Chiocchetti 2005 (section 2.3, step 5) use the connected components of the
//! similarity graph as clusters. Such components are found fast and depend on no order, but they
//! chain: a resembles b, b resembles c, and so on. After forty such steps, every file with a
//! licence is in one cluster. So there are two levels here:
//!
//! 1. **Components** by [`UnionFind`]: the connected contents. Work is divided by components
//!    ([`first_fit_decreasing`], the bin packing of section 2.5). The history of a text is followed
//!    within a component ([`spanning_forest`], [`Chain`]).
//! 2. **Stars** within components ([`stars()`]): every member is linked directly to the centre, so
//!    any two members are at most two links apart.
//!
//! Everything here works on a [`Network`]: nodes are numbers, and links are read node by node. The
//! links are not stored here, so a network may be on disk and larger than memory. Only a few
//! numbers for each node are in memory. Scores are whole millionths, and sums are exact. Among
//! equally good nodes, the one with the lesser number wins. If nodes are numbered by content, the
//! result depends only on the contents.

mod forest;
mod kinship;
mod packing;
mod shape;
mod stars;
#[cfg(test)]
mod tests;
mod union_find;

pub use forest::{Chain, Edge, Step, chains, spanning_forest};
pub use kinship::Sharing;
pub use packing::{Packing, first_fit_decreasing};
pub use shape::Shape;
pub use stars::{Stars, stars};
pub use union_find::UnionFind;

/// A link from one node to another, as the first node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tie {
    /// The other node.
    pub to: u32,
    /// The share of this node that is in the other, in millionths. `None` if this node is too small
    /// to judge.
    pub there: Option<u32>,
    /// The share of the other node that is in this one, in millionths. `None` if the other node is
    /// too small to judge.
    pub back: Option<u32>,
    /// The weight by which links are compared, in millionths: the larger containment, reduced for
    /// common text ([`Sharing::kinship`]).
    pub score: u32,
    /// The number of bytes that the two nodes are proven to share.
    pub shared: u64,
    /// True if both nodes are of one kin. A kin is a set of contents that share pieces which few
    /// other contents have. [`stars()`] ranks every link within a kin above all other links.
    pub is_of_kin: bool,
}

impl Tie {
    /// The least containment with which a content counts as contained in another:
    /// [`crate::Relation::MOSTLY`].
    pub const MOSTLY: u32 = (crate::Relation::MOSTLY * 1e6) as u32;

    /// Returns the same link, seen from the other node.
    #[must_use]
    pub fn swapped(&self, from: u32) -> Self {
        Self {
            to: from,
            there: self.back,
            back: self.there,
            ..*self
        }
    }

    /// Returns the larger containment.
    pub fn containment(&self) -> u32 {
        self.there.max(self.back).unwrap_or(0)
    }

    /// Returns the smaller of the two containments, or 0 if either is not known.
    pub fn lesser(&self) -> u32 {
        self.there.min(self.back).unwrap_or(0)
    }

    /// Returns whether each of the two nodes contains the other.
    pub fn is_near(&self) -> bool {
        self.there >= Some(Self::MOSTLY) && self.back >= Some(Self::MOSTLY)
    }

    /// Returns the key that orders the links of one node: by kin, score and proven bytes, then the
    /// lesser node first.
    fn rank(&self) -> (bool, u32, u64, std::cmp::Reverse<u32>) {
        let node = std::cmp::Reverse(self.to);
        (self.is_of_kin, self.score, self.shared, node)
    }
}

/// An undirected graph of similar contents that need not fit into memory.
pub trait Network {
    /// The error of reading links. For links in memory it is [`std::convert::Infallible`].
    type Error;

    /// Returns the number of nodes. The nodes are `0..nodes()`.
    fn nodes(&self) -> u32;

    /// Returns the size of a node's content in bytes.
    fn size(&self, node: u32) -> u64;

    /// Replaces `ties` by the links of a node. Each neighbour occurs once, and the node itself
    /// never occurs. The neighbour has the same link, seen from its side.
    fn ties(&mut self, node: u32, ties: &mut Vec<Tie>) -> Result<(), Self::Error>;

    /// Returns whether the network has two nodes of one kin.
    fn has_kin(&self) -> bool;
}
