//! `Min_n`: the n least fingerprints.
//!
//! **Paper.** Cherkasova et al. 2009, section 2, "Algorithm `Min_n`", after Broder et al. 1997:
//! "selects the n numerically smallest fingerprinted shingles (or all the fingerprints if the
//! number in the document is less than n)".
//!
//! **Figure.** Broder 1997's unbiased estimate of the resemblance: of the n least fingerprints of
//! both files together (which the two samples have), the share that is in both samples. A count
//! over all of both samples, as for `Mod_n`, would be biased. The samples end at different values,
//! so a fingerprint of both files may be in one sample only.
//!
//! **Cost.** Each byte takes a rolling hash and a comparison. The size is n fingerprints for any
//! file.
//!
//! **Sees** the resemblance of files of similar size. **Refuses containment** (table 1): the n
//! least fingerprints of a part may have nothing in common with the n least of the whole. For a
//! quarter of a file, one in four of its n least is among those of the whole. For a hundredth, none
//! is.

use crate::judged::Judged;

/// Collects the n least of values that come one by one.
///
/// Values that may be among the n least are appended. When there are a few more than 2n, all are
/// sorted and only the n least stay. Few values are appended from then on: of N random ones about
/// n ln(N/n).
#[derive(Clone, Debug)]
pub struct Least {
    n: usize,
    kept: Vec<u64>,
    /// Greater values than this are not among the n least.
    limit: u64,
    last: Option<u64>,
}

impl Least {
    /// Collects the `n` least values; 0 counts as 1.
    pub fn new(n: usize) -> Self {
        Self {
            n: n.max(1),
            kept: Vec::new(),
            limit: u64::MAX,
            last: None,
        }
    }

    /// Takes the next value.
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

    /// Returns the n least distinct values, ascending, and begins anew.
    pub fn take(&mut self) -> Vec<u64> {
        self.compact();
        self.limit = u64::MAX;
        self.last = None;
        std::mem::take(&mut self.kept)
    }
}

/// The resemblance by two samples of the n least values, each ascending and distinct.
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
