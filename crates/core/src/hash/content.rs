//! The digest that names a content as a whole.
//!
//! ```text
//! size ≤ 1 MiB:  BLAKE3(bytes)
//! larger:        BLAKE3 in derive_key mode, context "resemble 2026 content of several blocks", of
//!                (BLAKE3(block), u64 LE number of equal blocks in a row)…, u64 LE size
//! ```
//!
//! A block has 1 MiB, but the last block may be shorter.
//!
//! 1. *Why not BLAKE3 of the bytes*: a sparse file can have terabytes of holes, which cost nothing
//!    to make and hours to hash. In the run-length list a hole is one entry, computed by arithmetic
//!    ([`ContentHasher::update_zeros`]). A hole and written zeros have the same digest, as they
//!    have the same bytes. BLAKE3's own tree does not allow that: each leaf includes its position,
//!    so no two parts of a hole have the same value.
//! 2. *Why plain BLAKE3 up to 1 MiB*: nearly all files are that small, and `b3sum` prints the same
//!    digest for them.
//! 3. *Why another mode for the list*: anybody can write the bytes of a list to a file. In the same
//!    mode, that small file would have the same digest as the large file that the list describes.
//!    The two files would be called identical. The context prevents this, because BLAKE3 computes
//!    different digests in different modes.
//! 4. Equal digests mean equal bytes: the list and the size determine the blocks, unless BLAKE3
//!    collides.

use std::sync::LazyLock;

use crate::ids::ContentDigest;

/// The length of a block in bytes.
pub const BLOCK: u64 = 1 << 20;

/// The `derive_key` context of the list's digest.
const CONTEXT: &str = "resemble 2026 content of several blocks";

static ZEROS: [u8; 1 << 16] = [0; 1 << 16];

/// The digest of a block of zeros.
static ZERO_BLOCK: LazyLock<[u8; 32]> = LazyLock::new(|| {
    let mut hasher = blake3::Hasher::new();
    for _ in 0..BLOCK / ZEROS.len() as u64 {
        hasher.update(&ZEROS);
    }
    hasher.finalize().into()
});

/// The `derive_key` context of [`of_set`].
const OF_SET: &str = "resemble 2026 set of contents";

/// Returns the digest of a collection of contents. The order of the contents has no effect, but
/// repetitions do. The digest of a collection has a mode of its own, so no file has the same
/// digest.
pub fn of_set(digests: &[ContentDigest]) -> ContentDigest {
    let mut sorted: Vec<&ContentDigest> = digests.iter().collect();
    sorted.sort_unstable();
    let mut hasher = blake3::Hasher::new_derive_key(OF_SET);
    for digest in sorted {
        hasher.update(&digest.0);
    }
    ContentDigest(hasher.finalize().into())
}

/// Returns the digest of these bytes.
pub fn digest(bytes: &[u8]) -> ContentDigest {
    if bytes.len() as u64 <= BLOCK {
        return ContentDigest(blake3::hash(bytes).into());
    }
    let mut hasher = ContentHasher::new();
    hasher.update(bytes);
    hasher.finish()
}

/// Makes the [`digest`] of bytes that arrive in pieces of any size.
#[derive(Clone, Debug)]
pub struct ContentHasher {
    /// The current block. A full block stays here until another byte shows that it is not the last:
    /// a content of exactly one block is hashed plainly.
    block: blake3::Hasher,
    /// Bytes in `block`, up to [`BLOCK`].
    filled: u64,
    /// The blocks before `block`; `None` if there are none yet.
    list: Option<BlockList>,
    /// The blocks in `list` as runs, if this hasher keeps them.
    runs: Option<Vec<BlockRun>>,
    size: u64,
}

/// The digest of a block, and the number of consecutive equal blocks.
pub(crate) type BlockRun = ([u8; 32], u64);

/// The run-length list of the blocks so far, which is hashed as it grows.
#[derive(Clone, Debug)]
struct BlockList {
    hasher: blake3::Hasher,
    /// The last run, which may still grow; it is not in `hasher` yet.
    block: [u8; 32],
    count: u64,
}

impl BlockList {
    fn new(block: [u8; 32], count: u64) -> Self {
        Self {
            hasher: blake3::Hasher::new_derive_key(CONTEXT),
            block,
            count,
        }
    }

    fn push(&mut self, block: [u8; 32], count: u64) {
        if block == self.block {
            self.count += count;
        } else {
            self.close_run();
            (self.block, self.count) = (block, count);
        }
    }

    fn close_run(&mut self) {
        self.hasher.update(&self.block);
        self.hasher.update(&self.count.to_le_bytes());
    }

    fn finish(mut self, size: u64) -> [u8; 32] {
        self.close_run();
        self.hasher.update(&size.to_le_bytes());
        self.hasher.finalize().into()
    }
}

impl Default for ContentHasher {
    fn default() -> Self {
        Self::new()
    }
}

impl ContentHasher {
    /// Makes a hasher without any bytes.
    pub fn new() -> Self {
        Self {
            block: blake3::Hasher::new(),
            filled: 0,
            list: None,
            runs: None,
            size: 0,
        }
    }

    /// Makes a hasher that keeps the digests of blocks, for [`Self::blocks`].
    pub(crate) fn keeping_blocks() -> Self {
        Self {
            runs: Some(Vec::new()),
            ..Self::new()
        }
    }

    /// Stops keeping the digests of blocks.
    pub(crate) fn forget_blocks(&mut self) {
        self.runs = None;
    }

    /// Returns the blocks so far as runs. If this hasher does not keep blocks, returns only the
    /// current block. The last block may be incomplete.
    pub(crate) fn blocks(&self) -> Vec<BlockRun> {
        let mut runs = self.runs.clone().unwrap_or_default();
        if self.filled > 0 {
            push_run(&mut runs, (self.block.finalize().into(), 1));
        }
        runs
    }

    /// Appends the bytes that `next` has taken. `next` must keep its blocks, and the bytes that
    /// `self` has taken must be whole blocks.
    pub(crate) fn extend(&mut self, next: Self) {
        if next.size == 0 {
            return;
        }
        self.close_full_block();
        debug_assert_eq!(self.filled, 0, "whole blocks");
        for (block, count) in next.runs.unwrap_or_default() {
            self.push_blocks(block, count);
        }
        (self.block, self.filled) = (next.block, next.filled);
        self.size += next.size;
    }

    /// Takes the next bytes.
    pub fn update(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            self.close_full_block();
            let room = (BLOCK - self.filled) as usize;
            let (now, rest) = bytes.split_at(bytes.len().min(room));
            self.block.update(now);
            self.filled += now.len() as u64;
            self.size += now.len() as u64;
            bytes = rest;
        }
    }

    /// Takes the next `count` bytes, all zero. Whole blocks are computed by arithmetic; at most two
    /// blocks are hashed.
    pub fn update_zeros(&mut self, mut count: u64) {
        while count > 0 {
            self.close_full_block();
            if self.filled == 0 && count > BLOCK {
                // The last block stays open, because it may be the end of the content.
                let blocks = (count - 1) / BLOCK;
                self.push_blocks(*ZERO_BLOCK, blocks);
                self.size += blocks * BLOCK;
                count -= blocks * BLOCK;
            }
            let now = count.min(BLOCK - self.filled).min(ZEROS.len() as u64);
            self.update(&ZEROS[..now as usize]);
            count -= now;
        }
    }

    /// Returns the digest of all bytes taken.
    pub fn finish(self) -> ContentDigest {
        let last = self.block.finalize().into();
        let Some(mut list) = self.list else {
            return ContentDigest(last);
        };
        list.push(last, 1);
        ContentDigest(list.finish(self.size))
    }

    /// Closes a full block when another byte shows that it is not the last.
    fn close_full_block(&mut self) {
        if self.filled == BLOCK {
            let block = self.block.finalize().into();
            self.push_blocks(block, 1);
            self.block.reset();
            self.filled = 0;
        }
    }

    fn push_blocks(&mut self, block: [u8; 32], count: u64) {
        if let Some(runs) = &mut self.runs {
            push_run(runs, (block, count));
        }
        match &mut self.list {
            Some(list) => list.push(block, count),
            None => self.list = Some(BlockList::new(block, count)),
        }
    }
}

pub(crate) fn push_run(runs: &mut Vec<BlockRun>, (block, count): BlockRun) {
    match runs.last_mut() {
        Some((last, times)) if *last == block => *times += count,
        _ => runs.push((block, count)),
    }
}

#[cfg(test)]
mod tests {
    use super::{BLOCK, CONTEXT, ContentHasher, ZERO_BLOCK, digest};
    use crate::ids::ContentDigest;

    const MIB: usize = BLOCK as usize;

    /// Returns the digest by the definition.
    fn expected(bytes: &[u8]) -> ContentDigest {
        if bytes.len() <= MIB {
            return ContentDigest(blake3::hash(bytes).into());
        }
        let blocks: Vec<[u8; 32]> = bytes
            .chunks(MIB)
            .map(|block| blake3::hash(block).into())
            .collect();
        let mut list = Vec::new();
        for run in blocks.chunk_by(|a, b| a == b) {
            list.extend_from_slice(&run[0]);
            list.extend_from_slice(&(run.len() as u64).to_le_bytes());
        }
        list.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        ContentDigest(blake3::derive_key(CONTEXT, &list))
    }

    fn paint(len: usize) -> Vec<u8> {
        (0..251).cycle().take(len).collect()
    }

    #[test]
    fn lengths_around_blocks_are_by_the_definition() {
        let bytes = paint(3 * MIB + 2);
        for len in [
            0,
            1,
            1000,
            MIB - 1,
            MIB,
            MIB + 1,
            2 * MIB - 1,
            2 * MIB,
            2 * MIB + 1,
            3 * MIB,
            3 * MIB + 2,
        ] {
            assert_eq!(
                digest(&bytes[..len]),
                expected(&bytes[..len]),
                "{len} bytes"
            );
        }
    }

    #[test]
    fn the_pieces_do_not_matter() {
        let bytes = paint(2 * MIB + 12_345);
        for size in [777, 4096, 65_536, 1_000_000, MIB, MIB + 1] {
            let mut hasher = ContentHasher::new();
            bytes.chunks(size).for_each(|piece| hasher.update(piece));
            hasher.update(&[]);
            assert_eq!(hasher.finish(), expected(&bytes), "pieces of {size}");
        }
    }

    #[test]
    fn zeros_are_zeros_however_they_come() {
        let data = paint(1000);
        for before in [0, 1000] {
            for zeros in [
                0,
                1,
                65_536,
                MIB - 1000,
                MIB,
                MIB + 1,
                2 * MIB - 1000,
                3 * MIB,
                3 * MIB + 5,
            ] {
                for after in [0, 1, 1000] {
                    let mut all = data[..before].to_vec();
                    all.resize(before + zeros, 0);
                    all.extend_from_slice(&data[..after]);
                    let mut hasher = ContentHasher::new();
                    hasher.update(&data[..before]);
                    // The run must continue from the first part of the zeros to the second.
                    hasher.update_zeros(zeros as u64 / 3);
                    hasher.update_zeros(zeros as u64 - zeros as u64 / 3);
                    hasher.update(&data[..after]);
                    assert_eq!(
                        hasher.finish(),
                        expected(&all),
                        "{before}, {zeros}, {after}"
                    );
                }
            }
        }
    }

    #[test]
    fn stretches_of_blocks_are_put_together() {
        let bytes = paint(3 * MIB + 12_345);
        for first in [0, MIB, 2 * MIB, 3 * MIB] {
            let (head, tail) = bytes.split_at(first);
            let (mut hasher, mut next) = (ContentHasher::new(), ContentHasher::keeping_blocks());
            hasher.update(head);
            next.update(tail);
            let blocks: Vec<_> = tail.chunks(MIB).map(blake3::hash).collect();
            let kept = next.blocks().into_iter();
            let kept: Vec<_> = kept
                .flat_map(|(block, count)| (0..count).map(move |_| blake3::Hash::from(block)))
                .collect();
            assert_eq!(kept, blocks);
            hasher.extend(next);
            hasher.extend(ContentHasher::keeping_blocks());
            assert_eq!(hasher.clone().finish(), expected(&bytes), "{first}");
            hasher.update(b"more");
            assert_eq!(hasher.finish(), expected(&[&bytes[..], b"more"].concat()));
        }
    }

    #[test]
    fn a_tebibyte_of_zeros_is_hashed_at_once() {
        let mut hasher = ContentHasher::new();
        hasher.update_zeros(1 << 40);
        hasher.update(b"data");
        let mut list = ZERO_BLOCK.to_vec();
        list.extend_from_slice(&(1u64 << 20).to_le_bytes());
        list.extend_from_slice(blake3::hash(b"data").as_bytes());
        list.extend_from_slice(&1u64.to_le_bytes());
        list.extend_from_slice(&((1u64 << 40) + 4).to_le_bytes());
        let expected = ContentDigest(blake3::derive_key(CONTEXT, &list));
        assert_eq!(hasher.finish(), expected);
    }

    #[test]
    fn the_list_of_a_large_content_as_a_file_is_another_content() {
        let bytes = paint(MIB + 1);
        let mut list = Vec::new();
        for block in bytes.chunks(MIB) {
            list.extend_from_slice(blake3::hash(block).as_bytes());
            list.extend_from_slice(&1u64.to_le_bytes());
        }
        list.extend_from_slice(&(bytes.len() as u64).to_le_bytes());
        assert_ne!(digest(&list), digest(&bytes));
    }

    #[test]
    fn small_contents_have_the_digest_of_b3sum() {
        // BLAKE3's own test vector for no bytes.
        let empty = "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262";
        assert_eq!(digest(b"").to_string(), empty);
    }
}
