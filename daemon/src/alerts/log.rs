//! The alerts that were raised: in memory for questions, in a JSON-lines file for keeps.
//!
//! `alerts.jsonl` in the state folder holds one [`AlertRow`] a line, oldest first, and is meant to be
//! read by others too. It is bounded: beyond `MOST_LINES` it is written anew with the last
//! [`KEPT`]. A full disk does not stop alerts: they stay in memory, the journal has them, and the
//! file goes on when there is room.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use resemble_proto::message::AlertRow;
use tokio::sync::broadcast;

/// Alerts that can be asked for.
pub const KEPT: usize = 1000;
/// Lines of the file before it is cut to [`KEPT`].
const MOST_LINES: usize = 4 * KEPT;
/// Alerts that a follower may be behind before it is told that it missed some.
const BEHIND: usize = 256;

/// The log.
#[derive(Debug)]
pub struct AlertLog {
    path: PathBuf,
    rows: VecDeque<AlertRow>,
    lines: usize,
    last: u64,
    followers: broadcast::Sender<AlertRow>,
}

impl AlertLog {
    /// Reads what an earlier run left. Lines that are no alerts are left out, an unreadable file
    /// is an empty one: alerts are worth keeping, not worth not starting for.
    pub fn open(path: &Path) -> Self {
        let mut log = Self {
            path: path.to_path_buf(),
            rows: VecDeque::new(),
            lines: 0,
            last: 0,
            followers: broadcast::Sender::new(BEHIND),
        };
        match File::open(path) {
            Ok(file) => {
                for line in BufReader::new(file).split(b'\n').map_while(Result::ok) {
                    log.lines += 1;
                    if let Ok(row) = serde_json::from_slice::<AlertRow>(&line) {
                        log.last = log.last.max(row.seq);
                        log.keep(row);
                    }
                }
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(path = ?path, %error, "old alerts cannot be read"),
        }
        log
    }

    /// Adds an alert; its number is given here.
    pub fn push(&mut self, mut row: AlertRow) {
        self.last += 1;
        row.seq = self.last;
        self.keep(row.clone());
        if let Err(error) = self.write(&row) {
            tracing::warn!(path = ?self.path, %error, "an alert is not kept on disk");
        }
        // Nobody follows: that is no error.
        let _followers = self.followers.send(row);
    }

    /// The kept alerts, oldest first, and what comes after them.
    pub fn follow(&self) -> (Vec<AlertRow>, broadcast::Receiver<AlertRow>) {
        (
            self.rows.iter().cloned().collect(),
            self.followers.subscribe(),
        )
    }

    fn keep(&mut self, row: AlertRow) {
        if self.rows.len() >= KEPT {
            self.rows.pop_front();
        }
        self.rows.push_back(row);
    }

    fn write(&mut self, row: &AlertRow) -> io::Result<()> {
        if self.lines >= MOST_LINES {
            let fresh = self.path.with_extension("jsonl.new");
            let mut file = OpenOptions::new()
                .write(true)
                .create(true)
                .truncate(true)
                .mode(0o600)
                .open(&fresh)?;
            let mut text = Vec::new();
            for row in &self.rows {
                line(row, &mut text)?;
            }
            file.write_all(&text)?;
            fs::rename(&fresh, &self.path)?;
            self.lines = self.rows.len();
            return Ok(());
        }
        let mut text = Vec::new();
        line(row, &mut text)?;
        let mut file = OpenOptions::new()
            .append(true)
            .create(true)
            .mode(0o600)
            .open(&self.path)?;
        file.write_all(&text)?;
        self.lines += 1;
        Ok(())
    }
}

fn line(row: &AlertRow, into: &mut Vec<u8>) -> io::Result<()> {
    serde_json::to_writer(&mut *into, row)?;
    into.push(b'\n');
    Ok(())
}

#[cfg(test)]
mod tests {
    use resemble_proto::message::AlertKind;
    use resemble_proto::number::Fraction;

    use super::*;

    fn row(path: &str) -> AlertRow {
        AlertRow {
            seq: 0,
            time: 7,
            kind: AlertKind::File,
            a: path.into(),
            b: "/r/b".into(),
            relation: Some(resemble_core::Relation::Near),
            a_in_b: Fraction::ONE,
            b_in_a: Fraction::ZERO,
            shared_bytes: 3,
            files: 1,
        }
    }

    #[test]
    fn alerts_outlive_a_restart_and_go_on_counting() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("alerts.jsonl");
        let mut log = AlertLog::open(&path);
        log.push(row("/r/1"));
        log.push(row("/r/2"));
        fs::write(
            &path,
            [fs::read(&path).unwrap(), b"{ half a line".to_vec()].concat(),
        )
        .unwrap();
        let mut log = AlertLog::open(&path);
        let (kept, mut news) = log.follow();
        assert_eq!(kept.iter().map(|row| row.seq).collect::<Vec<_>>(), [1, 2]);
        log.push(row("/r/3"));
        assert_eq!(news.try_recv().unwrap().seq, 3);
    }

    #[test]
    fn the_file_is_bounded() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("alerts.jsonl");
        let mut log = AlertLog::open(&path);
        for _ in 0..=MOST_LINES {
            log.push(row("/r/x"));
        }
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert_eq!(lines, KEPT);
        assert_eq!(
            AlertLog::open(&path).follow().0.last().unwrap().seq,
            MOST_LINES as u64 + 1
        );
    }

    #[test]
    fn a_disk_that_takes_nothing_does_not_stop_alerts() {
        let mut log = AlertLog::open(Path::new("/proc/no/such/alerts.jsonl"));
        log.push(row("/r/1"));
        assert_eq!(log.follow().0.len(), 1);
    }
}
