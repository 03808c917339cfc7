//! Writing a segment, and the k-way merge that makes one of several.

use std::io;
use std::ops::Bound;
use std::sync::mpsc;
use std::thread;

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

/// What a segment is written from: the postings of a merge, each content by its number in the new
/// segment.
pub(crate) struct Numbered<'a> {
    merge: Merge<'a>,
    order: Option<&'a Order>,
    /// The first posting that was not given out.
    next: Option<Posting>,
    has_begun: bool,
}

impl<'a> Numbered<'a> {
    /// By their ranks in an order, or by their ids.
    pub(crate) fn new(merge: Merge<'a>, order: Option<&'a Order>) -> Self {
        Self {
            merge,
            order,
            next: None,
            has_begun: false,
        }
    }

    /// Replaces `postings` by the following ones: some thousands, and whole lists. None are there
    /// only at the end.
    fn fill(&mut self, postings: &mut Vec<Posting>) -> Result<(), Fault> {
        /// Postings at a time: one after the other, each rank would wait for memory.
        const STRETCH: usize = 4096;
        postings.clear();
        if !std::mem::replace(&mut self.has_begun, true) {
            self.next = self.merge.next()?;
        }
        while let Some(posting) = self.next
            && (postings.len() < STRETCH || postings.last().is_some_and(|of| of.0 == posting.0))
        {
            postings.push(posting);
            self.next = self.merge.next()?;
            if self.next.is_some_and(|next| next <= posting) {
                return Err(Fault::damaged("postings are out of order"));
            }
        }
        let Some(order) = self.order else {
            return Ok(());
        };
        let mut have_ranks = true;
        for posting in &mut *postings {
            posting.1 = order.rank(posting.1).unwrap_or(u32::MAX);
            have_ranks &= posting.1 != u32::MAX;
        }
        if !have_ranks {
            return Err(Fault::damaged("a posting has no rank"));
        }
        for list in postings.chunk_by_mut(|a, b| a.0 == b.0) {
            list.sort_unstable();
        }
        Ok(())
    }

    /// Shows what is written to `write`, which asks for stretch after stretch. Of many postings
    /// the next stretches are merged meanwhile, by another thread.
    pub(crate) fn shown_to<R>(
        &mut self,
        postings: u64,
        write: impl FnOnce(&mut dyn FnMut(&mut Vec<Posting>) -> Result<(), Fault>) -> R,
    ) -> R {
        /// Fewer are merged and written in some milliseconds.
        const MANY: u64 = 1 << 17;
        /// Stretches that wait to be written.
        const WAITING: usize = 8;
        if postings < MANY {
            return write(&mut |stretch| self.fill(stretch));
        }
        thread::scope(|scope| {
            let (merged, stretches) = mpsc::sync_channel(WAITING);
            let (emptied, empty) = mpsc::channel::<Vec<Posting>>();
            let mut merging = Some(move || {
                loop {
                    let mut stretch = empty.try_recv().unwrap_or_default();
                    let filled = self.fill(&mut stretch).map(|()| stretch);
                    let is_last = filled.as_ref().map_or(true, Vec::is_empty);
                    // If nobody hears it, writing has failed.
                    if merged.send(filled).is_err() || is_last {
                        break;
                    }
                }
            });
            write(&mut |stretch| {
                if let Some(merging) = merging.take() {
                    thread::Builder::new().spawn_scoped(scope, merging)?;
                }
                let ended = |_| io::Error::other("the thread that merges postings has ended");
                let next = stretches.recv().map_err(ended)??;
                // At the end nobody needs it.
                emptied.send(std::mem::replace(stretch, next)).ok();
                Ok(())
            })
        })
    }
}

/// Writes one kind of a new segment; answers the number of postings. Without any there is no
/// table. `next` replaces a stretch of postings by the one behind it, and by none at the end;
/// `see` is shown each posting, and `None` at the end.
pub(crate) fn write(
    txn: &WriteTransaction,
    kind: PostingKind,
    segment: u32,
    next: &mut dyn FnMut(&mut Vec<Posting>) -> Result<(), Fault>,
    mut see: impl FnMut(Option<Posting>),
) -> Result<u64, Fault> {
    let mut stretch = Vec::new();
    next(&mut stretch)?;
    if stretch.is_empty() {
        return Ok(0);
    }
    let name = schema::postings_name(kind, segment);
    let mut table = txn.open_table(schema::postings_table(&name))?;
    let mut cursor = table.upper_bound_mut(Bound::<(u64, u32)>::Unbounded)?;
    let mut builder = Builder::default();
    let mut bytes = Vec::new();
    let mut count = 0;
    while !stretch.is_empty() {
        count += stretch.len() as u64;
        for &posting in &stretch {
            see(Some(posting));
            if !builder.push(posting) {
                if let Some(first) = builder.take(&mut bytes) {
                    cursor.insert_before(first, &bytes[..])?;
                }
                builder.push(posting);
            }
        }
        next(&mut stretch)?;
    }
    see(None);
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
