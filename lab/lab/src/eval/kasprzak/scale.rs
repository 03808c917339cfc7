//! Runs the four steps of the paper on any number of synthetic theses, which are never written to
//! disk.

use std::path::Path;

use resemble_methods::select::select;
use resemble_methods::sorted5::ChunkHashing;
use resemble_methods::{Features, MethodSignature};
use resemble_relate::parallel::ordered;

use super::super::made::MadeTexts;
use super::super::{Meters, Page, Section, Table, percent};
use super::{THRESHOLD, bytes_of, merge, params, seconds};
use crate::arrays::{ArraysFolder, MappedParts, pairs_in_shards};
use crate::error::LabError;
use crate::method::sorted::real_chunks;

/// The number of documents that are merged at a time. They have about 60 million chunks.
const BATCH: u32 = 25_000;

/// The number of texts that are in memory at a time.
const BLOCK: u32 = 1 << 10;

/// The sampling rate for counting distinct chunks: one chunk in 64 is kept.
const SAMPLED: u64 = 64;

/// The number of documents whose pairs are counted for comparison with other programs. These
/// documents are the last ones.
const LAST: u32 = 1000;

/// The wall time and the processor time of a step.
#[derive(Clone, Copy, Debug, Default)]
struct Spent {
    wall: f64,
    cpu: f64,
}

impl Spent {
    /// Runs a function and adds the time that it takes.
    fn on<T>(&mut self, meters: &Meters<'_>, run: impl FnOnce() -> T) -> T {
        let (wall, cpu) = ((meters.wall)(), (meters.cpu)());
        let done = run();
        self.wall += (meters.wall)() - wall;
        self.cpu += (meters.cpu)() - cpu;
        done
    }
}

/// Totals of the input, and a sample of its chunks.
#[derive(Debug, Default)]
struct ThesesTotals {
    bytes: u64,
    postings: u64,
    /// The number of chunks in the sample, with repetitions.
    sampled: u64,
    /// The first 64 bits of the hashes of the chunks in the sample.
    sample: Vec<u64>,
}

/// Makes the report about `documents` theses. Arrays of 24 bits are made by `processes` processes
/// in the folder `scratch`, where they remain.
///
/// # Errors
///
/// Fails if the folder cannot be written.
pub fn report(
    texts: &MadeTexts,
    documents: u32,
    scratch: &Path,
    processes: u32,
    meters: &Meters<'_>,
) -> Result<Page, LabError> {
    let mut totals = ThesesTotals::default();
    let [mut chunking, mut building, mut last, mut searching] = [Spent::default(); 4];
    let folder = ArraysFolder::new(scratch, "sorted5.24", "made");
    let mut set: Option<MappedParts> = None;
    for from in (0..documents).step_by(BATCH as usize) {
        let to = documents.min(from + BATCH);
        let signatures = signed(texts, from..to, &mut totals, (meters, &mut chunking))?;
        last = Spent::default();
        let merged = last.on(meters, || {
            merge(&folder, 24, (from..).zip(&signatures), processes, &|_| true)
        });
        set = Some(merged?);
        building.wall += last.wall;
        building.cpu += last.cpu;
    }
    let numbers: Vec<u32> = (0..documents).collect();
    let (mut bytes, mut found) = (0, Vec::new());
    if let Some(set) = &set {
        bytes = bytes_of(set);
        found = searching.on(meters, || {
            pairs_in_shards(&folder, set, &numbers, THRESHOLD, processes)
        })?;
    }
    let mut table = Table::new("scale", &["", "here"]);
    let each = f64::from(documents.max(1));
    totals.sample.sort_unstable();
    totals.sample.dedup();
    let distinct = totals.sample.len() as f64 / totals.sampled.max(1) as f64;
    let of_last = found.iter().filter(|pair| pair.b + LAST >= documents);
    let mut row = |what: &str, here: String| table.row([what.to_owned(), here]);
    row("documents", documents.to_string());
    row(
        "bytes of a document",
        format!("{:.0}", totals.bytes as f64 / each),
    );
    row("(chunk, document) pairs", totals.postings.to_string());
    row("of these distinct", format!("{} %", percent(distinct)));
    row("pairs of 1 %", found.len().to_string());
    row(
        "pairs of a document",
        format!("{:.1}", found.len() as f64 / each),
    );
    row("pairs of the last documents", of_last.count().to_string());
    row("bytes of the arrays", bytes.to_string());
    let pairs = totals.postings.max(1) as f64;
    row("bytes of a pair", format!("{:.2}", bytes as f64 / pairs));
    row(
        "most memory",
        format!("{} MiB", (meters.peak)().unwrap_or_default() >> 20),
    );
    let mut all = Spent::default();
    for (step, spent) in [
        ("chunks", chunking),
        ("arrays", building),
        ("last merge", last),
        ("search", searching),
    ] {
        if step != "last merge" {
            all.wall += spent.wall;
            all.cpu += spent.cpu;
        }
        step_rows(&mut row, step, spent, documents);
    }
    step_rows(&mut row, "all", all, documents);
    Ok(Page {
        name: "kasprzak".to_owned(),
        title: format!("Sorted chunks of {documents} made theses"),
        about: format!("{processes} processes."),
        sections: vec![Section::new("Theses", "").table(table)],
        files: Vec::new(),
    })
}

fn step_rows(row: &mut impl FnMut(&str, String), step: &str, spent: Spent, documents: u32) {
    row(&format!("{step}: wall s"), seconds(spent.wall));
    row(&format!("{step}: processor s"), seconds(spent.cpu));
    let hourly = f64::from(documents) / spent.cpu.max(1e-9) * 3600.0;
    row(&format!("{step}: documents/h"), format!("{hourly:.0}"));
}

/// Makes theses and computes their signatures. Only the time of the signatures is measured.
fn signed(
    texts: &MadeTexts,
    theses: std::ops::Range<u32>,
    totals: &mut ThesesTotals,
    (meters, chunking): (&Meters<'_>, &mut Spent),
) -> Result<Vec<MethodSignature>, LabError> {
    let params = params(24, ChunkHashing::Md5)?;
    let mut signatures = Vec::with_capacity(theses.len());
    for from in theses.clone().step_by(BLOCK as usize) {
        let count = (theses.end - from).min(BLOCK) as usize;
        let thesis = |at: usize, (): &mut ()| Ok(texts.thesis(from + at as u32));
        let made = ordered::<_, _, LabError>(count, || (), thesis)?;
        let sign = |at: usize, (): &mut ()| {
            let chunks = real_chunks(&params, &made[at]);
            let sample: Vec<u64> = chunks
                .iter()
                .copied()
                .filter(|chunk| chunk % SAMPLED == 0)
                .collect();
            let signature = select(&params, &Features::of_values(chunks));
            Ok((signature, sample))
        };
        let block = chunking.on(meters, || ordered::<_, _, LabError>(count, || (), sign))?;
        totals.bytes += made.iter().map(|text| text.len() as u64).sum::<u64>();
        for (signature, sample) in block {
            totals.postings += signature.occurrences();
            totals.sampled += sample.len() as u64;
            totals.sample.extend(sample);
            signatures.push(signature);
        }
    }
    Ok(signatures)
}

#[cfg(test)]
mod tests {
    use super::super::errors::exact_pairs;
    use super::*;

    #[test]
    fn the_pairs_are_those_that_are_counted_in_memory() {
        let made = MadeTexts::of_letters(1);
        let meters = Meters {
            wall: &|| 0.0,
            cpu: &|| 0.0,
            peak: &|| None,
        };
        let scratch = tempfile::tempdir().expect("a folder");
        let page = report(&made, 40, scratch.path(), 1, &meters).expect("a page");
        let here = |what: &str| -> usize {
            let rows = &page.sections[0].tables[0].rows;
            let row = rows.iter().find(|row| row[0] == what).expect(what);
            row[1].parse().expect(what)
        };
        let params = params(24, ChunkHashing::Md5).expect("parameters");
        let chunks: Vec<Vec<u64>> = (0..40)
            .map(|thesis| real_chunks(&params, &made.thesis(thesis)))
            .collect();
        let total: usize = chunks.iter().map(Vec::len).sum();
        assert_eq!(here("(chunk, document) pairs"), total);
        let len = |number: u32| chunks[number as usize].len();
        let similar = exact_pairs(&chunks).into_iter().filter(|pair| {
            let least = len(pair.a).min(len(pair.b));
            f64::from(pair.common) / least as f64 >= THRESHOLD
        });
        let similar = similar.count();
        assert!(similar > 100, "{similar}");
        assert_eq!(here("pairs of 1 %"), similar);
    }
}
