//! Stores acknowledgements. They are pairs and groups of contents that a person has seen. They
//! raise no alert any more.
//!
//! The contents are identified by their digests and not by paths. So acknowledgements survive
//! renames, restarts and a rebuilt index. They do not apply to a changed file, because it has
//! another content. The acknowledgements are stored in `acks.json` in the state folder, with the
//! paths of the files for display.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_core::ContentDigest;
use resemble_core::ids::unhex;
use resemble_proto::message::AckRow;
use serde::{Deserialize, Serialize};

use crate::state_file;

/// One acknowledged pair or group of contents, called a mark here.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ack {
    /// The paths of the files and the time of the mark, for display.
    #[serde(flatten)]
    pub row: AckRow,
    /// The digests of the marked contents, in the order of the paths in `row`. A pair has two
    /// digests.
    digests: Vec<Digest>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Digest(ContentDigest);

impl Serialize for Digest {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let text = String::deserialize(from)?;
        let bytes = unhex(&text).ok_or_else(|| serde::de::Error::custom("no digest"))?;
        Ok(Self(ContentDigest(bytes)))
    }
}

impl Ack {
    /// Creates a mark of contents that a person has seen together.
    pub fn new(row: AckRow, digests: &[ContentDigest]) -> Self {
        Self {
            row,
            digests: digests.iter().copied().map(Digest).collect(),
        }
    }

    fn has(&self, digest: ContentDigest) -> bool {
        self.digests.contains(&Digest(digest))
    }

    /// Returns whether the mark is about both contents. If `a` and `b` are the same content, a mark
    /// of a pair must have this content for both files.
    fn is_about(&self, a: ContentDigest, b: ContentDigest) -> bool {
        let is_same = || self.digests.iter().all(|digest| digest.0 == a);
        self.has(a) && self.has(b) && (a != b || self.row.group || is_same())
    }
}

/// All marks.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Acks(Vec<Ack>);

impl Acks {
    /// Returns whether a person has seen these two contents together.
    pub fn is_seen(&self, a: ContentDigest, b: ContentDigest) -> bool {
        self.0.iter().any(|ack| ack.is_about(a, b))
    }

    /// Returns the rows for display, oldest first.
    pub fn rows(&self) -> Vec<AckRow> {
        self.0.iter().map(|ack| ack.row.clone()).collect()
    }
}

/// The marks and their file.
#[derive(Debug, Default)]
pub struct AckStore {
    /// The file that stores the marks. `None` if the marks are kept only in memory.
    path: Option<PathBuf>,
    acks: Mutex<Arc<Acks>>,
}

impl AckStore {
    /// Reads the marks from the file. If there is no file, there are no marks. If the file cannot
    /// be read or parsed, the error is logged, and there are no marks.
    pub fn open(path: &Path) -> Self {
        let read = match fs::read(path) {
            Ok(text) => serde_json::from_slice(&text).map_err(io::Error::from),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
            Err(error) => Err(error),
        };
        let acks = read.unwrap_or_else(|error| {
            tracing::warn!(path = ?path, %error, "what was seen cannot be read");
            Vec::new()
        });
        Self {
            path: Some(path.to_owned()),
            acks: Mutex::new(Arc::new(Acks(acks))),
        }
    }

    /// Returns the present marks.
    pub fn current(&self) -> Arc<Acks> {
        Arc::clone(&self.acks.lock())
    }

    /// Adds marks. A new mark replaces an old mark about the same contents.
    pub fn add(&self, added: Vec<Ack>) -> io::Result<()> {
        self.change(|acks| {
            acks.retain(|ack| !added.iter().any(|new| new.digests == ack.digests));
            acks.extend(added);
        })
    }

    /// Removes the marks about `a`. If `b` is given, removes only the marks about both contents.
    /// Returns the rows of the removed marks.
    pub fn undo(&self, a: ContentDigest, b: Option<ContentDigest>) -> io::Result<Vec<AckRow>> {
        let is_meant = |ack: &Ack| b.map_or_else(|| ack.has(a), |b| ack.is_about(a, b));
        let mut removed = Vec::new();
        self.change(|acks| {
            removed = acks
                .extract_if(.., |ack| is_meant(ack))
                .map(|ack| ack.row)
                .collect();
        })?;
        Ok(removed)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<Ack>)) -> io::Result<()> {
        let mut current = self.acks.lock();
        let mut acks = current.0.clone();
        change(&mut acks);
        if let Some(path) = &self.path {
            state_file::replace(path, &serde_json::to_vec(&acks)?)?;
        }
        *current = Arc::new(Acks(acks));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn digest(byte: u8) -> ContentDigest {
        ContentDigest([byte; 32])
    }

    fn ack(group: bool, bytes: &[u8]) -> Ack {
        let row = AckRow {
            time: 7,
            group,
            paths: bytes
                .iter()
                .map(|byte| format!("/r/{byte}").as_str().into())
                .collect(),
        };
        let digests: Vec<ContentDigest> = bytes.iter().map(|byte| digest(*byte)).collect();
        Ack::new(row, &digests)
    }

    #[test]
    fn pairs_and_groups_outlive_a_restart_and_can_be_undone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("acks.json");
        let store = AckStore::open(&path);
        let all = vec![
            ack(false, &[1, 2]),
            ack(true, &[3, 4, 5]),
            ack(false, &[6, 6]),
        ];
        store.add(all).unwrap();
        store.add(vec![ack(false, &[1, 2])]).unwrap();
        let store = AckStore::open(&path);
        let acks = store.current();
        assert_eq!(acks.rows().len(), 3, "the same pair is marked once");
        let seen = |a, b| acks.is_seen(digest(a), digest(b));
        assert!(seen(1, 2) && seen(2, 1) && seen(3, 5) && seen(6, 6));
        assert!(seen(4, 4), "copies of a group's member");
        assert!(!seen(1, 1), "a copy of one of a pair is news");
        assert!(!seen(1, 3) && !seen(6, 7));
        assert!(store.undo(digest(1), Some(digest(3))).unwrap().is_empty());
        assert_eq!(store.undo(digest(2), None).unwrap().len(), 1);
        assert_eq!(
            store.undo(digest(5), Some(digest(3))).unwrap()[0]
                .paths
                .len(),
            3
        );
        let acks = AckStore::open(&path).current();
        assert!(!acks.is_seen(digest(1), digest(2)) && acks.is_seen(digest(6), digest(6)));
    }
}
