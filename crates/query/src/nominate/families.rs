//! Families of near-copies among the contents of a question.
//!
//! A piece that 5,000 contents have is boilerplate if they are otherwise different (a licence), and
//! says everything if they are 5,000 versions of one page. And 5,000 contents of which each is held
//! against each are twelve million pairs that say one thing. So near-copies are found first:
//!
//! 1. **Names.** Each content has a name by itself: its least fingerprint, the minimum of a random
//!    order over all its shingles or windows. Two contents have one name with a probability of
//!    their resemblance (Broder 1997, section 3), near-copies nearly always.
//! 2. **Leaders.** Contents of one name that are many are gone through in order. Each joins the
//!    first leader with which it has [`ALIKE`] of the pieces of both in common, or leads a family
//!    of its own. If many lead, they have a text in common and are otherwise different: these are
//!    no families, and each stands for itself.
//! 3. **A family counts once** where it is counted how many contents have a piece, and its members
//!    are nominated by their leader: what they have of its pieces nominates nobody. So a family of
//!    n members has about n pairs. Members that have something else in common meet by that.
//!
//! The order is that of the digests, so that no order of scans changes a family.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use resemble_core::similarity::discount::FREE;
use resemble_core::{ContentId, Signature};

/// The names of a content, ascending: its least fingerprints. By the first it is looked for; the
/// others are for a copy whose own line has the least of all.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct FamilyNames([u64; 4]);

impl FamilyNames {
    /// Marks the names of contents without samples: each is its own family.
    const ALONE: u64 = 1 << 63;

    /// The names of a content with this signature.
    pub(crate) fn of(content: ContentId, signature: &Signature) -> Self {
        let mut names = [Self::ALONE | u64::from(content.0); 4];
        for fingerprint in &signature.fingerprints {
            if fingerprint.0 < names[3] {
                names[3] = fingerprint.0;
                names.sort_unstable();
            }
        }
        Self(names)
    }
}

/// So much of the pieces of both has a content in common with the leader of its family.
const ALIKE: f64 = 0.75;

/// One leader for so many members at most, or they are no families.
const MEMBERS: usize = 8;

/// The pieces of a leader, and those that many members of its family have.
pub(crate) type LeaderPieces = Arc<HashSet<u64>>;

/// The families of a question's contents, which go by their places.
#[derive(Clone, Debug, Default)]
pub(crate) struct Families {
    /// For each place the place of its leader: its own, unless it is a member. Empty: there are no
    /// families.
    leaders: Vec<u32>,
    /// All members, with the pieces of their leaders, by place.
    members: Vec<(u32, LeaderPieces)>,
}

impl Families {
    /// The families of more than `few` contents with these names. `pieces` are the keys of all
    /// evidence of a content.
    pub(crate) fn of<E>(
        names: &[FamilyNames],
        few: u32,
        mut pieces: impl FnMut(u32) -> Result<HashSet<u64>, E>,
    ) -> Result<Self, E> {
        let first = names.iter().map(|names| names.0[0]);
        let mut named: Vec<(u64, u32)> = first.zip(0..).collect();
        named.sort_unstable();
        let mut found: HashMap<u64, Vec<Family>> = HashMap::new();
        let mut alone: Vec<u32> = Vec::new();
        for of_name in named.chunk_by(|a, b| a.0 == b.0) {
            // Few are held against each other.
            if of_name.len() <= few as usize {
                alone.extend(of_name.iter().map(|&(_, place)| place));
                continue;
            }
            let mut of_it: Vec<Family> = Vec::new();
            for &(_, place) in of_name {
                let own = pieces(place)?;
                match of_it.iter_mut().find(|family| family.has_copy(&own)) {
                    Some(family) => family.members.push(place),
                    None => of_it.push(Family {
                        leader: place,
                        pieces: own,
                        members: Vec::new(),
                    }),
                }
                if of_it.len() > FREE as usize && of_it.len() * MEMBERS > of_name.len() {
                    break;
                }
            }
            if of_it.len() * MEMBERS <= of_name.len() {
                found.insert(of_name[0].0, of_it);
            }
        }
        for place in alone {
            let others = &names[place as usize].0[1..];
            let Some(name) = others.iter().find(|name| found.contains_key(*name)) else {
                continue;
            };
            let own = pieces(place)?;
            let of_it = found.get_mut(name).into_iter().flatten();
            if let Some(family) = of_it.into_iter().find(|family| family.has_copy(&own)) {
                family.members.push(place);
            }
        }
        let mut families = Self::default();
        for family in joined(found.into_values().flatten().collect()) {
            // What the leader alone has not would nominate all others for each other.
            let mut counts: HashMap<u64, u32> = HashMap::new();
            for &place in &family.members {
                for piece in pieces(place)? {
                    *counts.entry(piece).or_default() += 1;
                }
            }
            counts.retain(|_, count| *count > FREE);
            let shared = family.pieces.iter().copied().chain(counts.into_keys());
            let shared: LeaderPieces = Arc::new(shared.collect());
            families.add(names.len() as u32, family.leader, &family.members, &shared);
        }
        families.members.sort_unstable_by_key(|member| member.0);
        Ok(families)
    }

    fn add(&mut self, contents: u32, leader: u32, members: &[u32], pieces: &LeaderPieces) {
        if self.leaders.is_empty() {
            self.leaders = (0..contents).collect();
        }
        for &place in members {
            self.leaders[place as usize] = leader;
            self.members.push((place, Arc::clone(pieces)));
        }
    }

    /// How many otherwise different contents are at these places.
    pub(crate) fn count(&self, places: &[u32], scratch: &mut Vec<u32>) -> usize {
        if self.leaders.is_empty() || places.len() <= FREE as usize {
            return places.len();
        }
        scratch.clear();
        scratch.extend(places.iter().map(|&place| self.leaders[place as usize]));
        scratch.sort_unstable();
        scratch.dedup();
        scratch.len()
    }

    /// All members with their leaders, by place.
    pub(crate) fn members(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let member = |member: &(u32, LeaderPieces)| (member.0, self.leaders[member.0 as usize]);
        self.members.iter().map(member)
    }

    /// What a content at a place has in common with its family, if it is a member of one.
    pub(crate) fn of_leader(&self, place: u32) -> Option<LeaderPieces> {
        let found = self.members.binary_search_by_key(&place, |member| member.0);
        found.ok().map(|at| Arc::clone(&self.members[at].1))
    }
}

/// Families of several names whose leaders are near-copies are one: that of the largest.
fn joined(mut families: Vec<Family>) -> Vec<Family> {
    families.sort_by_key(|family| (Reverse(family.members.len()), family.leader));
    let mut joined: Vec<Family> = Vec::new();
    for family in families {
        let larger = joined.iter_mut().take(MOST_JOINED);
        match larger
            .into_iter()
            .find(|larger| larger.has_copy(&family.pieces))
        {
            Some(larger) => {
                larger.members.push(family.leader);
                larger.members.extend(family.members);
            }
            None => joined.push(family),
        }
    }
    joined
}

/// A family is held against so many larger ones.
const MOST_JOINED: usize = 1000;

/// A content and its near-copies, by their places.
struct Family {
    leader: u32,
    pieces: HashSet<u64>,
    members: Vec<u32>,
}

impl Family {
    /// Whether a content with these pieces has most of them in common with the leader.
    fn has_copy(&self, own: &HashSet<u64>) -> bool {
        let (a, b) = (&self.pieces, own);
        let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
        let least = ALIKE * many.len() as f64;
        if (few.len() as f64) < least {
            return false;
        }
        let shared = few.iter().filter(|piece| many.contains(piece)).count();
        shared as f64 >= least
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;

    use super::*;

    fn families(names: &[u64], pieces: impl Fn(u32) -> HashSet<u64>) -> Families {
        let all = |(name, place): (&u64, u64)| {
            let others = [1, 2, 3].map(|other| 1_000_000 + place * 4 + other);
            FamilyNames([*name, others[0], others[1], others[2]])
        };
        let names: Vec<FamilyNames> = names.iter().zip(0..).map(all).collect();
        let Ok(families) = Families::of(&names, FREE, |place| Ok::<_, Infallible>(pieces(place)));
        families
    }

    /// A page of a hundred pieces, of which each copy has its own last ones.
    fn copy(place: u32, own: u64) -> HashSet<u64> {
        let of_page = 0..100 - own;
        let own = (0..own).map(|n| 1000 + u64::from(place) * 100 + n);
        of_page.chain(own).collect()
    }

    #[test]
    fn near_copies_count_once_and_have_one_leader() {
        let families = families(&vec![3; 5000], |place| copy(place, 4));
        let places: Vec<u32> = (0..5000).collect();
        assert_eq!(families.count(&places, &mut Vec::new()), 1);
        assert!(families.members().eq((1..5000).map(|place| (place, 0))));
        assert!(families.of_leader(0).is_none());
        assert!(families.of_leader(7).is_some_and(|of| *of == copy(0, 4)));
    }

    #[test]
    fn two_families_of_one_name_have_two_leaders() {
        let families = families(&vec![3; 500], |place| {
            let pieces = copy(place, 4).into_iter();
            pieces
                .map(|piece| piece + u64::from(place % 2) * 1_000_000)
                .collect()
        });
        let places: Vec<u32> = (0..500).collect();
        assert_eq!(families.count(&places, &mut Vec::new()), 2);
        assert_eq!(families.members().count(), 498);
    }

    /// Every tenth copy has its least fingerprint in its own line.
    #[test]
    fn a_copy_with_another_name_is_a_member() {
        let names: Vec<FamilyNames> = (0..500)
            .map(|place| match place % 10 {
                0 => FamilyNames([1_000_000 + place, 2_000_003, 2_000_004, 2_000_005]),
                _ => FamilyNames([2_000_003, 2_000_004, 2_000_005, 2_000_006]),
            })
            .collect();
        let of = |place| Ok::<_, Infallible>(copy(place, 4));
        let Ok(families) = Families::of(&names, FREE, of);
        assert_eq!(families.members().count(), 499);
    }

    /// An insertion breaks the shingle of the least fingerprint in every second copy.
    #[test]
    fn near_copies_of_two_names_are_one_family() {
        let names: Vec<u64> = (0..500).map(|place| 3 + place % 2).collect();
        let families = families(&names, |place| copy(place, 4));
        assert_eq!(families.members().count(), 499);
        assert_eq!(
            families.count(&(0..500).collect::<Vec<u32>>(), &mut Vec::new()),
            1
        );
    }

    /// A licence, and below it something else in each file.
    #[test]
    fn what_is_otherwise_different_is_no_family() {
        let families = families(&vec![3; 5000], |place| copy(place, 40));
        let places: Vec<u32> = (0..5000).collect();
        assert_eq!(families.count(&places, &mut Vec::new()), 5000);
        assert_eq!(families.members().count(), 0);
    }

    #[test]
    fn few_contents_and_those_of_other_names_stand_for_themselves() {
        let few = families(&[3; 64], |place| copy(place, 4));
        assert_eq!(few.members().count(), 0);
        let others: Vec<u64> = (0..5000).collect();
        let others = families(&others, |place| copy(place, 4));
        assert_eq!(others.members().count(), 0);
    }
}
