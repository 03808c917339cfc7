//! `groups` with the methods `shingle` and `super-shingle`: runs the four phases of
//! [`crate::phases`] on the files of a question.
//!
//! 1. **The work folder** is beside the index and is kept. Each set of roots with a plan has its
//!    own folder. A question with another threshold, or with containment, repeats only phase 4.
//!    After changes, only new contents are sketched and merged. If a content is gone, everything is
//!    merged again, from signatures that are cached in the index. Only one question at a time uses
//!    a folder.
//! 2. **Damage only costs time.** Files that are damaged, or that a killed process left, are
//!    replaced by new ones. (In a folder that the user named, damage is an error.)
//! 3. **A file that has just changed** is sketched in its new state. The index does not have that
//!    state, so the results in the work folder are removed after the question.
//! 4. **A content takes only a few bytes of memory**, because there may be millions of them.
//!    Contents are numbered by their ids, and classes are lists of numbers.
//! 5. **The answer** does not contain the numbers of the phases. It lists the files by path, the
//!    files with equal sketches, the links between classes, and the most frequent ignored shingles.
//!    A link names each class by one of its files, the one whose path sorts first.

use std::fs;
use std::path::{Path, PathBuf};

use crate::figure::Figure;
use crate::question::{MethodClusters, MethodCommonRow, MethodFileRow, MethodLinkRow, MethodRow};
use resemble_core::hash::content::digest;
use resemble_core::{ContentDigest, ContentId, ContentKind};
use resemble_methods::{Scheme, shingle};
use resemble_proto::message::{Answer, SoftError};

use super::MethodContext;
use super::signed::Signed;
use crate::error::{LabError, PhaseError};
use crate::locked::{LockedFolder, forget_oldest};
use crate::phases::{ClusterBatch, ClusterPlan, MEMORY, PhaseResults, Policy, SketchedDocument};
use resemble_relate::bytes_of;
use resemble_relate::scope::ScopedFile;
use tempfile::TempDir;

/// The value for a missing number. A content has this value if the results have no document for it.
/// A class has this value if none of its files was found.
const NONE: u32 = u32::MAX;

/// The maximum number of work folders that are kept.
const MOST_FOLDERS: usize = 4;

/// The number of ignored shingles that an answer lists.
const COMMONEST: usize = 10;

pub(super) fn clusters(
    context: &MethodContext<'_>,
    question: &MethodClusters,
) -> Result<Answer<MethodRow>, LabError> {
    let common = question.common.unwrap_or(crate::phases::COMMON);
    let plan = ClusterPlan {
        common: (common > 0).then_some(common),
        memory: question.memory.unwrap_or(MEMORY),
        ..ClusterPlan::new(context.params.clone())
    };
    let thresholds = context.params.method().thresholds();
    let least = match thresholds.groups {
        resemble_methods::Threshold::Score(least) => least,
        resemble_methods::Threshold::SharedBytes(_) => 0.0,
    };
    let policy = Policy {
        resemblance: question.min.value().unwrap_or(least),
        containment: question.contained.value(),
        every: question.every,
    };
    let contents = ScopedContents::of(context)?;
    let work = WorkFolder::open(context, question, &plan)?;
    let mut errors = Vec::new();
    let made = settle(context, &work.path, &plan, &contents, &mut errors);
    let (results, is_settled) = match made {
        Err(LabError::Phase(PhaseError::Damaged { path, what })) if !work.is_named => {
            tracing::info!(path = %path.display(), what, "clusters are made again");
            ClusterBatch::forget(&work.path)?;
            errors.clear();
            settle(context, &work.path, &plan, &contents, &mut errors)?
        }
        made => made?,
    };
    let answer = answer(context, &results, &policy, &contents)?;
    if !is_settled {
        ClusterBatch::forget(&work.path)?;
    }
    Ok(Answer::fresh(answer, context.errors(errors)))
}

/// The contents of the question's scope, in the order of their ids.
struct ScopedContents {
    /// The contents, without empty ones.
    all: Vec<ScopedContent>,
    /// The indices of `all`, in the order of the contents' digests.
    by_digest: Vec<u32>,
}

struct ScopedContent {
    id: ContentId,
    digest: ContentDigest,
    is_text: bool,
}

impl ScopedContents {
    fn of(context: &MethodContext<'_>) -> Result<Self, LabError> {
        let ids = context.scoped.contents();
        let mut all = Vec::with_capacity(ids.len());
        for id in ids {
            let row = context.snapshot.content(id)?;
            all.extend(row.filter(|row| row.size.0 > 0).map(|row| ScopedContent {
                id,
                digest: row.digest,
                is_text: row.kind == ContentKind::Text,
            }));
        }
        let mut by_digest: Vec<u32> = (0..all.len() as u32).collect();
        by_digest.sort_unstable_by_key(|&place| &all[place as usize].digest);
        Ok(Self { all, by_digest })
    }

    /// Returns the index of a content in `all`.
    fn at(&self, id: ContentId) -> Option<usize> {
        self.all
            .binary_search_by_key(&id, |content| content.id)
            .ok()
    }

    /// Returns the number of each content's document, or [`NONE`] for a content without a document.
    /// Returns `None` if the scope lacks the content of a document.
    fn numbers(&self, documents: &[ContentDigest]) -> Option<Vec<u32>> {
        let mut numbers = vec![NONE; self.all.len()];
        for (number, digest) in (0u32..).zip(documents) {
            let digest_of = |&place: &u32| &self.all[place as usize].digest;
            let at = self.by_digest.binary_search_by_key(&digest, digest_of);
            numbers[self.by_digest[at.ok()?] as usize] = number;
        }
        Some(numbers)
    }
}

/// Updates the results in the work folder for these contents. Also returns whether the results are
/// allowed to stay there.
fn settle(
    context: &MethodContext<'_>,
    folder: &Path,
    plan: &ClusterPlan,
    contents: &ScopedContents,
    errors: &mut Vec<SoftError>,
) -> Result<(PhaseResults, bool), LabError> {
    let documents = ClusterBatch::digests(folder, plan)?;
    let numbers = documents.and_then(|documents| contents.numbers(&documents));
    let has_results = numbers.is_some();
    if !has_results {
        ClusterBatch::forget(folder)?;
    }
    let numbers = numbers.unwrap_or_else(|| vec![NONE; contents.all.len()]);
    let all = contents.all.iter().zip(numbers);
    let new: Vec<ContentId> = all
        .filter(|&(_, number)| number == NONE)
        .map(|(content, _)| content.id)
        .collect();
    if new.is_empty() && has_results {
        return Ok((PhaseResults::open(folder, plan)?, true));
    }
    let mut batch = ClusterBatch::begin(folder, plan)?;
    let mut is_settled = true;
    Signed::in_blocks(context, &new, &mut |signed| {
        is_settled &= signed.as_indexed;
        errors.extend(signed.errors);
        for (row, sketch) in signed.contents.into_iter().zip(signed.signatures) {
            batch.add(&SketchedDocument {
                content: row.digest,
                words: [0; 16],
                size: row.size.0,
                sketch,
            })?;
        }
        Ok(())
    })?;
    Ok((batch.settle()?.0, is_settled))
}

fn answer(
    context: &MethodContext<'_>,
    results: &PhaseResults,
    policy: &Policy,
    contents: &ScopedContents,
) -> Result<Vec<MethodRow>, LabError> {
    let mut answer = Vec::with_capacity(context.scoped.files.len());
    // Each content belongs to a class of contents with equal sketches. This loop collects the files
    // of each class, in the order of their paths.
    let numbers = contents.numbers(&results.digests()?).unwrap_or_default();
    let mut files: Vec<&ScopedFile> = Vec::with_capacity(context.scoped.files.len());
    let mut of_class: Vec<(u32, u32)> = Vec::with_capacity(context.scoped.files.len());
    for file in &context.scoped.files {
        let Some(at) = contents.at(file.content) else {
            continue;
        };
        let number = numbers.get(at).filter(|&&number| number != NONE);
        of_class
            .extend(number.map(|&number| (results.classes()[number as usize], files.len() as u32)));
        files.push(file);
        answer.push(MethodRow::File(MethodFileRow {
            path: file.path.clone(),
            size: file.size.0,
            text: contents.all[at].is_text,
        }));
    }
    of_class.sort_unstable();
    let mut firsts = vec![NONE; results.classes().len()];
    for &(class, place) in of_class.iter().rev() {
        firsts[class as usize] = place;
    }
    let first = |class: u32| Some(firsts[class as usize]).filter(|&place| place != NONE);
    let mut links = Vec::new();
    results.cluster(policy, &mut |link| {
        if let (Some(a), Some(b)) = (first(link.a), first(link.b)) {
            let (a, b) = (a.min(b), a.max(b));
            let score = Figure::from(link.estimates.resemblance.value.value());
            links.push(MethodLinkRow { a, b, score });
        }
    })?;
    links.sort_unstable_by_key(|link| (link.a, link.b));
    let file_of = |class: u32| first(class).map(|place| files[place as usize]);
    answer.extend(commonest(context, results, &file_of)?);
    let classes = of_class.chunk_by(|a, b| a.0 == b.0);
    let mut same: Vec<Vec<u32>> = classes
        .filter(|class| class.len() > 1)
        .map(|class| class.iter().map(|&(_, place)| place).collect())
        .collect();
    same.sort_unstable();
    answer.extend(same.into_iter().map(MethodRow::Same));
    answer.extend(links.into_iter().map(MethodRow::Link));
    Ok(answer)
}

/// Returns the most frequent ignored shingles. The words of a shingle are included if a file that
/// has the shingle can still be read.
fn commonest<'a>(
    context: &MethodContext<'_>,
    results: &PhaseResults,
    file_of: &dyn Fn(u32) -> Option<&'a ScopedFile>,
) -> Result<Vec<MethodRow>, LabError> {
    let mut ignored = results.ignored()?;
    ignored
        .sort_unstable_by_key(|&(shingle, documents, _)| (std::cmp::Reverse(documents), shingle));
    let all = ignored.len() as u64;
    ignored.truncate(COMMONEST);
    let rows = ignored.into_iter().map(|(value, documents, id)| {
        let text = match (&context.params.scheme, file_of(id)) {
            (Scheme::Shingle(params), Some(file)) => {
                let bytes = bytes_of(&file.path).unwrap_or_default();
                let found = shingle::wording(params, &bytes, &[value]).pop();
                found.map(|(_, text)| text)
            }
            _ => None,
        };
        MethodRow::Common(MethodCommonRow {
            shingle: format!("{value:010x}"),
            documents: documents.into(),
            text,
            all,
        })
    });
    Ok(rows.collect())
}

/// The folder in which the phases work.
struct WorkFolder {
    path: PathBuf,
    /// True if the user named the folder. In that case, damaged files are reported and not
    /// replaced.
    is_named: bool,
    /// Removes the folder after the answer, if it is only for this answer.
    _temporary: Option<TempDir>,
    /// Prevents other processes from working in the folder.
    _lock: Option<LockedFolder>,
}

impl WorkFolder {
    fn open(
        context: &MethodContext<'_>,
        question: &MethodClusters,
        plan: &ClusterPlan,
    ) -> Result<Self, LabError> {
        if let Some(path) = &question.work {
            let path = path.clone();
            return Ok(Self {
                _lock: Some(lock(&path)?),
                path,
                is_named: true,
                _temporary: None,
            });
        }
        let (place, is_kept) = context.cache.folder();
        if is_kept {
            let clusters = place.join("clusters");
            let mut name = plan.id().into_bytes();
            for base in &context.scope.within {
                name.push(0);
                name.extend_from_slice(base.as_bytes());
            }
            let name = digest(&name).to_string();
            let path = clusters.join(&name[..16]);
            let held = Some(lock(&path)?);
            forget_oldest(&clusters, &path, MOST_FOLDERS, |folder| {
                let documents = fs::metadata(folder.join("documents"));
                documents.and_then(|documents| documents.modified()).ok()
            });
            return Ok(Self {
                path,
                is_named: false,
                _temporary: None,
                _lock: held,
            });
        }
        let temporary = tempfile::Builder::new()
            .prefix(".resemble-clusters-")
            .tempdir_in(&place)
            .map_err(|source| PhaseError::Folder {
                path: place,
                source,
            })?;
        Ok(Self {
            path: temporary.path().to_owned(),
            is_named: false,
            _temporary: Some(temporary),
            _lock: None,
        })
    }
}

/// Makes the folder if it is missing, and waits until no other process works in it.
fn lock(folder: &Path) -> Result<LockedFolder, PhaseError> {
    LockedFolder::alone(folder).map_err(|source| PhaseError::Folder {
        path: folder.to_owned(),
        source,
    })
}
