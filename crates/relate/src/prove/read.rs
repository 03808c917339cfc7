//! Reads a file for a question, with the same precautions as indexing.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_core::hash::content::{ContentHasher, digest};
use resemble_core::{ByteLen, ContentDigest};
use resemble_proto::catalogued;
use resemble_scan::read::{ReadFailure, open_regular, read_fully_at};
use resemble_scan::walk::Anchor;
use rustix::io::Errno;

use crate::ask::AskError;

/// The maximum number of bytes of a file that is read. Both files of a pair are in memory at the
/// same time. So larger files are compared by their chunks and samples instead.
pub const LARGEST_READ: ByteLen = ByteLen(64 << 20);

/// Reads at most [`LARGEST_READ`] bytes of a regular file, with the same precautions as indexing.
///
/// If the file is truncated while it is read, returns the bytes that were read until then.
pub fn bytes_of(path: &Path) -> Result<Vec<u8>, AskError> {
    bytes_within(path, 0..LARGEST_READ.0)
}

/// Reads the bytes of a file in this range. If the file ends within the range, returns fewer bytes.
pub fn bytes_within(path: &Path, range: Range<u64>) -> Result<Vec<u8>, AskError> {
    bytes_in(&anchor_of(path)?, path, range)
}

/// Does the same as [`bytes_within`], for a file whose folder is already open.
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

/// Returns the bytes of a file if they have this digest.
pub fn bytes_if(path: &Path, content: &ContentDigest) -> Result<Option<Vec<u8>>, AskError> {
    Ok(Some(bytes_of(path)?).filter(|bytes| digest(bytes) == *content))
}

/// Returns the digest of a regular file of any size.
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

/// The open folders of a question that reads many files. A folder that is still open is not opened
/// and checked again. So it is not noticed if another folder replaces it. But the bytes of a file
/// are used only if they have the digest in the index.
#[derive(Debug, Default)]
pub struct OpenFolders(Mutex<HashMap<PathBuf, Arc<Anchor>>>);

impl OpenFolders {
    /// The maximum number of folders that are kept open.
    const MOST: usize = 64;

    /// Does the same as [`bytes_if`], but opens the folder of the file only if it is not open yet.
    pub fn bytes_if(
        &self,
        path: &Path,
        content: &ContentDigest,
    ) -> Result<Option<Vec<u8>>, AskError> {
        let bytes = bytes_in(&*self.folder_of(path)?, path, 0..LARGEST_READ.0)?;
        Ok(Some(bytes).filter(|bytes| digest(bytes) == *content))
    }

    fn folder_of(&self, path: &Path) -> Result<Arc<Anchor>, AskError> {
        let folder = path.parent().unwrap_or(Path::new("/"));
        if let Some(open) = self.0.lock().get(folder) {
            return Ok(Arc::clone(open));
        }
        let opened = Arc::new(anchor_of(path)?);
        let mut all = self.0.lock();
        if all.len() >= Self::MOST {
            all.clear();
        }
        all.insert(folder.to_owned(), Arc::clone(&opened));
        Ok(opened)
    }
}

/// Opens the folder of a file.
pub fn anchor_of(path: &Path) -> Result<Anchor, AskError> {
    if let Some(path) = catalogued::shown(path) {
        return Err(AskError::Elsewhere { path });
    }
    Anchor::open(path.parent().unwrap_or(Path::new("/"))).map_err(|errno| AskError::Unreadable {
        path: path.to_owned(),
        source: errno.into(),
    })
}

/// Converts the failure to read a file to the error of a question.
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
