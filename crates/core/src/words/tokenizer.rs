//! Finds words in any encoding, script and markup.

use std::mem;

use memchr::{memchr, memchr2};
use smallvec::SmallVec;

use crate::hash::letters::{BLOCK, Classes, classify};
use crate::hash::shingles::{WINDOW, first_long_run};
use crate::words::entities::{self, Characters};
use crate::words::markup::{HEAD, Markup, Shown};
use crate::words::normal::Composer;
use crate::words::sink::{FOLDED, Sink};

mod characters;

/// The encoding and the format of a text.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WrittenIn {
    /// The number of bytes that continue a character.
    pub(crate) continued: u64,
    pub(crate) is_markup: bool,
}

/// Finds the words of a text that arrives in pieces of any size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokenizer {
    head: Vec<u8>,
    /// `None` until the beginning of the text is complete.
    markup: Option<Markup>,
    /// The value of `markup` at the start of each text. This value is `Some` if markup is read as
    /// text.
    at_first: Option<Markup>,
    /// True if the last byte of text was a separator, and no character waits.
    between: bool,
    /// The character that waits for its marks, as it was written.
    composer: Composer,
    /// The name of the current entity.
    name: SmallVec<[u8; 8]>,
    /// True if the current word is a letter of a script without blanks.
    alone: bool,
    /// True if each byte beyond ASCII is a character (ISO 8859-1).
    by_byte: bool,
    /// The bytes of the current UTF-8 character, in three fields: the bytes, how many have arrived,
    /// and how many the whole character has.
    wide: [u8; 4],
    have: u8,
    need: u8,
    /// The number of bytes that continue a character.
    continued: u64,
}

impl Tokenizer {
    /// Makes a tokenizer for ISO 8859-1, where each byte is a character.
    pub(crate) fn by_byte() -> Self {
        Self {
            by_byte: true,
            ..Self::default()
        }
    }

    /// Makes a tokenizer for texts without markup, or for texts whose markup is read as text.
    pub(crate) fn without_markup() -> Self {
        Self {
            markup: Some(Markup::None),
            at_first: Some(Markup::None),
            ..Self::default()
        }
    }

    /// Decides whether a text is HTML or XML, by its first [`HEAD`] bytes or by all its bytes.
    pub(crate) fn begin_with(&mut self, bytes: &[u8]) {
        self.markup = Some(Markup::at_beginning(bytes));
    }

    /// Returns whether the bytes so far end within an entity.
    pub(crate) fn is_in_entity(&self) -> bool {
        self.markup == Some(Markup::Entity)
    }

    /// Returns the encoding and the format, if they are known.
    pub(crate) fn written_in(&self) -> WrittenIn {
        WrittenIn {
            continued: self.continued,
            is_markup: self.is_markup() == Some(true),
        }
    }

    /// Returns whether the text is HTML or XML, if that is known.
    pub(crate) fn is_markup(&self) -> Option<bool> {
        self.markup.map(|markup| markup != Markup::None)
    }

    /// Returns the state after the beginning of a text. Two tokenizers with equal states find the
    /// same words from there on.
    pub(super) fn standing(&self) -> Self {
        let (wide, have) = match self.need {
            0 => Default::default(),
            _ => (self.wide, self.have),
        };
        Self {
            head: Vec::new(),
            composer: self.composer.clone(),
            name: self.name.clone(),
            wide,
            have,
            ..*self
        }
    }

    /// Returns the number of continuation bytes so far, and resets it.
    pub(super) const fn take_continued(&mut self) -> u64 {
        mem::replace(&mut self.continued, 0)
    }

    /// Sets the number of continuation bytes.
    pub(super) const fn set_continued(&mut self, continued: u64) {
        self.continued = continued;
    }

    pub(crate) fn reset(&mut self) {
        let mut head = mem::take(&mut self.head);
        head.clear();
        *self = Self {
            head,
            markup: self.at_first,
            at_first: self.at_first,
            ..Self::default()
        };
    }

    pub(crate) fn update(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        let mut bytes = bytes;
        if self.markup.is_none() && self.head.is_empty() && bytes.len() >= HEAD {
            self.begin_with(bytes);
        }
        if self.markup.is_none() {
            let more = bytes.len().min(HEAD - self.head.len());
            self.head.extend_from_slice(&bytes[..more]);
            bytes = &bytes[more..];
            if self.head.len() < HEAD {
                return;
            }
            self.begin(sink);
        }
        self.take(bytes, sink);
    }

    /// Ends the text, and returns its encoding and its format. The next bytes begin another text.
    pub(crate) fn finish(&mut self, sink: &mut impl Sink) -> WrittenIn {
        if self.markup.is_none() {
            self.begin(sink);
        }
        self.end_wide(sink);
        if self.is_in_entity() {
            self.end_name(sink);
        }
        self.separate(sink);
        let written_in = self.written_in();
        self.reset();
        written_in
    }

    /// Decides from the complete beginning whether the text is markup, and takes the beginning.
    fn begin(&mut self, sink: &mut impl Sink) {
        let head = mem::take(&mut self.head);
        self.begin_with(&head);
        self.take(&head, sink);
        self.head = head;
        self.head.clear();
    }

    fn take(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        if self.markup == Some(Markup::None) {
            return self.plain(bytes, sink);
        }
        let mut at = 0;
        while at < bytes.len() {
            at += self.alike(&bytes[at..], sink);
            if let Some(&byte) = bytes.get(at) {
                at += 1;
                self.marked_up(byte, sink);
            }
        }
    }

    /// Takes the bytes of a text with markup up to the next byte that may change the state. Returns
    /// the number of bytes taken.
    fn alike(&mut self, bytes: &[u8], sink: &mut impl Sink) -> usize {
        let up_to = |end: u8| memchr(end, bytes).unwrap_or(bytes.len());
        match self.markup {
            Some(Markup::Text) => {
                let end = memchr2(b'<', b'&', bytes).unwrap_or(bytes.len());
                // A tag ends the word before the tag, so there is no need to wait for the next
                // byte.
                let is_tag = match bytes[end..] {
                    [b'<', next, ..] => {
                        next.is_ascii_alphabetic() || matches!(next, b'!' | b'/' | b'?' | b'<')
                    }
                    _ => false,
                };
                self.plain(&bytes[..end + usize::from(is_tag)], sink);
                if is_tag {
                    self.drop_relation(sink);
                }
                end
            }
            Some(Markup::Tag) => up_to(b'>'),
            Some(Markup::Hidden(0)) => up_to(b'<'),
            Some(Markup::Comment(0)) => up_to(b'-'),
            _ => 0,
        }
    }

    /// Takes a byte of a text with markup.
    fn marked_up(&mut self, byte: u8, sink: &mut impl Sink) {
        if self.is_in_entity() && !self.goes_on_with_name(byte, sink) {
            return;
        }
        let (next, shown) = self.markup.unwrap_or(Markup::None).after(byte);
        self.markup = Some(next);
        match shown {
            Shown::Nothing => {}
            Shown::Blank => self.blank(sink),
            Shown::Byte => self.text(byte, true, sink),
            Shown::Sign => {
                self.blank(sink);
                self.marked_up(byte, sink);
            }
        }
    }

    /// Takes a byte after `&`. Returns true if the byte is text after the entity. In that case the
    /// byte is not taken.
    fn goes_on_with_name(&mut self, byte: u8, sink: &mut impl Sink) -> bool {
        let has_room = self.name.len() < entities::MAX_NAME;
        match byte {
            b';' => {
                match entities::characters_of(&self.name) {
                    Some(characters) => self.characters(characters, sink),
                    None => self.blank(sink),
                }
                self.name.clear();
                self.markup = Some(Markup::Text);
            }
            b'#' if self.name.is_empty() => self.name.push(byte),
            _ if byte.is_ascii_alphanumeric() && has_room => self.name.push(byte),
            _ => {
                self.end_name(sink);
                return true;
            }
        }
        false
    }

    /// Ends an entity without a semicolon. As in browsers, numbers and old names are resolved.
    /// Other known names separate words, and anything else is text.
    fn end_name(&mut self, sink: &mut impl Sink) {
        self.markup = Some(Markup::Text);
        let name = mem::take(&mut self.name);
        let length = entities::without_semicolon(&name);
        match length.and_then(|length| entities::characters_of(&name[..length])) {
            Some(characters) => self.characters(characters, sink),
            None => self.blank(sink),
        }
        if length.is_none() && entities::is_known(&name) {
            return;
        }
        for &byte in &name[length.unwrap_or(0)..] {
            self.text(byte, true, sink);
        }
    }

    /// Takes the characters of an entity. A single character is followed by a NUL.
    fn characters(&mut self, characters: Characters, sink: &mut impl Sink) {
        for character in characters
            .into_iter()
            .filter(|&character| character != '\0')
        {
            if let Ok(byte @ ..0x80) = u8::try_from(character) {
                self.text(byte, true, sink);
            } else {
                self.end_wide(sink);
                self.character(character, sink);
            }
        }
    }

    /// Ends a word.
    fn blank(&mut self, sink: &mut impl Sink) {
        self.text(b' ', false, sink);
    }

    /// Takes text without markup. Whole ASCII words are taken at once, mostly a block at a time.
    /// All other text is taken byte by byte.
    fn plain(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        let mut at = 0;
        // The bytes before these may have ended within a word or a character.
        if !self.between {
            at = self.by_bytes(bytes, 0, 0, sink);
        }
        // No word is open between two blocks: each block ends where its last word began.
        let mut padded = [0; WINDOW];
        loop {
            at += sink.blocks(&bytes[at..]);
            let rest = &bytes[at..];
            if rest.is_empty() {
                if self.between {
                    bytes
                        .last()
                        .iter()
                        .for_each(|&&last| self.hold_relation(last, sink));
                }
                return;
            }
            let window = rest.first_chunk().unwrap_or_else(|| {
                padded = [0; WINDOW];
                padded[..rest.len()].copy_from_slice(rest);
                &padded
            });
            let length = rest.len().min(BLOCK);
            let Classes { words, wide } = classify(window.first_chunk().unwrap_or(&[0; BLOCK]));
            // The last word of the block may continue after the block. `open` is the number of
            // letters of this word.
            let open = (words << (BLOCK - length)).leading_ones() as usize;
            if open == length
                && let Some(end) = end_of_letters(bytes, at + length)
            {
                sink.ascii_word(&bytes[at..end]);
                at = end;
                continue;
            }
            if wide != 0 || open == length {
                at = self.by_bytes(bytes, at, at + length, sink);
                continue;
            }
            let mut whole = words & u64::MAX >> (BLOCK - length + open);
            while let Some(from) = first_long_run(whole) {
                let before = whole & ((1 << from) - 1);
                sink.short_words(window, before);
                whole &= !before;
                let to = from + (whole >> from).trailing_ones() as usize;
                sink.ascii_word(&bytes[at + from..at + to]);
                whole &= u64::MAX << to;
            }
            sink.short_words(window, whole);
            at += length - open;
        }
    }
}

/// Returns the end of the run of ASCII letters that continues at `from`. Returns `None` if a
/// non-ASCII byte or the end of the bytes comes first.
fn end_of_letters(bytes: &[u8], from: usize) -> Option<usize> {
    let mut rest = bytes[from..].iter();
    let end = rest.position(|&byte| byte >= 128 || FOLDED[usize::from(byte)] == 0)?;
    (bytes[from + end] < 128).then_some(from + end)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The words, letter by letter.
    #[derive(Default, PartialEq, Debug)]
    struct Letters(Vec<Vec<u32>>, bool);

    impl Sink for Letters {
        fn letter(&mut self, letter: u32) {
            if !mem::replace(&mut self.1, true) {
                self.0.push(Vec::new());
            }
            self.0.last_mut().unwrap().push(letter);
        }

        fn end_word(&mut self) {
            self.1 = false;
        }
    }

    proptest! {
        /// Bytes taken together give the same words as bytes one by one, wherever a text is cut.
        #[test]
        fn markup_is_taken_as_byte_by_byte(
            text in "(<html>|<p c='a>b'>|</p>|<script>|</script|<style >|<!--|-->|--|->|<!|&amp;|&|\
                &uuml|&#776;|#x|;|<|>|=|'|[a-zA-Z_]{1,20}|[a-z ]{60,140}|[ ,.\n]|é|漢|я|-|\
                \u{301}|\u{338}|\u{ad}){0,60}",
            stray in prop::collection::vec(any::<u8>(), 0..4),
            cuts in prop::collection::vec(0usize..400, 0..6),
        ) {
            let bytes = [text.as_bytes(), &stray].concat();
            let (mut at_once, mut expected) = (Letters::default(), Letters::default());
            let mut tokens = Tokenizer { markup: Some(Markup::Text), ..Tokenizer::default() };
            let mut rest = &bytes[..];
            for cut in cuts {
                let (piece, behind) = rest.split_at(cut.min(rest.len()));
                tokens.update(piece, &mut at_once);
                rest = behind;
            }
            tokens.update(rest, &mut at_once);
            let mut one_by_one = Tokenizer { markup: Some(Markup::Text), ..Tokenizer::default() };
            for &byte in &bytes {
                one_by_one.marked_up(byte, &mut expected);
            }
            prop_assert_eq!(tokens.markup, one_by_one.markup);
            tokens.finish(&mut at_once);
            one_by_one.finish(&mut expected);
            prop_assert_eq!(at_once, expected);
        }
    }
}
