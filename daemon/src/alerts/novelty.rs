//! Decides whether a changed file resembles another file, and whether that is news.
//!
//! News is an effect of the *change*. So the files that the changed file resembles now are compared
//! with the earlier neighbours of that file. A [`Baseline`] has the earlier neighbours. The
//! following raises no alert by itself:
//!
//! 1. **Earlier resemblance.** A draft that is saved still resembles its older versions.
//! 2. **Its own earlier content.** After a save by renames, another name has exactly the content
//!    that the file had before. An editor may also make a backup (`report.txt~`) by a copy or a
//!    link. So the resemblance between a file and its backup is no news. The resemblance between a
//!    backup and another file is news only in a copied tree.
//! 3. **A git operation.** If `.git/index` or `.git/HEAD` of the surrounding work tree was written
//!    just now, git may have changed the files. (A copied work tree has a fresh `.git/index`, too.
//!    So this applies only to a work tree that existed before the change.)
//! 4. **Builds and version control.** Files that a `.gitignore` names, and files in `.git` or
//!    similar folders, are news only as a part of a copied tree.
//! 5. **A large burst.** An unpacked archive is full of files that resemble each other. If many
//!    files arrive at once, only resemblance to files that did not change with them is news.
//! 6. **Unpacking.** It is no news that an unpacked file is also in its archive. But it is news
//!    that a mail or an archive holds a file of the tree.
//! 7. **Acknowledged pairs** ([`crate::acks`]). A mark is about two contents, so it says nothing
//!    about a changed content. But by rule 1, an edit of one marked file raises no alert about the
//!    other.
//! 8. **Small files** (under 1 KiB, or the size that the root sets). They are news only as
//!    identical files of a copied tree.
//!
//! A document is judged by its text. While the text is unknown ([`Verdict::NotYet`]), only an
//! identical copy is news.
//!
//! The work for a file does not grow with the number of its copies. The files that have a content
//! are looked up once for all copies. Each copy is compared with only a few of these files.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use ignore::gitignore::Gitignore;
use resemble_core::{ByteLen, ContentId, FileId, Relation, Score};
use resemble_index::{FileRow, ReadError, Snapshot};
use resemble_relate::AskError;
use resemble_scan::ingest::{WaitingDocuments, gitignore_of, match_at_or_above};
use resemble_scan::parts::PartReader;

use super::baselines::{Baseline, Burst};
use super::batching::Verdict;
use super::partners::{self, Partner, content_at};
use super::rules::Rules;
use crate::acks::Acks;

/// The maximum number of partners of a file that are reported.
const MOST_PARTNERS: usize = 16;
/// The maximum number of files with the same content that are checked for each changed file.
const MOST_HOLDERS: usize = 64;
/// If at least this many files change in a burst, resemblance among them is no news.
const IN_NUMBERS: usize = 20;
/// A change within this time after a write of `.git/index` or `.git/HEAD` counts as a git
/// operation.
const GIT_FRESH: Duration = Duration::from_secs(15);

/// Decides which resemblances are news, and caches its look-ups. This value is replaced every few
/// seconds, so the cached facts do not get old.
#[derive(Debug)]
pub struct Novelty {
    after: Snapshot,
    rules: Rules,
    acks: Arc<Acks>,
    /// Extracts the texts of documents again, so that the shares of changed files are measured.
    part_reader: Option<Arc<dyn PartReader>>,
    documents: Option<WaitingDocuments>,
    /// The files that have each content. All copies with the same content use one list.
    holders: HashMap<ContentId, Arc<Holders>>,
    /// The parsed `.gitignore` of each directory; `None` if it has none.
    ignores: HashMap<PathBuf, Option<Gitignore>>,
    /// For each directory, whether git wrote its `.git` a moment ago.
    git: HashMap<PathBuf, bool>,
    /// The number of paths that were looked up to fill `holders`.
    #[cfg(test)]
    looked_up: usize,
    /// The number of files that [`Self::identical`] has checked.
    #[cfg(test)]
    compared: usize,
}

impl Novelty {
    /// Creates a value that compares changed files with the files in this snapshot.
    pub fn new(after: Snapshot) -> Self {
        Self {
            after,
            rules: Rules::default(),
            acks: Arc::default(),
            part_reader: None,
            documents: None,
            holders: HashMap::new(),
            ignores: HashMap::new(),
            git: HashMap::new(),
            #[cfg(test)]
            looked_up: 0,
            #[cfg(test)]
            compared: 0,
        }
    }

    /// Sets the alert rules of the roots.
    #[must_use]
    pub fn with_rules(self, rules: Rules) -> Self {
        Self { rules, ..self }
    }

    /// Sets the acknowledged pairs, which are no news.
    #[must_use]
    pub fn with_acks(self, acks: Arc<Acks>) -> Self {
        Self { acks, ..self }
    }

    /// Compares documents by their texts, which `part_reader` extracts.
    #[must_use]
    pub fn with_part_reader(self, part_reader: Option<Arc<dyn PartReader>>) -> Self {
        Self {
            part_reader,
            ..self
        }
    }

    /// Sets the documents whose texts are not extracted yet. Their verdict is [`Verdict::NotYet`],
    /// except for small files and identical copies.
    #[must_use]
    pub fn with_documents(self, documents: Option<WaitingDocuments>) -> Self {
        Self { documents, ..self }
    }

    /// Continues with a newer snapshot.
    pub fn look_at(&mut self, after: Snapshot) {
        self.after = after;
    }

    /// Decides which resemblances of one file are news. `before` is the state of the file before
    /// the change. `burst` has the files that changed in the same burst, including this file.
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
        let least_size = self.rules.least_size(path);
        let mut partners = self.identical(&file, content, path)?;
        if partners.is_empty() && file.stat.size >= least_size {
            if (self.documents.as_ref()).is_some_and(|documents| documents.has(content)) {
                return Ok(Verdict::NotYet(content));
            }
            // Files of the tree that are members of this archive are listed before files that only
            // resemble it.
            partners = self.in_archive(content)?;
            let held: HashSet<PathBuf> = partners.iter().map(|held| held.path.clone()).collect();
            let least = self.rules.least_share(path);
            let alike = partners::alike(&self.after, path, self.part_reader.as_ref(), least)?;
            let alike = alike.into_iter();
            partners.extend(alike.filter(|other| !held.contains(&other.path)));
        }
        let mut news = Vec::new();
        for partner in partners {
            if news.len() < MOST_PARTNERS
                && !is_backup(&partner.path, path)
                && !is_backup(path, &partner.path)
                && !self.is_known(&partner, before, burst)?
                && !self.is_seen(content, &partner)?
            {
                news.push(partner);
            }
        }
        if news.is_empty() {
            return Ok(Verdict::Nothing);
        }
        if self.is_git_at_work(path, before) {
            return Ok(Verdict::Quiet);
        }
        let only_in_tree = file.stat.size < least_size
            || is_in_repository_files(path)
            || self.is_ignored(path)
            || self.has_original(path)?;
        Ok(Verdict::Resembles {
            partners: news,
            only_in_tree,
        })
    }

    /// Returns other files with the same content. Files with the same name are first, because they
    /// are the counterparts in a copied tree.
    fn identical(
        &mut self,
        file: &FileRow,
        content: ContentId,
        path: &Path,
    ) -> Result<Vec<Partner>, ReadError> {
        let is_fresh = !self.holders.contains_key(&content);
        let mut found = self.identical_known(file, content, path)?;
        if found.is_empty() && !is_fresh {
            // No other file in the cached list has the content now. A newer file may have it, so
            // the list is read again.
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
        for other in holders.others(path.file_name(), file.id) {
            #[cfg(test)]
            {
                self.compared += 1;
            }
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

    /// Returns the files of the tree that are also members of this archive or mail, byte for byte.
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
        held.sort_by(|a, b| a.path.cmp(&b.path));
        held.dedup_by(|a, b| a.path == b.path);
        Ok(held)
    }

    /// Returns the files that have a content; the list may be some seconds old.
    fn holders(&mut self, content: ContentId) -> Result<Arc<Holders>, ReadError> {
        if let Some(known) = self.holders.get(&content) {
            return Ok(Arc::clone(known));
        }
        let paths = partners::holders(&self.after, content)?;
        #[cfg(test)]
        {
            self.looked_up += paths.len();
        }
        let holders = Arc::new(Holders::new(paths));
        self.holders.insert(content, Arc::clone(&holders));
        Ok(holders)
    }

    /// Returns whether a resemblance is no news. It is no news if it existed before the change, or
    /// if both files arrived in a large burst. A partner that has the earlier content of the file
    /// is no news, either.
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

    /// Returns whether a person has acknowledged the two contents together.
    fn is_seen(&self, content: ContentId, partner: &Partner) -> Result<bool, ReadError> {
        if *self.acks == Acks::default() {
            return Ok(false);
        }
        let Some(other) = content_at(&self.after, &partner.path)? else {
            return Ok(false);
        };
        let digest = |content| -> Result<_, ReadError> {
            let row = self.after.content(content)?;
            Ok(row.map(|row| row.digest))
        };
        let both = digest(content)?.zip(digest(other)?);
        Ok(both.is_some_and(|(a, b)| self.acks.is_seen(a, b)))
    }

    /// Returns whether the path has the name of a backup, and the original of that backup exists.
    fn has_original(&self, path: &Path) -> Result<bool, ReadError> {
        for name in originals(path) {
            let original = path.with_file_name(OsStr::from_bytes(name));
            if content_at(&self.after, &original)?.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_git_at_work(&mut self, path: &Path, before: &Baseline) -> bool {
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
                let found = match_at_or_above(rules, path, false);
                if found.is_ignore() || found.is_whitelist() {
                    return found.is_ignore();
                }
            }
        }
        false
    }
}

/// The files that have one content. If a file has several paths, only the one that sorts first is
/// listed.
#[derive(Debug)]
struct Holders {
    /// All files, sorted by file name and then by path.
    by_name: Vec<(PathBuf, FileId)>,
    /// The first `2 * MOST_HOLDERS + 1` files, sorted by path.
    first: Vec<(PathBuf, FileId)>,
}

impl Holders {
    fn new(mut paths: Vec<(PathBuf, FileId)>) -> Self {
        paths.sort_unstable();
        // [`Self::others`] returns files with a given name first. If these are fewer than
        // `MOST_HOLDERS`, it adds files of `first`, but none with that name, and not `itself`. So
        // `2 * MOST_HOLDERS + 1` files suffice.
        let first = paths.iter().take(2 * MOST_HOLDERS + 1).cloned().collect();
        paths.sort_by(|(a, _), (b, _)| a.file_name().cmp(&b.file_name()));
        Self {
            by_name: paths,
            first,
        }
    }

    /// Returns at most [`MOST_HOLDERS`] files except `itself`. Files with this name are first.
    fn others<'a>(
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

/// Returns whether an editor gives the name `path` to a backup of the file `original`.
fn is_backup(path: &Path, original: &Path) -> bool {
    path.parent() == original.parent()
        && originals(path).any(|name| Some(OsStr::from_bytes(name)) == original.file_name())
}

/// Returns the names of the files of which `path` may be an editor's backup, swap file or file of
/// unsaved changes. Returns no names if `path` is not named like such a file.
fn originals(path: &Path) -> impl Iterator<Item = &[u8]> {
    let name = path.file_name().unwrap_or_default().as_bytes();
    // `x~` and `x.~1~`
    let tilde = name.strip_suffix(b"~");
    let numbered = tilde.and_then(|rest| {
        let at = rest.windows(2).rposition(|pair| pair == b".~")?;
        rest[at + 2..]
            .iter()
            .all(u8::is_ascii_digit)
            .then_some(&rest[..at])
    });
    let marked = [".bak", ".orig"].map(|end| name.strip_suffix(end.as_bytes()));
    let unsaved = name
        .strip_prefix(b"#")
        .and_then(|rest| rest.strip_suffix(b"#"));
    // `.x.swp`; the swap file of `.x` has the same name. Further swap files end in `.swo`, `.swn` …
    let swap = match name {
        [b'.', .., b'.', b's', b'w', b'a'..=b'z'] => Some(&name[..name.len() - 4]),
        _ => None,
    };
    let visible = swap.map(|swap| &swap[1..]);
    let all = [tilde, numbered, unsaved, swap, visible]
        .into_iter()
        .chain(marked);
    all.flatten().filter(|name| !name.is_empty())
}

/// Returns whether the path is in the private folder of a version control system.
fn is_in_repository_files(path: &Path) -> bool {
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
mod tests;
