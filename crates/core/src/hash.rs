//! The three hashes of the product, each for its own purpose.
//!
//! | hash | of what | for what |
//! |---|---|---|
//! | [`rolling`] | every window of 64 bytes | where chunks end, which windows are fingerprints |
//! | [`md5_many`] | every chunk | the chunk's name |
//! | [`content`] | the whole content | identity |
//!
//! None is keyed: two indexes of one tree hold the same values. Only the last is meant to stand up
//! to somebody who crafts collisions, and only it ever decides that two files are identical.
//!
//! # Processors
//!
//! The first two are where the time goes, so they have kernels for wide vector units, chosen once
//! at run time ([`md5::Md5Platform`], [`rolling::RollingPlatform`]). A kernel is never more than a
//! faster way to the same values: the portable one is the definition, the tests run every kernel
//! the processor has against it, and nothing outside this module can tell which one ran.
//!
//! So has `letters`, which finds the words of texts; `shingles` hashes and joins them.
//!
//! `unsafe` is confined to the kernel files, which hold nothing but kernels.

pub mod content;
pub(crate) mod letters;
pub mod md5;
pub mod rolling;
pub(crate) mod shingles;

pub use md5::md5_many;
