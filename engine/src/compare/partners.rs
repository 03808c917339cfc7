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

use resemble_core::similarity::{self, Boilerplate, Sketch, Templates};
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

    /// The evidence keys of a content, without what is template.
    fn keys(&self, content: u32, keys: &mut Vec<u64>) -> Result<(), AskError> {
        if !self.templates.is_empty() || !self.pieces.keys(content, keys) {
            evidence_keys(&self.load(content)?.sketch(), keys);
        }
        Ok(())
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
            let (a, b) = (self.load(a)?, self.load(b)?);
            let mut errors = Vec::new();
            let measures = self.measure(&a, &b, &common, &mut errors);
            out.push((self.link(&a, &b, measures), errors));
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

    /// Finds the candidates of a batch: everything goes by twice, once to be counted and once to be compared.
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
            out.push((at, Subject::new(&kept, batch[at].1), weighed(&kept)));
            Ok(())
        })?;
        let mut loaded: Vec<(usize, Subject, Vec<(u64, u32)>)> =
            loaded.into_iter().flatten().collect();
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
        in_parallel(contents, Vec::new, |content, keys| {
            self.keys(content as u32, keys)?;
            for &key in &*keys {
                match wanted.find(key) {
                    Some(at) => wanted.count(at),
                    None => buckets.count(key),
                }
            }
            Ok(())
        })?;
        let scan = Scan {
            question: self,
            subjects: &subjects,
            wanted: &wanted,
            // What is common does not depend on the batch.
            buckets: found.common.is_none().then_some(&buckets),
            is_subject,
            of_a: subjects.partition_point(|subject| subject.of_a) as u32,
            least: self.least_shares(),
        };
        let states = in_parallel(
            contents,
            || State::new(subjects.len()),
            |content, state| scan.content(content as u32, state),
        )?;
        let mut suspects = Vec::new();
        for state in states {
            found.candidates.extend(state.candidates);
            suspects.push(state.suspects);
        }
        let common = found
            .common
            .get_or_insert_with(|| Common::of(suspects, self.limit));
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
            let a = self.load(groups[at][0].0)?;
            for &(_, b) in groups[at] {
                let b = self.load(b)?;
                let measures = self.measure(&a, &b, common, &mut state.errors);
                let link = self.link(&a, &b, measures);
                if !self.passes(&link, &a, &b) {
                    continue;
                }
                state.links.push(link);
                for (content, partner, side) in [(&a, &b, 0), (&b, &a, 1)] {
                    if is_subject[side][content.id.0 as usize] {
                        let cover = state.covers.entry(content.id.0).or_default();
                        cover.add(content, partner);
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
        for (content, cover) in covers {
            if cover.partners > 1 {
                let score = cover.score(&self.load(content)?, common);
                partners.covered.insert(content, score);
            }
        }
        Ok(())
    }

    /// The measures of a pair, by the bytes if that is asked for and both can be read.
    fn measure(
        &self,
        a: &Kept,
        b: &Kept,
        common: &Common,
        errors: &mut Vec<SoftError>,
    ) -> Measures {
        if self.options.exact && a.whole <= LARGEST_READ && b.whole <= LARGEST_READ {
            let mut read = |side: usize, content: &Kept| {
                let held = self.holders[side].of_content(content.id.0).first()?;
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
        estimate((&a.sketch(), a.kind), (&b.sketch(), b.kind), common)
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

/// What a thread has measured.
#[derive(Default)]
struct Measured {
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
    level: u8,
    levels: Levels,
}

impl Subject {
    fn new(kept: &Kept, of_a: bool) -> Self {
        Self {
            content: kept.id.0,
            of_a,
            whole: kept.whole,
            size: kept.size,
            level: kept.signature.level,
            levels: Levels::of(kept.signature.fingerprints.iter().copied()),
        }
    }

    /// By its keys alone. Its level may be too high, as the least of any fingerprint there is: then fewer
    /// of the others are compared with, and rather too much passes.
    fn of_keys(content: u32, size: ByteLen, keys: &[u64]) -> Self {
        let fingerprints = || {
            let keys = keys.iter().filter(|&&key| key & CHUNK == 0);
            keys.map(|&key| Fingerprint(key))
        };
        Self {
            content,
            of_a: false,
            whole: size,
            size,
            level: fingerprints().map(Fingerprint::level).min().unwrap_or(0),
            levels: Levels::of(fingerprints()),
        }
    }
}

/// How many fingerprints of a signature have at least each level.
struct Levels([u16; 48]);

impl Levels {
    fn of(fingerprints: impl Iterator<Item = Fingerprint>) -> Self {
        let mut at_least = [0u16; 48];
        for fingerprint in fingerprints {
            let level = usize::from(fingerprint.level()).min(47);
            at_least[level] = at_least[level].saturating_add(1);
        }
        for level in (0..47).rev() {
            at_least[level] = at_least[level].saturating_add(at_least[level + 1]);
        }
        Self(at_least)
    }

    fn at(&self, level: u8) -> f64 {
        f64::from(self.0[usize::from(level).min(47)])
    }
}

/// One scan of all contents for one batch of subjects.
struct Scan<'a> {
    question: &'a Question<'a>,
    subjects: &'a [Subject],
    wanted: &'a Wanted,
    /// Where keys that nobody asks about were counted; `None`: it is known which are common.
    buckets: Option<&'a Buckets>,
    is_subject: &'a [Vec<bool>; 2],
    /// How many of the batch are subjects of A.
    of_a: u32,
    least: (f64, f64),
}

/// What a thread has while it scans.
struct State {
    keys: Vec<u64>,
    /// Common fingerprints with each subject, and its bytes in common chunks.
    tally: Vec<(u16, u32)>,
    touched: Vec<u32>,
    candidates: Vec<(u32, u32)>,
    /// Counts of keys that may be boilerplate.
    suspects: HashMap<u64, u32>,
}

impl State {
    fn new(subjects: usize) -> Self {
        Self {
            keys: Vec::new(),
            tally: vec![(0, 0); subjects],
            touched: Vec::new(),
            candidates: Vec::new(),
            suspects: HashMap::new(),
        }
    }
}

impl Scan<'_> {
    fn content(&self, content: u32, state: &mut State) -> Result<(), AskError> {
        let question = self.question;
        let in_b = question.holders[1].has(content);
        // Two subjects meet when that of B goes by.
        let in_a = question.holders[0].has(content) && !self.is_subject[0][content as usize];
        let judged = !similarity::too_small(question.content(content).size);
        question.keys(content, &mut state.keys)?;
        for &key in &state.keys {
            let Some(at) = self.wanted.find(key) else {
                if self.buckets.is_some_and(|buckets| buckets.suspects(key)) {
                    *state.suspects.entry(key).or_default() += 1;
                }
                continue;
            };
            if !judged || self.wanted.counted(at) > question.limit {
                continue;
            }
            let of_chunk = key & CHUNK != 0;
            // Subjects of A come first.
            let places = self.wanted.places(at);
            let of_b = places.partition_point(|&(place, _)| place < self.of_a);
            let from = if in_b { 0 } else { of_b };
            let to = if in_a { places.len() } else { of_b };
            for &(place, bytes) in places.get(from..to).unwrap_or_default() {
                let count = &mut state.tally[place as usize];
                if *count == (0, 0) {
                    state.touched.push(place);
                }
                if of_chunk {
                    count.1 = count.1.saturating_add(bytes);
                } else {
                    count.0 = count.0.saturating_add(1);
                }
            }
        }
        if state.touched.is_empty() {
            return Ok(());
        }
        let mut other = None;
        for place in state.touched.drain(..) {
            let shared = std::mem::take(&mut state.tally[place as usize]);
            let subject = &self.subjects[place as usize];
            // One window is a phrase.
            if shared.1 == 0 && shared.0 < 2 {
                continue;
            }
            if other.is_none() {
                other = Some(if question.templates.is_empty() {
                    let size = question.content(content).size;
                    Subject::of_keys(content, size, &state.keys)
                } else {
                    Subject::new(&question.load(content)?, false)
                });
            }
            let passes = other
                .as_ref()
                .is_some_and(|other| self.could_pass(subject, other, shared));
            if passes {
                state.candidates.push(if subject.of_a {
                    (subject.content, content)
                } else {
                    (content, subject.content)
                });
            }
        }
        Ok(())
    }

    /// Whether so much in common could come to the threshold.
    fn could_pass(
        &self,
        subject: &Subject,
        other: &Subject,
        (fingerprints, bytes): (u16, u32),
    ) -> bool {
        if !self.question.sizes_fit(subject.whole, other.whole) {
            return false;
        }
        let (least_windows, least_bytes) = self.least;
        let smaller = subject.size.0.min(other.size.0).max(1) as f64;
        // A chunk may prove what few samples hide.
        if bytes > 0 && f64::from(bytes) / smaller >= least_bytes {
            return true;
        }
        let level = subject.level.max(other.level);
        let fewer = subject
            .levels
            .at(level)
            .min(other.levels.at(level))
            .max(1.0);
        fingerprints >= 2 && f64::from(fingerprints) / fewer >= least_windows
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
