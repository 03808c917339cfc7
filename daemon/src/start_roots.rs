//! Determines the roots at a start, and after the configuration was read again.

use std::path::Path;

use resemble_index::Index;
use resemble_proto::message::{RootState, WatchOrigin};
use resemble_scan::ingest::RootOptions;

use crate::config::{Config, not_nested};
use crate::indexer::roots;
use crate::root_rules::RuleBook;
use crate::state::Root;
use crate::{ROOTS_FILE, StartError};

/// The roots of a start, and the rules of all roots.
pub(crate) struct StartRoots {
    pub(crate) roots: Vec<Root>,
    pub(crate) rules: RuleBook,
}

impl StartRoots {
    /// Returns the roots of the configuration, the command line and `watch add`, and the rules of
    /// all roots. A root of the configuration file that `watch remove` has removed is left out.
    pub(crate) fn of(config: &Config, index: &Index) -> Result<Self, StartError> {
        let snapshot = index.snapshot()?;
        let roots_file = config.state.join(ROOTS_FILE);
        let (kept, removed) = (
            roots::kept(&snapshot),
            roots::removed(&snapshot, Some(&roots_file)),
        );
        let alert_rules = config.alert_rules.iter().map(|(_, rules)| rules);
        let configured = config.roots.iter().zip(alert_rules);
        let rules = RuleBook::new(&config.rules_of_all, configured, kept.iter().cloned());
        let scanning = |path: &Path, origin| Root {
            options: rules.root(path),
            origin,
            state: RootState::Scanning,
        };
        let is_kept = |root: &RootOptions| kept.iter().any(|(kept, _)| *kept == root.path);
        let (of_file, of_line) = config.roots.split_at(config.roots_of_file);
        for root in of_file.iter().filter(|root| removed.contains(&root.path)) {
            let root = &root.path;
            tracing::info!(?root, "removed by `resemble watch remove`, and not watched");
        }
        let of_file = of_file.iter().filter(|root| !removed.contains(&root.path));
        let mut all: Vec<Root> = of_file
            .chain(of_line)
            .map(|root| {
                // A root of `watch add` remains a root of `watch add` even if the configuration
                // names it, too.
                let origin = if is_kept(root) {
                    WatchOrigin::Kept
                } else {
                    WatchOrigin::Start
                };
                scanning(&root.path, origin)
            })
            .collect();
        for (root, _) in &kept {
            if all.iter().any(|other| other.options.path == *root) {
                continue;
            }
            if let Some(outer) = config
                .roots
                .iter()
                .find(|other| root.starts_with(&other.path))
            {
                let outer = &outer.path;
                tracing::warn!(
                    ?root,
                    ?outer,
                    "a kept root lies in another now, and is dropped"
                );
                continue;
            }
            not_nested(root, all.iter().map(|other| other.options.path.as_path()))?;
            all.push(scanning(root, WatchOrigin::Kept));
        }
        // No roots are needed if there are folders of catalogues: the daemon then serves the
        // catalogues of other machines.
        if all.is_empty() && config.catalogues.is_empty() {
            return Err(match config.roots.first() {
                Some(root) => StartError::Removed(root.path.clone()),
                None => StartError::NoRoots,
            });
        }
        Ok(Self { roots: all, rules })
    }
}
