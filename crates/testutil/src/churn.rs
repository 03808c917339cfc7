//! Churn: sequences of file changes like those of typical programs. They test the promises of
//! docs/design.md and assume nothing about the implementation.
//!
//! A step depends only on the seed and its own number, not on earlier steps or the tree. (Only
//! [`Profile::Mounts`] examines the present mounts.) So any step can be left out. If a storm made a
//! test fail, [`smaller`] can therefore reduce the storm. A step may be impossible, for example
//! because its file is gone or its name is a folder. Such a step fails silently, because errors are
//! part of a storm.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::random::{Random, letters};

mod maps;
mod places;
mod programs;
mod tricks;

use maps::Mapper;

/// The kinds of changes in a storm.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Saves of editors: by a temporary file, with a backup, in place, and with a swap file next to
    /// the file.
    Editors,
    /// Work of git: lock files that are renamed, objects that are hard-linked, and checkouts that
    /// replace files.
    Git,
    /// Trees of small files that are made in one folder, renamed into another one, and removed.
    Npm,
    /// Unpacked archives: trees of files with old modification times and hard links.
    Tar,
    /// Files that are written under a hidden temporary name, get their times, and are then renamed.
    Rsync,
    /// Folders that are renamed while a file below them is open for writing.
    Parents,
    /// Pairs of names that a single system call exchanges.
    Exchanges,
    /// Hard links: further names of a file appear, are used to write to it, and vanish.
    Links,
    /// Writes that keep a file's size and restore its modification time.
    Times,
    /// Files that are created without a name, and get one while they are written.
    Nameless,
    /// Folders with hundreds of files.
    Crowd,
    /// Names that differ only in case.
    Cases,
    /// Files and folders with past and future times.
    Clocks,
    /// Writes to files through memory mappings, flushed or not.
    Mapped,
    /// Mounts that appear over folders and vanish. This profile needs permission to mount.
    Mounts,
}

impl Profile {
    /// All profiles.
    pub const ALL: [Self; 15] = [
        Self::Editors,
        Self::Git,
        Self::Npm,
        Self::Tar,
        Self::Rsync,
        Self::Parents,
        Self::Exchanges,
        Self::Links,
        Self::Times,
        Self::Nameless,
        Self::Crowd,
        Self::Cases,
        Self::Clocks,
        Self::Mapped,
        Self::Mounts,
    ];
}

/// A storm of changes in one tree.
#[derive(Debug)]
pub struct Churn {
    root: PathBuf,
    seed: u64,
    profiles: Vec<Profile>,
    mapper: Mapper,
}

impl Churn {
    /// Creates the storm of this seed. The same steps on an empty tree, one after the other, always
    /// have the same effect.
    pub fn new(root: &Path, seed: u64, profiles: &[Profile]) -> Self {
        Self {
            root: root.to_path_buf(),
            seed,
            profiles: profiles.to_vec(),
            mapper: Mapper::default(),
        }
    }

    /// Runs these steps, distributed over this number of threads.
    pub fn blow(&self, steps: &[u64], threads: usize) {
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let mine = steps.iter().skip(thread).step_by(threads);
                scope.spawn(move || mine.for_each(|step| self.step(*step)));
            }
        });
    }

    /// Runs the step with this number.
    pub fn step(&self, number: u64) {
        let mut scene = Scene {
            root: &self.root,
            mapper: &self.mapper,
            random: Random::apart(self.seed.wrapping_mul(1 << 32).wrapping_add(number)),
        };
        let profile = self.profiles[scene.random.below(self.profiles.len())];
        // A step that fails has no effect on the storm.
        let _outcome = scene.act(profile);
    }
}

impl Drop for Churn {
    fn drop(&mut self) {
        places::unmount_below(&self.root);
    }
}

/// The state of a running step.
struct Scene<'a> {
    root: &'a Path,
    mapper: &'a Mapper,
    random: Random,
}

impl Scene<'_> {
    fn act(&mut self, profile: Profile) -> io::Result<()> {
        // Some steps only create a file, so that other steps have files to change. Some steps
        // remove a whole folder, so that the tree does not grow without limit.
        if self.one_of(50) == 0 {
            let top = format!("d{}", self.one_of(4));
            return fs::remove_dir_all(self.root.join(top));
        }
        if self.one_of(4) == 0 {
            let (folder, n) = (self.made()?, self.one_of(12));
            return fs::write(folder.join(format!("f{n}")), self.text());
        }
        match profile {
            Profile::Editors => self.editors(),
            Profile::Git => self.git(),
            Profile::Npm => self.npm(),
            Profile::Tar => self.tar(),
            Profile::Rsync => self.rsync(),
            Profile::Parents => self.parents(),
            Profile::Exchanges => self.exchanges(),
            Profile::Links => self.links(),
            Profile::Times => self.times(),
            Profile::Nameless => self.nameless(),
            Profile::Crowd => self.crowd(),
            Profile::Cases => self.cases(),
            Profile::Clocks => self.clocks(),
            Profile::Mapped => self.mapped(),
            Profile::Mounts => self.mounts(),
        }
    }

    fn one_of(&mut self, count: usize) -> usize {
        self.random.below(count)
    }

    /// Returns the path of a random folder, which may not exist.
    fn folder(&mut self) -> PathBuf {
        let mut path = self.root.to_path_buf();
        for _ in 0..self.one_of(4) {
            path.push(format!("d{}", self.one_of(4)));
        }
        path
    }

    /// Returns a random folder, which is created if it does not exist.
    fn made(&mut self) -> io::Result<PathBuf> {
        let folder = self.folder();
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Returns the path of a random file, which may not exist.
    fn name(&mut self) -> PathBuf {
        let n = self.one_of(12);
        self.folder().join(format!("f{n}"))
    }

    /// Returns a new text of any length.
    fn text(&mut self) -> Vec<u8> {
        let len = 1 + self.one_of(6_000);
        letters(self.random.draw(), len)
    }

    /// Returns a new text of this many bytes.
    fn text_of(&mut self, len: u64) -> Vec<u8> {
        letters(self.random.draw(), usize::try_from(len).unwrap_or(0))
    }
}

/// Removes the steps that are not needed to make `fails` return true. Returns the other steps. A
/// step is removed if one run without this step still fails.
pub fn smaller(mut steps: Vec<u64>, fails: &mut dyn FnMut(&[u64]) -> bool) -> Vec<u64> {
    let mut piece = steps.len() / 2;
    while piece > 0 {
        let mut at = 0;
        while at < steps.len() {
            let without = [&steps[..at], &steps[(at + piece).min(steps.len())..]].concat();
            if fails(&without) {
                steps = without;
            } else {
                at += piece;
            }
        }
        piece /= 2;
    }
    steps
}
