//! Translates the types of the view into the types of `fuser`.

use std::ffi::OsStr;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use fuser::{Errno, FileAttr, FileType, INodeNo, ReplyDirectory, ReplyXattr};

use crate::view::{Attr, Kind, Refusal, Sink, Time};

/// Adds entries of a directory to the reply for the kernel.
pub(super) struct DirectorySink<'a>(pub(super) &'a mut ReplyDirectory);

impl Sink for DirectorySink<'_> {
    fn add(&mut self, ino: u64, next: u64, kind: Kind, name: &OsStr) -> bool {
        !self.0.add(INodeNo(ino), next, file_type(kind), name)
    }
}

pub(super) fn errno(refusal: Refusal) -> Errno {
    Errno::from_i32(refusal.errno())
}

/// Replies to `getxattr` or `listxattr`. If `size` is 0, the caller only wants to know the length.
pub(super) fn attribute(reply: ReplyXattr, size: u32, value: &[u8]) {
    let length = value.len() as u32;
    if size == 0 {
        reply.size(length);
    } else if length > size {
        reply.error(Errno::ERANGE);
    } else {
        reply.data(value);
    }
}

pub(super) fn file_type(kind: Kind) -> FileType {
    match kind {
        Kind::Directory => FileType::Directory,
        Kind::File => FileType::RegularFile,
        Kind::Link => FileType::Symlink,
    }
}

pub(super) fn file_attr(attr: &Attr) -> FileAttr {
    FileAttr {
        ino: INodeNo(attr.ino),
        size: attr.size,
        blocks: attr.blocks,
        atime: system_time(attr.accessed),
        mtime: system_time(attr.modified),
        ctime: system_time(attr.changed),
        crtime: UNIX_EPOCH,
        kind: file_type(attr.kind),
        perm: attr.perm,
        nlink: 1,
        uid: attr.uid,
        gid: attr.gid,
        rdev: 0,
        blksize: attr.block_size,
        flags: 0,
    }
}

/// Converts a time. A time beyond the range of `SystemTime` becomes 1970; a damaged file system may
/// have such times.
fn system_time(time: Time) -> SystemTime {
    let seconds = Duration::from_secs(time.seconds.unsigned_abs());
    let whole = if time.seconds < 0 {
        UNIX_EPOCH.checked_sub(seconds)
    } else {
        UNIX_EPOCH.checked_add(seconds)
    };
    let nanos = Duration::from_nanos(u64::from(time.nanos));
    whole
        .and_then(|whole| whole.checked_add(nanos))
        .unwrap_or(UNIX_EPOCH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_keep_their_fraction() {
        let time = system_time(Time {
            seconds: -2,
            nanos: 800_000_000,
        });
        assert_eq!(
            UNIX_EPOCH.duration_since(time).unwrap(),
            Duration::from_millis(1200)
        );
    }

    #[test]
    fn a_time_that_cannot_be_is_1970() {
        for seconds in [i64::MIN, i64::MAX] {
            assert_ne!(system_time(Time { seconds, nanos: 0 }), UNIX_EPOCH);
        }
        let time = Time {
            seconds: i64::MAX,
            nanos: u32::MAX,
        };
        assert_eq!(system_time(time), UNIX_EPOCH);
    }
}
