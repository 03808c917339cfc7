//! Encodes the stored data of a content as one string of bytes, which is stored outside the tables.
//!
//! The bytes begin with the length of the encoded chunk list. The parts of that list follow. Then
//! follow the parts of the signature, each after its length. All parts are encoded as in the tables
//! (`docs/index-format.md`). The bytes do not state the parameters of the digest. A reader must
//! know these parameters.

use std::convert::Infallible;

use resemble_core::{ChunkList, Signature};

use crate::codec::lists::{
    PartHead, decode_chunks, decode_signature, each_fingerprint, encode_chunks, encode_signature,
    run,
};
use crate::codec::varint::{Reader, put};

/// Appends a chunk list and a signature to `out`.
pub fn pack(chunks: &ChunkList, signature: &Signature, out: &mut Vec<u8>) {
    let mut list = Vec::with_capacity(chunks.0.len() * 18);
    let done: Result<(), Infallible> = encode_chunks(chunks, |part| {
        list.extend_from_slice(part);
        Ok(())
    });
    let Ok(()) = done;
    put(out, list.len() as u64);
    out.extend_from_slice(&list);
    let done: Result<(), Infallible> = encode_signature(signature, |part| {
        put(out, part.len() as u64);
        out.extend_from_slice(part);
        Ok(())
    });
    let Ok(()) = done;
}

/// Decodes bytes that [`pack`] made. Returns `None` if they are invalid.
pub fn unpack(bytes: &[u8]) -> Option<(ChunkList, Signature)> {
    let mut reader = Reader(bytes);
    let length = usize::try_from(reader.u64()?).ok()?;
    let mut chunks = ChunkList::default();
    decode_chunks(reader.bytes(length)?, &mut chunks).ok()?;
    let mut signature = Signature::default();
    while !reader.0.is_empty() {
        let length = usize::try_from(reader.u64()?).ok()?;
        decode_signature(reader.bytes(length)?, &mut signature).ok()?;
    }
    Some((chunks, signature))
}

/// Returns whether the bytes contain any chunks. Returns `None` if they do not begin with a length.
pub fn has_chunks(bytes: &[u8]) -> Option<bool> {
    Some(Reader(bytes).u64()? > 0)
}

/// Returns the number of fingerprints that the bytes state. This number can be false, because a few
/// bytes can state any number of fields if each field has zero bits. Returns `None` if the bytes
/// are invalid.
pub fn claimed(bytes: &[u8]) -> Option<u32> {
    let mut reader = Reader(bytes);
    let length = usize::try_from(reader.u64()?).ok()?;
    reader.bytes(length)?;
    let mut all = 0u32;
    while !reader.0.is_empty() {
        let length = usize::try_from(reader.u64()?).ok()?;
        let head = PartHead::read(&mut Reader(reader.bytes(length)?))?;
        all = all.checked_add(u32::from(head.count))?;
    }
    Some(all)
}

/// Calls `key` with the posting key of every chunk that is evidence, including repeated ones. Then
/// calls `fingerprint` with every fingerprint. Does not build a list. Returns `None` if the bytes
/// are invalid. The caller must then ignore the calls that were made.
pub fn evidence(
    bytes: &[u8],
    mut key: impl FnMut(u64),
    mut fingerprint: impl FnMut(u64),
) -> Option<()> {
    let mut reader = Reader(bytes);
    let length = usize::try_from(reader.u64()?).ok()?;
    let mut chunks = Reader(reader.bytes(length)?);
    while !chunks.0.is_empty() {
        let run = run(&mut chunks)?;
        if run.is_evidence() {
            key(run.hash.posting_key());
        }
    }
    while !reader.0.is_empty() {
        let length = usize::try_from(reader.u64()?).ok()?;
        each_fingerprint(reader.bytes(length)?, |f| fingerprint(f.0)).ok()?;
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use resemble_core::{Digest, Params};

    proptest! {
        #[test]
        fn what_was_packed_comes_back(bytes in prop::collection::vec(any::<u8>(), 0..20_000)) {
            let digest = Digest::of(&bytes, &Params::default());
            let mut out = Vec::new();
            pack(&digest.chunks, &digest.signature, &mut out);
            let (mut keys, mut fingerprints) = (Vec::new(), Vec::new());
            let told = evidence(&out, |key| keys.push(key), |f| fingerprints.push(f));
            prop_assert_eq!(told, Some(()));
            let runs = digest.chunks.0.iter().filter(|run| run.is_evidence());
            prop_assert_eq!(keys, runs.map(|run| run.hash.posting_key()).collect::<Vec<_>>());
            let all = digest.signature.fingerprints.iter().map(|f| f.0);
            prop_assert_eq!(fingerprints, all.collect::<Vec<_>>());
            prop_assert_eq!(has_chunks(&out), Some(!bytes.is_empty()));
            prop_assert_eq!(claimed(&out), u32::try_from(digest.signature.fingerprints.len()).ok());
            prop_assert_eq!(unpack(&out), Some((digest.chunks, digest.signature)));
        }

        #[test]
        fn any_bytes_unpack_or_are_refused(bytes: Vec<u8>) {
            let _unpacked = unpack(&bytes);
            let _claimed = claimed(&bytes);
            let _told = has_chunks(&bytes);
            let _told = evidence(&bytes, drop, drop);
        }
    }
}
