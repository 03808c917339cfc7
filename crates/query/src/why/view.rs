//! Shows two files in two columns, for a screen or a page.
//!
//! A [`View`] has the data of figure 4 of Forman et al. (2005). Lines of both files are side by
//! side. Each line is cut into spans. Equal spans have the number of their run on both sides. A
//! program that prints the view only has to choose a colour for each number. The size of a view
//! does not depend on the files. A long stretch is replaced by a [`Fold`], and the middle of a long
//! line is left out. [`View::rest`] counts what follows the last row.

use std::fmt;

use crate::why::layout::Run;

/// Limits of a view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ViewOptions {
    /// The number of equal rows that are shown before and after a difference.
    pub context: usize,
    /// The maximum number of rows.
    pub rows: usize,
    /// The maximum number of rows of a stretch between two equal parts that are shown side by side.
    pub gap: usize,
    /// The maximum length of a span in bytes. The middle of a longer span is left out.
    pub line: usize,
    /// The number of bytes per row if the files are not text.
    pub hex: usize,
}

impl Default for ViewOptions {
    fn default() -> Self {
        Self {
            context: 3,
            rows: 2000,
            gap: 200,
            line: 600,
            hex: 8,
        }
    }
}

/// Two files in two columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// True for lines of text, false for rows of bytes.
    pub text: bool,
    /// The shared runs. The run with the number `id` is at index `id - 1`.
    pub runs: Vec<Run>,
    /// The rows.
    pub rows: Vec<Row>,
    /// The part after the last row, if there were too many rows.
    pub rest: Option<Rest>,
}

/// One row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// The side of a; `None` if it is empty.
    pub left: Option<RowSide>,
    /// The side of b.
    pub right: Option<RowSide>,
    /// True if both sides hold the same bytes.
    pub equal: bool,
}

/// One side of a row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RowSide {
    /// A line, or a row of bytes.
    Line(Line),
    /// An omitted stretch.
    Fold(Fold),
}

/// A line of text, or a row of bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The number of the line, from 1. For a row of bytes, the offset of its first byte.
    pub number: u64,
    /// The parts of the line in order.
    pub spans: Vec<Span>,
}

/// A part of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Span {
    /// The number of the shared run that contains the span; `None` if the text occurs only in this
    /// file.
    pub run: Option<u32>,
    /// The text that is shown, without control characters except tabs.
    pub text: String,
}

/// An omitted stretch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fold {
    /// The number of omitted lines; 0 if the files are not text.
    pub lines: u64,
    /// The number of omitted bytes.
    pub bytes: u64,
    /// The content of the fold.
    pub what: Folded,
}

/// The content of a fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Folded {
    /// Lines or bytes that are the same on both sides.
    Equal,
    /// A part of the shared run with this number, which is elsewhere in the other file.
    Run(u32),
    /// Text that occurs mostly or only in this file.
    Only,
}

impl fmt::Display for Fold {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (count, unit) = match self.lines {
            0 => (self.bytes, "byte"),
            lines => (lines, "line"),
        };
        let s = if count == 1 { "" } else { "s" };
        write!(f, "… {} {unit}{s}", grouped(count))?;
        match self.what {
            Folded::Equal => f.write_str(" equal …"),
            Folded::Run(run) => write!(f, " of {run} …"),
            Folded::Only => f.write_str(" more …"),
        }
    }
}

/// The size of the omitted rest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rest {
    /// The number of lines of a; 0 if the files are not text.
    pub lines_a: u64,
    /// The number of lines of b; 0 if the files are not text.
    pub lines_b: u64,
    /// The number of bytes of a.
    pub bytes_a: u64,
    /// The number of bytes of b.
    pub bytes_b: u64,
}

impl fmt::Display for Rest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (a, b, unit) = match (self.lines_a, self.lines_b) {
            (0, 0) => (self.bytes_a, self.bytes_b, "bytes"),
            (a, b) => (a, b, "lines"),
        };
        write!(
            f,
            "not shown: the last {} {unit} of a and {} of b",
            grouped(a),
            grouped(b)
        )
    }
}

/// Returns a number with grouped digits: `12,345`.
pub(super) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        for (number, text) in [
            (0, "0"),
            (999, "999"),
            (1000, "1,000"),
            (1_234_567, "1,234,567"),
        ] {
            assert_eq!(grouped(number), text);
        }
    }
}
