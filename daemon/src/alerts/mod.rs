//! Alerts: when a change makes a file resemble another.
//!
//! ```text
//! indexer ──Read(paths, index before)──► Window ──due──► judge ──Verdict──► Window ──► log, journal
//! ```
//!
//! [`window`] knows when and how many, [`judge`] knows what resembles what and what is nobody's news,
//! [`trees`] finds copied trees, [`log`] keeps. This module is the thread that joins them. It reads
//! snapshots only and never holds up the indexer.

use std::collections::{HashMap, HashSet, VecDeque};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use crossbeam_channel::{Receiver, after, never, select};
use resemble_core::Relation;
use resemble_index::Snapshot;
use resemble_proto::message::{AlertKind, AlertRow, Failure};
use resemble_proto::number::Fraction;
use tokio::sync::oneshot;

use crate::state::{Shared, lock};

pub mod judge;
pub mod log;
mod partners;
pub mod trees;
pub mod window;

use judge::Judge;
use log::AlertLog;
use window::{Alert, Verdict, Window};

/// What the thread is told.
#[derive(Debug)]
pub enum Message {
    /// Files whose content changed are in the index.
    Read {
        /// Which.
        paths: Vec<PathBuf>,
        /// The index before the change.
        before: Snapshot,
    },
    /// Raise what is waiting, then answer.
    Flush(Vec<oneshot::Sender<Result<(), Failure>>>),
}

/// Files that are judged between two looks at the messages and the clock.
const AT_ONCE: usize = 64;
/// How long a barrier waits for files to be judged.
const FLUSH: Duration = Duration::from_secs(2);
/// With more files than this a barrier does not wait: they are in the queue.
const FLUSHED: usize = 2000;
/// How long files of a burst that does not end count as having come together.
const TOGETHER: Duration = Duration::from_secs(600);
/// Files of one burst that are remembered.
const MOST_TOGETHER: usize = 200_000;
/// How long what was learnt of ignore files and git holds.
const CACHED: Duration = Duration::from_secs(5);

/// Raises alerts until the senders are gone.
pub fn run(messages: &Receiver<Message>, shared: &Shared, log: &Arc<Mutex<AlertLog>>) {
    let mut raiser = Raiser {
        window: Window::default(),
        befores: HashMap::new(),
        shared,
        log,
        burst: HashSet::new(),
        burst_order: VecDeque::new(),
        judge: None,
    };
    loop {
        let timer = raiser.window.deadline().map_or_else(never, |at| {
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
                Message::Read { paths, before } => raiser.read(paths, &before),
                Message::Flush(waiting) => replies.extend(waiting),
            }
        }
        if replies.is_empty() || raiser.window.waiting() > FLUSHED {
            raiser.raise();
        } else {
            raiser.flush();
        }
        for reply in replies {
            if reply.send(Ok(())).is_err() {
                tracing::trace!("nobody waits for the barrier");
            }
        }
    }
    raiser.flush();
    if raiser.window.waiting() > 0 {
        tracing::warn!(
            files = raiser.window.waiting(),
            "changed files were not looked at for alerts"
        );
    }
}

/// The window with what it needs to judge.
struct Raiser<'a> {
    window: Window,
    /// The index before the first change of each waiting file.
    befores: HashMap<PathBuf, Snapshot>,
    shared: &'a Shared,
    log: &'a Mutex<AlertLog>,
    /// What was read since the last time that nothing waited, but not longer than [`TOGETHER`] ago.
    burst: HashSet<PathBuf>,
    /// The same in the order of reading.
    burst_order: VecDeque<(Instant, PathBuf)>,
    judge: Option<(Judge, Instant)>,
}

impl Raiser<'_> {
    fn read(&mut self, paths: Vec<PathBuf>, before: &Snapshot) {
        let now = Instant::now();
        while self
            .burst_order
            .front()
            .is_some_and(|(at, _)| *at + TOGETHER < now)
        {
            let Some((_, old)) = self.burst_order.pop_front() else {
                break;
            };
            self.burst.remove(&old);
        }
        for path in paths {
            self.befores
                .entry(path.clone())
                .or_insert_with(|| before.clone());
            if self.burst.len() < MOST_TOGETHER && self.burst.insert(path.clone()) {
                self.burst_order.push_back((now, path.clone()));
            }
            self.window.read(path, now);
        }
    }

    /// Raises what waits, as far as the time allows.
    fn flush(&mut self) {
        let began = Instant::now();
        while self.window.waiting() > 0 && began.elapsed() < FLUSH {
            self.judge(true);
        }
        self.tell(self.window.waiting() == 0);
    }

    /// Raises what is due.
    fn raise(&mut self) {
        self.judge(false);
        self.tell(false);
    }

    fn judge(&mut self, all: bool) {
        let due = self.window.due(Instant::now(), all, AT_ONCE);
        if due.is_empty() {
            return;
        }
        match self.shared.snapshot() {
            Ok(after) => {
                let now = Instant::now();
                if self
                    .judge
                    .as_ref()
                    .is_none_or(|(_, since)| *since + CACHED < now)
                {
                    self.judge = Some((Judge::new(after.clone()), now));
                }
                let Some((judge, _)) = &mut self.judge else {
                    return;
                };
                judge.look_at(after);
                for path in due {
                    let before = self.befores.remove(&path);
                    let verdict = before.map_or(Verdict::Nothing, |before| {
                        judge.judge(&path, &before, &self.burst)
                    });
                    self.window.judged(path, verdict, Instant::now());
                }
            }
            Err(error) => {
                for path in &due {
                    self.befores.remove(path);
                }
                tracing::warn!(files = due.len(), %error, "no alerts for changed files");
            }
        }
        if self.window.waiting() == 0 {
            self.burst.clear();
            self.burst_order.clear();
            self.judge = None;
        }
    }

    fn tell(&mut self, all: bool) {
        for alert in self.window.alerts(Instant::now(), all) {
            tell(&alert);
            if let Some(row) = row(&alert) {
                lock(self.log).push(row);
            }
        }
    }
}

/// The line of the journal. Paths are quoted and escaped by their `Debug` form.
fn tell(alert: &Alert) {
    match alert {
        Alert::File {
            path,
            partner,
            others,
        } => {
            let identical = partner.relation == Relation::Identical;
            let percent = |score: Option<resemble_core::Score>| {
                score.map_or(-1, |score| i32::from(score.percent(identical)))
            };
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
        Alert::Summary { left_out } => {
            tracing::warn!(
                left_out,
                "alert: more files came to resemble others than are told one by one"
            );
        }
    }
}

/// The row that is kept; a summary is for the journal only.
fn row(alert: &Alert) -> Option<AlertRow> {
    let time = SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .map_or(0, |since| since.as_secs());
    match alert {
        Alert::File { path, partner, .. } => Some(AlertRow {
            seq: 0,
            time,
            kind: AlertKind::File,
            a: path.as_path().into(),
            b: partner.path.as_path().into(),
            relation: Some(partner.relation),
            a_in_b: partner.a_in_b.into(),
            b_in_a: partner.b_in_a.into(),
            shared_bytes: partner.shared_bytes.get(),
            files: 1,
        }),
        Alert::Tree {
            copy,
            original,
            files,
            identical,
        } => Some(AlertRow {
            seq: 0,
            time,
            kind: AlertKind::Tree,
            a: copy.as_path().into(),
            b: original.as_path().into(),
            relation: Some(if files == identical {
                Relation::Identical
            } else {
                Relation::Near
            }),
            a_in_b: if files == identical {
                Fraction::ONE
            } else {
                Fraction::NONE
            },
            b_in_a: Fraction::NONE,
            shared_bytes: 0,
            files: *files as u64,
        }),
        Alert::Summary { .. } => None,
    }
}
