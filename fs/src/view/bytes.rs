//! Reads the bytes of watched files, and our own texts.

use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use super::attr::{Opened, Refusal};
use super::handles::Handle;
use super::held::{Held, Taken, read_at};
use super::inodes::{Opening, Shown};
use super::namespace::{Namespace, Result};
use super::node::{At, Node};
use super::shares::{Amounts, Share};

/// The maximum number of kernel threads that must look up again the file that they open.
const MAX_OUTDATED: usize = 1024;

impl Namespace {
    /// Opens a file for reading on behalf of a kernel thread (0: unknown).
    pub fn open(&self, ino: u64, thread: u32) -> Result<Opened> {
        let place = self.place()?;
        let (handle, direct) = match self.node(ino)?.as_ref() {
            Node::File(at) => self.open_real(ino, at, thread)?,
            Node::Why { of, target } => {
                self.tree.stat(of)?;
                let text = self.neighbours.why(&self.tree.path(of), target);
                (Handle::Text(self.keep(text)?), true)
            }
            Node::Member { of, path, size } => {
                self.tree.stat(of)?;
                (Handle::Text(self.open_member(path, *size)?), true)
            }
            Node::More(of) => {
                let left = self.last_answer(of)?.left;
                let path = self.tree.path(of.at());
                let text = self.neighbours.more(&path, left);
                (Handle::Text(self.keep(text)?), true)
            }
            Node::Report(at) => {
                self.tree.stat(at)?;
                let text = self.neighbours.report(&self.tree.path(at));
                (Handle::Text(self.keep(text)?), true)
            }
            Node::Symlink(_) | Node::Link { .. } => return Err(Refusal::Invalid),
            _ => return Err(Refusal::IsADirectory),
        };
        Ok(Opened {
            handle: self.handles.add(self.account, place, handle),
            direct,
        })
    }

    /// Takes a share of the open handles.
    pub(super) fn place(&self) -> Result<[Share; 2]> {
        let one = Amounts {
            descriptors: 1,
            ..Amounts::default()
        };
        self.store.shares().take(self.account, one)
    }

    /// Holds bytes of ours that are being opened.
    pub(super) fn keep(&self, bytes: Vec<u8>) -> Result<Held> {
        self.store.keep(self.account, bytes)
    }

    /// Extracts a member from its archive, unless it is open already.
    fn open_member(&self, path: &Path, size: u64) -> Result<Held> {
        let failed = || Refusal::Real(Errno::IO);
        let member = self.neighbours.member(path).ok_or_else(failed)?;
        let origin = member.origin();
        self.store
            .keep_member(self.account, size, origin.clone(), || {
                let bytes = member.bytes()?;
                let is_of_origin = member.origin() == origin;
                Some(Taken {
                    bytes,
                    is_of_origin,
                })
            })
    }

    /// Opens the file that a path names now. While the kernel trusts the name, it may have another
    /// file or size under this number. If the open returns ESTALE, it looks the name up once more.
    fn open_real(&self, ino: u64, at: &At, thread: u32) -> Result<(Handle, bool)> {
        let (file, stat) = self.tree.open_file(at)?.ok_or(Refusal::Stale)?;
        let mut outdated = self.outdated.lock();
        let has_looked = outdated.remove(&thread).is_some_and(|place| place == *at);
        match self.inodes.open(ino, Shown::of(&stat), has_looked) {
            Opening::Outdated => {
                // A thread that was killed in between does not return.
                if outdated.len() >= MAX_OUTDATED {
                    outdated.clear();
                }
                outdated.insert(thread, at.clone());
                Err(Refusal::Stale)
            }
            Opening::Shown => Ok((Handle::File { ino, file }, false)),
            // The file was replaced again since the second look-up. Its bytes must not enter the
            // pages that the kernel stores of the other file.
            Opening::Beside => Ok((Handle::File { ino, file }, true)),
        }
    }

    /// Reads up to `size` bytes; fewer only at the end.
    pub fn read(&self, handle: u64, offset: u64, size: usize) -> Result<Vec<u8>> {
        match self.handles.get(handle)?.as_ref() {
            Handle::Text(text) => text.read(offset, size).map_err(|error| real_error(&error)),
            Handle::File { file, .. } => {
                read_at(file, offset, size).map_err(|error| real_error(&error))
            }
            Handle::Dir(_) => Err(Refusal::IsADirectory),
        }
    }

    /// Returns the next data (or, with `hole`, the next hole) at or after `offset`.
    pub fn seek(&self, handle: u64, offset: u64, hole: bool) -> Result<u64> {
        match self.handles.get(handle)?.as_ref() {
            Handle::File { file, .. } => {
                let to = if hole {
                    SeekFrom::Hole(offset)
                } else {
                    SeekFrom::Data(offset)
                };
                Ok(rustix::fs::seek(file.as_fd(), to)?)
            }
            Handle::Text(text) if offset < text.len() => Ok(if hole { text.len() } else { offset }),
            Handle::Text(_) => Err(Refusal::NoData),
            Handle::Dir(_) => Err(Refusal::Invalid),
        }
    }

    /// Closes a file or directory.
    pub fn release(&self, handle: u64) {
        if let Some(Handle::File { ino, .. }) = self.handles.remove(handle).as_deref() {
            self.inodes.close(*ino);
        }
    }
}

pub(super) fn real_error(error: &io::Error) -> Refusal {
    Refusal::Real(Errno::from_io_error(error).unwrap_or(Errno::IO))
}
