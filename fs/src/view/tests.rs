//! Tests the namespace without a kernel. The doc comments of tests that are promises are repeated
//! in `docs/semantics.md`.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use resemble_core::Score;
use resemble_testutil::TempTree;
use rustix::fs::{CWD, FileType, Mode};

use super::*;
use crate::names::MAX_NAME;
use crate::neighbours::{Listing, MapNeighbours, Neighbour, Neighbours};

mod names;
mod safety;
mod shapes;
mod texts;

struct Fixture {
    dir: TempTree,
    map: Arc<MapNeighbours>,
}

impl Fixture {
    /// Makes the tree `docs/{report.txt,sub/old.txt,link}`, in which `report.txt` resembles
    /// `old.txt`.
    fn new() -> Self {
        let this = Self {
            dir: TempTree::new(),
            map: Arc::new(MapNeighbours::new()),
        };
        this.dir.write("docs/report.txt", "the report");
        this.dir.write("docs/sub/old.txt", "the old report");
        symlink("report.txt", this.path("docs/link")).unwrap();
        this.map.set(
            this.path("docs/report.txt"),
            vec![near(&this.path("docs/sub/old.txt"), 0.97)],
        );
        this
    }

    fn path(&self, rel: &str) -> PathBuf {
        self.dir.path(rel)
    }

    fn space(&self, view: View, show: Show) -> Namespace {
        self.space_of(view, show, &["docs"])
    }

    fn space_of(&self, view: View, show: Show, roots: &[&str]) -> Namespace {
        let roots: Vec<_> = roots.iter().map(|root| self.path(root)).collect();
        let map: Arc<dyn Neighbours> = Arc::clone(&self.map) as _;
        Namespace::new(view, show, &roots, vec![self.path("docs/M")], map).unwrap()
    }
}

fn near(target: &Path, score: f64) -> Neighbour {
    let a_in_b = Score::new(score);
    Neighbour {
        target: target.to_owned(),
        member: Vec::new(),
        member_size: 0,
        a_in_b,
        identical: false,
        relation: "near",
    }
}

/// Looks up names one after the other, as the kernel does. Dropping this value forgets all these
/// look-ups.
struct Walk<'a> {
    space: &'a Namespace,
    looked_up: Vec<u64>,
    entry: Entry,
}

impl<'a> Walk<'a> {
    fn to(space: &'a Namespace, path: &str) -> Result<Self, Refusal> {
        Self::to_names(
            space,
            path.split('/')
                .filter(|name| !name.is_empty())
                .map(OsStr::new),
        )
    }

    fn to_names<'n>(
        space: &'a Namespace,
        names: impl Iterator<Item = &'n OsStr>,
    ) -> Result<Self, Refusal> {
        let mut this = Self {
            space,
            looked_up: Vec::new(),
            entry: space.getattr(ROOT)?,
        };
        for name in names {
            this.entry = space.lookup(this.ino(), name, 0)?;
            this.looked_up.push(this.ino());
        }
        Ok(this)
    }

    fn ino(&self) -> u64 {
        self.entry.attr.ino
    }
}

impl Drop for Walk<'_> {
    fn drop(&mut self) {
        self.looked_up
            .iter()
            .for_each(|ino| self.space.forget(*ino, 1));
    }
}

/// A sink with room for `room` entries, like a small buffer of the kernel.
struct Few {
    room: usize,
    taken: Vec<(u64, u64, Kind, OsString)>,
}

impl Sink for Few {
    fn add(&mut self, ino: u64, next: u64, kind: Kind, name: &OsStr) -> bool {
        let fits = self.taken.len() < self.room;
        if fits {
            self.taken.push((ino, next, kind, name.to_owned()));
        }
        fits
    }
}

/// Reads all entries from `offset` on, at most `room` at a time.
fn read_on(
    space: &Namespace,
    handle: u64,
    mut offset: u64,
    room: usize,
) -> Vec<(u64, Kind, OsString)> {
    let mut all = Vec::new();
    loop {
        let mut few = Few {
            room,
            taken: Vec::new(),
        };
        space.read_dir(handle, offset, &mut few).unwrap();
        let Some(last) = few.taken.last() else {
            return all;
        };
        offset = last.1;
        all.extend(
            few.taken
                .into_iter()
                .map(|(ino, _, kind, name)| (ino, kind, name)),
        );
    }
}

/// Returns the sorted names in a directory, without `.` and `..`. Checks that a look-up of each
/// name agrees with the listing.
fn ls(space: &Namespace, path: &str) -> Vec<OsString> {
    let dir = Walk::to(space, path).unwrap();
    let opened = space.open_dir(dir.ino()).unwrap();
    let all = read_on(space, opened.handle, 0, 3);
    space.release(opened.handle);
    assert_eq!(all[0].2, ".");
    assert_eq!(all[0].0, dir.ino());
    assert_eq!(all[1].2, "..");
    let mut names = Vec::new();
    for (ino, kind, name) in &all[2..] {
        let entry = space
            .lookup(dir.ino(), name, 0)
            .unwrap_or_else(|e| panic!("{name:?}: {e:?}"));
        assert_eq!((entry.attr.ino, entry.attr.kind), (*ino, *kind), "{name:?}");
        space.forget(entry.attr.ino, 1);
        names.push(name.clone());
    }
    names.sort();
    names
}

fn cat(space: &Namespace, path: &str) -> Result<Vec<u8>, Refusal> {
    let file = Walk::to(space, path)?;
    let opened = space.open(file.ino(), 0)?;
    let mut text = Vec::new();
    loop {
        let part = space.read(opened.handle, text.len() as u64, 4)?;
        if part.is_empty() {
            break;
        }
        text.extend(part);
    }
    space.release(opened.handle);
    Ok(text)
}

fn readlink(space: &Namespace, path: &str) -> PathBuf {
    let target = space
        .readlink(Walk::to(space, path).unwrap().ino())
        .unwrap();
    PathBuf::from(OsString::from_vec(target))
}

fn refusal(space: &Namespace, path: &str) -> Refusal {
    match Walk::to(space, path) {
        Ok(walk) => panic!("{path} is there: {:?}", walk.entry),
        Err(refusal) => refusal,
    }
}
