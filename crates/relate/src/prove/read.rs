//! Reading a file for a question, as carefully as an indexed one.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use resemble_core::hash::content::{ContentHasher, digest};
use resemble_core::{ByteLen, ContentDigest};
use resemble_proto::catalogued;
use resemble_scan::read::{ReadFailure, open_regular, read_fully_at};
use resemble_scan::walk::Anchor;
use rustix::io::Errno;

use crate::ask::AskError;

/// Files larger than this are compared by their chunks where their bytes would be read otherwise:
/// both files of a pair are in memory at once.
pub const LARGEST_READ: ByteLen = ByteLen(64 << 20);

/// The bytes of a regular file of at most [`LARGEST_READ`], read as carefully as an indexed one.
///
/// The file may end while it is read; what was there is returned.
pub fn bytes_of(path: &Path) -> Result<Vec<u8>, AskError> {
    bytes_within(path, 0..LARGEST_READ.0)
}

/// The same of the bytes of a file at these positions, as far as there are any.
pub fn bytes_within(path: &Path, range: Range<u64>) -> Result<Vec<u8>, AskError> {
    bytes_in(&anchor_of(path)?, path, range)
}

/// The same of a file whose folder is open.
fn bytes_in(folder: &Anchor, path: &Path, range: Range<u64>) -> Result<Vec<u8>, AskError> {
    let (fd, stat) = open_regular(folder, path).map_err(|failure| unreadable(path, failure))?;
    let size = stat.size.min(range.end).saturating_sub(range.start);
    let mut bytes = vec![0; size.min(LARGEST_READ.0) as usize];
    let filled =
        read_fully_at(&fd, &mut bytes, range.start).map_err(|errno| AskError::Unreadable {
            path: path.to_owned(),
            source: errno.into(),
        })?;
    bytes.truncate(filled);
    Ok(bytes)
}

/// The bytes of a file, if they still are this content.
pub fn bytes_if(path: &Path, content: &ContentDigest) -> Result<Option<Vec<u8>>, AskError> {
    Ok(Some(bytes_of(path)?).filter(|bytes| digest(bytes) == *content))
}

/// The digest of the bytes of a regular file, however large.
pub fn digest_of(path: &Path) -> Result<ContentDigest, AskError> {
    const PIECE: usize = 1 << 20;
    let failed = |failure| unreadable(path, failure);
    let (file, _) = open_regular(&anchor_of(path)?, path).map_err(failed)?;
    let (mut hasher, mut piece, mut at) = (ContentHasher::new(), vec![0; PIECE], 0);
    loop {
        let read = read_fully_at(&file, &mut piece, at).map_err(|errno| failed(errno.into()))?;
        hasher.update(&piece[..read]);
        at += read as u64;
        if read < PIECE {
            return Ok(hasher.finish());
        }
    }
}

/// Folders that one question reads many files of. They stay open, so that each is opened and looked
/// at once. What was put in the place of one since then is not seen, but what is read counts only
/// if it still is what the index has.
#[derive(Debug, Default)]
pub struct OpenFolders(HashMap<PathBuf, Anchor>);

impl OpenFolders {
    /// So many stay open at most.
    const MOST: usize = 64;

    /// [`bytes_if`] of a file in one of them.
    pub fn bytes_if(
        &mut self,
        path: &Path,
        content: &ContentDigest,
    ) -> Result<Option<Vec<u8>>, AskError> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        if !self.0.contains_key(folder) {
            if self.0.len() >= Self::MOST {
                self.0.clear();
            }
            self.0.insert(folder.to_owned(), anchor_of(path)?);
        }
        let bytes = bytes_in(&self.0[folder], path, 0..LARGEST_READ.0)?;
        Ok(Some(bytes).filter(|bytes| digest(bytes) == *content))
    }
}

/// The folder of a file, opened.
pub fn anchor_of(path: &Path) -> Result<Anchor, AskError> {
    if let Some(path) = catalogued::shown(path) {
        return Err(AskError::Elsewhere { path });
    }
    Anchor::open(path.parent().unwrap_or(Path::new("/"))).map_err(|errno| AskError::Unreadable {
        path: path.to_owned(),
        source: errno.into(),
    })
}

/// The failure to read a file as the answer to a question.
pub fn unreadable(path: &Path, failure: ReadFailure) -> AskError {
    let source = match failure {
        ReadFailure::Gone => Errno::NOENT.into(),
        ReadFailure::Errno(errno) => io::Error::from_raw_os_error(errno),
        ReadFailure::Stopped => return AskError::Cancelled,
        ReadFailure::NotRegular | ReadFailure::Paused => io::Error::other(failure.to_string()),
    };
    AskError::Unreadable {
        path: path.to_owned(),
        source,
    }
}
