//! Two system calls for which the libraries in use have no safe function.

#![expect(unsafe_code, reason = "the thin layer that calls the kernel")]

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd};

/// Returns whether this thread may read (`R_OK`) or enter (`X_OK`) the file or folder of a
/// descriptor. The kernel checks with the same ids and capabilities as when it opens a file.
pub(crate) fn may(what: BorrowedFd<'_>, access: i32) -> bool {
    // SAFETY: the descriptor is open while it is borrowed. The path is a constant that ends with a
    // zero byte, and the kernel only reads it.
    let allowed = unsafe {
        libc::syscall(
            libc::SYS_faccessat2,
            what.as_raw_fd(),
            c"".as_ptr(),
            access,
            libc::AT_EMPTY_PATH | libc::AT_EACCESS,
        )
    };
    allowed == 0
}

/// Returns the supplementary groups that the peer of a Unix socket had when it connected.
pub(crate) fn peer_groups(socket: BorrowedFd<'_>) -> io::Result<Vec<u32>> {
    // `NGROUPS_MAX` of Linux.
    let mut groups = vec![0u32; 65_536];
    let mut bytes = size_of_val(&groups[..]) as libc::socklen_t;
    // SAFETY: the kernel writes at most `bytes` bytes to `groups`, which has this size. It stores
    // the number of written bytes in `bytes`. Any bytes are valid numbers.
    let got = unsafe {
        libc::getsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_PEERGROUPS,
            groups.as_mut_ptr().cast(),
            &raw mut bytes,
        )
    };
    if got != 0 {
        return Err(io::Error::last_os_error());
    }
    groups.truncate(bytes as usize / size_of::<u32>());
    Ok(groups)
}
