//! Finds the strongest links that connect a component, and the order of its contents.
//!
//! A **maximum spanning forest** connects the contents of each component by the strongest links,
//! without a cycle. A component of n contents has n - 1 such links. Borůvka's algorithm computes it
//! in rounds: in each round, every tree takes its best link to another tree. A round reads the
//! links in the order of the nodes and stores a few numbers for each node. Other algorithms store
//! or sort all links.
//!
//! A **chain** lists the contents of one tree of the forest, ordered by time. Contents with equal
//! times are in the order of a walk through the tree. The walk begins at one end of the longest
//! path and visits the closest neighbour first. Each step except the first names the last link on
//! the path from the first step to it. So even if the first and the last version of a text share
//! nothing, they are shown as one history, with branches.

use super::{Network, Tie, UnionFind};

/// A link of a forest: the node at one end, and the link as that node sees it.
pub type Edge = (u32, Tie);

/// Returns the maximum spanning forest of `nodes` (ascending), which must be a union of whole
/// components. The order of the links is deterministic.
pub fn spanning_forest<N: Network>(network: &mut N, nodes: &[u32]) -> Result<Vec<Edge>, N::Error> {
    // No two links have equal ranks, so two trees cannot choose each other by different links.
    let rank = |from: u32, tie: &Tie| {
        let ends = (from.min(tie.to), from.max(tie.to));
        (tie.score, tie.shared, std::cmp::Reverse(ends))
    };
    let mut trees = UnionFind::new(network.nodes());
    let mut best: Vec<Option<Edge>> = vec![None; network.nodes() as usize];
    let mut forest = Vec::new();
    let mut ties = Vec::new();
    loop {
        for &node in nodes {
            let tree = trees.find(node);
            network.ties(node, &mut ties)?;
            for tie in &ties {
                if trees.find(tie.to) == tree {
                    continue;
                }
                let best = &mut best[tree as usize];
                if best.is_none_or(|(from, old)| rank(node, tie) > rank(from, &old)) {
                    *best = Some((node, *tie));
                }
            }
        }
        let before = forest.len();
        for &node in nodes {
            if let Some((from, tie)) = best[node as usize].take()
                && trees.union(from, tie.to)
            {
                forest.push((from, tie));
            }
        }
        if forest.len() == before {
            return Ok(forest);
        }
    }
}

/// A content in a chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The content.
    pub node: u32,
    /// The last link on the path through the tree from the first step to this content. It is stored
    /// as the content before this one on the path sees it. `None` for the first step.
    pub from: Option<Edge>,
}

/// The contents of a component in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Chain {
    /// The steps in order, at least one.
    pub steps: Vec<Step>,
}

/// Returns the chain of every tree of a forest. `nodes` are ascending and include both ends of each
/// edge; a node without an edge is a chain of one. Chains are sorted by their least node.
pub fn chains(nodes: &[u32], edges: &[Edge], time: &dyn Fn(u32) -> i64) -> Vec<Chain> {
    let trees = Trees::new(nodes, edges);
    let mut seen = vec![false; nodes.len()];
    let mut chains = Vec::new();
    for least in 0..nodes.len() {
        if seen[least] {
            continue;
        }
        let ends = trees.longest_path(least);
        let start = ends.into_iter().min_by_key(|&at| (time(nodes[at]), at));
        let mut order = trees.walk(start.unwrap_or(least));
        // The sort is stable, so equal times keep the order of the walk.
        order.sort_by_key(|&(at, _)| time(nodes[at]));
        let first = order.first().map_or(least, |&(at, _)| at);
        let mut from = trees.walk(first);
        from.sort_unstable_by_key(|&(at, _)| at);
        let steps = order.iter().map(|&(at, _)| {
            seen[at] = true;
            let place = from.binary_search_by_key(&at, |&(at, _)| at);
            Step {
                node: nodes[at],
                from: place.ok().and_then(|place| from[place].1),
            }
        });
        chains.push(Chain {
            steps: steps.collect(),
        });
    }
    chains
}

/// The trees of a forest, as the edges of each node. Nodes are identified by their position in
/// `nodes`.
struct Trees<'n> {
    nodes: &'n [u32],
    starts: Vec<usize>,
    /// The links of each node, best first.
    ties: Vec<Tie>,
}

impl<'n> Trees<'n> {
    fn new(nodes: &'n [u32], edges: &[Edge]) -> Self {
        let mut all: Vec<Edge> = edges
            .iter()
            .flat_map(|&(from, tie)| [(from, tie), (tie.to, tie.swapped(from))])
            .collect();
        all.sort_unstable_by_key(|(from, tie)| (*from, std::cmp::Reverse(tie.rank())));
        let starts = nodes
            .iter()
            .map(|node| all.partition_point(|(from, _)| from < node))
            .chain([all.len()])
            .collect();
        Self {
            nodes,
            starts,
            ties: all.into_iter().map(|(_, tie)| tie).collect(),
        }
    }

    fn ties(&self, at: usize) -> impl DoubleEndedIterator<Item = (usize, &Tie)> {
        self.ties[self.starts[at]..self.starts[at + 1]]
            .iter()
            .filter_map(|tie| Some((self.nodes.binary_search(&tie.to).ok()?, tie)))
    }

    /// Returns all nodes of the tree of `start`, each with the edge by which the walk reached it.
    /// The order is depth first, best link first.
    fn walk(&self, start: usize) -> Vec<(usize, Option<Edge>)> {
        let mut walk = Vec::new();
        let mut open = vec![(start, None)];
        while let Some((at, from)) = open.pop() {
            walk.push((at, from));
            let parent = from.map(|(parent, _): Edge| parent);
            for (next, tie) in self.ties(at).rev() {
                if Some(tie.to) != parent {
                    open.push((next, Some((self.nodes[at], *tie))));
                }
            }
        }
        walk
    }

    /// Returns both ends of a longest path of a tree.
    fn longest_path(&self, of: usize) -> [usize; 2] {
        let one = self.farthest(of);
        [one, self.farthest(one)]
    }

    /// Returns the node with the most links between it and `start`. If there are several such
    /// nodes, returns the least of them.
    fn farthest(&self, start: usize) -> usize {
        let mut level = vec![(start, usize::MAX)];
        loop {
            let mut next = Vec::new();
            for &(at, parent) in &level {
                next.extend(
                    self.ties(at)
                        .filter_map(|(to, _)| (to != parent).then_some((to, at))),
                );
            }
            if next.is_empty() {
                return level.iter().map(|&(at, _)| at).min().unwrap_or(start);
            }
            level = next;
        }
    }
}
