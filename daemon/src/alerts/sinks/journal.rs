//! A sink that writes alerts to the journal of systemd, with a field for each fact of an alert.
//!
//! An alert is sent as one datagram of fields (systemd: "Native Journal Protocol"). Each value is
//! preceded by its length, so it may hold any byte, and no file name can add a field.

use std::io;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;

use resemble_notify::{News, Sent, Sink, sentence};
use resemble_proto::message::AlertRow;

/// The socket of the journal.
pub const SOCKET: &str = "/run/systemd/journal/socket";
/// The catalogue id of alerts: `journalctl MESSAGE_ID=…` shows only alerts.
pub const MESSAGE_ID: &str = "b5f1d1c2a9f54e6a8d0f7c3e52a41b96";
/// Syslog level 5, `notice`: normal but significant.
const PRIORITY: &[u8] = b"5";

/// Writes to the journal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Journal {
    /// The socket of the journal.
    pub socket: PathBuf,
}

impl Default for Journal {
    fn default() -> Self {
        Self {
            socket: SOCKET.into(),
        }
    }
}

impl Sink for Journal {
    fn kind(&self) -> &'static str {
        "journal"
    }

    fn send(&mut self, news: &News<'_>) -> io::Result<Sent> {
        let socket = UnixDatagram::unbound()?;
        for row in news.rows {
            let sent = socket.send_to(&entry(row), &self.socket);
            sent.map_err(|error| {
                let socket = self.socket.display();
                io::Error::new(error.kind(), format!("the journal at {socket}: {error}"))
            })?;
        }
        Ok(Sent::Done)
    }
}

/// Encodes an alert as fields of the journal.
fn entry(row: &AlertRow) -> Vec<u8> {
    let mut entry = Vec::new();
    let mut field = |name: &str, value: &[u8]| {
        entry.extend(name.as_bytes());
        entry.push(b'\n');
        entry.extend((value.len() as u64).to_le_bytes());
        entry.extend(value);
        entry.push(b'\n');
    };
    field("MESSAGE", format!("alert: {}", sentence(row)).as_bytes());
    field("MESSAGE_ID", MESSAGE_ID.as_bytes());
    field("PRIORITY", PRIORITY);
    field("SYSLOG_IDENTIFIER", b"resembled");
    field("RESEMBLE_ALERT", row.seq.to_string().as_bytes());
    let kind = serde_json::to_value(row.kind).unwrap_or_default();
    field(
        "RESEMBLE_KIND",
        kind.as_str().unwrap_or_default().as_bytes(),
    );
    field("RESEMBLE_FILE", row.a.as_bytes());
    field("RESEMBLE_PARTNER", row.b.as_bytes());
    if let Some(relation) = row.relation {
        field("RESEMBLE_RELATION", relation.word().as_bytes());
    }
    for (name, share) in [
        ("RESEMBLE_A_IN_B", row.a_in_b),
        ("RESEMBLE_B_IN_A", row.b_in_a),
    ] {
        if let Some(digits) = share.digits() {
            field(name, &digits);
        }
    }
    field(
        "RESEMBLE_SHARED_BYTES",
        row.shared_bytes.to_string().as_bytes(),
    );
    field("RESEMBLE_FILES", row.files.to_string().as_bytes());
    entry
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use resemble_proto::message::AlertKind;
    use resemble_proto::number::Fraction;
    use resemble_proto::path::PathText;

    use super::*;

    /// Decodes the fields of an entry, as the journal does.
    fn fields(mut entry: &[u8]) -> BTreeMap<String, Vec<u8>> {
        let mut fields = BTreeMap::new();
        while !entry.is_empty() {
            let end = entry.iter().position(|byte| *byte == b'\n').unwrap();
            let name = String::from_utf8(entry[..end].to_vec()).unwrap();
            let (length, rest) = entry[end + 1..].split_at(8);
            let length = u64::from_le_bytes(length.try_into().unwrap()) as usize;
            assert_eq!(rest[length], b'\n');
            assert!(fields.insert(name, rest[..length].to_vec()).is_none());
            entry = &rest[length + 1..];
        }
        fields
    }

    #[test]
    fn a_hostile_name_is_one_value() {
        let name = b"/r/a\nPRIORITY=0\nMESSAGE\xff\x1b[2J";
        let row = AlertRow {
            seq: 7,
            time: 0,
            kind: AlertKind::File,
            a: PathText::from_bytes(name),
            b: "/r/b".into(),
            relation: Some(resemble_core::Relation::Near),
            a_in_b: Fraction::from_millionths(920_000),
            b_in_a: Fraction::NONE,
            shared_bytes: 5,
            files: 1,
            since: None,
            owner_a: None,
            owner_b: None,
        };
        let fields = fields(&entry(&row));
        let value = |name: &str| fields.get(name).map(Vec::as_slice);
        assert_eq!(value("RESEMBLE_FILE"), Some(&name[..]));
        assert_eq!(value("RESEMBLE_PARTNER"), Some(&b"/r/b"[..]));
        assert_eq!(value("RESEMBLE_RELATION"), Some(&b"near"[..]));
        assert_eq!(value("RESEMBLE_KIND"), Some(&b"file"[..]));
        assert_eq!(value("RESEMBLE_A_IN_B"), Some(&b"0.920000"[..]));
        assert_eq!(value("RESEMBLE_B_IN_A"), None);
        assert_eq!(value("PRIORITY"), Some(PRIORITY));
        assert_eq!(value("MESSAGE_ID").map(<[u8]>::len), Some(32));
        let message = String::from_utf8(value("MESSAGE").unwrap().to_vec()).unwrap();
        assert!(!message.contains(['\n', '\x1b']), "{message:?}");
    }
}
