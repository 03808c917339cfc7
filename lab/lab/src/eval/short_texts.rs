//! Cherkasova et al. 2009, section 5: two collections of short texts, figures 9 and 10 and table 2.
//!
//! The oracle does what the paper's authors did by eye with `diff`: it aligns the words of both
//! texts (longest common subsequence), and a pair is correct if 70 % of the words of both together
//! are aligned. It knows nothing of windows or samples.

use std::collections::{BTreeMap, HashMap};

use crate::figure::Figure;
use crate::question::{MethodLimits, MethodScore};
use resemble_methods::{Method, Threshold};

use super::{Collection, Plot, Section, Table, Text, mean, sign_all, windowed};
use crate::error::LabError;
use crate::method::RowThreshold;
use crate::method::all_pairs::all_pairs;

/// "higher than 70%"
const SIMILAR: f64 = 0.7;

/// The most pairs of a collection that the oracle judges: aligning costs the product of both
/// lengths.
const MOST_JUDGED: usize = 20_000;

/// The sections about both collections.
pub(super) fn sections(collection: &Collection) -> Result<Vec<Section>, LabError> {
    let one = collection.of_sizes(600..=1500, 5040);
    let two = collection.of_sizes(2000..=4000, 2500);
    Ok(vec![
        section("1", &one, "5,040 of 600 to 1,500 bytes, some longer")?,
        section("2", &two, "2,500 of 2 to 4 KB, some longer")?,
    ])
}

/// The methods that are compared, in the order of the bits in [`FoundByMethods::similar_by`].
const METHODS: [(Method, &str); 4] = [
    (Method::Mod, "Mod"),
    (Method::Min, "Min"),
    (Method::Sketch, "Sketch"),
    (Method::BswMin, "BSW"),
];

/// The thresholds of figure 9, in percent.
const THRESHOLDS: [u32; 6] = [40, 50, 60, 70, 80, 90];

/// What the methods find in one collection.
struct FoundByMethods {
    /// The name of each method with its n.
    labels: Vec<String>,
    /// For each method, how many entries an average text has.
    entries: Vec<f64>,
    /// For each method, how many pairs reach each threshold.
    counts: Vec<[usize; THRESHOLDS.len()]>,
    /// For each pair, a bit for each method that finds it similar.
    similar_by: BTreeMap<(usize, usize), u8>,
}

impl FoundByMethods {
    /// Compares all texts by the methods with these n.
    fn by(texts: &[&Text], ns: [u32; 4]) -> Result<Self, LabError> {
        let mut found = Self {
            labels: Vec::new(),
            entries: Vec::new(),
            counts: Vec::new(),
            similar_by: BTreeMap::new(),
        };
        for (place, ((method, name), n)) in METHODS.into_iter().zip(ns).enumerate() {
            let params = windowed(method, 20, n)?;
            let signatures = sign_all(&params, texts)?;
            let lens: Vec<f64> = signatures.iter().map(|one| one.len() as f64).collect();
            let asked = MethodLimits {
                min: Figure::new(f64::from(THRESHOLDS[0]) / 100.0),
                ..MethodLimits::default()
            };
            let threshold = RowThreshold::new(Threshold::Score(SIMILAR), MethodScore::Paper, asked);
            let mut counts = [0; THRESHOLDS.len()];
            for pair in all_pairs(&params, &signatures, &threshold)? {
                let Some(value) = pair.scores.figure.value() else {
                    continue;
                };
                for (count, threshold) in counts.iter_mut().zip(THRESHOLDS) {
                    *count += usize::from(value >= f64::from(threshold) / 100.0);
                }
                if value > SIMILAR {
                    *found.similar_by.entry((pair.a, pair.b)).or_default() |= 1 << place;
                }
            }
            found.labels.push(format!("{name}_{n}"));
            found.entries.push(mean(&lens));
            found.counts.push(counts);
        }
        Ok(found)
    }

    fn described(&self) -> String {
        let each = self.labels.iter().zip(&self.entries);
        let each: Vec<String> = each
            .map(|(label, entries)| format!("{label} {entries:.0}"))
            .collect();
        each.join(", ")
    }

    /// Figure 9 as a table.
    fn pairs(&self, name: &str) -> Table {
        let mut columns = vec!["threshold %"];
        columns.extend(self.labels.iter().map(String::as_str));
        let mut table = Table::new(name, &columns);
        for (at, threshold) in THRESHOLDS.iter().enumerate() {
            let values = self.counts.iter().map(|counts| counts[at].to_string());
            table.row(std::iter::once(threshold.to_string()).chain(values));
        }
        table
    }

    /// Table 2.
    fn table(&self, name: &str, texts: &[&Text]) -> Table {
        let every = self.similar_by.len().div_ceil(MOST_JUDGED).max(1);
        let judged: Vec<((usize, usize), u8)> = self
            .similar_by
            .iter()
            .step_by(every)
            .map(|(&pair, &methods)| (pair, methods))
            .collect();
        let correct: Vec<bool> = judged
            .iter()
            .map(|&((a, b), _)| alike(&texts[a].bytes, &texts[b].bytes) >= SIMILAR)
            .collect();
        let sampled = if every > 1 {
            format!(" (one in {every} of them)")
        } else {
            String::new()
        };
        let mut columns = vec!["above 70 %", "by any"];
        columns.extend(self.labels.iter().map(String::as_str));
        columns.extend(["by 1", "by 2", "by 3", "by 4"]);
        let mut table = Table::new(name, &columns);
        for (label, only_correct) in [
            (format!("total{sampled}"), false),
            ("correct".to_owned(), true),
        ] {
            let rows: Vec<u8> = judged
                .iter()
                .zip(&correct)
                .filter(|&(_, &correct)| correct || !only_correct)
                .map(|(&(_, methods), _)| methods)
                .collect();
            let of = |place: usize| {
                let by_it = |methods: &&u8| **methods >> place & 1 == 1;
                rows.iter().filter(by_it).count()
            };
            let by = |count: u32| {
                let by_so_many = |methods: &&u8| methods.count_ones() == count;
                rows.iter().filter(by_so_many).count()
            };
            let values = [rows.len()]
                .into_iter()
                .chain((0..METHODS.len()).map(of))
                .chain((1..=4).map(by))
                .map(|count| count.to_string());
            table.row(std::iter::once(label).chain(values));
        }
        table
    }
}

fn section(number: &str, texts: &[&Text], papers: &str) -> Result<Section, LabError> {
    let mut plot = Plot::new(
        &format!("figure-09-{number}"),
        &format!("Figure 9: pairs found, collection {number}"),
        "threshold, %",
        "pairs",
    );
    plot.log_y = true;
    let mut sizes = Plot::new(
        &format!("figure-10-{number}"),
        &format!("Figure 10: sizes, collection {number}"),
        "text, by size",
        "bytes",
    );
    let every = texts.len().div_ceil(400).max(1);
    let points = texts.iter().enumerate().step_by(every);
    sizes.curve(
        "size",
        points.map(|(at, text)| (at as f64, text.bytes.len() as f64)),
    );
    let found = FoundByMethods::by(texts, [100; 4])?;
    for (label, counts) in found.labels.iter().zip(&found.counts) {
        let points = THRESHOLDS.iter().zip(counts);
        plot.curve(label, points.map(|(&x, &y)| (f64::from(x), y as f64)));
    }
    // As many entries as `Mod_100` has.
    let size = (found.entries[0].round() as u32).max(1);
    let equal = FoundByMethods::by(texts, [100, size, size, 100])?;
    let text = format!(
        "{} texts (paper: {papers}). Entries of an average text: {}: at one window in 100 short \
         texts have few entries, and a ratio of few entries is often above any threshold. So the \
         last two tables give all four the same mean size: {}.",
        texts.len(),
        found.described(),
        equal.described()
    );
    Ok(Section::new(
        &format!("Figures 9 and 10, table 2: collection {number}"),
        text,
    )
    .plot(plot)
    .plot(sizes)
    .table(found.pairs(&format!("figure-09-{number}-pairs")))
    .table(found.table(&format!("table-2-{number}"), texts))
    .table(equal.pairs(&format!("figure-09-{number}-equal")))
    .table(equal.table(&format!("table-2-{number}-equal"), texts)))
}

/// Twice the number of words that both texts have in the same order, over all words of both. The
/// time is the product of their numbers of words.
fn alike(a: &[u8], b: &[u8]) -> f64 {
    let mut numbers: HashMap<&[u8], u32> = HashMap::new();
    let mut words = |text| -> Vec<u32> {
        let mut all = Vec::new();
        for word in words_of(text) {
            let next = numbers.len() as u32;
            all.push(*numbers.entry(word).or_insert(next));
        }
        all
    };
    let (a, b) = (words(a), words(b));
    let mut row = vec![0u32; b.len() + 1];
    for &word in &a {
        let mut diagonal = 0;
        for (at, &other) in b.iter().enumerate() {
            let above = row[at + 1];
            row[at + 1] = if word == other {
                diagonal + 1
            } else {
                above.max(row[at])
            };
            diagonal = above;
        }
    }
    let common = row.last().copied().unwrap_or(0);
    2.0 * f64::from(common) / (a.len() + b.len()).max(1) as f64
}

fn words_of(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oracle_aligns_words() {
        assert!((alike(b"a b c d", b"a x c d") - 0.75).abs() < 1e-12);
        assert!((alike(b"a b", b"b a") - 0.5).abs() < 1e-12);
        assert!((alike(b"", b"") - 0.0).abs() < 1e-12);
    }
}
