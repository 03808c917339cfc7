//! Handles Ctrl-C while something on the screen has to be removed first.
//!
//! By default Ctrl-C ends the process at once. While a pager runs, Ctrl-C is for the pager. While
//! progress is drawn, its line is wiped first. Handlers cannot be removed. So there is one handler
//! for both cases, and a flag that enables the default action.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::SIGINT;
use signal_hook::{flag, low_level};

static INTERRUPT: OnceLock<Option<Interrupt>> = OnceLock::new();

#[derive(Debug)]
struct Interrupt {
    /// True if Ctrl-C ends the process.
    ends: Arc<AtomicBool>,
    /// True if Ctrl-C was pressed while it did not end the program.
    heard: Arc<AtomicBool>,
}

impl Interrupt {
    /// Installs the handler; `None` if the system refuses. Then Ctrl-C still ends the process.
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

/// From now on Ctrl-C is only recorded.
pub(super) fn hold() {
    if let Some(interrupt) = Interrupt::installed() {
        interrupt.ends.store(false, Ordering::SeqCst);
    }
}

/// From now on Ctrl-C ends the process again, and at once if it was pressed meanwhile.
pub(super) fn release() {
    if let Some(interrupt) = Interrupt::installed() {
        interrupt.ends.store(true, Ordering::SeqCst);
        if was_pressed() {
            // This cannot fail for a valid signal; if it did, the work would continue.
            low_level::emulate_default_handler(SIGINT).unwrap_or_default();
        }
    }
}

/// Returns whether Ctrl-C was pressed while it was held.
pub(super) fn was_pressed() -> bool {
    let interrupt = Interrupt::installed();
    interrupt.is_some_and(|interrupt| interrupt.heard.load(Ordering::SeqCst))
}
