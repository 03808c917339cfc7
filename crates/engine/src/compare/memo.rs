//! What was found out about two sets of contents, for the next time it is asked.
//!
//! Whoever compares two trees asks again: for the table after the text, for one class, for the page. What the contents
//! of both have in common is the same then, and finding it is most of the work. So the findings are kept under a
//! name made of everything that they follow from: the contents in their order, who holds them, which were looked up, and
//! the options that count for partners. If anything of it changes they are not found, so they need not be
//! trusted to be up to date, only to be what was written.
//!
//! Not kept are findings that rest on more than that: measures on the bytes of files (`--exact`), and
//! payloads without templates.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};

use resemble_core::hash::content::digest;
use resemble_core::{ByteLen, Measures, Score};
use resemble_index::varint::{Reader, put};
use resemble_proto::number::Fraction;

use super::Terms;
use super::discounts::Discounts;
use super::partners::{Partners, Question};
use super::sides::{Holders, Sides};

/// Another version is another name: to be raised with the layout below.
const VERSION: u64 = 1;

/// A store of findings: local ones lie in the cache, those of a daemon in its memory.
pub trait Memo: Sync {
    /// What was kept under this name.
    fn recall(&self, name: &str) -> Option<Arc<[u8]>>;

    /// Keeps it for as long as there is room.
    fn keep(&self, name: &str, findings: &[u8]);
}

/// The name of the findings about these contents; `None`: they are not to be kept.
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
    let said = format!(
        "{} {} {} {:?} {:?} {:?}\0",
        env!("CARGO_PKG_VERSION"),
        terms.params,
        terms.limit,
        options.min,
        options.min_shared,
        options.size_ratio,
    );
    all.extend_from_slice(said.as_bytes());
    put(&mut all, sides.contents.len() as u64);
    for (number, content) in (0..).zip(&sides.contents) {
        all.extend_from_slice(&content.digest.0);
        put(&mut all, content.size.0);
        let held = holders.map(|holders| u8::from(holders.has(number)));
        all.extend([content.kind.number(), held[0], held[1]]);
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

/// The bytes of what was found out.
pub(super) fn encode(partners: &Partners, discounts: &Discounts) -> Vec<u8> {
    let mut out = Vec::new();
    for links in [&partners.links, &partners.twins] {
        put(&mut out, links.len() as u64);
        for link in links {
            put(&mut out, u64::from(link.a));
            put(&mut out, u64::from(link.b));
            put(&mut out, link.measures.shared_bytes.0);
            let measures = &link.measures;
            for share in [measures.a_in_b, measures.b_in_a, measures.resemblance] {
                put_share(&mut out, share);
            }
        }
    }
    let mut covered: Vec<_> = partners.covered.iter().collect();
    covered.sort_unstable_by_key(|&(&content, _)| content);
    put(&mut out, covered.len() as u64);
    for (&content, &share) in covered {
        put(&mut out, u64::from(content));
        put_share(&mut out, Some(share));
    }
    let mut pairs: Vec<_> = discounts.0.iter().collect();
    pairs.sort_unstable_by_key(|&(&pair, _)| pair);
    put(&mut out, pairs.len() as u64);
    for (&(a, b), discount) in pairs {
        put(&mut out, u64::from(a));
        put(&mut out, u64::from(b));
        // What is common is in two contents at least: none says that nothing is.
        let (left, contents) = discount.unwrap_or((Fraction::ZERO, 0));
        put(&mut out, u64::from(contents));
        put(
            &mut out,
            left.millionths().map_or(0, |left| u64::from(left) + 1),
        );
    }
    out
}

/// What [`encode`] wrote about the contents of this question; `None`: it is not that.
pub(super) fn decode(bytes: &[u8], question: &Question<'_>) -> Option<(Partners, Discounts)> {
    let mut reader = Reader(bytes);
    let contents = question.sides.contents.len();
    let content = |reader: &mut Reader<'_>| {
        let number = reader.u32()?;
        ((number as usize) < contents).then_some(number)
    };
    let mut partners = Partners::default();
    for links in [&mut partners.links, &mut partners.twins] {
        for _ in 0..reader.u64()? {
            let (a, b) = (content(&mut reader)?, content(&mut reader)?);
            let shared_bytes = ByteLen(reader.u64()?);
            let measures = Measures {
                a_in_b: share(&mut reader).ok()?,
                b_in_a: share(&mut reader).ok()?,
                resemblance: share(&mut reader).ok()?,
                shared_bytes,
            };
            links.push(question.link_of(a, b, measures));
        }
        if !links.is_sorted_by_key(|link| (link.a, link.b)) {
            return None;
        }
    }
    for _ in 0..reader.u64()? {
        let of = content(&mut reader)?;
        partners.covered.insert(of, share(&mut reader).ok()??);
    }
    let mut discounts = Discounts::default();
    for _ in 0..reader.u64()? {
        let pair = (content(&mut reader)?, content(&mut reader)?);
        let files = reader.u32()?;
        let left = match reader.u32()? {
            0 => Fraction::NONE,
            left => Fraction::from_millionths(left - 1),
        };
        discounts
            .0
            .insert(pair, (files > 0).then_some((left, files)));
    }
    reader.end((partners, discounts))
}

/// All bits of it: the figures of an answer must not depend on where they come from. Not-a-number is no score.
fn put_share(out: &mut Vec<u8>, share: Option<Score>) {
    let bits = share.map_or(f64::NAN, Score::get).to_bits();
    out.extend_from_slice(&bits.to_le_bytes());
}

/// A score that may be none; `Err` if there is nothing to read.
fn share(reader: &mut Reader<'_>) -> Result<Option<Score>, Ended> {
    let bits = reader.bytes(8).ok_or(Ended)?;
    let bits = bits.try_into().map_err(|_| Ended)?;
    let value = f64::from_bits(u64::from_le_bytes(bits));
    Ok((!value.is_nan()).then(|| Score::new(value)))
}

/// The bytes ended too early.
struct Ended;

/// The findings of the last comparisons, in memory.
#[derive(Debug, Default)]
pub struct Recent(Mutex<VecDeque<(String, Arc<[u8]>)>>);

impl Recent {
    /// Comparisons that are remembered.
    const MOST: usize = 8;

    /// Bytes of all of them together.
    const MOST_BYTES: usize = 32 << 20;
}

impl Memo for Recent {
    fn recall(&self, name: &str) -> Option<Arc<[u8]>> {
        let kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let found = kept.iter().find(|(of, _)| of == name);
        found.map(|(_, findings)| Arc::clone(findings))
    }

    fn keep(&self, name: &str, findings: &[u8]) {
        let mut kept = self.0.lock().unwrap_or_else(PoisonError::into_inner);
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
