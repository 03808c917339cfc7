//! What is said of a pair: its measures, its relation, and which of several matches stands.

pub(crate) mod estimate;
pub(crate) mod listing;
pub(crate) mod matched;
