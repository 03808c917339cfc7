//! Reads and writes lines of JSON, with a hard limit for their length.
//!
//! The daemon's asynchronous loop and the blocking client share the reader, [`LineBuffer`]. It is a
//! state machine without I/O. So every misbehaviour of a peer can be tested without a socket. For
//! any bytes, decoding gives a value or an error. It never panics, and it never uses more memory
//! than the limit.

use std::io::{self, Read};

use serde::Serialize;
use serde::de::DeserializeOwned;

/// The maximum length of a request in bytes. A digest of about two gigabytes of standard input fits
/// into it.
pub const MAX_REQUEST: usize = 64 << 20;
/// The maximum length of a line of an answer in bytes. The longest rows are those of `groups`: they
/// have 500 paths of up to 4,096 bytes.
pub const MAX_ANSWER: usize = 16 << 20;

/// The reason why a line cannot be read or written.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The line is longer than the limit. The rest of the stream cannot be read.
    #[error("a line of more than {limit} bytes")]
    TooLong {
        /// The maximum length of a line in bytes.
        limit: usize,
    },
    /// The stream ended in the middle of a line.
    #[error("the connection was closed in the middle of a line")]
    Truncated,
    /// The line is not JSON of the expected type.
    #[error("a line that cannot be understood: {0}")]
    Json(#[from] serde_json::Error),
    /// The stream could not be read.
    #[error(transparent)]
    Io(#[from] io::Error),
}

/// Encodes a value as a line that ends in a newline. JSON text contains no other newline.
///
/// # Errors
///
/// Fails with [`FrameError::TooLong`] if the line exceeds `limit` bytes.
pub fn encode<T: Serialize>(value: &T, limit: usize) -> Result<Vec<u8>, FrameError> {
    let mut line = serde_json::to_vec(value)?;
    line.push(b'\n');
    if line.len() > limit {
        Err(FrameError::TooLong { limit })
    } else {
        Ok(line)
    }
}

/// Decodes one line. The newline at its end may be missing.
pub fn decode<T: DeserializeOwned>(line: &[u8]) -> Result<T, FrameError> {
    Ok(serde_json::from_slice(line)?)
}

/// Splits a stream into lines. [`Self::push`] adds bytes, and [`Self::next_line`] returns lines.
/// The buffer contains at most the bytes of one `push` and one unfinished line. That line is not
/// longer than the limit.
#[derive(Debug)]
pub struct LineBuffer {
    bytes: Vec<u8>,
    /// The start of the bytes that are not returned yet.
    start: usize,
    /// The position up to which the buffer was searched for a newline.
    searched: usize,
    limit: usize,
}

impl LineBuffer {
    /// Creates a buffer for lines of at most `limit` bytes, newline included.
    pub const fn new(limit: usize) -> Self {
        Self {
            bytes: Vec::new(),
            start: 0,
            searched: 0,
            limit,
        }
    }

    /// Adds bytes from the stream.
    pub fn push(&mut self, bytes: &[u8]) {
        if self.start > 0 {
            self.bytes.drain(..self.start);
            self.searched -= self.start;
            self.start = 0;
        }
        self.bytes.extend_from_slice(bytes);
    }

    /// Returns the next whole line without its newline. Returns `None` if more bytes are needed.
    ///
    /// # Errors
    ///
    /// Fails with [`FrameError::TooLong`] if the line exceeds the limit, even if it is unfinished.
    /// The buffer is unusable afterwards.
    pub fn next_line(&mut self) -> Result<Option<&[u8]>, FrameError> {
        let newline = self.bytes[self.searched..]
            .iter()
            .position(|byte| *byte == b'\n');
        let end = newline.map(|offset| self.searched + offset);
        let length = end.map_or(self.bytes.len(), |end| end + 1) - self.start;
        if length > self.limit {
            return Err(FrameError::TooLong { limit: self.limit });
        }
        let Some(end) = end else {
            self.searched = self.bytes.len();
            return Ok(None);
        };
        let line = self.start..end;
        self.start = end + 1;
        self.searched = self.start;
        Ok(Some(&self.bytes[line]))
    }

    /// Returns whether every byte was returned. At the end of a stream, remaining bytes are a line
    /// that is cut off.
    pub fn is_empty(&self) -> bool {
        self.start == self.bytes.len()
    }
}

/// Reads the lines of a blocking stream.
#[derive(Debug)]
pub struct LineReader<S> {
    stream: S,
    buffer: LineBuffer,
}

impl<S: Read> LineReader<S> {
    /// Reads lines of at most `limit` bytes.
    pub const fn new(stream: S, limit: usize) -> Self {
        Self {
            stream,
            buffer: LineBuffer::new(limit),
        }
    }

    /// Returns the stream that the lines are read from.
    pub const fn get_ref(&self) -> &S {
        &self.stream
    }

    /// Returns the stream, so that the caller can write to it or close it.
    pub const fn get_mut(&mut self) -> &mut S {
        &mut self.stream
    }

    /// Reads and decodes the next line. Returns `None` at the end of the stream.
    pub fn next_value<T: DeserializeOwned>(&mut self) -> Result<Option<T>, FrameError> {
        let mut piece = [0; 16 * 1024];
        loop {
            // The line is decoded here because it borrows from the buffer, and `push` below changes
            // the buffer.
            if let Some(value) = self.buffer.next_line()?.map(decode) {
                return value.map(Some);
            }
            match self.stream.read(&mut piece) {
                Ok(0) if self.buffer.is_empty() => return Ok(None),
                Ok(0) => return Err(FrameError::Truncated),
                Ok(count) => self.buffer.push(&piece[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error.into()),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A stream that returns its bytes in pieces.
    struct Pieces(Vec<Vec<u8>>);

    impl Read for Pieces {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            if self.0.is_empty() {
                return Ok(0);
            }
            let mut piece = self.0.remove(0);
            if piece.len() > into.len() {
                self.0.insert(0, piece.split_off(into.len()));
            }
            into[..piece.len()].copy_from_slice(&piece);
            Ok(piece.len())
        }
    }

    fn reader(bytes: &[u8], limit: usize) -> LineReader<Pieces> {
        LineReader::new(Pieces(bytes.chunks(3).map(<[u8]>::to_vec).collect()), limit)
    }

    #[test]
    fn lines_arrive_whole_whatever_the_pieces() {
        let mut reader = reader(b"1\n[2,\t3]\n\"x\"\n", 100);
        assert_eq!(reader.next_value::<u32>().unwrap(), Some(1));
        assert_eq!(reader.next_value::<Vec<u32>>().unwrap(), Some(vec![2, 3]));
        assert_eq!(reader.next_value::<String>().unwrap(), Some("x".into()));
        assert_eq!(reader.next_value::<u32>().unwrap(), None);
    }

    #[test]
    fn an_unfinished_line_is_an_error() {
        let mut reader = reader(b"1\n2", 100);
        assert_eq!(reader.next_value::<u32>().unwrap(), Some(1));
        assert!(matches!(
            reader.next_value::<u32>(),
            Err(FrameError::Truncated)
        ));
    }

    #[test]
    fn the_limit_is_hard_with_and_without_a_newline() {
        let mut exact = reader(b"\"12345\"\n", 8);
        assert_eq!(exact.next_value::<String>().unwrap(), Some("12345".into()));
        for text in [&b"\"123456\"\n"[..], &[b'1'; 50]] {
            let mut long = reader(text, 8);
            assert!(matches!(
                long.next_value::<String>(),
                Err(FrameError::TooLong { limit: 8 })
            ));
        }
        assert!(matches!(
            encode(&"123456", 8),
            Err(FrameError::TooLong { limit: 8 })
        ));
        assert_eq!(encode(&"12345", 8).unwrap(), b"\"12345\"\n");
    }

    #[test]
    fn nonsense_is_an_error() {
        for text in [
            &b"\n"[..],
            b"{\n",
            b"\xff\n",
            b"nul\n",
            &[b'['; 2000],
            b"1 2\n",
        ] {
            assert!(reader(text, 1000).next_value::<u32>().is_err(), "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_in_any_pieces_give_the_same_lines(
            bytes in proptest::collection::vec(prop_oneof![Just(b'\n'), any::<u8>()], 0..400),
            size in 1usize..50,
        ) {
            let mut buffer = LineBuffer::new(10_000);
            let mut lines: Vec<Vec<u8>> = Vec::new();
            for piece in bytes.chunks(size) {
                buffer.push(piece);
                while let Some(line) = buffer.next_line().unwrap() {
                    lines.push(line.to_vec());
                }
            }
            let mut expected: Vec<_> = bytes.split(|byte| *byte == b'\n').collect();
            let rest = expected.pop().unwrap_or_default();
            prop_assert_eq!(lines, expected);
            prop_assert_eq!(buffer.is_empty(), rest.is_empty());
        }
    }
}
