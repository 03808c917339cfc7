//! The near-copies of a subject, if they are many.
//!
//! Posting lists of what very many contents have are not read, and what they say is discounted. Of
//! a page of which there are 5,000 copies that is all of it. So where most samples of a subject are
//! common, some of their lists are read whole: what stands in most of these lists, and has most of
//! the subject's samples, is a copy of it. So is what stands in them and is alike among itself, if
//! the subject is an extract of the page: of files that have a header in common most differ from
//! each other. Copies are not counted where it is counted how many *otherwise different* contents
//! have a piece.
//!
//! A near-copy is the same here as in `families`, and so is what it counts. But
//! there all contents of a question are gone through, to find the families among them. Whoever asks
//! about one file asks for one family, of which the index has many members and the subject may be
//! none (text from a pipe, an extract): a few lists and a sample of signatures tell it in the time
//! of a listing. For that nothing is read where samples leave a copy in doubt; most of those that
//! are looked at decide for all.
//!
//! Where some are chosen of many that are as good, their digests decide: ids depend on what was
//! scanned first.

use std::cmp::Reverse;
use std::collections::HashMap;

use resemble_core::similarity::discount::FREE;
use resemble_core::{ContentDigest, ContentId, Fingerprint, Signature};
use resemble_index::{PostingKind, ReadError, Snapshot};

use super::families::ALIKE;
use crate::scope::ScopedFiles;

/// So many lists are read.
const LISTS: usize = 12;

/// A copy stands in two of three of them: a line of its own has several samples.
const IN_LISTS: (usize, usize) = (2, 3);

/// So many of the contents that stand in most lists are looked at.
const LOOKED_AT: usize = 32;

/// Near-copies of a subject, ascending, with what chooses between those that are as good.
#[derive(Clone, Debug, Default)]
pub(crate) struct SubjectCopies(Vec<(ContentId, ContentDigest)>);

impl SubjectCopies {
    /// How many there are.
    pub(crate) const fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether they are few, and so none.
    pub(crate) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether a content is one.
    pub(crate) fn has(&self, content: ContentId) -> bool {
        self.digest(content).is_some()
    }

    /// All of them, ascending.
    pub(crate) fn iter(&self) -> impl Iterator<Item = ContentId> + '_ {
        self.0.iter().map(|copy| copy.0)
    }

    /// So many of these contents, which are copies: those that have most in common with the
    /// subject, as the second says.
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

/// The near-copies of a content with this signature; none if they are few.
pub(crate) fn near_copies(
    snapshot: &Snapshot,
    signature: &Signature,
    scoped: Option<&ScopedFiles>,
) -> Result<SubjectCopies, ReadError> {
    let samples = &signature.fingerprints;
    let step = samples.len().div_ceil(LISTS).max(1);
    let mut keys: Vec<u64> = samples.iter().step_by(step).map(|f| f.0).collect();
    keys.sort_unstable();
    let mut counts: HashMap<ContentId, usize> = HashMap::new();
    snapshot.postings(PostingKind::Fingerprint, &keys, &mut |_, contents| {
        let is_here = |content| scoped.is_none_or(|scoped| scoped.has(content));
        for &content in contents.iter().filter(|&&content| is_here(content)) {
            *counts.entry(content).or_default() += 1;
        }
    })?;
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
    let step = copies.len().div_ceil(LOOKED_AT);
    let Some(&(one_of_them, _)) = copies.get(copies.len() / 2) else {
        return Ok(SubjectCopies::default());
    };
    let one_of_them = snapshot.signature(one_of_them)?;
    let (mut looked_at, mut to_subject, mut to_each_other) = (0, 0, 0);
    for &(copy, _) in copies.iter().step_by(step) {
        let copy = snapshot.signature(copy)?;
        looked_at += 1;
        to_subject += usize::from(are_alike(signature, &copy));
        to_each_other += usize::from(are_alike(&one_of_them, &copy));
    }
    if 2 * to_subject.max(to_each_other) < looked_at {
        copies.clear();
    }
    copies.sort_unstable_by_key(|copy| copy.0);
    Ok(SubjectCopies(copies))
}

/// Whether two samples have most in common at the greater level of both.
fn are_alike(a: &Signature, b: &Signature) -> bool {
    let level = a.level.max(b.level);
    let sorted = |of: &Signature| {
        let mut all: Vec<Fingerprint> = of.at_level(level).collect();
        all.sort_unstable();
        all
    };
    let (a, b) = (sorted(a), sorted(b));
    let shared = a.iter().filter(|f| b.binary_search(f).is_ok()).count();
    shared as f64 >= ALIKE * a.len().max(b.len()) as f64
}
