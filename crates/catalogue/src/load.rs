//! Loads the records of a catalogue into an index.
//!
//! A catalogue is loaded in batches. Each batch is one transaction. If anything in the catalogue is
//! invalid, all of it is removed from the index again. The callers answer no question about a
//! catalogue before it is completely loaded. A content stays in memory only until its batch is
//! applied, except for the contents in `Loader::spare`.
//!
//! If the index already has an older catalogue of the same tree, only the differences are written.
//! An entry that is the same in both catalogues stays ([`Before`]). Entries that the new catalogue
//! lacks are removed at the end. The catalogues of two consecutive nights have few differences, so
//! one transaction is usually enough. If it is not enough, the whole catalogue is loaded
//! ([`load`]).

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

/// The approximate number of bytes of changes that make a batch full.
const HEAVY: usize = 32 << 20;
/// The number of chunks and fingerprints that make a batch full.
const MANY_POSTINGS: u64 = 300_000;
/// The number of added chunks and fingerprints above which the segments of the index are merged
/// after a catalogue is loaded.
const BULK: u64 = 200_000;
/// The approximate number of bytes of a change without its path.
const CHANGE: usize = 300;

/// The totals of a loaded catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Loaded {
    /// The number of files. Hard links to one file count as one file.
    pub files: u64,
    /// The sum of the sizes of the files in bytes.
    pub bytes: u64,
    /// The number of changes that were applied to the index.
    pub changes: u64,
}

/// Loads a catalogue into the index, at the path `root` (see [`resemble_proto::catalogued`]). One
/// transaction replaces the old tree at that path. Until then, questions are answered from the old
/// tree. After a failure, the old tree is still there.
///
/// If the differences from the old tree fit into one transaction, only they are written. Otherwise
/// the catalogue is loaded at a second path, and replaces the old tree when it is complete.
pub fn load(index: &Index, root: &Path, catalogue: Catalogue) -> Result<Loaded, CatalogueError> {
    load_by(index, root, catalogue, HEAVY)
}

/// Does the same as [`load`], with a limit of `heavy` bytes for a transaction.
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

/// Loads a catalogue at a path where the index has nothing yet. If loading fails, the loaded part
/// is removed.
fn load_anew(loader: Loader<'_>) -> Result<Loaded, CatalogueError> {
    let (index, at) = (loader.index, loader.root);
    // `run` returns `None` only if `in_one` is set. It is not set here.
    let loaded = loader.run().map(Option::unwrap_or_default);
    // If the index cannot be written, `unload` fails like the load itself. The first failure is
    // reported.
    if loaded.is_err()
        && let Err(error) = unload(index, at)
    {
        tracing::warn!(?at, %error, "a part of a catalogue is left in the index");
    }
    loaded
}

/// Returns the id of a made-up file system, in which the files of a catalogue get their inode
/// numbers.
fn fs_of(root: &Path) -> FsId {
    FsId(format!("catalogue {}", digest(root.as_os_str().as_bytes())).into())
}

/// Checks that the contents of a catalogue were digested with `params`, the parameters of the
/// index. Contents that were digested with other parameters cannot be compared with those of the
/// index.
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

/// Removes every catalogue from the index, except the catalogues at the paths `wanted`. A killed
/// process may have left other catalogues there.
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

/// The facts about a content of the catalogue that are still needed after its batch is applied.
struct LoadedContent {
    digest: ContentDigest,
    size: u64,
    /// True if the content has all its chunks. Every content of a file has them.
    whole: bool,
}

/// Changes that are not applied yet.
#[derive(Default)]
struct Batch {
    changes: Vec<Change>,
    /// The contents of this batch by their numbers. The flag is true if a change of the batch
    /// refers to the content, or if the content is also in `spare`.
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
    /// The content of each file, by the file's number. `None` if the file could not be read or was
    /// left out.
    files: Vec<Option<u32>>,
    batch: Batch,
    /// Contents of parts to which no change refers. The index has taken apart their archive in a
    /// different way. Another archive later in the catalogue may still refer to them.
    spare: HashMap<u32, PackedContent>,
    loaded: Loaded,
    postings: u64,
    /// The approximate number of bytes of changes that make a batch full.
    heavy: usize,
    /// True if everything must fit into one transaction.
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

    /// Loads the whole catalogue. If `in_one` is set and one transaction is not enough, returns
    /// `None` without having written anything.
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
        // The change that makes the entry of the index equal to the entry of the catalogue. `None`
        // if the old entry is already equal.
        let change = match what {
            EntryKind::Dir => {
                let stays = matches!(before, Some(Entry::Dir(_)));
                (!stays).then_some(Change::Dir(path))
            }
            // The root of a catalogue must be a folder.
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
                    // The old file stays, so the index already has its content. No change refers to
                    // this content.
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

    /// Returns the `FileStat` of the file with this number. Counts the file if this is its first
    /// name. Every further name of the file must have the same content.
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
        // If an old file stays, its new hard links must have its inode number, too.
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

    /// Returns the reference by which a change names a content. The reference is the id of the
    /// content if the index has the content. Otherwise it is the digest and the data of the
    /// content.
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
        // The data of a content are dropped with its batch. An unused content of an earlier batch
        // is available only if it is in `spare`.
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

    /// Records what was found when the content of the file at `path` was taken apart. `has` is the
    /// row of the content in the index, if the caller has read it.
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
        // By itself, the index takes apart only contents that files have. A content that has
        // neither files nor a result in the index gets the result of the catalogue.
        let row = found.filter(|row| row.files > 0 || row.look != Look::Unseen);
        let was = row.map(|row| row.look);
        let look = match (was, apart) {
            // The index has a result for this content, so the catalogue's look is not needed.
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
                // If a file of the index has the content, the index will itself take the content
                // apart.
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

    /// Marks the contents of parts as used, although the index keeps its own list of parts.
    /// [`Self::apply`] refuses a batch that has an unused content.
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

    /// Applies the batch if it is full, unless everything must fit into one transaction. A batch
    /// can end after any entry. The contents that an entry refers to are in its own batch or in an
    /// earlier batch.
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
            // Another writer removed a content of the index after the snapshot was taken.
            return Err(self.catalogue.forged());
        }
        self.snapshot = self.index.snapshot()?;
        Ok(())
    }
}
