//! Runs the program of `$DIFF` on two files.
//!
//! The value of `$DIFF` is split at blanks and run without a shell. So a file name is never a
//! command, and `DIFF='diff -u --color'` works. The program writes to the terminal itself. With
//! `--output`, its standard output is copied into that file instead. Its exit code is ignored,
//! because exit codes mean different things in different programs. (`diff` itself ends with 2 for
//! binary files that differ.)

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::process::ExitStatusExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use resemble_arguments::WhyArgs;
use resemble_report::quote::quoted;
use rustix::process::Signal;

use crate::error::{CliError, CliResult};
use crate::ui::Ui;

const DEFAULT: &str = "diff -u";

pub(super) fn hand_over(ui: &mut Ui, args: &WhyArgs) -> CliResult<()> {
    let value = std::env::var_os("DIFF").unwrap_or_default();
    let mut words = words(&value);
    if words.is_empty() {
        words = self::words(OsStr::new(DEFAULT));
    }
    let program = words.remove(0);
    let failed = |error: io::Error| {
        let reason = match error.kind() {
            io::ErrorKind::NotFound => "there is no such program".to_owned(),
            _ => resemble_proto::message::reason(&error),
        };
        CliError::Usage(format!(
            "cannot run {} to show the differences: {reason}; set DIFF to another",
            quoted(Path::new(&program))
        ))
    };
    let mut command = Command::new(&program);
    command
        .args(&words)
        .arg(operand(&args.a))
        .arg(operand(&args.b));
    // What this process has printed so far must be on the screen before the output of the program.
    ui.flush()?;
    let status = if args.output.is_some() {
        let mut child = command.stdout(Stdio::piped()).spawn().map_err(failed)?;
        if let Some(mut text) = child.stdout.take() {
            ui.write(|out| io::copy(&mut text, out).map(drop))?;
        }
        child.wait().map_err(failed)?
    } else {
        command.status().map_err(failed)?
    };
    // SIGPIPE is no failure: the program that reads the output has closed the pipe.
    match status
        .signal()
        .filter(|signal| *signal != Signal::PIPE.as_raw())
    {
        None => Ok(()),
        Some(signal) => Err(CliError::Usage(format!(
            "{} was ended by signal {signal}",
            quoted(Path::new(&program))
        ))),
    }
}

fn words(value: &OsStr) -> Vec<OsString> {
    value
        .as_bytes()
        .split(u8::is_ascii_whitespace)
        .filter(|word| !word.is_empty())
        .map(|word| OsString::from_vec(word.to_vec()))
        .collect()
}

/// Returns the path in a form that no program takes for an option.
fn operand(path: &Path) -> OsString {
    if path.as_os_str().as_bytes().starts_with(b"-") {
        Path::new(".").join(path).into_os_string()
    } else {
        path.as_os_str().to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_words_and_a_name_no_option() {
        assert_eq!(
            words(OsStr::new(" diff  -u\t--color ")),
            ["diff", "-u", "--color"]
        );
        assert!(words(OsStr::new("  ")).is_empty());
        assert_eq!(operand(Path::new("-r")), "./-r");
        assert_eq!(operand(Path::new("a b")), "a b");
    }
}
