//! Worker threads, so that a slow answer holds up nobody but its asker.
//!
//! There are two pools, divided by how long a job may take: answers of the index (milliseconds) and
//! texts that read whole files (seconds). Four texts being computed therefore delay the fifth text,
//! and nothing else.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use crossbeam_channel::{Receiver, RecvTimeoutError, Sender, bounded, unbounded};
use parking_lot::Mutex;

use crate::view::Effort;

/// Threads of each pool.
const WORKERS: usize = 4;
pub(crate) type Job = Box<dyn FnOnce() + Send>;

/// The worker threads, divided by how long a job may take.
pub(crate) struct Lanes {
    answers: Pool,
    texts: Pool,
}

struct Pool {
    /// `None` when it is closed.
    jobs: Mutex<Option<Sender<Job>>>,
    waiting: Receiver<Job>,
    /// Disconnected when all workers have ended.
    working: Receiver<()>,
}

impl Lanes {
    /// Starts the threads.
    pub(crate) fn start() -> io::Result<Self> {
        Ok(Self {
            answers: Pool::start("overlay-answer")?,
            texts: Pool::start("overlay-text")?,
        })
    }

    /// Drops the jobs that wait, ends the threads, and waits for them for at most `patience`.
    /// Returns whether all have ended.
    pub(crate) fn close(&self, patience: Duration) -> bool {
        let deadline = Instant::now() + patience;
        let pools = [&self.answers, &self.texts];
        pools.into_iter().for_each(Pool::close);
        pools.into_iter().all(|pool| pool.has_ended(deadline))
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
    fn start(name: &str) -> io::Result<Self> {
        let (jobs, waiting) = unbounded::<Job>();
        let (alive, working) = bounded(0);
        for _ in 0..WORKERS {
            let (waiting, alive): (Receiver<Job>, Sender<()>) = (waiting.clone(), alive.clone());
            std::thread::Builder::new()
                .name(name.to_owned())
                .spawn(move || {
                    waiting.iter().for_each(guarded);
                    drop(alive);
                })?;
        }
        Ok(Self {
            jobs: Mutex::new(Some(jobs)),
            waiting,
            working,
        })
    }

    /// A job that comes after the end is dropped, and its reply with it.
    fn push(&self, job: Job) {
        if let Some(jobs) = &*self.jobs.lock() {
            // This cannot fail: `waiting` is a receiver.
            jobs.send(job).unwrap_or_default();
        }
    }

    fn close(&self) {
        drop(self.jobs.lock().take());
        self.waiting.try_iter().for_each(drop);
    }

    fn has_ended(&self, deadline: Instant) -> bool {
        self.working.recv_deadline(deadline) == Err(RecvTimeoutError::Disconnected)
    }
}

/// Runs a handler; a panic in it ends nothing but the request. All state behind the view is
/// consistent whenever one of its locks is released, so it is sound to go on after an unwind.
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
