//! `find --method`: one file against all.

use resemble_core::{FileId, Relation, Score};
use resemble_index::ContentRow;
use resemble_methods::judged::Overlap;
use resemble_methods::shingle::{Estimate, estimates};
use resemble_methods::{Measure, MethodParams, MethodSignature, Scheme};
use resemble_proto::catalogued;
use resemble_proto::message::{
    Answer, Layer, MethodFind, MethodFindRow, MethodInterval, MethodRow, MethodScore, SoftError,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

use super::signed::Signed;
use super::sorted::{self, Values};
use super::{Asked, Bar, MethodError, Told};
use crate::ask::AskError;

pub(super) fn find(
    asked: &Asked<'_>,
    question: &MethodFind,
    subject: Option<FileId>,
) -> Result<Answer<MethodRow>, AskError> {
    let recorded = question.recorded.as_ref();
    let (own, digest, subject) = if let Some(place) = recorded {
        let (file, row, own) = self::recorded(asked, place)?;
        (own, row.digest.to_string(), Some(file))
    } else {
        let own = decode(&question.signature)?;
        (own, question.content.clone(), subject)
    };
    let threshold = asked.params.method().thresholds().find;
    let bar = Bar::new(threshold, MethodScore::Paper, question.bar);
    let (told, errors) = told(asked, &own)?;
    let mut rows: Vec<(Told, MethodFindRow)> = Vec::new();
    for ToldOf {
        content,
        told,
        interval,
    } in &told
    {
        let identical = content.digest.to_string() == digest;
        if !identical && !bar.lets_through(told) {
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

fn told(asked: &Asked<'_>, own: &MethodSignature) -> Result<AllTold, AskError> {
    if let Some(told) = told_by_arrays(asked, own)? {
        return Ok(told);
    }
    let signed = Signed::of(asked, &mut asked.kept())?;
    let all = signed.contents.into_iter().zip(&signed.signatures);
    let told = all.map(|(row, signature)| ToldOf::of(asked.params, row, own, signature));
    Ok((told.collect(), signed.errors))
}

/// Of sorted5: what the arrays have needs no signature. `None`: there are no arrays.
fn told_by_arrays(asked: &Asked<'_>, own: &MethodSignature) -> Result<Option<AllTold>, AskError> {
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

/// A subject that only a catalogue has, by the signature that it carries.
fn recorded(
    asked: &Asked<'_>,
    place: &PathText,
) -> Result<(FileId, ContentRow, MethodSignature), AskError> {
    let path = place.as_path();
    super::check_catalogue(asked.snapshot, path, asked.params)?;
    let missing = |why: &'static str| AskError::Unreadable {
        path: catalogued::shown(path).unwrap_or_else(|| path.to_owned()),
        source: std::io::Error::other(why),
    };
    let file = asked.snapshot.file_at(path)?;
    let file = file.ok_or_else(|| missing("is no file of the catalogue"))?;
    let content = file.state.content().map(|id| asked.snapshot.content(id));
    let row = content.transpose()?.flatten();
    let row = row.ok_or_else(|| missing("could not be read when the catalogue was made"))?;
    let signed = Signed::of_rows(asked, &mut asked.kept(), vec![row])?;
    let own = signed.signatures.into_iter().next();
    let own = own.ok_or_else(|| missing("has no signature in the catalogue"))?;
    Ok((file.id, row, own))
}

/// The signature that a request carries.
fn decode(base64: &str) -> Result<MethodSignature, MethodError> {
    use base64::Engine as _;
    let bytes = base64::engine::general_purpose::STANDARD
        .decode(base64)
        .map_err(|_| MethodError::Question("the signature of the asked file is not base64"))?;
    Ok(MethodSignature::decode(&bytes)?)
}
