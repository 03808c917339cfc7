//! The daemon's end of the connections to the checker. Over these connections, the daemon asks what
//! callers may access.
//!
//! A connection answers one question at a time, and an answer may have to wait for a slow disk or
//! file server. So there are several connections, which are made on demand.

use std::io;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::look::OwnSight;
use crate::wire::{self, MOST, MOST_PATHS, broken};
use crate::{AccessCheck, Caller, Seen};

/// The longest time that reading or writing a message waits for the checker.
const PATIENCE: Duration = Duration::from_secs(10);

/// The client of the checker's socket.
#[derive(Debug)]
pub struct Checker {
    socket: PathBuf,
    idle: Mutex<Vec<UnixStream>>,
}

impl Checker {
    /// Connects to the checker at this socket and sends a first question.
    ///
    /// # Errors
    ///
    /// Fails if the checker does not answer.
    pub fn at(socket: &Path) -> io::Result<Arc<Self>> {
        let this = Arc::new(Self {
            socket: socket.to_owned(),
            idle: Mutex::default(),
        });
        this.probe()?;
        Ok(this)
    }

    /// Asks a question to learn whether the checker answers.
    ///
    /// # Errors
    ///
    /// Fails if the checker does not answer.
    pub fn probe(&self) -> io::Result<()> {
        let nobody = Caller {
            uid: u32::MAX - 1,
            gid: u32::MAX - 1,
            groups: Arc::default(),
        };
        self.ask(&nobody, &["/".into()]).map(drop)
    }

    /// Returns the access checks of a caller. Root may read everything that this process can read.
    /// So for root, this process checks its own access and does not ask the checker.
    pub fn sight(self: &Arc<Self>, caller: Caller) -> Arc<dyn AccessCheck> {
        if caller.uid == 0 {
            return Arc::new(OwnSight);
        }
        Arc::new(CheckedSight {
            checker: Arc::clone(self),
            caller,
        })
    }

    fn ask(&self, caller: &Caller, paths: &[PathBuf]) -> io::Result<Vec<Seen>> {
        let idle = self.idle.lock().pop();
        let used = idle.and_then(|mut stream| {
            let answer = exchange(&mut stream, caller, paths).ok()?;
            Some((stream, answer))
        });
        // If the checker was restarted, an idle connection is broken. So a question that failed on
        // an idle connection is asked again on a new one.
        let (stream, answer) = if let Some(used) = used {
            used
        } else {
            let mut stream = UnixStream::connect(&self.socket)?;
            stream.set_read_timeout(Some(PATIENCE))?;
            stream.set_write_timeout(Some(PATIENCE))?;
            let answer = exchange(&mut stream, caller, paths)?;
            (stream, answer)
        };
        self.idle.lock().push(stream);
        Ok(answer)
    }
}

fn exchange(stream: &mut UnixStream, caller: &Caller, paths: &[PathBuf]) -> io::Result<Vec<Seen>> {
    wire::send(stream, &wire::question(caller, paths)?)?;
    let frame = wire::receive(stream)?.ok_or_else(|| broken("the checker is gone"))?;
    wire::answered(&frame, paths.len())
}

/// The access checks of a user other than root. The checker carries them out.
#[derive(Debug)]
struct CheckedSight {
    checker: Arc<Checker>,
    caller: Caller,
}

impl AccessCheck for CheckedSight {
    fn look(&self, paths: &[PathBuf]) -> io::Result<Vec<Seen>> {
        let mut all = Vec::with_capacity(paths.len());
        let mut rest = paths;
        while !rest.is_empty() {
            // The paths may take half of a frame. The other half has room for the caller's ids: a
            // caller is in at most 65,536 groups.
            let mut bytes = MOST / 2;
            let fits = |path: &&PathBuf| {
                bytes = bytes.saturating_sub(4 + path.as_os_str().len());
                bytes > 0
            };
            let count = rest.iter().take(MOST_PATHS).take_while(fits).count().max(1);
            let (now, later) = rest.split_at(count);
            all.extend(self.checker.ask(&self.caller, now)?);
            rest = later;
        }
        Ok(all)
    }
}
