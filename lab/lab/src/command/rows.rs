//! The output rows of published methods.
//!
//! In TSV, the rows have the same columns as those of the default measure, so one script can read
//! the rows of every measure. A figure that a method cannot give is an empty field.

use crate::figure::Figure;
use crate::question::{MethodFindRow, MethodPairRow};
use resemble_core::Relation;
use resemble_proto::number::Fraction;
use resemble_report::lines::{Cell, TextStyle, Tint};
use resemble_report::rows::{Row, tint, word};
use serde::Serialize;

/// A row of `find`.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct FoundFile(pub(super) MethodFindRow);

/// A row of `pairs`.
#[derive(Serialize)]
#[serde(transparent)]
pub(super) struct FoundPair(pub(super) MethodPairRow);

/// Formats a score as `160%`, or as `?` if the pair is too small to judge.
fn percent(figure: Figure, tint: Tint) -> Cell {
    let percent = figure.percent();
    Cell::right(
        percent.map_or("?".to_owned(), |percent| format!("{percent}%")),
        tint,
    )
}

impl FoundFile {
    fn relation(&self) -> Option<Relation> {
        self.0.identical.then_some(Relation::Identical)
    }
}

resemble_report::columns! { FoundFile: row =>
    "file" name(&row.0.file);
    "path" name(&row.0.path);
    "relation" text(row.relation().map(Relation::word));
    "layer" text(row.0.layer.word());
    "a_in_b" share(row.0.a_in_b);
    "b_in_a" share(row.0.b_in_a);
    "resemblance" share(row.0.resemblance);
    "shared_bytes" count(row.0.shared_bytes);
    "score" @later real(row.0.score.value());
    "size" @later count(row.0.size);
}

impl Row for FoundFile {
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

resemble_report::columns! { FoundPair: row =>
    "a" name(&row.0.a);
    "b" name(&row.0.b);
    "score" real(row.0.score.value());
    "a_in_b" share(row.0.a_in_b);
    "b_in_a" share(row.0.b_in_a);
    "resemblance" share(row.0.resemblance);
    "shared_bytes" count(row.0.shared_bytes);
    "identical" @later yes(row.0.identical);
}

impl Row for FoundPair {
    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let tint = Tint::of_pair(self.0.identical);
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
