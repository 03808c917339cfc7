//! Finds files that are perhaps equal to a file, by their contents.

use std::path::{Path, PathBuf};

use resemble_core::{ContentDigest, ContentId, FileId};
use resemble_index::{FileState, Snapshot};
use resemble_relate::AskError;

use super::entries::Listed;

/// The path of a file with a given content.
#[derive(Debug)]
pub(super) struct KnownPlace {
    pub(super) path: PathBuf,
    pub(super) file: FileId,
}

/// A file, and its content if that is known.
pub(super) type FileContent = (FileId, Option<ContentId>);

/// Nominates files that are perhaps equal to a checked file. The answers can be out of date.
pub(super) trait KnownFiles: Sync {
    /// Returns the id of a file, and its content if the file was read in its present state. All
    /// hard links of a file have the same id.
    fn of(&self, file: &Listed) -> Result<Option<FileContent>, AskError>;

    /// Returns the content at a path, if it has this size.
    fn content_at(&self, path: &Path, size: u64) -> Result<Option<ContentId>, AskError>;

    fn content_by_digest(&self, digest: &ContentDigest) -> Result<Option<ContentId>, AskError>;

    /// Returns the paths of the files with a content. Paths in the checked directory itself can be
    /// among them.
    fn places(&self, content: ContentId) -> Result<Vec<KnownPlace>, AskError>;
}

impl KnownFiles for Snapshot {
    fn of(&self, file: &Listed) -> Result<Option<FileContent>, AskError> {
        let row = self.file_at(&file.path)?;
        Ok(row.map(|row| {
            let content = match row.state {
                // An unsettled file may have changed without a change of its `stat`.
                FileState::Settled(content) => file.is_as(&row.stat).then_some(content),
                _ => None,
            };
            (row.id, content)
        }))
    }

    fn content_at(&self, path: &Path, size: u64) -> Result<Option<ContentId>, AskError> {
        let row = self.file_at(path)?.filter(|row| row.stat.size.0 == size);
        Ok(row.and_then(|row| row.state.content()))
    }

    fn content_by_digest(&self, digest: &ContentDigest) -> Result<Option<ContentId>, AskError> {
        Ok(Self::content_by_digest(self, digest)?)
    }

    fn places(&self, content: ContentId) -> Result<Vec<KnownPlace>, AskError> {
        let mut places = Vec::new();
        for file in self.files_of(content)? {
            let paths = self.paths(file)?.into_iter();
            places.extend(paths.map(|path| KnownPlace { path, file }));
        }
        Ok(places)
    }
}
