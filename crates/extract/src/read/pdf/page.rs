//! One page: glyphs at places become words and lines.
//!
//! Writers of PDF place glyphs as they please: a blank may be a glyph, a gap between two strings,
//! or extra space after one glyph of a string (Ghostscript does that). So only the places count. A
//! gap in a line is a blank from a tenth of the size of the letters on between strings, where
//! kerning is the other cause of gaps, and from a fifth on within a string, where it may be
//! letterspacing. (Blanks in print are a quarter wide, and a sixth in narrow lines.) A glyph off
//! the line by half its size begins another one; less is a superscript.
//!
//! Everything is measured along the line that the glyph stands on, so turned pages and tables need
//! no care.

use pdf_extract::content::{Content, Operation};
use pdf_extract::{
    Document, MediaBox, Object, ObjectId, OutputDev, OutputError, Transform, output_doc_page,
};

/// Gaps that are blanks, in sizes of the letters.
const BETWEEN_STRINGS: f64 = 0.1;
const WITHIN_A_STRING: f64 = 0.2;

/// A glyph so far off the line, in sizes of the letters, begins another one.
const OFF_THE_LINE: f64 = 0.5;

/// A glyph so far back on the line, in sizes of the letters, begins another one. Less is what
/// rounded widths come to in a long string.
const BACK: f64 = 8.0;

/// The text of a page, as far as this way of reading gets it.
pub(super) fn text(document: &Document, page: u32) -> Option<String> {
    let mut lines = Lines::default();
    output_doc_page(document, &mut lines, page).ok()?;
    Some(lines.text)
}

/// Puts the two operators that pdf-extract does not know (`'` and `"`: next line and show) in terms
/// of those that it does.
pub(super) fn simplify(document: &mut Document, page: ObjectId) {
    let Ok(content) = document.get_and_decode_page_content(page) else {
        return;
    };
    let known = |operation: &Operation| !matches!(&operation.operator[..], "'" | "\"");
    if content.operations.iter().all(known) {
        return;
    }
    let mut operations = Vec::with_capacity(content.operations.len() + 16);
    for operation in content.operations {
        if known(&operation) {
            operations.push(operation);
            continue;
        }
        let mut operands = operation.operands;
        let shown: Option<Object> = operands.pop();
        for (operator, operand) in ["Tw", "Tc"].into_iter().zip(operands) {
            operations.push(Operation::new(operator, vec![operand]));
        }
        operations.push(Operation::new("T*", Vec::new()));
        operations.push(Operation::new("Tj", shown.into_iter().collect()));
    }
    if let Ok(encoded) = (Content { operations }).encode() {
        // If that fails the page is read as it is.
        drop(document.change_page_content(page, encoded));
    }
}

/// Collects glyphs.
#[derive(Debug, Default)]
struct Lines {
    text: String,
    /// Where the last glyph ended, and the direction of its line.
    end: Option<(f64, f64, f64, f64)>,
    in_string: bool,
}

impl OutputDev for Lines {
    fn begin_page(
        &mut self,
        _: u32,
        _: &MediaBox,
        _: Option<(f64, f64, f64, f64)>,
    ) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_page(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn output_character(
        &mut self,
        at: &Transform,
        width: f64,
        _: f64,
        font_size: f64,
        glyph: &str,
    ) -> Result<(), OutputError> {
        let wide = at.m11.hypot(at.m12);
        let (along_x, along_y) = (at.m11 / wide, at.m12 / wide);
        let size = (font_size * at.m21.hypot(at.m22)).abs();
        if let Some((x, y, last_x, last_y)) = self.end {
            let (x, y) = (at.m31 - x, at.m32 - y);
            let along = x * along_x + y * along_y;
            let off = x * along_y - y * along_x;
            let turned = along_x * last_x + along_y * last_y < 0.9;
            let gap = if self.in_string {
                WITHIN_A_STRING
            } else {
                BETWEEN_STRINGS
            };
            if turned || off.abs() > OFF_THE_LINE * size || along < -BACK * size {
                self.separate('\n');
            } else if along > gap * size {
                self.separate(' ');
            }
        }
        self.text.push_str(glyph);
        let advance = width * font_size * wide;
        // A value that is not finite is of no use, and harmless: nothing is further away than it.
        self.end = Some((
            at.m31 + advance * along_x,
            at.m32 + advance * along_y,
            along_x,
            along_y,
        ));
        self.in_string = true;
        Ok(())
    }

    fn begin_word(&mut self) -> Result<(), OutputError> {
        self.in_string = false;
        Ok(())
    }

    fn end_word(&mut self) -> Result<(), OutputError> {
        Ok(())
    }

    fn end_line(&mut self) -> Result<(), OutputError> {
        Ok(())
    }
}

impl Lines {
    fn separate(&mut self, by: char) {
        let blank = |last: char| last == by || last == '\n';
        if !self.text.is_empty() && !self.text.ends_with(blank) {
            self.text.push(by);
        }
    }
}
