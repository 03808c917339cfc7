//! The method `Min_n`: keeps the n smallest fingerprints.
//!
//! **Paper.** Cherkasova et al. 2009, section 2, "Algorithm `Min_n`", after Broder et al. 1997:
//! "selects the n numerically smallest fingerprinted shingles (or all the fingerprints if the
//! number in the document is less than n)".
//!
//! **Figure.** The figure is the unbiased estimate of the resemblance by Broder 1997. The union of
//! the two samples contains the n smallest fingerprints of the union of the two files. The figure
//! is the share of these n fingerprints that is in both samples. A count over the whole samples, as
//! in `Mod_n`, would be biased. The samples end at different values, so a fingerprint that both
//! files have may be in only one sample.
//!
//! **Cost.** Each byte takes a rolling hash and a comparison. A signature has n fingerprints,
//! whatever the size of the file is.
//!
//! **Sees** the resemblance of files of similar size. **Refuses containment** (table 1 of the
//! paper). The n smallest fingerprints of a part may have nothing in common with those of the whole
//! file. If the part is a quarter of the file, about a quarter of its n fingerprints are also kept
//! for the whole file. If the part is a hundredth of the file, there may be no such fingerprint.

use crate::judged::Judged;

/// Collects the n smallest of the values that it receives one by one.
///
/// Values that may be among the n smallest are appended to a list. When the list has somewhat more
/// than 2n values, it is sorted, and only the n smallest are kept. After that, few values are
/// appended: for N random values, about n ln(N/n).
#[derive(Clone, Debug)]
pub struct Least {
    n: usize,
    kept: Vec<u64>,
    /// The limit: values above it are not among the n smallest.
    limit: u64,
    last: Option<u64>,
}

impl Least {
    /// Creates a collector of the `n` smallest values. If `n` is 0, it is taken as 1.
    pub fn new(n: usize) -> Self {
        Self {
            n: n.max(1),
            kept: Vec::new(),
            limit: u64::MAX,
            last: None,
        }
    }

    /// Adds the next value.
    #[inline]
    pub fn push(&mut self, value: u64) {
        if value > self.limit || self.last == Some(value) {
            return;
        }
        self.last = Some(value);
        self.kept.push(value);
        if self.kept.len() >= 2 * self.n + 64 {
            self.compact();
        }
    }

    #[cold]
    fn compact(&mut self) {
        self.kept.sort_unstable();
        self.kept.dedup();
        self.kept.truncate(self.n);
        if self.kept.len() == self.n {
            self.limit = self.kept[self.n - 1];
        }
    }

    /// Returns the n smallest distinct values in ascending order, and begins again without values.
    pub fn take(&mut self) -> Vec<u64> {
        self.compact();
        self.limit = u64::MAX;
        self.last = None;
        std::mem::take(&mut self.kept)
    }
}

/// Returns the resemblance according to two samples of the n smallest values. The values of a
/// sample must be distinct and in ascending order.
pub fn resemblance(a: &[u64], b: &[u64], n: usize) -> Judged {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let (mut common, mut union) = (0, 0);
    while union < n as u64 {
        let least = match (a.peek(), b.peek()) {
            (Some(&&of_a), Some(&&of_b)) => of_a.min(of_b),
            (Some(&&only), None) | (None, Some(&&only)) => only,
            (None, None) => break,
        };
        let in_a = a.next_if_eq(&&least).is_some();
        let in_b = b.next_if_eq(&&least).is_some();
        common += u64::from(in_a && in_b);
        union += 1;
    }
    Judged::ratio(common, union)
}
