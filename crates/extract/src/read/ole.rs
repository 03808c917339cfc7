//! Checks compound files. A current Office document with a password is a compound file, and is
//! reported as encrypted. Other compound files need a converter.

use std::io::Read;

use crate::Skipped;
use crate::read::{Source, Stop, Take, Walk};

/// The name of the stream that has the encrypted document. Directories store it in UTF-16.
const ENCRYPTED: &str = "EncryptedPackage";

pub(super) fn read(_: &mut Walk, source: Source<'_>) -> Take {
    let mark: Vec<u8> = ENCRYPTED
        .encode_utf16()
        .flat_map(u16::to_le_bytes)
        .collect();
    let finder = memchr::memmem::Finder::new(&mark);
    let mut from = source.reader();
    let mut window = Vec::new();
    loop {
        // The mark may begin in one piece and end in the next, so the end of each piece is kept.
        let kept = window.len().min(mark.len());
        window.drain(..window.len() - kept);
        if from.by_ref().take(1 << 20).read_to_end(&mut window)? == 0 {
            return Ok(());
        }
        if finder.find(&window).is_some() {
            return Err(Stop::This(Skipped::Encrypted));
        }
    }
}
