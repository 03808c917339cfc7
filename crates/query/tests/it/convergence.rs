//! Convergence: after any changes to a tree, an index that follows the events equals that of a
//! fresh scan.
//!
//! The events are modelled on those of inotify for directories. A change is reported only under the
//! name through which it was made. If a directory moves, nothing is reported about its entries. If
//! a hard-linked file changes, nothing is reported about its other names. A watcher may report
//! more, in any order, or only the directory. The test draws these choices at random. So a failing
//! case can be reduced to the few operations that cause it.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use crate::scene::Scene;
use proptest::prelude::*;
use resemble_scan::ingest::{Cause, Target};
use resemble_testutil::random::letters as text;

/// An operation. Its numbers select from a small number of names, so that several operations affect
/// the same name.
#[derive(Clone, Debug)]
enum Op {
    Write(u8, u8),
    Append(u8, u8),
    Truncate(u8),
    SaveByRename(u8, u8),
    Rename(u8, u8),
    RenameDir(u8, u8),
    Exchange(u8, u8),
    HardLink(u8, u8),
    Symlink(u8),
    MakeDir(u8),
    Remove(u8),
    RemoveDir(u8),
    SameSizeSameTime(u8, u8),
    Chmod(u8),
    /// Processes the gathered events.
    Look,
}

/// The way in which the events of an operation are reported.
#[derive(Clone, Copy, Debug)]
struct Telling {
    /// Reports a rename as one event instead of two unrelated names.
    paired: bool,
    /// Reverses the order.
    backwards: bool,
}

fn ops() -> impl Strategy<Value = Vec<(Op, bool)>> {
    let n = || 0u8..24;
    let op = prop_oneof![
        4 => (n(), n()).prop_map(|(a, b)| Op::Write(a, b)),
        1 => (n(), n()).prop_map(|(a, b)| Op::Append(a, b)),
        1 => n().prop_map(Op::Truncate),
        2 => (n(), n()).prop_map(|(a, b)| Op::SaveByRename(a, b)),
        3 => (n(), n()).prop_map(|(a, b)| Op::Rename(a, b)),
        3 => (n(), n()).prop_map(|(a, b)| Op::RenameDir(a, b)),
        1 => (n(), n()).prop_map(|(a, b)| Op::Exchange(a, b)),
        2 => (n(), n()).prop_map(|(a, b)| Op::HardLink(a, b)),
        1 => n().prop_map(Op::Symlink),
        1 => n().prop_map(Op::MakeDir),
        2 => n().prop_map(Op::Remove),
        1 => n().prop_map(Op::RemoveDir),
        1 => (n(), n()).prop_map(|(a, b)| Op::SameSizeSameTime(a, b)),
        1 => n().prop_map(Op::Chmod),
        3 => Just(Op::Look),
    ];
    proptest::collection::vec((op, any::<bool>()), 1..60)
}

/// Returns one of 17 names at several depths. Some names are directories that contain other names.
fn name(n: u8) -> String {
    match n {
        0..6 => format!("f{n}"),
        6..12 => format!("a/f{}", n % 3),
        12..16 => format!("a/b/f{}", n % 2),
        16..20 => format!("c/f{}", n % 2),
        20 => "a".into(),
        21 => "c".into(),
        22 => "a/b".into(),
        _ => "c/b".into(),
    }
}

fn folder(n: u8) -> &'static str {
    ["a", "a/b", "c", "c/b", "d", "d/e"][usize::from(n % 6)]
}

struct Storm {
    scene: Scene,
    waiting: Vec<Target>,
    telling: Telling,
    spare: u32,
}

impl Storm {
    fn path(&self, n: u8) -> PathBuf {
        self.scene.path(&name(n))
    }

    /// Creates the missing directories above a path, and records an event for each.
    fn make_way(&mut self, path: &Path) {
        let root = self.scene.root();
        let missing: Vec<PathBuf> = path
            .ancestors()
            .skip(1)
            .take_while(|above| *above != root && !above.exists())
            .map(Path::to_path_buf)
            .collect();
        for dir in missing.into_iter().rev() {
            if fs::create_dir(&dir).is_ok() {
                self.waiting.push(Target::entry(dir, Cause::Unknown));
            }
        }
    }

    fn renamed(&mut self, from: PathBuf, to: PathBuf) {
        if self.telling.paired {
            let modified = false;
            self.waiting.push(Target::Renamed { from, to, modified });
        } else {
            self.waiting.push(Target::entry(from, Cause::Unknown));
            // inotify reports only the top of a moved tree, so a watcher lists the whole tree.
            self.waiting.push(Target::subtree(to));
        }
    }

    fn tell(&mut self, done: &std::io::Result<()>, path: PathBuf, cause: Cause) {
        if done.is_ok() {
            self.waiting.push(Target::entry(path, cause));
        }
    }

    /// Returns the names that an operation touches.
    fn names(&self, op: &Op) -> Vec<PathBuf> {
        match *op {
            Op::Write(n, _)
            | Op::Append(n, _)
            | Op::Truncate(n)
            | Op::SaveByRename(n, _)
            | Op::Symlink(n)
            | Op::Remove(n)
            | Op::SameSizeSameTime(n, _)
            | Op::Chmod(n) => vec![self.path(n)],
            Op::Rename(a, b) | Op::Exchange(a, b) | Op::HardLink(a, b) => {
                vec![self.path(a), self.path(b)]
            }
            Op::RenameDir(a, b) => [a, b].map(|n| self.scene.path(folder(n))).to_vec(),
            Op::MakeDir(n) | Op::RemoveDir(n) => vec![self.scene.path(folder(n))],
            Op::Look => Vec::new(),
        }
    }

    /// Returns whether a directory above is a symbolic link. A change below such a link would
    /// happen in another directory, and its event would name that directory.
    fn is_behind_link(&self, path: &Path) -> bool {
        let root = self.scene.root();
        let above = path.ancestors().skip(1).take_while(|above| *above != root);
        above.into_iter().any(Path::is_symlink)
    }

    fn run(&mut self, op: &Op) {
        if self.names(op).iter().any(|name| self.is_behind_link(name)) {
            return;
        }
        match *op {
            Op::Write(n, seed) => {
                let path = self.path(n);
                // A write through a symbolic link would change another file, whose event is not
                // modelled.
                if path.is_symlink() {
                    return;
                }
                self.make_way(&path);
                let bytes = text(seed.into(), 700 + 300 * usize::from(seed));
                let done = fs::write(&path, bytes);
                self.tell(&done, path, Cause::Modified);
            }
            Op::Append(n, seed) => {
                let path = self.path(n);
                if path.is_symlink() {
                    return;
                }
                let file = File::options().append(true).open(&path);
                let done = file.and_then(|mut file| {
                    std::io::Write::write_all(&mut file, &text(seed.into(), 500))
                });
                self.tell(&done, path, Cause::Modified);
            }
            Op::Truncate(n) => {
                let path = self.path(n);
                if path.is_symlink() {
                    return;
                }
                let file = File::options().write(true).open(&path);
                let done = file.and_then(|file| file.set_len(300));
                self.tell(&done, path, Cause::Modified);
            }
            Op::SaveByRename(n, seed) => {
                let path = self.path(n);
                self.make_way(&path);
                self.spare += 1;
                let spare = path.with_file_name(format!(".save{}", self.spare));
                let bytes = text(seed.into(), 900);
                let done = fs::write(&spare, bytes);
                self.tell(&done, spare.clone(), Cause::Modified);
                if fs::rename(&spare, &path).is_ok() {
                    self.renamed(spare, path);
                }
            }
            Op::Rename(a, b) => self.rename(self.path(a), self.path(b)),
            Op::RenameDir(a, b) => {
                let (from, to) = (folder(a), folder(b));
                self.rename(self.scene.path(from), self.scene.path(to));
            }
            Op::Exchange(a, b) => {
                let (a, b) = (self.path(a), self.path(b));
                let flags = rustix::fs::RenameFlags::EXCHANGE;
                let cwd = rustix::fs::CWD;
                if rustix::fs::renameat_with(cwd, &a, cwd, &b, flags).is_ok() {
                    self.renamed(a.clone(), b.clone());
                    self.renamed(b, a);
                }
            }
            Op::HardLink(a, b) => {
                let (from, to) = (self.path(a), self.path(b));
                self.make_way(&to);
                let done = fs::hard_link(&from, &to);
                self.tell(&done, to, Cause::Unknown);
                // If the new name vanished before the events are processed, no event would name the
                // linked file. Only a comparison of all inodes would find the change. So the events
                // are processed now.
                self.run(&Op::Look);
            }
            Op::Symlink(n) => {
                let path = self.path(n);
                self.make_way(&path);
                let done = symlink("a/f1", &path);
                self.tell(&done, path, Cause::Unknown);
            }
            Op::MakeDir(n) => {
                let path = self.scene.path(folder(n));
                self.make_way(&path);
                let done = fs::create_dir(&path);
                self.tell(&done, path, Cause::Unknown);
            }
            Op::Remove(n) => {
                let path = self.path(n);
                let done = fs::remove_file(&path);
                self.tell(&done, path, Cause::Unknown);
            }
            Op::RemoveDir(n) => {
                let path = self.scene.path(folder(n));
                let done = fs::remove_dir_all(&path);
                self.tell(&done, path, Cause::Unknown);
            }
            Op::SameSizeSameTime(n, seed) => {
                // A forged time is noticed only if the index already knows the file. So the events
                // are processed first.
                self.run(&Op::Look);
                let path = self.path(n);
                let Ok(before) = fs::symlink_metadata(&path) else {
                    return;
                };
                if !before.is_file() {
                    return;
                }
                let done = fs::write(&path, text(seed.into(), before.len() as usize));
                let dated = File::options()
                    .write(true)
                    .open(&path)
                    .and_then(|file| file.set_modified(before.modified()?));
                self.tell(&done.and(dated), path, Cause::Modified);
            }
            Op::Chmod(n) => {
                use std::os::unix::fs::PermissionsExt;
                let path = self.path(n);
                if !fs::symlink_metadata(&path).is_ok_and(|meta| meta.is_file()) {
                    return;
                }
                let done = fs::set_permissions(&path, fs::Permissions::from_mode(0o600));
                self.tell(&done, path, Cause::AttributesOnly);
            }
            Op::Look => {
                let waiting = merged(std::mem::take(&mut self.waiting), self.telling.backwards);
                let report = self.scene.look(&waiting);
                assert!(report.moving.is_empty(), "{:?}", report.moving);
            }
        }
    }

    fn rename(&mut self, from: PathBuf, to: PathBuf) {
        if !from.exists() {
            return;
        }
        self.make_way(&to);
        if fs::rename(&from, &to).is_ok() {
            self.renamed(from, to);
        }
    }
}

/// Merges the events of each path into one event, which gets the strongest cause among them.
fn merged(targets: Vec<Target>, backwards: bool) -> Vec<Target> {
    let strength = |cause: Cause| match cause {
        Cause::AttributesOnly => 0,
        Cause::Named => 1,
        Cause::Unknown => 2,
        Cause::Modified => 3,
    };
    let mut strongest: BTreeMap<PathBuf, Cause> = BTreeMap::new();
    for target in &targets {
        if let Target::Path { path, cause, .. } = target {
            let kept = strongest.entry(path.clone()).or_insert(*cause);
            if strength(*cause) > strength(*kept) {
                *kept = *cause;
            }
        }
    }
    let mut merged: Vec<Target> = targets
        .into_iter()
        .map(|target| match target {
            Target::Path {
                path,
                scope,
                read_now,
                ..
            } => {
                let cause = strongest.get(&path).copied().unwrap_or(Cause::Unknown);
                Target::Path {
                    path,
                    scope,
                    cause,
                    read_now,
                }
            }
            renamed @ Target::Renamed { .. } => renamed,
        })
        .collect();
    if backwards {
        merged.reverse();
    }
    merged
}

/// Returns a configuration with 96 cases. These take a few seconds. `PROPTEST_CASES` overrides the
/// number.
fn storms() -> ProptestConfig {
    let config = ProptestConfig::default();
    let cases = std::env::var_os("PROPTEST_CASES").map_or(96, |_| config.cases);
    ProptestConfig { cases, ..config }
}

proptest! {
    #![proptest_config(storms())]

    #[test]
    fn looking_where_events_say_gives_the_index_of_a_fresh_scan(
        ops in ops(),
        paired: bool,
        backwards: bool,
    ) {
        let telling = Telling { paired, backwards };
        let mut storm =
            Storm { scene: Scene::new(), waiting: Vec::new(), telling, spare: 0 };
        storm.scene.scan();
        for (op, flip) in &ops {
            storm.telling.paired = paired ^ flip;
            storm.run(op);
        }
        storm.run(&Op::Look);
        storm.scene.assert_as_fresh("after the events");
        // If a file lost a name without an event, a later scan may find that its change time is
        // new. But the scan changes nothing that a dump shows.
        let before = storm.scene.dump();
        prop_assert_eq!(storm.scene.scan().removed, 0);
        prop_assert_eq!(storm.scene.dump(), before);
    }

    #[test]
    fn a_scan_gives_the_index_of_a_fresh_scan(ops in ops()) {
        let telling = Telling { paired: true, backwards: false };
        let mut storm =
            Storm { scene: Scene::new(), waiting: Vec::new(), telling, spare: 0 };
        for (op, _) in &ops {
            match op {
                Op::Look => {
                    storm.scene.scan();
                }
                // This operation is left out. A scan that finds a file under another name trusts
                // its size and time, so it would not notice a forged time there.
                Op::SameSizeSameTime(..) => {}
                op => storm.run(op),
            }
        }
        storm.scene.scan();
        storm.scene.assert_as_fresh("after a scan");
    }
}
