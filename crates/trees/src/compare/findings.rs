//! Stores the findings of a comparison of two sets of contents. So a repeated question can use them
//! again.
//!
//! Users compare two trees repeatedly: first as text, then as a table, as a page, or with one class
//! only. The common content is the same each time, and the search for it is most of the work. So
//! the findings are stored under a name that is derived from all inputs. The inputs are the
//! contents in their order, and the sides and renditions that have them. Further inputs are the
//! contents that are looked up, and the options that affect partners. If an input changes, the name
//! changes. So stored findings are never out of date, and only damage must be detected.
//!
//! No findings are stored if the bytes of files are measured (`--exact`), or if templates are
//! marked.

use resemble_core::hash::content::digest;
use resemble_core::{ByteLen, Measures, Relation, Score};
use resemble_index::varint::put;
use resemble_proto::message::{EstimateInterval, MeasureUnit, PairFigures};
use resemble_proto::number::Fraction;
use serde::{Deserialize, Serialize};

use super::Terms;
use super::discounts::Discounts;
use super::partners::{Link, Partners};
use super::sides::{Holders, Sides};
use crate::compare::record;

/// The version, which is part of every name. It is raised when findings are encoded in another way,
/// or when pairs are nominated in another way.
const VERSION: u64 = 10;

/// Returns the name of the findings about these contents. Returns `None` if they must not or need
/// not be stored.
pub(super) fn name_of(
    sides: &Sides,
    holders: [&Holders; 2],
    terms: &Terms<'_>,
    (subjects, alone): ([&[u32]; 2], [&[u32]; 2]),
    twins: &[(u32, u32)],
) -> Option<String> {
    let options = terms.options;
    let is_equal = twins.is_empty() && subjects.iter().all(|side| side.is_empty());
    if is_equal || options.exact || !terms.templates.is_empty() {
        return None;
    }
    let mut all = Vec::with_capacity(48 * sides.contents.len());
    put(&mut all, VERSION);
    let terms_text = format!(
        "{} {} {} {} {:?} {:?} {:?} {} {}\0",
        env!("CARGO_PKG_VERSION"),
        terms.params,
        terms.limit,
        terms.work,
        options.min,
        options.min_shared,
        options.size_ratio,
        options.all,
        options.unit.word(),
    );
    all.extend_from_slice(terms_text.as_bytes());
    put(&mut all, sides.contents.len() as u64);
    for (number, content) in (0..).zip(&sides.contents) {
        all.extend_from_slice(&content.digest.0);
        put(&mut all, content.size.0);
        let held = holders.map(|holders| u8::from(holders.has(number)));
        all.extend([content.kind.number(), held[0], held[1]]);
    }
    put(&mut all, sides.apart.len() as u64);
    for (&owner, stand_ins) in &sides.apart {
        put(&mut all, u64::from(owner));
        put(&mut all, stand_ins.len() as u64);
        for &(rendition, content) in stand_ins {
            all.push(rendition.number());
            put(&mut all, u64::from(content));
        }
    }
    for side in subjects.into_iter().chain(alone) {
        put(&mut all, side.len() as u64);
        for &of in side {
            put(&mut all, u64::from(of));
        }
    }
    put(&mut all, twins.len() as u64);
    for &(a, b) in twins {
        put(&mut all, u64::from(a));
        put(&mut all, u64::from(b));
    }
    Some(digest(&all).to_string())
}

/// The findings as stored.
#[derive(Serialize, Deserialize)]
struct Findings {
    /// The links, then the twins: the pairs of unequal files at the same path.
    links: [Vec<FoundLink>; 2],
    covered: Vec<(u32, f64)>,
    /// For each pair of contents, the score after the discount, in millionths, and the number of
    /// contents that have the common text.
    discounts: Vec<FoundDiscount>,
}

type FoundDiscount = ((u32, u32), Option<(Option<u32>, u32)>);

/// A link, as it is stored. The shares keep all their bits, so that stored findings give the same
/// figures as computed findings.
#[derive(Serialize, Deserialize)]
struct FoundLink {
    a: u32,
    b: u32,
    shared_bytes: u64,
    shares: [Option<f64>; 3],
    /// The index of the relation in [`Relation::ALL`].
    relation: Option<u8>,
    unit: MeasureUnit,
    estimate: bool,
    /// The interval of an estimate, in millionths. Answers use another type, which omits empty
    /// fields. This encoding cannot omit fields.
    interval: Option<[FoundInterval; 3]>,
}

type FoundInterval = [Option<u32>; 2];

impl FoundLink {
    fn of(link: &Link) -> Self {
        let (measures, told) = (&link.measures, &link.told);
        let shares = [measures.a_in_b, measures.b_in_a, measures.resemblance];
        let interval = told.interval.map(|interval| {
            let ends = [interval.a_in_b, interval.b_in_a, interval.resemblance];
            ends.map(|ends| ends.map(Fraction::millionths))
        });
        Self {
            a: link.a,
            b: link.b,
            shared_bytes: measures.shared_bytes.0,
            shares: shares.map(|share| share.map(Score::get)),
            relation: told.relation.map(|relation| relation as u8),
            unit: told.unit,
            estimate: told.estimate,
            interval,
        }
    }

    /// Returns the link, or `None` if the number of one of its contents is not below `contents`.
    fn link(self, contents: usize) -> Option<Link> {
        if self.a as usize >= contents || self.b as usize >= contents {
            return None;
        }
        let [a_in_b, b_in_a, resemblance] = self.shares.map(|share| share.and_then(score));
        let relation = |place: u8| Relation::ALL.get(usize::from(place)).copied();
        let ends = |ends: FoundInterval| {
            ends.map(|end| end.map_or(Fraction::NONE, Fraction::from_millionths))
        };
        let interval = self.interval.map(|interval| {
            let [a_in_b, b_in_a, resemblance] = interval.map(ends);
            EstimateInterval {
                a_in_b,
                b_in_a,
                resemblance,
            }
        });
        Some(Link {
            a: self.a,
            b: self.b,
            measures: Measures {
                a_in_b,
                b_in_a,
                resemblance,
                shared_bytes: ByteLen(self.shared_bytes),
            },
            told: PairFigures {
                relation: self.relation.and_then(relation),
                unit: self.unit,
                estimate: self.estimate,
                interval,
            },
        })
    }
}

/// Returns the share as a score. Returns `None` if the share is not a number.
fn score(share: f64) -> Option<Score> {
    (!share.is_nan()).then(|| Score::new(share))
}

/// Returns the findings as bytes.
pub(super) fn encode(partners: &Partners, discounts: &Discounts) -> Vec<u8> {
    let links = [&partners.links, &partners.twins];
    let links = links.map(|links| links.iter().map(FoundLink::of).collect());
    let covered = partners.covered.iter();
    let mut covered: Vec<_> = covered.map(|(&of, share)| (of, share.get())).collect();
    covered.sort_unstable_by_key(|&(content, _)| content);
    let discounts = discounts.0.iter().map(|(&pair, discount)| {
        let discount = discount.map(|(left, contents)| (left.millionths(), contents));
        (pair, discount)
    });
    let mut discounts: Vec<FoundDiscount> = discounts.collect();
    discounts.sort_unstable_by_key(|&(pair, _)| pair);
    record::encode(&Findings {
        links,
        covered,
        discounts,
    })
}

/// Returns the findings that [`encode`] wrote about this number of contents. Returns `None` if the
/// bytes cannot be decoded.
pub(super) fn decode(bytes: &[u8], contents: usize) -> Option<(Partners, Discounts)> {
    let findings: Findings = record::decode(bytes)?;
    let is_content = |number: u32| (number as usize) < contents;
    let [links, twins] = findings.links.map(|links| {
        let links = links.into_iter().map(|link| link.link(contents));
        let links = links.collect::<Option<Vec<_>>>();
        links.filter(|links| links.is_sorted_by_key(|link| (link.a, link.b)))
    });
    let mut partners = Partners {
        links: links?,
        twins: twins?,
        ..Partners::default()
    };
    for (of, share) in findings.covered {
        partners.covered.insert(of, score(share)?);
        is_content(of).then_some(())?;
    }
    let mut discounts = Discounts::default();
    for (pair, discount) in findings.discounts {
        (is_content(pair.0) && is_content(pair.1)).then_some(())?;
        let discount = discount.map(|(left, contents)| {
            let left = left.map_or(Fraction::NONE, Fraction::from_millionths);
            (left, contents)
        });
        discounts.0.insert(pair, discount);
    }
    Some((partners, discounts))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_kept_is_found_again() {
        let told = |estimate: bool| PairFigures {
            relation: Some(Relation::Near),
            unit: MeasureUnit::Bytes,
            estimate,
            interval: estimate.then(|| EstimateInterval {
                a_in_b: [Fraction::from_millionths(1), Fraction::from_millionths(2)],
                b_in_a: [Fraction::NONE; 2],
                resemblance: [Fraction::from_millionths(3); 2],
            }),
        };
        let link = |a, b, estimate| Link {
            a,
            b,
            measures: Measures {
                a_in_b: Some(Score::new(1.0 / 3.0)),
                b_in_a: None,
                resemblance: Some(Score::new(0.1)),
                shared_bytes: ByteLen(7),
            },
            told: told(estimate),
        };
        let partners = Partners {
            links: vec![link(0, 5, false), link(1, 4, true)],
            twins: vec![link(2, 3, false)],
            covered: [(1, Score::new(0.7))].into(),
            ..Partners::default()
        };
        let half = Fraction::from_millionths(500_000);
        let discounts = Discounts([((0, 5), None), ((1, 4), Some((half, 9)))].into());
        let bytes = encode(&partners, &discounts);
        let (found, discounted) = decode(&bytes, 6).expect("the findings");
        let seen = |partners: &Partners| {
            let links = partners.links.iter().chain(&partners.twins);
            let links: Vec<_> = links
                .map(|link| (link.a, link.b, link.measures, link.told))
                .collect();
            (links, partners.covered.clone())
        };
        assert_eq!(seen(&found), seen(&partners));
        assert_eq!(discounted, discounts);
        // The findings are about six contents, so they cannot be decoded for fewer contents.
        assert!(decode(&bytes, 5).is_none());
        assert!(decode(&bytes[1..], 6).is_none());
    }
}
