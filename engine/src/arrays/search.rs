//! Step 4: for each document, those that have chunks of it.

use std::path::Path;

use resemble_core::arrays::{Counter, Parts};
use resemble_core::signature::score::Overlap;

use super::build::cut;
use super::{ArraysError, Folder, Lists, Set, shards};
use crate::parallel;

/// Two documents and what they have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Common {
    /// The one with the lesser number.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// Chunks of both.
    pub common: u32,
}

/// What decides about pairs.
#[derive(Debug)]
pub(super) struct Sieve {
    /// Chunks of each document of the arrays.
    totals: Vec<u32>,
    /// Whether it is among those that are looked up: others are left out.
    takes_part: Vec<bool>,
    /// The least similarity in either direction.
    least: f64,
}

impl Sieve {
    pub(super) fn new(parts: &Parts<'_>, lists: &Lists, least: f64) -> Self {
        let totals: Vec<u32> = parts.documents().iter().map(|(_, chunks)| chunks).collect();
        let mut takes_part = vec![false; totals.len()];
        for &number in &lists.numbers {
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

    pub(super) fn counter(&self) -> Counter {
        Counter::new(self.totals.len())
    }

    /// The pairs of the document at this place of the lists with those of lesser numbers.
    pub(super) fn pairs_of(
        &self,
        parts: &Parts<'_>,
        lists: &Lists,
        at: usize,
        counter: &mut Counter,
        found: &mut Vec<Common>,
    ) -> Result<(), resemble_core::arrays::ArrayError> {
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
                found.push(Common {
                    a,
                    b,
                    common: counted.common as u32,
                });
            }
        }
        Ok(())
    }
}

/// All pairs of the documents of the lists whose similarity in one of the directions is at least `least`, by their
/// numbers. Spread over threads.
pub fn pairs(set: &Set, lists: &Lists, least: f64) -> Result<Vec<Common>, ArraysError> {
    pairs_on(set, lists, least, parallel::threads())
}

/// The same by so many threads.
pub fn pairs_on(
    set: &Set,
    lists: &Lists,
    least: f64,
    threads: usize,
) -> Result<Vec<Common>, ArraysError> {
    let parts = set.parts()?;
    let sieve = Sieve::new(&parts, lists, least);
    let next = std::sync::atomic::AtomicUsize::new(0);
    let work = || {
        let (mut counter, mut found) = (sieve.counter(), Vec::new());
        loop {
            let at = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if at >= lists.len() {
                return Ok(found);
            }
            sieve.pairs_of(&parts, lists, at, &mut counter, &mut found)?;
        }
    };
    let threads = threads.min(lists.len().max(1));
    let made = parallel::on_threads(threads, work);
    let folder = set.paths().first().and_then(|path| path.parent());
    let made = made.map_err(ArraysError::array(folder.unwrap_or(Path::new("."))))?;
    let mut found: Vec<Common> = made.into_iter().flatten().collect();
    found.sort_unstable();
    Ok(found)
}

/// The same by so many processes, each for a range of the documents.
pub fn pairs_in_shards(
    folder: &Folder,
    set: &Set,
    lists: &Lists,
    least: f64,
    count: u32,
) -> Result<Vec<Common>, ArraysError> {
    if count <= 1 || lists.is_empty() {
        return pairs(set, lists, least);
    }
    let work = folder.work()?;
    let ranges = cut(0, lists.len() as u64, u64::from(count));
    shards::search(&work.0, set, lists, least, ranges)
}
