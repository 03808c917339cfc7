//! Tables among the texts of a question: two are looked at if they have rows in common, in whatever
//! order these stand.
//!
//! Rows that tell something are what two tables are measured by
//! ([`rows_of`](resemble_core::words::rows_of)), so two common rows are worth a look. Of large
//! tables some rows nominate, chosen by their hashes; of a row that many tables have, near-copies
//! of each other, the first of them and neighbours, as of texts.

use std::collections::HashMap;

/// Tables of more rows nominate by one in eight of them, and of eight times as many by one in 64.
const SMALL: usize = 4096;

/// What more tables have nominates only the first of them and neighbours.
const FAMILY: usize = 64;

/// So many tables on either side are a table's neighbours.
const NEIGHBOURS: usize = 8;

/// So many rows in common are worth a look.
const LEAST: u32 = 2;

/// Pairs of tables with rows in common, the lesser place first and in order, with how many.
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
