//! From links between contents to what a person wants to read: components, groups, versions.
//!
//! Forman, Eshghi & Chiocchetti 2005 (section 2.3, step 5) take the connected components of the
//! similarity graph for clusters. That is quick and independent of any order, and it chains: a
//! resembles b, b resembles c, and after forty such steps one "cluster" has everything with a
//! licence in it. So there are two levels here:
//!
//! 1. **Components** by [`UnionFind`]: what hangs together at all. They are the unit in which work
//!    is divided ([`first_fit_decreasing`], the bin packing of section 2.5) and in which
//!    the history of a text is followed ([`spanning_forest`], [`Chain`]).
//! 2. **Stars** within them ([`stars()`]): every member is linked to the centre itself, so no group
//!    is longer than two links whatever the data.
//!
//! All of it works on a [`Network`]: nodes are numbers, links are asked for node by node. Nothing
//! here holds the links, so a network may lie on a disk and be larger than memory; what is held is
//! a few words for each node. Scores are whole millionths, sums are exact, and ties go to the
//! lesser node: number the nodes by content, and the result depends on the contents alone.

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

/// A link of a node as that node sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tie {
    /// The other node.
    pub to: u32,
    /// How much of this node lies in the other, in millionths; `None`: too small to judge.
    pub there: Option<u32>,
    /// How much of the other lies in this one.
    pub back: Option<u32>,
    /// What the link is worth when links are weighed against each other, in millionths: the larger
    /// containment, less what common text makes of it ([`Sharing::kinship`]).
    pub score: u32,
    /// Bytes that both have, proven.
    pub shared: u64,
    /// Both are of one kin: contents that have in common what few others have hang together. What
    /// else they resemble comes after that, however much it is.
    pub is_of_kin: bool,
}

impl Tie {
    /// From this containment on a content lies in another: [`crate::Relation::MOSTLY`].
    pub const MOSTLY: u32 = (crate::Relation::MOSTLY * 1e6) as u32;

    /// The link as the other node sees it.
    #[must_use]
    pub fn swapped(&self, from: u32) -> Self {
        Self {
            to: from,
            there: self.back,
            back: self.there,
            ..*self
        }
    }

    /// The larger containment.
    pub fn containment(&self) -> u32 {
        self.there.max(self.back).unwrap_or(0)
    }

    /// The smaller containment; 0 if one is not known.
    pub fn lesser(&self) -> u32 {
        self.there.min(self.back).unwrap_or(0)
    }

    /// Whether each lies in the other.
    pub fn is_near(&self) -> bool {
        self.there >= Some(Self::MOSTLY) && self.back >= Some(Self::MOSTLY)
    }

    /// What tells the better of two links of one node: kin, score, proven bytes, the lesser node.
    fn rank(&self) -> (bool, u32, u64, std::cmp::Reverse<u32>) {
        let node = std::cmp::Reverse(self.to);
        (self.is_of_kin, self.score, self.shared, node)
    }
}

/// An undirected graph of similar contents that need not fit into memory.
pub trait Network {
    /// What can go wrong when links are looked up; [`std::convert::Infallible`] in memory.
    type Error;

    /// The number of nodes: they are `0..nodes()`.
    fn nodes(&self) -> u32;

    /// The bytes of a node's content.
    fn size(&self, node: u32) -> u64;

    /// Puts the links of a node into `ties`, replacing what is there: each neighbour once, never
    /// the node itself, and the neighbour has the same link the other way round.
    fn ties(&mut self, node: u32, ties: &mut Vec<Tie>) -> Result<(), Self::Error>;

    /// Whether any two nodes are of one kin.
    fn has_kin(&self) -> bool;
}
