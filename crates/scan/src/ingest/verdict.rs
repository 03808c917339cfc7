//! Decides, from the stat of a file and its row in the index, whether the file must be read.

use resemble_index::{FileRow, FileStat, FileState};

/// The decision about a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// The file is unchanged, and was read long enough after its last change.
    Settled,
    /// The file is unchanged. It is checked again at the end of its settle window.
    Settling,
    /// The inode has changed, but not its size or modification time. The file need not be read if
    /// reported events explain the change.
    Touched,
    /// The file must be read.
    Changed,
}

/// Compares the present stat of a file with the stat in the index. `may_wait` is called if the file
/// is unchanged and unsettled. It returns whether the second read can wait until the end of the
/// settle window.
pub(super) fn decide(
    known: &FileRow,
    now: &FileStat,
    written_to: bool,
    may_wait: impl FnOnce() -> bool,
) -> Verdict {
    if !has_same_bytes(known, now) {
        return Verdict::Changed;
    }
    if known.stat.ctime != now.ctime {
        let was_read = known.state.content().is_some();
        return if was_read {
            Verdict::Touched
        } else {
            Verdict::Changed
        };
    }
    match known.state {
        _ if written_to => Verdict::Changed,
        FileState::Settled(_) => Verdict::Settled,
        FileState::Unsettled(_) if may_wait() => Verdict::Settling,
        // A file that was unreadable or left out is read, because the reason may no longer exist.
        FileState::Unsettled(_) | FileState::Unreadable(_) | FileState::Skipped(_) => {
            Verdict::Changed
        }
    }
}

/// Returns whether a stat belongs to the inode that the index has.
pub(super) fn is_same_file(known: &FileRow, now: &FileStat) -> bool {
    known.stat.fs == now.fs && known.stat.ino == now.ino
}

/// Returns whether the inode, the size and the modification time are equal to those in the index. A
/// program can set the modification time, so the bytes may still differ.
pub(super) fn has_same_bytes(known: &FileRow, now: &FileStat) -> bool {
    is_same_file(known, now) && known.stat.size == now.size && known.stat.mtime == now.mtime
}

#[cfg(test)]
mod tests {
    use resemble_core::{ByteLen, ContentId, FileId};
    use resemble_index::{FsId, Timestamp};

    use super::*;

    fn known(state: FileState) -> FileRow {
        let time = |secs| Timestamp { secs, nanos: 7 };
        FileRow {
            id: FileId(1),
            stat: FileStat {
                fs: FsId("fs".into()),
                ino: 2,
                size: ByteLen(3),
                mtime: time(4),
                ctime: time(5),
                nlink: 1,
            },
            state,
        }
    }

    fn states() -> [FileState; 4] {
        [
            FileState::Settled(ContentId(1)),
            FileState::Unsettled(ContentId(1)),
            FileState::Unreadable(13),
            FileState::Skipped("size".to_owned()),
        ]
    }

    #[test]
    fn what_did_not_change_is_read_only_if_it_has_to_be() {
        use Verdict::{Changed, Settled, Settling};
        for (written_to, may_wait, expected) in [
            (false, true, [Settled, Settling, Changed, Changed]),
            (false, false, [Settled, Changed, Changed, Changed]),
            (true, true, [Changed; 4]),
        ] {
            let verdicts = states().map(|state| {
                let known = known(state);
                decide(&known, &known.stat, written_to, || may_wait)
            });
            assert_eq!(verdicts, expected, "{written_to} {may_wait}");
        }
    }

    #[test]
    fn a_changed_inode_is_read_unless_that_is_explained() {
        use Verdict::{Changed, Touched};
        for written_to in [false, true] {
            let verdicts = states().map(|state| {
                let known = known(state);
                let mut now = known.stat.clone();
                now.ctime.nanos += 1;
                decide(&known, &now, written_to, || true)
            });
            // The result does not depend on `written_to`, which is considered afterwards.
            assert_eq!(verdicts, [Touched, Touched, Changed, Changed]);
        }
    }

    #[test]
    fn other_bytes_are_read() {
        let changes: [fn(&mut FileStat); 4] = [
            |now| now.size.0 += 1,
            |now| now.mtime.nanos += 1,
            |now| now.ino += 1,
            |now| now.fs = FsId("other".into()),
        ];
        for change in changes {
            for state in states() {
                let known = known(state);
                let mut now = known.stat.clone();
                change(&mut now);
                assert_eq!(decide(&known, &now, false, || true), Verdict::Changed);
            }
        }
        // A change of the number of names does not mean that the bytes changed.
        let known = known(FileState::Settled(ContentId(1)));
        let mut now = known.stat.clone();
        now.nlink = 2;
        assert_eq!(decide(&known, &now, false, || false), Verdict::Settled);
    }
}
