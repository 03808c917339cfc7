//! Stores the alerts that were raised: in memory for questions, and in a file for later starts.
//!
//! The file `alerts.jsonl` in the state folder has one [`AlertRow`] as JSON on each line, oldest
//! first. Other programs may read it, too. The file is bounded: when it has `MOST_LINES` lines, it
//! is written anew with the last [`KEPT`] alerts. A full disk does not stop alerts: they stay in
//! memory, and the journal has them. When there is space again, the file is written anew.
//!
//! A crash or a full disk may leave an incomplete last line. That line is cut off when the file is
//! opened, so that the next alert begins on a line of its own. The number of the cut alert is not
//! reused, because somebody may have seen it.

use std::collections::VecDeque;
use std::fs::{self, File, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crossbeam_channel::{Receiver, Sender};
use resemble_proto::message::AlertRow;
use tokio::sync::watch;

/// The maximum number of alerts that are kept in memory, for questions, followers and sinks.
pub const KEPT: usize = 4000;
/// The number of lines at which the file is cut to the last [`KEPT`] lines.
const MOST_LINES: usize = 2 * KEPT;

/// The alerts in memory, and their file.
#[derive(Debug)]
pub struct AlertLog {
    path: PathBuf,
    rows: VecDeque<AlertRow>,
    lines: usize,
    /// True if the file lacks alerts or its last line is incomplete. The file must then be written
    /// anew.
    is_behind: bool,
    /// The greatest number that an alert has had.
    last: watch::Sender<u64>,
    /// Signals each new alert to the thread that delivers alerts.
    bell: Option<Sender<()>>,
}

impl AlertLog {
    /// Reads the alerts of earlier runs. Lines that are no alerts are skipped. An unreadable file
    /// counts as empty, because the daemon must start even without its old alerts.
    pub fn open(path: &Path) -> Self {
        let mut log = Self {
            path: path.to_path_buf(),
            rows: VecDeque::new(),
            lines: 0,
            is_behind: false,
            last: watch::Sender::new(0),
            bell: None,
        };
        match File::open(path) {
            Ok(file) => log.load(BufReader::new(file)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => tracing::warn!(path = ?path, %error, "old alerts cannot be read"),
        }
        log
    }

    fn load(&mut self, mut file: impl BufRead) {
        let (mut line, mut end) = (Vec::new(), 0);
        loop {
            line.clear();
            match file.read_until(b'\n', &mut line) {
                Ok(0) => return,
                Ok(length) => end += length as u64,
                Err(error) => {
                    tracing::warn!(path = ?self.path, %error, "old alerts cannot be read");
                    return;
                }
            }
            let row = serde_json::from_slice::<AlertRow>(&line).ok();
            let number = match &row {
                Some(row) => Some(row.seq),
                None => number_of_half(&line, self.last()),
            };
            let last = self.last().max(number.unwrap_or(0));
            self.last.send_replace(last);
            let is_whole = line.last() == Some(&b'\n');
            let is_alert = row.is_some();
            if let Some(row) = row {
                self.keep(row);
            }
            if is_whole || is_alert {
                self.lines += 1;
            }
            if !is_whole {
                let mended = self.mend(is_alert, end - line.len() as u64);
                if let Err(error) = mended {
                    tracing::warn!(path = ?self.path, %error, "half an alert stays for now");
                    self.is_behind = true;
                }
            }
        }
    }

    /// Mends the last line, which begins at byte `begin` and has no line feed. Adds the line feed
    /// if the line has a whole alert, and otherwise cuts off the line.
    fn mend(&self, is_alert: bool, begin: u64) -> io::Result<()> {
        let mut file = OpenOptions::new().append(true).open(&self.path)?;
        if is_alert {
            file.write_all(b"\n")
        } else {
            file.set_len(begin)
        }
    }

    /// Assigns the next number to an alert, and adds it to memory and to the file.
    pub fn push(&mut self, mut row: AlertRow) {
        row.seq = self.last() + 1;
        self.keep(row.clone());
        if let Err(error) = self.write(&row) {
            tracing::warn!(path = ?self.path, %error, "an alert is not kept on disk");
        }
        self.last.send_replace(row.seq);
        if let Some(bell) = &self.bell {
            // If the channel is full, the receiver has not handled an earlier signal yet. That
            // signal suffices for this alert, too.
            let _rung = bell.try_send(());
        }
    }

    /// Returns a channel that signals new alerts. One message may announce several new alerts.
    pub fn bell(&mut self) -> Receiver<()> {
        let (bell, heard) = crossbeam_channel::bounded(1);
        self.bell = Some(bell);
        heard
    }

    /// Returns the greatest number that an alert has had.
    pub fn last(&self) -> u64 {
        *self.last.borrow()
    }

    /// Returns the stored alerts with a greater number than this, oldest first.
    pub fn after(&self, number: u64) -> Vec<AlertRow> {
        let first = self.rows.partition_point(|row| row.seq <= number);
        self.rows.range(first..).cloned().collect()
    }

    /// Returns a channel that has the number of the newest alert.
    pub fn news(&self) -> watch::Receiver<u64> {
        self.last.subscribe()
    }

    fn keep(&mut self, row: AlertRow) {
        if self.rows.len() >= KEPT {
            self.rows.pop_front();
        }
        self.rows.push_back(row);
    }

    /// Writes the newest alert to the file. The alert must be in memory already.
    fn write(&mut self, row: &AlertRow) -> io::Result<()> {
        let written = if self.is_behind || self.lines >= MOST_LINES {
            self.write_anew()
        } else {
            self.append(row)
        };
        self.is_behind = written.is_err();
        written
    }

    fn write_anew(&mut self) -> io::Result<()> {
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
        Ok(())
    }

    fn append(&mut self, row: &AlertRow) -> io::Result<()> {
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

/// Returns the number of the alert that begins with `line`. If the number is cut, the alert had the
/// number after `last`. Returns `None` if `line` is not the beginning of an alert.
fn number_of_half(line: &[u8], last: u64) -> Option<u64> {
    const BEGIN: &[u8] = b"{\"seq\":";
    let Some(rest) = line.strip_prefix(BEGIN) else {
        let begins = !line.is_empty() && BEGIN.starts_with(line);
        return begins.then_some(last + 1);
    };
    let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = str::from_utf8(&rest[..digits]).ok()?.parse().unwrap_or(0);
    // If no byte follows the digits, the line may have been cut within the number.
    let is_whole = digits < rest.len();
    Some(if is_whole { number } else { last + 1 }.max(last + 1))
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
            since: None,
            owner_a: None,
            owner_b: None,
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
        let numbers = |rows: Vec<AlertRow>| rows.iter().map(|row| row.seq).collect::<Vec<_>>();
        assert_eq!(numbers(log.after(0)), [1, 2]);
        let news = log.news();
        assert!(!news.has_changed().unwrap());
        log.push(row("/r/3"));
        assert!(news.has_changed().unwrap());
        assert_eq!(numbers(log.after(2)), [3]);
        assert_eq!(log.last(), 3);
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
            AlertLog::open(&path).after(0).last().unwrap().seq,
            MOST_LINES as u64 + 1
        );
    }

    #[test]
    fn a_disk_that_takes_nothing_does_not_stop_alerts() {
        let mut log = AlertLog::open(Path::new("/proc/no/such/alerts.jsonl"));
        log.push(row("/r/1"));
        assert_eq!(log.after(0).len(), 1);
    }

    /// The last line is cut at every byte in turn. The next alert must be on a line of its own and
    /// must not get the number of the cut one.
    #[test]
    fn half_an_alert_costs_no_other_alert_and_no_number() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("alerts.jsonl");
        let mut log = AlertLog::open(&path);
        for n in 0..11 {
            log.push(row(&format!("/r/{n}")));
        }
        let whole = fs::read(&path).unwrap();
        let begin = whole[..whole.len() - 1]
            .iter()
            .rposition(|byte| *byte == b'\n')
            .unwrap()
            + 1;
        for end in begin + 1..whole.len() {
            fs::write(&path, &whole[..end]).unwrap();
            let mut log = AlertLog::open(&path);
            log.push(row("/r/after"));
            let numbers = |log: &AlertLog| log.rows.iter().map(|row| row.seq).collect::<Vec<_>>();
            let mut expected: Vec<u64> = (1..=10).collect();
            // If only the line feed is missing, the alert is complete.
            expected.extend((end == whole.len() - 1).then_some(11));
            expected.push(12);
            assert_eq!(numbers(&log), expected, "cut at {end}");
            assert_eq!(
                numbers(&AlertLog::open(&path)),
                expected,
                "cut at {end}, read again"
            );
        }
    }

    #[test]
    fn what_found_no_room_is_written_when_there_is_some() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("later/alerts.jsonl");
        let mut log = AlertLog::open(&path);
        log.push(row("/r/1"));
        fs::create_dir(dir.path().join("later")).unwrap();
        log.push(row("/r/2"));
        log.push(row("/r/3"));
        let numbers = AlertLog::open(&path)
            .rows
            .iter()
            .map(|row| row.seq)
            .collect::<Vec<_>>();
        assert_eq!(numbers, [1, 2, 3]);
    }
}
