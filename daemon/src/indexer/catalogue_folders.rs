//! Follows folders whose catalogues are kept up to date: `[[catalogue]] path =
//! "/srv/catalogues/*.cat"`.
//!
//! Each file that matches the pattern is imported under its own name without the extension. It is
//! imported again when it is replaced, and forgotten when it is gone. The daemon does not need to
//! know the machines whose catalogues it has. The machines put their files into the folder. These
//! are the rules:
//!
//! 1. **Catalogues are copied**, as by `resemble catalogue add`. If a folder cannot be reached, for
//!    example because its disk is not mounted, its catalogues stay.
//! 2. **A file is read when its stat differs** from the stat that the file had when it was last
//!    imported or refused.
//! 3. **A file that may still be written is left alone** for [`SETTLED`]. A barrier ends the wait,
//!    and so does an event which reports that the file was closed or moved into the folder. An
//!    unusable file is reported only after [`TOLD`], because a file that is being copied slowly is
//!    truncated. Until a file is usable, the previous catalogue stays.
//! 4. **A label belongs to a user or to a folder.** A catalogue that a user has imported is not
//!    replaced from a folder. A label from a folder can be neither imported nor removed by a user.
//!
//! The folders are checked after an event in them, whenever the roots are checked, and by barriers.
//! A record in the folder of the copies names, for each copy, the file from which the copy was
//! made. If the record is missing, the copies are compared with the files by their checksums.

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

/// The time without changes after which a file is imported. The wait only saves reads of a file
/// that arrives piece by piece. A truncated file would only be refused, and then read again after
/// its next change.
const SETTLED: Duration = Duration::from_millis(250);
/// The marks of a file that was moved into a folder. Some moved files lack [`Marks::ATTRIBUTES`].
/// So that mark is added to the marks of each file before the comparison.
const MOVED_HERE: Marks = Marks::APPEARED.and(Marks::ATTRIBUTES);
/// The time without changes after which an unusable file is reported.
const TOLD: Duration = Duration::from_secs(60);
/// Name of the record of imported files, in the folder of the copies.
const TAKEN: &str = "folders.json";

/// The fields of a stat that show whether a file was replaced.
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

/// The file from which a catalogue was copied, and its stat at that time.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct TakenFrom {
    file: PathText,
    stamp: Stamp,
}

/// A file that was found in one of the folders.
struct Offered {
    file: PathBuf,
    stamp: Stamp,
    /// The time since the file was last changed. `None` if the file claims a change in the future.
    age: Option<Duration>,
}

impl Offered {
    fn is_settled(&self, pause: Duration) -> bool {
        self.age.is_none_or(|age| age >= pause)
    }
}

/// The files that the folders have now, by label, and the errors of unusable files and folders.
#[derive(Default)]
struct Offer {
    files: BTreeMap<String, Offered>,
    /// The folders that could be listed.
    listed: BTreeSet<PathBuf>,
    troubles: Troubles,
}

/// The reason why a file or folder is unusable, and perhaps a command that helps.
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

/// The folders, and the files that were imported from them.
#[derive(Debug, Default)]
pub(super) struct CatalogueFolders {
    folders: Vec<CatalogueFolder>,
    taken: BTreeMap<String, TakenFrom>,
    /// Files that were read and found unusable. They are not read again until they are replaced.
    refused: BTreeMap<PathBuf, (Stamp, Unusable)>,
    /// Files to import at the next check of the folders without waiting, because an event showed
    /// that they are complete.
    complete: BTreeSet<PathBuf>,
    told: Troubles,
}

impl CatalogueFolders {
    /// Starts with the files imported in earlier runs. The record in `copies`, the folder of the
    /// copies, lists these files.
    pub(super) fn new(folders: Vec<CatalogueFolder>, copies: Option<&Path>) -> Self {
        let taken = copies.and_then(|copies| fs::read(copies.join(TAKEN)).ok());
        let taken = taken.and_then(|text| serde_json::from_slice(&text).ok());
        Self {
            folders,
            taken: taken.unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Returns the folders to be watched.
    fn to_watch(&self) -> impl Iterator<Item = &Path> {
        self.folders.iter().map(CatalogueFolder::folder)
    }

    /// Records an event about a path. Returns whether the path is a catalogue in one of the
    /// folders.
    pub(super) fn hear(&mut self, path: &Path, marks: Marks) -> bool {
        let is_ours = self.folders.iter().any(|folder| folder.names(path));
        // A file that is written in place has other marks, too, so it waits until it is closed.
        let is_complete =
            marks.has_any(Marks::CLOSED) || marks.and(Marks::ATTRIBUTES) == MOVED_HERE;
        if is_ours && is_complete {
            self.complete.insert(path.to_owned());
        }
        is_ours
    }

    /// Returns the file in a folder from which the catalogue of this label was imported.
    fn source_of(&self, label: &str) -> Option<&Path> {
        self.taken.get(label).map(|from| from.file.as_path())
    }

    fn is_idle(&self) -> bool {
        self.folders.is_empty() && self.taken.is_empty() && self.told.is_empty()
    }

    /// Lists the folders, and returns the files that they have now.
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

    /// Returns the paths of the entries of a folder, sorted.
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
        // If a disk is not mounted, its mount point is an empty folder of another file system. The
        // catalogues from that disk must stay, so this case is an error.
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
            // Programs such as rsync write to a hidden file, which they rename when it is complete.
            return;
        }
        let label = file.file_stem().and_then(|stem| stem.to_str());
        let Some(label) = label.filter(|label| is_label(label)).map(str::to_owned) else {
            let reason = "its name cannot be a label: letters, digits, `.`, `_` and `-`";
            self.troubles.insert(file, reason.to_owned().into());
            return;
        };
        // A file that has vanished since the listing is ignored.
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

/// Returns whether an unchanged file would be refused again for the same reason.
const fn is_for_good(error: &CatalogueError) -> bool {
    matches!(
        error,
        CatalogueError::Damaged { .. }
            | CatalogueError::Version { .. }
            | CatalogueError::Params { .. }
    )
}

impl Indexer {
    /// Follows these folders from now on, and no other folders.
    pub(super) fn set_catalogue_folders(&mut self, folders: Vec<CatalogueFolder>) {
        self.followed.folders = folders;
        self.watch_catalogue_folders();
        self.next_roots = Instant::now();
    }

    /// Watches the folders, and schedules a check for new files. A folder that cannot be watched is
    /// checked whenever the roots are checked.
    pub(super) fn watch_catalogue_folders(&mut self) {
        for folder in self.followed.to_watch() {
            self.next_roots = Instant::now();
            if let Err(error) = self.source.watch(folder) {
                tracing::debug!(?folder, %error, "this folder of catalogues is not watched");
            }
        }
    }

    /// Imports new and replaced files of the folders. Imports all of them if `all` is set, and
    /// otherwise at most one. Forgets the catalogues whose files have vanished.
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

    /// Imports a file. Returns `Ok(false)` if the copy was already equal to the file.
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

    /// Forgets each catalogue whose folder is no longer followed. Also forgets each catalogue whose
    /// file is gone, if its folder could be listed.
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

    /// Returns the reason why users cannot change the catalogue of this label; `None` if they can.
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

    /// A file that was closed, or moved into the folder, is imported without waiting. A file that
    /// is being written is not.
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
