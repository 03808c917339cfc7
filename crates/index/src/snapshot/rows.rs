//! Queries of files, contents, parts, records, totals and boilerplate.

use std::ops::Range;

use resemble_core::{ContentDigest, ContentId, FileId, Params};

use super::{Inner, PostingKind, Snapshot};
use crate::codec::inodes;
use crate::codec::rows::{StoredContent, StoredFile, decode_part, decode_skipped};
use crate::error::ReadError;
use crate::fault::Fault;
use crate::rows::{ContentRow, FileRow, FileStat, FsId, PartRow, SkippedPart, Totals};
use crate::store::ReadableTableMetadata;

impl Snapshot {
    /// Returns the file with this id.
    pub fn file(&self, file: FileId) -> Result<Option<FileRow>, ReadError> {
        if !self.sees_file(file)? {
            return Ok(None);
        }
        let row = self.ask(|inner| inner.file(file))?;
        self.note_file(row.as_ref().map(|row| &row.state));
        Ok(row)
    }

    /// Returns the id of the file with this inode number in this file system.
    pub fn file_by_inode(&self, fs: &FsId, ino: u64) -> Result<Option<FileId>, ReadError> {
        self.note_outside();
        let found = self.ask(|inner| {
            let Some(number) = inner.sets.file_systems.number(fs) else {
                return Ok(None);
            };
            let row = inner.inodes.get(inodes::row_of(number, ino))?;
            Ok(match row {
                Some(row) => inodes::file(row.value(), ino)?,
                None => None,
            })
        })?;
        match found {
            Some(file) if !self.sees_file(file)? => Ok(None),
            found => Ok(found),
        }
    }

    /// Returns an inode number that is larger than those of all files of this file system. Must be
    /// called only on an unrestricted snapshot.
    pub fn free_inode(&self, fs: &FsId) -> Result<u64, ReadError> {
        self.note_outside();
        self.ask(|inner| {
            let Some(number) = inner.sets.file_systems.number(fs) else {
                return Ok(0);
            };
            let mut rows = inner.inodes.range((number.0, 0)..=(number.0, u64::MAX))?;
            let last = rows.next_back().transpose()?;
            Ok(last.map_or(0, |(row, _)| inodes::behind(row.value())))
        })
    }

    /// Returns the content with this id. Returns `None` if the content was deleted or is not
    /// visible.
    pub fn content(&self, content: ContentId) -> Result<Option<ContentRow>, ReadError> {
        self.note_content(content);
        if !self.sees_content(content)? {
            return Ok(None);
        }
        let mut row =
            self.ask(|inner| Ok(inner.content(content)?.map(|row| row.into_row(content))))?;
        if let Some(row) = row.as_mut().filter(|_| self.is_partial()) {
            row.files = self.files_of(content)?.len() as u32;
            row.uses = self.part_of(content)?.len() as u32;
        }
        Ok(row)
    }

    /// Returns the content with this digest.
    pub fn content_by_digest(
        &self,
        digest: &ContentDigest,
    ) -> Result<Option<ContentId>, ReadError> {
        let found = self.ask(|inner| {
            let prefix = digest_prefix(digest);
            for row in inner.digests.range((prefix, 0)..=(prefix, u32::MAX))? {
                let content = ContentId(row?.0.value().1);
                if inner
                    .content(content)?
                    .is_some_and(|row| row.digest == *digest)
                {
                    return Ok(Some(content));
                }
            }
            Ok(None)
        })?;
        let found = match found {
            Some(content) if !self.sees_content(content)? => None,
            found => found,
        };
        match found {
            Some(content) => self.note_content(content),
            None => self.note_outside(),
        }
        Ok(found)
    }

    /// Returns the heir of a dead content, and a range of the heir. Outside this range, the bytes
    /// of the two contents are equal. Returns `None` if there is no heir, if the range is not
    /// known, or if the snapshot is partial.
    pub fn edited_from(&self, dead: ContentId) -> Option<(ContentId, Range<u64>)> {
        if self.is_partial() {
            return None;
        }
        self.inner.sets.heirs.edited_from(dead)
    }

    /// Returns the files that have a content, ascending. The list is empty if the index does not
    /// have the content.
    pub fn files_of(&self, content: ContentId) -> Result<Vec<FileId>, ReadError> {
        self.note_content(content);
        let files = self.ask(|inner| inner.files_of(content))?;
        self.seen_files(files)
    }

    /// Returns the parts of a content. Each is listed after the part that contains it. The list is
    /// empty if the index does not have the content.
    pub fn parts(&self, content: ContentId) -> Result<Vec<PartRow>, ReadError> {
        self.note_content(content);
        if !self.sees_content(content)? {
            return Ok(Vec::new());
        }
        self.ask(|inner| {
            let range = (content.0, 0)..=(content.0, u32::MAX);
            let mut parts = Vec::new();
            for row in inner.parts.range(range)? {
                let part = decode_part(row?.1.value())?;
                // Each parent must precede its parts. So a loop that goes from parent to parent
                // ends.
                let before = |parent: u32| (parent as usize) < parts.len();
                if !part.parent.is_none_or(before) {
                    return Err(Fault::damaged("a part was found in a later one"));
                }
                parts.push(part);
            }
            Ok(parts)
        })
    }

    /// Returns one part of a content, by its index in the list of parts.
    pub fn part(&self, content: ContentId, number: u32) -> Result<Option<PartRow>, ReadError> {
        self.note_content(content);
        if !self.sees_content(content)? {
            return Ok(None);
        }
        self.ask(|inner| {
            let row = inner.parts.get((content.0, number))?;
            let part = row.map(|row| decode_part(row.value())).transpose()?;
            if part.as_ref().and_then(|part| part.parent) >= Some(number) {
                return Err(Fault::damaged("a part was found in a later one"));
            }
            Ok(part)
        })
    }

    /// Returns the containers that have a content as a part, ascending. With each container,
    /// returns the index of the part in the container's list. Every container is the content of a
    /// file.
    pub fn part_of(&self, content: ContentId) -> Result<Vec<(ContentId, u32)>, ReadError> {
        self.note_content(content);
        let mut places = self.ask(|inner| inner.part_of(content))?;
        if self.is_partial() {
            let mut seen = Vec::new();
            for place in places {
                if self.sees_content(place.0)? {
                    seen.push(place);
                }
            }
            places = seen;
        }
        Ok(places)
    }

    /// Returns the parts that were skipped when a content was taken apart.
    pub fn skipped_parts(&self, content: ContentId) -> Result<Vec<SkippedPart>, ReadError> {
        self.note_content(content);
        if !self.sees_content(content)? {
            return Ok(Vec::new());
        }
        self.ask(|inner| match inner.skipped_parts.get(content.0)? {
            Some(row) => Ok(decode_skipped(row.value())?),
            None => Ok(Vec::new()),
        })
    }

    /// Returns the contents of which parts were skipped, ascending. The result includes contents
    /// that the caller is not allowed to see.
    pub fn contents_with_skipped(&self) -> Result<Vec<ContentId>, ReadError> {
        self.note_outside();
        self.ask(|inner| {
            let rows = inner.skipped_parts.range::<u32>(..)?;
            rows.map(|row| Ok(ContentId(row?.0.value()))).collect()
        })
    }

    /// Returns the record with this name.
    pub fn record(&self, name: &str) -> Result<Option<Vec<u8>>, ReadError> {
        self.note_outside();
        if self.is_partial() {
            return Ok(None);
        }
        self.ask(|inner| Ok(inner.records.get(name)?.map(|value| value.value().to_vec())))
    }

    /// Returns all records whose names begin with `prefix`, sorted by the bytes of their names.
    pub fn records(&self, prefix: &str) -> Result<Vec<(String, Vec<u8>)>, ReadError> {
        self.note_outside();
        if self.is_partial() {
            return Ok(Vec::new());
        }
        self.ask(|inner| {
            let mut records = Vec::new();
            for row in inner.records.range(prefix..)? {
                let (name, value) = row?;
                if !name.value().starts_with(prefix) {
                    break;
                }
                records.push((name.value().to_owned(), value.value().to_vec()));
            }
            Ok(records)
        })
    }

    /// Returns totals of the whole index. In a restricted snapshot, all of them are 0.
    pub fn totals(&self) -> Result<Totals, ReadError> {
        self.note_outside();
        if self.is_partial() {
            return Ok(Totals::default());
        }
        self.ask(|inner| {
            Ok(Totals {
                index_bytes: inner.place.bytes()?,
                contents: inner.contents.len()?,
                chunks: inner.counters.chunks,
                fingerprints: inner.counters.fingerprints,
                files: inner.files.len()?,
                file_bytes: inner.sets.file_sums.bytes,
                unreadable_files: inner.sets.file_sums.unreadable,
                skipped_files: inner.sets.file_sums.skipped,
                small_files: inner.sets.file_sums.small,
                boilerplate: inner.sets.boilerplate.len() as u64,
                parts: inner.parts.len()?,
                skipped: inner.skipped_parts.len()?,
            })
        })
    }

    /// Returns whether a key is boilerplate, that is, whether the number of live contents that have
    /// it is above the limit. The answer is exact with one exception. If a batch has more than
    /// 200,000 postings, they are counted only in the next small batch or in
    /// [`crate::Index::finish_bulk`].
    pub fn is_boilerplate(&self, kind: PostingKind, key: u64) -> Result<bool, ReadError> {
        let is = self.inner.sets.boilerplate.of(kind).contains_key(&key);
        if self.is_partial() && (is || self.inner.counters.uncounted) {
            return Ok(self.seen_count(kind, key)? > self.inner.boilerplate_limit);
        }
        Ok(is)
    }

    /// Returns the number of live contents that have a boilerplate key. Returns `None` if the key
    /// is not boilerplate.
    pub fn boilerplate_count(&self, kind: PostingKind, key: u64) -> Option<u32> {
        self.note_list(kind, key, &[]);
        if self.is_partial() {
            // If the access check fails, the next query fails, too. Until then, the key is treated
            // as boilerplate.
            return match self.is_boilerplate(kind, key) {
                Ok(false) => None,
                Ok(true) => self.seen_count(kind, key).ok().or(Some(u32::MAX)),
                Err(_) => Some(u32::MAX),
            };
        }
        let of_kind = self.inner.sets.boilerplate.of(kind);
        of_kind.get(&key).copied()
    }

    /// Returns all boilerplate keys of a kind, each with the number of live contents that have it.
    pub fn boilerplate(&self, kind: PostingKind) -> Vec<(u64, u32)> {
        self.note_outside();
        if self.is_partial() {
            return Vec::new();
        }
        let mut keys: Vec<_> = self
            .inner
            .sets
            .boilerplate
            .of(kind)
            .iter()
            .map(|(&key, &count)| (key, count))
            .collect();
        keys.sort_unstable();
        keys
    }

    /// Returns the number of contents above which a key is boilerplate.
    pub fn boilerplate_limit(&self) -> u32 {
        self.inner.boilerplate_limit
    }

    /// Returns the parameters with which all contents were digested.
    pub fn params(&self) -> &Params {
        &self.inner.params
    }
}

impl Inner {
    pub(super) fn files_of(&self, content: ContentId) -> Result<Vec<FileId>, Fault> {
        let range = self
            .content_files
            .range((content.0, 0)..=(content.0, u32::MAX))?;
        range.map(|row| Ok(FileId(row?.0.value().1))).collect()
    }

    pub(super) fn part_of(&self, content: ContentId) -> Result<Vec<(ContentId, u32)>, Fault> {
        let range = (content.0, 0, 0)..=(content.0, u32::MAX, u32::MAX);
        let rows = self.part_of.range(range)?;
        rows.map(|row| {
            let (_, container, number) = row?.0.value();
            Ok((ContentId(container), number))
        })
        .collect()
    }

    pub(crate) fn stored_file(&self, file: FileId) -> Result<Option<StoredFile>, Fault> {
        Ok(self
            .files
            .get(file.0)?
            .map(|row| StoredFile::decode(row.value()))
            .transpose()?)
    }

    pub(crate) fn file(&self, file: FileId) -> Result<Option<FileRow>, Fault> {
        let Some(row) = self.stored_file(file)? else {
            return Ok(None);
        };
        let stat = FileStat {
            fs: self.sets.file_systems.id(row.fs)?.clone(),
            ino: row.ino,
            size: row.size,
            mtime: row.mtime,
            ctime: row.ctime,
            nlink: row.nlink,
        };
        Ok(Some(FileRow {
            id: file,
            stat,
            state: row.state,
        }))
    }

    pub(crate) fn content(&self, content: ContentId) -> Result<Option<StoredContent>, Fault> {
        let row = self.contents.get(content.0)?;
        Ok(row
            .map(|row| StoredContent::decode(row.value()))
            .transpose()?)
    }
}

/// Returns the key of a content's digest in the table `digests`: its first four bytes.
pub(crate) fn digest_prefix(digest: &ContentDigest) -> u32 {
    let b = &digest.0;
    u32::from_be_bytes([b[0], b[1], b[2], b[3]])
}
