//! Lines that are written from right to left.
//!
//! A page has letters where they stand, from left to right or in whatever order they were drawn.
//! Here a line becomes what its reader reads: its glyphs are put in the order of their places, and
//! then that order is turned, but for numbers and words of the other direction.

use std::rc::Rc;

use unicode_properties::{GeneralCategory, GeneralCategoryGroup, UnicodeGeneralCategory};

use super::lines::OnLine;

/// How a glyph takes part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    RightToLeft,
    LeftToRight,
    Digit,
    /// A point or a sign that may stand within a number.
    InNumber,
    Other,
}

pub(super) fn is_right_to_left(letter: char) -> bool {
    matches!(letter, '\u{590}'..='\u{8ff}' | '\u{fb1d}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}'
        | '\u{10800}'..='\u{10fff}' | '\u{1e800}'..='\u{1efff}')
        && letter.general_category_group() == GeneralCategoryGroup::Letter
}

fn class(glyph: &OnLine) -> Class {
    let mut class = Class::Other;
    for letter in glyph.letters.chars() {
        if is_right_to_left(letter) {
            return Class::RightToLeft;
        }
        class = match letter.general_category_group() {
            GeneralCategoryGroup::Letter => return Class::LeftToRight,
            GeneralCategoryGroup::Number => Class::Digit,
            _ if matches!(letter, '.' | ',' | ':' | '/' | '-' | '+' | '%') => Class::InNumber,
            _ => class,
        };
    }
    class
}

/// The blank between two glyphs that follow each other in reading order, whichever way that is.
pub(super) fn gap(before: &OnLine, after: &OnLine) -> f64 {
    (after.from - before.to).max(before.from - after.to)
}

/// Puts the glyphs of a line in the order in which they are read.
pub(super) fn to_reading_order(line: &mut Vec<OnLine>) {
    join_marks(line);
    line.sort_by(|a, b| (a.from + a.to).total_cmp(&(b.from + b.to)));
    let mut classes: Vec<Class> = line.iter().map(class).collect();
    let count = |of| classes.iter().filter(|class| **class == of).count();
    if count(Class::RightToLeft) >= count(Class::LeftToRight) {
        turn(line, &mut classes);
        return;
    }
    let mut at = 0;
    while at < line.len() {
        // From the first to the last letter of a stretch without letters of the other direction.
        let end = classes[at..]
            .iter()
            .position(|class| *class == Class::LeftToRight);
        let end = end.map_or(line.len(), |end| at + end);
        let is_letter = |class: &Class| *class == Class::RightToLeft;
        let stretch = &classes[at..end];
        if let (Some(first), Some(last)) = (
            stretch.iter().position(is_letter),
            stretch.iter().rposition(is_letter),
        ) {
            let (first, last) = (at + first, at + last);
            turn(&mut line[first..=last], &mut classes[first..=last]);
        }
        at = end + 1;
    }
}

/// Turns glyphs around, but not what is written from left to right within.
fn turn(line: &mut [OnLine], classes: &mut [Class]) {
    line.reverse();
    classes.reverse();
    let goes_right = |class: Class| matches!(class, Class::LeftToRight | Class::Digit);
    let mut at = 0;
    while at < line.len() {
        if !goes_right(classes[at]) {
            at += 1;
            continue;
        }
        // Words go on over whatever is between them, numbers over a single sign.
        let (mut end, mut has_word) = (at, classes[at] == Class::LeftToRight);
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
        classes[at..=end].reverse();
        at = end + 1;
    }
}

/// Vowels and accents that stand over a letter follow it, whichever was drawn first.
fn join_marks(line: &mut Vec<OnLine>) {
    let is_mark = |glyph: &OnLine| {
        let mark = |letter: char| letter.general_category() == GeneralCategory::NonspacingMark;
        glyph.letters.chars().all(mark)
    };
    let mut at = 0;
    while at < line.len() {
        if !is_mark(&line[at]) {
            at += 1;
            continue;
        }
        let middle = f64::midpoint(line[at].from, line[at].to);
        let is_base = |&base: &usize| {
            line.get(base)
                .is_some_and(|base| !is_mark(base) && base.from <= middle && middle <= base.to)
        };
        let Some(base) = [at.wrapping_sub(1), at + 1].into_iter().find(is_base) else {
            at += 1;
            continue;
        };
        let both = format!("{}{}", line[base].letters, line[at].letters);
        line[base].letters = Rc::from(both);
        line.remove(at);
    }
}
