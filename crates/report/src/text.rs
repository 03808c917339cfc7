//! Prints reports as text for people.
//!
//! A reader wants an answer first, then the main reasons, and never 100,000 lines. So totals come
//! first, lists begin with the biggest entries, and by default, long lists are folded by folder.
//! Percentages are rounded down, and only equal bytes have 100 %.

pub mod compare;
pub mod covered;
pub mod dirs;
mod fold;
pub mod groups;

use std::io;

use crate::human::tenths_of_percent;
use crate::lines::{Cell, TextWriter, Tint};
use crate::rows::percent;

/// The maximum number of lines of a list by default. It is about a screen.
const SCREENFUL: usize = 40;

/// Formats a share as `97.3%`, rounded down. The result is `100%` only if nothing is missing.
fn share_of(part: u64, whole: u64) -> String {
    if part >= whole {
        return "100%".to_owned();
    }
    format!("{}%", tenths_of_percent(part, whole))
}

/// On a terminal, prints a line that explains the percentages below. In a pipe, prints nothing.
fn percentages(out: &mut TextWriter<'_>, of_what: &str) -> io::Result<()> {
    if !out.style().terminal {
        return Ok(());
    }
    out.say(format!("percentages: {of_what}"), Tint::Faint)
}

/// The explanation of percentages that fits most lists.
const LARGER_SHARE: &str = "the larger share of one file that is in the other";

/// Returns a line of one sentence.
fn sentence(text: impl Into<String>, tint: Tint) -> Vec<Cell> {
    vec![Cell::prose(text, tint)]
}

#[cfg(test)]
mod tests;
