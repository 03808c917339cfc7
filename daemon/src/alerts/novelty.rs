//! Whether a changed file resembles another, and whether that is news.
//!
//! News is what the *change* brought about. So what the file resembles now is compared with what it
//! resembled before, which a [`Baseline`] knows. Quiet stay, each with its reason:
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
//! 6. **Unpacking.** That a file lies in an archive is no news of the file. A mail or an archive that
//!    holds what lies here is news of that.
//! 7. **Small files** (under 1 KiB) count in a copied tree, if they are identical.
//!
//! The work for a file does not grow with the number of its copies: where a content is, is looked up
//! once for all of them, and each looks at a few.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ignore::gitignore::Gitignore;
use resemble_core::{ByteLen, ContentId, FileId, Relation, Score};
use resemble_engine::AskError;
use resemble_engine::ingest::gitignore_of;
use resemble_index::{FileRow, ReadError, Snapshot};
use resemble_proto::catalogued::is_catalogued;

use super::baselines::{Baseline, Burst};
use super::batching::Verdict;
use super::partners::{self, LEAST_SIZE, Partner, content_at};

/// Partners that are told of each file.
const MOST_PARTNERS: usize = 16;
/// Files with an equal content that are looked at for each file.
const MOST_HOLDERS: usize = 64;
/// From so many changes at once on, files that came together are not compared with each other.
const IN_NUMBERS: usize = 20;
/// How fresh `.git/index` is during and after a git operation.
const GIT_FRESH: Duration = Duration::from_secs(15);

/// Tells what is news of the files of some seconds.
#[derive(Debug)]
pub struct Novelty {
    after: Snapshot,
    /// Where contents are, so that each of many copies need not look for all the others.
    holders: HashMap<ContentId, Arc<Holders>>,
    /// Ignore files by directory.
    ignores: HashMap<PathBuf, Option<Gitignore>>,
    /// Whether `.git` of a directory was written a moment ago.
    git: HashMap<PathBuf, bool>,
    /// Paths of holders that were looked up.
    #[cfg(test)]
    looked_up: usize,
}

impl Novelty {
    /// Goes by this view of the index.
    pub fn new(after: Snapshot) -> Self {
        Self {
            after,
            holders: HashMap::new(),
            ignores: HashMap::new(),
            git: HashMap::new(),
            #[cfg(test)]
            looked_up: 0,
        }
    }

    /// Goes on with another view of the index.
    pub fn look_at(&mut self, after: Snapshot) {
        self.after = after;
    }

    /// What is news of one file; `before` is what it was before it changed, `burst` are the files that
    /// changed since the last quiet moment, this one among them.
    pub fn assess(&mut self, path: &Path, before: &Baseline, burst: &Burst) -> Verdict {
        self.try_assess(path, before, burst)
            .unwrap_or_else(|error| {
                tracing::warn!(path = ?path, %error, "not assessed");
                Verdict::Nothing
            })
    }

    fn try_assess(
        &mut self,
        path: &Path,
        before: &Baseline,
        burst: &Burst,
    ) -> Result<Verdict, AskError> {
        let Some(file) = self.after.file_at(path)? else {
            return Ok(Verdict::Nothing);
        };
        let Some(content) = file.state.content() else {
            return Ok(Verdict::Nothing);
        };
        if file.stat.size == ByteLen::ZERO || before.was == Some(content) {
            return Ok(Verdict::Nothing);
        }
        let mut partners = self.identical(&file, content, path)?;
        if partners.is_empty() && file.stat.size >= LEAST_SIZE {
            // First what lies in it byte for byte: that is what somebody saved or sent.
            partners = self.in_archive(content)?;
            let held: HashSet<PathBuf> = partners.iter().map(|held| held.path.clone()).collect();
            let alike = partners::alike(&self.after, path)?.into_iter();
            partners.extend(alike.filter(|other| !held.contains(&other.path)));
        }
        let mut news = Vec::new();
        for partner in partners {
            if news.len() < MOST_PARTNERS && !self.is_known(&partner, before, burst)? {
                news.push(partner);
            }
        }
        if news.is_empty() {
            return Ok(Verdict::Nothing);
        }
        if self.git_at_work(path, before) {
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
        &mut self,
        file: &FileRow,
        content: ContentId,
        path: &Path,
    ) -> Result<Vec<Partner>, ReadError> {
        let is_fresh = !self.holders.contains_key(&content);
        let mut found = self.identical_known(file, content, path)?;
        if found.is_empty() && !is_fresh {
            // All that was known of it is gone; what has come may not be known.
            self.holders.remove(&content);
            found = self.identical_known(file, content, path)?;
        }
        Ok(found)
    }

    fn identical_known(
        &mut self,
        file: &FileRow,
        content: ContentId,
        path: &Path,
    ) -> Result<Vec<Partner>, ReadError> {
        let holders = self.holders(content)?;
        let mut found = Vec::new();
        for other in holders.beside(path.file_name(), file.id) {
            if content_at(&self.after, other)? == Some(content) {
                found.push(Partner {
                    path: other.to_path_buf(),
                    relation: Relation::Identical,
                    a_in_b: Some(Score::ONE),
                    b_in_a: Some(Score::ONE),
                    shared_bytes: file.stat.size,
                });
            }
        }
        Ok(found)
    }

    /// The files that lie in an archive or a mail, byte for byte.
    fn in_archive(&mut self, content: ContentId) -> Result<Vec<Partner>, ReadError> {
        let mut held = Vec::new();
        for (member, size) in partners::members(&self.after, content)? {
            let holders = self.holders(member)?;
            let paths = holders.first.iter().take(MOST_HOLDERS);
            held.extend(paths.map(|(path, _)| Partner {
                path: path.clone(),
                relation: Relation::Contains,
                a_in_b: None,
                b_in_a: Some(Score::ONE),
                shared_bytes: size,
            }));
        }
        held.retain(|partner| !is_catalogued(&partner.path));
        held.sort_by(|a, b| a.path.cmp(&b.path));
        held.dedup_by(|a, b| a.path == b.path);
        Ok(held)
    }

    /// Where a content is; as of some seconds ago.
    fn holders(&mut self, content: ContentId) -> Result<Arc<Holders>, ReadError> {
        if let Some(known) = self.holders.get(&content) {
            return Ok(Arc::clone(known));
        }
        let mut paths = Vec::new();
        for file in self.after.files_of(content)? {
            let least = self.after.paths(file)?.into_iter().next();
            paths.extend(least.map(|path| (path, file)));
        }
        #[cfg(test)]
        {
            self.looked_up += paths.len();
        }
        let holders = Arc::new(Holders::new(paths));
        self.holders.insert(content, Arc::clone(&holders));
        Ok(holders)
    }

    /// Whether the resemblance was there before the change, or came with the change of the other.
    fn is_known(
        &self,
        partner: &Partner,
        before: &Baseline,
        burst: &Burst,
    ) -> Result<bool, ReadError> {
        let there = content_at(&self.after, &partner.path)?;
        let there_before = burst.content_before(&partner.path, there);
        let itself = before.was.is_some() && (there == before.was || there_before == before.was);
        let resembled = there_before.is_some_and(|other| before.neighbours.contains(&other));
        let together =
            burst.len() >= IN_NUMBERS && (there_before.is_none() || burst.contains(&partner.path));
        Ok(itself || resembled || together)
    }

    fn git_at_work(&mut self, path: &Path, before: &Baseline) -> bool {
        path.ancestors().skip(1).any(|dir| {
            before.had_directory(dir)
                && *self.git.entry(dir.to_path_buf()).or_insert_with(|| {
                    let git = dir.join(".git");
                    ["index", "HEAD"]
                        .iter()
                        .any(|name| is_fresh(&git.join(name)))
                })
        })
    }

    fn is_ignored(&mut self, path: &Path) -> bool {
        for dir in path.ancestors().skip(1) {
            let rules = self.ignores.entry(dir.to_path_buf());
            let rules = rules.or_insert_with(|| gitignore_of(dir));
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

/// The files that have a content, each by its least path.
#[derive(Debug)]
struct Holders {
    /// By name, then by path.
    by_name: Vec<(PathBuf, FileId)>,
    /// The first by path.
    first: Vec<(PathBuf, FileId)>,
}

impl Holders {
    fn new(mut paths: Vec<(PathBuf, FileId)>) -> Self {
        paths.sort_unstable();
        // Enough for whoever leaves out itself and as many as it has of its own name.
        let first = paths.iter().take(2 * MOST_HOLDERS + 1).cloned().collect();
        paths.sort_by(|(a, _), (b, _)| a.file_name().cmp(&b.file_name()));
        Self {
            by_name: paths,
            first,
        }
    }

    /// At most [`MOST_HOLDERS`], those of this name first, without the file itself.
    fn beside<'a>(
        &'a self,
        name: Option<&'a OsStr>,
        itself: FileId,
    ) -> impl Iterator<Item = &'a Path> {
        let of_name = self
            .by_name
            .partition_point(|(path, _)| path.file_name() < name);
        let named =
            (self.by_name[of_name..].iter()).take_while(move |(path, _)| path.file_name() == name);
        let others = (self.first.iter()).filter(move |(path, _)| path.file_name() != name);
        named
            .chain(others)
            .filter(move |(_, file)| *file != itself)
            .take(MOST_HOLDERS)
            .map(|(path, _)| path.as_path())
    }
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
    use std::time::Instant;

    use resemble_core::Params;
    use resemble_engine::ingest::{
        Cause, Ingest, IngestOptions, RootOptions, Scope, Target, Unobserved,
    };
    use resemble_index::Index;

    use super::super::baselines::Baselines;
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

        fn assess(&mut self, name: &str, before: &Snapshot, files: usize) -> Verdict {
            let after = self.scan();
            let mut burst = Burst::default();
            for n in 0..files {
                burst.add(&self.path(&format!("new/{n}")), None, Instant::now());
            }
            let before = Baselines::new(before.clone()).of(&self.path(name)).unwrap();
            Novelty::new(after).assess(&self.path(name), &before, &burst)
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
        let verdict = tree.assess("copy", &before, 1);
        assert_eq!(partners(&verdict), [tree.path("a")]);
        fs::remove_file(tree.path("copy")).unwrap();
        tree.write("near", 1, 200, "and a little more");
        let verdict = tree.assess("near", &before, 1);
        assert_eq!(partners(&verdict), [tree.path("a")]);
        tree.write("other", 2, 200, "");
        assert_eq!(tree.assess("other", &before, 1), Verdict::Nothing);
    }

    #[test]
    fn a_draft_that_is_saved_again_is_no_news() {
        let mut tree = Tree::new();
        tree.write("draft-1", 1, 200, "");
        tree.write("draft-2", 1, 200, "one");
        let before = tree.scan();
        tree.write("draft-2", 1, 200, "one and two");
        assert_eq!(tree.assess("draft-2", &before, 1), Verdict::Nothing);
    }

    #[test]
    fn a_change_that_makes_a_file_like_another_is_news() {
        let mut tree = Tree::new();
        tree.write("a", 1, 200, "");
        tree.write("b", 2, 200, "");
        let before = tree.scan();
        tree.write("b", 1, 200, "the end");
        assert_eq!(partners(&tree.assess("b", &before, 1)), [tree.path("a")]);
    }

    #[test]
    fn the_backup_that_an_editor_makes_is_no_news() {
        let mut tree = Tree::new();
        tree.write("report", 1, 200, "");
        let before = tree.scan();
        fs::rename(tree.path("report"), tree.path("report~")).unwrap();
        tree.write("report", 1, 200, "a new end");
        assert_eq!(tree.assess("report", &before, 1), Verdict::Nothing);
    }

    #[test]
    fn a_git_operation_is_quiet_and_a_copied_work_tree_is_not() {
        let mut tree = Tree::new();
        tree.write("proj/a", 1, 200, "");
        tree.write("proj/.git/index", 9, 10, "");
        let before = tree.scan();
        tree.write("proj/b", 1, 200, "of the other branch");
        tree.write("proj/.git/index", 9, 11, "");
        assert_eq!(tree.assess("proj/b", &before, 1), Verdict::Quiet);
        tree.write("copy/a", 1, 200, "");
        tree.write("copy/.git/index", 9, 10, "");
        assert_ne!(
            partners(&tree.assess("copy/a", &before, 2)),
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
        let verdict = tree.assess("p/target/a.o", &before, 1);
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
        let verdict = tree.assess("p/.hg/store/a", &before, 1);
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

    /// Whoever may write into a watched tree could otherwise have the daemon read any file of any
    /// size, and hear by what is news what stands in it.
    #[test]
    fn ignore_files_are_not_read_through_links() {
        let mut tree = Tree::new();
        tree.write("elsewhere", 7, 0, "target/\n");
        tree.write("p/a", 1, 200, "");
        std::os::unix::fs::symlink(tree.path("elsewhere"), tree.path("p/.gitignore")).unwrap();
        let before = tree.scan();
        tree.write("p/target/a.o", 1, 200, "");
        let verdict = tree.judge("p/target/a.o", &before, 1);
        let is_news = |verdict: &Verdict| {
            matches!(
                verdict,
                Verdict::Resembles {
                    only_in_tree: false,
                    ..
                }
            )
        };
        assert!(is_news(&verdict), "{verdict:?}");
        // The line that a bound cuts could be another rule.
        fs::remove_file(tree.path("p/.gitignore")).unwrap();
        tree.write("p/.gitignore", 7, 0, &"target/\n".repeat(200_000));
        let verdict = tree.judge("p/target/a.o", &before, 1);
        assert!(is_news(&verdict), "{verdict:?}");
    }

    #[test]
    fn small_files_count_in_a_tree_only() {
        let mut tree = Tree::new();
        tree.write("a", 1, 3, "");
        let before = tree.scan();
        tree.write("b", 1, 3, "");
        let verdict = tree.assess("b", &before, 1);
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
        assert_eq!(tree.assess("d", &before, 1), Verdict::Nothing);
    }

    #[test]
    fn files_that_came_together_in_numbers_are_not_compared_with_each_other() {
        let mut tree = Tree::new();
        tree.write("old", 1, 200, "");
        let before = tree.scan();
        for n in 0..25 {
            tree.write(&format!("new/{n}"), 5, 200, &format!("number {n}"));
        }
        assert_eq!(tree.assess("new/3", &before, 25), Verdict::Nothing);
        assert_ne!(tree.assess("new/3", &before, 2), Verdict::Nothing);
        tree.write("new/x", 1, 200, "like the old one");
        assert_eq!(
            partners(&tree.assess("new/x", &before, 25)),
            [tree.path("old")]
        );
    }

    /// Each copy once looked up all others: five hundred copies were 250,000 paths.
    #[test]
    fn many_copies_of_a_file_are_looked_up_once() {
        const COPIES: usize = 500;
        let mut tree = Tree::new();
        for n in 0..COPIES {
            tree.write(&format!("d{}/copy", n), 1, 60, "");
        }
        let mut novelty = Novelty::new(tree.scan());
        for n in 0..COPIES {
            let path = tree.path(&format!("d{n}/copy"));
            let verdict = novelty.assess(&path, &Baseline::default(), &Burst::default());
            assert_eq!(partners(&verdict).len(), MOST_PARTNERS);
        }
        assert_eq!(novelty.looked_up, COPIES);
    }

    #[test]
    fn a_copy_is_found_although_the_copies_known_before_are_gone() {
        let mut tree = Tree::new();
        tree.write("a", 1, 60, "");
        tree.write("b", 1, 60, "");
        let mut novelty = Novelty::new(tree.scan());
        let mut resembles = |tree: &Tree, name: &str, after: Snapshot| {
            novelty.look_at(after);
            let none = (Baseline::default(), Burst::default());
            let verdict = novelty.assess(&tree.path(name), &none.0, &none.1);
            partners(&verdict)
                .iter()
                .map(|path| path.to_path_buf())
                .collect::<Vec<_>>()
        };
        let after = tree.scan();
        assert_eq!(resembles(&tree, "b", after), [tree.path("a")]);
        tree.write("c", 1, 60, "");
        fs::remove_file(tree.path("a")).unwrap();
        let after = tree.scan();
        assert_eq!(resembles(&tree, "b", after), [tree.path("c")]);
    }
}
