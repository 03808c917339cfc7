//! Records gaps: names that the rules of a root leave out, names whose `stat` fails, and
//! directories that cannot be listed.
//!
//! 1. **A gap is stored** in place of the entry, so that an answer can report it. If listing a
//!    directory is not permitted, the index has nothing below it, even if names in it could be
//!    opened. A new scan could not find these names either.
//! 2. **After a transient failure** (no descriptors, a disk error), the entries below stay in the
//!    index.
//! 3. **A gap ends** when the directory can be listed again, when a listing lacks the name, or when
//!    the name is checked and turns out to be another kind of entry.

use std::ffi::OsString;
use std::path::Path;

use resemble_core::DirId;
use resemble_index::{Change, Entry, Gap, LeftOutRule};
use rustix::io::Errno;

use super::lister::KnownNames;
use super::report::IngestError;
use super::run::{Place, Run, Why};
use super::visit::{OFTEN, Visit};
use crate::walk::means_denied;

impl Run<'_> {
    /// Records that a directory exists but cannot be listed.
    pub(super) fn unlisted(
        &mut self,
        place: &Place,
        visit: Visit,
        errno: Errno,
    ) -> Result<(), IngestError> {
        self.report.error(&visit.path, errno.raw_os_error());
        self.set_unlisted(&visit.path, visit.known, Some(errno))?;
        if !means_denied(errno) {
            return Ok(());
        }
        if visit.path == place.root.path {
            self.area.lose(&place.root.path);
            self.report.unavailable.push(visit.path);
            return Ok(());
        }
        if visit.known.is_some() {
            for (name, _) in self.snapshot.list(&visit.path)? {
                self.remove(&visit.path.join(name), Why::LeftOut)?;
            }
        }
        self.denied.insert(visit.path);
        Ok(())
    }

    /// Stores the reason why a directory could not be listed, unless the index already has this
    /// reason. `None` means that the directory was listed.
    pub(super) fn set_unlisted(
        &mut self,
        path: &Path,
        known: Option<DirId>,
        errno: Option<Errno>,
    ) -> Result<(), IngestError> {
        let before = match known {
            Some(dir) => self.snapshot.unlisted(dir)?,
            None => None,
        };
        let errno = errno.map(Errno::raw_os_error);
        if before != errno {
            let path = path.to_owned();
            self.push(Change::Unlisted { path, errno });
        }
        Ok(())
    }

    /// Removes the entries below directories for which the permission to list is missing. An event
    /// may have added such an entry before the listing failed.
    pub(super) fn empty_denied(&mut self) -> Result<(), IngestError> {
        for dir in std::mem::take(&mut self.denied) {
            for (name, _) in self.snapshot.list(&dir)? {
                self.push(Change::Remove(dir.join(name)));
            }
            self.denied.insert(dir);
        }
        self.commit()
    }

    /// Returns whether the permission to list a directory above the path is missing. If the
    /// directory can be listed by now, schedules another check of it.
    pub(super) fn is_below_denied(
        &mut self,
        place: &Place,
        path: &Path,
    ) -> Result<bool, IngestError> {
        if self.denied.is_empty() && !self.snapshot.has_unlisted()? {
            return Ok(false);
        }
        for dir in path.ancestors().skip(1) {
            if !dir.starts_with(&place.root.path) {
                break;
            }
            let errno = match self.snapshot.entry(dir)? {
                Some(Entry::Dir(dir)) => self.snapshot.unlisted(dir)?,
                _ => None,
            };
            let was_denied =
                errno.is_some_and(|errno| means_denied(Errno::from_raw_os_error(errno)));
            if was_denied || self.denied.contains(dir) {
                if place.anchor.dir(dir).is_ok() {
                    self.look_again(dir.to_owned());
                }
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Stores the names in a listing that the rules of the root leave out.
    pub(super) fn leave_out(
        &mut self,
        place: &Place,
        visit: &Visit,
        known: &KnownNames,
        left_out: &[(OsString, LeftOutRule)],
    ) -> Result<(), IngestError> {
        self.report.ignored += left_out.len() as u64;
        for (count, (name, rule)) in left_out.iter().enumerate() {
            if count % OFTEN == 0 {
                self.make_progress()?;
            }
            let path = visit.path.join(name);
            let at = known.binary_search_by(|(known, _)| known.cmp(name));
            let known = at.ok().map(|at| &known[at].1.entry);
            let gap = Gap::LeftOut(*rule);
            if known != Some(&Entry::Gap(gap)) {
                self.rules_changed(place, &path, visit.below);
            }
            self.leave(&path, known, gap)?;
        }
        Ok(())
    }

    /// Stores the reason why a name is not looked at. If the index has an entry of another kind
    /// with this name, it is removed at the end of the round.
    pub(super) fn leave(
        &mut self,
        path: &Path,
        known: Option<&Entry>,
        gap: Gap,
    ) -> Result<(), IngestError> {
        match known {
            Some(Entry::Gap(known)) if *known == gap => Ok(()),
            None | Some(Entry::Gap(_)) => {
                let path = path.to_owned();
                self.push(Change::Gap { path, gap });
                Ok(())
            }
            Some(_) => self.remove(path, Why::Gap(gap)),
        }
    }

    /// Does the same as [`Self::leave`] for a name in an event. If the directory of the name is not
    /// in the index, nothing is stored, because listing that directory will find the name.
    pub(super) fn leave_named(
        &mut self,
        place: &Place,
        path: &Path,
        gap: Gap,
    ) -> Result<(), IngestError> {
        // The rules of an ignore file apply even if the file itself is left out. The index has no
        // stat of such a file, so each event is treated as a change.
        self.rules_changed(place, path, false);
        let known = self.snapshot.entry(path)?;
        let above = match path.parent() {
            Some(above) => self.snapshot.entry(above)?,
            None => None,
        };
        if known.is_none() && !matches!(above, Some(Entry::Dir(_))) {
            return Ok(());
        }
        self.leave(path, known.as_ref(), gap)
    }
}
