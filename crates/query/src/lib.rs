//! `resemble-query`: one function for each question, over a snapshot of the index.
//!
//! ```text
//! snapshot ─► scope ─► nominate ─► prove ─► judge ─► find, pairs, compare, groups, why …
//!                          renditions
//! ```
//!
//! * [`scope`]: the files that a question is about; nothing else counts, not even for what is
//!   common;
//! * `nominate`: which pairs have enough in common to be looked at, from postings;
//! * [`renditions`]: what stands for a file, and where a content stands;
//! * `prove`: what the files themselves say, read by `resemble-scan` with all its care;
//! * `judge`: estimates, the best match of two files, what is listed;
//! * `unindexed`: how trees are walked for an answer that needs no index;
//! * [`given`]: candidates that something else has found;
//! * one module a question, each a function of a snapshot that builds the answer types of
//!   `resemble-proto`; the daemon and the command line call the same ones. [`local`] is the index
//!   of a command without a daemon.
#![forbid(unsafe_code)]

pub mod answer;
mod ask;
pub mod compare;
pub mod covered;
pub mod dirs;
pub mod dump;
pub mod find;
pub mod gaps;
pub mod given;
pub mod groups;
mod judge;
pub mod listed;
pub mod local;
mod nominate;
pub mod pairs;
pub mod parallel;
mod prove;
pub mod renditions;
pub mod scope;
pub mod templates;
mod unindexed;
pub mod unread;
pub mod why;

pub use ask::{AskError, soft_error};
pub use prove::extracted::OpenedMember;
pub use prove::read::{LARGEST_READ, anchor_of, bytes_of, bytes_within, unreadable};
/// What every question is asked of.
pub use resemble_index::Snapshot;
