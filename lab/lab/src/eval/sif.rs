//! Manber 1994, *Finding similar files in a large file system*: the experiments of section 5.

use std::fmt::Write as _;
use std::path::Path;

use resemble_methods::all_fingers::{AllFingers, FileHits};
use resemble_methods::collate::{Collated, Collator, GroupQuery};
use resemble_methods::{Method, MethodParams, MethodSignature, sign};
use resemble_relate::parallel::in_parallel;

use super::{
    Clock, Collection, Draws, Page, Plot, Random, Section, Table, Text, figure, mean, percent,
    sign_all,
};
use crate::error::LabError;

/// The number of other files. The paper says: "among 4000 other files of about 60MB".
const AMONG: usize = 4000;

/// The number of files that are edited. The paper edits only one file, and the score depends on the
/// choice of this file.
const FILES: usize = 40;

/// The number of runs for each file. The paper says: "We ran this experiment 50 times."
const RUNS: usize = 50;

/// The number of substitutions in a run. The paper says: "300 random substitutions (with
/// repetition), each of size 50".
const SUBSTITUTIONS: usize = 300;

/// The threshold of similarity. The paper says: "setting the threshold at a very low 5%".
const THRESHOLD: f64 = 0.05;

/// The seed for the first file; the other files have the next seeds.
const SEED: u64 = 1994;

/// Beginnings of names, in lower case, that select files like those that the paper collected.
const NAMES: [&str; 6] = ["readme", "read.me", "faq", "licen", "copy", "notice"];

/// Makes the page of this experiment.
pub fn report(collection: &Collection, clock: Clock<'_>) -> Result<Page, LabError> {
    let params = MethodParams::paper(Method::Sif);
    let sections = vec![
        query(collection, &params)?,
        stages(collection, clock)?,
        by_name(collection)?,
        density(collection, &params)?,
    ];
    Ok(Page {
        name: "sif".to_owned(),
        title: "sif (Manber 1994)".to_owned(),
        about: format!(
            "{}\n\n{params}. Everything is the same on every run but the times.",
            collection.describe()
        ),
        sections,
        files: Vec::new(),
    })
}

/// Replaces `count` runs of `size` bytes at random places of a text. Returns the new text and the
/// share of its bytes that are in these runs.
fn substituted(text: &[u8], count: usize, size: usize, random: &mut Random) -> (Vec<u8>, f64) {
    let mut changed = text.to_vec();
    let mut touched = vec![false; changed.len()];
    for _ in 0..count {
        let from = random.below(changed.len().saturating_sub(size).max(1));
        let end = (from + size).min(changed.len());
        for at in from..end {
            changed[at] = b'a' + random.below(26) as u8;
            touched[at] = true;
        }
    }
    let share = touched.iter().filter(|&&touched| touched).count() as f64;
    (changed, share / touched.len().max(1) as f64)
}

/// A file that is edited and searched for [`RUNS`] times.
struct EditedFile {
    number: usize,
    /// The number of other files that share at least [`THRESHOLD`] with this file before it is
    /// edited.
    relatives: usize,
    scores: Draws,
    /// The number of runs in which this file is found.
    found: usize,
    /// The number of runs in which this file and no other one is found.
    alone: usize,
}

/// Returns the expected share of fingerprints that survive the edits. A fingerprint covers 50
/// bytes, and survives if no substitution overlaps these bytes. This assumes that each fingerprint
/// occurs only once.
fn expected(bytes: usize) -> f64 {
    (1.0 - 99.0 / bytes.max(99) as f64).powi(SUBSTITUTIONS as i32)
}

/// Edits files of about 30 KB, each with [`SUBSTITUTIONS`] substitutions, and searches for them
/// among 4,000 other files.
fn query(collection: &Collection, params: &MethodParams) -> Result<Section, LabError> {
    let among: Vec<&Text> = collection.texts.iter().take(AMONG + 1).collect();
    let signatures = sign_all(params, &among)?;
    let mut all = AllFingers::default();
    for (number, signature) in (0u32..).zip(&signatures) {
        all.add(number, occurrences(signature));
    }
    let all = all.sorted();
    // C files are first, as in the paper. Files of the same kind are sorted by the distance of
    // their size from 30 KB.
    let is_c = |text: &Text| Path::new(&text.name).extension() == Some("c".as_ref());
    let mut order: Vec<usize> = (0..among.len()).collect();
    order.sort_by_key(|&at| (!is_c(among[at]), among[at].bytes.len().abs_diff(30_000), at));
    order.truncate(FILES);
    let search = |signature: &MethodSignature, own: usize| {
        let total = signature.occurrences().max(1) as f64;
        let share = |found: &FileHits| found.occurrences as f64 / total;
        let found = all.search(occurrences(signature));
        let score = found.iter().find(|one| one.file as usize == own);
        let score = score.map_or(0.0, share);
        let others = found.iter().filter(|one| one.file as usize != own);
        (score, others.filter(|one| share(one) >= THRESHOLD).count())
    };
    let made = in_parallel(order.len(), Vec::new, |at, made| {
        let number = order[at];
        let mut random = Random(SEED + at as u64);
        let mut edited = EditedFile {
            number,
            relatives: search(&signatures[number], number).1,
            scores: Draws::default(),
            found: 0,
            alone: 0,
        };
        for _ in 0..RUNS {
            let text = &among[number].bytes;
            let (changed, _) = substituted(text, SUBSTITUTIONS, 50, &mut random);
            let (score, others) = search(&sign(params, &changed), number);
            edited.scores.push(score);
            edited.found += usize::from(score >= THRESHOLD);
            edited.alone += usize::from(score >= THRESHOLD && others == 0);
        }
        made.push((at, edited));
        Ok::<_, LabError>(())
    })?;
    let mut files: Vec<(usize, EditedFile)> = made.into_iter().flatten().collect();
    files.sort_by_key(|&(at, _)| at);
    let files: Vec<EditedFile> = files.into_iter().map(|(_, file)| file).collect();
    let (table, text) = edited_files(&files, &among, &signatures);
    let found = found_files(&files);
    let megabytes = among.iter().map(|text| text.bytes.len()).sum::<usize>() as f64 / 1e6;
    let text = format!(
        "The {} files that are nearest to 30 KB{}; in each {SUBSTITUTIONS} stretches of 50 bytes \
         are replaced at random, {RUNS} times (seeds {SEED} to {}), and the result is asked for \
         among {} files of {megabytes:.1} MB at a threshold of 5 %. {text}",
        files.len(),
        if order.iter().all(|&at| is_c(among[at])) {
            ", all of them C"
        } else {
            ""
        },
        SEED + files.len().max(1) as u64 - 1,
        among.len(),
    );
    Ok(
        Section::new("One against all: half of a file replaced", text)
            .plot(scores_plot(&files, &among))
            .table(table)
            .table(found)
            .table(substitution_classes(&order, &among, params)),
    )
}

/// Returns the table of the edited files, and a sentence about the table.
fn edited_files(
    files: &[EditedFile],
    among: &[&Text],
    signatures: &[MethodSignature],
) -> (Table, String) {
    let columns = [
        "file",
        "bytes",
        "relatives",
        "fingerprints",
        "distinct",
        "expected %",
        "score %, 50 runs",
        "found",
        "only it",
    ];
    let mut table = Table::new("query", &columns);
    let mut excess: [Draws; 2] = Default::default();
    for file in files {
        let (text, signature) = (among[file.number], &signatures[file.number]);
        let expected = expected(text.bytes.len());
        let repeats = signature.occurrences() > signature.len() as u64;
        excess[usize::from(repeats)].push(file.scores.mean() - expected);
        table.row([
            text.name.clone(),
            text.bytes.len().to_string(),
            file.relatives.to_string(),
            signature.occurrences().to_string(),
            signature.len().to_string(),
            percent(expected),
            file.scores.to_string(),
            file.found.to_string(),
            file.alone.to_string(),
        ]);
    }
    let sum = |files: &mut dyn Iterator<Item = &EditedFile>| {
        files.fold((0, 0, 0), |(runs, found, alone), file| {
            (runs + RUNS, found + file.found, alone + file.alone)
        })
    };
    let (runs, found, alone) = sum(&mut files.iter());
    let mut lonely = files.iter().filter(|file| file.relatives == 0);
    let (lonely_runs, lonely_found, lonely_alone) = sum(&mut lonely);
    let means: Draws = files.iter().map(|file| file.scores.mean()).collect();
    let least = files.iter().map(|file| file.scores.least());
    let greatest = files.iter().map(|file| file.scores.greatest());
    let mut text = format!(
        "**The right file is found in {found} of {runs} runs, and only it in {alone}**; of the \
         files that share 5 % with no other, in {lonely_found} and {lonely_alone} of \
         {lonely_runs}. The mean score of a file is {means} %, a single run's {} to {} %. Paper, \
         one file of 30 KB: found in 50 of 50 runs, and only it; 37 to 62 %, 52 % on \
         average.\n\n*Expected* is the share of fingerprints of 50 bytes that 300 independent \
         substitutions leave alone.",
        percent(least.fold(1.0, f64::min)),
        percent(greatest.fold(0.0, f64::max)),
    );
    let kinds = ["no fingerprint twice", "some fingerprint several times"];
    for (kind, excess) in kinds.into_iter().zip(&excess) {
        let count = excess.above(f64::NEG_INFINITY);
        if count > 0 {
            let _ = write!(
                text,
                " {count} files have {kind}: their score is off the expected one by {excess} \
                 points."
            );
        }
    }
    (table, text)
}

/// Counts the files that are found in all of their runs. Also counts the files that are found in
/// all of their runs without any other file.
fn found_files(files: &[EditedFile]) -> Table {
    let columns = [
        "files",
        "edited",
        "found in all 50 runs",
        "only it in all 50",
        "runs",
        "found",
        "only it",
    ];
    let mut table = Table::new("found", &columns);
    let all: Vec<&EditedFile> = files.iter().collect();
    let lonely = files.iter().filter(|file| file.relatives == 0).collect();
    for (label, files) in [("all", all), ("without relatives", lonely)] {
        let sum = |value: fn(&EditedFile) -> usize| files.iter().map(|file| value(file)).sum();
        let cells: [usize; 6] = [
            files.len(),
            sum(|file| usize::from(file.found == RUNS)),
            sum(|file| usize::from(file.alone == RUNS)),
            files.len() * RUNS,
            sum(|file| file.found),
            sum(|file| file.alone),
        ];
        let cells = cells.iter().map(ToString::to_string);
        table.row(std::iter::once(label.to_owned()).chain(cells));
    }
    table
}

/// Plots the scores of the edited files, and those of the paper's file.
fn scores_plot(files: &[EditedFile], among: &[&Text]) -> Plot {
    let mut plot = Plot::new(
        "query",
        "The right file in 50 runs, by file",
        "file, by its mean score",
        "score, %",
    )
    .points();
    let mut order: Vec<&EditedFile> = files.iter().collect();
    order.sort_by(|a, b| a.scores.mean().total_cmp(&b.scores.mean()));
    let numbered = || (1..).map(f64::from).zip(&order);
    plot.curve(
        "mean",
        numbered().map(|(x, file)| (x, file.scores.mean() * 100.0)),
    );
    plot.ranges(
        "least to greatest",
        numbered().map(|(x, file)| {
            let scores = &file.scores;
            (x, scores.least() * 100.0, scores.greatest() * 100.0)
        }),
    );
    plot.curve(
        "expected",
        numbered().map(|(x, file)| (x, expected(among[file.number].bytes.len()) * 100.0)),
    );
    let middle = f64::midpoint(1.0, order.len() as f64);
    plot.paper(
        "paper: 37, mean 52, 62",
        [37.0, 52.0, 62.0].map(|y| (middle, y)),
    );
    plot
}

/// Measures the effect of fewer or shorter substitutions, because the paper's "300 random
/// substitutions, each of size 50" can be read in several ways. Each value is the mean of a file's
/// runs.
fn substitution_classes(order: &[usize], among: &[&Text], params: &MethodParams) -> Table {
    let columns = [
        "substitutions",
        "of bytes",
        "bytes changed %",
        "score of a file %, mean of 50",
    ];
    let mut table = Table::new("substitutions", &columns);
    for (count, size) in [
        (300, 50),
        (300, 25),
        (300, 1),
        (150, 50),
        (75, 50),
        (30, 500),
    ] {
        let (mut scores, mut shares) = (Draws::default(), Draws::default());
        for (seed, &number) in (SEED..).zip(order) {
            let mut random = Random(seed);
            let own = sign(params, &among[number].bytes);
            let (mut score, mut share) = (Vec::new(), Vec::new());
            for _ in 0..RUNS {
                let text = &among[number].bytes;
                let (changed, touched) = substituted(text, count, size, &mut random);
                score.push(figure(params, &sign(params, &changed), &own));
                share.push(touched);
            }
            scores.push(mean(&score));
            shares.push(mean(&share));
        }
        table.row([
            count.to_string(),
            size.to_string(),
            shares.to_string(),
            scores.to_string(),
        ]);
    }
    table
}

/// Returns every fingerprint of a signature, repeated as often as it occurs.
fn occurrences(signature: &MethodSignature) -> Vec<u64> {
    let entries = signature.entries().into_iter();
    entries
        .flat_map(|entry| {
            std::iter::repeat_n(entry.value, usize::try_from(entry.count).unwrap_or(1))
        })
        .collect()
}

/// Collates the fingerprints of all files.
fn collated(signatures: &[MethodSignature]) -> Collated {
    let mut collator = Collator::default();
    for signature in signatures {
        collator.add(signature.keys());
    }
    collator.finish()
}

fn groups(collated: &Collated, threshold: f64) -> usize {
    let query = GroupQuery {
        threshold,
        ..GroupQuery::default()
    };
    collated.groups(&query).len()
}

/// Measures the time of each stage, and counts the groups at two thresholds.
fn stages(collection: &Collection, clock: Clock<'_>) -> Result<Section, LabError> {
    let columns = [
        "method",
        "fingerprints s",
        "sort and collate s",
        "groups at 25 % s",
        "groups at 50 % s",
        "fingerprints",
        "kept after collating %",
        "groups of equal",
        "groups at 25 %",
        "groups at 50 %",
    ];
    let mut table = Table::new("stages", &columns);
    let mut factors = Vec::new();
    for method in [Method::Sif, Method::SifAnchors] {
        let params = MethodParams::paper(method);
        let start = clock();
        let signatures = sign_all(&params, &collection.texts)?;
        let signing = clock() - start;
        let start = clock();
        let collated = collated(&signatures);
        let collating = clock() - start;
        let mut times = Vec::new();
        let mut counts = Vec::new();
        for threshold in [0.25, 0.5] {
            let start = clock();
            counts.push(groups(&collated, threshold));
            times.push(clock() - start);
        }
        let all: usize = signatures.iter().map(MethodSignature::len).sum();
        let kept = shared(&collated);
        factors.push(format!(
            "{:.1} by {method}",
            all as f64 / kept.max(1) as f64
        ));
        table.row([
            method.to_string(),
            format!("{signing:.2}"),
            format!("{collating:.2}"),
            format!("{:.3}", times[0]),
            format!("{:.3}", times[1]),
            all.to_string(),
            percent(kept as f64 / all.max(1) as f64),
            collection.equal_groups().to_string(),
            counts[0].to_string(),
            counts[1].to_string(),
        ]);
    }
    let text = format!(
        "All against all, {:.1} MB; equal files count once here, and there are {} groups of them. \
         Paper: 2,750 texts of 40 MB in 127.4 s for fingerprints, 74.3 s for sorting, 14.6 s for \
         the rest, of which 1 s depends on the threshold; of X11R5 (21,288 texts of about 200 MB) \
         657 groups of equal files, 3,445 groups at 25 % and 2,915 at 50 %. Leaving out the \
         fingerprints of one file only saves a factor of 30 in the paper, here of {}.",
        collection.bytes() as f64 / 1e6,
        collection.equal_groups(),
        factors.join(" and of ")
    );
    Ok(Section::new("All against all: time by stage, groups", text).table(table))
}

/// Repeats a part of section 5: compares only files with names like README, and counts their groups
/// of equal files.
fn by_name(collection: &Collection) -> Result<Section, LabError> {
    let is_one = |name: &str| {
        let name = Path::new(name).file_name().unwrap_or_default();
        let name = name.to_string_lossy().to_lowercase();
        NAMES.iter().any(|start| name.starts_with(start))
    };
    // For each text, the number of its files that have a name like README.
    let mut files = vec![0usize; collection.texts.len()];
    let first = collection.texts.iter().map(|text| &text.name).zip(0..);
    let copies = collection
        .copies
        .iter()
        .map(|(name, number)| (name, *number));
    for (name, number) in first.chain(copies) {
        files[number] += usize::from(is_one(name));
    }
    let texts: Vec<&Text> = collection
        .texts
        .iter()
        .zip(&files)
        .filter(|&(_, &files)| files > 0)
        .map(|(text, _)| text)
        .collect();
    let columns = [
        "method",
        "files",
        "texts",
        "bytes each",
        "groups of equal",
        "groups at 25 %",
        "groups at 50 %",
    ];
    let mut table = Table::new("by-name", &columns);
    let bytes: usize = texts.iter().map(|text| text.bytes.len()).sum();
    for method in [Method::Sif, Method::SifAnchors] {
        let collated = collated(&sign_all(&MethodParams::paper(method), &texts)?);
        table.row([
            method.to_string(),
            files.iter().sum::<usize>().to_string(),
            texts.len().to_string(),
            format!("{:.0}", bytes as f64 / texts.len().max(1) as f64),
            files.iter().filter(|&&files| files > 1).count().to_string(),
            groups(&collated, 0.25).to_string(),
            groups(&collated, 0.5).to_string(),
        ]);
    }
    let text = format!(
        "Files whose names begin with {}. Paper: of 21,249 README files of 3 KB on average 3,620 \
         groups of equal files and 2,810 other groups at 50 %.",
        NAMES.join(", ")
    );
    Ok(Section::new("READMEs, licences, FAQs", text).table(table))
}

/// Counts the fingerprints of all sets. A fingerprint is counted once for each file of its set.
fn shared(collated: &Collated) -> u64 {
    let sets = collated.sets();
    sets.map(|(counter, members)| u64::from(counter) * members.len() as u64)
        .sum()
}

/// Measures three things: the size of a fingerprint in bytes, the number of bytes of text for each
/// fingerprint, and the number of fingerprints of small files.
fn density(collection: &Collection, params: &MethodParams) -> Result<Section, LabError> {
    let columns = [
        "method",
        "bytes a fingerprint",
        "fingerprint bytes %",
        "stored %",
        "content bytes a fingerprint",
    ];
    let mut table = Table::new("density", &columns);
    for params in [params.clone(), MethodParams::paper(Method::SifAnchors)] {
        let signatures = sign_all(&params, &collection.texts)?;
        let count: u64 = signatures.iter().map(MethodSignature::occurrences).sum();
        let stored: usize = signatures.iter().map(MethodSignature::encoded_len).sum();
        let bytes = collection.bytes().max(1) as f64;
        table.row([
            params.method().to_string(),
            format!("{:.1}", stored as f64 / count.max(1) as f64),
            percent(count as f64 * 8.0 / bytes),
            percent(stored as f64 / bytes),
            format!("{:.0}", bytes / count.max(1) as f64),
        ]);
    }
    let mut small = Table::new(
        "small-files",
        &[
            "bytes of a file",
            "files",
            "fingerprints on average",
            "with fewer than 5 %",
        ],
    );
    let signatures = sign_all(params, &collection.texts)?;
    for (from, to) in [
        (0, 1000),
        (1000, 2000),
        (2000, 5000),
        (5000, 20_000),
        (20_000, 100_000),
        (100_000, usize::MAX),
    ] {
        let counts: Vec<f64> = collection
            .texts
            .iter()
            .zip(&signatures)
            .filter(|(text, _)| (from..to).contains(&text.bytes.len()))
            .map(|(_, signature)| signature.occurrences() as f64)
            .collect();
        let few = counts.iter().filter(|&&count| count < 5.0).count();
        let range = if to == usize::MAX {
            format!("from {from}")
        } else {
            format!("{from} to {to}")
        };
        table_row(&mut small, range, &counts, few);
    }
    let text = "Two columns: a fingerprint and its file in 8 bytes, as a plain list has them, and \
        as stored here (Rice code). Paper: 5 % of the content with one fingerprint in about 200 \
        bytes (anchors), 2 % hoped for by a better encoding. \"At least 5-10 shared fingerprints \
        are needed for a strong evidence\": `sif` is \"only marginally effective for files of \
        less than 5K\".";
    Ok(Section::new("Bytes of fingerprints, and small files", text)
        .table(table)
        .table(small))
}

fn table_row(table: &mut Table, range: String, counts: &[f64], few: usize) {
    table.row([
        range,
        counts.len().to_string(),
        format!("{:.1}", mean(counts)),
        percent(few as f64 / counts.len().max(1) as f64),
    ]);
}
