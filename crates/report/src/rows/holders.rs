//! The rows of `find --holders`.

use std::fmt::Write as _;

use resemble_proto::message::HolderRow;

use super::Row;
use crate::human::human_size;
use crate::lines::{Cell, TextStyle, Tint};
use crate::table::Field;

/// How many ranges a line of text names; the others are counted.
const NAMED: usize = 4;

/// Ranges as `0-1234 5000-6000`: the first byte, and the one after the last.
fn in_words(ranges: &[[u64; 2]]) -> String {
    let mut text = String::new();
    for [from, to] in ranges {
        let blank = if text.is_empty() { "" } else { " " };
        let _ = write!(text, "{blank}{from}-{to}");
    }
    text
}

impl Row for HolderRow {
    const COLUMNS: &'static [&'static str] = &[
        "file", "path", "bytes", "ranges", "layer", "proof", "owner", "root",
    ];

    fn fields(&self) -> Vec<Field<'_>> {
        vec![
            Field::Name(self.file.as_bytes()),
            Field::Name(self.path.as_bytes()),
            Field::Count(self.bytes),
            Field::Ranges(&self.ranges),
            Field::Word(self.layer.word()),
            Field::Word(self.proof.word()),
            Field::Name(self.owner.as_deref().unwrap_or_default().as_bytes()),
            Field::Name(self.root.as_bytes()),
        ]
    }

    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let mut ranges = in_words(&self.ranges[..self.ranges.len().min(NAMED)]);
        if self.ranges.len() > NAMED {
            let _ = write!(ranges, " and {} more", self.ranges.len() - NAMED);
        }
        if !self.layer.is_bytes() {
            ranges.push_str(" of its text");
        }
        let owner = self.owner.as_deref().unwrap_or("-");
        let mut cells = vec![
            Cell::right(human_size(self.bytes), Tint::Plain),
            Cell::left(owner, Tint::Faint),
            style.name(&self.path, Tint::Plain),
            Cell::left(ranges, Tint::Faint),
        ];
        if self.proof == resemble_proto::message::Proof::Chunks {
            cells.push(Cell::left("at least, by chunks", Tint::Notable));
        }
        cells
    }

    fn heading(&self, style: TextStyle) -> Option<Cell> {
        Some(style.name(&self.file, Tint::Heading).followed_by(":"))
    }
}
