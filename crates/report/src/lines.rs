//! Lines of text, made of cells and laid out for a terminal or for a pipe.
//!
//! A line is a few cells with two blanks between them. On a terminal the cells of a list stand in
//! columns, names are quoted, and colours may be used. In a pipe or a file nothing is padded and
//! names are raw bytes. Whoever opened the stream knows which of the two it is and says so with a
//! [`TextStyle`]; nothing here asks the terminal.

use std::io::{self, Write};

use anstyle::{AnsiColor, Style};
use resemble_proto::path::PathText;

use crate::quote::quoted_bytes;

/// What a cell means, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tint {
    /// Ordinary text.
    Plain,
    /// A heading.
    Heading,
    /// Good: identical, live.
    Good,
    /// Something to look at: degraded, scanning.
    Notable,
    /// Less important.
    Faint,
}

impl Tint {
    /// Its colour.
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
}

impl Cell {
    /// Text from this program, flush left. Names go through [`TextStyle::name`].
    pub fn left(text: impl Into<String>, tint: Tint) -> Self {
        Self {
            text: text.into().into_bytes(),
            tint,
            right: false,
        }
    }

    /// Text from this program, flush right.
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

    /// Appends another cell, with text from this program in between. The colour stays.
    #[must_use]
    pub fn joined(mut self, between: &str, other: &Self) -> Self {
        self.text.extend_from_slice(between.as_bytes());
        self.text.extend_from_slice(&other.text);
        self
    }

    /// What is printed, without the colour.
    pub fn bytes(&self) -> &[u8] {
        &self.text
    }

    fn width(&self) -> usize {
        String::from_utf8_lossy(&self.text).chars().count()
    }
}

/// How text is laid out, which depends on who reads it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextStyle {
    /// For a terminal: in columns, with quoted names.
    pub terminal: bool,
    /// With colours.
    pub color: bool,
    /// With the details that `-v` asks for.
    pub verbose: bool,
}

impl TextStyle {
    /// A name as a cell: quoted on a terminal, raw elsewhere.
    pub fn name(self, name: &PathText, tint: Tint) -> Cell {
        let text = if self.terminal {
            quoted_bytes(name.as_bytes()).into_bytes()
        } else {
            name.as_bytes().to_vec()
        };
        Cell {
            text,
            tint,
            right: false,
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
    /// A writer of lines to `out`.
    pub fn new(out: &'a mut dyn Write, style: TextStyle) -> Self {
        Self { out, style }
    }

    /// The style of all that it writes.
    pub const fn style(&self) -> TextStyle {
        self.style
    }

    /// A name as a cell, in this style.
    pub fn name(&self, name: &PathText, tint: Tint) -> Cell {
        self.style.name(name, tint)
    }

    /// Whether details are wanted.
    pub const fn is_verbose(&self) -> bool {
        self.style.verbose
    }

    /// Writes lines of cells with two blanks between them, on a terminal in columns. `end` is the
    /// byte after each line.
    pub fn lines(&mut self, lines: &[Vec<Cell>], end: u8) -> io::Result<()> {
        let mut widths: Vec<usize> = Vec::new();
        if self.style.terminal {
            for line in lines {
                widths.resize(widths.len().max(line.len()), 0);
                for (width, cell) in widths.iter_mut().zip(line) {
                    *width = (*width).max(cell.width());
                }
            }
        }
        for line in lines {
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
            self.out.write_all(&[end])?;
        }
        Ok(())
    }

    fn paint(&mut self, cell: &Cell) -> io::Result<()> {
        let style = cell.tint.style();
        if self.style.color && style != Style::new() {
            write!(self.out, "{style}")?;
            self.out.write_all(&cell.text)?;
            write!(self.out, "{style:#}")
        } else {
            self.out.write_all(&cell.text)
        }
    }
}
