//! Extracts the renditions of a file: its bytes, its text, and its unpacked content.
//!
//! A question about two documents compares their texts. So the bytes and the text of each document
//! are extracted and kept in memory. For a compressed file, the bytes and the unpacked content are
//! extracted. Files of more than [`LARGEST_READ`] bytes are left out. An archive itself has no
//! text, but its members may have one. A path can name a member.

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

/// A file or a member, with its extracted renditions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Extracted {
    /// The bytes of the file or member itself.
    pub own: Vec<u8>,
    /// The text that a reader extracted from the bytes.
    pub text: Option<Vec<u8>>,
    /// The content that is compressed in the bytes.
    pub packed: Option<Vec<u8>>,
}

impl Extracted {
    /// Returns an instance that has only these bytes.
    pub const fn plain(own: Vec<u8>) -> Self {
        Self {
            own,
            text: None,
            packed: None,
        }
    }

    /// Returns the text that is compared with other texts. [`crate::renditions::faces::Faces`]
    /// chooses in the same way.
    pub fn text(&self) -> Option<&[u8]> {
        let is_text = |bytes: &&[u8]| ContentKind::of_whole(bytes) == ContentKind::Text;
        let bytes = self.packed.as_deref().unwrap_or(&self.own);
        self.text.as_deref().or(Some(bytes).filter(is_text))
    }

    /// Returns the bytes that are compared with contents that are not texts.
    pub fn bytes(&self) -> &[u8] {
        self.packed.as_deref().unwrap_or(&self.own)
    }

    /// Returns the text, or the unpacked content if there is no text.
    pub const fn stand_in(&self) -> Option<&Vec<u8>> {
        match &self.text {
            Some(text) => Some(text),
            None => self.packed.as_ref(),
        }
    }

    /// Returns the bytes of a rendition. Returns `None` for members and for the wholes of archives,
    /// which are not extracted here.
    pub fn rendition(self, rendition: Rendition) -> Option<Vec<u8>> {
        match rendition {
            Rendition::Own => Some(self.own),
            Rendition::Text => self.text,
            Rendition::Unpacked => self.packed,
            Rendition::WholeText | Rendition::WholeBytes | Rendition::Member => None,
        }
    }

    /// Returns whether the text or the unpacked content is large enough to be compared.
    pub fn has_text(&self) -> bool {
        let size = |text: &Vec<u8>| resemble_core::ByteLen(text.len() as u64);
        self.stand_in()
            .is_some_and(|text| !similarity::too_small(size(text)))
    }
}

/// Discards all parts.
struct DiscardSink;

impl Sink for DiscardSink {
    fn begin(&mut self, _: Part) {}
    fn bytes(&mut self, _: &[u8]) {}
    fn end(&mut self) {}
    fn drop_part(&mut self) {}
}

/// Extracts the file at a path, or the member that the path names after a `!`. Returns `None` if
/// the member cannot be extracted, or if the file or the member is too large to be read whole.
pub fn extract(path: &Path, part_reader: &dyn PartReader) -> Result<Option<Extracted>, AskError> {
    let (file, names) = way(path);
    let mut all = extract_all(file, &[names], part_reader)?;
    Ok(all.pop().flatten())
}

/// A member of an archive that was opened.
#[derive(Debug)]
pub struct OpenedMember<'p> {
    archive: OpenedFile<'p>,
    names: &'p [u8],
}

impl<'p> OpenedMember<'p> {
    /// Opens the archive of a path such as `mail.eml!report.zip!a.txt`. Returns `None` if the path
    /// is not that of a member, or if `may` returns false for the opened file, which must then not
    /// be read.
    ///
    /// # Errors
    ///
    /// Fails if the archive cannot be opened.
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

    /// Returns a value that identifies the extracted bytes: the identity, size and times of the
    /// file, and the names within it. It includes the name of the file, because the name affects
    /// how parts are extracted.
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

    /// Extracts the bytes of the member. Returns `None` if there is no such member, or if it has
    /// more than [`LARGEST_READ`] bytes.
    ///
    /// # Errors
    ///
    /// Fails if the archive cannot be read.
    pub fn bytes(&self, part_reader: &dyn PartReader) -> Result<Option<Vec<u8>>, AskError> {
        let mut all = self.archive.extract_all(&[Some(self.names)], part_reader)?;
        Ok(all.pop().flatten().map(|extracted| extracted.own))
    }
}

/// Extracts several members of one file, as [`extract`] does. `None` in `wanted` means the file
/// itself. The file is taken apart once, and once more for each member that did not fit into
/// memory.
pub fn extract_all(
    file: &Path,
    wanted: &[Option<&[u8]>],
    part_reader: &dyn PartReader,
) -> Result<Vec<Option<Extracted>>, AskError> {
    OpenedFile::of(file)?.extract_all(wanted, part_reader)
}

/// Extracts bytes in memory as if they were a file with this name.
pub fn extract_bytes(
    name: &Path,
    bytes: &[u8],
    part_reader: &dyn PartReader,
) -> Result<Extracted, AskError> {
    let mut listener = PartCollector::new(None);
    let understood = OpenedFile::of_bytes(name, bytes)?.take_apart(part_reader, &mut listener)?;
    Ok(Extracted {
        own: bytes.to_vec(),
        text: listener.text.filter(|_| understood),
        packed: listener.packed.filter(|_| understood),
    })
}

/// A file that was opened for extraction.
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

    /// Makes a file in memory that has these bytes and this name.
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

    /// Returns whether the file is too large to be read whole.
    pub(super) const fn is_too_large(&self) -> bool {
        self.stat.size > LARGEST_READ.0
    }

    /// Implements [`extract_all`].
    fn extract_all(
        &self,
        wanted: &[Option<&[u8]>],
        part_reader: &dyn PartReader,
    ) -> Result<Vec<Option<Extracted>>, AskError> {
        if self.is_too_large() && wanted.iter().all(Option::is_none) {
            return Ok(vec![None; wanted.len()]);
        }
        let mut listeners = PartCollectors::new(wanted);
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

    /// Returns the parts of the file that extraction skips.
    pub fn skipped(&self, part_reader: &dyn PartReader) -> Result<Vec<SkippedPart>, AskError> {
        self.skipped_by(part_reader, &mut DiscardSink)
    }

    /// Returns the parts of the file that extraction skips, and whether the member with these names
    /// is too large to be read whole.
    pub fn skipped_or_large(
        &self,
        member: &[u8],
        part_reader: &dyn PartReader,
    ) -> Result<(Vec<SkippedPart>, bool), AskError> {
        let mut collector = PartCollector::new(Some(member));
        let skipped = self.skipped_by(part_reader, &mut collector)?;
        Ok((skipped, collector.is_too_large))
    }

    fn skipped_by(
        &self,
        part_reader: &dyn PartReader,
        sink: &mut dyn Sink,
    ) -> Result<Vec<SkippedPart>, AskError> {
        Ok(match self.read_parts(part_reader, sink)? {
            Some(Ok(skipped)) => skipped_parts(skipped),
            Some(Err(skipped)) => skipped_parts(vec![(Vec::new(), skipped)]),
            None => Vec::new(),
        })
    }

    /// Passes the parts to `sink`. Returns `false` if there is no reader for the file, or if
    /// reading failed. If reading failed, the parts that `sink` has received are unusable.
    pub(super) fn take_apart(
        &self,
        part_reader: &dyn PartReader,
        sink: &mut dyn Sink,
    ) -> Result<bool, AskError> {
        Ok(matches!(self.read_parts(part_reader, sink)?, Some(Ok(_))))
    }

    /// Passes the parts to `sink`, and returns those that were skipped, or the reason why reading
    /// failed. Returns `None` if there is no reader for the file.
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

/// Splits a path into the path of a file and the names of a member in it. If the whole path is that
/// of a file, or if no file is found, returns the whole path and no names.
pub fn way(path: &Path) -> (&Path, Option<&[u8]>) {
    let is_file = |path: &Path| std::fs::symlink_metadata(path).is_ok_and(|meta| meta.is_file());
    if is_file(path) {
        return (path, None);
    }
    let into = ways_into(path).find(|(file, _)| is_file(file));
    into.map_or((path, None), |(file, names)| (file, Some(names)))
}

/// The relation of a part to the wanted file or member.
#[derive(Clone, Copy)]
enum PartRelation<'n> {
    /// The part is the wanted member, or a rendition of the wanted file or member.
    Wanted,
    /// The part is on the path to the wanted member. The value has the names on that path after the
    /// name of the part.
    LeadsOn(&'n [u8]),
    /// The part is neither the wanted member nor on the path to it.
    Unrelated,
}

/// Keeps the renditions of the wanted file or member.
struct PartCollector<'n> {
    names: Option<&'n [u8]>,
    parts: Vec<PartRelation<'n>>,
    /// The role of the current part, if the part is kept.
    under_way: Option<KeptPart>,
    bytes: Vec<u8>,
    own: Option<Vec<u8>>,
    text: Option<Vec<u8>>,
    packed: Option<Vec<u8>>,
    /// True if a wanted part was dropped because earlier parts have used up the memory.
    passed_over: bool,
    /// True if the wanted member has more than [`LARGEST_READ`] bytes.
    is_too_large: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum KeptPart {
    Own,
    Text,
    Unpacked,
}

impl<'n> PartCollector<'n> {
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
            is_too_large: false,
        }
    }

    /// Returns the number of bytes that are kept in memory.
    fn room(&self) -> usize {
        let kept = [&self.own, &self.text, &self.packed];
        let kept = kept.into_iter().flatten().map(Vec::len).sum::<usize>();
        kept + self.bytes.len()
    }
}

/// Passes the parts of a single extraction to several collectors.
struct PartCollectors<'n> {
    all: Vec<PartCollector<'n>>,
}

impl<'n> PartCollectors<'n> {
    fn new(wanted: &[Option<&'n [u8]>]) -> Self {
        Self {
            all: wanted
                .iter()
                .map(|names| PartCollector::new(*names))
                .collect(),
        }
    }
}

impl Sink for PartCollectors<'_> {
    fn begin(&mut self, part: Part) {
        let kept: usize = self.all.iter().map(PartCollector::room).sum();
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

impl Sink for PartCollector<'_> {
    fn begin(&mut self, part: Part) {
        self.bytes.clear();
        self.under_way = None;
        let above = match part.parent {
            None => self
                .names
                .map_or(PartRelation::Wanted, PartRelation::LeadsOn),
            Some(parent) => {
                let above = self.parts.get(parent as usize);
                above.copied().unwrap_or(PartRelation::Unrelated)
            }
        };
        let heard = match (above, part.role) {
            (PartRelation::Wanted, Role::Text | Role::Unpacked) => {
                self.under_way = Some(if part.role == Role::Text {
                    KeptPart::Text
                } else {
                    KeptPart::Unpacked
                });
                PartRelation::Wanted
            }
            (PartRelation::LeadsOn(names), Role::Unpacked) => PartRelation::LeadsOn(names),
            (PartRelation::LeadsOn(names), Role::Member) => {
                match names.strip_prefix(&part.name[..]) {
                    // If several members have this name, the first of them is kept.
                    Some([]) if self.own.is_none() => {
                        self.under_way = Some(KeptPart::Own);
                        PartRelation::Wanted
                    }
                    Some([INTO, rest @ ..]) => PartRelation::LeadsOn(rest),
                    _ => PartRelation::Unrelated,
                }
            }
            _ => PartRelation::Unrelated,
        };
        self.parts.push(heard);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        if self.under_way.is_none() {
            return;
        }
        self.bytes.extend_from_slice(bytes);
        if self.bytes.len() as u64 > LARGEST_READ.0 {
            self.is_too_large |= self.under_way == Some(KeptPart::Own);
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
            // If a wanted part is dropped, the parts that were extracted from it are not kept,
            // either.
            *last = match *last {
                PartRelation::Wanted => PartRelation::Unrelated,
                other => other,
            };
        }
    }
}
