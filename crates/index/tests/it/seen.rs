//! Tests that a restricted snapshot behaves like an index with only the files that the caller can
//! open.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_callers::{AccessCheck, Listable, Seen, SeenPlace};
use resemble_core::{ContentDigest, Params};
use resemble_index::{Entry, Index, Options, PostingKind, ReadError, Snapshot};
use resemble_testutil::random::Random;

use crate::made::{chunk_key, digest, read, stat};

/// An access check that allows the files at these paths, if they have these inode numbers. The
/// check allows all folders.
#[derive(Debug)]
struct Table(BTreeMap<PathBuf, u64>);

impl AccessCheck for Table {
    fn look(&self, paths: &[PathBuf]) -> io::Result<Vec<Seen>> {
        let place = |ino| {
            let stat = stat(ino, 1);
            SeenPlace {
                dev: 1,
                ino,
                size: stat.size.0,
                mtime: (stat.mtime.secs, stat.mtime.nanos),
                ctime: (stat.ctime.secs, stat.ctime.nanos),
            }
        };
        let look = |path: &PathBuf| match self.0.get(path) {
            Some(&ino) => Seen::File(place(ino)),
            None if path.extension().is_some() => Seen::Nothing,
            None => Seen::Folder(place(0), Listable(true)),
        };
        Ok(paths.iter().map(look).collect())
    }
}

/// An access check that always fails.
#[derive(Debug)]
struct Blind;

impl AccessCheck for Blind {
    fn look(&self, _: &[PathBuf]) -> io::Result<Vec<Seen>> {
        Err(io::ErrorKind::ConnectionRefused.into())
    }
}

const KEYS: std::ops::Range<u32> = 0..12;
const NAMES: u64 = 20;

/// A path of a file, its inode number, and the number of its content.
type Name = (PathBuf, u64, u64);

/// Makes paths in a few folders. Some paths belong to the same file, and many files have the same
/// content.
fn names(random: &mut Random) -> Vec<Name> {
    let mut names = Vec::new();
    for number in 0..40 {
        let path = format!("/r/d{}/f{number}.x", random.below(4));
        let other = random.below(names.len());
        let (ino, content) = match names.get(other) {
            // This path is a further name of a file, a copy of a file, or a new file.
            Some(&(_, ino, content)) if random.below(5) == 0 => (ino, content),
            Some(&(_, _, content)) if random.below(3) == 0 => (number + 1, content),
            _ => (number + 1, random.draw() % NAMES),
        };
        names.push((PathBuf::from(path), ino, content));
    }
    names
}

fn index(names: &[Name]) -> Index {
    let options = Options {
        boilerplate_limit: 3,
        ..Options::default()
    };
    let index = Index::in_memory_with(&Params::default(), &options).unwrap();
    for (path, ino, content) in names {
        let keys: Vec<u32> = KEYS
            .filter(|key| (content + 1) * 7 % (u64::from(*key) + 2) < 2)
            .collect();
        let samples: Vec<u64> = keys.iter().map(|&key| u64::from(key) + 100).collect();
        index
            .apply(vec![read(path, *ino, digest(*content, &keys, &samples))])
            .unwrap();
    }
    index
}

/// Asks all questions. The answers have no ids, so that the answers of two indexes can be compared.
fn told(snapshot: &Snapshot) -> Vec<String> {
    let mut told = Vec::new();
    let digest_of =
        |content| -> Option<ContentDigest> { Some(snapshot.content(content).unwrap()?.digest) };
    let mut tell = |line: String| told.push(line);
    snapshot
        .walk(Path::new("/r"), &mut |path, entry| {
            if let Entry::File(file) = entry {
                let row = snapshot.file(*file).unwrap().unwrap();
                let content = row.state.content().unwrap();
                let names = snapshot.paths(*file).unwrap();
                tell(format!(
                    "{} {names:?} {:?} {:?}",
                    path.display(),
                    row.stat.ino,
                    digest_of(content)
                ));
            }
            ControlFlow::Continue(())
        })
        .unwrap();
    for name in 0..NAMES {
        let wanted = digest(name, &[], &[]).content;
        let Some(found) = snapshot.content_by_digest(&wanted).unwrap() else {
            continue;
        };
        let row = snapshot.content(found).unwrap().unwrap();
        let files = snapshot.files_of(found).unwrap();
        let mut paths: Vec<_> = files
            .iter()
            .map(|&file| snapshot.paths(file).unwrap())
            .collect();
        paths.sort();
        let chunks = snapshot.chunks(found).unwrap();
        let samples = snapshot.signature(found).unwrap();
        tell(format!(
            "{name}: {} {paths:?} {chunks:?} {samples:?}",
            row.files
        ));
    }
    for key in KEYS {
        let both = [
            (PostingKind::Chunk, chunk_key(key)),
            (PostingKind::Fingerprint, u64::from(key) + 100),
        ];
        for (kind, at) in both {
            let mut found = Vec::new();
            for most in [2, 3, u32::MAX] {
                let mut noted = |_: usize, contents: &[_]| {
                    let mut digests: Vec<_> = contents.iter().map(|&one| digest_of(one)).collect();
                    digests.sort();
                    found.push((most, digests));
                };
                snapshot
                    .postings_up_to(kind, &[at], most, &mut noted)
                    .unwrap();
            }
            let is = snapshot.is_boilerplate(kind, at).unwrap();
            tell(format!(
                "{key}: {found:?} {is} {:?}",
                snapshot.boilerplate_count(kind, at)
            ));
        }
    }
    told
}

#[test]
fn a_view_is_an_index_of_what_is_seen() {
    let mut canary = 0;
    for seed in 0..60 {
        let mut random = Random::new(seed);
        let all = names(&mut random);
        let seen: Vec<Name> = all
            .iter()
            .filter(|_| random.below(2) == 0)
            .cloned()
            .collect();
        let sight = seen.iter().map(|(path, ino, _)| (path.clone(), *ino));
        let index_of_all = index(&all);
        let view = index_of_all
            .snapshot()
            .unwrap()
            .seen_by(Arc::new(Table(sight.collect())));
        let expected = told(&index(&seen).snapshot().unwrap());
        assert_eq!(told(&view), expected, "seed {seed}");
        // A caller who can open everything gets the answers of the whole index. They mostly differ
        // from the answers of the restricted caller.
        let everything = all
            .iter()
            .map(|(path, ino, _)| (path.clone(), *ino))
            .collect();
        let everything = index_of_all
            .snapshot()
            .unwrap()
            .seen_by(Arc::new(Table(everything)));
        assert_eq!(
            told(&everything),
            told(&index_of_all.snapshot().unwrap()),
            "seed {seed}"
        );
        canary += u32::from(told(&everything) != expected);
    }
    assert!(canary > 50, "{canary}");
}

#[test]
fn what_is_known_of_all_together_is_not_told() {
    let index = index(&names(&mut Random::new(1)));
    let snapshot = index.snapshot().unwrap();
    let view = snapshot.clone().seen_by(Arc::new(Table(BTreeMap::new())));
    assert!(snapshot.totals().unwrap().files > 0);
    assert_eq!(view.totals().unwrap(), resemble_index::Totals::default());
    assert!(view.is_partial() && !snapshot.is_partial());
    assert!(view.boilerplate(PostingKind::Chunk).is_empty());
    let (a, b) = (digest(1, &[], &[]).content, digest(2, &[], &[]).content);
    let kept: BTreeSet<_> = [&snapshot, &view]
        .map(|view| {
            view.kept_measures(&a, &b, resemble_core::similarity::Unit::Bytes)
                .is_some()
        })
        .into();
    assert_eq!(kept, [false].into());
}

/// A name is not seen if another file is at the path now, or if the caller is allowed to see the
/// file only at another path.
#[test]
fn a_name_that_leads_elsewhere_is_not_seen() {
    let names = vec![(PathBuf::from("/r/a.x"), 1, 1)];
    let index = index(&names);
    let sees = |sight: Table| {
        let view = index.snapshot().unwrap().seen_by(Arc::new(sight));
        view.file_at(Path::new("/r/a.x")).unwrap().is_some()
    };
    assert!(sees(Table([("/r/a.x".into(), 1)].into())));
    assert!(!sees(Table([("/r/a.x".into(), 2)].into())), "another inode");
    assert!(!sees(Table([("/r/b.x".into(), 1)].into())), "another name");
}

#[test]
fn without_eyes_nothing_is_answered() {
    let index = index(&names(&mut Random::new(2)));
    let view = index.snapshot().unwrap().seen_by(Arc::new(Blind));
    let unchecked = |failed: Result<(), ReadError>| {
        assert!(
            matches!(failed, Err(ReadError::Unchecked { .. })),
            "{failed:?}"
        );
    };
    unchecked(view.entry(Path::new("/r")).map(drop));
    unchecked(view.list(Path::new("/r/d1")).map(drop));
    unchecked(
        view.content_by_digest(&digest(1, &[], &[]).content)
            .map(drop),
    );
    let key = KEYS.map(chunk_key).collect::<Vec<_>>();
    unchecked(view.postings(PostingKind::Chunk, &key, &mut |_, _| ()));
}
