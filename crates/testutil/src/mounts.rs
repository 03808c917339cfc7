//! Mounts that are removed when a test ends.

use std::ffi::CString;
use std::fs::{self, File};
use std::io::Write;
use std::os::fd::AsRawFd;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use rustix::mount::{MountFlags, UnmountFlags};

use crate::{PATIENCE, TempTree, is_installed, skipped};

/// A mount point. It is unmounted when it is dropped, even if it is in use.
#[derive(Debug)]
pub struct Mounted(pub PathBuf);

impl Mounted {
    /// Returns a path in the mounted file system.
    pub fn path(&self, name: impl AsRef<Path>) -> PathBuf {
        self.0.join(name)
    }

    /// Remounts the file system with these options of `mount`.
    pub fn remount(&self, options: &str) {
        let mut mount = Command::new("mount");
        mount.arg("-o").arg(format!("remount,{options}"));
        let done = mount.arg(&self.0).status().expect("mount runs");
        assert!(done.success(), "{mount:?}: {done}");
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        // The test may have unmounted it already.
        let _gone = rustix::mount::unmount(&self.0, UnmountFlags::DETACH);
    }
}

/// Mounts a file system of this kind. Without permission to mount, returns `None`, and the test is
/// [`skipped`].
pub fn mount(kind: &str, at: impl Into<PathBuf>, options: &str) -> Option<Mounted> {
    let at = at.into();
    fs::create_dir_all(&at).expect("a folder");
    let options = CString::new(options).expect("no NUL");
    match rustix::mount::mount(kind, &at, kind, MountFlags::empty(), options.as_c_str()) {
        Ok(()) => Some(Mounted(at)),
        Err(error) => {
            skipped(format_args!("{kind} cannot be mounted: {error}"));
            None
        }
    }
}

/// Mounts a folder a second time. Without permission to mount, returns `None`, and the test is
/// [`skipped`].
pub fn bind(folder: &Path, at: impl Into<PathBuf>) -> Option<Mounted> {
    let at = at.into();
    fs::create_dir_all(&at).expect("a folder");
    match rustix::mount::mount_bind(folder, &at) {
        Ok(()) => Some(Mounted(at)),
        Err(error) => {
            skipped(format_args!("a folder cannot be mounted again: {error}"));
            None
        }
    }
}

/// Mounts a small disk: a file system in memory with this size, for example `12m`. If this is not
/// possible, returns `None`, and the test is [`skipped`].
pub fn tmpfs(at: impl Into<PathBuf>, size: &str) -> Option<Mounted> {
    mount("tmpfs", at, &format!("size={size},mode=0700"))
}

/// Writes to a new file until the disk is full.
pub fn fill(path: &Path) {
    let mut file = File::create(path).expect("a file");
    for size in [1 << 16, 1] {
        while file.write_all(&vec![7; size]).is_ok() {}
    }
}

/// A mounted file system that does not answer until it is dropped.
#[derive(Debug)]
pub struct Hung {
    // The fields are dropped in order. The device is dropped first, so that waiting requests fail.
    _device: File,
    /// The mount point.
    pub mounted: Mounted,
}

impl Hung {
    /// Returns as soon as a thread of this process waits for an answer from this file system. The
    /// process must not use another file system that does not answer.
    pub fn wait_until_asked(&self) {
        let began = Instant::now();
        let waits = || {
            let threads = fs::read_dir("/proc/self/task").expect("threads");
            threads.flatten().any(|thread| {
                let of = |file| fs::read_to_string(thread.path().join(file)).unwrap_or_default();
                // The kernel may not report the function in which a thread waits. In that case the
                // thread's state `D` shows that it waits for a device.
                match &*of("wchan") {
                    "" | "0" => of("stat").contains(") D "),
                    function => function.contains("fuse"),
                }
            })
        };
        while !waits() {
            assert!(began.elapsed() < PATIENCE, "nobody asked");
            std::thread::yield_now();
        }
    }
}

/// Mounts a file system that does not answer. If this is not possible, returns `None`, and the test
/// is [`skipped`].
pub fn hung(at: impl Into<PathBuf>) -> Option<Hung> {
    match File::options().read(true).write(true).open("/dev/fuse") {
        Ok(device) => {
            let fd = device.as_raw_fd();
            let options = format!("fd={fd},rootmode=40000,user_id=0,group_id=0");
            mount("fuse", at, &options).map(|mounted| Hung {
                _device: device,
                mounted,
            })
        }
        Err(error) => {
            skipped(format_args!("/dev/fuse: {error}"));
            None
        }
    }
}

/// Returns whether the overlay can be mounted here. If not, the test is [`skipped`].
pub fn fuse_works() -> bool {
    if rustix::process::geteuid().is_root() {
        return hung(TempTree::new().root()).is_some();
    }
    if let Err(error) = File::options().read(true).write(true).open("/dev/fuse") {
        skipped(format_args!("/dev/fuse: {error}"));
        return false;
    }
    is_installed("fusermount3")
}
