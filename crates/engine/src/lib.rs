//! `resemble-engine`: from bytes on a disk to answers.
//!
//! Two halves that meet in the index:
//!
//! ```text
//! walk ─► ingest ─► read (worker pool) ─► index          the only writer
//!                                          │ snapshot
//!            find, pairs, why, dump, status ◄┘            any number of readers
//! ```
//!
//! * [`fsid`] names file systems so that a reboot changes nothing, and knows which are never entered;
//! * [`walk`] lists one directory without following anything; [`read`] reads one file without ever
//!   opening what is no file, and notices when it moved meanwhile;
//! * [`ingest`] brings the index in line with the tree: the one algorithm behind the first scan, a
//!   restart, an event and a rescan;
//! * one module per question, each a function of a snapshot that builds the answer types of
//!   `resemble-proto`; the daemon and the command line call the same ones.
#![forbid(unsafe_code)]

pub mod answer;
pub mod apart;
mod ask;
pub mod aspects;
mod candidates;
mod catalogue;
pub mod compare;
pub mod covered;
pub mod dirs;
pub mod dump;
mod estimate;
mod evidence;
pub mod find;
pub mod fsid;
pub mod groups;
pub mod ingest;
pub mod local;
pub mod members;
mod met;
pub mod pairs;
pub mod parallel;
pub mod portable;
pub mod read;
mod said;
mod stands;
pub mod templates;
mod texts;
pub mod walk;
pub mod why;
mod worded;

pub use ask::{AskError, LARGEST_READ, anchor_of, bytes_of, soft_error, unreadable};
/// What ends work early.
pub use resemble_core::stop;
/// What every question is asked of.
pub use resemble_index::Snapshot;
