//! The overlays that are mounted, and the rule that none is ever indexed.
//!
//! A mount point is excluded by its path *before* anything is mounted there, so that no scan looks
//! into it even for a moment, and stays so until the mount is gone.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crossbeam_channel::Sender;
use resemble_fs::{MountError, MountedOverlay, Neighbours, Overlay, OverlayConfig, Show, View};
use resemble_proto::message::{MountStatus, MountView};
use tokio::sync::oneshot;

use crate::indexer::Command;
use crate::state::{Shared, Topic, lock};

/// Mounts and unmounts.
#[derive(Debug)]
pub struct Overlays {
    shared: Arc<Shared>,
    commands: Sender<Command>,
    own: Vec<PathBuf>,
    show: Show,
    mounted: Mutex<Vec<Mounted>>,
}

#[derive(Debug)]
struct Mounted {
    overlay: MountedOverlay,
    point: PathBuf,
    view: View,
}

/// Why an overlay was not taken away.
#[derive(Debug, thiserror::Error)]
pub enum UnmountError {
    /// There is none.
    #[error("no overlay is mounted")]
    None,
    /// There is none at this place.
    #[error("no overlay of this daemon is mounted at {}", .0.display())]
    NotHere(PathBuf),
    /// There are several.
    #[error("{0} overlays are mounted: name the mount point")]
    Which(usize),
    /// The system refused.
    #[error(transparent)]
    Mount(#[from] MountError),
}

impl Overlays {
    /// Nothing is mounted. Our own folders are excluded together with the mount points.
    pub const fn new(
        shared: Arc<Shared>,
        commands: Sender<Command>,
        own: Vec<PathBuf>,
        show: Show,
    ) -> Self {
        Self {
            shared,
            commands,
            own,
            show,
            mounted: Mutex::new(Vec::new()),
        }
    }

    /// Mounts an overlay of the roots of this moment; it answers when this returns.
    pub fn mount(
        &self,
        point: &Path,
        view: View,
        neighbours: Arc<dyn Neighbours>,
    ) -> Result<(), MountError> {
        let point = resolved(point);
        self.exclude(self.points().into_iter().chain([point.clone()]));
        let config = OverlayConfig {
            mount_point: point.clone(),
            view,
            show: self.show,
            roots: self
                .shared
                .roots()
                .into_iter()
                .map(|root| root.options.path)
                .collect(),
            exclude: self.shared.excluded(),
        };
        match Overlay::mount(config, neighbours) {
            Ok(overlay) => {
                lock(&self.mounted).push(Mounted {
                    overlay,
                    point,
                    view,
                });
                self.shared.mended(Topic::Overlay);
                Ok(())
            }
            Err(error) => {
                self.exclude(self.points());
                Err(error)
            }
        }
    }

    /// Takes an overlay away; without a mount point the only one.
    pub fn unmount(&self, point: Option<&Path>) -> Result<(), UnmountError> {
        let point = point.map(resolved);
        let mounted = {
            let mut all = lock(&self.mounted);
            let at = match &point {
                Some(point) => all
                    .iter()
                    .position(|mounted| mounted.point == *point)
                    .ok_or_else(|| UnmountError::NotHere(point.clone()))?,
                None if all.len() > 1 => return Err(UnmountError::Which(all.len())),
                None if all.is_empty() => return Err(UnmountError::None),
                None => 0,
            };
            all.remove(at)
        };
        if let Err(error) = mounted.overlay.unmount() {
            lock(&self.mounted).push(mounted);
            return Err(error.into());
        }
        self.exclude(self.points());
        Ok(())
    }

    /// Takes all away, as far as that is possible: the daemon ends.
    pub fn unmount_all(&self) {
        for mounted in std::mem::take(&mut *lock(&self.mounted)) {
            if let Err(error) = mounted.overlay.unmount() {
                tracing::error!(point = ?mounted.point, %error, "the overlay stays behind");
            }
        }
    }

    /// The overlays that answer. Those that somebody unmounted by hand are forgotten.
    pub fn status(&self) -> Vec<MountStatus> {
        let mut gone = Vec::new();
        let status = {
            let mut all = lock(&self.mounted);
            for at in (0..all.len()).rev() {
                if !all[at].overlay.is_alive() {
                    gone.push(all.remove(at));
                }
            }
            let status = all.iter().map(|mounted| MountStatus {
                path: mounted.point.as_path().into(),
                view: match mounted.view {
                    View::Folders => MountView::Folders,
                    View::Files => MountView::Files,
                },
            });
            status.collect()
        };
        for mounted in gone {
            tracing::warn!(point = ?mounted.point, "the overlay was unmounted by somebody else");
            if let Err(error) = mounted.overlay.unmount() {
                tracing::debug!(%error, "nothing left to unmount");
            }
        }
        status
    }

    fn points(&self) -> Vec<PathBuf> {
        lock(&self.mounted)
            .iter()
            .map(|mounted| mounted.point.clone())
            .collect()
    }

    /// Tells the state at once and the indexer as soon as it listens: during a scan the state is
    /// what the observer asks.
    fn exclude(&self, points: impl IntoIterator<Item = PathBuf>) {
        let mut paths = excluded_always(&self.own);
        paths.extend(points);
        self.shared.set_excluded(paths.clone());
        let (reply, done) = oneshot::channel();
        if self.commands.send(Command::Exclude(paths, reply)).is_ok() {
            // Not asked for: a scan of minutes must not hold up a mount.
            drop(done);
        }
    }
}

/// What is left out with or without overlays.
pub(crate) fn excluded_always(own: &[PathBuf]) -> Vec<PathBuf> {
    own.iter().map(|folder| resolved(folder)).collect()
}

/// The path without symbolic links, its last component aside: it may be a mount that does not
/// answer.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let parent = path
        .parent()
        .and_then(|parent| fs::canonicalize(parent).ok());
    match (parent, path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path.to_path_buf(),
    }
}

/// How long a dead overlay may go unnoticed.
pub(crate) const LOOK: Duration = Duration::from_secs(5);
