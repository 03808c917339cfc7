//! The two files decide: what they say is read, and compared as it is.

pub(crate) mod archives;
pub(crate) mod contents;
pub(crate) mod cost;
pub(crate) mod exact;
pub(crate) mod extracted;
pub(crate) mod many;
pub(crate) mod members;
pub(crate) mod read;
pub(crate) mod texts;
