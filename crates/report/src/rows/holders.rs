//! The rows of `find --holders`.

use std::fmt::Write as _;

use resemble_proto::message::HolderRow;

use super::{Row, columns};
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
    columns! { row;
        "file": Field::Name(row.file.as_bytes()),
        "path": Field::Name(row.path.as_bytes()),
        "bytes": Field::Count(row.bytes),
        "ranges": Field::Ranges(&row.ranges),
        "layer": Field::Word(row.layer.word()),
        "proof": Field::Word(row.proof.word()),
        "owner": Field::Name(row.owner.as_deref().unwrap_or_default().as_bytes()),
        "root": Field::Name(row.root.as_bytes()),
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
