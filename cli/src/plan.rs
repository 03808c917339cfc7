//! Plans: what `--plan` prints, a shell script that a person reads and then runs, or does not.
//!
//! resemble changes nothing; the most it does is to write down what could be done. A plan may be
//! run minutes or weeks later, on files that have changed meanwhile, as root, among names that
//! were made to do harm. Hence:
//!
//! 1. **Dry by default.** The script only says what it would do; it acts with `--do-it`.
//! 2. **Nothing is trusted.** Before each step both files are looked at again: regular files, not
//!    followed if a link stands there now; device, inode, size and time of last change to the
//!    nanosecond as they were; bytes compared. Whatever does not fit is skipped and counted.
//! 3. **One copy always stays.** The one that stays is replaced by no step of the plan, and a step
//!    that cannot find it unchanged does nothing.
//! 4. **All or nothing.** The new entry is made under a temporary name in the same folder and
//!    renamed over the old one, after a last look at both.
//! 5. **Near copies never appear.** A plan is made from sets of equal bytes alone.
//! 6. **Steps without gain are left out**, with the reason in the script: names of one inode, files
//!    with further hard links (their blocks stay in use), for hard links files of another device or
//!    with another owner or mode (a hard link has but one).
//! 7. **Names are spelled, not quoted.** A name is an argument of `printf '%b'`: every byte that a
//!    shell, a terminal or a reader could misread is `\0ooo`. So the script is printable text
//!    whatever the names are, in any POSIX shell, and what it prints is harmless too.

mod script;

use std::fmt;
use std::fs;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use resemble_proto::documents::{CoveredDocument, GroupsDocument};
use resemble_proto::message::reason;
use resemble_proto::path::PathText;

use crate::args::PlanKind;

/// What is to be done, and what is not, and why.
#[derive(Debug)]
pub struct Plan {
    kind: PlanKind,
    /// What it was made for, for the head of the script.
    about: String,
    entries: Vec<Entry>,
}

/// A step, or one that is left out.
#[derive(Debug)]
enum Entry {
    Step { keep: Known, replace: Known },
    LeftOut { path: PathBuf, why: String },
}

/// A file as it was when the plan was made.
#[derive(Clone, Debug)]
struct Known {
    path: PathBuf,
    dev: u64,
    inode: u64,
    size: u64,
    mtime: Time,
    links: u64,
    owner: (u32, u32),
    mode: u32,
}

/// Seconds and nanoseconds since 1970, printed as `stat -c %.9Y` prints them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Time {
    seconds: i64,
    nanos: i64,
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

impl Known {
    /// Looks at a file now; the sentence says why it cannot be part of a plan.
    fn look(path: &Path) -> Result<Self, String> {
        let failed = |error: io::Error| reason(&error);
        let name = path.file_name().ok_or("it has no name")?;
        let parent = match path.parent() {
            Some(parent) if parent != Path::new("") => parent,
            _ => Path::new("."),
        };
        // The folder's real path, whatever led there; the last name is never followed.
        let path = fs::canonicalize(parent).map_err(failed)?.join(name);
        let meta = fs::symlink_metadata(&path).map_err(failed)?;
        if !meta.is_file() {
            return Err("it is no regular file".to_owned());
        }
        Ok(Self {
            dev: meta.dev(),
            inode: meta.ino(),
            size: meta.size(),
            mtime: Time {
                seconds: meta.mtime(),
                nanos: meta.mtime_nsec(),
            },
            links: meta.nlink(),
            owner: (meta.uid(), meta.gid()),
            mode: meta.mode() & 0o7777,
            path,
        })
    }

    /// What the script must find again.
    fn identity(&self) -> String {
        format!("{} {} {} {}", self.dev, self.inode, self.size, self.mtime)
    }
}

impl Plan {
    /// The plan for the identical sets of a collection: of each set one file stays, the one with
    /// most hard links, of these the oldest, of these the one with the least path.
    pub fn of_groups(document: &GroupsDocument, kind: PlanKind) -> Self {
        let roots: Vec<String> = document.parameters.roots.iter().map(spelled_path).collect();
        let mut plan = Self::new(kind, format!("groups {}", roots.join(" ")));
        for set in &document.body.identical {
            let mut files = Vec::with_capacity(set.paths.len());
            for path in &set.paths {
                match Known::look(path.as_path()) {
                    Ok(known) if known.size == set.size => files.push(known),
                    Ok(known) => plan.leave_out(&known.path, "its size has changed"),
                    Err(why) => plan.leave_out(path.as_path(), &why),
                }
            }
            files.sort_by(|x, y| {
                let rank = |file: &Known| (std::cmp::Reverse(file.links), file.mtime);
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

    /// The plan for what is covered of a directory: its copies are replaced, the equals elsewhere
    /// stay.
    pub fn of_covered(document: &CoveredDocument, kind: PlanKind) -> Self {
        let parameters = &document.parameters;
        let by: Vec<String> = parameters.by.iter().map(spelled_path).collect();
        let about = format!(
            "covered {} --by {}",
            spelled_path(&parameters.dir),
            by.join(" --by ")
        );
        let mut plan = Self::new(kind, about);
        let dir = fs::canonicalize(parameters.dir.as_path());
        for pair in &document.body.linked {
            let why = "it and its only equal are names of one file: nothing to be gained";
            plan.leave_out(pair.path.as_path(), why);
        }
        for pair in &document.body.copies {
            let (copy, keep) = match (
                Known::look(pair.path.as_path()),
                Known::look(pair.by.as_path()),
            ) {
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
            match &dir {
                Ok(dir) if !keep.path.starts_with(dir) && copy.path.starts_with(dir) => {
                    plan.pair(&keep, copy);
                }
                _ => plan.leave_out(&copy.path, "its equal does not lie outside the directory"),
            }
        }
        plan
    }

    const fn new(kind: PlanKind, about: String) -> Self {
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

    /// Steps for a set whose first file stays. Hard links do not cross devices, so for them one
    /// file of each device stays.
    fn set(&mut self, files: &[Known]) {
        let mut kept: Vec<&Known> = Vec::new();
        for file in files {
            let keep = kept
                .iter()
                .copied()
                .find(|keep| self.kind != PlanKind::Hardlink || keep.dev == file.dev);
            match keep {
                None => kept.push(file),
                Some(keep) => self.pair(keep, file.clone()),
            }
        }
    }

    fn pair(&mut self, keep: &Known, replace: Known) {
        match self.objection(keep, &replace) {
            Some(why) => self.leave_out(&replace.path, why),
            None => self.entries.push(Entry::Step {
                keep: keep.clone(),
                replace,
            }),
        }
    }

    fn objection(&self, keep: &Known, replace: &Known) -> Option<&'static str> {
        let hard = self.kind == PlanKind::Hardlink;
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

    /// Number of steps, and the bytes that they free.
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

fn spelled_path(path: &PathText) -> String {
    script::spelled(path.as_bytes())
}

#[cfg(test)]
#[path = "plan/tests.rs"]
mod tests;
