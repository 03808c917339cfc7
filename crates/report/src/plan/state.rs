//! The state that a file has when a plan is made. The script checks that the file still has this
//! state.

use std::fmt;
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// A regular file, in the state that it has when the plan is made.
#[derive(Clone, Debug)]
pub struct FileState {
    /// The real path of the folder, followed by the name of the file.
    pub path: PathBuf,
    /// Its device.
    pub dev: u64,
    /// Its inode on the device.
    pub inode: u64,
    /// Its size in bytes.
    pub size: u64,
    /// The number of bytes that are freed when the last name of the file is removed. Holes of a
    /// sparse file take no space.
    pub allocated: u64,
    /// The time of the last change of its content.
    pub mtime: Time,
    /// The time of the last change of its content or its status.
    pub ctime: Time,
    /// The number of its names.
    pub links: u64,
    /// Its user and its group.
    pub owner: (u32, u32),
    /// Its permissions: the last twelve bits of the mode.
    pub mode: u32,
    /// True if the file has an access control list or other extended attributes. The label of
    /// `SELinux` does not count.
    pub has_attributes: bool,
    /// The date that the document states, in seconds since 1970. It is set only if it decides which
    /// of several files is newer.
    pub stated: Option<i64>,
    /// True if the file is only in a catalogue, because its disk is absent.
    pub is_away: bool,
}

/// A time since 1970 in seconds and nanoseconds. It is printed as `stat -c %.9Y` prints it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Time {
    /// Whole seconds.
    pub seconds: i64,
    /// Nanoseconds beyond the whole seconds.
    pub nanos: i64,
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const BILLION: i64 = 1_000_000_000;
        let (seconds, nanos) = (self.seconds, self.nanos);
        if seconds < 0 && nanos > 0 {
            return write!(f, "-{}.{:09}", -(seconds + 1), BILLION - nanos);
        }
        write!(f, "{seconds}.{nanos:09}")
    }
}

impl FileState {
    /// Returns the state of a file of a catalogue. Its path begins with `@`. The script replaces
    /// `@` by the directory that `--at` names.
    pub(super) fn away(path: PathBuf, number: usize, size: u64, seconds: i64) -> Self {
        let time = Time { seconds, nanos: 0 };
        Self {
            path,
            dev: u64::MAX,
            inode: number as u64,
            size,
            allocated: size,
            mtime: time,
            ctime: time,
            links: 1,
            owner: (0, 0),
            mode: 0,
            has_attributes: false,
            stated: None,
            is_away: true,
        }
    }

    /// Returns the identity that the script must find again, in the form that
    /// `stat -c '%d %i %s %.9Z'` prints. Of a file whose disk is absent, only the size is known.
    /// The script also compares its bytes with those of the file that stays.
    pub fn identity(&self) -> String {
        if self.is_away {
            return format!("size {}", self.size);
        }
        format!("{} {} {} {}", self.dev, self.inode, self.size, self.ctime)
    }

    pub(super) const fn file(&self) -> (u64, u64) {
        (self.dev, self.inode)
    }

    pub(super) fn bytes(&self) -> &[u8] {
        self.path.as_os_str().as_bytes()
    }
}
