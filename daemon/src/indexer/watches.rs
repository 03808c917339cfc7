//! Records which directories the source watches, and which directories are polled instead.
//!
//! The table has the watches that were requested of the source, by path. The table also has the
//! inode of each directory, because a path that leads to another directory now needs another watch.
//! Five rules keep the table correct:
//!
//! 1. When a name is gone, the watches at and below it are removed from the table. So a directory
//!    that is found there later gets a new watch.
//! 2. It is not known whether the crate notify has forgotten these watches, too. That depends on
//!    what notify knew when the event arrived. If notify wrongly remembers a path, it makes no new
//!    watch for that path ("already done"). So a path removed from the table is *suspect*: it is
//!    unwatched before it is watched again. A directory whose inode differs from the table is
//!    unwatched first, too. If a joint request fails for some directories, all its directories
//!    become suspect. If there are many suspects, as after the move of a large tree, the source is
//!    first asked which suspects it remembers.
//! 3. The kernel has one watch for each inode, whatever its paths. A directory may move without an
//!    event, for example below a polled directory. The indexer then finds the new place while the
//!    table still has the old place. The watch of the old place is removed before the new place is
//!    watched. The old place is then *displaced*: it is listed again, with everything below.
//! 4. A bind mount shows a directory at several places. The source reports each event in that
//!    directory at only one of these places. So the indexer checks the same name at the other
//!    places ([`Watches::twins`]).
//! 5. After an overflow the table is emptied together with the source.
//!
//! A directory in the table was listed after its watch was made, or will be listed before the
//! current reconcile ends. The table also records whether all directories below it were listed.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use resemble_mounts::kinds;
use resemble_scan::walk::{self, Anchor, means_absent, means_denied};

use crate::coalesce::Kind;
use crate::watch::renames::take_below;
use crate::watch::{Source, WatchError};

/// With at most this many suspect paths, [`Watches::is_stale`] is false.
const MOST_SUSPECT: usize = 50_000;
/// With at most this many suspect paths, the source is not asked which of them it still watches.
const FEW_SUSPECT: usize = 16;

/// The identity of a file or directory. It is valid until the next boot.
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
    /// True if this directory and all directories below it were listed after the watch was made.
    deep: bool,
}

/// The reason why a directory is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Polled {
    /// The kernel grants no more watches.
    Limit,
    /// The kernel refused this watch.
    Refused,
    /// Other machines may change the directory, and this kernel does not notice.
    Remote,
}

/// The result of watching a directory before it is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Armed {
    /// The directory was watched before and still is.
    Kept,
    /// The directory had no watch at this path. Now it has a watch, or it is polled, or it cannot
    /// be read.
    Anew,
    /// The directory does not exist. If the listing finds it nevertheless, it has no watch.
    Gone,
}

/// The table of watched and polled directories.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    watched: BTreeMap<PathBuf, Watched>,
    /// The inode of each watched directory, with its path.
    places: BTreeSet<(Identity, PathBuf)>,
    /// Paths whose watches were removed because their directories were found at other paths.
    displaced: Vec<PathBuf>,
    /// Paths that were removed from the table, but that the source may still remember.
    suspect: BTreeSet<PathBuf>,
    polled: BTreeMap<PathBuf, Polled>,
    /// For each file system (`st_dev`), whether other machines may change it. This is determined
    /// once.
    remote: BTreeMap<u64, bool>,
}

impl Watches {
    /// Ensures that the directory is watched or polled before it is listed. `deep` is true if all
    /// directories below it are listed, too.
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
            self.places.remove(&(was.identity, dir.to_path_buf()));
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
            // A directory that cannot be read is not listed, so it needs no watch. If its mode
            // changes, the watch of its parent reports that.
            Err(WatchError::Refused { .. }) if !is_readable(dir) => {}
            Err(error @ WatchError::Refused { .. }) => {
                tracing::debug!(dir = ?dir, %error, "polled");
                self.polled.insert(dir.to_path_buf(), Polled::Refused);
            }
        }
        Armed::Anew
    }

    /// Watches directories that will be listed, all in one request. Directories that are polled,
    /// may be remote or are in an uncertain state in the source are left out. Each directory had
    /// the given inode a moment ago; [`Self::arm`] checks that again. Returns whether the table has
    /// watches for all of `dirs` now.
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
                && self.places(identity).next().is_none();
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
            self.places.insert((watched.identity, dir.clone()));
            self.watched.insert(dir, watched);
        }
    }

    /// Removes a path and all paths below it from the table, and returns them.
    fn take(&mut self, path: &Path) -> Vec<PathBuf> {
        let taken = take_below(&mut self.watched, path).into_iter();
        let mut dirs = Vec::with_capacity(taken.len());
        for (dir, watched) in taken {
            let place = (watched.identity, dir);
            self.places.remove(&place);
            dirs.push(place.1);
        }
        dirs
    }

    /// Returns the paths at which the table has an inode.
    fn places(&self, identity: Identity) -> impl Iterator<Item = &PathBuf> {
        let places = self.places.range((identity, PathBuf::new())..);
        let places = places.take_while(move |(of, _)| *of == identity);
        places.map(|(_, place)| place)
    }

    /// Returns the other places at which a watched directory is watched.
    pub(crate) fn twins(&self, dir: &Path) -> impl Iterator<Item = &PathBuf> {
        let identity = self.watched.get(dir).map(|watched| watched.identity);
        let places = identity.into_iter().flat_map(|it| self.places(it));
        places.filter(move |place| *place != dir)
    }

    /// A directory is found at `new`. Removes its watches at the other places where the table has
    /// it. If a bind mount still shows the directory at such a place, that watch stays.
    fn displace(&mut self, source: &mut dyn Source, identity: Identity, new: &Path) {
        let places = self.places(identity).filter(|place| *place != new);
        let places: Vec<PathBuf> = places.cloned().collect();
        for place in places {
            if look(&place) != Some((Kind::Directory, identity)) {
                for dir in self.take(&place) {
                    source.unwatch(&dir);
                }
                self.displaced.push(place);
            }
        }
    }

    /// Returns the paths that were displaced since the last call.
    pub(crate) fn take_displaced(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.displaced)
    }

    /// Removes a name that is gone, with all paths below it. It is unknown whether the source has
    /// forgotten their watches, so these paths become suspect.
    pub(crate) fn dropped(&mut self, path: &Path) {
        let dirs = self.take(path);
        self.suspect.extend(dirs);
        take_below(&mut self.polled, path);
    }

    /// If there are many suspects, asks the source which of them it remembers, and drops the
    /// others. The time for this grows with the number of watches. Each remaining suspect costs a
    /// request to unwatch it.
    pub(crate) fn clear_suspects(&mut self, source: &mut dyn Source) {
        if self.suspect.len() > FEW_SUSPECT.max(self.watched.len() / 64) {
            source.retain_watched(&mut self.suspect);
        }
    }

    /// Returns whether restarting the source is cheaper than unwatching all suspect paths.
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

    /// Empties the table. The caller restarts the source, which then has no watches, either.
    pub(crate) fn clear(&mut self) {
        *self = Self::default();
    }

    /// Returns whether the directory is watched, has this inode, and was listed with everything
    /// below.
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

    /// Returns watched paths at which another directory or file is now. That can happen without an
    /// event only in a polled directory.
    pub(crate) fn misplaced(&self) -> Vec<PathBuf> {
        // This early return saves time: the function runs at every check for changes, and usually
        // no directory is polled.
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

    /// Returns the polled directories and why each is polled.
    pub(crate) fn polled(&self) -> impl Iterator<Item = (&Path, Polled)> {
        self.polled.iter().map(|(path, why)| (path.as_path(), *why))
    }
}

/// Watches the parent of a root, which reports events about the root itself. The parent is not in
/// the table, because its other entries are not listed.
pub(crate) fn guard(source: &mut dyn Source, root: &Path) {
    if let Some(parent) = root.parent()
        && let Err(error) = source.watch(parent)
    {
        // Without this watch, the root is only checked periodically.
        tracing::debug!(root = ?root, %error, "its parent is not watched");
    }
}

/// Returns the identity of a root's directory. `None` if the directory does not exist or may not be
/// listed, or if its path has a symbolic link.
pub(crate) fn look_at_root(root: &Path) -> Option<Identity> {
    let anchor = Anchor::open(root).ok()?;
    if anchor.dir(root).is_err_and(means_denied) {
        return None;
    }
    let (dev, ino) = (anchor.stat().dev, anchor.stat().ino);
    Some(Identity { dev, ino })
}

/// Returns the kind and identity of the entry at a path, if there is one. Follows no link, triggers
/// no automount and asks no server.
pub(crate) fn look(path: &Path) -> Option<(Kind, Identity)> {
    use rustix::fs::{AtFlags, CWD, FileType, StatxFlags, makedev, statx};
    use rustix::io::Errno;
    let flags = AtFlags::SYMLINK_NOFOLLOW | AtFlags::NO_AUTOMOUNT | AtFlags::STATX_DONT_SYNC;
    let (kind, dev, ino) = match statx(CWD, path, flags, StatxFlags::TYPE | StatxFlags::INO) {
        Ok(stat) => {
            let kind = FileType::from_raw_mode(u32::from(stat.stx_mode)).into();
            let dev = makedev(stat.stx_dev_major, stat.stx_dev_minor);
            (kind, dev, stat.stx_ino)
        }
        // The system call is missing, or the path is too long for one call.
        Err(Errno::NOSYS | Errno::NAMETOOLONG) => {
            let stat = Anchor::open(Path::new("/")).ok()?.stat_at(path).ok()?;
            (stat.kind, stat.dev, stat.ino)
        }
        Err(_) => return None,
    };
    let kind = match kind {
        walk::Kind::Dir => Kind::Directory,
        walk::Kind::File => Kind::File,
        walk::Kind::Symlink | walk::Kind::Special(_) => Kind::Other,
    };
    Some((kind, Identity { dev, ino }))
}

/// Returns whether a directory exists and may be listed.
fn is_readable(dir: &Path) -> bool {
    let opened = Anchor::open(dir).and_then(|anchor| anchor.dir(dir));
    !opened.is_err_and(|errno| means_denied(errno) || means_absent(errno))
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
        // The directory is replaced without an event, so only its inode differs.
        fs::rename(&a, dir.path().join("b")).unwrap();
        fs::create_dir(&a).unwrap();
        assert_eq!(watches.arm(&mut source, &a, true), Armed::Anew);
        assert!(!watches.has(&a, identity));
        assert!(script.watched().contains(&a));
        // The event removes the watch. The next listing adds it again.
        script.tell(&a, Marks::GONE);
        watches.dropped(&a);
        assert_eq!(watches.len(), 0);
        watches.arm(&mut source, &a, true);
        assert!(script.watched().contains(&a));
        watches.disarm(&mut source, dir.path());
        assert!(script.watched().is_empty());
    }

    /// A joint request leaves out directories that are in the table. If one of the requested
    /// directories cannot be watched, none of them gets into the table, and [`Watches::arm`]
    /// handles each.
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
        // A joint request leaves out a suspect path.
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
        // The identity belongs to another directory than the directory that is at the path now.
        script.limit(9);
        let of_c = identity(&c);
        watches.arm_early(&mut source, [(d.as_path(), of_c)].into_iter(), true);
        assert!(watches.has(&d, of_c));
        assert_eq!(watches.arm(&mut source, &d, true), Armed::Anew);
        assert!(watches.has(&d, identity(&d)) && script.watched().contains(&d));
    }

    /// If a joint request fails for one directory, other directories may be watched, but none of
    /// them gets into the table. If a watched directory then moves without an event, the source
    /// takes a new directory at the old path for the moved one. The new directory must be watched
    /// or polled nevertheless.
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

    /// The kernel has one watch for the directory at its old and at its new place. Ending the watch
    /// of the old place must not end the watch of the new place.
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
        // A directory at a displaced path is watched again when it is listed.
        let mut arm = |dir: &Path| watches.arm(&mut source, dir, true);
        assert_eq!([&old, &below].map(|dir| arm(dir)), [Armed::Anew; 2]);
        assert_eq!(watches.take_displaced(), Vec::<PathBuf>::new());
        assert!(is_heard(&mut source, &below.join("file")));
        assert!(is_heard(&mut source, &new.join("other file")));
    }

    /// Returns whether the source reports the creation of a file.
    fn is_heard(source: &mut dyn Source, file: &Path) -> bool {
        fs::write(file, "x").unwrap();
        changed_paths(source).iter().any(|path| path == file)
    }

    /// The source compares each request to unwatch with all its watches. So the move of a large
    /// tree must not make one request for each folder.
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
        // The source has not read the event yet, so it still remembers all suspects.
        watches.clear_suspects(&mut source);
        assert_eq!(watches.suspect.len(), 100);
        script.tell(&dir.path().join("d"), Marks::GONE);
        watches.arm(&mut source, &folders[7], true);
        script.tell(&dir.path().join("d/8"), Marks::GONE);
        watches.clear_suspects(&mut source);
        assert_eq!(watches.suspect.len(), 0);
        assert!(script.watched().contains(&folders[7]));
    }

    /// A polled directory is renamed, and another directory takes its name, without an event. The
    /// watches of the subdirectories have the old paths, but belong to the directories that have
    /// moved.
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
        // `b/x` does not exist any more, so it is not returned. A later listing finds that out.
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
