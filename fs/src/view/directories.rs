//! Opens directories as snapshots of their entries, which are then read piece by piece.

use std::collections::HashSet;
use std::ffi::{OsStr, OsString};

use parking_lot::Mutex;
use rustix::io::Errno;

use super::Show;
use super::answers::entry;
use super::attr::{Kind, Opened, Refusal, Sink};
use super::bytes::real_error;
use super::handles::{Handle, OpenDir, Snapshot};
use super::inodes::ROOT;
use super::listing::{self, Reader};
use super::namespace::{Effort, Namespace, Result};
use super::node::{At, Node, Subject};
use super::tree::{RealEntry, RealKind};
use crate::names::{DIRS, SIMILAR};

impl Namespace {
    /// Opens a directory and takes a snapshot of its entries. Reads of the returned handle read the
    /// snapshot. A rewind takes a new snapshot.
    pub fn open_dir(&self, ino: u64) -> Result<Opened> {
        let place = self.place()?;
        let node = self.node(ino)?;
        let entries = self.keep(self.entries(ino, &node)?)?;
        let snapshot = Mutex::new(Snapshot {
            entries,
            read: false,
            at: (0, 0),
        });
        let handle = Handle::Dir(OpenDir {
            node,
            ino,
            snapshot,
        });
        Ok(Opened {
            handle: self.handles.add(self.account, place, handle),
            direct: false,
        })
    }

    /// Passes the entries at and after `offset` to the sink, as many as it accepts. Offset 0 is the
    /// beginning. Every read from 0 but the first takes a new snapshot.
    pub fn read_dir(&self, handle: u64, offset: u64, sink: &mut dyn Sink) -> Result<()> {
        let handle = self.handles.get(handle)?;
        let Handle::Dir(dir) = handle.as_ref() else {
            return Err(Refusal::NotADirectory);
        };
        let lock = || dir.snapshot.lock();

        let mut snapshot = lock().clone();
        if offset == 0 && snapshot.read {
            // The lock is not held during this call, because the index may be slow.
            snapshot.entries = self.keep(self.entries(dir.ino, &dir.node)?)?;
        }
        snapshot.read = true;
        // Most reads continue where the last read ended, so that position is stored.
        let (mut index, byte) = if snapshot.at.0 <= offset && offset > 0 {
            snapshot.at
        } else {
            (0, 0)
        };
        let mut listed = Reader::at(&snapshot.entries, byte);
        let mut at = (index, byte);
        while let Some(entry) = listed.next().map_err(|error| real_error(&error))? {
            index += 1;
            if index > offset && !sink.add(entry.ino, index, entry.kind, &entry.name) {
                break;
            }
            at = (index, listed.byte());
        }
        snapshot.at = at;
        *lock() = snapshot;
        Ok(())
    }

    /// Returns the effort of [`Self::read_dir`]. A read from 0 may take a new snapshot, so it costs
    /// as much as opening the directory.
    pub fn read_dir_effort(&self, handle: u64, offset: u64) -> Effort {
        match self.handles.get(handle).as_deref() {
            Ok(Handle::Dir(dir)) if offset == 0 => self.list_effort(dir.ino),
            _ => Effort::Small,
        }
    }

    /// Returns the present entries of a directory, in the encoding of [`listing`].
    fn entries(&self, ino: u64, node: &Node) -> Result<Vec<u8>> {
        let up = self
            .parent(node)
            .map_or(ROOT, |parent| self.number(&parent));
        let mut entries = Vec::new();
        for (name, ino) in [(".", ino), ("..", up)] {
            listing::push(&mut entries, ino, Kind::Directory, OsStr::new(name));
        }
        let mut push = |node: &Node, kind: Kind, name: OsString| {
            listing::push(&mut entries, self.number(node), kind, &name);
        };
        let always = self.show == Show::Always;
        let roots = self.roots_in(node);
        for (root, name) in &roots {
            push(&Node::Dir(root.clone()), Kind::Directory, name.clone());
        }
        match node {
            Node::Top => {}
            Node::Dir(at) => {
                let mut hidden = HashSet::new();
                for entry in self.list(at)? {
                    if self.similar_name.stands_for(&entry.name) {
                        hidden.insert(entry.name);
                        continue;
                    }
                    if roots.iter().any(|(_, name)| *name == entry.name) {
                        continue;
                    }
                    let Ok(node) = self.mirrored(at.join(&entry.name), entry.kind) else {
                        continue;
                    };
                    push(&node, kind_of(&node), entry.name);
                }
                for name in [SIMILAR, self.similar_name.as_str()].map(OsStr::new) {
                    self.note_hidden(at.join(name), hidden.contains(name));
                }
                if always {
                    let similar = self.similar_of_dir(at);
                    push(&similar, Kind::Directory, self.similar_name.as_str().into());
                }
            }
            Node::Folder(at) => {
                self.stat_of(node, None)?;
                if let Some(name) = at.name() {
                    push(&Node::File(at.clone()), Kind::File, name.to_owned());
                }
                if self.show != Show::Never {
                    let similar = Node::Similar(Subject::File(at.clone()));
                    push(&similar, Kind::Directory, self.similar_name.as_str().into());
                }
            }
            Node::Index(at) => {
                for entry in self.list(at)? {
                    let at = at.join(&entry.name);
                    if entry.kind == RealKind::Regular
                        && !self.similar_name.stands_for(&entry.name)
                        && entry.name != DIRS
                        && self.neighbours.has_similar(&self.tree.path(&at))
                    {
                        push(
                            &Node::Similar(Subject::File(at)),
                            Kind::Directory,
                            entry.name,
                        );
                    }
                }
            }
            Node::Similar(of) => {
                self.stat_of(node, None)?;
                let answer = self.answer(of);
                for named in &answer.named {
                    let node = entry(of, &named.neighbour);
                    push(&node, kind_of(&node), named.name.clone());
                }
                if let Some(name) = answer.more() {
                    push(&Node::More(of.clone()), Kind::File, name);
                }
            }
            Node::WhyDir(at) => {
                self.stat_of(node, None)?;
                for entry in &self.answer(&Subject::File(at.clone())).named {
                    let target = entry.neighbour.path();
                    push(
                        &Node::Why {
                            of: at.clone(),
                            target,
                        },
                        Kind::File,
                        entry.name.clone(),
                    );
                }
            }
            _ => return Err(Refusal::NotADirectory),
        }
        Ok(entries)
    }

    /// Returns the entries of a real directory. A root that is missing has no entries.
    fn list(&self, at: &At) -> Result<Vec<RealEntry>> {
        match self.tree.list(at) {
            Err(Errno::NOENT | Errno::NOTDIR) if at.is_root() => Ok(Vec::new()),
            other => Ok(other?),
        }
    }
}

fn kind_of(node: &Node) -> Kind {
    match node {
        Node::File(_)
        | Node::Member { .. }
        | Node::More(_)
        | Node::Why { .. }
        | Node::Report(_) => Kind::File,
        Node::Symlink(_) | Node::Link { .. } => Kind::Link,
        _ => Kind::Directory,
    }
}
