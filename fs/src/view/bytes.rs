//! Reading: the bytes of the watched files, and our own texts.

use std::io;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use super::attr::{Opened, Refusal};
use super::handles::Handle;
use super::inodes::{Opening, Shown};
use super::namespace::{Namespace, Result};
use super::node::{At, Node};

/// Threads of the kernel that are about to look up once more what they open.
const MAX_OUTDATED: usize = 1024;

impl Namespace {
    /// Opens a file for reading, in the name of a thread (0: not known).
    pub fn open(&self, ino: u64, thread: u32) -> Result<Opened> {
        let (handle, direct) = match self.node(ino)?.as_ref() {
            Node::File(at) => self.open_real(ino, at, thread)?,
            Node::Why { of, target } => {
                self.tree.stat(of)?;
                (
                    Handle::Text(self.neighbours.why(&self.tree.path(of), target)),
                    true,
                )
            }
            Node::Member { of, path, .. } => {
                self.tree.stat(of)?;
                let bytes = self.neighbours.member(path);
                (Handle::Text(bytes.ok_or(Refusal::Real(Errno::IO))?), true)
            }
            Node::More(of) => {
                let left = self.last_answer(of)?.left;
                let path = self.tree.path(of.at());
                (Handle::Text(self.neighbours.more(&path, left)), true)
            }
            Node::Report(at) => {
                self.tree.stat(at)?;
                (
                    Handle::Text(self.neighbours.report(&self.tree.path(at))),
                    true,
                )
            }
            Node::Symlink(_) | Node::Link { .. } => return Err(Refusal::Invalid),
            _ => return Err(Refusal::IsADirectory),
        };
        Ok(Opened {
            handle: self.handles.add(handle),
            direct,
        })
    }

    /// Opens the file that a path names now. The kernel may know another under this number, or
    /// another size, for as long as it trusts the name: then it has to look the name up again, which
    /// it does once if it hears that what it knows is stale.
    fn open_real(&self, ino: u64, at: &At, thread: u32) -> Result<(Handle, bool)> {
        let (file, stat) = self.tree.open_file(at)?.ok_or(Refusal::Stale)?;
        let mut outdated = self.outdated.lock();
        let has_looked = outdated.remove(&thread).is_some_and(|place| place == *at);
        match self.inodes.open(ino, Shown::of(&stat), has_looked) {
            Opening::Outdated => {
                // Who was killed in between does not come back.
                if outdated.len() >= MAX_OUTDATED {
                    outdated.clear();
                }
                outdated.insert(thread, at.clone());
                Err(Refusal::Stale)
            }
            Opening::Shown => Ok((Handle::File { ino, file }, false)),
            // Replaced once more since the second look-up: its bytes must not go into the pages that
            // the kernel keeps of the other.
            Opening::Beside => Ok((Handle::File { ino, file }, true)),
        }
    }

    /// Reads up to `size` bytes; fewer only at the end.
    pub fn read(&self, handle: u64, offset: u64, size: usize) -> Result<Vec<u8>> {
        match self.handles.get(handle)?.as_ref() {
            Handle::Text(text) => {
                let from = usize::try_from(offset)
                    .unwrap_or(usize::MAX)
                    .min(text.len());
                let to = from.saturating_add(size).min(text.len());
                Ok(text[from..to].to_vec())
            }
            Handle::File { file, .. } => {
                let mut bytes = vec![0; size];
                let mut filled = 0;
                while filled < size {
                    match file.read_at(&mut bytes[filled..], offset + filled as u64) {
                        Ok(0) => break,
                        Ok(count) => filled += count,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => return Err(real_error(&error)),
                    }
                }
                bytes.truncate(filled);
                Ok(bytes)
            }
            Handle::Dir(_) => Err(Refusal::IsADirectory),
        }
    }

    /// Where the next data (or, with `hole`, the next hole) begins at or after `offset`.
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
            Handle::Text(text) if offset < text.len() as u64 => {
                Ok(if hole { text.len() as u64 } else { offset })
            }
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

fn real_error(error: &io::Error) -> Refusal {
    Refusal::Real(Errno::from_io_error(error).unwrap_or(Errno::IO))
}
