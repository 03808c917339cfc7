//! Writes and checks the digest at the end of a report.
//!
//! A report may be read months later, from a failing disk or a truncated mail. It ends with the
//! digest of all bytes before, so any change of these bytes is detected.
//!
//! ```text
//! JSON  …],"errors":[…],"digest":"HEX"}\n
//! page  …</html>\n<!-- digest HEX -->\n
//! ```
//!
//! The digest is computed like that of a file's content ([`resemble_core::hash::content`]).

use std::fmt;
use std::io::{self, Write};

use resemble_core::ContentDigest;
use resemble_core::hash::content::{ContentHasher, digest};

/// The text before the digest and after it, for one kind of report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seal {
    before: &'static str,
    after: &'static str,
}

/// The text around the digest in a JSON document, where it is the last field.
pub const JSON: Seal = Seal {
    before: ",\"digest\":\"",
    after: "\"}\n",
};

/// The text around the digest in an HTML page, where it is the last line.
pub const PAGE: Seal = Seal {
    before: "<!-- digest ",
    after: " -->\n",
};

/// The reason why a report is not as it was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenSeal {
    /// The file does not end with a digest.
    Missing,
    /// The digest is not that of the bytes before it.
    Wrong,
}

impl Seal {
    /// Checks that a report ends with the digest of all bytes before it.
    pub fn check(self, report: &[u8]) -> Result<(), BrokenSeal> {
        let rest = report.strip_suffix(self.after.as_bytes());
        let (rest, stored) = rest
            .and_then(|rest| rest.split_last_chunk::<64>())
            .ok_or(BrokenSeal::Missing)?;
        let sealed = rest.strip_suffix(self.before.as_bytes());
        let sealed = sealed.ok_or(BrokenSeal::Missing)?;
        if digest(sealed).to_string().as_bytes() == stored {
            Ok(())
        } else {
            Err(BrokenSeal::Wrong)
        }
    }
}

/// Passes bytes on, and computes their digest for a [`Seal`].
pub struct Sealing<'a> {
    out: &'a mut dyn Write,
    hasher: ContentHasher,
}

impl fmt::Debug for Sealing<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Sealing").finish_non_exhaustive()
    }
}

impl<'a> Sealing<'a> {
    /// Passes bytes on to `out`.
    pub fn new(out: &'a mut dyn Write) -> Self {
        let hasher = ContentHasher::new();
        Self { out, hasher }
    }

    /// Writes the digest of all bytes that were written.
    pub fn seal(self, seal: Seal) -> io::Result<()> {
        let digest: ContentDigest = self.hasher.finish();
        write!(self.out, "{}{digest}{}", seal.before, seal.after)
    }
}

impl Write for Sealing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.hasher.update(&bytes[..count]);
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sealed(bytes: &[u8], seal: Seal) -> Vec<u8> {
        let mut out = Vec::new();
        let mut sealing = Sealing::new(&mut out);
        for piece in bytes.chunks(7) {
            sealing.write_all(piece).unwrap();
        }
        sealing.seal(seal).unwrap();
        out
    }

    #[test]
    fn every_changed_bit_and_every_missing_byte_breaks_a_seal() {
        for seal in [JSON, PAGE] {
            let report = sealed(b"{\"a\":[1,2,3]", seal);
            assert_eq!(seal.check(&report), Ok(()));
            for at in 0..report.len() {
                for bit in 0..8 {
                    let mut changed = report.clone();
                    changed[at] ^= 1 << bit;
                    assert!(seal.check(&changed).is_err(), "{at}.{bit}");
                }
                assert!(seal.check(&report[..at]).is_err(), "{at}");
                assert!(seal.check(&report[at + 1..]).is_err(), "{at}");
            }
            assert!(seal.check(&[&report[..], b"\n"].concat()).is_err());
        }
        assert_eq!(PAGE.check(&sealed(b"x", JSON)), Err(BrokenSeal::Missing));
    }
}
