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

use std::ops::Range;

use resemble_core::{ByteLen, Digest};
use resemble_proto::number::Fraction;
use resemble_query::find::{self, Subject};
use resemble_relate::{AskError, bytes_within};

use super::partners::{self, ChangedFile, LEAST_SIZE};

/// More new bytes are a change like any other.
const MOST: ByteLen = ByteLen(4 << 20);

/// Whether the change of a file may be news: not if bytes came to a content that resemble no other
/// file.
pub(super) fn may_be_news(changed: &ChangedFile<'_>, least: Fraction) -> Result<bool, AskError> {
    let ChangedFile {
        after, was, now, ..
    } = changed;
    if now.size < was.size {
        return Ok(true);
    }
    let Some(new) = what_came(changed)? else {
        return Ok(true);
    };
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

/// Where a file has bytes that it had not; `None` if that is next to everything. The index knows it
/// of what it stores as an edit; a content that was edited often is stored anew, and its chunks are
/// compared.
fn what_came(changed: &ChangedFile<'_>) -> Result<Option<Range<u64>>, AskError> {
    let &ChangedFile {
        before,
        after,
        ref was,
        ref now,
        ..
    } = changed;
    if let Some((heir, new)) = after.edited_from(was.id)
        && heir == now.id
    {
        return Ok(Some(new));
    }
    // Nearly every change of a small file ends here.
    if now.size <= MOST {
        return Ok(None);
    }
    let (old, new) = (before.chunks(was.id)?, after.chunks(now.id)?);
    let [first, last] = old.common_bytes(&new);
    Ok(Some(first.0..now.size.0 - last.0))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::FileExt;

    use super::super::unshared::tests::{Tree, text};
    use super::*;

    #[test]
    fn what_came_by_several_edits_is_known_and_small() {
        let mut tree = Tree::new();
        let path = tree.root.join("large");
        fs::write(&path, (0..5).map(|n| text(n, 140_000)).collect::<String>()).unwrap();
        let size = fs::metadata(&path).unwrap().len();
        assert!(size > MOST.0, "a large file");
        let before = tree.scan();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        let mut known = Vec::new();
        for n in 0..12 {
            let at = size / 2 + n * 100;
            file.write_all_at(b"sixteen new ones", at).unwrap();
            let after = tree.scan();
            let changed = ChangedFile::at(&before, &after, &path).unwrap().unwrap();
            let came = what_came(&changed).unwrap().unwrap();
            assert!(
                came.start <= size / 2 && came.end >= at + 16,
                "{n}: {came:?}"
            );
            assert!(came.end - came.start < 64 << 10, "{n}: {came:?}");
            assert!(
                !may_be_news(&changed, Fraction::from_millionths(800_000)).unwrap(),
                "{n}"
            );
            known.push(after.edited_from(changed.was.id).is_some());
        }
        assert!(known.contains(&false), "the index has forgotten at last");
    }
}
