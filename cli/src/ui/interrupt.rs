//! Handles Ctrl-C while a line must be wiped first, or while a pager runs.
//!
//! By default Ctrl-C ends the process at once. While a pager runs, Ctrl-C is for the pager. While
//! progress is drawn, its line is wiped first. A handler cannot be removed. So one handler serves
//! both cases, and a flag turns the default action on again.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use signal_hook::consts::SIGINT;
use signal_hook::{flag, low_level};

static INTERRUPT: OnceLock<Option<Interrupt>> = OnceLock::new();

#[derive(Debug)]
struct Interrupt {
    /// True if Ctrl-C ends the process.
    ends: Arc<AtomicBool>,
    /// True if Ctrl-C was pressed.
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

/// Makes Ctrl-C only set a flag, until [`release`].
pub(super) fn hold() {
    if let Some(interrupt) = Interrupt::installed() {
        interrupt.ends.store(false, Ordering::SeqCst);
    }
}

/// Makes Ctrl-C end the process again. If it was pressed meanwhile, the process ends now.
pub(super) fn release() {
    if let Some(interrupt) = Interrupt::installed() {
        interrupt.ends.store(true, Ordering::SeqCst);
        if was_pressed() {
            // For a valid signal this cannot fail. If it did, the work would continue.
            low_level::emulate_default_handler(SIGINT).unwrap_or_default();
        }
    }
}

/// Returns whether Ctrl-C was pressed after [`hold`].
pub(super) fn was_pressed() -> bool {
    let interrupt = Interrupt::installed();
    interrupt.is_some_and(|interrupt| interrupt.heard.load(Ordering::SeqCst))
}
