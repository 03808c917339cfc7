//! Finds the contents of one side that resemble contents of the other side.
//!
//! After the comparison by paths and digests, some contents have no equal content. They are looked
//! up in *all* contents of the other side, including contents of files that have a partner. This
//! takes one scan in total, instead of one question for each file.
//!
//! 1. The subjects of the search are contents, not files. A file with ten copies is looked up once.
//!    A content that the other side also has is not looked up. The renditions of a file are looked
//!    up, too. They nominate the pairs of files that are then measured ([`ComparedFiles`]).
//! 2. The pieces of a batch of subjects form one table ([`WantedKeys`]). One scan counts the pieces
//!    that each content of both sides shares with each subject. Pieces that more than 1,000
//!    contents have are ignored ([`CommonKeys`]). So a piece belongs to at most 1,000 subjects, and
//!    the work is proportional to the sizes of the two trees.
//! 3. A pair is dropped unmeasured if its common pieces cannot reach the least containment, however
//!    the edits are distributed. Boilerplate is counted neither as common nor as missing. One
//!    common sample is enough if a content has few samples, or if most samples of both contents are
//!    boilerplate. Two contents that are not texts must share more than unrelated contents do
//!    (`kin`).
//! 4. Two subjects of different sides are compared only once, when the content of B is scanned.
//! 5. Pairs with members are measured one after another, because members are kept for the next
//!    pair.
//! 6. Batches bound the memory. If [`CompareOptions::memory`] is given, it sets the size of a
//!    batch. Otherwise, there is one batch for trees that differ in fewer than 65,536 contents. The
//!    number of batches does not affect the links.

mod bound;
mod budget;
mod candidates;
mod copies;
mod cover;
mod kin;
mod members;
mod own;
mod ready;
mod settled;

use std::cell::LazyCell;
use std::collections::{HashMap, HashSet};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};

use resemble_core::hash::content::digest;
use resemble_core::similarity::proof::{Provable, unit_of};
use resemble_core::similarity::{self, Interval, Templates, Unit};
use resemble_core::{ByteLen, ContentId, Measures, Relation, Score};
use resemble_proto::message::{CompareOptions, EstimateInterval, PairFigures, SoftError};
use resemble_relate::judge::estimate::{enough_shared, least_to_read, shown_in};
use resemble_relate::nominate::evidence::{Counts, StoredSketch};
use resemble_relate::parallel::{in_parallel, ordered};
use resemble_relate::prove::contents::TRIED;
use resemble_relate::prove::cost::ReadBudget;
use resemble_relate::prove::exact::{Proven, judged, provable};
use resemble_relate::prove::extracted::extract;
use resemble_relate::prove::read::{LARGEST_READ, bytes_if};
use resemble_relate::renditions::Rendition;
use resemble_relate::scope::ScopedFiles;
use resemble_relate::{AskError, soft_error};
use resemble_scan::parts::PartReader;

use self::budget::{BeyondBudget, CostlyPair};
use self::candidates::{Candidate, FoundCandidates};
pub(super) use self::copies::discounted_pieces;
use self::cover::Cover;
use self::ready::{Ready, ReadyContents};
pub(crate) use self::settled::Better;
use self::settled::Settled;
pub(super) use self::settled::is_settled;
use super::common::CommonKeys;
use super::files::{ComparedFiles, FilesMeet};
use super::framed::SideFrames;
use super::sides::{Content, Holders, Pieces, Sides};
use super::wanted::evidence_keys;

/// Two contents that share something: one content of A and one content of B.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    /// A content of A.
    pub(super) a: u32,
    /// A content of B.
    pub(super) b: u32,
    pub(super) measures: Measures,
    pub(super) told: PairFigures,
}

impl Link {
    /// Returns the link of two files, which are named by their contents. `estimate` is the interval
    /// if the measures are estimated. Otherwise, it is `None`.
    fn of((a, b): (u32, u32), found: &Proven, estimate: Option<Interval>) -> Self {
        Self {
            a,
            b,
            measures: found.measures,
            told: PairFigures {
                relation: found.relation,
                unit: found.unit.into(),
                estimate: estimate.is_some(),
                interval: estimate
                    .filter(|interval| *interval != Interval::default())
                    .map(EstimateInterval::from),
            },
        }
    }

    pub(super) fn score(&self) -> Score {
        self.measures.containment().unwrap_or(Score::ZERO)
    }
}

pub(super) struct PartnerQuestion<'a> {
    pub(super) sides: &'a Sides,
    pub(super) files: &'a ComparedFiles<'a>,
    pub(super) part_reader: Option<&'a dyn PartReader>,
    pub(super) pieces: &'a dyn Pieces,
    /// The files of one side, if catalogues among them may know fewer pieces than the index.
    pub(super) scoped: Option<&'a ScopedFiles>,
    pub(super) templates: &'a Templates,
    pub(super) options: &'a CompareOptions,
    pub(super) better: Better,
    pub(super) holders: [&'a Holders; 2],
    /// A piece is boilerplate if the number of contents that have it is above this limit.
    pub(super) limit: u32,
    /// The maximum number of bytes to read.
    pub(super) work: u64,
    /// True if a content that should be measured could not be read. Then an estimate is used.
    pub(super) has_unread: AtomicBool,
}

/// The result of the search.
#[derive(Debug, Default)]
pub(super) struct Partners {
    /// Links that pass the question's thresholds, sorted by (a, b).
    pub(super) links: Vec<Link>,
    /// The links of unequal files with the same relative path, even if they share nothing. Sorted
    /// by (a, b).
    pub(super) twins: Vec<Link>,
    /// The share of a content that lies in all its partners together, if it has several.
    pub(super) covered: HashMap<u32, Score>,
    pub(super) errors: Vec<SoftError>,
}

impl PartnerQuestion<'_> {
    fn content(&self, content: u32) -> &Content {
        &self.sides.contents[content as usize]
    }

    pub(super) fn load(&self, content: u32) -> Result<StoredSketch, AskError> {
        let (mut chunks, mut signature) = self.pieces.pieces(content)?;
        let &Content { size, kind, .. } = self.content(content);
        let payload = self.templates.strip(size, &mut chunks, &mut signature);
        Ok(StoredSketch {
            id: ContentId(content),
            whole: size,
            size: payload,
            kind,
            chunks,
            signature,
            words: None,
            of_leader: None,
        })
    }

    /// Fills `keys` with the evidence keys of a content, except those of templates. Returns the
    /// size of the content without templates.
    fn keys(&self, content: u32, keys: &mut Vec<u64>) -> Result<ByteLen, AskError> {
        if self.templates.is_empty() && self.pieces.keys(content, keys) {
            return Ok(self.content(content).size);
        }
        let kept = self.load(content)?;
        evidence_keys(&kept.sketch(), keys);
        Ok(kept.size)
    }

    /// Looks up the subjects among the contents of the other side, and measures the twins. Also
    /// counts the contents that have each piece of a subject.
    ///
    /// `subjects` has the contents that only A has, then the contents that only B has, each
    /// ascending. `alone` has, for A and for B, the contents of files that have no file at the same
    /// path on the other side, ascending. `twins` has the pairs of unequal contents (a, b) of files
    /// at the same path.
    pub(super) fn ask(
        &self,
        subjects: [&[u32]; 2],
        alone: [&[u32]; 2],
        twins: &[(u32, u32)],
    ) -> Result<(Partners, Counts), AskError> {
        let mut partners = Partners::default();
        let mut counts = Counts::new(self.limit);
        if subjects.iter().all(|side| side.is_empty()) && twins.is_empty() {
            return Ok((partners, counts));
        }
        let looked_up = subjects.map(|side| self.with_stand_ins(side));
        let all: Vec<(u32, bool)> = looked_up[0]
            .iter()
            .map(|&content| (content, true))
            .chain(looked_up[1].iter().map(|&content| (content, false)))
            .filter(|&(content, _)| !similarity::too_small(self.content(content).size))
            .collect();
        let flags = |side: &[u32]| {
            let mut is = vec![false; self.sides.contents.len()];
            for &content in side {
                is[content as usize] = true;
            }
            is
        };
        let is_looked_up = looked_up.map(|side| flags(&side));
        let mut found = FoundCandidates::default();
        // The first batch is looked up even if it is empty, because the twins also need the
        // boilerplate.
        let mut batches = all.chunks(self.batch());
        self.look_up(
            batches.next().unwrap_or_default(),
            &is_looked_up,
            &mut found,
            &mut counts,
        )?;
        for batch in batches {
            self.look_up(batch, &is_looked_up, &mut found, &mut counts)?;
        }
        let FoundCandidates {
            common, candidates, ..
        } = found;
        let common = common.unwrap_or_default();
        let is_subject = subjects.map(flags);
        let mut budget = ReadBudget::new(self.work);
        let beyond = self.beyond_budget(&mut budget, self.of_twins(twins), &common)?;
        self.measure_twins(twins, (&common, &beyond), &mut partners)?;
        partners.twins.sort_unstable_by_key(|twin| (twin.a, twin.b));
        let (mut candidates, of_members) = self.candidates(candidates, &is_subject);
        let mut is_summed = is_subject;
        if !self.options.all {
            let settled = Settled::of(&partners.twins, alone, self.better);
            candidates = self.needed(&candidates, &is_summed, &settled, &common)?;
            for (side, is_summed) in is_summed.iter_mut().enumerate() {
                for (content, is_summed) in (0..).zip(is_summed) {
                    *is_summed &= !settled.has(side, content);
                }
            }
        }
        let costly = Self::of_candidates(&candidates, &of_members);
        let beyond = self.beyond_budget(&mut budget, costly, &common)?;
        let met = candidates.iter().map(|one| one.met);
        SideFrames::with((self.sides, self.pieces, self.scoped), met, |frames| {
            let left_out = (&common, &beyond, frames);
            self.measure_all(
                &candidates,
                &is_summed,
                left_out,
                (&mut counts, &mut partners),
            )
        })?;
        let of_members = self.by_members(&of_members, &beyond)?;
        let of_members = of_members.into_iter();
        let passed = of_members.filter(|(link, sizes)| self.passes(link, *sizes));
        partners.links.extend(passed.map(|(link, _)| link));
        partners.links.sort_unstable_by_key(|link| (link.a, link.b));
        partners.errors.sort();
        partners.errors.dedup();
        Ok((partners, counts))
    }

    /// Returns these contents and the renditions of their files, in ascending order.
    fn with_stand_ins(&self, files: &[u32]) -> Vec<u32> {
        let stand_ins = files.iter().flat_map(|&file| self.files.stand_ins(file));
        let mut all: Vec<u32> = files.iter().copied().chain(stand_ins).collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    /// Measures the twins. They have rows even if they share nothing.
    fn measure_twins(
        &self,
        twins: &[(u32, u32)],
        (common, beyond): (&CommonKeys, &BeyondBudget),
        partners: &mut Partners,
    ) -> Result<(), AskError> {
        let (mut of_contents, mut of_members) = (Vec::new(), Vec::new());
        for &(a, b) in twins {
            match self.files.meeting(a, b) {
                FilesMeet::Contents(x, y) => of_contents.push(((a, b), (x, y))),
                FilesMeet::Members => of_members.push((a, b)),
            }
        }
        let measure = |at: usize, (): &mut ()| {
            let (files, (a, b)) = of_contents[at];
            let ready = |content| Ok::<_, AskError>(Ready::of(self.load(content)?, common));
            let (a, b) = (ready(a)?, ready(b)?);
            let mut errors = Vec::new();
            let reading = if beyond.has(CostlyPair::Contents(a.kept.id.0, b.kept.id.0)) {
                Reading::Never
            } else {
                Reading::Always
            };
            let (found, estimate) = self.measure((&a, &b), reading, common, &mut errors);
            Ok::<_, AskError>((Link::of(files, &found, estimate), errors))
        };
        for (twin, errors) in ordered(of_contents.len(), || (), measure)? {
            partners.twins.push(twin);
            partners.errors.extend(errors);
        }
        let of_members = self.by_members(&of_members, beyond)?;
        let of_members = of_members.into_iter();
        partners.twins.extend(of_members.map(|(twin, _)| twin));
        Ok(())
    }

    /// Measures the candidates that are compared by one content of each file, and keeps the
    /// partners. `is_summed` marks the contents whose total share in all partners is needed, by
    /// side and content.
    fn measure_all(
        &self,
        candidates: &[Candidate],
        is_summed: &[Vec<bool>; 2],
        left_out: (&CommonKeys, &BeyondBudget, &SideFrames<'_>),
        (counts, partners): (&mut Counts, &mut Partners),
    ) -> Result<(), AskError> {
        let mut measured = self.measured(candidates, is_summed, left_out, counts)?;
        let (mut with_common, mut pieces) = (Vec::new(), HashSet::new());
        for state in &mut measured {
            with_common.append(&mut state.with_common);
            pieces.extend(state.discounted.drain());
        }
        // All contents must be read to find families. So families are searched only if they could
        // make partners.
        if !with_common.is_empty() && self.count_families_once(counts, &pieces)? {
            measured.extend(self.measured(&with_common, is_summed, left_out, counts)?);
        }
        self.keep(measured, left_out.0, partners)
    }

    /// Measures candidates. Each thread returns what it has measured.
    fn measured(
        &self,
        candidates: &[Candidate],
        is_summed: &[Vec<bool>; 2],
        (common, beyond, frames): (&CommonKeys, &BeyondBudget, &SideFrames<'_>),
        counts: &Counts,
    ) -> Result<Vec<Measured>, AskError> {
        // Candidates are grouped by the content of A, so that its pieces are unpacked once.
        let groups: Vec<&[Candidate]> = candidates.chunk_by(|x, y| x.met.0 == y.met.0).collect();
        let room = self.ready_room();
        in_parallel(groups.len(), Measured::default, |at, state| {
            let a = Ready::of(self.load(groups[at][0].met.0)?, common);
            for of_pair in groups[at].chunk_by(|x, y| x.met == y.met) {
                let met = of_pair[0].met;
                let b = met.1;
                self.pieces.go_on()?;
                let Measured {
                    ready,
                    links,
                    with_common,
                    discounted,
                    covers,
                    errors,
                } = state;
                let b = ready.get(b, room, || Ok(Ready::of(self.load(b)?, common)))?;
                let reading = if beyond.has(CostlyPair::Contents(met.0, met.1)) {
                    Reading::Never
                } else if self.options.exact {
                    Reading::Always
                } else {
                    Reading::IfPartners
                };
                let (found, estimate) = self.measure((&a, b), reading, common, errors);
                // Estimates already exclude boilerplate, so only measured pairs are checked.
                if estimate.is_none()
                    && !(self.has_own((&a, b), &found, common, errors)
                        && self.has_unframed((&a, b), &found, (common, frames), errors)?)
                {
                    continue;
                }
                if estimate.is_none() && !self.has_rare((&a, b), &found, counts, errors) {
                    with_common.extend(of_pair);
                    discounted.extend(discounted_pieces((&a.kept, &b.kept), counts));
                    continue;
                }
                for &Candidate { files, .. } in of_pair {
                    let link = Link::of(files, &found, estimate);
                    if !self.passes(&link, found.sizes) {
                        continue;
                    }
                    links.push(link);
                    for (file, content, partner, side) in [(files.0, &a, b, 0), (files.1, b, &a, 1)]
                    {
                        if is_summed[side][file as usize] {
                            let cover = covers.entry((file, content.kept.id.0)).or_default();
                            cover.add(&content.kept, partner);
                        }
                    }
                }
            }
            Ok::<_, AskError>(())
        })
    }

    /// Adds to `partners` what the threads have measured.
    fn keep(
        &self,
        measured: Vec<Measured>,
        common: &CommonKeys,
        partners: &mut Partners,
    ) -> Result<(), AskError> {
        let mut covers: HashMap<(u32, u32), Cover> = HashMap::new();
        for state in measured {
            partners.links.extend(state.links);
            partners.errors.extend(state.errors);
            for (covered, cover) in state.covers {
                covers.entry(covered).or_default().join(&cover);
            }
        }
        let several: Vec<((u32, u32), Cover)> = covers
            .into_iter()
            .filter(|(_, cover)| cover.partners > 1)
            .collect();
        let score = |at: usize, (): &mut ()| {
            let ((file, content), cover) = &several[at];
            Ok::<_, AskError>((*file, cover.score(&self.load(*content)?, common)))
        };
        for (file, score) in ordered(several.len(), || (), score)? {
            let most = partners.covered.entry(file).or_insert(score);
            *most = (*most).max(score);
        }
        Ok(())
    }

    /// Returns the relation of two contents, and the intervals if the relation is estimated. If
    /// there are stored measures, they are used. Otherwise, both contents are read. The pair is
    /// estimated if `reading` does not allow reading them, or if a content cannot be read.
    fn measure(
        &self,
        (a, b): (&Ready, &Ready),
        reading: Reading,
        common: &CommonKeys,
        errors: &mut Vec<SoftError>,
    ) -> (Proven, Option<Interval>) {
        let unit = unit_of(a.kept.kind, b.kept.kind, self.unit());
        let sizes = (a.kept.size, b.kept.size);
        if a.kept.id == b.kept.id {
            // Equal contents share all their bytes, even if some bytes are templates.
            let whole = a.kept.whole;
            let is_same = !similarity::too_small(whole);
            let same = Proven {
                relation: is_same.then_some(Relation::SameText),
                measures: Measures::identical(whole).below_identical(),
                unit,
                sizes: (whole, whole),
                has_passage: false,
                is_repetition: false,
            };
            return (same, None);
        }
        let estimate = LazyCell::new(|| a.estimate(b, self.unit(), common));
        // Two contents are partners only if they are also partners without boilerplate. `estimate`
        // leaves boilerplate out. The shown figures include boilerplate, as in every question.
        let estimated = |reading: Reading| {
            let least = self.min_shared();
            let relation = |of: &Measures| similarity::relation(false, sizes.0, sizes.1, of, least);
            let (of_a, of_b) = (a.kept.sketch(), b.kept.sketch());
            let shown = if reading == Reading::IfPartners {
                None
            } else {
                Some(shown_in(
                    self.unit(),
                    (&of_a, a.kept.kind),
                    (&of_b, b.kept.kind),
                ))
            };
            let measures = shown.map_or(*estimate, |shown| shown.measures);
            let found = Proven {
                relation: relation(&estimate).and(relation(&measures)),
                measures,
                unit,
                sizes,
                has_passage: false,
                is_repetition: false,
            };
            (
                found,
                Some(shown.map_or_else(Interval::default, |shown| shown.interval)),
            )
        };
        let is_read = match reading {
            Reading::Always => true,
            Reading::IfPartners => self.could_pass(&estimate, a, b),
            Reading::Never => false,
        };
        if !is_read {
            return estimated(reading);
        }
        // An exact question uses no stored measures. It reads the contents, and reports the
        // contents that it cannot read.
        let digest = |ready: &Ready| &self.content(ready.kept.id.0).digest;
        let digests = (digest(a), digest(b));
        let measured = self.pieces.measured();
        let measured = measured.filter(|_| self.templates.is_empty());
        let kept = measured
            .filter(|_| !self.options.exact)
            .and_then(|measured| measured.kept_measures(digests.0, digests.1, unit));
        if let Some(kept) = kept {
            return (judged(kept, sizes, self.min_shared()), None);
        }
        if let (Some(a), Some(b)) = (self.content_of(a, errors), self.content_of(b, errors)) {
            let found = a.measure(b, self.unit());
            if let Some(measured) = measured {
                measured.keep_measures(digests.0, digests.1, &found);
            }
            (judged(found, (a.size(), b.size()), self.min_shared()), None)
        } else {
            self.has_unread.store(true, Ordering::Relaxed);
            estimated(Reading::Never)
        }
    }

    /// Returns a content in the form for proofs. The content is read at the first call. Returns
    /// `None` if it cannot be read.
    fn content_of<'r>(
        &self,
        ready: &'r Ready,
        errors: &mut Vec<SoftError>,
    ) -> Option<&'r Provable> {
        let content = ready.content.get_or_init(|| self.read(ready, errors));
        content.as_ref()
    }

    /// Returns the paths of the files with this content, in A and then in B.
    fn paths(&self, file: u32) -> impl Iterator<Item = PathBuf> {
        let sides = [&self.sides.a, &self.sides.b].into_iter();
        sides.zip(self.holders).flat_map(move |(side, holders)| {
            let held = holders.of_content(file).iter();
            held.map(|&held| side.path(&side.entries[held as usize]))
        })
    }

    /// Reads a content, if it still exists and is not too large.
    fn read(&self, content: &Ready, errors: &mut Vec<SoftError>) -> Option<Provable> {
        if content.kept.whole > LARGEST_READ {
            return None;
        }
        let number = content.kept.id.0;
        let wanted = &self.content(number).digest;
        let owners = self.files.owners(number);
        // A member is not read here, because pairs with members are measured by all members of a
        // file.
        let owners = owners.filter(|&(_, rendition)| rendition != Rendition::Member);
        let places = [(number, Rendition::Own)]
            .into_iter()
            .chain(owners)
            .flat_map(|(file, rendition)| self.paths(file).map(move |path| (path, rendition)));
        let mut failures = Vec::new();
        for (path, rendition) in places.take(TRIED) {
            let read = match (rendition, self.part_reader) {
                (Rendition::Own, _) => bytes_if(&path, wanted),
                (_, Some(part_reader)) => extract(&path, part_reader).map(|extracted| {
                    let bytes = extracted?.rendition(rendition)?;
                    (digest(&bytes) == *wanted).then_some(bytes)
                }),
                (_, None) => Ok(None),
            };
            match read {
                Ok(Some(bytes)) => {
                    return Some(provable(self.templates, content.kept.kind, bytes));
                }
                // A file that has vanished is always reported. Other errors are reported only by an
                // exact question, because its measures are then not exact.
                Err(error) if error.means_vanished() => {
                    failures.push(SoftError::vanished(path.into()));
                }
                Err(error) if self.options.exact => failures.push(soft_error(&path, &error)),
                Ok(None) | Err(_) => {}
            }
        }
        errors.append(&mut failures);
        None
    }

    /// Returns whether the true share of an estimated pair can be large enough for partners. The
    /// estimate and its interval exclude boilerplate samples. If too few samples are left for an
    /// estimate, the contents must be read to find the share.
    fn could_pass(&self, estimate: &Measures, a: &Ready, b: &Ready) -> bool {
        let least = least_to_read(self.options.min);
        let level = a.kept.signature.level.max(b.kept.signature.level);
        let could = |share: Option<Score>, of: &Ready| {
            let samples = of.prepared.samples_at(level);
            share.is_none_or(|share| similarity::interval(share, samples).1.get() >= least)
        };
        could(estimate.a_in_b, a) || could(estimate.b_in_a, b)
    }

    /// Returns the least containment that makes two contents partners.
    fn least(&self) -> f64 {
        let least = self.options.min.score();
        least.map_or(Relation::PARTLY, Score::get)
    }

    /// Returns the unit in which two texts are measured.
    pub(super) fn unit(&self) -> Unit {
        self.options.unit.into()
    }

    fn min_shared(&self) -> ByteLen {
        self.options
            .min_shared
            .map_or(Relation::MIN_SHARED, ByteLen)
    }

    /// Returns whether a link makes its files partners. `sizes` are the sizes of the measured
    /// contents.
    fn passes(&self, link: &Link, sizes: (ByteLen, ByteLen)) -> bool {
        match self.options.min.score() {
            None => link.told.relation.is_some(),
            Some(min) => {
                // The same text in another layout can share few bytes.
                let is_same_text = link.told.relation == Some(Relation::SameText);
                let measures = (&link.measures, link.told.estimate);
                link.score() >= min
                    && (is_same_text || enough_shared(sizes, measures, self.min_shared()))
            }
        }
    }
}

/// The condition under which the contents of a pair are read to measure it.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Reading {
    Always,
    /// The pair is read if its estimate allows that the contents are partners.
    IfPartners,
    /// The pair is not read, because its bytes exceed the budget.
    Never,
}

#[derive(Default)]
struct Measured {
    ready: ReadyContents,
    links: Vec<Link>,
    /// The candidates that are no partners because their text is common.
    with_common: Vec<Candidate>,
    /// The pieces that these candidates share and that count for less, as evidence keys.
    discounted: HashSet<u64>,
    /// The covers of files. A key has the file, and the content by which it was compared with its
    /// partners.
    covers: HashMap<(u32, u32), Cover>,
    errors: Vec<SoftError>,
}
