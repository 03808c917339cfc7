//! Replaces all identifiers in source code by one letter.
//!
//! Manber 1994, section 1, says about Baker 1993 that source codes are similar "if one can be
//! obtained from the other by changing parameter names". It adds: "it would be interesting to
//! combine the two approaches". This module combines the two: before bytes are fingerprinted, every
//! identifier becomes the same letter. So a copy with other names has the same bytes.
//!
//! No language is parsed. A word is a run of letters, digits, `_`, `$` and bytes that are not
//! ASCII. A word that starts with a digit is a number and is kept. A word in [`KEYWORDS`] is kept,
//! too. Any other word is an identifier. Strings in `"` are kept up to the end of their line.
//! Comments in `//` and `/* */` are removed, because their words would all become the same letter.
//! Blanks are kept.
//!
//! **Sees** renamed copies. **Is blind** to differences that are only in names. So short functions
//! look alike, and declarations and tables even more. This filter is of no use for prose.

use crate::formatting::FormatFilter;

/// The ways to change the bytes of a content before features are computed from them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Canonical {
    /// The bytes are not changed.
    #[default]
    None,
    /// Identifiers are replaced by one letter.
    Code,
    /// The formatting of documents is removed: [`crate::formatting`].
    Text,
}

impl Canonical {
    /// Returns the name: `none`, `code` or `text`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Code => "code",
            Self::Text => "text",
        }
    }

    /// Returns the value with this name.
    pub fn of_name(name: &str) -> Option<Self> {
        [Self::None, Self::Code, Self::Text]
            .into_iter()
            .find(|canonical| canonical.name() == name)
    }
}

/// Changes the bytes of a content before features are computed from them.
#[derive(Clone, Debug)]
pub(crate) enum Filter {
    Code(CodeFilter),
    Text(FormatFilter),
}

impl Filter {
    pub(crate) fn new(canonical: Canonical) -> Option<Self> {
        match canonical {
            Canonical::None => None,
            Canonical::Code => Some(Self::Code(CodeFilter::default())),
            Canonical::Text => Some(Self::Text(FormatFilter::default())),
        }
    }

    pub(crate) fn update(&mut self, bytes: &[u8]) -> &[u8] {
        match self {
            Self::Code(filter) => filter.update(bytes),
            Self::Text(filter) => filter.update(bytes),
        }
    }

    pub(crate) fn finish(&mut self) -> &[u8] {
        match self {
            Self::Code(filter) => filter.finish(),
            Self::Text(filter) => filter.finish(),
        }
    }
}

/// The letter that replaces every identifier.
const IDENTIFIER: u8 = b'I';

/// The keywords of C, C++, Java, JavaScript, Rust, Go and Python, sorted.
pub const KEYWORDS: [&str; 93] = [
    "and",
    "as",
    "assert",
    "async",
    "auto",
    "await",
    "bool",
    "break",
    "byte",
    "case",
    "catch",
    "chan",
    "char",
    "class",
    "const",
    "continue",
    "crate",
    "def",
    "default",
    "defer",
    "defined",
    "del",
    "delete",
    "do",
    "double",
    "elif",
    "else",
    "endif",
    "enum",
    "except",
    "extends",
    "extern",
    "false",
    "final",
    "finally",
    "float",
    "fn",
    "for",
    "from",
    "func",
    "function",
    "goto",
    "if",
    "ifdef",
    "ifndef",
    "impl",
    "import",
    "in",
    "include",
    "inline",
    "int",
    "interface",
    "is",
    "let",
    "long",
    "loop",
    "match",
    "mod",
    "mut",
    "namespace",
    "new",
    "not",
    "null",
    "or",
    "package",
    "private",
    "protected",
    "pub",
    "public",
    "raise",
    "range",
    "register",
    "return",
    "self",
    "short",
    "signed",
    "sizeof",
    "static",
    "struct",
    "super",
    "switch",
    "template",
    "this",
    "throw",
    "trait",
    "true",
    "try",
    "type",
    "typedef",
    "union",
    "unsigned",
    "void",
    "while",
];

/// The length of the longest keyword.
const LONGEST: usize = 9;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum CodeState {
    #[default]
    Plain,
    /// In a word that is not a number. The first bytes of the word are stored.
    Word,
    Number,
    /// After `/`.
    Slash,
    String,
    /// After `\` in a string.
    Escape,
    LineComment,
    BlockComment,
    /// After `*` in a comment.
    Star,
}

/// Replaces the identifiers in code that is passed in pieces of any size.
#[derive(Clone, Debug, Default)]
pub struct CodeFilter {
    state: CodeState,
    /// The current word. At most the length of the longest keyword plus one byte is stored.
    word: Vec<u8>,
    written: Vec<u8>,
}

impl CodeFilter {
    /// Adds the next bytes. Returns the changed bytes that no later byte can influence.
    pub fn update(&mut self, bytes: &[u8]) -> &[u8] {
        self.written.clear();
        for &byte in bytes {
            self.take(byte);
        }
        &self.written
    }

    /// Ends the code and returns the rest of the changed bytes. The next bytes begin another
    /// content.
    pub fn finish(&mut self) -> &[u8] {
        self.written.clear();
        match self.state {
            CodeState::Word => self.end_word(),
            CodeState::Slash => self.written.push(b'/'),
            _ => {}
        }
        self.state = CodeState::Plain;
        &self.written
    }

    fn take(&mut self, byte: u8) {
        match self.state {
            CodeState::Plain => self.plain(byte),
            CodeState::Word => {
                if is_letter(byte) || byte.is_ascii_digit() {
                    if self.word.len() <= LONGEST {
                        self.word.push(byte);
                    }
                } else {
                    self.end_word();
                    self.plain(byte);
                }
            }
            CodeState::Number => {
                if is_letter(byte) || byte.is_ascii_digit() || byte == b'.' {
                    self.written.push(byte);
                } else {
                    self.plain(byte);
                }
            }
            CodeState::Slash => match byte {
                b'/' => self.state = CodeState::LineComment,
                b'*' => self.state = CodeState::BlockComment,
                _ => {
                    self.written.push(b'/');
                    self.plain(byte);
                }
            },
            CodeState::String => {
                self.written.push(byte);
                self.state = match byte {
                    b'"' | b'\n' => CodeState::Plain,
                    b'\\' => CodeState::Escape,
                    _ => CodeState::String,
                };
            }
            CodeState::Escape => {
                self.written.push(byte);
                self.state = CodeState::String;
            }
            CodeState::LineComment => {
                if byte == b'\n' {
                    self.plain(byte);
                }
            }
            CodeState::BlockComment => {
                if byte == b'*' {
                    self.state = CodeState::Star;
                }
            }
            CodeState::Star => match byte {
                b'/' => self.state = CodeState::Plain,
                b'*' => {}
                _ => self.state = CodeState::BlockComment,
            },
        }
    }

    /// Handles a byte outside words, strings and comments.
    fn plain(&mut self, byte: u8) {
        self.state = match byte {
            b'/' => {
                self.state = CodeState::Slash;
                return;
            }
            b'"' => CodeState::String,
            b'0'..=b'9' => CodeState::Number,
            _ if is_letter(byte) => {
                self.word.clear();
                self.word.push(byte);
                self.state = CodeState::Word;
                return;
            }
            _ => CodeState::Plain,
        };
        self.written.push(byte);
    }

    fn end_word(&mut self) {
        let is_keyword =
            std::str::from_utf8(&self.word).is_ok_and(|word| KEYWORDS.binary_search(&word).is_ok());
        if is_keyword {
            self.written.extend_from_slice(&self.word);
        } else {
            self.written.push(IDENTIFIER);
        }
    }
}

const fn is_letter(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || matches!(byte, b'_' | b'$' | 0x80..)
}

/// Returns code with its identifiers replaced.
///
/// ```
/// use resemble_methods::canonical::code;
///
/// let sum = b"int sum(int n) { return n * 2; } // twice";
/// assert_eq!(code(sum), b"int I(int I) { return I * 2; } ");
/// ```
pub fn code(bytes: &[u8]) -> Vec<u8> {
    let mut filter = CodeFilter::default();
    let mut all = filter.update(bytes).to_vec();
    all.extend_from_slice(filter.finish());
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn keywords_are_sorted_and_no_longer_than_said() {
        assert!(KEYWORDS.is_sorted_by(|a, b| a < b));
        assert_eq!(KEYWORDS.iter().map(|word| word.len()).max(), Some(LONGEST));
    }

    #[test]
    fn renamed_code_is_equal_and_other_code_is_not() {
        let a = b"for (int i = 0; i < 0x1Fe; i++) total_1 += f(\"a b\\\" c\", i); /* adds **/ x";
        let b = b"for (int index = 0; index < 0x1Fe; index++) s += a(\"a b\\\" c\", index); // \
            no\\\n\x20y";
        let renamed = code(a);
        assert_eq!(
            String::from_utf8_lossy(&renamed),
            "for (int I = 0; I < 0x1Fe; I++) I += I(\"a b\\\" c\", I);  I"
        );
        assert_eq!(
            code(b),
            [&renamed[..renamed.len() - 2], b"\n I"].concat()[..].to_vec()
        );
        assert_ne!(code(b"while (a) b();"), code(b"if (a) b();"));
    }

    #[test]
    fn division_and_bytes_of_no_ascii_are_taken_as_they_are() {
        assert_eq!(code(b"a/b / 2"), b"I/I / 2");
        assert_eq!(code("größe = 1".as_bytes()), b"I = 1");
        assert_eq!(code(b"a /"), b"I /");
        assert_eq!(code(b"\"open\nint x"), b"\"open\nint I");
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            bytes in prop::collection::vec(prop::sample::select(b"ab1/*\"\\\n \
                int".to_vec()), 0..400),
            size in 1usize..40,
        ) {
            let mut filter = CodeFilter::default();
            for _twice in 0..2 {
                let mut all = Vec::new();
                for piece in bytes.chunks(size) {
                    all.extend_from_slice(filter.update(piece));
                }
                all.extend_from_slice(filter.finish());
                prop_assert_eq!(&all, &code(&bytes));
            }
        }
    }
}
