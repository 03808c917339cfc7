//! Folders whose catalogues are kept up to date: `[[catalogue]] path = "/srv/catalogues/*.cat"`.
//!
//! Each file there that the pattern names is imported under its own name without the ending,
//! again when another one takes its place, and forgotten when it is gone. So the machines of a
//! fleet need not be known to the one that answers for them: they put their files there. Choices:
//!
//! 1. **What is taken is copied**, as by `resemble catalogue add`. A folder that cannot be reached,
//!    such as one of a disk that is not mounted just now, takes nothing away.
//! 2. **A file is read when its stat differs** from the one that was taken or refused.
//! 3. **A file that may still be written is left alone** for [`SETTLED`], unless a barrier asks or
//!    it was heard that it was closed or moved to its place. One that cannot be used is told after
//!    [`TOLD`]: what is copied there slowly is cut until it is complete. The catalogue before it
//!    stays.
//! 4. **By hand or by a folder**: a label that was imported by hand is not replaced, and one that
//!    comes from a folder can be neither imported nor removed by hand.
//!
//! The folders are looked at when something was heard there, with the roots, and by barriers. What
//! was taken from where is in a file beside the copies; without it the copies are compared with the
//! folders by their digests.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, Metadata};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use resemble_catalogue::{self as catalogue, CatalogueError};
use resemble_proto::catalogued::is_label;
use resemble_proto::path::PathText;
use serde::{Deserialize, Serialize};

use super::Indexer;
use crate::config::CatalogueFolder;
use crate::state::Topic;
use crate::state_file;
use crate::watch::Marks;

/// How long a file must have been left alone before it is taken. What is cut is refused, and read
/// again when it has changed: so this only spares reading what arrives piece by piece.
const SETTLED: Duration = Duration::from_millis(250);
/// What is heard of a file that was moved to its place, and nothing else but attributes.
const MOVED_HERE: Marks = Marks::APPEARED.and(Marks::ATTRIBUTES);
/// How long a file that cannot be used must have been left alone before that is told.
const TOLD: Duration = Duration::from_secs(60);
/// What was taken, beside the copies.
const TAKEN: &str = "folders.json";

/// Enough of a stat to tell whether a file is another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stamp {
    dev: u64,
    ino: u64,
    size: u64,
    mtime: (i64, i64),
    ctime: (i64, i64),
}

impl From<&Metadata> for Stamp {
    fn from(meta: &Metadata) -> Self {
        Self {
            dev: meta.dev(),
            ino: meta.ino(),
            size: meta.size(),
            mtime: (meta.mtime(), meta.mtime_nsec()),
            ctime: (meta.ctime(), meta.ctime_nsec()),
        }
    }
}

/// Where a kept catalogue was taken from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct TakenFrom {
    file: PathText,
    stamp: Stamp,
}

/// A file in one of the folders.
struct Offered {
    file: PathBuf,
    stamp: Stamp,
    /// How long it was left alone; `None` where its time is in the future.
    age: Option<Duration>,
}

impl Offered {
    fn is_settled(&self, pause: Duration) -> bool {
        self.age.is_none_or(|age| age >= pause)
    }
}

/// What there is to take, by label, and what is wrong with the rest.
#[derive(Default)]
struct Offer {
    files: BTreeMap<String, Offered>,
    /// Folders that were listed.
    listed: BTreeSet<PathBuf>,
    troubles: Troubles,
}

/// What is wrong with a file or folder, and what mends it.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unusable {
    reason: String,
    remedy: Option<String>,
}

impl From<String> for Unusable {
    fn from(reason: String) -> Self {
        Self {
            reason,
            remedy: None,
        }
    }
}

type Troubles = BTreeMap<PathBuf, Unusable>;

/// The folders, and what was taken of them.
#[derive(Debug, Default)]
pub(super) struct CatalogueFolders {
    folders: Vec<CatalogueFolder>,
    taken: BTreeMap<String, TakenFrom>,
    /// What cannot be used, until it is another file.
    refused: BTreeMap<PathBuf, (Stamp, Unusable)>,
    /// What was heard to be complete since the folders were looked at.
    complete: BTreeSet<PathBuf>,
    told: Troubles,
}

impl CatalogueFolders {
    /// With what was taken in earlier runs, as the folder of the copies says.
    pub(super) fn new(folders: Vec<CatalogueFolder>, copies: Option<&Path>) -> Self {
        let taken = copies.and_then(|copies| fs::read(copies.join(TAKEN)).ok());
        let taken = taken.and_then(|text| serde_json::from_slice(&text).ok());
        Self {
            folders,
            taken: taken.unwrap_or_default(),
            ..Self::default()
        }
    }

    /// The folders to be watched.
    fn to_watch(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(CatalogueFolder::folder)
    }

    /// Hears of a path. Whether it is one of the files.
    pub(super) fn hear(&mut self, path: &Path, marks: Marks) -> bool {
        let is_ours = self.folders.iter().any(|folder| folder.names(path));
        // What is written in its place is heard to be written before it is closed.
        let is_complete =
            marks.has_any(Marks::CLOSED) || marks.and(Marks::ATTRIBUTES) == MOVED_HERE;
        if is_ours && is_complete {
            self.complete.insert(path.to_owned());
        }
        is_ours
    }

    /// The file that a label is kept up to date with.
    fn source_of(&self, label: &str) -> Option<&Path> {
        self.taken.get(label).map(|from| from.file.as_path())
    }

    fn is_idle(&self) -> bool {
        self.folders.is_empty() && self.taken.is_empty() && self.told.is_empty()
    }

    /// Looks into the folders.
    fn offer(&self, now: SystemTime) -> Offer {
        let mut offer = Offer::default();
        for folder in &self.folders {
            let entries = match self.list(folder.folder()) {
                Ok(entries) => entries,
                Err(reason) => {
                    let reason = format!("{reason}; its catalogues stay as they are");
                    offer
                        .troubles
                        .insert(folder.folder().to_owned(), reason.into());
                    continue;
                }
            };
            offer.listed.insert(folder.folder().to_owned());
            for file in entries.into_iter().filter(|file| folder.names(file)) {
                offer.add(file, now);
            }
        }
        offer
    }

    /// The entries of a folder, sorted.
    fn list(&self, folder: &Path) -> Result<Vec<PathBuf>, String> {
        let cannot = |error: std::io::Error| format!("its catalogues cannot be listed: {error}");
        let dev = fs::metadata(folder).map_err(cannot)?.dev();
        let is_of_folder = |from: &&TakenFrom| from.file.as_path().parent() == Some(folder);
        let mut of_folder = self.taken.values().filter(is_of_folder).peekable();
        let entries = fs::read_dir(folder).map_err(cannot)?;
        let mut files = Vec::new();
        for entry in entries {
            files.push(entry.map_err(cannot)?.path());
        }
        // What is left of a mount point when its disk is gone.
        if files.is_empty() && of_folder.peek().is_some() && of_folder.all(|it| it.stamp.dev != dev)
        {
            return Err("it is empty, and another file system than before".to_owned());
        }
        files.sort();
        Ok(files)
    }
}

impl Offer {
    fn add(&mut self, file: PathBuf, now: SystemTime) {
        let name = file.file_name().and_then(|name| name.to_str());
        if name.is_some_and(|name| name.starts_with('.')) {
            // What is being written beside its place, as rsync does.
            return;
        }
        let label = file.file_stem().and_then(|stem| stem.to_str());
        let Some(label) = label.filter(|label| is_label(label)).map(str::to_owned) else {
            let reason = "its name cannot be a label: letters, digits, `.`, `_` and `-`";
            self.troubles.insert(file, reason.to_owned().into());
            return;
        };
        // A file that is gone by now is one that was not listed.
        let Ok(meta) = fs::metadata(&file) else {
            return;
        };
        if !meta.is_file() {
            return;
        }
        if let Some(other) = self.files.get(&label) {
            let reason = format!("{} has the same label, and is taken", other.file.display());
            self.troubles.insert(file, reason.into());
            return;
        }
        let age = meta
            .modified()
            .ok()
            .and_then(|at| now.duration_since(at).ok());
        let stamp = Stamp::from(&meta);
        self.files.insert(label, Offered { file, stamp, age });
    }
}

/// Whether the same file would be refused for the same reason another time.
const fn is_for_good(error: &CatalogueError) -> bool {
    matches!(
        error,
        CatalogueError::Damaged { .. }
            | CatalogueError::Version { .. }
            | CatalogueError::Params { .. }
    )
}

impl Indexer {
    /// Follows other folders from now on.
    pub(super) fn set_catalogue_folders(&mut self, folders: Vec<CatalogueFolder>) {
        self.followed.folders = folders;
        self.watch_catalogue_folders();
        self.next_roots = Instant::now();
    }

    /// To hear of what comes, and to look for what has come. A folder that cannot be watched is
    /// looked at with the roots.
    pub(super) fn watch_catalogue_folders(&mut self) {
        for folder in self.followed.to_watch() {
            self.next_roots = Instant::now();
            if let Err(error) = self.source.watch(folder) {
                tracing::debug!(?folder, %error, "this folder of catalogues is not watched");
            }
        }
    }

    /// Takes what is new in the folders, one file at a time unless `all` is asked for, and forgets
    /// what is gone.
    pub(super) fn follow_catalogues(&mut self, all: bool) {
        let copies = self.options.catalogues.clone();
        let (Some(copies), Some(_)) = (copies, self.shared.index()) else {
            return;
        };
        if self.followed.is_idle() {
            return;
        }
        let Offer {
            files,
            listed,
            mut troubles,
        } = self.followed.offer(SystemTime::now());
        let before = self.followed.taken.clone();
        let complete = std::mem::take(&mut self.followed.complete);
        self.forget_what_is_gone(&copies, &files, &listed);
        let offered: BTreeSet<&PathBuf> = files.values().map(|it| &it.file).collect();
        (self.followed.refused).retain(|file, _| offered.contains(file));
        let mut has_taken = false;
        for (label, offered) in &files {
            let from = TakenFrom {
                file: offered.file.as_path().into(),
                stamp: offered.stamp,
            };
            if self.followed.taken.get(label) == Some(&from) {
                continue;
            }
            let known = self.followed.refused.get(&offered.file);
            let known = known.filter(|(stamp, _)| *stamp == offered.stamp);
            let is_complete = complete.contains(&offered.file) || offered.is_settled(SETTLED);
            let unusable = if let Some((_, unusable)) = known {
                unusable.clone()
            } else if (has_taken || !is_complete) && !all {
                if complete.contains(&offered.file) {
                    self.followed.complete.insert(offered.file.clone());
                }
                self.next_roots = self.next_roots.min(Instant::now() + SETTLED);
                continue;
            } else {
                match self.take_catalogue(&copies, label, offered) {
                    Ok(is_new) => {
                        has_taken |= is_new;
                        self.followed.taken.insert(label.clone(), from);
                        continue;
                    }
                    Err(unusable) => unusable,
                }
            };
            if offered.is_settled(TOLD) {
                troubles.insert(offered.file.clone(), unusable);
            }
        }
        if self.followed.taken != before {
            self.remember_folders(&copies);
        }
        self.tell_of_folders(troubles);
    }

    /// Imports a file, unless what is kept is the same. `Ok(false)`: it was.
    fn take_catalogue(
        &mut self,
        copies: &Path,
        label: &str,
        offered: &Offered,
    ) -> Result<bool, Unusable> {
        let copy = catalogue::file_of_label(copies, label);
        let kept = catalogue::claimed_checksum(&copy);
        if kept.is_some() && kept == catalogue::claimed_checksum(&offered.file) {
            return Ok(false);
        }
        if kept.is_some() && !self.followed.taken.contains_key(label) {
            return Err(Unusable {
                reason: format!("a catalogue {label} was imported by hand, and stays"),
                remedy: Some(format!("resemble watch remove {label}:")),
            });
        }
        self.keep_catalogue(&offered.file, label).map_err(|error| {
            let unusable = Unusable::from(error.to_string());
            if is_for_good(&error) {
                let refused = (offered.stamp, unusable.clone());
                self.followed.refused.insert(offered.file.clone(), refused);
            }
            unusable
        })?;
        tracing::info!(label, file = ?offered.file, "a catalogue was taken from its folder");
        Ok(true)
    }

    /// Forgets catalogues whose file is gone from a folder that could be listed, or from one that
    /// is no longer followed.
    fn forget_what_is_gone(
        &mut self,
        copies: &Path,
        files: &BTreeMap<String, Offered>,
        listed: &BTreeSet<PathBuf>,
    ) {
        let folders = &self.followed.folders;
        let is_gone = |(label, from): &(&String, &TakenFrom)| {
            let file = from.file.as_path();
            let is_followed = folders.iter().any(|folder| folder.names(file));
            let is_listed = file.parent().is_some_and(|folder| listed.contains(folder));
            !files.contains_key(*label) && (is_listed || !is_followed)
        };
        let gone: Vec<String> = (self.followed.taken.iter().filter(is_gone))
            .map(|(label, _)| label.clone())
            .collect();
        let mut has_forgotten = false;
        for label in gone {
            match catalogue::forget(copies, &label) {
                Ok(_) => {
                    tracing::info!(label, "a catalogue is gone from its folder");
                    self.followed.taken.remove(&label);
                    has_forgotten = true;
                }
                Err(error) => tracing::warn!(label, %error, "a catalogue cannot be forgotten"),
            }
        }
        if has_forgotten {
            self.attach_catalogues();
        }
    }

    fn remember_folders(&self, copies: &Path) {
        let text = serde_json::to_vec(&self.followed.taken).unwrap_or_default();
        if let Err(error) = state_file::replace(&copies.join(TAKEN), &text) {
            tracing::warn!(%error, "the next start compares all catalogues with their folders");
        }
    }

    fn tell_of_folders(&mut self, troubles: Troubles) {
        if troubles == self.followed.told {
            return;
        }
        self.shared.mended(Topic::CatalogueFolders);
        for (path, Unusable { reason, remedy }) in &troubles {
            let remedy = remedy.as_deref();
            (self.shared).trouble(Topic::CatalogueFolders, path, reason, remedy);
        }
        self.followed.told = troubles;
    }

    /// Why a label cannot be changed by hand, if it cannot.
    pub(super) fn follows(&self, label: &str) -> Option<String> {
        let file = self.followed.source_of(label)?;
        Some(format!(
            "the catalogue {label} is kept as {} says: put another file there, or remove it",
            file.display()
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What was closed or moved here is taken at once; what is being written is not.
    #[test]
    fn what_is_heard_to_be_complete() {
        let heard = |path: &str, marks: &[Marks]| {
            let folder = CatalogueFolder::of(Path::new("/srv/*.cat")).expect("a folder");
            let mut folders = CatalogueFolders::new(vec![folder], None);
            let is_ours = folders.hear(
                Path::new(path),
                marks
                    .iter()
                    .fold(Marks::default(), |all, mark| all.and(*mark)),
            );
            (is_ours, folders.complete.contains(Path::new(path)))
        };
        let (new, written, closed) = (Marks::APPEARED, Marks::WRITTEN, Marks::CLOSED);
        assert_eq!(heard("/srv/a.cat", &[new]), (true, true));
        assert_eq!(heard("/srv/a.cat", &[new, Marks::ATTRIBUTES]), (true, true));
        assert_eq!(heard("/srv/a.cat", &[new, written]), (true, false));
        assert_eq!(heard("/srv/a.cat", &[written]), (true, false));
        assert_eq!(heard("/srv/a.cat", &[new, written, closed]), (true, true));
        assert_eq!(heard("/srv/a.cat", &[Marks::GONE]), (true, false));
        assert_eq!(heard("/srv/a.txt", &[new, closed]), (false, false));
        assert_eq!(heard("/else/a.cat", &[new]), (false, false));
    }
}
