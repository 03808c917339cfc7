//! `find --method`: one file against all.

use crate::question::{MethodFind, MethodFindRow, MethodInterval, MethodRow, MethodScore};
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
use super::{Asked, Bar, Told};
use crate::error::LabError;

pub(super) fn find(
    asked: &Asked<'_>,
    question: &MethodFind,
    subject: Option<FileId>,
) -> Result<Answer<MethodRow>, LabError> {
    let threshold = asked.params.method().thresholds().find;
    let bar = Bar::new(threshold, MethodScore::Paper, question.bar);
    let (told, errors) = told(asked, &question.signature)?;
    let mut rows: Vec<(Told, MethodFindRow)> = Vec::new();
    for ToldOf {
        content,
        told,
        interval,
    } in &told
    {
        let identical = content.digest == question.content;
        if !identical && !bar.lets_through(told) {
            continue;
        }
        let holders = asked.members.holders(content.id);
        for member in holders.filter(|member| Some(member.file) != subject) {
            let row = MethodFindRow {
                file: question.name.clone(),
                path: PathText::from(member.path.as_path()),
                identical,
                layer: Layer::Bytes,
                a_in_b: told.a_in_b,
                b_in_a: told.b_in_a,
                resemblance: told.resemblance,
                shared_bytes: told.shared_bytes,
                interval: *interval,
                score: told.figure,
                size: content.size.0,
            };
            rows.push((*told, row));
        }
    }
    rows.sort_by(|a, b| {
        let paths = || a.1.path.as_bytes().cmp(b.1.path.as_bytes());
        a.0.compare(&b.0, MethodScore::Paper).then_with(paths)
    });
    let rows = rows.into_iter().map(|(_, row)| MethodRow::Find(row));
    let errors = asked.errors(errors);
    Ok(Answer::fresh(rows.collect(), errors).cut(question.bar.top))
}

/// Where the estimates of sketches lie; none of other methods, and where nothing was sampled.
fn interval(
    params: &MethodParams,
    own: &MethodSignature,
    other: &MethodSignature,
) -> Option<MethodInterval> {
    let sample = match &params.scheme {
        Scheme::Shingle(shingles) => shingles.sample,
        Scheme::SuperShingle(supers) => supers.shingles.sample,
        _ => return None,
    };
    let told = estimates(sample, own, other, &[]).filter(|told| told.resemblance.samples > 0)?;
    let ends = |estimate: Estimate| {
        [estimate.low, estimate.high].map(|end| Fraction::from(Some(Score::new(end))))
    };
    let tells = params.tells(Measure::Containment).is_ok();
    let contained = |estimate: Option<Estimate>| estimate.filter(|_| tells).map(ends);
    Some(MethodInterval {
        resemblance: ends(told.resemblance),
        a_in_b: contained(told.a_in_b),
        b_in_a: contained(told.b_in_a),
    })
}

/// What is told of a content.
struct ToldOf {
    content: ContentRow,
    told: Told,
    interval: Option<MethodInterval>,
}

impl ToldOf {
    /// By both signatures.
    fn of(
        params: &MethodParams,
        content: ContentRow,
        own: &MethodSignature,
        other: &MethodSignature,
    ) -> Self {
        Self {
            content,
            told: Told::of(params, own, other),
            interval: interval(params, own, other),
        }
    }
}

/// What is told of each content in the scope, and the files that could not be read.
type AllTold = (Vec<ToldOf>, Vec<SoftError>);

fn told(asked: &Asked<'_>, own: &MethodSignature) -> Result<AllTold, LabError> {
    if let Some(told) = told_by_arrays(asked, own)? {
        return Ok(told);
    }
    let signed = Signed::of(asked, &mut asked.cached())?;
    let all = signed.contents.into_iter().zip(&signed.signatures);
    let told = all.map(|(row, signature)| ToldOf::of(asked.params, row, own, signature));
    Ok((told.collect(), signed.errors))
}

/// Of sorted5: what the arrays have needs no signature. `None`: there are no arrays.
fn told_by_arrays(asked: &Asked<'_>, own: &MethodSignature) -> Result<Option<AllTold>, LabError> {
    let Some(arranged) = sorted::arranged(asked, false)? else {
        return Ok(None);
    };
    let Some(common) = arranged.common(own)? else {
        return Ok(None);
    };
    let total = own.occurrences();
    let told = arranged.documents.iter().map(|document| {
        let number = match &document.values {
            Values::Here(signature) => {
                return ToldOf::of(asked.params, document.content, own, signature);
            }
            Values::Arrays(number) => number,
        };
        let overlap = Overlap {
            common: common.get(number).copied().unwrap_or(0),
            a: total,
            b: document.chunks,
        };
        ToldOf {
            content: document.content,
            told: Told::of_overlap(overlap),
            interval: None,
        }
    });
    let told = told.collect();
    Ok(Some((told, arranged.errors)))
}
