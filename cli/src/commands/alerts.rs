//! `resemble alerts`: lists the changes that made a file resemble another.

pub(super) mod ack;

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::time::Duration;

use resemble_arguments::values::Since;
use resemble_arguments::{AlertsAction, AlertsArgs, Global, RowFormat};
use resemble_proto::client::{Client, ClientError};
use resemble_proto::clock;
use resemble_proto::message::{AlertRow, Answer, FailureKind, PairRelation};
use resemble_proto::places::{self, Env};
use resemble_proto::report::Head;
use resemble_report::quote::quoted;
use serde::Serialize;

use crate::backend;
use crate::error::{CliError, CliResult, Outcome};
use crate::lists;
use crate::owners::{self, FileOwners};
use crate::ui::Ui;

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &AlertsArgs) -> CliResult {
    if let Some(AlertsAction::Ack(args)) = &args.action {
        return ack::run(ui, env, global, args);
    }
    if args.follow && args.output.format == RowFormat::Json {
        return Err(CliError::Usage(
            "--follow has no end, but a JSON document has one: use --format jsonl".to_owned(),
        ));
    }
    if args.digest && args.output.format != RowFormat::Text {
        return Err(CliError::Usage(
            "a digest is a page for people: without --digest, --format gives the rows".to_owned(),
        ));
    }
    let client = backend::daemon(env, global);
    let (client, mut answer) = match client {
        Ok(client) => {
            let answer = client.alerts()?;
            (Some(client), answer)
        }
        Err(error) if args.follow || backend::is_busy(&error) => return Err(error),
        Err(error) => match logged(env, global) {
            Some((path, rows)) => {
                ui.note(&format!(
                    "{error}; these are the alerts of its log {}",
                    quoted(&path)
                ));
                (None, Answer::fresh(rows, Vec::new()))
            }
            None => return Err(error),
        },
    };
    let last = answer.rows.last().map_or(0, |row| row.seq);
    let relations = &args.filter.relation;
    let is_asked = |row: &AlertRow| PairRelation::accept(relations, row.relation);
    answer.rows.retain(is_asked);
    match args.since {
        Some(since) => answer.rows.retain(|row| is_since(row, since)),
        None if args.follow => answer.rows.clear(),
        None => {}
    }
    let has_owners = owners::are_shown(global, args.output.format.is_json());
    if has_owners {
        add_owners(&mut answer.rows);
    }
    ui.redirect(args.output.output.as_deref());
    let since = args.since.map(|since| match since {
        Since::Number(number) => format!("{number}"),
        Since::Time(time) => resemble_report::human::utc(time),
        Since::Ago(ago) => resemble_report::human::utc(before_now(ago)),
    });
    let parameters = AlertsParameters {
        follow: args.follow,
        since: since.as_deref(),
        digest: args.digest,
        relation: relations,
    };
    if answer.rows.is_empty() && !args.follow {
        ui.note(match &since {
            None => "no alerts so far; `resemble alerts --follow` waits for the next one",
            Some(_) => "no alerts since then",
        });
    }
    let head = Head::new("alerts", parameters, answer.header);
    let (rows, errors) = (&answer.rows, &answer.errors);
    if args.digest && args.output.format == RowFormat::Text {
        ui.page();
        let page = resemble_notify::digest(rows, ui.style());
        ui.write(|out| out.write_all(page.as_bytes()))?;
        return Ok(Outcome::of(!rows.is_empty()));
    }
    if !args.follow {
        if lists::is_table(&args.output) && !rows.is_empty() {
            lists::heading(ui, lists::LARGER_SHARE)?;
        }
        lists::print(ui, &args.output, &head, "alerts", rows, errors, false)?;
        return Ok(Outcome::of(!rows.is_empty()));
    }
    lists::print_head::<_, AlertRow>(ui, &args.output, &head)?;
    for row in rows {
        lists::print_one(ui, &args.output, row)?;
    }
    // Without a daemon there is nothing to follow. The error about that was returned above.
    let Some(client) = client else {
        return Ok(Outcome::DoesNot);
    };
    let mut follower = Follower::new(client, last);
    while !ui.is_cut() {
        let mut row = follower.next(&mut |text| ui.note(text), env, global)?;
        if is_asked(&row) {
            if has_owners {
                add_owners(std::slice::from_mut(&mut row));
            }
            lists::print_one(ui, &args.output, &row)?;
        }
    }
    Ok(Outcome::Holds)
}

/// Adds the current owners of the files.
fn add_owners(rows: &mut [AlertRow]) {
    let mut owners = FileOwners::default();
    for row in rows {
        (row.owner_a, row.owner_b) = (owners.of(&row.a), owners.of(&row.b));
    }
}

/// The parameters of the question, for documents.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(super) struct AlertsParameters<'a> {
    /// Whether the output goes on with alerts that are raised later.
    follow: bool,
    /// The bound of the alerts: after this number, or at this time (UTC) and later.
    since: Option<&'a str>,
    /// Whether text output is a digest.
    digest: bool,
    /// The relations that rows may have. It is empty if every relation is allowed.
    #[serde(skip_serializing_if = "<[PairRelation]>::is_empty")]
    relation: &'a [PairRelation],
}

/// Returns the path of the log in the state folder, and its alerts. Like the daemon, it skips lines
/// that are no alerts. Returns `None` if a daemon is required, or if the log cannot be found or
/// opened.
fn logged(env: &Env, global: &Global) -> Option<(PathBuf, Vec<AlertRow>)> {
    if backend::is_daemon_required(env, global) {
        return None;
    }
    let state = places::state_dir(env, global.state.as_deref()).ok()?;
    let path = places::alerts_file(&state);
    let lines = BufReader::new(File::open(&path).ok()?).split(b'\n');
    let rows = lines.map_while(Result::ok);
    let rows = rows.filter_map(|line| serde_json::from_slice(&line).ok());
    Some((path, rows.collect()))
}

fn is_since(row: &AlertRow, since: Since) -> bool {
    match since {
        Since::Number(number) => row.seq > number,
        Since::Time(time) => row.time >= time,
        Since::Ago(ago) => row.time >= before_now(ago),
    }
}

fn before_now(ago: Duration) -> u64 {
    clock::now().saturating_sub(ago.as_secs())
}

/// The first pause between two attempts to reach a daemon that is gone, and the longest one. Each
/// pause is twice as long as the one before.
const FIRST_PAUSE: Duration = Duration::from_millis(100);
const LONGEST_PAUSE: Duration = Duration::from_secs(5);

/// Receives alerts as they arrive, each once, even if the daemon restarts. The number of an alert
/// identifies it.
pub(super) struct Follower {
    /// `None` while the daemon is gone.
    client: Option<Client>,
    rows: Option<resemble_proto::client::Rows<AlertRow>>,
    /// The number of the last alert that was seen.
    last: u64,
}

impl Follower {
    /// Continues after the alert with this number.
    pub(super) const fn new(client: Client, last: u64) -> Self {
        Self {
            client: Some(client),
            rows: None,
            last,
        }
    }

    /// Waits for the next alert and returns it.
    pub(super) fn next(
        &mut self,
        note: &mut dyn FnMut(&str),
        env: &Env,
        global: &Global,
    ) -> CliResult<AlertRow> {
        loop {
            let error = match self.try_next() {
                Ok(Some(row)) => {
                    self.note_gap(note, row.seq);
                    self.last = row.seq;
                    return Ok(row);
                }
                Ok(None) => ClientError::CutOff,
                Err(error) => error,
            };
            self.rows = None;
            self.client = None;
            if !is_passing(&error) {
                return Err(error.into());
            }
            note("the daemon is gone; alerts go on when it is back");
            self.client = Some(self.reconnect(env, global)?);
            note("the daemon is back");
        }
    }

    fn try_next(&mut self) -> Result<Option<AlertRow>, ClientError> {
        let Some(client) = &self.client else {
            return Ok(None);
        };
        let rows = match &mut self.rows {
            Some(rows) => rows,
            rows => rows.insert(client.follow_alerts(self.last)?),
        };
        rows.next().transpose()
    }

    /// Waits until a daemon answers. If the last number in the daemon's log is lower than `last`,
    /// the log is new. Then none of its alerts has been seen.
    fn reconnect(&mut self, env: &Env, global: &Global) -> CliResult<Client> {
        let mut pause = FIRST_PAUSE;
        loop {
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
            let reached = backend::daemon(env, global).and_then(|client| {
                let last = client.alerts()?.rows.last().map_or(0, |row| row.seq);
                Ok((client, last))
            });
            match reached {
                Ok((client, last)) => {
                    if last < self.last {
                        self.last = 0;
                    }
                    return Ok(client);
                }
                Err(CliError::NobodyAnswers(_)) => {}
                Err(CliError::Daemon(error)) if is_passing(&error) => {}
                Err(error) => return Err(error),
            }
        }
    }

    fn note_gap(&self, note: &mut dyn FnMut(&str), next: u64) {
        let missed = next.saturating_sub(self.last + 1);
        if missed > 0 && self.last > 0 {
            let counted = resemble_report::human::counted(missed, "alert");
            note(&format!("{counted} before this one are not kept any more"));
        }
    }
}

/// Returns whether an error is transient: the daemon is ending, busy, slow or gone.
fn is_passing(error: &ClientError) -> bool {
    match error {
        ClientError::Failed(failure) => {
            matches!(failure.kind, FailureKind::ShuttingDown | FailureKind::Busy)
        }
        ClientError::NoDaemon { .. } | ClientError::CutOff | ClientError::Slow(_) => true,
        ClientError::Frame(error) => matches!(error, resemble_proto::frame::FrameError::Io(_)),
        _ => false,
    }
}
