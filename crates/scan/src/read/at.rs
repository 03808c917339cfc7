//! Reads an open file at a given position. Calls that a signal interrupts are repeated.

use std::io::IoSliceMut;
use std::os::fd::OwnedFd;

use rustix::fs::SeekFrom;
use rustix::io::{Errno, ReadWriteFlags};

/// The number of bytes of a large file that are read at a time. These bytes should still be in the
/// processor's cache when they are digested.
pub(super) const PIECE: usize = 256 << 10;

/// Reads bytes at a position into the buffer. Returns their number, which is 0 at the end of the
/// file.
pub(crate) fn read_at(file: &OwnedFd, buffer: &mut [u8], at: u64) -> rustix::io::Result<usize> {
    loop {
        match rustix::io::pread(file, &mut *buffer, at) {
            Err(Errno::INTR) => {}
            result => return result,
        }
    }
}

/// Does the same as [`read_at`], but leaves the page cache unchanged, if the file system supports
/// this.
pub(super) fn read_past_cache(
    file: &OwnedFd,
    buffer: &mut [u8],
    at: u64,
) -> rustix::io::Result<usize> {
    /// The flag `RWF_DONTCACHE` of `<linux/fs.h>`, since Linux 6.14.
    const DONTCACHE: ReadWriteFlags = ReadWriteFlags::from_bits_retain(0x80);
    loop {
        match rustix::io::preadv2(file, &mut [IoSliceMut::new(buffer)], at, DONTCACHE) {
            Err(Errno::INTR) => {}
            Err(Errno::OPNOTSUPP | Errno::NOSYS | Errno::INVAL) => {
                return read_at(file, buffer, at);
            }
            result => return result,
        }
    }
}

/// Returns whether the beginning of a file is in the page cache. Returns `None` if the file system
/// does not support this check.
pub(crate) fn is_cached(file: &OwnedFd) -> Option<bool> {
    let mut byte = [0];
    let mut room = [IoSliceMut::new(&mut byte)];
    match rustix::io::preadv2(file, &mut room, 0, ReadWriteFlags::NOWAIT) {
        Ok(_) => Some(true),
        Err(Errno::AGAIN) => Some(false),
        Err(_) => None,
    }
}

/// Fills the buffer with bytes from position `at` on. Returns the number of bytes, which is smaller
/// than the buffer only at the end of the file.
pub fn read_fully_at(file: &OwnedFd, buffer: &mut [u8], at: u64) -> rustix::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match read_at(file, &mut buffer[filled..], at + filled as u64)? {
            0 => break,
            read => filled += read,
        }
    }
    Ok(filled)
}

/// Returns up to `most` bytes of a file from position `at` on. There are fewer bytes only at the
/// end of the file. The bytes are in `buffer`, which can be used again.
pub fn fill<'b>(
    file: &OwnedFd,
    buffer: &'b mut Vec<u8>,
    most: usize,
    at: u64,
) -> rustix::io::Result<&'b [u8]> {
    if buffer.len() < most {
        buffer.resize(most, 0);
    }
    let filled = read_fully_at(file, &mut buffer[..most], at)?;
    Ok(&buffer[..filled])
}

/// Returns at most `most` bytes from the beginning of an open file.
pub fn read_prefix(file: &OwnedFd, most: usize) -> rustix::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let mut piece = vec![0; most.min(PIECE)];
    while bytes.len() < most {
        let room = (most - bytes.len()).min(piece.len());
        match read_at(file, &mut piece[..room], bytes.len() as u64)? {
            0 => break,
            read => bytes.extend_from_slice(&piece[..read]),
        }
    }
    Ok(bytes)
}

/// Returns the next range of data at or after `at`, up to `size`. If the file system does not
/// support holes, everything is data.
pub fn data_at(file: &OwnedFd, at: u64, size: u64) -> std::ops::Range<u64> {
    let start = match rustix::fs::seek(file, SeekFrom::Data(at)) {
        Ok(start) => start.clamp(at, size),
        // Only holes follow, or the file has become shorter. The next `stat` shows this.
        Err(Errno::NXIO) => return size..size,
        Err(_) => return at..size,
    };
    let end = rustix::fs::seek(file, SeekFrom::Hole(start)).unwrap_or(size);
    // If the file is becoming shorter, the end can be before the start. Then the rest is treated as
    // data.
    start..if end > start { end.min(size) } else { size }
}
