//! `groups --method shingle` and `super-shingle`: the four phases of [`crate::phases`] on the files of a question.
//!
//! 1. **The work folder** stands beside the index, one for each set of roots and each plan, and is kept: a question at
//!    another threshold, or with containment, repeats phase 4 alone; after changes only new contents are sketched and merged. If
//!    a content has gone, all is merged again from signatures, which are kept in the index. Who shares a folder waits for
//!    the other.
//! 2. **Damage costs time.** Kept files that are damaged, or of a batch that was killed, are made again.
//! 3. **What changed a moment ago** is sketched as it is now, and nothing of such a question is kept.
//! 4. **The answer** has no numbers of the phases: files by path, files with one sketch, links between the least paths of
//!    these, the commonest shingles that were ignored.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File, OpenOptions};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use resemble_core::hash::content::digest;
use resemble_core::signature::{Scheme, shingle};
use resemble_core::{ContentDigest, ContentKind};
use resemble_index::ContentRow;
use resemble_proto::figure::Figure;
use resemble_proto::message::{
    Answer, MethodClusters, MethodCommonRow, MethodFileRow, MethodLinkRow, MethodRow, SoftError,
};
use resemble_proto::path::PathText;
use rustix::fs::{FlockOperation, flock};

use super::Asked;
use super::signed::Signed;
use crate::ask::{AskError, bytes_of};
use crate::members::Member;
use crate::phases::{Batch, Document, Kept, MEMORY, PhaseError, Plan, Policy};

/// Contents that are sketched before the next are begun with: what is in memory at a time.
const BLOCK: usize = 1 << 16;

/// Work folders that are kept.
const MOST_FOLDERS: usize = 4;

/// Numbers passing folders apart.
static COUNT: AtomicU64 = AtomicU64::new(0);

/// Ignored shingles that an answer lists.
const COMMONEST: usize = 10;

pub(super) fn clusters(
    asked: &Asked<'_>,
    question: &MethodClusters,
) -> Result<Answer<MethodRow>, AskError> {
    let common = question.common.unwrap_or(crate::phases::COMMON);
    let plan = Plan {
        common: (common > 0).then_some(common),
        memory: question.memory.unwrap_or(MEMORY),
        ..Plan::new(asked.params.clone())
    };
    let thresholds = asked.params.method().thresholds();
    let least = match thresholds.groups {
        resemble_core::signature::Threshold::Score(least) => least,
        resemble_core::signature::Threshold::SharedBytes(_) => 0.0,
    };
    let policy = Policy {
        resemblance: question.min.value().unwrap_or(least),
        containment: question.contained.value(),
        every: question.every,
    };
    let mut rows = Vec::new();
    for content in asked.members.contents() {
        let row = asked.snapshot.content(content)?;
        rows.extend(row.filter(|row| row.size.0 > 0));
    }
    let work = Work::open(asked, question, &plan)?;
    let mut errors = Vec::new();
    let made = settle(asked, &work.path, &plan, &rows, &mut errors);
    let (kept, is_settled) = match made {
        Err(AskError::Phase(PhaseError::Damaged { path, what })) if !work.is_named => {
            tracing::info!(path = %path.display(), what, "clusters are made again");
            Batch::forget(&work.path)?;
            errors.clear();
            settle(asked, &work.path, &plan, &rows, &mut errors)?
        }
        made => made?,
    };
    let answer = answer(asked, &kept, &policy, &rows)?;
    if !is_settled {
        Batch::forget(&work.path)?;
    }
    Ok(Answer::fresh(answer, asked.errors(errors)))
}

/// Brings what the folder keeps in line with these contents; whether it may be kept.
fn settle(
    asked: &Asked<'_>,
    folder: &Path,
    plan: &Plan,
    rows: &[ContentRow],
    errors: &mut Vec<SoftError>,
) -> Result<(Kept, bool), AskError> {
    let wanted: HashSet<&ContentDigest> = rows.iter().map(|row| &row.digest).collect();
    let kept = Batch::kept(folder, plan)?;
    let kept = kept.filter(|kept| kept.iter().all(|digest| wanted.contains(digest)));
    if kept.is_none() {
        Batch::forget(folder)?;
    }
    let known: HashSet<ContentDigest> = kept.iter().flatten().copied().collect();
    let new: Vec<&ContentRow> = rows
        .iter()
        .filter(|row| !known.contains(&row.digest))
        .collect();
    if new.is_empty() && kept.is_some() {
        return Ok((Kept::open(folder, plan)?, true));
    }
    let mut batch = Batch::begin(folder, plan)?;
    let mut is_settled = true;
    for block in new.chunks(BLOCK) {
        let block = block.iter().map(|&&row| row).collect();
        let signed = Signed::of_rows(asked, block)?;
        is_settled &= signed.as_indexed;
        errors.extend(signed.errors);
        for (row, sketch) in signed.contents.into_iter().zip(signed.signatures) {
            batch.add(&Document {
                content: row.digest,
                words: [0; 16],
                size: row.size.0,
                sketch,
            })?;
        }
    }
    Ok((batch.settle()?.0, is_settled))
}

fn answer(
    asked: &Asked<'_>,
    kept: &Kept,
    policy: &Policy,
    rows: &[ContentRow],
) -> Result<Vec<MethodRow>, AskError> {
    let of_content: HashMap<_, _> = rows.iter().map(|row| (row.id, row)).collect();
    let files: Vec<(&Member, &ContentRow)> = asked
        .members
        .files
        .iter()
        .filter_map(|member| Some((member, *of_content.get(&member.content)?)))
        .collect();
    let mut answer: Vec<MethodRow> = files
        .iter()
        .map(|(member, row)| {
            MethodRow::File(MethodFileRow {
                path: PathText::from(member.path.as_path()),
                size: member.size.0,
                text: row.kind == ContentKind::Text,
            })
        })
        .collect();
    // From contents to classes, and of each class its files by path.
    let numbers: HashMap<ContentDigest, u32> = kept.digests()?.into_iter().zip(0..).collect();
    let mut same: HashMap<u32, Vec<u32>> = HashMap::new();
    for (place, (_, row)) in (0u32..).zip(&files) {
        if let Some(&number) = numbers.get(&row.digest) {
            let class = kept.classes()[number as usize];
            same.entry(class).or_default().push(place);
        }
    }
    let mut links = Vec::new();
    kept.cluster(policy, &mut |link| {
        if let (Some(a), Some(b)) = (same.get(&link.a), same.get(&link.b)) {
            let (a, b) = (a[0].min(b[0]), a[0].max(b[0]));
            let score = Figure::from(link.told.resemblance.value.value());
            links.push(MethodLinkRow { a, b, score });
        }
    })?;
    links.sort_unstable_by_key(|link| (link.a, link.b));
    answer.extend(commonest(asked, kept, &same, &files)?);
    let mut same: Vec<Vec<u32>> = same.into_values().filter(|set| set.len() > 1).collect();
    same.sort_unstable();
    answer.extend(same.into_iter().map(MethodRow::Same));
    answer.extend(links.into_iter().map(MethodRow::Link));
    Ok(answer)
}

/// The commonest of the ignored shingles, in words where a file can still be read.
fn commonest(
    asked: &Asked<'_>,
    kept: &Kept,
    same: &HashMap<u32, Vec<u32>>,
    files: &[(&Member, &ContentRow)],
) -> Result<Vec<MethodRow>, AskError> {
    let mut ignored = kept.ignored()?;
    ignored
        .sort_unstable_by_key(|&(shingle, documents, _)| (std::cmp::Reverse(documents), shingle));
    let all = ignored.len() as u64;
    ignored.truncate(COMMONEST);
    let rows = ignored.into_iter().map(|(value, documents, id)| {
        let file = same.get(&id).map(|places| files[places[0] as usize].0);
        let text = match (&asked.params.scheme, file) {
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

/// The folder that the phases work in.
struct Work {
    path: PathBuf,
    /// The user has named it: nothing in it is made anew without being asked for.
    is_named: bool,
    /// It goes with the answer.
    is_passing: bool,
    /// Held while somebody works there.
    _lock: Option<File>,
}

impl Work {
    fn open(asked: &Asked<'_>, question: &MethodClusters, plan: &Plan) -> Result<Self, AskError> {
        if let Some(path) = &question.work {
            let path = path.clone();
            return Ok(Self {
                _lock: Some(lock(&path)?),
                path,
                is_named: true,
                is_passing: false,
            });
        }
        let (place, is_kept) = asked.keep.folder();
        if is_kept {
            let clusters = place.join("clusters");
            let mut name = plan.id().into_bytes();
            for base in &asked.scope.within {
                name.push(0);
                name.extend_from_slice(base.as_bytes());
            }
            let name = digest(&name).to_string();
            let path = clusters.join(&name[..16]);
            let held = Some(lock(&path)?);
            forget_oldest(&clusters, &path);
            return Ok(Self {
                path,
                is_named: false,
                is_passing: false,
                _lock: held,
            });
        }
        loop {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = place.join(format!(".resemble-clusters-{}-{count}", std::process::id()));
            match fs::DirBuilder::new().mode(0o700).create(&path) {
                Ok(()) => {
                    return Ok(Self {
                        path,
                        is_named: false,
                        is_passing: true,
                        _lock: None,
                    });
                }
                Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(PhaseError::Folder { path, source }.into()),
            }
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if self.is_passing {
            let gone = Batch::forget(&self.path).and_then(|()| {
                fs::remove_dir(&self.path).map_err(|source| {
                    PhaseError::Folder {
                        path: self.path.clone(),
                        source,
                    }
                    .into()
                })
            });
            if let Err(error) = gone {
                tracing::warn!(%error, "a work folder stays");
            }
        }
    }
}

/// Makes the folder, and waits until nobody else works there.
fn lock(folder: &Path) -> Result<File, AskError> {
    let failed = |source: std::io::Error| PhaseError::Folder {
        path: folder.to_owned(),
        source,
    };
    fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(failed)?;
    let file = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(folder.join("lock"))
        .map_err(failed)?;
    flock(&file, FlockOperation::LockExclusive).map_err(|errno| failed(errno.into()))?;
    Ok(file)
}

/// Removes what was not used for longest, where there are too many.
fn forget_oldest(clusters: &Path, but: &Path) {
    let used = |path: &Path| fs::metadata(path.join("documents")).and_then(|stat| stat.modified());
    let mut others: Vec<(Option<std::time::SystemTime>, PathBuf)> = fs::read_dir(clusters)
        .into_iter()
        .flatten()
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| path != but)
        .map(|path| (used(&path).ok(), path))
        .collect();
    others.sort_unstable();
    let too_many = (others.len() + 1).saturating_sub(MOST_FOLDERS);
    for (_, path) in others.into_iter().take(too_many) {
        let free = File::open(path.join("lock"))
            .is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockExclusive).is_ok());
        if free && let Err(error) = fs::remove_dir_all(&path) {
            tracing::debug!(%error, "old clusters stay");
        }
    }
}
