//! Stars: groups that cannot chain.
//!
//! A **star** is a centre and contents that are linked directly to it. Every content is in one star
//! at most. The stars are chosen as follows:
//!
//! 1. **The strongest links first**, in three rounds. The first round uses links of contents that
//!    contain each other. The second also uses links where one content contains the other. The
//!    third uses all links. Without rounds, a page that shares only its header with hundreds of
//!    others would become a centre: its many weak links add up to the largest sum. In the last
//!    round the true families exist already. If the network has kin, three rounds with links of kin
//!    alone come first. Two drivers of one framework may contain each other more than two builds of
//!    one driver do. The rounds of kin group the builds before the drivers.
//! 2. **Within a round, greedily**: candidates are all contents that are in no star yet (free) or
//!    are a centre. For each candidate, the links to free contents are added up. The candidate with
//!    the largest sum becomes (or stays) a centre, and these free contents join its star. This step
//!    is repeated. Among equal sums the larger content wins, then the lesser node. Sums only fall,
//!    so a heap finds the largest; its entries are corrected when they are popped.
//! 3. **Few contents are left over.** A content whose neighbours were all taken joins the best
//!    neighbour that is a centre. If no neighbour is a centre, the result depends on the star of
//!    the best neighbour. In a star of two, the neighbour becomes the centre of all three contents.
//!    If the star is larger, the content and the neighbour make a new star. But if the neighbour's
//!    link to its centre counts in an earlier round than its link to the content, the content stays
//!    alone. [`Stars::loose`] counts the contents that are left: they could join only by breaking a
//!    better star.
//! 4. **Extracts join their originals.** Two near-copies of an extract find each other in the first
//!    round, and so do the versions of the original. The star of the extracts joins the star of the
//!    original on one condition: the centre and half of the members of the original's star must
//!    contain every extract. If two stars qualify, the text is a quotation, and its star stays
//!    separate. Messages that only a mailbox contains stay separate, too.
//!
//! Each content joins a star once, and a round reads its links a few times at most. So the time of
//! the rounds is about linear in the number of links, and the memory in the number of contents.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use super::{Network, Tie};

/// The stars of a network.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stars {
    /// The centre of the star of each node. A centre has its own number here, and a node in no star
    /// has [`FREE`].
    centers: Vec<u32>,
    /// The number of nodes that have links but are in no star.
    pub loose: u64,
}

/// The value in `centers` for a node that is in no star.
const FREE: u32 = u32::MAX;

impl Stars {
    /// Returns the centre of a node's star; a centre is its own. `None` if the node is in no star.
    pub fn center(&self, node: u32) -> Option<u32> {
        let center = self.centers[node as usize];
        (center != FREE).then_some(center)
    }

    /// Returns all nodes that are in stars as (centre, node), ascending.
    pub fn members(&self) -> Vec<(u32, u32)> {
        let mut members: Vec<(u32, u32)> = (0u32..)
            .zip(&self.centers)
            .filter(|&(_, &center)| center != FREE)
            .map(|(node, &center)| (center, node))
            .collect();
        members.sort_unstable();
        members
    }
}

/// A round of the choice. It decides which links count.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Round {
    is_beyond_kin: bool,
    strength: Strength,
}

/// The links that count in a round. With `Near`, they are the links of contents that contain each
/// other. With `Within`, they also include links where one content contains the other. With the
/// last value, all links count. A link whose score is below [`Tie::MOSTLY`] counts only with this
/// value.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Strength {
    Near,
    Within,
    All,
}

impl Round {
    /// The last round, in which all links count.
    const LAST: Self = Self {
        is_beyond_kin: true,
        strength: Strength::All,
    };

    /// Returns the first round in which a link counts.
    fn of(tie: &Tie) -> Self {
        let strength = match tie.score >= Tie::MOSTLY {
            true if tie.is_near() => Strength::Near,
            true => Strength::Within,
            false => Strength::All,
        };
        Self {
            is_beyond_kin: !tie.is_of_kin,
            strength,
        }
    }

    fn counts(self, tie: &Tie) -> bool {
        Self::of(tie) <= self
    }
}

/// Returns the amount that a link adds to the sum of a node. It is the score plus one, so that a
/// link of score 0 counts as well.
fn worth(tie: &Tie) -> u64 {
    u64::from(tie.score) + 1
}

/// Returns the stars of a network.
pub fn stars<N: Network>(network: &mut N) -> Result<Stars, N::Error> {
    let mut choice = Choice {
        centers: vec![FREE; network.nodes() as usize],
        sums: vec![0; network.nodes() as usize],
        ties: Vec::new(),
        further: Vec::new(),
        network,
    };
    for is_beyond_kin in [false, true] {
        // Without kin, the three rounds within kin have no links.
        if !is_beyond_kin && !choice.network.has_kin() {
            continue;
        }
        for strength in [Strength::Near, Strength::Within, Strength::All] {
            choice.play(Round {
                is_beyond_kin,
                strength,
            })?;
        }
    }
    let loose = choice.place_left_over()?;
    choice.join_extracts()?;
    Ok(Stars {
        centers: choice.centers,
        loose,
    })
}

struct Choice<'n, N> {
    network: &'n mut N,
    centers: Vec<u32>,
    /// For each node, the sum of [`worth`] over its links to free nodes. Only the sums of free
    /// nodes and centres are valid.
    sums: Vec<u64>,
    ties: Vec<Tie>,
    further: Vec<Tie>,
}

impl<N: Network> Choice<'_, N> {
    fn is_free(&self, node: u32) -> bool {
        self.centers[node as usize] == FREE
    }

    fn is_center(&self, node: u32) -> bool {
        self.centers[node as usize] == node
    }

    fn play(&mut self, round: Round) -> Result<(), N::Error> {
        let mut heap = BinaryHeap::new();
        for node in 0..self.network.nodes() {
            if !self.is_free(node) && !self.is_center(node) {
                continue;
            }
            self.network.ties(node, &mut self.ties)?;
            let centers = &self.centers;
            let to_free = self
                .ties
                .iter()
                .filter(|tie| centers[tie.to as usize] == FREE && round.counts(tie));
            let sum = to_free.map(worth).sum();
            self.sums[node as usize] = sum;
            if sum > 0 {
                heap.push((sum, self.network.size(node), Reverse(node)));
            }
        }
        while let Some((sum, size, Reverse(node))) = heap.pop() {
            if !self.is_free(node) && !self.is_center(node) {
                continue;
            }
            let now = self.sums[node as usize];
            if now < sum {
                if now > 0 {
                    heap.push((now, size, Reverse(node)));
                }
                continue;
            }
            self.take(round, node)?;
        }
        Ok(())
    }

    /// Makes a node a centre, if it is not one yet. Its free neighbours by links that count in the
    /// round become members of its star.
    fn take(&mut self, round: Round, center: u32) -> Result<(), N::Error> {
        let mut ties = std::mem::take(&mut self.ties);
        self.network.ties(center, &mut ties)?;
        ties.retain(|tie| self.is_free(tie.to) && round.counts(tie));
        if self.is_free(center) {
            self.centers[center as usize] = center;
            self.no_longer_free(round, center)?;
        }
        for tie in &ties {
            self.centers[tie.to as usize] = center;
        }
        for tie in &ties {
            self.no_longer_free(round, tie.to)?;
        }
        self.ties = ties;
        Ok(())
    }

    fn no_longer_free(&mut self, round: Round, node: u32) -> Result<(), N::Error> {
        self.network.ties(node, &mut self.further)?;
        for tie in self.further.iter().filter(|tie| round.counts(tie)) {
            // This also changes the sums of members, which are never read again.
            let sum = &mut self.sums[tie.to as usize];
            *sum = sum.saturating_sub(worth(tie));
        }
        Ok(())
    }

    /// Finds stars for the nodes that no centre has taken. Returns how many nodes with links still
    /// have no star.
    fn place_left_over(&mut self) -> Result<u64, N::Error> {
        let nodes = self.network.nodes();
        let mut members = vec![0u32; nodes as usize];
        for &center in self.centers.iter().filter(|&&center| center != FREE) {
            members[center as usize] += 1;
        }
        let mut waiting: Vec<u32> = (0..nodes).filter(|&node| self.is_free(node)).collect();
        let mut ties = Vec::new();
        loop {
            let mut loose = Vec::new();
            let before = waiting.len();
            for node in waiting {
                self.network.ties(node, &mut ties)?;
                if !ties.is_empty() && !self.place(node, &ties, &mut members)? {
                    loose.push(node);
                }
            }
            // Placing a node may have made its neighbour a centre, which other nodes can join. So
            // the loop ends only when a pass places no node.
            if loose.is_empty() || loose.len() == before {
                return Ok(loose.len() as u64);
            }
            waiting = loose;
        }
    }

    /// Finds a star for a node that is left over, and returns whether there is one. `members` has,
    /// for each centre, the number of nodes in its star.
    fn place(&mut self, node: u32, ties: &[Tie], members: &mut [u32]) -> Result<bool, N::Error> {
        let center = ties.iter().filter(|tie| self.is_center(tie.to));
        if let Some(tie) = center.max_by_key(|tie| tie.rank()) {
            self.centers[node as usize] = tie.to;
            members[tie.to as usize] += 1;
            return Ok(true);
        }
        // All neighbours are members of stars. Two nodes that are left over are never linked,
        // because one would have taken the other.
        let taken = ties.iter().filter(|tie| !self.is_free(tie.to));
        let Some(best) = taken.max_by_key(|tie| tie.rank()) else {
            return Ok(false);
        };
        let host = best.to;
        let old = self.centers[host as usize];
        if members[old as usize] == 2 {
            self.centers[old as usize] = host;
            (members[old as usize], members[host as usize]) = (0, 2);
        } else if Round::of(best) <= self.round_of(host, old)? {
            members[old as usize] -= 1;
            members[host as usize] = 1;
        } else {
            return Ok(false);
        }
        self.centers[host as usize] = host;
        self.centers[node as usize] = host;
        members[host as usize] += 1;
        Ok(true)
    }

    /// Returns the first round in which the link of two linked nodes counts.
    fn round_of(&mut self, a: u32, b: u32) -> Result<Round, N::Error> {
        self.network.ties(a, &mut self.further)?;
        let tie = self.further.iter().find(|tie| tie.to == b);
        Ok(tie.map_or(Round::LAST, Round::of))
    }

    /// Joins each star of extracts to the star of the original, the smallest star of extracts
    /// first.
    fn join_extracts(&mut self) -> Result<(), N::Error> {
        let mut stars: HashMap<u32, Vec<u32>> = HashMap::new();
        for (node, &center) in (0u32..).zip(&self.centers) {
            if center != FREE {
                stars.entry(center).or_default().push(node);
            }
        }
        let mut order: Vec<(usize, u32)> = stars
            .iter()
            .map(|(&center, members)| (members.len(), center))
            .collect();
        order.sort_unstable();
        for (_, center) in order {
            let Some(whole) = self.lies_in(&stars, center)? else {
                continue;
            };
            let members = stars.remove(&center).unwrap_or_default();
            for &node in &members {
                self.centers[node as usize] = whole;
            }
            stars.entry(whole).or_default().extend(members);
        }
        Ok(())
    }

    /// Looks for other stars whose centre and half of whose members contain all members of the star
    /// of `center`. If there is exactly one such star, returns its centre.
    fn lies_in(
        &mut self,
        stars: &HashMap<u32, Vec<u32>>,
        center: u32,
    ) -> Result<Option<u32>, N::Error> {
        let mut among: Option<Vec<u32>> = None;
        for &node in stars.get(&center).into_iter().flatten() {
            self.network.ties(node, &mut self.further)?;
            let lies_in = |tie: &&Tie| tie.score >= Tie::MOSTLY && tie.there >= Some(Tie::MOSTLY);
            let mut in_members: HashMap<u32, usize> = HashMap::new();
            let mut wholes = Vec::new();
            for tie in self.further.iter().filter(lies_in) {
                let of = self.centers[tie.to as usize];
                if of == FREE || of == center {
                    continue;
                }
                *in_members.entry(of).or_default() += 1;
                if of == tie.to {
                    wholes.push(of);
                }
            }
            wholes.retain(|whole| {
                let is_other = among.as_ref().is_none_or(|among| among.contains(whole));
                is_other && 2 * in_members[whole] >= stars[whole].len()
            });
            if wholes.is_empty() {
                return Ok(None);
            }
            among = Some(wholes);
        }
        Ok(among.and_then(|among| match among[..] {
            [whole] => Some(whole),
            _ => None,
        }))
    }
}
