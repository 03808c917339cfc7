//! Decides whether two contents that are not texts share more than unrelated contents do. The rule
//! is the same as in `nominate::kinship`.
//!
//! During the scan, the windows of the subjects of a batch are counted over all contents. A content
//! that is no subject also has windows that are not counted. If the decision depends on these
//! windows, they are counted in a separate pass.

use std::collections::hash_map::Entry;
use std::collections::{HashMap, HashSet};

use resemble_core::{ContentKind, Fingerprint};
use resemble_relate::AskError;
use resemble_relate::nominate::block::PieceWorth;
use resemble_relate::nominate::evidence::CHUNK;
use resemble_relate::nominate::kinship::sum_is_at_most;

use super::PartnerQuestion;
use crate::compare::wanted::WantedKeys;

/// The windows of the subjects of a batch. Only subjects that are judged by their windows are
/// included.
pub(super) struct BatchWindows<'a> {
    wanted: &'a WantedKeys,
    limit: u32,
    /// The windows of each subject, as indexes into the wanted keys.
    of: Vec<Vec<u32>>,
}

impl<'a> BatchWindows<'a> {
    /// Collects the windows of the subjects that `is_judged` selects. A window that more than
    /// `limit` contents have is boilerplate.
    pub(super) fn of(
        (wanted, limit): (&'a WantedKeys, u32),
        subjects: usize,
        is_judged: impl Fn(u32) -> bool,
    ) -> Self {
        let mut of = vec![Vec::new(); subjects];
        for at in (0..wanted.keys.len()).filter(|&at| wanted.keys[at] & CHUNK == 0) {
            for &(subject, _) in wanted.places(at).iter().filter(|place| is_judged(place.0)) {
                of[subject as usize].push(at as u32);
            }
        }
        Self { wanted, limit, of }
    }

    fn at_level(&self, subject: usize, level: u8) -> impl Iterator<Item = usize> {
        let windows = self.of[subject].iter().map(|&at| at as usize);
        windows.filter(move |&at| Fingerprint(self.wanted.keys[at]).level() >= level)
    }

    /// Counts the windows of a subject at or above this level, including boilerplate.
    pub(super) fn count(&self, subject: usize, level: u8) -> usize {
        self.at_level(subject, level).count()
    }

    /// Returns whether the rare windows of a subject at or above this level are worth at most
    /// `most` in total.
    pub(super) fn are_at_most(&self, subject: usize, level: u8, most: f64) -> bool {
        let windows = self.at_level(subject, level);
        let worths = windows.filter_map(|at| worth(self.wanted, at, self.limit));
        sum_is_at_most(worths, most)
    }
}

/// Returns the worth of a wanted window, or `None` if it is boilerplate.
fn worth(wanted: &WantedKeys, at: usize, limit: u32) -> Option<PieceWorth> {
    let is_own = !wanted.is_common(at);
    is_own.then(|| PieceWorth::of(wanted.counted(at), limit))
}

/// The condition under which two contents are kin: the rare windows of one of the contents, at or
/// above this level, are worth at most `most`.
#[derive(Clone, Copy, Debug)]
pub(super) struct RareAtMost {
    pub(super) level: u8,
    pub(super) most: f64,
}

/// A pair whose kinship depends on the windows of a content that is no subject.
#[derive(Clone, Copy, Debug)]
pub(super) struct UndecidedPair {
    pub(super) pair: (u32, u32),
    /// The content that is no subject.
    pub(super) of: u32,
    pub(super) are_kin: RareAtMost,
}

impl PartnerQuestion<'_> {
    /// Returns whether a content is judged by its windows. Such a content is not a text, and not a
    /// rendition of a file beyond the file's bytes.
    pub(super) fn is_judged(&self, content: u32) -> bool {
        let is_text = self.content(content).kind == ContentKind::Text;
        !is_text && self.files.owners(content).next().is_none()
    }

    /// Returns the undecided pairs that are kin.
    pub(super) fn kin_of(
        &self,
        undecided: &[UndecidedPair],
        wanted: &WantedKeys,
    ) -> Result<Vec<(u32, u32)>, AskError> {
        if undecided.is_empty() {
            return Ok(Vec::new());
        }
        let mut windows: HashMap<u32, Vec<u64>> = HashMap::new();
        let mut unknown: HashSet<u64> = HashSet::new();
        for one in undecided {
            if let Entry::Vacant(new) = windows.entry(one.of) {
                let mut keys = Vec::new();
                self.keys(one.of, &mut keys)?;
                keys.retain(|key| key & CHUNK == 0);
                let of_it = keys.iter().filter(|&&key| wanted.find(key).is_none());
                unknown.extend(of_it);
                new.insert(keys);
            }
        }
        let mut counts: HashMap<u64, u32> = HashMap::new();
        for part in self.count(|key| unknown.contains(&key))? {
            for (key, count) in part {
                *counts.entry(key).or_default() += count;
            }
        }
        let worth_of = |key: u64| {
            if let Some(at) = wanted.find(key) {
                return worth(wanted, at, self.limit);
            }
            let count = counts.get(&key).copied().unwrap_or(1);
            (count <= self.limit).then(|| PieceWorth::of(count, self.limit))
        };
        let are_kin = |one: &&UndecidedPair| {
            let RareAtMost { level, most } = one.are_kin;
            let of_it = windows[&one.of].iter().copied();
            let of_it = of_it.filter(|&key| Fingerprint(key).level() >= level);
            sum_is_at_most(of_it.filter_map(worth_of), most)
        };
        let kin = undecided.iter().filter(are_kin);
        Ok(kin.map(|one| one.pair).collect())
    }
}
