//! Finds the rows that two tables share.
//!
//! Two tables with the same rows in another order have no common run of 64 bytes. So the figures of
//! tables count rows ([`resemble_core::similarity::proof`]), and their shared ranges are rows. In
//! addition to the long runs, a row that counts is shared if the other file has exactly the same
//! row. Rows that follow each other in both files are one range.

use std::collections::HashMap;
use std::ops::Range;

use resemble_core::similarity::runs::CommonRun;
use resemble_core::words::telling_rows;

use crate::why::order::{union, without};

/// A table, with the ranges of the rows that count.
pub(super) struct TableRows<'t> {
    bytes: &'t [u8],
    rows: Vec<Range<usize>>,
}

/// The places of equal rows in b, and how many of them have been matched.
#[derive(Default)]
struct EqualRows {
    places: Vec<usize>,
    matched: usize,
}

impl EqualRows {
    /// Returns the place in b of the next equal row of a. It is `next`, the place after the last
    /// match, if an equal row is there; otherwise it is the first unmatched place. If a has more
    /// such rows than b, the surplus rows share the last place.
    fn place(&mut self, next: Option<usize>) -> usize {
        if let Some(next) = next.filter(|next| self.places.binary_search(next).is_ok()) {
            return next;
        }
        let at = self.matched.min(self.places.len() - 1);
        self.matched += 1;
        self.places[at]
    }
}

impl<'t> TableRows<'t> {
    /// Returns a table with the rows that count; `None` if the text is not a table.
    pub(super) fn of(bytes: &'t [u8]) -> Option<Self> {
        let rows = telling_rows(bytes)?;
        Some(Self { bytes, rows })
    }

    fn row(&self, at: usize) -> &'t [u8] {
        &self.bytes[self.rows[at].clone()]
    }

    /// Returns the runs that this table shares with another one, and the rows that both have. The
    /// result is in the order of this table. No byte of this table is in two ranges.
    pub(super) fn add_rows(&self, runs: Vec<CommonRun>, other: &TableRows<'_>) -> Vec<CommonRun> {
        let mut equal: HashMap<&[u8], EqualRows> = HashMap::new();
        for at in 0..other.rows.len() {
            equal.entry(other.row(at)).or_default().places.push(at);
        }
        let taken = union(runs.iter().map(|run| run.a.clone()).collect());
        let mut all = runs;
        let mut last: Option<usize> = None;
        for at in 0..self.rows.len() {
            let found = equal.get_mut(self.row(at));
            last = found.map(|found| found.place(last.map(|last| last + 1)));
            let Some(place) = last else {
                continue;
            };
            let (here, there) = (self.rows[at].start, other.rows[place].start);
            // The range includes the blanks after the row, such as the line end.
            let len = self.rows[at].len() + {
                let behind = self.bytes[self.rows[at].end..].iter();
                let theirs = other.bytes[other.rows[place].end..].iter();
                let both = behind.zip(theirs);
                both.take_while(|(one, other)| one == other && one.is_ascii_whitespace())
                    .count()
            };
            let whole = here as u64..(here + len) as u64;
            all.extend(without(&whole, &taken).into_iter().map(|a| {
                let start = there as u64 + (a.start - whole.start);
                let b = start..start + (a.end - a.start);
                CommonRun { a, b }
            }));
        }
        all.sort_by_key(|run| run.a.start);
        all.dedup_by(|next, run| {
            let goes_on = run.a.end == next.a.start && run.b.end == next.b.start;
            if goes_on {
                (run.a.end, run.b.end) = (next.a.end, next.b.end);
            }
            goes_on
        });
        all
    }
}
