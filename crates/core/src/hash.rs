//! The three hashes of bytes, each with its own purpose.
//!
//! | hash | of what | for what |
//! |---|---|---|
//! | [`rolling`] | every window of 64 bytes | where chunks end, which windows are fingerprints |
//! | [`md5_many`] | every chunk | the chunk's name |
//! | [`content`] | the whole content | identity |
//!
//! None of these hashes has a key, so two indexes of one tree have the same values. Only
//! [`content`] resists crafted collisions. So only this hash decides that two files are identical.
//!
//! # Processors
//!
//! The first two hashes take most of the time, so they have kernels for wide vector units. The
//! kernels are chosen at run time ([`md5::Md5Platform`], [`rolling::RollingPlatform`]). All kernels
//! compute the same values, only at different speeds. The portable kernel is the definition. The
//! tests compare every kernel that the processor can run with the portable kernel. No result
//! depends on which kernel ran.
//!
//! There are kernels for words, too: `letters` finds the letters of words, and `shingles` computes
//! the hashes of words and shingles.
//!
//! `unsafe` is confined to the kernel files of `resemble-kernels`, which contain nothing else.

pub mod content;

pub(crate) use resemble_kernels::{letters, shingles};
pub use resemble_kernels::{md5, md5_many, rolling};
