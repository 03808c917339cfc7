//! The rows of published methods.
//!
//! What stands in TSV has the columns of the default measure: a script reads both. A figure that cannot be told is
//! nothing at all.

use resemble_core::Relation;
use resemble_proto::figure::Figure;
use resemble_proto::message::{MethodFindRow, MethodPairRow};

use super::{Row, word};
use crate::lines::{Cell, TextStyle, Tint};
use crate::table::Field;

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

impl Row for MethodFindRow {
    const COLUMNS: &'static [&'static str] = &[
        "file",
        "path",
        "relation",
        "layer",
        "a_in_b",
        "b_in_a",
        "resemblance",
        "shared_bytes",
        "score",
        "size",
    ];
    const IN_TSV: usize = 8;

    fn fields(&self) -> Vec<Field<'_>> {
        vec![
            Field::Name(self.file.as_bytes()),
            Field::Name(self.path.as_bytes()),
            Field::Word(self.relation.map_or("", Relation::word)),
            Field::Word(self.layer.word()),
            Field::Share(self.a_in_b),
            Field::Share(self.b_in_a),
            Field::Share(self.resemblance),
            count(self.shared_bytes),
            Field::Figure(self.score),
            Field::Count(self.size),
        ]
    }

    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let tint = super::tint(self.relation.or(Some(Relation::Near)));
        vec![
            percent(self.score, tint),
            Cell::left(word(self.relation), tint),
            Cell::right(self.size.to_string(), Tint::Faint),
            style.name(&self.path, Tint::Plain),
        ]
    }

    fn heading(&self, style: TextStyle) -> Option<Cell> {
        Some(style.name(&self.file, Tint::Heading).followed_by(":"))
    }
}

impl Row for MethodPairRow {
    const COLUMNS: &'static [&'static str] = &[
        "a",
        "b",
        "score",
        "a_in_b",
        "b_in_a",
        "resemblance",
        "shared_bytes",
        "identical",
    ];
    const IN_TSV: usize = 7;

    fn fields(&self) -> Vec<Field<'_>> {
        vec![
            Field::Name(self.a.as_bytes()),
            Field::Name(self.b.as_bytes()),
            Field::Figure(self.score),
            Field::Share(self.a_in_b),
            Field::Share(self.b_in_a),
            Field::Share(self.resemblance),
            count(self.shared_bytes),
            Field::Word(if self.identical { "true" } else { "false" }),
        ]
    }

    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let tint = if self.identical {
            Tint::Good
        } else {
            Tint::Plain
        };
        let share = |name: &str, share: resemble_proto::number::Fraction| {
            let percent = share.percent(self.identical);
            let percent = percent.map_or("?".to_owned(), |percent| format!("{percent}%"));
            Cell::left(format!("{name} {percent}"), Tint::Faint)
        };
        let mut cells = vec![percent(self.score, tint)];
        if style.verbose {
            cells.push(share("a in b", self.a_in_b));
            cells.push(share("b in a", self.b_in_a));
            cells.push(share("resemblance", self.resemblance));
        }
        cells.push(style.name(&self.a, Tint::Plain));
        cells.push(style.name(&self.b, Tint::Plain));
        cells
    }
}
