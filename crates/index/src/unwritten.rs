//! A backend of redb that never writes to its file.
//!
//! redb writes to every file that it opens: it marks the file as open, and repairs it after a
//! crash. The read-only mode of redb refuses a file that was not closed. With this backend, such
//! writes stay in memory, over the bytes of the file. They change only the header, because every
//! commit has the allocator's state (rule 1 of [`crate::store`]). So the last commit can be read
//! even if the disk is full, the file system is read-only, or other processes read the file, too.

use std::collections::BTreeMap;
use std::io;
use std::ops::Bound;

use parking_lot::RwLock;
use redb::{BackendError, StorageBackend};

/// The number of bytes of a page in memory.
const PAGE: u64 = 4096;

/// A file, and the pages that were changed in memory.
#[derive(Debug)]
pub(crate) struct Unwritten {
    file: Box<dyn StorageBackend>,
    over: RwLock<Over>,
}

#[derive(Debug)]
struct Over {
    /// The length of the file as redb sees it.
    len: u64,
    /// The number of bytes at the front of the file that are still read from it. Unchanged bytes
    /// behind this part are zero.
    of_file: u64,
    /// The changed pages by their numbers.
    pages: BTreeMap<u64, Vec<u8>>,
}

impl Unwritten {
    pub(crate) fn new(file: impl StorageBackend) -> io::Result<Self> {
        let len = file.len()?;
        Ok(Self {
            file: Box::new(file),
            over: RwLock::new(Over {
                len,
                of_file: len,
                pages: BTreeMap::new(),
            }),
        })
    }

    /// Reads bytes of the file, without the changes in memory.
    fn below(&self, over: &Over, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let there = over.of_file.saturating_sub(offset).min(out.len() as u64);
        let (from_file, zeros) = out.split_at_mut(there as usize);
        zeros.fill(0);
        if from_file.is_empty() {
            return Ok(());
        }
        self.file.read(offset, from_file)
    }
}

/// Returns the pages that a range of bytes touches. Each page is returned as its number, the offset
/// in the page, and its part of the range.
fn pages(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, std::ops::Range<usize>)> {
    let end = offset + len as u64;
    (offset / PAGE..end.div_ceil(PAGE)).map(move |page| {
        let from = offset.max(page * PAGE);
        let to = end.min((page + 1) * PAGE);
        let range = (from - offset) as usize..(to - offset) as usize;
        (page, (from % PAGE) as usize, range)
    })
}

impl StorageBackend for Unwritten {
    fn len(&self) -> io::Result<u64> {
        Ok(self.over.read().len)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let over = self.over.read();
        if offset + out.len() as u64 > over.len {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.below(&over, offset, out)?;
        for (page, at, range) in pages(offset, out.len()) {
            if let Some(bytes) = over.pages.get(&page) {
                let len = range.len();
                out[range].copy_from_slice(&bytes[at..at + len]);
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        let mut over = self.over.write();
        let cut = over.pages.split_off(&(len / PAGE));
        // The page that has the new end of the file keeps its bytes before that end.
        if let Some(mut page) = cut.into_iter().next().filter(|(page, _)| page * PAGE < len) {
            page.1[(len % PAGE) as usize..].fill(0);
            over.pages.insert(page.0, page.1);
        }
        over.len = len;
        over.of_file = over.of_file.min(len);
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut over = self.over.write();
        for (page, at, range) in pages(offset, data.len()) {
            let mut bytes = if let Some(bytes) = over.pages.remove(&page) {
                bytes
            } else {
                let mut bytes = vec![0; PAGE as usize];
                self.below(&over, page * PAGE, &mut bytes)?;
                bytes
            };
            bytes[at..at + range.len()].copy_from_slice(&data[range]);
            over.pages.insert(page, bytes);
        }
        over.len = over.len.max(offset + data.len() as u64);
        Ok(())
    }

    fn close(&self) -> io::Result<()> {
        self.file.close()
    }

    /// Takes a shared lock, even if redb requests an exclusive lock. The lock only keeps writers
    /// away.
    fn try_lock_range(&self, from: Bound<u64>, to: Bound<u64>) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(from, to)
    }

    fn try_lock_shared_range(
        &self,
        from: Bound<u64>,
        to: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.file.try_lock_shared_range(from, to)
    }

    fn unlock_range(&self, from: Bound<u64>, to: Bound<u64>) -> Result<(), BackendError> {
        self.file.unlock_range(from, to)
    }
}

#[cfg(test)]
mod tests {
    use std::fs::File;

    use proptest::prelude::*;
    use redb::backends::FileBackend;

    use super::*;

    /// A write to the file, or a change of its length.
    #[derive(Clone, Debug)]
    enum Step {
        Write(u64, Vec<u8>),
        Length(u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let write = (0..20_000u64, prop::collection::vec(any::<u8>(), 0..6000));
        let step = prop_oneof![
            3 => write.prop_map(|(at, bytes)| Step::Write(at, bytes)),
            1 => (0..26_000u64).prop_map(Step::Length),
        ];
        prop::collection::vec(step, 0..12)
    }

    proptest! {
        #[test]
        fn it_reads_as_if_it_had_been_written(
            before in prop::collection::vec(any::<u8>(), 0..14_000),
            steps in steps(),
        ) {
            let file = tempfile::NamedTempFile::new().unwrap();
            std::fs::write(file.path(), &before).unwrap();
            let below = FileBackend::new(File::open(file.path()).unwrap()).unwrap();
            let unwritten = Unwritten::new(below).unwrap();
            let mut expected = before.clone();
            for step in steps {
                match step {
                    Step::Write(at, bytes) => {
                        let end = at as usize + bytes.len();
                        expected.resize(expected.len().max(end), 0);
                        expected[at as usize..end].copy_from_slice(&bytes);
                        unwritten.write(at, &bytes).unwrap();
                    }
                    Step::Length(len) => {
                        expected.resize(len as usize, 0);
                        unwritten.set_len(len).unwrap();
                    }
                }
                let mut all = vec![1; expected.len()];
                prop_assert_eq!(unwritten.len().unwrap(), all.len() as u64);
                unwritten.read(0, &mut all).unwrap();
                prop_assert!(all == expected);
                let middle = expected.len() / 3..expected.len() / 2;
                let mut part = vec![1; middle.len()];
                unwritten.read(middle.start as u64, &mut part).unwrap();
                prop_assert!(part == expected[middle]);
                prop_assert!(unwritten.read(expected.len() as u64, &mut [0]).is_err());
            }
            prop_assert_eq!(std::fs::read(file.path()).unwrap(), before);
        }
    }
}
