//! The rows of `versions`.

use resemble_proto::message::StatedDate;
use resemble_proto::number::Fraction;
use resemble_proto::path::{PathText, fields};
use serde::Serialize;

use super::{OLDER_THAN_HELD, Row, newest_mark, score};
use crate::columns;
use crate::human::{human_count, human_size};
use crate::lines::{Cell, TextStyle, Tint};

/// A version of the file in question.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
#[allow(clippy::struct_excessive_bools)] // facts about one file, independent of each other
pub struct DatedVersion {
    /// The path of the version.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Its last change, in seconds since 1970.
    pub mtime: i64,
    /// The date that the document states; absent if it states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_date: Option<StatedDate>,
    /// Its size in bytes.
    pub size: u64,
    /// The share of the version that is in the file in question.
    pub a_in_b: Fraction,
    /// The share of the file in question that is in the version.
    pub b_in_a: Fraction,
    /// True if the shares are estimates.
    pub estimate: bool,
    /// The number of files with the bytes of the version. Each copy of the file in question has its
    /// own row.
    pub copies: u64,
    /// True if no other version is as new.
    pub newest: bool,
    /// True if the version states an older date than another version that it contains whole. JSON
    /// omits the field if it is false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub older_than_held: bool,
    /// True if the version has the bytes of the file in question.
    pub identical: bool,
    /// True if the version is the file in question.
    pub asked: bool,
    /// True if all versions state a date. The versions are then ordered by these dates.
    #[serde(skip)]
    pub by_stated: bool,
}

impl DatedVersion {
    /// Returns the time by which versions are ordered, in seconds since 1970.
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
