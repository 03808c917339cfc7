//! Decides when an alert is due and which findings form one alert, and limits the number of alerts.
//! It reads no clock: its callers pass the time.
//!
//! 1. A changed file is assessed [`SETTLE`] after its last reading. By then a save is complete and
//!    its temporary file is gone. A file that is read repeatedly is assessed [`CAP`] after its
//!    first reading, against its state before that reading. After the assessment, the next reading
//!    counts as the first reading again.
//! 2. The findings of a copied tree form one alert. While other changed files below the same
//!    directory are not assessed yet, the tree may grow. So the alert is held back until
//!    [`HOLD_FILE`] after the last finding, at most [`HOLD_TREE`] after the first. The finding of a
//!    single file may be the first of a tree. So the finding of a single file is held back, too,
//!    for at most [`HOLD_FILE`]. If the file is read again in this time, it is assessed again, but
//!    its finding is not held longer. Files of a tree that arrive after its alert are counted in a
//!    later summary.
//! 3. There are at most [`RATE`] alerts in [`RATE_TIME`]. Further alerts are only counted. When
//!    that time is over, one more alert reports their number. Files beyond [`MOST_WAITING`] are
//!    counted in the same way. So nothing is lost silently.
//!
//! The baseline of a file is stored while the file waits to be assessed, and while its finding is
//! held back. The numbers of files and of baselines are bounded.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use resemble_core::{ContentId, Relation};

use super::baselines::Baseline;
use super::partners::Partner;
use super::trees;

/// The time from the last reading of a file to its assessment.
pub const SETTLE: Duration = Duration::from_secs(2);
/// The longest time from the first reading of a file to its assessment, if the file is read again
/// and again.
pub const CAP: Duration = Duration::from_secs(10);
/// The longest time for which the finding of a file waits for other files of its tree. A growing
/// tree waits for its next file for at most this time, too.
pub const HOLD_FILE: Duration = Duration::from_secs(10);
/// The longest time from the first finding in a growing tree to its alert.
pub const HOLD_TREE: Duration = Duration::from_secs(300);
/// The maximum number of alerts in [`RATE_TIME`].
pub const RATE: u32 = 30;
/// See [`RATE`].
pub const RATE_TIME: Duration = Duration::from_secs(60);
/// The pause between two checks of the held findings.
const LOOK: Duration = Duration::from_secs(1);
/// If at most this many findings are held, every call of [`Batching::alerts_if`] checks them.
const MANY: usize = 500;
/// The pause between checks grows by one `LOOK` whenever the number of held findings grows by this
/// much.
const VERY_MANY: usize = 5000;
/// After its alert, a tree raises no other alert for this time.
const REPORTED: Duration = Duration::from_secs(600);
/// The maximum number of changed files that wait for their assessment.
pub const MOST_WAITING: usize = 200_000;
/// If more findings than this are held, all of them are reported without further waiting.
const MOST_HELD: usize = 50_000;

/// The result of assessing a changed file.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// The file resembles nothing new.
    Nothing,
    /// The file is a document whose text is not known yet, and no other file has the same bytes.
    NotYet(ContentId),
    /// The file resembles something new, but only because of a git operation. This deserves no
    /// alert.
    Quiet,
    /// The file resembles something new.
    Resembles {
        /// The files that the changed file resembles, best first. There is at least one.
        partners: Vec<Partner>,
        /// True if the file counts only as a part of a copied tree and raises no alert by itself.
        /// Such a file is too small, or it belongs to a build or to version control.
        only_in_tree: bool,
    },
}

/// An alert that is due.
#[derive(Clone, Debug, PartialEq)]
pub enum Alert {
    /// A file now resembles another.
    File {
        /// The changed file.
        path: PathBuf,
        /// The file that the changed file resembles most.
        partner: Partner,
        /// The number of other files that the changed file resembles.
        others: usize,
    },
    /// A tree now resembles another.
    Tree {
        /// The new directory.
        copy: PathBuf,
        /// The directory that it resembles.
        original: PathBuf,
        /// The number of files in `copy` that have a counterpart in `original`.
        files: usize,
        /// The number of these files that are identical to their counterpart.
        identical: usize,
    },
    /// There were more alerts than [`RATE`] allows.
    Summary {
        /// The number of alerts that were not reported.
        left_out: u64,
        /// The deepest folder above the files of all alerts that were not reported.
        above: PathBuf,
    },
}

/// A changed file that is to be assessed now.
#[derive(Clone, Debug)]
pub struct Due {
    /// The path of the file.
    pub path: Arc<Path>,
    /// The state of the path before the first reading of the change.
    pub before: Baseline,
    history: History,
}

/// The history of a file that waits for its assessment or whose finding is held back.
#[derive(Clone, Copy, Debug)]
struct History {
    /// The time at which the file was first read.
    first: Instant,
    /// True if the file was read more than once.
    again: bool,
    /// The time at which the file was first found to resemble something new.
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
    /// Returns the time until which the finding waits for other findings of its tree. If a file has
    /// been written for [`CAP`] or longer, it is not in a tree that is being copied. So its finding
    /// waits for a shorter time.
    fn until(&self) -> Instant {
        let capped = self.history.again && self.since >= self.history.first + CAP;
        self.since + if capped { SETTLE } else { HOLD_FILE }
    }
}

/// The state machine. `waiting` and `order` contain the files to assess. `held` contains the
/// findings that are held back.
#[derive(Debug, Default)]
pub struct Batching {
    /// The files that were read but not assessed.
    waiting: BTreeMap<Arc<Path>, Unassessed>,
    /// The files of `waiting` in the order in which they are due.
    order: BTreeSet<(Instant, Arc<Path>)>,
    held: BTreeMap<Arc<Path>, Held>,
    /// The times of the next and of the last check of `held`.
    look: Option<Instant>,
    looked: Option<Instant>,
    /// The (copy, original) directories of trees that had an alert, with the time of the alert.
    reported: BTreeMap<(PathBuf, PathBuf), Instant>,
    rate_began: Option<Instant>,
    in_rate: u32,
    left_out: u64,
    /// The deepest folder above all files of omitted alerts.
    above: Option<PathBuf>,
}

impl Batching {
    /// Records that a file was read again while it waits or its finding is held back. The file then
    /// waits again, with the baseline of its first reading. Returns `false` for any other file; the
    /// caller must then pass it to [`Self::read`].
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

    /// Records that a changed file was read. `before` is its baseline. If the file waits already,
    /// or its finding is held back, `before` is ignored: the file then has an earlier baseline.
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

    /// Puts back a file that was due but could not be judged yet. The file is due again
    /// immediately.
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

    /// Returns the time at which the caller should ask for due files and alerts again. At that time
    /// there may be neither.
    pub fn deadline(&self) -> Option<Instant> {
        let waiting = self.order.first().map(|(at, _)| *at);
        let held = self.look.filter(|_| !self.held.is_empty());
        let summary = self
            .rate_began
            .filter(|_| self.left_out > 0)
            .map(|at| at + RATE_TIME);
        [waiting, held, summary].into_iter().flatten().min()
    }

    /// Returns whether no file waits and no finding is held back.
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty() && self.held.is_empty()
    }

    /// Returns the number of files that wait to be assessed.
    pub fn waiting(&self) -> usize {
        self.waiting.len()
    }

    /// Removes and returns at most `most` files that are to be assessed now. If `all` is true,
    /// files that are not due yet are returned, too.
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

    /// Records the verdict on a file that was due.
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

    /// Returns the alerts that are due, if `is_told` accepts them and [`RATE`] allows them. Also
    /// returns a summary of omitted alerts if it is due. If `all` is true, no finding is held back.
    pub fn alerts_if(
        &mut self,
        now: Instant,
        all: bool,
        is_told: &dyn Fn(&Alert) -> bool,
    ) -> Vec<Alert> {
        let all = all || self.held.len() > MOST_HELD;
        // Grouping takes time in proportion to the number of held findings. So the pause between
        // two checks grows with that number.
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

    /// Removes the findings of complete trees from `held` and adds the alerts of these trees to
    /// `alerts`. Returns the files of the trees that may still grow.
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
        // If two changed files resemble each other, only one of the two findings is reported.
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

    /// Returns whether the pair is in two trees that a recent alert was about.
    fn was_reported(&self, copy: &Path, original: &Path) -> bool {
        self.reported
            .keys()
            .any(|(reported_copy, reported_original)| {
                copy.starts_with(reported_copy) && original.starts_with(reported_original)
            })
    }

    /// Returns whether files below the directory wait for their assessment.
    fn is_growing(&self, dir: &Path) -> bool {
        self.waiting
            .range::<Path, _>((Bound::Included(dir), Bound::Unbounded))
            .next()
            .is_some_and(|(path, _)| path.starts_with(dir))
    }

    /// Returns the alerts that [`RATE`] allows in [`RATE_TIME`], and counts the others. When that
    /// time is over, a summary of the counted alerts is returned first.
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
