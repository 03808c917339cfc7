//! Reads one file: opens only regular files, and classifies how reliable the result is.
//!
//! 1. **A readable open may block or have effects** (a FIFO, a tape, `/dev/watchdog`). The type may
//!    change between a `stat` and an `open`. So the name is opened with `O_PATH` first, which has
//!    no effect. The type is checked on that descriptor, and the same inode is then opened through
//!    `/proc/self/fd`. `O_NONBLOCK` and `O_NOCTTY` stay set for unusual file systems. `O_NOATIME`
//!    is set where we own the file, because reading should leave no trace.
//! 2. **Never `mmap`**: a file that is truncated while it is mapped kills the process.
//! 3. **No more than the size seen at the start is read**. So a file that grows as fast as we read
//!    ends, and a pseudo file of size 0 is empty. One more byte is requested, to notice growth.
//! 4. **`stat` before and after.** If size, times or identity differ, the file may never have had
//!    these bytes. A small file is then read again at once, a few times. A file that keeps changing
//!    is returned as it is and marked *moving*. It has the `stat` of *before*, so any later check
//!    sees a difference.
//! 5. **Settling.** Equal times are no proof of equal bytes. A store through `mmap` is dated when
//!    the page is written back (measured: up to 35 s later on ext4, never on tmpfs). A kernel
//!    without multigrain timestamps dates two writes within a tick alike (up to 10 ms; 2 s on FAT).
//!    One rule covers both. A file whose inode changed less than [`SETTLE_WINDOW`] before the read
//!    is *unsettled*. It is read once more after the window, for its digest only: one BLAKE3 pass,
//!    no chunking, and no write if it is the same. A first scan reads files that nobody changed in
//!    the last half minute exactly once. Checking by `stat` again would be cheaper, but useless:
//!    the point is to find a change without a changed `stat`. Two changes stay invisible: a store
//!    through a long-lived mapping on tmpfs, and a writeback later than the window.
//! 6. **A known content costs one BLAKE3 pass.** Small files are hashed before anything else. A
//!    large file may be known to the index with other times (a touch, a copy over itself). Its
//!    digest alone is computed first. Only new contents are chunked. Two equal files in flight are
//!    chunked once.
//! 7. **Holes cost nothing**: `SEEK_DATA` and `SEEK_HOLE` find them, and the zeros are computed.
//! 8. **A large file that changes** is read from its old end if it has grown. The part before is
//!    assumed, and verified later. Otherwise it is hashed, and digested where it differs from the
//!    earlier state (docs/changes.md). Both need what `known` holds of an earlier reading.
//! 9. **A long reading may pause**, so that other files need not wait for it; see `paused`.
//! 10. Advice to the kernel is `SEQUENTIAL` for large files. Dropping the pages that we read would
//!     also drop pages that the user's programs had cached. The kernel's use-once list is better.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use resemble_core::{
    ByteLen, ComposedDigest, Digester, Params, PostedFingerprints, StopFlag, Stretches,
};
use resemble_index::{NewLook, Timestamp};
use rustix::fs::Advice;
use rustix::io::Errno;

use self::known::{IN_STRETCHES, KnownFile, edges};
use self::paused::{Halfway, Paused};
use self::pieces::InPieces;
use crate::walk::{self, Anchor, Stat};

pub(crate) use self::known::{KnownFiles, LARGE};
pub(crate) use self::paused::PausedReadings;

pub(crate) use self::at::is_cached;
pub use self::at::{data_at, fill, read_fully_at, read_prefix};
pub use self::contents::{Content, Contents, Lookup, NoContents};
pub use self::open::{open_regular, open_regular_in};

/// A file whose inode changed less than this before it was read is unsettled: it may have changed
/// again with the same times. The kernel dates stores through `mmap` at writeback, after 30 s
/// (`dirty_expire`) and 5 s (the writeback interval).
pub const SETTLE_WINDOW: Duration = Duration::from_secs(35);

/// The size of the largest file that is read at once, in bytes.
const SMALL: u64 = 1 << 20;

/// The number of attempts after which a file counts as moving.
const ATTEMPTS: u32 = 3;

/// The size of the largest file that is read again at once, in bytes. A larger one would probably
/// change again meanwhile.
const LARGEST_AT_ONCE: u64 = 64 << 20;

/// A file that was read.
#[derive(Clone, Debug)]
pub struct FileRead {
    /// The `stat` before the (last) reading.
    pub stat: Stat,
    /// Its content.
    pub content: Content,
    /// The file changed during every attempt to read it.
    pub moving: bool,
    /// The time when reading began.
    pub at: SystemTime,
    /// Bytes read in all attempts.
    pub bytes: u64,
    /// The file has a format that is taken apart, or that states a date.
    pub applies: bool,
    /// The result of looking into it, if that was requested and is new.
    pub look: Option<NewLook>,
    /// The content must be taken apart later.
    pub due: bool,
    /// The system lacked the resources to look into it: the error number.
    pub scarce: Option<i32>,
    /// Bytes at the beginning that were not read, but assumed equal to those of an earlier reading.
    pub assumed: ByteLen,
}

impl FileRead {
    /// Returns how many nanoseconds before the reading the inode changed; negative if that is in
    /// the future.
    pub fn age(&self) -> i128 {
        age(self.stat.ctime, self.at)
    }
}

/// Returns the nanoseconds from `time` to `now`; negative if `time` is later.
pub fn age(time: Timestamp, now: SystemTime) -> i128 {
    let since_1970 = match now.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => after.as_nanos() as i128,
        Err(before) => -(before.duration().as_nanos() as i128),
    };
    since_1970 - (i128::from(time.secs) * 1_000_000_000 + i128::from(time.nanos))
}

/// The reason why a file was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadFailure {
    /// Nothing is at the path (any more), or access to it is obstructed.
    #[error("the file is gone")]
    Gone,
    /// The path is not a regular file (any more).
    #[error("not a regular file")]
    NotRegular,
    /// The system refused, for now or permanently.
    #[error("{}", std::io::Error::from_raw_os_error(*.0))]
    Errno(i32),
    /// The stop flag was set.
    #[error("stopped")]
    Stopped,
    /// The reading takes longer than a reader may spend. The next reading continues where it ended.
    #[error("not read to its end yet")]
    Paused,
}

impl From<Errno> for ReadFailure {
    fn from(errno: Errno) -> Self {
        if walk::means_absent(errno) {
            Self::Gone
        } else {
            Self::Errno(errno.raw_os_error())
        }
    }
}

/// Reads files one after the other with the same buffers.
#[derive(Debug)]
pub struct Reader {
    digester: Digester,
    params: Params,
    pieces: InPieces,
    /// The states of large files as of earlier readings. `None`: every file is read whole.
    known: Option<Arc<KnownFiles>>,
    /// True if the part before the old end of a grown file may be assumed unchanged.
    may_assume: bool,
    /// The device and inode of the file that the next one replaces, under the same name.
    replaces: Option<(u64, u64)>,
    /// The stored paused readings. `None`: readings are neither paused nor resumed.
    paused: Option<Arc<PausedReadings>>,
    /// True if the next file's presence in the page cache is to be checked.
    looks_at_cache: bool,
    /// True if the last file was in the page cache; `None` if that was not checked or is unknown.
    was_cached: Option<bool>,
}

/// One pass over a file.
struct Pass {
    content: Content,
    bytes: u64,
    assumed: ByteLen,
    /// True if the file had more or fewer bytes than its `stat` says.
    other_size: bool,
}

impl Pass {
    /// Makes a pass that did not assume any bytes.
    const fn of(content: Content, bytes: u64, other_size: bool) -> Self {
        Self {
            content,
            bytes,
            assumed: ByteLen(0),
            other_size,
        }
    }
}

/// The outcome of a pass.
enum Passed {
    Whole(Pass),
    /// The reading paused after this many bytes.
    Partly(Halfway, u64),
}

impl Passed {
    /// Adds the number of bytes that were read before this pass.
    fn after(self, before: u64) -> Self {
        match self {
            Self::Whole(pass) => Self::Whole(Pass {
                bytes: pass.bytes + before,
                ..pass
            }),
            Self::Partly(state, bytes) => Self::Partly(state, bytes + before),
        }
    }
}

impl Reader {
    /// Returns a reader for an index with these parameters.
    pub fn new(params: &Params, stop: StopFlag) -> Self {
        Self {
            digester: Digester::new(params),
            params: *params,
            pieces: InPieces {
                buffer: Vec::new(),
                whole: None,
                stop,
                until: None,
                spares_cache: false,
            },
            known: None,
            may_assume: false,
            replaces: None,
            paused: None,
            looks_at_cache: false,
            was_cached: None,
        }
    }

    /// Enables the cheaper reading of large files that were read before and have changed.
    pub(crate) fn with_known(mut self, known: Arc<KnownFiles>) -> Self {
        self.known = Some(known);
        self
    }

    /// Makes the reader pause long readings, and resume those that any reader has stored here.
    pub(crate) fn with_paused(mut self, paused: Arc<PausedReadings>) -> Self {
        self.paused = Some(paused);
        self
    }

    /// Makes readings end with [`ReadFailure::Paused`] after this moment; `None`: never.
    pub(crate) const fn pause_at(&mut self, until: Option<Instant>) {
        self.pieces.until = until;
    }

    /// Sets whether reading the next file should leave the page cache as it was.
    pub(crate) const fn spare_cache(&mut self, spare: bool) {
        self.pieces.spares_cache = spare;
    }

    /// Sets whether [`Self::was_cached`] is determined for the next file.
    pub(crate) const fn look_at_cache(&mut self, look: bool) {
        self.looks_at_cache = look;
        self.was_cached = None;
    }

    /// Returns whether the last file was in the page cache before it was read.
    pub(crate) const fn was_cached(&self) -> Option<bool> {
        self.was_cached
    }

    /// Sets whether the beginning of a grown file may be assumed unchanged. If not, it is read and
    /// hashed, but not chunked.
    pub(crate) const fn may_assume(&mut self, may: bool) {
        self.may_assume = may;
    }

    /// Names the file that had the next file's name before. The next file may be a saved version of
    /// that file.
    pub(crate) const fn replaces(&mut self, file: Option<(u64, u64)>) {
        self.replaces = file;
    }

    /// Reads the file at a path below the anchor. `known_size` is its size in the index, if it has
    /// one. If the size is unchanged, the digest alone is computed first.
    pub fn read(
        &mut self,
        anchor: &Anchor,
        path: &Path,
        known_size: Option<ByteLen>,
        contents: &dyn Contents,
    ) -> Result<FileRead, ReadFailure> {
        let (file, stat) = self.open(anchor, path)?;
        self.read_from(&file, stat, known_size, contents)
    }

    fn open(&mut self, anchor: &Anchor, path: &Path) -> Result<(OwnedFd, Stat), ReadFailure> {
        let (file, stat) = open_regular(anchor, path)?;
        if self.looks_at_cache {
            self.was_cached = is_cached(&file);
        }
        Ok((file, stat))
    }

    /// Reads an open file like [`Self::read`]. The `stat` is that of [`open_regular`].
    pub fn read_open(
        &mut self,
        (file, before): (OwnedFd, Stat),
        known_size: Option<ByteLen>,
        contents: &dyn Contents,
    ) -> Result<FileRead, ReadFailure> {
        self.read_from(&file, before, known_size, contents)
    }

    fn read_from(
        &mut self,
        file: &OwnedFd,
        mut before: Stat,
        known_size: Option<ByteLen>,
        contents: &dyn Contents,
    ) -> Result<FileRead, ReadFailure> {
        let mut bytes = 0;
        let mut earlier = None;
        let mut attempt = 1;
        loop {
            let mut at = SystemTime::now();
            let mut halfway = None;
            if let Some(paused) = self.resumed(file, &before)? {
                (before, at) = (paused.stat, paused.at);
                bytes += paused.bytes;
                halfway = Some(paused.state);
                // A resumed file is not read again if it changes. Otherwise a file that is written
                // to between all turns would never be finished.
                attempt = ATTEMPTS;
            }
            let digest_first = known_size == Some(ByteLen(before.size));
            let pass = match self.pass(file, &before, (digest_first, halfway), contents)? {
                Passed::Whole(pass) => pass,
                Passed::Partly(state, read) => {
                    if let Some(paused) = &self.paused {
                        paused.put(file, (before, at, bytes + read), state)?;
                    }
                    return Err(ReadFailure::Paused);
                }
            };
            bytes += pass.bytes;
            let content = match (pass.content, earlier.take()) {
                // The bytes are the same, only the times changed. The content is in flight because
                // the previous attempt here claimed it.
                (Content::InFlight(now), Some(Content::New(digest))) if digest.content == now => {
                    Content::New(digest)
                }
                (content, _) => content,
            };
            let after = Stat::of(file.as_fd())?;
            let moving = pass.other_size || !after.unchanged_since(&before);
            if !moving || attempt >= ATTEMPTS || after.size > LARGEST_AT_ONCE {
                return Ok(FileRead {
                    stat: before,
                    content,
                    moving,
                    at,
                    bytes,
                    applies: false,
                    look: None,
                    due: false,
                    scarce: None,
                    assumed: pass.assumed,
                });
            }
            earlier = Some(content);
            before = after;
            attempt += 1;
        }
    }

    /// Computes the digest of a file in one pass, for a question instead of the index.
    pub fn digest(&mut self, anchor: &Anchor, path: &Path) -> Result<FileRead, ReadFailure> {
        self.read(anchor, path, None, &NoContents)
    }

    /// Returns the stored earlier reading of the file, if it can continue.
    fn resumed(&self, file: &OwnedFd, stat: &Stat) -> Result<Option<Paused>, ReadFailure> {
        match &self.paused {
            Some(paused) if stat.size > SMALL => paused.take(file, stat),
            _ => Ok(None),
        }
    }

    fn pass(
        &mut self,
        file: &OwnedFd,
        stat: &Stat,
        (digest_first, halfway): (bool, Option<Halfway>),
        contents: &dyn Contents,
    ) -> Result<Passed, ReadFailure> {
        self.pieces.whole = None;
        if stat.size <= SMALL {
            return Ok(Passed::Whole(self.small(file, stat.size, contents)?));
        }
        let (mut hasher, from) = match halfway {
            Some(Halfway::Digested(digester)) => {
                self.digester = *digester;
                return self.rest(file, stat, None, contents);
            }
            Some(Halfway::Edited(digester)) => {
                self.digester = *digester;
                return self.edited(file, stat, None, contents);
            }
            Some(Halfway::Hashed(hasher, position)) => (hasher, position),
            None => (Box::default(), 0),
        };
        let mut bytes = 0;
        let known = self.known(stat, contents);
        // A file that is hashed first or was read before may be read twice, so its pages stay in
        // the cache.
        self.pieces.spares_cache &= !digest_first && known.is_none();
        if let Some(known) = known
            && let Some(passed) = self.changed(file, stat, &known, contents, &mut bytes)?
        {
            return Ok(passed.after(bytes));
        }
        // This is only a hint for the kernel, so a failure is ignored.
        rustix::fs::fadvise(file, 0, None, Advice::Sequential).ok();
        if digest_first || from > 0 {
            let rest = from..stat.size;
            let read = self.pieces.stream_into(file, stat, rest, &mut *hasher)?;
            bytes += read.bytes;
            if let Some(position) = read.paused_at {
                return Ok(Passed::Partly(Halfway::Hashed(hasher, position), bytes));
            }
            let digest = hasher.finish();
            let content = match contents.look_up(&digest) {
                Lookup::Known(id) => Some(Content::Known(id)),
                Lookup::InFlight => Some(Content::InFlight(digest)),
                Lookup::New => None,
            };
            if let Some(content) = content {
                return Ok(Passed::Whole(Pass::of(content, bytes, read.other_size)));
            }
        }
        self.begin(stat);
        let passed = self.rest(file, stat, None, contents)?;
        Ok(passed.after(bytes))
    }

    /// Prepares the digester for a file that is read from its beginning.
    fn begin(&mut self, stat: &Stat) {
        if self.known.is_some() && stat.size >= IN_STRETCHES {
            self.digester.keep_stretches();
        } else {
            self.digester.reset();
        }
    }

    /// Reads a file from the position of the digester to its end. The digester already has the
    /// bytes before: those of `base`, the earlier state of a grown file, or those of earlier turns.
    fn rest(
        &mut self,
        file: &OwnedFd,
        stat: &Stat,
        base: Option<&KnownFile>,
        contents: &dyn Contents,
    ) -> Result<Passed, ReadFailure> {
        let Self {
            digester, pieces, ..
        } = self;
        let rest = digester.position()..stat.size;
        let read = pieces.stream_into(file, stat, rest, digester)?;
        if read.paused_at.is_some() {
            let digester = std::mem::replace(digester, Digester::new(&self.params));
            let state = Halfway::Digested(Box::new(digester));
            return Ok(Passed::Partly(state, read.bytes));
        }
        let of_file = (!read.other_size).then_some(stat);
        let Some(content) = self.finish(file, of_file, base, contents)? else {
            // The earlier state of the file did not help, so the file is read without it.
            self.digester.reset();
            let passed = self.rest(file, stat, None, contents)?;
            return Ok(passed.after(read.bytes));
        };
        let pass = Pass::of(content, read.bytes, read.other_size);
        Ok(Passed::Whole(pass))
    }

    /// Completes the content that the digester holds. If `stat` is given, the content is all of
    /// this file, and the state of the file is kept. `None` if the file must be digested anew.
    fn finish(
        &mut self,
        file: &OwnedFd,
        stat: Option<&Stat>,
        base: Option<&KnownFile>,
        contents: &dyn Contents,
    ) -> Result<Option<Content>, ReadFailure> {
        let stat = stat.filter(|stat| self.known.is_some() && stat.size >= LARGE.0);
        let base_content = base.map(|base| base.content);
        let Some(mut large) = self.digester.finish_large(base_content, stat.is_some()) else {
            return Ok(None);
        };
        let digest = large.made.digest().content;
        if let (Some(known), Some(stat), Some(checkpoint)) = (&self.known, stat, large.checkpoint)
            && let Some(edges) = edges(file, stat.size)?
        {
            let posted = PostedFingerprints::of(large.made.digest());
            if let ComposedDigest::Edited(edited) = &mut large.made
                && let Some(base) = self.read_before(stat, |base| base.content == edited.base)
            {
                edited.fingerprints = base.posted.edit(&posted);
            }
            let of_base = base.and_then(|base| base.stretches.as_deref());
            let stretches = large.stretches.or(of_base.map(Stretches::of_beginning));
            let file = KnownFile {
                file: (stat.dev, stat.ino),
                content: digest,
                checkpoint,
                posted,
                stretches: stretches.map(Arc::new),
                edges,
            };
            known.put(file);
        }
        Ok(Some(match contents.look_up(&digest) {
            Lookup::Known(id) => Content::Known(id),
            // If another file has claimed the digest, both files add the content, which is stored
            // once.
            Lookup::InFlight | Lookup::New => large.made.into(),
        }))
    }

    fn small(
        &mut self,
        file: &OwnedFd,
        size: u64,
        contents: &dyn Contents,
    ) -> Result<Pass, ReadFailure> {
        let size = size as usize;
        let filled = self.pieces.fill(file, size)?;
        let other_size = filled != size;
        let bytes = &self.pieces.buffer[..filled.min(size)];
        let digest = resemble_core::hash::content::digest(bytes);
        let content = match contents.look_up(&digest) {
            Lookup::Known(id) => Content::Known(id),
            Lookup::InFlight => Content::InFlight(digest),
            Lookup::New => Content::New(Box::new(self.digester.digest_named(bytes, digest))),
        };
        Ok(Pass::of(content, filled as u64, other_size))
    }
}

mod at;
pub mod bytes;
mod changed;
mod contents;
mod known;
pub(crate) mod look;
mod open;
mod paused;
mod pieces;
#[cfg(test)]
mod tests;
