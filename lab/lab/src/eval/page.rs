//! Adds a file of results to the page of an experiment.
//!
//! The page has the form of [`resemble_report::page`]. Its plots are those of this laboratory. They
//! can have logarithmic axes and show points of a paper.

use std::fmt::Write as _;

use resemble_report::page;

use super::plot::Plot;

/// A section of an experiment's page.
pub type Section = page::Section<Plot>;

/// The page that an experiment makes.
pub type Page = page::Page<Plot>;

/// The maximum number of rows of a table in the results. A longer table is only in its CSV file.
const MAX_ROWS: usize = 30;

/// Adds the [results](results_of) to a page as a further file.
#[must_use]
pub fn with_results(mut page: Page) -> Page {
    let results = results_of(&page).into_bytes();
    page.files.push((format!("{}.tsv", page.name), results));
    page
}

/// Formats the tables as tab-separated values. Each table consists of a line `# page/table`, a line
/// with the columns, the rows, and an empty line.
pub fn results_of(page: &Page) -> String {
    let mut text = String::new();
    let tables = page.sections.iter().flat_map(|section| &section.tables);
    for table in tables.filter(|table| table.rows.len() <= MAX_ROWS) {
        let _ = writeln!(text, "# {}/{}", page.name, table.name);
        for row in std::iter::once(&table.columns).chain(&table.rows) {
            let _ = writeln!(text, "{}", row.join("\t").replace('\n', " "));
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use resemble_report::page::Table;

    use super::*;

    #[test]
    fn a_page_names_its_plots_and_keeps_its_tables() {
        let mut table = Table::new("t", &["a", "b"]);
        table.row(["1", "2"]);
        let mut plot = Plot::new("p", "Title", "x", "y");
        plot.curve("c", [(1.0, 2.0), (2.0, 3.0)]);
        let page = Page {
            name: "one".into(),
            sections: vec![Section::new("One", "Words.").table(table).plot(plot)],
            ..Page::default()
        };
        let text = page.page(2, "one/");
        assert!(
            text.contains("### One\n\nWords.\n\n![Title](one/p.svg)\n\n| a | b |"),
            "{text}"
        );
        assert_eq!(results_of(&page), "# one/t\na\tb\n1\t2\n\n");
        let files = with_results(page).into_files();
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["one.md", "one.tsv", "p.csv", "p.svg", "t.csv"]);
    }
}
