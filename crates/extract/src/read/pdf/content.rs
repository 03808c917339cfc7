//! Content streams: the bytes of them that can be decoded, and the operators in these.
//!
//! Viewers draw what they can of a page, so an odd token costs itself and nothing after it.

use std::borrow::Cow;

use flate2::{Decompress, FlushDecompress, Status};
use hayro_syntax::Filter;
use hayro_syntax::object::{Dict, Number, Object, Stream};
use hayro_syntax::reader::{Reader, ReaderExt};

use super::page::Faults;

/// Of more operands only the last count.
const MOST_OPERANDS: usize = 512;

/// The most strings, arrays, dictionaries and images without an end that are searched for to the
/// end of the stream.
const MOST_UNCLOSED: u32 = 64;

/// The head of an image among the operators is no longer.
const LONGEST_HEAD: usize = 4096;

/// The part of a stream that can be decoded.
pub(super) fn decoded(stream: &Stream<'_>, most: u64, faults: &mut Faults) -> Vec<u8> {
    let plain = stream.dict().get::<Object<'_>>("DecodeParms").is_none();
    if plain && stream.filters()[..] == [Filter::FlateDecode] {
        return inflated(&stream.raw_data(), most, faults);
    }
    let bytes = stream.decoded_data();
    faults.damaged |= bytes.is_err();
    bytes.map(Cow::into_owned).unwrap_or_default()
}

/// The library gives all of a compressed stream or nothing. Its check sum is not looked at: there
/// is no more to be had, right or wrong.
fn inflated(bytes: &[u8], most: u64, faults: &mut Faults) -> Vec<u8> {
    let header = match bytes {
        [a, b, ..] if a & 15 == 8 && (u32::from(*a) * 256 + u32::from(*b)).is_multiple_of(31) => 2,
        _ => 0,
    };
    let (bytes, mut all) = (&bytes[header..], Vec::new());
    let mut inflate = Decompress::new(false);
    loop {
        let (read, written) = (inflate.total_in(), inflate.total_out());
        all.reserve(all.len().max(4 * bytes.len()).clamp(1 << 10, 8 << 20));
        let rest = bytes.get(read as usize..).unwrap_or_default();
        match inflate.decompress_vec(rest, &mut all, FlushDecompress::None) {
            Ok(Status::StreamEnd) => return all,
            Ok(_) if all.len() as u64 > most => {
                faults.too_much = true;
                return all;
            }
            Ok(_) if (inflate.total_in(), inflate.total_out()) != (read, written) => {}
            _ => {
                faults.damaged = true;
                return all;
            }
        }
    }
}

/// The operators of a content stream.
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

    /// The next operator, after its operands.
    pub(super) fn next(&mut self, operands: &mut Vec<Object<'a>>) -> Option<&'a [u8]> {
        operands.clear();
        loop {
            self.reader.skip_white_spaces_and_comments();
            match self.reader.peek_byte()? {
                b'0'..=b'9' | b'+' | b'-' | b'.' => {
                    let number = Number::from_f32(self.number());
                    operands.push(Object::Number(number));
                }
                b'/' | b'(' | b'<' | b'[' => match self.object() {
                    Some(object) => operands.push(object),
                    None => self.reader.forward(),
                },
                byte if is_of_operators(byte) => match self.operator() {
                    b"true" | b"false" | b"null" => {}
                    b"BI" => {
                        operands.clear();
                        self.skip_image();
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

    fn operator(&mut self) -> &'a [u8] {
        let start = self.reader.offset();
        self.reader.forward_while(is_of_operators);
        let operator = self.reader.range(start..self.reader.offset());
        operator.unwrap_or_default()
    }

    fn object(&mut self) -> Option<Object<'a>> {
        if self.unclosed >= MOST_UNCLOSED {
            return None;
        }
        let object = self.reader.read_without_context::<Object<'a>>();
        self.unclosed += u32::from(object.is_none());
        object
    }

    /// A number, whatever its signs and points: of two points or signs within it the first part.
    fn number(&mut self) -> f32 {
        let mut sign = 1.0;
        while let Some(byte) = self.reader.eat(|byte| matches!(byte, b'+' | b'-')) {
            sign = if byte == b'-' { -1.0 } else { sign };
        }
        let (mut value, mut unit, mut over) = (0.0f32, 0.0f32, false);
        let of_number = |byte: u8| matches!(byte, b'0'..=b'9' | b'.' | b'-');
        while let Some(byte) = self.reader.eat(of_number) {
            match byte {
                b'.' if unit == 0.0 => unit = 1.0,
                b'0'..=b'9' if !over => {
                    unit /= 10.0;
                    value = if unit == 0.0 { value * 10.0 } else { value }
                        + f32::from(byte - b'0') * if unit == 0.0 { 1.0 } else { unit };
                }
                _ => over = true,
            }
        }
        sign * value
    }

    /// Goes past an image that stands among the operators: its head, `ID`, its bytes, `EI`. Without
    /// an end it is taken for no image.
    fn skip_image(&mut self) {
        if self.unclosed >= MOST_UNCLOSED {
            return;
        }
        let start = self.reader.offset();
        let bytes = self.reader.tail().unwrap_or_default();
        let head = &bytes[..bytes.len().min(LONGEST_HEAD)];
        let is_plain = |byte: &u8| matches!(byte, b'\t' | b'\n' | b'\r' | b' '..=b'~' | 0);
        let is_end = |&at: &usize| {
            let after = &bytes[at + 2..bytes.len().min(at + 12)];
            after.first().is_none_or(u8::is_ascii_whitespace) && after.iter().all(is_plain)
        };
        let data = memchr::memmem::find(head, b"ID").map(|at| at + 2);
        let end = data.and_then(|data| {
            let mut ends = memchr::memmem::find_iter(&bytes[data..], b"EI").map(|at| data + at);
            ends.find(is_end)
        });
        match end {
            Some(end) => self.reader.jump(start + end + 2),
            None => self.unclosed += 1,
        }
    }
}

fn is_of_operators(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'\'' | b'"' | b'*' | b'_' | b'$')
}

/// A string of a dictionary in Unicode.
pub(super) fn text(dict: &Dict<'_>, key: &str) -> Option<String> {
    in_unicode(&dict.get(key)?)
}

/// A string in Unicode: UTF-16 and UTF-8 have a mark.
pub(super) fn in_unicode(value: &Object<'_>) -> Option<String> {
    // 0x18 to 0x1f, and 0x80 to 0xa0: all else is as in Latin-1.
    const LOW: [char; 8] = ['˘', 'ˇ', 'ˆ', '˙', '˝', '˛', '˚', '˜'];
    const HIGH: &str = "•†‡…—–ƒ⁄‹›−‰„“”‘’‚™ﬁﬂŁŒŠŸŽıłœšž\u{fffd}€";
    let bytes = match value {
        Object::String(string) => string.as_bytes().to_vec(),
        Object::Stream(stream) => stream.decoded_data().ok()?.into_owned(),
        _ => return None,
    };
    let utf_16 = |rest: &[u8], of: fn([u8; 2]) -> u16| {
        let units = rest.as_chunks().0.iter().map(|unit| of(*unit));
        char::decode_utf16(units).map_while(Result::ok).collect()
    };
    let of_doc = |&byte: &u8| match byte {
        0x18..=0x1f => LOW[usize::from(byte - 0x18)],
        0x80..=0xa0 => HIGH.chars().nth(usize::from(byte - 0x80)).unwrap_or(' '),
        byte => char::from(byte),
    };
    Some(match &bytes[..] {
        [0xfe, 0xff, rest @ ..] => utf_16(rest, u16::from_be_bytes),
        [0xff, 0xfe, rest @ ..] => utf_16(rest, u16::from_le_bytes),
        [0xef, 0xbb, 0xbf, rest @ ..] => String::from_utf8_lossy(rest).into_owned(),
        other => other.iter().map(of_doc).collect(),
    })
}
