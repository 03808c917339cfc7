//! Orders the contents of a large segment.
//!
//! Near-copies occur together in many lists. If they have neighbouring numbers, each of them takes
//! two bits in a list, except the first. But ids are assigned in the order in which files were
//! found, and the near-copies of a file can be anywhere. So a segment uses *ranks* instead of ids
//! if this makes it smaller. The segment then stores the ids in the order of the ranks.
//!
//! 1. **The order is computed from some of the lists.** A content is inserted behind another
//!    content of the same list. If no content of that list is in the order yet, the content is
//!    appended. A sample of lists with one posting in 32 is enough, because near-copies have dozens
//!    of keys in common. Contents that share no list of the sample with others are at the end, by
//!    id.
//! 2. **Ranks are used only inside blocks.** The readers and writers of blocks take and return ids.

use super::block::{Gaps, Posting};
use crate::codec::lists::PART;
use crate::codec::{Malformed, bits};
use crate::fault::Fault;
use crate::schema;
use crate::store::{ReadTransaction, WriteTransaction};

/// The maximum length of a list from which the order is computed. Two contents in a longer list
/// need not be similar.
const LONGEST: usize = 32;

/// The number of bytes before the fields of a part: one byte, with the width of the fields.
const HEAD: usize = 1;

/// Some of the posting lists of a segment. Contents that occur in the same lists are similar.
#[derive(Debug, Default)]
pub(crate) struct Sample {
    ids: Vec<u32>,
    /// The end of each list in `ids`.
    ends: Vec<usize>,
    key: Option<u64>,
    /// The number of postings that were passed to [`Self::push`]. This includes postings of lists
    /// that were not kept.
    seen: u64,
}

impl Sample {
    /// Adds a posting. Postings must be added in the order of their keys.
    pub(crate) fn push(&mut self, (key, id): Posting) {
        if self.key != Some(key) {
            self.end();
            self.key = Some(key);
        }
        self.ids.push(id);
        self.seen += 1;
    }

    fn end(&mut self) {
        let from = self.ends.last().copied().unwrap_or(0);
        if (2..=LONGEST).contains(&(self.ids.len() - from)) {
            self.ends.push(self.ids.len());
        } else {
            self.ids.truncate(from);
        }
    }

    pub(crate) const fn seen(&self) -> u64 {
        self.seen
    }

    fn lists(&self) -> impl Iterator<Item = &[u32]> {
        let from = std::iter::once(0).chain(self.ends.iter().copied());
        from.zip(&self.ends)
            .map(|(from, &end)| &self.ids[from..end])
    }
}

/// A permutation of the ids in a range.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Order {
    first: u32,
    /// The ids by rank. Every id of the range occurs once.
    ids: Vec<u32>,
    /// The ranks by id. The first rank belongs to the id `first`.
    ranks: Vec<u32>,
}

impl Order {
    /// Computes an order of the ids from `first` to `last`. Returns `None` if the order would not
    /// make a segment of `postings` postings smaller.
    pub(crate) fn of(first: u32, last: u32, mut sample: Sample, postings: u64) -> Option<Self> {
        sample.end();
        let order = Self::from_ids(first, chained(first, last, &sample)?)?;
        let (mut by_id, mut by_rank) = (Gaps::NONE, Gaps::NONE);
        let mut ranks = Vec::new();
        for list in sample.lists() {
            ranks.clear();
            ranks.extend(list.iter().filter_map(|id| order.rank(*id)));
            ranks.sort_unstable();
            list.windows(2)
                .for_each(|two| by_id.add(two[1] - two[0] - 1));
            ranks
                .windows(2)
                .for_each(|two| by_rank.add(two[1] - two[0] - 1));
        }
        let saved = by_id.best_shift().1.saturating_sub(by_rank.best_shift().1);
        let saved = u128::from(saved) * u128::from(postings) / u128::from(sample.seen.max(1));
        let pages = order.ids.len().div_ceil(order.part()) as u128;
        (saved > pages * 4096 * 8).then_some(order)
    }

    fn from_ids(first: u32, ids: Vec<u32>) -> Option<Self> {
        let mut ranks = vec![u32::MAX; ids.len()];
        for (rank, id) in (0..).zip(&ids) {
            let at = ranks.get_mut(id.checked_sub(first)? as usize)?;
            if std::mem::replace(at, rank) != u32::MAX {
                return None;
            }
        }
        Some(Self { first, ids, ranks })
    }

    pub(crate) fn id(&self, rank: u32) -> Result<u32, Malformed> {
        let id = self.ids.get(rank as usize);
        id.copied().ok_or(Malformed("postings"))
    }

    pub(crate) fn rank(&self, id: u32) -> Option<u32> {
        let at = id.checked_sub(self.first)?;
        self.ranks.get(at as usize).copied()
    }

    /// Replaces the ranks in whole lists by ids, and sorts each list again.
    pub(crate) fn restore(&self, postings: &mut [Posting]) -> Result<(), Malformed> {
        for list in postings.chunk_by_mut(|a, b| a.0 == b.0) {
            for posting in &mut *list {
                posting.1 = self.id(posting.1)?;
            }
            list.sort_unstable();
        }
        Ok(())
    }

    fn width(&self) -> u32 {
        bits::width(self.ids.len().saturating_sub(1) as u64).max(1)
    }

    /// Returns the number of ids in a stored part of the order.
    fn part(&self) -> usize {
        (PART - HEAD) * 8 / self.width() as usize
    }

    /// Stores the order of a segment.
    pub(crate) fn put(&self, txn: &WriteTransaction, segment: u32) -> Result<(), Fault> {
        let mut table = txn.open_table(schema::ORDERS)?;
        let mut bytes = Vec::with_capacity(PART);
        let mut rank = 0;
        for part in self.ids.chunks(self.part()) {
            bytes.clear();
            bytes.push(self.width() as u8);
            let mut writer = bits::Writer::new(&mut bytes);
            for id in part {
                writer.put(u64::from(id - self.first), self.width());
            }
            writer.finish();
            table.insert((segment, rank), &bytes[..])?;
            rank += part.len() as u32;
        }
        Ok(())
    }

    /// Removes the order of a segment, if it has one.
    pub(crate) fn remove(txn: &WriteTransaction, segment: u32) -> Result<(), Fault> {
        let mut table = txn.open_table(schema::ORDERS)?;
        table.retain_in((segment, 0)..=(segment, u32::MAX), |_, _| false)?;
        Ok(())
    }

    /// Loads the order of a segment, if it has one. The segment has the ids from `first` to `last`.
    pub(crate) fn load(
        txn: &ReadTransaction,
        segment: u32,
        (first, last): (u32, u32),
    ) -> Result<Option<Self>, Fault> {
        let malformed = Malformed("orders");
        let table = txn.open_table(schema::ORDERS)?;
        let mut ids = Vec::new();
        for row in table.range((segment, 0)..=(segment, u32::MAX))? {
            let (_, part) = row?;
            let (&width, fields) = part.value().split_first().ok_or(malformed)?;
            if !(1..=32).contains(&width) {
                return Err(malformed.into());
            }
            // The unused bits of the last byte could look like one more id. So the number of ids is
            // limited.
            let left = (last.saturating_sub(first) as usize + 1).saturating_sub(ids.len());
            let count = left.min(fields.len() * 8 / usize::from(width));
            let id = |at| bits::get(fields, at * usize::from(width), width.into()) as u32;
            ids.extend((0..count).map(|at| id(at).wrapping_add(first)));
        }
        if ids.is_empty() {
            return Ok(None);
        }
        let order = Self::from_ids(first, ids).ok_or(malformed)?;
        Ok(Some(order))
    }
}

/// Returns all ids from `first` to `last`. Ids of the same lists are next to each other. Returns
/// `None` if none of the lists has a content of this range.
fn chained(first: u32, last: u32, sample: &Sample) -> Option<Vec<u32>> {
    /// Marks the end of the chain. If this is the head, the chain is empty.
    const NONE: u32 = u32::MAX;
    const UNMET: u32 = u32::MAX - 1;
    let count = (last.checked_sub(first)? as usize).checked_add(1)?;
    // In the chain, contents are numbered from 0 for the id `first`.
    let mut following = vec![UNMET; count];
    let (mut head, mut tail) = (NONE, NONE);
    for list in sample.lists() {
        let numbers = || {
            let numbers = list.iter().filter_map(|id| id.checked_sub(first));
            numbers.filter(|&number| (number as usize) < count)
        };
        let met = numbers().find(|&number| following[number as usize] != UNMET);
        let mut before = met.unwrap_or(tail);
        for number in numbers() {
            if following[number as usize] != UNMET {
                continue;
            }
            let next = if before == NONE {
                std::mem::replace(&mut head, number)
            } else {
                std::mem::replace(&mut following[before as usize], number)
            };
            following[number as usize] = next;
            if next == NONE {
                tail = number;
            }
            before = number;
        }
    }
    if head == NONE {
        return None;
    }
    let mut ids = Vec::with_capacity(count);
    let mut at = head;
    while at != NONE {
        ids.push(first + at);
        at = following[at as usize];
    }
    let unmet = (first..=last).filter(|id| following[(id - first) as usize] == UNMET);
    ids.extend(unmet);
    Some(ids)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the postings of 400 families of five contents. The members of a family have ids that
    /// are 400 apart, and share ten keys.
    fn families() -> Vec<Posting> {
        let family = |key: u64| (0..5).map(move |of| (key, 10 + of * 400 + key as u32 % 400));
        (0..4000).flat_map(family).collect()
    }

    fn sample(postings: &[Posting]) -> Sample {
        let mut sample = Sample::default();
        for &posting in postings {
            sample.push(posting);
        }
        sample
    }

    #[test]
    fn copies_stand_together() {
        let all = families();
        let order = Order::of(10, 2009, sample(&all[..4000]), 500_000).unwrap();
        for list in all.chunk_by(|a, b| a.0 == b.0) {
            let ranks: Vec<u32> = list.iter().map(|of| order.rank(of.1).unwrap()).collect();
            assert_eq!(ranks.iter().max().unwrap() - ranks.iter().min().unwrap(), 4);
        }
        assert_eq!((order.rank(9), order.rank(2010)), (None, None));
        assert!(order.id(2000).is_err());
    }

    #[test]
    fn an_order_that_does_not_pay_is_none() {
        assert_eq!(Order::of(10, 2009, sample(&families()), 5000), None);
        // Here, the members of a family already have neighbouring ids.
        let near: Vec<_> = (0..4000)
            .flat_map(|key| (0..5).map(move |of| (key, of + 5 * (key as u32 % 400))))
            .collect();
        assert_eq!(Order::of(0, 1999, sample(&near), 500_000), None);
        let single: Vec<_> = (0..2000).map(|key| (u64::from(key), key)).collect();
        assert_eq!(Order::of(0, 1999, sample(&single), 500_000), None);
    }

    #[test]
    fn contents_out_of_the_range_are_left_out() {
        let mut sample = sample(&[(1, 4), (1, 7), (1, 9), (2, 3), (2, 7), (2, 8), (3, 5)]);
        sample.end();
        assert_eq!(chained(5, 8, &sample), Some(vec![7, 8, 5, 6]));
        assert_eq!(chained(5, 4, &sample), None);
    }

    #[test]
    fn an_id_that_is_there_twice_is_refused() {
        assert!(Order::from_ids(5, vec![6, 5, 7]).is_some());
        assert!(Order::from_ids(5, vec![6, 5, 6]).is_none());
        assert!(Order::from_ids(5, vec![6, 5, 8]).is_none());
        assert!(Order::from_ids(5, vec![4, 5, 6]).is_none());
    }
}
