//! The frames in which the worker writes its results and the parent reads them.
//!
//! A frame is a length (32 bits, little endian) and that many bytes in the format postcard. The
//! parent does not trust the frames. If a length is too large, a kind is unknown or a frame is out
//! of order, the worker counts as crashed.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::{Role, Skipped};

/// The maximum number of payload bytes in a frame.
pub(crate) const LONGEST: usize = 64 << 10;

/// The number of bytes in a frame that are not payload: its kind and the length of the payload.
const AROUND: usize = 8;

/// The maximum length of names and paths in bytes. The worker cuts longer ones.
pub(crate) const LONGEST_NAME: usize = 16 << 10;

/// The maximum length of a library's message in bytes. The worker cuts longer ones.
const LONGEST_MESSAGE: usize = 200;

/// A message from the worker to the parent.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Frame<'a> {
    /// Begins a part.
    Begin {
        role: Role,
        parent: Option<u32>,
        #[serde(serialize_with = "put_name", deserialize_with = "name")]
        name: &'a [u8],
    },
    /// The next bytes of the part.
    Bytes(#[serde(serialize_with = "put_bytes")] &'a [u8]),
    /// Completes the part.
    End,
    /// Drops the part.
    Drop,
    /// The file or member at this path was skipped for this reason.
    Skip {
        why: Skipped,
        #[serde(serialize_with = "put_name", deserialize_with = "name")]
        path: &'a [u8],
    },
    /// A reader starts with the file or member at this path. If the reader crashes, the next run
    /// leaves out the reader.
    Enter {
        item: u32,
        #[serde(serialize_with = "put_name", deserialize_with = "name")]
        path: &'a [u8],
    },
    /// A reader has finished: of the readers that were still running, the one that was announced
    /// last.
    Leave,
    /// The date that the file itself states, and the number of the source of this date.
    Date { seconds: i64, source: u8 },
    /// The file is complete, so no frame follows.
    Done,
}

/// Writes a slice in one piece, because serde would write it byte by byte.
fn put_bytes<S: Serializer>(bytes: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(bytes)
}

/// Writes a name, and cuts it if it is too long.
fn put_name<S: Serializer>(name: &[u8], to: S) -> Result<S::Ok, S::Error> {
    to.serialize_bytes(&name[..name.len().min(LONGEST_NAME)])
}

/// Reads a name; fails if it is too long.
fn name<'de, D: Deserializer<'de>>(from: D) -> Result<&'de [u8], D::Error> {
    let name = <&[u8]>::deserialize(from)?;
    if name.len() > LONGEST_NAME {
        return Err(D::Error::custom("a name is too long"));
    }
    Ok(name)
}

/// Writes a message, and cuts it between characters if it is too long.
pub(crate) fn put_message<S: Serializer>(message: &str, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&message[..message.floor_char_boundary(LONGEST_MESSAGE)])
}

impl Frame<'_> {
    /// Appends the frame to a buffer.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        let start = to.len();
        to.extend_from_slice(&[0; 4]);
        // Writing to a vector never fails.
        if postcard::to_io(self, &mut *to).is_ok() {
            let length = (to.len() - start - 4) as u32;
            to[start..start + 4].copy_from_slice(&length.to_le_bytes());
        }
    }
}

/// The result of [`read`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    /// A frame and the number of its bytes.
    Frame(Frame<'a>, usize),
    /// The frame is not complete yet.
    Incomplete,
    /// The bytes are not a frame.
    Nonsense,
}

/// Parses the frame at the beginning of a buffer.
pub(crate) fn read(bytes: &[u8]) -> Found<'_> {
    let Some((length, rest)) = bytes.split_first_chunk() else {
        return Found::Incomplete;
    };
    let length = u32::from_le_bytes(*length) as usize;
    if length > LONGEST + AROUND {
        return Found::Nonsense;
    }
    let Some(body) = rest.get(..length) else {
        return Found::Incomplete;
    };
    match postcard::take_from_bytes(body) {
        Ok((frame, [])) => Found::Frame(frame, 4 + length),
        _ => Found::Nonsense,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::Bound;

    #[test]
    fn frames_come_back_as_they_were() {
        let skips = [
            Skipped::Encrypted,
            Skipped::Crashed,
            Skipped::Damaged("bad magic".to_owned()),
            Skipped::NotRun(String::new()),
            Skipped::Unread {
                place: "page 3".to_owned(),
                reason: "no letter is known".to_owned(),
            },
            Skipped::Unsupported("method 97".to_owned()),
            Skipped::LeftOut("2 hidden texts".to_owned()),
        ];
        let mut frames = vec![
            Frame::Begin {
                role: Role::Member,
                parent: Some(7),
                name: b"a/\xff",
            },
            Frame::Begin {
                role: Role::Text,
                parent: None,
                name: b"",
            },
            Frame::Bytes(b"text"),
            Frame::End,
            Frame::Drop,
            Frame::Enter {
                item: 3,
                path: b"x!y",
            },
            Frame::Leave,
            Frame::Date {
                seconds: -7,
                source: 4,
            },
            Frame::Done,
        ];
        let bounds = [Bound::Depth, Bound::Ratio, Bound::Memory].map(Skipped::TooMuch);
        for why in skips.into_iter().chain(bounds) {
            frames.push(Frame::Skip { why, path: b"p" });
        }
        let mut wire = Vec::new();
        for frame in &frames {
            frame.write(&mut wire);
        }
        let (mut at, mut back) = (0, Vec::new());
        while at < wire.len() {
            let Found::Frame(frame, length) = read(&wire[at..]) else {
                panic!("at {at}");
            };
            for cut in 0..length {
                assert_eq!(read(&wire[at..at + cut]), Found::Incomplete);
            }
            back.push(frame);
            at += length;
        }
        assert_eq!(back, frames);
    }

    #[test]
    fn long_messages_are_cut_between_characters() {
        let why = Skipped::Damaged("é".repeat(150));
        let mut wire = Vec::new();
        Frame::Skip { why, path: b"" }.write(&mut wire);
        let Found::Frame(
            Frame::Skip {
                why: Skipped::Damaged(message),
                ..
            },
            _,
        ) = read(&wire)
        else {
            panic!("{wire:?}");
        };
        assert_eq!(message, "é".repeat(100));
    }

    #[test]
    fn long_names_are_cut_and_longer_ones_are_no_frame() {
        let name = vec![b'a'; LONGEST_NAME + 1];
        let enter = |path| Frame::Enter { item: 1, path };
        let mut wire = Vec::new();
        enter(&name).write(&mut wire);
        let cut = enter(&name[..LONGEST_NAME]);
        assert_eq!(read(&wire), Found::Frame(cut, wire.len()));
        // Makes the name one byte too long, and adjusts the lengths of the frame and of the name.
        wire.push(b'a');
        wire[0] += 1;
        wire[6] += 1;
        assert_eq!(read(&wire), Found::Nonsense);
    }

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(
            bytes in prop::collection::vec(any::<u8>(), 0..64),
            kind in 0..12u8,
        ) {
            let mut frame = (bytes.len() as u32 + 1).to_le_bytes().to_vec();
            frame.push(kind);
            frame.extend(&bytes);
            read(&bytes);
            prop_assert_ne!(read(&frame), Found::Incomplete);
        }
    }
}
