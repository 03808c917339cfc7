//! Compares the paths that the targets of a reconcile give.

use std::ops::ControlFlow;
use std::os::fd::AsFd;
use std::path::Path;
use std::sync::Arc;

use resemble_index::{Change, Entry, Gap, LeftOutRule};

use super::lister::KnownEntry;
use super::report::IngestError;
use super::rules::Rules;
use super::run::{Place, Run, Why};
use super::target::{Cause, Scope, Target};
use super::visit::Visit;
use crate::walk::{Anchor, Kind, means_absent, means_denied};

impl Run<'_> {
    pub(super) fn target(&mut self, target: &Target) -> Result<(), IngestError> {
        match target {
            Target::Path {
                path,
                scope,
                cause,
                read_now,
            } => self.path(path, *scope, *cause, *read_now),
            Target::Renamed { from, to, modified } => self.renamed(from, to, *modified),
        }
    }

    /// Handles a rename that an event reported. If a file was moved, its new name is compared like
    /// any other name. The inode is in the index, so the name becomes a link. If a directory was
    /// moved, it is renamed in the index, and then compared like any other directory.
    fn renamed(&mut self, from: &Path, to: &Path, modified: bool) -> Result<(), IngestError> {
        let is_dir = |run: &mut Self, path: &Path| -> Result<bool, IngestError> {
            Ok(match run.place(path)? {
                Some(place) => place
                    .anchor
                    .stat_at(path)
                    .is_ok_and(|stat| stat.kind == Kind::Dir),
                None => false,
            })
        };
        let moved_dir = is_dir(self, to)?
            && !is_dir(self, from)?
            && self
                .area
                .root_of(from)
                .is_some_and(|root| root.path != from);
        if moved_dir {
            // Files below the directory may not be read yet, or their changes may not be applied
            // yet.
            self.drain()?;
            self.commit()?;
            // Earlier events may already have added a directory at the new path. Then nothing is
            // renamed in the index. Instead, the names in the directory are compared one by one,
            // and become links.
            let is_known_dir = |path: &Path| -> Result<bool, IngestError> {
                Ok(matches!(self.snapshot.entry(path)?, Some(Entry::Dir(_))))
            };
            if is_known_dir(from)? && !is_known_dir(to)? {
                self.observer.directory_gone(from);
                self.imply_above(to)?;
                let change = Change::Rename {
                    from: from.to_owned(),
                    to: to.to_owned(),
                };
                self.index.apply(vec![change])?;
                self.report.changes += 1;
                self.renew_snapshot()?;
            }
        }
        let cause = if modified {
            Cause::Modified
        } else {
            Cause::Named
        };
        // After a move, both paths are compared with everything below them. At either path, there
        // may be another directory now, even if it has the same names.
        let cause = if moved_dir { Cause::Unknown } else { cause };
        self.path(to, Scope::Subtree, cause, false)?;
        self.path(from, Scope::Subtree, Cause::Unknown, false)
    }

    /// Returns the root of a path. Opens the root if it was not opened before. Returns `None` if
    /// the path is in no root, or if the root is unavailable.
    pub(super) fn place(&mut self, path: &Path) -> Result<Option<Place>, IngestError> {
        let Some(root) = self.area.root_of(path) else {
            tracing::debug!(?path, "not in a root; left alone");
            return Ok(None);
        };
        let first = !self.area.was_opened(&root.path);
        match self.area.anchor(&root.path) {
            Ok(Some(anchor)) if first && self.lies_unmounted(&root.path, &anchor)? => {
                self.area.lose(&root.path);
                self.report.unavailable.push(root.path);
                Ok(None)
            }
            Ok(anchor) => Ok(anchor.map(|anchor| Place {
                excluded: self.area.excluded(&root),
                root: Arc::new(root),
                anchor,
            })),
            Err(errno) if means_absent(errno) && self.file_vanished(&root.path)? => {
                self.push(Change::Vanished(root.path));
                self.report.removed += 1;
                Ok(None)
            }
            Err(errno) => {
                self.report.error(&root.path, errno.raw_os_error());
                if let Some(Entry::Dir(dir)) = self.snapshot.entry(&root.path)?
                    && means_denied(errno)
                {
                    self.set_unlisted(&root.path, Some(dir), Some(errno))?;
                }
                self.report.unavailable.push(root.path);
                Ok(None)
            }
        }
    }

    /// Returns whether nothing is mounted at a root. This is so if the root is an empty directory,
    /// and its files in the index are on another file system. Must be called before anything below
    /// the root is compared.
    fn lies_unmounted(&mut self, root: &Path, anchor: &Anchor) -> Result<bool, IngestError> {
        if anchor.path() != root || !anchor.dir(root).is_ok_and(|dir| dir.is_empty()) {
            return Ok(false);
        }
        let mut first = None;
        self.snapshot.walk(root, &mut |_, entry| match entry {
            Entry::File(file) => {
                first = Some(*file);
                ControlFlow::Break(())
            }
            _ => ControlFlow::Continue(()),
        })?;
        let row = first.map(|file| self.snapshot.file(file)).transpose()?;
        let id = self.area.fs.id_of(anchor.as_fd(), anchor.stat().dev);
        Ok(row.flatten().is_some_and(|row| row.stat.fs != id))
    }

    /// Returns whether a missing root was a single file whose folder can be opened. Such a root is
    /// removed like any file.
    fn file_vanished(&self, root: &Path) -> Result<bool, IngestError> {
        let was_file = matches!(self.snapshot.entry(root)?, Some(Entry::File(_)));
        Ok(was_file
            && root
                .parent()
                .is_some_and(|parent| Anchor::open(parent).is_ok()))
    }

    fn path(
        &mut self,
        path: &Path,
        scope: Scope,
        cause: Cause,
        read_now: bool,
    ) -> Result<(), IngestError> {
        if self.area.is_crowded() {
            self.drain()?;
            self.area.drained();
        }
        let Some(place) = self.place(path)? else {
            return Ok(());
        };
        if self.area.left_out(&place.root.path, path) {
            return self.remove(path, Why::LeftOut);
        }
        if self.is_below_denied(&place, path)? {
            return Ok(());
        }
        let stat = match place.anchor.stat_at(path) {
            Ok(stat) => stat,
            Err(errno) if means_absent(errno) => {
                if self.snapshot.entry(path)?.is_some() {
                    self.rules_changed(&place, path, false);
                }
                return self.remove(path, Why::Vanished);
            }
            Err(errno) if means_denied(errno) => {
                // The permission to list a directory does not include access to the names in it. So
                // the listing of the closest accessible directory decides whether the name exists.
                let mut above = path.ancestors().skip(1);
                let listable = above.find(|dir| place.anchor.stat_at(dir).is_ok());
                if let Some(dir) = listable {
                    self.look_again(dir.to_owned());
                }
                return Ok(());
            }
            Err(errno) => {
                self.report.error(path, errno.raw_os_error());
                return Ok(());
            }
        };
        let is_dir = stat.kind == Kind::Dir;
        if path != place.root.path && place.excluded.holds(path, is_dir) {
            self.report.ignored += 1;
            return self.leave_named(&place, path, Gap::LeftOut(LeftOutRule::Exclude));
        }
        let mut rules = None;
        if place.root.ignore && path != place.root.path {
            let Some(above) = rules_above(&place, path) else {
                return self.remove(path, Why::LeftOut);
            };
            if Rules::ignore(above.as_ref(), path, is_dir) {
                self.report.ignored += 1;
                return self.leave_named(&place, path, Gap::LeftOut(LeftOutRule::Ignore));
            }
            rules = above;
        }
        let known = self.snapshot.entry(path)?;
        if known.is_none() {
            self.imply_above(path)?;
        }
        if stat.kind == Kind::Dir {
            if path != place.root.path
                && matches!(path.file_name(), Some(name) if name == ".zfs" || name == ".snapshot")
            {
                return self.remove(path, Why::LeftOut);
            }
            let known = match known {
                Some(Entry::Dir(dir)) => Some(dir),
                _ => None,
            };
            let below = scope == Scope::Subtree;
            let start = Visit {
                path: path.to_owned(),
                depth: 0,
                below: below || known.is_none(),
                known,
                device_above: None,
                rules,
                cause: if below && cause == Cause::Modified {
                    cause
                } else {
                    Cause::Unknown
                },
                read_now,
            };
            return self.walk(&place, start);
        }
        self.named.insert(path.to_owned());
        let known = known.map(|entry| KnownEntry::of(&self.snapshot, entry));
        self.entry(
            &place,
            path,
            &stat,
            known.transpose()?,
            cause,
            read_now,
            None,
        )?;
        self.make_progress()
    }

    /// Some directories are added to the index only because an entry below them is added. Records
    /// the topmost of these directories: see [`Self::implied`].
    fn imply_above(&mut self, path: &Path) -> Result<(), IngestError> {
        let Some(root) = self.area.root_of(path) else {
            return Ok(());
        };
        let mut top = None;
        for dir in path.ancestors().skip(1) {
            let is_below_root = dir.starts_with(&root.path) && dir != root.path;
            if !is_below_root || matches!(self.snapshot.entry(dir)?, Some(Entry::Dir(_))) {
                break;
            }
            top = Some(dir);
        }
        let top = top.filter(|dir| !self.entered.contains(*dir));
        self.implied.extend(top.map(Path::to_owned));
        Ok(())
    }
}

/// Returns the ignore rules that apply in the directory of a path. Returns `None` if one of the
/// directories from the root to the path is ignored. Errors in the rules are reported later, when
/// the directories are listed.
#[allow(clippy::option_option)]
fn rules_above(place: &Place, path: &Path) -> Option<Option<Arc<Rules>>> {
    let below = path.strip_prefix(&place.root.path).ok()?;
    let mut dir = place.root.path.clone();
    let mut rules = Rules::enter(&place.anchor, &dir, None, &mut |_, _| ());
    for name in below.parent().unwrap_or(Path::new("")) {
        dir.push(name);
        if Rules::ignore(rules.as_ref(), &dir, true) {
            return None;
        }
        rules = Rules::enter(&place.anchor, &dir, rules.as_ref(), &mut |_, _| ());
    }
    Some(rules)
}
