//! Compares the grouping with naive implementations, and checks the guarantees of a star.

use std::collections::BTreeMap;
use std::convert::Infallible;

use proptest::prelude::*;

use super::*;

/// A network in memory.
#[derive(Clone, Debug, Default)]
struct Plain {
    sizes: Vec<u64>,
    /// For each link (a, b) with a < b, the share of a in b, and of b in a.
    links: BTreeMap<(u32, u32), (u32, u32)>,
    /// The links (a, b) within a kin.
    kin: Vec<(u32, u32)>,
}

impl Plain {
    fn new(nodes: u32, links: &[(u32, u32, u32, u32)]) -> Self {
        let mut plain = Self {
            sizes: vec![1000; nodes as usize],
            ..Self::default()
        };
        for &(a, b, there, back) in links {
            match a.cmp(&b) {
                std::cmp::Ordering::Less => plain.links.insert((a, b), (there, back)),
                std::cmp::Ordering::Greater => plain.links.insert((b, a), (back, there)),
                std::cmp::Ordering::Equal => None,
            };
        }
        plain
    }

    fn linked(&self, a: u32, b: u32) -> bool {
        self.links.contains_key(&(a.min(b), a.max(b)))
    }

    fn degree(&self, node: u32) -> usize {
        let ends = self.links.keys().flat_map(|&(a, b)| [a, b]);
        ends.filter(|&end| end == node).count()
    }

    fn stars(&self) -> Stars {
        let Ok(stars) = stars(&mut self.clone());
        stars
    }

    fn forest(&self) -> Vec<Edge> {
        let nodes: Vec<u32> = (0..self.nodes()).collect();
        let Ok(forest) = spanning_forest(&mut self.clone(), &nodes);
        forest
    }

    /// Returns, for each node, the least node that can be reached. Uses repeated relaxation.
    fn naive_components(&self) -> Vec<u32> {
        let mut least: Vec<u32> = (0..self.nodes()).collect();
        loop {
            let before = least.clone();
            for &(a, b) in self.links.keys() {
                let low = least[a as usize].min(least[b as usize]);
                least[a as usize] = low;
                least[b as usize] = low;
            }
            if least == before {
                return least;
            }
        }
    }
}

impl Network for Plain {
    type Error = Infallible;

    fn nodes(&self) -> u32 {
        self.sizes.len() as u32
    }

    fn size(&self, node: u32) -> u64 {
        self.sizes[node as usize]
    }

    fn ties(&mut self, node: u32, ties: &mut Vec<Tie>) -> Result<(), Infallible> {
        ties.clear();
        for (&(a, b), &(a_in_b, b_in_a)) in &self.links {
            let (to, there, back) = match (a == node, b == node) {
                (true, _) => (b, a_in_b, b_in_a),
                (_, true) => (a, b_in_a, a_in_b),
                _ => continue,
            };
            ties.push(Tie {
                to,
                there: Some(there),
                back: Some(back),
                score: there.max(back),
                shared: u64::from(there.max(back)),
                is_of_kin: self.kin.contains(&(a, b)),
            });
        }
        Ok(())
    }

    fn has_kin(&self) -> bool {
        !self.kin.is_empty()
    }
}

fn networks() -> impl Strategy<Value = Plain> {
    (2u32..24).prop_flat_map(|nodes| {
        let link = (0..nodes, 0..nodes, 25u32..100, 0u32..100)
            .prop_map(|(a, b, there, back)| (a, b, there * 10_000, back * 10_000));
        let sizes = proptest::collection::vec(1u64..5, nodes as usize);
        (proptest::collection::vec(link, 0..60), sizes).prop_map(move |(links, sizes)| Plain {
            sizes,
            ..Plain::new(nodes, &links)
        })
    })
}

proptest! {
    #[test]
    fn union_find_is_reachability(network in networks()) {
        let mut sets = UnionFind::new(network.nodes());
        for &(a, b) in network.links.keys() {
            let apart = sets.find(a) != sets.find(b);
            prop_assert_eq!(sets.union(b, a), apart);
        }
        let naive = network.naive_components();
        for node in 0..network.nodes() {
            prop_assert_eq!(sets.find(node), naive[node as usize]);
        }
        prop_assert_eq!(sets.into_least(), naive);
    }

    #[test]
    fn every_member_is_linked_to_its_centre(network in networks()) {
        let stars = network.stars();
        let mut loose = 0;
        for node in 0..network.nodes() {
            match stars.center(node) {
                Some(center) if center == node => {
                    let own = stars.members().iter().filter(|&&(c, _)| c == node).count();
                    prop_assert!(own >= 2, "{node} is a centre of nobody");
                }
                Some(center) => {
                    prop_assert!(network.linked(node, center));
                    prop_assert_eq!(stars.center(center), Some(center));
                }
                None => loose += u64::from(network.degree(node) > 0),
            }
        }
        prop_assert_eq!(loose, stars.loose);
    }

    #[test]
    fn what_is_loose_has_no_centre_and_no_free_neighbour(network in networks()) {
        let stars = network.stars();
        for &(a, b) in network.links.keys() {
            for (one, other) in [(a, b), (b, a)] {
                if stars.center(one).is_none() {
                    prop_assert!(stars.center(other).is_some_and(|center| center != other));
                }
            }
        }
    }

    #[test]
    fn the_order_of_links_has_no_say(network in networks(), seed in any::<u64>()) {
        struct Shuffled(Plain, u64);
        impl Network for Shuffled {
            type Error = Infallible;
            fn nodes(&self) -> u32 {
                self.0.nodes()
            }
            fn size(&self, node: u32) -> u64 {
                self.0.size(node)
            }
            fn ties(&mut self, node: u32, ties: &mut Vec<Tie>) -> Result<(), Infallible> {
                let Ok(()) = self.0.ties(node, ties);
                let seed = self.1;
                let shuffled = |to: u32| (u64::from(to) + 1).wrapping_mul(seed | 1).rotate_left(17);
                ties.sort_by_key(|tie| shuffled(tie.to));
                Ok(())
            }
            fn has_kin(&self) -> bool {
                self.0.has_kin()
            }
        }
        let Ok(shuffled) = stars(&mut Shuffled(network.clone(), seed));
        prop_assert_eq!(shuffled, network.stars());
        let nodes: Vec<u32> = (0..network.nodes()).collect();
        let Ok(mut forest) = spanning_forest(&mut Shuffled(network.clone(), seed), &nodes);
        let mut plain = network.forest();
        let key = |&(from, tie): &Edge| (from.min(tie.to), from.max(tie.to));
        forest.sort_unstable_by_key(key);
        plain.sort_unstable_by_key(key);
        prop_assert!(forest.iter().map(key).eq(plain.iter().map(key)));
    }

    #[test]
    fn a_forest_joins_what_is_joined_by_the_best_links(network in networks()) {
        let forest = network.forest();
        let naive = network.naive_components();
        let mut sets = UnionFind::new(network.nodes());
        let total: u64 = forest.iter().map(|(_, tie)| u64::from(tie.score)).sum();
        for &(from, tie) in &forest {
            prop_assert!(network.linked(from, tie.to));
            prop_assert!(sets.union(from, tie.to), "no cycle");
        }
        prop_assert_eq!(sets.into_least(), naive);
        // The algorithm of Kruskal finds a forest of the same weight.
        let links = network.links.iter();
        let mut links: Vec<_> = links.map(|(&ends, &(t, b))| (t.max(b), ends)).collect();
        links.sort_unstable_by(|a, b| b.cmp(a));
        let mut sets = UnionFind::new(network.nodes());
        let kruskal: u64 = links.iter()
            .filter(|(_, (a, b))| sets.union(*a, *b))
            .map(|&(score, _)| u64::from(score))
            .sum();
        prop_assert_eq!(total, kruskal);
    }

    #[test]
    fn chains_have_every_node_once_by_time(
        network in networks(),
        times in proptest::collection::vec(0i64..4, 24),
    ) {
        let nodes: Vec<u32> = (0..network.nodes()).collect();
        let chains = chains(&nodes, &network.forest(), &|node| times[node as usize]);
        let naive = network.naive_components();
        let mut seen: Vec<u32> = Vec::new();
        for chain in &chains {
            let all: Vec<u32> = chain.steps.iter().map(|step| step.node).collect();
            prop_assert!(all.is_sorted_by_key(|&node| times[node as usize]));
            prop_assert!(all.iter().all(|&node| naive[node as usize] == naive[all[0] as usize]));
            for (at, step) in chain.steps.iter().enumerate() {
                match step.from {
                    None => prop_assert_eq!(at, 0),
                    Some((from, tie)) => {
                        prop_assert_eq!(tie.to, step.node);
                        prop_assert!(network.linked(from, step.node));
                    }
                }
            }
            seen.extend(all);
        }
        seen.sort_unstable();
        prop_assert_eq!(seen, nodes);
    }

    #[test]
    fn bins_hold_everything_and_no_more_than_fits(
        weights in proptest::collection::vec(1u64..120, 0..80),
        capacity in 1u64..150,
    ) {
        let packing = first_fit_decreasing(&weights, capacity);
        let mut held = vec![(0, 0); packing.weights.len()];
        for (&bin, &weight) in packing.bin_of.iter().zip(&weights) {
            held[bin as usize].0 += weight;
            held[bin as usize].1 += 1;
        }
        for (&(weight, items), &said) in held.iter().zip(&packing.weights) {
            prop_assert_eq!(weight, said);
            prop_assert!(items >= 1);
            prop_assert!(weight <= capacity || items == 1);
        }
        // First fit by its definition, with a search through all bins.
        let mut order: Vec<usize> = (0..weights.len()).collect();
        order.sort_by_key(|&item| std::cmp::Reverse(weights[item]));
        let mut bins: Vec<u64> = Vec::new();
        for item in order {
            let weight = weights[item];
            let room = |bin: &u64| {
                weight <= capacity && *bin <= capacity && bin + weight <= capacity
            };
            let bin = bins.iter().position(room).unwrap_or(bins.len());
            if bin == bins.len() {
                bins.push(0);
            }
            bins[bin] += weight;
        }
        prop_assert_eq!(bins.len(), packing.weights.len());
    }
}

#[test]
fn the_threshold_is_that_of_the_relations() {
    assert_eq!(Tie::MOSTLY, 700_000);
}

#[test]
fn a_chain_is_cut_into_stars_and_followed_as_a_chain() {
    // Eleven versions, each similar only to its neighbours.
    let links: Vec<_> = (0..10).map(|at| (at, at + 1, 800_000, 800_000)).collect();
    let network = Plain::new(11, &links);
    let stars = network.stars();
    assert_eq!(stars.loose, 0);
    for node in 0..11 {
        let center = stars.center(node).expect("in a star");
        assert!(node.abs_diff(center) <= 1);
    }
    let nodes: Vec<u32> = (0..11).collect();
    let chain = &chains(&nodes, &network.forest(), &|_| 0)[0];
    let order: Vec<u32> = chain.steps.iter().map(|step| step.node).collect();
    assert_eq!(order, nodes);
    // If the times fall from node to node, the order is reversed.
    let chain = &chains(&nodes, &network.forest(), &|node| -i64::from(node))[0];
    let order: Vec<u32> = chain.steps.iter().map(|step| step.node).collect();
    assert_eq!(order, nodes.into_iter().rev().collect::<Vec<_>>());
}

#[test]
fn a_hub_of_weak_links_does_not_tear_a_family_apart() {
    // Node 0 shares a header with all others; 1 to 4 are versions of one text.
    let mut links: Vec<_> = (1..40).map(|at| (0, at, 300_000, 300_000)).collect();
    for a in 1..5 {
        links.extend((a + 1..5).map(|b| (a, b, 900_000, 900_000)));
    }
    let stars = Plain::new(40, &links).stars();
    let family = stars.center(1).expect("in a star");
    assert!((1..5).contains(&family));
    assert!((1..5).all(|node| stars.center(node) == Some(family)));
    assert!((5..40).all(|node| stars.center(node) == Some(0)));
    assert_eq!(stars.loose, 0);
}

/// Two builds of one driver (0 and 1) and two builds of another driver (2 and 3). Different drivers
/// of this framework contain each other more than builds of one driver do.
#[test]
fn kin_comes_before_what_resembles_more() {
    let mut drivers = Plain::new(
        5,
        &[
            (0, 1, 500_000, 500_000),
            (2, 3, 400_000, 300_000),
            (0, 2, 900_000, 800_000),
            (1, 3, 900_000, 800_000),
            (2, 4, 900_000, 800_000),
        ],
    );
    let members = drivers.stars().members();
    assert_ne!(members, [(0, 0), (0, 1), (2, 2), (2, 3), (2, 4)]);
    drivers.kin = vec![(0, 1), (2, 3)];
    let members = drivers.stars().members();
    // A content without kin joins the contents that it resembles.
    assert_eq!(members, [(0, 0), (0, 1), (2, 2), (2, 3), (2, 4)]);
}

#[test]
fn one_left_over_takes_its_neighbour_from_a_pair_or_an_equal() {
    // A path of four nodes. Either end may be left over at first, but all nodes get a star.
    let path = Plain::new(
        4,
        &[(0, 1, 500_000, 0), (1, 2, 600_000, 0), (2, 3, 500_000, 0)],
    );
    let stars = path.stars();
    assert_eq!(stars.loose, 0);
    assert!((0..4).all(|node| stars.center(node).is_some()));
    // Three versions, and a page that shares a little with a version. This version is not their
    // centre.
    let links = [
        (0, 1, 990_000, 990_000),
        (0, 2, 990_000, 990_000),
        (1, 3, 260_000, 0),
    ];
    let stars = Plain::new(4, &links).stars();
    assert_eq!(stars.center(1), Some(0));
    assert_eq!((stars.center(3), stars.loose), (None, 1));
}

/// Returns the links of `versions`, which are near-copies of each other. Nodes 0 and 1 are two
/// near-copies of an extract, and have links to the `wholes` that contain them.
fn versions_and_an_extract(versions: &[u32], wholes: &[u32]) -> Vec<(u32, u32, u32, u32)> {
    let mut links = vec![(0, 1, 990_000, 990_000)];
    for (at, &a) in versions.iter().enumerate() {
        links.extend(versions[at + 1..].iter().map(|&b| (a, b, 900_000, 900_000)));
    }
    for &whole in wholes {
        links.extend([(0, whole, 1_000_000, 500_000), (1, whole, 990_000, 500_000)]);
    }
    links
}

#[test]
fn copies_of_an_extract_come_to_the_versions_of_the_whole() {
    let versions = [2, 3, 4, 5];
    let links = versions_and_an_extract(&versions, &versions[..3]);
    let stars = Plain::new(6, &links).stars();
    let center = stars.center(2).expect("in a star");
    assert!(versions.contains(&center));
    assert!((0..6).all(|node| stars.center(node) == Some(center)));
}

#[test]
fn copies_stay_by_themselves_that_lie_in_one_of_many_or_in_two_families() {
    // A mailbox that contains two copies of one message, and other messages.
    let mut links = versions_and_an_extract(&[], &[2]);
    links.extend((3..9).map(|message| (message, 2, 990_000, 50_000)));
    let stars = Plain::new(9, &links).stars();
    assert_eq!(stars.center(0), stars.center(1));
    assert_ne!(stars.center(0), stars.center(2));
    // A licence in two programs, each of which has versions.
    let mut links = versions_and_an_extract(&[2, 3], &[2, 3, 4, 5]);
    links.push((4, 5, 900_000, 900_000));
    let stars = Plain::new(6, &links).stars();
    let centers: Vec<_> = [0, 2, 4].map(|node| stars.center(node)).to_vec();
    assert!(centers[0] != centers[1] && centers[1] != centers[2] && centers[0] != centers[2]);
    // Node 1 shares only a part with the nodes that contain node 0.
    let mut links = versions_and_an_extract(&[2, 3], &[2, 3]);
    links.retain(|link| (link.0, link.1) != (1, 2));
    links.push((1, 2, 400_000, 300_000));
    links.retain(|link| (link.0, link.1) != (1, 3));
    links.push((1, 3, 400_000, 300_000));
    let stars = Plain::new(4, &links).stars();
    assert_ne!(stars.center(0), stars.center(2));
}

#[test]
fn shapes() {
    let tie = |there, back| Tie {
        to: 0,
        there: Some(there),
        back: Some(back),
        score: there.max(back),
        shared: 0,
        is_of_kin: false,
    };
    let near = tie(900_000, 700_000);
    let held = tie(100_000, 990_000);
    let holds = tie(990_000, 100_000);
    let shares = tie(300_000, 300_000);
    let cases: [(&[Tie], Shape); 9] = [
        (&[near], Shape::Pair),
        (&[shares], Shape::Pair),
        (&[held], Shape::Contains),
        (&[holds], Shape::Contains),
        (&[near, near], Shape::Versions),
        (&[held, held], Shape::Archive),
        (&[held, held, held, shares], Shape::Archive),
        (&[held, held, near, shares], Shape::Family),
        (&[holds, holds], Shape::Family),
    ];
    for (ties, shape) in cases {
        assert_eq!(Shape::of(ties), shape, "{ties:?}");
    }
}
