//! Files: one row for each inode, and the names and the content of the file.

use std::path::PathBuf;

use resemble_core::{ContentId, DirId, FileId};

use super::gaps::{GapStep, is_skipped};
use super::{Batch, Refusal};
use crate::change::{ContentRef, FileContent, NewState};
use crate::codec::inodes;
use crate::codec::rows::{FsNumber, StoredFile, decode_entry};
use crate::fault::Fault;
use crate::origins::Origin;
use crate::rows::{Entry, FileStat, FileState, FsId};
use crate::store::ReadableTable;

impl Batch<'_, '_> {
    pub(super) fn set_file(
        &mut self,
        path: PathBuf,
        stat: &FileStat,
        state: NewState,
    ) -> Result<(), Refusal> {
        let Some(state) = self.state(state)? else {
            self.applied.gone.push(path);
            return Ok(());
        };
        let content = state.content();
        let (dir, name) = self.make_spot(&path)?;
        self.note_origin(content, dir, &name);
        let fs = self.file_system(&stat.fs)?;
        let mut file = self.file_by_inode(fs, stat.ino)?;
        let old = self.entry(dir, &name)?;
        let had = match old {
            Some(Entry::File(there)) => Some(there),
            _ => file,
        };
        let was = match had {
            Some(file) => self.file(file)?.state.content(),
            None => None,
        };
        if let (Some(content), Some(was)) = (content, was) {
            self.contents.succeeds(content, was);
        }
        let named = old.is_some() && old == file.map(Entry::File);
        if let Some(old) = old
            && !named
        {
            self.release(dir, &name, &old)?;
            // If `old` was a directory, it may have held the last name of this file. Then the file
            // is gone now.
            file = self.file_by_inode(fs, stat.ino)?;
        }
        let id = if let Some(id) = file {
            if !named {
                self.further_names.insert((id.0, dir.0, &name[..]), ())?;
                self.put_entry(dir, &name, &Entry::File(id))?;
                let row = self.file(id)?;
                self.touch(&row);
                self.count_name(&row, dir, GapStep::More)?;
            }
            self.update_file(id, fs, stat, state)?;
            id
        } else {
            let id = self.new_file_id()?;
            self.put_inode(fs, stat.ino, Some(id))?;
            self.put_entry(dir, &name, &Entry::File(id))?;
            self.put_file(id, &stored(fs, stat, state, dir, name))?;
            if let Some(content) = content {
                self.contents.link(content, id)?;
            }
            id
        };
        self.applied.contents.push(FileContent {
            path,
            file: id,
            content,
            was,
        });
        Ok(())
    }

    /// Records this name as the origin of the content, if the content is new in this batch and has
    /// no origin yet. Does nothing if the time of the batch is not known.
    pub(super) fn note_origin(&mut self, content: Option<ContentId>, dir: DirId, name: &[u8]) {
        if let (Some(content), Some(time)) = (content, self.time) {
            self.contents.note_origin(content, || Origin {
                time,
                dir,
                name: name.to_vec(),
            });
        }
    }

    /// Updates the row of a file that the index has, and links the file to its new content.
    fn update_file(
        &mut self,
        id: FileId,
        fs: FsNumber,
        stat: &FileStat,
        state: FileState,
    ) -> Result<(), Fault> {
        let row = self.file(id)?;
        let (before, now) = (row.state.content(), state.content());
        self.put_file(id, &stored(fs, stat, state, row.dir, row.name))?;
        if before != now {
            if let Some(before) = before {
                self.contents.unlink(before, id)?;
            }
            if let Some(now) = now {
                self.contents.link(now, id)?;
            }
        }
        Ok(())
    }

    pub(super) fn set_stat(&mut self, file: FileId, stat: &FileStat) -> Result<(), Refusal> {
        if self.files.get(file.0)?.is_none() {
            return Ok(());
        }
        let fs = self.file_system(&stat.fs)?;
        let row = self.file(file)?;
        if (row.fs, row.ino) != (fs, stat.ino) {
            self.forget_inode(&row, file)?;
            self.put_inode(fs, stat.ino, Some(file))?;
        }
        self.put_file(file, &stored(fs, stat, row.state, row.dir, row.name))?;
        Ok(())
    }

    pub(super) fn link(&mut self, path: PathBuf, file: FileId) -> Result<(), Refusal> {
        let is_known = match self.linked.get(&file) {
            // The file lost its last name earlier in this batch. It can be restored unless another
            // file has taken over its inode number since then.
            Some(Some(row)) => self.file_by_inode(row.fs, row.ino)?.is_none(),
            _ => self.files.get(file.0)?.is_some(),
        };
        if !is_known {
            self.applied.gone.push(path);
            return Ok(());
        }
        let (dir, name) = self.make_spot(&path)?;
        let old = self.entry(dir, &name)?;
        if old == Some(Entry::File(file)) {
            return Ok(());
        }
        if let Some(old) = old {
            self.release(dir, &name, &old)?;
        }
        self.put_entry(dir, &name, &Entry::File(file))?;
        if let Some(row) = self.linked.get_mut(&file).and_then(Option::take) {
            return Ok(self.name_again(file, row, dir, name)?);
        }
        self.further_names.insert((file.0, dir.0, &name[..]), ())?;
        let row = self.file(file)?;
        self.touch(&row);
        self.count_name(&row, dir, GapStep::More)?;
        Ok(())
    }

    /// Restores a file that lost its last name in this batch, under a new name.
    fn name_again(
        &mut self,
        file: FileId,
        mut row: StoredFile,
        dir: DirId,
        name: Vec<u8>,
    ) -> Result<(), Fault> {
        if self.directories.get(row.dir.0)?.is_none() {
            self.move_origin(&row, (row.dir, &row.name), (dir, &name))?;
        }
        (row.dir, row.name) = (dir, name);
        self.put_inode(row.fs, row.ino, Some(file))?;
        self.put_file(file, &row)?;
        match row.state.content() {
            Some(content) => self.contents.link(content, file),
            None => Ok(()),
        }
    }

    /// The directory of a file's name is gone. If that name is the origin of the file's content,
    /// changes the origin to another name of the file.
    fn move_origin(
        &mut self,
        row: &StoredFile,
        from: (DirId, &[u8]),
        to: (DirId, &[u8]),
    ) -> Result<(), Fault> {
        match row.state.content() {
            Some(content) => self.contents.move_origin(content, from, to),
            None => Ok(()),
        }
    }

    /// Removes a name of a file, because the directory of that name is removed. If the name is the
    /// origin of the file's content, changes the origin to another name of the file.
    pub(super) fn unlink_with(
        &mut self,
        file: FileId,
        dir: DirId,
        name: &[u8],
    ) -> Result<(), Fault> {
        self.unlink(file, dir, name)?;
        if self.files.get(file.0)?.is_none() {
            return Ok(());
        }
        let row = self.file(file)?;
        self.move_origin(&row, (dir, name), (row.dir, &row.name))
    }

    /// Removes a name of a file. Also removes the file if this was its last name.
    pub(super) fn unlink(&mut self, file: FileId, dir: DirId, name: &[u8]) -> Result<(), Fault> {
        let mut row = self.file(file)?;
        self.touch(&row);
        self.count_name(&row, dir, GapStep::Less)?;
        if row.dir != dir || row.name != name {
            self.further_names.remove((file.0, dir.0, name))?;
            return Ok(());
        }
        let next = match self.further_names.range((file.0, 0, &[][..])..)?.next() {
            Some(next) => {
                let (key, _) = next?;
                let (of, dir, name) = key.value();
                (of == file.0).then(|| (DirId(dir), name.to_vec()))
            }
            None => None,
        };
        if let Some((dir, name)) = next {
            self.further_names.remove((file.0, dir.0, &name[..]))?;
            row.dir = dir;
            row.name = name;
            return self.put_file(file, &row);
        }
        self.files.remove(file.0)?;
        self.writing.sets.file_sums.take(&row);
        self.forget_inode(&row, file)?;
        if let Some(content) = row.state.content() {
            self.contents.unlink(content, file)?;
        }
        if let Some(nameless) = self.linked.get_mut(&file) {
            *nameless = Some(row);
        }
        Ok(())
    }

    /// Marks cached answers that depend on a file's content as outdated, because a name of the file
    /// changed.
    fn touch(&mut self, row: &StoredFile) {
        if let Some(content) = row.state.content() {
            self.writing.touched.content(content);
        }
    }

    /// Marks cached answers that depend on a file below a directory as outdated, because the paths
    /// of these files changed.
    pub(super) fn touch_below(&mut self, top: DirId) -> Result<(), Fault> {
        /// If there are more entries than this below the directory, all cached answers are marked
        /// as outdated.
        const MOST: usize = 1 << 12;
        let mut waiting = vec![top];
        let mut entries = 0;
        while let Some(dir) = waiting.pop() {
            let mut files = Vec::new();
            for row in self.entries.range((dir.0, &[][..])..)? {
                let (key, entry) = row?;
                if key.value().0 != dir.0 {
                    break;
                }
                entries += 1;
                if entries > MOST {
                    self.writing.touched.everything();
                    return Ok(());
                }
                match decode_entry(entry.value())? {
                    Entry::Dir(below) => waiting.push(below),
                    Entry::File(file) => files.push(file),
                    Entry::Symlink(_) | Entry::Special(_) | Entry::Gap(_) => {}
                }
            }
            for file in files {
                self.touch(&self.file(file)?);
            }
        }
        Ok(())
    }

    /// Replaces one name of a file by another.
    pub(super) fn rename_of(
        &mut self,
        file: FileId,
        from: (DirId, &[u8]),
        to: (DirId, &[u8]),
    ) -> Result<(), Fault> {
        let mut row = self.file(file)?;
        self.touch(&row);
        self.count_name(&row, from.0, GapStep::Less)?;
        self.count_name(&row, to.0, GapStep::More)?;
        if (row.dir, &row.name[..]) == from {
            row.dir = to.0;
            row.name = to.1.to_vec();
            return self.put_file(file, &row);
        }
        self.further_names.remove((file.0, from.0.0, from.1))?;
        self.further_names.insert((file.0, to.0.0, to.1), ())?;
        Ok(())
    }

    /// Converts the state in a change to the state that is stored. Returns `None` if the state
    /// names a content that the index no longer has.
    fn state(&mut self, state: NewState) -> Result<Option<FileState>, Refusal> {
        Ok(match state {
            NewState::Settled(content) => self.content(content)?.map(FileState::Settled),
            NewState::Unsettled(content) => self.content(content)?.map(FileState::Unsettled),
            NewState::Unreadable(errno) => Some(FileState::Unreadable(errno)),
            NewState::Skipped(reason) => Some(FileState::Skipped(reason)),
        })
    }

    fn content(&mut self, content: ContentRef) -> Result<Option<ContentId>, Refusal> {
        match content {
            ContentRef::Known(content) => Ok(self.contents.exists(content)?.then_some(content)),
            ContentRef::New(digest) => self.contents.of_digest(digest, self.writing).map(Some),
            ContentRef::Edited(edited) => self.contents.of_edited(*edited, self.writing),
        }
    }

    pub(super) fn file(&self, file: FileId) -> Result<StoredFile, Fault> {
        let row = self
            .files
            .get(file.0)?
            .ok_or_else(|| Fault::damaged("an entry names an unknown file"))?;
        Ok(StoredFile::decode(row.value())?)
    }

    fn put_file(&mut self, file: FileId, row: &StoredFile) -> Result<(), Fault> {
        row.encode(&mut self.row);
        let before = self.files.insert(file.0, &self.row[..])?;
        let before = before.map(|before| StoredFile::decode(before.value()));
        let before = before.transpose()?;
        let sums = &mut self.writing.sets.file_sums;
        if let Some(before) = &before {
            sums.take(before);
        }
        sums.add(row);
        match before {
            None => self.count_name(row, row.dir, GapStep::More),
            Some(before) if is_skipped(&before) != is_skipped(row) => {
                self.recount(file, &before, row)
            }
            Some(_) => Ok(()),
        }
    }

    /// Updates the gap counts for all names of a file whose state became a gap or is no longer a
    /// gap.
    fn recount(
        &mut self,
        file: FileId,
        before: &StoredFile,
        row: &StoredFile,
    ) -> Result<(), Fault> {
        let mut dirs = vec![row.dir];
        for name in self.further_names.range((file.0, 0, &[][..])..)? {
            let (of, dir, _) = name?.0.value();
            if of != file.0 {
                break;
            }
            dirs.push(DirId(dir));
        }
        for dir in dirs {
            self.count_name(before, dir, GapStep::Less)?;
            self.count_name(row, dir, GapStep::More)?;
        }
        Ok(())
    }

    fn new_file_id(&mut self) -> Result<FileId, Refusal> {
        let id = self.writing.counters.next_file;
        self.writing.counters.next_file = id.checked_add(1).ok_or(Refusal::Full("file"))?;
        Ok(FileId(id))
    }

    fn file_by_inode(&self, fs: FsNumber, ino: u64) -> Result<Option<FileId>, Fault> {
        let row = self.inodes.get(inodes::row_of(fs, ino))?;
        Ok(match row {
            Some(row) => inodes::file(row.value(), ino)?,
            None => None,
        })
    }

    /// Maps an inode number to a file. `None` removes the number.
    fn put_inode(&mut self, fs: FsNumber, ino: u64, file: Option<FileId>) -> Result<(), Fault> {
        let key = inodes::row_of(fs, ino);
        let row = match self.inodes.get(key)? {
            Some(row) => inodes::with(row.value(), ino, file)?,
            None => inodes::with(&[], ino, file)?,
        };
        if row.is_empty() {
            self.inodes.remove(key)?;
        } else {
            self.inodes.insert(key, &row[..])?;
        }
        Ok(())
    }

    /// Removes the inode number of a file, unless the number belongs to another file now.
    fn forget_inode(&mut self, row: &StoredFile, file: FileId) -> Result<(), Fault> {
        if self.file_by_inode(row.fs, row.ino)? == Some(file) {
            self.put_inode(row.fs, row.ino, None)?;
        }
        Ok(())
    }

    /// Returns the number of a file system. A file system that is new to the index gets the next
    /// number.
    fn file_system(&mut self, id: &FsId) -> Result<FsNumber, Refusal> {
        let known = &mut self.writing.sets.file_systems;
        if let Some(number) = known.number(id) {
            return Ok(number);
        }
        let number = known.free().ok_or(Refusal::Full("file system"))?;
        std::sync::Arc::make_mut(known).add(number, id.clone());
        self.file_systems.insert(number.0, &id.0[..])?;
        Ok(number)
    }
}

fn stored(
    fs: FsNumber,
    stat: &FileStat,
    state: FileState,
    dir: DirId,
    name: Vec<u8>,
) -> StoredFile {
    StoredFile {
        fs,
        ino: stat.ino,
        size: stat.size,
        mtime: stat.mtime,
        ctime: stat.ctime,
        nlink: stat.nlink,
        state,
        dir,
        name,
    }
}
