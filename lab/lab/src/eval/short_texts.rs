//! Cherkasova et al. 2009, section 5: two collections of short texts, figures 9 and 10 and table 2.
//!
//! The paper's authors judged pairs by eye with `diff`. Here an oracle replaces the authors. It
//! aligns the words of both texts by the longest common subsequence. A pair is correct if at least
//! 70 % of all words of the two texts are aligned. This oracle uses neither windows nor samples. A
//! second oracle compares all windows of the two texts.

use std::collections::{BTreeMap, HashMap};

use crate::figure::Figure;
use crate::question::{MethodLimits, MethodScore};
use resemble_methods::{Method, MethodParams, MethodSignature, Threshold, sign};
use resemble_relate::parallel::in_parallel;

use super::{
    Collection, Draws, Plot, Section, Table, Text, equal_rate, figure, mean, renamed, sign_all,
    windowed,
};
use crate::error::LabError;
use crate::method::RowThreshold;
use crate::method::all_pairs::all_pairs;

/// The least similarity of similar texts. The paper says "higher than 70%".
const SIMILAR: f64 = 0.7;

/// The maximum number of pairs that the oracles judge for each seed. The time for aligning two
/// texts is proportional to the product of their lengths.
const MAX_JUDGED: usize = 20_000;

/// One of the paper's collections.
struct PaperCollection {
    number: &'static str,
    /// A description of the paper's documents: how many there are, and how large they are.
    about: &'static str,
    sizes: std::ops::RangeInclusive<usize>,
    documents: usize,
    /// The figures of table 2: the numbers of pairs above 70 % that each method, any method, and
    /// all four methods find.
    found: [u32; 4],
    any: u32,
    all: u32,
    /// The number of correct pairs that each method finds.
    correct: [u32; 4],
}

const COLLECTIONS: [PaperCollection; 2] = [
    PaperCollection {
        number: "1",
        about: "5,040 of 600 to 1,500 bytes, some longer",
        sizes: 600..=1500,
        documents: 5040,
        found: [61, 25, 17, 20],
        any: 65,
        all: 12,
        correct: [48, 24, 17, 19],
    },
    PaperCollection {
        number: "2",
        about: "2,500 of 2 to 4 KB, some longer",
        sizes: 2000..=4000,
        documents: 2500,
        found: [75, 65, 49, 55],
        any: 81,
        all: 45,
        correct: [75, 65, 49, 55],
    },
];

/// Makes the sections of the report about both collections.
pub(super) fn sections(collection: &Collection, seeds: u64) -> Result<Vec<Section>, LabError> {
    let of_paper = COLLECTIONS.iter();
    of_paper
        .map(|paper| {
            let texts = collection.of_sizes(paper.sizes.clone(), paper.documents);
            section(paper, &texts, seeds)
        })
        .collect()
}

/// The methods that are compared, in the order of the bits in [`SimilarPairs`].
const METHODS: [(Method, &str); 4] = [
    (Method::Mod, "Mod"),
    (Method::Min, "Min"),
    (Method::Sketch, "Sketch"),
    (Method::BswMin, "BSW"),
];

/// The thresholds of figure 9, in percent.
const THRESHOLDS: [u32; 6] = [40, 50, 60, 70, 80, 90];

/// The pairs that at least one method finds at a similarity above 70 %. A pair has a bit for each
/// method that finds it.
type SimilarPairs = BTreeMap<(usize, usize), u8>;

/// The pairs that the methods find in one collection, under all seeds.
struct FoundByMethods {
    /// The name and the n of each method.
    labels: Vec<String>,
    /// For each method, the mean number of entries of a text under each seed.
    entries: [Draws; 4],
    /// For each method, the number of pairs that reach each threshold under each seed.
    counts: [[Draws; THRESHOLDS.len()]; 4],
    /// For each seed, the pairs above 70 %.
    similar: Vec<SimilarPairs>,
}

impl FoundByMethods {
    /// Compares all texts by each method, with these values of n.
    fn by(texts: &[&Text], ns: [u32; 4], seeds: u64) -> Result<Self, LabError> {
        let label = |((_, name), n): ((Method, &str), u32)| format!("{name}_{n}");
        let mut found = Self {
            labels: METHODS.into_iter().zip(ns).map(label).collect(),
            entries: Default::default(),
            counts: Default::default(),
            similar: Vec::new(),
        };
        let asked = MethodLimits {
            min: Figure::new(f64::from(THRESHOLDS[0]) / 100.0),
            ..MethodLimits::default()
        };
        let threshold = RowThreshold::new(Threshold::Score(SIMILAR), MethodScore::Paper, asked);
        for seed in 0..seeds {
            let texts: Vec<Vec<u8>> = texts
                .iter()
                .map(|text| renamed(seed, &text.bytes))
                .collect();
            let mut similar = SimilarPairs::new();
            for (place, ((method, _), n)) in METHODS.into_iter().zip(ns).enumerate() {
                let params = windowed(method, 20, n)?;
                let signatures = sign_all(&params, &texts)?;
                let lens: Vec<f64> = signatures.iter().map(|one| one.len() as f64).collect();
                found.entries[place].push(mean(&lens));
                let mut counts = [0u32; THRESHOLDS.len()];
                for pair in all_pairs(&params, &signatures, &threshold)? {
                    let Some(value) = pair.scores.figure.value() else {
                        continue;
                    };
                    for (count, threshold) in counts.iter_mut().zip(THRESHOLDS) {
                        *count += u32::from(value >= f64::from(threshold) / 100.0);
                    }
                    if value > SIMILAR {
                        *similar.entry((pair.a, pair.b)).or_default() |= 1 << place;
                    }
                }
                for (draws, count) in found.counts[place].iter_mut().zip(counts) {
                    draws.push(f64::from(count));
                }
            }
            found.similar.push(similar);
        }
        Ok(found)
    }

    fn described(&self) -> String {
        let each = self.labels.iter().zip(&self.entries);
        let each: Vec<String> = each
            .map(|(label, entries)| format!("`{label}` {}", entries.rounded(1)))
            .collect();
        each.join(", ")
    }

    /// Ranks the methods by the mean number of pairs that they find at a threshold of 70 %. Returns
    /// a sentence that compares each method with the next one. The sentence gives two counts: the
    /// seeds under which a method finds more pairs than the next one, and the seeds under which it
    /// finds fewer.
    fn ranked(&self) -> String {
        let at = THRESHOLDS.iter().position(|&threshold| threshold == 70);
        let at = at.unwrap_or_default();
        let mut order: Vec<usize> = (0..METHODS.len()).collect();
        let mean = |place: &usize| self.counts[*place][at].mean();
        order.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
        let steps = order.windows(2).map(|pair| {
            let (more, fewer) = (&self.counts[pair[0]][at], &self.counts[pair[1]][at]);
            let difference = more.minus(fewer);
            format!(
                "{} more than {} under {}, fewer under {}",
                METHODS[pair[0]].1,
                METHODS[pair[1]].1,
                difference.above(0.0),
                difference.below(0.0)
            )
        });
        let steps: Vec<String> = steps.collect();
        let seeds = self.similar.len();
        format!("At 70 % of {seeds} seeds: {}.", steps.join("; "))
    }

    /// Returns, for each seed, the number of pairs above 70 % that at least this number of methods
    /// find.
    fn by_at_least(&self, methods: u32) -> Draws {
        let count = |pairs: &SimilarPairs| {
            let found = pairs.values().filter(|by| by.count_ones() >= methods);
            found.count() as f64
        };
        self.similar.iter().map(count).collect()
    }

    /// Returns figure 9 as a table.
    fn pairs(&self, name: &str) -> Table {
        let mut columns = vec!["threshold %"];
        columns.extend(self.labels.iter().map(String::as_str));
        let mut table = Table::new(name, &columns);
        for (at, threshold) in THRESHOLDS.iter().enumerate() {
            let values = self.counts.iter().map(|counts| counts[at].rounded(0));
            table.row(std::iter::once(threshold.to_string()).chain(values));
        }
        table
    }

    /// Returns table 2, and the share of all found pairs that each oracle calls correct.
    fn table(
        &self,
        name: &str,
        oracles: &mut Oracles<'_>,
    ) -> Result<(Table, [Draws; 2]), LabError> {
        // The first row counts all pairs that are found. The other rows count the pairs that each
        // oracle calls correct. The columns are the pairs found by any method, by each method, and
        // by exactly one to four methods.
        let mut cells: [[Draws; 9]; 3] = Default::default();
        let (mut sampled, mut shares) = (1, <[Draws; 2]>::default());
        for similar in &self.similar {
            let every = similar.len().div_ceil(MAX_JUDGED).max(1);
            sampled = sampled.max(every);
            let judged: Vec<((usize, usize), u8)> = similar
                .iter()
                .step_by(every)
                .map(|(&pair, &methods)| (pair, methods))
                .collect();
            let verdicts = oracles.judge(judged.iter().map(|&(pair, _)| pair))?;
            for (row, cells) in cells.iter_mut().enumerate() {
                let is_in = |verdict: &[bool; 2]| row == 0 || verdict[row - 1];
                let rows: Vec<u8> = judged
                    .iter()
                    .zip(&verdicts)
                    .filter(|&(_, verdict)| is_in(verdict))
                    .map(|(&(_, methods), _)| methods)
                    .collect();
                let count = |fits: &dyn Fn(u8) -> bool| {
                    rows.iter().filter(|&&methods| fits(methods)).count() as f64
                };
                cells[0].push(rows.len() as f64);
                for place in 0..METHODS.len() {
                    cells[1 + place].push(count(&|methods| methods >> place & 1 == 1));
                }
                for by in 1..=4 {
                    cells[4 + by].push(count(&|methods| methods.count_ones() as usize == by));
                }
                if row > 0 && !judged.is_empty() {
                    shares[row - 1].push(rows.len() as f64 / judged.len() as f64);
                }
            }
        }
        let total = match sampled {
            1 => "total".to_owned(),
            more => format!("total (of a seed with many, one in {more})"),
        };
        let mut columns = vec!["above 70 %", "by any"];
        columns.extend(self.labels.iter().map(String::as_str));
        columns.extend(["by 1", "by 2", "by 3", "by 4"]);
        let mut table = Table::new(name, &columns);
        let labels = [
            total,
            "correct by words".to_owned(),
            "exactly above 70 %".to_owned(),
        ];
        for (label, cells) in labels.into_iter().zip(&cells) {
            let values = cells.iter().map(|draws| draws.rounded(0));
            table.row(std::iter::once(label).chain(values));
        }
        Ok((table, shares))
    }
}

/// Judges pairs of texts without sampling, in two ways: by their words and by their windows.
/// Judgements are kept, so no pair is judged again.
struct Oracles<'a> {
    texts: &'a [&'a Text],
    /// The parameters that keep all windows of 20 bytes.
    exact: MethodParams,
    judged: HashMap<(usize, usize), [bool; 2]>,
}

impl<'a> Oracles<'a> {
    fn new(texts: &'a [&'a Text]) -> Result<Self, LabError> {
        Ok(Self {
            texts,
            exact: windowed(Method::Mod, 20, 1)?,
            judged: HashMap::new(),
        })
    }

    fn judge(
        &mut self,
        pairs: impl Iterator<Item = (usize, usize)>,
    ) -> Result<Vec<[bool; 2]>, LabError> {
        let pairs: Vec<(usize, usize)> = pairs.collect();
        let new: Vec<(usize, usize)> = pairs
            .iter()
            .copied()
            .filter(|pair| !self.judged.contains_key(pair))
            .collect();
        let made = in_parallel(new.len(), Vec::new, |at, made| {
            let (a, b) = (self.texts[new[at].0], self.texts[new[at].1]);
            let signed = |text: &Text| -> MethodSignature { sign(&self.exact, &text.bytes) };
            let verdict = [
                alike(&a.bytes, &b.bytes) >= SIMILAR,
                figure(&self.exact, &signed(a), &signed(b)) > SIMILAR,
            ];
            made.push((new[at], verdict));
            Ok::<_, LabError>(())
        })?;
        self.judged.extend(made.into_iter().flatten());
        let verdicts = pairs.iter().map(|pair| self.judged.get(pair).copied());
        Ok(verdicts.map(Option::unwrap_or_default).collect())
    }
}

fn section(paper: &PaperCollection, texts: &[&Text], seeds: u64) -> Result<Section, LabError> {
    let number = paper.number;
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
        "here",
        points.map(|(at, text)| (at as f64, text.bytes.len() as f64)),
    );
    let ends = [
        (0, *paper.sizes.start()),
        (paper.documents, *paper.sizes.end()),
    ];
    sizes.paper(
        "paper, about",
        ends.map(|(at, bytes)| (at as f64, bytes as f64)),
    );
    let found = FoundByMethods::by(texts, [100; 4], seeds)?;
    for (label, counts) in found.labels.iter().zip(&found.counts) {
        let points = || THRESHOLDS.iter().map(|&x| f64::from(x)).zip(counts);
        plot.curve(label, points().map(|(x, draws)| (x, draws.mean())));
        plot.ranges(
            format!("{label}, range"),
            points().map(|(x, draws)| (x, draws.least(), draws.greatest())),
        );
    }
    for (label, methods) in [("by any", 1), ("by all four", 4)] {
        plot.curve(label, [(70.0, found.by_at_least(methods).mean())]);
    }
    let at_70 = |pairs: u32| (70.0, f64::from(pairs));
    plot.paper("paper, table 2", paper.found.map(at_70));
    plot.paper("paper, correct", paper.correct.map(at_70));
    plot.paper("paper, any, all four", [paper.any, paper.all].map(at_70));
    // The other methods keep as many entries as `Mod_100` does.
    let wanted = found.entries[0].mean().max(1.0);
    let size = (wanted.round() as u32).max(1);
    let (rate, _) = equal_rate(Method::BswMin, texts, wanted, 100)?;
    let equal = FoundByMethods::by(texts, [100, size, size, rate], seeds)?;
    let mut oracles = Oracles::new(texts)?;
    let (table, shares) = found.table(&format!("table-2-{number}"), &mut oracles)?;
    let (table_equal, equal_shares) =
        equal.table(&format!("table-2-{number}-equal"), &mut oracles)?;
    let of_paper = |counts: [u32; 4]| {
        let labels = METHODS.into_iter().zip(counts);
        let labels: Vec<String> = labels
            .map(|((_, name), count)| format!("{name} {count}"))
            .collect();
        labels.join(", ")
    };
    let text = format!(
        "{} texts (paper: {}). Entries of an average text: {}. {} Of the pairs above 70 % by any \
         method, in percent: correct by their words {}, exactly above 70 % (all windows) {}. The \
         last two tables give all four about the same mean size, {}; of their pairs {} and \
         {}.\n\nPaper: {} pairs by any, {} by all four ({}), of which correct: {}.",
        texts.len(),
        paper.about,
        found.described(),
        found.ranked(),
        shares[0],
        shares[1],
        equal.described(),
        equal_shares[0],
        equal_shares[1],
        paper.any,
        paper.all,
        of_paper(paper.found),
        of_paper(paper.correct),
    );
    let heading = format!("Figures 9 and 10, table 2: collection {number}");
    Ok(Section::new(&heading, text)
        .plot(plot)
        .plot(sizes)
        .table(found.pairs(&format!("figure-09-{number}-pairs")))
        .table(table)
        .table(equal.pairs(&format!("figure-09-{number}-equal")))
        .table(table_equal))
}

/// Returns twice the length of the longest common subsequence of words, divided by the number of
/// words of both texts. The time is proportional to the product of the two numbers of words.
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
