//! Reads both files of a pair and compares their contents: the final decision.

pub mod archives;
pub mod contents;
pub mod cost;
pub mod exact;
pub mod extracted;
pub mod many;
pub mod members;
pub mod read;
pub mod texts;
