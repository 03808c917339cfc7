//! Nominates pairs of tables that have rows in common, in any order.
//!
//! Two tables are measured by their distinctive rows ([`rows_of`](resemble_core::words::rows_of)),
//! so two common rows are enough for a candidate pair. In large tables, only some rows nominate.
//! The hashes of the rows decide which. If many tables have a row, they are near-copies. Such a row
//! pairs each table only with the first table and with its neighbours.

use std::collections::HashMap;

/// In a table with at most this many rows, all rows nominate. In a table with at most eight times
/// as many rows, one row in eight nominates. In a larger table, one row in 64 nominates.
const SMALL: usize = 4096;

/// If more tables than this have the same row, they are not all paired with each other. Each table
/// is then paired with the first table and with its neighbours.
const FAMILY: usize = 64;

/// The number of later tables with which a table is paired if more than [`FAMILY`] tables have the
/// row.
const NEIGHBOURS: usize = 8;

/// The minimum number of common rows of a candidate pair.
const LEAST: u32 = 2;

/// Returns the pairs of tables that have at least [`LEAST`] nominating rows in common, each with
/// the number of these rows. Pairs are in the order of their places, the lesser place first.
pub(super) fn nominated(tables: &[Option<Vec<u64>>]) -> Vec<((usize, usize), u32)> {
    let mut rows: Vec<(u64, u32)> = Vec::new();
    for (place, table) in (0u32..).zip(tables) {
        let table = table.as_deref().unwrap_or_default();
        let mask = match table.len() {
            few if few <= SMALL => 0,
            some if some <= 8 * SMALL => 7,
            _ => 63,
        };
        let chosen = table.iter().filter(|&&row| row >> 32 & mask == 0);
        rows.extend(chosen.map(|&row| (row, place)));
    }
    rows.sort_unstable();
    let mut common: HashMap<(u32, u32), u32> = HashMap::new();
    for of_one in rows.chunk_by(|a, b| a.0 == b.0) {
        for (at, &(_, a)) in of_one.iter().enumerate() {
            let later = &of_one[at + 1..];
            let is_family = of_one.len() > FAMILY;
            let met = if is_family && at > 0 {
                &later[..later.len().min(NEIGHBOURS)]
            } else {
                later
            };
            for &(_, b) in met {
                *common.entry((a, b)).or_default() += 1;
            }
        }
    }
    let pairs = common.into_iter().filter(|&(_, rows)| rows >= LEAST);
    let mut pairs: Vec<_> = pairs
        .map(|((a, b), rows)| ((a as usize, b as usize), rows))
        .collect();
    pairs.sort_unstable();
    pairs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_with_two_rows_in_common_are_nominated() {
        let table = |rows: &[u64]| Some(rows.to_vec());
        let tables = [
            table(&[1, 2, 3, 9]),
            None,
            table(&[2, 3, 4]),
            table(&[1, 4, 8]),
        ];
        assert_eq!(nominated(&tables), [((0, 2), 2)]);
        assert_eq!(nominated(&[]), []);
    }

    #[test]
    fn a_family_is_met_by_its_first_and_neighbours() {
        let tables = vec![Some(vec![1, 2, 3]); 1000];
        let pairs = nominated(&tables);
        assert!(pairs.len() < 10_000, "{}", pairs.len());
        assert!(pairs.iter().any(|&(pair, _)| pair == (0, 999)));
        assert!(pairs.iter().any(|&(pair, _)| pair == (500, 501)));
    }
}
