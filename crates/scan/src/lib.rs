//! `resemble-scan`: brings files from the disk into the index.
//!
//! ```text
//! walk ─► ingest ─► read (worker pool) ─► parts ─► index
//! ```
//!
//! * [`heap`] limits the memory that the allocator keeps for the reading threads;
//! * [`fsid`] gives file systems names that stay the same after a reboot;
//! * [`walk`] lists one directory without following links. [`read`] reads one regular file, and
//!   detects whether the file changes meanwhile;
//! * [`parts`] takes documents and archives apart. Their parts are contents like any other;
//! * [`ingest`] brings the index in line with the files. One algorithm serves the first scan, a
//!   restart, an event and a rescan. This module is the only writer of the index.
//!
//! This crate does not depend on the crates that answer questions, or on `resemble-callers`.
#![deny(unsafe_code)]

pub mod fsid;
#[cfg(target_env = "gnu")]
pub mod heap;
pub mod ingest;
pub mod parts;
pub mod read;
pub mod tally;
pub mod unindexed;
pub mod walk;
