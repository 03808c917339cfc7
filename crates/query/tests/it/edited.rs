//! If a large file changes in the middle, only the stretches that differ are digested. The index is
//! nevertheless equal to that of a fresh scan.

use std::fs::{self, File};
use std::io::Write as _;
use std::os::unix::fs::FileExt as _;
use std::time::Duration;

use proptest::prelude::*;
use resemble_scan::ingest::{Cause, Target, Unobserved};
use resemble_testutil::prose::prose;
use resemble_testutil::random::{Random, noise};

use crate::scene::Scene;

const MIB: usize = 1 << 20;

/// The size of a stretch. If any byte of a stretch differs, the whole stretch is digested.
const STRETCH: u64 = 8 << 20;

fn changed(scene: &Scene, name: &str) -> Target {
    Target::entry(scene.path(name), Cause::Modified)
}

fn overwrite(scene: &Scene, name: &str, bytes: &[u8], at: usize) {
    let file = File::options().write(true).open(scene.path(name));
    let file = file.expect("a file");
    file.write_all_at(bytes, at as u64).expect("written");
}

/// Returns bytes that look neither like a text nor like a program.
fn binary(seed: u64, len: usize) -> Vec<u8> {
    let mut bytes = noise(seed, len);
    bytes[0] = 0;
    bytes
}

#[test]
fn what_is_written_in_place_is_all_that_is_digested() {
    for bytes in [prose(1, 26 * MIB), binary(1, 26 * MIB)] {
        let size = bytes.len() as u64;
        let mut scene = Scene::of(&[("image", bytes)]);
        for (n, at) in [(2, 13 * MIB), (3, 100), (4, 26 * MIB - 10)] {
            overwrite(&scene, "image", &binary(n, 9)[1..], at);
            let report = scene.look(&[changed(&scene, "image")]);
            // The last stretch is shorter.
            let digested = STRETCH.min(size - at as u64 / STRETCH * STRETCH);
            assert_eq!(report.progress.bytes_read, size + digested, "{at}");
            assert_eq!(scene.ingest.assumed(), 0);
            scene.assert_as_fresh("written in place");
            scene.assert_posted("image");
        }
        // First the file is written again with the same bytes. Then it is changed and restored.
        let now = fs::read(scene.path("image")).expect("read");
        fs::write(scene.path("image"), &now).expect("written");
        let report = scene.look(&[changed(&scene, "image")]);
        assert_eq!(report.progress.bytes_read, size);
        overwrite(&scene, "image", b"once", 20 * MIB);
        scene.look(&[changed(&scene, "image")]);
        overwrite(&scene, "image", &now[20 * MIB..][..4], 20 * MIB);
        scene.look(&[changed(&scene, "image")]);
        scene.assert_as_fresh("as it was");
    }
}

#[test]
fn a_file_that_is_saved_as_editors_do_is_digested_where_it_differs() {
    let mut bytes = prose(1, 26 * MIB);
    let mut scene = Scene::of(&[("draft", bytes.clone())]);
    for n in 0..2 {
        bytes[13 * MIB + n..][..4].copy_from_slice(b"else");
        // The file also grows. But a byte before its old end changes, so the change is more than an
        // append.
        bytes.extend(b"the end");
        fs::write(scene.path("draft~"), &bytes).expect("written");
        fs::rename(scene.path("draft~"), scene.path("draft")).expect("renamed over");
        let report = scene.look(&[changed(&scene, "draft")]);
        let last = bytes.len() as u64 % STRETCH;
        assert_eq!(
            report.progress.bytes_read,
            // Every byte is read once, and one changed stretch is digested. The last stretch is
            // longer than before, so it is digested without a comparison.
            bytes.len() as u64 + STRETCH,
            "{last}"
        );
        assert_eq!(scene.ingest.assumed(), 0);
        scene.assert_as_fresh("saved");
    }
}

#[test]
fn what_grows_and_is_written_in_place_is_digested_from_where_it_differs() {
    let mut scene = Scene::of(&[("mail", prose(1, 26 * MIB))]);
    for n in 0..3 {
        let path = scene.path("mail");
        let mut file = File::options().append(true).open(path).expect("a file");
        file.write_all(&prose(10 + n, 5000)).expect("appended");
        if n == 1 {
            scene.look(&[changed(&scene, "mail")]);
        }
        overwrite(&scene, "mail", b"Status: read", 10 * MIB + n as usize);
        scene.look(&[changed(&scene, "mail")]);
        let report = scene.ingest.verify(&mut Unobserved).expect("verified");
        let size = scene.path("mail").metadata().expect("a file").len();
        assert!(report.progress.bytes_read <= 2 * size, "{n}");
        scene.assert_as_fresh("grown and written");
    }
}

#[test]
fn a_copy_that_stays_keeps_its_chunks() {
    let bytes = binary(1, 17 * MIB);
    let mut scene = Scene::of(&[("image", bytes.clone()), ("copy", bytes)]);
    overwrite(&scene, "image", b"changed", 3 * MIB);
    overwrite(&scene, "image", b"changed", 14 * MIB);
    scene.look(&[changed(&scene, "image")]);
    scene.assert_as_fresh("a copy stays");
}

#[test]
fn a_file_is_compared_in_turns() {
    let mut scene = Scene::of(&[("image", binary(1, 34 * MIB))]);
    overwrite(&scene, "image", b"changed", 20 * MIB);
    scene.ingest.set_turn(Some(Duration::ZERO));
    let mut read = 0;
    let mut turns = 0;
    loop {
        let report = scene.look(&[changed(&scene, "image")]);
        turns += 1;
        read += report.progress.bytes_read;
        if report.unfinished.is_empty() {
            break;
        }
    }
    assert!(turns >= 4, "{turns}");
    assert_eq!(read, 34 * MIB as u64 + STRETCH);
    scene.ingest.set_turn(None);
    scene.assert_as_fresh("compared in turns");
}

/// Changes the file `file` in a random way.
fn change(scene: &Scene, random: &mut Random) {
    let path = scene.path("file");
    let mut bytes = fs::read(&path).expect("read");
    let at = random.below(bytes.len() + 1);
    let end = |len: usize| (at + len).min(bytes.len());
    let file = File::options().write(true).open(&path).expect("a file");
    let seed = random.draw();
    let some = match random.below(2) {
        0 => noise(seed, 1 + random.below(3000)),
        _ => prose(seed, 1 + random.below(3000)),
    };
    match random.below(10) {
        0..=3 => file.write_all_at(&some, at as u64).expect("written"),
        4 => {
            let end = end(random.below(9 * MIB));
            file.write_all_at(&vec![0; end - at], at as u64)
                .expect("zeros");
        }
        5 => {
            bytes.splice(at..at, some);
            fs::write(&path, &bytes).expect("inserted");
        }
        6 => {
            bytes.drain(at..end(random.below(MIB)));
            fs::write(&path, &bytes).expect("deleted");
        }
        7 => file
            .set_len((bytes.len() + random.below(MIB)) as u64)
            .expect("longer"),
        8 => file.set_len(at.max(bytes.len() / 2) as u64).expect("cut"),
        _ => {
            // Saves the file as editors do.
            let end = end(some.len());
            bytes[at..end].copy_from_slice(&some[..end - at]);
            fs::write(scene.path("file~"), &bytes).expect("written");
            fs::rename(scene.path("file~"), &path).expect("renamed over");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4))]

    /// Makes several changes between two scans, to small and large files.
    #[test]
    fn whatever_is_edited_is_the_index_of_a_fresh_scan(seed: u64) {
        let mut random = Random::new(seed);
        let size = match random.below(4) {
            0 => random.below(3 * MIB),
            _ => 16 * MIB + random.below(12 * MIB),
        };
        let bytes = match random.below(2) {
            0 => prose(seed, size),
            _ => [b"\0".to_vec(), noise(seed, size)].concat(),
        };
        let mut scene = Scene::of(&[("file", bytes)]);
        for _ in 0..6 {
            for _ in 0..=random.below(3) {
                change(&scene, &mut random);
            }
            scene.scan();
            scene.ingest.verify(&mut Unobserved).expect("verified");
            scene.assert_as_fresh("edited");
            scene.assert_posted("file");
        }
    }
}
