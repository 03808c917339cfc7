//! Makes and removes the symbolic link that leads to the view.
//!
//! Programs that walk through a tree must not find the view of that tree. A duplicate finder would
//! take the view's files for copies and delete the originals. So the view is mounted in the runtime
//! folder. A link at a convenient path leads to the view. Programs that walk through trees do not
//! follow links.
//!
//! 1. **A link is ours if it leads to our mount point.** No file, no folder and no link that leads
//!    elsewhere is ever replaced or removed.
//! 2. The link is made when the view answers, and removed after the view is unmounted. If a daemon
//!    is killed, its link stays. The link also leads to the mount point of the next daemon, which
//!    takes the link over.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// The reason why the link could not be made.
#[derive(Debug, thiserror::Error)]
pub enum LinkError {
    /// A file, a folder or a link that is not ours is at the path.
    #[error(
        "{} is in the way of the link to the view: {what}; remove it or name another --link",
        .path.display()
    )]
    InTheWay {
        /// The path of the link.
        path: PathBuf,
        /// The kind of the object at the path.
        what: String,
    },
    /// The path of the link is inside the view.
    #[error(
        "the link {} would lie in the view that it leads to; name another --link or --mount",
        .path.display()
    )]
    InTheView {
        /// The path of the link.
        path: PathBuf,
    },
    /// The system refused to make the link.
    #[error("cannot make the link {}: {source}", .path.display())]
    Io {
        /// The path of the link.
        path: PathBuf,
        /// The error of the system.
        source: io::Error,
    },
}

/// A link to the view. It is removed when this value is dropped.
#[derive(Debug)]
pub struct ViewLink {
    path: PathBuf,
    point: PathBuf,
}

impl ViewLink {
    /// Makes a link at `path` that leads to `point`, or takes over the link that a killed daemon
    /// left.
    pub fn make(path: &Path, point: &Path) -> Result<Self, LinkError> {
        let path = path.to_path_buf();
        if path.starts_with(point) {
            return Err(LinkError::InTheView { path });
        }
        match symlink(point, &path) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                // An overlay that is mounted at the path is not accessed. If the daemon of that
                // overlay is dead, an access would hang.
                let what = if resemble_fs::is_inside_resemble_mount(&path) {
                    "a view is mounted there; take it away with `fusermount3 -u`".to_owned()
                } else {
                    match fs::read_link(&path) {
                        Ok(target) if target == point => String::new(),
                        Ok(target) => format!("it is a link to {}", target.display()),
                        Err(_) => "it is no link".to_owned(),
                    }
                };
                if !what.is_empty() {
                    return Err(LinkError::InTheWay { path, what });
                }
                tracing::info!(path = ?path, "taking over the link of a killed daemon");
            }
            Err(source) => return Err(LinkError::Io { path, source }),
        }
        let point = point.to_path_buf();
        Ok(Self { path, point })
    }

    /// Returns the path of the link itself.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for ViewLink {
    fn drop(&mut self) {
        let is_ours = fs::read_link(&self.path).is_ok_and(|target| target == self.point);
        if is_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = ?self.path, %error, "the link to the view stays behind");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_is_made_taken_over_and_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (path, point) = (dir.path().join("Similar"), dir.path().join("run/view"));
        let link = ViewLink::make(&path, &point).unwrap();
        assert_eq!(fs::read_link(&path).unwrap(), point);
        // The link is forgotten and not dropped. So it stays, like the link of a killed daemon.
        std::mem::forget(link);
        let link = ViewLink::make(&path, &point).unwrap();
        drop(link);
        assert!(fs::symlink_metadata(&path).is_err());
    }

    #[test]
    fn nothing_but_our_own_link_is_replaced_or_removed() {
        let dir = tempfile::tempdir().unwrap();
        let (path, point) = (dir.path().join("Similar"), dir.path().join("view"));
        let refused = |what: &str| {
            let error = ViewLink::make(&path, &point).unwrap_err().to_string();
            assert!(error.contains(what) && error.contains("--link"), "{error}");
        };
        fs::write(&path, "precious").unwrap();
        refused("it is no link");
        assert_eq!(fs::read(&path).unwrap(), b"precious");
        fs::remove_file(&path).unwrap();
        fs::create_dir(&path).unwrap();
        refused("it is no link");
        fs::remove_dir(&path).unwrap();
        symlink("/media/disk", &path).unwrap();
        refused("it is a link to /media/disk");
        fs::remove_file(&path).unwrap();

        let link = ViewLink::make(&path, &point).unwrap();
        fs::remove_file(&path).unwrap();
        fs::write(&path, "somebody's").unwrap();
        drop(link);
        assert_eq!(fs::read(&path).unwrap(), b"somebody's");

        for inside in [point.clone(), point.join("Similar")] {
            let error = ViewLink::make(&inside, &point).unwrap_err();
            assert!(matches!(error, LinkError::InTheView { .. }), "{error}");
        }
    }
}
