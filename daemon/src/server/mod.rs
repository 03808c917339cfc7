//! The socket: who may ask, and how much.
//!
//! 1. **Only the same user may ask.** The peer's user id comes from the kernel; root is an ordinary
//!    user here, because answers confirm what files contain.
//! 2. **A slow client blocks only itself.** Each connection is a task; reading its request and
//!    writing each piece of its answer have time limits, its request has a size limit, and there is
//!    a limit to connections, beyond which a connection is told so and closed.
//! 3. **Questions are computed on threads of their own** ([`tokio::task::spawn_blocking`]). Their
//!    answers pass a channel that holds little: however slow the reader is, an answer does not pile
//!    up in memory.
//! 4. **A client that goes away ends its question**, and only so many questions are computed at a
//!    time. Requests that need no computing (`status`, `sync`, orders) never wait for questions.

use std::sync::Arc;
use std::time::Duration;

use resemble_proto::frame::MAX_REQUEST;
use tokio::net::UnixListener;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;

mod acks;
mod connection;
pub mod context;
mod handlers;
mod out;
mod question;
pub mod socket;
mod status;

pub use context::Context;

/// Threads for what may block: questions, and looking up paths.
pub const THREADS: usize = 32;

/// How many clients there may be, and what each may take.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Connections at once.
    pub connections: usize,
    /// Bytes of a request.
    pub request_bytes: usize,
    /// Time for the whole request to arrive.
    pub request_time: Duration,
    /// Time for the client to take a piece of the answer.
    pub write_time: Duration,
    /// The only user who may ask.
    pub uid: u32,
}

impl Limits {
    /// The limits of a daemon that this user runs.
    pub const fn of_user(uid: u32) -> Self {
        Self {
            connections: 64,
            request_bytes: MAX_REQUEST,
            request_time: Duration::from_secs(30),
            write_time: Duration::from_secs(60),
            uid,
        }
    }
}

/// Answers until `ending` becomes true; then open connections are told so, and closed.
pub async fn serve(
    listener: UnixListener,
    context: Arc<Context>,
    limits: Limits,
    mut ending: watch::Receiver<bool>,
) {
    let room = Arc::new(Semaphore::new(limits.connections));
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
        let Ok(permit) = Arc::clone(&room).try_acquire_owned() else {
            connections.spawn(connection::turn_away(stream, limits));
            continue;
        };
        let (context, ending) = (Arc::clone(&context), ending.clone());
        connections.spawn(async move {
            connection::converse(stream, context, limits, ending).await;
            drop(permit);
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
