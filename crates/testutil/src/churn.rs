//! Churn: what programs do to a tree, each in the way that is its own, written from what is
//! promised (docs/design.md) and not from how it is kept.
//!
//! Every step is drawn from the seed and its own number alone, and not from the steps before it or
//! from what is in the tree. So steps can be left out, and a storm that failed is made small by
//! leaving out steps for as long as it goes on failing: [`smaller`]. A step that cannot be done
//! (its file is gone, its name is a folder) counts: errors are part of a storm.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::random::{Random, letters};

mod maps;
mod places;
mod programs;
mod tricks;

use maps::Mapper;

/// What a storm is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Saving by a temporary file, with a backup, in place, with a swap file beside.
    Editors,
    /// Locks that are renamed, objects that are linked, checkouts that replace.
    Git,
    /// Trees of small files, made in one place and renamed into another, then removed.
    Npm,
    /// Trees that are unpacked, with times of long ago and hard links.
    Tar,
    /// Hidden temporary names, times set, then renamed.
    Rsync,
    /// Folders that are renamed while a file below them is open for writing.
    Parents,
    /// Two names that change places.
    Exchanges,
    /// Hard links: names that come, are written through, and go.
    Links,
    /// As many bytes as before, and the times put back.
    Times,
    /// Files without a name that get one while they are written.
    Nameless,
    /// Hundreds of files in one folder.
    Crowd,
    /// Names that differ in the case of a letter.
    Cases,
    /// Files and folders from other times, past and future.
    Clocks,
    /// Stores to mapped files, flushed or not.
    Mapped,
    /// Mounts that appear over folders and go. Nothing happens without the right to mount.
    Mounts,
}

impl Profile {
    /// All of them.
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
    /// The storm of a seed. The same steps on an empty tree, one after the other, do the same.
    pub fn new(root: &Path, seed: u64, profiles: &[Profile]) -> Self {
        Self {
            root: root.to_path_buf(),
            seed,
            profiles: profiles.to_vec(),
            mapper: Mapper::default(),
        }
    }

    /// Does these steps, shared among so many threads.
    pub fn blow(&self, steps: &[u64], threads: usize) {
        std::thread::scope(|scope| {
            for thread in 0..threads {
                let mine = steps.iter().skip(thread).step_by(threads);
                scope.spawn(move || mine.for_each(|step| self.step(*step)));
            }
        });
    }

    /// Does one step.
    pub fn step(&self, number: u64) {
        let mut scene = Scene {
            root: &self.root,
            mapper: &self.mapper,
            random: Random::apart(self.seed.wrapping_mul(1 << 32).wrapping_add(number)),
        };
        let profile = self.profiles[scene.random.below(self.profiles.len())];
        // What cannot be done is left undone.
        let _outcome = scene.act(profile);
    }
}

impl Drop for Churn {
    fn drop(&mut self) {
        places::unmount_below(&self.root);
    }
}

/// One step as it goes on.
struct Scene<'a> {
    root: &'a Path,
    mapper: &'a Mapper,
    random: Random,
}

impl Scene<'_> {
    fn act(&mut self, profile: Profile) -> io::Result<()> {
        // Nothing to work on is no storm, and a tree that grows for ever is no tree.
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

    /// A folder that may be there.
    fn folder(&mut self) -> PathBuf {
        let mut path = self.root.to_path_buf();
        for _ in 0..self.one_of(4) {
            path.push(format!("d{}", self.one_of(4)));
        }
        path
    }

    /// A folder that is there.
    fn made(&mut self) -> io::Result<PathBuf> {
        let folder = self.folder();
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// A name that may be there.
    fn name(&mut self) -> PathBuf {
        let n = self.one_of(12);
        self.folder().join(format!("f{n}"))
    }

    /// A new text of any length.
    fn text(&mut self) -> Vec<u8> {
        let len = 1 + self.one_of(6_000);
        letters(self.random.draw(), len)
    }

    /// A new text of so many bytes.
    fn text_of(&mut self, len: u64) -> Vec<u8> {
        letters(self.random.draw(), usize::try_from(len).unwrap_or(0))
    }
}

/// Leaves out steps for as long as `fails` says that those that are left fail as well. Each step
/// that stays is needed, as far as one run of it tells.
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
