//! `docs/papers.md`: made from the results of experiments.
//!
//! `lab/results/NAME.tsv` is the `results.tsv` of `resemble lab eval all`, one file for each
//! collection. `lab/results/papers.md` is the page without figures of ours. Two kinds of its lines
//! are filled in:
//!
//! ```text
//! @head what | paper               a head with a column for each collection
//! @row what | paper | PAGE/TABLE | row | column
//! ```
//!
//! `UPDATE_REFERENCE=1 cargo test -p resemble-lab --test it -- papers` makes the page.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use resemble_testutil::page_is_up_to_date;

/// A table of the results: its columns, and its rows.
type Rows = Vec<Vec<String>>;

/// The tables of a collection by their names.
type Results = BTreeMap<String, Rows>;

fn results(text: &str) -> Results {
    let mut tables = BTreeMap::new();
    for block in text.split("\n\n").filter(|block| !block.is_empty()) {
        let mut lines = block.lines();
        let name = lines.next().unwrap().strip_prefix("# ").expect(block);
        let rows = lines.map(|line| line.split('\t').map(str::to_owned).collect());
        tables.insert(name.to_owned(), rows.collect());
    }
    tables
}

/// The cell in the first row that begins with these cells, or "–" if these results have no such
/// row.
fn cell(tables: &Results, table: &str, row: &str, column: &str) -> String {
    let Some(rows) = tables.get(table) else {
        return "–".to_owned();
    };
    let at = rows[0].iter().position(|name| name == column);
    let at = at.unwrap_or_else(|| panic!("{table} has no {column}, but {:?}", rows[0]));
    let keys: Vec<&str> = row.split(" & ").collect();
    let found = rows[1..].iter().find(|cells| {
        keys.iter()
            .zip(*cells)
            .all(|(key, cell)| *key == "*" || key == cell)
    });
    found.map_or_else(|| "–".to_owned(), |cells| cells[at].clone())
}

fn rendered(template: &str, collections: &[(String, Results)]) -> String {
    let mut page = String::new();
    for line in template.lines() {
        let parts: Vec<&str> = line.split(" | ").collect();
        if let Some(what) = parts[0].strip_prefix("@head") {
            let names = collections.iter().map(|(name, _)| name.as_str());
            let cells: Vec<&str> = [what.trim(), parts[1]].into_iter().chain(names).collect();
            let _ = write!(
                page,
                "| {} |\n|{}\n",
                cells.join(" | "),
                "---|".repeat(cells.len())
            );
        } else if let Some(what) = parts[0].strip_prefix("@row ") {
            let [_, paper, table, row, column] = parts[..] else {
                panic!("five parts: {line}");
            };
            let of = |(_, tables): &(String, Results)| cell(tables, table, row, column);
            let ours = collections.iter().map(of).collect::<Vec<_>>().join(" | ");
            assert!(
                ours.contains(|one: char| one.is_alphanumeric()),
                "no figure: {line}"
            );
            let _ = writeln!(page, "| {what} | {paper} | {ours} |");
        } else {
            page += line;
            page.push('\n');
        }
    }
    page
}

fn saved() -> (String, Vec<(String, Results)>) {
    let folder = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../results"));
    let template = std::fs::read_to_string(folder.join("papers.md")).unwrap();
    let mut collections = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|suffix| suffix == "tsv") {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            collections.push((name, results(&std::fs::read_to_string(&path).unwrap())));
        }
    }
    collections.sort_by(|a, b| a.0.cmp(&b.0));
    (template, collections)
}

#[test]
fn the_papers_are_up_to_date() {
    let (template, collections) = saved();
    assert!(!collections.is_empty(), "no results");
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/papers.md");
    page_is_up_to_date(path, &rendered(&template, &collections));
}

#[test]
fn rows_are_filled_in_from_results() {
    let tables = results("# a/t\nn\tkind\tvalue\n1\treal\t7\n1\tset\t8\n\n# a/u\nx\ty\n\n");
    let page = rendered(
        "Words.\n@head what | paper\n@row sets | 9 | a/t | * & set | value\n",
        &[("one".to_owned(), tables)],
    );
    assert_eq!(
        page,
        "Words.\n| what | paper | one |\n|---|---|---|\n| sets | 9 | 8 |\n"
    );
}
