//! Whether a changed file resembles another, and whether that is news.
//!
//! News is what the *change* brought about. So the file is compared twice: as it is now, and as it was
//! before in the index of then. Quiet stay, each with its reason:
//!
//! 1. **What it resembled before.** A draft that is saved goes on resembling its older versions.
//! 2. **What it was itself.** A backup that an editor makes of the old content (`report.txt~`) has
//!    exactly what this path had.
//! 3. **A git operation.** If `.git/index` of the work tree around it has just been written, files come
//!    and go as commits have them. (A copied work tree has a fresh `.git/index` too: only a tree that
//!    was there before counts.)
//! 4. **Builds.** What a `.gitignore` names, and what lies in `.git` itself, is no news alone; as a part
//!    of a copied tree it counts.
//! 5. **Files that came together in numbers.** An unpacked archive is full of files that resemble each
//!    other; news is what they resemble that was there before.
//! 6. **Unpacking.** That a file lies in an archive is no news of the file. A mail or an archive that holds what lies
//!    here is news of that.
//! 7. **Small files** (under 1 KiB) count in a copied tree, if they are identical.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use resemble_core::{ByteLen, ContentId, Relation, Score};
use resemble_engine::AskError;
use resemble_index::{FileRow, ReadError, Snapshot};

use super::partners;
use super::window::{Partner, Verdict};

/// The least share of the smaller file that is an alert.
pub const LEAST_SHARE: f64 = 0.8;
/// The least size of an alert.
pub const LEAST_SIZE: ByteLen = ByteLen(1024);
/// Partners that are looked at for each file.
const MOST_PARTNERS: usize = 16;
/// From so many changes at once on, files that came together are not compared with each other.
const IN_NUMBERS: usize = 20;
/// How fresh `.git/index` is during and after a git operation.
const GIT_FRESH: Duration = Duration::from_secs(15);

/// Judges the files of one moment.
#[derive(Debug)]
pub struct Judge {
    after: Snapshot,
    /// Ignore files by directory.
    ignores: HashMap<PathBuf, Option<Gitignore>>,
    /// Work trees in which git is at work, by directory.
    git: HashMap<PathBuf, bool>,
}

impl Judge {
    /// Judges by this view of the index.
    pub fn new(after: Snapshot) -> Self {
        Self {
            after,
            ignores: HashMap::new(),
            git: HashMap::new(),
        }
    }

    /// Goes on with another view of the index.
    pub fn look_at(&mut self, after: Snapshot) {
        self.after = after;
    }

    /// Judges one file; `before` is the index before it changed, `burst` are the files that changed
    /// since the last quiet moment, this one among them.
    pub fn judge(&mut self, path: &Path, before: &Snapshot, burst: &HashSet<PathBuf>) -> Verdict {
        self.try_judge(path, before, burst).unwrap_or_else(|error| {
            tracing::warn!(path = ?path, %error, "not judged");
            Verdict::Nothing
        })
    }

    fn try_judge(
        &mut self,
        path: &Path,
        before: &Snapshot,
        burst: &HashSet<PathBuf>,
    ) -> Result<Verdict, AskError> {
        // Both as the templates are now: marking or unmarking one is no change of any file.
        let before = &before
            .clone()
            .with_templates(Arc::clone(self.after.templates()));
        let Some(file) = self.after.file_at(path)? else {
            return Ok(Verdict::Nothing);
        };
        let Some(content) = file.state.content() else {
            return Ok(Verdict::Nothing);
        };
        let was = before.file_at(path)?.and_then(|file| file.state.content());
        if file.stat.size == ByteLen::ZERO || was == Some(content) {
            return Ok(Verdict::Nothing);
        }
        let mut partners = self.identical(&file, content, path)?;
        if partners.is_empty() && file.stat.size >= LEAST_SIZE {
            partners = partners::alike(&self.after, path)?;
            partners.retain(|partner| share(partner) >= LEAST_SHARE);
            // First what lies in it byte for byte: that is what somebody saved or sent.
            let mut held = partners::held(&self.after, path, LEAST_SIZE)?;
            partners.retain(|partner| held.iter().all(|held| held.path != partner.path));
            held.append(&mut partners);
            partners = held;
        }
        if partners.is_empty() {
            return Ok(Verdict::Nothing);
        }
        let known = match was {
            Some(_) => {
                let mut known = partners::alike(before, path)?;
                known.extend(partners::held(before, path, LEAST_SIZE)?);
                known
            }
            None => Vec::new(),
        };
        let mut news = Vec::new();
        for partner in partners {
            if !self.is_known(&partner, before, was, &known, burst)? {
                news.push(partner);
            }
        }
        if news.is_empty() {
            return Ok(Verdict::Nothing);
        }
        news.truncate(MOST_PARTNERS);
        if self.git_at_work(path, before)? {
            return Ok(Verdict::Quiet);
        }
        let only_in_tree =
            file.stat.size < LEAST_SIZE || in_repository_files(path) || self.is_ignored(path);
        Ok(Verdict::Resembles {
            partners: news,
            only_in_tree,
        })
    }

    /// Other files with the same content: first those of the same name, as in a copied tree.
    fn identical(
        &self,
        file: &FileRow,
        content: ContentId,
        path: &Path,
    ) -> Result<Vec<Partner>, ReadError> {
        let mut paths: Vec<PathBuf> = Vec::new();
        for other in self.after.files_of(content)? {
            if other != file.id {
                paths.extend(self.after.paths(other)?.into_iter().next());
            }
        }
        paths.sort_by_key(|other| (other.file_name() != path.file_name(), other.clone()));
        paths.truncate(4 * MOST_PARTNERS);
        Ok(paths
            .into_iter()
            .map(|path| Partner {
                path,
                relation: Relation::Identical,
                a_in_b: Some(Score::ONE),
                b_in_a: Some(Score::ONE),
                shared_bytes: file.stat.size,
            })
            .collect())
    }

    /// Whether the resemblance was there before the change, or came with the change of the other.
    fn is_known(
        &self,
        partner: &Partner,
        before: &Snapshot,
        was: Option<ContentId>,
        known: &[Partner],
        burst: &HashSet<PathBuf>,
    ) -> Result<bool, ReadError> {
        let there = self
            .after
            .file_at(&partner.path)?
            .and_then(|file| file.state.content());
        let there_before = before
            .file_at(&partner.path)?
            .and_then(|file| file.state.content());
        let itself = was.is_some() && (there == was || there_before == was);
        let resembled = known
            .iter()
            .any(|old| old.path == partner.path && share(old) >= LEAST_SHARE);
        let together =
            burst.len() >= IN_NUMBERS && (there_before.is_none() || burst.contains(&partner.path));
        Ok(itself || resembled || together)
    }

    fn git_at_work(&mut self, path: &Path, before: &Snapshot) -> Result<bool, ReadError> {
        for dir in path.ancestors().skip(1) {
            let at_work = if let Some(known) = self.git.get(dir) {
                *known
            } else {
                let git = dir.join(".git");
                let fresh = ["index", "HEAD"]
                    .iter()
                    .any(|name| is_fresh(&git.join(name)));
                let at_work = fresh && before.entry(dir)?.is_some();
                self.git.insert(dir.to_path_buf(), at_work);
                at_work
            };
            if at_work {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_ignored(&mut self, path: &Path) -> bool {
        for dir in path.ancestors().skip(1) {
            let rules = self.ignores.entry(dir.to_path_buf()).or_insert_with(|| {
                let file = dir.join(".gitignore");
                if !file.is_file() {
                    return None;
                }
                let mut builder = GitignoreBuilder::new(dir);
                // What cannot be understood of an ignore file ignores nothing.
                builder
                    .add(&file)
                    .is_none()
                    .then(|| builder.build().ok())
                    .flatten()
            });
            if let Some(rules) = rules {
                let found = rules.matched_path_or_any_parents(path, false);
                if found.is_ignore() || found.is_whitelist() {
                    return found.is_ignore();
                }
            }
        }
        false
    }
}

fn share(partner: &Partner) -> f64 {
    let of = |score: Option<Score>| score.map_or(0.0, Score::get);
    of(partner.a_in_b).max(of(partner.b_in_a))
}

/// Whether the path lies in the folder that a version control system keeps for itself.
fn in_repository_files(path: &Path) -> bool {
    path.components().any(|part| {
        [".git", ".hg", ".svn", ".jj", ".bzr"]
            .iter()
            .any(|own| part.as_os_str() == *own)
    })
}

fn is_fresh(path: &Path) -> bool {
    std::fs::symlink_metadata(path)
        .and_then(|stat| stat.modified())
        .is_ok_and(|at| {
            SystemTime::now()
                .duration_since(at)
                .is_ok_and(|age| age < GIT_FRESH)
        })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::sync::Arc;

    use resemble_core::Params;
    use resemble_engine::ingest::{
        Cause, Ingest, IngestOptions, RootOptions, Scope, Target, Unobserved,
    };
    use resemble_index::Index;

    use super::*;

    /// A tree and an index of it.
    struct Tree {
        _dir: tempfile::TempDir,
        root: PathBuf,
        index: Arc<Index>,
        ingest: Ingest,
    }

    impl Tree {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = fs::canonicalize(dir.path()).unwrap();
            let index = Arc::new(Index::in_memory(&Params::default()).unwrap());
            let roots = vec![RootOptions::new(&root)];
            let options = IngestOptions {
                roots,
                ..IngestOptions::default()
            };
            let ingest = Ingest::new(Arc::clone(&index), options);
            Self {
                _dir: dir,
                root,
                index,
                ingest,
            }
        }

        fn path(&self, name: &str) -> PathBuf {
            self.root.join(name)
        }

        /// Different seeds have nothing in common.
        fn write(&self, name: &str, seed: u32, lines: u32, ending: &str) {
            fs::create_dir_all(self.path(name).parent().unwrap()).unwrap();
            let line = |n: u32| {
                format!(
                    "{:08x} is line {n} of {seed}\n",
                    (n ^ (seed << 16)).wrapping_mul(0x9e37_79b1)
                )
            };
            let text: String = (0..lines).map(line).collect();
            fs::write(self.path(name), text + ending).unwrap();
        }

        fn scan(&mut self) -> Snapshot {
            let everything = Target::Path {
                path: self.root.clone(),
                scope: Scope::Subtree,
                cause: Cause::Modified,
                read_now: true,
            };
            self.ingest
                .reconcile(&[everything], &mut Unobserved)
                .unwrap();
            self.index.snapshot().unwrap()
        }

        fn judge(&mut self, name: &str, before: &Snapshot, files: usize) -> Verdict {
            let after = self.scan();
            let burst = (0..files).map(|n| self.path(&format!("new/{n}"))).collect();
            Judge::new(after).judge(&self.path(name), before, &burst)
        }
    }

    fn partners(verdict: &Verdict) -> Vec<&Path> {
        match verdict {
            Verdict::Resembles { partners, .. } => {
                partners.iter().map(|p| p.path.as_path()).collect()
            }
            _ => Vec::new(),
        }
    }

    #[test]
    fn a_copy_and_a_near_copy_are_news() {
        let mut tree = Tree::new();
        tree.write("a", 1, 200, "");
        let before = tree.scan();
        tree.write("copy", 1, 200, "");
        let verdict = tree.judge("copy", &before, 1);
        assert_eq!(partners(&verdict), [tree.path("a")]);
        fs::remove_file(tree.path("copy")).unwrap();
        tree.write("near", 1, 200, "and a little more");
        let verdict = tree.judge("near", &before, 1);
        assert_eq!(partners(&verdict), [tree.path("a")]);
        tree.write("other", 2, 200, "");
        assert_eq!(tree.judge("other", &before, 1), Verdict::Nothing);
    }

    #[test]
    fn a_draft_that_is_saved_again_is_no_news() {
        let mut tree = Tree::new();
        tree.write("draft-1", 1, 200, "");
        tree.write("draft-2", 1, 200, "one");
        let before = tree.scan();
        tree.write("draft-2", 1, 200, "one and two");
        assert_eq!(tree.judge("draft-2", &before, 1), Verdict::Nothing);
    }

    #[test]
    fn a_change_that_makes_a_file_like_another_is_news() {
        let mut tree = Tree::new();
        tree.write("a", 1, 200, "");
        tree.write("b", 2, 200, "");
        let before = tree.scan();
        tree.write("b", 1, 200, "the end");
        assert_eq!(partners(&tree.judge("b", &before, 1)), [tree.path("a")]);
    }

    #[test]
    fn the_backup_that_an_editor_makes_is_no_news() {
        let mut tree = Tree::new();
        tree.write("report", 1, 200, "");
        let before = tree.scan();
        fs::rename(tree.path("report"), tree.path("report~")).unwrap();
        tree.write("report", 1, 200, "a new end");
        assert_eq!(tree.judge("report", &before, 1), Verdict::Nothing);
    }

    #[test]
    fn a_git_operation_is_quiet_and_a_copied_work_tree_is_not() {
        let mut tree = Tree::new();
        tree.write("proj/a", 1, 200, "");
        tree.write("proj/.git/index", 9, 10, "");
        let before = tree.scan();
        tree.write("proj/b", 1, 200, "of the other branch");
        tree.write("proj/.git/index", 9, 11, "");
        assert_eq!(tree.judge("proj/b", &before, 1), Verdict::Quiet);
        tree.write("copy/a", 1, 200, "");
        tree.write("copy/.git/index", 9, 10, "");
        assert_ne!(
            partners(&tree.judge("copy/a", &before, 2)),
            [] as [&Path; 0]
        );
    }

    #[test]
    fn what_builds_make_counts_in_a_tree_only() {
        let mut tree = Tree::new();
        tree.write("p/.gitignore", 7, 0, "target/\n");
        tree.write("p/a", 1, 200, "");
        let before = tree.scan();
        tree.write("p/target/a.o", 1, 200, "");
        let verdict = tree.judge("p/target/a.o", &before, 1);
        assert!(
            matches!(
                verdict,
                Verdict::Resembles {
                    only_in_tree: true,
                    ..
                }
            ),
            "{verdict:?}"
        );
        tree.write("p/.hg/store/a", 1, 200, "");
        let verdict = tree.judge("p/.hg/store/a", &before, 1);
        assert!(
            matches!(
                verdict,
                Verdict::Resembles {
                    only_in_tree: true,
                    ..
                }
            ),
            "{verdict:?}"
        );
    }

    #[test]
    fn small_files_count_in_a_tree_only() {
        let mut tree = Tree::new();
        tree.write("a", 1, 3, "");
        let before = tree.scan();
        tree.write("b", 1, 3, "");
        let verdict = tree.judge("b", &before, 1);
        assert!(
            matches!(
                verdict,
                Verdict::Resembles {
                    only_in_tree: true,
                    ..
                }
            ),
            "{verdict:?}"
        );
        fs::write(tree.path("c"), "").unwrap();
        fs::write(tree.path("d"), "").unwrap();
        assert_eq!(tree.judge("d", &before, 1), Verdict::Nothing);
    }

    #[test]
    fn files_that_came_together_in_numbers_are_not_compared_with_each_other() {
        let mut tree = Tree::new();
        tree.write("old", 1, 200, "");
        let before = tree.scan();
        for n in 0..25 {
            tree.write(&format!("new/{n}"), 5, 200, &format!("number {n}"));
        }
        assert_eq!(tree.judge("new/3", &before, 25), Verdict::Nothing);
        assert_ne!(tree.judge("new/3", &before, 2), Verdict::Nothing);
        tree.write("new/x", 1, 200, "like the old one");
        assert_eq!(
            partners(&tree.judge("new/x", &before, 25)),
            [tree.path("old")]
        );
    }
}
