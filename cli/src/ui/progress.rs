//! Progress on standard error, for work that takes more than a second.
//!
//! A thread of its own draws: reading reports figures a few times a second, but comparing, or
//! waiting for the daemon, reports nothing, and a line that stands still looks like a program that
//! hangs. Another one counts what there is to look at, so that the line can say how much is left;
//! it begins when the line does, as what takes less than a second needs no such figure.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use resemble_query::parallel::{CurrentStep, Steps};
use resemble_report::human::{human_count, human_size};
use resemble_scan::ingest::Amount;
use resemble_scan::tally::Tally;

/// Nothing is shown before this time: a line that appears and vanishes at once only flickers.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time between two redraws.
const PACE: Duration = Duration::from_millis(125);
/// A file costs as much as so many of its bytes, besides these.
const BYTES_OF_A_FILE: u64 = 16 << 10;
/// With less of the work done, nothing is said of the time left.
const ENOUGH: f64 = 0.03;

/// A line that says what is going on. It is removed when this is dropped.
#[derive(Debug)]
pub struct Progress {
    state: Arc<State>,
    drawing: Option<(mpsc::Sender<()>, JoinHandle<()>)>,
}

#[derive(Debug)]
struct State {
    what: String,
    began: Instant,
    /// What is done, and all that is to do, if whoever works knows that.
    figures: Mutex<Option<(Amount, Option<Amount>)>>,
    /// Where the work is, and how much there is.
    paths: Vec<PathBuf>,
    tally: Tally,
    /// How far a question is that is asked meanwhile.
    steps: Arc<Steps>,
    /// The step that was drawn last, and when it was first.
    drawn: Mutex<Option<(u64, Instant)>>,
}

impl State {
    fn line(&self) -> String {
        if let Some(step) = self.steps.now() {
            let mut drawn = self.drawn.lock();
            let began = match *drawn {
                Some((number, began)) if number == step.number => began,
                _ => Instant::now(),
            };
            *drawn = Some((step.number, began));
            return step_line(step, began.elapsed());
        }
        match *self.figures.lock() {
            None => self.what.clone(),
            Some((done, all)) => line(
                done,
                all.or_else(|| self.tally.total()),
                self.began.elapsed(),
            ),
        }
    }
}

impl Progress {
    /// `paths`: what there is at and below them is all that there is to do.
    pub(super) fn new(what: &str, paths: Vec<PathBuf>, shown: bool) -> Self {
        let state = Arc::new(State {
            what: what.to_owned(),
            began: Instant::now(),
            figures: Mutex::default(),
            paths,
            tally: Tally::default(),
            steps: Arc::default(),
            drawn: Mutex::default(),
        });
        let drawing = shown.then(|| {
            let (stop, stopped) = mpsc::channel();
            let state = Arc::clone(&state);
            (stop, std::thread::spawn(move || draw(&state, &stopped)))
        });
        Self { state, drawing }
    }

    /// Shows how far the question is that these are the steps of, while it is asked.
    pub fn steps(&self) -> Arc<Steps> {
        Arc::clone(&self.state.steps)
    }

    /// Shows how much is done, of how much if that is known.
    pub fn update(&mut self, done: Amount, all: Option<Amount>) {
        *self.state.figures.lock() = Some((done, all));
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.state.tally.stop();
        if let Some((stop, thread)) = self.drawing.take() {
            drop(stop);
            // If the thread panicked, it draws no more; nothing is left to be done.
            thread.join().unwrap_or_default();
        }
    }
}

/// Draws until the other end of `stopped` is dropped.
fn draw(state: &State, stopped: &mpsc::Receiver<()>) {
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
    std::thread::scope(|scope| {
        if !state.paths.is_empty() {
            scope.spawn(|| state.tally.count(&state.paths));
        }
        loop {
            bar.set_message(state.line());
            bar.tick();
            if !goes_on(PACE) {
                return bar.finish_and_clear();
            }
        }
    });
}

/// What is done of all, and the time left at the pace so far.
fn line(done: Amount, all: Option<Amount>, elapsed: Duration) -> String {
    // Files that came meanwhile: there is no telling how many more will.
    let all = all.filter(|all| done.files <= all.files && done.bytes <= all.bytes);
    let Some(all) = all else {
        let (files, bytes) = (human_count(done.files), human_size(done.bytes));
        return format!("{files} files, {bytes}");
    };
    let files = format!(
        "{} of {} files",
        human_count(done.files),
        human_count(all.files)
    );
    let mut parts = vec![files];
    if all.bytes > 0 {
        let (done, all) = (human_size(done.bytes), human_size(all.bytes));
        parts.push(format!("{done} of {all}"));
    }
    let work = |amount: Amount| (amount.bytes + amount.files * BYTES_OF_A_FILE) as f64;
    parts.extend(left(work(done) / work(all).max(1.0), elapsed));
    parts.join(", ")
}

/// What is done of a step, and the time left of it.
fn step_line(step: CurrentStep, elapsed: Duration) -> String {
    let (done, all) = (human_count(step.done), human_count(step.all));
    let mut parts = vec![format!("comparing: {done} of {all}")];
    parts.extend(left(step.done as f64 / step.all as f64, elapsed));
    parts.join(", ")
}

/// The time left at the pace so far, if enough is done to say it.
fn left(share: f64, elapsed: Duration) -> Option<String> {
    let left = || elapsed.mul_f64(((1.0 - share) / share).max(0.0));
    (share >= ENOUGH).then(|| format!("{} left", rough(left())))
}

/// A time as a person says it.
fn rough(time: Duration) -> String {
    let seconds = time.as_secs_f64().ceil() as u64;
    match (seconds.div_ceil(60), seconds) {
        (_, 0..90) => format!("{seconds} s"),
        (minutes @ 0..90, _) => format!("{minutes} min"),
        (minutes, _) => format!("{} h {} min", minutes / 60, minutes % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_totals_and_the_time_left_as_soon_as_they_are_known() {
        let amount = |files, mib: u64| Amount {
            files,
            bytes: mib << 20,
        };
        let line = |done, all| line(done, all, Duration::from_secs(10));
        assert_eq!(line(amount(1200, 10), None), "1,200 files, 10 MiB");
        assert_eq!(
            line(amount(1200, 10), Some(amount(2400, 20))),
            "1,200 of 2,400 files, 10 MiB of 20 MiB, 10 s left"
        );
        assert_eq!(
            line(amount(10, 0), Some(amount(2400, 20))),
            "10 of 2,400 files, 0 B of 20 MiB",
            "too early to say"
        );
        assert_eq!(
            line(amount(30, 0), Some(amount(40, 0))),
            "30 of 40 files, 4 s left"
        );
        // More than was counted.
        assert_eq!(
            line(amount(50, 1), Some(amount(40, 1))),
            "50 files, 1.0 MiB"
        );
        assert_eq!(line(amount(0, 0), Some(amount(0, 0))), "0 of 0 files");
        let step = |done| CurrentStep {
            number: 1,
            done,
            all: 2_000,
        };
        let step_line = |done| step_line(step(done), Duration::from_secs(10));
        assert_eq!(step_line(1_000), "comparing: 1,000 of 2,000, 10 s left");
        assert_eq!(step_line(1), "comparing: 1 of 2,000");
        for (seconds, said) in [
            (0, "0 s"),
            (89, "89 s"),
            (90, "2 min"),
            (5400, "1 h 30 min"),
        ] {
            assert_eq!(rough(Duration::from_secs(seconds)), said);
        }
    }
}
