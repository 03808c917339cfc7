//! The origins of contents in a view.

use std::path::PathBuf;

use resemble_core::ContentId;

use super::Snapshot;
use super::paths::ROOT;
use crate::error::ReadError;
use crate::origins::Origin;
use crate::rows::{Entry, Gap};

/// When and under which path a content was first seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstSeen {
    /// The time in seconds since 1970.
    pub time: i64,
    /// The path of the first name; the new path if its directory was renamed.
    pub path: PathBuf,
}

impl Snapshot {
    /// Returns when and under which path a content was first seen. `None` if the directory of that
    /// name is gone, or a rule leaves the name out now.
    ///
    /// A restricted view returns `None` for every content. The first name may be one that the
    /// caller may not see. Hiding only such names would reveal that someone else had the content
    /// first.
    pub fn first_seen(&self, content: ContentId) -> Result<Option<FirstSeen>, ReadError> {
        self.note_outside();
        if self.is_partial() {
            return Ok(None);
        }
        self.ask(|inner| {
            let Some(row) = inner.origins.get(content.0)? else {
                return Ok(None);
            };
            let Origin { time, dir, name } = Origin::decode(row.value())?;
            let is_gone = dir != ROOT && inner.directories.get(dir.0)?.is_none();
            let entry = inner.entry_in(dir, &name)?;
            if is_gone || matches!(entry, Some(Entry::Gap(Gap::LeftOut(_)))) {
                return Ok(None);
            }
            let path = inner.path(dir, &name)?;
            Ok(Some(FirstSeen { time, path }))
        })
    }
}
