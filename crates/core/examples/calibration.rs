//! Measures the errors of the estimates of the pairs that an index would examine. The figures are
//! bias, mean error, and how often the interval contains the truth.
//!
//!     cargo run --release -p resemble-core --example calibration -- [--rows] CORPUS…
//!
//! A corpus is a folder with `files/` and perhaps a `truth.tsv` that names kinds of change (a, b,
//! kind, …). A pair is examined if its files have two samples or a chunk in common. The results are
//! given for the pairs in `truth.tsv` by kind, and for some of the other pairs. They are also given
//! for all examined pairs by the number of common samples. With `--rows`, the program prints a line
//! for each measure instead.
#![allow(clippy::print_stdout, missing_docs)]

mod folder;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;

use resemble_core::similarity::proof::Provable;
use resemble_core::similarity::{
    Compared, Estimated, NoBoilerplate, Prepared, Sketch, Unit, estimate_shown,
};
use resemble_core::{ContentKind, Digest, Params, Score, Signature};

/// The approximate number of examined pairs of a corpus that are not in `truth.tsv`. The real
/// number may be up to twice as large.
const OTHERS: usize = 20_000;

struct File {
    name: String,
    digest: Digest,
    kept: Signature,
    provable: Provable,
}

impl File {
    fn sketch(&self) -> Sketch<'_> {
        Sketch {
            signature: &self.kept,
            ..self.digest.sketch()
        }
    }
}

#[derive(Default)]
struct Errors {
    count: usize,
    sum: f64,
    absolute: f64,
    below: usize,
    above: usize,
    width: f64,
    /// The number of true shares between 0.0005 and 0.9995.
    inner: usize,
    inner_held: usize,
}

impl Errors {
    fn add(&mut self, truth: f64, found: f64, (low, high): (f64, f64)) {
        self.count += 1;
        self.sum += found - truth;
        self.absolute += (found - truth).abs();
        let below = truth < low - 5e-7;
        let above = truth > high + 5e-7;
        self.below += usize::from(below);
        self.above += usize::from(above);
        self.width += high - low;
        if truth > 0.0005 && truth < 0.9995 {
            self.inner += 1;
            self.inner_held += usize::from(!below && !above);
        }
    }

    fn print(&self, what: &str) {
        let of = |sum: f64| sum / self.count.max(1) as f64;
        println!(
            "{what}\t{}\t{:+.4}\t{:.4}\t{:.3}\t{:.3}\t{:.3}\t{:.3}\t{:.3}",
            self.count,
            of(self.sum),
            of(self.absolute),
            1.0 - of((self.below + self.above) as f64),
            of(self.below as f64),
            of(self.above as f64),
            self.inner_held as f64 / self.inner.max(1) as f64,
            of(self.width),
        );
    }
}

fn candidates(files: &[File]) -> Vec<(usize, usize)> {
    let mut lists: HashMap<(bool, u64), Vec<u32>> = HashMap::new();
    for (at, file) in files.iter().enumerate() {
        let mut keys: HashSet<(bool, u64)> = HashSet::new();
        keys.extend(file.kept.fingerprints.iter().map(|f| (false, f.0)));
        let evidence = file.digest.chunks.0.iter().filter(|run| run.is_evidence());
        keys.extend(evidence.map(|run| (true, run.hash.posting_key())));
        for key in keys {
            lists.entry(key).or_default().push(at as u32);
        }
    }
    let mut common: HashMap<(u32, u32), u32> = HashMap::new();
    for ((is_chunk, _), list) in lists {
        for (i, &a) in list.iter().enumerate() {
            for &b in &list[i + 1..] {
                *common.entry((a, b)).or_default() += if is_chunk { 2 } else { 1 };
            }
        }
    }
    let mut pairs: Vec<(usize, usize)> = common
        .into_iter()
        .filter(|&(_, common)| common >= 2)
        .map(|((a, b), _)| (a as usize, b as usize))
        .collect();
    pairs.sort_unstable();
    pairs
}

fn main() {
    let mut args: Vec<String> = std::env::args().skip(1).collect();
    let rows = args.iter().any(|arg| arg == "--rows");
    args.retain(|arg| arg != "--rows");
    let params = Params::default();
    println!("what\tcount\tbias\tMAE\theld\tbelow\tabove\theld inside\twidth");
    for corpus in &args {
        let top = Path::new(corpus).join("files");
        let paths = folder::files(&top).expect("a readable folder");
        assert!(!paths.is_empty(), "no files under {}", top.display());
        let all: Vec<File> = paths
            .iter()
            .filter_map(|path| {
                let data = std::fs::read(path).ok().filter(|data| data.len() >= 256)?;
                let digest = Digest::of(&data, &params);
                let kept = digest.kept(&params);
                let provable = Provable::new(digest.kind, data);
                let name = path.strip_prefix(&top).ok()?.to_str()?.to_owned();
                Some(File {
                    name,
                    digest,
                    kept,
                    provable,
                })
            })
            .collect();
        let truth = std::fs::read_to_string(Path::new(corpus).join("truth.tsv"));
        let kinds: HashMap<(String, String), String> = truth
            .unwrap_or_default()
            .lines()
            .skip(1)
            .filter_map(|line| {
                let mut fields = line.split('\t');
                let (a, b) = (fields.next()?.to_owned(), fields.next()?.to_owned());
                let kind = fields.next()?.to_owned();
                Some((if a < b { (a, b) } else { (b, a) }, kind))
            })
            .collect();
        let pairs = candidates(&all);
        let every = (pairs.len() / OTHERS).max(1) as u64;
        let mut table: BTreeMap<String, Errors> = BTreeMap::new();
        for (a, b) in pairs {
            let (a, b) = (&all[a], &all[b]);
            if a.digest.content == b.digest.content {
                continue;
            }
            let names = if a.name < b.name {
                (a.name.clone(), b.name.clone())
            } else {
                (b.name.clone(), a.name.clone())
            };
            let kind = kinds.get(&names).map(String::as_str);
            let byte = |file: &File, at: usize| u64::from(file.digest.content.0[at]);
            let mixed = byte(a, 0) << 16 | byte(a, 1) << 8 | byte(b, 0);
            if kind.is_none() && !mixed.is_multiple_of(every) {
                continue;
            }
            let texts = (a.digest.kind, b.digest.kind) == (ContentKind::Text, ContentKind::Text);
            let exact = a.provable.measure(&b.provable, Unit::Words);
            if exact.is_same_text {
                continue;
            }
            let exact = exact.measures;
            let (one, other) = (a.sketch(), b.sketch());
            let compared = Compared::of(a.digest.kind, b.digest.kind, Unit::Words);
            let prepared = [&one, &other].map(|sketch| Prepared::of(sketch, &NoBoilerplate));
            let [of_a, of_b] = &prepared;
            let Estimated {
                measures: found,
                interval,
            } = estimate_shown(of_a, of_b, compared, &NoBoilerplate);
            let level = a.kept.level.max(b.kept.level);
            let of = |file: &File| file.kept.at_level(level).count() as u64;
            let theirs: HashSet<u64> = b.kept.at_level(level).map(|f| f.0).collect();
            let shared = a
                .kept
                .at_level(level)
                .filter(|f| theirs.contains(&f.0))
                .count();
            let share = |score: Option<Score>| score.map_or(0.0, Score::get);
            let cases = [
                ("a_in_b", exact.a_in_b, found.a_in_b, interval.a_in_b, of(a)),
                ("b_in_a", exact.b_in_a, found.b_in_a, interval.b_in_a, of(b)),
                (
                    "resemblance",
                    exact.resemblance,
                    found.resemblance,
                    interval.resemblance,
                    of(a) + of(b) - shared as u64,
                ),
            ];
            for (what, exact, found, interval, samples) in cases {
                let (Some(truth), Some(estimated), Some((low, high))) = (exact, found, interval)
                else {
                    continue;
                };
                let bounds = (low.get(), high.get());
                let unit = if texts { "words" } else { "bytes" };
                let which = if what == "resemblance" { "res" } else { "con" };
                let by = match shared {
                    0 | 1 => "0-1",
                    2 | 3 => "2-3",
                    4..8 => "4-7",
                    8..16 => "8-15",
                    16..32 => "16-31",
                    _ => "32-",
                };
                if rows {
                    let (of_a, of_b) = (a.digest.size.0, b.digest.size.0);
                    println!(
                        "{}\t{what}\t{unit}\t{}\t{}\t{}\t{of_a}\t{of_b}\t{level}\t{samples}\t\
                         {shared}\t{:.6}\t{:.6}\t{:.6}\t{:.6}",
                        corpus,
                        kind.unwrap_or("-"),
                        a.name,
                        b.name,
                        share(exact),
                        share(found),
                        bounds.0,
                        bounds.1
                    );
                    continue;
                }
                let mut add = |key: String| {
                    table
                        .entry(key)
                        .or_default()
                        .add(truth.get(), estimated.get(), bounds);
                };
                let kind = kind.unwrap_or("(others)");
                add(format!("{which} {unit} kind {kind}"));
                add(format!("{which} {unit} shared {by}"));
                add(format!("{which} {unit} all"));
                if kind != "(others)" {
                    add(format!("{which} {unit} all of the truth"));
                }
            }
        }
        for (what, errors) in &table {
            errors.print(&format!("{corpus} {what}"));
        }
    }
}
