//! The values of documents that are to be looked up, document by document: in memory, or in a file for other processes.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use resemble_core::signature::MethodSignature;

use super::ArraysError;

/// Documents by number, and the values of some of them.
///
/// ```text
/// file     documents u64 │ numbers u32 × documents │ ends u64 × documents │ values u32
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lists {
    /// Ascending.
    pub(super) numbers: Vec<u32>,
    /// Behind the last value of each.
    ends: Vec<u64>,
    /// The first document whose values are here, and these; a value comes as often as the document has chunks of it.
    first: usize,
    values: Vec<u32>,
}

impl Lists {
    /// Of documents by their numbers, which ascend.
    pub fn of<'a>(documents: impl IntoIterator<Item = (u32, &'a MethodSignature)>) -> Self {
        let mut lists = Self::default();
        for (number, signature) in documents {
            lists.numbers.push(number);
            for entry in signature.entries() {
                let times = (0..entry.count).map(|_| entry.value as u32);
                lists.values.extend(times);
            }
            lists.ends.push(lists.values.len() as u64);
        }
        lists
    }

    /// How many documents.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    fn start(&self, at: usize) -> u64 {
        if at == 0 { 0 } else { self.ends[at - 1] }
    }

    /// The values of the document at this place, ascending, each with its number of chunks.
    pub(super) fn values(&self, at: usize) -> impl Iterator<Item = (u64, u64)> + '_ {
        let before = self.start(self.first);
        let (from, to) = (self.start(at) - before, self.ends[at] - before);
        let values = self
            .values
            .get(from as usize..to as usize)
            .unwrap_or_default();
        let runs = values.chunk_by(|a, b| a == b);
        runs.map(|run| (u64::from(run[0]), run.len() as u64))
    }

    pub(super) fn write(&self, path: &Path) -> Result<(), ArraysError> {
        let write = || {
            let mut out = BufWriter::with_capacity(1 << 18, File::create(path)?);
            out.write_all(&(self.len() as u64).to_le_bytes())?;
            for number in &self.numbers {
                out.write_all(&number.to_le_bytes())?;
            }
            for end in &self.ends {
                out.write_all(&end.to_le_bytes())?;
            }
            for value in &self.values {
                out.write_all(&value.to_le_bytes())?;
            }
            out.flush()
        };
        write().map_err(ArraysError::io("write", path))
    }

    /// Reads all numbers and the values of the documents `from..to`.
    pub(super) fn read(path: &Path, from: usize, to: usize) -> Result<Self, ArraysError> {
        let read = || {
            let file = File::open(path)?;
            let mut count = [0; 8];
            file.read_exact_at(&mut count, 0)?;
            let count = u64::from_le_bytes(count);
            let bytes = |at: u64, length: u64| {
                let mut bytes = vec![0; length as usize];
                file.read_exact_at(&mut bytes, at).map(|()| bytes)
            };
            let four = |bytes: &[u8]| -> Vec<u32> {
                let (numbers, _) = bytes.as_chunks();
                numbers
                    .iter()
                    .map(|number| u32::from_le_bytes(*number))
                    .collect()
            };
            let numbers = four(&bytes(8, count * 4)?);
            let ends = bytes(8 + count * 4, count * 8)?;
            let (ends, _) = ends.as_chunks();
            let mut lists = Self {
                numbers,
                ends: ends.iter().map(|end| u64::from_le_bytes(*end)).collect(),
                first: from,
                values: Vec::new(),
            };
            if from < to {
                let (start, end) = (lists.start(from), lists.ends[to - 1]);
                lists.values = four(&bytes(8 + count * 12 + start * 4, (end - start) * 4)?);
            }
            Ok(lists)
        };
        read().map_err(ArraysError::io("read", path))
    }
}
