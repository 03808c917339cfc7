//! The role of each character in words, by Unicode's general categories.
//!
//! The classes of characters are cached by pages of 256. A page is made when one of its characters
//! is read for the first time.

use std::sync::OnceLock;

use unicode_normalization::char::canonical_combining_class;
use unicode_normalization::{IsNormalized, is_nfc_quick};
use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// The effect of a character on the current word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// Ends the word.
    Separator,
    /// Continues or begins a word: a letter, a digit, or a connector such as `_`.
    Letter,
    /// Continues any word: an accent or a vowel sign.
    Mark,
    /// Is a word by itself, with the marks that follow it: a letter or digit of a script without
    /// blanks.
    Alone,
    /// Is invisible and does not affect words: a soft hyphen or a mark of direction.
    Invisible,
}

/// The ranges of letters and digits of the scripts that are written without blanks: Thai, Lao,
/// Tibetan, Myanmar, Khmer, Han, Hiragana, Katakana.
const WITHOUT_BLANKS: [(u32, u32); 19] = [
    (0x0e00, 0x0fff),
    (0x1000, 0x109f),
    (0x1780, 0x17ff),
    (0x19e0, 0x19ff),
    (0x2e80, 0x2fdf),
    (0x3005, 0x3007),
    (0x3021, 0x3029),
    (0x3031, 0x3035),
    (0x303b, 0x303b),
    (0x3040, 0x30ff),
    (0x31f0, 0x31ff),
    (0x3400, 0x4dbf),
    (0x4e00, 0x9fff),
    (0xa9e0, 0xa9ff),
    (0xaa60, 0xaa7f),
    (0xf900, 0xfaff),
    (0xff66, 0xff9f),
    (0x1_b000, 0x1_b16f),
    (0x2_0000, 0x3_ffff),
];

/// The number of characters in a page.
const PAGE: usize = 256;

/// Unicode's `Default_Ignorable_Code_Point`: characters that are never visible.
const INVISIBLE: [(u32, u32); 17] = [
    (0xad, 0xad),
    (0x34f, 0x34f),
    (0x61c, 0x61c),
    (0x115f, 0x1160),
    (0x17b4, 0x17b5),
    (0x180b, 0x180f),
    (0x200b, 0x200f),
    (0x202a, 0x202e),
    (0x2060, 0x206f),
    (0x3164, 0x3164),
    (0xfe00, 0xfe0f),
    (0xfeff, 0xfeff),
    (0xffa0, 0xffa0),
    (0xfff0, 0xfff8),
    (0x1_bca0, 0x1_bca3),
    (0x1_d173, 0x1_d17a),
    (0xe_0000, 0xe_0fff),
];

/// The properties of a character in one number. The highest byte has [`JOINS`] and the role. The
/// other bytes have the lower case.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Class(u32);

/// The bit for a character that normal form C may replace, or may join to the character before.
const JOINS: u32 = 1 << 31;

impl Class {
    #[inline]
    pub(crate) const fn role(self) -> Role {
        match self.0 >> 24 & 7 {
            1 => Role::Letter,
            2 => Role::Mark,
            3 => Role::Alone,
            4 => Role::Invisible,
            _ => Role::Separator,
        }
    }

    /// Returns the lower case of the character. For [`TWO_IN_LOWER_CASE`], returns the first of the
    /// two characters.
    #[inline]
    pub(crate) const fn lower(self) -> u32 {
        self.0 & 0x00ff_ffff
    }

    /// Returns whether normal form C may replace this character, or may join it to the character
    /// before.
    #[inline]
    pub(crate) const fn joins(self) -> bool {
        self.0 & JOINS != 0
    }
}

/// The classes of the characters of a page.
type Page = [u32; PAGE];

static PAGES: [OnceLock<Box<Page>>; (char::MAX as usize + 1) / PAGE] =
    [const { OnceLock::new() }; (char::MAX as usize + 1) / PAGE];

/// The only character whose lower case is two characters: `İ` becomes an `i` and a dot above.
pub(crate) const TWO_IN_LOWER_CASE: (char, [char; 2]) = ('\u{130}', ['i', '\u{307}']);

#[inline]
pub(crate) fn class_of(character: char) -> Class {
    let code = character as usize;
    let page = PAGES[code / PAGE].get_or_init(|| make_page((code / PAGE * PAGE) as u32));
    Class(page[code % PAGE])
}

#[cold]
fn make_page(first: u32) -> Box<Page> {
    Box::new(std::array::from_fn(|at| {
        let code = first + at as u32;
        let Some(character) = char::from_u32(code) else {
            return code;
        };
        let lower = character.to_lowercase().next().unwrap_or(character);
        let is_as_it_is = is_nfc_quick([character].into_iter()) == IsNormalized::Yes;
        let joins = !is_as_it_is || canonical_combining_class(character) > 0;
        let joins = if joins { JOINS } else { 0 };
        joins | u32::from(role_of(character)) << 24 | lower as u32
    }))
}

/// Returns the role of a character, as the highest byte of its entry.
fn role_of(character: char) -> u8 {
    use GeneralCategory as C;
    let code = character as u32;
    let is_among = |ranges: &[(u32, u32)]| {
        let mut ranges = ranges.iter();
        ranges.any(|&(first, last)| (first..=last).contains(&code))
    };
    if is_among(&INVISIBLE) {
        return 4;
    }
    let is_alone = is_among(&WITHOUT_BLANKS);
    match character.general_category() {
        C::NonspacingMark | C::SpacingMark | C::EnclosingMark => 2,
        C::UppercaseLetter
        | C::LowercaseLetter
        | C::TitlecaseLetter
        | C::ModifierLetter
        | C::OtherLetter
        | C::DecimalNumber
        | C::LetterNumber
        | C::OtherNumber => 1 + 2 * u8::from(is_alone),
        C::ConnectorPunctuation => 1,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn role(character: char) -> Role {
        class_of(character).role()
    }

    #[test]
    fn categories_say_what_a_character_is() {
        for letter in ['é', 'ß', 'Я', 'ن', 'א', '한', '٣', '²', 'ª', '‿'] {
            assert_eq!(role(letter), Role::Letter, "{letter}");
        }
        for mark in ['\u{301}', '\u{93f}', '\u{5b0}', '\u{20dd}', '\u{e31}'] {
            assert_eq!(role(mark), Role::Mark, "{mark:?}");
        }
        for alone in [
            '漢',
            'ひ',
            'カ',
            'ก',
            'ກ',
            'က',
            'ក',
            'ཀ',
            '々',
            '\u{20000}',
            '๓',
        ] {
            assert_eq!(role(alone), Role::Alone, "{alone}");
        }
        for none in ['\u{a0}', '«', '。', '\u{85}', '€', '\u{10ffff}'] {
            assert_eq!(role(none), Role::Separator, "{none:?}");
        }
        for unseen in [
            '\u{ad}',
            '\u{200b}',
            '\u{200d}',
            '\u{feff}',
            '\u{fe0f}',
            '\u{e0100}',
        ] {
            assert_eq!(role(unseen), Role::Invisible, "{unseen:?}");
        }
    }

    #[test]
    fn lower_case_is_that_of_the_character_alone() {
        for (upper, lower) in [('É', 'é'), ('Σ', 'σ'), ('ẞ', 'ß'), ('Ⅷ', 'ⅷ'), ('漢', '漢')]
        {
            assert_eq!(class_of(upper).lower(), lower as u32, "{upper}");
        }
        // Only this character becomes two characters in lower case.
        for code in 0..=u32::from(char::MAX) {
            let Some(character) = char::from_u32(code) else {
                continue;
            };
            let lower: Vec<char> = character.to_lowercase().collect();
            if lower.len() > 1 {
                assert_eq!(
                    (character, &lower[..]),
                    (TWO_IN_LOWER_CASE.0, &TWO_IN_LOWER_CASE.1[..])
                );
            }
        }
    }
}
