//! Prints the state of the daemon in the text format of `OpenMetrics`. Prometheus and the textfile
//! collector of its node exporter read this format.
//!
//! Only gauges and counters are used. The collector refuses a file with types that it does not
//! know, such as `info`.

use std::fmt::Write;

use resemble_proto::message::{RootState, RootStatus, StatusAnswer};

/// A figure of each root: its name, its help, and the function that computes it.
type RootFigure = (&'static str, &'static str, fn(&RootStatus) -> u64);

const OF_ROOTS: [RootFigure; 8] = [
    ("root_files", "Regular files, hard links once", |root| {
        root.files
    }),
    ("root_bytes", "Their bytes", |root| root.bytes),
    ("root_pending", "Files to be read", |root| root.pending),
    (
        "root_unreadable",
        "Files and directories that could not be read",
        |root| root.unreadable,
    ),
    (
        "root_skipped",
        "Files and directories left out on purpose",
        |root| root.skipped,
    ),
    (
        "root_unopened",
        "Documents and archives that could not be read in full",
        |root| root.unopened,
    ),
    (
        "root_hidden_text",
        "Documents of which text is left out on purpose",
        |root| root.hidden_text,
    ),
    ("root_hidden", "Entries that the view hides", |root| {
        root.hidden
    }),
];

type DaemonFigure = (&'static str, Kind, &'static str, fn(&StatusAnswer) -> u64);

const OF_DAEMON: [DaemonFigure; 22] = [
    (
        "live",
        Kind::Gauge,
        "Whether nothing is scanned or degraded",
        |status| u64::from(status.is_live()),
    ),
    (
        "fresh",
        Kind::Gauge,
        "Whether nothing is known to be stale",
        |status| status.fresh.into(),
    ),
    (
        "lag_seconds",
        Kind::Gauge,
        "Age of the oldest change to be read",
        |status| status.lag_seconds,
    ),
    (
        "degraded",
        Kind::Gauge,
        "Troubles that status names",
        |status| status.degraded.len() as u64,
    ),
    ("index_bytes", Kind::Gauge, "Size of the index", |status| {
        status.index.bytes
    }),
    (
        "index_contents",
        Kind::Gauge,
        "Contents in the index",
        |status| status.index.contents,
    ),
    (
        "index_chunks",
        Kind::Gauge,
        "Chunks, repeats counted",
        |status| status.index.chunks,
    ),
    (
        "files_read",
        Kind::Counter,
        "Files read since the start",
        |status| status.index.files_read,
    ),
    (
        "read_bytes",
        Kind::Counter,
        "Bytes read since the start",
        |status| status.index.bytes_read,
    ),
    (
        "watched_directories",
        Kind::Gauge,
        "Directories with a watch",
        |status| status.watch.directories,
    ),
    (
        "polled_directories",
        Kind::Gauge,
        "Directories without one",
        |status| status.watch.polled,
    ),
    (
        "event_overflows",
        Kind::Counter,
        "Times that events were lost",
        |status| status.watch.overflows,
    ),
    (
        "assumed_files",
        Kind::Gauge,
        "Grown files to be verified",
        |status| status.assumed,
    ),
    (
        "questions",
        Kind::Gauge,
        "Questions being computed",
        |status| status.questions,
    ),
    ("mounts", Kind::Gauge, "Mounted overlays", |status| {
        status.mounts.len() as u64
    }),
    (
        "alerts_waiting",
        Kind::Gauge,
        "Alerts to be delivered, over all sinks",
        |status| status.notify.iter().map(|sink| sink.waiting).sum(),
    ),
    (
        "sinks_failing",
        Kind::Gauge,
        "Sinks of alerts that fail",
        |status| {
            let failing = status.notify.iter().filter(|sink| sink.failing.is_some());
            failing.count() as u64
        },
    ),
    (
        "uptime_seconds",
        Kind::Gauge,
        "Time since the start",
        |status| status.process.uptime_seconds,
    ),
    ("resident_memory_bytes", Kind::Gauge, "Memory", |status| {
        status.process.resident_bytes
    }),
    (
        "peak_memory_bytes",
        Kind::Gauge,
        "Most memory since the start",
        |status| status.process.peak_bytes,
    ),
    ("open_fds", Kind::Gauge, "Open files", |status| {
        status.process.descriptors
    }),
    ("max_fds", Kind::Gauge, "Files that may be open", |status| {
        status.process.most_descriptors
    }),
];

/// Returns all metrics of a daemon that answers.
pub(super) fn of(status: &StatusAnswer) -> String {
    let mut text = Metrics::default();
    text.one("up", Kind::Gauge, "Whether the daemon answers", 1);
    for (name, kind, help, figure) in OF_DAEMON {
        text.one(name, kind, help, figure(status));
    }
    text.root_states(&status.roots);
    for (name, help, figure) in OF_ROOTS {
        text.family(name, Kind::Gauge, help);
        for root in &status.roots {
            text.sample(name, &[("root", &shown(root))], figure(root));
        }
    }
    text.family("build", Kind::Gauge, "The version of the daemon");
    text.sample("build", &[("version", &status.process.version)], 1);
    text.end()
}

/// Returns the metrics for the case that no daemon answers.
pub(super) fn of_none() -> String {
    let mut text = Metrics::default();
    text.one("up", Kind::Gauge, "Whether the daemon answers", 0);
    text.end()
}

fn shown(root: &RootStatus) -> String {
    root.path.as_path().to_string_lossy().into_owned()
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Gauge,
    Counter,
}

/// The text so far.
#[derive(Default)]
struct Metrics(String);

impl Metrics {
    fn family(&mut self, name: &str, kind: Kind, help: &str) {
        let kind = match kind {
            Kind::Gauge => "gauge",
            Kind::Counter => "counter",
        };
        // Writing to a string cannot fail.
        let _written = writeln!(self.0, "# HELP resemble_{name} {help}.");
        let _written = writeln!(self.0, "# TYPE resemble_{name} {kind}");
    }

    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: u64) {
        let labels: Vec<String> = labels
            .iter()
            .map(|(label, value)| format!("{label}=\"{}\"", escaped(value)))
            .collect();
        let labels = if labels.is_empty() {
            String::new()
        } else {
            format!("{{{}}}", labels.join(","))
        };
        let _written = writeln!(self.0, "resemble_{name}{labels} {value}");
    }

    /// Adds a family with a single sample.
    fn one(&mut self, name: &str, kind: Kind, help: &str, value: u64) {
        self.family(name, kind, help);
        match kind {
            Kind::Gauge => self.sample(name, &[], value),
            Kind::Counter => self.sample(&format!("{name}_total"), &[], value),
        }
    }

    /// Adds the states of all roots.
    fn root_states(&mut self, roots: &[RootStatus]) {
        self.family(
            "root_state",
            Kind::Gauge,
            "1 for the state that the root is in",
        );
        for root in roots {
            for state in [
                RootState::Scanning,
                RootState::Live,
                RootState::Degraded,
                RootState::Unavailable,
                RootState::Catalogue,
            ] {
                let labels = [("root", shown(root)), ("state", state.word().to_owned())];
                let labels = labels
                    .each_ref()
                    .map(|(label, value)| (*label, value.as_str()));
                self.sample("root_state", &labels, u64::from(root.state == state));
            }
        }
    }

    fn end(mut self) -> String {
        self.0.push_str("# EOF\n");
        self.0
    }
}

/// Escapes the value of a label, so that the value has no line breaks, whatever the text is.
fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            // Prometheus ignores control characters, but a terminal does not.
            control if control.is_control() => text.push('\u{fffd}'),
            other => text.push(other),
        }
    }
    text
}
