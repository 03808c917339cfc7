//! Assembles words and lines from placed glyphs.
//!
//! Writers of PDF place glyphs freely. A blank may be a glyph, a gap between two strings, or extra
//! space after a glyph in a string (Ghostscript). So blanks are found by position only. A gap
//! counts as a blank if it is wide enough relative to the size of the letters. Between strings, 15
//! % of the size are enough, because kerning causes only small gaps there. Within a string, the gap
//! must be wider than 20 % of the size, because letters may be spaced. In print, a blank is as wide
//! as a quarter of the size, or a sixth in narrow lines. A glyph that is off the line by more than
//! half its size begins another line. A glyph that is nearer to the line is a superscript or a
//! subscript.
//!
//! All positions are measured along the line of the glyph, so turned pages and tables need no
//! special case. Lines have the order in which they were drawn.

use std::collections::HashMap;
use std::rc::Rc;

use hayro_font::kurbo::{Point, Vec2};
use resemble_core::words::letters_of_shape;

use super::direction::{OnLine, is_right_to_left, to_reading_order};

/// The width, relative to the size of the letters, above which a gap counts as a blank. The first
/// value is for gaps between strings, the second for gaps within a string.
const BLANK: [f64; 2] = [0.15, 0.2];

/// A glyph begins another line if it is further from the baseline than this distance, relative to
/// the size of the letters.
const OFF_THE_LINE: f64 = 0.5;

/// A glyph begins another line if it is further back than this distance, relative to the size of
/// the letters. A shorter distance may be due to rounded widths in a long string.
const BACK: f64 = 8.0;

/// Two equal letters that are closer than this distance, relative to their size, are one bold
/// letter that was drawn twice.
const OVERPRINT: f64 = 0.12;

/// The maximum number of glyphs in a line. A longer line is divided.
const LONGEST_LINE: usize = 10_000;

/// The position of a glyph on the page.
#[derive(Clone, Copy, Debug)]
pub(super) struct Placed {
    pub(super) at: Point,
    /// The direction of the line as a unit vector.
    pub(super) along: Vec2,
    pub(super) advance: f64,
    pub(super) size: f64,
    pub(super) within_string: bool,
}

/// Collects glyphs into lines.
#[derive(Debug, Default)]
pub(super) struct Lines {
    text: String,
    line: Vec<OnLine>,
    /// The start of the current line.
    start: Point,
    /// The end of the last glyph of the current line, and the direction of the line.
    end: Option<(Point, Vec2)>,
    /// The glyphs that were drawn so far, by position. The position is in steps of twice
    /// [`OVERPRINT`].
    drawn: HashMap<(Option<char>, i64, i64), Point>,
}

impl Lines {
    /// Adds a glyph that shows `letters`. `letters` is empty if the text was already added with an
    /// earlier glyph.
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
        // If a value is not finite, every comparison with it is false. Then no later glyph is off
        // the line or far from its end.
        self.end = Some((placed.at + placed.advance * placed.along, placed.along));
    }

    /// Ends the current line.
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
                    // Ligatures and contextual letter forms become the letters that they show.
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

    /// Ends the line and forgets the glyphs that were drawn, because glyphs of the next sheet may
    /// have the same positions.
    pub(super) fn begin_sheet(&mut self) {
        self.end_line();
        self.drawn.clear();
    }

    /// Adds text without a position, and ends the line.
    pub(super) fn add(&mut self, text: &str) {
        self.text.push_str(text);
        self.end_line();
    }

    /// Returns the approximate number of bytes of text so far.
    pub(super) fn len(&self) -> usize {
        self.text.len() + 4 * self.line.len()
    }

    pub(super) fn into_text(mut self) -> String {
        self.end_line();
        self.text
    }

    /// Returns whether letters with the same first letter were already drawn at this place. If not,
    /// records that these letters are drawn here.
    fn is_drawn(&mut self, letters: &str, placed: Placed) -> bool {
        let (letter, close) = (letters.chars().next(), OVERPRINT * placed.size);
        // Positions that differ by less than half a step are in the same step or in neighbouring
        // steps.
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
