//! Sets the restrictions of the worker, before the worker reads a byte.
//!
//! There are four restrictions. Each restriction alone protects against accidents; all of them
//! together protect against malice.
//!
//! First, the process gets no new privileges. Second, resource limits bound memory and processor
//! time, and no descriptor can be opened and no file written. Third, Landlock prevents every call
//! that opens, executes or connects to something. Fourth, a filter of system calls allows only
//! reading the file, writing to the pipes and allocating memory.
//!
//! If a restriction cannot be set, the worker ends before it has read a byte. The file is then
//! skipped with the reason, and tried again later. There is one exception: a kernel may have no
//! Landlock, or may have been started without it. Then the filter is enough, because it refuses
//! every call that Landlock would check. `resemble doctor` reports a kernel without Landlock.

use std::collections::BTreeMap;

use landlock::{
    ABI, Access, AccessFs, AccessNet, LandlockStatus, Ruleset, RulesetAttr, RulesetError,
    RulesetStatus, Scope,
};
use rustix::process::{Resource, Rlimit, Signal};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use crate::{Fences, Limits};

/// Requests that the kernel kills this process when its parent ends. Fails if the parent has
/// already ended.
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
    // If a lower limit is already set, it is kept, because a process must not raise it.
    let maximum = rustix::process::getrlimit(resource).maximum;
    let most = maximum.map_or(most, |maximum| maximum.min(most));
    rustix::process::setrlimit(resource, limit(most))
        .map_err(|error| format!("limit of {resource:?}: {error}"))
}

fn common(limits: &Limits) -> Result<(), String> {
    limit(Resource::As, limits.memory)?;
    limit(Resource::Cpu, limits.time.as_secs() + 1)?;
    limit(Resource::Core, 0)?;
    // A low priority is a courtesy to other processes, so a failure does not matter.
    let _ = rustix::process::nice(10);
    rustix::thread::set_no_new_privs(true).map_err(|error| format!("no new privileges: {error}"))
}

/// Sets the limits of a command that the user named. The command is allowed to open files. Each
/// file that it writes may be as large as the memory limit.
pub(crate) fn for_converter(limits: &Limits) -> Result<(), String> {
    limit(Resource::Fsize, limits.memory)?;
    common(limits)
}

/// Sets the restrictions of a reader.
///
/// # Errors
///
/// Fails with the reason if a restriction cannot be set. Then the caller must read nothing.
pub(crate) fn for_reader(limits: &Limits) -> Result<Fences, String> {
    // Sets up Landlock before the limit of descriptors, because its set of rules needs a
    // descriptor.
    let landlock = landlocked().map_err(|error| format!("Landlock: {error}"))?;
    limit(Resource::Fsize, 0)?;
    limit(Resource::Nofile, 0)?;
    common(limits)?;
    filtered().map_err(|error| format!("the filter of system calls: {error}"))?;
    Ok(Fences { landlock })
}

/// Asks for every restriction of the newest Landlock. A kernel with an older Landlock enforces only
/// the restrictions that it knows. The filter of system calls covers the others. Returns the
/// version in force, or `None` if the kernel has no Landlock.
fn landlocked() -> Result<Option<u32>, RulesetError> {
    const NEWEST: ABI = ABI::V6;
    let status = Ruleset::default()
        .handle_access(AccessFs::from_all(NEWEST))?
        .handle_access(AccessNet::from_all(NEWEST))?
        .scope(Scope::from_all(NEWEST))?
        .create()?
        .restrict_self()?;
    Ok(match (status.ruleset, status.landlock) {
        (RulesetStatus::NotEnforced, _) => None,
        (_, LandlockStatus::Available { effective_abi, .. }) => Some(effective_abi as u32),
        _ => None,
    })
}

/// Installs the filter of system calls.
fn filtered() -> Result<(), seccompiler::Error> {
    seccompiler::apply_filter(&filter()?)
}

/// Makes the filter of system calls. A call that it does not allow fails with `EPERM`.
fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let any = Vec::new;
    // Makes the rule that allows a call only if its first argument is this descriptor.
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
    use std::fs::File;
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::path::{Path, PathBuf};
    use std::process::Command;

    use super::*;

    /// The name of the variable that is set only in the child process of a test. The value of the
    /// variable is a folder that the child can use.
    const CHILD: &str = "RESEMBLE_EXTRACT_FENCED";

    /// Runs a test of this module in a separate process, because a restriction cannot be removed
    /// again.
    fn in_child(test: &str) -> std::process::Output {
        let folder = tempfile::tempdir().unwrap();
        Command::new(std::env::current_exe().unwrap())
            .args([
                &format!("worker::limits::tests::{test}"),
                "--exact",
                "--nocapture",
            ])
            .env(CHILD, folder.path())
            .output()
            .unwrap()
    }

    fn is_child() -> bool {
        std::env::var_os(CHILD).is_some()
    }

    /// Tries everything that a reader must not be able to do. Returns the name of each attempt and
    /// whether it succeeded.
    fn attempts(tcp: SocketAddr, unix: &Path) -> Vec<(&'static str, bool)> {
        let folder = unix.parent().unwrap();
        let made = folder.join("made");
        vec![
            ("open", File::open("/dev/null").is_ok()),
            ("list", std::fs::read_dir(folder).is_ok()),
            (
                "make",
                std::fs::create_dir(&made).is_ok() && std::fs::remove_dir(&made).is_ok(),
            ),
            ("connect", TcpStream::connect(tcp).is_ok()),
            ("connect here", UnixStream::connect(unix).is_ok()),
            (
                "exec",
                Command::new("/bin/sh")
                    .args(["-c", "exit 0"])
                    .status()
                    .is_ok(),
            ),
        ]
    }

    /// Runs in the child process. Checks that all attempts succeed before `fence` sets a
    /// restriction, and that only the attempts in `left` succeed afterwards.
    fn only(left: &[&str], fence: impl FnOnce()) {
        let folder = PathBuf::from(std::env::var_os(CHILD).unwrap());
        let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let (tcp, unix) = (listener.local_addr().unwrap(), folder.join("socket"));
        let _listener = UnixListener::bind(&unix).unwrap();
        let able = |attempts: Vec<(&'static str, bool)>| -> Vec<_> {
            attempts
                .into_iter()
                .filter(|(_, is)| *is)
                .map(|(what, _)| what)
                .collect()
        };
        assert_eq!(able(attempts(tcp, &unix)).len(), 6, "a fence was up before");
        fence();
        assert_eq!(able(attempts(tcp, &unix)), left);
        // Exits at once without cleaning up, because the folder can no longer be removed.
        std::process::exit(42);
    }

    fn is_fenced(test: &str) {
        let output = in_child(test);
        assert_eq!(output.status.code(), Some(42), "{test}: {output:?}");
    }

    #[test]
    fn the_filter_alone_lets_nothing_be_opened_reached_or_started() {
        if !is_child() {
            return is_fenced("the_filter_alone_lets_nothing_be_opened_reached_or_started");
        }
        only(&[], || filtered().unwrap());
    }

    /// Landlock does not restrict Unix sockets that have a path, so one attempt succeeds. The
    /// filter prevents it.
    #[test]
    fn landlock_alone_lets_nothing_be_opened_reached_or_started() {
        if !is_child() {
            return is_fenced("landlock_alone_lets_nothing_be_opened_reached_or_started");
        }
        let probe = std::thread::spawn(landlocked).join().unwrap().unwrap();
        let Some(4..) = probe else {
            resemble_testutil::skipped(format!("Landlock of this kernel: {probe:?}"));
            std::process::exit(42);
        };
        only(&["connect here"], || {
            rustix::thread::set_no_new_privs(true).unwrap();
            landlocked().unwrap();
        });
    }

    #[test]
    fn a_reader_can_open_reach_and_start_nothing() {
        if !is_child() {
            return is_fenced("a_reader_can_open_reach_and_start_nothing");
        }
        let kept = File::open("/dev/null").unwrap();
        let parent = rustix::process::getppid().unwrap();
        assert!(rustix::io::read(&kept, &mut [0; 8]).is_ok());
        assert!(rustix::process::test_kill_process(parent).is_ok());
        only(&[], || {
            for_reader(&Limits::default()).unwrap();
            assert!(std::fs::metadata("/").is_err(), "not even looked at");
            assert!(std::thread::Builder::new().spawn(|| ()).is_err());
            assert!(
                rustix::io::read(&kept, &mut [0; 8]).is_err(),
                "another descriptor"
            );
            assert!(rustix::process::test_kill_process(parent).is_err());
            // Memory can still be allocated.
            drop(vec![1u8; 64 << 20]);
        });
    }

    /// A reader that cannot set the filter must not go on.
    #[test]
    fn a_reader_without_a_filter_reads_nothing() {
        if !is_child() {
            return is_fenced("a_reader_without_a_filter_reads_nothing");
        }
        refuse_filters();
        let why = for_reader(&Limits::default()).unwrap_err();
        assert!(why.contains("filter of system calls"), "{why}");
        std::process::exit(42);
    }

    /// Makes filters impossible in this process and its children, as on a kernel without them.
    fn refuse_filters() {
        let set = |call| {
            let is = SeccompCondition::new(0, SeccompCmpArgLen::Dword, SeccompCmpOp::Eq, call);
            SeccompRule::new(vec![is.unwrap()]).unwrap()
        };
        let rules = BTreeMap::from([
            (libc::SYS_seccomp, Vec::new()),
            (libc::SYS_prctl, vec![set(libc::PR_SET_SECCOMP as u64)]),
        ]);
        let filter = SeccompFilter::new(
            rules,
            SeccompAction::Allow,
            SeccompAction::Errno(libc::EINVAL as u32),
            std::env::consts::ARCH.try_into().unwrap(),
        );
        let filter: BpfProgram = filter.unwrap().try_into().unwrap();
        seccompiler::apply_filter(&filter).unwrap();
    }

    #[test]
    fn a_worker_without_its_parent_does_not_begin() {
        assert!(end_with_parent(1).is_err() || std::process::id() == 1);
    }
}
