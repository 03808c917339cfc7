//! `resemble-callers`: identifies the users who ask a daemon, and finds out what the kernel lets
//! them access.
//!
//! ```text
//!   Caller ──► AccessCheck::look(paths) ──► Seen, path by path
//!                 │
//!                 ├── checker::Checker   asks the checker, a process that becomes the caller
//!                 └── look::look         asks the kernel as this process, if the caller is root
//! ```
//!
//! A daemon that serves many users knows files that some of them may not read. The daemon never
//! computes from modes, owners and access lists whether a user may read a file. At the moment of
//! the question, a thread with the ids of that user asks the kernel ([`look`]). Only a process that
//! can become any user can ask in this way, and such a process must not have the index. So a
//! separate process, which has no data, asks the kernel ([`serve`]). This crate has both ends of
//! the protocol of that process (`wire`).
//!
//! [`accounts`] assigns each user id to the account whose limits it shares. [`helper`] accepts
//! connections, for the checker and for other helpers of the daemon. [`identity`] identifies the
//! peer of a socket, and the user of a process. [`rights`] drops the privileges that a process does
//! not need.

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

pub mod accounts;
pub mod checker;
mod filter;
pub mod helper;
pub mod identity;
pub mod look;
pub mod rights;
pub mod serve;
mod syscalls;
mod wire;

/// A user as the kernel sees the user: the ids that determine access.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Caller {
    /// The user.
    pub uid: u32,
    /// The primary group.
    pub gid: u32,
    /// The supplementary groups.
    pub groups: Arc<[u32]>,
}

/// The access of a caller to a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Seen {
    /// No access: the path does not exist, the path leads over a symbolic link or into FUSE, or the
    /// caller may not open it. This is also the answer for anything but a regular file or a folder.
    Nothing,
    /// A regular file that the caller may read.
    File(SeenPlace),
    /// A folder that the caller may enter, and perhaps list.
    Folder(SeenPlace, Listable),
}

/// True if the caller may list the folder, and not only enter it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listable(pub bool);

/// The identity, size and times of a file or folder.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenPlace {
    /// The device.
    pub dev: u64,
    /// The inode number on the device.
    pub ino: u64,
    /// The size in bytes.
    pub size: u64,
    /// Seconds and nanoseconds of the last change.
    pub mtime: (i64, u32),
    /// Seconds and nanoseconds of the last change of the inode. No program can set this time.
    pub ctime: (i64, u32),
}

/// Checks for one caller which paths they may access.
pub trait AccessCheck: fmt::Debug + Send + Sync {
    /// Checks what the caller may see at each of these absolute paths now.
    ///
    /// # Errors
    ///
    /// Fails if the access cannot be checked. Nothing must be shown to the user in that case.
    fn look(&self, paths: &[PathBuf]) -> io::Result<Vec<Seen>>;
}
