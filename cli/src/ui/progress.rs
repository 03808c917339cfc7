//! Shows progress on standard error, for work that takes more than a second.
//!
//! A separate thread draws the line. If the line did not move, the program would seem to hang.
//! Figures arrive a few times a second while files are read. No figures arrive while files are
//! compared, or while the daemon has not answered. Another thread counts the files, so that the
//! line can show how much is left. That thread starts when the line is first drawn, because work of
//! less than a second needs no such figure.

use std::path::PathBuf;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Weak};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use parking_lot::Mutex;
use resemble_proto::message::StepProgress;
use resemble_relate::parallel::{CurrentStep, Steps};
use resemble_report::human::{human_count, human_size};
use resemble_report::quote::harmless;
use resemble_scan::ingest::Amount;
use resemble_scan::tally::Tally;

use crate::interrupt;

/// The time before anything is shown. A line that vanishes immediately would flicker.
const PATIENCE: Duration = Duration::from_secs(1);
/// The time between two redraws.
const PACE: Duration = Duration::from_millis(125);
/// The cost of reading a file in addition to the cost of its bytes. It is given as a number of
/// bytes.
const BYTES_OF_A_FILE: u64 = 16 << 10;
/// If less than this share of the work is done, the time left is not shown.
const ENOUGH: f64 = 0.03;

/// A line that shows the current work. Dropping this value removes the line.
#[derive(Debug)]
pub struct Progress {
    state: Arc<State>,
    drawing: Option<(mpsc::Sender<()>, JoinHandle<()>)>,
}

/// Shares the line of the current progress display with another thread, even if the line is not
/// drawn.
#[derive(Clone, Debug, Default)]
pub struct ProgressBoard(Arc<Mutex<Weak<State>>>);

impl ProgressBoard {
    /// Returns the current line. Returns `None` if no work is displayed now.
    pub fn line(&self) -> Option<String> {
        let state = self.0.lock().upgrade()?;
        Some(state.line())
    }

    pub(super) fn show(&self, progress: &Progress) {
        *self.0.lock() = Arc::downgrade(&progress.state);
    }
}

#[derive(Debug)]
struct State {
    what: String,
    began: Instant,
    /// The finished work, and the total if that is known. `None` before the first report.
    figures: Mutex<Option<(Amount, Option<Amount>)>>,
    /// The paths of the files to be read.
    paths: Vec<PathBuf>,
    tally: Tally,
    /// Progress of the current question.
    steps: Arc<Steps>,
    /// The step that the daemon is at, as its number and its name.
    daemon: Mutex<Option<(u64, String)>>,
    /// The last drawn step.
    drawn: Mutex<Option<Drawn>>,
}

/// A step of a question, the time when it was first drawn, and the work that was finished by then.
#[derive(Clone, Copy, Debug)]
struct Drawn {
    number: u64,
    at: Instant,
    /// The finished work.
    done: f64,
}

impl State {
    fn line(&self) -> String {
        if let Some(step) = self.steps.now() {
            let pace = self.pace(step.number, step.done as f64);
            return step_line(&step, pace);
        }
        let daemon = self.daemon.lock().clone();
        match (*self.figures.lock(), daemon) {
            (None, _) => self.what.clone(),
            (Some((done, all)), Some((number, doing))) => {
                let pace = self.pace(number, work(done));
                format!("{}: {}", harmless(&doing), line(done, all, pace))
            }
            (Some((done, all)), None) => {
                let pace = (0.0, self.began.elapsed());
                line(done, all.or_else(|| self.tally.total()), pace)
            }
        }
    }

    /// Returns the work that was already finished when this step was first drawn, and the time that
    /// has passed since.
    fn pace(&self, number: u64, done: f64) -> Pace {
        let mut drawn = self.drawn.lock();
        let first = drawn.filter(|drawn| drawn.number == number);
        let first = *drawn.insert(first.unwrap_or_else(|| Drawn {
            number,
            at: Instant::now(),
            done,
        }));
        (first.done, first.at.elapsed())
    }
}

/// The work that was finished at the start of a measurement, and the time since then.
type Pace = (f64, Duration);

/// Converts a number of files and bytes to an amount of work, in bytes.
fn work(amount: Amount) -> f64 {
    (amount.bytes + amount.files * BYTES_OF_A_FILE) as f64
}

impl Progress {
    /// Starts a display. The files at and below `paths` are counted as the total work.
    pub(super) fn new(what: &str, paths: Vec<PathBuf>, shown: bool) -> Self {
        let state = Arc::new(State {
            what: what.to_owned(),
            began: Instant::now(),
            figures: Mutex::default(),
            paths,
            tally: Tally::default(),
            steps: Arc::default(),
            daemon: Mutex::default(),
            drawn: Mutex::default(),
        });
        let drawing = shown.then(|| {
            let (stop, stopped) = mpsc::channel();
            let state = Arc::clone(&state);
            (stop, std::thread::spawn(move || draw(&state, &stopped)))
        });
        Self { state, drawing }
    }

    /// Returns the [`Steps`] to which a question reports its progress, so that the display shows
    /// it.
    pub fn steps(&self) -> Arc<Steps> {
        Arc::clone(&self.state.steps)
    }

    /// Sets how much is done, and the total if that is known.
    pub fn update(&mut self, done: Amount, all: Option<Amount>) {
        *self.state.figures.lock() = Some((done, all));
    }

    /// Shows the daemon's progress.
    pub fn hear(&mut self, now: StepProgress) {
        let Some(bytes) = now.bytes else {
            self.state.steps.relay(CurrentStep {
                number: now.step,
                doing: now.doing.into(),
                done: now.done,
                all: now.all.unwrap_or_default(),
            });
            return;
        };
        // The daemon has reported figures in bytes. They are shown instead of a step of the
        // question.
        self.state.steps.relay(CurrentStep::none());
        let done = Amount {
            files: now.done,
            bytes,
        };
        let all = now.all.zip(now.all_bytes);
        let all = all.map(|(files, bytes)| Amount { files, bytes });
        *self.state.daemon.lock() = Some((now.step, now.doing));
        self.update(done, all);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.state.tally.stop();
        if let Some((stop, thread)) = self.drawing.take() {
            drop(stop);
            // If the thread has panicked, that does not matter, because it only draws.
            thread.join().unwrap_or_default();
        }
    }
}

/// Draws the line until the other end of `stopped` is dropped.
fn draw(state: &State, stopped: &mpsc::Receiver<()>) {
    let goes_on = |wait| stopped.recv_timeout(wait) == Err(RecvTimeoutError::Timeout);
    if !goes_on(PATIENCE) {
        return;
    }
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    // The template is a constant. If it were wrong, the plain spinner would be used. `wide_msg`
    // shortens a message that is wider than the terminal. A second line on the screen would not be
    // wiped.
    if let Ok(style) = ProgressStyle::with_template("{spinner} {wide_msg}") {
        bar.set_style(style);
    }
    interrupt::hold();
    std::thread::scope(|scope| {
        if !state.paths.is_empty() {
            scope.spawn(|| state.tally.count(&state.paths));
        }
        loop {
            let elapsed = state.began.elapsed().as_secs();
            bar.set_message(format!("{} ({})", state.line(), rough(elapsed)));
            bar.tick();
            if interrupt::was_pressed() || !goes_on(PACE) {
                bar.finish_and_clear();
                return interrupt::release();
            }
        }
    });
}

/// Describes the finished work, the total work, and the time left at the present pace.
fn line(done: Amount, all: Option<Amount>, pace: Pace) -> String {
    // More work was done than was counted, because files were added. Their number is unknown, so no
    // total is shown.
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
    parts.extend(left(work(done), work(all), pace));
    parts.join(", ")
}

/// Describes how much of a step is done, and the time left for it.
fn step_line(step: &CurrentStep, pace: Pace) -> String {
    let (done, all) = (human_count(step.done), human_count(step.all));
    let mut parts = vec![format!("{}: {done} of {all}", harmless(&step.doing))];
    parts.extend(left(step.done as f64, step.all as f64, pace));
    parts.join(", ")
}

/// Describes the time left at the present pace. Returns `None` if too little was done to estimate
/// it.
fn left(done: f64, all: f64, (before, elapsed): Pace) -> Option<String> {
    let since = done - before;
    let left = || elapsed.mul_f64(((all - done) / since).max(0.0));
    let seconds = || left().as_secs_f64().ceil() as u64;
    (since > 0.0 && since >= ENOUGH * all).then(|| format!("{} left", rough(seconds())))
}

/// Formats a time in words, rounded up.
fn rough(seconds: u64) -> String {
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
    fn what_the_daemon_says_is_drawn_as_it_comes() {
        let mut progress = Progress::new("waiting", Vec::new(), false);
        let lines = |progress: &Progress| progress.state.line();
        assert_eq!(lines(&progress), "waiting");
        let mut hear = |step, doing: &str, (done, all), bytes| {
            progress.hear(StepProgress {
                step,
                doing: doing.to_owned(),
                done,
                all,
                bytes,
                all_bytes: bytes.and(all).map(|all| all << 20),
            });
            lines(&progress)
        };
        let mib = Some(3 << 20);
        assert_eq!(
            hear(1, "looking at /srv", (12, None), mib),
            "looking at /srv: 12 files, 3.0 MiB"
        );
        assert_eq!(
            hear(1, "looking at /\u{1b}[2J", (12, Some(40)), mib),
            "looking at /\u{fffd}[2J: 12 of 40 files, 3.0 MiB of 40 MiB"
        );
        assert_eq!(
            hear(2, "reading what has changed", (1, Some(3)), None),
            "reading what has changed: 1 of 3"
        );
        assert!(hear(3, "looking at /b", (1, Some(4)), mib).starts_with("looking at /b: 1 of 4"));
    }

    #[test]
    fn a_line_has_totals_and_the_time_left_as_soon_as_they_are_known() {
        let amount = |files, mib: u64| Amount {
            files,
            bytes: mib << 20,
        };
        let line = |done, all| line(done, all, (0.0, Duration::from_secs(10)));
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
        // More files were read than were counted.
        assert_eq!(
            line(amount(50, 1), Some(amount(40, 1))),
            "50 files, 1.0 MiB"
        );
        assert_eq!(line(amount(0, 0), Some(amount(0, 0))), "0 of 0 files");
        let step = |done| CurrentStep {
            number: 1,
            doing: "comparing".into(),
            done,
            all: 2_000,
        };
        let step_line = |done| step_line(&step(done), (0.0, Duration::from_secs(10)));
        assert_eq!(step_line(1_000), "comparing: 1,000 of 2,000, 10 s left");
        assert_eq!(step_line(1), "comparing: 1 of 2,000");
        // The pace is measured from the first drawing of a step, because the daemon may have begun
        // the step earlier.
        let later = super::step_line(&step(1_000), (900.0, Duration::from_secs(10)));
        assert_eq!(later, "comparing: 1,000 of 2,000, 2 min left");
        for (seconds, said) in [
            (0, "0 s"),
            (89, "89 s"),
            (90, "2 min"),
            (5400, "1 h 30 min"),
        ] {
            assert_eq!(rough(seconds), said);
        }
    }
}
