//! What is said of a pair: its measures, its relation, and which of several matches stands.

pub mod archives;
pub mod estimate;
pub mod listing;
pub mod matched;
pub mod members;
