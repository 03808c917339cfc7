//! Tests of bit rot. If any bytes of the file are changed, each answer is right or an error. The
//! error is reported to the owner of the index, and an index that is then rebuilt is right.

use std::fmt::Write;
use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use resemble_core::{ContentId, FileId, Params};
use resemble_index::{Change, Index, Options, PostingKind, ReadError, testing};
use resemble_testutil::random::Random;

use crate::made::{digest, read};

const BLOCK: usize = 4096;
const FILES: u64 = 160;

/// There is no cache, so every question reads the file.
const OPTIONS: Options = Options {
    cache_bytes: 0,
    boilerplate_limit: 20,
};

fn file(n: u64, version: u64) -> Change {
    let name = n + version * 10_000;
    let prints: Vec<u64> = (0..60).map(|k| (name * 60 + k) * 977 % (1 << 31)).collect();
    let chunks: Vec<u32> = (0..12).map(|k| (name * 12 + k) as u32).chain([1]).collect();
    read(
        format!("/srv/d{}/a file with a name {n}", n % 9),
        n + 1,
        digest(name, &chunks, &prints),
    )
}

/// Returns the batches from which the index is built.
fn batches() -> Vec<Vec<Change>> {
    let mut batches: Vec<Vec<Change>> = (0..4)
        .map(|part| {
            (part * FILES / 4..(part + 1) * FILES / 4)
                .map(|n| file(n, 0))
                .collect()
        })
        .collect();
    batches.extend((0..8).map(|round| (0..6).map(|n| file(round * 17 + n, 1)).collect()));
    batches.push(vec![
        Change::Remove("/srv/d4/a file with a name 13".into()),
        Change::Remove("/srv/d7".into()),
    ]);
    batches
}

/// Returns one more batch, which is applied after all the others.
fn further() -> Vec<Change> {
    (0..30).map(|n| file(n * 5, 2)).collect()
}

fn build(index: &Index) {
    for batch in batches() {
        index.apply(batch).unwrap();
    }
    index.put_record("daemon/roots", b"[\"/srv\"]").unwrap();
    index.finish_bulk().unwrap();
}

/// Asks all questions, and returns the answer to each.
fn answers(index: &Index) -> Vec<Result<String, ReadError>> {
    let snapshot = match index.snapshot() {
        Ok(snapshot) => snapshot,
        Err(error) => return vec![Err(error)],
    };
    let mut all = Vec::new();
    let mut walked = String::new();
    let walk = snapshot.walk(Path::new("/"), &mut |path, entry| {
        writeln!(walked, "{}: {entry:?}", path.display()).unwrap();
        std::ops::ControlFlow::Continue(())
    });
    all.push(walk.map(|()| walked));
    let text = |answer: Result<_, ReadError>| -> Result<String, ReadError> { answer };
    for n in 0..FILES + 3 {
        let path = PathBuf::from(format!("/srv/d{}/a file with a name {n}", n % 9));
        all.push(text(snapshot.file_at(&path).map(|row| format!("{row:?}"))));
        let (file, content) = (FileId(n as u32), ContentId(n as u32));
        all.push(snapshot.paths(file).map(|paths| format!("{paths:?}")));
        all.push(snapshot.content(content).map(|row| format!("{row:?}")));
        all.push(snapshot.files_of(content).map(|files| format!("{files:?}")));
        all.push(snapshot.chunks(content).map(|chunks| format!("{chunks:?}")));
        all.push(
            snapshot
                .signature(content)
                .map(|sample| format!("{sample:?}")),
        );
        let whole = digest(n, &[], &[]).content;
        all.push(
            snapshot
                .content_by_digest(&whole)
                .map(|id| format!("{id:?}")),
        );
        let keys = [
            crate::made::chunk_key(n as u32 * 13),
            n * 60 * 977 % (1 << 31),
            n * 61 * 977 % (1 << 31) + 1,
        ];
        for kind in PostingKind::ALL {
            let mut keys = keys.to_vec();
            keys.sort_unstable();
            let mut found = String::new();
            let asked = snapshot.postings(kind, &keys, &mut |key, contents| {
                writeln!(found, "{key} {contents:?}").unwrap();
            });
            all.push(asked.map(|()| found));
        }
    }
    all.push(snapshot.records("").map(|records| format!("{records:?}")));
    all.push(snapshot.totals().map(|mut totals| {
        totals.index_bytes = 0;
        format!("{totals:?}")
    }));
    all
}

fn right(index: &Index) -> Vec<String> {
    answers(index).into_iter().map(Result::unwrap).collect()
}

#[derive(Debug, Default)]
struct Figures {
    tried: u32,
    /// Number of files whose damage had no effect, because the damaged bytes were not read.
    right: u32,
    at_opening: u32,
    at_asking: u32,
    wrong: u32,
    unusable: u32,
}

struct Sample {
    folder: tempfile::TempDir,
    /// The bytes of the file after all batches. `before` has the bytes after each batch.
    bytes: Vec<u8>,
    before: Vec<Vec<u8>>,
    truth: Vec<String>,
    further: Vec<String>,
    anew: Vec<String>,
}

impl Sample {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("index.redb");
        let open = || Index::open(&path, &Params::default(), &OPTIONS).unwrap().0;
        let mut before = Vec::new();
        let index = open();
        for batch in batches() {
            index.apply(batch).unwrap();
            before.push(fs::read(&path).unwrap());
        }
        index.put_record("daemon/roots", b"[\"/srv\"]").unwrap();
        index.finish_bulk().unwrap();
        before.push(fs::read(&path).unwrap());
        drop(index);
        let bytes = fs::read(&path).unwrap();
        let index = open();
        let truth = right(&index);
        index.apply(further()).unwrap();
        let after = right(&index);
        drop(index);
        let anew = Index::in_memory_with(&Params::default(), &OPTIONS).unwrap();
        build(&anew);
        Self {
            anew: right(&anew),
            folder,
            bytes,
            before,
            truth,
            further: after,
        }
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("index.redb")
    }

    /// Returns the bytes of a damaged file. The kind of damage depends on the round, and the place
    /// is random.
    fn damage(&self, round: u32, random: &mut Random) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        let blocks = bytes.len() / BLOCK;
        let mut any = |below: usize| random.draw() as usize % below;
        let is_used = |block: usize| self.bytes[block * BLOCK..][..BLOCK].iter().any(|&b| b != 0);
        let block = loop {
            // There are few blocks at the front and few blocks of checksums. So these blocks are
            // chosen more often than others.
            let block = match round / 5 % 3 {
                0 => any(4),
                1 => any(blocks),
                _ => any(blocks / 2),
            };
            if is_used(block) {
                break block;
            }
        };
        let place = block * BLOCK..(block + 1) * BLOCK;
        match round % 5 {
            0 => bytes[place.start + any(BLOCK)] ^= 1 << any(8),
            1 => bytes[place].fill(0),
            2 => {
                let other = any(blocks) * BLOCK;
                bytes.copy_within(other..other + BLOCK, place.start);
            }
            3 => {
                let before = &self.before[any(self.before.len())];
                if let Some(older) = before.get(place.clone()) {
                    bytes[place].copy_from_slice(older);
                }
            }
            _ => bytes.truncate(any(bytes.len())),
        }
        bytes
    }

    /// Tests one damaged file. The file is damaged before it is opened, or while it is open
    /// (`is_live`).
    fn try_one(&self, bytes: &[u8], is_live: bool, figures: &mut Figures) {
        figures.tried += 1;
        let path = self.path();
        // Removes the files of the previous round, and the files that were set aside.
        for entry in fs::read_dir(self.folder.path()).unwrap() {
            fs::remove_file(entry.unwrap().path()).unwrap();
        }
        let open = || Index::open(&path, &Params::default(), &OPTIONS);
        fs::write(&path, if is_live { &self.bytes } else { bytes }).unwrap();
        let (index, aside) = open().unwrap();
        if aside.is_some() {
            figures.at_opening += 1;
            build(&index);
            figures.unusable += u32::from(right(&index) != self.anew);
            return;
        }
        if is_live {
            let file = File::options().write(true).open(&path).unwrap();
            file.set_len(bytes.len() as u64).unwrap();
            file.write_all_at(bytes, 0).unwrap();
        }
        let is_wrong = |answers: &[Result<String, ReadError>], truth: &[String]| {
            let mut pairs = answers.iter().zip(truth);
            pairs.any(|(answer, truth)| answer.as_ref().is_ok_and(|answer| answer != truth))
        };
        let mut given = answers(&index);
        let mut wrong = is_wrong(&given, &self.truth);
        if given.iter().all(Result::is_ok) && index.apply(further()).is_ok() {
            given = answers(&index);
            wrong |= is_wrong(&given, &self.further);
        }
        if wrong {
            figures.wrong += 1;
            return;
        }
        if index.damage().is_none() {
            figures.right += 1;
            figures.unusable += u32::from(given.iter().any(Result::is_err));
            return;
        }
        figures.at_asking += 1;
        index.set_aside().unwrap();
        // The old file is still open. A new file can still be created.
        let (new, aside) = open().unwrap();
        assert_eq!(aside, None);
        build(&new);
        figures.unusable += u32::from(right(&new) != self.anew);
    }

    fn run(&self, rounds: u32, seed: u64) -> Figures {
        let mut figures = Figures::default();
        let mut random = Random::new(seed);
        for round in 0..rounds {
            let bytes = self.damage(round, &mut random);
            self.try_one(&bytes, round % 4 == 3, &mut figures);
        }
        figures
    }
}

/// The environment variable `RESEMBLE_ROT_ROUNDS` sets the number of damaged files.
#[test]
fn a_damaged_file_answers_rightly_or_not_at_all() {
    let rounds = resemble_testutil::asked_for("RESEMBLE_ROT_ROUNDS").unwrap_or(60);
    let figures = Sample::new().run(rounds, 21);
    println!("bit rot: {figures:?}");
    assert_eq!((figures.wrong, figures.unusable), (0, 0), "{figures:?}");
    assert!(
        figures.at_opening > 0 && figures.at_asking > 0,
        "{figures:?}"
    );
}

#[test]
fn without_verification_some_answers_are_wrong() {
    let sample = Sample::new();
    testing::set_unverified(true);
    let figures = sample.run(200, 21);
    testing::set_unverified(false);
    println!("unverified: {figures:?}");
    assert!(figures.wrong > 0, "{figures:?}");
}

/// Verification while the index is idle finds damage, although no question is asked.
#[test]
fn idle_verification_finds_damage() {
    let sample = Sample::new();
    let path = sample.path();
    let open = |bytes: &[u8]| {
        fs::write(&path, bytes).unwrap();
        Index::open(&path, &Params::default(), &OPTIONS).unwrap()
    };
    let is_sound = |index: &Index| {
        let mut from = 0;
        loop {
            match index.verify_blocks(from) {
                Ok(Some(next)) => from = next,
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    };
    let (index, aside) = open(&sample.bytes);
    assert!(aside.is_none() && is_sound(&index));
    // In a compact file, nearly all blocks are in use.
    index.close().unwrap();
    let compact = fs::read(&path).unwrap();
    let (mut found, mut missed) = (0, 0);
    for block in 3..compact.len() / BLOCK {
        let mut bytes = compact.clone();
        if bytes[block * BLOCK..][..BLOCK].iter().all(|&b| b == 0) {
            continue;
        }
        bytes[block * BLOCK + 100] ^= 1;
        let (index, aside) = open(&bytes);
        let is_found = aside.is_some() || !is_sound(&index);
        assert!(aside.is_some() || is_found == index.damage().is_some());
        *if is_found { &mut found } else { &mut missed } += 1;
    }
    // Damage in blocks that no commit uses is not found, and has no effect.
    assert!(found > 4 * missed, "{found} found, {missed} missed");
}

#[test]
fn whoever_keeps_the_index_is_told_of_damage_once() {
    let sample = Sample::new();
    let (index, _) = Index::open(&sample.path(), &Params::default(), &OPTIONS).unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    let early = tell.clone();
    index.on_damage(move |reason| early.send(reason.to_owned()).unwrap());
    let file = File::options().write(true).open(sample.path()).unwrap();
    file.write_all_at(&vec![0; sample.bytes.len() - 3 * BLOCK], 3 * BLOCK as u64)
        .unwrap();
    let snapshot = index.snapshot();
    let asked = snapshot.and_then(|snapshot| snapshot.list(Path::new("/srv/d1")));
    assert!(matches!(asked, Err(ReadError::Damaged { .. })), "{asked:?}");
    assert!(told.try_recv().unwrap().contains("block"));
    assert!(told.try_recv().is_err());
    // A listener that is set after the damage was found is called at once.
    index.on_damage(move |reason| tell.send(reason.to_owned()).unwrap());
    let damage = index.damage().unwrap().to_string();
    assert!(damage.contains(&told.try_recv().unwrap()), "{damage}");
}
