//! Reads two files side by side: one file of each tree, at the same path.
//!
//! Two equal files need only one digest, and to compare bytes is ten times as fast as to digest
//! them. So the bytes are compared first.

use std::os::fd::{AsFd, OwnedFd};
use std::time::SystemTime;

use resemble_core::{Digest, Digester};
use resemble_scan::read::{ReadFailure, fill};
use resemble_scan::walk::Stat;
use rustix::fs::Advice;

/// The maximum size of a file that is read as a whole.
const SMALL: u64 = 1 << 20;

/// The size of the pieces in which larger files are read.
const PIECE: usize = 1 << 18;

/// An open file and its stat.
pub(super) type Opened = (OwnedFd, Stat);

/// The result of reading two files side by side.
pub(super) enum PairLook {
    /// The bytes of the files are equal, and neither file changed while they were read, from the
    /// time `at` on.
    Equal { digest: Digest, at: SystemTime },
    /// The files are not equal. Both files were digested, and neither changed while they were read.
    Unequal {
        digests: Box<[Digest; 2]>,
        at: SystemTime,
    },
    /// The caller must read the files one by one. Either they are large and are unequal or have
    /// holes, or they changed while they were read.
    OneByOne,
}

/// Reads pairs of files, and uses the same two buffers for all pairs.
#[derive(Debug)]
pub(super) struct PairReader {
    buffers: [Vec<u8>; 2],
    /// The number of bytes read so far.
    pub(super) bytes: u64,
}

impl PairReader {
    pub(super) const fn new() -> Self {
        Self {
            buffers: [Vec::new(), Vec::new()],
            bytes: 0,
        }
    }

    /// Reads two open files of the same size.
    pub(super) fn read(
        &mut self,
        [a, b]: [&Opened; 2],
        digester: &mut Digester,
    ) -> Result<PairLook, ReadFailure> {
        let at = SystemTime::now();
        let size = a.1.size;
        let sparse = |stat: &Stat| stat.allocated < stat.size;
        if size > SMALL && (sparse(&a.1) || sparse(&b.1)) {
            return Ok(PairLook::OneByOne);
        }
        let pair = if size <= SMALL {
            self.small([a, b], size as usize, digester, at)?
        } else {
            self.large([a, b], size, digester, at)?
        };
        for (file, before) in [a, b] {
            if !Stat::of(file.as_fd())?.unchanged_since(before) {
                return Ok(PairLook::OneByOne);
            }
        }
        Ok(pair)
    }

    fn small(
        &mut self,
        files: [&Opened; 2],
        size: usize,
        digester: &mut Digester,
        at: SystemTime,
    ) -> Result<PairLook, ReadFailure> {
        for (buffer, (file, _)) in self.buffers.iter_mut().zip(files) {
            let filled = fill(file, buffer, size, 0)?.len();
            self.bytes += filled as u64;
            if filled < size {
                return Ok(PairLook::OneByOne);
            }
        }
        let [a, b] = [&self.buffers[0][..size], &self.buffers[1][..size]];
        if a == b {
            let digest = digester.digest(a);
            return Ok(PairLook::Equal { digest, at });
        }
        let digests = Box::new([digester.digest(a), digester.digest(b)]);
        Ok(PairLook::Unequal { digests, at })
    }

    fn large(
        &mut self,
        files: [&Opened; 2],
        size: u64,
        digester: &mut Digester,
        at: SystemTime,
    ) -> Result<PairLook, ReadFailure> {
        digester.reset();
        for (file, _) in files {
            // The advice is only a hint, so its failure is ignored.
            rustix::fs::fadvise(file, 0, None, Advice::Sequential).ok();
        }
        let mut done = 0;
        while done < size {
            let piece = usize::try_from(size - done).unwrap_or(PIECE).min(PIECE);
            for (buffer, (file, _)) in self.buffers.iter_mut().zip(files) {
                let filled = fill(file, buffer, piece, done)?.len();
                self.bytes += filled as u64;
                if filled < piece {
                    return Ok(PairLook::OneByOne);
                }
            }
            if self.buffers[0][..piece] != self.buffers[1][..piece] {
                return Ok(PairLook::OneByOne);
            }
            digester.update(&self.buffers[0][..piece]);
            done += piece as u64;
        }
        let digest = digester.finish();
        Ok(PairLook::Equal { digest, at })
    }
}
