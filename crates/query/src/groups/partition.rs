//! Stores the contents of each sub-problem in pieces of one file (Forman, Eshghi & Chiocchetti
//! 2005, section 2.5, step 6).
//!
//! The paper writes one file for each sub-problem in a linear pass. But there may be more
//! sub-problems than the number of files that a process can have open. So here all sub-problems
//! share one scratch file. Each has a buffer, and the position of each written buffer is recorded.
//! A record never spans two pieces.

use std::path::Path;

use resemble_core::{ByteLen, ContentId, ContentKind, WordsDigest};
use resemble_index::packed;
use resemble_index::varint::{self, Reader};
use resemble_relate::AskError;
use resemble_relate::nominate::evidence::StoredSketch;
use resemble_relate::sort::scratch::{Extent, Scratch};

/// The contents of all sub-problems, on disk.
#[derive(Debug)]
pub(super) struct Partition {
    scratch: Scratch,
    parts: Vec<PartitionPart>,
    most: usize,
}

#[derive(Clone, Debug, Default)]
struct PartitionPart {
    buffer: Vec<u8>,
    extents: Vec<Extent>,
}

/// The minimum size of a buffer in bytes. A full buffer is written immediately.
const LEAST_PIECE: u64 = 4 << 10;
const MOST_PIECE: u64 = 256 << 10;

impl Partition {
    /// Prepares `parts` sub-problems, whose buffers together take about `room` bytes.
    pub(super) fn new(parts: usize, room: u64, dir: &Path) -> Result<Self, AskError> {
        let most = (room / parts.max(1) as u64).clamp(LEAST_PIECE, MOST_PIECE);
        Ok(Self {
            scratch: Scratch::new(dir)?,
            parts: vec![PartitionPart::default(); parts],
            most: most as usize,
        })
    }

    /// Adds a content to a sub-problem.
    pub(super) fn push(
        &mut self,
        part: usize,
        place: u32,
        kept: &StoredSketch,
    ) -> Result<(), AskError> {
        let mut record = Vec::new();
        encode(place, kept, &mut record);
        let part = &mut self.parts[part];
        if part.buffer.len() + record.len() + 10 > self.most {
            part.flush(&self.scratch)?;
        }
        varint::put(&mut part.buffer, record.len() as u64);
        part.buffer.extend_from_slice(&record);
        Ok(())
    }

    /// Writes the remaining buffers.
    pub(super) fn finish(&mut self) -> Result<(), AskError> {
        for part in &mut self.parts {
            part.flush(&self.scratch)?;
            part.buffer = Vec::new();
        }
        Ok(())
    }

    /// Reads a sub-problem from its beginning.
    pub(super) fn contents(&self, part: usize) -> Contents<'_> {
        Contents {
            scratch: &self.scratch,
            extents: &self.parts[part].extents,
            piece: Vec::new(),
            at: 0,
        }
    }
}

impl PartitionPart {
    fn flush(&mut self, scratch: &Scratch) -> Result<(), AskError> {
        if !self.buffer.is_empty() {
            self.extents.push(scratch.append(&self.buffer)?);
            self.buffer.clear();
        }
        Ok(())
    }
}

/// The contents of a sub-problem in the order in which they were added. A clone continues from the
/// same position.
#[derive(Clone, Debug)]
pub(super) struct Contents<'p> {
    scratch: &'p Scratch,
    extents: &'p [Extent],
    piece: Vec<u8>,
    at: usize,
}

impl Contents<'_> {
    /// Returns the next content and its place; `None` at the end.
    pub(super) fn next(&mut self) -> Result<Option<(u32, StoredSketch)>, AskError> {
        if self.at == self.piece.len() {
            let Some((extent, rest)) = self.extents.split_first() else {
                return Ok(None);
            };
            self.extents = rest;
            self.piece.resize(extent.len as usize, 0);
            self.scratch.read(extent.at, &mut self.piece)?;
            self.at = 0;
        }
        let mut reader = Reader(&self.piece[self.at..]);
        let record = reader
            .u64()
            .and_then(|len| reader.bytes(len as usize))
            .and_then(decode);
        self.at = self.piece.len() - reader.0.len();
        // Decoding fails only if another process has changed the scratch file. The file has no
        // name, so this is unlikely.
        record.map(Some).ok_or_else(|| self.scratch.damaged())
    }
}

fn encode(place: u32, kept: &StoredSketch, out: &mut Vec<u8>) {
    varint::put(out, u64::from(place));
    varint::put(out, u64::from(kept.id.0));
    varint::put(out, kept.whole.0);
    varint::put(out, kept.size.0);
    out.push(kept.kind.number() << 1 | u8::from(kept.words.is_some()));
    if let Some(words) = &kept.words {
        out.extend_from_slice(&words.0);
    }
    packed::pack(&kept.chunks, &kept.signature, out);
}

fn decode(record: &[u8]) -> Option<(u32, StoredSketch)> {
    let mut reader = Reader(record);
    let place = reader.u32()?;
    let id = ContentId(reader.u32()?);
    let (whole, size) = (ByteLen(reader.u64()?), ByteLen(reader.u64()?));
    let kind = reader.byte()?;
    let words = match kind & 1 {
        0 => None,
        _ => Some(WordsDigest(reader.bytes(16)?.try_into().ok()?)),
    };
    let kind = ContentKind::of_number(kind >> 1)?;
    let (chunks, signature) = packed::unpack(reader.0)?;
    let kept = StoredSketch {
        id,
        whole,
        size,
        kind,
        chunks,
        signature,
        words,
        of_leader: None,
    };
    Some((place, kept))
}

#[cfg(test)]
mod tests {
    use resemble_core::{ChunkHash, ChunkList, ChunkRun, Fingerprint, Repeats, Signature};

    use super::*;

    fn content(n: u32) -> StoredSketch {
        let run = |i: u32| ChunkRun {
            hash: ChunkHash([(n + i) as u8; 16]),
            len: 460 + i,
            count: u64::from(1 + i % 3),
            constant: i.is_multiple_of(5),
        };
        StoredSketch {
            id: ContentId(7 * n),
            whole: ByteLen(u64::from(n) << 20),
            size: ByteLen(u64::from(n)),
            kind: ContentKind::Text,
            chunks: ChunkList((0..n % 300).map(run).collect()),
            signature: Signature {
                level: 5,
                fingerprints: (0..u64::from(n % 129))
                    .map(|f| Fingerprint(f << 27))
                    .collect(),
                repeats: n.is_multiple_of(2).then_some(Repeats(n as u8)),
            },
            words: n.is_multiple_of(3).then_some(WordsDigest([n as u8; 16])),
            of_leader: None,
        }
    }

    #[test]
    fn each_part_has_its_contents_in_order() {
        let dir = tempfile::tempdir().expect("a folder");
        let mut partition = Partition::new(3, 1, dir.path()).expect("made");
        for n in 0..1000 {
            partition
                .push(n as usize % 3, n, &content(n))
                .expect("pushed");
        }
        partition.finish().expect("finished");
        for part in 0..3 {
            let mut contents = partition.contents(part);
            for n in (part as u32..1000).step_by(3) {
                let (place, kept) = contents.next().expect("read").expect("there");
                assert_eq!(place, n);
                assert_eq!(format!("{kept:?}"), format!("{:?}", content(n)));
            }
            assert!(contents.next().expect("read").is_none());
        }
    }
}
