//! `resemble lab eval`: every experiment on a small folder.
//!
//! Experiments take long without optimization. So each of them runs twice, once by itself and once
//! with all others, and the tests look at what these runs have written.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use crate::environment;
use resemble_testutil::Environment;
use resemble_testutil::prose::paragraphs;

/// Versions of texts of all sizes, and a file that is not text. The largest texts have the least
/// sizes that the experiments look at, some 10 KB.
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

const PAGES: [(&str, &[&str]); 7] = [
    (
        "sif",
        &["The right file was found and only it in", "query.svg"],
    ),
    ("forman", &["Paper, 327 MB", "Long runs"]),
    (
        "cherkasova",
        &["Table 1", "figure-11.svg", "table 2: collection 2"],
    ),
    (
        "broder",
        &[
            "documents per hour per core",
            "Shingle Merging",
            "super-recall.svg",
            "| 3.6 million |",
        ],
    ),
    ("guide", &["--method mod --window", "What short files lose"]),
    (
        "kasprzak",
        &["errors.svg", "Incremental runs", "| 2 |", "the same bytes"],
    ),
    ("anchors", &["anchors.txt"]),
];

/// The files that an experiment has written, by name; the name of a folder ends with a slash.
type Written = BTreeMap<String, Vec<u8>>;

/// What each experiment writes by itself.
static ALONE: LazyLock<Written> = LazyLock::new(|| {
    let env = texts();
    for (experiment, _) in PAGES {
        let output = format!("out/{experiment}");
        let ran = env.run(["eval", experiment, "texts", "-o", &output, "-q"]);
        ran.is(0, "", "");
    }
    written(&env.path("out"))
});

/// What `all` writes.
static TOGETHER: LazyLock<Written> = LazyLock::new(|| {
    let env = texts();
    let ran = env.run(["eval", "all", "texts", "-o", "papers", "-q"]);
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
    for (experiment, contents) in PAGES {
        let page = text(&ALONE, &format!("{experiment}/{experiment}.md"));
        for content in contents {
            assert!(
                page.contains(content),
                "{experiment}: no {content} in {page}"
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

#[test]
fn what_is_no_folder_of_texts_is_refused() {
    let env = texts();
    env.write("none/binary", [0]);
    for folder in ["none", "nowhere", "texts/1.txt"] {
        for experiment in ["sif", "broder"] {
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

/// One page has every table and plot, each paper has a page of its own, and no temporary file is
/// left.
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
