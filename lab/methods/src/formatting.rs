//! Removes the formatting of documents: headers of `PostScript`, requests of troff, commands of
//! TeX.
//!
//! Manber 1994, section 2: fingerprints of `PostScript` headers are "the worst example", since
//! "these headers are large, similar, and ubiquitous; they make many unrelated `PostScript` files,
//! especially small ones, look very similar". In section 6, the paper suggests that headers are
//! "excluded from generating fingerprints", and that "formatting statements (e.g., troff or TeX
//! files)" are removed. This module removes headers and statements.
//!
//! * **`PostScript`** starts with `%!`. Everything up to the end of the line `%%EndProlog` is
//!   removed, if this line is in the first MiB.
//! * **troff** has a line in its first 4 KiB that starts with a request of the man, mdoc, me or ms
//!   macros. Names of requests, comments and escapes are removed (`\-` becomes a hyphen).
//! * **TeX** has `\documentclass`, `\documentstyle` or `\begin{` in its first 4 KiB. Comments,
//!   names of commands with their options, braces, and the arguments of commands such as `\ref`
//!   that contain names are removed.
//! * From **any other** document, nothing is removed.
//!
//! Other arguments of requests and commands, such as headings, are text and are kept.
//!
//! **Sees** that a document with other macros is nearly the same. **Is blind** to documents that
//! differ only in their formatting. The filter does not interpret macros, so it does not know what
//! a macro would print.

/// The number of bytes at the start of a document that determine its kind.
const HEAD: usize = 4096;

/// The maximum length of a header.
const MOST_HEADER: usize = 1 << 20;

/// The bytes that end a header.
const END_OF_HEADER: &[u8] = b"\n%%EndProlog";

/// Requests at the start of a line. In other texts, hardly any line starts like this.
const REQUESTS: [&[u8]; 10] = [
    b".TH ", b".SH", b".Dd ", b".Dt ", b".PP", b".LP", b".\\\"", b"'\\\"", b".TL", b".de ",
];

/// Commands whose argument is not text.
const NAMING: [&[u8]; 12] = [
    b"begin",
    b"cite",
    b"documentclass",
    b"documentstyle",
    b"end",
    b"include",
    b"includegraphics",
    b"input",
    b"label",
    b"pageref",
    b"ref",
    b"usepackage",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FormatState {
    /// The kind is not known yet, so bytes are held back.
    Beginning,
    /// The document is a `PostScript` program. Its bytes are held back until the header ends.
    PostScript,
    Plain,
    Troff(Troff),
    Tex(Tex),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Troff {
    LineStart,
    Text,
    /// In the name of a request.
    Request,
    /// After `\` in the name of a request, or in the text.
    Escape,
    /// In the name of a font, string or character. The value is the number of bytes of the name
    /// that follow.
    Name(u8),
    /// In the name of a font, string or character, in brackets.
    Bracket,
    /// After an escape such as `\f` or `\*`, which is followed by a name.
    Named,
    /// In the size after `\s`.
    Size,
    Comment,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tex {
    Text,
    /// After `\`.
    Escape,
    /// In the name of a command.
    Command,
    /// After the name of a command. The flag is true if the command is in [`NAMING`].
    After(bool),
    /// In the options of a command. The flag is true if the command is in [`NAMING`].
    Options(bool),
    /// In the argument of a command in [`NAMING`], which is not text.
    Argument,
    Comment,
}

/// Removes the formatting of a document that comes in pieces of any size.
#[derive(Clone, Debug)]
pub struct FormatFilter {
    state: FormatState,
    held: Vec<u8>,
    /// The start of the current command's name. It has at most 16 bytes, which is more than any
    /// name in [`NAMING`] has.
    name: Vec<u8>,
    written: Vec<u8>,
}

impl Default for FormatFilter {
    fn default() -> Self {
        Self {
            state: FormatState::Beginning,
            held: Vec::new(),
            name: Vec::new(),
            written: Vec::new(),
        }
    }
}

impl FormatFilter {
    /// Adds the next bytes. Returns the bytes that are certainly kept.
    pub fn update(&mut self, bytes: &[u8]) -> &[u8] {
        self.written.clear();
        let mut rest = bytes;
        if self.state == FormatState::Beginning {
            let (now, more) = rest.split_at(rest.len().min(HEAD - self.held.len()));
            self.held.extend_from_slice(now);
            rest = more;
            if self.held.len() == HEAD {
                self.begin();
            }
        }
        if self.state == FormatState::PostScript {
            for (taken, &byte) in rest.iter().enumerate() {
                self.held.push(byte);
                if self.leave_header() {
                    rest = &rest[taken + 1..];
                    break;
                }
            }
        }
        match self.state {
            FormatState::Beginning | FormatState::PostScript => {}
            _ => self.take(rest),
        }
        &self.written
    }

    /// Ends the document. Returns the rest of the bytes that are kept. The next bytes begin another
    /// document.
    pub fn finish(&mut self) -> &[u8] {
        self.written.clear();
        if self.state == FormatState::Beginning {
            self.begin();
        }
        if self.state == FormatState::PostScript {
            self.release();
        }
        self.state = FormatState::Beginning;
        self.held.clear();
        &self.written
    }

    /// Determines the kind of the document from the bytes that are held back.
    fn begin(&mut self) {
        let held = std::mem::take(&mut self.held);
        self.state = kind_of(&held);
        if self.state != FormatState::PostScript {
            return self.take(&held);
        }
        for (at, &byte) in held.iter().enumerate() {
            self.held.push(byte);
            if self.leave_header() {
                return self.take(&held[at + 1..]);
            }
        }
    }

    /// Removes the bytes that are held back if a header ends with them. Passes them on if they are
    /// certainly not a header. Returns whether it removed the bytes or passed them on.
    fn leave_header(&mut self) -> bool {
        if self.held.ends_with(END_OF_HEADER) {
            self.held.clear();
            self.state = FormatState::Plain;
            return true;
        }
        // A NUL before the end of the header is taken as proof that there is no header. Programs
        // hardly ever write a NUL there.
        let is_none = self.held.last() == Some(&0) || self.held.len() >= MOST_HEADER;
        if is_none {
            self.release();
        }
        is_none
    }

    fn release(&mut self) {
        self.written.append(&mut self.held);
        self.state = FormatState::Plain;
    }

    fn take(&mut self, bytes: &[u8]) {
        if self.state == FormatState::Plain {
            return self.written.extend_from_slice(bytes);
        }
        for &byte in bytes {
            self.state = match self.state {
                FormatState::Troff(state) => FormatState::Troff(self.troff(state, byte)),
                FormatState::Tex(state) => FormatState::Tex(self.tex(state, byte)),
                other => other,
            };
        }
    }

    fn troff(&mut self, state: Troff, byte: u8) -> Troff {
        if byte == b'\n' {
            self.written.push(byte);
            return Troff::LineStart;
        }
        match state {
            Troff::LineStart => match byte {
                b'.' | b'\'' => Troff::Request,
                _ => self.troff_text(byte),
            },
            Troff::Text => self.troff_text(byte),
            Troff::Request => match byte {
                b'\\' => Troff::Escape,
                b' ' | b'\t' => Troff::Text,
                _ => Troff::Request,
            },
            Troff::Escape => match byte {
                b'"' => Troff::Comment,
                b'(' => Troff::Name(2),
                b'[' => Troff::Bracket,
                b'f' | b'*' | b'n' | b'g' | b'k' => Troff::Named,
                b's' => Troff::Size,
                b'-' => self.troff_text(byte),
                _ => Troff::Text,
            },
            Troff::Named => match byte {
                b'(' => Troff::Name(2),
                b'[' => Troff::Bracket,
                _ => Troff::Text,
            },
            Troff::Name(left) if left > 1 => Troff::Name(left - 1),
            Troff::Name(_) => Troff::Text,
            Troff::Bracket => match byte {
                b']' => Troff::Text,
                _ => Troff::Bracket,
            },
            Troff::Size => match byte {
                b'+' | b'-' | b'0'..=b'9' => Troff::Size,
                _ => self.troff_text(byte),
            },
            Troff::Comment => Troff::Comment,
        }
    }

    fn troff_text(&mut self, byte: u8) -> Troff {
        if byte == b'\\' {
            return Troff::Escape;
        }
        self.written.push(byte);
        Troff::Text
    }

    fn tex(&mut self, state: Tex, byte: u8) -> Tex {
        match state {
            Tex::Text => self.tex_text(byte),
            Tex::Escape => {
                if byte.is_ascii_alphabetic() {
                    self.name.clear();
                    self.name.push(byte);
                    return Tex::Command;
                }
                self.written.push(byte);
                Tex::Text
            }
            Tex::Command if byte.is_ascii_alphabetic() => {
                if self.name.len() <= 15 {
                    self.name.push(byte);
                }
                Tex::Command
            }
            Tex::Command => {
                let naming = NAMING.contains(&&self.name[..]);
                self.tex_after(naming, byte)
            }
            Tex::After(naming) => self.tex_after(naming, byte),
            Tex::Options(naming) => match byte {
                b']' => Tex::After(naming),
                _ => Tex::Options(naming),
            },
            Tex::Argument => match byte {
                b'}' => Tex::Text,
                _ => Tex::Argument,
            },
            Tex::Comment => match byte {
                b'\n' => self.tex_text(byte),
                _ => Tex::Comment,
            },
        }
    }

    fn tex_after(&mut self, naming: bool, byte: u8) -> Tex {
        match byte {
            b' ' | b'*' => Tex::After(naming),
            b'[' => Tex::Options(naming),
            b'{' if naming => Tex::Argument,
            _ => self.tex_text(byte),
        }
    }

    fn tex_text(&mut self, byte: u8) -> Tex {
        match byte {
            b'\\' => Tex::Escape,
            b'%' => Tex::Comment,
            b'{' | b'}' => Tex::Text,
            _ => {
                self.written.push(byte);
                Tex::Text
            }
        }
    }
}

fn kind_of(head: &[u8]) -> FormatState {
    let has = |what: &[u8]| head.windows(what.len()).any(|window| window == what);
    if head.starts_with(b"%!") {
        FormatState::PostScript
    } else if has(b"\\documentclass") || has(b"\\documentstyle") || has(b"\\begin{") {
        FormatState::Tex(Tex::Text)
    } else if head
        .split(|&byte| byte == b'\n')
        .any(|line| REQUESTS.iter().any(|request| line.starts_with(request)))
    {
        FormatState::Troff(Troff::LineStart)
    } else {
        FormatState::Plain
    }
}

/// Returns a whole document without its formatting.
///
/// ```
/// use resemble_methods::formatting::text;
///
/// assert_eq!(text(b".SH NAME\nls \\- \\fBlist\\fR files\n"), b"NAME\nls - list files\n");
/// ```
pub fn text(bytes: &[u8]) -> Vec<u8> {
    let mut filter = FormatFilter::default();
    let mut all = filter.update(bytes).to_vec();
    all.extend_from_slice(filter.finish());
    all
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::canonical::Canonical;
    use crate::testing::prose;
    use crate::{Judged, Method, MethodParams, Settings, score, sign};

    fn without_formatting(bytes: &[u8]) -> String {
        String::from_utf8_lossy(&text(bytes)).into_owned()
    }

    #[test]
    fn requests_escapes_and_comments_of_troff_go() {
        let page = b".\\\" a comment\n.TH LS 1\n.B \"one two\"\n\\s+2Big\\s0 \\(em \\f[CW]x\\fP \
            \\*(Tm\n'br\nback\\\\slash\n";
        assert_eq!(
            without_formatting(page),
            "\nLS 1\n\"one two\"\nBig  x \n\nbackslash\n"
        );
    }

    #[test]
    fn commands_and_comments_of_tex_go() {
        let paper = b"\\documentclass[11pt]{article}\n\\begin{document} % \
            here\n\\section*{A {\\em title}} see~\\ref{sec:x}, 5\\% \\[x\\]\n\\end{document}\n";
        assert_eq!(without_formatting(paper), "\n \nA title see~, 5% [x]\n\n");
    }

    #[test]
    fn headers_of_postscript_go_if_they_end() {
        assert_eq!(
            without_formatting(b"%!PS-Adobe-3.0\n/x 1 def\n%%EndProlog\n(a) show\n"),
            "\n(a) show\n"
        );
        let without = "%!PS\n(a) show\n";
        assert_eq!(without_formatting(without.as_bytes()), without);
        let large = [
            b"%!PS\n",
            &vec![b'x'; MOST_HEADER][..],
            b"\n%%EndProlog\nrest",
        ]
        .concat();
        assert_eq!(text(&large), large);
    }

    #[test]
    fn other_texts_stay_as_they_are() {
        for other in [
            "",
            "plain. text\n.5 is a number\n",
            "if (a % b) { c(\"\\n\"); }",
        ] {
            assert_eq!(without_formatting(other.as_bytes()), other);
        }
    }

    /// Tests a sentence of the paper: "They make many unrelated Postscript files, especially small
    /// ones, look very similar."
    #[test]
    fn two_small_documents_with_one_header_are_alike_until_it_goes() {
        let header = [b"%!PS-Adobe\n", &prose(1500, 1)[..], b"\n%%EndProlog\n"].concat();
        let (a, b) = (
            [&header[..], &prose(400, 2)].concat(),
            [&header[..], &prose(400, 3)].concat(),
        );
        let figure = |canonical| {
            let settings = Settings {
                canonical,
                ..Settings::default()
            };
            let params = MethodParams::new(Method::Sif, &settings).expect("in range");
            score(&params, &sign(&params, &a), &sign(&params, &b)).score
        };
        assert!(figure(Canonical::None).value().expect("enough") > 0.7);
        assert_eq!(figure(Canonical::Text), Judged::Value(0.0));
    }

    proptest! {
        #[test]
        fn pieces_make_no_difference(
            start in prop::sample::select(vec!["", "%!PS\n", ".SH a\n", "\\begin{x}\n"]),
            bytes in prop::collection::vec(
                prop::sample::select(b"ab \\{}[]%.'\"fs(-*\n\0".to_vec()), 0..6000),
            end in prop::sample::select(vec!["", "\n%%EndProlog\nx"]),
            size in 1usize..900,
        ) {
            let bytes = [start.as_bytes(), &bytes, end.as_bytes()].concat();
            let mut filter = FormatFilter::default();
            for _twice in 0..2 {
                let mut all = Vec::new();
                for piece in bytes.chunks(size) {
                    all.extend_from_slice(filter.update(piece));
                }
                all.extend_from_slice(filter.finish());
                prop_assert_eq!(&all, &text(&bytes));
            }
        }
    }
}
