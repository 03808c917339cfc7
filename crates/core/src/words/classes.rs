//! What each character is to a word, by Unicode's general categories.
//!
//! Asked for every character beyond ASCII, so the answers are kept: a page of 256 characters is
//! made when the first of them is met.

use std::sync::OnceLock;

use unicode_properties::{GeneralCategory, UnicodeGeneralCategory};

/// What a character does to the word under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Role {
    /// It ends the word.
    Separator,
    /// It goes on with the word, or begins one: a letter, a digit, a connector such as `_`.
    Letter,
    /// It goes on with the word, whatever that is: an accent, a vowel sign.
    Mark,
    /// It is a word by itself, with the marks that follow it: a letter or digit of a script that is
    /// written without blanks.
    Alone,
}

/// Where the letters and digits of scripts are that are written without blanks: Thai, Lao, Tibetan,
/// Myanmar, Khmer, Han, Hiragana, Katakana.
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

/// Characters of a page.
const PAGE: usize = 256;

/// For each character its role in the highest byte and its lower case in the others.
type Page = [u32; PAGE];

static PAGES: [OnceLock<Box<Page>>; (char::MAX as usize + 1) / PAGE] =
    [const { OnceLock::new() }; (char::MAX as usize + 1) / PAGE];

/// The only character whose lower case is two: `İ`, an `i` and a dot above.
pub(crate) const TWO_IN_LOWER_CASE: (char, [char; 2]) = ('\u{130}', ['i', '\u{307}']);

/// The role of a character, and its lower case (of [`TWO_IN_LOWER_CASE`] the first of two).
#[inline]
pub(crate) fn class_of(character: char) -> (Role, u32) {
    let code = character as usize;
    let page = PAGES[code / PAGE].get_or_init(|| make_page((code / PAGE * PAGE) as u32));
    let packed = page[code % PAGE];
    let role = match packed >> 24 {
        1 => Role::Letter,
        2 => Role::Mark,
        3 => Role::Alone,
        _ => Role::Separator,
    };
    (role, packed & 0x00ff_ffff)
}

#[cold]
fn make_page(first: u32) -> Box<Page> {
    Box::new(std::array::from_fn(|at| {
        let code = first + at as u32;
        let Some(character) = char::from_u32(code) else {
            return code;
        };
        let lower = character.to_lowercase().next().unwrap_or(character);
        u32::from(role_of(character)) << 24 | lower as u32
    }))
}

/// The role of a character, as the highest byte of its entry.
fn role_of(character: char) -> u8 {
    use GeneralCategory as C;
    let code = character as u32;
    let is_alone = WITHOUT_BLANKS
        .iter()
        .any(|&(first, last)| (first..=last).contains(&code));
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
        class_of(character).0
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
        for none in [
            '\u{a0}',
            '«',
            '。',
            '\u{ad}',
            '\u{200b}',
            '\u{85}',
            '€',
            '\u{10ffff}',
        ] {
            assert_eq!(role(none), Role::Separator, "{none:?}");
        }
    }

    #[test]
    fn lower_case_is_that_of_the_character_alone() {
        for (upper, lower) in [('É', 'é'), ('Σ', 'σ'), ('ẞ', 'ß'), ('Ⅷ', 'ⅷ'), ('漢', '漢')]
        {
            assert_eq!(class_of(upper).1, lower as u32, "{upper}");
        }
        // One character alone has two in lower case, and these are what it says.
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
