//! Messages to the service manager: that the daemon is ready, its state in one line, that it ends.
//!
//! Without a service manager (no `NOTIFY_SOCKET`) nothing happens.

use std::sync::Arc;
use std::time::Duration;

use resemble_proto::message::RootState;
use sd_notify::NotifyState;
use tokio::sync::watch;

use crate::overlays::{LOOK, Overlays};
use crate::state::Shared;

/// Says that the socket and the overlay answer.
pub fn ready() {
    tell(&[NotifyState::Ready]);
}

/// Says that the daemon is ending.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "the service manager was not told");
    }
}

/// Sends the manager a line about the state whenever it changes, and forgets overlays that somebody
/// unmounted by hand.
pub async fn report(
    shared: Arc<Shared>,
    overlays: Arc<Overlays>,
    mut ending: watch::Receiver<bool>,
) {
    let mut sent = String::new();
    loop {
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

/// One line: what is going on.
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
