//! Progress on standard error, for work that takes more than a second.
//!
//! A thread of its own draws: reading reports figures a few times a second, but comparing, or
//! waiting for the daemon, reports nothing, and a line that stands still looks like a program that
//! hangs.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use resemble_report::human::{human_count, human_size};

/// Nothing is shown before this time: a line that appears and vanishes at once only flickers.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time between two redraws.
const PACE: Duration = Duration::from_millis(125);

/// A line that says what is going on. It is removed when this is dropped.
#[derive(Debug)]
pub struct Progress {
    message: Arc<Mutex<String>>,
    drawing: Option<(mpsc::Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    pub(super) fn new(what: &str, shown: bool) -> Self {
        let message = Arc::new(Mutex::new(what.to_owned()));
        let drawing = shown.then(|| {
            let (stop, stopped) = mpsc::channel();
            let message = Arc::clone(&message);
            (stop, std::thread::spawn(move || draw(&message, &stopped)))
        });
        Self { message, drawing }
    }

    /// Shows how many files were seen, and how many files and bytes were read.
    pub fn update(&mut self, seen: u64, read: u64, bytes: u64) {
        if self.drawing.is_some() {
            let (seen, read, bytes) = (human_count(seen), human_count(read), human_size(bytes));
            let text = format!("{seen} files, {read} read, {bytes}");
            *self.message.lock() = text;
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((stop, thread)) = self.drawing.take() {
            drop(stop);
            // If the thread panicked, it draws no more; nothing is left to be done.
            thread.join().unwrap_or_default();
        }
    }
}

/// Draws until the other end of `stopped` is dropped.
fn draw(message: &Mutex<String>, stopped: &mpsc::Receiver<()>) {
    let goes_on = |wait| stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout);
    if !goes_on(PATIENCE) {
        return;
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    // The template is a constant. If it were wrong, the plain spinner would do as well.
    if let Ok(style) = ProgressStyle::with_template("{spinner} {msg} ({elapsed})") {
        bar.set_style(style);
    }
    bar.set_elapsed(PATIENCE);
    loop {
        bar.set_message(message.lock().clone());
        bar.tick();
        if !goes_on(PACE) {
            return bar.finish_and_clear();
        }
    }
}
