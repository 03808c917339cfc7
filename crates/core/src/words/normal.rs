//! Normal form C, character by character.
//!
//! A character waits until the next one shows that it is complete. A mark may change the character,
//! even if there are other marks before it. The result does not depend on how the characters were
//! encoded, or on the pieces of the text. The result is normal form C of Unicode's annex 15, with
//! one exception, which is also in the annex's stream-safe form. A run of more than [`MAX_MARKS`]
//! marks is split, so that a text of nothing but marks takes no memory.

use smallvec::SmallVec;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::{canonical_combining_class, compose, decompose_canonical};

/// The maximum number of marks that wait after a character.
const MAX_MARKS: usize = 30;

/// The waiting character, and the marks after it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Composer {
    starter: Option<char>,
    /// The marks in canonical order, each with its combining class.
    marks: SmallVec<[(u8, char); 2]>,
}

impl Composer {
    pub(super) fn is_empty(&self) -> bool {
        self.starter.is_none() && self.marks.is_empty()
    }

    /// Returns the waiting character, if no marks wait with it.
    pub(super) fn single(&self) -> Option<char> {
        self.starter.filter(|_| self.marks.is_empty())
    }

    /// Takes the next character; `out` receives the characters that are now complete. `joins` is
    /// the value of [`Class::joins`](super::classes::Class::joins) for the character.
    #[inline]
    pub(super) fn push(&mut self, character: char, joins: bool, out: &mut impl FnMut(char)) {
        if joins {
            self.join(character, out);
        } else {
            if !self.marks.is_empty() {
                self.flush(out);
            }
            if let Some(before) = self.starter.replace(character) {
                out(before);
            }
        }
    }

    /// Takes a character that belongs to the character before, or that has another form in normal
    /// form C.
    #[inline(never)]
    fn join(&mut self, character: char, out: &mut impl FnMut(char)) {
        // Decompose the waiting character, so that its own marks and the next ones are sorted
        // together.
        if let Some(starter) = self.single() {
            self.starter = None;
            decompose_canonical(starter, |part| self.put(part, out));
        }
        decompose_canonical(character, |part| self.put(part, out));
    }

    /// Takes a part of a decomposed character.
    fn put(&mut self, part: char, out: &mut impl FnMut(char)) {
        let class = canonical_combining_class(part);
        if class > 0 {
            if self.marks.len() == MAX_MARKS {
                self.flush(out);
            }
            let at = self.marks.partition_point(|&(before, _)| before <= class);
            self.marks.insert(at, (class, part));
            return;
        }
        // Two characters without marks may compose: the letters of a Korean syllable.
        self.compose_marks();
        let both = self.single().and_then(|starter| compose(starter, part));
        if both.is_none() {
            self.flush(out);
        }
        self.starter = both.or(Some(part));
    }

    /// Composes the character with its marks where possible.
    fn compose_marks(&mut self) {
        let Some(starter) = &mut self.starter else {
            return;
        };
        let mut last = 0;
        self.marks.retain(|&mut (class, mark)| {
            // A mark may compose only if no mark of the same class remains between the character
            // and this mark.
            let both = compose(*starter, mark).filter(|_| last < class);
            match both {
                Some(both) => *starter = both,
                None => last = class,
            }
            both.is_none()
        });
    }

    /// Passes on everything that waits.
    #[inline]
    pub(super) fn flush(&mut self, out: &mut impl FnMut(char)) {
        if !self.marks.is_empty() {
            self.compose_marks();
        }
        if let Some(starter) = self.starter.take() {
            out(starter);
        }
        for (_, mark) in self.marks.drain(..) {
            out(mark);
        }
    }

    /// Drops everything that waits.
    pub(super) fn clear(&mut self) {
        self.starter = None;
        self.marks.clear();
    }
}

/// Returns the letters of a ligature, or the plain letter for a shape that the letter has at some
/// places in words. The result is in normal form KC.
pub fn letters_of_shape(shape: char) -> impl Iterator<Item = char> {
    std::iter::once(shape).nfkc()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::words::classes::class_of;

    fn composed(text: impl Iterator<Item = char>) -> String {
        let (mut composer, mut all) = (Composer::default(), String::new());
        for character in text {
            let mut out = |character| all.push(character);
            composer.push(character, class_of(character).joins(), &mut out);
        }
        composer.flush(&mut |character| all.push(character));
        assert!(composer.is_empty());
        all
    }

    #[test]
    fn every_character_is_written_in_normal_form() {
        for character in '\0'..=char::MAX {
            let expected: String = [character].into_iter().nfc().collect();
            assert_eq!(composed([character].into_iter()), expected);
            let apart = composed([character].into_iter().nfd());
            assert_eq!(apart, expected, "{character:?}");
        }
    }

    #[test]
    fn shapes_have_letters() {
        for (shape, letters) in [('ﬃ', "ffi"), ('ﻼ', "لا"), ('ﺏ', "ب"), ('a', "a"), ('é', "é")]
        {
            assert_eq!(letters_of_shape(shape).collect::<String>(), letters);
        }
    }

    #[test]
    fn marks_without_end_need_no_memory() {
        let marks = "a".chars().chain(std::iter::repeat_n('\u{301}', 10_000));
        assert_eq!(composed(marks).chars().count(), 10_000);
    }

    proptest! {
        #[test]
        fn texts_are_written_in_normal_form(
            text in "([a-zA-Z=<>]|[à-öÀ-Öα-ωά-ώ]|[\u{300}-\u{345}]|[\u{5b0}-\u{5c2}א-ת]|\
                [\u{1100}-\u{1112}\u{1161}-\u{1175}\u{11a7}-\u{11c2}가-각]|[Å\u{212b}\u{212a}豈]|\
                [\u{915}-\u{939}\u{93c}\u{94d}\u{958}-\u{95f}]|[\u{9c7}\u{9be}\u{9d7}]|[ạệǖ]|\
                [\u{200b}\u{ad}\u{fe0f}]|\u{1d157}\u{1d165}){0,24}",
        ) {
            let expected: String = text.nfc().collect();
            prop_assert_eq!(&composed(text.chars()), &expected);
            prop_assert_eq!(&composed(text.nfd()), &expected);
        }
    }
}
