//! Notifies the service manager when the daemon is ready, reloads its configuration or ends. Also
//! sends the daemon's state in one line, and signs of life for a watchdog.
//!
//! Without a service manager (no `NOTIFY_SOCKET`) nothing happens.

use std::sync::Arc;
use std::time::Duration;

use resemble_proto::message::RootState;
use sd_notify::NotifyState;
use tokio::sync::watch;

use crate::overlays::{LOOK, Overlays};
use crate::state::Shared;

/// Reports that the socket and the overlay answer.
pub fn ready() {
    tell(&[NotifyState::Ready]);
}

/// Reports that the configuration is being read again. The caller must call [`ready`] afterwards.
pub fn reloading() {
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(error) => tracing::debug!(%error, "no clock"),
    }
}

/// Reports that the daemon is ending.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "the service manager was not notified");
    }
}

/// Runs until `ending` is true. Each round reports the state if it has changed, and forgets
/// overlays that another program has unmounted. If the service manager has a watchdog, each round
/// also notifies the watchdog. Like an answer, a round uses a thread of the server and a thread
/// that may block. So if answers hang, the notifications stop.
pub async fn report(
    shared: Arc<Shared>,
    overlays: Arc<Overlays>,
    mut ending: watch::Receiver<bool>,
) {
    let mut sent = String::new();
    // If the manager is not notified for `limit`, it takes the daemon for hung. So the manager is
    // notified twice in that time.
    let watchdog = sd_notify::watchdog_enabled().map(|limit| limit / 2);
    loop {
        if watchdog.is_some() {
            tell(&[NotifyState::Watchdog]);
        }
        let text = summary(&shared);
        if text != sent {
            tell(&[NotifyState::Status(&text)]);
            sent = text;
        }
        let pause = if shared.fresh() {
            LOOK
        } else {
            Duration::from_secs(1)
        };
        let pause = watchdog.map_or(pause, |watchdog| pause.min(watchdog));
        if tokio::time::timeout(pause, ending.wait_for(|ending| *ending))
            .await
            .is_ok()
        {
            return;
        }
        let overlays = Arc::clone(&overlays);
        if let Err(error) = tokio::task::spawn_blocking(move || overlays.status()).await {
            tracing::debug!(%error, "the overlays were not looked at");
        }
    }
}

/// Describes the state of the daemon in one line.
fn summary(shared: &Shared) -> String {
    let roots = shared.roots();
    let count = |state| roots.iter().filter(|root| root.state == state).count();
    let troubles = shared.troubles().len();
    let mut text = match count(RootState::Scanning) {
        0 => format!(
            "watching {} of {} roots",
            count(RootState::Live),
            roots.len()
        ),
        scanning => {
            format!(
                "scanning {scanning} of {} roots, {} files to go",
                roots.len(),
                shared.pending()
            )
        }
    };
    if troubles > 0 {
        text.push_str("; degraded, see `resemble status`");
    }
    text
}
