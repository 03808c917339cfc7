//! Tests families of contents whose pieces are made up, and families of texts that are read.

use std::convert::Infallible;

use resemble_core::similarity::Unit;
use resemble_core::similarity::proof::Provable;
use resemble_core::{Digest, Params};
use resemble_testutil::random::Random;

use super::*;
use crate::nominate::evidence::{CHUNK, chunk_keys};

/// Contents of which only the pieces are known, so that they cannot be read.
struct Known<P>(P);

impl<P: Fn(u32) -> HashSet<u64>> NearCopies for Known<P> {
    type Error = Infallible;

    fn pieces(&self, place: u32) -> Result<HashSet<u64>, Infallible> {
        Ok((self.0)(place))
    }

    fn are_near_copies(&self, _: u32, _: u32) -> Result<bool, Infallible> {
        Ok(false)
    }
}

fn families(names: &[u64], pieces: impl Fn(u32) -> HashSet<u64>) -> Families {
    let all = |(name, place): (&u64, u64)| {
        let others = [1, 2, 3].map(|other| 1_000_000 + place * 4 + other);
        FamilyNames([*name, others[0], others[1], others[2]])
    };
    let names: Vec<FamilyNames> = names.iter().zip(0..).map(all).collect();
    let Ok(families) = Families::of(&names, FREE, &Known(pieces));
    families
}

/// Returns the pieces of a copy of a page. A copy has a hundred pieces, and the last `own` of them
/// are in no other copy.
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

/// Every tenth copy has a changed line with the least fingerprint, so the copy has another first
/// name.
#[test]
fn a_copy_with_another_name_is_a_member() {
    let names: Vec<FamilyNames> = (0..500)
        .map(|place| match place % 10 {
            0 => FamilyNames([1_000_000 + place, 2_000_003, 2_000_004, 2_000_005]),
            _ => FamilyNames([2_000_003, 2_000_004, 2_000_005, 2_000_006]),
        })
        .collect();
    let Ok(families) = Families::of(&names, FREE, &Known(|place| copy(place, 4)));
    assert_eq!(families.members().count(), 499);
}

/// Every second copy has a changed line with the least fingerprint. So at most 64 copies have the
/// same first name.
#[test]
fn near_copies_meet_by_any_of_their_names() {
    let names: Vec<FamilyNames> = (0..100u64)
        .map(|place| match place % 2 {
            0 => FamilyNames([1_000 + place, 2_000_003, 2_000_004, 2_000_005]),
            _ => FamilyNames([2_000_003, 2_000_004, 2_000_005, 2_000_006]),
        })
        .collect();
    let Ok(families) = Families::of(&names, FREE, &Known(|place| copy(place, 4)));
    assert_eq!(families.members().count(), 99);
}

/// All files have a licence with the least fingerprint, so they have the same first name. A hundred
/// of the files are copies of one page.
#[test]
fn a_family_under_a_common_header_is_found_by_its_next_name() {
    let is_copy = |place: u64| place < 100;
    let names: Vec<FamilyNames> = (0..1100u64)
        .map(|place| {
            let own = [1, 2, 3].map(|nth| nth * 1_000_000 + place);
            let of_page = [5_000_003, 5_000_004, 5_000_005];
            let [a, b, c] = if is_copy(place) { of_page } else { own };
            FamilyNames([3, a, b, c])
        })
        .collect();
    let page = |place| copy(place, if is_copy(place.into()) { 4 } else { 70 });
    let Ok(families) = Families::of(&names, FREE, &Known(page));
    assert_eq!(families.members().count(), 99);
    let all_are_copies = |(member, leader): (u32, u32)| is_copy(member.max(leader).into());
    assert!(families.members().all(all_are_copies));
}

/// In every second copy, an insertion has changed the shingle with the least fingerprint.
#[test]
fn near_copies_of_two_names_are_one_family() {
    let names: Vec<FamilyNames> = (0..500u64)
        .map(|place| match place % 2 {
            0 => FamilyNames([3, 4, 5, 6]),
            _ => FamilyNames([4, 5, 6, 7]),
        })
        .collect();
    let Ok(families) = Families::of(&names, FREE, &Known(|place| copy(place, 4)));
    assert_eq!(families.members().count(), 499);
    assert_eq!(
        families.count(&(0..500).collect::<Vec<u32>>(), &mut Vec::new()),
        1
    );
}

/// All files have the same licence, and each has a different text below it.
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

/// Contents whose texts are known, so that they can be read.
#[derive(Default)]
struct Read {
    names: Vec<FamilyNames>,
    pieces: Vec<HashSet<u64>>,
    texts: Vec<Provable>,
}

impl Read {
    fn push(&mut self, text: &[Vec<String>]) {
        let lines: Vec<String> = text.iter().map(|line| line.join(" ")).collect();
        let bytes = lines.join("\n").into_bytes();
        let digest = Digest::of(&bytes, &Params::default());
        let samples = digest.signature.fingerprints.iter().map(|f| f.0);
        let place = self.names.len() as u32;
        self.names.push(FamilyNames::of(place, samples.clone()));
        let chunks = chunk_keys(&digest.sketch()).into_iter();
        self.pieces
            .push(samples.chain(chunks.map(|key| key | CHUNK)).collect());
        self.texts.push(Provable::new(digest.kind, bytes));
    }

    fn families(&self) -> Families {
        let Ok(families) = Families::of(&self.names, FREE, self);
        families
    }
}

impl NearCopies for Read {
    type Error = Infallible;

    fn pieces(&self, place: u32) -> Result<HashSet<u64>, Infallible> {
        Ok(self.pieces[place as usize].clone())
    }

    fn are_near_copies(&self, a: u32, b: u32) -> Result<bool, Infallible> {
        let (a, b) = (&self.texts[a as usize], &self.texts[b as usize]);
        Ok(are_near_copies(&a.measure(b, Unit::Words).measures))
    }
}

fn line(random: &mut Random, words: usize) -> Vec<String> {
    let word = |random: &mut Random| {
        let length = 2 + random.below(8);
        let letters = (0..length).map(|_| char::from(b'a' + random.below(26) as u8));
        letters.collect()
    };
    (0..words).map(|_| word(random)).collect()
}

/// Returns the lines of a text. Each line has ten words.
fn page(random: &mut Random, lines: usize) -> Vec<Vec<String>> {
    (0..lines).map(|_| line(random, 10)).collect()
}

/// The change that was made to a copy.
#[derive(Clone, Copy, Debug)]
enum Change {
    LineInserted,
    LineReplaced,
    LineRemoved,
    WordsReplaced,
}

fn changed(page: &[Vec<String>], change: Change, random: &mut Random) -> Vec<Vec<String>> {
    let mut copy = page.to_vec();
    let place = copy.len() * (1 + random.below(8)) / 9;
    match change {
        Change::LineInserted => copy.insert(place, line(random, 10)),
        Change::LineReplaced => copy[place] = line(random, 10),
        Change::LineRemoved => {
            copy.remove(random.below(page.len()));
            copy.push(line(random, 3));
        }
        Change::WordsReplaced => {
            for _ in 0..3 {
                let of_it = random.below(copy.len());
                copy[of_it][random.below(10)] = line(random, 1).remove(0);
            }
        }
    }
    copy
}

const CHANGES: [Change; 4] = [
    Change::LineInserted,
    Change::LineReplaced,
    Change::LineRemoved,
    Change::WordsReplaced,
];

/// Checks that the copies of a page are one family after any kind of change, for several numbers of
/// copies. No other page may be in that family.
#[test]
fn near_copies_of_a_page_are_one_family() {
    for change in CHANGES {
        for (copies, seeds) in [(300, 8), (700, 4), (5000, 1)] {
            for seed in 0..seeds {
                let mut random = Random::new(1 + 1000 * seed + copies as u64);
                let mut read = Read::default();
                let of_all = page(&mut random, 25);
                for _ in 0..copies {
                    read.push(&changed(&of_all, change, &mut random));
                }
                for _ in 0..100 {
                    read.push(&page(&mut random, 25));
                }
                let families = read.families();
                let members: Vec<(u32, u32)> = families.members().collect();
                let leaders: HashSet<u32> = members.iter().map(|member| member.1).collect();
                let case = (change, copies, seed);
                assert_eq!((members.len(), leaders.len()), (copies - 1, 1), "{case:?}");
                let is_copy = |&(member, _): &(u32, u32)| (member as usize) < copies;
                assert!(members.iter().all(is_copy), "{case:?}");
            }
        }
    }
}

/// All files have the same header, which is 60 % of each file. The rest of each file is different.
#[test]
fn files_under_one_header_are_no_family() {
    for (files, seeds) in [(300, 8), (1000, 2), (5000, 1)] {
        for seed in 0..seeds {
            let mut random = Random::new(7 + 1000 * seed + files);
            let mut read = Read::default();
            let header = page(&mut random, 30);
            for _ in 0..files {
                let own = page(&mut random, 20);
                read.push(&[&header[..], &own[..]].concat());
            }
            let members = read.families().members().count();
            assert_eq!(members, 0, "{:?}", (files, seed));
        }
    }
}
