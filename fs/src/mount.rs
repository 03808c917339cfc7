//! Creates, repairs and ends a mount.
//!
//! 1. **Roots are opened before the mount is made**, so no path is ever resolved through the mount.
//! 2. **A mount that a killed daemon left is removed**: it has our type, and any access fails with
//!    ENOTCONN. A mount that answers belongs to a live daemon, so a new mount there is refused.
//! 3. **Ending is idempotent and lazy.** Afterwards the path is free, the threads have ended, and
//!    the directory is gone if we made it. All this holds even if programs are still inside the
//!    mount. (Without privileges and fusectl, threads end only when these programs have left.) Only
//!    the mount with our id is unmounted. If a user has mounted something else there, that mount
//!    stays.
//! 4. **Others may end a mount**: [`MountedOverlay::is_alive`] notices that a user ran `umount M`.

use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use resemble_mounts::{self as mounts, Mount};

use crate::adapter::{Connection, connect};
use crate::audience::Spaces;
use crate::lanes::Lanes;
use crate::names::SimilarName;
use crate::neighbours::{Audience, Neighbours};
use crate::view::{Namespace, Show, View};

mod point;
mod transport;

use point::MountPoint;
pub use transport::{mount_for_all, receive_device, send_device, unmount_root};

/// The longest wait for the end of a mount's threads. After this time the threads are left running,
/// and a warning is logged.
const PATIENCE: Duration = Duration::from_secs(5);

/// The options of an overlay.
#[derive(Clone, Debug)]
pub struct OverlayConfig {
    /// The mount point. If it does not exist, it is made, and removed at the end. An existing
    /// directory must be empty.
    pub mount_point: PathBuf,
    /// The shape of the view.
    pub view: View,
    /// The places where listings show `.similar`.
    pub show: Show,
    /// The name under which listings show `.similar`.
    pub similar_name: SimilarName,
    /// The watched directories, by their paths in the index. If there is only one directory, the
    /// mount shows its entries. If there are several, each is a folder in the mount. A missing
    /// directory appears empty until it exists again. [`MountedOverlay::set_roots`] changes the
    /// directories.
    pub roots: Vec<PathBuf>,
    /// Paths that are not shown, with everything below them. The mount point is always left out.
    pub exclude: Vec<PathBuf>,
    /// The folder in which nameless files store the bytes of large open files. `None` keeps these
    /// bytes in memory.
    pub folder: Option<PathBuf>,
}

/// The reason why a mount could not be made or removed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // the messages say what the variants are; the fields are what they name
pub enum MountError {
    #[error("nothing to mount: no directory is watched")]
    NoRoots,
    #[error("{}: not an absolute path", path.display())]
    Relative { path: PathBuf },
    #[error("{} lies in {}: name only one of them", inner.display(), outer.display())]
    NestedRoots { inner: PathBuf, outer: PathBuf },
    #[error(
        "{} lies in the overlay mounted at {}: choose a place outside of it",
        path.display(),
        mount.display()
    )]
    InsideOverlay { path: PathBuf, mount: PathBuf },
    #[error(
        "{} would be covered by the mount at {}: choose another mount point",
        root.display(),
        point.display()
    )]
    RootInMountPoint { root: PathBuf, point: PathBuf },
    #[error("{}: an overlay is already mounted here and answers; unmount it first", path.display())]
    AlreadyMounted { path: PathBuf },
    #[error("{}: not a directory", path.display())]
    NotADirectory { path: PathBuf },
    #[error("{}: not empty; a mount point must be an empty or absent directory", path.display())]
    NotEmpty { path: PathBuf },
    #[error("{}: {source}", path.display())]
    Path { path: PathBuf, source: io::Error },
    #[error(
        "cannot open /dev/fuse: {source}; is the fuse module loaded (`modprobe fuse`), and may you \
         open it?"
    )]
    Device { source: io::Error },
    #[error(
        "fusermount3 is not installed; without privileges it is needed to mount (package fuse3)"
    )]
    NoHelper,
    #[error("{}: fusermount3 refused: {message}", path.display())]
    Refused { path: PathBuf, message: String },
    #[error("{}: cannot mount: {source}", path.display())]
    Mount { path: PathBuf, source: io::Error },
    #[error("{}: the mount does not answer: {source}", path.display())]
    Session { path: PathBuf, source: io::Error },
    #[error("{}: cannot unmount: {source}", path.display())]
    Unmount { path: PathBuf, source: io::Error },
    #[error("{}: something else is mounted over the overlay; unmount that first", path.display())]
    Covered { path: PathBuf },
}

impl MountError {
    fn at(path: &Path) -> impl Fn(io::Error) -> Self + Copy {
        move |source| Self::Path {
            path: path.to_owned(),
            source,
        }
    }
}

/// The entry point of the crate, which makes overlays.
#[derive(Clone, Copy, Debug)]
pub struct Overlay;

impl Overlay {
    /// Mounts an overlay. When this returns, the mount answers.
    pub fn mount(
        config: OverlayConfig,
        neighbours: Arc<dyn Neighbours>,
    ) -> Result<MountedOverlay, MountError> {
        Self::start(config, neighbours, false, |path, space, lanes| {
            let mut point = MountPoint::prepare(path)?;
            match Running::start(&point.path, space, lanes) {
                Ok(running) => Ok((point, running)),
                Err(error) => {
                    point.remove_created();
                    Err(error)
                }
            }
        })
    }

    /// Serves a mount that [`mount_for_all`] has made, to all users. `audience` decides what each
    /// caller sees. When this returns, the mount answers. When the mount is no longer served, it
    /// stays without answers until the process that made it removes it.
    pub fn serve(
        config: OverlayConfig,
        device: OwnedFd,
        neighbours: Arc<dyn Neighbours>,
        audience: Arc<dyn Audience>,
    ) -> Result<MountedOverlay, MountError> {
        Self::start(config, neighbours, true, |path, space, lanes| {
            let spaces = Spaces::new(space, Some(audience));
            let session = |source| MountError::Session {
                path: path.clone(),
                source,
            };
            let connection = connect(device, spaces, lanes).map_err(session)?;
            let ended = Arc::new(Ended::default());
            let server = serve(connection, Arc::clone(&ended)).map_err(session)?;
            let running = Running {
                mount: None,
                server: Some(server),
                ended,
            };
            Ok((MountPoint::given(path), running))
        })
    }

    fn start(
        config: OverlayConfig,
        neighbours: Arc<dyn Neighbours>,
        is_for_all: bool,
        run: impl FnOnce(
            PathBuf,
            Arc<Namespace>,
            Arc<Lanes>,
        ) -> Result<(MountPoint, Running), MountError>,
    ) -> Result<MountedOverlay, MountError> {
        let OverlayConfig {
            mount_point,
            view,
            show,
            similar_name,
            roots,
            exclude,
            folder,
        } = config;
        let path = point::resolve(&mount_point)?;
        check_roots(&roots, &path)?;
        let failed = MountError::at(&path);

        let mut left_out = vec![path.clone()];
        // Each path is left out both as it is given and with its symbolic links resolved. The last
        // component of a path is not accessed, because it may be a mount of ours or a dead mount.
        for given in exclude {
            left_out.extend(std::path::absolute(&given).ok());
            left_out.extend(point::resolve(&given).ok());
        }
        let space = Namespace::new(view, show, &roots, left_out, neighbours).map_err(failed)?;
        let space = space.with_similar_name(similar_name);
        let space = Arc::new(space.bounded(is_for_all, folder));
        let lanes = Arc::new(Lanes::start(is_for_all).map_err(failed)?);

        match run(path, Arc::clone(&space), Arc::clone(&lanes)) {
            Ok((point, running)) => {
                let path = point.path.clone();
                tracing::info!(path = %path.display(), ?view, "mounted");
                let state = Mutex::new(Some(State {
                    point,
                    running,
                    lanes,
                }));
                Ok(MountedOverlay { path, space, state })
            }
            Err(error) => {
                lanes.close(PATIENCE);
                Err(error)
            }
        }
    }
}

/// Checks that there are roots, and that each is absolute. No root may lie in another root, in an
/// overlay, or at or below the mount point.
fn check_roots(roots: &[PathBuf], point: &Path) -> Result<(), MountError> {
    if roots.is_empty() {
        return Err(MountError::NoRoots);
    }
    for (index, root) in roots.iter().enumerate() {
        if !root.is_absolute() {
            return Err(MountError::Relative { path: root.clone() });
        }
        let failed = MountError::at(root);
        if let Some(mount) = mounts::at_or_enclosing(root).map_err(failed)? {
            return Err(MountError::InsideOverlay {
                path: root.clone(),
                mount,
            });
        }
        let real = std::fs::canonicalize(root).unwrap_or_else(|_| root.clone());
        if real.starts_with(point) {
            let (root, point) = (root.clone(), point.to_owned());
            return Err(MountError::RootInMountPoint { root, point });
        }
        for (other, outer) in roots.iter().enumerate() {
            if other != index && root.starts_with(outer) {
                let (inner, outer) = (root.clone(), outer.clone());
                return Err(MountError::NestedRoots { inner, outer });
            }
        }
    }
    Ok(())
}

/// A mount that is served until [`Self::unmount`] is called or this value is dropped.
#[derive(Debug)]
pub struct MountedOverlay {
    path: PathBuf,
    space: Arc<Namespace>,
    /// The parts of the running mount; `None` after it has ended.
    state: Mutex<Option<State>>,
}

struct State {
    point: MountPoint,
    running: Running,
    lanes: Arc<Lanes>,
}

impl std::fmt::Debug for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("State")
            .field("point", &self.point)
            .finish_non_exhaustive()
    }
}

impl MountedOverlay {
    /// Returns the mount point as an absolute path without symbolic links.
    pub fn mount_point(&self) -> &Path {
        &self.path
    }

    /// Replaces the watched directories. Each path must be absolute, and no path may lie in another
    /// one or in an overlay.
    pub fn set_roots(&self, roots: &[PathBuf]) {
        self.space.set_roots(roots);
    }

    /// Returns, for each watched directory, its path and the path of its folder in the overlay.
    pub fn roots(&self) -> Vec<(PathBuf, PathBuf)> {
        let roots = self.space.roots().into_iter();
        roots
            .map(|(root, folder)| {
                let view = folder.map_or_else(|| self.path.clone(), |name| self.path.join(name));
                (root, view)
            })
            .collect()
    }

    /// Returns whether the overlay is still mounted and served. Returns false after
    /// [`Self::unmount`], and after another program has unmounted it.
    pub fn is_alive(&self) -> bool {
        let state = self.state.lock();
        let Some(state) = state.as_ref() else {
            return false;
        };
        state.running.is_alive()
    }

    /// Returns the number of real entries that were found hidden because they have the name of our
    /// `.similar`.
    pub fn hidden_similar_entries(&self) -> usize {
        self.space.hidden_similar_entries()
    }

    /// Unmounts the overlay, ends the threads, and removes the mount point if it was made for this
    /// mount. A second call does nothing. If this fails, it may be called again.
    pub fn unmount(&self) -> Result<(), MountError> {
        let mut guard = self.state.lock();
        let Some(state) = guard.as_mut() else {
            return Ok(());
        };
        state.running.stop()?;
        let is_gone = state.running.mount.is_some();
        if !state.lanes.close(PATIENCE) {
            let path = self.path.display();
            tracing::warn!(%path, "an answer is still being computed; not waiting");
        }
        state.point.remove_created();
        *guard = None;
        let path = self.path.display();
        if is_gone {
            tracing::info!(%path, "unmounted");
        } else {
            tracing::info!(%path, "no longer served; the program that mounted it unmounts it");
        }
        Ok(())
    }
}

impl Drop for MountedOverlay {
    fn drop(&mut self) {
        if let Err(error) = self.unmount() {
            tracing::error!(%error, "the mount stays behind");
        }
    }
}

/// A mount that is being served.
struct Running {
    /// The id of our mount, and its device. The path of the mount may change (`mount --move`), but
    /// its id does not. `None` if another process makes and removes the mount.
    mount: Option<(u64, String)>,
    server: Option<JoinHandle<()>>,
    ended: Arc<Ended>,
}

impl Running {
    fn start(path: &Path, space: Arc<Namespace>, lanes: Arc<Lanes>) -> Result<Self, MountError> {
        let session = |source| MountError::Session {
            path: path.to_owned(),
            source,
        };
        let device = transport::mount(path)?;
        let undo = |error: MountError| {
            if let Err(source) = transport::detach(path) {
                tracing::error!(%source, path = %path.display(), "the mount stays behind");
            }
            error
        };
        let spaces = Spaces::new(space, None);
        let connection = connect(device, spaces, lanes).map_err(|e| undo(session(e)))?;
        let ours = mounts::read()
            .map(|mounts| {
                mounts
                    .into_iter()
                    .rev()
                    .find(|m| m.point == path && m.is_ours())
            })
            .map_err(|e| undo(session(e)))?
            .ok_or_else(|| session(io::Error::other("it is gone already")))?;
        let ended = Arc::new(Ended::default());
        let server = serve(connection, Arc::clone(&ended)).map_err(|e| undo(session(e)))?;
        Ok(Self {
            mount: Some((ours.id, ours.device)),
            server: Some(server),
            ended,
        })
    }

    /// Returns our mount as it is in the kernel's list now, and whether another mount covers it.
    /// `None` if our mount is not in the list.
    fn current(&self) -> io::Result<Option<(Mount, bool)>> {
        let Some((id, device)) = &self.mount else {
            return Ok(None);
        };
        let mounts = mounts::read()?;
        let is_it = |m: &Mount| m.id == *id && m.device == *device && m.is_ours();
        let Some(at) = mounts.iter().position(is_it) else {
            return Ok(None);
        };
        let covered = mounts[at + 1..]
            .iter()
            .any(|later| later.point == mounts[at].point);
        Ok(Some((mounts[at].clone(), covered)))
    }

    /// Returns whether the overlay is served. If this process made the mount, it must also still be
    /// mounted.
    fn is_alive(&self) -> bool {
        !self.ended.is_set() && (self.mount.is_none() || matches!(self.current(), Ok(Some(_))))
    }

    fn stop(&mut self) -> Result<(), MountError> {
        let Some((_, device)) = self.mount.clone() else {
            // The process that made the mount removes it. Until then the server's thread continues
            // to wait for requests.
            return Ok(());
        };
        let path = |mount: &Mount| mount.point.clone();
        let listed = self.current().map_err(|source| MountError::Unmount {
            path: "/proc/self/mountinfo".into(),
            source,
        })?;
        if let Some((mount, covered)) = &listed {
            if *covered {
                return Err(MountError::Covered { path: path(mount) });
            }
            transport::detach(&mount.point).map_err(|source| MountError::Unmount {
                path: path(mount),
                source,
            })?;
        }
        // If programs still use the mount, its connection stays open, although no path leads to it
        // any more. With privileges, unmounting closes the connection. Without privileges the owner
        // of the connection can close it through fusectl, if fusectl is mounted.
        let ended = self.ended.wait(PATIENCE / 10)
            || match transport::abort(&device) {
                Ok(()) => self.ended.wait(PATIENCE),
                Err(error) => {
                    tracing::debug!(%error, "no fusectl");
                    false
                }
            };
        if !ended {
            tracing::warn!(
                "the mount is still in use; its threads end when the last process leaves it"
            );
        } else if let Some(server) = self.server.take() {
            // The join does not wait, because the thread has just ended.
            let _ended = server.join();
        }
        Ok(())
    }
}

fn serve(connection: Connection, ended: Arc<Ended>) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new()
        .name("overlay".to_owned())
        .spawn(move || {
            let _set = SetAtEnd(ended);
            if let Err(error) = connection.serve() {
                tracing::warn!(%error, "the overlay's connection ended with an error");
            }
        })
}

/// A flag that is set when the server's thread has ended.
#[derive(Default)]
struct Ended {
    set: Mutex<bool>,
    changed: Condvar,
}

impl Ended {
    fn is_set(&self) -> bool {
        *self.set.lock()
    }

    /// Waits for at most `patience` until the flag is set, and returns whether it is set.
    fn wait(&self, patience: Duration) -> bool {
        let mut set = self.set.lock();
        self.changed.wait_while_for(&mut set, |set| !*set, patience);
        *set
    }
}

struct SetAtEnd(Arc<Ended>);

impl Drop for SetAtEnd {
    fn drop(&mut self) {
        *self.0.set.lock() = true;
        self.0.changed.notify_all();
    }
}

/// Returns whether a path is the mount point of an overlay of any user, or lies in one. It uses
/// only the kernel's list of mounts and does not access the path, so it never hangs. Symbolic links
/// are not followed, so pass a canonical path.
pub fn is_inside_resemble_mount(path: &Path) -> bool {
    mounts::at_or_enclosing(path).is_ok_and(|mount| mount.is_some())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn roots(paths: &[&str]) -> Vec<PathBuf> {
        paths.iter().map(PathBuf::from).collect()
    }

    #[test]
    fn roots_are_checked_before_anything_is_touched() {
        let check = |paths: &[&str]| check_roots(&roots(paths), Path::new("/nowhere/M"));
        assert!(matches!(check(&[]), Err(MountError::NoRoots)));
        assert!(matches!(check(&["docs"]), Err(MountError::Relative { .. })));
        assert!(matches!(
            check(&["/a", "/b/c", "/b"]),
            Err(MountError::NestedRoots { .. })
        ));
        assert!(matches!(
            check(&["/a", "/a"]),
            Err(MountError::NestedRoots { .. })
        ));
        assert!(matches!(
            check(&["/nowhere/M"]),
            Err(MountError::RootInMountPoint { .. })
        ));
        assert!(matches!(
            check(&["/nowhere/M/x"]),
            Err(MountError::RootInMountPoint { .. })
        ));
        assert!(check(&["/nowhere", "/nowhere2"]).is_ok());
    }
}
