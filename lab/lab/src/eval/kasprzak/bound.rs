//! A bound for the errors of section 4.2, which depends on the lengths of the two documents.
//!
//! An estimate is too high if a chunk that only A has agrees with a chunk of B in its n bits. The
//! probability of such an accidental hit is at most b/2^n, where b is the number of B's chunks. So
//! the number of accidental hits among the a chunks of A is at most binomially distributed. By
//! Chernoff, the probability of h or more hits is at most e^-λ (eλ/h)^h, where λ = ab/2^n. The
//! bound is the least h for which this probability, times the number of pairs, is at most
//! [`CHANCE`].

use super::super::Table;

/// The maximum probability that any estimate of a collection exceeds its bound.
const CHANCE: f64 = 0.05;

/// Documents are divided into classes by their number of chunks. Each class begins at one of these
/// numbers.
const CLASSES: [usize; 6] = [1, 30, 100, 300, 1000, 10_000];

/// An estimate of the share of document `of` that document `within` contains, and the exact share.
#[derive(Clone, Copy, Debug)]
pub(super) struct ArrayEstimate {
    pub(super) of: u32,
    pub(super) within: u32,
    pub(super) estimated: f64,
    pub(super) exact: f64,
}

impl ArrayEstimate {
    pub(super) fn error(&self) -> f64 {
        (self.estimated - self.exact).abs()
    }
}

/// Formats a share in percentage points.
pub(super) fn points(share: f64) -> String {
    format!("{:.3}", share * 100.0)
}

/// Returns the bound for the number of accidental hits of a document with `a` chunks in a document
/// with `b` chunks. The bound depends on the number of pairs that are compared.
fn most_hits(bits: u32, a: usize, b: usize, pairs: f64) -> usize {
    let expected = a as f64 * b as f64 / 2f64.powi(bits as i32);
    let least = (CHANCE / pairs.max(1.0)).ln();
    let is_rare = |hits: usize| {
        let hits = hits as f64;
        hits > expected && hits * (1.0 + (expected / hits).ln()) - expected <= least
    };
    let (mut low, mut high) = (0, a);
    while low < high {
        let middle = usize::midpoint(low, high);
        if is_rare(middle) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    low
}

/// Figures about the estimates in one class of documents: their number, their greatest error, their
/// greatest bound, and the number of estimates that exceed their bound.
#[derive(Clone, Copy, Debug, Default)]
struct Class {
    estimates: u64,
    greatest: f64,
    bound: f64,
    above: u64,
}

/// The estimates for one n, compared with their bounds.
pub(super) struct BoundedErrors {
    bits: u32,
    /// The number of pairs of documents that are compared. A pair is counted twice, once in each
    /// direction.
    pairs: f64,
    classes: [Class; CLASSES.len()],
}

impl BoundedErrors {
    pub(super) fn new(bits: u32, documents: usize) -> Self {
        let documents = documents as f64;
        Self {
            bits,
            pairs: documents * (documents - 1.0),
            classes: Default::default(),
        }
    }

    /// Returns the maximum error for a document with `a` chunks in a document with `b` chunks. The
    /// error is a share of the `a` chunks.
    pub(super) fn bound(&self, a: usize, b: usize) -> f64 {
        most_hits(self.bits, a, b, self.pairs) as f64 / a.max(1) as f64
    }

    /// Adds an estimate of a document with `a` chunks in a document with `b` chunks.
    pub(super) fn add(&mut self, estimate: &ArrayEstimate, a: usize, b: usize) {
        let bound = self.bound(a, b);
        let at = CLASSES.partition_point(|&least| least <= a).max(1) - 1;
        let class = &mut self.classes[at];
        class.estimates += 1;
        class.greatest = class.greatest.max(estimate.error());
        class.bound = class.bound.max(bound);
        class.above += u64::from(estimate.error() > bound + 1e-12);
    }

    /// Returns the number of estimates, and the number of those that exceed their bound.
    pub(super) fn counted(&self) -> (u64, u64) {
        let classes = self.classes.iter();
        classes.fold((0, 0), |(all, above), class| {
            (all + class.estimates, above + class.above)
        })
    }

    /// Adds to the table a row for each class that has estimates.
    pub(super) fn rows(&self, table: &mut Table) {
        for (least, class) in CLASSES.iter().zip(&self.classes) {
            if class.estimates > 0 {
                table.row([
                    self.bits.to_string(),
                    least.to_string(),
                    class.estimates.to_string(),
                    points(class.greatest),
                    points(class.bound),
                    class.above.to_string(),
                ]);
            }
        }
    }
}

/// Returns the table of the classes, still without rows.
pub(super) fn by_length() -> Table {
    let columns = [
        "n",
        "chunks, at least",
        "estimates",
        "greatest error, points",
        "greatest bound",
        "above their bound",
    ];
    Table::new("errors-by-length", &columns)
}

/// Returns a table of the bounds for the paper's collection: 250,000 documents, of which the
/// longest have about 30,000 chunks.
pub(super) fn of_paper() -> Table {
    let mut table = Table::new(
        "errors-bound-paper",
        &["chunks", "bound at 24 bits, points", "at 28 bits"],
    );
    for chunks in [100, 300, 1000, 2400, 30_000] {
        let bound = |bits| points(BoundedErrors::new(bits, 250_000).bound(chunks, 30_000));
        table.row([chunks.to_string(), bound(24), bound(28)]);
    }
    table
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the exact probability of at least `hits` hits.
    fn tail(a: usize, chance: f64, hits: usize) -> f64 {
        let mut term = (1.0 - chance).powi(a as i32);
        let mut below = 0.0;
        for at in 0..hits {
            below += term;
            term *= (a - at) as f64 / (at + 1) as f64 * chance / (1.0 - chance);
        }
        1.0 - below
    }

    #[test]
    fn the_bound_is_rare_and_not_much_above_the_least_that_is() {
        for (a, b) in [(20, 5000), (100, 100), (100, 5000), (1000, 20_000)] {
            let hits = most_hits(16, a, b, 10.0);
            let chance = b as f64 / 65536.0;
            assert!(tail(a, chance, hits) <= 0.005, "{a} {b}: {hits}");
            let least = (0..=a).find(|&hits| tail(a, chance, hits) <= 0.005);
            let least = least.expect("a bound");
            assert!(hits <= least + 3 + least / 10, "{a} {b}: {hits} {least}");
        }
    }

    #[test]
    fn a_document_has_no_more_hits_than_chunks() {
        assert_eq!(most_hits(8, 10, 1000, 10.0), 10);
        assert_eq!(most_hits(24, 0, 1000, 10.0), 0);
    }
}
