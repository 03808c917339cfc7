//! Performs phases 1 to 3 for new documents. The results are merged with those in the work folder.

use std::fs;
use std::path::{Path, PathBuf};

use resemble_core::ContentDigest;
use resemble_core::hash::content::{ContentHasher, digest};
use resemble_methods::{MethodSignature, Scheme, shingle, super_shingle};
use resemble_relate::AskError;
use resemble_relate::sort::{Merge, Record, SortedRun, Sorter};

use super::ClusterPlan;
use super::cluster::PhaseResults;
use super::files::{
    Generation, PhaseFile, RecordReader, RecordWriter, clear, damaged, failed, make_folder,
    results_header,
};
use super::records::{DocumentRecord, IgnoredShingle, NamedId, ShingleEntry, Triple, array_at};
use super::sketches::{Sketches, framed};
use crate::error::{LabError, PhaseError};

/// A new document with its sketch.
#[derive(Clone, Debug)]
pub struct SketchedDocument {
    /// The digest of the document's bytes.
    pub content: ContentDigest,
    /// The digest of the document's words. Lexically equivalent documents have the same digest. An
    /// unknown digest is all zeros.
    pub words: [u8; 16],
    /// The size of the document in bytes.
    pub size: u64,
    /// The sketch of the document.
    pub sketch: MethodSignature,
}

/// Counts of the documents that phases 2 and 3 leave out, because an equivalent document represents
/// them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Eliminated {
    /// The number of documents that have the same bytes as an earlier document.
    pub identical: u64,
    /// The number of documents that have the same words as an earlier document, including identical
    /// documents. It is 0 if the digests of the words are unknown.
    pub lexical: u64,
    /// The number of documents that have the same sketch as an earlier document, including the
    /// documents in the other two counts.
    pub shingle: u64,
}

/// A batch of documents that is taken through phases 1 to 3.
#[derive(Debug)]
pub struct ClusterBatch {
    folder: PathBuf,
    plan: ClusterPlan,
    id: String,
    /// The number of documents that the work folder had before.
    old: u32,
    sketches: Option<RecordWriter>,
    rows: Option<RecordWriter>,
    documents: u64,
    /// The hasher of the digests of all documents so far. The resulting hash names the state of the
    /// folder.
    names: ContentHasher,
    /// The number of the document that represents each document.
    classes: Vec<u32>,
    /// The offset of each document's sketch.
    offsets: Vec<u64>,
    /// The number of ignored shingles of each document.
    ignored: Vec<u32>,
    triples: Option<Sorter<Triple>>,
    /// The number of bytes that each sort so far wrote to disk.
    scratch: Vec<u64>,
}

impl ClusterBatch {
    /// Opens a work folder and the results in it. A missing folder is made.
    ///
    /// # Errors
    ///
    /// Fails if the method has no shingles, or if the folder cannot be used. Also fails if the
    /// results in the folder are damaged, or were made with other parameters or another seed.
    pub fn begin(folder: &Path, plan: &ClusterPlan) -> Result<Self, LabError> {
        if !matches!(
            plan.params.scheme,
            Scheme::Shingle(_) | Scheme::SuperShingle(_)
        ) {
            return Err(PhaseError::NoShingles.into());
        }
        make_folder(folder)?;
        let id = plan.id();
        let mut batch = Self {
            folder: folder.to_owned(),
            plan: plan.clone(),
            old: 0,
            sketches: Some(RecordWriter::new(folder, PhaseFile::Sketches, &id)?),
            rows: Some(RecordWriter::new(folder, PhaseFile::Documents, &id)?),
            id,
            documents: 0,
            names: ContentHasher::new(),
            classes: Vec::new(),
            offsets: Vec::new(),
            ignored: Vec::new(),
            triples: None,
            scratch: Vec::new(),
        };
        if results_header(folder, &batch.id)?.is_some() {
            batch.take_results()?;
        }
        Ok(batch)
    }

    /// Removes the results in a folder.
    pub fn forget(folder: &Path) -> Result<(), LabError> {
        Ok(clear(folder)?)
    }

    /// Returns the digests of the documents in a folder, in the order of their numbers. Returns
    /// `None` if the folder has no results for this plan.
    pub fn digests(
        folder: &Path,
        plan: &ClusterPlan,
    ) -> Result<Option<Vec<ContentDigest>>, LabError> {
        if results_header(folder, &plan.id())?.is_none() {
            return Ok(None);
        }
        let mut rows = RecordReader::new(&PhaseFile::Documents.path(folder), PhaseFile::Documents)?;
        let mut all = Vec::new();
        while let Some(row) = rows.next::<DocumentRecord>()? {
            all.push(ContentDigest(row.digest));
        }
        Ok(Some(all))
    }

    fn take_results(&mut self) -> Result<(), LabError> {
        let mut rows = RecordReader::new(
            &PhaseFile::Documents.path(&self.folder),
            PhaseFile::Documents,
        )?;
        while let Some(row) = rows.next::<DocumentRecord>()? {
            self.row(&row)?;
        }
        self.old = self.documents as u32;
        let path = PhaseFile::Sketches.path(&self.folder);
        let mut sketches = RecordReader::new(&path, PhaseFile::Sketches)?;
        let mut piece = vec![0; 1 << 18];
        let mut left = sketches.header().bytes;
        while left > 0 {
            let now = left.min(piece.len() as u64) as usize;
            sketches.read(&mut piece[..now])?;
            part(&mut self.sketches)?.copy(&piece[..now])?;
            left -= now as u64;
        }
        sketches.read(&mut [0])?;
        part(&mut self.sketches)?.copied(sketches.header().records);
        Ok(())
    }

    fn row(&mut self, row: &DocumentRecord) -> Result<(), LabError> {
        if self.documents >= u64::from(u32::MAX) {
            return Err(PhaseError::TooMany.into());
        }
        part(&mut self.rows)?.push(row)?;
        self.names.update(&row.digest);
        self.offsets.push(row.at);
        self.documents += 1;
        Ok(())
    }

    /// Performs phase 1 for a document: adds its sketch to the folder.
    pub fn add(&mut self, document: &SketchedDocument) -> Result<(), LabError> {
        let bytes = framed(&document.sketch);
        let at = part(&mut self.sketches)?.put(&bytes)?;
        let shingles = shingle::sketch(&document.sketch).map_or(0, |(_, values)| values.len());
        let content = document.content.0;
        let sketch = if shingles == 0 {
            // All documents without shingles have equal sketches. So the digest of the bytes is
            // used instead, which only documents with the same bytes have in common.
            array_at(&content, 0)
        } else {
            array_at(&digest(&bytes).0, 0)
        };
        self.row(&DocumentRecord {
            digest: content,
            words: document.words,
            sketch,
            size: document.size,
            at,
            shingles: shingles as u32,
            ignored: 0,
            class: 0,
        })
    }

    /// Returns the number of documents so far, including those that were in the folder.
    pub const fn documents(&self) -> u64 {
        self.documents
    }

    /// Returns the size of all sketches so far, in bytes.
    pub fn sketch_bytes(&self) -> u64 {
        self.sketches.as_ref().map_or(0, RecordWriter::bytes)
    }

    /// Returns the number of bytes that each sort so far wrote to disk. The sorts of the
    /// elimination are first. Then follow the sort of shingles and the sort of pairs.
    pub fn sorted_bytes(&self) -> &[u64] {
        &self.scratch
    }

    fn room(&self) -> u64 {
        (self.plan.memory / 2).max(1 << 14)
    }

    fn generation(&self) -> Generation {
        array_at(&self.names.clone().finish().0, 0)
    }

    fn sorter<R: Record>(&self) -> Result<Sorter<R>, LabError> {
        Ok(Sorter::new(Some(self.room()), &self.folder)?)
    }

    fn merge<R: Record>(&mut self, sorter: Sorter<R>) -> Result<Merge<R>, LabError> {
        let runs: Vec<SortedRun<R>> = sorter.finish()?;
        self.scratch.push(runs.iter().map(SortedRun::bytes).sum());
        Ok(Merge::new(runs, Some(self.room()), &self.folder)?)
    }

    /// Ends phase 1 and finds the documents with equal sketches.
    pub fn eliminate(&mut self) -> Result<Eliminated, LabError> {
        let generation = self.generation();
        for writer in [self.sketches.take(), self.rows.take()]
            .into_iter()
            .flatten()
        {
            writer.finish(generation)?;
        }
        let documents = self.documents as usize;
        self.classes = (0..documents as u32).collect();
        let mut eliminated = Eliminated::default();
        if self.plan.eliminate {
            eliminated.identical = self.same(|row| array_at(&row.digest, 0), false)?;
            eliminated.lexical = self.same(|row| row.words, false)?;
            eliminated.shingle = self.same(|row| row.sketch, true)?;
        }
        Ok(eliminated)
    }

    /// Counts the documents for which `name` returns the same digest as for a document with a
    /// lesser number. A digest of zeros is unknown, so it equals no other digest. With `classes`,
    /// the first document with a digest represents the others.
    fn same(
        &mut self,
        name: impl Fn(&DocumentRecord) -> [u8; 16],
        classes: bool,
    ) -> Result<u64, LabError> {
        let mut sorter = self.sorter::<NamedId>()?;
        let mut rows = RecordReader::new(
            &PhaseFile::Documents.part(&self.folder),
            PhaseFile::Documents,
        )?;
        for id in 0..self.documents as u32 {
            if let Some(row) = rows.next::<DocumentRecord>()? {
                let name = name(&row);
                if name != [0; 16] {
                    sorter.push(NamedId { name, id })?;
                }
            }
        }
        let mut merge = self.merge(sorter)?;
        let (mut found, mut first) = (0, None::<NamedId>);
        while let Some(next) = merge.next()? {
            match first {
                Some(first) if first.name == next.name => {
                    found += 1;
                    if classes {
                        self.classes[next.id as usize] = first.id;
                    }
                }
                _ => first = Some(next),
            }
        }
        Ok(found)
    }

    /// Performs phase 2: sorts the entries <shingle, id>. Returns the number of entries, and the
    /// number of distinct shingles.
    pub fn merge_shingles(&mut self) -> Result<(u64, u64), LabError> {
        match &self.plan.params.scheme {
            Scheme::SuperShingle(params) => {
                let length = params.length as usize;
                self.entries::<8>(&|sketch| super_shingle::super_shingles(sketch, length))
            }
            _ => self.entries::<5>(&<[u64]>::to_vec),
        }
    }

    fn entries<const KEY: usize>(
        &mut self,
        shingles: &dyn Fn(&[u64]) -> Vec<u64>,
    ) -> Result<(u64, u64), LabError> {
        let sketches = Sketches::open(&PhaseFile::Sketches.part(&self.folder))?;
        let mut sorter = self.sorter::<ShingleEntry<KEY>>()?;
        for id in self.old..self.documents as u32 {
            if self.classes[id as usize] != id {
                continue;
            }
            let signature = sketches.at(self.offsets[id as usize])?;
            let (_, sketch) = shingle::sketch(&signature).unwrap_or_default();
            for shingle in shingles(sketch) {
                sorter.push(ShingleEntry::<KEY> { shingle, id })?;
            }
        }
        let mut new = self.merge(sorter)?;
        let mut earlier = self.results_reader(PhaseFile::Shingles)?;
        let mut out = RecordWriter::new(&self.folder, PhaseFile::Shingles, &self.id)?;
        let mut ahead = (next_of::<ShingleEntry<KEY>>(earlier.as_mut())?, new.next()?);
        let (mut distinct, mut last) = (0, None);
        while let Some(entry) = match ahead {
            (Some(old), Some(fresh)) => Some(old.min(fresh)),
            (old, fresh) => old.or(fresh),
        } {
            if ahead.0 == Some(entry) {
                ahead.0 = next_of(earlier.as_mut())?;
            } else {
                ahead.1 = new.next()?;
            }
            out.push(&entry)?;
            distinct += u64::from(last.replace(entry.shingle) != Some(entry.shingle));
        }
        let records = out.records();
        out.finish(self.generation())?;
        Ok((records, distinct))
    }

    fn results_reader(&self, kind: PhaseFile) -> Result<Option<RecordReader>, LabError> {
        if self.old == 0 {
            return Ok(None);
        }
        Ok(Some(RecordReader::new(&kind.path(&self.folder), kind)?))
    }

    /// Performs the first half of phase 3: forms the pairs of documents that share a shingle, if at
    /// least one of them is new. Returns the number of records. A pair has one record for each
    /// shingle that its documents share.
    pub fn form_pairs(&mut self) -> Result<u64, LabError> {
        match self.plan.params.scheme {
            Scheme::SuperShingle(_) => self.pairs::<8>(false),
            _ => self.pairs::<5>(true),
        }
    }

    fn pairs<const KEY: usize>(&mut self, form: bool) -> Result<u64, LabError> {
        let mut entries =
            RecordReader::new(&PhaseFile::Shingles.part(&self.folder), PhaseFile::Shingles)?;
        let mut out = RecordWriter::new(&self.folder, PhaseFile::Ignored, &self.id)?;
        let mut sorter = self.sorter::<Triple>()?;
        let limit = self
            .plan
            .common
            .map_or(usize::MAX, |common| common as usize);
        self.ignored = vec![0; self.documents as usize];
        let (mut formed, mut list, mut shingle) = (0, Vec::new(), None);
        loop {
            let entry = entries.next::<ShingleEntry<KEY>>()?;
            if shingle != entry.map(|entry| entry.shingle) {
                if let Some(shingle) = shingle {
                    let mut push = |a, b, count| {
                        formed += 1;
                        sorter.push(Triple { a, b, count })
                    };
                    let old = list.partition_point(|&id| id < self.old);
                    if list.len() > limit {
                        for &id in &list {
                            self.ignored[id as usize] += 1;
                        }
                        out.push(&IgnoredShingle {
                            shingle,
                            documents: list.len() as u32,
                            id: list[0],
                        })?;
                        if form && old <= limit {
                            each_pair(&list[..old], 0, &mut |a, b| push(a, b, -1))?;
                        }
                    } else if form {
                        each_pair(&list, old, &mut |a, b| push(a, b, 1))?;
                    }
                }
                list.clear();
                shingle = entry.map(|entry| entry.shingle);
            }
            let Some(entry) = entry else { break };
            if u64::from(entry.id) >= self.documents {
                let path = PhaseFile::Shingles.part(&self.folder);
                return Err(damaged(&path, "the number of a document is too high").into());
            }
            list.push(entry.id);
        }
        out.finish(self.generation())?;
        self.triples = Some(sorter);
        Ok(formed)
    }

    /// Performs the second half of phase 3: adds up the counts of each pair, merges the sums with
    /// the counts in the folder, and replaces the results there. Returns the number of pairs.
    pub fn merge_pairs(&mut self) -> Result<u64, LabError> {
        let sorter = match self.triples.take() {
            Some(sorter) => sorter,
            None => self.sorter()?,
        };
        let mut new = self.merge(sorter)?;
        let mut earlier = self.results_reader(PhaseFile::Pairs)?;
        let mut out = RecordWriter::new(&self.folder, PhaseFile::Pairs, &self.id)?;
        let mut ahead = (next_of::<Triple>(earlier.as_mut())?, new.next()?);
        let pair = |triple: Triple| (triple.a, triple.b);
        loop {
            let triple = match ahead {
                (Some(old), Some(fresh)) if pair(old) == pair(fresh) => {
                    ahead = (next_of(earlier.as_mut())?, new.next()?);
                    Triple {
                        count: old.count.saturating_add(fresh.count),
                        ..old
                    }
                }
                (Some(old), Some(fresh)) if pair(old) > pair(fresh) => {
                    ahead.1 = new.next()?;
                    fresh
                }
                (Some(old), _) => {
                    ahead.0 = next_of(earlier.as_mut())?;
                    old
                }
                (None, Some(fresh)) => {
                    ahead.1 = new.next()?;
                    fresh
                }
                (None, None) => break,
            };
            if triple.count > 0 {
                out.push(&triple)?;
            }
        }
        let pairs = out.records();
        out.finish(self.generation())?;
        self.write_rows()?;
        for kind in PhaseFile::ALL {
            let (from, to) = (kind.part(&self.folder), kind.path(&self.folder));
            fs::rename(&from, &to).map_err(|error| failed(&to, error))?;
        }
        Ok(pairs)
    }

    /// Writes the records of the documents again, now with their classes and their numbers of
    /// ignored shingles.
    fn write_rows(&mut self) -> Result<(), LabError> {
        let path = PhaseFile::Documents.part(&self.folder);
        let mut rows = RecordReader::new(&path, PhaseFile::Documents)?;
        // The writer replaces the file that the reader has open. The reader still reads the old
        // file.
        let mut out = RecordWriter::new(&self.folder, PhaseFile::Documents, &self.id)?;
        let mut id = 0;
        while let Some(row) = rows.next::<DocumentRecord>()? {
            out.push(&DocumentRecord {
                class: self.classes[id],
                ignored: self.ignored[id],
                ..row
            })?;
            id += 1;
        }
        Ok(out.finish(self.generation())?)
    }

    /// Runs phases 2 and 3 and returns the results.
    pub fn settle(mut self) -> Result<(PhaseResults, Eliminated), LabError> {
        let eliminated = self.eliminate()?;
        self.merge_shingles()?;
        self.form_pairs()?;
        self.merge_pairs()?;
        Ok((PhaseResults::open(&self.folder, &self.plan)?, eliminated))
    }
}

/// Returns a writer that is open until phase 1 ends.
fn part(writer: &mut Option<RecordWriter>) -> Result<&mut RecordWriter, PhaseError> {
    writer
        .as_mut()
        .ok_or_else(|| damaged(Path::new("."), "documents came after phase 1"))
}

fn next_of<R: Record>(reader: Option<&mut RecordReader>) -> Result<Option<R>, PhaseError> {
    reader.map_or(Ok(None), RecordReader::next)
}

/// Calls `push` for every pair of an ascending list whose greater element is at index `from` or
/// later.
fn each_pair(
    list: &[u32],
    from: usize,
    push: &mut dyn FnMut(u32, u32) -> Result<(), AskError>,
) -> Result<(), AskError> {
    for (at, &b) in list.iter().enumerate().skip(from) {
        for &a in &list[..at] {
            push(a, b)?;
        }
    }
    Ok(())
}
