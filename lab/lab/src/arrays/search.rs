//! Step 4 of the paper: finds, for each document, the other documents that have chunks in common
//! with it.

use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use resemble_methods::arrays::{ArrayError, Counter, Parts};
use resemble_methods::judged::Overlap;
use resemble_relate::parallel;

use super::{ArraysError, DocumentValues, MappedParts};

/// The maximum number of values in memory at a time. They take 64 MiB. Documents whose values do
/// not fit are looked up in further blocks. Each block needs another pass over the arrays, and a
/// pass takes 0.1 s at 24 bits.
pub(super) const MOST_VALUES: u64 = 1 << 24;

/// The numbers of two documents, and how many chunks they have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct CommonChunks {
    /// The lesser of the two numbers.
    pub a: u32,
    /// The greater of the two numbers.
    pub b: u32,
    /// The number of chunks that both documents have.
    pub common: u32,
}

/// The conditions that a pair must meet to be found.
#[derive(Debug)]
struct Sieve {
    /// The number of chunks of each document of the arrays.
    totals: Vec<u32>,
    /// For each document of the arrays, true if the search includes it. A pair is found only if the
    /// search includes both documents.
    takes_part: Vec<bool>,
    /// The least similarity of a pair that is found. The similarity is the greater of the two
    /// containments.
    least: f64,
}

impl Sieve {
    fn new(parts: &Parts<'_>, numbers: &[u32], least: f64) -> Self {
        let totals: Vec<u32> = parts.documents().iter().map(|(_, chunks)| chunks).collect();
        let mut takes_part = vec![false; totals.len()];
        for &number in numbers {
            if let Some(takes) = takes_part.get_mut(number as usize) {
                *takes = true;
            }
        }
        Self {
            totals,
            takes_part,
            least,
        }
    }

    fn counter(&self) -> Counter {
        Counter::new(self.totals.len())
    }

    /// Adds the pairs of the document at index `at` of `lists` with documents of lesser numbers.
    fn pairs_of(
        &self,
        parts: &Parts<'_>,
        lists: &DocumentValues,
        at: usize,
        counter: &mut Counter,
        found: &mut Vec<CommonChunks>,
    ) -> Result<(), ArrayError> {
        let b = lists.numbers[at];
        for counted in counter.count(parts, lists.values(at))? {
            let a = counted.document;
            if a >= b || !self.takes_part[a as usize] {
                continue;
            }
            let of =
                |number: u32| u64::from(self.totals.get(number as usize).copied().unwrap_or(0));
            let overlap = Overlap {
                common: counted.common,
                a: of(a),
                b: of(b),
            };
            let figure = overlap.a_in_b().max(overlap.b_in_a()).value();
            if figure.is_some_and(|figure| figure >= self.least) {
                found.push(CommonChunks {
                    a,
                    b,
                    common: counted.common as u32,
                });
            }
        }
        Ok(())
    }
}

/// Returns all pairs of these documents for which one of the two containments reaches `least`. The
/// pairs are ordered by the numbers of their documents. The work is distributed over threads.
pub fn pairs(
    set: &MappedParts,
    lists: &DocumentValues,
    least: f64,
) -> Result<Vec<CommonChunks>, ArraysError> {
    pairs_on(set, lists, least, parallel::threads())
}

/// Returns the same pairs as [`pairs`], found on this number of threads.
pub fn pairs_on(
    set: &MappedParts,
    lists: &DocumentValues,
    least: f64,
    threads: usize,
) -> Result<Vec<CommonChunks>, ArraysError> {
    let parts = set.parts()?;
    let sieve = Sieve::new(&parts, &lists.numbers, least);
    let found = look_up(&parts, &sieve, lists, 0..lists.len(), threads);
    let mut found = found.map_err(ArraysError::array(set.folder()))?;
    found.sort_unstable();
    Ok(found)
}

/// Returns the pairs of the documents at the indices `places` with documents of lesser numbers, in
/// no particular order.
fn look_up(
    parts: &Parts<'_>,
    sieve: &Sieve,
    lists: &DocumentValues,
    places: Range<usize>,
    threads: usize,
) -> Result<Vec<CommonChunks>, ArrayError> {
    let next = AtomicUsize::new(places.start);
    let work = || {
        let (mut counter, mut found) = (sieve.counter(), Vec::new());
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            if at >= places.end {
                return Ok(found);
            }
            sieve.pairs_of(parts, lists, at, &mut counter, &mut found)?;
        }
    };
    let threads = threads.min(places.len().max(1));
    let made = parallel::on_threads(threads, work)?;
    Ok(made.into_iter().flatten().collect())
}

/// Returns the pairs of these documents for which one of the two containments reaches `least`. The
/// documents must be in the arrays, and `numbers` must ascend. The values are read from the arrays,
/// for as many documents at a time as fit into memory.
pub fn pairs_among(
    set: &MappedParts,
    numbers: &[u32],
    least: f64,
    threads: usize,
) -> Result<Vec<CommonChunks>, ArraysError> {
    let mut found = pairs_of_places(set, numbers, 0..numbers.len(), least, threads, MOST_VALUES)?;
    found.sort_unstable();
    Ok(found)
}

/// Returns the pairs of the documents at the indices `places` of `numbers` with documents of lesser
/// numbers, in no particular order. At most `most` values are in memory at a time, unless a single
/// document has more.
pub(super) fn pairs_of_places(
    set: &MappedParts,
    numbers: &[u32],
    places: Range<usize>,
    least: f64,
    threads: usize,
    most: u64,
) -> Result<Vec<CommonChunks>, ArraysError> {
    let parts = set.parts()?;
    let sieve = Sieve::new(&parts, numbers, least);
    let chunks = |at: usize| sieve.totals.get(numbers[at] as usize).copied();
    let (mut found, mut from) = (Vec::new(), places.start);
    while from < places.end {
        let (mut to, mut values) = (from, 0);
        while to < places.end {
            values += u64::from(chunks(to).unwrap_or(0));
            if to > from && values > most {
                break;
            }
            to += 1;
        }
        let more = DocumentValues::of_arrays(&parts, numbers, from, to)
            .and_then(|lists| look_up(&parts, &sieve, &lists, from..to, threads));
        found.extend(more.map_err(ArraysError::array(set.folder()))?);
        from = to;
    }
    Ok(found)
}
