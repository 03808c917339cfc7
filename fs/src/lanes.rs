//! Runs requests on worker threads, so that a slow answer delays only its own caller.
//!
//! There are two pools. The first makes answers of the index, which take milliseconds. The second
//! makes texts for which whole files are read, which takes seconds. So if four texts are being
//! made, a fifth text must wait, but an answer is made at once.
//!
//! In a pool the accounts of users take turns, however many jobs one account has queued. In a mount
//! for all users, an account may use at most one worker more than stay free. So of four workers, a
//! first account gets two, and two further accounts get one each.

use std::collections::{HashMap, VecDeque};
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded};
use parking_lot::{Condvar, Mutex};
use resemble_callers::accounts::Account;

use crate::view::Effort;

/// The number of threads of each pool.
const WORKERS: usize = 4;
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// The worker threads of both pools.
pub(crate) struct Lanes {
    answers: Pool,
    texts: Pool,
}

struct Pool {
    queue: Arc<Queue>,
    /// Becomes disconnected when all workers have ended.
    working: Receiver<()>,
}

/// The jobs that wait for a worker of a pool.
struct Queue {
    waiting: Mutex<Waiting>,
    changed: Condvar,
    is_for_all: bool,
}

#[derive(Default)]
struct Waiting {
    /// The waiting jobs of each account. The account whose turn is next is first.
    jobs: VecDeque<(Account, VecDeque<Job>)>,
    /// The number of workers that each account uses now.
    busy: HashMap<Account, usize>,
    is_closed: bool,
}

impl Lanes {
    /// Starts the threads for a mount of one user, or for a mount for all users.
    pub(crate) fn start(is_for_all: bool) -> io::Result<Self> {
        Ok(Self {
            answers: Pool::start("overlay-answer", is_for_all)?,
            texts: Pool::start("overlay-text", is_for_all)?,
        })
    }

    /// Drops the jobs that wait, and ends the threads. Waits for their end for at most `patience`,
    /// and returns whether all have ended.
    pub(crate) fn close(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let pools = [&self.answers, &self.texts];
        for pool in pools {
            pool.queue.close();
        }
        pools.into_iter().all(|pool| pool.has_ended(deadline))
    }

    /// Runs a job of an account. A small job runs immediately on this thread. Any other job runs on
    /// a worker of its pool.
    pub(crate) fn run(&self, effort: Effort, account: Account, job: Job) {
        match effort {
            Effort::Small => guarded(job),
            Effort::Answer => self.answers.queue.push(account, job),
            Effort::Text => self.texts.queue.push(account, job),
        }
    }
}

impl Pool {
    fn start(name: &str, is_for_all: bool) -> io::Result<Self> {
        let queue = Arc::new(Queue {
            waiting: Mutex::default(),
            changed: Condvar::new(),
            is_for_all,
        });
        let (alive, working) = bounded(0);
        for _ in 0..WORKERS {
            let (queue, alive): (_, Sender<()>) = (Arc::clone(&queue), alive.clone());
            std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || {
                    while let Some((account, job)) = queue.next() {
                        guarded(job);
                        queue.is_done(account);
                    }
                    drop(alive);
                })?;
        }
        Ok(Self { queue, working })
    }

    fn has_ended(&self, deadline: Instant) -> bool {
        self.working.recv_deadline(deadline) == Err(RecvTimeoutError::Disconnected)
    }
}

impl Queue {
    /// Adds a job. After [`Self::close`], the job is dropped instead, and its reply with it.
    fn push(&self, account: Account, job: Job) {
        let mut waiting = self.waiting.lock();
        if waiting.is_closed {
            return;
        }
        match waiting.jobs.iter_mut().find(|(of, _)| *of == account) {
            Some((_, jobs)) => jobs.push_back(job),
            None => waiting.jobs.push_back((account, VecDeque::from([job]))),
        }
        drop(waiting);
        self.changed.notify_one();
    }

    /// Waits for the next job and returns it; `None` after [`Self::close`].
    fn next(&self) -> Option<(Account, Job)> {
        let mut waiting = self.waiting.lock();
        loop {
            if waiting.is_closed {
                return None;
            }
            if let Some(next) = waiting.take(self.is_for_all) {
                return Some(next);
            }
            self.changed.wait(&mut waiting);
        }
    }

    fn is_done(&self, account: Account) {
        let mut waiting = self.waiting.lock();
        if let Some(busy) = waiting.busy.get_mut(&account) {
            *busy -= 1;
            if *busy == 0 {
                waiting.busy.remove(&account);
            }
        }
        drop(waiting);
        // All waiting workers check the queue again, because the account may use one more worker
        // now.
        self.changed.notify_all();
    }

    fn close(&self) {
        let mut waiting = self.waiting.lock();
        waiting.is_closed = true;
        let dropped = std::mem::take(&mut waiting.jobs);
        drop(waiting);
        self.changed.notify_all();
        drop(dropped);
    }
}

impl Waiting {
    /// Removes and returns a job of the first account that may use one more worker, if there is
    /// one. That account then moves behind all other accounts.
    fn take(&mut self, is_for_all: bool) -> Option<(Account, Job)> {
        let free = WORKERS.saturating_sub(self.busy.values().sum());
        let may_have = |(account, _): &(Account, VecDeque<Job>)| {
            let has = self.busy.get(account).copied().unwrap_or(0);
            !is_for_all || has == 0 || has < free
        };
        let (account, mut jobs) = self.jobs.remove(self.jobs.iter().position(may_have)?)?;
        let job = jobs.pop_front()?;
        if !jobs.is_empty() {
            self.jobs.push_back((account, jobs));
        }
        *self.busy.entry(account).or_default() += 1;
        Some((account, job))
    }
}

/// Runs a handler. If it panics, only its request fails. Continuing is safe, because the state of
/// the view is consistent whenever a lock is released.
fn guarded(job: Job) {
    if catch_unwind(AssertUnwindSafe(job)).is_err() {
        tracing::error!("a request of the overlay panicked and was answered with EIO");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::mpsc::channel;

    use super::*;

    const ONE: Account = Account::of_id(1);
    const PATIENCE: Duration = Duration::from_secs(20);

    #[test]
    fn lanes_do_not_wait_for_each_other_and_survive_a_panic() {
        let lanes = Lanes::start(false).unwrap();
        let (release, blocked) = channel::<()>();
        let blocked = Arc::new(Mutex::new(blocked));
        for _ in 0..WORKERS {
            let blocked = Arc::clone(&blocked);
            lanes.run(
                Effort::Text,
                ONE,
                Box::new(move || assert!(blocked.lock().recv().is_err())),
            );
        }
        let (done, seen) = channel();
        for _ in 0..2 * WORKERS {
            lanes.run(
                Effort::Answer,
                ONE,
                Box::new(|| panic!("a handler that panics")),
            );
        }
        lanes.run(
            Effort::Answer,
            ONE,
            Box::new(move || done.send(()).unwrap()),
        );
        seen.recv_timeout(PATIENCE)
            .expect("answers go on while texts wait");
        assert!(
            !lanes.close(Duration::from_millis(1)),
            "texts are still waiting"
        );
        drop(release);
        assert!(lanes.close(PATIENCE), "all threads end");
    }

    /// One account has queued a thousand slow jobs. Three other accounts are served nevertheless.
    #[test]
    fn nobody_takes_all_workers() {
        let lanes = Lanes::start(true).unwrap();
        let (release, blocked) = crossbeam_channel::unbounded::<()>();
        let (begun, begins) = channel();
        for _ in 0..1000 {
            let (blocked, begun) = (blocked.clone(), begun.clone());
            let wait = move || {
                let _seen = begun.send(());
                let _released = blocked.recv();
            };
            lanes.run(Effort::Text, ONE, Box::new(wait));
        }
        for _ in 0..2 {
            begins.recv_timeout(PATIENCE).expect("it has two workers");
        }
        for another in 2..5 {
            let (done, seen) = channel();
            let job = move || done.send(()).unwrap();
            lanes.run(Effort::Text, Account::of_id(another), Box::new(job));
            seen.recv_timeout(PATIENCE).expect("another is served");
        }
        assert!(begins.try_recv().is_err(), "it has no third one");
        drop(release);
        assert!(lanes.close(PATIENCE));
    }

    #[test]
    fn each_has_its_turn() {
        let mut waiting = Waiting::default();
        for (account, count) in [(1, 3), (2, 1), (3, 2)] {
            let jobs = (0..count).map(|_| Box::new(|| ()) as Job).collect();
            waiting.jobs.push_back((Account::of_id(account), jobs));
        }
        let mut order = Vec::new();
        while let Some((account, _)) = waiting.take(false) {
            order.push(account.number());
            waiting.busy.clear();
        }
        assert_eq!(order, [1, 2, 3, 1, 3, 1]);
    }
}
