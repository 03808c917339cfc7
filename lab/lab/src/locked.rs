//! Folders in which one process works at a time.
//!
//! A process that works in a folder holds the lock of the file `lock` in it. A folder is removed by
//! renaming it first, **while its lock is held**. So no process begins to work in a folder that is
//! half removed. A process that waited for the lock of a removed folder makes a new folder.

use std::fs::{self, DirBuilder, File, OpenOptions, TryLockError};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

/// The file that is locked.
const LOCK: &str = "lock";

/// The names of folders that are being removed begin with this.
const GOING: &str = ".going-";

/// The number of times that a folder may be removed while a process waits for it. After that there
/// must be another reason why it is missing.
const MOST_GONE: usize = 100;

/// A folder that is locked until this is dropped.
#[derive(Debug)]
pub(crate) struct LockedFolder {
    path: PathBuf,
    lock: File,
}

impl LockedFolder {
    /// Makes the folder if necessary, which only its owner may enter. Waits until no other process
    /// works in it.
    pub(crate) fn alone(path: &Path) -> io::Result<Self> {
        Self::wait(path, File::lock)
    }

    /// Like [`Self::alone`], but several processes that only read may share the folder.
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
                // The folder was removed meanwhile.
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

    /// Locks the folder if it is there and no process works in it.
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

    /// Removes the folder with all that is in it.
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

/// Removes idle folders of `parent` until `most` are left, but never `own`. The least recently used
/// are removed first. `used` returns the time of a folder's last use; folders without such a time
/// are removed before all others.
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
    // These were left by a process that was killed, or another process is removing them right now.
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

/// Returns whether this error may mean that the folder was removed meanwhile.
fn is_gone(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::AlreadyExists
    )
}

/// Returns whether this file is still the lock of the folder.
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

    /// A process that waits for a folder that is removed works alone in a new one.
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
            // The old lock can still be taken, but it is no longer the lock of the folder.
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
