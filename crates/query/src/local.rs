//! The index of a command without a daemon. It caches the files of earlier questions.
//!
//! Every named path is checked again before an answer, so the answer is as reliable as a daemon's.
//! The cache saves reading files whose `stat` has not changed. It affects only how long an answer
//! takes:
//!
//! 1. If another command uses the cache, or its disk is full, the cache is not used. The index is
//!    made in memory for this one question.
//! 2. If the cache cannot be opened, or if its path has another file, that file is set aside. A new
//!    cache replaces it.
//! 3. Any question may find damage in the cache. Then its answer is worthless, even if no error is
//!    reported. [`LocalIndex::is_damaged`] reports that, and [`LocalIndex::begin_anew`] replaces
//!    the cache and checks everything again. The question is then asked once more.
//!
//! [`LocalIndex::take_note`] returns the reason why the cache was not used or was replaced.

mod from_catalogue;
mod opened;

pub use from_catalogue::read_catalogued;

use std::ffi::OsStr;
use std::fs;
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use resemble_catalogue::{self as catalogue, CatalogueError};
use resemble_core::Params;
use resemble_core::similarity::Templates;
use resemble_index::{Change, Index, MergeWork, OpenError, ReadError, Snapshot};
use resemble_proto::catalogued;
use resemble_proto::message::{
    CompareRequest, Comparison, Coverage, CoveredRequest, Groups, GroupsRequest, Whole, reason,
};
use resemble_proto::path::PathText;
use resemble_scan::ingest::{
    IndexUse, Ingest, IngestError, IngestOptions, Observer, Report, RootOptions, Target,
};
use resemble_scan::parts::PartReader;

use crate::groups;
use resemble_relate::findings::FindingsCache;
use resemble_trees::compare::TreeCache;
use resemble_trees::covered::covered_by_scan;

use opened::{OpenedIndex, begun_anew};
use resemble_relate::AskError;
use resemble_relate::renditions;

/// Options of a local index.
#[derive(Clone, Debug)]
pub struct LocalOptions {
    /// The cache file. If it is `None`, the index is in memory.
    pub cache: Option<PathBuf>,
    /// The size in bytes above which a cache file is replaced by a new file.
    pub cache_bytes: u64,
    /// Parameters of chunking and sampling.
    pub params: Params,
    /// The folder of imported catalogues: see [`resemble_catalogue`].
    pub catalogues: Option<PathBuf>,
    /// Other folders that belong to this program. Their files never take part in a question.
    pub own: Vec<PathBuf>,
    /// The reader that takes documents and archives apart. Without it, files are compared by their
    /// bytes only.
    pub part_reader: Option<Arc<dyn PartReader>>,
}

impl LocalOptions {
    /// The default size above which a cache is replaced: 4 GiB, about three million small files.
    pub const CACHE_BYTES: u64 = 4 << 30;
}

/// The reason why a local index could not answer.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum LocalError {
    /// The index cannot be opened, and an index in memory cannot be made, either.
    #[error(transparent)]
    Open(#[from] OpenError),
    /// The index cannot be read.
    #[error(transparent)]
    Read(#[from] ReadError),
    /// The files could not be added to the index.
    #[error(transparent)]
    Ingest(#[from] IngestError),
    /// The question could not be answered.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// A catalogue in the question cannot be used.
    #[error(transparent)]
    Catalogue(#[from] CatalogueError),
    /// A named path does not exist or cannot be checked.
    #[error("cannot look at {}: {}", path.display(), reason(source))]
    Path {
        /// The named path, made absolute.
        path: PathBuf,
        /// The error of the kernel.
        source: io::Error,
    },
}

/// An index for one command.
#[derive(Debug)]
pub struct LocalIndex {
    ingest: Ingest,
    cache: Option<PathBuf>,
    note: Option<String>,
    outgrown: bool,
    changes: u64,
    /// The roots of the catalogues that were loaded into the index for this question.
    attached: Vec<PathBuf>,
    /// All paths that were checked.
    looked_at: Vec<PathBuf>,
    options: LocalOptions,
}

impl LocalIndex {
    /// Opens the cache, or an index in memory if that is requested or the cache is not available.
    pub fn open(options: LocalOptions) -> Result<Self, LocalError> {
        let opened = OpenedIndex::of(&options)?;
        Ok(Self {
            ingest: Ingest::new(Arc::new(opened.index), ingest_options(&options, &[])),
            cache: opened.cache,
            note: opened.note,
            outgrown: opened.outgrown,
            changes: 0,
            attached: Vec::new(),
            looked_at: Vec::new(),
            options,
        })
    }

    /// Returns whether the cache exceeded its limit and was replaced. Then every file is read
    /// again.
    pub const fn is_outgrown(&self) -> bool {
        self.outgrown
    }

    /// Returns the reason why the cache is not used or was replaced. Further calls return `None`.
    pub const fn take_note(&mut self) -> Option<String> {
        self.note.take()
    }

    /// Returns whether damage was found in the cache. Answers that were given since the cache was
    /// opened may be wrong.
    pub fn is_damaged(&self) -> bool {
        self.index().damage().is_some()
    }

    /// Replaces a damaged cache, and scans all paths again that were checked before.
    pub fn begin_anew(&mut self, observer: &mut dyn Observer) -> Result<Report, LocalError> {
        self.replace_cache()?;
        let paths = std::mem::take(&mut self.looked_at);
        self.refresh(&paths, observer)
    }

    /// Returns the parameters of chunking and sampling.
    pub fn params(&self) -> &Params {
        self.ingest.index().params()
    }

    /// Brings the index in line with everything at and below `paths`, which are absolute and
    /// without symbolic links. Rows of other paths are left unchanged. A path of a catalogue
    /// ([`resemble_proto::catalogued`]) attaches the catalogue until [`Self::close`]. Returns the
    /// report of the scan.
    ///
    /// If the cache fails half-way (a full disk, damage), it is abandoned and the work continues in
    /// memory.
    pub fn refresh(
        &mut self,
        paths: &[PathBuf],
        observer: &mut dyn Observer,
    ) -> Result<Report, LocalError> {
        let (recorded, live): (Vec<PathBuf>, Vec<PathBuf>) = paths
            .iter()
            .cloned()
            .partition(|path| catalogued::is_catalogued(path));
        are_there(live.iter().map(PathBuf::as_path))?;
        let looked_at = [&self.looked_at, paths].concat();
        self.looked_at = outermost(&looked_at);
        let report = match self.look(&live, &recorded, observer) {
            _ if self.is_damaged() => {
                self.replace_cache()?;
                self.look(&live, &recorded, observer)?
            }
            Err(
                LocalError::Ingest(IngestError::Apply(e))
                | LocalError::Catalogue(CatalogueError::Apply(e)),
            ) if self.cache.is_some() => {
                self.take(OpenedIndex::in_memory(&self.options, &e.to_string())?);
                self.look(&live, &recorded, observer)?
            }
            done => done?,
        };
        Ok(report)
    }

    /// Scans live files first, so that their contents are stored as live contents. The contents of
    /// catalogues are added afterwards.
    fn look(
        &mut self,
        live: &[PathBuf],
        recorded: &[PathBuf],
        observer: &mut dyn Observer,
    ) -> Result<Report, LocalError> {
        let report = if live.is_empty() {
            Report::default()
        } else {
            self.reconcile(live, observer)?
        };
        for path in recorded {
            self.attach(path)?;
        }
        Ok(report)
    }

    /// Adds the catalogue of a path to the index, and checks that the path is in it.
    fn attach(&mut self, path: &Path) -> Result<(), LocalError> {
        let root = catalogued::source_of(path).map(|(_, root, _)| root);
        let root = root.unwrap_or_else(|| path.to_owned());
        if !self.attached.contains(&root) {
            let file = catalogue::file_of(&root, self.options.catalogues.as_deref())?;
            let catalogue = catalogue::open(&file)?;
            self.attached.push(root.clone());
            let loaded = catalogue::load(self.ingest.index(), &root, catalogue)?;
            self.changes += loaded.changes;
        }
        let snapshot = self.snapshot_without_lists()?;
        if snapshot.entry(path)?.is_none() && renditions::locate(&snapshot, path)?.is_none() {
            return Err(LocalError::Path {
                path: catalogued::shown(path).unwrap_or_default(),
                source: rustix::io::Errno::NOENT.into(),
            });
        }
        Ok(())
    }

    fn reconcile(
        &mut self,
        paths: &[PathBuf],
        observer: &mut dyn Observer,
    ) -> Result<Report, LocalError> {
        let outermost = outermost(paths);
        self.ingest.know_parts()?;
        self.ingest
            .set_roots(outermost.iter().map(|path| self.root(path)).collect());
        let targets: Vec<Target> = outermost.iter().map(Target::subtree).collect();
        let report = self.ingest.reconcile(&targets, observer)?;
        self.changes += report.changes;
        self.drop_unlisted(&outermost, &report)?;
        if !report.stopped {
            self.remember(&outermost)?;
        }
        Ok(report)
    }

    /// Removes what the index has below directories that could not be listed now. A daemon keeps
    /// such entries until it can list the directory. A command makes no later check that would
    /// correct its answer.
    fn drop_unlisted(&mut self, trees: &[PathBuf], report: &Report) -> Result<(), LocalError> {
        let snapshot = self.snapshot_without_lists()?;
        let unlisted = snapshot.unlisted_within(trees)?.into_iter();
        let unlisted = unlisted.map(|dir| dir.path);
        let mut removals = Vec::new();
        for dir in unlisted.chain(report.unavailable.iter().cloned()) {
            let names = snapshot.list(&dir)?.into_iter();
            removals.extend(names.map(|(name, _)| Change::Remove(dir.join(name))));
        }
        drop(snapshot);
        if !removals.is_empty() {
            self.changes += removals.len() as u64;
            let applied = self.index().apply(removals);
            applied.map_err(IngestError::Apply)?;
        }
        Ok(())
    }

    fn root(&self, path: &Path) -> RootOptions {
        RootOptions {
            text: self.options.part_reader.is_some(),
            ..RootOptions::new(path)
        }
    }

    /// Sets a damaged cache aside and replaces it.
    fn replace_cache(&mut self) -> Result<(), LocalError> {
        let why = self.index().damage().map(|damage| damage.to_string());
        let why = why.unwrap_or_default();
        let opened = match self.index().set_aside() {
            Ok(_) => OpenedIndex::of(&self.options)?,
            Err(error) => OpenedIndex::in_memory(&self.options, &reason(&error))?,
        };
        self.take(opened);
        if self.cache.is_some() {
            self.note = Some(begun_anew(&why));
        }
        Ok(())
    }

    fn take(&mut self, opened: OpenedIndex) {
        self.cache = opened.cache;
        self.note = opened.note;
        self.attached.clear();
        let options = ingest_options(&self.options, &[]);
        self.ingest = Ingest::new(Arc::new(opened.index), options);
    }

    /// Returns whether the index was brought in line with all of these paths before. If one of them
    /// is in a catalogue, the result is always true.
    ///
    /// If this is false, [`Self::compare`] and [`Self::identical`] are faster. The answers are the
    /// same.
    pub fn knows(&self, paths: &[PathBuf]) -> bool {
        if paths.iter().any(|path| catalogued::is_catalogued(path)) {
            return true;
        }
        let Ok(snapshot) = self.snapshot_without_lists() else {
            return false;
        };
        let known = known_trees(&snapshot);
        let is_known = |path: &PathBuf| known.iter().any(|known| path.starts_with(known));
        paths.iter().all(is_known)
    }

    /// Returns whether the index is the fastest way to compare these trees. The index must know
    /// both trees. If earlier comparisons stored inventories of both trees, the inventories are
    /// faster, unless a tree is in a catalogue.
    pub fn prefers_index(&self, trees: &[PathBuf; 2]) -> bool {
        let tree_cache = self.tree_cache();
        let has = |tree: &PathBuf| tree_cache.has(tree).unwrap_or(false);
        let is_catalogued = trees.iter().any(|tree| catalogued::is_catalogued(tree));
        self.knows(trees) && (is_catalogued || !trees.iter().all(has))
    }

    fn tree_cache(&self) -> TreeCache<'_> {
        TreeCache {
            index: self.ingest.index(),
            cache_bytes: self.cache.as_ref().map_or(0, |_| self.options.cache_bytes),
            exclude: &self.ingest.options().exclude,
            settle_window: self.ingest.options().settle_window,
            part_reader: self.options.part_reader.as_deref(),
        }
    }

    /// Records that the index has been brought in line with these trees.
    fn remember(&self, trees: &[PathBuf]) -> Result<(), LocalError> {
        /// The maximum number of trees that are kept. A tree that is not kept is read again for its
        /// next question.
        const MOST: usize = 256;
        let mut known = known_trees(&self.snapshot_without_lists()?);
        let before = known.len();
        for tree in trees.iter().filter(|tree| tree.is_dir()) {
            if known.len() < MOST && !known.iter().any(|known| tree.starts_with(known)) {
                known.push(tree.clone());
            }
        }
        if self.cache.is_some() && known.len() > before {
            let record: Vec<&[u8]> = known
                .iter()
                .map(|tree| tree.as_os_str().as_bytes())
                .collect();
            let record = record.join(&0u8);
            let index = self.ingest.index();
            index
                .put_record(TREES, &record)
                .map_err(|error| LocalError::Ingest(IngestError::Apply(error)))?;
        }
        Ok(())
    }

    /// Compares two trees as they are now, without an index. They are scanned for this question,
    /// and inventories of them are cached for the next question.
    pub fn compare(
        &mut self,
        request: &CompareRequest,
        templates: &Templates,
        observer: &mut dyn Observer,
    ) -> Result<Whole<Comparison>, LocalError> {
        are_there([request.a.as_path(), request.b.as_path()])?;
        Ok(self.tree_cache().compare(request, templates, observer)?)
    }

    /// Finds out, without an index, whether every file of a directory has an equal file below the
    /// only root of the request. Returns `None` if the request has several roots.
    pub fn covered(
        &mut self,
        request: &CoveredRequest,
        templates: &Templates,
        observer: &mut dyn Observer,
    ) -> Result<Option<Whole<Coverage>>, LocalError> {
        let [by] = &request.by[..] else {
            return Ok(None);
        };
        let by = by.as_path();
        are_there([request.dir.as_path(), by])?;
        let tree_cache = self.tree_cache();
        let covered = covered_by_scan(&tree_cache, request, by, templates, observer)?;
        Ok(Some(covered))
    }

    /// Returns the sets of identical files as they are now, without an index. Nothing is cached.
    pub fn identical(
        &self,
        request: &GroupsRequest,
        observer: &mut dyn Observer,
    ) -> Result<Whole<Groups>, LocalError> {
        are_there(request.scope.within.iter().map(PathText::as_path))?;
        let exclude = &self.ingest.options().exclude[..];
        let terms = (exclude, self.params());
        Ok(groups::direct::identical(request, terms, observer)?)
    }

    /// Returns the paths of the last scan, except those that lie below another one.
    pub fn roots(&self) -> Vec<PathBuf> {
        let roots = self.ingest.options().roots.iter();
        roots.map(|root| root.path.clone()).collect()
    }

    /// Returns whether there is a cache.
    pub const fn is_cached(&self) -> bool {
        self.cache.is_some()
    }

    /// Returns the index. Callers may store records of their own in it.
    pub fn index(&self) -> &Index {
        self.ingest.index()
    }

    /// Returns a snapshot of the index.
    pub fn snapshot(&self) -> Result<Snapshot, LocalError> {
        if self.options.cache.is_none() {
            let merged = self.index().merge(MergeWork::IfUseful);
            merged.map_err(IngestError::Apply)?;
        }
        Ok(self.snapshot_without_lists()?)
    }

    /// Returns a snapshot for callers that need neither posting lists nor boilerplate. After a
    /// first scan of large trees, such a snapshot is faster, because the lists need not be merged.
    pub fn snapshot_without_lists(&self) -> Result<Snapshot, ReadError> {
        self.index().snapshot()
    }

    /// Checks all blocks of the cache against their checksums.
    pub fn verify(&self) -> Result<(), ReadError> {
        let mut next = self.cache.is_some().then_some(0);
        while let Some(from) = next {
            next = self.index().verify_blocks(from)?;
        }
        Ok(())
    }

    /// Removes catalogues from the cache, stores measurements in it, and closes it. Compacts it
    /// after many writes. No snapshot may be alive.
    ///
    /// Everything else is already durable. If this fails, only the next question takes longer.
    pub fn close(self) {
        /// After fewer changes than this, the cache is not compacted.
        const MANY: u64 = 1000;
        if self.is_damaged() {
            if let Err(error) = self.index().set_aside() {
                tracing::warn!(%error, "the damaged cache cannot be set aside");
            }
            return;
        }
        for root in &self.attached {
            if let Err(e) = catalogue::unload(self.ingest.index(), root) {
                tracing::debug!("a catalogue stays in the cache until the next command: {e}");
            }
        }
        if self.cache.is_none() {
            return;
        }
        if self.changes < MANY {
            if let Err(e) = self.index().write_measures() {
                tracing::debug!("what was measured is not kept: {e}");
            }
            return;
        }
        let index = Arc::clone(self.ingest.index());
        drop(self.ingest);
        if let Some(Err(e)) = Arc::into_inner(index).map(Index::close) {
            tracing::debug!("the cache was not compacted: {e}");
        }
    }
}

/// Comparisons of known trees store their findings in the same place as the inventories of trees.
impl FindingsCache for LocalIndex {
    fn get(&self, name: &str) -> Option<Arc<[u8]>> {
        self.tree_cache().get(name)
    }

    fn put(&self, name: &str, findings: &[u8]) {
        self.tree_cache().put(name, findings);
    }
}

/// Returns the options with which files are read. Only our own folders are left out. If a file has
/// only just changed, its `stat` is not trusted, because no event will report a later change.
fn ingest_options(options: &LocalOptions, roots: &[RootOptions]) -> IngestOptions {
    let cache = options.cache.as_deref().and_then(Path::parent);
    let own = options.own.iter().map(PathBuf::as_path).chain(cache);
    let index_use = match options.cache {
        Some(_) => IndexUse::Again,
        None => IndexUse::Once,
    };
    IngestOptions {
        roots: roots.to_vec(),
        exclude: own.filter_map(real).collect(),
        distrust_unsettled: true,
        index_use,
        part_reader: options.part_reader.clone(),
        ..IngestOptions::default()
    }
}

/// Returns the folder as a scan sees it: absolute and without symbolic links, if it exists. An
/// empty relative path would exclude everything, because every path begins with it.
fn real(folder: &Path) -> Option<PathBuf> {
    let here = Path::new(".");
    let folder = if folder.as_os_str().is_empty() {
        here
    } else {
        folder
    };
    let absolute = std::path::absolute(folder).ok()?;
    let met = fs::canonicalize(&absolute).or_else(|error| {
        match (absolute.parent(), absolute.file_name()) {
            (Some(parent), Some(name)) => Ok(fs::canonicalize(parent)?.join(name)),
            _ => Err(error),
        }
    });
    Some(met.unwrap_or(absolute))
}

/// The name of the record that lists the trees with which the index was brought in line. NUL
/// separates the trees.
const TREES: &str = "local.trees";

fn known_trees(snapshot: &Snapshot) -> Vec<PathBuf> {
    let record = snapshot.record(TREES).ok().flatten().unwrap_or_default();
    let trees = record
        .split(|&byte| byte == 0)
        .filter(|tree| !tree.is_empty());
    trees
        .map(|tree| PathBuf::from(OsStr::from_bytes(tree)))
        .collect()
}

fn are_there<'p>(paths: impl IntoIterator<Item = &'p Path>) -> Result<(), LocalError> {
    for path in paths {
        fs::symlink_metadata(path).map_err(|source| LocalError::Path {
            path: path.to_owned(),
            source,
        })?;
    }
    Ok(())
}

/// Returns the paths that lie in none of the other paths.
fn outermost(paths: &[PathBuf]) -> Vec<PathBuf> {
    let mut sorted: Vec<PathBuf> = paths.to_vec();
    sorted.sort();
    sorted.dedup_by(|next, kept| next.starts_with(kept.as_path()));
    sorted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_folder_becomes_absolute() {
        let folder = real(Path::new("relative")).expect("a path");
        assert!(
            folder.is_absolute() && folder.ends_with("relative"),
            "{folder:?}"
        );
    }

    #[test]
    fn paths_within_others_are_looked_at_once() {
        let paths = ["/b", "/a/x", "/a", "/ab", "/a"].map(PathBuf::from);
        assert_eq!(outermost(&paths), ["/a", "/ab", "/b"].map(PathBuf::from));
    }
}
