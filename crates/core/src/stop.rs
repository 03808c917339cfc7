//! Asks running work to end early.
//!
//! Long work checks a flag regularly: before a file is read, between two pieces of a large file,
//! and at each read of the index. The flag is only a request. Work that finds the flag set returns
//! the result so far, or an error that says that the work was stopped.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A request to end work early. Clones share one flag.
#[derive(Clone, Debug, Default)]
pub struct StopFlag {
    own: Arc<AtomicBool>,
    above: Option<Arc<AtomicBool>>,
}

impl StopFlag {
    /// Requests the end of all current and later work, until [`Self::clear`].
    pub fn set(&self) {
        self.own.store(true, Ordering::Relaxed);
    }

    /// Withdraws the request; a request of a parent flag remains.
    pub fn clear(&self) {
        self.own.store(false, Ordering::Relaxed);
    }

    /// Returns whether the work must end.
    pub fn is_set(&self) -> bool {
        let set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        set(&self.own) || self.above.as_deref().is_some_and(set)
    }

    /// Returns an error if the flag is set, so that a loop can end with `?`.
    pub fn go_on(&self) -> Result<(), Stopped> {
        if self.is_set() { Err(Stopped) } else { Ok(()) }
    }

    /// Returns a child flag. The child is set while this flag itself is set, and can also be set
    /// alone. A parent of this flag has no effect on the child.
    #[must_use]
    pub fn child(&self) -> Self {
        Self {
            own: Arc::default(),
            above: Some(Arc::clone(&self.own)),
        }
    }
}

/// Work ended early because its [`StopFlag`] was set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stopped;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_child_hears_its_parent_and_not_the_other_way_round() {
        let parent = StopFlag::default();
        let (child, clone) = (parent.child(), parent.clone());
        child.set();
        assert!(child.is_set() && !parent.is_set());
        child.clear();
        parent.set();
        assert!(child.is_set() && clone.is_set());
        assert_eq!(child.go_on(), Err(Stopped));
    }
}
