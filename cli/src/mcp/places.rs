//! What lies beneath the roots, and nothing else.

use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;

use crate::error::{CliError, CliResult};

/// Leads into an archive or a mail: `mail.eml!report.odt`.
const INTO: u8 = b'!';

/// The directories that a server answers about.
#[derive(Debug)]
pub(super) struct Roots {
    all: Vec<Root>,
    /// Where the server was started.
    here: Option<PathBuf>,
}

#[derive(Debug)]
struct Root {
    /// As the kernel names it.
    path: PathBuf,
    dir: OwnedFd,
}

/// A file or a directory beneath a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RootedPath {
    /// The real path, and the names that lead to a member in it.
    pub(super) path: PathBuf,
    /// As it was asked for.
    asked: PathBuf,
    id: (u64, u64),
}

/// What is said of all that is not beneath a root, there or not.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no file or directory below a root of this server")]
pub(super) struct NoPlace(String);

/// So much of a name is said again.
const LONGEST_NAME: usize = 300;

impl Roots {
    pub(super) fn open(paths: &[PathBuf]) -> CliResult<Self> {
        let mut roots = Vec::with_capacity(paths.len());
        for path in paths {
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let dir = rustix::fs::open(path, flags, Mode::empty());
            let dir = dir.map_err(|error| CliError::file("open", path)(error.into()))?;
            let real =
                real_path(&dir).map_err(|error| CliError::file("open", path)(error.into()))?;
            roots.push(Root { path: real, dir });
        }
        Ok(Self {
            all: roots,
            here: std::env::current_dir().ok(),
        })
    }

    /// The real paths of the roots.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.all.iter().map(|root| &*root.path)
    }

    /// Whether a path of an answer lies in a root.
    pub(super) fn hold(&self, path: &Path) -> bool {
        self.paths().any(|root| path.starts_with(root))
    }

    /// What a name leads to: a path beneath a root, or a member in one.
    pub(super) fn place(&self, name: &str) -> Result<RootedPath, NoPlace> {
        let path = Path::new(name);
        let whole = (!name.is_empty()).then(|| self.whole(path)).flatten();
        whole
            .or_else(|| self.member(path))
            .ok_or_else(|| NoPlace(name.chars().take(LONGEST_NAME).collect()))
    }

    /// Whether each root is still where it was. Questions name them by their paths.
    pub(super) fn are_there(&self) -> bool {
        self.all.iter().all(|root| {
            let now = rustix::fs::lstat(&root.path).map(|stat| (stat.st_dev, stat.st_ino));
            let then = rustix::fs::fstat(&root.dir).map(|stat| (stat.st_dev, stat.st_ino));
            now.is_ok() && now == then
        })
    }

    /// Whether what was found under a name is still there, the same file. Asked before an answer
    /// is given: a link that was put in its place meanwhile may lead outside.
    pub(super) fn have_still(&self, place: &RootedPath) -> bool {
        let now = self.whole(&place.asked);
        now.is_some_and(|now| now.id == place.id)
    }

    /// The file or directory at a path. A relative one is looked for in each root, and then from
    /// the current directory.
    fn whole(&self, path: &Path) -> Option<RootedPath> {
        let from_here = (self.here.as_ref()).map(|here| here.join(path));
        let absolute = if path.is_absolute() {
            Some(path)
        } else {
            from_here.as_deref()
        };
        let beneath = self.all.iter().filter(|_| path.is_relative());
        let beneath = beneath.filter_map(|root| root.place(path, path).ok());
        let of_absolute = self.all.iter().filter_map(|root| {
            let below = absolute?.strip_prefix(&root.path).ok()?;
            let below = if below.as_os_str().is_empty() {
                Path::new(".")
            } else {
                below
            };
            root.place(below, path).ok()
        });
        beneath.chain(of_absolute).next()
    }

    /// The member that a path names behind a `!` in a file beneath a root.
    fn member(&self, path: &Path) -> Option<RootedPath> {
        let bytes = path.as_os_str().as_bytes();
        let marks = (1..bytes.len()).filter(|&at| bytes[at] == INTO);
        marks.into_iter().find_map(|at| {
            let names = Path::new(OsStr::from_bytes(&bytes[at + 1..]));
            let is_name = |part| matches!(part, Component::Normal(_));
            let first = names.components().next()?;
            if names.is_absolute() || !names.components().all(is_name) {
                return None;
            }
            let file = self.whole(Path::new(OsStr::from_bytes(&bytes[..at])))?;
            // The whole could also be a path, which leads who knows where.
            let mut beside = file.path.clone().into_os_string();
            beside.push("!");
            if fs::symlink_metadata(&beside).is_ok() {
                return None;
            }
            beside.push(first.as_os_str());
            if fs::symlink_metadata(&beside).is_ok() {
                return None;
            }
            let mut named = file.path.into_os_string();
            named.push(OsStr::from_bytes(&bytes[at..]));
            Some(RootedPath {
                path: named.into(),
                ..file
            })
        })
    }
}

impl Root {
    fn place(&self, below: &Path, asked: &Path) -> Result<RootedPath, Errno> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let resolve =
            ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS;
        let file = loop {
            match rustix::fs::openat2(&self.dir, below, flags, Mode::empty(), resolve) {
                // A rename came in between.
                Err(Errno::AGAIN | Errno::INTR) => {}
                other => break other?,
            }
        };
        let stat = rustix::fs::fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile | FileType::Directory => Ok(RootedPath {
                path: real_path(&file)?,
                asked: asked.to_owned(),
                id: (stat.st_dev, stat.st_ino),
            }),
            _ => Err(Errno::ACCESS),
        }
    }
}

/// Where an open file is.
fn real_path(file: &OwnedFd) -> Result<PathBuf, Errno> {
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    let path = rustix::fs::readlinkat(CWD, link, Vec::new())?;
    Ok(PathBuf::from(OsStr::from_bytes(path.to_bytes())))
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn nothing_outside_a_root_is_found_whatever_it_is_called() {
        let dir = tempfile::tempdir().unwrap();
        let at = |name: &str| dir.path().join(name);
        for name in ["in/sub", "out"] {
            fs::create_dir_all(at(name)).unwrap();
        }
        fs::write(at("in/sub/a"), "a").unwrap();
        fs::write(at("out/secret"), "s").unwrap();
        symlink(at("out"), at("in/link")).unwrap();
        symlink(at("out/secret"), at("in/file-link")).unwrap();
        symlink(at("in/sub/a"), at("in/inner-link")).unwrap();
        let roots = Roots::open(&[at("in")]).unwrap();
        let real = fs::canonicalize(at("in/sub/a")).unwrap();
        let absolute = real.to_str().unwrap().to_owned();
        for name in ["sub/a", "./sub/../sub/a", &absolute] {
            assert_eq!(roots.place(name).unwrap().path, real, "{name}");
        }
        let outside = at("out/secret").to_str().unwrap().to_owned();
        let names = [
            "../out/secret",
            "sub/../../out/secret",
            "link/secret",
            "link",
            "file-link",
            "inner-link",
            "sub/a/..",
            "",
            "/",
            "/etc/passwd",
            "/proc/self/root/etc/passwd",
            "absent",
            &outside,
            "../out/secret!a",
            "a\0b",
        ];
        for name in names {
            // The same is said of what is there and of what is not.
            assert_eq!(roots.place(name), Err(NoPlace(name.to_owned())), "{name:?}");
        }
        // A folder or a link that begins with the name of a file and a mark.
        fs::write(at("in/b"), "b").unwrap();
        fs::create_dir(at("in/b!")).unwrap();
        fs::write(at("in/c"), "c").unwrap();
        symlink(at("out"), at("in/c!x")).unwrap();
        for name in [
            "b!/../../out/secret",
            "b!x",
            "c!x/secret",
            "sub/a!../a",
            "sub/a!/etc/passwd",
            "sub/a!",
        ] {
            assert_eq!(roots.place(name), Err(NoPlace(name.to_owned())), "{name:?}");
        }
        let member = roots.place("sub/a!x/y").unwrap();
        assert!(member.path.to_str().unwrap().ends_with("/sub/a!x/y"));
    }

    #[test]
    fn what_was_replaced_is_not_the_same_place() {
        let dir = tempfile::tempdir().unwrap();
        let roots = Roots::open(&[dir.path().to_owned()]).unwrap();
        fs::write(dir.path().join("a"), "a").unwrap();
        let place = roots.place("a").unwrap();
        assert!(roots.have_still(&place));
        fs::rename(dir.path().join("a"), dir.path().join("b")).unwrap();
        symlink("/etc/passwd", dir.path().join("a")).unwrap();
        assert!(!roots.have_still(&place));
    }
}
