//! Converts the body of an Open Document to text.

use super::styles::Styles;
use crate::read::cells::{general, is_default_date};
use crate::read::xml::Element;
use crate::read::{Take, Text};

/// A paragraph that has begun and not ended.
#[derive(Debug)]
struct Paragraph {
    text: String,
    /// True if the style of the paragraph, or a field in it, hides the paragraph.
    hidden: bool,
    /// True if some text of the paragraph was left out.
    hid: bool,
}

/// A row or cell that has begun and not ended.
#[derive(Debug)]
enum Holder {
    Row {
        text: String,
        repeat: u64,
        column: u64,
    },
    Cell {
        text: String,
        repeat: u64,
        value: Value,
    },
}

/// The stored value of a cell. The cell also has the text that the program showed.
#[derive(Debug, Default)]
struct Value {
    kind: String,
    stored: String,
    style: Option<String>,
}

#[derive(Debug)]
pub(super) struct Body<'w> {
    text: Text<'w>,
    styles: Styles,
    /// The text of notes and comments, which is written at the end.
    aside: String,
    notes: u64,
    paragraphs: Vec<Paragraph>,
    holders: Vec<Holder>,
    /// One entry for each open section and span. It is true if the section or span is hidden.
    stretches: Vec<bool>,
    /// For each run of columns, the number of its last column and the style of its cells.
    columns: Vec<(u64, Option<String>)>,
    /// The number of pieces of text that were left out.
    pub(super) hidden: u64,
}

const MOST_COLUMNS: u64 = 16_384;

const MOST_ROWS: u64 = 1 << 20;

/// The length of a row in bytes above which cells are no longer repeated.
const LONGEST_ROW: usize = 1 << 20;

impl<'w> Body<'w> {
    pub(super) fn new(text: Text<'w>, styles: Styles) -> Self {
        Self {
            text,
            styles,
            aside: String::new(),
            notes: 0,
            paragraphs: Vec::new(),
            holders: Vec::new(),
            stretches: Vec::new(),
            columns: Vec::new(),
            hidden: 0,
        }
    }

    /// Opens an element. Returns `false` if the element must be left out with everything in it.
    pub(super) fn open(&mut self, element: &Element<'_>) -> bool {
        let style = || element.prefixed("text:style-name");
        let is = |name, value| element.prefixed(name).is_some_and(|of| of == value);
        match element.full_name() {
            "text:p" | "text:h" => self.paragraphs.push(Paragraph {
                text: String::new(),
                hidden: self.styles.hides("paragraph", style().as_deref()),
                hid: false,
            }),
            "text:span" => {
                let hides = self.styles.hides("text", style().as_deref());
                self.stretches.push(hides);
            }
            "text:section" => self.stretches.push(
                is("text:display", "none")
                    || is("text:display", "condition") && is("text:is-hidden", "true"),
            ),
            "text:hidden-text" if is("text:is-hidden", "true") => {
                self.hidden += 1;
                return false;
            }
            "text:hidden-paragraph" if is("text:is-hidden", "true") => {
                if let Some(paragraph) = self.paragraphs.last_mut() {
                    paragraph.hidden = true;
                }
            }
            "text:s" | "text:tab" | "text:line-break" => self.push(" "),
            "text:note-body" | "office:annotation" => self.notes += 1,
            "table:table" => self.columns.clear(),
            "table:table-column" => {
                let last = self.columns.last().map_or(0, |(last, _)| *last);
                let count = repeat(element, "table:number-columns-repeated", MOST_COLUMNS);
                let style = element.prefixed("table:default-cell-style-name");
                self.columns.push((last + count, style));
            }
            "table:table-row" => self.holders.push(Holder::Row {
                text: String::new(),
                repeat: repeat(element, "table:number-rows-repeated", MOST_ROWS),
                column: 0,
            }),
            "table:table-cell" | "table:covered-table-cell" => self.open_cell(element),
            // These elements are not text of the document. They are the number of a note, the
            // deleted text of a change, the title and description of a picture, and the author and
            // date of a comment.
            "text:note-citation"
            | "text:tracked-changes"
            | "svg:title"
            | "svg:desc"
            | "dc:creator"
            | "dc:date"
            | "meta:creator-initials" => return false,
            _ => {}
        }
        true
    }

    fn open_cell(&mut self, element: &Element<'_>) {
        let repeat = repeat(element, "table:number-columns-repeated", MOST_COLUMNS);
        let mut style = element.prefixed("table:style-name");
        if let Some(Holder::Row { column, .. }) = self.holders.last_mut() {
            if style.is_none() {
                let at = self.columns.partition_point(|(last, _)| last <= column);
                style = self.columns.get(at).and_then(|(_, style)| style.clone());
            }
            *column += repeat;
        }
        let kind = element.prefixed("office:value-type").unwrap_or_default();
        let value = match kind.as_str() {
            "date" => element.prefixed("office:date-value"),
            _ => element.prefixed("office:value"),
        };
        self.holders.push(Holder::Cell {
            text: String::new(),
            repeat,
            value: Value {
                kind,
                stored: value.unwrap_or_default(),
                style,
            },
        });
    }

    pub(super) fn close(&mut self, name: &str) -> Take {
        match name {
            "p" | "h" => self.close_paragraph(),
            "span" | "section" => {
                self.stretches.pop();
                Ok(())
            }
            "note-body" | "annotation" => {
                self.notes = self.notes.saturating_sub(1);
                Ok(())
            }
            "table-cell" | "covered-table-cell" => {
                let is_cell = |holder: &mut Holder| matches!(holder, Holder::Cell { .. });
                match self.holders.pop_if(is_cell) {
                    Some(Holder::Cell {
                        text,
                        repeat,
                        value,
                    }) => {
                        let text = text.trim_end_matches('\n');
                        let shown = value.shown(text, &self.styles) + "\t";
                        self.emit_often(&shown, repeat)
                    }
                    _ => Ok(()),
                }
            }
            "table-row" => {
                let is_row = |holder: &mut Holder| matches!(holder, Holder::Row { .. });
                match self.holders.pop_if(is_row) {
                    Some(Holder::Row { text, repeat, .. }) => {
                        self.emit_often(&(text + "\n"), repeat)
                    }
                    _ => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn close_paragraph(&mut self) -> Take {
        let Some(mut paragraph) = self.paragraphs.pop() else {
            return Ok(());
        };
        let is_hidden = paragraph.hidden && !paragraph.text.trim().is_empty();
        self.hidden += u64::from(paragraph.hid || is_hidden);
        if paragraph.hidden {
            return Ok(());
        }
        paragraph.text.push('\n');
        self.emit(&paragraph.text)
    }

    /// Appends text to the current paragraph. Text outside of paragraphs is ignored.
    pub(super) fn push(&mut self, piece: &str) {
        let is_hidden = self.stretches.contains(&true);
        if let Some(paragraph) = self.paragraphs.last_mut() {
            if is_hidden {
                paragraph.hid |= !piece.trim().is_empty();
            } else {
                paragraph.text.push_str(piece);
            }
        }
    }

    fn emit(&mut self, piece: &str) -> Take {
        match self.holders.last_mut() {
            _ if self.notes > 0 => self.aside.push_str(piece),
            Some(Holder::Row { text, .. } | Holder::Cell { text, .. }) => text.push_str(piece),
            None => return self.text.push(piece),
        }
        Ok(())
    }

    /// Writes a row or cell as often as it is repeated. Writes an empty row or cell once.
    fn emit_often(&mut self, piece: &str, repeat: u64) -> Take {
        let repeat = if piece.trim().is_empty() { 1 } else { repeat };
        for at in 0..repeat {
            if let Some(Holder::Row { text, .. } | Holder::Cell { text, .. }) = self.holders.last()
                && at > 0
                && text.len() > LONGEST_ROW
            {
                break;
            }
            self.emit(piece)?;
        }
        Ok(())
    }

    pub(super) fn end(mut self) -> Take {
        // A damaged document may leave paragraphs open.
        for paragraph in std::mem::take(&mut self.paragraphs) {
            if !paragraph.hidden {
                self.emit(&paragraph.text)?;
            }
        }
        while let Some(holder) = self.holders.pop() {
            let (Holder::Row { text, .. } | Holder::Cell { text, .. }) = holder;
            self.emit(&text)?;
        }
        self.text.push(&self.aside)?;
        self.text.end()
    }
}

fn repeat(element: &Element<'_>, name: &str, most: u64) -> u64 {
    let count = element.prefixed(name).and_then(|count| count.parse().ok());
    count.unwrap_or(1).clamp(1, most)
}

impl Value {
    /// Returns the text of a cell as all programs show it: see [`crate::read::cells`].
    fn shown(&self, text: &str, styles: &Styles) -> String {
        match self.kind.as_str() {
            "float" => {
                let text = text.replace('\u{2212}', "-");
                let is_number = text.trim().replace(',', ".").parse::<f64>().is_ok();
                match self.stored.parse() {
                    Ok(value) if is_number && styles.is_plain(self.style.as_deref()) => {
                        general(value)
                    }
                    _ => text,
                }
            }
            "percentage" | "currency" => text.replace('\u{2212}', "-"),
            "date" => {
                let date = self.stored.split('T').next().unwrap_or_default();
                let (first, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
                if !is_default_date(first, date) {
                    return text.to_owned();
                }
                let blank = if rest.is_empty() { "" } else { " " };
                format!("{date}{blank}{rest}")
            }
            _ => text.to_owned(),
        }
    }
}
