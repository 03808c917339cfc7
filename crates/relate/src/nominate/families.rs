//! Finds families of near-copies among the contents of a question.
//!
//! If 5,000 otherwise different contents have a piece, such as a licence, the piece is boilerplate.
//! If these contents are versions of one page, the piece is evidence. But to compare all 5,000
//! versions with each other would take twelve million pairs, only to find a single family. So
//! near-copies are found first:
//!
//! 1. **Names.** The names of a content are its four least fingerprints: the first ones in a random
//!    order of all its shingles or windows. The probability that two contents have the same first
//!    name is their resemblance (Broder 1997, section 3). Near-copies nearly always share one of
//!    four names, so a shared name brings them together.
//! 2. **Leaders.** Names are processed one after another, the most common first. If many contents
//!    have a name, they are processed in order. Each content joins the first leader of which it is
//!    a near-copy, or becomes the leader of a new family. If there are many leaders, the contents
//!    share a text but otherwise differ. Then this name forms no families, but the next name may
//!    form some.
//! 3. **Joining.** Two families that share a name join if their leaders are near-copies. A content
//!    without a family joins one in the same way, because an edit may have changed its names.
//! 4. **Counting.** A family counts once among the contents that have a piece. Its leader nominates
//!    its members, and the pieces of the leader nominate no other pair. So a family of n members
//!    has about n pairs. Members that share further pieces are also paired by those pieces.
//!
//! # Near-copies
//!
//! Two contents are near-copies if three quarters of each are in the other. In most cases, the
//! samples show whether this is true. But a page of 250 words has only about 31 samples. If three
//! words of a copy are replaced, it shares between 44 % and 100 % of them. So if more than a third
//! of the pieces are common, but less than three quarters, the contents are read to decide. If a
//! common header is 60 % of each of two files, these are also read, although they are not
//! near-copies. Few such files are read, because the number of failed comparisons of a leader may
//! exceed its number of members only by a few.
//!
//! Contents are processed in the order of their places, which is the order of digests or paths. So
//! families do not depend on the order of scans.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use resemble_core::similarity::discount::FREE;
use resemble_core::{Measures, Score};

/// The four least fingerprints of a content in ascending order. Near-copies nearly always share one
/// of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct FamilyNames([u64; 4]);

impl FamilyNames {
    /// If a content has fewer than four fingerprints, this bit marks the names that replace the
    /// missing ones. Such a name also has the number of the content, so no other content has it.
    const ALONE: u64 = 1 << 63;

    /// Returns the names of a content. `fingerprints` are all its fingerprints or shingles. `own`
    /// is a number that no other content has.
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

/// The minimum share that near-copies have in common. It is the share of their pieces, or the share
/// of each content that is in the other.
pub(crate) const ALIKE: f64 = 0.75;

/// The common share below which contents are not near-copies. Contents with a share between this
/// and [`ALIKE`] are read to decide.
const DOUBTFUL: f64 = 1.0 / 3.0;

/// The number of members above which a family is large. A member of a large family is compared only
/// with the leader and with its neighbours.
pub const LARGE: usize = 1000;

/// The number of neighbours on either side with which a content is compared, in the order of
/// places.
pub const NEIGHBOURS: usize = 8;

/// The number of failed comparisons that a leader without members may have. Each member allows one
/// more failed comparison.
const TRIALS: u32 = 4;

/// The minimum mean number of contents per leader. With fewer contents per leader, a name forms no
/// families.
const MEMBERS: usize = 8;

/// A family is compared with larger families that share a name with it, but at most with this many.
const MOST_JOINED: usize = 1000;

/// The contents among which families are searched. A content is given by its index (its place).
pub trait NearCopies {
    /// The error of a lookup.
    type Error;

    /// Returns the keys of those pieces of a content that are evidence.
    fn pieces(&self, place: u32) -> Result<HashSet<u64>, Self::Error>;

    /// Reads two contents and returns whether they are near-copies.
    fn are_near_copies(&self, a: u32, b: u32) -> Result<bool, Self::Error>;
}

/// Returns whether two contents that have these measures are near-copies.
pub fn are_near_copies(measures: &Measures) -> bool {
    let share = |score: Option<Score>| score.map_or(0.0, Score::get);
    share(measures.a_in_b).min(share(measures.b_in_a)) >= ALIKE
}

/// Finds the names that more than `few` contents have. Names marked `ALONE` do not count. Returns
/// the places of the contents that have each of these names. The most common name comes first. Of
/// equally common names, the least comes first.
fn common_names(names: &[FamilyNames], few: u32) -> Vec<Vec<u32>> {
    let named = names.iter().zip(0u32..);
    let mut named: Vec<(u64, u32)> = named
        .flat_map(|(names, place)| names.0.map(|name| (name, place)))
        .filter(|&(name, _)| name & FamilyNames::ALONE == 0)
        .collect();
    named.sort_unstable();
    let common = named.chunk_by(|a, b| a.0 == b.0);
    let common = common.filter(|of_name| of_name.len() > few as usize);
    let places = |of_name: &[(u64, u32)]| of_name.iter().map(|&(_, place)| place).collect();
    let mut common: Vec<Vec<u32>> = common.map(places).collect();
    // The names are in ascending order here, and the sort is stable. So the least of several
    // equally common names stays first.
    common.sort_by_key(|of_name| Reverse(of_name.len()));
    common
}

/// The pieces of a leader, and the pieces that many members of its family have.
pub(crate) type LeaderPieces = Arc<HashSet<u64>>;

/// The families of the contents of a question. A content is given by its place.
#[derive(Clone, Debug, Default)]
pub struct Families {
    /// For each content, the place of the leader of its family. A content that is not a member is
    /// its own leader. The list is empty if there are no families.
    leaders: Vec<u32>,
    /// All members in the order of their places, each with the pieces of its leader.
    members: Vec<(u32, LeaderPieces)>,
}

impl Families {
    /// Finds the families among contents that have these names. A name of at most `few` contents
    /// forms no family.
    pub fn of<C: NearCopies>(
        names: &[FamilyNames],
        few: u32,
        contents: &C,
    ) -> Result<Self, C::Error> {
        let mut is_member = vec![false; names.len()];
        let mut found: Vec<Family> = Vec::new();
        for mut free in common_names(names, few) {
            free.retain(|&place| !is_member[place as usize]);
            // So few contents are all compared with each other, so they need no family.
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
            // If all members except the leader had a piece, the piece would pair all members with
            // each other. So a piece that more than `FREE` members have also counts as a piece of
            // the leader.
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

    /// Returns the leader of a content's family. A content that is not a member is its own leader.
    pub fn leader(&self, place: u32) -> u32 {
        self.leaders.get(place as usize).copied().unwrap_or(place)
    }

    /// Returns the number of otherwise different contents among these: a family counts once. If
    /// there are at most [`FREE`] contents, each of them counts.
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

    /// Returns all members of families, each with its leader, in the order of the members' places.
    pub fn members(&self) -> impl Iterator<Item = (u32, u32)> + '_ {
        let member = |member: &(u32, LeaderPieces)| (member.0, self.leaders[member.0 as usize]);
        self.members.iter().map(member)
    }

    /// Returns the families that have more than this number of contents. Each has its leader and
    /// all its contents in the order of their places.
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

    /// Returns the families that have more than this number of contents.
    #[must_use]
    pub fn larger_than(&self, contents: usize) -> Self {
        let mut large = Self::default();
        for (leader, mut members) in self.of_more_than(contents) {
            members.retain(|&place| place != leader);
            if let Some(pieces) = members.first().and_then(|&place| self.of_leader(place)) {
                large.add(self.leaders.len() as u32, leader, &members, &pieces);
            }
        }
        large.members.sort_unstable_by_key(|member| member.0);
        large
    }

    /// Returns whether no content is a member of a family.
    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// Returns the pieces of the leader of a member. Returns `None` if the content is not a member.
    pub fn of_leader(&self, place: u32) -> Option<LeaderPieces> {
        let found = self.members.binary_search_by_key(&place, |member| member.0);
        found.ok().map(|at| Arc::clone(&self.members[at].1))
    }
}

/// The families after joining. For each name, `by_name` has the indices of the families that have
/// the name.
#[derive(Default)]
struct JoinedFamilies {
    families: Vec<Family>,
    by_name: HashMap<u64, Vec<usize>>,
}

impl JoinedFamilies {
    /// Joins families whose leaders are near-copies. The leader of the larger family becomes the
    /// leader of both. Then adds each content in `alone` that is a near-copy of a leader.
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

    /// Returns the indices of at most [`MOST_JOINED`] families that have one of these names, the
    /// largest family first.
    fn named(&self, names: &[u64]) -> Vec<usize> {
        let of_name = |name: &u64| self.by_name.get(name).into_iter().flatten();
        let mut found: Vec<usize> = names.iter().flat_map(of_name).copied().collect();
        found.sort_unstable();
        found.dedup();
        found.truncate(MOST_JOINED);
        found
    }
}

/// A leader and its near-copies, given by their places.
struct Family {
    leader: u32,
    pieces: HashSet<u64>,
    members: Vec<u32>,
    /// The number of failed comparisons. In each, a content was read because its pieces did not
    /// decide, and was not a near-copy of the leader.
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

    /// Returns the names of the leader, and the names that more than one in [`MEMBERS`] of the
    /// members have. The leader may lack names of the members, for example if a text was inserted
    /// only into the leader.
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

    /// Returns the number of pieces that a content shares with the leader, divided by the number of
    /// pieces of the larger set. Returns 0 if one set is far larger than the other.
    fn alike(&self, own: &HashSet<u64>) -> f64 {
        let (a, b) = (&self.pieces, own);
        let (few, many) = if a.len() <= b.len() { (a, b) } else { (b, a) };
        if (few.len() as f64) < DOUBTFUL * many.len() as f64 {
            return 0.0;
        }
        let shared = few.iter().filter(|piece| many.contains(piece)).count();
        shared as f64 / many.len().max(1) as f64
    }

    /// Returns whether the leader may be compared with one more content by reading both.
    fn has_trials(&self) -> bool {
        (self.failed as usize) < TRIALS as usize + self.members.len()
    }
}

/// Returns the index of the first family in `among` whose leader is a near-copy of a content. If
/// the pieces do not decide, the content and the most similar leader are read.
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
