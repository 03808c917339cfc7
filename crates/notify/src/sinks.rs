//! Sinks that start a program: any program that reads the alerts, or a program that sends mail.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use mail_builder::MessageBuilder;
use mail_builder::headers::raw::Raw;
use resemble_proto::message::AlertRow;
use resemble_report::lines::TextStyle;

use crate::outlet::{News, Sent, Sink};
use crate::run::Running;
use crate::text::{digest, sentence};

/// The form in which a program gets the alerts on its standard input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Input {
    /// Each alert is one JSON object on a line, as `resemble alerts --format jsonl` prints it.
    #[default]
    Json,
    /// Each alert is one sentence on a line. A digest is passed as its pages.
    Text,
}

/// Runs a program for each delivery.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    /// The program and its arguments.
    pub command: Vec<String>,
    /// The form of the program's input.
    pub input: Input,
    /// The time limit.
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

/// Sends mail with a program that takes the arguments of `sendmail`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mail {
    /// The program. It is called with `-i -- ADDRESS…`, and reads the message from its standard
    /// input.
    pub program: PathBuf,
    /// The recipients; see [`Mail::is_address`].
    pub to: Vec<String>,
    /// The sender; `None` leaves the choice to the program.
    pub from: Option<String>,
    /// The time limit.
    pub limit: Duration,
}

impl Mail {
    /// Returns whether a text may be an address: one word of printable ASCII without a leading
    /// hyphen and without the punctuation of address lists. So the text cannot become another
    /// recipient, another header of the mail, or an option of the program.
    pub fn is_address(text: &str) -> bool {
        let is_plain = |byte: u8| byte.is_ascii_graphic() && !b",;<>()\"\\".contains(&byte);
        !text.is_empty() && !text.starts_with('-') && text.bytes().all(is_plain)
    }

    /// Returns the whole mail. Its lines end with a line feed only, as programs like `sendmail`
    /// expect.
    fn message(&self, news: &News<'_>) -> io::Result<Vec<u8>> {
        let subject = match news.rows {
            [one] => sentence(one),
            rows if news.is_digest => format!("the alerts of the day ({})", rows.len()),
            rows => format!("{} alerts", rows.len()),
        };
        let to: Vec<&str> = self.to.iter().map(String::as_str).collect();
        let mut message = MessageBuilder::new()
            .to(to)
            .subject(format!("resemble: {}", brief(&subject)))
            .header("Auto-Submitted", Raw::new("auto-generated"))
            .text_body(words(news));
        if let Some(from) = &self.from {
            message = message.from(from.as_str());
        }
        let mut bytes = message.write_to_vec()?;
        bytes.retain(|byte| *byte != b'\r');
        Ok(bytes)
    }
}

impl Sink for Mail {
    fn kind(&self) -> &'static str {
        "mail"
    }

    fn send(&mut self, news: &News<'_>) -> io::Result<Sent> {
        let mut command = vec![self.program.as_os_str(), "-i".as_ref(), "--".as_ref()];
        command.extend(self.to.iter().map(AsRef::<std::ffi::OsStr>::as_ref));
        let message = self.message(news)?;
        Running::start(&command, &message, self.limit).map(Sent::Running)
    }
}

fn words(news: &News<'_>) -> String {
    if news.is_digest {
        return digest(news.rows, TextStyle::default());
    }
    let sentences = news.rows.iter().map(sentence);
    sentences
        .flat_map(|sentence| [sentence, "\n".to_owned()])
        .collect()
}

/// Returns the rows as JSON objects, one on each line.
pub(crate) fn lines(rows: &[AlertRow]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    for row in rows {
        serde_json::to_writer(&mut text, row)?;
        text.push(b'\n');
    }
    Ok(text)
}

/// Shortens a text for a subject line. A mail program would decode `=?…?=` in a file name, so `=?`
/// is broken up.
fn brief(text: &str) -> String {
    const MOST: usize = 150;
    let (text, more) = match text.char_indices().nth(MOST) {
        None => (text, ""),
        Some((end, _)) => (&text[..end], "..."),
    };
    text.replace("=?", "= ?") + more
}

#[cfg(test)]
mod tests {
    use mail_parser::MessageParser;

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
        let news = News {
            rows,
            is_digest: false,
        };
        String::from_utf8(mail().message(&news).unwrap()).unwrap()
    }

    /// Returns the subject and the body of a message as a mail program shows them.
    fn shown(message: &str) -> (String, String) {
        let parsed = MessageParser::default().parse(message).unwrap();
        let body = parsed.body_text(0).unwrap();
        (parsed.subject().unwrap().to_owned(), body.into_owned())
    }

    #[test]
    fn a_mail_is_a_mail() {
        let one = message(&[row("/r/a", "/r/b")]);
        for header in [
            "To: <ann@example.org>, <root>\n",
            "Subject: resemble: /r/a is nearly /r/b (92%)\n",
            "Auto-Submitted: auto-generated\n",
            "Content-Type: text/plain; charset=\"utf-8\"\n",
            "\nDate: ",
            "\nMessage-ID: ",
        ] {
            assert!(one.contains(header), "{header:?} in {one}");
        }
        assert!(!one.contains("From:"), "sendmail knows who sends: {one}");
        assert!(one.ends_with("\n\n/r/a is nearly /r/b (92%)\n"), "{one}");
        let two = [row("/r/a", "/r/b"), row("/r/é", "/r/b")];
        let (subject, body) = shown(&message(&two));
        assert_eq!(subject, "resemble: 2 alerts");
        assert_eq!(
            body,
            "/r/a is nearly /r/b (92%)\n/r/é is nearly /r/b (92%)\n"
        );
        let sender = Some("bob@example.org".to_owned());
        let from = Mail {
            from: sender,
            ..mail()
        };
        let news = News {
            rows: &two,
            is_digest: true,
        };
        let text = String::from_utf8(from.message(&news).unwrap()).unwrap();
        assert!(text.contains("From: <bob@example.org>\n"), "{text}");
        assert_eq!(shown(&text).0, "resemble: the alerts of the day (2)");
    }

    #[test]
    fn no_name_makes_a_header_or_ends_the_message() {
        const KNOWN: [&str; 9] = [
            "To:",
            "Subject:",
            "Message-ID:",
            "Date:",
            "MIME-",
            "Content-",
            "Auto-",
            " =?",
            " ",
        ];
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
                    let is_known = KNOWN.iter().any(|known| line.starts_with(known));
                    assert!(is_known, "{line:?}");
                }
                let parsed = MessageParser::default().parse(&message).unwrap();
                assert!(parsed.bcc().is_none(), "{headers}");
                assert!(!parsed.subject().unwrap().contains(['\n', '\r']));
                assert!(message.lines().all(|line| line.len() <= 200), "{message}");
                assert!(message.is_ascii() && !message.contains('\r'), "{message}");
                assert!(!body.contains("\n.\n"), "{body}");
                let expected: Vec<String> = rows.iter().map(sentence).collect();
                assert_eq!(shown(&message).1.lines().collect::<Vec<_>>(), expected);
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
