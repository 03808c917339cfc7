//! Measures the pairs of rows by reading the contents of the files.
//!
//! The renditions and members of a file are extracted again. They count only if they still equal
//! the indexed ones. A question reads a limited number of bytes ([`Budget`]). A row beyond this
//! limit keeps its estimate and is marked, unless the index has stored its measures. A pair with
//! stored measures is not read again.

use std::collections::HashMap;
use std::path::Path;
use std::sync::OnceLock;

use resemble_core::hash::content;
use resemble_core::numbers::only_numbers;
use resemble_core::similarity::proof::{Provable, ProvableMembers, unit_of};
use resemble_core::{ByteLen, ContentDigest, ContentKind, Digest, Fingerprint};
use resemble_index::{ContentRow, Snapshot};
use resemble_proto::message::{FindOptions, SoftError};
use resemble_relate::judge::matched::Match;
use resemble_relate::parallel::{ordered_on, threads};
use resemble_relate::prove::cost::TAKEN_APART;
use resemble_relate::prove::exact::{judged, provable};
use resemble_relate::prove::extracted::{Extracted, extract, extract_bytes};
use resemble_relate::prove::read::{LARGEST_READ, OpenFolders};
use resemble_relate::renditions::{Occurrence, Rendition, layer, names, shown};
use resemble_relate::scope::ScopedFiles;
use resemble_relate::{AskError, soft_error};
use resemble_scan::parts::PartReader;

use super::{SentBytes, Subject, first_holder};

mod members;

/// The number of bytes that a question may read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Budget(pub(super) ByteLen);

impl Budget {
    /// The budget of a question for which a person waits. Reading this many bytes takes some tenths
    /// of a second.
    pub(super) const QUESTION: Self = Self(ByteLen(256 << 20));
    /// The budget of a listing, which every `ls` requests. Reading this many bytes takes some
    /// hundredths of a second.
    pub(super) const LISTING: Self = Self(ByteLen(16 << 20));
    /// No limit.
    pub(super) const NONE: Self = Self(ByteLen(u64::MAX));

    /// Takes this many bytes; returns false if fewer are left.
    fn take(&mut self, bytes: ByteLen) -> bool {
        let is_enough = bytes <= self.0;
        if is_enough {
            self.0 = self.0 - bytes;
        }
        is_enough
    }
}

/// The number of threads that measure for one question. It is small, because other questions also
/// need threads.
pub(super) const THREADS: usize = 2;

/// Returns whether reading these files takes so long that a second thread is worthwhile. Starting a
/// thread takes 50 µs, and reading must take several times as long. Opening a file costs as much as
/// reading 16 KiB.
const fn is_worth_a_thread(files: usize, bytes: ByteLen) -> bool {
    files > 1 && files as u64 * (16 << 10) + bytes.0 >= 256 << 10
}

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

/// A pair to be measured: a rendition of the subject, and a content by which another file or member
/// is compared.
pub(super) type UnmeasuredPair<'p> = (&'p SubjectSide, &'p Occurrence, &'p ContentRow);

/// Reads and measures pairs.
pub(super) struct Prover<'a> {
    snapshot: &'a Snapshot,
    scoped: Option<&'a ScopedFiles>,
    subject: &'a Subject,
    options: &'a FindOptions,
    min_shared: ByteLen,
    budget: Budget,
    /// The members of the subject, or its single content if it has no members. The cell is set when
    /// they are read. The option is `None` if they cannot be read.
    held: OnceLock<Option<ProvableMembers>>,
    /// The bytes of the subject, if they were read before anything is measured. The first
    /// measurement takes them from here.
    own: Option<Vec<u8>>,
    subjects: ReadSubjects,
    folders: OpenFolders,
    pub(super) errors: Vec<SoftError>,
}

/// The renditions of the subject that were read. The value is `None` if a rendition is unreadable.
type ReadSubjects = HashMap<Rendition, Option<Provable>>;

impl<'a> Prover<'a> {
    /// Returns a prover for the rows of a subject.
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
            held: OnceLock::new(),
            own: None,
            subjects: ReadSubjects::new(),
            folders: OpenFolders::default(),
            errors: Vec::new(),
        }
    }

    /// Measures these pairs, the most important first. The result of a pair is `None` if one of its
    /// contents cannot be read or is too large. It is also `None` if the pair is beyond the budget
    /// and has no stored measures. Its estimate is then kept.
    ///
    /// The budget is allotted before anything is read, in the order of the pairs. A pair with
    /// stored measures also uses its part of the budget. So the pairs within the budget depend
    /// neither on threads nor on earlier questions, and a repeated question reads nothing.
    pub(super) fn measure_all(
        &mut self,
        pairs: &[UnmeasuredPair<'_>],
    ) -> Result<Vec<Option<Match>>, AskError> {
        let mut found = Vec::with_capacity(pairs.len());
        let mut unread = Vec::new();
        let mut bytes = ByteLen::ZERO;
        for (at, &(subject, occurrence, row)) in pairs.iter().enumerate() {
            self.snapshot.stop().go_on()?;
            let mut matched = None;
            if row.size <= LARGEST_READ {
                let cost = self.cost(occurrence, row)?;
                let is_affordable = self.budget.take(cost);
                matched = self.kept(subject, occurrence, row);
                if matched.is_none() && is_affordable {
                    unread.push(at);
                    bytes += cost;
                }
            }
            found.push(matched);
        }
        self.read_subjects(unread.iter().map(|&at| pairs[at].0))?;
        // If the subject could not be read, no other file is read for it.
        unread.retain(|&at| self.subjects[&pairs[at].0.rendition].is_some());
        let threads = if is_worth_a_thread(unread.len(), bytes) {
            THREADS.min(threads())
        } else {
            1
        };
        let this = &*self;
        let measure = |at: usize, (): &mut ()| {
            this.snapshot.stop().go_on()?;
            let mut errors = Vec::new();
            let (subject, occurrence, row) = pairs[unread[at]];
            let own = this.subjects[&subject.rendition].as_ref();
            let read = this.other(occurrence, &row.digest, &mut errors)?;
            let matched = own
                .zip(read)
                .map(|(own, other)| this.measure((subject, own), (occurrence, row, other)));
            Ok::<_, AskError>((matched, errors))
        };
        let measured = ordered_on(threads, unread.len(), || (), measure)?;
        for (&at, (matched, errors)) in unread.iter().zip(measured) {
            found[at] = matched;
            self.errors.extend(errors);
        }
        Ok(found)
    }

    /// Returns stored measures. An exact question uses none, because it must read the contents.
    fn kept(
        &self,
        subject: &SubjectSide,
        occurrence: &Occurrence,
        row: &ContentRow,
    ) -> Option<Match> {
        if self.options.exact {
            return None;
        }
        let unit = unit_of(subject.kind, row.kind, self.options.unit.into());
        let snapshot = self.snapshot;
        let found = snapshot.kept_measures(&subject.content, &row.digest, unit)?;
        let proven = judged(found, (subject.size, row.size), self.min_shared);
        Some(proven.matched(layer(subject.rendition, occurrence.rendition)))
    }

    /// Measures a rendition of the subject and another content that was read.
    fn measure(
        &self,
        (subject, own): (&SubjectSide, &Provable),
        (occurrence, row, other): (&Occurrence, &ContentRow, Vec<u8>),
    ) -> Match {
        let have_lines = |bytes: &[u8]| ContentKind::of(bytes).has_lines();
        let numbers = if self.options.exact && have_lines(own.bytes()) && have_lines(&other) {
            only_numbers(own.bytes(), &other, 0)
        } else {
            None
        };
        let other = provable(self.snapshot.templates(), row.kind, other);
        let found = own.measure(&other, self.options.unit.into());
        self.snapshot
            .keep_measures(&subject.content, &row.digest, &found);
        let proven = judged(found, (own.size(), other.size()), self.min_shared);
        Match {
            numbers: numbers.map(|numbers| numbers.count),
            ..proven.matched(layer(subject.rendition, occurrence.rendition))
        }
    }

    /// Reads these renditions of the subject.
    fn read_subjects<'s>(
        &mut self,
        sides: impl Iterator<Item = &'s SubjectSide>,
    ) -> Result<(), AskError> {
        for side in sides {
            if self.subjects.contains_key(&side.rendition) {
                continue;
            }
            let mut errors = Vec::new();
            let known = self.own.take_if(|_| side.rendition == Rendition::Own);
            let read = match known {
                Some(bytes) => Some(bytes),
                None => self.read_subject(side.rendition, &side.content, &mut errors)?,
            };
            self.errors.extend(errors);
            let templates = self.snapshot.templates();
            let read = read.map(|bytes| provable(templates, side.kind, bytes));
            self.subjects.insert(side.rendition, read);
        }
        Ok(())
    }

    /// Returns the share of the subject's words that are nearest to these samples. Each word is
    /// weighted by the worth of its nearest sample. Returns `None` if the subject is not a text, or
    /// cannot be read now.
    pub(super) fn share_nearest(
        &mut self,
        subject: &SubjectSide,
        level: u8,
        worth: &HashMap<Fingerprint, f64>,
    ) -> Result<Option<f64>, AskError> {
        if subject.kind != ContentKind::Text || subject.size > LARGEST_READ {
            return Ok(None);
        }
        self.read_subjects(std::iter::once(subject))?;
        let text = self.subjects[&subject.rendition].as_ref();
        let worth = |sample| worth.get(&sample).copied().unwrap_or(0.0);
        let text = text.and_then(Provable::words);
        Ok(text.map(|text| text.share_nearest(level, worth)))
    }

    /// Reads the bytes of the subject and keeps them, because they are measured later. Returns
    /// `None` if they cannot be read, or if the rendition is not the subject's own bytes. Also
    /// returns `None` for a member, because its archive would have to be opened.
    pub(super) fn subject_bytes(
        &mut self,
        rendition: Rendition,
        digest: &Digest,
    ) -> Result<Option<&[u8]>, AskError> {
        if rendition != Rendition::Own || self.subject.member.is_some() {
            return Ok(None);
        }
        let mut errors = Vec::new();
        self.own = self.read_subject(rendition, &digest.content, &mut errors)?;
        self.errors.extend(errors);
        Ok(self.own.as_deref())
    }

    /// Returns the cost of reading a content, in bytes. A rendition or a member costs more than a
    /// file, because its file must be read and taken apart from its beginning.
    fn cost(&self, occurrence: &Occurrence, row: &ContentRow) -> Result<ByteLen, AskError> {
        let place = occurrence.place;
        if occurrence.rendition == Rendition::Own && place.member.is_none() {
            return Ok(row.size);
        }
        let file = self.snapshot.content(place.content)?;
        let size = file.map_or(row.size, |file| file.size.max(row.size));
        Ok(ByteLen(size.0.saturating_mul(TAKEN_APART)))
    }

    /// Reads this rendition of the subject.
    fn read_subject(
        &self,
        rendition: Rendition,
        digest: &ContentDigest,
        errors: &mut Vec<SoftError>,
    ) -> Result<Option<Vec<u8>>, AskError> {
        if let Some(SentBytes { name, bytes }) = &self.subject.sent {
            if rendition == Rendition::Own {
                return Ok(Some(bytes.to_vec()));
            }
            let extract =
                |part_reader: &dyn PartReader| extract_bytes(name, bytes, part_reader).map(Some);
            return Ok(self.say(name, extract, (rendition, digest), errors));
        }
        let Some(path) = self.subject.path.as_deref() else {
            return Ok(None);
        };
        if rendition == Rendition::Own && self.subject.member.is_none() {
            if self.subject.digest.size > LARGEST_READ {
                return Ok(None);
            }
            return self.read(path, digest, errors);
        }
        let path = shown(path, self.subject.member.as_deref().unwrap_or_default());
        let extract = |part_reader: &dyn PartReader| extract(&path, part_reader);
        Ok(self.say(&path, extract, (rendition, digest), errors))
    }

    /// Returns the bytes of a file, if the file still has this content.
    fn read(
        &self,
        path: &Path,
        digest: &ContentDigest,
        errors: &mut Vec<SoftError>,
    ) -> Result<Option<Vec<u8>>, AskError> {
        let read = match self.folders.bytes_if(path, digest) {
            Err(AskError::Cancelled) => return Err(AskError::Cancelled),
            // A content in a catalogue can never be read.
            Err(error @ AskError::Elsewhere { .. }) => {
                self.note(path, &error, errors);
                return Ok(None);
            }
            read => read.inspect_err(|error| self.note(path, error, errors)),
        };
        Ok(self.here(read.ok().flatten()))
    }

    /// Returns the content that was read from a file. `None` means that it could not be read or is
    /// not the indexed content. Then the answer must not be cached, because the file may change
    /// again while the index stays the same.
    fn here<T>(&self, read: Option<T>) -> Option<T> {
        if read.is_none() {
            self.snapshot.note_outside();
        }
        read
    }

    /// Records a file that vanished. An exact question, which has to read everything, also records
    /// unreadable files.
    fn note(&self, path: &Path, error: &AskError, errors: &mut Vec<SoftError>) {
        if error.means_vanished() {
            errors.push(SoftError::vanished(path.into()));
        } else if self.options.exact {
            errors.push(soft_error(path, error));
        }
    }

    /// Reads the content of the other side of a pair, from the first file in scope that has it.
    fn other(
        &self,
        occurrence: &Occurrence,
        digest: &ContentDigest,
        errors: &mut Vec<SoftError>,
    ) -> Result<Option<Vec<u8>>, AskError> {
        let place = occurrence.place;
        let first = first_holder(self.snapshot, place.content, self.scoped, self.subject.file)?;
        let Some(first) = first else {
            return Ok(None);
        };
        if occurrence.rendition == Rendition::Own && place.member.is_none() {
            return self.read(&first, digest, errors);
        }
        let path = shown(&first, &names(self.snapshot, place)?);
        let extract = |part_reader: &dyn PartReader| extract(&path, part_reader);
        Ok(self.say(&path, extract, (occurrence.rendition, digest), errors))
    }

    /// Extracts a rendition of the file or member at a path, and returns it if it still has this
    /// digest.
    fn say(
        &self,
        path: &Path,
        extract: impl Fn(&dyn PartReader) -> Result<Option<Extracted>, AskError>,
        (rendition, digest): (Rendition, &ContentDigest),
        errors: &mut Vec<SoftError>,
    ) -> Option<Vec<u8>> {
        let part_reader = self.subject.part_reader.as_deref()?;
        let extracted = extract(part_reader)
            .map_err(|error| self.note(path, &error, errors))
            .ok();
        let bytes = extracted.flatten().and_then(|all| all.rendition(rendition));
        self.here(bytes.filter(|bytes| content::digest(bytes) == *digest))
    }
}
