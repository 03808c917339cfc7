//! `Sketch_n` as the paper defines it: each window is hashed by n string hashes, which differ in
//! their seeds.
//!
//! [`resemble_methods::sketch_n`] hashes a window once and applies n functions to that hash. This
//! experiment checks whether this difference is the reason why the paper's `Sketch_n` finds little.

use std::collections::HashMap;

use resemble_methods::Method;
use resemble_methods::changes::{Edit, Spread, edited};
use resemble_relate::parallel::in_parallel;

use super::{
    Draws, ENDS, ResearchCorpus, Section, Table, after_changes, change_seed, compared, mean,
    windowed,
};
use crate::error::LabError;

/// The size of a window in bytes.
const WINDOW: usize = 20;

/// The number of hash functions.
const FUNCTIONS: usize = 100;

/// The hash of Bob Jenkins, *Hash Functions*, Dr. Dobb's Journal, September 1997 (the paper's
/// reference 14).
fn jenkins(key: &[u8], seed: u32) -> u32 {
    let (mut a, mut b, mut c) = (0x9e37_79b9u32, 0x9e37_79b9u32, seed);
    let word = |bytes: &[u8]| {
        let places = bytes.iter().take(4).zip([0, 8, 16, 24]);
        places.fold(0u32, |word, (&byte, by)| word | u32::from(byte) << by)
    };
    let (blocks, rest) = key.as_chunks::<12>();
    for block in blocks {
        a = a.wrapping_add(word(&block[..4]));
        b = b.wrapping_add(word(&block[4..8]));
        c = c.wrapping_add(word(&block[8..]));
        (a, b, c) = mixed(a, b, c);
    }
    a = a.wrapping_add(word(rest));
    b = b.wrapping_add(word(rest.get(4..).unwrap_or_default()));
    // The lowest byte of `c` is reserved for the length.
    let last = rest.get(8..).unwrap_or_default();
    c = c
        .wrapping_add(key.len() as u32)
        .wrapping_add(word(last) << 8);
    mixed(a, b, c).2
}

fn mixed(mut a: u32, mut b: u32, mut c: u32) -> (u32, u32, u32) {
    for (first, second, third) in [(13, 8, 13), (12, 16, 5), (3, 10, 15)] {
        a = a.wrapping_sub(b).wrapping_sub(c) ^ (c >> first);
        b = b.wrapping_sub(c).wrapping_sub(a) ^ (a << second);
        c = c.wrapping_sub(a).wrapping_sub(b) ^ (b >> third);
    }
    (a, b, c)
}

type WindowHashes = [u32; FUNCTIONS];

fn hashes(window: &[u8]) -> WindowHashes {
    std::array::from_fn(|seed| jenkins(window, seed as u32))
}

/// Returns the least hash of each function over all windows of a text. `known` has the hashes of
/// the original's windows, so that these hashes are not computed again.
fn sketch(text: &[u8], known: &HashMap<&[u8], WindowHashes>) -> WindowHashes {
    let mut least = [u32::MAX; FUNCTIONS];
    for window in text.windows(WINDOW) {
        let row = match known.get(window) {
            Some(row) => *row,
            None => hashes(window),
        };
        for (least, hash) in least.iter_mut().zip(row) {
            *least = (*least).min(hash);
        }
    }
    least
}

pub(super) fn section(corpus: &ResearchCorpus<'_>) -> Result<Section, LabError> {
    let plan: Vec<(u64, usize)> = (0..corpus.seeds)
        .flat_map(|seed| (0..ENDS.len()).map(move |end| (seed, end)))
        .collect();
    let made = in_parallel(corpus.documents.len(), Vec::new, |at, made| {
        let text = &corpus.documents[at].bytes;
        let windows = text.windows(WINDOW);
        let known = windows.map(|window| (window, hashes(window))).collect();
        let original = sketch(text, &known);
        let mut values = Vec::new();
        for &(seed, end) in &plan {
            let seed = change_seed(at, seed);
            let changed = edited(text, Edit::Insert, Spread::Random, ENDS[end], seed);
            let sketch = sketch(&changed, &known);
            let equal = original.iter().zip(&sketch).filter(|(a, b)| a == b);
            values.push(equal.count() as f64 / FUNCTIONS as f64);
        }
        made.push(values);
        Ok::<_, LabError>(())
    })?;
    let all: Vec<Vec<f64>> = made.into_iter().flatten().collect();
    let mut strings: [Draws; 2] = Default::default();
    for (step, &(_, end)) in plan.iter().enumerate() {
        let values: Vec<f64> = all.iter().map(|values| values[step]).collect();
        strings[end].push(mean(&values));
    }
    let methods = [
        windowed(Method::Sketch, WINDOW as u32, FUNCTIONS as u32)?,
        windowed(Method::Mod, WINDOW as u32, 1)?,
    ];
    let ours = after_changes(corpus, &methods, Edit::Insert, Spread::Random, false)?;
    let columns = [
        "Sketch_100 by",
        "after 10 %",
        "after 50 %",
        "off exact, points",
    ];
    let mut table = Table::new("sketch-hashes", &columns);
    let exact = ours[1].end(1);
    for (label, ends) in [
        ("100 string hashes", strings.clone()),
        (
            "100 functions of one hash",
            [0, 1].map(|end| ours[0].end(end)),
        ),
        ("exact", [0, 1].map(|end| ours[1].end(end))),
    ] {
        table.row([
            label.to_owned(),
            ends[0].to_string(),
            ends[1].to_string(),
            ends[1].minus(&exact).percents(2),
        ]);
    }
    let text = format!(
        "Bob Jenkins' hash of each window with {FUNCTIONS} seeds, as in the paper, and the \
         functions of one hash that are used elsewhere here; 50 inserts: {}; {}. `exact` compares \
         all windows.",
        compared(
            ("string hashes", &strings[1]),
            ("functions of one hash", &ours[0].end(1))
        ),
        compared(("string hashes", &strings[1]), ("exact", &exact)),
    );
    Ok(Section::new("Sketch_n by n string hashes (section 4)", text).table(table))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The share of equal hashes estimates the share of common windows. The two texts together have
    /// 60 different windows, of which 40 are in both.
    #[test]
    fn string_hashes_agree_as_often_as_windows_are_common() {
        let mut random = super::super::super::Random(1);
        let mut text = |len: usize| -> Vec<u8> { (0..len).map(|_| random.draw() as u8).collect() };
        let mut found = Vec::new();
        for _ in 0..30 {
            let common = text(59);
            let (a, b) = (
                [&common[..], &text(10)].concat(),
                [&text(10)[..], &common].concat(),
            );
            let known = HashMap::new();
            let (a, b) = (sketch(&a, &known), sketch(&b, &known));
            let equal = a.iter().zip(&b).filter(|(a, b)| a == b).count();
            found.push(equal as f64 / FUNCTIONS as f64);
        }
        // There are 3,000 trials with a probability of 2/3, so the standard deviation is 0.0086.
        let share = mean(&found);
        assert!((share - 2.0 / 3.0).abs() < 0.03, "{share}");
    }

    #[test]
    fn a_seed_makes_another_function_and_every_byte_counts() {
        let key: Vec<u8> = (0..20).collect();
        assert_ne!(jenkins(&key, 0), jenkins(&key, 1));
        for at in 0..key.len() {
            let mut other = key.clone();
            other[at] ^= 1;
            assert_ne!(jenkins(&key, 0), jenkins(&other, 0), "{at}");
        }
    }
}
