//! Restricts the process of the indexer in system mode, before it reads any file.
//!
//! The indexer may read every file, and it has the index of all files. If an attacker takes over
//! the indexer, that data must not get out. **Landlock** lets the indexer read the roots and facts
//! about the machine, write its own folders, and nothing else. **The filter of system calls**
//! refuses many calls. For example, it refuses calls that start programs, inspect processes, mount,
//! change ids, or connect to other machines. Both restrictions are permanent and apply to all later
//! threads. If one of them cannot be installed, the daemon does not start.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use landlock::{
    ABI, Access, AccessFs, AccessNet, BitFlags, CompatLevel, Compatible, LandlockStatus,
    PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr, RulesetStatus, Scope,
};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

/// The oldest version of Landlock that suffices. It is the first that controls truncation.
const LEAST: ABI = ABI::V3;
/// Describes the requirements of [`LEAST`], for the error message.
const LANDLOCK_TAKES: &str =
    "it takes Linux 6.2 or later, and `landlock` in /sys/kernel/security/lsm";
/// A newer version of Landlock. Its further rules are requested if the kernel supports them.
const NEWEST: ABI = ABI::V6;

/// Folders that the daemon reads in addition to its roots, for facts about the machine:
/// descriptors, mounts, groups of callers, names of file systems.
const MACHINE: [&str; 3] = ["/proc", "/sys", "/dev/disk"];

/// Installs both restrictions. The process may then read only the folders in `read`, `write` and
/// [`MACHINE`], and write only to those in `write`. All paths in `read` and `write` must exist.
///
/// # Errors
///
/// Names the restriction that cannot be installed, and the reason.
pub(super) fn put_up(read: &[PathBuf], write: &[&Path]) -> Result<(), String> {
    landlocked(read, write).map_err(|error| format!("Landlock ({LANDLOCK_TAKES}): {error}"))?;
    filtered().map_err(|error| format!("the filter of system calls: {error}"))
}

fn landlocked(read: &[PathBuf], write: &[&Path]) -> Result<(), Box<dyn std::error::Error>> {
    let reading: BitFlags<AccessFs> = AccessFs::ReadFile | AccessFs::ReadDir;
    let never = AccessFs::Execute | AccessFs::MakeChar | AccessFs::MakeBlock;
    let writing = AccessFs::from_all(LEAST) & !never;
    let mut rules = Ruleset::default()
        .set_compatibility(CompatLevel::HardRequirement)
        .handle_access(AccessFs::from_all(LEAST))?
        .set_compatibility(CompatLevel::BestEffort)
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    let machine = MACHINE.iter().map(Path::new).filter(|path| path.exists());
    for path in read.iter().map(PathBuf::as_path).chain(machine) {
        rules = rules.add_rule(PathBeneath::new(PathFd::new(path)?, reading))?;
    }
    for path in write {
        rules = rules.add_rule(PathBeneath::new(PathFd::new(path)?, writing))?;
    }
    let status = rules.restrict_self()?;
    match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => Err("this kernel has none".into()),
        (_, LandlockStatus::Available { effective_abi, .. }) if effective_abi >= LEAST => Ok(()),
        (_, landlock) => Err(format!("this kernel's is too old: {landlock:?}").into()),
    }
}

/// The bit that is set in the number of a system call of x32, an additional interface of x86-64.
#[cfg(target_arch = "x86_64")]
const OTHER_INTERFACE: i64 = 0x4000_0000;

fn filtered() -> Result<(), seccompiler::Error> {
    let program: BpfProgram = filter()?.try_into()?;
    seccompiler::apply_filter(&program)
}

/// The system calls that are always refused, grouped by purpose.
const REFUSED: [i64; 78] = [
    // Start programs.
    libc::SYS_execve,
    libc::SYS_execveat,
    // Inspect or control other processes.
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_process_madvise,
    libc::SYS_pidfd_getfd,
    libc::SYS_kcmp,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_send_signal,
    // Change mounts, namespaces, swap or quotas.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_fsopen,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fspick,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_mount_setattr,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_quotactl,
    libc::SYS_quotactl_fd,
    // Change ids, rights or keys.
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setfsuid,
    libc::SYS_setfsgid,
    libc::SYS_setgroups,
    libc::SYS_capset,
    libc::SYS_personality,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    // Change attributes of files, which Landlock does not control, or make devices.
    libc::SYS_fchmod,
    libc::SYS_fchown,
    libc::SYS_fchownat,
    libc::SYS_mknodat,
    libc::SYS_setxattr,
    libc::SYS_lsetxattr,
    libc::SYS_fsetxattr,
    libc::SYS_removexattr,
    libc::SYS_lremovexattr,
    libc::SYS_fremovexattr,
    libc::SYS_utimensat,
    // Access files without opening them by their paths.
    libc::SYS_open_by_handle_at,
    libc::SYS_fanotify_init,
    libc::SYS_fanotify_mark,
    // Do any of these things by other means, or change the kernel or the machine.
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_bpf,
    libc::SYS_perf_event_open,
    libc::SYS_userfaultfd,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_kexec_file_load,
    libc::SYS_reboot,
    libc::SYS_acct,
    libc::SYS_syslog,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
];

/// Returns the filter. It refuses the calls that it lists, and allows all other calls.
fn filter() -> Result<SeccompFilter, seccompiler::BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in REFUSED {
        rules.insert(call, Vec::new());
    }
    // Only Unix sockets are allowed; all other sockets are refused.
    for call in [libc::SYS_socket, libc::SYS_socketpair] {
        let (here, dword) = (libc::AF_UNIX as u64, SeccompCmpArgLen::Dword);
        let elsewhere = SeccompCondition::new(0, dword, SeccompCmpOp::Ne, here)?;
        rules.insert(call, vec![SeccompRule::new(vec![elsewhere])?]);
    }
    // These calls exist only on x86-64.
    #[cfg(target_arch = "x86_64")]
    for call in [
        libc::SYS_chown,
        libc::SYS_lchown,
        libc::SYS_mknod,
        libc::SYS_utime,
        libc::SYS_utimes,
        libc::SYS_futimesat,
        libc::SYS_iopl,
        libc::SYS_ioperm,
        libc::SYS_modify_ldt,
    ] {
        rules.insert(call, Vec::new());
    }
    #[cfg(target_arch = "x86_64")]
    {
        let same: Vec<i64> = rules.keys().copied().collect();
        // In x32, some calls have numbers of their own, from 512 to 547. `execve` and `ptrace` are
        // among them.
        for call in same.into_iter().chain(512..=547) {
            rules.insert(call | OTHER_INTERFACE, Vec::new());
        }
    }
    SeccompFilter::new(
        rules,
        SeccompAction::Allow,
        SeccompAction::Errno(libc::EPERM as u32),
        std::env::consts::ARCH.try_into()?,
    )
}

#[cfg(test)]
#[path = "fences_tests.rs"]
mod tests;
