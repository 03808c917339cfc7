//! `resemble-lab`: what `resemble lab` runs.
//!
//! The published methods, applied to files, and the experiments of the papers. The product does not
//! depend on this crate: the command starts its program, and the daemon does not know it.
//!
//! [`command`] is the command line. It resolves names, prints rows and reports errors with the code
//! of `resemble`. So both programs answer in the same form.
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
