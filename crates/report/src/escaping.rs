//! Escapes names and messages for people, in output that neither a shell nor a terminal interprets.
//!
//! In the page and the workbook, a character of a name is escaped if it is hidden or changes how
//! other characters are shown. A byte that is not valid UTF-8 becomes `\xff`. Control characters
//! become `\n` or `\x1b`. Invisible characters, and characters that change the direction of text,
//! become an escape such as `\u{202e}`. [`crate::quote`] and `page.js` escape the same characters.

use std::fmt::Write as _;

use resemble_core::printable::is_printable;

/// Returns the name with hidden characters escaped.
pub(crate) fn visible(name: &[u8]) -> String {
    let mut text = String::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            push(&mut text, c);
        }
        for byte in chunk.invalid() {
            // Writing to a string does not fail.
            write!(text, "\\x{byte:02x}").unwrap_or_default();
        }
    }
    text
}

fn push(text: &mut String, c: char) {
    match c {
        '\n' => text.push_str("\\n"),
        '\t' => text.push_str("\\t"),
        '\r' => text.push_str("\\r"),
        c if is_printable(c) => text.push(c),
        c if c.is_ascii() => write!(text, "\\x{:02x}", c as u32).unwrap_or_default(),
        c => write!(text, "\\u{{{:02x}}}", c as u32).unwrap_or_default(),
    }
}

/// Escapes text for an HTML element or attribute of a page.
pub(crate) fn for_html(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + text.len() / 8);
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_escaped() {
        let cases: [(&[u8], &str); 7] = [
            ("größe 日本.txt".as_bytes(), "größe 日本.txt"),
            (b"a\nb\tc\x1b[2J", r"a\nb\tc\x1b[2J"),
            (b"a\xffb\xc3", r"a\xffb\xc3"),
            ("a\u{202e}b".as_bytes(), r"a\u{202e}b"),
            ("\u{85}\u{ad}".as_bytes(), r"\u{85}\u{ad}"),
            (b"<b>\"x\"&'", "<b>\"x\"&'"),
            (b"", ""),
        ];
        for (name, text) in cases {
            assert_eq!(visible(name), text);
        }
    }

    #[test]
    fn nothing_escaped_ends_an_element_or_an_attribute() {
        assert_eq!(
            for_html("</script>\"'&<"),
            "&lt;/script&gt;&quot;&#39;&amp;&lt;"
        );
    }
}
