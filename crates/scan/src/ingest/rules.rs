//! Reads ignore files, for roots whose options request this.
//!
//! Ignore files have the same meaning as in git, with the additions of the crate `ignore`. For each
//! path, the last matching line of the nearest ignore file decides whether it is ignored. `.ignore`
//! files always override `.gitignore` files. Nothing below an ignored directory can be included
//! again. Only ignore files within the root are used. If a global file or files above the root were
//! used, a path could be ignored in one root, but not in another.
//!
//! Other people write ignore files, so they are opened as carefully as any other file
//! ([`crate::read`]): they must be regular files, and no link is followed. An ignore file longer
//! than [`LONGEST`] is not used, because a line that is cut off could be another rule. Links and
//! files that are too long are reported as soft errors.

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder, Glob};
use rustix::io::Errno;

use crate::ingest::target::RootOptions;
use crate::read::{ReadFailure, open_regular, read_prefix};
use crate::walk::{Anchor, Kind};

/// The names of ignore files.
pub(super) const NAMES: [&str; 2] = [".gitignore", ".ignore"];

/// The maximum size of an ignore file in bytes. A larger ignore file is not used.
const LONGEST: usize = 1 << 20;

/// The ignore rules that apply in a directory. They are the rules of its own ignore files and of
/// the directories above it.
#[derive(Debug)]
pub(super) struct Rules {
    git: Gitignore,
    plain: Gitignore,
    above: Option<Arc<Rules>>,
}

impl Rules {
    /// Returns the rules that apply in `dir`. `above` has the rules of the directories above it.
    /// `refused` is called with each unused ignore file, which is a link or is too long.
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

    /// Returns whether an entry is ignored. The caller must know that its directory is not ignored.
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

/// The names that the patterns of a root leave out. `None` if the root has no patterns.
#[derive(Debug)]
pub(super) struct Excluded(Option<Gitignore>);

impl Excluded {
    /// Returns the names that the patterns of this root leave out.
    pub(super) fn of(root: &RootOptions) -> Self {
        if root.exclude.is_empty() {
            return Self(None);
        }
        let mut builder = GitignoreBuilder::new(&root.path);
        for pattern in &root.exclude {
            // An invalid pattern is skipped. Patterns that users wrote were checked before.
            builder.add_line(None, pattern).ok();
        }
        Self(builder.build().ok())
    }

    /// Returns whether an entry is left out. The caller must know that its directory is not left
    /// out.
    pub(super) fn has(&self, path: &Path, is_dir: bool) -> bool {
        let matched = |patterns: &Gitignore| patterns.matched(path, is_dir).is_ignore();
        self.0.as_ref().is_some_and(matched)
    }

    /// Returns whether a path below the root, or a directory above it, is left out.
    pub(super) fn holds(&self, path: &Path, is_dir: bool) -> bool {
        let matched = |patterns: &Gitignore| match_at_or_above(patterns, path, is_dir).is_ignore();
        self.0.as_ref().is_some_and(matched)
    }
}

/// Returns the match of a path below the directory of the rules. If the path has no match, returns
/// the match of the deepest directory above it that has one. The directory of the rules itself is
/// not matched. Otherwise, `*/` would match this directory, and so leave out every file in it.
pub fn match_at_or_above<'r>(rules: &'r Gitignore, path: &Path, is_dir: bool) -> Match<&'r Glob> {
    let above = path.ancestors().skip(1);
    let above = above.take_while(|dir| *dir != rules.path());
    let mut matches = std::iter::once((path, is_dir))
        .chain(above.map(|dir| (dir, true)))
        .map(|(path, is_dir)| rules.matched(path, is_dir));
    matches
        .find(|matched| !matched.is_none())
        .unwrap_or(Match::None)
}

/// Returns the rules of the `.gitignore` in a directory. This is for a question about a single
/// path.
pub fn gitignore_of(dir: &Path) -> Option<Gitignore> {
    let anchor = Anchor::open(dir).ok()?;
    load(&anchor, dir, OsStr::new(NAMES[0])).ok().flatten()
}

/// Returns the rules of an ignore file. Returns `None` if the file does not exist or cannot be
/// opened. A link or a file that is too long is an error.
fn load(anchor: &Anchor, dir: &Path, name: &OsStr) -> Result<Option<Gitignore>, Errno> {
    let path = dir.join(name);
    let file = match open_regular(anchor, &path) {
        Ok((file, _)) => file,
        Err(ReadFailure::NotRegular) => {
            let is_link = anchor.stat_at(&path)?.kind == Kind::Symlink;
            return if is_link { Err(Errno::LOOP) } else { Ok(None) };
        }
        // An ignore file that cannot be opened is reported later, when it is compared like any
        // other file.
        Err(_) => return Ok(None),
    };
    let text = read_prefix(&file, LONGEST + 1)?;
    if text.len() > LONGEST {
        return Err(Errno::FBIG);
    }
    let mut builder = GitignoreBuilder::new(dir);
    for line in String::from_utf8_lossy(&text).lines() {
        // As in git, a line that is not a valid glob is ignored.
        builder.add_line(None, line).ok();
    }
    Ok(builder.build().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_for_every_directory_names_no_file_at_the_top() {
        for every in ["*/", "**/"] {
            let root = RootOptions {
                exclude: vec![every.to_owned()],
                ..RootOptions::new("/r")
            };
            let excluded = Excluded::of(&root);
            assert!(!excluded.holds(Path::new("/r/a"), false));
            assert!(excluded.holds(Path::new("/r/d"), true));
            assert!(excluded.holds(Path::new("/r/d/a"), false));
        }
    }
}
