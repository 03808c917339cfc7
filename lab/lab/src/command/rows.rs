//! The rows of published methods.
//!
//! TSV has the columns of the default measure, so one script reads both. A figure that a method
//! cannot give is an empty field.

use crate::figure::Figure;
use crate::question::{MethodFindRow, MethodPairRow};
use resemble_core::Relation;
use resemble_proto::message::PairRow;
use resemble_proto::number::Fraction;
use resemble_report::lines::{Cell, TextStyle, Tint};
use resemble_report::rows::{Row, tint, word};
use resemble_report::table::Field;
use serde::Serialize;

/// A row of find.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct FoundFile(pub(super) MethodFindRow);

/// A row of pairs.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct FoundPair(pub(super) MethodPairRow);

/// `160%`, or `?` for what is too small to judge.
fn percent(figure: Figure, tint: Tint) -> Cell {
    let percent = figure.percent();
    Cell::right(
        percent.map_or("?".to_owned(), |percent| format!("{percent}%")),
        tint,
    )
}

fn count(count: Option<u64>) -> Field<'static> {
    count.map_or(Field::Nothing, Field::Count)
}

impl FoundFile {
    fn relation(&self) -> Option<Relation> {
        self.0.identical.then_some(Relation::Identical)
    }
}

impl Row for FoundFile {
    const COLUMNS: &'static [&'static str] = &[
        "file",
        "path",
        "relation",
        "layer",
        "a_in_b",
        "b_in_a",
        "resemblance",
        "shared_bytes",
    ];
    const LATER_COLUMNS: &'static [&'static str] = &["score", "size"];

    fn fields(&self) -> Vec<Field<'_>> {
        vec![
            Field::Name(self.0.file.as_bytes()),
            Field::Name(self.0.path.as_bytes()),
            Field::Word(self.relation().map_or("", Relation::word)),
            Field::Word(self.0.layer.word()),
            Field::Share(self.0.a_in_b),
            Field::Share(self.0.b_in_a),
            Field::Share(self.0.resemblance),
            count(self.0.shared_bytes),
            Field::Real(self.0.score.value()),
            Field::Count(self.0.size),
        ]
    }

    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let tint = tint(self.relation().or(Some(Relation::Near)));
        vec![
            percent(self.0.score, tint),
            Cell::left(word(self.relation()), tint),
            Cell::right(self.0.size.to_string(), Tint::Faint),
            style.name(&self.0.path, Tint::Plain),
        ]
    }

    fn heading(&self, style: TextStyle) -> Option<Cell> {
        Some(style.name(&self.0.file, Tint::Heading).followed_by(":"))
    }
}

impl Row for FoundPair {
    const COLUMNS: &'static [&'static str] = PairRow::COLUMNS;
    const LATER_COLUMNS: &'static [&'static str] = &["identical"];

    fn fields(&self) -> Vec<Field<'_>> {
        vec![
            Field::Name(self.0.a.as_bytes()),
            Field::Name(self.0.b.as_bytes()),
            Field::Real(self.0.score.value()),
            Field::Share(self.0.a_in_b),
            Field::Share(self.0.b_in_a),
            Field::Share(self.0.resemblance),
            count(self.0.shared_bytes),
            Field::Word(if self.0.identical { "true" } else { "false" }),
        ]
    }

    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let tint = if self.0.identical {
            Tint::Good
        } else {
            Tint::Plain
        };
        let share = |name: &str, share: Fraction| {
            let percent = share.percent(self.0.identical);
            let percent = percent.map_or("?".to_owned(), |percent| format!("{percent}%"));
            Cell::left(format!("{name} {percent}"), Tint::Faint)
        };
        let mut cells = vec![percent(self.0.score, tint)];
        if style.verbose {
            cells.push(share("a in b", self.0.a_in_b));
            cells.push(share("b in a", self.0.b_in_a));
            cells.push(share("resemblance", self.0.resemblance));
        }
        cells.push(style.name(&self.0.a, Tint::Plain));
        cells.push(style.name(&self.0.b, Tint::Plain));
        cells
    }
}
