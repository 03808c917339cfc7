//! Wraps text that is wider than the terminal.
//!
//! A terminal breaks long lines in the middle of words. Here lines are broken at blanks. Quoted
//! names and commands in backquotes are not broken, because readers copy them.

use unicode_width::{UnicodeWidthChar, UnicodeWidthStr};

/// Does the same as [`wrap`] for bytes.
pub(crate) fn wrapped(text: &[u8], columns: usize, column: usize, indent: usize) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    wrap(&text, columns, column, indent).into_bytes()
}

/// Wraps the words of a text. The first line begins at `column`, and all other lines at `indent`.
pub fn wrap(text: &str, columns: usize, mut column: usize, indent: usize) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, word) in words(text).into_iter().enumerate() {
        let width = word.width();
        if i > 0 && column + 1 + width > columns {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else if i > 0 {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out
}

/// Splits a text at its blanks. Text in quotes or backquotes is not split.
fn words(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut from = 0;
    let mut inside = None;
    let mut before = ' ';
    for (at, c) in text.char_indices() {
        // A quote opens a quotation only at the beginning of a word, and only if another quote
        // closes it later.
        let opens =
            matches!(c, '`' | '\'') && matches!(before, ' ' | '(') && text[at + 1..].contains(c);
        match inside {
            Some(quote) => inside = Some(quote).filter(|quote| c != *quote),
            None if opens => inside = Some(c),
            None if c == ' ' => {
                words.push(&text[from..at]);
                from = at + 1;
            }
            None => {}
        }
        before = c;
    }
    words.push(&text[from..]);
    words
}

/// Returns the text, shortened to this width. If the text is wider, its middle is replaced by `…`.
pub(crate) fn shortened(text: &[u8], columns: usize) -> Vec<u8> {
    let text = String::from_utf8_lossy(text);
    let room = columns.saturating_sub(1);
    if text.width() <= columns {
        return text.into_owned().into_bytes();
    }
    // The end of a path is more informative than its beginning, so more of the end is kept.
    let tail_room = room - room / 3;
    let tail = fitting(text.chars().rev(), tail_room);
    let head = fitting(text.chars(), room - room.min(tail_room));
    let tail: String = tail.chars().rev().collect();
    format!("{head}…{tail}").into_bytes()
}

/// Returns the first characters that fit into this width.
fn fitting(chars: impl Iterator<Item = char>, columns: usize) -> String {
    let mut left = columns;
    chars
        .map_while(|c| {
            left = left.checked_sub(c.width().unwrap_or(0))?;
            Some(c)
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_broken_at_blanks_and_names_are_not() {
        let wrap = |text| wrap(text, 20, 0, 2);
        assert_eq!(wrap("a short one"), "a short one");
        assert_eq!(
            wrap("a common run of 5,600 bytes would have been seen"),
            "a common run of\n  5,600 bytes would\n  have been seen"
        );
        assert_eq!(
            wrap("the daemon's way: `resemble sync` waits"),
            "the daemon's way:\n  `resemble sync`\n  waits"
        );
        assert_eq!(
            wrap("'a name with quite some blanks' is gone"),
            "'a name with quite some blanks'\n  is gone"
        );
        assert_eq!(
            wrap("'tis  a   text of words"),
            "'tis  a   text of\n  words"
        );
        // Wide letters take two columns.
        assert_eq!(wrap("漢字漢字漢 字漢字漢字"), "漢字漢字漢\n  字漢字漢字");
    }

    #[test]
    fn the_middle_goes_first() {
        let shortened =
            |text: &str, columns| String::from_utf8(shortened(text.as_bytes(), columns)).unwrap();
        assert_eq!(shortened("docs/a.png", 10), "docs/a.png");
        assert_eq!(shortened("docs/images/a.png", 12), "doc…es/a.png");
        assert_eq!(shortened("漢字漢字漢字", 6), "…漢字");
        assert_eq!(shortened("ab", 0), "…");
    }
}
