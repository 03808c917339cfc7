//! Decides which characters of untrusted text can be shown.
//!
//! Names and contents of files are untrusted. An escape sequence repaints the screen, and a
//! character without a glyph is invisible. A character that changes the direction of writing can
//! make `txt.exe` look like `exe.txt`. Output for people uses this check, so that it escapes the
//! same characters everywhere.

/// Returns whether a character may be printed as it is. Control characters, invisible characters,
/// and characters that change the direction of writing must be escaped.
pub fn is_printable(c: char) -> bool {
    !c.is_control()
        && !matches!(
            c,
            '\u{ad}'
                | '\u{61c}'
                | '\u{200b}'..='\u{200f}'
                | '\u{2028}'..='\u{202e}'
                | '\u{2060}'..='\u{206f}'
                | '\u{feff}'
                | '\u{fff9}'..='\u{fffb}'
                | '\u{e0000}'..='\u{e007f}'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_obeyed_hidden_or_turned_is_not_printed() {
        for c in [' ', 'a', 'ß', '日', '\u{a0}', '\u{fffd}', '😀'] {
            assert!(is_printable(c), "{c:?}");
        }
        for c in [
            '\n',
            '\x1b',
            '\x7f',
            '\u{9b}',
            '\u{ad}',
            '\u{200b}',
            '\u{202e}',
            '\u{2066}',
            '\u{feff}',
            '\u{e0041}',
        ] {
            assert!(!is_printable(c), "{c:?}");
        }
    }
}
