//! Where alerts go besides the log: one thread that delivers them, to each sink at its own pace.
//!
//! What is delivered, and when, is decided in `resemble_notify`; here are the sinks that only a
//! daemon has, and the thread. A sink that fails or hangs holds up no other.

use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crossbeam_channel::{Receiver, after, never, select};
use parking_lot::Mutex;
use resemble_notify::{Filter, Mail, Now, Outlet, Pace, Places, Program, Sink};

use super::log::AlertLog;
use crate::state::Shared;

mod file;
pub mod journal;

pub use file::FileSink;
pub use journal::Journal;

/// The file of the places in the state folder.
pub const PLACES_FILE: &str = "sinks.json";

/// A sink as the configuration has it.
#[derive(Clone, Debug)]
pub struct SinkConfig {
    /// What `status` and the file of the places call it.
    pub name: String,
    /// What it wants.
    pub filter: Filter,
    /// How much at a time.
    pub pace: Pace,
    /// What it is.
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

/// Delivers until `stop` is closed.
pub fn run(
    sinks: &[SinkConfig],
    shared: &Shared,
    log: &Arc<Mutex<AlertLog>>,
    state: &Path,
    stop: &Receiver<()>,
) {
    let bell = log.lock().bell();
    let last = log.lock().last();
    let mut places = Places::open(&state.join(PLACES_FILE));
    let mut outlets = Vec::new();
    for sink in sinks {
        let place = places.of(&sink.name, last);
        let outlet = Outlet::new(
            &sink.name,
            sink.filter.clone(),
            sink.pace,
            sink.kind.sink(),
            place,
        );
        // A new sink has a place from now on, so that a restart loses nothing.
        keep(&mut places, &outlet);
        outlets.push(outlet);
    }
    loop {
        let mut next: Option<Instant> = None;
        for outlet in &mut outlets {
            let step = outlet.step(now(), |number| log.lock().after(number));
            if step.has_moved {
                keep(&mut places, outlet);
            }
            next = [next, step.next].into_iter().flatten().min();
        }
        let statuses = outlets.iter().map(|outlet| outlet.status(Instant::now()));
        let statuses: Vec<_> = statuses.collect();
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

fn now() -> Now {
    let time = SystemTime::now().duration_since(UNIX_EPOCH);
    Now {
        at: Instant::now(),
        time: time.map_or(0, |time| time.as_secs()),
    }
}

fn keep(places: &mut Places, outlet: &Outlet) {
    if let Err(error) = places.set(outlet.name(), outlet.place()) {
        let sink = outlet.name();
        tracing::warn!(sink, %error, "after a restart it may get some alerts once more");
    }
}

/// Writes to the journal which sinks have begun or ceased to fail.
fn tell_failures(
    before: &[resemble_proto::message::SinkStatus],
    after: &[resemble_proto::message::SinkStatus],
) {
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
