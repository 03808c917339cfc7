//! Rows of `find` with further details of each file.

use resemble_proto::message::{FindRow, StatedDate};
use serde::Serialize;

use super::{Row, newest_mark};
use crate::human::human_size;
use crate::lines::{Cell, TextStyle, Tint};
use crate::table::{Column, Columns, Field};

/// A row of `find` with the size and the time of its file.
#[derive(Debug, Serialize)]
pub struct DatedRow<'a> {
    /// The row.
    #[serde(flatten)]
    pub row: &'a FindRow,
    /// The size of the file in bytes, and the time of its last change in seconds since 1970. `None`
    /// if this machine has no such file.
    #[serde(skip)]
    pub file: Option<(u64, i64)>,
    /// True if the file is the newest version of the file in question.
    #[serde(skip)]
    pub newest: bool,
    /// True if all versions of the file in question state a date. Then these dates decide which
    /// version is the newest.
    #[serde(skip)]
    pub by_stated: bool,
}

impl DatedRow<'_> {
    /// Returns the stated date of the file, if stated dates decide.
    fn stated(&self) -> Option<&StatedDate> {
        self.row.document_date.as_ref().filter(|_| self.by_stated)
    }
}

impl Columns for DatedRow<'_> {
    const COLUMNS: &'static [Column] = FindRow::COLUMNS;

    fn values(&self) -> Vec<Field<'_>> {
        self.row.values()
    }
}

impl Row for DatedRow<'_> {
    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let mut cells = self.row.cells(style);
        let (size, date) = match self.file {
            Some((size, time)) => {
                let time = self.stated().map_or(time, |date| date.time);
                (human_size(size), style.day(time))
            }
            None if style.terminal => (String::new(), String::new()),
            None => ("-".to_owned(), "-".to_owned()),
        };
        // Size and time follow the percentage and the relation, which are the first two cells.
        let at = cells.len().min(2);
        let file = [
            Cell::right(size, Tint::Plain),
            Cell::left(date, Tint::Faint),
        ];
        cells.splice(at..at, file);
        if self.newest {
            cells.push(Cell::left(newest_mark(self.stated()), Tint::Notable));
        }
        cells
    }

    fn heading(&self, style: TextStyle) -> Option<Cell> {
        self.row.heading(style)
    }
}
