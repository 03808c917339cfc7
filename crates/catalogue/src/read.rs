//! Reads the records of a catalogue.

use std::ops::Range;
use std::path::Path;

use resemble_core::{ContentDigest, Digest, Params};
use resemble_index::varint::Reader;

use super::format::{self, Apart, CatalogueRecord, Decoder, MAGIC, PackedContent, SIGNED};
use super::records::{DELTA_MAGIC, RecordFile, RecordFormat, begins_with};
use super::{CatalogueError, Head, Totals};

/// The file format of catalogues.
pub(super) const CATALOGUE: RecordFormat = RecordFormat {
    magic: MAGIC,
    other: "it is not a catalogue; `resemble catalogue write` writes one",
};

/// Returns whether a file begins with the magic bytes of a catalogue. A question accepts such a
/// file in place of a directory. Returns false if the path is not a regular file.
pub fn is_catalogue(file: &Path) -> bool {
    begins_with(file, MAGIC)
}

/// A catalogue whose digest was verified.
#[derive(Debug)]
pub struct Catalogue {
    records: RecordFile,
    head: Head,
    decoder: Decoder,
}

/// Opens a catalogue, and reads it once to verify that it is complete and undamaged.
pub fn open(path: &Path) -> Result<Catalogue, CatalogueError> {
    if begins_with(path, DELTA_MAGIC) {
        return Err(CatalogueError::Damaged {
            file: path.to_owned(),
            what: "it is a delta; `resemble catalogue join` combines it with its base",
        });
    }
    let mut records = RecordFile::open(path, &CATALOGUE)?;
    let head = match records.next()? {
        Some((1, body)) => {
            let mut reader = Reader(&body);
            let head = format::head(&mut reader).and_then(|head| reader.end(head));
            head.ok_or_else(|| records.forged())?
        }
        _ => return Err(records.forged()),
    };
    Ok(Catalogue {
        records,
        head,
        decoder: Decoder::default(),
    })
}

/// The content that a record is about.
pub(super) enum RecordName {
    Content(ContentDigest),
    LookOf(u32),
}

impl Catalogue {
    /// Returns the head of the catalogue.
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// Returns the digest that names the catalogue.
    pub const fn checksum(&self) -> &ContentDigest {
        self.records.checksum()
    }

    /// Returns the path of the file.
    pub fn path(&self) -> &Path {
        self.records.path()
    }

    /// Reads the catalogue to its end, and returns the totals in its last record.
    pub fn totals(mut self) -> Result<Totals, CatalogueError> {
        while let Some((kind, body)) = self.records.next()? {
            if kind == 5 {
                let mut reader = Reader(&body);
                return reader.value().ok_or_else(|| self.forged());
            }
        }
        Err(self.forged())
    }

    /// Makes the error for records that contradict each other.
    pub fn forged(&self) -> CatalogueError {
        self.records.forged()
    }

    /// Makes the error for a record that was skipped before and is found to be invalid now. If the
    /// file is unchanged, its records contradict each other. Otherwise the file was changed in the
    /// meantime.
    fn unlike(&self) -> CatalogueError {
        match RecordFile::open(self.path(), &CATALOGUE) {
            Ok(now) if now.checksum() == self.checksum() => self.forged(),
            _ => self.records.changed(),
        }
    }

    /// Returns the position of the last record's body in the file.
    pub fn last_body(&self) -> Range<u64> {
        self.records.last_body()
    }

    /// Reads a content from a record that was passed before. `body` is the position of the body of
    /// that record.
    pub fn content_at(&self, body: &Range<u64>, params: &Params) -> Result<Digest, CatalogueError> {
        let digest = self.packed_at(body)?.unpack(params);
        digest.ok_or_else(|| self.unlike())
    }

    /// Reads a content in packed form from a record that was passed before. `body` is the position
    /// of the body of that record.
    pub(super) fn packed_at(&self, body: &Range<u64>) -> Result<PackedContent, CatalogueError> {
        let content = PackedContent::of_body(self.records.body_at(body)?);
        content.ok_or_else(|| self.unlike())
    }

    /// Reads the look of a content from a record that was passed before. `body` is the position of
    /// the body of that record.
    pub(super) fn look_at(&self, body: &Range<u64>) -> Result<Option<Apart>, CatalogueError> {
        let bytes = self.records.body_at(body)?;
        let mut reader = Reader(&bytes);
        let look = format::look(&mut reader);
        match look.and_then(|look| reader.end(look)) {
            Some(CatalogueRecord::Look { apart, .. }) => Ok(apart),
            _ => Err(self.unlike()),
        }
    }

    /// Returns the next record after the head, and skips the signatures of earlier versions. At the
    /// end verifies the digest again, and returns `None`.
    pub fn next_record(&mut self) -> Result<Option<CatalogueRecord>, CatalogueError> {
        loop {
            let Some((kind, body)) = self.records.next()? else {
                return Ok(None);
            };
            if kind != SIGNED {
                let record = self.decoder.record(kind, body);
                return record.map(Some).ok_or_else(|| self.forged());
            }
        }
    }

    /// Reads on to the next content or look (the parts that were found in a content). Returns the
    /// digest of that content, or the number of the content that the look is about. Returns `None`
    /// at the end. The rest of the record is not checked here.
    pub(super) fn next_name(&mut self) -> Result<Option<RecordName>, CatalogueError> {
        loop {
            let Some((kind, body)) = self.records.next()? else {
                return Ok(None);
            };
            let mut reader = Reader(&body);
            let name = match kind {
                2 => reader
                    .array()
                    .map(|of| RecordName::Content(ContentDigest(of))),
                3 => reader.u32().map(RecordName::LookOf),
                _ => continue,
            };
            return name.map(Some).ok_or_else(|| self.forged());
        }
    }

    /// Returns the next entry, and skips all other records. Returns `None` at the end.
    pub(super) fn next_entry(
        &mut self,
    ) -> Result<Option<(Vec<u8>, format::EntryKind)>, CatalogueError> {
        loop {
            match self.records.next()? {
                None => return Ok(None),
                Some((4, body)) => {
                    let mut reader = Reader(&body);
                    let entry = self.decoder.entry(&mut reader);
                    let entry = entry.and_then(|entry| reader.end(entry));
                    return entry.map(Some).ok_or_else(|| self.forged());
                }
                Some(_) => {}
            }
        }
    }
}
