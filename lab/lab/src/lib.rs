//! `resemble-lab`: what `resemble lab` runs.
//!
//! The published methods, asked about files, and the experiments of the papers. Nothing of the
//! product depends on this crate: the command starts its program, and the daemon does not know it.
//!
//! [`command`] is the command line; it borrows from that of `resemble` how names are resolved, rows
//! printed and trouble told, so that both programs answer in one form.
#![forbid(unsafe_code)]

pub mod arrays;
pub mod command;
pub mod error;
pub mod eval;
pub mod figure;
mod locked;
pub mod method;
pub mod phases;
pub mod question;
