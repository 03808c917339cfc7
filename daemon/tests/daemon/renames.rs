//! Tests files and folders that take each other's names. The index must equal the index of a fresh
//! scan. The daemon must still know when each content was first seen.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::{fs, io};

use resemble_proto::message::{DepartedRequest, FirstSeen, FirstSeenRequest};
use resemble_testutil::asked_for;
use resemble_testutil::random::Random;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::process::Signal;

use crate::support::{Daemon, Place, text, wire};

/// Returns, for each file, when and where its content was first seen.
fn first_seen(daemon: &Daemon<'_>, files: &[PathBuf]) -> BTreeMap<PathBuf, FirstSeen> {
    let paths = files.iter().map(|path| wire(path)).collect();
    let answer = daemon.client().ask(FirstSeenRequest { paths }, &mut |_| ());
    let rows = answer.unwrap().body.into_iter();
    rows.map(|row| (row.path.as_path().to_owned(), row.first_seen))
        .collect()
}

/// Returns all files of the tree.
fn files(place: &Place) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![place.root.clone()];
    while let Some(folder) = folders.pop() {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else {
                files.push(path);
            }
        }
    }
    files
}

/// Waits until contents that are seen from now on get a later time than those in `seen`. Returns
/// the latest time in `seen`.
fn age(daemon: &Daemon<'_>, seen: &BTreeMap<PathBuf, FirstSeen>) -> i64 {
    let last = seen.values().map(|first| first.time).max().unwrap();
    let now = || {
        std::time::SystemTime::UNIX_EPOCH
            .elapsed()
            .unwrap()
            .as_secs()
    };
    while now().cast_signed() <= last {
        daemon.sync();
    }
    last
}

/// Changes the tree while the daemon is stopped. Then the daemon gets all events at once, and the
/// tree does not change while the daemon checks them.
fn unheard(daemon: &Daemon<'_>, change: impl FnOnce()) {
    daemon.signal(Signal::STOP);
    change();
    daemon.signal(Signal::CONT);
}

/// Renames that are made in sequence: `a>b` renames a to b, `a=b` exchanges two names, `-a` removes
/// a folder, and `+a` makes one.
const CASES: [(&str, &str); 14] = [
    ("two folders", "a>t b>a t>b"),
    ("two folders exchanged", "a=b"),
    ("two folders and back", "a=b a=b"),
    ("three folders", "a>t b>a c>b t>c"),
    ("three folders exchanged", "a=b b=c"),
    ("a chain of folders", "c>d b>c a>b"),
    ("a folder over a removed one", "-b a>b"),
    ("a folder over one that moved away", "b>d a>b"),
    ("into a new folder", "+n a>n/a"),
    ("out of a folder that moves", "a/s>s a>d"),
    ("two files", "x>t y>x t>y"),
    ("two files exchanged", "x=y"),
    ("a chain of files", "z>w y>z x>y"),
    ("a file below its own name", "x>t +x t>x/x"),
];

fn act(root: &Path, step: &str) {
    let path = |name: &str| root.join(name);
    if let Some(gone) = step.strip_prefix('-') {
        fs::remove_dir_all(path(gone)).unwrap();
    } else if let Some(new) = step.strip_prefix('+') {
        fs::create_dir(path(new)).unwrap();
    } else if let Some((a, b)) = step.split_once('=') {
        renameat_with(CWD, path(a), CWD, path(b), RenameFlags::EXCHANGE).unwrap();
    } else {
        let (from, to) = step.split_once('>').unwrap();
        fs::rename(path(from), path(to)).unwrap();
    }
}

#[test]
fn names_that_change_places_keep_when_their_contents_were_first_seen() {
    let place = Place::new();
    let names = [
        "x", "y", "z", "a/f", "a/g", "a/s/f", "b/f", "b/h", "b/s/f", "c/f",
    ];
    let mut seed = 0;
    for (case, _) in CASES {
        for name in names {
            seed += 1;
            place.write(&format!("{case}/{name}"), seed);
        }
    }
    let daemon = place.start();
    daemon.sync();
    let last = age(&daemon, &first_seen(&daemon, &files(&place)));
    for (case, steps) in CASES {
        let root = place.in_tree(case);
        unheard(&daemon, || {
            steps.split(' ').for_each(|step| act(&root, step));
        });
        daemon.sync();
    }
    daemon.assert_converged();
    let now = files(&place);
    let seen = first_seen(&daemon, &now);
    let is_old = |path: &PathBuf| seen.get(path).is_some_and(|first| first.time <= last);
    let wrong: Vec<_> = now.iter().filter(|path| !is_old(path)).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// A storm of random changes to one tree, and what the daemon must know after it.
struct Storm<'a> {
    place: &'a Place,
    random: Random,
    written: u32,
    /// The time at which the bytes of each file were first seen.
    seen: HashMap<String, i64>,
    /// The bytes of files that are no longer in the folder in which they were first seen. If that
    /// folder is removed, the daemon may lose the time of the first sight.
    alone: HashSet<String>,
    /// For each path, the bytes that were there most recently.
    former: BTreeMap<PathBuf, String>,
}

impl Storm<'_> {
    fn folder(&mut self) -> PathBuf {
        let folder = self.place.in_tree(&format!("d{}", self.random.below(4)));
        match self.random.below(2) {
            0 => folder,
            _ => folder.join(format!("e{}", self.random.below(2))),
        }
    }

    fn file(&mut self) -> PathBuf {
        let n = self.random.below(4);
        self.folder().join(format!("f{n}"))
    }

    fn one(&mut self) -> io::Result<()> {
        let is_file = self.random.below(3) == 0;
        let mut names = Vec::new();
        for _ in 0..4 {
            names.push(if is_file { self.file() } else { self.folder() });
        }
        let [a, b, c, new] = &names[..] else {
            unreachable!()
        };
        let spare = self.place.in_tree("spare");
        if is_file {
            for name in &names {
                self.alone.extend(fs::read_to_string(name));
            }
        }
        match self.random.below(10) {
            0 | 1 => {
                let path = self.file();
                fs::create_dir_all(path.parent().unwrap())?;
                self.written += 1;
                self.former.remove(&path);
                fs::write(path, text(self.written))
            }
            2 => fs::rename(a, b),
            3 => cycle(&[a, b], &spare),
            4 => cycle(&[a, b, c], &spare),
            5 => Ok(renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE)?),
            6 => remove(b).and_then(|()| fs::rename(a, b)),
            7 => fs::rename(b, c).and_then(|()| fs::rename(a, b)),
            8 => {
                fs::create_dir_all(new.parent().unwrap())?;
                fs::rename(a, new)
            }
            _ => remove(a),
        }
    }

    /// Compares the daemon's answers with the tree after `steps` steps, and returns what is wrong.
    /// After several steps, removed paths are not compared, because their contents may have changed
    /// between the steps.
    fn compare(&mut self, daemon: &Daemon<'_>, steps: usize) -> Vec<String> {
        let mut wrong = Vec::new();
        let there: BTreeMap<PathBuf, String> = files(self.place)
            .into_iter()
            .filter_map(|path| fs::read_to_string(&path).map(|text| (path, text)).ok())
            .collect();
        let firsts = first_seen(daemon, &there.keys().cloned().collect::<Vec<_>>());
        let before = std::mem::take(&mut self.seen);
        for (path, text) in &there {
            let (now, known) = (firsts.get(path), before.get(text));
            let time = now.map(|first| first.time);
            let is_right = match (time, known) {
                (Some(time), Some(known)) => time == *known,
                // The time may be unknown if the content was moved, because the folder in which it
                // was first seen may be gone.
                (None, _) => self.alone.contains(text) || self.former.get(path) != Some(text),
                (Some(_), None) => true,
            };
            if !is_right {
                wrong.push(format!("{}: {now:?}, not {known:?}", path.display()));
            }
            if now.is_none_or(|first| first.path.as_path().parent() != path.parent()) {
                self.alone.insert(text.clone());
            }
            let time = time.or(known.copied());
            self.seen.extend(time.map(|time| (text.clone(), time)));
        }
        let lost = self
            .former
            .iter()
            .filter(|(path, _)| !there.contains_key(*path));
        let is_there = |text: &String| there.values().any(|there| there == text);
        let lost = lost.filter(|(_, text)| steps == 1 && is_there(text));
        let paths = lost.clone().map(|(path, _)| wire(path)).collect();
        let answer = daemon.client().ask(DepartedRequest { paths }, &mut |_| ());
        let rows = answer.unwrap().body;
        for (path, text) in lost {
            let row = rows.iter().find(|row| row.path.as_path() == path);
            let is_right = row.is_some_and(|row| {
                let is_it = |text_there: &String| row.renamed || text_there == text;
                let is_there = |place: &Path| there.get(place).is_some_and(is_it);
                let mut places = row.places.iter();
                !row.places.is_empty() && places.all(|place| is_there(place.as_path()))
            });
            if !is_right {
                wrong.push(format!("{} is lost: {row:?}", path.display()));
            }
        }
        self.former.extend(there);
        wrong
    }
}

/// Renames each file to the name of the next file, and the last file to the name of the first.
fn cycle(names: &[&PathBuf], spare: &Path) -> io::Result<()> {
    fs::rename(names[names.len() - 1], spare)?;
    let renamed = names
        .windows(2)
        .rev()
        .map(|pair| fs::rename(pair[0], pair[1]));
    let renamed: Vec<_> = renamed.collect();
    // If a rename failed, the last file gets its own name back.
    if renamed.iter().all(Result::is_ok) {
        return fs::rename(spare, names[0]);
    }
    fs::rename(spare, names[names.len() - 1])
}

fn remove(path: &Path) -> io::Result<()> {
    if path.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

/// `RESEMBLE_RENAMES=200` runs 200 storms, which takes long.
#[test]
fn a_storm_of_renames_keeps_what_is_known() {
    let storms = asked_for("RESEMBLE_RENAMES").unwrap_or(2);
    let first = asked_for("RESEMBLE_RENAMES_FIRST").unwrap_or(1);
    let mut failed = Vec::new();
    for seed in first..first + storms {
        let place = Place::new();
        let mut storm = Storm {
            place: &place,
            random: Random::new(seed),
            written: 0,
            seen: HashMap::new(),
            alone: HashSet::new(),
            former: BTreeMap::new(),
        };
        for n in 0..12 {
            storm.written += 1;
            place.write(&format!("d{}/e{}/f{n}", n % 3, n % 2), storm.written);
            storm.written += 1;
            place.write(&format!("d{}/f{}", n % 4, n % 3), storm.written);
        }
        let daemon = place.start();
        daemon.sync();
        assert_eq!(storm.compare(&daemon, 0), [""; 0]);
        age(&daemon, &first_seen(&daemon, &files(&place)));
        for round in 0..8 {
            let steps = 1 + storm.random.below(5);
            unheard(&daemon, || {
                for _ in 0..steps {
                    // A step may fail because it is not possible in the present tree.
                    let _outcome = storm.one();
                }
            });
            daemon.assert_converged();
            let wrong = storm.compare(&daemon, steps);
            if !wrong.is_empty() {
                failed.push(format!("storm {seed}, round {round}: {wrong:#?}"));
                break;
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
