//! Plans: the shell script that `--plan` prints, for a person to read and then to run, or not.
//!
//! resemble changes nothing itself; the most it does is to write down what could be done. A plan
//! may be run minutes or weeks later, as root, on files that have changed in the meantime and among
//! names that were made to do harm. Therefore:
//!
//! 1. **Dry by default.** The script only prints what it would do; it acts with `--do-it`.
//! 2. **Nothing is trusted.** Before each step the script looks at both files again. They must be
//!    regular files (if there is a link now, it is not followed) with the same device, inode, size
//!    and time of last change to the nanosecond, and their bytes are compared. Whatever does not
//!    fit is skipped and counted.
//! 3. **One copy always stays.** No step of the plan replaces the file that stays, and a step that
//!    does not find it unchanged does nothing.
//! 4. **All or nothing.** The new entry is made under a temporary name in the same folder and
//!    renamed over the old one, after a last look at both.
//! 5. **Near copies never appear.** A plan is made from sets of equal bytes alone.
//! 6. **Steps that gain nothing are left out**, with the reason in the script: names of one inode,
//!    and files with further hard links, whose blocks would stay in use. Left out of a plan of hard
//!    links are files on another device or with another owner or mode, because all names of a file
//!    share these.
//! 7. **Names are escaped, not quoted.** A name is an argument of `printf '%b'` in which every byte
//!    that a shell, a terminal or a reader could misread is written `\0ooo`. So the script is
//!    printable text in any POSIX shell, whatever the names are, and what it prints is harmless
//!    too.

mod script;

use std::fmt;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use resemble_proto::documents::{CoveredDocument, GroupsDocument};
use resemble_proto::path::PathText;

/// What takes the place of a copy.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replacement {
    /// A symbolic link to the file that stays.
    Symlink,
    /// A hard link: one file of several names.
    Hardlink,
    /// A file of its own that shares its blocks with the one that stays.
    Reflink,
}

/// The steps of a script, and what was left out with the reason.
#[derive(Debug)]
pub struct Plan {
    kind: Replacement,
    /// The question that it was made for: the head of the script names it.
    about: String,
    entries: Vec<Entry>,
}

/// A step, or one that is left out.
#[derive(Debug)]
enum Entry {
    Step { keep: FileState, replace: FileState },
    LeftOut { path: PathBuf, why: String },
}

/// A regular file as it was when the plan was made.
#[derive(Clone, Debug)]
pub struct FileState {
    /// Where it is: the real path of its folder, and its name.
    pub path: PathBuf,
    /// The device that it is on.
    pub dev: u64,
    /// Its inode there.
    pub inode: u64,
    /// Its size in bytes.
    pub size: u64,
    /// When its bytes were last changed.
    pub mtime: Time,
    /// How many names it has.
    pub links: u64,
    /// Its user and its group.
    pub owner: (u32, u32),
    /// Its permissions: the last twelve bits of the mode.
    pub mode: u32,
}

/// Looks at a file and says in which state it is now, or why it cannot be part of a plan.
pub type Look<'a> = &'a dyn Fn(&Path) -> Result<FileState, String>;

/// Seconds and nanoseconds since 1970, printed as `stat -c %.9Y` prints them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    /// Whole seconds.
    pub seconds: i64,
    /// Nanoseconds beyond them.
    pub nanos: i64,
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const BILLION: i64 = 1_000_000_000;
        let (seconds, nanos) = (self.seconds, self.nanos);
        if seconds < 0 && nanos > 0 {
            return write!(f, "-{}.{:09}", -(seconds + 1), BILLION - nanos);
        }
        write!(f, "{seconds}.{nanos:09}")
    }
}

impl FileState {
    /// What the script must find again, as `stat -c '%d %i %s %.9Y'` prints it.
    pub fn identity(&self) -> String {
        format!("{} {} {} {}", self.dev, self.inode, self.size, self.mtime)
    }
}

impl Plan {
    /// The plan for the identical sets of a collection. One file of each set stays: the one with
    /// the most hard links; of several such, the oldest; of several such, the one with the least
    /// path.
    pub fn of_groups(document: &GroupsDocument, kind: Replacement, look: Look<'_>) -> Self {
        let roots: Vec<String> = document
            .parameters
            .roots
            .iter()
            .map(path_for_printf)
            .collect();
        let mut plan = Self::new(kind, format!("groups {}", roots.join(" ")));
        for set in &document.body.identical {
            let mut files = Vec::with_capacity(set.paths.len());
            for path in &set.paths {
                match look(path.as_path()) {
                    Ok(known) if known.size == set.size => files.push(known),
                    Ok(known) => plan.leave_out(&known.path, "its size has changed"),
                    Err(why) => plan.leave_out(path.as_path(), &why),
                }
            }
            files.sort_by(|x, y| {
                let rank = |file: &FileState| (std::cmp::Reverse(file.links), file.mtime);
                let paths = || {
                    x.path
                        .as_os_str()
                        .as_bytes()
                        .cmp(y.path.as_os_str().as_bytes())
                };
                rank(x).cmp(&rank(y)).then_with(paths)
            });
            plan.set(&files);
        }
        plan
    }

    /// The plan for the covered files of a directory: files in it are replaced, and their equals
    /// elsewhere stay. `dir` is the real path of the directory, if it has one.
    pub fn of_covered(
        document: &CoveredDocument,
        kind: Replacement,
        dir: Option<&Path>,
        look: Look<'_>,
    ) -> Self {
        let parameters = &document.parameters;
        let by: Vec<String> = parameters.by.iter().map(path_for_printf).collect();
        let about = format!(
            "covered {} --by {}",
            path_for_printf(&parameters.dir),
            by.join(" --by ")
        );
        let mut plan = Self::new(kind, about);
        for pair in &document.body.linked {
            let why = "it and its only equal are names of one file: nothing to be gained";
            plan.leave_out(pair.path.as_path(), why);
        }
        for pair in &document.body.copies {
            let (copy, keep) = match (look(pair.path.as_path()), look(pair.by.as_path())) {
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
            match dir {
                Some(dir) if !keep.path.starts_with(dir) && copy.path.starts_with(dir) => {
                    plan.pair(&keep, copy);
                }
                _ => plan.leave_out(&copy.path, "its equal does not lie outside the directory"),
            }
        }
        plan
    }

    const fn new(kind: Replacement, about: String) -> Self {
        Self {
            kind,
            about,
            entries: Vec::new(),
        }
    }

    fn leave_out(&mut self, path: &Path, why: &str) {
        self.entries.push(Entry::LeftOut {
            path: path.to_owned(),
            why: why.to_owned(),
        });
    }

    /// Adds the steps for a set of equal files, of which the first stays. Hard links do not cross
    /// devices, so in a plan of hard links the first file on each device stays.
    fn set(&mut self, files: &[FileState]) {
        let mut kept: Vec<&FileState> = Vec::new();
        for file in files {
            let keep = kept
                .iter()
                .copied()
                .find(|keep| self.kind != Replacement::Hardlink || keep.dev == file.dev);
            match keep {
                None => kept.push(file),
                Some(keep) => self.pair(keep, file.clone()),
            }
        }
    }

    fn pair(&mut self, keep: &FileState, replace: FileState) {
        match self.objection(keep, &replace) {
            Some(why) => self.leave_out(&replace.path, why),
            None => self.entries.push(Entry::Step {
                keep: keep.clone(),
                replace,
            }),
        }
    }

    fn objection(&self, keep: &FileState, replace: &FileState) -> Option<&'static str> {
        let hard = self.kind == Replacement::Hardlink;
        if (keep.dev, keep.inode) == (replace.dev, replace.inode) {
            Some("it is the file that stays, by another name")
        } else if keep.size != replace.size {
            Some("its size has changed")
        } else if replace.size == 0 {
            Some("it is empty: nothing to be gained")
        } else if replace.links > 1 {
            Some("it has further hard links: replacing one name frees nothing")
        } else if hard && keep.dev != replace.dev {
            Some("a hard link cannot lead to another device")
        } else if hard && (keep.owner, keep.mode) != (replace.owner, replace.mode) {
            Some("owner, group or mode are not those of the file that stays")
        } else {
            None
        }
    }

    /// The number of steps and the bytes that they free.
    pub fn gain(&self) -> (u64, u64) {
        let steps = self.entries.iter().filter_map(|entry| match entry {
            Entry::Step { replace, .. } => Some(replace.size),
            Entry::LeftOut { .. } => None,
        });
        steps.fold((0, 0), |(count, bytes), size| (count + 1, bytes + size))
    }

    /// Writes the script.
    pub fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        script::write(self, out)
    }
}

fn path_for_printf(path: &PathText) -> String {
    script::for_printf(path.as_bytes())
}
