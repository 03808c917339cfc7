//! Tests of posting lists that are long enough for several blocks, segments, merges and
//! boilerplate.

use std::collections::{BTreeMap, BTreeSet};

use resemble_core::{ChunkRun, ContentId, ContentKind, Fingerprint, Params};
use resemble_index::{Change, Index, MergeWork, Options, PostingKind, Snapshot};

use crate::made::{chunk_key, digest, memory, open, posting_rows, read, sound};
use resemble_testutil::random::Random;

fn lists(snapshot: &Snapshot, kind: PostingKind, keys: &[u64]) -> BTreeMap<u64, Vec<ContentId>> {
    let mut found = BTreeMap::new();
    let mut last = None;
    snapshot
        .postings(kind, keys, &mut |index, list| {
            assert!(last < Some(index), "in the order of the keys");
            last = Some(index);
            assert!(list.is_sorted_by(|a, b| a < b));
            found.insert(keys[index], list.to_vec());
        })
        .unwrap();
    found
}

#[test]
fn a_list_may_span_blocks_and_segments() {
    let options = Options {
        boilerplate_limit: 1428,
        ..Options::default()
    };
    let index = Index::in_memory_with(&Params::default(), &options).unwrap();
    // Every content has fingerprint 500, one of the fingerprints 0 to 6, and a fingerprint of its
    // own.
    let file =
        |n: u64, prints: &[u64]| read(format!("/f/{n}"), n + 1, digest(n, &[n as u32], prints));
    for batch in 0..5u64 {
        let files = (batch * 2000..(batch + 1) * 2000).map(|n| file(n, &[n % 7, 500, 1000 + n]));
        index.apply(files.collect()).unwrap();
        let snapshot = sound(&index);
        let found = lists(
            &snapshot,
            PostingKind::Fingerprint,
            &[3, 499, 500, 501, 1000 + batch],
        );
        assert_eq!(found[&500].len() as u64, (batch + 1) * 2000);
        assert_eq!(
            found.keys().copied().collect::<Vec<_>>(),
            [3, 500, 1000 + batch]
        );
        assert!(
            snapshot
                .is_boilerplate(PostingKind::Fingerprint, 500)
                .unwrap()
        );
        // A list that is longer than `most` is not returned. If the key is boilerplate, the length
        // is known. Otherwise, it is found when the list is read.
        for most in [5, 1999] {
            snapshot
                .postings_up_to(PostingKind::Fingerprint, &[500], most, &mut |_, _| panic!())
                .unwrap();
        }
    }
    index.finish_bulk().unwrap();
    let boilerplate = || sound(&index).boilerplate(PostingKind::Fingerprint);
    let snapshot = index.snapshot().unwrap();
    assert_eq!(
        lists(&snapshot, PostingKind::Fingerprint, &[500])[&500].len(),
        10_000
    );
    assert!(snapshot.boilerplate(PostingKind::Chunk).is_empty());
    drop(snapshot);
    let four = [(0, 1429), (1, 1429), (2, 1429), (3, 1429)];
    assert_eq!(boilerplate(), [&four[..], &[(500, 10_000)]].concat());
    // A small batch counts only the keys that it touches. Here, keys pass the limit in both
    // directions.
    index.apply(vec![file(20_000, &[5, 500])]).unwrap();
    assert_eq!(
        boilerplate(),
        [&four[..], &[(5, 1429), (500, 10_001)]].concat()
    );
    index
        .apply(vec![Change::Remove("/f/20000".into())])
        .unwrap();
    assert_eq!(boilerplate(), [&four[..], &[(500, 10_000)]].concat());
    index
        .apply(vec![Change::Remove("/f/0".into()), file(20_001, &[500])])
        .unwrap();
    assert_eq!(boilerplate(), [&four[1..], &[(500, 10_000)]].concat());
    index
        .apply(
            (1..9000)
                .map(|n| Change::Remove(format!("/f/{n}").into()))
                .collect(),
        )
        .unwrap();
    assert!(boilerplate().is_empty());
}

#[test]
fn keys_may_be_asked_in_any_order_and_often() {
    let index = memory();
    let mut random = Random::new(3);
    let mut model: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for batch in 0..12u64 {
        let files = (0..300).map(|n| {
            let name = batch * 300 + n;
            let prints: BTreeSet<u64> = (0..40).map(|_| random.draw() % 30_000).collect();
            for print in &prints {
                model.entry(*print).or_default().insert(name);
            }
            let prints: Vec<_> = prints.into_iter().collect();
            read(format!("/{name}"), name, digest(name, &[], &prints))
        });
        index.apply(files.collect()).unwrap();
    }
    let snapshot = sound(&index);
    assert!(posting_rows(&index).1 <= 8);
    let mut keys: Vec<u64> = (0..5000).map(|_| random.draw() % 31_000).collect();
    for _ in 0..3 {
        let mut found = vec![0; keys.len()];
        snapshot
            .postings(PostingKind::Fingerprint, &keys, &mut |at, list| {
                found[at] = list.len();
            })
            .unwrap();
        let expected: Vec<_> = keys
            .iter()
            .map(|key| model.get(key).map_or(0, BTreeSet::len))
            .collect();
        assert_eq!(found, expected);
        // The keys are looked up in random order, then sorted, and then in reverse order.
        if keys.is_sorted() {
            keys.reverse();
        } else {
            keys.sort_unstable();
        }
    }
}

#[test]
fn constant_and_tiny_chunks_have_no_postings() {
    let index = memory();
    let mut made = digest(1, &[1, 2, 3, 3], &[]);
    made.chunks.0[0].constant = true;
    made.chunks.0[0].count = 1 << 40;
    made.chunks.0[1].len = 63;
    made.chunks.0.push(ChunkRun {
        len: 64,
        ..made.chunks.0[2]
    });
    index.apply(vec![read("/a", 1, made.clone())]).unwrap();
    let snapshot = sound(&index);
    let keys = [1, 2, 3].map(chunk_key);
    let found = lists(&snapshot, PostingKind::Chunk, &keys);
    assert_eq!(found.keys().copied().collect::<Vec<_>>(), [chunk_key(3)]);
    assert_eq!(found[&chunk_key(3)].len(), 1);
    assert_eq!(snapshot.totals().unwrap().chunks, (1 << 40) + 4);
    assert_eq!(
        snapshot.chunks(found[&chunk_key(3)][0]).unwrap(),
        made.chunks
    );
}

#[test]
fn hundreds_of_tiny_batches_leave_few_segments() {
    let index = memory();
    for n in 0..300u64 {
        let mut changes = vec![read(
            format!("/{n}"),
            n + 1,
            digest(n, &[n as u32, 5], &[n, 77]),
        )];
        if n % 3 == 2 {
            changes.push(Change::Remove(format!("/{}", n - 1).into()));
        }
        index.apply(changes).unwrap();
        assert!(posting_rows(&index).1 <= 8);
    }
    let snapshot = sound(&index);
    let found = lists(&snapshot, PostingKind::Fingerprint, &[76, 77, 78]);
    // Content 77 has key 77 twice, but is in the list once.
    assert_eq!(found[&77].len(), 200);
    index.merge(MergeWork::IfUseful).unwrap();
    index.finish_bulk().unwrap();
    assert_eq!(posting_rows(&index).1, 1);
    assert_eq!(sound(&index).totals().unwrap().contents, 200);
}

#[test]
fn batches_of_a_bulk_load_are_merged_at_its_end() {
    let index = memory();
    for n in 0..20u64 {
        let change = read(format!("/{n}"), n + 1, digest(n, &[n as u32, 5], &[n, 77]));
        index.apply_in_bulk(vec![change]).unwrap();
    }
    assert_eq!(posting_rows(&index).1, 20);
    let all = |index: &Index| {
        let snapshot = sound(index);
        lists(&snapshot, PostingKind::Fingerprint, &[3, 77, 78])
    };
    let before = all(&index);
    assert_eq!(before[&77].len(), 20);
    index.finish_bulk().unwrap();
    assert_eq!(posting_rows(&index).1, 1);
    assert_eq!(all(&index), before);
}

/// This merge has enough postings to be done by two threads: one merges, and the other one writes.
#[test]
fn a_merge_of_many_postings_has_each_once_and_none_of_the_dead() {
    let index = memory();
    let (contents, batches) = (2400u64, 6);
    // Each content has keys of its own, and keys that it shares with its neighbours. These contents
    // are near-copies, so the segment gets an order.
    let keys =
        |n: u64| (0..80).map(move |k| ((n / 8 * 8 + u64::from(k % 4 == 0) * n % 8) << 8) + k);
    let made = |n: u64| digest(n, &[n as u32], &keys(n).collect::<Vec<_>>());
    for batch in 0..batches {
        let these = (0..contents).filter(|n| n % batches == batch);
        let changes = these.map(|n| read(format!("/d{}/{n}", n % 7), n + 1, made(n)));
        index.apply_in_bulk(changes.collect()).unwrap();
    }
    let gone = (0..contents).filter(|n| n % 5 == 3);
    let removed = gone.map(|n| Change::Remove(format!("/d{}/{n}", n % 7).into()));
    index.apply_in_bulk(removed.collect()).unwrap();
    index.finish_bulk().unwrap();
    assert_eq!(posting_rows(&index).1, 1);
    let snapshot = sound(&index);
    let mut expected = BTreeMap::<u64, Vec<ContentId>>::new();
    for n in (0..contents).filter(|n| n % 5 != 3) {
        let id = snapshot
            .content_by_digest(&made(n).content)
            .unwrap()
            .unwrap();
        for key in keys(n).collect::<BTreeSet<_>>() {
            expected.entry(key).or_default().push(id);
        }
    }
    let count: usize = expected.values().map(Vec::len).sum();
    assert!(count > 1 << 17, "{count} postings are merged by one thread");
    for list in expected.values_mut() {
        list.sort_unstable();
    }
    let all: Vec<u64> = expected.keys().copied().collect();
    assert!(lists(&snapshot, PostingKind::Fingerprint, &all) == expected);
}

#[test]
fn the_dead_leave_with_the_merge() {
    let index = memory();
    let all = |range: std::ops::Range<u64>| {
        range
            .map(|n| read(format!("/d/{n}"), n + 1, digest(n, &[n as u32], &[n, 9])))
            .collect()
    };
    index.apply(all(0..3000)).unwrap();
    let rows = posting_rows(&index).0;
    index
        .apply(
            (500..3000)
                .map(|n| Change::Remove(format!("/d/{n}").into()))
                .collect(),
        )
        .unwrap();
    // The batch itself merged the segments, because most contents were dead.
    let snapshot = sound(&index);
    assert!(posting_rows(&index).0 < rows);
    assert_eq!(
        lists(&snapshot, PostingKind::Fingerprint, &[9])[&9].len(),
        500
    );
    index.apply(vec![Change::Remove("/".into())]).unwrap();
    index.finish_bulk().unwrap();
    assert_eq!(posting_rows(&index), (0, 0));
    sound(&index);
    index.apply(all(0..10)).unwrap();
    sound(&index);
}

/// A batch of more than 200,000 postings does not count boilerplate, but its postings are found at
/// once.
#[test]
fn a_bulk_load_answers_at_once_and_counts_at_its_end() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index");
    let index = open(&path, 1000);
    let batch = |batch: u64| -> Vec<Change> {
        (batch * 3000..(batch + 1) * 3000)
            .map(|n| {
                let mut prints: Vec<u64> = (0..90).map(|k| 1000 + n * 90 + k).collect();
                prints.push(n % 2);
                prints.push(5 + n % 5);
                read(
                    format!("/{}/{n}", n % 50),
                    n + 1,
                    digest(n, &[n as u32, 1 << 20], &prints),
                )
            })
            .collect()
    };
    let odd = |index: &Index| {
        index
            .snapshot()
            .unwrap()
            .is_boilerplate(PostingKind::Fingerprint, 1)
    };
    index.apply(batch(0)).unwrap();
    assert!(!odd(&index).unwrap(), "not counted yet");
    let snapshot = sound(&index);
    assert_eq!(
        lists(&snapshot, PostingKind::Fingerprint, &[1])[&1].len(),
        1500
    );
    snapshot
        .postings_up_to(PostingKind::Fingerprint, &[1], 1000, &mut |_, _| panic!())
        .unwrap();
    drop(snapshot);
    // The file still states that boilerplate is not counted.
    drop(index);
    let index = open(&path, 1000);
    // This small batch also counts the keys that the large one did not count.
    index
        .apply(vec![read("/one", 1 << 40, digest(1 << 40, &[3], &[1]))])
        .unwrap();
    let snapshot = sound(&index);
    assert_eq!(
        snapshot.boilerplate(PostingKind::Fingerprint),
        [(0, 1500), (1, 1501)]
    );
    assert_eq!(
        snapshot.boilerplate(PostingKind::Chunk),
        [(chunk_key(1 << 20), 3000)]
    );
    drop(snapshot);
    index.apply(batch(1)).unwrap();
    index.finish_bulk().unwrap();
    let snapshot = sound(&index);
    let counts: Vec<_> = (5..10).map(|key| (key, 1200)).collect();
    assert_eq!(
        snapshot.boilerplate(PostingKind::Fingerprint)[..2],
        [(0, 3000), (1, 3001)]
    );
    assert_eq!(snapshot.boilerplate(PostingKind::Fingerprint)[2..], counts);
    drop(snapshot);
    index.close().unwrap();
    // If the limit is different, the keys are counted again when the index is opened. No content is
    // read again.
    let index = open(&path, 1200);
    let snapshot = sound(&index);
    assert_eq!(
        snapshot.boilerplate(PostingKind::Fingerprint),
        [(0, 3000), (1, 3001)]
    );
    assert_eq!(snapshot.boilerplate_limit(), 1200);
}

/// A large text has more postings than fingerprints in its signature. Data also have postings of
/// their words. If such a content is deleted, none of its postings is counted any longer.
#[test]
fn what_goes_is_counted_no_more_however_dense_its_postings_are() {
    let options = Options {
        boilerplate_limit: 30,
        ..Options::default()
    };
    let index = Index::in_memory_with(&Params::default(), &options).unwrap();
    let mut random = Random::new(5);
    // Returns a fingerprint of a text. One shingle in eight of the text has been kept as a sample.
    let mut sample = move || random.draw() >> (64 - Fingerprint::BITS);
    let common: Vec<u64> = (0..40).map(|_| sample()).collect();
    let mut random = Random::new(6);
    let mut live: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    let mut contents = 0;
    for batch in 0..60 {
        let mut changes = Vec::new();
        for _ in 0..=random.below(6) {
            let name = random.below(50) as u64;
            if random.below(4) == 0 {
                live.remove(&name);
                changes.push(Change::Remove(format!("/{name}").into()));
                continue;
            }
            let of_common = common.iter().filter(|_| random.below(5) > 0).copied();
            let mut prints: Vec<u64> = of_common.collect();
            prints.extend((0..random.below(200)).map(|_| sample()));
            contents += 1;
            let digest = if contents % 2 == 0 {
                let mut text = digest(contents, &[name as u32], &prints);
                text.signature.level = 3;
                text
            } else {
                // Data have samples of windows and samples of words. All samples that are not
                // windows are taken as words.
                let level = Params::default().sampling.least_level;
                let (windows, words): (Vec<u64>, Vec<u64>) = prints
                    .iter()
                    .partition(|&&print| print % 2 == 0 && Fingerprint(print).level() >= level);
                let mut data = digest(contents, &[name as u32], &windows);
                data.kind = ContentKind::Data;
                data.signature.level = level;
                data.besides = words.into_iter().map(Fingerprint).collect();
                data
            };
            live.insert(name, prints);
            changes.push(read(format!("/{name}"), name + 1, digest));
        }
        index.apply(changes).unwrap();
        let mut counts: BTreeMap<u64, u32> = BTreeMap::new();
        for print in live.values().flatten() {
            *counts.entry(*print).or_default() += 1;
        }
        let is_counted = live.len() > 30;
        counts.retain(|_, count| is_counted && *count > 30);
        let expected: Vec<(u64, u32)> = counts.into_iter().collect();
        assert_eq!(
            sound(&index).boilerplate(PostingKind::Fingerprint),
            expected,
            "{batch}"
        );
    }
}

#[test]
fn copies_that_were_found_far_apart_are_told_by_their_ids() {
    /// The number of contents in a family, and the difference between the ids of its members.
    const FAMILY: u64 = 6;
    const APART: u64 = 700;
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("index.redb");
    let index = open(&path, 5000);
    let mut random = Random::new(5);
    let mut model: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    let own: Vec<Vec<u64>> = (0..APART)
        .map(|_| (0..40).map(|_| 10 + random.draw() % (1 << 30)).collect())
        .collect();
    let mut file = |n: u64, model: &mut BTreeMap<u64, BTreeSet<u64>>| {
        let kept = own[(n % APART) as usize].iter().copied();
        let mut prints: Vec<u64> = kept.filter(|_| !random.draw().is_multiple_of(8)).collect();
        // All contents have fingerprint 7, so its list fills several blocks. The other fingerprint
        // is probably in no other content.
        prints.extend([7, random.draw() % (1 << 30)]);
        prints.sort_unstable();
        prints.dedup();
        for print in &prints {
            model.entry(*print).or_default().insert(n);
        }
        read(
            format!("/{n}"),
            n + 1,
            digest(n, &[(n % APART) as u32], &prints),
        )
    };
    for batch in 0..FAMILY {
        let files = (batch * APART..(batch + 1) * APART).map(|n| file(n, &mut model));
        index.apply_in_bulk(files.collect()).unwrap();
    }
    index.finish_bulk().unwrap();
    let orders = |index: &Index| {
        let sizes = index.table_sizes().unwrap();
        sizes.iter().find(|of| of.0 == "orders").unwrap().1.rows
    };
    assert!(orders(&index) > 0);
    let compare = |index: &Index, model: &BTreeMap<u64, BTreeSet<u64>>| {
        let snapshot = sound(index);
        let keys: Vec<u64> = model.keys().copied().collect();
        let found = lists(&snapshot, PostingKind::Fingerprint, &keys);
        assert_eq!(found.len(), model.len());
        let name = |content: &ContentId| {
            let file = snapshot.files_of(*content).unwrap()[0];
            let path = snapshot.paths(file).unwrap().remove(0);
            path.to_str().unwrap()[1..].parse::<u64>().unwrap()
        };
        for (key, list) in found {
            let names: BTreeSet<u64> = list.iter().map(name).collect();
            assert_eq!(names, model[&key], "{key:x}");
        }
    };
    compare(&index, &model);
    index.close().unwrap();
    let index = open(&path, 5000);
    compare(&index, &model);
    // Some contents are added, and others are removed. Then a merge of all segments makes a new
    // order.
    let more = (FAMILY * APART..FAMILY * APART + 50).map(|n| file(n, &mut model));
    index.apply(more.collect()).unwrap();
    let gone = (0..FAMILY * APART).step_by(3);
    let removed = gone.clone().map(|n| Change::Remove(format!("/{n}").into()));
    index.apply(removed.collect()).unwrap();
    for list in model.values_mut() {
        list.retain(|n| *n >= FAMILY * APART || n % 3 > 0);
    }
    model.retain(|_, list| !list.is_empty());
    compare(&index, &model);
    index.merge(MergeWork::All).unwrap();
    assert!(orders(&index) > 0);
    compare(&index, &model);
}
