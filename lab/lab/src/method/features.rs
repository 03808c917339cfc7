//! `pairs --features`: sets of features that another program made, compared like the signatures of
//! files.
//!
//! [`resemble_methods::lines`] says what a line is and what a feature is.

use crate::question::{MethodLimits, MethodPairRow, MethodScore};
use resemble_methods::lines::NamedFeatures;
use resemble_methods::select::select;
use resemble_methods::{MethodParams, MethodSignature};
use resemble_proto::path::PathText;

use super::all_pairs::all_pairs;
use super::pairs::{named, sort};
use super::{RowThreshold, check_score};
use crate::error::{LabError, MethodError};

/// The pairs of sets within the limits, best first; `top` is left to the caller. Two sets of the
/// same features are compared like any others, because nothing is known about their bytes.
///
/// # Errors
///
/// If the method does not have this score.
pub fn pairs(
    params: &MethodParams,
    sets: &[NamedFeatures],
    score: MethodScore,
    limits: MethodLimits,
) -> Result<Vec<MethodPairRow>, LabError> {
    check_score(params, score).map_err(MethodError::from)?;
    let signatures: Vec<MethodSignature> = sets
        .iter()
        .map(|set| select(params, &set.features))
        .collect();
    let threshold = RowThreshold::new(params.method().thresholds().pairs, score, limits);
    let found = all_pairs(params, &signatures, &threshold)?;
    let name = |at: usize| PathText::from_bytes(sets[at].name.clone());
    let mut rows: Vec<_> = found
        .iter()
        .map(|pair| named((name(pair.a), name(pair.b)), pair.scores, score, false))
        .collect();
    sort(&mut rows, score);
    Ok(rows.into_iter().map(|(_, row)| row).collect())
}
