//! The index through its public face: one binary, one module a theme.
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

mod concurrent;
mod format_doc;
mod killed;
mod last_commit;
mod made;
mod model;
mod opening;
mod postings;
mod tree;
