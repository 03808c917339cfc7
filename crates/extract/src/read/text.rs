//! Converts plain text and markup in other encodings to UTF-8. Markup keeps its tags.

use std::io::Read;

use crate::Skipped;
use crate::charset::{self, Charset, CodePage};
use crate::read::page::{MOST_READ, PageHead};
use crate::read::{Place, Stop, Take, Text, Walk};

/// The number of bytes at the start of a text from which its encoding is detected.
const SAMPLE: u64 = 256 << 10;

/// Decodes a text. Drops it if a later byte shows that the file is not a text.
pub(super) fn read(walk: &mut Walk, from: &mut dyn Read, place: Place) -> Take {
    let mut sample = Vec::new();
    Read::take(&mut *from, SAMPLE).read_to_end(&mut sample)?;
    let Some(charset) = charset::of(&sample) else {
        return Ok(());
    };
    let head = &sample[..sample.len().min(MOST_READ as usize)];
    let date = PageHead::of(charset.decode(head).as_bytes()).date;
    let mut all = sample.chain(from);
    let mut text = Checked {
        text: walk.text(place),
        characters: 0,
        odd: 0,
    };
    match charset {
        Charset::Listed(encoding) => listed(encoding, &mut all, &mut text)?,
        Charset::Paged(page) => paged(page, &mut all, &mut text)?,
        Charset::Utf32 { little } => utf32(little, &mut all, &mut text)?,
    }
    text.text.end()?;
    walk.date(place, date)
}

/// Decodes a text in another encoding than UTF-8. Returns `None` if the bytes are not a text after
/// all.
pub(crate) fn decoded(bytes: &[u8]) -> Option<String> {
    let sample = &bytes[..bytes.len().min(SAMPLE as usize)];
    let text = charset::of(sample)?.decode(bytes);
    let odd = text.chars().filter(|&character| is_odd(character)).count() as u64;
    (!is_no_text(odd, text.chars().count() as u64)).then_some(text)
}

/// Returns whether this character does not occur in texts.
fn is_odd(character: char) -> bool {
    matches!(character, '\0'..='\x08' | '\u{fffd}')
}

/// Returns whether a text with this number of `characters` has too many `odd` characters, and so is
/// not a text.
fn is_no_text(odd: u64, characters: u64) -> bool {
    odd > 16 && odd * 50 > characters
}

trait Chain {
    fn chain(self, rest: &mut dyn Read) -> impl Read;
}

impl Chain for Vec<u8> {
    fn chain(self, rest: &mut dyn Read) -> impl Read {
        Read::chain(std::io::Cursor::new(self), rest)
    }
}

fn listed(
    encoding: &'static encoding_rs::Encoding,
    from: &mut dyn Read,
    to: &mut Checked<'_>,
) -> Take {
    let mut decoder = encoding.new_decoder_with_bom_removal();
    let mut buffer = vec![0; 16 << 10];
    let mut piece = String::new();
    loop {
        let read = from.read(&mut buffer)?;
        let most = decoder
            .max_utf8_buffer_length(read)
            .unwrap_or(4 * read + 16);
        piece.reserve(most);
        let _ = decoder.decode_to_string(&buffer[..read], &mut piece, read == 0);
        to.push(&piece)?;
        piece.clear();
        if read == 0 {
            return Ok(());
        }
    }
}

fn paged(page: CodePage, from: &mut dyn Read, to: &mut Checked<'_>) -> Take {
    let upper = page.upper_half();
    let mut buffer = vec![0; 16 << 10];
    let mut piece = String::new();
    loop {
        let read = from.read(&mut buffer)?;
        if read == 0 {
            return Ok(());
        }
        piece.clear();
        piece.extend(
            buffer[..read]
                .iter()
                .map(|&byte| charset::character(&upper, byte)),
        );
        to.push(&piece)?;
    }
}

fn utf32(little: bool, from: &mut dyn Read, to: &mut Checked<'_>) -> Take {
    let mut buffer = Vec::new();
    let mut piece = String::new();
    let mut start = true;
    loop {
        buffer.clear();
        Read::take(&mut *from, 16 << 10).read_to_end(&mut buffer)?;
        if buffer.is_empty() {
            return Ok(());
        }
        for &unit in buffer.as_chunks().0 {
            let character = charset::character_32(unit, little).unwrap_or('\u{fffd}');
            if !(std::mem::take(&mut start) && character == '\u{feff}') {
                piece.push(character);
            }
        }
        to.push(&piece)?;
        piece.clear();
    }
}

/// A text that is being decoded. It is dropped if the bytes turn out not to be text.
struct Checked<'w> {
    text: Text<'w>,
    characters: u64,
    /// The number of characters that do not occur in texts.
    odd: u64,
}

impl Checked<'_> {
    fn push(&mut self, piece: &str) -> Take {
        for character in piece.chars() {
            self.characters += 1;
            self.odd += u64::from(is_odd(character));
        }
        if is_no_text(self.odd, self.characters) {
            return Err(Stop::This(Skipped::Damaged(
                "not a text throughout".to_owned(),
            )));
        }
        self.text.push(piece)
    }
}
