//! Gives random access to the bytes of an open file, or to bytes in memory.

use std::io::{self, Read, Seek, SeekFrom};
use std::os::fd::BorrowedFd;

use rawzip::ReaderAt;

/// Bytes that a reader can read at any offset.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Source<'a> {
    /// An open file and its size. Each read gives an offset, because other processes may share the
    /// current offset of the file.
    File(BorrowedFd<'a>, u64),
    /// Bytes in memory.
    Held(&'a [u8]),
}

impl Source<'_> {
    pub(crate) fn len(&self) -> u64 {
        match self {
            Self::File(_, size) => *size,
            Self::Held(bytes) => bytes.len() as u64,
        }
    }
}

impl<'a> Source<'a> {
    /// Makes a source from an open file. The source has the current size of the file.
    pub(crate) fn file(file: BorrowedFd<'a>) -> io::Result<Self> {
        let stat = rustix::fs::fstat(file)?;
        Ok(Self::File(file, u64::try_from(stat.st_size).unwrap_or(0)))
    }

    /// Returns a reader at the start.
    pub(crate) fn reader(&self) -> Reader<'a> {
        self.reader_from(0)
    }

    /// Returns a reader at an offset.
    pub(crate) fn reader_from(&self, at: u64) -> Reader<'a> {
        Reader { source: *self, at }
    }

    /// Returns the first offset from `from` on where `mark` is and `is_right` returns true.
    /// `is_right` gets the offset and at least [`OVERLAP`] bytes from there. Near the end of the
    /// source, it gets the bytes that are left.
    pub(crate) fn find(
        &self,
        mut from: u64,
        mark: &[u8],
        is_right: impl Fn(u64, &[u8]) -> bool,
    ) -> io::Result<Option<u64>> {
        let finder = memchr::memmem::Finder::new(mark);
        let mut window = Vec::with_capacity(WINDOW);
        loop {
            window.clear();
            self.reader_from(from)
                .take(WINDOW as u64)
                .read_to_end(&mut window)?;
            let is_last = window.len() < WINDOW;
            for at in finder.find_iter(&window) {
                let bytes = &window[at..];
                let is_complete = is_last || bytes.len() >= OVERLAP;
                if is_complete && is_right(from + at as u64, bytes) {
                    return Ok(Some(from + at as u64));
                }
            }
            if is_last {
                return Ok(None);
            }
            // The bytes at the end of a window are searched again, together with the bytes after
            // them.
            from += (WINDOW - OVERLAP + 1) as u64;
        }
    }
}

/// The number of bytes that are searched at once.
const WINDOW: usize = 64 << 10;

/// The number of bytes, from the start of a mark on, that are needed to recognise the mark.
const OVERLAP: usize = 32;

impl ReaderAt for Source<'_> {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        // Bytes after the initial length are never read, even if the file grows.
        let left = self.len().saturating_sub(offset);
        let most = buf.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let buf = &mut buf[..most];
        match self {
            Self::File(file, _) => Ok(rustix::io::pread(file, buf, offset)?),
            Self::Held(bytes) => {
                let start = offset as usize;
                buf.copy_from_slice(&bytes[start.min(bytes.len())..][..most]);
                Ok(most)
            }
        }
    }
}

/// Reads a source from an offset to its end.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reader<'a> {
    source: Source<'a>,
    at: u64,
}

impl Read for Reader<'_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read_at(buf, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Reader<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let to = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::End(by) => self.source.len().checked_add_signed(by),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
        };
        self.at = to.ok_or(io::ErrorKind::InvalidInput)?;
        Ok(self.at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_are_found_across_windows() {
        for at in [
            0,
            WINDOW - 40,
            WINDOW - 32,
            WINDOW - 31,
            WINDOW - 1,
            WINDOW,
            99_999,
        ] {
            let mut bytes = vec![b'a'; at];
            bytes.extend(b"mark");
            for rest in [0, 5, 200_000] {
                bytes.resize(at + 4 + rest, b'b');
                let found = Source::Held(&bytes).find(0, b"mark", |offset, there| {
                    assert_eq!(offset, at as u64);
                    assert!(there.len() >= OVERLAP.min(4 + rest));
                    true
                });
                assert_eq!(found.unwrap(), Some(at as u64), "{at} {rest}");
            }
            let source = Source::Held(&bytes);
            assert_eq!(
                source.find(at as u64 + 1, b"mark", |_, _| true).unwrap(),
                None
            );
            assert_eq!(source.find(0, b"mark", |_, _| false).unwrap(), None);
        }
    }

    #[test]
    fn held_bytes_are_read_from_anywhere() {
        let mut reader = Source::Held(b"0123456789").reader();
        let mut all = String::new();
        reader.seek(SeekFrom::End(-4)).unwrap();
        reader.read_to_string(&mut all).unwrap();
        assert_eq!(all, "6789");
        assert_eq!(reader.seek(SeekFrom::Start(99)).unwrap(), 99);
        assert_eq!(reader.read(&mut [0; 4]).unwrap(), 0);
        assert!(reader.seek(SeekFrom::Current(-100)).is_err());
    }
}
