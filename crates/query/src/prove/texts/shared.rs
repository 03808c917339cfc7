//! The shingles that several texts have, numbered, with the texts that have them.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};

use resemble_core::similarity::discount::FREE;
use resemble_core::similarity::{Commonness, ReadText};
use resemble_core::{StopFlag, Stopped};

use crate::nominate::families::{ALIKE, Families, FamilyNames, NearCopies};
use crate::parallel::{ordered, threads};

/// Shingles are sorted in so many parts by each thread: one part is small beside the texts.
const PARTS: usize = 4;

/// Who has each of the shingles that several texts have.
#[derive(Debug, Default)]
pub(super) struct SharedShingles {
    /// Where the texts of each number begin in `holders`, and at last where they end.
    starts: Vec<u32>,
    holders: Vec<u32>,
    /// How many otherwise different texts have each.
    contents: Vec<u32>,
}

impl SharedShingles {
    /// Numbers the shingles of texts; for each text the numbers of its shingles in order, from 1: 0
    /// is one that no other text has. The numbers follow from the texts and their order alone.
    pub(super) fn of(
        texts: &[Option<ReadText>],
        families: &Families,
        stop: &StopFlag,
    ) -> Result<(Self, Vec<Vec<u32>>), Stopped> {
        // Made by the threads that made the texts: they have the memory that is free again.
        let numbers_of = |text: usize, (): &mut ()| {
            let shingles = texts[text].as_ref().map_or(&[][..], ReadText::shingles);
            Ok::<_, Stopped>(shingles.iter().map(|_| AtomicU32::new(0)).collect())
        };
        let numbers: Vec<Vec<AtomicU32>> = ordered(texts.len(), || (), numbers_of)?;
        let parts = PARTS * threads();
        let number_part = |part: usize, found: &mut Vec<ShingleOccurrence>| {
            stop.go_on()?;
            found.clear();
            for (text, read) in (0u32..).zip(texts) {
                let shingles = read.as_ref().map_or(&[][..], ReadText::shingles);
                let of_part = (0u32..).zip(shingles);
                let of_part = of_part.filter(|&(_, &shingle)| part_of(shingle, parts) == part);
                found.extend(of_part.map(|(at, &shingle)| (shingle, text, at)));
            }
            found.sort_unstable();
            let mut lists = Self::default();
            let mut families_of_one = Vec::new();
            for of_one in found.chunk_by(|x, y| x.0 == y.0) {
                if of_one[0].1 == of_one[of_one.len() - 1].1 {
                    continue;
                }
                lists.starts.push(lists.holders.len() as u32);
                let mut last = u32::MAX;
                families_of_one.clear();
                for &(_, text, at) in of_one {
                    if text != last {
                        lists.holders.push(text);
                        families_of_one.push(families.leader(text));
                        last = text;
                    }
                    numbers[text as usize][at as usize]
                        .store(lists.starts.len() as u32, Ordering::Relaxed);
                }
                families_of_one.sort_unstable();
                families_of_one.dedup();
                lists.contents.push(families_of_one.len() as u32);
            }
            Ok::<_, Stopped>(lists)
        };
        let mut all = Self::default();
        let mut first = Vec::new();
        for part in ordered(parts, Vec::new, number_part)? {
            first.push(all.starts.len() as u32);
            let before = all.holders.len() as u32;
            all.starts
                .extend(part.starts.iter().map(|start| before + start));
            all.holders.extend(part.holders);
            all.contents.extend(part.contents);
        }
        all.starts.push(all.holders.len() as u32);
        let numbers = numbers.into_iter().zip(texts).map(|(numbers, text)| {
            let shingles = text.as_ref().map_or(&[][..], ReadText::shingles);
            let of_all = |(number, &shingle): (AtomicU32, &u64)| match number.into_inner() {
                0 => 0,
                in_part => first[part_of(shingle, parts)] + in_part,
            };
            numbers.into_iter().zip(shingles).map(of_all).collect()
        });
        let numbers = numbers.collect();
        Ok((all, numbers))
    }

    /// The texts that have the shingle of a number, ascending.
    pub(super) fn holders(&self, number: u32) -> &[u32] {
        let number = number as usize;
        &self.holders[self.starts[number] as usize..self.starts[number + 1] as usize]
    }

    /// Whether more than `limit` otherwise different texts have the shingle of a number.
    pub(super) fn is_boilerplate(&self, number: u32, limit: u32) -> bool {
        self.holders(number).len() > limit as usize && self.contents[number as usize] > limit
    }

    /// How common the shingle of a number is.
    pub(super) fn common(&self, number: u32) -> Commonness {
        Commonness {
            texts: self.holders(number).len() as u32,
            contents: self.contents[number as usize],
        }
    }
}

/// A shingle, the text that has it, and where among those that the text still has.
type ShingleOccurrence = (u64, u32, u32);

fn part_of(shingle: u64, parts: usize) -> usize {
    ((u128::from(shingle) * parts as u128) >> 64) as usize
}

/// Texts that still have all their shingles, among which families are looked for.
struct TextCopies<'a> {
    texts: &'a [Option<ReadText>],
    stop: &'a StopFlag,
}

/// One shingle in so many tells how much two texts have in common, as in a signature.
const SAMPLED: u64 = 8;

impl NearCopies for TextCopies<'_> {
    type Error = Stopped;

    fn pieces(&self, place: u32) -> Result<HashSet<u64>, Stopped> {
        self.stop.go_on()?;
        let text = self.texts[place as usize].as_ref();
        let shingles = text.map_or(&[][..], ReadText::shingles).iter().copied();
        Ok(shingles.filter(|shingle| shingle % SAMPLED == 0).collect())
    }

    fn are_near_copies(&self, a: u32, b: u32) -> Result<bool, Stopped> {
        self.stop.go_on()?;
        let text = |place: u32| self.texts[place as usize].as_ref();
        let (Some(a), Some(b)) = (text(a), text(b)) else {
            return Ok(false);
        };
        Ok(a.covered_by(b).min(b.covered_by(a)) >= ALIKE)
    }
}

/// The near-copies among texts that still have all their shingles.
pub(super) fn families(texts: &[Option<ReadText>], stop: &StopFlag) -> Result<Families, Stopped> {
    let names = |place: usize, (): &mut ()| {
        let text = texts[place].as_ref();
        let shingles = text.map_or(&[][..], ReadText::shingles).iter().copied();
        Ok::<_, Stopped>(FamilyNames::of(place as u32, shingles))
    };
    let names = ordered(texts.len(), || (), names)?;
    Families::of(&names, FREE, &TextCopies { texts, stop })
}
