//! Asks a question by running this program in another process.

use std::ffi::OsString;
use std::process::Stdio;

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::process::Command;

/// The maximum number of bytes of an answer that are read. The server requests only the first rows,
/// so answers are shorter.
const LONGEST: u64 = 256 << 20;

/// The maximum number of bytes of an error message that are passed on.
const LONGEST_MESSAGE: u64 = 4 << 10;

/// The arguments and the standard input of a process.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Invocation {
    pub(super) arguments: Vec<OsString>,
    /// The bytes for standard input.
    pub(super) input: Option<String>,
}

/// Runs the command. Returns the document that it prints, or an error message. If the future is
/// dropped, the process ends.
pub(super) async fn document(options: &[OsString], asked: Invocation) -> Result<Value, String> {
    let mut command = Command::new("/proc/self/exe");
    command
        .arg(&asked.arguments[0])
        .args(options)
        .args(&asked.arguments[1..])
        .stdin(if asked.input.is_some() {
            Stdio::piped()
        } else {
            Stdio::null()
        })
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let failed = |error: std::io::Error| format!("the question could not be asked: {error}");
    let mut process = command.spawn().map_err(failed)?;
    let (input, output, errors) = (
        process.stdin.take(),
        process.stdout.take(),
        process.stderr.take(),
    );
    let write = async {
        if let (Some(mut input), Some(text)) = (input, asked.input) {
            // An error is ignored, because the process may end before it has read all input.
            drop(input.write_all(text.as_bytes()).await);
        }
    };
    let read = async {
        let mut bytes = Vec::new();
        if let Some(output) = output {
            output.take(LONGEST).read_to_end(&mut bytes).await?;
        }
        Ok::<_, std::io::Error>(bytes)
    };
    let listen = async {
        let mut bytes = Vec::new();
        if let Some(mut errors) = errors {
            (&mut errors)
                .take(LONGEST_MESSAGE)
                .read_to_end(&mut bytes)
                .await?;
            tokio::io::copy(&mut errors, &mut tokio::io::sink()).await?;
        }
        Ok::<_, std::io::Error>(bytes)
    };
    let ((), read, said) = tokio::join!(write, read, listen);
    let (bytes, said) = (read.map_err(failed)?, said.map_err(failed)?);
    process.wait().await.map_err(failed)?;
    if let Ok(document @ Value::Object(_)) = serde_json::from_slice(&bytes) {
        return Ok(document);
    }
    let said = String::from_utf8_lossy(&said);
    let said = said
        .lines()
        .next()
        .unwrap_or("the question was not answered");
    Err(said.trim_start_matches("resemble: ").to_owned())
}
