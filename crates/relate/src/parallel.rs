//! Work spread over the processor's cores, and how far it is.

use std::borrow::Cow;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Condvar, Mutex};

/// Numbers that a thread takes at a time where the work for each is short.
const BLOCK: usize = 32;

/// More threads than this only wait for memory.
const MOST: usize = 8;

/// How many threads work. The system is asked once: it reads half a dozen files to answer, which is
/// 2 % of a listing.
pub fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| {
        let known = std::thread::available_parallelism();
        known.map_or(1, usize::from).min(MOST)
    })
}

/// Runs the same work on several threads; what each returns, or a failure of one. A panic goes on
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

/// Does two things at the same time, the second on a thread of its own. A panic goes on in the
/// caller.
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

/// Calls `work` once for each of `0..count`, in no order, with a state of each thread's own, and
/// returns the states. The first failure ends it.
///
/// Whoever needs an order takes `ordered` or sorts what comes out: nothing of an answer may
/// depend on which thread did what.
pub fn in_parallel<S: Send, E: Send>(
    count: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(usize, &mut S) -> Result<(), E> + Sync,
) -> Result<Vec<S>, E> {
    in_blocks(threads(), BLOCK, count, state, work)
}

/// What `work` returns for each of `0..count`, in their order. Numbers are handed out one by one,
/// for work that may take long for some of them.
pub fn ordered<S: Send, T: Send, E: Send>(
    count: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(usize, &mut S) -> Result<T, E> + Sync,
) -> Result<Vec<T>, E> {
    ordered_on(threads(), count, state, work)
}

/// The same on at most so many threads.
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

/// How far a question is, for display: it is answered in steps one after the other, and a step goes
/// through so many things.
#[derive(Debug, Default)]
pub struct Steps {
    step: Mutex<RunningStep>,
    done: AtomicU64,
}

/// A step as it began.
#[derive(Clone, Debug, Default)]
struct RunningStep {
    number: u64,
    doing: Cow<'static, str>,
    all: u64,
}

/// A step under way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentStep {
    /// Its number, from 1: with another one, another step has begun.
    pub number: u64,
    /// What it does, for people.
    pub doing: Cow<'static, str>,
    /// Things that are done with.
    pub done: u64,
    /// All of them.
    pub all: u64,
}

impl CurrentStep {
    /// No step.
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
    /// The step under way; `None` between two, and in one that cannot say how long it is.
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

    /// Shows the step of work that another process does.
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
    /// Who watches the question that this thread asks. Questions know nothing of it; a step within
    /// a step is part of that.
    static WATCHED: RefCell<Option<Arc<Steps>>> = const { RefCell::new(None) };
    /// What the steps of this thread are called.
    static DOING: Cell<&'static str> = const { Cell::new("comparing") };
}

/// The name of the steps that `work` takes, for people.
pub fn named<T>(doing: &'static str, work: impl FnOnce() -> T) -> T {
    let before = DOING.replace(doing);
    let result = work();
    DOING.set(before);
    result
}

/// Asks a question while `steps` says how far it is.
pub fn watched<T>(steps: &Arc<Steps>, ask: impl FnOnce() -> T) -> T {
    let before = WATCHED.replace(Some(Arc::clone(steps)));
    let answer = ask();
    WATCHED.set(before);
    answer
}

/// Tells who watches this thread's question how far it is, if another process answers it.
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

/// Does work that goes through so many things, and says now and then how many more are done with.
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

/// Between two reports of progress.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(200);

/// Tasks that may make further tasks, on a stack from which several threads take them.
#[derive(Debug)]
pub struct Tasks<T> {
    stack: Mutex<TaskStack<T>>,
    changed: Condvar,
}

#[derive(Debug)]
struct TaskStack<T> {
    tasks: Vec<T>,
    /// How many were taken and are not done.
    busy: usize,
}

impl<T: Send> Tasks<T> {
    /// The last one is taken first.
    pub const fn new(tasks: Vec<T>) -> Self {
        Self {
            stack: Mutex::new(TaskStack { tasks, busy: 0 }),
            changed: Condvar::new(),
        }
    }

    /// The next task; `None` when all is done.
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

    /// Adds tasks, the last of which is taken first.
    pub fn give(&self, tasks: impl IntoIterator<Item = T>) {
        self.stack.lock().tasks.extend(tasks);
        self.changed.notify_all();
    }

    /// What each of several numbered workers, on a thread of its own, made of the tasks that it
    /// took. `report` is called now and then, and at the end. A panic goes on in the caller.
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

    /// Waits at most so long. `false` when there is nothing left to do.
    fn wait(&self, at_most: Duration) -> bool {
        let is_done = |stack: &TaskStack<T>| stack.tasks.is_empty() && stack.busy == 0;
        let mut stack = self.stack.lock();
        self.changed
            .wait_while_for(&mut stack, |stack| !is_done(stack), at_most);
        !is_done(&stack)
    }
}

/// A task that a thread works on. The others learn that it is done even if the thread panics.
#[derive(Debug)]
pub struct Taken<'a, T: Send> {
    task: Option<T>,
    tasks: &'a Tasks<T>,
}

impl<T: Send> Taken<'_, T> {
    /// The task, once.
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
        // Nobody watches any more.
        ordered(5, || (), |_, (): &mut ()| Ok::<_, ()>(())).unwrap();
        assert_eq!((steps.now(), steps.step.lock().number), (None, 2));
    }
}
