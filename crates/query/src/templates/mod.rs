//! Templates: content that a user declared not to be evidence of similarity.
//!
//! Templates are decisions of a user. Unlike the index, they cannot be rebuilt from the files. So
//! they have a small file of their own ([`file`]). The daemon and the command read the same file
//! and give the same answers.
//!
//! **Effect.** [`Store::current`] returns the pieces of all templates, and the snapshot carries
//! them ([`crate::Snapshot::with_templates`]). Every question removes them from the chunk lists and
//! signatures that it reads ([`resemble_core::similarity::Templates::strip`]). No file is opened
//! and the index is unchanged, so unmarking takes effect immediately.
//!
//! **Marking** leaves out the content of existing templates, so a template has only content that no
//! earlier template has. Removing one template does not change the others.

mod file;
mod mark;
mod store;

pub use file::{FILE_NAME, TemplateError};
pub use mark::mark_with_parts;
pub use store::{Current, Store};
