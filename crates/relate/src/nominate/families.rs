//! Families of near-copies among the contents of a question.
//!
//! A piece that 5,000 contents have is boilerplate if they are otherwise different (a licence), and
//! says everything if they are 5,000 versions of one page. And 5,000 contents of which each is held
//! against each are twelve million pairs that say one thing. So near-copies are found first:
//!
//! 1. **Names.** Each content has names by itself: its least fingerprints, the first ones in a
//!    random order of all its shingles or windows. Two contents have the same first one with a
//!    probability of their resemblance (Broder 1997, section 3), and near-copies nearly always one
//!    of four. So contents meet by any of the four: by the first one alone, of 70 near-copies fewer
//!    than 64 may have the same.
//! 2. **Leaders.** Names are taken in turn, the one that most contents have first. The contents of a
//!    name are gone through in order, if they are many. Each joins the first leader of which it is a
//!    near-copy, or leads a family of its own. If many lead, they have a text in common and are
//!    otherwise different: these are no families, and a content looks for one by its next name.
//! 3. **Families join** if they have a name in common and their leaders are near-copies, and so
//!    does a content that is in none. An edit may change a name.
//! 4. **A family counts once** where it is counted how many contents have a piece, and its members
//!    are nominated by their leader: what they have of its pieces nominates nobody. So a family of
//!    n members has about n pairs. Members that have something else in common meet by that.
//!
//! # What a near-copy is
//!
//! Three quarters of each of two contents are in the other one. Mostly their pieces say so. But of
//! a page of 250 words some 31 shingles are sampled: where three words were replaced, copies have
//! between 44 % and all of these in common. So a pair that has a third of the pieces in common is
//! decided by the contents themselves. Files under a header that is 60 % of each are such pairs,
//! too, and are not near-copies; that they are held against each other ends soon, because a leader
//! may fail a few times more than it has members.
//!
//! The order is that of the digests, so that no order of scans changes a family.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use resemble_core::similarity::discount::FREE;
use resemble_core::{Measures, Score};

/// The names of a content, ascending: its least fingerprints.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FamilyNames([u64; 4]);

impl FamilyNames {
    /// Marks the names of contents with fewer samples: no other has these.
    const ALONE: u64 = 1 << 63;

    /// The names of a content by all its fingerprints or shingles; `own` is its own number.
    pub fn of(own: u32, fingerprints: impl IntoIterator<Item = u64>) -> Self {
        let mut names = [Self::ALONE | u64::from(own); 4];
        for fingerprint in fingerprints {
            if fingerprint < names[3] && !names.contains(&fingerprint) {
                names[3] = fingerprint;
                names.sort_unstable();
            }
        }
        Self(names)
    }
}

/// So much of the pieces of both have near-copies in common, and so much of each lies in the other.
pub(crate) const ALIKE: f64 = 0.75;

/// What has less in common is no near-copy; what has more, but less than [`ALIKE`], may be one.
const DOUBTFUL: f64 = 1.0 / 3.0;

/// Of a family of more contents not each two are held against each other, but each and the leader,
/// and each and its neighbours.
pub const LARGE: usize = 1000;

/// So many contents on either side, in the order of paths, are a content's neighbours.
pub const NEIGHBOURS: usize = 8;

/// So many times a leader may be held against a content in vain, and once more for each member.
const TRIALS: u32 = 4;

/// One leader for so many members at most, or they are no families.
const MEMBERS: usize = 8;

/// A family is held against so many larger ones of one name.
const MOST_JOINED: usize = 1000;

/// The contents of a question, which go by their places.
pub trait NearCopies {
    /// Why a content cannot be looked up.
    type Error;

    /// The keys of all evidence of a content.
    fn pieces(&self, place: u32) -> Result<HashSet<u64>, Self::Error>;

    /// Whether two contents are near-copies, by what is in them.
    fn are_near_copies(&self, a: u32, b: u32) -> Result<bool, Self::Error>;
}

/// Whether contents with these measures are near-copies.
pub fn are_near_copies(measures: &Measures) -> bool {
    let share = |score: Option<Score>| score.map_or(0.0, Score::get);
    share(measures.a_in_b).min(share(measures.b_in_a)) >= ALIKE
}

/// The contents of each name that more than `few` have, of the most common name first.
fn common_names(names: &[FamilyNames], few: u32) -> Vec<Vec<(u64, u32)>> {
    let named = names.iter().zip(0u32..);
    let mut named: Vec<(u64, u32)> = named
        .flat_map(|(names, place)| names.0.map(|name| (name, place)))
        .filter(|&(name, _)| name & FamilyNames::ALONE == 0)
        .collect();
    named.sort_unstable();
    let common = named.chunk_by(|a, b| a.0 == b.0);
    let common = common.filter(|of_name| of_name.len() > few as usize);
    let mut common: Vec<Vec<(u64, u32)>> = common.map(<[_]>::to_vec).collect();
    common.sort_by_key(|of_name| (Reverse(of_name.len()), of_name[0].0));
    common
}

/// The pieces of a leader, and those that many members of its family have.
pub(crate) type LeaderPieces = Arc<HashSet<u64>>;

/// The families of a question's contents, which go by their places.
#[derive(Clone, Debug, Default)]
pub struct Families {
    /// For each place the place of its leader: its own, unless it is a member. Empty: there are no
    /// families.
    leaders: Vec<u32>,
    /// All members, with the pieces of their leaders, by place.
    members: Vec<(u32, LeaderPieces)>,
}

impl Families {
    /// The families of more than `few` contents with these names.
    pub fn of<C: NearCopies>(
        names: &[FamilyNames],
        few: u32,
        contents: &C,
    ) -> Result<Self, C::Error> {
        let mut is_member = vec![false; names.len()];
        let mut found: Vec<Family> = Vec::new();
        for of_name in common_names(names, few) {
            let free = of_name.iter().map(|&(_, place)| place);
            let free: Vec<u32> = free.filter(|&place| !is_member[place as usize]).collect();
            // Few are held against each other.
            if free.len() <= few as usize {
                continue;
            }
            let mut of_it: Vec<Family> = Vec::new();
            for &place in &free {
                let own = contents.pieces(place)?;
                let all = 0..of_it.len();
                match family_of(&mut of_it, all, (place, &own), contents)? {
                    Some(family) => of_it[family].members.push(place),
                    None => of_it.push(Family::led_by(place, own)),
                }
                if of_it.len() > FREE as usize && of_it.len() * MEMBERS > free.len() {
                    break;
                }
            }
            if of_it.len() * MEMBERS <= free.len() {
                for family in &of_it {
                    for &place in family.members.iter().chain([&family.leader]) {
                        is_member[place as usize] = true;
                    }
                }
                found.append(&mut of_it);
            }
        }
        let alone = (0u32..).zip(is_member).filter(|&(_, is_member)| !is_member);
        let alone: Vec<u32> = alone.map(|(place, _)| place).collect();
        let joined = JoinedFamilies::of(found, &alone, names, contents)?;
        let mut families = Self::default();
        for family in joined.families {
            // What the leader alone has not would nominate all others for each other.
            let mut counts: HashMap<u64, u32> = HashMap::new();
            for &place in &family.members {
                for piece in contents.pieces(place)? {
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

    /// The leader of a content: itself, unless it is a member of a family.
    pub fn leader(&self, place: u32) -> u32 {
        self.leaders.get(place as usize).copied().unwrap_or(place)
    }

    /// How many otherwise different contents are at these places.
    pub fn count(&self, places: &[u32], scratch: &mut Vec<u32>) -> usize {
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
    pub fn members(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let member = |member: &(u32, LeaderPieces)| (member.0, self.leaders[member.0 as usize]);
        self.members.iter().map(member)
    }

    /// The families of more than so many contents, each with its leader, ascending by place.
    pub fn of_more_than(&self, contents: usize) -> Vec<(u32, Vec<u32>)> {
        let mut members: Vec<(u32, u32)> = self.members().collect();
        members.sort_unstable_by_key(|&(member, leader)| (leader, member));
        let families = members.chunk_by(|a, b| a.1 == b.1);
        let families = families.filter(|family| family.len() >= contents);
        let family = |members: &[(u32, u32)]| {
            let leader = members[0].1;
            let mut all = vec![leader];
            all.extend(members.iter().map(|&(member, _)| member));
            all.sort_unstable();
            (leader, all)
        };
        families.map(family).collect()
    }

    /// What a content at a place has in common with its family, if it is a member of one.
    pub fn of_leader(&self, place: u32) -> Option<LeaderPieces> {
        let found = self.members.binary_search_by_key(&place, |member| member.0);
        found.ok().map(|at| Arc::clone(&self.members[at].1))
    }
}

/// Families by their names.
#[derive(Default)]
struct JoinedFamilies {
    families: Vec<Family>,
    by_name: HashMap<u64, Vec<usize>>,
}

impl JoinedFamilies {
    /// Joins families whose leaders are near-copies, that of the largest leads, and those of the
    /// contents that are `alone` that are near-copies of a leader.
    fn of<C: NearCopies>(
        mut families: Vec<Family>,
        alone: &[u32],
        names: &[FamilyNames],
        contents: &C,
    ) -> Result<Self, C::Error> {
        families.sort_by_key(|family| (Reverse(family.members.len()), family.leader));
        let mut joined = Self::default();
        for family in families {
            let own = family.names(names);
            let larger = joined.named(&own);
            let leader = (family.leader, &family.pieces);
            let larger = family_of(&mut joined.families, larger, leader, contents)?;
            let at = larger.unwrap_or(joined.families.len());
            if let Some(larger) = joined.families.get_mut(at) {
                larger.members.push(family.leader);
                larger.members.extend(family.members);
            } else {
                joined.families.push(family);
            }
            for name in own {
                joined.by_name.entry(name).or_default().push(at);
            }
        }
        for &place in alone {
            let near = joined.named(&names[place as usize].0);
            if near.is_empty() {
                continue;
            }
            let own = contents.pieces(place)?;
            if let Some(family) = family_of(&mut joined.families, near, (place, &own), contents)? {
                joined.families[family].members.push(place);
            }
        }
        Ok(joined)
    }

    /// The families that have one of these names, the largest first.
    fn named(&self, names: &[u64]) -> Vec<usize> {
        let of_name = |name: &u64| self.by_name.get(name).into_iter().flatten();
        let mut found: Vec<usize> = names.iter().flat_map(of_name).copied().collect();
        found.sort_unstable();
        found.dedup();
        found.truncate(MOST_JOINED);
        found
    }
}

/// A content and its near-copies, by their places.
struct Family {
    leader: u32,
    pieces: HashSet<u64>,
    members: Vec<u32>,
    /// How many contents were near-copies of the leader by their pieces, and were none.
    failed: u32,
}

impl Family {
    const fn led_by(leader: u32, pieces: HashSet<u64>) -> Self {
        Self {
            leader,
            pieces,
            members: Vec::new(),
            failed: 0,
        }
    }

    /// The names of the leader, and those that one in [`MEMBERS`] of the members has: what was
    /// inserted into the leader may have less ones than all others.
    fn names(&self, names: &[FamilyNames]) -> Vec<u64> {
        let mut of_members: Vec<u64> = Vec::with_capacity(4 * self.members.len());
        for &member in &self.members {
            of_members.extend(names[member as usize].0);
        }
        of_members.sort_unstable();
        let common = of_members.chunk_by(|a, b| a == b);
        let common = common.filter(|of_one| of_one.len() * MEMBERS > self.members.len());
        let mut found = names[self.leader as usize].0.to_vec();
        found.extend(common.map(|of_one| of_one[0]));
        found
    }

    /// How many of the pieces of a content and of the leader both have.
    fn alike(&self, own: &HashSet<u64>) -> f64 {
        let (a, b) = (&self.pieces, own);
        let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
        if (few.len() as f64) < DOUBTFUL * many.len() as f64 {
            return 0.0;
        }
        let shared = few.iter().filter(|piece| many.contains(piece)).count();
        shared as f64 / many.len().max(1) as f64
    }

    /// Whether it may be held against another content.
    fn has_trials(&self) -> bool {
        (self.failed as usize) < TRIALS as usize + self.members.len()
    }
}

/// The family whose leader a content is a near-copy of, of those `among` all; it is looked for in
/// this order.
fn family_of<C: NearCopies>(
    families: &mut [Family],
    among: impl IntoIterator<Item = usize>,
    (place, own): (u32, &HashSet<u64>),
    contents: &C,
) -> Result<Option<usize>, C::Error> {
    let mut doubtful: Option<(f64, usize)> = None;
    for at in among {
        let family = &families[at];
        let alike = family.alike(own);
        if alike >= ALIKE {
            return Ok(Some(at));
        }
        let is_best = doubtful.is_none_or(|(best, _)| alike > best);
        if alike >= DOUBTFUL && is_best && family.has_trials() {
            doubtful = Some((alike, at));
        }
    }
    let Some((_, at)) = doubtful else {
        return Ok(None);
    };
    if contents.are_near_copies(families[at].leader, place)? {
        return Ok(Some(at));
    }
    families[at].failed += 1;
    Ok(None)
}

#[cfg(test)]
mod tests;
