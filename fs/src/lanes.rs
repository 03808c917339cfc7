//! Worker threads, so that a slow answer holds up nobody but its asker.
//!
//! Two pools, apart by how long a job may take: answers of the index (milliseconds) and texts that
//! read whole files (seconds). Four texts being computed therefore delay the fifth text, and
//! nothing else.

use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};

use parking_lot::{Condvar, Mutex};

use crate::view::Effort;

/// Threads of each pool.
const WORKERS: usize = 4;
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// The worker threads, apart by how long a job may take.
pub(crate) struct Lanes {
    answers: Arc<Pool>,
    texts: Arc<Pool>,
}

struct Pool {
    state: Mutex<PoolState>,
    changed: Condvar,
}

#[derive(Default)]
struct PoolState {
    jobs: VecDeque<Job>,
    closed: bool,
    workers: usize,
}

impl Lanes {
    /// Starts the threads.
    pub(crate) fn start() -> io::Result<Self> {
        let lanes = Self {
            answers: Pool::new(),
            texts: Pool::new(),
        };
        for (pool, name) in [
            (&lanes.answers, "overlay-answer"),
            (&lanes.texts, "overlay-text"),
        ] {
            for _ in 0..WORKERS {
                if let Err(error) = Pool::start_worker(pool, name) {
                    lanes.close(Duration::ZERO);
                    return Err(error);
                }
            }
        }
        Ok(lanes)
    }

    /// Drops what waits, ends the threads, and waits for them at most so long. `true`: all ended.
    pub(crate) fn close(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let dropped: Vec<_> = [&self.answers, &self.texts]
            .map(|pool| pool.close())
            .into_iter()
            .flatten()
            .collect();
        drop(dropped); // each drops its reply
        [&self.answers, &self.texts]
            .into_iter()
            .all(|pool| pool.wait_empty(deadline))
    }

    /// Runs a job: at once if it is small, else on a worker of its kind.
    pub(crate) fn run(&self, effort: Effort, job: Job) {
        match effort {
            Effort::Small => guarded(job),
            Effort::Answer => self.answers.push(job),
            Effort::Text => self.texts.push(job),
        }
    }
}

impl Pool {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            state: Mutex::default(),
            changed: Condvar::new(),
        })
    }

    fn start_worker(this: &Arc<Self>, name: &str) -> io::Result<()> {
        let pool = Arc::clone(this);
        this.state.lock().workers += 1;
        let started = std::thread::Builder::new()
            .name(name.to_owned())
            .spawn(move || pool.work());
        if started.is_err() {
            this.state.lock().workers -= 1;
        }
        started.map(|_detached| ()) // `wait_empty` is the join
    }

    fn work(&self) {
        let mut state = self.state.lock();
        while !state.closed {
            if let Some(job) = state.jobs.pop_front() {
                drop(state);
                guarded(job);
                state = self.state.lock();
            } else {
                self.changed.wait(&mut state);
            }
        }
        state.workers -= 1;
        self.changed.notify_all();
    }

    fn push(&self, job: Job) {
        let mut state = self.state.lock();
        if state.closed {
            drop(state);
            drop(job);
        } else {
            state.jobs.push_back(job);
            self.changed.notify_one();
        }
    }

    fn close(&self) -> VecDeque<Job> {
        let mut state = self.state.lock();
        state.closed = true;
        self.changed.notify_all();
        std::mem::take(&mut state.jobs)
    }

    fn wait_empty(&self, deadline: Instant) -> bool {
        let mut state = self.state.lock();
        self.changed
            .wait_while_until(&mut state, |state| state.workers > 0, deadline);
        state.workers == 0
    }
}

/// Runs a handler; a panic in it ends nothing but the request. All state behind the view is
/// consistent at each of its lock releases, so going on after an unwind is sound.
fn guarded(job: Job) {
    if catch_unwind(AssertUnwindSafe(job)).is_err() {
        tracing::error!("a request of the overlay panicked and was answered with EIO");
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    #[test]
    fn lanes_do_not_wait_for_each_other_and_survive_a_panic() {
        let lanes = Lanes::start().unwrap();
        let (release, blocked) = channel::<()>();
        let blocked = Arc::new(Mutex::new(blocked));
        for _ in 0..WORKERS {
            let blocked = Arc::clone(&blocked);
            lanes.run(
                Effort::Text,
                Box::new(move || assert!(blocked.lock().recv().is_err())),
            );
        }
        let (done, seen) = channel();
        for _ in 0..2 * WORKERS {
            lanes.run(Effort::Answer, Box::new(|| panic!("a handler that panics")));
        }
        lanes.run(Effort::Answer, Box::new(move || done.send(()).unwrap()));
        seen.recv_timeout(Duration::from_secs(20))
            .expect("answers go on while texts wait");
        assert!(
            !lanes.close(Duration::from_millis(1)),
            "texts are still waiting"
        );
        drop(release);
        assert!(lanes.close(Duration::from_secs(20)), "all threads end");
    }
}
