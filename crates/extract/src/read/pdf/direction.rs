//! Reorders lines that have letters from right to left.
//!
//! A page has letters in the order in which they were drawn. This module puts the letters of a line
//! in reading order. It sorts the glyphs by position, and reverses all of them except numbers and
//! words that run from left to right.

use std::rc::Rc;

use unicode_properties::{GeneralCategory, GeneralCategoryGroup as Group, UnicodeGeneralCategory};

/// The number of glyphs before a mark (a vowel or an accent) that are searched for its letter. The
/// same number of glyphs after the mark is searched, too.
const NEAR: usize = 4;

/// A glyph in the current line.
#[derive(Clone, Debug)]
pub(super) struct OnLine {
    pub(super) letters: Rc<str>,
    /// The start and the end of the glyph, measured along the line.
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) size: f64,
    pub(super) blank_before: bool,
}

/// The role of a glyph in a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    RightToLeft,
    LeftToRight,
    Digit,
    /// A point or another sign that can be part of a number.
    InNumber,
    Other,
}

pub(super) fn is_right_to_left(glyph: &OnLine) -> bool {
    glyph.letters.chars().any(|letter| {
        matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
            | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
            && matches!(letter.general_category_group(), Group::Letter | Group::Mark)
    })
}

fn class(glyph: &OnLine) -> Class {
    if is_right_to_left(glyph) {
        return Class::RightToLeft;
    }
    let mut class = Class::Other;
    for letter in glyph.letters.chars() {
        class = match letter.general_category_group() {
            Group::Letter => return Class::LeftToRight,
            Group::Number => Class::Digit,
            _ if matches!(letter, '.' | ',' | ':' | '/' | '-' | '+' | '%') => Class::InNumber,
            _ => class,
        };
    }
    class
}

/// Puts the glyphs of a line in reading order.
pub(super) fn to_reading_order(line: &mut [OnLine]) {
    place_marks(line);
    line.sort_by(|a, b| (a.from + a.to).total_cmp(&(b.from + b.to)));
    let count = |of| line.iter().filter(|glyph| class(glyph) == of).count();
    if count(Class::RightToLeft) >= count(Class::LeftToRight) {
        turn(line);
        return;
    }
    // Splits the line at left-to-right letters. Reverses each piece from its first to its last
    // right-to-left letter.
    for stretch in line.split_mut(|glyph| class(glyph) == Class::LeftToRight) {
        if let Some(first) = stretch.iter().position(is_right_to_left)
            && let Some(last) = stretch.iter().rposition(is_right_to_left)
        {
            turn(&mut stretch[first..=last]);
        }
    }
}

/// Reverses glyphs. Words and numbers that run from left to right keep their order.
fn turn(line: &mut [OnLine]) {
    line.reverse();
    let classes: Vec<Class> = line.iter().map(class).collect();
    let mut at = 0;
    while at < line.len() {
        let mut end = at;
        if matches!(classes[at], Class::LeftToRight | Class::Digit) {
            // A word continues across everything up to its last letter or digit. A number continues
            // only across a single sign.
            let mut has_word = classes[at] == Class::LeftToRight;
            for next in at + 1..line.len() {
                let is_close =
                    next == end + 1 || next == end + 2 && classes[end + 1] == Class::InNumber;
                match classes[next] {
                    Class::LeftToRight if has_word || next == end + 1 => has_word = true,
                    Class::Digit if has_word || is_close => {}
                    Class::InNumber | Class::Other => continue,
                    _ => break,
                }
                end = next;
            }
            line[at..=end].reverse();
        }
        at = end + 1;
    }
}

/// Moves each mark (a vowel or an accent) to the end of the letter that it is above. So the mark is
/// sorted after the letter, even if the mark was drawn first.
fn place_marks(line: &mut [OnLine]) {
    let is_mark = |glyph: &OnLine| {
        let mark = |letter: char| letter.general_category() == GeneralCategory::NonspacingMark;
        glyph.letters.chars().all(mark)
    };
    for at in 0..line.len() {
        let middle = f64::midpoint(line[at].from, line[at].to);
        let mut near = line[at.saturating_sub(NEAR)..].iter().take(2 * NEAR + 1);
        let base = |base: &&OnLine| !is_mark(base) && (base.from..=base.to).contains(&middle);
        if is_mark(&line[at])
            && let Some(base) = near.find(base)
        {
            let end = if is_right_to_left(base) {
                base.from
            } else {
                base.to
            };
            (line[at].from, line[at].to) = (end, end);
        }
    }
}
