//! `resemble-trees`: compares two trees by content.
//!
//! * [`compare`]: what became of every file of two trees;
//! * [`covered`]: whether every file of a tree has an equal one elsewhere.
//!
//! Both answer from an index, or scan the two trees side by side. `resemble-query` calls them as it
//! calls its own questions. They are a crate of their own because they share the scan and the
//! inventories of [`compare::TreeCache`], which no other question uses.
#![forbid(unsafe_code)]

pub mod compare;
pub mod covered;
