//! Which contents of one side resemble which of the other.
//!
//! What the paths and digests leave over is looked up in *all* contents of the other side, the settled ones too:
//! one scan of everything, however much is left over, instead of a question for each file.
//!
//! 1. Contents are the subjects, not files: a file that lies about in ten copies is looked up once, and one
//!    whose equal is on the other side not at all.
//! 2. The pieces of a batch of subjects are put into one table ([`Wanted`]); every content of both sides goes
//!    by once and counts what it has in common with each subject. Pieces that more than 1,000 contents
//!    have count for nobody ([`Common`]), so a piece concerns at most 1,000 subjects, and the work is in
//!    proportion to the two trees.
//! 3. A pair whose common pieces could not come to the least containment under any distribution of edits
//!    is dropped before it is measured.
//! 4. Two subjects of different sides meet once, when that of B goes by.
//! 5. Batches bound the memory; there is one for trees that differ in fewer than 65,536 contents.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use resemble_core::similarity::{self, Boilerplate, Prepared, Sketch, Templates};
use resemble_core::{
    ByteLen, ChunkList, ContentId, ContentKind, Fingerprint, Measures, Relation, Score, Signature,
};
use resemble_index::PostingKind;
use resemble_proto::message::{CompareOptions, SoftError};

use super::common::{Buckets, Common};
use super::parallel::in_parallel;
use super::sides::{Content, Holders, Pieces, Sides};
use super::wanted::{CHUNK, Wanted, evidence_keys};
use crate::ask::{AskError, LARGEST_READ, bytes_of, exact_payload, soft_error};
use crate::evidence::{Counts, Kept};
use crate::find::{enough_shared, estimate};

/// Subjects looked up in one scan.
const BATCH: usize = 1 << 16;

/// Two contents, one of each side, that have something to do with each other.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// A content that A has.
    pub(super) a: u32,
    /// A content that B has.
    pub(super) b: u32,
    pub(super) measures: Measures,
    pub(super) relation: Option<Relation>,
}

impl Link {
    pub(super) fn score(&self) -> Score {
        self.measures.containment().unwrap_or(Score::ZERO)
    }
}

/// A subject's place in its batch, itself, and its keys with the bytes each stands for.
type Loaded = (usize, Subject, Vec<(u64, u32)>);

/// Everything that is asked about contents.
pub(super) struct Question<'a> {
    pub(super) sides: &'a Sides,
    pub(super) pieces: &'a dyn Pieces,
    pub(super) templates: &'a Templates,
    pub(super) options: &'a CompareOptions,
    pub(super) holders: [&'a Holders; 2],
    /// Pieces that more contents than this have are boilerplate.
    pub(super) limit: u32,
}

/// What was found out.
pub(super) struct Partners {
    /// By (a, b). Only what passes the question's thresholds.
    pub(super) links: Vec<Link>,
    /// The pairs that were asked for whatever they have in common; by (a, b).
    pub(super) twins: Vec<Link>,
    /// How much of a content lies in all its partners together, where it has several.
    pub(super) covered: HashMap<u32, Score>,
    /// How common the subjects' pieces are.
    pub(super) counts: Counts,
    pub(super) errors: Vec<SoftError>,
}

impl Question<'_> {
    fn content(&self, content: u32) -> &Content {
        &self.sides.contents[content as usize]
    }

    pub(super) fn load(&self, content: u32) -> Result<Kept, AskError> {
        let (mut chunks, mut signature) = self.pieces.pieces(content)?;
        let &Content { size, kind, .. } = self.content(content);
        let payload = self.templates.strip(size, &mut chunks, &mut signature);
        Ok(Kept {
            id: ContentId(content),
            whole: size,
            size: payload,
            kind,
            chunks,
            signature,
        })
    }

    /// The evidence keys of a content, without what is template, and the size of the rest.
    fn keys(&self, content: u32, keys: &mut Vec<u64>) -> Result<ByteLen, AskError> {
        if self.templates.is_empty() && self.pieces.keys(content, keys) {
            return Ok(self.content(content).size);
        }
        let kept = self.load(content)?;
        evidence_keys(&kept.sketch(), keys);
        Ok(kept.size)
    }

    /// Looks the subjects up and measures the twins.
    ///
    /// `subjects`: contents that A alone has, then contents that B alone has, both ascending. `twins`: pairs
    /// of unequal contents (a, b) that stand at one path.
    pub(super) fn ask(
        &self,
        subjects: [&[u32]; 2],
        twins: &[(u32, u32)],
    ) -> Result<Partners, AskError> {
        let mut partners = Partners {
            links: Vec::new(),
            twins: Vec::new(),
            covered: HashMap::new(),
            counts: Counts::new(self.limit),
            errors: Vec::new(),
        };
        if subjects.iter().all(|side| side.is_empty()) && twins.is_empty() {
            return Ok(partners);
        }
        let all: Vec<(u32, bool)> = subjects[0]
            .iter()
            .map(|&content| (content, true))
            .chain(subjects[1].iter().map(|&content| (content, false)))
            .filter(|&(content, _)| !similarity::too_small(self.content(content).size))
            .collect();
        let is_subject = subjects.map(|side| {
            let mut is = vec![false; self.sides.contents.len()];
            for &content in side {
                is[content as usize] = true;
            }
            is
        });
        let mut found = Found::default();
        // Without subjects the twins are measured all the same, and need to know what is common.
        let mut batches = all.chunks(BATCH);
        self.look_up(
            batches.next().unwrap_or_default(),
            &is_subject,
            &mut found,
            &mut partners,
        )?;
        for batch in batches {
            self.look_up(batch, &is_subject, &mut found, &mut partners)?;
        }
        let Found {
            common, candidates, ..
        } = found;
        let common = common.unwrap_or_default();
        self.measure_all(&candidates, &is_subject, &common, &mut partners)?;
        partners.links.sort_unstable_by_key(|link| (link.a, link.b));
        let measured = in_parallel(twins.len(), Vec::new, |at, out: &mut Vec<_>| {
            let (a, b) = twins[at];
            let ready = |content| Ok::<_, AskError>(Ready::of(self.load(content)?, &common));
            let (a, b) = (ready(a)?, ready(b)?);
            let mut errors = Vec::new();
            let measures = self.measure(&a, &b, &common, &mut errors);
            out.push((self.link(&a.kept, &b.kept, measures), errors));
            Ok(())
        })?;
        for (twin, errors) in measured.into_iter().flatten() {
            partners.twins.push(twin);
            partners.errors.extend(errors);
        }
        partners.twins.sort_unstable_by_key(|twin| (twin.a, twin.b));
        partners.errors.sort();
        partners.errors.dedup();
        Ok(partners)
    }

    /// Finds the candidates of a batch: everything goes by, and what it has in common with anybody is noted; then
    /// it is known what is common, and the rest is counted up.
    fn look_up(
        &self,
        batch: &[(u32, bool)],
        is_subject: &[Vec<bool>; 2],
        found: &mut Found,
        partners: &mut Partners,
    ) -> Result<(), AskError> {
        let contents = self.sides.contents.len();
        let loaded = in_parallel(batch.len(), Vec::new, |at, out: &mut Vec<_>| {
            let kept = self.load(batch[at].0)?;
            let keys = weighed(&kept);
            let plain: Vec<u64> = keys.iter().map(|&(key, _)| key).collect();
            let subject = Subject {
                content: kept.id.0,
                of_a: batch[at].1,
                whole: kept.whole,
                size: kept.size,
                shape: Shape::of(&plain),
            };
            out.push((at, subject, keys));
            Ok(())
        })?;
        let mut loaded: Vec<Loaded> = loaded.into_iter().flatten().collect();
        loaded.sort_unstable_by_key(|&(at, ..)| at);
        let mut pairs = Vec::new();
        let mut subjects = Vec::with_capacity(loaded.len());
        for (place, (_, subject, keys)) in loaded.into_iter().enumerate() {
            pairs.extend(
                keys.into_iter()
                    .map(|(key, bytes)| (key, place as u32, bytes)),
            );
            subjects.push(subject);
        }
        let wanted = Wanted::new(pairs);
        let buckets = Buckets::new(contents, self.limit);
        // Everything goes by.
        let states = in_parallel(contents, Passing::default, |content, state| {
            let Passing { keys, found, seen } = state;
            let from = found.len();
            let size = self.keys(content as u32, keys)?;
            for &key in &*keys {
                if let Some(at) = wanted.find(key) {
                    wanted.count(at);
                    found.push(at as u32);
                } else {
                    buckets.count(key);
                }
            }
            if found.len() > from {
                seen.push(Seen {
                    content: content as u32,
                    found: from..found.len(),
                    size,
                    shape: Shape::of(keys),
                });
            }
            Ok(())
        })?;
        if found.common.is_none() {
            found.common = Some(self.common(&buckets)?);
        }
        let scan = Scan {
            question: self,
            subjects: &subjects,
            wanted: &wanted,
            is_subject,
            of_a: subjects.partition_point(|subject| subject.of_a) as u32,
            least: self.least_shares(),
        };
        for Passing {
            found: keys, seen, ..
        } in &states
        {
            let tallied = in_parallel(
                seen.len(),
                || Tally::new(subjects.len()),
                |at, tally| {
                    scan.content(&seen[at], &keys[seen[at].found.clone()], tally);
                    Ok(())
                },
            )?;
            for tally in tallied {
                found.candidates.extend(tally.candidates);
            }
        }
        let common = found.common.get_or_insert_default();
        for (at, &key) in wanted.keys.iter().enumerate() {
            let count = wanted.counted(at);
            if count > self.limit {
                common.add(key);
            }
            let kind = if key & CHUNK == 0 {
                PostingKind::Fingerprint
            } else {
                PostingKind::Chunk
            };
            partners.counts.note(kind, key & !CHUNK, count as usize);
        }
        Ok(())
    }

    /// The keys that nobody asks about and that are boilerplate all the same: what is measured has them.
    fn common(&self, buckets: &Buckets) -> Result<Common, AskError> {
        let Some(suspects) = buckets.suspects() else {
            return Ok(Common::default());
        };
        let parts = in_parallel(
            self.sides.contents.len(),
            || (Vec::new(), HashMap::<u64, u32>::new()),
            |content, (keys, counts)| {
                self.keys(content as u32, keys)?;
                for &key in keys.iter().filter(|&&key| suspects.has(key)) {
                    *counts.entry(key).or_default() += 1;
                }
                Ok(())
            },
        )?;
        Ok(Common::of(
            parts.into_iter().map(|(_, counts)| counts),
            self.limit,
        ))
    }

    /// Measures the candidates and keeps those that are partners.
    fn measure_all(
        &self,
        candidates: &[(u32, u32)],
        is_subject: &[Vec<bool>; 2],
        common: &Common,
        partners: &mut Partners,
    ) -> Result<(), AskError> {
        // By content of A: its pieces are unpacked once.
        let mut candidates = candidates.to_vec();
        candidates.sort_unstable();
        let groups: Vec<&[(u32, u32)]> = candidates.chunk_by(|x, y| x.0 == y.0).collect();
        let measured = in_parallel(groups.len(), Measured::default, |at, state| {
            let a = Ready::of(self.load(groups[at][0].0)?, common);
            for &(_, b) in groups[at] {
                let Measured {
                    ready,
                    links,
                    covers,
                    errors,
                } = state;
                if ready.len() >= READY {
                    ready.clear();
                }
                let b = match ready.entry(b) {
                    Entry::Occupied(known) => known.into_mut(),
                    Entry::Vacant(new) => new.insert(Ready::of(self.load(b)?, common)),
                };
                let measures = self.measure(&a, b, common, errors);
                let link = self.link(&a.kept, &b.kept, measures);
                if !self.passes(&link, &a.kept, &b.kept) {
                    continue;
                }
                links.push(link);
                for (content, partner, side) in [(&a, &*b, 0), (b, &a, 1)] {
                    let number = content.kept.id.0;
                    if is_subject[side][number as usize] {
                        let cover = covers.entry(number).or_default();
                        cover.add(&content.kept, &partner.kept);
                    }
                }
            }
            Ok(())
        })?;
        let mut covers: HashMap<u32, Cover> = HashMap::new();
        for state in measured {
            partners.links.extend(state.links);
            partners.errors.extend(state.errors);
            for (content, cover) in state.covers {
                covers.entry(content).or_default().join(&cover);
            }
        }
        let several: Vec<(u32, Cover)> = covers
            .into_iter()
            .filter(|(_, cover)| cover.partners > 1)
            .collect();
        let scored = in_parallel(several.len(), Vec::new, |at, out: &mut Vec<_>| {
            let (content, cover) = &several[at];
            out.push((*content, cover.score(&self.load(*content)?, common)));
            Ok(())
        })?;
        partners.covered.extend(scored.into_iter().flatten());
        Ok(())
    }

    /// The measures of a pair, by the bytes if that is asked for and both can be read.
    fn measure(
        &self,
        a: &Ready,
        b: &Ready,
        common: &Common,
        errors: &mut Vec<SoftError>,
    ) -> Measures {
        let largest = a.kept.whole.max(b.kept.whole);
        if self.options.exact && largest <= LARGEST_READ {
            let mut read = |side: usize, content: &Ready| {
                let held = self.holders[side].of_content(content.kept.id.0).first()?;
                let side = [&self.sides.a, &self.sides.b][side];
                let path = side.path(&side.entries[*held as usize]);
                bytes_of(&path)
                    .map_err(|error| errors.push(soft_error(&path, &error)))
                    .ok()
            };
            if let (Some(a), Some(b)) = (read(0, a), read(1, b)) {
                return exact_payload(self.templates, &a, &b).0;
            }
        }
        if (a.kept.kind, b.kept.kind) == (ContentKind::Text, ContentKind::Text) {
            similarity::estimate_prepared_texts(&a.prepared, &b.prepared, common)
        } else {
            similarity::estimate_prepared(&a.prepared, &b.prepared, common)
        }
    }

    fn min_shared(&self) -> ByteLen {
        self.options
            .min_shared
            .map_or(Relation::MIN_SHARED, ByteLen)
    }

    fn link(&self, a: &Kept, b: &Kept, measures: Measures) -> Link {
        let relation = similarity::relation(false, a.size, b.size, &measures, self.min_shared());
        Link {
            a: a.id.0,
            b: b.id.0,
            measures,
            relation,
        }
    }

    /// Whether a link makes its files partners.
    fn passes(&self, link: &Link, a: &Kept, b: &Kept) -> bool {
        match self.options.min.score() {
            None => link.relation.is_some(),
            Some(min) => {
                link.score() >= min
                    && enough_shared((a.size, b.size), &link.measures, self.min_shared())
            }
        }
    }

    /// Whether the sizes let two contents be partners (sif, section 4).
    fn sizes_fit(&self, a: ByteLen, b: ByteLen) -> bool {
        let Some(ratio) = self.options.size_ratio.score() else {
            return true;
        };
        let (less, more) = (a.0.min(b.0) as f64, a.0.max(b.0) as f64);
        less >= ratio.get() * more
    }

    /// The least share of the windows, and of the bytes in whole chunks, with which the threshold can be
    /// reached.
    fn least_shares(&self) -> (f64, f64) {
        /// Scattered edits spoil 64 windows each but one byte: with a share p of the windows in common
        /// the containment is at most about p·(1 - ln p), below 4·p for every p ≥ 0.05. The rest
        /// of the factor is room for the error of small samples.
        const MOST_PER_WINDOW: f64 = 6.5;
        /// Chunks without windows: both speak of the same bytes, so what a chunk proves and no sample
        /// shows is about what it proves.
        const MOST_PER_CHUNK: f64 = 2.5;
        if self.options.exact {
            return (0.0, 0.0);
        }
        let threshold = self
            .options
            .min
            .score()
            .map_or(Relation::PARTLY, Score::get);
        (threshold / MOST_PER_WINDOW, threshold / MOST_PER_CHUNK)
    }
}

/// The evidence keys of a content, each with the bytes of the content that it stands for if it is a chunk's.
fn weighed(kept: &Kept) -> Vec<(u64, u32)> {
    let chunks = kept.chunks.0.iter().filter(|run| run.is_evidence());
    let mut keys: Vec<(u64, u32)> = chunks
        .map(|run| {
            let bytes = u64::from(run.len) * run.count;
            let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
            (run.hash.posting_key() | CHUNK, bytes)
        })
        .collect();
    keys.sort_unstable();
    keys.dedup_by(|next, kept| {
        let same = next.0 == kept.0;
        kept.1 = kept.1.saturating_add(if same { next.1 } else { 0 });
        same
    });
    keys.extend(kept.signature.fingerprints.iter().map(|f| (f.0, 0)));
    keys
}

/// What is found for all batches.
#[derive(Default)]
struct Found {
    /// Known after the first batch.
    common: Option<Common>,
    /// Pairs (content of A, content of B) that may be partners.
    candidates: Vec<(u32, u32)>,
}

/// A content ready to be measured.
struct Ready {
    kept: Kept,
    prepared: Prepared,
}

impl Ready {
    fn of(kept: Kept, common: &Common) -> Self {
        let prepared = Prepared::of(&kept.sketch(), common);
        Self { kept, prepared }
    }
}

/// Contents of B that a thread keeps ready: families meet again and again. Some 4 KB each.
const READY: usize = 2048;

/// What a thread has measured.
#[derive(Default)]
struct Measured {
    ready: HashMap<u32, Ready>,
    links: Vec<Link>,
    covers: HashMap<u32, Cover>,
    errors: Vec<SoftError>,
}

/// A content that is looked up, as far as candidates need it.
struct Subject {
    content: u32,
    of_a: bool,
    whole: ByteLen,
    size: ByteLen,
    shape: Shape,
}

/// The levels of a content's fingerprints.
struct Shape {
    /// The least of any: that of the signature, or more.
    level: u8,
    /// How many have at least each level, from the least that there is on; 255 and more are 255.
    at_least: [u8; 32],
}

impl Shape {
    fn of(keys: &[u64]) -> Self {
        let mut at_least = [0u8; 32];
        let mut level = u8::MAX;
        for key in keys.iter().filter(|&&key| key & CHUNK == 0) {
            let of_key = Fingerprint(*key).level();
            level = level.min(of_key);
            let count = &mut at_least[Self::place(of_key)];
            *count = count.saturating_add(1);
        }
        for place in (0..31).rev() {
            at_least[place] = at_least[place].saturating_add(at_least[place + 1]);
        }
        Self { level, at_least }
    }

    fn place(level: u8) -> usize {
        usize::from(level.saturating_sub(Fingerprint::BASE_LEVEL)).min(31)
    }

    /// Of the two samples at their common level, the smaller.
    fn fewer(&self, other: &Self) -> f64 {
        let at = Self::place(self.level.max(other.level));
        f64::from(self.at_least[at].min(other.at_least[at]).max(1))
    }
}

/// What a thread notes while everything goes by.
#[derive(Default)]
struct Passing {
    keys: Vec<u64>,
    /// Places of wanted keys, content by content.
    found: Vec<u32>,
    seen: Vec<Seen>,
}

/// A content that has keys of subjects.
struct Seen {
    content: u32,
    found: std::ops::Range<usize>,
    size: ByteLen,
    shape: Shape,
}

/// What a batch of subjects has in common with all contents.
struct Scan<'a> {
    question: &'a Question<'a>,
    subjects: &'a [Subject],
    wanted: &'a Wanted,
    is_subject: &'a [Vec<bool>; 2],
    /// How many of the batch are subjects of A.
    of_a: u32,
    least: (f64, f64),
}

/// What a thread counts with.
struct Tally {
    /// Common fingerprints with each subject, and its bytes in common chunks.
    counts: Vec<(u16, u32)>,
    touched: Vec<u32>,
    candidates: Vec<(u32, u32)>,
}

impl Tally {
    fn new(subjects: usize) -> Self {
        Self {
            counts: vec![(0, 0); subjects],
            touched: Vec::new(),
            candidates: Vec::new(),
        }
    }
}

impl Scan<'_> {
    fn content(&self, seen: &Seen, keys: &[u32], tally: &mut Tally) {
        let question = self.question;
        let content = seen.content;
        if similarity::too_small(question.content(content).size) {
            return;
        }
        let in_b = question.holders[1].has(content);
        // Two subjects meet when that of B goes by.
        let in_a = question.holders[0].has(content) && !self.is_subject[0][content as usize];
        for &at in keys {
            let at = at as usize;
            if self.wanted.counted(at) > question.limit {
                continue;
            }
            let of_chunk = self.wanted.keys[at] & CHUNK != 0;
            // Subjects of A come first.
            let places = self.wanted.places(at);
            let of_b = places.partition_point(|&(place, _)| place < self.of_a);
            let from = if in_b { 0 } else { of_b };
            let to = if in_a { places.len() } else { of_b };
            for &(place, bytes) in places.get(from..to).unwrap_or_default() {
                let count = &mut tally.counts[place as usize];
                if *count == (0, 0) {
                    tally.touched.push(place);
                }
                if of_chunk {
                    count.1 = count.1.saturating_add(bytes);
                } else {
                    count.0 = count.0.saturating_add(1);
                }
            }
        }
        for place in tally.touched.drain(..) {
            let shared = std::mem::take(&mut tally.counts[place as usize]);
            let subject = &self.subjects[place as usize];
            if self.could_pass(subject, seen, shared) {
                tally.candidates.push(if subject.of_a {
                    (subject.content, content)
                } else {
                    (content, subject.content)
                });
            }
        }
    }

    /// Whether so much in common could come to the threshold.
    fn could_pass(
        &self,
        subject: &Subject,
        other: &Seen,
        (fingerprints, bytes): (u16, u32),
    ) -> bool {
        let whole = self.question.content(other.content).size;
        if !self.question.sizes_fit(subject.whole, whole) {
            return false;
        }
        let (least_windows, least_bytes) = self.least;
        let smaller = subject.size.0.min(other.size.0).max(1) as f64;
        // A chunk may prove what few samples hide.
        if bytes > 0 && f64::from(bytes) / smaller >= least_bytes {
            return true;
        }
        // One window is a phrase.
        fingerprints >= 2
            && f64::from(fingerprints) / subject.shape.fewer(&other.shape) >= least_windows
    }
}

/// Which pieces of a subject any of its partners has.
#[derive(Default)]
struct Cover {
    partners: u32,
    /// The greatest level of any of the signatures: below it, absence says nothing.
    level: u8,
    fingerprints: Vec<u64>,
    chunks: Vec<u64>,
}

fn set(bits: &mut Vec<u64>, at: usize) {
    if bits.len() <= at / 64 {
        bits.resize(at / 64 + 1, 0);
    }
    bits[at / 64] |= 1 << (at % 64);
}

fn is_set(bits: &[u64], at: usize) -> bool {
    bits.get(at / 64)
        .is_some_and(|word| word >> (at % 64) & 1 == 1)
}

impl Cover {
    fn add(&mut self, subject: &Kept, partner: &Kept) {
        self.partners += 1;
        self.level = self.level.max(partner.signature.level);
        let mut theirs: Vec<Fingerprint> = partner.signature.fingerprints.clone();
        theirs.sort_unstable();
        for (at, fingerprint) in subject.signature.fingerprints.iter().enumerate() {
            if theirs.binary_search(fingerprint).is_ok() {
                set(&mut self.fingerprints, at);
            }
        }
        let mut theirs: Vec<_> = partner
            .chunks
            .0
            .iter()
            .map(|run| (run.hash, run.len))
            .collect();
        theirs.sort_unstable();
        for (at, run) in subject.chunks.0.iter().enumerate() {
            if theirs.binary_search(&(run.hash, run.len)).is_ok() {
                set(&mut self.chunks, at);
            }
        }
    }

    fn join(&mut self, other: &Self) {
        self.partners += other.partners;
        self.level = self.level.max(other.level);
        for (ours, theirs) in [
            (&mut self.fingerprints, &other.fingerprints),
            (&mut self.chunks, &other.chunks),
        ] {
            ours.resize(ours.len().max(theirs.len()), 0);
            for (word, more) in ours.iter_mut().zip(theirs) {
                *word |= more;
            }
        }
    }

    /// How much of the subject lies in its partners: as if they were one file.
    fn score(&self, subject: &Kept, boilerplate: &dyn Boilerplate) -> Score {
        let level = self.level.max(subject.signature.level);
        let found = subject.signature.fingerprints.iter().enumerate();
        let fingerprints = found
            .filter(|&(at, f)| f.level() >= level && is_set(&self.fingerprints, at))
            .map(|(_, &f)| f)
            .collect();
        let runs = subject.chunks.0.iter().enumerate();
        let chunks = runs.filter(|&(at, _)| is_set(&self.chunks, at));
        let chunks = ChunkList(chunks.map(|(_, &run)| run).collect());
        let signature = Signature {
            level,
            fingerprints,
        };
        let together = Sketch {
            size: subject.size,
            chunks: &chunks,
            signature: &signature,
        };
        let kind = if subject.kind == ContentKind::Empty {
            ContentKind::Binary
        } else {
            subject.kind
        };
        let measures = estimate((&subject.sketch(), kind), (&together, kind), boilerplate);
        measures.a_in_b.unwrap_or(Score::ZERO)
    }
}
