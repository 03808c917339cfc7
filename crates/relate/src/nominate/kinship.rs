//! Decides whether two contents that are not texts are related (kin). They are kin if few other
//! contents have the windows that they share.
//!
//! Two programs built by one compiler share padding, string tables and start-up code. Two builds of
//! one program share windows that no other content has. So a window that n + 1 contents have has
//! the weight 1/n²: 1 if only the two contents have it, and a ninth if two more contents have it.
//! *Kinship* is the weight of the common windows, divided by the weight of all windows of one of
//! the two contents: the one whose windows have less weight. Kinship is estimated from samples.
//!
//! In a family of near-copies, every window is in many contents. So two contents are also kin if
//! half of all their windows are common. They are kin, too, if half of the windows of one content
//! are common, and few contents have those windows.
//!
//! If a content has few samples, they do not include some of its windows, so these windows seem
//! rarer than they are. The square in 1/n² limits this error. For example, if only five of the ten
//! contents with a window have it as a sample, its weight is still almost 0.
//!
//! Every verb applies this rule to the counts that it has. [`Kinships`] takes them from the lists
//! of a block, [`SubjectKin`] from the posting lists of a subject, and `compare` from one pass over
//! all contents. The windows of another content are read only if nothing else decides. Usually the
//! first windows of that content are enough.

use resemble_core::similarity::lower_end;
use resemble_core::{ContentKind, Fingerprint, Signature};
use resemble_index::{PostingKind, ReadError, Snapshot};

pub use crate::nominate::windows::SubjectWindows;

use crate::nominate::block::PostingBlock;
use crate::nominate::common::{Common, PieceWorth};
use crate::scope::ScopedFiles;

/// The minimum weight of common windows and chunks that makes two contents kin.
const TOLD: f32 = 4.0;

/// The minimum kinship that makes two contents kin.
const KIN: f64 = 0.08;

/// The minimum weight of common windows ([`Common::few`]) that makes two contents kin, as a share
/// of the number of windows of the content with fewer windows.
const HALF: f64 = 0.5;

/// Two contents are kin if at least this share of all their windows is common.
const ALIKE: f64 = 0.5;

/// The minimum number of samples of each content. A content with fewer samples counts as kin of
/// every content with which it is nominated.
const FEW: usize = 4;

/// The numbers of sampled windows of two contents, at a level at which neither lacks samples.
#[derive(Clone, Copy, Debug)]
pub struct WindowCounts {
    /// The level at which the windows are counted.
    pub level: u8,
    a: usize,
    b: usize,
}

impl WindowCounts {
    /// Counts the windows of two contents with these signatures.
    pub fn of(a: &Signature, b: &Signature) -> Self {
        let level = a.level.max(b.level);
        let at_level = |signature: &Signature| {
            if signature.level == level {
                signature.fingerprints.len()
            } else {
                signature.at_level(level).count()
            }
        };
        Self {
            level,
            a: at_level(a),
            b: at_level(b),
        }
    }

    /// Returns the counts for `a` and `b` windows at this level.
    pub const fn at(level: u8, a: usize, b: usize) -> Self {
        Self { level, a, b }
    }

    /// Returns the counts after adding `a` and `b` windows.
    #[must_use]
    pub const fn and(self, a: usize, b: usize) -> Self {
        Self {
            a: self.a + a,
            b: self.b + b,
            ..self
        }
    }

    /// Returns the number of windows of the content with fewer windows.
    fn fewer(self) -> usize {
        self.a.min(self.b)
    }

    /// Returns whether two contents share more than unrelated contents do. `is_at_most(most)`
    /// returns whether the windows of at least one content weigh no more than `most`. It is called
    /// only if nothing else decides.
    pub fn are_kin<E>(
        self,
        common: Common,
        is_at_most: impl FnOnce(f64) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let fewer = self.fewer();
        let part = |share: f64, of: usize| share * of as f64;
        let all = (self.a + self.b).saturating_sub(common.fingerprints as usize);
        // A single common window may be from a common phrase, so it is not enough.
        if !common.is_candidate() {
            return Ok(false);
        }
        let are_kin = common.told >= TOLD
            || fewer < FEW
            || f64::from(common.few) >= part(HALF, fewer)
            || f64::from(common.fingerprints) >= part(ALIKE, all);
        Ok(are_kin || common.own > 0.0 && is_at_most(f64::from(common.own) / KIN)?)
    }
}

/// Returns whether the weights of these windows add up to at most `most`.
pub fn sum_is_at_most(worths: impl Iterator<Item = PieceWorth>, most: f64) -> bool {
    let mut sum = 0.0;
    for worth in worths {
        sum += worth.own();
        if sum > most {
            return false;
        }
    }
    true
}

/// Returns the smaller of two sums: that of the weights of one content's windows, and that of the
/// other's.
pub fn rare_in_less(
    a: impl Iterator<Item = PieceWorth>,
    b: impl Iterator<Item = PieceWorth>,
) -> f64 {
    let own_a = a.map(PieceWorth::own).sum::<f64>();
    let own_b = b.map(PieceWorth::own).sum::<f64>();
    own_a.min(own_b)
}

/// The windows of those contents of a block that are not texts, each with its level and weight.
/// Boilerplate is left out.
#[derive(Debug)]
pub struct Kinships {
    windows: Vec<Vec<(u8, PieceWorth)>>,
}

impl Kinships {
    /// Weighs the windows of the contents of a block. A window is boilerplate if more than `limit`
    /// contents have it.
    pub fn of(block: &PostingBlock, limit: u32) -> Self {
        let is_text = |place: u32| block.kept[place as usize].kind == ContentKind::Text;
        let mut windows = vec![Vec::new(); block.kept.len()];
        for (fingerprint, contents) in block.lists_of_fingerprints() {
            let window = (
                fingerprint.level(),
                PieceWorth::of(contents.len() as u32, limit),
            );
            for &place in contents.iter().filter(|&&place| !is_text(place)) {
                windows[place as usize].push(window);
            }
        }
        Self { windows }
    }

    /// Returns the weights of those windows of a content that have at least this level.
    fn at_level(&self, place: usize, level: u8) -> impl Iterator<Item = PieceWorth> + '_ {
        let windows = self.windows[place].iter();
        windows
            .filter(move |window| window.0 >= level)
            .map(|window| window.1)
    }

    /// Returns whether the windows of at least one of two contents weigh no more than `most`.
    pub fn is_at_most(&self, pair: (usize, usize), level: u8, most: f64) -> bool {
        let is_at_most = |place| sum_is_at_most(self.at_level(place, level), most);
        is_at_most(pair.0) || is_at_most(pair.1)
    }

    /// Returns the smaller of two weights: that of all windows of one content, and that of all
    /// windows of the other.
    pub fn rare_in_less(&self, pair: (usize, usize), level: u8) -> f64 {
        rare_in_less(self.at_level(pair.0, level), self.at_level(pair.1, level))
    }

    /// Returns the lower end of the interval of the kinship. Returns `None` if one content has no
    /// sampled window with a weight.
    pub fn kinship(
        &self,
        pair: (usize, usize),
        windows: WindowCounts,
        common: Common,
    ) -> Option<f64> {
        let of = self.rare_in_less(pair, windows.level);
        (of > 0.0).then(|| lower_end(f64::from(common.own), of))
    }
}

/// The number of windows of another content that are looked up together.
const LOOKED_UP: usize = 8;

/// A subject that is not a text, with the weights of its windows.
#[derive(Debug)]
pub struct SubjectKin<'a> {
    snapshot: &'a Snapshot,
    scoped: Option<&'a ScopedFiles>,
    signature: &'a Signature,
    /// The windows of the subject in ascending order, with their weights. Boilerplate has no
    /// weight.
    windows: Vec<(u64, Option<PieceWorth>)>,
}

impl<'a> SubjectKin<'a> {
    /// Weighs the windows of a subject that has this signature. Windows for which `is_boilerplate`
    /// returns true have no weight.
    pub fn of(
        (snapshot, scoped): (&'a Snapshot, Option<&'a ScopedFiles>),
        signature: &'a Signature,
        known: &SubjectWindows,
        is_boilerplate: impl Fn(Fingerprint) -> bool,
    ) -> Self {
        let worth = |window: &Fingerprint| {
            let worth = known.worth(window.0);
            // A window without a posting list is in no indexed content, so only the subject has it.
            let alone = || (!is_boilerplate(*window)).then(|| PieceWorth::of(1, known.limit));
            (window.0, worth.or_else(alone))
        };
        let windows = signature.fingerprints.iter().map(worth);
        let mut windows: Vec<(u64, Option<PieceWorth>)> = windows.collect();
        windows.sort_unstable_by_key(|window| window.0);
        Self {
            snapshot,
            scoped,
            signature,
            windows,
        }
    }

    /// Returns whether a content shares more with the subject than unrelated contents do.
    pub fn is_kin(&self, other: &Signature, common: Common) -> Result<bool, ReadError> {
        let windows = WindowCounts::of(self.signature, other);
        windows.are_kin(common, |most| {
            let level = windows.level;
            let own = self.windows.iter();
            let own = own.filter(|window| Fingerprint(window.0).level() >= level);
            let is_at_most = sum_is_at_most(own.filter_map(|window| window.1), most);
            Ok(is_at_most || self.other_is_at_most(other, level, most)?)
        })
    }

    /// Returns whether the weights of the windows of `other` add up to at most `most`. An unrelated
    /// content has many windows that no other content has, and such windows weigh most. So the
    /// weight of its first few windows usually exceeds `most`, and the other windows are not read.
    fn other_is_at_most(&self, other: &Signature, level: u8, most: f64) -> Result<bool, ReadError> {
        let mut keys: Vec<u64> = other.at_level(level).map(|window| window.0).collect();
        keys.sort_unstable();
        let limit = self.snapshot.boilerplate_limit();
        let mut sum = 0.0;
        for keys in keys.chunks(LOOKED_UP) {
            let mut worths: Vec<Option<PieceWorth>> = vec![None; keys.len()];
            let mut unknown = Vec::with_capacity(keys.len());
            for (at, key) in keys.iter().enumerate() {
                match self.windows.binary_search_by_key(key, |window| window.0) {
                    Ok(known) => worths[at] = self.windows[known].1,
                    Err(_) => unknown.push((*key, at)),
                }
            }
            let asked: Vec<u64> = unknown.iter().map(|&(key, _)| key).collect();
            let kind = PostingKind::Fingerprint;
            let most_read = if self.scoped.is_some() {
                u32::MAX
            } else {
                limit
            };
            self.snapshot
                .postings_up_to(kind, &asked, most_read, &mut |at, contents| {
                    let is_here = |content| self.scoped.is_none_or(|scoped| scoped.has(content));
                    let count = contents.iter().filter(|&&content| is_here(content)).count();
                    let worth = PieceWorth::of(count as u32, limit);
                    worths[unknown[at].1] = (count <= limit as usize).then_some(worth);
                })?;
            for worth in worths.into_iter().flatten() {
                sum += worth.own();
                if sum > most {
                    return Ok(false);
                }
            }
        }
        Ok(true)
    }
}
