//! Measures many pairs of one question, and reads each content as few times as memory allows.
//!
//! A question about all pairs measures a content against five others on average, and against
//! hundreds if the content is in a family. All threads share a bounded store ([`Recent`]) of
//! contents that are prepared for measuring (`ReadyContent`). So pairs should be ordered by
//! content, and partners should be close to each other, as files of one directory are. The store
//! affects only the time that a question takes, and not the results.
//!
//! A question with a budget measures the pairs with the best estimates until the budget is spent
//! ([`PairProver::measure_best`]). The choice of pairs depends only on the contents, and not on
//! threads or stored measures. So a pair uses its part of the budget even if its measures are
//! stored.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_core::recent::Recent;
use resemble_core::similarity::proof::{self, ComparedBytes, ComparedText, unit_of};
use resemble_core::similarity::{PairKey, Unit};
use resemble_core::{ByteLen, ContentId, ContentKind, Fingerprint, Score};
use resemble_index::{ContentRow, Snapshot};
use resemble_proto::message::SoftError;

use crate::ask::AskError;
use crate::given::{CHECKED, ExternalError};
use crate::parallel::ordered;
use crate::prove::archives::Archives;
use crate::prove::contents::{ContentReader, WantedContent, WantedOfKind};
use crate::prove::exact::{Proven, judged};
use crate::prove::read::LARGEST_READ;

/// The number of bytes of the store if the memory is not bounded.
const USUAL_ROOM: u64 = 128 << 20;

/// Of the contents larger than this, only one is read at a time. Cutting a text into words takes
/// memory of twice its size.
pub const LARGE: ByteLen = ByteLen(4 << 20);

/// The minimum number of bytes of a pair whose measures are stored in the index. Measuring a
/// smaller pair is faster than looking it up.
const KEPT: ByteLen = ByteLen(16 << 10);

/// Two contents, given by their indices (places), and the estimate of their score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DraftPair {
    /// The lesser of the two places.
    pub a: usize,
    /// The greater of the two places.
    pub b: usize,
    /// The estimate of the score.
    pub estimate: Score,
}

/// The measures of a pair, and the sizes of both contents. It is `None` if the pair keeps its
/// estimate.
pub type MeasuredPair = Option<(proof::Proven, (ByteLen, ByteLen))>;

/// Gives access to measures of pairs that another program computed.
pub trait KnownMeasures: fmt::Debug + Sync {
    /// Returns the measures of two contents in this unit, if the other program measured them.
    fn known(
        &self,
        a: ContentId,
        b: ContentId,
        unit: Unit,
    ) -> Result<Option<proof::Proven>, AskError>;
}

/// Measures pairs of contents by reading their files.
#[derive(Debug)]
pub struct PairProver<'a> {
    reader: ContentReader<'a>,
    known: Option<&'a dyn KnownMeasures>,
    asked: Unit,
    ready: Mutex<Recent<Key, Arc<ReadyContent>>>,
    /// This lock is held while a content of more than [`LARGE`] bytes is read. So only one such
    /// content is read at a time.
    large: Mutex<()>,
}

/// A content that is prepared for measuring in one unit.
#[derive(Debug)]
enum ReadyContent {
    /// A text, and its size without templates.
    Words(Box<ComparedText>, ByteLen),
    Bytes(ComparedBytes),
    /// The content cannot be read now, or differs from that in the index.
    Unreadable(SoftError),
}

impl<'a> PairProver<'a> {
    /// Makes a prover for the contents of these files and of their renditions. `room` bounds the
    /// bytes of the prepared contents in the store. The contents of pairs that are being measured
    /// are not included.
    pub fn new(reader: ContentReader<'a>, room: Option<u64>) -> Self {
        Self {
            reader,
            known: None,
            asked: Unit::Words,
            ready: Mutex::new(Recent::new(room.unwrap_or(USUAL_ROOM) as usize)),
            large: Mutex::new(()),
        }
    }

    /// Sets the unit of the measures.
    #[must_use]
    pub const fn asked(mut self, unit: Unit) -> Self {
        self.asked = unit;
        self
    }

    /// Sets the measures that another program computed. A pair with such measures is not measured
    /// again.
    #[must_use]
    pub fn knowing(mut self, known: Option<&'a impl KnownMeasures>) -> Self {
        self.known = known.map(|known| known as &dyn KnownMeasures);
        self
    }

    /// Returns the snapshot of the index that describes the contents.
    pub const fn snapshot(&self) -> &'a Snapshot {
        self.reader.snapshot
    }

    /// Measures two contents that are not identical. Returns `None` if one of them cannot be read
    /// now, is too large, or differs from that in the index.
    pub fn measure(
        &self,
        a: &ContentRow,
        b: &ContentRow,
        min_shared: ByteLen,
    ) -> Result<Option<Proven>, AskError> {
        if a.size > LARGEST_READ || b.size > LARGEST_READ {
            return Ok(None);
        }
        let of = |row: &ContentRow| (WantedContent::of(row), row.kind);
        let measured = self.measures(&of(a), &of(b), &mut Vec::new())?;
        Ok(measured.map(|(found, sizes)| judged(found, sizes, min_shared)))
    }

    /// Measures the pairs of `contents` with the best estimates, until the budget is spent. Returns
    /// the measures in the order of `drafts`, and the errors of reading.
    pub fn measure_best(
        &self,
        contents: &[WantedOfKind],
        drafts: &[DraftPair],
        mut budget: ByteLen,
    ) -> Result<(Vec<MeasuredPair>, Vec<SoftError>), AskError> {
        let mut order: Vec<usize> = (0..drafts.len()).collect();
        let place = |at: usize| (drafts[at].a, drafts[at].b);
        order.sort_unstable_by_key(|&at| (Reverse(drafts[at].estimate), place(at)));
        let size = |place: usize| contents[place].0.size;
        let within = order.iter().take_while(|&&at| {
            let cost = size(drafts[at].a) + size(drafts[at].b);
            let is_enough = cost <= budget;
            budget = budget - cost;
            is_enough
        });
        order.truncate(within.count());
        order.sort_unstable_by_key(|&at| place(at));
        let measure = |at: usize, (): &mut ()| {
            let (a, b) = place(order[at]);
            let mut errors = Vec::new();
            let found = self.measures(&contents[a], &contents[b], &mut errors)?;
            Ok::<_, AskError>((found, errors))
        };
        let mut measured: Vec<MeasuredPair> = vec![None; drafts.len()];
        let mut unread = HashMap::new();
        let found = ordered(order.len(), || (), measure)?;
        for (&at, (found, errors)) in order.iter().zip(found) {
            measured[at] = found;
            let errors = errors.into_iter();
            unread.extend(errors.map(|error| (error.path.as_bytes().to_vec(), error)));
        }
        Ok((measured, unread.into_values().collect()))
    }

    /// Returns the measures of two contents that are not identical. They are taken from the other
    /// program or from the index, or are computed. Returns `None` if one of the contents cannot be
    /// read.
    fn measures(
        &self,
        (a, a_kind): &WantedOfKind,
        (b, b_kind): &WantedOfKind,
        errors: &mut Vec<SoftError>,
    ) -> Result<MeasuredPair, AskError> {
        let snapshot = self.reader.snapshot;
        snapshot.stop().go_on()?;
        let unit = unit_of(*a_kind, *b_kind, self.asked);
        let known = self.known.map(|known| known.known(a.id, b.id, unit));
        if let Some(known) = known.transpose()?.flatten() {
            let (key, _) = PairKey::of(&a.digest, &b.digest, unit);
            if key.0.is_multiple_of(CHECKED)
                && let Some((found, _)) = self.made(a, b, (*a_kind, *b_kind), &mut Vec::new())?
                && found != known
            {
                let (a, b) = (a.digest, b.digest);
                return Err(AskError::Given(ExternalError::Measures { a, b }));
            }
            return Ok(Some((known, (a.size, b.size))));
        }
        let is_kept = a.size + b.size >= KEPT;
        if is_kept && let Some(found) = snapshot.kept_measures(&a.digest, &b.digest, unit) {
            return Ok(Some((found, (a.size, b.size))));
        }
        let found = self.made(a, b, (*a_kind, *b_kind), errors)?;
        if is_kept && let Some((found, _)) = &found {
            snapshot.keep_measures(&a.digest, &b.digest, found);
        }
        Ok(found)
    }

    /// Computes the measures of two contents of these kinds by reading both. Returns `None` if one
    /// of them cannot be read.
    fn made(
        &self,
        a: &WantedContent,
        b: &WantedContent,
        (a_kind, b_kind): (ContentKind, ContentKind),
        errors: &mut Vec<SoftError>,
    ) -> Result<MeasuredPair, AskError> {
        let unit = unit_of(a_kind, b_kind, self.asked);
        let mut ready = |wanted: &WantedContent| {
            let ready = self.ready(wanted, unit)?;
            if let ReadyContent::Unreadable(error) = &*ready {
                errors.push(error.clone());
                return Ok(None);
            }
            Ok::<_, AskError>(Some(ready))
        };
        let Some(one) = ready(a)? else {
            return Ok(None);
        };
        let Some(other) = ready(b)? else {
            return Ok(None);
        };
        Ok(match (&*one, &*other) {
            (ReadyContent::Words(a, size), ReadyContent::Words(b, other)) => {
                let sizes = (*size, *other);
                Some((proof::Proven::in_words(a, b, sizes), sizes))
            }
            (ReadyContent::Bytes(a), ReadyContent::Bytes(b)) => {
                let found = proof::Proven::in_bytes((a, a_kind), (b, b_kind));
                Some((found, (a.size(), b.size())))
            }
            _ => None,
        })
    }

    /// Measures two files of which at least one has members. Returns `None` if there is no reader
    /// of parts, and in the same cases as [`Self::measure`].
    pub fn measure_members(
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
        Ok(archives.measure(owners, self.asked, min_shared)?)
    }

    /// Returns the mean weight of the words of a text (`ShingledText::share_nearest`). Each word
    /// has the weight of the nearest sample of this level. `worth` has the weights of samples; any
    /// other sample has weight 0. Returns `None` if the content is not a text, is too large, or
    /// cannot be read now.
    pub fn share_nearest(
        &self,
        row: &ContentRow,
        level: u8,
        worth: &HashMap<Fingerprint, f64>,
    ) -> Result<Option<f64>, AskError> {
        if row.kind != ContentKind::Text || row.size > LARGEST_READ {
            return Ok(None);
        }
        Ok(match &*self.ready(&WantedContent::of(row), Unit::Words)? {
            ReadyContent::Words(text, _) => {
                let worth = |sample| worth.get(&sample).copied().unwrap_or(0.0);
                Some(text.words().share_nearest(level, worth))
            }
            ReadyContent::Bytes(_) | ReadyContent::Unreadable(_) => None,
        })
    }

    /// Returns a prepared content from the store. If the store does not have it, reads it from a
    /// file.
    fn ready(&self, wanted: &WantedContent, unit: Unit) -> Result<Arc<ReadyContent>, AskError> {
        let key = (wanted.id, unit == Unit::Bytes);
        if let Some(known) = self.ready.lock().get(&key) {
            return Ok(known);
        }
        let _one_at_a_time = (wanted.size > LARGE).then(|| self.large.lock());
        let templates = self.reader.snapshot.templates();
        let ready = |bytes: Vec<u8>| match unit {
            Unit::Words => {
                let size = ByteLen(templates.payload(&bytes).len() as u64);
                ReadyContent::Words(Box::new(ComparedText::without(templates, &bytes)), size)
            }
            Unit::Bytes => ReadyContent::Bytes(ComparedBytes::new(templates.into_payload(bytes))),
        };
        let read = self.reader.read(wanted)?;
        let ready = Arc::new(read.map_or_else(ReadyContent::Unreadable, ready));
        self.ready
            .lock()
            .put(key, Arc::clone(&ready), ready.memory());
        Ok(ready)
    }
}

impl ReadyContent {
    /// Returns the approximate number of bytes of memory of the prepared content.
    fn memory(&self) -> usize {
        /// The overhead of an entry in the store.
        const ENTRY: usize = 64;
        let content = match self {
            Self::Words(text, _) => text.memory(),
            Self::Bytes(bytes) => bytes.memory(),
            Self::Unreadable(_) => 0,
        };
        ENTRY + content
    }
}

/// The id of a content, and true if it is prepared for measuring in bytes.
type Key = (ContentId, bool);
