//! Sorts more records than fit into memory (the "disk-based sort" of Forman, Eshghi & Chiocchetti
//! 2005, section 2.5, step 2).
//!
//! Records are collected into runs that fit into memory. Each run is sorted and written to disk,
//! and the runs are merged while they are read. Without a memory limit, the runs stay in memory.
//! Nothing else is different.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::ask::AskError;
use scratch::Scratch;

pub mod scratch;

/// The maximum number of bytes of memory. `None` means that memory is not bounded.
#[derive(Clone, Copy, Debug)]
pub struct MemoryBudget(pub Option<u64>);

impl MemoryBudget {
    /// The minimum budget in bytes. With less memory, the scratch files would consist of very many
    /// tiny pieces.
    const LEAST: u64 = 1 << 20;

    /// Returns the budget of this many bytes. `None` means that memory is not bounded.
    pub fn of(memory: Option<u64>) -> Self {
        Self(memory.map(|bytes| bytes.max(Self::LEAST)))
    }

    /// Returns the size of one of `of` equal parts of the memory. Returns `None` if the memory is
    /// not bounded.
    pub fn part(self, of: u64) -> Option<u64> {
        self.0.map(|bytes| bytes / of)
    }
}

/// A value of fixed size that can be sorted.
pub trait Record: Copy + Ord + Send {
    /// The number of bytes of a record on disk.
    const BYTES: usize;
    /// Writes the record to `out`, which has [`Self::BYTES`] bytes.
    fn put(&self, out: &mut [u8]);
    /// Reads a record from the bytes that [`Self::put`] wrote.
    fn take(bytes: &[u8]) -> Self;

    /// Merges the next record into this one, if the two belong together. Returns whether they were
    /// merged. By default, records are not merged.
    fn absorb(&mut self, _other: &Self) -> bool {
        false
    }
}

/// Writes numbers one after another, to implement [`Record::put`].
pub fn put_words(words: &[u32], out: &mut [u8]) {
    for (word, out) in words.iter().zip(out.as_chunks_mut().0) {
        *out = word.to_le_bytes();
    }
}

/// Reads the numbers that [`put_words`] wrote. A missing number is 0.
pub fn take_words<const COUNT: usize>(bytes: &[u8]) -> [u32; COUNT] {
    let words = bytes.as_chunks().0;
    std::array::from_fn(|at| words.get(at).copied().map_or(0, u32::from_le_bytes))
}

impl Record for u32 {
    const BYTES: usize = 4;

    fn put(&self, out: &mut [u8]) {
        put_words(&[*self], out);
    }

    fn take(bytes: &[u8]) -> Self {
        let [word] = take_words(bytes);
        word
    }
}

/// The number of records of a run if the memory is not limited.
const UNBOUNDED_RUN: usize = 1 << 20;

/// The minimum number of records of a run, even if the memory limit is lower. With shorter runs,
/// there would be more runs. Merging them would take more memory than the shorter runs save.
const LEAST_RUN: usize = 1 << 10;

/// The number of bytes of a run that are read or written in one step.
const PIECE: usize = 16 << 10;

/// Records in ascending order.
#[derive(Debug)]
pub enum SortedRun<R> {
    /// The records are in memory.
    Memory(Vec<R>),
    /// The records are in a scratch file.
    Disk {
        /// The scratch file that has the records.
        scratch: Arc<Scratch>,
        /// The position of the first record in the file.
        at: u64,
        /// The number of records.
        records: u64,
    },
}

impl<R: Record> SortedRun<R> {
    /// Returns the number of bytes that the run takes on disk.
    pub fn bytes(&self) -> u64 {
        match self {
            Self::Memory(_) => 0,
            Self::Disk { records, .. } => records * R::BYTES as u64,
        }
    }

    /// Returns the number of records.
    pub const fn len(&self) -> u64 {
        match self {
            Self::Memory(records) => records.len() as u64,
            Self::Disk { records, .. } => *records,
        }
    }

    /// Returns whether there are no records.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Appends the records with these indices to `into`.
    pub fn read(&self, range: Range<u64>, into: &mut Vec<R>) -> Result<(), AskError> {
        match self {
            Self::Memory(all) => {
                into.extend_from_slice(&all[range.start as usize..range.end as usize]);
            }
            Self::Disk { scratch, at, .. } => {
                let mut bytes = vec![0; (range.end - range.start) as usize * R::BYTES];
                scratch.read(at + range.start * R::BYTES as u64, &mut bytes)?;
                into.extend(bytes.chunks_exact(R::BYTES).map(R::take));
            }
        }
        Ok(())
    }

    /// Calls `each` with all records in order.
    pub fn each(&self, mut each: impl FnMut(R)) -> Result<(), AskError> {
        let mut records = Vec::new();
        let most = PIECE / R::BYTES;
        for from in (0..self.len()).step_by(most) {
            self.read(from..self.len().min(from + most as u64), &mut records)?;
            records.drain(..).for_each(&mut each);
        }
        Ok(())
    }
}

/// Writes one run. The records must be added in ascending order.
#[derive(Debug)]
pub struct RunWriter<R> {
    run: SortedRun<R>,
    /// The bytes that are not yet in the scratch file.
    bytes: Vec<u8>,
}

impl<R: Record> RunWriter<R> {
    /// Makes a writer. It writes to a file in `dir` if `room` limits the memory, and otherwise to
    /// memory.
    pub fn new(room: Option<u64>, dir: &Path) -> Result<Self, AskError> {
        let scratch = room.map(|_| Scratch::new(dir)).transpose()?;
        Ok(Self::to(scratch.map(Arc::new)))
    }

    fn to(scratch: Option<Arc<Scratch>>) -> Self {
        let run = scratch.map_or(SortedRun::Memory(Vec::new()), |scratch| SortedRun::Disk {
            scratch,
            at: 0,
            records: 0,
        });
        let bytes = Vec::new();
        Self { run, bytes }
    }

    /// Appends a record, which must not be less than the previous record.
    pub fn push(&mut self, record: R) -> Result<(), AskError> {
        match &mut self.run {
            SortedRun::Memory(all) => all.push(record),
            SortedRun::Disk { records, .. } => {
                *records += 1;
                let from = self.bytes.len();
                self.bytes.resize(from + R::BYTES, 0);
                record.put(&mut self.bytes[from..]);
                if self.bytes.len() + R::BYTES > PIECE {
                    self.flush()?;
                }
            }
        }
        Ok(())
    }

    fn flush(&mut self) -> Result<(), AskError> {
        if let SortedRun::Disk {
            scratch,
            at,
            records,
        } = &mut self.run
        {
            let end = scratch.append(&self.bytes)?.at + self.bytes.len() as u64;
            *at = end - *records * R::BYTES as u64;
            self.bytes.clear();
        }
        Ok(())
    }

    /// Writes the last bytes and returns the run.
    pub fn finish(mut self) -> Result<SortedRun<R>, AskError> {
        self.flush()?;
        Ok(self.run)
    }
}

/// Collects records into sorted runs.
#[derive(Debug)]
pub struct Sorter<R> {
    records: Vec<R>,
    most: usize,
    scratch: Option<Arc<Scratch>>,
    runs: Vec<SortedRun<R>>,
}

impl<R: Record> Sorter<R> {
    /// Makes a sorter that keeps at most about `room` bytes in memory, and the rest in a file in
    /// `dir`. If `room` is `None`, everything is in memory.
    pub fn new(room: Option<u64>, dir: &Path) -> Result<Self, AskError> {
        let most = room.map_or(UNBOUNDED_RUN, |room| {
            (room as usize / size_of::<R>()).max(LEAST_RUN)
        });
        let scratch = room.map(|_| Scratch::new(dir)).transpose()?;
        Ok(Self {
            records: Vec::new(),
            most,
            scratch: scratch.map(Arc::new),
            runs: Vec::new(),
        })
    }

    /// Adds a record.
    pub fn push(&mut self, record: R) -> Result<(), AskError> {
        if self.records.len() == self.most {
            self.end_run()?;
        }
        if self.records.capacity() == 0 && self.scratch.is_some() {
            // Without this, the vector would double its capacity, and up to half of it would be
            // unused.
            self.records.reserve_exact(self.most);
        }
        self.records.push(record);
        Ok(())
    }

    fn end_run(&mut self) -> Result<(), AskError> {
        if self.records.is_empty() {
            return Ok(());
        }
        self.records.sort_unstable();
        self.records.dedup_by(|next, kept| kept.absorb(next));
        if let Some(scratch) = &self.scratch {
            let mut run = RunWriter::to(Some(Arc::clone(scratch)));
            for record in self.records.drain(..) {
                run.push(record)?;
            }
            self.runs.push(run.finish()?);
        } else {
            let mut records = std::mem::take(&mut self.records);
            records.shrink_to_fit();
            self.runs.push(SortedRun::Memory(records));
        }
        Ok(())
    }

    /// Sorts the last records and returns all runs.
    pub fn finish(mut self) -> Result<Vec<SortedRun<R>>, AskError> {
        self.end_run()?;
        Ok(self.runs)
    }
}

/// Reads the records of one run.
#[derive(Debug)]
struct Source<R> {
    run: SortedRun<R>,
    /// The number of records that were read.
    done: u64,
    /// The records that were read from disk but not yet returned. The record that is returned next
    /// is at the end.
    ready: Vec<R>,
}

impl<R: Record> Source<R> {
    fn next(&mut self) -> Result<Option<R>, AskError> {
        if let SortedRun::Memory(records) = &self.run {
            let next = records.get(self.done as usize).copied();
            self.done += 1;
            return Ok(next);
        }
        if self.ready.is_empty() {
            let end = self.run.len().min(self.done + (PIECE / R::BYTES) as u64);
            self.run.read(self.done..end, &mut self.ready)?;
            self.ready.reverse();
            self.done = end;
        }
        Ok(self.ready.pop())
    }
}

/// Returns the records of several runs in order.
#[derive(Debug)]
pub struct Merge<R> {
    sources: Vec<Source<R>>,
    heads: BinaryHeap<Reverse<(R, usize)>>,
}

impl<R: Record> Merge<R> {
    /// Merges runs. If the buffers for all runs would exceed `room`, some runs are first merged
    /// into longer runs.
    pub fn new(
        mut runs: Vec<SortedRun<R>>,
        room: Option<u64>,
        dir: &Path,
    ) -> Result<Self, AskError> {
        if let Some(room) = room {
            let each = (PIECE + PIECE / R::BYTES * size_of::<R>()) as u64;
            let most = (room / each).max(8) as usize;
            while runs.len() > most {
                let scratch = Arc::new(Scratch::new(dir)?);
                let mut longer = Vec::new();
                let mut rest = runs.into_iter().peekable();
                while rest.peek().is_some() {
                    let mut merge = Self::of(rest.by_ref().take(most).collect())?;
                    let mut run = RunWriter::to(Some(Arc::clone(&scratch)));
                    while let Some(record) = merge.next()? {
                        run.push(record)?;
                    }
                    longer.push(run.finish()?);
                }
                runs = longer;
            }
        }
        Self::of(runs)
    }

    fn of(runs: Vec<SortedRun<R>>) -> Result<Self, AskError> {
        let mut merge = Self {
            sources: Vec::new(),
            heads: BinaryHeap::new(),
        };
        for run in runs {
            let mut source = Source {
                run,
                done: 0,
                ready: Vec::new(),
            };
            if let Some(first) = source.next()? {
                merge.heads.push(Reverse((first, merge.sources.len())));
                merge.sources.push(source);
            }
        }
        Ok(merge)
    }

    /// Returns the next record. Returns `None` at the end.
    #[allow(clippy::should_implement_trait)] // it may fail
    pub fn next(&mut self) -> Result<Option<R>, AskError> {
        let Some(mut record) = self.step()? else {
            return Ok(None);
        };
        while let Some(Reverse((next, _))) = self.heads.peek() {
            let next = *next;
            if !record.absorb(&next) {
                break;
            }
            self.step()?;
        }
        Ok(Some(record))
    }

    fn step(&mut self) -> Result<Option<R>, AskError> {
        let Some(mut head) = self.heads.peek_mut() else {
            return Ok(None);
        };
        let Reverse((record, source)) = *head;
        if let Some(next) = self.sources[source].next()? {
            *head = Reverse((next, source));
        } else {
            // A run without further records needs no buffer.
            self.sources[source].ready = Vec::new();
            PeekMut::pop(head);
        }
        Ok(Some(record))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use resemble_testutil::random::Random;

    use super::*;

    impl Record for u64 {
        const BYTES: usize = 8;

        fn put(&self, out: &mut [u8]) {
            out.copy_from_slice(&self.to_le_bytes());
        }

        fn take(bytes: &[u8]) -> Self {
            bytes.try_into().map_or(0, Self::from_le_bytes)
        }
    }

    fn sorted(records: &[u64], room: Option<u64>) -> Vec<u64> {
        let dir = tempfile::tempdir().expect("a folder");
        let mut sorters = [0, 1].map(|_| Sorter::new(room, dir.path()).expect("a sorter"));
        for (at, &record) in records.iter().enumerate() {
            sorters[at % 2].push(record).expect("pushed");
        }
        let runs = sorters
            .into_iter()
            .flat_map(|sorter| sorter.finish().expect("runs"));
        let mut merge = Merge::new(runs.collect(), room, dir.path()).expect("a merge");
        std::iter::from_fn(|| merge.next().expect("read")).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn any_room_sorts(seed in any::<u64>(), count in 0usize..60_000) {
            let mut random = Random::new(seed);
            let records: Vec<u64> = (0..count).map(|_| random.draw() >> 50).collect();
            let mut expected = records.clone();
            expected.sort_unstable();
            // The first limit makes many short runs, which are merged in two rounds. The second
            // limit makes fewer runs, and `None` merges in memory.
            for room in [Some(1), Some(40_000), None] {
                prop_assert!(sorted(&records, room) == expected, "{room:?}");
            }
        }
    }
}
