//! Entities of HTML and XML: the characters of `&uuml;`, `&#252;` and `&#xFC;`.
//!
//! An HTML name has an effect only if its characters are a part of a word, or are invisible.
//! `letters.txt` has these names in order, each with its characters in hexadecimal digits. The file
//! is made from the table of the HTML standard. All other names separate words.

use std::sync::OnceLock;

/// The length of the longest HTML name. An entity with the number of a character is shorter.
pub(super) const MAX_NAME: usize = 32;

/// The characters of an entity: one, or at most two.
pub(super) type Characters = [char; 2];

static LETTERS: &str = include_str!("entities/letters.txt");

/// Common names of characters that separate words.
const SIGNS: [&str; 32] = [
    "amp", "apos", "bull", "cent", "copy", "dagger", "deg", "emsp", "ensp", "euro", "gt", "hellip",
    "iexcl", "laquo", "ldquo", "lsquo", "lt", "mdash", "middot", "minus", "nbsp", "ndash", "para",
    "pound", "quot", "raquo", "rdquo", "reg", "rsquo", "sect", "times", "trade",
];

/// The characters that browsers show for the numbers 128 to 159. The numbers mean control
/// characters, but browsers read them as Windows-1252.
const WINDOWS: [u16; 32] = [
    0x20ac, 0x81, 0x201a, 0x192, 0x201e, 0x2026, 0x2020, 0x2021, 0x2c6, 0x2030, 0x160, 0x2039,
    0x152, 0x8d, 0x17d, 0x8f, 0x90, 0x2018, 0x2019, 0x201c, 0x201d, 0x2022, 0x2013, 0x2014, 0x2dc,
    0x2122, 0x161, 0x203a, 0x153, 0x9d, 0x17e, 0x178,
];

/// Returns the names in order, each with one or two characters. A single character is followed by a
/// NUL.
fn table() -> &'static [(&'static str, Characters)] {
    static TABLE: OnceLock<Vec<(&str, Characters)>> = OnceLock::new();
    TABLE.get_or_init(|| {
        let rows = LETTERS.lines().filter_map(|line| {
            let mut fields = line.split(' ');
            let name = fields.next()?;
            let mut characters = fields.filter_map(|field| {
                let code = u32::from_str_radix(field, 16).ok()?;
                char::from_u32(code)
            });
            Some((
                name,
                [characters.next()?, characters.next().unwrap_or('\0')],
            ))
        });
        rows.collect()
    })
}

/// Returns the characters of an entity, which is given without `&` and `;`. A single character is
/// followed by a NUL. `None` if the name means a separator, or is not known.
pub(super) fn characters_of(name: &[u8]) -> Option<Characters> {
    if let [b'#', number @ ..] = name {
        return character_of(number).map(|character| [character, '\0']);
    }
    // These five are nearly all entities in ASCII texts, so the table is not searched for them.
    if matches!(name, b"amp" | b"gt" | b"lt" | b"nbsp" | b"quot") {
        return None;
    }
    let table = table();
    let at = table.binary_search_by(|(known, _)| known.as_bytes().cmp(name));
    at.ok().map(|at| table[at].1)
}

/// Returns the character with a number, which is given in decimal or, after an `x`, in hexadecimal
/// digits. `None` if no character has this number.
fn character_of(number: &[u8]) -> Option<char> {
    let number = std::str::from_utf8(number).ok()?;
    let code = match number.strip_prefix(['x', 'X']) {
        Some(digits) => u32::from_str_radix(digits, 16),
        None => number.parse(),
    };
    match code.ok()? {
        0 => None,
        code @ 0x80..=0x9f => char::from_u32(u32::from(WINDOWS[code as usize - 0x80])),
        code => char::from_u32(code),
    }
}

/// Returns the length of the part of a name that browsers resolve although the `;` is missing: a
/// number, or a letter of ISO 8859-1.
pub(super) fn without_semicolon(name: &[u8]) -> Option<usize> {
    if let [b'#', number @ ..] = name {
        let is_hexadecimal = matches!(number, [b'x' | b'X', ..]);
        let digits = &number[usize::from(is_hexadecimal)..];
        let is_digit = |byte: &&u8| {
            if is_hexadecimal {
                byte.is_ascii_hexdigit()
            } else {
                byte.is_ascii_digit()
            }
        };
        let digits = digits.iter().take_while(is_digit).count();
        return (digits > 0).then_some(1 + usize::from(is_hexadecimal) + digits);
    }
    let is_old = |&length: &usize| {
        let name = &name[..length];
        let of = characters_of(name).map(|[character, _]| character);
        matches!(of, Some('\u{a0}'..='\u{ff}')) && !NEW.contains(&name)
    };
    (2..=name.len().min(6)).rev().find(is_old)
}

/// The newer names of letters of ISO 8859-1. Browsers do not resolve them without the `;`.
const NEW: [&[u8]; 2] = [b"angst", b"half"];

/// Returns whether a name, without `&` and `;`, is a known entity.
pub(super) fn is_known(name: &[u8]) -> bool {
    let is_sign = || SIGNS.iter().any(|sign| sign.as_bytes() == name);
    characters_of(name).is_some() || is_sign()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::classes::{Role, class_of};

    fn of(name: &str) -> Option<Characters> {
        characters_of(name.as_bytes())
    }

    #[test]
    fn the_table_is_in_order_and_has_what_is_no_separator() {
        assert!(table().is_sorted_by(|(a, _), (b, _)| a < b));
        assert_eq!(table().len(), LETTERS.lines().count());
        for (name, characters) in table() {
            let is_part = |&character: &char| class_of(character).role() != Role::Separator;
            assert!(characters.iter().any(is_part), "{name}");
            assert!(name.len() <= MAX_NAME && name.bytes().all(|b| b.is_ascii_alphanumeric()));
        }
        for sign in SIGNS {
            assert_eq!(of(sign), None, "{sign}");
        }
    }

    #[test]
    fn names_and_numbers_stand_for_characters() {
        let one = |character| Some([character, '\0']);
        for (name, character) in [
            ("uuml", 'ü'),
            ("#252", 'ü'),
            ("#xFC", 'ü'),
            ("#Xfc", 'ü'),
            ("Scaron", 'Š'),
            ("alpha", 'α'),
            ("shy", '\u{ad}'),
            ("zwj", '\u{200d}'),
            ("#x1F600", '😀'),
            // The number of a control character means a character of Windows-1252.
            ("#138", 'Š'),
        ] {
            assert_eq!(of(name), one(character), "{name}");
        }
        assert_eq!(of("fjlig"), Some(['f', 'j']));
        let none = [
            "nbsp",
            "amp",
            "Uuuml",
            "#",
            "#x",
            "#0",
            "#xD800",
            "#1114112",
            "#99999999999",
        ];
        for name in none {
            assert_eq!(of(name), None, "{name}");
        }
    }

    #[test]
    fn old_names_need_no_semicolon() {
        for (name, length) in [
            ("uuml", Some(4)),
            ("uumller", Some(4)),
            ("szlige", Some(5)),
            ("#252x", Some(4)),
            ("#xFCg", Some(4)),
            ("sup2x", Some(4)),
            ("T", None),
            ("alpha", None),
            ("half", None),
            ("#", None),
            ("#x", None),
        ] {
            assert_eq!(without_semicolon(name.as_bytes()), length, "{name}");
        }
    }
}
