//! Finds connected components of files that have chunks in common (Forman, Eshghi & Chiocchetti
//! 2005, section 2.5).
//!
//! Pairs of a chunk and a file are sorted, on disk if memory is short. In that order, the files of
//! a chunk are neighbours. So a union-find over the files is enough, and chunks need no vertices.
//! Chunks of only one file, and chunks that more than half of all files have, are ignored.
//!
//! **Cost.** 4 bytes of memory for each file, in addition to the memory for sorting.

use std::path::Path;

use resemble_core::cluster::UnionFind;
use resemble_relate::sort::{Merge, Record, Sorter, put_words, take_words};

use crate::error::LabError;

/// A pair of a chunk and a file that has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChunkEntry {
    /// The first 64 bits of the chunk's hash.
    pub chunk: u64,
    /// The number of the file.
    pub file: u32,
}

impl Record for ChunkEntry {
    const BYTES: usize = 12;

    fn put(&self, out: &mut [u8]) {
        put_words(
            &[self.chunk as u32, (self.chunk >> 32) as u32, self.file],
            out,
        );
    }

    fn take(bytes: &[u8]) -> Self {
        let [low, high, file] = take_words(bytes);
        let chunk = u64::from(high) << 32 | u64::from(low);
        Self { chunk, file }
    }
}

/// The components of a collection.
#[derive(Debug)]
pub struct Partition {
    /// For each file, the least number of a file in the same component.
    pub least: Vec<u32>,
    /// The number of distinct chunks.
    pub chunks: u64,
    /// The number of chunks that connect files.
    pub connecting: u64,
}

impl Partition {
    /// Computes the components of files with the numbers `0..files`. The entries are sorted within
    /// `memory` bytes, and in `folder` if that is not enough.
    ///
    /// # Errors
    ///
    /// Fails if the folder cannot be written or read.
    pub fn of(
        files: u32,
        entries: impl Iterator<Item = ChunkEntry>,
        memory: u64,
        folder: &Path,
    ) -> Result<Self, LabError> {
        let mut sorter = Sorter::new(Some(memory), folder)?;
        for entry in entries {
            sorter.push(entry)?;
        }
        let mut merge = Merge::new(sorter.finish()?, Some(memory), folder)?;
        let (mut sets, mut holders) = (UnionFind::new(files), Vec::new());
        let (mut chunks, mut connecting, mut chunk) = (0, 0, None);
        // A chunk connects files only if at most half of all files have it.
        let most = (files as usize / 2).max(2);
        let mut end = |holders: &mut Vec<u32>| {
            if (2..=most).contains(&holders.len()) {
                connecting += 1;
                for pair in holders.windows(2) {
                    sets.union(pair[0], pair[1]);
                }
            }
            holders.clear();
        };
        while let Some(entry) = merge.next()? {
            if chunk != Some(entry.chunk) {
                end(&mut holders);
                chunk = Some(entry.chunk);
                chunks += 1;
            }
            if holders.last() != Some(&entry.file) && holders.len() <= most {
                holders.push(entry.file);
            }
        }
        end(&mut holders);
        Ok(Self {
            least: sets.into_least(),
            chunks,
            connecting,
        })
    }

    /// Returns the number of components that have several files, and the number of files in them.
    pub fn several(&self) -> (u64, u64) {
        let mut sizes = vec![0u32; self.least.len()];
        for &least in &self.least {
            sizes[least as usize] += 1;
        }
        let several = sizes.iter().filter(|&&size| size > 1);
        several.fold((0, 0), |(sets, files), &size| {
            (sets + 1, files + u64::from(size))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(files: u32, entries: &[(u64, u32)], memory: u64) -> Partition {
        let folder = tempfile::tempdir().expect("a folder");
        let entries = entries
            .iter()
            .map(|&(chunk, file)| ChunkEntry { chunk, file });
        Partition::of(files, entries, memory, folder.path()).expect("components")
    }

    #[test]
    fn chunks_of_one_file_and_of_most_files_connect_nothing() {
        let header = (0..10).map(|file| (7, file));
        let others = [(1, 0), (1, 3), (2, 3), (2, 9), (3, 5), (3, 5), (4, 1)];
        let entries: Vec<(u64, u32)> = header.chain(others).collect();
        let found = partition(10, &entries, 1 << 20);
        assert_eq!(found.least, [0, 1, 2, 0, 4, 5, 6, 7, 8, 0]);
        assert_eq!((found.chunks, found.connecting), (5, 2));
        assert_eq!(found.several(), (1, 3));
    }

    #[test]
    fn little_memory_makes_the_same_components() {
        let entries: Vec<(u64, u32)> = (0..200_000u32)
            .map(|at| (u64::from(at).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48, at))
            .collect();
        let (little, much) = [1 << 20, 1 << 30]
            .map(|memory| partition(200_000, &entries, memory))
            .into();
        assert_eq!(little.least, much.least);
        assert!(little.several().0 > 1000);
    }
}
