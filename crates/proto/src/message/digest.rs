//! Converts a digest and its parameters to their form on the wire, and back.
//!
//! Standard input can have gigabytes, so a digest may have millions of chunks. Runs of chunks and
//! fingerprints are packed as little-endian records of fixed width, in base64. A run has about 40
//! characters. The decoder accepts any text and validates it. Its results satisfy the invariants of
//! [`resemble_core::Digest`]: the lengths add up to the size, and the fingerprints are distinct and
//! have the stated level. So no question needs to check them again.

use std::collections::HashSet;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use resemble_core::ids::unhex;
use resemble_core::params::{ChunkParams, SamplingParams};
use resemble_core::{
    ByteLen, ChunkHash, ChunkList, ChunkRun, ContentDigest, ContentKind, Digest, Fingerprint,
    Params, Repeats, Signature, WordsDigest,
};
use serde::{Deserialize, Serialize};

/// The number of bytes of a run on the wire: hash, length, count, and one byte of flags.
const RUN: usize = 16 + 4 + 8 + 1;
/// The number of bytes of a fingerprint on the wire. A fingerprint has 32 bits.
const FINGERPRINT: usize = 4;
/// The flag of a run whose chunk consists of equal bytes.
const CONSTANT: u8 = 1;

/// [`Params`] on the wire: the numbers with which a digest is computed, and the id of all
/// parameters.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireParams {
    /// The text form of [`Params`].
    pub id: String,
    /// The parameters of chunking by TTTD: Tmin, Tmax, D and D'.
    pub chunk: [u32; 4],
    /// The parameters of sampling windows: the minimum level, the maximum number of fingerprints of
    /// a file at that level, and the maximum number at any level.
    pub windows: (u8, u32, u32),
    /// The same parameters for the word shingles that are stored.
    pub shingles: (u8, u32, u32),
    /// The same parameters for the word shingles by which texts are found.
    pub posted: (u8, u32, u32),
}

fn of_sampling(sampling: SamplingParams) -> (u8, u32, u32) {
    (sampling.least_level, sampling.few, sampling.cap)
}

fn sampling((least_level, few, cap): (u8, u32, u32)) -> SamplingParams {
    SamplingParams {
        least_level,
        few,
        cap,
    }
}

impl From<&Params> for WireParams {
    fn from(params: &Params) -> Self {
        let ChunkParams {
            min,
            max,
            main_divisor,
            backup_divisor,
        } = params.chunk;
        Self {
            id: params.to_string(),
            chunk: [min, max, main_divisor, backup_divisor],
            windows: of_sampling(params.sampling),
            shingles: of_sampling(params.shingles),
            posted: of_sampling(params.posted),
        }
    }
}

/// The other side digests files by rules that this build does not support.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the daemon digests files as `{0}`, which this version of resemble cannot; use the two \
     programs of one version"
)]
pub struct BadParams(pub String);

impl TryFrom<&WireParams> for Params {
    type Error = BadParams;

    fn try_from(wire: &WireParams) -> Result<Self, BadParams> {
        let [min, max, main_divisor, backup_divisor] = wire.chunk;
        let params = Self {
            chunk: ChunkParams {
                min,
                max,
                main_divisor,
                backup_divisor,
            },
            sampling: sampling(wire.windows),
            shingles: sampling(wire.shingles),
            posted: sampling(wire.posted),
        };
        // The id also covers what `wire` does not contain: window, hash tables, formats.
        if params.to_string() == wire.id && main_divisor > 0 && backup_divisor > 0 && min <= max {
            Ok(params)
        } else {
            Err(BadParams(wire.id.clone()))
        }
    }
}

/// [`Digest`] on the wire.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireDigest {
    /// The digest of the content, as 64 hex digits.
    pub content: String,
    /// The size in bytes.
    pub size: u64,
    /// The kind of the content: `empty`, `text`, `data` or `binary`.
    #[serde(with = "WireKind")]
    pub kind: ContentKind,
    /// The runs of chunks in base64. Each has 29 bytes: MD5, length (u32), count (u64), flags.
    pub chunks: String,
    /// The sampling level of the fingerprints.
    pub level: u8,
    /// The fingerprints in base64, 4 bytes each.
    pub fingerprints: String,
    /// The further fingerprints by which the content is found, in base64, 4 bytes each.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub besides: String,
    /// The digest of the words, as 32 hex digits, if the content is a text with enough words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub words: Option<String>,
    /// The share of the shingles of the text that repeat earlier shingles, in 255ths.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u8>,
}

/// [`ContentKind`] on the wire.
#[derive(Serialize, Deserialize)]
#[serde(remote = "ContentKind", rename_all = "kebab-case")]
#[derive(Debug)]
pub enum WireKind {
    /// An empty content: see [`ContentKind::Empty`].
    Empty,
    /// A text: see [`ContentKind::Text`].
    Text,
    /// Data: see [`ContentKind::Data`].
    Data,
    /// A binary: see [`ContentKind::Binary`].
    Binary,
}

/// The reason why a digest on the wire is not valid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BadDigest {
    /// A field is not hexadecimal or has the wrong number of digits. Or a field is not base64, or
    /// its bytes are not a whole number of records.
    #[error("the {0} of the digest are malformed")]
    Malformed(&'static str),
    /// The lengths of the chunks do not add up to the size, or a length or count is zero.
    #[error("the chunks of the digest do not add up to its size")]
    Size,
    /// A fingerprint occurs twice, or has a lower level than the stated level.
    #[error("the fingerprints of the digest do not fit its level")]
    Level,
}

impl From<&Digest> for WireDigest {
    fn from(digest: &Digest) -> Self {
        let mut runs = Vec::with_capacity(digest.chunks.0.len() * RUN);
        for run in &digest.chunks.0 {
            runs.extend_from_slice(&run.hash.0);
            runs.extend_from_slice(&run.len.to_le_bytes());
            runs.extend_from_slice(&run.count.to_le_bytes());
            runs.push(if run.constant { CONSTANT } else { 0 });
        }
        Self {
            content: digest.content.to_string(),
            size: digest.size.get(),
            kind: digest.kind,
            chunks: BASE64.encode(runs),
            level: digest.signature.level,
            fingerprints: packed(&digest.signature.fingerprints),
            besides: packed(&digest.besides),
            repeats: digest.signature.repeats.map(|repeats| repeats.0),
            words: digest.words.map(|words| words.to_string()),
        }
    }
}

impl WireDigest {
    /// Returns the digest of a content that has no chunks, such as the joined members of an
    /// archive. Fails if the digest has chunks or is malformed.
    pub fn sample(&self) -> Result<Digest, BadDigest> {
        if self.chunks.is_empty() {
            self.digest_with(Vec::new())
        } else {
            Err(BadDigest::Size)
        }
    }

    fn digest_with(&self, runs: Vec<ChunkRun>) -> Result<Digest, BadDigest> {
        let wire = self;
        Ok(Digest {
            content: ContentDigest(unhex(&wire.content).ok_or(BadDigest::Malformed("hex digits"))?),
            size: ByteLen(wire.size),
            kind: wire.kind,
            chunks: ChunkList(runs),
            signature: Signature {
                level: wire.level,
                fingerprints: fingerprints(&wire.fingerprints, wire.level)?,
                repeats: wire.repeats.map(Repeats),
            },
            besides: fingerprints(&wire.besides, Fingerprint::BASE_LEVEL)?,
            words: wire
                .words
                .as_ref()
                .map(|words| {
                    Ok(WordsDigest(
                        unhex(words).ok_or(BadDigest::Malformed("words"))?,
                    ))
                })
                .transpose()?,
        })
    }
}

impl TryFrom<&WireDigest> for Digest {
    type Error = BadDigest;

    fn try_from(wire: &WireDigest) -> Result<Self, BadDigest> {
        wire.digest_with(runs(&wire.chunks, wire.size)?)
    }
}

fn runs(text: &str, size: u64) -> Result<Vec<ChunkRun>, BadDigest> {
    let bytes = BASE64
        .decode(text)
        .map_err(|_| BadDigest::Malformed("chunks"))?;
    let (records, rest) = bytes.as_chunks::<RUN>();
    if !rest.is_empty() {
        return Err(BadDigest::Malformed("chunks"));
    }
    let mut left = size;
    let mut runs = Vec::with_capacity(records.len());
    for record in records {
        let mut at = 0;
        let run = ChunkRun {
            hash: ChunkHash(take(record, &mut at)),
            len: u32::from_le_bytes(take(record, &mut at)),
            count: u64::from_le_bytes(take(record, &mut at)),
            constant: record[at] & CONSTANT != 0,
        };
        let bytes = u64::from(run.len)
            .checked_mul(run.count)
            .filter(|bytes| *bytes > 0);
        left = bytes
            .and_then(|bytes| left.checked_sub(bytes))
            .ok_or(BadDigest::Size)?;
        runs.push(run);
    }
    if left == 0 {
        Ok(runs)
    } else {
        Err(BadDigest::Size)
    }
}

fn packed(fingerprints: &[Fingerprint]) -> String {
    let bytes = fingerprints
        .iter()
        .flat_map(|fingerprint| fingerprint.0.to_le_bytes().into_iter().take(FINGERPRINT));
    BASE64.encode(bytes.collect::<Vec<u8>>())
}

fn fingerprints(text: &str, level: u8) -> Result<Vec<Fingerprint>, BadDigest> {
    let bytes = BASE64
        .decode(text)
        .map_err(|_| BadDigest::Malformed("fingerprints"))?;
    let (records, rest) = bytes.as_chunks::<FINGERPRINT>();
    if !rest.is_empty() {
        return Err(BadDigest::Malformed("fingerprints"));
    }
    let mut seen = HashSet::with_capacity(records.len());
    let mut list = Vec::with_capacity(records.len());
    for &record in records {
        let fingerprint = Fingerprint(u64::from(u32::from_le_bytes(record)));
        if fingerprint.level() < level || !seen.insert(fingerprint) {
            return Err(BadDigest::Level);
        }
        list.push(fingerprint);
    }
    Ok(list)
}

/// Returns the next `N` bytes of a record, and moves `at` behind them. All widths are constants of
/// this file, so the index is always in range.
fn take<const N: usize>(record: &[u8; RUN], at: &mut usize) -> [u8; N] {
    let from = *at;
    *at += N;
    std::array::from_fn(|i| record[from + i])
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn digest(runs: Vec<(u8, u32, u64, bool)>, fingerprints: &[u64], level: u8) -> Digest {
        let chunks: Vec<_> = runs
            .into_iter()
            .map(|(byte, len, count, constant)| ChunkRun {
                hash: ChunkHash([byte; 16]),
                len,
                count,
                constant,
            })
            .collect();
        Digest {
            content: ContentDigest([0xab; 32]),
            size: chunks
                .iter()
                .map(|run| ByteLen(u64::from(run.len) * run.count))
                .sum(),
            kind: ContentKind::Binary,
            chunks: ChunkList(chunks),
            signature: Signature {
                level,
                fingerprints: fingerprints.iter().map(|f| Fingerprint(*f)).collect(),
                repeats: Some(Repeats(level)),
            },
            besides: Vec::new(),
            words: None,
        }
    }

    #[test]
    fn a_digest_survives_json() {
        let digest = digest(
            vec![(1, 500, 1, false), (2, 2800, 1 << 30, true)],
            &[7, 9],
            5,
        );
        let json = serde_json::to_string(&WireDigest::from(&digest)).unwrap();
        let wire: WireDigest = serde_json::from_str(&json).unwrap();
        assert_eq!(Digest::try_from(&wire), Ok(digest));
    }

    #[test]
    fn a_lie_is_found() {
        let good = WireDigest::from(&digest(vec![(1, 500, 2, false)], &[7, 9], 5));
        let try_with = |change: &dyn Fn(&mut WireDigest)| {
            let mut wire = good.clone();
            change(&mut wire);
            Digest::try_from(&wire).unwrap_err()
        };
        assert_eq!(try_with(&|w| w.size = 999), BadDigest::Size);
        assert_eq!(try_with(&|w| w.size = 1001), BadDigest::Size);
        assert_eq!(
            try_with(&|w| w.content.push('0')),
            BadDigest::Malformed("hex digits")
        );
        assert_eq!(
            try_with(&|w| w.content = "zz".repeat(32)),
            BadDigest::Malformed("hex digits")
        );
        assert_eq!(
            try_with(&|w| w.chunks.push('?')),
            BadDigest::Malformed("chunks")
        );
        assert_eq!(
            try_with(&|w| w.chunks = "AAAA".into()),
            BadDigest::Malformed("chunks")
        );
        assert_eq!(
            try_with(&|w| w.fingerprints = "AAAAAAA=".into()),
            BadDigest::Malformed("fingerprints")
        );
        assert_eq!(try_with(&|w| w.level = 36), BadDigest::Level);
        let twice = WireDigest::from(&digest(vec![], &[7, 7], 5));
        assert_eq!(Digest::try_from(&twice), Err(BadDigest::Level));
        let nothing = WireDigest::from(&digest(vec![(1, 0, 2, false)], &[], 5));
        assert_eq!(Digest::try_from(&nothing), Err(BadDigest::Size));
    }

    #[test]
    fn params_survive_and_strangers_are_refused() {
        let params = Params {
            chunk: ChunkParams::scaled(4096).unwrap(),
            ..Params::default()
        };
        let mut wire = WireParams::from(&params);
        assert_eq!(Params::try_from(&wire), Ok(params));
        wire.id = wire.id.replace(".v9", ".v10");
        assert_eq!(Params::try_from(&wire), Err(BadParams(wire.id.clone())));
    }

    proptest! {
        #[test]
        fn any_digest_survives(
            runs in proptest::collection::vec(
                (any::<u8>(), 1u32.., 1u64..1 << 20, any::<bool>()),
                0..40,
            ),
            fingerprints in proptest::collection::hash_set(0u64..1 << 29, 0..200),
            besides in proptest::collection::hash_set(0u64..1 << 29, 0..20),
            words: Option<[u8; 16]>,
        ) {
            let fingerprints: Vec<u64> = fingerprints.into_iter().collect();
            let mut digest = digest(runs, &fingerprints, 3);
            digest.words = words.map(WordsDigest);
            digest.besides = besides.into_iter().map(Fingerprint).collect();
            prop_assert_eq!(Digest::try_from(&WireDigest::from(&digest)), Ok(digest));
        }

        #[test]
        fn any_text_is_a_digest_or_an_error(chunks: String, fingerprints: String, size: u64) {
            let wire = WireDigest {
                content: "00".repeat(32),
                size,
                kind: ContentKind::Text,
                chunks,
                level: 3,
                besides: fingerprints.clone(),
                fingerprints,
                words: None,
                repeats: None,
            };
            let _any = Digest::try_from(&wire);
        }
    }
}
