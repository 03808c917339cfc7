//! Reads 7z archives.
//!
//! Members are compressed together in blocks, and each block is decoded in one pass. A member is
//! decoded after all earlier members of its block. So if a member is damaged, the later members of
//! its block are lost.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use sevenz_rust2::{Archive, ArchiveEntry, BlockDecoder, EncoderMethod, Error, Password};

use super::compressed::{Bounded, Counted, decoder_memory};
use crate::read::{Place, Source, Stop, Take, Walk, damaged, unsupported};
use crate::{Bound, Skipped};

/// Reads the members of an archive. Members in blocks are read first, in order. Empty members
/// follow.
pub(super) fn read(walk: &mut Walk, source: Source<'_>, place: Place) -> Take {
    let place = walk.deeper(place, true)?;
    let memory = decoder_memory(&walk.limits) as usize;
    let taken = Rc::new(Cell::new(0));
    let mut from = Counted::new(source.reader(), Rc::clone(&taken));
    let archive = Archive::read_with_memory_limit(&mut from, &Password::empty(), memory)
        .map_err(of_library)?;
    for at in 0..archive.blocks.len() {
        let password = Password::empty();
        let block =
            BlockDecoder::new_with_memory_limit(1, memory, at, &archive, &password, &mut from);
        Members {
            walk,
            place,
            taken: &taken,
            passed: 0,
        }
        .of_block(&archive, at, block)?;
    }
    let in_block = &archive.stream_map.file_block_index;
    for (entry, _) in archive
        .files
        .iter()
        .zip(in_block)
        .filter(|(_, at)| at.is_none())
    {
        if is_file(entry) {
            walk.member(entry.name.as_bytes(), &mut io::empty(), place)?;
        }
    }
    Ok(())
}

/// Passes the members of blocks to the walk.
struct Members<'w> {
    walk: &'w mut Walk,
    place: Place,
    taken: &'w Rc<Cell<u64>>,
    /// The number of members that were passed on or reported as skipped.
    passed: usize,
}

impl Members<'_> {
    fn of_block<R: Read + io::Seek>(
        mut self,
        archive: &Archive,
        at: usize,
        block: BlockDecoder<'_, R>,
    ) -> Take {
        let count = block.entry_count();
        let coders = &archive.blocks[at].coders;
        let is_encrypted = coders
            .iter()
            .any(|coder| coder.encoder_method_id() == EncoderMethod::ID_AES256_SHA256);
        let why = if is_encrypted {
            Some(Stop::This(Skipped::Encrypted))
        } else {
            let mut stop = None;
            let result = block.for_each_entries(&mut |entry, reader| {
                let (is_whole, result) = self.member(entry, reader);
                stop = result.err();
                Ok(is_whole && stop.is_none())
            });
            if let Some(stop) = stop {
                return Err(stop);
            }
            result.err().map(of_library)
        };
        let why = match why {
            Some(Stop::This(why)) => why,
            Some(stop) => return Err(stop),
            None => Skipped::Damaged("what it is packed with is damaged".to_owned()),
        };
        let first = archive.stream_map.block_first_file_index[at];
        let rest = archive.files[first..first + count].iter().skip(self.passed);
        for entry in rest.filter(|entry| is_file(entry)) {
            let why = why.clone();
            self.walk
                .within(entry.name.as_bytes(), |_| Err(Stop::This(why)))?;
        }
        Ok(())
    }

    /// Passes on a member. Returns whether it was read to its end.
    fn member(&mut self, entry: &ArchiveEntry, from: &mut dyn Read) -> (bool, Take) {
        self.passed += 1;
        if !is_file(entry) {
            return (true, Ok(()));
        }
        let limits = self.walk.limits;
        let mut from = Failing {
            inner: Bounded::new(from, Rc::clone(self.taken), &limits),
            failed: false,
        };
        let result = self
            .walk
            .member(entry.name.as_bytes(), &mut from, self.place);
        (!from.failed, result)
    }
}

/// Reads from `inner`, and records whether that failed.
struct Failing<R> {
    inner: R,
    failed: bool,
}

impl<R: Read> Read for Failing<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buf);
        self.failed |= read.is_err();
        read
    }
}

/// Returns whether an entry is a regular file. Folders, anti-items and symbolic links are not
/// regular files. An archive made on Unix marks a link in the upper half of the attributes.
fn is_file(entry: &ArchiveEntry) -> bool {
    const HAS_MODE: u32 = 0x8000;
    const KIND: u32 = 0o170_000;
    const LINK: u32 = 0o120_000;
    let attributes = entry.windows_attributes;
    let is_link = entry.has_windows_attributes
        && attributes & HAS_MODE != 0
        && (attributes >> 16) & KIND == LINK;
    !(entry.is_directory || entry.is_anti_item || is_link)
}

/// Converts an error of the 7z library.
fn of_library(error: Error) -> Stop {
    match error {
        Error::PasswordRequired => Stop::This(Skipped::Encrypted),
        Error::UnsupportedCompressionMethod(name)
            if name == EncoderMethod::AES256_SHA256.name() =>
        {
            Stop::This(Skipped::Encrypted)
        }
        Error::UnsupportedCompressionMethod(name) => unsupported(format!("compressed by {name}")),
        Error::Unsupported(what) => unsupported(what),
        Error::ExternalUnsupported => unsupported("a header outside the file"),
        Error::UnsupportedVersion { major, minor } => {
            unsupported(format!("version {major}.{minor} of 7z"))
        }
        Error::MaxMemLimited { .. } => Bound::Memory.into(),
        Error::Io(error, _) => damaged(error),
        Error::Other(what) => Stop::This(Skipped::Damaged(what.into_owned())),
        other => damaged(other),
    }
}
