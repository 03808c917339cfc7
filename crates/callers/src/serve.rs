//! The checker's end of the connections: a thread becomes each caller and checks what that caller
//! can access.
//!
//! 1. **A thread changes only its own identity**, by direct system calls, because the functions of
//!    the C library change all threads. Only the effective ids change, so a caller can neither
//!    signal nor trace the thread that has the caller's ids.
//! 2. **The thread has no effective capability during a check.** `SECBIT_NO_SETUID_FIXUP` prevents
//!    the kernel from raising a capability when the ids change.
//! 3. **The checker opens paths only with `O_PATH`** ([`look`]), reads no file and has no index. At
//!    the time of the question, the checker's answer about a path is true for the caller.
//! 4. The checker does not check which process asks: the mode of the socket decides which processes
//!    can connect.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::process::{Gid, Resource, Rlimit, Uid};
use rustix::thread::{
    CapabilitySet, CapabilitySets, set_capabilities, set_thread_groups, set_thread_res_gid,
    set_thread_res_uid,
};

use crate::helper::serve_each;
use crate::look::look;
use crate::wire::{self, broken};
use crate::{Caller, Seen, filter, rights};

/// The maximum number of connections at a time. The daemon does not need more.
const CONNECTIONS: usize = 64;

/// The capabilities that the checker needs to change its identity.
const BECOME: CapabilitySet = CapabilitySet::SETUID.union(CapabilitySet::SETGID);

/// Answers the connections at a listening socket until an error occurs or the other end of `holder`
/// is closed. The process must be started as root, with at least the two capabilities that it
/// keeps.
///
/// # Errors
///
/// Fails if the checker cannot start, or cannot accept connections any more.
pub fn serve(listener: OwnedFd, holder: Option<OwnedFd>) -> io::Result<()> {
    rights::keep_only(BECOME)?;
    let limit = |resource, most| {
        let limit = Rlimit {
            current: Some(most),
            maximum: Some(most),
        };
        rustix::process::setrlimit(resource, limit)
    };
    limit(Resource::Nofile, 3 * CONNECTIONS as u64)?;
    limit(Resource::Fsize, 0)?;
    limit(Resource::Core, 0)?;
    filter::of_checker()?;
    let too_many = |_| std::thread::sleep(Duration::from_millis(10));
    serve_each(listener, holder, CONNECTIONS, too_many, |stream| {
        // An error ends only this connection, so it is ignored.
        let _over = converse(stream);
    })
}

fn converse(mut stream: UnixStream) -> io::Result<()> {
    while let Some(frame) = wire::receive(&mut stream)? {
        let (caller, paths) = wire::asked(&frame)?;
        become_caller(&caller)?;
        let seen = paths.iter().map(|path| look(path));
        let seen = seen.collect::<io::Result<Vec<Seen>>>()?;
        wire::send(&mut stream, &wire::answer(&seen)?)?;
    }
    Ok(())
}

/// Makes this thread open files as the caller, without privileges of its own.
fn become_caller(caller: &Caller) -> io::Result<()> {
    // Root's access is never checked here. To the kernel, an id of -1 means "unchanged", so the
    // thread would keep the ids of the previous caller.
    if [0, u32::MAX].contains(&caller.uid) || caller.gid == u32::MAX {
        return Err(broken("the checker cannot become this user"));
    }
    let in_force = |effective| {
        set_capabilities(
            None,
            CapabilitySets {
                effective,
                permitted: BECOME,
                inheritable: CapabilitySet::empty(),
            },
        )
    };
    in_force(BECOME)?;
    let groups: Vec<Gid> = caller
        .groups
        .iter()
        .map(|&group| Gid::from_raw(group))
        .collect();
    set_thread_groups(&groups)?;
    set_thread_res_gid(None::<Gid>, Gid::from_raw(caller.gid), None::<Gid>)?;
    set_thread_res_uid(None::<Uid>, Uid::from_raw(caller.uid), None::<Uid>)?;
    in_force(CapabilitySet::empty())?;
    Ok(())
}
