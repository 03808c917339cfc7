//! The files that take part in a question.
//!
//! A question that names directories is answered only from the files below them. Only these files
//! are candidates, and boilerplate is counted only among them. So the daemon, whose index has more
//! files, gives the same answer as the command line, which reads only these files.

use std::collections::hash_map::Entry as MapEntry;
use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;
use resemble_core::bits::BitSet;
use resemble_core::similarity::too_small;
use resemble_core::{ByteLen, ContentId, FileId, Fingerprint, Params};
use resemble_index::{Entry, FileRow, FileState, PostingKind, ReadError, Snapshot};
use resemble_proto::catalogued::is_catalogued;
use resemble_proto::message::{Looked, Scope, SoftError, SoftErrorKind, reason};
use resemble_proto::path::PathText;
use resemble_proto::pattern::Patterns;

use crate::ask::AskError;
use crate::parallel::{named, ordered};

/// A file that takes part in a question. All hard links of a file are one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScopedFile {
    /// The id of the file.
    pub file: FileId,
    /// The first of the file's paths in the scope, in the order of raw bytes.
    pub path: PathText,
    /// The content of the file.
    pub content: ContentId,
    /// The size of the file in bytes.
    pub size: ByteLen,
    /// The time of the last change, in seconds since 1970.
    pub mtime: i64,
}

/// Returns whether `scope` includes everything that the index has, and whether all of it was read.
/// A question about such a scope needs no list of files.
pub fn is_everything(snapshot: &Snapshot, scope: &Scope) -> Result<bool, ReadError> {
    let is_plain = scope.include.is_empty() && scope.exclude.is_empty() && scope.min_size == 0;
    if !is_plain || snapshot.is_partial() {
        return Ok(false);
    }
    let totals = snapshot.totals()?;
    let is_read = totals.unreadable_files == 0 && totals.skipped_files == 0;
    Ok(is_read && is_within(snapshot, Path::new("/"), &scope.within)?)
}

/// Returns whether everything that the index has in a folder is below one of `bases`.
fn is_within(snapshot: &Snapshot, dir: &Path, bases: &[PathText]) -> Result<bool, ReadError> {
    let mut all = bases.iter().map(PathText::as_path);
    if all.clone().any(|base| dir.starts_with(base)) {
        return Ok(true);
    }
    if !all.any(|base| base.starts_with(dir)) {
        return Ok(false);
    }
    for (name, _) in snapshot.list(dir)? {
        if !is_within(snapshot, &dir.join(name), bases)? {
            return Ok(false);
        }
    }
    Ok(true)
}

/// Returns the totals of a question about the whole index. They are stored, so nothing needs to be
/// counted.
pub fn everything(snapshot: &Snapshot) -> Result<Looked, ReadError> {
    let totals = snapshot.totals()?;
    let (unreadable, skipped) = (totals.unreadable_files, totals.skipped_files);
    Ok(Looked {
        files: totals.files.saturating_sub(unreadable + skipped),
        bytes: totals.file_bytes,
        unreadable,
        skipped,
        small: totals.small_files,
        least_run: least_run(snapshot.params()),
    })
}

/// Returns the minimum length of a common run that is certainly found. A run of twice the largest
/// chunk contains a whole chunk.
pub fn least_run(params: &Params) -> u64 {
    u64::from(params.chunk.max) * 2
}

/// The files that take part in a question.
#[derive(Debug, Default)]
pub struct ScopedFiles {
    /// The files, sorted by the raw bytes of their paths.
    pub files: Vec<ScopedFile>,
    /// The files in the scope that could not be read.
    pub errors: Vec<SoftError>,
    /// The number of files in the directories of the scope that were excluded by a pattern, by the
    /// minimum size or by the index.
    pub skipped: u64,
    by_content: ByContent,
    /// The further paths of files with hard links, if these paths are in the scope. They are sorted
    /// by file, then by path.
    further: Vec<(FileId, PathText)>,
    /// The samples that the index stores of a content, for [`Self::knows`]. The value is `None` if
    /// the content has no postings of other samples.
    coarse: Mutex<HashMap<ContentId, Option<Vec<Fingerprint>>>>,
}

impl ScopedFiles {
    /// Finds the files of `scope`, which must name at least one path.
    pub fn of(snapshot: &Snapshot, scope: &Scope) -> Result<Self, AskError> {
        let mut found: HashMap<FileId, ScopedFile> = HashMap::new();
        let mut errors: HashMap<FileId, SoftError> = HashMap::new();
        let mut further: Vec<(FileId, PathText)> = Vec::new();
        let mut skipped = 0;
        for base in &scope.within {
            let base = base.as_path();
            let rules = Rules::new(base, scope)?;
            let mut paths = Vec::new();
            let mut left_out = 0;
            snapshot.walk(base, &mut |path, entry| {
                if let Entry::File(file) = entry {
                    if rules.admit(path) {
                        paths.push((*file, PathText::from(path)));
                    } else {
                        left_out += 1;
                    }
                }
                std::ops::ControlFlow::Continue(())
            })?;
            skipped += left_out;
            let rows = rows(snapshot, &paths)?;
            for ((file, path), row) in paths.into_iter().zip(rows) {
                if let Some(scoped) = found.get_mut(&file) {
                    // A file is found once for each of its names. The same name is found again if
                    // one path of the scope is below another.
                    if scoped.path != path {
                        let least = path.clone().min(scoped.path.clone());
                        let other = std::mem::replace(&mut scoped.path, least).max(path);
                        further.push((file, other));
                    }
                    continue;
                }
                let Some(row) = row else {
                    continue;
                };
                if row.stat.size.0 < scope.min_size {
                    skipped += 1;
                    continue;
                }
                match row.state {
                    FileState::Settled(content) | FileState::Unsettled(content) => {
                        found.insert(
                            file,
                            ScopedFile {
                                file,
                                path,
                                content,
                                size: row.stat.size,
                                mtime: row.stat.mtime.secs,
                            },
                        );
                    }
                    FileState::Unreadable(errno) => {
                        let error = unreadable(path, errno);
                        let least = errors.entry(file).or_insert_with(|| error.clone());
                        if error.path < least.path {
                            *least = error;
                        }
                    }
                    FileState::Skipped(_) => skipped += 1,
                }
            }
        }
        let mut files: Vec<ScopedFile> = found.into_values().collect();
        files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let mut errors: Vec<SoftError> = errors.into_values().collect();
        errors.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        further.sort_unstable();
        further.dedup();
        let by_content = ByContent::of(&files);
        Ok(Self {
            files,
            errors,
            skipped,
            by_content,
            further,
            coarse: Mutex::default(),
        })
    }

    /// Returns the totals of a question about these files.
    pub fn looked(&self, snapshot: &Snapshot) -> Looked {
        let files = self.files.iter();
        Looked {
            files: self.files.len() as u64,
            bytes: files.clone().map(|scoped| scoped.size.0).sum(),
            unreadable: self.errors.len() as u64,
            skipped: self.skipped,
            small: files.filter(|scoped| too_small(scoped.size)).count() as u64,
            least_run: least_run(snapshot.params()),
        }
    }

    /// Removes the paths that are not wanted. A file remains if at least one of its paths is
    /// wanted.
    pub fn retain(&mut self, wanted: impl Fn(&Path) -> bool) {
        self.further.retain(|(_, path)| wanted(path.as_path()));
        let further = &self.further;
        self.files.retain_mut(|scoped| {
            if wanted(scoped.path.as_path()) {
                return true;
            }
            let next = further.partition_point(|other| other.0 < scoped.file);
            let next = further.get(next).filter(|other| other.0 == scoped.file);
            next.is_some_and(|(_, path)| {
                scoped.path.clone_from(path);
                true
            })
        });
        self.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        let files = &self.files;
        self.further.retain(|(file, path)| {
            let is_least = |at: usize| files[at].file == *file;
            let least = files.binary_search_by(|scoped| scoped.path.cmp(path));
            !least.is_ok_and(is_least)
        });
        self.errors.retain(|error| wanted(error.path.as_path()));
        self.by_content = ByContent::of(&self.files);
    }

    /// Returns only those files that have one of these contents.
    #[must_use]
    pub fn with_contents(&self, contents: &HashSet<ContentId>) -> Self {
        let mut files = self.files.clone();
        files.retain(|file| contents.contains(&file.content));
        Self {
            by_content: ByContent::of(&files),
            files,
            ..Self::default()
        }
    }

    /// Includes the parts of the files in the scope, so that [`Self::has`] returns true for their
    /// contents, too.
    pub fn know_parts(&mut self, snapshot: &Snapshot) -> Result<(), ReadError> {
        for content in self.contents() {
            let row = snapshot.content(content)?;
            if row.is_some_and(|row| row.parts > 0) {
                let is_live = self.by_content.live.has(content.0);
                for part in snapshot.parts(content)? {
                    if let Some(content) = part.content {
                        self.by_content.held.insert(content.0);
                        if is_live {
                            self.by_content.live.insert(content.0);
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Returns whether a file of the scope has exactly this content.
    pub fn has_file_of(&self, content: ContentId) -> bool {
        !self.by_content.holders(content).is_empty()
    }

    /// Returns whether a file of the scope has this content. After [`Self::know_parts`], returns
    /// true for the content of a part, too.
    pub fn has(&self, content: ContentId) -> bool {
        self.by_content.held.has(content.0)
    }

    /// Returns whether a piece of a content counts in the scope. If the only files with the content
    /// in the scope are those of a catalogue, only the samples in the catalogue count. The index
    /// may have more samples of the content from a file outside the scope.
    pub fn knows(
        &self,
        snapshot: &Snapshot,
        content: ContentId,
        (kind, key): (PostingKind, u64),
    ) -> Result<bool, ReadError> {
        let is_recorded = self.has(content) && !self.by_content.live.has(content.0);
        if kind == PostingKind::Chunk || !is_recorded {
            return Ok(true);
        }
        let mut coarse = self.coarse.lock();
        let samples = match coarse.entry(content) {
            MapEntry::Occupied(known) => known.into_mut(),
            MapEntry::Vacant(unknown) => {
                let posted = snapshot.content(content)?.map_or(0, |row| row.fingerprints);
                let mut samples = snapshot.signature(content)?.fingerprints;
                samples.sort_unstable();
                let is_coarse = posted as usize > samples.len();
                unknown.insert(is_coarse.then_some(samples))
            }
        };
        let samples = samples.as_ref();
        Ok(samples.is_none_or(|samples| samples.binary_search(&Fingerprint(key)).is_ok()))
    }

    /// Does the same as [`Snapshot::postings`], but passes only the contents and pieces that count
    /// in the scope.
    pub fn postings(
        &self,
        snapshot: &Snapshot,
        kind: PostingKind,
        keys: &[u64],
        found: &mut dyn FnMut(usize, &[ContentId]),
    ) -> Result<(), ReadError> {
        let (mut here, mut failed) = (Vec::new(), Ok(()));
        snapshot.postings(kind, keys, &mut |at, contents| {
            here.clear();
            for &content in contents.iter().filter(|&&content| self.has(content)) {
                match self.knows(snapshot, content, (kind, keys[at])) {
                    Ok(true) => here.push(content),
                    Ok(false) => {}
                    Err(error) => failed = Err(error),
                }
            }
            found(at, &here);
        })?;
        failed
    }

    /// Returns the files of the scope that have this content, in the order of their paths.
    pub fn holders(&self, content: ContentId) -> impl Iterator<Item = &ScopedFile> {
        let holders = self.by_content.holders(content).iter();
        holders.map(|&(_, at)| &self.files[at as usize])
    }

    /// Returns the contents that several files of the scope have. Each has the indices of these
    /// files in [`Self::files`], in ascending order.
    pub fn copies(&self) -> impl Iterator<Item = (ContentId, Vec<u32>)> {
        let holders = self.by_content.holders.chunk_by(|a, b| a.0 == b.0);
        let several = holders.filter(|holders| holders.len() > 1);
        several.map(|holders| (holders[0].0, holders.iter().map(|&(_, at)| at).collect()))
    }

    /// Returns all paths that a file has in the scope, in the order of raw bytes.
    pub fn paths<'a>(&'a self, scoped: &'a ScopedFile) -> impl Iterator<Item = &'a Path> {
        let from = self.further.partition_point(|other| other.0 < scoped.file);
        let others = self.further[from..].iter();
        let others = others.take_while(|other| other.0 == scoped.file);
        std::iter::once(scoped.path.as_path()).chain(others.map(|other| other.1.as_path()))
    }

    /// Returns the distinct contents of all files in ascending order.
    pub fn contents(&self) -> Vec<ContentId> {
        let holders = self.by_content.holders.iter();
        let mut contents: Vec<ContentId> = holders.map(|&(content, _)| content).collect();
        contents.dedup();
        contents
    }
}

/// The number of files whose rows a thread reads at a time.
const BATCH: usize = 1024;

/// Returns the rows of these files in their order.
fn rows(
    snapshot: &Snapshot,
    files: &[(FileId, PathText)],
) -> Result<Vec<Option<FileRow>>, ReadError> {
    let read = |part: usize, (): &mut ()| {
        let files = files[part * BATCH..].iter().take(BATCH);
        let rows = files.map(|&(file, _)| snapshot.file(file));
        rows.collect::<Result<Vec<_>, ReadError>>()
    };
    let all = || ordered(files.len().div_ceil(BATCH), || (), read);
    let parts = named("looking up the files", all)?;
    Ok(parts.into_iter().flatten().collect())
}

/// Finds files by their contents. It takes only a few bytes of memory per file, because there may
/// be millions of files.
#[derive(Debug, Default)]
struct ByContent {
    /// The contents, sorted, each with the index of a file in [`ScopedFiles::files`] that has it.
    holders: Vec<(ContentId, u32)>,
    /// The contents that take part. Each content in a posting list is looked up here.
    held: BitSet,
    /// The contents in `held` that a file outside of catalogues has.
    live: BitSet,
}

impl ByContent {
    fn of(files: &[ScopedFile]) -> Self {
        let places = files.iter().zip(0..);
        let mut holders: Vec<_> = places.map(|(scoped, at)| (scoped.content, at)).collect();
        holders.sort_unstable();
        let mut held = BitSet::default();
        let mut live = BitSet::default();
        for &(content, at) in &holders {
            held.insert(content.0);
            if !is_catalogued(files[at as usize].path.as_path()) {
                live.insert(content.0);
            }
        }
        Self {
            holders,
            held,
            live,
        }
    }

    fn holders(&self, content: ContentId) -> &[(ContentId, u32)] {
        if !self.held.has(content.0) {
            return &[];
        }
        let from = self.holders.partition_point(|&(other, _)| other < content);
        let rest = &self.holders[from..];
        &rest[..rest.partition_point(|&(other, _)| other == content)]
    }
}

/// Returns the soft error for a folder or file that could not be read.
pub fn unreadable(path: PathText, errno: i32) -> SoftError {
    SoftError {
        path,
        kind: SoftErrorKind::Unreadable,
        message: reason(&std::io::Error::from_raw_os_error(errno)),
    }
}

/// The patterns of a scope, for paths below one path of the scope.
#[derive(Debug)]
pub struct Rules {
    base: PathBuf,
    patterns: Patterns,
}

impl Rules {
    /// Returns the rules of a scope for paths below this one.
    pub fn new(base: &Path, scope: &Scope) -> Result<Self, AskError> {
        Ok(Self {
            base: base.to_owned(),
            patterns: Patterns::new(&scope.include, &scope.exclude)?,
        })
    }

    /// Returns the path below which the patterns apply.
    pub fn base(&self) -> &Path {
        &self.base
    }

    /// Returns whether the patterns include this path, which is at or below the base.
    pub fn admit(&self, path: &Path) -> bool {
        if self.patterns.is_empty() {
            return true;
        }
        // A scope may name the file itself. Then the patterns are compared with the name of the
        // file.
        let below = match path.strip_prefix(&self.base) {
            Ok(below) if !below.as_os_str().is_empty() => below,
            _ => Path::new(path.file_name().unwrap_or_default()),
        };
        self.patterns.admit(below)
    }
}
