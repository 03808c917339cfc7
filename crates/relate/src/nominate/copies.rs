//! Finds the near-copies of a subject if there are many of them.
//!
//! Posting lists of very common pieces are not read, and such pieces are discounted. If a page has
//! 5,000 copies, all its pieces are very common, so no copy would be found. Therefore, if half of a
//! subject's samples are common, the lists of some of these samples are read whole. The contents in
//! most of these lists are possible copies. But it is not enough to compare them with the subject.
//! A page may have a dozen samples, and one changed line may remove a third of them.
//!
//! The subject may also be an extract of the page. So the contents in most of the lists also count
//! as copies if they are near-copies of each other. Files that share only a header do not count as
//! copies, because most of them differ from each other. Copies are not counted among the *otherwise
//! different* contents that have a piece.
//!
//! Two contents are near-copies under the same condition as in `families`, which compares all
//! contents of a question. Here only contents that are in most of the lists are considered. They
//! need not be near-copies of the subject, which may be an extract or text from a pipe. Some of the
//! signatures of these contents are compared with the signature of the subject, and with the
//! samples that most of these signatures have. If at least half of these signatures are near-copies
//! in one of the two comparisons, every content in most of the lists counts as a copy. No content
//! is read, so that a listing is not delayed.
//!
//! If copies share equally much with the subject, those with the least digests are chosen. Ids
//! depend on the order of scans, so a choice by ids would depend on this order, too.

use std::cmp::Reverse;
use std::collections::HashMap;

use resemble_core::similarity::discount::FREE;
use resemble_core::{ContentDigest, ContentId, Fingerprint, Signature};
use resemble_index::{PostingKind, ReadError, Snapshot};

use super::families::ALIKE;
use crate::scope::ScopedFiles;

/// The maximum number of posting lists that are read whole.
const LISTS: usize = 12;

/// The share of these lists that must contain a copy: two of three. A changed line may remove
/// several samples of a copy, so the copy is not in the lists of these samples.
const IN_LISTS: (usize, usize) = (2, 3);

/// The maximum number of signatures that are read to decide whether the contents in most of the
/// lists are near-copies.
const LOOKED_AT: usize = 32;

/// The near-copies of a subject in the order of their ids. Each has its digest, which decides
/// between equally good copies.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubjectCopies(Vec<(ContentId, ContentDigest)>);

impl SubjectCopies {
    /// Returns the number of near-copies.
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Returns whether the subject has no near-copies, or too few to matter.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns whether a content is a near-copy of the subject.
    pub(crate) fn has(&self, content: ContentId) -> bool {
        self.digest(content).is_some()
    }

    /// Returns all near-copies in the order of their ids.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ContentId> + '_ {
        self.0.iter().map(|copy| copy.0)
    }

    /// Returns the `most` copies in `of` that share most with the subject. Each has the number of
    /// samples that it shares with the subject.
    pub(crate) fn best(&self, mut of: Vec<(ContentId, u32)>, most: usize) -> Vec<(ContentId, u32)> {
        if of.len() > most {
            of.sort_by_cached_key(|&(copy, common)| (Reverse(common), self.digest(copy)));
            of.truncate(most);
        }
        of
    }

    fn digest(&self, content: ContentId) -> Option<&[u8]> {
        let found = self.0.binary_search_by_key(&content, |copy| copy.0);
        found.ok().map(|at| &self.0[at].1.0[..])
    }
}

/// Returns the near-copies of a content that has this signature. Returns no copies if there are
/// few. `is_common` selects the samples that many contents have.
pub(crate) fn near_copies(
    snapshot: &Snapshot,
    signature: &Signature,
    is_common: impl Fn(Fingerprint) -> bool,
    scoped: Option<&ScopedFiles>,
) -> Result<SubjectCopies, ReadError> {
    let samples = signature.fingerprints.iter().copied();
    let samples: Vec<Fingerprint> = samples.filter(|&sample| is_common(sample)).collect();
    let step = samples.len().div_ceil(LISTS).max(1);
    let mut keys: Vec<u64> = samples.iter().step_by(step).map(|f| f.0).collect();
    keys.sort_unstable();
    let mut counts: HashMap<ContentId, usize> = HashMap::new();
    let mut count = |_: usize, contents: &[ContentId]| {
        for &content in contents {
            *counts.entry(content).or_default() += 1;
        }
    };
    let kind = PostingKind::Fingerprint;
    match scoped {
        Some(scoped) => scoped.postings(snapshot, kind, &keys, &mut count)?,
        None => snapshot.postings(kind, &keys, &mut count)?,
    }
    let least = (keys.len() * IN_LISTS.0).div_ceil(IN_LISTS.1);
    counts.retain(|_, lists| *lists >= least);
    if counts.len() <= FREE as usize {
        return Ok(SubjectCopies::default());
    }
    let mut copies = Vec::with_capacity(counts.len());
    for copy in counts.into_keys() {
        let row = snapshot.content(copy)?;
        copies.extend(row.map(|row| (copy, row.digest)));
    }
    copies.sort_unstable_by_key(|copy| copy.1.0);
    let step = copies.len().div_ceil(LOOKED_AT).max(1);
    let looked_at = copies.iter().step_by(step);
    let looked_at: Vec<Signature> = looked_at
        .map(|copy| snapshot.signature(copy.0))
        .collect::<Result<_, _>>()?;
    let alike = |to: &Signature| looked_at.iter().filter(|copy| are_alike(to, copy)).count();
    if 2 * alike(signature).max(alike(&typical(&looked_at))) < looked_at.len() {
        copies.clear();
    }
    copies.sort_unstable_by_key(|copy| copy.0);
    Ok(SubjectCopies(copies))
}

/// Returns the samples that more than half of these signatures have. Signatures above the median
/// level do not count, because they lack samples of that level.
fn typical(of: &[Signature]) -> Signature {
    let mut levels: Vec<u8> = of.iter().map(|one| one.level).collect();
    levels.sort_unstable();
    let level = levels.get(levels.len() / 2).copied().unwrap_or_default();
    let of: Vec<&Signature> = of.iter().filter(|one| one.level <= level).collect();
    let mut counts: HashMap<Fingerprint, usize> = HashMap::new();
    for sample in of.iter().flat_map(|one| one.at_level(level)) {
        *counts.entry(sample).or_default() += 1;
    }
    counts.retain(|_, contents| 2 * *contents > of.len());
    Signature {
        level,
        fingerprints: counts.into_keys().collect(),
        repeats: None,
    }
}

/// Returns whether two signatures have three quarters of their samples in common. They are compared
/// at the higher of their levels.
fn are_alike(a: &Signature, b: &Signature) -> bool {
    let level = a.level.max(b.level);
    let sorted = |of: &Signature| {
        let mut all: Vec<Fingerprint> = of.at_level(level).collect();
        all.sort_unstable();
        all
    };
    let (a, b) = (sorted(a), sorted(b));
    let shared = a.iter().filter(|f| b.binary_search(f).is_ok()).count();
    shared > 0 && shared as f64 >= ALIKE * a.len().max(b.len()) as f64
}
