//! Matches the members of two archives, or of an archive and a file.
//!
//! Equal members are found by their digests, first under the same name. Other members are measured
//! against each other, and the best pairs are matched; this is left out beyond [`MOST_TRIED`]
//! comparisons. The rest is matched by name. The measures of the whole pair do not depend on the
//! matching: they are those of all members together.

use std::collections::HashMap;

use resemble_core::hash::content::digest;
use resemble_core::similarity::proof::Provable;
use resemble_core::similarity::{self, Templates, Unit};
use resemble_core::{ByteLen, ContentDigest, Measures, Relation, Score};
use resemble_proto::message::Layer;
use resemble_relate::judge::matched::all_words;
use resemble_relate::prove::exact::judged;
use resemble_relate::prove::members::{HeldContent, provable_members};

use crate::why::{Comparison, FoundRuns, MemberMatch, RangesOf};

/// The maximum number of pairs of members measured for the matching.
const MOST_TRIED: usize = 2500;

impl Comparison {
    /// Compares two files or members, at least one of which holds members.
    pub(super) fn of_members(
        a: Vec<HeldContent>,
        b: Vec<HeldContent>,
        templates: &Templates,
    ) -> Self {
        let members = matches(&a, &b);
        let size = |held: &[HeldContent]| -> ByteLen {
            held.iter()
                .map(|content| ByteLen(content.bytes.len() as u64))
                .sum()
        };
        let sizes = (size(&a), size(&b));
        let (a, b) = (
            provable_members(templates, a),
            provable_members(templates, b),
        );
        let left = (a.size(), b.size());
        let found = judged(a.measure(&b, Unit::Words), left, Relation::MIN_SHARED);
        let measures = match found.relation {
            Some(Relation::SameText) => all_words(&found.measures),
            _ => found.measures,
        };
        let mut shared = FoundRuns {
            of_a: Vec::new(),
            of_b: Vec::new(),
            ranges_of: RangesOf::Runs,
            identical: false,
            text: false,
            sizes,
            measures,
            relation: found.relation,
            is_repetition: found.is_repetition,
        }
        .placed(None);
        shared.layer = Layer::Text;
        shared.words = (found.unit == Unit::Words).then_some(measures);
        // Differences are shown by members, so no stretches of bytes are listed.
        shared.differs_a.clear();
        shared.differs_b.clear();
        shared.members = members;
        Self {
            shared,
            bytes: None,
        }
    }
}

/// Returns the members of a in their order, then the remaining members of b.
fn matches(a: &[HeldContent], b: &[HeldContent]) -> Vec<MemberMatch> {
    let mut partners: Vec<Option<usize>> = vec![None; a.len()];
    let mut taken = vec![false; b.len()];
    let digests = |held: &[HeldContent]| -> Vec<ContentDigest> {
        held.iter().map(|content| digest(&content.bytes)).collect()
    };
    let (of_a, of_b) = (digests(a), digests(b));
    let mut equal: HashMap<ContentDigest, Vec<usize>> = HashMap::new();
    for (at, digest) in of_b.iter().enumerate() {
        equal.entry(*digest).or_default().push(at);
    }
    for is_named in [true, false] {
        for (at, content) in a.iter().enumerate() {
            let free =
                |&other: &usize| !taken[other] && (!is_named || b[other].names == content.names);
            if partners[at].is_none()
                && let Some(other) = equal
                    .get(&of_a[at])
                    .and_then(|all| all.iter().copied().find(free))
            {
                (partners[at], taken[other]) = (Some(other), true);
            }
        }
    }
    let provable = |content: &HeldContent| Provable::new(content.kind, content.bytes.clone());
    let rest = |taken: &[bool]| (0..b.len()).filter(|&at| !taken[at]).collect::<Vec<_>>();
    let mut measured: Vec<(Score, usize, usize)> = Vec::new();
    let ours: Vec<usize> = (0..a.len()).filter(|&at| partners[at].is_none()).collect();
    let theirs = rest(&taken);
    if ours.len() * theirs.len() <= MOST_TRIED {
        let others: Vec<Provable> = theirs.iter().map(|&at| provable(&b[at])).collect();
        for &one in &ours {
            let content = provable(&a[one]);
            for (&other, of_other) in theirs.iter().zip(&others) {
                let found = content.measure(of_other, Unit::Words).measures;
                let share = found.containment().unwrap_or(Score::ZERO);
                if share > Score::ZERO {
                    measured.push((share, one, other));
                }
            }
        }
    }
    // The pairs that share most come first. Among pairs that share the same, those of one name come
    // first.
    let named = |one: usize, other: usize| a[one].names == b[other].names;
    measured.sort_by(|x, y| {
        let order =
            y.0.cmp(&x.0)
                .then_with(|| named(y.1, y.2).cmp(&named(x.1, x.2)));
        order.then_with(|| (x.1, x.2).cmp(&(y.1, y.2)))
    });
    for (_, one, other) in measured {
        if partners[one].is_none() && !taken[other] {
            (partners[one], taken[other]) = (Some(other), true);
        }
    }
    let mut by_name: HashMap<&[u8], usize> = HashMap::new();
    for at in rest(&taken) {
        by_name.entry(&b[at].names).or_insert(at);
    }
    for (one, content) in a.iter().enumerate() {
        if partners[one].is_none()
            && let Some(other) = by_name.remove(&content.names[..])
        {
            (partners[one], taken[other]) = (Some(other), true);
        }
    }
    let side = |content: &HeldContent| {
        let size = ByteLen(content.bytes.len() as u64);
        Some((content.names.clone(), size))
    };
    let mut found: Vec<MemberMatch> = Vec::new();
    for (one, partner) in partners.iter().enumerate() {
        found.push(match partner {
            Some(other) => matched(&a[one], &b[*other], of_a[one] == of_b[*other]),
            None => MemberMatch {
                a: side(&a[one]),
                b: None,
                relation: None,
                measures: None,
            },
        });
    }
    found.extend(rest(&taken).into_iter().map(|other| MemberMatch {
        a: None,
        b: side(&b[other]),
        relation: None,
        measures: None,
    }));
    found
}

fn matched(a: &HeldContent, b: &HeldContent, is_equal: bool) -> MemberMatch {
    let size = |content: &HeldContent| ByteLen(content.bytes.len() as u64);
    let (relation, measures, unit) = if is_equal {
        let unit = similarity::proof::unit_of(a.kind, b.kind, Unit::Words);
        (
            Some(Relation::Identical),
            Measures::identical(size(a)),
            unit,
        )
    } else {
        let provable = |content: &HeldContent| Provable::new(content.kind, content.bytes.clone());
        let found = provable(a).measure(&provable(b), Unit::Words);
        let found = judged(found, (size(a), size(b)), Relation::MIN_SHARED);
        (found.relation, found.measures, found.unit)
    };
    MemberMatch {
        a: Some((a.names.clone(), size(a))),
        b: Some((b.names.clone(), size(b))),
        relation,
        measures: Some((measures, unit)),
    }
}
