//! From the bytes of a catalogue to records.
//!
//! A catalogue is read twice: once for its digest, then record by record. Between the two it may
//! change, as any file may, so the second pass takes the digest again and ends with the same
//! verdict.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use resemble_core::hash::content::ContentHasher;
use resemble_core::{ContentDigest, Digest, Params};
use resemble_index::varint::Reader;
use rustix::fs::{Mode, OFlags};

use super::format::{self, CHECKSUM, CatalogueRecord, Decoder, MAGIC, SIGNED};
use super::{CatalogueError, Head, Totals, VERSION};

const TRUNCATED: &str = "it is damaged or was not copied to its end; copy or export it again";
const FORGED: &str = "what it says cannot be; export it again";

/// Whether a file begins as a catalogue does: enough to take it for one where a directory is
/// expected. Nothing but a regular file is opened.
pub fn is_catalogue(file: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    opened(file).is_ok_and(|mut file| file.read_exact(&mut start).is_ok() && start == *MAGIC)
}

pub(super) fn opened(file: &Path) -> io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    if !std::fs::metadata(file)?.is_file() {
        return Err(io::Error::other("not a regular file"));
    }
    let opened = File::from(rustix::fs::open(file, flags, Mode::empty())?);
    if opened.metadata()?.is_file() {
        Ok(opened)
    } else {
        Err(io::Error::other("not a regular file"))
    }
}

/// A catalogue whose digest was right.
#[derive(Debug)]
pub struct Catalogue {
    path: PathBuf,
    file: BufReader<File>,
    /// Bytes of the file before the digest at its end.
    size: u64,
    /// Bytes of records that were not read yet.
    left: u64,
    last: Range<u64>,
    hasher: ContentHasher,
    checksum: ContentDigest,
    head: Head,
    decoder: Decoder,
}

/// Opens a catalogue, and reads it once to see that it is whole.
pub fn open(path: &Path) -> Result<Catalogue, CatalogueError> {
    let fail = |source| CatalogueError::Read {
        file: path.to_owned(),
        source,
    };
    let damaged = |what| CatalogueError::Damaged {
        file: path.to_owned(),
        what,
    };
    let mut file = opened(path).map_err(fail)?;
    let size = file.metadata().map_err(fail)?.len();
    let records = size
        .checked_sub(CHECKSUM as u64)
        .filter(|records| *records > MAGIC.len() as u64)
        .ok_or_else(|| damaged("it is too short to be one"))?;
    let mut hasher = ContentHasher::new();
    let mut start = Vec::new();
    let mut piece = vec![0; 1 << 18];
    let mut left = records;
    while left > 0 {
        let room = piece
            .len()
            .min(usize::try_from(left).unwrap_or(piece.len()));
        let read = match file.read(&mut piece[..room]) {
            Ok(0) => return Err(damaged(TRUNCATED)),
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(fail(error)),
        };
        hasher.update(&piece[..read]);
        if start.len() < MAGIC.len() + 10 {
            start.extend_from_slice(&piece[..read.min(MAGIC.len() + 10)]);
            // Checked before anything else, because a later version may end differently.
            version_of(path, &start)?;
        }
        left -= read as u64;
    }
    let mut checksum = [0; CHECKSUM];
    file.read_exact(&mut checksum)
        .map_err(|_| damaged(TRUNCATED))?;
    let checksum = ContentDigest(checksum);
    if hasher.finish() != checksum {
        return Err(damaged(TRUNCATED));
    }
    file.seek(SeekFrom::Start(0)).map_err(fail)?;
    let mut catalogue = Catalogue {
        path: path.to_owned(),
        file: BufReader::with_capacity(1 << 18, file),
        size: records,
        left: records,
        last: 0..0,
        hasher: ContentHasher::new(),
        checksum,
        head: Head::default(),
        decoder: Decoder::default(),
    };
    catalogue.take(MAGIC.len() as u64)?;
    catalogue.varint()?;
    catalogue.head = match catalogue.raw()? {
        Some((1, body)) => {
            let mut reader = Reader(&body);
            let head = format::head(&mut reader).and_then(|head| reader.end(head));
            head.ok_or_else(|| damaged(FORGED))?
        }
        _ => return Err(damaged(FORGED)),
    };
    Ok(catalogue)
}

/// Checks the beginning of a file.
fn version_of(path: &Path, start: &[u8]) -> Result<(), CatalogueError> {
    let Some(version) = start.strip_prefix(MAGIC) else {
        return Err(CatalogueError::Damaged {
            file: path.to_owned(),
            what: "it does not begin as one; `resemble export` makes them",
        });
    };
    match Reader(version).u64() {
        Some(VERSION) => Ok(()),
        version => Err(CatalogueError::Version {
            file: path.to_owned(),
            version: version.unwrap_or(0),
        }),
    }
}

impl Catalogue {
    /// What it says of itself.
    pub const fn head(&self) -> &Head {
        &self.head
    }

    /// Its digest, which names it.
    pub const fn checksum(&self) -> &ContentDigest {
        &self.checksum
    }

    /// Where it lies.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What is in it, by its own count; reads it to the end.
    pub fn totals(mut self) -> Result<Totals, CatalogueError> {
        while let Some((kind, body)) = self.raw()? {
            if kind == 5 {
                let mut reader = Reader(&body);
                return format::totals(&mut reader).ok_or_else(|| self.forged());
            }
        }
        Err(self.forged())
    }

    /// The error for records that contradict each other.
    pub fn forged(&self) -> CatalogueError {
        CatalogueError::Damaged {
            file: self.path.clone(),
            what: FORGED,
        }
    }

    /// Where the body of the last record lies in the file.
    pub fn last_body(&self) -> Range<u64> {
        self.last.clone()
    }

    /// A content once more, whose record had its body there.
    pub fn content_at(&self, body: &Range<u64>, params: &Params) -> Result<Digest, CatalogueError> {
        let length = usize::try_from(body.end - body.start).map_err(|_| self.forged())?;
        let mut bytes = vec![0; length];
        let read = self.file.get_ref().read_exact_at(&mut bytes, body.start);
        read.map_err(|source| CatalogueError::Read {
            file: self.path.clone(),
            source,
        })?;
        let mut reader = Reader(&bytes);
        let digest = format::content(&mut reader, params);
        (digest.and_then(|digest| reader.end(digest))).ok_or_else(|| self.changed())
    }

    fn changed(&self) -> CatalogueError {
        CatalogueError::Damaged {
            file: self.path.clone(),
            what: "it changed while it was read; try again",
        }
    }

    /// The next record after the head; `None` at the end, when the digest was right once more.
    pub fn next(&mut self, params: &Params) -> Result<Option<CatalogueRecord>, CatalogueError> {
        let mut raw = self.raw()?;
        while raw.as_ref().is_some_and(|(kind, _)| *kind == SIGNED) {
            raw = self.raw()?;
        }
        let Some((kind, body)) = raw else {
            let hasher = std::mem::take(&mut self.hasher);
            if hasher.finish() != self.checksum {
                return Err(self.changed());
            }
            return Ok(None);
        };
        let record = self.decoder.record(kind, &body, params);
        record.map(Some).ok_or_else(|| self.forged())
    }

    /// The kind and the body of the next record.
    fn raw(&mut self) -> Result<Option<(u8, Vec<u8>)>, CatalogueError> {
        if self.left == 0 {
            return Ok(None);
        }
        let kind = self.take(1)?[0];
        let length = self.varint()?;
        let start = self.size - self.left;
        let body = self.take(length)?;
        self.last = start..self.size - self.left;
        Ok(Some((kind, body)))
    }

    fn varint(&mut self) -> Result<u64, CatalogueError> {
        let mut bytes = Vec::with_capacity(10);
        loop {
            bytes.push(self.take(1)?[0]);
            if let Some(number) = Reader(&bytes).u64() {
                return Ok(number);
            }
            if bytes.len() >= 10 {
                return Err(self.forged());
            }
        }
    }

    /// The next `count` bytes. Memory is only allocated for bytes that are there.
    fn take(&mut self, count: u64) -> Result<Vec<u8>, CatalogueError> {
        if count > self.left {
            return Err(self.forged());
        }
        let mut bytes = Vec::new();
        let read = (&mut self.file).take(count).read_to_end(&mut bytes);
        match read {
            Ok(read) if read as u64 == count => {}
            Ok(_) => {
                return Err(CatalogueError::Damaged {
                    file: self.path.clone(),
                    what: TRUNCATED,
                });
            }
            Err(source) => {
                return Err(CatalogueError::Read {
                    file: self.path.clone(),
                    source,
                });
            }
        }
        self.left -= count;
        self.hasher.update(&bytes);
        Ok(bytes)
    }
}
