//! Prints two texts in two columns. A *run* is a stretch of text that both texts have; its colour
//! is the same on both sides.
//!
//! The layout is as in figure 4 of Forman et al. (2005), but on a terminal:
//!
//! ```text
//!   12  3│shared text in the colour of run 3   |   14  3│the same, where a word differs
//! ```
//!
//! 1. **Colours repeat, numbers do not.** Six colours of the terminal's 256 are used. Each has a
//!    contrast of at least 3.5 to 1 to black and to white. The number of the run beside the line
//!    gives the same information without colours. Text that only one file has is not coloured.
//! 2. **Without colours**, a line that is partly shared has its differing stretches in `[-…-]` and
//!    `{+…+}`, as in `wdiff` and `git diff --word-diff`.
//! 3. **Widths are columns of the screen**: a wide letter takes two columns, and a combining mark
//!    takes none. A tab goes to the next multiple of eight. Lines are wrapped, never cut.

use std::fmt::Write as _;
use std::io::{self, Write};

use anstyle::{Ansi256Color, Style};
use resemble_query::why::{Folded, Line, Placing, Row, RowSide, Run, View};
use resemble_report::human::human_count;
use resemble_report::lines::Tint;
use unicode_width::UnicodeWidthChar as _;

/// Blue, orange, green, pink, olive, purple, from the colour cube of 6 × 6 × 6.
const PALETTE: [u8; 6] = [33, 166, 29, 162, 100, 134];

/// The minimum width of the text of one side, in columns, even on a narrow terminal.
const LEAST_TEXT: usize = 10;

const TAB: usize = 8;

/// The maximum number of moved runs that are named above the columns.
const NAMED: usize = 8;

/// Returns how many bytes a row of the hex dump has on each side of a screen of `width` columns.
pub fn hex_bytes(width: usize) -> usize {
    // Each of the two sides has an offset, the number of a run, and 3.25 characters per byte.
    if width >= 140 {
        16
    } else if width >= 78 {
        8
    } else {
        4
    }
}

/// Prints both files in two columns, for a screen of `width` columns. Colours are used if `color`
/// is true. The only errors are those of `out`.
pub fn print(out: &mut dyn Write, view: &View, width: usize, color: bool) -> io::Result<()> {
    let paper = Paper::of(view, color);
    let text = paper.text_width(width);
    out.write_all(paper.moved(view).as_bytes())?;
    for row in &view.rows {
        out.write_all(paper.row(row, text).as_bytes())?;
    }
    match &view.rest {
        Some(rest) => writeln!(out, "{}", paper.faint(&rest.to_string())),
        None => Ok(()),
    }
}

/// Prints the lines that both files have, each with its number in both files. `color` and the
/// errors are those of [`print()`].
pub fn print_matches(out: &mut dyn Write, view: &View, color: bool) -> io::Result<()> {
    let paper = Paper::of(view, color);
    for row in &view.rows {
        let Some(left) = &row.left else { continue };
        let other = match &row.right {
            Some(RowSide::Line(line)) => paper.numbered(line.number),
            _ => String::new(),
        };
        let (number, run, text) = match left {
            RowSide::Line(line) => (
                paper.numbered(line.number),
                run_of(line),
                paper.painted(&pieces(line)),
            ),
            RowSide::Fold(fold) => (String::new(), None, paper.faint(&fold.to_string())),
        };
        let (gutter, run) = (paper.number, paper.run_mark(run));
        let numbers = paper.faint(&format!("{number:>gutter$} {other:>gutter$}"));
        writeln!(out, "{numbers} {run}│{text}")?;
    }
    let more = match &view.rest {
        Some(rest) if view.text => format!("… {} more shared lines", human_count(rest.lines_a)),
        Some(rest) => format!("… {} more shared bytes", human_count(rest.bytes_a)),
        None => return Ok(()),
    };
    writeln!(out, "{}", paper.faint(&more))
}

/// Brackets that enclose words that only one file has, in a line that is printed without colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Marks {
    None,
    Left,
    Right,
}

/// Colours and widths, which are the same for all rows.
#[derive(Clone, Debug)]
pub(crate) struct Paper {
    color: bool,
    /// True if rows show bytes. The numbers of the rows are then offsets.
    hex: bool,
    /// Width of a line number, in columns.
    number: usize,
    /// Width of the number of a run, in columns.
    run: usize,
}

/// Part of a line on the screen: the text of one run, or text that is in no run.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) text: String,
    /// The number of the run.
    pub(crate) run: Option<u32>,
}

/// One line on the screen. A row may need several.
#[derive(Clone, Debug)]
pub(crate) enum RowLine {
    /// A note across both sides, about rows that are left out.
    Across(String),
    /// Both sides, with a sign between them.
    Sides(Option<SideLine>, char, Option<SideLine>),
}

/// One side of a screen line.
#[derive(Clone, Debug)]
pub(crate) struct SideLine {
    /// Padded line number, or offset of the bytes.
    pub(crate) number: String,
    /// The run whose number is printed next to the line.
    pub(crate) run: Option<u32>,
    /// The text.
    pub(crate) pieces: Vec<Piece>,
    /// True if the row represents an omitted stretch.
    pub(crate) is_fold: bool,
    /// Number of blanks that fill the side to its full width.
    pub(crate) padding: usize,
}

impl Paper {
    /// Returns the settings for a view.
    pub(crate) fn of(view: &View, color: bool) -> Self {
        let hex = !view.text;
        let lines = view.rows.iter().flat_map(|row| [&row.left, &row.right]);
        let (mut most, mut runs) = (0, 0);
        for side in lines.flatten() {
            if let RowSide::Line(line) = side {
                most = most.max(line.number);
                runs = runs.max(run_of(line).unwrap_or(0));
            }
        }
        let digits = |number: u64| number.max(1).ilog10() as usize + 1;
        Self {
            color,
            hex,
            number: if hex {
                format!("{most:x}").len().max(4)
            } else {
                digits(most)
            },
            run: digits(u64::from(runs)),
        }
    }

    fn numbered(&self, number: u64) -> String {
        if self.hex {
            let digits = self.number;
            format!("{number:0digits$x}")
        } else {
            number.to_string()
        }
    }

    fn styled(&self, text: &str, style: Style) -> String {
        if self.color && style != Style::new() && !text.is_empty() {
            format!("{style}{text}{style:#}")
        } else {
            text.to_owned()
        }
    }

    fn faint(&self, text: &str) -> String {
        self.styled(text, Tint::Faint.style())
    }

    fn style(run: Option<u32>) -> Style {
        let color = run.map(|run| Ansi256Color(color_of(run)).into());
        Style::new().fg_color(color)
    }

    /// Returns the number of a run in its colour.
    fn run_mark(&self, run: Option<u32>) -> String {
        let number = self.run_number(run);
        match run {
            Some(_) => self.styled(&number, Self::style(run).bold()),
            None => number,
        }
    }

    /// Returns lines that say where the first [`NAMED`] moved runs are in both files.
    fn moved(&self, view: &View) -> String {
        let moved: Vec<&Run> = view
            .runs
            .iter()
            .filter(|run| run.range.placing == Placing::Moved)
            .collect();
        let mut text = String::new();
        for run in moved.iter().take(NAMED) {
            let place = |lines: Option<(u64, u64)>, bytes: &std::ops::Range<u64>| match lines {
                Some((first, last)) if first == last => format!("line {first}"),
                Some((first, last)) => format!("lines {first}-{last}"),
                None => format!("{:x}-{:x}", bytes.start, bytes.end),
            };
            let range = &run.range;
            // Writing to a string does not fail.
            writeln!(
                text,
                "{} moved: a {}, b {}",
                self.run_mark(Some(run.id)),
                place(range.lines_a, &range.a),
                place(range.lines_b, &range.b),
            )
            .unwrap_or_default();
        }
        if moved.len() > NAMED {
            writeln!(text, "… and {} more moved", moved.len() - NAMED).unwrap_or_default();
        }
        if !text.is_empty() {
            text.push('\n');
        }
        text
    }

    /// Returns the number of columns for the text of each side, on a screen of `width` columns.
    pub(crate) fn text_width(&self, width: usize) -> usize {
        // A side consists of a line number, a blank, the number of a run, a bar, and the text.
        // Three columns lie between the sides.
        (width.saturating_sub(3) / 2)
            .saturating_sub(self.gutter())
            .max(LEAST_TEXT)
    }

    /// Returns the number of columns in front of the text of a side.
    pub(crate) const fn gutter(&self) -> usize {
        self.number + self.run + 2
    }

    /// Returns the number of a run, padded to its width; blanks if there is no run.
    pub(crate) fn run_number(&self, run: Option<u32>) -> String {
        let width = self.run;
        run.map_or_else(|| " ".repeat(width), |run| format!("{run:>width$}"))
    }

    /// Returns the screen lines of a row whose sides have `width` columns of text.
    pub(crate) fn lines(&self, row: &Row, width: usize) -> Vec<RowLine> {
        let sign = match (&row.left, &row.right) {
            (Some(RowSide::Fold(one)), Some(RowSide::Fold(_))) if one.what == Folded::Equal => {
                return vec![RowLine::Across(one.to_string())];
            }
            (Some(_), Some(_)) if row.equal => ' ',
            (Some(_), Some(_)) => '|',
            (Some(_), None) => '<',
            (None, _) => '>',
        };
        let mut left = self.side(row.left.as_ref(), width, Marks::Left).into_iter();
        let mut right = self
            .side(row.right.as_ref(), width, Marks::Right)
            .into_iter();
        let count = left.len().max(right.len());
        let sign = |at| if at == 0 { sign } else { ' ' };
        (0..count)
            .map(|at| RowLine::Sides(left.next(), sign(at), right.next()))
            .collect()
    }

    fn row(&self, row: &Row, width: usize) -> String {
        let blank = || " ".repeat(self.gutter() + width);
        let mut text = String::new();
        for line in self.lines(row, width) {
            let line = match line {
                RowLine::Across(fold) => {
                    let gutter = " ".repeat(self.gutter());
                    format!("{gutter}{}", self.faint(&fold))
                }
                RowLine::Sides(left, sign, right) => {
                    let left = left.map_or_else(blank, |side| self.side_text(&side));
                    let right = right.map_or_else(String::new, |side| self.side_text(&side));
                    let line = format!("{left} {sign} {right}");
                    line.trim_end().to_owned()
                }
            };
            text.push_str(&line);
            text.push('\n');
        }
        text
    }

    /// Returns the screen lines of one side. The lines of the left side are padded to its full
    /// width.
    fn side(&self, side: Option<&RowSide>, width: usize, marks: Marks) -> Vec<SideLine> {
        let (number, run, lines) = match side {
            None => return Vec::new(),
            Some(RowSide::Line(line)) => {
                let marks = if self.color { Marks::None } else { marks };
                let is_partly_shared = line.spans.iter().any(|span| span.run.is_some());
                let marks = if is_partly_shared { marks } else { Marks::None };
                let wrapped = wrap(&marked(pieces(line), marks), width);
                (self.numbered(line.number), run_of(line), wrapped)
            }
            Some(RowSide::Fold(fold)) => {
                let run = match fold.what {
                    Folded::Run(run) => Some(run),
                    Folded::Equal | Folded::Only => None,
                };
                let piece = Piece {
                    text: fold.to_string(),
                    run: None,
                };
                (String::new(), run, wrap(&[piece], width))
            }
        };
        let is_fold = matches!(side, Some(RowSide::Fold(_)));
        let gutter = self.number;
        let line = |(at, (pieces, used)): (usize, (Vec<Piece>, usize))| SideLine {
            number: format!("{:>gutter$}", if at == 0 { &*number } else { "" }),
            run: run.filter(|_| at == 0),
            pieces,
            is_fold,
            padding: match marks {
                Marks::Left => width.saturating_sub(used),
                Marks::None | Marks::Right => 0,
            },
        };
        lines.into_iter().enumerate().map(line).collect()
    }

    fn side_text(&self, side: &SideLine) -> String {
        let number = self.faint(&side.number);
        let mark = self.run_mark(side.run);
        let text = if side.is_fold {
            let texts = side.pieces.iter().map(|piece| &*piece.text);
            self.faint(&texts.collect::<String>())
        } else {
            self.painted(&side.pieces)
        };
        format!("{number} {mark}│{text}{}", " ".repeat(side.padding))
    }

    fn painted(&self, pieces: &[Piece]) -> String {
        pieces
            .iter()
            .map(|piece| self.styled(&piece.text, Self::style(piece.run)))
            .collect()
    }
}

/// Returns the colour of a run as its number among the 256 colours of a terminal.
pub(crate) const fn color_of(run: u32) -> u8 {
    PALETTE[(run as usize).wrapping_sub(1) % PALETTE.len()]
}

/// Returns the run whose number is printed next to a line: the first run on it.
fn run_of(line: &Line) -> Option<u32> {
    line.spans.iter().find_map(|span| span.run)
}

/// Returns the pieces of a line: its spans, in which tabs are replaced by blanks.
fn pieces(line: &Line) -> Vec<Piece> {
    let mut column = 0;
    line.spans
        .iter()
        .map(|span| {
            let mut text = String::with_capacity(span.text.len());
            for c in span.text.chars() {
                if c == '\t' {
                    let blanks = TAB - column % TAB;
                    text.extend(std::iter::repeat_n(' ', blanks));
                    column += blanks;
                } else {
                    text.push(c);
                    column += c.width().unwrap_or(0);
                }
            }
            Piece {
                text,
                run: span.run,
            }
        })
        .collect()
}

/// Encloses in brackets the pieces that only one of the two files has.
fn marked(mut pieces: Vec<Piece>, marks: Marks) -> Vec<Piece> {
    let (open, close) = match marks {
        Marks::None => return pieces,
        Marks::Left => ("[-", "-]"),
        Marks::Right => ("{+", "+}"),
    };
    for piece in pieces.iter_mut().filter(|piece| piece.run.is_none()) {
        piece.text = format!("{open}{}{close}", piece.text);
    }
    pieces
}

/// Wraps pieces into lines of at most `width` columns. There is at least one line. Each line is
/// returned with the number of columns that it uses. A line ends at a blank if there is one in its
/// last third, so most words stay whole.
fn wrap(pieces: &[Piece], width: usize) -> Vec<(Vec<Piece>, usize)> {
    let all: Vec<(char, usize, Option<u32>)> = pieces
        .iter()
        .flat_map(|piece| {
            piece
                .text
                .chars()
                .map(|c| (c, c.width().unwrap_or(0), piece.run))
        })
        .collect();
    let mut lines = Vec::new();
    let mut rest = &all[..];
    loop {
        let (mut used, mut fits) = (0, 0);
        for (_, wide, _) in rest {
            // A letter that is wider than the line gets a line to itself.
            if used + wide > width && fits > 0 {
                break;
            }
            used += wide;
            fits += 1;
        }
        if fits < rest.len() {
            let from = fits * 2 / 3;
            let blank = rest[from..fits].iter().rposition(|(c, ..)| *c == ' ');
            fits = blank.map_or(fits, |at| from + at + 1);
        }
        let (line, after) = rest.split_at(fits);
        lines.push(joined(line));
        rest = after;
        if rest.is_empty() {
            return lines;
        }
    }
}

/// Joins neighbouring characters of the same run into pieces. Returns the pieces and the number of
/// columns that they take.
fn joined(line: &[(char, usize, Option<u32>)]) -> (Vec<Piece>, usize) {
    let mut pieces: Vec<Piece> = Vec::new();
    for (c, _, run) in line {
        match pieces.last_mut() {
            Some(last) if last.run == *run => last.text.push(*c),
            _ => pieces.push(Piece {
                text: c.to_string(),
                run: *run,
            }),
        }
    }
    (pieces, line.iter().map(|(_, wide, _)| wide).sum())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(text: &str, width: usize) -> Vec<String> {
        let piece = Piece {
            text: text.to_owned(),
            run: None,
        };
        wrap(&[piece], width)
            .into_iter()
            .map(|(pieces, used)| {
                let text: String = pieces.iter().map(|piece| &*piece.text).collect();
                assert!(used <= width.max(2), "{text:?}");
                text
            })
            .collect()
    }

    #[test]
    fn lines_are_wrapped_by_what_the_screen_shows() {
        assert_eq!(wrapped("", 10), [""]);
        assert_eq!(wrapped("0123456789", 10), ["0123456789"]);
        assert_eq!(wrapped("0123456789a", 10), ["0123456789", "a"]);
        assert_eq!(wrapped("some words here", 10), ["some words", " here"]);
        assert_eq!(
            wrapped("words that are here", 10),
            ["words that", " are here"]
        );
        // Wide letters take two columns each, and combining marks take none.
        assert_eq!(wrapped("漢字漢字", 5), ["漢字", "漢字"]);
        assert_eq!(
            wrapped("e\u{301}e\u{301}e\u{301}", 2),
            ["e\u{301}e\u{301}", "e\u{301}"]
        );
        assert_eq!(wrapped("漢", 1), ["漢"]);
    }

    #[test]
    fn tabs_go_to_the_next_eighth_column() {
        let span = |text: &str, run| resemble_query::why::Span {
            run,
            text: text.to_owned(),
        };
        let line = Line {
            number: 1,
            spans: vec![
                span("ab\tc", Some(1)),
                span("d\t", None),
                span("x", Some(2)),
            ],
        };
        let text: String = pieces(&line)
            .iter()
            .map(|piece| piece.text.clone())
            .collect();
        assert_eq!(text, "ab      cd      x");
    }
}
