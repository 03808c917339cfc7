//! Tests that a large content takes over the data of the former content of its file, if only little
//! has changed.

use std::collections::BTreeSet;
use std::path::Path;

use proptest::prelude::*;
use resemble_core::{ChunkEdit, ChunkList, ContentId, Digest, EditedDigest, FingerprintEdit};
use resemble_index::{Change, ContentRef, Index, MergeWork, NewState, PostingKind};
use resemble_testutil::random::Random;

use crate::made::{digest, fingerprint_edit, memory, posting_rows, read, sound, stat};

/// Edits the list at a random place: removes chunks, inserts chunks, or both.
fn edit(chunks: &mut Vec<u32>, random: &mut Random, next: &mut u32) {
    let at = match random.below(4) {
        0 => 0,
        1 => chunks.len(),
        _ => random.below(chunks.len() + 1),
    };
    let cut = few_or_many(random);
    let end = (at + cut).min(chunks.len());
    let new = few_or_many(random);
    let old = chunks.clone();
    let new = (0..new).map(|_| {
        // Some of the inserted chunks were in the list before.
        if !old.is_empty() && random.below(4) == 0 {
            return old[random.below(old.len())];
        }
        *next += 1;
        *next
    });
    let new: Vec<u32> = new.collect();
    chunks.splice(at..end, new);
}

fn few_or_many(random: &mut Random) -> usize {
    let most = if random.below(5) == 0 { 700 } else { 4 };
    random.below(most)
}

fn assert_is(index: &Index, expected: &Digest) {
    let snapshot = sound(index);
    let content = snapshot.content_by_digest(&expected.content).unwrap();
    assert_eq!(snapshot.chunks(content.unwrap()).unwrap(), expected.chunks);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    #[test]
    fn a_content_is_whole_however_often_it_changes(seed: u64, chunks in 0usize..4000) {
        let index = memory();
        let mut random = Random::new(seed);
        let mut next = 10_000;
        let mut chunks: Vec<u32> = (0..chunks as u32).collect();
        for version in 0..30 {
            let now = digest(version + 1, &chunks, &[1, 2, version + 5]);
            index.apply(vec![read("/image", 1, now.clone())]).unwrap();
            assert_is(&index, &now);
            if random.below(10) == 0 {
                index.merge(MergeWork::All).unwrap();
                assert_is(&index, &now);
            }
            edit(&mut chunks, &mut random, &mut next);
        }
    }
}

/// Makes up to three edits of a list, with at least one run between them. Returns the edits and the
/// result. No chunk occurs twice in a row, because equal neighbours would be one run. The edit
/// would have to include that whole run.
fn edits(old: &[u32], random: &mut Random, next: &mut u32) -> (Vec<ChunkEdit>, Vec<u32>) {
    let (mut edits, mut new, mut kept_to) = (Vec::new(), Vec::new(), 0);
    for _ in 0..=random.below(3) {
        let from = kept_to + random.below(old.len() + 1 - kept_to);
        let mut to = (from + few_or_many(random)).min(old.len());
        new.extend_from_slice(&old[kept_to..from]);
        let start = new.len();
        for _ in 0..few_or_many(random) {
            // Some of the inserted chunks were in the list before, or are still in it.
            let old = (from > 9 && random.below(4) == 0).then(|| old[random.below(from - 8)]);
            let again = old.filter(|chunk| new.last() != Some(chunk));
            new.push(again.unwrap_or_else(|| {
                *next += 1;
                *next
            }));
        }
        while to < old.len() && new.last() == Some(&old[to]) {
            to += 1;
        }
        let by = digest(0, &new[start..], &[]).chunks;
        edits.push(ChunkEdit {
            runs: from as u64..to as u64,
            by,
        });
        kept_to = (to + 1).min(old.len());
        new.extend_from_slice(&old[to..kept_to]);
        if kept_to == old.len() {
            break;
        }
    }
    new.extend_from_slice(&old[kept_to..]);
    (edits, new)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]

    /// The index is given only the edits of a changed content. If it still knows the heir of a
    /// former content, it reports a range. Outside this range, the heir and the former content are
    /// equal.
    #[test]
    fn edits_make_the_content_that_they_are_of(seed: u64, chunks in 1usize..4000) {
        let index = memory();
        let mut random = Random::new(seed);
        let mut next = 10_000;
        let mut chunks: Vec<u32> = (0..chunks as u32).collect();
        let mut was = digest(1, &chunks, &[1]);
        index.apply(vec![read("/image", 1, was.clone())]).unwrap();
        let mut before: Vec<(ContentId, Digest)> = Vec::new();
        let mut known = 0;
        let mut prints: Vec<u64> = (0..40).collect();
        for version in 2..20 {
            let old = content(&index, &was);
            before.push((old, was.clone()));
            let (edits, new) = edits(&chunks, &mut random, &mut next);
            // Fingerprints are added and removed, and a removed fingerprint may be added again.
            for _ in 0..random.below(6) {
                let print = random.below(60) as u64;
                match prints.iter().position(|other| *other == print) {
                    Some(at) => drop(prints.swap_remove(at)),
                    None => prints.push(print),
                }
            }
            let now = digest(version, &new, &prints);
            let is_known = random.below(8) > 0;
            let fingerprints = is_known.then(|| fingerprint_edit(&was, &now));
            let edited = edited((&was, &now), edits, fingerprints);
            let whole = edited.clone().whole(&was.chunks);
            prop_assert!(whole.as_deref() == Some(&now));
            index.apply(vec![image(version as i64, edited)]).unwrap();
            assert_is(&index, &now);
            let snapshot = sound(&index);
            let all: Vec<u64> = (0..60).collect();
            let mut found = Vec::new();
            let mut of = |at: usize, contents: &[ContentId]| {
                found.push((all[at], contents.to_vec()));
            };
            let kind = PostingKind::Fingerprint;
            snapshot.postings(kind, &all, &mut of).unwrap();
            let posted: BTreeSet<u64> = prints.iter().copied().collect();
            let id = content(&index, &now);
            let expected: Vec<_> = posted.into_iter().map(|print| (print, vec![id])).collect();
            prop_assert_eq!(found, expected);
            for (id, old) in &before {
                let Some((heir, changed)) = snapshot.edited_from(*id) else {
                    continue;
                };
                prop_assert_eq!(heir, content(&index, &now));
                // All chunks have 1000 bytes.
                let (start, end) = (changed.start / 1000, (now.size.0 - changed.end) / 1000);
                let (old, new) = (&old.chunks.0, &now.chunks.0);
                prop_assert!(old[..start as usize] == new[..start as usize]);
                let end = end as usize;
                prop_assert!(old[old.len() - end..] == new[new.len() - end..]);
                known += 1;
            }
            if random.below(10) == 0 {
                index.merge(MergeWork::All).unwrap();
                assert_is(&index, &now);
            }
            (chunks, was) = (new, now);
        }
        prop_assert!(known > 5, "{known} times the edited bytes are known");
    }
}

/// Returns the second digest as edits of the first digest.
fn edited(
    (was, now): (&Digest, &Digest),
    edits: Vec<ChunkEdit>,
    fingerprints: Option<FingerprintEdit>,
) -> EditedDigest {
    EditedDigest {
        base: was.content,
        edits,
        fingerprints,
        digest: Box::new(Digest {
            chunks: ChunkList::default(),
            ..now.clone()
        }),
    }
}

/// Returns a change that gives the file `/image` an edited content and this modification time.
fn image(mtime: i64, edited: EditedDigest) -> Change {
    Change::File {
        path: "/image".into(),
        stat: stat(1, mtime),
        state: NewState::Settled(ContentRef::Edited(Box::new(edited))),
    }
}

fn content(index: &Index, digest: &Digest) -> ContentId {
    let snapshot = index.snapshot().unwrap();
    snapshot
        .content_by_digest(&digest.content)
        .unwrap()
        .unwrap()
}

#[test]
fn what_is_written_of_a_change_does_not_grow_with_the_content() {
    let index = memory();
    let mut chunks: Vec<u32> = (0..200_000).collect();
    let mut prints: Vec<u64> = (0..50_000).map(|n| n * 7919).collect();
    let first = digest(1, &chunks, &prints);
    index.apply(vec![read("/image", 1, first.clone())]).unwrap();
    let (before, _) = posting_rows(&index);
    (chunks[100_000], prints[100]) = (u32::MAX, 1);
    let now = digest(2, &chunks, &prints);
    let edits = vec![ChunkEdit {
        runs: 100_000..100_001,
        by: digest(0, &chunks[100_000..100_001], &[]).chunks,
    }];
    let edited = edited((&first, &now), edits, Some(fingerprint_edit(&first, &now)));
    index.apply(vec![image(2, edited)]).unwrap();
    let (after, segments) = posting_rows(&index);
    assert_eq!(segments, 2, "the large one is as it was");
    assert!(
        after <= before + 2,
        "{before} blocks of postings, then {after}"
    );
    assert_eq!(rows(&index, "chunk_list_of"), 1);
    assert_eq!(rows(&index, "heirs"), 1);
    assert_is(&index, &now);
    // After a merge, no content is an heir any more. After a removal, no chunk list is left.
    index.merge(MergeWork::All).unwrap();
    assert_eq!(
        (rows(&index, "heirs"), rows(&index, "dead_contents")),
        (0, 0)
    );
    assert_is(&index, &now);
    index.apply(vec![Change::Remove("/image".into())]).unwrap();
    assert_eq!(rows(&index, "chunk_list_of"), 0);
    assert_eq!(rows(&index, "chunk_lists"), 0);
    sound(&index);
}

#[test]
fn a_content_that_another_file_keeps_has_no_heir() {
    let index = memory();
    let chunks: Vec<u32> = (0..3000).collect();
    let first = digest(1, &chunks, &[1]);
    let both = vec![
        read("/a", 1, first.clone()),
        read("/copy", 2, first.clone()),
    ];
    index.apply(both).unwrap();
    let now = digest(2, &chunks[1..], &[1]);
    index.apply(vec![read("/a", 1, now.clone())]).unwrap();
    assert_is(&index, &first);
    assert_is(&index, &now);
    assert_eq!(rows(&index, "heirs"), 0);
}

fn rows(index: &Index, table: &str) -> u64 {
    let sizes = index.table_sizes().unwrap();
    sizes.iter().find(|size| size.0 == table).unwrap().1.rows
}

#[test]
fn edits_of_something_else_are_told_and_nothing_else_fails() {
    let index = memory();
    let chunks: Vec<u32> = (0..3000).collect();
    let was = digest(1, &chunks, &[1]);
    index.apply(vec![read("/image", 1, was.clone())]).unwrap();
    let now = digest(
        2,
        &[&chunks[..1000], &[4000], &chunks[1001..]].concat(),
        &[1],
    );
    let by = |chunks: &[u32]| digest(0, chunks, &[]).chunks;
    let edit = |runs, chunks: &[u32]| ChunkEdit {
        runs,
        by: by(chunks),
    };
    let apply = |edits: Vec<ChunkEdit>| {
        let image = image(2, edited((&was, &now), edits, None));
        let other = read("/other", 2, digest(3, &[7], &[7]));
        index.apply(vec![image, other]).unwrap().gone
    };
    for misfits in [
        vec![edit(1000..1001, &[4000, 4001])],
        vec![edit(1000..1002, &[4000])],
        vec![edit(2999..4000, &[])],
        vec![edit(3000..u64::MAX, &[4000])],
        vec![edit(10..21, &[4000]), edit(15..25, &[4001; 20])],
        vec![edit(chunks.len() as u64..1000, &[])],
    ] {
        assert_eq!(apply(misfits), [Path::new("/image")]);
        assert_is(&index, &was);
    }
    assert!(apply(vec![edit(1000..1001, &[4000])]).is_empty());
    assert_is(&index, &now);
}
