//! Shows answers on a terminal: two files in two columns ([`columns`]), and a report on the whole
//! screen (`resemble ui`).
//!
//! ```text
//! report ─► collection ─► model::Screen ─► draw ─► terminal
//!                            ▲    │
//!                        Key │    │ Effect: lay two files side by side, write a plan
//!                            │    ▼
//!                          terminal ─► a thread in which the Session carries it out ─► News
//! ```
//!
//! 1. `model` and `draw` are pure: a key changes the state, and the state is drawn. Only `terminal`
//!    reads keys, and receives the results of threads. This crate opens no file.
//! 2. The command implements `Session`: it asks the question, compares files and writes plans. The
//!    question is asked in a thread. So the screen is drawn at once, and shows the progress.
//! 3. The files of the report are never changed. Only plans, in new files, and templates are
//!    written.
//!
//! All modules except [`columns`] are behind the feature `ui`, because they need the large crate
//! `ratatui` for drawing.
#![forbid(unsafe_code)]

#[cfg(feature = "ui")]
mod collection;
pub mod columns;
#[cfg(feature = "ui")]
mod draw;
#[cfg(feature = "ui")]
mod marks;
#[cfg(feature = "ui")]
mod model;
#[cfg(feature = "ui")]
mod regions;
#[cfg(feature = "ui")]
mod terminal;

#[cfg(feature = "ui")]
pub use collection::Collection;
#[cfg(feature = "ui")]
pub use draw::Look;
#[cfg(feature = "ui")]
pub use model::{PairFindings, PlanOrder};
#[cfg(feature = "ui")]
pub use terminal::{ScreenError, Session, run};

#[cfg(test)]
#[cfg(feature = "ui")]
mod tests;
