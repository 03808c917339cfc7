//! Detects texts that are not in UTF-8, and the encodings that they use.
//!
//! # The rule
//!
//! Bytes are treated as text in another encoding only if there is strong evidence. Otherwise
//! `resemble` would find words in binaries, which have no words. The evidence is one of these:
//!
//! 1. A byte order mark of UTF-16 or UTF-32 is evidence if the bytes after the mark decode to
//!    characters that occur in texts.
//! 2. Without a mark, UTF-32 is assumed if all units are characters that occur in texts. UTF-16 is
//!    assumed in two cases. In the first, the high bytes of most units are zero, and the units are
//!    letters, digits, blanks and punctuation. In the second, the units are text of one script
//!    ([`wide`]). ASCII with the escape sequences of ISO-2022-JP is taken as ISO-2022-JP.
//! 3. An encoding that markup declares is used, unless the bytes are UTF-8.
//! 4. Other bytes must have no NUL, and no control characters except blanks. They must not be
//!    UTF-8, not even damaged UTF-8. chardetng (the detector of Firefox) guesses their encoding. In
//!    this encoding, they must be valid and mostly letters. chardetng does not know the encodings
//!    of DOS, of the Mac, and of Vietnamese. One of these encodings replaces the guess if it fits
//!    the bytes better ([`evidence`]).
//!
//! If the first [`crate::HEAD`] bytes of a text are ASCII, the text counts as UTF-8. There are two
//! exceptions: markup that declares another encoding, and texts with escape sequences of
//! ISO-2022-JP. Each later byte that is not UTF-8 is then read as a letter. Equal bytes are read as
//! the same letter.

mod code_page;
mod evidence;
mod names;
mod wide;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{Encoding, ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};
use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

pub(crate) use code_page::CodePage;
pub(crate) use names::MemberNames;

/// An encoding that is not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Charset {
    /// One of the encodings of the Encoding Standard.
    Listed(&'static Encoding),
    /// A code page that the standard does not have.
    Paged(CodePage),
    /// UTF-32, little endian or big endian.
    Utf32 { little: bool },
}

impl Charset {
    /// Decodes a text in this encoding and removes its byte order mark.
    pub(crate) fn decode(self, bytes: &[u8]) -> String {
        match self {
            Self::Listed(encoding) => encoding.decode_with_bom_removal(bytes).0.into_owned(),
            Self::Paged(page) => {
                let upper = page.upper_half();
                bytes.iter().map(|&byte| character(&upper, byte)).collect()
            }
            Self::Utf32 { little } => {
                let units = bytes.as_chunks().0.iter();
                let characters = units.map(|&unit| character_32(unit, little));
                let characters = characters.map(|c| c.unwrap_or('\u{fffd}'));
                characters.skip_while(|c| *c == '\u{feff}').collect()
            }
        }
    }
}

/// Returns the character of a byte in a code page. `upper` has the characters of the bytes 128 to
/// 255.
pub(crate) fn character(upper: &[char], byte: u8) -> char {
    let at = usize::from(byte).checked_sub(128);
    at.map_or(char::from(byte), |at| {
        upper.get(at).copied().unwrap_or('\u{fffd}')
    })
}

/// Returns the encoding of a text that begins with `head`. Returns `None` if the bytes are UTF-8,
/// or if they are not a text.
pub(crate) fn of(head: &[u8]) -> Option<Charset> {
    if let Some(charset) = marked(head) {
        return fits(charset, head).then_some(charset);
    }
    match std::str::from_utf8(head) {
        Ok(_) => of_utf8(head),
        Err(broken) if broken.error_len().is_none() && broken.valid_up_to() + 4 > head.len() => {
            // `head` may end within a character.
            of_utf8(&head[..broken.valid_up_to()])
        }
        Err(_) if has_controls(head) => wide(head),
        Err(_) => legacy(head),
    }
}

/// Returns the encoding of bytes that are valid UTF-8. Such bytes may still be UTF-16, or markup
/// that declares another encoding.
fn of_utf8(head: &[u8]) -> Option<Charset> {
    if has_controls(head) {
        return wide(head);
    }
    if memchr::memchr(0x1b, head).is_some() && head.is_ascii() {
        let switches = [&b"\x1b$B"[..], b"\x1b$@", b"\x1b(J"];
        let is_switched = switches
            .iter()
            .any(|switch| memchr::memmem::find(head, switch).is_some());
        return (is_switched && plausible(ISO_2022_JP, head, Mark::Missing))
            .then_some(Charset::Listed(ISO_2022_JP));
    }
    // A declaration counts only if the bytes are ASCII. Bytes beyond ASCII are valid UTF-8 here,
    // which contradicts the declaration.
    declared(head).filter(|_| head.is_ascii())
}

/// Returns the encoding that a byte order mark states, unless it is the mark of UTF-8.
fn marked(head: &[u8]) -> Option<Charset> {
    Some(match head {
        [0xff, 0xfe, 0, 0, ..] => Charset::Utf32 { little: true },
        [0, 0, 0xfe, 0xff, ..] => Charset::Utf32 { little: false },
        [0xff, 0xfe, ..] => Charset::Listed(UTF_16LE),
        [0xfe, 0xff, ..] => Charset::Listed(UTF_16BE),
        _ => return None,
    })
}

/// Returns whether the bytes after the byte order mark are a text.
fn fits(charset: Charset, head: &[u8]) -> bool {
    match charset {
        Charset::Listed(encoding) => plausible(encoding, &head[2..], Mark::There),
        Charset::Paged(_) => false,
        Charset::Utf32 { little } => plausible_32(&head[4..], little, Mark::There),
    }
}

/// Detects UTF-16 or UTF-32 without a byte order mark.
fn wide(head: &[u8]) -> Option<Charset> {
    for little in [true, false] {
        if head.len() >= 16 && plausible_32(head, little, Mark::Missing) {
            return Some(Charset::Utf32 { little });
        }
    }
    let units = head.len() / 2;
    if units < 8 {
        return None;
    }
    let zeros = |side: usize| head.chunks_exact(2).filter(|unit| unit[side] == 0).count();
    let of_latin = match (zeros(0), zeros(1)) {
        // Latin text in UTF-16 has many units with a zero high byte, and few with a zero low byte.
        (low, high) if high * 2 >= units && low * 8 <= high => Some(UTF_16LE),
        (high, low) if high * 2 >= units && low * 8 <= high => Some(UTF_16BE),
        _ => None,
    };
    let encoding = of_latin
        .filter(|encoding| plausible(encoding, head, Mark::Missing))
        .or_else(|| wide_script(head))?;
    Some(Charset::Listed(encoding))
}

/// Detects UTF-16 of a script whose high bytes are not zero.
fn wide_script(head: &[u8]) -> Option<&'static Encoding> {
    let units = head.as_chunks().0;
    // The last unit may be half of a surrogate pair, so it is not judged.
    let units = &units[..units.len() - 1];
    let little = wide::evidence(units.iter().map(|&unit| u16::from_le_bytes(unit)));
    let big = wide::evidence(units.iter().map(|&unit| u16::from_be_bytes(unit)));
    match little.cmp(&big) {
        std::cmp::Ordering::Greater => Some(UTF_16LE),
        std::cmp::Ordering::Less => Some(UTF_16BE),
        std::cmp::Ordering::Equal => None,
    }
}

/// Returns whether the bytes have control characters that do not occur in texts with one byte per
/// character. The last byte may be 0x1a, with which CP/M and DOS end a text.
fn has_controls(head: &[u8]) -> bool {
    let text = head.strip_suffix(b"\x1a").unwrap_or(head);
    text.iter().any(|&byte| is_control(u32::from(byte)))
}

/// Detects single-byte and multi-byte encodings other than UTF-8.
fn legacy(head: &[u8]) -> Option<Charset> {
    let text = head.strip_suffix(b"\x1a").unwrap_or(head);
    let (good, bad) = utf8_characters(head);
    if good > bad {
        return None;
    }
    if let Some(declared) = declared(head) {
        return Some(declared);
    }
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(text, false);
    let encoding = detector.guess(None, Utf8Detection::Deny);
    let charset = evidence::best(Charset::Listed(encoding), text);
    let is_text = match charset {
        Charset::Listed(encoding) => encoding != UTF_8 && plausible(encoding, text, Mark::Missing),
        other => is_text(other.decode(text).chars(), Mark::Missing),
    };
    is_text.then_some(charset)
}

/// Counts the UTF-8 characters of more than one byte. Also counts the places with invalid bytes.
fn utf8_characters(bytes: &[u8]) -> (usize, usize) {
    let (mut good, mut bad) = (0, 0);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    (good, bad)
}

/// Returns the encoding that markup declares. Returns `None` if the declared encoding is UTF-8, or
/// if the bytes cannot be in the declared encoding.
fn declared(head: &[u8]) -> Option<Charset> {
    let start = head.trim_ascii_start();
    if start.first() != Some(&b'<') {
        return None;
    }
    let lower = start.to_ascii_lowercase();
    let label = if lower.starts_with(b"<?xml") {
        let end = memchr::memchr(b'>', &lower)?;
        value(&lower[..end], b"encoding")?
    } else {
        memchr::memmem::find_iter(&lower, b"<meta").find_map(|at| {
            let tag = &lower[at..];
            let end = memchr::memchr(b'>', tag)?;
            value(&tag[..end], b"charset")
        })?
    };
    if let Some(page) = CodePage::for_label(label) {
        return Some(Charset::Paged(page));
    }
    let encoding = Encoding::for_label(label)?;
    // The declaration was just read as ASCII, so the encoding cannot be UTF-16.
    (encoding != UTF_8 && encoding.is_ascii_compatible()).then_some(Charset::Listed(encoding))
}

/// Returns the value of the attribute `name` in a tag: `name=value` or `name="value"`.
fn value<'a>(tag: &'a [u8], name: &[u8]) -> Option<&'a [u8]> {
    let at = memchr::memmem::find(tag, name)? + name.len();
    let rest = tag[at..].trim_ascii_start().strip_prefix(b"=")?;
    let rest = rest.trim_ascii_start();
    let rest = rest
        .strip_prefix(b"\"")
        .or_else(|| rest.strip_prefix(b"'"))
        .unwrap_or(rest);
    let end = rest
        .iter()
        .position(|&byte| !(byte.is_ascii_alphanumeric() || b"-_.:".contains(&byte)))
        .unwrap_or(rest.len());
    Some(&rest[..end])
}

/// Returns whether a character is a control character that does not occur in texts.
fn is_control(code: u32) -> bool {
    matches!(code, 0..=8 | 0xe..=0x1a | 0x1c..=0x1f | 0x7f)
}

/// The presence of a byte order mark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mark {
    There,
    Missing,
}

/// Returns whether the bytes are a text in this encoding. The bytes may end within a character.
fn plausible(encoding: &'static Encoding, bytes: &[u8], mark: Mark) -> bool {
    let mut decoder = encoding.new_decoder_without_bom_handling();
    let Some(room) = decoder.max_utf8_buffer_length_without_replacement(bytes.len()) else {
        return false;
    };
    let mut text = String::with_capacity(room);
    let (result, _) = decoder.decode_to_string_without_replacement(bytes, &mut text, false);
    result == encoding_rs::DecoderResult::InputEmpty && is_text(text.chars(), mark)
}

fn plausible_32(bytes: &[u8], little: bool, mark: Mark) -> bool {
    let mut characters = bytes
        .as_chunks()
        .0
        .iter()
        .map(|&unit| character_32(unit, little))
        .peekable();
    characters.peek().is_some()
        && characters.clone().all(|character| character.is_some())
        && is_text(characters.flatten(), mark)
}

/// Decodes one unit (4 bytes) of UTF-32.
pub(crate) fn character_32(unit: [u8; 4], little: bool) -> Option<char> {
    char::from_u32(if little {
        u32::from_le_bytes(unit)
    } else {
        u32::from_be_bytes(unit)
    })
}

/// Returns whether the characters are those of a text. None of them may be a control character, a
/// noncharacter or a private-use character. At least three fifths must be letters, digits and
/// blanks. At least three quarters of the characters beyond ASCII must be letters.
///
/// After a byte order mark, one in [`ODD`] characters may be a control character that a program
/// left behind. Combining marks then count as letters, because they are nearly half of a text in
/// Khmer, Burmese and Tibetan. The zero-width characters that separate words in these scripts count
/// as letters, too.
fn is_text(characters: impl Iterator<Item = char>, mark: Mark) -> bool {
    let is_marked = mark == Mark::There;
    let (mut all, mut words, mut beyond, mut letters) = (0usize, 0usize, 0usize, 0usize);
    let mut odd = 0usize;
    for character in characters {
        let code = character as u32;
        if matches!(code, 0x80..=0x9f | 0xe000..=0xf8ff | 0xfff0..=0xffff | 0xf_0000..) {
            return false;
        }
        all += 1;
        odd += usize::from(is_control(code));
        // Vietnamese in a single-byte encoding has combining marks, so these marks count as letters
        // even without a byte order mark.
        let joins = matches!(code, 0x300..=0x36f)
            || is_marked && (matches!(code, 0x200b..=0x200d) || is_mark(character));
        let is_letter = character.is_alphanumeric() || joins;
        words += usize::from(is_letter || character.is_whitespace());
        if code > 0x7f {
            beyond += 1;
            // Quotation marks, dashes, the euro and similar signs count as letters.
            let is_typographic = matches!(
                code,
                0xa0..=0xbf | 0x2010..=0x2044 | 0x20a0..=0x20bf | 0x2122
                    | 0x3000..=0x303f | 0xff01..=0xff20
            );
            letters += usize::from(is_letter || is_typographic);
        }
    }
    let most_odd = if is_marked { all / ODD } else { 0 };
    odd <= most_odd && all > 0 && words * 5 >= all * 3 && letters * 4 >= beyond * 3
}

/// The number of characters of which one may be a control character: see [`is_text`].
const ODD: usize = 50;

fn is_mark(character: char) -> bool {
    character.general_category_group() == GeneralCategoryGroup::Mark
}

#[cfg(test)]
mod tests;
