//! A sink with its schedule of deliveries. It is a state machine that gets the time from its
//! caller.

use std::fmt;
use std::io;
use std::time::{Duration, Instant};

use resemble_proto::message::{AlertKind, AlertRow, SinkStatus};
use resemble_proto::path::PathText;

use crate::filter::Filter;
use crate::places::Place;
use crate::run::Running;

/// A destination of alerts.
pub trait Sink: fmt::Debug + Send {
    /// Returns the kind of the sink, as named in `status` and in the configuration.
    fn kind(&self) -> &'static str;

    /// Delivers the alerts, or starts a program that delivers them.
    ///
    /// # Errors
    ///
    /// Fails if any of the alerts was not delivered. All of them are then delivered again later.
    fn send(&mut self, news: &News<'_>) -> io::Result<Sent>;
}

/// The alerts of one delivery.
#[derive(Clone, Copy, Debug)]
pub struct News<'a> {
    /// The alerts, oldest first; never empty.
    pub rows: &'a [AlertRow],
    /// True if the sink must send a page for each day instead of single alerts.
    pub is_digest: bool,
}

/// The state of a delivery that [`Sink::send`] has started.
#[derive(Debug)]
pub enum Sent {
    /// The delivery is complete.
    Done,
    /// The delivery is complete if this program ends with success.
    Running(Running),
}

/// The number of alerts in a delivery, and the frequency of deliveries.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pace {
    /// All waiting alerts together, without delay.
    All,
    /// Single alerts, at most this many in a minute. The other alerts wait for the next minute. If
    /// more alerts than this limit are then waiting, one summary replaces all of them.
    Each(u32),
    /// All waiting alerts together, at least this long after the last delivery.
    Gathered(Duration),
    /// The alerts of past days (in UTC), as pages of a digest.
    Daily,
}

/// The present time on two clocks.
#[derive(Clone, Copy, Debug)]
pub struct Now {
    /// The monotonic clock, for pauses.
    pub at: Instant,
    /// Seconds since 1970. This clock determines where a day ends, and stored times are from this
    /// clock.
    pub time: u64,
}

/// The result of [`Outlet::step`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Step {
    /// The time of the next step, if no alert arrives before. `None` if only an alert can cause
    /// another step.
    pub next: Option<Instant>,
    /// True if a delivery has advanced the place in the log. The caller must store the place before
    /// the next step. If only rejected alerts have advanced the place, it need not be stored.
    pub has_moved: bool,
}

/// The window to which the limit of [`Pace::Each`] applies.
const WINDOW: Duration = Duration::from_secs(60);
/// The first and the longest pause after a failed delivery. Each pause is twice as long as the
/// previous one.
const FIRST_RETRY: Duration = Duration::from_secs(2);
const LONGEST_RETRY: Duration = Duration::from_secs(3600);
/// The interval at which a running program is polled.
const LOOK: Duration = Duration::from_millis(20);
/// The maximum number of alerts of one delivery with [`Pace::All`].
const MOST: usize = 1000;
const DAY: u64 = 86_400;

/// A sink with its filter, its pace and its place in the log.
#[derive(Debug)]
pub struct Outlet {
    name: String,
    filter: Filter,
    pace: Pace,
    sink: Box<dyn Sink>,
    place: Place,
    /// The running program of a delivery, and the number of the last alert that the program got.
    sending: Option<(Running, u64)>,
    failed: Option<Failed>,
    /// The start of the present [`WINDOW`], and the number of deliveries in it.
    window: Option<(Instant, u32)>,
    /// True if alerts are waiting because the limit of the last window was reached.
    has_held_back: bool,
    /// The number of alerts that pass the filter and are not delivered yet.
    waiting: usize,
}

#[derive(Debug)]
struct Failed {
    reason: String,
    tries: u32,
    retry: Instant,
}

/// The deliveries that are due now.
enum Due {
    /// No delivery is due before this time, or before new alerts arrive.
    Not(Option<Instant>),
    /// These alerts are due. This number is the place of the sink in the log after their delivery.
    Now(Vec<AlertRow>, u64),
}

impl Outlet {
    /// Returns an outlet that delivers the alerts after this place in the log.
    pub fn new(name: &str, filter: Filter, pace: Pace, sink: Box<dyn Sink>, place: Place) -> Self {
        Self {
            name: name.to_owned(),
            filter,
            pace,
            sink,
            place,
            sending: None,
            failed: None,
            window: None,
            has_held_back: false,
            waiting: 0,
        }
    }

    /// Returns the name of the outlet.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the position of the sink in the log.
    pub const fn place(&self) -> Place {
        self.place
    }

    /// Makes the outlet continue after the alert with this number. A running delivery is ended.
    pub fn go_on_after(&mut self, number: u64) {
        self.sending = None;
        self.place.after = number;
    }

    /// Returns the status of the outlet.
    pub fn status(&self, now: Instant) -> SinkStatus {
        let failed = self.failed.as_ref();
        SinkStatus {
            name: self.name.clone(),
            sink: self.sink.kind().to_owned(),
            after: self.place.after,
            waiting: self.waiting as u64,
            failing: failed.map(|failed| failed.reason.clone()),
            retry_seconds: failed.map(|failed| {
                let pause = failed.retry.saturating_duration_since(now);
                pause.as_secs_f64().ceil() as u64
            }),
        }
    }

    /// Starts the delivery that is due, or checks on a running one. `log` returns the alerts after
    /// a number, oldest first.
    pub fn step(&mut self, now: Now, log: impl FnOnce(u64) -> Vec<AlertRow>) -> Step {
        if let Some((running, upto)) = &mut self.sending {
            let upto = *upto;
            match running.ended() {
                None => return later(Some(now.at + LOOK)),
                Some(ended) => {
                    self.sending = None;
                    return self.ended(ended, upto, now);
                }
            }
        }
        if let Some(failed) = &self.failed
            && now.at < failed.retry
        {
            let retry = failed.retry;
            let log = log(self.place.after);
            self.waiting = log.iter().filter(|row| self.filter.accepts(row)).count();
            return later(Some(retry));
        }
        let (rows, upto) = match self.due(log(self.place.after), now) {
            Due::Not(next) => return later(next),
            Due::Now(rows, upto) => (rows, upto),
        };
        let news = News {
            rows: &rows,
            is_digest: self.pace == Pace::Daily,
        };
        match self.sink.send(&news) {
            Ok(Sent::Done) => self.ended(Ok(()), upto, now),
            Ok(Sent::Running(running)) => {
                self.sending = Some((running, upto));
                later(Some(now.at + LOOK))
            }
            Err(error) => self.ended(Err(error.to_string()), upto, now),
        }
    }

    fn ended(&mut self, ended: Result<(), String>, upto: u64, now: Now) -> Step {
        match ended {
            Ok(()) => {
                self.failed = None;
                self.place = Place {
                    after: upto,
                    time: now.time,
                };
                if let Some((_, count)) = &mut self.window {
                    *count += 1;
                }
                Step {
                    next: Some(now.at),
                    has_moved: true,
                }
            }
            Err(reason) => {
                let tries = self.failed.as_ref().map_or(0, |failed| failed.tries);
                let pause = FIRST_RETRY
                    .saturating_mul(1 << tries.min(16))
                    .min(LONGEST_RETRY);
                let retry = now.at + pause;
                self.failed = Some(Failed {
                    reason,
                    tries: tries + 1,
                    retry,
                });
                later(Some(retry))
            }
        }
    }

    fn due(&mut self, log: Vec<AlertRow>, now: Now) -> Due {
        let lost = log
            .first()
            .map_or(0, |first| first.seq.saturating_sub(self.place.after + 1));
        let last = log.last().map_or(self.place.after, |row| row.seq);
        let first = log.first().cloned();
        let mut rows: Vec<AlertRow> = log;
        rows.retain(|row| self.filter.accepts(row));
        self.waiting = rows.len();
        // The log is bounded, so it may have dropped alerts that this sink did not get. One summary
        // reports their number.
        if let Some(first) = first.filter(|_| lost > 0) {
            rows.insert(0, summary(&first, first.seq - 1, lost, "/".into(), None));
        }
        if rows.is_empty() {
            self.place.after = last;
            return Due::Not(None);
        }
        match self.pace {
            Pace::All => {
                let upto = if rows.len() > MOST {
                    rows.truncate(MOST);
                    rows.last().map_or(last, |row| row.seq)
                } else {
                    last
                };
                Due::Now(rows, upto)
            }
            Pace::Each(rate) => self.one_of(rows, rate.max(1), last, now),
            Pace::Gathered(pause) => {
                let since = now.time.saturating_sub(self.place.time);
                match pause.as_secs().checked_sub(since).filter(|rest| *rest > 0) {
                    Some(rest) if self.place.time > 0 => {
                        Due::Not(Some(now.at + Duration::from_secs(rest)))
                    }
                    _ => Due::Now(rows, last),
                }
            }
            Pace::Daily => {
                let today = now.time - now.time % DAY;
                let tomorrow = now.at + Duration::from_secs(today + DAY - now.time);
                rows.retain(|row| row.time < today);
                match rows.last().map(|row| row.seq) {
                    Some(upto) => Due::Now(rows, upto),
                    None => Due::Not(Some(tomorrow)),
                }
            }
        }
    }

    /// Returns the next alert, or a summary of all alerts if more than `rate` alerts have waited
    /// for the window. Nothing is due after `rate` deliveries in the window.
    fn one_of(&mut self, mut rows: Vec<AlertRow>, rate: u32, last: u64, now: Now) -> Due {
        if self
            .window
            .is_none_or(|(began, _)| began + WINDOW <= now.at)
        {
            self.window = Some((now.at, 0));
            let is_flood = std::mem::take(&mut self.has_held_back) && rows.len() > rate as usize;
            if is_flood && let (Some(first), Some(of)) = (rows.first(), rows.last()) {
                let since = first.seq - 1;
                let count = rows.iter().map(of_alerts).sum();
                let summary = summary(of, last, count, above(&rows), Some(since));
                return Due::Now(vec![summary], last);
            }
        }
        match self.window {
            Some((began, count)) if count >= rate => {
                self.has_held_back = true;
                Due::Not(Some(began + WINDOW))
            }
            _ => {
                let upto = if rows.len() == 1 { last } else { rows[0].seq };
                rows.truncate(1);
                Due::Now(rows, upto)
            }
        }
    }
}

const fn later(next: Option<Instant>) -> Step {
    Step {
        next,
        has_moved: false,
    }
}

/// Returns the number of alerts that a row represents.
const fn of_alerts(row: &AlertRow) -> u64 {
    match row.kind {
        AlertKind::Summary => row.files,
        AlertKind::File | AlertKind::Tree => 1,
    }
}

fn summary(like: &AlertRow, seq: u64, count: u64, above: PathText, since: Option<u64>) -> AlertRow {
    AlertRow {
        seq,
        time: like.time,
        kind: AlertKind::Summary,
        a: above.clone(),
        b: above,
        relation: None,
        a_in_b: resemble_proto::number::Fraction::NONE,
        b_in_a: resemble_proto::number::Fraction::NONE,
        shared_bytes: 0,
        files: count,
        since,
        owner_a: None,
        owner_b: None,
    }
}

/// Returns the deepest folder that contains the changed files of all rows.
fn above(rows: &[AlertRow]) -> PathText {
    let mut folders = rows.iter().map(|row| match row.kind {
        AlertKind::Summary => row.a.as_path(),
        _ => row.a.as_path().parent().unwrap_or(row.a.as_path()),
    });
    let mut above = folders.next().unwrap_or("/".as_ref()).to_path_buf();
    for folder in folders {
        while !folder.starts_with(&above) && above.pop() {}
    }
    above.into()
}

#[cfg(test)]
mod tests;
