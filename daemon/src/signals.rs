//! The signals that the daemon listens to: SIGTERM, SIGINT and SIGHUP.

use std::io;

use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

/// What ended a wait.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Told {
    /// SIGTERM or SIGINT: the daemon is to end.
    End,
    /// SIGHUP: the configuration is to be read again.
    Reload,
    /// The indexer ended by itself, which it never should.
    Broken,
}

/// Returns a flag that SIGTERM or SIGINT sets, and a bell that SIGHUP rings. From now on all three
/// do nothing else, however often they come.
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
