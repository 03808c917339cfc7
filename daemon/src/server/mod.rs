//! The socket: who may ask, and how much.
//!
//! 1. **Only the same user may ask.** The peer's user id comes from the kernel; root is an ordinary
//!    user here, because answers confirm what files contain.
//!    Nothing is counted, allocated or started for anybody else. In system mode everybody may, and
//!    gets an answer from what he could open himself (`asker`).
//! 2. **A slow client blocks only itself.** Each connection is a task; reading its request and
//!    writing each piece of its answer have time limits, and its request has a size limit. The
//!    requests that are not complete are bounded together, in number and bytes: whoever has most of
//!    them has to go (`room`). Beyond the limit of requests that are being answered a client is
//!    told so.
//! 3. **Questions are computed on threads of their own** ([`tokio::task::spawn_blocking`]). Their
//!    answers pass a channel that holds little: however slow the reader is, an answer does not pile
//!    up in memory.
//! 4. **A client that goes away ends its question**, and only so many questions are computed at a
//!    time. Requests that need no computing (`status`, `sync`, orders) never wait for questions.

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
use room::Room;
use turns::Turns;

/// Threads for what may block: questions, and looking up paths.
pub const THREADS: usize = 32;

/// How many clients there may be, and what each may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Requests that are being answered at once.
    pub connections: usize,
    /// Connections at once whose request is not complete.
    pub unfinished: usize,
    /// Bytes of a request.
    pub request_bytes: usize,
    /// Bytes of all requests together, small ones not counted.
    pub all_request_bytes: usize,
    /// Time for the whole request to arrive.
    pub request_time: Duration,
    /// Time for the client to take a piece of the answer.
    pub write_time: Duration,
    /// The only user who may ask, unless it is a daemon for all.
    pub uid: u32,
    /// The share of all places that one of those who ask may take: this part of it.
    pub share: usize,
}

impl Limits {
    /// The limits of a daemon that this user runs.
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

    /// The limits of the system's daemon: of each place a user has no more than a quarter.
    pub const fn of_all(uid: u32) -> Self {
        Self {
            connections: 256,
            unfinished: 256,
            share: SHARE,
            ..Self::of_user(uid)
        }
    }
}

/// A user has no more than this part of what is bounded.
pub(crate) const SHARE: usize = 4;

/// Answers until `ending` becomes true; then open connections are told so, and closed.
pub async fn serve(
    listener: UnixListener,
    context: Arc<Context>,
    limits: Limits,
    mut ending: watch::Receiver<bool>,
) {
    let each = limits.connections.div_ceil(limits.share);
    let answering = Arc::new(Turns::new(limits.connections, each));
    let room = Room::new(limits.unfinished, limits.all_request_bytes);
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
                // Most likely there are no descriptors left; connections that end give theirs back.
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
    // The connections hear of the end by themselves; one whose client does not read is not waited
    // for any longer.
    let patience = Duration::from_secs(2);
    let all = async { while connections.join_next().await.is_some() {} };
    if tokio::time::timeout(patience, all).await.is_err() {
        tracing::debug!("connections are cut off");
    }
}

#[cfg(test)]
mod tests;
