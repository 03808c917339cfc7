//! Manages the mounted overlays, and ensures that none is ever indexed.
//!
//! A mount point is excluded by its path *before* anything is mounted there, and until the mount is
//! gone. So no scan ever enters it. The exclusion list is always made from all mounts, under their
//! lock. So two concurrent requests cannot lose each other's mount point.

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
    /// Folders of the daemon's own, the state folder first.
    own: Vec<PathBuf>,
    /// The home folder, in which a view disturbs other programs.
    home: Option<PathBuf>,
    show: Show,
    similar_name: SimilarName,
    /// The configured mount point, its view and the link to it.
    configured: Option<(PathBuf, View, Option<PathBuf>)>,
    mounts: Mutex<Mounts>,
}

/// Mounted overlays, and those being mounted.
#[derive(Debug, Default)]
struct Mounts {
    mounted: Vec<Mounted>,
    /// Mount points of overlays that are not mounted yet, or not yet gone.
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
    /// Form of the displayed tree.
    pub view: View,
    /// A symbolic link that is to lead to the mount point.
    pub link: Option<&'a Path>,
}

/// The reasons why there is no overlay, or no link to it.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each is the error of what failed
pub enum ShowError {
    #[error(transparent)]
    Mount(#[from] MountError),
    #[error(transparent)]
    Link(#[from] LinkError),
}

/// The reasons why an overlay was not unmounted.
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
    /// The system refused.
    #[error(transparent)]
    Mount(#[from] MountError),
}

impl Overlays {
    /// Starts without mounts. `own` are excluded together with the mount points.
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

    /// Sets the home folder; a view in it causes a warning.
    #[must_use]
    pub fn with_home(mut self, home: Option<&Path>) -> Self {
        let home = home.and_then(|home| fs::canonicalize(home).ok());
        // If the home folder is `/`, everything is in it.
        self.home = home.filter(|home| home.parent().is_some());
        self
    }

    /// Lists `.similar` under another name.
    #[must_use]
    pub fn with_similar_name(mut self, name: SimilarName) -> Self {
        self.similar_name = name;
        self
    }

    /// Records the configured mount, to mount it again on request.
    #[must_use]
    pub fn with_view(mut self, point: Option<&Path>, view: View, link: Option<&Path>) -> Self {
        self.configured = point.map(|point| (point.to_owned(), view, link.map(Path::to_owned)));
        self
    }

    /// Returns the configured mount, if `point` is its mount point, its link or `None`.
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

    /// Returns whether an overlay hides a real entry of this name.
    pub fn hides(&self, name: &OsStr) -> bool {
        self.similar_name.stands_for(name)
    }

    /// Mounts an overlay of the present roots; it answers when this returns. Returns the mount, and
    /// a warning if the mount point disturbs other programs.
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
                // If this fails, the overlay is dropped, which unmounts it.
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

    /// Serves an overlay of the present roots that was mounted for all users.
    pub fn serve(
        &self,
        mount: &Mount<'_>,
        device: OwnedFd,
        audience: Arc<dyn Audience>,
    ) -> Result<(), MountError> {
        let point = resolved(mount.point);
        self.reserve(&point)?;
        // Every request has a user, so these neighbours are never used.
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

    /// Excludes a mount point from now on, before anything is mounted there.
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

    /// Returns a warning if the mount point is in a folder that other programs walk through.
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

    /// Shows the present roots in every overlay.
    pub fn follow_roots(&self) {
        // The roots are read under the lock, so that the later of two calls has the later roots.
        let mounts = self.mounts.lock();
        let roots = self.shared.root_paths();
        for mounted in &mounts.mounted {
            mounted.overlay.set_roots(&roots);
        }
    }

    /// Unmounts the overlay at a mount point or at the link to it; without either, the only one.
    /// Returns its status.
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

    /// Unmounts all overlays when the daemon ends; failures are logged.
    pub fn unmount_all(&self) {
        let all = std::mem::take(&mut self.mounts.lock().mounted);
        for mounted in all {
            if let Err(error) = mounted.overlay.unmount() {
                tracing::error!(point = ?mounted.point, %error, "the overlay stays behind");
            }
        }
    }

    /// Returns the overlays that answer, and forgets those that were unmounted by hand.
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

    /// Sets the exclusions in the shared state at once, and in the indexer when it reads commands.
    /// An indexer that scans reads none, but its observer asks the shared state. The caller holds
    /// the lock of the mounts, so the last update is the right one.
    fn exclude(&self, mounts: &Mounts) {
        let mut paths = excluded_always(&self.own);
        paths.extend(mounts.points().map(Path::to_owned));
        self.shared.set_excluded(paths.clone());
        let (reply, done) = oneshot::channel();
        if self.commands.send(Command::Exclude(paths, reply)).is_ok() {
            // The reply is not awaited: a scan of minutes must not delay a mount.
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
    /// Returns whether a path from [`resolved`] is the mount point of this overlay or its link.
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

/// Returns the paths that are excluded with or without overlays.
pub(crate) fn excluded_always(own: &[PathBuf]) -> Vec<PathBuf> {
    own.iter().map(|folder| resolved(folder)).collect()
}

/// Returns the path without symbolic links, except in its last component, which is not accessed: it
/// may be a mount that does not answer.
pub(crate) fn resolved(path: &Path) -> PathBuf {
    let parent = path
        .parent()
        .and_then(|parent| fs::canonicalize(parent).ok());
    match (parent, path.file_name()) {
        (Some(parent), Some(name)) => parent.join(name),
        _ => path.to_path_buf(),
    }
}

/// Longest time until a dead overlay is noticed.
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

    /// Returns the exclusions last sent to the indexer.
    fn told(orders: &Receiver<Command>) -> Vec<PathBuf> {
        match orders.try_iter().last() {
            Some(Command::Exclude(paths, _)) => paths,
            other => panic!("{other:?}"),
        }
    }

    /// Each mount collects the mount points and sends them to the indexer under one lock. Otherwise
    /// an older list could replace a newer one.
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
        // With the home folder `/` there is no warning.
        let overlays = overlays.with_home(Some(Path::new("/")));
        assert_eq!(overlays.warning(Path::new("/run/view")), None);
    }
}
