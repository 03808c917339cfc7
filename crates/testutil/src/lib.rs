//! Tools that the tests of all crates use: temporary trees, seeded bytes and texts, mounts, and
//! programs and daemons in a private environment.
//!
//! No program links this crate, and this crate depends on no other crate of the workspace. So unit
//! tests of any crate can use this crate, and there are never two copies of the types of the tested
//! crate.
#![forbid(unsafe_code)]
// Every function of this crate panics to make a test fail, so doc comments do not mention this.
#![allow(
    clippy::missing_panics_doc,
    clippy::must_use_candidate,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::return_self_not_must_use
)]

pub mod churn;
mod differences;
mod environment;
mod fuzz;
mod itself;
pub mod mcp;
mod mounts;
pub mod office;
pub mod pack;
pub mod picture;
pub mod prose;
mod ran;
pub mod random;
mod ready;
mod sandbox;
mod skipped;
pub mod storm;
mod swaps;
mod tree;

pub use differences::Differences;
pub use environment::Environment;
pub use fuzz::{Fuzzed, fuzz};
pub use itself::{
    asked_for, every_file_is_a_module, in_a_process_of_its_own, in_mounts_of_its_own,
    page_is_up_to_date,
};
pub use mounts::{Hung, Mounted, bind, fill, fuse_works, hung, mount, tmpfs};
pub use ran::{Ran, finish};
pub use ready::{PATIENCE, start_ready};
pub use sandbox::{Daemon, Sandbox, programs};
pub use skipped::{is_installed, skipped};
pub use swaps::Swaps;
pub use tree::{TempTree, names};
