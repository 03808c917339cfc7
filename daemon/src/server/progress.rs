//! Reports the progress of work that a client waits for: a question, or a barrier.

use std::sync::Arc;
use std::time::Duration;

use resemble_proto::message::StepProgress;
use resemble_relate::parallel::Steps;
use resemble_report::quote::quoted;
use resemble_scan::tally::Tally;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at};

use super::context::Context;

/// The time before the first report. Work that takes less time is not reported.
const PATIENCE: Duration = Duration::from_millis(500);
/// The time between two reports.
const PACE: Duration = Duration::from_millis(250);

/// Returns a timer that ticks when a report is due.
pub(super) fn pace() -> Interval {
    let mut pace = interval_at(Instant::now() + PATIENCE, PACE);
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    pace
}

/// Returns the current step of a question; `None` if the question has not reported a step.
pub(super) fn of_question(steps: &Steps) -> Option<StepProgress> {
    let step = steps.now()?;
    Some(StepProgress {
        step: step.number,
        doing: step.doing.into_owned(),
        done: step.done,
        all: Some(step.all),
        ..StepProgress::default()
    })
}

/// The state for reporting the progress of a barrier.
#[derive(Debug, Default)]
pub(super) struct Barrier {
    /// The number of the step that was reported last, and the largest number of files that waited
    /// during that step.
    waiting: (u64, u64),
    /// The number of the scan whose files are being counted, and the counter.
    counted: Option<(u64, Arc<Tally>)>,
}

impl Barrier {
    /// Returns the progress of the running scan. If no scan runs, returns how many of the waiting
    /// files have been read; `None` if no files wait.
    pub(super) fn now(&mut self, context: &Context) -> Option<StepProgress> {
        let (step, scan) = context.shared.scan();
        let Some((root, done)) = scan else {
            let pending = context.shared.pending();
            let most = match self.waiting {
                (last, most) if last == step => most.max(pending),
                _ => pending,
            };
            self.waiting = (step, most);
            return (most > 0).then(|| StepProgress {
                step,
                doing: "reading what has changed".to_owned(),
                done: most - pending,
                all: Some(most),
                ..StepProgress::default()
            });
        };
        if self.counted.as_ref().is_none_or(|(of, _)| *of != step) {
            self.stop();
            let tally = Arc::new(Tally::default());
            self.counted = Some((step, Arc::clone(&tally)));
            let roots = [root.clone()];
            // The counting task is not awaited: it ends by itself, or when [`Self::stop`] is
            // called.
            tokio::task::spawn_blocking(move || tally.count(&roots));
        }
        let all = self.counted.as_ref().and_then(|(_, tally)| tally.total());
        Some(StepProgress {
            step,
            doing: format!("looking at {}", quoted(&root)),
            done: done.files,
            bytes: Some(done.bytes),
            all: all.map(|all| all.files),
            all_bytes: all.map(|all| all.bytes),
        })
    }

    fn stop(&self) {
        if let Some((_, tally)) = &self.counted {
            tally.stop();
        }
    }
}

impl Drop for Barrier {
    fn drop(&mut self) {
        self.stop();
    }
}
