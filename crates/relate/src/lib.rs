//! `resemble-relate`: decides which contents are related, how closely, and how certain that is.
//!
//! ```text
//! snapshot ─► scope ─► renditions ─► nominate ─► prove ─► judge
//! ```
//!
//! * [`scope`]: the files that a question is about. The frequency of a piece is computed among
//!   these files only;
//! * [`renditions`]: the contents by which a file is compared, and the places that have a content;
//! * [`nominate`]: finds the pairs that have enough in common to be compared, by postings of the
//!   index or of a block in memory;
//! * [`prove`]: measures files by reading them, with the precautions of `resemble-scan`;
//! * [`judge`]: estimates pairs, chooses the best match of two files, and chooses the files to
//!   list;
//! * [`join`]: joins all contents of a question by their common pieces;
//! * [`given`] and [`listed`]: candidates and measures from another engine;
//! * [`siblings`]: members of one container that resemble each other;
//! * [`gaps`] and [`unread`]: the names and documents that an answer lacks;
//! * [`findings`]: the results that a question stores for later questions;
//! * [`sort`]: sorts data that do not fit into memory.
//!
//! This crate has no verb, no request and no printer: `resemble-query` asks questions and makes
//! rows from the results. It uses only the values of `resemble-proto`: paths, shares, patterns and
//! read errors (docs/decisions/0011-one-engine-for-pairs.md).
#![forbid(unsafe_code)]

mod ask;
pub mod copies;
pub mod findings;
pub mod gaps;
pub mod given;
pub mod join;
pub mod judge;
pub mod listed;
pub mod nominate;
pub mod parallel;
pub mod prove;
pub mod renditions;
pub mod scope;
pub mod siblings;
pub mod sort;
pub mod unread;

pub use ask::{AskError, soft_error};
pub use prove::extracted::OpenedMember;
pub use prove::read::{LARGEST_READ, anchor_of, bytes_of, bytes_within, unreadable};
