//! Delivers alerts to sinks, in the order of the alert numbers. An alert that the filter of a sink
//! accepts is delivered at least once, either by itself or as part of a summary.
//!
//! ```text
//! the log of alerts ──► Outlet: filter, pace, retries ──► Sink: a program, a file, a service
//!                          │
//!                          ▼
//!                       Places: how far each sink is, in a file
//! ```
//!
//! The log of alerts is the only queue. An [`Outlet`] stores the number of the last alert that its
//! sink has accepted, and requests later alerts from the log. So the outlet continues after a
//! restart. While a sink fails, an alert is lost only if the log drops it. `resemble notify` has
//! the outlets of sinks that need a desktop session, and the daemon has the outlets of all other
//! sinks.
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
