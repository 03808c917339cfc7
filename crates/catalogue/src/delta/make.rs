//! Makes the delta between two catalogues.

use std::ops::ControlFlow;
use std::path::Path;

use resemble_core::Params;
use resemble_core::params::SamplingParams;
use resemble_index::varint::{put, put_value};

use super::super::format::{CatalogueRecord, EntryKind, PackedContent, put_head};
use super::super::read::CATALOGUE;
use super::super::records::{RecordStream, Sink};
use super::super::{Catalogue, CatalogueError, Details, Head, Samples, Totals};
use super::{Base, CONTENT_OF_BASE, DELTA, KEEP, LOOK_OF_BASE, Numbering, Replay};

/// Makes the delta that leads from the catalogue in `base` to `new`. Passes its bytes to `sink`,
/// until `sink` returns `Break`. Returns the totals of the new catalogue.
///
/// If the base has a maximum number of samples, the samples of `new` are thinned to that number.
/// With denser samples, every content would differ from that of the base.
///
/// # Errors
///
/// Fails if either catalogue cannot be read or is damaged, or if their parameters differ.
pub fn make(base: &Path, mut new: Catalogue, sink: Sink<'_>) -> Result<Totals, CatalogueError> {
    let base = Base::open(base)?;
    let of_base = base.catalogue.head();
    if of_base.params != new.head().params {
        return Err(CatalogueError::Params {
            file: base.catalogue.path().to_owned(),
            theirs: of_base.params.clone(),
            ours: new.head().params.clone(),
        });
    }
    let samples = match (of_base.details.samples, new.head().details.samples) {
        (Samples::AtMost(base), Samples::AtMost(new)) => Samples::AtMost(base.min(new)),
        (Samples::AtMost(base), _) => Samples::AtMost(base),
        (_, new) => new,
    };
    let head = Head {
        details: Details {
            samples,
            ..new.head().details.clone()
        },
        ..new.head().clone()
    };
    let mut stream = RecordStream::new(&DELTA, sink);
    let mut body = base.catalogue.checksum().0.to_vec();
    put_head(&mut body, &head);
    stream.other(1, &body);
    // This stream only computes the digest of the new catalogue; its bytes are dropped.
    let mut nobody = |_: &[u8]| ControlFlow::Continue(());
    let mut whole = RecordStream::new(&CATALOGUE, &mut nobody);
    whole.record(&CatalogueRecord::Head(head));
    let mut maker = Maker {
        upcoming: None,
        base,
        numbering: Numbering::default(),
        stream,
        skipped: 0,
        kept: 0,
    };
    maker.next_of_base()?;
    // `group` collects the contents and looks that precede an entry, because they belong to that
    // entry.
    let mut group = Vec::new();
    let mut totals = None;
    while let Some(mut record) = new.next_record()? {
        if let (CatalogueRecord::Content(content), Samples::AtMost(most)) = (&mut record, samples) {
            let thinned = thinned(content, most);
            *content = thinned.ok_or_else(|| new.forged())?;
        }
        whole.record(&record);
        match record {
            CatalogueRecord::Entry { path, what } => {
                maker.entry(std::mem::take(&mut group), path, what)?;
            }
            CatalogueRecord::End(end) => totals = Some(end),
            record => group.push(record),
        }
    }
    let totals = totals.filter(|_| group.is_empty());
    let totals = totals.ok_or_else(|| new.forged())?;
    maker.finish_kept();
    let mut body = Vec::new();
    put_value(&mut body, &totals);
    body.extend_from_slice(&whole.finish().0);
    maker.stream.other(5, &body);
    maker.stream.finish();
    Ok(totals)
}

/// Thins the samples of a content, so that at most `most` fingerprints are left. Returns `None` if
/// the content is malformed.
fn thinned(content: &PackedContent, most: u32) -> Option<PackedContent> {
    // Thinning does not look at chunks, so their parameters do not matter here.
    let mut digest = content.unpack(&Params::default())?;
    digest.signature = digest.signature.thinned(&SamplingParams::at(0, most));
    Some(PackedContent::pack(&digest))
}

struct Maker<'a> {
    base: Base,
    /// The first entry of the base that is not yet kept or skipped. `None` after the last entry.
    upcoming: Option<(Vec<u8>, EntryKind)>,
    numbering: Numbering,
    stream: RecordStream<'a>,
    /// The number of entries of the base to leave out, counted since the last record was written.
    /// They precede the entries in `kept`.
    skipped: u64,
    /// The number of entries of the base to keep, for which no record is written yet.
    kept: u64,
}

impl Maker<'_> {
    fn next_of_base(&mut self) -> Result<(), CatalogueError> {
        self.upcoming = self.base.entries.next_entry()?;
        Ok(())
    }

    /// Writes an entry of the new catalogue. `group` has the contents and looks that precede the
    /// entry.
    fn entry(
        &mut self,
        mut group: Vec<CatalogueRecord>,
        path: Vec<u8>,
        what: EntryKind,
    ) -> Result<(), CatalogueError> {
        // Both catalogues sort their entries by the bytes of the paths. So entries of the base with
        // smaller paths are not in the new catalogue.
        while let Some(upcoming) = &self.upcoming
            && upcoming.0 < path
        {
            self.skip()?;
        }
        group.push(CatalogueRecord::Entry { path, what });
        if let (Some(upcoming), Some(CatalogueRecord::Entry { path, .. })) =
            (&self.upcoming, group.last())
            && upcoming.0 == *path
        {
            let replay = Replay::of_entry(&self.base, &self.numbering, upcoming.clone())?;
            if replay.records == group {
                self.numbering.came(&replay);
                self.kept += 1;
                return self.next_of_base();
            }
            self.skip()?;
        }
        self.finish_kept();
        group.iter().try_for_each(|record| self.write(record))
    }

    /// Leaves out the next entry of the base.
    fn skip(&mut self) -> Result<(), CatalogueError> {
        self.finish_kept();
        self.skipped += 1;
        self.next_of_base()
    }

    fn finish_kept(&mut self) {
        if self.kept > 0 {
            let mut body = Vec::new();
            put(&mut body, std::mem::take(&mut self.skipped));
            put(&mut body, std::mem::take(&mut self.kept));
            self.stream.other(KEEP, &body);
        }
    }

    /// Writes one record of the new catalogue that no kept entry adds.
    fn write(&mut self, record: &CatalogueRecord) -> Result<(), CatalogueError> {
        match record {
            CatalogueRecord::Content(content) => {
                let of_base = self.base.number(content.digest());
                let of_base = of_base.filter(|it| !self.numbering.contents.contains_key(it));
                if let Some(of_base) = of_base {
                    let mut replay = Replay::default();
                    replay.content(&self.base, &self.numbering, of_base)?;
                    if self.is_replayed(CONTENT_OF_BASE, of_base, &replay, record) {
                        return Ok(());
                    }
                }
                self.numbering.new_content(&self.base, content);
            }
            CatalogueRecord::Look { content, .. } => {
                let of_base = self.numbering.of_base(*content);
                if let Some(of_base) = of_base {
                    let mut replay = Replay::default();
                    replay.look(&self.base, &self.numbering, of_base)?;
                    if self.is_replayed(LOOK_OF_BASE, of_base, &replay, record) {
                        return Ok(());
                    }
                }
                self.numbering.new_look(*content);
            }
            CatalogueRecord::Entry { what, .. } => self.numbering.new_entry(what),
            CatalogueRecord::Head(_) | CatalogueRecord::End(_) => {}
        }
        self.stream.record(record);
        Ok(())
    }

    /// Writes a short reference to the base instead of `record`, if that reference would give the
    /// same record. Returns whether the reference was written.
    fn is_replayed(
        &mut self,
        kind: u8,
        of_base: u32,
        replay: &Replay,
        record: &CatalogueRecord,
    ) -> bool {
        let is_equal = replay.records.as_slice() == std::slice::from_ref(record);
        if is_equal {
            let mut body = Vec::new();
            put(&mut body, u64::from(of_base));
            self.stream.other(kind, &body);
            self.numbering.came(replay);
        }
        is_equal
    }
}
