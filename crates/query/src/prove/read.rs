//! Reading a file for a question, as carefully as an indexed one.

use std::io;
use std::path::Path;

use resemble_core::hash::content::digest;
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
    let anchor = anchor_of(path)?;
    let (fd, stat) = open_regular(&anchor, path).map_err(|failure| unreadable(path, failure))?;
    let mut bytes = vec![0; stat.size.min(LARGEST_READ.0) as usize];
    let filled = read_fully_at(&fd, &mut bytes, 0).map_err(|errno| AskError::Unreadable {
        path: path.to_owned(),
        source: errno.into(),
    })?;
    bytes.truncate(filled);
    Ok(bytes)
}

/// The bytes of a file, if they still are this content.
pub(crate) fn bytes_if(path: &Path, content: &ContentDigest) -> Result<Option<Vec<u8>>, AskError> {
    Ok(Some(bytes_of(path)?).filter(|bytes| digest(bytes) == *content))
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
        ReadFailure::NotRegular => io::Error::other(failure.to_string()),
    };
    AskError::Unreadable {
        path: path.to_owned(),
        source,
    }
}
