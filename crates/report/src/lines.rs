//! Lays out lines of text, which are made of cells, for a terminal or for a pipe.
//!
//! A line is a few cells with two blanks between them. On a terminal, the cells of a list form
//! columns, names are quoted, and colours may be used. In a pipe or a file, nothing is padded and
//! names are raw bytes. The code that opened the stream chooses one of the two layouts with a
//! [`TextStyle`]; nothing here asks the terminal.
//!
//! A terminal would break a wide line in the middle of a word or of a column. So this module breaks
//! wide lines itself. A sentence continues on the next line. A summary loses its middle
//! ([`Cell::shortening`]). Any other cell that does not fit is placed below the others. Names are
//! not broken, so that they can be copied.

use std::io::{self, Write};
use std::ops::Range;

use anstyle::{AnsiColor, Style};
use resemble_proto::path::PathText;
use unicode_width::UnicodeWidthStr;

use crate::human::{day, utc};
use crate::quote::quoted_bytes;
use crate::wrap::{shortened, wrapped};

/// The indentation of a cell that is placed below the others.
const INDENT: usize = 4;

/// The minimum width to which a cell is shortened. If even that width is not free, the cell is
/// placed below the others.
const LEAST_SHORTENED: usize = 16;

/// The meaning of a cell, which determines its style.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tint {
    /// Ordinary text.
    Plain,
    /// A heading.
    Heading,
    /// A good state, such as identical or live.
    Good,
    /// A state that deserves attention, such as degraded or scanning.
    Notable,
    /// Text that is less important.
    Faint,
}

impl Tint {
    /// Returns the tint of a pair of files or folders.
    pub const fn of_pair(identical: bool) -> Self {
        if identical { Self::Good } else { Self::Plain }
    }

    /// Returns the style of the tint: a colour, bold, dimmed or plain.
    pub const fn style(self) -> Style {
        match self {
            Self::Plain => Style::new(),
            Self::Heading => Style::new().bold(),
            Self::Good => AnsiColor::Green.on_default(),
            Self::Notable => AnsiColor::Yellow.on_default(),
            Self::Faint => Style::new().dimmed(),
        }
    }
}

/// One cell of a line of text.
#[derive(Clone, Debug)]
pub struct Cell {
    text: Vec<u8>,
    tint: Tint,
    right: bool,
    overflow: Overflow,
    /// The range of `text` that separates two joined names. It is empty if the cell has only one
    /// name.
    between: Range<usize>,
}

/// The treatment of a cell that is too wide for its line.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Overflow {
    /// The cell is placed below the other cells, unbroken.
    #[default]
    Below,
    /// The cell is placed below the other cells, and its words are wrapped.
    Wraps,
    /// The middle of the cell is left out.
    Shortens,
}

impl Cell {
    /// Returns a cell, flush left, with text that this program makes. Names need
    /// [`TextStyle::name`] instead.
    pub fn left(text: impl Into<String>, tint: Tint) -> Self {
        Self {
            text: text.into().into_bytes(),
            tint,
            right: false,
            overflow: Overflow::Below,
            between: 0..0,
        }
    }

    /// Returns a cell with a sentence that this program makes. Its words are wrapped at the end of
    /// the terminal.
    pub fn prose(text: impl Into<String>, tint: Tint) -> Self {
        Self {
            overflow: Overflow::Wraps,
            ..Self::left(text, tint)
        }
    }

    /// Makes the cell lose its middle if it does not fit into the line. If it has two joined names,
    /// each of them loses its own middle.
    #[must_use]
    pub const fn shortening(mut self) -> Self {
        self.overflow = Overflow::Shortens;
        self
    }

    /// Returns a cell, flush right, with text that this program makes.
    pub fn right(text: impl Into<String>, tint: Tint) -> Self {
        Self {
            right: true,
            ..Self::left(text, tint)
        }
    }

    /// Appends text from this program.
    #[must_use]
    pub fn followed_by(mut self, text: &str) -> Self {
        self.text.extend_from_slice(text.as_bytes());
        self
    }

    /// Appends another cell to this one, with text of this program in between. The result has the
    /// tint of this cell.
    #[must_use]
    pub fn joined(mut self, between: &str, other: &Self) -> Self {
        let from = self.text.len();
        self.text.extend_from_slice(between.as_bytes());
        self.between = from..self.text.len();
        self.text.extend_from_slice(&other.text);
        self
    }

    /// Returns the printed bytes, without the colour.
    pub fn bytes(&self) -> &[u8] {
        &self.text
    }

    fn width(&self) -> usize {
        width(&self.text)
    }

    /// Returns the text with a line break between its two names.
    fn one_below_the_other(&self) -> Vec<u8> {
        let between = self.text[self.between.clone()].trim_ascii_end();
        let (a, b) = (
            &self.text[..self.between.start],
            &self.text[self.between.end..],
        );
        [a, between, b"\n", &[b' '; INDENT], b].concat()
    }

    /// Shortens the text to this many columns. If it has two names, each gets half of the columns.
    /// If one name needs fewer columns, the other name gets the rest.
    fn shortened(&self, columns: usize) -> Vec<u8> {
        if self.between.is_empty() {
            return shortened(&self.text, columns);
        }
        let (a, between) = self.text[..self.between.end].split_at(self.between.start);
        let b = &self.text[self.between.end..];
        let room = columns.saturating_sub(width(between));
        let of_a = width(a).min((room / 2).max(room.saturating_sub(width(b))));
        let (a, b) = (shortened(a, of_a), shortened(b, room - of_a));
        [&a[..], between, &b[..]].concat()
    }
}

fn width(text: &[u8]) -> usize {
    String::from_utf8_lossy(text).width()
}

/// Returns the width of a line if its cells are padded to these column widths.
fn padded_width(line: &[Cell], widths: &[usize]) -> usize {
    let Some((last, others)) = line.split_last() else {
        return 0;
    };
    let others = widths.iter().take(others.len()).map(|width| width + 2);
    let width = widths.get(line.len() - 1).filter(|_| last.right);
    others.sum::<usize>() + width.copied().unwrap_or(last.width())
}

/// The time zone of the reader. The command sets it to the zone of its process. The default is UTC.
#[derive(Clone, Copy, Debug)]
pub struct Zone {
    /// Returns the number of seconds by which local time is ahead of UTC at a given time. That time
    /// is in seconds since 1970.
    pub ahead: fn(i64) -> i64,
    /// The name of the zone.
    pub name: &'static str,
}

impl Default for Zone {
    fn default() -> Self {
        Self {
            ahead: |_| 0,
            name: "UTC",
        }
    }
}

/// The layout of text. It depends on where the text is read, on a terminal or in a pipe.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextStyle {
    /// True if the text goes to a terminal. Then it has columns, and names are quoted.
    pub terminal: bool,
    /// True if the output has colours.
    pub color: bool,
    /// True if the text has the details that `-v` asks for.
    pub verbose: bool,
    /// The number of columns of the terminal, if it is known.
    pub columns: Option<usize>,
    /// The time zone in which times are shown.
    pub zone: Zone,
}

impl TextStyle {
    /// Returns the local day of a time in seconds since 1970, as `2026-09-01`. Returns `-` for a
    /// time before 1970.
    pub fn day(self, seconds: i64) -> String {
        day(self.local(seconds))
    }

    /// Returns a time in seconds since 1970 as local time: `2026-09-01 14:34:56`.
    pub fn time(self, seconds: u64) -> String {
        let local = self.local(i64::try_from(seconds).unwrap_or(i64::MAX));
        utc(u64::try_from(local).unwrap_or_default())
            .replace('T', " ")
            .replace('Z', "")
    }

    fn local(self, seconds: i64) -> i64 {
        seconds.saturating_add((self.zone.ahead)(seconds))
    }

    /// Returns a name as a cell: quoted on a terminal, raw elsewhere.
    pub fn name(self, name: &PathText, tint: Tint) -> Cell {
        let text = if self.terminal {
            quoted_bytes(name.as_bytes()).into_bytes()
        } else {
            name.as_bytes().to_vec()
        };
        Cell {
            text,
            ..Cell::left("", tint)
        }
    }
}

/// Writes lines in one style.
pub struct TextWriter<'a> {
    out: &'a mut dyn Write,
    style: TextStyle,
}

impl std::fmt::Debug for TextWriter<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextWriter")
            .field("style", &self.style)
            .finish_non_exhaustive()
    }
}

impl<'a> TextWriter<'a> {
    /// Returns a writer that writes lines to `out`.
    pub fn new(out: &'a mut dyn Write, style: TextStyle) -> Self {
        Self { out, style }
    }

    /// Returns the style of the written lines.
    pub const fn style(&self) -> TextStyle {
        self.style
    }

    /// Returns a name as a cell, in this style.
    pub fn name(&self, name: &PathText, tint: Tint) -> Cell {
        self.style.name(name, tint)
    }

    /// Returns whether details are wanted.
    pub const fn is_verbose(&self) -> bool {
        self.style.verbose
    }

    /// Writes lines of cells with two blanks between the cells. On a terminal the cells form
    /// columns. `end` is the byte after each line.
    pub fn lines(&mut self, lines: &[Vec<Cell>], end: u8) -> io::Result<()> {
        let mut widths: Vec<usize> = Vec::new();
        if self.style.terminal {
            // A heading is above the columns, so its length does not move them.
            let is_heading = |line: &[Cell]| matches!(line, [cell] if cell.tint == Tint::Heading);
            for line in lines.iter().filter(|line| !is_heading(line)) {
                widths.resize(widths.len().max(line.len()), 0);
                for (width, cell) in widths.iter_mut().zip(line) {
                    *width = (*width).max(cell.width());
                }
            }
        }
        let columns = self.style.columns.filter(|_| self.style.terminal);
        for line in lines {
            match columns.filter(|columns| padded_width(line, &widths) > *columns) {
                Some(columns) => self.long_line(line, &widths, columns)?,
                None => self.line(line, &widths)?,
            }
            self.out.write_all(&[end])?;
        }
        Ok(())
    }

    /// Writes lines that end with a newline.
    pub(crate) fn print(&mut self, lines: impl IntoIterator<Item = Vec<Cell>>) -> io::Result<()> {
        let lines: Vec<_> = lines.into_iter().collect();
        self.lines(&lines, b'\n')
    }

    /// Writes a line of one sentence.
    pub(crate) fn say(&mut self, text: impl Into<String>, tint: Tint) -> io::Result<()> {
        self.print([vec![Cell::prose(text, tint)]])
    }

    fn line(&mut self, line: &[Cell], widths: &[usize]) -> io::Result<()> {
        for (i, cell) in line.iter().enumerate() {
            let width = widths.get(i).copied().unwrap_or(0);
            let blanks = width.saturating_sub(cell.width());
            let is_last = i + 1 == line.len();
            let before = if cell.right { blanks } else { 0 };
            let after = if cell.right || is_last { 0 } else { blanks };
            write!(self.out, "{:before$}", "")?;
            self.paint(cell)?;
            write!(self.out, "{:after$}", "")?;
            if !is_last {
                self.out.write_all(b"  ")?;
            }
        }
        Ok(())
    }

    /// Writes a line that is too wide. Its widest column is not padded, because the line may fit
    /// without that padding.
    fn long_line(&mut self, line: &[Cell], widths: &[usize], columns: usize) -> io::Result<()> {
        let widest = (0..line.len()).max_by_key(|i| widths.get(*i));
        let mut column = 0;
        let mut is_below = false;
        // The padding after a cell. It is written only if another cell follows on the same line.
        let mut fill = 0;
        for (i, cell) in line.iter().enumerate() {
            let width = cell.width();
            let blanks = match widths.get(i) {
                Some(all) if Some(i) != widest && !is_below => all - width,
                _ => 0,
            };
            let before = if cell.right { blanks } else { 0 };
            let gap = if column > 0 { 2 + fill } else { 0 };
            fill = 0;
            let left = columns.saturating_sub(column + gap + before);
            let mut cell = cell.clone();
            let goes_below = match cell.overflow {
                Overflow::Below => width + INDENT <= columns || !cell.between.is_empty(),
                Overflow::Wraps => true,
                Overflow::Shortens => left < LEAST_SHORTENED,
            };
            if width > left && column > 0 && goes_below {
                write!(self.out, "\n{:INDENT$}", "")?;
                column = INDENT;
                is_below = true;
            } else {
                let blanks = gap + before;
                write!(self.out, "{:blanks$}", "")?;
                column += blanks;
            }
            let left = columns.saturating_sub(column);
            if width > left && cell.overflow == Overflow::Below && !cell.between.is_empty() {
                cell.text = cell.one_below_the_other();
            }
            if width > left && cell.overflow == Overflow::Shortens {
                cell.text = cell.shortened(left.max(LEAST_SHORTENED));
            }
            if cell.overflow == Overflow::Wraps {
                cell.text = wrapped(&cell.text, columns, column, INDENT);
            }
            self.paint(&cell)?;
            column += cell.width();
            if !cell.right && !is_below {
                fill = blanks;
            }
        }
        Ok(())
    }

    fn paint(&mut self, cell: &Cell) -> io::Result<()> {
        let style = cell.tint.style();
        if !self.style.color || style == Style::new() {
            return self.out.write_all(&cell.text);
        }
        // Each line has its own colour codes, because a pager resets colours at the end of a line.
        for line in cell.text.split_inclusive(|&byte| byte == b'\n') {
            let text = line.strip_suffix(b"\n").unwrap_or(line);
            write!(self.out, "{style}")?;
            self.out.write_all(text)?;
            write!(self.out, "{style:#}")?;
            self.out.write_all(&line[text.len()..])?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn printed(columns: usize, lines: &[Vec<Cell>]) -> String {
        let style = TextStyle {
            terminal: true,
            columns: Some(columns),
            ..TextStyle::default()
        };
        let mut bytes = Vec::new();
        TextWriter::new(&mut bytes, style)
            .lines(lines, b'\n')
            .unwrap();
        String::from_utf8(bytes).unwrap()
    }

    fn row(share: &str, relation: &str, name: &str, rest: &[&str]) -> Vec<Cell> {
        let mut row = vec![
            Cell::right(share, Tint::Plain),
            Cell::left(relation, Tint::Plain),
            Cell::left(name, Tint::Plain),
        ];
        row.extend(rest.iter().map(|text| Cell::prose(*text, Tint::Faint)));
        row
    }

    #[test]
    fn what_fits_stands_in_columns_and_what_does_not_stands_below() {
        let rows = [
            row("100%", "identical", "/srv/a", &["a copy"]),
            row("98%", "near", "/srv/documents/b", &["98 % raw"]),
        ];
        let wide = "\
100%  identical  /srv/a            a copy
 98%  near       /srv/documents/b  98 % raw
";
        assert_eq!(printed(43, &rows), wide);
        let narrow = "\
100%  identical  /srv/a            a copy
 98%  near       /srv/documents/b
    98 % raw
";
        assert_eq!(printed(42, &rows), narrow);
        // The longer name of the other row makes the column wide. With padding to that width,
        // neither cell would fit.
        assert_eq!(
            printed(33, &rows),
            "100%  identical  /srv/a  a copy\n 98%  near       /srv/documents/b\n    98 % raw\n"
        );
        let words = [row(
            "98%",
            "near",
            "/srv/documents/b",
            &["98 % raw, 64 % after text found"],
        )];
        assert_eq!(
            printed(29, &words),
            "98%  near  /srv/documents/b\n    98 % raw, 64 % after text\n    found\n"
        );
    }

    #[test]
    fn a_heading_moves_no_column() {
        let rows = [
            vec![Cell::left("/srv/documents/a:", Tint::Heading)],
            row("100%", "identical", "/srv/b", &[]),
            vec![Cell::left(
                "/srv/documents/a-long-name-of-a-file:",
                Tint::Heading,
            )],
            row("98%", "near", "/srv/c", &[]),
        ];
        let expected = "\
/srv/documents/a:
100%  identical  /srv/b
/srv/documents/a-long-name-of-a-file:
 98%  near       /srv/c
";
        assert_eq!(printed(80, &rows), expected);
        assert_eq!(printed(24, &rows), expected);
    }

    #[test]
    fn a_name_is_whole_and_a_summary_is_cut_in_its_middle() {
        let name = "/srv/documents/a-long-name-of-a-file";
        let whole = [row("98%", "near", name, &[])];
        assert_eq!(
            printed(20, &whole),
            format!("98%  near\n    {name}\n").replace("\n    ", "  ")
        );
        let mut cells = row("98%", "near", name, &[]);
        let last = cells.pop().unwrap().shortening();
        cells.push(last);
        assert_eq!(
            printed(36, &[cells]),
            "98%  near  /srv/doc…g-name-of-a-file\n".to_owned()
        );
    }

    #[test]
    fn of_two_names_each_is_cut() {
        let joined = |a: &str, b: &str| {
            let b = Cell::left(b, Tint::Plain);
            let names = Cell::left(a, Tint::Plain).joined(", ", &b).shortening();
            printed(30, &[vec![names]])
        };
        assert_eq!(joined("docs/a", "docs/b"), "docs/a, docs/b\n");
        assert_eq!(
            joined("pictures/summer/1.jpg", "pictures/unsorted/1.jpg"),
            "pict…mer/1.jpg, pict…ted/1.jpg\n"
        );
        assert_eq!(
            joined("1.jpg", "pictures/unsorted/11.jpg"),
            "1.jpg, picture…unsorted/11.jpg\n"
        );
        assert_eq!(
            joined("pictures/unsorted/11.jpg", "1.jpg"),
            "picture…unsorted/11.jpg, 1.jpg\n"
        );
    }

    /// Each line needs its own colour codes, because a pager resets colours at the end of a line.
    #[test]
    fn each_line_of_a_sentence_has_its_colour() {
        let mut bytes = Vec::new();
        let style = TextStyle {
            terminal: true,
            color: true,
            columns: Some(12),
            ..TextStyle::default()
        };
        let sentence = Cell::prose("one two three four", Tint::Heading);
        TextWriter::new(&mut bytes, style)
            .lines(&[vec![sentence]], b'\n')
            .unwrap();
        let (on, off) = (
            Tint::Heading.style(),
            format!("{:#}", Tint::Heading.style()),
        );
        assert_eq!(
            String::from_utf8(bytes).unwrap(),
            format!("{on}one two{off}\n{on}    three{off}\n{on}    four{off}\n")
        );
    }

    #[test]
    fn wide_letters_take_two_columns() {
        let rows = [
            row("98%", "near", "漢字", &["x"]),
            row("98%", "near", "abcd", &["x"]),
        ];
        assert_eq!(
            printed(80, &rows),
            "98%  near  漢字  x\n98%  near  abcd  x\n"
        );
    }
}
