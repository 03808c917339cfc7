//! Detects UTF-16 without a byte order mark, in any script.
//!
//! Units of 16 bits are taken as text only if three conditions hold. First, all units are assigned
//! characters. Second, blanks and punctuation are as frequent as in texts. Third, nearly all
//! letters belong to one script. The high bytes of a text have few values, but those of other data
//! have many.

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::is_control;

/// The maximum number of characters per blank or punctuation mark in a text.
const APART: usize = 100;

/// Returns the number of blanks and punctuation marks if the units are a text. Returns `None` if
/// they are not a text, for example because their bytes were read in the wrong order.
pub(super) fn evidence(units: impl Iterator<Item = u16>) -> Option<usize> {
    let (mut all, mut apart, mut letters) = (0usize, 0usize, 0usize);
    let mut scripts: Vec<(u32, usize)> = Vec::new();
    for character in char::decode_utf16(units) {
        // A surrogate without its other half shows that the units are not text, or have the other
        // byte order.
        let character = character.ok()?;
        let code = u32::from(character);
        if is_control(code) || matches!(code, 0x80..=0x9f | 0xfff0..=0xffff) {
            return None;
        }
        all += 1;
        let is_sign = character.is_ascii_punctuation()
            || matches!(code, 0x2010..=0x201f | 0x2026 | 0x3001..=0x3011)
            || matches!(code, 0xff01..=0xff0f | 0xff1a..=0xff1f);
        // U+2000 does not count as a blank here. A blank (U+0020) becomes U+2000 if its two bytes
        // are read in the wrong order.
        let is_blank = matches!(character, ' ' | '\t' | '\n' | '\r' | '\u{a0}' | '\u{3000}');
        apart += usize::from(is_sign || is_blank);
        let category = character.general_category();
        if matches!(
            category,
            GeneralCategory::Unassigned | GeneralCategory::PrivateUse
        ) {
            return None;
        }
        if character.is_ascii() || !is_letter(character) {
            continue;
        }
        letters += 1;
        let script = script(code);
        match scripts.iter().position(|(of, _)| *of == script) {
            Some(at) => scripts[at].1 += 1,
            // No text has this many scripts.
            None if scripts.len() >= 64 => return None,
            None => scripts.push((script, 1)),
        }
    }
    let most = scripts.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let is_text =
        most * 10 >= letters * 9 && letters * 2 >= all && apart >= 1 && apart * APART >= all;
    is_text.then_some(apart)
}

/// Returns whether the character is a letter, or a sign that combines with a letter.
fn is_letter(character: char) -> bool {
    matches!(
        character.general_category_group(),
        GeneralCategoryGroup::Letter | GeneralCategoryGroup::Mark
    )
}

/// Returns a number that identifies the script of a letter. For most scripts it is the number of
/// the block of 128 characters in which the letter is.
fn script(code: u32) -> u32 {
    match code {
        // The ideographs and syllables of Chinese and Japanese.
        0x2e80..=0x9fff | 0xf900..=0xfaff | 0xff66..=0xff9f | 0x2_0000..=0x3_ffff => 0x4e00,
        0x1100..=0x11ff | 0xac00..=0xd7ff => 0xac00,
        0x80..=0x24f | 0x300..=0x36f | 0x1e00..=0x1eff => 0x80,
        0x370..=0x3ff | 0x1f00..=0x1fff => 0x370,
        0x400..=0x52f => 0x400,
        0x530..=0x58f => 0x530,
        0xf00..=0xfff => 0xf00,
        0x1200..=0x139f => 0x1200,
        0x600..=0x77f | 0x8a0..=0x8ff | 0xfb50..=0xfdff | 0xfe70..=0xfeff => 0x600,
        code => code & !0x7f,
    }
}
