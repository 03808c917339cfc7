//! Runs the program of `--filter-cmd`. With this program the user decides which files may be in one
//! group.
//!
//! `sh -c` runs the program once. The program reads a line for each pair of similar files, and
//! prints the lines that it accepts, as `grep -v old/` does. A line is two names separated by a
//! tab. Tab, newline and backslash in a name are written as `\t`, `\n` and `\\`. The exit codes 0
//! and 1 are successes, because `grep` ends with 1 if it prints nothing.

use std::collections::{HashMap, HashSet};
use std::io::{Read, Write};
use std::process::{Command, Stdio};

use resemble_cli::error::{CliError, CliResult};
use resemble_report::table::{Field, Style, write_row};

/// The indices of two files in the answer.
pub(super) type FilePair = (u32, u32);

/// Returns the pairs that the program accepts. `name` gives the name of a file.
pub(super) fn run<'a>(
    command: &str,
    pairs: &HashSet<FilePair>,
    name: &dyn Fn(u32) -> &'a [u8],
) -> CliResult<HashSet<FilePair>> {
    let failed = |why: String| CliError::Usage(format!("--filter-cmd {command:?}: {why}"));
    let mut sorted: Vec<FilePair> = pairs.iter().copied().collect();
    sorted.sort_unstable();
    let mut lines: HashMap<Vec<u8>, FilePair> = HashMap::new();
    let mut input = Vec::new();
    for pair in sorted {
        let mut line = Vec::new();
        let fields = [Field::Name(name(pair.0)), Field::Name(name(pair.1))];
        write_row(&mut line, Style::Tsv, &fields, b'\n')
            .map_err(|error| failed(error.to_string()))?;
        input.extend_from_slice(&line);
        line.pop();
        lines.insert(line, pair);
    }
    let mut child = Command::new("sh")
        .args(["-c", command])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .map_err(|error| failed(error.to_string()))?;
    let stdin = child.stdin.take();
    let mut output = Vec::new();
    let read = std::thread::scope(|scope| {
        // The program may print before it has read all of its input, so a separate thread writes
        // the input.
        scope.spawn(|| {
            if let Some(mut stdin) = stdin {
                // A program may close its input early, so a failed write is no error. If the
                // program does not print the line of a pair, the pair is refused.
                stdin.write_all(&input).unwrap_or_default();
            }
        });
        match child.stdout.take() {
            Some(mut stdout) => stdout.read_to_end(&mut output),
            None => Ok(0),
        }
    });
    read.map_err(|error| failed(error.to_string()))?;
    let status = child.wait().map_err(|error| failed(error.to_string()))?;
    if !matches!(status.code(), Some(0 | 1)) {
        return Err(failed(format!("it ended with {status}")));
    }
    let mut accepted = HashSet::new();
    for line in output
        .split(|&byte| byte == b'\n')
        .filter(|line| !line.is_empty())
    {
        let Some(&pair) = lines.get(line) else {
            let line = String::from_utf8_lossy(line);
            return Err(failed(format!(
                "it printed a line that it was not given: {line}"
            )));
        };
        accepted.insert(pair);
    }
    Ok(accepted)
}
