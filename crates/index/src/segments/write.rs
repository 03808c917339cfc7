//! Writing a segment, and the k-way merge that makes one of several.

use std::ops::Bound;

use super::block::{Builder, Posting, pack, unpack};
use super::order::Order;
use super::read::Scan;
use crate::fault::Fault;
use crate::heirs::Live;
use crate::schema::{self, PostingKind};
use crate::store::WriteTransaction;

/// Postings of one source that are merged at a time, roughly.
const STEP: usize = 4096;

/// Where ascending postings come from.
pub(crate) enum Source<'a> {
    /// A sorted batch.
    Memory(&'a [Posting]),
    /// A segment, some blocks at a time.
    Stored(Box<Stored>),
}

impl Source<'_> {
    /// All postings of a segment.
    pub(crate) fn stored(scan: Scan) -> Self {
        Self::Stored(Box::new(Stored {
            scan,
            decoded: Vec::new(),
            at: 0,
            ended: false,
        }))
    }
}

/// A segment that is read.
pub(crate) struct Stored {
    scan: Scan,
    decoded: Vec<Posting>,
    /// What comes before this was taken.
    at: usize,
    ended: bool,
}

impl Source<'_> {
    /// The next postings, and whether they are all that is left. None are there only at the end.
    fn at_hand(&mut self) -> Result<(&[Posting], bool), Fault> {
        match self {
            Self::Memory(left) => Ok((&left[..left.len().min(STEP)], left.len() <= STEP)),
            Self::Stored(stored) => {
                let Stored {
                    scan,
                    decoded,
                    at,
                    ended,
                } = &mut **stored;
                if decoded.len() - *at < STEP / 2 && !*ended {
                    decoded.drain(..std::mem::take(at));
                    while decoded.len() < STEP && !*ended {
                        *ended = !scan.decode(decoded)?;
                    }
                }
                Ok((&decoded[*at..], *ended))
            }
        }
    }

    /// The first `count` of those at hand were taken.
    fn take(&mut self, count: usize) {
        match self {
            Self::Memory(left) => *left = &left[count..],
            Self::Stored(stored) => stored.at += count,
        }
    }
}

/// All postings of several sources in order, without those of dead contents; what a dead content
/// left to an heir is the heir's.
///
/// Stretches of all sources that end at the same posting are put one after another and sorted: the
/// sort finds the ascending runs and merges them without a branch for each posting.
pub(crate) struct Merge<'a> {
    sources: Vec<Source<'a>>,
    /// A stretch of postings in order.
    merged: Vec<u128>,
    at: usize,
    live: Live<'a>,
    /// Only if heirs change the order: postings of one key, descending.
    same: Vec<u128>,
}

impl<'a> Merge<'a> {
    pub(crate) fn new(sources: Vec<Source<'a>>, live: Live<'a>) -> Self {
        Self {
            sources,
            merged: Vec::new(),
            at: 0,
            live,
            same: Vec::new(),
        }
    }

    /// The next live posting.
    pub(crate) fn next(&mut self) -> Result<Option<Posting>, Fault> {
        if !self.live.reorders() {
            let next = self.head()?;
            self.at += 1;
            return Ok(next.map(unpack));
        }
        if self.same.is_empty() {
            while let Some(head) = self.head()?
                && (self.same.first()).is_none_or(|first| unpack(*first).0 == unpack(head).0)
            {
                self.same.push(head);
                self.at += 1;
            }
            self.same.sort_unstable_by(|a, b| b.cmp(a));
        }
        Ok(self.same.pop().map(unpack))
    }

    /// The next posting by its key, which is not taken yet.
    fn head(&mut self) -> Result<Option<u128>, Fault> {
        while self.at >= self.merged.len() {
            if !self.refill()? {
                return Ok(None);
            }
        }
        Ok(Some(self.merged[self.at]))
    }

    /// Takes the next stretch; `false` if all sources are at their end.
    fn refill(&mut self) -> Result<bool, Fault> {
        self.merged.clear();
        self.at = 0;
        let (mut any, mut end) = (false, None);
        for source in &mut self.sources {
            let (postings, all) = source.at_hand()?;
            any |= !postings.is_empty();
            if let Some(&last) = postings.last().filter(|_| !all) {
                end = Some(end.map_or(last, |end: Posting| end.min(last)));
            }
        }
        for source in &mut self.sources {
            let (postings, _) = source.at_hand()?;
            let count = end.map_or(postings.len(), |end| {
                postings.partition_point(|&posting| posting <= end)
            });
            let live = self.live;
            let live = postings[..count].iter().filter_map(|&(key, content)| {
                let content = live.of(key, content)?;
                Some(pack((key, content)))
            });
            self.merged.extend(live);
            source.take(count);
        }
        if self.sources.len() > 1 || self.live.reorders() {
            #[expect(
                clippy::stable_sort_primitive,
                reason = "it is the one that finds runs"
            )]
            self.merged.sort();
        }
        Ok(any)
    }
}

/// Writes one kind of a new segment, in an order or by ids; answers the number of postings. Without
/// any there is no table.
pub(crate) fn write(
    txn: &WriteTransaction,
    kind: PostingKind,
    segment: u32,
    order: Option<&Order>,
    mut next: impl FnMut() -> Result<Option<Posting>, Fault>,
) -> Result<u64, Fault> {
    /// Postings that are numbered at a time: one after the other, each would wait for memory.
    const STRETCH: usize = 1024;
    let Some(first) = next()? else {
        return Ok(0);
    };
    let name = schema::postings_name(kind, segment);
    let mut table = txn.open_table(schema::postings_table(&name))?;
    let mut cursor = table.upper_bound_mut(Bound::<(u64, u32)>::Unbounded)?;
    let mut builder = Builder::default();
    let mut bytes = Vec::new();
    let mut put = |posting| {
        if !builder.push(posting) {
            if let Some(first) = builder.take(&mut bytes) {
                cursor.insert_before(first, &bytes[..])?;
            }
            builder.push(posting);
        }
        Ok::<_, Fault>(())
    };
    let mut put_list = |key, list: &mut Vec<u32>| {
        if order.is_some() {
            list.sort_unstable();
        }
        list.drain(..).try_for_each(|number| put((key, number)))
    };
    let mut count = 0;
    let mut stretch = vec![first];
    let mut numbers = Vec::with_capacity(STRETCH);
    // Those of the last key.
    let (mut key, mut list) = (first.0, Vec::new());
    while let Some(&(mut last)) = stretch.last() {
        count += stretch.len() as u64;
        numbers.clear();
        match order {
            Some(order) => {
                let ranks = stretch.iter().map(|posting| order.rank(posting.1));
                numbers.extend(ranks.map(|rank| rank.unwrap_or(u32::MAX)));
                if numbers.contains(&u32::MAX) {
                    return Err(Fault::damaged("a posting has no rank"));
                }
            }
            None => numbers.extend(stretch.iter().map(|posting| posting.1)),
        }
        for (posting, &number) in stretch.iter().zip(&numbers) {
            if posting.0 != key {
                put_list(key, &mut list)?;
                key = posting.0;
            }
            list.push(number);
        }
        stretch.clear();
        while stretch.len() < STRETCH
            && let Some(following) = next()?
        {
            if following <= last {
                return Err(Fault::damaged("postings are out of order"));
            }
            last = following;
            stretch.push(following);
        }
    }
    put_list(key, &mut list)?;
    if let Some(first) = builder.take(&mut bytes) {
        cursor.insert_before(first, &bytes[..])?;
    }
    cursor.close()?;
    Ok(count)
}

/// Drops the tables of a segment.
pub(crate) fn delete(txn: &WriteTransaction, segment: u32) -> Result<(), Fault> {
    Order::remove(txn, segment)?;
    for kind in [PostingKind::Chunk, PostingKind::Fingerprint] {
        let name = schema::postings_name(kind, segment);
        txn.delete_table(schema::postings_table(&name))?;
    }
    Ok(())
}
