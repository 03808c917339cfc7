//! `resemble-query`: one function for each question, over a snapshot of the index.
//!
//! ```text
//!            find, pairs, why, dump …  ◄── snapshot ── index
//! ```
//!
//! Each builds the answer types of `resemble-proto`; the daemon and the command line call the same
//! ones. Where a question is about bytes, both files are read by `resemble-scan`, with all its
//! care.
#![forbid(unsafe_code)]

pub mod answer;
mod ask;
pub mod catalogue;
pub mod compare;
pub mod covered;
pub mod dirs;
pub mod dump;
pub mod find;
pub mod groups;
mod judge;
pub mod local;
mod nominate;
pub mod pairs;
pub mod parallel;
mod prove;
pub mod renditions;
pub mod scope;
pub mod templates;
pub mod why;

pub use ask::{AskError, soft_error};
pub use prove::read::{LARGEST_READ, anchor_of, bytes_of, unreadable};
/// What every question is asked of.
pub use resemble_index::Snapshot;
