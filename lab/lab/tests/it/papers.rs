//! Checks `docs/papers.md`, which is made from the results of experiments.
//!
//! `lab/results/NAME.tsv` is the `results.tsv` of `resemble lab eval all` for one collection. A
//! folder in `lab/results` has one file for each size of a run at scale. The template
//! `lab/results/papers.md` is the page without our figures. These lines of the template are
//! replaced:
//!
//! ```text
//! @of FOLDER                       the columns below are the files of this folder
//! @head what | paper               a head with a column for each collection
//! @head what | paper | growth      a further column: the last collection over the one before it
//! @row what | paper | PAGE/TABLE | row | column
//! @table what | PAGE/TABLE         the rows of the table, of each collection in turn
//! ```
//!
//! `UPDATE_REFERENCE=1 cargo test -p resemble-lab --test it -- papers` writes the page.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;

use resemble_testutil::page_is_up_to_date;

const RESULTS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../results");

/// A table of the results. The first row has the names of the columns.
type Rows = Vec<Vec<String>>;

/// The tables of a collection, by name.
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

/// Finds the first row that begins with the cells in `row`, and returns its cell in this column.
/// Returns "–" if these results have no such row.
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

/// Inserts commas between thousands, in whole numbers of five digits or more.
fn grouped(text: &str) -> String {
    let mut out = String::new();
    for piece in text.split_inclusive(|one: char| !one.is_ascii_digit()) {
        let digits = piece.trim_end_matches(|one: char| !one.is_ascii_digit());
        let is_whole = digits.len() > 4 && !out.ends_with('.');
        for (at, one) in piece.char_indices() {
            let left = digits.len().saturating_sub(at);
            if is_whole && at > 0 && left > 0 && left.is_multiple_of(3) {
                out.push(',');
            }
            out.push(one);
        }
    }
    out
}

/// Returns the number at the beginning of a cell, if there is one.
fn leading(cell: &str) -> Option<f64> {
    let end = cell.find(|one: char| !one.is_ascii_digit() && one != '.');
    cell[..end.unwrap_or(cell.len())].parse().ok()
}

/// Divides the last cell by the one before it, if both begin with a number.
fn growth(cells: &[String]) -> String {
    let [.., before, last] = cells else {
        return String::new();
    };
    match (leading(before), leading(last)) {
        (Some(before), Some(last)) if before > 0.0 => format!("{:.2}", last / before),
        _ => String::new(),
    }
}

/// Returns the rows that a table has in all collections. Each row begins with the name of its
/// collection.
fn whole(what: &str, table: &str, collections: &[(String, Results)]) -> String {
    let mut page = String::new();
    for (name, tables) in collections {
        let rows = &tables[table];
        if page.is_empty() {
            let columns = "---|".repeat(rows[0].len() + 1);
            let _ = write!(page, "| {what} | {} |\n|{columns}\n", rows[0].join(" | "));
        }
        for row in &rows[1..] {
            let _ = writeln!(page, "| {name} | {} |", grouped(&row.join(" | ")));
        }
    }
    page
}

fn rendered(template: &str, of: &dyn Fn(&str) -> Vec<(String, Results)>) -> String {
    let (mut page, mut collections, mut has_growth) = (String::new(), of("."), false);
    for line in template.lines() {
        let parts: Vec<&str> = line.split(" | ").collect();
        if let Some(folder) = line.strip_prefix("@of ") {
            collections = of(folder);
        } else if let Some(what) = parts[0].strip_prefix("@head") {
            has_growth = parts.len() > 2;
            let names = collections.iter().map(|(name, _)| grouped(name));
            let cells: Vec<String> = [what.trim(), parts[1]]
                .map(str::to_owned)
                .into_iter()
                .chain(names)
                .chain(parts.get(2).map(|&growth| growth.to_owned()))
                .collect();
            let _ = write!(
                page,
                "| {} |\n|{}\n",
                cells.join(" | "),
                "---|".repeat(cells.len())
            );
        } else if let Some(what) = parts[0].strip_prefix("@table ") {
            page += &whole(what, parts[1], &collections);
        } else if let Some(what) = parts[0].strip_prefix("@row ") {
            let [_, paper, table, row, column] = parts[..] else {
                panic!("five parts: {line}");
            };
            let of = |(_, tables): &(String, Results)| cell(tables, table, row, column);
            let mut ours: Vec<String> = collections.iter().map(of).collect();
            assert!(
                ours.concat().contains(|one: char| one.is_alphanumeric()),
                "no figure: {line}"
            );
            let growth = has_growth.then(|| growth(&ours));
            ours.extend(growth);
            let ours = grouped(&ours.join(" | "));
            let _ = writeln!(page, "| {what} | {paper} | {ours} |");
        } else {
            page += line;
            page.push('\n');
        }
    }
    page
}

/// Returns the results in a folder below `lab/results`, with their names. They are ordered by the
/// number in the name.
fn saved(folder: &str) -> Vec<(String, Results)> {
    let mut collections = Vec::new();
    for entry in std::fs::read_dir(Path::new(RESULTS).join(folder)).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|suffix| suffix == "tsv") {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            collections.push((name, results(&std::fs::read_to_string(&path).unwrap())));
        }
    }
    let order = |name: &str| (name.parse::<u64>().unwrap_or(0), name.to_owned());
    collections.sort_by_key(|(name, _)| order(name));
    assert!(!collections.is_empty(), "no results in {folder}");
    collections
}

#[test]
fn the_papers_are_up_to_date() {
    let template = std::fs::read_to_string(Path::new(RESULTS).join("papers.md")).unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/papers.md");
    page_is_up_to_date(path, &rendered(&template, &saved));
}

#[test]
fn rows_are_filled_in_from_results() {
    let of = |folder: &str| match folder {
        "." => vec![(
            "one".to_owned(),
            results("# a/t\nn\tkind\tvalue\n1\treal\t7\n1\tset\t8\n\n# a/u\nx\ty\n\n"),
        )],
        _ => vec![
            (
                "900".to_owned(),
                results("# a/t\nn\tmb\nx\t1.5 MB\ny\t0\n\n"),
            ),
            (
                "10000".to_owned(),
                results("# a/t\nn\tmb\nx\t12345 MB\ny\t3\n\n"),
            ),
        ],
    };
    let page = rendered(
        "Words.\n@head what | paper\n@row sets | 9 | a/t | * & set | value\n\
         @of sizes\n@head what | paper | growth\n@row x | 9 | a/t | x | mb\n\
         @row y | 9 | a/t | y | mb\n@table texts | a/t\n",
        &of,
    );
    assert_eq!(
        page,
        "Words.\n| what | paper | one |\n|---|---|---|\n| sets | 9 | 8 |\n\
         | what | paper | 900 | 10,000 | growth |\n|---|---|---|---|---|\n\
         | x | 9 | 1.5 MB | 12,345 MB | 8230.00 |\n| y | 9 | 0 | 3 |  |\n\
         | texts | n | mb |\n|---|---|---|\n| 900 | x | 1.5 MB |\n| 900 | y | 0 |\n\
         | 10000 | x | 12,345 MB |\n| 10000 | y | 3 |\n"
    );
    assert_eq!(
        grouped("1234 (12345 to 0.123456), 1234567"),
        "1234 (12,345 to 0.123456), 1,234,567"
    );
}
