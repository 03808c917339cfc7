//! The files of a work folder. Each has a header, which names the plan, and records.
//!
//! ```text
//! "resemble phases\n" │ version u8 │ kind u8 │ records u64 │ bytes u64 │ generation 16 │
//! digest of the body 32 │ length of the id u16 │ id (params, common) │ digest of all this 32 │
//! body
//! ```
//!
//! A file is written under a preliminary name, and its header is written last. When all files of a
//! generation are complete, they are renamed to their final names. An answer uses the records of a
//! file only after a reader has checked the digest of the whole body. The only exception is single
//! sketches, which are read without that check. Files have the mode 0600, and their folder has the
//! mode 0700.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use resemble_core::hash::content::{ContentHasher, digest};
use resemble_methods::shingle::Seed;
use resemble_relate::sort::Record;

use super::records::array_at;
use crate::error::PhaseError;

const MAGIC: &[u8; 16] = b"resemble phases\n";
const VERSION: u8 = 1;

/// The size of a header without the params id, in bytes.
const FIXED: usize = 16 + 2 + 16 + 16 + 32 + 2 + 32;

/// The maximum length of the params id, in bytes.
const LONGEST_ID: usize = 1 << 10;

/// The number of bytes that are read or written at a time.
const PIECE: usize = 1 << 18;

/// The name of one state of a folder. The headers of all files of this state have this name.
pub(super) type Generation = [u8; 16];

/// The kinds of files in a work folder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PhaseFile {
    Documents = 1,
    Sketches = 2,
    Shingles = 3,
    Pairs = 4,
    Ignored = 5,
}

impl PhaseFile {
    pub(super) const ALL: [Self; 5] = [
        Self::Documents,
        Self::Sketches,
        Self::Shingles,
        Self::Pairs,
        Self::Ignored,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Documents => "documents",
            Self::Sketches => "sketches",
            Self::Shingles => "shingles",
            Self::Pairs => "pairs",
            Self::Ignored => "ignored",
        }
    }

    pub(super) fn path(self, folder: &Path) -> PathBuf {
        folder.join(self.name())
    }

    /// Returns the preliminary path, which a file has while it is written.
    pub(super) fn part(self, folder: &Path) -> PathBuf {
        folder.join(format!("{}.part", self.name()))
    }
}

pub(super) fn failed(path: &Path, source: io::Error) -> PhaseError {
    PhaseError::Folder {
        path: path.to_owned(),
        source,
    }
}

pub(super) fn damaged(path: &Path, what: &'static str) -> PhaseError {
    PhaseError::Damaged {
        path: path.to_owned(),
        what,
    }
}

/// Makes the folder. Only its owner has permissions.
pub(super) fn make_folder(folder: &Path) -> Result<(), PhaseError> {
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(folder)
        .map_err(|error| failed(folder, error))
}

/// Removes the files of the phases from the folder.
pub(super) fn clear(folder: &Path) -> Result<(), PhaseError> {
    for kind in PhaseFile::ALL {
        for path in [kind.path(folder), kind.part(folder)] {
            match fs::remove_file(&path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => {
                    return Err(failed(&path, error));
                }
                _ => {}
            }
        }
    }
    Ok(())
}

/// Writes a file of a work folder.
#[derive(Debug)]
pub(super) struct RecordWriter {
    path: PathBuf,
    kind: PhaseFile,
    id: String,
    file: File,
    /// Bytes that are not written yet.
    piece: Vec<u8>,
    body: ContentHasher,
    records: u64,
    bytes: u64,
}

impl RecordWriter {
    pub(super) fn new(folder: &Path, kind: PhaseFile, id: &str) -> Result<Self, PhaseError> {
        let path = kind.part(folder);
        match fs::remove_file(&path) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => {
                return Err(failed(&path, error));
            }
            _ => {}
        }
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)
            .map_err(|error| failed(&path, error))?;
        file.write_all(&vec![0; FIXED + id.len()])
            .map_err(|error| failed(&path, error))?;
        Ok(Self {
            path,
            kind,
            id: id.to_owned(),
            file,
            piece: Vec::with_capacity(PIECE),
            body: ContentHasher::new(),
            records: 0,
            bytes: 0,
        })
    }

    /// Appends a record of any length. Returns its offset in the body.
    pub(super) fn put(&mut self, bytes: &[u8]) -> Result<u64, PhaseError> {
        let at = self.bytes;
        if self.piece.len() + bytes.len() > PIECE {
            self.flush()?;
        }
        self.piece.extend_from_slice(bytes);
        self.records += 1;
        self.bytes += bytes.len() as u64;
        Ok(at)
    }

    /// Appends bytes of records that are copied from another file. These records are counted by
    /// [`Self::copied`].
    pub(super) fn copy(&mut self, bytes: &[u8]) -> Result<(), PhaseError> {
        self.put(bytes)?;
        self.records -= 1;
        Ok(())
    }

    /// Adds the number of records that were copied.
    pub(super) const fn copied(&mut self, records: u64) {
        self.records += records;
    }

    fn flush(&mut self) -> Result<(), PhaseError> {
        self.body.update(&self.piece);
        self.file
            .write_all(&self.piece)
            .map_err(|error| failed(&self.path, error))?;
        self.piece.clear();
        Ok(())
    }

    /// Appends a record of fixed size.
    pub(super) fn push<R: Record>(&mut self, record: &R) -> Result<(), PhaseError> {
        let mut bytes = [0; 128];
        let bytes = &mut bytes[..R::BYTES];
        record.put(bytes);
        self.put(bytes).map(|_| ())
    }

    /// Returns the size of the body so far, in bytes.
    pub(super) const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Returns the number of records so far.
    pub(super) const fn records(&self) -> u64 {
        self.records
    }

    /// Writes the header and closes the file, which keeps its preliminary name.
    pub(super) fn finish(mut self, generation: Generation) -> Result<(), PhaseError> {
        self.flush()?;
        let mut header = Vec::with_capacity(FIXED + self.id.len());
        header.extend_from_slice(MAGIC);
        header.extend_from_slice(&[VERSION, self.kind as u8]);
        header.extend_from_slice(&self.records.to_le_bytes());
        header.extend_from_slice(&self.bytes.to_le_bytes());
        header.extend_from_slice(&generation);
        header.extend_from_slice(&self.body.finish().0);
        header.extend_from_slice(&(self.id.len() as u16).to_le_bytes());
        header.extend_from_slice(self.id.as_bytes());
        let sum = digest(&header);
        header.extend_from_slice(&sum.0);
        self.file
            .write_all_at(&header, 0)
            .map_err(|error| failed(&self.path, error))
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PhaseFileHeader {
    pub(super) id: String,
    pub(super) records: u64,
    pub(super) bytes: u64,
    pub(super) generation: Generation,
    body: [u8; 32],
    /// The offset of the body in the file.
    pub(super) start: u64,
}

/// Opens a file and reads its header.
pub(super) fn open(path: &Path, kind: PhaseFile) -> Result<(File, PhaseFileHeader), PhaseError> {
    let io = |error| failed(path, error);
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(path)
        .map_err(io)?;
    let length = file.metadata().map_err(io)?.len();
    let mut fixed = [0; FIXED - 32];
    let short = |error: io::Error| {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            damaged(path, "it is cut short")
        } else {
            io(error)
        }
    };
    file.read_exact(&mut fixed).map_err(short)?;
    if fixed[..16] != *MAGIC || fixed[16] != VERSION || fixed[17] != kind as u8 {
        return Err(damaged(path, "it is not a file of this version"));
    }
    let long = usize::from(u16::from_le_bytes(array_at(&fixed, FIXED - 34)));
    if long > LONGEST_ID {
        return Err(damaged(path, "its header is too long"));
    }
    let mut rest = vec![0; long + 32];
    file.read_exact(&mut rest).map_err(short)?;
    let (id, sum) = rest.split_at(long);
    if digest(&[&fixed, id].concat()).0 != sum {
        return Err(damaged(path, "its header does not match its digest"));
    }
    let header = PhaseFileHeader {
        id: String::from_utf8_lossy(id).into_owned(),
        records: u64::from_le_bytes(array_at(&fixed, 18)),
        bytes: u64::from_le_bytes(array_at(&fixed, 26)),
        generation: array_at(&fixed, 34),
        body: array_at(&fixed, 50),
        start: (FIXED + long) as u64,
    };
    if length != header.start + header.bytes {
        return Err(damaged(
            path,
            "its length differs from what its header says",
        ));
    }
    Ok((file, header))
}

/// Returns the header of the file of documents. Returns `None` if the folder lacks a file, or if
/// the files are not of one generation.
pub(super) fn results_header(
    folder: &Path,
    id: &str,
) -> Result<Option<PhaseFileHeader>, PhaseError> {
    let mut first: Option<PhaseFileHeader> = None;
    for kind in PhaseFile::ALL {
        let path = kind.path(folder);
        let header = match open(&path, kind) {
            Ok((_, header)) => header,
            Err(PhaseError::Folder { source, .. }) if source.kind() == io::ErrorKind::NotFound => {
                // The folder has no results, or a process was killed while it renamed the files.
                return Ok(None);
            }
            Err(error) => return Err(error),
        };
        if header.id != id {
            return Err(other(folder, &header.id, id));
        }
        match &first {
            Some(first) if first.generation != header.generation => return Ok(None),
            Some(_) => {}
            None => first = Some(header),
        }
    }
    Ok(first)
}

fn other(folder: &Path, found: &str, asked: &str) -> PhaseError {
    let path = folder.to_owned();
    if Seed::alone_differs(found, asked) {
        PhaseError::OtherSeed { path }
    } else {
        PhaseError::OtherParams {
            path,
            kept: found.to_owned(),
            asked: asked.to_owned(),
        }
    }
}

/// Reads a file of a work folder from its first record to its last.
#[derive(Debug)]
pub(super) struct RecordReader {
    path: PathBuf,
    header: PhaseFileHeader,
    file: File,
    /// The bytes that were read from the file. The bytes from `at` on have not been returned yet.
    piece: Vec<u8>,
    at: usize,
    body: ContentHasher,
    /// The number of bytes of the body that are not read yet.
    left: u64,
}

impl RecordReader {
    pub(super) fn new(path: &Path, kind: PhaseFile) -> Result<Self, PhaseError> {
        let (file, header) = open(path, kind)?;
        Ok(Self {
            path: path.to_owned(),
            left: header.bytes,
            header,
            file,
            piece: Vec::new(),
            at: 0,
            body: ContentHasher::new(),
        })
    }

    pub(super) const fn header(&self) -> &PhaseFileHeader {
        &self.header
    }

    /// Fills `into` with the next bytes. At the end of the body, returns `false`, or an error if
    /// the digest of the body is wrong.
    pub(super) fn read(&mut self, into: &mut [u8]) -> Result<bool, PhaseError> {
        let mut filled = 0;
        while filled < into.len() {
            if self.at == self.piece.len() && !self.fill()? {
                return if filled == 0 {
                    Ok(false)
                } else {
                    Err(damaged(&self.path, "a record is cut short"))
                };
            }
            let now = (into.len() - filled).min(self.piece.len() - self.at);
            into[filled..filled + now].copy_from_slice(&self.piece[self.at..self.at + now]);
            self.at += now;
            filled += now;
        }
        Ok(true)
    }

    /// Reads the next bytes of the file. At the end of the body, returns `false`, or an error if
    /// the digest of the body is wrong.
    fn fill(&mut self) -> Result<bool, PhaseError> {
        let now = self.left.min(PIECE as u64) as usize;
        if now == 0 {
            return if std::mem::take(&mut self.body).finish().0 == self.header.body {
                // The expected digest is set to the digest of no bytes, so that a further call
                // reports the end again.
                self.header.body = ContentHasher::new().finish().0;
                Ok(false)
            } else {
                Err(damaged(&self.path, "its digest does not match"))
            };
        }
        self.piece.resize(now, 0);
        self.at = 0;
        self.file
            .read_exact(&mut self.piece)
            .map_err(|error| failed(&self.path, error))?;
        self.body.update(&self.piece);
        self.left -= now as u64;
        Ok(true)
    }

    /// Returns the next record, or `None` at the end.
    pub(super) fn next<R: Record>(&mut self) -> Result<Option<R>, PhaseError> {
        let mut bytes = [0; 128];
        let bytes = &mut bytes[..R::BYTES];
        Ok(self.read(bytes)?.then(|| R::take(bytes)))
    }
}

#[cfg(test)]
mod tests {
    use super::super::records::IdPair;
    use super::*;

    fn written(folder: &Path) -> PathBuf {
        let mut writer = RecordWriter::new(folder, PhaseFile::Pairs, "id").expect("a file");
        for a in 0..1000 {
            writer.push(&IdPair { a, b: a + 1 }).expect("written");
        }
        writer.finish([7; 16]).expect("a head");
        PhaseFile::Pairs.part(folder)
    }

    fn all(path: &Path) -> Result<Vec<IdPair>, PhaseError> {
        let mut reader = RecordReader::new(path, PhaseFile::Pairs)?;
        let mut all = Vec::new();
        while let Some(pair) = reader.next()? {
            all.push(pair);
        }
        Ok(all)
    }

    #[test]
    fn what_was_written_is_read() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = written(folder.path());
        let found = all(&path).expect("whole");
        assert!(found.len() == 1000 && found[999] == IdPair { a: 999, b: 1000 });
        let header = open(&path, PhaseFile::Pairs).expect("a head").1;
        assert_eq!((header.id.as_str(), header.records), ("id", 1000));
        assert!(open(&path, PhaseFile::Shingles).is_err());
    }

    /// Every flipped bit of a file, and every truncation of it, is detected.
    #[test]
    fn what_is_damaged_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = written(folder.path());
        let whole = fs::read(&path).expect("read");
        let at = |step: usize| (0..whole.len()).step_by(step);
        for place in (0..FIXED + 40).chain(at(97)) {
            let mut bytes = whole.clone();
            bytes[place] ^= 0x10;
            fs::write(&path, &bytes).expect("written");
            assert!(
                matches!(all(&path), Err(PhaseError::Damaged { .. })),
                "{place}"
            );
        }
        for length in at(61) {
            fs::write(&path, &whole[..length]).expect("written");
            assert!(
                matches!(all(&path), Err(PhaseError::Damaged { .. })),
                "{length}"
            );
        }
    }
}
