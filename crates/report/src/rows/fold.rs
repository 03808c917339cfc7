//! The rows of `groups --files-from`.

use resemble_proto::path::{PathText, fields};
use serde::Serialize;

use super::Row;
use crate::columns;
use crate::lines::{Cell, TextStyle, Tint};

/// A listed file that represents the files of its cluster that come later in the list.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Serialize)]
pub struct FoldRow {
    /// The first file of the cluster in the list.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// The other files of the cluster, in the order of the list.
    pub others: Vec<PathText>,
}

columns! { FoldRow: row =>
    "path" name(&row.path);
    "others" count(row.others.len() as u64);
}

impl Row for FoldRow {
    fn cells(&self, style: TextStyle) -> Vec<Cell> {
        let mut cells = vec![style.name(&self.path, Tint::Plain)];
        if !self.others.is_empty() {
            cells.push(Cell::left(format!("+{}", self.others.len()), Tint::Faint));
        }
        cells
    }
}
