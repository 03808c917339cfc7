//! Reads and writes files of records. Catalogues and deltas are such files.
//!
//! ```text
//! name of the format │ varint version │ record* │ digest of everything before, 32 bytes
//! record:  kind u8 │ varint length │ body
//! ```
//!
//! Such a file is read twice: once to verify its digest, then record by record. The file may change
//! between the two passes. So the second pass computes the digest again, and compares it at the
//! end.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Take};
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use resemble_core::ContentDigest;
use resemble_core::hash::content::ContentHasher;
use resemble_index::varint::{Reader, put};
use rustix::fs::{Mode, OFlags};

use super::format::{CHECKSUM, CatalogueRecord, Encoder};
use super::{CatalogueError, VERSION};

const TRUNCATED: &str = "it is damaged or was not copied to its end; copy or write it again";
const FORGED: &str = "its records contradict each other; write it again";

/// The format of a kind of record file.
#[derive(Debug)]
pub(super) struct RecordFormat {
    /// The first bytes of every file of this format.
    pub(super) magic: &'static [u8],
    /// The error message for a file that begins differently.
    pub(super) other: &'static str,
}

/// The first bytes of every delta. The reader of catalogues uses them for an error message about
/// deltas.
pub(super) const DELTA_MAGIC: &[u8] = b"resemble delta\n";

/// Returns whether a file begins with these bytes. Returns false if the path is not a regular file,
/// or if the file cannot be read.
pub(super) fn begins_with(file: &Path, magic: &[u8]) -> bool {
    let mut start = vec![0; magic.len()];
    opened(file).is_ok_and(|mut file| file.read_exact(&mut start).is_ok() && start == magic)
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

/// The part of a file before its digest, hashed while it is read.
#[derive(Debug)]
struct Hashed {
    bytes: Take<File>,
    hasher: ContentHasher,
}

impl Read for Hashed {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.bytes.read(into)?;
        self.hasher.update(&into[..read]);
        Ok(read)
    }
}

/// A file of records whose digest was verified.
#[derive(Debug)]
pub(super) struct RecordFile {
    path: PathBuf,
    file: BufReader<Hashed>,
    /// The number of bytes before the digest at the end of the file.
    size: u64,
    /// The number of bytes of records that were not read yet.
    left: u64,
    last: Range<u64>,
    checksum: ContentDigest,
}

impl RecordFile {
    /// Opens a file, and reads it once to verify that it is complete and undamaged.
    pub(super) fn open(path: &Path, format: &RecordFormat) -> Result<Self, CatalogueError> {
        let fail = |source| CatalogueError::Read {
            file: path.to_owned(),
            source,
        };
        let damaged = |what| CatalogueError::Damaged {
            file: path.to_owned(),
            what,
        };
        let magic = format.magic;
        let mut file = opened(path).map_err(fail)?;
        let size = file.metadata().map_err(fail)?.len();
        let records = size
            .checked_sub(CHECKSUM as u64)
            .filter(|records| *records > magic.len() as u64)
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
            if start.len() < magic.len() + 10 {
                start.extend_from_slice(&piece[..read.min(magic.len() + 10)]);
                // The version is checked before anything else: a file of a later version may end
                // differently.
                let version = start
                    .strip_prefix(magic)
                    .ok_or_else(|| damaged(format.other))?;
                match Reader(version).u64() {
                    Some(VERSION) => {}
                    version => {
                        return Err(CatalogueError::Version {
                            file: path.to_owned(),
                            version: version.unwrap_or(0),
                        });
                    }
                }
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
        let mut records = Self {
            path: path.to_owned(),
            file: BufReader::with_capacity(
                1 << 18,
                Hashed {
                    bytes: file.take(records),
                    hasher: ContentHasher::new(),
                },
            ),
            size: records,
            left: records,
            last: 0..0,
            checksum,
        };
        records.take(magic.len() as u64)?;
        records.varint()?;
        Ok(records)
    }

    /// Returns the digest at the end of the file.
    pub(super) const fn checksum(&self) -> &ContentDigest {
        &self.checksum
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Makes the error for records that contradict each other.
    pub(super) fn forged(&self) -> CatalogueError {
        CatalogueError::Damaged {
            file: self.path.clone(),
            what: FORGED,
        }
    }

    /// Makes the error for a file that changed since it was opened.
    pub(super) fn changed(&self) -> CatalogueError {
        CatalogueError::Damaged {
            file: self.path.clone(),
            what: "it changed while it was read; try again",
        }
    }

    /// Returns the position of the last record's body in the file.
    pub(super) fn last_body(&self) -> Range<u64> {
        self.last.clone()
    }

    /// Reads the body of an earlier record again. `body` is the position of the body.
    pub(super) fn body_at(&self, body: &Range<u64>) -> Result<Vec<u8>, CatalogueError> {
        let length = usize::try_from(body.end - body.start).map_err(|_| self.forged())?;
        let mut bytes = vec![0; length];
        let read = self
            .file
            .get_ref()
            .bytes
            .get_ref()
            .read_exact_at(&mut bytes, body.start);
        read.map_err(|source| CatalogueError::Read {
            file: self.path.clone(),
            source,
        })?;
        Ok(bytes)
    }

    /// Returns the kind and the body of the next record. At the end verifies the digest again, and
    /// returns `None`.
    pub(super) fn next(&mut self) -> Result<Option<(u8, Vec<u8>)>, CatalogueError> {
        if self.left == 0 {
            return if std::mem::take(&mut self.file.get_mut().hasher).finish() == self.checksum {
                Ok(None)
            } else {
                Err(self.changed())
            };
        }
        let kind = self.byte()?;
        let length = self.varint()?;
        let start = self.size - self.left;
        let body = self.take(length)?;
        self.last = start..self.size - self.left;
        Ok(Some((kind, body)))
    }

    fn varint(&mut self) -> Result<u64, CatalogueError> {
        let (mut bytes, mut length) = ([0; 10], 0);
        while length < bytes.len() {
            bytes[length] = self.byte()?;
            length += 1;
            if let Some(number) = Reader(&bytes[..length]).u64() {
                return Ok(number);
            }
        }
        Err(self.forged())
    }

    fn byte(&mut self) -> Result<u8, CatalogueError> {
        let mut byte = [0];
        self.left = self.left.checked_sub(1).ok_or_else(|| self.forged())?;
        let read = self.file.read_exact(&mut byte);
        read.map_err(|error| self.ended(error))?;
        Ok(byte[0])
    }

    /// Reads the next `count` bytes. Memory is allocated in pieces while bytes arrive, so a false
    /// length cannot exhaust the memory.
    fn take(&mut self, count: u64) -> Result<Vec<u8>, CatalogueError> {
        self.left = self.left.checked_sub(count).ok_or_else(|| self.forged())?;
        let length = usize::try_from(count).map_err(|_| self.forged())?;
        let mut bytes = vec![0; length.min(PIECE)];
        let read = self.file.read_exact(&mut bytes);
        read.map_err(|error| self.ended(error))?;
        if length > PIECE {
            let rest = (length - PIECE) as u64;
            let read = (&mut self.file).take(rest).read_to_end(&mut bytes);
            if read.map_err(|error| self.ended(error))? as u64 != rest {
                return Err(self.ended(io::ErrorKind::UnexpectedEof.into()));
            }
        }
        Ok(bytes)
    }

    /// Makes the error for a file that is cut off, or cannot be read.
    fn ended(&self, source: io::Error) -> CatalogueError {
        let file = self.path.clone();
        if source.kind() == io::ErrorKind::UnexpectedEof {
            let what = TRUNCATED;
            return CatalogueError::Damaged { file, what };
        }
        CatalogueError::Read { file, source }
    }
}

/// The number of buffered bytes at which the buffer is passed to the sink. It is also the number of
/// bytes that the reader at first allocates for a body.
const PIECE: usize = 1 << 16;

/// A function that receives the bytes of a file, until it returns `Break`.
pub(super) type Sink<'a> = &'a mut dyn FnMut(&[u8]) -> ControlFlow<()>;

/// Writes a file of records: passes its bytes to a sink as soon as they are made.
pub(super) struct RecordStream<'a> {
    sink: Sink<'a>,
    encoder: Encoder,
    hasher: ContentHasher,
    out: Vec<u8>,
    is_broken: bool,
}

impl<'a> RecordStream<'a> {
    pub(super) fn new(format: &RecordFormat, sink: Sink<'a>) -> Self {
        let mut out = Vec::with_capacity(2 * PIECE);
        out.extend_from_slice(format.magic);
        put(&mut out, VERSION);
        Self {
            sink,
            encoder: Encoder::default(),
            hasher: ContentHasher::new(),
            out,
            is_broken: false,
        }
    }

    pub(super) fn record(&mut self, record: &CatalogueRecord) {
        self.encoder.record(record, &mut self.out);
        self.hand_on_pieces();
    }

    /// Writes a record of a kind that only deltas have. `body` is already encoded.
    pub(super) fn other(&mut self, kind: u8, body: &[u8]) {
        self.out.push(kind);
        put(&mut self.out, body.len() as u64);
        self.out.extend_from_slice(body);
        self.hand_on_pieces();
    }

    /// Returns whether the sink has returned `Break`.
    pub(super) const fn is_broken(&self) -> bool {
        self.is_broken
    }

    fn hand_on_pieces(&mut self) {
        if self.out.len() >= PIECE {
            self.hand_on();
        }
    }

    fn hand_on(&mut self) {
        if !self.is_broken {
            self.hasher.update(&self.out);
            self.is_broken = (self.sink)(&self.out).is_break();
        }
        self.out.clear();
    }

    /// Passes on the buffered bytes, and then the digest of all bytes. Returns that digest.
    pub(super) fn finish(mut self) -> ContentDigest {
        self.hand_on();
        let checksum = self.hasher.finish();
        if !self.is_broken {
            // Nothing follows, so a `Break` has no effect.
            let _flow = (self.sink)(&checksum.0);
        }
        checksum
    }
}
