//! Runs work so that other threads of Python can run meanwhile, and Ctrl-C ends it.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use parking_lot::Mutex;
use pyo3::prelude::*;
use resemble_core::StopFlag;
use resemble_relate::AskError;

use crate::error;

/// The interval at which signals are checked.
const PAUSE: Duration = Duration::from_millis(50);

/// Does work in another thread, without holding the lock of the interpreter. If the handler of a
/// signal raises an exception, a flag is set. The work checks that flag and ends.
pub(crate) fn interruptibly<T: Send>(
    py: Python<'_>,
    work: impl FnOnce(&StopFlag) -> Result<T, AskError> + Send,
) -> PyResult<T> {
    let stop = StopFlag::default();
    thread::scope(|scope| {
        let (done, waiting) = sync_channel::<()>(0);
        let worker = scope.spawn(|| {
            let result = work(&stop);
            drop(done);
            result
        });
        let waiting = Mutex::new(waiting);
        let is_working = || waiting.lock().recv_timeout(PAUSE) == Err(RecvTimeoutError::Timeout);
        let mut signal = Ok(());
        while py.detach(is_working) {
            if signal.is_ok() {
                signal = py.check_signals();
                if signal.is_err() {
                    stop.set();
                }
            }
        }
        let result = py.detach(|| worker.join());
        signal?;
        result
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
            .map_err(error)
    })
}
