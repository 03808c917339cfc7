//! The records that the phases sort. Each type has a fixed size, which is as small as possible.

use resemble_relate::sort::Record;

/// The record <shingle, id>: a shingle of `KEY` bytes and a document that has it. `KEY` is 5 for
/// shingles and 8 for super shingles. With 5, a record takes 9 bytes on disk, as in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ShingleEntry<const KEY: usize> {
    pub(super) shingle: u64,
    pub(super) id: u32,
}

impl<const KEY: usize> Record for ShingleEntry<KEY> {
    const BYTES: usize = KEY + 4;

    fn put(&self, out: &mut [u8]) {
        out[..KEY].copy_from_slice(&self.shingle.to_le_bytes()[..KEY]);
        out[KEY..].copy_from_slice(&self.id.to_le_bytes());
    }

    fn take(bytes: &[u8]) -> Self {
        let mut shingle = [0; 8];
        shingle[..KEY].copy_from_slice(&bytes[..KEY]);
        Self {
            shingle: u64::from_le_bytes(shingle),
            id: u32_at(bytes, KEY),
        }
    }
}

/// The record <id, id, count>: two documents, the lesser number first, and the number of shingles
/// that both have. While pairs are formed, a count may be -1. It cancels a shingle that too many
/// documents now have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Triple {
    pub(super) a: u32,
    pub(super) b: u32,
    pub(super) count: i32,
}

impl Record for Triple {
    const BYTES: usize = 12;

    fn put(&self, out: &mut [u8]) {
        out[..4].copy_from_slice(&self.a.to_le_bytes());
        out[4..8].copy_from_slice(&self.b.to_le_bytes());
        out[8..].copy_from_slice(&self.count.to_le_bytes());
    }

    fn take(bytes: &[u8]) -> Self {
        Self {
            a: u32_at(bytes, 0),
            b: u32_at(bytes, 4),
            count: u32_at(bytes, 8).cast_signed(),
        }
    }

    fn absorb(&mut self, other: &Self) -> bool {
        let same = (self.a, self.b) == (other.a, other.b);
        if same {
            self.count = self.count.saturating_add(other.count);
        }
        same
    }
}

/// Two documents with a common super shingle, the lesser number first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct IdPair {
    pub(super) a: u32,
    pub(super) b: u32,
}

impl Record for IdPair {
    const BYTES: usize = 8;

    fn put(&self, out: &mut [u8]) {
        out[..4].copy_from_slice(&self.a.to_le_bytes());
        out[4..].copy_from_slice(&self.b.to_le_bytes());
    }

    fn take(bytes: &[u8]) -> Self {
        Self {
            a: u32_at(bytes, 0),
            b: u32_at(bytes, 4),
        }
    }

    fn absorb(&mut self, other: &Self) -> bool {
        self == other
    }
}

/// A digest of 16 bytes and a document that has it. After sorting, documents with equal digests are
/// neighbours.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NamedId {
    pub(super) name: [u8; 16],
    pub(super) id: u32,
}

impl Record for NamedId {
    const BYTES: usize = 20;

    fn put(&self, out: &mut [u8]) {
        out[..16].copy_from_slice(&self.name);
        out[16..].copy_from_slice(&self.id.to_le_bytes());
    }

    fn take(bytes: &[u8]) -> Self {
        Self {
            name: array_at(bytes, 0),
            id: u32_at(bytes, 16),
        }
    }
}

/// An ignored shingle, the number of representatives that have it, and the number that identifies
/// one of these documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct IgnoredShingle {
    pub(super) shingle: u64,
    pub(super) documents: u32,
    pub(super) id: u32,
}

impl Record for IgnoredShingle {
    const BYTES: usize = 16;

    fn put(&self, out: &mut [u8]) {
        out[..8].copy_from_slice(&self.shingle.to_le_bytes());
        out[8..12].copy_from_slice(&self.documents.to_le_bytes());
        out[12..].copy_from_slice(&self.id.to_le_bytes());
    }

    fn take(bytes: &[u8]) -> Self {
        Self {
            shingle: u64::from_le_bytes(array_at(bytes, 0)),
            documents: u32_at(bytes, 8),
            id: u32_at(bytes, 12),
        }
    }
}

/// The record of a document in the work folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DocumentRecord {
    /// The digest of the document's bytes.
    pub(super) digest: [u8; 32],
    /// The digest of the document's words, or zeros if it is unknown.
    pub(super) words: [u8; 16],
    /// The digest of the document's sketch, or of its bytes if it has no shingles.
    pub(super) sketch: [u8; 16],
    /// The size of the document in bytes.
    pub(super) size: u64,
    /// The offset of the document's sketch.
    pub(super) at: u64,
    /// The number of shingles in its sketch.
    pub(super) shingles: u32,
    /// The number of these shingles that are ignored.
    pub(super) ignored: u32,
    /// The number of the document that represents this document: the first document with the same
    /// sketch.
    pub(super) class: u32,
}

impl Record for DocumentRecord {
    const BYTES: usize = 92;

    fn put(&self, out: &mut [u8]) {
        out[..32].copy_from_slice(&self.digest);
        out[32..48].copy_from_slice(&self.words);
        out[48..64].copy_from_slice(&self.sketch);
        out[64..72].copy_from_slice(&self.size.to_le_bytes());
        out[72..80].copy_from_slice(&self.at.to_le_bytes());
        out[80..84].copy_from_slice(&self.shingles.to_le_bytes());
        out[84..88].copy_from_slice(&self.ignored.to_le_bytes());
        out[88..].copy_from_slice(&self.class.to_le_bytes());
    }

    fn take(bytes: &[u8]) -> Self {
        Self {
            digest: array_at(bytes, 0),
            words: array_at(bytes, 32),
            sketch: array_at(bytes, 48),
            size: u64::from_le_bytes(array_at(bytes, 64)),
            at: u64::from_le_bytes(array_at(bytes, 72)),
            shingles: u32_at(bytes, 80),
            ignored: u32_at(bytes, 84),
            class: u32_at(bytes, 88),
        }
    }
}

/// Returns the `N` bytes from `at` on. If there are fewer bytes, returns zeros.
pub(super) fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    bytes
        .get(at..)
        .and_then(|rest| rest.first_chunk())
        .copied()
        .unwrap_or([0; N])
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn back<R: Record + std::fmt::Debug>(record: R) -> R {
        let mut bytes = vec![0; R::BYTES];
        record.put(&mut bytes);
        R::take(&bytes)
    }

    proptest! {
        #[test]
        fn records_are_read_back(
            numbers in any::<[u32; 4]>(),
            long in any::<[u64; 3]>(),
            name in any::<[u8; 32]>(),
        ) {
            let [a, b, c, d] = numbers;
            let entry = ShingleEntry::<5> { shingle: long[0] & 0xff_ffff_ffff, id: a };
            prop_assert_eq!(back(entry), entry);
            let entry = ShingleEntry::<8> { shingle: long[0], id: a };
            prop_assert_eq!(back(entry), entry);
            let triple = Triple { a, b, count: c.cast_signed() };
            prop_assert_eq!(back(triple), triple);
            prop_assert_eq!(back(IdPair { a, b }), IdPair { a, b });
            let ignored = IgnoredShingle { shingle: long[1], documents: a, id: b };
            prop_assert_eq!(back(ignored), ignored);
            let same = NamedId { name: array_at(&name, 0), id: d };
            prop_assert_eq!(back(same), same);
            let row = DocumentRecord {
                digest: name, words: array_at(&name, 3), sketch: array_at(&name, 9), size: long[0],
                at: long[1], shingles: a, ignored: b, class: c,
            };
            prop_assert_eq!(back(row), row);
        }
    }
}
