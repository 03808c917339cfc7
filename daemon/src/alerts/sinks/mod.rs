//! Delivers alerts from the log to sinks, in one thread. Each sink has its own pace.
//!
//! The crate `resemble_notify` decides which alerts are delivered, and when. This module has the
//! thread, and the sinks that only a daemon has. A sink that fails, or whose program hangs, delays
//! no other sink.

use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crossbeam_channel::{Receiver, after, never, select};
use parking_lot::Mutex;
use resemble_notify::{Filter, Mail, Now, Outlet, Pace, Places, Program, Sink};
use resemble_proto::message::SinkStatus;

use super::log::AlertLog;
use crate::state::Shared;

mod file;
pub mod journal;

pub use file::FileSink;
pub use journal::Journal;

/// Name of the file in the state folder that stores the position of each sink.
pub const PLACES_FILE: &str = "sinks.json";

/// A sink as the configuration describes it.
#[derive(Clone, Debug)]
pub struct SinkConfig {
    /// Name of the sink in `status` and in [`PLACES_FILE`].
    pub name: String,
    /// Selects the alerts that the sink gets.
    pub filter: Filter,
    /// Limits the rate of the alerts that the sink gets.
    pub pace: Pace,
    /// Kind of the sink.
    pub kind: SinkKind,
}

/// The kinds of sinks.
#[derive(Clone, Debug, PartialEq)]
pub enum SinkKind {
    /// The journal of systemd.
    Journal(Journal),
    /// A file of JSON lines.
    File(FileSink),
    /// A program.
    Command(Program),
    /// A program that sends mail.
    Mail(Mail),
}

impl SinkKind {
    fn sink(&self) -> Box<dyn Sink> {
        match self {
            Self::Journal(sink) => Box::new(sink.clone()),
            Self::File(sink) => Box::new(sink.clone()),
            Self::Command(sink) => Box::new(sink.clone()),
            Self::Mail(sink) => Box::new(sink.clone()),
        }
    }
}

/// Delivers alerts to all sinks of a daemon, and stores the position of each sink in the log.
#[derive(Debug)]
pub struct Delivery {
    log: Arc<Mutex<AlertLog>>,
    places: Places,
    outlets: Vec<Outlet>,
}

impl Delivery {
    /// Prepares the sinks. A new sink gets only alerts that are raised after this call. So call
    /// this function before anything can raise alerts.
    pub fn new(sinks: &[SinkConfig], log: &Arc<Mutex<AlertLog>>, state: &Path) -> Self {
        let last = log.lock().last();
        let mut places = Places::open(&state.join(PLACES_FILE));
        let outlet = |sink: &SinkConfig| {
            let place = places.of(&sink.name, last);
            let (filter, kind) = (sink.filter.clone(), sink.kind.sink());
            Outlet::new(&sink.name, filter, sink.pace, kind, place)
        };
        let outlets: Vec<Outlet> = sinks.iter().map(outlet).collect();
        // The position of a new sink is stored at once. Otherwise a restart would move the position
        // past alerts that were not delivered.
        keep(&mut places, &outlets);
        Self {
            log: Arc::clone(log),
            places,
            outlets,
        }
    }

    /// Returns the status of each sink.
    pub fn statuses(&self) -> Vec<SinkStatus> {
        let now = Instant::now();
        let statuses = self.outlets.iter().map(|outlet| outlet.status(now));
        statuses.collect()
    }

    /// Delivers until `stop` is closed.
    pub fn run(mut self, shared: &Shared, stop: &Receiver<()>) {
        let bell = self.log.lock().bell();
        loop {
            let next = self.step();
            let statuses = self.statuses();
            tell_failures(&shared.sinks(), &statuses);
            shared.set_sinks(statuses);
            let timer = next.map_or_else(never, |at| {
                after(at.saturating_duration_since(Instant::now()))
            });
            select! {
                recv(bell) -> _ => {}
                recv(timer) -> _ => {}
                recv(stop) -> _ => return,
            }
        }
    }

    /// Makes the deliveries that are due. Returns the time of the next step that is due even
    /// without a new alert.
    fn step(&mut self) -> Option<Instant> {
        let mut next: Option<Instant> = None;
        for outlet in &mut self.outlets {
            let step = outlet.step(now(), |number| self.log.lock().after(number));
            if step.has_moved {
                keep(&mut self.places, std::slice::from_ref(outlet));
            }
            next = [next, step.next].into_iter().flatten().min();
        }
        next
    }
}

fn now() -> Now {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    Now {
        at: Instant::now(),
        time: time.map_or(0, |time| time.as_secs()),
    }
}

fn keep(places: &mut Places, outlets: &[Outlet]) {
    let of_each = outlets.iter().map(|outlet| (outlet.name(), outlet.place()));
    if let Err(error) = places.set(of_each) {
        let sinks: Vec<&str> = outlets.iter().map(Outlet::name).collect();
        tracing::warn!(?sinks, %error, "after a restart they may get some alerts once more");
    }
}

/// Logs each sink that began to fail, fails for a new reason or works again.
fn tell_failures(before: &[SinkStatus], after: &[SinkStatus]) {
    for sink in after {
        let before = before.iter().find(|other| other.name == sink.name);
        let before = before.and_then(|before| before.failing.as_ref());
        match &sink.failing {
            Some(reason) if before != Some(reason) => {
                tracing::warn!(sink = sink.name, "alerts are not delivered: {reason}");
            }
            None if before.is_some() => {
                tracing::info!(sink = sink.name, "alerts are delivered again");
            }
            _ => {}
        }
    }
}
