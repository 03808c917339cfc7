//! Locks folders. In a locked folder, only one process works at a time, or several processes only
//! read.
//!
//! A process that works in a folder holds a lock on the folder's file `lock`. To remove a folder, a
//! process first renames it **while it holds the lock**. So no process begins to work in a folder
//! that is half removed. A process that waited for the lock of a removed folder makes a new folder.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file that is locked.
const LOCK: &str = "lock";

/// The prefix of the new name of a folder that is being removed.
const GOING: &str = ".going-";

/// The maximum number of attempts to lock a folder that other processes keep removing. After these
/// attempts, the folder must be missing for another reason.
const MOST_GONE: usize = 100;

/// A locked folder. Dropping this value releases the lock.
#[derive(Debug)]
pub(crate) struct LockedFolder {
    path: PathBuf,
    lock: File,
}

impl LockedFolder {
    /// Locks a folder for one process, and waits until no other process works in it. A missing
    /// folder is made, and only its owner may enter it.
    pub(crate) fn alone(path: &Path) -> io::Result<Self> {
        Self::wait(path, File::lock)
    }

    /// Locks the folder like [`Self::alone`], but lets other processes read at the same time.
    pub(crate) fn shared(path: &Path) -> io::Result<Self> {
        Self::wait(path, File::lock_shared)
    }

    fn wait(path: &Path, take: impl Fn(&File) -> io::Result<()>) -> io::Result<Self> {
        let mut went = 0;
        loop {
            let folder = DirBuilder::new().recursive(true).mode(0o700).create(path);
            let opened = folder.and_then(|()| opened(path, true));
            let lock = match opened {
                Ok(lock) => lock,
                // Another process may have just removed the folder, so this one tries again.
                Err(error) if went < MOST_GONE && is_gone(&error) => {
                    went += 1;
                    continue;
                }
                Err(error) => return Err(error),
            };
            take(&lock)?;
            if is_lock_of(&lock, path) {
                let path = path.to_owned();
                return Ok(Self { path, lock });
            }
        }
    }

    /// Locks the folder if it exists and no process works in it.
    fn idle(path: &Path) -> Option<Self> {
        let lock = opened(path, false).ok()?;
        match lock.try_lock() {
            Ok(()) if is_lock_of(&lock, path) => Some(Self {
                path: path.to_owned(),
                lock,
            }),
            Ok(()) | Err(TryLockError::WouldBlock | TryLockError::Error(_)) => None,
        }
    }

    /// Removes the folder and its content.
    fn remove(self) -> io::Result<()> {
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        let going = format!("{GOING}{name}-{}", std::process::id());
        let going = self.path.with_file_name(going);
        fs::rename(&self.path, &going)?;
        let removed = fs::remove_dir_all(&going);
        drop(self.lock);
        removed
    }
}

/// Removes the least recently used folders of `parent` until `most` are left. The folder `own` is
/// not removed, nor is a folder in which a process works. `used` returns the time of a folder's
/// last use. Folders without such a time are removed first.
pub(crate) fn forget_oldest<T: Ord>(
    parent: &Path,
    own: &Path,
    most: usize,
    used: impl Fn(&Path) -> Option<T>,
) {
    let entries = fs::read_dir(parent).into_iter().flatten().flatten();
    let (going, mut others): (Vec<PathBuf>, Vec<PathBuf>) = entries
        .map(|entry| entry.path())
        .filter(|path| path != own)
        .partition(|path| {
            let name = path.file_name().unwrap_or_default();
            name.as_encoded_bytes().starts_with(GOING.as_bytes())
        });
    // Either a process was killed and left these folders half removed, or another process is
    // removing them now.
    for path in going {
        drop(fs::remove_dir_all(path));
    }
    others.sort_by_cached_key(|path| (used(path), path.clone()));
    let too_many = (others.len() + 1).saturating_sub(most);
    for path in &others[..too_many] {
        if let Some(folder) = LockedFolder::idle(path)
            && let Err(error) = folder.remove()
        {
            tracing::debug!(%error, folder = %path.display(), "an old folder stays");
        }
    }
}

fn opened(folder: &Path, make: bool) -> io::Result<File> {
    OpenOptions::new()
        .read(true)
        .write(true)
        .create(make)
        .truncate(false)
        .mode(0o600)
        .custom_flags(rustix::fs::OFlags::NOFOLLOW.bits().cast_signed())
        .open(folder.join(LOCK))
}

/// Returns whether this error can mean that another process has just removed the folder.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists
    )
}

/// Returns whether this open file is still the lock file of the folder.
fn is_lock_of(lock: &File, folder: &Path) -> bool {
    let inode = |meta: fs::Metadata| (meta.dev(), meta.ino());
    let now = fs::symlink_metadata(folder.join(LOCK)).map(inode);
    let own = lock.metadata().map(inode);
    now.is_ok_and(|now| own.is_ok_and(|own| now == own))
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use super::*;

    /// If the folder is removed while a process waits for it, that process then works alone in a
    /// new folder.
    #[test]
    fn a_folder_goes_while_its_lock_is_held() {
        let temp = tempfile::tempdir().expect("a folder");
        let path = temp.path().join("work");
        for _ in 0..200 {
            let first = LockedFolder::alone(&path).expect("locked");
            fs::write(path.join("made"), b"by the first").expect("written");
            let stale = opened(&path, false).expect("its lock");
            let barrier = Barrier::new(2);
            let second = std::thread::scope(|threads| {
                let second = threads.spawn(|| {
                    barrier.wait();
                    LockedFolder::alone(&path).expect("locked")
                });
                barrier.wait();
                first.remove().expect("removed");
                second.join().expect("no panic")
            });
            assert!(is_lock_of(&second.lock, &path));
            assert!(!path.join("made").exists());
            assert!(LockedFolder::idle(&path).is_none(), "somebody works there");
            // The lock of the removed folder can still be acquired, but it does not lock the new
            // folder.
            stale.try_lock().expect("free");
            assert!(!is_lock_of(&stale, &path));
        }
    }

    #[test]
    fn only_idle_folders_are_forgotten_the_oldest_first() {
        let temp = tempfile::tempdir().expect("a folder");
        let path = |number: u32| temp.path().join(number.to_string());
        let mut held = Vec::new();
        for number in 0..6 {
            let folder = LockedFolder::alone(&path(number)).expect("locked");
            if number == 1 {
                held.push(folder);
            }
        }
        let reader = LockedFolder::shared(&path(2)).expect("locked");
        let left_by_one_killed = temp.path().join(".going-9-1");
        fs::create_dir(&left_by_one_killed).expect("a folder");
        let used = |path: &Path| path.file_name()?.to_str()?.parse::<u32>().ok();
        let left = || -> Vec<u32> { (0..6).filter(|&number| path(number).exists()).collect() };
        forget_oldest(temp.path(), &path(5), 2, used);
        assert_eq!(left(), [1, 2, 4, 5]);
        assert!(!left_by_one_killed.exists());
        drop((held, reader));
        forget_oldest(temp.path(), &path(5), 2, used);
        assert_eq!(left(), [4, 5]);
    }
}
