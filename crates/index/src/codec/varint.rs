//! LEB128 varints: each byte has seven bits of the number, low bits first. The top bit of a byte is
//! set if more bytes follow.

use resemble_core::date::{DateSource, DocumentDate};
use serde::{Deserialize, Serialize};

/// Appends `value`.
pub fn put(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends a date.
pub fn put_date(out: &mut Vec<u8>, date: DocumentDate) {
    put_signed(out, date.seconds);
    out.push(date.source as u8);
}

/// Appends a signed value with zigzag coding, so that small magnitudes take few bytes.
pub fn put_signed(out: &mut Vec<u8>, value: i64) {
    put(out, ((value << 1) ^ (value >> 63)).cast_unsigned());
}

/// Appends a value in the postcard format. That format also uses these varints, puts the length
/// before texts and lists, and encodes an enum variant as its number.
pub fn put_value(out: &mut Vec<u8>, value: &impl Serialize) {
    let written = postcard::to_io(value, out);
    debug_assert!(written.is_ok(), "a vector takes everything");
}

/// Reads values from the front of a slice. A method that reads a value returns `None` if the slice
/// has too few bytes, or if the value does not fit its type.
#[derive(Clone, Copy, Debug)]
pub struct Reader<'a>(
    /// The remaining bytes.
    pub &'a [u8],
);

impl<'a> Reader<'a> {
    /// Reads a value that [`put_value`] appended.
    pub fn value<T: Deserialize<'a>>(&mut self) -> Option<T> {
        let (value, rest) = postcard::take_from_bytes(self.0).ok()?;
        self.0 = rest;
        Some(value)
    }

    /// Reads one byte.
    pub fn byte(&mut self) -> Option<u8> {
        let (&first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(first)
    }

    /// Reads a number of up to 64 bits.
    pub fn u64(&mut self) -> Option<u64> {
        let mut value = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            let part = u64::from(byte & 0x7f);
            if shift == 63 && part > 1 {
                return None;
            }
            value |= part << shift;
            if byte < 0x80 {
                return Some(value);
            }
        }
        None
    }

    /// Reads a number of up to 32 bits.
    pub fn u32(&mut self) -> Option<u32> {
        self.u64()?.try_into().ok()
    }

    /// Reads a number of up to 16 bits.
    pub fn u16(&mut self) -> Option<u16> {
        self.u64()?.try_into().ok()
    }

    /// Reads a signed number with zigzag coding.
    pub fn i64(&mut self) -> Option<i64> {
        let coded = self.u64()?;
        Some((coded >> 1).cast_signed() ^ -(coded & 1).cast_signed())
    }

    /// Reads `count` bytes.
    pub fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    /// Reads `N` bytes.
    pub fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (taken, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*taken)
    }

    /// Reads a date that [`put_date`] appended.
    pub fn date(&mut self) -> Option<DocumentDate> {
        Some(DocumentDate {
            seconds: self.i64()?,
            source: DateSource::of_number(self.byte()?)?,
        })
    }

    /// Returns all remaining bytes.
    pub fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }

    /// Returns `value` if no bytes remain.
    pub fn end<T>(self, value: T) -> Option<T> {
        self.0.is_empty().then_some(value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn numbers_come_back(values: Vec<u64>, signed: Vec<i64>) {
            let mut out = Vec::new();
            for &value in &values {
                put(&mut out, value);
            }
            for &value in &signed {
                put_signed(&mut out, value);
            }
            let mut reader = Reader(&out);
            for value in values {
                prop_assert_eq!(reader.u64(), Some(value));
            }
            for value in signed {
                prop_assert_eq!(reader.i64(), Some(value));
            }
            prop_assert_eq!(reader.byte(), None);
        }
    }

    #[test]
    fn too_long_or_cut_numbers_are_refused() {
        assert_eq!(Reader(&[0x80]).u64(), None);
        assert_eq!(Reader(&[0xff; 11]).u64(), None);
        let mut most = vec![0xff; 9];
        most.push(1);
        assert_eq!(Reader(&most).u64(), Some(u64::MAX));
        most[9] = 2;
        assert_eq!(Reader(&most).u64(), None);
        let mut out = Vec::new();
        put(&mut out, 1 << 32);
        assert_eq!(Reader(&out).u32(), None);
        assert_eq!(Reader(&[1, 2]).bytes(3), None);
    }
}
