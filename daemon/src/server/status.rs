//! Answers `status` with figures of the index and states of the indexer.
//!
//! The figures of a root are counted by a walk through the index. For 100,000 files the walk takes
//! a fraction of a second. The figures are stored, and counted again only after a change of the
//! index, of the templates (`Shared::clock`) or of the number of roots.

use std::collections::{BTreeSet, HashSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::time::Instant;

use resemble_callers::Seen;

use resemble_core::ContentId;
use resemble_index::{Entry, FileState, Gap, ReadError, Snapshot, Totals};
use resemble_proto::VERSION;
use resemble_proto::message::{
    Degraded, Failure, FailureKind, IndexStatus, MountStatus, ProcessStatus, RootState, RootStatus,
    SeenRoot, SoftErrorKind, StatusAnswer, Unopened, WaitStatus, WatchStatus,
};
use resemble_relate::renditions;
use resemble_relate::unread;
use resemble_scan::ingest::RootOptions;

use super::asker::Asker;
use super::context::{Context, Figures};
use super::process;
use crate::coalesce::LongWait;
use crate::overlays::Overlays;
use crate::root_rules::rules_of;
use crate::state::{NoSnapshot, Root, Shared};

/// Returns the present state of the daemon, even if the index cannot be read. The figures are then
/// the last known figures, or 0, and one of the troubles has the reason.
pub(super) fn status(context: &Context) -> StatusAnswer {
    let shared = &context.shared;
    let clock = shared.clock();
    let mut roots = shared.roots();
    roots.extend(shared.catalogue_roots());
    let mut troubles = shared.troubles();
    troubles.extend(context.system.as_ref().and_then(|system| system.trouble()));
    let counted = shared.snapshot().and_then(|snapshot| {
        let (figures, unopened) = figures(context, clock, &snapshot, &roots)?;
        Ok((figures, unopened, snapshot.totals()?))
    });
    let (figures, unopened, totals) = counted.unwrap_or_else(|error| {
        // If the index is closed, the indexer has already recorded a trouble.
        if let NoSnapshot::Read(error) = error {
            troubles.push(Degraded {
                path: Path::new("/").into(),
                reason: error.to_string(),
                remedy: None,
            });
        }
        let last = context.figures.lock().clone();
        let last = last.filter(|(_, figures, _)| figures.len() == roots.len());
        let (_, figures, unopened) =
            last.unwrap_or_else(|| (clock, vec![Figures::default(); roots.len()], Vec::new()));
        (figures, unopened, Totals::default())
    });
    let mounts = context.overlays.status();
    let snapshot = shared.snapshot();
    let covered = snapshot.map_or_else(|_| BTreeSet::new(), |it| covered(&it, &mounts));
    let covered_in = |root: &Path| {
        let entries = covered.iter();
        entries.filter(|path| path.parent() == Some(root)).count() as u64
    };
    let pending = shared.pending();
    let mut rows: Vec<RootStatus> = roots
        .iter()
        .zip(figures)
        .map(|(root, figures)| RootStatus {
            path: root.options.path.as_path().into(),
            files: figures.files,
            bytes: figures.bytes,
            state: state(root, &troubles),
            pending: 0,
            skipped: figures.skipped,
            unreadable: figures.unreadable,
            hidden: figures.hidden + covered_in(&root.options.path),
            rules: rules_of(&root.options),
            alerts: shared.alert_rules(&root.options.path),
            unopened: figures.unopened,
            hidden_text: figures.hidden_text,
        })
        .collect();
    // The root of each waiting file is not known here. So all waiting files are counted with the
    // root that is being scanned. If no root is being scanned, they are counted with the first
    // root.
    let scanning = rows.iter().position(|row| row.state == RootState::Scanning);
    if let Some(row) = rows.get_mut(scanning.unwrap_or(0)) {
        row.pending = pending;
    }
    StatusAnswer {
        roots: rows,
        index: IndexStatus {
            bytes: totals.index_bytes,
            contents: totals.contents,
            chunks: totals.chunks,
            files_read: shared.files_read(),
            bytes_read: shared.bytes_read(),
        },
        clock,
        fresh: shared.fresh(),
        degraded: troubles,
        mounts,
        watch: shared.watch_status(),
        pid: std::process::id(),
        questions: context.computing(),
        assumed: shared.assumed(),
        waits: waits(shared),
        unopened,
        notify: shared.sinks(),
        lag_seconds: shared.lag().as_secs(),
        process: process::status(shared.uptime()),
    }
}

/// Returns the roots and catalogues that the peer may see.
pub(super) fn all_roots(context: &Context, asker: &Asker) -> Result<Vec<Root>, Failure> {
    let mut roots = context.shared.roots();
    roots.extend(context.shared.catalogue_roots());
    let Some(sight) = asker.sight() else {
        return Ok(roots);
    };
    let paths: Vec<PathBuf> = roots.iter().map(|root| root.options.path.clone()).collect();
    let seen = sight.look(&paths).map_err(|error| {
        let text = format!("your access to the files could not be checked ({error}); try again");
        Failure::new(FailureKind::Internal, text)
    })?;
    let roots = roots.into_iter().zip(seen);
    let seen = roots.filter(|(_, seen)| matches!(seen, Seen::Folder(..)));
    Ok(seen.map(|(root, _)| root).collect())
}

/// Returns the status for a peer who does not see everything. All figures about files are 0.
pub(super) fn for_caller(context: &Context, asker: &Asker) -> Result<StatusAnswer, Failure> {
    let shared = &context.shared;
    let roots = all_roots(context, asker)?;
    let seen: Vec<PathBuf> = roots.iter().map(|root| root.options.path.clone()).collect();
    let rows = roots.iter().map(|root| RootStatus {
        path: root.options.path.as_path().into(),
        files: 0,
        bytes: 0,
        state: root.state,
        pending: 0,
        skipped: 0,
        unreadable: 0,
        hidden: 0,
        rules: rules_of(&root.options),
        alerts: shared.alert_rules(&root.options.path),
        unopened: 0,
        hidden_text: 0,
    });
    let mut mounts = context.overlays.status();
    for mount in &mut mounts {
        mount
            .roots
            .retain(|root| seen.iter().any(|seen| seen == root.path.as_path()));
    }
    Ok(StatusAnswer {
        roots: rows.collect(),
        index: IndexStatus::default(),
        clock: 0,
        fresh: asker.freshness(context, &[]).0,
        degraded: Vec::new(),
        mounts,
        watch: WatchStatus::default(),
        pid: 0,
        questions: 0,
        assumed: 0,
        waits: Vec::new(),
        unopened: Vec::new(),
        notify: Vec::new(),
        lag_seconds: 0,
        process: ProcessStatus {
            version: VERSION.to_owned(),
            ..ProcessStatus::default()
        },
    })
}

fn waits(shared: &Shared) -> Vec<WaitStatus> {
    let now = Instant::now();
    let waits = shared.waits().into_iter();
    let row = |wait: LongWait| WaitStatus {
        path: wait.path.into(),
        seconds: wait.due.saturating_duration_since(now).as_secs(),
        reading_seconds: wait.cost.as_secs().max(1),
    };
    waits.map(row).collect()
}

/// Returns the state of a root. A live root is degraded if a trouble is about the root, about a
/// path in it, or about a folder above it.
fn state(root: &Root, troubles: &[Degraded]) -> RootState {
    let path = root.options.path.as_path();
    let troubled = troubles.iter().any(|trouble| {
        let place = trouble.path.as_path();
        place.starts_with(path) || path.starts_with(place)
    });
    if troubled && root.state == RootState::Live {
        RootState::Degraded
    } else {
        root.state
    }
}

/// Returns the entries of the index that a mounted overlay hides, because it shows the folder of a
/// further root in their place.
fn covered(snapshot: &Snapshot, mounts: &[MountStatus]) -> BTreeSet<PathBuf> {
    let mut covered = BTreeSet::new();
    for mount in mounts {
        let (top, folders): (Vec<&SeenRoot>, Vec<&SeenRoot>) =
            mount.roots.iter().partition(|root| root.view == mount.path);
        // If no root is at the top of the overlay, the top has only the folders of the roots, and
        // hides nothing.
        let Some(top) = top.first() else { continue };
        let names = folders
            .into_iter()
            .filter_map(|root| root.view.as_path().file_name());
        let paths = names.map(|name| top.path.as_path().join(name));
        covered.extend(paths.filter(|path| matches!(snapshot.entry(path), Ok(Some(_)))));
    }
    covered
}

fn figures(
    context: &Context,
    clock: u64,
    snapshot: &Snapshot,
    roots: &[Root],
) -> Result<(Vec<Figures>, Vec<Unopened>), ReadError> {
    if let Some((then, figures, unopened)) = &*context.figures.lock()
        && *then == clock
        && figures.len() == roots.len()
    {
        return Ok((figures.clone(), unopened.clone()));
    }
    let mut unopened = Vec::new();
    let counted: Vec<Figures> = roots
        .iter()
        .map(|root| count(snapshot, &root.options, &context.overlays, &mut unopened))
        .collect::<Result<_, _>>()?;
    *context.figures.lock() = Some((clock, counted.clone(), unopened.clone()));
    Ok((counted, unopened))
}

/// Counts the figures of a root. Parts of documents that could not be read are added to `unopened`.
fn count(
    snapshot: &Snapshot,
    root: &RootOptions,
    overlays: &Overlays,
    unopened: &mut Vec<Unopened>,
) -> Result<Figures, ReadError> {
    let text = root.text && snapshot.totals()?.skipped > 0;
    let root = root.path.as_path();
    let mut figures = Figures::default();
    let mut seen = HashSet::new();
    let mut failed = None;
    snapshot.walk(root, &mut |path, entry| {
        if path != root && path.file_name().is_some_and(|name| overlays.hides(name)) {
            figures.hidden += 1;
        }
        let file = match entry {
            Entry::File(file) => file,
            Entry::Dir(dir) => match snapshot.unlisted(*dir) {
                Ok(errno) => {
                    figures.unreadable += u64::from(errno.is_some());
                    return ControlFlow::Continue(());
                }
                Err(error) => {
                    failed = Some(error);
                    return ControlFlow::Break(());
                }
            },
            Entry::Gap(gap) => {
                match gap {
                    Gap::Failed(_) => figures.unreadable += 1,
                    Gap::LeftOut(_) => figures.skipped += 1,
                }
                return ControlFlow::Continue(());
            }
            Entry::Symlink(_) | Entry::Special(_) => return ControlFlow::Continue(()),
        };
        if !seen.insert(*file) {
            return ControlFlow::Continue(());
        }
        match snapshot.file(*file) {
            Ok(Some(row)) => {
                figures.files += 1;
                figures.bytes += row.stat.size.get();
                match row.state {
                    FileState::Settled(content) | FileState::Unsettled(content) if text => {
                        match skipped_parts(snapshot, content, path, unopened) {
                            Ok(None) => {}
                            Ok(Some(SoftErrorKind::LeftOut)) => figures.hidden_text += 1,
                            Ok(Some(_)) => figures.unopened += 1,
                            Err(error) => {
                                failed = Some(error);
                                return ControlFlow::Break(());
                            }
                        }
                    }
                    FileState::Settled(_) | FileState::Unsettled(_) => {}
                    FileState::Unreadable(_) => figures.unreadable += 1,
                    FileState::Skipped(_) => figures.skipped += 1,
                }
                ControlFlow::Continue(())
            }
            Ok(None) => ControlFlow::Continue(()),
            Err(error) => {
                failed = Some(error);
                ControlFlow::Break(())
            }
        }
    })?;
    failed.map_or(Ok(figures), Err)
}

/// Returns the kind of error if a content has parts that could not be read. These parts are added
/// to `unopened` while there is room.
fn skipped_parts(
    snapshot: &Snapshot,
    content: ContentId,
    path: &Path,
    unopened: &mut Vec<Unopened>,
) -> Result<Option<SoftErrorKind>, ReadError> {
    if !snapshot.content(content)?.is_some_and(|row| row.skipped) {
        return Ok(None);
    }
    let skipped = snapshot.skipped_parts(content)?;
    let kind = unread::error(path, skipped.clone()).map(|error| error.kind);
    for skipped in skipped {
        if unopened.len() < StatusAnswer::MOST_UNOPENED {
            unopened.push(Unopened {
                path: renditions::shown(path, &skipped.path).into(),
                reason: skipped.reason,
            });
        }
    }
    Ok(kind)
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use parking_lot::Mutex;
    use resemble_core::Params;
    use resemble_index::{Index, OpenError};
    use resemble_proto::message::WatchOrigin;

    use super::*;
    use crate::alerts::log::AlertLog;
    use crate::overlays::Overlays;
    use crate::state::{Shared, Topic};

    #[test]
    fn an_index_that_cannot_be_opened_is_told() {
        let folder = tempfile::tempdir().unwrap();
        let index = Index::in_memory(&Params::default()).unwrap();
        let shared = Arc::new(Shared::new(Arc::new(index)));
        shared.set_roots(vec![Root {
            options: RootOptions::new(folder.path()),
            origin: WatchOrigin::Start,
            state: RootState::Live,
        }]);
        let (commands, _orders) = crossbeam_channel::unbounded();
        let context = Context::new(
            Arc::clone(&shared),
            commands.clone(),
            Arc::new(Mutex::new(AlertLog::open(&folder.path().join("alerts")))),
            Arc::new(Overlays::new(
                Arc::clone(&shared),
                commands,
                Vec::new(),
                resemble_fs::Show::default(),
            )),
            folder.path().to_path_buf(),
        );
        assert_eq!(status(&context).roots[0].state, RootState::Live);
        let path = PathBuf::from("/state/index.redb");
        let source = std::io::ErrorKind::ReadOnlyFilesystem.into();
        let error = OpenError::Permission { path, source };
        let reason = error.to_string();
        shared.trouble(Topic::Index, Path::new("/"), &reason, None);
        shared.close_index();
        let told = status(&context);
        assert_eq!(told.roots.len(), 1);
        assert_eq!(told.roots[0].state, RootState::Degraded);
        assert_eq!(told.degraded[0].reason, reason);
        assert!(!told.fresh);
        assert_eq!(told.index.contents, 0);
    }
}
