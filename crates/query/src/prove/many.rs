//! Many pairs of one question, each content read and cut into words as few times as memory allows.
//!
//! A question about all pairs measures one content against five others on average, and against
//! hundreds in a family. What a measure needs of a content ([`ReadyContent`]) is kept in a bounded
//! store that all threads share ([`Recent`]). So pairs should come in an order in which those of
//! one content follow each other, and its partners lie near: files of one directory do.
//!
//! Nothing here depends on what is in the store but time.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_core::recent::Recent;
use resemble_core::similarity::Unit;
use resemble_core::similarity::proof::{self, ComparedBytes, ComparedText, unit_of};
use resemble_core::{ByteLen, ContentId, ContentKind, Fingerprint};
use resemble_index::{ContentRow, Snapshot};

use crate::ask::AskError;
use crate::prove::archives::Archives;
use crate::prove::contents::{ContentReader, WantedContent};
use crate::prove::exact::{Proven, judged};
use crate::prove::read::LARGEST_READ;

/// Bytes of memory that the store takes where memory is not bounded.
const USUAL_ROOM: u64 = 40 << 20;

/// Of contents of more bytes one is read at a time: while it is cut into words it takes memory
/// twice.
const LARGE: ByteLen = ByteLen(4 << 20);

/// Measures of pairs of so many bytes are kept in the index: smaller ones are read and measured
/// sooner than looked up.
const KEPT: ByteLen = ByteLen(16 << 10);

/// Measures pairs of contents where they stand.
#[derive(Debug)]
pub(crate) struct PairProver<'a> {
    reader: ContentReader<'a>,
    ready: Mutex<Recent<Key, Arc<ReadyContent>>>,
    /// Held by who reads a content of more than [`LARGE`] bytes.
    large: Mutex<()>,
}

/// A content ready to be measured in one unit.
#[derive(Debug)]
enum ReadyContent {
    /// As a text, and its size without what is template.
    Words(Box<ComparedText>, ByteLen),
    Bytes(ComparedBytes),
    /// It cannot be read now, or is not what the index has.
    Unreadable,
}

impl<'a> PairProver<'a> {
    /// For the contents of these files, and what stands for them. `room`: the bytes of memory that
    /// contents ready to be measured take, besides those of the pairs being measured.
    pub(crate) fn new(reader: ContentReader<'a>, room: Option<u64>) -> Self {
        Self {
            reader,
            ready: Mutex::new(Recent::new(room.unwrap_or(USUAL_ROOM) as usize)),
            large: Mutex::new(()),
        }
    }

    /// What the contents are known by.
    pub(crate) const fn snapshot(&self) -> &'a Snapshot {
        self.reader.snapshot
    }

    /// Measures two contents that are not identical; `None`: one of them cannot be read now, or is
    /// not what the index has.
    pub(crate) fn measure(
        &self,
        a: &ContentRow,
        b: &ContentRow,
        min_shared: ByteLen,
    ) -> Result<Option<Proven>, AskError> {
        if a.size > LARGEST_READ || b.size > LARGEST_READ {
            return Ok(None);
        }
        let unit = unit_of(a.kind, b.kind, Unit::Words);
        let snapshot = self.reader.snapshot;
        let is_kept = a.size + b.size >= KEPT;
        if is_kept && let Some(found) = snapshot.kept_measures(&a.digest, &b.digest, unit) {
            return Ok(Some(judged(found, (a.size, b.size), min_shared)));
        }
        let one = self.ready(a, unit)?;
        if matches!(*one, ReadyContent::Unreadable) {
            return Ok(None);
        }
        let other = self.ready(b, unit)?;
        let (found, sizes) = match (&*one, &*other) {
            (ReadyContent::Words(a, size), ReadyContent::Words(b, other)) => {
                let sizes = (*size, *other);
                (proof::Proven::in_words(a, b, sizes), sizes)
            }
            (ReadyContent::Bytes(a), ReadyContent::Bytes(b)) => {
                (proof::Proven::in_bytes(a, b), (a.size(), b.size()))
            }
            _ => return Ok(None),
        };
        if is_kept {
            snapshot.keep_measures(&a.digest, &b.digest, &found);
        }
        Ok(Some(judged(found, sizes, min_shared)))
    }

    /// Measures two files, by their contents, of which one at least holds members; `None` as for
    /// [`Self::measure`].
    pub(crate) fn measure_members(
        &self,
        owners: (ContentId, ContentId),
        min_shared: ByteLen,
    ) -> Result<Option<Proven>, AskError> {
        let reader = &self.reader;
        let Some(part_reader) = reader.part_reader else {
            return Ok(None);
        };
        let files = (reader.snapshot, reader.scoped);
        let mut archives = Archives::of(files, reader.renditions, part_reader);
        Ok(archives.measure(owners, Unit::Words, min_shared)?)
    }

    /// The share of a text's words that stand nearest to these samples, by what each of them is
    /// worth ([`ShingledText::share_nearest`]); `None`: it is no text, or cannot be read now.
    pub(crate) fn share_nearest(
        &self,
        row: &ContentRow,
        level: u8,
        worth: &HashMap<Fingerprint, f64>,
    ) -> Result<Option<f64>, AskError> {
        if row.kind != ContentKind::Text || row.size > LARGEST_READ {
            return Ok(None);
        }
        Ok(match &*self.ready(row, Unit::Words)? {
            ReadyContent::Words(text, _) => {
                let worth = |sample| worth.get(&sample).copied().unwrap_or(0.0);
                Some(text.words().share_nearest(level, worth))
            }
            ReadyContent::Bytes(_) | ReadyContent::Unreadable => None,
        })
    }

    /// A content, from the store or from where it stands.
    fn ready(&self, row: &ContentRow, unit: Unit) -> Result<Arc<ReadyContent>, AskError> {
        let key = (row.id, unit == Unit::Bytes);
        if let Some(known) = self.ready.lock().get(&key) {
            return Ok(known);
        }
        let _one_at_a_time = (row.size > LARGE).then(|| self.large.lock());
        let templates = self.reader.snapshot.templates();
        let ready = |bytes: Vec<u8>| {
            let bytes = templates.into_payload(bytes);
            match unit {
                Unit::Words => {
                    let size = ByteLen(bytes.len() as u64);
                    ReadyContent::Words(Box::new(ComparedText::of(&bytes)), size)
                }
                Unit::Bytes => ReadyContent::Bytes(ComparedBytes::new(bytes)),
            }
        };
        // What cannot be read now keeps its estimate.
        let read = self.reader.read(&WantedContent::of(row))?.ok();
        let ready = Arc::new(read.map_or(ReadyContent::Unreadable, ready));
        self.ready
            .lock()
            .put(key, Arc::clone(&ready), ready.memory());
        Ok(ready)
    }
}

impl ReadyContent {
    /// Bytes of memory that it takes, about.
    fn memory(&self) -> usize {
        /// What an entry takes besides.
        const ENTRY: usize = 64;
        let content = match self {
            Self::Words(text, _) => text.memory(),
            Self::Bytes(bytes) => bytes.memory(),
            Self::Unreadable => 0,
        };
        ENTRY + content
    }
}

/// A content and whether it is measured in bytes.
type Key = (ContentId, bool);
