//! `resemble doctor`: finds what keeps the daemon from working well, and names remedies.
//!
//! It changes nothing. A *wrong* state makes the exit code 1; a *note* does not. If a command
//! remedies a wrong state, that command is printed.

mod machine;
mod places;

use std::path::Path;

use resemble_arguments::{DoctorArgs, DocumentFormat, Global};
use resemble_proto::VERSION;
use resemble_proto::message::{RootState, StatusAnswer};
use resemble_proto::places::Env;
use resemble_proto::report::json_line;
use resemble_report::human::{counted, human_count, human_size};
use resemble_report::quote::{harmless, quoted};
use serde::Serialize;

use crate::backend;
use crate::error::{CliResult, Outcome};
use crate::ui::{Cell, Tint, Ui};

/// The result of a check.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
struct Check {
    /// What was looked at.
    #[serde(rename = "check")]
    about: &'static str,
    state: Verdict,
    /// What was found: one sentence.
    text: String,
    /// What to type.
    #[serde(skip_serializing_if = "Option::is_none")]
    remedy: Option<String>,
}

#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Verdict {
    Ok,
    Note,
    Wrong,
}

impl Check {
    fn new(about: &'static str, state: Verdict, text: impl Into<String>) -> Self {
        Self {
            about,
            state,
            text: text.into(),
            remedy: None,
        }
    }

    fn ok(about: &'static str, text: impl Into<String>) -> Self {
        Self::new(about, Verdict::Ok, text)
    }

    fn note(about: &'static str, text: impl Into<String>) -> Self {
        Self::new(about, Verdict::Note, text)
    }

    fn wrong(about: &'static str, text: impl Into<String>) -> Self {
        Self::new(about, Verdict::Wrong, text)
    }

    fn mended_by(self, remedy: impl Into<String>) -> Self {
        Self {
            remedy: Some(remedy.into()),
            ..self
        }
    }
}

pub(super) fn run(ui: &mut Ui, env: &Env, global: &Global, args: &DoctorArgs) -> CliResult {
    let asked = backend::whose_daemon(env, global)
        .and_then(|(client, is_of_system)| Ok((backend::status(&client)?, is_of_system)));
    let is_of_system = matches!(asked, Ok((_, true)));
    let asked = asked.map(|(status, _)| status);
    let (status, mut checks) = match asked {
        Ok(status) => {
            let checks = of_daemon(&status);
            (Some(status), checks)
        }
        Err(error) => (None, vec![Check::wrong("daemon", error.to_string())]),
    };
    if is_of_system {
        // The system's daemon mounts its own overlay, so this user need not be able to mount an
        // overlay.
        if status
            .as_ref()
            .is_some_and(|status| !status.mounts.is_empty())
        {
            checks.push(machine::overlay(status.as_ref()));
        }
        let text = "it is the system's: its resources and problems are shown to root and the group \
                    `resemble`, and by `systemctl status resembled-system`";
        checks.push(Check::note("daemon", text));
    } else {
        checks.extend(machine::limits(Path::new("/proc/sys"), status.as_ref()));
        checks.push(machine::fences());
        checks.push(machine::overlay(status.as_ref()));
        checks.extend(places::all(env, global, status.as_ref()));
        checks.extend(machine::unit());
    }
    ui.redirect(args.output.output.as_deref());
    match args.output.format {
        DocumentFormat::Json => ui.write_data(|out| json_line(out, &Findings::of(&checks)))?,
        DocumentFormat::Text => print(ui, &checks)?,
    }
    let is_wrong = checks.iter().any(|check| check.state == Verdict::Wrong);
    Ok(Outcome::of(!is_wrong))
}

/// The JSON of `doctor`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Serialize)]
pub(super) struct Findings<'a> {
    schema: u32,
    version: &'static str,
    command: &'static str,
    parameters: NoParameters,
    checks: &'a [Check],
    errors: [(); 0],
}

#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Serialize)]
struct NoParameters {}

impl<'a> Findings<'a> {
    const fn of(checks: &'a [Check]) -> Self {
        Self {
            schema: resemble_proto::SCHEMA,
            version: VERSION,
            command: "doctor",
            parameters: NoParameters {},
            checks,
            errors: [],
        }
    }
}

/// Prints wrong states first, and good ones only with `-v`.
fn print(ui: &mut Ui, checks: &[Check]) -> CliResult<()> {
    let of = |state| checks.iter().filter(move |check| check.state == state);
    let verbose = ui.is_verbose();
    let well = of(Verdict::Ok).count();
    let shown = of(Verdict::Wrong)
        .chain(of(Verdict::Note))
        .chain(of(Verdict::Ok).filter(|_| verbose));
    for check in shown {
        let (word, tint) = match check.state {
            Verdict::Ok => ("ok:", Tint::Good),
            Verdict::Note => ("note:", Tint::Faint),
            Verdict::Wrong => ("wrong:", Tint::Notable),
        };
        let line = vec![
            Cell::left(word, tint),
            Cell::left(check.about, Tint::Heading),
            Cell::left(harmless(&check.text), Tint::Plain),
        ];
        ui.lines(&[line], b'\n')?;
        if let Some(remedy) = &check.remedy {
            let line = vec![
                Cell::left("  to mend it:", Tint::Faint),
                Cell::left(harmless(remedy), Tint::Plain),
            ];
            ui.lines(&[line], b'\n')?;
        }
    }
    if !verbose {
        let rest = format!("{} well", counted(well as u64, "thing"));
        ui.lines(&[vec![Cell::left(rest, Tint::Faint)]], b'\n')?;
    }
    Ok(())
}

/// Checks what the daemon reports about itself.
fn of_daemon(status: &StatusAnswer) -> Vec<Check> {
    let process = &status.process;
    let mut checks = vec![Check::ok(
        "daemon",
        match status.pid {
            // The daemon reports no figures to a user who may not see everything.
            0 => "it answers".to_owned(),
            pid => {
                let memory = human_size(process.resident_bytes);
                format!("process {pid} answers; it takes {memory} of memory")
            }
        },
    )];
    if process.version != VERSION {
        let text = format!(
            "the daemon is of version {}, and this command of {VERSION}",
            process.version
        );
        checks.push(Check::wrong("version", text).mended_by("systemctl --user restart resembled"));
    }
    for trouble in &status.degraded {
        let text = format!("{}: {}", quoted(trouble.path.as_path()), trouble.reason);
        let check = Check::wrong("degraded", text);
        checks.push(match &trouble.remedy {
            Some(remedy) => check.mended_by(remedy),
            None => check,
        });
    }
    for root in &status.roots {
        let path = quoted(root.path.as_path());
        match root.state {
            RootState::Unavailable => {
                let text = format!("{path} cannot be reached; its last answers stay");
                checks.push(Check::wrong("root", text));
            }
            RootState::Scanning => {
                let files = human_count(root.pending);
                let text = format!("{path} is being scanned, {files} files to go");
                checks.push(Check::note("root", text));
            }
            RootState::Live | RootState::Degraded | RootState::Catalogue => {}
        }
        if root.unreadable > 0 {
            let names = human_count(root.unreadable);
            checks.push(Check::note(
                "root",
                format!("{names} files or directories of {path} cannot be read"),
            ));
        }
        if root.unopened > 0 {
            let documents = counted(root.unopened, "document");
            checks.push(Check::note(
                "root",
                format!(
                    "{documents} of {path} could not be read in full; `resemble status -v` names \
                     them"
                ),
            ));
        }
    }
    for sink in &status.notify {
        if let Some(reason) = &sink.failing {
            let text = format!("alerts do not arrive at {}: {reason}", sink.name);
            checks.push(Check::wrong("alerts", text));
        }
    }
    checks
}

#[cfg(test)]
mod tests;
