//! The rows of `find --holders`.

use std::fmt::Write as _;

use resemble_proto::message::HolderRow;

use super::Row;
use crate::columns;
use crate::human::human_size;
use crate::lines::{Cell, TextStyle, Tint};
use crate::table::in_words;

/// The maximum number of ranges that a line of text names. Further ranges are only counted.
const NAMED: usize = 4;

columns! { HolderRow: row =>
    "file" name(&row.file);
    "path" name(&row.path);
    "bytes" count(row.bytes);
    "ranges" ranges(&row.ranges);
    "layer" text(row.layer.word());
    "proof" text(row.proof.word());
    "owner" text(row.owner.as_deref());
    "root" name(&row.root);
}

impl Row for HolderRow {
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
