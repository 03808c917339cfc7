//! Carries an answer from the thread that computes it to the task that writes it.

use resemble_proto::frame::{FrameError, MAX_ANSWER, encode};
use resemble_proto::message::{Answer, Failure, FailureKind, Reply};
use resemble_query::compare::MemoryCache;
use serde::Serialize;
use tokio::sync::mpsc;

/// Bytes gathered before they are handed over.
const PIECE: usize = 64 * 1024;
/// The most pieces that are on the way at once.
const ON_THE_WAY: usize = 4;

/// A longer answer is not kept: two of these and what they are made of find room together.
const MOST_COPIED: usize = MemoryCache::MOST_BYTES / 4;

/// The client is gone, or the answer cannot go on: nothing more is wanted of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientGone;

/// The end of the thread that computes.
#[derive(Debug)]
pub(super) struct Out {
    pieces: mpsc::Sender<Vec<u8>>,
    gathered: Vec<u8>,
    /// The lines again, to be kept.
    copy: Option<Vec<u8>>,
}

/// Both ends.
pub(super) fn channel() -> (Out, mpsc::Receiver<Vec<u8>>) {
    let (pieces, receiver) = mpsc::channel(ON_THE_WAY);
    (
        Out {
            pieces,
            gathered: Vec::new(),
            copy: None,
        },
        receiver,
    )
}

impl Out {
    /// Adds a line. Blocks while the client is slow; not for asynchronous code.
    pub(super) fn line<T: Serialize>(&mut self, value: &T) -> Result<(), ClientGone> {
        match encode(value, MAX_ANSWER) {
            Ok(line) => {
                let copy = self.copy.as_mut();
                if let Some(copy) = copy.filter(|copy| copy.len() + line.len() <= MOST_COPIED) {
                    copy.extend_from_slice(&line);
                } else {
                    self.copy = None;
                }
                self.gathered.extend(line);
            }
            Err(FrameError::TooLong { limit }) => {
                let text = format!("a row of more than {limit} bytes");
                let failure = Failure::new(FailureKind::Internal, text);
                self.gathered.extend(failed_line(failure));
                self.flush()?;
                return Err(ClientGone);
            }
            Err(error) => {
                tracing::error!(%error, "an answer cannot be written down");
                return Err(ClientGone);
            }
        }
        if self.gathered.len() >= PIECE {
            self.flush()
        } else {
            Ok(())
        }
    }

    /// Copies the lines from here on, as long as they are not too many to be kept.
    pub(super) fn copy(&mut self) {
        self.copy = Some(Vec::new());
    }

    /// The lines that were copied, if that is all of them.
    pub(super) const fn take_copy(&mut self) -> Option<Vec<u8>> {
        self.copy.take()
    }

    /// Adds lines that were written before.
    pub(super) fn raw(&mut self, lines: &[u8]) -> Result<(), ClientGone> {
        self.copy = None;
        for piece in lines.chunks(PIECE) {
            self.gathered.extend_from_slice(piece);
            self.flush()?;
        }
        Ok(())
    }

    /// Adds a whole answer, or why there is none, and hands everything over.
    pub(super) fn answer<R: Serialize>(
        &mut self,
        answer: Result<Answer<R>, Failure>,
    ) -> Result<(), ClientGone> {
        match answer {
            Ok(answer) => {
                for reply in answer.into_replies() {
                    self.line(&reply)?;
                }
            }
            Err(failure) => self.gathered.extend(failed_line(failure)),
        }
        self.flush()
    }

    /// Hands over what was gathered.
    pub(super) fn flush(&mut self) -> Result<(), ClientGone> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        self.pieces
            .blocking_send(std::mem::take(&mut self.gathered))
            .map_err(|_| ClientGone)
    }
}

/// The line that tells a client of a failure.
pub(super) fn failed_line(failure: Failure) -> Vec<u8> {
    // A kind and a sentence are always JSON and never too long.
    encode(&Reply::<()>::Failed(failure), MAX_ANSWER).unwrap_or_default()
}
