//! Section 4.2: the differences between the estimated and the exact similarities.

use std::fmt::Write as _;

use resemble_methods::{Features, MethodSignature, select::select, sorted5::ChunkHashing};

use super::super::{Draws, Plot, Random, Section, Table, percent};
use super::bound::{self, ArrayEstimate, BoundedErrors, points};
use super::{Corpus, THRESHOLD, arrays, lists, params, signatures};
use crate::arrays::{CommonChunks, pairs};
use crate::error::LabError;

/// The maximum number of (chunk, document) pairs in experiments with few bits. With 12 bits, nearly
/// every list contains nearly every document, so the number of counted pairs grows with the square
/// of the number of documents.
const FEW: u64 = 400_000;

/// A document is large if its chunks would fill more than this share of the 2^n values. The errors
/// of large documents are counted separately, because they have many accidental hits.
const LARGE: f64 = 0.01;

/// The errors of estimates. Each pair of documents gives two estimates: the share of A in B, and
/// the share of B in A.
#[derive(Clone, Debug, Default)]
struct EstimateErrors {
    /// The number of estimates that reach the threshold.
    above: u64,
    /// The number of these estimates whose exact similarity is below the threshold.
    only_estimated: u64,
    /// The number of estimates above 0.
    count: u64,
    sum: f64,
    greatest: Option<ArrayEstimate>,
    /// The greatest error among pairs of which neither document is large.
    greatest_of_small: Option<f64>,
    /// The greatest error among pairs whose exact similarity is above 5 %.
    greatest_of_similar: f64,
    /// The number of errors above 1 percentage point, and of errors above 5 points.
    off: [u64; 2],
    /// The number of estimates below the exact similarity.
    below: u64,
}

impl EstimateErrors {
    /// Adds an estimate. `small` is true if neither document is larger than [`LARGE`] allows.
    fn add(&mut self, estimate: ArrayEstimate, small: bool) {
        let (estimated, exact, error) = (estimate.estimated, estimate.exact, estimate.error());
        self.count += 1;
        self.sum += error;
        if error > self.greatest() {
            self.greatest = Some(estimate);
        }
        if small {
            self.greatest_of_small = Some(self.greatest_of_small.unwrap_or(0.0).max(error));
        }
        if exact > 0.05 {
            self.greatest_of_similar = self.greatest_of_similar.max(error);
        }
        self.off[0] += u64::from(error > 0.01);
        self.off[1] += u64::from(error > 0.05);
        self.above += u64::from(estimated >= THRESHOLD);
        self.only_estimated += u64::from(estimated >= THRESHOLD && exact < THRESHOLD);
        self.below += u64::from(estimated < exact - 1e-12);
    }

    fn greatest(&self) -> f64 {
        self.greatest.map_or(0.0, |estimate| estimate.error())
    }

    fn cells(&self) -> Vec<String> {
        let small = self.greatest_of_small;
        vec![
            self.above.to_string(),
            self.only_estimated.to_string(),
            points(self.sum / self.count.max(1) as f64),
            points(self.greatest()),
            small.map_or_else(|| "-".to_owned(), points),
            points(self.greatest_of_similar),
            self.off[0].to_string(),
            self.off[1].to_string(),
            self.below.to_string(),
        ]
    }
}

const COLUMNS: [&str; 9] = [
    "above 1 %",
    "of these exactly below",
    "mean error, points",
    "greatest",
    "greatest of small documents",
    "greatest above exactly 5 %",
    "off by more than 1",
    "by more than 5",
    "below exact",
];

/// Returns all pairs of documents that have chunks in common, each with the exact number of these
/// chunks.
pub(super) fn exact_pairs(chunks: &[Vec<u64>]) -> Vec<CommonChunks> {
    let mut postings: Vec<(u64, u32)> = (0u32..)
        .zip(chunks)
        .flat_map(|(document, chunks)| chunks.iter().map(move |&chunk| (chunk, document)))
        .collect();
    postings.sort_unstable();
    let mut lists_of: Vec<Vec<u32>> = vec![Vec::new(); chunks.len()];
    let shared: Vec<&[(u64, u32)]> = postings
        .chunk_by(|a, b| a.0 == b.0)
        .filter(|list| list.len() > 1)
        .collect();
    for (number, list) in (0u32..).zip(&shared) {
        list.iter()
            .for_each(|&(_, document)| lists_of[document as usize].push(number));
    }
    let (mut common, mut found) = (vec![0u32; chunks.len()], Vec::new());
    for (b, lists) in (0u32..).zip(&lists_of) {
        for &list in lists {
            for &(_, a) in shared[list as usize].iter().take_while(|&&(_, a)| a < b) {
                common[a as usize] += 1;
            }
        }
        for (a, common) in (0u32..).zip(&mut common[..b as usize]) {
            let common = std::mem::take(common);
            if common > 0 {
                found.push(CommonChunks { a, b, common });
            }
        }
    }
    found.sort_unstable();
    found
}

/// Makes arrays of these signatures, and returns the errors of the arrays' estimates. Also adds the
/// estimates to `bounded`.
fn errors(
    corpus: &Corpus<'_>,
    name: &str,
    bits: u32,
    chunks: &[Vec<u64>],
    signatures: &[MethodSignature],
    exact: &[CommonChunks],
    bounded: &mut BoundedErrors,
) -> Result<EstimateErrors, LabError> {
    let (_, set) = arrays(corpus.scratch, name, bits, signatures, 1)?;
    let estimates = pairs(&set, &lists(signatures), 0.0)?;
    let (mut exact, mut errors) = (exact.iter().peekable(), EstimateErrors::default());
    for CommonChunks { a, b, common } in estimates {
        while exact.peek().is_some_and(|pair| (pair.a, pair.b) < (a, b)) {
            exact.next();
        }
        let real = exact.peek().filter(|pair| (pair.a, pair.b) == (a, b));
        let real = real.map_or(0, |pair| pair.common);
        let small = [a, b]
            .iter()
            .all(|&document| !is_large(bits, &chunks[document as usize]));
        for (of, within) in [(a, b), (b, a)] {
            let whole = signatures[of as usize].occurrences().max(1) as f64;
            let [of_chunks, within_chunks] = [of, within].map(|at| chunks[at as usize].len());
            let exactly = of_chunks.max(1) as f64;
            let estimate = ArrayEstimate {
                of,
                within,
                estimated: f64::from(common) / whole,
                exact: f64::from(real) / exactly,
            };
            bounded.add(&estimate, of_chunks, within_chunks);
            errors.add(estimate, small);
        }
    }
    Ok(errors)
}

/// Returns whether a document with these chunks is large, as [`LARGE`] defines it.
fn is_large(bits: u32, chunks: &[u64]) -> bool {
    filled(bits, chunks) > LARGE
}

/// Returns the share of the 2^n values that these chunks would fill if each had a different value.
fn filled(bits: u32, chunks: &[u64]) -> f64 {
    chunks.len() as f64 / 2f64.powi(bits as i32)
}

fn row(bits: u32, chunks: u64, kept: &str, errors: &EstimateErrors) -> Vec<String> {
    let load = chunks as f64 / 2f64.powi(bits as i32);
    let mut row = vec![bits.to_string(), format!("{load:.2}"), kept.to_owned()];
    row.extend(errors.cells());
    row
}

fn table(name: &str) -> Table {
    let columns: Vec<&str> = ["n", "chunks for each value", "kept"]
        .into_iter()
        .chain(COLUMNS)
        .collect();
    Table::new(name, &columns)
}

/// Converts a signature to the paper's definition: a set in which each hash occurs once, even if
/// several chunks have it.
fn as_set(bits: u32, signature: &MethodSignature) -> Result<MethodSignature, LabError> {
    let values = signature
        .entries()
        .into_iter()
        .map(|entry| entry.value << (64 - bits));
    Ok(select(
        &params(bits, ChunkHashing::Md5)?,
        &Features::of_values(values),
    ))
}

/// The values of n that are measured under all seeds. Larger arrays take a second to write, so they
/// are measured under one seed.
const SEEDED: [u32; 3] = [12, 16, 20];

/// Figures about the errors at one n, with a value for each seed.
#[derive(Default)]
struct ErrorDraws {
    means: Draws,
    greatest: Draws,
    below: Draws,
    off: [Draws; 2],
}

/// Measures arrays of few bits on a small part of the folder. In one series, the signatures count
/// chunks. In the other series, they are sets of hashes, as in the paper.
pub(super) fn small(corpus: &Corpus<'_>, seeds: u64) -> Result<Section, LabError> {
    let mut sum = 0;
    let few = corpus.chunks.iter().take_while(|chunks| {
        sum += chunks.len() as u64;
        sum <= FEW
    });
    let chunks: Vec<Vec<u64>> = few.cloned().collect();
    let mut distinct: Vec<u64> = chunks.iter().flatten().copied().collect();
    distinct.sort_unstable();
    distinct.dedup();
    let exact = exact_pairs(&chunks);
    let columns = [
        "n",
        "chunks for each value",
        "kept",
        "seeds",
        "mean error, points",
        "greatest",
        "off by more than 1",
        "by more than 5",
        "below exact",
    ];
    let mut table = Table::new("errors-few-bits", &columns);
    let mut plot = Plot::new(
        "errors",
        "Estimates compared with exact similarities",
        "n, bits",
        "error, points",
    );
    plot.log_y = true;
    let labels = ["real chunks", "hashed set"];
    let mut curves: [[Vec<(f64, f64)>; 2]; 2] = Default::default();
    let mut ranges: [Vec<(f64, f64, f64)>; 2] = Default::default();
    let mut below = [0.0; 2];
    for bits in corpus.worth(&[12, 16, 20, 24, 28]) {
        let tried = if SEEDED.contains(&bits) { seeds } else { 1 };
        let mut draws: [ErrorDraws; 2] = Default::default();
        for seed in 0..tried {
            // Seed 0 uses the MD5 of each chunk unchanged. Each other seed hashes the same chunks
            // differently.
            let key = Random(seed).draw();
            let of_seed = |chunk: &u64| match seed {
                0 => *chunk,
                _ => Random(chunk ^ key).draw(),
            };
            let mut hashed: Vec<Vec<u64>> = chunks
                .iter()
                .map(|chunks| chunks.iter().map(of_seed).collect())
                .collect();
            for chunks in &mut hashed {
                chunks.sort_unstable();
            }
            let real = signatures(bits, &hashed)?;
            let sets = real.iter().map(|signature| as_set(bits, signature));
            let sets: Vec<MethodSignature> = sets.collect::<Result<_, _>>()?;
            for (signatures, (kept, draws)) in [real, sets].iter().zip((0..).zip(&mut draws)) {
                let name = format!("few-{bits}-{kept}");
                let of_seed = &mut BoundedErrors::new(bits, chunks.len());
                let errors = errors(corpus, &name, bits, &chunks, signatures, &exact, of_seed)?;
                drop(std::fs::remove_dir_all(corpus.scratch.join(&name)));
                draws.means.push(errors.sum / errors.count.max(1) as f64);
                draws.greatest.push(errors.greatest());
                draws.below.push(errors.below as f64);
                draws.off[0].push(errors.off[0] as f64);
                draws.off[1].push(errors.off[1] as f64);
            }
        }
        for (kept, draws) in draws.iter().enumerate() {
            let x = f64::from(bits);
            let scaled = |value: f64| value * 100.0;
            curves[kept][0].push((x, scaled(draws.greatest.mean())));
            curves[kept][1].push((x, scaled(draws.means.mean())));
            let (least, most) = (draws.greatest.least(), draws.greatest.greatest());
            ranges[kept].push((x, scaled(least), scaled(most)));
            below[kept] += draws.below.greatest();
            table.row([
                bits.to_string(),
                format!("{:.2}", distinct.len() as f64 / 2f64.powi(bits as i32)),
                labels[kept].to_owned(),
                tried.to_string(),
                draws.means.percents(3),
                draws.greatest.percents(3),
                draws.off[0].rounded(0),
                draws.off[1].rounded(0),
                draws.below.rounded(0),
            ]);
        }
    }
    for (label, ([greatest, means], ranges)) in
        labels.into_iter().zip(curves.into_iter().zip(ranges))
    {
        plot.curve(format!("greatest, {label}"), greatest);
        plot.ranges(format!("greatest, {label}, range"), ranges);
        plot.curve(format!("mean, {label}"), means);
    }
    plot.paper("paper, greatest", [(24.0, 5.0), (28.0, 1.0)]);
    let text = format!(
        "{} texts with {} distinct chunks; {} pairs have chunks in common. Similarities of A to B \
         and of B to A count each. **Real chunks**: a document has a hash as often as it has \
         chunks of it; at most {:.0} estimates of a seed are below the exact similarity, all n \
         together. **Hashed set**: each hash once, as printed; at most {:.0} are below it. A seed \
         is another hash of the chunks; the first is MD5 itself.",
        chunks.len(),
        distinct.len(),
        exact.len(),
        below[0],
        below[1],
    );
    Ok(Section::new("Errors with few bits (section 4.2)", text)
        .plot(plot)
        .table(table))
}

/// Measures the whole folder with the paper's n, and with the n at which each value has as many
/// chunks as in the paper.
pub(super) fn large(corpus: &Corpus<'_>) -> Result<Section, LabError> {
    let exact = exact_pairs(&corpus.chunks);
    let mut table = table("errors");
    let like_24 = corpus.papers_bits();
    let mut all = corpus.worth(&[like_24, like_24 + 4, 24, 28]);
    all.sort_unstable();
    all.dedup();
    let mut similar = 0;
    for pair in &exact {
        let lesser = corpus.chunks[pair.a as usize]
            .len()
            .min(corpus.chunks[pair.b as usize].len());
        similar += u64::from(f64::from(pair.common) / lesser.max(1) as f64 >= THRESHOLD);
    }
    let mut greatest = String::new();
    let mut by_length = bound::by_length();
    for bits in all {
        let signatures = signatures(bits, &corpus.chunks)?;
        let name = format!("errors-{bits}");
        let chunks = &corpus.chunks;
        let mut bounded = BoundedErrors::new(bits, chunks.len());
        let errors = errors(
            corpus,
            &name,
            bits,
            chunks,
            &signatures,
            &exact,
            &mut bounded,
        )?;
        bounded.rows(&mut by_length);
        table.row(row(bits, corpus.distinct, "real chunks", &errors));
        if let Some(estimate) = errors.greatest {
            let ArrayEstimate { of, within, .. } = estimate;
            let is_large = |chunks: &&Vec<u64>| is_large(bits, chunks);
            let name = |document: u32| {
                let name = &corpus.collection.texts[document as usize].name;
                let chunks = corpus.chunks[document as usize].len();
                format!("`{name}` ({chunks} chunks)")
            };
            let _ = write!(
                greatest,
                "\n* {bits} bits: {} points, bound {}; {} estimated in place of {} %, of {} in {}; \
                 their chunks are {} and {} % of the values. Not small: {} documents. Of {} \
                 estimates {} are above their bound.",
                points(estimate.error()),
                points(bounded.bound(chunks[of as usize].len(), chunks[within as usize].len())),
                points(estimate.estimated),
                points(estimate.exact),
                name(of),
                name(within),
                points(filled(bits, &corpus.chunks[of as usize])),
                points(filled(bits, &corpus.chunks[within as usize])),
                corpus.chunks.iter().filter(is_large).count(),
                bounded.counted().0,
                bounded.counted().1,
            );
        }
        drop(std::fs::remove_dir_all(corpus.scratch.join(&name)));
    }
    let text = format!(
        "One hash, MD5, without a seed. {} pairs have chunks in common, {similar} ({} %) are \
         exactly similar by 1 % or more. With n = {like_24} there are about as many chunks for \
         each value as the paper has with 24, with n = {} as with 28. The paper: at 24 bits up to \
         5 points, only of documents that are similar by at most 5 %; at 28 at most 1.\n\nSmall \
         documents fill no more than 1 % of the values. A document of a chunks is in one of b by \
         accident with ab/2^n of them, so the error is large where a is small and b is large. The \
         bound of a pair is the error that a random hash exceeds for any pair of 1 in 20 \
         collections (Chernoff). The last table has it for a collection like the paper's, 250,000 \
         documents of at most 30,000 chunks. The greatest errors:\n{greatest}",
        exact.len(),
        percent(similar as f64 / exact.len().max(1) as f64),
        like_24 + 4
    );
    Ok(Section::new("Errors on the whole folder", text)
        .table(table)
        .table(by_length)
        .table(bound::of_paper()))
}
