use std::sync::{Arc, Mutex};

use super::*;
use crate::text::tests::row;

/// A sink that records its deliveries. [`Self::fail`] makes its next deliveries fail.
#[derive(Clone, Debug, Default)]
struct Heard(Arc<Mutex<(Vec<Vec<AlertRow>>, usize)>>);

impl Heard {
    fn numbers(&self) -> Vec<Vec<u64>> {
        let heard = &self.0.lock().unwrap().0;
        let numbers = |rows: &Vec<AlertRow>| rows.iter().map(|row| row.seq).collect();
        heard.iter().map(numbers).collect()
    }

    fn rows(&self) -> Vec<AlertRow> {
        self.0.lock().unwrap().0.concat()
    }

    fn fail(&self, times: usize) {
        self.0.lock().unwrap().1 = times;
    }
}

impl Sink for Heard {
    fn kind(&self) -> &'static str {
        "test"
    }

    fn send(&mut self, news: &News<'_>) -> io::Result<Sent> {
        let mut heard = self.0.lock().unwrap();
        if heard.1 > 0 {
            heard.1 -= 1;
            return Err(io::Error::other("it does not want to"));
        }
        heard.0.push(news.rows.to_vec());
        Ok(Sent::Done)
    }
}

struct Trial {
    heard: Heard,
    outlet: Outlet,
    log: Vec<AlertRow>,
    now: Now,
}

impl Trial {
    fn new(pace: Pace) -> Self {
        let heard = Heard::default();
        let sink = Box::new(heard.clone());
        Self {
            outlet: Outlet::new("test", Filter::default(), pace, sink, Place::default()),
            heard,
            log: Vec::new(),
            now: Now {
                at: Instant::now(),
                time: 1_788_266_096,
            },
        }
    }

    fn push(&mut self, count: u64) {
        let last = self.log.last().map_or(0, |row| row.seq);
        let time = self.now.time;
        self.log
            .extend((last + 1..=last + count).map(|seq| AlertRow {
                seq,
                time,
                ..row(&format!("/r/new/{seq}"), "/r/b")
            }));
    }

    /// Steps until no step is due within `seconds`.
    fn run(&mut self, seconds: u64) {
        let end = self.now.at + Duration::from_secs(seconds);
        loop {
            let log = &self.log;
            let after = |number| {
                let rows = log.iter().filter(|row| row.seq > number);
                rows.cloned().collect()
            };
            let step = self.outlet.step(self.now, after);
            let next = step.next.filter(|next| *next <= end);
            let reached = next.unwrap_or(end).max(self.now.at);
            let passed = reached - self.now.at;
            // All pauses of these tests are whole seconds, so dropping fractions of a second loses
            // no time.
            self.now.time += passed.as_secs();
            self.now.at = reached;
            if next.is_none() {
                return;
            }
        }
    }
}

#[test]
fn all_at_once_each_once() {
    let mut trial = Trial::new(Pace::All);
    trial.push(3);
    trial.run(1);
    trial.push(2500);
    trial.run(1);
    let heard = trial.heard.numbers();
    assert_eq!(heard[0], [1, 2, 3]);
    assert_eq!(heard.concat(), (1..=2503).collect::<Vec<_>>());
}

#[test]
fn a_failing_sink_is_tried_again_less_and_less_often_and_loses_nothing() {
    let mut trial = Trial::new(Pace::All);
    trial.push(2);
    trial.heard.fail(3);
    trial.run(0);
    let status = trial.outlet.status(trial.now.at);
    assert_eq!(status.failing.as_deref(), Some("it does not want to"));
    assert_eq!((status.retry_seconds, status.waiting), (Some(2), 2));
    trial.run(5);
    assert_eq!(
        trial.outlet.status(trial.now.at).retry_seconds,
        Some(1),
        "after 2, then 4 s"
    );
    trial.push(1);
    trial.run(0);
    let waiting = trial.outlet.status(trial.now.at).waiting;
    assert_eq!(waiting, 3, "the new one waits as well");
    trial.run(20);
    assert_eq!(trial.heard.numbers(), [[1, 2, 3]]);
    assert_eq!(trial.outlet.status(trial.now.at).failing, None);
    assert_eq!(trial.outlet.place().after, 3);
}

#[test]
fn beyond_the_rate_one_summary_stands_for_the_rest() {
    let mut trial = Trial::new(Pace::Each(30));
    trial.push(10_000);
    trial.run(59);
    assert_eq!(trial.heard.rows().len(), 30);
    assert_eq!(trial.outlet.place().after, 30);
    trial.run(2);
    let rows = trial.heard.rows();
    assert_eq!(rows.len(), 31);
    let summary = &rows[30];
    assert_eq!(summary.kind, AlertKind::Summary);
    assert_eq!(
        (summary.files, summary.since, summary.seq),
        (9_970, Some(30), 10_000)
    );
    assert_eq!(summary.a.as_path(), std::path::Path::new("/r/new"));
    // Alerts that were held back are sent one by one if the rate allows all of them.
    trial.push(40);
    trial.run(120);
    let rows = trial.heard.rows();
    assert_eq!(rows.len(), 71);
    assert!(rows[31..].iter().all(|row| row.kind == AlertKind::File));
}

#[test]
fn what_the_log_has_lost_is_told_as_a_number() {
    let mut trial = Trial::new(Pace::Each(30));
    trial.push(100);
    trial.log.drain(..98);
    trial.run(1);
    let rows = trial.heard.rows();
    assert_eq!(rows.len(), 3);
    assert_eq!(
        (rows[0].kind, rows[0].files, rows[0].seq),
        (AlertKind::Summary, 98, 98)
    );
    assert_eq!(rows[1].seq, 99);
    assert_eq!(trial.outlet.place().after, 100);
}

#[test]
fn gathered_alerts_come_together_after_a_pause() {
    let mut trial = Trial::new(Pace::Gathered(Duration::from_secs(600)));
    trial.push(1);
    trial.run(10);
    trial.push(5);
    trial.run(580);
    assert_eq!(trial.heard.numbers(), [[1]]);
    trial.run(20);
    assert_eq!(trial.heard.numbers()[1..], [[2, 3, 4, 5, 6]]);
}

#[test]
fn a_digest_has_the_days_that_are_over() {
    let mut trial = Trial::new(Pace::Daily);
    trial.push(2);
    trial.run(3600);
    trial.push(1);
    trial.run(3600);
    assert!(trial.heard.numbers().is_empty());
    trial.run(86_400);
    trial.push(1);
    trial.run(3600);
    assert_eq!(trial.heard.numbers(), [[1, 2, 3]]);
}

#[test]
fn what_is_not_wanted_is_passed_over() {
    let mut trial = Trial::new(Pace::All);
    trial.outlet.filter.kinds = Some(Vec::new());
    trial.push(5);
    trial.run(1);
    assert!(trial.heard.numbers().is_empty());
    assert_eq!(trial.outlet.place().after, 5);
    assert_eq!(trial.outlet.status(trial.now.at).waiting, 0);
}
