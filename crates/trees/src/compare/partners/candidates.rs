//! Finds the pairs of contents that are perhaps partners.
//!
//! All contents are scanned once for each batch. The scan records which pieces each content shares
//! with a subject, and counts every piece. Pieces that too many contents have are dropped, and the
//! other pieces are summed up for each subject. A pair is no candidate if its pieces cannot reach
//! the threshold, or if its contents are unrelated (`kin`).

use std::collections::HashMap;

use resemble_core::{ByteLen, ContentKind, Fingerprint};
use resemble_index::PostingKind;
use resemble_relate::AskError;
use resemble_relate::judge::estimate::least_to_read;
use resemble_relate::nominate::evidence::{CHUNK, Counts, StoredSketch};
use resemble_relate::nominate::levels::SignatureLevels;
use resemble_relate::parallel::{in_parallel, ordered};
use resemble_relate::renditions::Rendition;

mod scan;

use scan::{CandidateTally, LookedUp, Scan, Seen, Shape};

use super::PartnerQuestion;
use super::kin::BatchWindows;
use crate::compare::common::{Buckets, CommonKeys};
use crate::compare::files::FilesMeet;
use crate::compare::wanted::WantedKeys;

#[derive(Default)]
pub(super) struct FoundCandidates {
    /// The boilerplate, which is known after the first batch.
    pub(super) common: Option<CommonKeys>,
    /// Pairs (content of A, content of B). The contents are perhaps partners, or renditions of
    /// files that are perhaps partners.
    pub(super) candidates: Vec<(u32, u32)>,
}

/// Two files that are perhaps partners, and the contents by which they are compared (`met`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Candidate {
    pub(super) met: (u32, u32),
    /// The file of A and the file of B, each named by its content.
    pub(super) files: (u32, u32),
}

/// The maximum number of files with the same text that are all compared. If there are more, each
/// file is compared only with the first file of the other side.
const MOST_OF_ONE_TEXT: usize = 48;

impl PartnerQuestion<'_> {
    /// Returns whether a side has a content, as the bytes of a file or as another rendition.
    fn has(&self, side: usize, content: u32) -> bool {
        let holders = self.holders[side];
        let mut owners = self.files.owners(content);
        holders.has(content) || owners.any(|(owner, _)| holders.has(owner))
    }

    /// Returns the files of a side that have a content as their bytes or as another rendition.
    fn owners(&self, side: usize, content: u32) -> Vec<(u32, Rendition)> {
        let own = [(content, Rendition::Own)].into_iter();
        let all = own.chain(self.files.owners(content));
        all.filter(|&(file, _)| self.holders[side].has(file))
            .collect()
    }

    /// Returns the pairs of files that these pairs of contents nominate. The pairs in the first
    /// list are compared by one content of each file. The pairs in the second list are compared by
    /// members. Both lists are sorted.
    pub(super) fn candidates(
        &self,
        mut found: Vec<(u32, u32)>,
        is_subject: &[Vec<bool>; 2],
    ) -> (Vec<Candidate>, Vec<(u32, u32)>) {
        if self.files.are_plain() {
            let files = found
                .into_iter()
                .map(|files| Candidate { met: files, files });
            let mut candidates: Vec<Candidate> = files.collect();
            candidates.sort_unstable();
            return (candidates, Vec::new());
        }
        // A rendition that a file of A shares with a file of B nominates both files, even without a
        // common sample.
        let stand_ins = self.sides.apart.values().flatten();
        found.extend(stand_ins.map(|&(_, content)| (content, content)));
        let (mut candidates, mut of_members) = (Vec::new(), Vec::new());
        for (x, y) in found {
            let (of_a, of_b) = (self.owners(0, x), self.owners(1, y));
            let is_many = of_a.len() + of_b.len() > MOST_OF_ONE_TEXT;
            for (at, &a) in of_a.iter().enumerate() {
                // If many files share the content, the first file of A is paired with all files of
                // B. The other files of A are paired with the first file of B.
                let met = if is_many && at > 0 { 1 } else { of_b.len() };
                for &b in &of_b[..met.min(of_b.len())] {
                    let files = (a.0, b.0);
                    let is_asked = files.0 != files.1
                        && (is_subject[0][files.0 as usize] || is_subject[1][files.1 as usize]);
                    if !is_asked || !self.files.nominate(a, b) {
                        continue;
                    }
                    match self.files.meeting(files.0, files.1) {
                        FilesMeet::Contents(x, y) => {
                            candidates.push(Candidate { met: (x, y), files });
                        }
                        FilesMeet::Members => of_members.push(files),
                    }
                }
            }
        }
        candidates.sort_unstable();
        candidates.dedup();
        of_members.sort_unstable();
        of_members.dedup();
        (candidates, of_members)
    }

    /// Finds the candidates of a batch. The first pass over all contents notes the keys that each
    /// content shares with any subject. After this pass, the boilerplate among the keys is known.
    /// Then the other keys are counted for each pair.
    pub(super) fn look_up(
        &self,
        batch: &[(u32, bool)],
        is_looked_up: &[Vec<bool>; 2],
        found: &mut FoundCandidates,
        counts: &mut Counts,
    ) -> Result<(), AskError> {
        let contents = self.sides.contents.len();
        let (mut subjects, mut wanted) = self.subjects(batch)?;
        // Keys that no subject has are counted only in the first batch, once for all batches.
        let counted = if found.common.is_none() { contents } else { 0 };
        let buckets = Buckets::new(counted, self.limit);
        // The first pass over all contents.
        let states = in_parallel(contents, ThreadNotes::default, |content, state| {
            let ThreadNotes {
                keys,
                found,
                seen,
                levels,
            } = state;
            let from = found.len();
            let size = self.keys(content as u32, keys)?;
            if let Some(level) = Shape::level_of(keys) {
                levels.note(
                    self.content(content as u32).kind == ContentKind::Text,
                    level,
                );
            }
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
            Ok::<_, AskError>(())
        })?;
        if found.common.is_none() {
            found.common = Some(self.common(&buckets)?);
        }
        let mut levels = SignatureLevels::default();
        for state in &states {
            levels.join(&state.levels);
        }
        wanted.decide(|wanted, at| self.is_common(wanted, at, &subjects, &levels));
        let common_of = common_of(&subjects, &wanted);
        for (subject, common) in subjects.iter_mut().zip(common_of) {
            subject.shape.leave_out(common);
        }
        let is_judged = |place: u32| self.is_judged(subjects[place as usize].content);
        let scan = Scan {
            question: self,
            windows: BatchWindows::of((&wanted, self.limit), subjects.len(), is_judged),
            subjects: &subjects,
            wanted: &wanted,
            is_looked_up,
            of_a: subjects.partition_point(|subject| subject.of_a) as u32,
            least: self.least_shares(),
        };
        let mut undecided = Vec::new();
        for ThreadNotes {
            found: keys, seen, ..
        } in &states
        {
            let tallied = in_parallel(
                seen.len(),
                || CandidateTally::new(subjects.len()),
                |at, tally| {
                    self.pieces.go_on()?;
                    scan.content(&seen[at], &keys[seen[at].found.clone()], tally);
                    Ok::<_, AskError>(())
                },
            )?;
            for tally in tallied {
                found.candidates.extend(tally.candidates);
                undecided.extend(tally.undecided);
            }
        }
        found.candidates.extend(self.kin_of(&undecided, &wanted)?);
        self.note_counts(&wanted, found.common.get_or_insert_default(), counts);
        Ok(())
    }

    /// Loads the subjects of a batch, and collects their keys.
    fn subjects(&self, batch: &[(u32, bool)]) -> Result<(Vec<LookedUp>, WantedKeys), AskError> {
        let load = |at: usize, (): &mut ()| {
            let kept = self.load(batch[at].0)?;
            let keys = weighed(&kept);
            let plain: Vec<u64> = keys.iter().map(|&(key, _)| key).collect();
            let subject = LookedUp {
                content: kept.id.0,
                of_a: batch[at].1,
                whole: kept.whole,
                size: kept.size,
                shape: Shape::of(&plain),
                level: kept.signature.level,
            };
            Ok::<_, AskError>((subject, keys))
        };
        let mut pairs = Vec::new();
        let mut subjects: Vec<LookedUp> = Vec::with_capacity(batch.len());
        let loaded = ordered(batch.len(), || (), load)?.into_iter();
        for (place, (subject, keys)) in (0u32..).zip(loaded) {
            pairs.extend(keys.into_iter().map(|(key, bytes)| (key, place, bytes)));
            subjects.push(subject);
        }
        Ok((subjects, WantedKeys::new(pairs)))
    }

    /// Records how many contents have each key of a batch, and which keys are boilerplate.
    fn note_counts(&self, wanted: &WantedKeys, common: &mut CommonKeys, counts: &mut Counts) {
        for (at, &key) in wanted.keys.iter().enumerate() {
            let mut counted = wanted.counted(at);
            if wanted.is_common(at) {
                counted = counted.max(self.limit + 1);
                common.add(key);
            }
            let kind = if key & CHUNK == 0 {
                PostingKind::Fingerprint
            } else {
                PostingKind::Chunk
            };
            counts.note(kind, key & !CHUNK, counted as usize);
        }
    }

    /// Returns whether a key of the subjects is boilerplate, that is, whether it is in more
    /// contents than the limit. The count for a sample is estimated from the levels.
    fn is_common(
        &self,
        wanted: &WantedKeys,
        at: usize,
        subjects: &[LookedUp],
        levels: &SignatureLevels,
    ) -> bool {
        let (key, counted) = (wanted.keys[at], wanted.counted(at));
        if key & CHUNK != 0 {
            return counted > self.limit;
        }
        let subject = &subjects[wanted.places(at)[0].0 as usize];
        let is_text = self.content(subject.content).kind == ContentKind::Text;
        let sample = Fingerprint(key);
        levels.contents(sample, is_text, counted as usize, self.limit) > self.limit as usize
    }

    /// Returns the boilerplate keys that no subject has. Measured contents may have these keys.
    fn common(&self, buckets: &Buckets) -> Result<CommonKeys, AskError> {
        let Some(suspects) = buckets.suspects() else {
            return Ok(CommonKeys::default());
        };
        let parts = self.count(|key| suspects.has(key))?;
        Ok(CommonKeys::of(parts, self.limit))
    }

    /// Counts the contents that have each of these keys. The result is in parts. The counts of a
    /// key in all parts must be added.
    pub(super) fn count(
        &self,
        is_counted: impl Fn(u64) -> bool + Sync,
    ) -> Result<impl Iterator<Item = HashMap<u64, u32>>, AskError> {
        let parts = in_parallel(
            self.sides.contents.len(),
            || (Vec::new(), HashMap::<u64, u32>::new()),
            |content, (keys, counts)| {
                self.keys(content as u32, keys)?;
                for &key in keys.iter().filter(|&&key| is_counted(key)) {
                    *counts.entry(key).or_default() += 1;
                }
                Ok::<_, AskError>(())
            },
        )?;
        Ok(parts.into_iter().map(|(_, counts)| counts))
    }

    /// Returns whether the sizes of two contents allow them to be partners (sif, section 4).
    fn sizes_fit(&self, a: ByteLen, b: ByteLen) -> bool {
        let Some(ratio) = self.options.size_ratio.score() else {
            return true;
        };
        let (less, more) = (a.0.min(b.0) as f64, a.0.max(b.0) as f64);
        less >= ratio.get() * more
    }

    /// Returns the two least shares that allow a pair to reach the threshold. One is the share of
    /// common windows, and the other is the share of bytes in common whole chunks.
    fn least_shares(&self) -> (f64, f64) {
        /// Every scattered edit spoils 64 windows and only one byte. With a share p of common
        /// windows, the containment is at most about p·(1 - ln p). This is below 4·p for every p ≥
        /// 0.05. The rest of the factor allows for the error of small samples.
        const MOST_PER_WINDOW: f64 = 6.5;
        /// The same factor for bytes in common chunks. Chunks and windows cover the same bytes. So
        /// common bytes beyond these chunks would show in the windows.
        const MOST_PER_CHUNK: f64 = 2.5;
        if self.options.exact {
            return (0.0, 0.0);
        }
        let threshold = least_to_read(self.options.min);
        (threshold / MOST_PER_WINDOW, threshold / MOST_PER_CHUNK)
    }
}

/// Returns the boilerplate samples of each subject.
fn common_of(subjects: &[LookedUp], wanted: &WantedKeys) -> Vec<Vec<u64>> {
    let mut common_of: Vec<Vec<u64>> = vec![Vec::new(); subjects.len()];
    for at in (0..wanted.keys.len()).filter(|&at| wanted.is_common(at)) {
        let key = wanted.keys[at];
        for &(place, _) in wanted.places(at).iter().filter(|_| key & CHUNK == 0) {
            common_of[place as usize].push(key);
        }
    }
    common_of
}

/// Returns the evidence keys of a content. The key of a chunk is paired with the number of its
/// bytes in the content. The key of a fingerprint is paired with 0.
fn weighed(kept: &StoredSketch) -> Vec<(u64, u32)> {
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

#[derive(Default)]
struct ThreadNotes {
    keys: Vec<u64>,
    /// The keys that each content shares with subjects, one content after another. They are given
    /// as indexes of wanted keys.
    found: Vec<u32>,
    seen: Vec<Seen>,
    levels: SignatureLevels,
}
