//! Contents that change. Digests by stretches are compared with fresh digests.

use proptest::prelude::*;
use resemble_testutil::prose::prose;
use resemble_testutil::random::noise;

use super::*;
use crate::digest::{ComposedDigest, Digest, LargeDigest, NextStretch};
use crate::hash::content::BLOCK;
use crate::params::Params;

const MIB: usize = BLOCK as usize;

/// The bytes of a file. Runs of at least `hole` zeros are passed as holes.
struct Content {
    bytes: Vec<u8>,
    hole: usize,
}

impl Content {
    /// Passes the bytes of a range to `take`.
    fn give(&self, range: Range<u64>, take: &mut dyn FnMut(Given<'_>)) {
        let mut rest = &self.bytes[range.start as usize..range.end as usize];
        while !rest.is_empty() {
            let zeros = rest.iter().take_while(|&&byte| byte == 0).count();
            if zeros >= self.hole {
                take(Given::Zeros(zeros as u64));
                rest = &rest[zeros..];
            } else {
                // The length is no multiple of a block, so a piece may end anywhere in a block.
                let next = rest.len().min(300_007);
                let hole = rest[..next].windows(self.hole.min(next));
                let mut hole = hole.enumerate();
                let hole = hole.find(|(_, part)| part.iter().all(|&byte| byte == 0));
                let end = hole.map_or(next, |(at, _)| at.max(1));
                take(Given::Bytes(&rest[..end]));
                rest = &rest[end..];
            }
        }
    }

    fn digest_into(&self, range: Range<u64>, digester: &mut Digester) {
        self.give(range, &mut |given| match given {
            Given::Bytes(bytes) => digester.update(bytes),
            Given::Zeros(count) => digester.update_zeros(count),
        });
    }

    fn size(&self) -> u64 {
        self.bytes.len() as u64
    }
}

enum Given<'a> {
    Bytes(&'a [u8]),
    Zeros(u64),
}

/// Digests a content whose file had another content before. Returns the result and the number of
/// digested bytes.
fn revise(
    digester: &mut Digester,
    (known, was): (&Arc<Stretches>, &Digest),
    (now, shift): (&Content, i64),
) -> (Option<LargeDigest>, u64) {
    let mut digested = 0;
    digester.revise(Arc::clone(known), was.content, shift);
    loop {
        match digester.next_stretch(now.size()) {
            NextStretch::Compare(range) => {
                let mut hasher = digester.begin_comparing();
                now.give(range, &mut |given| match given {
                    Given::Bytes(bytes) => hasher.update(bytes),
                    Given::Zeros(count) => hasher.update_zeros(count),
                });
                digester.compare(hasher);
            }
            NextStretch::Digest(range) => {
                digested += range.end - range.start;
                digester.begin_stretch(&range);
                now.digest_into(range, digester);
                if !digester.end_revised() {
                    return (None, digested);
                }
            }
            NextStretch::None => return (digester.finish_large(None, true), digested),
        }
    }
}

/// Returns the complete digest, whether `made` is a complete digest or edits of `was`.
fn whole(made: ComposedDigest, was: &Digest) -> Option<Box<Digest>> {
    match made {
        ComposedDigest::Whole(digest) => Some(digest),
        ComposedDigest::Edited(edited) => edited.whole(&was.chunks),
    }
}

/// A change of a content.
#[derive(Clone, Debug)]
enum Change {
    Overwrite(Fill),
    Insert(Fill),
    Delete(usize),
    /// Replaces bytes by zeros.
    Punch(usize),
    Truncate,
    /// Truncates the content to whole blocks.
    Round,
    Append(Fill),
    /// Appends a copy of a part.
    Repeat(usize),
}

/// Bytes to write: text or noise of a length, made from a seed.
#[derive(Clone, Copy, Debug)]
struct Fill {
    is_text: bool,
    seed: u64,
    len: usize,
}

impl Fill {
    fn bytes(self) -> Vec<u8> {
        if self.is_text {
            prose(self.seed, self.len)
        } else {
            noise(self.seed, self.len)
        }
    }
}

impl Change {
    /// Changes `bytes` at the place `at`, which is given in 65,536ths of the length of `bytes`.
    fn make(&self, bytes: &mut Vec<u8>, at: u16) {
        let at = bytes.len() * usize::from(at) / (1 << 16);
        let end = |len: usize| (at + len).min(bytes.len());
        match self {
            Self::Overwrite(by) => {
                let by = by.bytes();
                let end = end(by.len());
                bytes[at..end].copy_from_slice(&by[..end - at]);
            }
            Self::Insert(more) => drop(bytes.splice(at..at, more.bytes())),
            Self::Delete(len) => drop(bytes.drain(at..end(*len))),
            Self::Punch(len) => {
                let end = end(*len);
                bytes[at..end].fill(0);
            }
            Self::Truncate => bytes.truncate(at),
            Self::Round => bytes.truncate(at.max(MIB) / MIB * MIB),
            Self::Append(more) => bytes.extend(more.bytes()),
            Self::Repeat(len) => {
                let end = end(*len);
                bytes.extend_from_within(at..end);
            }
        }
    }
}

fn change() -> impl Strategy<Value = Change> {
    let fill = |most: usize| {
        let fill = (any::<bool>(), any::<u64>(), 1..most);
        fill.prop_map(|(is_text, seed, len)| Fill { is_text, seed, len })
    };
    prop_oneof![
        10 => fill(200).prop_map(Change::Overwrite),
        2 => fill(3 * MIB).prop_map(Change::Overwrite),
        1 => fill(200).prop_map(Change::Insert),
        1 => (1..2 * MIB).prop_map(Change::Delete),
        2 => (1..3 * MIB).prop_map(Change::Punch),
        1 => Just(Change::Truncate),
        2 => Just(Change::Round),
        2 => fill(2 * MIB).prop_map(Change::Append),
        1 => (1..2 * MIB).prop_map(Change::Repeat),
    ]
}

/// The guess of how far the end of the old content has moved.
#[derive(Clone, Copy, Debug)]
enum Shift {
    None,
    OfSizes,
    Wrong(i64),
}

fn shift() -> impl Strategy<Value = Shift> {
    prop_oneof![
        2 => Just(Shift::None),
        4 => Just(Shift::OfSizes),
        1 => (-3 * BLOCK as i64..3 * BLOCK as i64).prop_map(Shift::Wrong),
    ]
}

/// Makes text, noise, or a mixture.
fn content() -> impl Strategy<Value = Vec<u8>> {
    (0..8u8, any::<u64>(), MIB..7 * MIB).prop_map(|(kind, seed, len)| match kind {
        0 | 1 => prose(seed, len),
        2 => [b"\0".to_vec(), noise(seed, len)].concat(),
        // A text followed by bytes that are not text.
        3 => [prose(seed, len / 2), noise(seed, len / 2)].concat(),
        // One piece is repeated, so hardly any shingle after it is new.
        4 => prose(seed, 70_000).into_iter().cycle().take(len).collect(),
        5 => shifted_copies(seed, len),
        6 => page(seed, len),
        // Noise has NULs, so it is binary.
        _ => noise(seed, len),
    })
}

/// Makes a part of a page: text with tags, entities, and combining or invisible characters.
fn page(seed: u64, len: usize) -> Vec<u8> {
    let text = prose(seed, len);
    let ways = [
        "</p>\n<p class=\"x\">",
        "e\u{301}",
        "&uuml;",
        "\u{ad}",
        "=\u{338}",
        "é",
    ];
    let pieces = text.chunks(97).zip(ways.iter().cycle());
    let pieces = pieces.flat_map(|(piece, way)| [piece, way.as_bytes()]);
    let mut page = pieces.collect::<Vec<&[u8]>>().concat();
    page.truncate(len);
    page
}

/// Makes seven overlapping pieces of one text without line ends. Each piece begins 1,000 bytes
/// after the piece before it.
fn shifted_copies(seed: u64, len: usize) -> Vec<u8> {
    let mut text = prose(seed, len / 7 + 7000);
    let line_ends = text.iter_mut().filter(|byte| **byte == b'\n');
    line_ends.for_each(|byte| *byte = b' ');
    let copies = (0..7).map(|copy| &text[copy * 1000..][..len / 7]);
    copies.flatten().copied().collect()
}

/// Returns the differences of two digests, in a few words.
fn differences(one: &Digest, other: &Digest) -> String {
    let mut differences = String::new();
    let mut note = |what: &str, is_equal: bool| {
        if !is_equal {
            differences.push_str(what);
        }
    };
    note("content ", one.content == other.content);
    note("size ", one.size == other.size);
    note("kind ", one.kind == other.kind);
    note("chunks ", one.chunks == other.chunks);
    note("level ", one.signature.level == other.signature.level);
    note("repeats ", one.signature.repeats == other.signature.repeats);
    note("signature ", one.signature == other.signature);
    note("besides ", one.besides == other.besides);
    note("words ", one.words == other.words);
    differences
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// After any changes, the digest by stretches is the digest of a fresh reading. If bytes change
    /// in place, only the stretches of these bytes and little more are digested.
    #[test]
    fn what_changes_is_digested_as_if_it_were_new(
        first in content(),
        changes in prop::collection::vec(
            (prop::collection::vec((change(), any::<u16>()), 1..4), shift()),
            1..4,
        ),
        most in prop::sample::select(vec![3, 100]),
        cap in prop::sample::select(vec![0u32, 20, 3000, 1 << 17]),
    ) {
        let mut params = Params::default();
        params.posted.cap = cap;
        params.posted.few = params.posted.few.min(cap);
        let mut digester = Digester::new(&params);
        let mut now = Content { bytes: first, hole: 5000 };
        digester.keep_stretches_of(BLOCK, most);
        now.digest_into(0..now.size(), &mut digester);
        let large = digester.finish_large(None, true).unwrap();
        let mut was = *whole(large.made, &Digest::of(b"", &params)).unwrap();
        prop_assert_eq!(differences(&was, &Digest::of(&now.bytes, &params)), "");
        let Some(mut known) = large.stretches.map(Arc::new) else {
            return Ok(());
        };
        for (changes, shift) in changes {
            let in_place = changes.iter().all(|(change, _)| {
                matches!(change, Change::Overwrite(by) if by.len < 200)
            });
            for (change, at) in &changes {
                change.make(&mut now.bytes, *at);
            }
            let shift = match shift {
                Shift::None => 0,
                Shift::OfSizes => now.size() as i64 - was.size.0 as i64,
                Shift::Wrong(shift) => shift,
            };
            let (large, digested) = revise(&mut digester, (&known, &was), (&now, shift));
            let fresh = Digest::of(&now.bytes, &params);
            // There is no digest if the kind has changed, or if the stored samples do not suffice.
            let Some(large) = large else {
                return Ok(());
            };
            // The digester can also resume from the state at the end.
            digester.resume(&large.checkpoint.unwrap());
            digester.update(b"and more");
            let grown = digester.finish_grown(fresh.content);
            let is_edited = matches!(large.made, ComposedDigest::Edited(_));
            let made = whole(large.made, &was).unwrap();
            prop_assert_eq!(differences(&made, &fresh), "");
            let more = [&now.bytes[..], b"and more"].concat();
            let more = Digest::of(&more, &params);
            let grown = grown.whole(&fresh.chunks).unwrap();
            prop_assert_eq!(differences(&grown, &more), "");
            if in_place && is_edited && shift == 0 {
                let longest = known.all.iter().map(|stretch| stretch.len).max();
                let most = 3 * changes.len() as u64 * longest.unwrap_or(0);
                prop_assert!(digested <= most, "{digested} bytes");
            }
            let Some(stretches) = large.stretches else {
                return Ok(());
            };
            known = Arc::new(stretches);
            was = fresh;
        }
    }
}

/// Returns a digester that has digested a content in stretches of one block each. Also returns the
/// stretches and the digest.
fn first_reading(now: &Content, params: &Params) -> (Digester, Stretches, Digest) {
    let mut digester = Digester::new(params);
    digester.keep_stretches_of(BLOCK, 100);
    now.digest_into(0..now.size(), &mut digester);
    let large = digester.finish_large(None, true).unwrap();
    let was = *whole(large.made, &Digest::of(b"", params)).unwrap();
    (digester, large.stretches.unwrap(), was)
}

/// Samples below the level of other stretches are useless, and the first stretches have many such
/// samples. If they were stored, the stretches of a repetitive content of a gigabyte would exceed
/// the memory for stretches. The stretches would be dropped, so after every change the whole
/// content would be digested.
#[test]
fn stretches_have_samples_of_one_level() {
    let mut params = Params::default();
    params.posted.cap = 3000;
    params.posted.few = 3000;
    let mut now = Content {
        bytes: shifted_copies(1, 12 * MIB),
        hole: usize::MAX,
    };
    let (mut digester, known, was) = first_reading(&now, &params);
    let level = known.levels()[0];
    assert!(level > params.posted.least_level, "{level}");
    let samples = known.all.iter().map(|stretch| &stretch.samples[0]);
    assert!(samples.clone().all(|sample| sample.level == level));
    let samples: usize = samples.map(|sample| sample.fingerprints.len()).sum();
    let most = 8 * (2 * params.posted.cap + SPARE) as usize;
    assert!(samples <= most, "{samples} samples");

    let known = Arc::new(known);
    now.bytes[6 * MIB + 77..][..16].copy_from_slice(b"0123456789abcdef");
    let (large, digested) = revise(&mut digester, (&known, &was), (&now, 0));
    assert_eq!(digested, BLOCK);
    let made = whole(large.unwrap().made, &was).unwrap();
    assert_eq!(differences(&made, &Digest::of(&now.bytes, &params)), "");
}

#[test]
fn a_block_written_in_an_image_is_one_stretch_and_few_chunks() {
    let params = Params::default();
    let mut now = Content {
        bytes: [b"\0".to_vec(), noise(1, 12 * MIB)].concat(),
        hole: usize::MAX,
    };
    let (mut digester, known, was) = first_reading(&now, &params);
    let known = Arc::new(known);
    for at in [5 * MIB + 1234, 9 * MIB + 77] {
        now.bytes[at..at + 16].copy_from_slice(&noise(2, 16));
    }
    let (large, digested) = revise(&mut digester, (&known, &was), (&now, 0));
    assert_eq!(digested, 2 * BLOCK);
    let ComposedDigest::Edited(edited) = large.unwrap().made else {
        panic!("it was known");
    };
    // Each of the two digested stretches is one edit.
    assert_eq!(edited.edits.len(), 2);
    let by: usize = edited.edits.iter().map(|edit| edit.by.0.len()).sum();
    assert!(by < 2200, "{by} chunks");
    assert_eq!(
        *edited.whole(&was.chunks).unwrap(),
        Digest::of(&now.bytes, &params)
    );
}

/// Inserted or removed bytes move everything after them. The moved part is not digested again,
/// neither after this change nor after the next one.
#[test]
fn what_stands_elsewhere_is_not_digested() {
    let params = Params::default();
    let mut grown = 0;
    for (is_text, put_in, taken_out) in [
        (true, 1400, 0),
        (false, 1400, 0),
        (true, 2 * MIB, 0),
        (true, 0, 777),
        (false, 0, 5 * MIB / 2),
        (true, 1000, 3000),
        (false, 5 * MIB, 3),
    ] {
        let made = |seed, len| {
            if is_text {
                prose(seed, len)
            } else {
                noise(seed, len)
            }
        };
        for at in [0, 3 * MIB + 500, 15 * MIB - 9000] {
            let mut now = Content {
                bytes: [b"\0\n"[usize::from(is_text)..].to_vec(), made(1, 16 * MIB)].concat(),
                hole: usize::MAX,
            };
            let (mut digester, known, was) = first_reading(&now, &params);
            let known = Arc::new(known);
            let end = now.bytes.len().min(at + taken_out);
            now.bytes.splice(at..end, made(2, put_in));
            let shift = now.size() as i64 - was.size.0 as i64;
            let (large, digested) = revise(&mut digester, (&known, &was), (&now, shift));
            let large = large.unwrap();
            // A few blocks are digested beyond the inserted bytes: where the difference begins,
            // where it ends, and to detect that it has ended.
            let most = 4 * BLOCK + put_in as u64;
            assert!(
                digested <= most,
                "{put_in} for {taken_out} at {at}: {digested} bytes"
            );
            let made = whole(large.made, &was).unwrap();
            let fresh = Digest::of(&now.bytes, &params);
            assert_eq!(
                differences(&made, &fresh),
                "",
                "{put_in} for {taken_out} at {at}"
            );
            // After a shift, stretches begin within blocks of the content. Such stretches can still
            // be compared. The beginning of a content that grew can be compared, too.
            let known = Arc::new(large.stretches.unwrap());
            let length = now.bytes.len();
            now.bytes.extend(prose(4, 5000));
            let beginning = Arc::new(known.of_beginning());
            let (large, _) = revise(&mut digester, (&beginning, &fresh), (&now, 0));
            // `None` is allowed, too: the content must then be digested again.
            if let Some(large) = large {
                grown += 1;
                let made = whole(large.made, &fresh).unwrap();
                assert_eq!(differences(&made, &Digest::of(&now.bytes, &params)), "");
            }
            now.bytes.truncate(length);
            now.bytes[11 * MIB..][..16].copy_from_slice(&noise(3, 16));
            let (large, digested) = revise(&mut digester, (&known, &fresh), (&now, 0));
            assert!(digested <= most, "{digested} bytes of a second change");
            let made = whole(large.unwrap().made, &fresh).unwrap();
            assert_eq!(differences(&made, &Digest::of(&now.bytes, &params)), "");
        }
    }
    assert!(grown > 0, "none was known");
}

/// After an edit, the rest of a content can be a single chunk.
#[test]
fn an_edit_just_before_the_end_is_one() {
    let params = Params::default();
    for len in [4 * MIB + 5, 4 * MIB + 700] {
        let mut now = Content {
            bytes: [b"\0".to_vec(), noise(1, len)].concat(),
            hole: usize::MAX,
        };
        let (mut digester, known, was) = first_reading(&now, &params);
        let known = Arc::new(known);
        now.bytes[4 * MIB - 9000] ^= 1;
        let (large, _) = revise(&mut digester, (&known, &was), (&now, 0));
        let made = whole(large.unwrap().made, &was).unwrap();
        let fresh = Digest::of(&now.bytes, &params);
        assert_eq!(differences(&made, &fresh), "", "{len}");
    }
}

#[test]
fn what_is_cut_where_a_stretch_ends_has_its_last_chunk() {
    let params = Params::default();
    let bytes = prose(1, 4 * MIB + 5000);
    for grows in [false, true] {
        let mut now = Content {
            bytes: bytes.clone(),
            hole: usize::MAX,
        };
        let (mut digester, mut known, mut was) = first_reading(&now, &params);
        if grows {
            now.bytes.extend(prose(2, MIB));
            (known, was) = (known.of_beginning(), Digest::of(&now.bytes, &params));
        }
        let known = Arc::new(known);
        for blocks in [4, 3, 1] {
            now.bytes.truncate(blocks * MIB);
            let (large, digested) = revise(&mut digester, (&known, &was), (&now, 0));
            assert_eq!(digested, 0);
            let made = whole(large.unwrap().made, &was).unwrap();
            let fresh = Digest::of(&now.bytes, &params);
            assert_eq!(differences(&made, &fresh), "", "{blocks} blocks");
        }
    }
}

/// A file may be truncated to nothing before it is read.
#[test]
fn an_empty_content_may_be_digested_by_stretches() {
    let params = Params::default();
    let mut digester = Digester::new(&params);
    digester.keep_stretches();
    let large = digester.finish_large(None, true).unwrap();
    assert!(large.stretches.is_none());
    let bytes = [b"\0".to_vec(), noise(1, MIB)].concat();
    digester.update(&bytes);
    assert_eq!(
        differences(&digester.finish(), &Digest::of(&bytes, &params)),
        ""
    );
}

#[test]
fn what_is_written_while_it_is_read_is_noticed() {
    let params = Params::default();
    let mut now = Content {
        bytes: prose(1, 4 * MIB),
        hole: usize::MAX,
    };
    let mut digester = Digester::new(&params);
    digester.keep_stretches_of(BLOCK, 100);
    now.digest_into(0..now.size(), &mut digester);
    let large = digester.finish_large(None, true).unwrap();
    digester.revise(
        Arc::new(large.stretches.unwrap()),
        large.made.digest().content,
        0,
    );
    now.bytes[5] = b'#';
    let NextStretch::Compare(range) = digester.next_stretch(now.size()) else {
        panic!("it may be as it was");
    };
    let mut hasher = digester.begin_comparing();
    hasher.update(&now.bytes[..range.end as usize]);
    digester.compare(hasher);
    assert_eq!(
        digester.next_stretch(now.size()),
        NextStretch::Digest(range.clone())
    );
    now.bytes[6] = b'#';
    digester.begin_stretch(&range);
    now.digest_into(range, &mut digester);
    assert!(!digester.end_revised());
    // The digester can be used for another file.
    assert_eq!(
        digester.digest(b"another file"),
        Digest::of(b"another file", &params)
    );
}
