//! What tells kin from strangers among contents that are no text: how few others have what both
//! have.
//!
//! Two programs of one compiler share padding, tables of strings and the code of every start; two
//! builds of one program share what nobody else has. So a window counts 1/n² if n *others* have it:
//! what nobody else than the two has counts 1, and what three more have a sixteenth. *Kinship* is
//! what two contents have in common of that over what the one with less comes to. Samples suffice
//! to tell. What is common to a family of near-copies is no less evidence, though many have it:
//! half of all windows of both are enough, and half of those of one, if few have them.
//!
//! A thinly sampled content seems to lack windows that it has, which then look rare. The square
//! makes that harmless: if five of ten contents with a window show it, it counts next to nothing
//! all the same.
//!
//! Every verb asks this, each as it knows how many contents have a window: [`Kinships`] by the
//! lists of a block, [`SubjectKin`] by the posting lists of a subject, `compare` by what it counts
//! while all contents go by. Those of another content are read only where nothing else decides, and
//! its first windows mostly tell.

use resemble_core::similarity::lower_end;
use resemble_core::{ContentKind, Fingerprint, Signature};
use resemble_index::{PostingKind, ReadError, Snapshot};

pub use crate::nominate::windows::SubjectWindows;

use crate::nominate::block::PostingBlock;
use crate::nominate::common::{Common, PieceWorth};
use crate::scope::ScopedFiles;

/// Windows in common that nobody else has, or more of those that others have, and chunks.
const TOLD: f32 = 4.0;

/// Or so much of what is rare in the one with less.
const KIN: f64 = 0.08;

/// Or so much of all windows of the one with fewer, as far as few have them.
const HALF: f64 = 0.5;

/// Or so much of all windows of both.
const ALIKE: f64 = 0.5;

/// Fewer samples tell nothing: what nominated the pair is enough.
const FEW: usize = 4;

/// How many sampled windows two contents have at a level at which both are complete.
#[derive(Clone, Copy, Debug)]
pub struct WindowCounts {
    /// The level.
    pub level: u8,
    a: usize,
    b: usize,
}

impl WindowCounts {
    /// Of two contents with these signatures.
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

    /// So many of each at this level.
    pub const fn at(level: u8, a: usize, b: usize) -> Self {
        Self { level, a, b }
    }

    /// With so many more.
    #[must_use]
    pub const fn and(self, a: usize, b: usize) -> Self {
        Self {
            a: self.a + a,
            b: self.b + b,
            ..self
        }
    }

    /// Whether two contents with so much in common have more than strangers. `is_at_most` says
    /// whether what is rare in one of the two comes to no more than this.
    pub fn are_kin<E>(
        self,
        common: Common,
        is_at_most: impl FnOnce(f64) -> Result<bool, E>,
    ) -> Result<bool, E> {
        let fewer = self.a.min(self.b);
        let part = |share: f64, of: usize| share * of as f64;
        let all = (self.a + self.b).saturating_sub(common.fingerprints as usize);
        // One window is a phrase.
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

/// Whether windows come to no more than `most`, by what each counts.
pub fn come_to_at_most(worths: impl Iterator<Item = PieceWorth>, most: f64) -> bool {
    let mut sum = 0.0;
    for worth in worths {
        sum += worth.own();
        if sum > most {
            return false;
        }
    }
    true
}

/// What windows count together, of the one of two contents with less.
pub fn rare_in_less(
    a: impl Iterator<Item = PieceWorth>,
    b: impl Iterator<Item = PieceWorth>,
) -> f64 {
    let own_a = a.map(PieceWorth::own).sum::<f64>();
    let own_b = b.map(PieceWorth::own).sum::<f64>();
    own_a.min(own_b)
}

/// For each content of a block that is no text what its sampled windows count, by their level.
/// Boilerplate is none of them.
#[derive(Debug)]
pub struct Kinships {
    windows: Vec<Vec<(u8, PieceWorth)>>,
}

impl Kinships {
    /// Of the contents of a block; what more than `limit` have is boilerplate.
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

    /// What the windows of a content count that have this level or a greater one.
    fn at_level(&self, place: usize, level: u8) -> impl Iterator<Item = PieceWorth> + '_ {
        let windows = self.windows[place].iter();
        windows
            .filter(move |window| window.0 >= level)
            .map(|window| window.1)
    }

    /// Whether what is rare in one of two contents comes to no more than `most`.
    pub fn is_at_most(&self, pair: (usize, usize), level: u8, most: f64) -> bool {
        let is_at_most = |place| come_to_at_most(self.at_level(place, level), most);
        is_at_most(pair.0) || is_at_most(pair.1)
    }

    /// What is rare in the one of two contents with less.
    pub fn rare_in_less(&self, pair: (usize, usize), level: u8) -> f64 {
        rare_in_less(self.at_level(pair.0, level), self.at_level(pair.1, level))
    }

    /// The kinship of two contents with so much in common, the lower end of its interval; `None`:
    /// no window of one of them was sampled.
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

/// So many windows of another content are looked up at once.
const LOOKED_UP: usize = 8;

/// A subject that is no text, and how rare its windows are.
#[derive(Debug)]
pub struct SubjectKin<'a> {
    snapshot: &'a Snapshot,
    scoped: Option<&'a ScopedFiles>,
    signature: &'a Signature,
    /// Its windows, ascending, and what they count, unless they are boilerplate.
    windows: Vec<(u64, Option<PieceWorth>)>,
}

impl<'a> SubjectKin<'a> {
    /// Of the subject with this signature; `is_boilerplate`: what of it counts nothing.
    pub fn of(
        (snapshot, scoped): (&'a Snapshot, Option<&'a ScopedFiles>),
        signature: &'a Signature,
        known: &SubjectWindows,
        is_boilerplate: impl Fn(Fingerprint) -> bool,
    ) -> Self {
        let worth = |window: &Fingerprint| {
            let worth = known.worth(window.0);
            // What nobody else has is in no list if the index has not the subject.
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

    /// Whether a content with this signature, which has so much in common with the subject, has
    /// more than strangers.
    pub fn is_kin(&self, other: &Signature, common: Common) -> Result<bool, ReadError> {
        let windows = WindowCounts::of(self.signature, other);
        windows.are_kin(common, |most| {
            let level = windows.level;
            let own = self.windows.iter();
            let own = own.filter(|window| Fingerprint(window.0).level() >= level);
            let is_at_most = come_to_at_most(own.filter_map(|window| window.1), most);
            Ok(is_at_most || self.other_is_at_most(other, level, most)?)
        })
    }

    /// Whether what is rare in another content comes to no more than `most`. What nobody else has
    /// counts most, so a few windows of a stranger tell.
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
