//! Reads zip archives, and gives access to the parts of documents that are zips.
//!
//! Entries are read in the order of the central directory, even if several have the same name. The
//! content of an entry is checked against its length and check sum. Entries may overlap, and a
//! large entry may be listed many times. The bytes of such entries are bounded only by the limits
//! for the whole archive.
//!
//! If a zip has no directory, a directory is made from the headers before its entries.

use std::cell::Cell;
use std::io::{self, Read};
use std::rc::Rc;

use rawzip::extra_fields::{ExtraFieldId, ExtraFields};
use rawzip::{
    CompressionMethod, ReaderAt, ZipArchive, ZipArchiveEntryWayfinder, ZipLocator, ZipVerification,
};

use super::compressed::{Bounded, Counted, Frames, Zstd, xz};
use super::directory::{Completed, LOCAL_MARK, directory_of};
use crate::charset::MemberNames;
use crate::read::{Place, Source, Stop, Take, Walk, cut, damaged, unsupported};
use crate::{Bound, Limits, Skipped};

/// Passes on the members of an archive.
pub(super) fn read(walk: &mut Walk, zip: &Archive<'_>, place: Place) -> Take {
    let place = walk.deeper(place, true)?;
    for entry in zip.entries.iter().filter(|entry| entry.is_file) {
        if entry.encrypted {
            walk.within(&entry.name, |_| Err(Stop::This(Skipped::Encrypted)))?;
            continue;
        }
        match zip.reader(entry) {
            Ok(mut reader) => walk.member(&entry.name, &mut reader, place)?,
            Err(why) => walk.within(&entry.name, |_| Err(why))?,
        }
    }
    if zip.more {
        return Err(Stop::All(Skipped::TooMuch(Bound::Parts)));
    }
    Ok(())
}

/// The size in bytes of the record at the end of a zip, without its comment.
const END_RECORD: usize = 22;

/// Returns whether a source ends with a zip. Any bytes may precede the zip. The zip must have an
/// end record, and the directory (or its locator) must be where the end record says.
pub(super) fn has_zip_at_end(source: &Source<'_>) -> bool {
    let longest = END_RECORD as u64 + u64::from(u16::MAX);
    let start = source.len().saturating_sub(longest);
    let mut tail = Vec::new();
    let mut from = source.reader_from(start).take(longest);
    if from.read_to_end(&mut tail).is_err() {
        return false;
    }
    let mut ends = memchr::memmem::rfind_iter(&tail, b"PK\x05\x06");
    ends.any(|at| {
        let Some(&[a, b, c, d]) = tail.get(at + 12..at + 16) else {
            return false;
        };
        let length = u32::from_le_bytes([a, b, c, d]);
        // In a large zip, the locator of the directory is before the end record. In any other zip,
        // the directory itself is before it.
        let (mark, back) = match length {
            u32::MAX => (b"PK\x06\x07", 20),
            _ => (b"PK\x01\x02", u64::from(length)),
        };
        let mut found = [0; 4];
        let place = (start + at as u64).checked_sub(back);
        tail.len() - at >= END_RECORD
            && place.is_some_and(|place| source.read_at(&mut found, place).is_ok())
            && found == *mark
    })
}

/// A zip whose directory was read.
#[derive(Debug)]
pub(super) struct Archive<'a> {
    zip: ZipArchive<Completed<'a>>,
    entries: Vec<Entry>,
    /// True if the zip has more entries than a file may have parts.
    more: bool,
    /// True if the zip has no directory of its own, because its end is missing.
    pub(super) is_cut: bool,
    pub(super) limits: Limits,
}

/// An entry of the central directory.
#[derive(Debug)]
pub(super) struct Entry {
    pub(super) name: Vec<u8>,
    is_file: bool,
    encrypted: bool,
    method: CompressionMethod,
    at: ZipArchiveEntryWayfinder,
}

impl<'a> Archive<'a> {
    pub(super) fn open(source: Source<'a>, limits: &Limits) -> Take<Self> {
        Self::with_directory(source, Vec::new(), limits).or_else(|stop| {
            let directory = directory_of(&source, limits)?;
            if directory.is_empty() {
                return Err(stop);
            }
            Self::with_directory(source, directory, limits)
        })
    }

    fn with_directory(source: Source<'a>, directory: Vec<u8>, limits: &Limits) -> Take<Self> {
        let mut buffer = vec![0; rawzip::RECOMMENDED_BUFFER_SIZE];
        let is_cut = !directory.is_empty();
        let length = source.len() + directory.len() as u64;
        let zip = ZipLocator::new()
            .locate_in_reader(Completed { source, directory }, &mut buffer, length)
            .map_err(|(_, error)| damaged(error))?;
        let mut first = u64::MAX;
        let (mut entries, mut more) = (Vec::<Entry>::new(), false);
        let mut names = MemberNames::default();
        let mut directory = zip.entries(&mut buffer);
        while let Some(record) = directory.next_entry().map_err(damaged)? {
            if entries.len() >= limits.parts as usize {
                more = true;
                break;
            }
            let path = record.file_path();
            let raw = path.as_bytes();
            let name = match unicode_path(raw, record.extra_fields()) {
                Some(name) => name,
                None => raw.to_vec(),
            };
            names.see(&name);
            first = first.min(record.local_header_offset());
            entries.push(Entry {
                name,
                is_file: !record.is_dir() && !record.mode().is_symlink(),
                encrypted: record.flags().is_encrypted(),
                method: record.compression_method(),
                at: record.wayfinder(),
            });
        }
        // If bytes follow this directory and it does not list the first entry, it is the directory
        // of a zip within this zip. The directory of this zip itself is then missing.
        let mut mark = [0; 4];
        source.read_at(&mut mark, 0)?;
        if mark == *LOCAL_MARK && first > 0 && zip.end_offset() < length {
            return Err(Stop::This(cut()));
        }
        for entry in &mut entries {
            entry.name = names.decode(&entry.name);
        }
        Ok(Self {
            zip,
            entries,
            more,
            is_cut,
            limits: *limits,
        })
    }

    /// Returns the entry with this name.
    pub(super) fn find(&self, name: &[u8]) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    /// Returns a reader for the content of an entry.
    pub(super) fn reader(&self, entry: &Entry) -> Take<Box<dyn Read + '_>> {
        if entry.encrypted {
            return Err(Stop::This(Skipped::Encrypted));
        }
        let local = self.zip.get_entry(entry.at).map_err(damaged)?;
        let taken = Rc::new(Cell::new(0));
        let from = Counted::new(local.reader(), Rc::clone(&taken));
        let inner: Box<dyn Read + '_> = match entry.method {
            CompressionMethod::STORE => Box::new(from),
            CompressionMethod::DEFLATE => Box::new(flate2::bufread::DeflateDecoder::new(from)),
            CompressionMethod::DEFLATE64 => {
                Box::new(deflate64::Deflate64Decoder::with_buffer(from))
            }
            CompressionMethod::BZIP2 => Box::new(bzip2::bufread::BzDecoder::new(from)),
            CompressionMethod::ZSTD => Box::new(Zstd::new(from, &self.limits, Frames::All)),
            CompressionMethod::XZ => Box::new(xz(from, &self.limits)),
            CompressionMethod::LZMA => {
                let size = entry.at.uncompressed_size_hint();
                Box::new(lzma(from, size, &self.limits)?)
            }
            other => {
                let why = format!("compressed by method {}", other.as_u16());
                return Err(unsupported(why));
            }
        };
        let bounded = Bounded::new(inner, taken, &self.limits);
        Ok(Box::new(CheckedEntry {
            inner: bounded,
            sum: flate2::Crc::new(),
            size: 0,
            expected: local.reader().claim_verifier(),
        }))
    }

    /// Returns the whole content of the entry with this name. Returns `None` if there is no such
    /// entry.
    pub(super) fn whole(&self, name: &[u8]) -> Take<Option<Vec<u8>>> {
        let Some(entry) = self.find(name) else {
            return Ok(None);
        };
        let mut all = Vec::new();
        let most = self.limits.memory / 4;
        self.reader(entry)?.take(most).read_to_end(&mut all)?;
        if all.len() as u64 >= most {
            return Err(Bound::Memory.into());
        }
        Ok(Some(all))
    }
}

/// Checks the size and the check sum of an entry at its end. The reader of the library is not used
/// for this, because it drops the bytes of the call that finds a fault.
struct CheckedEntry<R> {
    inner: R,
    sum: flate2::Crc,
    size: u64,
    expected: ZipVerification,
}

impl<R: Read> Read for CheckedEntry<R> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buf)?;
        self.sum.update(&buf[..read]);
        self.size += read as u64;
        let is_end = read == 0 && !buf.is_empty();
        if is_end && self.size < self.expected.uncompressed_size {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        if is_end || self.size > self.expected.uncompressed_size {
            let found = ZipVerification {
                crc: self.sum.sum(),
                uncompressed_size: self.size,
            };
            self.expected.valid(found).map_err(io::Error::other)?;
        }
        Ok(read)
    }
}

/// Returns the UTF-8 name that Info-ZIP stores in an extra field. Returns `None` if the field was
/// written for another name than `name`.
fn unicode_path(name: &[u8], mut fields: ExtraFields<'_>) -> Option<Vec<u8>> {
    const UNICODE_PATH: ExtraFieldId = ExtraFieldId::new(0x7075);
    let (_, field) = fields.find(|(id, _)| *id == UNICODE_PATH)?;
    let (&[1, a, b, c, d], unicode) = field.split_first_chunk()? else {
        return None;
    };
    let mut sum = flate2::Crc::new();
    sum.update(name);
    let is_of_name = sum.sum() == u32::from_le_bytes([a, b, c, d]);
    (is_of_name && !unicode.is_empty()).then(|| unicode.to_vec())
}

/// Makes a decoder for LZMA in a zip. In a zip, the stream begins with its properties.
fn lzma<R: Read>(mut from: R, size: u64, limits: &Limits) -> Take<lzma_rust2::LzmaReader<R>> {
    let mut head = [0; 9];
    from.read_exact(&mut head)?;
    // The header has the version of the tool (2 bytes), the length of the properties (2), and the
    // properties (5).
    let [_, _, 5, 0, props, a, b, c, d] = head else {
        return Err(io::Error::from(io::ErrorKind::InvalidData).into());
    };
    let dictionary = u32::from_le_bytes([a, b, c, d]);
    if u64::from(dictionary) > limits.memory / 4 {
        return Err(Bound::Memory.into());
    }
    lzma_rust2::LzmaReader::new_with_props(from, size, props, dictionary, None).map_err(Stop::from)
}
