//! Creates, protects and removes the socket file.
//!
//! A process that can connect can ask. So a new folder has mode 0700, and the socket has mode 0600.
//! In system mode everybody may connect. The user of each connection is checked again
//! (`server::asker`). The socket file of a killed process stays. It is replaced only if this user
//! owns it and no process answers there. Two daemons with the same state folder cannot get here at
//! the same time, because each must lock the index first.

use std::fs;
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};

/// The reason why the socket could not be made.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// Another daemon answers at the socket.
    #[error(
        "another resembled answers at {}; use that one, or give this one another --socket and \
         --state",
        .path.display()
    )]
    InUse {
        /// The socket.
        path: PathBuf,
    },
    /// Another file is at the path of the socket.
    #[error("{} is in the way: {what}; remove it or give another --socket", .path.display())]
    InTheWay {
        /// The path.
        path: PathBuf,
        /// Kind of the file.
        what: &'static str,
    },
    /// The path is too long for a socket address.
    #[error("{} is too long for a socket (107 bytes); give another --socket", .path.display())]
    TooLong {
        /// The path.
        path: PathBuf,
    },
    /// The system refused to make the socket.
    #[error("cannot make the socket {}: {source}", .path.display())]
    Io {
        /// The path.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// A listening socket. Dropping it removes the socket file, unless another file is at the path.
#[derive(Debug)]
pub struct Socket {
    path: PathBuf,
    identity: (u64, u64),
}

/// Makes the socket, and its folder if that is missing. With `for_all`, every user may connect.
pub fn bind(path: &Path, for_all: bool) -> Result<(UnixListener, Socket), SocketError> {
    let io = |source| SocketError::Io {
        path: path.to_path_buf(),
        source,
    };
    if let Some(dir) = path.parent() {
        private_dir(dir).map_err(io)?;
    }
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(io(error)),
        Ok(there) => {
            let in_the_way = |what| SocketError::InTheWay {
                path: path.to_path_buf(),
                what,
            };
            if !there.file_type().is_socket() {
                return Err(in_the_way("it is no socket"));
            }
            if there.uid() != rustix::process::geteuid().as_raw() {
                return Err(in_the_way("it belongs to another user"));
            }
            match UnixStream::connect(path) {
                Ok(_) => {
                    return Err(SocketError::InUse {
                        path: path.to_path_buf(),
                    });
                }
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => {}
                Err(error) => return Err(io(error)),
            }
            tracing::info!(path = ?path, "replacing an unused socket");
            fs::remove_file(path).map_err(io)?;
        }
    }
    let listener = UnixListener::bind(path).map_err(|source| match source.kind() {
        io::ErrorKind::InvalidInput => SocketError::TooLong {
            path: path.to_path_buf(),
        },
        _ => io(source),
    })?;
    let mode = if for_all { 0o666 } else { 0o600 };
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).map_err(io)?;
    let socket = Socket::of(path.to_path_buf()).map_err(io)?;
    Ok((listener, socket))
}

impl Socket {
    /// Takes over the socket file that this process has made at a path.
    pub(crate) fn of(path: PathBuf) -> io::Result<Self> {
        let made = fs::symlink_metadata(&path)?;
        let identity = (made.dev(), made.ino());
        Ok(Self { path, identity })
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        let still_ours = fs::symlink_metadata(&self.path)
            .is_ok_and(|there| (there.dev(), there.ino()) == self.identity);
        if still_ours && let Err(error) = fs::remove_file(&self.path) {
            tracing::warn!(path = ?self.path, %error, "the socket stays behind");
        }
    }
}

/// Makes a folder of mode 0700 with its parents. An existing folder is not changed.
pub(crate) fn private_dir(dir: &Path) -> io::Result<()> {
    match fs::DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(dir)
    {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && dir.is_dir() => Ok(()),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_and_socket_are_private_and_the_socket_goes_with_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("resemble/socket");
        let (listener, socket) = bind(&path, false).unwrap();
        let mode = |path: &Path| fs::symlink_metadata(path).unwrap().mode() & 0o777;
        assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
        assert!(matches!(bind(&path, false), Err(SocketError::InUse { .. })));
        drop((listener, socket));
        assert!(!path.exists());
    }

    #[test]
    fn a_dead_socket_is_replaced_and_anything_else_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        drop(UnixListener::bind(&path).unwrap());
        assert!(path.exists(), "a killed daemon leaves its socket");
        drop(bind(&path, false).unwrap());
        fs::write(&path, "a file").unwrap();
        assert!(matches!(
            bind(&path, false),
            Err(SocketError::InTheWay { .. })
        ));
        assert_eq!(fs::read(&path).unwrap(), b"a file");
    }

    #[test]
    fn a_socket_made_by_another_in_our_place_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("socket");
        let (listener, socket) = bind(&path, false).unwrap();
        fs::remove_file(&path).unwrap();
        let other = UnixListener::bind(&path).unwrap();
        drop((listener, socket));
        assert!(path.exists());
        drop(other);
    }

    #[test]
    fn a_long_name_is_said_to_be_too_long() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("x".repeat(120));
        assert!(matches!(
            bind(&path, false),
            Err(SocketError::TooLong { .. })
        ));
    }
}
