//! Stores the arrays of one params id in a folder, and replaces their old state by a new one.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};

use resemble_mapped::private_folder;
use resemble_methods::arrays::Merging;
use resemble_relate::parallel;
use serde::{Deserialize, Serialize};
use tempfile::TempDir;

use super::build::{self, ArraysUpdate, cut};
use super::mapped::MappedParts;
use super::search::{CommonChunks, pairs_among};
use super::{ArraysError, fresh_name, shards};
use crate::locked::{LockedFolder, forget_oldest};

/// The maximum number of params ids whose arrays are kept. The oldest arrays are removed when
/// someone tries further parameters.
const MOST_IDS: usize = 4;

/// The name of the file that lists the current parts.
const CURRENT: &str = "current";

/// The content of the file `current`.
#[derive(Debug, Serialize, Deserialize)]
struct CurrentParts {
    params: String,
    parts: Vec<String>,
}

/// The folder of the arrays of one params id.
#[derive(Clone, Debug)]
pub struct ArraysFolder {
    path: PathBuf,
    params: String,
}

impl ArraysFolder {
    /// Returns the folder for signatures of these parameters, below `folder`. `of` names the index
    /// that assigned the keys of the documents, because another index assigns the same keys to
    /// other contents.
    pub fn new(folder: &Path, params: &str, of: &str) -> Self {
        let name = blake3::hash(format!("{of}\n{params}").as_bytes()).to_hex();
        Self {
            path: folder.join(&name[..16]),
            params: params.to_owned(),
        }
    }

    /// Opens the current state. Returns `None` if the folder has no state, or if the state is
    /// unusable. The caller then rebuilds the arrays.
    pub fn open(&self) -> Option<MappedParts> {
        // An update may replace the parts after the list is read and before they are opened. In
        // that case the new list is read.
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

    /// Removes a state that turned out to be damaged, so that the next update rebuilds the arrays.
    /// Failures are ignored.
    pub fn forget(&self) {
        drop(fs::remove_file(self.path.join(CURRENT)));
    }

    /// Locks the folder for reading. The current parts are not removed until the returned lock is
    /// dropped.
    pub(super) fn reading(&self) -> Result<LockedFolder, ArraysError> {
        private_folder(&self.path)?;
        LockedFolder::shared(&self.path).map_err(ArraysError::io("lock", &self.path))
    }

    /// A temporary folder for an update or a search.
    pub(super) fn work(&self) -> Result<TempDir, ArraysError> {
        private_folder(&self.path)?;
        tempfile::Builder::new()
            .prefix("work-")
            .tempdir_in(&self.path)
            .map_err(ArraysError::io("make a folder in", &self.path))
    }

    /// Merges new documents into the current state, leaves out old documents for which `stays`
    /// returns false, and returns the new state. Only one update runs at a time.
    pub fn update(
        &self,
        update: &ArraysUpdate<'_>,
        stays: &dyn Fn(u32) -> bool,
    ) -> Result<MappedParts, ArraysError> {
        private_folder(&self.path)?;
        let _turn = LockedFolder::alone(&self.path).map_err(ArraysError::io("lock", &self.path))?;
        let merged = self.merge(self.open().as_ref(), update, stays);
        match merged {
            // The old state is damaged, so the new one is made without it. Documents that only the
            // old state has are added again by the next question about them.
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
        let paths = old.map(|set| set.paths().to_vec()).unwrap_or_default();
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

    /// Makes the new parts the current ones, and removes all other parts.
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

/// Runs [`pairs_among`] in `count` processes, each of which searches a range of the documents. If
/// `count` is 1, this process does all the work on several threads.
pub fn pairs_in_shards(
    folder: &ArraysFolder,
    set: &MappedParts,
    numbers: &[u32],
    least: f64,
    count: u32,
) -> Result<Vec<CommonChunks>, ArraysError> {
    if count <= 1 || numbers.is_empty() {
        return pairs_among(set, numbers, least, parallel::threads());
    }
    let _parts_stay = folder.reading()?;
    let work = folder.work()?;
    let ranges = cut(0, numbers.len() as u64, u64::from(count));
    shards::search(work.path(), set, numbers, least, ranges)
}
