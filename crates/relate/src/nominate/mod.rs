//! Candidates from postings: the one place that says who may resemble whom.

pub mod block;
pub mod boilerplate;
pub mod copies;
pub mod evidence;
pub mod families;
pub mod kinship;
pub mod levels;
pub mod members;
pub mod quotations;
