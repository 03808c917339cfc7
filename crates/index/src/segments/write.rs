//! Writes a segment, and merges several segments into one.

use std::io;
use std::ops::Bound;
use std::sync::mpsc;
use std::thread;

use super::block::{Builder, Posting};
use super::order::Order;
use super::read::Scan;
use super::sort::sort_by_key;
use crate::fault::Fault;
use crate::heirs::Live;
use crate::schema::{self, PostingKind};
use crate::store::WriteTransaction;

/// The approximate number of postings that are taken from one source at a time. A first scan has
/// some sixty sources. For all these sources, the postings fit into a cache of one megabyte.
const STEP: usize = 512;

/// A source of postings in ascending order.
pub(crate) enum Source<'a> {
    /// The sorted postings of a batch.
    Memory(&'a [Posting]),
    /// The postings of a segment, read some blocks at a time.
    Stored(Box<Stored>),
}

impl Source<'_> {
    /// Makes the source for all postings of a segment.
    pub(crate) fn stored(scan: Scan) -> Self {
        Self::Stored(Box::new(Stored {
            scan,
            decoded: Vec::new(),
            at: 0,
            ended: false,
        }))
    }
}

/// A segment that is being read.
pub(crate) struct Stored {
    scan: Scan,
    decoded: Vec<Posting>,
    /// The number of postings in `decoded` that were already taken.
    at: usize,
    ended: bool,
}

impl Source<'_> {
    /// Returns the next postings without taking them, and true if it is known that these are the
    /// last. The slice is empty at the end.
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

    /// Takes the first `count` postings of [`Self::at_hand`].
    fn take(&mut self, count: usize) {
        match self {
            Self::Memory(left) => *left = &left[count..],
            Self::Stored(stored) => stored.at += count,
        }
    }
}

/// Merges the postings of several sources in ascending order. Postings of dead contents are left
/// out. A posting that an heir has taken over from a dead content gets the heir's id.
///
/// A run of postings is taken from each source. All runs end at the same posting. The runs are
/// joined in the order of their contents, and then sorted by key ([`super::sort`]).
pub(crate) struct Merge<'a> {
    sources: Vec<Source<'a>>,
    /// The postings that were merged last, in the order of keys.
    merged: Vec<Posting>,
    spare: Vec<Posting>,
    at: usize,
    live: Live<'a>,
    /// The postings of one key, descending. This list is used only if heirs change the order of
    /// ids.
    same: Vec<Posting>,
}

impl<'a> Merge<'a> {
    pub(crate) fn new(sources: Vec<Source<'a>>, live: Live<'a>) -> Self {
        Self {
            sources,
            merged: Vec::new(),
            spare: Vec::new(),
            at: 0,
            live,
            same: Vec::new(),
        }
    }

    /// Returns the next live posting.
    pub(crate) fn next(&mut self) -> Result<Option<Posting>, Fault> {
        if !self.live.reorders() {
            let next = self.head()?;
            self.at += 1;
            return Ok(next);
        }
        if self.same.is_empty() {
            self.take_list()?;
        }
        Ok(self.same.pop())
    }

    /// Appends the next live postings until `postings` has at least `most`. All postings of the
    /// last key are appended, so no list is cut. Appends nothing if no posting is left.
    fn append_to(&mut self, postings: &mut Vec<Posting>, most: usize) -> Result<(), Fault> {
        if self.live.reorders() {
            while postings.len() < most && self.take_list()? {
                postings.extend(self.same.drain(..).rev());
            }
            return Ok(());
        }
        loop {
            let stretch = self.at_hand()?;
            let mut count = most.saturating_sub(postings.len()).min(stretch.len());
            let last = match count.checked_sub(1) {
                Some(at) => Some(stretch[at].0),
                None => postings.last().map(|last| last.0),
            };
            let rest = stretch[count..].iter();
            count += rest.take_while(|next| Some(next.0) == last).count();
            postings.extend_from_slice(&stretch[..count]);
            let goes_on = count > 0 && count == stretch.len();
            self.at += count;
            if !goes_on {
                return Ok(());
            }
        }
    }

    /// Takes all postings of the next key into `same`. Returns `false` at the end.
    fn take_list(&mut self) -> Result<bool, Fault> {
        while let Some(head) = self.head()?
            && self.same.first().is_none_or(|first| first.0 == head.0)
        {
            self.same.push(head);
            self.at += 1;
        }
        self.same.sort_unstable_by(|a, b| b.cmp(a));
        Ok(!self.same.is_empty())
    }

    /// Returns the next posting in the order of keys, without taking it.
    fn head(&mut self) -> Result<Option<Posting>, Fault> {
        Ok(self.at_hand()?.first().copied())
    }

    /// Returns the next postings in the order of keys, without taking them. Returns an empty slice
    /// at the end.
    fn at_hand(&mut self) -> Result<&[Posting], Fault> {
        while self.at >= self.merged.len() {
            if !self.refill()? {
                return Ok(&[]);
            }
        }
        Ok(&self.merged[self.at..])
    }

    /// Merges the next postings of all sources. Returns `false` if all sources are at their end.
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
            let live = postings[..count]
                .iter()
                .filter_map(|&(key, content)| Some((key, live.of(key, content)?)));
            self.merged.extend(live);
            source.take(count);
        }
        if self.sources.len() > 1 {
            sort_by_key(&mut self.merged, &mut self.spare);
        }
        Ok(any)
    }
}

/// The postings of a merge, as a segment stores them. A content is given by its id, or by its rank
/// in the segment's order.
pub(crate) struct Numbered<'a> {
    merge: Merge<'a>,
    order: Option<&'a Order>,
    /// The key of the last posting that was returned.
    last: Option<u64>,
}

impl<'a> Numbered<'a> {
    /// `order` has the rank of each content. If it is `None`, the postings keep the ids of the
    /// contents.
    pub(crate) fn new(merge: Merge<'a>, order: Option<&'a Order>) -> Self {
        Self {
            merge,
            order,
            last: None,
        }
    }

    /// Replaces all of `postings` by the next postings, some thousands at a time. No list is cut.
    /// Leaves `postings` empty at the end.
    fn fill(&mut self, postings: &mut Vec<Posting>) -> Result<(), Fault> {
        /// The number of postings that are processed together. If they were processed one by one,
        /// each look-up of a rank would wait for the memory.
        const STRETCH: usize = 4096;
        postings.clear();
        self.merge.append_to(postings, STRETCH)?;
        let (Some(first), Some(last)) = (postings.first(), postings.last()) else {
            return Ok(());
        };
        let follows = self.last.is_none_or(|last| last < first.0);
        if !follows || !postings.is_sorted_by(|a, b| a < b) {
            return Err(Fault::damaged("postings are out of order"));
        }
        self.last = Some(last.0);
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

    /// Calls `write`, and returns its result. `write` gets a function that fills a buffer with the
    /// next postings. If there are many postings, another thread merges while `write` writes.
    pub(crate) fn shown_to<R>(
        &mut self,
        postings: u64,
        write: impl FnOnce(&mut dyn FnMut(&mut Vec<Posting>) -> Result<(), Fault>) -> R,
    ) -> R {
        /// Fewer postings than this are merged and written in some milliseconds. Then another
        /// thread is not worth its cost.
        const MANY: u64 = 1 << 17;
        /// The maximum number of merged buffers that wait to be written.
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
                    // A closed channel means that writing has failed. Then merging stops, too.
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
                // After the last postings, `send` fails, because the merging thread has ended and
                // needs no empty buffer.
                emptied.send(std::mem::replace(stretch, next)).ok();
                Ok(())
            })
        })
    }
}

/// Writes the postings of one kind to a new segment, and returns their number. If there are no
/// postings, no table is made, and `see` is not called. `next` fills a buffer with the next
/// postings, or empties it at the end. `see` is called with each posting, and with `None` at the
/// end.
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

/// Deletes the tables and the order of a segment.
pub(crate) fn delete(txn: &WriteTransaction, segment: u32) -> Result<(), Fault> {
    Order::remove(txn, segment)?;
    for kind in [PostingKind::Chunk, PostingKind::Fingerprint] {
        let name = schema::postings_name(kind, segment);
        txn.delete_table(schema::postings_table(&name))?;
    }
    Ok(())
}
