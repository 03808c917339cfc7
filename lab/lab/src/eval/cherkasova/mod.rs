//! Cherkasova et al. 2009, *Applying syntactic similarity algorithms for enterprise information
//! management*: sections 3 to 6 and 8, figures 1 to 8 and 11, table 1. Figures 9 and 10 and table 2
//! are in [`super::short_texts`].
//!
//! [`resemble_methods::changes`] makes a corpus with known changes. The random places of i changes
//! are among those of i + 1 changes. So along a curve, the same texts get more and more edits.

mod equal;
mod jenkins;
mod kept;
mod long;
mod strangers;

use resemble_methods::changes::{Edit, Spread, edited};
use resemble_methods::{Method, MethodParams, MethodSignature, Signer, score};
use resemble_relate::parallel::in_parallel;

use super::{
    Clock, Collection, Draws, Page, Plot, Section, Table, Text, compared, equal_rate, figure, mean,
    mean_len, rated, renamed, short_texts, sign_all, windowed,
};
use crate::error::LabError;

/// The number of documents in the research corpus. The paper has 100 reports of 9 to 540 KB.
const DOCUMENTS: usize = 100;

/// The sizes of these documents, in bytes.
const SIZES: std::ops::RangeInclusive<usize> = 9_000..=540_000;

/// The maximum number of changes of a document. The paper's figures have all numbers from 1 up to
/// this maximum.
const MAX_CHANGES: usize = 50;

/// The numbers of changes that are measured under all seeds.
const ENDS: [usize; 2] = [10, MAX_CHANGES];

/// The windows of figure 2, in bytes.
const WINDOWS: [u32; 7] = [5, 10, 20, 40, 60, 80, 100];

/// The seed for the changes of the first document under seed 0, see [`change_seed`].
const SEED: u64 = 2009;

/// Makes the page of this experiment.
pub fn report(collection: &Collection, seeds: u64, clock: Clock<'_>) -> Result<Page, LabError> {
    let documents = collection.of_sizes(SIZES, DOCUMENTS);
    let sizes: Vec<f64> = documents
        .iter()
        .map(|text| text.bytes.len() as f64)
        .collect();
    // In the paper, texts of about 50 KB have 100 entries on average, so n is 500 there.
    let rate = ((mean(&sizes) / 100.0).round() as u32).max(4);
    let corpus = ResearchCorpus {
        documents: &documents,
        seeds,
    };
    let mut sections = vec![
        figure_1(&sizes, rate),
        table_1(&corpus)?,
        strangers::figure_2(&corpus)?,
        strangers::figure_3(&corpus)?,
        strangers::figure_4(&corpus)?,
        kept::figures_5_and_6(&corpus)?,
        equal::figures_7_and_8(&corpus, rate)?,
        jenkins::section(&corpus)?,
    ];
    sections.extend(short_texts::sections(collection, seeds)?);
    sections.push(long::figure_11(&documents, clock)?);
    sections.push(long::section_8(&corpus, rate)?);
    Ok(Page {
        name: "cherkasova".to_owned(),
        title: "Four ways to sample a document (Cherkasova et al. 2009)".to_owned(),
        about: format!(
            "{}\n\nSimilarity is the paper's: of `Mod_n` and `BSW_n` common over all of both, of \
             `Min_n` and `Sketch_n` their estimates of it. Windows of 20 bytes where nothing else \
             is said. Figures with a range are the mean of {seeds} seeds with the least and the \
             greatest; curves are of the first seed. A seed of changes is another choice of \
             places; a seed of strangers renames the bytes of all texts. Everything is the same \
             on every run but figure 11. The paper's points are from its text.",
            collection.describe()
        ),
        sections,
        files: Vec::new(),
    })
}

/// The documents on which the experiments run, and the number of seeds.
#[derive(Clone, Copy)]
struct ResearchCorpus<'a> {
    documents: &'a [&'a Text],
    seeds: u64,
}

impl ResearchCorpus<'_> {
    /// Renames the byte values of the documents with [`renamed`] and this seed, and returns the
    /// signatures of the results.
    fn signed(&self, params: &MethodParams, seed: u64) -> Result<Vec<MethodSignature>, LabError> {
        let texts: Vec<Vec<u8>> = self
            .documents
            .iter()
            .map(|text| renamed(seed, &text.bytes))
            .collect();
        sign_all(params, &texts)
    }
}

fn figure_1(sizes: &[f64], rate: u32) -> Section {
    let mut plot = Plot::new(
        "figure-01",
        "Figure 1: sizes of the documents",
        "document",
        "bytes",
    );
    plot.log_y = true;
    plot.curve("here", (1..).map(f64::from).zip(sizes.iter().copied()));
    plot.paper("paper, ends", [(1.0, 9e3), (100.0, 540e3)]);
    let range = match sizes {
        [] => "none".to_owned(),
        [first, .., last] => format!("{first} to {last} bytes, {:.0} on average", mean(sizes)),
        [only] => format!("{only} bytes"),
    };
    let text = format!(
        "{} documents, {range}. The paper has 100 of 9 to 540 KB, about 50 KB on average. 100 \
         entries of an average document are one in {rate} windows (paper: 500).",
        sizes.len()
    );
    Section::new("Figure 1: the corpus", text).plot(plot)
}

/// Makes table 1 of section 2, in which B is the first quarter of A.
fn table_1(corpus: &ResearchCorpus<'_>) -> Result<Section, LabError> {
    let columns = [
        "method",
        "resemblance %",
        "B in A %",
        "entries of A",
        "entries of B",
    ];
    let mut table = Table::new("table-1", &columns);
    let (mut refusing, mut knowing) = (Vec::new(), Vec::new());
    for method in [Method::Mod, Method::Min, Method::Sketch, Method::BswMin] {
        let params = windowed(method, 20, 100)?;
        let (mut resemblances, mut containments) = (Draws::default(), Draws::default());
        let mut lens = [0.0; 2];
        for seed in 0..corpus.seeds {
            let texts: Vec<Vec<u8>> = corpus
                .documents
                .iter()
                .map(|text| renamed(seed, &text.bytes))
                .collect();
            let quarters: Vec<&[u8]> = texts.iter().map(|text| &text[..text.len() / 4]).collect();
            let (wholes, parts) = (sign_all(&params, &texts)?, sign_all(&params, &quarters)?);
            let (mut figures, mut contained) = (Vec::new(), Vec::new());
            for (whole, part) in wholes.iter().zip(&parts) {
                figures.push(figure(&params, whole, part));
                let scores = score(&params, whole, part);
                contained.extend(scores.b_in_a.map(|judged| judged.value().unwrap_or(0.0)));
            }
            resemblances.push(mean(&figures));
            if !contained.is_empty() {
                containments.push(mean(&contained));
            }
            lens = [mean_len(&wholes), mean_len(&parts)];
        }
        let is_refused = containments == Draws::default();
        let list = if is_refused {
            &mut refusing
        } else {
            &mut knowing
        };
        list.push(format!("`{}`", name(method, 100)));
        table.row([
            name(method, 100),
            resemblances.to_string(),
            if is_refused {
                "refused".to_owned()
            } else {
                containments.to_string()
            },
            format!("{:.0}", lens[0]),
            format!("{:.0}", lens[1]),
        ]);
    }
    let text = format!(
        "B is the first quarter of A, so all of B is in A; means over all documents. The \
         containment is measured by {}, and refused by {}. The paper's table: \"Containment\" is \
         \"yes\" for `Mod_n` and `BSW_n`, \"no\" for the others.",
        knowing.join(", "),
        refusing.join(", ")
    );
    Ok(Section::new("Table 1: what each method can measure", text).table(table))
}

/// The similarities between documents and their edited versions, by one method.
#[derive(Clone, Debug, Default)]
struct EditedCorpus {
    /// For each number of changes from 1 on, the similarity of each document under the first seed.
    each: Vec<Vec<f64>>,
    /// For each number of changes in [`ENDS`], the similarity of each document under each seed.
    ends: [Vec<Vec<f64>>; 2],
}

impl EditedCorpus {
    /// Returns the mean over the documents for each number of changes, as the points of a curve.
    fn curve(&self) -> Vec<(f64, f64)> {
        let start = std::iter::once((0.0, 100.0));
        let numbered = (1..).map(f64::from).zip(&self.each);
        start
            .chain(numbered.map(|(times, values)| (times, mean(values) * 100.0)))
            .collect()
    }

    /// Returns the mean over the documents for each seed. `end` is an index of [`ENDS`].
    fn end(&self, end: usize) -> Draws {
        self.ends[end].iter().map(|values| mean(values)).collect()
    }

    /// Returns the similarity of each document under the first seed. `end` is an index of [`ENDS`].
    fn first(&self, end: usize) -> &[f64] {
        self.ends[end].first().map_or(&[], Vec::as_slice)
    }

    /// Returns each number of changes in [`ENDS`], with the lowest and the highest mean among the
    /// seeds.
    fn ranges(&self) -> [(f64, f64, f64); 2] {
        [0, 1].map(|end| {
            let draws = self.end(end);
            let percents = (draws.least() * 100.0, draws.greatest() * 100.0);
            (ENDS[end] as f64, percents.0, percents.1)
        })
    }
}

/// Returns the seed from which the changes of a document are made.
const fn change_seed(document: usize, seed: u64) -> u64 {
    SEED + document as u64 + 1000 * seed
}

/// Edits all documents, and returns for each method their similarities to the originals. Without
/// `curves`, only the numbers of changes in [`ENDS`] are measured. Evenly spread changes do not
/// depend on a seed, so one seed is enough for them.
fn after_changes(
    corpus: &ResearchCorpus<'_>,
    methods: &[MethodParams],
    edit: Edit,
    spread: Spread,
    curves: bool,
) -> Result<Vec<EditedCorpus>, LabError> {
    let seeds = match spread {
        Spread::Random => corpus.seeds,
        Spread::Even => 1,
    };
    let plan: Vec<(u64, usize)> = (0..seeds)
        .flat_map(|seed| {
            let all = seed == 0 && curves;
            let kept = move |times: &usize| all || ENDS.contains(times);
            (1..=MAX_CHANGES)
                .filter(kept)
                .map(move |times| (seed, times))
        })
        .collect();
    let work = |at: usize, done: &mut Vec<(usize, Vec<Vec<f64>>)>| {
        let text = &corpus.documents[at].bytes;
        let mut signers: Vec<Signer> = methods.iter().map(Signer::new).collect();
        let mut sign = |text: &[u8]| -> Vec<MethodSignature> {
            let signed = signers.iter_mut().map(|signer| {
                signer.update(text);
                signer.finish()
            });
            signed.collect()
        };
        let original = sign(text);
        let of_plan = plan.iter().map(|&(seed, times)| {
            let seed = change_seed(at, seed);
            let changed = sign(&edited(text, edit, spread, times, seed));
            let pairs = methods.iter().zip(original.iter().zip(&changed));
            pairs.map(|(params, (a, b))| figure(params, a, b)).collect()
        });
        done.push((at, of_plan.collect()));
        Ok::<_, LabError>(())
    };
    let mut parts: Vec<_> = in_parallel(corpus.documents.len(), Vec::new, work)?
        .into_iter()
        .flatten()
        .collect();
    parts.sort_by_key(|&(at, _)| at);
    let mut all = vec![EditedCorpus::default(); methods.len()];
    for (step, &(seed, times)) in plan.iter().enumerate() {
        for (method, all) in all.iter_mut().enumerate() {
            let values: Vec<f64> = parts.iter().map(|(_, part)| part[step][method]).collect();
            if let Some(end) = ENDS.iter().position(|&end| end == times) {
                all.ends[end].push(values.clone());
            }
            if seed == 0 && curves {
                all.each.push(values);
            }
        }
    }
    Ok(all)
}

fn changes_plot(name: &str, title: &str) -> Plot {
    Plot::new(
        name,
        title,
        "changes in a document",
        "average similarity, %",
    )
}

/// Adds the curve of a method and the ranges of its means over the seeds to a plot.
fn draw(plot: &mut Plot, label: &str, edited: &EditedCorpus) {
    plot.curve(label, edited.curve());
    if edited.ends[0].len() > 1 {
        plot.ranges(format!("{label}, range"), edited.ranges());
    }
}

fn name(method: Method, n: u32) -> String {
    let name = match method {
        Method::Mod => "Mod",
        Method::Min => "Min",
        Method::Sketch => "Sketch",
        Method::BswMin => "BSW",
        other => return format!("{other} {n}"),
    };
    format!("{name}_{n}")
}
