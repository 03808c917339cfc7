//! Runs one round of work: collects all targets that are due and reconciles the index with them.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use resemble_proto::message::StatusAnswer;
use resemble_report::quote::quoted;
use resemble_scan::ingest::{Cause, Ingest, IngestError, Scope, Target};

use super::watches::Polled;
use super::{
    BREATH, COMPARE, GATHER, Indexer, MEASURES, PERSIST, POLL, POLL_SHARE, PendingSync, RECHECKS,
    roots,
};
use crate::coalesce::Jobs;
use crate::state::Topic;
use crate::state::fresh::MOST_NAMED;
use crate::watch::MORE_WATCHES;

/// The maximum number of times that a barrier checks targets which change during every check.
const PERSISTENCE: usize = 20;

/// The maximum number of these targets that are checked together.
const FEW: usize = 32;

impl Indexer {
    pub(super) fn work(&mut self) {
        self.is_sound();
        if self.ingest.is_none() {
            self.reopen();
            if self.ingest.is_none() {
                return;
            }
        }
        if self.rescan_source || self.deaf.is_some_and(|deaf| deaf.at <= Instant::now()) {
            self.restart_source();
        }
        let reached = self.syncs.iter().any(PendingSync::is_reached);
        let now = Instant::now();
        if reached || now >= self.next_roots {
            self.check_roots();
            self.follow_catalogues(reached);
        }
        if !self.run_scans() {
            return;
        }
        // If a barrier waits, large files are read to their ends without a pause.
        self.take_turns(!reached);
        if !self.look_at_changes(reached, now) || !self.write_documents() {
            return;
        }
        self.tell_waits();
        self.tell_troubles();
        if self.scans.is_empty() && !self.rescan_source {
            // A question may have met damage since this round began, so the index is checked once
            // more.
            if self.mark_syncs() && !(self.persist(Duration::ZERO) && self.is_sound()) {
                return;
            }
            self.answer_syncs();
        }
        self.slow_step(now);
        let is_waited_for = |sync: &PendingSync| sync.documents.is_none();
        if !self.syncs.iter().any(is_waited_for) && now >= self.next_measures {
            self.write_measures();
        }
    }

    /// Checks the paths that have changed and the targets that are due. Returns whether the index
    /// is still usable.
    fn look_at_changes(&mut self, reached: bool, now: Instant) -> bool {
        let jobs = if reached {
            self.coalescer.drain_all()
        } else if now >= self.not_before {
            self.coalescer.due(now)
        } else {
            Jobs::default()
        };
        let Jobs {
            renames,
            subtrees,
            mut entries,
            ..
        } = jobs;
        // Whole directories are checked first, and single entries in a second round. In one common
        // round, an entry might be read before the listing that watches its directory. A write
        // between the reading and the watch would make no event.
        self.drop_listed(&subtrees, &mut entries);
        let mut targets: Vec<Target> = Vec::new();
        for (rename, modified) in renames {
            targets.push(Target::Renamed {
                from: rename.from,
                to: rename.to,
                modified,
            });
        }
        targets.extend(subtrees.into_iter().map(Target::subtree));
        if !self.look_at(&targets) {
            return false;
        }
        targets.clear();
        for (path, cause) in entries {
            targets.push(Target::Path {
                path,
                scope: Scope::Entry,
                cause,
                // A file that had just changed when it was read is not read again here, even for a
                // barrier. If the file is written again, that write makes an event.
                read_now: false,
            });
        }
        if (reached || now >= self.next_unresolved) && !self.look_at_unresolved() {
            return false;
        }
        if reached || now >= self.not_before {
            let unfinished = std::mem::take(&mut self.unfinished).into_iter();
            targets.extend(unfinished.map(|path| Target::entry(path, Cause::Modified)));
        }
        if reached {
            self.add_moving(&mut targets);
        } else {
            self.add_rechecks(&mut targets, now);
        }
        let again = self.passing.due(now, reached);
        targets.extend(again.into_iter().map(Target::subtree));
        let began = Instant::now();
        let polls = self.add_polls(&mut targets, now, reached);
        if !self.look_at(&targets) || reached && !self.verify() {
            return false;
        }
        self.passing.tried();
        let is_due = self.unseen.is_some_and(|since| since + COMPARE <= now);
        if (reached || is_due) && !self.look_at_unseen() {
            return false;
        }
        // The number of rounds is limited. Otherwise a program that creates and removes files all
        // the time would delay a barrier for ever.
        for _ in 0..PERSISTENCE {
            if !reached || self.unresolved.is_empty() {
                break;
            }
            if !self.look_at_unresolved() {
                return false;
            }
        }
        if polls {
            self.next_poll = Instant::now() + POLL.max(began.elapsed() * POLL_SHARE);
        }
        true
    }

    /// Writes the parts of extracted documents into the index, if that is due. Returns `false` if
    /// the index is broken.
    fn write_documents(&mut self) -> bool {
        let due = self.ingest.as_ref().and_then(Ingest::documents_due);
        if due.is_none_or(|due| due.max(self.not_before) > Instant::now()) {
            return true;
        }
        let (report, _) = self.reconcile(&[], true);
        self.not_before = Instant::now() + BREATH;
        report.is_some()
    }

    /// Writes the measures of recent questions, and makes durable the changes that have waited for
    /// [`PERSIST`]. Then compacts the index and verifies its next part. All this is not done after
    /// each question, because a durable transaction costs two fsyncs.
    pub(super) fn write_measures(&mut self) {
        self.next_measures = Instant::now() + MEASURES;
        let Some(index) = self.shared.index() else {
            return;
        };
        if let Err(error) = index.write_measures() {
            return self.broken(&error.into());
        }
        drop(index);
        if self.persist(PERSIST) {
            self.compact();
        }
        self.verify_index();
    }

    /// Verifies the next part of the index. Otherwise damage in data that no question reads might
    /// be found only after years.
    fn verify_index(&mut self) {
        let Some(index) = self.shared.index() else {
            return;
        };
        match index.verify_blocks(self.verified) {
            Ok(next) => self.verified = next.unwrap_or(0),
            Err(error) => self.broken(&error.into()),
        }
    }

    /// Makes all changes durable if the oldest has waited for `age`. Returns `false` if the index
    /// is broken.
    fn persist(&mut self, age: Duration) -> bool {
        let Some(index) = self.shared.index() else {
            return true;
        };
        let persisted = index.persist(age);
        drop(index);
        persisted
            .map_err(|error| self.broken(&error.into()))
            .is_ok()
    }

    /// Compacts the index file if it has much unused space. This is impossible while a question
    /// runs. In that case a later round compacts the file.
    pub(super) fn compact(&mut self) {
        let Some(index) = self.shared.index() else {
            return;
        };
        match index.compact() {
            Ok(true) => tracing::debug!("the index was compacted"),
            Ok(false) => {}
            Err(error) => self.broken(&error.into()),
        }
    }

    /// Drops entries at or below `subtrees` that are not in the index yet. The listing of the
    /// subtree finds and reads them anyway.
    fn drop_listed(&self, subtrees: &BTreeSet<PathBuf>, entries: &mut BTreeMap<PathBuf, Cause>) {
        if subtrees.is_empty() {
            return;
        }
        let Ok(snapshot) = self.shared.snapshot() else {
            return;
        };
        entries.retain(|path, _| {
            let listed = path.ancestors().any(|above| subtrees.contains(above));
            !listed || !matches!(snapshot.entry(path), Ok(None))
        });
    }

    /// Reconciles the index with these targets. Returns whether the index is still usable.
    pub(super) fn look_at(&mut self, targets: &[Target]) -> bool {
        if targets.is_empty() {
            return true;
        }
        tracing::debug!(targets = targets.len(), "looking at changes");
        tracing::trace!(?targets);
        if self.mounts.is_other_list() {
            self.check_mounts();
        }
        let (report, meanwhile) = self.reconcile(targets, true);
        if meanwhile.is_other {
            // All targets are checked again. `meanwhile.listed` would not suffice, because it has
            // only directories and no single entries.
            self.look_again(targets.iter().cloned());
        }
        self.not_before = Instant::now() + BREATH;
        report.is_some()
    }

    /// Checks again the targets that changed during their last check: whole trees one by one, other
    /// targets a few at a time. The checks are short because a long check would be disturbed again
    /// if mounts change all the time. Returns whether the index is still usable.
    fn look_at_unresolved(&mut self) -> bool {
        let unresolved = std::mem::take(&mut self.unresolved);
        let (trees, others): (Vec<_>, Vec<_>) =
            unresolved.into_iter().partition(Target::is_subtree);
        trees
            .into_iter()
            .all(|tree| self.scan(tree, true).is_some())
            && others.chunks(FEW).all(|few| self.look_at(few))
    }

    /// Calls [`Self::look_at`] with targets that were found in the index, and returns its result.
    /// An error marks the index as broken and returns false.
    pub(super) fn look_at_found(&mut self, targets: Result<Vec<Target>, IngestError>) -> bool {
        match targets {
            Ok(targets) => self.look_at(&targets),
            Err(error) => {
                self.broken(&error);
                false
            }
        }
    }

    /// Adds the files that were changed while they were read. A barrier cannot wait until they are
    /// due to be read again.
    fn add_moving(&mut self, targets: &mut Vec<Target>) {
        self.recheck.retain(|path, (_, cause)| {
            let is_moving = *cause == Cause::Modified;
            if is_moving {
                targets.push(Target::entry(path, *cause));
            }
            !is_moving
        });
    }

    pub(super) fn add_rechecks(&mut self, targets: &mut Vec<Target>, now: Instant) {
        let first = self.recheck.values().map(|(at, _)| *at).min();
        if first.is_none_or(|at| at + GATHER > now) {
            return;
        }
        let due: Vec<PathBuf> = (self.recheck.iter())
            .filter(|(_, (at, _))| *at <= now)
            .take(RECHECKS)
            .map(|(path, _)| path.clone())
            .collect();
        for path in due {
            if let Some((_, cause)) = self.recheck.remove(&path) {
                targets.push(Target::entry(path, cause));
            }
        }
    }

    pub(super) fn add_polls(&mut self, targets: &mut Vec<Target>, now: Instant, all: bool) -> bool {
        let mut any = false;
        if all || now >= self.next_poll {
            for (dir, _) in self.watches.polled() {
                any = true;
                targets.push(Target::entry(dir, Cause::Unknown));
            }
            for dir in self.watches.misplaced() {
                self.watches.dropped(&dir);
                targets.push(Target::subtree(dir));
            }
        }
        any
    }

    /// Runs one step of the slow comparison, or starts a new comparison if it is due.
    pub(super) fn slow_step(&mut self, now: Instant) {
        if let Some(target) = self.slow.pop_front() {
            self.scan(target, true);
            if self.slow.is_empty() {
                tracing::debug!("the slow comparison is done");
            }
        } else if self.next_slow.is_some_and(|at| at <= now) {
            self.next_slow = self.options.reconcile.map(|period| now + period);
            tracing::debug!("comparing everything, slowly");
            for root in self.root_options() {
                self.slow.extend(roots::pieces(&root.path));
            }
        }
    }

    /// Publishes the number of files that wait to be read, and the files that wait longer than
    /// others.
    pub(super) fn tell_waits(&mut self) {
        let documents = self.ingest.as_ref().map_or(0, Ingest::documents);
        let waiting = self.coalescer.waiting() + self.unfinished.len() + documents;
        let mut waits = self.coalescer.long_waits();
        waits.truncate(StatusAnswer::MOST_WAITS);
        let is_few = waiting - documents <= MOST_NAMED;
        self.shared.set_waiting(is_few.then(|| {
            let files = self.coalescer.waiting_files().map(Path::to_path_buf);
            files.chain(self.unfinished.iter().cloned()).collect()
        }));
        self.shared.set_pending(waiting as u64);
        self.shared.set_waits(waits);
        self.shared.set_oldest_change(self.coalescer.oldest());
    }

    pub(super) fn tell_passing(&self) {
        match self.passing.first() {
            Some((first, _)) => self
                .shared
                .trouble(Topic::Passing, first, &self.why_not(), None),
            None => self.shared.mended(Topic::Passing),
        }
    }

    /// Describes the transient failures in one sentence: their number, and the first failure.
    pub(super) fn why_not(&self) -> String {
        let Some((first, errno)) = self.passing.first() else {
            return String::new();
        };
        format!(
            "{} files or folders could not be looked at, the first is {}: {}; they are tried again",
            self.passing.len(),
            quoted(first),
            std::io::Error::from_raw_os_error(errno)
        )
    }

    pub(super) fn tell_troubles(&self) {
        let mut counts: BTreeMap<Polled, (usize, PathBuf)> = BTreeMap::new();
        for (dir, why) in self.watches.polled() {
            counts
                .entry(why)
                .or_insert_with(|| (0, dir.to_path_buf()))
                .0 += 1;
        }
        let seconds = POLL.as_secs();
        let limited = counts
            .get(&Polled::Limit)
            .or_else(|| counts.get(&Polled::Refused));
        match limited {
            Some((count, first)) => self.shared.trouble(
                Topic::Watches,
                first,
                &format!(
                    "{count} directories cannot be watched: changes there are looked for every \
                     {seconds} seconds or more"
                ),
                counts.contains_key(&Polled::Limit).then_some(MORE_WATCHES),
            ),
            None => self.shared.mended(Topic::Watches),
        }
        self.tell_passing();
        match counts.get(&Polled::Remote) {
            Some((_, first)) => self.shared.trouble(
                Topic::Remote,
                first,
                &format!(
                    "on a network file system: changes by others are looked for every {seconds} \
                     seconds or more"
                ),
                None,
            ),
            None => self.shared.mended(Topic::Remote),
        }
    }
}
