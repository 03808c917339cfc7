//! What the worker forbids itself before it reads a byte.
//!
//! Three fences, each enough against an accident and together against malice: limits of resources
//! (no descriptor can be opened, no file written, memory and processor time are bounded), a filter
//! of system calls (the file can be read, the pipe can be written, memory can be had; nothing
//! else), and no new privileges. Where the kernel has no filters the first and the third stand
//! alone.

use std::collections::BTreeMap;

use rustix::process::{Resource, Rlimit, Signal};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use crate::Limits;

/// Asks to be killed when the parent ends. It may have ended just before.
pub(crate) fn end_with_parent(parent: u32) -> Result<(), String> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .map_err(|error| format!("death signal: {error}"))?;
    let now = rustix::process::getppid().map(|pid| pid.as_raw_nonzero().get() as u32);
    if now == Some(parent) {
        Ok(())
    } else {
        Err("the parent is gone".to_owned())
    }
}

fn limit(resource: Resource, most: u64) -> Result<(), String> {
    let limit = |most| Rlimit {
        current: Some(most),
        maximum: Some(most),
    };
    // A limit that is lower already may not be raised, and need not be.
    let maximum = rustix::process::getrlimit(resource).maximum;
    let most = maximum.map_or(most, |maximum| maximum.min(most));
    rustix::process::setrlimit(resource, limit(most))
        .map_err(|error| format!("limit of {resource:?}: {error}"))
}

fn common(limits: &Limits) -> Result<(), String> {
    limit(Resource::As, limits.memory)?;
    limit(Resource::Cpu, limits.time.as_secs() + 1)?;
    limit(Resource::Core, 0)?;
    // Others come first. Where that may not be set, it is no matter.
    let _ = rustix::process::nice(10);
    rustix::thread::set_no_new_privs(true).map_err(|error| format!("no new privileges: {error}"))
}

/// The limits of a command that the user named: it may open files and write small ones for its own
/// use.
pub(crate) fn for_converter(limits: &Limits) -> Result<(), String> {
    limit(Resource::Fsize, limits.memory)?;
    common(limits)
}

/// The limits of a reader.
pub(crate) fn for_reader(limits: &Limits) -> Result<(), String> {
    limit(Resource::Fsize, 0)?;
    limit(Resource::Nofile, 0)?;
    common(limits)?;
    if let Ok(filter) = filter() {
        // A kernel without filters refuses; the limits stand.
        drop(seccompiler::apply_filter(&filter));
    }
    Ok(())
}

/// The filter of system calls: everything else fails with `EPERM`.
fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let any = Vec::new;
    // Only where the first argument is this descriptor.
    let on = |descriptor: u64| {
        let is = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, descriptor)?;
        SeccompRule::new(vec![is])
    };
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    rules.insert(libc::SYS_pread64, vec![on(0)?]);
    rules.insert(libc::SYS_write, vec![on(1)?, on(2)?]);
    for call in [
        libc::SYS_brk,
        libc::SYS_mmap,
        libc::SYS_munmap,
        libc::SYS_mremap,
        libc::SYS_mprotect,
        libc::SYS_madvise,
        libc::SYS_futex,
        libc::SYS_getrandom,
        libc::SYS_clock_gettime,
        libc::SYS_sched_yield,
        libc::SYS_rt_sigaction,
        libc::SYS_rt_sigprocmask,
        libc::SYS_rt_sigreturn,
        libc::SYS_sigaltstack,
        libc::SYS_restart_syscall,
        libc::SYS_getpid,
        libc::SYS_gettid,
        libc::SYS_tgkill,
        libc::SYS_exit,
        libc::SYS_exit_group,
    ] {
        rules.insert(call, any());
    }
    SeccompFilter::new(
        rules,
        SeccompAction::Errno(libc::EPERM as u32),
        SeccompAction::Allow,
        std::env::consts::ARCH.try_into()?,
    )?
    .try_into()
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    /// Says that a test runs as the child.
    const CHILD: &str = "RESEMBLE_EXTRACT_FENCED";

    /// Runs a test of this module in a process of its own.
    fn in_child(test: &str) -> std::process::Output {
        Command::new(std::env::current_exe().unwrap())
            .args([
                &format!("worker::limits::tests::{test}"),
                "--exact",
                "--nocapture",
            ])
            .env(CHILD, "1")
            .output()
            .unwrap()
    }

    fn is_child() -> bool {
        std::env::var_os(CHILD).is_some()
    }

    #[test]
    fn a_reader_can_open_reach_and_start_nothing() {
        if !is_child() {
            let output = in_child("a_reader_can_open_reach_and_start_nothing");
            assert_eq!(output.status.code(), Some(42), "{output:?}");
            return;
        }
        let kept = std::fs::File::open("/dev/null").unwrap();
        let folder = std::env::temp_dir();
        let parent = rustix::process::getppid().unwrap();
        for_reader(&Limits::default()).unwrap();
        assert!(std::fs::File::open("/dev/null").is_err());
        assert!(std::fs::read_dir(&folder).is_err());
        assert!(std::fs::metadata(&folder).is_err(), "not even looked at");
        assert!(std::fs::create_dir(folder.join("resemble-fenced")).is_err());
        assert!(std::net::TcpStream::connect(("127.0.0.1", 9)).is_err());
        assert!(std::os::unix::net::UnixStream::connect("/run/x").is_err());
        assert!(Command::new("/bin/true").spawn().is_err());
        assert!(std::thread::Builder::new().spawn(|| ()).is_err());
        assert!(
            rustix::io::read(&kept, &mut [0; 8]).is_err(),
            "another descriptor"
        );
        assert!(rustix::process::kill_process(parent, Signal::TERM).is_err());
        // What is allowed: the file and the pipe, and memory.
        drop(vec![1u8; 64 << 20]);
        std::process::exit(42);
    }

    #[test]
    fn a_worker_without_its_parent_does_not_begin() {
        assert!(end_with_parent(1).is_err() || std::process::id() == 1);
    }
}
