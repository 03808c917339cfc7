//! Judges a pair: its measures, its relation, and which of several matches is reported.

pub mod archives;
pub mod estimate;
pub mod listing;
pub mod matched;
pub mod members;
