//! Decides, before any file is read, which links between contents can matter for directories.

use std::collections::{HashMap, HashSet};

use resemble_core::tree::{Forest, Held, Holdings, Limits, Link, Node, Share};

/// The data that decides which links can matter.
pub(super) struct Countable<'a> {
    pub(super) forest: &'a Forest,
    pub(super) sizes: &'a [u64],
    pub(super) held: &'a [Held],
    /// The directories that directly hold each content.
    pub(super) holders: Vec<Vec<Node>>,
    /// The thresholds that pairs of directories must reach; `None`: all pairs are accepted.
    pub(super) least: Option<LeastCommon>,
}

/// The thresholds for a pair of directories: the least larger containment, and the least shared
/// bytes.
pub(super) type LeastCommon = (Share, u64);

impl Countable<'_> {
    /// Returns whether files of two contents lie in directories that are not nested. Only then can
    /// a link of these contents matter. Most similar files share a directory, so most links are
    /// left out. If the same directories hold both contents, the contents are counted there as
    /// equal. So their link adds nothing.
    pub(super) fn are_apart(&self, a: u32, b: u32) -> bool {
        let [of_a, of_b] = [a, b].map(|content| &self.holders[content as usize]);
        let is_apart = |a: &Node| of_b.iter().any(|b| !self.forest.nested(*a, *b));
        of_a != of_b && of_a.iter().any(is_apart)
    }

    /// Returns for each link whether its directories would reach the thresholds if each content
    /// were wholly in the other.
    pub(super) fn needed(&self, links: &[(u32, u32)]) -> Vec<bool> {
        let Some((min, min_shared)) = self.least else {
            return vec![true; links.len()];
        };
        let share = Share::ALL;
        let both = |&(a, b): &(u32, u32)| [(a, b), (b, a)];
        let whole = links.iter().flat_map(both);
        let whole: Vec<Link> = whole.map(|(of, to)| Link { of, to, share }).collect();
        let (forest, sizes) = (self.forest.clone(), self.sizes.to_vec());
        let most = Holdings::new(forest, sizes, self.held, &whole, Limits::default());
        let pairs = most.pairs(min, min_shared);
        let pairs: HashSet<(Node, Node)> = pairs.iter().map(|pair| (pair.a, pair.b)).collect();
        let mut known = HashMap::new();
        let mut is_below = |a: Node, b: Node| {
            let places = (a.min(b), a.max(b));
            let found = || {
                self.forest
                    .pairs_above(places)
                    .any(|pair| pairs.contains(&pair))
            };
            *known.entry(places).or_insert_with(found)
        };
        let is_needed = |&(a, b): &(u32, u32)| {
            let [of_a, of_b] = [a, b].map(|content| &self.holders[content as usize]);
            let mut places = of_a.iter().flat_map(|&a| of_b.iter().map(move |&b| (a, b)));
            places.any(|(a, b)| is_below(a, b))
        };
        links.iter().map(is_needed).collect()
    }
}
