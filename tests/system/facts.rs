//! Checks that the figures in `docs/facts.toml` equal the figures in the code, and the figures on
//! every page that states them.

use std::fs;
use std::path::{Path, PathBuf};

use toml::Value;

fn workspace() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("..")
}

fn read(path: impl AsRef<Path>) -> String {
    let path = workspace().join(path);
    fs::read_to_string(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

/// Returns the path and the text of the README and of each page. The lines of a page are joined,
/// because a phrase may continue on the next line.
fn pages() -> Vec<(String, String)> {
    let mut names = vec![PathBuf::from("README.md")];
    for entry in fs::read_dir(workspace().join("docs")).expect("docs") {
        let name = Path::new("docs").join(entry.expect("an entry").file_name());
        if name.extension().is_some_and(|e| e == "md") {
            names.push(name);
        }
    }
    let page = |name: PathBuf| {
        let lines: Vec<_> = read(&name)
            .lines()
            .map(|line| line.trim().to_owned())
            .collect();
        (name.display().to_string(), lines.join(" "))
    };
    names.into_iter().map(page).collect()
}

/// Returns the figures that a page has in place of `{}` in a phrase.
fn figures<'a>(page: &'a str, phrase: &str) -> Vec<&'a str> {
    let (before, after) = phrase.split_once("{}").expect("a phrase with {}");
    let is_of_figure = |c: char| c.is_ascii_digit() || matches!(c, ',' | '.');
    let mut found = Vec::new();
    for (at, _) in page.match_indices(before) {
        let (head, rest) = page.split_at(at + before.len());
        if head.ends_with(is_of_figure) {
            continue;
        }
        let end = rest.find(|c| !is_of_figure(c)).unwrap_or(rest.len());
        if end > 0 && rest[end..].starts_with(after) {
            found.push(&rest[..end]);
        }
    }
    found
}

#[test]
fn figures_of_the_pages_are_those_of_the_code() {
    let facts: toml::Table = read("docs/facts.toml").parse().expect("facts");
    let text = |value: &Value| value.as_str().expect("a string").to_owned();
    let pages = pages();
    for fact in facts["fact"].as_array().expect("facts") {
        let (figure, code, line) = (
            text(&fact["figure"]),
            text(&fact["code"]),
            text(&fact["line"]),
        );
        assert!(read(&code).contains(&line), "{code} has no {line}");
        for phrase in fact["phrases"].as_array().expect("phrases") {
            let phrase = text(phrase);
            let mut found = 0;
            for (name, page) in &pages {
                for other in figures(page, &phrase) {
                    assert_eq!(other, figure, "{name}: {phrase:?}, but {code}: {line}");
                    found += 1;
                }
            }
            assert!(found > 0, "no page has {phrase:?}");
        }
    }
}

#[test]
fn a_figure_is_found_in_its_phrase() {
    assert_eq!(
        figures("more than 1,000 contents.", "than {} contents"),
        ["1,000"]
    );
    assert_eq!(
        figures("than contents, than 7 x", "than {} contents"),
        [""; 0]
    );
}
