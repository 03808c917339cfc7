//! Glyphs at places become words and lines.
//!
//! Writers of PDF place glyphs as they please: a blank may be a glyph, a gap between two strings,
//! or extra space after one glyph of a string (Ghostscript does that). So only the places count. A
//! gap in a line is a blank from a seventh of the size of the letters on between strings, where
//! kerning is the other cause of gaps, and from a fifth on within a string, where it may be
//! letterspacing. (Blanks in print are a quarter wide, and a sixth in narrow lines.) A glyph off
//! the line by half its size begins another one; less is a superscript.
//!
//! Everything is measured along the line that the glyph stands on, so turned pages and tables need
//! no care. The order of lines is the one in which they were written.

use std::collections::HashMap;
use std::rc::Rc;

use hayro_font::kurbo::{Point, Vec2};
use resemble_core::words::letters_of_shape;

use super::direction::{OnLine, is_right_to_left, to_reading_order};

/// Gaps that are blanks, in sizes of the letters: between strings and within one.
const BLANK: [f64; 2] = [0.15, 0.2];

/// A glyph so far off the line, in sizes of the letters, begins another one.
const OFF_THE_LINE: f64 = 0.5;

/// A glyph so far back on the line, in sizes of the letters, begins another one. Less is what
/// rounded widths add up to in a long string.
const BACK: f64 = 8.0;

/// The same letters so close, in sizes of the letters, are printed twice to look bold.
const OVERPRINT: f64 = 0.12;

/// No line has more glyphs.
const LONGEST_LINE: usize = 10_000;

/// A glyph on the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) at: Point,
    /// The direction of the line: a vector of length one.
    pub(super) along: Vec2,
    pub(super) advance: f64,
    pub(super) size: f64,
    pub(super) within_string: bool,
}

/// Collects glyphs.
#[derive(Debug, Default)]
pub(super) struct Lines {
    text: String,
    line: Vec<OnLine>,
    /// Where the line began.
    start: Point,
    /// Where the last glyph ended, and the direction of its line.
    end: Option<(Point, Vec2)>,
    /// What was drawn where, in steps of twice [`OVERPRINT`].
    drawn: HashMap<(Option<char>, i64, i64), Point>,
}

impl Lines {
    /// Letters; none if what the glyph stands for was said before.
    pub(super) fn put(&mut self, letters: &Rc<str>, placed: Placed) {
        if self.is_drawn(letters, placed) {
            return;
        }
        let size = placed.size;
        let mut blank_before = false;
        if let Some((end, along)) = self.end {
            let by = placed.at - end;
            let (forward, off) = (by.dot(placed.along), by.cross(placed.along));
            if placed.along.dot(along) < 0.9
                || off.abs() > OFF_THE_LINE * size
                || forward < -BACK * size
                || self.line.len() >= LONGEST_LINE
            {
                self.end_line();
            } else {
                blank_before = forward > BLANK[usize::from(placed.within_string)] * size;
            }
        }
        if self.line.is_empty() {
            self.start = placed.at;
        }
        let from = (placed.at - self.start).dot(placed.along);
        self.line.push(OnLine {
            letters: letters.clone(),
            from,
            to: from + placed.advance,
            size,
            blank_before,
        });
        // A value that is not finite is of no use, and harmless: nothing is further away than it.
        self.end = Some((placed.at + placed.advance * placed.along, placed.along));
    }

    /// What comes next is on a line of its own.
    pub(super) fn end_line(&mut self) {
        self.end = None;
        let mut line = std::mem::take(&mut self.line);
        if line.iter().any(is_right_to_left) {
            to_reading_order(&mut line);
            for at in 1..line.len() {
                let (before, after) = (&line[at - 1], &line[at]);
                let gap = (after.from - before.to).max(before.from - after.to);
                line[at].blank_before = gap > BLANK[0] * after.size;
            }
        }
        let mut blank_before = false;
        for glyph in &line {
            blank_before |= glyph.blank_before;
            if glyph.letters.is_empty() {
                continue;
            }
            if std::mem::take(&mut blank_before) && !self.text.ends_with([' ', '\n']) {
                self.text.push(' ');
            }
            for letter in glyph.letters.chars() {
                match letter {
                    // Ligatures, and the shapes that letters have in a word, become letters.
                    '\u{fb00}'..='\u{fb06}' | '\u{fb13}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' => {
                        self.text.extend(letters_of_shape(letter));
                    }
                    _ => self.text.push(letter),
                }
            }
        }
        if !self.text.is_empty() && !self.text.ends_with('\n') {
            self.text.push('\n');
        }
    }

    /// What comes next lies on another sheet.
    pub(super) fn begin_sheet(&mut self) {
        self.end_line();
        self.drawn.clear();
    }

    /// Text that has no place, after a line has ended.
    pub(super) fn add(&mut self, text: &str) {
        self.text.push_str(text);
        self.end_line();
    }

    /// Bytes so far.
    pub(super) fn len(&self) -> usize {
        self.text.len() + 4 * self.line.len()
    }

    pub(super) fn into_text(mut self) -> String {
        self.end_line();
        self.text
    }

    /// Whether the same was drawn there before.
    fn is_drawn(&mut self, letters: &str, placed: Placed) -> bool {
        let (letter, close) = (letters.chars().next(), OVERPRINT * placed.size);
        // What is within half a step is in this step or in a neighbour of it.
        let step = |x: f64, y: f64| {
            let at = (placed.at.to_vec2() / close + Vec2::new(x, y)) / 2.0;
            (letter, at.x.floor() as i64, at.y.floor() as i64)
        };
        let is_drawn = [(-1.0, -1.0), (-1.0, 1.0), (1.0, -1.0), (1.0, 1.0)]
            .into_iter()
            .filter_map(|(x, y)| self.drawn.get(&step(x, y)))
            .any(|drawn| drawn.distance(placed.at) < close);
        if !is_drawn {
            self.drawn.insert(step(0.0, 0.0), placed.at);
        }
        is_drawn
    }
}
