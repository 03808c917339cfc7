//! The overlay without a kernel and as a real mount: one binary, one module a theme.

#![allow(clippy::unwrap_used, missing_docs)] // a test program

mod model; // the files view against the tree itself
mod mounts; // real mounts, real clients
mod semantics; // the page of promises
mod site; // a tree with an overlay on it
