//! `Sketch_n`: the least value under each of n hash functions.
//!
//! **Paper.** Cherkasova et al. 2009, section 2, "Algorithm `Sketch_n`", after Broder, Charikar,
//! Frieze & Mitzenmacher 1998: "every shingle is fingerprinted with a family of n hash functions;
//! for each the fingerprint of the shingle with the smallest numerical value is retained".
//!
//! **Figure.** "The percentage of agreeing entries": expected to be the resemblance, with the
//! variance of n coins.
//!
//! **The family.** The paper takes Bob Jenkins' hash with n seeds over each window, which costs n
//! times the window. Here the window's one Rabin fingerprint x is mixed and goes through n
//! functions a·x + b modulo 2^64, a odd: bijections, so no two windows tie, and a multiplication
//! and an addition each. Any n.
//!
//! **Cost.** Time: n multiplications a byte, the slowest of the four (the paper's figure 11 says so
//! too). Size: n values.
//!
//! **Sees** the resemblance of files of like size. **Refuses containment** (table 1).

use crate::judged::Judged;
use crate::shingles::mix;

/// Features that wait to be hashed: a function goes through many at a time, its least value in a
/// register.
const BLOCK: usize = 256;

/// The least values, as the features come.
#[derive(Clone, Debug)]
pub struct Slots {
    functions: Vec<(u64, u64)>,
    least: Vec<u64>,
    waiting: Vec<u64>,
    any: bool,
    last: u64,
}

impl Slots {
    /// Of `n` functions, the same ones always.
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

    /// Takes the next feature.
    #[inline]
    pub fn push(&mut self, value: u64) {
        // Padding is one window over and over.
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
            // Four at a time: one comparison need not wait for the other.
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

    /// The least value of each function, or nothing if nothing came; then as new.
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

/// The share of agreeing entries. Too small to judge if both files have no feature; 0 if one has
/// none, as the other has something that it has not.
pub fn resemblance(a: &[u64], b: &[u64]) -> Judged {
    let agreeing = a.iter().zip(b).filter(|(x, y)| x == y).count();
    Judged::ratio(agreeing as u64, a.len().max(b.len()) as u64)
}
