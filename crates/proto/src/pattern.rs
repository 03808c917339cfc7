//! Interprets the patterns of `--include` and `--exclude`.
//!
//! The patterns have the syntax of ignore files: `vendor/` matches at any depth, `/vendor` only at
//! the top, and `*.c` by the name. Braces are alternatives: `{x,y}` matches `x` and `y`. Two rules
//! are stricter than in ignore files, because the user who gave the pattern waits for the answer.
//! First, an invalid pattern is refused. In an ignore file, `[a` would be a name with a bracket in
//! it. Second, a pattern that can match no file (an empty one, or a comment) is refused. An ignore
//! file skips such a line. If these patterns were accepted, they would match nothing, and the user
//! would not notice.

use std::path::Path;

use ignore::gitignore::{Gitignore, GitignoreBuilder};

/// Selects the names that take part in a question.
#[derive(Clone, Debug, Default)]
pub struct Patterns {
    include: Option<Gitignore>,
    exclude: Option<Gitignore>,
}

/// A pattern that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern {pattern:?} cannot be understood: {reason}")]
pub struct BadPattern {
    /// The pattern as the user wrote it.
    pub pattern: String,
    /// The error, and how to fix it.
    pub reason: String,
}

impl Patterns {
    /// Compiles the globs of `--include` and `--exclude`. Without a glob of `--include`, all names
    /// take part.
    ///
    /// # Errors
    ///
    /// Fails with the first glob that is not valid.
    pub fn new(include: &[String], exclude: &[String]) -> Result<Self, BadPattern> {
        Ok(Self {
            include: set(include)?,
            exclude: set(exclude)?,
        })
    }

    /// Returns whether a file takes part in a question. `below` is the path of the file below the
    /// requested root or directory.
    pub fn admit(&self, below: &Path) -> bool {
        self.admit_entry(below, false)
    }

    /// Does the same as [`Self::admit`] for a folder. Patterns such as `old/` match a folder, too.
    pub fn admit_folder(&self, below: &Path) -> bool {
        self.admit_entry(below, true)
    }

    fn admit_entry(&self, below: &Path, is_folder: bool) -> bool {
        let paths = || {
            let above = below.ancestors().skip(1).map(|folder| (folder, true));
            let paths = std::iter::once((below, is_folder)).chain(above);
            // The root itself has no name here. `*/` would match the root, and thus every file
            // below it.
            paths.filter(|(path, _)| *path != Path::new(""))
        };
        let names = |set: &Gitignore| {
            let mut matches = paths().map(|(path, is_folder)| set.matched(path, is_folder));
            matches
                .find(|matched| !matched.is_none())
                .is_some_and(|matched| matched.is_ignore())
        };
        self.include.as_ref().is_none_or(names) && !self.exclude.as_ref().is_some_and(names)
    }

    /// Returns whether there are no patterns, so that all files take part.
    pub const fn is_empty(&self) -> bool {
        self.include.is_none() && self.exclude.is_none()
    }

    /// Returns whether only names that match a glob of `--include` take part.
    pub const fn includes_some(&self) -> bool {
        self.include.is_some()
    }
}

/// Checks a single pattern, so that an error is reported before the question is asked.
///
/// # Errors
///
/// Fails with the reason why the pattern is not valid.
pub fn check(pattern: &str) -> Result<(), BadPattern> {
    set(std::slice::from_ref(&pattern.to_owned())).map(drop)
}

fn set(globs: &[String]) -> Result<Option<Gitignore>, BadPattern> {
    if globs.is_empty() {
        return Ok(None);
    }
    let mut builder = GitignoreBuilder::new("");
    builder.allow_unclosed_class(false);
    for glob in globs {
        let bad = |reason: String| BadPattern {
            pattern: glob.clone(),
            reason,
        };
        if glob.trim().is_empty() {
            return Err(bad("it is empty".to_owned()));
        }
        if glob.starts_with('#') {
            return Err(bad(
                r"it is a comment; write \# for a name with #".to_owned()
            ));
        }
        builder
            .add_line(None, glob)
            .map_err(|error| bad(reason(error)))?;
    }
    let built = builder.build().map_err(|error| BadPattern {
        pattern: globs.join(", "),
        reason: reason(error),
    })?;
    Ok(Some(built))
}

/// Returns the message of an error without the pattern. Adds how to write a special character.
fn reason(error: ignore::Error) -> String {
    let wrong = match error {
        ignore::Error::Glob { err, .. } => err,
        other => other.to_string(),
    };
    format!(r"{wrong} (a \ before a character takes it literally)")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admits(include: &[&str], exclude: &[&str], below: &str) -> bool {
        let own = |globs: &[&str]| -> Vec<String> { globs.iter().map(|&g| g.into()).collect() };
        let patterns = Patterns::new(&own(include), &own(exclude)).unwrap();
        patterns.admit(Path::new(below))
    }

    #[test]
    fn names_match_as_in_ignore_files() {
        assert!(admits(&[], &[], "a"));
        assert!(admits(&["*.txt"], &["old"], "new/a.txt"));
        assert!(!admits(&["*.txt"], &["old"], "old/a.txt"));
        assert!(!admits(&["*.txt"], &[], "a.c"));
        assert!(admits(&["/a"], &[], "a") && !admits(&["/a"], &[], "b/a"));
        assert!(!admits(&[], &["*",], "a") && admits(&[], &["*", "!a"], "a"));
        assert!(admits(&["{x,y}"], &[], "x") && admits(&[r"\{x\}"], &[], "{x}"));
        assert!(admits(&[r"\[a"], &[], "[a") && admits(&[r"\#a"], &[], "#a"));
    }

    #[test]
    fn a_pattern_with_a_slash_at_its_end_is_for_folders() {
        let patterns = Patterns::new(&[], &["old/".to_owned()]).unwrap();
        let old = Path::new("new/old");
        assert!(patterns.admit(old) && !patterns.admit(&old.join("a")));
        assert!(!patterns.admit_folder(old) && patterns.admit_folder(Path::new("new")));
        for every in ["*/", "**/"] {
            assert!(admits(&[], &[every], "a") && !admits(&[], &[every], "new/a"));
            assert!(!admits(&[every], &[], "a") && admits(&[every], &[], "new/a"));
        }
    }

    #[test]
    fn what_is_no_pattern_is_refused() {
        for (pattern, expected) in [
            ("[a", "unclosed character class"),
            ("a[", "unclosed character class"),
            ("{a", "unclosed alternate group"),
            ("[b-a]", "invalid range"),
            ("", "it is empty"),
            (" ", "it is empty"),
            ("# a", r"write \#"),
        ] {
            let good = "*.txt".to_owned();
            let error = Patterns::new(&[good], &[pattern.to_owned()]).unwrap_err();
            assert_eq!(error.pattern, pattern);
            assert!(error.reason.contains(expected), "{pattern}: {error}");
            assert_eq!(check(pattern), Err(error));
        }
        assert_eq!(check("[ab]*.txt"), Ok(()));
    }
}
