//! The only module that uses `fuser`. It translates each request of the kernel, asks the view, and
//! translates the answer.
//!
//! 1. **Slow requests delay no others.** Requests that only read the watched tree are answered on
//!    the thread that received them. Questions to the index and requests that may read whole files
//!    go to two pools of worker threads ([`Lanes`]). `PARALLEL_DIROPS` keeps the kernel from
//!    allowing only one look-up at a time in a directory.
//! 2. **A panic is one EIO.** Without protection, a panic would end a thread of fuser's event loop
//!    for good. So each handler runs under `catch_unwind`. Unwinding drops the reply, and a dropped
//!    reply answers EIO.
//! 3. **Every request that the kernel may send has a handler.** fuser's default handlers answer
//!    ENOSYS. For many operations the kernel remembers this error for the life of the mount. After
//!    ENOSYS from `opendir` it would even start caching listings. Requests without an effect here
//!    succeed. A request that the kernel can serve itself is answered with ENOSYS, and a comment in
//!    the code gives the reason. Every mount is `MS_RDONLY`, so the kernel itself refuses writes
//!    with EROFS. If a mount were remounted as writable, the default handlers would refuse them.
//! 4. **The kernel caches nothing beyond its time to live**: no `FOPEN_KEEP_CACHE`, no
//!    `FOPEN_CACHE_DIR`, no `CACHE_SYMLINKS`. There is no readdirplus, because its attributes are
//!    seldom needed. File attributes are trusted for at most 10 ms, and `AUTO_INVAL_DATA` is set.
//!    So a program that has opened a file sees later changes of that file. If a file has changed
//!    since the kernel looked it up, opening it fails with ESTALE. The kernel then looks the name
//!    up again and opens the result.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use fuser::{
    AccessFlags, Config, Errno, FileHandle, Filesystem, FopenFlags, Generation, INodeNo, InitFlags,
    IoctlFlags, KernelConfig, LockOwner, OpenAccMode, OpenFlags, PollEvents, PollNotifier,
    ReplyAttr, ReplyBmap, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyIoctl,
    ReplyLseek, ReplyOpen, ReplyPoll, ReplyStatfs, ReplyXattr, Request, Session, SessionACL,
};

use crate::audience::Spaces;
use crate::lanes::Lanes;
use crate::names::MAX_NAME;
use crate::view::{Effort, Namespace, Refusal};

mod translate;

use translate::{DirectorySink, attribute, errno, file_attr};

/// The number of threads that read requests from the kernel.
const SERVERS: usize = 4;
/// The generation of all inode numbers. It can be constant: while the kernel knows a number, that
/// number never means another path.
const GENERATION: Generation = Generation(0);

/// Connects the namespaces in `spaces` to a mounted `/dev/fuse` descriptor. Returns after the first
/// handshake with the kernel. [`Connection::serve`] then answers the kernel's requests.
pub(crate) fn connect(
    device: OwnedFd,
    spaces: Spaces,
    lanes: Arc<Lanes>,
) -> io::Result<Connection> {
    let mut config = Config::default();
    config.n_threads = Some(SERVERS);
    // The kernel already decides who may enter: only the mount's owner (without `allow_other`), or
    // everybody in a mount for all users. An additional check by fuser could only be wrong, because
    // of user namespaces.
    let adapter = Adapter { spaces, lanes };
    let session = Session::from_fd(adapter, device, SessionACL::All, config)?;
    Ok(Connection(session))
}

/// A connection to the kernel. [`Self::serve`] answers its requests.
pub(crate) struct Connection(Session<Adapter>);

impl Connection {
    /// Answers requests until the mount is gone.
    pub(crate) fn serve(self) -> io::Result<()> {
        self.0.run()
    }
}

// ---- requests ----

pub(crate) struct Adapter {
    spaces: Spaces,
    lanes: Arc<Lanes>,
}

impl Adapter {
    /// Runs `work` with the caller's namespace, on this thread or on a worker, depending on
    /// `effort`.
    fn run(
        &self,
        request: &Request,
        effort: Effort,
        work: impl FnOnce(&Namespace) + Send + 'static,
    ) {
        let spaces = self.spaces.clone();
        let who = (request.uid(), request.gid(), request.pid());
        let account = spaces.account(who.0);
        let job = Box::new(move || work(&spaces.of(who)));
        self.lanes.run(effort, account, job);
    }
}

/// Answers a request with a `Result`: a value is passed to the closure, and a refusal is sent as
/// its error number.
macro_rules! answer {
    ($reply:expr, $result:expr, |$value:pat_param| $then:expr) => {
        match $result {
            Ok($value) => $then,
            Err(refusal) => $reply.error(errno(refusal)),
        }
    };
}

impl Filesystem for Adapter {
    fn init(&mut self, _: &Request, config: &mut KernelConfig) -> io::Result<()> {
        for wanted in [
            InitFlags::FUSE_PARALLEL_DIROPS,
            InitFlags::FUSE_AUTO_INVAL_DATA,
        ] {
            if let Err(missing) = config.add_capabilities(wanted) {
                tracing::warn!(
                    ?missing,
                    "the kernel lacks a FUSE capability; going on without"
                );
            }
        }
        Ok(())
    }

    fn lookup(&self, request: &Request, parent: INodeNo, name: &OsStr, reply: ReplyEntry) {
        let effort = self.spaces.all.lookup_effort(parent.0, name);
        let (name, thread) = (name.to_owned(), request.pid());
        self.run(request, effort, move |space| {
            answer!(reply, space.lookup(parent.0, &name, thread), |entry| {
                let attr = file_attr(&entry.attr);
                reply.entry_with_ttls(&entry.attr_ttl, &entry.ttl, &attr, GENERATION);
            });
        });
    }

    fn forget(&self, request: &Request, ino: INodeNo, nlookup: u64) {
        self.run(request, Effort::Small, move |space| {
            space.forget(ino.0, nlookup);
        });
    }

    fn getattr(&self, request: &Request, ino: INodeNo, fh: Option<FileHandle>, reply: ReplyAttr) {
        self.run(request, Effort::Small, move |space| {
            let entry = match fh {
                Some(fh) => space.getattr_open(ino.0, fh.0),
                None => space.getattr(ino.0),
            };
            answer!(reply, entry, |entry| {
                reply.attr(&entry.attr_ttl, &file_attr(&entry.attr));
            });
        });
    }

    fn readlink(&self, request: &Request, ino: INodeNo, reply: ReplyData) {
        self.run(request, Effort::Small, move |space| {
            answer!(reply, space.readlink(ino.0), |target| reply.data(&target));
        });
    }

    fn open(&self, request: &Request, ino: INodeNo, flags: OpenFlags, reply: ReplyOpen) {
        if flags.acc_mode() != OpenAccMode::O_RDONLY {
            return reply.error(errno(Refusal::ReadOnly));
        }
        let effort = self.spaces.all.open_effort(ino.0);
        let thread = request.pid();
        self.run(request, effort, move |space| {
            answer!(reply, space.open(ino.0, thread), |opened| {
                let direct = if opened.direct {
                    FopenFlags::FOPEN_DIRECT_IO
                } else {
                    FopenFlags::empty()
                };
                // `FOPEN_NOFLUSH` saves a request at each close. Files are never written, so
                // nothing needs to be flushed.
                reply.opened(
                    FileHandle(opened.handle),
                    direct | FopenFlags::FOPEN_NOFLUSH,
                );
            });
        });
    }

    fn read(
        &self,
        request: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        size: u32,
        _: OpenFlags,
        _: Option<LockOwner>,
        reply: ReplyData,
    ) {
        self.run(request, Effort::Small, move |space| {
            answer!(reply, space.read(fh.0, offset, size as usize), |bytes| {
                reply.data(&bytes);
            });
        });
    }

    fn lseek(
        &self,
        request: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        let hole = match whence {
            libc::SEEK_DATA => false,
            libc::SEEK_HOLE => true,
            _ => return reply.error(errno(Refusal::Invalid)), // the kernel does the others
        };
        let Ok(offset) = u64::try_from(offset) else {
            return reply.error(errno(Refusal::NoData));
        };
        self.run(request, Effort::Small, move |space| {
            answer!(reply, space.seek(fh.0, offset, hole), |found| reply
                .offset(i64::try_from(found).unwrap_or(i64::MAX)));
        });
    }

    fn flush(&self, _: &Request, _: INodeNo, _: FileHandle, _: LockOwner, reply: ReplyEmpty) {
        reply.ok();
    }

    fn release(
        &self,
        request: &Request,
        _: INodeNo,
        fh: FileHandle,
        _: OpenFlags,
        _: Option<LockOwner>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.run(request, Effort::Small, move |space| {
            space.release(fh.0);
            reply.ok();
        });
    }

    fn fsync(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn opendir(&self, request: &Request, ino: INodeNo, _: OpenFlags, reply: ReplyOpen) {
        let effort = self.spaces.all.list_effort(ino.0);
        self.run(request, effort, move |space| {
            answer!(reply, space.open_dir(ino.0), |opened| {
                reply.opened(FileHandle(opened.handle), FopenFlags::empty());
            });
        });
    }

    fn readdir(
        &self,
        request: &Request,
        _: INodeNo,
        fh: FileHandle,
        offset: u64,
        mut reply: ReplyDirectory,
    ) {
        let effort = self.spaces.all.read_dir_effort(fh.0, offset);
        self.run(request, effort, move |space| {
            let result = space.read_dir(fh.0, offset, &mut DirectorySink(&mut reply));
            answer!(reply, result, |()| reply.ok());
        });
    }

    fn releasedir(
        &self,
        request: &Request,
        _: INodeNo,
        fh: FileHandle,
        _: OpenFlags,
        reply: ReplyEmpty,
    ) {
        self.run(request, Effort::Small, move |space| {
            space.release(fh.0);
            reply.ok();
        });
    }

    fn fsyncdir(&self, _: &Request, _: INodeNo, _: FileHandle, _: bool, reply: ReplyEmpty) {
        reply.ok();
    }

    fn statfs(&self, request: &Request, ino: INodeNo, reply: ReplyStatfs) {
        self.run(request, Effort::Small, move |space| {
            answer!(reply, space.space(ino.0), |s| {
                let (bsize, frsize) = (s.bsize.max(512), s.frsize.max(512));
                let namelen = MAX_NAME as u32;
                reply.statfs(
                    s.blocks, s.bfree, s.bavail, s.files, s.ffree, bsize, namelen, frsize,
                );
            });
        });
    }

    fn getxattr(
        &self,
        request: &Request,
        ino: INodeNo,
        name: &OsStr,
        size: u32,
        reply: ReplyXattr,
    ) {
        let effort = self.spaces.all.attribute_effort(ino.0, name);
        let name = name.to_owned();
        self.run(request, effort, move |space| {
            answer!(reply, space.attribute(ino.0, &name), |value| attribute(
                reply, size, &value
            ));
        });
    }

    fn listxattr(&self, request: &Request, ino: INodeNo, size: u32, reply: ReplyXattr) {
        self.run(request, Effort::Small, move |space| {
            answer!(reply, space.attributes(ino.0), |names| {
                let mut list = OsString::new();
                for name in &names {
                    list.push(name);
                    list.push("\0");
                }
                attribute(reply, size, list.as_encoded_bytes());
            });
        });
    }

    fn access(&self, _: &Request, _: INodeNo, mask: AccessFlags, reply: ReplyEmpty) {
        // In a mount of one user, the kernel judges by mode and owner itself and does not send this
        // request. In a mount for all users, a look-up finds only entries that the caller may open
        // or enter.
        if mask.contains(AccessFlags::W_OK) {
            reply.error(errno(Refusal::ReadOnly));
        } else {
            reply.ok();
        }
    }

    fn ioctl(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: IoctlFlags,
        _: u32,
        _: &[u8],
        _: u32,
        reply: ReplyIoctl,
    ) {
        reply.error(Errno::ENOTTY);
    }

    fn poll(
        &self,
        _: &Request,
        _: INodeNo,
        _: FileHandle,
        _: PollNotifier,
        _: PollEvents,
        _: fuser::PollFlags,
        reply: ReplyPoll,
    ) {
        // The kernel remembers ENOSYS and sends no more such requests. It then reports files as
        // always ready, which is right.
        reply.error(Errno::ENOSYS);
    }

    fn bmap(&self, _: &Request, _: INodeNo, _: u32, _: u64, reply: ReplyBmap) {
        // The kernel remembers ENOSYS and sends no more such requests. FIBMAP then fails with
        // EINVAL, which is right, because there are no blocks.
        reply.error(Errno::ENOSYS);
    }

    // There are no handlers for `getlk` and `setlk`. Support for locks is not announced, so the
    // kernel handles locks itself.
}
