//! The relations by which answers are filtered.

use resemble_core::Relation;
use serde::{Deserialize, Serialize};

/// A relation of two files by which answers can be filtered.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum PairRelation {
    /// Equal bytes.
    Identical,
    /// The same words in the same order.
    SameText,
    /// At least 70 % of each file is in the other file.
    Near,
    /// At least 70 % of the second file is in the first file.
    Contains,
    /// At least 70 % of the first file is in the second file.
    Contained,
    /// At least 25 % of the smaller file is in the other file.
    Shares,
}

impl PairRelation {
    /// Returns whether a filter accepts a row that has this relation. An empty filter accepts every
    /// row.
    pub fn accept(filter: &[Self], relation: Option<Relation>) -> bool {
        filter.is_empty() || relation.is_some_and(|relation| filter.contains(&relation.into()))
    }

    /// Does the same as [`Self::accept`], but the two files may be swapped.
    pub fn accept_either(filter: &[Self], relation: Option<Relation>) -> bool {
        Self::accept(filter, relation) || Self::accept(filter, relation.map(Relation::swapped))
    }
}

impl From<Relation> for PairRelation {
    fn from(relation: Relation) -> Self {
        match relation {
            Relation::Identical => Self::Identical,
            Relation::SameText => Self::SameText,
            Relation::Near => Self::Near,
            Relation::Contains => Self::Contains,
            Relation::Contained => Self::Contained,
            Relation::Shares => Self::Shares,
        }
    }
}
