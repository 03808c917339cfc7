//! Reads each text of a question once, and compares it with the others.
//!
//! 1. **Read.** Each text is cut into words, and its shingles are kept. A filter with a few bits
//!    for each shingle records which shingles occur in several texts. Then the other shingles are
//!    dropped.
//! 2. **Number.** Shingles that several texts have are numbered, and listed with these texts
//!    (`SharedChains`). All shingles are used, and not only samples, so that no pair is missed.
//!    Shingles that always occur together share one number.
//! 3. **Nominate.** Texts with enough shingles in common, or enough rare ones, are compared
//!    ([`Texts::pairs`]). Their common words decide whether they are a pair.
//!
//! # Families
//!
//! The text that near-copies share is not boilerplate, even if there are many near-copies. The
//! frequency of a shingle is the number of *otherwise different* texts that have it: a family
//! (`nominate::families`) counts once. A shingle nominates no pair if more texts than the limit
//! have it.
//!
//! If a shingle within the limit is in more than [`LARGE`] texts, most of these are near-copies.
//! Then each text is paired only with the first of these texts and its neighbours in the order of
//! paths. So time and memory stay linear. The answer reports the number of texts that have fewer
//! rows than near-copies.
//!
//! # Memory
//!
//! A collection with more than [`TEXTS_READ`] bytes of text is not read here. The peak of memory is
//! about twice this limit.

use std::collections::HashSet;

use resemble_core::bits::BitSet;
use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::proof::Proven;
use resemble_core::similarity::{
    Proof, ReadText, SeenShingles, Table, Templates, Text, TextCutter,
};
use resemble_core::words::rows_of;
use resemble_core::{ByteLen, ContentKind, Relation, Score, StopFlag, Stopped};
use resemble_proto::message::SoftError;

use crate::ask::AskError;
use crate::nominate::evidence::{CHUNK, StoredSketch};
use crate::nominate::families::{LARGE, NEIGHBOURS};
use crate::parallel::{in_parallel, ordered, threads};
use crate::prove::contents::{ContentReader, WantedOfKind};
use crate::prove::exact::judged;
use crate::prove::many::DraftPair;

mod shared;
mod tables;

use shared::{SharedChains, families};

/// If the texts of a question have more bytes than this, they are read only with `--exact`.
pub const TEXTS_READ: ByteLen = ByteLen(256 << 20);

/// A text with fewer distinct shingles than this is small.
const SMALL: u32 = 256;

/// The minimum weight of common rare shingles for which two texts are compared. The shingles of any
/// run that is evidence have a larger weight.
const LEAST_RARE: f32 = 3.5;

/// Two texts are also compared if they share at least `1 / LEAST_SHARE` of the shingles of the
/// smaller text. If the smaller text has at least [`SMALL`] shingles, `1 / LEAST_LARGE_SHARE` of
/// them is enough.
const LEAST_SHARE: f32 = 5.0;
const LEAST_LARGE_SHARE: f32 = 8.0;

/// The texts of the contents of a question. The index of a content is its place.
#[derive(Debug, Default)]
pub struct Texts {
    by_place: Vec<Option<Text>>,
    /// The places of the texts that were in another encoding than UTF-8.
    decoded: BitSet,
    /// The sizes with which contents are compared: after decoding, and without templates.
    sizes: Vec<Option<ByteLen>>,
    /// The rows of each text that is a table.
    tables: Vec<Option<Vec<u64>>>,
    /// The places of contents that are data. All their words were read, including those in markup.
    data: BitSet,
    /// The places of the texts with fewer than [`SMALL`] distinct shingles.
    small: BitSet,
    shared: SharedChains,
    /// The places of the texts in families of more than [`LARGE`] members. Not all members of such
    /// a family are compared with each other.
    pub in_large_families: BitSet,
    limit: u32,
    /// The contents that cannot be read, with the reasons.
    pub unread: Vec<SoftError>,
}

impl Texts {
    /// Reads the contents for which `wanted` has `Some`. The other contents are not texts or need
    /// not be read. If `decodes` is true, decodes texts in other encodings. Data are read, too, so
    /// that texts can find the words in them. A shingle is not evidence if more than `limit` texts
    /// have it.
    pub fn read(
        reader: ContentReader<'_>,
        wanted: &[Option<WantedOfKind>],
        decodes: bool,
        limit: u32,
    ) -> Result<Self, AskError> {
        let bytes: ByteLen = wanted.iter().flatten().map(|(wanted, _)| wanted.size).sum();
        let kinds: Vec<_> = wanted.iter().map(|one| one.map(|(_, kind)| kind)).collect();
        let templates = reader.snapshot.templates();
        let read = |place: usize, cutter: &mut TextCutter| {
            let Some((wanted, kind)) = &wanted[place] else {
                return Ok((None, ContentFacts::default()));
            };
            Ok(match reader.read(wanted)? {
                Ok(bytes) => {
                    let decoded = decodes.then(|| reader.decoded(wanted, &bytes)).flatten();
                    let text = decoded.as_ref().map_or(&bytes[..], String::as_bytes);
                    let kind = decoded.as_ref().map_or(*kind, |_| ContentKind::Text);
                    let (read, mut besides) = cut(cutter, templates, kind, text);
                    besides.is_decoded = decoded.is_some();
                    (read, besides)
                }
                Err(error) => {
                    let besides = ContentFacts {
                        error: Some(error),
                        ..ContentFacts::default()
                    };
                    (None, besides)
                }
            })
        };
        Self::gathered(&kinds, bytes, (limit, reader.snapshot.stop()), read)
    }

    /// Reads contents that are in memory, according to their kinds. No templates are left out.
    pub fn of(
        contents: &[(&[u8], ContentKind)],
        limit: u32,
        stop: &StopFlag,
    ) -> Result<Self, AskError> {
        let bytes = contents
            .iter()
            .map(|(bytes, _)| ByteLen(bytes.len() as u64));
        let kinds: Vec<_> = contents.iter().map(|&(_, kind)| Some(kind)).collect();
        let templates = Templates::default();
        let read = |place: usize, cutter: &mut TextCutter| {
            stop.go_on()?;
            let (bytes, kind) = contents[place];
            Ok(match kind {
                ContentKind::Text | ContentKind::Data => cut(cutter, &templates, kind, bytes),
                ContentKind::Empty | ContentKind::Binary => (None, ContentFacts::default()),
            })
        };
        Self::gathered(&kinds, bytes.sum(), (limit, stop), read)
    }

    /// Makes the texts of contents that have these kinds and `bytes` bytes in all. `read` reads a
    /// content and cuts it into words.
    fn gathered(
        kinds: &[Option<ContentKind>],
        bytes: ByteLen,
        (limit, stop): (u32, &StopFlag),
        read: impl Fn(usize, &mut TextCutter) -> Result<CutContent, AskError> + Sync,
    ) -> Result<Self, AskError> {
        let seen = SeenShingles::for_bytes(bytes.0);
        let read = |place: usize, cutter: &mut TextCutter| {
            let (text, besides) = read(place, cutter)?;
            if let Some(text) = &text {
                seen.note(text.shingles());
            }
            Ok::<_, AskError>((text, besides))
        };
        let read = ordered(kinds.len(), TextCutter::default, read)?;
        let (mut texts, others): (Vec<Option<ReadText>>, Vec<_>) = read.into_iter().unzip();
        let (mut decoded, mut unread) = (BitSet::default(), Vec::new());
        let (mut sizes, mut tables) = (Vec::new(), Vec::new());
        for (place, besides) in (0u32..).zip(others) {
            if besides.is_decoded {
                decoded.insert(place);
            }
            sizes.push(besides.size);
            tables.push(besides.rows);
            unread.extend(besides.error);
        }
        let families = families(&texts, stop)?;
        each(&mut texts, |text| {
            if let Some(text) = text {
                text.forget_lone(&seen);
            }
        });
        drop(seen);
        let (shared, texts) = SharedChains::of(texts, &families, stop)?;
        let mut small = BitSet::default();
        for (place, text) in (0u32..).zip(&texts) {
            if text.as_ref().is_some_and(|text| text.distinct() < SMALL) {
                small.insert(place);
            }
        }
        let mut data = BitSet::default();
        for (place, &kind) in (0u32..).zip(kinds) {
            if kind == Some(ContentKind::Data) && !decoded.has(place) {
                data.insert(place);
            }
        }
        let large = families.of_more_than(LARGE).into_iter();
        let mut in_large_families = BitSet::default();
        large
            .flat_map(|(_, members)| members)
            .filter(|&place| !data.has(place))
            .for_each(|place| in_large_families.insert(place));
        Ok(Self {
            by_place: texts,
            decoded,
            sizes,
            tables,
            data,
            small,
            shared,
            in_large_families,
            limit,
            unread,
        })
    }

    /// Returns whether the content at a place is a text that was read.
    pub fn has(&self, place: usize) -> bool {
        self.by_place.get(place).is_some_and(Option::is_some) && !self.is_data(place)
    }

    /// Returns whether the content at a place is data. The words of data are read so that texts can
    /// find them. But the measures of data and a text are computed by reading both again.
    pub fn is_data(&self, place: usize) -> bool {
        self.data.has(place as u32)
    }

    /// Returns whether both texts are tables. The measures of two tables are computed by reading
    /// both again.
    pub fn are_tables(&self, a: usize, b: usize) -> bool {
        let is_table = |place: usize| self.tables.get(place).is_some_and(Option::is_some);
        is_table(a) && is_table(b)
    }

    /// Returns the pairs of tables that have rows in common. These pairs are still to be measured.
    pub fn tables(&self) -> impl Iterator<Item = DraftPair> {
        let rows = |place: usize| self.tables[place].as_ref().map_or(0, Vec::len);
        let pairs = tables::nominated(&self.tables).into_iter();
        pairs.map(move |((a, b), common)| {
            let fewer = rows(a).min(rows(b)).max(1);
            let estimate = Score::new((f64::from(common) / fewer as f64).min(1.0));
            DraftPair { a, b, estimate }
        })
    }

    /// Removes the stored pieces of the texts that were read. A piece stays if a content whose text
    /// was not read has it, too. Sets the kind of decoded contents to text, and the sizes to those
    /// without templates.
    pub fn take_over(&self, kept: &mut [StoredSketch]) {
        let others = kept.iter().enumerate();
        let others = others.filter(|&(place, _)| !self.has(place));
        let wanted: HashSet<u64> = others.flat_map(|(_, content)| content.pieces()).collect();
        for (place, content) in kept.iter_mut().enumerate() {
            if self.is_decoded(place) {
                content.kind = ContentKind::Text;
            }
            if let Some(&Some(size)) = self.sizes.get(place) {
                content.size = size;
            }
            if self.has(place) {
                let samples = &mut content.signature.fingerprints;
                samples.retain(|sample| wanted.contains(&sample.0));
                samples.shrink_to_fit();
                let chunks = &mut content.chunks.0;
                chunks.retain(|run| wanted.contains(&(run.hash.posting_key() | CHUNK)));
            }
        }
    }

    /// Returns whether the text at a place was in another encoding than UTF-8.
    pub fn is_decoded(&self, place: usize) -> bool {
        self.decoded.has(place as u32)
    }

    /// Calls `found` with each pair of two texts, or of a text and data, whose contents have a
    /// relation or share more than unrelated texts do. `found` also gets the proof and the rarity
    /// of the pair. Each thread has its own state. Returns all states.
    pub fn pairs<S: Send, E: Send + From<Stopped>>(
        &self,
        stop: &StopFlag,
        start: impl Fn() -> S + Sync,
        found: impl Fn(&mut S, (usize, usize), &Proof, Option<Rarity>) -> Result<(), E> + Sync,
    ) -> Result<Vec<S>, E> {
        let worker = || {
            let tally = vec![InCommon::default(); self.by_place.len()];
            (start(), Table::new(self.limit), tally, Vec::new())
        };
        let of_one =
            |a: usize, worker: &mut (S, Table, Vec<InCommon>, Vec<u32>)| -> Result<(), E> {
                let (state, table, tally, touched) = worker;
                stop.go_on()?;
                let Some(one) = &self.by_place[a] else {
                    return Ok(());
                };
                self.nominate(a, one, table, tally, touched);
                let mut is_laid = false;
                for b in touched.drain(..) {
                    let b = b as usize;
                    let common = std::mem::take(&mut tally[b]);
                    let Some(other) = &self.by_place[b] else {
                        continue;
                    };
                    // Two contents that are both data are measured by windows, and not by words.
                    let are_data = self.is_data(a) && self.is_data(b);
                    if are_data || !worth_a_look(one, other, common) {
                        continue;
                    }
                    stop.go_on()?;
                    if !is_laid {
                        table.lay(one, |chain| self.shared.common(chain));
                        is_laid = true;
                    }
                    if let Some(proof) = table.candidate(one, other)
                        && (proof.is_evidence() || self.have_relation((a, b), &proof))
                    {
                        found(state, (a, b), &proof, table.rarity())?;
                    }
                }
                Ok(())
            };
        let states = in_parallel(self.by_place.len(), worker, of_one)?;
        Ok(states.into_iter().map(|worker| worker.0).collect())
    }

    /// Returns whether two contents have a relation by their common words. Other questions list
    /// such pairs.
    fn have_relation(&self, (a, b): (usize, usize), proof: &Proof) -> bool {
        let size = |place: usize| self.sizes[place].unwrap_or_default();
        let sizes = (size(a), size(b));
        let proven = Proven::of_common(&proof.common, sizes);
        judged(proven, sizes, Relation::MIN_SHARED)
            .relation
            .is_some()
    }

    /// Counts the shingles that other texts share with text `a`. A pair of two small or two large
    /// texts is counted when `a` is the first text. A pair of a small and a large text is counted
    /// when `a` is the small text.
    fn nominate(
        &self,
        a: usize,
        one: &Text,
        table: &Table,
        tally: &mut [InCommon],
        touched: &mut Vec<u32>,
    ) {
        let small = self.small.has(a as u32);
        let mut chains = one.chains().to_vec();
        chains.sort_unstable();
        chains.dedup();
        for chain in chains {
            let holders = self.shared.holders(chain);
            if self.shared.is_boilerplate(chain, self.limit) {
                continue;
            }
            let shingles = self.shared.common(chain).shingles as f32;
            let rare = shingles * table.weight(holders.len() as u32);
            let mut meet = |b: u32| {
                let at = &mut tally[b as usize];
                if at.all == 0.0 {
                    touched.push(b);
                }
                at.all += shingles;
                at.rare += rare;
            };
            let place = holders.partition_point(|&b| (b as usize) < a);
            let first = if holders.len() > LARGE {
                // If this many texts have the chain, most of them are one family, which the first
                // text represents.
                if place > NEIGHBOURS {
                    meet(holders[0]);
                }
                place.saturating_sub(NEIGHBOURS)
            } else {
                0
            };
            let last = if holders.len() > LARGE {
                holders.len().min(place + 1 + NEIGHBOURS)
            } else {
                holders.len()
            };
            for &b in &holders[place + 1..last] {
                if small || !self.small.has(b) {
                    meet(b);
                }
            }
            if small {
                for &b in &holders[first..place] {
                    if !self.small.has(b) {
                        meet(b);
                    }
                }
            }
        }
    }
}

/// The facts about a content that were found in addition to its text.
#[derive(Debug, Default)]
struct ContentFacts {
    is_decoded: bool,
    /// The size with which the content is compared: see [`Texts::sizes`].
    size: Option<ByteLen>,
    rows: Option<Vec<u64>>,
    /// The error if the content cannot be read.
    error: Option<SoftError>,
}

/// The text of a content, if it has words, and the other facts about it.
type CutContent = (Option<ReadText>, ContentFacts);

/// Cuts a content of this kind into words, and leaves templates out. The words of
/// [`ContentKind::Data`] include those of its markup. Also returns the rows, if the content is a
/// table.
fn cut(
    cutter: &mut TextCutter,
    templates: &Templates,
    kind: ContentKind,
    bytes: &[u8],
) -> CutContent {
    let payload = templates.payload(bytes);
    let mut besides = ContentFacts {
        size: Some(ByteLen(payload.len() as u64)),
        ..ContentFacts::default()
    };
    if kind == ContentKind::Data {
        return (cutter.read_data(&payload), besides);
    }
    let (text, template) = (&templates.worded(bytes), templates.shingles());
    let mut rows = rows_of(text).unwrap_or_default();
    rows.retain(|&row| !template.has(row));
    besides.rows = (!rows.is_empty()).then_some(rows);
    (Some(cutter.read(text, template)), besides)
}

/// The shingles that two texts share, without boilerplate.
#[derive(Clone, Copy, Debug, Default)]
struct InCommon {
    /// The number of common shingles that were found.
    all: f32,
    /// The sum of the weights of the common shingles. The more texts have a shingle, the less it
    /// weighs.
    rare: f32,
}

fn worth_a_look(a: &Text, b: &Text, common: InCommon) -> bool {
    let fewer = a.distinct().min(b.distinct());
    let least = if fewer < SMALL {
        LEAST_SHARE
    } else {
        LEAST_LARGE_SHARE
    };
    common.rare >= LEAST_RARE || common.all * least >= fewer as f32
}

/// Calls `work` with each item, using all threads. Returns the results in the order of the items.
fn each<T: Send, R: Send>(all: &mut [T], work: impl Fn(&mut T) -> R + Sync) -> Vec<R> {
    let size = all.len().div_ceil(threads()).max(1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = all
            .chunks_mut(size)
            .map(|part| scope.spawn(|| part.iter_mut().map(&work).collect::<Vec<R>>()))
            .collect();
        let mut done = Vec::new();
        for worker in workers {
            match worker.join() {
                Ok(part) => done.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    })
}
