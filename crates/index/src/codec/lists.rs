//! Encodes chunk lists and signatures in parts. Each part fills a page.
//!
//! ```text
//! chunk list, part:   run*
//!                     run: │ MD5 16 B │ varint len·2 + more │ if more: varint count·2 + constant │
//! signature, part:    │ level u8 │ width + 128·known u8 │ if known: repeats u8 │ varint count │
//!                     count fields of `width` bits, low bits first, zero-padded │
//! ```
//!
//! A chunk takes 18 bytes: 16 for its hash, and two for its length, which is usually between 64 and
//! 8191 bytes. A run of one ordinary chunk has no count, and almost all runs have one chunk. The
//! order of fingerprints is evidence. So fingerprints are not sorted and cannot be stored as
//! differences. But in a signature of level `k`, each fingerprint of 32 bits begins with `k - 3`
//! zero bits. These bits are not stored. Instead, the part states the width of its fields.
//!
//! A part has at most [`PART`] bytes. With its key and redb's offsets, a part of this size fills a
//! page of 4096 bytes. So a list of gigabytes is read and written page by page.

use resemble_core::{ChunkHash, ChunkList, ChunkRun, Fingerprint, Repeats, Signature};

use super::varint::{Reader, put};
use super::{Malformed, bits};

/// The maximum number of bytes of a part. Of the 4096 bytes of a leaf page, the header takes 4. The
/// page has one row, whose key takes 8 bytes and whose offset takes 4. The rest is a small reserve.
pub(crate) const PART: usize = 4072;

/// The maximum number of bytes of a run: a hash and two varints of at most 10 bytes.
const RUN_MAX: usize = 16 + 2 * 10;

/// Returns whether a part of a chunk list or signature is too short to be followed by another part.
/// The encoders fill every part except the last to more than half. Even the shortest of these parts
/// takes half a page: a signature part with the maximum number of one-bit fields.
pub(crate) const fn is_last(part: &[u8]) -> bool {
    part.len() + RUN_MAX <= PART / 2
}

/// Calls `part` with each encoded part of the list, in order. An empty list has no parts.
pub(crate) fn encode_chunks<E>(
    list: &ChunkList,
    mut part: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut out = Vec::with_capacity(PART);
    for run in &list.0 {
        if out.len() + RUN_MAX > PART {
            part(&out)?;
            out.clear();
        }
        out.extend_from_slice(&run.hash.0);
        let more = run.count != 1 || run.constant;
        put(&mut out, u64::from(run.len) << 1 | u64::from(more));
        if more {
            // The count has at most 63 bits, so the shift loses nothing. For a chunk has at least
            // one byte, and a file has fewer than 2^63 bytes.
            put(&mut out, run.count << 1 | u64::from(run.constant));
        }
    }
    if out.is_empty() { Ok(()) } else { part(&out) }
}

/// Decodes one part, and appends its runs to `list`.
pub(crate) fn decode_chunks(part: &[u8], list: &mut ChunkList) -> Result<(), Malformed> {
    let mut reader = Reader(part);
    // A run has at least a hash and one byte. All memory is reserved at once. If the list grew in
    // steps, threads that decode many lists would wait for each other at the allocator.
    list.0
        .reserve_exact(part.len() / (size_of::<ChunkHash>() + 1));
    while !reader.0.is_empty() {
        list.0
            .push(run(&mut reader).ok_or(Malformed("chunk_lists"))?);
    }
    Ok(())
}

/// Decodes one run.
pub(crate) fn run(reader: &mut Reader<'_>) -> Option<ChunkRun> {
    let hash = ChunkHash(reader.array()?);
    let coded = reader.u64()?;
    let len = (coded >> 1).try_into().ok()?;
    let (count, constant) = if coded & 1 == 0 {
        (1, false)
    } else {
        let coded = reader.u64()?;
        (coded >> 1, coded & 1 == 1)
    };
    Some(ChunkRun {
        hash,
        len,
        count,
        constant,
    })
}

/// The number of bytes of a signature part before its fields: level, width, repeats, and a count
/// below 2^14.
const SIGNATURE_HEAD: usize = 5;

/// The bit that is set in the byte of the width if the repeats are known.
const KNOWN: u8 = 0x80;

/// Calls `part` with each encoded part of the signature, in order. A signature without fingerprints
/// and with level 0 has no parts.
pub(crate) fn encode_signature<E>(
    signature: &Signature,
    mut part: impl FnMut(&[u8]) -> Result<(), E>,
) -> Result<(), E> {
    let mut out = Vec::new();
    let mut rest = &signature.fingerprints[..];
    let mut first = true;
    while !rest.is_empty() || (first && signature.level != 0) {
        first = false;
        // All fields have the width of the widest remaining fingerprint. That fingerprint may be in
        // a later part, but the fields of this part are hardly ever wider than necessary.
        let width = rest
            .iter()
            .map(|fingerprint| bits::width(fingerprint.0))
            .max()
            .unwrap_or(0);
        let room = (PART - SIGNATURE_HEAD) * 8;
        let fit = room
            .checked_div(width as usize)
            .unwrap_or(usize::MAX)
            .min((1 << 14) - 1);
        let (now, later) = rest.split_at(fit.min(rest.len()));
        out.clear();
        out.push(signature.level);
        out.push(width as u8 | signature.repeats.map_or(0, |_| KNOWN));
        out.extend(signature.repeats.map(|repeats| repeats.0));
        put(&mut out, now.len() as u64);
        let mut writer = bits::Writer::new(&mut out);
        for fingerprint in now {
            writer.put(fingerprint.0, width);
        }
        writer.finish();
        part(&out)?;
        rest = later;
    }
    Ok(())
}

/// Decodes one part: appends its fingerprints to the signature, and sets the level and repeats.
pub(crate) fn decode_signature(part: &[u8], signature: &mut Signature) -> Result<(), Malformed> {
    let fingerprints = &mut signature.fingerprints;
    // All memory is reserved at once, as in `decode_chunks`.
    let head = PartHead::read(&mut Reader(part)).ok_or(Malformed("signatures"))?;
    fingerprints.reserve_exact(head.count.into());
    let head = each_fingerprint(part, |fingerprint| fingerprints.push(fingerprint))?;
    (signature.level, signature.repeats) = (head.level, head.repeats);
    Ok(())
}

/// The fields at the beginning of a signature part.
pub(crate) struct PartHead {
    level: u8,
    width: u32,
    repeats: Option<Repeats>,
    /// The number of fingerprints in the part.
    pub(crate) count: u16,
}

impl PartHead {
    pub(crate) fn read(reader: &mut Reader<'_>) -> Option<Self> {
        let (level, width) = (reader.byte()?, reader.byte()?);
        let repeats = match width & KNOWN {
            0 => None,
            _ => Some(Repeats(reader.byte()?)),
        };
        Some(Self {
            level,
            width: u32::from(width & !KNOWN),
            repeats,
            count: reader.u16()?,
        })
    }
}

/// Calls `found` with each fingerprint of one part, in order. Returns the head of the part.
pub(crate) fn each_fingerprint(
    part: &[u8],
    found: impl FnMut(Fingerprint),
) -> Result<PartHead, Malformed> {
    let malformed = Malformed("signatures");
    let mut reader = Reader(part);
    let head = PartHead::read(&mut reader).ok_or(malformed)?;
    let (count, width) = (usize::from(head.count), head.width);
    if width > 64 || reader.0.len() != bits::bytes(count * width as usize) {
        return Err(malformed);
    }
    (0..count)
        .map(|field| Fingerprint(bits::get(reader.0, field * width as usize, width)))
        .for_each(found);
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::convert::Infallible;

    fn parts_of_chunks(list: &ChunkList) -> Vec<Vec<u8>> {
        let mut parts = Vec::new();
        let done: Result<(), Infallible> = encode_chunks(list, |part| {
            parts.push(part.to_vec());
            Ok(())
        });
        done.unwrap();
        parts
    }

    fn parts_of_signature(signature: &Signature) -> Vec<Vec<u8>> {
        let mut parts = Vec::new();
        let done: Result<(), Infallible> = encode_signature(signature, |part| {
            parts.push(part.to_vec());
            Ok(())
        });
        done.unwrap();
        parts
    }

    fn runs() -> impl Strategy<Value = ChunkList> {
        let count =
            prop_oneof![8 => Just(1u64), 1 => 1u64..5, 1 => any::<u64>().prop_map(|n| n >> 1)];
        let run = (
            any::<[u8; 16]>(),
            any::<u32>(),
            count,
            prop::bool::weighted(0.1),
        )
            .prop_map(|(hash, len, count, constant)| ChunkRun {
                hash: ChunkHash(hash),
                len,
                count,
                constant,
            });
        prop::collection::vec(run, 0..600).prop_map(ChunkList)
    }

    proptest! {
        #[test]
        fn chunk_lists_come_back(list in runs()) {
            let mut back = ChunkList::default();
            for part in parts_of_chunks(&list) {
                prop_assert!(part.len() <= PART);
                decode_chunks(&part, &mut back).unwrap();
            }
            prop_assert_eq!(back, list);
        }

        #[test]
        fn signatures_come_back(
            level in 0u8..43,
            wide in 0u32..=64,
            values in prop::collection::vec(any::<u64>(), 0..3000),
            repeats in any::<Option<u8>>(),
        ) {
            let mask = if wide == 64 { u64::MAX } else { (1 << wide) - 1 };
            let fingerprints: Vec<_> = values.into_iter().map(|v| Fingerprint(v & mask)).collect();
            // A signature with level 0 and without fingerprints has no parts, so its repeats are
            // not stored.
            let repeats = repeats.filter(|_| level > 0 || !fingerprints.is_empty()).map(Repeats);
            let signature = Signature { level, fingerprints, repeats };
            let mut back = Signature::default();
            for part in parts_of_signature(&signature) {
                prop_assert!(part.len() <= PART, "{}", part.len());
                decode_signature(&part, &mut back).unwrap();
            }
            prop_assert_eq!(back, signature);
        }

        #[test]
        fn any_bytes_decode_or_are_refused(bytes: Vec<u8>) {
            let _list = decode_chunks(&bytes, &mut ChunkList::default());
            let _signature = decode_signature(&bytes, &mut Signature::default());
        }
    }

    #[test]
    fn an_ordinary_chunk_costs_eighteen_bytes() {
        let run = ChunkRun {
            hash: ChunkHash([7; 16]),
            len: 1015,
            count: 1,
            constant: false,
        };
        assert_eq!(parts_of_chunks(&ChunkList(vec![run; 10]))[0].len(), 180);
    }
}
