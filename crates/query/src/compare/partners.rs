//! Which contents of one side resemble which of the other.
//!
//! What the paths and digests leave over is looked up in *all* contents of the other side, the
//! settled ones too: one scan of everything, however much is left over, instead of a question for
//! each file.
//!
//! 1. Contents are the subjects, not files: a file that lies about in ten copies is looked up once,
//!    and one whose equal is on the other side not at all.
//! 2. The pieces of a batch of subjects are put into one table ([`WantedKeys`]); every content of
//!    both sides goes by once and counts what it has in common with each subject. Pieces that more
//!    than 1,000 contents have count for nobody ([`CommonKeys`]), so a piece concerns at most 1,000
//!    subjects, and the work is in proportion to the two trees.
//! 3. A pair whose common pieces could not come to the least containment under any distribution of
//!    edits is dropped before it is measured.
//! 4. Two subjects of different sides meet once, when that of B goes by.
//! 5. Batches bound the memory; there is one for trees that differ in fewer than 65,536 contents.

mod candidates;
mod cover;

use std::cell::OnceCell;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::atomic::{AtomicBool, Ordering};

use resemble_core::similarity::proof::{Provable, unit_of};
use resemble_core::similarity::{self, Prepared, Templates, Unit};
use resemble_core::{ByteLen, ContentId, Measures, Relation, Score};
use resemble_proto::message::{CompareOptions, SoftError};

use self::candidates::FoundCandidates;
use self::cover::Cover;
use super::common::CommonKeys;
use super::sides::{Content, Holders, Pieces, Sides};
use super::wanted::evidence_keys;
use crate::ask::{AskError, soft_error};
use crate::judge::estimate::{enough_shared, estimate_prepared, interval_at};
use crate::nominate::evidence::{Counts, Kept};
use crate::parallel::{in_parallel, ordered};
use crate::prove::exact::provable;
use crate::prove::read::{LARGEST_READ, bytes_if};

/// At most so many subjects are looked up in one scan.
const BATCH: usize = 1 << 16;

/// Two contents, one of each side, that share something.
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

/// What is asked about the contents of both sides.
pub(super) struct PartnerQuestion<'a> {
    pub(super) sides: &'a Sides,
    pub(super) pieces: &'a dyn Pieces,
    pub(super) templates: &'a Templates,
    pub(super) options: &'a CompareOptions,
    pub(super) holders: [&'a Holders; 2],
    /// A piece that more contents have is boilerplate.
    pub(super) limit: u32,
    /// A content that had to be measured could not be read, so that an estimate stands.
    pub(super) has_unread: AtomicBool,
}

/// What was found out.
#[derive(Debug, Default)]
pub(super) struct Partners {
    /// Sorted by (a, b). Only links that pass the question's thresholds.
    pub(super) links: Vec<Link>,
    /// The pairs of one path, measured whatever they have in common; sorted by (a, b).
    pub(super) twins: Vec<Link>,
    /// How much of a content lies in all its partners together, where it has several.
    pub(super) covered: HashMap<u32, Score>,
    pub(super) errors: Vec<SoftError>,
}

impl PartnerQuestion<'_> {
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
            words: None,
            of_leader: None,
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

    /// Looks the subjects up and measures the twins. Also counts how common the subjects' pieces
    /// are.
    ///
    /// `subjects`: contents that A alone has, then contents that B alone has, both ascending.
    /// `twins`: pairs of unequal contents (a, b) that stand at one path.
    pub(super) fn ask(
        &self,
        subjects: [&[u32]; 2],
        twins: &[(u32, u32)],
    ) -> Result<(Partners, Counts), AskError> {
        let mut partners = Partners::default();
        let mut counts = Counts::new(self.limit);
        if subjects.iter().all(|side| side.is_empty()) && twins.is_empty() {
            return Ok((partners, counts));
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
        let mut found = FoundCandidates::default();
        // The first batch may be empty: twins are measured without subjects, too, and need to know
        // what is common.
        let mut batches = all.chunks(BATCH);
        self.look_up(
            batches.next().unwrap_or_default(),
            &is_subject,
            &mut found,
            &mut counts,
        )?;
        for batch in batches {
            self.look_up(batch, &is_subject, &mut found, &mut counts)?;
        }
        let FoundCandidates {
            common, candidates, ..
        } = found;
        let common = common.unwrap_or_default();
        self.measure_all(&candidates, &is_subject, &common, &mut partners)?;
        partners.links.sort_unstable_by_key(|link| (link.a, link.b));
        let measure = |at: usize, (): &mut ()| {
            let (a, b) = twins[at];
            let ready = |content| Ok::<_, AskError>(Ready::of(self.load(content)?, &common));
            let (a, b) = (ready(a)?, ready(b)?);
            let mut errors = Vec::new();
            // They stand in rows, whatever they have in common.
            let always = true;
            let measures = self.measure((&a, &b), always, &common, &mut errors);
            Ok::<_, AskError>((self.link(&a.kept, &b.kept, measures), errors))
        };
        for (twin, errors) in ordered(twins.len(), || (), measure)? {
            partners.twins.push(twin);
            partners.errors.extend(errors);
        }
        partners.twins.sort_unstable_by_key(|twin| (twin.a, twin.b));
        partners.errors.sort();
        partners.errors.dedup();
        Ok((partners, counts))
    }

    /// Measures the candidates and keeps those that are partners.
    fn measure_all(
        &self,
        candidates: &[(u32, u32)],
        is_subject: &[Vec<bool>; 2],
        common: &CommonKeys,
        partners: &mut Partners,
    ) -> Result<(), AskError> {
        // Grouped by the content of A, whose pieces are then unpacked once.
        let mut candidates = candidates.to_vec();
        candidates.sort_unstable();
        let groups: Vec<&[(u32, u32)]> = candidates.chunk_by(|x, y| x.0 == y.0).collect();
        let measured = in_parallel(groups.len(), Measured::default, |at, state| {
            let a = Ready::of(self.load(groups[at][0].0)?, common);
            for &(_, b) in groups[at] {
                self.pieces.go_on()?;
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
                let could_pass = self.options.exact;
                let measures = self.measure((&a, b), could_pass, common, errors);
                let link = self.link(&a.kept, &b.kept, measures);
                if !self.passes(&link, &a.kept, &b.kept) {
                    continue;
                }
                links.push(link);
                for (content, partner, side) in [(&a, &*b, 0), (b, &a, 1)] {
                    let number = content.kept.id.0;
                    if is_subject[side][number as usize] {
                        let cover = covers.entry(number).or_default();
                        cover.add(&content.kept, partner);
                    }
                }
            }
            Ok::<_, AskError>(())
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
        let score = |at: usize, (): &mut ()| {
            let (content, cover) = &several[at];
            Ok::<_, AskError>((*content, cover.score(&self.load(*content)?, common)))
        };
        let scored = ordered(several.len(), || (), score)?;
        partners.covered.extend(scored);
        Ok(())
    }

    /// The measures of a pair, `always` or if what is kept of them says that they may be partners:
    /// those that were kept, or by the contents if both can be read.
    fn measure(
        &self,
        (a, b): (&Ready, &Ready),
        always: bool,
        common: &CommonKeys,
        errors: &mut Vec<SoftError>,
    ) -> Measures {
        let estimate = estimate_prepared(
            (&a.prepared, a.kept.kind),
            (&b.prepared, b.kept.kind),
            common,
        );
        if !always && !self.could_pass(&estimate, a, b) {
            return estimate;
        }
        // Exact questions look at the contents, and say what cannot be read.
        let unit = unit_of(a.kept.kind, b.kept.kind, Unit::Words);
        let digest = |ready: &Ready| &self.content(ready.kept.id.0).digest;
        let digests = (digest(a), digest(b));
        let measured = self.pieces.measured();
        let measured = measured.filter(|_| self.templates.is_empty());
        let kept = measured
            .filter(|_| !self.options.exact)
            .and_then(|measured| measured.kept_measures(digests.0, digests.1, unit));
        if let Some(kept) = kept {
            return kept.measures;
        }
        let mut content = |side: usize, ready: &'_ Ready| {
            let _ = ready.content.get_or_init(|| self.read(side, ready, errors));
        };
        content(0, a);
        content(1, b);
        if let (Some(a), Some(b)) = (a.content(), b.content()) {
            let found = a.measure(b, Unit::Words);
            if let Some(measured) = measured {
                measured.keep_measures(digests.0, digests.1, &found);
            }
            found.measures
        } else {
            self.has_unread.store(true, Ordering::Relaxed);
            estimate
        }
    }

    /// A content of one side, if it is still there and not too large.
    fn read(&self, side: usize, content: &Ready, errors: &mut Vec<SoftError>) -> Option<Provable> {
        if content.kept.whole > LARGEST_READ {
            return None;
        }
        let held = self.holders[side].of_content(content.kept.id.0).first()?;
        let side = [&self.sides.a, &self.sides.b][side];
        let path = side.path(&side.entries[*held as usize]);
        match bytes_if(&path, &self.content(content.kept.id.0).digest) {
            Ok(bytes) => bytes.map(|bytes| provable(self.templates, content.kept.kind, bytes)),
            Err(error) => {
                // Who asks for exact measures is told why these are not.
                if self.options.exact {
                    errors.push(soft_error(&path, &error));
                }
                None
            }
        }
    }

    /// Whether the true share of an estimated pair may be enough for partners.
    fn could_pass(&self, estimate: &Measures, a: &Ready, b: &Ready) -> bool {
        let least = self.options.min.score();
        let least = least.map_or(Relation::PARTLY, Score::get);
        let level = a.kept.signature.level.max(b.kept.signature.level);
        let could = |share: Option<Score>, of: &Ready| {
            let interval = interval_at(share, &of.kept.sketch(), level);
            interval.is_some_and(|(_, most)| most.get() >= least)
        };
        could(estimate.a_in_b, a) || could(estimate.b_in_a, b)
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

    /// The link of two contents that were measured before, without templates.
    pub(super) fn link_of(&self, a: u32, b: u32, measures: Measures) -> Link {
        let size = |content: u32| self.content(content).size;
        let relation = similarity::relation(false, size(a), size(b), &measures, self.min_shared());
        Link {
            a,
            b,
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
}

/// A content ready to be measured.
struct Ready {
    kept: Kept,
    prepared: Prepared,
    /// What is in it, once it was needed; `None`: it cannot be read.
    content: OnceCell<Option<Provable>>,
}

impl Ready {
    fn of(kept: Kept, common: &CommonKeys) -> Self {
        let prepared = Prepared::of(&kept.sketch(), common);
        Self {
            kept,
            prepared,
            content: OnceCell::new(),
        }
    }

    fn content(&self) -> Option<&Provable> {
        self.content.get()?.as_ref()
    }
}

/// A thread keeps so many contents of B ready, because those of a family come up again and again.
/// Each takes some 4 KB, and 25 bytes a word if it was read.
const READY: usize = 512;

/// What one thread has measured.
#[derive(Default)]
struct Measured {
    ready: HashMap<u32, Ready>,
    links: Vec<Link>,
    covers: HashMap<u32, Cover>,
    errors: Vec<SoftError>,
}
