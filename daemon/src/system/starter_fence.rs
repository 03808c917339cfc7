//! Installs the system call filter of the starter before the starter takes an order. The starter is
//! the process that starts readers of documents.
//!
//! The starter has no rights and opens no files, except to start a program. So its filter is a list
//! of allowed calls, and all other calls fail. Its child processes, the readers, inherit the
//! filter. So the list also has the calls that load a program and that install the readers' own
//! restrictions. The readers' restrictions forbid most of these calls later.
//!
//! The list has no calls that make or connect sockets, change files or list folders. It has no
//! calls that inspect other processes, mount something, or change the user or group of the process.
//! `clone` is allowed without the flags that make namespaces. A second filter refuses `clone3`.

use std::collections::BTreeMap;

use seccompiler::{
    BackendError, BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition,
    SeccompFilter, SeccompRule,
};

/// Installs the filter for this thread, and for all threads and processes that it creates.
///
/// # Errors
///
/// Fails if the filter cannot be installed.
pub(super) fn put_up() -> Result<(), seccompiler::Error> {
    seccompiler::apply_filter(&allowed()?)?;
    seccompiler::apply_filter(&without_clone3()?)
}

/// Refuses `clone3`. Its flags are in memory, where a filter cannot check them. If `clone3` fails
/// with ENOSYS, the C library uses `clone`.
fn without_clone3() -> Result<BpfProgram, BackendError> {
    let rules = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
    filter(rules, SeccompAction::Allow, libc::ENOSYS, Listed::Refused)
}

#[derive(Clone, Copy)]
enum Listed {
    Allowed,
    Refused,
}

fn filter(
    rules: BTreeMap<i64, Vec<SeccompRule>>,
    otherwise: SeccompAction,
    errno: i32,
    listed: Listed,
) -> Result<BpfProgram, BackendError> {
    let refused = SeccompAction::Errno(errno as u32);
    let (otherwise, matching) = match listed {
        Listed::Allowed => (refused, otherwise),
        Listed::Refused => (otherwise, refused),
    };
    let arch = std::env::consts::ARCH.try_into()?;
    SeccompFilter::new(rules, otherwise, matching, arch)?.try_into()
}

/// Returns a rule that matches calls if this argument has none of these bits set.
fn without(argument: u8, bits: u64) -> Result<SeccompRule, BackendError> {
    let masked = SeccompCmpOp::MaskedEq(bits);
    let is = SeccompCondition::new(argument, SeccompCmpArgLen::Dword, masked, 0)?;
    SeccompRule::new(vec![is])
}

/// Returns a rule that matches calls if this argument has this value.
fn with(argument: u8, value: u64) -> Result<SeccompRule, BackendError> {
    let dword = SeccompCmpArgLen::Dword;
    let is = SeccompCondition::new(argument, dword, SeccompCmpOp::Eq, value)?;
    SeccompRule::new(vec![is])
}

fn allowed() -> Result<BpfProgram, BackendError> {
    let mut rules: BTreeMap<i64, Vec<SeccompRule>> = BTreeMap::new();
    for call in CALLS {
        rules.insert(*call, Vec::new());
    }
    // Files may be opened only for reading, and none may be created.
    let writing = (libc::O_ACCMODE | libc::O_CREAT | libc::O_TRUNC | libc::O_TMPFILE) as u64;
    let writing = writing & !(libc::O_DIRECTORY as u64);
    rules.insert(libc::SYS_openat, vec![without(2, writing)?]);
    #[cfg(target_arch = "x86_64")]
    rules.insert(libc::SYS_open, vec![without(1, writing)?]);
    // Threads and processes may be created, but no namespaces.
    let namespaces = libc::CLONE_NEWNS
        | libc::CLONE_NEWCGROUP
        | libc::CLONE_NEWUTS
        | libc::CLONE_NEWIPC
        | libc::CLONE_NEWUSER
        | libc::CLONE_NEWPID
        | libc::CLONE_NEWNET;
    rules.insert(libc::SYS_clone, vec![without(0, namespaces as u64)?]);
    let ioctl = [libc::FIONBIO, libc::TCGETS];
    let ioctl = ioctl.map(|request| with(1, request));
    rules.insert(
        libc::SYS_ioctl,
        ioctl.into_iter().collect::<Result<_, _>>()?,
    );
    let process = [
        libc::PR_SET_PDEATHSIG,
        libc::PR_SET_NO_NEW_PRIVS,
        libc::PR_GET_NO_NEW_PRIVS,
        libc::PR_SET_SECCOMP,
        libc::PR_SET_NAME,
        libc::PR_SET_VMA,
    ];
    let process = process.map(|option| with(0, option as u64));
    rules.insert(
        libc::SYS_prctl,
        process.into_iter().collect::<Result<_, _>>()?,
    );
    filter(rules, SeccompAction::Allow, libc::EPERM, Listed::Allowed)
}

/// The calls that are allowed with any arguments.
const CALLS: &[i64] = &[
    // These receive orders and send answers. Connections are accepted, never made.
    libc::SYS_accept4,
    libc::SYS_recvmsg,
    libc::SYS_recvfrom,
    libc::SYS_sendto,
    libc::SYS_sendmsg,
    libc::SYS_setsockopt,
    libc::SYS_getsockopt,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_pread64,
    libc::SYS_write,
    libc::SYS_writev,
    libc::SYS_ppoll,
    libc::SYS_pipe2,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_fcntl,
    libc::SYS_lseek,
    libc::SYS_close,
    libc::SYS_close_range,
    // These start readers, wait for them and end them.
    libc::SYS_clone3,
    libc::SYS_execve,
    libc::SYS_setpgid,
    libc::SYS_pidfd_open,
    libc::SYS_waitid,
    libc::SYS_wait4,
    libc::SYS_kill,
    libc::SYS_exit,
    libc::SYS_exit_group,
    // These are for the start of a program: its libraries, memory and threads.
    libc::SYS_brk,
    libc::SYS_mmap,
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_mprotect,
    libc::SYS_madvise,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_faccessat,
    libc::SYS_readlinkat,
    libc::SYS_futex,
    libc::SYS_set_robust_list,
    libc::SYS_set_tid_address,
    libc::SYS_rseq,
    libc::SYS_membarrier,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_getrandom,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sigaltstack,
    libc::SYS_tgkill,
    libc::SYS_getpid,
    libc::SYS_getppid,
    libc::SYS_gettid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_sysinfo,
    libc::SYS_uname,
    libc::SYS_umask,
    // With the calls up to `landlock_restrict_self` the readers restrict themselves. The remaining
    // calls exist only on x86-64, and serve any of the purposes above.
    libc::SYS_prlimit64,
    libc::SYS_getpriority,
    libc::SYS_setpriority,
    libc::SYS_seccomp,
    libc::SYS_landlock_create_ruleset,
    libc::SYS_landlock_add_rule,
    libc::SYS_landlock_restrict_self,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_arch_prctl,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_dup2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_getrlimit,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_setrlimit,
];

#[cfg(test)]
mod tests {
    use std::fs::{self, File};
    use std::io::{Read, Write};
    use std::os::unix::net::{UnixListener, UnixStream};
    use std::process::{Command, Stdio};

    use resemble_testutil::{TempTree, in_a_process_of_its_own};
    use rustix::process::{PidfdFlags, PidfdGetfdFlags};

    use super::*;

    /// Makes each attempt that a starter must not make, and returns whether it succeeds.
    fn attempts(tree: &TempTree) -> Vec<(&'static str, bool)> {
        let (file, made) = (tree.path("file"), tree.path("made"));
        let gone = |path: &std::path::Path| fs::remove_file(path).is_ok();
        vec![
            ("make a socket", UnixStream::pair().is_ok()),
            ("listen", UnixListener::bind(&made).is_ok() && gone(&made)),
            ("reach", UnixStream::connect(tree.path("socket")).is_ok()),
            ("write", File::options().write(true).open(&file).is_ok()),
            ("append", File::options().append(true).open(&file).is_ok()),
            ("make", File::create_new(&made).is_ok() && gone(&made)),
            (
                "make a folder",
                fs::create_dir(&made).is_ok() && fs::remove_dir(&made).is_ok(),
            ),
            (
                "rename",
                fs::rename(&file, &made).is_ok() && fs::rename(&made, &file).is_ok(),
            ),
            ("list", lists(tree)),
            ("take a descriptor of a process", takes_a_descriptor()),
        ]
    }

    fn lists(tree: &TempTree) -> bool {
        let mut listed = fs::read_dir(tree.path("")).expect("a folder can be opened");
        listed.next().is_some_and(|entry| entry.is_ok())
    }

    fn takes_a_descriptor() -> bool {
        let of_us = rustix::process::pidfd_open(rustix::process::getpid(), PidfdFlags::empty());
        let of_us = of_us.expect("a descriptor of this process");
        rustix::process::pidfd_getfd(of_us, 0, PidfdGetfdFlags::empty()).is_ok()
    }

    #[test]
    fn a_starter_starts_programs_and_does_nothing_else() {
        const NAME: &str = concat!(
            "system::starter_fence::tests::",
            "a_starter_starts_programs_and_does_nothing_else"
        );
        if in_a_process_of_its_own(NAME, false) {
            return;
        }
        let tree = TempTree::with_folders(&[]);
        tree.write("file", "bytes");
        let listener = UnixListener::bind(tree.path("socket")).expect("a socket");
        let asker = UnixStream::connect(tree.path("socket")).expect("a connection");
        let able = |tree: &TempTree| -> Vec<&str> {
            let attempts = attempts(tree).into_iter();
            attempts
                .filter(|(_, can)| *can)
                .map(|(what, _)| what)
                .collect()
        };
        assert_eq!(
            able(&tree).len(),
            attempts(&tree).len(),
            "{:?}",
            able(&tree)
        );
        put_up().expect("a filter");
        assert_eq!(able(&tree), Vec::<&str>::new());
        let (mut connection, _) = listener.accept().expect("an order");
        // The program is started on another thread, because the starter has a thread for each
        // connection.
        let thread = std::thread::spawn(move || {
            let mut child = Command::new("/bin/sh")
                .args(["-c", "read said; echo $said"])
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()
                .expect("a program");
            let mut stdin = child.stdin.take().expect("a pipe");
            stdin.write_all(b"read\n").expect("written");
            drop(stdin);
            let mut said = String::new();
            let mut stdout = child.stdout.take().expect("a pipe");
            stdout.read_to_string(&mut said).expect("read");
            assert_eq!(said, "read\n");
            assert!(child.wait().expect("its end").success());
            connection.write_all(b"done").expect("an answer");
        });
        thread.join().expect("a thread");
        let mut answer = [0; 4];
        (&asker).read_exact(&mut answer).expect("an answer");
        assert_eq!(&answer, b"done");
    }
}
