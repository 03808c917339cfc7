//! Of a large file that has changed, what is new is looked at first.
//!
//! To look for what resembles a text of a gigabyte takes half a second, and a log grows all the
//! time, as an image is written all the time. But what it came to resemble by that shares what is
//! new: the file that was appended to it, or the one that it is becoming a copy of. So the new
//! bytes alone are looked for. If they resemble no other file, the change is no news, and neither
//! the past nor the present of the whole file is looked at.
//!
//! Two limits follow. What is appended in pieces of less than [`LEAST_SIZE`] is no news. And a file
//! that shared 79 % of a small one, and shares 81 % by a few more bytes, is found only if those
//! resemble the small file. A file that became shorter is a change like any other: it may resemble
//! another one by what it has no more.

use resemble_core::{ByteLen, Digest};
use resemble_proto::number::Fraction;
use resemble_query::find::{self, Subject};
use resemble_query::{AskError, bytes_within};

use super::partners::{self, ChangedFile, LEAST_SIZE};

/// More new bytes are a change like any other.
const MOST: ByteLen = ByteLen(4 << 20);

/// Whether the change of a file may be news: not if bytes came to a content that resemble no other
/// file.
pub(super) fn may_be_news(changed: &ChangedFile<'_>, least: Fraction) -> Result<bool, AskError> {
    let ChangedFile {
        after, was, now, ..
    } = changed;
    // Nearly every change ends here.
    let Some((_, new)) = after
        .edited_from(was.id)
        .filter(|(heir, _)| *heir == now.id)
    else {
        return Ok(true);
    };
    if now.size < was.size {
        return Ok(true);
    }
    // Of a file that has grown the last chunks are new, and what came is behind them.
    let last_chunks = 2 * u64::from(after.params().chunk.max);
    let has_grown = now.size > was.size && new.start + last_chunks >= was.size.0;
    let new = new.start.max(if has_grown { was.size.0 } else { 0 })..new.end;
    let len = ByteLen(new.end - new.start);
    if len < LEAST_SIZE {
        return Ok(false);
    }
    if len > MOST {
        return Ok(true);
    }
    let bytes = bytes_within(changed.path, new)?;
    if bytes.len() as u64 != len.0 {
        return Ok(true);
    }
    let digest = Digest::of(&bytes, after.params());
    let subject = Subject::of_digest(digest).with_bytes(Some(bytes));
    let (found, _) = find::listing(after, &subject.is_file(changed.file), true)?;
    Ok(found
        .iter()
        .any(|similar| partners::is_alike(similar, least)))
}
