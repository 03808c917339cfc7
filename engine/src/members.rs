//! The files that take part in a question.
//!
//! A question that names directories is answered from the files under them alone: they are the
//! candidates, and boilerplate is counted among them. So the daemon, whose index holds more, and
//! the command line, which reads just these, give the same answer.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use ignore::gitignore::{Gitignore, GitignoreBuilder};
use resemble_core::{ContentId, FileId};
use resemble_index::{Entry, FileState, Snapshot};
use resemble_proto::message::{Scope, SoftError, SoftErrorKind, reason};
use resemble_proto::path::PathText;

use crate::ask::AskError;

/// One file that takes part. Hard links are one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Member {
    /// Its id.
    pub file: FileId,
    /// The least of its paths in the scope, by raw bytes.
    pub path: PathBuf,
    /// What it holds.
    pub content: ContentId,
}

/// The files of a scope.
#[derive(Debug, Default)]
pub struct Members {
    /// In the order of their paths' raw bytes.
    pub files: Vec<Member>,
    /// Files in the scope that could not be read when they were looked at.
    pub errors: Vec<SoftError>,
    by_content: HashMap<ContentId, Vec<u32>>,
}

impl Members {
    /// The files of `scope`, which names at least one path.
    pub fn of(snapshot: &Snapshot, scope: &Scope) -> Result<Self, AskError> {
        let mut found: HashMap<FileId, Member> = HashMap::new();
        let mut errors: HashMap<FileId, SoftError> = HashMap::new();
        for base in &scope.within {
            let base = base.as_path();
            let rules = Rules::new(base, scope)?;
            let mut paths = Vec::new();
            snapshot.walk(base, &mut |path, entry| {
                if let Entry::File(file) = entry
                    && rules.admit(path)
                {
                    paths.push((*file, path.to_path_buf()));
                }
                std::ops::ControlFlow::Continue(())
            })?;
            for (file, path) in paths {
                if let Some(member) = found.get_mut(&file) {
                    member.path = least(std::mem::take(&mut member.path), path);
                    continue;
                }
                let Some(row) = snapshot.file(file)? else {
                    continue;
                };
                if row.stat.size.0 < scope.min_size {
                    continue;
                }
                match row.state {
                    FileState::Settled(content) | FileState::Unsettled(content) => {
                        found.insert(
                            file,
                            Member {
                                file,
                                path,
                                content,
                            },
                        );
                    }
                    FileState::Unreadable(errno) => {
                        errors
                            .entry(file)
                            .or_insert_with(|| unreadable(&path, errno));
                    }
                    FileState::Skipped(_) => {}
                }
            }
        }
        let mut files: Vec<Member> = found.into_values().collect();
        files.sort_unstable_by(|a, b| raw(&a.path).cmp(raw(&b.path)));
        let mut errors: Vec<SoftError> = errors.into_values().collect();
        errors.sort_unstable_by(|a, b| a.path.as_bytes().cmp(b.path.as_bytes()));
        let mut by_content: HashMap<ContentId, Vec<u32>> = HashMap::new();
        for (at, member) in files.iter().enumerate() {
            by_content
                .entry(member.content)
                .or_default()
                .push(at as u32);
        }
        Ok(Self {
            files,
            errors,
            by_content,
        })
    }

    /// Whether a file of the scope holds this content.
    pub fn has(&self, content: ContentId) -> bool {
        self.by_content.contains_key(&content)
    }

    /// The files of the scope that hold this content, in path order.
    pub fn holders(&self, content: ContentId) -> impl Iterator<Item = &Member> {
        let places = self.by_content.get(&content).map_or(&[][..], Vec::as_slice);
        places.iter().map(|&at| &self.files[at as usize])
    }

    /// The distinct contents, ascending.
    pub fn contents(&self) -> Vec<ContentId> {
        let mut contents: Vec<_> = self.by_content.keys().copied().collect();
        contents.sort_unstable();
        contents
    }
}

fn raw(path: &Path) -> &[u8] {
    path.as_os_str().as_encoded_bytes()
}

fn least(a: PathBuf, b: PathBuf) -> PathBuf {
    if raw(&b) < raw(&a) { b } else { a }
}

fn unreadable(path: &Path, errno: i32) -> SoftError {
    SoftError {
        path: PathText::from(path),
        kind: SoftErrorKind::Unreadable,
        message: reason(&std::io::Error::from_raw_os_error(errno)),
    }
}

/// The patterns of a scope below one of its paths.
#[derive(Debug)]
struct Rules {
    base: PathBuf,
    include: Option<Gitignore>,
    exclude: Option<Gitignore>,
}

impl Rules {
    fn new(base: &Path, scope: &Scope) -> Result<Self, AskError> {
        Ok(Self {
            base: base.to_owned(),
            include: patterns(base, &scope.include)?,
            exclude: patterns(base, &scope.exclude)?,
        })
    }

    fn admit(&self, path: &Path) -> bool {
        // A scope may name the file itself: then its name is what patterns see.
        let below = match path.strip_prefix(&self.base) {
            Ok(below) if !below.as_os_str().is_empty() => below,
            _ => Path::new(path.file_name().unwrap_or_default()),
        };
        let names = |set: &Gitignore| set.matched_path_or_any_parents(below, false).is_ignore();
        self.include.as_ref().is_none_or(names) && !self.exclude.as_ref().is_some_and(names)
    }
}

fn patterns(base: &Path, globs: &[String]) -> Result<Option<Gitignore>, AskError> {
    if globs.is_empty() {
        return Ok(None);
    }
    let mut builder = GitignoreBuilder::new(base);
    let fail = |pattern: &str, e: &ignore::Error| AskError::Pattern {
        pattern: pattern.to_owned(),
        reason: e.to_string(),
    };
    for glob in globs {
        builder.add_line(None, glob).map_err(|e| fail(glob, &e))?;
    }
    builder
        .build()
        .map(Some)
        .map_err(|e| fail(&globs.join(", "), &e))
}
