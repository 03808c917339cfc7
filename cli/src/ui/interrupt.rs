//! Ctrl-C while something on the screen has to go first.
//!
//! By itself Ctrl-C ends the process where it stands. While a pager runs it is for the pager, and
//! while progress is drawn the line is wiped away before. Handlers stay once they are there, so
//! there is one for all, and a flag that says whether it does what the system would have done.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::SIGINT;
use signal_hook::{flag, low_level};

static INTERRUPT: OnceLock<Option<Interrupt>> = OnceLock::new();

#[derive(Debug)]
struct Interrupt {
    /// Ctrl-C ends the process.
    ends: Arc<AtomicBool>,
    /// It was pressed while it did not.
    heard: Arc<AtomicBool>,
}

impl Interrupt {
    /// `None` if the system takes no handler: then Ctrl-C goes on to end the process.
    fn installed() -> Option<&'static Self> {
        let install = || {
            let (ends, heard) = (Arc::default(), Arc::default());
            flag::register_conditional_default(SIGINT, Arc::clone(&ends)).ok()?;
            flag::register(SIGINT, Arc::clone(&heard)).ok()?;
            Some(Self { ends, heard })
        };
        INTERRUPT.get_or_init(install).as_ref()
    }
}

/// From here on Ctrl-C is only remembered.
pub(super) fn hold() {
    if let Some(interrupt) = Interrupt::installed() {
        interrupt.ends.store(false, Ordering::SeqCst);
    }
}

/// From here on Ctrl-C ends the process again, and at once if it was pressed meanwhile.
pub(super) fn release() {
    if let Some(interrupt) = Interrupt::installed() {
        interrupt.ends.store(true, Ordering::SeqCst);
        if was_pressed() {
            // Cannot fail for a signal that there is; if it did, the work would go on.
            low_level::emulate_default_handler(SIGINT).unwrap_or_default();
        }
    }
}

/// Whether Ctrl-C was pressed while it was held.
pub(super) fn was_pressed() -> bool {
    let interrupt = Interrupt::installed();
    interrupt.is_some_and(|interrupt| interrupt.heard.load(Ordering::SeqCst))
}
