//! Which directories are watched, and which had to be left to polling.
//!
//! The table says what the source was told; it is keyed by path and remembers the inode behind it,
//! because a path that leads to another directory needs another watch. Three rules keep it true:
//!
//! 1. When a name is gone, the watches at and below it are taken out of the table, so whatever is
//!    found there later is watched anew.
//! 2. Whether notify has forgotten them, too, depends on what it knew when it heard of that name.
//!    It would not watch a path again that it wrongly remembers ("already done"). So a path that
//!    was taken out of the table is *suspect*: it is unwatched before it is watched again. So is a
//!    directory that is found with another inode than in the table, and one that was asked for
//!    together with others of which some could not be watched. Where many are suspect, as after a
//!    large tree was moved, the source is asked first which of them it knows still.
//! 3. The kernel has one watch for an inode, whatever paths it had. A directory that went elsewhere
//!    with nobody telling, as below a polled one, is found at its new place while the table has its
//!    old one: taking the watch of the old one away later would take that of the new one. So it is
//!    taken away before the new one is watched, and the old place is *displaced*: it is looked at
//!    again, with all below.
//! 4. After an overflow the table is emptied together with the source.
//!
//! A directory that is in the table was listed after its watch was made, or will be before the
//! reconcile that put it there ends. The table remembers whether all below it was listed, too.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use resemble_mounts::kinds;
use resemble_scan::walk::{Anchor, means_denied};

use crate::coalesce::Kind;
use crate::watch::renames::take_below;
use crate::watch::{Source, WatchError};

/// This many suspect paths are kept in any case.
const MOST_SUSPECT: usize = 50_000;
/// For this many it is not worth asking whether they are suspect rightly.
const FEW_SUSPECT: usize = 16;

/// An inode of this boot.
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
    /// It was listed with all below it after its watch was made, not only for its own names.
    deep: bool,
}

/// Why a directory is polled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Polled {
    /// The kernel gives no more watches.
    Limit,
    /// The kernel refused this one.
    Refused,
    /// Other machines may change it without our kernel noticing.
    Remote,
}

/// What became of a directory that is to be watched before it is listed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Armed {
    /// It is watched as it was before.
    Kept,
    /// It is watched, or polled, from now on.
    Anew,
    /// It was not there. If the listing finds one there all the same, nobody hears of that one.
    Gone,
}

/// The table.
#[derive(Debug, Default)]
pub(crate) struct Watches {
    watched: BTreeMap<PathBuf, Watched>,
    /// Where in the table an inode is.
    places: HashMap<Identity, PathBuf>,
    /// Paths that lost their watches because their directories are elsewhere now.
    displaced: Vec<PathBuf>,
    /// Dropped, but perhaps still in the source's own table.
    suspect: BTreeSet<PathBuf>,
    polled: BTreeMap<PathBuf, Polled>,
    /// Whether other machines may change a file system, by its `st_dev`; asked once for each.
    remote: BTreeMap<u64, bool>,
}

impl Watches {
    /// Makes sure that the directory is watched, or polled, before it is listed. `deep` says that
    /// all below it is listed, too.
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
            // What we may not read is not listed, and the watch of the parent hears when that
            // changes.
            Err(WatchError::Refused { .. }) if !is_readable(dir) => {}
            Err(error @ WatchError::Refused { .. }) => {
                tracing::debug!(dir = ?dir, %error, "polled");
                self.polled.insert(dir.to_path_buf(), Polled::Refused);
            }
        }
        Armed::Anew
    }

    /// Watches directories that will be listed, in one go, as far as nothing speaks against it.
    /// Each was there with its inode a moment ago: [`Self::arm`] has the last word. Whether all of
    /// them are watched, as far as is known.
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

    /// Takes a path and all below it out of the table.
    fn take(&mut self, path: &Path) -> Vec<PathBuf> {
        let taken = take_below(&mut self.watched, path).into_iter();
        let mut dirs = Vec::with_capacity(taken.len());
        for (dir, watched) in taken {
            self.has_left(&dir, watched.identity);
            dirs.push(dir);
        }
        dirs
    }

    /// The table does not have an inode at this path any more.
    fn has_left(&mut self, dir: &Path, identity: Identity) {
        if self.places.get(&identity).is_some_and(|place| place == dir) {
            self.places.remove(&identity);
        }
    }

    /// Takes the watch of an inode from the place where the table has it, unless it is there (too:
    /// a bind mount shows a directory at two places).
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

    /// The paths that were displaced since this was asked last.
    pub(crate) fn take_displaced(&mut self) -> Vec<PathBuf> {
        std::mem::take(&mut self.displaced)
    }

    /// The name at the path is gone, and the source has perhaps forgotten its watches at and below
    /// it.
    pub(crate) fn dropped(&mut self, path: &Path) {
        let dirs = self.take(path);
        self.suspect.extend(dirs);
        take_below(&mut self.polled, path);
    }

    /// Asks the source which suspects it has forgotten as well, where they are many: to ask costs
    /// as much as there are watches, and for each one left it must be told to forget it.
    pub(crate) fn clear_suspects(&mut self, source: &mut dyn Source) {
        if self.suspect.len() > FEW_SUSPECT.max(self.watched.len() / 64) {
            source.retain_watched(&mut self.suspect);
        }
    }

    /// Whether so much is suspect that it is better to start anew.
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

    /// Whether the directory with this inode is watched and was listed with all below it.
    pub(crate) fn has(&self, dir: &Path, identity: Identity) -> bool {
        self.watched.get(dir)
            == Some(&Watched {
                identity,
                deep: true,
            })
    }

    /// Whether changes in the directory are found, by a watch or by polling.
    pub(crate) fn covers(&self, dir: &Path) -> bool {
        self.watched.contains_key(dir) || self.polled.contains_key(dir)
    }

    /// Watched directories that are not where the table has them, as far as nobody tells: what
    /// happens to the names in a polled directory makes no event.
    pub(crate) fn misplaced(&self) -> Vec<PathBuf> {
        // Asked with every look at changes, and nearly always all directories are watched.
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

    /// How many directories are watched.
    pub(crate) fn len(&self) -> usize {
        self.watched.len()
    }

    /// The directories to look at from time to time, each with the reason.
    pub(crate) fn polled(&self) -> impl Iterator<Item = (&Path, Polled)> {
        self.polled.iter().map(|(path, why)| (path.as_path(), *why))
    }
}

/// Watches the parent of a root, to hear of the root itself. The parent is not in the table: its
/// other entries are not listed.
pub(crate) fn guard(source: &mut dyn Source, root: &Path) {
    if let Some(parent) = root.parent()
        && let Err(error) = source.watch(parent)
    {
        // Without the watch the root is still looked at from time to time.
        tracing::debug!(root = ?root, %error, "its parent is not watched");
    }
}

/// The directory of a root, if the path leads there without a symbolic link and it may be listed.
pub(crate) fn look_at_root(root: &Path) -> Option<Identity> {
    let anchor = Anchor::open(root).ok()?;
    if anchor.dir(root).is_err_and(means_denied) {
        return None;
    }
    let (dev, ino) = (anchor.stat().dev, anchor.stat().ino);
    Some(Identity { dev, ino })
}

/// What is at the path, without following a link, mounting anything or asking a server.
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
        // Replaced without any event: found by the inode.
        fs::rename(&a, dir.path().join("b")).unwrap();
        fs::create_dir(&a).unwrap();
        assert_eq!(watches.arm(&mut source, &a, true), Armed::Anew);
        assert!(!watches.has(&a, identity));
        assert!(script.watched().contains(&a));
        // With an event: forgotten, and watched when it is listed again.
        script.tell(&a, Marks::GONE);
        watches.dropped(&a);
        assert_eq!(watches.len(), 0);
        watches.arm(&mut source, &a, true);
        assert!(script.watched().contains(&a));
        watches.disarm(&mut source, dir.path());
        assert!(script.watched().is_empty());
    }

    /// Whoever watches several at once leaves those alone of which something is known, and leaves
    /// all to [`Watches::arm`] if one of them cannot be watched.
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
        // Those that are watched already count as well.
        assert!(watches.arm_early(&mut source, all[..1].iter().copied(), true));
        assert!(watches.arm_early(&mut source, all.into_iter(), true));
        assert!(watches.has(&a, identity(&a)) && watches.has(&b, identity(&b)));
        assert_eq!((watches.len(), script.watched().len()), (3, 3));
        // What the source perhaps wrongly remembers is watched anew by itself.
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
        // Another directory than was found a moment ago.
        script.limit(9);
        let of_c = identity(&c);
        watches.arm_early(&mut source, [(d.as_path(), of_c)].into_iter(), true);
        assert!(watches.has(&d, of_c));
        assert_eq!(watches.arm(&mut source, &d, true), Armed::Anew);
        assert!(watches.has(&d, identity(&d)) && script.watched().contains(&d));
    }

    /// At the limit some of several are watched, and the table has none of them. One went elsewhere
    /// with a folder above it, of which nobody told, and the source took another one at its old
    /// place for it: that was neither watched nor polled.
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

    /// Its old place was found empty after its new one was watched, and the watch went with that.
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
        // What is looked at again is watched again.
        let mut arm = |dir: &Path| watches.arm(&mut source, dir, true);
        assert_eq!([&old, &below].map(|dir| arm(dir)), [Armed::Anew; 2]);
        assert_eq!(watches.take_displaced(), Vec::<PathBuf>::new());
        assert!(is_heard(&mut source, &below.join("file")));
        assert!(is_heard(&mut source, &new.join("other file")));
    }

    /// Whether something tells that a file is made.
    fn is_heard(source: &mut dyn Source, file: &Path) -> bool {
        fs::write(file, "x").unwrap();
        changed_paths(source).iter().any(|path| path == file)
    }

    /// Moving a large tree back took a request for each folder of it, and each was compared with
    /// all.
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
        // The source does not know yet.
        watches.clear_suspects(&mut source);
        assert_eq!(watches.suspect.len(), 100);
        script.tell(&dir.path().join("d"), Marks::GONE);
        watches.arm(&mut source, &folders[7], true);
        script.tell(&dir.path().join("d/8"), Marks::GONE);
        watches.clear_suspects(&mut source);
        assert_eq!(watches.suspect.len(), 0);
        assert!(script.watched().contains(&folders[7]));
    }

    /// Two polled directories changed places, and what was in them was never looked at: the watches
    /// below had their paths and went with the directories.
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
        // What is gone is found by listing.
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
