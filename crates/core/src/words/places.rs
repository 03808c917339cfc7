//! The places of the words in a text.

use std::ops::Range;

use crate::words::sink::{Sink, is_letter};
use crate::words::whole;

/// Returns the range of each word in the bytes of a text. There is one range for each collected
/// word, in the same order.
///
/// The bytes are processed in pieces: consecutive ASCII letters, separators, or one non-ASCII
/// character. The words do not depend on the pieces. A letter has the range of the piece that it
/// was read from, even if the letter waited for a mark. The letter of an entity has the range of
/// the whole entity.
pub(crate) fn places_of(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut tokens = whole(bytes);
    tokens.begin_with(bytes);
    let mut sink = PlaceSink::default();
    let mut at = 0;
    while let rest = &bytes[at..]
        && let Some(&first) = rest.first()
    {
        let is_in_entity = tokens.is_in_entity();
        let is_same = |&byte: &u8| {
            if first < 128 {
                byte < 128 && byte != b'&' && is_letter(byte) == is_letter(first)
            } else {
                byte & 0xc0 == 0x80
            }
        };
        let more = rest[1..].iter().take_while(|byte| is_same(byte)).count();
        let more = if is_in_entity && first == b';' {
            0
        } else {
            more
        };
        let end = at + 1 + more;
        sink.character = if is_in_entity {
            // If the semicolon of an entity is missing, the byte after its name is not part of the
            // entity.
            let is_part = is_letter(first) || first >= 128 || matches!(first, b';' | b'#');
            sink.character.start..if is_part { end } else { at }
        } else {
            at..end
        };
        tokens.update(&bytes[at..end], &mut sink);
        at = end;
    }
    tokens.finish(&mut sink);
    sink.words
}

#[derive(Default)]
struct PlaceSink {
    /// The current piece. If it is part of an entity, the range begins at the start of the entity.
    character: Range<usize>,
    /// The range of the waiting character.
    waiting: Option<Range<usize>>,
    /// The current word.
    word: Option<Range<usize>>,
    words: Vec<Range<usize>>,
}

impl Sink for PlaceSink {
    fn letter(&mut self, _: u32) {
        let place = self.waiting.as_ref().unwrap_or(&self.character);
        self.word.get_or_insert_with(|| place.clone()).end = place.end;
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
    }

    fn hold(&mut self, joins: bool) {
        let from = self.waiting.take().filter(|_| joins);
        let from = from.map_or(self.character.start, |waiting| waiting.start);
        self.waiting = Some(from..self.character.end);
    }

    fn release(&mut self) {
        self.waiting = None;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::words::CollectedWords;

    fn shown(text: &str) -> Vec<&str> {
        let places = places_of(text.as_bytes()).into_iter();
        places.map(|place| &text[place]).collect()
    }

    #[test]
    fn words_lie_where_they_stand() {
        assert_eq!(
            shown("One two,three\nÜber x"),
            ["One", "two", "three", "Über", "x"]
        );
        assert_eq!(shown("漢字 ab"), ["漢", "字", "ab"]);
        let page = "<html><p class=a>One &amp; <b>two</b> three";
        assert_eq!(shown(page), ["One", "two", "three"]);
        let marks = "<p>u\u{308}ber a\u{308}. e\u{ad}\u{301} x\u{308}, 漢\u{fe00}豈</p>";
        assert_eq!(
            shown(marks),
            [
                "u\u{308}ber",
                "a\u{308}",
                "e\u{ad}\u{301}",
                "x\u{308}",
                "漢",
                "豈"
            ]
        );
        let entities = "<p>f&uuml;r &Uuml;ber, u&#776;; AT&T Stra&szlige M&#x1F600;x</p>";
        assert_eq!(
            shown(entities),
            [
                "f&uuml;r",
                "&Uuml;ber",
                "u&#776;",
                "AT",
                "&T",
                "Stra&szlige",
                "M",
                "x"
            ]
        );
    }

    proptest! {
        #[test]
        fn as_many_as_are_collected(
            bytes in "(<html>|<p>|</p>|&amp;|&uuml|;|&#776;|[a-zA-Z_]{1,20}|[ ,.=\n]|é|漢|я|豈|\
                \u{301}|\u{338}|\u{200b}|&){0,60}",
            stray in prop::collection::vec(any::<u8>(), 0..4),
        ) {
            let mut bytes = bytes.into_bytes();
            bytes.extend(&stray);
            bytes.extend(b" and some more");
            let places = places_of(&bytes);
            prop_assert_eq!(places.len(), CollectedWords::of(&bytes).ends.len());
            prop_assert!(places.is_sorted_by_key(|place| place.start));
            prop_assert!(places.iter().all(|place| !place.is_empty() && place.end <= bytes.len()));
        }
    }
}
