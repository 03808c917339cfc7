//! Templates: what the user declared to be no evidence.
//!
//! The one set of decisions that resemble keeps. Everything else in the state folder is derived
//! from the files and can be made anew; these cannot, so they are in a small file of their own
//! ([`file`]), which the daemon and the command read alike: both give the same answers.
//!
//! **How it takes effect.** [`Store::current`] gives the pieces of all templates; they travel with
//! the snapshot ([`crate::Snapshot::with_templates`]) into every question, which takes them out of
//! chunk lists and signatures as it fetches them ([`resemble_core::similarity::Templates::strip`]).
//! No file is opened for it and nothing in the index changes, so unmarking restores everything at
//! once.
//!
//! **Marking** looks at contents *without* the templates that are there already: each template has
//! just what it added, a second one holds what the first revealed, and taking back either leaves
//! the other whole.

mod file;
mod mark;
mod store;

pub use file::{FILE_NAME, TemplateError};
pub use mark::mark_with_parts;
pub use store::{Current, Store};
