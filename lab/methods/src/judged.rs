//! Figures, and what they are ratios of.
//!
//! A figure is as the paper computes it: not rounded, not clamped (sif says 1.6 where two versions
//! of the asked file lie in the other). Where a ratio has nothing to divide by, the pair is too
//! small to judge, which is no 0 %.

use std::cmp::Ordering;

/// A figure, if there is one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Judged {
    /// As the paper computes it; 1.0 is 100 %.
    Value(f64),
    /// Nothing was kept of what would be divided by.
    TooSmall,
}

impl Judged {
    /// `part` of `whole`.
    pub fn ratio(part: u64, whole: u64) -> Self {
        if whole == 0 {
            Self::TooSmall
        } else {
            Self::Value(part as f64 / whole as f64)
        }
    }

    /// The figure.
    pub const fn value(self) -> Option<f64> {
        match self {
            Self::Value(value) => Some(value),
            Self::TooSmall => None,
        }
    }

    /// The greater one.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        match (self, other) {
            (Self::Value(a), Self::Value(b)) => Self::Value(a.max(b)),
            (Self::TooSmall, judged) | (judged, Self::TooSmall) => judged,
        }
    }
}

/// What two sorted lists have in common.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overlap {
    /// In both.
    pub common: u64,
    /// In the first.
    pub a: u64,
    /// In the second.
    pub b: u64,
}

impl Overlap {
    /// Of two sets, ascending. Time: their lengths.
    pub fn of_sets(a: &[u64], b: &[u64]) -> Self {
        let (mut i, mut j, mut common) = (0, 0, 0);
        while i < a.len() && j < b.len() {
            match a[i].cmp(&b[j]) {
                Ordering::Less => i += 1,
                Ordering::Greater => j += 1,
                Ordering::Equal => {
                    common += 1;
                    i += 1;
                    j += 1;
                }
            }
        }
        Self {
            common,
            a: a.len() as u64,
            b: b.len() as u64,
        }
    }

    /// Common over all of the first.
    pub fn a_in_b(self) -> Judged {
        Judged::ratio(self.common, self.a)
    }

    /// Common over all of the second.
    pub fn b_in_a(self) -> Judged {
        Judged::ratio(self.common, self.b)
    }

    /// Common over all of both.
    pub fn resemblance(self) -> Judged {
        Judged::ratio(self.common, self.a + self.b - self.common)
    }
}
