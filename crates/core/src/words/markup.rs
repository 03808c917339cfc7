//! HTML and XML: which texts are markup, and which of their bytes are text.
//!
//! # Which texts
//!
//! A text is markup if it declares that it is, or if its first [`HEAD`] bytes have many *marks*
//! relative to their text. Marks are known entities, comments, unmistakable tags, and the rest of a
//! tag at the beginning. So if a page is markup, each part of the page is markup as well, wherever
//! the part begins. A tag is unmistakable if it ends an element, has an attribute with a value, or
//! is empty (`<br/>`). A tag with a [common name](BARE) is also unmistakable if no letter precedes
//! it. So `vector<int>`, `a<b` and `<me@example.org>` do not count.
//!
//! # A part
//!
//! A part may begin within a tag, a script or a style. If there is no `<` before the first `>`, the
//! bytes up to the `>` may be the rest of a tag. They are read as the rest of a tag if they look
//! like it. The part may contain the end of a script that began before the part. The bytes up to
//! that end are then script, unless they begin like prose. They begin like prose if there are at
//! least [`CODE`] bytes, and the first `CODE` bytes have no brace and no `=`. In that case all
//! bytes up to the end of the script are read as text.

use memchr::{memchr, memchr2, memmem};

use super::entities;

/// The number of bytes at the beginning of a text that decide whether it is markup.
pub(super) const HEAD: usize = 64 << 10;

/// The minimum number of marks in a text that is markup but does not declare it.
const LEAST_MARKS: usize = 2;

/// The minimum number of marks for each 1,024 bytes of text between them. Half of all HTML pages
/// have more than 30 marks, and 99 % have more than nine. 99 % of source files have fewer than two.
const MARKS: usize = 3;

/// The maximum number of bytes before a declaration, such as a stray word or a shebang.
const STRAY: usize = 64;

/// A piece of a page may begin in the middle of a tag. This is the maximum length of the rest of
/// that tag.
const MAX_REST: usize = 4 << 10;

/// The number of bytes in which any script or style has a brace or a `=`. Prose rarely has these
/// signs.
const CODE: usize = 256;

/// The maximum number of attributes without values in the rest of a tag. If no attribute has a
/// value, the maximum is one.
const MAX_BARE: usize = 3;

const MAX_DECLARATION: usize = 1 << 10;

/// Names of tags that are unmistakable without attributes. No other language uses these names for
/// types or placeholders.
const BARE: [&str; 31] = [
    "blockquote",
    "body",
    "br",
    "center",
    "dd",
    "div",
    "dl",
    "dt",
    "em",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "head",
    "hr",
    "html",
    "li",
    "ol",
    "p",
    "pre",
    "span",
    "strong",
    "tbody",
    "td",
    "th",
    "thead",
    "tr",
    "tt",
    "ul",
];

/// The state of the reader before a byte of a marked-up text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Markup {
    /// Not markup.
    None,
    Text,
    /// After `<`.
    Open,
    /// In the name of a tag, after `at` letters. `script` and `style` are the numbers of first
    /// letters that agree with these two names.
    Name {
        script: u8,
        style: u8,
        at: u8,
    },
    /// In the tag of a script or style. The value is true directly after a `/`. If the tag ends
    /// now, the `/` makes the tag empty.
    HiddenTag(bool),
    /// In a tag, a declaration or an end tag.
    Tag,
    /// After `<!` or `<!-`.
    Bang(u8),
    /// In a comment, after this many `-`.
    Comment(u8),
    /// In a script or style, after this many bytes of its end tag.
    Hidden(u8),
    /// In an entity.
    Entity,
}

/// The effect of a byte of a marked-up text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    Nothing,
    /// Ends a word.
    Blank,
    /// Is part of the text.
    Byte,
    /// Shows that the `<` before the byte was an ordinary sign. The byte itself is text and is not
    /// taken yet.
    Sign,
}

impl Markup {
    /// Returns the state after a byte, and the effect of the byte.
    #[inline]
    pub(super) fn after(self, byte: u8) -> (Self, Shown) {
        let lower = byte.to_ascii_lowercase();
        match self {
            Self::None => (Self::None, Shown::Byte),
            Self::Text => match byte {
                b'<' => (Self::Open, Shown::Nothing),
                b'&' => (Self::Entity, Shown::Nothing),
                _ => (Self::Text, Shown::Byte),
            },
            Self::Open => match lower {
                b'!' => (Self::Bang(0), Shown::Blank),
                b'a'..=b'z' => {
                    let of_both = u8::from(lower == b's');
                    let (script, style) = (of_both, of_both);
                    let at = 1;
                    (Self::Name { script, style, at }, Shown::Blank)
                }
                b'/' | b'?' => (Self::Tag, Shown::Blank),
                b'<' => (Self::Open, Shown::Blank),
                _ => (Self::Text, Shown::Sign),
            },
            Self::Name { script, style, at } => {
                (Self::after_name([script, style], at, lower), Shown::Nothing)
            }
            Self::HiddenTag(is_empty) => match byte {
                b'>' if is_empty => (Self::Text, Shown::Nothing),
                b'>' => (Self::Hidden(0), Shown::Nothing),
                _ => (Self::HiddenTag(byte == b'/'), Shown::Nothing),
            },
            Self::Tag => match byte {
                b'>' => (Self::Text, Shown::Nothing),
                _ => (Self::Tag, Shown::Nothing),
            },
            Self::Bang(dashes) => match byte {
                b'-' if dashes == 1 => (Self::Comment(0), Shown::Nothing),
                b'-' => (Self::Bang(1), Shown::Nothing),
                b'>' => (Self::Text, Shown::Nothing),
                _ => (Self::Tag, Shown::Nothing),
            },
            Self::Comment(dashes) => match byte {
                b'-' => (Self::Comment((dashes + 1).min(2)), Shown::Nothing),
                b'>' if dashes == 2 => (Self::Text, Shown::Nothing),
                _ => (Self::Comment(0), Shown::Nothing),
            },
            // In a script or a style, only `</sc` and `</sty` can begin its end tag.
            Self::Hidden(taken) => match (taken, lower) {
                (_, b'<') => (Self::Hidden(1), Shown::Nothing),
                (1, b'/') => (Self::Hidden(2), Shown::Nothing),
                (2, b's') => (Self::Hidden(3), Shown::Nothing),
                (3, b't') => (Self::Hidden(4), Shown::Nothing),
                (3, b'c') | (4, b'y') => (Self::Tag, Shown::Nothing),
                _ => (Self::Hidden(0), Shown::Nothing),
            },
            // The tokenizer reads the name of the entity.
            Self::Entity => (Self::Entity, Shown::Nothing),
        }
    }

    /// Returns the state after a letter of the name of a tag, with `at` letters before it.
    fn after_name([script, style]: [u8; 2], at: u8, lower: u8) -> Self {
        match lower {
            b'>' | b' ' | b'\t' | b'\n' | b'\r' | b'/' => {
                let hidden = (script == at && at == 6) || (style == at && at == 5);
                match (lower, hidden) {
                    (b'>', true) => Self::Hidden(0),
                    (b'>', false) => Self::Text,
                    (_, true) => Self::HiddenTag(lower == b'/'),
                    (_, false) => Self::Tag,
                }
            }
            _ => {
                let agrees = |of: &[u8], so_far: u8| {
                    so_far + u8::from(so_far == at && of.get(usize::from(at)) == Some(&lower))
                };
                Self::Name {
                    script: agrees(b"script", script),
                    style: agrees(b"style", style),
                    at: at.saturating_add(1),
                }
            }
        }
    }

    /// Returns the state at the first byte of a text with this beginning: its first [`HEAD`] bytes,
    /// or all its bytes.
    pub(super) fn at_beginning(head: &[u8]) -> Self {
        let head = &head[..head.len().min(HEAD)];
        if is_declared(head) {
            return Self::Text;
        }
        // Prose has neither a tag nor an entity.
        if memchr2(b'<', b'&', head).is_none() {
            return Self::None;
        }
        let (begins, rest) = rest_before(head);
        if is_dense(head, rest) {
            begins
        } else {
            Self::None
        }
    }
}

/// Returns whether a text with this beginning declares itself HTML or XML.
fn is_declared(head: &[u8]) -> bool {
    let head = head.strip_prefix(b"\xef\xbb\xbf").unwrap_or(head);
    let head = head.trim_ascii_start();
    let Some(begin) = head.iter().take(STRAY).position(|&byte| byte == b'<') else {
        return false;
    };
    let declarations: [&[u8]; 4] = [b"<?xml", b"<!doctype", b"<html", b"<svg"];
    declarations
        .iter()
        .any(|of| begins_with(&head[begin..], of))
}

fn begins_with(bytes: &[u8], with: &[u8]) -> bool {
    let first = bytes.get(..with.len());
    first.is_some_and(|first| first.eq_ignore_ascii_case(with))
}

/// Returns the place of the next `<` at or after `from`, if there is one.
fn next_open(bytes: &[u8], from: usize) -> Option<usize> {
    Some(from + memchr(b'<', &bytes[from..])?)
}

/// Returns the state at the start of a part of a page. Also returns the length of the rest of a tag
/// or script at the beginning of the part.
fn rest_before(head: &[u8]) -> (Markup, usize) {
    let mut from = 0;
    while let Some(at) = next_open(head, from) {
        let bytes = &head[at + 1..];
        if begins_with(bytes, b"script") || begins_with(bytes, b"style") {
            break;
        }
        if begins_with(bytes, b"/script") || begins_with(bytes, b"/style") {
            if at >= CODE && !head[..CODE].iter().any(|byte| b"{}=".contains(byte)) {
                break;
            }
            return (Markup::Hidden(0), at);
        }
        from = at + 1;
    }
    let first = &head[..head.len().min(MAX_REST)];
    match memchr2(b'<', b'>', first) {
        Some(end) if first[end] == b'>' && is_rest_of_tag(&first[..=end]) => (Markup::Tag, end + 1),
        _ => (Markup::Text, 0),
    }
}

/// Returns whether these bytes, which end with `>`, may be the end of a tag: the rest of a name or
/// a value, and attributes.
fn is_rest_of_tag(rest: &[u8]) -> bool {
    let are_attributes = |rest: &[u8]| {
        attributes(rest).is_some_and(|of| of.bare <= 1 || of.has_value && of.bare <= MAX_BARE)
    };
    let is_part = |byte: &u8| byte.is_ascii_alphanumeric() || b":._-/\"'=#?&%+;,~".contains(byte);
    let blank = rest
        .iter()
        .position(|byte| byte.is_ascii_whitespace() || *byte == b'>');
    let (first, others) = rest.split_at(blank.unwrap_or(0));
    let within_word = || first.iter().all(is_part) && are_attributes(others);
    let within_name = || match attribute_length(rest) {
        Some((length, true)) => are_attributes(&rest[length..]),
        _ => false,
    };
    let within_value = || {
        let end = memchr2(b'"', b'\'', rest);
        end.is_some_and(|end| are_attributes(&rest[end + 1..]))
    };
    within_word() || within_name() || within_value()
}

/// Returns whether the bytes after the first `rest` bytes have enough marks for markup.
fn is_dense(head: &[u8], rest: usize) -> bool {
    let mut marks = usize::from(rest > 0);
    let mut aside = rest;
    let mut at = rest;
    // True while the end of a comment may follow. After a search without a result, no other comment
    // is searched for.
    let mut has_comments = true;
    while let Some(next) = memchr2(b'<', b'&', &head[at..]) {
        at += next;
        let bytes = &head[at..];
        let mark = if bytes[0] == b'&' {
            entity_length(bytes)
        } else if bytes.starts_with(b"<!--") {
            let end = has_comments.then(|| memmem::find(bytes, b"-->"));
            let end = end.flatten();
            has_comments = end.is_some();
            end.map(|end| end + 3)
        } else {
            sure_tag_length(bytes, at.checked_sub(1).map(|before| head[before]))
        };
        let length = mark.unwrap_or(1);
        if mark.is_some() {
            marks += 1;
            aside += length;
        }
        at += length;
        let begins = |with: &[u8]| begins_with(&bytes[1..], with);
        let is_empty = head[..at].ends_with(b"/>");
        if mark.is_some() && !is_empty && (begins(b"script") || begins(b"style")) {
            let end = end_of_hidden(head, at);
            aside += end - at;
            at = end;
        }
    }
    marks >= LEAST_MARKS && marks * 1024 >= MARKS * (head.len() - aside)
}

/// Returns where the next end tag of a script or style begins, at or after `from`.
fn end_of_hidden(head: &[u8], from: usize) -> usize {
    let mut at = from;
    while let Some(next) = next_open(head, at) {
        let bytes = &head[next + 1..];
        if begins_with(bytes, b"/script") || begins_with(bytes, b"/style") {
            return next;
        }
        at = next + 1;
    }
    head.len()
}

/// Returns the length of the entity at the start of these bytes, if the entity is known.
fn entity_length(bytes: &[u8]) -> Option<usize> {
    let name = bytes[1..].iter().take(entities::MAX_NAME + 1);
    let length = name
        .take_while(|&&byte| byte.is_ascii_alphanumeric() || byte == b'#')
        .count();
    let is_ended = bytes.get(1 + length) == Some(&b';');
    (is_ended && entities::is_known(&bytes[1..=length])).then_some(length + 2)
}

/// Returns the length of the unmistakable tag at the start of these bytes; `before` is the byte
/// before them.
fn sure_tag_length(bytes: &[u8], before: Option<u8>) -> Option<usize> {
    let is_end = bytes.get(1) == Some(&b'/');
    let first = 1 + usize::from(is_end);
    if begins_with(bytes, b"<!doctype") || begins_with(bytes, b"<?xml") {
        let declaration = &bytes[..bytes.len().min(MAX_DECLARATION)];
        let end = memchr(b'>', declaration)?;
        return Some(end + 1);
    }
    let is_of_name = |byte: &u8| byte.is_ascii_alphanumeric() || b":._-".contains(byte);
    let name = bytes.get(first..)?;
    let name = &name[..name.iter().position(|byte| !is_of_name(byte))?];
    if !name.first()?.is_ascii_alphabetic() {
        return None;
    }
    let at = first + name.len();
    let of = attributes(&bytes[at..]).filter(|of| !is_end || of.bare == 0 && !of.has_value)?;
    let is_bare = || {
        let is_letter = before.is_some_and(|byte| byte.is_ascii_alphanumeric());
        let is_type = name.len() == 1 && name[0].is_ascii_uppercase();
        let is_name = |of: &&str| of.as_bytes().eq_ignore_ascii_case(name);
        !is_letter && !is_type && BARE.iter().any(is_name)
    };
    (is_end || of.has_value || is_bare()).then_some(at + of.length)
}

struct Attributes {
    /// The length of the attributes in bytes, with the `>` after them.
    length: usize,
    /// True if one of the attributes has a value, or the tag is empty.
    has_value: bool,
    /// The number of attributes without a value.
    bare: usize,
}

/// Reads the attributes that follow a name, with a blank before each. `None` if the bytes up to the
/// next `>` are not attributes.
fn attributes(bytes: &[u8]) -> Option<Attributes> {
    let (mut at, mut has_value, mut bare) = (0, false, 0);
    loop {
        let blanks = bytes[at..]
            .iter()
            .take_while(|byte| byte.is_ascii_whitespace());
        let blanks = blanks.count();
        at += blanks;
        let length = match *bytes.get(at)? {
            b'>' => at + 1,
            b'/' if bytes.get(at + 1) == Some(&b'>') => {
                has_value = true;
                at + 2
            }
            _ if blanks == 0 => return None,
            _ => {
                let (length, with_value) = attribute_length(&bytes[at..])?;
                has_value |= with_value;
                bare += usize::from(!with_value);
                at += length;
                continue;
            }
        };
        return Some(Attributes {
            length,
            has_value,
            bare,
        });
    }
}

/// Returns the length of the attribute at the start of these bytes, and whether it has a value.
/// `None` if there is no whole attribute.
fn attribute_length(bytes: &[u8]) -> Option<(usize, bool)> {
    let is_of_name = |byte: &u8| {
        !byte.is_ascii_whitespace() && !matches!(byte, b'=' | b'>' | b'/' | b'<' | b'"')
    };
    let length = bytes.iter().position(|byte| !is_of_name(byte))?;
    if length == 0 || !(bytes[0].is_ascii_alphabetic() || b":_@#*[(".contains(&bytes[0])) {
        return None;
    }
    if bytes[length] != b'=' {
        return Some((length, false));
    }
    let value = &bytes[length + 1..];
    let of_value = match *value.first()? {
        quote @ (b'"' | b'\'') => memchr(quote, &value[1..])? + 2,
        _ => value
            .iter()
            .position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'>' | b'<' | b'"'))?,
    };
    (of_value > 0).then_some((length + 1 + of_value, true))
}

#[cfg(test)]
mod tests;
