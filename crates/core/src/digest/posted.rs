//! The fingerprints of a content that have posting lists. When the content changes, an edit lists
//! the fingerprints that it gains and loses.

use super::Digest;
use crate::ids::Fingerprint;

/// The fingerprints with posting lists that only one of two contents has.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FingerprintEdit {
    /// Fingerprints of the old content only, ascending.
    pub gone: Vec<Fingerprint>,
    /// Fingerprints of the new content only, ascending.
    pub new: Vec<Fingerprint>,
}

/// All fingerprints of a content that have posting lists, ascending.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PostedFingerprints(Box<[u32]>);

impl PostedFingerprints {
    /// Returns the posted fingerprints of a content.
    pub fn of(digest: &Digest) -> Self {
        // A fingerprint has 32 bits.
        let mut all: Vec<u32> = digest.posted().map(|print| print.0 as u32).collect();
        all.sort_unstable();
        all.dedup();
        Self(all.into_boxed_slice())
    }

    /// Returns the bytes of memory that the fingerprints take.
    pub fn bytes(&self) -> usize {
        size_of_val(&*self.0)
    }

    /// Returns the edit that turns these fingerprints into `now`. Returns `None` if the edit has
    /// more than half as many fingerprints as `now`.
    pub fn edit(&self, now: &Self) -> Option<FingerprintEdit> {
        let fingerprint = |bits| Fingerprint(u64::from(bits));
        let mut edit = FingerprintEdit::default();
        let mut new = now.0.iter().copied().peekable();
        for &old in &self.0 {
            while let Some(before) = new.next_if(|&new| new < old) {
                edit.new.push(fingerprint(before));
            }
            if new.next_if_eq(&old).is_none() {
                edit.gone.push(fingerprint(old));
            }
        }
        edit.new.extend(new.map(fingerprint));
        (edit.gone.len() + edit.new.len() <= now.0.len() / 2).then_some(edit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn posted(of: &BTreeSet<u32>) -> PostedFingerprints {
        PostedFingerprints(of.iter().copied().collect())
    }

    proptest! {
        #[test]
        fn an_edit_is_the_difference_of_two_sets(
            before in prop::collection::btree_set(0u32..60, 0..40),
            now in prop::collection::btree_set(0u32..60, 0..40),
        ) {
            let of = |set: Vec<&u32>| -> Vec<_> {
                set.into_iter().map(|&bits| Fingerprint(u64::from(bits))).collect()
            };
            let gone = of(before.difference(&now).collect());
            let new = of(now.difference(&before).collect());
            let is_little = gone.len() + new.len() <= now.len() / 2;
            let expected = is_little.then_some(FingerprintEdit { gone, new });
            prop_assert_eq!(posted(&before).edit(&posted(&now)), expected);
        }
    }
}
