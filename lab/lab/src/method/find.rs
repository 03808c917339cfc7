//! `find --method`: compares one file with all other files.

use crate::figure::Figure;
use crate::question::{
    MethodFind, MethodFindRow, MethodInterval, MethodLimits, MethodRow, MethodScore,
};
use resemble_core::{FileId, Score};
use resemble_index::ContentRow;
use resemble_methods::judged::Overlap;
use resemble_methods::shingle::{Estimate, estimates};
use resemble_methods::{Measure, MethodParams, MethodSignature, Scheme};
use resemble_proto::message::{Answer, Layer, SoftError};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

use super::signed::Signed;
use super::sorted::{self, Values};
use super::{MethodContext, PairScores, RowThreshold};
use crate::error::LabError;

pub(super) fn find(
    context: &MethodContext<'_>,
    question: &MethodFind,
    subject: Option<FileId>,
) -> Result<Answer<MethodRow>, LabError> {
    let accepts = acceptance(context.params, question.contained, question.limits);
    let (all, errors) = all_scores(context, &question.signature)?;
    let mut rows = Vec::new();
    for ContentScores {
        content,
        scores,
        interval,
    } in &all
    {
        let identical = content.digest == question.content;
        if !identical && !accepts(scores) {
            continue;
        }
        let holders = context.scoped.holders(content.id);
        for file in holders.filter(|file| Some(file.file) != subject) {
            let names = (question.name.clone(), file.path.clone());
            let mut row = named(names, (*scores, *interval), content.size.0);
            row.1.identical = identical;
            rows.push(row);
        }
    }
    let rows = sorted_rows(rows).into_iter().map(MethodRow::Find);
    let errors = context.errors(errors);
    Ok(Answer::fresh(rows.collect(), errors).cut(question.limits.top))
}

/// Makes the row for two names. The row does not call the two identical, because nothing is known
/// about their bytes.
pub(super) fn named(
    (file, path): (PathText, PathText),
    (scores, interval): (PairScores, Option<MethodInterval>),
    size: u64,
) -> (PairScores, MethodFindRow) {
    let row = MethodFindRow {
        file,
        path,
        identical: false,
        layer: Layer::Bytes,
        a_in_b: scores.a_in_b,
        b_in_a: scores.b_in_a,
        resemblance: scores.resemblance,
        shared_bytes: scores.shared_bytes,
        interval,
        score: scores.figure,
        size,
    };
    (scores, row)
}

/// Sorts rows into the order of answers.
pub(super) fn sorted_rows(mut rows: Vec<(PairScores, MethodFindRow)>) -> Vec<MethodFindRow> {
    rows.sort_by(|a, b| {
        let paths = || a.1.path.as_bytes().cmp(b.1.path.as_bytes());
        a.0.compare(&b.0, MethodScore::Paper).then_with(paths)
    });
    rows.into_iter().map(|(_, row)| row).collect()
}

/// Returns a function that decides whether a pair has a row. A pair has a row if its figure reaches
/// `limits.min`, or the paper's threshold if `limits.min` is absent. If `contained` is set, a pair
/// also has a row if its larger containment reaches this value.
pub(super) fn acceptance(
    params: &MethodParams,
    contained: Figure,
    limits: MethodLimits,
) -> impl Fn(&PairScores) -> bool + use<> {
    let paper = params.method().thresholds().find;
    let paper_row = RowThreshold::new(paper, MethodScore::Paper, limits);
    let contained_row = contained.value().map(|_| {
        let limits = MethodLimits {
            min: contained,
            ..limits
        };
        RowThreshold::new(paper, MethodScore::Containment, limits)
    });
    move |scores| paper_row.accepts(scores) || contained_row.is_some_and(|row| row.accepts(scores))
}

/// Returns the intervals of the estimates from two sketches. Returns `None` if the method has no
/// sketches, or if nothing was sampled.
pub(super) fn interval(
    params: &MethodParams,
    own: &MethodSignature,
    other: &MethodSignature,
) -> Option<MethodInterval> {
    let sample = match &params.scheme {
        Scheme::Shingle(shingles) => shingles.sample,
        Scheme::SuperShingle(supers) => supers.shingles.sample,
        _ => return None,
    };
    let estimates = estimates(sample, own, other, &[]).filter(|all| all.resemblance.samples > 0)?;
    let ends = |estimate: Estimate| {
        [estimate.low, estimate.high].map(|end| Fraction::from(Some(Score::new(end))))
    };
    let tells = params.tells(Measure::Containment).is_ok();
    let contained = |estimate: Option<Estimate>| estimate.filter(|_| tells).map(ends);
    Some(MethodInterval {
        resemblance: ends(estimates.resemblance),
        a_in_b: contained(estimates.a_in_b),
        b_in_a: contained(estimates.b_in_a),
    })
}

/// A content of the scope with its scores against the subject.
struct ContentScores {
    content: ContentRow,
    scores: PairScores,
    interval: Option<MethodInterval>,
}

impl ContentScores {
    /// Compares the signature of the subject with that of a content.
    fn of(
        params: &MethodParams,
        content: ContentRow,
        own: &MethodSignature,
        other: &MethodSignature,
    ) -> Self {
        Self {
            content,
            scores: PairScores::of(params, own, other),
            interval: interval(params, own, other),
        }
    }
}

/// The scores of all contents in the scope, and the files that could not be read.
type AllScores = (Vec<ContentScores>, Vec<SoftError>);

fn all_scores(context: &MethodContext<'_>, own: &MethodSignature) -> Result<AllScores, LabError> {
    if let Some(scores) = scores_by_arrays(context, own)? {
        return Ok(scores);
    }
    let signed = Signed::of(context, &mut context.cached())?;
    let all = signed.contents.into_iter().zip(&signed.signatures);
    let scores = all.map(|(row, signature)| ContentScores::of(context.params, row, own, signature));
    Ok((scores.collect(), signed.errors))
}

/// Computes the scores from the arrays of sorted5. A content in the arrays needs no signature.
/// Returns `None` if there are no arrays.
fn scores_by_arrays(
    context: &MethodContext<'_>,
    own: &MethodSignature,
) -> Result<Option<AllScores>, LabError> {
    let Some(arranged) = sorted::arranged(context, false)? else {
        return Ok(None);
    };
    let Some(common) = arranged.common(own)? else {
        return Ok(None);
    };
    let total = own.occurrences();
    let scores = arranged.documents.iter().map(|document| {
        let number = match &document.values {
            Values::Here(signature) => {
                return ContentScores::of(context.params, document.content, own, signature);
            }
            Values::Arrays(number) => number,
        };
        let overlap = Overlap {
            common: common.get(number).copied().unwrap_or(0),
            a: total,
            b: document.chunks,
        };
        ContentScores {
            content: document.content,
            scores: PairScores::of_overlap(overlap),
            interval: None,
        }
    });
    let scores = scores.collect();
    Ok(Some((scores, arranged.errors)))
}
