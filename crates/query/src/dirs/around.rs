//! Finds the directories that may resemble a given directory, from the files below it.
//!
//! A person waits for a listing of the overlay, and the index may hold a million files. So a
//! directory is considered only if it has a file that is equal or similar to one below the given
//! directory:
//!
//! 1. Every content below the given directory leads to the other files with that content, unless
//!    there are too many of them (boilerplate). The [`NEAR`] largest contents also lead to similar
//!    files. Contents that are only below the given directory are taken first. The common bytes are
//!    added to all directories above each file that was found.
//! 2. The other bytes below each of these directories are counted, from the lowest directory up.
//!    Counting ends at a directory that is too large to be listed. Then too little of it lies in
//!    the given directory. Or a directory below it fits so much better that
//!    [`resemble_core::tree::fold`] would drop the upper one. So the walk up from `copy/src` ends
//!    soon above the copy, and never counts the whole disk.
//! 3. The remaining directories are measured as in any question about them.
//!
//! The work is bounded: a listing counts at most [`MOST_FILES`] files below the directory, and at
//! most [`MOST_ENTRIES`] entries of the directories elsewhere. If the directory has more files, its
//! listing is empty. If the directories elsewhere have more entries, those nearest to the root are
//! missed. `resemble dirs` has no such bounds.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use resemble_core::similarity::too_small;
use resemble_core::{ByteLen, ContentId, FileId, Relation, Score};
use resemble_index::{Entry, ReadError, Snapshot};
use resemble_proto::catalogued::is_catalogued;
use resemble_relate::AskError;

use crate::find::{self, Subject};

/// If a directory has more files below it than this, it has no listing.
const MOST_FILES: usize = 100_000;

/// The maximum number of entries of other directories that one listing counts.
const MOST_ENTRIES: usize = 100_000;

/// The maximum number of contents whose similar files are looked up.
const NEAR: usize = 16;

/// The maximum number of directories that one listing measures.
const MOST_DIRS: usize = 1000;

/// The number of bytes that a candidate may have beyond its known common bytes. Not all similar
/// files are looked up, so more bytes may be common.
const SLACK: u64 = 64 << 10;

/// A content below the directory.
struct OwnContent {
    size: u64,
    files: u64,
    /// The path of one of the files.
    path: PathBuf,
}

/// The content that a directory elsewhere is known to share with the given one.
#[derive(Clone, Copy, Default)]
struct DirCommon {
    /// The number of bytes of the given directory that this directory has, too.
    to: u64,
    /// The number of bytes of this directory that the given one has, too.
    from: u64,
    /// The content and the file that were counted last, so that neither is counted twice.
    last: (Option<ContentId>, Option<FileId>),
}

impl DirCommon {
    fn both(self) -> u64 {
        self.to + self.from
    }
}

/// The result of counting below a directory elsewhere.
#[derive(Clone, Copy)]
struct Counted {
    bytes: u64,
    /// True if nothing is missing from `bytes`.
    complete: bool,
}

/// Returns the directories that may resemble `dir`. No returned directory is inside another. The
/// list is empty if `dir` is too large.
pub(super) fn bases(snapshot: &Snapshot, dir: &Path) -> Result<Vec<PathBuf>, AskError> {
    let Some(own) = own(snapshot, dir)? else {
        return Ok(Vec::new());
    };
    let bytes = own.values().map(|own| own.size * own.files).sum();
    let common = common(snapshot, dir, &own)?;
    Ok(complete(snapshot, bytes, &common)?)
}

fn own(
    snapshot: &Snapshot,
    dir: &Path,
) -> Result<Option<HashMap<ContentId, OwnContent>>, ReadError> {
    let mut paths: Vec<(FileId, PathBuf)> = Vec::new();
    snapshot.walk(dir, &mut |path, entry| {
        if let Entry::File(file) = entry {
            paths.push((*file, path.to_path_buf()));
        }
        if paths.len() > MOST_FILES {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    })?;
    if paths.len() > MOST_FILES {
        return Ok(None);
    }
    let mut seen = HashSet::new();
    let mut own: HashMap<ContentId, OwnContent> = HashMap::new();
    for (file, path) in paths {
        if !seen.insert(file) {
            continue;
        }
        if let Some(row) = snapshot.file(file)?
            && let Some(content) = row.state.content()
        {
            let size = row.stat.size.0;
            let files = 0;
            let entry = own
                .entry(content)
                .or_insert(OwnContent { size, files, path });
            entry.files += 1;
        }
    }
    Ok(Some(own))
}

fn common(
    snapshot: &Snapshot,
    dir: &Path,
    own: &HashMap<ContentId, OwnContent>,
) -> Result<HashMap<PathBuf, DirCommon>, AskError> {
    let mut common: HashMap<PathBuf, DirCommon> = HashMap::new();
    let mut largest: Vec<(bool, ContentId, &OwnContent)> = Vec::new();
    for (&content, of) in own {
        let files = snapshot.files_of(content)?;
        if files.len() > snapshot.boilerplate_limit() as usize {
            continue;
        }
        let mut elsewhere = false;
        for file in files {
            for path in snapshot.paths(file)? {
                elsewhere |= climb(dir, &path, &mut common, &mut |common| {
                    if common.last.0 != Some(content) {
                        common.last = (Some(content), None);
                        common.to += of.size * of.files;
                    }
                    if common.last.1 != Some(file) {
                        common.last.1 = Some(file);
                        common.from += of.size;
                    }
                });
            }
        }
        if !too_small(ByteLen(of.size)) {
            largest.push((elsewhere, content, of));
        }
    }
    // The contents that are only below `dir` are put first.
    largest.sort_unstable_by(|(elsewhere_a, _, a), (elsewhere_b, _, b)| {
        let order = (elsewhere_a, Reverse(a.size)).cmp(&(elsewhere_b, Reverse(b.size)));
        order.then_with(|| a.path.cmp(&b.path))
    });
    for (_, content, of) in largest.into_iter().take(NEAR) {
        let Some(subject) = Subject::remembered(snapshot, &of.path)? else {
            continue;
        };
        // For directories above an equal file, this content is counted already. So it must not be
        // counted again.
        for path in paths_of(snapshot, content)? {
            climb(dir, &path, &mut common, &mut |common| {
                common.last = (Some(content), None);
            });
        }
        for similar in find::listing(snapshot, &subject, false)?.0 {
            if similar.relation == Some(Relation::Identical) {
                continue;
            }
            let share = similar.measures.a_in_b.unwrap_or(Score::ZERO);
            let bytes = (share.get() * of.size as f64) as u64;
            // A listing names a file once, but each of its hard links is in a directory.
            let file = snapshot.file_at(&similar.path)?.map(|row| row.id);
            let paths = file.map(|file| snapshot.paths(file)).transpose()?;
            for path in paths.unwrap_or_default() {
                climb(dir, &path, &mut common, &mut |common| {
                    // The files are sorted, the best one first. Further files with the same content
                    // add no new bytes of the given directory.
                    if common.last.0 != Some(content) {
                        common.last = (Some(content), None);
                        common.to += bytes;
                    }
                    if common.last.1 != file {
                        common.last.1 = file;
                        common.from += bytes;
                    }
                });
            }
        }
    }
    Ok(common)
}

/// Returns the paths of a content's files. Returns no path if the content is boilerplate.
fn paths_of(snapshot: &Snapshot, content: ContentId) -> Result<Vec<PathBuf>, ReadError> {
    let files = snapshot.files_of(content)?;
    let mut paths = Vec::new();
    if files.len() <= snapshot.boilerplate_limit() as usize {
        for file in files {
            paths.extend(snapshot.paths(file)?);
        }
    }
    Ok(paths)
}

/// Calls `count` for each directory that is above `file` and does not contain `dir`. Returns
/// whether there was one. Does nothing if `file` is below `dir` or in a catalogue: no link can lead
/// to a directory of a catalogue.
fn climb(
    dir: &Path,
    file: &Path,
    common: &mut HashMap<PathBuf, DirCommon>,
    count: &mut dyn FnMut(&mut DirCommon),
) -> bool {
    if file.starts_with(dir) || is_catalogued(file) {
        return false;
    }
    let mut any = false;
    for above in file.ancestors().skip(1) {
        if dir.starts_with(above) {
            break;
        }
        any = true;
        match common.get_mut(above) {
            Some(common) => count(common),
            None => count(common.entry(above.to_path_buf()).or_default()),
        }
    }
    any
}

/// Returns the topmost directories that could be listed and were counted completely.
fn complete(
    snapshot: &Snapshot,
    own_bytes: u64,
    common: &HashMap<PathBuf, DirCommon>,
) -> Result<Vec<PathBuf>, ReadError> {
    // The deepest directories come first, and at equal depth those with most in common. Counting
    // ends after [`MOST_ENTRIES`] entries.
    let mut order: Vec<(&Path, DirCommon)> = common
        .iter()
        .map(|(path, common)| (path.as_path(), *common))
        .collect();
    order.sort_by_cached_key(|(path, common)| {
        let depth = path.components().count();
        (Reverse((depth, common.both())), path.to_path_buf())
    });
    let mut counted: HashMap<&Path, Counted> = HashMap::new();
    // For each directory: the best match among those below it, with its common content and its
    // bytes.
    let mut tightest: HashMap<&Path, (DirCommon, u64)> = HashMap::new();
    let mut room = MOST_ENTRIES;
    for &(path, common) in &order {
        let below = tightest.get(path).copied();
        let most = most_bytes(own_bytes, common, below);
        let (bytes, complete) = count(snapshot, path, most, &counted, &mut room)?;
        let this = complete.then_some((common, bytes));
        let best = [this, below].into_iter().flatten().reduce(|one, other| {
            let alike =
                |of: (DirCommon, u64)| of.0.both() as f64 / (own_bytes + of.1).max(1) as f64;
            if alike(other) > alike(one) {
                other
            } else {
                one
            }
        });
        counted.insert(path, Counted { bytes, complete });
        if let (Some(best), Some(parent)) = (best, path.parent())
            && tightest
                .get(parent)
                .is_none_or(|known| best.0.to > known.0.to)
        {
            tightest.insert(parent, best);
        }
    }
    let is_complete = |path: &Path| counted.get(path).is_some_and(|counted| counted.complete);
    let mut topmost: Vec<(&Path, DirCommon)> = order
        .into_iter()
        .filter(|(path, _)| is_complete(path) && !path.parent().is_some_and(is_complete))
        .collect();
    topmost.sort_by(|a, b| b.1.both().cmp(&a.1.both()).then_with(|| a.0.cmp(b.0)));
    topmost.truncate(MOST_DIRS);
    Ok(topmost
        .into_iter()
        .map(|(path, _)| path.to_owned())
        .collect())
}

/// Returns the number of bytes above which a directory is not listed.
fn most_bytes(own: u64, common: DirCommon, below: Option<(DirCommon, u64)>) -> u64 {
    let inside = if common.to.saturating_mul(4) >= own {
        u64::MAX
    } else {
        common.from.saturating_mul(2).saturating_add(SLACK)
    };
    let Some((best, bytes)) = below else {
        return inside;
    };
    if u128::from(best.to) * 10 < u128::from(common.to) * 9 || best.to == 0 {
        return inside;
    }
    // `best` is a directory below this one. This directory is dropped in favour of `best` if two
    // conditions are true. First, this directory has more than `larger` bytes. Then its larger
    // containment is the share of the given directory that is also in this directory, and `best`
    // has nine tenths of that share. Second, this directory and the given one together have more
    // than `loose` bytes. Then `best` is more alike by a quarter.
    let wide = |n: u64| u128::from(n);
    let larger = wide(common.from) * wide(own) / wide(common.to.max(1));
    let both = wide(own) + wide(bytes);
    let loose = wide(common.both()) * both * 5 / (wide(best.both()) * 4);
    let most = larger.max(loose.saturating_sub(wide(own)));
    let most = u64::try_from(most).unwrap_or(u64::MAX);
    inside.min(most.saturating_add(SLACK))
}

/// Counts the bytes below a directory, and returns whether the count is complete. Counting ends
/// above `most` bytes, or after `room` entries.
fn count(
    snapshot: &Snapshot,
    dir: &Path,
    most: u64,
    counted: &HashMap<&Path, Counted>,
    room: &mut usize,
) -> Result<(u64, bool), ReadError> {
    let mut bytes: u64 = 0;
    let mut stack = vec![dir.to_path_buf()];
    while let Some(at) = stack.pop() {
        for (name, entry) in snapshot.list(&at)? {
            if *room == 0 || bytes > most {
                return Ok((bytes, false));
            }
            *room -= 1;
            match entry {
                Entry::Dir(_) => {
                    let path = at.join(name);
                    match counted.get(path.as_path()) {
                        Some(known) if known.complete || known.bytes > most => {
                            bytes = bytes.saturating_add(known.bytes);
                        }
                        _ => stack.push(path),
                    }
                }
                Entry::File(file) => {
                    let size = snapshot.file(file)?.map_or(0, |row| row.stat.size.0);
                    bytes = bytes.saturating_add(size);
                }
                Entry::Symlink(_) | Entry::Special(_) | Entry::Gap(_) => {}
            }
        }
    }
    Ok((bytes, bytes <= most))
}
