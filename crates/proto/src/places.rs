//! Finds the paths of the socket, the view, the state and the cache.
//!
//! The daemon and the command must find the same paths, so the rules are only here. They depend on
//! an [`Env`], which `main` fills in, and on the runtime folder. XDG variables are used only if
//! they are absolute, as the XDG base directory specification demands. A relative path would mean
//! another path in each working directory.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// The parts of a process's environment from which paths are computed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Env {
    /// `HOME`.
    pub home: Option<PathBuf>,
    /// `XDG_STATE_HOME`.
    pub xdg_state_home: Option<PathBuf>,
    /// `XDG_RUNTIME_DIR`.
    pub xdg_runtime_dir: Option<PathBuf>,
    /// `XDG_CACHE_HOME`.
    pub xdg_cache_home: Option<PathBuf>,
    /// `XDG_CONFIG_HOME`.
    pub xdg_config_home: Option<PathBuf>,
    /// `TMPDIR`.
    pub tmpdir: Option<PathBuf>,
    /// `RESEMBLE_SOCKET`.
    pub resemble_socket: Option<PathBuf>,
    /// `RESEMBLE_STATE`.
    pub resemble_state: Option<PathBuf>,
    /// The effective user id.
    pub uid: u32,
    /// The folder with the runtime folders of all users. It is `/run/user`, or another folder in
    /// tests.
    pub run_user: PathBuf,
}

impl Env {
    /// Collects the variables. `variable` returns one of them; in a program it is
    /// `std::env::var_os`.
    pub fn gather(variable: impl Fn(&str) -> Option<OsString>, uid: u32) -> Self {
        let path = |name| {
            variable(name)
                .filter(|value| !value.is_empty())
                .map(PathBuf::from)
        };
        let absolute = |name| path(name).filter(|path| path.is_absolute());
        Self {
            home: absolute("HOME"),
            xdg_state_home: absolute("XDG_STATE_HOME"),
            xdg_runtime_dir: absolute("XDG_RUNTIME_DIR"),
            xdg_cache_home: absolute("XDG_CACHE_HOME"),
            xdg_config_home: absolute("XDG_CONFIG_HOME"),
            tmpdir: absolute("TMPDIR"),
            resemble_socket: path("RESEMBLE_SOCKET"),
            resemble_state: path("RESEMBLE_STATE"),
            uid,
            run_user: PathBuf::from("/run/user"),
        }
    }
}

/// The path of the socket of the system's daemon (`resembled --system`).
pub const SYSTEM_SOCKET: &str = "/run/resemble/socket";

/// The reason why a path cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum PlaceError {
    /// The environment lacks the variables from which the path is computed.
    #[error("no place for {what}: neither {variable} nor HOME is set to an absolute path")]
    Nowhere {
        /// The purpose of the path.
        what: &'static str,
        /// The name of the variable.
        variable: &'static str,
    },
    /// The folder belongs to another user.
    #[error(
        "{} belongs to user {owner}, not to user {uid}: choose another with --state",
        path.display()
    )]
    NotOurs {
        /// The path of the folder.
        path: PathBuf,
        /// The owner of the folder.
        owner: u32,
        /// The user of this process.
        uid: u32,
    },
    /// Something that is not a folder is at the path.
    #[error("{} is not a folder", path.display())]
    NotAFolder {
        /// The path that was to be used.
        path: PathBuf,
    },
    /// A system call failed.
    #[error("cannot make the folder {}: {source}", path.display())]
    Io {
        /// The path of the folder.
        path: PathBuf,
        /// The error of the system call.
        source: io::Error,
    },
}

/// Returns the state folder. It is `explicit` (`--state`) or, in this order, `RESEMBLE_STATE`,
/// `$XDG_STATE_HOME/resemble` or `~/.local/state/resemble`.
pub fn state_dir(env: &Env, explicit: Option<&Path>) -> Result<PathBuf, PlaceError> {
    if let Some(dir) = explicit.or(env.resemble_state.as_deref()) {
        return Ok(dir.to_owned());
    }
    base(
        env.xdg_state_home.as_deref(),
        env.home.as_deref(),
        ".local/state",
    )
    .ok_or(PlaceError::Nowhere {
        what: "the state",
        variable: "XDG_STATE_HOME",
    })
}

/// Returns the path of the log of alerts, which is in the state folder.
pub fn alerts_file(state: &Path) -> PathBuf {
    state.join("alerts.jsonl")
}

/// Returns the folder of imported catalogues, which is in the state folder.
pub fn catalogues_dir(state: &Path) -> PathBuf {
    state.join("catalogues")
}

/// Returns the path of the socket. It is `explicit` (`--socket`) or, in this order,
/// `RESEMBLE_SOCKET`, `$XDG_RUNTIME_DIR/resemble/socket`, or `/run/user/UID/resemble/socket` if
/// that runtime folder belongs to the user. Otherwise it is `socket` in the state folder. `state`
/// is the value of `--state`.
pub fn socket_path(
    env: &Env,
    explicit: Option<&Path>,
    state: Option<&Path>,
) -> Result<PathBuf, PlaceError> {
    if let Some(socket) = explicit.or(env.resemble_socket.as_deref()) {
        return Ok(socket.to_owned());
    }
    match runtime_dir(env) {
        Some(folder) => Ok(folder.join("resemble/socket")),
        None => Ok(state_dir(env, state)?.join("socket")),
    }
}

/// Returns the runtime folder of the user, if the system has one.
fn runtime_dir(env: &Env) -> Option<PathBuf> {
    env.xdg_runtime_dir.clone().or_else(|| {
        let folder = env.run_user.join(env.uid.to_string());
        let ours = fs::symlink_metadata(&folder).is_ok_and(|m| m.is_dir() && m.uid() == env.uid);
        ours.then_some(folder)
    })
}

/// Returns whether a path is in a trash of the desktop. A trash is `.local/share/Trash` in a home,
/// or `.Trash` or `.Trash-1000` on another disk. Files in a trash may vanish at any moment.
pub fn is_in_trash(path: &Path) -> bool {
    let is_uid = |uid: &[u8]| !uid.is_empty() && uid.iter().all(u8::is_ascii_digit);
    let mut above = [&[][..]; 2];
    path.components().any(|component| {
        let name = component.as_os_str().as_encoded_bytes();
        let of_home = above == [&b".local"[..], b"share"] && name == b"Trash";
        above = [above[1], name];
        of_home || name == b".Trash" || name.strip_prefix(b".Trash-").is_some_and(is_uid)
    })
}

/// Returns the default mount point of the view: `resemble/view` in the runtime folder that
/// [`socket_path`] also uses. Runtime folders are not backed up or searched for duplicates. Returns
/// `None` without a runtime folder.
pub fn view_dir(env: &Env) -> Option<PathBuf> {
    runtime_dir(env).map(|folder| folder.join("resemble/view"))
}

/// Returns the mount point of a requested view if there is no runtime folder. It is `view` in the
/// folder `resemble-UID`, which is in the folder of temporary files (`TMPDIR` or `/tmp`). Creates
/// `resemble-UID`, which must belong to the user.
pub fn temporary_view_dir(env: &Env) -> Result<PathBuf, PlaceError> {
    let temporary = env.tmpdir.as_deref().unwrap_or(Path::new("/tmp"));
    let folder = temporary.join(format!("resemble-{}", env.uid));
    private_dir(&folder, env.uid)?;
    // All users can write to the folder of temporary files, so another user may have put a link at
    // this path.
    if fs::symlink_metadata(&folder).is_ok_and(|m| m.is_dir()) {
        Ok(folder.join("view"))
    } else {
        Err(PlaceError::NotAFolder { path: folder })
    }
}

/// Returns the folder of the command's own cache: `$XDG_CACHE_HOME/resemble`, or without that
/// variable `~/.cache/resemble`.
pub fn cache_dir(env: &Env) -> Result<PathBuf, PlaceError> {
    base(env.xdg_cache_home.as_deref(), env.home.as_deref(), ".cache").ok_or(PlaceError::Nowhere {
        what: "the cache",
        variable: "XDG_CACHE_HOME",
    })
}

/// Returns the folder of configuration files: `$XDG_CONFIG_HOME/resemble`, or without that variable
/// `~/.config/resemble`.
pub fn config_dir(env: &Env) -> Result<PathBuf, PlaceError> {
    let config = env.xdg_config_home.as_deref();
    base(config, env.home.as_deref(), ".config").ok_or(PlaceError::Nowhere {
        what: "the configuration",
        variable: "XDG_CONFIG_HOME",
    })
}

/// Returns the file of the command's own cache for these parameters. It is in [`cache_dir`]:
/// `cache.redb` for the default parameters, and `cache-ID.redb` for others. With a single file, the
/// cache would have to be rebuilt whenever the parameters change.
pub fn cache_file(env: &Env, params: &resemble_core::Params) -> Result<PathBuf, PlaceError> {
    let folder = cache_dir(env)?;
    Ok(if *params == resemble_core::Params::default() {
        folder.join("cache.redb")
    } else {
        folder.join(format!("cache-{params}.redb"))
    })
}

fn base(xdg: Option<&Path>, home: Option<&Path>, below_home: &str) -> Option<PathBuf> {
    let base = xdg
        .map(Path::to_owned)
        .or_else(|| home.map(|home| home.join(below_home)))?;
    Some(base.join("resemble"))
}

/// Creates a folder and the folders above it, with mode 0700. An existing folder must belong to the
/// user. Its mode is not changed, because the user may have chosen it.
pub fn private_dir(path: &Path, uid: u32) -> Result<(), PlaceError> {
    let io = |source| PlaceError::Io {
        path: path.to_owned(),
        source,
    };
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(path)
        .map_err(|error| {
            if error.kind() == io::ErrorKind::AlreadyExists {
                PlaceError::NotAFolder {
                    path: path.to_owned(),
                }
            } else {
                io(error)
            }
        })?;
    let owner = fs::metadata(path).map_err(io)?.uid();
    if owner == uid {
        Ok(())
    } else {
        Err(PlaceError::NotOurs {
            path: path.to_owned(),
            owner,
            uid,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_trash_is_that_of_a_home_or_of_a_disk() {
        for inside in [
            "/home/a/.local/share/Trash/files/x",
            "/mnt/d/.Trash-1000/files/b/x",
            "/mnt/d/.Trash/1000/files/x",
        ] {
            assert!(is_in_trash(Path::new(inside)), "{inside}");
        }
        for outside in [
            "/home/a/Trash/x",
            "/home/a/.Trash-x/y",
            "/a/share/Trash/x",
            "/.Trashed",
        ] {
            assert!(!is_in_trash(Path::new(outside)), "{outside}");
        }
    }

    type Variables = &'static [(&'static str, &'static str)];

    fn env(variables: &[(&str, &str)], run_user: &Path, uid: u32) -> Env {
        let lookup = |name: &str| {
            variables
                .iter()
                .find(|(key, _)| *key == name)
                .map(|(_, value)| OsString::from(value))
        };
        Env {
            run_user: run_user.to_owned(),
            ..Env::gather(lookup, uid)
        }
    }

    fn nowhere() -> PathBuf {
        PathBuf::from("/nonexistent")
    }

    #[test]
    fn the_state_folder() {
        const HOME: (&str, &str) = ("HOME", "/h");
        let cases: [(Variables, Option<&str>, &str); 5] = [
            (&[HOME], None, "/h/.local/state/resemble"),
            (&[HOME, ("XDG_STATE_HOME", "/s")], None, "/s/resemble"),
            (
                &[HOME, ("XDG_STATE_HOME", "relative")],
                None,
                "/h/.local/state/resemble",
            ),
            (
                &[HOME, ("XDG_STATE_HOME", "/s"), ("RESEMBLE_STATE", "/r")],
                None,
                "/r",
            ),
            (&[HOME, ("RESEMBLE_STATE", "/r")], Some("/x"), "/x"),
        ];
        for (variables, explicit, expected) in cases {
            let dir = state_dir(&env(variables, &nowhere(), 0), explicit.map(Path::new));
            assert_eq!(dir.unwrap(), Path::new(expected), "{variables:?}");
        }
        assert!(matches!(
            state_dir(&env(&[], &nowhere(), 0), None),
            Err(PlaceError::Nowhere { .. })
        ));
    }

    #[test]
    fn the_socket() {
        const HOME: (&str, &str) = ("HOME", "/h");
        let cases: [(Variables, Option<&str>, Option<&str>, &str); 6] = [
            (&[HOME], None, None, "/h/.local/state/resemble/socket"),
            (&[HOME], None, Some("/s"), "/s/socket"),
            (
                &[HOME, ("XDG_RUNTIME_DIR", "/run/x")],
                None,
                None,
                "/run/x/resemble/socket",
            ),
            (
                &[HOME, ("XDG_RUNTIME_DIR", "/run/x")],
                None,
                Some("/s"),
                "/run/x/resemble/socket",
            ),
            (&[HOME, ("RESEMBLE_SOCKET", "/sock")], None, None, "/sock"),
            (
                &[HOME, ("RESEMBLE_SOCKET", "/sock")],
                Some("/mine"),
                None,
                "/mine",
            ),
        ];
        for (variables, explicit, state, expected) in cases {
            let env = env(variables, &nowhere(), 0);
            let socket = socket_path(&env, explicit.map(Path::new), state.map(Path::new));
            assert_eq!(socket.unwrap(), Path::new(expected), "{variables:?}");
        }
    }

    #[test]
    fn the_systems_runtime_folder_counts_only_if_it_is_ours() {
        let temp = tempfile::tempdir().unwrap();
        let uid = rustix::process::geteuid().as_raw();
        let home = [("HOME", "/h")];
        let missing = socket_path(&env(&home, temp.path(), uid), None, None).unwrap();
        assert_eq!(missing, Path::new("/h/.local/state/resemble/socket"));
        let folder = temp.path().join(uid.to_string());
        fs::create_dir(&folder).unwrap();
        let ours = socket_path(&env(&home, temp.path(), uid), None, None).unwrap();
        assert_eq!(ours, folder.join("resemble/socket"));
        fs::create_dir(temp.path().join((uid + 1).to_string())).unwrap();
        let theirs = socket_path(&env(&home, temp.path(), uid + 1), None, None).unwrap();
        assert_eq!(theirs, Path::new("/h/.local/state/resemble/socket"));
    }

    #[test]
    fn the_view() {
        const HOME: (&str, &str) = ("HOME", "/h");
        let with_runtime = [HOME, ("XDG_RUNTIME_DIR", "/run/x")];
        assert_eq!(
            view_dir(&env(&with_runtime, &nowhere(), 0)).unwrap(),
            Path::new("/run/x/resemble/view")
        );
        assert_eq!(view_dir(&env(&[HOME], &nowhere(), 0)), None);

        let temp = tempfile::tempdir().unwrap();
        let uid = rustix::process::geteuid().as_raw();
        let of = |uid| Env {
            tmpdir: Some(temp.path().to_owned()),
            uid,
            ..Env::default()
        };
        let folder = temp.path().join(format!("resemble-{uid}"));
        assert_eq!(temporary_view_dir(&of(uid)).unwrap(), folder.join("view"));
        assert!(folder.is_dir() && !folder.join("view").exists());
        // The folder belongs to another user: the test changes the user id, and not the owner.
        fs::create_dir(temp.path().join(format!("resemble-{}", uid + 1))).unwrap();
        assert!(temporary_view_dir(&of(uid + 1)).is_err());
        fs::remove_dir(&folder).unwrap();
        std::os::unix::fs::symlink(temp.path(), &folder).unwrap();
        assert!(temporary_view_dir(&of(uid)).is_err());
    }

    #[test]
    fn the_cache() {
        let env = env(&[("HOME", "/h")], &nowhere(), 0);
        let mut params = resemble_core::Params::default();
        assert_eq!(
            cache_file(&env, &params).unwrap(),
            Path::new("/h/.cache/resemble/cache.redb")
        );
        assert_eq!(cache_dir(&env).unwrap(), Path::new("/h/.cache/resemble"));
        params.sampling.cap = 64;
        let other = cache_file(&env, &params).unwrap();
        assert_eq!(
            other,
            Path::new(&format!("/h/.cache/resemble/cache-{params}.redb"))
        );
    }

    #[test]
    fn private_folders() {
        let temp = tempfile::tempdir().unwrap();
        let uid = rustix::process::geteuid().as_raw();
        let folder = temp.path().join("a/b");
        private_dir(&folder, uid).unwrap();
        private_dir(&folder, uid).unwrap();
        for made in [&folder, &temp.path().join("a")] {
            assert_eq!(
                fs::metadata(made).unwrap().permissions().mode() & 0o777,
                0o700
            );
        }
        let theirs = private_dir(&folder, uid + 1);
        assert!(
            matches!(theirs, Err(PlaceError::NotOurs { .. })),
            "{theirs:?}"
        );
        fs::write(temp.path().join("file"), "").unwrap();
        let file = private_dir(&temp.path().join("file"), uid);
        assert!(
            matches!(file, Err(PlaceError::NotAFolder { .. })),
            "{file:?}"
        );
    }
}
