//! Reports as text for people.
//!
//! What a person asks for is an answer, then the reasons in the order of their weight, and not
//! 100,000 lines: totals come first, lists begin with what is biggest, and long lists are folded
//! by folder unless everything is asked for. Percents are whole and rounded down; 100 % is kept
//! for equal bytes.

pub mod compare;
pub mod covered;
pub mod dirs;
mod fold;
pub mod groups;

use resemble_proto::number::Fraction;

use crate::human::{counted, human_size};
use crate::lines::{Cell, Tint};

/// Lines of a list that is not asked for in full: about a screen.
const SCREENFUL: usize = 40;

/// `97%` flush right; nothing for what has no partner, `?` for what is too small to judge.
fn percent(share: Fraction, identical: bool, tint: Tint) -> Cell {
    let text = share
        .percent(identical)
        .map_or_else(|| "?".to_owned(), |percent| format!("{percent}%"));
    Cell::right(text, tint)
}

/// `97.3%`, rounded down; 100% only if nothing is missing.
fn share_of(part: u64, whole: u64) -> String {
    if part >= whole {
        return "100%".to_owned();
    }
    let tenths = u128::from(part) * 1000 / u128::from(whole);
    format!("{}.{}%", tenths / 10, tenths % 10)
}

/// `12 files, 3.4 MiB`
fn files_and_bytes(files: u64, bytes: u64) -> String {
    format!("{}, {}", counted(files, "file"), human_size(bytes))
}

/// A line of one sentence.
fn sentence(text: impl Into<String>, tint: Tint) -> Vec<Cell> {
    vec![Cell::left(text, tint)]
}

#[cfg(test)]
mod tests;
