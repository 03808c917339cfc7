//! Sends files to the reading threads, and handles the results.

use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use resemble_core::ContentId;
use resemble_index::{
    Change, ContentRef, FileRow, FileStat, FileState, Look, NewLook, NewState, Timestamp,
};

use super::pool::{Done, Job};
use super::report::{Amount, IngestError};
use super::run::{PATIENCE, PROGRESS_INTERVAL, Run};
use crate::read::{Content, FileRead, LARGE, ReadFailure, age};

/// The maximum number of files in a directory that are checked again one by one. If there are more
/// such files, the directory is listed instead.
const FEW: usize = 16;

impl Run<'_> {
    /// Sends a file to the reading threads. If the threads have enough files, handles results
    /// first.
    pub(super) fn read(&mut self, job: Job) -> Result<(), IngestError> {
        while self.pool.is_full() && !self.should_stop() {
            if let Some(done) = self.pool.take(PROGRESS_INTERVAL) {
                self.done(done)?;
            }
            self.report_progress();
        }
        if self.report.stopped {
            return Ok(());
        }
        if job.seen.nlink > 1 {
            self.being_read.insert((job.seen.dev, job.seen.ino));
        }
        self.pool.give(job).map_err(IngestError::Threads)
    }

    /// Handles the results that are ready and reports progress. Also applies the batch if it is
    /// due.
    pub(super) fn make_progress(&mut self) -> Result<(), IngestError> {
        while let Some(done) = self.pool.take_ready() {
            self.done(done)?;
        }
        self.take_documents()?;
        self.report_progress();
        if self.batch.is_full() || self.last_commit.elapsed() >= PATIENCE {
            self.commit()?;
        }
        Ok(())
    }

    pub(super) fn report_progress(&mut self) {
        if self.last_progress.elapsed() >= PROGRESS_INTERVAL {
            self.last_progress = Instant::now();
            let documents = if self.waits_for_documents() {
                self.documents.len()
            } else {
                0
            };
            let pending = (self.pool.under_way() + documents) as u64;
            self.report.progress.pending = pending;
            self.report.progress.done = Amount {
                files: self.report.progress.files.saturating_sub(pending),
                bytes: self.bytes_seen.saturating_sub(self.pool.bytes_under_way()),
            };
            self.observer.progress(&self.report.progress);
        }
    }

    /// Waits until all sent files are read.
    pub(super) fn drain(&mut self) -> Result<(), IngestError> {
        while self.pool.under_way() > 0 {
            self.should_stop();
            if let Some(done) = self.pool.take(PROGRESS_INTERVAL) {
                self.done(done)?;
            }
            self.report_progress();
            if self.batch.is_full() {
                self.commit()?;
            }
        }
        Ok(())
    }

    fn done(&mut self, done: Done) -> Result<(), IngestError> {
        let Done { job, result, took } = done;
        if job.seen.size >= LARGE.0 {
            let paused = matches!(result, Err(ReadFailure::Paused));
            self.costs.count(&job.seen, took, paused);
        }
        match result {
            Ok(read) if read.stat.dev != job.seen.dev => self.look_again(job.path),
            Ok(read) => {
                self.report.progress.files_read += 1;
                self.report.progress.bytes_read += read.bytes;
                if let Some(errno) = read.scarce {
                    // The content itself was read. The failure to take it apart is reported, but
                    // not stored as a result for the content.
                    self.report.error(&job.path, errno);
                }
                if !self.written_to.is_empty()
                    && let Some(file) = self.snapshot.file_by_inode(&job.fs, read.stat.ino)?
                {
                    self.written_to.remove(&file);
                }
                self.arrived(job, read)?;
            }
            Err(ReadFailure::Gone | ReadFailure::NotRegular) => {
                self.report.vanished(&job.path);
                self.look_again(job.path);
            }
            Err(ReadFailure::Stopped) => self.report.stopped = true,
            Err(ReadFailure::Paused) => self.report.unfinished.push(job.path),
            Err(ReadFailure::Errno(errno)) => {
                self.report.error(&job.path, errno);
                self.unreadable(job.number, job.path, job.seen.row(job.fs), errno)?;
            }
        }
        Ok(())
    }

    /// Records that a file cannot be read, unless this is already in the index.
    pub(super) fn unreadable(
        &mut self,
        number: u64,
        path: PathBuf,
        stat: FileStat,
        errno: i32,
    ) -> Result<(), IngestError> {
        self.assumed.note(&stat, None);
        if stat.nlink > 1 {
            self.unreadable.insert((stat.fs.clone(), stat.ino));
        }
        let state = NewState::Unreadable(errno);
        let same = self
            .snapshot
            .file_at(&path)?
            .is_some_and(|row| row.stat == stat && row.state == FileState::Unreadable(errno));
        if !same {
            self.batch.push(number, Change::File { path, stat, state });
        }
        Ok(())
    }

    fn arrived(&mut self, job: Job, mut read: FileRead) -> Result<(), IngestError> {
        match read.content.take() {
            Content::Known(id) => self.settle(job, &read, ContentRef::Known(id)),
            Content::New(digest) => self.settle(job, &read, ContentRef::New(digest)),
            Content::Edited(digest) => self.settle(job, &read, ContentRef::Edited(digest)),
            Content::InFlight(digest) => {
                self.waiting.push((job, read, digest));
                Ok(())
            }
        }
    }

    pub(super) fn settle(
        &mut self,
        job: Job,
        read: &FileRead,
        content: ContentRef,
    ) -> Result<(), IngestError> {
        let Job {
            number,
            path,
            fs,
            second_look,
            ..
        } = job;
        self.note_due(&path, &job.root, read);
        let settled = self.is_settled(&path, read, second_look);
        let stat = read.stat.row(fs);
        let is_assumed = (!settled).then_some(read.assumed.0 > 0);
        self.assumed.note(&stat, is_assumed);
        let look = self.look_of(&path, read, &content)?;
        if let ContentRef::Known(id) = content {
            let state = if settled {
                FileState::Settled(id)
            } else {
                FileState::Unsettled(id)
            };
            let same = |row: FileRow| row.stat == stat && row.state == state;
            if self.snapshot.file_at(&path)?.is_some_and(same) {
                self.batch.extend(number, look);
                return Ok(());
            }
        }
        let state = if settled {
            NewState::Settled(content)
        } else {
            NewState::Unsettled(content)
        };
        self.batch.push(number, Change::File { path, stat, state });
        self.batch.extend(number, look);
        Ok(())
    }

    /// Returns the change that stores the result of taking the file apart, if there is a new
    /// result.
    fn look_of(
        &self,
        path: &Path,
        read: &FileRead,
        content: &ContentRef,
    ) -> Result<Option<Change>, IngestError> {
        let Some(look) = &read.look else {
            return Ok(None);
        };
        let content = match content {
            ContentRef::New(digest) => Some(digest.content),
            ContentRef::Edited(edited) => Some(edited.digest.content),
            ContentRef::Known(id) => self.snapshot.content(*id)?.map(|row| row.digest),
        };
        Ok(content.map(|content| Change::Look {
            path: path.to_owned(),
            content,
            look: look.clone(),
        }))
    }

    /// Handles a file whose content another file has just added to the index.
    pub(super) fn brought(
        &mut self,
        job: Job,
        mut read: FileRead,
        content: ContentId,
    ) -> Result<(), IngestError> {
        let look = self.snapshot.content(content)?.map(|row| row.look);
        match look {
            Some(Look::Unseen | Look::Plain) if job.with_parts && read.applies => read.due = true,
            Some(Look::Unseen) if job.with_parts => read.look = Some(NewLook::Plain),
            _ => {}
        }
        self.settle(job, &read, ContentRef::Known(content))
    }

    /// Returns whether a file is settled: see rule 5 of [`crate::read`]. If the file is not
    /// settled, schedules another check, or reports that the file keeps changing.
    fn is_settled(&mut self, path: &Path, read: &FileRead, second_look: bool) -> bool {
        if read.moving {
            self.report.moving.push(path.to_owned());
            return false;
        }
        let window = self.options.settle_window.as_nanos() as i128;
        let age = read.age();
        if read.assumed.0 > 0 {
            self.recheck(path, read.stat.ctime);
            return false;
        }
        // A change time in the future can stay for years. So it is of no use to wait for the end of
        // the window, and a second read must be enough.
        if age >= window || (second_look && age < -window) {
            return true;
        }
        self.recheck(path, read.stat.ctime);
        false
    }

    /// Schedules another check of a file for the end of its settle window. If a directory has many
    /// such files, schedules a check of the directory instead.
    pub(super) fn recheck(&mut self, path: &Path, ctime: Timestamp) {
        let window = self.options.settle_window;
        let now = SystemTime::now();
        let left = window.as_nanos() as i128 - age(ctime, now);
        let left = u64::try_from(left)
            .map_or(Duration::ZERO, Duration::from_nanos)
            .min(window);
        let when = now + left;
        let all = &mut self.report.recheck;
        let dir = path.parent().unwrap_or(path);
        if let Some(latest) = all.get_mut(dir) {
            *latest = when.max(*latest);
            return;
        }
        let latest = all.entry(path.to_owned()).or_insert(when);
        *latest = when.max(*latest);
        let of_this = |(other, _): &(&PathBuf, &SystemTime)| other.parent() == Some(dir);
        let below = all.range::<Path, _>((Bound::Excluded(dir), Bound::Unbounded));
        let noted: Vec<PathBuf> = (below.take_while(|(other, _)| other.starts_with(dir)))
            .filter(of_this)
            .map(|(other, _)| other.clone())
            .take(FEW + 1)
            .collect();
        if noted.len() > FEW {
            let times = noted.iter().filter_map(|other| all.remove(other));
            let latest = times.max().unwrap_or(when);
            all.insert(dir.to_owned(), latest);
        }
    }
}
