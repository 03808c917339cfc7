//! If a large file grows, at first only the bytes after its old end are read. If the other bytes
//! are unchanged, the index then equals that of a fresh scan. All bytes are verified later.

use std::fs::{self, File};
use std::io::{Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::FileExt as _;
use std::sync::Arc;

use proptest::prelude::*;
use resemble_scan::ingest::{Cause, Ingest, Target, Unobserved};
use resemble_testutil::prose::prose;
use resemble_testutil::random::{Random, noise};

use crate::scene::Scene;

const MIB: usize = 1 << 20;

fn append(scene: &Scene, name: &str, bytes: &[u8]) {
    let mut file = File::options()
        .append(true)
        .open(scene.path(name))
        .expect("a file");
    file.write_all(bytes).expect("appended");
}

/// Returns the target for a reported change of a file.
fn changed(scene: &Scene, name: &str) -> Target {
    Target::entry(scene.path(name), Cause::Modified)
}

/// Makes a scene with the file `log` and scans it.
fn scene_of(bytes: Vec<u8>) -> Scene {
    let scene = Scene::of(&[("log", bytes)]);
    assert_eq!(scene.ingest.assumed(), 0);
    scene
}

#[test]
fn what_is_appended_is_all_that_is_read() {
    let mut scene = scene_of(prose(1, 9 * MIB));
    let blocks = scene.fingerprint_blocks();
    assert!(blocks > 20, "{blocks}");
    for n in 0..4 {
        let line = prose(2 + n, 1000);
        append(&scene, "log", &line);
        let report = scene.look(&[changed(&scene, "log")]);
        assert_eq!(report.progress.bytes_read, line.len() as u64);
        assert!(!report.recheck.is_empty(), "it has to be verified");
        assert_eq!(scene.ingest.assumed(), 1);
        scene.assert_as_fresh("appended");
        scene.assert_posted("log");
    }
    assert!(scene.fingerprint_blocks() <= blocks + 4);
    // Verification reads every byte of the file once, and writes nothing to the index.
    let report = scene.ingest.verify(&mut Unobserved).expect("verified");
    let size = scene.path("log").metadata().expect("a file").len();
    assert_eq!(report.progress.bytes_read, size);
    assert_eq!((report.changes, scene.ingest.assumed()), (0, 0));
    scene.assert_as_fresh("verified");
    // All of the file has been verified, so nothing is left to verify.
    let report = scene.ingest.verify(&mut Unobserved).expect("verified");
    assert_eq!(report.progress.bytes_read, 0);
}

#[test]
fn a_file_that_grows_while_it_is_verified_is_not_chunked_again() {
    let mut scene = scene_of(prose(1, 9 * MIB));
    append(&scene, "log", b"one more line\n");
    scene.look(&[changed(&scene, "log")]);
    append(&scene, "log", b"and another one\n");
    let report = scene.ingest.verify(&mut Unobserved).expect("verified");
    let size = scene.path("log").metadata().expect("a file").len();
    assert_eq!(report.progress.bytes_read, size);
    assert_eq!(scene.ingest.assumed(), 0);
    scene.assert_as_fresh("verified");
}

#[test]
fn a_change_hidden_behind_an_append_is_found() {
    for is_asked in [true, false] {
        let mut scene = scene_of(noise(1, 9 * MIB));
        let file = File::options().write(true).open(scene.path("log"));
        let file = file.expect("a file");
        file.write_all_at(b"changed", 5 * MIB as u64)
            .expect("written");
        append(&scene, "log", b"one more line\n");
        scene.look(&[changed(&scene, "log")]);
        assert_eq!(scene.ingest.assumed(), 1);
        assert_ne!(scene.dump(), scene.fresh_dump(), "what was hidden was read");
        if is_asked {
            scene.ingest.verify(&mut Unobserved).expect("verified");
        } else {
            // Simulates that the file has not changed for a long time. Then it is verified without
            // a request.
            let path = scene.path("log");
            let mut later = scene.later();
            let target = Target::entry(path, Cause::Unknown);
            later.reconcile(&[target], &mut Unobserved).expect("looked");
            later.verify(&mut Unobserved).expect("verified");
        }
        // A dump shows whether a file counts as settled. This depends on the time, so it may differ
        // between the dumps.
        let unsettled = |dump: String| dump.replace("unsettled", "settled");
        assert_eq!(unsettled(scene.dump()), unsettled(scene.fresh_dump()));
    }
}

#[test]
fn what_was_assumed_before_a_restart_is_verified() {
    let mut scene = scene_of(noise(1, 9 * MIB));
    let file = File::options().write(true).open(scene.path("log"));
    let file = file.expect("a file");
    file.write_all_at(b"changed", 5 * MIB as u64)
        .expect("written");
    append(&scene, "log", b"one more line\n");
    scene.look(&[changed(&scene, "log")]);
    let index = Arc::clone(&scene.index);
    scene.ingest = Ingest::new(index, scene.ingest.options().clone());
    let report = scene.scan();
    assert_eq!((report.progress.files_read, scene.ingest.assumed()), (0, 1));
    scene.ingest.verify(&mut Unobserved).expect("verified");
    scene.assert_as_fresh("verified");
    // The file has only just changed. But it has been verified, so no part of it is assumed again.
    scene.scan();
    assert_eq!(scene.ingest.assumed(), 0);
}

#[test]
fn a_renamed_file_is_still_verified() {
    let mut scene = scene_of(noise(1, 9 * MIB));
    append(&scene, "log", b"one more line\n");
    scene.look(&[changed(&scene, "log")]);
    let (from, to) = (scene.path("log"), scene.path("log.1"));
    fs::rename(&from, &to).expect("renamed");
    let modified = false;
    scene.look(&[Target::Renamed { from, to, modified }]);
    assert_eq!(scene.ingest.assumed(), 1);
    let report = scene.ingest.verify(&mut Unobserved).expect("verified");
    assert_eq!(report.progress.files_read, 1);
    assert_eq!(scene.ingest.assumed(), 0);
    fs::remove_file(scene.path("log.1")).expect("removed");
    scene.scan();
    scene.assert_as_fresh("removed");
}

#[test]
fn another_file_of_the_same_inode_is_read_whole() {
    let mut scene = scene_of(prose(1, 9 * MIB));
    // The file is overwritten in place, as by log rotation. In the first round all bytes change,
    // and in the second all bytes after the first MiB.
    for (n, keep) in [(5, 0), (6, MIB)] {
        let mut bytes = fs::read(scene.path("log")).expect("read");
        bytes.truncate(keep);
        bytes.extend(prose(n, 9 * MIB + 5000));
        fs::write(scene.path("log"), &bytes).expect("written");
        let report = scene.look(&[changed(&scene, "log")]);
        assert_eq!(report.progress.bytes_read, bytes.len() as u64);
        assert_eq!(scene.ingest.assumed(), 0);
        scene.assert_as_fresh("written anew");
    }
}

/// Changes a file in a random way, in place.
fn change(file: &mut File, random: &mut Random) {
    let size = file.metadata().expect("a file").len();
    let at = random.draw() % (size + 1);
    let bytes = noise(random.draw(), 1 + random.draw() as usize % 9000);
    match random.draw() % 7 {
        // Appends are the most frequent change, as for a log.
        0..=2 => {
            file.seek(SeekFrom::End(0)).expect("sought");
            file.write_all(&bytes).expect("written");
        }
        3 => file.write_all_at(&bytes, at).expect("written"),
        4 => file.set_len(at.max(size / 2)).expect("cut"),
        // Adds a hole at the end.
        5 => file
            .set_len(size + random.draw() % 3_000_000)
            .expect("longer"),
        _ => {
            let mut rest = vec![0; (size - at) as usize];
            file.read_exact_at(&mut rest, at).expect("read");
            file.write_all_at(&[bytes, rest].concat(), at)
                .expect("written");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6))]

    /// Makes several changes between two checks. An append may follow a change of another kind.
    #[test]
    fn whatever_happens_is_the_index_of_a_fresh_scan(seed: u64) {
        let mut random = Random::new(seed);
        let mut scene = scene_of(prose(seed, 5 * MIB + 12_345));
        for _ in 0..8 {
            let path = scene.path("log");
            let mut file = File::options().read(true).write(true).open(path).expect("a file");
            for _ in 0..=random.draw() % 3 {
                change(&mut file, &mut random);
            }
            scene.look(&[changed(&scene, "log")]);
            if random.draw().is_multiple_of(2) {
                scene.ingest.verify(&mut Unobserved).expect("verified");
                scene.assert_as_fresh("verified");
                scene.assert_posted("log");
            }
        }
        scene.ingest.verify(&mut Unobserved).expect("verified");
        scene.assert_as_fresh("at the end");
    }
}

#[test]
fn a_large_file_is_finished_in_turns() {
    let mut scene = scene_of(prose(1, 9 * MIB));
    fs::write(scene.path("log"), prose(2, 9 * MIB)).expect("written");
    fs::write(scene.path("small"), prose(3, MIB / 2)).expect("written");
    scene.ingest.set_turn(Some(std::time::Duration::ZERO));
    let mut targets = vec![changed(&scene, "log"), changed(&scene, "small")];
    let mut turns = 0;
    loop {
        let report = scene.look(&targets);
        turns += 1;
        let small = scene.snapshot().file_at(&scene.path("small"));
        assert!(
            small.expect("asked").is_some(),
            "it waits for the large one"
        );
        if report.unfinished.is_empty() {
            break;
        }
        assert_eq!(report.unfinished, [scene.path("log")]);
        targets = vec![changed(&scene, "log")];
    }
    assert!(turns >= 9, "{turns}");
    scene.ingest.set_turn(None);
    scene.assert_as_fresh("read in turns");
}
