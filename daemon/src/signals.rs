//! Handles the signals SIGTERM, SIGINT and SIGHUP.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// The event that ended the wait for a signal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignalEvent {
    /// SIGTERM or SIGINT, which end the daemon.
    End,
    /// SIGHUP, after which the configuration is read again.
    Reload,
    /// The indexer ended unexpectedly.
    Broken,
}

/// Returns a flag that SIGTERM or SIGINT sets, and a channel that SIGHUP notifies. From now on the
/// three signals do nothing else, even if they are repeated.
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
