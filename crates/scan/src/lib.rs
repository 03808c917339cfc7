//! `resemble-scan`: from bytes on a disk to the index.
//!
//! ```text
//! walk ─► ingest ─► read (worker pool) ─► parts ─► index
//! ```
//!
//! * [`fsid`] names file systems so that a reboot changes nothing, and knows which are never
//!   entered;
//! * [`walk`] lists one directory without following anything; [`read`] reads one file without ever
//!   opening what is no file, and notices when it moved meanwhile;
//! * [`parts`] takes documents and archives apart: their parts are contents like any other;
//! * [`ingest`] brings the index in line with the tree: the one algorithm behind the first scan, a
//!   restart, an event and a rescan. It is the index's only writer.
//!
//! Nothing here knows of questions or of who asks them.
#![forbid(unsafe_code)]

pub mod fsid;
pub mod ingest;
pub mod parts;
pub mod read;
pub mod tally;
pub mod walk;
