//! The rows of `versions`.

use resemble_proto::message::StatedDate;
use resemble_proto::number::Fraction;
use resemble_proto::path::{PathText, fields};
use serde::Serialize;

use super::{OLDER_THAN_HELD, Row, newest_mark, score};
use crate::columns;
use crate::human::{human_count, human_size};
use crate::lines::{Cell, TextStyle, Tint};

/// A version of a file that is asked about.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
#[allow(clippy::struct_excessive_bools)] // facts about one file, independent of each other
pub struct DatedVersion {
    /// Where it is.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// When it was changed last, in seconds since 1970.
    pub mtime: i64,
    /// The date that the document states of itself; absent if it states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_date: Option<StatedDate>,
    /// Its bytes.
    pub size: u64,
    /// How much of it is in the file that is asked about.
    pub a_in_b: Fraction,
    /// How much of that file is in it.
    pub b_in_a: Fraction,
    /// The shares are estimates.
    pub estimate: bool,
    /// This many files have its bytes; those of the file that is asked about have a row each.
    pub copies: u64,
    /// No other is as young.
    pub newest: bool,
    /// It states an older date than another version that it holds whole. In JSON only if true.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub older_than_held: bool,
    /// It has the bytes of the file that is asked about.
    pub identical: bool,
    /// It is the file that is asked about.
    pub asked: bool,
    /// All versions state a date: they are ordered by these.
    #[serde(skip)]
    pub by_stated: bool,
}

impl DatedVersion {
    /// The time that orders it, in seconds since 1970.
    pub fn time(&self) -> i64 {
        let stated = self.document_date.as_ref().filter(|_| self.by_stated);
        stated.map_or(self.mtime, |date| date.time)
    }
}

columns! { DatedVersion: row =>
    "path" name(&row.path);
    "mtime" time(row.mtime);
    "size" count(row.size);
    "a_in_b" share(row.a_in_b);
    "b_in_a" share(row.b_in_a);
    "estimate" yes(row.estimate);
    "newest" yes(row.newest);
    "copies" count(row.copies);
    "document_date" @later time(row.document_date.as_ref().map(|date| date.time));
}

impl Row for DatedVersion {
    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let first = if self.asked {
            Cell::right("FILE", Tint::Heading)
        } else {
            let share = self.a_in_b.max(self.b_in_a);
            let tint = Tint::of_pair(self.identical);
            score(share, self.identical, self.estimate, tint)
        };
        let mut cells = vec![
            first,
            Cell::right(human_size(self.size), Tint::Plain),
            Cell::left(style.day(self.time()), Tint::Faint),
            style.name(&self.path, Tint::Plain),
        ];
        if self.copies > 1 {
            let copies = format!("({} copies)", human_count(self.copies));
            cells.push(Cell::prose(copies, Tint::Faint));
        }
        if self.newest {
            let by = self.document_date.as_ref().filter(|_| self.by_stated);
            cells.push(Cell::left(newest_mark(by), Tint::Faint));
        }
        if self.older_than_held {
            cells.push(Cell::prose(OLDER_THAN_HELD, Tint::Notable));
        }
        cells
    }
}
