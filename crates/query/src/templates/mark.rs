//! `templates mark`: makes a template of the members of a cluster.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use resemble_core::similarity::{CommonShingles, Sketch, Template, Templates};
use resemble_core::{ByteLen, ContentDigest, ContentId, ContentKind, Score};
use resemble_index::Snapshot;
use resemble_proto::message::{GroupsRequest, MarkRequest, TemplateRow};
use resemble_proto::number::Fraction;
use resemble_relate::AskError;
use resemble_relate::nominate::evidence::StoredSketch;
use resemble_relate::prove::read::{LARGEST_READ, bytes_if};
use resemble_scan::parts::PartReader;

use super::file::{TemplateError, TemplateRecord};
use super::store::Store;
use crate::groups;

/// Stores in `store`, as a template, the content that the request's files have in common. Files
/// with the same content count once. `scratch` and the document reader must be the same as for
/// [`groups::groups_with_parts`]. Only then does the id of a cluster lead to the cluster that was
/// shown.
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
    let marked = marked(snapshot, &files)?;
    let sketches: Vec<Sketch<'_>> = marked.iter().map(|one| one.kept.sketch()).collect();
    if sketches.is_empty() {
        return Err(TemplateError::NoFiles);
    }
    let share = request.share.score().unwrap_or(Score::ONE);
    let mut common = CommonShingles::new(marked.len(), share.get());
    for one in &marked {
        snapshot.stop().go_on().map_err(AskError::from)?;
        common.add(one.text().as_deref());
    }
    let mut shingles = common.found();
    shingles.retain(|&shingle| !snapshot.templates().shingles().has(shingle));
    let pieces = Template {
        shingles,
        ..Template::common(&sketches, share.get())
    };
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
        taken: taken(snapshot, &pieces, &marked),
        pieces,
    })
}

/// Returns the paths of a cluster's members.
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
        groups::KnownPairs::None,
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

/// A content from which a template is made.
struct MarkedContent<'f> {
    kept: StoredSketch,
    digest: ContentDigest,
    /// A file with the content.
    path: &'f Path,
}

impl MarkedContent<'_> {
    /// Returns the bytes of the content, if it is a text, and if its file can be read and still has
    /// this content.
    fn text(&self) -> Option<Vec<u8>> {
        let is_read = self.kept.kind == ContentKind::Text && self.kept.whole <= LARGEST_READ;
        let read = is_read.then(|| bytes_if(self.path, &self.digest));
        read.and_then(Result::ok).flatten()
    }
}

/// Returns the distinct contents of these files.
fn marked<'f>(
    snapshot: &Snapshot,
    files: &'f [PathBuf],
) -> Result<Vec<MarkedContent<'f>>, TemplateError> {
    let mut contents: BTreeMap<ContentId, &Path> = BTreeMap::new();
    for path in files {
        let row = snapshot.file_at(path)?;
        let content = row.and_then(|row| row.state.content());
        let content = content.ok_or_else(|| TemplateError::NotIndexed(path.clone()))?;
        contents.entry(content).or_insert(path);
    }
    let mut marked = Vec::with_capacity(contents.len());
    for (content, path) in contents {
        if let Some(row) = snapshot.content(content)? {
            marked.push(MarkedContent {
                kept: StoredSketch::of(snapshot, &row)?,
                digest: row.digest,
                path,
            });
        }
    }
    Ok(marked)
}

/// Returns the share of the contents' bytes that this template removes in addition to earlier
/// templates. If the template has shingles, the bytes of a readable text are counted exactly.
fn taken(snapshot: &Snapshot, pieces: &Template, marked: &[MarkedContent<'_>]) -> Fraction {
    let before = snapshot.templates();
    let mut alone = Templates::new(snapshot.params());
    alone.add(pieces);
    let mut with = (**before).clone();
    with.add(pieces);
    let (mut all, mut out) = (ByteLen::ZERO, ByteLen::ZERO);
    for one in marked {
        all += one.kept.whole;
        let text = (!pieces.shingles.is_empty()).then(|| one.text()).flatten();
        out += if let Some(text) = text {
            let left = |templates: &Templates| ByteLen(templates.payload(&text).len() as u64);
            left(before) - left(&with)
        } else {
            let kept = &one.kept;
            let (mut chunks, mut signature) = (kept.chunks.clone(), kept.signature.clone());
            kept.size - alone.strip(kept.size, &mut chunks, &mut signature)
        };
    }
    Fraction::from(Score::new(out.0 as f64 / all.0.max(1) as f64))
}
