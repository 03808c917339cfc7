//! Selects the file that stays in a set of equal files or among near copies.

use std::cmp::{Ordering, Reverse};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use resemble_proto::pattern::Patterns;

use super::{FileState, Means, Time, dir_after};

/// The rules as help texts and error messages list them.
pub const RULES: &str =
    "newest, oldest, shortest, longest, in:DIR, not-in:DIR, name:GLOB, not-name:GLOB, most-links";

/// A rule that prefers some files of a set over others.
#[derive(Clone, Debug)]
pub struct KeepRule {
    /// The rule as the user gave it, for the script. Bytes that are not UTF-8 are replaced.
    text: String,
    test: RuleTest,
}

#[derive(Clone, Debug)]
enum RuleTest {
    Newest,
    Oldest,
    Shortest,
    Longest,
    MostLinks,
    In(PathBuf, bool),
    Name(Patterns, bool),
}

impl KeepRule {
    /// Parses a rule.
    ///
    /// # Errors
    ///
    /// Fails if there is no such rule, or if a pattern is not UTF-8.
    pub fn of_text(given: &OsStr) -> Result<Self, String> {
        let dir = |name| dir_after(given, name);
        let of_dir = dir("in:").map(|dir| RuleTest::In(dir, true));
        let of_dir = of_dir.or_else(|| dir("not-in:").map(|dir| RuleTest::In(dir, false)));
        if let Some(test) = of_dir {
            let text = given.to_string_lossy().into_owned();
            return Ok(Self { text, test });
        }
        let text = given
            .to_str()
            .ok_or("only a directory may have a name that is not UTF-8")?;
        let glob = |glob: &str| {
            // A pattern with a slash would match paths, but the rule is about names.
            let has_slash = glob.contains('/');
            Some(glob)
                .filter(|glob| !glob.is_empty() && !has_slash)
                .and_then(|glob| Patterns::new(&[glob.to_owned()], &[]).ok())
        };
        let test = match text.split_once(':') {
            None if text == "newest" => Some(RuleTest::Newest),
            None if text == "oldest" => Some(RuleTest::Oldest),
            None if text == "shortest" => Some(RuleTest::Shortest),
            None if text == "longest" => Some(RuleTest::Longest),
            None if text == "most-links" => Some(RuleTest::MostLinks),
            Some(("name", name)) => glob(name).map(|glob| RuleTest::Name(glob, true)),
            Some(("not-name", name)) => glob(name).map(|glob| RuleTest::Name(glob, false)),
            _ => None,
        };
        let text = text.to_owned();
        match test {
            Some(test) => Ok(Self { text, test }),
            None => Err(format!("the rules are {RULES}")),
        }
    }

    /// Returns the rule as given.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the directory of the rule, if it names one.
    pub fn dir(&self) -> Option<&Path> {
        match &self.test {
            RuleTest::In(dir, _) => Some(dir),
            _ => None,
        }
    }

    /// Returns the same rule, but with the real path of its directory.
    #[must_use]
    pub fn with_dir(mut self, real: PathBuf) -> Self {
        if let RuleTest::In(dir, _) = &mut self.test {
            *dir = real;
        }
        self
    }

    /// Returns whether the rule compares dates.
    pub(super) const fn is_of_dates(&self) -> bool {
        matches!(self.test, RuleTest::Newest | RuleTest::Oldest)
    }

    /// Compares two files. The file that the rule prefers is the lesser one. A file without a date
    /// is neither the newest nor the oldest.
    fn compare(&self, a: &FileState, b: &FileState, latest: i64) -> Ordering {
        let date = |file| date(file, latest);
        let length = |file: &FileState| file.path.as_os_str().len();
        let prefer = |holds: &dyn Fn(&FileState) -> bool| holds(b).cmp(&holds(a));
        match &self.test {
            RuleTest::Newest => date(b).cmp(&date(a)),
            RuleTest::Oldest => date(a).map(Reverse).cmp(&date(b).map(Reverse)).reverse(),
            RuleTest::Shortest => length(a).cmp(&length(b)),
            RuleTest::Longest => length(b).cmp(&length(a)),
            RuleTest::MostLinks => b.links.cmp(&a.links),
            RuleTest::In(dir, yes) => prefer(&|file| file.path.starts_with(dir) == *yes),
            RuleTest::Name(glob, yes) => prefer(&|file| {
                let name = file.path.file_name().map(Path::new);
                name.is_some_and(|name| glob.admit(name)) == *yes
            }),
        }
    }
}

/// Returns the date by which `newest` and `oldest` compare; `None` if it is in the future. If all
/// compared documents state a date, it is the stated date. Otherwise it is the time of the file.
fn date(file: &FileState, latest: i64) -> Option<Time> {
    let date = match file.stated {
        Some(seconds) => Time { seconds, nanos: 0 },
        None => file.mtime,
    };
    Some(date).filter(|date| date.seconds <= latest)
}

/// Sorts the files of a set. The first file stays. If the rules do not decide, the first file is
/// the one with the most hard links. Among files with equally many links, the oldest is first.
/// Among equally old files, the one whose path sorts first is first.
pub(super) fn sort(files: &mut [FileState], means: &Means<'_>) {
    files.sort_by(|a, b| by_rules(a, b, means).then_with(|| usual(a, b)));
}

/// Compares two near copies. The lesser copy stays. If the rules do not decide and all documents
/// state a date, the newest stays. If that does not decide, the largest stays, because no smaller
/// file can contain it.
pub(super) fn compare_near(a: &FileState, b: &FileState, means: &Means<'_>) -> Ordering {
    by_rules(a, b, means)
        .then_with(|| b.stated.cmp(&a.stated))
        .then_with(|| b.size.cmp(&a.size))
        .then_with(|| usual(a, b))
}

fn by_rules(a: &FileState, b: &FileState, means: &Means<'_>) -> Ordering {
    let rules = means.rules.iter();
    let by_rules = rules.map(|rule| rule.compare(a, b, means.latest));
    by_rules.fold(Ordering::Equal, Ordering::then)
}

fn usual(a: &FileState, b: &FileState) -> Ordering {
    let rank = |file: &FileState| (Reverse(file.links), file.mtime);
    rank(a).cmp(&rank(b)).then_with(|| a.bytes().cmp(b.bytes()))
}
