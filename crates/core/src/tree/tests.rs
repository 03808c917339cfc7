//! Compares pairs of directories with the results of a naive search through every pair and every
//! file.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::fold::{is_clearly_better, is_loose};
use super::*;

/// A small generated forest: parents, sizes of contents, files (content, places), links.
#[derive(Clone, Debug)]
struct Drawn {
    parents: Vec<Option<usize>>,
    sizes: Vec<u64>,
    files: Vec<(u32, Vec<usize>)>,
    links: Vec<(u32, u32, u32)>,
}

fn drawn() -> impl Strategy<Value = Drawn> {
    let dirs = 1..14_usize;
    let contents = 1..8_u32;
    (dirs, contents).prop_flat_map(|(dirs, contents)| {
        // A third of the directories are roots. Each of the other directories is below an earlier
        // directory.
        let parent = (0..3_u8, any::<prop::sample::Index>());
        let file = (
            0..contents,
            prop::collection::vec(0..dirs, 1..4),
            any::<bool>(),
        );
        (
            prop::collection::vec(parent, dirs),
            prop::collection::vec(0..2000_u64, contents as usize),
            prop::collection::vec(file, 0..24),
            prop::collection::vec((0..contents, 0..contents, 0..1_000_001_u32), 0..8),
        )
            .prop_map(|(parents, sizes, files, links)| Drawn {
                parents: parents
                    .into_iter()
                    .enumerate()
                    .map(|(at, (root, index))| (at > 0 && root > 0).then(|| index.index(at)))
                    .collect(),
                sizes,
                files: files
                    .into_iter()
                    .map(|(content, places, linked)| {
                        let places = if linked { places } else { places[..1].to_vec() };
                        (content, places)
                    })
                    .collect(),
                links,
            })
    })
}

impl Drawn {
    fn holdings(&self, limits: Limits) -> (Holdings, Vec<Node>) {
        let (forest, nodes) = Forest::new(&self.parents);
        let files: Vec<Held> = self
            .files
            .iter()
            .map(|(content, places)| Held {
                content: *content,
                places: places.iter().map(|&place| nodes[place]).collect(),
            })
            .collect();
        let links: Vec<Link> = self
            .links
            .iter()
            .map(|&(of, to, share)| Link {
                of,
                to,
                share: Share::from_millionths(share),
            })
            .collect();
        (
            Holdings::new(forest, self.sizes.clone(), &files, &links, limits),
            nodes,
        )
    }

    fn is_below(&self, mut at: usize, above: usize) -> bool {
        loop {
            if at == above {
                return true;
            }
            match self.parents[at] {
                Some(parent) => at = parent,
                None => return false,
            }
        }
    }

    fn below(&self, dir: usize) -> Vec<u32> {
        self.files
            .iter()
            .filter(|(_, places)| places.iter().any(|&place| self.is_below(place, dir)))
            .map(|(content, _)| *content)
            .collect()
    }

    fn directories_with(&self, content: u32) -> usize {
        let holders: BTreeSet<usize> = self
            .files
            .iter()
            .filter(|file| file.0 == content)
            .flat_map(|file| file.1.iter().copied())
            .collect();
        holders.len()
    }

    fn bytes(&self, dir: usize) -> u64 {
        let below = self.below(dir);
        below.iter().map(|&c| self.sizes[c as usize]).sum()
    }

    /// Returns the bytes of a's files that files of b have.
    fn shared(&self, a: usize, b: usize, every: usize) -> u64 {
        let there = self.below(b);
        let share = |content: u32| {
            if there.contains(&content) {
                return Share::ALL;
            }
            self.links
                .iter()
                .filter(|link| link.0 == content && link.0 != link.1 && there.contains(&link.1))
                .filter(|link| {
                    [link.0, link.1]
                        .iter()
                        .all(|&c| self.directories_with(c) <= every)
                })
                .map(|link| Share::from_millionths(link.2))
                .max()
                .unwrap_or(Share::ZERO)
        };
        let below = self.below(a);
        below
            .iter()
            .map(|&content| share(content).bytes(self.sizes[content as usize]))
            .sum()
    }

    /// Returns every pair of directories in which neither contains the other.
    fn pairs(&self, nodes: &[Node], every: usize) -> Vec<Pair> {
        let mut pairs = Vec::new();
        for a in 0..self.parents.len() {
            for b in 0..self.parents.len() {
                if nodes[a] >= nodes[b] || self.is_below(a, b) || self.is_below(b, a) {
                    continue;
                }
                pairs.push(Pair {
                    a: nodes[a],
                    b: nodes[b],
                    bytes_a: self.bytes(a),
                    bytes_b: self.bytes(b),
                    shared_a: self.shared(a, b, every),
                    shared_b: self.shared(b, a, every),
                });
            }
        }
        pairs.sort_unstable();
        pairs
    }

    /// Applies the rules of [`fold`] by definition.
    fn folded(&self, nodes: &[Node], pairs: &[Pair]) -> Vec<Pair> {
        let dir = |node: Node| {
            let of = nodes.iter().position(|&other| other == node);
            of.expect("a directory")
        };
        let holds = |above: Node, below: Node| self.is_below(dir(below), dir(above));
        let is_above = |upper: &Pair, lower: &Pair| {
            let differ = (upper.a, upper.b) != (lower.a, lower.b);
            let straight = holds(upper.a, lower.a) && holds(upper.b, lower.b);
            let crossed = holds(upper.a, lower.b) && holds(upper.b, lower.a);
            differ && (straight || crossed)
        };
        let tight: Vec<&Pair> = pairs
            .iter()
            .filter(|upper| {
                !pairs
                    .iter()
                    .any(|lower| is_above(upper, lower) && is_loose(upper, lower))
            })
            .collect();
        // Whether a pair stays depends on the pairs above it. So the pairs that have no pair above
        // them are decided first.
        let mut stays: Vec<Option<bool>> = vec![None; tight.len()];
        while let Some(next) = (0..tight.len()).find(|&at| {
            let decided = |other: usize| stays[other].is_some();
            !decided(at)
                && (0..tight.len())
                    .all(|other| !is_above(tight[other], tight[at]) || decided(other))
        }) {
            let folds = (0..tight.len()).any(|other| {
                is_above(tight[other], tight[next])
                    && stays[other] == Some(true)
                    && !is_clearly_better(tight[next], tight[other])
            });
            stays[next] = Some(!folds);
        }
        let kept = tight.iter().zip(stays);
        kept.filter(|(_, stays)| *stays == Some(true))
            .map(|(pair, _)| **pair)
            .collect()
    }
}

fn half() -> Share {
    Share::from_millionths(500_000)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn pairs_are_those_of_the_naive_reference(
        drawn in drawn(),
        min in 0..1_000_001_u32,
        least in 0..3000_u64,
    ) {
        let limits = Limits::default();
        let (holdings, nodes) = drawn.holdings(limits);
        for (dir, &node) in nodes.iter().enumerate() {
            prop_assert_eq!(holdings.bytes(node), drawn.bytes(dir));
            prop_assert_eq!(holdings.files(node), drawn.below(dir).len() as u64);
        }
        let min = Share::from_millionths(min);
        let naive = drawn.pairs(&nodes, limits.every);
        let passing: Vec<Pair> = naive
            .iter()
            .copied()
            .filter(|p| p.shared_a + p.shared_b > 0 && p.containment() >= min)
            .filter(|p| p.shared_a.min(p.shared_b) >= least)
            .collect();
        let found: Vec<Pair> = holdings
            .pairs(min, least)
            .into_iter()
            .filter(|p| p.shared_a + p.shared_b > 0)
            .collect();
        prop_assert_eq!(&found, &passing);
        prop_assert_eq!(fold(holdings.forest(), &found), drawn.folded(&nodes, &passing));
        for (dir, &node) in nodes.iter().enumerate() {
            let of: Vec<Pair> = naive
                .iter()
                .copied()
                .filter(|p| p.shared_a + p.shared_b > 0 && (p.a == nodes[dir] || p.b == nodes[dir]))
                .collect();
            prop_assert_eq!(holdings.pairs_of(node), of);
        }
    }

    /// `window` and `most` decide which pairs are examined, but do not change the figures of a
    /// pair. `every` also decides which links are used.
    #[test]
    fn figures_are_exact_whatever_the_limits(
        drawn in drawn(),
        every in 0..4_usize,
        window in 0..3_usize,
        most in 0..6_usize,
    ) {
        let limits = Limits { every, window, most };
        let (holdings, nodes) = drawn.holdings(limits);
        let naive = drawn.pairs(&nodes, every);
        for pair in holdings.pairs(half(), 1) {
            prop_assert!(naive.contains(&pair), "{pair:?}\n{naive:?}");
        }
    }

    #[test]
    fn identical_is_equal_sets_of_contents(drawn in drawn()) {
        let (holdings, nodes) = drawn.holdings(Limits::default());
        for a in 0..nodes.len() {
            for b in 0..nodes.len() {
                let set = |dir| drawn.below(dir).into_iter().collect::<BTreeSet<u32>>();
                prop_assert_eq!(holdings.identical(nodes[a], nodes[b]), set(a) == set(b));
            }
        }
    }
}

/// Makes two copies of a tree of two directories, and another directory.
fn copies() -> (Holdings, Vec<Node>) {
    // The directories are 0 a, 1 a/x, 2 b, 3 b/y and 4 c.
    let drawn = Drawn {
        parents: vec![None, Some(0), None, Some(2), None],
        sizes: vec![1000, 2000, 500],
        files: vec![
            (0, vec![0]),
            (1, vec![1]),
            (0, vec![2]),
            (1, vec![3]),
            (2, vec![4]),
        ],
        links: Vec::new(),
    };
    drawn.holdings(Limits::default())
}

#[test]
fn only_the_topmost_of_a_copy_stays() {
    let (holdings, nodes) = copies();
    let pairs = holdings.pairs(half(), 256);
    // The other pairs are a/x with b and with b/y, and b/y with a.
    assert_eq!(pairs.len(), 4, "{pairs:?}");
    let folded = fold(holdings.forest(), &pairs);
    assert_eq!(folded.len(), 1, "{folded:?}");
    assert_eq!((folded[0].a, folded[0].b), (nodes[0], nodes[2]));
    assert_eq!((folded[0].shared_a, folded[0].shared_b), (3000, 3000));
    assert!(holdings.identical(nodes[0], nodes[2]));
}

#[test]
fn the_tightest_of_those_that_share_the_same_stays() {
    // b, the copy of a, is in a large directory. The directories are 0 a, 1 big and 2 big/b.
    let drawn = Drawn {
        parents: vec![None, None, Some(1)],
        sizes: vec![1000, 9000],
        files: vec![(0, vec![0]), (0, vec![2]), (1, vec![1])],
        links: Vec::new(),
    };
    let (holdings, nodes) = drawn.holdings(Limits::default());
    let pairs = holdings.pairs(half(), 256);
    assert_eq!(pairs.len(), 2);
    let folded = fold(holdings.forest(), &pairs);
    assert_eq!(folded.len(), 1);
    assert_eq!((folded[0].a, folded[0].b), (nodes[0], nodes[2]));
}

#[test]
fn a_lower_pair_stays_if_it_is_clearly_better() {
    // The directories are 0 a, 1 a/x, 2 b and 3 b/x; b/x is a copy of a/x. Apart from x, a and b
    // share half of a file.
    let drawn = Drawn {
        parents: vec![None, Some(0), None, Some(2)],
        sizes: vec![1000, 2000, 2000],
        files: vec![(0, vec![1]), (0, vec![3]), (1, vec![0]), (2, vec![2])],
        links: vec![(1, 2, 500_000), (2, 1, 500_000)],
    };
    let (holdings, nodes) = drawn.holdings(Limits::default());
    let folded = fold(holdings.forest(), &holdings.pairs(half(), 256));
    let sides: Vec<(Node, Node)> = folded.iter().map(|pair| (pair.a, pair.b)).collect();
    assert_eq!(sides, [(nodes[0], nodes[2]), (nodes[1], nodes[3])]);
    assert_eq!(folded[0].a_in_b(), Share::of(2, 3));
}

#[test]
fn a_directory_copied_a_thousand_times_is_paired_with_neighbours() {
    let copies = 900;
    let drawn = Drawn {
        parents: vec![None; copies],
        sizes: vec![1000, 1000],
        files: (0..copies)
            .flat_map(|dir| [(0, vec![dir]), (1, vec![dir])])
            .collect(),
        links: Vec::new(),
    };
    let (holdings, _) = drawn.holdings(Limits::default());
    let pairs = holdings.pairs(half(), 256);
    assert!(pairs.len() < copies * 16, "{}", pairs.len());
    assert!(
        pairs.iter().all(|pair| pair.a_in_b() == Share::ALL),
        "what is said is exact"
    );
    for dir in 0..copies {
        let paired = |pair: &Pair| pair.a.index() == dir || pair.b.index() == dir;
        assert!(pairs.iter().any(paired), "{dir}");
    }
}

#[test]
fn chains_of_directories_end() {
    // Two chains of 80 nested directories. Each directory of one chain has a file, and its
    // counterpart in the other chain has a copy of the file.
    let depth = 80;
    let parents = (0..2 * depth).map(|at| (at % depth > 0).then(|| at - 1));
    let drawn = Drawn {
        parents: parents.collect(),
        sizes: vec![1000; depth],
        files: (0..2 * depth)
            .map(|at| ((at % depth) as u32, vec![at]))
            .collect(),
        links: Vec::new(),
    };
    let (holdings, nodes) = drawn.holdings(Limits::default());
    let folded = fold(holdings.forest(), &holdings.pairs(half(), 256));
    assert_eq!((folded[0].a, folded[0].b), (nodes[0], nodes[depth]));
    assert_eq!(folded.len(), 1, "{folded:?}");
}
