//! Proof: rows are measured on what the files say.
//!
//! Every pair of renditions but wholes can be measured: what stands for a file is made of it anew,
//! and counts only if it still is what the index has. A question reads so many bytes ([`Budget`]);
//! what is beyond that keeps its estimate, and says so.

use std::collections::HashMap;
use std::path::Path;

use resemble_core::hash::content;
use resemble_core::numbers::only_numbers;
use resemble_core::similarity::proof::Provable;
use resemble_core::{ByteLen, ContentDigest, ContentKind, Digest, Relation};
use resemble_index::{ContentRow, Snapshot};
use resemble_proto::message::{FindOptions, Layer, SoftError};

use super::{Subject, holders};
use crate::ask::{AskError, soft_error};
use crate::judge::matched::Match;
use crate::prove::exact::{Proven, judged, provable};
use crate::prove::extracted::extract;
use crate::prove::kept::kept_measures;
use crate::prove::read::{LARGEST_READ, bytes_if};
use crate::renditions::{Occurrence, Rendition, layer, names, shown};
use crate::scope::ScopedFiles;

/// How many bytes a question may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Budget(pub(super) ByteLen);

impl Budget {
    /// For a question of a person who waits: some tenths of a second.
    pub(super) const QUESTION: Self = Self(ByteLen(256 << 20));
    /// For a listing, which is asked for by every `ls`: some hundredths.
    pub(super) const LISTING: Self = Self(ByteLen(16 << 20));
    /// Whatever it takes.
    pub(super) const NONE: Self = Self(ByteLen(u64::MAX));

    /// Takes this many bytes out; `false`: there are not as many left.
    fn take(&mut self, bytes: ByteLen) -> bool {
        let is_enough = bytes <= self.0;
        if is_enough {
            self.0 = self.0 - bytes;
        }
        is_enough
    }
}

/// Taking a byte of a file apart takes as long as reading and measuring so many.
const TAKEN_APART: u64 = 4;

/// A rendition of the subject, and its content.
#[derive(Clone, Copy, Debug)]
pub(super) struct SubjectSide {
    pub(super) rendition: Rendition,
    content: ContentDigest,
    size: ByteLen,
    kind: ContentKind,
}

impl SubjectSide {
    pub(super) const fn of(rendition: Rendition, digest: &Digest) -> Self {
        Self {
            rendition,
            content: digest.content,
            size: digest.size,
            kind: digest.kind,
        }
    }
}

/// Reads and measures.
pub(super) struct Prover<'a> {
    snapshot: &'a Snapshot,
    scoped: Option<&'a ScopedFiles>,
    subject: &'a Subject,
    options: &'a FindOptions,
    min_shared: ByteLen,
    budget: Budget,
    /// What was read of the subject; `None`: it cannot be.
    subjects: HashMap<Rendition, Option<Provable>>,
    pub(super) errors: Vec<SoftError>,
}

impl<'a> Prover<'a> {
    /// For the rows of a subject.
    pub(super) fn of(
        (snapshot, scoped): (&'a Snapshot, Option<&'a ScopedFiles>),
        subject: &'a Subject,
        options: &'a FindOptions,
        min_shared: ByteLen,
        budget: Budget,
    ) -> Self {
        Self {
            snapshot,
            scoped,
            subject,
            options,
            min_shared,
            budget,
            subjects: HashMap::new(),
            errors: Vec::new(),
        }
    }

    /// Measures a rendition of the subject against a content that stands for another place; `None`:
    /// one of them cannot be read, and their estimate stands.
    pub(super) fn measure(
        &mut self,
        subject: &SubjectSide,
        (occurrence, row): (&Occurrence, &ContentRow),
    ) -> Result<Option<Match>, AskError> {
        let &SubjectSide {
            rendition,
            ref content,
            size,
            kind,
        } = subject;
        if row.size > LARGEST_READ {
            return Ok(None);
        }
        let layer = layer(rendition, occurrence.rendition);
        let asked = self.options.unit.into();
        // What templates leave of a content depends on what is marked. And exact questions look at
        // the contents for more than their measures.
        let is_kept = self.snapshot.templates().is_empty() && !self.options.exact;
        if is_kept && let Some(found) = kept_measures().get(content, &row.digest, asked) {
            let proven = judged(found, (size, row.size), self.min_shared);
            return Ok(Some(matched(proven, layer)));
        }
        let cost = self.cost(occurrence, row)?;
        if !self.budget.take(cost) {
            return Ok(None);
        }
        if !self.subjects.contains_key(&rendition) {
            let read = self.read_subject(rendition, content)?;
            let read = read.map(|bytes| provable(self.snapshot.templates(), kind, bytes));
            self.subjects.insert(rendition, read);
        }
        // Nothing of the other file is read for a subject that is not here.
        if self.subjects.get(&rendition).is_none_or(Option::is_none) {
            return Ok(None);
        }
        let Some(other) = self.other(occurrence, row)? else {
            return Ok(None);
        };
        let Some(Some(own)) = self.subjects.get(&rendition) else {
            return Ok(None);
        };
        let have_lines = |bytes: &[u8]| ContentKind::of(bytes).has_lines();
        let numbers = if self.options.exact && have_lines(own.bytes()) && have_lines(&other) {
            only_numbers(own.bytes(), &other, 0)
        } else {
            None
        };
        let other = provable(self.snapshot.templates(), row.kind, other);
        let found = own.measure(&other, asked);
        if is_kept {
            kept_measures().put(content, &row.digest, asked, &found);
        }
        let proven = judged(found, (own.size(), other.size()), self.min_shared);
        Ok(Some(Match {
            numbers: numbers.map(|numbers| numbers.count),
            ..matched(proven, layer)
        }))
    }

    /// What reading a content costs, in bytes of a file that is only read: what stands for a file,
    /// or lies in one, is taken out of it again, and the file taken apart from its beginning.
    fn cost(&self, occurrence: &Occurrence, row: &ContentRow) -> Result<ByteLen, AskError> {
        let place = occurrence.place;
        if occurrence.rendition == Rendition::Own && place.member.is_none() {
            return Ok(row.size);
        }
        let file = self.snapshot.content(place.content)?;
        let size = file.map_or(row.size, |file| file.size.max(row.size));
        Ok(ByteLen(size.0.saturating_mul(TAKEN_APART)))
    }

    /// What the subject says as this rendition of it.
    fn read_subject(
        &mut self,
        rendition: Rendition,
        digest: &ContentDigest,
    ) -> Result<Option<Vec<u8>>, AskError> {
        if let Some(bytes) = self
            .subject
            .bytes
            .as_deref()
            .filter(|_| rendition == Rendition::Own)
        {
            return Ok(Some(bytes.to_vec()));
        }
        let Some(path) = self.subject.path.as_deref() else {
            return Ok(None);
        };
        if rendition == Rendition::Own && self.subject.member.is_none() {
            if self.subject.digest.size > LARGEST_READ {
                return Ok(None);
            }
            return self.read(path, digest);
        }
        let names = self.subject.member.as_deref().unwrap_or_default();
        Ok(self.say(&shown(path, names), rendition, digest))
    }

    /// The bytes of a file, if they still are this content.
    fn read(&mut self, path: &Path, digest: &ContentDigest) -> Result<Option<Vec<u8>>, AskError> {
        match bytes_if(path, digest) {
            Ok(bytes) => Ok(bytes),
            Err(AskError::Cancelled) => Err(AskError::Cancelled),
            Err(error) => {
                self.note(path, &error);
                Ok(None)
            }
        }
    }

    /// Takes note of what cannot be read, if all had to be.
    fn note(&mut self, path: &Path, error: &AskError) {
        if self.options.exact {
            self.errors.push(soft_error(path, error));
        }
    }

    /// The bytes of a content where it stands.
    fn other(
        &mut self,
        occurrence: &Occurrence,
        row: &ContentRow,
    ) -> Result<Option<Vec<u8>>, AskError> {
        let place = occurrence.place;
        let holders = holders(self.snapshot, place.content, self.scoped, self.subject.file)?;
        let Some(first) = holders.first() else {
            return Ok(None);
        };
        if occurrence.rendition == Rendition::Own && place.member.is_none() {
            return self.read(first, &row.digest);
        }
        let path = shown(first, &names(self.snapshot, place)?);
        Ok(self.say(&path, occurrence.rendition, &row.digest))
    }

    /// What stands for the file or member at a path, if it is this content.
    fn say(
        &mut self,
        path: &Path,
        rendition: Rendition,
        digest: &ContentDigest,
    ) -> Option<Vec<u8>> {
        let part_reader = self.subject.part_reader.as_deref()?;
        let extracted = extract(path, part_reader)
            .map_err(|error| self.note(path, &error))
            .ok()??;
        let bytes = match rendition {
            Rendition::Own => Some(extracted.own),
            Rendition::Text | Rendition::Unpacked => extracted.text,
            Rendition::WholeText | Rendition::WholeBytes => None,
        };
        bytes.filter(|bytes| content::digest(bytes) == *digest)
    }
}

/// What was proven, as a way in which two files meet.
fn matched(proven: Proven, layer: Layer) -> Match {
    let layer = match proven.relation {
        Some(Relation::SameText) => Layer::Text,
        _ => layer,
    };
    Match {
        is_estimate: false,
        unit: proven.unit,
        ..Match::new(proven.relation, layer, proven.measures, proven.sizes)
    }
}
