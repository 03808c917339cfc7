//! The signals that the daemon listens to: SIGTERM, SIGINT and SIGHUP.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// The event that ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalEvent {
    /// SIGTERM or SIGINT: end the daemon.
    End,
    /// SIGHUP: read the configuration again.
    Reload,
    /// The indexer ended unexpectedly.
    Broken,
}

/// Returns a flag that SIGTERM or SIGINT sets, and a channel that SIGHUP notifies. From now on all
/// three have no other effect, even if they are repeated.
pub(crate) fn signals() -> io::Result<(watch::Receiver<bool>, watch::Receiver<()>)> {
    let (mut terminate, mut interrupt) = (
        signal(SignalKind::terminate())?,
        signal(SignalKind::interrupt())?,
    );
    let mut hangup = signal(SignalKind::hangup())?;
    let (ended, watched) = watch::channel(false);
    let (hung_up, heard) = watch::channel(());
    tokio::spawn(async move {
        let name = tokio::select! {
            _ = terminate.recv() => "SIGTERM",
            _ = interrupt.recv() => "SIGINT",
        };
        tracing::info!(signal = name, "ending");
        ended.send_replace(true);
    });
    tokio::spawn(async move {
        while hangup.recv().await.is_some() {
            hung_up.send_replace(());
        }
    });
    Ok((watched, heard))
}
