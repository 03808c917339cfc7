//! `resemble-fs`: the overlay, a read-only file system that answers `ls M/report.txt/.similar`.
//!
//! ```text
//!   kernel ──► adapter ──► view ──► tree (the watched files, beneath a directory handle)
//!              the only     │
//!              module that  └─────► neighbours (a trait; the daemon's index is behind it)
//!              names fuser          names (how an answer is spelt in a listing)
//!
//!   mount: makes, repairs and ends a mount
//! ```
//!
//! The namespace ([`view`]) is plain Rust with its own types and is tested without a kernel. The
//! adapter only translates between the kernel and the view. [`mount`] owns everything that outlives
//! a request. `docs/semantics.md` has the promises to users, and each promise has a test.
//!
//! Three rules apply to the whole crate, because breaking one makes processes hang for good:
//!
//! 1. This crate never resolves a path through one of our own mounts. Mount points are recognised
//!    by path and left out before any `stat`. A mount that is reached in another way (a bind mount)
//!    is recognised by its mount id. Reading the id makes no request to the file system.
//! 2. The kernel is never notified of changes. This is not needed, because the kernel caches
//!    nothing for longer than its time to live.
//! 3. A handler that asks [`Neighbours`] runs on a worker thread, never on a thread that receives
//!    requests. So a slow answer delays only its own caller.
#![forbid(unsafe_code)]

mod adapter;
mod audience;
mod ident;
mod lanes;
pub mod mount;
pub mod names;
pub mod neighbours;
pub mod view;

pub use mount::{
    MountError, MountedOverlay, Overlay, OverlayConfig, is_inside_resemble_mount, mount_for_all,
    receive_device, send_device, unmount_root,
};
pub use names::{BadName, SimilarName};
pub use neighbours::{Audience, Listing, Member, Neighbour, Neighbours, Party};
pub use view::{Show, View};
