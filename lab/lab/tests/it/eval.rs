//! `resemble lab eval`: every experiment on a small folder.

use crate::environment;
use resemble_testutil::Environment;
use resemble_testutil::prose::paragraphs;

/// Versions of texts of all sizes, and something that is no text.
fn texts() -> Environment {
    let env = environment();
    for seed in 1..=6 {
        let text = paragraphs(seed, 60 + 8 * seed as usize);
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

#[test]
fn every_experiment_writes_a_page_and_what_it_names() {
    let env = texts();
    for (experiment, said) in PAGES {
        let ran = env.run(["eval", experiment, "texts", "-o", experiment, "-q"]);
        ran.is(0, "", "");
        let folder = env.path(experiment);
        let page = std::fs::read_to_string(folder.join(format!("{experiment}.md"))).unwrap();
        for text in said {
            assert!(page.contains(text), "{experiment}: no {text} in {page}");
        }
        for link in page.split("](").skip(1) {
            let name = link.split(')').next().unwrap();
            let svg = std::fs::read_to_string(folder.join(name)).unwrap();
            assert!(svg.starts_with("<svg") && !svg.contains("NaN"), "{name}");
        }
    }
    let anchors = env.path("anchors/anchors.txt");
    let args = [
        "find",
        "texts/1.txt",
        "--in",
        "texts",
        "--method",
        "sif-anchors",
        "--anchors",
    ];
    let found = env.run(args.iter().copied().chain([anchors.to_str().unwrap()]));
    assert!(
        found.code == 0 && found.text().contains("v2/1.txt"),
        "{found:?}"
    );
}

#[test]
fn an_experiment_is_the_same_on_every_run() {
    let env = texts();
    for (experiment, table) in [
        ("sif", "query.csv"),
        ("cherkasova", "figure-07a.csv"),
        ("forman", "recall.csv"),
        ("broder", "estimates.csv"),
        ("kasprzak", "errors-few-bits.csv"),
    ] {
        let read = |to: &str| {
            assert_eq!(env.run(["eval", experiment, "texts", "-o", to]).code, 0);
            std::fs::read(env.path(to).join(table)).unwrap()
        };
        let one = read("one");
        assert!(one.len() > 100 && one == read("two"), "{experiment}");
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

/// One page with every table and plot, beside one for each paper, and nothing of the work left
/// there.
#[test]
fn all_papers_are_on_one_page() {
    let env = texts();
    env.run(["eval", "all", "texts", "-o", "papers", "-q"])
        .is(0, "", "");
    let folder = env.path("papers");
    let index = std::fs::read_to_string(folder.join("index.md")).unwrap();
    let links = |start: &str| {
        let lines = index.lines().filter(|line| line.starts_with(start));
        let links = lines.map(|line| line.rsplit_once("](").unwrap().1.trim_end_matches(')'));
        links
            .inspect(|link| assert!(folder.join(link).is_file(), "{link}"))
            .collect::<Vec<&str>>()
    };
    let pages = links("* [");
    assert!(pages.len() >= 5 && links("![").len() > 20, "{index}");
    for page in pages {
        let alone = std::fs::read_to_string(folder.join(page)).unwrap();
        for heading in alone.lines().filter(|line| line.starts_with("## ")) {
            assert!(index.contains(&format!("\n#{heading}\n")), "{heading}");
        }
    }
    assert!(!folder.join("broder/.work").exists());
}
