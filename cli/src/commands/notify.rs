//! `resemble notify`: shows alerts to a person, in that person's session.
//!
//! One thread receives alerts from the daemon. The main thread delivers them, in the order of their
//! numbers and each at least once. It begins where an earlier run stopped, as the daemon's own
//! sinks do.

use std::io;
use std::path::PathBuf;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use resemble_arguments::{Global, NotifyArgs};
use resemble_core::Relation;
use resemble_notify::{
    Filter, Input, Mail, News, Now, Outlet, Pace, Places, Program, Sent, Sink, sentence,
};
use resemble_proto::clock;
use resemble_proto::message::{AlertKind, AlertRow};
use resemble_proto::pattern::Patterns;
use resemble_proto::places::{self, Env};
use resemble_report::human::counted;
use resemble_report::quote::quoted;

use super::alerts::Follower;
use crate::backend;
use crate::error::{CliError, CliResult, Outcome};
use crate::ui::Ui;

mod dbus;

/// Name of the file, in the state folder, that has the number of the last delivered alert.
const PLACES_FILE: &str = "notify.json";
/// Time limit of a program that is run for an alert.
const LIMIT: Duration = Duration::from_secs(30);
/// The pause between two mails.
const MAIL_EVERY: Duration = Duration::from_secs(600);

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &NotifyArgs) -> CliResult {
    let (name, pace, sink) = sink(args)?;
    let client = backend::daemon(env, global)?;
    let state = places::state_dir(env, global.state.as_deref())?;
    places::private_dir(&state, env.uid)?;
    let rows = client.alerts()?.rows;
    let last = rows.last().map_or(0, |row| row.seq);
    let mut places = Places::open(&state.join(PLACES_FILE));
    let place = places.of(name, last);
    let after = place.after;
    let mut teller = AlertNotifier {
        outlet: Outlet::new(name, filter(args)?, pace, sink, place),
        rows: rows.into_iter().filter(|row| row.seq > after).collect(),
        failing: None,
    };
    // The delivery position is saved before the first alert is delivered, so that a restart loses
    // no alert.
    teller.keep(&mut places)?;
    if args.once {
        return teller.tell_once(ui, &mut places);
    }
    let (events, heard) = channel();
    let (env, global) = (env.clone(), global.clone());
    std::thread::spawn(move || {
        let mut follower = Follower::new(client, last);
        loop {
            let mut note = |text: &str| {
                let _heard = events.send(Event::Note(text.to_owned()));
            };
            let next = follower.next(&mut note, &env, &global);
            let is_end = next.is_err();
            let event = match next {
                Ok(row) => Event::Row(Box::new(row)),
                Err(error) => Event::End(error.to_string()),
            };
            if events.send(event).is_err() || is_end {
                return;
            }
        }
    });
    teller.tell(ui, &mut places, &heard)
}

/// The messages of the thread that receives alerts.
enum Event {
    Row(Box<AlertRow>),
    Note(String),
    End(String),
}

/// The `Outlet` that delivers alerts, and the alerts that are not delivered yet.
struct AlertNotifier {
    outlet: Outlet,
    rows: Vec<AlertRow>,
    failing: Option<String>,
}

impl AlertNotifier {
    fn tell(&mut self, ui: &mut Ui, places: &mut Places, heard: &Receiver<Event>) -> CliResult {
        loop {
            let next = self.step(ui, places)?;
            let pause = next.map_or(Duration::MAX, |at| {
                at.saturating_duration_since(Instant::now())
            });
            match heard.recv_timeout(pause.min(Duration::from_secs(3600))) {
                Ok(Event::Row(row)) => self.take(*row),
                Ok(Event::Note(text)) => ui.note(&text),
                Ok(Event::End(error)) => return Err(CliError::NobodyAnswers(error)),
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return Ok(Outcome::DoesNot),
            }
        }
    }

    /// Delivers the pending alerts, without waiting for new ones. Gives up if a delivery fails or
    /// must wait longer than a second. Returns whether all were delivered.
    fn tell_once(&mut self, ui: &mut Ui, places: &mut Places) -> CliResult {
        while let Some(next) = self.step(ui, places)? {
            let pause = next.saturating_duration_since(Instant::now());
            if self.failing.is_some() || pause > Duration::from_secs(1) {
                return Ok(Outcome::DoesNot);
            }
            std::thread::sleep(pause);
        }
        Ok(Outcome::Holds)
    }

    fn take(&mut self, row: AlertRow) {
        let last = self
            .rows
            .last()
            .map_or(self.outlet.place().after, |row| row.seq);
        if row.seq <= last {
            // The number of the alert is not higher than the last number, so the daemon has a new
            // log.
            self.rows.clear();
            self.outlet.go_on_after(row.seq - 1);
        }
        self.rows.push(row);
    }

    fn step(&mut self, ui: &mut Ui, places: &mut Places) -> CliResult<Option<Instant>> {
        let now = Now {
            at: Instant::now(),
            time: clock::now(),
        };
        let rows = &self.rows;
        let step = self.outlet.step(now, |number| {
            let later = rows.iter().filter(|row| row.seq > number);
            later.cloned().collect()
        });
        if step.has_moved {
            self.keep(places)?;
            let after = self.outlet.place().after;
            self.rows.retain(|row| row.seq > after);
        }
        let failing = self.outlet.status(now.at).failing;
        if failing != self.failing {
            match &failing {
                Some(reason) => ui.note(&format!("alerts are not delivered: {reason}")),
                None => ui.note("alerts are delivered again"),
            }
            self.failing = failing;
        }
        Ok(step.next)
    }

    fn keep(&self, places: &mut Places) -> CliResult<()> {
        let kept = places.set([(self.outlet.name(), self.outlet.place())]);
        kept.map_err(CliError::file("write", PLACES_FILE.as_ref()))
    }
}

fn filter(args: &NotifyArgs) -> CliResult<Filter> {
    let real = |root: &PathBuf| std::fs::canonicalize(root).map_err(CliError::file("find", root));
    Ok(Filter {
        roots: args.roots.iter().map(real).collect::<Result<_, _>>()?,
        min: args.min,
        kinds: args.kinds.as_ref().map(|kinds| kinds.0.clone()),
        patterns: Patterns::new(&[], &args.exclude)?,
    })
}

fn sink(args: &NotifyArgs) -> CliResult<(&'static str, Pace, Box<dyn Sink>)> {
    let one_by_one = Pace::Each(args.rate.max(1));
    if !args.command.is_empty() {
        let program = Program {
            command: args.command.clone(),
            input: Input::Json,
            limit: LIMIT,
        };
        return Ok(("command", one_by_one, Box::new(program)));
    }
    if args.mail.is_empty() {
        return Ok(("desktop", one_by_one, Box::new(Desktop)));
    }
    if let Some(bad) = args.mail.iter().find(|address| !Mail::is_address(address)) {
        return Err(CliError::Usage(format!("{bad:?} is no address")));
    }
    let mail = Mail {
        program: args.sendmail.clone(),
        to: args.mail.clone(),
        from: None,
        limit: LIMIT,
    };
    Ok(("mail", Pace::Gathered(MAIL_EVERY), Box::new(mail)))
}

/// Notifications on the desktop.
#[derive(Debug)]
struct Desktop;

impl Sink for Desktop {
    fn kind(&self) -> &'static str {
        "desktop"
    }

    fn send(&mut self, news: &News<'_>) -> io::Result<Sent> {
        for row in news.rows {
            dbus::notify(&title(row), &sentence(row))?;
        }
        Ok(Sent::Done)
    }
}

/// Returns the title of a notification. Its text is a sentence about the alert.
fn title(row: &AlertRow) -> String {
    let name = row
        .a
        .as_path()
        .file_name()
        .unwrap_or(row.a.as_path().as_os_str());
    let name = quoted(name);
    match (row.kind, row.relation) {
        (AlertKind::Summary, _) => counted(row.files, "more similar file"),
        (AlertKind::Tree, _) => format!("{name}: a copied folder"),
        (AlertKind::File, Some(Relation::Identical)) => format!("{name}: an identical copy"),
        (AlertKind::File, _) => {
            let share = row.a_in_b.max(row.b_in_a).percent(false);
            let share = share.map_or(String::new(), |share| format!(" ({share}%)"));
            format!("{name}: a similar file{share}")
        }
    }
}
