//! Reads the file of the sketches. A sketch is read when it is needed.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use resemble_methods::MethodSignature;

use super::files::{PhaseFile, damaged, failed, open};
use crate::error::PhaseError;

/// The number of bytes that are read first. Most sketches are shorter.
const PIECE: usize = 1 << 10;

/// The maximum size of a sketch in bytes. A sketch of 2^32 shingles has this size.
const LONGEST: usize = 1 << 34;

/// Returns the bytes of a sketch, preceded by their length.
pub(super) fn framed(signature: &MethodSignature) -> Vec<u8> {
    let encoded = signature.encode();
    let mut out = (encoded.len() as u64).to_le_bytes()[..5].to_vec();
    out.extend_from_slice(&encoded);
    out
}

/// The file of the sketches.
#[derive(Debug)]
pub(super) struct Sketches {
    path: PathBuf,
    file: File,
    start: u64,
}

impl Sketches {
    pub(super) fn open(path: &Path) -> Result<Self, PhaseError> {
        let (file, header) = open(path, PhaseFile::Sketches)?;
        Ok(Self {
            path: path.to_owned(),
            file,
            start: header.start,
        })
    }

    /// Returns the sketch that begins at this offset of the body.
    pub(super) fn at(&self, at: u64) -> Result<MethodSignature, PhaseError> {
        let mut piece = [0; PIECE];
        let mut filled = 0;
        // The last sketch may end before the piece is full.
        while filled < PIECE {
            let place = self.start.saturating_add(at) + filled as u64;
            match self.file.read_at(&mut piece[filled..], place) {
                Ok(0) => break,
                Ok(count) => filled += count,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(failed(&self.path, error)),
            }
        }
        let short = || damaged(&self.path, "a sketch is cut short");
        let (length, rest) = piece[..filled].split_first_chunk::<5>().ok_or_else(short)?;
        let length = length
            .iter()
            .rev()
            .fold(0usize, |all, &byte| all << 8 | usize::from(byte));
        let long;
        let bytes = if length <= rest.len() {
            &rest[..length]
        } else {
            let size = self
                .file
                .metadata()
                .map_err(|e| failed(&self.path, e))?
                .len();
            if length > LONGEST || length as u64 > size {
                return Err(short());
            }
            let mut whole = vec![0; length];
            self.file
                .read_exact_at(&mut whole, self.start.saturating_add(at).saturating_add(5))
                .map_err(|error| failed(&self.path, error))?;
            long = whole;
            &long
        };
        MethodSignature::decode(bytes).map_err(|_| damaged(&self.path, "a sketch cannot be read"))
    }
}
