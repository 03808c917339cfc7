//! Makes plans that repeat in one tree the moves of another tree.
//!
//! A comparison reports which files of B have another path in A. The plan renames them, so that B
//! has the names of A and the next synchronization copies only changed files. The order matters,
//! because a name must be free before it is used. If the file that has the name is to be renamed,
//! too, it is renamed first. In a cycle, one file waits under a temporary name. A file that is in
//! the way but gets no name from A gets an unused name beside its present name. So nothing is
//! overwritten.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use resemble_core::Relation;
use resemble_proto::documents::CompareDocument;
use resemble_proto::message::CompareClass;
use resemble_proto::path::PathText;

use super::{Look, Means, Plan, PlanStep, Treatment, path_for_printf};

/// The kind of entry at a path, with its device and inode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// Nothing.
    Nothing,
    /// A folder.
    Folder(u64, u64),
    /// Anything else.
    Entry(u64, u64),
}

/// Access to the two trees of a comparison.
#[allow(missing_debug_implementations)] // it is made of functions
pub struct Trees<'a> {
    /// Returns the kind of entry at a path relative to A.
    pub at_a: &'a dyn Fn(&Path) -> PathKind,
    /// The real path of B.
    pub b: PathBuf,
    /// Returns the kind of entry at a path relative to B.
    pub at_b: &'a dyn Fn(&Path) -> PathKind,
    /// Returns the paths in a folder of B. Returns `None` if the folder cannot be listed.
    pub in_b: &'a dyn Fn(&Path) -> Option<Vec<PathBuf>>,
    /// True if the rows include every file of B. If not, no folder is renamed as a whole.
    pub is_whole: bool,
}

/// A step that renames.
#[derive(Debug)]
pub(super) struct Renaming {
    pub from: PathBuf,
    /// The identity of the entry, which the script checks before the step.
    pub identity: String,
    pub to: PathBuf,
    /// The path that the entry had before it waited under a temporary name. `None` if it did not
    /// wait.
    pub home: Option<PathBuf>,
    /// The name that the entry gets after waiting. `None` if this step gives no temporary name.
    pub later: Option<PathBuf>,
}

/// A file or a folder that gets another name.
#[derive(Debug)]
struct Mover {
    source: PathBuf,
    target: PathBuf,
    identity: String,
    kind: PathKind,
    /// Its temporary name.
    waits: Option<PathBuf>,
    is_done: bool,
    has_failed: bool,
}

/// The reason why a name cannot be used yet, if there is one.
enum Obstacle {
    None,
    /// A file or folder has the name, and is to be renamed itself.
    Mover(usize),
    /// A folder above the name does not exist yet. Another folder will be renamed to it by a later
    /// step. If the script made a folder there now, the later step would find the name taken.
    FolderAbove(usize),
    /// A folder has the name, and is not to be renamed.
    Folder(PathBuf),
    /// An entry that stays has the name.
    Fixture(PathBuf),
}

impl Plan {
    /// Returns the plan that gives the files of B their paths in A.
    pub fn of_compare(document: &CompareDocument, trees: &Trees<'_>, means: &Means<'_>) -> Self {
        let about = format!(
            "compare {} {}",
            path_for_printf(&document.parameters.a),
            path_for_printf(&document.parameters.b)
        );
        debug_assert_eq!(means.kind, Treatment::Rename);
        let mut plan = Self::new(means, about);
        let moves = TreeMoves::of(document);
        let mut schedule = Schedule::new(trees, means.look, moves.files_below());
        for (source, target) in moves.renamed(trees) {
            if let Err(why) = schedule.add(source, target) {
                plan.leave_out(&trees.b.join(source), &why);
            }
        }
        schedule.run();
        for mover in schedule.movers.iter().filter(|mover| mover.has_failed) {
            let why = "what has its new name cannot be moved";
            plan.leave_out(&trees.b.join(&mover.source), why);
        }
        let steps = schedule.steps.into_iter();
        plan.entries.extend(steps.map(super::Entry::of));
        plan
    }
}

/// The rows of a comparison that concern names.
struct TreeMoves<'d> {
    /// The files of B.
    files: HashSet<&'d Path>,
    /// Files of B that moved without an edit, each with its path in A.
    moved: Vec<(&'d Path, &'d Path)>,
    /// Files of B that moved and were edited, each with its path in A.
    edited: Vec<(&'d Path, &'d Path)>,
}

impl<'d> TreeMoves<'d> {
    fn of(document: &'d CompareDocument) -> Self {
        let (mut files, mut moved, mut edited) = (HashSet::new(), Vec::new(), Vec::new());
        // Paths in A and in B whose files are matched with each other. Unrelated files at the same
        // path are not matched, because each of them may have moved.
        let (mut settled_a, mut settled_b, mut copies) = (HashSet::new(), HashSet::new(), vec![]);
        for row in &document.body.entries {
            let side = |path: &'d Option<PathText>| path.as_ref().map(PathText::as_path);
            let (a, b) = (side(&row.a), side(&row.b));
            files.extend(b);
            match (row.class, a, b) {
                (CompareClass::Moved, Some(a), Some(b)) if row.copy => {
                    copies.push((b, a));
                    continue;
                }
                (CompareClass::Moved, Some(a), Some(b)) => moved.push((b, a)),
                (CompareClass::MovedEdited, Some(a), Some(b)) => edited.push((b, a)),
                (CompareClass::Edited, Some(a), _) if row.told.relation.is_none() => {
                    let equal = row.others.iter().find(|other| {
                        other.told.relation == Some(Relation::Identical)
                            && row.size_a == Some(other.shared_bytes)
                    });
                    copies.extend(equal.map(|other| (other.path.as_path(), a)));
                    continue;
                }
                _ => {}
            }
            settled_a.extend(a);
            settled_b.extend(b);
        }
        for (b, a) in copies {
            if !settled_a.contains(a) && !settled_b.contains(b) {
                settled_a.insert(a);
                settled_b.insert(b);
                moved.push((b, a));
            }
        }
        Self {
            files,
            moved,
            edited,
        }
    }

    /// Returns the number of files below each folder of B.
    fn files_below(&self) -> BTreeMap<PathBuf, usize> {
        let mut below = BTreeMap::new();
        for file in &self.files {
            for folder in folders_of(file) {
                *below.entry(folder.to_owned()).or_default() += 1;
            }
        }
        below
    }

    /// Returns the old and the new path of each rename. Folders whose files all moved together come
    /// first, then the files outside these folders.
    fn renamed(&self, trees: &Trees<'_>) -> Vec<(&'d Path, &'d Path)> {
        let mut renamed = if trees.is_whole {
            self.folders(trees)
        } else {
            Vec::new()
        };
        let folders: HashSet<&Path> = renamed.iter().map(|(source, _)| *source).collect();
        let stays = |file: &Path| !folders_of(file).any(|folder| folders.contains(folder));
        renamed.extend(self.moved.iter().filter(|(source, _)| stays(source)));
        renamed
    }

    fn folders(&self, trees: &Trees<'_>) -> Vec<(&'d Path, &'d Path)> {
        let below = self.files_below();
        // Two numbers for each folder of B and each of its new names: the number of files that
        // moved in this way, and the number of unedited files among them.
        let mut votes: HashMap<(&Path, &Path), (usize, usize)> = HashMap::new();
        let moved = self.moved.iter().map(|pair| (pair, 1));
        for ((b, a), whole) in moved.chain(self.edited.iter().map(|pair| (pair, 0))) {
            let (mut b, mut a) = (*b, *a);
            while b.file_name() == a.file_name() {
                let (Some(above_b), Some(above_a)) = (b.parent(), a.parent()) else {
                    break;
                };
                (b, a) = (above_b, above_a);
                if b == a || b == Path::new("") || a == Path::new("") {
                    break;
                }
                let votes = votes.entry((b, a)).or_default();
                *votes = (votes.0 + 1, votes.1 + whole);
            }
        }
        let agreed = |((b, a), (all, whole)): (&(&'d Path, &'d Path), &(usize, usize))| {
            let is_all = below.get(*b) == Some(all) && *whole > 0;
            (is_all && !a.starts_with(b) && !b.starts_with(a)).then_some((*b, *a))
        };
        let mut agreed: Vec<_> = votes.iter().filter_map(agreed).collect();
        agreed.sort_by_key(|(b, _)| (b.components().count(), *b));
        let sources: HashSet<&Path> = agreed.iter().map(|(b, _)| *b).collect();
        let mut taken: HashSet<&Path> = HashSet::new();
        agreed.retain(|(b, a)| {
            let is_free = match (trees.at_b)(a) {
                PathKind::Nothing => true,
                there => sources.contains(a) || there == (trees.at_b)(b),
            };
            is_free && !folders_of(b).any(|above| taken.contains(above)) && taken.insert(*b)
        });
        agreed
    }
}

/// Returns the folders above a relative path. The deepest is first, and the root itself is left
/// out.
fn folders_of(path: &Path) -> impl Iterator<Item = &Path> {
    let above = path.ancestors().skip(1);
    above.filter(|folder| *folder != Path::new(""))
}

/// Finds an order in which files and folders can get their new names.
struct Schedule<'a> {
    trees: &'a Trees<'a>,
    look: Look<'a>,
    movers: Vec<Mover>,
    by_source: HashMap<PathBuf, usize>,
    /// The movers by their new names, even if they do not have these names yet.
    by_target: HashMap<PathBuf, usize>,
    /// Names that earlier steps have freed.
    free: HashSet<PathBuf>,
    /// The number of files of B that are still below each folder.
    below: BTreeMap<PathBuf, usize>,
    steps: Vec<PlanStep>,
}

impl<'a> Schedule<'a> {
    fn new(trees: &'a Trees<'a>, look: Look<'a>, below: BTreeMap<PathBuf, usize>) -> Self {
        Self {
            trees,
            look,
            movers: Vec::new(),
            by_source: HashMap::new(),
            by_target: HashMap::new(),
            free: HashSet::new(),
            below,
            steps: Vec::new(),
        }
    }

    fn add(&mut self, source: &Path, target: &Path) -> Result<usize, String> {
        let kind = (self.trees.at_b)(source);
        let (identity, dev) = match kind {
            PathKind::Nothing => return Err("it is gone".to_owned()),
            PathKind::Folder(dev, inode) => (format!("folder {dev} {inode}"), dev),
            PathKind::Entry(dev, _) => ((self.look)(&self.trees.b.join(source))?.identity(), dev),
        };
        let root = (self.trees.at_b)(Path::new(""));
        if !matches!(root, PathKind::Folder(of_root, _) if of_root == dev) {
            return Err("it is on another file system".to_owned());
        }
        let number = self.movers.len();
        self.movers.push(Mover {
            source: source.to_owned(),
            target: target.to_owned(),
            identity,
            kind,
            waits: None,
            is_done: false,
            has_failed: false,
        });
        self.by_source.insert(source.to_owned(), number);
        self.by_target.insert(target.to_owned(), number);
        Ok(number)
    }

    fn run(&mut self) {
        let planned = self.movers.len();
        // The second pass renames the movers that had to wait for a folder above their new names.
        for first in (0..planned).chain(0..planned) {
            let mut stack = vec![first];
            while let Some(&top) = stack.last() {
                if self.movers[top].is_done || self.movers[top].has_failed {
                    stack.pop();
                    continue;
                }
                let next = match self.obstacle(top) {
                    Obstacle::None => {
                        self.give_name(top);
                        None
                    }
                    // The other mover needs a name that this mover has. Only this mover can wait,
                    // because its step has to come last.
                    Obstacle::FolderAbove(other) if stack.contains(&other) => {
                        self.let_wait(top);
                        stack.pop();
                        None
                    }
                    Obstacle::Mover(other) | Obstacle::FolderAbove(other) => Some(other),
                    Obstacle::Folder(path) => self.clear(top, &path),
                    Obstacle::Fixture(path) => self.aside(top, &path),
                };
                match next {
                    Some(other) if stack.contains(&other) => self.let_wait(other),
                    Some(other) => stack.push(other),
                    None => {}
                }
            }
        }
        self.vacate_all();
    }

    /// Returns the obstacle that keeps this file or folder from getting its new name.
    fn obstacle(&self, number: usize) -> Obstacle {
        let mover = &self.movers[number];
        let mut parts = mover.target.ancestors().collect::<Vec<_>>();
        parts.pop();
        // The loop goes down to the new name. `passed` is the new path of the last folder on the
        // way that is itself renamed. `origin` is the present path of the same folder.
        let (mut origin, mut passed) = (PathBuf::new(), Path::new(""));
        for path in parts.into_iter().rev() {
            let was = origin.join(path.strip_prefix(passed).unwrap_or(path));
            match self.by_target.get(path) {
                Some(&other) if self.movers[other].is_done => {
                    if path == mover.target {
                        return Obstacle::Fixture(path.to_owned());
                    }
                    origin.clone_from(&self.movers[other].source);
                    passed = path;
                    continue;
                }
                Some(&other) if path != mover.target && !self.movers[other].has_failed => {
                    return Obstacle::FolderAbove(other);
                }
                _ => {}
            }
            match self.by_source.get(path) {
                Some(&other) if self.movers[other].has_failed => {}
                Some(&other) if !self.free.contains(path) => return Obstacle::Mover(other),
                _ => {}
            }
            if self.free.contains(path) {
                return Obstacle::None;
            }
            match (self.trees.at_b)(&was) {
                PathKind::Nothing => return Obstacle::None,
                // To the file system, the new name and the present name are the same. For example,
                // they differ only in case.
                there if there == mover.kind && path == mover.target => {
                    return match mover.waits {
                        Some(_) => Obstacle::None,
                        None => Obstacle::Mover(number),
                    };
                }
                PathKind::Entry(..) => return Obstacle::Fixture(path.to_owned()),
                PathKind::Folder(..) if path == mover.target => {
                    return Obstacle::Folder(path.to_owned());
                }
                PathKind::Folder(..) => {}
            }
        }
        Obstacle::None
    }

    fn step(&mut self, number: usize, to: &Path, home: bool, later: Option<PathBuf>) {
        let (b, mover) = (&self.trees.b, &self.movers[number]);
        self.steps.push(PlanStep::Rename(Renaming {
            from: b.join(mover.waits.as_ref().unwrap_or(&mover.source)),
            identity: mover.identity.clone(),
            to: b.join(to),
            home: home.then(|| b.join(&mover.source)),
            later: later.map(|path| b.join(path)),
        }));
    }

    fn give_name(&mut self, number: usize) {
        let target = self.movers[number].target.clone();
        let waited = self.movers[number].waits.is_some();
        self.step(number, &target, waited, None);
        if !waited {
            self.leaves(number);
        }
        self.free.remove(&target);
        self.by_target.insert(target, number);
        self.movers[number].is_done = true;
    }

    /// Gives a file or folder a temporary name at the top of B. In a lower folder, the temporary
    /// name would keep that folder from being removed.
    fn let_wait(&mut self, number: usize) {
        if self.movers[number].waits.is_some() {
            self.movers[number].has_failed = true;
            return;
        }
        let free = |n: &usize| {
            let path = PathBuf::from(format!(".resemble-rename.{n}"));
            (self.trees.at_b)(&path) == PathKind::Nothing
        };
        let n = (number..usize::MAX).find(free).unwrap_or(number);
        let path = PathBuf::from(format!(".resemble-rename.{n}"));
        let target = self.movers[number].target.clone();
        self.step(number, &path, false, Some(target));
        self.leaves(number);
        self.movers[number].waits = Some(path);
    }

    fn leaves(&mut self, number: usize) {
        let mover = &self.movers[number];
        let files = self.below.remove(&mover.source).unwrap_or(1);
        for folder in folders_of(&mover.source) {
            if let Some(left) = self.below.get_mut(folder) {
                *left = left.saturating_sub(files);
            }
        }
        self.free.insert(mover.source.clone());
    }

    /// Frees the name of a folder, so that a file can get it. Returns the number of an entry that
    /// must move first. It is below the folder, or the folder itself if anything stays in it. If
    /// there is no such entry, the folder is removed.
    fn clear(&mut self, number: usize, path: &Path) -> Option<usize> {
        let inside = self.movers.iter().position(|mover| {
            !mover.is_done
                && !mover.has_failed
                && mover.waits.is_none()
                && mover.source.starts_with(path)
        });
        if inside.is_some() {
            return inside;
        }
        if !self.is_emptied(path) {
            return self.aside(number, path);
        }
        let folders = self
            .below
            .range(path.to_owned()..)
            .map(|(folder, _)| folder);
        let folders: Vec<PathBuf> = folders
            .take_while(|folder| folder.starts_with(path))
            .cloned()
            .collect();
        for folder in folders.iter().rev() {
            self.steps.push(PlanStep::Vacate(self.trees.b.join(folder)));
        }
        self.free.insert(path.to_owned());
        None
    }

    /// Returns whether earlier steps have moved everything out of a folder of B. Reads the folder
    /// itself, because the rows of the comparison have no links and no empty folders. The script
    /// removes only folders that its steps have emptied.
    fn is_emptied(&self, folder: &Path) -> bool {
        let is_gone = |path: &PathBuf| self.by_source.contains_key(path) || self.is_emptied(path);
        self.below.get(folder) == Some(&0)
            && (self.trees.in_b)(folder).is_some_and(|paths| paths.iter().all(is_gone))
    }

    /// Moves an entry that is in the way to an unused name beside it. No other step renames this
    /// entry.
    fn aside(&mut self, number: usize, path: &Path) -> Option<usize> {
        let own = path.file_name().unwrap_or_default().as_bytes();
        let name = |n: usize| {
            let end = format!(".resemble-aside.{n}");
            // A name has at most 255 bytes. A character is not cut in two.
            let mut kept = own.len().min(255 - end.len());
            while own.get(kept).is_some_and(|byte| byte & 0xc0 == 0x80) {
                kept -= 1;
            }
            path.with_file_name(OsStr::from_bytes(&[&own[..kept], end.as_bytes()].concat()))
        };
        let n = (1..usize::MAX).find(|n| (self.trees.at_b)(&name(*n)) == PathKind::Nothing);
        let next = n.and_then(|n| self.add(path, &name(n)).ok());
        self.movers[number].has_failed = next.is_none();
        next
    }

    /// Adds the steps that remove folders which the renames have emptied, unless A has them.
    fn vacate_all(&mut self) {
        let mut folders: Vec<&Path> = self
            .movers
            .iter()
            .flat_map(|mover| folders_of(&mover.source))
            .filter(|folder| !folders_of(folder).any(|above| self.free.contains(above)))
            .filter(|folder| !self.free.contains(*folder))
            .collect();
        folders.sort_by_key(|folder| (std::cmp::Reverse(folder.components().count()), *folder));
        folders.dedup();
        let is_in_a = |folder: &Path| matches!((self.trees.at_a)(folder), PathKind::Folder(..));
        for folder in folders {
            if !is_in_a(folder) {
                self.steps.push(PlanStep::Vacate(self.trees.b.join(folder)));
            }
        }
    }
}
