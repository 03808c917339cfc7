//! Deltas: the difference between two catalogues.
//!
//! In a tree that is catalogued every night, nearly everything is unchanged from night to night. A
//! delta holds only the records that are new. For the other records, it refers to the older
//! catalogue, its **base**. [`join()`] makes the new catalogue from the base and the delta, byte
//! for byte.
//!
//! ```text
//! file     "resemble delta\n" │ varint version │ record* │ digest of everything before, 32 B
//! record   kind u8 │ varint length │ body
//!
//! 1 head     digest of the base, 32 B │ head of the new catalogue
//! 2 content  a content that the base does not have in this form
//! 3 look     a look that the base does not have in this form; numbers of the new catalogue
//! 4 entry    a name that the base does not have in this form; numbers of the new catalogue
//! 7 keep     varint skipped │ varint kept: how many entries of the base to leave out, then to keep
//! 8 content  varint number in the base: that content
//! 9 look     varint number in the base: that content's look
//! 5 end      totals of the new catalogue │ its digest, 32 B
//! ```
//!
//! 1. **Records are in the order of the new catalogue.** There, a content precedes the records that
//!    refer to it. So a kept entry also adds its content and that content's look (the parts found
//!    in it). It does not add them again if they were added before (`Replay`). A run of kept
//!    entries takes one record of a few bytes.
//! 2. **Numbers are assigned again.** A catalogue numbers its contents and files in the order of
//!    their records. So one new content at the beginning changes the numbers of all later contents.
//!    Both the maker and the reader of a delta count contents and files (`Numbering`).
//! 3. **An entry is kept only after a comparison.** The records that the entry would add must equal
//!    those of the new catalogue. If any record differs, the entry is written in full. Each of its
//!    contents and looks is then written in full or as a reference to the base. If the two
//!    catalogues order their contents differently, the delta is larger, but not wrong.
//! 4. **A delta has three digests.** Its own digest reveals a damaged copy. The digest of the base
//!    reveals that a wrong base was given. The result must have the digest of the new catalogue.

mod join;
mod make;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ops::Range;
use std::path::Path;

use resemble_core::ContentDigest;
use resemble_index::varint::Reader;

use super::format::{self, Apart, CHECKSUM, CatalogueRecord, EntryKind, PackedContent};
use super::read::RecordName;
use super::records::{DELTA_MAGIC, RecordFile, RecordFormat, begins_with};
use super::{Catalogue, CatalogueError, Head};

pub use join::join;
pub use make::make;

/// The file format of deltas.
const DELTA: RecordFormat = RecordFormat {
    magic: DELTA_MAGIC,
    other: "it is not a delta; `resemble catalogue write --since` writes one",
};

const KEEP: u8 = 7;
const CONTENT_OF_BASE: u8 = 8;
const LOOK_OF_BASE: u8 = 9;

/// Returns whether a file begins with the magic bytes of a delta. Returns false if it is not a
/// regular file.
pub fn is_delta(file: &Path) -> bool {
    begins_with(file, DELTA_MAGIC)
}

/// A delta whose digest was verified.
#[derive(Debug)]
pub struct Delta {
    records: RecordFile,
    base: ContentDigest,
    head: Head,
}

impl Delta {
    /// Opens a delta, and reads it once to verify that it is whole.
    pub fn open(path: &Path) -> Result<Self, CatalogueError> {
        let mut records = RecordFile::open(path, &DELTA)?;
        let Some((1, body)) = records.next()? else {
            return Err(records.forged());
        };
        let mut reader = Reader(&body);
        let both = reader.array::<CHECKSUM>().zip(format::head(&mut reader));
        let (base, head) = both
            .and_then(|both| reader.end(both))
            .ok_or_else(|| records.forged())?;
        Ok(Self {
            records,
            base: ContentDigest(base),
            head,
        })
    }

    /// Returns the digest of the base: the catalogue that this delta must be joined with.
    pub const fn base(&self) -> &ContentDigest {
        &self.base
    }

    /// Returns the head of the new catalogue.
    pub const fn head(&self) -> &Head {
        &self.head
    }
}

/// The base of a delta. It is opened twice: one reader looks up contents by number and digest,
/// while another reader reads the entries in order.
struct Base {
    /// The reader of contents and looks.
    catalogue: Catalogue,
    contents: Vec<Range<u64>>,
    looks: HashMap<u32, Range<u64>>,
    numbers: HashMap<ContentDigest, u32>,
    /// The reader of entries.
    entries: Catalogue,
}

impl Base {
    fn open(path: &Path) -> Result<Self, CatalogueError> {
        let mut catalogue = super::open(path)?;
        let (mut contents, mut looks, mut numbers) = (Vec::new(), HashMap::new(), HashMap::new());
        while let Some(name) = catalogue.next_name()? {
            let body = catalogue.last_body();
            match name {
                RecordName::Content(digest) => {
                    let number = u32::try_from(contents.len()).map_err(|_| catalogue.forged())?;
                    numbers.insert(digest, number);
                    contents.push(body);
                }
                RecordName::LookOf(content) => {
                    looks.insert(content, body);
                }
            }
        }
        Ok(Self {
            contents,
            looks,
            numbers,
            entries: super::open(path)?,
            catalogue,
        })
    }

    fn number(&self, content: &ContentDigest) -> Option<u32> {
        self.numbers.get(content).copied()
    }

    fn content(&self, number: u32) -> Result<PackedContent, CatalogueError> {
        let body = self.contents.get(number as usize);
        let body = body.ok_or_else(|| self.catalogue.forged())?;
        self.catalogue.packed_at(body)
    }

    /// Returns the look of a content: the parts that were found in it. The outer `None` means that
    /// the base has no look of the content. The inner `None` means that the content cannot be taken
    /// apart. The parts refer to contents by their numbers in the base.
    #[allow(clippy::option_option)] // the outer one: there is no look
    fn look(&self, number: u32) -> Result<Option<Option<Apart>>, CatalogueError> {
        let body = self.looks.get(&number);
        body.map(|body| self.catalogue.look_at(body)).transpose()
    }
}

/// Maps numbers of the base to numbers of the new catalogue, for all records up to the current one.
#[derive(Debug, Default)]
struct Numbering {
    contents: HashMap<u32, u32>,
    /// The contents of the new catalogue up to the current record. The index is the number of a
    /// content in the new catalogue.
    came: Vec<AddedContent>,
    files: HashMap<u32, u32>,
    next_file: u32,
}

/// A content of the new catalogue.
#[derive(Debug, Default)]
struct AddedContent {
    /// The number of the content in the base, if the base has the content.
    of_base: Option<u32>,
    /// True if the new catalogue already has the look of the content.
    is_looked: bool,
}

/// The records of the new catalogue that are made from one record of the base. Contents and looks
/// are before the records that refer to them.
#[derive(Debug, Default)]
struct Replay {
    records: Vec<CatalogueRecord>,
    /// The contents in `records`: each number in the base, with the number in the new catalogue.
    contents: HashMap<u32, u32>,
    /// The number, in the new catalogue, of the content whose look is in `records`.
    looked: Option<u32>,
    /// The number, in the base, of the file that is new in `records`.
    file: Option<u32>,
}

impl Replay {
    /// Makes the records of an entry that is kept from the base. The content of the entry and the
    /// look of that content precede the entry, unless they were added before.
    fn of_entry(
        base: &Base,
        numbering: &Numbering,
        (path, what): (Vec<u8>, EntryKind),
    ) -> Result<Self, CatalogueError> {
        let mut replay = Self::default();
        let mut file_of = |file: u32| {
            let known = numbering.files.get(&file).copied();
            known.unwrap_or_else(|| {
                replay.file = Some(file);
                numbering.next_file
            })
        };
        let what = match what {
            EntryKind::File {
                file,
                mtime,
                content,
            } => {
                let file = file_of(file);
                let number = replay.content(base, numbering, content)?;
                if !numbering.is_looked(number) {
                    replay.look(base, numbering, content)?;
                }
                EntryKind::File {
                    file,
                    mtime,
                    content: number,
                }
            }
            EntryKind::Unreadable { file, size, errno } => EntryKind::Unreadable {
                file: file_of(file),
                size,
                errno,
            },
            EntryKind::Skipped { file, size, reason } => EntryKind::Skipped {
                file: file_of(file),
                size,
                reason,
            },
            other @ (EntryKind::Dir | EntryKind::Symlink(_) | EntryKind::Special(_)) => other,
        };
        replay.records.push(CatalogueRecord::Entry { path, what });
        Ok(replay)
    }

    /// Returns the number that a content of the base has in the new catalogue. Adds the record of
    /// the content, unless the new catalogue already has it.
    fn content(
        &mut self,
        base: &Base,
        numbering: &Numbering,
        of_base: u32,
    ) -> Result<u32, CatalogueError> {
        let known = numbering.contents.get(&of_base);
        if let Some(number) = known.or_else(|| self.contents.get(&of_base)) {
            return Ok(*number);
        }
        let content = base.content(of_base)?;
        self.records.push(CatalogueRecord::Content(content));
        let number = (numbering.came.len() + self.contents.len()) as u32;
        self.contents.insert(of_base, number);
        Ok(number)
    }

    /// Adds the look of a content of the base, if the base has a look of it. The contents of the
    /// parts in that look are added before the look.
    fn look(
        &mut self,
        base: &Base,
        numbering: &Numbering,
        of_base: u32,
    ) -> Result<(), CatalogueError> {
        let Some(mut apart) = base.look(of_base)? else {
            return Ok(());
        };
        let content = self.content(base, numbering, of_base)?;
        for part in apart.iter_mut().flat_map(|(parts, ..)| parts) {
            let content = part.content;
            let content = content.map(|content| self.content(base, numbering, content));
            part.content = content.transpose()?;
        }
        self.records.push(CatalogueRecord::Look { content, apart });
        self.looked = Some(content);
        Ok(())
    }
}

impl Numbering {
    /// Registers the contents, the look and the file that a replay adds to the new catalogue.
    fn came(&mut self, replay: &Replay) {
        self.contents.extend(&replay.contents);
        let all = self.came.len() + replay.contents.len();
        self.came.resize_with(all, AddedContent::default);
        for (of_base, new) in &replay.contents {
            if let Some(came) = self.came.get_mut(*new as usize) {
                came.of_base = Some(*of_base);
            }
        }
        if let Some(looked) = replay.looked {
            self.new_look(looked);
        }
        if let Some(file) = replay.file {
            self.files.insert(file, self.next_file);
            self.next_file += 1;
        }
    }

    /// Registers a content that the delta holds in full.
    fn new_content(&mut self, base: &Base, content: &PackedContent) {
        let of_base = base.number(content.digest());
        if let Some(of_base) = of_base {
            self.contents.insert(of_base, self.came.len() as u32);
        }
        self.came.push(AddedContent {
            of_base,
            is_looked: false,
        });
    }

    /// Returns the number that a content of the new catalogue has in the base. Returns `None` if
    /// the base does not have the content.
    fn of_base(&self, new: u32) -> Option<u32> {
        self.came.get(new as usize)?.of_base
    }

    fn is_looked(&self, new: u32) -> bool {
        let came = self.came.get(new as usize);
        came.is_some_and(|came| came.is_looked)
    }

    /// Registers that the new catalogue has the look of this content.
    fn new_look(&mut self, content: u32) {
        if let Some(came) = self.came.get_mut(content as usize) {
            came.is_looked = true;
        }
    }

    /// Registers an entry that the delta holds in full.
    fn new_entry(&mut self, what: &EntryKind) {
        if let EntryKind::File { file, .. }
        | EntryKind::Unreadable { file, .. }
        | EntryKind::Skipped { file, .. } = what
            && *file >= self.next_file
        {
            self.next_file = file.saturating_add(1);
        }
    }
}
