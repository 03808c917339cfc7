//! Decides without a search whether a small change of a text may be news. A change is no news if no
//! other file has the added text.
//!
//! Most changes are small: a line is added to a text, or a sentence is rewritten. Two searches for
//! similar files, one before and one after the change, would read a posting list for each sample.
//! But most samples are unchanged. Similar files are found by common chunks and samples. Suppose
//! that no other file has a new chunk or sample. Then every file that now resembles the changed
//! file had as much in common with it before. So only the new chunks and samples are looked up, and
//! neither search is needed.
//!
//! One kind of news is missed, as in [`super::new_bytes`]. The share of another file may grow from
//! 79 % to 81 % only because something else was deleted. That is found only if the changed file
//! lost more than a sixteenth of its size.

use std::collections::HashSet;
use std::path::Path;

use resemble_core::hash::content::digest;
use resemble_core::{ByteLen, ChunkList, ContentId, ContentKind, words};
use resemble_index::{ContentRow, PostingKind, ReadError, Snapshot};
use resemble_relate::{AskError, bytes_of};

use super::partners::ChangedFile;

/// If the index does not have all samples of a text, the text is read to compute them, up to this
/// size. A larger text is compared as a whole.
const MOST_READ: ByteLen = ByteLen(64 << 10);

/// Returns whether a change may deserve an alert. It deserves none if no other file has any of the
/// added text.
pub(super) fn may_be_news(changed: &ChangedFile<'_>) -> Result<bool, AskError> {
    let &ChangedFile {
        before,
        after,
        path,
        was: ref old,
        now: ref new,
        ..
    } = changed;
    let has_shrunk = new.size.0 < old.size.0 - old.size.0 / 16;
    let is_shared = (new.files, new.uses) != (1, 0);
    if !is_plain(old) || !is_plain(new) || has_shrunk || is_shared {
        return Ok(true);
    }
    let (chunks_before, chunks) = (before.chunks(old.id)?, after.chunks(new.id)?);
    let stays = chunks_before.common_bytes(&chunks);
    let Some(samples) = samples_of(after, new, path, stays)? else {
        return Ok(true);
    };
    let known = before.signature(old.id)?.fingerprints.into_iter();
    let known: HashSet<u64> = known.map(|sample| sample.0).collect();
    let chunks_before: HashSet<u64> = chunk_keys(&chunks_before).collect();
    let chunks: Vec<u64> = chunk_keys(&chunks).collect();
    for (kind, keys, known) in [
        (PostingKind::Chunk, chunks, chunks_before),
        (PostingKind::Fingerprint, samples, known),
    ] {
        let mut keys: Vec<u64> = keys
            .into_iter()
            .filter(|key| !known.contains(key))
            .collect();
        keys.sort_unstable();
        keys.dedup();
        if others_have((before, old.id), (after, new.id), kind, &keys)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns whether a content is a text without parts, which is compared only by its own words.
fn is_plain(row: &ContentRow) -> bool {
    row.kind == ContentKind::Text && row.parts == 0 && !row.skipped
}

fn chunk_keys(chunks: &ChunkList) -> impl Iterator<Item = u64> + '_ {
    let evidence = chunks.0.iter().filter(|run| run.is_evidence());
    evidence.map(|run| run.hash.posting_key())
}

/// Returns all samples of a text if the index has them. Otherwise reads the text, and returns only
/// the samples that its unchanged beginning and its unchanged end lack. `first` and `last` are the
/// lengths of that beginning and that end in bytes. Returns `None` if the text is too large to be
/// read, or if its file has another content now.
fn samples_of(
    snapshot: &Snapshot,
    row: &ContentRow,
    path: &Path,
    [first, last]: [ByteLen; 2],
) -> Result<Option<Vec<u64>>, AskError> {
    let kept = snapshot.signature(row.id)?.fingerprints;
    if kept.len() == row.fingerprints as usize {
        return Ok(Some(kept.into_iter().map(|sample| sample.0).collect()));
    }
    if row.size > MOST_READ {
        return Ok(None);
    }
    let bytes = bytes_of(path)?;
    let [first, last] = [first, last].map(|len| usize::try_from(len.0).unwrap_or(usize::MAX));
    if digest(&bytes) != row.digest || first.saturating_add(last) > bytes.len() {
        return Ok(None);
    }
    let of = |bytes: &[u8]| -> HashSet<u64> {
        let (signature, besides) = words::sample(bytes, &snapshot.params().posted);
        let signature = signature.map_or_else(Vec::new, |signature| signature.fingerprints);
        let samples = signature.into_iter().chain(besides);
        samples.map(|sample| sample.0).collect()
    };
    let (before, behind) = (of(&bytes[..first]), of(&bytes[bytes.len() - last..]));
    let new = of(&bytes).into_iter();
    let new = new.filter(|sample| !before.contains(sample) && !behind.contains(sample));
    Ok(Some(new.collect()))
}

/// Returns whether another content has one of `keys`, the new keys of the content `now`. Two kinds
/// of keys do not count: those that are boilerplate, and those that the old content `was` has.
fn others_have(
    (before, was): (&Snapshot, ContentId),
    (after, now): (&Snapshot, ContentId),
    kind: PostingKind,
    keys: &[u64],
) -> Result<bool, ReadError> {
    let mut shared = Vec::new();
    let limit = after.boilerplate_limit();
    after.postings_up_to(kind, keys, limit, &mut |at, contents| {
        if contents.iter().any(|&content| content != now) {
            shared.push(keys[at]);
        }
    })?;
    let mut had = 0;
    before.postings(kind, &shared, &mut |_, contents| {
        had += usize::from(contents.contains(&was));
    })?;
    Ok(had < shared.len())
}

#[cfg(test)]
pub(super) mod tests {
    use std::fs;
    use std::path::PathBuf;
    use std::sync::Arc;

    use resemble_core::Params;
    use resemble_index::Index;
    use resemble_scan::ingest::{Ingest, IngestOptions, RootOptions, Target, Unobserved};

    use super::*;

    /// A watched folder and its index.
    pub(in crate::alerts) struct Tree {
        _dir: tempfile::TempDir,
        pub(in crate::alerts) root: PathBuf,
        index: Arc<Index>,
        ingest: Ingest,
    }

    impl Tree {
        pub(in crate::alerts) fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = fs::canonicalize(dir.path()).unwrap();
            let index = Arc::new(Index::in_memory(&Params::default()).unwrap());
            let options = IngestOptions {
                roots: vec![RootOptions::new(&root)],
                ..IngestOptions::default()
            };
            let ingest = Ingest::new(Arc::clone(&index), options);
            Self {
                _dir: dir,
                root,
                index,
                ingest,
            }
        }

        pub(in crate::alerts) fn scan(&mut self) -> Snapshot {
            let everything = [Target::subtree(&self.root)];
            self.ingest.reconcile(&everything, &mut Unobserved).unwrap();
            self.index.snapshot().unwrap()
        }

        /// Writes files, changes the one called `name`, and returns whether that change may deserve
        /// an alert.
        fn changed(&mut self, files: &[(&str, &str)], name: &str, text: &str) -> bool {
            for (name, text) in files {
                fs::write(self.root.join(name), text).unwrap();
            }
            let before = self.scan();
            fs::write(self.root.join(name), text).unwrap();
            let after = self.scan();
            let path = self.root.join(name);
            let changed = ChangedFile::at(&before, &after, &path).unwrap();
            changed.is_none_or(|changed| may_be_news(&changed).unwrap())
        }
    }

    /// Returns a text of this many words. Texts of other seeds have other words.
    pub(in crate::alerts) fn text(seed: u32, words: u32) -> String {
        let word = |n: u32| {
            let letters = (seed * 100_000 + n).wrapping_mul(0x9e37_79b1);
            let letter = |at: u32| char::from(b'a' + (letters >> (4 * at) & 15) as u8);
            (0..7).map(letter).collect::<String>()
        };
        let words: Vec<String> = (0..words).map(word).collect();
        words.chunks(9).map(|line| line.join(" ") + "\n").collect()
    }

    #[test]
    fn a_line_that_nobody_has_is_no_news_and_one_of_another_file_may_be() {
        for words in [300, 1500] {
            let (mine, other) = (text(1, words), text(2, words));
            // `mine` and `copy` resemble each other both before and after the change.
            let copy = mine.replace('\n', " \n") + &text(3, 40);
            let files = [("mine", &mine[..]), ("copy", &copy), ("other", &other)];
            let own_line = format!("{mine}{}", text(4, 12));
            let pasted = format!("{mine}{other}");
            assert!(!Tree::new().changed(&files, "mine", &own_line), "{words}");
            assert!(Tree::new().changed(&files, "mine", &pasted), "{words}");
            let part: String = other.split_inclusive('\n').take(12).collect();
            let at = mine.len() / 2;
            for at in [0, at + mine[at..].find('\n').unwrap() + 1, mine.len()] {
                let quoted = format!("{}{part}{}", &mine[..at], &mine[at..]);
                assert!(Tree::new().changed(&files, "mine", &quoted), "{words}");
            }
        }
    }

    #[test]
    fn what_shrinks_or_becomes_a_copy_may_be_news() {
        let (mine, other) = (text(1, 600), text(2, 600));
        let files = [("mine", &mine[..]), ("other", &other)];
        assert!(Tree::new().changed(&files, "mine", &mine[..mine.len() / 2]));
        assert!(Tree::new().changed(&files, "mine", &other));
        assert!(Tree::new().changed(&files, "new", "a word or two"));
    }
}
