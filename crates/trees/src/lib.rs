//! `resemble-trees`: compares two trees by content.
//!
//! * [`compare`] finds out what happened to every file of two trees;
//! * [`covered`] finds out whether every file of a tree has an equal file elsewhere.
//!
//! Both questions answer from an index, or scan the two trees side by side. `resemble-query` calls
//! them like its own questions. They have their own crate because they share the scan and the
//! inventories of [`compare::TreeCache`], which no other question uses.
#![forbid(unsafe_code)]

pub mod compare;
pub mod covered;
