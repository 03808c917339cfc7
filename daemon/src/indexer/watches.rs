//! Records which directories are watched, and which are polled instead.
//!
//! The table records the watches requested of the source. It is keyed by path and keeps the inode,
//! because a path that leads to another directory needs another watch. Four rules keep it correct:
//!
//! 1. When a name is gone, the watches at and below it are removed from the table. So what is found
//!    there later is watched anew.
//! 2. The crate notify may or may not have forgotten these watches: that depends on what it knew
//!    when the event arrived. It refuses to watch a path that it wrongly remembers ("already
//!    done"). So a path removed from the table is *suspect*: it is unwatched before it is watched
//!    again. Two other cases are suspect as well. One is a directory with another inode than in the
//!    table. The other is a directory of a joint request that failed for some. If there are many
//!    suspects, as after the move of a large tree, the source is first asked which of them it
//!    remembers.
//! 3. The kernel has one watch for each inode, whatever its paths. A directory may move without an
//!    event, as below a polled one. The new place is then found while the table has the old one.
//!    Removing the watch of the old place later would remove that of the new one. So it is removed
//!    before the new place is watched. The old place is then *displaced*: it is listed again, with
//!    all below.
//! 4. After an overflow the table is emptied together with the source.
//!
//! A directory in the table was listed after its watch was made, or will be before the current
//! reconcile ends. The table also records whether all below it was listed.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use resemble_mounts::kinds;
use resemble_scan::walk::{Anchor, means_denied};

use crate::coalesce::Kind;
use crate::watch::renames::take_below;
use crate::watch::{Source, WatchError};

/// Up to this many suspect paths never make the table stale.
const MOST_SUSPECT: usize = 50_000;
/// Up to this many suspects are not checked with the source.
const FEW_SUSPECT: usize = 16;

/// The identity of a file or directory, until the next boot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Identity {
    /// `st_dev`.
    pub(crate) dev: u64,
    /// `st_ino`.
    pub(crate) ino: u64,
}

/// A watched directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Watched {
    identity: Identity,
    /// True if all below it was listed after its watch was made, not only its own names.
    deep: bool,
}

/// The reasons for polling a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Polled {
    /// The kernel grants no more watches.
    Limit,
    /// The kernel refused this watch.
    Refused,
    /// Other machines may change it without notice to this kernel.
    Remote,
}

/// The result of watching a directory before it is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Armed {
    /// The directory was watched before and still is.
    Kept,
    /// The directory is watched, or polled, from now on.
    Anew,
    /// The directory did not exist. If the listing finds it after all, it has no watch.
    Gone,
}

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    watched: BTreeMap<PathBuf, Watched>,
    /// The path of each inode in the table.
    places: HashMap<Identity, PathBuf>,
    /// Paths without watches because their directories are elsewhere now.
    displaced: Vec<PathBuf>,
    /// Removed paths that the source may still remember.
    suspect: BTreeSet<PathBuf>,
    polled: BTreeMap<PathBuf, Polled>,
    /// True for file systems that other machines may change, by `st_dev`; determined once for each.
    remote: BTreeMap<u64, bool>,
}

impl Watches {
    /// Ensures that the directory is watched, or polled, before it is listed. `deep` means that all
    /// below it is listed, too.
    pub(crate) fn arm(&mut self, source: &mut dyn Source, dir: &Path, deep: bool) -> Armed {
        let Some((Kind::Directory, identity)) = look(dir) else {
            return Armed::Gone;
        };
        let remote = *self
            .remote
            .entry(identity.dev)
            .or_insert_with(|| kinds::is_remote(dir));
        match self.watched.get_mut(dir) {
            Some(known) if known.identity == identity => {
                known.deep |= deep;
                return Armed::Kept;
            }
            Some(_) => source.unwatch(dir),
            None if self.suspect.remove(dir) => source.unwatch(dir),
            None => {}
        }
        if let Some(was) = self.watched.remove(dir) {
            self.has_left(dir, was.identity);
        }
        self.displace(source, identity, dir);
        match source.watch(dir) {
            Ok(()) => {
                self.add([(dir.to_path_buf(), Watched { identity, deep })]);
                if remote {
                    self.polled.insert(dir.to_path_buf(), Polled::Remote);
                } else {
                    self.polled.remove(dir);
                }
            }
            Err(WatchError::Gone { .. }) => return Armed::Gone,
            Err(error @ WatchError::Limit { .. }) => {
                tracing::debug!(dir = ?dir, %error, "polled");
                self.polled.insert(dir.to_path_buf(), Polled::Limit);
            }
            // An unreadable directory is not listed. The watch of its parent reports a change of
            // mode.
            Err(WatchError::Refused { .. }) if !is_readable(dir) => {}
            Err(error @ WatchError::Refused { .. }) => {
                tracing::debug!(dir = ?dir, %error, "polled");
                self.polled.insert(dir.to_path_buf(), Polled::Refused);
            }
        }
        Armed::Anew
    }

    /// Watches directories that will be listed, in one request, except those whose state in the
    /// source is uncertain. Each had its inode a moment ago; [`Self::arm`] checks that again.
    /// Returns whether all are watched according to the table.
    pub(crate) fn arm_early<'a>(
        &mut self,
        source: &mut dyn Source,
        dirs: impl Iterator<Item = (&'a Path, Identity)>,
        deep: bool,
    ) -> bool {
        let mut all = true;
        let mut found = Vec::new();
        for (dir, identity) in dirs {
            let known = self.watched.get(dir);
            if known.is_some_and(|known| known.identity == identity) {
                continue;
            }
            let is_new = self.remote.get(&identity.dev) == Some(&false)
                && known.is_none()
                && !self.polled.contains_key(dir)
                && !self.suspect.contains(dir)
                && !self.places.contains_key(&identity);
            if is_new {
                found.push((dir.to_path_buf(), Watched { identity, deep }));
            } else {
                all = false;
            }
        }
        let paths: Vec<&Path> = found.iter().map(|(dir, _)| dir.as_path()).collect();
        if source.watch_all(&paths) {
            self.add(found);
            all
        } else {
            self.suspect.extend(found.into_iter().map(|(dir, _)| dir));
            false
        }
    }

    fn add(&mut self, found: impl IntoIterator<Item = (PathBuf, Watched)>) {
        for (dir, watched) in found {
            self.places.insert(watched.identity, dir.clone());
            self.watched.insert(dir, watched);
        }
    }

    /// Removes a path and all below it from the table.
    fn take(&mut self, path: &Path) -> Vec<PathBuf> {
        let taken = take_below(&mut self.watched, path).into_iter();
        let mut dirs = Vec::with_capacity(taken.len());
        for (dir, watched) in taken {
            self.has_left(&dir, watched.identity);
            dirs.push(dir);
        }
        dirs
    }

    /// Forgets that the table has an inode at this path.
    fn has_left(&mut self, dir: &Path, identity: Identity) {
        if self.places.get(&identity).is_some_and(|place| place == dir) {
            self.places.remove(&identity);
        }
    }

    /// Removes the watch of a directory that has moved away from its place in the table. If a bind
    /// mount shows the directory at both places, the watch stays.
    fn displace(&mut self, source: &mut dyn Source, identity: Identity, new: &Path) {
        let place = self.places.get(&identity).filter(|place| *place != new);
        let Some(place) = place.cloned() else { return };
        if look(&place) != Some((Kind::Directory, identity)) {
            for dir in self.take(&place) {
                source.unwatch(&dir);
            }
            self.displaced.push(place);
        }
    }

    /// Returns the displaced paths since the last call.
    pub(crate) fn take_displaced(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.displaced)
    }

    /// Handles a name that is gone. The source may have forgotten the watches at and below the
    /// name.
    pub(crate) fn dropped(&mut self, path: &Path) {
        let dirs = self.take(path);
        self.suspect.extend(dirs);
        take_below(&mut self.polled, path);
    }

    /// Asks the source which suspects it has forgotten, if there are many. The query costs as much
    /// as there are watches, and each remaining suspect costs an unwatch request.
    pub(crate) fn clear_suspects(&mut self, source: &mut dyn Source) {
        if self.suspect.len() > FEW_SUSPECT.max(self.watched.len() / 64) {
            source.retain_watched(&mut self.suspect);
        }
    }

    /// Returns whether the number of suspects makes a restart of the source cheaper.
    pub(crate) fn is_stale(&self) -> bool {
        self.suspect.len() > MOST_SUSPECT.max(4 * self.watched.len())
    }

    /// Ends the watches and the polling at and below the path.
    pub(crate) fn disarm(&mut self, source: &mut dyn Source, path: &Path) {
        for dir in self.take(path) {
            source.unwatch(&dir);
        }
        take_below(&mut self.polled, path);
    }

    /// Forgets everything, together with the source.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns whether the directory with this inode is watched and was listed with all below it.
    pub(crate) fn has(&self, dir: &Path, identity: Identity) -> bool {
        self.watched.get(dir)
            == Some(&Watched {
                identity,
                deep: true,
            })
    }

    /// Returns whether changes in the directory are found, by a watch or by polling.
    pub(crate) fn covers(&self, dir: &Path) -> bool {
        self.watched.contains_key(dir) || self.polled.contains_key(dir)
    }

    /// Returns watched paths that lead to another object now. Only in a polled directory can that
    /// happen without an event.
    pub(crate) fn misplaced(&self) -> Vec<PathBuf> {
        // This runs at every check for changes, and usually no directory is polled.
        if self.polled.is_empty() {
            return Vec::new();
        }
        let is_untold = |dir: &Path| dir.parent().is_some_and(|it| self.polled.contains_key(it));
        let known = self.watched.iter().filter(|(dir, _)| is_untold(dir));
        known
            .filter(|(dir, known)| {
                look(dir).is_some_and(|there| there != (Kind::Directory, known.identity))
            })
            .map(|(dir, _)| dir.clone())
            .collect()
    }

    /// Returns the number of watched directories.
    pub(crate) fn len(&self) -> usize {
        self.watched.len()
    }

    /// Returns the polled directories with their reasons.
    pub(crate) fn polled(&self) -> impl Iterator<Item = (&Path, Polled)> {
        self.polled.iter().map(|(path, why)| (path.as_path(), *why))
    }
}

/// Watches the parent of a root for events of the root itself. The parent is not in the table,
/// because its other entries are not listed.
pub(crate) fn guard(source: &mut dyn Source, root: &Path) {
    if let Some(parent) = root.parent()
        && let Err(error) = source.watch(parent)
    {
        // Without the watch the root is still checked periodically.
        tracing::debug!(root = ?root, %error, "its parent is not watched");
    }
}

/// Returns the directory of a root, if the path has no symbolic link and the directory may be
/// listed.
pub(crate) fn look_at_root(root: &Path) -> Option<Identity> {
    let anchor = Anchor::open(root).ok()?;
    if anchor.dir(root).is_err_and(means_denied) {
        return None;
    }
    let (dev, ino) = (anchor.stat().dev, anchor.stat().ino);
    Some(Identity { dev, ino })
}

/// Returns what is at the path, without following a link, mounting anything or asking a server.
pub(crate) fn look(path: &Path) -> Option<(Kind, Identity)> {
    use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, makedev, statx};
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let (mode, identity) = match statx(CWD, path, flags, StatxFlags::TYPE | StatxFlags::INO) {
        Ok(stat) => {
            let dev = makedev(stat.stx_dev_major, stat.stx_dev_minor);
            (
                u32::from(stat.stx_mode),
                Identity {
                    dev,
                    ino: stat.stx_ino,
                },
            )
        }
        Err(rustix::io::Errno::NOSYS) => {
            let stat = std::fs::symlink_metadata(path).ok()?;
            (
                stat.mode(),
                Identity {
                    dev: stat.dev(),
                    ino: stat.ino(),
                },
            )
        }
        Err(_) => return None,
    };
    let kind = match FileType::from_raw_mode(mode) {
        FileType::Directory => Kind::Directory,
        FileType::RegularFile => Kind::File,
        _ => Kind::Other,
    };
    Some((kind, identity))
}

fn is_readable(dir: &Path) -> bool {
    use rustix::fs::{Access, AtFlags, CWD, accessat};
    accessat(
        CWD,
        dir,
        Access::READ_OK | Access::EXEC_OK,
        AtFlags::EACCESS,
    )
    .is_ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::watch::Marks;
    use crate::watch::testing::{changed_paths, script, started};

    #[test]
    fn a_directory_is_watched_once_and_anew_when_it_is_another() {
        let dir = tempfile::tempdir().unwrap();
        let (mut source, script) = script();
        let mut watches = Watches::default();
        let a = dir.path().join("a");
        fs::create_dir(&a).unwrap();
        assert_eq!(watches.arm(&mut source, &a, true), Armed::Anew);
        assert_eq!(watches.arm(&mut source, &a, true), Armed::Kept);
        let (_, identity) = look(&a).unwrap();
        assert!(watches.has(&a, identity));
        // Replaced without an event: the inode differs.
        fs::rename(&a, dir.path().join("b")).unwrap();
        fs::create_dir(&a).unwrap();
        assert_eq!(watches.arm(&mut source, &a, true), Armed::Anew);
        assert!(!watches.has(&a, identity));
        assert!(script.watched().contains(&a));
        // If there is an event, the watch is removed, and added again at the next listing.
        script.tell(&a, Marks::GONE);
        watches.dropped(&a);
        assert_eq!(watches.len(), 0);
        watches.arm(&mut source, &a, true);
        assert!(script.watched().contains(&a));
        watches.disarm(&mut source, dir.path());
        assert!(script.watched().is_empty());
    }

    /// A joint request skips directories with a table entry. If one directory cannot be watched, it
    /// leaves all to [`Watches::arm`].
    #[test]
    fn directories_are_watched_together_or_one_by_one() {
        let dir = tempfile::tempdir().unwrap();
        let (mut source, script) = script();
        let mut watches = Watches::default();
        let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| dir.path().join(name));
        for dir in [&a, &b, &c, &d] {
            fs::create_dir(dir).unwrap();
        }
        watches.arm(&mut source, dir.path(), true);
        let identity = |dir: &Path| look(dir).unwrap().1;
        let all = [&a, &b].map(|dir| (dir.as_path(), identity(dir)));
        // A directory that is watched already does not prevent a joint request.
        assert!(watches.arm_early(&mut source, all[..1].iter().copied(), true));
        assert!(watches.arm_early(&mut source, all.into_iter(), true));
        assert!(watches.has(&a, identity(&a)) && watches.has(&b, identity(&b)));
        assert_eq!((watches.len(), script.watched().len()), (3, 3));
        // A suspect path is not part of a joint request.
        watches.dropped(&a);
        script.limit(3);
        let all = [&a, &c].map(|dir| (dir.as_path(), identity(dir)));
        assert!(!watches.arm_early(&mut source, all.into_iter(), true));
        assert_eq!(watches.len(), 2);
        assert!(!watches.covers(&a) && !watches.covers(&c));
        watches.arm(&mut source, &c, true);
        assert_eq!(
            watches.polled().collect::<Vec<_>>(),
            [(c.as_path(), Polled::Limit)]
        );
        // Another directory is at the path now than the one that was found.
        script.limit(9);
        let of_c = identity(&c);
        watches.arm_early(&mut source, [(d.as_path(), of_c)].into_iter(), true);
        assert!(watches.has(&d, of_c));
        assert_eq!(watches.arm(&mut source, &d, true), Armed::Anew);
        assert!(watches.has(&d, identity(&d)) && script.watched().contains(&d));
    }

    /// At the limit of watches, a joint request watches some of its directories, but none is in the
    /// table. If such a directory moves without an event, the source takes a new directory at the
    /// old path for the old one. The new one must still be watched or polled.
    #[test]
    fn what_was_watched_in_vain_is_watched_anew() {
        let temp = tempfile::tempdir().unwrap();
        let mut source = started(&temp.path().join("cookies"));
        let mut watches = Watches::default();
        let [above, dir] = ["above", "above/dir"].map(|name| temp.path().join(name));
        fs::create_dir_all(&dir).unwrap();
        assert_eq!(watches.arm(&mut source, temp.path(), true), Armed::Anew);
        let identity = look(&dir).unwrap().1;
        let none = above.join("none");
        let both = [&dir, &none].map(|dir| (dir.as_path(), identity));
        watches.arm_early(&mut source, both.into_iter(), true);
        assert!(!watches.covers(&dir));
        assert_eq!(watches.arm(&mut source, &none, true), Armed::Gone);
        fs::rename(&above, temp.path().join("elsewhere")).unwrap();
        fs::create_dir_all(&dir).unwrap();
        assert_eq!(watches.arm(&mut source, &dir, true), Armed::Anew);
        assert!(is_heard(&mut source, &dir.join("file")));
    }

    /// The old and the new place have one watch. It must not be removed with the old place after
    /// the new one was watched.
    #[test]
    fn a_directory_that_went_elsewhere_untold_is_watched_there() {
        let temp = tempfile::tempdir().unwrap();
        let mut source = started(&temp.path().join("cookies"));
        let mut watches = Watches::default();
        let [old, new, below] = ["a/x", "b/x", "a/x/y"].map(|name| temp.path().join(name));
        fs::create_dir_all(&below).unwrap();
        fs::create_dir(temp.path().join("b")).unwrap();
        let mut arm = |dir: &Path| watches.arm(&mut source, dir, true);
        assert_eq!([&old, &below].map(|dir| arm(dir)), [Armed::Anew; 2]);
        fs::rename(&old, &new).unwrap();
        fs::create_dir_all(&below).unwrap();
        assert_eq!(arm(&new), Armed::Anew);
        assert_eq!(watches.take_displaced(), std::slice::from_ref(&old));
        assert!(!watches.covers(&old) && !watches.covers(&below));
        watches.disarm(&mut source, &old);
        assert!(is_heard(&mut source, &new.join("file")));
        // Displaced directories are watched again when they are listed.
        let mut arm = |dir: &Path| watches.arm(&mut source, dir, true);
        assert_eq!([&old, &below].map(|dir| arm(dir)), [Armed::Anew; 2]);
        assert_eq!(watches.take_displaced(), Vec::<PathBuf>::new());
        assert!(is_heard(&mut source, &below.join("file")));
        assert!(is_heard(&mut source, &new.join("other file")));
    }

    /// Returns whether the creation of a file is reported.
    fn is_heard(source: &mut dyn Source, file: &Path) -> bool {
        fs::write(file, "x").unwrap();
        changed_paths(source).iter().any(|path| path == file)
    }

    /// A moved tree must not cost one request for each folder: each request is compared with all
    /// watches.
    #[test]
    fn many_suspects_are_asked_for_at_once() {
        let dir = tempfile::tempdir().unwrap();
        let (mut source, script) = script();
        let mut watches = Watches::default();
        let folders: Vec<_> = (0..100)
            .map(|n| dir.path().join(format!("d/{n}")))
            .collect();
        for folder in &folders {
            fs::create_dir_all(folder).unwrap();
            watches.arm(&mut source, folder, true);
        }
        watches.dropped(&dir.path().join("d"));
        // The source has not yet read the event, so it still remembers all suspects.
        watches.clear_suspects(&mut source);
        assert_eq!(watches.suspect.len(), 100);
        script.tell(&dir.path().join("d"), Marks::GONE);
        watches.arm(&mut source, &folders[7], true);
        script.tell(&dir.path().join("d/8"), Marks::GONE);
        watches.clear_suspects(&mut source);
        assert_eq!(watches.suspect.len(), 0);
        assert!(script.watched().contains(&folders[7]));
    }

    /// Two polled directories changed places, and their subdirectories were never listed. The
    /// watches below kept their paths but moved with the directories.
    #[test]
    fn what_moved_with_a_polled_directory_is_misplaced() {
        let dir = tempfile::tempdir().unwrap();
        let (mut source, script) = script();
        let mut watches = Watches::default();
        let [a, b] = ["a", "b"].map(|name| dir.path().join(name));
        for parent in [&a, &b] {
            fs::create_dir_all(parent.join("x/y")).unwrap();
            script.limit(0);
            watches.arm(&mut source, parent, true);
            script.limit(10);
            watches.arm(&mut source, &parent.join("x"), true);
            watches.arm(&mut source, &parent.join("x/y"), true);
        }
        assert!(watches.misplaced().is_empty());
        fs::rename(&a, dir.path().join("c")).unwrap();
        fs::rename(&b, &a).unwrap();
        // `b/x` is not returned: a later listing finds that it is gone.
        assert_eq!(watches.misplaced(), [a.join("x")]);
    }

    #[test]
    fn beyond_the_limit_directories_are_polled_until_there_is_room() {
        let dir = tempfile::tempdir().unwrap();
        let (mut source, script) = script();
        let mut watches = Watches::default();
        script.limit(0);
        watches.arm(&mut source, dir.path(), true);
        assert_eq!(
            watches.polled().collect::<Vec<_>>(),
            [(dir.path(), Polled::Limit)]
        );
        script.limit(1);
        watches.arm(&mut source, dir.path(), true);
        assert_eq!(watches.polled().count(), 0);
        assert_eq!(watches.len(), 1);
    }
}
