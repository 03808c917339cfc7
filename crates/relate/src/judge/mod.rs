//! Judges a pair: computes its measures and its relation, and chooses the match that is reported.

pub mod archives;
pub mod estimate;
pub mod listing;
pub mod matched;
pub mod members;
