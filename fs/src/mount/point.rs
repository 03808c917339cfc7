//! Finds, repairs, creates and removes mount points.

use std::io;
use std::path::{Component, Path, PathBuf};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use resemble_mounts as mounts;

use super::{MountError, transport};

/// The longest wait for a sign that an overlay is served. After this time the overlay counts as
/// alive.
const SIGN_OF_LIFE: Duration = Duration::from_secs(2);

/// A directory on which an overlay can be mounted.
#[derive(Debug)]
pub(super) struct MountPoint {
    /// The absolute path, without symbolic links.
    pub(super) path: PathBuf,
    /// The directories that were made for the mount, outermost first.
    created: Vec<PathBuf>,
}

/// Returns the absolute path of a future mount point, with symbolic links resolved. The last
/// component is only read as a link. If it is a mount of ours, it is not accessed at all, because
/// it may be dead.
pub(super) fn resolve(given: &Path) -> Result<PathBuf, MountError> {
    let failed = MountError::at(given);
    let mut path = plain(given).map_err(failed)?;
    for _ in 0..40 {
        if let Some(mount) = mounts::enclosing(&path).map_err(failed)? {
            return Err(MountError::InsideOverlay {
                path: given.to_owned(),
                mount,
            });
        }
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Ok(path); // "/"
        };
        let parent = existing(parent).map_err(failed)?;
        let candidate = parent.join(name);
        if is_our_mount(&candidate).map_err(failed)? {
            return Ok(candidate);
        }
        match std::fs::read_link(&candidate) {
            Ok(target) => path = plain(&parent.join(target)).map_err(failed)?,
            Err(_) => {
                // The path may be in an overlay now that its symbolic links are resolved, so this
                // is checked again.
                return match mounts::enclosing(&candidate).map_err(failed)? {
                    Some(mount) => Err(MountError::InsideOverlay {
                        path: given.to_owned(),
                        mount,
                    }),
                    None => Ok(candidate),
                };
            }
        }
    }
    Err(failed(io::Error::other("too many symbolic links")))
}

/// Makes the path absolute and removes `.` and `..` from it. A `..` removes the name before it, as
/// in a shell's `cd`.
fn plain(path: &Path) -> io::Result<PathBuf> {
    let mut plain = PathBuf::new();
    for component in std::path::absolute(path)?.components() {
        if component == Component::ParentDir {
            plain.pop();
        } else {
            plain.push(component);
        }
    }
    Ok(plain)
}

/// Resolves the symbolic links in the part of the path that exists.
fn existing(path: &Path) -> io::Result<PathBuf> {
    match std::fs::canonicalize(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            match (path.parent(), path.file_name()) {
                (Some(parent), Some(name)) => Ok(existing(parent)?.join(name)),
                _ => Err(error),
            }
        }
        other => other,
    }
}

fn is_our_mount(path: &Path) -> io::Result<bool> {
    let mounts = mounts::read()?;
    Ok(mounts
        .iter()
        .rev()
        .find(|mount| mount.point == path)
        .is_some_and(mounts::Mount::is_ours))
}

impl MountPoint {
    /// Makes a resolved path ready for a mount: removes a dead mount of ours, and creates the
    /// directory if it is missing. Refuses a live mount, a directory that is not empty, and
    /// anything that is not a directory.
    pub(super) fn prepare(path: PathBuf) -> Result<Self, MountError> {
        let failed = MountError::at(&path);
        // There may be several dead mounts at the path, one for each daemon that was killed.
        for _ in 0..64 {
            if !is_our_mount(&path).map_err(failed)? {
                break;
            }
            if is_alive(&path) {
                return Err(MountError::AlreadyMounted { path });
            }
            tracing::info!(path = %path.display(), "taking away the mount of a killed daemon");
            transport::detach(&path).map_err(|source| MountError::Unmount {
                path: path.clone(),
                source,
            })?;
        }
        let mut this = Self {
            path,
            created: Vec::new(),
        };
        match this.make_ready() {
            Ok(()) => Ok(this),
            Err(error) => {
                this.remove_created();
                Err(error)
            }
        }
    }

    /// Returns the mount point of a mount that another process has made.
    pub(super) const fn given(path: PathBuf) -> Self {
        Self {
            path,
            created: Vec::new(),
        }
    }

    fn make_ready(&mut self) -> Result<(), MountError> {
        let path = self.path.clone();
        let failed = MountError::at(&path);
        let missing: Vec<&Path> = path
            .ancestors()
            .take_while(|dir| {
                std::fs::symlink_metadata(dir).is_err_and(|error| is_not_found(&error))
            })
            .collect();
        for dir in missing.into_iter().rev() {
            std::fs::create_dir(dir).map_err(failed)?;
            self.created.push(dir.to_owned());
        }
        if !std::fs::symlink_metadata(&path).map_err(failed)?.is_dir() {
            return Err(MountError::NotADirectory { path });
        }
        match std::fs::read_dir(&path).map_err(failed)?.next() {
            None => Ok(()),
            Some(_) => Err(MountError::NotEmpty { path }),
        }
    }

    /// Removes the directories that were made for the mount, unless they are in use now.
    pub(super) fn remove_created(&mut self) {
        for dir in std::mem::take(&mut self.created).into_iter().rev() {
            if let Err(error) = std::fs::remove_dir(&dir) {
                tracing::debug!(path = %dir.display(), %error, "the mount point stays");
                break;
            }
        }
    }
}

fn is_not_found(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::NotFound
}

/// Returns whether a process serves this overlay. A thread of its own asks the overlay, because the
/// request may hang. If it hangs, the overlay counts as alive.
fn is_alive(path: &Path) -> bool {
    let (answer, answered) = channel();
    let path = path.to_owned();
    let asked = std::thread::Builder::new()
        .name("overlay-probe".to_owned())
        .spawn(move || {
            // `stat` would not suffice: for a second the kernel answers it from its cache, even if
            // the mount is dead.
            let dead = matches!(rustix::fs::statfs(&path), Err(rustix::io::Errno::NOTCONN));
            // If the caller has stopped waiting, nobody receives the answer.
            let _too_late = answer.send(dead);
        });
    match asked.map(|_| answered.recv_timeout(SIGN_OF_LIFE)) {
        Ok(Ok(dead)) => !dead,
        Ok(Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected)) | Err(_) => true,
    }
}
