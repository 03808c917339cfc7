//! What the worker writes and the parent reads: frames.
//!
//! A frame is a tag, the length of what follows (32 bits, little endian) and that. Every field of
//! variable length comes last, so that nothing has to be escaped. The parent takes nothing for
//! granted: a length beyond [`LONGEST`], an unknown tag, a frame out of order are all a crashed
//! worker.

use std::borrow::Cow;

use resemble_core::date::{DateSource, DocumentDate};

use crate::{Bound, Role, Skipped};

/// No frame carries more bytes.
pub(crate) const LONGEST: usize = 64 << 10;

/// No name and no path is longer; what is, is cut.
pub(crate) const LONGEST_NAME: usize = 16 << 10;

/// No message of a library is longer; what is, is cut.
const LONGEST_MESSAGE: usize = 200;

/// Stands between the place of an unread part and the reason.
const PLACE_ENDS: char = '\n';

/// "No parent" on the wire.
const NO_PARENT: u32 = u32::MAX;

/// One frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Frame<'a> {
    /// A part begins.
    Begin {
        role: Role,
        parent: Option<u32>,
        name: &'a [u8],
    },
    /// More of it.
    Bytes(&'a [u8]),
    /// The part is complete.
    End,
    /// The part is to be forgotten.
    Drop,
    /// What is at this path was skipped.
    Skip { why: Skipped, path: &'a [u8] },
    /// A reader sets to work on what is at this path. Were it to crash, this is what to leave out.
    Enter { item: u32, path: &'a [u8] },
    /// The reader that entered last is done.
    Leave,
    /// What the file itself states as its date.
    Date(DocumentDate),
    /// The file is done.
    Done,
}

impl Frame<'_> {
    /// Appends the frame to a buffer.
    pub(crate) fn write(&self, to: &mut Vec<u8>) {
        let start = to.len();
        to.extend_from_slice(&[0; 5]);
        let tag = match self {
            Self::Begin { role, parent, name } => {
                to.push(match role {
                    Role::Text => 0,
                    Role::Unpacked => 1,
                    Role::Member => 2,
                });
                to.extend_from_slice(&parent.unwrap_or(NO_PARENT).to_le_bytes());
                to.extend_from_slice(&name[..name.len().min(LONGEST_NAME)]);
                b'B'
            }
            Self::Bytes(bytes) => {
                to.extend_from_slice(bytes);
                b'b'
            }
            Self::End => b'E',
            Self::Drop => b'D',
            Self::Skip { why, path } => {
                let (code, message) = code(why);
                let message = message.as_ref();
                let mut end = message.len().min(LONGEST_MESSAGE);
                while !message.is_char_boundary(end) {
                    end -= 1;
                }
                to.push(code);
                to.push(end as u8);
                to.extend_from_slice(&message.as_bytes()[..end]);
                to.extend_from_slice(&path[..path.len().min(LONGEST_NAME)]);
                b'S'
            }
            Self::Enter { item, path } => {
                to.extend_from_slice(&item.to_le_bytes());
                to.extend_from_slice(&path[..path.len().min(LONGEST_NAME)]);
                b'I'
            }
            Self::Leave => b'L',
            Self::Date(date) => {
                to.extend_from_slice(&date.seconds.to_le_bytes());
                to.push(date.source as u8);
                b'T'
            }
            Self::Done => b'X',
        };
        let length = (to.len() - start - 5) as u32;
        to[start] = tag;
        to[start + 1..start + 5].copy_from_slice(&length.to_le_bytes());
    }
}

/// What [`read`] finds.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Found<'a> {
    /// A frame, and how many bytes it took.
    Frame(Frame<'a>, usize),
    /// More bytes are needed.
    Incomplete,
    /// This is no frame.
    Nonsense,
}

/// The frame at the beginning of a buffer.
pub(crate) fn read(bytes: &[u8]) -> Found<'_> {
    let Some((&[tag, a, b, c, d], rest)) = bytes.split_first_chunk() else {
        return Found::Incomplete;
    };
    let length = u32::from_le_bytes([a, b, c, d]) as usize;
    if length > LONGEST {
        return Found::Nonsense;
    }
    let Some(body) = rest.get(..length) else {
        return Found::Incomplete;
    };
    match parse(tag, body) {
        Some(frame) => Found::Frame(frame, 5 + length),
        None => Found::Nonsense,
    }
}

fn parse(tag: u8, body: &[u8]) -> Option<Frame<'_>> {
    Some(match (tag, body) {
        (b'B', [role, rest @ ..]) => {
            let (parent, name) = rest.split_first_chunk()?;
            let parent = u32::from_le_bytes(*parent);
            Frame::Begin {
                role: match role {
                    0 => Role::Text,
                    1 => Role::Unpacked,
                    2 => Role::Member,
                    _ => return None,
                },
                parent: (parent != NO_PARENT).then_some(parent),
                name: Some(name).filter(|name| name.len() <= LONGEST_NAME)?,
            }
        }
        (b'b', bytes) => Frame::Bytes(bytes),
        (b'E', []) => Frame::End,
        (b'D', []) => Frame::Drop,
        (b'S', [code, length, rest @ ..]) => {
            let (message, path) = rest.split_at_checked(usize::from(*length))?;
            Frame::Skip {
                why: of_code(*code, std::str::from_utf8(message).ok()?)?,
                path: Some(path).filter(|path| path.len() <= LONGEST_NAME)?,
            }
        }
        (b'I', body) => {
            let (item, path) = body.split_first_chunk()?;
            Frame::Enter {
                item: u32::from_le_bytes(*item),
                path: Some(path).filter(|path| path.len() <= LONGEST_NAME)?,
            }
        }
        (b'L', []) => Frame::Leave,
        (b'T', body) => {
            let (seconds, source) = body.split_first_chunk()?;
            let &[source] = source else { return None };
            Frame::Date(DocumentDate {
                seconds: i64::from_le_bytes(*seconds),
                source: DateSource::of_number(source)?,
            })
        }
        (b'X', []) => Frame::Done,
        _ => return None,
    })
}

const BOUNDS: [Bound; 6] = [
    Bound::Depth,
    Bound::Ratio,
    Bound::Bytes,
    Bound::Parts,
    Bound::Time,
    Bound::Memory,
];

fn code(why: &Skipped) -> (u8, Cow<'_, str>) {
    match why {
        Skipped::Encrypted => (0, "".into()),
        Skipped::Damaged(message) => (1, message.into()),
        Skipped::Crashed => (2, "".into()),
        // No worker starts processes.
        Skipped::NotNow(_) => (3, "".into()),
        Skipped::NotRun(message) => (3, message.into()),
        Skipped::Unread { place, reason } => (4, format!("{place}{PLACE_ENDS}{reason}").into()),
        Skipped::Unsupported(message) => (5, message.into()),
        Skipped::LeftOut(message) => (6, message.into()),
        Skipped::TooMuch(bound) => {
            let at = BOUNDS.iter().position(|of| of == bound).unwrap_or(0);
            (10 + at as u8, "".into())
        }
    }
}

fn of_code(code: u8, message: &str) -> Option<Skipped> {
    Some(match code {
        0 => Skipped::Encrypted,
        1 => Skipped::Damaged(message.to_owned()),
        2 => Skipped::Crashed,
        3 => Skipped::NotRun(message.to_owned()),
        4 => {
            let (place, reason) = message.split_once(PLACE_ENDS)?;
            Skipped::Unread {
                place: place.to_owned(),
                reason: reason.to_owned(),
            }
        }
        5 => Skipped::Unsupported(message.to_owned()),
        6 => Skipped::LeftOut(message.to_owned()),
        _ => Skipped::TooMuch(*BOUNDS.get(usize::from(code.checked_sub(10)?))?),
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
            Frame::Date(DocumentDate {
                seconds: -7,
                source: DateSource::MailDate,
            }),
            Frame::Done,
        ];
        let bounds = BOUNDS.map(Skipped::TooMuch);
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

    proptest! {
        #[test]
        fn no_bytes_are_too_odd(
            bytes in prop::collection::vec(any::<u8>(), 0..64),
            tag in prop::sample::select(b"BbEDSILTX".to_vec()),
        ) {
            let mut frame = vec![tag];
            frame.extend((bytes.len() as u32).to_le_bytes());
            frame.extend(&bytes);
            read(&bytes);
            prop_assert_ne!(read(&frame), Found::Incomplete);
        }
    }
}
