//! Reads mails and mailboxes.
//!
//! The text of a mail is its subject and its decoded text parts. If several parts are alternatives
//! with the same text, the plain one is used. Attachments are members with their original bytes.
//! The headers are not part of the text, because they differ between two copies of a mail.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Read};

use mail_parser::decoders::base64::base64_decode;
use mail_parser::decoders::charsets::map::charset_decoder;
use mail_parser::decoders::quoted_printable::quoted_printable_decode;
use mail_parser::{Encoding, Message, MessageParser, MessagePart, MimeHeaders, PartType};

use resemble_core::date::DateSource;

use super::date;
use super::markup;
use super::text;
use crate::format::Kind;
use crate::read::{Place, Stop, Take, Walk, cut};
use crate::{Bound, Skipped};

pub(super) fn read(walk: &mut Walk, mail: &[u8], inside: Place, place: Place) -> Take {
    let parse = |mail| MessageParser::default().parse(mail);
    let not_mail = || Stop::This(Skipped::Damaged("no mail".to_owned()));
    let mut message = parse(mail).ok_or_else(not_mail)?;
    let mut ends = Vec::new();
    missing_ends(&message, mail, &mut ends);
    let completed;
    if !ends.is_empty() {
        // The parser does not decode a part that has no end mark.
        completed = with_ends(mail, &ends);
        message = parse(&completed).ok_or_else(not_mail)?;
    }
    let mut text = walk.text(place);
    if let Some(subject) = message.subject() {
        text.push(subject)?;
        text.push("\n\n")?;
    }
    for &id in &message.text_body {
        if let Some(part) = message.parts.get(id as usize) {
            match &part.body {
                PartType::Text(body) => text.push(&decoded(&message, part, body))?,
                PartType::Html(body) => {
                    markup::text_of(&decoded(&message, part, body), &mut text)?;
                }
                _ => {}
            }
        }
        text.push("\n")?;
    }
    text.end()?;
    let date = message.date();
    walk.date(
        place,
        date.and_then(|date| date::of_parsed(date, DateSource::MailDate)),
    )?;
    for (at, &id) in message.attachments.iter().enumerate() {
        let Some(part) = message.parts.get(id as usize) else {
            continue;
        };
        let is_mail = matches!(part.body, PartType::Message(_));
        let name = part.attachment_name().filter(|name| !name.is_empty());
        let name = if let Some(name) = name {
            name.to_owned()
        } else {
            let ending = if is_mail { ".eml" } else { "" };
            format!("attachment-{}{ending}", at + 1)
        };
        let kind = is_mail.then_some(Kind::Mail);
        walk.member_as(name.as_bytes(), kind, &mut &*bytes(&message, part), inside)?;
    }
    if ends.is_empty() {
        return Ok(());
    }
    Err(Stop::This(cut()))
}

/// Appends to `ends` the end marks that the mail lacks, from the outside in.
fn missing_ends(message: &Message<'_>, mail: &[u8], ends: &mut Vec<Vec<u8>>) {
    for part in &message.parts {
        match &part.body {
            PartType::Multipart(_) => {
                let boundary = part
                    .content_type()
                    .and_then(|kind| kind.attribute("boundary"));
                let end = boundary.map(|boundary| format!("--{boundary}--").into_bytes());
                let body = mail.get(part.offset_body as usize..).unwrap_or_default();
                ends.extend(end.filter(|end| memchr::memmem::find(body, end).is_none()));
            }
            // If the inner mail was encoded, its offsets are not offsets in the outer mail.
            PartType::Message(inner) if part.encoding == Encoding::None => {
                missing_ends(inner, mail, ends);
            }
            _ => {}
        }
    }
}

/// Returns a mail with the end marks that it lacks. The mail may already have the beginning of an
/// end mark.
fn with_ends(mail: &[u8], ends: &[Vec<u8>]) -> Vec<u8> {
    // An incomplete escape would make the parser give up the whole part.
    let mail = match mail {
        [rest @ .., b'=', digit] if digit.is_ascii_hexdigit() => rest,
        all => all,
    };
    let line = memchr::memrchr(b'\n', mail).map_or(0, |at| at + 1);
    let is_partial = ends.iter().any(|end| end.starts_with(&mail[line..]));
    let mut whole = mail[..if is_partial { line } else { mail.len() }].to_vec();
    for end in ends.iter().rev() {
        // The line break before a mark belongs to the mark.
        whole.push(b'\n');
        whole.extend_from_slice(end);
    }
    whole.push(b'\n');
    whole
}

/// Returns the text of a part. If the part states no encoding or an unknown encoding, the encoding
/// is detected from the bytes. The encoding is also detected if the part states ASCII or UTF-8,
/// because many programs state these two for any encoding.
fn decoded<'m>(message: &Message<'_>, part: &MessagePart<'_>, body: &'m str) -> Cow<'m, str> {
    let stated = part
        .content_type()
        .and_then(|kind| kind.attribute("charset"));
    let is_usual = |name: &str| {
        let usual = ["us-ascii", "ascii", "utf-8", "utf8"];
        usual.iter().any(|usual| name.eq_ignore_ascii_case(usual))
    };
    let is_known = |name: &str| charset_decoder(name.as_bytes()).is_some();
    if body.is_ascii() || stated.is_some_and(|name| !is_usual(name) && is_known(name)) {
        return body.into();
    }
    let bytes = bytes(message, part);
    text::decoded(&bytes)
        .or_else(|| String::from_utf8(bytes.into_owned()).ok())
        .map_or(body.into(), Cow::Owned)
}

/// Returns the bytes of an attachment. The library converts text attachments to UTF-8, so the bytes
/// of text attachments are decoded from the raw mail instead.
fn bytes<'m>(message: &'m Message<'_>, part: &'m MessagePart<'_>) -> Cow<'m, [u8]> {
    if !matches!(part.body, PartType::Text(_) | PartType::Html(_)) {
        return part.contents().into();
    }
    let raw = (part.offset_body as usize)..(part.offset_end as usize);
    let raw = message.raw_message().get(raw);
    let decoded = raw.and_then(|raw| match part.encoding {
        Encoding::Base64 => base64_decode(raw).map(Cow::Owned),
        Encoding::QuotedPrintable => quoted_printable_decode(raw).map(Cow::Owned),
        Encoding::None => Some(raw.into()),
    });
    decoded.unwrap_or_else(|| part.contents().into())
}

/// Reads the mails of a mailbox as members. The name of a mail is its number, counted from 1, and
/// its subject. Each member has the same bytes as the mail in a file of its own: without the
/// `From ` line before the mail, without the blank line after it, and without the quoting of
/// `From `.
pub(super) fn mbox(walk: &mut Walk, from: &mut dyn Read, place: Place) -> Take {
    let mut from = BufReader::new(from);
    let (mut mail, mut number, mut too_large) = (Vec::new(), 0u64, false);
    let mut line = Vec::new();
    let mut blank = true;
    loop {
        line.clear();
        let most = walk.limits.memory / 8;
        let read = from.by_ref().take(most).read_until(b'\n', &mut line)?;
        let begins = blank && is_from(&line);
        if (read == 0 || begins) && number > 0 {
            let name = name_of(number, &mail);
            if std::mem::take(&mut too_large) {
                walk.within(name.as_bytes(), |_| Err(Bound::Memory.into()))?;
            } else {
                let end = mail.len() - usize::from(mail.ends_with(b"\n\n"));
                walk.member_as(name.as_bytes(), Some(Kind::Mail), &mut &mail[..end], place)?;
            }
        }
        if read == 0 {
            return Ok(());
        }
        if begins {
            mail.clear();
            number += 1;
            blank = false;
            continue;
        }
        blank = matches!(line.as_slice(), b"\n" | b"\r\n");
        if walk.fits(2 * (mail.len() + line.len()) as u64) {
            mail.extend_from_slice(unquoted(&line));
        } else {
            too_large = true;
            mail.clear();
        }
    }
}

/// The maximum number of characters of the subject in the name of a mail.
const MAX_SUBJECT: usize = 80;

/// Returns the name of a mail in a mailbox, such as `12 Re: offer`. The number makes the name
/// unique. A mail without a subject is named by its number only.
fn name_of(number: u64, mail: &[u8]) -> String {
    let head = MessageParser::default().parse_headers(mail);
    let subject = head.as_ref().and_then(Message::subject).unwrap_or_default();
    let words: Vec<&str> = subject.split_whitespace().collect();
    // A name must be a single component of a path, on one line.
    let plain = |letter: char| match letter {
        '/' | '!' => '_',
        letter if letter.is_control() => '_',
        letter => letter,
    };
    let subject: String = words
        .join(" ")
        .chars()
        .take(MAX_SUBJECT)
        .map(plain)
        .collect();
    let subject = subject.trim_end();
    if subject.is_empty() {
        return number.to_string();
    }
    format!("{number} {subject}")
}

/// Returns whether a line begins a mail in a mailbox: it has `From`, the sender, and a time with a
/// colon.
fn is_from(line: &[u8]) -> bool {
    let Some(rest) = line.strip_prefix(b"From ") else {
        return false;
    };
    let is_time =
        |three: &[u8]| three[0].is_ascii_digit() && three[1] == b':' && three[2].is_ascii_digit();
    rest.windows(3).any(is_time)
}

/// Removes one `>` from a line of a mailbox that quotes a `From ` of the mail.
fn unquoted(line: &[u8]) -> &[u8] {
    let quotes = line.iter().take_while(|&&byte| byte == b'>').count();
    if quotes > 0 && line[quotes..].starts_with(b"From ") {
        &line[1..]
    } else {
        line
    }
}
