//! MD5 (RFC 1321) of many messages at a time.
//!
//! One MD5 is a chain of 64 steps a block, each waiting for the one before, and no processor makes
//! that faster than 0.7 to 0.8 GB/s. But the chunks of a file are hundreds of messages that wait
//! for nothing: in a vector of 32-bit lanes each lane hashes its own, and two or three vectors take
//! turns so that one works while another waits. The digests are those of one at a time, whatever
//! the platform.
//!
//! * `lanes` gives the messages to lanes, and a lane that is done its next one.
//! * `avx2` (8 lanes a vector) and `avx512` (16) take all lanes some blocks further; `kernel` has
//!   the steps and `constants` the numbers that they share.
//! * `portable` is the crate `md-5`: the fallback, the choice for two or three messages, and
//!   what the tests compare the others with.
//!
//! A thousand chunks of TTTD's lengths on one core of a Zen 5 server part
//! (`benches/benches/hash.rs`), MB/s: portable 680, AVX2 4000, AVX-512 11300.

#[cfg(target_arch = "x86_64")]
mod avx2;
#[cfg(target_arch = "x86_64")]
mod avx512;
#[cfg(target_arch = "x86_64")]
mod constants;
#[cfg(target_arch = "x86_64")]
mod kernel;
#[cfg(target_arch = "x86_64")]
mod lanes;
mod portable;

#[cfg(test)]
mod tests;

use crate::ids::ChunkHash;

/// Appends the MD5 of each message to `out`, in order.
///
/// Best with hundreds of messages of hundreds of bytes; right with any.
pub fn md5_many(messages: &[&[u8]], out: &mut Vec<ChunkHash>) {
    Md5Platform::detect().md5_many(messages, out);
}

/// The instructions MD5 uses. Which one is no part of any result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Md5Platform {
    /// One message at a time.
    Portable,
    /// AVX2: 8 or 16 messages at a time.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512: 16, 32 or 48 messages at a time.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Md5Platform {
    /// The fastest this processor has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(platform) = Self::avx512().or_else(Self::avx2) {
            return platform;
        }
        Self::Portable
    }

    /// AVX2, if this processor has it.
    #[cfg(target_arch = "x86_64")]
    pub fn avx2() -> Option<Self> {
        avx2::is_available().then_some(Self::Avx2)
    }

    /// AVX-512, if this processor has it.
    #[cfg(target_arch = "x86_64")]
    pub fn avx512() -> Option<Self> {
        avx512::is_available().then_some(Self::Avx512)
    }

    /// Every platform this processor has.
    pub fn available() -> Vec<Self> {
        let mut all = vec![Self::Portable];
        #[cfg(target_arch = "x86_64")]
        all.extend([Self::avx2(), Self::avx512()].into_iter().flatten());
        all
    }

    /// Appends the MD5 of each message to `out`, in order.
    ///
    /// # Panics
    ///
    /// If the processor has not got the platform's instructions.
    pub fn md5_many(self, messages: &[&[u8]], out: &mut Vec<ChunkHash>) {
        match self {
            Self::Portable => portable::md5_many(messages, out),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => avx2::md5_many(messages, out),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => avx512::md5_many(messages, out),
        }
    }
}
