//! The checker's end: becomes callers, and looks.
//!
//! 1. **Of its process only one thread becomes somebody**, by the system calls themselves: those of
//!    the C library would change all threads. Only the effective ids change, so that nobody whom a
//!    thread stands for may send it signals or look into it.
//! 2. **While it looks, no capability is in force**, and `SECBIT_NO_SETUID_FIXUP` keeps the kernel
//!    from putting one in force when ids change.
//! 3. **It opens nothing but places** ([`look`]), reads no file and knows no index. What it says
//!    about a path was true for that user when he was asked about.
//! 4. It asks no question of its own: who may connect is decided by the mode of the socket.

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

/// Connections at once. The daemon has no more threads that ask.
const CONNECTIONS: usize = 64;

/// What it takes to become somebody.
const BECOME: CapabilitySet = CapabilitySet::SETUID.union(CapabilitySet::SETGID);

/// Answers at a listening socket until there is an error, or `holder` is closed at its other end.
/// Started as root, with at least the two capabilities that it keeps.
///
/// # Errors
///
/// Why it cannot begin, or go on.
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
        // A connection that says what is wrong is over.
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

/// From now on this thread opens files as the caller would, and has no right of its own.
fn become_caller(caller: &Caller) -> io::Result<()> {
    // Root is not asked for here, and -1 would mean "as it is".
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
