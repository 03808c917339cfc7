//! The names on the command line, and the files that they lead to.
//!
//! Questions carry real paths: absolute, without symbolic links. Answers are printed as the
//! arguments lead to them: `pairs old new` prints `old/x` and `new/x`, wherever the directories
//! are. [`Named`] keeps both sides of that translation.
//!
//! A catalogue can be named where a directory is expected, and a file in it is named with a colon.
//! Its paths have a form that no real path has (`resemble_proto::catalogued`), so the two cannot be
//! confused later.

use std::collections::HashSet;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use resemble_catalogue as catalogue;
use resemble_proto::catalogued;
use resemble_proto::message::{SoftError, reason};
use resemble_proto::path::PathText;
use resemble_query::renditions::{self, INTO};
use resemble_report::quote::quoted;

use crate::error::{CliError, CliResult};

/// A path as it was given and as it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// As given.
    pub shown: PathBuf,
    /// Absolute, without symbolic links.
    pub real: PathBuf,
}

impl Named {
    /// Whether it is a directory. A path in a catalogue counts as one: what it leads to is known
    /// only when the catalogue is asked.
    pub fn is_dir(&self) -> bool {
        self.is_catalogued() || self.real.is_dir()
    }

    /// Whether it is a path in a catalogue.
    pub fn is_catalogued(&self) -> bool {
        catalogued::is_catalogued(&self.real)
    }

    /// Finds what a name leads to: a file or a directory, the tree of a catalogue or, with a colon,
    /// a path in that tree: `disk.cat:/letters`, `disk:/letters`.
    fn of(shown: &Path) -> io::Result<Self> {
        let named = |shown: PathBuf, real| Self { shown, real };
        match fs::canonicalize(shown) {
            Ok(real) if catalogue::is_catalogue(&real) => {
                Ok(named(with_colon(shown), catalogued::of_file(&real)))
            }
            Ok(real) => Ok(named(shown.to_owned(), real)),
            Err(error) => {
                let stays = |below: &Path| !below.components().any(|c| c == Component::ParentDir);
                let split = catalogued::split_shown(shown).filter(|(_, below)| stays(below));
                let Some((name, below)) = split else {
                    return Err(error);
                };
                let real = match fs::canonicalize(name) {
                    Ok(file) if catalogue::is_catalogue(&file) => catalogued::of_file(&file),
                    _ => {
                        let label = name.to_str().filter(|label| catalogued::is_label(label));
                        catalogued::of_label(label.ok_or(error)?)
                    }
                };
                if below.as_os_str().is_empty() {
                    return Ok(named(with_colon(name), real));
                }
                Ok(named(with_colon(name).join(below), real.join(below)))
            }
        }
    }
}

/// The name of a catalogue as people write it in front of a path: with a colon.
pub fn with_colon(name: &Path) -> PathBuf {
    let mut name = name.as_os_str().to_owned();
    name.push(":");
    name.into()
}

/// Refuses a plan about catalogues: the files to keep and to replace must be on this machine.
pub fn no_plan_for(named: &[Named]) -> CliResult<()> {
    match named.iter().find(|one| one.is_catalogued()) {
        None => Ok(()),
        Some(one) => Err(CliError::Usage(format!(
            "a plan is for files that are here; only a catalogue has those of {}",
            quoted(&one.shown)
        ))),
    }
}

/// Resolves the paths; those that do not exist become soft errors.
pub fn resolve(paths: &[PathBuf]) -> (Vec<Named>, Vec<SoftError>) {
    let mut named = Vec::with_capacity(paths.len());
    let mut errors = Vec::new();
    for shown in paths {
        match Named::of(shown) {
            Ok(one) => named.push(one),
            Err(error) => errors.push(SoftError::of_io(PathText::from(shown.as_path()), &error)),
        }
    }
    (named, errors)
}

/// Resolves a path that the question cannot do without.
pub fn required(shown: &Path) -> CliResult<Named> {
    Named::of(shown).map_err(CliError::file("look at", shown))
}

/// The same as [`required`] for a file on this machine: it is not opened to see whether it is a
/// catalogue.
pub fn required_here(shown: &Path) -> CliResult<Named> {
    let real = fs::canonicalize(shown).map_err(CliError::file("look at", shown))?;
    Ok(Named {
        shown: shown.to_owned(),
        real,
    })
}

/// Resolves a directory that the question cannot do without.
pub fn required_dir(shown: &Path) -> CliResult<Named> {
    let named = required(shown)?;
    if named.is_dir() {
        return Ok(named);
    }
    let error = io::ErrorKind::NotADirectory.into();
    Err(CliError::file("look into", shown)(error))
}

/// The paths as given, for documents.
pub fn as_given(paths: &[PathBuf]) -> Vec<PathText> {
    paths
        .iter()
        .map(|path| PathText::from(path.as_path()))
        .collect()
}

/// The real paths without repetition.
pub fn real_paths(named: &[Named]) -> Vec<PathText> {
    let mut seen = HashSet::new();
    named
        .iter()
        .filter(|one| seen.insert(&one.real))
        .map(|one| PathText::from(one.real.as_path()))
        .collect()
}

/// A real path as the user would write it: by the first argument that leads there. Without such an
/// argument it stays as it is.
pub fn shown_as(named: &[Named], real: &PathText) -> PathText {
    let path = real.as_path();
    named
        .iter()
        .find_map(|one| {
            let Ok(rest) = path.strip_prefix(&one.real) else {
                return member_shown(one, path);
            };
            let empty = rest.as_os_str().is_empty();
            Some(if empty {
                one.shown.clone()
            } else {
                one.shown.join(rest)
            })
        })
        .or_else(|| catalogued::shown(path))
        .map_or_else(|| real.clone(), PathText::from)
}

/// A member as the user would write it, if `archive` is the file that it is in.
fn member_shown(archive: &Named, member: &Path) -> Option<PathBuf> {
    let rest = member.as_os_str().as_bytes();
    let rest = rest.strip_prefix(archive.real.as_os_str().as_bytes())?;
    let rest = rest.strip_prefix(&[INTO])?;
    Some(renditions::shown(&archive.shown, rest))
}

/// A member of an archive or a mail, as it was named.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedMember {
    /// The file that it is in.
    pub file: Named,
    /// The names that lead to it in that file.
    pub names: Vec<u8>,
}

impl NamedMember {
    /// The real path of the file, followed by the names.
    pub fn real(&self) -> PathBuf {
        renditions::shown(&self.file.real, &self.names)
    }
}

/// The member that a path names, if the path up to some `!` is a file.
pub fn member_of(path: &Path) -> Option<NamedMember> {
    renditions::ways_into(path).find_map(|(file, names)| {
        let real = fs::canonicalize(file).ok().filter(|real| real.is_file())?;
        Some(NamedMember {
            file: Named {
                shown: file.to_owned(),
                real,
            },
            names: names.to_vec(),
        })
    })
}

/// The errors of an answer as people and documents get them: sorted by path, one for each path, and
/// with paths as the arguments lead to them.
pub fn tidy(mut errors: Vec<SoftError>, named: &[Named]) -> Vec<SoftError> {
    for error in &mut errors {
        error.path = shown_as(named, &error.path);
        error.message = reason(&io::Error::other(std::mem::take(&mut error.message)));
    }
    errors.sort();
    errors.dedup_by(|a, b| a.path == b.path);
    errors
}

/// The files of the command line and of `--files-from`. Standard input can be one of the files, or
/// the list.
pub fn with_list(files: &[PathBuf], list: Option<&Path>, null: bool) -> CliResult<Vec<PathBuf>> {
    let mut files = files.to_vec();
    let is_stdin = |path: &Path| path == Path::new("-");
    if let Some(list) = list {
        if is_stdin(list) && files.iter().any(|file| is_stdin(file)) {
            return Err(CliError::Usage(
                "standard input cannot be both a FILE and the list of --files-from".to_owned(),
            ));
        }
        files.extend(read_list(list, null)?);
    }
    if files.iter().filter(|file| is_stdin(file)).count() > 1 {
        return Err(CliError::Usage(
            "standard input can be read only once".to_owned(),
        ));
    }
    Ok(files)
}

/// The names of `--files-from`: one per line, or ended by NUL. Empty lines name nothing.
pub fn read_list(list: &Path, null: bool) -> CliResult<Vec<PathBuf>> {
    let failed = CliError::file("read", list);
    let mut bytes = Vec::new();
    if list == Path::new("-") {
        io::stdin().lock().read_to_end(&mut bytes).map_err(failed)?;
    } else {
        File::open(list)
            .and_then(|mut file| file.read_to_end(&mut bytes))
            .map_err(failed)?;
    }
    Ok(split_list(&bytes, null))
}

fn split_list(bytes: &[u8], null: bool) -> Vec<PathBuf> {
    let end = if null { b'\0' } else { b'\n' };
    bytes
        .split(|byte| *byte == end)
        .filter(|name| !name.is_empty())
        .map(|name| PathBuf::from(std::ffi::OsString::from_vec(name.to_vec())))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use resemble_proto::message::SoftErrorKind;

    fn named(shown: &str, real: &str) -> Named {
        Named {
            shown: shown.into(),
            real: real.into(),
        }
    }

    #[test]
    fn answers_are_shown_as_the_arguments_lead_to_them() {
        let dirs = [
            named("old", "/srv/old"),
            named(".", "/home/me"),
            named("up/..", "/"),
        ];
        let cases = [
            ("/srv/old/a/b", "old/a/b"),
            ("/srv/old", "old"),
            ("/srv/older", "up/../srv/older"),
            ("/home/me/x", "./x"),
        ];
        for (real, shown) in cases {
            assert_eq!(shown_as(&dirs, &real.into()), shown.into(), "{real}");
        }
        assert_eq!(shown_as(&dirs[..1], &"/etc/x".into()), "/etc/x".into());
        assert_eq!(shown_as(&[], &"/etc/x".into()), "/etc/x".into());
    }

    #[test]
    fn names_that_are_not_there_are_soft_errors() {
        let temp = tempfile::tempdir().unwrap();
        let real = temp.path().canonicalize().unwrap();
        std::os::unix::fs::symlink(&real, temp.path().join("link")).unwrap();
        let absent = temp.path().join("absent");
        let (found, errors) = resolve(&[temp.path().join("link"), absent.clone(), real.clone()]);
        assert_eq!(
            real_paths(&found),
            [PathText::from(real.as_path())],
            "each once"
        );
        assert_eq!(errors.len(), 1);
        assert_eq!(errors[0].path, PathText::from(absent));
        assert_eq!(errors[0].kind, SoftErrorKind::NotFound);
        assert_eq!(errors[0].message, "No such file or directory");
    }

    #[test]
    fn errors_are_named_as_given_and_each_once() {
        let error = |path: &str, message: &str| SoftError {
            path: path.into(),
            kind: SoftErrorKind::Unreadable,
            message: message.into(),
        };
        let raw = vec![
            error("/srv/old/z", "Permission denied (os error 13)"),
            error("/srv/old/a", "Permission denied"),
            error("/srv/old/z", "Permission denied"),
        ];
        let tidied = tidy(raw, &[named("old", "/srv/old")]);
        assert_eq!(
            tidied,
            [
                error("old/a", "Permission denied"),
                error("old/z", "Permission denied")
            ]
        );
    }

    #[test]
    fn lists() {
        let paths = |names: &[&str]| names.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(split_list(b"a\nb c\n\nd", false), paths(&["a", "b c", "d"]));
        assert_eq!(split_list(b"a\nb\0c\0", true), paths(&["a\nb", "c"]));
        assert_eq!(split_list(b"", true), paths(&[]));
        let bytes = split_list(b"\xff\n", false);
        assert_eq!(bytes[0].as_os_str().as_bytes(), b"\xff");
    }
}
