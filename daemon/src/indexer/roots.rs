//! Stores the list of roots for the next run.
//!
//! A record of the index lists every root of the last run. The next run watches the roots of `watch
//! add` again. It removes the files of former roots from the index. The record also has, for each
//! root, whether its first scan was finished. Only then does a changed file deserve an alert. The
//! record also lists the roots that `watch remove` has removed. These stay removed, even if the
//! configuration names them. Only `watch add`, or a new configuration by `--write-config`, adds
//! them again. A file outside the index has a copy of the record. An index can be rebuilt from the
//! tree, but the requests of users cannot.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::{fs, io};

use resemble_index::{ApplyError, Index, Snapshot};
use resemble_proto::message::{AlertRules, RootRules, WatchOrigin};
use resemble_proto::path::PathText;
use resemble_scan::ingest::{Cause, Target};
use serde::{Deserialize, Serialize};

use crate::root_rules::RuleSet;
use crate::state::{Root, Shared};
use crate::state_file;

/// Name of the record.
const RECORD: &str = "daemon/roots";

#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // each is a fact of its own
struct KeptRoot {
    path: PathText,
    /// The rules that `watch add` set.
    #[serde(flatten)]
    rules: RootRules,
    #[serde(flatten)]
    alerts: AlertRules,
    /// True if `watch add` requested the root.
    #[serde(default)]
    kept: bool,
    /// True if the first scan of the root was finished.
    #[serde(default)]
    complete: bool,
    /// True if the first scan was finished in an index that has become unusable since.
    #[serde(default)]
    rebuilding: bool,
    /// True if `watch remove` has removed the root.
    #[serde(default)]
    removed: bool,
}

fn read(snapshot: &Snapshot) -> Vec<KeptRoot> {
    match snapshot.record(RECORD) {
        Ok(Some(text)) => serde_json::from_slice(&text).unwrap_or_else(|error| {
            tracing::warn!(%error, "the list of roots cannot be understood");
            Vec::new()
        }),
        Ok(None) => Vec::new(),
        Err(error) => {
            tracing::warn!(%error, "the list of roots cannot be read");
            Vec::new()
        }
    }
}

fn recorded(shared: &Shared) -> Vec<KeptRoot> {
    shared
        .snapshot()
        .map(|snapshot| read(&snapshot))
        .unwrap_or_default()
}

/// Returns the roots that `watch add` requested, with the rules that the command set. Roots that
/// were removed later are left out.
pub(crate) fn kept(snapshot: &Snapshot) -> Vec<(PathBuf, RuleSet)> {
    let ordered = |root: KeptRoot| {
        let (scan, alerts) = (root.rules, root.alerts);
        (root.path.into(), RuleSet { scan, alerts })
    };
    let kept = read(snapshot).into_iter();
    let kept = kept.filter(|root| root.kept && !root.removed);
    kept.map(ordered).collect()
}

/// Returns the roots that `watch remove` has removed. Roots that [`restore_removed`] has taken out
/// of the file are left out.
pub(crate) fn removed(snapshot: &Snapshot, file: Option<&Path>) -> BTreeSet<PathBuf> {
    let copy = file.and_then(|file| read_copy(file).ok());
    let is_listed = |root: &KeptRoot| {
        let listed = |copy: &Vec<KeptRoot>| copy.iter().any(|other| other.path == root.path);
        copy.as_ref().is_none_or(listed)
    };
    let removed = read(snapshot).into_iter().filter(|root| root.removed);
    removed
        .filter(is_listed)
        .map(|root| root.path.into())
        .collect()
}

/// Makes the next start watch these roots even if `watch remove` has removed them. Changes only the
/// file `file`, because a daemon may have the index open. Does nothing if the file does not exist.
pub(crate) fn restore_removed(file: &Path, roots: &[PathBuf]) -> io::Result<()> {
    let mut list = match read_copy(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        list => list?,
    };
    let before = list.len();
    let is_restored = |root: &KeptRoot| roots.iter().any(|path| path == root.path.as_path());
    list.retain(|root| !root.removed || !is_restored(root));
    if list.len() == before {
        return Ok(());
    }
    state_file::replace(file, &serde_json::to_vec(&list)?)
}

fn read_copy(file: &Path) -> io::Result<Vec<KeptRoot>> {
    Ok(serde_json::from_slice(&fs::read(file)?)?)
}

/// Returns the roots whose first scan is done.
pub(super) fn complete(shared: &Shared) -> BTreeSet<PathBuf> {
    recorded(shared)
        .into_iter()
        .filter(|root| root.complete)
        .map(|root| root.path.into())
        .collect()
}

/// Returns the roots for which the index is being rebuilt.
pub(crate) fn rebuilding(shared: &Shared) -> impl Iterator<Item = PathBuf> {
    let recorded = recorded(shared).into_iter();
    let rebuilding = recorded.filter(|root| root.rebuilding);
    rebuilding.map(|root| root.path.into())
}

/// Returns the topmost paths of the index that belonged to a root of an earlier run and belong to
/// no root now.
pub(super) fn former(shared: &Shared) -> Vec<PathBuf> {
    let roots = shared.root_paths();
    let Ok(snapshot) = shared.snapshot() else {
        return Vec::new();
    };
    let mut former = Vec::new();
    for root in read(&snapshot) {
        // A removed root has no entries in the index, unless the index could not be written when it
        // was removed.
        let is_left = || matches!(snapshot.entry(root.path.as_path()), Ok(Some(_)));
        if !root.removed || is_left() {
            outside(&snapshot, root.path.into(), &roots, &mut former);
        }
    }
    former
}

/// Collects the topmost paths at and below `path` that are in no present root.
fn outside(snapshot: &Snapshot, path: PathBuf, roots: &[PathBuf], found: &mut Vec<PathBuf>) {
    if roots.iter().any(|root| path.starts_with(root)) {
        return;
    }
    if !roots.iter().any(|root| root.starts_with(&path)) {
        found.push(path);
        return;
    }
    // A present root is below this directory. So the directory itself stays, and only its other
    // entries are collected.
    for (name, _) in snapshot.list(&path).unwrap_or_default() {
        outside(snapshot, path.join(name), roots, found);
    }
}

/// Records the roots, and those paths of `removed` that are not roots now.
pub(super) fn keep(
    shared: &Shared,
    roots: &[Root],
    complete: &BTreeSet<PathBuf>,
    removed: &BTreeSet<PathBuf>,
) -> Result<(), ApplyError> {
    let Some(index) = shared.index() else {
        return Ok(());
    };
    let mut list: Vec<KeptRoot> = roots
        .iter()
        .map(|root| {
            let order = shared.order_of(&root.options.path);
            KeptRoot {
                path: root.options.path.as_path().into(),
                rules: order.scan,
                alerts: order.alerts,
                kept: root.origin == WatchOrigin::Kept,
                complete: complete.contains(&root.options.path),
                rebuilding: shared.is_rebuilding(&root.options.path),
                removed: false,
            }
        })
        .collect();
    let is_root = |path: &Path| roots.iter().any(|root| root.options.path == path);
    let removed = removed.iter().filter(|path| !is_root(path));
    list.extend(removed.map(|path| KeptRoot {
        path: path.as_path().into(),
        removed: true,
        ..KeptRoot::default()
    }));
    let text = match serde_json::to_vec(&list) {
        Ok(text) => text,
        Err(error) => {
            tracing::warn!(%error, "the list of roots is not kept");
            return Ok(());
        }
    };
    if let Some(path) = shared.roots_file()
        && fs::read(path).ok().as_ref() != Some(&text)
        && let Err(error) = state_file::replace(path, &text)
    {
        tracing::warn!(?path, %error, "the list of roots is kept in the index alone");
    }
    index.put_record(RECORD, &text)
}

/// Copies the list of roots from its file into an index that has no list. Every root counts as not
/// scanned.
pub(crate) fn restore(index: &Index, path: &Path) {
    if !matches!(
        index.snapshot().and_then(|all| all.record(RECORD)),
        Ok(None)
    ) {
        return;
    }
    let restored = read_copy(path).and_then(|mut list| {
        for root in &mut list {
            root.rebuilding |= root.complete;
            root.complete = false;
        }
        let text = serde_json::to_vec(&list)?;
        index.put_record(RECORD, &text).map_err(io::Error::other)
    });
    match restored {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            tracing::warn!(?path, %error, "the list of roots is lost with the index");
        }
        _ => {}
    }
}

/// Splits a root into pieces for the slow comparison: the root's own entry, then each folder in it
/// with everything below.
pub(super) fn pieces(root: &Path) -> Vec<Target> {
    let mut pieces = vec![Target::entry(root, Cause::Unknown)];
    let Ok(entries) = fs::read_dir(root) else {
        return pieces;
    };
    let mut below: Vec<PathBuf> = entries
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
        .map(|entry| entry.path())
        .collect();
    below.sort();
    pieces.extend(below.into_iter().map(Target::subtree));
    pieces
}

/// Returns whether a piece belongs to the root.
pub(super) fn is_under(piece: &Target, root: &Path) -> bool {
    match piece {
        Target::Path { path, .. } => path.starts_with(root),
        Target::Renamed { to, .. } => to.starts_with(root),
    }
}
