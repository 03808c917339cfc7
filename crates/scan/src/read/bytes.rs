//! The bytes of a file for a question, without an index to ask.

use std::path::Path;

use resemble_core::StopFlag;

use super::pieces::Piece;
use super::{InPieces, ReadFailure, open_regular};
use crate::walk::Anchor;

/// Hands out the bytes of files, one after the other, through one buffer.
#[derive(Debug)]
pub struct Bytes(InPieces);

impl Default for Bytes {
    fn default() -> Self {
        Self::new()
    }
}

/// What is handed out.
#[derive(Debug)]
pub enum Next<'a> {
    /// These bytes.
    Bytes(&'a [u8]),
    /// So many zeros: a hole.
    Zeros(u64),
}

impl Bytes {
    /// Starts with an empty buffer.
    pub fn new() -> Self {
        Self(InPieces {
            buffer: Vec::new(),
            whole: None,
            stop: StopFlag::default(),
            until: None,
            spares_cache: false,
        })
    }

    /// Hands over the file at a path below the anchor, no more of it than it had when it was
    /// opened; how many bytes that was. What changes meanwhile is handed over as it is: whoever
    /// must know compares the digest.
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
