//! Reads the bytes of a file for a question without an index.

use std::path::Path;

use resemble_core::StopFlag;

use super::pieces::Piece;
use super::{InPieces, ReadFailure, open_regular};
use crate::walk::Anchor;

/// Reads files one after another through one buffer, and passes their bytes on.
#[derive(Debug)]
pub struct Bytes(InPieces);

impl Default for Bytes {
    fn default() -> Self {
        Self::new()
    }
}

/// A piece of a file.
#[derive(Debug)]
pub enum Next<'a> {
    /// Bytes of data.
    Bytes(&'a [u8]),
    /// A hole, with its number of zeros.
    Zeros(u64),
}

impl Bytes {
    /// Returns a reader with an empty buffer.
    pub fn new() -> Self {
        Self(InPieces {
            buffer: Vec::new(),
            whole: None,
            stop: StopFlag::default(),
            until: None,
            spares_cache: false,
        })
    }

    /// Reads the file at a path below the anchor, and passes its bytes to `take`. Does not read
    /// more bytes than the file had when it was opened. Returns the number of bytes. This function
    /// does not notice if the file changes meanwhile, but the caller can compare the digest.
    pub fn of(
        &mut self,
        anchor: &Anchor,
        path: &Path,
        take: &mut dyn FnMut(Next<'_>),
    ) -> Result<u64, ReadFailure> {
        let (file, stat) = open_regular(anchor, path)?;
        let mut size = 0;
        let all = 0..stat.size;
        self.0.stream(&file, &stat, all, &mut |piece| match piece {
            Piece::Bytes(bytes) => {
                size += bytes.len() as u64;
                take(Next::Bytes(bytes));
            }
            Piece::Zeros(count) => {
                size += count;
                take(Next::Zeros(count));
            }
        })?;
        Ok(size)
    }
}
