//! Reads a large file that may have changed, with the help of its earlier state.
//!
//! **If the file has grown**, only the bytes after its old end are read and digested. The bytes
//! before the old end are assumed to be unchanged. If this is not allowed, they are read and
//! hashed.
//!
//! **Otherwise the file is compared with its earlier state.** Each stretch is read and hashed. If
//! it has the same blocks as before, its earlier result is used. If it differs, it is read once
//! more, from the page cache, and digested. The stretches behind it are digested, too, until a
//! stretch ends in the same state as before. Suppose that one block of an image of a gigabyte is
//! written. Then the image is hashed once, and eight megabytes are digested.
//!
//! Inserted or removed bytes shift the rest of the file. If the file still ends with the same
//! bytes, the stretches after the change are compared at their shifted positions. For this, two
//! hashes are computed in one pass. The hash of each stretch is used to compare the stretch. The
//! hash of the whole content is computed, too, because its blocks begin at other positions now. If
//! bytes were inserted or removed in several places, everything between these places is digested.
//!
//! The bytes that are digested must be the bytes that were hashed. The content is stored under that
//! hash, so chunks of other bytes would be wrong. If the file is written to after it was hashed and
//! before it is digested, it is read again from the beginning.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Instant;

use resemble_core::hash::content::ContentHasher;
use resemble_core::{ByteLen, Digester, NextStretch};

use super::contents::{Content, Contents, Lookup};
use super::known::{KnownFile, MOST_GROWTH};
use super::paused::Halfway;
use super::{Pass, Passed, ReadFailure, Reader};
use crate::walk::Stat;

impl Reader {
    /// Returns the stored state of a file, or of the file that this file replaces. Returns `None`
    /// if the index does not have the content of the state.
    pub(super) fn known(&self, stat: &Stat, contents: &dyn Contents) -> Option<Arc<KnownFile>> {
        self.read_before(stat, |known| contents.part(&known.content).is_some())
    }

    /// Returns the stored state of a file, or of the file that this file replaces. `is_wanted` must
    /// return true for the state.
    pub(super) fn read_before(
        &self,
        stat: &Stat,
        is_wanted: impl Fn(&KnownFile) -> bool,
    ) -> Option<Arc<KnownFile>> {
        let file = (stat.dev, stat.ino);
        let files = [Some(file), self.replaces].into_iter().flatten();
        let mut known = files.filter_map(|file| self.known.as_ref()?.get(file));
        known.find(|known| is_wanted(known))
    }

    /// Reads a file with the help of its earlier state. If that state is of no use, returns `None`,
    /// and adds the number of bytes that were read to `bytes`.
    pub(super) fn changed(
        &mut self,
        file: &OwnedFd,
        stat: &Stat,
        known: &KnownFile,
        contents: &dyn Contents,
        bytes: &mut u64,
    ) -> Result<Option<Passed>, ReadFailure> {
        if known.is_of(stat) && known.goes_on(file, stat)? {
            // A file that has grown is read without a pause. Usually, only its new bytes are read.
            let until = self.pieces.until.take();
            let grown = self.grown(file, stat, known, contents, bytes);
            self.pieces.until = until;
            if let Some(grown) = grown? {
                return Ok(Some(grown));
            }
        }
        match &known.stretches {
            Some(stretches) if stat.size / MOST_GROWTH <= known.size() => {
                let shift = known.shift(file, stat)?;
                self.digester
                    .revise(Arc::clone(stretches), known.content, shift);
                self.edited(file, stat, Some(known), contents).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Reads a file that has grown, beginning at its old end. The bytes before the old end are
    /// verified, unless it is allowed to assume that they are unchanged. If they have changed,
    /// returns `None`, and adds the number of bytes that were read to `bytes`.
    fn grown(
        &mut self,
        file: &OwnedFd,
        stat: &Stat,
        known: &KnownFile,
        contents: &dyn Contents,
        bytes: &mut u64,
    ) -> Result<Option<Passed>, ReadFailure> {
        let mut verified = 0;
        if !self.may_assume {
            let mut hasher = ContentHasher::new();
            let before = 0..known.size();
            let read = self.pieces.stream_into(file, stat, before, &mut hasher)?;
            verified = read.bytes;
            if read.other_size || hasher.finish() != known.content {
                *bytes += verified;
                return Ok(None);
            }
        }
        self.digester.resume(&known.checkpoint);
        let passed = self.rest(file, stat, Some(known), contents)?;
        let assumed = self.may_assume.then_some(ByteLen(known.size()));
        Ok(Some(match passed.after(verified) {
            Passed::Whole(pass) => Passed::Whole(Pass {
                assumed: assumed.unwrap_or_default(),
                ..pass
            }),
            partly @ Passed::Partly(..) => partly,
        }))
    }

    /// Reads a file stretch by stretch, from its beginning or from the end of the last turn.
    /// `known` is the earlier state of the file.
    pub(super) fn edited(
        &mut self,
        file: &OwnedFd,
        stat: &Stat,
        known: Option<&KnownFile>,
        contents: &dyn Contents,
    ) -> Result<Passed, ReadFailure> {
        let until = self.pieces.until.take();
        let passed = self.by_stretches(file, stat, until);
        self.pieces.until = until;
        let (content, bytes) = match passed? {
            Stretched::Whole(bytes) => {
                let as_it_was = known.filter(|known| known.is_of(stat));
                let as_it_was = as_it_was.filter(|_| self.digester.is_as_it_was(stat.size));
                let as_it_was = as_it_was.map(|known| contents.look_up(&known.content));
                let content = match as_it_was {
                    Some(Lookup::Known(id)) => Some(Content::Known(id)),
                    _ => self.finish(file, Some(stat), None, contents)?,
                };
                (content, bytes)
            }
            Stretched::Moved(bytes) => (None, bytes),
            Stretched::Paused(bytes) => {
                let digester = std::mem::replace(&mut self.digester, Digester::new(&self.params));
                return Ok(Passed::Partly(Halfway::Edited(Box::new(digester)), bytes));
            }
        };
        let Some(content) = content else {
            self.begin(stat);
            return Ok(self.rest(file, stat, None, contents)?.after(bytes));
        };
        Ok(Passed::Whole(Pass::of(content, bytes, false)))
    }

    fn by_stretches(
        &mut self,
        file: &OwnedFd,
        stat: &Stat,
        until: Option<Instant>,
    ) -> Result<Stretched, ReadFailure> {
        let Self {
            digester, pieces, ..
        } = self;
        let mut bytes = 0;
        loop {
            let read = match digester.next_stretch(stat.size) {
                NextStretch::None => return Ok(Stretched::Whole(bytes)),
                NextStretch::Compare(range) => {
                    let mut hasher = digester.begin_comparing();
                    let read = pieces.stream_into(file, stat, range, &mut hasher)?;
                    if !read.other_size {
                        digester.compare(hasher);
                    }
                    read
                }
                NextStretch::Digest(range) => {
                    digester.begin_stretch(&range);
                    let mut read = pieces.stream_into(file, stat, range, digester)?;
                    read.other_size |= !digester.end_revised();
                    read
                }
            };
            bytes += read.bytes;
            if read.other_size {
                return Ok(Stretched::Moved(bytes));
            }
            let is_time = until.is_some_and(|until| Instant::now() >= until);
            if is_time && digester.revised_to() < stat.size {
                return Ok(Stretched::Paused(bytes));
            }
        }
    }
}

/// The result of reading a file stretch by stretch. Each variant has the number of bytes that were
/// read.
enum Stretched {
    Whole(u64),
    Paused(u64),
    /// The file is being written to. The digested bytes differ from the hashed bytes.
    Moved(u64),
}
