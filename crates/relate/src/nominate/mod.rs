//! Nominates candidates by postings. Only this module decides which contents are compared.

pub mod block;
pub mod boilerplate;
mod common;
pub mod copies;
pub mod evidence;
pub mod families;
pub mod frames;
mod kept;
pub mod kinship;
pub mod levels;
pub mod members;
pub mod quotations;
mod windows;

pub use common::Common;
