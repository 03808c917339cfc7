//! Of a large file that has grown, its end is looked at first.
//!
//! To look for what resembles a text of a gigabyte takes half a second, and a log grows all the
//! time. But what it came to resemble by growing shares what is new: the file that was appended to
//! it, or the one that it is becoming a copy of. So the end alone is looked for. If it resembles no
//! other file, the growth is no news, and neither the past nor the present of the whole file is
//! looked at.
//!
//! Two limits follow. What is appended in pieces of less than [`LEAST_SIZE`] is no news. And a file
//! that shared 79 % of a small one, and shares 81 % by a few more bytes, is found only if those
//! resemble the small file.

use std::path::Path;

use resemble_core::{ByteLen, Digest};
use resemble_index::Snapshot;
use resemble_query::find::{self, Subject};
use resemble_query::{AskError, bytes_within};

use super::partners::{self, LEAST_SIZE, content_at};

/// A longer end is a change like any other.
const MOST: ByteLen = ByteLen(4 << 20);

/// Whether the change of a file may be news: not if a content has grown by an end that resembles no
/// other file.
pub(super) fn may_be_news(
    before: &Snapshot,
    after: &Snapshot,
    path: &Path,
) -> Result<bool, AskError> {
    // Nearly every change ends here.
    let was = content_at(before, path)?;
    let Some((was, grown)) = was.and_then(|was| Some((was, after.grown_from(was)?))) else {
        return Ok(true);
    };
    let file = after.file_at(path)?;
    let Some(file) = file.filter(|file| file.state.content() == Some(grown)) else {
        return Ok(true);
    };
    let (Some(was), Some(now)) = (before.content(was)?, after.content(grown)?) else {
        return Ok(true);
    };
    let end = ByteLen(now.size.0.saturating_sub(was.size.0));
    if end < LEAST_SIZE {
        return Ok(false);
    }
    if end > MOST {
        return Ok(true);
    }
    let bytes = bytes_within(path, was.size.0..now.size.0)?;
    if bytes.len() as u64 != end.0 {
        return Ok(true);
    }
    let digest = Digest::of(&bytes, after.params());
    let subject = Subject::of_digest(digest).with_bytes(Some(bytes));
    let (found, _) = find::listing(after, &subject.is_file(file.id), true)?;
    Ok(found.iter().any(partners::is_alike))
}
