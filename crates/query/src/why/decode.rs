//! Decodes bytes of watched files as text that can be shown anywhere.
//!
//! A file may contain an escape sequence that repaints the screen, or characters that reverse the
//! rest of the line. Each ASCII control character except the tab becomes its picture (`␛`), so that
//! it is shown and has no effect. Other control characters, invisible characters, those that change
//! the direction of writing, and invalid UTF-8 become `U+FFFD`. Tabs are kept: the layout expands
//! them.

use resemble_core::printable::is_printable;

/// Returns the safe character that is shown instead of a character of a file.
pub(super) fn shown(c: char) -> char {
    match c {
        '\t' => '\t',
        '\0'..='\x1f' => char::from_u32(0x2400 + c as u32).unwrap_or('\u{fffd}'),
        '\x7f' => '\u{2421}',
        c if is_printable(c) => c,
        _ => '\u{fffd}',
    }
}

/// Calls `each` with the position, the length and the character of everything in `bytes`. An
/// invalid UTF-8 sequence counts as one replacement character.
pub(super) fn chars(bytes: &[u8], mut each: impl FnMut(usize, usize, char)) {
    let mut at = 0;
    for chunk in bytes.utf8_chunks() {
        for (offset, c) in chunk.valid().char_indices() {
            each(at + offset, c.len_utf8(), shown(c));
        }
        at += chunk.valid().len();
        if !chunk.invalid().is_empty() {
            each(at, chunk.invalid().len(), '\u{fffd}');
            at += chunk.invalid().len();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8]) -> String {
        let mut text = String::new();
        let mut end = 0;
        chars(bytes, |at, len, c| {
            assert_eq!(at, end, "no byte is left out");
            end = at + len;
            text.push(c);
        });
        assert_eq!(end, bytes.len());
        text
    }

    #[test]
    fn nothing_that_a_terminal_obeys() {
        assert_eq!(all(b"a\x1b[2J\r\x07\tb\x7f"), "a␛[2J␍␇\tb␡");
        assert_eq!(
            all("\u{9b}31m \u{202e}x\u{200b}".as_bytes()),
            "\u{fffd}31m \u{fffd}x\u{fffd}"
        );
        assert_eq!(all(b"\xffgr\xc3\xb6\xc3"), "\u{fffd}grö\u{fffd}");
        for byte in 0..=255u8 {
            let text = all(&[0xc2, byte, b'x', byte]);
            assert!(
                text.chars().all(|c| c == '\t' || is_printable(c)),
                "{text:?}"
            );
        }
    }
}
