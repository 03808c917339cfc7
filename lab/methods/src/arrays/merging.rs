//! Computes which documents the arrays have after a merge, and their new numbers.

/// Marks a document that has no new number because it is removed.
pub const GONE: u32 = u32::MAX;

/// The result of merging old and new documents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merging {
    /// The key and the number of chunks of each document after the merge, in the order of the keys.
    pub documents: Vec<(u32, u32)>,
    /// The new number of each old document, or [`GONE`]. The index is the old number. Documents
    /// that stay keep their order.
    pub old: Vec<u32>,
    /// The number of each new document.
    pub new: Vec<u32>,
}

impl Merging {
    /// Merges old and new documents, both in the order of their keys. An old document is removed if
    /// `stays` returns false for it, or if a new document has the same key.
    pub fn of(
        old: impl IntoIterator<Item = (u32, u32)>,
        new: &[(u32, u32)],
        stays: impl Fn(u32) -> bool,
    ) -> Self {
        let mut merging = Self::default();
        let mut coming = new.iter().copied().peekable();
        for (key, chunks) in old {
            while let Some(next) = coming.next_if(|&(other, _)| other < key) {
                merging.come(next);
            }
            let comes = coming.peek().is_some_and(|&(other, _)| other == key);
            if comes || !stays(key) {
                merging.old.push(GONE);
            } else {
                merging.old.push(merging.documents.len() as u32);
                merging.documents.push((key, chunks));
            }
        }
        coming.for_each(|next| merging.come(next));
        merging
    }

    fn come(&mut self, document: (u32, u32)) {
        self.new.push(self.documents.len() as u32);
        self.documents.push(document);
    }

    /// Merges the documents of one value into `list`. The old documents get their new numbers. The
    /// new documents must be in ascending order.
    pub fn list(
        renumbered: &[u32],
        old: impl Iterator<Item = u32>,
        new: &[u32],
        list: &mut Vec<u32>,
    ) -> Result<(), crate::arrays::layout::ArrayError> {
        list.clear();
        let mut new = new.iter().copied().peekable();
        for id in old {
            let number = renumbered.get(id as usize);
            let number = *number.ok_or(crate::arrays::layout::ArrayError::Damaged(
                "an id without a document",
            ))?;
            if number == GONE {
                continue;
            }
            while let Some(next) = new.next_if(|&next| next < number) {
                list.push(next);
            }
            list.push(number);
        }
        list.extend(new);
        Ok(())
    }
}
