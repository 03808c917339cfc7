//! Defines figures, and the counts from which they are computed.
//!
//! A figure is the number that the paper computes. It is neither rounded nor limited to 1: sif can
//! give 1.6 if the other file has two versions of the query file. If the denominator is 0, the pair
//! is too small to judge. This is not the same as 0 %.

use std::cmp::Ordering;

/// A figure, or the information that a pair has no figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Judged {
    /// The figure that the paper defines. 1.0 is 100 %.
    Value(f64),
    /// The denominator is 0, so there is no figure.
    TooSmall,
}

impl Judged {
    /// Returns the share of `part` in `whole`.
    pub fn ratio(part: u64, whole: u64) -> Self {
        if whole == 0 {
            Self::TooSmall
        } else {
            Self::Value(part as f64 / whole as f64)
        }
    }

    /// Returns the figure, if there is one.
    pub const fn value(self) -> Option<f64> {
        match self {
            Self::Value(value) => Some(value),
            Self::TooSmall => None,
        }
    }

    /// Returns the greater of two figures. If only one of them exists, returns that one.
    #[must_use]
    pub fn max(self, other: Self) -> Self {
        match (self, other) {
            (Self::Value(a), Self::Value(b)) => Self::Value(a.max(b)),
            (Self::TooSmall, judged) | (judged, Self::TooSmall) => judged,
        }
    }
}

/// The overlap of two sorted lists, as three counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overlap {
    /// The number of elements that are in both lists.
    pub common: u64,
    /// The number of elements in the first list.
    pub a: u64,
    /// The number of elements in the second list.
    pub b: u64,
}

impl Overlap {
    /// Returns the overlap of two sets. The sets must be in ascending order.
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

    /// Returns the share of the first list that is in the second.
    pub fn a_in_b(self) -> Judged {
        Judged::ratio(self.common, self.a)
    }

    /// Returns the share of the second list that is in the first.
    pub fn b_in_a(self) -> Judged {
        Judged::ratio(self.common, self.b)
    }

    /// Returns the resemblance: the common elements divided by all distinct elements.
    pub fn resemblance(self) -> Judged {
        Judged::ratio(self.common, self.a + self.b - self.common)
    }
}
