//! Delivers alerts to sinks: each at least once, in the order of their numbers.
//!
//! ```text
//! the log of alerts ──► Outlet: filter, pace, retries ──► Sink: a program, a file, a service
//!                          │
//!                          ▼
//!                       Places: how far each sink is, in a file
//! ```
//!
//! The log is the only queue. An [`Outlet`] knows the number of the last alert that its sink has
//! taken, and asks the log for what comes after it; so a restart goes on where it stopped, and a
//! sink that fails has nothing to lose. The daemon has outlets for what needs no session, and
//! `resemble notify` for those of a user.
#![forbid(unsafe_code)]

mod filter;
mod outlet;
mod places;
mod run;
mod sinks;
mod text;

pub use filter::Filter;
pub use outlet::{News, Now, Outlet, Pace, Sent, Sink, Step};
pub use places::{Place, Places};
pub use run::Running;
pub use sinks::{Input, Mail, Program};
pub use text::{digest, sentence};
