//! Loads records into an index.
//!
//! A catalogue is loaded in batches, each a transaction. If anything in it is invalid, it is
//! removed again: no question ever sees half a catalogue. Contents are in memory only during their
//! batch.
//!
//! If an older catalogue of the tree is in the index already, only the difference is written. An
//! entry that is equal in both stays ([`Before`]). Entries that the new one does not have are
//! removed at the end. Between the catalogues of two nights these changes are very few, and one
//! transaction is enough.

mod before;
#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use resemble_core::hash::content::digest;
use resemble_core::{ByteLen, ContentDigest, Params};
use resemble_index::{
    Change, ContentRef, ContentRow, Entry, FileStat, FileState, FsId, Index, Look, NewLook,
    NewPart, NewState, PartRole, Snapshot, Timestamp,
};
use resemble_proto::catalogued;

use before::Before;

use super::format::{Apart, CatalogueRecord, EntryKind, MOST_BYTES, PackedContent, Part};
use super::{Catalogue, CatalogueError};

/// The approximate bytes of changes that are applied together.
const HEAVY: usize = 32 << 20;
/// Chunks and fingerprints that are applied together.
const MANY_POSTINGS: u64 = 300_000;
/// If a catalogue has more chunks and fingerprints than this, the segments of the index are merged
/// after it is loaded.
const BULK: u64 = 200_000;
/// The approximate bytes of a change without its path.
const CHANGE: usize = 300;

/// The totals of a catalogue that was loaded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// Files; hard links are one.
    pub files: u64,
    /// Bytes of the files.
    pub bytes: u64,
    /// Changes that were applied.
    pub changes: u64,
}

/// Loads a catalogue into the index, at `root` (see [`resemble_proto::catalogued`]), and replaces
/// the tree there in one transaction. Meanwhile questions are answered from the old tree. After a
/// failure the old tree is still there.
///
/// If the difference from the old tree fits into one transaction, only the difference is written.
/// Otherwise the catalogue is loaded next to the old tree and replaces it when it is complete.
pub fn load(index: &Index, root: &Path, catalogue: Catalogue) -> Result<Loaded, CatalogueError> {
    load_by(index, root, catalogue, HEAVY)
}

/// Like [`load`], with transactions of about `heavy` bytes.
fn load_by(
    index: &Index,
    root: &Path,
    catalogue: Catalogue,
    heavy: usize,
) -> Result<Loaded, CatalogueError> {
    fits(&catalogue, index.params())?;
    let before = Before::of(&index.snapshot()?, root, &fs_of(root))?;
    if !before.is_there() {
        let loader = Loader::new(index, root, before, catalogue, heavy)?;
        return load_anew(loader);
    }
    let (file, free) = (catalogue.path().to_owned(), before.free());
    let mut loader = Loader::new(index, root, before, catalogue, heavy)?;
    loader.in_one = true;
    if let Some(loaded) = loader.run()? {
        return Ok(loaded);
    }
    let (beside, again) = (catalogued::beside(root), super::open(&file)?);
    let mut loader = Loader::new(index, &beside, Before::nothing(free), again, heavy)?;
    loader.fs = fs_of(root);
    let loaded = load_anew(loader)?;
    index.apply(vec![Change::Rename {
        from: beside,
        to: root.to_owned(),
    }])?;
    Ok(loaded)
}

/// Loads a catalogue at a path where the index has nothing yet. No question sees the catalogue
/// before it is complete. If loading fails, it is removed.
fn load_anew(loader: Loader<'_>) -> Result<Loaded, CatalogueError> {
    let (index, at) = (loader.index, loader.root);
    // `run` returns `None` only if one transaction has to be enough; here any number is allowed.
    let loaded = loader.run().map(Option::unwrap_or_default);
    // If the index cannot be written, `unload` fails, too. The first failure is the one to report.
    if loaded.is_err()
        && let Err(error) = unload(index, at)
    {
        tracing::warn!(?at, %error, "a part of a catalogue is left in the index");
    }
    loaded
}

/// Returns the file system in which the files of a catalogue get their inode numbers.
fn fs_of(root: &Path) -> FsId {
    FsId(format!("catalogue {}", digest(root.as_os_str().as_bytes())).into())
}

/// Checks that the contents of a catalogue were digested with `params`. Otherwise they cannot be
/// compared with those of the index.
pub fn fits(catalogue: &Catalogue, params: &Params) -> Result<(), CatalogueError> {
    let (theirs, ours) = (&catalogue.head().params, params.to_string());
    if *theirs == ours {
        return Ok(());
    }
    Err(CatalogueError::Params {
        file: catalogue.path().to_owned(),
        theirs: theirs.clone(),
        ours,
    })
}

/// Removes the tree at `root` from the index.
pub fn unload(index: &Index, root: &Path) -> Result<(), CatalogueError> {
    let snapshot = index.snapshot()?;
    if snapshot.entry(root)?.is_some() {
        index.apply(vec![Change::Remove(root.to_owned())])?;
    }
    Ok(())
}

/// Removes every catalogue but those at `wanted` from the index: a killed process may have left
/// some there.
pub fn unload_stray(index: &Index, wanted: &[PathBuf]) -> Result<(), CatalogueError> {
    let top = index.snapshot()?.list(Path::new("/"))?;
    for (name, _) in top {
        let path = Path::new("/").join(name);
        if catalogued::is_catalogued(&path) && !wanted.contains(&path) {
            unload(index, &path)?;
        }
    }
    Ok(())
}

/// The facts about a content of the catalogue that are kept after its batch.
struct LoadedContent {
    digest: ContentDigest,
    size: u64,
    /// True if the content has all its chunks, as every content of a file does.
    whole: bool,
}

/// Changes that are not applied yet.
#[derive(Default)]
struct Batch {
    changes: Vec<Change>,
    /// The contents that came in this batch, each with true if a change of the batch refers to it.
    brought: HashMap<u32, (PackedContent, bool)>,
    looks: HashMap<u32, Option<Apart>>,
    weight: usize,
    postings: u64,
}

struct Loader<'a> {
    index: &'a Index,
    root: &'a Path,
    fs: FsId,
    before: Before,
    snapshot: Snapshot,
    catalogue: Catalogue,
    contents: Vec<LoadedContent>,
    /// The content of each file; `None` if it could not be read.
    files: Vec<Option<u32>>,
    batch: Batch,
    /// Parts that the index does not have, because it has taken their archive apart differently.
    /// Other archives may have them, too.
    spare: HashMap<u32, PackedContent>,
    loaded: Loaded,
    postings: u64,
    /// The approximate bytes of changes that are applied together.
    heavy: usize,
    /// True if only one transaction is allowed.
    in_one: bool,
}

impl<'a> Loader<'a> {
    fn new(
        index: &'a Index,
        root: &'a Path,
        before: Before,
        catalogue: Catalogue,
        heavy: usize,
    ) -> Result<Self, CatalogueError> {
        Ok(Self {
            fs: fs_of(root),
            before,
            index,
            root,
            snapshot: index.snapshot()?,
            catalogue,
            contents: Vec::new(),
            files: Vec::new(),
            batch: Batch::default(),
            spare: HashMap::new(),
            loaded: Loaded::default(),
            postings: 0,
            heavy,
            in_one: false,
        })
    }

    /// Loads the whole catalogue. Returns `None` if `in_one` is set and one transaction is not
    /// enough; then nothing was written.
    fn run(mut self) -> Result<Option<Loaded>, CatalogueError> {
        let mut ended = false;
        while let Some(record) = self.catalogue.next_record()? {
            if ended {
                return Err(self.catalogue.forged());
            }
            if self.in_one && self.is_full() {
                return Ok(None);
            }
            match record {
                CatalogueRecord::Head(_) => return Err(self.catalogue.forged()),
                CatalogueRecord::Content(content) => self.content(content)?,
                CatalogueRecord::Look { content, apart } => {
                    if content as usize >= self.contents.len() {
                        return Err(self.catalogue.forged());
                    }
                    self.batch.weight +=
                        apart.as_ref().map_or(0, |(parts, ..)| parts.len() * CHANGE);
                    self.batch.looks.insert(content, apart);
                }
                CatalogueRecord::Entry { path, what } => self.entry(&path, what)?,
                CatalogueRecord::End(totals) => {
                    ended = true;
                    let Loaded { files, bytes, .. } = self.loaded;
                    let contents = self.contents.len() as u64;
                    if (totals.contents, totals.files, totals.bytes) != (contents, files, bytes) {
                        return Err(self.catalogue.forged());
                    }
                }
            }
        }
        if !ended {
            return Err(self.catalogue.forged());
        }
        self.batch.changes.extend(self.before.gone());
        self.apply()?;
        drop(self.snapshot);
        if self.postings > BULK {
            self.index.finish_bulk()?;
        }
        Ok(Some(self.loaded))
    }

    fn content(&mut self, content: PackedContent) -> Result<(), CatalogueError> {
        let number = u32::try_from(self.contents.len()).map_err(|_| self.catalogue.forged())?;
        self.contents.push(LoadedContent {
            digest: *content.digest(),
            size: content.size().0,
            whole: content.is_whole(),
        });
        self.batch.brought.insert(number, (content, false));
        Ok(())
    }

    fn entry(&mut self, path: &[u8], what: EntryKind) -> Result<(), CatalogueError> {
        let path = if path.is_empty() {
            self.root.to_owned()
        } else {
            self.root.join(OsStr::from_bytes(path))
        };
        let length = path.as_os_str().len();
        let is_folder = matches!(what, EntryKind::Dir);
        let before = self.before.entry(&path, is_folder)?;
        let before = before.as_ref();
        let mut look = None;
        // The change that the entry needs; `None` if the old entry stays.
        let change = match what {
            EntryKind::Dir => {
                let stays = matches!(before, Some(Entry::Dir(_)));
                (!stays).then_some(Change::Dir(path))
            }
            // A catalogue is a folder, so an entry at its root cannot be a file.
            _ if path == self.root => return Err(self.catalogue.forged()),
            EntryKind::Symlink(target) => {
                let stays = matches!(before, Some(Entry::Symlink(known)) if *known == target);
                (!stays).then_some(Change::Symlink { path, target })
            }
            EntryKind::Special(kind) => {
                let stays = matches!(before, Some(Entry::Special(known)) if *known == kind);
                (!stays).then_some(Change::Special { path, kind })
            }
            EntryKind::Unreadable { file, size, errno } => {
                let stat = self.file(file, size, 0, None)?;
                let same = |_: &_, known: &FileState| Ok(*known == FileState::Unreadable(errno));
                let stays = self.before.is_file(before, file, &stat, same)?;
                let state = NewState::Unreadable(errno);
                (!stays).then_some(Change::File { path, stat, state })
            }
            EntryKind::Skipped { file, size, reason } => {
                let stat = self.file(file, size, 0, None)?;
                let same = |_: &_, known: &FileState| {
                    Ok(matches!(known, FileState::Skipped(it) if *it == reason))
                };
                let stays = self.before.is_file(before, file, &stat, same)?;
                let state = NewState::Skipped(reason);
                (!stays).then_some(Change::File { path, stat, state })
            }
            EntryKind::File {
                file,
                mtime,
                content,
            } => {
                let known = self
                    .contents
                    .get(content as usize)
                    .filter(|known| known.whole);
                let (size, digest) = known
                    .map(|known| (known.size, known.digest))
                    .ok_or_else(|| self.catalogue.forged())?;
                let stat = self.file(file, size, mtime, Some(content))?;
                let mut has = None;
                let same = |snapshot: &Snapshot, known: &FileState| {
                    let FileState::Settled(id) = known else {
                        return Ok(false);
                    };
                    has = snapshot.content(*id)?.filter(|row| row.digest == digest);
                    Ok(has.is_some())
                };
                let stays = self.before.is_file(before, file, &stat, same)?;
                let apart = self.batch.looks.remove(&content);
                look = apart.map(|apart| (path.clone(), (digest, has), apart));
                if stays {
                    // The old file stays, so the index has its content already.
                    self.batch.brought.remove(&content);
                    None
                } else {
                    let state = NewState::Settled(self.reference(content)?);
                    Some(Change::File { path, stat, state })
                }
            }
        };
        if let Some(change) = change {
            self.batch.weight += CHANGE + length;
            self.batch.changes.push(change);
        }
        match look {
            Some((path, content, apart)) => self.look(path, content, apart),
            None => self.settle(),
        }
    }

    /// Returns the stat of the file with this number. Counts the file if it is new; other names of
    /// it must have the same content.
    fn file(
        &mut self,
        file: u32,
        size: u64,
        mtime: i64,
        content: Option<u32>,
    ) -> Result<FileStat, CatalogueError> {
        match self.files.get(file as usize) {
            Some(known) if *known == content => {}
            None if file as usize == self.files.len() => {
                self.files.push(content);
                self.loaded.files += 1;
                let sum = self.loaded.bytes.checked_add(size);
                let sum = sum.filter(|sum| *sum <= MOST_BYTES);
                self.loaded.bytes = sum.ok_or_else(|| self.catalogue.forged())?;
            }
            _ => return Err(self.catalogue.forged()),
        }
        let time = Timestamp {
            secs: mtime,
            nanos: 0,
        };
        // If an old file stays, its further names refer to its inode.
        let free = self.before.free().saturating_add(file.into());
        let (fs, ino) = self.before.file(file).map_or_else(
            || (self.fs.clone(), free),
            |known| (known.stat.fs.clone(), known.stat.ino),
        );
        Ok(FileStat {
            fs,
            ino,
            size: ByteLen(size),
            mtime: time,
            ctime: time,
            nlink: 1,
        })
    }

    /// Returns the reference by which a change names a content: its id if the index has it, else
    /// its digest and data.
    fn reference(&mut self, number: u32) -> Result<ContentRef, CatalogueError> {
        let Some(known) = self.contents.get(number as usize) else {
            return Err(self.catalogue.forged());
        };
        if let Some(id) = self.snapshot.content_by_digest(&known.digest)? {
            let same = self
                .snapshot
                .content(id)?
                .is_some_and(|row| row.size.0 == known.size);
            self.batch.brought.remove(&number);
            return same
                .then_some(ContentRef::Known(id))
                .ok_or_else(|| self.catalogue.forged());
        }
        // A content of an earlier batch that no change referred to is not in the index.
        let brought = self.batch.brought.get_mut(&number);
        let content = brought.as_ref().map(|(content, _)| content);
        let digest = content
            .or_else(|| self.spare.get(&number))
            .and_then(|content| content.unpack(self.index.params()));
        let digest = Box::new(digest.ok_or_else(|| self.catalogue.forged())?);
        if let Some((_, used)) = brought {
            let pieces = digest.chunks.0.len() + digest.signature.fingerprints.len();
            self.batch.weight += CHANGE + pieces * 32;
            if !std::mem::replace(used, true) {
                self.batch.postings += pieces as u64;
            }
        }
        Ok(ContentRef::New(digest))
    }

    /// Records the result of taking the content of the file at `path` apart. `has` is the index's
    /// row of the content, if the caller has found it.
    fn look(
        &mut self,
        path: PathBuf,
        (content, has): (ContentDigest, Option<ContentRow>),
        apart: Option<Apart>,
    ) -> Result<(), CatalogueError> {
        let found = if let Some(row) = has {
            Some(row)
        } else {
            let id = self.snapshot.content_by_digest(&content)?;
            let row = id.map(|id| self.snapshot.content(id)).transpose()?;
            row.flatten()
        };
        // The index itself takes apart only contents of files. For any other content that has no
        // look yet, the catalogue's look is used.
        let row = found.filter(|row| row.files > 0 || row.look != Look::Unseen);
        let was = row.map(|row| row.look);
        let look = match (was, apart) {
            // The index has taken the content apart itself, so the catalogue's look is not needed.
            (Some(Look::Plain | Look::Apart), apart) => {
                self.use_parts(apart.as_ref())?;
                None
            }
            (Some(Look::Unseen), None) => None,
            (None, None) => Some(NewLook::Plain),
            (was, Some((parts, skipped, date))) => Some(NewLook::Apart {
                parts: self.parts(parts)?,
                skipped,
                date,
                // A live file has the content, so the index takes it apart itself later.
                again: was.is_some(),
            }),
        };
        if let Some(look) = look {
            self.batch.changes.push(Change::Look {
                path,
                content,
                look,
            });
        }
        self.settle()
    }

    fn parts(&mut self, parts: Vec<Part>) -> Result<Vec<NewPart>, CatalogueError> {
        let mut new = Vec::with_capacity(parts.len());
        let mut total = 0u64;
        for part in parts {
            let is_whole = matches!(part.role, PartRole::WholeText | PartRole::WholeBytes);
            if let Some(known) = part.content.and_then(|at| self.contents.get(at as usize)) {
                total = total.saturating_add(known.size);
                if !is_whole && !known.whole {
                    return Err(self.catalogue.forged());
                }
            }
            let content = part
                .content
                .map(|number| self.reference(number))
                .transpose()?;
            new.push(NewPart {
                role: part.role,
                parent: part.parent,
                name: part.name,
                content,
            });
        }
        if total > MOST_BYTES {
            return Err(self.catalogue.forged());
        }
        Ok(new)
    }

    /// Marks the contents of parts as used, although the index keeps its own parts of their
    /// content. A batch with an unused content is refused.
    fn use_parts(&mut self, apart: Option<&Apart>) -> Result<(), CatalogueError> {
        let parts = apart.into_iter().flat_map(|(parts, ..)| parts);
        for number in parts.filter_map(|part| part.content) {
            if number as usize >= self.contents.len() {
                return Err(self.catalogue.forged());
            }
            let Some((content, used)) = self.batch.brought.get_mut(&number) else {
                continue;
            };
            if self.snapshot.content_by_digest(content.digest())?.is_some() {
                self.batch.brought.remove(&number);
            } else {
                *used = true;
                self.spare.insert(number, content.clone());
            }
        }
        Ok(())
    }

    /// Applies the batch if it is full. This is allowed after any entry, because a content directly
    /// precedes its references.
    fn settle(&mut self) -> Result<(), CatalogueError> {
        if self.in_one || !self.is_full() {
            return Ok(());
        }
        self.apply()
    }

    const fn is_full(&self) -> bool {
        self.batch.weight >= self.heavy || self.batch.postings >= MANY_POSTINGS
    }

    fn apply(&mut self) -> Result<(), CatalogueError> {
        let batch = std::mem::take(&mut self.batch);
        if !batch.looks.is_empty() || batch.brought.values().any(|(_, used)| !used) {
            return Err(self.catalogue.forged());
        }
        if batch.changes.is_empty() {
            return Ok(());
        }
        self.postings += batch.postings;
        self.loaded.changes += batch.changes.len() as u64;
        let applied = self.index.apply(batch.changes)?;
        if !applied.gone.is_empty() {
            // Another writer removed an entry after the snapshot was taken.
            return Err(self.catalogue.forged());
        }
        self.snapshot = self.index.snapshot()?;
        Ok(())
    }
}
