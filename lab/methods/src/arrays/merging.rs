//! Which documents the arrays have after a merge, and under which numbers.

/// The number of a document that leaves.
pub const GONE: u32 = u32::MAX;

/// Old and new documents together.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Merging {
    /// Key and number of chunks of each, by keys.
    pub documents: Vec<(u32, u32)>,
    /// For each old number the one it has now, or [`GONE`]. Those that stay are in the same order.
    pub old: Vec<u32>,
    /// For each new document its number.
    pub new: Vec<u32>,
}

impl Merging {
    /// Of old documents and new ones, both by keys. Those that `stays` does not keep leave; so does
    /// an old document whose key comes anew.
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

    /// Puts one list after a merge into `list`: the old one under its new numbers, and the new
    /// ones, which ascend.
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
                "an id of no document",
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
