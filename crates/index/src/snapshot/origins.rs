//! When contents were first seen, and as what.

use std::path::PathBuf;

use resemble_core::ContentId;

use super::Snapshot;
use super::paths::ROOT;
use crate::error::ReadError;
use crate::origins::Origin;
use crate::rows::{Entry, Gap};

/// When and as what a content was first seen.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FirstSeen {
    /// In seconds since 1970.
    pub time: i64,
    /// The name that it had, in the directory as that is called now.
    pub path: PathBuf,
}

impl Snapshot {
    /// When and as what a content was first seen. Not known of a content whose directory is gone,
    /// or whose name is left out by now.
    ///
    /// Nothing is known in a view with the eyes of a caller. There the first name may be one that
    /// the caller must not know of, and silence about it would say as much: that somebody had what
    /// this caller holds.
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
