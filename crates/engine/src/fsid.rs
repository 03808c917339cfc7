//! File systems: a name that survives a reboot, and which of them are never entered.
//!
//! `st_dev` is a number the kernel hands out anew at each boot (and to each loop device, btrfs
//! subvolume and tmpfs as it comes), so an index keyed by it would re-read everything after a
//! reboot or, worse, take one file for another. The name is made of, in this order:
//!
//! 1. the UUID that `/dev/disk/by-uuid` gives for the block device `st_dev`: stable wherever udev
//!    runs, and the only stable thing xfs has (its `f_fsid` is the device number);
//! 2. type and `f_fsid` of `statfs(2)`: ext4, btrfs, f2fs and others fold their UUID into it, a
//!    tmpfs has one for its lifetime;
//! 3. type and `st_dev`: better than nothing, and wrong at worst by reading again.
//!
//! Names are cached by `st_dev` for the length of one reconcile only: the number may belong to
//! another file system after an unmount.
//!
//! **Never entered.** What a pseudo file system shows are no files: sizes lie, reading may block
//! or have effects. FUSE is left out because a hung server hangs its reader (and because our own
//! overlay is one). Both are known by `f_type` of the open directory; the mount table, read once
//! per reconcile, gives the same answer by *path* so that a hung FUSE mount is not even stat'ed.

use std::collections::{HashMap, HashSet};
use std::ffi::OsString;
use std::os::fd::BorrowedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use resemble_index::FsId;

/// What a file system is to us.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsClass {
    /// Holds files.
    Real,
    /// Made up by the kernel: never entered.
    Pseudo,
    /// Served by a process: never entered below a root.
    Fuse,
}

/// `f_type` of FUSE, `FUSE_SUPER_MAGIC` of the kernel.
const FUSE_MAGIC: u32 = 0x6573_5546;

/// `f_type` of what never holds files; from `include/uapi/linux/magic.h` and the sources of the
/// file systems that define their own.
const PSEUDO_MAGICS: &[u32] = &[
    0x0000_9fa0, // proc
    0x6265_6572, // sysfs
    0x0027_e0eb, // cgroup
    0x6367_7270, // cgroup2
    0x0000_1cd1, // devpts
    0x7472_6163, // tracefs
    0x6462_6720, // debugfs
    0x7363_6673, // securityfs
    0xcafe_4a11, // bpf
    0x6265_6570, // configfs
    0x6573_5543, // fusectl
    0x1980_0202, // mqueue
    0x9584_58f6, // hugetlbfs
    0x0000_0187, // autofs
    0x6e73_6673, // nsfs
    0xde5e_81e4, // efivarfs
    0x6165_676c, // pstore
    0x4249_4e4d, // binfmt_misc
    0x6c6f_6f70, // binderfs
    0xf97c_ff8c, // selinuxfs
    0x4341_5d53, // smackfs
    0x5a3c_69f0, // apparmorfs
    0x6759_6969, // rpc_pipefs
    0x0765_5821, // rdtgroup (resctrl)
    0x5049_5045, // pipefs
    0x534f_434b, // sockfs
    0x0904_1934, // anon_inodefs
    0x5049_4446, // pidfs
];

/// The same by the names of the mount table.
const PSEUDO_NAMES: &[&str] = &[
    "proc",
    "sysfs",
    "cgroup",
    "cgroup2",
    "devpts",
    "tracefs",
    "debugfs",
    "securityfs",
    "bpf",
    "configfs",
    "fusectl",
    "mqueue",
    "hugetlbfs",
    "autofs",
    "nsfs",
    "efivarfs",
    "pstore",
    "binfmt_misc",
    "binder",
    "selinuxfs",
    "smackfs",
    "apparmorfs",
    "rpc_pipefs",
    "resctrl",
    "nfsd",
];

/// The class of a file system with this `f_type`.
pub fn class_of_magic(f_type: u32) -> FsClass {
    if f_type == FUSE_MAGIC {
        FsClass::Fuse
    } else if PSEUDO_MAGICS.contains(&f_type) {
        FsClass::Pseudo
    } else {
        FsClass::Real
    }
}

/// The class of a file system with this name in the mount table.
pub fn class_of_name(name: &str) -> FsClass {
    if name == "fuse" || name == "fuseblk" || name.starts_with("fuse.") {
        FsClass::Fuse
    } else if PSEUDO_NAMES.contains(&name) {
        FsClass::Pseudo
    } else {
        FsClass::Real
    }
}

/// The class of the file system that holds an open file or directory.
pub fn class_of(fd: BorrowedFd<'_>) -> rustix::io::Result<FsClass> {
    Ok(class_of_magic(rustix::fs::fstatfs(fd)?.f_type as u32))
}

/// Names of file systems, found once per `st_dev`.
#[derive(Debug, Default)]
pub struct FsIds {
    known: HashMap<u64, FsId>,
    uuids: Option<HashMap<u64, String>>,
}

impl FsIds {
    /// Forgets all names: `st_dev` may mean another file system by now.
    pub fn clear(&mut self) {
        self.known.clear();
        self.uuids = None;
    }

    /// The name of the file system that holds the open `fd`, whose `st_dev` is `dev`.
    pub fn id_of(&mut self, fd: BorrowedFd<'_>, dev: u64) -> FsId {
        if let Some(id) = self.known.get(&dev) {
            return id.clone();
        }
        let uuids = self
            .uuids
            .get_or_insert_with(|| uuids_in(Path::new("/dev/disk/by-uuid")));
        let id = match uuids.get(&dev) {
            Some(uuid) => FsId(format!("uuid:{uuid}")),
            None => Self::without_uuid(fd, dev),
        };
        self.known.insert(dev, id.clone());
        id
    }

    fn without_uuid(fd: BorrowedFd<'_>, dev: u64) -> FsId {
        let fsid = rustix::fs::fstatvfs(fd).map_or(0, |fs| fs.f_fsid);
        let f_type = rustix::fs::fstatfs(fd).map_or(0, |fs| fs.f_type as u32);
        if fsid == 0 {
            FsId(format!("dev:{f_type:x}:{dev:x}"))
        } else {
            FsId(format!("fsid:{f_type:x}:{fsid:x}"))
        }
    }
}

/// Device number to UUID for each link of such a folder; empty without one.
fn uuids_in(folder: &Path) -> HashMap<u64, String> {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return HashMap::new();
    };
    entries
        .flatten()
        .filter_map(|entry| {
            let stat = rustix::fs::stat(entry.path()).ok()?;
            let block = rustix::fs::FileType::from_raw_mode(stat.st_mode)
                == rustix::fs::FileType::BlockDevice;
            block.then(|| {
                (
                    stat.st_rdev,
                    entry.file_name().to_string_lossy().into_owned(),
                )
            })
        })
        .collect()
}

/// Where something is mounted that is never entered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MountTable {
    /// By the directory that the mount point is a name in.
    never: HashMap<PathBuf, HashSet<OsString>>,
}

impl MountTable {
    /// Reads `/proc/self/mountinfo`. Without one (no `/proc`) the table is empty and only
    /// `f_type` decides.
    pub fn load() -> Self {
        std::fs::read("/proc/self/mountinfo").map_or_else(|_| Self::default(), |t| Self::parse(&t))
    }

    /// Parses the format of `proc_pid_mountinfo(5)`: the mount point is the fifth field, the type
    /// the first one after the field that is a lone `-`. A later line for one path is mounted
    /// over the earlier and counts.
    pub fn parse(table: &[u8]) -> Self {
        let mut points = HashSet::new();
        for line in table.split(|&byte| byte == b'\n') {
            let mut fields = line.split(|&byte| byte == b' ');
            let Some(point) = fields.nth(4) else { continue };
            let Some(kind) = fields.skip_while(|field| *field != b"-").nth(1) else {
                continue;
            };
            let point = PathBuf::from(OsString::from_vec(unescape(point)));
            match class_of_name(&String::from_utf8_lossy(kind)) {
                FsClass::Real => points.remove(&point),
                FsClass::Pseudo | FsClass::Fuse => points.insert(point),
            };
        }
        let mut never: HashMap<PathBuf, HashSet<OsString>> = HashMap::new();
        for point in points {
            if let (Some(dir), Some(name)) = (point.parent(), point.file_name()) {
                never
                    .entry(dir.to_owned())
                    .or_default()
                    .insert(name.to_owned());
            }
        }
        Self { never }
    }

    /// Whether something that is never entered is mounted exactly here.
    pub fn never_entered(&self, path: &Path) -> bool {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            return false;
        };
        self.names_in(dir).is_some_and(|names| names.contains(name))
    }

    /// The names of a directory that are never entered.
    pub fn names_in(&self, dir: &Path) -> Option<&HashSet<OsString>> {
        self.never.get(dir)
    }
}

/// Undoes the octal escapes (`\040`) of the mount table.
fn unescape(field: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(field.len());
    let mut rest = field;
    while let Some((&byte, tail)) = rest.split_first() {
        let octal = tail
            .get(..3)
            .filter(|d| d.iter().all(|b| (b'0'..=b'7').contains(b)));
        match octal {
            Some(digits) if byte == b'\\' => {
                let value = digits.iter().fold(0u32, |n, d| n * 8 + u32::from(d - b'0'));
                out.push(value as u8);
                rest = &tail[3..];
            }
            _ => {
                out.push(byte);
                rest = tail;
            }
        }
    }
    out
}

/// Whether `path` is one of `excluded` or lies below one.
pub(crate) fn is_under_any(path: &Path, excluded: &[PathBuf]) -> bool {
    excluded.iter().any(|e| {
        let (path, e) = (path.as_os_str().as_bytes(), e.as_os_str().as_bytes());
        path.starts_with(e) && (path.len() == e.len() || path[e.len()] == b'/' || e == b"/")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;

    #[test]
    fn classes_by_magic_and_by_open_directory() {
        assert_eq!(class_of_magic(FUSE_MAGIC), FsClass::Fuse);
        assert_eq!(class_of_magic(0xef53), FsClass::Real); // ext4
        assert_eq!(class_of_magic(0x0102_1994), FsClass::Real); // tmpfs
        assert_eq!(class_of_magic(0x794c_7630), FsClass::Real); // overlayfs
        let proc = std::fs::File::open("/proc").unwrap();
        assert_eq!(class_of(proc.as_fd()).unwrap(), FsClass::Pseudo);
        let sys = std::fs::File::open("/sys").unwrap();
        assert_eq!(class_of(sys.as_fd()).unwrap(), FsClass::Pseudo);
    }

    #[test]
    fn the_mount_table_is_read_with_its_escapes_and_overmounts() {
        let table = b"22 1 0:20 / /proc rw - proc proc rw\n\
            30 1 0:40 / /mnt/a\\040b rw,relatime shared:1 - fuse.sshfs host: rw\n\
            31 1 8:1 / /data rw - ext4 /dev/sda1 rw\n\
            32 1 0:41 / /srv/x rw - tracefs none rw\n\
            33 32 0:42 / /srv/x rw - tmpfs none rw\n\
            broken line\n";
        let mounts = MountTable::parse(table);
        assert!(mounts.never_entered(Path::new("/proc")));
        assert!(mounts.never_entered(Path::new("/mnt/a b")));
        assert!(mounts.names_in(Path::new("/mnt")).is_some());
        assert!(!mounts.never_entered(Path::new("/data")));
        assert!(
            !mounts.never_entered(Path::new("/srv/x")),
            "mounted over by a tmpfs"
        );
        assert!(MountTable::load().never_entered(Path::new("/proc")));
    }

    #[test]
    fn one_file_system_has_one_name_and_two_have_two() {
        let dir = tempfile::tempdir().unwrap();
        let mut ids = FsIds::default();
        let mut id = |path: &Path| {
            let file = std::fs::File::open(path).unwrap();
            let dev = rustix::fs::fstat(&file).unwrap().st_dev;
            ids.id_of(file.as_fd(), dev)
        };
        let here = id(dir.path());
        assert_eq!(here, id(dir.path()));
        assert_ne!(here, id(Path::new("/proc")));
        assert!(!here.0.is_empty());
    }

    #[test]
    fn excluded_paths_are_whole_components() {
        let excluded = [PathBuf::from("/a/state")];
        assert!(is_under_any(Path::new("/a/state"), &excluded));
        assert!(is_under_any(Path::new("/a/state/x"), &excluded));
        assert!(!is_under_any(Path::new("/a/state2"), &excluded));
    }
}
