//! The real program: started, asked over its socket, disturbed, killed.
//!
//! Each test has a folder of its own with tree, state and socket, and an empty environment. What it
//! waits for is a barrier (`sync`), an answer or the end of a process, never a length of time.

// What is allowed in unit tests is allowed here: a panic is how a test fails.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

#[path = "daemon/support.rs"]
mod support;

#[path = "daemon/convergence.rs"]
mod convergence;
#[path = "daemon/faults.rs"]
mod faults;
#[path = "daemon/lifecycle.rs"]
mod lifecycle;
#[path = "daemon/overlay.rs"]
mod overlay;
#[path = "daemon/questions.rs"]
mod questions;
