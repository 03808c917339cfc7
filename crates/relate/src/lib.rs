//! `resemble-relate`: decides which contents are related, how much and with what certainty.
//!
//! ```text
//! snapshot ─► scope ─► renditions ─► nominate ─► prove ─► judge
//! ```
//!
//! * [`scope`]: the files that a question is about; other files do not even count as holders of
//!   common pieces;
//! * [`renditions`]: the contents that a file is compared by, and the places of a content;
//! * [`nominate`]: the pairs with enough in common to be compared, from postings of the index or
//!   from a block in memory;
//! * [`prove`]: measures of the files themselves, read by `resemble-scan` with all its care;
//! * [`judge`]: estimates, the best match of two files, the choice of listed files;
//! * [`given`] and [`listed`]: candidates and measures from another engine;
//! * [`sort`]: sorting of data that does not fit into memory.
//!
//! This crate has no verb, no request and no printer: `resemble-query` asks and makes rows of the
//! results. From `resemble-proto` it uses only values: paths, shares, patterns and read errors
//! (docs/decisions/0011-one-engine-for-pairs.md).
#![forbid(unsafe_code)]

mod ask;
pub mod given;
pub mod judge;
pub mod listed;
pub mod nominate;
pub mod parallel;
pub mod prove;
pub mod renditions;
pub mod scope;
pub mod sort;

pub use ask::{AskError, soft_error};
pub use prove::extracted::OpenedMember;
pub use prove::read::{LARGEST_READ, anchor_of, bytes_of, bytes_within, unreadable};
