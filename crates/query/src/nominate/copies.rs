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

use std::collections::HashMap;

use resemble_core::similarity::discount::FREE;
use resemble_core::{ContentId, Fingerprint, Signature};
use resemble_index::{PostingKind, ReadError, Snapshot};

use super::families::ALIKE;
use crate::scope::ScopedFiles;

/// So many lists are read.
const LISTS: usize = 12;

/// A copy stands in two of three of them: a line of its own has several samples.
const IN_LISTS: (usize, usize) = (2, 3);

/// So many of the contents that stand in most lists are looked at.
const LOOKED_AT: usize = 32;

/// The near-copies of a content with this signature, ascending; none if they are few.
pub(crate) fn near_copies(
    snapshot: &Snapshot,
    signature: &Signature,
    scoped: Option<&ScopedFiles>,
) -> Result<Vec<ContentId>, ReadError> {
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
        return Ok(Vec::new());
    }
    let mut copies: Vec<ContentId> = counts.into_keys().collect();
    copies.sort_unstable();
    let step = copies.len().div_ceil(LOOKED_AT);
    let one_of_them = snapshot.signature(copies[copies.len() / 2])?;
    let (mut looked_at, mut to_subject, mut to_each_other) = (0, 0, 0);
    for &copy in copies.iter().step_by(step) {
        let copy = snapshot.signature(copy)?;
        looked_at += 1;
        to_subject += usize::from(are_alike(signature, &copy));
        to_each_other += usize::from(are_alike(&one_of_them, &copy));
    }
    if 2 * to_subject.max(to_each_other) < looked_at {
        copies.clear();
    }
    Ok(copies)
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
