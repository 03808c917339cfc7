//! `resemble lab`: runs `resemble-lab`.
//!
//! The laboratory is a separate program, so none of its code is linked here. `resemble-lab`
//! replaces this process, so output, exit code and signal handling are those of `resemble-lab`.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use resemble_arguments::{ColorWhen, Global, LabArgs};

use crate::error::{CliError, CliResult};

const PROGRAM: &str = "resemble-lab";

pub(super) fn run(global: &Global, args: &LabArgs) -> CliResult {
    if global.socket.is_some() {
        let text = "the laboratory asks no daemon: leave out --socket";
        return Err(CliError::Usage(text.to_owned()));
    }
    let installed = super::installed(PROGRAM);
    let program = installed.clone().unwrap_or_else(|| PathBuf::from(PROGRAM));
    let source = Command::new(&program)
        .args(of_all_commands(global))
        .args(&args.args)
        .exec();
    if installed.is_none() && source.kind() == io::ErrorKind::NotFound {
        return Err(CliError::NobodyAnswers(format!(
            "there is no program {PROGRAM}, beside this one or in PATH: it is installed with \
             `just install`, or with `cargo install --locked --path lab/lab`"
        )));
    }
    Err(CliError::file("run", &program)(source))
}

/// Returns the options that were given before `lab`. `resemble-lab` has the same options. `--local`
/// is left out, because `resemble-lab` asks no daemon in any case.
fn of_all_commands(global: &Global) -> Vec<OsString> {
    let mut args = Vec::new();
    let color = match global.color {
        ColorWhen::Auto => None,
        ColorWhen::Always => Some("--color=always"),
        ColorWhen::Never => Some("--color=never"),
    };
    args.extend(color.map(OsString::from));
    let switches = [
        (global.quiet, "--quiet"),
        (global.verbose, "--verbose"),
        (global.no_pager, "--no-pager"),
    ];
    let switches = switches.into_iter().filter(|(given, _)| *given);
    args.extend(switches.map(|(_, switch)| OsString::from(switch)));
    if let Some(state) = &global.state {
        args.extend(["--state".into(), state.clone().into_os_string()]);
    }
    args
}
