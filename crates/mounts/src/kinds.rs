//! Classifies file systems by their type.
//!
//! Below a root, two classes are never entered: pseudo file systems and FUSE. The entries of a
//! pseudo file system are no real files: their sizes are wrong, and reading them may block or have
//! effects. FUSE is left out because readers hang if its server hangs, and because our own overlay
//! is a FUSE file system. A disk that a process serves (`fuseblk`) is still a disk: it is indexed,
//! and the overlay shows it.

use std::path::Path;

/// The class of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FsClass {
    /// A file system with real files.
    Real,
    /// A file system whose entries the kernel generates. It is never entered below a root.
    Pseudo,
    /// A file system that a process serves. It is never entered below a root.
    Fuse,
}

/// The `f_type` of FUSE: `FUSE_SUPER_MAGIC` in the kernel.
const FUSE_MAGIC: u32 = 0x6573_5546;

/// The `f_type`s of pseudo file systems, from `include/uapi/linux/magic.h`. Those that are not in
/// this header are from the sources of their file systems.
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

/// The names that pseudo file systems have as types in the mount table.
const PSEUDO_TYPES: &[&str] = &[
    "proc",
    "sysfs",
    "cgroup",
    "cgroup2",
    "devpts",
    "devtmpfs",
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

/// Returns the class of a file system with this `f_type`. A `fuseblk` disk has the `f_type` of
/// FUSE, so it is [`FsClass::Fuse`] here. Only the type in the mount table distinguishes such a
/// disk from the rest of FUSE.
pub(crate) fn class_of_magic(f_type: u32) -> FsClass {
    if f_type == FUSE_MAGIC {
        FsClass::Fuse
    } else if PSEUDO_MAGICS.contains(&f_type) {
        FsClass::Pseudo
    } else {
        FsClass::Real
    }
}

/// Returns the class of a file system with this type in the mount table. `fuseblk` is a disk that a
/// process serves (NTFS, exFAT). Its files are real, so it is [`FsClass::Real`].
pub fn class_of_type(fs_type: &[u8]) -> FsClass {
    if fs_type == b"fuse" || fs_type.starts_with(b"fuse.") {
        FsClass::Fuse
    } else if PSEUDO_TYPES
        .iter()
        .any(|pseudo| pseudo.as_bytes() == fs_type)
    {
        FsClass::Pseudo
    } else {
        FsClass::Real
    }
}

/// Returns whether `dir` is in a network file system, where other machines may change files
/// unnoticed by the local kernel.
pub fn is_remote(dir: &Path) -> bool {
    /// The values of `f_type` of network file systems, see statfs(2).
    const REMOTE: &[u32] = &[
        0x0000_6969, // nfs
        0xff53_4d42, // cifs
        0xfe53_4d42, // smb2
        0x0000_517b, // smb
        0x0102_1997, // 9p
        0x5346_414f, // afs
        0x6b41_4653, // kafs
        0x00c3_6400, // ceph
        0x7375_7245, // coda
        0x0bd0_0bd0, // lustre
        0x4750_4653, // gpfs
        0x0116_1970, // gfs2
        0x7461_636f, // ocfs2
    ];
    rustix::fs::statfs(dir).is_ok_and(|fs| REMOTE.contains(&(fs.f_type as u32)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_by_magic_and_by_type() {
        assert_eq!(class_of_magic(FUSE_MAGIC), FsClass::Fuse);
        assert_eq!(class_of_magic(0xef53), FsClass::Real); // ext4
        assert_eq!(class_of_magic(0x0102_1994), FsClass::Real); // tmpfs
        for fuse in ["fuse", "fuse.sshfs", "fuse.resemble"] {
            assert_eq!(class_of_type(fuse.as_bytes()), FsClass::Fuse);
        }
        for real in ["ext4", "nfs4", "overlay", "tmpfs", "fuseblk"] {
            assert_eq!(class_of_type(real.as_bytes()), FsClass::Real);
        }
        for pseudo in PSEUDO_TYPES {
            assert_eq!(class_of_type(pseudo.as_bytes()), FsClass::Pseudo);
        }
    }
}
