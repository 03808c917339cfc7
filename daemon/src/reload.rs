//! Reads the configuration again after a SIGHUP, and applies those settings that can change while
//! the daemon runs.
//!
//! These settings are the roots, their rules (`exclude`, `max-size` and so on), the folders of
//! catalogues, the alert rules, and the sinks of alerts. A root whose rules are unchanged is not
//! scanned again. All other keys need a restart. If such a key has changed, the journal and
//! `status` name the key until a restart or until its old value is restored. (`wait` is not named,
//! because it matters only at a start.) An invalid configuration changes nothing. The journal and
//! `status` report it, too.

use std::path::Path;

use tokio::sync::oneshot;

use crate::Handle;
use crate::config::Config;
use crate::indexer::Command;
use crate::start_roots::StartRoots;
use crate::state::Topic;

/// The reason why nothing is reloaded while the daemon ends.
const ENDING: &str = "the daemon is ending";

/// The name of a key, and a function that returns its value as text.
type FixedKey = (&'static str, fn(&Config) -> String);

/// The keys that cannot be changed while the daemon runs.
const FIXED: &[FixedKey] = &[
    ("state", |config| config.state.display().to_string()),
    ("socket", |config| config.socket.display().to_string()),
    ("mount", |config| format!("{:?}", config.mount)),
    ("link", |config| format!("{:?}", config.link)),
    ("view", |config| format!("{:?}", config.view)),
    ("show", |config| format!("{:?}", config.show)),
    ("similar-name", |config| {
        format!("{:?}", config.similar_name)
    }),
    ("chunk-size", |config| format!("{:?}", config.params)),
    ("boilerplate", |config| format!("{:?}", config.boilerplate)),
    ("reconcile", |config| format!("{:?}", config.reconcile)),
    ("[limits]", |config| format!("{:?}", config.limits)),
    ("[[converter]]", |config| format!("{:?}", config.converters)),
];

impl Handle {
    /// Applies a configuration, or reports why it cannot be applied. `file` is the path of the
    /// configuration file.
    pub fn reload(&mut self, file: Option<&Path>, loaded: Result<Config, String>) {
        let file = file.unwrap_or(Path::new("/"));
        let taken = loaded.and_then(|new| self.take_over(&new));
        // The errors of earlier reloads are obsolete now.
        self.shared.mended(Topic::Config);
        match taken {
            Ok(fixed) if fixed.is_empty() => tracing::info!("the configuration was read again"),
            Ok(fixed) => self.shared.trouble(
                Topic::Config,
                file,
                &format!(
                    "the new {} of the configuration cannot be used without a restart; all else \
                     of it is",
                    fixed.join(", ")
                ),
                Some("systemctl --user restart resembled"),
            ),
            Err(reason) => self.shared.trouble(
                Topic::Config,
                file,
                &format!("{reason}; what was configured before stays"),
                Some("systemctl --user reload resembled"),
            ),
        }
    }

    /// Applies the keys that can be changed. Returns the names of the other keys that differ.
    fn take_over(&mut self, new: &Config) -> Result<Vec<&'static str>, String> {
        let index = self.shared.index().ok_or("the index is closed just now")?;
        let start = StartRoots::of(new, &index).map_err(|error| error.to_string())?;
        let StartRoots { roots, rules } = start;
        drop(index);
        self.shared.reconfigure(rules);
        self.set_roots(roots)?;
        let folders = Command::FollowCatalogues(new.catalogues.clone());
        self.commands.send(folders).map_err(|_| ENDING)?;
        if format!("{:?}", new.sinks) != format!("{:?}", self.config.sinks) {
            self.end_delivery();
            self.config.sinks.clone_from(&new.sinks);
            self.start_delivery().map_err(|error| error.to_string())?;
        }
        let differs = |key: &&FixedKey| (key.1)(new) != (key.1)(&self.config);
        Ok(FIXED
            .iter()
            .filter(differs)
            .map(|(name, _)| *name)
            .collect())
    }

    /// Sends the roots to the indexer, and waits until it has applied them or a signal ends the
    /// daemon.
    fn set_roots(&self, roots: Vec<crate::state::Root>) -> Result<(), String> {
        let (reply, done) = oneshot::channel();
        self.commands
            .send(Command::SetRoots(roots, reply))
            .map_err(|_| ENDING)?;
        let Some(runtime) = &self.runtime else {
            return Err(ENDING.to_owned());
        };
        let mut ended = self.ended.clone();
        runtime.block_on(async {
            tokio::select! {
                done = done => match done {
                    Ok(done) => done.map_err(|failure| failure.message),
                    Err(_) => Err(ENDING.to_owned()),
                },
                _ = ended.wait_for(|ended| *ended) => Err(ENDING.to_owned()),
            }
        })
    }
}
