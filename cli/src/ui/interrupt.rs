//! Handles Ctrl-C while a progress line must be wiped first, or while a pager runs.
//!
//! By default, Ctrl-C ends the process at once. While a pager runs, Ctrl-C is meant for the pager.
//! While progress is drawn, the progress line must be wiped before the process ends. A handler
//! cannot be removed. So one handler serves both cases, and a flag turns the default action on
//! again.

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
    /// Installs the handler. Returns `None` if the system refuses; then Ctrl-C still ends the
    /// process at once.
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

/// Makes Ctrl-C only set a flag, until [`release`] is called.
pub(super) fn hold() {
    if let Some(interrupt) = Interrupt::installed() {
        interrupt.ends.store(false, Ordering::SeqCst);
    }
}

/// Makes Ctrl-C end the process again. If it was pressed since [`hold`], the process ends now.
pub(super) fn release() {
    if let Some(interrupt) = Interrupt::installed() {
        interrupt.ends.store(true, Ordering::SeqCst);
        if was_pressed() {
            // This cannot fail for a valid signal. If it did, the process would just go on.
            low_level::emulate_default_handler(SIGINT).unwrap_or_default();
        }
    }
}

/// Returns whether Ctrl-C was pressed after [`hold`] was called.
pub(super) fn was_pressed() -> bool {
    let interrupt = Interrupt::installed();
    interrupt.is_some_and(|interrupt| interrupt.heard.load(Ordering::SeqCst))
}
