//! `resemble-index`: what is known of contents and files, kept in one redb file.
//! (Interface agreed; the owner of this crate fills in the modules and the argument.)

pub mod change;
pub mod rows;
