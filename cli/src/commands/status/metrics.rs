//! The state of the daemon in the text format of `OpenMetrics`, which Prometheus and the textfile
//! collector of its node exporter read.
//!
//! There are gauges and counters only: the collector refuses a file with types that it does not
//! know, such as `info`.

use std::fmt::Write;

use resemble_proto::message::{RootState, RootStatus, StatusAnswer};

/// The name, the help and the figure of a root.
type RootFigure = (&'static str, &'static str, fn(&RootStatus) -> u64);

/// All figures.
pub(super) fn of(status: &StatusAnswer) -> String {
    let mut text = Metrics::default();
    text.one("up", Kind::Gauge, "Whether the daemon answers", 1);
    let is_live = u64::from(status.is_live());
    text.one(
        "live",
        Kind::Gauge,
        "Whether nothing is scanned or degraded",
        is_live,
    );
    text.one(
        "fresh",
        Kind::Gauge,
        "Whether nothing is known to be stale",
        status.fresh.into(),
    );
    text.one(
        "lag_seconds",
        Kind::Gauge,
        "Age of the oldest change to be read",
        status.lag_seconds,
    );
    let troubles = status.degraded.len() as u64;
    text.one(
        "degraded",
        Kind::Gauge,
        "Troubles that status names",
        troubles,
    );
    text.root_states(&status.roots);
    let of_roots: [RootFigure; 8] = [
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
    for (name, help, figure) in of_roots {
        text.family(name, Kind::Gauge, help);
        for root in &status.roots {
            text.sample(name, &[("root", &shown(root))], figure(root));
        }
    }
    let (index, watch, process) = (&status.index, &status.watch, &status.process);
    let waiting = status.notify.iter().map(|sink| sink.waiting).sum();
    let failing = status
        .notify
        .iter()
        .filter(|sink| sink.failing.is_some())
        .count() as u64;
    for (name, kind, help, figure) in [
        ("index_bytes", Kind::Gauge, "Size of the index", index.bytes),
        (
            "index_contents",
            Kind::Gauge,
            "Contents in the index",
            index.contents,
        ),
        (
            "index_chunks",
            Kind::Gauge,
            "Chunks, repeats counted",
            index.chunks,
        ),
        (
            "files_read",
            Kind::Counter,
            "Files read since the start",
            index.files_read,
        ),
        (
            "read_bytes",
            Kind::Counter,
            "Bytes read since the start",
            index.bytes_read,
        ),
        (
            "watched_directories",
            Kind::Gauge,
            "Directories with a watch",
            watch.directories,
        ),
        (
            "polled_directories",
            Kind::Gauge,
            "Directories without one",
            watch.polled,
        ),
        (
            "event_overflows",
            Kind::Counter,
            "Times that events were lost",
            watch.overflows,
        ),
        (
            "assumed_files",
            Kind::Gauge,
            "Grown files to be verified",
            status.assumed,
        ),
        (
            "questions",
            Kind::Gauge,
            "Questions being computed",
            status.questions,
        ),
        (
            "mounts",
            Kind::Gauge,
            "Mounted overlays",
            status.mounts.len() as u64,
        ),
        (
            "alerts_waiting",
            Kind::Gauge,
            "Alerts to be delivered, over all sinks",
            waiting,
        ),
        (
            "sinks_failing",
            Kind::Gauge,
            "Sinks of alerts that fail",
            failing,
        ),
        (
            "uptime_seconds",
            Kind::Gauge,
            "Time since the start",
            process.uptime_seconds,
        ),
        (
            "resident_memory_bytes",
            Kind::Gauge,
            "Memory",
            process.resident_bytes,
        ),
        (
            "peak_memory_bytes",
            Kind::Gauge,
            "Most memory since the start",
            process.peak_bytes,
        ),
        ("open_fds", Kind::Gauge, "Open files", process.descriptors),
        (
            "max_fds",
            Kind::Gauge,
            "Files that may be open",
            process.most_descriptors,
        ),
    ] {
        text.one(name, kind, help, figure);
    }
    text.family("build", Kind::Gauge, "The version of the daemon");
    text.sample("build", &[("version", &process.version)], 1);
    text.end()
}

/// What is said where no daemon answers.
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

    /// A family of one sample.
    fn one(&mut self, name: &str, kind: Kind, help: &str, value: u64) {
        self.family(name, kind, help);
        match kind {
            Kind::Gauge => self.sample(name, &[], value),
            Kind::Counter => self.sample(&format!("{name}_total"), &[], value),
        }
    }

    /// For each root, which of the states it is in.
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

/// The value of a label: one line, whatever is in it.
fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            '\\' => text.push_str("\\\\"),
            '"' => text.push_str("\\\""),
            '\n' => text.push_str("\\n"),
            // They mean nothing to Prometheus, and something to the terminal that shows the file.
            control if control.is_control() => text.push('\u{fffd}'),
            other => text.push(other),
        }
    }
    text
}
