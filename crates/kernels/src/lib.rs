//! Hash kernels for many short pieces of data, with the vector units of the processor.
//!
//! | module | hash of | platforms |
//! |---|---|---|
//! | [`md5`] | many messages at a time | AVX-512, AVX2, portable |
//! | [`rolling`] | every window of 64 bytes | AVX-512 VBMI, AVX2, portable |
//! | [`letters`] | no hash: finds the letters among 64 bytes | SSE2, portable |
//! | [`shingles`] | every word, and every five words | AVX-512 VBMI, portable |
//!
//! The fastest kernel of the processor is chosen at run time. All kernels give the same values. The
//! portable kernel is the definition, and the tests compare every kernel that the processor
//! supports with the portable one. Processors other than x86-64 use the portable kernels.
//!
//! ```
//! let mut digests = Vec::new();
//! resemble_kernels::md5_many(&[b"abc", b""], &mut digests);
//! assert_eq!(digests[0][..4], [0x90, 0x01, 0x50, 0x98]);
//! ```
//!
//! None of the hashes has a key, and none resists an adversary.
#![forbid(unsafe_op_in_unsafe_fn)]

mod fingerprint;
pub mod letters;
pub mod md5;
#[cfg(test)]
mod random;
pub mod rolling;
pub mod shingles;

pub use fingerprint::Fingerprint;
pub use md5::md5_many;
