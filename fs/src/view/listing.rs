//! Encodes the entries of a directory as bytes, which are stored like the bytes of a text.
//!
//! An entry is encoded as the inode number (8 bytes), the kind (1 byte), the length of the name (2
//! bytes) and the name.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use super::attr::Kind;
use super::held::Held;

/// The number of bytes of an encoded entry before its name.
const HEAD: usize = 11;
/// The number of bytes of a listing that are read at a time. The largest entry is smaller.
const PIECE: usize = 128 << 10;

/// One entry of a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    pub(crate) ino: u64,
    pub(crate) kind: Kind,
    pub(crate) name: OsString,
}

/// Encodes an entry at the end of `to`. If its name is too long to be encoded, the entry is left
/// out.
pub(crate) fn push(to: &mut Vec<u8>, ino: u64, kind: Kind, name: &OsStr) {
    let Ok(length) = u16::try_from(name.len()) else {
        return;
    };
    let kind = match kind {
        Kind::Directory => 0,
        Kind::File => 1,
        Kind::Link => 2,
    };
    to.extend_from_slice(&ino.to_le_bytes());
    to.push(kind);
    to.extend_from_slice(&length.to_le_bytes());
    to.extend_from_slice(name.as_bytes());
}

/// Decodes entries, beginning at a byte offset.
pub(crate) struct Reader<'h> {
    held: &'h Held,
    piece: Vec<u8>,
    /// The offset of `piece` in the listing. `next` is the position of the next entry in `piece`.
    begin: u64,
    next: usize,
}

impl<'h> Reader<'h> {
    pub(crate) fn at(held: &'h Held, byte: u64) -> Self {
        Self {
            held,
            piece: Vec::new(),
            begin: byte,
            next: 0,
        }
    }

    /// Returns the byte offset of the next entry in the listing.
    pub(crate) fn byte(&self) -> u64 {
        self.begin + self.next as u64
    }

    /// Returns the next entry; `None` at the end of the listing.
    pub(crate) fn next(&mut self) -> std::io::Result<Option<Listed>> {
        if let Some(listed) = self.parsed() {
            return Ok(Some(listed));
        }
        (self.begin, self.next) = (self.byte(), 0);
        self.piece = self.held.read(self.begin, PIECE)?;
        Ok(self.parsed())
    }

    /// Decodes the next entry; `None` if the piece does not have all bytes of the entry.
    fn parsed(&mut self) -> Option<Listed> {
        let rest = self.piece.get(self.next..)?;
        let (ino, rest) = rest.split_first_chunk::<8>()?;
        let ([kind, low, high], rest) = rest.split_first_chunk::<3>()?;
        let length = usize::from(u16::from_le_bytes([*low, *high]));
        let name = OsString::from_vec(rest.get(..length)?.to_vec());
        self.next += HEAD + length;
        let kind = match kind {
            0 => Kind::Directory,
            1 => Kind::File,
            _ => Kind::Link,
        };
        Some(Listed {
            ino: u64::from_le_bytes(*ino),
            kind,
            name,
        })
    }
}

#[cfg(test)]
mod tests {
    use resemble_callers::accounts::Account;

    use super::*;
    use crate::view::held::Store;
    use crate::view::shares::Shares;

    #[test]
    fn what_is_written_is_read_from_any_entry_on() {
        let entries: Vec<Listed> = (0..5000u64)
            .map(|n| Listed {
                ino: u64::MAX - n,
                kind: [Kind::Directory, Kind::File, Kind::Link][n as usize % 3],
                name: OsString::from_vec(vec![b'a' + (n % 26) as u8; n as usize % 256]),
            })
            .collect();
        let mut bytes = Vec::new();
        for entry in &entries {
            push(&mut bytes, entry.ino, entry.kind, &entry.name);
        }
        push(
            &mut bytes,
            1,
            Kind::File,
            OsStr::from_bytes(&vec![b'x'; 70_000]),
        );
        let store = Store::new(Shares::of_process(false), None);
        let held = store.keep(Account::UNKNOWN, bytes).unwrap();
        let mut reader = Reader::at(&held, 0);
        let mut begins = Vec::new();
        for entry in &entries {
            begins.push(reader.byte());
            assert_eq!(reader.next().unwrap().as_ref(), Some(entry));
        }
        assert_eq!(reader.next().unwrap(), None);
        assert_eq!(reader.next().unwrap(), None);
        for n in [0, 1, 2999, 4999] {
            let mut reader = Reader::at(&held, begins[n]);
            assert_eq!(reader.next().unwrap().as_ref(), Some(&entries[n]));
        }
        assert_eq!(Reader::at(&held, u64::MAX).next().unwrap(), None);
    }
}
