//! The texts of a question's files, each read once and held against many.
//!
//! Samples nominate; whether two texts have more in common than strangers do is seen on the texts.
//! All of them are read before the first pair, because what a shared run is worth depends on how
//! many texts have it.
//!
//! Memory is bounded: a collection of more than [`BUDGET`] bytes of text is not read at all and
//! keeps its estimates, and so do a file that cannot be read now and one larger than
//! [`LARGEST_READ`].

use std::collections::HashMap;

use resemble_core::hash::content::digest;
use resemble_core::similarity::discount::FREE;
use resemble_core::similarity::{Proof, ShingleCounts, Table, Text};
use resemble_core::{ByteLen, ContentId, ContentKind, StopFlag, Stopped};
use resemble_index::Snapshot;
use resemble_scan::parts::PartReader;

use crate::ask::AskError;
use crate::nominate::block::Common;
use crate::nominate::evidence::Kept;
use crate::parallel::{ordered, threads};
use crate::prove::extracted::extract;
use crate::prove::read::{LARGEST_READ, bytes_of};
use crate::renditions::owners::RenditionOwners;
use crate::scope::ScopedFiles;

/// The most bytes of text that are read for one question; they take some three times that in
/// memory.
const BUDGET: ByteLen = ByteLen(256 << 20);

/// How rare the common samples of two texts must be for a look: a quarter of a fingerprint that few
/// have. A run of text that is evidence holds two thirds of one on average.
const WORTH_A_LOOK: f32 = 0.25;

/// The texts of contents, by their place.
#[derive(Debug)]
pub(crate) struct Texts(Vec<Option<Text>>);

/// Texts of fewer shingles have fewer than 32 sampled ones, and what they share may have none.
const SMALL: usize = 256;

/// So many rare shingles of a small text must be in another for a look, or else one in
/// [`LEAST_SHARE`] of all that it has.
const LEAST_RARE: u32 = 4;

/// See [`LEAST_RARE`].
const LEAST_SHARE: u32 = 5;

/// What a look at two texts gave.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Compared {
    /// They cannot be looked at.
    Unknown,
    /// Nothing that strangers do not share.
    Strangers,
    /// What they have in common.
    Proven(Proof),
}

impl Texts {
    /// The texts among these contents. `part_reader` makes those again that stand for documents;
    /// without one these keep their estimates.
    pub(crate) fn read(
        (snapshot, scoped): (&Snapshot, &ScopedFiles),
        renditions: &RenditionOwners,
        part_reader: Option<&dyn PartReader>,
        kept: &[Kept],
    ) -> Result<Self, AskError> {
        let is_text =
            |content: &Kept| content.kind == ContentKind::Text && content.whole <= LARGEST_READ;
        let total: ByteLen = kept
            .iter()
            .filter(|content| is_text(content))
            .map(|content| content.whole)
            .sum();
        if total > BUDGET {
            return Ok(Self(vec![None; kept.len()]));
        }
        let read = |place: usize, (): &mut ()| {
            snapshot.stop().go_on()?;
            let content = &kept[place];
            let bytes = if !is_text(content) {
                None
            } else if let Some(holder) = scoped.holders(content.id).next() {
                bytes_of(&holder.path).ok()
            } else {
                let of_document = part_reader.map(|part_reader| {
                    text_of_document((snapshot, scoped), renditions, part_reader, content.id)
                });
                of_document.transpose()?.flatten()
            };
            let text = bytes.map(|bytes| Text::of(&snapshot.templates().payload(&bytes)));
            Ok::<_, AskError>(text)
        };
        Self(ordered(kept.len(), || (), read)?).counted()
    }

    /// Takes note of what is common among them.
    fn counted(self) -> Result<Self, AskError> {
        let threads = threads();
        let count = |part: usize, (): &mut ()| {
            let texts = self.0.iter().flatten();
            Ok::<_, AskError>(ShingleCounts::of_part(texts, part, threads))
        };
        let counts = ShingleCounts::join(ordered(threads, || (), count)?);
        let mut texts = self.0;
        let each = texts.len().div_ceil(threads).max(1);
        std::thread::scope(|scope| {
            for texts in texts.chunks_mut(each) {
                let counts = &counts;
                scope.spawn(move || {
                    for text in texts.iter_mut().flatten() {
                        text.count(counts);
                    }
                });
            }
        });
        Ok(Self(texts))
    }

    /// The pairs that samples cannot nominate: one of them is so small that few of its shingles are
    /// sampled, and all of them say that it has something in common with the other. Ascending, the
    /// small one first; some were nominated all the same.
    pub(crate) fn of_small_ones(
        &self,
        limit: u32,
        stop: &StopFlag,
    ) -> Result<Vec<(usize, usize)>, Stopped> {
        let is_evidence = |contents: u16| (2..=limit).contains(&u32::from(contents));
        let mut holders: HashMap<u64, Vec<u32>> = HashMap::new();
        let mut enough = vec![0; self.0.len()];
        for (place, text) in (0u32..).zip(&self.0) {
            let Some(text) = text.as_ref().filter(|text| text.shingle_counts().0 < SMALL) else {
                continue;
            };
            enough[place as usize] = text.shingle_counts().1.div_ceil(LEAST_SHARE).max(1);
            for (shingle, contents) in text.shingles() {
                if is_evidence(contents) {
                    let holders = holders.entry(shingle).or_default();
                    if holders.last() != Some(&place) {
                        holders.push(place);
                    }
                }
            }
        }
        let find = |place: usize, shared: &mut HashMap<usize, SharedShingles>| {
            stop.go_on()?;
            shared.clear();
            for (shingle, contents) in self.0[place].iter().flat_map(Text::shingles) {
                let small_ones = holders.get(&shingle).filter(|_| is_evidence(contents));
                for &small in small_ones.into_iter().flatten() {
                    let shared = shared.entry(small as usize).or_default();
                    shared.all += 1;
                    shared.rare += u32::from(u32::from(contents) <= FREE);
                }
            }
            let related = shared.iter().filter(|&(&small, shared)| {
                small != place && (shared.all >= enough[small] || shared.rare >= LEAST_RARE)
            });
            // Two small ones may be found from both.
            let both_small = enough[place] > 0;
            let pairs = related.map(|(&small, _)| {
                if both_small && place < small {
                    (place, small)
                } else {
                    (small, place)
                }
            });
            Ok::<_, Stopped>(pairs.collect::<Vec<_>>())
        };
        let mut found = ordered(self.0.len(), HashMap::new, find)?.concat();
        found.sort_unstable();
        found.dedup();
        Ok(found)
    }

    /// A table for one thread to compare with. What more than `limit` texts have is no evidence.
    pub(crate) fn table(&self, limit: u32) -> Laid<'_> {
        Laid {
            texts: self,
            table: Table::new(limit),
            place: None,
        }
    }
}

/// The text of a document, made of it again, if it still is this content.
pub(crate) fn text_of_document(
    (snapshot, scoped): (&Snapshot, &ScopedFiles),
    renditions: &RenditionOwners,
    part_reader: &dyn PartReader,
    content: ContentId,
) -> Result<Option<Vec<u8>>, AskError> {
    let owners = renditions.owners(content).iter();
    let mut owners = owners.filter(|(_, rendition)| !rendition.is_whole());
    let holder = owners
        .next()
        .and_then(|&(owner, _)| scoped.holders(owner).next());
    let (Some(holder), Some(row)) = (holder, snapshot.content(content)?) else {
        return Ok(None);
    };
    // What cannot be read now keeps its estimate.
    let extracted = extract(&holder.path, part_reader).ok().flatten();
    let texts = extracted.map(|extracted| [extracted.text, extracted.packed]);
    let mut texts = texts.into_iter().flatten().flatten();
    Ok(texts.find(|text| digest(text) == row.digest))
}

/// What a text has of a small one's shingles, each repetition counted.
#[derive(Clone, Copy, Debug, Default)]
struct SharedShingles {
    /// Those that are no boilerplate.
    all: u32,
    /// Those that few texts have.
    rare: u32,
}

/// One of the texts, laid out to be compared with others.
#[derive(Debug)]
pub(crate) struct Laid<'a> {
    texts: &'a Texts,
    table: Table,
    /// The text that is laid out.
    place: Option<usize>,
}

impl Laid<'_> {
    /// Compares two texts that have so much in common. Fastest if `a` stays the same from call to
    /// call.
    pub(crate) fn compare(&mut self, a: usize, b: usize, common: Common) -> Compared {
        let (Some(one), Some(other)) = (&self.texts.0[a], &self.texts.0[b]) else {
            return Compared::Unknown;
        };
        if common.chunks == 0 && common.rare < WORTH_A_LOOK {
            return Compared::Strangers;
        }
        if self.place != Some(a) {
            self.table.lay(one);
            self.place = Some(a);
        }
        let proof = self.table.compare(one, other);
        if proof.is_evidence() {
            Compared::Proven(proof)
        } else {
            Compared::Strangers
        }
    }
}
