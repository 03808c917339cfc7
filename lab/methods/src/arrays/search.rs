//! Counts the chunks that a document has in common with each other document, by reading the lists
//! of the document's values.

use crate::arrays::layout::{ArrayError, Arrays, Documents};

/// The parts of the arrays. Together they have all values.
#[derive(Clone, Debug)]
pub struct Parts<'a>(Vec<Arrays<'a>>);

impl<'a> Parts<'a> {
    /// Joins parts to the whole arrays.
    ///
    /// # Errors
    ///
    /// Fails if values are missing, or if the parts differ in their parameters or documents.
    pub fn of(mut parts: Vec<Arrays<'a>>) -> Result<Self, ArrayError> {
        parts.sort_by_key(|part| part.header().from);
        let Some(first) = parts.first().map(|part| part.header().clone()) else {
            return Err(ArrayError::Parts("there is none"));
        };
        let mut next = 0;
        for part in &parts {
            let header = part.header();
            let is_kin = header.params == first.params
                && header.bits == first.bits
                && header.documents == first.documents
                && header.digests[0] == first.digests[0];
            if !is_kin {
                return Err(ArrayError::Parts("they are of other documents"));
            }
            if header.from != next {
                return Err(ArrayError::Parts("values are missing"));
            }
            next = header.to;
        }
        if next != 1 << first.bits {
            return Err(ArrayError::Parts("values are missing"));
        }
        Ok(Self(parts))
    }

    /// Returns the documents. All parts have the same documents.
    pub fn documents(&self) -> Documents<'a> {
        self.0[0].documents()
    }

    /// Returns the parts in the order of their values.
    pub fn parts(&self) -> &[Arrays<'a>] {
        &self.0
    }

    /// Returns the part that has this value, or the last part if the value is above all parts.
    #[inline]
    pub fn part_of(&self, value: u64) -> &Arrays<'a> {
        let behind = self.0.partition_point(|part| part.header().to <= value);
        &self.0[behind.min(self.0.len() - 1)]
    }
}

/// A document, and the number of chunks that it has in common with another document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counted {
    /// The number of the document.
    pub document: u32,
    /// The number of common chunks: `Σ min(a_v, b_v)` over all values v.
    pub common: u64,
}

/// Counts common chunks, for one document after another. A counter takes four bytes of memory for
/// each document in the arrays.
#[derive(Clone, Debug)]
pub struct Counter {
    common: Vec<u32>,
    touched: Vec<u32>,
}

impl Counter {
    /// Creates a counter for arrays with this number of documents.
    pub fn new(documents: usize) -> Self {
        Self {
            common: vec![0; documents],
            touched: Vec::new(),
        }
    }

    /// Returns the documents that have chunks in common with a document, ordered by number.
    /// `values` has the values of that document in ascending order, each with its number of chunks.
    /// The time grows with the lengths of the values' lists.
    pub fn count(
        &mut self,
        parts: &Parts<'_>,
        values: impl IntoIterator<Item = (u64, u64)>,
    ) -> Result<Vec<Counted>, ArrayError> {
        let walked = values.into_iter().try_for_each(|(value, own)| {
            let ids = parts.part_of(value).list(value)?;
            self.walk(ids.iter(), own)
        });
        self.touched.sort_unstable();
        let counted = self.touched.drain(..).map(|document| Counted {
            document,
            common: u64::from(std::mem::take(&mut self.common[document as usize])),
        });
        let counted = counted.collect();
        walked.map(|()| counted)
    }

    #[inline]
    fn walk(&mut self, ids: impl Iterator<Item = u32>, own: u64) -> Result<(), ArrayError> {
        let (mut last, mut run) = (None, 0);
        for id in ids {
            run = if last == Some(id) { run + 1 } else { 1 };
            last = Some(id);
            if run > own {
                continue;
            }
            let common = self.common.get_mut(id as usize);
            let common = common.ok_or(ArrayError::Damaged("an id without a document"))?;
            if *common == 0 {
                self.touched.push(id);
            }
            *common = common.saturating_add(1);
        }
        Ok(())
    }
}
