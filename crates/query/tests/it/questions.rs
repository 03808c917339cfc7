//! Compares the figures of answers with their definitions. The files of the index were never on a
//! disk.

use std::path::{Path, PathBuf};

use crate::plain::pairs;
use resemble_core::similarity::proof::Provable;
use resemble_core::similarity::{Unit, runs};
use resemble_core::{ByteLen, ContentKind, Digest, Params, Relation, Score};
use resemble_index::{Change, ContentRef, FileStat, FsId, Index, NewState, Timestamp};
use resemble_proto::catalogued::of_label;
use resemble_proto::message::{Answer, Discount, FindOptions, FindRow, PairsRequest, Scope};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_query::dirs;
use resemble_query::find::{Subject, find, listing};
use resemble_relate::AskError;
use resemble_testutil::prose::overwritten as edited;
use resemble_testutil::random::letters;

/// An index of files that were never on a disk.
struct Collection {
    index: Index,
    files: Vec<(PathBuf, Vec<u8>)>,
}

impl Collection {
    fn new<P: AsRef<Path>>(files: Vec<(P, Vec<u8>)>) -> Self {
        let index = Index::in_memory(&Params::default()).expect("an index in memory");
        let mut ino = 0;
        let changes = files.iter().map(|(path, bytes)| {
            ino += 1;
            Change::File {
                path: path.as_ref().to_owned(),
                stat: FileStat {
                    fs: FsId("test".into()),
                    ino,
                    size: ByteLen(bytes.len() as u64),
                    mtime: Timestamp::default(),
                    ctime: Timestamp::default(),
                    nlink: 1,
                },
                state: NewState::Settled(ContentRef::New(Box::new(Digest::of(
                    bytes,
                    &Params::default(),
                )))),
            }
        });
        index.apply(changes.collect()).expect("a batch");
        let files = files
            .into_iter()
            .map(|(path, bytes)| (path.as_ref().to_owned(), bytes))
            .collect();
        Self { index, files }
    }

    fn find(&self, path: &str, options: &FindOptions) -> Answer<FindRow> {
        self.try_find(path, options).expect("an answer")
    }

    fn try_find(&self, path: &str, options: &FindOptions) -> Result<Answer<FindRow>, AskError> {
        let snapshot = self.index.snapshot().expect("a snapshot");
        let subject = Subject::remembered(&snapshot, Path::new(path)).expect("readable");
        let subject = subject.expect("indexed");
        find(&snapshot, &subject, &PathText::from(path), options)
    }

    fn paths(&self, path: &str, options: &FindOptions) -> Vec<String> {
        let rows = self.find(path, options).rows;
        rows.iter()
            .map(|row| row.path.lossy().into_owned())
            .collect()
    }
}

/// Returns words of six letters.
fn noise(seed: u64, len: usize) -> Vec<u8> {
    let mut text = letters(seed, len);
    for at in (6..len).step_by(7) {
        text[at] = b' ';
    }
    text
}

/// Makes versions of a text, parts of it, files with a common header, and unrelated files.
fn family() -> Collection {
    let base = noise(1, 20_000);
    let header = noise(2, 1_500);
    let with_header = |seed| [header.clone(), noise(seed, 12_000)].concat();
    Collection::new(vec![
        ("/docs/base.txt", base.clone()),
        ("/docs/copy.txt", base.clone()),
        ("/docs/v2.txt", edited(&base, 4_000)),
        ("/docs/v3.txt", edited(&base, 700)),
        ("/docs/part.txt", base[4_000..9_000].to_vec()),
        (
            "/mail/quoting.eml",
            [noise(3, 30_000), base[..9_000].to_vec()].concat(),
        ),
        ("/src/a.c", with_header(10)),
        ("/src/b.c", with_header(11)),
        ("/src/c.c", with_header(12)),
        ("/src/tiny", b"tiny".to_vec()),
        ("/src/tiny2", b"tiny".to_vec()),
        ("/src/empty", Vec::new()),
        ("/src/empty2", Vec::new()),
        ("/other/stranger", noise(99, 25_000)),
    ])
}

#[test]
fn find_ranks_versions_parts_and_copies_by_their_relation() {
    let family = family();
    let answer = family.find("/docs/base.txt", &FindOptions::default());
    let words: Vec<(String, &str)> = answer
        .rows
        .iter()
        .map(|row| {
            (
                row.path.lossy().into_owned(),
                row.relation.map_or("-", Relation::word),
            )
        })
        .collect();
    assert_eq!(words[0], ("/docs/copy.txt".into(), "identical"));
    assert!(
        words.contains(&("/docs/v2.txt".into(), "near")),
        "{words:?}"
    );
    assert!(
        words.contains(&("/docs/v3.txt".into(), "near")),
        "{words:?}"
    );
    assert!(
        words.contains(&("/docs/part.txt".into(), "contains")),
        "{words:?}"
    );
    assert!(
        words.contains(&("/mail/quoting.eml".into(), "shares")),
        "{words:?}"
    );
    assert_eq!(words.len(), 5, "{words:?}");
    assert_eq!((answer.header.total, answer.header.shown), (5, 5));
}

#[test]
fn find_agrees_with_the_definitions() {
    let family = family();
    for (path, bytes) in &family.files {
        let answer = family.find(&path.to_string_lossy(), &FindOptions::default());
        for row in &answer.rows {
            let other = &family
                .files
                .iter()
                .find(|(p, _)| p == row.path.as_path())
                .expect("known")
                .1;
            if row.is_identical() {
                assert_eq!(bytes, other);
                continue;
            }
            let content =
                |bytes: &Vec<u8>| Provable::new(ContentKind::of_whole(bytes), bytes.clone());
            let truth = content(bytes).measure(&content(other), Unit::Words);
            let measures = truth.measures;
            let told = (row.a_in_b, row.b_in_a, row.resemblance, row.shared_bytes);
            let truth = (
                Fraction::from(measures.a_in_b),
                Fraction::from(measures.b_in_a),
                Fraction::from(measures.resemblance),
                measures.shared_bytes.0,
            );
            // The files are not on any disk. So the rows of pairs that would have to be read have
            // estimates, and are marked as such.
            if row.estimate {
                let error = |told: Fraction, truth: Fraction| {
                    let share = |share: Fraction| share.score().expect("judged").get();
                    (share(told) - share(truth)).abs()
                };
                let what = format!("{} {row:?}: {truth:?}", path.display());
                assert!(error(told.0, truth.0) < 0.2, "{what}");
                assert!(error(told.1, truth.1) < 0.2, "{what}");
            } else {
                assert_eq!(told, truth, "{}", path.display());
            }
        }
    }
}

#[test]
fn tiny_files_have_identical_neighbours_only_and_empty_ones_none() {
    let family = family();
    assert_eq!(
        family.paths("/src/tiny", &FindOptions::default()),
        ["/src/tiny2"]
    );
    assert!(
        family
            .paths("/src/empty", &FindOptions::default())
            .is_empty()
    );
}

#[test]
fn thresholds_scope_and_top() {
    let family = family();
    let min = |share| FindOptions {
        min: Fraction::from(Score::new(share)),
        ..FindOptions::default()
    };
    // If two files share less than a quarter, they have no relation. If the question sets a lower
    // threshold, they are listed nevertheless.
    assert!(family.paths("/src/a.c", &FindOptions::default()).is_empty());
    let mut low = family.paths("/src/a.c", &min(0.05));
    low.sort();
    assert_eq!(low, ["/src/b.c", "/src/c.c"]);
    let answer = family.find("/docs/base.txt", &min(0.9));
    // The four rows are a copy, a part of the file, and two versions in which single bytes are
    // edited.
    assert_eq!(answer.rows.len(), 4);
    let scope = Scope {
        within: vec!["/mail".into(), "/docs/v2.txt".into()],
        ..Scope::default()
    };
    let within = FindOptions {
        scope,
        ..FindOptions::default()
    };
    assert_eq!(
        family.paths("/docs/base.txt", &within),
        ["/docs/v2.txt", "/mail/quoting.eml"]
    );
    let top = FindOptions {
        top: Some(1),
        ..FindOptions::default()
    };
    let answer = family.find("/docs/base.txt", &top);
    assert_eq!(
        (answer.rows.len(), answer.header.total, answer.header.shown),
        (1, 5, 1)
    );
    let scope = Scope {
        within: vec!["/docs".into(), "/mail".into()],
        include: vec!["*.txt".into()],
        exclude: vec!["v*".into()],
        min_size: 6_000,
    };
    let filtered = FindOptions {
        scope,
        ..FindOptions::default()
    };
    assert_eq!(
        family.paths("/docs/base.txt", &filtered),
        ["/docs/copy.txt"]
    );
}

/// A client may send any pattern. If a pattern is invalid, the answer is an error; the pattern is
/// not ignored.
#[test]
fn a_pattern_that_is_none_is_an_error() {
    let family = family();
    for (include, exclude) in [("[a", "*"), ("*", "[a"), ("", "*"), ("#", "*")] {
        let scope = Scope {
            within: vec!["/docs".into()],
            include: vec![include.into()],
            exclude: vec![exclude.into()],
            min_size: 0,
        };
        let options = FindOptions {
            scope,
            ..FindOptions::default()
        };
        let answer = family.try_find("/docs/base.txt", &options);
        assert!(matches!(answer, Err(AskError::Pattern(_))), "{answer:?}");
    }
}

/// Pieces that only near-copies of a file have are not boilerplate, even if more contents have them
/// than the limit.
#[test]
fn near_copies_are_listed_however_many_they_are() {
    let page = noise(3, 6_000);
    for copies in [100, 400, 1_300] {
        let copy = |n: u64| {
            let from = 700 * (n as usize % 8);
            [&page[..from], &noise(5_000 + n, 60), &page[from..]].concat()
        };
        let mut files: Vec<(String, Vec<u8>)> = (0..copies)
            .map(|n| (format!("/pages/{n}.txt"), copy(n)))
            .collect();
        files.extend((0..50).map(|n| (format!("/others/{n}.txt"), noise(90_000 + n, 6_000))));
        files.push(("/extract.txt".to_owned(), page[2_200..3_400].to_vec()));
        let collection = Collection::new(files);
        collection.index.finish_bulk().expect("counted");
        let mut answer = collection.find("/pages/9.txt", &FindOptions::default());
        let extract = PathText::from("/extract.txt");
        answer.rows.retain(|row| row.path != extract);
        assert!(answer.rows.len() >= 99, "{copies}: {}", answer.rows.len());
        for row in &answer.rows {
            assert!(
                row.path.as_path().starts_with("/pages"),
                "{copies}: {row:?}"
            );
            assert_eq!(row.relation, Some(Relation::Near), "{copies}");
            assert_eq!(row.discount, Discount::default(), "{copies}");
        }
        let of_extract = collection.find("/extract.txt", &FindOptions::default());
        assert!(
            of_extract.rows.len() >= 99,
            "{copies}: {}",
            of_extract.rows.len()
        );
        for row in &of_extract.rows {
            assert!(
                row.path.as_path().starts_with("/pages"),
                "{copies}: {row:?}"
            );
            let share = row.a_in_b.score().expect("judged");
            assert!(share >= Score::new(0.9), "{copies}: {row:?}");
        }
        let snapshot = collection.index.snapshot().expect("a snapshot");
        let subject = Subject::remembered(&snapshot, Path::new("/pages/9.txt"));
        let subject = subject.expect("readable").expect("indexed");
        let (shown, total) = listing(&snapshot, &subject, true).expect("an answer");
        assert!(
            shown.len() >= 99 && total >= 99,
            "{copies}: {} of {total}",
            shown.len()
        );
    }
}

/// A listing has entries for watched files, even if many files of catalogues are more similar. An
/// entry is a link, and no link can lead to a file of a catalogue.
#[test]
fn files_of_catalogues_take_no_place_in_a_listing() {
    let page = noise(3, 6_000);
    let disk = of_label("disk");
    let copy = |n: u64, more: usize| [&page[..3_000], &noise(n, more), &page[3_000..]].concat();
    for copies in [150, 400] {
        let mut files: Vec<(PathBuf, Vec<u8>)> = vec![("/page.txt".into(), page.clone())];
        files.extend((0..copies).map(|n| (disk.join(n.to_string()), copy(100 + n, 60))));
        files.extend((0..5).map(|n| (format!("/{n}.txt").into(), copy(9_000 + n, 600))));
        // One of the contents is in a catalogue and also in a watched file.
        files.extend(["/\0disk/both.txt", "/both.txt"].map(|path| (path.into(), copy(7, 300))));
        let collection = Collection::new(files);
        collection.index.finish_bulk().expect("counted");
        let snapshot = collection.index.snapshot().expect("a snapshot");
        let subject = Subject::remembered(&snapshot, Path::new("/page.txt"));
        let subject = subject.expect("readable").expect("indexed");
        let (shown, total) = listing(&snapshot, &subject, true).expect("an answer");
        let mut shown: Vec<PathBuf> = shown.into_iter().map(|row| row.path).collect();
        shown.sort();
        let names = ["0.txt", "1.txt", "2.txt", "3.txt", "4.txt", "both.txt"];
        assert_eq!(shown, names.map(|name| Path::new("/").join(name)));
        assert_eq!(total, names.len());
    }
}

#[test]
fn directories_of_catalogues_take_no_place_in_a_listing() {
    let (a, b) = (noise(1, 9_000), noise(2, 9_000));
    let mut files: Vec<(PathBuf, Vec<u8>)> = Vec::new();
    let disk = (0..120).map(|n| of_label("disk").join(n.to_string()));
    for dir in disk.chain([PathBuf::from("/own")]) {
        files.extend([(dir.join("a"), a.clone()), (dir.join("b"), b.clone())]);
    }
    files.push(("/other/a".into(), a.clone()));
    let snapshot = Collection::new(files).index.snapshot().expect("a snapshot");
    let (rows, total) = dirs::listing(&snapshot, Path::new("/own"), None).expect("an answer");
    let rows: Vec<&Path> = rows.iter().map(|row| row.b.as_path()).collect();
    assert_eq!((rows, total), (vec![Path::new("/other")], 1));
}

#[test]
fn a_header_in_more_files_than_the_limit_nominates_nobody_but_a_family_stays_whole() {
    let header = noise(7, 2_000);
    let base = noise(8, 9_000);
    let mut files: Vec<(String, Vec<u8>)> = (0..1_100)
        .map(|n| {
            (
                format!("/kernel/{n}.c"),
                [header.clone(), noise(1_000 + n, 1_500)].concat(),
            )
        })
        .collect();
    files.extend((0..126).map(|n| {
        let mut version = [header.clone(), base.clone()].concat();
        version.splice(5_000..5_001, format!("<{n}>").into_bytes());
        (format!("/versions/{n}.txt"), version)
    }));
    let collection = Collection::new(files);
    collection.index.finish_bulk().expect("counted");
    let alone = collection.find("/kernel/5.c", &FindOptions::default());
    assert!(
        alone.rows.is_empty(),
        "the header is no evidence: {:?}",
        alone.rows.first()
    );
    assert_eq!(
        collection
            .find("/versions/9.txt", &FindOptions::default())
            .rows
            .len(),
        125
    );
    let snapshot = collection.index.snapshot().expect("a snapshot");
    let subject = Subject::remembered(&snapshot, Path::new("/versions/9.txt"));
    let (shown, total) = listing(
        &snapshot,
        &subject.expect("readable").expect("indexed"),
        true,
    )
    .expect("an answer");
    assert_eq!((shown.len(), total), (100, 125));
    // In a question about directories, only the files in these directories determine what is
    // boilerplate.
    let scope = Scope {
        within: vec!["/versions".into()],
        ..Scope::default()
    };
    let answer = pairs(
        &snapshot,
        &PairsRequest {
            scope,
            ..PairsRequest::default()
        },
    )
    .expect("an answer");
    assert_eq!(answer.rows.len(), 126 * 125 / 2);
}

#[test]
fn pairs_are_all_pairs_with_evidence_and_both_directions_agree() {
    let family = family();
    let snapshot = family.index.snapshot().expect("a snapshot");
    let scope = Scope {
        within: vec!["/".into()],
        ..Scope::default()
    };
    let answer = pairs(
        &snapshot,
        &PairsRequest {
            scope,
            ..PairsRequest::default()
        },
    )
    .expect("an answer");
    let mut found: Vec<(String, String)> = Vec::new();
    for row in &answer.rows {
        assert!(row.a.as_bytes() < row.b.as_bytes());
        found.push((row.a.lossy().into_owned(), row.b.lossy().into_owned()));
        let from_a = family.find(
            &row.a.lossy(),
            &FindOptions {
                min: Fraction::ZERO,
                ..FindOptions::default()
            },
        );
        let same = from_a
            .rows
            .iter()
            .find(|find| find.path == row.b)
            .expect("find knows the pair");
        assert_eq!(
            (same.a_in_b, same.b_in_a),
            (row.a_in_b, row.b_in_a),
            "{row:?}"
        );
        assert_eq!(same.shared_bytes, row.shared_bytes);
    }
    found.sort();
    found.dedup();
    assert_eq!(found.len(), answer.rows.len(), "no pair twice");
    for (i, (a, a_bytes)) in family.files.iter().enumerate() {
        for (b, b_bytes) in &family.files[i + 1..] {
            let (in_a, in_b) = runs::cover(a_bytes, b_bytes);
            let much = in_a.max(in_b).get() >= 0.1 && a_bytes.len().min(b_bytes.len()) >= 256;
            let key = |x: &PathBuf, y: &PathBuf| {
                let (x, y) = (x.min(y), x.max(y));
                (
                    x.to_string_lossy().into_owned(),
                    y.to_string_lossy().into_owned(),
                )
            };
            if much {
                assert!(found.contains(&key(a, b)), "{a:?} {b:?} {in_a:?} {in_b:?}");
            }
        }
    }
}
