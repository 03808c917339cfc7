//! `resemble-query`: one function for each question, over a snapshot of the index.
//!
//! * There is one module for each question, with a function that takes a snapshot and builds an
//!   answer of `resemble-proto`. The daemon and the command line call the same functions. Relations
//!   and measures are those of `resemble-relate`.
//! * Two questions are answered by `resemble-trees`: `compare` and `covered`.
//! * [`local`] has the index of a command without a daemon.
#![forbid(unsafe_code)]

pub mod answer;
pub mod asked;
mod departed;
pub mod dirs;
pub mod dump;
pub mod find;
mod first_seen;
pub mod groups;
pub mod local;
pub mod pairs;
pub mod templates;
pub mod unread;
pub mod why;

/// The state of an index at one time, from which every question is answered.
pub use resemble_index::Snapshot;
