//! The subject of a comparison: a file, a member of a file, or bytes without a file.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_core::{ContentId, Digest, FileId, Params};
use resemble_index::{FileRow, ReadError, Snapshot};
use resemble_proto::message::FileDates;
use resemble_relate::AskError;
use resemble_relate::nominate::members::HeldMembers;
use resemble_relate::prove::read::anchor_of;
use resemble_relate::renditions::{self, Located, Place, Rendition};
use resemble_scan::parts::PartReader;

use super::read::{ReadSubject, read_until};

/// The file or the bytes with which other files are compared.
#[derive(Clone, Debug)]
pub struct Subject {
    pub(super) digest: Arc<Digest>,
    pub(super) file: Option<FileId>,
    pub(super) path: Option<PathBuf>,
    /// The bytes of the subject, if it has no file.
    pub(super) sent: Option<SentBytes>,
    /// The place of the subject in the index, if its digest is the indexed one.
    pub(super) place: Option<Place>,
    /// The names that lead to the subject, if it is a member of the file at `path`.
    pub(super) member: Option<Vec<u8>>,
    /// The last change of the subject, and the date that it states.
    pub(super) dates: FileDates,
    /// The other renditions of the subject, if the index does not have them.
    pub(super) others: Vec<(Rendition, Arc<Digest>)>,
    /// The members of the subject, if the index does not have them.
    pub(super) held: Option<HeldMembers>,
    /// Extracts the texts of documents again for exact measures. Without it, the measures are
    /// estimated.
    pub(super) part_reader: Option<Arc<dyn PartReader>>,
}

/// Bytes that were sent with the question.
#[derive(Clone, Debug)]
pub(super) struct SentBytes {
    pub(super) name: PathBuf,
    pub(super) bytes: Arc<[u8]>,
}

impl Subject {
    /// Returns a subject of bytes that are not in the index as a file: standard input, or a file
    /// outside the index.
    pub fn of_digest(digest: Digest) -> Self {
        Self {
            digest: Arc::new(digest),
            file: None,
            path: None,
            sent: None,
            place: None,
            member: None,
            dates: FileDates::default(),
            others: Vec::new(),
            held: None,
            part_reader: None,
        }
    }

    /// Returns a subject of bytes that were read from a file, which can be read again for exact
    /// measures.
    pub fn of_file(digest: Digest, path: PathBuf) -> Self {
        Self::of_digest(digest).at(path)
    }

    /// Sets the path of the subject's file.
    #[must_use]
    pub fn at(self, path: PathBuf) -> Self {
        Self {
            path: Some(path),
            ..self
        }
    }

    /// Sets the bytes of a subject without a file. The name determines how they are taken apart.
    #[must_use]
    pub fn with_bytes(self, name: &Path, bytes: Vec<u8>) -> Self {
        let (name, bytes) = (name.to_owned(), Arc::from(bytes));
        Self {
            sent: Some(SentBytes { name, bytes }),
            ..self
        }
    }

    /// Sets the dates of the subject.
    #[must_use]
    pub fn dated(self, dates: FileDates) -> Self {
        Self { dates, ..self }
    }

    /// Sets the other renditions of the subject.
    #[must_use]
    pub fn with_others(self, others: Vec<(Rendition, Digest)>) -> Self {
        let others = others.into_iter();
        Self {
            others: others
                .map(|(rendition, digest)| (rendition, Arc::new(digest)))
                .collect(),
            ..self
        }
    }

    /// Sets the members of the subject.
    #[must_use]
    pub fn holding(self, held: Option<HeldMembers>) -> Self {
        Self { held, ..self }
    }

    /// Sets the reader that extracts the texts of documents again for exact measures.
    #[must_use]
    pub fn with_part_reader(self, part_reader: Option<Arc<dyn PartReader>>) -> Self {
        Self {
            part_reader,
            ..self
        }
    }

    /// Excludes this file from the answer, because the digest is that of this file.
    #[must_use]
    pub fn is_file(self, file: FileId) -> Self {
        Self {
            file: Some(file),
            ..self
        }
    }

    /// Returns the indexed file at `path`; `None` if the index has none. A file whose stat has
    /// changed is read again. If no file has this path, it may consist of the path of a file, a
    /// `!`, and the name of a member. A member is returned as the index has it; if the bytes of its
    /// file have changed, the result is `None`. With a partial snapshot, no file is read: see
    /// [`Self::remembered`].
    pub fn indexed(
        snapshot: &Snapshot,
        path: &Path,
        params: &Params,
    ) -> Result<Option<Self>, AskError> {
        if snapshot.is_partial() {
            // Another file may be at the path by now, and this process can read files that the
            // caller has no right to read. So the caller gets the state that the index has.
            return Ok(Self::remembered(snapshot, path)?);
        }
        let Some(found) = renditions::locate(snapshot, path)? else {
            return Ok(None);
        };
        let known = match found.row.state.content() {
            Some(content) => {
                Self::stored(snapshot, &found, content)?.zip(snapshot.content(content)?)
            }
            None => None,
        };
        if is_current(&found.path, &found.row)
            && let Some((subject, _)) = known
        {
            return Ok(Some(subject));
        }
        // A new hard link or another owner changes the stat and not the bytes. The index still
        // knows such a file, with its text and its members.
        let digest = match read_until(&found.path, params, snapshot.stop()) {
            Err(AskError::Unreadable { .. }) if found.member.is_some() => return Ok(None),
            digest => digest?,
        };
        match known {
            Some((subject, row)) if row.digest == digest.content => Ok(Some(subject)),
            _ if found.member.is_some() => Ok(None),
            _ => Ok(Some(
                Self::of_file(digest, found.path).is_file(found.row.id),
            )),
        }
    }

    /// Returns the file at `path` as the index has it, even if the file has changed since. Returns
    /// `None` if the index does not have it, or did not read it.
    pub fn remembered(snapshot: &Snapshot, path: &Path) -> Result<Option<Self>, ReadError> {
        let Some(found) = renditions::locate(snapshot, path)? else {
            return Ok(None);
        };
        match found.row.state.content() {
            Some(content) => Self::stored(snapshot, &found, content),
            None => Ok(None),
        }
    }

    /// Returns a file or member as the index has it.
    fn stored(
        snapshot: &Snapshot,
        found: &Located,
        content: ContentId,
    ) -> Result<Option<Self>, ReadError> {
        let own = found.member.map_or(content, |(_, own)| own);
        let Some(digest) = stored(snapshot, own)? else {
            return Ok(None);
        };
        let member = match found.member {
            Some((number, _)) => {
                let member = Some(number);
                Some(renditions::names(snapshot, Place { content, member })?)
            }
            None => None,
        };
        let dates = match found.member {
            Some(_) => FileDates::default(),
            None => dates(snapshot, content, found.row.stat.mtime.secs)?,
        };
        Ok(Some(Self {
            dates,
            file: found.member.is_none().then_some(found.row.id),
            place: Some(Place {
                content,
                member: found.member.map(|(number, _)| number),
            }),
            member,
            path: Some(found.path.clone()),
            ..Self::of_digest(digest)
        }))
    }

    /// Returns the other renditions of the subject.
    pub(super) fn others(
        &self,
        snapshot: &Snapshot,
    ) -> Result<Vec<(Rendition, Arc<Digest>)>, ReadError> {
        let Some(place) = self.place else {
            return Ok(self.others.clone());
        };
        let mut others = Vec::new();
        for (rendition, content) in renditions::renditions(snapshot, place)? {
            others.extend(stored(snapshot, content)?.map(|digest| (rendition, Arc::new(digest))));
        }
        Ok(others)
    }
}

impl ReadSubject {
    /// Returns the file or member at `path` as the index has it, or `None`.
    pub(crate) fn remembered(snapshot: &Snapshot, path: &Path) -> Result<Option<Self>, ReadError> {
        let Some(subject) = Subject::remembered(snapshot, path)? else {
            return Ok(None);
        };
        let others = subject.others(snapshot)?.into_iter();
        let others = others.map(|(rendition, digest)| (rendition, Arc::unwrap_or_clone(digest)));
        let others = others.collect();
        let held = subject
            .place
            .map(|place| HeldMembers::in_place(snapshot, place));
        let held = held.transpose()?;
        let digest = Arc::unwrap_or_clone(subject.digest);
        Ok(Some(Self {
            others,
            held: held.filter(|held| !held.members.is_empty()),
            recorded: subject.dates,
            ..Self::plain(digest)
        }))
    }
}

/// Returns the dates of a file with this content. `changed` is in seconds since 1970.
fn dates(snapshot: &Snapshot, content: ContentId, changed: i64) -> Result<FileDates, ReadError> {
    let stated = snapshot.content(content)?.and_then(|row| row.date);
    Ok(FileDates::of(changed, stated.map(|date| date.seconds)))
}

/// Returns whether the file still has the `stat` that the index recorded.
fn is_current(path: &Path, row: &FileRow) -> bool {
    let Ok(anchor) = anchor_of(path) else {
        return false;
    };
    anchor.stat_at(path).is_ok_and(|now| {
        let then = &row.stat;
        (now.ino, now.size, now.mtime, now.ctime) == (then.ino, then.size.0, then.mtime, then.ctime)
    })
}

/// Returns the digest of a content, with the pieces that the index stores.
fn stored(snapshot: &Snapshot, content: ContentId) -> Result<Option<Digest>, ReadError> {
    let Some(row) = snapshot.content(content)? else {
        return Ok(None);
    };
    Ok(Some(Digest {
        content: row.digest,
        size: row.size,
        kind: row.kind,
        chunks: snapshot.chunks(content)?,
        signature: snapshot.signature(content)?,
        besides: Vec::new(),
        words: row.words,
    }))
}
