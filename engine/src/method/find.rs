//! `find --method`: one file against all.

use resemble_core::signature::shingle::{Estimate, estimates};
use resemble_core::signature::{Measure, MethodParams, MethodSignature, Scheme};
use resemble_core::{FileId, Relation, Score};
use resemble_proto::message::{
    Answer, Layer, MethodFind, MethodFindRow, MethodInterval, MethodRow, MethodScore,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

use super::signed::Signed;
use super::{Asked, Bar, MethodError, Told};
use crate::ask::AskError;

pub(super) fn find(
    asked: &Asked<'_>,
    question: &MethodFind,
    subject: Option<FileId>,
) -> Result<Answer<MethodRow>, AskError> {
    let own = decode(&question.signature)?;
    let threshold = asked.params.method().thresholds().find;
    let bar = Bar::new(threshold, MethodScore::Paper, question.bar);
    let signed = Signed::of(asked)?;
    let mut rows: Vec<(Told, MethodFindRow)> = Vec::new();
    for (content, signature) in signed.contents.iter().zip(&signed.signatures) {
        let told = Told::of(asked.params, &own, signature);
        let identical = content.digest.to_string() == question.content;
        if !identical && !bar.lets_through(&told) {
            continue;
        }
        let holders = asked.members.holders(content.id);
        for member in holders.filter(|member| Some(member.file) != subject) {
            let row = MethodFindRow {
                file: question.name.clone(),
                path: PathText::from(member.path.as_path()),
                relation: identical.then_some(Relation::Identical),
                layer: Layer::Bytes,
                a_in_b: told.a_in_b,
                b_in_a: told.b_in_a,
                resemblance: told.resemblance,
                shared_bytes: told.shared_bytes,
                interval: interval(asked.params, &own, signature),
                score: told.figure,
                size: content.size.0,
            };
            rows.push((told, row));
        }
    }
    rows.sort_by(|a, b| {
        let paths = || a.1.path.as_bytes().cmp(b.1.path.as_bytes());
        a.0.compare(&b.0, MethodScore::Paper).then_with(paths)
    });
    let rows = rows.into_iter().map(|(_, row)| MethodRow::Find(row));
    let errors = asked.errors(signed.errors);
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

/// The signature that a request carries.
fn decode(base64: &str) -> Result<MethodSignature, MethodError> {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(base64)
        .map_err(|_| MethodError::Question("the signature of the asked file is not base64"))?;
    Ok(MethodSignature::decode(&bytes)?)
}
