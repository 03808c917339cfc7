//! Resolves the names on the command line to the files that they name.
//!
//! Questions have real paths, which are absolute and without symbolic links. Answers are printed
//! with paths that begin as the arguments do: `pairs old new` prints `old/x` and `new/x`. [`Named`]
//! has both forms of an argument.
//!
//! A catalogue can be named where a directory is expected. A file in it is named with a colon.
//! Paths in a catalogue have a form that no real path has (`resemble_proto::catalogued`). So they
//! are never confused with real paths.

use std::collections::{HashMap, HashSet};
use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};

use resemble_catalogue as catalogue;
use resemble_proto::catalogued;
use resemble_proto::message::{SoftError, reason};
use resemble_proto::path::PathText;
use resemble_relate::renditions::{self, INTO};
use resemble_scan::parts::{HEAD, may_hold_files};
use rustix::fs::Access;
use rustix::io::Errno;

use crate::error::{CliError, CliResult};

/// A path as the user gave it, and its real path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The path as given.
    pub shown: PathBuf,
    /// The real path: absolute, and without symbolic links.
    pub real: PathBuf,
}

impl Named {
    /// Returns whether the name is that of a directory. A path in a catalogue counts as a
    /// directory, because only a look-up in the catalogue shows its kind.
    pub fn is_dir(&self) -> bool {
        self.is_catalogued() || self.real.is_dir()
    }

    /// Returns whether the first bytes of the file are those of an archive, a mail or a mailbox.
    pub fn may_hold_files(&self) -> bool {
        let mut head = Vec::new();
        let is_file = self.real.is_file();
        let file = is_file
            .then(|| File::open(&self.real))
            .and_then(io::Result::ok);
        let read = file.map(|file| file.take(HEAD as u64).read_to_end(&mut head));
        let name = self.real.file_name().unwrap_or_default();
        read.is_some_and(|read| read.is_ok()) && may_hold_files(name.as_encoded_bytes(), &head)
    }

    /// Returns whether the name is a path in a catalogue.
    pub fn is_catalogued(&self) -> bool {
        catalogued::is_catalogued(&self.real)
    }

    /// Resolves a name. It may be a file or a directory, the tree of a catalogue, or a path in that
    /// tree. A path in the tree follows a colon: `disk.cat:/letters`, `disk:/letters`.
    fn of(shown: &Path) -> io::Result<Self> {
        let named = |shown: PathBuf, real| Self { shown, real };
        match real_path(shown) {
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

/// Resolves the symbolic links of a path. Refuses a path in a view of resemble: there, each watched
/// file would count as a copy of itself.
fn real_path(shown: &Path) -> io::Result<PathBuf> {
    let real = fs::canonicalize(shown).map_err(|error| absent(shown, error))?;
    if resemble_mounts::is_in_overlay(&real)? {
        let text = "it lies in a view of resemble: name the real path";
        return Err(io::Error::other(text));
    }
    Ok(real)
}

/// Returns the error for a name that leads to no file. If it names a member of an archive, the
/// error says which verbs take members. For any other name, returns `error`.
pub fn absent(shown: &Path, error: io::Error) -> io::Error {
    let is_member = member_of(shown).is_some_and(|member| member.file.may_hold_files());
    if !is_member {
        return error;
    }
    io::Error::other(
        "a member of an archive; this verb takes files, `resemble find` and `resemble why` take \
         members",
    )
}

/// Returns the name of a catalogue with a colon. Shown paths in the catalogue begin with this name.
pub fn with_colon(name: &Path) -> PathBuf {
    let mut name = name.as_os_str().to_owned();
    name.push(":");
    name.into()
}

/// Resolves the paths. A path that does not exist becomes a soft error.
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

/// Resolves a path that the question requires.
pub fn required(shown: &Path) -> CliResult<Named> {
    Named::of(shown).map_err(CliError::file("look at", shown))
}

/// Resolves a required path with `find`. If the path does not exist and `missing` is a list, the
/// error is added to it. Documents list such errors.
pub fn needed(
    shown: &Path,
    find: impl Fn(&Path) -> CliResult<Named>,
    missing: &mut Option<Vec<SoftError>>,
) -> CliResult<Named> {
    match (find(shown), missing) {
        (Err(CliError::File { path, source, .. }), Some(missing)) => {
            missing.push(SoftError::of_io(path.as_path().into(), &source));
            Ok(Named {
                shown: path.clone(),
                real: path,
            })
        }
        (found, _) => found,
    }
}

/// Like [`required`], but for a file on this machine. This function does not check whether the file
/// is a catalogue, so it need not open the file.
pub fn required_here(shown: &Path) -> CliResult<Named> {
    let real = real_path(shown).map_err(CliError::file("look at", shown))?;
    Ok(Named {
        shown: shown.to_owned(),
        real,
    })
}

/// Resolves a directory that the question requires.
pub fn required_dir(shown: &Path) -> CliResult<Named> {
    let named = required(shown)?;
    if named.is_dir() {
        return Ok(named);
    }
    let error = io::ErrorKind::NotADirectory.into();
    Err(CliError::file("look into", shown)(error))
}

/// Returns an error for each file that this user may not read, and for each directory that this
/// user may not enter. A daemon in system mode finds nothing at such a path, so it does not report
/// the path.
pub fn denied(named: &[Named]) -> Vec<SoftError> {
    let is_denied = |one: &&Named| {
        let is_dir = one.real.is_dir();
        let access = if is_dir {
            Access::EXEC_OK
        } else {
            Access::READ_OK
        };
        rustix::fs::access(&one.real, access) == Err(Errno::ACCESS)
    };
    let own = named.iter().filter(|one| !one.is_catalogued());
    let error =
        |one: &Named| SoftError::of_io(PathText::from(one.real.as_path()), &Errno::ACCESS.into());
    own.filter(is_denied).map(error).collect()
}

/// Returns the paths as the user gave them, for documents.
pub fn as_given(paths: &[PathBuf]) -> Vec<PathText> {
    paths
        .iter()
        .map(|path| PathText::from(path.as_path()))
        .collect()
}

/// Returns the real paths without repetition.
pub fn real_paths(named: &[Named]) -> Vec<PathText> {
    let mut seen = HashSet::new();
    named
        .iter()
        .filter(|one| seen.insert(&one.real))
        .map(|one| PathText::from(one.real.as_path()))
        .collect()
}

/// Translates real paths to paths as the user would write them. Such a path begins with the first
/// argument that leads to the file.
#[derive(Clone, Debug, Default)]
pub struct ShownNames {
    /// For each real path of an argument, the index of the argument and its name as given. It is a
    /// map because there may be many arguments.
    by_real: HashMap<PathBuf, (usize, PathBuf)>,
}

impl ShownNames {
    /// Translates by these arguments.
    pub fn of<'a>(named: impl IntoIterator<Item = &'a Named>) -> Self {
        let mut by_real = HashMap::new();
        for (at, one) in named.into_iter().enumerate() {
            let known = by_real.entry(one.real.clone());
            known.or_insert_with(|| (at, one.shown.clone()));
        }
        Self { by_real }
    }

    /// Returns a real path as the user would write it. A path that no argument leads to is
    /// unchanged.
    pub fn path(&self, real: &PathText) -> PathText {
        let path = real.as_path();
        let bytes = path.as_os_str().as_bytes();
        let below = path.ancestors().filter_map(|above| {
            let (at, shown) = self.by_real.get(above)?;
            let rest = path.strip_prefix(above).ok()?;
            let is_it = rest.as_os_str().is_empty();
            Some((
                at,
                if is_it {
                    shown.clone()
                } else {
                    shown.join(rest)
                },
            ))
        });
        // The path may also be a member of an archive that is one of the arguments.
        let ends = (0..bytes.len()).filter(|at| bytes[*at] == INTO);
        let members = ends.filter_map(|end| {
            let archive = Path::new(OsStr::from_bytes(&bytes[..end]));
            let (at, shown) = self.by_real.get(archive)?;
            Some((at, renditions::shown(shown, &bytes[end + 1..])))
        });
        let first = below.chain(members).min_by_key(|(at, _)| *at);
        first
            .map(|(_, shown)| shown)
            .or_else(|| catalogued::shown(path))
            .map_or_else(|| real.clone(), PathText::from)
    }
}

/// A member of an archive or a mail, as the user named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedMember {
    /// The file that contains the member.
    pub file: Named,
    /// The names of the members that lead to it inside that file.
    pub names: Vec<u8>,
}

impl NamedMember {
    /// Returns the real path of the file, followed by the names of the members.
    pub fn real(&self) -> PathBuf {
        renditions::shown(&self.file.real, &self.names)
    }
}

/// Returns the member that a path names. The part of the path before one of its `!` must be a file.
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

/// Prepares the errors of an answer for people and documents. They are sorted, each path has one
/// error, and the paths begin as the arguments do.
pub fn tidy(mut errors: Vec<SoftError>, shown: &ShownNames) -> Vec<SoftError> {
    for error in &mut errors {
        error.path = shown.path(&error.path);
        error.message = reason(&io::Error::other(std::mem::take(&mut error.message)));
    }
    errors.sort();
    errors.dedup_by(|a, b| a.path == b.path);
    errors
}

/// Returns the files of the command line and those that `--files-from` lists. Standard input can be
/// one of the files, or the list.
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

/// Reads the names of `--files-from`: one on each line, or each ended by NUL. Empty lines are
/// skipped.
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
            let found = ShownNames::of(&dirs).path(&real.into());
            assert_eq!(found, shown.into(), "{real}");
        }
        let elsewhere = "/etc/x".into();
        assert_eq!(ShownNames::of(&dirs[..1]).path(&elsewhere), elsewhere);
        assert_eq!(ShownNames::default().path(&elsewhere), elsewhere);
    }

    /// [`ShownNames`] finds the same argument as a search through all arguments in their order.
    #[test]
    fn the_first_argument_that_leads_there_counts() {
        let names = ["/a", "/a/b", "/a/b.zip", "/a/b/c", "/"];
        let paths = [
            "/a",
            "/a/b",
            "/a/b/c/d",
            "/a/b.zip!x/y!z",
            "/a/b.zip!",
            "/ab",
            "/a/b!c",
        ];
        for first in 0..names.len() {
            for second in 0..names.len() {
                let both = [(first, "one"), (second, "two")];
                let both = both.map(|(at, shown)| named(shown, names[at]));
                for path in paths {
                    let one_by_one = both.iter().find_map(|one| {
                        let alone = ShownNames::of([one]).path(&path.into());
                        (alone != path.into()).then_some(alone)
                    });
                    let expected = one_by_one.unwrap_or_else(|| path.into());
                    let found = ShownNames::of(&both).path(&path.into());
                    assert_eq!(found, expected, "{path} by {both:?}");
                }
            }
        }
        let archive = named("box", "/a/b.zip");
        let member = ShownNames::of([&archive]).path(&"/a/b.zip!x/y!z".into());
        assert_eq!(member, PathText::from("box!x/y!z"));
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
        let tidied = tidy(raw, &ShownNames::of(&[named("old", "/srv/old")]));
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
