//! The values of the documents whose pairs are searched.

use resemble_methods::MethodSignature;
use resemble_methods::arrays::{ArrayError, Parts};

/// The numbers of all documents of a search, and the values of a range of these documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DocumentValues {
    /// The numbers of the documents, ascending.
    pub(super) numbers: Vec<u32>,
    /// For each document, the end of its values in the list of the values of all documents.
    ends: Vec<u64>,
    /// The index of the first document whose values are in `values`. A value occurs in `values`
    /// once for each chunk of the document that has this value.
    first: usize,
    values: Vec<u32>,
}

impl DocumentValues {
    /// Collects the values of these documents, whose numbers must ascend.
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

    /// Returns the number of documents.
    pub fn len(&self) -> usize {
        self.numbers.len()
    }

    /// Returns whether there are no documents.
    pub fn is_empty(&self) -> bool {
        self.numbers.is_empty()
    }

    fn start(&self, at: usize) -> u64 {
        if at == 0 { 0 } else { self.ends[at - 1] }
    }

    /// Returns the values of the document at index `at` in ascending order, each with the number of
    /// chunks that have it.
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

    /// Reads the values of the documents at the indices `from..to` of `numbers`. The numbers must
    /// ascend. The arrays list the documents of each value, so one pass over all lists collects the
    /// values of each document. The memory is four bytes for each value and eight for each
    /// document.
    pub(super) fn of_arrays(
        parts: &Parts<'_>,
        numbers: &[u32],
        from: usize,
        to: usize,
    ) -> Result<Self, ArrayError> {
        let damaged = || ArrayError::Damaged("documents with another number of chunks");
        let chunks: Vec<u32> = parts.documents().iter().map(|(_, chunks)| chunks).collect();
        let (mut ends, mut end) = (Vec::with_capacity(numbers.len()), 0);
        for &number in numbers {
            end += u64::from(chunks.get(number as usize).copied().unwrap_or(0));
            ends.push(end);
        }
        drop(chunks);
        let mut lists = Self {
            numbers: numbers.to_vec(),
            ends,
            first: from,
            values: Vec::new(),
        };
        let before = lists.start(from);
        lists.values = vec![0; (lists.start(to) - before) as usize];
        // For each document of the arrays, the index in `values` to which its next value is
        // written.
        let mut next = vec![NOWHERE; parts.documents().len()];
        for (at, &number) in numbers.iter().enumerate().take(to).skip(from) {
            if let Some(next) = next.get_mut(number as usize) {
                *next = lists.start(at) - before;
            }
        }
        for part in parts.parts() {
            for list in part.lists() {
                let (value, ids) = list?;
                for id in ids.iter() {
                    let next = next
                        .get_mut(id as usize)
                        .ok_or(ArrayError::Damaged("an id without a document"))?;
                    if *next != NOWHERE {
                        let place = lists.values.get_mut(*next as usize);
                        *place.ok_or_else(damaged)? = value as u32;
                        *next += 1;
                    }
                }
            }
        }
        let is_full = |at: usize| {
            let next = next.get(numbers[at] as usize);
            next.is_none_or(|&next| next == lists.ends[at] - before)
        };
        if (from..to).all(is_full) {
            Ok(lists)
        } else {
            Err(damaged())
        }
    }
}

/// The write position of a document whose values are not requested, so nothing is written for it.
const NOWHERE: u64 = u64::MAX;
