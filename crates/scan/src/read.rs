//! Reads one file. Opens only regular files, and reports how reliable the result is.
//!
//! 1. **Only a regular file is opened for reading.** To open anything else can block or have
//!    effects (a FIFO, a tape, `/dev/watchdog`). A `stat` before the file is opened is not enough,
//!    because the type can change after the `stat`. So the name is first opened with `O_PATH`,
//!    which has no effect. The type is checked on that descriptor. Then the same inode is opened
//!    through `/proc/self/fd`. `O_NONBLOCK` and `O_NOCTTY` are set for unusual file systems.
//!    `O_NOATIME` is set if we own the file, so that reading does not change its access time.
//! 2. **Never `mmap`**: a file that is truncated while it is mapped kills the process.
//! 3. **A file is read only up to its size at the start.** So the read ends even if the file grows
//!    as fast as we read. A pseudo file of size 0 is taken as empty. One more byte than the size is
//!    requested, to notice if the file has grown.
//! 4. **The `stat`s before and after the read are compared.** If size, times or inode differ, the
//!    file perhaps never had exactly these bytes. Unless it is large, it is then read again at
//!    once, a few times. If it still changes, it is returned as it was read, and marked as
//!    *moving*. It is returned with the `stat` from before the read, so any later check sees a
//!    difference.
//! 5. **A recently changed file is read once more.** Equal times do not prove equal bytes. A write
//!    by `mmap` gets its time only when the page is written back (measured: up to 35 s later on
//!    ext4, never on tmpfs). A kernel without multigrain timestamps gives the same time to two
//!    writes within a tick (up to 10 ms; 2 s on FAT). One rule covers both cases: a file whose
//!    inode changed less than [`SETTLE_WINDOW`] before the reading is *unsettled*. It is read once
//!    more after that window, only to compute its digest. If the digest is the same, nothing else
//!    is computed or written. If nobody changed a file in the last half minute, a first scan reads
//!    it exactly once. To compare the `stat` again would be cheaper than a second read, but of no
//!    use: the second read must find changes that the `stat` does not show. Two changes are still
//!    not found: a write through a long-lived mapping on tmpfs, and a page that is written back
//!    after the window.
//! 6. **A known content costs only one BLAKE3 pass.** A small file is hashed before anything else
//!    is computed. A large file is hashed first if the index has it with the same size, because
//!    perhaps only its times have changed. A touch has this effect, and so has a copy of the file
//!    over itself. Only new contents are chunked. Of two equal files that are read at the same
//!    time, only one is chunked.
//! 7. **Holes are not read**: `SEEK_DATA` and `SEEK_HOLE` find them, and the hash of their zeros is
//!    computed.
//! 8. **A large file that has grown** is read only from its old end. The part before that is
//!    assumed to be unchanged, and verified later. Any other large file that has changed is hashed,
//!    and digested where it differs from its earlier state (docs/changes.md). In both cases, the
//!    state of an earlier reading is needed, which `known` stores.
//! 9. **A long reading can pause**, so that other files need not wait for it: see `paused`.
//! 10. **The page cache is left to the kernel**, which gets the advice `SEQUENTIAL` for large
//!     files. If we dropped the pages that we read, pages that other programs use would be dropped,
//!     too. The kernel itself lists pages that were used only once, and this works better. A scan
//!     that has read more than a quarter of the memory asks the kernel not to cache the rest.

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

/// A file is unsettled if its inode changed less than this time before the file was read. Such a
/// file may have changed again with the same times. For a page that was changed by `mmap`, the
/// kernel sets the time only when it writes the page back. It writes the page back after 30 s
/// (`dirty_expire`) and up to 5 s more (the writeback interval).
pub const SETTLE_WINDOW: Duration = Duration::from_secs(35);

/// The maximum size in bytes of a file that is read as a whole into memory.
const SMALL: u64 = 1 << 20;

/// The number of attempts to read a file. If it changes during all of them, it is marked as moving.
const ATTEMPTS: u32 = 3;

/// The maximum size in bytes of a file that is read again at once if it changed. A larger file
/// would probably change again meanwhile.
const LARGEST_AT_ONCE: u64 = 64 << 20;

/// A file that was read.
#[derive(Clone, Debug)]
pub struct FileRead {
    /// The `stat` of the file before it was read for the last time.
    pub stat: Stat,
    /// The content of the file.
    pub content: Content,
    /// True if the file changed during every attempt to read it.
    pub moving: bool,
    /// The time at which the last reading began.
    pub at: SystemTime,
    /// Number of bytes that were read in all attempts.
    pub bytes: u64,
    /// True if the file has a format that can be taken apart, or that states a date.
    pub applies: bool,
    /// The result of looking into the file for parts or a date, if that was requested and is new.
    pub look: Option<NewLook>,
    /// True if the content must be taken apart later.
    pub due: bool,
    /// The `errno`, if the system lacked the resources to look into the file.
    pub scarce: Option<i32>,
    /// Number of bytes at the beginning of the file that were not read. They are assumed to be the
    /// same as in an earlier reading.
    pub assumed: ByteLen,
}

impl FileRead {
    /// Returns the nanoseconds from the last change of the inode to the reading. Returns a negative
    /// number if the time of that change is later than the reading.
    pub fn age(&self) -> i128 {
        age(self.stat.ctime, self.at)
    }
}

/// Returns the nanoseconds from `time` to `now`. Returns a negative number if `time` is later.
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
    /// Nothing accessible is at the path any more.
    #[error("the file is gone")]
    Gone,
    /// The path does not lead to a regular file, or no longer does.
    #[error("not a regular file")]
    NotRegular,
    /// The system refused to read the file, for now or for ever.
    #[error("{}", std::io::Error::from_raw_os_error(*.0))]
    Errno(i32),
    /// The stop flag was set.
    #[error("stopped")]
    Stopped,
    /// The file cannot be read in one turn. The next reading continues where this one ended.
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

/// Reads files one after another, with the same buffers.
#[derive(Debug)]
pub struct Reader {
    digester: Digester,
    params: Params,
    pieces: InPieces,
    /// The states of large files after earlier readings. If it is `None`, every file is read as a
    /// whole.
    known: Option<Arc<KnownFiles>>,
    /// True if it is allowed to assume that the beginning of a grown file is unchanged.
    may_assume: bool,
    /// The device and inode of the file that previously had the name of the next file.
    replaces: Option<(u64, u64)>,
    /// The readings that were paused. If it is `None`, readings are neither paused nor continued.
    paused: Option<Arc<PausedReadings>>,
    /// True if the reader must check whether the next file is in the page cache.
    looks_at_cache: bool,
    /// True if the last file was in the page cache. `None` if this was not checked or is not known.
    was_cached: Option<bool>,
}

/// The result of one pass over a file.
struct Pass {
    content: Content,
    bytes: u64,
    assumed: ByteLen,
    /// True if the file had more or fewer bytes than its `stat` states.
    other_size: bool,
}

impl Pass {
    /// Makes the result of a pass in which no bytes were assumed to be unchanged.
    const fn of(content: Content, bytes: u64, other_size: bool) -> Self {
        Self {
            content,
            bytes,
            assumed: ByteLen(0),
            other_size,
        }
    }
}

/// The result of a pass, which can be paused.
enum Passed {
    Whole(Pass),
    /// The reading was paused. The number is the number of bytes that were read.
    Partly(Halfway, u64),
}

impl Passed {
    /// Adds the number of bytes that an earlier pass has read.
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
    /// Makes a reader for an index with these parameters.
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

    /// Makes the reader use the earlier states of large files. Then a changed file need not be
    /// digested as a whole.
    pub(crate) fn with_known(mut self, known: Arc<KnownFiles>) -> Self {
        self.known = Some(known);
        self
    }

    /// Makes the reader pause long readings and store them in `paused`. The reader also continues
    /// readings that other readers have stored there.
    pub(crate) fn with_paused(mut self, paused: Arc<PausedReadings>) -> Self {
        self.paused = Some(paused);
        self
    }

    /// Makes readings return [`ReadFailure::Paused`] after this moment. If it is `None`, they are
    /// not paused.
    pub(crate) const fn pause_at(&mut self, until: Option<Instant>) {
        self.pieces.until = until;
    }

    /// Sets whether the page cache should stay unchanged when the next file is read.
    pub(crate) const fn spare_cache(&mut self, spare: bool) {
        self.pieces.spares_cache = spare;
    }

    /// Sets whether the reader checks if the next file is in the page cache. [`Self::was_cached`]
    /// returns the result.
    pub(crate) const fn look_at_cache(&mut self, look: bool) {
        self.looks_at_cache = look;
        self.was_cached = None;
    }

    /// Returns whether the last file was in the page cache before it was read. Returns `None` if
    /// this is not known.
    pub(crate) const fn was_cached(&self) -> Option<bool> {
        self.was_cached
    }

    /// Sets whether it is allowed to assume that the beginning of a grown file is unchanged. If it
    /// is not allowed, the beginning is read and hashed, but not chunked.
    pub(crate) const fn may_assume(&mut self, may: bool) {
        self.may_assume = may;
    }

    /// Sets the file that previously had the name of the next file. The next file may be a new
    /// version of that file, if it was saved by a rename.
    pub(crate) const fn replaces(&mut self, file: Option<(u64, u64)>) {
        self.replaces = file;
    }

    /// Reads the file at a path below the anchor. `known_size` is the size of the file in the
    /// index, if the index has the file. If the size is unchanged, only the digest is computed at
    /// first.
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

    /// Does the same as [`Self::read`] for an open file. [`open_regular`] must have returned the
    /// file and its `stat`.
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
                // A continued reading is not repeated if the file has changed. Otherwise, a reading
                // would never be finished if the file is written to between all turns.
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
                // The bytes are the same, and only the times have changed. The content is in flight
                // because the previous attempt of this reading has claimed it.
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

    /// Computes the digest of a file in one pass, for a question without an index.
    pub fn digest(&mut self, anchor: &Anchor, path: &Path) -> Result<FileRead, ReadFailure> {
        self.read(anchor, path, None, &NoContents)
    }

    /// Returns the paused reading of the file, if there is one that can continue.
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
        // If a file is hashed first or was read before, it may be read twice now. So its pages
        // should stay in the cache.
        self.pieces.spares_cache &= !digest_first && known.is_none();
        if let Some(known) = known
            && let Some(passed) = self.changed(file, stat, &known, contents, &mut bytes)?
        {
            return Ok(passed.after(bytes));
        }
        // The kernel need not follow this advice, so a failure is ignored.
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
    /// bytes before that position. These bytes are from `base`, the earlier state of a grown file,
    /// or were read in earlier turns.
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
            // The earlier state of the file was of no use, so the whole file is read.
            self.digester.reset();
            let passed = self.rest(file, stat, None, contents)?;
            return Ok(passed.after(read.bytes));
        };
        let pass = Pass::of(content, read.bytes, read.other_size);
        Ok(Passed::Whole(pass))
    }

    /// Finishes the content in the digester. `stat` is given if the content is the whole file. Then
    /// the state of a large file is stored, if the reader stores states. Returns `None` if the file
    /// must be digested again.
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
            // If another file has claimed the digest, both files add the content. The index stores
            // the content once.
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
