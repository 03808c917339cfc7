//! Raises alerts when a change makes a file resemble another.
//!
//! ```text
//! indexer ──Read(paths, snapshot before)──► baselines ──► batching ──alerts──► log, journal
//!                                                         due │   ▲ verdict
//!                                                             ▼   │
//!                                                            novelty
//! ```
//!
//! [`baselines`] stores the state of a file from before its change. [`batching`] decides when
//! alerts are due and limits their number. [`novelty`] decides which files are similar and which of
//! these deserve an alert. [`trees`] finds copied trees, and [`log`] stores the alerts. This module
//! is the thread that runs them. The thread only reads snapshots and changes nothing in the index,
//! so it does not delay the indexer. (But after alerts it makes the index durable.) The thread
//! reads baselines from the snapshot before a change as soon as it can. It drops that snapshot
//! after `MOST_LATE` at the latest.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crossbeam_channel::{Receiver, after, never, select};
use parking_lot::Mutex;
use resemble_core::Relation;
use resemble_index::Snapshot;
use resemble_proto::message::{AlertKind, AlertRow, Failure};
use resemble_proto::number::Fraction;
use tokio::sync::oneshot;

use crate::state::Shared;

pub mod baselines;
pub mod batching;
mod documents;
pub mod log;
mod new_bytes;
pub mod novelty;
pub mod partners;
pub mod rules;
pub mod sinks;
pub mod trees;
mod unshared;

use baselines::{Baselines, Burst};
use batching::{Alert, Batching, MOST_WAITING, Verdict};
use documents::Documents;
use log::AlertLog;
use novelty::Novelty;
use partners::content_at;
use rules::Rules;

/// Messages to the thread that raises alerts.
#[derive(Debug)]
pub enum Message {
    /// The content of these files has changed, and the index has the new content.
    Read {
        /// The files.
        paths: Vec<PathBuf>,
        /// The snapshot from before the change.
        before: Snapshot,
    },
    /// The index now has the parts of some documents that waited for extraction.
    TakenApart,
    /// Raise all pending alerts, then reply.
    Flush(Vec<oneshot::Sender<Result<(), Failure>>>),
}

/// The maximum number of files that are assessed between two looks at messages and the clock.
const AT_ONCE: usize = 64;
/// The longest time for which [`Message::Flush`] waits for assessments.
const FLUSH: Duration = Duration::from_secs(2);
/// If more files than this wait, [`Message::Flush`] is answered without waiting for them.
const FLUSHED: usize = 2000;
/// The longest time for which the snapshot before a change is kept to read baselines from it.
/// Meanwhile the index file cannot reuse the pages that this snapshot sees.
const MOST_LATE: Duration = Duration::from_secs(60);
/// The time for which a [`Novelty`] is reused. A `Novelty` caches ignore files, git operations, and
/// the files that have each content.
const CACHED: Duration = Duration::from_secs(5);

/// Raises alerts until all senders of messages are gone. If `prints` is set, each alert is also
/// written to the journal.
pub fn run(
    messages: &Receiver<Message>,
    shared: &Shared,
    log: &Arc<Mutex<AlertLog>>,
    prints: bool,
) {
    let mut raiser = Raiser::new(shared, log);
    raiser.prints = prints;
    loop {
        let timer = raiser.deadline().map_or_else(never, |at| {
            after(at.saturating_duration_since(Instant::now()))
        });
        let message = select! {
            recv(messages) -> message => match message {
                Ok(message) => Some(message),
                Err(_) => break,
            },
            recv(timer) -> _ => None,
        };
        let mut replies = Vec::new();
        for message in message.into_iter().chain(messages.try_iter()) {
            match message {
                Message::Read { paths, before } => raiser.read(paths, before),
                Message::TakenApart => raiser.take_up_documents(),
                Message::Flush(waiting) => replies.extend(waiting),
            }
        }
        if replies.is_empty() || raiser.waiting() > FLUSHED {
            raiser.raise();
        } else {
            raiser.flush();
        }
        for reply in replies {
            if reply.send(Ok(())).is_err() {
                tracing::trace!("the reply to the barrier was not received");
            }
        }
    }
    raiser.flush();
    if raiser.waiting() > 0 {
        tracing::warn!(
            files = raiser.waiting(),
            "changed files were not looked at for alerts"
        );
    }
}

/// Changed files whose baselines are not read yet.
struct Unread {
    paths: std::vec::IntoIter<PathBuf>,
    before: Baselines,
    at: Instant,
}

/// The state of the thread: a [`Batching`], and everything that is needed to assess files.
struct Raiser<'a> {
    unread: VecDeque<Unread>,
    batching: Batching,
    /// Documents whose texts are not known yet.
    documents: Documents,
    burst: Arc<Burst>,
    /// The time of the last change that was dismissed without an assessment. Such a change still
    /// belongs to the burst. So the burst lasts as long as if the changed file had waited.
    left_out: Option<Instant>,
    novelty: Option<(Novelty, Instant)>,
    shared: &'a Shared,
    log: &'a Mutex<AlertLog>,
    /// True if each alert is also written to the journal.
    prints: bool,
}

impl<'a> Raiser<'a> {
    fn new(shared: &'a Shared, log: &'a Mutex<AlertLog>) -> Self {
        Self {
            unread: VecDeque::new(),
            batching: Batching::default(),
            documents: Documents::default(),
            burst: Arc::default(),
            left_out: None,
            novelty: None,
            shared,
            log,
            prints: true,
        }
    }

    /// Returns the time of the next work. There may be nothing to do at that time.
    fn deadline(&self) -> Option<Instant> {
        let unread = self.unread.front().map(|unread| unread.at);
        unread.or_else(|| self.batching.deadline())
    }

    /// Returns the number of files that are not assessed yet.
    fn waiting(&self) -> usize {
        let unread: usize = self.unread.iter().map(|unread| unread.paths.len()).sum();
        unread + self.batching.waiting()
    }

    fn read(&mut self, mut paths: Vec<PathBuf>, before: Snapshot) {
        self.rest();
        let room = MOST_WAITING.saturating_sub(self.waiting());
        if paths.len() > room {
            not_assessed(paths.len() - room);
            paths.truncate(room);
        }
        if paths.is_empty() {
            return;
        }
        // All paths are added to the burst before any of them is assessed. So each assessment knows
        // which files arrived together.
        let now = Instant::now();
        for path in &paths {
            match content_at(&before, path) {
                Ok(was) => Arc::make_mut(&mut self.burst).add(path, was, now),
                Err(error) => tracing::debug!(path = ?path, %error, "its past is not known"),
            }
        }
        // The snapshots before and after a change get the same templates, namely the present
        // templates. So a change of the templates is not taken for a change of files.
        let before = before.with_templates(self.shared.templates());
        self.unread.push_back(Unread {
            paths: paths.into_iter(),
            before: Baselines::new(before).with_rules(self.rules()),
            at: now,
        });
    }

    /// Reads the baselines of at most `most` files.
    fn take_baselines(&mut self, most: usize) {
        if self.unread.is_empty() {
            return;
        }
        let after = self.shared.snapshot().ok();
        for _ in 0..most {
            let Some(unread) = self.unread.front_mut() else {
                return;
            };
            let Some(path) = unread.paths.next() else {
                self.unread.pop_front();
                continue;
            };
            if unread.at.elapsed() > MOST_LATE {
                not_assessed(unread.paths.len() + 1);
                self.unread.pop_front();
                continue;
            }
            let now = unread.at;
            if let Some(waiting) = self.documents.take(&path) {
                self.batching.put_back(waiting, now);
            }
            if self.batching.read_again(&path, now) {
                continue;
            }
            if (after.as_ref()).is_some_and(|after| !unread.before.may_be_news(after, &path)) {
                self.left_out = Some(Instant::now());
                continue;
            }
            match unread.before.of(&path) {
                Ok(before) => self.batching.read(&path, before, now),
                Err(error) => tracing::warn!(path = ?path, %error, "not assessed"),
            }
        }
        while (self.unread.front()).is_some_and(|unread| unread.paths.len() == 0) {
            self.unread.pop_front();
        }
    }

    /// Assesses all waiting files, but for no longer than [`FLUSH`], and raises their alerts.
    fn flush(&mut self) {
        let began = Instant::now();
        while self.waiting() > 0 && began.elapsed() < FLUSH {
            self.take_baselines(AT_ONCE);
            self.assess(true);
        }
        // A flush ends the burst, even if a change was dismissed a moment ago.
        self.left_out = None;
        self.rest();
        self.publish(self.waiting() == 0);
    }

    /// Assesses the files that are due, and raises the alerts that are due.
    fn raise(&mut self) {
        self.take_baselines(AT_ONCE);
        self.assess(false);
        self.publish(false);
    }

    fn assess(&mut self, all: bool) {
        let due = self.batching.due(Instant::now(), all, AT_ONCE);
        if due.is_empty() {
            return;
        }
        match self.shared.snapshot() {
            Ok(after) => {
                let now = Instant::now();
                if (self.novelty.as_ref()).is_none_or(|(_, since)| *since + CACHED < now) {
                    let part_reader = self.shared.part_reader().cloned();
                    let novelty = Novelty::new(after.clone())
                        .with_rules(self.rules())
                        .with_acks(self.shared.acks().current())
                        .with_part_reader(part_reader)
                        .with_documents(self.shared.documents());
                    self.novelty = Some((novelty, now));
                }
                let Some((novelty, _)) = &mut self.novelty else {
                    return;
                };
                novelty.look_at(after);
                for due in due {
                    let burst = self.documents.burst_of(&due.path);
                    let burst = burst.unwrap_or_else(|| Arc::clone(&self.burst));
                    let verdict = novelty.assess(&due.path, &due.before, &burst);
                    match verdict {
                        Verdict::NotYet(content) => self.documents.wait(due, content, burst),
                        verdict => self.batching.assessed(due, verdict, Instant::now()),
                    }
                }
            }
            Err(error) => {
                tracing::warn!(files = due.len(), %error, "no alerts for changed files");
            }
        }
        self.rest();
    }

    /// Returns the alert rules of each root.
    fn rules(&self) -> Rules {
        Rules::new(self.shared.all_alert_rules())
    }

    /// Ends the burst if no file waits and no change was dismissed a moment ago.
    fn rest(&mut self) {
        let is_recent = (self.left_out).is_some_and(|at| at.elapsed() < batching::SETTLE);
        if self.waiting() == 0 && !is_recent {
            self.burst = Arc::default();
            self.novelty = None;
        }
    }

    /// Makes documents that waited for their texts due again, if the texts may be known by now.
    fn take_up_documents(&mut self) {
        let now = Instant::now();
        let Some(waiting) = self.shared.documents() else {
            return;
        };
        for due in self.documents.take_known(&|content| !waiting.has(content)) {
            self.batching.put_back(due, now);
        }
    }

    fn publish(&mut self, all: bool) {
        let rules = self.rules();
        let is_told = |alert: &Alert| rules.accept(&row(alert));
        let alerts = self.batching.alerts_if(Instant::now(), all, &is_told);
        if alerts.is_empty() {
            return;
        }
        for alert in alerts {
            if self.prints {
                write_journal(&alert);
            }
            self.log.lock().push(row(&alert));
        }
        // If a crash lost the index changes that caused these alerts, the next start would raise
        // the alerts again. So the index is written to disk. But after a crash, a change that is on
        // disk raises no alert any more. So the write waits until all changes have verdicts and no
        // alert is held back.
        if self.unread.is_empty()
            && self.batching.is_idle()
            && self.documents.is_empty()
            && let Some(index) = self.shared.index()
            && let Err(error) = index.persist(Duration::ZERO)
        {
            tracing::debug!(%error, "the index is not written");
        }
    }
}

fn not_assessed(files: usize) {
    tracing::warn!(
        files,
        "too many files changed at once: these were not looked at for alerts"
    );
}

/// Writes an alert to the journal. Paths are written in their `Debug` form, which quotes and
/// escapes them.
fn write_journal(alert: &Alert) {
    match alert {
        Alert::File {
            path,
            partner,
            others,
        } => {
            let identical = partner.relation == Relation::Identical;
            // A containment that was not measured is left out of the line.
            let percent =
                |score: Option<resemble_core::Score>| score.map(|score| score.percent(identical));
            tracing::info!(
                file = ?path,
                resembles = ?partner.path,
                relation = partner.relation.word(),
                a_in_b = percent(partner.a_in_b),
                b_in_a = percent(partner.b_in_a),
                shared_bytes = partner.shared_bytes.get(),
                others,
                "alert"
            );
        }
        Alert::Tree {
            copy,
            original,
            files,
            identical,
        } => {
            tracing::info!(
                tree = ?copy,
                resembles = ?original,
                files,
                identical,
                "alert: {files} files, a copy of {original:?}"
            );
        }
        Alert::Summary { left_out, above } => {
            tracing::warn!(
                left_out,
                above = ?above,
                "alert: more files came to resemble others than are reported one by one"
            );
        }
    }
}

/// Returns the row of an alert for the log. The log assigns the number of the row.
fn row(alert: &Alert) -> AlertRow {
    let time = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    let row = |kind, a: &Path, b: &Path, files: u64| AlertRow {
        seq: 0,
        time,
        kind,
        a: a.into(),
        b: b.into(),
        relation: None,
        a_in_b: Fraction::NONE,
        b_in_a: Fraction::NONE,
        shared_bytes: 0,
        files,
        since: None,
        owner_a: None,
        owner_b: None,
    };
    match alert {
        Alert::File { path, partner, .. } => AlertRow {
            relation: Some(partner.relation),
            a_in_b: partner.a_in_b.into(),
            b_in_a: partner.b_in_a.into(),
            shared_bytes: partner.shared_bytes.get(),
            ..row(AlertKind::File, path, &partner.path, 1)
        },
        Alert::Tree {
            copy,
            original,
            files,
            identical,
        } => {
            let is_identical = files == identical;
            let tree = row(AlertKind::Tree, copy, original, *files as u64);
            AlertRow {
                relation: Some(if is_identical {
                    Relation::Identical
                } else {
                    Relation::Near
                }),
                a_in_b: if is_identical {
                    Fraction::ONE
                } else {
                    Fraction::NONE
                },
                ..tree
            }
        }
        Alert::Summary { left_out, above } => row(AlertKind::Summary, above, above, *left_out),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use resemble_core::{ByteLen, Params, Score};
    use resemble_index::{Change, Index, Options};
    use resemble_scan::ingest::{Ingest, IngestOptions, RootOptions, Target, Unobserved};

    use resemble_testutil::TempTree;

    use super::baselines::Baseline;
    use super::partners::Partner;
    use super::*;
    use crate::journal;

    fn partner(path: &str, a_in_b: Option<Score>) -> Partner {
        Partner {
            path: path.into(),
            relation: Relation::Contains,
            a_in_b,
            b_in_a: Some(Score::ONE),
            shared_bytes: ByteLen(5000),
        }
    }

    /// Rewrites one file 150 times. Returns the largest size of the index file in the first 20
    /// rounds, and in the later rounds. With `keep` the snapshot of the first round is kept until
    /// the end.
    fn rewritten_all_the_time(keep: bool) -> (u64, u64) {
        let dir = tempfile::tempdir().unwrap();
        let root = fs::canonicalize(dir.path()).unwrap().join("root");
        fs::create_dir(&root).unwrap();
        let file = dir.path().join("index.redb");
        let (index, _) = Index::open(&file, &Params::default(), &Options::default()).unwrap();
        let index = Arc::new(index);
        let shared = Shared::new(Arc::clone(&index));
        let log = Mutex::new(AlertLog::open(&dir.path().join("alerts.jsonl")));
        let mut raiser = Raiser::new(&shared, &log);
        let roots = vec![RootOptions::new(&root)];
        let options = IngestOptions {
            roots,
            ..IngestOptions::default()
        };
        let mut ingest = Ingest::new(Arc::clone(&index), options);
        let mut kept = None;
        let mut rewrite = |round: u32| {
            let line = |n: u32| format!("{:08x}\n", (n + round * 4000).wrapping_mul(0x9e37_79b1));
            let text: String = (0..4000).map(line).collect();
            fs::write(root.join("busy"), text).unwrap();
            let before = shared.snapshot().unwrap();
            if keep && kept.is_none() {
                kept = Some(before.clone());
            }
            let everything = [Target::subtree(&root)];
            ingest.reconcile(&everything, &mut Unobserved).unwrap();
            raiser.read(vec![root.join("busy")], before);
            raiser.raise();
            fs::metadata(&file).unwrap().len()
        };
        let settled = (0..20).map(&mut rewrite).max().unwrap();
        (settled, (20..150).map(&mut rewrite).max().unwrap())
    }

    /// Fails if a baseline keeps its snapshot while the file goes on changing.
    #[test]
    fn a_file_that_is_rewritten_all_the_time_does_not_make_the_index_grow() {
        let (settled, grown) = rewritten_all_the_time(false);
        assert!(grown <= settled * 2, "{settled} bytes, then {grown}");
        let (settled, grown) = rewritten_all_the_time(true);
        assert!(
            grown > settled * 2,
            "a kept snapshot shows: {settled} bytes, then {grown}"
        );
    }

    /// After a kill, a change raises an alert only if the index on disk does not have it.
    #[test]
    fn the_index_is_not_made_durable_while_a_change_has_no_verdict() {
        let index = Arc::new(Index::in_memory(&Params::default()).unwrap());
        let shared = Shared::new(Arc::clone(&index));
        let dir = TempTree::new();
        let log = Mutex::new(AlertLog::open(&dir.path("alerts.jsonl")));
        let mut raiser = Raiser::new(&shared, &log);
        raiser.prints = false;
        let now = Instant::now();
        for (path, others) in [("/r/a", true), ("/r/b", false)] {
            index.apply_for_now(vec![Change::Dir(path.into())]).unwrap();
            raiser
                .batching
                .read(Path::new(path), Baseline::default(), now);
            for due in raiser.batching.due(now, true, 1) {
                let verdict = Verdict::Resembles {
                    partners: vec![partner("/r/old", Some(Score::ONE))],
                    only_in_tree: false,
                };
                raiser.batching.assessed(due, verdict, now);
            }
            let other = Path::new("/s/c");
            if others {
                raiser.batching.read(other, Baseline::default(), now);
            } else {
                let due = raiser.batching.due(now, true, 1);
                assert_eq!(due.len(), 1, "{due:?}");
            }
            raiser.publish(true);
            assert_eq!(index.persist(Duration::ZERO).unwrap(), others, "{path}");
        }
        assert_eq!(log.lock().after(0).len(), 2);
    }

    #[test]
    fn a_line_of_the_journal_has_no_field_without_a_value() {
        let alert = |a_in_b| Alert::File {
            path: "/r/mail.eml".into(),
            partner: partner("/r/report", a_in_b),
            others: 0,
        };
        let said = journal::tests::heard(|| write_journal(&alert(None)));
        assert!(
            said.contains("b_in_a=99") && !said.contains("a_in_b"),
            "{said}"
        );
        let said = journal::tests::heard(|| write_journal(&alert(Some(Score::ONE))));
        assert!(
            said.contains("a_in_b=99") && !said.contains("Some"),
            "{said}"
        );
    }
}
