use std::fs;
use std::ops::ControlFlow;
use std::path::PathBuf;

use proptest::prelude::*;
use resemble_core::hash::content::digest;

use super::super::read::CATALOGUE;
use super::super::records::RecordStream;
use super::super::{Samples, open};
use super::*;
use crate::tests::made::{Made, catalogue, file_of, tree, usual};

struct Scene {
    dir: tempfile::TempDir,
    files: usize,
}

impl Scene {
    fn new() -> Self {
        Self {
            dir: tempfile::tempdir().expect("a folder"),
            files: 0,
        }
    }

    fn file(&mut self, bytes: &[u8]) -> PathBuf {
        self.files += 1;
        let file = self.dir.path().join(self.files.to_string());
        fs::write(&file, bytes).expect("a file");
        file
    }

    /// Makes the delta from one catalogue to another.
    fn delta(&mut self, base: &[u8], new: &[u8]) -> Vec<u8> {
        let (base, new) = (self.file(base), self.file(new));
        let mut out = Vec::new();
        let mut sink = |piece: &[u8]| {
            out.extend_from_slice(piece);
            ControlFlow::Continue(())
        };
        let new = open(&new).expect("it is whole");
        make(&base, new, &mut sink).expect("it is made");
        out
    }

    /// Joins a base and a delta.
    fn joined(&mut self, base: &[u8], delta: &[u8]) -> Result<Vec<u8>, CatalogueError> {
        let (base, delta) = (self.file(base), self.file(delta));
        let mut out = Vec::new();
        let mut sink = |piece: &[u8]| {
            out.extend_from_slice(piece);
            ControlFlow::Continue(())
        };
        join(&base, Delta::open(&delta)?, &mut sink)?;
        Ok(out)
    }
}

#[test]
fn what_stays_costs_next_to_nothing() {
    let mut scene = Scene::new();
    let old = usual();
    let base = catalogue(&old, Samples::All);
    let delta = scene.delta(&base, &base);
    assert!(delta.len() < 300, "{} of {}", delta.len(), base.len());
    assert_eq!(scene.joined(&base, &delta).expect("joined"), base);
    // A new content at the beginning changes the numbers of all later contents.
    let mut new = old.clone();
    new.names
        .insert(vec![b"a".to_vec()], Made::File(250, 200, 1));
    let whole = catalogue(&new, Samples::All);
    let delta = scene.delta(&base, &whole);
    let one = whole.len() / 100;
    assert!(
        delta.len() < 300 + 2 * one,
        "{} of {}",
        delta.len(),
        whole.len()
    );
    assert_eq!(scene.joined(&base, &delta).expect("joined"), whole);
    // After a folder is renamed, the delta lists the files in the folder again, but not their
    // contents.
    let mut new = old;
    let of_folder = |names: &[Vec<u8>]| names.first().is_some_and(|name| name == b"d3");
    let moved: Vec<_> = new
        .names
        .keys()
        .filter(|it| of_folder(it))
        .cloned()
        .collect();
    for mut names in moved {
        let made = new.names.remove(&names).expect("it is there");
        names[0] = b"renamed".to_vec();
        new.names.insert(names, made);
    }
    let whole = catalogue(&new, Samples::All);
    let delta = scene.delta(&base, &whole);
    assert!(delta.len() < 1_000, "{} of {}", delta.len(), whole.len());
    assert_eq!(scene.joined(&base, &delta).expect("joined"), whole);
}

/// A delta is sampled like its base, even if the new catalogue is sampled differently.
#[test]
fn samples_are_those_of_the_base() {
    let mut scene = Scene::new();
    let thin = Samples::AtMost(16);
    let (mut new, base) = (usual(), catalogue(&usual(), thin));
    new.names
        .insert(vec![b"z".to_vec()], Made::File(250, 200, 1));
    let delta = scene.delta(&base, &catalogue(&new, Samples::All));
    let made = scene.joined(&base, &delta).expect("joined");
    assert_eq!(made, catalogue(&new, thin));
    assert!(delta.len() < base.len() / 20, "{}", delta.len());
}

#[test]
fn another_base_and_a_torn_delta_are_refused() {
    let mut scene = Scene::new();
    let old = usual();
    let mut new = old.clone();
    new.names
        .insert(vec![b"z".to_vec()], Made::File(250, 200, 1));
    let (base, whole) = (catalogue(&old, Samples::All), catalogue(&new, Samples::All));
    let delta = scene.delta(&base, &whole);
    let mut joined = |base: &[u8], delta: &[u8]| scene.joined(base, delta).map(|it| it.len());
    let other = joined(&whole, &delta);
    assert!(
        matches!(other, Err(CatalogueError::OtherBase { .. })),
        "{other:?}"
    );
    for length in [0, 1, DELTA_MAGIC.len(), delta.len() / 2, delta.len() - 1] {
        let torn = joined(&base, &delta[..length]);
        assert!(
            matches!(torn, Err(CatalogueError::Damaged { .. })),
            "{length}: {torn:?}"
        );
    }
    let damaged = joined(&base, &base);
    assert!(
        matches!(damaged, Err(CatalogueError::Damaged { .. })),
        "{damaged:?}"
    );
    let file = scene.file(&delta);
    assert!(is_delta(&file) && !super::super::is_catalogue(&file));
}

/// The kind and the body of each record of a file.
type Records = Vec<(u8, Vec<u8>)>;

fn records_of(file: &Path, format: &RecordFormat) -> Records {
    let mut records = Vec::new();
    let mut reader = RecordFile::open(file, format).expect("it is whole");
    while let Some(record) = reader.next().expect("it is read") {
        records.push(record);
    }
    records
}

/// Makes a file of these records with a correct digest.
fn file_of_records(format: &RecordFormat, records: &[(u8, Vec<u8>)]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut sink = |piece: &[u8]| {
        out.extend_from_slice(piece);
        ControlFlow::Continue(())
    };
    let mut stream = RecordStream::new(format, &mut sink);
    for (kind, body) in records {
        stream.other(*kind, body);
    }
    stream.finish();
    out
}

/// The digest of this base is correct, but one content in it is invalid. Contents are not decoded
/// when the base is opened, so the fault is found only by joining.
#[test]
fn a_forged_base_is_refused_as_that() {
    let mut scene = Scene::new();
    let base = catalogue(&usual(), Samples::All);
    let delta = scene.delta(&base, &base);
    let mut records = records_of(&scene.file(&base), &CATALOGUE);
    let content = records.iter_mut().find(|(kind, _)| *kind == 2);
    content.expect("a content").1.truncate(CHECKSUM);
    let forged = file_of_records(&CATALOGUE, &records);
    let mut records = records_of(&scene.file(&delta), &DELTA);
    let (_, digest) = forged.split_last_chunk::<CHECKSUM>().expect("a digest");
    records[0].1[..CHECKSUM].copy_from_slice(digest);
    let joined = scene.joined(&forged, &file_of_records(&DELTA, &records));
    let told = joined.expect_err("it is forged").to_string();
    assert!(told.contains("its records contradict each other"), "{told}");
}

/// The digest of each changed delta here is correct, but its records are invalid.
#[test]
fn a_forged_delta_is_refused() {
    let mut scene = Scene::new();
    let base = catalogue(&usual(), Samples::All);
    let delta = scene.delta(&base, &base);
    let forged = |records: &[(u8, Vec<u8>)]| file_of_records(&DELTA, records);
    let records = records_of(&scene.file(&delta), &DELTA);
    assert_eq!(
        scene.joined(&base, &forged(&records)).expect("the same"),
        base
    );
    let [head, keep, end] = &records[..] else {
        panic!("{records:?}")
    };
    let mut wrong = vec![
        vec![head.clone(), end.clone()],
        vec![head.clone(), keep.clone()],
        vec![head.clone(), end.clone(), keep.clone()],
        vec![head.clone(), head.clone(), keep.clone(), end.clone()],
        vec![head.clone(), keep.clone(), keep.clone(), end.clone()],
        vec![head.clone(), (KEEP, vec![1, 1]), end.clone()],
    ];
    for kind in [CONTENT_OF_BASE, LOOK_OF_BASE] {
        for number in [vec![0], vec![0xff, 0x7f], vec![0xff; 3], Vec::new()] {
            wrong.push(vec![
                head.clone(),
                (kind, number),
                keep.clone(),
                end.clone(),
            ]);
        }
    }
    let mut body = end.1.clone();
    *body.last_mut().expect("a digest") ^= 1;
    wrong.push(vec![head.clone(), keep.clone(), (5, body)]);
    wrong.push(vec![
        head.clone(),
        keep.clone(),
        (77, Vec::new()),
        end.clone(),
    ]);
    for records in wrong {
        let joined = scene.joined(&base, &forged(&records)).map(|it| it.len());
        assert!(
            matches!(joined, Err(CatalogueError::Damaged { .. })),
            "{records:?}: {joined:?}"
        );
    }
}

/// The maximum number of samples of a content in a catalogue, or `None` for no limit.
fn most_samples() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![Just(None), Just(Some(8)), Just(Some(16))]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// For any two catalogues, joining the first with the delta gives the second, byte for byte. If
    /// the first has sparser samples, the samples of the second are thinned.
    #[test]
    fn a_base_and_a_delta_are_the_new_catalogue(
        (old, new) in (tree(), tree()),
        (of_old, of_new) in (most_samples(), most_samples()),
    ) {
        let mut scene = Scene::new();
        let samples = |most: Option<u32>| most.map_or(Samples::All, Samples::AtMost);
        let fewer = of_old.into_iter().chain(of_new).min();
        let base = catalogue(&old, samples(of_old));
        let whole = catalogue(&new, samples(fewer));
        let delta = scene.delta(&base, &catalogue(&new, samples(of_new)));
        prop_assert_eq!(scene.joined(&base, &delta).expect("joined"), whole);
    }
}

/// The records of a delta are changed at random, and its digest is made correct again. Joining then
/// gives either the new catalogue or an error.
#[test]
fn changed_deltas_make_the_new_catalogue_or_nothing() {
    let mut scene = Scene::new();
    let mut old = usual();
    old.names
        .retain(|names, _| names.first().is_none_or(|name| name < &b"d3".to_vec()));
    let mut new = old.clone();
    new.names
        .insert(vec![b"b".to_vec()], Made::File(250, 200, 1));
    new.names
        .insert(vec![b"d1".to_vec(), b"g".to_vec()], Made::File(251, 7, 1));
    new.names.remove(&file_of(20, 20).0);
    let base = catalogue(&old, Samples::All);
    let whole = catalogue(&new, Samples::All);
    let mut sample = scene.delta(&base, &whole);
    sample.truncate(sample.len() - CHECKSUM);
    let mut takes = |bytes: &[u8]| {
        let checksum = digest(bytes);
        let joined = scene.joined(&base, &[bytes, &checksum.0].concat());
        if let Ok(joined) = &joined {
            assert!(*joined == whole, "another catalogue");
        }
        joined.is_ok()
    };
    assert!(takes(&sample));
    resemble_testutil::fuzz("deltas", 400, vec![sample], &mut takes);
}
