//! Compares regular files with their rows in the index.

use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

use resemble_core::{ByteLen, ContentId, FileId};
use resemble_index::{
    Change, FileRow, FileStat, FileState, Gap, LeftOutRule, Look, NewLook, NewState,
};

use super::batch::Link;
use super::pool::Job;
use super::report::IngestError;
use super::rules;
use super::run::{Place, Run};
use super::target::Cause;
use super::verdict::{Verdict, decide, has_same_bytes, is_same_file};
use crate::read::{ReadFailure, age, open_regular};
use crate::walk::{OpenDir, Stat, means_absent};

/// The present state of a regular file, and the cause of the check.
struct Sighting<'a> {
    place: &'a Place,
    path: &'a Path,
    stat: &'a Stat,
    row: FileStat,
    cause: Cause,
    read_now: bool,
    /// True if the whole directory of the file is being compared, with everything below it.
    all_below: bool,
}

impl Run<'_> {
    /// Compares a regular file with the index. [`Self::entry`] explains `listed`.
    #[allow(clippy::too_many_arguments)]
    pub(super) fn file(
        &mut self,
        place: &Place,
        path: &Path,
        stat: &Stat,
        there: Option<FileRow>,
        cause: Cause,
        read_now: bool,
        listed: Option<(&OpenDir, bool)>,
    ) -> Result<(), IngestError> {
        self.report.progress.files += 1;
        self.bytes_seen += stat.size;
        let fs = match listed {
            // If the device of a file is not that of its directory, the file is opened to find its
            // file system. With overlayfs, one directory can have files of several devices with
            // equal inode numbers.
            Some((dir, _)) if dir.stat.dev == stat.dev => self.area.fs.id_of(dir.as_fd(), stat.dev),
            _ => {
                let Ok(fd) = place.anchor.open_at(path, rustix::fs::OFlags::PATH) else {
                    self.look_again(path.to_owned());
                    return Ok(());
                };
                self.area.fs.id_of(fd.as_fd(), stat.dev)
            }
        };
        let row = stat.row(fs);
        if let Some(other) = there.as_ref().filter(|there| !is_same_file(there, &row)) {
            self.look_at_names.insert(other.id);
        }
        let seen = Sighting {
            place,
            path,
            stat,
            row,
            cause,
            read_now,
            all_below: listed.is_some_and(|(_, below)| below),
        };
        if let Some(most) = place.root.max_size.filter(|most| seen.row.size > *most) {
            return self.too_large(seen, there.as_ref(), most);
        }
        match there {
            Some(known) if is_same_file(&known, &seen.row) => self.known_file(&seen, &known),
            there => self.other_file(&seen, there),
        }
    }

    /// Compares a file with the row that the index has for this name.
    fn known_file(&mut self, seen: &Sighting<'_>, known: &FileRow) -> Result<(), IngestError> {
        let Sighting { path, row, .. } = seen;
        let unsettled = matches!(known.state, FileState::Unsettled(_));
        if let Some(content) = known.state.content().filter(|_| !seen.place.root.text) {
            self.drop_parts(path, content)?;
        }
        self.note_names(known, row);
        let written_to = seen.cause == Cause::Modified || self.written_to.contains(&known.id);
        let may_wait = !seen.read_now && !self.options.distrust_unsettled;
        let verdict = decide(known, row, written_to, || {
            let window = self.options.settle_window.as_nanos() as i128;
            may_wait && age(row.ctime, std::time::SystemTime::now()) < window
        });
        let is_unseen = match (verdict, known.state.content()) {
            // An unchanged file is read, too, if its content must still be taken apart.
            (Verdict::Settled | Verdict::Settling, Some(content)) => {
                self.is_unseen(seen.place, content)?
            }
            _ => false,
        };
        match verdict {
            Verdict::Settled if !is_unseen => return Ok(()),
            Verdict::Settling if !is_unseen => {
                self.assumed.meet(row);
                self.recheck(path, row.ctime);
                return Ok(());
            }
            Verdict::Touched if self.is_explained(known, seen.stat, seen.cause, 0)? => {
                return self.touched(seen, known);
            }
            _ => {}
        }
        self.rules_changed(seen.place, path, seen.all_below);
        let same_stat = known.stat == *row;
        let size = known.state.content().map(|_| known.stat.size);
        let job = self.job(seen, None, size, unsettled && same_stat);
        self.read(job)
    }

    /// Schedules another check of all names of a file, if their number has changed. Does the same
    /// if the file was too large for its roots. In that case, the file will be read for this name,
    /// but may still be too large for other names.
    fn note_names(&mut self, known: &FileRow, now: &FileStat) {
        let was_skipped = now.nlink > 1 && matches!(known.state, FileState::Skipped(_));
        if known.stat.nlink != now.nlink || was_skipped {
            self.look_at_names.insert(known.id);
        }
    }

    /// Records the new stat of a file whose bytes are in the index. If the file can no longer be
    /// opened, it becomes unreadable.
    fn touched(&mut self, seen: &Sighting<'_>, known: &FileRow) -> Result<(), IngestError> {
        let Sighting { path, row, .. } = seen;
        match may_be_read(seen.place, path) {
            Ok(()) => {
                if matches!(known.state, FileState::Unsettled(_)) {
                    self.recheck(path, row.ctime);
                }
                self.batch.stat(known.id, row.clone());
            }
            Err(ReadFailure::Errno(errno)) => {
                self.report.error(path, errno);
                let number = self.pool.given();
                self.unreadable(number, path.to_path_buf(), row.clone(), errno)?;
            }
            Err(_) => self.look_again(path.to_path_buf()),
        }
        Ok(())
    }

    /// Compares a file that is new, or was moved to this name. `there` is the other file that the
    /// index has under this name, if there is one.
    fn other_file(
        &mut self,
        seen: &Sighting<'_>,
        there: Option<FileRow>,
    ) -> Result<(), IngestError> {
        let Sighting { path, row, .. } = seen;
        let replaced = there.as_ref().filter(|there| there.stat.fs == row.fs);
        let replaces = replaced.map(|there| (seen.stat.dev, there.stat.ino));
        self.rules_changed(seen.place, path, seen.all_below);
        if self.being_read.contains(&(seen.stat.dev, seen.stat.ino)) {
            self.look_again(path.to_path_buf());
            return Ok(());
        }
        let moved = match self.snapshot.file_by_inode(&row.fs, row.ino)? {
            Some(file) => self.snapshot.file(file)?,
            None => None,
        };
        let Some(moved) = moved else {
            let job = self.job(seen, replaces, None, false);
            return self.read(job);
        };
        self.note_names(&moved, row);
        let is_linked = self.is_linked(seen, &moved)?;
        let content = moved.state.content();
        // The link gives the file its new name at once. So the file keeps its row, even if other
        // files take its old names before it is read.
        if is_linked || content.is_some() && has_same_bytes(&moved, row) {
            self.batch.link(Link {
                path: path.to_path_buf(),
                file: moved.id,
                content,
                was: there.map_or(content, |there| there.state.content()),
            });
        }
        if is_linked {
            if matches!(moved.state, FileState::Unsettled(_)) {
                self.recheck(path, row.ctime);
            }
            self.batch.stat(moved.id, row.clone());
            return Ok(());
        }
        if !has_same_bytes(&moved, row) {
            self.names_gone(&moved)?;
        }
        let size = moved.state.content().map(|_| moved.stat.size);
        let job = self.job(seen, replaces, size, false);
        self.read(job)
    }

    /// Returns whether the index has the file under another name, and the file is unchanged. Then
    /// it is enough to add a link.
    fn is_linked(&self, seen: &Sighting<'_>, moved: &FileRow) -> Result<bool, IngestError> {
        let Sighting { row, cause, .. } = seen;
        let same_change = moved.stat.ctime == row.ctime;
        // An unreadable file is linked, too. Otherwise, each of its names would need a separate
        // round, and there are only a few rounds.
        let unreadable = matches!(moved.state, FileState::Unreadable(_))
            && has_same_bytes(moved, row)
            && same_change
            && self.unreadable.contains(&(row.fs.clone(), row.ino));
        if unreadable {
            return Ok(true);
        }
        let Some(content) = moved.state.content() else {
            return Ok(false);
        };
        Ok(has_same_bytes(moved, row)
            && *cause != Cause::Modified
            && !self.written_to.contains(&moved.id)
            && (same_change
                || self.is_explained(moved, seen.stat, *cause, 1)?
                    && may_be_read(seen.place, seen.path).is_ok())
            && !self.is_another_kind(seen.place, seen.path, moved)?
            && !self.is_unseen(seen.place, content)?)
    }

    fn job(
        &self,
        seen: &Sighting<'_>,
        replaces: Option<(u64, u64)>,
        known_size: Option<ByteLen>,
        second_look: bool,
    ) -> Job {
        Job {
            number: self.pool.given(),
            anchor: Arc::clone(&seen.place.anchor),
            root: Arc::clone(&seen.place.root),
            path: seen.path.to_path_buf(),
            fs: seen.row.fs.clone(),
            seen: *seen.stat,
            known_size,
            replaces,
            second_look,
            with_parts: seen.place.root.text && self.options.part_reader.is_some(),
            may_assume: !seen.read_now,
            turn: self.options.turn,
        }
    }

    /// Removes the names that a file no longer has. They must be removed before the row of the file
    /// gets other bytes under another name. The inode number may belong to another file by now.
    fn names_gone(&mut self, file: &FileRow) -> Result<(), IngestError> {
        for path in self.snapshot.paths(file.id)? {
            let is_gone = self.place(&path)?.is_some_and(|place| {
                !place.anchor.was_replaced() && place.anchor.stat_at(&path).is_err_and(means_absent)
            });
            if is_gone {
                self.report.removed += 1;
                self.push(Change::Vanished(path));
            }
        }
        Ok(())
    }

    /// Returns whether a reported event explains the change of an inode. For this, the index must
    /// have all names of the file, except for the `new` names that were just found. Only then would
    /// every write to the file have been reported.
    fn is_explained(
        &self,
        known: &FileRow,
        stat: &Stat,
        cause: Cause,
        new: usize,
    ) -> Result<bool, IngestError> {
        let is_heard = matches!(cause, Cause::Named | Cause::AttributesOnly);
        if !is_heard || self.options.distrust || self.written_to.contains(&known.id) {
            return Ok(false);
        }
        let all = stat.nlink as usize;
        Ok(all == 1 || self.snapshot.paths(known.id)?.len() + new >= all)
    }

    /// Records that a root leaves out a file because of its size, unless this is already in the
    /// index. All names of a file share one state in the index. So if the file is read for a name
    /// in another root, only this name is left out.
    fn too_large(
        &mut self,
        seen: Sighting<'_>,
        known: Option<&FileRow>,
        most: ByteLen,
    ) -> Result<(), IngestError> {
        let (path, stat) = (seen.path, seen.row);
        if self.being_read.contains(&(seen.stat.dev, seen.stat.ino)) {
            self.look_again(path.to_owned());
            return Ok(());
        }
        let has_names = stat.nlink > 1;
        if has_names && let Some(file) = self.file_in_other_root(&stat)? {
            // If the file is written through this name, perhaps only this name is reported.
            self.look_at_names.insert(file);
            let known = self.snapshot.entry(path)?;
            return self.leave(path, known.as_ref(), Gap::LeftOut(LeftOutRule::MaxSize));
        }
        self.assumed.note(&stat, None);
        let reason = format!("larger than {} bytes, the most of its root", most.0);
        let is_known = |row: &FileRow| {
            let state = &row.state;
            // If the file has a name in another root, the stored reason may name the limit of that
            // root.
            row.stat == stat
                && matches!(state, FileState::Skipped(known) if has_names || *known == reason)
        };
        if !known.is_some_and(is_known) {
            self.rules_changed(seen.place, path, seen.all_below);
            self.push(Change::File {
                path: path.to_owned(),
                stat,
                state: NewState::Skipped(reason),
            });
            // A name in another root may be found later in this round.
            if has_names {
                self.look_again(path.to_owned());
            }
        }
        Ok(())
    }

    /// Returns the file that the index has for an inode, if the root of one of its names accepts
    /// files of this size.
    fn file_in_other_root(&self, stat: &FileStat) -> Result<Option<FileId>, IngestError> {
        let Some(file) = self.snapshot.file_by_inode(&stat.fs, stat.ino)? else {
            return Ok(None);
        };
        let paths = self.snapshot.paths(file)?;
        let mut roots = paths.iter().filter_map(|path| self.area.root_of(path));
        let is_taken = roots.any(|root| root.max_size.is_none_or(|most| stat.size <= most));
        Ok(is_taken.then_some(file))
    }

    /// Returns whether a content must still be taken apart, and is not queued.
    fn is_unseen(&self, place: &Place, content: ContentId) -> Result<bool, IngestError> {
        if !place.root.text || self.options.part_reader.is_none() {
            return Ok(false);
        }
        let row = self.snapshot.content(content)?;
        let is_unseen = row.is_some_and(|row| row.look == Look::Unseen);
        Ok(is_unseen && !self.documents.has(content))
    }

    /// Drops the parts of a content, if `text` was switched off for all roots of its files.
    fn drop_parts(&mut self, path: &Path, content: ContentId) -> Result<(), IngestError> {
        let row = match &self.options.part_reader {
            Some(_) => self.snapshot.content(content)?,
            // A scan that takes nothing apart drops no parts. The next scan that takes documents
            // apart does that.
            None => None,
        };
        let Some(row) = row.filter(|row| row.look == Look::Apart || row.parts > 0) else {
            return Ok(());
        };
        // A content of many files is looked up once in a reconcile.
        if self.apart.looked_up.insert(content) && !self.is_with_text(content)? {
            let look = Change::Look {
                path: path.to_owned(),
                content: row.digest,
                look: NewLook::Unseen,
            };
            self.batch.extend(self.pool.given(), Some(look));
        }
        Ok(())
    }

    /// Returns whether a file can be taken apart under its new name, but not under its old name.
    /// Editors create a document under a temporary name, and then rename it.
    fn is_another_kind(
        &self,
        place: &Place,
        path: &Path,
        row: &FileRow,
    ) -> Result<bool, IngestError> {
        let part_reader = self
            .options
            .part_reader
            .as_ref()
            .filter(|_| place.root.text);
        let (Some(part_reader), Some(content)) = (part_reader, row.state.content()) else {
            return Ok(false);
        };
        let name = path.file_name().unwrap_or_default().as_bytes();
        if !part_reader.applies(name, &[], None) {
            return Ok(false);
        }
        let row = self.snapshot.content(content)?;
        Ok(row.is_some_and(|row| row.look == Look::Plain))
    }

    /// If the path is an ignore file whose rules apply, schedules another comparison of its whole
    /// directory. This is not necessary if the whole directory is already being compared.
    pub(super) fn rules_changed(&mut self, place: &Place, path: &Path, all_below: bool) {
        let name = path.file_name();
        if place.root.ignore && !all_below && rules::NAMES.iter().any(|n| name == Some(n.as_ref()))
        {
            self.look_again_below(path.parent().unwrap_or(path).to_owned());
        }
    }
}

fn may_be_read(place: &Place, path: &Path) -> Result<(), ReadFailure> {
    open_regular(&place.anchor, path).map(drop)
}
