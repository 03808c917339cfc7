//! Near copies of what is missing.
//!
//! They are what the index knows: of a file that it has not read, or not since it changed, nothing
//! is said here. None of them makes a file safe.

use std::path::Path;

use resemble_core::similarity::too_small;
use resemble_core::{Relation, Score};
use resemble_index::Snapshot;
use resemble_proto::message::{NearRow, Scope};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

use super::each;
use super::entries::{Listed, Listing};
use super::equals::Outside;
use crate::ask::AskError;
use crate::find::{Similar, Subject, among};
use crate::scope::ScopedFiles;

/// The row of each file that has a quarter of its bytes in a file under a root: with the file that
/// has most of them.
pub(super) fn rows(
    snapshot: &Snapshot,
    listing: &Listing,
    outside: &Outside<'_>,
    lost: &[&Listed],
) -> Result<Vec<NearRow>, AskError> {
    let lost: Vec<&Listed> = lost
        .iter()
        .copied()
        .filter(|file| !too_small(resemble_core::ByteLen(file.stat.size)))
        .collect();
    if lost.is_empty() || outside.roots.is_empty() {
        return Ok(Vec::new());
    }
    let within = outside.roots.iter().map(|root| PathText::from(root.path()));
    let scope = Scope {
        within: within.collect(),
        ..Scope::default()
    };
    let mut scoped = ScopedFiles::of(snapshot, &scope)?;
    scoped.retain(|path| !path.starts_with(&listing.dir));
    let found = each(&lost, snapshot.stop(), |_, file, _| {
        let similar = nearest(snapshot, file, &scoped)?;
        Ok::<_, AskError>(similar.map(|similar| row(&file.path, &similar)))
    })?;
    // The files are in the order of their paths.
    Ok(found.into_iter().flatten().collect())
}

/// The file that most of this one lies in.
fn nearest(
    snapshot: &Snapshot,
    file: &Listed,
    scoped: &ScopedFiles,
) -> Result<Option<Similar>, AskError> {
    let known = snapshot.file_at(&file.path)?;
    if known.is_none_or(|row| !file.is_as(&row.stat)) {
        return Ok(None);
    }
    let Some(subject) = Subject::remembered(snapshot, &file.path)? else {
        return Ok(None);
    };
    let share = |similar: &Similar| similar.measures.a_in_b.unwrap_or(Score::ZERO);
    let mut best: Option<Similar> = None;
    for similar in among(snapshot, &subject, scoped)? {
        // Files that the index takes for identical have been compared already.
        let counts = similar.relation != Some(Relation::Identical)
            && share(&similar).get() >= Relation::PARTLY;
        if counts
            && best
                .as_ref()
                .is_none_or(|best| share(&similar) > share(best))
        {
            best = Some(similar);
        }
    }
    Ok(best)
}

fn row(path: &Path, similar: &Similar) -> NearRow {
    NearRow {
        path: PathText::from(path),
        by: PathText::from(similar.path.as_path()),
        a_in_b: Fraction::from(similar.measures.a_in_b),
        b_in_a: Fraction::from(similar.measures.b_in_a),
        shared_bytes: similar.measures.shared_bytes.0,
    }
}
