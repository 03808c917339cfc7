//! Quotes names on a terminal as `ls` does.
//!
//! The creator of a file chooses its name, and a name may contain anything. Newlines fake another
//! row, escape sequences repaint the screen, and some characters reverse the line. On a terminal,
//! such a name is printed as a shell word that means the same name: `'a b'`, `'a'$'\n''b'`. In a
//! pipe, names are raw, because scripts need their bytes.

use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use resemble_core::printable::is_printable;

/// Returns the path as a shell word without hidden characters.
pub fn quoted(path: impl AsRef<Path>) -> String {
    quoted_bytes(path.as_ref().as_os_str().as_bytes())
}

/// Returns the name as a shell word without hidden characters.
pub fn quoted_bytes(name: &[u8]) -> String {
    let pieces: Vec<Piece> = pieces(name);
    if pieces.iter().any(|piece| matches!(piece, Piece::Escape(_))) {
        return with_escapes(&pieces);
    }
    let text: String = pieces.iter().filter_map(Piece::char).collect();
    if !needs_quotes(&text) {
        text
    } else if text.contains('\'') && !text.contains(['"', '$', '`', '\\', '!']) {
        format!("\"{text}\"")
    } else {
        format!("'{}'", text.replace('\'', r"'\''"))
    }
}

/// Replaces hidden characters by U+FFFD in a text from elsewhere, such as a message of the system
/// or the daemon.
pub fn harmless(text: &str) -> String {
    text.chars()
        .map(|c| if is_printable(c) { c } else { '\u{fffd}' })
        .collect()
}

/// A character that is printed as it is, or bytes that are escaped.
enum Piece {
    Char(char),
    Escape(Vec<u8>),
}

impl Piece {
    fn char(&self) -> Option<char> {
        match self {
            Self::Char(c) => Some(*c),
            Self::Escape(_) => None,
        }
    }
}

fn pieces(name: &[u8]) -> Vec<Piece> {
    let mut pieces = Vec::with_capacity(name.len());
    for chunk in name.utf8_chunks() {
        for c in chunk.valid().chars() {
            pieces.push(if is_printable(c) {
                Piece::Char(c)
            } else {
                Piece::Escape(c.to_string().into_bytes())
            });
        }
        if !chunk.invalid().is_empty() {
            pieces.push(Piece::Escape(chunk.invalid().to_vec()));
        }
    }
    pieces
}

fn needs_quotes(text: &str) -> bool {
    text.is_empty()
        || text.starts_with(['#', '~'])
        || text.contains(|c: char| c == '\u{a0}' || " !\"$&'()*;<=>?[\\^`|{}".contains(c))
}

/// Returns the name as `'plain'$'\n''plain'`: printable text is in single quotes, and escapes are
/// in `$'…'`.
fn with_escapes(pieces: &[Piece]) -> String {
    let mut word = String::new();
    let mut open = None;
    for piece in pieces {
        let escape = matches!(piece, Piece::Escape(_));
        if open != Some(escape) {
            word.push_str(match (open, escape) {
                (None, false) => "'",
                (None, true) => "''$'",
                (Some(_), false) => "''",
                (Some(_), true) => "'$'",
            });
            open = Some(escape);
        }
        match piece {
            Piece::Char('\'') => word.push_str(r"'\''"),
            Piece::Char(c) => word.push(*c),
            Piece::Escape(bytes) => bytes.iter().for_each(|byte| push_escaped(&mut word, *byte)),
        }
    }
    word.push('\'');
    word
}

fn push_escaped(word: &mut String, byte: u8) {
    match byte {
        b'\n' => word.push_str(r"\n"),
        b'\t' => word.push_str(r"\t"),
        b'\r' => word.push_str(r"\r"),
        // Writing to a string does not fail.
        _ => write!(word, "\\{byte:03o}").unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn as_ls_does() {
        let cases: [(&[u8], &str); 20] = [
            (b"report.txt", "report.txt"),
            ("größe.txt".as_bytes(), "größe.txt"),
            (b"a-b_c+d,e:f@g%h/i", "a-b_c+d,e:f@g%h/i"),
            (b"", "''"),
            (b"a b", "'a b'"),
            (b"it's", "\"it's\""),
            (b"it's $5", r"'it'\''s $5'"),
            (b"a\"b", "'a\"b'"),
            (b"#a", "'#a'"),
            (b"a#b", "a#b"),
            (b"~a", "'~a'"),
            (b"a\nb", r"'a'$'\n''b'"),
            (b"\na", r"''$'\n''a'"),
            (b"a\x1b[31mb", r"'a'$'\033''[31mb'"),
            (b"a\xffb", r"'a'$'\377''b'"),
            (b"\xff", r"''$'\377'"),
            (b"a'\n", r"'a'\'''$'\n'"),
            ("a\u{9b}31m".as_bytes(), r"'a'$'\302\233''31m'"),
            ("a\u{202e}b".as_bytes(), r"'a'$'\342\200\256''b'"),
            (b"a\\b", r"'a\b'"),
        ];
        for (name, expected) in cases {
            assert_eq!(quoted_bytes(name), expected, "{name:?}");
        }
    }

    /// A shell reads a quoted name as the name itself.
    #[test]
    fn the_shell_reads_it_back() {
        let names: [&[u8]; 8] = [
            b"it's \"$5\" `x` \\ !",
            b"\x01\x02\x7f",
            b"a'\nb'\n",
            b"\xc3\x28\xff\xfe",
            b"'",
            b"'\n'",
            b"{a,b}*?[c]",
            b"-n ~ #x =y ;z",
        ];
        for name in names {
            let word = quoted_bytes(name);
            let script = format!("printf '%s' {word}");
            let output = std::process::Command::new("bash")
                .arg("-c")
                .arg(script)
                .output()
                .unwrap();
            assert_eq!(output.stdout, name, "{word}");
        }
    }

    #[test]
    fn no_name_leaves_anything_a_terminal_obeys() {
        for byte in 0..=255u8 {
            for name in [
                vec![byte],
                vec![b'a', byte, b'b'],
                vec![0xc2, byte],
                vec![0xe2, 0x80, byte],
            ] {
                let word = quoted_bytes(&name);
                assert!(word.chars().all(is_printable), "{name:?} gives {word:?}");
            }
        }
        assert_eq!(harmless("a\x1b[2Jb\n"), "a\u{fffd}[2Jb\u{fffd}");
    }
}
