//! Scans two trees together, with all cores.
//!
//! 1. **Work is divided into tasks.** A task is a directory of both sides, a few files of one
//!    directory, a root that is not a directory, or a document. Tasks are taken from a stack, so
//!    few directories are open at a time.
//! 2. **Files are opened by name in their open directory**, with all the care of
//!    [`resemble_scan::read`].
//! 3. **The threads decide nothing.** They note the entry at each path, and the notes are sorted
//!    afterwards. So the result does not depend on the order of the tasks.
//! 4. **Documents and archives are taken apart afterwards**, and only if one side has a content
//!    that the other side lacks. Two equal trees need no texts.
//! 5. A path that cannot be listed or read adds an error. A file that is gone when it is opened
//!    adds an error, too, and gets no entry. A file that keeps changing is used as it was read, and
//!    counted as moving.
//! 6. The cache itself, and mounts of processes or of kernel file systems, are left out before any
//!    `stat`.

mod apart;
mod worker;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use resemble_core::{ContentDigest, ContentId};
use resemble_index::SkippedPart;
use resemble_proto::message::{CompareRequest, SoftError};
use resemble_relate::AskError;
use resemble_relate::parallel::Tasks;
use resemble_relate::scope::Rules;
use resemble_scan::fsid::FsIds;
use resemble_scan::ingest::{Amount, Observer, Progress};
use resemble_scan::parts::PartReader;
use resemble_scan::read::{Contents, Lookup};
use resemble_scan::walk::{Anchor, OpenDir, Stat};
use rustix::io::Errno;

use self::worker::Worker;
use super::TreeCache;
use super::known::{Inventory, Names, PackedPlace, Stamp};
use crate::compare::partners::Better;
use crate::compare::sides::{Apart, Content, Entry, Numbering, Side, Sides, inner_of};
use resemble_relate::gaps::AskedPlaces;
use resemble_scan::unindexed::{DirChain, Unindexed};

/// The maximum number of files of one task.
const FILES: usize = 64;

/// The maximum total size of the files of one task. A task with a single file can exceed this size.
const BYTES: u64 = 8 << 20;

/// The result of a scan.
pub(super) struct Scanned {
    pub(super) sides: Sides,
    /// The place of each content's packed pieces, by the number of the content.
    pub(super) places: Vec<PackedPlace>,
    /// The buffers into which the threads packed pieces, one for each thread.
    pub(super) arenas: Vec<Vec<u8>>,
    /// The stamp of each entry, by side. `None` if an inventory must not trust the entry.
    pub(super) stamps: [Vec<Option<Stamp>>; 2],
    pub(super) names: Names,
    /// The documents that were not taken apart.
    pub(super) pending: BTreeSet<u32>,
    /// True if a document could not be taken apart now. Then the next scan must try again.
    pub(super) again: bool,
}

pub(super) fn scan(
    (request, better): (&CompareRequest, Better),
    tree_cache: &TreeCache<'_>,
    (known, names): (&[Option<Inventory>; 2], Names),
    observer: &mut dyn Observer,
) -> Result<Scanned, AskError> {
    let roots = [request.a.as_path(), request.b.as_path()];
    let shared = ScanShared::new(request, tree_cache, known, names, roots)?;
    let params = tree_cache.index.params();
    let mut notes = shared.tasks.work(
        |number| Worker::new(&shared, params, number).work(),
        || observer.progress(&shared.progress()),
    );
    let mut documents: Vec<ScannedDocument> = Vec::new();
    for notes in &mut notes {
        documents.append(&mut notes.documents);
    }
    let numbers = documents.iter().map(|document| document.number);
    let mut pending: BTreeSet<u32> = numbers.collect();
    if !pending.is_empty() && has_lone_contents(&notes, better) {
        pending.clear();
        // A content of several files is taken apart only once, at the first of them.
        documents.sort_unstable_by(|x, y| x.place().cmp(&y.place()));
        documents.dedup_by_key(|document| document.number);
        // Tasks are taken from the end. So the largest document is started first, because it takes
        // longest.
        documents.sort_by_key(|document| document.stat.size);
        shared.tasks.give(documents.into_iter().map(Task::Document));
        let first = notes.len() as u32;
        notes.extend(shared.tasks.work(
            |number| Worker::new(&shared, params, first + number).work(),
            || observer.progress(&shared.progress()),
        ));
    }
    let mut sides = Sides {
        skipped: notes.iter().map(|notes| notes.skipped).sum(),
        moving: notes.iter().map(|notes| notes.moving).sum(),
        ..Sides::default()
    };
    for notes in &mut notes {
        sides.errors.append(&mut notes.errors);
    }
    let exclude = &request.options.scope.exclude;
    AskedPlaces::new([&request.a, &request.b], exclude).drop_excluded(&mut sides.errors)?;
    let mut items = [0, 1].map(|side| {
        let all = notes.iter_mut();
        all.flat_map(|notes| std::mem::take(&mut notes.items[side]))
            .collect::<Vec<ScanItem>>()
    });
    std::thread::scope(|scope| {
        for side in &mut items {
            scope.spawn(|| side.sort_unstable_by(|a, b| a.entry.path.cmp(&b.entry.path)));
        }
    });
    let mut stamps: [Vec<Option<Stamp>>; 2] = Default::default();
    for (side, items) in items.into_iter().enumerate() {
        let mut of = Side {
            root: roots[side].to_owned(),
            single: shared.roots[side].single,
            entries: Vec::with_capacity(items.len()),
        };
        for item in items {
            of.entries.push(item.entry);
            stamps[side].push(item.stamp);
        }
        *[&mut sides.a, &mut sides.b][side] = of;
    }
    let (_, names) = shared.file_systems.into_inner();
    let ContentTable {
        numbers,
        places,
        apart,
        skipped,
    } = shared.table.into_inner();
    sides.contents = numbers.contents;
    sides.apart = apart;
    sides.skipped_parts = skipped;
    sides.apart.retain(|_, stand_ins| !stand_ins.is_empty());
    let old = sides.put_in_order();
    let numbered = (0..).zip(&old);
    let still = numbered.filter(|(_, old)| pending.contains(old));
    Ok(Scanned {
        sides,
        pending: still.map(|(new, _)| new).collect(),
        again: notes.iter().any(|notes| notes.again),
        places: old.iter().map(|&old| places[old as usize]).collect(),
        arenas: notes.into_iter().map(|notes| notes.arena).collect(),
        stamps,
        names,
    })
}

/// An entry of a side, with its stamp. With the stamp, the next comparison recognises an unchanged
/// file. The stamp is `None` if the next comparison must read the file again.
struct ScanItem {
    entry: Entry,
    stamp: Option<Stamp>,
}

#[derive(Default)]
struct Notes {
    items: [Vec<ScanItem>; 2],
    errors: Vec<SoftError>,
    skipped: u64,
    moving: u64,
    arena: Vec<u8>,
    documents: Vec<ScannedDocument>,
    again: bool,
}

/// A file that was read and that the part reader can take apart.
struct ScannedDocument {
    number: u32,
    side: usize,
    path: Box<[u8]>,
    /// The stat of the file when it was read.
    stat: Stat,
}

impl ScannedDocument {
    fn place(&self) -> (u32, usize, &[u8]) {
        (self.number, self.side, &self.path)
    }
}

/// Returns whether one side has a content that the other side lacks. With [`Better::OfA`], only
/// contents of A are considered.
fn has_lone_contents(notes: &[Notes], better: Better) -> bool {
    let [a, b] = [0, 1].map(|side| {
        let items = notes.iter().flat_map(|notes| &notes.items[side]);
        let contents = items.filter_map(|item| item.entry.what.content());
        contents.collect::<HashSet<u32>>()
    });
    match better {
        Better::OfA => !a.is_subset(&b),
        Better::OfBoth => a != b,
    }
}

/// The content and the stamp of each file with several names, by device and inode number.
type Linked = HashMap<(u64, u64), (u32, Option<Stamp>)>;

/// The numbers of all contents of both trees, and the places of their packed pieces.
#[derive(Default)]
struct ContentTable {
    numbers: Numbering,
    places: Vec<PackedPlace>,
    /// The renditions of each content that was taken apart, if it has renditions.
    apart: Apart,
    /// The skipped parts of each content, if it has skipped parts.
    skipped: BTreeMap<u32, Vec<SkippedPart>>,
}

impl ContentTable {
    fn number(&mut self, content: Content, place: impl FnOnce() -> PackedPlace) -> u32 {
        let (number, new) = self.numbers.number(content);
        if new {
            self.places.push(place());
        }
        number
    }

    /// Adds a content that an earlier scan found, with its renditions, and returns its number.
    fn known(&mut self, inventory: &Inventory, at: u32) -> Option<u32> {
        let mut number = |at: u32| {
            let (content, place) = *inventory.contents.get(at as usize)?;
            Some(self.number(content, || place))
        };
        let owner = number(at)?;
        if let Some(stand_ins) = inventory.parts.apart.get(&at) {
            let stand_ins = stand_ins.iter();
            let stand_ins = stand_ins.map(|&(rendition, of)| Some((rendition, number(of)?)));
            let stand_ins = stand_ins.collect::<Option<_>>()?;
            self.apart.insert(owner, stand_ins);
        }
        if let Some(skipped) = inventory.parts.skipped.get(&at) {
            self.skipped.insert(owner, skipped.clone());
        }
        Some(owner)
    }
}

/// One of the trees.
struct Root {
    path: PathBuf,
    single: bool,
    anchor: Anchor,
    rules: Rules,
    /// The other tree, if it lies inside this one. The scan of this tree leaves it out.
    inner: Option<PathBuf>,
}

/// Data that all threads share.
struct ScanShared<'a> {
    roots: [Root; 2],
    known: &'a [Option<Inventory>; 2],
    filtered: bool,
    min_size: u64,
    part_reader: Option<&'a dyn PartReader>,
    /// The settle window in nanoseconds.
    settle_window: i128,
    unindexed: Unindexed<'a>,
    file_systems: Mutex<(FsIds, Names)>,
    table: Mutex<ContentTable>,
    /// Contents of files with several names, by inode.
    linked: Mutex<Linked>,
    tasks: Tasks<Task>,
    files: AtomicU64,
    files_read: AtomicU64,
    bytes_read: AtomicU64,
    dirs: AtomicU64,
}

// In `Dir::sides`, the outer option is `None` on a side without the directory. The inner option is
// `None` at the root, which has no directory above it.
#[allow(clippy::option_option)]
enum Task {
    /// A directory to be listed. Each side that has the directory gives the chain of the
    /// directories above it.
    Dir {
        below: Vec<u8>,
        sides: [Option<Option<Arc<DirChain>>>; 2],
    },
    Files {
        dirs: Arc<Dirs>,
        files: Vec<TwinNames>,
    },
    /// A root that is not a directory.
    Single(usize),
    /// A document to take apart.
    Document(ScannedDocument),
}

/// A directory, open on the sides that have it.
struct Dirs {
    below: Vec<u8>,
    open: [Option<(OpenDir, u32)>; 2],
}

/// A name that is a regular file on at least one side.
struct TwinNames {
    name: OsString,
    stats: [Option<Stat>; 2],
}

impl<'a> ScanShared<'a> {
    fn new(
        request: &CompareRequest,
        tree_cache: &TreeCache<'a>,
        known: &'a [Option<Inventory>; 2],
        names: Names,
        roots: [&Path; 2],
    ) -> Result<Self, AskError> {
        let scope = &request.options.scope;
        let root = |side: usize| -> Result<Root, AskError> {
            let path = roots[side];
            let fail = |errno: Errno| AskError::Unreadable {
                path: path.to_owned(),
                source: errno.into(),
            };
            let (anchor, single) = match Anchor::open(path) {
                Ok(anchor) => (anchor, false),
                Err(Errno::NOTDIR | Errno::LOOP) => {
                    let parent = path.parent().unwrap_or(Path::new("/"));
                    let anchor = Anchor::open(parent).map_err(fail)?;
                    anchor.stat_at(path).map_err(fail)?;
                    (anchor, true)
                }
                Err(errno) => return Err(fail(errno)),
            };
            Ok(Root {
                path: path.to_owned(),
                single,
                anchor,
                rules: Rules::new(path, scope)?,
                inner: inner_of(path, roots[1 - side]),
            })
        };
        let roots = [root(0)?, root(1)?];
        let mut stack = Vec::new();
        let dirs = [0, 1].map(|side| (!roots[side].single).then_some(None));
        if dirs.iter().any(Option::is_some) {
            stack.push(Task::Dir {
                below: Vec::new(),
                sides: dirs,
            });
        }
        stack.extend((0..2).filter(|&side| roots[side].single).map(Task::Single));
        Ok(Self {
            roots,
            known,
            filtered: !scope.include.is_empty() || !scope.exclude.is_empty(),
            min_size: scope.min_size,
            part_reader: tree_cache.part_reader_for(request),
            settle_window: tree_cache.settle_window.as_nanos() as i128,
            unindexed: Unindexed::new(tree_cache.exclude),
            file_systems: Mutex::new((FsIds::default(), names)),
            table: Mutex::default(),
            linked: Mutex::default(),
            tasks: Tasks::new(stack),
            files: AtomicU64::new(0),
            files_read: AtomicU64::new(0),
            bytes_read: AtomicU64::new(0),
            dirs: AtomicU64::new(0),
        })
    }

    fn progress(&self) -> Progress {
        let get = |count: &AtomicU64| count.load(Ordering::Relaxed);
        Progress {
            dirs: get(&self.dirs),
            files: get(&self.files),
            files_read: get(&self.files_read),
            bytes_read: get(&self.bytes_read),
            // In a first scan, nearly all files are read, so the number of read files is a good
            // estimate of the progress. A later scan is so short that it needs no better estimate.
            done: Amount {
                files: get(&self.files_read),
                bytes: get(&self.bytes_read),
            },
            ..Progress::default()
        }
    }

    fn path(&self, side: usize, below: &[u8]) -> PathBuf {
        let root = &self.roots[side].path;
        if below.is_empty() {
            root.clone()
        } else {
            root.join(OsStr::from_bytes(below))
        }
    }
}

impl Contents for ScanShared<'_> {
    fn look_up(&self, digest: &ContentDigest) -> Lookup {
        let known = self.table.lock().numbers.get(digest);
        known.map_or(Lookup::New, |number| Lookup::Known(ContentId(number)))
    }
}
