//! The origin of a content: the time and the name at which it was first seen.
//!
//! If a batch has a time, it writes a row with the origin of each content that it adds. The row is
//! deleted with the content. So origins need no extra reads and no limit of their own. Instead of a
//! path, a row has a directory and a name in that directory. So the row stays right if the
//! directory is renamed. Suppose that a directory is removed. If a file in it also has another
//! name, its origin changes to that name. All other origins in the directory become unknown, but
//! their rows stay unchanged.

use resemble_core::DirId;

use crate::codec::Malformed;
use crate::codec::varint::{self, Reader};

/// The time and the name at which a content was first seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Origin {
    /// The time in seconds since 1970.
    pub(crate) time: i64,
    pub(crate) dir: DirId,
    pub(crate) name: Vec<u8>,
}

impl Origin {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        varint::put_signed(out, self.time);
        varint::put(out, u64::from(self.dir.0));
        out.extend_from_slice(&self.name);
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader(bytes);
        let mut row = || {
            let (time, dir) = (reader.i64()?, DirId(reader.u32()?));
            let name = reader.rest().to_vec();
            (!name.is_empty()).then_some(Self { time, dir, name })
        };
        row().ok_or(Malformed("origins"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_read_as_it_was_written() {
        let row = Origin {
            time: -5,
            dir: DirId(300),
            name: b"a\xff".to_vec(),
        };
        let mut bytes = vec![1];
        row.encode(&mut bytes);
        assert_eq!(Origin::decode(&bytes).unwrap(), row);
        assert!(Origin::decode(&bytes[..3]).is_err());
        assert!(Origin::decode(&[]).is_err());
    }
}
