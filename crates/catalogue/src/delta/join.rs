//! Makes the new catalogue from a base and a delta.

use std::path::Path;

use resemble_core::ContentDigest;
use resemble_index::varint::Reader;

use super::super::format::{CHECKSUM, CatalogueRecord, Decoder};
use super::super::read::CATALOGUE;
use super::super::records::{RecordStream, Sink};
use super::super::{CatalogueError, Totals};
use super::{Base, CONTENT_OF_BASE, Delta, KEEP, LOOK_OF_BASE, Numbering, Replay};

/// Makes the new catalogue from the catalogue in `base` and a delta. Passes its bytes to `sink`,
/// until `sink` returns `Break`. Returns the totals of the new catalogue.
///
/// The caller must not use the bytes before this function returns, because their digest is verified
/// only at the end. The digest is not verified if `sink` returned `Break`.
///
/// # Errors
///
/// Fails if `base` is not the delta's base, or if the result does not have the digest that the
/// delta states. Also fails if either file cannot be read or is damaged.
pub fn join(base: &Path, mut delta: Delta, sink: Sink<'_>) -> Result<Totals, CatalogueError> {
    let base = Base::open(base)?;
    if base.catalogue.checksum() != delta.base() {
        return Err(CatalogueError::OtherBase {
            delta: delta.records.path().to_owned(),
            base: base.catalogue.path().to_owned(),
        });
    }
    let mut joiner = Joiner {
        stream: RecordStream::new(&CATALOGUE, sink),
        numbering: Numbering::default(),
        decoder: Decoder::default(),
        base,
    };
    let head = CatalogueRecord::Head(delta.head().clone());
    joiner.stream.record(&head);
    let mut end = None;
    while let Some((kind, body)) = delta.records.next()? {
        let done = if end.is_some() {
            None
        } else if kind == 5 {
            end = end_of(&body);
            end.map(|_| ())
        } else {
            joiner.record(kind, body)?
        };
        done.ok_or_else(|| delta.records.forged())?;
    }
    let (totals, checksum) = end.ok_or_else(|| delta.records.forged())?;
    joiner.stream.record(&CatalogueRecord::End(totals));
    let is_broken = joiner.stream.is_broken();
    let made = joiner.stream.finish();
    if made == checksum || is_broken {
        Ok(totals)
    } else {
        Err(delta.records.forged())
    }
}

/// Reads the totals and the digest of the new catalogue from the last record of a delta.
fn end_of(body: &[u8]) -> Option<(Totals, ContentDigest)> {
    let mut reader = Reader(body);
    let totals = reader.value()?;
    let checksum = ContentDigest(reader.array::<CHECKSUM>()?);
    reader.end((totals, checksum))
}

struct Joiner<'a> {
    stream: RecordStream<'a>,
    numbering: Numbering,
    decoder: Decoder,
    base: Base,
}

impl Joiner<'_> {
    /// Writes the records that one record of the delta describes. Returns `None` if the record of
    /// the delta is invalid.
    fn record(&mut self, kind: u8, body: Vec<u8>) -> Result<Option<()>, CatalogueError> {
        let mut reader = Reader(&body);
        match kind {
            KEEP => {
                let both = reader.u64().zip(reader.u64());
                let Some((skipped, kept)) = both.and_then(|both| reader.end(both)) else {
                    return Ok(None);
                };
                for _ in 0..skipped {
                    if self.base.entries.next_entry()?.is_none() {
                        return Ok(None);
                    }
                }
                for _ in 0..kept {
                    let Some(entry) = self.base.entries.next_entry()? else {
                        return Ok(None);
                    };
                    let replay = Replay::of_entry(&self.base, &self.numbering, entry)?;
                    self.replay(&replay);
                }
            }
            CONTENT_OF_BASE | LOOK_OF_BASE => {
                let number = reader.u32();
                let Some(number) = number.and_then(|number| reader.end(number)) else {
                    return Ok(None);
                };
                let mut replay = Replay::default();
                if kind == CONTENT_OF_BASE {
                    replay.content(&self.base, &self.numbering, number)?;
                } else {
                    replay.look(&self.base, &self.numbering, number)?;
                    if replay.looked.is_none() {
                        return Ok(None);
                    }
                }
                self.replay(&replay);
            }
            _ => match self.decoder.record(kind, body) {
                Some(record) => {
                    match &record {
                        CatalogueRecord::Content(content) => {
                            self.numbering.new_content(&self.base, content);
                        }
                        CatalogueRecord::Look { content, .. } => self.numbering.new_look(*content),
                        CatalogueRecord::Entry { what, .. } => self.numbering.new_entry(what),
                        CatalogueRecord::Head(_) | CatalogueRecord::End(_) => return Ok(None),
                    }
                    self.stream.record(&record);
                }
                None => return Ok(None),
            },
        }
        Ok(Some(()))
    }

    fn replay(&mut self, replay: &Replay) {
        for record in &replay.records {
            self.stream.record(record);
        }
        self.numbering.came(replay);
    }
}
