//! Walks trees to list their files.

use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use resemble_proto::message::{Scope, SoftError};
use resemble_proto::path::PathText;
use resemble_relate::AskError;
use resemble_relate::parallel::Tasks;
use resemble_relate::scope::Rules;
use resemble_scan::ingest::{Observer, Progress};
use resemble_scan::walk::{Anchor, Kind, Stat, means_absent};
use rustix::io::Errno;

use resemble_relate::gaps::AskedPlaces;
use resemble_scan::unindexed::{DirChain, DirListing, Unindexed};

/// One name of a file.
pub(super) struct WalkedFile {
    /// The absolute path.
    pub(super) path: Box<[u8]>,
    /// The root below which the file lies.
    pub(super) root: u32,
    pub(super) inode: (u64, u64),
    pub(super) size: u64,
    /// The modification time in seconds since 1970.
    pub(super) mtime: i64,
}

impl WalkedFile {
    pub(super) fn path(&self) -> &Path {
        Path::new(OsStr::from_bytes(&self.path))
    }

    /// Returns whether an open file is the file that the walk found, and has not changed since.
    pub(super) fn is_as(&self, stat: &Stat) -> bool {
        let is_file = (stat.dev, stat.ino) == self.inode;
        is_file && (stat.size, stat.mtime.secs) == (self.size, self.mtime)
    }
}

/// The result of a walk.
#[derive(Default)]
pub(super) struct Walked {
    pub(super) roots: Vec<Anchor>,
    /// All names of the selected files, sorted by bytes.
    pub(super) files: Vec<WalkedFile>,
    /// The paths that could not be listed or checked.
    pub(super) errors: Vec<SoftError>,
    /// The number of names excluded by a pattern or by the minimum size.
    pub(super) skipped: u64,
    pub(super) progress: Progress,
}

impl Walked {
    fn error(&mut self, path: &Path, errno: Errno) {
        self.errors
            .push(SoftError::of_io(PathText::from(path), &errno.into()));
    }

    fn add(&mut self, mut other: Self) {
        self.files.append(&mut other.files);
        self.errors.append(&mut other.errors);
        self.skipped += other.skipped;
    }
}

/// A directory to list, below the chain of its parents.
struct WalkTask {
    root: u32,
    path: PathBuf,
    above: Option<Arc<DirChain>>,
}

struct Walk<'a> {
    roots: Vec<Anchor>,
    /// The paths of the scope, each with the rules below it. One path may lie below another.
    bases: Vec<(PathBuf, Rules)>,
    min_size: u64,
    unindexed: Unindexed<'a>,
    tasks: Tasks<WalkTask>,
    dirs: AtomicU64,
    files: AtomicU64,
}

/// Walks everything below the paths of a scope.
pub(super) fn walk(
    scope: &Scope,
    exclude: &[PathBuf],
    observer: &mut dyn Observer,
) -> Result<Walked, AskError> {
    let bases = scope.within.iter().map(|base| {
        let base = base.as_path();
        Ok((base.to_owned(), Rules::new(base, scope)?))
    });
    let mut walk = Walk {
        roots: Vec::new(),
        bases: bases.collect::<Result<_, AskError>>()?,
        min_size: scope.min_size,
        unindexed: Unindexed::new(exclude),
        tasks: Tasks::new(Vec::new()),
        dirs: AtomicU64::new(0),
        files: AtomicU64::new(0),
    };
    let mut walked = walk.begin();
    let parts = walk
        .tasks
        .work(|_| walk.walk(), || observer.progress(&walk.progress()));
    for part in parts {
        walked.add(part);
    }
    AskedPlaces::within(scope).drop_excluded(&mut walked.errors)?;
    walked.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    walked.progress = walk.progress();
    walked.roots = walk.roots;
    Ok(walked)
}

impl Walk<'_> {
    /// Opens the roots that lie in no other root. A root that is a file is added to the files.
    fn begin(&mut self) -> Walked {
        let mut walked = Walked::default();
        let mut paths: Vec<PathBuf> = self.bases.iter().map(|(base, _)| base.clone()).collect();
        paths.sort();
        paths.dedup_by(|next, kept| next.starts_with(kept.as_path()));
        paths.retain(|path| !self.unindexed.is_own(path));
        for path in paths {
            let root = self.roots.len() as u32;
            match Anchor::open(&path) {
                Ok(anchor) => {
                    self.roots.push(anchor);
                    let above = None;
                    self.tasks.give([WalkTask { root, path, above }]);
                }
                Err(errno) => match file_at(&path).filter(|_| errno == Errno::NOTDIR) {
                    Some((anchor, stat)) => {
                        self.roots.push(anchor);
                        self.file(&mut walked, root, path, &stat);
                    }
                    None => walked.error(&path, errno),
                },
            }
        }
        walked
    }

    fn walk(&self) -> Walked {
        let mut walked = Walked::default();
        while let Some(mut taken) = self.tasks.take() {
            if let Some(task) = taken.task() {
                self.dir(task, &mut walked);
            }
        }
        walked
    }

    fn dir(&self, task: WalkTask, walked: &mut Walked) {
        let WalkTask { root, path, above } = task;
        let anchor = &self.roots[root as usize];
        let (dir, found) = match self.unindexed.list(anchor, &path, above.as_deref()) {
            DirListing::Dir(dir, found) => (dir, found),
            DirListing::LeftOut => return,
            DirListing::Gone => {
                walked.errors.push(SoftError::vanished(path.into()));
                return;
            }
            DirListing::Failed(errno) => return walked.error(&path, errno),
        };
        self.dirs.fetch_add(1, Ordering::Relaxed);
        let chain = Arc::new(DirChain::of(&dir, above));
        let mut below = Vec::new();
        for found in found {
            let path = path.join(&found.name);
            match found.stat {
                Err(errno) if means_absent(errno) => {
                    walked.errors.push(SoftError::vanished(path.into()));
                }
                Err(errno) => walked.error(&path, errno),
                Ok(stat) if stat.kind == Kind::Dir => below.push(WalkTask {
                    root,
                    path,
                    above: Some(Arc::clone(&chain)),
                }),
                Ok(stat) if stat.kind == Kind::File => self.file(walked, root, path, &stat),
                Ok(_) => {}
            }
        }
        if !below.is_empty() {
            self.tasks.give(below);
        }
    }

    fn file(&self, walked: &mut Walked, root: u32, path: PathBuf, stat: &Stat) {
        self.files.fetch_add(1, Ordering::Relaxed);
        let mut takes_part = false;
        for (base, rules) in &self.bases {
            if !path.starts_with(base) {
                continue;
            }
            if rules.admit(&path) && stat.size >= self.min_size {
                takes_part = true;
            } else {
                walked.skipped += 1;
            }
        }
        if takes_part {
            walked.files.push(WalkedFile {
                path: path.into_os_string().into_vec().into(),
                root,
                inode: (stat.dev, stat.ino),
                size: stat.size,
                mtime: stat.mtime.secs,
            });
        }
    }

    fn progress(&self) -> Progress {
        Progress {
            dirs: self.dirs.load(Ordering::Relaxed),
            files: self.files.load(Ordering::Relaxed),
            ..Progress::default()
        }
    }
}

/// Returns the open folder of a file, and the stat of the file.
pub(super) fn file_at(path: &Path) -> Option<(Anchor, Stat)> {
    let anchor = Anchor::open(path.parent()?).ok()?;
    let stat = anchor.stat_at(path).ok()?;
    (stat.kind == Kind::File).then_some((anchor, stat))
}
