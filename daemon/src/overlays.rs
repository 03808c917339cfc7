//! Manages the mounted overlays, and ensures that no overlay is ever indexed.
//!
//! A mount point is excluded from the index by its path. The exclusion begins *before* anything is
//! mounted there, and ends when the mount is gone. So no scan ever enters the mount point. Each new
//! list of exclusions is made from all mounts while the table of mounts is locked. So two
//! simultaneous requests cannot lose a mount point.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use crossbeam_channel::Sender;
use parking_lot::Mutex;
use resemble_fs::neighbours::MapNeighbours;
use resemble_fs::{
    Audience, MountError, MountedOverlay, Neighbours, Overlay, OverlayConfig, Show, SimilarName,
    View,
};
use resemble_proto::message::{MountStatus, MountView, SeenRoot};
use tokio::sync::oneshot;

use crate::indexer::Command;
use crate::link::{LinkError, ViewLink};
use crate::state::Shared;

/// Mounts and unmounts overlays.
#[derive(Debug)]
pub struct Overlays {
    shared: Arc<Shared>,
    commands: Sender<Command>,
    /// The folders to which the daemon and the command write. The state folder is the first.
    own: Vec<PathBuf>,
    /// The home folder. A mount point in it disturbs programs that walk through the home folder.
    home: Option<PathBuf>,
    show: Show,
    similar_name: SimilarName,
    /// The configured mount point, the view there, and the link that leads to it.
    configured: Option<(PathBuf, View, Option<PathBuf>)>,
    mounts: Mutex<Mounts>,
}

/// The mounted overlays, and the mount points of overlays that are being mounted or unmounted.
#[derive(Debug, Default)]
struct Mounts {
    mounted: Vec<Mounted>,
    /// Mount points of overlays that are being mounted or unmounted.
    reserved: Vec<PathBuf>,
}

#[derive(Debug)]
struct Mounted {
    overlay: MountedOverlay,
    point: PathBuf,
    view: View,
    link: Option<ViewLink>,
}

/// An overlay to mount.
#[derive(Clone, Debug)]
pub struct Mount<'a> {
    /// The mount point.
    pub point: &'a Path,
    /// The view in which the overlay shows the tree.
    pub view: View,
    /// The path of the symbolic link to make, which leads to the mount point.
    pub link: Option<&'a Path>,
}

/// The reason why an overlay, or the link to it, could not be made.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each is the error of what failed
pub enum ShowError {
    #[error(transparent)]
    Mount(#[from] MountError),
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// The reason why an overlay was not unmounted.
#[derive(Debug, thiserror::Error)]
pub enum UnmountError {
    /// No overlay is mounted.
    #[error("no overlay is mounted")]
    None,
    /// No overlay is mounted at this place.
    #[error("no overlay of this daemon is mounted at {}", .0.display())]
    NotHere(PathBuf),
    /// Several overlays are mounted, and the request names none.
    #[error("{0} overlays are mounted: name the mount point")]
    Which(usize),
    /// The system refused to unmount the overlay.
    #[error(transparent)]
    Mount(#[from] MountError),
}

impl Overlays {
    /// Creates the manager, with no overlay mounted. The folders in `own` are excluded from the
    /// index like the mount points.
    pub fn new(
        shared: Arc<Shared>,
        commands: Sender<Command>,
        own: Vec<PathBuf>,
        show: Show,
    ) -> Self {
        Self {
            shared,
            commands,
            own,
            home: None,
            show,
            similar_name: SimilarName::default(),
            configured: None,
            mounts: Mutex::default(),
        }
    }

    /// Sets the home folder. A mount point in it causes a warning.
    #[must_use]
    pub fn with_home(mut self, home: Option<&Path>) -> Self {
        let home = home.and_then(|home| fs::canonicalize(home).ok());
        // A home folder `/` would contain every mount point, so it is ignored.
        self.home = home.filter(|home| home.parent().is_some());
        self
    }

    /// Sets the name under which listings show `.similar`.
    #[must_use]
    pub fn with_similar_name(mut self, name: SimilarName) -> Self {
        self.similar_name = name;
        self
    }

    /// Sets the configured mount, which a request can mount again.
    #[must_use]
    pub fn with_view(mut self, point: Option<&Path>, view: View, link: Option<&Path>) -> Self {
        self.configured = point.map(|point| (point.to_owned(), view, link.map(Path::to_owned)));
        self
    }

    /// Returns the configured mount, if there is one. `point` must be its mount point, its link or
    /// `None`.
    pub fn configured(&self, point: Option<&Path>) -> Option<Mount<'_>> {
        let (own, view, link) = self.configured.as_ref()?;
        let is_it = point.map(resolved).is_none_or(|point| {
            point == resolved(own) || link.as_deref().map(resolved) == Some(point)
        });
        is_it.then_some(Mount {
            point: own,
            view: *view,
            link: link.as_deref(),
        })
    }

    /// Returns whether an overlay hides the real entries that have this name.
    pub fn hides(&self, name: &OsStr) -> bool {
        self.similar_name.stands_for(name)
    }

    /// Mounts an overlay of the present roots. When this returns, the overlay answers. Returns a
    /// warning if the mount point disturbs other programs, and the status of the mount.
    pub fn mount(
        &self,
        mount: &Mount<'_>,
        neighbours: Arc<dyn Neighbours>,
    ) -> Result<(Option<String>, MountStatus), ShowError> {
        let point = resolved(mount.point);
        self.reserve(&point)?;
        let made = Overlay::mount(self.config(mount, &point), neighbours)
            .map_err(ShowError::from)
            .and_then(|overlay| {
                let link = mount.link.map(resolved);
                let link = link.map(|link| ViewLink::make(&link, overlay.mount_point()));
                // If the link cannot be made, the overlay is dropped, which unmounts it.
                Ok((link.transpose()?, overlay))
            });
        let mut mounts = self.mounts.lock();
        mounts.reserved.retain(|reserved| *reserved != point);
        let made = made.map(|(link, overlay)| {
            let mounted = Mounted {
                link,
                overlay,
                point: point.clone(),
                view: mount.view,
            };
            let status = mounted.status();
            mounts.mounted.push(mounted);
            status
        });
        self.exclude(&mounts);
        drop(mounts);
        let status = made?;
        // A root may have been added or removed while the overlay was being mounted.
        self.follow_roots();
        let warning = self.warning(&point);
        if let Some(warning) = &warning {
            tracing::warn!("{warning}");
        }
        Ok((warning, status))
    }

    /// Serves an overlay of the present roots to all users. The overlay is mounted already;
    /// `device` is the connection to the kernel.
    pub fn serve(
        &self,
        mount: &Mount<'_>,
        device: OwnedFd,
        audience: Arc<dyn Audience>,
    ) -> Result<(), MountError> {
        let point = resolved(mount.point);
        self.reserve(&point)?;
        // Each request is answered by the neighbours of its user. So these neighbours, which belong
        // to no user, are never used.
        let of_nobody = Arc::new(MapNeighbours::new());
        let served = Overlay::serve(self.config(mount, &point), device, of_nobody, audience);
        let mut mounts = self.mounts.lock();
        mounts.reserved.retain(|reserved| *reserved != point);
        mounts.mounted.push(Mounted {
            link: None,
            overlay: served?,
            point,
            view: mount.view,
        });
        self.exclude(&mounts);
        Ok(())
    }

    fn config(&self, mount: &Mount<'_>, point: &Path) -> OverlayConfig {
        OverlayConfig {
            mount_point: point.to_owned(),
            view: mount.view,
            show: self.show,
            similar_name: self.similar_name.clone(),
            roots: self.shared.root_paths(),
            exclude: self.shared.excluded(),
            folder: self.own.first().cloned(),
        }
    }

    /// Reserves a mount point and excludes it from the index, before anything is mounted there.
    fn reserve(&self, point: &Path) -> Result<(), MountError> {
        let mut mounts = self.mounts.lock();
        if mounts.points().any(|other| other == point) {
            return Err(MountError::AlreadyMounted {
                path: point.to_owned(),
            });
        }
        mounts.reserved.push(point.to_owned());
        self.exclude(&mounts);
        Ok(())
    }

    /// Returns a warning if the mount point is in a root or in the home folder. Other programs walk
    /// through these.
    fn warning(&self, point: &Path) -> Option<String> {
        let roots = self.shared.root_paths().into_iter();
        let mut around = roots
            .chain(self.home.clone())
            .filter(|folder| point.starts_with(folder));
        around.next().map(|folder| {
            format!(
                "the view {point} lies in {folder}: programs that walk through {folder} meet every \
                 file a second time there, and a duplicate finder may delete the originals; with \
                 --link {point} and without --mount the view lies outside and only a link there",
                point = point.display(),
                folder = folder.display()
            )
        })
    }

    /// Makes every overlay show the present roots.
    pub fn follow_roots(&self) {
        // The roots are read while the mounts are locked. So if there are two calls at the same
        // time, the later call has the newer roots.
        let mounts = self.mounts.lock();
        let roots = self.shared.root_paths();
        for mounted in &mounts.mounted {
            mounted.overlay.set_roots(&roots);
        }
    }

    /// Unmounts the overlay whose mount point or link is `point`, and returns its status. If
    /// `point` is `None`, there must be exactly one overlay, which is unmounted.
    pub fn unmount(&self, point: Option<&Path>) -> Result<MountStatus, UnmountError> {
        let point = point.map(resolved);
        let mounted = {
            let mut mounts = self.mounts.lock();
            let all = &mounts.mounted;
            let at = match &point {
                Some(point) => all
                    .iter()
                    .position(|mounted| mounted.is_at(point))
                    .ok_or_else(|| UnmountError::NotHere(point.clone()))?,
                None if all.len() > 1 => return Err(UnmountError::Which(all.len())),
                None if all.is_empty() => return Err(UnmountError::None),
                None => 0,
            };
            let mounted = mounts.mounted.remove(at);
            mounts.reserved.push(mounted.point.clone());
            mounted
        };
        let status = mounted.status();
        let unmounted = mounted.overlay.unmount();
        let mut mounts = self.mounts.lock();
        mounts
            .reserved
            .retain(|reserved| *reserved != mounted.point);
        if unmounted.is_err() {
            mounts.mounted.push(mounted);
        }
        self.exclude(&mounts);
        unmounted?;
        Ok(status)
    }

    /// Unmounts all overlays at the end of the daemon. Failures are logged.
    pub fn unmount_all(&self) {
        let all = std::mem::take(&mut self.mounts.lock().mounted);
        for mounted in all {
            if let Err(error) = mounted.overlay.unmount() {
                tracing::error!(point = ?mounted.point, %error, "the overlay stays behind");
            }
        }
    }

    /// Returns the status of each overlay that answers. Overlays that another program has unmounted
    /// are forgotten.
    pub fn status(&self) -> Vec<MountStatus> {
        let mut mounts = self.mounts.lock();
        let (alive, gone) = std::mem::take(&mut mounts.mounted)
            .into_iter()
            .partition::<Vec<_>, _>(|mounted| mounted.overlay.is_alive());
        mounts.mounted = alive;
        if !gone.is_empty() {
            self.exclude(&mounts);
        }
        let status = mounts.mounted.iter().map(Mounted::status).collect();
        drop(mounts);
        for mounted in gone {
            tracing::warn!(point = ?mounted.point, "the overlay was unmounted by another program");
            if let Err(error) = mounted.overlay.unmount() {
                tracing::debug!(%error, "nothing left to unmount");
            }
        }
        status
    }

    /// Excludes the daemon's folders and all mount points from the index. The shared state has the
    /// new list immediately, and the indexer gets it with its next commands. While the indexer
    /// scans, it reads no commands, but its observer asks the shared state. The caller holds the
    /// lock of the mounts, so no older list can replace the new list.
    fn exclude(&self, mounts: &Mounts) {
        let mut paths = excluded_always(&self.own);
        paths.extend(mounts.points().map(Path::to_owned));
        self.shared.set_excluded(paths.clone());
        let (reply, done) = oneshot::channel();
        if self.commands.send(Command::Exclude(paths, reply)).is_ok() {
            // The reply is not awaited, because the indexer may be scanning for minutes, and a
            // mount must not wait that long.
            drop(done);
        }
    }
}

impl Mounts {
    /// Returns all mount points that must not be entered.
    fn points(&self) -> impl Iterator<Item = &Path> {
        let mounted = self.mounted.iter().map(|mounted| &mounted.point);
        mounted.chain(&self.reserved).map(PathBuf::as_path)
    }
}

impl Mounted {
    /// Returns whether a path is the mount point of this overlay or the link to it. The path must
    /// be a result of [`resolved`].
    fn is_at(&self, path: &Path) -> bool {
        let link = self.link.as_ref().map(ViewLink::path);
        self.point == path || link == Some(path)
    }

    fn status(&self) -> MountStatus {
        MountStatus {
            path: self.point.as_path().into(),
            view: match self.view {
                View::Folders => MountView::Folders,
                View::Files => MountView::Files,
            },
            link: self.link.as_ref().map(|link| link.path().into()),
            roots: self.overlay.roots().into_iter().map(seen).collect(),
        }
    }
}

fn seen((path, view): (PathBuf, PathBuf)) -> SeenRoot {
    SeenRoot {
        path: path.as_path().into(),
        view: view.as_path().into(),
    }
}

/// Returns the paths that are excluded even if no overlay is mounted.
pub(crate) fn excluded_always(own: &[PathBuf]) -> Vec<PathBuf> {
    own.iter().map(|folder| resolved(folder)).collect()
}

/// Resolves the symbolic links of all components but the last. The last component is not accessed,
/// because it may be a mount that does not answer.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let parent = path
        .parent()
        .and_then(|parent| fs::canonicalize(parent).ok());
    match (parent, path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path.to_path_buf(),
    }
}

/// The longest time until the daemon notices that an overlay does not answer any more.
pub(crate) const LOOK: Duration = Duration::from_secs(5);

#[cfg(test)]
mod tests {
    use super::*;
    use crossbeam_channel::Receiver;
    use resemble_core::Params;
    use resemble_index::Index;
    use resemble_proto::message::{RootState, WatchOrigin};
    use resemble_scan::ingest::RootOptions;

    use crate::state::Root;

    fn overlays(roots: &[&str]) -> (Overlays, Receiver<Command>) {
        let index = Arc::new(Index::in_memory(&Params::default()).unwrap());
        let shared = Arc::new(Shared::new(index));
        let roots = roots.iter().map(|path| Root {
            options: RootOptions::new(path),
            origin: WatchOrigin::Start,
            state: RootState::Live,
        });
        shared.set_roots(roots.collect());
        let (commands, orders) = crossbeam_channel::unbounded();
        let own = vec!["/nowhere/state".into()];
        (
            Overlays::new(shared, commands, own, Show::default()),
            orders,
        )
    }

    /// Returns the list of exclusions that was sent to the indexer last.
    fn told(orders: &Receiver<Command>) -> Vec<PathBuf> {
        match orders.try_iter().last() {
            Some(Command::Exclude(paths, _)) => paths,
            other => panic!("{other:?}"),
        }
    }

    /// Each mount makes the list of exclusions and sends it to the indexer under one lock.
    /// Otherwise an older list could replace a newer one.
    #[test]
    fn two_mounts_at_a_time_are_both_left_out() {
        let (overlays, orders) = overlays(&["/srv"]);
        let (a, b) = (Path::new("/nowhere/a"), Path::new("/nowhere/b"));
        overlays.reserve(a).unwrap();
        overlays.reserve(b).unwrap();
        assert!(overlays.shared.is_excluded(&a.join("x")));
        assert!(overlays.shared.is_excluded(&b.join("x")));
        assert_eq!(told(&orders).len(), 3);
        assert!(
            matches!(overlays.reserve(a), Err(MountError::AlreadyMounted { .. })),
            "one point, one mount"
        );
    }

    #[test]
    fn a_view_where_programs_walk_is_worth_a_warning() {
        let home = tempfile::tempdir().unwrap();
        let home = fs::canonicalize(home.path()).unwrap();
        let (overlays, _orders) = overlays(&["/srv/docs"]);
        let overlays = overlays.with_home(Some(&home));
        for (point, folder) in [
            (home.join("Similar"), home.as_path()),
            ("/srv/docs/.view".into(), Path::new("/srv/docs")),
        ] {
            let warning = overlays.warning(&point).unwrap();
            let said = format!("{} lies in {}:", point.display(), folder.display());
            assert!(warning.contains(&said), "{warning}");
            assert!(warning.contains("--link"), "{warning}");
        }
        for quiet in ["/run/user/1000/resemble/view", "/srv/docs2/view"] {
            assert_eq!(overlays.warning(Path::new(quiet)), None);
        }
        // A home folder `/` causes no warning.
        let overlays = overlays.with_home(Some(Path::new("/")));
        assert_eq!(overlays.warning(Path::new("/run/view")), None);
    }
}
