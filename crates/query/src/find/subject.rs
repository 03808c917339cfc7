//! What others are compared with: a file, a member of one, or bytes that are no file's.

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

use super::read::{Incoming, read_until};

/// The file or the bytes that others are compared with.
#[derive(Clone, Debug)]
pub struct Subject {
    pub(super) digest: Arc<Digest>,
    pub(super) file: Option<FileId>,
    pub(super) path: Option<PathBuf>,
    /// Its bytes, if they are no file's.
    pub(super) sent: Option<SentBytes>,
    /// Where the index has it as it is now.
    pub(super) place: Option<Place>,
    /// It is a member of `path`: the names that lead to it.
    pub(super) member: Option<Vec<u8>>,
    /// When it was changed last, and the date that it states.
    pub(super) dates: FileDates,
    /// What stands for it besides its bytes, where the index has it not.
    pub(super) others: Vec<(Rendition, Arc<Digest>)>,
    /// What it holds, where the index has it not.
    pub(super) held: Option<HeldMembers>,
    /// Makes texts of documents again, where measures on them are to be exact; `None`: those stay
    /// estimates.
    pub(super) part_reader: Option<Arc<dyn PartReader>>,
}

/// Bytes that came with the question.
#[derive(Clone, Debug)]
pub(super) struct SentBytes {
    pub(super) name: PathBuf,
    pub(super) bytes: Arc<[u8]>,
}

impl Subject {
    /// Bytes that are no indexed file: standard input, or a file outside the index.
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

    /// The same, read from a file, so that exact measures can be asked for.
    pub fn of_file(digest: Digest, path: PathBuf) -> Self {
        Self::of_digest(digest).at(path)
    }

    /// The same, of the file at this path.
    #[must_use]
    pub fn at(self, path: PathBuf) -> Self {
        Self {
            path: Some(path),
            ..self
        }
    }

    /// Its bytes, which are no file's. The name tells how they are taken apart.
    #[must_use]
    pub fn with_bytes(self, name: &Path, bytes: Vec<u8>) -> Self {
        let (name, bytes) = (name.to_owned(), Arc::from(bytes));
        Self {
            sent: Some(SentBytes { name, bytes }),
            ..self
        }
    }

    /// Its dates, where the index has it not.
    #[must_use]
    pub fn dated(self, dates: FileDates) -> Self {
        Self { dates, ..self }
    }

    /// What stands for it besides its bytes.
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

    /// What it holds.
    #[must_use]
    pub fn holding(self, held: Option<HeldMembers>) -> Self {
        Self { held, ..self }
    }

    /// Measures on the texts of documents can be exact: this makes them again.
    #[must_use]
    pub fn with_part_reader(self, part_reader: Option<Arc<dyn PartReader>>) -> Self {
        Self {
            part_reader,
            ..self
        }
    }

    /// Leaves this file out of the answer: the digest was made of it.
    #[must_use]
    pub fn is_file(self, file: FileId) -> Self {
        Self {
            file: Some(file),
            ..self
        }
    }

    /// The indexed file at `path`, as it is now; `None` if the index has no such file. A path that
    /// leads to a file up to some `!` names a member in it, as the index has that.
    pub fn indexed(
        snapshot: &Snapshot,
        path: &Path,
        params: &Params,
    ) -> Result<Option<Self>, AskError> {
        if snapshot.is_partial() {
            // What lies there in the next moment may be another file, which only we can read.
            return Ok(Self::remembered(snapshot, path)?);
        }
        let Some(found) = renditions::locate(snapshot, path)? else {
            return Ok(None);
        };
        let stored = match found.row.state.content() {
            Some(content) if is_current(&found.path, &found.row) => {
                Self::stored(snapshot, &found, content)?
            }
            _ => None,
        };
        match stored {
            Some(subject) => Ok(Some(subject)),
            None if found.member.is_some() => Ok(None),
            None => {
                let digest = read_until(path, params, snapshot.stop())?;
                let subject = Self::of_file(digest, found.path);
                Ok(Some(subject.is_file(found.row.id)))
            }
        }
    }

    /// The indexed file at `path` as the index has it, whatever happened since; `None` if it has
    /// not been read.
    pub fn remembered(snapshot: &Snapshot, path: &Path) -> Result<Option<Self>, ReadError> {
        let Some(found) = renditions::locate(snapshot, path)? else {
            return Ok(None);
        };
        match found.row.state.content() {
            Some(content) => Self::stored(snapshot, &found, content),
            None => Ok(None),
        }
    }

    /// A file or member as the index has it.
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

    /// What stands for it besides its bytes.
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

impl Incoming {
    /// The file or member at `path` as the index has it; `None`: it has none.
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

/// The dates of a file with this content, changed last at a time in seconds since 1970.
fn dates(snapshot: &Snapshot, content: ContentId, changed: i64) -> Result<FileDates, ReadError> {
    let stated = snapshot.content(content)?.and_then(|row| row.date);
    Ok(FileDates::of(changed, stated.map(|date| date.seconds)))
}

/// Whether the file is still what the index says.
fn is_current(path: &Path, row: &FileRow) -> bool {
    let Ok(anchor) = anchor_of(path) else {
        return false;
    };
    anchor.stat_at(path).is_ok_and(|now| {
        let then = &row.stat;
        (now.ino, now.size, now.mtime, now.ctime) == (then.ino, then.size.0, then.mtime, then.ctime)
    })
}

/// What the index keeps of a content.
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
