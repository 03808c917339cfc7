//! Work on many numbered things, spread over the processor's cores.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use crate::ask::AskError;

/// Things taken at a time.
const BLOCK: usize = 32;

/// More threads than this only wait for memory.
const MOST: usize = 8;

/// How many threads work.
pub(crate) fn threads() -> usize {
    std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(MOST)
}

/// Calls `work` once for each of `0..count`, in no order, with a state of each thread's own, and returns
/// the states. The first failure ends it.
///
/// Whoever needs an order sorts what comes out: nothing of an answer may depend on who worked on what.
pub(crate) fn in_parallel<S: Send>(
    count: usize,
    state: impl Fn() -> S + Sync,
    work: impl Fn(usize, &mut S) -> Result<(), AskError> + Sync,
) -> Result<Vec<S>, AskError> {
    let next = AtomicUsize::new(0);
    let failed = AtomicBool::new(false);
    let worker = || {
        let mut state = state();
        while !failed.load(Ordering::Relaxed) {
            let from = next.fetch_add(BLOCK, Ordering::Relaxed);
            if from >= count {
                break;
            }
            for at in from..count.min(from + BLOCK) {
                if let Err(error) = work(at, &mut state) {
                    failed.store(true, Ordering::Relaxed);
                    return Err(error);
                }
            }
        }
        Ok(state)
    };
    if count <= BLOCK {
        return worker().map(|state| vec![state]);
    }
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads()).map(|_| scope.spawn(worker)).collect();
        let mut states = vec![worker()];
        for other in others {
            states.push(
                other
                    .join()
                    .unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
            );
        }
        states.into_iter().collect()
    })
}
