//! Decides when an alert is due, which findings form one alert, and how many alerts there may be.
//! Pure: its callers pass the time.
//!
//! 1. A changed file is assessed [`SETTLE`] after its last reading. By then a save is complete and
//!    its temporary file is gone. A file that is read repeatedly is assessed [`CAP`] after its
//!    first reading, against its state before that. Then its next reading counts as the first one
//!    again.
//! 2. Findings of a copied tree are one alert. While files below the same directory wait, the tree
//!    may grow. So the alert is held back until [`HOLD_FILE`] after the last finding, at most
//!    [`HOLD_TREE`] after the first. The finding of a single file is held for the same reason, at
//!    most [`HOLD_FILE`]. A held file that is read again is assessed again, but not held longer.
//!    Files of a tree that arrive after its alert are counted in a later summary.
//! 3. There are at most [`RATE`] alerts in [`RATE_TIME`]. Further ones are counted, and the count
//!    is an alert of its own when the time is over. Files beyond [`MOST_WAITING`] are counted in
//!    the same way. So nothing is lost silently.
//!
//! A file's baseline is stored while the file waits or is held. The numbers of files and of
//! baselines are bounded.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use resemble_core::{ContentId, Relation};

use super::baselines::Baseline;
use super::partners::Partner;
use super::trees;

/// Time from the reading of a file to its assessment.
pub const SETTLE: Duration = Duration::from_secs(2);
/// Longest time from the first reading of a file to its assessment, if it is read again.
pub const CAP: Duration = Duration::from_secs(10);
/// Longest time that a file waits for other files of its tree, and a tree for its next file.
pub const HOLD_FILE: Duration = Duration::from_secs(10);
/// Longest time that a growing tree waits to be complete.
pub const HOLD_TREE: Duration = Duration::from_secs(300);
/// The maximum number of alerts in [`RATE_TIME`].
pub const RATE: u32 = 30;
/// See [`RATE`].
pub const RATE_TIME: Duration = Duration::from_secs(60);
/// Pause between two checks of the held findings.
const LOOK: Duration = Duration::from_secs(1);
/// Up to this many held findings are checked without a pause.
const MANY: usize = 500;
/// Number of held findings that lengthen the pause by one `LOOK`.
const VERY_MANY: usize = 5000;
/// Time for which a reported tree is not reported again.
const REPORTED: Duration = Duration::from_secs(600);
/// The maximum number of changed files that wait at a time.
pub const MOST_WAITING: usize = 200_000;
/// If more findings than this are held, all of them are reported at once.
const MOST_HELD: usize = 50_000;

/// The result of assessing a changed file.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The file resembles nothing new.
    Nothing,
    /// The file is a document whose text is not known yet, and it is no copy of another file.
    NotYet(ContentId),
    /// The file resembles something new because of a git operation, which deserves no alert.
    Quiet,
    /// The file resembles something new.
    Resembles {
        /// The files that it resembles, best first; never empty.
        partners: Vec<Partner>,
        /// True if it counts in a copied tree, but raises no alert by itself, because it is too
        /// small or belongs to a build or to version control.
        only_in_tree: bool,
    },
}

/// An alert.
#[derive(Clone, Debug, PartialEq)]
pub enum Alert {
    /// A file now resembles another.
    File {
        /// The changed file.
        path: PathBuf,
        /// The file that it resembles most.
        partner: Partner,
        /// Number of other files that it resembles.
        others: usize,
    },
    /// A tree now resembles another.
    Tree {
        /// The new directory.
        copy: PathBuf,
        /// The directory that it resembles.
        original: PathBuf,
        /// Number of its files with a counterpart in the other.
        files: usize,
        /// Number of files that are identical to their counterpart.
        identical: usize,
    },
    /// There were more alerts than may be reported one by one.
    Summary {
        /// Number of omitted alerts.
        left_out: u64,
        /// The lowest folder above the files of all omitted alerts.
        above: PathBuf,
    },
}

/// A file that is to be assessed now.
#[derive(Clone, Debug)]
pub struct Due {
    /// Its path.
    pub path: Arc<Path>,
    /// Its state before its first reading.
    pub before: Baseline,
    history: History,
}

/// The history of a file that waits or is held.
#[derive(Clone, Copy, Debug)]
struct History {
    /// Time of its first reading.
    first: Instant,
    /// True if the file was read more than once.
    again: bool,
    /// Time of its first finding.
    found: Option<Instant>,
}

#[derive(Clone, Debug)]
struct Unassessed {
    at: Instant,
    before: Baseline,
    history: History,
}

#[derive(Clone, Debug)]
struct Held {
    partners: Vec<Partner>,
    only_in_tree: bool,
    since: Instant,
    before: Baseline,
    history: History,
}

impl Held {
    /// Returns the time until which the finding waits for others of its tree. A file that is
    /// written all the time waits less, because it is not part of a tree that is being copied.
    fn until(&self) -> Instant {
        let capped = self.history.again && self.since >= self.history.first + CAP;
        self.since + if capped { SETTLE } else { HOLD_FILE }
    }
}

/// The state machine.
#[derive(Debug, Default)]
pub struct Batching {
    /// Files that were read but not assessed.
    waiting: BTreeMap<Arc<Path>, Unassessed>,
    /// The same files in the order in which they are due.
    order: BTreeSet<(Instant, Arc<Path>)>,
    held: BTreeMap<Arc<Path>, Held>,
    /// Times of the next and of the last check of `held`.
    look: Option<Instant>,
    looked: Option<Instant>,
    /// Trees of reported alerts: (copy, original).
    reported: BTreeMap<(PathBuf, PathBuf), Instant>,
    rate_began: Option<Instant>,
    in_rate: u32,
    left_out: u64,
    /// Common parent of all omitted files.
    above: Option<PathBuf>,
}

impl Batching {
    /// Records another reading of a file that waits or is held. It then waits again, with its first
    /// baseline. Returns `false` for any other file, which must be passed to [`Self::read`].
    pub fn read_again(&mut self, path: &Path, now: Instant) -> bool {
        let (path, before, history) = if let Some((path, waiting)) = self.waiting.remove_entry(path)
        {
            self.order.remove(&(waiting.at, Arc::clone(&path)));
            (path, waiting.before, waiting.history)
        } else if let Some((path, held)) = self.held.remove_entry(path) {
            (path, held.before, held.history)
        } else {
            return false;
        };
        let history = History {
            again: true,
            ..history
        };
        let at = (now + SETTLE).min(history.first + CAP);
        self.wait(path, at, before, history);
        true
    }

    /// Records the reading of a file. `before` is its baseline, which is used unless the file waits
    /// or is held already.
    pub fn read(&mut self, path: &Path, before: Baseline, now: Instant) {
        if self.read_again(path, now) {
            return;
        }
        if self.waiting.len() >= MOST_WAITING {
            self.leave_out(1, path, now);
            return;
        }
        let history = History {
            first: now,
            again: false,
            found: None,
        };
        self.wait(path.into(), now + SETTLE, before, history);
    }

    /// Puts back a due file whose assessment failed. It is due again at once.
    pub fn put_back(&mut self, due: Due, now: Instant) {
        if self.waiting.contains_key(&due.path) || self.held.contains_key(&due.path) {
            return;
        }
        self.wait(due.path, now, due.before, due.history);
    }

    fn wait(&mut self, path: Arc<Path>, at: Instant, before: Baseline, history: History) {
        self.order.insert((at, Arc::clone(&path)));
        let waiting = Unassessed {
            at,
            before,
            history,
        };
        self.waiting.insert(path, waiting);
    }

    /// Returns the time at which to ask for due files and alerts again. It may be too early.
    pub fn deadline(&self) -> Option<Instant> {
        let waiting = self.order.first().map(|(at, _)| *at);
        let held = self.look.filter(|_| !self.held.is_empty());
        let summary = self
            .rate_began
            .filter(|_| self.left_out > 0)
            .map(|at| at + RATE_TIME);
        [waiting, held, summary].into_iter().flatten().min()
    }

    /// Returns whether nothing waits and nothing is held.
    #[cfg(test)]
    fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.held.is_empty()
    }

    /// Returns the number of files that wait to be assessed.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Returns at most `most` files to assess now; with `all` even those that are not due yet.
    pub fn due(&mut self, now: Instant, all: bool, most: usize) -> Vec<Due> {
        let mut due = Vec::new();
        while due.len() < most
            && self.order.first().is_some_and(|(at, _)| all || *at <= now)
            && let Some((_, path)) = self.order.pop_first()
        {
            if let Some(waiting) = self.waiting.remove(&path) {
                due.push(Due {
                    path,
                    before: waiting.before,
                    history: waiting.history,
                });
            }
        }
        due
    }

    /// Takes the verdict on a due file.
    pub fn assessed(&mut self, due: Due, verdict: Verdict, now: Instant) {
        if let Verdict::Resembles {
            partners,
            only_in_tree,
        } = verdict
            && !partners.is_empty()
        {
            let since = due.history.found.unwrap_or(now);
            let held = Held {
                partners,
                only_in_tree,
                since,
                before: due.before,
                history: History {
                    found: Some(since),
                    ..due.history
                },
            };
            self.held.insert(due.path, held);
            self.look = Some(now);
        }
    }

    #[cfg(test)]
    fn alerts(&mut self, now: Instant, all: bool) -> Vec<Alert> {
        self.alerts_if(now, all, &|_| true)
    }

    /// Returns the alerts that are due and pass `is_told`; with `all` nothing is held back.
    pub fn alerts_if(
        &mut self,
        now: Instant,
        all: bool,
        is_told: &dyn Fn(&Alert) -> bool,
    ) -> Vec<Alert> {
        let all = all || self.held.len() > MOST_HELD;
        // Grouping takes time in proportion to the number of held findings, so the pause grows with
        // it.
        let pause = LOOK * (1 + self.held.len() / VERY_MANY) as u32;
        if !all
            && self.held.len() > MANY
            && let Some(next) = self.looked.map(|at| at + pause)
            && now < next
        {
            self.look = Some(next);
            return Vec::new();
        }
        self.looked = Some(now);
        self.reported.retain(|_, at| *at + REPORTED > now);
        let mut alerts = Vec::new();
        let growing = self.trees(now, all, &mut alerts);
        self.files(now, all, &growing, &mut alerts);
        self.look = Some(now + LOOK);
        alerts.retain(is_told);
        self.limit(alerts, now)
    }

    /// Removes the complete trees and returns the members of the others.
    fn trees(&mut self, now: Instant, all: bool, alerts: &mut Vec<Alert>) -> BTreeSet<Arc<Path>> {
        let findings: Vec<(&Path, Vec<&Path>)> = (self.held.iter())
            .map(|(path, held)| {
                let partners = held.partners.iter().map(|partner| partner.path.as_path());
                (&**path, partners.collect())
            })
            .collect();
        let mut growing = BTreeSet::new();
        let mut complete = Vec::new();
        for tree in trees::group(&findings) {
            let members: Vec<Arc<Path>> = (tree.members.iter())
                .filter_map(|member| findings.get(*member))
                .map(|(path, _)| Arc::from(*path))
                .collect();
            let since = || {
                members
                    .iter()
                    .filter_map(|path| self.held.get(path))
                    .map(|h| h.since)
            };
            let (first, last) = (since().min().unwrap_or(now), since().max().unwrap_or(now));
            let holds = now < last + HOLD_FILE && now < first + HOLD_TREE;
            if !all && holds && self.is_growing(&tree.above) {
                growing.extend(members);
            } else {
                complete.push((tree, members));
            }
        }
        for (tree, members) in complete {
            let held: Vec<Held> = members
                .iter()
                .filter_map(|path| self.held.remove(path))
                .collect();
            if self.was_reported(&tree.copy, &tree.original) {
                self.leave_out(held.len() as u64, &tree.copy, now);
            } else if held.iter().any(|held| !held.only_in_tree) {
                self.reported
                    .insert((tree.copy.clone(), tree.original.clone()), now);
                let is_identical = |held: &&Held| {
                    held.partners
                        .iter()
                        .any(|partner| partner.relation == Relation::Identical)
                };
                alerts.push(Alert::Tree {
                    copy: tree.copy,
                    original: tree.original,
                    files: held.len(),
                    identical: held.iter().filter(is_identical).count(),
                });
            }
        }
        growing
    }

    fn files(
        &mut self,
        now: Instant,
        all: bool,
        growing: &BTreeSet<Arc<Path>>,
        alerts: &mut Vec<Alert>,
    ) {
        let due: Vec<Arc<Path>> = (self.held.iter())
            .filter(|(path, held)| {
                !growing.contains(*path)
                    && (all
                        || now >= held.until()
                        || !path.parent().is_some_and(|dir| self.is_growing(dir)))
            })
            .map(|(path, _)| Arc::clone(path))
            .collect();
        // Two files that now resemble each other are reported once.
        let mut pairs = BTreeSet::new();
        for path in due {
            let Some(held) = self.held.remove(&path) else {
                continue;
            };
            let others = held.partners.len() - 1;
            let Some(partner) = held.partners.into_iter().next() else {
                continue;
            };
            let path = path.to_path_buf();
            if held.only_in_tree || pairs.contains(&(partner.path.clone(), path.clone())) {
                continue;
            }
            if self.was_reported(&path, &partner.path) {
                self.leave_out(1, &path, now);
                continue;
            }
            pairs.insert((path.clone(), partner.path.clone()));
            alerts.push(Alert::File {
                path,
                partner,
                others,
            });
        }
    }

    /// Returns whether a tree that contains the pair was reported recently.
    fn was_reported(&self, copy: &Path, original: &Path) -> bool {
        self.reported
            .keys()
            .any(|(reported_copy, reported_original)| {
                copy.starts_with(reported_copy) && original.starts_with(reported_original)
            })
    }

    /// Returns whether files below the directory are still to be assessed.
    fn is_growing(&self, dir: &Path) -> bool {
        self.waiting
            .range::<Path, _>((Bound::Included(dir), Bound::Unbounded))
            .next()
            .is_some_and(|(path, _)| path.starts_with(dir))
    }

    /// Limits the number of alerts in [`RATE_TIME`]. When that time is over, a summary of the
    /// omitted ones comes first.
    fn limit(&mut self, alerts: Vec<Alert>, now: Instant) -> Vec<Alert> {
        if self.rate_began.is_none_or(|at| at + RATE_TIME <= now) {
            let left_out = std::mem::take(&mut self.left_out);
            self.rate_began = None;
            self.in_rate = 0;
            if left_out > 0 {
                let above = self.above.take().unwrap_or_default();
                let mut raised = vec![Alert::Summary { left_out, above }];
                raised.extend(self.limit(alerts, now));
                return raised;
            }
        }
        let mut raised = Vec::new();
        for alert in alerts {
            if self.in_rate < RATE {
                self.rate_began.get_or_insert(now);
                self.in_rate += 1;
                raised.push(alert);
                continue;
            }
            match &alert {
                Alert::File { path, .. } => self.leave_out(1, path, now),
                Alert::Tree { copy, .. } => self.leave_out(1, copy, now),
                Alert::Summary { left_out, above } => self.leave_out(*left_out, above, now),
            }
        }
        raised
    }

    fn leave_out(&mut self, count: u64, path: &Path, now: Instant) {
        self.rate_began.get_or_insert(now);
        self.left_out += count;
        let folder = path.parent().unwrap_or(path);
        match &mut self.above {
            Some(above) => while !folder.starts_with(&above) && above.pop() {},
            above => *above = Some(folder.to_path_buf()),
        }
    }
}

#[cfg(test)]
mod tests;
