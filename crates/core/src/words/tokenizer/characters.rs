//! Reads characters from bytes, normalizes them, and passes them to the sink, which makes words.

use super::Tokenizer;
use crate::words::classes::{Role, TWO_IN_LOWER_CASE, class_of};
use crate::words::sink::{FOLDED, Sink};

impl Tokenizer {
    /// Takes bytes one by one from `from` on, until the first separator at or after `least`, or
    /// until the end. Returns the position where it stopped.
    pub(super) fn by_bytes(
        &mut self,
        bytes: &[u8],
        from: usize,
        least: usize,
        sink: &mut impl Sink,
    ) -> usize {
        if let Some(before) = from.checked_sub(1) {
            self.hold_relation(bytes[before], sink);
        }
        let mut at = from;
        while let Some(&byte) = bytes.get(at) {
            if byte < 128 {
                at += 1;
                let may_go_on = bytes.get(at).is_none_or(|&next| next >= 128);
                self.text(byte, may_go_on, sink);
                if self.between && at >= least {
                    return at;
                }
            } else if let Some((character, length)) = self.whole_character(&bytes[at..]) {
                at += length;
                self.continued += length as u64 - 1;
                self.character(character, sink);
            } else {
                at += 1;
                self.wide(byte, sink);
            }
        }
        bytes.len()
    }

    /// Returns the UTF-8 character at the start of the bytes and its length. Returns `None` if the
    /// character is not whole or does not have two or three bytes. Also returns `None` if the text
    /// is read byte by byte, or if an earlier character needs more bytes.
    #[inline]
    fn whole_character(&self, bytes: &[u8]) -> Option<(char, usize)> {
        if self.by_byte || self.need > 0 {
            return None;
        }
        match *bytes {
            [first @ 0xc2..=0xdf, second @ 0x80..=0xbf, ..] => {
                let code = u32::from(first & 0x1f) << 6 | u32::from(second & 0x3f);
                Some((char::from_u32(code)?, 2))
            }
            [
                first @ 0xe0..=0xef,
                second @ 0x80..=0xbf,
                third @ 0x80..=0xbf,
                ..,
            ] => {
                let of_last = u32::from(second & 0x3f) << 6 | u32::from(third & 0x3f);
                let code = u32::from(first & 0xf) << 12 | of_last;
                let is_shortest = code >= 0x800;
                Some((char::from_u32(code).filter(|_| is_shortest)?, 3))
            }
            _ => None,
        }
    }

    /// Takes a byte of text. `may_go_on` is true if a mark that changes the byte may follow.
    #[inline]
    pub(super) fn text(&mut self, byte: u8, may_go_on: bool, sink: &mut impl Sink) {
        if byte >= 128 {
            return self.wide(byte, sink);
        }
        self.end_wide(sink);
        match FOLDED[usize::from(byte)] {
            0 => {
                self.separate(sink);
                self.between = true;
                if may_go_on {
                    self.hold_relation(byte, sink);
                }
            }
            _ if may_go_on => self.hold(char::from(byte), false, sink),
            folded => {
                self.release(sink);
                self.between = false;
                letter(u32::from(folded), &mut self.alone, sink);
            }
        }
    }

    /// Ends the current word.
    #[inline]
    pub(super) fn separate(&mut self, sink: &mut impl Sink) {
        self.release(sink);
        self.alone = false;
        sink.end_word();
    }

    /// Holds a separator if it is one of the three separators that a mark can change. For example,
    /// `=` and a stroke become `≠`.
    #[inline]
    pub(super) fn hold_relation(&mut self, byte: u8, sink: &mut impl Sink) {
        if matches!(byte, b'<' | b'=' | b'>') {
            self.hold(char::from(byte), false, sink);
        }
    }

    /// Drops the separator that waits, because it is not part of the text.
    pub(super) fn drop_relation(&mut self, sink: &mut impl Sink) {
        self.composer.clear();
        sink.release();
        self.between = true;
    }

    /// Takes a non-ASCII byte that [`Self::whole_character`] does not read.
    fn wide(&mut self, byte: u8, sink: &mut impl Sink) {
        self.between = false;
        if self.by_byte {
            return self.character(char::from(byte), sink);
        }
        if self.need > 0 && byte & 0xc0 == 0x80 {
            self.wide[usize::from(self.have)] = byte;
            self.have += 1;
            if self.have == self.need {
                let bytes = &self.wide[..usize::from(self.have)];
                match std::str::from_utf8(bytes)
                    .ok()
                    .and_then(|text| text.chars().next())
                {
                    Some(character) => {
                        self.continued += u64::from(self.have) - 1;
                        self.need = 0;
                        self.character(character, sink);
                    }
                    None => self.end_wide(sink),
                }
            }
            return;
        }
        self.end_wide(sink);
        self.need = match byte {
            0xc2..=0xdf => 2,
            0xe0..=0xef => 3,
            0xf0..=0xf4 => 4,
            _ => return self.character(char::from(byte), sink),
        };
        (self.wide[0], self.have) = (byte, 1);
    }

    /// Reads bytes that are not a UTF-8 character as ISO 8859-1.
    #[inline]
    pub(super) fn end_wide(&mut self, sink: &mut impl Sink) {
        if self.need > 0 {
            self.need = 0;
            for at in 0..usize::from(self.have) {
                self.character(char::from(self.wide[at]), sink);
            }
        }
    }

    #[inline]
    pub(super) fn character(&mut self, character: char, sink: &mut impl Sink) {
        self.hold(character, class_of(character).joins(), sink);
    }

    /// Holds a character until its marks are read, or joins it to the character that waits.
    #[inline]
    fn hold(&mut self, character: char, joins: bool, sink: &mut impl Sink) {
        self.between = false;
        let Self {
            composer, alone, ..
        } = self;
        let mut is_alone = composer.is_empty();
        composer.push(character, joins, &mut |out| {
            is_alone = true;
            part_of_word(out, alone, sink);
        });
        sink.hold(!is_alone);
    }

    /// Passes on the character that waits, with all its marks.
    #[inline]
    fn release(&mut self, sink: &mut impl Sink) {
        if !self.composer.is_empty() {
            let Self {
                composer, alone, ..
            } = self;
            composer.flush(&mut |out| part_of_word(out, alone, sink));
            sink.release();
        }
    }
}

/// Passes on a letter that continues a word. `alone` is true if the current word is a letter of a
/// script without blanks. Such a word then ends.
#[inline]
fn letter(letter: u32, alone: &mut bool, sink: &mut impl Sink) {
    if *alone {
        *alone = false;
        sink.break_word();
    }
    sink.letter(letter);
}

/// Passes on a character in normal form.
#[inline]
fn part_of_word(character: char, alone: &mut bool, sink: &mut impl Sink) {
    let class = class_of(character);
    match class.role() {
        Role::Separator => {
            *alone = false;
            sink.end_word();
        }
        Role::Letter => {
            letter(class.lower(), alone, sink);
            let (two, [_, dot]) = TWO_IN_LOWER_CASE;
            if character == two {
                sink.letter(dot as u32);
            }
        }
        Role::Mark => sink.letter(class.lower()),
        Role::Alone => {
            sink.break_word();
            sink.letter(class.lower());
            *alone = true;
        }
        Role::Invisible => {}
    }
}
