//! The texts of a question's files, each read once and held against many.
//!
//! 1. **Read.** Each text is read, cut into words and kept as its shingles, while a filter of a few
//!    bits for each notes which of them come again; those of one text alone are forgotten then.
//! 2. **Number.** What several texts have is numbered, with the texts that have it
//!    (`SharedChains`): all of it, not a sample, so that nothing is missed because it was not
//!    sampled. Shingles that never stand apart are numbered as one.
//! 3. **Nominate.** The texts that have enough rare shingles in common are looked at
//!    ([`Texts::pairs`]), and what they have in common decides whether they are a pair.
//!
//! # Families
//!
//! Near-copies are no boilerplate, however many they are. How common a shingle is is told by how
//! many *otherwise different* texts have it: a family (`nominate::families`) counts once. What more
//! than the limit of these have nominates nobody. And what more than [`LARGE`] texts have, which
//! are then near-copies of few, nominates for each text the first of them and its neighbours in the
//! order of paths: time and memory stay linear, and the answer says how many texts have fewer rows
//! than near-copies.
//!
//! # Memory
//!
//! A collection of more than [`TEXTS_READ`] bytes of text is not read at once: some twice that is
//! the most that it takes.

use std::collections::HashSet;

use resemble_core::bits::BitSet;
use resemble_core::similarity::discount::Rarity;
use resemble_core::similarity::{
    Proof, ReadText, SeenShingles, Table, Templates, Text, TextCutter,
};
use resemble_core::words::rows_of;
use resemble_core::{ByteLen, ContentKind, Score, StopFlag, Stopped};
use resemble_proto::message::SoftError;

use crate::ask::AskError;
use crate::nominate::evidence::{CHUNK, Kept};
use crate::nominate::families::{LARGE, NEIGHBOURS};
use crate::parallel::{in_parallel, ordered, threads};
use crate::prove::contents::{ContentReader, WantedOfKind};
use crate::prove::many::DraftPair;

mod shared;
mod tables;

use shared::{SharedChains, families};

/// The most bytes of text that are read for one question.
pub const TEXTS_READ: ByteLen = ByteLen(256 << 20);

/// Texts of fewer shingles are small.
const SMALL: u32 = 256;

/// So many rare shingles in common are worth a look. A run that is evidence has more.
const LEAST_RARE: f32 = 3.5;

/// Or else one in so many of all that the one with fewer has, of a small text and another, and of
/// two that are not small.
const LEAST_SHARE: f32 = 5.0;
const LEAST_LARGE_SHARE: f32 = 8.0;

/// The texts of contents, by their place.
#[derive(Debug, Default)]
pub struct Texts {
    by_place: Vec<Option<Text>>,
    /// The places of those that were in another encoding.
    decoded: BitSet,
    /// Their sizes as they are compared: decoded, and without what is template.
    sizes: Vec<Option<ByteLen>>,
    /// The rows of those that are tables.
    tables: Vec<Option<Vec<u64>>>,
    /// The places of data, of which all words were read, those of markup among them.
    data: BitSet,
    /// Those of fewer than [`SMALL`] shingles.
    small: BitSet,
    shared: SharedChains,
    /// The places of texts in families of more than [`LARGE`], of which not all are held against
    /// each other.
    pub in_large_families: BitSet,
    limit: u32,
    /// What cannot be read, and why.
    pub unread: Vec<SoftError>,
}

impl Texts {
    /// Reads these contents, of which those that are `None` are no texts or need not be read, and
    /// decodes those in other encodings, if so asked. Data among them is to be found by its words.
    /// What more than `limit` texts have is no evidence.
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
                return Ok((None, Besides::default()));
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
                    let besides = Besides {
                        error: Some(error),
                        ..Besides::default()
                    };
                    (None, besides)
                }
            })
        };
        Self::gathered(&kinds, bytes, (limit, reader.snapshot.stop()), read)
    }

    /// The same of contents in memory, each of its kind, where nothing is template.
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
                ContentKind::Empty | ContentKind::Binary => (None, Besides::default()),
            })
        };
        Self::gathered(&kinds, bytes.sum(), (limit, stop), read)
    }

    /// The texts of contents of these kinds, `bytes` in all. `read` cuts each of them.
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

    /// Whether the content at a place is a text that was read.
    pub fn has(&self, place: usize) -> bool {
        self.by_place.get(place).is_some_and(Option::is_some) && !self.is_data(place)
    }

    /// Whether what is at a place is data: it has its words here to be found by texts, and what
    /// they share is told by reading both for one another.
    pub fn is_data(&self, place: usize) -> bool {
        self.data.has(place as u32)
    }

    /// Whether the texts at these places are tables: what these have in common is told by reading
    /// them for one another.
    pub fn are_tables(&self, a: usize, b: usize) -> bool {
        let is_table = |place: usize| self.tables.get(place).is_some_and(Option::is_some);
        is_table(a) && is_table(b)
    }

    /// The tables that have rows in common, to be measured.
    pub fn tables(&self) -> impl Iterator<Item = DraftPair> {
        let rows = |place: usize| self.tables[place].as_ref().map_or(0, Vec::len);
        let pairs = tables::nominated(&self.tables).into_iter();
        pairs.map(move |((a, b), common)| {
            let fewer = rows(a).min(rows(b)).max(1);
            let estimate = Score::new((f64::from(common) / fewer as f64).min(1.0));
            DraftPair { a, b, estimate }
        })
    }

    /// Of texts that were read those pieces are left that what was not read has, too. What was
    /// decoded is a text, and what templates leave of a text is known to the byte.
    pub fn take_over(&self, kept: &mut [Kept]) {
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

    /// Whether the text at a place was in another encoding than UTF-8.
    pub fn is_decoded(&self, place: usize) -> bool {
        self.decoded.has(place as u32)
    }

    /// Calls `found` with each pair of places that are more than strangers to each other, what they
    /// have in common and how rare that is, with a state of each thread's own; returns the states.
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
                    // Of data windows tell what they have of each other.
                    let are_data = self.is_data(a) && self.is_data(b);
                    if are_data || !worth_a_look(one, other, common) {
                        continue;
                    }
                    stop.go_on()?;
                    if !is_laid {
                        table.lay(one, |chain| self.shared.common(chain));
                        is_laid = true;
                    }
                    if let Some(proof) = table.evidence(one, other) {
                        found(state, (a, b), &proof, table.rarity())?;
                    }
                }
                Ok(())
            };
        let states = in_parallel(self.by_place.len(), worker, of_one)?;
        Ok(states.into_iter().map(|worker| worker.0).collect())
    }

    /// What others have in common with a text, as far as it is its business: of two small texts, or
    /// two that are not, that of the first; of others that of the small one.
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
                // The first of a family stands for it.
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

/// What is known of a content besides its text.
#[derive(Debug, Default)]
struct Besides {
    is_decoded: bool,
    /// [`Texts::sizes`].
    size: Option<ByteLen>,
    rows: Option<Vec<u64>>,
    /// Why it cannot be read.
    error: Option<SoftError>,
}

/// A content that was cut into words, if it has any, and what else is known of it.
type CutContent = (Option<ReadText>, Besides);

/// Cuts a content of this kind without what is template: all words of data, and of a text its rows
/// as well.
fn cut(
    cutter: &mut TextCutter,
    templates: &Templates,
    kind: ContentKind,
    bytes: &[u8],
) -> CutContent {
    let payload = templates.payload(bytes);
    let mut besides = Besides {
        size: Some(ByteLen(payload.len() as u64)),
        ..Besides::default()
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

/// What two texts have in common by the shingles that nominate.
#[derive(Clone, Copy, Debug, Default)]
struct InCommon {
    /// How many shingles; 0: not yet met.
    all: f32,
    /// What they count.
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

/// Does something with each of many on all threads; what comes of it, in order.
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
