//! Reads the subject of a question if the index does not have it.

use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::path::Path;

use resemble_core::date::DocumentDate;
use resemble_core::{Digest, Digester, Params, StopFlag};
use resemble_index::{ContentRef, NewLook, NewPart, SkippedPart};
use resemble_proto::message::FileDates;
use resemble_relate::AskError;
use resemble_relate::nominate::members::HeldMembers;
use resemble_relate::prove::extracted::extract;
use resemble_relate::prove::read::{anchor_of, bytes_of, unreadable};
use resemble_relate::renditions::{Rendition, held_among, members_at, renditions_among, shown};
use resemble_scan::parts::{DigestedPart, DigestedParts, HEAD, PartReader};
use resemble_scan::read::{Content, NoContents, Reader};
use rustix::fs::{MemfdFlags, memfd_create};

use resemble_relate::unread;

/// A file, or a member of a file, that was read for a question.
#[derive(Clone, Debug)]
pub struct ReadSubject {
    /// The digest of the subject's bytes.
    pub digest: Digest,
    /// The other renditions of the subject.
    pub others: Vec<(Rendition, Digest)>,
    /// The members of the subject, if it has any.
    pub held: Option<HeldMembers>,
    /// The bytes themselves, for a short pipe or a small member.
    pub bytes: Option<Vec<u8>>,
    /// The parts that were skipped when the subject was taken apart.
    pub skipped: Vec<SkippedPart>,
    /// The date that the subject states.
    pub date: Option<DocumentDate>,
    /// The dates of the subject in a catalogue.
    pub recorded: FileDates,
}

impl ReadSubject {
    /// Returns a subject that consists of its bytes alone, without parts.
    pub(super) fn plain(digest: Digest) -> Self {
        Self {
            digest,
            others: Vec::new(),
            held: None,
            bytes: None,
            skipped: Vec::new(),
            date: None,
            recorded: FileDates::default(),
        }
    }

    /// Returns a subject with these parts.
    fn with(
        digest: Digest,
        pieces: Vec<DigestedPart>,
        member: Option<u32>,
        params: &Params,
    ) -> Self {
        let rows = pieces.iter().map(|piece| (piece.role, piece.parent));
        let rows: Vec<_> = rows.collect();
        let held = held_among(rows.iter().copied(), member).into_iter();
        let held = HeldMembers::of(held.filter_map(|at| pieces[at].digest.as_deref()), params);
        let mut pieces = pieces;
        let content = |at: usize| pieces[at].digest.take().map(|digest| *digest);
        Self {
            others: renditions_among(rows.into_iter(), member, content),
            digest,
            held: (!held.members.is_empty()).then_some(held),
            bytes: None,
            skipped: Vec::new(),
            date: None,
            recorded: FileDates::default(),
        }
    }

    fn and_skipped(self, skipped: Vec<SkippedPart>) -> Self {
        Self { skipped, ..self }
    }
}

/// Reads a file for a question, and returns its digest.
pub fn read_now(path: &Path, params: &Params) -> Result<Digest, AskError> {
    read_until(path, params, &StopFlag::default())
}

/// Does the same as [`read_now`], for a question that may be cancelled.
pub(super) fn read_until(
    path: &Path,
    params: &Params,
    stop: &StopFlag,
) -> Result<Digest, AskError> {
    let anchor = anchor_of(path)?;
    let read = Reader::new(params, stop.clone())
        .digest(&anchor, path)
        .map_err(|failure| unreadable(path, failure))?;
    match read.content {
        Content::New(digest) => Ok(*digest),
        // Only a read with an index returns these, so this code is not reached. It would read the
        // file again.
        Content::Known(_) | Content::InFlight(_) | Content::Edited(_) => {
            Ok(Digest::of(&bytes_of(path)?, params))
        }
    }
}

/// Reads a file for a question, and takes it apart.
pub fn read_with_parts(
    path: &Path,
    params: &Params,
    part_reader: Option<&dyn PartReader>,
) -> Result<ReadSubject, AskError> {
    let Some(part_reader) = part_reader else {
        return Ok(ReadSubject::plain(read_now(path, params)?));
    };
    let (digest, pieces, skipped, date) = read(path, params, part_reader)?;
    let incoming = ReadSubject::with(digest, pieces, None, params).and_skipped(skipped);
    Ok(ReadSubject { date, ..incoming })
}

/// Reads a member of a file for a question.
///
/// # Errors
///
/// Fails if the file cannot be read or has no such member, or if the member is skipped.
pub fn read_member(
    path: &Path,
    names: &[u8],
    params: &Params,
    part_reader: &dyn PartReader,
) -> Result<ReadSubject, AskError> {
    let (_, mut pieces, skipped, _) = read(path, params, part_reader)?;
    let rows = pieces
        .iter()
        .map(|piece| (piece.role, piece.parent, &piece.name[..]));
    for number in members_at(rows, names) {
        if let Some(digest) = pieces[number as usize].digest.take() {
            let skipped = unread::of_member(skipped, names);
            let is_few = digest.size.0 <= Stream::FEW as u64;
            let incoming = ReadSubject::with(*digest, pieces, Some(number), params);
            let own = is_few.then(|| extract(&shown(path, names), part_reader).ok());
            return Ok(ReadSubject {
                bytes: own.flatten().flatten().map(|own| own.own),
                ..incoming.and_skipped(skipped)
            });
        }
    }
    Err(unread::without_member(&shown(path, names), &skipped))
}

/// The digest of a file, its parts, its skipped parts, and the date that the file states.
type ReadWithParts = (
    Digest,
    Vec<DigestedPart>,
    Vec<SkippedPart>,
    Option<DocumentDate>,
);

fn read(
    path: &Path,
    params: &Params,
    part_reader: &dyn PartReader,
) -> Result<ReadWithParts, AskError> {
    let anchor = anchor_of(path)?;
    let read = Reader::new(params, StopFlag::default())
        .read_with_parts(&anchor, path, None, &NoContents, part_reader)
        .map_err(|failure| unreadable(path, failure))?;
    let digest = match read.content {
        Content::New(digest) => *digest,
        // Only a read with an index returns these, so this code is not reached. It would read the
        // file again.
        Content::Known(_) | Content::InFlight(_) | Content::Edited(_) => read_now(path, params)?,
    };
    let (pieces, skipped, date) = match read.look {
        Some(NewLook::Apart {
            parts,
            skipped,
            date,
            ..
        }) => (parts.into_iter().map(piece).collect(), skipped, date),
        _ => (Vec::new(), Vec::new(), None),
    };
    Ok((digest, pieces, skipped, date))
}

fn piece(part: NewPart) -> DigestedPart {
    DigestedPart {
        role: part.role,
        parent: part.parent,
        name: part.name,
        digest: match part.content {
            Some(ContentRef::New(digest)) => Some(digest),
            Some(ContentRef::Known(_) | ContentRef::Edited(_)) | None => None,
        },
    }
}

/// Reads the bytes of a pipe, piece by piece.
#[derive(Debug)]
pub struct Stream<'a> {
    params: Params,
    digester: Digester,
    part_reader: Option<&'a dyn PartReader>,
    head: Vec<u8>,
    /// All bytes, unless they exceed [`Self::FEW`].
    few: Option<Vec<u8>>,
    /// All bytes, if the content can be taken apart and is not too long.
    kept: Option<File>,
    bytes: usize,
}

impl<'a> Stream<'a> {
    /// The maximum number of bytes of a pipe that are kept in memory: 256 MiB. A longer content is
    /// not taken apart.
    const MOST: usize = 256 << 20;
    /// The maximum number of bytes of a content that are sent with a question. With these bytes,
    /// the measures can be proven.
    pub const FEW: usize = 4 << 20;

    /// Returns an empty stream.
    pub fn new(params: &Params, part_reader: Option<&'a dyn PartReader>) -> Self {
        Self {
            params: *params,
            digester: Digester::new(params),
            part_reader,
            head: Vec::new(),
            few: Some(Vec::new()),
            kept: None,
            bytes: 0,
        }
    }

    /// Adds the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.digester.update(bytes);
        self.few = self
            .few
            .take()
            .filter(|few| few.len() + bytes.len() <= Self::FEW);
        if let Some(few) = &mut self.few {
            few.extend_from_slice(bytes);
        }
        let Some(part_reader) = self.part_reader else {
            return;
        };
        let before = self.bytes;
        self.bytes += bytes.len();
        if self.bytes > Self::MOST {
            self.part_reader = None;
            self.kept = None;
            return;
        }
        let kept = if self.kept.is_some() {
            self.keep(bytes)
        } else {
            self.head.extend_from_slice(bytes);
            if self.head.len() < HEAD {
                return;
            }
            if before < HEAD && part_reader.is_looked_into(b"", &self.head[..HEAD], None) {
                self.begin()
            } else {
                self.part_reader = None;
                Ok(())
            }
        };
        if kept.is_err() {
            // The bytes could not be kept in memory, so the content is not taken apart.
            self.part_reader = None;
            self.kept = None;
        }
    }

    fn begin(&mut self) -> io::Result<()> {
        self.kept = Some(File::from(memfd_create("resemble", MemfdFlags::CLOEXEC)?));
        let head = std::mem::take(&mut self.head);
        self.keep(&head)?;
        self.head = head;
        self.head.truncate(HEAD);
        Ok(())
    }

    fn keep(&mut self, bytes: &[u8]) -> io::Result<()> {
        match &mut self.kept {
            Some(kept) => kept.write_all(bytes),
            None => Ok(()),
        }
    }

    /// Returns the content that was read.
    pub fn finish(mut self) -> ReadSubject {
        let bytes = self.few.take();
        ReadSubject {
            bytes,
            ..self.finish_digest()
        }
    }

    fn finish_digest(mut self) -> ReadSubject {
        let digest = self.digester.finish();
        if self.kept.is_none() && self.begin().is_err() {
            self.part_reader = None;
        }
        let (Some(part_reader), Some(kept)) = (self.part_reader, &self.kept) else {
            return ReadSubject::plain(digest);
        };
        if !part_reader.is_looked_into(b"", &self.head, Some(kept.as_fd())) {
            return ReadSubject::plain(digest);
        }
        let pieces = DigestedParts::of(
            part_reader,
            b"",
            &self.head,
            kept.as_fd(),
            &mut self.digester,
            &self.params,
        );
        ReadSubject {
            date: pieces.date,
            ..ReadSubject::with(digest, pieces.pieces, None, &self.params)
                .and_skipped(pieces.skipped)
        }
    }
}
