//! Takes a file apart after it was read, if that is necessary.

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use resemble_core::ByteLen;
use resemble_index::{Look, NewLook};

use super::{
    ATTEMPTS, Content, Contents, FileRead, LARGEST_AT_ONCE, ReadFailure, Reader, read_prefix,
};
use crate::parts::{DigestedParts, HEAD, PartReader};
use crate::walk::{Anchor, Stat};

/// The time at which a file is taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    Now,
    Later,
}

impl Reader {
    /// Does the same as [`Self::read`]. Also takes the content apart, unless it was taken apart
    /// before.
    ///
    /// A file that is changing is not taken apart, because it will be read again.
    pub fn read_with_parts(
        &mut self,
        anchor: &Anchor,
        path: &Path,
        known_size: Option<ByteLen>,
        contents: &dyn Contents,
        part_reader: &dyn PartReader,
    ) -> Result<FileRead, ReadFailure> {
        let parts = (part_reader, When::Now);
        self.read_and_look(anchor, path, known_size, contents, parts)
    }

    /// Does the same as [`Self::read_with_parts`]. But with [`When::Later`], a content that needs a
    /// process to be taken apart is only marked as [due](FileRead::due).
    pub(crate) fn read_and_look(
        &mut self,
        anchor: &Anchor,
        path: &Path,
        known_size: Option<ByteLen>,
        contents: &dyn Contents,
        (part_reader, when): (&dyn PartReader, When),
    ) -> Result<FileRead, ReadFailure> {
        let (file, mut stat) = self.open(anchor, path)?;
        let name = path.file_name().unwrap_or_default().as_bytes();
        if self.pieces.spares_cache {
            let head = read_prefix(&file, HEAD)?;
            self.pieces.spares_cache = !part_reader.applies(name, &head, Some(file.as_fd()));
        }
        let mut earlier: Option<FileRead> = None;
        let mut attempt = 1;
        loop {
            let mut read = self.read_from(&file, stat, known_size, contents)?;
            match (&read.content, earlier.take()) {
                // The bytes are the same, and only the times have changed. The content is in flight
                // because the previous attempt of this reading has claimed it.
                (Content::InFlight(now), Some(was)) if was.content.is_new(now) => {
                    (read.content, read.applies, read.look) = (was.content, was.applies, was.look);
                    read.due = was.due;
                }
                _ if read.moving => return Ok(read),
                _ => {
                    if !self.look(&file, name, &mut read, contents, (part_reader, when))? {
                        return Ok(read);
                    }
                }
            }
            let after = Stat::of(file.as_fd())?;
            if after.unchanged_since(&read.stat) {
                return Ok(read);
            }
            if attempt >= ATTEMPTS || after.size > LARGEST_AT_ONCE {
                read.moving = true;
                read.look = None;
                read.due = false;
                return Ok(read);
            }
            earlier = Some(read);
            stat = after;
            attempt += 1;
        }
    }

    /// Takes apart a file that was just read. Returns true if the file was read again for this.
    /// Then its `stat` must be compared once more.
    fn look(
        &mut self,
        file: &OwnedFd,
        name: &[u8],
        read: &mut FileRead,
        contents: &dyn Contents,
        (part_reader, when): (&dyn PartReader, When),
    ) -> Result<bool, ReadFailure> {
        let whole = self.pieces.whole.filter(|_| !read.moving);
        let from_file;
        let head = if let Some(size) = whole {
            &self.pieces.buffer[..size.min(HEAD)]
        } else {
            from_file = read_prefix(file, HEAD)?;
            &from_file
        };
        read.applies = part_reader.is_looked_into(name, head, Some(file.as_fd()));
        let look = match &read.content {
            Content::Known(id) => contents.look(*id),
            Content::New(_) | Content::Edited(_) => Look::Unseen,
            // Another file is currently adding this content. That file is taken apart instead of
            // this file.
            Content::InFlight(_) => return Ok(whole.is_none()),
        };
        read.look = match (read.applies, look) {
            (true, Look::Unseen | Look::Plain)
                if when == When::Later && !part_reader.is_at_once(name, head, read.stat.size) =>
            {
                read.due = true;
                return Ok(whole.is_none());
            }
            (true, Look::Unseen | Look::Plain) => {
                let (digester, params) = (&mut self.digester, &self.params);
                let pieces =
                    DigestedParts::of(part_reader, name, head, file.as_fd(), digester, params);
                read.scarce = pieces.scarce;
                Some(pieces.into_look(|digest| contents.part(&digest.content)))
            }
            (false, Look::Unseen) => Some(NewLook::Plain),
            (true, Look::Apart) | (false, Look::Plain | Look::Apart) => None,
        };
        Ok(whole.is_none() || read.applies)
    }
}
