use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::file::reader::{FileReader as _, SerializedFileReader};
use parquet::record::{Field, Row};
use proptest::prelude::*;
use resemble_catalogue::{self as catalogue, Details, Samples};
use resemble_core::{Digest, Params};
use resemble_index::Index;
use resemble_scan::ingest::{Ingest, IngestOptions, RootOptions, Target, Unobserved};
use resemble_testutil::prose::prose;
use sha2::{Digest as _, Sha256};

use super::*;
use crate::manifest::hexadecimal;
use crate::order::Distinct;

/// A tree, and a folder next to it.
struct Tree {
    temp: tempfile::TempDir,
}

impl Tree {
    fn of(files: &[(&str, Vec<u8>)]) -> Self {
        let temp = tempfile::tempdir().expect("a folder");
        let tree = Self { temp };
        for (name, bytes) in files {
            let path = tree.root().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, bytes).expect("a file");
        }
        tree
    }

    fn root(&self) -> PathBuf {
        fs::canonicalize(self.temp.path())
            .expect("a folder")
            .join("tree")
    }

    /// Makes a catalogue of the current tree.
    fn catalogue(&self, samples: Samples) -> Catalogue {
        let index = Arc::new(Index::in_memory(&Params::default()).expect("an index"));
        let options = IngestOptions {
            roots: vec![RootOptions::new(self.root())],
            ..IngestOptions::default()
        };
        let mut ingest = Ingest::new(Arc::clone(&index), options);
        let all = [Target::subtree(self.root())];
        ingest.reconcile(&all, &mut Unobserved).expect("scanned");
        let details = Details {
            label: "laptop".to_owned(),
            created: 1_700_000_000,
            names: true,
            text: true,
            samples,
        };
        let mut bytes = Vec::new();
        let snapshot = index.snapshot().expect("a snapshot");
        catalogue::write(&snapshot, &[self.root()], &details, &mut |piece| {
            bytes.extend_from_slice(piece);
            ControlFlow::Continue(())
        })
        .expect("a catalogue");
        let path = self.temp.path().join("laptop.cat");
        fs::write(&path, bytes).expect("a file");
        catalogue::open(&path).expect("whole")
    }

    /// Writes tables into a folder next to the tree.
    fn write(&self, folder: &str, salt: u64) -> PathBuf {
        let folder = self.temp.path().join(folder);
        let catalogue = self.catalogue(Samples::All);
        write(catalogue, &Params::default(), salt, &folder).expect("written");
        folder
    }
}

type Catalogue = catalogue::Catalogue;

fn place(folder: &Path, table: &str) -> PathBuf {
    folder.join(table).join("catalogue=laptop/rows.parquet")
}

fn rows(folder: &Path, table: &str) -> Vec<Row> {
    let file = File::open(place(folder, table)).expect("a table");
    let reader = SerializedFileReader::new(file).expect("Parquet");
    let rows = reader.get_row_iter(None).expect("rows");
    rows.map(|row| row.expect("a row")).collect()
}

fn field<'r>(row: &'r Row, name: &str) -> &'r Field {
    let mut columns = row.get_column_iter();
    let column = columns.find(|(of, _)| *of == name);
    column.expect("a column").1
}

fn int(row: &Row, name: &str) -> Option<i64> {
    match field(row, name) {
        Field::Long(number) => Some(*number),
        Field::Null => None,
        other => panic!("{name}: {other:?}"),
    }
}

fn bytes(row: &Row, name: &str) -> Vec<u8> {
    match field(row, name) {
        Field::Bytes(bytes) => bytes.data().to_vec(),
        other => panic!("{name}: {other:?}"),
    }
}

/// Returns for each path in the table of files the name of its content and its size.
fn contents_of_files(folder: &Path) -> BTreeMap<Vec<u8>, (Option<i64>, Option<i64>)> {
    let files = rows(folder, "files");
    let of = |row: &Row| (bytes(row, "path"), (int(row, "cid"), int(row, "size")));
    files.iter().map(of).collect()
}

/// Checks the postings of these bytes in these tables.
fn assert_posted(folder: &Path, content: &[u8]) {
    let params = Params::default();
    let digest = Digest::of(content, &params);
    let cid = cid(&digest.content, 0);
    let mut expected: BTreeMap<(i64, i64), i64> = BTreeMap::new();
    for run in digest.chunks.0.iter().filter(|run| run.is_evidence()) {
        let key = run.hash.posting_key().cast_signed();
        *expected.entry((0, key)).or_default() += run.count.cast_signed();
    }
    for print in digest.kept(&params).fingerprints {
        expected.insert((1, print.0.cast_signed()), 1);
    }
    let found: Vec<((i64, i64), i64)> = rows(folder, "postings")
        .iter()
        .filter(|row| int(row, "cid") == Some(cid))
        .map(|row| {
            let of = |name| int(row, name).expect("a number");
            ((of("kind"), of("key")), of("times"))
        })
        .collect();
    // The rows must be in this order, too.
    assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
}

#[test]
fn tables_say_what_the_tree_is() {
    let text = prose(1, 30_000);
    // The same chunk occurs many times.
    let often = [vec![b'a'; 5], prose(2, 3000).repeat(40)].concat();
    let tree = Tree::of(&[
        ("a/text.txt", text.clone()),
        ("b/copy.txt", text.clone()),
        ("b/often.txt", often.clone()),
        ("empty", Vec::new()),
    ]);
    let root = tree.root();
    fs::hard_link(root.join("a/text.txt"), root.join("a/link.txt")).expect("linked");
    std::os::unix::fs::symlink("a", root.join("leads")).expect("linked");
    let folder = tree.write("tables", 0);

    let files = contents_of_files(&folder);
    let names: BTreeSet<&[u8]> = files.keys().map(Vec::as_slice).collect();
    let expected: [&[u8]; 9] = [
        b"",
        b"a",
        b"a/link.txt",
        b"a/text.txt",
        b"b",
        b"b/copy.txt",
        b"b/often.txt",
        b"empty",
        b"leads",
    ];
    assert_eq!(names, expected.into_iter().collect());
    let of = |name: &[u8]| files[name];
    let cid_of = |content: &[u8]| cid(&Digest::of(content, &Params::default()).content, 0);
    let size = Some(text.len() as i64);
    assert_eq!(of(b"a/text.txt"), (Some(cid_of(&text)), size));
    assert_eq!(of(b"a/text.txt"), of(b"b/copy.txt"));
    assert_eq!(of(b"a"), (None, None));
    let numbers = |name: &[u8]| {
        let files = rows(&folder, "files");
        let row = files.iter().find(|row| bytes(row, "path") == name);
        int(row.expect("there"), "file")
    };
    assert_eq!(numbers(b"a/text.txt"), numbers(b"a/link.txt"));
    assert_ne!(numbers(b"a/text.txt"), numbers(b"b/copy.txt"));

    let contents = rows(&folder, "contents");
    assert_eq!(contents.len(), 3, "of four files two are copies");
    let cids: Vec<_> = contents.iter().map(|row| int(row, "cid")).collect();
    assert!(cids.is_sorted_by(|a, b| a < b));
    assert_posted(&folder, &text);
    assert_posted(&folder, &often);
    let repeated = |row: &Row| int(row, "times") > Some(30);
    assert!(rows(&folder, "postings").iter().any(repeated));

    let head = &rows(&folder, "head")[0];
    let said = ["files", "contents", "postings", "parts"].map(|name| int(head, name));
    let counted = ["files", "contents", "postings", "parts"].map(|name| rows(&folder, name).len());
    assert_eq!(said, counted.map(|rows| Some(rows as i64)));
    assert_eq!(bytes(head, "label"), b"laptop");
    assert_eq!(
        bytes(head, "params"),
        Params::default().to_string().as_bytes()
    );
}

#[test]
fn the_manifest_has_the_digest_of_each_table() {
    let tree = Tree::of(&[("a", prose(1, 5000))]);
    let folder = tree.write("tables", 0);
    let manifest = fs::read(folder.join("_manifest/laptop.json")).expect("a manifest");
    let manifest: serde_json::Value = serde_json::from_slice(&manifest).expect("JSON");
    let tables = manifest["tables"].as_array().expect("tables");
    assert_eq!(tables.len(), 5);
    for table in tables {
        let file = fs::read(folder.join(table["file"].as_str().expect("a path"))).expect("there");
        assert_eq!(table["bytes"], file.len());
        assert_eq!(table["sha256"], hexadecimal(&Sha256::digest(&file)));
    }
    // No other files are left.
    let left: usize = ["head", "files", "contents", "postings", "parts"]
        .map(|table| {
            let folder = place(&folder, table);
            fs::read_dir(folder.parent().expect("a folder"))
                .expect("a folder")
                .count()
        })
        .iter()
        .sum();
    assert_eq!(left, 5);
}

#[test]
fn a_second_export_replaces_the_first() {
    let tree = Tree::of(&[("a", prose(1, 5000))]);
    let folder = tree.write("tables", 0);
    fs::write(tree.root().join("b"), prose(2, 5000)).expect("a file");
    tree.write("tables", 0);
    assert_eq!(rows(&folder, "contents").len(), 2);
}

#[test]
fn a_salt_gives_all_contents_other_names() {
    let tree = Tree::of(&[("a", prose(1, 5000)), ("b", prose(2, 5000))]);
    let (plain, salted) = (tree.write("plain", 0), tree.write("salted", 7));
    let cids = |folder: &Path, table| -> BTreeSet<Option<i64>> {
        rows(folder, table)
            .iter()
            .map(|row| int(row, "cid"))
            .collect()
    };
    let named = cids(&salted, "contents");
    assert!(cids(&plain, "contents").is_disjoint(&named));
    assert_eq!(cids(&salted, "postings"), named);
    // Folders have no content.
    let named: BTreeSet<Option<i64>> = named.into_iter().chain([None]).collect();
    assert_eq!(cids(&salted, "files"), named);
}

#[test]
fn thinned_samples_are_refused_and_nothing_is_written() {
    let tree = Tree::of(&[("a", prose(1, 50_000))]);
    let folder = tree.temp.path().join("tables");
    let thinned = tree.catalogue(Samples::AtMost(16));
    let refused = write(thinned, &Params::default(), 0, &folder);
    assert!(
        matches!(refused, Err(TablesError::Thinned { .. })),
        "{refused:?}"
    );
    assert!(!folder.exists());
}

#[test]
fn two_contents_of_one_name_are_refused() {
    let content = |last: u8| {
        let mut digest = [5; 32];
        digest[31] = last;
        ContentDigest(digest)
    };
    assert_eq!(cid(&content(1), 0), cid(&content(2), 0));
    assert_ne!(
        cid(&content(1), 1),
        cid(&content(2), 1),
        "a salt tells them apart"
    );
    let mut distinct = Distinct::default();
    distinct
        .see(cid(&content(1), 0), content(1))
        .expect("the first");
    let refused = distinct.see(cid(&content(2), 0), content(2));
    let Err(TablesError::Collision { first, second, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_ne!(first, second);
}

#[test]
fn what_cannot_be_written_leaves_nothing_half() {
    let tree = Tree::of(&[("a", prose(1, 5000))]);
    let folder = tree.write("tables", 0);
    let before = fs::read(place(&folder, "files")).expect("a table");
    // The postings cannot be written, because a file has the name of their folder.
    fs::remove_dir_all(folder.join("postings")).expect("removed");
    fs::write(folder.join("postings"), "in the way").expect("a file");
    fs::write(tree.root().join("b"), prose(2, 5000)).expect("a file");
    let refused = write(tree.catalogue(Samples::All), &Params::default(), 0, &folder);
    assert!(
        matches!(refused, Err(TablesError::Write { .. })),
        "{refused:?}"
    );
    assert_eq!(fs::read(place(&folder, "files")).expect("a table"), before);
    let beside = place(&folder, "files");
    let beside = fs::read_dir(beside.parent().expect("a folder")).expect("a folder");
    assert_eq!(beside.count(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// For any tree, the tables have its contents, and the bytes are the same each time.
    #[test]
    fn the_same_tree_gives_the_same_bytes(
        seeds in prop::collection::vec((0u64..6, 0usize..20_000), 0..12),
    ) {
        let named = |(n, &(seed, len)): (usize, &(u64, usize))| {
            (format!("{}/{n}", n % 3), prose(seed, len))
        };
        let files: Vec<(String, Vec<u8>)> = seeds.iter().enumerate().map(named).collect();
        let files: Vec<(&str, Vec<u8>)> =
            files.iter().map(|(name, bytes)| (&name[..], bytes.clone())).collect();
        let tree = Tree::of(&files);
        fs::create_dir_all(tree.root()).expect("a folder");
        let (one, two) = (tree.write("one", 0), tree.write("two", 0));
        for table in ["head", "files", "contents", "postings", "parts"] {
            let of = |folder: &Path| fs::read(place(folder, table)).expect("a table");
            prop_assert!(of(&one) == of(&two), "{table}");
        }
        let distinct: BTreeSet<&Vec<u8>> = files.iter().map(|(_, bytes)| bytes).collect();
        prop_assert_eq!(rows(&one, "contents").len(), distinct.len());
        for (_, bytes) in &files {
            assert_posted(&one, bytes);
        }
    }
}
