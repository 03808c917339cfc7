//! Writes a part of the arrays. The lists are passed in ascending order of their values. Offsets
//! and ids are written to two regions of the file.

use std::fs::File;
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use resemble_methods::arrays::layout::{DOCUMENT, HEADER};
use resemble_methods::arrays::{Documents, Header};

use super::ArraysError;

/// The size in bytes of the buffer of a region.
const BUFFER: usize = 1 << 20;

/// A region of the file that is written from front to back. The digest of its bytes is computed
/// during writing.
struct FileRegion {
    at: u64,
    buffer: Vec<u8>,
    hasher: blake3::Hasher,
}

impl FileRegion {
    fn new(at: u64) -> Self {
        Self {
            at,
            buffer: Vec::with_capacity(BUFFER + 16),
            hasher: blake3::Hasher::new(),
        }
    }

    #[inline]
    fn push(&mut self, bytes: &[u8], file: &File) -> std::io::Result<()> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER {
            self.flush(file)?;
        }
        Ok(())
    }

    fn flush(&mut self, file: &File) -> std::io::Result<()> {
        self.hasher.update(&self.buffer);
        file.write_all_at(&self.buffer, self.at)?;
        self.at += self.buffer.len() as u64;
        self.buffer.clear();
        Ok(())
    }

    fn finish(mut self, file: &File) -> std::io::Result<[u8; 32]> {
        self.flush(file)?;
        Ok(*self.hasher.finalize().as_bytes())
    }
}

/// A part that is being written.
pub(super) struct PartWriter {
    path: PathBuf,
    file: File,
    header: Header,
    offsets: FileRegion,
    ids: FileRegion,
}

impl PartWriter {
    /// Creates the file at `path`. The number of entries and the digests in `header` are filled in
    /// when the part is finished.
    pub(super) fn create(
        path: &Path,
        mut header: Header,
        documents: &[(u32, u32)],
    ) -> Result<Self, ArraysError> {
        let mut options = File::options();
        let made = options.write(true).create_new(true).mode(0o600).open(path);
        let file = made.map_err(ArraysError::io("make", path))?;
        header.entries = 0;
        let mut table = FileRegion::new(HEADER as u64);
        let failed = |e| ArraysError::io("write", path)(e);
        for &(key, chunks) in documents {
            table
                .push(&Documents::encode(key, chunks), &file)
                .map_err(failed)?;
        }
        header.digests[0] = table.finish(&file).map_err(failed)?;
        let offsets = (HEADER + documents.len() * DOCUMENT) as u64;
        let ids = offsets + (header.to - header.from + 1) * u64::from(header.offset_width);
        Ok(Self {
            path: path.to_owned(),
            file,
            header,
            offsets: FileRegion::new(offsets),
            ids: FileRegion::new(ids),
        })
    }

    /// Writes the list of the documents that have the next value.
    #[inline]
    pub(super) fn list(&mut self, list: &[u32]) -> Result<(), ArraysError> {
        self.offset()?;
        let width = usize::from(self.header.id_width);
        for id in list {
            let bytes = id.to_le_bytes();
            let pushed = self.ids.push(&bytes[..width.min(4)], &self.file);
            pushed.map_err(ArraysError::io("write", &self.path))?;
        }
        self.header.entries += list.len() as u64;
        Ok(())
    }

    #[inline]
    fn offset(&mut self) -> Result<(), ArraysError> {
        let offset = self.header.entries.to_le_bytes();
        let width = usize::from(self.header.offset_width);
        let pushed = self.offsets.push(&offset[..width.min(8)], &self.file);
        pushed.map_err(ArraysError::io("write", &self.path))
    }

    /// Finishes the file after the list of the last value. The file is synced to the disk when this
    /// returns.
    pub(super) fn finish(mut self) -> Result<(), ArraysError> {
        self.offset()?;
        let Self {
            path,
            file,
            mut header,
            offsets,
            ids,
        } = self;
        let failed = |e| ArraysError::io("write", &path)(e);
        header.digests[1] = offsets.finish(&file).map_err(failed)?;
        header.digests[2] = ids.finish(&file).map_err(failed)?;
        let head = header.encode().map_err(ArraysError::array(&path))?;
        file.write_all_at(&head, 0).map_err(failed)?;
        file.sync_data().map_err(failed)
    }
}
