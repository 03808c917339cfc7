//! Compares the single pass with a separate computation of each part.

use std::collections::HashSet;

use md5::{Digest as _, Md5};
use proptest::prelude::*;

use resemble_testutil::prose::prose;
use resemble_testutil::random::noise;

use super::*;
use crate::chunk::oracle;
use crate::hash::content;
use crate::hash::rolling::hash_window;
use crate::ids::Fingerprint;
use crate::params::{ChunkParams, SamplingParams};
use crate::sample::Sampler;
use crate::words::Shingler;

/// Computes each part of a digest on its own: chunks and windows by their definitions, words by the
/// shingler.
fn plainly(bytes: &[u8], params: &Params) -> Digest {
    let mut chunks = ChunkList::default();
    let mut at = 0;
    for len in oracle::chunks(bytes, &params.chunk) {
        let chunk = &bytes[at..at + len];
        chunks.push(ChunkRun {
            hash: ChunkHash(Md5::digest(chunk).into()),
            len: len as u32,
            count: 1,
            constant: chunk.iter().all(|&byte| byte == chunk[0]),
        });
        at += len;
    }
    let mut sampler = Sampler::new(&params.sampling);
    for window in bytes.windows(Params::WINDOW) {
        if window.iter().all(|&byte| byte == window[0]) {
            continue;
        }
        if let Some(fingerprint) = Fingerprint::of_hash(hash_window(window.try_into().unwrap())) {
            sampler.push(fingerprint);
        }
    }
    let mut kind = ContentKind::of(bytes);
    let mut words = None;
    let mut repeats = None;
    let mut besides = Vec::new();
    // With a cap of 0 nothing is sampled, so the words are not even read.
    if kind == ContentKind::Text && params.posted.cap == 0 {
        sampler = Sampler::new(&params.posted);
    } else if kind == ContentKind::Text {
        let mut shingler = Shingler::new();
        shingler.update(bytes, &mut |_| ());
        let shingled = shingler.finish(&mut |_| ());
        let mut texts = Sampler::new(&params.posted.of_text(shingled.continued));
        let mut all = Sampler::new(&params.posted.of_any_text());
        let mut push = |sample| {
            texts.push(sample);
            all.push(sample);
        };
        // The first pass only decided the kind. This drops its extra samples.
        shingler.reset();
        shingler.update(bytes, &mut push);
        shingler.finish(&mut push);
        let mut more = Sampler::new(&params.posted.of_text(shingled.continued));
        shingler.besides().for_each(|sample| more.push(sample));
        if shingled.is_mostly_markup {
            let mut tags = Sampler::new(&params.posted.of_text(shingled.continued));
            let mut plain = Shingler::plain();
            plain.update(bytes, &mut |sample| tags.push(sample));
            plain.finish(&mut |sample| tags.push(sample));
            besides = tags.take().fingerprints;
        } else if !shingled.is_text && !shingled.is_encoded {
            besides = texts.clone().take().fingerprints;
        }
        if shingled.is_text {
            besides.splice(0..0, more.take().fingerprints);
            (sampler, words) = (texts, shingled.words);
            repeats = all.take_text(&params.posted).repeats;
        } else {
            kind = ContentKind::Data;
        }
    }
    let known = sampler.clone().take().fingerprints;
    let mut known: HashSet<Fingerprint> = known.into_iter().collect();
    besides.retain(|&sample| known.insert(sample));
    Digest {
        content: content::digest(bytes),
        size: ByteLen(bytes.len() as u64),
        kind,
        chunks,
        signature: Signature {
            repeats,
            ..sampler.take()
        },
        besides,
        words,
    }
}

fn params() -> impl Strategy<Value = Params> {
    let averages = [ChunkParams::LEAST_AVERAGE, 1015, 4096];
    (
        proptest::sample::select(averages.to_vec()),
        3..7u8,
        prop_oneof![1 => Just(0), 9 => 0..200u32],
    )
        .prop_map(|(average, least_level, cap)| Params {
            chunk: ChunkParams::scaled(average).unwrap(),
            sampling: SamplingParams::at(least_level, cap),
            shingles: SamplingParams::at(3, cap / 2),
            posted: SamplingParams::at(3, cap),
        })
}

/// A part of a file, passed as bytes or as a hole.
#[derive(Clone, Debug)]
enum Part {
    Bytes(Vec<u8>),
    Hole(u64),
}

fn parts() -> impl Strategy<Value = Vec<Part>> {
    let part = (0..6usize, any::<u64>(), 0..9000usize).prop_map(|(kind, seed, len)| match kind {
        0 => Part::Hole(len as u64 * 3),
        1 => Part::Bytes(vec![seed as u8; len]),
        2 => Part::Bytes(noise(seed, len * 40)),
        3 => Part::Bytes(noise(seed % 3, len)),
        4 => Part::Bytes(prose(seed, len * 4)),
        _ => Part::Bytes(noise(seed, len % 50)),
    });
    proptest::collection::vec(part, 0..8)
}

fn whole(parts: &[Part]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for part in parts {
        match part {
            Part::Bytes(part) => bytes.extend_from_slice(part),
            Part::Hole(count) => bytes.resize(bytes.len() + *count as usize, 0),
        }
    }
    bytes
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn a_digest_is_its_parts(
        files in proptest::collection::vec(parts(), 1..3),
        params in params(),
    ) {
        let mut digester = Digester::new(&params);
        // One digester is used for all files: no state of a file may be left when the next file
        // begins.
        for parts in files {
            let bytes = whole(&parts);
            let expected = plainly(&bytes, &params);
            prop_assert_eq!(expected.chunks.total_len(), expected.size);
            for part in &parts {
                match part {
                    Part::Bytes(bytes) => digester.update(bytes),
                    Part::Hole(count) => digester.update_zeros(*count),
                }
            }
            prop_assert_eq!(digester.finish(), expected.clone());
            digester.update(b"left over");
            prop_assert_eq!(digester.digest(&bytes), expected.clone());
            for piece in bytes.chunks(1 + bytes.len() / 7) {
                digester.update(piece);
            }
            prop_assert_eq!(digester.finish(), expected);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(120))]

    /// A file that grew has the same digest, whether it is digested from its old end or from its
    /// start. The file can grow any number of times, and other files can be digested in between.
    #[test]
    fn what_grows_is_digested_from_its_end(parts in parts(), params in params()) {
        let mut digester = Digester::new(&params);
        let mut known: Option<(Checkpoint, Digest)> = None;
        let mut bytes = Vec::new();
        for part in &parts {
            if let Some((checkpoint, _)) = &known {
                digester.resume(checkpoint);
                prop_assert_eq!(digester.position(), checkpoint.position());
            }
            match part {
                Part::Bytes(bytes) => digester.update(bytes),
                Part::Hole(count) => digester.update_zeros(*count),
            }
            bytes.extend(whole(std::slice::from_ref(part)));
            let checkpoint = digester.checkpoint();
            let digest = match known {
                Some((_, base)) => {
                    let grown = digester.finish_grown(base.content);
                    grown.whole(&base.chunks).map(|digest| *digest)
                }
                None => Some(digester.finish()),
            };
            prop_assert_eq!(digest.as_ref(), Some(&plainly(&bytes, &params)));
            known = digest.map(|digest| (checkpoint, digest));
            digester.update(b"another file");
        }
    }
}

#[test]
fn what_has_grown_goes_with_the_chunks_of_its_base_alone() {
    let params = Params::default();
    let mut digester = Digester::new(&params);
    digester.update(&noise(1, 300_000));
    let checkpoint = digester.checkpoint();
    let base = digester.finish();
    digester.resume(&checkpoint);
    digester.update(b"and more");
    let grown = digester.finish_grown(base.content);
    assert!(grown.digest.chunks.0.len() < 150);
    let mut fewer = base.chunks.clone();
    fewer.0.truncate(50);
    assert_eq!(grown.clone().whole(&fewer), None);
    let bytes = [&noise(1, 300_000)[..], b"and more"].concat();
    let whole = Digest::of(&bytes, &params);
    assert_eq!(grown.whole(&base.chunks), Some(Box::new(whole)));
}

#[test]
fn single_bytes_make_the_same_digest() {
    let params = Params::default();
    let bytes = noise(5, 20_000);
    let mut digester = Digester::new(&params);
    for byte in &bytes {
        digester.update(std::slice::from_ref(byte));
    }
    assert_eq!(digester.finish(), Digest::of(&bytes, &params));
}

#[test]
fn a_content_that_has_a_name_has_the_same_digest() {
    let params = Params::default();
    let mut digester = Digester::new(&params);
    for len in [0, 1, 20_000, 256 << 10, (256 << 10) + 1, 600_000] {
        let bytes = noise(5, len);
        // These bytes must not affect the next digest.
        digester.update(&bytes);
        let named = digester.digest_named(&bytes, content::digest(&bytes));
        assert_eq!(named, Digest::of(&bytes, &params), "{len}");
    }
}

#[test]
fn an_enormous_hole_is_a_few_entries() {
    let params = Params::default();
    let mut digester = Digester::new(&params);
    digester.update(&noise(1, 5000));
    digester.update_zeros(1 << 44);
    digester.update(&noise(2, 5000));
    let digest = digester.finish();
    assert_eq!(digest.size, ByteLen((1 << 44) + 10_000));
    assert_eq!(digest.chunks.total_len(), digest.size);
    assert!(digest.chunks.0.len() < 30, "{}", digest.chunks.0.len());
    assert!(digest.chunks.len_chunks() > 1 << 32);
    assert!(
        digest
            .chunks
            .0
            .iter()
            .any(|run| run.count > 1 << 32 && run.constant)
    );
    // The hole begins within the first 8 KiB, so these bytes contain a NUL.
    assert_eq!(digest.kind, ContentKind::Binary);
}

#[test]
fn kinds() {
    let kind = |bytes: &[u8]| {
        let kind = ContentKind::of_whole(bytes);
        assert_eq!(Digest::of(bytes, &Params::default()).kind, kind);
        kind
    };
    assert_eq!(kind(b""), ContentKind::Empty);
    assert_eq!(kind(b"text"), ContentKind::Text);
    assert_eq!(kind(b"te\0t"), ContentKind::Binary);
    assert_eq!(kind(&[b'x'; 8192]), ContentKind::Data);
    let mut late = b"text ".repeat(1639);
    late.truncate(8192);
    late.push(0);
    assert_eq!(kind(&late), ContentKind::Text);
    late[8191] = 0;
    assert_eq!(kind(&late), ContentKind::Binary);
}

#[test]
fn files_below_a_window_have_no_signature() {
    for len in [0, 1, 63] {
        let mut bytes = noise(1, len);
        bytes.fill(0);
        assert_eq!(
            Digest::of(&bytes, &Params::default())
                .signature
                .fingerprints,
            []
        );
    }
}

#[test]
fn windows_of_equal_bytes_are_never_sampled() {
    let params = Params {
        sampling: SamplingParams::at(3, 10_000),
        ..Params::default()
    };
    assert_eq!(Digest::of(&[0; 500], &params).signature.fingerprints, []);
}

/// Samples of real digests nest. At the greater level of two files, the bytes that they share have
/// the same samples in both.
#[test]
fn samples_of_small_and_large_files_nest() {
    let params = Params::default();
    let small = noise(18, 3000);
    let large = [noise(8, 200_000), small.clone(), noise(9, 200_000)].concat();
    let (small, large) = (Digest::of(&small, &params), Digest::of(&large, &params));
    assert!(large.signature.level > small.signature.level);
    let at_level: Vec<_> = small.signature.at_level(large.signature.level).collect();
    assert!(!at_level.is_empty());
    assert!(
        at_level
            .iter()
            .all(|f| large.signature.fingerprints.contains(f))
    );
}

#[test]
fn positions_and_expansion_of_chunks() {
    let run = |byte: u8, len, count| ChunkRun {
        hash: ChunkHash([byte; 16]),
        len,
        count,
        constant: false,
    };
    let mut list = ChunkList::default();
    for one in [run(1, 10, 1), run(2, 5, 2), run(2, 5, 1), run(1, 10, 1)] {
        list.push(one);
    }
    assert_eq!(list.0, [run(1, 10, 1), run(2, 5, 3), run(1, 10, 1)]);
    assert_eq!((list.len_chunks(), list.total_len()), (5, ByteLen(35)));
    assert_eq!(
        list.positions().map(|(at, _)| at).collect::<Vec<_>>(),
        [0, 10, 25]
    );
}

#[test]
fn bytes_unlike_are_those_of_chunks_that_the_other_has_nowhere() {
    type Pairs<T> = &'static [(T, u64)];
    let list = |runs: &[(u8, u64)]| {
        let run = |&(byte, count): &(u8, u64)| ChunkRun {
            hash: ChunkHash([byte; 16]),
            len: 10 + u32::from(byte),
            count,
            constant: false,
        };
        ChunkList(runs.iter().map(run).collect())
    };
    let pairs = |ranges: Vec<Range<u64>>| -> Vec<(u64, u64)> {
        ranges
            .into_iter()
            .map(|range| (range.start, range.end))
            .collect()
    };
    let old = list(&[(1, 1), (2, 1), (3, 2), (4, 1)]);
    let cases: [(Pairs<u8>, Pairs<u64>); 7] = [
        (&[(1, 1), (2, 1), (3, 2), (4, 1)], &[]),
        // Chunks that are replaced in place, at both ends.
        (&[(9, 1), (2, 1), (3, 2), (8, 1)], &[(0, 19), (57, 75)]),
        // Inserted chunks move everything after them. Neighbouring inserted chunks are one range.
        (
            &[(1, 1), (7, 1), (8, 2), (2, 1), (3, 2), (4, 1)],
            &[(11, 64)],
        ),
        (
            &[(1, 1), (7, 1), (2, 1), (3, 2), (4, 1), (6, 1)],
            &[(11, 28), (80, 96)],
        ),
        // Removed, exchanged or repeated chunks are not new.
        (&[(1, 1), (3, 2), (4, 1)], &[]),
        (&[(4, 1), (3, 9), (2, 1), (1, 1)], &[]),
        (&[], &[]),
    ];
    for (new, unlike) in cases {
        assert_eq!(pairs(list(new).bytes_unlike(&old)), unlike, "{new:?}");
    }
    let all = old.bytes_unlike(&ChunkList::default());
    assert_eq!(pairs(all), [(0, old.total_len().0)]);
}

/// Markup has the same samples whether it arrives in pieces or as a whole. Both sides of the limit
/// between text and data are tested.
#[test]
fn markup_in_pieces_is_found_by_the_same_as_a_whole() {
    let params = Params::default();
    let shape = |n: usize| format!("<path id=\"p{n}\" d=\"M {} {} Z\"/>", n * 7919, n * 104_729);
    let drawing = |shapes: usize, words: &str| -> Vec<u8> {
        let shapes = (0..shapes).map(|n| shape(n) + words);
        format!("<svg>{}</svg>", shapes.collect::<String>()).into_bytes()
    };
    for (bytes, kind, has_besides) in [
        (drawing(9, ""), ContentKind::Data, true),
        (drawing(200, ""), ContentKind::Data, true),
        (drawing(9_000, ""), ContentKind::Data, true),
        (drawing(9_000, "of words"), ContentKind::Text, true),
        (
            drawing(200, &"of words ".repeat(9)),
            ContentKind::Text,
            false,
        ),
        // A part of a markup file is markup, too.
        (drawing(9, "")[6..].to_vec(), ContentKind::Data, true),
        (drawing(200, "")[30..].to_vec(), ContentKind::Data, true),
    ] {
        let whole = Digest::of(&bytes, &params);
        assert_eq!(whole, plainly(&bytes, &params));
        assert_eq!((whole.kind, !whole.besides.is_empty()), (kind, has_besides));
        let mut digester = Digester::new(&params);
        bytes.chunks(977).for_each(|piece| digester.update(piece));
        assert_eq!(digester.finish(), whole);
    }
}

/// Encoded data has no words, and a binary is sampled by windows only. So neither has extra
/// fingerprints.
#[test]
fn what_has_no_words_is_found_by_nothing_besides() {
    let line = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWX\n";
    let mut program = noise(3, 9_000);
    program[5] = 0;
    for bytes in [line.repeat(40).into_bytes(), program] {
        let digest = Digest::of(&bytes, &Params::default());
        assert!(digest.besides.is_empty(), "{:?}", digest.kind);
    }
}
