//! Finds common pieces and connected contents in one pass over the sorted (piece, content) records.
//!
//! The method is Forman, Eshghi & Chiocchetti 2005, section 2.5, steps 1 to 3. The files of the
//! paper are contents here, and its chunks are chunks and samples. In the sorted records, the
//! contents with the same piece are adjacent. So one pass
//!
//! * counts the contents with each piece. Pieces of too many contents are ignored, like the
//!   "ubiquitous headers" of the paper. The count of any other piece determines its worth;
//! * joins the contents with the same piece into a set, unless the piece is ignored. Contents in
//!   different sets have nothing in common, so each set is an independent problem.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};

use resemble_core::cluster::UnionFind;
use resemble_core::similarity::discount::FREE;
use resemble_core::similarity::frame::{self, HeldSample};
use resemble_core::{ContentId, ContentKind, Fingerprint, Signature};
use resemble_index::{PostingKind, ReadError, Snapshot};

use super::accounts::Accounts;
use super::table::Table;
use crate::AskError;
use crate::copies::are_near;
use crate::nominate::evidence::{
    CHUNK, Counts, StoredSketch, chunk_keys, fingerprint_keys, piece_of,
};
use crate::nominate::families::{Families, FamilyNames, NearCopies};
use crate::nominate::frames::{self, SampleHolders};
use crate::nominate::levels::SignatureLevels;
use crate::parallel::{in_a_step, in_parallel, named, on_threads, threads};
use crate::prove::many::PairProver;
use crate::sort::{MemoryBudget, Merge, Record, SortedRun, Sorter, put_words, take_words};

/// A piece of a content: the kind in the top bit, then the key, then the content's place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Posting {
    // The key is in two halves, so that the record takes 12 bytes. A `u64` would pad it to 16.
    high: u32,
    low: u32,
    place: u32,
}

impl Posting {
    fn new(kind: PostingKind, key: u64, place: u32) -> Self {
        let key = piece_of(kind, key);
        Self {
            high: (key >> 32) as u32,
            low: key as u32,
            place,
        }
    }

    fn piece(self) -> (PostingKind, u64) {
        let key = u64::from(self.high) << 32 | u64::from(self.low);
        if key & CHUNK == 0 {
            (PostingKind::Fingerprint, key)
        } else {
            (PostingKind::Chunk, key & !CHUNK)
        }
    }
}

impl Record for Posting {
    const BYTES: usize = 12;

    fn put(&self, out: &mut [u8]) {
        put_words(&[self.high, self.low, self.place], out);
    }

    fn take(bytes: &[u8]) -> Self {
        let [high, low, place] = take_words(bytes);
        Self { high, low, place }
    }
}

/// The results of one pass over all pieces.
#[derive(Debug)]
pub struct CommonPieces {
    /// For each piece that several contents have, the number of these contents.
    pub counts: Counts,
    /// Pieces that are ignored because too many unrelated contents have them.
    pub ignored: u64,
    /// For each place, the least place of its set. A set consists of the contents that are
    /// connected, directly or indirectly, by pieces that are not ignored.
    pub sets: Vec<u32>,
    /// Families of many near-copies.
    pub families: Families,
    /// True if each smaller family of near-copies was also counted as one content.
    pub counts_smaller_families: bool,
    /// The samples of which frames may consist.
    pub samples: CommonSamples,
}

impl CommonPieces {
    /// Returns the object that finds the contents with a sample, for samples of which frames may
    /// consist.
    pub const fn holders<'a>(&'a self, table: &'a Table) -> TableHolders<'a> {
        TableHolders {
            samples: &self.samples,
            table,
        }
    }
}

/// The samples that at least a dozen contents have.
#[derive(Debug)]
pub struct CommonSamples {
    /// The number of common samples of each content. The index is the place of the content.
    counts: Vec<u16>,
    /// The start and the length of each sample's run in `places`.
    at: HashMap<Fingerprint, (usize, usize)>,
    /// The places of the contents that have each sample, one sample after the other. Samples of too
    /// many contents are left out.
    places: Vec<u32>,
    /// The level of each content's samples. The index is the place of the content.
    levels: Vec<u8>,
}

impl CommonSamples {
    fn among(levels: Vec<u8>) -> Self {
        Self {
            counts: vec![0; levels.len()],
            at: HashMap::new(),
            places: Vec::new(),
            levels,
        }
    }

    fn note(&mut self, sample: Fingerprint, places: &[u32]) {
        for &place in places {
            let count = &mut self.counts[place as usize];
            *count = count.saturating_add(1);
        }
        self.at.insert(sample, (self.places.len(), places.len()));
        if places.len() <= frames::MOST {
            self.places.extend_from_slice(places);
        }
    }

    /// Returns the number of common samples of the content at a place.
    pub fn of(&self, place: u32) -> usize {
        usize::from(self.counts[place as usize])
    }
}

/// Finds the contents that have a sample, among the pieces that were read.
#[derive(Debug)]
pub struct TableHolders<'a> {
    samples: &'a CommonSamples,
    table: &'a Table,
}

impl SampleHolders for TableHolders<'_> {
    fn level(&self, content: ContentId) -> u8 {
        let place = self.table.place(content);
        place.map_or(0, |place| self.samples.levels[place as usize])
    }

    fn held(&self, samples: &Signature) -> Result<Vec<HeldSample>, ReadError> {
        let mut held = Vec::with_capacity(samples.fingerprints.len());
        for &sample in &samples.fingerprints {
            let (at, len) = self.samples.at.get(&sample).copied().unwrap_or_default();
            if len <= frames::MOST {
                let places = self.samples.places[at..at + len].iter();
                let mut holders: Vec<ContentId> = places.map(|&at| self.table.id(at)).collect();
                holders.sort_unstable();
                held.push(HeldSample { sample, holders });
            }
        }
        held.sort_unstable_by_key(|held| held.sample);
        Ok(held)
    }
}

/// The number of contents that a thread reads before it takes further contents.
const BATCH: usize = 256;

/// The limits of [`common_pieces`].
#[derive(Clone, Copy, Debug)]
pub struct PieceLimits {
    /// A piece is ignored if more than this number of unrelated contents have it.
    pub limit: u32,
    /// The size above which near-copies form a family. Its leader represents the family.
    pub family: u32,
}

/// Reads the pieces of all contents. If more than [`FREE`] near-copies have a piece, they count as
/// one content with that piece. If these near-copies are too few for a family by `limits`, this
/// only lowers the discount. If candidate pairs were given, `accounts` receives the holders of each
/// piece.
pub fn common_pieces(
    of: (&Table, &PairProver<'_>),
    limits: PieceLimits,
    accounts: Option<&mut Accounts<'_>>,
    place: (MemoryBudget, &Path),
) -> Result<CommonPieces, AskError> {
    named("reading the index", || {
        take_pieces(of, limits, accounts, place)
    })
}

/// The indexed pieces of the contents of a question, read once.
struct TakenPieces {
    /// The postings, in several runs. Each run is sorted by piece.
    runs: Vec<SortedRun<Posting>>,
    /// The keys of each content by which its family of near-copies is found.
    names: Vec<FamilyNames>,
    /// For each place: whether the content is a text, and the level of its signature. The element
    /// is `None` if the content no longer exists.
    levels: Vec<Option<(bool, u8)>>,
}

impl TakenPieces {
    /// Reads the pieces of the contents that are compared, and of other contents. The pieces of the
    /// others are only counted.
    fn of(
        snapshot: &Snapshot,
        table: &Table,
        others: &[ContentId],
        (room, dir): (MemoryBudget, &Path),
    ) -> Result<Self, AskError> {
        let next = AtomicUsize::new(0);
        let threads = threads();
        let compared = table.by_id.iter().map(|&place| (place, table.id(place)));
        let all: Vec<(u32, ContentId)> = compared
            .chain((table.all()..).zip(others.iter().copied()))
            .collect();
        let take = |done: &(dyn Fn(usize) + Sync)| {
            let mut sorter = Sorter::new(room.part(2 * threads as u64), dir)?;
            let mut names = Vec::new();
            loop {
                let from = next.fetch_add(BATCH, Ordering::Relaxed);
                let Some(rest) = all.get(from..).filter(|rest| !rest.is_empty()) else {
                    return Ok::<_, AskError>((sorter.finish()?, names));
                };
                let batch = &rest[..rest.len().min(BATCH)];
                for &(place, id) in batch {
                    let Some(row) = snapshot.content(id)? else {
                        continue;
                    };
                    let kept = StoredSketch::of(snapshot, &row)?;
                    let fingerprints = kept.signature.fingerprints.iter().map(|f| f.0);
                    let is_text = kept.kind == ContentKind::Text;
                    let level = (is_text, kept.signature.level);
                    if place < table.all() {
                        names.push((place, FamilyNames::of(place, fingerprints), level));
                    }
                    for key in fingerprint_keys(&kept.sketch()) {
                        sorter.push(Posting::new(PostingKind::Fingerprint, key, place))?;
                    }
                    for key in chunk_keys(&kept.sketch()) {
                        sorter.push(Posting::new(PostingKind::Chunk, key, place))?;
                    }
                }
                done(batch.len());
            }
        };
        let found = in_a_step(all.len(), |done| on_threads(threads, || take(done)))?;
        let mut runs = Vec::new();
        let mut names = vec![FamilyNames::default(); table.all() as usize];
        let mut levels = vec![None; table.all() as usize];
        for (sorted, named) in found {
            runs.extend(sorted);
            for (place, name, level) in named {
                names[place as usize] = name;
                levels[place as usize] = Some(level);
            }
        }
        Ok(Self {
            runs,
            names,
            levels,
        })
    }
}

fn take_pieces(
    (table, prover): (&Table, &PairProver<'_>),
    PieceLimits { limit, family }: PieceLimits,
    mut accounts: Option<&mut Accounts<'_>>,
    (room, dir): (MemoryBudget, &Path),
) -> Result<CommonPieces, AskError> {
    let snapshot = prover.snapshot();
    let others = accounts
        .as_deref()
        .map_or(&[][..], |accounts| &accounts.others);
    let TakenPieces {
        runs,
        names,
        levels: kept_levels,
    } = TakenPieces::of(snapshot, table, others, (room, dir))?;
    let all = Families::of(&names, family.min(FREE), &TableCopies { table, prover })?;
    drop(names);
    let (families, smaller) = if family > FREE {
        let large = all.larger_than(family as usize);
        (large, Some(all).filter(|all| !all.is_empty()))
    } else {
        (all, None)
    };
    let placed = (0u32..).zip(&kept_levels);
    let placed = placed.filter_map(|(place, &level)| Some((place, level?)));
    let levels = SignatureLevels::of(&families, placed);
    let mut postings = Merge::new(runs, room.part(2), dir)?;

    let mut common = CommonPieces {
        counts: Counts::new(limit),
        ignored: 0,
        sets: Vec::new(),
        families,
        counts_smaller_families: smaller.is_some(),
        samples: CommonSamples::among(
            kept_levels
                .iter()
                .map(|level| level.map_or(0, |level| level.1))
                .collect(),
        ),
    };
    let mut sets = UnionFind::new(table.all());
    // A file and its renditions belong to one set.
    for place in table.stand_ins() {
        for (owner, _) in table.owners(place) {
            sets.union(owner, place);
        }
    }
    let mut ahead = postings.next()?;
    let (mut places, mut scratch) = (Vec::new(), Vec::new());
    while let Some(first) = ahead {
        snapshot.stop().go_on()?;
        let piece = first.piece();
        places.clear();
        while let Some(posting) = ahead.filter(|posting| posting.piece() == piece) {
            places.push(posting.place);
            ahead = postings.next()?;
        }
        let all = places.len();
        if let Some(accounts) = &mut accounts {
            accounts.note(piece.0, &places, limit);
            places.truncate(places.partition_point(|&place| place < table.all()));
            if places.is_empty() {
                continue;
            }
        }
        if piece.0 == PostingKind::Fingerprint && places.len() >= frame::LEAST {
            common.samples.note(Fingerprint(piece.1), &places);
        }
        let mut count = common.families.count(&places, &mut scratch);
        if let (PostingKind::Fingerprint, key) = piece {
            let is_text = kept_levels[places[0] as usize].is_some_and(|(is_text, _)| is_text);
            count = levels.contents(Fingerprint(key), is_text, count, limit);
        }
        if count > limit as usize {
            common.counts.note(piece.0, piece.1, count);
            common.ignored += 1;
            continue;
        }
        if let Some(smaller) = &smaller {
            count = smaller.count(&places, &mut scratch);
        }
        common.counts.note(piece.0, piece.1, count);
        if let Some(accounts) = accounts.as_mut().filter(|_| all > limit as usize) {
            accounts.pair_up(piece, &places, &common.families)?;
        }
        for pair in places.windows(2) {
            sets.union(pair[0], pair[1]);
        }
    }
    common.sets = sets.into_least();
    note_passages(snapshot, table, &mut common.counts)?;
    Ok(common)
}

/// The contents of a question, among which families are searched.
struct TableCopies<'a> {
    table: &'a Table,
    prover: &'a PairProver<'a>,
}

impl NearCopies for TableCopies<'_> {
    type Error = AskError;

    fn pieces(&self, place: u32) -> Result<HashSet<u64>, AskError> {
        let snapshot = self.prover.snapshot();
        snapshot.stop().go_on()?;
        let row = snapshot.content(self.table.id(place))?;
        let kept = row
            .map(|row| StoredSketch::of(snapshot, &row))
            .transpose()?;
        Ok(kept.map_or_else(HashSet::new, |kept| kept.pieces()))
    }

    fn are_near_copies(&self, a: u32, b: u32) -> Result<bool, AskError> {
        are_near(self.prover, self.table.id(a), self.table.id(b))
    }
}

/// Records how many contents have the text that is in the chunks.
fn note_passages(snapshot: &Snapshot, table: &Table, counts: &mut Counts) -> Result<(), AskError> {
    let known = &*counts;
    let note = |at: usize, noted: &mut Counts| {
        if let Some(row) = snapshot.content(table.id(table.by_id[at]))? {
            let kept = StoredSketch::of(snapshot, &row)?;
            noted.raise(known.passages(&kept.sketch()));
        }
        Ok::<_, AskError>(())
    };
    let noted = in_parallel(table.by_id.len(), || Counts::new(0), note)?;
    for noted in noted {
        counts.join(noted);
    }
    Ok(())
}
