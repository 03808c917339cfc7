//! `resemble-relate`: which contents are related, how much and how sure.
//!
//! ```text
//! snapshot ─► scope ─► renditions ─► nominate ─► prove ─► judge
//! ```
//!
//! * [`scope`]: the files that a question is about; nothing else counts, not even for what is
//!   common;
//! * [`renditions`]: what stands for a file, and where a content stands;
//! * [`nominate`]: which pairs have enough in common to be looked at, from postings of the index
//!   or from a block in memory;
//! * [`prove`]: what the files themselves say, read by `resemble-scan` with all its care;
//! * [`judge`]: estimates, the best match of two files, what is listed;
//! * [`given`] and [`listed`]: candidates and measures that something else has made;
//! * [`sort`]: what does not fit into memory.
//!
//! There is no verb here, no request and no printer: `resemble-query` asks, and makes rows of what
//! comes back. Of `resemble-proto` this crate names only values: paths, shares, patterns and what
//! could not be looked at (docs/decisions/0011-one-engine-for-pairs.md).
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
