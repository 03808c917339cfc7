//! A flag that ends work early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// Asks a running reconcile, reads of large files included, to end early. Clones are one flag.
#[derive(Clone, Debug, Default)]
pub struct StopFlag {
    own: Arc<AtomicBool>,
    above: Option<Arc<AtomicBool>>,
}

impl StopFlag {
    /// Ends what runs now, and everything later until [`Self::clear`].
    pub fn set(&self) {
        self.own.store(true, Ordering::Relaxed);
    }

    /// Allows work again.
    pub fn clear(&self) {
        self.own.store(false, Ordering::Relaxed);
    }

    /// Whether to end.
    pub fn is_set(&self) -> bool {
        let set = |flag: &AtomicBool| flag.load(Ordering::Relaxed);
        set(&self.own) || self.above.as_deref().is_some_and(set)
    }

    /// A flag that is set when this one is, and can be set apart from it.
    pub(crate) fn child(&self) -> Self {
        Self {
            own: Arc::default(),
            above: Some(Arc::clone(&self.own)),
        }
    }
}
