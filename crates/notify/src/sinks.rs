//! Sinks that are programs: one that reads what is news, and one that sends mail.

use std::fmt::Write as _;
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use resemble_proto::message::AlertRow;

use crate::outlet::{News, Sent, Sink};
use crate::run::Running;
use crate::text::{digest, sentence};

/// What a program reads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// One JSON object a line, as `resemble alerts --format jsonl` prints it.
    #[default]
    Json,
    /// One sentence a line; or the page of a day.
    Text,
}

/// Runs a program for what is news.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// What it reads.
    pub input: Input,
    /// How long it may run.
    pub limit: Duration,
}

impl Sink for Program {
    fn kind(&self) -> &'static str {
        "command"
    }

    fn send(&mut self, news: &News<'_>) -> io::Result<Sent> {
        let input = match self.input {
            Input::Json => lines(news.rows)?,
            Input::Text => words(news).into_bytes(),
        };
        Running::start(&self.command, &input, self.limit).map(Sent::Running)
    }
}

/// Sends mail with a program that is called like sendmail.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// The program; it is given `-i -- ADDRESS…`, and the message on its standard input.
    pub program: PathBuf,
    /// Whom to tell; see [`Mail::is_address`].
    pub to: Vec<String>,
    /// The sender; the program's own choice if there is none.
    pub from: Option<String>,
    /// How long it may run.
    pub limit: Duration,
}

impl Mail {
    /// Whether a text may be an address: one word of printable ASCII that is no option. So neither
    /// a header nor an argument can be made of it.
    pub fn is_address(text: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b",;<>()\"\\".contains(&byte);
        !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_plain)
    }

    /// The whole message. What is not plain is encoded in headers and body.
    fn message(&self, news: &News<'_>) -> String {
        let subject = match news.rows {
            [one] => sentence(one),
            rows if news.is_digest => format!("the alerts of the day ({})", rows.len()),
            rows => format!("{} alerts", rows.len()),
        };
        let mut message = String::new();
        if let Some(from) = &self.from {
            writeln!(message, "From: {from}").ok();
        }
        writeln!(message, "To: {}", self.to.join(", ")).ok();
        writeln!(
            message,
            "Subject: {}",
            header(&format!("resemble: {subject}"))
        )
        .ok();
        message += "MIME-Version: 1.0\n\
                    Content-Type: text/plain; charset=utf-8\n\
                    Content-Transfer-Encoding: quoted-printable\n\
                    Auto-Submitted: auto-generated\n\n";
        message += &quoted_printable(&words(news));
        message
    }
}

impl Sink for Mail {
    fn kind(&self) -> &'static str {
        "mail"
    }

    fn send(&mut self, news: &News<'_>) -> io::Result<Sent> {
        let mut command = vec![self.program.as_os_str(), "-i".as_ref(), "--".as_ref()];
        command.extend(self.to.iter().map(AsRef::<std::ffi::OsStr>::as_ref));
        let message = self.message(news);
        Running::start(&command, message.as_bytes(), self.limit).map(Sent::Running)
    }
}

fn words(news: &News<'_>) -> String {
    if news.is_digest {
        return digest(news.rows);
    }
    let sentences = news.rows.iter().map(sentence);
    sentences
        .flat_map(|sentence| [sentence, "\n".to_owned()])
        .collect()
}

/// The rows, one JSON object a line.
pub(crate) fn lines(rows: &[AlertRow]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for row in rows {
        serde_json::to_writer(&mut text, row)?;
        text.push(b'\n');
    }
    Ok(text)
}

/// So many bytes of a subject are enough, and so many make up one encoded word (RFC 2047: 75 with
/// what is around it).
const SUBJECT: usize = 150;
const WORD: usize = 55;

/// The value of a header: as it is if it is short and plain ASCII, else in encoded words.
fn header(text: &str) -> String {
    let mut end = text.len().min(SUBJECT);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let cut = &text[..end];
    let more = if end < text.len() { "..." } else { "" };
    let is_plain = |c: char| c == ' ' || c.is_ascii_graphic();
    if cut.chars().all(is_plain) && !cut.contains("=?") {
        return format!("{cut}{more}");
    }
    let mut words = vec![String::new()];
    for c in cut.chars().chain(more.chars()) {
        let mut encoded = String::new();
        if c.is_ascii_alphanumeric() {
            encoded.push(c);
        } else {
            for byte in c.to_string().bytes() {
                write!(encoded, "={byte:02X}").ok();
            }
        }
        if words
            .last()
            .is_some_and(|word| word.len() + encoded.len() > WORD)
        {
            words.push(String::new());
        }
        if let Some(word) = words.last_mut() {
            word.push_str(&encoded);
        }
    }
    let words: Vec<String> = words
        .iter()
        .map(|word| format!("=?utf-8?Q?{word}?="))
        .collect();
    words.join("\n ")
}

/// The body (RFC 2045, 6.7): lines of at most 76 characters of ASCII. A line that begins with a dot
/// or with `From ` means something to mail programs, and is encoded as well.
fn quoted_printable(text: &str) -> String {
    const LONGEST: usize = 72;
    let mut encoded = String::new();
    for line in text.lines() {
        let mut length = 0;
        for (at, byte) in line.bytes().enumerate() {
            let is_begin = length == 0 && (byte == b'.' || byte == b'F');
            let is_end = at + 1 == line.len() && byte == b' ';
            let is_plain = byte == b' ' || byte.is_ascii_graphic();
            let is_as_it_is = is_plain && byte != b'=' && !is_begin && !is_end;
            let width = if is_as_it_is { 1 } else { 3 };
            if length + width > LONGEST {
                encoded += "=\n";
                length = 0;
            }
            if is_as_it_is {
                encoded.push(char::from(byte));
            } else {
                write!(encoded, "={byte:02X}").ok();
            }
            length += width;
        }
        encoded.push('\n');
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::text::tests::row;

    fn mail() -> Mail {
        Mail {
            program: "sendmail".into(),
            to: vec!["ann@example.org".to_owned(), "root".to_owned()],
            from: None,
            limit: Duration::from_secs(1),
        }
    }

    fn message(rows: &[AlertRow]) -> String {
        mail().message(&News {
            rows,
            is_digest: false,
        })
    }

    #[test]
    fn a_mail_is_a_mail() {
        assert_eq!(
            message(&[row("/r/a", "/r/b")]),
            "To: ann@example.org, root\nSubject: resemble: /r/a is nearly /r/b (92%)\n\
             MIME-Version: 1.0\nContent-Type: text/plain; charset=utf-8\n\
             Content-Transfer-Encoding: quoted-printable\nAuto-Submitted: auto-generated\n\n\
             /r/a is nearly /r/b (92%)\n"
        );
        let two = message(&[row("/r/a", "/r/b"), row("/r/é=", "/r/b")]);
        assert!(two.contains("Subject: resemble: 2 alerts\n"), "{two}");
        assert!(
            two.ends_with("/r/=C3=A9=3D is nearly /r/b (92%)\n"),
            "{two}"
        );
    }

    #[test]
    fn no_name_makes_a_header_or_ends_the_message() {
        let long = format!("/r/{}", "é".repeat(2000));
        let names = [
            "/r/a\nBcc: all@example.org\n\nnew body",
            "/r/a\r\nBcc: all@example.org",
            "/r/=?utf-8?Q?=0ABcc:?=",
            "/r/\n.\nQUIT",
            "/r/\u{2028}Bcc: x",
            long.as_str(),
        ];
        for name in names {
            for rows in [vec![row(name, "/r/b")], vec![row(name, "/r/b"); 3]] {
                let message = message(&rows);
                let (headers, body) = message.split_once("\n\n").unwrap();
                for line in headers.lines() {
                    let is_known = [
                        "To:",
                        "Subject:",
                        "MIME-",
                        "Content-",
                        "Auto-",
                        " =?utf-8?Q?",
                    ];
                    assert!(
                        is_known.iter().any(|known| line.starts_with(known)),
                        "{line:?}"
                    );
                }
                assert!(
                    !headers.contains("=0A") && !headers.contains("=0D"),
                    "{headers}"
                );
                assert!(message.lines().all(|line| line.len() <= 200), "{message}");
                assert!(message.is_ascii() && !message.contains('\r'), "{message}");
                assert!(!body.contains("\n.") && !body.contains("\nFrom "), "{body}");
                assert_eq!(body.replace("=\n", "").lines().count(), rows.len());
            }
        }
    }

    #[test]
    fn addresses_are_single_words() {
        for good in ["root", "ann@example.org", "a+b@x.org"] {
            assert!(Mail::is_address(good), "{good}");
        }
        for bad in ["", "-t", "a b", "a\nBcc: b", "a,b", "é@x", "<a@b>"] {
            assert!(!Mail::is_address(bad), "{bad:?}");
        }
    }
}
