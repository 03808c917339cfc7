//! Passes on the bytes of a file through one buffer. Data are passed in pieces. A hole is passed as
//! its number of zeros.

use std::ops::Range;
use std::os::fd::OwnedFd;
use std::time::Instant;

use resemble_core::hash::content::ContentHasher;
use resemble_core::{ComparedStretch, Digester, StopFlag};

use super::ReadFailure;
use super::at::{PIECE, data_at, read_at, read_past_cache};
use crate::walk::Stat;

/// Reads files through one buffer.
#[derive(Debug)]
pub(super) struct InPieces {
    pub(super) buffer: Vec<u8>,
    /// The size of the file, if the buffer has all of it.
    pub(super) whole: Option<usize>,
    pub(super) stop: StopFlag,
    /// The time at which the reading must pause. `None` if it does not pause.
    pub(super) until: Option<Instant>,
    /// True if the pages that are read are dropped from the page cache, unless they were cached
    /// before.
    pub(super) spares_cache: bool,
}

impl InPieces {
    const fn way_to_read(&self) -> fn(&OwnedFd, &mut [u8], u64) -> rustix::io::Result<usize> {
        if self.spares_cache {
            read_past_cache
        } else {
            read_at
        }
    }

    /// Reads up to `size + 1` bytes into the buffer, and returns their number.
    pub(super) fn fill(&mut self, file: &OwnedFd, size: usize) -> Result<usize, ReadFailure> {
        self.buffer.resize(self.buffer.len().max(size + 1), 0);
        let read = self.way_to_read();
        let mut filled = 0;
        // When `size` bytes were read, no further read is necessary. The last read had space for
        // one more byte and did not fill it, so the file ends there.
        while filled != size + 1 && (filled != size || size == 0) {
            let room = &mut self.buffer[filled..=size];
            match read(file, room, filled as u64)? {
                0 => break,
                read => filled += read,
            }
        }
        self.whole = (filled == size).then_some(size);
        Ok(filled)
    }

    /// Does the same as [`Self::stream`], but passes the pieces to an implementation of
    /// [`TakesPieces`].
    pub(super) fn stream_into(
        &mut self,
        file: &OwnedFd,
        stat: &Stat,
        range: Range<u64>,
        taker: &mut impl TakesPieces,
    ) -> Result<Streamed, ReadFailure> {
        self.stream(file, stat, range, &mut |piece| match piece {
            Piece::Bytes(bytes) => taker.update(bytes),
            Piece::Zeros(count) => taker.update_zeros(count),
        })
    }

    /// Passes on the bytes of a range of the file. The range must be within `stat.size`. Data are
    /// passed in pieces. A hole is passed as its number of zeros.
    pub(super) fn stream(
        &mut self,
        file: &OwnedFd,
        stat: &Stat,
        range: Range<u64>,
        take: &mut dyn FnMut(Piece<'_>),
    ) -> Result<Streamed, ReadFailure> {
        self.buffer.resize(self.buffer.len().max(PIECE), 0);
        let read = self.way_to_read();
        let sparse = stat.allocated < stat.size;
        let (mut at, mut bytes) = (range.start, 0);
        while at < range.end {
            let data = if sparse {
                data_at(file, at, range.end)
            } else {
                at..range.end
            };
            if data.start > at {
                take(Piece::Zeros(data.start - at));
                at = data.start;
            }
            while at < data.end {
                if self.stop.is_set() {
                    return Err(ReadFailure::Stopped);
                }
                let room = usize::try_from(data.end - at).unwrap_or(PIECE).min(PIECE);
                match read(file, &mut self.buffer[..room], at)? {
                    0 => {
                        return Ok(Streamed {
                            bytes,
                            other_size: true,
                            paused_at: None,
                        });
                    }
                    read => {
                        take(Piece::Bytes(&self.buffer[..read]));
                        at += read as u64;
                        bytes += read as u64;
                    }
                }
                if at < range.end && self.until.is_some_and(|until| Instant::now() >= until) {
                    return Ok(Streamed {
                        bytes,
                        other_size: false,
                        paused_at: Some(at),
                    });
                }
            }
            if self.stop.is_set() {
                return Err(ReadFailure::Stopped);
            }
        }
        // The file may have changed in a hole at its end. The next `stat` shows this.
        Ok(Streamed {
            bytes,
            other_size: false,
            paused_at: None,
        })
    }
}

/// A piece of a file.
pub(super) enum Piece<'a> {
    Bytes(&'a [u8]),
    Zeros(u64),
}

/// Receives the pieces of a file.
pub(super) trait TakesPieces {
    fn update(&mut self, bytes: &[u8]);
    fn update_zeros(&mut self, count: u64);
}

impl TakesPieces for ContentHasher {
    fn update(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }

    fn update_zeros(&mut self, count: u64) {
        self.update_zeros(count);
    }
}

impl TakesPieces for ComparedStretch {
    fn update(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }

    fn update_zeros(&mut self, count: u64) {
        self.update_zeros(count);
    }
}

impl TakesPieces for Digester {
    fn update(&mut self, bytes: &[u8]) {
        self.update(bytes);
    }

    fn update_zeros(&mut self, count: u64) {
        self.update_zeros(count);
    }
}

/// The result of [`InPieces::stream`].
pub(super) struct Streamed {
    /// The number of bytes of data that were read.
    pub(super) bytes: u64,
    /// True if the file ended before the end of the range.
    pub(super) other_size: bool,
    /// The position in the file at which the reading was paused. `None` if it was not paused.
    pub(super) paused_at: Option<u64>,
}
