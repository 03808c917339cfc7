//! A sink that writes a file of JSON lines.

use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::PathBuf;

use resemble_notify::{News, Sent, Sink};

/// Appends alerts to a file, one JSON object on each line, as `resemble alerts --format jsonl`
/// prints them. The file is created anew if it is missing, for example because somebody moved it
/// away.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileSink {
    /// The file.
    pub path: PathBuf,
}

impl Sink for FileSink {
    fn kind(&self) -> &'static str {
        "file"
    }

    fn send(&mut self, news: &News<'_>) -> io::Result<Sent> {
        let mut text = Vec::new();
        for row in news.rows {
            serde_json::to_writer(&mut text, row)?;
            text.push(b'\n');
        }
        let named = |error: io::Error| {
            io::Error::new(error.kind(), format!("{}: {error}", self.path.display()))
        };
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path)
            .map_err(named)?;
        let before = file.metadata().map_err(named)?.len();
        if let Err(error) = file.write_all(&text).and_then(|()| file.sync_data()) {
            // Cut off the incomplete line. Otherwise the next alert would continue that line, and
            // neither alert could be parsed.
            let _cut = file.set_len(before);
            return Err(named(error));
        }
        Ok(Sent::Done)
    }
}
