//! Searches for the new bytes of a changed large file. The result decides whether the whole file
//! must be compared.
//!
//! A search for a text of a gigabyte takes about a second. But logs and disk images change all the
//! time. A new resemblance must be due to the new bytes, for example because another file was
//! appended. So only the new bytes are searched for, at up to [`MOST_PIECES`] places. If they
//! resemble no other file, the change is no news, and the whole file is not compared.
//!
//! Two kinds of news are missed. First, bytes that are appended in pieces of less than
//! [`LEAST_SIZE`] never raise an alert. Second, the share of a small file that is in the large file
//! may grow from 79 % to 81 %. This is found only if the added bytes alone resemble the small file.
//! A file that became shorter is compared as a whole, because the file may resemble another file
//! after the loss.

use std::ops::Range;

use resemble_core::{ByteLen, Digest};
use resemble_proto::number::Fraction;
use resemble_query::find::{self, Subject};
use resemble_relate::{AskError, bytes_within};

use super::partners::{self, ChangedFile, LEAST_SIZE};

/// If there are more new bytes than this, the whole file is compared.
const MOST: ByteLen = ByteLen(4 << 20);

/// If the new bytes are at more places than this, the whole file is compared. A search for one
/// piece takes 0.03 s, and a search for a whole file of a gigabyte takes 1.7 s.
const MOST_PIECES: usize = 48;

/// Returns whether the change of a file may be news. If the file only got new bytes, the change is
/// no news in two cases. The bytes are fewer than [`LEAST_SIZE`], or they resemble no other file.
pub(super) fn may_be_news(changed: &ChangedFile<'_>, least: Fraction) -> Result<bool, AskError> {
    let ChangedFile {
        after, was, now, ..
    } = changed;
    if now.size < was.size {
        return Ok(true);
    }
    let Some(mut new) = what_came(changed)? else {
        return Ok(true);
    };
    // The last new chunk may begin before the old end of a file that has grown. Only the bytes
    // after that end are searched for.
    let last_chunks = 2 * u64::from(after.params().chunk.max);
    if now.size > was.size
        && let Some(last) = new.last_mut()
        && last.end == now.size.0
        && last.start + last_chunks >= was.size.0
    {
        last.start = last.start.max(was.size.0);
    }
    let len = ByteLen(new.iter().map(|new| new.end - new.start).sum());
    if len < LEAST_SIZE {
        return Ok(false);
    }
    if len > MOST || new.len() > MOST_PIECES {
        return Ok(true);
    }
    let mut pieces = Vec::new();
    for new in new {
        let bytes = bytes_within(changed.path, new.clone())?;
        if bytes.len() as u64 != new.end - new.start {
            return Ok(true);
        }
        pieces.push(bytes);
    }
    // Another file may have all pieces together, so they are also searched for as one text. A piece
    // may also complete a passage that the file had before. The search for that piece finds this
    // case, too.
    if pieces.len() > 1 {
        pieces.push(pieces.concat());
    }
    for bytes in pieces {
        let digest = Digest::of(&bytes, after.params());
        let subject = Subject::of_digest(digest).with_bytes(changed.path, bytes);
        let (found, _) = find::listing(after, &subject.is_file(changed.file), true)?;
        if found
            .iter()
            .any(|similar| partners::is_alike(similar, least))
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the ranges of new bytes in a changed file. `None` if the file is small and the index
/// does not know the ranges.
///
/// For an edit the index knows the first and the last new byte. The index drops this knowledge
/// after many edits. In that case, or if the two bytes are far apart, the old and the new chunks of
/// a large file are compared.
fn what_came(changed: &ChangedFile<'_>) -> Result<Option<Vec<Range<u64>>>, AskError> {
    let &ChangedFile {
        before,
        after,
        ref was,
        ref now,
        ..
    } = changed;
    if let Some((heir, new)) = after.edited_from(was.id)
        && heir == now.id
        && new.end - new.start <= MOST.0
    {
        return Ok(Some(vec![new]));
    }
    // For nearly every change of a small file, the function ends here.
    if now.size <= MOST {
        return Ok(None);
    }
    let (old, new) = (before.chunks(was.id)?, after.chunks(now.id)?);
    Ok(Some(new.bytes_unlike(&old)))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::FileExt;
    use std::path::PathBuf;

    use super::super::unshared::tests::{Tree, text};
    use super::*;

    fn least() -> Fraction {
        Fraction::from_millionths(800_000)
    }

    /// Writes a large file into a tree, and returns its path and size.
    fn large(tree: &Tree) -> (PathBuf, u64) {
        let path = tree.root.join("large");
        fs::write(&path, (0..5).map(|n| text(n, 140_000)).collect::<String>()).unwrap();
        let size = fs::metadata(&path).unwrap().len();
        assert!(size > MOST.0, "a large file");
        (path, size)
    }

    /// Writes each text at its place in a large file. A place is in percent of the file's size.
    /// `beside` has other files of the tree. Returns whether the change may be news.
    fn written(places: &[(u64, &str)], beside: &[(&str, &str)]) -> bool {
        let mut tree = Tree::new();
        let (path, size) = large(&tree);
        for (name, text) in beside {
            fs::write(tree.root.join(name), text).unwrap();
        }
        let before = tree.scan();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        for (percent, text) in places {
            file.write_all_at(text.as_bytes(), size * percent / 100)
                .unwrap();
        }
        let after = tree.scan();
        let changed = ChangedFile::at(&before, &after, &path).unwrap().unwrap();
        may_be_news(&changed, least()).unwrap()
    }

    #[test]
    fn edits_at_several_places_are_no_news_and_a_copy_at_one_of_them_is() {
        let (other, own) = (text(30, 4_000), text(31, 4_000));
        let beside = [("other", &other[..])];
        for places in [&[5, 95][..], &[5, 25, 45, 65, 85], &[5, 100]] {
            let mut edits: Vec<(u64, &str)> = places.iter().map(|at| (*at, &own[..])).collect();
            assert!(!written(&edits, &beside), "{places:?}");
            edits[1].1 = &other;
            assert!(written(&edits, &beside), "{places:?}");
        }
        // Each of two places gets a text that no file has, and then half of the other file's text.
        let halves = other.split_at(other.len() / 2);
        let halves = [halves.0, halves.1].map(|half| format!("{}{half}", text(32, 6_000)));
        assert!(written(&[(5, &halves[0]), (95, &halves[1])], &beside));
        // At more than `MOST_PIECES` places the whole file is compared.
        let many: Vec<(u64, &str)> = (1..100).step_by(2).map(|at| (at, &own[..3_000])).collect();
        assert!(written(&many, &beside));
        // One place gets a text that no file has. Another place gets half of the other file's text,
        // which is shorter.
        let rest = other.split_at(other.len() / 2).1;
        assert!(written(&[(5, &text(33, 9_000)), (95, rest)], &beside));
    }

    #[test]
    fn what_came_by_several_edits_is_known_and_small() {
        let mut tree = Tree::new();
        let (path, size) = large(&tree);
        let before = tree.scan();
        let file = fs::OpenOptions::new().write(true).open(&path).unwrap();
        let mut known = Vec::new();
        for n in 0..12 {
            let at = size / 2 + n * 100;
            file.write_all_at(b"sixteen new ones", at).unwrap();
            let after = tree.scan();
            let changed = ChangedFile::at(&before, &after, &path).unwrap().unwrap();
            let came = what_came(&changed).unwrap().unwrap();
            let (first, last) = (came.first().unwrap(), came.last().unwrap());
            let is_all = first.start <= size / 2 && last.end >= at + 16;
            assert!(is_all && last.end - first.start < 64 << 10, "{n}: {came:?}");
            assert!(!may_be_news(&changed, least()).unwrap(), "{n}");
            known.push(after.edited_from(changed.was.id).is_some());
        }
        assert!(known.contains(&false), "the index has forgotten at last");
    }
}
