//! Makes the final decision about a pair: reads both files and compares their contents.

pub mod archives;
pub mod contents;
pub mod cost;
pub mod exact;
pub mod extracted;
pub mod many;
pub mod members;
pub mod read;
pub mod texts;
