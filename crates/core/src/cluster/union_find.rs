//! Connected components of a graph whose edges arrive one by one.

/// Disjoint sets of the numbers `0..len` (the union-find of Forman, Eshghi & Chiocchetti 2005,
/// sections 2.3 and 2.5).
///
/// When two sets are joined, the greater root is put below the lesser one; a search halves the
/// paths. Joining by size would be slightly faster, but needs a second word for each node. Here the
/// root *is* the least member. So the name of a set does not depend on the order of the edges.
#[derive(Clone, Debug)]
pub struct UnionFind {
    parents: Vec<u32>,
}

impl UnionFind {
    /// Makes a set for each node.
    pub fn new(len: u32) -> Self {
        Self {
            parents: (0..len).collect(),
        }
    }

    /// Returns the least member of a node's set.
    pub fn find(&mut self, node: u32) -> u32 {
        let mut at = node;
        loop {
            let parent = self.parents[at as usize];
            let above = self.parents[parent as usize];
            if parent == above {
                return parent;
            }
            self.parents[at as usize] = above;
            at = above;
        }
    }

    /// Joins the sets of two nodes; returns whether they were different.
    pub fn union(&mut self, a: u32, b: u32) -> bool {
        let (a, b) = (self.find(a), self.find(b));
        self.parents[a.max(b) as usize] = a.min(b);
        a != b
    }

    /// Returns for every node the least member of its set.
    pub fn into_least(mut self) -> Vec<u32> {
        // A parent is never greater than its child, so its own parent is final already.
        for node in 0..self.parents.len() {
            self.parents[node] = self.parents[self.parents[node] as usize];
        }
        self.parents
    }
}
