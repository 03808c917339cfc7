//! Measures on what the files say, instead of on samples.
//!
//! Every pair of renditions but wholes can be measured exactly: what stands for a file is made of
//! it anew, and counts only if it still is what the index has. Texts that somebody made of
//! documents are measured as words ([`crate::prove::words`]): where their lines end is of no
//! meaning. Two files are measured on their bytes, and as words where that is more to say.

use std::collections::HashMap;
use std::path::Path;

use resemble_core::hash::content;
use resemble_core::numbers::only_numbers;
use resemble_core::{ByteLen, ContentDigest, ContentKind, Measures, Relation, similarity};
use resemble_index::{ContentRow, Snapshot};
use resemble_proto::message::{FindOptions, Layer, SoftError};

use super::{Subject, holders};
use crate::ask::{AskError, soft_error};
use crate::judge::matched::{Match, all_words};
use crate::prove::exact::exact_payload;
use crate::prove::extracted::extract;
use crate::prove::read::{LARGEST_READ, bytes_of};
use crate::prove::words::{as_words, measure_words};
use crate::renditions::{Occurrence, Rendition, names, shown};
use crate::scope::ScopedFiles;

/// Reads what exact measures need.
pub(super) struct Exact<'a> {
    snapshot: &'a Snapshot,
    scoped: Option<&'a ScopedFiles>,
    subject: &'a Subject,
    options: &'a FindOptions,
    min_shared: ByteLen,
    /// What was read of the subject.
    subjects: HashMap<Rendition, Option<Vec<u8>>>,
    pub(super) errors: Vec<SoftError>,
}

impl<'a> Exact<'a> {
    /// For the rows of a subject; `None`: nobody asked, or what it is cannot be read.
    pub(super) fn of(
        snapshot: &'a Snapshot,
        scoped: Option<&'a ScopedFiles>,
        subject: &'a Subject,
        options: &'a FindOptions,
        min_shared: ByteLen,
    ) -> Result<Option<Self>, AskError> {
        let Some(path) = subject.path.as_deref().filter(|_| options.exact) else {
            return Ok(None);
        };
        let mut subjects = HashMap::new();
        if subject.member.is_none() {
            let small = subject.digest.size <= LARGEST_READ;
            let bytes = small.then(|| bytes_of(path)).transpose()?;
            subjects.insert(Rendition::Own, bytes);
        }
        Ok(Some(Self {
            snapshot,
            scoped,
            subject,
            options,
            min_shared,
            subjects,
            errors: Vec::new(),
        }))
    }

    /// Measures a rendition of the subject against a content that stands for another place; `None`:
    /// it is an estimate's business.
    pub(super) fn measure(
        &mut self,
        (rendition, digest): (Rendition, &ContentDigest),
        (occurrence, row): (&Occurrence, &ContentRow),
    ) -> Result<Option<Match>, AskError> {
        if row.size > LARGEST_READ {
            return Ok(None);
        }
        if !self.subjects.contains_key(&rendition) {
            let names = self.subject.member.as_deref().unwrap_or_default();
            let path = self.subject.path.as_deref();
            let read = path.and_then(|path| self.say(&shown(path, names), rendition, digest));
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
        let files = (rendition, occurrence.rendition) == (Rendition::Own, Rendition::Own);
        Ok(Some(self.compare(own, &other, files)))
    }

    fn compare(&self, a: &[u8], b: &[u8], files: bool) -> Match {
        let kinds = (ContentKind::of(a), ContentKind::of(b));
        let texts = kinds == (ContentKind::Text, ContentKind::Text);
        let templates = self.snapshot.templates();
        let numbers = texts.then(|| only_numbers(a, b, 0)).flatten();
        let numbers = numbers.map(|numbers| numbers.count);
        if texts && !files {
            let (a, b) = (templates.payload(a), templates.payload(b));
            let (relation, measures, sizes) =
                measure_words(&a, &b, self.options.unit.into(), self.min_shared);
            let measures = told(relation, measures);
            return Match {
                numbers,
                ..Match::new(relation, Layer::Text, measures, sizes)
            };
        }
        let (measures, sizes) = exact_payload(templates, a, b, self.options.unit.into());
        let relation = similarity::relation(false, sizes.0, sizes.1, &measures, self.min_shared);
        if files && self.options.text {
            let (a, b) = (templates.payload(a), templates.payload(b));
            let unit = self.options.unit.into();
            let as_words = as_words(&a, &b, unit, relation, self.min_shared);
            if let Some(words) = as_words {
                let relation = Some(words.relation);
                let measures = told(relation, words.measures);
                return Match {
                    numbers,
                    ..Match::new(relation, Layer::Text, measures, words.sizes)
                };
            }
        }
        let layer = if files { Layer::Bytes } else { Layer::Text };
        Match {
            numbers,
            ..Match::new(relation, layer, measures, sizes)
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
            return Ok(bytes_of(first)
                .map_err(|error| self.errors.push(soft_error(first, &error)))
                .ok());
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
            .map_err(|error| self.errors.push(soft_error(path, &error)))
            .ok()??;
        let bytes = match rendition {
            Rendition::Own => Some(extracted.own),
            Rendition::Text | Rendition::Unpacked => extracted.text,
            Rendition::WholeText | Rendition::WholeBytes => None,
        };
        bytes.filter(|bytes| content::digest(bytes) == *digest)
    }
}

/// Measures of words, as they are told of contents that are not equal.
fn told(relation: Option<Relation>, measures: Measures) -> Measures {
    match relation {
        Some(Relation::SameText) => all_words(&measures),
        _ => measures,
    }
}
