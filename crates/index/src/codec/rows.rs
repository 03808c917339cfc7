//! The rows of files, contents and names.
//!
//! ```text
//! entries:   │ 0 │ varint dir │   │ 1 │ varint file │   │ 2 │ target … │   │ 3 │ special kind u8 │
//!            │ 4 │ errno, zigzag │   │ 5 │ rule u8 │
//! gaps:      │ failed │ left out, by rule │ … │
//! files:     │ fs │ ino │ size │ mtime s, zigzag │ mtime ns │ ctime s - mtime s, zigzag │
//!            │ ctime ns - mtime ns, zigzag │ nlink │ state │ dir │ name … │
//!            state: │ 0 │ content │  │ 1 │ content │  │ 2 │ errno, zigzag │
//!                   │ 3 │ length │ reason │
//! contents:  │ digest 32 B │ level·4 + kind u8 │ size │ chunk runs │ chunks │ fingerprints │
//!            │ files │ uses │ look │ words 16 B or none │ date or none │
//!            look: parts·32 + date·16 + words·8 + skipped·4 + (0 unseen, 1 plain, 2 apart)
//!            date: │ seconds, zigzag │ source u8 │
//! parts:     │ role u8 │ parent + 1 │ content + 1 │ name … │      0 for no parent, no content
//! skipped_parts: ( │ length │ path │ length │ reason │ )*
//! ```
//! Numbers without a stated width are varints. In `files`, `dir` and `name` are the directory and
//! the name of the file's first hard link.

use resemble_core::date::DocumentDate;
use resemble_core::{ByteLen, ContentDigest, ContentId, ContentKind, DirId, FileId, WordsDigest};

use super::Malformed;
use super::varint::{Reader, put, put_date, put_signed, put_value};
use crate::rows::{
    ContentRow, Entry, FileState, Gap, GapCounts, LeftOutRule, Look, PartRole, PartRow,
    SkippedPart, SpecialKind, Timestamp,
};

/// The number of a file system in this index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FsNumber(pub(crate) u16);

/// A row of the table `files`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct StoredFile {
    pub(crate) fs: FsNumber,
    pub(crate) ino: u64,
    pub(crate) size: ByteLen,
    pub(crate) mtime: Timestamp,
    pub(crate) ctime: Timestamp,
    pub(crate) nlink: u32,
    pub(crate) state: FileState,
    /// The directory of the file's first name.
    pub(crate) dir: DirId,
    /// The file's first name. Any further names are in `further_names`.
    pub(crate) name: Vec<u8>,
}

/// A row of the table `contents`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StoredContent {
    pub(crate) digest: ContentDigest,
    pub(crate) size: ByteLen,
    pub(crate) kind: ContentKind,
    pub(crate) level: u8,
    pub(crate) chunk_runs: u64,
    /// The number of chunks. A repeated chunk is counted each time.
    pub(crate) chunks: u64,
    pub(crate) fingerprints: u32,
    pub(crate) files: u32,
    /// The number of rows in `part_of`.
    pub(crate) uses: u32,
    pub(crate) look: Look,
    /// The number of rows in `parts`.
    pub(crate) parts: u32,
    /// True if the content has a row in `skipped_parts`.
    pub(crate) skipped: bool,
    pub(crate) words: Option<WordsDigest>,
    pub(crate) date: Option<DocumentDate>,
}

impl StoredContent {
    pub(crate) fn into_row(self, id: ContentId) -> ContentRow {
        ContentRow {
            id,
            digest: self.digest,
            size: self.size,
            kind: self.kind,
            level: self.level,
            fingerprints: self.fingerprints,
            chunk_runs: self.chunk_runs,
            files: self.files,
            uses: self.uses,
            look: self.look,
            parts: self.parts,
            skipped: self.skipped,
            words: self.words,
            date: self.date,
        }
    }

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        out.extend_from_slice(&self.digest.0);
        out.push(self.level.min(63) << 2 | self.kind.number());
        put(out, self.size.get());
        put(out, self.chunk_runs);
        put(out, self.chunks);
        put(out, u64::from(self.fingerprints));
        put(out, u64::from(self.files));
        put(out, u64::from(self.uses));
        let flags = u64::from(self.date.is_some()) << 4
            | u64::from(self.words.is_some()) << 3
            | u64::from(self.skipped) << 2;
        put(out, u64::from(self.parts) << 5 | flags | self.look as u64);
        if let Some(words) = &self.words {
            out.extend_from_slice(&words.0);
        }
        if let Some(date) = &self.date {
            put_date(out, *date);
        }
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader(bytes);
        let mut row = || {
            let digest = ContentDigest(reader.array()?);
            let packed = reader.byte()?;
            let mut row = Self {
                digest,
                level: packed >> 2,
                kind: ContentKind::of_number(packed & 3)?,
                size: ByteLen(reader.u64()?),
                chunk_runs: reader.u64()?,
                chunks: reader.u64()?,
                fingerprints: reader.u32()?,
                files: reader.u32()?,
                uses: reader.u32()?,
                look: Look::Unseen,
                parts: 0,
                skipped: false,
                words: None,
                date: None,
            };
            let look = reader.u64()?;
            row.parts = (look >> 5).try_into().ok()?;
            if look & 8 != 0 {
                row.words = Some(WordsDigest(reader.array()?));
            }
            if look & 16 != 0 {
                row.date = Some(reader.date()?);
            }
            row.skipped = look & 4 != 0;
            row.look = Look::from_repr((look & 3) as u8)?;
            reader.end(row)
        };
        row().ok_or(Malformed("contents"))
    }
}

impl StoredFile {
    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        put(out, u64::from(self.fs.0));
        put(out, self.ino);
        put(out, self.size.get());
        put_signed(out, self.mtime.secs);
        put(out, u64::from(self.mtime.nanos));
        put_signed(out, self.ctime.secs.wrapping_sub(self.mtime.secs));
        let nanos = i64::from(self.ctime.nanos) - i64::from(self.mtime.nanos);
        put_signed(out, nanos);
        put(out, u64::from(self.nlink));
        match &self.state {
            FileState::Settled(content) => {
                out.push(0);
                put(out, u64::from(content.0));
            }
            FileState::Unsettled(content) => {
                out.push(1);
                put(out, u64::from(content.0));
            }
            FileState::Unreadable(errno) => {
                out.push(2);
                put_signed(out, i64::from(*errno));
            }
            FileState::Skipped(reason) => {
                out.push(3);
                put(out, reason.len() as u64);
                out.extend_from_slice(reason.as_bytes());
            }
        }
        put(out, u64::from(self.dir.0));
        out.extend_from_slice(&self.name);
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Malformed> {
        let mut reader = Reader(bytes);
        let mut row = || {
            let fs = FsNumber(reader.u16()?);
            let ino = reader.u64()?;
            let size = ByteLen(reader.u64()?);
            let mtime = Timestamp {
                secs: reader.i64()?,
                nanos: reader.u32()?,
            };
            let secs = mtime.secs.wrapping_add(reader.i64()?);
            let nanos = i64::from(mtime.nanos).checked_add(reader.i64()?)?;
            let ctime = Timestamp {
                secs,
                nanos: nanos.try_into().ok()?,
            };
            let nlink = reader.u32()?;
            let state = match reader.byte()? {
                0 => FileState::Settled(ContentId(reader.u32()?)),
                1 => FileState::Unsettled(ContentId(reader.u32()?)),
                2 => FileState::Unreadable(reader.i64()?.try_into().ok()?),
                3 => {
                    let length = reader.u64()?.try_into().ok()?;
                    let reason = std::str::from_utf8(reader.bytes(length)?).ok()?;
                    FileState::Skipped(reason.to_owned())
                }
                _ => return None,
            };
            let dir = DirId(reader.u32()?);
            let name = reader.rest().to_vec();
            Some(Self {
                fs,
                ino,
                size,
                mtime,
                ctime,
                nlink,
                state,
                dir,
                name,
            })
        };
        row().ok_or(Malformed("files"))
    }
}

/// Encodes an entry.
pub(crate) fn encode_entry(entry: &Entry, out: &mut Vec<u8>) {
    out.clear();
    match entry {
        Entry::Dir(dir) => {
            out.push(0);
            put(out, u64::from(dir.0));
        }
        Entry::File(file) => {
            out.push(1);
            put(out, u64::from(file.0));
        }
        Entry::Symlink(target) => {
            out.push(2);
            out.extend_from_slice(target);
        }
        Entry::Special(kind) => {
            out.push(3);
            out.push(*kind as u8);
        }
        Entry::Gap(Gap::Failed(errno)) => {
            out.push(4);
            put_signed(out, i64::from(*errno));
        }
        Entry::Gap(Gap::LeftOut(rule)) => {
            out.push(5);
            out.push(*rule as u8);
        }
    }
}

/// Decodes an entry.
pub(crate) fn decode_entry(bytes: &[u8]) -> Result<Entry, Malformed> {
    let mut reader = Reader(bytes);
    let mut entry = || {
        let entry = match reader.byte()? {
            0 => Entry::Dir(DirId(reader.u32()?)),
            1 => Entry::File(FileId(reader.u32()?)),
            2 => Entry::Symlink(reader.rest().to_vec()),
            3 => Entry::Special(SpecialKind::from_repr(reader.byte()?)?),
            4 => Entry::Gap(Gap::Failed(reader.i64()?.try_into().ok()?)),
            5 => Entry::Gap(Gap::LeftOut(LeftOutRule::from_repr(reader.byte()?)?)),
            _ => return None,
        };
        reader.end(entry)
    };
    entry().ok_or(Malformed("entries"))
}

/// Encodes the gap counts of a directory.
pub(crate) fn encode_gaps(counts: &GapCounts, out: &mut Vec<u8>) {
    out.clear();
    put_value(out, counts);
}

/// Decodes the gap counts of a directory.
pub(crate) fn decode_gaps(bytes: &[u8]) -> Result<GapCounts, Malformed> {
    let mut reader = Reader(bytes);
    let counts = reader.value().and_then(|counts| reader.end(counts));
    counts.ok_or(Malformed("gaps"))
}

/// Encodes a part.
pub(crate) fn encode_part(part: &PartRow, out: &mut Vec<u8>) {
    out.clear();
    out.push(part.role as u8);
    put(out, part.parent.map_or(0, |parent| u64::from(parent) + 1));
    put(
        out,
        part.content.map_or(0, |content| u64::from(content.0) + 1),
    );
    out.extend_from_slice(&part.name);
}

/// Decodes a part.
pub(crate) fn decode_part(bytes: &[u8]) -> Result<PartRow, Malformed> {
    let mut reader = Reader(bytes);
    let mut part = || {
        let role = PartRole::from_repr(reader.byte()?)?;
        let mut number = || {
            let coded = reader.u64()?;
            let number = coded.checked_sub(1).map(u32::try_from).transpose();
            number.ok()
        };
        let (parent, content) = (number()?, number()?.map(ContentId));
        Some(PartRow {
            role,
            parent,
            name: reader.rest().to_vec(),
            content,
        })
    };
    part().ok_or(Malformed("parts"))
}

/// Encodes the parts of a content that were skipped.
pub(crate) fn encode_skipped(skipped: &[SkippedPart], out: &mut Vec<u8>) {
    out.clear();
    for part in skipped {
        put_value(out, part);
    }
}

/// Decodes the parts of a content that were skipped.
pub(crate) fn decode_skipped(bytes: &[u8]) -> Result<Vec<SkippedPart>, Malformed> {
    let mut reader = Reader(bytes);
    let mut all = Vec::new();
    while !reader.0.is_empty() {
        all.push(reader.value().ok_or(Malformed("skipped_parts"))?);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use resemble_core::date::DateSource;

    fn states() -> impl Strategy<Value = FileState> {
        prop_oneof![
            any::<u32>().prop_map(|id| FileState::Settled(ContentId(id))),
            any::<u32>().prop_map(|id| FileState::Unsettled(ContentId(id))),
            any::<i32>().prop_map(FileState::Unreadable),
            ".{0,20}".prop_map(FileState::Skipped),
        ]
    }

    fn entries() -> impl Strategy<Value = Entry> {
        prop_oneof![
            any::<u32>().prop_map(|id| Entry::Dir(DirId(id))),
            any::<u32>().prop_map(|id| Entry::File(FileId(id))),
            any::<Vec<u8>>().prop_map(Entry::Symlink),
            prop::sample::select(vec![
                SpecialKind::Fifo,
                SpecialKind::Socket,
                SpecialKind::Block,
                SpecialKind::Character,
                SpecialKind::Other,
            ])
            .prop_map(Entry::Special),
            any::<i32>().prop_map(|errno| Entry::Gap(Gap::Failed(errno))),
            prop::sample::select(LeftOutRule::ALL.to_vec())
                .prop_map(|rule| Entry::Gap(Gap::LeftOut(rule))),
        ]
    }

    proptest! {
        #[test]
        fn file_rows_come_back(
            (fs, ino, size, nlink) in any::<(u16, u64, u64, u32)>(),
            (m, mn, c, cn) in any::<(i64, u32, i64, u32)>(),
            state in states(),
            (dir, name) in any::<(u32, Vec<u8>)>(),
        ) {
            let row = StoredFile {
                fs: FsNumber(fs),
                ino,
                size: ByteLen(size),
                mtime: Timestamp { secs: m, nanos: mn },
                ctime: Timestamp { secs: c, nanos: cn },
                nlink,
                state,
                dir: DirId(dir),
                name,
            };
            let mut out = Vec::new();
            row.encode(&mut out);
            prop_assert_eq!(StoredFile::decode(&out).unwrap(), row);
        }

        #[test]
        fn content_rows_come_back(
            digest: [u8; 32],
            (size, chunk_runs, chunks) in any::<(u64, u64, u64)>(),
            (fingerprints, files, uses) in any::<(u32, u32, u32)>(),
            (parts, skipped, words) in any::<(u32, bool, Option<[u8; 16]>)>(),
            date in prop::option::of((any::<i64>(), prop::sample::select(&DateSource::ALL[..]))),
            look in prop::sample::select(vec![Look::Unseen, Look::Plain, Look::Apart]),
            level in 0u8..64,
            kind in prop::sample::select(vec![
                ContentKind::Empty, ContentKind::Text, ContentKind::Binary,
            ]),
        ) {
            let row = StoredContent {
                digest: ContentDigest(digest),
                size: ByteLen(size),
                kind, level, chunk_runs, chunks, fingerprints, files, uses, look, parts, skipped,
                words: words.map(WordsDigest),
                date: date.map(|(seconds, source)| DocumentDate { seconds, source }),
            };
            let mut out = Vec::new();
            row.encode(&mut out);
            prop_assert_eq!(StoredContent::decode(&out).unwrap(), row);
        }

        #[test]
        fn entries_come_back(entry in entries()) {
            let mut out = Vec::new();
            encode_entry(&entry, &mut out);
            prop_assert_eq!(decode_entry(&out).unwrap(), entry);
        }

        #[test]
        fn parts_come_back(
            role in 0u8..5,
            parent in prop::option::of(any::<u32>()),
            name: Vec<u8>,
            content in prop::option::of(any::<u32>()),
        ) {
            let part = PartRow {
                role: PartRole::from_repr(role).unwrap(),
                parent,
                name,
                content: content.map(ContentId),
            };
            let mut out = Vec::new();
            encode_part(&part, &mut out);
            prop_assert_eq!(decode_part(&out).unwrap(), part);
        }

        #[test]
        fn what_was_skipped_comes_back(skipped: Vec<(Vec<u8>, String)>) {
            let skipped: Vec<SkippedPart> = skipped
                .into_iter()
                .map(|(path, reason)| SkippedPart { path, reason })
                .collect();
            let mut out = Vec::new();
            encode_skipped(&skipped, &mut out);
            prop_assert_eq!(decode_skipped(&out).unwrap(), skipped);
        }

        #[test]
        fn any_bytes_decode_or_are_refused(bytes: Vec<u8>) {
            let _part = decode_part(&bytes);
            let _skipped = decode_skipped(&bytes);
            let _entry = decode_entry(&bytes);
            let _file = StoredFile::decode(&bytes);
            let _content = StoredContent::decode(&bytes);
        }
    }
}
