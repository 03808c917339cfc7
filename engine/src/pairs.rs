//! `pairs`: every pair of files with something in common, however little.
//!
//! Made for scripts and for scoring: nothing is cut by a threshold unless one is given.
//!
//! 1. The signatures of the files in question are taken into memory, and posting lists are made of
//!    them (`candidates`).
//! 2. Keys that more contents than the limit have are boilerplate, counted among these files alone.
//! 3. Of texts one common fingerprint is enough to look: each text is read once ([`crate::texts`]), and what two
//!    of them really have in common decides whether there is a row, and is its score. Of everything else, and where
//!    there is too much to read, pairs with a chunk or two fingerprints in common are estimated.
//! 4. A row for each pair of files.

use std::path::Path;

use resemble_core::similarity::{LEAST_JUDGED, Sketch, Unit, shared_chunk_bytes};
use resemble_core::words::Proof;
use resemble_core::{ByteLen, Measures, Relation, Score, rank};
use resemble_index::{ReadError, Snapshot};
use resemble_proto::message::{Answer, Discount, PairRow, PairScore, Scope, SoftError};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

use crate::ask::{AskError, LARGEST_READ, bytes_of, exact_payload, soft_error};
use crate::candidates::Block;
use crate::evidence::{Counts, Kept};
use crate::find::{enough_shared, estimate_in, identical_measures};
use crate::members::{Member, Members};
use crate::parallel::threads;
use crate::texts::{Compared, Texts};

/// Which pairs an answer has.
#[derive(Clone, Debug, Default)]
pub struct PairsOptions {
    /// The files; names at least one path.
    pub scope: Scope,
    /// What sorts, and what `min` bounds.
    pub score: PairScore,
    /// Only pairs whose score is at least this.
    pub min: Option<Score>,
    /// The least number of shared bytes, identical files aside.
    pub min_shared: Option<ByteLen>,
    /// Only the first so many rows.
    pub top: Option<u64>,
    /// Measure on the bytes of both files where they can be read.
    pub exact: bool,
    /// What the measures are about.
    pub unit: Unit,
}

/// The pairs of the files in `options.scope`, best first.
pub fn pairs(snapshot: &Snapshot, options: &PairsOptions) -> Result<Answer<PairRow>, AskError> {
    let members = Members::of(snapshot, &options.scope)?;
    let kept = keep(snapshot, &members)?;
    let (block, counts) = Block::counting(kept, snapshot.boilerplate_limit());
    let texts = Texts::read(snapshot, &members, &block.kept)?;
    let looked = Looking {
        snapshot,
        members: &members,
        options,
        counts: &counts,
    };
    let start = || (Found::default(), texts.table(snapshot.boilerplate_limit()));
    let found = block.nominees(threads(), start, |(found, table), a, b, common| {
        let measured = match table.compare(a, b, common) {
            Compared::Strangers => return Ok(()),
            Compared::Proven(proof) => Some(proof),
            Compared::Unknown if common.is_candidate() => None,
            Compared::Unknown => return Ok(()),
        };
        found.pair(&looked, (&block.kept[a], &block.kept[b]), measured);
        Ok::<(), AskError>(())
    })?;
    let mut found: Vec<Found<'_>> = found.into_iter().map(|(found, _)| found).collect();
    let mut identical = Found::default();
    for content in &block.kept {
        same_content(&members, content, &mut identical);
    }
    found.push(identical);

    let mut errors = members.errors.clone();
    let mut rows = Vec::new();
    for part in found {
        rows.extend(part.rows);
        errors.extend(part.errors);
    }
    errors.sort_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
    errors.dedup();
    rows.sort_by(Row::compare);
    let rows = rows.iter().map(Row::to_answer).collect();
    let mut answer = Answer::fresh(rows, errors).cut(options.top);
    answer.header.looked = Some(members.looked(snapshot));
    Ok(answer)
}

/// The contents of the members that can be compared, by id. Empty files are counted, not grouped.
fn keep(snapshot: &Snapshot, members: &Members) -> Result<Vec<Kept>, ReadError> {
    let mut kept = Vec::new();
    for id in members.contents() {
        let Some(row) = snapshot.content(id)? else {
            continue;
        };
        if row.size > ByteLen::ZERO {
            kept.push(Kept::of(snapshot, &row)?);
        }
    }
    Ok(kept)
}

/// A pair of files before it is an answer; `a` has the lesser path.
struct Row<'a> {
    a: &'a Path,
    b: &'a Path,
    identical: bool,
    score: Score,
    measures: Measures,
    discount: Discount,
}

impl Row<'_> {
    fn compare(&self, other: &Self) -> std::cmp::Ordering {
        rank::compare(
            (
                self.score,
                &self.measures,
                self.a.as_os_str().as_encoded_bytes(),
            ),
            (
                other.score,
                &other.measures,
                other.a.as_os_str().as_encoded_bytes(),
            ),
        )
        .then_with(|| {
            self.b
                .as_os_str()
                .as_encoded_bytes()
                .cmp(other.b.as_os_str().as_encoded_bytes())
        })
    }

    fn to_answer(&self) -> PairRow {
        PairRow {
            a: PathText::from(self.a),
            b: PathText::from(self.b),
            identical: self.identical,
            score: Fraction::from(self.score),
            a_in_b: Fraction::from(self.measures.a_in_b),
            b_in_a: Fraction::from(self.measures.b_in_a),
            resemblance: Fraction::from(self.measures.resemblance),
            shared_bytes: self.measures.shared_bytes.0,
            discount: self.discount.clone(),
        }
    }
}

/// What a look at a pair needs.
struct Looking<'a> {
    snapshot: &'a Snapshot,
    members: &'a Members,
    options: &'a PairsOptions,
    counts: &'a Counts,
}

/// The measures of two texts that were read: what they share is known; what chunks prove is shared as well.
fn proven(
    proof: &Proof,
    unit: Unit,
    (a, b): (&Sketch<'_>, &Sketch<'_>),
    counts: &Counts,
) -> Measures {
    let shared_bytes = shared_chunk_bytes(a.chunks, b.chunks, counts);
    let judged = a.size >= LEAST_JUDGED && b.size >= LEAST_JUDGED;
    let share = |of: ByteLen, share: f64| {
        let chunks = match unit {
            Unit::Bytes => shared_bytes.0 as f64 / of.0.max(1) as f64,
            Unit::Words => 0.0,
        };
        judged.then(|| Score::new(share.max(chunks)))
    };
    let (a_in_b, b_in_a) = proof.containments(unit);
    Measures {
        a_in_b: share(a.size, a_in_b),
        b_in_a: share(b.size, b_in_a),
        resemblance: judged.then(|| Score::new(proof.resemblance)),
        shared_bytes,
    }
}

/// What one worker found.
#[derive(Default)]
struct Found<'a> {
    rows: Vec<Row<'a>>,
    errors: Vec<SoftError>,
}

impl<'a> Found<'a> {
    /// Measures a pair of contents and keeps its rows if it passes.
    fn pair(&mut self, looking: &Looking<'a>, (a, b): (&Kept, &Kept), proof: Option<Proof>) {
        let Looking {
            snapshot,
            members,
            options,
            counts,
        } = *looking;
        let mut sizes = (a.size, b.size);
        let exact = options.exact && a.whole <= LARGEST_READ && b.whole <= LARGEST_READ;
        let mut measures = match proof {
            _ if exact => {
                let Some((one, other)) = self.read_both(members, a, b) else {
                    return;
                };
                let (measures, of_payload) =
                    exact_payload(snapshot.templates(), &one, &other, options.unit);
                sizes = of_payload;
                measures
            }
            Some(proof) => proven(&proof, options.unit, (&a.sketch(), &b.sketch()), counts),
            None => estimate_in(
                options.unit,
                (&a.sketch(), a.kind),
                (&b.sketch(), b.kind),
                counts,
            ),
        };
        let score = match (options.score, proof) {
            (PairScore::Discounted, Some(proof)) => Some(Score::new(proof.kinship)),
            (PairScore::Discounted, None) => measures.containment().map(|raw| {
                let rarity = counts.rarity(&a.sketch(), &b.sketch());
                rarity.map_or(raw, |rarity| rarity.discounted(raw))
            }),
            // What is too small to judge by a sample is not when it was read.
            (PairScore::Containment, Some(proof)) => measures.containment().or_else(|| {
                let (a_in_b, b_in_a) = proof.containments(options.unit);
                Some(Score::new(a_in_b.max(b_in_a)))
            }),
            (PairScore::Containment, None) => measures.containment(),
            (PairScore::Resemblance, Some(proof)) => {
                measures.resemblance.or(Some(Score::new(proof.resemblance)))
            }
            (PairScore::Resemblance, None) => measures.resemblance,
        };
        let Some(score) = score else { return };
        let enough = match (options.min_shared, proof) {
            (None, Some(_)) => true,
            (min, _) => {
                let min_shared = min.unwrap_or(Relation::MIN_SHARED);
                enough_shared(sizes, &measures, min_shared)
            }
        };
        if options.min.is_some_and(|min| score < min) || !enough {
            return;
        }
        // Files that share nothing to the byte may still be one text.
        if exact && proof.is_none() && measures.shared_bytes == ByteLen::ZERO {
            return;
        }
        measures.shared_bytes = measures.shared_bytes.min(a.whole).min(b.whole);
        let discount = counts.discount(&a.sketch(), &b.sketch(), Some(score));
        for one in members.holders(a.id) {
            for other in members.holders(b.id) {
                let row = row((one, other), false, score, measures);
                self.rows.push(Row {
                    discount: discount.clone(),
                    ..row
                });
            }
        }
    }

    /// The bytes of one file of each content; `None` (and an error row) if one cannot be read.
    fn read_both(&mut self, members: &Members, a: &Kept, b: &Kept) -> Option<(Vec<u8>, Vec<u8>)> {
        let mut read = |content: &Kept| {
            let path = &members.holders(content.id).next()?.path;
            bytes_of(path)
                .map_err(|error| self.errors.push(soft_error(path, &error)))
                .ok()
        };
        Some((read(a)?, read(b)?))
    }
}

/// The pairs of files that hold one and the same content.
fn same_content<'a>(members: &'a Members, content: &Kept, found: &mut Found<'a>) {
    let measures = identical_measures(content.whole);
    let holders: Vec<&Member> = members.holders(content.id).collect();
    for (at, &one) in holders.iter().enumerate() {
        for &other in &holders[at + 1..] {
            found
                .rows
                .push(row((one, other), true, Score::ONE, measures));
        }
    }
}

/// The row of two files; the measures are those of (one, other).
fn row<'a>(
    (one, other): (&'a Member, &'a Member),
    identical: bool,
    score: Score,
    measures: Measures,
) -> Row<'a> {
    let raw = |member: &'a Member| member.path.as_os_str().as_encoded_bytes();
    if raw(one) <= raw(other) {
        Row {
            a: &one.path,
            b: &other.path,
            identical,
            score,
            measures,
            discount: Discount::default(),
        }
    } else {
        Row {
            a: &other.path,
            b: &one.path,
            identical,
            score,
            measures: measures.swapped(),
            discount: Discount::default(),
        }
    }
}
