//! The laboratory: the program `resemble-lab`, which `resemble lab` starts.
//!
//! It applies the published methods to files and runs the experiments of the papers. The product
//! does not depend on this crate: `resemble` only starts this program, and the daemon does not know
//! the laboratory.
//!
//! [`command`] is the command line. It uses the code of `resemble` to resolve names, print rows and
//! report errors, so both programs answer in the same form.
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
