//! Pairs of contents that are read for one another: what is no text, and texts that cannot all be
//! in memory.
//!
//! The best by their estimates come first, as far as the budget of the question goes. Which pairs
//! these are depends on the contents alone, and neither on threads nor on what was measured before:
//! a pair whose measures are kept takes its part of the budget all the same.

use std::cmp::Reverse;
use std::collections::HashMap;

use resemble_core::similarity::Unit;
use resemble_core::similarity::proof::{Provable, Proven, unit_of};
use resemble_core::{ByteLen, Score};
use resemble_proto::message::SoftError;

use crate::ask::AskError;
use crate::parallel::ordered;
use crate::prove::contents::{ContentReader, WantedOfKind};
use crate::prove::exact::provable;

/// So many bytes are held against each other for one question: some half a minute of one processor.
pub(crate) const COMPARED: ByteLen = ByteLen(4 << 30);

/// A pair of places, the lesser first, and the estimate of its score.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct DraftPair {
    pub(crate) a: usize,
    pub(crate) b: usize,
    pub(crate) estimate: Score,
}

/// Measures pairs of contents, which are read for one another.
pub(crate) struct OneByOne<'a> {
    pub(crate) reader: ContentReader<'a>,
    /// The contents by place.
    pub(crate) contents: &'a [WantedOfKind],
    pub(crate) asked: Unit,
    pub(crate) budget: ByteLen,
}

/// The measures and the sizes that they are of; `None`: the pair keeps its estimate.
pub(crate) type MeasuredPair = Option<(Proven, (ByteLen, ByteLen))>;

impl OneByOne<'_> {
    /// Measures these pairs, in their order, and says what could not be read.
    pub(crate) fn prove(
        &self,
        drafts: &[DraftPair],
    ) -> Result<(Vec<MeasuredPair>, Vec<SoftError>), AskError> {
        let mut order: Vec<usize> = (0..drafts.len()).collect();
        let rank = |at: usize| {
            let draft = &drafts[at];
            (Reverse(draft.estimate), draft.a, draft.b)
        };
        order.sort_unstable_by_key(|&at| rank(at));
        let mut left = self.budget;
        let within = order.iter().take_while(|&&at| {
            let cost = self.size(drafts[at].a) + self.size(drafts[at].b);
            let is_enough = cost <= left;
            left = left - cost;
            is_enough
        });
        order.truncate(within.count());
        let mut measured: Vec<MeasuredPair> = vec![None; drafts.len()];
        for &at in &order {
            measured[at] = self.known(&drafts[at]);
        }
        order.retain(|&at| measured[at].is_none());
        order.sort_unstable_by_key(|&at| (drafts[at].a, drafts[at].b));
        let of_one: Vec<&[usize]> = order
            .chunk_by(|&x, &y| drafts[x].a == drafts[y].a)
            .collect();
        let prove = |at: usize, errors: &mut Vec<SoftError>| {
            let pairs = of_one[at];
            let Some(own) = self.provable(drafts[pairs[0]].a, errors)? else {
                return Ok(vec![None; pairs.len()]);
            };
            let mut found = Vec::with_capacity(pairs.len());
            for &at in pairs {
                let other = self.provable(drafts[at].b, errors)?;
                found.push(other.map(|other| {
                    let proven = own.measure(&other, self.asked);
                    self.keep(&drafts[at], &proven);
                    (proven, (own.size(), other.size()))
                }));
            }
            Ok::<_, AskError>(found)
        };
        let with_errors = |at: usize, (): &mut ()| {
            let mut errors = Vec::new();
            let found = prove(at, &mut errors)?;
            Ok::<_, AskError>((found, errors))
        };
        let mut unread: HashMap<Vec<u8>, SoftError> = HashMap::new();
        for (found, errors) in ordered(of_one.len(), || (), with_errors)?
            .into_iter()
            .zip(&of_one)
            .map(|((found, errors), pairs)| (pairs.iter().zip(found), errors))
        {
            for (&at, found) in found {
                measured[at] = found;
            }
            for error in errors {
                unread.insert(error.path.as_bytes().to_vec(), error);
            }
        }
        Ok((measured, unread.into_values().collect()))
    }

    fn size(&self, place: usize) -> ByteLen {
        self.contents[place].0.size
    }

    fn known(&self, draft: &DraftPair) -> MeasuredPair {
        let ((a, a_kind), (b, b_kind)) = (&self.contents[draft.a], &self.contents[draft.b]);
        let unit = unit_of(*a_kind, *b_kind, self.asked);
        let snapshot = self.reader.snapshot;
        let found = snapshot.kept_measures(&a.digest, &b.digest, unit)?;
        Some((found, (a.size, b.size)))
    }

    fn keep(&self, draft: &DraftPair, proven: &Proven) {
        let (a, b) = (&self.contents[draft.a].0, &self.contents[draft.b].0);
        let snapshot = self.reader.snapshot;
        snapshot.keep_measures(&a.digest, &b.digest, proven);
    }

    fn provable(
        &self,
        place: usize,
        errors: &mut Vec<SoftError>,
    ) -> Result<Option<Provable>, AskError> {
        let (wanted, kind) = &self.contents[place];
        Ok(match self.reader.read(wanted)? {
            Ok(bytes) => Some(provable(self.reader.snapshot.templates(), *kind, bytes)),
            Err(error) => {
                errors.push(error);
                None
            }
        })
    }
}
