//! The rows of `groups --conflicts`.

use resemble_proto::message::MeasureUnit;
use resemble_proto::number::Fraction;
use resemble_proto::path::{PathText, fields};
use serde::Serialize;
use strum::IntoStaticStr;

use super::{Row, score};
use crate::columns;
use crate::lines::{Cell, TextStyle, Tint};

/// How a conflict and the file that it is compared with relate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ConflictState {
    /// Both have the same bytes.
    Equal,
    /// The other file holds all bytes of the conflict.
    Held,
    /// The conflict holds all bytes of the other file.
    Holds,
    /// Each has something that the other has not.
    Diverged,
    /// There is nothing to compare it with.
    Alone,
}

impl ConflictState {
    /// The word of documents.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// The words between both names.
    const fn between(self) -> &'static str {
        match self {
            Self::Equal => "equal to",
            Self::Held => "lies in",
            Self::Holds => "holds",
            Self::Diverged => "diverged from",
            Self::Alone => "alone",
        }
    }
}

/// A file that a sync program named so because of a conflict.
#[derive(Clone, Debug, Serialize)]
pub struct ConflictRow {
    /// The conflict.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// What named it.
    pub program: &'static str,
    /// The file that it was.
    pub original: PathText,
    /// No file is there any more.
    pub gone: bool,
    /// The file that it is compared with: the original, or the first of its conflicts.
    pub other: Option<PathText>,
    /// How both relate.
    pub state: ConflictState,
    /// What the shares are of.
    pub unit: MeasureUnit,
    /// How much of it is in the other file.
    pub a_in_b: Fraction,
    /// How much of the other file is in it.
    pub b_in_a: Fraction,
    /// Its bytes that the other file has nowhere.
    pub differing_bytes_a: u64,
    /// The bytes of the other file that it has nowhere.
    pub differing_bytes_b: u64,
    /// The files are too large to be compared whole.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub estimate: bool,
}

columns! { ConflictRow: row =>
    "state" text(row.state.word());
    "a_in_b" share_of(row.a_in_b, row.state == ConflictState::Equal);
    "b_in_a" share_of(row.b_in_a, row.state == ConflictState::Equal);
    "path" name(&row.path);
    "other" name(&row.other);
    "program" text(row.program);
    "original" name(&row.original);
    "gone" yes(row.gone);
    "differing_bytes_a" count(row.differing_bytes_a);
    "differing_bytes_b" count(row.differing_bytes_b);
    "estimate" yes(row.estimate);
}

impl Row for ConflictRow {
    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let is_equal = self.state == ConflictState::Equal;
        let tint = Tint::of_pair(is_equal);
        let share = |share| score(share, is_equal, self.estimate, tint);
        let mut cells = vec![
            share(self.a_in_b),
            share(self.b_in_a),
            style.name(&self.path, Tint::Plain),
            Cell::left(self.state.between(), tint),
        ];
        match &self.other {
            Some(other) => cells.push(style.name(other, Tint::Plain)),
            None => cells.push(Cell::left("", Tint::Plain)),
        }
        let gone = if self.gone {
            "; the original is gone"
        } else {
            ""
        };
        cells.push(Cell::prose(format!("{}{gone}", self.program), Tint::Faint));
        cells
    }
}
