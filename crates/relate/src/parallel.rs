//! Spreads work over the processor's cores, and reports its progress.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Numbers that a thread takes at once if the work for each is short.
const BLOCK: usize = 32;

/// The maximum number of threads; more would only wait for memory.
const MOST: usize = 8;

/// Returns the number of worker threads. The system is asked only once: it reads half a dozen files
/// for the answer, which takes 2 % of the time of a listing.
pub fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        let known = std::thread::available_parallelism();
        known.map_or(1, usize::from).min(MOST)
    })
}

/// Runs `work` on several threads; returns their results, or the failure of one. A panic is resumed
/// in the caller.
pub fn on_threads<S: Send, E: Send>(
    threads: usize,
    work: impl Fn() -> Result<S, E> + Sync,
) -> Result<Vec<S>, E> {
    if threads <= 1 {
        return Ok(vec![work()?]);
    }
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(&work)).collect();
        let mut states = Vec::new();
        let mut failure = None;
        for worker in workers {
            match worker.join() {
                Ok(Ok(state)) => states.push(state),
                Ok(Err(error)) => failure = Some(error),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        failure.map_or(Ok(states), Err)
    })
}

/// Runs two closures at once, the second on a thread of its own. A panic is resumed in the caller.
pub fn both<A, B: Send>(a: impl FnOnce() -> A, b: impl FnOnce() -> B + Send) -> (A, B) {
    std::thread::scope(|scope| {
        let b = scope.spawn(b);
        let a = a();
        match b.join() {
            Ok(b) => (a, b),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Calls `work` once for each of `0..count`, in any order. Each thread has a state of its own.
/// Returns the states, or the first failure, which ends the work.
///
/// No answer may depend on which thread did what. So callers that need an order use [`ordered`] or
/// sort the results.
pub fn in_parallel<S: Send, E: Send>(
    count: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(usize, &mut S) -> Result<(), E> + Sync,
) -> Result<Vec<S>, E> {
    in_blocks(threads(), BLOCK, count, state, work)
}

/// Returns the results of `work` for `0..count`, in this order. Each thread takes one number at a
/// time, since the work for some may be long.
pub fn ordered<S: Send, T: Send, E: Send>(
    count: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(usize, &mut S) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    ordered_on(threads(), count, state, work)
}

/// Like [`ordered`], on at most this many threads.
pub fn ordered_on<S: Send, T: Send, E: Send>(
    threads: usize,
    count: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(usize, &mut S) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    let parts = in_blocks(
        threads,
        1,
        count,
        || (state(), Vec::new()),
        |at, (state, done)| {
            done.push((at, work(at, state)?));
            Ok(())
        },
    )?;
    let mut all: Vec<(usize, T)> = parts.into_iter().flat_map(|(_, done)| done).collect();
    all.sort_unstable_by_key(|&(at, _)| at);
    Ok(all.into_iter().map(|(_, result)| result).collect())
}

/// Progress of a question, for display. A question runs in steps, and each step has a number of
/// items.
#[derive(Debug, Default)]
pub struct Steps {
    step: Mutex<RunningStep>,
    done: AtomicU64,
}

/// The step under way, without its progress.
#[derive(Clone, Debug, Default)]
struct RunningStep {
    number: u64,
    doing: Cow<'static, str>,
    all: u64,
}

/// A step under way, with its progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentStep {
    /// Number of the step, from 1; it changes when another step begins.
    pub number: u64,
    /// Name of the step, for people.
    pub doing: Cow<'static, str>,
    /// Number of items done.
    pub done: u64,
    /// Number of all items.
    pub all: u64,
}

impl CurrentStep {
    /// Returns a step without items.
    pub const fn none() -> Self {
        Self {
            number: 0,
            doing: Cow::Borrowed(""),
            done: 0,
            all: 0,
        }
    }
}

impl Steps {
    /// Returns the step under way; `None` between two steps, and in a step of unknown length.
    pub fn now(&self) -> Option<CurrentStep> {
        let step = self.step.lock();
        let step = CurrentStep {
            number: step.number,
            doing: step.doing.clone(),
            done: self.done.load(Ordering::Relaxed),
            all: step.all,
        };
        (step.all > 0 && step.done <= step.all).then_some(step)
    }

    /// Shows a step of another process.
    pub fn relay(&self, now: CurrentStep) {
        let mut step = self.step.lock();
        self.done.store(now.done, Ordering::Relaxed);
        *step = RunningStep {
            number: now.number,
            doing: now.doing,
            all: now.all,
        };
    }

    fn begin(&self, doing: &'static str, all: usize) {
        let mut step = self.step.lock();
        self.done.store(0, Ordering::Relaxed);
        step.number += 1;
        step.doing = Cow::Borrowed(doing);
        step.all = all as u64;
    }

    fn end(&self) {
        self.step.lock().all = 0;
    }
}

thread_local! {
    /// Receives the progress of the question that this thread asks, so that it need not be a
    /// parameter of every function. A step within a step reports nothing.
    static WATCHED: RefCell<Option<Arc<Steps>>> = const { RefCell::new(None) };
    /// The name of this thread's steps.
    static DOING: Cell<&'static str> = const { Cell::new("comparing") };
}

/// Names the steps of `work`, for people.
pub fn named<T>(doing: &'static str, work: impl FnOnce() -> T) -> T {
    let before = DOING.replace(doing);
    let result = work();
    DOING.set(before);
    result
}

/// Asks a question whose progress `steps` records.
pub fn watched<T>(steps: &Arc<Steps>, ask: impl FnOnce() -> T) -> T {
    let before = WATCHED.replace(Some(Arc::clone(steps)));
    let answer = ask();
    WATCHED.set(before);
    answer
}

/// Shows a step of another process as this thread's progress.
pub fn relay(now: CurrentStep) {
    WATCHED.with_borrow(|steps| {
        if let Some(steps) = steps {
            steps.relay(now);
        }
    });
}

fn in_blocks<S: Send, E: Send>(
    threads: usize,
    block: usize,
    count: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(usize, &mut S) -> Result<(), E> + Sync,
) -> Result<Vec<S>, E> {
    in_a_step(count, |done| {
        in_blocks_of(threads, block, count, state, work, done)
    })
}

/// Runs work on `count` items as a step. `work` gets a callback that adds to the items done.
pub fn in_a_step<T>(count: usize, work: impl FnOnce(&(dyn Fn(usize) + Sync)) -> T) -> T {
    let Some(steps) = WATCHED.take() else {
        return work(&|_| ());
    };
    steps.begin(DOING.get(), count);
    let result = work(&|done| {
        steps.done.fetch_add(done as u64, Ordering::Relaxed);
    });
    steps.end();
    WATCHED.set(Some(steps));
    result
}

fn in_blocks_of<S: Send, E: Send>(
    threads: usize,
    block: usize,
    count: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(usize, &mut S) -> Result<(), E> + Sync,
    tell: &(dyn Fn(usize) + Sync),
) -> Result<Vec<S>, E> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let worker = || {
        let mut state = state();
        while !failed.load(Ordering::Relaxed) {
            let from = next.fetch_add(block, Ordering::Relaxed);
            if from >= count {
                break;
            }
            let to = count.min(from + block);
            for at in from..to {
                if let Err(error) = work(at, &mut state) {
                    failed.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
            tell(to - from);
        }
        Ok(state)
    };
    on_threads(threads.min(count.div_ceil(block)), worker)
}

/// Time between two reports of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Tasks that may add further tasks, on a stack that several threads share.
#[derive(Debug)]
pub struct Tasks<T> {
    stack: Mutex<TaskStack<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct TaskStack<T> {
    tasks: Vec<T>,
    /// Number of tasks that were taken and are not done.
    busy: usize,
}

impl<T: Send> Tasks<T> {
    /// Starts with these tasks; the last one is taken first.
    pub const fn new(tasks: Vec<T>) -> Self {
        Self {
            stack: Mutex::new(TaskStack { tasks, busy: 0 }),
            changed: Condvar::new(),
        }
    }

    /// Takes the next task; waits for running tasks, and returns `None` when all are done.
    pub fn take(&self) -> Option<Taken<'_, T>> {
        let mut stack = self.stack.lock();
        loop {
            if let Some(task) = stack.tasks.pop() {
                stack.busy += 1;
                return Some(Taken {
                    task: Some(task),
                    tasks: self,
                });
            }
            if stack.busy == 0 {
                return None;
            }
            self.changed.wait(&mut stack);
        }
    }

    /// Adds tasks; the last one is taken first.
    pub fn give(&self, tasks: impl IntoIterator<Item = T>) {
        self.stack.lock().tasks.extend(tasks);
        self.changed.notify_all();
    }

    /// Runs numbered workers, each on a thread of its own; returns their results. `report` is
    /// called at intervals, and at the end. A panic is resumed in the caller.
    pub fn work<S: Send>(
        &self,
        worker: impl Fn(u32) -> S + Sync,
        mut report: impl FnMut(),
    ) -> Vec<S> {
        let done = std::thread::scope(|scope| {
            let worker = &worker;
            let numbers = 0..threads() as u32;
            let workers: Vec<_> = numbers
                .map(|number| scope.spawn(move || worker(number)))
                .collect();
            while self.wait(PROGRESS_INTERVAL) {
                report();
            }
            let joined = workers.into_iter().map(|worker| {
                let joined = worker.join();
                joined.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            });
            joined.collect()
        });
        report();
        done
    }

    /// Waits at most this long; returns whether tasks are left.
    fn wait(&self, at_most: Duration) -> bool {
        let is_done = |stack: &TaskStack<T>| stack.tasks.is_empty() && stack.busy == 0;
        let mut stack = self.stack.lock();
        self.changed
            .wait_while_for(&mut stack, |stack| !is_done(stack), at_most);
        !is_done(&stack)
    }
}

/// A task that a thread works on. Dropping it, even in a panic, marks the task as done.
#[derive(Debug)]
pub struct Taken<'a, T: Send> {
    task: Option<T>,
    tasks: &'a Tasks<T>,
}

impl<T: Send> Taken<'_, T> {
    /// Returns the task; `None` if it was taken already.
    pub const fn task(&mut self) -> Option<T> {
        self.task.take()
    }
}

impl<T: Send> Drop for Taken<'_, T> {
    fn drop(&mut self) {
        self.tasks.stack.lock().busy -= 1;
        self.tasks.changed.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn who_watches_a_question_sees_its_steps() {
        let steps = Arc::new(Steps::default());
        assert_eq!(steps.now(), None);
        let seen = watched(&steps, || {
            let inner = |_: usize, (): &mut ()| Ok::<_, ()>(steps.now());
            let outer = |_: usize, (): &mut ()| ordered(50, || (), inner);
            let first = ordered(10, || (), outer).unwrap();
            assert_eq!(steps.now(), None, "between two steps");
            let second = || ordered(20, || (), inner).unwrap();
            [first.concat(), named("grouping", second)]
        });
        let first = (1, "comparing", 10, &seen[0]);
        let second = (2, "grouping", 20, &seen[1]);
        for (number, doing, all, seen) in [first, second] {
            for step in seen {
                let step = step.as_ref().expect("a step is under way");
                assert_eq!(
                    (step.number, &*step.doing, step.all),
                    (number, doing, all),
                    "a step within is none"
                );
                assert!(step.done < all);
            }
        }
        // Outside of `watched`, steps are not recorded.
        ordered(5, || (), |_, (): &mut ()| Ok::<_, ()>(())).unwrap();
        assert_eq!((steps.now(), steps.step.lock().number), (None, 2));
    }
}
