//! What a file says: its bytes, and the text that stands for them.
//!
//! A question about two documents is a question about their texts, so both are taken apart for it
//! and the texts kept, as far as files are read whole ([`LARGEST_READ`]). Of what a compressed file
//! holds the same is true. An archive says nothing by itself: its members do, and each can be
//! named.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use resemble_core::{ContentKind, similarity};
use resemble_extract::{Part, Role, Sink};
use resemble_index::SkippedPart;
use resemble_scan::parts::{HEAD, PartReader, Skipped, skipped_parts};
use resemble_scan::read::{open_regular, read_prefix};
use resemble_scan::walk::Stat;
use rustix::fs::{MemfdFlags, memfd_create};

use crate::ask::AskError;
use crate::prove::read::{LARGEST_READ, anchor_of, bytes_of, unreadable};
use crate::renditions::{INTO, Rendition, ways_into};

/// A file, or a member in one, for a comparison of two.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// Its bytes.
    pub own: Vec<u8>,
    /// The text that a reader made of them.
    pub text: Option<Vec<u8>>,
    /// What is packed in them.
    pub packed: Option<Vec<u8>>,
}

impl Extracted {
    /// Bytes that nothing else stands for.
    pub const fn plain(own: Vec<u8>) -> Self {
        Self {
            own,
            text: None,
            packed: None,
        }
    }

    /// The text by which it is compared with texts: as [`crate::renditions::faces::Faces`] says.
    pub fn text(&self) -> Option<&[u8]> {
        let is_text = |bytes: &&[u8]| ContentKind::of_whole(bytes) == ContentKind::Text;
        let bytes = self.packed.as_deref().unwrap_or(&self.own);
        self.text.as_deref().or(Some(bytes).filter(is_text))
    }

    /// The bytes by which it is compared with what is no text.
    pub fn bytes(&self) -> &[u8] {
        self.packed.as_deref().unwrap_or(&self.own)
    }

    /// What stands for it: its text, or what is packed in it.
    pub const fn stand_in(&self) -> Option<&Vec<u8>> {
        match &self.text {
            Some(text) => Some(text),
            None => self.packed.as_ref(),
        }
    }

    /// A rendition of it; of what it holds there is none.
    pub fn rendition(self, rendition: Rendition) -> Option<Vec<u8>> {
        match rendition {
            Rendition::Own => Some(self.own),
            Rendition::Text => self.text,
            Rendition::Unpacked => self.packed,
            Rendition::WholeText | Rendition::WholeBytes | Rendition::Member => None,
        }
    }

    /// Whether what stands for it can be compared.
    pub fn has_text(&self) -> bool {
        let size = |text: &Vec<u8>| resemble_core::ByteLen(text.len() as u64);
        self.stand_in()
            .is_some_and(|text| !similarity::too_small(size(text)))
    }
}

/// Takes parts that nobody wants.
struct Nobody;

impl Sink for Nobody {
    fn begin(&mut self, _: Part) {}
    fn bytes(&mut self, _: &[u8]) {}
    fn end(&mut self) {}
    fn drop_part(&mut self) {}
}

/// What the file at a path says, or the member that it leads to from some `!` on; `None`: what is
/// there is not taken apart, or too large to be read whole.
pub fn extract(path: &Path, part_reader: &dyn PartReader) -> Result<Option<Extracted>, AskError> {
    let (file, names) = way(path);
    let mut all = extract_all(file, &[names], part_reader)?;
    Ok(all.pop().flatten())
}

/// A member of an archive, which is open.
#[derive(Debug)]
pub struct OpenedMember<'p> {
    archive: OpenedFile<'p>,
    names: &'p [u8],
}

impl<'p> OpenedMember<'p> {
    /// The member that a path such as `mail.eml!report.zip!a.txt` leads to. `None`: it leads into
    /// no file, or `may` says that the file which was opened must not be read.
    ///
    /// # Errors
    ///
    /// The file cannot be opened.
    pub fn of(
        path: &'p Path,
        may: &dyn Fn(&Path, &Stat) -> bool,
    ) -> Result<Option<Self>, AskError> {
        let (file, Some(names)) = way(path) else {
            return Ok(None);
        };
        let archive = OpenedFile::of(file)?;
        let may = may(file, &archive.stat);
        Ok(may.then_some(Self { archive, names }))
    }

    /// What it would be taken out of now: which file, how large and how new, and the names in it.
    /// The name of the file is part of it, since that decides how it is taken apart.
    pub fn origin(&self) -> Vec<u8> {
        let mut origin = Vec::new();
        if let Ok(stat) = rustix::fs::fstat(&self.archive.fd) {
            let times = [
                (stat.st_mtime, stat.st_mtime_nsec),
                (stat.st_ctime, stat.st_ctime_nsec),
            ];
            origin.extend(format!("{} {} {}", stat.st_dev, stat.st_ino, stat.st_size).bytes());
            origin.extend(format!(" {times:?} ").bytes());
        }
        let name = self.archive.path.file_name().unwrap_or_default();
        for part in [name.as_bytes(), b"\0", self.names] {
            origin.extend_from_slice(part);
        }
        origin
    }

    /// Its bytes, taken out of the file anew. `None`: there is no such member, or it has more than
    /// [`LARGEST_READ`].
    ///
    /// # Errors
    ///
    /// The file cannot be read.
    pub fn bytes(&self, part_reader: &dyn PartReader) -> Result<Option<Vec<u8>>, AskError> {
        let mut all = self.archive.extract_all(&[Some(self.names)], part_reader)?;
        Ok(all.pop().flatten().map(|extracted| extracted.own))
    }
}

/// What several members of one file say, or the file itself (`None`), as [`extract`] would tell of
/// each. It is taken apart once, and again for those that were too much at a time.
pub fn extract_all(
    file: &Path,
    wanted: &[Option<&[u8]>],
    part_reader: &dyn PartReader,
) -> Result<Vec<Option<Extracted>>, AskError> {
    OpenedFile::of(file)?.extract_all(wanted, part_reader)
}

/// What bytes say that are no file's, as those of a file of this name would.
pub fn extract_bytes(
    name: &Path,
    bytes: &[u8],
    part_reader: &dyn PartReader,
) -> Result<Extracted, AskError> {
    let mut listener = Listener::new(None);
    let understood = OpenedFile::of_bytes(name, bytes)?.take_apart(part_reader, &mut listener)?;
    Ok(Extracted {
        own: bytes.to_vec(),
        text: listener.text.filter(|_| understood),
        packed: listener.packed.filter(|_| understood),
    })
}

/// A file that is opened to be taken apart.
#[derive(Debug)]
pub struct OpenedFile<'p> {
    path: &'p Path,
    fd: OwnedFd,
    stat: Stat,
}

impl<'p> OpenedFile<'p> {
    /// Opens a regular file.
    pub fn of(path: &'p Path) -> Result<Self, AskError> {
        let anchor = anchor_of(path)?;
        let (fd, stat) =
            open_regular(&anchor, path).map_err(|failure| unreadable(path, failure))?;
        Ok(Self { path, fd, stat })
    }

    /// Bytes that are no file's, as a file of this name in memory.
    pub(super) fn of_bytes(path: &'p Path, bytes: &[u8]) -> Result<Self, AskError> {
        let written = || {
            let mut file = File::from(memfd_create("resemble-sent", MemfdFlags::CLOEXEC)?);
            file.write_all(bytes)?;
            Ok((Stat::of(file.as_fd())?, file.into()))
        };
        let (stat, fd) = written().map_err(|source| AskError::Unreadable {
            path: path.to_owned(),
            source,
        })?;
        Ok(Self { path, fd, stat })
    }

    /// Whether it is not read whole.
    pub(super) const fn is_too_large(&self) -> bool {
        self.stat.size > LARGEST_READ.0
    }

    /// What several members of it say, or the file itself: see [`extract_all`].
    fn extract_all(
        &self,
        wanted: &[Option<&[u8]>],
        part_reader: &dyn PartReader,
    ) -> Result<Vec<Option<Extracted>>, AskError> {
        if self.is_too_large() && wanted.iter().all(Option::is_none) {
            return Ok(vec![None; wanted.len()]);
        }
        let mut listeners = Listeners::new(wanted);
        let understood = self.take_apart(part_reader, &mut listeners)?;
        let mut all = Vec::with_capacity(wanted.len());
        for (listener, &names) in listeners.all.into_iter().zip(wanted) {
            all.push(match names {
                Some(_) if listener.passed_over && wanted.len() > 1 => {
                    self.extract_all(&[names], part_reader)?.pop().flatten()
                }
                Some(_) => {
                    let own = listener.own.filter(|_| understood);
                    let (text, packed) = (listener.text, listener.packed);
                    own.map(|own| Extracted { own, text, packed })
                }
                None if self.is_too_large() => None,
                None => Some(Extracted {
                    own: bytes_of(self.path)?,
                    text: listener.text.filter(|_| understood),
                    packed: listener.packed.filter(|_| understood),
                }),
            });
        }
        Ok(all)
    }

    /// What is skipped when it is taken apart.
    pub fn skipped(&self, part_reader: &dyn PartReader) -> Result<Vec<SkippedPart>, AskError> {
        Ok(match self.read_parts(part_reader, &mut Nobody)? {
            Some(Ok(skipped)) => skipped_parts(skipped),
            Some(Err(skipped)) => skipped_parts(vec![(Vec::new(), skipped)]),
            None => Vec::new(),
        })
    }

    /// Passes its parts on; `false`: it has none, or what was passed on is of no use.
    pub(super) fn take_apart(
        &self,
        part_reader: &dyn PartReader,
        sink: &mut dyn Sink,
    ) -> Result<bool, AskError> {
        Ok(matches!(self.read_parts(part_reader, sink)?, Some(Ok(_))))
    }

    /// Passes its parts on, and says what was skipped; `None`: it is not taken apart.
    #[allow(clippy::type_complexity)] // what the reader says, if it is asked
    fn read_parts(
        &self,
        part_reader: &dyn PartReader,
        sink: &mut dyn Sink,
    ) -> Result<Option<Result<Vec<(Vec<u8>, Skipped)>, Skipped>>, AskError> {
        let head = read_prefix(&self.fd, HEAD).map_err(|errno| AskError::Unreadable {
            path: self.path.to_owned(),
            source: errno.into(),
        })?;
        let name = self.path.file_name().unwrap_or_default().as_bytes();
        let applies = part_reader.applies(name, &head, Some(self.fd.as_fd()));
        Ok(applies.then(|| part_reader.read_parts(name, &head, self.fd.as_fd(), sink)))
    }
}

/// The file that a path leads to, and the names from there on if it leads into one.
pub fn way(path: &Path) -> (&Path, Option<&[u8]>) {
    let is_file = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
    if is_file(path) {
        return (path, None);
    }
    let into = ways_into(path).find(|(file, _)| is_file(file));
    into.map_or((path, None), |(file, names)| (file, Some(names)))
}

/// What is known of each part while parts come.
#[derive(Clone, Copy)]
enum Heard<'n> {
    /// It is what is asked about, or a rendition of that.
    Wanted,
    /// These names lead on from it.
    LeadsOn(&'n [u8]),
    /// Something else.
    Unrelated,
}

/// Keeps what is asked about of the parts of a file.
struct Listener<'n> {
    names: Option<&'n [u8]>,
    parts: Vec<Heard<'n>>,
    /// The part under way: whether it is a text, the thing asked about, or what is packed.
    under_way: Option<KeptPart>,
    bytes: Vec<u8>,
    own: Option<Vec<u8>>,
    text: Option<Vec<u8>>,
    packed: Option<Vec<u8>>,
    /// Something that was asked about was not kept, because others took the room.
    passed_over: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum KeptPart {
    Own,
    Text,
    Unpacked,
}

impl<'n> Listener<'n> {
    fn new(names: Option<&'n [u8]>) -> Self {
        Self {
            names,
            parts: Vec::new(),
            under_way: None,
            bytes: Vec::new(),
            own: None,
            text: None,
            packed: None,
            passed_over: false,
        }
    }

    /// Bytes that it keeps.
    fn room(&self) -> usize {
        let kept = [&self.own, &self.text, &self.packed];
        let kept = kept.into_iter().flatten().map(Vec::len).sum::<usize>();
        kept + self.bytes.len()
    }
}

/// Several that listen to one file being taken apart.
struct Listeners<'n> {
    all: Vec<Listener<'n>>,
}

impl<'n> Listeners<'n> {
    fn new(wanted: &[Option<&'n [u8]>]) -> Self {
        Self {
            all: wanted.iter().map(|names| Listener::new(*names)).collect(),
        }
    }
}

impl Sink for Listeners<'_> {
    fn begin(&mut self, part: Part) {
        let kept: usize = self.all.iter().map(Listener::room).sum();
        let is_full = self.all.len() > 1 && kept as u64 > LARGEST_READ.0;
        for listener in &mut self.all {
            listener.begin(part.clone());
            if is_full && listener.under_way.is_some() {
                listener.passed_over = true;
                listener.drop_part();
            }
        }
    }

    fn bytes(&mut self, bytes: &[u8]) {
        for listener in &mut self.all {
            listener.bytes(bytes);
        }
    }

    fn end(&mut self) {
        self.all.iter_mut().for_each(Sink::end);
    }

    fn drop_part(&mut self) {
        self.all.iter_mut().for_each(Sink::drop_part);
    }
}

impl Sink for Listener<'_> {
    fn begin(&mut self, part: Part) {
        self.bytes.clear();
        self.under_way = None;
        let above = match part.parent {
            None => self.names.map_or(Heard::Wanted, Heard::LeadsOn),
            Some(parent) => {
                let above = self.parts.get(parent as usize);
                above.copied().unwrap_or(Heard::Unrelated)
            }
        };
        let heard = match (above, part.role) {
            (Heard::Wanted, Role::Text | Role::Unpacked) => {
                self.under_way = Some(if part.role == Role::Text {
                    KeptPart::Text
                } else {
                    KeptPart::Unpacked
                });
                Heard::Wanted
            }
            (Heard::LeadsOn(names), Role::Unpacked) => Heard::LeadsOn(names),
            (Heard::LeadsOn(names), Role::Member) => match names.strip_prefix(&part.name[..]) {
                // Of several of one name the first that is there.
                Some([]) if self.own.is_none() => {
                    self.under_way = Some(KeptPart::Own);
                    Heard::Wanted
                }
                Some([INTO, rest @ ..]) => Heard::LeadsOn(rest),
                _ => Heard::Unrelated,
            },
            _ => Heard::Unrelated,
        };
        self.parts.push(heard);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        if self.under_way.is_none() {
            return;
        }
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() as u64 > LARGEST_READ.0 {
            self.drop_part();
        }
    }

    fn end(&mut self) {
        let bytes = std::mem::take(&mut self.bytes);
        match self.under_way.take() {
            Some(KeptPart::Own) => self.own = Some(bytes),
            Some(KeptPart::Text) if self.text.is_none() => self.text = Some(bytes),
            Some(KeptPart::Unpacked) => self.packed = Some(bytes),
            Some(KeptPart::Text) | None => {}
        }
    }

    fn drop_part(&mut self) {
        self.under_way = None;
        self.bytes = Vec::new();
        if let Some(last) = self.parts.last_mut() {
            // What is in it is of nothing that can be shown.
            *last = match *last {
                Heard::Wanted => Heard::Unrelated,
                other => other,
            };
        }
    }
}
