//! Checks that the output for one file stays within its limits.
//!
//! The worker counts its output, so that it stops when a limit is reached. The parent counts the
//! bytes that it receives, because it does not trust the worker. Worker and parent use this module,
//! so that their counts agree.
//!
//! The ratio of output to input is checked for each level of nesting separately. For example, the
//! bytes of a tar in a gz are counted at two levels. At the first level they are the content of the
//! gz, at the second level they are the members of the tar. The number of bytes at each level is
//! divided by the size of the file.

use crate::{Bound, Limits};

/// The output size in bytes above which the ratio of output to input is checked. Below it, the
/// ratio is not checked, because a harmless small file of blanks may have a high ratio.
pub(crate) const RATIO_FROM: u64 = 1 << 20;

/// Counts the parts and bytes that were read from one file.
#[derive(Debug)]
pub(crate) struct Budget {
    limits: Limits,
    /// The size of the file in bytes.
    size: u64,
    bytes: u64,
    /// The number of bytes at each level of nesting.
    levels: Vec<u64>,
    /// The level of nesting of each part. A part's number is its index here.
    parts: Vec<u16>,
}

impl Budget {
    pub(crate) fn new(limits: Limits, size: u64) -> Self {
        Self {
            limits,
            size,
            bytes: 0,
            levels: Vec::new(),
            parts: Vec::new(),
        }
    }

    /// Returns the number of parts that began so far. The next part gets this number.
    pub(crate) fn parts(&self) -> u32 {
        self.parts.len() as u32
    }

    /// Begins a part and returns its number. If the part has a parent, the parent must have begun.
    pub(crate) fn begin(&mut self, parent: Option<u32>) -> Result<u32, Bound> {
        let number = self.parts();
        if number >= self.limits.parts {
            return Err(Bound::Parts);
        }
        let level = match parent {
            None => 0,
            Some(parent) => self
                .parts
                .get(parent as usize)
                .map_or(0, |level| level.saturating_add(1)),
        };
        self.parts.push(level);
        if self.levels.len() <= usize::from(level) {
            self.levels.resize(usize::from(level) + 1, 0);
        }
        Ok(number)
    }

    /// Adds bytes to the part that began last.
    pub(crate) fn bytes(&mut self, more: u64) -> Result<(), Bound> {
        self.bytes += more;
        if self.bytes > self.limits.bytes {
            return Err(Bound::Bytes);
        }
        let level = self.parts.last().copied().unwrap_or(0);
        let Some(of_level) = self.levels.get_mut(usize::from(level)) else {
            return Ok(());
        };
        *of_level += more;
        if *of_level > RATIO_FROM && *of_level > self.limits.ratio.saturating_mul(self.size) {
            return Err(Bound::Ratio);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn budget(size: u64) -> Budget {
        let limits = Limits {
            ratio: 10,
            bytes: 100 << 20,
            parts: 3,
            ..Limits::default()
        };
        Budget::new(limits, size)
    }

    #[test]
    fn each_level_has_its_own_ratio() {
        let mut one = budget(200_000);
        assert_eq!(one.begin(None), Ok(0));
        assert_eq!(one.bytes(2_000_000), Ok(()));
        assert_eq!(one.begin(Some(0)), Ok(1));
        assert_eq!(one.bytes(1_900_000), Ok(()));
        assert_eq!(one.begin(Some(0)), Ok(2));
        assert_eq!(one.bytes(100_000), Ok(()));
        assert_eq!(one.bytes(1), Err(Bound::Ratio));
        assert_eq!(one.begin(None), Err(Bound::Parts));
    }

    #[test]
    fn little_is_no_bomb_and_much_is_too_much() {
        let mut one = budget(1);
        assert_eq!(one.begin(None), Ok(0));
        assert_eq!(one.bytes(RATIO_FROM), Ok(()));
        assert_eq!(one.bytes(1), Err(Bound::Ratio));
        let mut one = budget(1 << 30);
        assert_eq!(one.begin(None), Ok(0));
        assert_eq!(one.bytes(101 << 20), Err(Bound::Bytes));
    }
}
