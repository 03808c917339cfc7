//! Repeats sections 2.3, 4.3 to 4.6 and 5 of the paper: the data, the time of each stage, sizes,
//! shards, increments, exact similarities, and smaller offsets.

use std::fs;

use resemble_methods::arrays::deltas::Deltas;
use resemble_methods::sorted5::{ChunkHashing, overlap_of_sorted};
use resemble_methods::{MethodSignature, Signer};

use super::super::{Clock, Draws, Random, Section, Table, percent};
use super::{
    Corpus, THRESHOLD, arrays, bytes_of, lists, megabytes, merge, params, seconds, signatures,
};
use crate::arrays::{
    ArraysError, ArraysFolder, MappedParts, pairs, pairs_among, pairs_in_shards, pairs_on,
};
use crate::error::LabError;
use crate::method::sorted::real_chunks;

/// Describes the data in the terms of section 2.3.
pub(super) fn data(corpus: &Corpus<'_>) -> Section {
    let mut table = Table::new("data", &["", "here", "paper"]);
    let documents = corpus.chunks.len();
    let postings = corpus.postings();
    table.row(["documents", &documents.to_string(), "250000"]);
    table.row([
        "(chunk, document) pairs",
        &postings.to_string(),
        "600000000",
    ]);
    table.row(["distinct chunks", &corpus.distinct.to_string(), "445000000"]);
    let each = postings as f64 / documents.max(1) as f64;
    table.row(["chunks of a document", &format!("{each:.0}"), "2400"]);
    let share = corpus.distinct as f64 / postings.max(1) as f64;
    table.row(["distinct of all", &format!("{share:.2}"), "0.74"]);
    let text = format!(
        "{} texts; {} % of their chunks are distinct (paper: 74 %).",
        documents,
        percent(share)
    );
    Section::new("The data (section 2.3)", text).table(table)
}

/// Measures the times of section 4.6, on one thread throughout.
pub(super) fn times(corpus: &Corpus<'_>, clock: Clock<'_>) -> Result<Section, LabError> {
    let mut table = Table::new(
        "stages",
        &["stage", "seconds", "MB/s", "documents per hour", "paper"],
    );
    let (documents, bytes) = (corpus.chunks.len() as f64, corpus.collection.bytes() as f64);
    let mut row = |stage: &str, spent: f64, paper: &str| {
        let spent = spent.max(1e-9);
        table.row([
            stage.to_owned(),
            seconds(spent),
            format!("{:.1}", bytes / 1e6 / spent),
            format!("{:.0}", documents / spent * 3600.0),
            paper.to_owned(),
        ]);
    };
    let params = params(corpus.bits(), ChunkHashing::Md5)?;
    let start = clock();
    let mut signer = Signer::new(&params);
    let texts = corpus.collection.texts.iter();
    let signatures: Vec<MethodSignature> = texts
        .map(|text| {
            signer.update(&text.bytes);
            signer.finish()
        })
        .collect();
    let chunking = clock() - start;
    row("1: chunks", chunking, "2 hours, 14 processors");
    let start = clock();
    let (_, set) = arrays(corpus.scratch, "stages", corpus.bits(), &signatures, 1)?;
    let building = clock() - start;
    row("2, 3: arrays", building, "3 hours, one processor");
    let lists = lists(&signatures);
    let start = clock();
    let found = pairs_on(&set, &lists, THRESHOLD, 1)?;
    let searching = clock() - start;
    row(
        "4: search",
        searching,
        "8500 documents per hour and processor",
    );
    row(
        "all",
        chunking + building + searching,
        "7 hours, 14 processors",
    );
    let looked_up = corpus.postings() as f64 / searching.max(1e-9) / 1e6;
    let text = format!(
        "One thread, {} bits. {} pairs of 1 % and more. The search looks up {looked_up:.1} \
         million chunks a second. The paper's 8,500 documents of 2,400 chunks in an hour are 5,700 \
         chunks a second.",
        corpus.bits(),
        found.len()
    );
    Ok(Section::new("Times by stage (section 4.6)", text).table(table))
}

/// Measures the sizes of arrays, which sections 4.3 and 4.6 give.
pub(super) fn sizes(corpus: &Corpus<'_>) -> Result<Section, LabError> {
    let mut table = Table::new(
        "sizes",
        &[
            "n",
            "documents MB",
            "offsets MB",
            "ids MB",
            "bytes of an id",
            "all MB",
            "bytes for each chunk",
            "of the texts %",
        ],
    );
    for bits in corpus.worth(&[16, 20, 24, 28]) {
        let signatures = signatures(bits, &corpus.chunks)?;
        let name = format!("sizes-{bits}");
        let (_, set) = arrays(corpus.scratch, &name, bits, &signatures, 1)?;
        let parts = set.parts()?;
        let header = parts.parts()[0].header();
        let [documents, offsets, ids] = header.lengths().unwrap_or_default();
        let all = bytes_of(&set);
        table.row([
            bits.to_string(),
            megabytes(documents),
            megabytes(offsets),
            megabytes(ids),
            header.id_width.to_string(),
            megabytes(all),
            format!("{:.2}", all as f64 / corpus.postings().max(1) as f64),
            format!(
                "{:.1}",
                all as f64 / corpus.collection.bytes().max(1) as f64 * 100.0
            ),
        ]);
        drop(parts);
        drop(set);
        drop(fs::remove_dir_all(corpus.scratch.join(&name)));
    }
    let text = "The offsets are four bytes for each of 2^n values. Paper: 64 MB at 24 bits, 1 GB \
        at 28; with 600 million ids of three bytes (1.7 GB) less than 2 GB and less than 3 GB.";
    Ok(Section::new("Sizes (section 4.3)", text).table(table))
}

/// Returns the documents and all lists of the parts as bytes, without headers. Equal arrays give
/// equal bytes, even if they are cut into different parts.
fn contents(set: &MappedParts) -> Result<Vec<u8>, ArraysError> {
    let (parts, mut ids) = (set.parts()?, Vec::new());
    ids.extend_from_slice(parts.documents().bytes());
    for part in parts.parts() {
        for value in part.header().from..part.header().to {
            let list = part.list(value).map_err(|source| ArraysError::Array {
                path: set.paths().first().cloned().unwrap_or_default(),
                source,
            })?;
            if !list.is_empty() {
                ids.extend_from_slice(&(value as u32).to_le_bytes());
                list.iter()
                    .for_each(|id| ids.extend_from_slice(&id.to_le_bytes()));
            }
        }
    }
    Ok(ids)
}

/// Compares the work of two processes with the work of one process (section 4.5).
pub(super) fn shards(corpus: &Corpus<'_>, clock: Clock<'_>) -> Result<Section, LabError> {
    let mut table = Table::new(
        "shards",
        &[
            "processes",
            "arrays s",
            "search s",
            "the same arrays",
            "the same pairs",
        ],
    );
    let signatures = signatures(corpus.bits(), &corpus.chunks)?;
    let numbers: Vec<u32> = (0..signatures.len() as u32).collect();
    let (mut first, mut spent) = (None, Vec::new());
    for count in [1, 2] {
        let start = clock();
        let (folder, set) = arrays(
            corpus.scratch,
            &format!("shards-{count}"),
            corpus.bits(),
            &signatures,
            count,
        )?;
        let building = clock() - start;
        let start = clock();
        let found = match count {
            1 => pairs_among(&set, &numbers, THRESHOLD, 1)?,
            _ => pairs_in_shards(&folder, &set, &numbers, THRESHOLD, count)?,
        };
        let searching = clock() - start;
        spent.push((building, searching));
        let arrays = contents(&set)?;
        let (same_arrays, same_pairs) = match &first {
            None => (true, true),
            Some((one, pairs)) => (*one == arrays, *pairs == found),
        };
        let word = |same| if same { "yes" } else { "no" };
        table.row([
            count.to_string(),
            seconds(building),
            seconds(searching),
            word(same_arrays).to_owned(),
            word(same_pairs).to_owned(),
        ]);
        first.get_or_insert((arrays, found));
    }
    let [one, two] = &spent[..] else {
        return Ok(Section::default());
    };
    let text = format!(
        "Processes share the values for building and the documents for searching; one process is \
         one thread. The search reads the documents off the arrays first. Two processes take {} % \
         of the time of one for the arrays and {} % for the search.",
        percent(two.0 / one.0.max(1e-9)),
        percent(two.1 / one.1.max(1e-9)),
    );
    Ok(Section::new("Shards (section 4.5)", text).table(table))
}

/// Measures the time for merging new documents into arrays (section 4.4, step 3), and for removing
/// documents.
pub(super) fn increments(corpus: &Corpus<'_>, clock: Clock<'_>) -> Result<Section, LabError> {
    let mut table = Table::new(
        "increments",
        &["merge", "documents", "seconds", "as from nothing"],
    );
    let signatures = signatures(corpus.bits(), &corpus.chunks)?;
    let count = signatures.len() as u32;
    let folder = ArraysFolder::new(
        &corpus.scratch.join("increments"),
        "sorted5.24",
        "increments",
    );
    let numbered = |from: u32, to: u32| (from..).zip(&signatures[from as usize..to as usize]);
    let most = count - count / 10;
    let steps: [(&str, u32, u32, bool); 4] = [
        ("nine tenths into nothing", 0, most, false),
        (
            "a tenth into these",
            most,
            count.saturating_sub(1).max(most),
            false,
        ),
        (
            "one document into all others",
            count.saturating_sub(1).max(most),
            count,
            false,
        ),
        ("every tenth leaves", 0, 0, true),
    ];
    let (mut times, mut equal) = (Draws::default(), 0);
    for (what, from, to, leave) in steps {
        let stays = |key: u32| !leave || !key.is_multiple_of(10);
        let start = clock();
        let set = merge(&folder, corpus.bits(), numbered(from, to), 1, &stays)?;
        let spent = clock() - start;
        let left: Vec<(u32, &MethodSignature)> = if leave {
            numbered(0, count).filter(|(key, _)| stays(*key)).collect()
        } else {
            numbered(0, to).collect()
        };
        let whole = ArraysFolder::new(&corpus.scratch.join("whole"), "sorted5.24", what);
        let documents = left.len();
        let whole = merge(&whole, corpus.bits(), left, 1, &|_| true)?;
        let same = set.paths().iter().zip(whole.paths()).all(
            |(one, other)| matches!((fs::read(one), fs::read(other)), (Ok(a), Ok(b)) if a == b),
        );
        times.push(spent);
        equal += u32::from(same);
        table.row([
            what.to_owned(),
            documents.to_string(),
            seconds(spent),
            (if same {
                "the same bytes"
            } else {
                "other bytes"
            })
            .to_owned(),
        ]);
    }
    let text = format!(
        "{} bits. A merge reads and writes all of the arrays, whatever is new: the four take {} \
         seconds. Deleted documents leave in the same merge. The arrays are those made from \
         nothing in {equal} of {} merges.",
        corpus.bits(),
        times.rounded(3),
        steps.len()
    );
    Ok(Section::new("Incremental runs (section 4.4)", text).table(table))
}

/// Measures the time for computing the exact similarities of preselected pairs (section 4.2).
pub(super) fn preselected(corpus: &Corpus<'_>, clock: Clock<'_>) -> Result<Section, LabError> {
    let mut table = Table::new(
        "preselected",
        &[
            "n",
            "preselected",
            "exactly below 1 %",
            "missed",
            "seconds for all",
            "ms a pair, from the texts",
        ],
    );
    let exact = super::errors::exact_pairs(&corpus.chunks);
    let whole = |number: u32| corpus.chunks[number as usize].len().max(1) as f64;
    let reaches =
        |common: u32, a: u32, b: u32| f64::from(common) / whole(a).min(whole(b)) >= THRESHOLD;
    let right = exact
        .iter()
        .filter(|pair| reaches(pair.common, pair.a, pair.b))
        .count();
    let params = params(corpus.bits(), ChunkHashing::Md5)?;
    let mut missed = 0;
    for bits in corpus.worth(&[corpus.papers_bits(), 24]) {
        let signatures = signatures(bits, &corpus.chunks)?;
        let (_, set) = arrays(corpus.scratch, "preselected", bits, &signatures, 1)?;
        let found = pairs(&set, &lists(&signatures), THRESHOLD)?;
        let start = clock();
        let confirmed = found.iter().filter(|pair| {
            let common = overlap_of_sorted(
                &corpus.chunks[pair.a as usize],
                &corpus.chunks[pair.b as usize],
            );
            reaches(common.common as u32, pair.a, pair.b)
        });
        let confirmed = confirmed.count();
        missed += right - confirmed;
        let spent = clock() - start;
        let sample: Vec<_> = found.iter().step_by((found.len() / 50).max(1)).collect();
        let start = clock();
        for pair in &sample {
            for number in [pair.a, pair.b] {
                real_chunks(&params, &corpus.collection.texts[number as usize].bytes);
            }
        }
        let each = (clock() - start) / sample.len().max(1) as f64;
        table.row([
            bits.to_string(),
            found.len().to_string(),
            (found.len() - confirmed).to_string(),
            (right - confirmed).to_string(),
            seconds(spent),
            format!("{:.2}", each * 1e3),
        ]);
    }
    let text = format!(
        "{right} pairs are exactly similar by 1 % or more. The preselection misses {missed} of \
         them, all rows together."
    );
    Ok(Section::new(
        "Exact similarities of preselected pairs (section 4.2)",
        text,
    )
    .table(table))
}

/// Measures arrays that store differences instead of offsets (section 5).
pub(super) fn offsets(corpus: &Corpus<'_>, clock: Clock<'_>) -> Result<Section, LabError> {
    const LOOKS: usize = 4_000_000;
    const OFFSETS_SEED: u64 = 2008;
    let mut said = Vec::new();
    let mut table = Table::new(
        "offsets",
        &[
            "n",
            "plain MB",
            "differences MB",
            "saved %",
            "plain ns a look-up",
            "differences ns",
        ],
    );
    for bits in corpus.worth(&[corpus.papers_bits(), 24]) {
        let signatures = signatures(bits, &corpus.chunks)?;
        let (_, set) = arrays(corpus.scratch, "offsets", bits, &signatures, 1)?;
        let parts = set.parts()?;
        let part = &parts.parts()[0];
        let plain: Vec<u32> = part.offsets().map(|offset| offset as u32).collect();
        let deltas = Deltas::of(plain.iter().map(|&offset| u64::from(offset)));
        let mut random = Random(OFFSETS_SEED);
        let places: Vec<usize> = (0..LOOKS).map(|_| random.below(plain.len())).collect();
        let start = clock();
        let sum: u64 = places.iter().map(|&at| u64::from(plain[at])).sum();
        let by_plain = clock() - start;
        let start = clock();
        let other: u64 = places.iter().filter_map(|&at| deltas.get(at)).sum();
        let by_deltas = clock() - start;
        debug_assert_eq!(sum, other);
        let (bytes, less) = (plain.len() as u64 * 4, deltas.bytes());
        said.push(format!(
            "{} % saved at {bits} bits, a look-up takes {:.1} times as long",
            percent(1.0 - less as f64 / bytes.max(1) as f64),
            by_deltas / by_plain.max(1e-9)
        ));
        let nanoseconds = |spent: f64| format!("{:.1}", spent * 1e9 / LOOKS as f64);
        table.row([
            bits.to_string(),
            megabytes(bytes),
            megabytes(less),
            format!("{:.1}", (1.0 - less as f64 / bytes.max(1) as f64) * 100.0),
            nanoseconds(by_plain),
            nanoseconds(by_deltas + sum.abs_diff(other) as f64),
        ]);
    }
    let text = format!(
        "Every 64th offset as it is, a byte for the difference to the one before for all others: \
         {}. {LOOKS} look-ups at random places of both, in memory (seed {OFFSETS_SEED}).",
        said.join("; ")
    );
    Ok(Section::new("Smaller offsets (section 5)", text).table(table))
}
