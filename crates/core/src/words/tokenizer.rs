//! Finding words: encodings, scripts, markup.

use crate::hash::letters::{BLOCK, Classes, classify};
use crate::hash::shingles::{Runs, WINDOW, first_long_run, letters};
use crate::words::classes::{Role, TWO_IN_LOWER_CASE, class_of};

/// So many bytes at the beginning tell markup from plain text.
const HEAD: usize = 1024;

/// What an ASCII byte is: 0 separates words, others are themselves in lower case.
const FOLDED: [u8; 128] = {
    let mut table = [0u8; 128];
    let mut at = 0u8;
    while at < 128 {
        table[at as usize] = match at {
            b'A'..=b'Z' => at + 32,
            b'a'..=b'z' | b'0'..=b'9' | b'_' => at,
            _ => 0,
        };
        at += 1;
    }
    table
};

/// Where in a marked-up text a byte stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Markup {
    /// The file is none.
    None,
    Text,
    /// After `<`.
    Open,
    /// In the name of a tag, of which so many letters agree with `script` and `style`.
    Name {
        script: u8,
        style: u8,
        at: u8,
    },
    /// In a tag whose content is no text.
    HiddenTag,
    /// In a tag, a declaration or an end tag.
    Tag,
    /// After `<!`, `<!-`.
    Bang(u8),
    /// In a comment, after so many `-`.
    Comment(u8),
    /// In a script or style, after `<`, or not.
    Hidden(bool),
    /// In an entity, after so many bytes.
    Entity(u8),
}

/// What a text is written in.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WrittenIn {
    /// Bytes that were a part of a character and not its first.
    pub(crate) continued: u64,
    /// It is HTML or XML.
    pub(crate) is_markup: bool,
}

/// Whether a byte of ASCII is a part of words.
pub(crate) const fn is_letter(byte: u8) -> bool {
    byte < 128 && FOLDED[byte as usize] != 0
}

/// Takes the words of a text, letter by letter.
pub(crate) trait Sink {
    /// The next letter of a word, in lower case: its code point.
    fn letter(&mut self, letter: u32);

    /// The word, if one was begun, is over: something separates it from the next.
    fn end_word(&mut self);

    /// The word, if one was begun, is over, and the next begins at once.
    fn break_word(&mut self) {
        self.end_word();
    }

    /// A whole word of letters of ASCII, as in the file. No word is under way.
    fn ascii_word(&mut self, letters: &[u8]) {
        for &byte in letters {
            self.letter(u32::from(FOLDED[usize::from(byte & 0x7f)]));
        }
        self.end_word();
    }

    /// A whole word of 1 to 16 letters of ASCII, from one separator to the next. No word is under
    /// way.
    fn short_word(&mut self, word: Short) {
        self.ascii_word(&word.letters.to_le_bytes()[..word.length]);
    }

    /// Whole words of ASCII at once, as many as the sink likes to take: how many bytes were taken.
    /// No word is under way, neither before nor behind these.
    fn blocks(&mut self, _bytes: &[u8]) -> usize {
        0
    }

    /// Whole words of 1 to 16 letters of ASCII: the runs of ones in `words`, a bit for each byte of
    /// the window.
    fn short_words(&mut self, window: &[u8; WINDOW], words: u64) {
        for (from, to) in Runs::of(words) {
            self.short_word(Short::at(window, from, to - from));
        }
    }
}

/// A word of 1 to 16 letters of ASCII as a number, the first letter lowest; behind its letters it
/// is zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Short {
    /// The letters as they are in the file, capitals included.
    pub(crate) letters: u128,
    pub(crate) length: usize,
}

impl Short {
    /// The word at a place in a window that begins in its block.
    #[inline]
    fn at(window: &[u8; WINDOW], from: usize, length: usize) -> Self {
        Self {
            letters: letters(window, from, length),
            length,
        }
    }
}

/// Finds the words of a text that is handed over in pieces of any size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tokenizer {
    head: Vec<u8>,
    /// `None`: the beginning is not known yet.
    markup: Option<Markup>,
    /// What is known of it before its beginning; `Some`: markup is text like all else.
    at_first: Option<Markup>,
    /// The last byte of text separated words.
    between: bool,
    /// The word under way is a letter of a script without blanks.
    alone: bool,
    /// Each byte beyond ASCII is a character (ISO 8859-1).
    by_byte: bool,
    /// The bytes of a character of UTF-8 under way, how many there are, and how many there will be.
    wide: [u8; 4],
    have: u8,
    need: u8,
    /// Bytes that were a part of a character and not its first.
    continued: u64,
}

impl Tokenizer {
    /// For a text of which each byte is a character: ISO 8859-1.
    pub(crate) fn by_byte() -> Self {
        Self {
            by_byte: true,
            ..Self::default()
        }
    }

    /// For texts that have no markup, or of which that is text like all else.
    pub(crate) fn without_markup() -> Self {
        Self {
            markup: Some(Markup::None),
            at_first: Some(Markup::None),
            ..Self::default()
        }
    }

    /// Knows of the whole text from now on whether it is HTML or XML.
    pub(crate) fn begin_with(&mut self, bytes: &[u8]) {
        self.markup = Some(if is_markup(&bytes[..bytes.len().min(HEAD)]) {
            Markup::Text
        } else {
            Markup::None
        });
    }

    /// What it is written in, as far as that is known.
    pub(crate) fn written_in(&self) -> WrittenIn {
        WrittenIn {
            continued: self.continued,
            is_markup: self.is_markup() == Some(true),
        }
    }

    /// Whether it is HTML or XML, if that is known.
    pub(crate) fn is_markup(&self) -> Option<bool> {
        self.markup.map(|markup| markup != Markup::None)
    }

    /// How it stands in the bytes around it, behind the beginning of a text: two that stand alike
    /// find the same words from there on.
    pub(super) fn standing(&self) -> Self {
        let (wide, have) = match self.need {
            0 => Default::default(),
            _ => (self.wide, self.have),
        };
        Self {
            head: Vec::new(),
            wide,
            have,
            ..*self
        }
    }

    /// Takes out how many bytes so far were a part of a character and not its first.
    pub(super) const fn take_continued(&mut self) -> u64 {
        std::mem::replace(&mut self.continued, 0)
    }

    /// Counts so many such bytes.
    pub(super) const fn set_continued(&mut self, continued: u64) {
        self.continued = continued;
    }

    pub(crate) fn reset(&mut self) {
        let mut head = std::mem::take(&mut self.head);
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

    /// Ends the text, and says what it was written in. What comes next is another text.
    pub(crate) fn finish(&mut self, sink: &mut impl Sink) -> WrittenIn {
        if self.markup.is_none() {
            self.begin(sink);
        }
        self.end_wide(sink);
        sink.end_word();
        let written_in = self.written_in();
        self.reset();
        written_in
    }

    /// The beginning is known.
    fn begin(&mut self, sink: &mut impl Sink) {
        let head = std::mem::take(&mut self.head);
        self.begin_with(&head);
        self.take(&head, sink);
        self.head = head;
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

    /// Takes the bytes of a text with markup that change nothing of where it stands: how many.
    fn alike(&mut self, bytes: &[u8], sink: &mut impl Sink) -> usize {
        let up_to = |ends: [u8; 2]| {
            let end = bytes.iter().position(|byte| ends.contains(byte));
            end.unwrap_or(bytes.len())
        };
        match self.markup {
            Some(Markup::Text) => {
                let end = up_to([b'<', b'&']);
                // What follows ends a word that ends here: there is no need to wait for it.
                let is_known = match bytes[end..] {
                    [b'<', next, ..] => {
                        next.is_ascii_alphabetic() || matches!(next, b'!' | b'/' | b'?' | b'<')
                    }
                    [b'&', ..] => true,
                    _ => false,
                };
                self.plain(&bytes[..end + usize::from(is_known)], sink);
                end
            }
            Some(Markup::Tag | Markup::HiddenTag) => up_to([b'>'; 2]),
            Some(Markup::Hidden(false)) => up_to([b'<'; 2]),
            Some(Markup::Comment(0)) => up_to([b'-'; 2]),
            _ => 0,
        }
    }

    /// Takes a byte of a text with markup.
    fn marked_up(&mut self, byte: u8, sink: &mut impl Sink) {
        if let Some(byte) = self.visible(byte) {
            self.between = byte < 128 && FOLDED[usize::from(byte)] == 0;
            self.text(byte, sink);
        }
    }

    /// Text without markup: the words of a block at once where they are short and ASCII, and the
    /// rest byte by byte.
    fn plain(&mut self, bytes: &[u8], sink: &mut impl Sink) {
        let mut at = 0;
        // A word or character may be under way.
        if !self.between {
            at = self.by_bytes(bytes, 0, 0, sink);
        }
        // Between blocks no word is under way: a block ends where its last word began.
        let mut padded = [0; WINDOW];
        loop {
            at += sink.blocks(&bytes[at..]);
            let rest = &bytes[at..];
            if rest.is_empty() {
                return;
            }
            let window = rest.first_chunk().unwrap_or_else(|| {
                padded = [0; WINDOW];
                padded[..rest.len()].copy_from_slice(rest);
                &padded
            });
            let length = rest.len().min(BLOCK);
            let Classes { words, wide } = classify(window.first_chunk().unwrap_or(&[0; BLOCK]));
            // Letters at the end, where it is not known whether they are all of the word.
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

    /// Takes bytes one by one from `from` on, up to the first separator at or behind `least`, or to
    /// the end; where that is.
    fn by_bytes(&mut self, bytes: &[u8], from: usize, least: usize, sink: &mut impl Sink) -> usize {
        for (at, &byte) in bytes.iter().enumerate().skip(from) {
            self.between = byte < 128 && FOLDED[usize::from(byte)] == 0;
            self.text(byte, sink);
            if self.between && at + 1 >= least {
                return at + 1;
            }
        }
        bytes.len()
    }

    /// The byte as text: a blank where markup separates words, nothing within it.
    fn visible(&mut self, byte: u8) -> Option<u8> {
        let blank = Some(b' ');
        let lower = byte.to_ascii_lowercase();
        let (next, shown) = match self.markup.unwrap_or(Markup::None) {
            Markup::None => (Markup::None, Some(byte)),
            Markup::Text => match byte {
                b'<' => (Markup::Open, None),
                b'&' => (Markup::Entity(0), blank),
                _ => (Markup::Text, Some(byte)),
            },
            Markup::Open => match lower {
                b'!' => (Markup::Bang(0), blank),
                b'a'..=b'z' => (
                    Markup::Name {
                        script: u8::from(lower == b's'),
                        style: u8::from(lower == b's'),
                        at: 1,
                    },
                    blank,
                ),
                b'/' | b'?' => (Markup::Tag, blank),
                b'<' => (Markup::Open, blank),
                // No tag: less than.
                _ => (Markup::Text, Some(byte)),
            },
            Markup::Name { script, style, at } => {
                let agrees = |of: &[u8], so_far: u8| {
                    so_far + u8::from(so_far == at && of.get(usize::from(at)) == Some(&lower))
                };
                match lower {
                    b'>' | b' ' | b'\t' | b'\n' | b'\r' | b'/' => {
                        let hidden = (script == at && at == 6) || (style == at && at == 5);
                        match (lower, hidden) {
                            (b'>', true) => (Markup::Hidden(false), None),
                            (b'>', false) => (Markup::Text, None),
                            (_, true) => (Markup::HiddenTag, None),
                            (_, false) => (Markup::Tag, None),
                        }
                    }
                    _ => (
                        Markup::Name {
                            script: agrees(b"script", script),
                            style: agrees(b"style", style),
                            at: at.saturating_add(1),
                        },
                        None,
                    ),
                }
            }
            Markup::HiddenTag => match byte {
                b'>' => (Markup::Hidden(false), None),
                _ => (Markup::HiddenTag, None),
            },
            Markup::Tag => match byte {
                b'>' => (Markup::Text, None),
                _ => (Markup::Tag, None),
            },
            Markup::Bang(dashes) => match byte {
                b'-' if dashes == 1 => (Markup::Comment(0), None),
                b'-' => (Markup::Bang(1), None),
                b'>' => (Markup::Text, None),
                _ => (Markup::Tag, None),
            },
            Markup::Comment(dashes) => match byte {
                b'-' => (Markup::Comment((dashes + 1).min(2)), None),
                b'>' if dashes == 2 => (Markup::Text, None),
                _ => (Markup::Comment(0), None),
            },
            Markup::Hidden(open) => match byte {
                b'<' => (Markup::Hidden(true), None),
                b'/' if open => (Markup::Tag, None),
                _ => (Markup::Hidden(false), None),
            },
            Markup::Entity(length) => match byte {
                b';' => (Markup::Text, None),
                b'#' | b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' if length < 10 => {
                    (Markup::Entity(length + 1), None)
                }
                b'<' => (Markup::Open, None),
                // No entity: an ampersand.
                _ => (Markup::Text, Some(byte)),
            },
        };
        self.markup = Some(next);
        shown
    }

    #[inline]
    fn text(&mut self, byte: u8, sink: &mut impl Sink) {
        if byte < 128 {
            self.end_wide(sink);
            match FOLDED[usize::from(byte)] {
                0 => {
                    self.alone = false;
                    sink.end_word();
                }
                folded => self.letter(u32::from(folded), sink),
            }
        } else {
            self.wide(byte, sink);
        }
    }

    /// A letter that goes on with a word.
    #[inline]
    fn letter(&mut self, letter: u32, sink: &mut impl Sink) {
        if self.alone {
            self.alone = false;
            sink.break_word();
        }
        sink.letter(letter);
    }

    /// A byte beyond ASCII.
    fn wide(&mut self, byte: u8, sink: &mut impl Sink) {
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

    /// Bytes that are no character of UTF-8 are one each of ISO 8859-1.
    #[inline]
    fn end_wide(&mut self, sink: &mut impl Sink) {
        if self.need > 0 {
            self.need = 0;
            for at in 0..usize::from(self.have) {
                self.character(char::from(self.wide[at]), sink);
            }
        }
    }

    /// A character beyond ASCII.
    fn character(&mut self, character: char, sink: &mut impl Sink) {
        let (role, lower) = class_of(character);
        match role {
            Role::Separator => {
                self.alone = false;
                sink.end_word();
            }
            Role::Letter => {
                self.letter(lower, sink);
                let (letter, [_, dot]) = TWO_IN_LOWER_CASE;
                if character == letter {
                    sink.letter(dot as u32);
                }
            }
            Role::Mark => sink.letter(lower),
            Role::Alone => {
                sink.break_word();
                sink.letter(lower);
                self.alone = true;
            }
        }
    }
}

/// Where letters of ASCII end that go on at `from`; `None`: the end of the bytes or a character
/// beyond ASCII comes first.
fn end_of_letters(bytes: &[u8], from: usize) -> Option<usize> {
    let mut rest = bytes[from..].iter();
    let end = rest.position(|&byte| byte >= 128 || FOLDED[usize::from(byte)] == 0)?;
    (bytes[from + end] < 128).then_some(from + end)
}

/// So many bytes may stand before a declaration: a stray word, a shebang.
const STRAY: usize = 64;

/// Whether a text that begins like this is HTML or XML.
fn is_markup(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let head = head.trim_ascii_start();
    let Some(begin) = head.iter().take(STRAY).position(|&byte| byte == b'<') else {
        return false;
    };
    let from = &head[begin..];
    let begins = |with: &&[u8]| {
        let as_long = from.get(..with.len());
        as_long.is_some_and(|from| from.eq_ignore_ascii_case(with))
    };
    let starts = |with: &[&[u8]]| with.iter().any(begins);
    let has = |what: &[u8]| head.windows(what.len()).any(|part| part == what);
    let is_declared = starts(&[b"<?xml", b"<!doctype", b"<html", b"<svg"]);
    is_declared || begin == 0 && (starts(&[b"<head", b"<body", b"<!--"]) || has(b"</"))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Words as they come, letter by letter.
    #[derive(Default, PartialEq, Debug)]
    struct Letters(Vec<Vec<u32>>, bool);

    impl Sink for Letters {
        fn letter(&mut self, letter: u32) {
            if !std::mem::replace(&mut self.1, true) {
                self.0.push(Vec::new());
            }
            self.0.last_mut().unwrap().push(letter);
        }

        fn end_word(&mut self) {
            self.1 = false;
        }
    }

    proptest! {
        /// Many bytes at once are the same as one by one, wherever a text is cut.
        #[test]
        fn markup_is_taken_as_byte_by_byte(
            text in "(<html>|<p c='a>b'>|</p>|<script>|</script|<style >|<!--|-->|--|->|<!|&amp;|&|\
                ;|<|>|'|[a-zA-Z_]{1,20}|[a-z ]{60,140}|[ ,.\n]|é|漢|я|-){0,60}",
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
