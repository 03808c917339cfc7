//! Observes a reconcile: sets a watch before each listing, and reports changed files after each
//! commit.

use std::path::{Path, PathBuf};

use crossbeam_channel::Sender;
use resemble_core::stop::StopFlag;
use resemble_index::Snapshot;
use resemble_scan::ingest::{Committed, Listing, Observer, Progress};
use resemble_scan::walk::Stat;

use super::mounts::MountPoints;
use super::watches::{Armed, Identity, Watches};
use crate::alerts;
use crate::state::Shared;
use crate::watch::Source;

/// The observer of one reconcile. It lends the reconcile the state of the indexer.
pub(super) struct Watching<'a> {
    pub(super) source: &'a mut dyn Source,
    pub(super) watches: &'a mut Watches,
    pub(super) shared: &'a Shared,
    pub(super) stop: &'a StopFlag,
    /// True if all targets are whole subtrees or renames. Then every directory below a listed
    /// directory is listed, too.
    pub(super) deep: bool,
    /// The channel for changed files; `None` if no change raises an alert.
    pub(super) alerts: Option<&'a Sender<alerts::Message>>,
    pub(super) mounts: &'a mut MountPoints,
    pub(super) meanwhile: Meanwhile,
    /// Directories that could not be watched, because they did not exist just before their listing.
    pub(super) unarmed: Vec<PathBuf>,
}

/// The changes of mounts during a reconcile.
#[derive(Debug, Default)]
pub(super) struct Meanwhile {
    /// True if anything was mounted or unmounted, at any path.
    pub(super) is_other: bool,
    /// The changed mount points below the roots.
    pub(super) points: Vec<PathBuf>,
    /// Directories that were being listed when mounts changed. Their listings are uncertain.
    pub(super) listed: Vec<PathBuf>,
    /// The directory that is being listed.
    last: Option<PathBuf>,
}

impl Meanwhile {
    /// Records whether mounts have changed since the last call. `next` is the directory that is
    /// listed next.
    pub(super) fn look(&mut self, mounts: &mut MountPoints, shared: &Shared, next: Option<&Path>) {
        let last = std::mem::replace(&mut self.last, next.map(Path::to_owned));
        if mounts.is_other_list() {
            self.is_other = true;
            self.points.extend(mounts.changed(&shared.root_paths()));
            self.listed.extend(last);
        }
    }
}

impl Observer for Watching<'_> {
    fn before_listing(&mut self, dir: &Path) -> Listing {
        // An overlay may have been mounted since the scan began. The command to exclude that
        // overlay waits until the scan ends, but the shared state already has the overlay's path.
        if self.shared.is_excluded(dir) {
            return Listing::Skip;
        }
        let armed = self.watches.arm(self.source, dir, self.deep);
        if armed == Armed::Gone {
            self.unarmed.push(dir.to_path_buf());
        }
        self.meanwhile.look(self.mounts, self.shared, Some(dir));
        // Mounting over a watched directory, or unmounting, makes no event. So an unchanged watch
        // does not show that the directory is unchanged.
        if armed == Armed::Kept && !self.meanwhile.is_other {
            Listing::Go
        } else {
            Listing::Anew
        }
    }

    fn found_directories(&mut self, dirs: &[(&Path, Stat)]) -> bool {
        let dirs = dirs.iter().copied();
        let dirs = dirs.filter(|(dir, _)| !self.shared.is_excluded(dir));
        let dirs = dirs.map(|(dir, Stat { dev, ino, .. })| (dir, Identity { dev, ino }));
        self.watches.arm_early(self.source, dirs, self.deep)
    }

    fn directory_gone(&mut self, dir: &Path) {
        self.watches.disarm(self.source, dir);
    }

    fn committed(&mut self, files: &[Committed], before: &Snapshot) {
        self.shared.tick();
        let Some(alerts) = self.alerts else {
            return;
        };
        let changed: Vec<_> = files
            .iter()
            .filter(|file| file.content.is_some() && file.content != file.was)
            .map(|file| file.path.clone())
            .collect();
        if !changed.is_empty()
            && alerts
                .send(alerts::Message::Read {
                    paths: changed,
                    before: before.clone(),
                })
                .is_err()
        {
            tracing::debug!("the thread that raises alerts has ended");
        }
    }

    fn taken_apart(&mut self) {
        self.shared.tick();
        if let Some(alerts) = self.alerts
            && alerts.send(alerts::Message::TakenApart).is_err()
        {
            tracing::debug!("the thread that raises alerts has ended");
        }
    }

    fn progress(&mut self, progress: &Progress) {
        self.shared.set_progress(progress);
    }

    fn should_stop(&mut self) -> bool {
        self.stop.is_set()
    }
}
