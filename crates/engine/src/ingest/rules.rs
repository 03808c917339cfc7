//! Ignore files, for roots that ask for them.
//!
//! The meaning is git's, with the additions of the crate `ignore`: the last matching line of the
//! nearest file decides, `.ignore` files count more than `.gitignore` files wherever they are, and
//! nothing below an ignored directory can be brought back. Only files within the root count:
//! a global one or one above the root would make the answer depend on where a root begins.
//!
//! Ignore files are files that others write: they are read as any other ([`crate::read`]), and only
//! up to [`LONGEST`].

use std::ffi::OsStr;
use std::path::Path;
use std::sync::Arc;

use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::read::{open_regular, read_prefix};
use crate::walk::Anchor;

/// The names of ignore files.
pub(super) const NAMES: [&str; 2] = [".gitignore", ".ignore"];

/// Bytes of an ignore file that count.
const LONGEST: usize = 1 << 20;

/// The rules that hold in a directory: its own and those of the directories above.
#[derive(Debug)]
pub(super) struct Rules {
    git: Gitignore,
    plain: Gitignore,
    above: Option<Arc<Rules>>,
}

impl Rules {
    /// The rules in `dir`, given those above it.
    pub(super) fn enter(
        anchor: &Anchor,
        dir: &Path,
        above: Option<&Arc<Self>>,
    ) -> Option<Arc<Self>> {
        let [git, plain] = NAMES.map(|name| load(anchor, dir, OsStr::new(name)));
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

    /// Whether an entry of a directory that is not ignored itself is ignored.
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

fn load(anchor: &Anchor, dir: &Path, name: &OsStr) -> Option<Gitignore> {
    let (file, _) = open_regular(anchor, &dir.join(name)).ok()?;
    let text = read_prefix(&file, LONGEST).ok()?;
    let mut builder = GitignoreBuilder::new(dir);
    for line in String::from_utf8_lossy(&text).lines() {
        // A line that is no glob is no rule, as for git.
        builder.add_line(None, line).ok();
    }
    builder.build().ok()
}
