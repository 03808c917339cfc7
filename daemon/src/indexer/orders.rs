//! Executes commands to the indexer, and answers them.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use resemble_proto::catalogued::is_catalogued;
use resemble_proto::message::{Failure, FailureKind, RootState, WatchOrigin};
use resemble_scan::ingest::Ingest;

use super::{Command, Indexer, PendingSync, internal, reply, roots, watches};
use crate::alerts;
use crate::config::{RootError, not_nested};
use crate::root_rules::RuleSet;
use crate::state::Root;

impl Indexer {
    pub(super) fn obey(&mut self, command: Command) {
        match command {
            Command::Sync(reply) => {
                let mut sync = PendingSync {
                    cookie: None,
                    documents: None,
                    is_last_try: false,
                    reply,
                };
                self.issue_cookie(&mut sync);
                self.syncs.push(sync);
            }
            Command::AddRoot(path, rules, answer) => reply(answer, self.add_root(path, rules)),
            Command::RemoveRoot(path, answer) => reply(answer, self.remove_root(&path)),
            Command::SetRoots(roots, answer) => reply(answer, self.set_roots(roots)),
            Command::Import(file, label, answer) => reply(answer, self.import(&file, &label)),
            Command::FollowCatalogues(folders) => self.set_catalogue_folders(folders),
            Command::Exclude(paths, answer) => {
                self.options.exclude = paths;
                self.shared.set_excluded(self.options.exclude.clone());
                if let Some(ingest) = &mut self.ingest {
                    ingest.set_exclude(self.options.exclude.clone());
                }
                for path in &self.options.exclude {
                    self.coalescer.forget(path);
                    self.passing.forget(path);
                    self.watches.disarm(self.source.as_mut(), path);
                }
                reply(answer, ());
            }
            Command::Stop => self.stopping = true,
        }
    }

    /// Makes the cookie for which a barrier waits. If that fails, all roots are scanned instead,
    /// and the barrier waits for no cookie.
    pub(super) fn issue_cookie(&mut self, sync: &mut PendingSync) {
        sync.documents = None;
        match self.source.cookie() {
            Ok(cookie) => sync.cookie = Some(cookie),
            Err(error) => {
                tracing::warn!(%error, "no cookie; everything is looked at instead");
                sync.cookie = None;
                self.scan_all();
            }
        }
    }

    pub(super) fn add_root(&mut self, path: PathBuf, rules: RuleSet) -> Result<(), Failure> {
        if self.ingest.is_none() {
            return Err(closed());
        }
        let mut roots = self.shared.roots();
        not_nested(
            &path,
            roots.iter().map(|other| other.options.path.as_path()),
        )
        .map_err(|error: RootError| Failure::new(FailureKind::Refused, error.to_string()))?;
        // The rules are set before the roots change, because the record of the roots contains these
        // rules, too.
        self.shared.set_order(&path, Some(rules));
        roots.push(Root {
            options: self.shared.root_with_rules(&path),
            origin: WatchOrigin::Kept,
            state: RootState::Scanning,
        });
        let mut removed = self.removed.clone();
        removed.remove(&path);
        if let Err(failure) = self.change_roots(roots, removed) {
            self.shared.set_order(&path, None);
            return Err(failure);
        }
        let options = self.root_options();
        if let Some(ingest) = &mut self.ingest {
            ingest.set_roots(options);
        }
        watches::guard(self.source.as_mut(), &path);
        tracing::info!(root = ?path, "watched from now on");
        self.scans.push_back(path);
        Ok(())
    }

    pub(super) fn remove_root(&mut self, path: &Path) -> Result<(), Failure> {
        if is_catalogued(path) {
            return self.forget_catalogue(path);
        }
        let mut roots = self.shared.roots();
        let Some(at) = roots.iter().position(|root| root.options.path == path) else {
            let text = format!(
                "{} is no root; `resemble watch list` names them",
                path.display()
            );
            return Err(Failure::new(FailureKind::Refused, text));
        };
        if self.ingest.is_none() {
            return Err(closed());
        }
        roots.remove(at);
        let mut removed = self.removed.clone();
        removed.insert(path.to_path_buf());
        self.change_roots(roots, removed)?;
        self.shared.set_order(path, None);
        self.let_go(path)
    }

    /// Replaces the roots and their rules by these. Old roots whose rules are unchanged are not
    /// scanned again.
    fn set_roots(&mut self, mut roots: Vec<Root>) -> Result<(), Failure> {
        if self.ingest.is_none() {
            return Err(closed());
        }
        let before = self.shared.roots();
        let mut news = Vec::new();
        for root in &mut roots {
            match before.iter().find(|other| other.options == root.options) {
                Some(known) => root.state = known.state,
                None => news.push(root.options.path.clone()),
            }
        }
        let is_gone = |old: &&Root| {
            let path = &old.options.path;
            !roots.iter().any(|root| root.options.path == *path)
        };
        let gone: Vec<PathBuf> = before
            .iter()
            .filter(is_gone)
            .map(|old| old.options.path.clone())
            .collect();
        self.change_roots(roots, self.removed.clone())?;
        for path in &gone {
            self.let_go(path)?;
        }
        let options = self.root_options();
        if let Some(ingest) = &mut self.ingest {
            ingest.set_roots(options);
        }
        for path in news {
            tracing::info!(root = ?path, "watched by its new rules from now on");
            watches::guard(self.source.as_mut(), &path);
            self.scans.retain(|other| *other != path);
            self.scans.push_back(path);
        }
        Ok(())
    }

    /// Removes everything that is known about a path that is no longer a root.
    fn let_go(&mut self, path: &Path) -> Result<(), Failure> {
        self.complete.remove(path);
        self.coalescer.forget(path);
        self.passing.forget(path);
        self.watches.disarm(self.source.as_mut(), path);
        self.identities.remove(path);
        self.scans.retain(|other| other != path);
        self.slow.clear();
        self.recheck.retain(|other, _| !other.starts_with(path));
        self.unresolved.clear();
        let options = self.root_options();
        let forgotten = match &mut self.ingest {
            Some(ingest) => {
                ingest.set_roots(options);
                ingest.forget(path)
            }
            None => return Err(closed()),
        };
        match forgotten {
            Ok(()) => {
                self.shared.tick();
                tracing::info!(root = ?path, "no longer watched; its content is forgotten");
                Ok(())
            }
            Err(error) => {
                let failure = internal(&error);
                self.broken(&error);
                Err(failure)
            }
        }
    }

    /// Changes the roots. If the change cannot be recorded, the roots stay as they are, because the
    /// next start would undo the change.
    fn change_roots(
        &mut self,
        roots: Vec<Root>,
        removed: BTreeSet<PathBuf>,
    ) -> Result<(), Failure> {
        roots::keep(&self.shared, &roots, &self.complete, &removed)
            .map_err(|error| internal(&error))?;
        self.removed = removed;
        self.shared.change_roots(roots);
        Ok(())
    }

    /// For each barrier whose files have been read, records the documents for which the barrier
    /// waits. Returns whether any barrier can be answered.
    pub(super) fn mark_syncs(&mut self) -> bool {
        let Some(ingest) = &self.ingest else {
            return false;
        };
        let mark = ingest.documents_mark();
        for sync in &mut self.syncs {
            if sync.is_reached() {
                sync.documents = Some(mark);
            }
        }
        self.syncs.iter().any(|sync| is_answered(sync, ingest))
    }

    pub(super) fn answer_syncs(&mut self) {
        let Some(ingest) = &self.ingest else {
            return;
        };
        let (done, waiting): (Vec<_>, Vec<_>) = std::mem::take(&mut self.syncs)
            .into_iter()
            .partition(|sync| is_answered(sync, ingest));
        self.syncs = waiting;
        if done.is_empty() {
            return;
        }
        if !self.passing.is_empty() {
            for mut sync in done {
                if !sync.is_last_try {
                    sync.is_last_try = true;
                    sync.documents = None;
                    self.syncs.push(sync);
                    continue;
                }
                // Some changes could not be read, so the barrier must fail. The barrier cannot
                // wait, because it is unknown when an attempt will succeed.
                let failure = Failure::new(FailureKind::Internal, self.why_not());
                reply(sync.reply, Err(failure));
            }
            return;
        }
        let replies = done.into_iter().map(|sync| sync.reply).collect();
        if let Err(unsent) = self.alerts.send(alerts::Message::Flush(replies))
            && let alerts::Message::Flush(replies) = unsent.into_inner()
        {
            for answer in replies {
                reply(answer, Ok(()));
            }
        }
    }
}

/// Returns whether a barrier no longer waits for anything.
fn is_answered(sync: &PendingSync, ingest: &Ingest) -> bool {
    let mark = sync.documents.filter(|_| sync.cookie.is_none());
    mark.is_some_and(|mark| ingest.is_past(mark))
}

pub(super) fn closed() -> Failure {
    Failure::new(FailureKind::Internal, "the index is closed just now")
}
