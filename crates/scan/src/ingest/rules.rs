//! Ignore files, for roots that ask for them.
//!
//! Their meaning is git's, with the additions of the crate `ignore`. The last matching line of the
//! nearest file decides. `.ignore` files always override `.gitignore` files. Nothing below an
//! ignored directory can be included again. Only files within the root count: a global one or one
//! above the root would make the answer depend on where a root begins.
//!
//! Ignore files are written by others, so they are opened like any other ([`crate::read`]): never
//! through a link, regular files only. A file longer than [`LONGEST`] has no rules, since the
//! truncated line could be another rule. Links and longer files are reported as soft errors.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use rustix::io::Errno;

use crate::ingest::target::RootOptions;
use crate::read::{ReadFailure, open_regular, read_prefix};
use crate::walk::{Anchor, Kind};

/// The names of ignore files.
pub(super) const NAMES: [&str; 2] = [".gitignore", ".ignore"];

/// The size in bytes of the largest ignore file; a larger one has no rules.
const LONGEST: usize = 1 << 20;

/// The rules that apply in a directory: its own and those of the directories above.
#[derive(Debug)]
pub(super) struct Rules {
    git: Gitignore,
    plain: Gitignore,
    above: Option<Arc<Rules>>,
}

impl Rules {
    /// Returns the rules in `dir`, given those of the directories above. `refused` receives each
    /// ignore file that is not used because it is a link or too long.
    pub(super) fn enter(
        anchor: &Anchor,
        dir: &Path,
        above: Option<&Arc<Self>>,
        refused: &mut dyn FnMut(&Path, Errno),
    ) -> Option<Arc<Self>> {
        let [git, plain] = NAMES.map(|name| {
            load(anchor, dir, OsStr::new(name)).unwrap_or_else(|errno| {
                refused(&dir.join(name), errno);
                None
            })
        });
        if git.is_none() && plain.is_none() {
            return above.cloned();
        }
        let or_empty = |rules: Option<Gitignore>| rules.unwrap_or_else(Gitignore::empty);
        Some(Arc::new(Self {
            git: or_empty(git),
            plain: or_empty(plain),
            above: above.cloned(),
        }))
    }

    /// Returns whether an entry is ignored, provided that its directory is not.
    pub(super) fn ignore(this: Option<&Arc<Self>>, path: &Path, is_dir: bool) -> bool {
        if path.file_name() == Some(OsStr::new(".git")) {
            return true;
        }
        let chain = || std::iter::successors(this.map(Arc::as_ref), |rules| rules.above.as_deref());
        let first = |pick: fn(&Self) -> &Gitignore| {
            chain()
                .map(|rules| pick(rules).matched(path, is_dir))
                .find(|found| !found.is_none())
        };
        let found = first(|rules| &rules.plain).or_else(|| first(|rules| &rules.git));
        matches!(found, Some(Match::Ignore(_)))
    }
}

/// The exclusions by the patterns of a root.
#[derive(Debug)]
pub(super) struct Excluded(Option<Gitignore>);

impl Excluded {
    /// Returns the exclusions of this root.
    pub(super) fn of(root: &RootOptions) -> Self {
        if root.exclude.is_empty() {
            return Self(None);
        }
        let mut builder = GitignoreBuilder::new(&root.path);
        for pattern in &root.exclude {
            // The patterns of users were checked before; an invalid one is skipped.
            builder.add_line(None, pattern).ok();
        }
        Self(builder.build().ok())
    }

    /// Returns whether an entry is left out, provided that its directory is not.
    pub(super) fn has(&self, path: &Path, is_dir: bool) -> bool {
        let matched = |patterns: &Gitignore| patterns.matched(path, is_dir).is_ignore();
        self.0.as_ref().is_some_and(matched)
    }

    /// Returns whether a path below the root is left out, or a directory above it.
    pub(super) fn holds(&self, path: &Path, is_dir: bool) -> bool {
        let matched = |patterns: &Gitignore| {
            let matched = patterns.matched_path_or_any_parents(path, is_dir);
            matched.is_ignore()
        };
        self.0.as_ref().is_some_and(matched)
    }
}

/// Returns the rules of the `.gitignore` in a directory, for a question about one path.
pub fn gitignore_of(dir: &Path) -> Option<Gitignore> {
    let anchor = Anchor::open(dir).ok()?;
    load(&anchor, dir, OsStr::new(NAMES[0])).ok().flatten()
}

/// Returns the rules of an ignore file; `None` if it does not exist or cannot be opened. A link and
/// a file that is too long are errors.
fn load(anchor: &Anchor, dir: &Path, name: &OsStr) -> Result<Option<Gitignore>, Errno> {
    let path = dir.join(name);
    let file = match open_regular(anchor, &path) {
        Ok((file, _)) => file,
        Err(ReadFailure::NotRegular) => {
            let is_link = anchor.stat_at(&path)?.kind == Kind::Symlink;
            return if is_link { Err(Errno::LOOP) } else { Ok(None) };
        }
        // An ignore file that cannot be opened is reported when it is compared like any file.
        Err(_) => return Ok(None),
    };
    let text = read_prefix(&file, LONGEST + 1)?;
    if text.len() > LONGEST {
        return Err(Errno::FBIG);
    }
    let mut builder = GitignoreBuilder::new(dir);
    for line in String::from_utf8_lossy(&text).lines() {
        // As in git, a line that is not a glob is no rule.
        builder.add_line(None, line).ok();
    }
    Ok(builder.build().ok())
}
