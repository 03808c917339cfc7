//! Scans whole roots, and acts on the results of any reconcile.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use resemble_proto::message::RootState;
use resemble_scan::ingest::{Cause, Report, Target};

use super::observer::{Meanwhile, Watching};
use super::watches::{guard, look, look_at_root};
use super::{Indexer, MOVING, MOVING_SHARE, ROOTS, Retry, TURN, roots};
use crate::coalesce::Kind;
use crate::state::Topic;

impl Indexer {
    /// Scans the roots in `scans` as a whole. Returns `false` if the index is broken or the scan
    /// was stopped.
    pub(super) fn run_scans(&mut self) -> bool {
        // A scan reads each large file to its end, without a pause in which other files are read.
        self.take_turns(false);
        while let Some(root) = self.scans.pop_front() {
            let state = self.shared.set_root_state(&root, RootState::Scanning);
            self.slow.retain(|target| !roots::is_under(target, &root));
            let began = Instant::now();
            let identity = look_at_root(&root);
            // In the first scan of a root every file is new, so none raises an alert.
            let news = self.complete.contains(&root);
            self.shared.set_scan(Some(&root));
            let Some(report) = self.scan(Target::subtree(root.clone()), news) else {
                return false;
            };
            self.shared.set_scan(None);
            if report.stopped {
                return false;
            }
            if report.unavailable.contains(&root) {
                self.shared.set_root_state(&root, RootState::Unavailable);
                self.identities.remove(&root);
                self.watches.disarm(self.source.as_mut(), &root);
                if state != Some(RootState::Unavailable) {
                    tracing::warn!(root = ?root, "cannot be reached; its last answers stay");
                }
                continue;
            }
            match identity {
                Some(identity) => self.identities.insert(root.clone(), identity),
                None => self.identities.remove(&root),
            };
            // The number of waiting documents is published before the root becomes live, because
            // answers about the root do not have these documents yet.
            self.tell_waits();
            self.shared.set_root_state(&root, RootState::Live);
            self.shared.rebuilt(&root);
            if self.complete.insert(root.clone()) {
                self.keep_roots();
            }
            tracing::info!(
                root = ?root,
                files = report.progress.files,
                read = report.progress.files_read,
                bytes = report.progress.bytes_read,
                unreadable = report.error_count,
                watches = self.watches.len(),
                seconds = began.elapsed().as_secs_f32(),
                "scanned"
            );
        }
        true
    }

    pub(super) fn scan_all(&mut self) {
        self.slow.clear();
        self.scans = self.shared.root_paths().into();
        for root in &self.scans {
            self.shared.set_root_state(root, RootState::Scanning);
        }
    }

    /// Starts the source and empties the table of watches. After lost events or a failed attempt,
    /// restarts the source and empties the table again.
    pub(super) fn restart_source(&mut self) {
        let last = self.deaf.take();
        self.rescan_source = false;
        self.again = None;
        if let Err(error) = self.source.reset() {
            self.deaf = Some(Retry::after(last));
            self.shared.trouble(
                Topic::Events,
                Path::new("/"),
                &format!("{error}; until that can be done, changes are looked for now and then"),
                error.remedy(),
            );
            if last.is_some() {
                // This attempt has failed, too. All roots were scanned at the first failure, and
                // have been polled since.
                return;
            }
        } else {
            self.shared.mended(Topic::Events);
        }
        self.watches.clear();
        for root in self.shared.root_paths() {
            guard(self.source.as_mut(), &root);
        }
        self.watch_catalogue_folders();
        self.scan_all();
        // The cookies of waiting barriers were lost with the old source. The scan that follows
        // finds the changes that the barriers wait for. But another overflow may interrupt that
        // scan, so the barriers get cookies of the new source.
        let mut syncs = std::mem::take(&mut self.syncs);
        for sync in &mut syncs {
            self.issue_cookie(sync);
        }
        self.syncs = syncs;
    }

    /// Reconciles the index with everything below a directory. Directories that were being listed
    /// when a mount changed are scheduled for another check. Returns the report; `None` if the
    /// index is broken.
    pub(super) fn scan(&mut self, target: Target, news: bool) -> Option<Report> {
        let (report, meanwhile) = self.reconcile(&[target], news);
        let again = meanwhile.listed.into_iter();
        self.unresolved
            .extend(again.map(|dir| Target::entry(dir, Cause::Unknown)));
        report
    }

    /// Runs a reconcile and acts on its report, which is `None` if the index is broken. Also
    /// returns the changes of mounts during the reconcile. The caller decides whether these changes
    /// require another check of the targets.
    pub(super) fn reconcile(
        &mut self,
        targets: &[Target],
        news: bool,
    ) -> (Option<Report>, Meanwhile) {
        let is_deep =
            |target: &Target| target.is_subtree() || matches!(target, Target::Renamed { .. });
        let deep = !targets.is_empty() && targets.iter().all(is_deep);
        let Some(ingest) = &mut self.ingest else {
            return (None, Meanwhile::default());
        };
        let mut observer = Watching {
            source: self.source.as_mut(),
            watches: &mut self.watches,
            shared: &self.shared,
            stop: &self.options.stop,
            deep,
            alerts: news.then_some(&self.alerts),
            mounts: &mut self.mounts,
            meanwhile: Meanwhile::default(),
            unarmed: Vec::new(),
        };
        let reconciled = ingest.reconcile(targets, &mut observer);
        let (mut meanwhile, mounts) = (observer.meanwhile, observer.mounts);
        let unarmed = observer.unarmed;
        meanwhile.look(mounts, &self.shared, None);
        let assumed = ingest.assumed() as u64;
        self.other_mounts(&meanwhile.points);
        // If a directory did not exist when it was to be watched, it has no watch. If it exists
        // now, it is checked again.
        let is_unheard = |dir: &PathBuf| {
            matches!(look(dir), Some((Kind::Directory, _))) && !self.watches.covers(dir)
        };
        let unheard: Vec<PathBuf> = unarmed.into_iter().filter(is_unheard).collect();
        self.look_again(
            unheard
                .into_iter()
                .map(|dir| Target::entry(dir, Cause::Unknown)),
        );
        let displaced = self.watches.take_displaced();
        self.look_again(displaced.into_iter().map(Target::subtree));
        let report = match reconciled {
            Ok(report) => {
                self.shared.set_assumed(assumed);
                self.consequences(&report);
                Some(report)
            }
            Err(error) => {
                self.broken(&error);
                None
            }
        };
        (report, meanwhile)
    }

    /// Sets whether the reading of a large file pauses after [`TURN`], so that other files are
    /// read.
    pub(super) fn take_turns(&mut self, turns: bool) {
        if let Some(ingest) = &mut self.ingest {
            ingest.set_turn(turns.then_some(TURN));
        }
    }

    /// Reads the assumed parts of files that have grown, to verify them. Returns `false` if the
    /// index is broken.
    pub(super) fn verify(&mut self) -> bool {
        let Some(ingest) = &mut self.ingest else {
            return true;
        };
        let targets = ingest.assumed_targets();
        // There may be fewer assumed files now, because `assumed_targets` drops files that were
        // removed.
        self.shared.set_assumed(ingest.assumed() as u64);
        self.look_at_found(targets)
    }

    pub(super) fn consequences(&mut self, report: &Report) {
        self.shared
            .count_read(report.progress.files_read, report.progress.bytes_read);
        self.shared
            .set_watched(self.watches.len(), self.watches.polled().count());
        if report.changes > 0 || report.removed > 0 {
            self.shared.tick();
        }
        let (now, wall) = (Instant::now(), SystemTime::now());
        for (dir, at) in &report.recheck {
            let rest = at.duration_since(wall).unwrap_or(Duration::ZERO);
            self.recheck
                .insert(dir.clone(), (now + rest, Cause::Unknown));
        }
        for path in &report.moving {
            let file = look(path).map(|(_, identity)| identity);
            let pause = MOVING.max(self.cost_of(path, file) * MOVING_SHARE);
            self.recheck
                .insert(path.clone(), (now + pause, Cause::Modified));
        }
        if !report.unresolved.is_empty() {
            self.unresolved.extend(report.unresolved.iter().cloned());
            self.next_unresolved = now + MOVING;
        }
        self.unfinished.extend(report.unfinished.iter().cloned());
        for root in &report.replaced {
            if !self.scans.contains(root) {
                self.watches.disarm(self.source.as_mut(), root);
                self.scans.push_back(root.clone());
            }
        }
        for root in self.shared.roots() {
            let path = root.options.path;
            let is_reached = matches!(root.state, RootState::Live | RootState::Degraded);
            if is_reached && report.unavailable.contains(&path) && !self.scans.contains(&path) {
                self.scans.push_back(path);
            }
        }
        for (path, errno) in &report.passing {
            self.passing.met(path, *errno, now);
        }
        if !report.passing.is_empty() {
            self.tell_passing();
        }
        for error in &report.errors {
            tracing::debug!(path = ?error.path, errno = error.errno, "unreadable");
        }
        for mount in &report.mounts_skipped {
            tracing::debug!(path = ?mount, "not entered: its file system is left out");
        }
    }

    /// Finds the changed mounts below the roots, and schedules a check of their mount points.
    pub(super) fn check_mounts(&mut self) {
        let points = self.mounts.changed(&self.shared.root_paths());
        self.other_mounts(&points);
    }

    /// Schedules a check of these targets. The check is due immediately.
    pub(super) fn look_again(&mut self, targets: impl IntoIterator<Item = Target>) {
        let before = self.unresolved.len();
        self.unresolved.extend(targets);
        if self.unresolved.len() > before {
            self.next_unresolved = Instant::now();
        }
    }

    fn other_mounts(&mut self, points: &[PathBuf]) {
        for point in points {
            tracing::debug!(?point, "something was mounted or unmounted");
            // If a directory is visible at several places, its changes may have been reported only
            // at `point`.
            let twins: Vec<_> = self.watches.twins(point).map(Target::subtree).collect();
            self.look_again(twins);
            // The watch is ended even if the directory at `point` seems to be the same: the kernel
            // reuses device and inode numbers.
            self.watches.disarm(self.source.as_mut(), point);
        }
        self.look_again(points.iter().map(Target::subtree));
    }

    /// Checks whether a root is gone, is back or was replaced, and whether a mount in it has
    /// changed.
    pub(super) fn check_roots(&mut self) {
        self.next_roots = Instant::now() + ROOTS;
        self.check_mounts();
        for root in self.shared.roots() {
            let path = root.options.path;
            let identity = look_at_root(&path);
            let known = self.identities.get(&path).copied();
            if identity == known && (identity.is_none() || self.watches.covers(&path)) {
                continue;
            }
            if self.scans.contains(&path) {
                continue;
            }
            if identity.is_some() || known.is_some() {
                tracing::info!(root = ?path, "went, came back or was replaced");
                self.watches.disarm(self.source.as_mut(), &path);
                guard(self.source.as_mut(), &path);
                self.scans.push_back(path);
            }
        }
    }
}
