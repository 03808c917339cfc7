//! The bytes of a portable catalogue.
//!
//! ```text
//! file     "resemble catalogue\n" │ varint version │ record* │ digest of everything before, 32 B
//! record   kind u8 │ varint length │ body
//!
//! 1 head     text params │ text label │ signed varint created
//!            │ flags: 1 names, 2 texts, 4 thinned, 8 signed
//!            │ if thinned, varint maximum number of fingerprints of a content
//!            │ if signed, text id of a published method and its parameters
//! 2 content  digest 32 B │ varint size │ kind·2 + words u8 │ words 16 B or none
//!            │ packed pieces (`resemble_index::packed`)
//! 3 look     varint content │ 0 plain, 1 taken apart, 2 taken apart with a date
//!            │ unless plain: varint n │ n × part │ varint n │ n × (text path │ text reason)
//!            │ if 2, the stated date: signed varint seconds │ where it is stated u8
//!            part: role u8 │ varint parent + 1 │ varint content + 1 │ text name
//! 4 entry    varint shared │ text rest of the path │ what
//!            what: 0 directory
//!                  1 file     varint file │ signed varint mtime │ varint content
//!                  2 link     text target
//!                  3 special  u8
//!                  4 unreadable file  varint file │ varint size │ signed varint errno
//!                  5 file left out    varint file │ varint size │ text reason
//! 6 signed   varint content │ its signature by that method
//! 5 end      varint contents │ varint files │ varint bytes │ varint files without a content
//! ```
//!
//! Only earlier versions of the program wrote signed records (kind 6): see [`SIGNED`].
//!
//! Numbers are little-endian varints, and each text has its length in front, as the crate postcard
//! writes them. Contents and files are numbered from 0 in the order of their records. The record of
//! a content precedes all records that refer to it. Names with the same file number are hard links.
//! The first `shared` bytes of a path equal the first bytes of the previous entry's path.

use resemble_core::date::DocumentDate;
use resemble_core::{ByteLen, ContentDigest, ContentKind, Digest, Params, WordsDigest};
use resemble_index::varint::{Reader, put, put_date, put_value};
use resemble_index::{PartRole, SkippedPart, SpecialKind, packed};
use serde::{Deserialize, Serialize};

use super::{Details, Head, Samples, Totals};

/// The first bytes of every catalogue.
pub(super) const MAGIC: &[u8; 19] = b"resemble catalogue\n";

/// The kind of a record that holds the signature of a content by a published method. This program
/// skips such records. Earlier versions wrote them, and named the method in the head.
pub(super) const SIGNED: u8 = 6;

/// The number of bytes of the digest at the end.
pub(super) const CHECKSUM: usize = 32;

/// The maximum length of a path in bytes. No operating system opens a longer path.
const LONGEST_PATH: usize = 1 << 16;

/// The maximum depth of nested directories.
const DEEPEST: usize = 1 << 12;

/// The maximum number of bytes of all files together, so that sums do not overflow.
pub(super) const MOST_BYTES: u64 = 1 << 60;

/// A part of a content.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// The role of the part.
    pub role: PartRole,
    /// The index of the part that contains this part. `None` if the content itself contains this
    /// part.
    #[serde(with = "one_more")]
    pub parent: Option<u32>,
    /// The number of the part's content in the catalogue, if the part has a content.
    #[serde(with = "one_more")]
    pub content: Option<u32>,
    /// The name of the part. It is empty if the part has no name.
    pub name: Vec<u8>,
}

/// The result of taking a content apart: its parts, the parts that were skipped, and the date that
/// a document states.
pub type Apart = (Vec<Part>, Vec<SkippedPart>, Option<DocumentDate>);

/// The entry that a name refers to. Two names whose files have the same number are hard links.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum EntryKind {
    /// A directory.
    Dir,
    /// A file that was read.
    File {
        /// The number of the file.
        file: u32,
        /// The modification time in seconds since 1970.
        mtime: i64,
        /// The number of the file's content.
        content: u32,
    },
    /// A symbolic link, and its target.
    Symlink(Vec<u8>),
    /// A device, a pipe or a socket.
    Special(SpecialKind),
    /// A file that could not be read.
    Unreadable {
        /// The number of the file.
        file: u32,
        /// The size in bytes.
        size: u64,
        /// The error.
        errno: i32,
    },
    /// A file that the index left out.
    Skipped {
        /// The number of the file.
        file: u32,
        /// The size in bytes.
        size: u64,
        /// The reason.
        reason: String,
    },
}

/// A content in the packed form of its record. It is unpacked only on demand, because nearly all
/// contents are the same in the catalogues of two consecutive nights.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PackedContent {
    body: Vec<u8>,
    content: ContentDigest,
    size: ByteLen,
    is_whole: bool,
}

impl PackedContent {
    /// Packs a content.
    pub fn pack(digest: &Digest) -> Self {
        let mut body = digest.content.0.to_vec();
        put(&mut body, digest.size.0);
        body.push(digest.kind.number() << 1 | u8::from(digest.words.is_some()));
        if let Some(words) = &digest.words {
            body.extend_from_slice(&words.0);
        }
        packed::pack(&digest.chunks, &digest.signature, &mut body);
        Self {
            body,
            content: digest.content,
            size: digest.size,
            is_whole: digest.chunks.total_len() == digest.size,
        }
    }

    /// Reads the body of a record. Returns `None` if its head is invalid. The packed chunks and
    /// samples are not checked here.
    pub(super) fn of_body(body: Vec<u8>) -> Option<Self> {
        let head = ContentHead::read(&mut Reader(&body))?;
        Some(Self {
            content: head.content,
            size: head.size,
            is_whole: head.size.0 == 0 || packed::has_chunks(head.pieces)?,
            body,
        })
    }

    /// Returns the body of the record of the content.
    pub(super) fn body(&self) -> &[u8] {
        &self.body
    }

    /// Returns the digest of the content.
    pub const fn digest(&self) -> &ContentDigest {
        &self.content
    }

    /// Returns the size of the content.
    pub const fn size(&self) -> ByteLen {
        self.size
    }

    /// Returns whether the content has all its chunks. Every content of a file has them. A content
    /// that joins the samples of several files has no chunks.
    pub const fn is_whole(&self) -> bool {
        self.is_whole
    }

    /// Unpacks a content that was digested with `params`. Returns `None` if the content is invalid.
    pub fn unpack(&self, params: &Params) -> Option<Digest> {
        unpacked(&ContentHead::read(&mut Reader(&self.body))?, params)
    }
}

/// A record. Contents and files are numbered from 0 in the order of their records. A content
/// precedes the records that refer to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CatalogueRecord {
    /// The head of the catalogue.
    Head(Head),
    /// The next content.
    Content(PackedContent),
    /// The look of a content: the result of taking it apart.
    Look {
        /// The number of the content.
        content: u32,
        /// `None` if the content is of a kind that cannot be taken apart.
        apart: Option<Apart>,
    },
    /// A name.
    Entry {
        /// The path relative to the tree. It is empty for the tree itself.
        path: Vec<u8>,
        /// The entry that the name refers to.
        what: EntryKind,
    },
    /// The totals. This is the last record.
    End(Totals),
}

/// Encodes an optional number as one number: 0 is `None`, and each number is increased by one.
mod one_more {
    use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

    #[allow(clippy::ref_option, clippy::trivially_copy_pass_by_ref)] // as serde calls it
    pub(super) fn serialize<S: Serializer>(number: &Option<u32>, to: S) -> Result<S::Ok, S::Error> {
        number
            .map_or(0, |number| u64::from(number) + 1)
            .serialize(to)
    }

    pub(super) fn deserialize<'a, D: Deserializer<'a>>(from: D) -> Result<Option<u32>, D::Error> {
        let number = u64::deserialize(from)?.checked_sub(1);
        let number = number.map(u32::try_from).transpose();
        number.map_err(D::Error::custom)
    }
}

/// Encodes records. Keeps the last path, because the next path is written relative to it.
#[derive(Debug, Default)]
pub(super) struct Encoder {
    last: Vec<u8>,
    body: Vec<u8>,
}

impl Encoder {
    /// Appends a record to `out`.
    pub(super) fn record(&mut self, record: &CatalogueRecord, out: &mut Vec<u8>) {
        let mut body = std::mem::take(&mut self.body);
        body.clear();
        let kind = match record {
            CatalogueRecord::Head(head) => {
                put_head(&mut body, head);
                1
            }
            CatalogueRecord::Content(content) => {
                body.extend_from_slice(content.body());
                2
            }
            CatalogueRecord::Look { content, apart } => {
                put(&mut body, u64::from(*content));
                let date = apart.as_ref().and_then(|(_, _, date)| *date);
                body.push(u8::from(apart.is_some()) + u8::from(date.is_some()));
                if let Some((parts, skipped, _)) = apart {
                    put_value(&mut body, &(parts, skipped));
                    if let Some(date) = date {
                        put_date(&mut body, date);
                    }
                }
                3
            }
            CatalogueRecord::Entry { path, what } => {
                let both = path.iter().zip(&self.last);
                let shared = both.take_while(|(a, b)| a == b).count();
                put_value(&mut body, &(shared as u64, &path[shared..], what));
                self.last.clone_from(path);
                4
            }
            CatalogueRecord::End(totals) => {
                put_value(&mut body, totals);
                5
            }
        };
        out.push(kind);
        put(out, body.len() as u64);
        out.extend_from_slice(&body);
        self.body = body;
    }
}

pub(super) fn put_head(body: &mut Vec<u8>, head: &Head) {
    let details = &head.details;
    let most = match details.samples {
        Samples::AtMost(most) => Some(most),
        Samples::All | Samples::Within { .. } => None,
    };
    let flags = [details.names, details.text, most.is_some()];
    let flags = flags.iter().rev();
    let flags = flags.fold(0u8, |all, flag| all << 1 | u8::from(*flag));
    put_value(
        body,
        &(&head.params, &details.label, details.created, flags),
    );
    if let Some(most) = most {
        put(body, u64::from(most));
    }
}

/// Decodes records. Keeps the last path, because the next path is stored relative to it.
#[derive(Debug, Default)]
pub(super) struct Decoder {
    last: Vec<u8>,
}

impl Decoder {
    /// Decodes a record from its kind and its body. Returns `None` if the record is invalid.
    pub(super) fn record(&mut self, kind: u8, body: Vec<u8>) -> Option<CatalogueRecord> {
        if kind == 2 {
            return PackedContent::of_body(body).map(CatalogueRecord::Content);
        }
        let mut reader = Reader(&body);
        let record = match kind {
            1 => CatalogueRecord::Head(head(&mut reader)?),
            3 => look(&mut reader)?,
            4 => {
                let (path, what) = self.entry(&mut reader)?;
                CatalogueRecord::Entry { path, what }
            }
            5 => CatalogueRecord::End(reader.value()?),
            _ => return None,
        };
        reader.end(record)
    }

    /// Decodes a path and its entry.
    pub(super) fn entry(&mut self, reader: &mut Reader<'_>) -> Option<(Vec<u8>, EntryKind)> {
        let (shared, rest, what): (u64, &[u8], _) = reader.value()?;
        let shared = usize::try_from(shared).ok()?;
        if shared > self.last.len() {
            return None;
        }
        self.last.truncate(shared);
        self.last.extend_from_slice(rest);
        is_path(&self.last).then(|| (self.last.clone(), what))
    }
}

/// Decodes the head of a catalogue.
pub(super) fn head(reader: &mut Reader<'_>) -> Option<Head> {
    let (params, label, created, flags): (_, String, _, u8) = reader.value()?;
    let samples = if flags & 4 == 4 {
        Samples::AtMost(reader.u32()?)
    } else {
        Samples::All
    };
    if flags & 8 == 8 {
        let _method: String = reader.value()?;
    }
    let is_known = flags < 16 && resemble_proto::catalogued::is_label(&label);
    is_known.then_some(Head {
        params,
        details: Details {
            label,
            created,
            names: flags & 1 == 1,
            text: flags & 2 == 2,
            samples,
        },
    })
}

/// Returns whether a path is valid and stays inside the tree. The empty path is valid. Any other
/// path must consist of names joined by slashes. No name may be empty, `.` or `..`, or have a zero
/// byte. The length and the depth are limited.
fn is_path(path: &[u8]) -> bool {
    if path.is_empty() {
        return true;
    }
    let is_name = |name: &[u8]| !matches!(name, b"" | b"." | b"..");
    path.len() <= LONGEST_PATH
        && !path.contains(&0)
        && path.split(|byte| *byte == b'/').count() <= DEEPEST
        && path.split(|byte| *byte == b'/').all(is_name)
}

pub(super) fn look(reader: &mut Reader<'_>) -> Option<CatalogueRecord> {
    let content = reader.u32()?;
    let apart = match reader.byte()? {
        0 => None,
        kind @ (1 | 2) => {
            let (parts, skipped): (Vec<Part>, _) = reader.value()?;
            // A part is listed after the part that contains it.
            let is_before = |(at, part): (u32, &Part)| part.parent.is_none_or(|parent| parent < at);
            if !(0..).zip(&parts).all(is_before) {
                return None;
            }
            let date = if kind == 2 {
                Some(reader.date()?)
            } else {
                None
            };
            Some((parts, skipped, date))
        }
        _ => return None,
    };
    Some(CatalogueRecord::Look { content, apart })
}

/// The record of a content, with its chunks and samples still packed.
struct ContentHead<'a> {
    content: ContentDigest,
    size: ByteLen,
    kind: ContentKind,
    words: Option<WordsDigest>,
    /// The chunks and the samples, packed as in [`packed`].
    pieces: &'a [u8],
}

impl<'a> ContentHead<'a> {
    fn read(reader: &mut Reader<'a>) -> Option<Self> {
        let content = ContentDigest(reader.array()?);
        let size = reader.u64()?;
        let packed_kind = reader.byte()?;
        let kind = ContentKind::of_number(packed_kind >> 1)?;
        let words = match packed_kind & 1 {
            0 => None,
            _ if kind == ContentKind::Text => Some(WordsDigest(reader.array()?)),
            _ => return None,
        };
        if size > MOST_BYTES || (kind == ContentKind::Empty) != (size == 0) {
            return None;
        }
        Some(Self {
            content,
            size: ByteLen(size),
            kind,
            words,
            pieces: reader.rest(),
        })
    }
}

fn unpacked(head: &ContentHead<'_>, params: &Params) -> Option<Digest> {
    let (pieces, size) = (head.pieces, head.size.0);
    let most = params.sampling.cap.max(params.shingles.cap);
    packed::claimed(pieces).filter(|&claimed| claimed <= most)?;
    let (chunks, signature) = packed::unpack(pieces)?;
    let mut total = 0u64;
    for run in &chunks.0 {
        if run.len == 0 || run.count == 0 {
            return None;
        }
        total = u64::from(run.len)
            .checked_mul(run.count)
            .and_then(|bytes| total.checked_add(bytes))
            .filter(|total| *total <= size)?;
    }
    // A content that joins the samples of several files has no chunks. In any other content, the
    // sizes of the chunks must add up to the size of the content.
    if total != size && !chunks.0.is_empty() {
        return None;
    }
    let is_sound = |fingerprint: &resemble_core::Fingerprint| {
        fingerprint.0 >> resemble_core::Fingerprint::BITS == 0
            && fingerprint.level() >= signature.level
    };
    let mut sorted: Vec<u64> = signature.fingerprints.iter().map(|it| it.0).collect();
    sorted.sort_unstable();
    let are_distinct = sorted.windows(2).all(|two| two[0] < two[1]);
    let sound = are_distinct && signature.fingerprints.iter().all(is_sound);
    sound.then_some(Digest {
        content: head.content,
        size: head.size,
        kind: head.kind,
        chunks,
        signature,
        besides: Vec::new(),
        words: head.words,
    })
}
