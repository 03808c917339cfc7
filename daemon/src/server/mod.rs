//! Serves the socket, and limits which users may ask and how many requests each may send.
//!
//! 1. **Only the user who runs the daemon may ask.** The kernel supplies the peer's user id. Root
//!    may not ask the daemon of another user, because answers reveal what files contain. Other
//!    users cost no slot, no memory and no thread. In system mode every user may ask, and gets
//!    answers from the files that they can open themselves (`asker`).
//! 2. **A slow client blocks only itself.** Each connection is a task. The size of the request, the
//!    time to read it, and the time to write each piece of the answer are limited. The number and
//!    the bytes of all incomplete requests are limited together. Beyond these limits, a connection
//!    of the client with most requests or bytes is closed (`room`). The number of requests that are
//!    answered at a time is limited, too. Beyond that limit, a client gets a failure.
//! 3. **Questions are computed on threads of their own** ([`tokio::task::spawn_blocking`]). Their
//!    answers pass a channel of small capacity, so a slow reader does not fill the memory.
//! 4. **A client that disconnects ends its question**, and the number of concurrent questions is
//!    limited. Requests without computation (`status`, `sync`, orders) never wait for questions.

use std::sync::Arc;
use std::time::Duration;

use resemble_proto::frame::MAX_REQUEST;
use tokio::net::UnixListener;
use tokio::sync::watch;
use tokio::task::JoinSet;

mod acks;
mod asker;
mod connection;
pub mod context;
mod handlers;
mod kept;
mod out;
mod process;
mod progress;
mod question;
mod room;
pub mod socket;
mod status;
mod turns;

pub use context::Context;
use room::Admission;
use turns::FairShare;

/// The number of threads for work that may block: questions, and accesses to paths.
pub const THREADS: usize = 32;

/// Limits on the requests of all clients, and on the share of one client.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// The maximum number of requests that are answered at a time.
    pub connections: usize,
    /// The maximum number of connections whose request is incomplete.
    pub unfinished: usize,
    /// The maximum number of bytes of a request.
    pub request_bytes: usize,
    /// The maximum number of bytes of all requests together. Small requests do not count.
    pub all_request_bytes: usize,
    /// The longest time until a request is complete.
    pub request_time: Duration,
    /// The longest time for which a client may take to receive a piece of its answer.
    pub write_time: Duration,
    /// The only user who may ask, unless the daemon is in system mode.
    pub uid: u32,
    /// One client may use at most the number of slots divided by this.
    pub share: usize,
}

impl Limits {
    /// Returns the limits of a daemon that this user runs.
    pub const fn of_user(uid: u32) -> Self {
        Self {
            connections: 64,
            unfinished: 64,
            request_bytes: MAX_REQUEST,
            all_request_bytes: 2 * MAX_REQUEST,
            request_time: Duration::from_secs(30),
            write_time: Duration::from_secs(60),
            uid,
            share: 1,
        }
    }

    /// Returns the limits of system mode: a user may have at most a quarter of the slots of each
    /// kind.
    pub const fn of_all(uid: u32) -> Self {
        Self {
            connections: 256,
            unfinished: 256,
            share: SHARE,
            ..Self::of_user(uid)
        }
    }
}

/// In system mode, a user may use at most the number of slots divided by this.
pub(crate) const SHARE: usize = 4;

/// Answers connections until `ending` is true. Open connections then get a failure and are closed.
pub async fn serve(
    listener: UnixListener,
    context: Arc<Context>,
    limits: Limits,
    mut ending: watch::Receiver<bool>,
) {
    let each = limits.connections.div_ceil(limits.share);
    let answering = Arc::new(FairShare::new(limits.connections, each));
    let room = Admission::new(limits.unfinished, limits.all_request_bytes);
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = ending.wait_for(|ending| *ending) => break,
        };
        while connections.try_join_next().is_some() {}
        let stream = match accepted {
            Ok((stream, _)) => stream,
            Err(error) => {
                // Probably no descriptors are left. Connections that end release some, so the
                // server tries again later.
                tracing::warn!(%error, "cannot accept a connection");
                tokio::time::sleep(Duration::from_millis(100)).await;
                continue;
            }
        };
        let Some(asker) = asker::admitted(&stream, limits.uid, context.system.as_ref()) else {
            continue;
        };
        let place = room.enter(asker.one);
        let (context, answering) = (Arc::clone(&context), Arc::clone(&answering));
        let ending = ending.clone();
        connections.spawn(async move {
            connection::converse(stream, context, limits, ending, (asker, place, answering)).await;
        });
    }
    drop(listener);
    // Each connection ends by itself when `ending` is true. If a client does not read its answer,
    // the connection is cut off after this time.
    let patience = Duration::from_secs(2);
    let all = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(patience, all).await.is_err() {
        tracing::debug!("connections are cut off");
    }
}

#[cfg(test)]
mod tests;
