//! `templates mark`: from the members of a cluster to a template.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use resemble_core::similarity::{Sketch, Template, Templates};
use resemble_core::{ByteLen, ContentId, Score};
use resemble_index::Snapshot;
use resemble_proto::message::{GroupsRequest, MarkRequest, TemplateRow};
use resemble_proto::number::Fraction;
use resemble_scan::parts::PartReader;

use super::file::{TemplateError, TemplateRecord};
use super::store::Store;
use crate::groups;
use crate::nominate::evidence::Kept;

/// [`mark_with_parts`], without a reader of documents.
pub fn mark(
    snapshot: &Snapshot,
    store: &Store,
    request: &MarkRequest,
    scratch: &Path,
) -> Result<TemplateRow, TemplateError> {
    mark_with_parts((snapshot, None), store, request, scratch)
}

/// Records what the files of the request have in common as a template of `store`. A content that
/// several files have counts once. `scratch` and the reader of documents as in
/// [`groups::groups_with_parts`]: a cluster is known by what it was shown with.
pub fn mark_with_parts(
    (snapshot, part_reader): (&Snapshot, Option<&dyn PartReader>),
    store: &Store,
    request: &MarkRequest,
    scratch: &Path,
) -> Result<TemplateRow, TemplateError> {
    let mut files: Vec<PathBuf> = request
        .files
        .iter()
        .map(|file| file.as_path().to_owned())
        .collect();
    if let Some(id) = &request.cluster {
        files.extend(members((snapshot, part_reader), request, id, scratch)?);
    }
    let kept = kept(snapshot, &files)?;
    let sketches: Vec<Sketch<'_>> = kept.iter().map(Kept::sketch).collect();
    if sketches.is_empty() {
        return Err(TemplateError::NoFiles);
    }
    let share = request.share.score().unwrap_or(Score::ONE);
    let pieces = Template::common(&sketches, share.get());
    if pieces.is_empty() {
        return Err(TemplateError::Nothing {
            files: sketches.len(),
        });
    }
    store.add(TemplateRecord {
        name: request.name.clone(),
        params: store.params().to_owned(),
        files: sketches.len() as u64,
        share: Fraction::from(share),
        taken: taken(&pieces, &kept),
        pieces,
    })
}

/// The paths of a cluster's members.
fn members(
    (snapshot, part_reader): (&Snapshot, Option<&dyn PartReader>),
    request: &MarkRequest,
    id: &str,
    scratch: &Path,
) -> Result<Vec<PathBuf>, TemplateError> {
    let groups = groups::groups_with_parts(
        snapshot,
        &GroupsRequest {
            scope: request.scope.clone(),
            ..GroupsRequest::default()
        },
        part_reader,
        scratch,
    )?;
    let cluster = groups
        .body
        .clusters
        .into_iter()
        .find(|cluster| cluster.id == id)
        .ok_or_else(|| TemplateError::NoCluster(id.to_owned()))?;
    let paths = cluster.members.into_iter();
    Ok(paths
        .map(|member| member.path.as_path().to_owned())
        .collect())
}

/// What is kept of the distinct contents of these files.
fn kept(snapshot: &Snapshot, files: &[PathBuf]) -> Result<Vec<Kept>, TemplateError> {
    let mut contents: BTreeSet<ContentId> = BTreeSet::new();
    for path in files {
        let row = snapshot.file_at(path)?;
        let content = row.and_then(|row| row.state.content());
        contents.insert(content.ok_or_else(|| TemplateError::NotIndexed(path.clone()))?);
    }
    let mut kept = Vec::with_capacity(contents.len());
    for content in contents {
        if let Some(row) = snapshot.content(content)? {
            kept.push(Kept::of(snapshot, &row)?);
        }
    }
    Ok(kept)
}

/// The share of the contents' bytes that the template takes out.
fn taken(pieces: &Template, kept: &[Kept]) -> Fraction {
    let mut templates = Templates::default();
    templates.add(pieces);
    let (mut all, mut left) = (ByteLen::ZERO, ByteLen::ZERO);
    for one in kept {
        let (mut chunks, mut signature) = (one.chunks.clone(), one.signature.clone());
        all += one.whole;
        left += templates.strip(one.size, &mut chunks, &mut signature);
    }
    let before: ByteLen = kept.iter().map(|one| one.size).sum();
    Fraction::from(Score::new((before - left).0 as f64 / all.0.max(1) as f64))
}
