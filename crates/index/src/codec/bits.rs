//! Packs numbers into fields of a fixed number of bits, without gaps, low bits first.

/// Returns the number of bits that `value` needs, 0 for 0.
pub(crate) const fn width(value: u64) -> u32 {
    u64::BITS - value.leading_zeros()
}

/// Returns the number of bytes that `bits` bits need.
pub(crate) const fn bytes(bits: usize) -> usize {
    bits.div_ceil(8)
}

/// Appends fields to a byte vector; [`Writer::finish`] pads the last byte with zeros.
#[derive(Debug)]
pub(crate) struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// Bits that are not written yet. Between calls there are fewer than 64.
    pending: u64,
    held: u32,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(out: &'a mut Vec<u8>) -> Self {
        Self {
            out,
            pending: 0,
            held: 0,
        }
    }

    /// Appends the low `width` bits of `value`; its other bits must be zero.
    pub(crate) fn put(&mut self, value: u64, width: u32) {
        debug_assert!(width == 64 || value >> width == 0);
        self.pending |= value << self.held;
        let held = self.held + width;
        self.held = held % u64::BITS;
        if held >= u64::BITS {
            self.out.extend_from_slice(&self.pending.to_le_bytes());
            // These are the bits that did not fit into the word, if any.
            self.pending = value.checked_shr(width - self.held).unwrap_or(0);
        }
    }

    pub(crate) fn finish(self) {
        let left = bytes(self.held as usize);
        self.out
            .extend_from_slice(&self.pending.to_le_bytes()[..left]);
    }
}

/// Returns the field of `width` ≤ 64 bits that begins at bit `at`. Bits past the end are zero.
pub(crate) fn get(bytes: &[u8], at: usize, width: u32) -> u64 {
    let field = (u128::from_le_bytes(window(bytes, at / 8)) >> (at % 8)) as u64;
    if width == 64 {
        field
    } else {
        field & ((1 << width) - 1)
    }
}

/// Returns the 64 bits that begin at byte `8 * word`. Bits past the end are zero.
pub(crate) fn word(bytes: &[u8], word: usize) -> u64 {
    u64::from_le_bytes(window(bytes, word * 8))
}

/// Returns `N` bytes from `first` on, with zeros past the end.
fn window<const N: usize>(bytes: &[u8], first: usize) -> [u8; N] {
    let rest = bytes.get(first..).unwrap_or_default();
    if let Some(whole) = rest.first_chunk() {
        return *whole;
    }
    let mut padded = [0; N];
    padded[..rest.len()].copy_from_slice(rest);
    padded
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn fields_come_back(fields in prop::collection::vec((any::<u64>(), 0u32..=64), 0..200)) {
            let fields: Vec<_> = fields
                .into_iter()
                .map(|(value, width)| {
                    (if width == 64 { value } else { value & ((1 << width) - 1) }, width)
                })
                .collect();
            let mut out = Vec::new();
            let mut writer = Writer::new(&mut out);
            for &(value, width) in &fields {
                writer.put(value, width);
            }
            writer.finish();
            let total: usize = fields.iter().map(|field| field.1 as usize).sum();
            prop_assert_eq!(out.len(), bytes(total));
            let mut at = 0;
            for (value, width) in fields {
                prop_assert_eq!(get(&out, at, width), value);
                at += width as usize;
            }
        }
    }

    #[test]
    fn widths() {
        assert_eq!(
            [width(0), width(1), width(255), width(256), width(u64::MAX)],
            [0, 1, 8, 9, 64]
        );
        assert_eq!(get(&[], 5, 10), 0);
        assert_eq!(word(&[1, 2], 0), 0x201);
        assert_eq!(word(&[1, 2], 3), 0);
    }
}
