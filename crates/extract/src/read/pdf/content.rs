//! Decodes content streams, and reads their operators.
//!
//! Viewers draw as much of a page as they can. So a faulty token must not affect the tokens after
//! it.

use std::borrow::Cow;
use std::io::Read;

use encoding_rs::Encoding;
use flate2::read::DeflateDecoder;
use hayro_syntax::Filter;
use hayro_syntax::object::{Dict, Number, Object, Stream};
use hayro_syntax::reader::{Reader, ReaderExt};

use super::Faults;

/// The maximum number of operands. If an operator has more, only the last ones are used.
const MOST_OPERANDS: usize = 512;

/// The maximum number of objects without an end (strings, arrays, dictionaries, images) whose end
/// is searched for. Each search may read the rest of the stream.
const MOST_UNCLOSED: u32 = 64;

/// The maximum length of the head of an inline image.
const LONGEST_HEAD: usize = 4096;

/// Decodes a stream. If the stream is damaged and has no encoding other than Deflate, returns the
/// bytes before the damage. For other damaged streams, returns no bytes. Subtracts the number of
/// decoded bytes from `left`.
pub(super) fn decoded(stream: &Stream<'_>, left: &mut u64, faults: &mut Faults) -> Vec<u8> {
    if *left == 0 {
        faults.too_much = true;
        return Vec::new();
    }
    let plain = stream.dict().get::<Object<'_>>("DecodeParms").is_none();
    let bytes = if plain && stream.filters()[..] == [Filter::FlateDecode] {
        inflated(&stream.raw_data(), *left, faults)
    } else {
        let bytes = stream.decoded_data();
        faults.damaged |= bytes.is_err();
        bytes.map(Cow::into_owned).unwrap_or_default()
    };
    *left = left.saturating_sub(bytes.len() as u64);
    bytes
}

/// Decompresses as much of a stream as possible. The library is not used here, because it would
/// return nothing of a damaged stream. A wrong check sum is ignored.
fn inflated(bytes: &[u8], most: u64, faults: &mut Faults) -> Vec<u8> {
    let header = match bytes {
        [a, b, ..] if a & 15 == 8 && (u32::from(*a) * 256 + u32::from(*b)).is_multiple_of(31) => 2,
        _ => 0,
    };
    let mut inflate = DeflateDecoder::new(&bytes[header..]);
    let (mut all, mut piece) = (Vec::new(), [0; 4096]);
    loop {
        let read = inflate.read(&mut piece);
        // The output before an error is used, too.
        let end = inflate.total_out() as usize - all.len();
        all.extend_from_slice(&piece[..end.min(piece.len())]);
        faults.damaged |= read.is_err();
        faults.too_much |= all.len() as u64 > most;
        if matches!(read, Ok(0) | Err(_)) || all.len() as u64 > most {
            return all;
        }
    }
}

/// Reads the operators of a content stream.
pub(super) struct Operators<'a> {
    reader: Reader<'a>,
    unclosed: u32,
}

impl<'a> Operators<'a> {
    pub(super) fn new(bytes: &'a [u8]) -> Self {
        Self {
            reader: Reader::new(bytes),
            unclosed: 0,
        }
    }

    /// Returns the next operator, and puts its operands into `operands`.
    pub(super) fn next(&mut self, operands: &mut Vec<Object<'a>>) -> Option<&'a [u8]> {
        operands.clear();
        loop {
            self.reader.skip_white_spaces_and_comments();
            match self.reader.peek_byte()? {
                b'0'..=b'9' | b'+' | b'-' | b'.' => operands.push(self.number()),
                b'/' | b'(' | b'<' | b'[' if self.unclosed < MOST_UNCLOSED => {
                    if let Some(object) = self.reader.read_without_context() {
                        operands.push(object);
                    } else {
                        self.unclosed += 1;
                        self.reader.forward();
                    }
                }
                byte if is_of_operators(byte) => match self.token(is_of_operators) {
                    b"true" | b"false" | b"null" => {}
                    b"BI" if self.unclosed < MOST_UNCLOSED => {
                        operands.clear();
                        match image_end(self.reader.tail().unwrap_or_default()) {
                            Some(end) => self.reader.jump(self.reader.offset() + end),
                            None => self.unclosed += 1,
                        }
                    }
                    operator => return Some(operator),
                },
                _ => self.reader.forward(),
            }
            if operands.len() > MOST_OPERANDS {
                operands.drain(..MOST_OPERANDS / 2);
            }
        }
    }

    fn token(&mut self, is_of_token: fn(u8) -> bool) -> &'a [u8] {
        let start = self.reader.offset();
        self.reader.forward_while(is_of_token);
        self.reader
            .range(start..self.reader.offset())
            .unwrap_or_default()
    }

    /// Reads a number that may have any number of signs and points. A second point, or a sign after
    /// a digit, ends the number.
    fn number(&mut self) -> Object<'a> {
        let of_number = |byte: u8| matches!(byte, b'+' | b'-' | b'.' | b'0'..=b'9');
        let all = str::from_utf8(self.token(of_number)).unwrap_or_default();
        let value = all.trim_start_matches(['+', '-']);
        let is_negative = all[..all.len() - value.len()].contains('-');
        let mut points = 0;
        let mut parts = value.split(|letter| {
            points += u32::from(letter == '.');
            points > 1 || matches!(letter, '+' | '-')
        });
        let value: f32 = parts.next().unwrap_or_default().parse().unwrap_or(0.0);
        Object::Number(Number::from_f32(if is_negative { -value } else { value }))
    }
}

/// Returns the end of an inline image. The image consists of a head, `ID`, the data, and `EI`.
/// Returns `None` if the end is missing. The bytes are then not an image.
fn image_end(bytes: &[u8]) -> Option<usize> {
    let data = 2 + memchr::memmem::find(&bytes[..bytes.len().min(LONGEST_HEAD)], b"ID")?;
    let is_plain = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0);
    let mut ends = memchr::memmem::find_iter(&bytes[data..], b"EI").map(|at| data + at + 2);
    ends.find(|&end| {
        let after = &bytes[end..];
        after.first().is_none_or(u8::is_ascii_whitespace) && after.iter().take(10).all(is_plain)
    })
}

fn is_of_operators(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'\'' | b'"' | b'*' | b'_' | b'$')
}

/// Returns a string of a dictionary, converted to Unicode.
pub(super) fn text(dict: &Dict<'_>, key: &str) -> Option<String> {
    in_unicode(&dict.get(key)?)
}

/// Converts a string to Unicode. UTF-16 and UTF-8 begin with a byte order mark.
pub(super) fn in_unicode(value: &Object<'_>) -> Option<String> {
    // The characters of the bytes 0x80 to 0xa0 in PDFDocEncoding. All other bytes are read as
    // Latin-1.
    const HIGH: &str = "•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž\u{fffd}€";
    let bytes = match value {
        Object::String(string) => string.as_bytes().to_vec(),
        Object::Stream(stream) => stream.decoded_data().ok()?.into_owned(),
        _ => return None,
    };
    if let Some((encoding, mark)) = Encoding::for_bom(&bytes) {
        let (text, _) = encoding.decode_without_bom_handling(&bytes[mark..]);
        return Some(text.into_owned());
    }
    let letter = |&byte: &u8| match byte {
        0x80..=0xa0 => HIGH.chars().nth(usize::from(byte - 0x80)).unwrap_or(' '),
        byte => char::from(byte),
    };
    Some(bytes.iter().map(letter).collect())
}
