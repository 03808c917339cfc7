//! Opens and reads watched files, texts of the overlay, and members of archives.

use std::fs::File;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::fs::SeekFrom;
use rustix::io::Errno;

use super::attr::{Entry, Opened, Refusal};
use super::handles::Handle;
use super::held::{Held, Taken, read_at};
use super::inodes::Shown;
use super::namespace::{Namespace, Result, attr};
use super::node::{At, Node};
use super::shares::{Amounts, Share};

impl Namespace {
    /// Opens a file for reading. `thread` is the kernel thread that asks; 0 if unknown.
    pub fn open(&self, ino: u64, thread: u32) -> Result<Opened> {
        let node = self.node(ino)?;
        if let Node::File(at) = node.as_ref() {
            let handle = self.open_real(ino, at, thread)?;
            let direct = false;
            return Ok(Opened { handle, direct });
        }
        let place = self.place()?;
        let text = match node.as_ref() {
            Node::Why { of, target } => {
                self.tree.stat(of)?;
                self.keep(self.neighbours.why(&self.tree.path(of), target))?
            }
            Node::Member { of, path, size } => {
                self.tree.stat(of)?;
                self.open_member(path, *size)?
            }
            Node::More(of) => {
                let left = self.last_answer(of)?.left;
                let path = self.tree.path(of.at());
                self.keep(self.neighbours.more(&path, left))?
            }
            Node::Report(at) => {
                self.tree.stat(at)?;
                self.keep(self.neighbours.report(&self.tree.path(at)))?
            }
            Node::Symlink(_) | Node::Link { .. } => return Err(Refusal::Invalid),
            _ => return Err(Refusal::IsADirectory),
        };
        let handle = Handle::Text(text);
        Ok(Opened {
            handle: self.handles.add(self.account, place, handle),
            direct: true,
        })
    }

    /// Reserves one of the open files that the limits allow.
    pub(super) fn place(&self) -> Result<[Share; 2]> {
        let one = Amounts {
            descriptors: 1,
            ..Amounts::default()
        };
        self.store.shares().take(self.account, one)
    }

    /// Stores the bytes of a text or listing that is being opened.
    pub(super) fn keep(&self, bytes: Vec<u8>) -> Result<Held> {
        self.store.keep(self.account, bytes)
    }

    /// Extracts a member from its archive. If the member is open already, its bytes are used again.
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

    /// Opens a file of the tree. If an open of the file was just refused to this thread, the
    /// look-up after the refusal has already opened it. In that case the handle of that look-up is
    /// returned.
    fn open_real(&self, ino: u64, at: &At, thread: u32) -> Result<u64> {
        let opener = (self.account, thread);
        let (late, claimed) = {
            let mut reopenings = self.reopenings.lock();
            (reopenings.expire(), reopenings.claim(opener, at))
        };
        self.release_all(late);
        match claimed.as_ref().and_then(|claimed| claimed.opened) {
            Some((number, handle)) if number == ino => return Ok(handle),
            Some((_, handle)) => self.release(handle),
            None => {}
        }
        let place = self.place()?;
        let (file, stat) = self.tree.open_file(at)?.ok_or(Refusal::Stale)?;
        let now = Shown::of(&stat);
        let file = if self.inodes.open(ino, now) {
            file
        } else if claimed.is_none() {
            self.reopenings.lock().refuse(opener, at.clone());
            return Err(Refusal::Stale);
        } else if self.inodes.show(ino, now) && self.inodes.open(ino, now) {
            // The kernel has opened the file again without a look-up. It is the same file, and only
            // its size has changed, so it can be opened.
            file
        } else {
            self.opened_before(ino)?
        };
        let handle = Handle::File { ino, file };
        Ok(self.handles.add(self.account, place, handle))
    }

    /// Duplicates the descriptor of a file that this account has open under this inode number.
    fn opened_before(&self, ino: u64) -> Result<File> {
        let open = self.handles.open_file(ino, Some(self.account));
        let Some(Handle::File { file, .. }) = open.as_deref() else {
            return Err(Refusal::Stale);
        };
        let now = Shown::of(&rustix::fs::fstat(file)?);
        let file = file.try_clone().map_err(|error| real_error(&error))?;
        let is_shown = self.inodes.show(ino, now) && self.inodes.open(ino, now);
        if is_shown {
            Ok(file)
        } else {
            Err(Refusal::Stale)
        }
    }

    /// Opens a file during its look-up, if an open of the file was just refused to this thread.
    /// Returns `None` if no open was refused, or if the file cannot be opened.
    pub(super) fn lookup_again(&self, node: &Node, thread: u32) -> Option<Entry> {
        let Node::File(at) = node else {
            return None;
        };
        let opener = (self.account, thread);
        let (late, is_due) = {
            let mut reopenings = self.reopenings.lock();
            (reopenings.expire(), reopenings.is_due(opener, at))
        };
        self.release_all(late);
        if !is_due {
            return None;
        }
        let place = self.place().ok()?;
        let (file, stat) = self.tree.open_file(at).ok()??;
        let (hash, shown) = (self.hash(node), Shown::of(&stat));
        let ino = self.inodes.acquire_open(node.clone(), hash, shown);
        let handle = Handle::File { ino, file };
        let handle = self.handles.add(self.account, place, handle);
        let mut reopenings = self.reopenings.lock();
        let left = reopenings.give(opener, at.clone(), (ino, handle));
        drop(reopenings);
        self.release_all(left);
        Some(self.entry(node, attr(ino, node, Some(&stat))))
    }

    /// Drops the record of a refused open. Is called if the look-up that follows the open fails.
    pub(super) fn lookup_failed(&self, at: &At, thread: u32) {
        let claimed = self.reopenings.lock().claim((self.account, thread), at);
        let opened = claimed.and_then(|claimed| claimed.opened);
        self.release_all(opened.map(|(_, handle)| handle));
    }

    /// Reads up to `size` bytes. Fewer bytes are returned only at the end of the file.
    pub fn read(&self, handle: u64, offset: u64, size: usize) -> Result<Vec<u8>> {
        match self.handles.get(handle)?.as_ref() {
            Handle::Text(text) => text.read(offset, size).map_err(|error| real_error(&error)),
            Handle::File { file, .. } => {
                read_at(file, offset, size).map_err(|error| real_error(&error))
            }
            Handle::Dir(_) => Err(Refusal::IsADirectory),
        }
    }

    /// Returns the offset of the next data at or after `offset`. With `hole` it returns the offset
    /// of the next hole.
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

    fn release_all(&self, handles: impl IntoIterator<Item = u64>) {
        for handle in handles {
            self.release(handle);
        }
    }

    /// Closes an open file or directory.
    pub fn release(&self, handle: u64) {
        if let Some(Handle::File { ino, .. }) = self.handles.remove(handle).as_deref() {
            self.inodes.close(*ino);
        }
    }
}

pub(super) fn real_error(error: &io::Error) -> Refusal {
    Refusal::Real(Errno::from_io_error(error).unwrap_or(Errno::IO))
}
