//! Makes plans. A plan is the shell script that `--plan` prints, for a person to read and perhaps
//! run.
//!
//! `resemble` changes no files itself. At most, it writes down what could be done. A plan may be
//! run weeks later, as root, on changed files and among malicious names. Therefore:
//!
//! 1. **Dry by default.** The script only prints its steps. It carries them out with `--do-it`.
//! 2. **Nothing is trusted.** The script checks the files again before each step. They must be
//!    regular files. Links are not followed, even if a link has replaced a folder. Device, inode,
//!    size and time of last status change (to the nanosecond) must be the same, and the bytes are
//!    compared. If a check fails, the step is skipped and counted.
//! 3. **One copy always stays.** No step of the plan changes the file that stays. If that file has
//!    changed, a step does nothing.
//! 4. **All or nothing.** A new entry gets a temporary name in the same folder and is renamed after
//!    a last check. Nothing is overwritten except a copy that becomes a link.
//! 5. **Each step is logged** before and after, with the identities of its files. A second run
//!    reads the log and skips finished steps, and `--undo` reverses them.
//! 6. **Near copies are included only on request**, and only with steps that can be undone. Their
//!    bytes differ from those of the file that stays, so the script checks the digests of both
//!    files.
//! 7. **Steps without gain are left out**, and the script gives the reason. For example, no step
//!    treats another name of the file that stays, or a file that already shares its blocks. No step
//!    treats a file that has a name outside the plan, because its blocks would stay in use. The
//!    gain is counted in blocks, not in apparent sizes.
//! 8. **Names are escaped, not quoted.** A name is an argument of `printf '%b'`. Every byte that a
//!    shell, a terminal or a reader could misread is written `\0ooo`. So the script is printable
//!    text for any POSIX shell, whatever the names. Its output is printable, too.
//!
//! A [`Plan`] is a list of typed steps. Only its script carries them out.

mod keep;
mod pairs;
mod places;
mod renames;
mod script;
mod state;
mod superseded;

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use resemble_proto::documents::{CoveredDocument, GroupsDocument};
use resemble_proto::path::PathText;

use crate::human::{counted, human_size};

pub use keep::{KeepRule, RULES};
pub use renames::{PathKind, Trees};
pub use state::{FileState, Time};
pub use superseded::{Loss, Superseding};

use superseded::NearProof;

/// The reason for leaving out a name that belongs to the file that stays.
const OTHER_NAME: &str = "it is the file that stays, by another name";

/// The action of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Treatment {
    /// A copy becomes a symbolic link to the file that stays.
    Symlink,
    /// A copy becomes a hard link, that is, another name of the file that stays.
    Hardlink,
    /// A copy becomes a separate file that shares its blocks with the file that stays.
    Reflink,
    /// A copy is moved to the trash of its file system.
    Trash,
    /// A copy is removed.
    Remove,
    /// Copies are moved into this directory and keep their paths relative to their root.
    Move(PathBuf),
    /// Missing files are copied into this directory and keep their paths relative to the covered
    /// directory.
    Copy(PathBuf),
    /// A file that was moved in one tree is renamed in the other tree.
    Rename,
}

impl Treatment {
    /// Returns the word for the treatment on the command line and in the script.
    pub const fn word(&self) -> &'static str {
        match self {
            Self::Symlink => "symlink",
            Self::Hardlink => "hardlink",
            Self::Reflink => "reflink",
            Self::Trash => "trash",
            Self::Remove => "remove",
            Self::Move(_) => "move",
            Self::Copy(_) => "copy",
            Self::Rename => "rename",
        }
    }

    /// Returns whether the copy is replaced by a link to the file that stays, or by a file that
    /// shares its blocks.
    const fn makes_links(&self) -> bool {
        matches!(self, Self::Symlink | Self::Hardlink | Self::Reflink)
    }

    /// Parses the form that the command line has: `trash`, `move=DIR`.
    pub fn of_text(text: &OsStr) -> Option<Self> {
        let plain = [
            Self::Symlink,
            Self::Hardlink,
            Self::Reflink,
            Self::Trash,
            Self::Remove,
            Self::Rename,
        ];
        let mut plain = plain.into_iter();
        let dir = |name| dir_after(text, name);
        let with_dir = dir("move=").map(Self::Move);
        with_dir
            .or_else(|| dir("copy=").map(Self::Copy))
            .or_else(|| plain.find(|kind| text == kind.word()))
    }

    /// Returns the directory into which files are moved or copied.
    pub fn target(&self) -> Option<&Path> {
        match self {
            Self::Move(dir) | Self::Copy(dir) => Some(dir),
            _ => None,
        }
    }
}

/// The steps of a script, and the steps that are left out, each with its reason.
#[derive(Debug)]
pub struct Plan {
    kind: Treatment,
    /// The question that the plan answers. The head of the script names it.
    about: String,
    rules: Vec<KeepRule>,
    entries: Vec<Entry>,
    /// For each root, the folder to which its files are moved or copied.
    folders: HashMap<PathBuf, PathBuf>,
    /// The paths to which files are moved or copied. No two files may have the same path.
    targets: HashSet<PathBuf>,
}

/// A step, a step that is left out, or a remark.
#[derive(Debug)]
enum Entry {
    ToDo(Box<PlanStep>),
    LeftOut {
        path: PathBuf,
        why: String,
    },
    /// A remark on the steps that follow.
    Remark(String),
}

impl Entry {
    fn of(step: PlanStep) -> Self {
        Self::ToDo(Box::new(step))
    }
}

/// A step, which the script carries out as a whole or not at all.
#[derive(Debug)]
enum PlanStep {
    /// Treats one copy of the file that stays.
    Treat {
        keep: FileState,
        copy: FileState,
        target: Option<PathBuf>,
        /// Another name of the same copy. A later step treats that name. Only the step for the last
        /// name frees space.
        twin: Option<PathBuf>,
        /// The proof that a near copy may be removed. If it is `None`, the step is only for files
        /// with equal bytes, and the script compares them.
        near: Option<Box<NearProof>>,
    },
    /// Copies a file.
    Copy { from: FileState, to: PathBuf },
    /// Renames a file or a folder.
    Rename(renames::Renaming),
    /// Removes a folder if the renames have emptied it.
    Vacate(PathBuf),
}

/// A function that returns the present state of a file, or the reason why it cannot be in a plan.
pub type Look<'a> = &'a dyn Fn(&Path) -> Result<FileState, String>;

/// A function that returns all names of a file that the plan may treat. The result may be empty if
/// the file has only one name.
pub type NamesOf<'a> = &'a dyn Fn(&FileState) -> Vec<PathBuf>;

/// The inputs of a plan in addition to its report.
#[allow(missing_debug_implementations)] // it is made of functions
pub struct Means<'a> {
    /// The treatment of the files.
    pub kind: Treatment,
    /// The rules that choose the copy that stays, the most important first. If the rules prefer no
    /// copy, the copy with the most hard links stays. Of several such copies, the oldest stays. Of
    /// equally old copies, the one whose path sorts first stays.
    pub rules: Vec<KeepRule>,
    /// The latest valid date, in seconds since 1970. A later date is in the future and counts as
    /// unknown.
    pub latest: i64,
    /// The real paths of the directories that the question names.
    pub roots: Vec<PathBuf>,
    /// Returns the present state of a file.
    pub look: Look<'a>,
    /// Returns the path that a file of a catalogue has in the script. There `@` means the top of
    /// the catalogue's disk. Returns `None` for all other files.
    pub away: &'a dyn Fn(&Path) -> Option<PathBuf>,
    /// Returns all names of a file that the plan may treat.
    pub names: NamesOf<'a>,
    /// Returns whether two files on one device share all their blocks.
    pub share_blocks: &'a dyn Fn(&Path, &Path) -> bool,
    /// If set, the plan also treats near copies that the file that stays supersedes.
    pub superseded: Option<Superseding<'a>>,
}

impl Plan {
    /// Returns the plan for the sets of identical files of a collection, and on request for near
    /// copies.
    pub fn of_groups(document: &GroupsDocument, means: &Means<'_>) -> Self {
        let roots = document.parameters.roots.iter().map(path_for_printf);
        let asked = means.superseded.as_ref().map(Superseding::option);
        let about: Vec<String> = ["groups".to_owned()].into_iter().chain(roots).collect();
        let about = about.join(" ") + &asked.unwrap_or_default();
        let mut plan = Self::new(means, about);
        let mut sets = Vec::with_capacity(document.body.identical.len());
        for set in &document.body.identical {
            let mut files = Vec::with_capacity(set.paths.len());
            for (number, path) in set.paths.iter().enumerate() {
                let time = set.mtimes.get(number).copied();
                let found = plan.found(path, (set.size, time), number, means);
                files.extend(found.iter().flat_map(|file| under_each_name(file, means)));
            }
            keep::sort(&mut files, means);
            sets.push(files);
        }
        let mut near = Self::new(means, String::new());
        if let Some(asked) = &means.superseded {
            near.near_copies(document, &mut sets, means, asked);
            plan.targets = std::mem::take(&mut near.targets);
        }
        for files in sets {
            plan.set(files, means);
        }
        plan.entries.append(&mut near.entries);
        plan
    }

    /// Returns the present state of a file of the answer. Returns `None` if the file cannot be in a
    /// plan. Also returns `None` if a change of the file has made the answer invalid.
    fn found(
        &mut self,
        path: &PathText,
        (size, time): (u64, Option<i64>),
        number: usize,
        means: &Means<'_>,
    ) -> Option<FileState> {
        if let Some(away) = (means.away)(path.as_path()) {
            let seconds = time.unwrap_or_default();
            return Some(FileState::away(away, number, size, seconds));
        }
        // If the file has changed since the answer, a date that its document stated may no longer
        // be true.
        let is_as_old = |file: &FileState| {
            means.superseded.is_none() || time.is_none_or(|time| time == file.mtime.seconds)
        };
        match (means.look)(path.as_path()) {
            Ok(known) if known.size != size => {
                self.leave_out(&known.path, "its size has changed");
                None
            }
            Ok(known) if is_as_old(&known) => {
                let rules_by_date = means.rules.iter().any(KeepRule::is_of_dates);
                if rules_by_date && known.mtime.seconds > means.latest {
                    self.remark_future("time of change", &known.path);
                }
                Some(known)
            }
            Ok(known) => {
                self.leave_out(&known.path, "it has changed");
                None
            }
            Err(why) => {
                self.leave_out(path.as_path(), &why);
                None
            }
        }
    }

    /// Returns the plan for a covered directory. Files in it are treated, and the files elsewhere
    /// that are equal to them stay. A plan that copies treats the missing files instead.
    pub fn of_covered(document: &CoveredDocument, means: &Means<'_>) -> Self {
        let parameters = &document.parameters;
        let by: Vec<String> = parameters.by.iter().map(path_for_printf).collect();
        let about = format!(
            "covered {} --by {}",
            path_for_printf(&parameters.dir),
            by.join(" --by ")
        );
        let mut plan = Self::new(means, about);
        if matches!(means.kind, Treatment::Copy(_)) {
            for row in &document.body.missing {
                match (means.look)(row.path.as_path()) {
                    Ok(from) => plan.copy(from),
                    Err(why) => plan.leave_out(row.path.as_path(), &why),
                }
            }
            return plan;
        }
        for pair in &document.body.linked {
            let why = "it and its only equal are names of one file: nothing to be gained";
            plan.leave_out(pair.path.as_path(), why);
        }
        let mut pairs = Vec::new();
        // Equal files that are only in a catalogue are enough, too. The script compares the bytes
        // when the disk of the catalogue is present.
        let equals = document.body.copies.iter().chain(&document.body.recorded);
        for (number, pair) in equals.enumerate() {
            let look = |path: &PathText| (means.look)(path.as_path());
            let by = match (means.away)(pair.by.as_path()) {
                Some(away) => Ok(FileState::away(away, number, pair.size, 0)),
                None => look(&pair.by),
            };
            let (copy, keep) = match (look(&pair.path), by) {
                (Ok(copy), Ok(keep)) => (copy, keep),
                (Err(why), _) => {
                    plan.leave_out(pair.path.as_path(), &why);
                    continue;
                }
                (_, Err(why)) => {
                    plan.leave_out(pair.path.as_path(), &format!("its equal: {why}"));
                    continue;
                }
            };
            match means.roots.first() {
                Some(dir) if !keep.path.starts_with(dir) && copy.path.starts_with(dir) => {
                    pairs.push((keep, copy));
                }
                _ => plan.leave_out(&copy.path, "its equal does not lie outside the directory"),
            }
        }
        let mut names: HashMap<_, Vec<PathBuf>> = HashMap::new();
        for (_, copy) in &pairs {
            names
                .entry(copy.file())
                .or_default()
                .push(copy.path.clone());
        }
        for (keep, copy) in pairs {
            // All names of a file are treated together, at the position of the first name.
            if let Some(names) = names.remove(&copy.file()) {
                plan.pool(&keep, &copy, names, means, None);
            }
        }
        plan
    }

    fn new(means: &Means<'_>, about: String) -> Self {
        Self {
            kind: means.kind.clone(),
            about,
            rules: means.rules.clone(),
            entries: Vec::new(),
            folders: places::folders(means),
            targets: HashSet::new(),
        }
    }

    fn remark_future(&mut self, date: &str, path: &Path) {
        let path = spelled(path);
        self.entries.push(Entry::Remark(format!(
            "its {date} lies in the future and counts as unknown: {path}"
        )));
    }

    fn leave_out(&mut self, path: &Path, why: &str) {
        self.entries.push(Entry::LeftOut {
            path: path.to_owned(),
            why: why.to_owned(),
        });
    }

    /// Adds the steps for a set of equal files. The first file stays. Hard links cannot cross
    /// devices, so in a plan of hard links one file on each device stays.
    fn set(&mut self, files: Vec<FileState>, means: &Means<'_>) {
        let mut kept: Vec<FileState> = Vec::new();
        let mut treated = HashSet::new();
        let mut named = HashSet::new();
        for file in files {
            let same_device =
                |keep: &&FileState| self.kind != Treatment::Hardlink || keep.dev == file.dev;
            match kept.iter().find(same_device) {
                _ if !named.insert(file.path.clone()) => {}
                None => kept.push(file),
                Some(keep) if keep.file() == file.file() => {
                    self.leave_out(&file.path, OTHER_NAME);
                }
                Some(keep) if treated.insert(file.file()) => {
                    let names = (means.names)(&file);
                    self.pool(&keep.clone(), &file, names, means, None);
                }
                Some(_) => {}
            }
        }
    }

    /// Adds the steps for one copy and all its names.
    fn pool(
        &mut self,
        keep: &FileState,
        copy: &FileState,
        mut names: Vec<PathBuf>,
        means: &Means<'_>,
        near: Option<&NearProof>,
    ) {
        names.sort();
        names.dedup();
        if names.is_empty() {
            names.push(copy.path.clone());
        }
        let sizes_fit = near.is_some() || keep.size == copy.size;
        if let Some(why) = self.objection(keep, copy, names.len() as u64, sizes_fit) {
            for name in &names {
                self.leave_out(name, why);
            }
            return;
        }
        let mut copy = copy.clone();
        let is_here = !keep.is_away && !copy.is_away && keep.dev == copy.dev;
        if is_here && (means.share_blocks)(&keep.path, &copy.path) {
            if self.kind.makes_links() {
                let why = "it shares its blocks with the file that stays: nothing to be gained";
                for name in &names {
                    self.leave_out(name, why);
                }
                return;
            }
            copy.allocated = 0;
        }
        let targets: Vec<_> = names.iter().map(|name| self.place(name)).collect();
        if targets.contains(&Err(())) {
            let why = "another file goes to its new place";
            for name in &names {
                self.leave_out(name, why);
            }
            return;
        }
        for (at, (name, target)) in names.iter().zip(targets).enumerate() {
            let copy = FileState {
                path: name.clone(),
                ..copy.clone()
            };
            self.entries.push(Entry::of(PlanStep::Treat {
                keep: keep.clone(),
                copy,
                target: target.unwrap_or_default(),
                twin: names.get(at + 1).cloned(),
                near: near.cloned().map(Box::new),
            }));
        }
    }

    fn copy(&mut self, from: FileState) {
        match self.place(&from.path) {
            Ok(Some(to)) => self.entries.push(Entry::of(PlanStep::Copy { from, to })),
            _ => self.leave_out(&from.path, "another file goes to its new place"),
        }
    }

    fn objection(
        &self,
        keep: &FileState,
        copy: &FileState,
        names: u64,
        sizes_fit: bool,
    ) -> Option<&'static str> {
        let links = self.kind.makes_links();
        let hard = self.kind == Treatment::Hardlink;
        if keep.file() == copy.file() {
            Some(OTHER_NAME)
        } else if !sizes_fit {
            Some("its size has changed")
        } else if links && copy.size == 0 {
            Some("it is empty: nothing to be gained")
        } else if copy.links != names {
            Some("it has further hard links: replacing one name frees nothing")
        } else if names > 1 && self.kind == Treatment::Reflink {
            Some("it has further hard links: clones of its names would be files of their own")
        } else if hard && keep.dev != copy.dev {
            Some("a hard link cannot lead to another device")
        } else if hard && (keep.owner, keep.mode) != (copy.owner, copy.mode) {
            Some("owner, group or mode are not those of the file that stays")
        } else if self.kind == Treatment::Symlink && copy.has_attributes {
            Some("it has an access control list or other extended attributes: a link has none")
        } else if hard && (keep.has_attributes || copy.has_attributes) {
            Some(
                "it or the file that stays has an access control list or other extended \
                 attributes: a hard link has those of the file that stays",
            )
        } else {
            None
        }
    }

    /// Returns the number of steps and the number of bytes that they free, move or copy. Steps that
    /// remove empty folders are not counted.
    pub fn gain(&self) -> (u64, u64) {
        let steps = self.steps().filter_map(|step| match step {
            PlanStep::Treat { copy, twin, .. } => {
                Some(if twin.is_some() { 0 } else { copy.allocated })
            }
            PlanStep::Copy { from, .. } => Some(from.allocated),
            PlanStep::Rename(_) => Some(0),
            PlanStep::Vacate(_) => None,
        });
        steps.fold((0, 0), |(count, bytes), size| (count + 1, bytes + size))
    }

    /// Returns whether the script needs the disk of a catalogue. That disk is absent now.
    fn is_away(&self) -> bool {
        self.steps().any(|step| match step {
            PlanStep::Treat { keep, copy, .. } => keep.is_away || copy.is_away,
            _ => false,
        })
    }

    /// Counts the steps that treat near copies. For these, the script runs `resemble` to digest the
    /// files.
    fn near(&self) -> u64 {
        let is_near = |step: &&PlanStep| matches!(step, PlanStep::Treat { near: Some(_), .. });
        self.steps().filter(is_near).count() as u64
    }

    fn steps(&self) -> impl Iterator<Item = &PlanStep> {
        self.entries.iter().filter_map(|entry| match entry {
            Entry::ToDo(step) => Some(&**step),
            Entry::LeftOut { .. } | Entry::Remark(_) => None,
        })
    }

    /// Summarizes the steps for people: `3 steps, 28 KiB to be freed`.
    pub fn summary(&self) -> String {
        let (steps, bytes) = self.gain();
        let near = match self.near() {
            0 => String::new(),
            near => format!(" ({near} of near copies)"),
        };
        format!("{}{near}, {}", counted(steps, "step"), self.worth(bytes))
    }

    fn worth(&self, bytes: u64) -> String {
        let size = human_size(bytes);
        match self.kind {
            Treatment::Trash => format!("{size} to be freed when the trash is emptied"),
            Treatment::Move(_) => format!("{size} to be moved"),
            Treatment::Copy(_) => format!("{size} to be copied"),
            Treatment::Rename => "nothing to be copied".to_owned(),
            _ => format!("{size} to be freed"),
        }
    }

    /// Writes the script.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        script::write(self, out)
    }
}

/// Returns the states of a file: one for each name that the plan may treat. So rules can choose
/// among all names.
fn under_each_name(file: &FileState, means: &Means<'_>) -> Vec<FileState> {
    let mut names = (means.names)(file);
    if !names.contains(&file.path) {
        names.push(file.path.clone());
    }
    let under = |path| FileState {
        path,
        ..file.clone()
    };
    names.into_iter().map(under).collect()
}

/// Returns a path in the form that it has in a plan: printable text that `printf '%b'` turns into
/// the path.
pub fn spelled(path: &Path) -> String {
    script::for_printf(path.as_os_str().as_bytes())
}

/// Returns the directory that an argument names after this prefix, such as `in:`. The argument need
/// not be UTF-8.
fn dir_after(text: &OsStr, prefix: &str) -> Option<PathBuf> {
    let dir = text.as_bytes().strip_prefix(prefix.as_bytes())?;
    (!dir.is_empty()).then(|| OsStr::from_bytes(dir).into())
}

fn path_for_printf(path: &PathText) -> String {
    script::for_printf(path.as_bytes())
}
