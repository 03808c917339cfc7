//! The file format of the arrays.
//!
//! ```text
//!   0  "resemble arrays\n"
//!  16  version u32
//!  20  n u8 │ bytes of an id u8 │ bytes of an offset u8 │ 0
//!  24  from u64 │ to u64            the values that this part has: from ≤ v < to
//!  40  documents u64 │ entries u64
//!  56  digests, 32 B each: of the documents, of the offsets, of the ids
//! 152  length u16 │ params id, then zeros
//! 480  digest of the 480 bytes before
//! 512  documents × ( key u32 │ chunks u32 )        keys ascend
//!      (to - from + 1) × offset                    counted in ids
//!      entries × id
//! ```
//!
//! All numbers are little endian. They are not aligned, so they are put together from bytes.
//! Processors do this in one instruction.
//!
//! **No file is trusted.** [`Arrays::of`] checks the header, its digest and the length of the file.
//! Then no array extends beyond the end of the file. An impossible offset or id is reported as
//! [`ArrayError::Damaged`] when it is read. Before every merge, [`Arrays::verify`] checks the
//! digests of the arrays, for which it reads all arrays.

use thiserror::Error;

/// The first bytes of every file.
pub const MAGIC: &[u8; 16] = b"resemble arrays\n";

/// The version of the format. No other version is read.
pub const VERSION: u32 = 1;

/// The size of the header, in bytes.
pub const HEADER: usize = 512;

/// The offset of the header's digest.
const DIGEST_AT: usize = HEADER - 32;

/// The offset of the params id.
const PARAMS_AT: usize = 154;

/// The size in bytes of an entry in the table of documents.
pub const DOCUMENT: usize = 8;

/// The reasons why bytes cannot be used as arrays.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ArrayError {
    /// The bytes do not begin with [`MAGIC`].
    #[error("they are not arrays of this program; remove the file, and it is made again")]
    Foreign,
    /// The file was written by another version of this program.
    #[error(
        "they are of version {0}, this program knows version {VERSION}; remove the file, and \
         it is made again"
    )]
    Version(u32),
    /// The length of the file differs from the length in its header.
    #[error("the file has {found} bytes instead of {expected}; remove it, and it is made again")]
    Length {
        /// The length according to the header.
        expected: u64,
        /// The length of the file.
        found: u64,
    },
    /// A value in the arrays is impossible, or a digest does not match.
    #[error("they are damaged ({0}); remove the file, and it is made again")]
    Damaged(&'static str),
    /// The parts do not belong together.
    #[error("the parts do not belong together ({0}); remove the files, and they are made again")]
    Parts(&'static str),
    /// A number does not fit into the format, such as the length of the params id.
    #[error("there are too many {0} for arrays of this format")]
    TooMany(&'static str),
}

/// The header of a part.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// The params id of the signatures.
    pub params: String,
    /// The number n of the method. Values are less than 2^n.
    pub bits: u8,
    /// The size of an id, 1 to 4 bytes.
    pub id_width: u8,
    /// The size of an offset, 4 or 8 bytes.
    pub offset_width: u8,
    /// The first value of the part.
    pub from: u64,
    /// The end of the range of values. This value is not in the part.
    pub to: u64,
    /// The number of documents.
    pub documents: u64,
    /// The number of ids in all lists of the part.
    pub entries: u64,
    /// The BLAKE3 digests of the documents, the offsets and the ids.
    pub digests: [[u8; 32]; 3],
}

/// Returns the number of bytes that a number below `count` needs.
pub const fn id_width(count: u64) -> u8 {
    match count {
        0..=0x100 => 1,
        0x101..=0x1_0000 => 2,
        0x1_0001..=0x100_0000 => 3,
        _ => 4,
    }
}

/// Returns the number of bytes for offsets up to `most`: four, as in the paper, or eight.
pub const fn offset_width(most: u64) -> u8 {
    if most <= u32::MAX as u64 { 4 } else { 8 }
}

impl Header {
    /// Returns the bytes of the header.
    ///
    /// # Errors
    ///
    /// Fails if the params id is too long.
    pub fn encode(&self) -> Result<[u8; HEADER], ArrayError> {
        let mut out = Vec::with_capacity(HEADER);
        out.extend_from_slice(MAGIC);
        out.extend_from_slice(&VERSION.to_le_bytes());
        out.extend_from_slice(&[self.bits, self.id_width, self.offset_width, 0]);
        for number in [self.from, self.to, self.documents, self.entries] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for digest in &self.digests {
            out.extend_from_slice(digest);
        }
        let params = self.params.as_bytes();
        if params.len() > DIGEST_AT - PARAMS_AT {
            return Err(ArrayError::TooMany("letters in the params id"));
        }
        out.extend_from_slice(&(params.len() as u16).to_le_bytes());
        out.extend_from_slice(params);
        out.resize(DIGEST_AT, 0);
        let digest = blake3::hash(&out);
        out.extend_from_slice(digest.as_bytes());
        out.try_into()
            .map_err(|_| ArrayError::Damaged("a header of another length"))
    }

    fn decode(bytes: &[u8]) -> Result<Self, ArrayError> {
        let short = ArrayError::Length {
            expected: HEADER as u64,
            found: bytes.len() as u64,
        };
        let head: &[u8; HEADER] = bytes.first_chunk().ok_or(short)?;
        if !head.starts_with(MAGIC) {
            return Err(ArrayError::Foreign);
        }
        let long = |at: usize| number(&head[at..at + 8]);
        let version = number(&head[16..20]) as u32;
        if version != VERSION {
            return Err(ArrayError::Version(version));
        }
        if blake3::hash(&head[..DIGEST_AT]).as_bytes() != &head[DIGEST_AT..] {
            return Err(ArrayError::Damaged("the header is not what was written"));
        }
        let digest = |at: usize| head[at..].first_chunk().copied().unwrap_or_default();
        let length = number(&head[152..154]) as usize;
        let params = head.get(PARAMS_AT..PARAMS_AT + length);
        let params = params.filter(|_| length <= DIGEST_AT - PARAMS_AT);
        let params = params.and_then(|params| std::str::from_utf8(params).ok());
        let header = Self {
            params: params
                .ok_or(ArrayError::Damaged("a params id that cannot be read"))?
                .to_owned(),
            bits: head[20],
            id_width: head[21],
            offset_width: head[22],
            from: long(24),
            to: long(32),
            documents: long(40),
            entries: long(48),
            digests: [digest(56), digest(88), digest(120)],
        };
        let is_sound = (1..=32).contains(&header.bits)
            && (1..=4).contains(&header.id_width)
            && matches!(header.offset_width, 4 | 8)
            && header.from <= header.to
            && header.to <= 1 << header.bits
            && header.documents <= 1 << (8 * u32::from(header.id_width));
        if !is_sound {
            return Err(ArrayError::Damaged("impossible numbers in the header"));
        }
        Ok(header)
    }

    /// Returns the sizes in bytes of the documents, of the offsets and of the ids. Returns `None`
    /// if one of them is too large to compute.
    pub fn lengths(&self) -> Option<[u64; 3]> {
        Some([
            self.documents.checked_mul(DOCUMENT as u64)?,
            (self.to - self.from + 1).checked_mul(u64::from(self.offset_width))?,
            self.entries.checked_mul(u64::from(self.id_width))?,
        ])
    }
}

/// Reads a little-endian number of up to eight bytes.
#[inline]
fn number(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .rev()
        .fold(0, |n, &byte| n << 8 | u64::from(byte))
}

/// The documents of arrays, in the order of their numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Documents<'a>(&'a [[u8; DOCUMENT]]);

impl<'a> Documents<'a> {
    /// Returns the number of documents.
    pub const fn len(self) -> usize {
        self.0.len()
    }

    /// Returns whether there are no documents.
    pub const fn is_empty(self) -> bool {
        self.0.is_empty()
    }

    /// Returns the key and the number of chunks of each document.
    pub fn iter(self) -> impl ExactSizeIterator<Item = (u32, u32)> + 'a {
        let number = |bytes: &[u8]| number(bytes) as u32;
        let documents = self.0.iter();
        documents.map(move |document| (number(&document[..4]), number(&document[4..])))
    }

    /// Returns the bytes of the table in the file.
    pub fn bytes(self) -> &'a [u8] {
        self.0.as_flattened()
    }

    /// Returns the bytes of a document in the table.
    pub fn encode(key: u32, chunks: u32) -> [u8; DOCUMENT] {
        let both = u64::from(chunks) << 32 | u64::from(key);
        both.to_le_bytes()
    }
}

/// A list of the numbers of documents in ascending order.
#[derive(Clone, Copy, Debug)]
pub struct Ids<'a> {
    bytes: &'a [u8],
    width: usize,
}

impl<'a> Ids<'a> {
    /// Returns the numbers in the list.
    #[inline]
    pub fn iter(self) -> impl ExactSizeIterator<Item = u32> + 'a {
        self.bytes
            .chunks_exact(self.width)
            .map(|id| number(id) as u32)
    }

    /// Returns the number of ids.
    pub const fn len(self) -> usize {
        self.bytes.len() / self.width
    }

    /// Returns whether there are no ids.
    pub const fn is_empty(self) -> bool {
        self.bytes.is_empty()
    }
}

/// A part of the arrays. The file of the part is read or mapped.
#[derive(Clone, Debug)]
pub struct Arrays<'a> {
    header: Header,
    documents: Documents<'a>,
    offsets: &'a [u8],
    ids: &'a [u8],
}

impl<'a> Arrays<'a> {
    /// Returns the part in these bytes. Only the header is read.
    pub fn of(bytes: &'a [u8]) -> Result<Self, ArrayError> {
        let header = Header::decode(bytes)?;
        let lengths = header.lengths();
        let sum = lengths
            .and_then(|[a, b, c]| a.checked_add(b)?.checked_add(c)?.checked_add(HEADER as u64));
        let (Some([documents, offsets, _]), Some(expected)) = (lengths, sum) else {
            return Err(ArrayError::Damaged("impossible numbers in the header"));
        };
        let found = bytes.len() as u64;
        if expected != found {
            return Err(ArrayError::Length { expected, found });
        }
        let (documents, rest) = bytes[HEADER..].split_at(documents as usize);
        let (offsets, ids) = rest.split_at(offsets as usize);
        let (documents, _) = documents.as_chunks();
        Ok(Self {
            header,
            documents: Documents(documents),
            offsets,
            ids,
        })
    }

    /// Returns the header of this part.
    pub const fn header(&self) -> &Header {
        &self.header
    }

    /// Returns the documents of the arrays.
    pub const fn documents(&self) -> Documents<'a> {
        self.documents
    }

    /// Checks the digests of the documents, the offsets and the ids. This reads all three arrays.
    pub fn verify(&self) -> Result<(), ArrayError> {
        let arrays = [
            (
                self.documents.bytes(),
                "the documents are not what was written",
            ),
            (self.offsets, "the offsets are not what was written"),
            (self.ids, "the ids are not what was written"),
        ];
        for ((bytes, what), digest) in arrays.into_iter().zip(&self.header.digests) {
            if blake3::hash(bytes).as_bytes() != digest {
                return Err(ArrayError::Damaged(what));
            }
        }
        Ok(())
    }

    /// Returns the offset with this index in this part.
    #[inline]
    fn offset(&self, at: usize) -> Option<u64> {
        if self.header.offset_width == 4 {
            let bytes = self.offsets.get(at * 4..)?.first_chunk()?;
            Some(u32::from_le_bytes(*bytes).into())
        } else {
            let bytes = self.offsets.get(at * 8..)?.first_chunk()?;
            Some(u64::from_le_bytes(*bytes))
        }
    }

    /// Returns all offsets, for the experiment that stores them in less memory.
    pub fn offsets(&self) -> impl Iterator<Item = u64> + '_ {
        (0..).map_while(|at| self.offset(at))
    }

    /// Returns the lists that are not empty, each with its value, in the order of the values.
    pub fn lists(&self) -> impl Iterator<Item = Result<(u64, Ids<'a>), ArrayError>> + '_ {
        let values = self.header.from..self.header.to;
        values.filter_map(|value| match self.list(value) {
            Ok(ids) if ids.is_empty() => None,
            list => Some(list.map(|ids| (value, ids))),
        })
    }

    /// Returns the documents that have this value. The value must be in this part.
    #[inline]
    pub fn list(&self, value: u64) -> Result<Ids<'a>, ArrayError> {
        let damaged = ArrayError::Damaged("an impossible offset");
        let at = value
            .checked_sub(self.header.from)
            .filter(|_| value < self.header.to);
        let at = at.ok_or(ArrayError::Parts("a value of another part"))? as usize;
        let (from, to) = match (self.offset(at), self.offset(at + 1)) {
            (Some(from), Some(to)) if from <= to && to <= self.header.entries => (from, to),
            _ => return Err(damaged),
        };
        let width = usize::from(self.header.id_width);
        let bytes = self.ids.get(from as usize * width..to as usize * width);
        Ok(Ids {
            bytes: bytes.ok_or(damaged)?,
            width,
        })
    }
}
