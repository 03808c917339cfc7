//! Starts the indexer of system mode: acquires its resources, and then drops its rights.
//!
//! There are two ways to start. **Started as root**, the process makes its folders, and starts the
//! checker and the starter of readers. It mounts the view itself, and becomes the daemon's user.
//! **Started by the service manager**, the process is that user already and has one capability. The
//! checker, the starter and the mount helper are then units of their own, and the process connects
//! to their sockets. The resulting process is the same: it has one capability, no way to get
//! another, and both restrictions of `fences`. All of this happens before a second thread is
//! started.
//!
//! The indexer has no right to unmount the view. A unit of the service manager unmounts it when the
//! daemon has ended. Started as root, the process starts another helper for this, the unmounter.

use std::fs::{self, DirBuilder, Permissions};
use std::io::{self, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::os::unix::net::{UnixListener, UnixStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use resemble_callers::accounts::Accounts;
use resemble_callers::helper::serve_each;
use resemble_callers::{rights, serve};
use resemble_fs::MountError;
use resemble_scan::parts::{MOST_WORKERS, refuse_worker, start_worker};
use rustix::fs::{Mode, OFlags};
use rustix::thread::CapabilitySet;

use super::{System, fences, starter_fence};
use crate::config::{Config, SystemConfig, held_fast, numbers};

/// The first argument of a process that is to be a checker.
const CHECKER: &str = "--checker";
/// The first argument of a process that is to be a starter of readers. If root starts this process,
/// the process becomes the user that the argument after [`WHILE_HELD`] names.
const STARTER: &str = "--starter";
/// The first argument of a process that is to unmount the view when the daemon ends. Its standard
/// input is the root of the view.
const UNMOUNTER: &str = "--unmounter";
/// The second argument of a helper that must end when the other end of its standard output is
/// closed. (The daemon could not kill it: by then the daemon runs as another user.)
const WHILE_HELD: &str = "--while-held";
/// The first argument of a process that is to be a mount helper. The second argument is the mount
/// point.
const MOUNT_HELPER: &str = "--mount-helper";
/// The sockets at which the units of the service manager provide the checker, the starter and the
/// mount helper.
const CHECKER_SOCKET: &str = "/run/resemble-checker.socket";
const STARTER_SOCKET: &str = "/run/resemble-starter.socket";
const MOUNT_SOCKET: &str = "/run/resemble-mount.socket";

/// The reason why system mode cannot start.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs)] // each says what could not be had
pub enum SystemError {
    #[error("cannot make {}: {source}", path.display())]
    Place { path: PathBuf, source: io::Error },
    #[error("another resembled answers at {}; use that one", path.display())]
    InUse { path: PathBuf },
    #[error("{} is no place for system mode: others than root may write above it", path.display())]
    Loose { path: PathBuf },
    #[error("cannot start its helper `resembled {what}`: {source}")]
    Helper {
        what: &'static str,
        source: io::Error,
    },
    #[error(
        "the checker does not answer at {}: {source}; `systemctl start resemble-checker.socket`",
        path.display()
    )]
    NoChecker { path: PathBuf, source: io::Error },
    #[error(
        "the mount helper does not answer at {MOUNT_SOCKET}: {0}; `systemctl start \
         resemble-mount.socket`, or --no-mount"
    )]
    NoHelper(io::Error),
    #[error(transparent)]
    Mount(#[from] MountError),
    #[error("cannot give up rights: {0}")]
    Rights(io::Error),
    #[error("a fence cannot be put up, and without it nothing is read: {0}")]
    Fence(String),
}

/// Resources that the daemon acquires before it restricts itself, because it could not acquire them
/// later.
#[derive(Debug)]
pub struct Entered {
    /// Decides which users may see which files.
    pub system: System,
    /// The connection of the mounted view to the kernel.
    pub device: Option<OwnedFd>,
    /// The socket at which the workers that read documents are started.
    pub starter: PathBuf,
    /// The sockets of helpers that this process has started. The daemon removes them at its end.
    pub sockets: Vec<PathBuf>,
}

/// Acquires the resources of the indexer, and then drops all rights that it does not need.
///
/// # Errors
///
/// Fails if a resource is missing or a right cannot be dropped. No watched file has been read by
/// then.
pub fn enter(config: &Config, system: &SystemConfig) -> Result<Entered, SystemError> {
    let runtime = config.socket.parent().unwrap_or(Path::new("/run/resemble"));
    let is_root = rustix::process::geteuid().is_root();
    let (checker, starter, device);
    let (mut held, mut sockets) = (Vec::new(), Vec::new());
    if is_root {
        // This check comes first, because the following steps replace the sockets of a running
        // daemon.
        if UnixStream::connect(&config.socket).is_ok() {
            let path = config.socket.clone();
            return Err(SystemError::InUse { path });
        }
        folder(&config.state, 0o700, system, system.user)?;
        // While root works in this folder, the folder belongs to root. So no other user can
        // exchange its entries.
        folder(runtime, 0o755, system, (0, 0))?;
        checker = runtime.join("checker");
        held.push(start_helper(CHECKER, &checker, system)?);
        starter = runtime.join("starter");
        held.push(start_helper(STARTER, &starter, system)?);
        sockets.extend([checker.clone(), starter.clone()]);
        folder(runtime, 0o755, system, system.user)?;
        device = match &config.mount {
            Some(point) => {
                let device = mount(point, system.user)?;
                held.push(start_unmounter(point, system)?);
                Some(device)
            }
            None => None,
        };
        let (uid, gid) = system.user;
        rights::become_user(uid, gid).map_err(SystemError::Rights)?;
    } else {
        checker = PathBuf::from(CHECKER_SOCKET);
        starter = PathBuf::from(STARTER_SOCKET);
        let helped = || {
            let helper = UnixStream::connect(MOUNT_SOCKET)?;
            let device = resemble_fs::receive_device(&helper)?;
            device.ok_or_else(|| io::Error::other("it could not mount; its journal says why"))
        };
        let device_of_helper = config.mount.as_ref().map(|_| helped()).transpose();
        device = device_of_helper.map_err(SystemError::NoHelper)?;
    }
    rights::keep_only(CapabilitySet::DAC_READ_SEARCH).map_err(SystemError::Rights)?;
    let read: Vec<PathBuf> = config.roots.iter().map(|root| root.path.clone()).collect();
    // The lists of users are read now, because the restrictions prevent that later.
    let accounts = Accounts::of_machine();
    fences::put_up(&read, &[&config.state, runtime]).map_err(SystemError::Fence)?;
    let path = checker.clone();
    let system = System::new(&checker, system.control_group, accounts)
        .map_err(|source| SystemError::NoChecker { path, source })?;
    Ok(Entered {
        system: system.holding(held),
        device,
        starter,
        sockets,
    })
}

/// Makes a folder that belongs to this owner. An existing folder is taken over if it belongs to
/// root or to the user of the daemon.
fn folder(
    path: &Path,
    mode: u32,
    system: &SystemConfig,
    (uid, gid): (u32, u32),
) -> Result<(), SystemError> {
    only_root_above(path)?;
    let failed = |source| SystemError::Place {
        path: path.to_owned(),
        source,
    };
    match DirBuilder::new().recursive(true).mode(mode).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => other.map_err(failed)?,
    }
    let there = fs::symlink_metadata(path).map_err(failed)?;
    if !there.is_dir() || ![0, system.user.0].contains(&there.uid()) {
        let text = "it is no folder of root or of the user of the daemon";
        return Err(failed(io::Error::other(text)));
    }
    chown(path, Some(uid), Some(gid)).map_err(failed)?;
    // The mode is set again, because the umask reduces the mode of a new folder.
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(failed)
}

/// Refuses a path if another user could redirect it while root works there.
fn only_root_above(path: &Path) -> Result<(), SystemError> {
    // Only folders that exist are checked. Root makes the missing folders. The path itself is not
    // accessed, because it may be a mount that does not answer.
    let mut above = path.ancestors().skip(1);
    let there = above.find(|at| at.exists()).unwrap_or(Path::new("/"));
    let place = there.join("made");
    held_fast(&place, 0).map_err(|_| SystemError::Loose {
        path: path.to_owned(),
    })
}

/// Starts a helper with a socket that only the daemon's user can connect to. The helper ends when
/// the returned stream is closed, at the latest at the end of this process.
fn start_helper(
    what: &'static str,
    socket: &Path,
    system: &SystemConfig,
) -> Result<UnixStream, SystemError> {
    let start = || {
        if fs::symlink_metadata(socket).is_ok() {
            fs::remove_file(socket)?;
        }
        let listener = UnixListener::bind(socket)?;
        let (uid, gid) = system.user;
        chown(socket, Some(uid), Some(gid))?;
        fs::set_permissions(socket, Permissions::from_mode(0o600))?;
        start_held(what, OwnedFd::from(listener), system)
    };
    start().map_err(|source| SystemError::Helper { what, source })
}

/// Starts the helper that unmounts the view. It does so when the returned stream is closed, in
/// whatever way this process ends.
fn start_unmounter(point: &Path, system: &SystemConfig) -> Result<UnixStream, SystemError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = rustix::fs::open(point, flags, Mode::empty()).map_err(io::Error::from);
    let started = root.and_then(|root| start_held(UNMOUNTER, root, system));
    started.map_err(|source| SystemError::Helper {
        what: UNMOUNTER,
        source,
    })
}

/// Starts a helper with this standard input. The helper has a process group of its own. So Ctrl-C
/// in the terminal first ends only the daemon, and the helper ends after it.
fn start_held(what: &str, stdin: OwnedFd, system: &SystemConfig) -> io::Result<UnixStream> {
    let (uid, gid) = system.user;
    let (ours, theirs) = UnixStream::pair()?;
    Command::new("/proc/self/exe")
        .args([what, WHILE_HELD, &format!("{uid}:{gid}")])
        .env_clear()
        .current_dir("/")
        .process_group(0)
        .stdin(Stdio::from(stdin))
        .stdout(Stdio::from(OwnedFd::from(theirs)))
        .spawn()?;
    Ok(ours)
}

/// Mounts the view for all users. A view that an earlier daemon left behind is replaced.
fn mount(point: &Path, user: (u32, u32)) -> Result<OwnedFd, SystemError> {
    only_root_above(point)?;
    match DirBuilder::new().recursive(true).mode(0o755).create(point) {
        // If the path is a mount of ours, making the folder may fail because that mount does not
        // answer. This is ignored, because the mount is replaced.
        Ok(()) | Err(_) if resemble_fs::is_inside_resemble_mount(point) => {}
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        other => other.map_err(|source| SystemError::Place {
            path: point.to_owned(),
            source,
        })?,
    }
    Ok(resemble_fs::mount_for_all(point, user)?)
}

/// Runs a helper if the arguments request one, and returns `None` otherwise. If the helper fails,
/// returns its message.
pub fn helper(
    mut arguments: impl Iterator<Item = std::ffi::OsString>,
) -> Option<Result<(), String>> {
    let first = arguments.nth(1)?;
    let stdin = || io::stdin().as_fd().try_clone_to_owned();
    if first == CHECKER || first == STARTER {
        let is_held = arguments.next().is_some_and(|word| word == WHILE_HELD);
        let user = arguments.next().and_then(|user| numbers(user.to_str()?));
        let help = || {
            let listener = stdin()?;
            let holder = is_held.then(|| io::stdout().as_fd().try_clone_to_owned());
            let holder = holder.transpose()?;
            if first == CHECKER {
                return serve::serve(listener, holder);
            }
            if let Some((uid, gid)) = user {
                rights::become_user(uid, gid)?;
            }
            rights::keep_only(CapabilitySet::empty())?;
            starter_fence::put_up().map_err(io::Error::other)?;
            serve_each(
                listener,
                holder,
                MOST_WORKERS,
                refuse_worker,
                |connection| {
                    // A caller that sends a faulty request, or disconnects, gets no reply. So the
                    // error is ignored.
                    let _over = start_worker(connection);
                },
            )
        };
        let name = first.to_string_lossy();
        let name = name.trim_start_matches('-').to_owned();
        return Some(help().map_err(|error| format!("the {name} ends: {error}")));
    }
    if first == UNMOUNTER {
        let help = || {
            rights::keep_only(CapabilitySet::SYS_ADMIN)?;
            let mut holder = UnixStream::from(io::stdout().as_fd().try_clone_to_owned()?);
            // The daemon never sends anything, so any result means that it has ended.
            let _ended = holder.read(&mut [0]);
            resemble_fs::unmount_root(io::stdin().as_fd())
        };
        return Some(help().map_err(|error: io::Error| format!("the view stays: {error}")));
    }
    if first == MOUNT_HELPER {
        let point = PathBuf::from(arguments.next().unwrap_or_default());
        let help = || {
            let peer = UnixStream::from(stdin().map_err(|error| error.to_string())?);
            let asker = rustix::net::sockopt::socket_peercred(&peer);
            let asker = asker.map_err(|error| error.to_string())?;
            let user = (asker.uid.as_raw(), asker.gid.as_raw());
            let device = mount(&point, user).map_err(|error| error.to_string())?;
            resemble_fs::send_device(&peer, &device).map_err(|error| error.to_string())
        };
        return Some(help().map_err(|error| format!("nothing is mounted: {error}")));
    }
    None
}
