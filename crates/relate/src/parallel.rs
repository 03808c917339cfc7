//! Spreads work over several processor cores, and reports its progress.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// The number of items that a thread takes in one step if the work for each item is short.
const BLOCK: usize = 32;

/// The maximum number of threads. More threads would only wait for memory.
const MOST: usize = 8;

/// Returns the number of worker threads. The system is asked only once in a process. To answer, it
/// reads half a dozen files, which takes 2 % of the time of a listing.
pub fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        let known = std::thread::available_parallelism();
        known.map_or(1, usize::from).min(MOST)
    })
}

/// Runs `work` on several threads. Returns their results, or the failure of one of them. If a
/// thread panics, the panic is resumed in the caller.
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

/// Runs two closures at the same time, the second on a new thread. Returns both results. If the
/// second panics, the panic is resumed in the caller.
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

/// Calls `work` once for each number in `0..count`, in any order. Each thread has its own state.
/// Returns all states, or one failure. A failure ends the work.
///
/// Answers must not depend on how the work was divided among the threads. So callers that need an
/// order use [`ordered`] or sort the results.
pub fn in_parallel<S: Send, E: Send>(
    count: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(usize, &mut S) -> Result<(), E> + Sync,
) -> Result<Vec<S>, E> {
    in_blocks(threads(), BLOCK, count, state, work)
}

/// Returns the results of `work` for each number in `0..count`, in this order. Each thread takes
/// one number at a time, because the work for some numbers may be long.
pub fn ordered<S: Send, T: Send, E: Send>(
    count: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(usize, &mut S) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    ordered_on(threads(), count, state, work)
}

/// Does the same as [`ordered`], but on at most this many threads.
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

/// The progress of a question, for display. A question consists of steps, and each step has a
/// number of items.
#[derive(Debug, Default)]
pub struct Steps {
    step: Mutex<RunningStep>,
    done: AtomicU64,
}

/// The step that is running, without its progress.
#[derive(Clone, Debug, Default)]
struct RunningStep {
    number: u64,
    doing: Cow<'static, str>,
    all: u64,
}

/// The step that is running, with its progress.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentStep {
    /// The number of the step, counted from 1. A new number means that another step has begun.
    pub number: u64,
    /// The name of the step, for people.
    pub doing: Cow<'static, str>,
    /// The number of items that are done.
    pub done: u64,
    /// The number of all items.
    pub all: u64,
}

impl CurrentStep {
    /// Returns a step that has no items.
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
    /// Returns the step that is running. Returns `None` between two steps, and during a step of
    /// unknown length.
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

    /// Shows the progress of a step that another process runs.
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
    /// Receives the progress of the question that this thread asks. It is thread-local, so
    /// functions need no parameter for it. A step within a step reports no progress.
    static WATCHED: RefCell<Option<Arc<Steps>>> = const { RefCell::new(None) };
    /// The name of the steps that this thread begins.
    static DOING: Cell<&'static str> = const { Cell::new("comparing") };
}

/// Calls `work` and returns its result. The steps that `work` begins get this name, which is for
/// people.
pub fn named<T>(doing: &'static str, work: impl FnOnce() -> T) -> T {
    let before = DOING.replace(doing);
    let result = work();
    DOING.set(before);
    result
}

/// Returns the answer of `ask` to a question, and records its progress in `steps`.
pub fn watched<T>(steps: &Arc<Steps>, ask: impl FnOnce() -> T) -> T {
    let before = WATCHED.replace(Some(Arc::clone(steps)));
    let answer = ask();
    WATCHED.set(before);
    answer
}

/// Shows the progress of another process's step as the progress of this thread.
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

/// Runs `work` on `count` items as one step, and returns its result. `work` gets a function to
/// which it passes the number of items that it has done.
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

/// The time between two reports of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Tasks on a stack that several threads share. A task may add further tasks.
#[derive(Debug)]
pub struct Tasks<T> {
    stack: Mutex<TaskStack<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct TaskStack<T> {
    tasks: Vec<T>,
    /// The number of tasks that were taken and are not yet done.
    busy: usize,
}

impl<T: Send> Tasks<T> {
    /// Makes a stack of these tasks. The last task is taken first.
    pub const fn new(tasks: Vec<T>) -> Self {
        Self {
            stack: Mutex::new(TaskStack { tasks, busy: 0 }),
            changed: Condvar::new(),
        }
    }

    /// Takes the next task. If no task is left, waits until a running task adds one. Returns `None`
    /// when all tasks are done.
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

    /// Adds tasks. The last task is taken first.
    pub fn give(&self, tasks: impl IntoIterator<Item = T>) {
        self.stack.lock().tasks.extend(tasks);
        self.changed.notify_all();
    }

    /// Runs numbered workers, each on its own thread, and returns their results. `report` is called
    /// at intervals and at the end. If a worker panics, the panic is resumed in the caller.
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

    /// Waits at most this long for the end of all tasks. Returns whether some tasks are left.
    fn wait(&self, at_most: Duration) -> bool {
        let is_done = |stack: &TaskStack<T>| stack.tasks.is_empty() && stack.busy == 0;
        let mut stack = self.stack.lock();
        self.changed
            .wait_while_for(&mut stack, |stack| !is_done(stack), at_most);
        !is_done(&stack)
    }
}

/// A task that a thread works on. When it is dropped, even by a panic, the task counts as done.
#[derive(Debug)]
pub struct Taken<'a, T: Send> {
    task: Option<T>,
    tasks: &'a Tasks<T>,
}

impl<T: Send> Taken<'_, T> {
    /// Returns the task. Returns `None` if it was already returned.
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
        // No steps are recorded outside of `watched`.
        ordered(5, || (), |_, (): &mut ()| Ok::<_, ()>(())).unwrap();
        assert_eq!((steps.now(), steps.step.lock().number), (None, 2));
    }
}
