//! Joins all contents of a question by the pieces that they have in common. The list of pieces need
//! not fit into memory.
//!
//! ```text
//! scope ─► table (places) ─► common (one sorted pass) ─► sets of connected contents
//!                                │
//!            given pairs ─► accounts (are they complete?) ─► pair_lists, measured
//! ```
//!
//! The join finds the contents that may be related. Then `resemble-query` decides about each pair.

mod accounts;
mod common;
mod measured;
mod pair_lists;
mod table;

pub use accounts::Accounts;
pub use common::{CommonPieces, CommonSamples, PieceLimits, common_pieces};
pub use measured::MeasuredPairs;
pub use pair_lists::PairLists;
pub use table::Table;
