//! The page of an experiment.
//!
//! Words and tables are those of [`resemble_report::page`]; the plots are those of this laboratory,
//! which have logarithmic axes and the points of a paper.

use std::fmt::Write as _;

use resemble_report::page;
use resemble_report::page::Table;

use super::plot::Plot;

/// A section of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section {
    /// Its heading.
    pub heading: String,
    /// Its words, as Markdown.
    pub text: String,
    /// The tables, which follow the plots.
    pub tables: Vec<Table>,
    /// The plots, which follow the words.
    pub plots: Vec<Plot>,
}

impl Section {
    /// A section of these words, without tables and plots.
    pub fn new(heading: &str, text: impl Into<String>) -> Self {
        Self {
            heading: heading.to_owned(),
            text: text.into(),
            ..Self::default()
        }
    }

    /// The section with one more table.
    #[must_use]
    pub fn table(mut self, table: Table) -> Self {
        self.tables.push(table);
        self
    }

    /// The section with one more plot.
    #[must_use]
    pub fn plot(mut self, plot: Plot) -> Self {
        self.plots.push(plot);
        self
    }
}

/// The result of an experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page {
    /// The name of its Markdown file, without the suffix.
    pub name: String,
    /// The title of the page.
    pub title: String,
    /// The paragraph below the title.
    pub about: String,
    /// The sections, in order.
    pub sections: Vec<Section>,
    /// Further files: name and content.
    pub files: Vec<(String, Vec<u8>)>,
}

/// The most rows of a table among the results; the CSV file has all.
const MAX_ROWS: usize = 30;

impl Page {
    /// The page as Markdown. Its title is a heading of this level; `folder` is the way from the
    /// page to the other files, with a slash at its end.
    pub fn page(&self, level: usize, folder: &str) -> String {
        self.with_links(folder).page(level, folder)
    }

    /// The page for [`page::Page::into_files`]. Its plots and [`Self::results`] are further files.
    pub fn into_report(mut self) -> page::Page {
        let mut report = self.with_links("");
        report.files = std::mem::take(&mut self.files);
        let results = self.results().into_bytes();
        report.files.push((format!("{}.tsv", self.name), results));
        for plot in self.sections.iter().flat_map(|section| &section.plots) {
            let csv = plot.to_table().to_csv().into_bytes();
            report.files.push((format!("{}.csv", plot.name), csv));
            let svg = plot.to_svg().into_bytes();
            report.files.push((format!("{}.svg", plot.name), svg));
        }
        report
    }

    /// The tables as tab-separated values: `# page/table`, the columns, the rows, an empty line.
    pub fn results(&self) -> String {
        let mut text = String::new();
        let tables = self.sections.iter().flat_map(|section| &section.tables);
        for table in tables.filter(|table| table.rows.len() <= MAX_ROWS) {
            let _ = writeln!(text, "# {}/{}", self.name, table.name);
            for row in std::iter::once(&table.columns).chain(&table.rows) {
                let _ = writeln!(text, "{}", row.join("\t").replace('\n', " "));
            }
            text.push('\n');
        }
        text
    }

    fn with_links(&self, folder: &str) -> page::Page {
        let sections = self.sections.iter().map(|section| {
            let mut text = section.text.clone();
            for plot in &section.plots {
                let _ = write!(text, "\n\n![{}]({folder}{}.svg)", plot.title, plot.name);
            }
            page::Section {
                heading: section.heading.clone(),
                text: text.trim_start().to_owned(),
                tables: section.tables.clone(),
                plots: Vec::new(),
            }
        });
        page::Page {
            name: self.name.clone(),
            title: self.title.clone(),
            about: self.about.clone(),
            sections: sections.collect(),
            files: Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
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
        assert_eq!(page.results(), "# one/t\na\tb\n1\t2\n\n");
        let files = page.into_report().into_files();
        let names: Vec<&str> = files.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["one.md", "one.tsv", "p.csv", "p.svg", "t.csv"]);
    }
}
