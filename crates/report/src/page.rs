//! Writes a report of sections with text, tables and plots. The report is one page of Markdown,
//! with separate files for tables and plots.

use std::fmt::Write as _;

mod frame;
mod plot;
mod table;

pub use frame::{NamedAxis, PlotFrame, escaped, round_step};
pub use plot::{Curve, Plot};
pub use table::Table;

/// A plot of a page.
pub trait Drawing {
    /// Returns the name of the plot's files, without the suffix.
    fn name(&self) -> &str;

    /// Returns the title above the plot.
    fn title(&self) -> &str;

    /// Returns the plot as an SVG file.
    fn to_svg(&self) -> String;

    /// Returns the values as a table with the columns curve, x and y.
    fn to_table(&self) -> Table;
}

/// A section of a page.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Section<P = Plot> {
    /// Its heading.
    pub heading: String,
    /// The text, as Markdown.
    pub text: String,
    /// The tables, which follow the plots.
    pub tables: Vec<Table>,
    /// The plots, which follow the text.
    pub plots: Vec<P>,
}

impl<P> Section<P> {
    /// Creates a section with this text and without tables and plots.
    pub fn new(heading: &str, text: impl Into<String>) -> Self {
        Self {
            heading: heading.to_owned(),
            text: text.into(),
            tables: Vec::new(),
            plots: Vec::new(),
        }
    }

    /// Adds a table to the section.
    #[must_use]
    pub fn table(mut self, table: Table) -> Self {
        self.tables.push(table);
        self
    }

    /// Adds a plot to the section.
    #[must_use]
    pub fn plot(mut self, plot: P) -> Self {
        self.plots.push(plot);
        self
    }
}

/// A report of several sections. It shows how files change from sweep to sweep, or the result of an
/// experiment.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page<P = Plot> {
    /// The name of its Markdown file, without the suffix.
    pub name: String,
    /// The title of the page.
    pub title: String,
    /// The paragraph below the title. It names the subject of the report and its source.
    pub about: String,
    /// The sections, in order.
    pub sections: Vec<Section<P>>,
    /// Further files, each with its name and its content.
    pub files: Vec<(String, Vec<u8>)>,
}

/// The maximum number of rows of a table on the page. The CSV file has all rows.
const SHOWN: usize = 60;

impl<P: Drawing> Page<P> {
    /// Returns all files of the report: the page, the further files, a CSV file for each table and
    /// plot, and an SVG file for each plot.
    pub fn into_files(mut self) -> Vec<(String, Vec<u8>)> {
        let page = (format!("{}.md", self.name), self.page(1, "").into_bytes());
        let mut files = std::mem::take(&mut self.files);
        for section in &self.sections {
            for plot in &section.plots {
                let csv = plot.to_table().to_csv();
                files.push((format!("{}.csv", plot.name()), csv.into_bytes()));
                files.push((format!("{}.svg", plot.name()), plot.to_svg().into_bytes()));
            }
            for table in &section.tables {
                files.push((format!("{}.csv", table.name), table.to_csv().into_bytes()));
            }
        }
        files.insert(0, page);
        files
    }

    /// Returns the page as Markdown. Its title is a heading of this level. `folder` is the path
    /// from the page to the other files, and ends with a slash.
    pub fn page(&self, level: usize, folder: &str) -> String {
        let mark = "#".repeat(level);
        let mut page = format!("{mark} {}\n\n{}\n", self.title, self.about);
        for section in &self.sections {
            let _ = writeln!(page, "\n{mark}# {}", section.heading);
            if !section.text.is_empty() {
                let _ = writeln!(page, "\n{}", section.text);
            }
            for plot in &section.plots {
                let (title, name) = (plot.title(), plot.name());
                let _ = write!(page, "\n![{title}]({folder}{name}.svg)\n");
            }
            for table in &section.tables {
                let mut shown = table.clone();
                shown.rows.truncate(SHOWN);
                let _ = write!(page, "\n{}", shown.to_markdown());
                if table.rows.len() > SHOWN {
                    let _ = write!(
                        page,
                        "\nAll {} rows: {folder}{}.csv\n",
                        table.rows.len(),
                        table.name
                    );
                }
            }
        }
        page
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_is_a_page_and_files() {
        let mut table = Table::new("t", &["a", "b"]);
        table.row(["1", "x,\"y\"|"]);
        let report = Page::<Plot> {
            name: "page".into(),
            title: "Title".into(),
            about: "About.".into(),
            sections: vec![Section::new("One", "Words.").table(table)],
            files: Vec::new(),
        };
        let files = report.into_files();
        let text = |at: usize| String::from_utf8_lossy(&files[at].1).into_owned();
        assert_eq!(files[0].0, "page.md");
        assert!(
            text(0).ends_with("| a | b |\n|---|---|\n| 1 | x,\"y\"\\| |\n"),
            "{}",
            text(0)
        );
        assert_eq!(
            (files[1].0.as_str(), text(1)),
            ("t.csv", "a,b\n1,\"x,\"\"y\"\"|\"\n".into())
        );
    }
}
