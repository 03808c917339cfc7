//! Finds the gaps of an answer: names that could not be checked, and names that a root leaves out.
//!
//! The index stores both kinds by their paths ([`resemble_index::Gap`]). So the daemon and the
//! command find the same gaps for every question: the gaps at or below the requested places. A
//! pattern of `--exclude` removes gaps. A pattern of `--include` removes none, because the contents
//! of a directory in a gap are unknown.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use resemble_index::{DirGaps, Entry, Gap, LeftOutRule, Snapshot};
use resemble_proto::catalogued;
use resemble_proto::message::{LeftOut, LeftOutWord, Scope, SoftError};
use resemble_proto::path::PathText;

use crate::AskError;
use crate::scope::Rules;

/// The places that a question is about.
#[derive(Clone, Debug, Default)]
pub struct AskedPlaces {
    bases: Vec<PathBuf>,
    exclude: Vec<String>,
}

impl AskedPlaces {
    /// Returns the places at and below `paths`, except those that match a pattern of `exclude`.
    pub fn new<'a>(paths: impl IntoIterator<Item = &'a PathText>, exclude: &[String]) -> Self {
        let bases = paths.into_iter().map(|path| path.as_path().to_owned());
        Self {
            bases: bases.collect(),
            exclude: exclude.to_vec(),
        }
    }

    /// Returns the places within a scope.
    pub fn within(scope: &Scope) -> Self {
        Self::new(&scope.within, &scope.exclude)
    }

    /// Returns these places, or the roots if there are no places.
    #[must_use]
    pub fn or_roots(mut self, roots: &[PathBuf]) -> Self {
        if self.bases.is_empty() {
            self.bases = roots.to_vec();
        }
        self
    }

    /// Returns whether no place lies in a gap. Only then can the index know all of the places.
    ///
    /// # Errors
    ///
    /// If the index cannot be read.
    pub fn are_known(&self, snapshot: &Snapshot) -> Result<bool, AskError> {
        for base in &self.bases {
            if snapshot.is_in_gap(base)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns an error for each name in these places that could not be checked, sorted by path.
    ///
    /// # Errors
    ///
    /// If the index cannot be read, or a pattern is invalid.
    pub fn errors(&self, snapshot: &Snapshot) -> Result<Vec<SoftError>, AskError> {
        let mut errors = Vec::new();
        for unlisted in snapshot.unlisted_within(&self.bases)? {
            errors.push(soft_error(&unlisted.path, unlisted.errno));
        }
        for DirGaps { dir, counts } in snapshot.gaps_within(&self.bases)? {
            if counts.failed == 0 {
                continue;
            }
            for (path, gap) in snapshot.gaps_of(&dir)? {
                if let Gap::Failed(errno) = gap {
                    errors.push(soft_error(&path, errno));
                }
            }
        }
        self.drop_excluded(&mut errors)?;
        errors.sort();
        Ok(errors)
    }

    /// Drops the errors of names in these places that match an exclude pattern.
    ///
    /// # Errors
    ///
    /// If a pattern is invalid.
    pub fn drop_excluded(&self, errors: &mut Vec<SoftError>) -> Result<(), AskError> {
        let rules = self.rules()?;
        errors.retain(|error| {
            let path = error.path.as_path();
            let is_within = rules.iter().any(|rules| path.starts_with(rules.base()));
            !is_within || admit(&rules, path)
        });
        Ok(())
    }

    /// Counts the names in these places that the roots leave out, for each root and rule.
    ///
    /// # Errors
    ///
    /// If the index cannot be read, or a pattern is invalid.
    pub fn left_out(
        &self,
        snapshot: &Snapshot,
        roots: &[PathBuf],
    ) -> Result<Vec<LeftOut>, AskError> {
        let rules = self.rules()?;
        let mut found = BTreeMap::<(&Path, LeftOutWord), u64>::new();
        for DirGaps { dir, counts } in snapshot.gaps_within(&self.bases)? {
            let above = roots.iter().filter(|root| dir.starts_with(root));
            let Some(root) = above.max_by_key(|root| root.as_os_str().len()) else {
                continue;
            };
            let mut add = |rule: LeftOutRule, count: u64| {
                if count > 0 {
                    *found.entry((root, word(rule))).or_default() += count;
                }
            };
            if self.exclude.is_empty() {
                for (rule, count) in LeftOutRule::ALL.into_iter().zip(counts.left_out) {
                    add(rule, count);
                }
                continue;
            }
            for (path, gap) in snapshot.gaps_of(&dir)? {
                if let Gap::LeftOut(rule) = gap
                    && admit(&rules, &path)
                {
                    add(rule, 1);
                }
            }
        }
        let rows = found.into_iter().map(|((root, rule), entries)| LeftOut {
            root: catalogued::shown(root).map_or_else(|| root.into(), PathText::from),
            rule,
            entries,
        });
        Ok(rows.collect())
    }

    fn rules(&self) -> Result<Vec<Rules>, AskError> {
        let scope = Scope {
            exclude: self.exclude.clone(),
            ..Scope::default()
        };
        let rules = self.bases.iter().map(|base| Rules::new(base, &scope));
        rules.collect()
    }
}

/// Returns whether the index stores errors of this path, so that answers report them.
pub fn is_kept(snapshot: &Snapshot, path: &Path) -> bool {
    match snapshot.entry(path) {
        Ok(Some(Entry::File(_) | Entry::Gap(_))) => true,
        Ok(Some(Entry::Dir(dir))) => matches!(snapshot.unlisted(dir), Ok(Some(_))),
        _ => false,
    }
}

/// Returns whether the rules admit a name, which may be a file or a directory. A pattern for a
/// directory also matches the names in the directory.
fn admit(rules: &[Rules], path: &Path) -> bool {
    rules.iter().any(|rules| {
        rules.base() == path
            || path.starts_with(rules.base())
                && rules.admit(path)
                && rules.admit(&path.join("name"))
    })
}

/// Returns the error of a directory that could not be listed, or of a name that could not be
/// checked.
fn soft_error(path: &Path, errno: i32) -> SoftError {
    SoftError::of_io(path.into(), &io::Error::from_raw_os_error(errno))
}

const fn word(rule: LeftOutRule) -> LeftOutWord {
    match rule {
        LeftOutRule::Exclude => LeftOutWord::Exclude,
        LeftOutRule::Ignore => LeftOutWord::Ignore,
        LeftOutRule::MaxSize => LeftOutWord::MaxSize,
        LeftOutRule::OneFileSystem => LeftOutWord::OneFileSystem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pattern drops errors only within the places that the question is about.
    #[test]
    fn patterns_take_errors_away_within_what_was_asked_about() {
        let sides = ["/a", "/b"].map(|side| PathText::from(Path::new(side)));
        let places = AskedPlaces::new(&sides, &["*.tmp".to_owned(), "left/".to_owned()]);
        let paths = [
            "/a/x.tmp",
            "/a/kept",
            "/b/left",
            "/b/left/y",
            "/c/x.tmp",
            "/a",
        ];
        let mut errors = paths.map(|path| soft_error(Path::new(path), 2)).to_vec();
        places.drop_excluded(&mut errors).expect("patterns");
        let left: Vec<_> = errors.iter().map(|error| error.path.as_path()).collect();
        assert_eq!(left, ["/a/kept", "/c/x.tmp", "/a"].map(Path::new));
    }
}
