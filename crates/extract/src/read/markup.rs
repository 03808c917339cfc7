//! Converts the HTML of mails and books to text.
//!
//! A tag ends at the next `>`, as everywhere in `resemble`. This module differs from the comparison
//! of markup files in three points. Tags of inline elements do not separate letters (`<b>W</b>ord`
//! is one word). Entities become their characters (`caf&eacute;`). Titles are left out, because the
//! page does not show them.

use quick_xml::escape::resolve_predefined_entity;

use crate::read::{Take, Text};

/// Inline elements. Their tags do not separate words.
const INLINE: [&str; 30] = [
    "a", "abbr", "acronym", "b", "bdi", "bdo", "big", "cite", "code", "del", "dfn", "em", "font",
    "i", "ins", "kbd", "label", "mark", "q", "ruby", "s", "samp", "small", "span", "strong", "sub",
    "sup", "tt", "u", "wbr",
];

/// Elements whose content is not text.
const HIDDEN: [&str; 3] = ["script", "style", "title"];

/// Appends the text of markup.
pub(super) fn text_of(html: &str, to: &mut Text<'_>) -> Take {
    let mut rest = html;
    while let Some(at) = memchr::memchr2(b'<', b'&', rest.as_bytes()) {
        let (plain, special) = rest.split_at(at);
        to.push(plain)?;
        rest = if special.starts_with('&') {
            entity(special, to)?
        } else {
            tag(special, to)?
        };
    }
    to.push(rest)?;
    to.push("\n")
}

/// Resolves the entity at the beginning of the text, and appends its character. If the text does
/// not begin with an entity, appends `&`. Returns the rest of the text.
fn entity<'a>(text: &'a str, to: &mut Text<'_>) -> Take<&'a str> {
    let name = &text.as_bytes()[1..text.len().min(34)];
    let resolved = memchr::memchr(b';', name).and_then(|end| {
        let name = &text[1..=end];
        let character = match name.strip_prefix('#') {
            Some(number) => {
                let hex = number.strip_prefix(['x', 'X']);
                let code = match hex {
                    Some(hex) => u32::from_str_radix(hex, 16),
                    None => number.parse(),
                };
                String::from(char::from_u32(code.ok()?)?)
            }
            None => resolve_predefined_entity(name)?.to_owned(),
        };
        Some((character, &text[end + 2..]))
    });
    if let Some((character, rest)) = resolved {
        to.push(&character)?;
        return Ok(rest);
    }
    to.push("&")?;
    Ok(&text[1..])
}

/// Processes the tag at the beginning of the text. Returns the text after the tag. If the tag
/// begins a hidden element, returns the text after that element.
fn tag<'a>(text: &'a str, to: &mut Text<'_>) -> Take<&'a str> {
    let after = |what: &str| match memchr::memmem::find(text.as_bytes(), what.as_bytes()) {
        Some(at) => &text[at + what.len()..],
        None => "",
    };
    if text.starts_with("<!--") {
        return Ok(after("-->"));
    }
    if let Some(data) = text.strip_prefix("<![CDATA[") {
        let end = memchr::memmem::find(data.as_bytes(), b"]]>").unwrap_or(data.len());
        to.push(&data[..end])?;
        return Ok(data.get(end + 3..).unwrap_or(""));
    }
    let name = text[1..].trim_start_matches('/');
    let is_tag = |first: char| first.is_ascii_alphabetic() || matches!(first, '!' | '?');
    if !name.starts_with(is_tag) {
        // This `<` is a less-than sign, because no tag follows.
        to.push("<")?;
        return Ok(&text[1..]);
    }
    let end = name
        .bytes()
        .position(|byte| !(byte.is_ascii_alphanumeric() || byte == b':' || byte == b'-'))
        .unwrap_or(name.len());
    let name = name[..end].to_ascii_lowercase();
    let rest = after(">");
    if !INLINE.contains(&&name[..]) {
        to.push("\n")?;
    }
    let opens = !text.starts_with("</") && !text[..text.len() - rest.len()].ends_with("/>");
    if opens && HIDDEN.contains(&&name[..]) {
        return Ok(after_end_of(&name, rest));
    }
    Ok(rest)
}

/// Returns the text after the end tag of a hidden element.
fn after_end_of<'a>(name: &str, text: &'a str) -> &'a str {
    let bytes = text.as_bytes();
    for at in memchr::memmem::find_iter(bytes, b"</") {
        let of = &bytes[at + 2..];
        if of.len() >= name.len() && of[..name.len()].eq_ignore_ascii_case(name.as_bytes()) {
            let end = memchr::memchr(b'>', of).map_or(text.len(), |end| at + 2 + end + 1);
            return &text[end..];
        }
    }
    ""
}
