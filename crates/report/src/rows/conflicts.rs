//! The rows of `groups --conflicts`.

use resemble_proto::message::WhyTotals;
use resemble_proto::number::Fraction;
use resemble_proto::path::{PathText, fields};
use serde::Serialize;
use strum::IntoStaticStr;

use super::{Row, score};
use crate::columns;
use crate::lines::{Cell, TextStyle, Tint};

/// The relation of a conflict and the file that it is compared with.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ConflictState {
    /// Both files have the same bytes.
    Equal,
    /// The other file holds all bytes of the conflict.
    Held,
    /// The conflict holds all bytes of the other file.
    Holds,
    /// Each file has content that the other file lacks.
    Diverged,
    /// The conflict was compared with no file.
    Alone,
}

impl ConflictState {
    /// Returns the word for the state in documents.
    pub fn word(self) -> &'static str {
        self.into()
    }

    /// Returns the words that a line of text has between the names of both files.
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

/// A file that a sync program renamed because of a conflict.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct ConflictRow {
    /// The path of the conflict.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// The program that gave the file this path.
    pub program: &'static str,
    /// The original path of the file.
    pub original: PathText,
    /// True if the original file no longer exists.
    pub gone: bool,
    /// The file that the conflict was compared with: the original file, or the first conflict of
    /// that file.
    pub other: Option<PathText>,
    /// The relation of the two files.
    pub state: ConflictState,
    /// True if the state and the figures are computed from common chunks. Then the files are too
    /// large to be compared byte by byte.
    pub estimate: bool,
    /// The figures of `why` for the two files, if they were compared.
    #[serde(flatten)]
    pub figures: Option<WhyTotals>,
}

impl ConflictRow {
    fn shares(&self) -> Option<(Fraction, Fraction)> {
        self.figures.map(|figures| (figures.a_in_b, figures.b_in_a))
    }
}

columns! { ConflictRow: row =>
    "state" text(row.state.word());
    "a_in_b" share_of(row.shares().map(|(share, _)| share), row.state == ConflictState::Equal);
    "b_in_a" share_of(row.shares().map(|(_, share)| share), row.state == ConflictState::Equal);
    "path" name(&row.path);
    "other" name(&row.other);
    "program" text(row.program);
    "original" name(&row.original);
    "gone" yes(row.gone);
    "differing_bytes_a" count(row.figures.map(|figures| figures.differing_bytes_a));
    "differing_bytes_b" count(row.figures.map(|figures| figures.differing_bytes_b));
    "estimate" yes(row.estimate);
}

impl Row for ConflictRow {
    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let is_equal = self.state == ConflictState::Equal;
        let tint = Tint::of_pair(is_equal);
        let share = |share| score(share, is_equal, self.estimate, tint);
        let between = if self.estimate {
            "differs from"
        } else {
            self.state.between()
        };
        let (there, back) = self.shares().unwrap_or_default();
        let other = self.other.as_ref();
        let gone = self.gone.then_some("; the original is gone");
        let note = format!("{}{}", self.program, gone.unwrap_or_default());
        vec![
            share(there),
            share(back),
            style.name(&self.path, Tint::Plain),
            Cell::left(between, tint),
            other.map_or(Cell::left("", Tint::Plain), |it| {
                style.name(it, Tint::Plain)
            }),
            Cell::prose(note, Tint::Faint),
        ]
    }
}
