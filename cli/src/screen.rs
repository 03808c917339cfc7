//! `resemble ui`: a report on the whole screen.
//!
//! ```text
//! report ─► collection ─► model::Screen ─► draw ─► terminal
//!                            ▲    │
//!                        Key │    │ Effect: lay two files side by side, write a plan
//!                            │    ▼
//!                          terminal ─► a thread that carries it out ─► News
//! ```
//!
//! 1. [`model`] and [`draw`] are pure: a key changes the state, and the state is drawn. Only
//!    [`terminal`] reads keys and files, and receives the results of threads.
//! 2. The question is asked in a thread. So the screen is drawn at once, and shows the progress.
//! 3. The files of the report are never changed. Only plans, in new files, and templates are
//!    written.
//!
//! This module is behind the feature `ui`, because it needs the large crate `ratatui` for drawing.

mod collection;
mod draw;
mod marks;
mod model;
mod regions;
mod terminal;

pub(crate) use collection::Collection;
pub(crate) use draw::Look;
pub(crate) use terminal::{Ask, run};

#[cfg(test)]
mod tests;
