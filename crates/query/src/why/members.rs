//! Matches the members of two archives, or of an archive and a file.
//!
//! Equal members are found by their digests, first under the same name. Other members are measured
//! against each other, and the best pairs are matched. A member without a partner is then matched
//! with a member that already has one, if the two members are equal or have a relation. A step that
//! would measure more than [`MOST_TRIED`] pairs measures none. The members that are still left are
//! matched by name. The measures of the two files do not depend on the matching: they are those of
//! all members together.

use std::cmp::Reverse;
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
        // Differences are shown member by member, so no stretches of bytes are listed.
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
    // The pairs that share most come first. Among pairs that share the same amount, those with the
    // same name come first.
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
    let (lone, with_partner): (Vec<usize>, Vec<usize>) =
        (0..a.len()).partition(|&at| partners[at].is_none());
    let (lone_b, taken_b): (Vec<usize>, Vec<usize>) = (0..b.len()).partition(|&at| !taken[at]);
    let sides = ((a, &of_a[..]), (b, &of_b[..]));
    let again_b = also_matched(&lone, &taken_b, sides);
    let again_a = also_matched(&lone_b, &with_partner, (sides.1, sides.0));
    for (&one, &other) in &again_b {
        partners[one] = Some(other);
    }
    for &other in again_a.keys() {
        taken[other] = true;
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
    let side = |content: &HeldContent| Some((content.names.clone(), size(content)));
    let mut found: Vec<MemberMatch> = Vec::new();
    for (one, partner) in partners.iter().enumerate() {
        found.push(match partner {
            Some(other) => MemberMatch {
                again: (false, again_b.contains_key(&one)),
                ..matched(&a[one], &b[*other], of_a[one] == of_b[*other])
            },
            None => MemberMatch {
                a: side(&a[one]),
                ..MemberMatch::default()
            },
        });
    }
    for other in lone_b {
        if let Some(&one) = again_a.get(&other) {
            found.push(MemberMatch {
                again: (true, false),
                ..matched(&a[one], &b[other], of_a[one] == of_b[other])
            });
        } else if !taken[other] {
            found.push(MemberMatch {
                b: side(&b[other]),
                ..MemberMatch::default()
            });
        }
    }
    found
}

/// The members of one side, with their digests.
type MembersOf<'a> = (&'a [HeldContent], &'a [ContentDigest]);

/// Matches each of the members `lone` with one of the members `others` of the other side. An equal
/// member is preferred. Otherwise the match is the member that shares most, if the two have a
/// relation.
fn also_matched(
    lone: &[usize],
    others: &[usize],
    ((ours, of_ours), (theirs, of_theirs)): (MembersOf<'_>, MembersOf<'_>),
) -> HashMap<usize, usize> {
    let equal = others.iter().rev().map(|&other| (of_theirs[other], other));
    let equal: HashMap<ContentDigest, usize> = equal.collect();
    let is_measured = lone.len() * others.len() <= MOST_TRIED;
    let measured = others.iter().filter(|_| is_measured && !lone.is_empty());
    let measured: Vec<(usize, Provable)> = measured
        .map(|&other| (other, provable(&theirs[other])))
        .collect();
    let best = |one: usize| {
        let content = provable(&ours[one]);
        let shares = measured.iter().filter_map(|(other, of_other)| {
            let sizes = (size(&ours[one]), size(&theirs[*other]));
            let found = content.measure(of_other, Unit::Words);
            let found = judged(found, sizes, Relation::MIN_SHARED);
            found.relation?;
            Some((found.measures.containment(), Reverse(*other)))
        });
        shares.max().map(|(_, Reverse(other))| other)
    };
    let found = lone.iter().filter_map(|&one| {
        let other = equal.get(&of_ours[one]).copied();
        Some((one, other.or_else(|| best(one))?))
    });
    found.collect()
}

fn provable(content: &HeldContent) -> Provable {
    Provable::new(content.kind, content.bytes.clone())
}

const fn size(content: &HeldContent) -> ByteLen {
    ByteLen(content.bytes.len() as u64)
}

fn matched(a: &HeldContent, b: &HeldContent, is_equal: bool) -> MemberMatch {
    let (relation, measures, unit) = if is_equal {
        let unit = similarity::proof::unit_of(a.kind, b.kind, Unit::Words);
        (
            Some(Relation::Identical),
            Measures::identical(size(a)),
            unit,
        )
    } else {
        let found = provable(a).measure(&provable(b), Unit::Words);
        let found = judged(found, (size(a), size(b)), Relation::MIN_SHARED);
        (found.relation, found.measures, found.unit)
    };
    MemberMatch {
        a: Some((a.names.clone(), size(a))),
        b: Some((b.names.clone(), size(b))),
        relation,
        measures: Some((measures, unit)),
        again: (false, false),
    }
}

#[cfg(test)]
mod tests {
    use resemble_core::ContentKind;
    use resemble_testutil::prose::sentences;

    use super::*;

    fn held(names: &str, text: &str) -> HeldContent {
        HeldContent {
            names: names.into(),
            kind: ContentKind::Text,
            bytes: text.into(),
        }
    }

    /// Returns the names and the relation of each match.
    fn rows(a: &[HeldContent], b: &[HeldContent]) -> Vec<(String, String, Option<Relation>)> {
        let name = |side: Option<(Vec<u8>, ByteLen)>| {
            let names = side.map_or_else(|| b"-".to_vec(), |side| side.0);
            String::from_utf8_lossy(&names).into_owned()
        };
        let rows = matches(a, b).into_iter();
        rows.map(|row| (name(row.a), name(row.b), row.relation))
            .collect()
    }

    #[test]
    fn a_member_whose_like_has_a_partner_is_not_on_one_side_only() {
        let text = sentences(1, 20);
        let later = format!("{text} {}", sentences(2, 1));
        let a = [
            held("first", &text),
            held("copy", &text),
            held("later", &later),
            held("other", &sentences(3, 20)),
        ];
        let b = [held("text", &text)];
        let near = Some(Relation::Near);
        let equal = Some(Relation::Identical);
        let row = |a: &str, b: &str, relation| (a.to_owned(), b.to_owned(), relation);
        assert_eq!(
            rows(&a, &b),
            [
                row("first", "text", equal),
                row("copy", "text", equal),
                row("later", "text", near),
                row("other", "-", None),
            ]
        );
        assert_eq!(
            rows(&b, &a),
            [
                row("text", "first", equal),
                row("text", "copy", equal),
                row("text", "later", near),
                row("-", "other", None),
            ]
        );
        let of_b = matches(&a, &b).into_iter();
        assert_eq!(
            of_b.filter(|row| row.b.is_some() && !row.again.1).count(),
            1
        );
    }
}
