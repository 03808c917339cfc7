//! Decides which files need no partner other than the file at their own path.
//!
//! Suppose that two versions of a tree are compared. Nearly all files without an equal file are
//! edits of the file at their own path. Such a file also resembles related files: a driver
//! resembles the other drivers of its family. To prove all these pairs would take ten times as long
//! as to read both trees, and no user needs these pairs. So a file is settled if 70 % of it lies in
//! the file at its own path. A settled file is paired with another file only if the other file
//! needs a partner, or if the estimate allows a better partner.
//!
//! This module does not decide about pairs of files that are compared by their members. All such
//! pairs are measured.

use std::collections::HashMap;

use resemble_core::similarity::interval;
use resemble_core::{ContentKind, Relation, Score};
use resemble_relate::AskError;
use resemble_relate::parallel::in_parallel;

use super::candidates::Candidate;
use super::ready::Ready;
use super::{Link, PartnerQuestion};
use crate::compare::common::CommonKeys;

/// The criterion for the better of two partners.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Better {
    /// The better partner shares more of both files. For this, the smaller of its two containments
    /// is compared.
    OfBoth,
    /// The better partner has the larger share of the file of A.
    OfA,
}

impl Better {
    fn share(self, a_in_b: Option<Score>, b_in_a: Option<Score>) -> Option<Score> {
        match self {
            Self::OfBoth => a_in_b.min(b_in_a),
            Self::OfA => a_in_b,
        }
    }
}

/// Returns whether a file is settled if the file at its own path contains this share of it.
pub(in crate::compare) fn is_settled(own: Option<Score>) -> bool {
    own >= Some(Score::new(Relation::MOSTLY))
}

/// The contents whose files are all settled, by side. The value is the share that a better partner
/// must exceed.
pub(super) struct Settled([HashMap<u32, Score>; 2]);

impl Settled {
    /// `alone` has the contents of files without a file at their own path. They are never settled.
    pub(super) fn of(twins: &[Link], alone: [&[u32]; 2], better: Better) -> Self {
        let mut settled = [0, 1].map(|side| {
            let mut least: HashMap<u32, Option<Score>> = HashMap::new();
            for twin in twins {
                let measures = &twin.measures;
                let own = [measures.a_in_b, measures.b_in_a][side];
                let share = better.share(measures.a_in_b, measures.b_in_a);
                let share = share.filter(|_| is_settled(own));
                let least = least.entry([twin.a, twin.b][side]).or_insert(share);
                *least = (*least).min(share);
            }
            let settled = least.into_iter();
            let settled = settled.filter_map(|(content, least)| Some((content, least?)));
            settled.collect::<HashMap<u32, Score>>()
        });
        for (side, alone) in settled.iter_mut().zip(alone) {
            side.retain(|content, _| alone.binary_search(content).is_err());
        }
        Self(settled)
    }

    pub(super) fn has(&self, side: usize, content: u32) -> bool {
        self.0[side].contains_key(&content)
    }
}

impl PartnerQuestion<'_> {
    /// Returns the candidates that at least one of their two files needs.
    pub(super) fn needed(
        &self,
        candidates: &[Candidate],
        is_subject: &[Vec<bool>; 2],
        settled: &Settled,
        common: &CommonKeys,
    ) -> Result<Vec<Candidate>, AskError> {
        // Returns the share that a pair must exceed to be needed. Returns `None` if the pair is
        // always needed.
        let least_of = |files: (u32, u32)| {
            let asked = [files.0, files.1].into_iter().enumerate();
            let asked = asked.filter(|&(side, file)| is_subject[side][file as usize]);
            let least = asked.map(|(side, file)| settled.0[side].get(&file).copied());
            least.min().flatten()
        };
        let groups: Vec<&[Candidate]> = candidates.chunk_by(|x, y| x.met.0 == y.met.0).collect();
        let kept = in_parallel(groups.len(), Vec::new, |at, kept: &mut Vec<Candidate>| {
            let mut a = None;
            for of_pair in groups[at].chunk_by(|x, y| x.met == y.met) {
                self.pieces.go_on()?;
                let met = of_pair[0].met;
                // Several pairs of files may be compared by this pair of contents. It is enough if
                // one of them needs the pair of contents. So the least of their shares is used.
                let least = of_pair.iter().map(|one| least_of(one.files)).min();
                let is_needed = match least.flatten().filter(|_| met.0 != met.1) {
                    None => true,
                    Some(least) => {
                        if a.is_none() {
                            a = Some(Ready::of(self.load(met.0)?, common));
                        }
                        let b = Ready::of(self.load(met.1)?, common);
                        a.as_ref()
                            .is_none_or(|a| self.may_exceed(least, (a, &b), common))
                    }
                };
                if is_needed {
                    kept.extend_from_slice(of_pair);
                }
            }
            Ok::<_, AskError>(())
        })?;
        let mut kept: Vec<Candidate> = kept.into_iter().flatten().collect();
        kept.sort_unstable();
        Ok(kept)
    }

    /// Returns whether the true share of two contents can exceed `least`, according to their
    /// samples.
    fn may_exceed(&self, least: Score, (a, b): (&Ready, &Ready), common: &CommonKeys) -> bool {
        let level = a.kept.signature.level.max(b.kept.signature.level);
        let most = |share: Score, of: &Ready| interval(share, of.prepared.samples_at(level)).1;
        // Common samples are counted first, because this is cheap and makes most estimates
        // unnecessary. A text and data have no samples in common, so the estimate decides about
        // them.
        let is_text = |of: &Ready| of.kept.kind == ContentKind::Text;
        let have_samples = is_text(a) == is_text(b);
        let shared = a.common_samples(b, level) as f64;
        let of_windows = |of: &Ready| {
            let all = of.prepared.samples_at(level);
            let share = most(Score::new(shared / all.max(1) as f64), of).get();
            (all > 0 && have_samples).then(|| Score::new((share * (1.0 - share.ln())).min(1.0)))
        };
        let exceeds = |of_a: Option<Score>, of_b: Option<Score>| {
            let most = self.better.share(of_a, of_b);
            most.is_none_or(|most| most > least)
        };
        exceeds(of_windows(a), of_windows(b)) && {
            let measures = a.estimate(b, self.unit(), common);
            let most = |share: Option<Score>, of: &Ready| Some(most(share?, of));
            exceeds(most(measures.a_in_b, a), most(measures.b_in_a, b))
        }
    }
}
