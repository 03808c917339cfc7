//! The rows of `lost` and `history`.

use resemble_core::Relation;
use resemble_proto::message::{FirstSeen, relation_word};
use resemble_proto::number::Fraction;
use resemble_proto::path::{PathText, fields};
use serde::Serialize;
use strum::IntoStaticStr;

use super::{Row, first_seen, score, tint, word};
use crate::columns;
use crate::human::day;
use crate::lines::{Cell, TextStyle, Tint};

/// A place where a file of a cluster is or was.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct LostRow {
    /// The time when a sweep saw the file, in seconds since 1970; `null` if the file is there now.
    pub date: Option<i64>,
    /// The path.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// The relation with the lost file. `null` if only other members of the cluster resemble this
    /// file. Also `null` if the lost file was renamed and its former content is unknown.
    #[serde(with = "relation_word")]
    pub relation: Option<Relation>,
    /// True if the figures are estimates.
    pub estimate: bool,
    /// The share of the lost file that is in this file; `null` if only other members resemble this
    /// file.
    pub a_in_b: Fraction,
    /// The share of this file that is in the lost file; `null` if `a_in_b` is `null`.
    pub b_in_a: Fraction,
    /// The resemblance with the lost file; `null` if `a_in_b` is `null`.
    pub resemblance: Fraction,
}

impl LostRow {
    /// Returns the row of a file that is there now. All its figures are `share`.
    pub fn now(path: PathText, relation: Option<Relation>, share: Fraction) -> Self {
        Self {
            date: None,
            path,
            relation,
            estimate: false,
            a_in_b: share,
            b_in_a: share,
            resemblance: share,
        }
    }

    /// Returns the larger containment. Places with the same date are sorted by it.
    pub fn score(&self) -> Fraction {
        self.a_in_b.max(self.b_in_a)
    }
}

/// A broken symbolic link; it has one row for each present place of its target.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct LinkRow {
    /// The link.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// The target as written in the link.
    pub target: PathText,
    /// The time when the target was removed, in seconds since 1970; `null` if the removal was not
    /// seen.
    pub gone: Option<i64>,
    /// True if the target was renamed, and perhaps edited since. If false, the file at `place` has
    /// exactly the bytes of the target, or `place` is `null`.
    pub renamed: bool,
    /// The present place of the target; `null` if unknown.
    pub place: Option<PathText>,
}

columns! { LinkRow: row =>
    "path" name(&row.path);
    "target" name(&row.target);
    "gone" time(row.gone);
    "place" name(&row.place);
}

impl Row for LinkRow {
    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let arrow = || Cell::left("->", Tint::Faint);
        let mut cells = vec![style.name(&self.path, Tint::Plain), arrow()];
        if let Some(place) = &self.place {
            cells.push(style.name(place, Tint::Notable));
        } else {
            cells.push(style.name(&self.target, Tint::Faint));
            cells.push(Cell::left("not known", Tint::Faint));
        }
        cells
    }
}

/// The change of a file between two sweeps.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Became {
    /// No earlier sweep has the file.
    First,
    /// Same path, equal bytes.
    Same,
    /// Same path, other bytes.
    Edited,
    /// Other path, equal bytes.
    Moved,
    /// Other path, other bytes.
    MovedEdited,
    /// No file resembles the previous version.
    Gone,
}

impl Became {
    /// Returns the word for the change in text and tables.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// A version of a file.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct VersionRow {
    /// The time when a sweep saw the file, in seconds since 1970; `null` if the file is there now.
    pub date: Option<i64>,
    /// The change since the previous version.
    pub became: Became,
    /// The path of the version; `null` if the file is gone.
    #[serde(flatten, with = "fields::opt_path")]
    pub path: Option<PathText>,
    /// True if the figures are estimates.
    pub estimate: bool,
    /// The share of this version that was in the previous version.
    pub a_in_b: Fraction,
    /// The share of the previous version that is in this version.
    pub b_in_a: Fraction,
    /// The common content, as a share of all content of the two versions.
    pub resemblance: Fraction,
    /// The number of bytes that are proven to be common. It is a lower bound.
    pub shared_bytes: u64,
    /// The first sighting of this content; absent if no daemon knows it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub first_seen: Option<FirstSeen>,
}

fn date_cell(date: Option<i64>) -> Cell {
    Cell::left(date.map_or_else(|| "now".to_owned(), day), Tint::Faint)
}

columns! { LostRow: row =>
    "date" time(row.date);
    "path" name(&row.path);
    "relation" text(row.relation.map(Relation::word));
    "resemblance" share_of(row.resemblance, row.relation == Some(Relation::Identical));
    "a_in_b" @later share_of(row.a_in_b, row.relation == Some(Relation::Identical));
    "b_in_a" @later share_of(row.b_in_a, row.relation == Some(Relation::Identical));
    "estimate" @later yes(row.estimate);
}

impl Row for LostRow {
    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let tint = tint(self.relation);
        let identical = self.relation == Some(Relation::Identical);
        let share = self.score();
        vec![
            date_cell(self.date),
            if share.is_none() {
                Cell::right("-", Tint::Faint)
            } else {
                score(share, identical, self.estimate, tint)
            },
            Cell::left(
                if share.is_none() {
                    "by others"
                } else {
                    word(self.relation)
                },
                tint,
            ),
            style.name(&self.path, Tint::Plain),
        ]
    }
}

columns! { VersionRow: row =>
    "date" time(row.date);
    "became" text(row.became.word());
    "path" name(&row.path);
    "a_in_b" share(row.a_in_b);
    "b_in_a" share(row.b_in_a);
    "resemblance" share(row.resemblance);
    "shared_bytes" count(row.shared_bytes);
    "estimate" @later yes(row.estimate);
}

impl Row for VersionRow {
    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let identical = matches!(self.became, Became::Same | Became::Moved);
        let share = self.a_in_b.max(self.b_in_a);
        let mut cells = vec![
            date_cell(self.date),
            if share.is_none() {
                Cell::right("", Tint::Faint)
            } else {
                score(share, identical, self.estimate, Tint::Plain)
            },
            Cell::left(self.became.word(), Tint::Notable),
        ];
        if let Some(path) = &self.path {
            cells.push(style.name(path, Tint::Plain));
            cells.extend(first_seen(style, self.first_seen.as_ref(), path));
        }
        cells
    }
}
