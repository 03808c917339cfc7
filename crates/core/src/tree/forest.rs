//! Directories as numbers.

/// A directory of a [`Forest`]. Numbers are in preorder: the directories below a directory have the
/// numbers right after its own. So "below" is a comparison of numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node(pub(super) u32);

impl Node {
    /// Returns the directory's place in preorder, from 0.
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

/// No directory.
const NONE: u32 = u32::MAX;

/// Trees of directories, without names.
#[derive(Clone, Debug, Default)]
pub struct Forest {
    parents: Vec<u32>,
    /// For each node, one more than the number of the last node below it.
    ends: Vec<u32>,
    depths: Vec<u32>,
}

impl Forest {
    /// Makes the forest of these directories. Each directory is given as the place of its parent in
    /// the list. A parent must precede its children; a parent that follows is ignored. Also returns
    /// the node of each directory, in the given order. Siblings keep the given order.
    pub fn new(parents: &[Option<usize>]) -> (Self, Vec<Node>) {
        let parent = |at: usize| parents[at].filter(|&parent| parent < at);
        let mut children: Vec<Vec<u32>> = vec![Vec::new(); parents.len()];
        let mut waiting = Vec::new();
        // Directories are pushed backwards, so that the stack yields them forwards.
        for at in (0..parents.len()).rev() {
            match parent(at) {
                Some(parent) => children[parent].push(at as u32),
                None => waiting.push(at as u32),
            }
        }
        let mut nodes = vec![Node(NONE); parents.len()];
        let mut forest = Self::default();
        while let Some(at) = waiting.pop() {
            let at = at as usize;
            nodes[at] = Node(forest.parents.len() as u32);
            let above = parent(at).map(|parent| nodes[parent]);
            forest.parents.push(above.map_or(NONE, |above| above.0));
            let depth = above.map_or(0, |above| forest.depths[above.index()] + 1);
            forest.depths.push(depth);
            waiting.append(&mut children[at]);
        }
        forest.ends = (1..=forest.parents.len() as u32).collect();
        for at in (0..forest.parents.len()).rev() {
            let (parent, end) = (forest.parents[at], forest.ends[at]);
            if parent != NONE {
                let of_parent = &mut forest.ends[parent as usize];
                *of_parent = end.max(*of_parent);
            }
        }
        (forest, nodes)
    }

    /// Counts the directories.
    pub fn len(&self) -> usize {
        self.parents.len()
    }

    /// Returns whether there are no directories.
    pub fn is_empty(&self) -> bool {
        self.parents.is_empty()
    }

    /// Returns the directory above, if there is one.
    pub fn parent(&self, of: Node) -> Option<Node> {
        let parent = self.parents[of.index()];
        (parent != NONE).then_some(Node(parent))
    }

    /// Returns a directory and those above it, the lowest first.
    pub fn upwards(&self, from: Node) -> impl Iterator<Item = Node> + '_ {
        std::iter::successors(Some(from), |&at| self.parent(at))
    }

    /// Counts the directories above.
    pub fn depth(&self, of: Node) -> u32 {
        self.depths[of.index()]
    }

    /// Returns whether `below` is equal to `above` or is below it.
    pub fn holds(&self, above: Node, below: Node) -> bool {
        above <= below && below.0 < self.ends[above.index()]
    }

    /// Returns whether the two directories are equal, or one is below the other.
    pub fn nested(&self, a: Node, b: Node) -> bool {
        self.holds(a, b) || self.holds(b, a)
    }

    /// Returns the pair of these two directories, and all pairs of directories above them. Leaves
    /// out pairs in which one directory contains the other.
    pub fn pairs_above(&self, (a, b): (Node, Node)) -> impl Iterator<Item = (Node, Node)> + '_ {
        let above = self.upwards(a).take_while(move |&a| !self.holds(a, b));
        above.flat_map(move |a| {
            let above = self.upwards(b).take_while(move |&b| !self.holds(b, a));
            above.map(move |b| (a, b))
        })
    }

    /// Returns the numbers of a directory and of all directories below it.
    pub(super) fn span(&self, of: Node) -> std::ops::Range<u32> {
        of.0..self.ends[of.index()]
    }

    /// Returns the lowest directory that [holds](Self::holds) both, if there is one.
    pub(super) fn meeting(&self, a: Node, b: Node) -> Option<Node> {
        self.upwards(a).find(|&above| self.holds(above, b))
    }
}
