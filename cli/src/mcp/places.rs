//! Resolves paths that lie beneath the roots, and refuses all others.

use std::ffi::OsString;
use std::fs;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStringExt;
use std::path::{Component, Path, PathBuf};

use resemble_relate::renditions::{INTO, shown, ways_into};
use resemble_scan::walk::{Anchor, Kind, Stat};
use rustix::fd::AsFd;
use rustix::fs::{CWD, OFlags};
use rustix::io::Errno;

use crate::error::{CliError, CliResult};

/// The directories that a server answers questions about.
#[derive(Debug)]
pub(super) struct Roots {
    all: Vec<Anchor>,
    /// The working directory of the server at its start.
    here: Option<PathBuf>,
}

/// A file or a directory beneath a root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RootedPath {
    /// The real path of the file. For a member, the names that lead to it inside the file follow.
    pub(super) path: PathBuf,
    /// The path as requested.
    asked: PathBuf,
    id: (u64, u64),
}

/// The error for every path that is not beneath a root. The error is the same whether the path
/// exists or not.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no file or directory below a root of this server")]
pub(super) struct NoPlace(String);

/// The maximum number of characters of a name that an error repeats.
const LONGEST_NAME: usize = 300;

impl Roots {
    pub(super) fn open(paths: &[PathBuf]) -> CliResult<Self> {
        let open = |path: &PathBuf| {
            let real = fs::canonicalize(path)?;
            Anchor::open(&real).map_err(std::io::Error::from)
        };
        let opened = |path: &PathBuf| open(path).map_err(CliError::file("open", path));
        Ok(Self {
            all: paths.iter().map(opened).collect::<CliResult<_>>()?,
            here: std::env::current_dir().ok(),
        })
    }

    /// Returns the real paths of the roots.
    pub(super) fn paths(&self) -> impl Iterator<Item = &Path> {
        self.all.iter().map(Anchor::path)
    }

    /// Returns whether a path of an answer lies in a root.
    pub(super) fn hold(&self, path: &Path) -> bool {
        self.paths().any(|root| path.starts_with(root))
    }

    /// Returns whether each root is still the same directory. Questions name the roots by their
    /// paths, so a directory that has replaced a root would be searched.
    pub(super) fn are_there(&self) -> bool {
        !self.all.iter().any(Anchor::was_replaced)
    }

    /// Resolves a name to a path beneath a root, or to a member of a file there.
    pub(super) fn place(&self, name: &str) -> Result<RootedPath, NoPlace> {
        let path = Path::new(name);
        let whole = (!name.is_empty()).then(|| self.whole(path)).flatten();
        whole
            .or_else(|| self.member(path))
            .ok_or_else(|| NoPlace(name.chars().take(LONGEST_NAME).collect()))
    }

    /// Returns whether a name still leads to the same file. This is checked before an answer is
    /// sent, because a new link with that name may lead outside the roots.
    pub(super) fn have_still(&self, place: &RootedPath) -> bool {
        let now = self.whole(&place.asked);
        now.is_some_and(|now| now.id == place.id)
    }

    /// Resolves a file or directory. A relative path is tried in each root, then in the current
    /// directory.
    fn whole(&self, asked: &Path) -> Option<RootedPath> {
        let bases = self.paths().chain(self.here.as_deref());
        let places = bases.flat_map(|base| {
            let path = base.join(asked);
            let found = self.all.iter().map(move |root| found(root, &path, asked));
            found.collect::<Vec<_>>()
        });
        places.flatten().next()
    }

    /// Resolves a path to a member of a file beneath a root. The path consists of the file, `!`,
    /// and the member.
    fn member(&self, path: &Path) -> Option<RootedPath> {
        ways_into(path).find_map(|(file, names)| {
            let below = PathBuf::from(OsString::from_vec(names.to_vec()));
            let is_name = |part| matches!(part, Component::Normal(_));
            let first = below.components().next()?;
            if !below.components().all(is_name) {
                return None;
            }
            let file = self.whole(file)?;
            // This may also be the path of a file or link whose own name contains `!`. Such a link
            // may lead outside the roots, so the path is refused if anything has that name.
            let mut beside = file.path.clone().into_os_string();
            beside.push(OsString::from_vec(vec![INTO]));
            for more in ["".as_ref(), first.as_os_str()] {
                beside.push(more);
                if fs::symlink_metadata(&beside).is_ok() {
                    return None;
                }
            }
            Some(RootedPath {
                path: shown(&file.path, names),
                ..file
            })
        })
    }
}

/// Opens a file or directory at a path beneath a root.
fn found(root: &Anchor, path: &Path, asked: &Path) -> Result<RootedPath, Errno> {
    let file = root.open_at(path, OFlags::PATH)?;
    let stat = Stat::of(file.as_fd())?;
    let link = format!("/proc/self/fd/{}", file.as_raw_fd());
    let real = rustix::fs::readlinkat(CWD, link, Vec::new())?;
    let path = PathBuf::from(OsString::from_vec(real.into_bytes()));
    match stat.kind {
        // Some kernels cannot ensure that the opened path is beneath the root, so this is checked
        // here.
        Kind::File | Kind::Dir if path.starts_with(root.path()) => Ok(RootedPath {
            path,
            asked: asked.to_owned(),
            id: (stat.dev, stat.ino),
        }),
        _ => Err(Errno::ACCESS),
    }
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
            // The error is the same for paths that exist and paths that do not.
            assert_eq!(roots.place(name), Err(NoPlace(name.to_owned())), "{name:?}");
        }
        // Beside the file `b` is a folder `b!`, and beside the file `c` a link `c!x`.
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
