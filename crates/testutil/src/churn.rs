//! Churn: changes as typical programs make them. They follow the promises of docs/design.md and not
//! the implementation.
//!
//! Every step depends only on the seed and its own number, not on earlier steps or the tree. So
//! steps can be left out, and [`smaller`] reduces a storm that failed. A step that cannot be done
//! (its file is gone, its name is a folder) also counts: errors are part of a storm.

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
    /// Saving by a temporary file, with a backup, in place, with a swap file beside.
    Editors,
    /// Locks that are renamed, objects that are linked, checkouts that replace files.
    Git,
    /// Trees of small files, made in one place and renamed into another, then removed.
    Npm,
    /// Trees that are unpacked, with old times and hard links.
    Tar,
    /// Hidden temporary names, times set, then renamed.
    Rsync,
    /// Folders that are renamed while a file below them is open for writing.
    Parents,
    /// Two names that are exchanged.
    Exchanges,
    /// Hard links: names that appear, are written through, and vanish.
    Links,
    /// Writes of the same size, with the times restored.
    Times,
    /// Files without a name that get one while they are written.
    Nameless,
    /// Hundreds of files in one folder.
    Crowd,
    /// Names that differ only in case.
    Cases,
    /// Files and folders with past and future times.
    Clocks,
    /// Stores to mapped files, flushed or not.
    Mapped,
    /// Mounts that appear over folders and vanish. They need the permission to mount.
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

/// A storm over one tree.
#[derive(Debug)]
pub struct Churn {
    root: PathBuf,
    seed: u64,
    profiles: Vec<Profile>,
    mapper: Mapper,
}

impl Churn {
    /// Returns the storm of a seed. The same steps on an empty tree, in sequence, have the same
    /// effect.
    pub fn new(root: &Path, seed: u64, profiles: &[Profile]) -> Self {
        Self {
            root: root.to_path_buf(),
            seed,
            profiles: profiles.to_vec(),
            mapper: Mapper::default(),
        }
    }

    /// Runs these steps on this many threads.
    pub fn blow(&self, steps: &[u64], threads: usize) {
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let mine = steps.iter().skip(thread).step_by(threads);
                scope.spawn(move || mine.for_each(|step| self.step(*step)));
            }
        });
    }

    /// Runs one step.
    pub fn step(&self, number: u64) {
        let mut scene = Scene {
            root: &self.root,
            mapper: &self.mapper,
            random: Random::apart(self.seed.wrapping_mul(1 << 32).wrapping_add(number)),
        };
        let profile = self.profiles[scene.random.below(self.profiles.len())];
        // A step that fails is skipped.
        let _outcome = scene.act(profile);
    }
}

impl Drop for Churn {
    fn drop(&mut self) {
        places::unmount_below(&self.root);
    }
}

/// A running step.
struct Scene<'a> {
    root: &'a Path,
    mapper: &'a Mapper,
    random: Random,
}

impl Scene<'_> {
    fn act(&mut self, profile: Profile) -> io::Result<()> {
        // Files are needed to act on, and the tree must not grow for ever.
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

    /// Returns the path of a folder that may exist.
    fn folder(&mut self) -> PathBuf {
        let mut path = self.root.to_path_buf();
        for _ in 0..self.one_of(4) {
            path.push(format!("d{}", self.one_of(4)));
        }
        path
    }

    /// Returns a folder that exists.
    fn made(&mut self) -> io::Result<PathBuf> {
        let folder = self.folder();
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// Returns a name that may exist.
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

/// Removes steps while `fails` returns true for the rest. One run decides whether a step is needed.
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
