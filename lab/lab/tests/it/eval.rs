//! Tests of `resemble lab eval`: every experiment on a small folder.
//!
//! Experiments take long without optimization, so most of them run only twice: once by themselves,
//! and once together with all other experiments. Most tests read the output of these two runs.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::LazyLock;

use crate::environment;
use resemble_testutil::Environment;
use resemble_testutil::prose::paragraphs;

/// Creates a folder with versions of texts of several sizes, and a file that is not text. The
/// largest texts have about 10 KB, because some experiments use no smaller texts.
fn texts() -> Environment {
    let env = environment();
    for seed in 1..=4 {
        let text = paragraphs(seed, 20 + 2 * seed as usize);
        env.write(format!("texts/{seed}.txt"), &text);
        env.write(
            format!("texts/v2/{seed}.txt"),
            text.replacen("river", "RIVER", 2),
        );
        env.write(format!("texts/short/{seed}.txt"), &text[..1000]);
        env.write(format!("texts/middle/{seed}.txt"), &text[..3000]);
        env.write(format!("texts/middle/{seed}.old.txt"), &text[..2900]);
    }
    env.write("texts/binary", [0, 1, 2]);
    env
}

const EXPERIMENTS: [&str; 7] = [
    "sif",
    "forman",
    "cherkasova",
    "broder",
    "guide",
    "kasprzak",
    "anchors",
];

/// The expected figures. An entry has the name of a table, some of its columns, and the rows that
/// these texts give with three seeds.
const FIGURES: &[(&str, &[&str], &str)] = &[
    (
        "sif/query",
        &[
            "file",
            "relatives",
            "fingerprints",
            "score %, 50 runs",
            "found",
            "only it",
        ],
        "v2/4.txt | 4 | 62 | 16.3 (6.0 to 26.9) | 50 | 0\n\
         4.txt | 4 | 63 | 17.0 (8.2 to 30.5) | 50 | 0\n\
         v2/3.txt | 4 | 51 | 12.7 (2.5 to 23.7) | 45 | 0\n\
         3.txt | 4 | 51 | 13.9 (0.0 to 24.5) | 48 | 0\n\
         2.txt | 4 | 52 | 11.9 (4.4 to 20.6) | 48 | 0\n\
         v2/2.txt | 4 | 53 | 12.1 (2.9 to 23.9) | 46 | 0\n\
         v2/1.txt | 4 | 45 | 9.6 (2.0 to 21.7) | 42 | 0\n\
         1.txt | 4 | 45 | 9.8 (0.0 to 25.5) | 45 | 0\n\
         middle/4.txt | 4 | 13 | 0.0 | 0 | 0\n\
         middle/1.txt | 4 | 14 | 0.0 | 0 | 0\n\
         middle/2.txt | 4 | 11 | 0.0 | 0 | 0\n\
         middle/3.txt | 4 | 10 | 0.0 | 0 | 0\n\
         middle/4.old.txt | 4 | 12 | 0.0 | 0 | 0\n\
         middle/2.old.txt | 4 | 11 | 0.0 | 0 | 0\n\
         middle/1.old.txt | 4 | 14 | 0.0 | 0 | 0\n\
         middle/3.old.txt | 4 | 9 | 0.0 | 0 | 0\n\
         short/4.txt | 4 | 6 | 0.0 | 0 | 0\n\
         short/2.txt | 4 | 4 | 0.0 | 0 | 0\n\
         short/1.txt | 4 | 3 | 0.0 | 0 | 0\n\
         short/3.txt | 4 | 3 | 0.0 | 0 | 0",
    ),
    (
        "sif/found",
        &["files", "edited", "found in all 50 runs", "runs", "found"],
        "all | 20 | 2 | 1000 | 374\n\
         without relatives | 0 | 0 | 0 | 0",
    ),
    (
        "forman/chunks",
        &[
            "method",
            "mean asked",
            "chunks",
            "in several files",
            "parts",
            "pairs",
        ],
        "tttd | 5000 | 39 | 10 | 4 | 8\n\
         bsw | 5000 | 54 | 16 | 4 | 10\n\
         tttd | 1015 | 148 | 57 | 4 | 20\n\
         bsw | 1015 | 170 | 66 | 4 | 17\n\
         tttd | 1000 | 162 | 64 | 4 | 22\n\
         bsw | 1000 | 138 | 52 | 4 | 15\n\
         tttd | 100 | 1523 | 613 | 4 | 24\n\
         bsw | 100 | 1391 | 559 | 4 | 24",
    ),
    (
        "forman/recall",
        &["mean asked", "by tttd", "by bsw", "by both"],
        "5000 | 7 (4 to 10) | 8 (7 to 10) | 5 (4 to 6)\n\
         1015 | 19 (16 to 22) | 19 (17 to 22) | 16 (15 to 18)\n\
         1000 | 21 (18 to 23) | 17 (15 to 19) | 15 (15 to 16)\n\
         100 | 24 | 24 | 24",
    ),
    (
        "forman/runs",
        &["method", "chunks of 1 MB of blanks", "distinct"],
        "tttd | 358 | 2\n\
         bsw | 1 | 1\n\
         tttd | 3624 | 2\n\
         bsw | 1 | 1",
    ),
    (
        "cherkasova/table-1",
        &["method", "resemblance %", "B in A %"],
        "Mod_100 | 24.9 (23.6 to 26.0) | 100.0\n\
         Min_100 | 24.0 (21.9 to 25.5) | refused\n\
         Sketch_100 | 25.1 (23.2 to 26.6) | refused\n\
         BSW_100 | 25.1 (23.9 to 26.3) | 99.1 (98.5 to 99.4)",
    ),
    (
        "cherkasova/figure-04-shares",
        &["method", "pairs with overlap %"],
        "Min_100 | 14.3\n\
         Mod_100 | 14.3\n\
         Sketch_100 | 14.3\n\
         BSW_100 | 14.3\n\
         exact | 14.3",
    ),
    (
        "cherkasova/figure-07-ends",
        &["changes", "Mod %", "BSW %"],
        "10, \"a \" inserted at random | 97.1 (96.4 to 97.5) | 94.5 (92.5 to 95.7)\n\
         50, \"a \" inserted at random | 86.8 (85.5 to 87.6) | 78.0 (76.5 to 79.4)\n\
         10, words removed at random | 96.6 (96.2 to 97.1) | 92.7 (90.9 to 93.9)\n\
         50, words removed at random | 84.2 (82.7 to 85.3) | 71.9 (69.6 to 73.1)\n\
         10, \"a \" inserted evenly | 96.7 | 94.5\n\
         50, \"a \" inserted evenly | 87.6 | 78.0\n\
         10, words removed evenly | 96.3 | 95.4\n\
         50, words removed evenly | 84.5 | 72.5",
    ),
    (
        "cherkasova/sketch-hashes",
        &["Sketch_100 by", "after 50 %", "off exact, points"],
        "100 string hashes | 87.2 (86.4 to 87.9) | -0.53 (-1.35 to 0.18)\n\
         100 functions of one hash | 88.7 (87.8 to 89.7) | 1.02 (0.05 to 2.10)\n\
         exact | 87.7 | 0.00",
    ),
    (
        "broder/estimates",
        &["sketch", "shingles kept", "resemblance: mean error, points"],
        "MOD_25 | 25 | 0.54 (-1.40 to 2.68)\n\
         MOD_5 | 116 | -0.17 (-0.72 to 0.78)\n\
         V_i, 100-200 | 133 | 0.71 (0.56 to 0.95)\n\
         V_i, 50-100 | 68 | 1.43 (0.01 to 3.09)\n\
         MIN_100 | 93 | -0.30 (-0.66 to -0.09)\n\
         MIN_400 | 288 | -0.22 (-0.38 to -0.08)",
    ),
    (
        "broder/super-containment",
        &["part of the text", "contained at 90 % by MOD_25 %"],
        "whole | 100.0\n\
         1/2 | 100.0\n\
         1/4 | 90.9 (81.8 to 100.0)\n\
         1/8 | 97.0 (90.9 to 100.0)\n\
         1/16 | 95.2 (85.7 to 100.0)",
    ),
    (
        "kasprzak/data",
        &["", "here"],
        "documents | 20\n\
         (chunk, document) pairs | 9832\n\
         distinct chunks | 3993\n\
         chunks of a document | 492\n\
         distinct of all | 0.41",
    ),
    (
        "kasprzak/errors-few-bits",
        &["n", "kept", "mean error, points", "greatest", "below exact"],
        "12 | real chunks | 8.234 (7.735 to 8.724) | 33.528 (28.788 to 38.462) | 0\n\
         12 | hashed set | 8.788 (8.260 to 9.276) | 33.699 (28.788 to 38.462) | 17 (15 to 20)\n\
         16 | real chunks | 0.748 (0.653 to 0.858) | 4.592 (4.545 to 4.615) | 0\n\
         16 | hashed set | 0.764 (0.670 to 0.876) | 4.592 (4.545 to 4.615) | 5 (0 to 14)\n\
         20 | real chunks | 0.138 (0.108 to 0.196) | 1.523 (1.515 to 1.538) | 0\n\
         20 | hashed set | 0.138 (0.109 to 0.197) | 1.523 (1.515 to 1.538) | 0",
    ),
    (
        "kasprzak/errors-by-length",
        &[
            "n",
            "chunks, at least",
            "greatest error, points",
            "greatest bound",
            "above their bound",
        ],
        "8 | 30 | 100.000 | 100.000 | 0\n\
         8 | 100 | 97.537 | 100.000 | 0\n\
         8 | 300 | 78.870 | 100.000 | 0\n\
         8 | 1000 | 74.421 | 100.000 | 0\n\
         12 | 30 | 38.462 | 60.000 | 0\n\
         12 | 100 | 31.633 | 44.898 | 0\n\
         12 | 300 | 24.059 | 35.046 | 0\n\
         12 | 1000 | 20.609 | 34.459 | 0",
    ),
    (
        "kasprzak/errors-bound-paper",
        &["chunks", "bound at 24 bits, points", "at 28 bits"],
        "100 | 10.000 | 6.000\n\
         300 | 4.333 | 2.333\n\
         1000 | 2.000 | 0.900\n\
         2400 | 1.167 | 0.458\n\
         30000 | 0.390 | 0.083",
    ),
    (
        "kasprzak/hashes",
        &["hash", "distinct chunks", "chi-square, deviations"],
        "md5 | 3993 | +0.03\n\
         xxh3 | 3993 | -0.13\n\
         fnv | 3993 | +0.79\n\
         blake3 | 3993 | -0.89",
    ),
    (
        "kasprzak/forms",
        &["50 edits of a text", "sorted %", "sorted, stems %"],
        "two neighbours change places | 90.5 | 90.5\n\
         a word gets or loses an s | 77.8 (77.5 to 78.2) | 100.0\n\
         both | 73.7 (73.5 to 74.0) | 90.5\n\
         a word takes another form that occurs | 100.0 | 100.0\n\
         both | 90.5 | 90.5",
    ),
    (
        "guide/strangers",
        &["window", "pairs with overlap %"],
        "5 | 100.0\n\
         10 | 98.6 (98.2 to 99.0)\n\
         15 | 0.0\n\
         20 | 0.0\n\
         30 | 0.0\n\
         40 | 0.0\n\
         60 | 0.0\n\
         100 | 0.0",
    ),
];

/// The files that an experiment wrote, by name. The name of a folder ends with a slash.
type Written = BTreeMap<String, Vec<u8>>;

/// The output of the experiments that run by themselves.
static ALONE: LazyLock<Written> = LazyLock::new(|| {
    let env = texts();
    for experiment in EXPERIMENTS {
        let output = format!("out/{experiment}");
        let ran = env.run([
            "eval", experiment, "texts", "-o", &output, "--seeds", "3", "-q",
        ]);
        ran.is(0, "", "");
    }
    written(&env.path("out"))
});

/// The output of `eval all`.
static TOGETHER: LazyLock<Written> = LazyLock::new(|| {
    let env = texts();
    let ran = env.run(["eval", "all", "texts", "-o", "papers", "--seeds", "3", "-q"]);
    ran.is(0, "", "");
    written(&env.path("papers"))
});

fn written(folder: &Path) -> Written {
    let mut all = Written::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let name = path.strip_prefix(folder).unwrap().to_str().unwrap();
            if path.is_dir() {
                all.insert(format!("{name}/"), Vec::new());
                folders.push(path);
            } else {
                all.insert(name.to_owned(), std::fs::read(&path).unwrap());
            }
        }
    }
    all
}

fn text(files: &Written, name: &str) -> String {
    let bytes = files.get(name).unwrap_or_else(|| panic!("no {name}"));
    String::from_utf8(bytes.clone()).unwrap()
}

#[test]
fn every_experiment_writes_a_page_and_what_it_names() {
    for experiment in EXPERIMENTS {
        let page = text(&ALONE, &format!("{experiment}/{experiment}.md"));
        // Each section begins with a sentence, not with a table or a plot.
        for section in page.split("\n## ").skip(1) {
            let words = section.split("\n\n").nth(1).unwrap_or_default();
            assert!(
                words.len() > 5 && !words.starts_with(['|', '!']),
                "{section}"
            );
        }
        for link in page.split("](").skip(1) {
            let name = link.split(')').next().unwrap();
            let svg = text(&ALONE, &format!("{experiment}/{name}"));
            assert!(svg.starts_with("<svg") && !svg.contains("NaN"), "{name}");
        }
    }
    let env = texts();
    env.write("anchors.txt", &ALONE["anchors/anchors.txt"]);
    let found = env.run([
        "find",
        "texts/1.txt",
        "--in",
        "texts",
        "--method",
        "sif-anchors",
        "--anchors",
        "anchors.txt",
    ]);
    assert!(
        found.code == 0 && found.text().contains("v2/1.txt"),
        "{found:?}"
    );
}

#[test]
fn an_experiment_is_the_same_on_every_run() {
    for table in [
        "sif/query.csv",
        "cherkasova/figure-07a.csv",
        "forman/recall.csv",
        "broder/estimates.csv",
        "kasprzak/errors-few-bits.csv",
    ] {
        let one = &ALONE[table];
        assert!(one.len() > 100 && *one == TOGETHER[table], "{table}");
    }
}

/// Returns the cells of these columns of a table. Columns of times are never requested.
fn cells(results: &str, table: &str, columns: &[&str]) -> String {
    let mut blocks = results.split("\n\n");
    let head = format!("# {table}\n");
    let rows = blocks.find_map(|block| block.strip_prefix(&head));
    let mut rows = rows.expect(table).lines().map(|line| line.split('\t'));
    let head: Vec<&str> = rows.next().unwrap().collect();
    let places = columns.iter().map(|column| {
        let place = head.iter().position(|name| name == column);
        place.unwrap_or_else(|| panic!("{table}: no {column} in {head:?}"))
    });
    let places: Vec<usize> = places.collect();
    let chosen = |row: std::str::Split<'_, char>| {
        let row: Vec<&str> = row.collect();
        places
            .iter()
            .map(|&at| row[at])
            .collect::<Vec<_>>()
            .join(" | ")
    };
    rows.map(chosen).collect::<Vec<_>>().join("\n")
}

#[test]
fn figures_of_experiments_on_fixed_texts() {
    let results = text(&TOGETHER, "results.tsv");
    let mut others = String::new();
    for (table, columns, expected) in FIGURES {
        let found = cells(&results, table, columns);
        if found != *expected {
            let _ = write!(others, "{table}:\n{found}\n\n");
        }
    }
    assert!(others.is_empty(), "{others}");
}

/// There are three equal READMEs, a README with half of their text, and a LICENSE. A copy of the
/// LICENSE has a name that is not counted.
#[test]
fn copies_and_readmes_are_counted() {
    let env = environment();
    let (text, other) = (paragraphs(1, 60), paragraphs(2, 60));
    for folder in ["a", "b", "c"] {
        env.write(format!("texts/{folder}/README"), &text);
    }
    let half = text.len() / 2;
    env.write(
        "texts/d/README.txt",
        format!("{}{}", &text[..half], &other[half..]),
    );
    env.write("texts/e/LICENSE", &other);
    env.write("texts/f/other", &other);
    let ran = env.run(["eval", "sif", "texts", "-o", "out", "-q"]);
    ran.is(0, "", "");
    let table = std::fs::read_to_string(env.path("out/by-name.csv")).unwrap();
    let rows: Vec<&str> = table
        .lines()
        .filter(|line| line.starts_with("sif,"))
        .collect();
    let [row] = rows[..] else { panic!("{table}") };
    let cells: Vec<&str> = row.split(',').collect();
    // Five files with such names have three texts. One of these texts has several files.
    assert_eq!((cells[1], cells[2], cells[4]), ("5", "3", "1"), "{table}");
    assert_ne!(cells[5], "0", "{table}");
    let page = std::fs::read_to_string(env.path("out/sif.md")).unwrap();
    assert!(page.contains("Further 3 copies of 2 of them"), "{page}");
}

#[test]
fn what_is_no_folder_of_texts_is_refused() {
    let env = texts();
    env.write("none/binary", [0]);
    for folder in ["none", "nowhere", "texts/1.txt"] {
        for experiment in ["sif", "broder", "sweeps", "inflected"] {
            let ran = env.run(["eval", experiment, folder, "-o", "out"]);
            assert_eq!(
                (ran.code, ran.err.lines().count()),
                (2, 1),
                "{folder}: {}",
                ran.err
            );
        }
    }
    assert!(!env.path("out").exists());
    assert_eq!(env.run(["eval", "nonsense", "texts", "-o", "out"]).code, 2);
}

#[test]
fn sweeps_are_folders_and_a_language_has_tables() {
    let env = texts();
    let eval = |experiment: &str, folder: &str| {
        env.run([
            "eval", experiment, folder, "-o", "out", "--seeds", "2", "-q",
        ])
    };
    eval("sweeps", "texts").is(0, "", "");
    let table = std::fs::read_to_string(env.path("out/all-shingles.csv")).unwrap();
    let starts: Vec<&str> = table.lines().map(|line| &line[..6]).collect();
    assert_eq!(starts, ["sweep,", "middle", "short,", "v2,4,0"], "{table}");

    env.write("german/texts/1.txt", paragraphs(1, 40));
    env.write("german/forms.tsv", "river1\triver\n");
    env.write("german/lemmas.tsv", "river1\triver\n");
    eval("inflected", "german").is(0, "", "");
    let table = std::fs::read_to_string(env.path("out/pairs.csv")).unwrap();
    assert!(table.contains("\nstems,0,"), "{table}");
    env.write("german/lemmas.tsv", "river1\n");
    let ran = eval("inflected", "german");
    assert!(ran.code == 2 && ran.err.contains("line 1"), "{ran:?}");
}

/// One page lists every table and plot, each paper has its own page, and no temporary file is left.
#[test]
fn all_papers_are_on_one_page() {
    let index = text(&TOGETHER, "index.md");
    let links = |start: &str| {
        let lines = index.lines().filter(|line| line.starts_with(start));
        let links = lines.map(|line| line.rsplit_once("](").unwrap().1.trim_end_matches(')'));
        links
            .inspect(|link| assert!(TOGETHER.contains_key(*link), "{link}"))
            .collect::<Vec<&str>>()
    };
    let pages = links("* [");
    assert!(pages.len() >= 5 && links("![").len() > 20, "{index}");
    for page in pages {
        let alone = text(&TOGETHER, page);
        for heading in alone.lines().filter(|line| line.starts_with("## ")) {
            assert!(index.contains(&format!("\n#{heading}\n")), "{heading}");
        }
    }
    assert!(!TOGETHER.contains_key("broder/.work/"));
}
