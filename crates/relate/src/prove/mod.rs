//! The two files decide: what they say is read, and compared as it is.

pub mod archives;
pub mod contents;
pub mod cost;
pub mod exact;
pub mod extracted;
pub mod many;
pub mod members;
pub mod read;
pub mod texts;
