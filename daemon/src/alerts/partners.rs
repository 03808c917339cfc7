//! Finds the partners of an alert, which are the files that the changed file resembles. If the
//! changed file is an archive, also finds the contents of its members.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_core::{ByteLen, ContentId, FileId, Relation, Score};
use resemble_index::{ContentRow, PartRole, ReadError, Snapshot};
use resemble_proto::catalogued::is_catalogued;
use resemble_proto::message::AlertRules;
use resemble_proto::number::Fraction;
use resemble_query::find::Similar;
use resemble_relate::AskError;
use resemble_scan::parts::PartReader;

use crate::questions::similar;

/// The size below which a file raises no alert, unless its root sets another size.
pub const LEAST_SIZE: ByteLen = ByteLen(AlertRules::USUAL_SIZE);
/// The maximum number of members of an archive or mail that are compared.
const MOST_MEMBERS: usize = 64;

/// A file that resembles the changed one.
#[derive(Clone, Debug, PartialEq)]
pub struct Partner {
    /// The path of the file.
    pub path: PathBuf,
    /// The relation of the two files.
    pub relation: Relation,
    /// The share of the changed file that is also in this file; `None` if it was not measured.
    pub a_in_b: Option<Score>,
    /// The share of this file that is also in the changed file; `None` if it was not measured.
    pub b_in_a: Option<Score>,
    /// The number of bytes of the smaller file that the other file has, too.
    pub shared_bytes: ByteLen,
}

/// Finds the files that resemble the file at `path` closely enough for an alert, best first.
/// `part_reader` extracts the texts of documents again, so that the shares are measured and not
/// estimated. Files inside archives are left out, because it is no news that an unpacked file is
/// also in its archive.
pub(crate) fn alike(
    snapshot: &Snapshot,
    path: &Path,
    part_reader: Option<&Arc<dyn PartReader>>,
    least: Fraction,
) -> Result<Vec<Partner>, AskError> {
    let similar = files_like(snapshot, path, part_reader)?;
    let similar = similar.filter(|similar| is_alike(similar, least));
    let partners = similar.map(|similar| Partner {
        path: similar.path,
        relation: similar.relation.unwrap_or(Relation::Shares),
        a_in_b: similar.measures.a_in_b,
        b_in_a: similar.measures.b_in_a,
        shared_bytes: similar.measures.shared_bytes,
    });
    Ok(partners.collect())
}

/// Finds the files that the file at `path` may have resembled before its change, closely enough for
/// an alert. The earlier content can no longer be read. So if the share of a pair was not measured
/// before the change, it is estimated. The pair counts if the upper end of the estimate is large
/// enough.
pub(super) fn alike_before(
    snapshot: &Snapshot,
    path: &Path,
    least: Fraction,
) -> Result<Vec<PathBuf>, AskError> {
    let may_be_enough = |similar: &Similar| {
        let most = similar.interval.and_then(|interval| interval.most());
        is_enough(similar, most.or(similar.measures.containment()), least)
    };
    let similar = files_like(snapshot, path, None)?.filter(may_be_enough);
    Ok(similar.map(|similar| similar.path).collect())
}

fn files_like(
    snapshot: &Snapshot,
    path: &Path,
    part_reader: Option<&Arc<dyn PartReader>>,
) -> Result<impl Iterator<Item = Similar>, AskError> {
    let (similar, _) = similar(snapshot, path, part_reader)?;
    let files = similar.into_iter();
    Ok(files.filter(|similar| similar.names.is_empty()))
}

/// Returns whether a file resembles another closely enough for an alert.
pub(super) fn is_alike(similar: &Similar, least: Fraction) -> bool {
    is_enough(similar, similar.measures.containment(), least)
}

/// Returns whether a share of the smaller file is large enough for an alert. Text that many files
/// have is discounted first.
fn is_enough(similar: &Similar, share: Option<Score>, least: Fraction) -> bool {
    let rare = |share| match similar.rarity {
        Some(rarity) => rarity.discounted(share),
        None => share,
    };
    share.map(rare).is_some_and(|share| least.accepts(share))
}

/// Returns the watched files that have a content, each with its first path in sorted order. Files
/// of catalogues are left out.
pub(crate) fn holders(
    snapshot: &Snapshot,
    content: ContentId,
) -> Result<Vec<(PathBuf, FileId)>, ReadError> {
    let mut holders = Vec::new();
    for file in snapshot.files_of(content)? {
        let mut paths = snapshot.paths(file)?.into_iter();
        let first = paths.find(|path| !is_catalogued(path));
        holders.extend(first.map(|path| (path, file)));
    }
    Ok(holders)
}

/// Returns the contents and sizes of the first [`MOST_MEMBERS`] members of an archive or a mail.
/// Those smaller than [`LEAST_SIZE`] are left out.
pub(super) fn members(
    snapshot: &Snapshot,
    content: ContentId,
) -> Result<Vec<(ContentId, ByteLen)>, ReadError> {
    if snapshot.content(content)?.is_none_or(|row| row.parts == 0) {
        return Ok(Vec::new());
    }
    let parts = snapshot.parts(content)?.into_iter();
    let members = parts.filter(|part| part.role == PartRole::Member);
    let mut found = Vec::new();
    for member in members.filter_map(|part| part.content).take(MOST_MEMBERS) {
        let row = snapshot.content(member)?;
        found.extend(
            row.filter(|row| row.size >= LEAST_SIZE)
                .map(|row| (member, row.size)),
        );
    }
    Ok(found)
}

/// A file whose content has changed, with the snapshots before and after the change.
pub(super) struct ChangedFile<'a> {
    pub(super) before: &'a Snapshot,
    pub(super) after: &'a Snapshot,
    pub(super) path: &'a Path,
    pub(super) file: FileId,
    /// The content of the file before the change. `now` is the content after the change.
    pub(super) was: ContentRow,
    pub(super) now: ContentRow,
}

impl<'a> ChangedFile<'a> {
    /// Returns the changed file at a path; `None` if it has no content now, or had none before.
    pub(super) fn at(
        before: &'a Snapshot,
        after: &'a Snapshot,
        path: &'a Path,
    ) -> Result<Option<Self>, ReadError> {
        let (Some(was), Some(file)) = (content_at(before, path)?, after.file_at(path)?) else {
            return Ok(None);
        };
        let Some(now) = file.state.content() else {
            return Ok(None);
        };
        let rows = before.content(was)?.zip(after.content(now)?);
        Ok(rows.map(|(was, now)| Self {
            before,
            after,
            path,
            file: file.id,
            was,
            now,
        }))
    }
}

/// Returns the content of the file at a path, if it has one.
pub(crate) fn content_at(snapshot: &Snapshot, path: &Path) -> Result<Option<ContentId>, ReadError> {
    let file = snapshot.file_at(path)?;
    Ok(file.and_then(|file| file.state.content()))
}
