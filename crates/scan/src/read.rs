//! Reading one file, without ever opening what is no file, and knowing what the result is worth.
//!
//! 1. **A readable open may block or have effects** (a FIFO, a tape, `/dev/watchdog`), and the type
//!    may change between a `stat` and an `open`. So the name is opened with `O_PATH` first, which
//!    touches nothing; the type is checked on that descriptor; and the same inode is then opened
//!    through `/proc/self/fd`. `O_NONBLOCK` and `O_NOCTTY` stay on for file systems that are odd in
//!    other ways, `O_NOATIME` where we own the file, since looking should leave no trace.
//! 2. **Never `mmap`**: a file that is truncated under a mapping kills the process.
//! 3. **No more than the size seen at the start is read**, so a file that grows as fast as we read
//!    ends, and a pseudo file that says 0 is empty. One byte more is asked for, to notice growth.
//! 4. **Before and after.** If size, times or identity differ between the two looks, the bytes may
//!    belong to no state that the file ever had: it is read again at once, a few times if it is
//!    small. A file that will not stand still is handed over as it is, marked *moving*, with the
//!    stat of *before*, so that any later look sees a difference.
//! 5. **Settling.** Equal times are no proof: a store through `mmap` is dated when the page is
//!    written back (measured: up to 35 s later on ext4, never on tmpfs), and a kernel without
//!    multigrain timestamps gives two writes within a tick (up to 10 ms; 2 s on FAT) one time. One
//!    rule covers both: a file whose inode changed less than [`SETTLE_WINDOW`] before the read is
//!    *unsettled* and is read once more after the window, for its digest only (one BLAKE3 pass, no
//!    chunking, nothing written if it is the same). A first scan of files that nobody touched in
//!    the last half minute reads each exactly once. Re-checking by `stat` would be cheaper and
//!    worthless: what it would have to find is a change without a changed stat. What stays
//!    invisible is a store through a long-lived mapping on tmpfs, or a writeback later than the
//!    window.
//! 6. **A known content costs one BLAKE3 pass.** Small files are hashed before anything else; of
//!    a large one that the index knows under another time (a touch, a copy over itself) the digest
//!    alone is made first. Only what is new is chunked. Two equal files in flight are chunked once.
//! 7. **Holes cost nothing**: `SEEK_DATA` and `SEEK_HOLE`, and arithmetic for the zeros between.
//! 8. **A large file that changes** is read from where it ended if it has grown, and what stands
//!    before is assumed, and verified later; else it is hashed, and digested where it differs from
//!    what it was (docs/changes.md). That needs what is `known` of it, by an earlier reading.
//! 9. **A long reading may pause**, so that other files need not wait for it; see `paused`.
//! 10. Advice to the kernel is `SEQUENTIAL` for large files. Dropping pages behind us would
//!     also drop those that the user's own programs had cached; the kernel's use-once list does it
//!     better.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use resemble_core::{ByteLen, Digester, Made, Params, PostedFingerprints, StopFlag, Stretches};
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

/// A file whose inode changed less than this before it was read may have changed again without a
/// trace in its times: 30 s (`dirty_expire`) and 5 s (the writeback interval) for writers through
/// `mmap`, whose stores the kernel dates at writeback.
pub const SETTLE_WINDOW: Duration = Duration::from_secs(35);

/// Up to this size a file is read whole, in bytes.
const SMALL: u64 = 1 << 20;

/// Reads before a file is given up as moving.
const ATTEMPTS: u32 = 3;

/// A file larger than this is not read again at once, in bytes: it would be the same race.
const LARGEST_AT_ONCE: u64 = 64 << 20;

/// A file that was read.
#[derive(Clone, Debug)]
pub struct FileRead {
    /// The stat before the (last) reading.
    pub stat: Stat,
    /// What it holds.
    pub content: Content,
    /// It changed while it was read, each time.
    pub moving: bool,
    /// When reading began.
    pub at: SystemTime,
    /// Bytes read in all attempts.
    pub bytes: u64,
    /// It is of a kind that is taken apart, or that states a date.
    pub applies: bool,
    /// What looking into it came to, if that was asked for and is news.
    pub look: Option<NewLook>,
    /// It is to be taken apart later.
    pub due: bool,
    /// The system had nothing left for looking into it: the error number.
    pub scarce: Option<i32>,
    /// Bytes at the beginning that were not read, but taken for those of an earlier reading.
    pub assumed: ByteLen,
}

impl FileRead {
    /// How long before the reading the inode changed; negative if that lies in the future.
    pub fn age(&self) -> i128 {
        age(self.stat.ctime, self.at)
    }
}

/// Nanoseconds from a file's time to ours; negative if the file is ahead.
pub fn age(time: Timestamp, now: SystemTime) -> i128 {
    let since_1970 = match now.duration_since(SystemTime::UNIX_EPOCH) {
        Ok(after) => after.as_nanos() as i128,
        Err(before) => -(before.duration().as_nanos() as i128),
    };
    since_1970 - (i128::from(time.secs) * 1_000_000_000 + i128::from(time.nanos))
}

/// Why a file was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReadFailure {
    /// There is nothing at the path (any more), or something is in the way.
    #[error("the file is gone")]
    Gone,
    /// It is no regular file (any more).
    #[error("not a regular file")]
    NotRegular,
    /// The system refused, now or for good.
    #[error("{}", std::io::Error::from_raw_os_error(*.0))]
    Errno(i32),
    /// The stop flag was set.
    #[error("stopped")]
    Stopped,
    /// It takes longer than a reader may: the next reading goes on from here.
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
    /// What large files were. `None`: nothing is known, and every file is read whole.
    known: Option<Arc<KnownFiles>>,
    /// What stands before the end of a file that has grown may be taken for what it was.
    may_assume: bool,
    /// The file whose name the next one has, by device and inode.
    replaces: Option<(u64, u64)>,
    /// Where readings are put aside; `None`: none is, and none is gone on with.
    paused: Option<Arc<PausedReadings>>,
    /// Whether to look if the next file is in the page cache.
    looks_at_cache: bool,
    /// Whether the last file was, if it was looked at and can be told.
    was_cached: Option<bool>,
}

/// One pass over a file.
struct Pass {
    content: Content,
    bytes: u64,
    assumed: ByteLen,
    /// The file had more bytes than it should, or fewer.
    other_size: bool,
}

impl Pass {
    /// One in which nothing is assumed.
    const fn of(content: Content, bytes: u64, other_size: bool) -> Self {
        Self {
            content,
            bytes,
            assumed: ByteLen(0),
            other_size,
        }
    }
}

/// How far one went.
enum Passed {
    Whole(Pass),
    /// After so many bytes it was time for a pause.
    Partly(Halfway, u64),
}

impl Passed {
    /// So many bytes were read before.
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
    /// A reader for an index with these parameters.
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

    /// From now on large files that were read before, and have changed, are not digested whole.
    pub(crate) fn with_known(mut self, known: Arc<KnownFiles>) -> Self {
        self.known = Some(known);
        self
    }

    /// From now on readings that another reader has put aside here are gone on with.
    pub(crate) fn with_paused(mut self, paused: Arc<PausedReadings>) -> Self {
        self.paused = Some(paused);
        self
    }

    /// Readings end with [`ReadFailure::Paused`] after this moment; `None`: with the file.
    pub(crate) const fn pause_at(&mut self, until: Option<Instant>) {
        self.pieces.until = until;
    }

    /// Whether the next file, if it is read once, stays in the page cache only as far as it was
    /// there.
    pub(crate) const fn spare_cache(&mut self, spare: bool) {
        self.pieces.spares_cache = spare;
    }

    /// Whether [`Self::was_cached`] is to be known of the next file.
    pub(crate) const fn look_at_cache(&mut self, look: bool) {
        self.looks_at_cache = look;
        self.was_cached = None;
    }

    /// Whether the last file was in the page cache before it was read.
    pub(crate) const fn was_cached(&self) -> Option<bool> {
        self.was_cached
    }

    /// Whether the beginning of a file that has grown may be taken for what it was. If not, it is
    /// read and hashed, but not chunked.
    pub(crate) const fn may_assume(&mut self, may: bool) {
        self.may_assume = may;
    }

    /// The next file has the name that this one had, so it may be that one, saved anew.
    pub(crate) const fn replaces(&mut self, file: Option<(u64, u64)>) {
        self.replaces = file;
    }

    /// Reads the file at a path below the anchor. `known_size` is the size that the index has of
    /// it, if it has one: with the same size its digest alone is made first.
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

    /// Reads a file that is open, as [`Self::read`]; the stat is that of [`open_regular`].
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
                // One that is written to between all turns would never be done.
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
                // Only the times moved: what is in flight is our own claim of the last attempt.
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

    /// The digest of a file in one pass, for a question rather than for an index.
    pub fn digest(&mut self, anchor: &Anchor, path: &Path) -> Result<FileRead, ReadFailure> {
        self.read(anchor, path, None, &NoContents)
    }

    /// What an earlier reading of the file came to, if it can go on.
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
        // These may be read twice.
        self.pieces.spares_cache &= !digest_first && known.is_none();
        if let Some(known) = known
            && let Some(passed) = self.changed(file, stat, &known, contents, &mut bytes)?
        {
            return Ok(passed.after(bytes));
        }
        // A hint only.
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

    /// Begins to digest a file.
    fn begin(&mut self, stat: &Stat) {
        if self.known.is_some() && stat.size >= IN_STRETCHES {
            self.digester.keep_stretches();
        } else {
            self.digester.reset();
        }
    }

    /// Reads a file from the position of the digester on, which has taken what is before: the
    /// content `base`, or nothing.
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
            // What was known of the file does not tell: it is read without.
            self.digester.reset();
            let passed = self.rest(file, stat, None, contents)?;
            return Ok(passed.after(read.bytes));
        };
        let pass = Pass::of(content, read.bytes, read.other_size);
        Ok(Passed::Whole(pass))
    }

    /// What the digester has taken is a content, and all of this file, if it is: then it is known
    /// from now on. `None`: it is to be digested anew.
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
            if let Made::Edited(edited) = &mut large.made
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
            // The file that claimed the digest first brings the content, too. It is stored only
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
