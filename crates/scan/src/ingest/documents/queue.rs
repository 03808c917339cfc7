//! Decides which document is taken apart next, so that all owners are treated fairly. This module
//! does no I/O.
//!
//! Some documents take a minute, and one user can add a thousand of them. So every owner has a
//! queue. The next document belongs to the owner with the fewest documents in progress. If several
//! owners have equally few, it belongs to the owner who has not got a reader for the longest time.
//! A single owner may use all readers except one. That reader is reserved for owners without a
//! document in progress, so that they need not wait.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use resemble_core::{ContentId, FileId};

/// A user or a folder. The readers are shared fairly among owners.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(in crate::ingest) struct Owner(pub(in crate::ingest) u32);

/// A content that waits to be taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Waiting {
    pub(super) content: ContentId,
    /// The file with which the content was added.
    pub(super) file: FileId,
    pub(super) owner: Owner,
}

/// The contents of one owner that wait or are being read.
#[derive(Debug)]
struct Share {
    waiting: VecDeque<Waiting>,
    running: usize,
    /// The turn in which the owner last got a reader. If the owner has got none yet, this is the
    /// turn in which the owner was added.
    last: u64,
}

/// All contents that wait for a reader, are being read, or have a result that is not in the index.
#[derive(Debug)]
pub(super) struct Queue {
    /// The number of readers that a single owner is allowed to use. One more reader is reserved for
    /// other owners.
    readers: usize,
    owners: BTreeMap<Owner, Share>,
    running: usize,
    /// The contents whose results are not in the index yet, each with its number in the order of
    /// arrival.
    known: HashMap<ContentId, u64>,
    order: BTreeSet<u64>,
    arrivals: u64,
    turns: u64,
}

impl Queue {
    /// Makes a queue for `readers` readers, and one more that is reserved for owners without a
    /// reader.
    pub(super) fn new(readers: usize) -> Self {
        Self {
            readers,
            owners: BTreeMap::new(),
            running: 0,
            known: HashMap::new(),
            order: BTreeSet::new(),
            arrivals: 0,
            turns: 0,
        }
    }

    /// Adds a content, unless it is in the queue already.
    pub(super) fn add(&mut self, waiting: Waiting) {
        if self.known.contains_key(&waiting.content) {
            return;
        }
        self.arrivals += 1;
        self.known.insert(waiting.content, self.arrivals);
        self.order.insert(self.arrivals);
        // A new owner is treated as if it had got a reader in the current turn. Otherwise, an owner
        // that adds one document after another would always be first.
        let last = self.turns;
        let share = self.owners.entry(waiting.owner).or_insert(Share {
            waiting: VecDeque::new(),
            running: 0,
            last,
        });
        share.waiting.push_back(waiting);
    }

    /// Returns the next content to take apart, if a reader is free for it.
    pub(super) fn next(&mut self) -> Option<Waiting> {
        let is_full = self.running >= self.readers;
        if self.running > self.readers {
            return None;
        }
        let waits =
            |share: &&mut Share| !share.waiting.is_empty() && (!is_full || share.running == 0);
        let shares = self.owners.values_mut().filter(waits);
        let share = shares.min_by_key(|share| (share.running, share.last))?;
        let next = share.waiting.pop_front()?;
        self.turns += 1;
        share.last = self.turns;
        share.running += 1;
        self.running += 1;
        Some(next)
    }

    /// Records that a document of this owner is finished, so that its reader is free.
    pub(super) fn over(&mut self, owner: Owner) {
        self.running = self.running.saturating_sub(1);
        if let Some(share) = self.owners.get_mut(&owner) {
            share.running = share.running.saturating_sub(1);
            if share.running == 0 && share.waiting.is_empty() {
                self.owners.remove(&owner);
            }
        }
    }

    /// Records that the result of a content is in the index.
    pub(super) fn settle(&mut self, content: ContentId) {
        if let Some(arrival) = self.known.remove(&content) {
            self.order.remove(&arrival);
        }
    }

    /// Drops all contents that wait for a reader. Contents that are being read continue.
    pub(super) fn clear(&mut self) {
        for share in self.owners.values_mut() {
            for waiting in share.waiting.drain(..) {
                if let Some(arrival) = self.known.remove(&waiting.content) {
                    self.order.remove(&arrival);
                }
            }
        }
        self.owners.retain(|_, share| share.running > 0);
    }

    pub(super) fn has(&self, content: ContentId) -> bool {
        self.known.contains_key(&content)
    }

    /// Returns the contents whose results are not in the index yet.
    pub(super) fn contents(&self) -> impl ExactSizeIterator<Item = ContentId> + '_ {
        self.known.keys().copied()
    }

    /// Returns the number of contents whose results are not in the index yet.
    pub(super) fn len(&self) -> usize {
        self.known.len()
    }

    /// Returns whether no content waits or is being read.
    pub(super) fn is_idle(&self) -> bool {
        self.owners.is_empty()
    }

    /// Returns the number of contents that were added so far.
    pub(super) const fn arrivals(&self) -> u64 {
        self.arrivals
    }

    /// Returns the arrival number of the oldest content whose result is not in the index yet.
    pub(super) fn oldest(&self) -> Option<u64> {
        self.order.first().copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn waiting(owner: u32, content: u32) -> Waiting {
        Waiting {
            content: ContentId(content),
            file: FileId(content),
            owner: Owner(owner),
        }
    }

    /// Returns a queue in which owner 1 has the contents 100 to 199, and all readers that one owner
    /// is allowed to use.
    fn crowded(readers: usize) -> Queue {
        let mut queue = Queue::new(readers);
        (100..200).for_each(|content| queue.add(waiting(1, content)));
        for content in 0..readers as u32 {
            assert_eq!(queue.next(), Some(waiting(1, 100 + content)));
        }
        assert_eq!(queue.next(), None, "the last reader is for others");
        queue
    }

    #[test]
    fn who_has_nothing_under_way_does_not_wait_for_others() {
        for readers in [1, 2, 8] {
            let mut queue = crowded(readers);
            queue.add(waiting(2, 1));
            queue.add(waiting(2, 2));
            assert_eq!(queue.next(), Some(waiting(2, 1)), "{readers}");
            assert_eq!(queue.next(), None, "{readers}");
        }
    }

    #[test]
    fn no_owner_has_more_than_half_while_another_waits() {
        let mut queue = crowded(4);
        (0..50).for_each(|content| queue.add(waiting(2, content)));
        let mut under_way = vec![Owner(1); 4];
        let mut taken = [0_u32; 3];
        for round in 0..60 {
            while let Some(next) = queue.next() {
                under_way.push(next.owner);
                taken[next.owner.0 as usize] += 1;
            }
            let of_first = under_way.iter().filter(|owner| owner.0 == 1).count();
            assert!(
                round < 2 || (2..=3).contains(&of_first),
                "{round}: {of_first}"
            );
            queue.over(under_way.remove(0));
        }
        assert!(taken[1].abs_diff(taken[2]) <= 4, "{taken:?}");
    }

    /// With one reader, two owners take turns, even if one owner adds one document after another.
    #[test]
    fn who_comes_again_and_again_waits_his_turn() {
        let mut queue = Queue::new(1);
        (100..110).for_each(|content| queue.add(waiting(1, content)));
        let mut owners = Vec::new();
        for content in 0..10 {
            queue.add(waiting(2, content));
            let next = queue.next().expect("one of them");
            owners.push(next.owner.0);
            queue.over(next.owner);
            queue.settle(next.content);
        }
        assert_eq!(owners, [1, 2, 1, 2, 1, 2, 1, 2, 1, 2]);
    }

    #[test]
    fn a_content_is_known_until_it_is_in_the_index() {
        let mut queue = Queue::new(2);
        for content in [7, 8, 7] {
            queue.add(waiting(1, content));
        }
        assert_eq!(
            (queue.len(), queue.arrivals(), queue.oldest()),
            (2, 2, Some(1))
        );
        while let Some(next) = queue.next() {
            queue.over(next.owner);
        }
        assert!(queue.is_idle() && queue.has(ContentId(7)));
        queue.settle(ContentId(7));
        assert_eq!((queue.len(), queue.oldest()), (1, Some(2)));
        queue.add(waiting(1, 7));
        queue.clear();
        assert!(!queue.has(ContentId(7)) && queue.has(ContentId(8)));
        queue.settle(ContentId(8));
        assert_eq!((queue.len(), queue.oldest()), (0, None));
    }
}
