//! Where the words of a text lie.

use std::ops::Range;

use crate::words::tokenizer::{Sink, is_letter};
use crate::words::whole;

/// Where each word of a text begins and ends in its bytes: as many words as are collected, in the
/// same order.
///
/// The bytes are handed over in pieces: letters of ASCII that follow each other, what separates
/// words, or one character beyond ASCII. Pieces of any size make the same words, so a word lies in
/// the pieces from its first letter to its last.
pub(crate) fn places_of(bytes: &[u8]) -> Vec<Range<usize>> {
    let mut tokens = whole(bytes);
    tokens.begin_with(bytes);
    let mut sink = PlaceSink::default();
    while let rest = &bytes[sink.piece.end..]
        && let Some(&first) = rest.first()
    {
        let is_same = |&byte: &u8| {
            if first < 128 {
                byte < 128 && is_letter(byte) == is_letter(first)
            } else {
                byte & 0xc0 == 0x80
            }
        };
        let more = rest[1..].iter().take_while(|byte| is_same(byte)).count();
        sink.piece = sink.piece.end..sink.piece.end + 1 + more;
        tokens.update(&bytes[sink.piece.clone()], &mut sink);
    }
    tokens.finish(&mut sink);
    sink.words
}

#[derive(Default)]
struct PlaceSink {
    piece: Range<usize>,
    /// The word under way.
    word: Option<Range<usize>>,
    words: Vec<Range<usize>>,
}

impl Sink for PlaceSink {
    fn letter(&mut self, _: u32) {
        let piece = &self.piece;
        self.word.get_or_insert_with(|| piece.clone()).end = piece.end;
    }

    fn end_word(&mut self) {
        self.words.extend(self.word.take());
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
    }

    proptest! {
        #[test]
        fn as_many_as_are_collected(
            bytes in "(<html>|<p>|</p>|&amp;|[a-zA-Z_]{1,20}|[ ,.\n]|é|漢|я){0,60}",
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
