//! Stores the bytes that the overlay makes and has open: texts, members of archives, listings.
//!
//! Equal bytes are stored once, however many handles are open. Contents are identified by their
//! digests. A member is also identified by its archive, so that it is extracted only once. Large
//! contents are stored in nameless files in a folder of the daemon. These files vanish when the
//! last handle is closed. All amounts are limited by [`Shares`].

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};

use parking_lot::Mutex;
use resemble_callers::accounts::Account;
use resemble_core::ContentDigest;
use resemble_core::hash::content::digest;
use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;

use super::attr::Refusal;
use super::shares::{Amounts, Share, Shares};

/// The largest content that is stored in memory, in bytes. Without a folder for files, all contents
/// are in memory.
const IN_MEMORY: usize = 64 << 10;
/// The next number for the name of a file, if nameless files are not supported. The name is removed
/// as soon as the file is open.
static NEXT: AtomicU64 = AtomicU64::new(0);
/// A map of contents is cleaned only when it has at least this many entries.
const FEW: usize = 1024;

/// The contents that are open.
#[derive(Debug)]
pub(crate) struct Store {
    shares: Arc<Shares>,
    /// The folder for the files of large contents.
    folder: Option<PathBuf>,
    by_digest: Mutex<Kept<ContentDigest, Weak<Blob>>>,
    by_origin: Mutex<Kept<Vec<u8>, Arc<Origin>>>,
}

/// The content of a member. A request that extracts the member holds the lock, so that other
/// requests wait.
type Origin = Mutex<Weak<Blob>>;

/// A map, and the number of entries at which its unused entries are removed.
#[derive(Debug)]
struct Kept<K, V> {
    entries: HashMap<K, V>,
    many: usize,
}

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self {
            entries: HashMap::new(),
            many: FEW,
        }
    }
}

impl<K: Eq + std::hash::Hash, V> Kept<K, V> {
    fn prune(&mut self, is_used: impl Fn(&V) -> bool) {
        if self.entries.len() >= self.many {
            self.entries.retain(|_, value| is_used(value));
            self.many = FEW.max(2 * self.entries.len());
        }
    }
}

/// The bytes of one content, which never change.
#[derive(Debug)]
struct Blob {
    bytes: Bytes,
    amounts: Amounts,
    /// The share of each account that has this content open.
    of_each: Mutex<HashMap<Account, Weak<Share>>>,
    _of_all: Share,
}

#[derive(Debug)]
enum Bytes {
    Memory(Vec<u8>),
    File { file: File, size: u64 },
}

/// A reference to the bytes of a content. They stay while a reference exists.
#[derive(Clone, Debug)]
pub(crate) struct Held {
    blob: Arc<Blob>,
    _own: Arc<Share>,
}

/// An extracted member.
pub(crate) struct Taken {
    /// The bytes of the member.
    pub(crate) bytes: Vec<u8>,
    /// True if the archive did not change while the member was extracted, so the bytes belong to
    /// the requested origin.
    pub(crate) is_of_origin: bool,
}

impl Store {
    /// Creates a store. Large contents are stored in files of this folder.
    pub(crate) fn new(shares: Arc<Shares>, folder: Option<PathBuf>) -> Self {
        Self {
            shares,
            folder,
            by_digest: Mutex::default(),
            by_origin: Mutex::default(),
        }
    }

    pub(crate) const fn shares(&self) -> &Arc<Shares> {
        &self.shares
    }

    /// Stores these bytes for an account, unless equal bytes are stored already. Returns a
    /// reference to them.
    pub(crate) fn keep(&self, account: Account, bytes: Vec<u8>) -> Result<Held, Refusal> {
        let digest = digest(&bytes);
        let found = self.by_digest.lock().entries.get(&digest).cloned();
        if let Some(blob) = found.and_then(|blob| blob.upgrade()) {
            return self.join(account, blob);
        }
        let held = self.hold(account, bytes)?;
        let mut kept = self.by_digest.lock();
        kept.prune(|blob| blob.strong_count() > 0);
        kept.entries.insert(digest, Arc::downgrade(&held.blob));
        Ok(held)
    }

    /// Stores the bytes of a member for an account, and returns a reference to them. If the member
    /// is open already from the same origin, its stored bytes are used. Otherwise `take` extracts
    /// them. `size` is the expected number of bytes.
    pub(crate) fn keep_member(
        &self,
        account: Account,
        size: u64,
        origin: Vec<u8>,
        take: impl FnOnce() -> Option<Taken>,
    ) -> Result<Held, Refusal> {
        let mut origins = self.by_origin.lock();
        origins.prune(|origin| {
            Arc::strong_count(origin) > 1
                || origin.try_lock().is_none_or(|blob| blob.strong_count() > 0)
        });
        let origin = Arc::clone(origins.entries.entry(origin).or_default());
        drop(origins);
        let mut of_origin = origin.lock();
        if let Some(blob) = of_origin.upgrade() {
            return self.join(account, blob);
        }
        // The limits are checked first, so that nothing is extracted which could not be stored.
        self.shares.has_room(account, self.amounts(size))?;
        let taken = take().ok_or(Refusal::Real(Errno::IO))?;
        let held = self.keep(account, taken.bytes)?;
        if taken.is_of_origin {
            *of_origin = Arc::downgrade(&held.blob);
        }
        Ok(held)
    }

    fn amounts(&self, size: u64) -> Amounts {
        if size <= IN_MEMORY as u64 || self.folder.is_none() {
            in_memory(size)
        } else {
            Amounts {
                descriptors: 1,
                disk: size,
                memory: 0,
            }
        }
    }

    /// Stores bytes that are not stored yet.
    fn hold(&self, account: Account, bytes: Vec<u8>) -> Result<Held, Refusal> {
        let size = bytes.len() as u64;
        let amounts = self.amounts(size);
        let shares = self.shares.take(account, amounts)?;
        let folder = self.folder.as_deref().filter(|_| amounts.disk > 0);
        let Some(folder) = folder else {
            return Ok(blob(account, shares, amounts, Bytes::Memory(bytes)));
        };
        match spilled(folder, &bytes) {
            Ok(file) => Ok(blob(account, shares, amounts, Bytes::File { file, size })),
            Err(error) => {
                // If the disk is full and the limit for memory allows it, the content is stored in
                // memory.
                tracing::warn!(%error, ?folder, "what is open is kept in memory");
                drop(shares);
                let amounts = in_memory(size);
                let shares = self.shares.take(account, amounts)?;
                Ok(blob(account, shares, amounts, Bytes::Memory(bytes)))
            }
        }
    }

    /// Returns another reference to a content for an account. The account may have opened the
    /// content already.
    fn join(&self, account: Account, blob: Arc<Blob>) -> Result<Held, Refusal> {
        let mut of_each = blob.of_each.lock();
        let own = of_each.get(&account).and_then(Weak::upgrade);
        let own = if let Some(own) = own {
            own
        } else {
            let own = Arc::new(self.shares.join(account, blob.amounts)?);
            of_each.retain(|_, share| share.strong_count() > 0);
            of_each.insert(account, Arc::downgrade(&own));
            own
        };
        drop(of_each);
        Ok(Held { blob, _own: own })
    }
}

fn in_memory(size: u64) -> Amounts {
    Amounts {
        memory: size,
        ..Amounts::default()
    }
}

fn blob(account: Account, shares: [Share; 2], amounts: Amounts, bytes: Bytes) -> Held {
    let [of_all, own] = shares;
    let own = Arc::new(own);
    let of_each = HashMap::from([(account, Arc::downgrade(&own))]);
    let blob = Blob {
        bytes,
        amounts,
        of_each: Mutex::new(of_each),
        _of_all: of_all,
    };
    Held {
        blob: Arc::new(blob),
        _own: own,
    }
}

/// Creates a file without a name, with these bytes. Only this process can access it.
fn spilled(folder: &Path, bytes: &[u8]) -> std::io::Result<File> {
    let mode = Mode::RUSR | Mode::WUSR;
    let flags = OFlags::RDWR | OFlags::CLOEXEC;
    let nameless = rustix::fs::openat(CWD, folder, flags | OFlags::TMPFILE, mode);
    let file = match nameless {
        // The file system does not support nameless files. So the file gets a name, which is
        // removed at once.
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::INVAL) => {
            let number = NEXT.fetch_add(1, Ordering::Relaxed);
            let path = folder.join(format!("open-{}-{number}", std::process::id()));
            let file = rustix::fs::openat(CWD, &path, flags | OFlags::CREATE | OFlags::EXCL, mode)?;
            std::fs::remove_file(&path)?;
            file
        }
        other => other?,
    };
    let file = File::from(file);
    file.write_all_at(bytes, 0)?;
    Ok(file)
}

impl Held {
    pub(crate) fn len(&self) -> u64 {
        match &self.blob.bytes {
            Bytes::Memory(bytes) => bytes.len() as u64,
            Bytes::File { size, .. } => *size,
        }
    }

    /// Returns up to `size` bytes from `offset` on. Fewer bytes are returned only at the end of the
    /// content.
    pub(crate) fn read(&self, offset: u64, size: usize) -> std::io::Result<Vec<u8>> {
        match &self.blob.bytes {
            Bytes::Memory(bytes) => {
                let from = usize::try_from(offset).unwrap_or(usize::MAX);
                let from = from.min(bytes.len());
                let to = from.saturating_add(size).min(bytes.len());
                Ok(bytes[from..to].to_vec())
            }
            Bytes::File { size: end, .. } if offset >= *end => Ok(Vec::new()),
            Bytes::File { file, .. } => read_at(file, offset, size),
        }
    }
}

/// Returns up to `size` bytes of a file from `offset` on. Fewer bytes are returned only at the end
/// of the file.
pub(crate) fn read_at(file: &File, offset: u64, size: usize) -> std::io::Result<Vec<u8>> {
    let mut bytes = vec![0; size];
    let mut filled = 0;
    while filled < size {
        match file.read_at(&mut bytes[filled..], offset.saturating_add(filled as u64)) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;

    use resemble_testutil::TempTree;

    use super::*;

    const ONE: Account = Account::of_id(1);
    const OTHER: Account = Account::of_id(2);

    fn store(folder: Option<PathBuf>) -> Store {
        let limits = Amounts {
            descriptors: 100,
            memory: 1 << 20,
            disk: 8 << 20,
        };
        // With this limit for the disk, one account can have 3 MiB, but not 3 MiB more.
        Store::new(Shares::new(limits, true), folder)
    }

    fn bytes(first: u8, size: usize) -> Vec<u8> {
        let mut bytes = vec![7; size];
        bytes[0] = first;
        bytes
    }

    #[test]
    fn equal_bytes_are_held_once() {
        let folder = TempTree::new();
        let store = store(Some(folder.root().to_owned()));
        let large = bytes(1, 3 << 20);
        let held: Vec<Held> = (0..1000)
            .map(|n| {
                store
                    .keep(if n % 2 == 0 { ONE } else { OTHER }, large.clone())
                    .unwrap()
            })
            .collect();
        let taken = Amounts {
            descriptors: 1,
            memory: 0,
            disk: 3 << 20,
        };
        assert_eq!(store.shares.taken(), taken);
        assert_eq!(held[999].len(), 3 << 20);
        assert_eq!(held[7].read((3 << 20) - 2, 10).unwrap(), [7, 7]);
        assert_eq!(held[7].read(u64::MAX - 1, 10).unwrap(), b"");
        // The folder is empty, because the file has no name.
        assert_eq!(std::fs::read_dir(folder.root()).unwrap().count(), 0);
        let refused = store.keep(ONE, bytes(2, 3 << 20)).err();
        assert_eq!(refused, Some(Refusal::TooMany), "6 MiB of 8");
        let refused = store.keep(Account::of_id(3), bytes(2, 6 << 20)).err();
        assert_eq!(refused, Some(Refusal::TooMany), "9 MiB of 8");
        drop(held);
        assert_eq!(store.shares.taken(), Amounts::default());
        assert!(store.keep(ONE, bytes(2, 3 << 20)).is_ok());
    }

    #[test]
    fn small_bytes_and_those_without_a_folder_are_in_memory() {
        for (folder, size) in [
            (Some("/nowhere"), 100),
            (None, 400_000),
            (Some("/nowhere"), 400_000),
        ] {
            let store = store(folder.map(PathBuf::from));
            let held = store.keep(ONE, bytes(1, size)).unwrap();
            assert_eq!(store.shares.taken(), in_memory(size as u64), "{folder:?}");
            assert_eq!(held.read(0, 2).unwrap(), [1, 7]);
            assert_eq!(held.read(99, 1).unwrap(), [7]);
        }
        let store = store(None);
        assert_eq!(
            store.keep(ONE, bytes(1, 2 << 20)).err(),
            Some(Refusal::TooMany)
        );
    }

    #[test]
    fn a_member_is_taken_out_once_for_all_who_open_it() {
        let store = store(None);
        let count = AtomicUsize::new(0);
        let open = |origin: &[u8], is_of_origin| {
            store.keep_member(ONE, 3, origin.to_vec(), || {
                count.fetch_add(1, Ordering::Relaxed);
                let bytes = origin.to_vec();
                Some(Taken {
                    bytes,
                    is_of_origin,
                })
            })
        };
        std::thread::scope(|scope| {
            let opens: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| open(b"a", true).unwrap()))
                .collect();
            let held: Vec<Held> = opens.into_iter().map(|open| open.join().unwrap()).collect();
            assert_eq!(held[7].read(0, 9).unwrap(), b"a");
            assert_eq!(count.load(Ordering::Relaxed), 1);
        });
        drop(open(b"a", true).unwrap());
        assert_eq!(count.load(Ordering::Relaxed), 2, "nobody had it open");
        let _changing = [open(b"b", false).unwrap(), open(b"b", false).unwrap()];
        assert_eq!(
            count.load(Ordering::Relaxed),
            4,
            "it changed while it was read"
        );
        // If the account could not store a member, the member is not extracted.
        let refused = store.keep_member(ONE, 1 << 30, b"c".to_vec(), || unreachable!());
        assert_eq!(refused.err(), Some(Refusal::TooMany));
        let lost = store.keep_member(ONE, 1, b"c".to_vec(), || None);
        assert_eq!(lost.err(), Some(Refusal::Real(Errno::IO)));
    }

    #[test]
    fn what_is_no_longer_open_is_forgotten() {
        let store = store(None);
        for n in 0..5 * FEW {
            let bytes = n.to_le_bytes().to_vec();
            let member = store.keep_member(ONE, 8, bytes.clone(), || {
                Some(Taken {
                    bytes,
                    is_of_origin: true,
                })
            });
            drop(member.unwrap());
        }
        assert!(store.by_digest.lock().entries.len() <= FEW);
        assert!(store.by_origin.lock().entries.len() <= FEW);
    }
}
