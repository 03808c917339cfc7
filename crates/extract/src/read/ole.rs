//! Checks compound files. A current Office document with a password is a compound file, and is
//! reported as encrypted. Other compound files need a converter.

use crate::Skipped;
use crate::read::{Source, Stop, Take, Walk};

/// The name of the stream that has the encrypted document. Directories store it in UTF-16.
const ENCRYPTED: &str = "EncryptedPackage";

pub(super) fn read(_: &mut Walk, source: Source<'_>) -> Take {
    let mark: Vec<u8> = ENCRYPTED
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    match source.find(0, &mark, |_, _| true)? {
        Some(_) => Err(Stop::This(Skipped::Encrypted)),
        None => Ok(()),
    }
}
