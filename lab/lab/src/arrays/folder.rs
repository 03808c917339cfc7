//! Where the arrays of a params id stand, and how a new state takes the place of the old one.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use resemble_mapped::{Mapped, private_folder};
use resemble_methods::MethodSignature;
use resemble_methods::arrays::{Arrays, Merging, Parts};
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::{ArraysError, build, fresh_name, shards};
use crate::locked::{LockedFolder, forget_oldest};

/// Params ids that have arrays: who tries out parameters pushes out the oldest.
const MOST_IDS: usize = 4;

/// The file that lists the parts.
const CURRENT: &str = "current";

/// What it says.
#[derive(Debug, Serialize, Deserialize)]
struct CurrentParts {
    params: String,
    parts: Vec<String>,
}

/// Parts that are mapped.
#[derive(Debug)]
pub struct MappedParts {
    paths: Vec<PathBuf>,
    maps: Vec<Mapped>,
}

impl MappedParts {
    /// Maps these parts, which must be the whole together.
    pub fn open(paths: &[PathBuf]) -> Result<Self, ArraysError> {
        let maps: Result<Vec<Mapped>, _> = paths.iter().map(|path| Mapped::open(path)).collect();
        let set = Self {
            paths: paths.to_vec(),
            maps: maps?,
        };
        set.parts()?;
        Ok(set)
    }

    /// The arrays. Time: the headers.
    pub fn parts(&self) -> Result<Parts<'_>, ArraysError> {
        let mut parts = Vec::new();
        for (map, path) in self.maps.iter().zip(&self.paths) {
            parts.push(Arrays::of(map).map_err(ArraysError::array(path))?);
        }
        Parts::of(parts).map_err(ArraysError::array(self.folder()))
    }

    /// The folder of the files.
    pub(super) fn folder(&self) -> &Path {
        let folder = self.paths.first().and_then(|path| path.parent());
        folder.unwrap_or(Path::new("."))
    }

    /// The files.
    pub fn paths(&self) -> &[PathBuf] {
        &self.paths
    }
}

/// What is to change.
#[derive(Debug)]
pub struct ArraysUpdate<'a> {
    /// n.
    pub bits: u8,
    /// New documents by their keys, or old ones anew.
    pub new: &'a [(u32, &'a MethodSignature)],
    /// Processes, and parts of the new state.
    pub shards: u32,
}

/// The folder of a params id.
#[derive(Clone, Debug)]
pub struct ArraysFolder {
    path: PathBuf,
    params: String,
}

impl ArraysFolder {
    /// In `folder`, for signatures of these parameters; `of` tells whose keys they are: those of
    /// another index are others.
    pub fn new(folder: &Path, params: &str, of: &str) -> Self {
        let name = blake3::hash(format!("{of}\n{params}").as_bytes()).to_hex();
        Self {
            path: folder.join(&name[..16]),
            params: params.to_owned(),
        }
    }

    /// The state there is; `None`: none, or none that can be used, which is then made anew.
    pub fn open(&self) -> Option<MappedParts> {
        // Parts may be replaced between a look at the list and one at them.
        for _ in 0..8 {
            let current = fs::read(self.path.join(CURRENT)).ok()?;
            let current: CurrentParts = serde_json::from_slice(&current).ok()?;
            let is_name = |part: &String| !part.contains('/');
            if current.params != self.params || !current.parts.iter().all(is_name) {
                return None;
            }
            let paths: Vec<PathBuf> = current
                .parts
                .iter()
                .map(|part| self.path.join(part))
                .collect();
            match MappedParts::open(&paths) {
                Ok(set) => return Some(set),
                Err(ArraysError::Map(resemble_mapped::MapError::Io { source, .. }))
                    if source.kind() == std::io::ErrorKind::NotFound => {}
                Err(error) => {
                    tracing::warn!(%error, "arrays are made anew");
                    return None;
                }
            }
        }
        None
    }

    /// Lets go of a state that turned out to be damaged: it is made anew. What fails leaves it.
    pub fn forget(&self) {
        drop(fs::remove_file(self.path.join(CURRENT)));
    }

    /// Until what this returns goes, the parts that there are now stay where they are.
    pub(super) fn reading(&self) -> Result<LockedFolder, ArraysError> {
        private_folder(&self.path)?;
        LockedFolder::shared(&self.path).map_err(ArraysError::io("lock", &self.path))
    }

    /// A folder to work in.
    pub(super) fn work(&self) -> Result<TempDir, ArraysError> {
        private_folder(&self.path)?;
        tempfile::Builder::new()
            .prefix("work-")
            .tempdir_in(&self.path)
            .map_err(ArraysError::io("make a folder in", &self.path))
    }

    /// Merges new documents into the state, whichever there is by now, without the documents that
    /// do not stay; the new state. Two of these take turns.
    pub fn update(
        &self,
        update: &ArraysUpdate<'_>,
        stays: &dyn Fn(u32) -> bool,
    ) -> Result<MappedParts, ArraysError> {
        private_folder(&self.path)?;
        let _turn = LockedFolder::alone(&self.path).map_err(ArraysError::io("lock", &self.path))?;
        let merged = self.merge(self.open().as_ref(), update, stays);
        match merged {
            // What was there is no good: from nothing. Documents that only it had come back when
            // they are asked about.
            Err(error) if error.is_damage() => {
                tracing::warn!(%error, "arrays are made anew");
                self.merge(None, update, stays)
            }
            merged => merged,
        }
    }

    fn merge(
        &self,
        old: Option<&MappedParts>,
        update: &ArraysUpdate<'_>,
        stays: &dyn Fn(u32) -> bool,
    ) -> Result<MappedParts, ArraysError> {
        let new: Vec<(u32, u32)> = update
            .new
            .iter()
            .map(|&(key, signature)| {
                (
                    key,
                    u32::try_from(signature.occurrences()).unwrap_or(u32::MAX),
                )
            })
            .collect();
        let parts = old.map(MappedParts::parts).transpose()?;
        let merging = match &parts {
            Some(parts) => Merging::of(parts.documents().iter(), &new, stays),
            None => Merging::of([], &new, stays),
        };
        drop(parts);
        let work = self.work()?;
        let paths = old.map(|set| set.paths.clone()).unwrap_or_default();
        let names = fresh_name();
        let job = build::prepare(work.path(), &self.params, &merging, update, paths, &names)?;
        let made: Vec<PathBuf> = job
            .parts
            .iter()
            .map(|part| self.path.join(&part.name))
            .collect();
        let built =
            shards::build(work.path(), &self.path, &job).and_then(|()| MappedParts::open(&made));
        let set = match built {
            Ok(set) => set,
            Err(error) => {
                for part in &made {
                    drop(fs::remove_file(part));
                }
                return Err(error);
            }
        };
        self.publish(&job)?;
        Ok(set)
    }

    /// Makes the new parts the current ones and removes all others.
    fn publish(&self, job: &build::BuildJob) -> Result<(), ArraysError> {
        let parts: Vec<String> = job.parts.iter().map(|part| part.name.clone()).collect();
        let current = CurrentParts {
            params: self.params.clone(),
            parts,
        };
        let text = serde_json::to_vec(&current).unwrap_or_default();
        let (to, from) = (self.path.join(CURRENT), self.path.join("current.new"));
        let written = File::create(&from).and_then(|mut file| {
            file.write_all(&text)?;
            file.sync_data()?;
            fs::rename(&from, &to)
        });
        written.map_err(ArraysError::io("write", &to))?;
        for entry in fs::read_dir(&self.path).into_iter().flatten().flatten() {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            if name.ends_with(".arrays") && !current.parts.iter().any(|part| *part == name) {
                drop(fs::remove_file(entry.path()));
            }
        }
        if let Some(all) = self.path.parent() {
            forget_oldest(all, &self.path, MOST_IDS, |folder| {
                let current = fs::metadata(folder.join(CURRENT));
                current.and_then(|current| current.modified()).ok()
            });
        }
        Ok(())
    }
}
