//! Reads the `[[catalogue]]` tables of the configuration file, each of which names a folder of
//! catalogues.

use std::path::{Path, PathBuf};

use resemble_proto::pattern::{BadPattern, Patterns};

/// A folder of catalogues. Those whose names match a pattern are kept up to date.
#[derive(Clone, Debug)]
pub struct CatalogueFolder {
    folder: PathBuf,
    names: Patterns,
}

/// The reason why a path is no folder followed by a pattern for names.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoFolder {
    /// The last part is missing, a folder above it has wildcards, or the path is not UTF-8.
    #[error("only its last part may have wildcards, as in /srv/catalogues/*.cat")]
    Form,
    /// The pattern is invalid.
    #[error(transparent)]
    Pattern(#[from] BadPattern),
}

impl CatalogueFolder {
    /// Parses an absolute path whose last part is a pattern as in ignore files.
    pub fn of(path: &Path) -> Result<Self, NoFolder> {
        let has_wildcards = |part: &str| part.contains(['*', '?', '[']);
        let (Some(folder), Some(names)) = (path.parent(), path.file_name()) else {
            return Err(NoFolder::Form);
        };
        let (Some(above), Some(names)) = (folder.to_str(), names.to_str()) else {
            return Err(NoFolder::Form);
        };
        if has_wildcards(above) {
            return Err(NoFolder::Form);
        }
        Ok(Self {
            folder: folder.to_owned(),
            names: Patterns::new(&[format!("/{names}")], &[])?,
        })
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns whether a path is one of the catalogues. They are the files in the folder whose
    /// names match the pattern.
    pub(crate) fn names(&self, file: &Path) -> bool {
        let name = file.file_name().map(Path::new);
        file.parent() == Some(&self.folder) && name.is_some_and(|name| self.names.admit(name))
    }
}
