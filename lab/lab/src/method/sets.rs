//! Collects the rows from which groups are made: the files, and the collated sets (for sif) or the
//! similar pairs (for other methods).
//!
//! The caller makes the groups ([`super::clusters`]). So another rule or another threshold of sif
//! does not need a second question. The sets are cached. Their key is made from the ids of all
//! files' contents, in the order of the paths. If this key changes, the sets are made again from
//! signatures, which are cached, too.

use std::collections::HashMap;

use crate::question::{
    MethodCommonRow, MethodFileRow, MethodLimits, MethodLinkRow, MethodRow, MethodScore,
};
use resemble_core::hash::content::digest;
use resemble_core::{ContentId, ContentKind};
use resemble_methods::Method;
use resemble_methods::collate::{Collated, Collator};
use resemble_proto::message::{Answer, SoftError};
use resemble_relate::scope::ScopedFile;

use super::signed::Signed;
use super::{MethodContext, pairs};
use crate::error::LabError;

pub(super) fn groups(
    context: &MethodContext<'_>,
    limits: MethodLimits,
) -> Result<Answer<MethodRow>, LabError> {
    let mut kinds: HashMap<ContentId, ContentKind> = HashMap::new();
    for content in context.scoped.contents() {
        if let Some(row) = context.snapshot.content(content)? {
            kinds.insert(content, row.kind);
        }
    }
    let files: Vec<&ScopedFile> = context
        .scoped
        .files
        .iter()
        .filter(|file| {
            let kind = kinds.get(&file.content);
            kind.is_some_and(|&kind| kind != ContentKind::Empty)
        })
        .collect();
    let mut rows: Vec<MethodRow> = files
        .iter()
        .map(|file| {
            MethodRow::File(MethodFileRow {
                path: file.path.clone(),
                size: file.size.0,
                text: kinds.get(&file.content) == Some(&ContentKind::Text),
            })
        })
        .collect();
    let errors = match context.params.method() {
        Method::Sif | Method::SifAnchors => {
            let (sets, errors) = collated(context, &files)?;
            rows.push(MethodRow::Sets(sets));
            errors
        }
        _ => {
            let (pairs, errors) = pairs::rows(context, MethodScore::Paper, limits, false)?;
            rows.extend(pairs.into_iter().map(MethodRow::Pair));
            errors
        }
    };
    Ok(Answer::fresh(rows, context.errors(errors)))
}

/// Returns the collated sets of these files, and the files that could not be read, which are in no
/// set.
fn collated(
    context: &MethodContext<'_>,
    files: &[&ScopedFile],
) -> Result<(Collated, Vec<SoftError>), LabError> {
    let ids: Vec<u8> = files
        .iter()
        .flat_map(|file| file.content.0.to_le_bytes())
        .collect();
    let key = digest(&ids).0;
    let mut cached = context.cached();
    // If the cached sets are damaged, they are replaced by new ones.
    let known = cached.recall_sets(&key)?;
    if let Some(Ok(sets)) = known.map(|sets| Collated::decode(&sets)) {
        return Ok((sets, Vec::new()));
    }
    let signed = Signed::of(context, &mut cached)?;
    let of: HashMap<ContentId, usize> = (0..)
        .zip(&signed.contents)
        .map(|(at, row)| (row.id, at))
        .collect();
    let mut collator = Collator::default();
    for file in files {
        let signature = of.get(&file.content).map(|&at| &signed.signatures[at]);
        collator.add(
            signature
                .map(resemble_methods::MethodSignature::keys)
                .unwrap_or_default(),
        );
    }
    let sets = collator.finish();
    if signed.settled {
        cached.store_sets(&key, &sets.encode());
    }
    Ok((sets, signed.errors))
}

/// The answer from which the groups are made.
#[derive(Clone, Debug, Default)]
pub struct GroupsAnswer {
    /// The files, in the order of their paths.
    pub files: Vec<MethodFileRow>,
    /// For sif, the sets of files that have fingerprints in common. Files are indices of `files`.
    pub sets: Option<Collated>,
    /// For other methods, the similar pairs of files.
    pub pairs: Vec<crate::question::MethodPairRow>,
    /// For clusters that are computed on disk, the lists of files that have equal sketches. Files
    /// are indices of `files`.
    pub same: Vec<Vec<u32>>,
    /// For clusters that are computed on disk, links between files. A linked file represents all
    /// files with its sketch.
    pub links: Vec<MethodLinkRow>,
    /// For clusters that are computed on disk, the most frequent of the ignored shingles.
    pub common: Vec<MethodCommonRow>,
}

impl GroupsAnswer {
    /// Collects the rows of an answer by their kind.
    pub fn of_rows(rows: Vec<MethodRow>) -> Self {
        let mut grouping = Self::default();
        for row in rows {
            match row {
                MethodRow::File(file) => grouping.files.push(file),
                MethodRow::Pair(pair) => grouping.pairs.push(pair),
                MethodRow::Sets(sets) => grouping.sets = Some(sets),
                MethodRow::Same(files) => grouping.same.push(files),
                MethodRow::Link(link) => grouping.links.push(link),
                MethodRow::Common(common) => grouping.common.push(common),
                MethodRow::Find(_) | MethodRow::Text(_) => {}
            }
        }
        grouping
    }
}
