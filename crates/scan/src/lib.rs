//! `resemble-scan`: from bytes on a disk to the index.
//!
//! ```text
//! walk ─► ingest ─► read (worker pool) ─► parts ─► index
//! ```
//!
//! * [`fsid`] names file systems independently of reboots, and defines which are never entered;
//! * [`walk`] lists one directory without following links; [`read`] reads one regular file and
//!   detects concurrent changes;
//! * [`parts`] takes documents and archives apart: their parts are contents like any other;
//! * [`ingest`] brings the index in line with the tree: the one algorithm behind the first scan, a
//!   restart, an event and a rescan. It is the index's only writer.
//!
//! This crate depends neither on the crates of questions nor on `resemble-callers`.
#![forbid(unsafe_code)]

pub mod fsid;
pub mod ingest;
pub mod parts;
pub mod read;
pub mod tally;
pub mod walk;
