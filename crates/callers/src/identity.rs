//! Identifies the peer of a socket, and the caller of a request to the overlay.

use std::fs;
use std::io;
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::{Caller, syscalls};

/// Returns the ids that the peer of this Unix socket had when it connected. The result does not
/// change if the peer changes its ids later, or passes the socket to another process.
///
/// # Errors
///
/// Fails if the kernel does not report the ids. The code that calls this must then refuse to
/// answer.
pub fn of_socket(socket: impl AsFd) -> io::Result<Caller> {
    let socket = socket.as_fd();
    let peer = rustix::net::sockopt::socket_peercred(socket)?;
    Ok(Caller {
        uid: peer.uid.as_raw(),
        gid: peer.gid.as_raw(),
        groups: syscalls::peer_groups(socket)?.into(),
    })
}

/// Returns the caller of a request for which the kernel reports user, group and process. The
/// supplementary groups are the present groups of the process. They are empty if the process now
/// has other ids, or if its status cannot be read.
pub fn of_process(uid: u32, gid: u32, pid: u32) -> Caller {
    let groups = groups_of(uid, gid, pid).unwrap_or_default();
    Caller { uid, gid, groups }
}

fn groups_of(uid: u32, gid: u32, pid: u32) -> Option<Arc<[u32]>> {
    // The kernel reports 0 for a process that is not in our process id namespace.
    let status = fs::read_to_string(format!(
        "/proc/{}/status",
        Some(pid).filter(|&pid| pid != 0)?
    ));
    groups_in(&status.ok()?, uid, gid)
}

/// Returns the groups in the text of a `/proc/PID/status`; `None` if its file system ids are not
/// `uid` and `gid`.
fn groups_in(status: &str, uid: u32, gid: u32) -> Option<Arc<[u32]>> {
    let numbers = |name: &str| {
        let line = status.lines().find_map(|line| line.strip_prefix(name))?;
        let numbers = line.split_whitespace().map(|number| number.parse().ok());
        numbers.collect::<Option<Vec<u32>>>()
    };
    // Each of these two lines has the real, effective, saved and file system id, in this order.
    let is_it = numbers("Uid:")?.get(3) == Some(&uid) && numbers("Gid:")?.get(3) == Some(&gid);
    is_it.then(|| numbers("Groups:"))?.map(Into::into)
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::UnixStream;

    use super::*;

    #[test]
    fn we_are_who_we_are() {
        let (a, _b) = UnixStream::pair().unwrap();
        let at_socket = of_socket(&a).unwrap();
        let uid = rustix::process::geteuid().as_raw();
        let gid = rustix::process::getegid().as_raw();
        assert_eq!((at_socket.uid, at_socket.gid), (uid, gid));
        assert_eq!(of_process(uid, gid, std::process::id()), at_socket);
    }

    #[test]
    fn groups_are_those_of_the_very_process_or_none() {
        let status = "Name:\tcat\nUid:\t1\t2\t3\t1000\nGid:\t5\t6\t7\t8\nGroups:\t4 24 27 \n";
        assert_eq!(
            groups_in(status, 1000, 8).as_deref(),
            Some(&[4, 24, 27][..])
        );
        assert_eq!(
            groups_in(status, 2, 8),
            None,
            "its number was given to another"
        );
        assert_eq!(groups_in(status, 1000, 5), None);
        let none = status.replace("4 24 27 ", "");
        assert_eq!(groups_in(&none, 1000, 8).as_deref(), Some(&[][..]));
        let of_nobody = of_process(77, 78, u32::MAX);
        assert_eq!((of_nobody.uid, &of_nobody.groups[..]), (77, &[][..]));
        assert!(of_process(0, 0, 0).groups.is_empty());
    }
}
