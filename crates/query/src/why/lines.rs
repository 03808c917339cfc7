//! Maps bytes of a text to lines.

use std::ops::Range;

/// The line numbers of a text, stored for blocks of bytes. Their size is a five-hundredth of the
/// text's size, even if the text consists of newlines.
pub(super) struct Lines<'t> {
    text: &'t [u8],
    /// The number of newlines before each block of [`Self::BLOCK`] bytes.
    before: Vec<u64>,
}

impl<'t> Lines<'t> {
    const BLOCK: usize = 4096;

    pub(super) fn of(text: &'t [u8]) -> Self {
        let mut count = 0;
        let before = text
            .chunks(Self::BLOCK)
            .map(|block| {
                let so_far = count;
                count += count_lines(block);
                so_far
            })
            .collect();
        Self { text, before }
    }

    /// Returns the line, from 1, of the byte at a position. The end of the text counts as on the
    /// line where the next byte would be.
    pub(super) fn at(&self, position: u64) -> u64 {
        let at = (position as usize).min(self.text.len());
        let Some(&before) = self.before.get(at / Self::BLOCK) else {
            // The position is the end of a text of whole blocks, or of an empty text.
            let last = self.before.len().saturating_sub(1);
            let from = (last * Self::BLOCK).min(self.text.len());
            return self.before.last().unwrap_or(&0) + count_lines(&self.text[from..]) + 1;
        };
        before + count_lines(&self.text[at / Self::BLOCK * Self::BLOCK..at]) + 1
    }

    /// Returns the first and last line, from 1, of a range that is not empty.
    pub(super) fn holding(&self, range: &Range<u64>) -> (u64, u64) {
        (self.at(range.start), self.at(range.end.max(1) - 1))
    }
}

/// Counts the newlines in some bytes.
pub(super) fn count_lines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_ranges() {
        let lines = Lines::of(b"one\ntwo\nthree");
        assert_eq!(lines.holding(&(0..3)), (1, 1));
        assert_eq!(lines.holding(&(0..4)), (1, 1));
        assert_eq!(lines.holding(&(3..5)), (1, 2));
        assert_eq!(lines.holding(&(8..13)), (3, 3));
        assert_eq!(lines.at(13), 3);
        assert_eq!(Lines::of(b"").at(0), 1);
    }

    #[test]
    fn blocks_are_not_seen() {
        for len in [4095, 4096, 4097, 8192, 10_000] {
            let text: Vec<u8> = (0..len)
                .map(|i| if i % 7 == 6 { b'\n' } else { b'x' })
                .collect();
            let lines = Lines::of(&text);
            for at in 0..=len {
                assert_eq!(lines.at(at as u64), at as u64 / 7 + 1, "{at} of {len}");
            }
        }
    }
}
