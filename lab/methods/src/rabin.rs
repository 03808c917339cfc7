//! Computes Rabin's rolling fingerprints of byte windows, with 64 bits.
//!
//! The fingerprints are defined by Rabin 1981 (*Fingerprinting by random polynomials*). They are
//! used as in Cherkasova et al. 2009, section 2, and Forman et al. 2005, section 2.2. A window is
//! taken as a polynomial over GF(2) whose coefficients are the bits of the window. The fingerprint
//! of a window is the remainder modulo a fixed irreducible polynomial P of degree 64. P was drawn
//! at random:
//!
//! ```text
//! F(b1 … bw) = (1 b1 … bw) · x^64  mod P
//! ```
//!
//! Two choices are from Broder's *Some applications of Rabin's fingerprinting method* (1993):
//!
//! 1. A **leading 1**. Without it, a window of zero bytes would have the fingerprint 0. This is the
//!    smallest number, and every modulus divides it. So padding would be in each sample.
//! 2. **A factor x^64.** Without it, a window of up to eight bytes *is* its fingerprint. Then "the
//!    smallest fingerprint" would be the window that starts with the smallest byte.
//!
//! Each byte takes two table look-ups, whatever the window is. One is for the byte that enters the
//! window, the other for the byte that leaves it. Different windows of up to eight bytes never have
//! the same fingerprint. Different longer windows have the same fingerprint with a probability of
//! 2^-64.

use std::sync::Arc;

/// The polynomial P without its leading term. It was drawn at random (with the seed 1997-06-01) and
/// tested to be irreducible.
pub const POLYNOMIAL: u64 = 0xe4c4_3e34_5a5c_a85f;

/// The product t · x^64 mod P for every byte t.
const ENTERING: [u64; 256] = {
    let mut table = [0; 256];
    let mut byte = 0;
    while byte < 256 {
        let mut value = (byte as u64) << 56;
        let mut bit = 0;
        while bit < 8 {
            value = (value << 1) ^ if value >> 63 == 1 { POLYNOMIAL } else { 0 };
            bit += 1;
        }
        table[byte] = value;
        byte += 1;
    }
    table
};

/// Returns `value` · x^8 + `byte` · x^64, modulo P.
#[inline]
const fn push(value: u64, byte: u8) -> u64 {
    (value << 8) ^ ENTERING[((value >> 56) as u8 ^ byte) as usize]
}

/// Computes the fingerprints of all windows of `width` bytes in a content. The bytes are passed in
/// pieces of any size.
#[derive(Clone, Debug)]
pub struct Rolling {
    width: usize,
    leaving: Arc<[u64; 256]>,
    /// The contribution of the leading 1 to every fingerprint.
    leading: u64,
    value: u64,
    /// The last `width` bytes, in a ring. The next byte is written at `at`.
    ring: Vec<u8>,
    at: usize,
    /// The number of bytes that are missing until the first window is complete.
    missing: usize,
}

impl Rolling {
    /// Begins the first content.
    ///
    /// # Panics
    ///
    /// Panics if `width` is 0.
    pub fn new(width: usize) -> Self {
        assert!(width > 0, "a window has a byte");
        let mut leaving = [0; 256];
        for (byte, value) in (0..=255).zip(&mut leaving) {
            *value = (0..width).fold(push(0, byte), |value, _| push(value, 0));
        }
        Self {
            width,
            leading: leaving[1],
            leaving: Arc::new(leaving),
            value: 0,
            ring: vec![0; width],
            at: 0,
            missing: width,
        }
    }

    /// Begins another content.
    pub fn reset(&mut self) {
        self.value = 0;
        self.ring.fill(0);
        self.at = 0;
        self.missing = self.width;
    }

    /// Adds the next byte. Returns the fingerprint of the window that ends with this byte. Returns
    /// `None` until the first window is complete.
    #[inline]
    pub fn push(&mut self, byte: u8) -> Option<u64> {
        // Zeros before the content do not change a fingerprint, so the ring may initially contain
        // zeros.
        let gone = std::mem::replace(&mut self.ring[self.at], byte);
        self.at += 1;
        if self.at == self.width {
            self.at = 0;
        }
        self.value = push(self.value, byte) ^ self.leaving[usize::from(gone)];
        if self.missing > 1 {
            self.missing -= 1;
            return None;
        }
        self.missing = 0;
        Some(self.value ^ self.leading)
    }

    /// Adds the next bytes. `sink` receives the fingerprints of the windows that end in these
    /// bytes, in order.
    #[inline]
    pub fn update(&mut self, bytes: &[u8], mut sink: impl FnMut(u64)) {
        // After the first `width` bytes, `bytes` contains both the byte that enters and the byte
        // that leaves. So no ring is needed.
        let head = bytes.len().min(self.width);
        for &byte in &bytes[..head] {
            if let Some(value) = self.push(byte) {
                sink(value);
            }
        }
        if bytes.len() <= self.width {
            return;
        }
        let mut value = self.value;
        for (&entering, &gone) in bytes[self.width..].iter().zip(bytes) {
            value = push(value, entering) ^ self.leaving[usize::from(gone)];
            sink(value ^ self.leading);
        }
        self.value = value;
        self.at = 0;
        self.ring
            .copy_from_slice(&bytes[bytes.len() - self.width..]);
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Computes the fingerprint by its definition: by long division, one bit at a time.
    pub(crate) fn by_division(window: &[u8]) -> u64 {
        let modulus = 1u128 << 64 | u128::from(POLYNOMIAL);
        let bits = std::iter::once(true)
            .chain(
                window
                    .iter()
                    .flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1 == 1)),
            )
            .chain(std::iter::repeat_n(false, 64));
        let mut rest = 0u128;
        for bit in bits {
            rest = rest << 1 | u128::from(bit);
            if rest >> 64 == 1 {
                rest ^= modulus;
            }
        }
        rest as u64
    }

    /// Computes the fingerprints of all windows by their definition.
    pub(crate) fn windows(bytes: &[u8], width: usize) -> Vec<u64> {
        bytes.windows(width).map(by_division).collect()
    }

    proptest! {
        #[test]
        fn rolling_in_pieces_is_long_division(
            bytes in prop::collection::vec(any::<u8>(), 0..300),
            width in 1usize..101,
            size in 1usize..150,
        ) {
            let mut rolling = Rolling::new(width);
            for _twice in 0..2 {
                let mut all = Vec::new();
                bytes.chunks(size).for_each(|piece| rolling.update(piece, |f| all.push(f)));
                prop_assert_eq!(all, windows(&bytes, width));
                rolling.reset();
            }
        }
    }

    /// Returns a · b mod P.
    fn times(a: u64, b: u64) -> u64 {
        (0..64).rev().fold(0u64, |product, bit| {
            let doubled = product << 1 ^ if product >> 63 == 1 { POLYNOMIAL } else { 0 };
            doubled ^ if b >> bit & 1 == 1 { a } else { 0 }
        })
    }

    /// Performs Rabin's test: x^(2^64) = x, and x^(2^32) - x has no common factor with P.
    #[test]
    fn the_polynomial_is_irreducible() {
        let mut power = 2u64;
        let mut half = 0;
        for i in 1..=64 {
            power = times(power, power);
            if i == 32 {
                half = power;
            }
        }
        assert_eq!(power, 2);
        let (mut a, mut b) = (1u128 << 64 | u128::from(POLYNOMIAL), u128::from(half ^ 2));
        while b != 0 {
            while a.leading_zeros() <= b.leading_zeros() && a != 0 {
                a ^= b << (b.leading_zeros() - a.leading_zeros());
            }
            std::mem::swap(&mut a, &mut b);
        }
        assert_eq!(a, 1);
    }

    #[test]
    fn zeros_are_no_zero_and_short_windows_never_collide() {
        assert_ne!(by_division(&[0; 20]), 0);
        let all: std::collections::HashSet<u64> = (0..=u16::MAX)
            .map(|pair| by_division(&pair.to_be_bytes()))
            .collect();
        assert_eq!(all.len(), 1 << 16);
    }
}
