//! `resemble-lab`: what `resemble lab` runs.
//!
//! The published methods, asked about files, and the experiments of the papers. Nothing of the product depends on
//! this crate: the command starts its program, and the daemon does not know it.
#![forbid(unsafe_code)]
