//! `resemble-callers`: who asks, and what the kernel lets them see.
//!
//! ```text
//!   Caller ──► Sight::look(paths) ──► Seen, path by path
//!                 │
//!                 ├── checker::Checker   asks the checker, a process that becomes the caller
//!                 └── look::look         asks the kernel as this process, for root
//! ```
//!
//! A daemon that answers many users knows files that some of them may not read. Whether one may is
//! never worked out from modes, owners and lists: the kernel is asked, as that user, at the moment
//! of the question ([`look`]). Only a process that can become any user can do so, and that must not
//! be the one that holds the index. So there is a process for it that holds nothing ([`serve`]),
//! and this crate has both ends of what they say to each other (`wire`).
//!
//! [`accounts`] says who is counted as one where something is bounded for each user,
//! [`helper`] is what this process has in common with others that help the daemon.
//! [`identity`] tells who is at the other end of a socket or behind a process id, and [`rights`]
//! how a process gives up what it does not need.

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

/// A user as the kernel names him: the ids that decide what he may open.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Caller {
    /// The user.
    pub uid: u32,
    /// His first group.
    pub gid: u32,
    /// His further groups.
    pub groups: Arc<[u32]>,
}

/// What somebody may see at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Seen {
    /// There is nothing for him: it is not there, or he may not open it, or it is neither a regular
    /// file nor a folder.
    Nothing,
    /// A regular file that he may read.
    File(SeenPlace),
    /// A folder that he may enter, and perhaps list.
    Folder(SeenPlace, Listable),
}

/// Whether a folder that somebody may enter may be listed by him, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listable(pub bool);

/// What it is that somebody may open, and how new.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenPlace {
    /// Its device.
    pub dev: u64,
    /// Its inode number there.
    pub ino: u64,
    /// Its size in bytes.
    pub size: u64,
    /// Seconds and nanoseconds of its last change.
    pub mtime: (i64, u32),
    /// The same of the last change of anything about it, which nobody can set.
    pub ctime: (i64, u32),
}

/// The eyes of one caller.
pub trait Sight: fmt::Debug + Send + Sync {
    /// What is to be seen at each of these absolute paths, now.
    ///
    /// # Errors
    ///
    /// If that cannot be found out. Nothing may be shown then.
    fn look(&self, paths: &[PathBuf]) -> io::Result<Vec<Seen>>;
}
