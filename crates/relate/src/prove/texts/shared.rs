//! Numbers the shingles that several texts have, and lists these texts for each shingle.

use std::collections::HashSet;
use std::sync::atomic::{AtomicU32, Ordering};

use resemble_core::similarity::discount::FREE;
use resemble_core::similarity::{Chains, Commonness, NumberedText, ReadText, Text};
use resemble_core::{StopFlag, Stopped};

use super::each;
use crate::nominate::families::{ALIKE, Families, FamilyNames, NearCopies};
use crate::parallel::{ordered, threads};

/// The number of parts per thread in which shingles are sorted. There are several parts per thread,
/// so that a part takes little memory compared with the texts.
const PARTS: usize = 4;

/// The shingles that several texts have, and these texts. Shingles that always occur together form
/// a chain, which has a single list of texts.
#[derive(Debug, Default)]
pub(super) struct SharedChains {
    /// For each chain, the index in `holders` at which its texts begin. The last entry is the end
    /// of the last chain's texts.
    starts: Vec<u32>,
    holders: Vec<u32>,
    /// For each chain, the number of otherwise different texts that have it.
    contents: Vec<u32>,
    /// For each chain, the number of its shingles.
    lengths: Vec<u32>,
}

/// The shingles of one part that several texts have, and these texts. Shingles are numbered within
/// the part.
#[derive(Debug, Default)]
struct SharedShingles {
    /// For each shingle, the index in `holders` at which its texts begin.
    starts: Vec<u32>,
    holders: Vec<u32>,
    contents: Vec<u32>,
    /// For each shingle, the number of its occurrences in all texts.
    times: Vec<u32>,
}

impl SharedShingles {
    /// Numbers those shingles of a sorted part that several texts have. The first number is 1.
    /// Calls `numbered` with each occurrence of such a shingle and its number.
    fn of(
        part: &[ShingleOccurrence],
        families: &Families,
        numbered: impl Fn(&ShingleOccurrence, u32),
    ) -> Self {
        let mut shared = Self::default();
        let mut families_of_one = Vec::new();
        for of_one in part.chunk_by(|x, y| x.0 == y.0) {
            if of_one[0].1 == of_one[of_one.len() - 1].1 {
                continue;
            }
            shared.starts.push(shared.holders.len() as u32);
            shared.times.push(of_one.len() as u32);
            let mut last = u32::MAX;
            families_of_one.clear();
            for occurrence in of_one {
                let text = occurrence.1;
                if text != last {
                    shared.holders.push(text);
                    families_of_one.push(families.leader(text));
                    last = text;
                }
                numbered(occurrence, shared.starts.len() as u32);
            }
            families_of_one.sort_unstable();
            families_of_one.dedup();
            shared.contents.push(families_of_one.len() as u32);
        }
        shared
    }

    /// Returns the texts that have a shingle. Here `number` counts from 0.
    fn holders(&self, number: usize) -> &[u32] {
        let end = self.starts.get(number + 1).map(|&end| end as usize);
        &self.holders[self.starts[number] as usize..end.unwrap_or(self.holders.len())]
    }
}

impl SharedChains {
    /// Finds the chains among the shingles of all texts, and the texts that have each chain. Also
    /// returns the texts as sequences of chains. The chains depend only on the texts and their
    /// order.
    pub(super) fn of(
        texts: Vec<Option<ReadText>>,
        families: &Families,
        stop: &StopFlag,
    ) -> Result<(Self, Vec<Option<Text>>), Stopped> {
        // The threads that made the texts also allocate the numbers. So they can reuse memory that
        // they have freed.
        let numbers_of = |text: usize, (): &mut ()| {
            let shingles = texts[text].as_ref().map_or(&[][..], ReadText::shingles);
            Ok::<_, Stopped>(shingles.iter().map(|_| AtomicU32::new(0)).collect())
        };
        let numbers: Vec<Vec<AtomicU32>> = ordered(texts.len(), || (), numbers_of)?;
        let parts = PARTS * threads();
        let number_part = |part: usize, found: &mut Vec<ShingleOccurrence>| {
            stop.go_on()?;
            found.clear();
            for (text, read) in (0u32..).zip(&texts) {
                let shingles = read.as_ref().map_or(&[][..], ReadText::shingles);
                let of_part = (0u32..).zip(shingles);
                let of_part = of_part.filter(|&(_, &shingle)| part_of(shingle, parts) == part);
                found.extend(of_part.map(|(at, &shingle)| (shingle, text, at)));
            }
            found.sort_unstable();
            let numbered = |&(_, text, at): &ShingleOccurrence, number| {
                numbers[text as usize][at as usize].store(number, Ordering::Relaxed);
            };
            Ok::<_, Stopped>(SharedShingles::of(found, families, numbered))
        };
        let shingles = ordered(parts, Vec::new, number_part)?;
        let mut firsts = Vec::with_capacity(parts);
        let mut all = 0;
        for part in &shingles {
            firsts.push(all);
            all += part.starts.len() as u32;
        }
        let mut texts: Vec<_> = texts.into_iter().zip(numbers).collect();
        let mut texts = each(&mut texts, |(text, numbers)| {
            let text = text.take()?;
            let in_parts = std::mem::take(numbers).into_iter();
            let number = |(in_part, &shingle): (AtomicU32, &u64)| match in_part.into_inner() {
                0 => 0,
                number => firsts[part_of(shingle, parts)] + number,
            };
            let numbers = in_parts.zip(text.shingles()).map(number).collect();
            Some(text.numbered(numbers))
        });
        stop.go_on()?;
        let times: Vec<u32> = shingles
            .iter()
            .flat_map(|part| part.times.iter().copied())
            .collect();
        let chains = Chains::of(texts.iter().flatten(), &times);
        let shared = Self::of_parts(&shingles, &firsts, &chains);
        drop((shingles, times));
        let texts = each(&mut texts, |text: &mut Option<NumberedText>| {
            let texts = |chain| shared.common(chain).texts;
            Some(text.take()?.chained(&chains, texts))
        });
        Ok((shared, texts))
    }

    /// Makes the chains. Each chain has the texts of its first shingle. For each part, `firsts` has
    /// the number of shingles in the parts before it.
    fn of_parts(parts: &[SharedShingles], firsts: &[u32], chains: &Chains) -> Self {
        let mut shared = Self::default();
        for &number in chains.firsts() {
            let part = firsts.partition_point(|&first| first <= number) - 1;
            let (part, number) = (&parts[part], (number - firsts[part]) as usize);
            shared.starts.push(shared.holders.len() as u32);
            shared.holders.extend(part.holders(number));
            shared.contents.push(part.contents[number]);
        }
        shared.starts.push(shared.holders.len() as u32);
        shared.lengths = chains.lengths().to_vec();
        shared
    }

    /// Returns the texts that have this chain of shingles, in ascending order.
    pub(super) fn holders(&self, chain: u32) -> &[u32] {
        let chain = chain as usize;
        &self.holders[self.starts[chain] as usize..self.starts[chain + 1] as usize]
    }

    /// Returns whether more than `limit` otherwise different texts have this chain of shingles.
    pub(super) fn is_boilerplate(&self, chain: u32, limit: u32) -> bool {
        self.holders(chain).len() > limit as usize && self.contents[chain as usize] > limit
    }

    /// Returns the number of shingles of a chain, and how common it is.
    pub(super) fn common(&self, chain: u32) -> Commonness {
        Commonness {
            shingles: self.lengths[chain as usize],
            texts: self.holders(chain).len() as u32,
            contents: self.contents[chain as usize],
        }
    }
}

/// A shingle, a text that has it, and the index of the shingle among the kept shingles of that
/// text.
type ShingleOccurrence = (u64, u32, u32);

fn part_of(shingle: u64, parts: usize) -> usize {
    ((u128::from(shingle) * parts as u128) >> 64) as usize
}

/// The texts among which families are searched, with all their shingles.
struct TextCopies<'a> {
    texts: &'a [Option<ReadText>],
    stop: &'a StopFlag,
}

/// One in this many shingles is compared, as many as in a signature.
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

/// Returns the families of near-copies among these texts.
pub(super) fn families(texts: &[Option<ReadText>], stop: &StopFlag) -> Result<Families, Stopped> {
    let names = |place: usize, (): &mut ()| {
        let text = texts[place].as_ref();
        let shingles = text.map_or(&[][..], ReadText::shingles).iter().copied();
        Ok::<_, Stopped>(FamilyNames::of(place as u32, shingles))
    };
    let names = ordered(texts.len(), || (), names)?;
    Families::of(&names, FREE, &TextCopies { texts, stop })
}
