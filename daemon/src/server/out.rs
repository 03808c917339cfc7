//! Carries an answer from the thread that computes it to the task that writes it.

use resemble_proto::frame::{FrameError, MAX_ANSWER, encode};
use resemble_proto::message::{Answer, Failure, FailureKind, Reply};
use resemble_relate::findings::MemoryCache;
use serde::Serialize;
use tokio::sync::mpsc;

/// The number of bytes that are collected before they are sent as one piece.
const PIECE: usize = 64 * 1024;
/// The maximum number of pieces in the channel.
const ON_THE_WAY: usize = 4;

/// The maximum number of bytes of an answer that is stored. The cache has room for two such answers
/// and for the data from which they were made.
const MOST_COPIED: usize = MemoryCache::MOST_BYTES / 4;

/// The client is gone, or the answer cannot continue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct ClientGone;

/// The sending end of the channel, for the thread that computes the answer.
#[derive(Debug)]
pub(super) struct Out {
    pieces: mpsc::Sender<Vec<u8>>,
    gathered: Vec<u8>,
    /// A copy of the lines, to be stored in the cache.
    copy: Option<Vec<u8>>,
}

/// Returns both ends of a channel for an answer.
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
    /// Adds a line to the answer. Blocks while the client is slow, so asynchronous code must not
    /// call this.
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

    /// Begins a copy of all further lines. The copy is dropped if it gets too large to be stored.
    pub(super) fn copy(&mut self) {
        self.copy = Some(Vec::new());
    }

    /// Returns the copied lines; `None` if no copy was begun or the lines were too large.
    pub(super) const fn take_copy(&mut self) -> Option<Vec<u8>> {
        self.copy.take()
    }

    /// Adds lines of an answer that was stored.
    pub(super) fn raw(&mut self, lines: &[u8]) -> Result<(), ClientGone> {
        self.copy = None;
        for piece in lines.chunks(PIECE) {
            self.gathered.extend_from_slice(piece);
            self.flush()?;
        }
        Ok(())
    }

    /// Adds a whole answer or a failure, and sends everything.
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

    /// Sends the collected bytes as one piece.
    pub(super) fn flush(&mut self) -> Result<(), ClientGone> {
        if self.gathered.is_empty() {
            return Ok(());
        }
        self.pieces
            .blocking_send(std::mem::take(&mut self.gathered))
            .map_err(|_| ClientGone)
    }
}

/// Returns the line that reports a failure to the client.
pub(super) fn failed_line(failure: Failure) -> Vec<u8> {
    // A failure is a kind and a sentence. It can always be written as JSON and is never too long.
    encode(&Reply::<()>::Failed(failure), MAX_ANSWER).unwrap_or_default()
}
