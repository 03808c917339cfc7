//! Queries of the origins of contents.

use std::path::PathBuf;

use resemble_core::ContentId;

use super::Snapshot;
use super::paths::ROOT;
use crate::error::ReadError;
use crate::origins::Origin;
use crate::rows::{Entry, Gap};

/// The time and the path at which a content was first seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstSeen {
    /// The time in seconds since 1970.
    pub time: i64,
    /// The path at which the content was first seen. If its directory was renamed since, this is
    /// the present path.
    pub path: PathBuf,
}

impl Snapshot {
    /// Returns the time and the path at which a content was first seen. Returns `None` if the
    /// origin is not recorded, if the directory is gone, or if a rule now leaves the name out.
    ///
    /// A restricted snapshot returns `None` for every content, because the caller is perhaps not
    /// allowed to see the first name. If only such names were hidden, `None` would reveal that
    /// somebody else had the content first.
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
