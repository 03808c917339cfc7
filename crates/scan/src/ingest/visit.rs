//! Compares directories and entries with the index.

use std::ffi::OsString;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_core::DirId;
use resemble_index::{Change, Entry, Gap, LeftOutRule};
use resemble_mounts::{FsClass, class_of};
use rustix::io::Errno;

use super::lister::{KnownEntry, KnownNames, Upcoming, known_names};
use super::report::{IngestError, Listing};
use super::rules::Rules;
use super::run::{Place, Run, Why};
use super::target::Cause;
use crate::walk::{Found, Kind, OpenDir, Stat, means_absent, means_denied};

/// A directory that the walk will compare.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) path: PathBuf,
    /// The depth below the directory at which the walk starts.
    pub(super) depth: usize,
    /// True if directories in this one are entered even if the index has them.
    pub(super) below: bool,
    /// The directory that the index has at this path, if there is one.
    pub(super) known: Option<DirId>,
    /// The `st_dev` of the parent directory. `None` if the walk starts here.
    pub(super) device_above: Option<u64>,
    /// The ignore rules of the directories above this one, if there are any.
    pub(super) rules: Option<Arc<Rules>>,
    /// The cause of the check, for the files in the directory.
    pub(super) cause: Cause,
    pub(super) read_now: bool,
}

/// The number of entries after which the results of finished files are handled.
pub(super) const OFTEN: usize = 64;

impl Run<'_> {
    /// Walks a tree depth first, in the order of the bytes of names. The stack of the walk is on
    /// the heap, because a tree can be deeper than the stack of a thread allows.
    pub(super) fn walk(&mut self, place: &Place, start: Visit) -> Result<(), IngestError> {
        let result = self.walk_below(place, start);
        self.pool.lister.forget();
        result
    }

    fn walk_below(&mut self, place: &Place, start: Visit) -> Result<(), IngestError> {
        // Only a bind mount can show a directory inside itself. To detect that, the walk keeps the
        // device and inode of all directories from the root to the present one.
        let mut chain = chain_above(place, &start.path);
        let base = chain.len();
        let mut stack = vec![start];
        while let Some(visit) = stack.pop() {
            if self.should_stop() {
                return Ok(());
            }
            self.report.progress.pending_dirs = stack.len() as u64;
            chain.truncate(base + visit.depth);
            self.visit(place, visit, &mut chain, &mut stack)?;
            self.make_progress()?;
        }
        Ok(())
    }

    fn visit(
        &mut self,
        place: &Place,
        visit: Visit,
        chain: &mut Vec<(u64, u64)>,
        stack: &mut Vec<Visit>,
    ) -> Result<(), IngestError> {
        let listed = self.pool.lister.take(&visit.path);
        let listed = match self.observer.before_listing(&visit.path) {
            Listing::Go => listed,
            Listing::Anew => None,
            Listing::Skip => return Ok(()),
        };
        let (opened, listed) = match listed {
            Some(mut listed) => {
                let known = listed.known(&self.snapshot);
                (Ok(listed.dir), Some((listed.found, known)))
            }
            None => (self.open(place, &visit.path), None),
        };
        let dir = match opened {
            Ok(dir) => dir,
            Err(errno) if means_absent(errno) => {
                self.report.vanished(&visit.path);
                self.look_again(visit.path);
                return Ok(());
            }
            Err(errno) => return self.unlisted(place, visit, errno),
        };
        let identity = (dir.stat.dev, dir.stat.ino);
        let kept_out = if chain.contains(&identity) {
            Some(Why::LeftOut)
        } else {
            kept_out(place, &visit, &dir)
        };
        if let Some(why) = kept_out {
            self.report.mounts_skipped.push(visit.path.clone());
            return match why {
                Why::Gap(gap) => {
                    let known = self.snapshot.entry(&visit.path)?;
                    self.leave(&visit.path, known.as_ref(), gap)
                }
                Why::LeftOut | Why::Vanished => self.remove(&visit.path, why),
            };
        }
        chain.push(identity);
        let listed = listed.map_or_else(
            || {
                let skip = self.area.names_to_skip(&visit.path);
                let found = dir.list(&|name| skip.iter().any(|skipped| skipped == name));
                found.map(|found| (found, None))
            },
            Ok,
        );
        let (found, known) = match listed {
            Ok(listed) => listed,
            Err(errno) => return self.unlisted(place, visit, errno),
        };
        let known = match known {
            Some(known) => known,
            None if visit.known.is_some() => known_names(&self.snapshot, &visit.path)?,
            None => Vec::new(),
        };
        self.report.progress.dirs += 1;
        self.denied.remove(&visit.path);
        if visit.known.is_none() {
            self.rules_changed(place, &visit.path, false);
            self.push(Change::Dir(visit.path.clone()));
            self.entered_new(visit.path.clone());
        } else {
            self.set_unlisted(&visit.path, visit.known, None)?;
        }
        self.compare(place, &visit, &dir, found, known, stack)
    }

    /// Opens a directory. If this process has no descriptors left, drops the listings that were
    /// made ahead, and tries again.
    fn open(&self, place: &Place, dir: &Path) -> rustix::io::Result<OpenDir> {
        place.anchor.dir(dir).or_else(|errno| {
            if matches!(errno, Errno::MFILE | Errno::NFILE) {
                self.pool.lister.forget();
                return place.anchor.dir(dir);
            }
            Err(errno)
        })
    }

    /// Compares the names in a directory with the names that the index has. Both lists are sorted
    /// by the bytes of the names.
    fn compare(
        &mut self,
        place: &Place,
        visit: &Visit,
        dir: &OpenDir,
        found: Vec<Found>,
        known: KnownNames,
        stack: &mut Vec<Visit>,
    ) -> Result<(), IngestError> {
        let above = visit.rules.as_ref();
        let ignores = place.root.ignore;
        let rules = if ignores {
            let report = &mut self.report;
            Rules::enter(&place.anchor, &visit.path, above, &mut |file, errno| {
                report.error(file, errno.raw_os_error());
            })
        } else {
            None
        };
        let (mut found, left_out) = sorted_out(place, visit, rules.as_ref(), found);
        found.retain(|found| {
            if found.is_gone() {
                self.report.vanished(&visit.path.join(&found.name));
            }
            !found.is_gone()
        });
        self.leave_out(place, visit, &known, &left_out)?;
        // Names that are gone are handled first. `Run::remove` explains why.
        let is_gone = |(name, _): &&(OsString, KnownEntry)| {
            let is_found = found.binary_search_by(|found| found.name.cmp(name));
            let is_left_out = || left_out.binary_search_by(|(left, _)| left.cmp(name));
            is_found.is_err() && is_left_out().is_err()
        };
        for (name, _) in known.iter().filter(is_gone) {
            let gone = visit.path.join(name);
            self.rules_changed(place, &gone, visit.below);
            self.remove(&gone, Why::Vanished)?;
        }
        let has_unlisted = self.snapshot.has_unlisted()?;
        let mut below = Vec::new();
        let mut known = known.into_iter().peekable();
        let mut path = visit.path.clone();
        for (count, Found { name, stat }) in found.into_iter().enumerate() {
            if count % OFTEN == 0 {
                self.make_progress()?;
                if self.should_stop() {
                    return Ok(());
                }
            }
            while known.next_if(|(known, _)| *known < name).is_some() {}
            let known = known
                .next_if(|(known, _)| *known == name)
                .map(|(_, entry)| entry);
            if count > 0 {
                path.pop();
            }
            path.push(&name);
            self.report.progress.entries += 1;
            let stat = match stat {
                Ok(stat) => stat,
                Err(errno) => {
                    self.without_stat(&path, errno, known)?;
                    continue;
                }
            };
            if stat.kind != Kind::Dir {
                if self.named.is_empty() || !self.named.contains(&path) {
                    let (cause, now) = (visit.cause, visit.read_now);
                    let parent = Some((dir, visit.below));
                    self.entry(place, &path, &stat, known, cause, now, parent)?;
                }
                continue;
            }
            let known = match known.map(|known| known.entry) {
                Some(Entry::Dir(dir)) => Some(dir),
                _ => None,
            };
            let is_unlisted = match known {
                Some(dir) if has_unlisted => self.snapshot.unlisted(dir)?.is_some(),
                _ => false,
            };
            if visit.below || known.is_none() || is_unlisted {
                let visit = Visit {
                    path: path.clone(),
                    depth: visit.depth + 1,
                    below: true,
                    known,
                    device_above: Some(dir.stat.dev),
                    rules: rules.clone(),
                    cause: visit.cause,
                    read_now: visit.read_now,
                };
                below.push((visit, stat));
            }
        }
        self.look_ahead(place, dir, &below);
        stack.extend(below.into_iter().rev().map(|(visit, _)| visit));
        Ok(())
    }

    /// Handles an entry whose `stat` failed.
    fn without_stat(
        &mut self,
        path: &Path,
        errno: Errno,
        known: Option<KnownEntry>,
    ) -> Result<(), IngestError> {
        self.report.error(path, errno.raw_os_error());
        let known = known.map(|known| known.entry);
        // After a transient failure, the entry in the index stays.
        if means_denied(errno) || matches!(known, None | Some(Entry::Gap(_))) {
            let gap = Gap::Failed(errno.raw_os_error());
            self.leave(path, known.as_ref(), gap)?;
        }
        Ok(())
    }

    /// Requests the listings of the directories in this directory, because the walk will visit them
    /// next.
    fn look_ahead(&mut self, place: &Place, dir: &OpenDir, below: &[(Visit, Stat)]) {
        let (pool, area, snapshot) = (&mut self.pool, &self.area, &self.snapshot);
        let upcoming = |visit: &Visit| Upcoming {
            anchor: Arc::clone(&place.anchor),
            path: visit.path.clone(),
            skip: area.names_to_skip(&visit.path),
            device_above: dir.stat.dev,
            snapshot: visit.known.map(|_| snapshot.clone()),
        };
        for (visit, _) in below {
            // Prefetching only reads names from the disk, so it needs no snapshot of the index.
            let fetched = || Upcoming {
                snapshot: None,
                ..upcoming(visit)
            };
            pool.ahead().directory(fetched);
        }
        if !below.is_empty() {
            let dirs = below.iter();
            let dirs: Vec<_> = dirs
                .map(|(visit, stat)| (visit.path.as_path(), *stat))
                .collect();
            if self.observer.found_directories(&dirs) {
                // The walk visits the first directory immediately, so it is of no use to list it
                // ahead.
                let next = below.iter().skip(1).map(|(visit, _)| upcoming(visit));
                pool.lister.want(next);
            }
        }
    }

    /// Compares an entry that is not a directory. `listed` is set if the directory of the entry is
    /// being listed. Then it has the open directory, and a flag that is true if everything below
    /// the directory is compared, too.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn entry(
        &mut self,
        place: &Place,
        path: &Path,
        stat: &Stat,
        known: Option<KnownEntry>,
        cause: Cause,
        read_now: bool,
        listed: Option<(&OpenDir, bool)>,
    ) -> Result<(), IngestError> {
        let (known, row) = known.map_or((None, None), |it| (Some(it.entry), it.row));
        if matches!(known, Some(Entry::Dir(_))) {
            self.observer.directory_gone(path);
        }
        if let Some(Entry::File(file)) = known
            && stat.kind != Kind::File
        {
            self.rules_changed(place, path, listed.is_some_and(|(_, below)| below));
            self.look_at_names.insert(file);
        }
        match stat.kind {
            Kind::Dir => {}
            Kind::File => self.file(place, path, stat, row, cause, read_now, listed)?,
            Kind::Symlink => {
                let name = path.file_name().unwrap_or_default();
                let target = match listed {
                    Some((dir, _)) => dir.read_link(name),
                    None => place.anchor.read_link(path),
                };
                let Ok(target) = target else {
                    self.report.vanished(path);
                    self.look_again(path.to_owned());
                    return Ok(());
                };
                let entry = Entry::Symlink(target.clone());
                if known != Some(entry) {
                    self.push(Change::Symlink {
                        path: path.to_owned(),
                        target,
                    });
                }
            }
            Kind::Special(kind) => {
                if known != Some(Entry::Special(kind)) {
                    self.push(Change::Special {
                        path: path.to_owned(),
                        kind,
                    });
                }
            }
        }
        Ok(())
    }
}

/// Returns the device and inode of each directory above `path`, beginning with its root.
fn chain_above(place: &Place, path: &Path) -> Vec<(u64, u64)> {
    let root = place.anchor.path();
    let above: Vec<&Path> = path
        .ancestors()
        .skip(1)
        .take_while(|p| p.starts_with(root))
        .collect();
    let stats = above
        .into_iter()
        .rev()
        .filter_map(|dir| place.anchor.stat_at(dir).ok());
    stats.map(|stat| (stat.dev, stat.ino)).collect()
}

/// Returns the reason why a directory on another file system is not entered. Returns `None` if the
/// directory is entered.
fn kept_out(place: &Place, visit: &Visit, dir: &OpenDir) -> Option<Why> {
    // A root is always entered, whatever its file system is, because the user named it.
    if visit.path == place.root.path || visit.device_above == Some(dir.stat.dev) {
        return None;
    }
    if !class_of(dir.as_fd()).is_ok_and(|class| class == FsClass::Real) {
        return Some(Why::LeftOut);
    }
    let is_other = dir.stat.dev != place.anchor.stat().dev;
    (place.root.one_file_system && is_other)
        .then_some(Why::Gap(Gap::LeftOut(LeftOutRule::OneFileSystem)))
}

/// Splits the names in a directory into names that are compared and names that a rule leaves out.
/// If a rule leaves out a name that is gone by now, the name is in neither list.
fn sorted_out(
    place: &Place,
    visit: &Visit,
    rules: Option<&Arc<Rules>>,
    found: Vec<Found>,
) -> (Vec<Found>, Vec<(OsString, LeftOutRule)>) {
    let ignores = place.root.ignore;
    if !ignores && place.root.exclude.is_empty() {
        return (found, Vec::new());
    }
    let rule_of = |found: &Found| {
        let is_dir = found.stat.is_ok_and(|stat| stat.kind == Kind::Dir);
        let path = visit.path.join(&found.name);
        if place.excluded.has(&path, is_dir) {
            return Some(LeftOutRule::Exclude);
        }
        let is_ignored = ignores && Rules::ignore(rules, &path, is_dir);
        is_ignored.then_some(LeftOutRule::Ignore)
    };
    let (mut kept, mut left_out) = (Vec::new(), Vec::new());
    for found in found {
        match rule_of(&found) {
            Some(_) if found.is_gone() => {}
            Some(rule) => left_out.push((found.name, rule)),
            None => kept.push(found),
        }
    }
    (kept, left_out)
}
