//! Candidates from postings: the one place that says who may resemble whom.

pub(crate) mod block;
pub(crate) mod boilerplate;
pub(crate) mod copies;
pub(crate) mod evidence;
pub(crate) mod families;
pub(crate) mod kinship;
pub(crate) mod levels;
pub(crate) mod quotations;
