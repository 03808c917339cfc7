//! What was found out about two sets of contents, for the next time it is asked.
//!
//! Whoever compares two trees asks again: for the table after the text, for one class, for the
//! page. What the contents of both have in common is the same then, and finding it is most of the
//! work. So the findings are kept under a name made of everything that they follow from: the
//! contents in their order, who holds them, which were looked up, and the options that count for
//! partners. If anything of it changes they are not found, so they need not be trusted to be up to
//! date, only to be what was written.
//!
//! Not kept are findings that rest on more than that: measures on the bytes of files (`--exact`),
//! and payloads without templates.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::sync::Arc;

use parking_lot::Mutex;
use resemble_core::hash::content::digest;
use resemble_core::{ByteLen, Measures, Score};
use resemble_index::varint::put;
use resemble_proto::message::FiguresTold;
use resemble_proto::number::Fraction;
use serde::{Deserialize, Serialize};

use super::Terms;
use super::discounts::Discounts;
use super::partners::{Link, PartnerQuestion, Partners};
use super::sides::{Holders, Sides};
use crate::compare::cache::codec;

/// Part of every name. It is raised whenever the layout below changes.
const VERSION: u64 = 5;

/// A store of findings. A command keeps them in its cache, the daemon in memory.
pub trait FindingsCache: Debug + Sync {
    /// What was kept under this name.
    fn get(&self, name: &str) -> Option<Arc<[u8]>>;

    /// Keeps it for as long as there is room.
    fn put(&self, name: &str, findings: &[u8]);
}

/// The name of the findings about these contents; `None` if they must not be kept.
pub(super) fn name_of(
    sides: &Sides,
    holders: [&Holders; 2],
    terms: &Terms<'_>,
    subjects: [&[u32]; 2],
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
        "{} {} {} {} {:?} {:?} {:?}\0",
        env!("CARGO_PKG_VERSION"),
        terms.params,
        terms.limit,
        terms.work,
        options.min,
        options.min_shared,
        options.size_ratio,
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
    for side in subjects {
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

/// The findings as they are stored.
#[derive(Serialize, Deserialize)]
struct Findings {
    /// The links and the twins.
    links: [Vec<FoundLink>; 2],
    covered: Vec<(u32, f64)>,
    /// For each pair what is left of its score, in millionths, and how many contents have the
    /// common text.
    discounts: Vec<FoundDiscount>,
}

type FoundDiscount = ((u32, u32), Option<(Option<u32>, u32)>);

/// Shares are stored with all their bits: an answer must have the same figures whether they were
/// computed or stored.
#[derive(Serialize, Deserialize)]
struct FoundLink {
    a: u32,
    b: u32,
    shared_bytes: u64,
    shares: [Option<f64>; 3],
    told: FiguresTold,
}

/// The findings as bytes.
pub(super) fn encode(partners: &Partners, discounts: &Discounts) -> Vec<u8> {
    let links = [&partners.links, &partners.twins].map(|links| {
        let links = links.iter().map(|link| {
            let measures = &link.measures;
            FoundLink {
                a: link.a,
                b: link.b,
                shared_bytes: measures.shared_bytes.0,
                shares: [measures.a_in_b, measures.b_in_a, measures.resemblance]
                    .map(|share| share.map(Score::get)),
                told: link.told,
            }
        });
        links.collect()
    });
    let covered = partners.covered.iter();
    let mut covered: Vec<_> = covered.map(|(&of, share)| (of, share.get())).collect();
    covered.sort_unstable_by_key(|&(content, _)| content);
    let discounts = discounts.0.iter().map(|(&pair, discount)| {
        let discount = discount.map(|(left, contents)| (left.millionths(), contents));
        (pair, discount)
    });
    let mut discounts: Vec<FoundDiscount> = discounts.collect();
    discounts.sort_unstable_by_key(|&(pair, _)| pair);
    codec::encode(&Findings {
        links,
        covered,
        discounts,
    })
}

/// The findings that [`encode`] wrote about the contents of this question; `None` if the bytes are
/// anything else.
pub(super) fn decode(
    bytes: &[u8],
    question: &PartnerQuestion<'_>,
) -> Option<(Partners, Discounts)> {
    let findings: Findings = codec::decode(bytes)?;
    let contents = question.sides.contents.len();
    let is_content = |number: u32| (number as usize) < contents;
    // A score is a number.
    let score = |share: f64| (!share.is_nan()).then(|| Score::new(share));
    let [links, twins] = findings.links.map(|links| {
        let links = links.into_iter().map(|link| {
            if !is_content(link.a) || !is_content(link.b) {
                return None;
            }
            let [a_in_b, b_in_a, resemblance] = link.shares.map(|share| share.and_then(score));
            let measures = Measures {
                a_in_b,
                b_in_a,
                resemblance,
                shared_bytes: ByteLen(link.shared_bytes),
            };
            Some(Link {
                a: link.a,
                b: link.b,
                measures,
                told: link.told,
            })
        });
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

/// The findings of the last comparisons, in memory.
#[derive(Debug, Default)]
pub struct MemoryCache(Mutex<VecDeque<(String, Arc<[u8]>)>>);

impl MemoryCache {
    /// At most so many comparisons are remembered.
    const MOST: usize = 8;

    /// Together they take at most so many bytes: the drafts of `groups` of a million texts in
    /// families of eight fit, of which there are 1.7 for each text.
    const MOST_BYTES: usize = 64 << 20;
}

impl FindingsCache for MemoryCache {
    fn get(&self, name: &str) -> Option<Arc<[u8]>> {
        let kept = self.0.lock();
        let found = kept.iter().find(|(of, _)| of == name);
        found.map(|(_, findings)| Arc::clone(findings))
    }

    fn put(&self, name: &str, findings: &[u8]) {
        if findings.len() > Self::MOST_BYTES {
            return;
        }
        let mut kept = self.0.lock();
        kept.retain(|(of, _)| of != name);
        kept.push_back((name.to_owned(), findings.into()));
        let bytes = |kept: &VecDeque<(String, Arc<[u8]>)>| -> usize {
            kept.iter().map(|(_, findings)| findings.len()).sum()
        };
        while kept.len() > Self::MOST || bytes(&kept) > Self::MOST_BYTES {
            kept.pop_front();
        }
    }
}
