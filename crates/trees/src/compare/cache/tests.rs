//! Tests that inventories of a real tree only decide which files are read again, and never change
//! the answer.

use std::collections::BTreeMap;
use std::fs;
use std::os::fd::BorrowedFd;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use proptest::prelude::*;
use resemble_core::{ByteLen, ContentDigest, ContentKind, Params};
use resemble_extract::{Sink, Skipped};
use resemble_index::{FsId, Options, SkippedPart, Timestamp};
use resemble_proto::path::PathText;
use resemble_relate::renditions::Rendition;
use resemble_scan::ingest::Progress;
use resemble_testutil::TempTree;
use resemble_testutil::random::letters;

use super::codec::{InventoryHead, decode_files, encode_files};
use super::known::Stamp;
use super::*;
use crate::compare::record::encode;
use crate::compare::sides::Content;

struct Scene {
    temp: TempTree,
    index: Arc<Index>,
    cache_bytes: u64,
    part_reader: Option<EmptyDocuments>,
}

/// A part reader for files whose names end in `.doc`. It finds nothing in these files, and counts
/// how often it is called.
#[derive(Debug, Default)]
struct EmptyDocuments(AtomicU64);

impl PartReader for EmptyDocuments {
    fn applies(&self, name: &[u8], _: &[u8], _: Option<BorrowedFd<'_>>) -> bool {
        name.ends_with(b".doc")
    }

    fn read_parts(
        &self,
        _: &[u8],
        _: &[u8],
        _: BorrowedFd<'_>,
        _: &mut dyn Sink,
    ) -> Result<Vec<(Vec<u8>, Skipped)>, Skipped> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Ok(Vec::new())
    }

    fn id(&self) -> String {
        "empty".to_owned()
    }
}

/// Records the number of files that were read.
#[derive(Default)]
struct Reads(u64);

impl Observer for Reads {
    fn progress(&mut self, progress: &Progress) {
        self.0 = progress.files_read;
    }
}

impl Scene {
    fn new() -> Self {
        let temp = TempTree::new();
        let path = temp.path("cache.redb");
        let (index, _) =
            Index::open(&path, &Params::default(), &Options::default()).expect("an index");
        let scene = Self {
            temp,
            index: Arc::new(index),
            cache_bytes: 1 << 30,
            part_reader: None,
        };
        for tree in ["a", "b", "c"] {
            for n in 0..20u8 {
                scene.write(&format!("{tree}/dir/{n}"), &letters(n.into(), 5000));
            }
        }
        scene.write("a/dir/0", &edited(&letters(0, 5000)));
        scene.write("a/only", &letters(100, 3000));
        scene
    }

    fn path(&self, name: &str) -> PathBuf {
        self.temp.path(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        self.temp.write(name, bytes);
    }

    fn request(&self, a: &str, b: &str) -> CompareRequest {
        CompareRequest {
            a: PathText::from(self.path(a).as_path()),
            b: PathText::from(self.path(b).as_path()),
            ..CompareRequest::default()
        }
    }

    fn ask(&self, request: &CompareRequest) -> (Whole<Comparison>, u64) {
        let tree_cache = TreeCache {
            index: &self.index,
            cache_bytes: self.cache_bytes,
            exclude: &[],
            settle_window: Duration::ZERO,
            part_reader: self.part_reader.as_ref().map(|reader| reader as _),
        };
        let mut reads = Reads::default();
        let answer = tree_cache
            .compare(request, &Templates::default(), &mut reads)
            .expect("an answer");
        (answer, reads.0)
    }

    fn compare(&self, a: &str, b: &str) -> (Whole<Comparison>, u64) {
        self.ask(&self.request(a, b))
    }

    /// Returns the answer that is computed without any inventory.
    fn fresh(&self, a: &str, b: &str) -> Whole<Comparison> {
        let index = Arc::new(Index::in_memory(&Params::default()).expect("an index"));
        let tree_cache = TreeCache {
            index: &index,
            cache_bytes: 0,
            exclude: &[],
            settle_window: Duration::ZERO,
            part_reader: None,
        };
        tree_cache
            .compare(
                &self.request(a, b),
                &Templates::default(),
                &mut Reads::default(),
            )
            .expect("an answer")
    }

    fn records(&self, prefix: &str) -> BTreeMap<String, usize> {
        let snapshot = self.index.snapshot().expect("a snapshot");
        let records = snapshot.records(prefix).expect("readable");
        records
            .into_iter()
            .map(|(name, value)| (name, value.len()))
            .collect()
    }
}

fn edited(bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    bytes[1000..1010].copy_from_slice(b"0123456789");
    bytes
}

#[test]
fn a_second_look_reads_what_changed_and_says_the_same() {
    let scene = Scene::new();
    let (first, read) = scene.compare("a", "b");
    assert_eq!(read, 41);
    assert_eq!(first, scene.fresh("a", "b"));
    assert_eq!(
        (
            first.body.summary.classes.same,
            first.body.summary.classes.edited
        ),
        (19, 1)
    );
    let (second, read) = scene.compare("a", "b");
    assert_eq!((second, read), (first, 0));

    scene.write("b/dir/3", &edited(&letters(3, 5000)));
    scene.write("b/new", &letters(100, 3000));
    fs::remove_file(scene.path("a/dir/7")).expect("a file");
    let (third, read) = scene.compare("a", "b");
    assert_eq!(read, 2);
    assert_eq!(third, scene.fresh("a", "b"));
    assert_eq!(third.body.summary.classes.moved, 1);
    assert_eq!(scene.compare("a", "b"), (third, 0));
}

#[test]
fn what_was_found_out_is_kept_for_the_same_contents() {
    let scene = Scene::new();
    let (first, _) = scene.compare("a", "b");
    let kept = scene.records("comparison/");
    assert_eq!(kept.len(), 1);
    assert_eq!(scene.compare("a", "b").0, first);
    assert_eq!(scene.records("comparison/"), kept);

    // Damaged findings are ignored. The comparison is made again, and its findings are stored
    // again.
    for name in kept.keys() {
        let damaged = Some(&[7u8; 40][..]);
        scene
            .index
            .put_records(&[(name, damaged)])
            .expect("written");
    }
    assert_eq!(scene.compare("a", "b").0, first);
    assert_eq!(scene.records("comparison/"), kept);
    scene.write("b/dir/3", &edited(&letters(3, 5000)));
    let (changed, _) = scene.compare("a", "b");
    assert_eq!(changed, scene.fresh("a", "b"));
    assert_eq!(scene.records("comparison/").len(), 2);

    // Findings depend only on contents, so they stay valid after a rename. But the row may now
    // belong to another pair of files.
    fs::rename(scene.path("b/dir/3"), scene.path("b/dir/3-new")).expect("renamed");
    assert_eq!(scene.compare("a", "b").0, scene.fresh("a", "b"));
    for n in 0..20u64 {
        scene.write("b/dir/4", &letters(700 + n, 3000));
        scene.compare("a", "b");
    }
    assert!(scene.records("comparison/").len() <= 8);
}

#[test]
fn trees_share_their_pools_and_an_unnamed_pool_goes() {
    let scene = Scene::new();
    scene.compare("a", "b");
    let pools = scene.records("catalogue.pieces/");
    assert!(!pools.is_empty());
    // C has no content that B lacks, so no pool is added.
    let (answer, read) = scene.compare("b", "c");
    assert!(answer.body.summary.is_same());
    assert_eq!(read, 20);
    assert_eq!(scene.records("catalogue.pieces/"), pools);
    assert_eq!(scene.records("catalogue.head/").len(), 3);

    // All files get new bytes, but only A and B are scanned again. So an old pool stays only if the
    // inventory of C still names it.
    for n in 0..20u8 {
        for tree in ["a", "b", "c"] {
            scene.write(
                &format!("{tree}/dir/{n}"),
                &letters(1000 + u64::from(n), 4000),
            );
        }
    }
    fs::remove_file(scene.path("a/only")).expect("a file");
    scene.compare("a", "b");
    // Each thread of the first scan wrote a pool. A pool without a content of C is removed, but at
    // least one pool remains.
    assert!(
        pools
            .keys()
            .any(|pool| scene.records("catalogue.pieces/").contains_key(pool))
    );
    scene.compare("b", "c");
    assert!(
        !pools
            .keys()
            .any(|pool| scene.records("catalogue.pieces/").contains_key(pool))
    );
    assert_eq!(scene.compare("a", "c").0, scene.fresh("a", "c"));
}

#[test]
fn many_looks_do_not_make_many_pools() {
    let scene = Scene::new();
    for round in 0..40u64 {
        scene.write(
            &format!("a/dir/{}", round % 20),
            &letters(500 + round, 4000),
        );
        scene.compare("a", "b");
    }
    let threads = resemble_relate::parallel::threads();
    assert!(scene.records("catalogue.pieces/").len() <= 24 + threads);
    let (answer, read) = scene.compare("a", "b");
    assert_eq!(read, 0);
    assert_eq!(answer, scene.fresh("a", "b"));
}

#[test]
fn whatever_is_damaged_is_read_again() {
    for damaged in ["catalogue.head/", "catalogue.files/", "catalogue.pieces/"] {
        for how in [None, Some(&b""[..]), Some(&[0xff; 5000][..])] {
            let scene = Scene::new();
            let (first, _) = scene.compare("a", "b");
            for name in scene.records(damaged).into_keys() {
                scene.index.put_records(&[(&name, how)]).expect("written");
            }
            let (second, _) = scene.compare("a", "b");
            assert_eq!(second, first, "{damaged} {how:?}");
        }
    }
}

#[test]
fn nothing_is_kept_beyond_the_limit_or_without_a_cache() {
    let mut scene = Scene::new();
    scene.cache_bytes = 0;
    scene.compare("a", "b");
    assert!(scene.records("catalogue").is_empty());
    scene.cache_bytes = 1000;
    scene.compare("a", "b");
    assert!(scene.records("catalogue.pieces/").is_empty());
    scene.cache_bytes = 1 << 30;
    scene.compare("a", "b");
    assert_eq!(scene.compare("a", "b").1, 0);
    // The limit is too small for the inventories of three trees. So the inventories of A and B are
    // dropped, and the inventory of C is stored.
    for n in 0..20u8 {
        scene.write(&format!("c/dir/{n}"), &letters(2000 + u64::from(n), 5000));
    }
    let needed: usize = scene.records("catalogue").values().sum();
    scene.cache_bytes = needed as u64 * 2;
    scene.compare("c", "c");
    assert_eq!(scene.records("catalogue.head/").len(), 1);
    assert_eq!(scene.compare("c", "c").1, 0);
}

#[test]
fn a_look_at_some_files_forgets_none_of_the_others() {
    let scene = Scene::new();
    scene.compare("a", "b");
    scene.write("a/dir/5", &letters(50, 5000));
    let mut request = scene.request("a", "b");
    request.options.scope.include = vec!["5".to_owned()];
    let (answer, read) = scene.ask(&request);
    assert_eq!((answer.body.summary.files_a, read), (1, 1));
    let (answer, read) = scene.compare("a", "b");
    assert_eq!((answer, read), (scene.fresh("a", "b"), 0));
}

#[test]
fn documents_are_taken_apart_once_and_only_if_a_side_lacks_something() {
    let mut scene = Scene::new();
    scene.part_reader = Some(EmptyDocuments::default());
    for tree in ["b", "c"] {
        scene.write(&format!("{tree}/one.doc"), &letters(200, 3000));
        scene.write(&format!("{tree}/two.doc"), &letters(201, 3000));
    }
    let mut request = scene.request("b", "c");
    request.options.text = true;
    let taken_apart = |scene: &Scene| {
        let (answer, read) = scene.ask(&request);
        let reader = scene.part_reader.as_ref().expect("a reader");
        (
            answer.body.summary.is_same(),
            read,
            reader.0.load(Ordering::Relaxed),
        )
    };
    assert_eq!(taken_apart(&scene), (true, 44, 0));
    assert_eq!(taken_apart(&scene), (true, 0, 0));
    scene.write("c/new", &letters(202, 3000));
    assert_eq!(taken_apart(&scene), (false, 1, 2));
    assert_eq!(taken_apart(&scene), (false, 0, 2));
    scene.write("c/one.doc", &letters(203, 3000));
    assert_eq!(taken_apart(&scene), (false, 1, 3));
}

#[test]
fn what_changed_a_moment_ago_is_not_trusted() {
    let scene = Scene::new();
    let tree_cache = TreeCache {
        index: &scene.index,
        cache_bytes: 1 << 30,
        exclude: &[],
        settle_window: Duration::from_secs(3600),
        part_reader: None,
    };
    let request = scene.request("a", "b");
    for _ in 0..2 {
        let mut reads = Reads::default();
        tree_cache
            .compare(&request, &Templates::default(), &mut reads)
            .expect("an answer");
        assert_eq!(reads.0, 41);
    }
    assert!(scene.records("catalogue").is_empty());
}

fn time() -> impl Strategy<Value = Timestamp> {
    (any::<i64>(), 0u32..1_000_000_000).prop_map(|(secs, nanos)| Timestamp { secs, nanos })
}

proptest! {
    #[test]
    fn catalogues_come_back(
        files in prop::collection::btree_map(
            prop::collection::vec(any::<u8>(), 0..12),
            (0u32..2, any::<u64>(), time(), time(), 0u32..3),
            0..30,
        ),
        sizes in prop::array::uniform3(any::<u64>()),
    ) {
        let kinds = [ContentKind::Empty, ContentKind::Text, ContentKind::Binary];
        let contents: Vec<(Content, u32, PackedPlace)> = (0..3u8)
            .map(|n| {
                let content = Content {
                    digest: ContentDigest([n; 32]),
                    size: ByteLen(sizes[usize::from(n)]),
                    kind: kinds[usize::from(n)],
                };
                let place = PackedPlace {
                    pool: known::Where::Pool(u32::from(n % 2)),
                    from: u64::from(n) << 40,
                    length: u32::from(n) << 20,
                };
                (content, u32::from(n % 2), place)
            })
            .collect();
        let parts = known::KnownParts {
            apart: [(1, vec![(Rendition::Text, 2)])].into(),
            skipped: [(
                1,
                vec![SkippedPart {
                    path: b"a\xff".to_vec(),
                    reason: "damaged: no end".to_owned(),
                }],
            )]
            .into(),
            pending: [0].into(),
        };
        let systems = ["x", "y"].map(|name| FsId(name.into()));
        let bytes = encode_files(
            &systems,
            &contents,
            &parts,
            files.iter().map(|(path, &(fs, ino, mtime, ctime, content))| {
                (path.as_slice(), Stamp { fs, ino, mtime, ctime }, content)
            }),
        );
        let names = Mutex::new(Names::default());
        let back = decode_files(&bytes, &[0, 1], &names).expect("decoded");
        prop_assert_eq!(back.files.len(), files.len());
        for (path, &(fs, ino, mtime, ctime, content)) in &files {
            let file = &back.files[path.as_slice()];
            prop_assert_eq!(file.stamp, Stamp { fs, ino, mtime, ctime });
            prop_assert_eq!(file.content, content);
        }
        let expected: Vec<_> = contents.iter().map(|&(c, _, p)| (c, p)).collect();
        prop_assert_eq!(back.contents, expected);
        prop_assert_eq!(back.parts, parts);
        for cut in 0..bytes.len() {
            prop_assert!(decode_files(&bytes[..cut], &[0, 1], &names).is_none());
        }
    }

    #[test]
    fn any_bytes_are_refused_or_decode(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        let _files = decode_files(&bytes, &[0], &Mutex::new(Names::default()));
        let _head = InventoryHead::decode(&bytes);
    }

    #[test]
    fn heads_come_back(root in "/[a-z]{0,9}", pools in prop::collection::vec("[a-z]{0,9}", 0..5)) {
        let root = Path::new(&root);
        let head = InventoryHead::new(root, &Params::default(), "f".to_owned(), pools);
        let back = InventoryHead::decode(&encode(&head)).expect("decoded");
        prop_assert!(back.is_of(root, &Params::default(), "f"));
        prop_assert!(!back.is_of(Path::new("/elsewhere/entirely"), &Params::default(), "f"));
        prop_assert_eq!(back, head);
    }
}
