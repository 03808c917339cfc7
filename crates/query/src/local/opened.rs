//! Opens the index of a command: the cache, a replacement of the cache, or an index in memory.

use std::fs;
use std::path::{Path, PathBuf};

use resemble_catalogue as catalogue;
use resemble_core::Params;
use resemble_index::{Index, OpenError, Options};

use super::{LocalError, LocalOptions};

/// An index for a command.
pub(super) struct OpenedIndex {
    pub(super) index: Index,
    /// The path of the cache. It is `None` if the index is in memory.
    pub(super) cache: Option<PathBuf>,
    /// True if the cache exceeded its limit and was replaced.
    pub(super) outgrown: bool,
    /// The reason why the cache is not used or was replaced.
    pub(super) note: Option<String>,
}

impl OpenedIndex {
    /// Opens the cache. Returns an index in memory if that is requested or the cache cannot be
    /// used.
    pub(super) fn of(options: &LocalOptions) -> Result<Self, LocalError> {
        let Some(path) = &options.cache else {
            return Ok(Self {
                note: None,
                ..Self::in_memory(options, "")?
            });
        };
        match Self::in_file(path, options) {
            Ok(opened) => Ok(opened),
            Err(why) => Self::in_memory(options, &why),
        }
    }

    pub(super) fn in_memory(options: &LocalOptions, why: &str) -> Result<Self, LocalError> {
        Ok(Self {
            index: Index::in_memory(&options.params)?,
            cache: None,
            outgrown: false,
            note: Some(format!("the cache is not used: {why}")),
        })
    }

    /// Opens the cache, or returns the reason why that fails.
    fn in_file(path: &Path, options: &LocalOptions) -> Result<Self, String> {
        use std::os::unix::fs::DirBuilderExt;
        let folder = path.parent().ok_or("it has no folder")?;
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|e| format!("{}: {e}", folder.display()))?;
        let outgrown =
            fs::metadata(path).is_ok_and(|meta| meta.is_file() && meta.len() > options.cache_bytes);
        if outgrown {
            // The removal does not disturb a running command, because the command keeps its open
            // file.
            fs::remove_file(path).map_err(|e| format!("{}: {e}", path.display()))?;
        }
        let (index, note) = match usable(path, &options.params) {
            Ok(opened) => opened,
            Err(Unusable::Now(why)) => return Err(why),
            Err(Unusable::AsItIs(why)) => {
                resemble_index::set_aside(path).map_err(|_| why.clone())?;
                let opened = usable(path, &options.params);
                let (index, _) = opened.map_err(|unusable| unusable.to_string())?;
                (index, Some(begun_anew(&why)))
            }
        };
        Ok(Self {
            index,
            cache: Some(path.to_owned()),
            outgrown,
            note,
        })
    }
}

/// The message about a cache that another command has locked. This command answers without a cache.
const IN_USE: &str = "it is in use by another question; this one reads the files itself";

/// The reason why a cache cannot be used.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    /// Another command has locked the cache, or the disk is full.
    #[error("{0}")]
    Now(String),
    /// The file is not a cache, is damaged, or cannot be opened for another reason.
    #[error("{0}")]
    AsItIs(String),
}

/// Opens the index at this path. Removes the data of unnamed catalogues that killed commands have
/// left in it. Returns a note if the index had to be replaced.
fn usable(path: &Path, params: &Params) -> Result<(Index, Option<String>), Unusable> {
    let opened = Index::open(path, params, &Options::default());
    let (index, aside) = opened.map_err(|error| match error {
        OpenError::InUse { .. } => Unusable::Now(IN_USE.to_owned()),
        OpenError::DiskFull { .. } => Unusable::Now(error.to_string()),
        error => Unusable::AsItIs(error.to_string()),
    })?;
    match catalogue::unload_stray(&index, &[]) {
        Err(error) if index.damage().is_some() => Err(Unusable::AsItIs(error.to_string())),
        Err(error) => Err(Unusable::Now(error.to_string())),
        Ok(()) => Ok((index, aside.map(|aside| begun_anew(&aside.reason)))),
    }
}

pub(super) fn begun_anew(why: &str) -> String {
    format!("the cache is made anew, and every file is read again: {why}")
}
