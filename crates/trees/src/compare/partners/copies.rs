//! Counts how many contents have a piece. A family of near-copies is counted as one content.
//!
//! The scan counts contents, because a piece of too many contents would nominate too many pairs.
//! But the text of a page with 400 near-copies is no boilerplate. So the counts are made again if a
//! discount decides whether a pair is listed.

use std::collections::{HashMap, HashSet};

use resemble_core::similarity::discount::FREE;
use resemble_index::PostingKind;
use resemble_relate::AskError;
use resemble_relate::nominate::evidence::{CHUNK, Counts, StoredSketch};
use resemble_relate::nominate::families::{Families, FamilyNames, NearCopies, are_near_copies};
use resemble_relate::parallel::{in_parallel, ordered};

use super::ready::Ready;
use super::{PartnerQuestion, Reading};
use crate::compare::common::CommonKeys;
use crate::compare::wanted::evidence_keys;

impl NearCopies for PartnerQuestion<'_> {
    type Error = AskError;

    fn pieces(&self, place: u32) -> Result<HashSet<u64>, AskError> {
        self.pieces.go_on()?;
        Ok(self.load(place)?.pieces())
    }

    fn are_near_copies(&self, a: u32, b: u32) -> Result<bool, AskError> {
        let common = CommonKeys::default();
        let ready = |content| Ok::<_, AskError>(Ready::of(self.load(content)?, &common));
        let (a, b) = (ready(a)?, ready(b)?);
        // An unreadable content is no near-copy.
        let (found, estimate) = self.measure((&a, &b), Reading::Always, &common, &mut Vec::new());
        Ok(estimate.is_none() && are_near_copies(&found.measures))
    }
}

/// Returns the pieces that two contents share and that count for less, as evidence keys.
pub(in crate::compare) fn discounted_pieces(
    (a, b): (&StoredSketch, &StoredSketch),
    counts: &Counts,
) -> impl Iterator<Item = u64> {
    let (mut of_a, mut of_b) = (Vec::new(), Vec::new());
    evidence_keys(&a.sketch(), &mut of_a);
    evidence_keys(&b.sketch(), &mut of_b);
    of_b.sort_unstable();
    let is_discounted = |key: &u64| {
        let (kind, piece) = kind_of(*key);
        counts.is_discounted(kind, piece)
    };
    of_a.retain(|key| of_b.binary_search(key).is_ok() && is_discounted(key));
    of_a.into_iter()
}

impl PartnerQuestion<'_> {
    /// Counts again the contents that have each of these pieces, given by their evidence keys. A
    /// family is counted as one content. Pieces that are boilerplate stay boilerplate, because they
    /// nominated nothing. Returns false if there is no family, so that the counts are as before.
    pub(in crate::compare) fn count_families_once(
        &self,
        counts: &mut Counts,
        pieces: &HashSet<u64>,
    ) -> Result<bool, AskError> {
        let contents = self.sides.contents.len();
        let names = ordered(contents, Vec::new, |content, keys| {
            self.keys(content as u32, keys)?;
            // Families of other contents change none of the counts.
            let counts = keys.iter().any(|key| pieces.contains(key));
            let samples = keys.iter().filter(|&key| counts && key & CHUNK == 0);
            Ok::<_, AskError>(FamilyNames::of(content as u32, samples.copied()))
        })?;
        let families = Families::of(&names, FREE, self)?;
        if families.is_empty() {
            return Ok(false);
        }
        let known = &*counts;
        let state = || (Vec::new(), HashMap::<u64, HashSet<u32>>::new());
        let parts = in_parallel(contents, state, |content, (keys, leaders)| {
            self.keys(content as u32, keys)?;
            let leader = families.leader(content as u32);
            for &key in keys.iter() {
                let (kind, piece) = kind_of(key);
                if pieces.contains(&key) && known.is_discounted(kind, piece) {
                    leaders.entry(key).or_default().insert(leader);
                }
            }
            Ok::<_, AskError>(())
        })?;
        let mut leaders: HashMap<u64, HashSet<u32>> = HashMap::new();
        for (key, part) in parts.into_iter().flat_map(|(_, leaders)| leaders) {
            leaders.entry(key).or_default().extend(part);
        }
        for (key, leaders) in leaders {
            let (kind, piece) = kind_of(key);
            counts.lower(kind, piece, leaders.len());
        }
        Ok(true)
    }
}

/// Returns the kind and the key of a piece from its evidence key.
const fn kind_of(key: u64) -> (PostingKind, u64) {
    if key & CHUNK == 0 {
        (PostingKind::Fingerprint, key)
    } else {
        (PostingKind::Chunk, key & !CHUNK)
    }
}
