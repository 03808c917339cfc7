//! `resemble status`: prints what the daemon watches and whether its answers are up to date.

use resemble_arguments::{Global, StatusArgs, StatusFormat};
use resemble_proto::message::{RootState, RootStatus, SinkStatus, StatusAnswer};
use resemble_proto::places::Env;
use resemble_proto::report::json_line;
use resemble_report::human::{counted, human_count, human_size};
use resemble_report::quote::harmless;
use resemble_report::rows::{alerts_in_words, rules_in_words};
use serde::Serialize;

use crate::backend;
use crate::error::{CliResult, Outcome};
use crate::ui::{Cell, Tint, Ui};

mod metrics;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &StatusArgs) -> CliResult {
    let asked = backend::whose_daemon(env, global)
        .and_then(|(client, is_of_system)| Ok((backend::status(&client)?, is_of_system)));
    ui.redirect(args.output.as_deref());
    let (status, is_of_system) = match asked {
        Ok(asked) => asked,
        Err(error) => {
            if args.format == StatusFormat::Openmetrics {
                ui.write(|out| out.write_all(metrics::of_none().as_bytes()))?;
            }
            return Err(error);
        }
    };
    match args.format {
        StatusFormat::Json => ui.write_data(|out| json_line(out, &Document::of(&status)))?,
        StatusFormat::Openmetrics => {
            ui.write(|out| out.write_all(metrics::of(&status).as_bytes()))?;
        }
        StatusFormat::Text => {
            if is_of_system {
                let line =
                    "the system's daemon answers, each user from the files that they may read";
                ui.lines(&[vec![Cell::left(line, Tint::Faint)]], b'\n')?;
            }
            if is_of_system && status.pid == 0 {
                print_roots(ui, &status)?;
            } else {
                print(ui, &status)?;
            }
        }
    }
    Ok(Outcome::of(status.is_live()))
}

/// A change that waits for this many seconds or more is overdue. A change is read within 10
/// seconds, unless reading the file takes long.
const LAGGING: u64 = 11;

/// The JSON of `status`: the answer with the fields that every document has.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Serialize)]
pub(super) struct Document<'a> {
    schema: u32,
    version: &'static str,
    command: &'static str,
    parameters: Nothing,
    pending: u64,
    #[serde(flatten)]
    status: &'a StatusAnswer,
    errors: [(); 0],
}

#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Serialize)]
struct Nothing {}

impl<'a> Document<'a> {
    fn of(status: &'a StatusAnswer) -> Self {
        Self {
            schema: resemble_proto::SCHEMA,
            version: resemble_proto::VERSION,
            command: "status",
            parameters: Nothing {},
            pending: status.roots.iter().map(|root| root.pending).sum(),
            status,
            errors: [],
        }
    }
}

const fn tint(state: RootState) -> Tint {
    match state {
        RootState::Live => Tint::Good,
        RootState::Catalogue => Tint::Plain,
        RootState::Scanning | RootState::Degraded | RootState::Unavailable => Tint::Notable,
    }
}

/// Prints only the roots, because the system's daemon reports no totals to a user who may not see
/// all files.
fn print_roots(ui: &mut Ui, status: &StatusAnswer) -> CliResult<()> {
    let row = |ui: &Ui, root: &RootStatus| {
        vec![
            ui.name(&root.path, Tint::Heading),
            Cell::left(root.state.word(), tint(root.state)),
        ]
    };
    let lines: Vec<_> = status.roots.iter().map(|root| row(ui, root)).collect();
    ui.lines(&lines, b'\n')
}

fn print(ui: &mut Ui, status: &StatusAnswer) -> CliResult<()> {
    let roots: Vec<_> = status
        .roots
        .iter()
        .map(|root| root_line(ui, root))
        .collect();
    ui.lines(&roots, b'\n')?;
    let mut lines = index_lines(status);
    lines.extend(wait_lines(ui, status));
    if ui.is_verbose() {
        lines.extend(process_lines(ui, status));
    }
    lines.extend(mount_lines(ui, status));
    lines.extend(status.notify.iter().map(sink_line));
    lines.extend(trouble_lines(ui, status));
    for line in lines {
        // Each line is a sentence and not a row of a table, so it is laid out alone.
        ui.lines(&[line], b'\n')?;
    }
    Ok(())
}

/// Returns the line about a root: its path, its state, its files and bytes, its scan rules and its
/// alert rules. Other counts are included if they are not zero.
fn root_line(ui: &Ui, root: &RootStatus) -> Vec<Cell> {
    let mut line = vec![
        ui.name(&root.path, Tint::Heading),
        Cell::left(root.state.word(), tint(root.state)),
        Cell::right(format!("{} files", human_count(root.files)), Tint::Plain),
        Cell::right(human_size(root.bytes), Tint::Plain),
    ];
    let counts = [
        (root.pending, "to be read", Tint::Plain),
        (root.unreadable, "unreadable", Tint::Notable),
        (root.skipped, "left out", Tint::Faint),
        (root.hidden, "hidden by the view", Tint::Faint),
        (root.unopened, "not read in full", Tint::Notable),
        (root.hidden_text, "with hidden text", Tint::Faint),
    ];
    for (count, what, tint) in counts.into_iter().filter(|(count, ..)| *count > 0) {
        line.push(Cell::left(format!("{} {what}", human_count(count)), tint));
    }
    let rules = rules_in_words(&root.rules).into_iter();
    line.extend(rules.map(|rule| Cell::left(rule, Tint::Faint)));
    let alerts = alerts_in_words(&root.alerts).into_iter();
    line.extend(alerts.map(|rule| Cell::left(rule, Tint::Faint)));
    line
}

/// Returns the lines about the size of the index, and about changes that are not in it yet.
fn index_lines(status: &StatusAnswer) -> Vec<Vec<Cell>> {
    let mut lines = vec![vec![Cell::left(
        format!(
            "index: {} contents, {} chunks, {}",
            human_count(status.index.contents),
            human_count(status.index.chunks),
            human_size(status.index.bytes)
        ),
        Tint::Faint,
    )]];
    if status.assumed > 0 {
        let grown = match status.assumed {
            1 => "1 file has grown: what it held before is verified when it is quiet".to_owned(),
            files => format!(
                "{} files have grown: what they held before is verified when they are quiet",
                human_count(files)
            ),
        };
        let grown = format!("{grown}, or by `resemble sync`");
        lines.push(vec![Cell::prose(grown, Tint::Faint)]);
    }
    if status.lag_seconds >= LAGGING {
        let lag = human_count(status.lag_seconds);
        let lag = format!("the oldest change waits for {lag} s to be read");
        lines.push(vec![Cell::left(lag, Tint::Notable)]);
    }
    lines
}

/// Returns the lines about files that changed but are read again only later, because their last
/// reading took long.
fn wait_lines(ui: &Ui, status: &StatusAnswer) -> Vec<Vec<Cell>> {
    let mut lines = Vec::new();
    for wait in &status.waits {
        let when = format!(
            "waits to be read for {} s more: its last reading took {} s",
            human_count(wait.seconds),
            human_count(wait.reading_seconds)
        );
        lines.push(vec![
            ui.name(&wait.path, Tint::Faint),
            Cell::left(when, Tint::Faint),
        ]);
    }
    lines
}

/// Returns the lines about the work of the process, and about files that could not be read in full.
fn process_lines(ui: &Ui, status: &StatusAnswer) -> Vec<Vec<Cell>> {
    let mut lines = Vec::new();
    let since = format!(
        "since its start (process {}): {} files read, {}; {} directories watched, {} polled, \
         {} queue overflows",
        status.pid,
        human_count(status.index.files_read),
        human_size(status.index.bytes_read),
        human_count(status.watch.directories),
        human_count(status.watch.polled),
        human_count(status.watch.overflows)
    );
    lines.push(vec![Cell::left(since, Tint::Faint)]);
    let process = &status.process;
    let takes = format!(
        "version {}, running for {} s; {} of memory, at most {}; {} of {} open files",
        harmless(&process.version),
        human_count(process.uptime_seconds),
        human_size(process.resident_bytes),
        human_size(process.peak_bytes),
        human_count(process.descriptors),
        human_count(process.most_descriptors)
    );
    lines.push(vec![Cell::left(takes, Tint::Faint)]);
    for unopened in &status.unopened {
        lines.push(vec![
            Cell::left("not read in full:", Tint::Faint),
            ui.name(&unopened.path, Tint::Plain),
            Cell::left(harmless(&unopened.reason), Tint::Plain),
        ]);
    }
    lines
}

fn mount_lines(ui: &Ui, status: &StatusAnswer) -> Vec<Vec<Cell>> {
    let mut lines = Vec::new();
    for mount in &status.mounts {
        let mut line = vec![
            Cell::left("overlay:", Tint::Faint),
            ui.name(&mount.path, Tint::Plain),
        ];
        if let Some(link) = &mount.link {
            line.push(Cell::left("linked from", Tint::Faint));
            line.push(ui.name(link, Tint::Plain));
        }
        lines.push(line);
    }
    lines
}

/// Returns the lines about problems and their remedies.
fn trouble_lines(ui: &Ui, status: &StatusAnswer) -> Vec<Vec<Cell>> {
    let mut lines = Vec::new();
    for trouble in &status.degraded {
        let path = ui.name(&trouble.path, Tint::Heading);
        lines.push(vec![
            Cell::left("degraded:", Tint::Notable),
            path,
            Cell::left(harmless(&trouble.reason), Tint::Plain),
        ]);
        if let Some(remedy) = &trouble.remedy {
            lines.push(vec![
                Cell::left("  to mend it:", Tint::Faint),
                Cell::left(harmless(remedy), Tint::Plain),
            ]);
        }
    }
    lines
}

/// Returns the line about a sink, which is a destination of alerts.
fn sink_line(sink: &SinkStatus) -> Vec<Cell> {
    let mut line = vec![
        Cell::left("alerts to:", Tint::Faint),
        Cell::left(harmless(&sink.name), Tint::Plain),
    ];
    let waiting = format!("{} to be delivered", counted(sink.waiting, "alert"));
    match &sink.failing {
        Some(reason) => {
            let retry = human_count(sink.retry_seconds.unwrap_or(0));
            let reason = harmless(reason);
            let what = format!("failing: {reason}; {waiting}, tried again in {retry} s");
            line.push(Cell::left(what, Tint::Notable));
        }
        None if sink.waiting > 0 => line.push(Cell::left(waiting, Tint::Faint)),
        None => {}
    }
    line
}

#[cfg(test)]
#[path = "status_tests.rs"]
mod tests;
