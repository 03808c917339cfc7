//! Simulated archives and documents, and the reader that takes them apart.
//!
//! Their bytes are scrambled, so that a simulated archive shares no bytes with its members.

use std::os::fd::BorrowedFd;

use resemble_extract::{Bound, Part, Role, Sink};
use resemble_scan::parts::{PartReader, Skipped};
use resemble_testutil::random::noise;

const MAGIC: &[u8] = b"\0FAKE";

/// One record of a simulated archive or document.
#[derive(Clone, Debug)]
pub(crate) enum Record {
    Part {
        role: Role,
        parent: Option<u32>,
        name: Vec<u8>,
        bytes: Vec<u8>,
    },
    /// A truncated part.
    Broken { parent: Option<u32>, name: Vec<u8> },
    /// A skipped part of the file.
    Skip(Vec<u8>),
    /// Text that the document leaves out on purpose.
    Hide,
    /// The whole file is unreadable.
    Fail,
    /// The reader is not installed.
    NotRun,
}

pub(crate) fn text_of(bytes: impl AsRef<[u8]>) -> Record {
    part(Role::Text, None, "", bytes)
}

pub(crate) fn packed(name: &str, bytes: impl AsRef<[u8]>) -> Record {
    part(Role::Unpacked, None, name, bytes)
}

pub(crate) fn member(name: &str, bytes: impl AsRef<[u8]>) -> Record {
    part(Role::Member, None, name, bytes)
}

pub(crate) fn part(role: Role, parent: Option<u32>, name: &str, bytes: impl AsRef<[u8]>) -> Record {
    Record::Part {
        role,
        parent,
        name: name.as_bytes().to_vec(),
        bytes: bytes.as_ref().to_vec(),
    }
}

/// Returns the bytes of a simulated file, scrambled by `key`. Files with different keys have
/// nothing in common.
pub(crate) fn fake(key: u64, records: &[Record]) -> Vec<u8> {
    let mut plain = Vec::new();
    let number = |plain: &mut Vec<u8>, n: usize| plain.extend_from_slice(&(n as u32).to_le_bytes());
    let parent_of = |parent: &Option<u32>| parent.map_or(0, |parent| parent as usize + 1);
    for record in records {
        let (kind, parent, name, bytes) = match record {
            Record::Part {
                role,
                parent,
                name,
                bytes,
            } => {
                let kind = match role {
                    Role::Text => 0,
                    Role::Unpacked => 1,
                    Role::Member => 2,
                };
                (kind, parent_of(parent), name.clone(), bytes.clone())
            }
            Record::Broken { parent, name } => (3, parent_of(parent), name.clone(), Vec::new()),
            Record::Skip(path) => (4, 0, path.clone(), Vec::new()),
            Record::Hide => (7, 0, Vec::new(), Vec::new()),
            Record::Fail => (5, 0, Vec::new(), Vec::new()),
            Record::NotRun => (6, 0, Vec::new(), Vec::new()),
        };
        number(&mut plain, kind);
        number(&mut plain, parent);
        number(&mut plain, name.len());
        plain.extend_from_slice(&name);
        number(&mut plain, bytes.len());
        plain.extend_from_slice(&bytes);
    }
    let mut file = MAGIC.to_vec();
    file.extend_from_slice(&key.to_le_bytes());
    file.extend(scrambled(key, &plain));
    file
}

fn scrambled(key: u64, bytes: &[u8]) -> Vec<u8> {
    let noise = noise(key, bytes.len());
    bytes
        .iter()
        .zip(noise)
        .map(|(byte, noise)| byte ^ noise)
        .collect()
}

/// The reader of simulated files. It also takes apart any file called `*.conv`, whose text is its
/// bytes in capitals.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fake;

impl PartReader for Fake {
    fn applies(&self, name: &[u8], head: &[u8], _: Option<BorrowedFd<'_>>) -> bool {
        head.starts_with(MAGIC) || name.ends_with(b".conv")
    }

    fn read_parts(
        &self,
        _name: &[u8],
        head: &[u8],
        file: BorrowedFd<'_>,
        sink: &mut dyn Sink,
    ) -> Result<Vec<(Vec<u8>, Skipped)>, Skipped> {
        let mut bytes = Vec::new();
        let mut piece = [0; 4096];
        loop {
            match rustix::io::pread(file, &mut piece, bytes.len() as u64).expect("readable") {
                0 => break,
                read => bytes.extend_from_slice(&piece[..read]),
            }
        }
        if !head.starts_with(MAGIC) {
            sink.begin(Part {
                role: Role::Text,
                parent: None,
                name: Vec::new(),
            });
            sink.bytes(&bytes.to_ascii_uppercase());
            sink.end();
            return Ok(Vec::new());
        }
        let key = u64::from_le_bytes(bytes[5..13].try_into().expect("a key"));
        let plain = scrambled(key, &bytes[13..]);
        let mut rest = &plain[..];
        let number = |rest: &mut &[u8]| {
            let (first, after) = rest.split_at(4);
            *rest = after;
            u32::from_le_bytes(first.try_into().expect("a number"))
        };
        let mut skipped = Vec::new();
        while !rest.is_empty() {
            let kind = number(&mut rest);
            let parent = number(&mut rest).checked_sub(1);
            let length = number(&mut rest) as usize;
            let (name, after) = rest.split_at(length);
            rest = after;
            let length = number(&mut rest) as usize;
            let (bytes, after) = rest.split_at(length);
            rest = after;
            let role = match kind {
                0 => Role::Text,
                1 => Role::Unpacked,
                4 => {
                    skipped.push((name.to_vec(), Skipped::TooMuch(Bound::Depth)));
                    continue;
                }
                7 => {
                    skipped.push((Vec::new(), Skipped::LeftOut("hidden".into())));
                    continue;
                }
                5 => return Err(Skipped::Encrypted),
                6 => return Err(Skipped::NotRun("not there".into())),
                _ => Role::Member,
            };
            sink.begin(Part {
                role,
                parent,
                name: name.to_vec(),
            });
            for piece in bytes.chunks(1000) {
                sink.bytes(piece);
            }
            if kind == 3 {
                sink.bytes(b"half of it");
                sink.drop_part();
            } else {
                sink.end();
            }
        }
        Ok(skipped)
    }

    fn id(&self) -> String {
        "fake 1".into()
    }
}
