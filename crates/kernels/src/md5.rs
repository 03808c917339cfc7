//! MD5 (RFC 1321) of many messages at a time.
//!
//! One MD5 is a chain of 64 dependent steps for each block. No processor computes one MD5 faster
//! than 0.7 to 0.8 GB/s. But the chunks of a file are hundreds of independent messages. Each 32-bit
//! lane of a vector hashes its own message. Up to three vectors take turns, so that one vector
//! proceeds while another waits. The digests do not depend on the platform.
//!
//! * `lanes` distributes the messages to lanes; a finished lane takes the next message.
//! * `avx2` (8 lanes in a vector) and `avx512` (16) advance all lanes by a number of blocks. Both
//!   use the steps in `kernel` and the numbers in `constants`.
//! * `portable` is the crate `md-5`. It hashes up to two or three messages at a time, or all
//!   messages if there is no other kernel. In tests, it is the reference.
//!
//! `benches/benches/hash.rs` measures the speed of the kernels, and docs/benchmarks.md has the
//! figures.

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

/// The MD5 of a message, as RFC 1321 writes it.
pub type Md5Digest = [u8; 16];

/// Appends the MD5 of each message to `out`, in order.
///
/// This function is fastest with hundreds of messages of hundreds of bytes, and correct with any
/// messages.
pub fn md5_many(messages: &[&[u8]], out: &mut Vec<Md5Digest>) {
    Md5Platform::detect().md5_many(messages, out);
}

/// The instructions that MD5 uses. They do not change any result.
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
    /// Returns the fastest platform that this processor has.
    pub fn detect() -> Self {
        #[cfg(target_arch = "x86_64")]
        if let Some(platform) = Self::avx512().or_else(Self::avx2) {
            return platform;
        }
        Self::Portable
    }

    /// Returns AVX2, if this processor has it.
    #[cfg(target_arch = "x86_64")]
    pub fn avx2() -> Option<Self> {
        avx2::is_available().then_some(Self::Avx2)
    }

    /// Returns AVX-512, if this processor has it.
    #[cfg(target_arch = "x86_64")]
    pub fn avx512() -> Option<Self> {
        avx512::is_available().then_some(Self::Avx512)
    }

    /// Returns every platform that this processor has.
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
    /// If the processor does not have the platform's instructions.
    pub fn md5_many(self, messages: &[&[u8]], out: &mut Vec<Md5Digest>) {
        match self {
            Self::Portable => portable::md5_many(messages, out),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2 => avx2::md5_many(messages, out),
            #[cfg(target_arch = "x86_64")]
            Self::Avx512 => avx512::md5_many(messages, out),
        }
    }
}
