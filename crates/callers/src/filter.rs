//! The system call filter of the checker. It allows only the calls that the checker needs.

use std::collections::BTreeMap;
use std::io;

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

/// Installs the filter of the checker for this thread and all threads that it starts.
pub(crate) fn of_checker() -> io::Result<()> {
    let program = compiled().map_err(io::Error::other)?;
    seccompiler::apply_filter(&program).map_err(io::Error::other)
}

fn compiled() -> Result<BpfProgram, seccompiler::BackendError> {
    let calls = [
        // Calls that check access and change the identity.
        libc::SYS_openat2,
        libc::SYS_faccessat2,
        libc::SYS_fstat,
        libc::SYS_fstatfs,
        libc::SYS_newfstatat,
        libc::SYS_statx,
        libc::SYS_close,
        libc::SYS_setgroups,
        libc::SYS_setresgid,
        libc::SYS_setresuid,
        libc::SYS_capset,
        // Calls that serve connections.
        libc::SYS_accept4,
        libc::SYS_read,
        libc::SYS_recvfrom,
        libc::SYS_write,
        libc::SYS_sendto,
        libc::SYS_fcntl,
        libc::SYS_ioctl,
        // Calls for threads, memory, time, random bytes, signals, and the process itself.
        libc::SYS_clone,
        libc::SYS_clone3,
        libc::SYS_set_robust_list,
        libc::SYS_rseq,
        libc::SYS_sched_getaffinity,
        libc::SYS_sched_yield,
        libc::SYS_futex,
        libc::SYS_brk,
        libc::SYS_mmap,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_mprotect,
        libc::SYS_madvise,
        libc::SYS_getrandom,
        libc::SYS_clock_gettime,
        libc::SYS_clock_nanosleep,
        libc::SYS_nanosleep,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_restart_syscall,
        libc::SYS_prctl,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_tgkill,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ];
    let rules: BTreeMap<i64, _> = calls.into_iter().map(|call| (call, Vec::new())).collect();
    SeccompFilter::new(
        rules,
        SeccompAction::Errno(libc::EPERM as u32),
        SeccompAction::Allow,
        std::env::consts::ARCH.try_into()?,
    )?
    .try_into()
}
