//! The index file as blocks with checksums. Every block is verified when it is read.
//!
//! redb has checksums of its pages, but compares them only on request. So a flipped bit could
//! change an answer. For example, a look-up that takes a wrong branch finds nothing, as if the key
//! did not exist. Here, each block of 4096 bytes has a checksum *elsewhere* in the file: XXH3 of
//! the block and its number. One block of checksums covers 512 blocks. A checksum detects any
//! change of a block, an older state of the block, another block in its place, and the loss of the
//! checksum itself. Damage never leads to a wrong answer: the read fails, and [`Health`] reports
//! the damage to the owner of the index. Three cases need care:
//!
//! 1. **A crash damages nothing.** redb never overwrites data that the last durable commit uses,
//!    except the header. So a block and its checksum need not reach the disk together: no commit
//!    refers to the block before both are on the disk. A half-written block of checksums does no
//!    harm either: for the blocks in use, the old and the new checksums are equal.
//! 2. **The header** is overwritten, and a torn or old header would refer to another commit. So the
//!    header is written to two slots in turn. Each slot fills one sector, and has a higher number
//!    than the slot written before it. After a sync, the number of the newest slot is *confirmed*
//!    in a third place. If both slots have lower numbers than the confirmed number, the file is
//!    damaged. If the newest slot is unreadable and was not confirmed, a crash interrupted the
//!    write of this slot. Then the other slot is valid.
//! 3. **A block without a checksum was never written**, so nothing refers to it. If such a block is
//!    read, its checksum was lost, so the file is damaged.

use std::collections::BTreeSet;
use std::io;
use std::ops::{Bound, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, RwLock};
use redb::{BackendError, StorageBackend};
use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use crate::health::Health;

/// The version of everything that this crate writes. An index file of another version is rebuilt.
pub const FORMAT_VERSION: u32 = 12;

/// The size of a block in bytes. A page of redb is one block, or 2, 4, 8 … blocks.
pub(crate) const BLOCK: u64 = 4096;
/// The number of blocks whose checksums fill one block.
const GROUP: u64 = BLOCK / 8;
/// The number of blocks before the first group: the head and the two slots of the header.
const FRONT: u64 = 3;
/// The first bytes of the file. The format version follows them.
const MAGIC: [u8; 16] = *b"resemble index\n\0";
/// The offset, in the head of the file, of the confirmed slot number and its checksum.
const CONFIRMED: u64 = 512;
/// The number of bytes of redb's header that a slot holds. Together with the slot's number and
/// checksum, these bytes fill one sector.
const HEADER: usize = 512 - 16;

#[cfg(any(debug_assertions, feature = "testing"))]
thread_local! {
    /// True if this thread skips the checks. A test sets this to show that damage would change an
    /// answer if there were no checks.
    pub(crate) static UNVERIFIED: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// The file with its checksums and its header. All clones share the same file.
#[derive(Clone, Debug)]
pub(crate) struct Checked(Arc<CheckedFile>);

#[derive(Debug)]
struct CheckedFile {
    file: Box<dyn StorageBackend>,
    groups: RwLock<Vec<Arc<Group>>>,
    header: Mutex<Header>,
    /// This lock is held while blocks are written, so that [`Checked::verify`] sees no half-written
    /// block.
    writing: Mutex<()>,
    /// Blocks with a wrong checksum that no commit uses. A crash can leave such blocks.
    unused: Mutex<BTreeSet<u64>>,
    health: Arc<Health>,
}

/// The checksums of 512 blocks. The checksum is 0 for a block that was never written.
#[derive(Debug, Default)]
struct Group {
    sums: OnceLock<Box<[AtomicU64]>>,
    is_dirty: AtomicBool,
}

#[derive(Debug)]
struct Header {
    bytes: [u8; HEADER],
    /// The number of the newest slot, or 0 if no slot was written yet.
    number: u64,
    is_synced: bool,
    /// True if the file has its head.
    has_head: bool,
}

fn damaged(what: impl Into<String>) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what.into())
}

fn sum_of(number: u64, block: &[u8]) -> u64 {
    xxh3_64_with_seed(block, number).max(1)
}

/// Returns the offset of a group's block of checksums in the file.
fn place_of_sums(group: u64) -> u64 {
    (FRONT + group * (GROUP + 1)) * BLOCK
}

/// Returns the offset of a block in the file.
fn place_of(block: u64) -> u64 {
    place_of_sums(block / GROUP) + (1 + block % GROUP) * BLOCK
}

/// Returns the length of a file with this many blocks.
fn length(blocks: u64) -> u64 {
    (FRONT + blocks + blocks.div_ceil(GROUP)) * BLOCK
}

/// Returns the number of blocks in a file of this length.
fn blocks_of(length: u64) -> io::Result<u64> {
    let Some(behind) = (length / BLOCK).checked_sub(FRONT) else {
        return if length == 0 {
            Ok(0)
        } else {
            Err(damaged("it is cut off"))
        };
    };
    let blocks = behind - behind.div_ceil(GROUP + 1);
    if self::length(blocks) == length {
        Ok(blocks)
    } else {
        Err(damaged("it is cut off"))
    }
}

/// Splits a range of bytes into pieces. A piece lies in one block, or consists of whole blocks of
/// one group. Returns for each piece its first block, its offset in that block, and its place in
/// the range.
fn stretches(offset: u64, len: usize) -> impl Iterator<Item = (u64, usize, Range<usize>)> {
    let end = offset + len as u64;
    let mut at = offset;
    std::iter::from_fn(move || {
        if at >= end {
            return None;
        }
        let block = at / BLOCK;
        let within = at % BLOCK;
        let to = if block == 0 || within != 0 || end - at < BLOCK {
            end.min((block + 1) * BLOCK)
        } else {
            (end / BLOCK).min((block / GROUP + 1) * GROUP) * BLOCK
        };
        let range = (at - offset) as usize..(to - offset) as usize;
        at = to;
        Some((block, within as usize, range))
    })
}

impl Checked {
    /// Opens a file. If it is empty, the first call of `set_len` writes its head.
    pub(crate) fn new(file: impl StorageBackend, health: Arc<Health>) -> io::Result<Self> {
        let len = file.len()?;
        let mut header = Header {
            bytes: [0; HEADER],
            number: 0,
            is_synced: true,
            has_head: len > 0,
        };
        if len > 0 {
            header.read(&file, len)?;
        }
        let groups = blocks_of(len)?.div_ceil(GROUP);
        Ok(Self(Arc::new(CheckedFile {
            file: Box::new(file),
            groups: RwLock::new((0..groups).map(|_| Arc::default()).collect()),
            header: Mutex::new(header),
            writing: Mutex::new(()),
            unused: Mutex::default(),
            health,
        })))
    }

    /// Compares up to `most` blocks with their checksums, from block `from` on. Returns the block
    /// to continue with (`None` at the end), and the blocks that do not match. Such a block is
    /// damaged, unless no commit uses it: see [`Self::set_unused`].
    pub(crate) fn verify(&self, from: u64, most: u64) -> io::Result<(Option<u64>, Vec<u64>)> {
        let inner = &self.0;
        let _still = inner.writing.lock();
        let blocks = blocks_of(inner.file.len()?)?;
        let to = blocks.min(from.saturating_add(most));
        let mut wrong = Vec::new();
        let mut block = [0; BLOCK as usize];
        for number in from.max(1)..to {
            let sum = inner.sum(number)?;
            if sum == 0 || inner.unused.lock().contains(&number) {
                continue;
            }
            inner.file.read(place_of(number), &mut block)?;
            if sum_of(number, &block) != sum {
                wrong.push(number);
            }
        }
        Ok(((to < blocks).then_some(to), wrong))
    }

    /// Marks blocks that no commit uses. [`Self::verify`] skips them until they are written again.
    pub(crate) fn set_unused(&self, blocks: &[u64]) {
        self.0.unused.lock().extend(blocks);
    }
}

impl Header {
    fn read(&mut self, file: &dyn StorageBackend, len: u64) -> io::Result<()> {
        let mut head = [0; 20];
        if len < head.len() as u64 {
            return Err(damaged("it is another program's, or cut off"));
        }
        file.read(0, &mut head)?;
        let (magic, version) = head.split_at(MAGIC.len());
        if magic != MAGIC {
            return Err(damaged(
                "it is another program's, or of a format version before 9",
            ));
        }
        let version = u32::from_le_bytes([version[0], version[1], version[2], version[3]]);
        if version != FORMAT_VERSION {
            return Err(damaged(format!(
                "it has format version {version}, this program writes {FORMAT_VERSION}"
            )));
        }
        if len < FRONT * BLOCK {
            return Err(damaged("it is cut off"));
        }
        for slot in [1, 2] {
            let mut sector = [0; 16 + HEADER];
            file.read(slot * BLOCK, &mut sector)?;
            let (sum, rest) = number_at(&sector);
            let (number, header) = number_at(rest);
            if sum == xxh3_64(rest) && number > self.number {
                self.number = number;
                self.bytes.copy_from_slice(header);
            }
        }
        let mut confirmed = [0; 16];
        file.read(CONFIRMED, &mut confirmed)?;
        let (number, sum) = confirmed.split_at(8);
        let is_whole = number_at(sum).0 == xxh3_64(number);
        if is_whole && number_at(number).0 > self.number {
            return Err(damaged("its header is not the last one that was written"));
        }
        Ok(())
    }

    fn write(&mut self, file: &dyn StorageBackend, at: usize, data: &[u8]) -> io::Result<()> {
        let place = self.bytes.get_mut(at..at + data.len());
        let place = place.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        place.copy_from_slice(data);
        // The first write after a sync goes to the other slot, because the slot that was synced
        // must stay valid. Until the next sync, all further writes go to that other slot, too.
        if self.is_synced {
            self.number += 1;
            self.is_synced = false;
        }
        let mut sector = [0; 16 + HEADER];
        sector[8..16].copy_from_slice(&self.number.to_le_bytes());
        sector[16..].copy_from_slice(&self.bytes);
        let sum = xxh3_64(&sector[8..]);
        sector[..8].copy_from_slice(&sum.to_le_bytes());
        file.write((1 + self.number % 2) * BLOCK, &sector)
    }

    /// Records in the head of the file that the newest slot is on the disk.
    fn confirm(&mut self, file: &dyn StorageBackend, number: u64) -> io::Result<()> {
        if self.is_synced || self.number != number {
            return Ok(());
        }
        let mut confirmed = [0; 16];
        confirmed[..8].copy_from_slice(&number.to_le_bytes());
        let sum = xxh3_64(&confirmed[..8]);
        confirmed[8..].copy_from_slice(&sum.to_le_bytes());
        file.write(CONFIRMED, &confirmed)?;
        self.is_synced = true;
        Ok(())
    }
}

/// Splits a number off the front of the bytes. Returns the number and the remaining bytes.
fn number_at(bytes: &[u8]) -> (u64, &[u8]) {
    match bytes.split_first_chunk() {
        Some((number, rest)) => (u64::from_le_bytes(*number), rest),
        None => (0, &[]),
    }
}

impl CheckedFile {
    fn group(&self, block: u64) -> io::Result<Arc<Group>> {
        let groups = self.groups.read();
        let group = groups.get((block / GROUP) as usize);
        group
            .map(Arc::clone)
            .ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    /// Returns the checksums of the group of a block.
    fn sums<'g>(&self, group: &'g Group, block: u64) -> io::Result<&'g [AtomicU64]> {
        if let Some(sums) = group.sums.get() {
            return Ok(sums);
        }
        let mut bytes = [0; BLOCK as usize];
        self.file.read(place_of_sums(block / GROUP), &mut bytes)?;
        let read = || {
            bytes
                .chunks_exact(8)
                .map(|sum| AtomicU64::new(number_at(sum).0))
        };
        Ok(group.sums.get_or_init(|| read().collect()))
    }

    fn sum(&self, block: u64) -> io::Result<u64> {
        let group = self.group(block)?;
        let sums = self.sums(&group, block)?;
        Ok(sums[(block % GROUP) as usize].load(Ordering::Acquire))
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        for (block, at, range) in stretches(offset, out.len()) {
            let out = &mut out[range];
            if block == 0 {
                let header = self.header.lock();
                out.fill(0);
                let there = header.bytes.get(at..).unwrap_or_default();
                let len = there.len().min(out.len());
                out[..len].copy_from_slice(&there[..len]);
            } else if at == 0 && out.len() as u64 >= BLOCK {
                self.file.read(place_of(block), out)?;
                self.compare(block, out)?;
            } else {
                let mut whole = [0; BLOCK as usize];
                self.file.read(place_of(block), &mut whole)?;
                self.compare(block, &whole)?;
                out.copy_from_slice(&whole[at..at + out.len()]);
            }
        }
        Ok(())
    }

    /// Compares blocks of one group with their checksums.
    fn compare(&self, first: u64, bytes: &[u8]) -> io::Result<()> {
        #[cfg(any(debug_assertions, feature = "testing"))]
        if UNVERIFIED.get() {
            return Ok(());
        }
        let group = self.group(first)?;
        let sums = self.sums(&group, first)?;
        for (number, block) in (first..).zip(bytes.chunks_exact(BLOCK as usize)) {
            let sum = sums[(number % GROUP) as usize].load(Ordering::Acquire);
            if sum != sum_of(number, block) {
                return Err(damaged(format!("block {number} is not what was written")));
            }
        }
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let _writing = self.writing.lock();
        for (block, at, range) in stretches(offset, data.len()) {
            let data = &data[range];
            if block == 0 {
                self.header.lock().write(&*self.file, at, data)?;
                continue;
            }
            if at != 0 || !(data.len() as u64).is_multiple_of(BLOCK) {
                // redb writes only whole pages.
                return Err(io::ErrorKind::InvalidInput.into());
            }
            let group = self.group(block)?;
            let sums = self.sums(&group, block)?;
            self.file.write(place_of(block), data)?;
            for (number, block) in (block..).zip(data.chunks_exact(BLOCK as usize)) {
                let sum = &sums[(number % GROUP) as usize];
                sum.store(sum_of(number, block), Ordering::Release);
            }
            group.is_dirty.store(true, Ordering::Release);
            let mut unused = self.unused.lock();
            if !unused.is_empty() {
                let end = block + data.len() as u64 / BLOCK;
                unused.retain(|number| !(block..end).contains(number));
            }
        }
        Ok(())
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        if !len.is_multiple_of(BLOCK) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let _writing = self.writing.lock();
        let blocks = len / BLOCK;
        let before = blocks_of(self.file.len()?)?;
        if blocks < before && !blocks.is_multiple_of(GROUP) {
            // The blocks that are cut off get the checksum 0, like blocks that were never written.
            let group = self.group(blocks)?;
            let sums = self.sums(&group, blocks)?;
            for sum in &sums[(blocks % GROUP) as usize..] {
                sum.store(0, Ordering::Release);
            }
            group.is_dirty.store(true, Ordering::Release);
        }
        self.file.set_len(length(blocks))?;
        let groups = blocks.div_ceil(GROUP) as usize;
        self.groups.write().resize_with(groups, Arc::default);
        let mut header = self.header.lock();
        if !header.has_head {
            let mut head = MAGIC.to_vec();
            head.extend_from_slice(&FORMAT_VERSION.to_le_bytes());
            self.file.write(0, &head)?;
            header.has_head = true;
        }
        Ok(())
    }

    fn sync(&self) -> io::Result<()> {
        let groups = self.groups.read().clone();
        for (number, group) in (0..).zip(&groups) {
            if !group.is_dirty.swap(false, Ordering::AcqRel) {
                continue;
            }
            let Some(sums) = group.sums.get() else {
                continue;
            };
            let sums = sums.iter().map(|sum| sum.load(Ordering::Acquire));
            let bytes: Vec<u8> = sums.flat_map(u64::to_le_bytes).collect();
            let written = self.file.write(place_of_sums(number), &bytes);
            if written.is_err() {
                group.is_dirty.store(true, Ordering::Release);
                return written;
            }
        }
        let number = self.header.lock().number;
        self.file.sync_data()?;
        self.header.lock().confirm(&*self.file, number)
    }
}

impl StorageBackend for Checked {
    fn len(&self) -> io::Result<u64> {
        Ok(blocks_of(self.0.file.len()?)? * BLOCK)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let read = self.0.read(offset, out);
        read.map_err(|error| self.0.health.not_read(error))
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_len(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write(offset, data)
    }

    fn close(&self) -> io::Result<()> {
        self.0.file.close()
    }

    fn try_lock_range(&self, from: Bound<u64>, to: Bound<u64>) -> Result<bool, BackendError> {
        self.0.file.try_lock_range(from, to)
    }

    fn try_lock_shared_range(
        &self,
        from: Bound<u64>,
        to: Bound<u64>,
    ) -> Result<bool, BackendError> {
        self.0.file.try_lock_shared_range(from, to)
    }

    fn unlock_range(&self, from: Bound<u64>, to: Bound<u64>) -> Result<(), BackendError> {
        self.0.file.unlock_range(from, to)
    }
}
