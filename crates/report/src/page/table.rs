//! The tables of a page.

use std::fmt::Write as _;

/// A table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table {
    /// The name of its CSV file, without the suffix.
    pub name: String,
    /// The names of its columns.
    pub columns: Vec<String>,
    /// Its rows, with one value for each column.
    pub rows: Vec<Vec<String>>,
}

impl Table {
    /// Creates a table without rows.
    pub fn new(name: &str, columns: &[&str]) -> Self {
        Self {
            name: name.to_owned(),
            columns: columns.iter().map(|&column| column.to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row.
    pub fn row<T: ToString>(&mut self, values: impl IntoIterator<Item = T>) {
        let values = values.into_iter().map(|value| value.to_string());
        self.rows.push(values.collect());
    }

    /// Returns the values of curves as a table with three columns: the curve, x and y.
    pub fn of_curves<'c>(
        name: &str,
        (x, y): (&str, &str),
        curves: impl IntoIterator<Item = (&'c str, &'c [(f64, f64)])>,
    ) -> Self {
        let mut table = Self::new(name, &["curve", x, y]);
        for (label, points) in curves {
            for (x, y) in points {
                table.row([label.to_owned(), x.to_string(), y.to_string()]);
            }
        }
        table
    }

    /// Returns the table as CSV. It has a header row, and fields are quoted as in RFC 4180.
    pub fn to_csv(&self) -> String {
        let field = |text: &String| {
            if text.contains([',', '"', '\n']) {
                format!("\"{}\"", text.replace('"', "\"\""))
            } else {
                text.clone()
            }
        };
        let line = |values: &Vec<String>| values.iter().map(field).collect::<Vec<_>>().join(",");
        let rows = std::iter::once(&self.columns).chain(&self.rows).map(line);
        rows.map(|line| line + "\n").collect()
    }

    pub(super) fn to_markdown(&self) -> String {
        let line = |values: &[String]| {
            let values: Vec<String> = values
                .iter()
                .map(|value| value.replace('|', "\\|"))
                .collect();
            format!("| {} |\n", values.join(" | "))
        };
        let mut text = line(&self.columns);
        let _ = writeln!(text, "|{}", "---|".repeat(self.columns.len()));
        text.extend(self.rows.iter().map(|row| line(row)));
        text
    }
}
