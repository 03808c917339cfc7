//! Makes and removes mounts, in two ways: by `mount(2)` with privileges, and by `fusermount3`
//! without.
//!
//! fuser implements both ways, but version 0.18 has three faults. If the mount of fuser is already
//! gone, fuser unmounts any other mount at the path. If the mount is busy, fuser leaves a dead
//! mount behind. It cannot unmount lazily. So the descriptor is made here, and fuser only serves
//! it.
//!
//! * The kernel is asked first. The helper is asked only if the kernel returns EPERM. Privileges
//!   are not guessed from a user id.
//! * The helper sends the descriptor over a socket, whose number is in the variable `_FUSE_COMMFD`.
//!   The socket is the helper's standard input. So no other process inherits it, and no code of
//!   ours runs between fork and exec.
//! * The options are constants. Nothing in a user's path, such as a comma, can become an option.

use std::ffi::CString;
use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::process::{Command, Stdio};

use resemble_mounts::OUR_TYPE;
use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::mount::{MountFlags, UnmountFlags};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags,
};

use super::MountError;

const DEVICE: &str = "/dev/fuse";
/// The name that `mount` and `df` show as the source of the mount.
const SOURCE: &str = "resemble";
/// The names of the helper, in the order in which they are tried. The first is found through PATH.
/// The others are paths, because the PATH of a service is short.
const HELPERS: [&str; 4] = [
    "fusermount3",
    "/usr/bin/fusermount3",
    "/bin/fusermount3",
    "/usr/local/bin/fusermount3",
];

/// Mounts an overlay on an existing directory. Returns the descriptor of the connection to the
/// kernel. The kernel has sent its first message on that connection.
pub(super) fn mount(point: &Path) -> Result<OwnedFd, MountError> {
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let device =
        rustix::fs::open(DEVICE, flags, Mode::empty()).map_err(|errno| MountError::Device {
            source: errno.into(),
        })?;
    match direct(&device, point) {
        Ok(()) => Ok(device),
        Err(Errno::PERM) => {
            drop(device);
            by_helper(point)
        }
        Err(errno) => Err(MountError::Mount {
            path: point.to_owned(),
            source: errno.into(),
        }),
    }
}

/// Mounts an overlay on an existing directory for all users. The caller must be root. `uid` and
/// `gid` are the ids of the process that will serve the descriptor. That process decides which
/// caller sees what. An earlier mount of ours at the path is removed first.
pub fn mount_for_all(point: &Path, (uid, gid): (u32, u32)) -> Result<OwnedFd, MountError> {
    let failed = |source| MountError::Mount {
        path: point.to_owned(),
        source,
    };
    // There may be several mounts at the path, one for each daemon that was killed.
    for _ in 0..64 {
        let is_ours = |mount: &resemble_mounts::Mount| mount.point == point && mount.is_ours();
        if !resemble_mounts::read().map_err(failed)?.iter().any(is_ours) {
            break;
        }
        detach(point).map_err(failed)?;
    }
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let device = rustix::fs::open(DEVICE, flags, Mode::empty());
    let device = device.map_err(|errno| MountError::Device {
        source: errno.into(),
    })?;
    // The option `default_permissions` is not set. With that option the kernel would judge by modes
    // and owners alone, which would be wrong.
    let data = format!(
        "fd={},rootmode=40000,user_id={uid},group_id={gid},allow_other",
        device.as_raw_fd()
    );
    let data = CString::new(data).map_err(|error| failed(error.into()))?;
    let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV | MountFlags::NOEXEC;
    rustix::mount::mount(SOURCE, point, OUR_TYPE, flags, data.as_c_str())
        .map_err(|errno| failed(errno.into()))?;
    Ok(device)
}

/// Unmounts an overlay. `root` is a descriptor of its root, opened with `O_PATH`. Another mount at
/// the same point stays, and so does an overlay that another mount covers.
///
/// # Errors
///
/// Fails if the mount table cannot be read, or the kernel refuses.
pub fn unmount_root(root: BorrowedFd<'_>) -> io::Result<()> {
    let id = resemble_mounts::mount_id(root);
    let mounts = resemble_mounts::read()?;
    let ours = mounts.iter().find(|it| Some(it.id) == id && it.is_ours());
    // The last mount at a point covers the others.
    let last = ours.and_then(|ours| mounts.iter().rfind(|it| it.point == ours.point));
    if last.is_none_or(|last| Some(last.id) != id) {
        return Ok(());
    }
    // A new daemon may replace the mount at any moment. The descriptor leads only to the old mount.
    let path = format!("/proc/self/fd/{}", root.as_raw_fd());
    match rustix::mount::unmount(path, UnmountFlags::DETACH) {
        Err(Errno::INVAL) => Ok(()),
        other => other.map_err(io::Error::from),
    }
}

/// Sends the descriptor of a mount to the process that will serve it.
pub fn send_device(to: &UnixStream, device: &OwnedFd) -> io::Result<()> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    let devices = [device.as_fd()];
    if !control.push(SendAncillaryMessage::ScmRights(&devices)) {
        return Err(io::Error::other("no room for a descriptor"));
    }
    let data = [IoSlice::new(&[0])];
    rustix::net::sendmsg(to, &data, &mut control, SendFlags::empty())?;
    Ok(())
}

fn direct(device: &OwnedFd, point: &Path) -> Result<(), Errno> {
    let data = format!(
        "fd={},rootmode=40000,user_id={},group_id={},default_permissions",
        device.as_raw_fd(),
        rustix::process::getuid().as_raw(),
        rustix::process::getgid().as_raw(),
    );
    let data = CString::new(data).map_err(|_| Errno::INVAL)?;
    let flags = MountFlags::RDONLY | MountFlags::NOSUID | MountFlags::NODEV;
    rustix::mount::mount(SOURCE, point, OUR_TYPE, flags, data.as_c_str())
}

fn by_helper(point: &Path) -> Result<OwnedFd, MountError> {
    let refused = |message: String| MountError::Refused {
        path: point.to_owned(),
        message,
    };
    let broken = |source: io::Error| MountError::Mount {
        path: point.to_owned(),
        source,
    };
    let (ours, theirs) = UnixStream::pair().map_err(broken)?;
    let options = format!("ro,nosuid,nodev,default_permissions,fsname={SOURCE},subtype={SOURCE}");
    let mut theirs = Some(OwnedFd::from(theirs));
    let mut child = None;
    for helper in HELPERS {
        let Some(socket) = theirs.take() else { break };
        let copy = socket.try_clone().map_err(broken)?;
        let started = Command::new(helper)
            .args(["-o", &options, "--"])
            .arg(point)
            .env("_FUSE_COMMFD", "0")
            .stdin(Stdio::from(copy))
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn();
        match started {
            Ok(started) => child = Some(started),
            Err(error) if error.kind() == io::ErrorKind::NotFound => theirs = Some(socket),
            Err(error) => return Err(broken(error)),
        }
    }
    drop(theirs); // now only the helper holds its end, so its death is an end of file
    let Some(mut child) = child else {
        return Err(MountError::NoHelper);
    };

    let device = receive_device(&ours);
    drop(ours);
    let mut message = String::new();
    if let Some(stderr) = child.stderr.take() {
        // A message that is not UTF-8 is lost, but the exit status is shown in any case.
        let _unreadable = stderr.take(4096).read_to_string(&mut message);
    }
    let status = child.wait().map_err(broken)?;
    match device {
        Ok(Some(device)) if status.success() => Ok(device),
        Err(error) if status.success() => Err(broken(error)),
        _ => Err(refused(format!("{} ({status})", message.trim()))),
    }
}

/// Receives the descriptor of a mount; `None` if the other process ends without sending one.
pub fn receive_device(socket: &UnixStream) -> io::Result<Option<OwnedFd>> {
    let mut byte = [0];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(1))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let received = loop {
        let mut data = [IoSliceMut::new(&mut byte)];
        match rustix::net::recvmsg(socket, &mut data, &mut control, RecvFlags::CMSG_CLOEXEC) {
            Err(Errno::INTR) => {}
            other => break other?,
        }
    };
    if received.bytes == 0 {
        return Ok(None);
    }
    Ok(control.drain().find_map(|message| match message {
        RecvAncillaryMessage::ScmRights(mut fds) => fds.next(),
        _ => None,
    }))
}

/// Removes a mount of ours from its path, at once and lazily: processes inside keep a dead
/// directory. With privileges the connection to the kernel is closed, too.
pub(super) fn detach(point: &Path) -> io::Result<()> {
    // FORCE closes the connection, so that the server ends even if a working directory keeps the
    // file system alive. DETACH removes the mount even if it is busy.
    let flags = UnmountFlags::FORCE | UnmountFlags::DETACH | UnmountFlags::NOFOLLOW;
    match rustix::mount::unmount(point, flags) {
        // EINVAL means that nothing is mounted at the path any more, which is the goal.
        Ok(()) | Err(Errno::INVAL | Errno::NOENT) => Ok(()),
        Err(Errno::PERM) => detach_by_helper(point),
        Err(errno) => Err(errno.into()),
    }
}

fn detach_by_helper(point: &Path) -> io::Result<()> {
    for helper in HELPERS {
        let run = Command::new(helper)
            .args(["-u", "-z", "--"])
            .arg(point)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .output();
        return match run {
            Ok(output) if output.status.success() => Ok(()),
            Ok(output) => Err(io::Error::other(
                String::from_utf8_lossy(&output.stderr).trim().to_owned(),
            )),
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => Err(error),
        };
    }
    Err(io::Error::new(
        io::ErrorKind::NotFound,
        "fusermount3 is not installed",
    ))
}

/// Closes the connection of a device (`major:minor`) through fusectl. The owner of the connection
/// needs no privileges for that.
pub(super) fn abort(device: &str) -> io::Result<()> {
    let number = device.split_once(':').map_or(device, |(_, minor)| minor);
    std::fs::write(format!("/sys/fs/fuse/connections/{number}/abort"), "1")
}
