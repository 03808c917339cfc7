//! Writing a segment, and the k-way merge that makes one of several.

use std::ops::Bound;

use super::block::{Builder, Posting};
use super::read::Scan;
use crate::fault::Fault;
use crate::heirs::Live;
use crate::schema::{self, PostingKind};
use crate::store::WriteTransaction;

/// Where ascending postings come from.
pub(crate) enum Source<'a> {
    /// A sorted batch.
    Memory(std::slice::Iter<'a, Posting>),
    /// A segment, block by block.
    Stored(Box<Scan>),
}

impl Source<'_> {
    fn next(&mut self) -> Result<Option<Posting>, Fault> {
        match self {
            Self::Memory(postings) => Ok(postings.next().copied()),
            Self::Stored(scan) => scan.next(),
        }
    }
}

/// All postings of several sources in order, without those of dead contents; what a dead content
/// left to an heir is the heir's.
pub(crate) struct Merge<'a> {
    /// Each source with its next posting.
    heads: Vec<(Posting, Source<'a>)>,
    live: Live<'a>,
    /// Only if heirs change the order: live postings of one key, descending.
    same: Vec<Posting>,
}

impl<'a> Merge<'a> {
    pub(crate) fn new(sources: Vec<Source<'a>>, live: Live<'a>) -> Result<Self, Fault> {
        let mut heads = Vec::with_capacity(sources.len());
        for mut source in sources {
            if let Some(head) = source.next()? {
                heads.push((head, source));
            }
        }
        Ok(Self {
            heads,
            live,
            same: Vec::new(),
        })
    }

    /// The next live posting.
    pub(crate) fn next(&mut self) -> Result<Option<Posting>, Fault> {
        if !self.live.reorders() {
            return self.next_live();
        }
        if self.same.is_empty() {
            let first = self.next_live()?;
            self.same.extend(first);
            while let (Some(first), Some(head)) = (self.same.first(), self.least())
                && head.1.0 == first.0
            {
                let posting = self.take(head)?;
                self.same.extend(posting);
            }
            self.same.sort_unstable_by(|a, b| b.cmp(a));
        }
        Ok(self.same.pop())
    }

    fn next_live(&mut self) -> Result<Option<Posting>, Fault> {
        while let Some(head) = self.least() {
            let posting = self.take(head)?;
            if posting.is_some() {
                return Ok(posting);
            }
        }
        Ok(None)
    }

    /// The least head and its place. With at most a dozen sources a scan beats a heap.
    fn least(&self) -> Option<(usize, Posting)> {
        let heads = self.heads.iter().enumerate();
        heads
            .map(|(index, head)| (index, head.0))
            .min_by_key(|head| head.1)
    }

    /// Takes a head from its source; `None` if nobody has that posting any more.
    fn take(
        &mut self,
        (index, (key, content)): (usize, Posting),
    ) -> Result<Option<Posting>, Fault> {
        match self.heads[index].1.next()? {
            Some(next) => self.heads[index].0 = next,
            None => drop(self.heads.swap_remove(index)),
        }
        Ok(self.live.of(key, content).map(|content| (key, content)))
    }
}

/// Writes one kind of a new segment; answers the number of postings. Without any there is no
/// table.
pub(crate) fn write(
    txn: &WriteTransaction,
    kind: PostingKind,
    segment: u32,
    mut next: impl FnMut() -> Result<Option<Posting>, Fault>,
) -> Result<u64, Fault> {
    let Some(mut posting) = next()? else {
        return Ok(0);
    };
    let name = schema::postings_name(kind, segment);
    let mut table = txn.open_table(schema::postings_table(&name))?;
    let mut cursor = table.upper_bound_mut(Bound::<(u64, u32)>::Unbounded)?;
    let mut builder = Builder::default();
    let mut bytes = Vec::new();
    let mut count = 0;
    loop {
        if !builder.push(posting) {
            if let Some(first) = builder.take(&mut bytes) {
                cursor.insert_before(first, &bytes[..])?;
            }
            builder.push(posting);
        }
        count += 1;
        match next()? {
            Some(following) if following > posting => posting = following,
            Some(_) => return Err(Fault::damaged("postings are out of order")),
            None => break,
        }
    }
    if let Some(first) = builder.take(&mut bytes) {
        cursor.insert_before(first, &bytes[..])?;
    }
    cursor.close()?;
    Ok(count)
}

/// Drops the tables of a segment.
pub(crate) fn delete(txn: &WriteTransaction, segment: u32) -> Result<(), Fault> {
    for kind in [PostingKind::Chunk, PostingKind::Fingerprint] {
        let name = schema::postings_name(kind, segment);
        txn.delete_table(schema::postings_table(&name))?;
    }
    Ok(())
}
