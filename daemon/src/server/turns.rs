//! Limits how many answers and how many questions are in progress, in total and for each client.
//!
//! Each request takes one slot. In a daemon of one user, a process may take all slots. In system
//! mode, an account may take at most a quarter of the slots for answers, and a quarter of the slots
//! for questions.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore, TryAcquireError};

/// A number of slots, of which each client may have a limited number.
#[derive(Debug)]
pub(super) struct FairShare {
    all: Arc<Semaphore>,
    each: usize,
    of_each: Mutex<HashMap<i64, Arc<Semaphore>>>,
}

/// A slot in use. Dropping it frees the slot.
#[derive(Debug)]
pub(super) struct Turn {
    // Fields are dropped in this order, so the common slot is released first.
    _of_all: OwnedSemaphorePermit,
    _own: OwnedSemaphorePermit,
}

impl FairShare {
    pub(super) fn new(all: usize, each: usize) -> Self {
        Self {
            all: Arc::new(Semaphore::new(all)),
            each,
            of_each: Mutex::default(),
        }
    }

    /// Returns the number of free slots.
    pub(super) fn free(&self) -> usize {
        self.all.available_permits()
    }

    fn own(&self, one: i64) -> Arc<Semaphore> {
        let mut of_each = self.of_each.lock();
        // A client without slots in use needs no entry.
        if of_each.len() > 1024 {
            of_each.retain(|_, own| Arc::strong_count(own) > 1);
        }
        let own = of_each
            .entry(one)
            .or_insert_with(|| Arc::new(Semaphore::new(self.each)));
        Arc::clone(own)
    }

    /// Returns a slot for this client; fails if none is free for it now.
    pub(super) fn try_take(&self, one: i64) -> Result<Turn, TryAcquireError> {
        let own = self.own(one).try_acquire_owned()?;
        let of_all = Arc::clone(&self.all).try_acquire_owned()?;
        Ok(Turn {
            _of_all: of_all,
            _own: own,
        })
    }

    /// Waits for a slot. A client with many requests first waits for a free slot of its own, and
    /// then for a common slot. So the client does not delay other clients. Returns `None` only if
    /// the slots are closed, which does not happen.
    pub(super) async fn take(&self, one: i64) -> Option<Turn> {
        let own = self.own(one).acquire_owned().await.ok()?;
        let of_all = Arc::clone(&self.all).acquire_owned().await.ok()?;
        Some(Turn {
            _of_all: of_all,
            _own: own,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_takes_all_places() {
        let turns = FairShare::new(8, 2);
        let of_one: Vec<_> = (0..100).filter_map(|_| turns.try_take(1).ok()).collect();
        assert_eq!((of_one.len(), turns.free()), (2, 6));
        let of_another: Vec<_> = (0..100).filter_map(|_| turns.try_take(2).ok()).collect();
        assert_eq!(of_another.len(), 2);
        drop(of_one);
        assert!(turns.try_take(1).is_ok());
        let many: Vec<_> = (3..100)
            .filter_map(|one| turns.try_take(one).ok())
            .collect();
        assert_eq!((many.len(), turns.free()), (6, 0));
        drop((many, of_another));
        assert_eq!(turns.free(), 8);
    }

    #[test]
    fn who_waits_for_many_lets_others_pass() {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .build()
            .unwrap();
        runtime.block_on(async {
            let turns = FairShare::new(4, 2);
            let held = [turns.take(1).await, turns.take(1).await];
            let waiting = turns.take(1);
            tokio::pin!(waiting);
            let is_waiting = std::future::poll_fn(|context| {
                std::task::Poll::Ready(waiting.as_mut().poll(context).is_pending())
            });
            assert!(is_waiting.await);
            assert!(turns.take(2).await.is_some());
            drop(held);
            assert!(waiting.await.is_some());
        });
    }
}
