//! The method `Sketch_n`: keeps the smallest value of each of n hash functions.
//!
//! **Paper.** Cherkasova et al. 2009, section 2, "Algorithm `Sketch_n`", after Broder, Charikar,
//! Frieze & Mitzenmacher 1998: "every shingle is fingerprinted with a family of n hash functions;
//! for each the fingerprint of the shingle with the smallest numerical value is retained".
//!
//! **Figure.** The figure is "the percentage of agreeing entries". Its expected value is the
//! resemblance, and its variance is that of n coin tosses.
//!
//! **The functions.** The paper applies Bob Jenkins' hash with n seeds to each window, which costs
//! n times the window. Here a window has only one Rabin fingerprint x. x is mixed and passed to n
//! functions a·x + b modulo 2^64 with an odd a. These functions are bijections, so different
//! fingerprints never have the same value. Each function takes a multiplication and an addition,
//! and n can be any number.
//!
//! **Cost.** Each byte takes n multiplications, which makes this the slowest of the paper's four
//! methods (as in its figure 11). The size of a signature is n values.
//!
//! **Sees** the resemblance of files of similar size. **Refuses containment** (table 1).

use crate::judged::Judged;
use crate::shingles::mix;

/// The number of features that are hashed together. Each function processes all of these features,
/// with its smallest value in a register.
const BLOCK: usize = 256;

/// Collects the smallest value of each function.
#[derive(Clone, Debug)]
pub struct Slots {
    functions: Vec<(u64, u64)>,
    least: Vec<u64>,
    waiting: Vec<u64>,
    any: bool,
    last: u64,
}

impl Slots {
    /// Creates `n` functions, which are the same on every call.
    pub fn new(n: usize) -> Self {
        let number = |i: u64| mix(i.wrapping_mul(0x9e37_79b9_7f4a_7c15));
        Self {
            functions: (1..=n as u64)
                .map(|i| (number(2 * i) | 1, number(2 * i + 1)))
                .collect(),
            least: vec![u64::MAX; n],
            waiting: Vec::with_capacity(BLOCK),
            any: false,
            last: 0,
        }
    }

    /// Adds the next feature.
    #[inline]
    pub fn push(&mut self, value: u64) {
        // Padding repeats one window over and over, so repeated features are skipped.
        if self.any && self.last == value {
            return;
        }
        (self.any, self.last) = (true, value);
        self.waiting.push(mix(value));
        if self.waiting.len() == BLOCK {
            self.hash();
        }
    }

    fn hash(&mut self) {
        for (least, &(a, b)) in self.least.iter_mut().zip(&self.functions) {
            let of = |x: u64| x.wrapping_mul(a).wrapping_add(b);
            // Four values are computed in parallel, so that no comparison waits for another
            // comparison.
            let mut lanes = [*least; 4];
            let (fours, rest) = self.waiting.as_chunks::<4>();
            for four in fours {
                for (lane, &x) in lanes.iter_mut().zip(four) {
                    *lane = (*lane).min(of(x));
                }
            }
            for &x in rest {
                lanes[0] = lanes[0].min(of(x));
            }
            *least = lanes[0].min(lanes[1]).min(lanes[2].min(lanes[3]));
        }
        self.waiting.clear();
    }

    /// Returns the smallest value of each function, and begins anew. If there were no features, the
    /// list is empty.
    pub fn take(&mut self) -> Vec<u64> {
        self.hash();
        let slots = if self.any {
            self.least.clone()
        } else {
            Vec::new()
        };
        self.least.fill(u64::MAX);
        self.any = false;
        slots
    }
}

/// Returns the share of equal entries. If neither file has features, the pair is too small to
/// judge. If only one file has features, the share is 0.
pub fn resemblance(a: &[u64], b: &[u64]) -> Judged {
    let agreeing = a.iter().zip(b).filter(|(x, y)| x == y).count();
    Judged::ratio(agreeing as u64, a.len().max(b.len()) as u64)
}
