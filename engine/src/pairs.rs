//! `pairs`: every pair of files with something in common, however little.
//!
//! Made for scripts and for scoring: nothing is cut by a threshold unless one is given.
//!
//! 1. The signatures of the files in question are taken into memory, and posting lists are made of
//!    them (`candidates`).
//! 2. Keys that more contents than the limit have are boilerplate, counted among these files alone.
//! 3. Content pairs with enough in common are measured and become a row for each pair of files.

use std::path::Path;

use resemble_core::{ByteLen, Measures, Relation, Score, rank};
use resemble_index::{ReadError, Snapshot};
use resemble_proto::message::{Answer, Discount, PairRow, PairScore, Scope, SoftError};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

use crate::ask::{AskError, LARGEST_READ, bytes_of, exact_payload, soft_error};
use crate::candidates::Block;
use crate::evidence::{Counts, Kept};
use crate::find::{enough_shared, estimate, identical_measures};
use crate::members::{Member, Members};
use crate::parallel::threads;

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
}

/// The pairs of the files in `options.scope`, best first.
pub fn pairs(snapshot: &Snapshot, options: &PairsOptions) -> Result<Answer<PairRow>, AskError> {
    let members = Members::of(snapshot, &options.scope)?;
    let kept = keep(snapshot, &members)?;
    let (block, counts) = Block::counting(kept, snapshot.boilerplate_limit());
    let mut found = block.candidates(threads(), Found::default, |found, a, b, _| {
        let pair = (&block.kept[a], &block.kept[b]);
        found.pair((snapshot, &members), pair, options, &counts);
        Ok::<(), AskError>(())
    })?;
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

/// What one worker found.
#[derive(Default)]
struct Found<'a> {
    rows: Vec<Row<'a>>,
    errors: Vec<SoftError>,
}

impl<'a> Found<'a> {
    /// Measures a pair of contents and keeps its rows if it passes.
    fn pair(
        &mut self,
        (snapshot, members): (&Snapshot, &'a Members),
        (a, b): (&Kept, &Kept),
        options: &PairsOptions,
        counts: &Counts,
    ) {
        let mut sizes = (a.size, b.size);
        let mut measures = estimate((&a.sketch(), a.kind), (&b.sketch(), b.kind), counts);
        if options.exact && a.whole <= LARGEST_READ && b.whole <= LARGEST_READ {
            let Some((one, other)) = self.read_both(members, a, b) else {
                return;
            };
            (measures, sizes) = exact_payload(snapshot.templates(), &one, &other);
        }
        let score = match options.score {
            PairScore::Containment => measures.containment(),
            PairScore::Resemblance => measures.resemblance,
        };
        let Some(score) = score else { return };
        let min_shared = options.min_shared.unwrap_or(Relation::MIN_SHARED);
        if options.min.is_some_and(|min| score < min)
            || !enough_shared(sizes, &measures, min_shared)
        {
            return;
        }
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
