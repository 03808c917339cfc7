//! Reads Rich Text Format: the text is between control words.
//!
//! The format is a tree of groups. A group that begins with a destination (fonts, styles, pictures)
//! is not text. A group that begins with `\*` is not text, either. Readers must skip such a group
//! if they do not know the word after the `\*`. The text of notes is written at the end. Text is in
//! the code page of the document or of the current font. The bytes of one character may be in
//! several escapes.

use encoding_rs::{
    BIG5, EUC_KR, Encoding, GBK, MACINTOSH, SHIFT_JIS, WINDOWS_874, WINDOWS_1250, WINDOWS_1251,
    WINDOWS_1252, WINDOWS_1253, WINDOWS_1254, WINDOWS_1255, WINDOWS_1256, WINDOWS_1257,
    WINDOWS_1258,
};

use crate::read::{Place, Source, Take, Text, Walk};

/// The destinations whose text is not part of the document.
const NO_TEXT: [&[u8]; 26] = [
    b"fonttbl",
    b"colortbl",
    b"stylesheet",
    b"info",
    b"pict",
    b"object",
    b"header",
    b"headerl",
    b"headerr",
    b"headerf",
    b"footer",
    b"footerl",
    b"footerr",
    b"footerf",
    b"ftnsep",
    b"ftnsepc",
    b"aftnsep",
    b"aftnsepc",
    b"themedata",
    b"datastore",
    b"generator",
    b"nonshppict",
    b"fldinst",
    b"listtext",
    b"pntext",
    b"filetbl",
];

/// The maximum nesting of groups. A group that is nested deeper has no settings of its own.
const DEEPEST: usize = 10_000;

/// The settings that apply within a group.
#[derive(Clone, Copy, Debug)]
struct Group {
    /// The destination of the text in the group.
    to: To,
    /// The number of characters after each `\u` that replace it for older readers.
    skip: usize,
    encoding: &'static Encoding,
    /// True if the group is within the table of fonts.
    fonts: bool,
    hidden: bool,
    deleted: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum To {
    Text,
    Aside,
    Nowhere,
}

/// A token of the file.
#[derive(Debug, PartialEq, Eq)]
enum Token<'a> {
    Open,
    Close,
    Word(&'a [u8], Option<i32>),
    Symbol(u8),
    Hex(u8),
    Bytes(&'a [u8]),
}

pub(super) fn read(walk: &mut Walk, source: Source<'_>, place: Place) -> Take {
    let bytes = walk.all(&source)?;
    let mut reader = RtfReader::new(walk.text(place));
    let mut rest = &bytes[..];
    while let Some((token, left)) = next(rest) {
        rest = left;
        if let Token::Word(b"bin", Some(length)) = token {
            // The number after this control word is the length of binary data, which are skipped.
            let length = usize::try_from(length).unwrap_or(0);
            rest = rest.get(length..).unwrap_or_default();
            continue;
        }
        reader.take(&token)?;
        if reader.groups.is_empty() {
            break;
        }
    }
    reader.end_run()?;
    let hidden = reader.hidden;
    reader.end()?;
    walk.left_out(hidden)
}

fn next(bytes: &[u8]) -> Option<(Token<'_>, &[u8])> {
    let (&first, rest) = bytes.split_first()?;
    match first {
        b'{' => Some((Token::Open, rest)),
        b'}' => Some((Token::Close, rest)),
        b'\\' => Some(control(rest)),
        _ => {
            let end = memchr::memchr3(b'{', b'}', b'\\', bytes).unwrap_or(bytes.len());
            Some((Token::Bytes(&bytes[..end]), &bytes[end..]))
        }
    }
}

/// Reads the token that begins with a backslash. `bytes` are the bytes after it.
fn control(bytes: &[u8]) -> (Token<'_>, &[u8]) {
    let letters = bytes
        .iter()
        .position(|byte| !byte.is_ascii_alphabetic())
        .unwrap_or(bytes.len());
    if letters == 0 {
        let Some((&symbol, rest)) = bytes.split_first() else {
            return (Token::Bytes(b""), b"");
        };
        if symbol == b'\'' {
            let code = rest.get(..2).and_then(|hex| std::str::from_utf8(hex).ok());
            if let Some(code) = code.and_then(|hex| u8::from_str_radix(hex, 16).ok()) {
                return (Token::Hex(code), &rest[2..]);
            }
        }
        return (Token::Symbol(symbol), rest);
    }
    let (word, rest) = bytes.split_at(letters);
    let sign = usize::from(rest.first() == Some(&b'-'));
    let digits = rest[sign..]
        .iter()
        .take(10)
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let (number, rest) = if digits == 0 {
        (None, rest)
    } else {
        let (number, rest) = rest.split_at(sign + digits);
        let number = std::str::from_utf8(number).ok();
        (number.and_then(|number| number.parse().ok()), rest)
    };
    (
        Token::Word(word, number),
        rest.strip_prefix(b" ").unwrap_or(rest),
    )
}

struct RtfReader<'w> {
    text: Text<'w>,
    /// The text of notes, which is written at the end.
    aside: String,
    groups: Vec<Group>,
    /// The number of open groups beyond [`DEEPEST`], which are not in `groups`.
    deeper: u64,
    /// The bytes of text since the last change of the encoding. They are decoded together.
    run: Vec<u8>,
    /// The number of characters that are still to be left out after a `\u`.
    left_out: usize,
    /// The first half of a surrogate pair, until the second half is read.
    high: Option<u16>,
    /// True if the group has just begun, so that a destination may follow.
    opened: bool,
    /// True directly after `\*`.
    optional: bool,
    fonts: std::collections::BTreeMap<i32, &'static Encoding>,
    /// The number of the font whose entry in the table of fonts is being read.
    font: i32,
    document: &'static Encoding,
    /// The number of pieces of hidden text.
    hidden: u64,
    /// True if the text read last was hidden. Hidden text that follows then belongs to the same
    /// piece.
    hiding: bool,
}

impl<'w> RtfReader<'w> {
    fn new(text: Text<'w>) -> Self {
        Self {
            text,
            aside: String::new(),
            groups: vec![Group {
                to: To::Text,
                skip: 1,
                encoding: WINDOWS_1252,
                fonts: false,
                hidden: false,
                deleted: false,
            }],
            deeper: 0,
            run: Vec::new(),
            left_out: 0,
            high: None,
            opened: false,
            optional: false,
            fonts: std::collections::BTreeMap::new(),
            font: 0,
            document: WINDOWS_1252,
            hidden: 0,
            hiding: false,
        }
    }

    fn take(&mut self, token: &Token<'_>) -> Take {
        let opened = std::mem::take(&mut self.opened);
        match *token {
            Token::Hex(byte) => {
                if self.left_out > 0 {
                    self.left_out -= 1;
                } else {
                    self.run.push(byte);
                }
                return Ok(());
            }
            Token::Bytes(bytes) => {
                let mut bytes = bytes;
                while self.left_out > 0 && !bytes.is_empty() {
                    self.left_out -= usize::from(!matches!(bytes[0], b'\r' | b'\n'));
                    bytes = &bytes[1..];
                }
                let line_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
                let kept = bytes.split(line_end).flatten();
                self.run.extend(kept);
                return Ok(());
            }
            _ => {}
        }
        self.end_run()?;
        match *token {
            Token::Open => {
                self.left_out = 0;
                if self.groups.len() < DEEPEST {
                    let top = self.top();
                    self.groups.push(top);
                } else {
                    self.deeper += 1;
                }
                self.opened = true;
            }
            Token::Close => {
                self.left_out = 0;
                if self.deeper > 0 {
                    self.deeper -= 1;
                    return Ok(());
                }
                let to = self.top().to;
                self.groups.pop();
                if to == To::Aside && self.groups.last().is_none_or(|top| top.to == To::Text) {
                    self.aside.push('\n');
                }
            }
            Token::Symbol(symbol) => match symbol {
                b'*' if opened => {
                    self.optional = true;
                    self.opened = true;
                }
                b'~' => self.put("\u{a0}")?,
                b'-' => self.put("\u{ad}")?,
                b'_' => self.put("\u{2011}")?,
                b'\n' | b'\r' => self.put("\n")?,
                b'\\' | b'{' | b'}' => self.run.push(symbol),
                _ => {}
            },
            Token::Word(word, number) => {
                let optional = std::mem::take(&mut self.optional);
                self.word(word, number, opened, optional)?;
            }
            _ => {}
        }
        Ok(())
    }

    fn word(&mut self, word: &[u8], number: Option<i32>, opened: bool, optional: bool) -> Take {
        let value = number.unwrap_or(0);
        if opened {
            match word {
                b"fonttbl" => self.change(|group| group.fonts = true),
                b"footnote" | b"annotation" => self.change(|group| group.to = To::Aside),
                _ if optional => self.change(|group| group.to = To::Nowhere),
                _ => {}
            }
            if NO_TEXT.contains(&word) {
                self.change(|group| group.to = To::Nowhere);
            }
        }
        let put = match word {
            b"par" | b"line" | b"sect" | b"page" | b"row" | b"nestrow" | b"column" => "\n",
            b"tab" | b"cell" | b"nestcell" => "\t",
            b"emdash" => "\u{2014}",
            b"endash" => "\u{2013}",
            b"lquote" => "\u{2018}",
            b"rquote" => "\u{2019}",
            b"ldblquote" => "\u{201c}",
            b"rdblquote" => "\u{201d}",
            b"bullet" => "\u{2022}",
            b"emspace" | b"enspace" | b"qmspace" => " ",
            b"zwnj" => "\u{200c}",
            b"zwj" => "\u{200d}",
            b"u" => return self.unicode(value),
            b"uc" => {
                let skip = usize::try_from(value).unwrap_or(1).min(16);
                self.change(|group| group.skip = skip);
                ""
            }
            b"ansicpg" => {
                if let Some(encoding) = code_page(value) {
                    self.document = encoding;
                    self.change(|group| group.encoding = encoding);
                }
                ""
            }
            b"mac" => {
                self.document = MACINTOSH;
                self.change(|group| group.encoding = MACINTOSH);
                ""
            }
            b"plain" => {
                let encoding = self.document;
                self.change(|group| {
                    group.encoding = encoding;
                    (group.hidden, group.deleted) = (false, false);
                });
                ""
            }
            b"f" if self.top().fonts => {
                self.font = value;
                ""
            }
            b"f" => {
                let encoding = self.fonts.get(&value).copied().unwrap_or(self.document);
                self.change(|group| group.encoding = encoding);
                ""
            }
            b"fcharset" if self.top().fonts => {
                if let Some(encoding) = charset(value) {
                    self.fonts.insert(self.font, encoding);
                }
                ""
            }
            b"v" => {
                self.change(|group| group.hidden = number != Some(0));
                ""
            }
            b"deleted" => {
                self.change(|group| group.deleted = number != Some(0));
                ""
            }
            _ => "",
        };
        self.put(put)
    }

    /// Adds the character with this number. The number has 16 bits and a sign. Two consecutive
    /// numbers may be a surrogate pair.
    fn unicode(&mut self, value: i32) -> Take {
        let unit = value as u16;
        self.left_out = self.top().skip;
        let high = self.high.take();
        match (unit, high) {
            (0xd800..=0xdbff, _) => self.high = Some(unit),
            (0xdc00..=0xdfff, Some(high)) => {
                let pair = char::decode_utf16([high, unit]).next();
                if let Some(Ok(character)) = pair {
                    return self.put(character.encode_utf8(&mut [0; 4]));
                }
            }
            // Symbol fonts use private-use characters, which are not letters.
            (0xf000..=0xf0ff, _) => return self.put(" "),
            _ => {
                if let Some(character) = char::from_u32(u32::from(unit)) {
                    return self.put(character.encode_utf8(&mut [0; 4]));
                }
            }
        }
        Ok(())
    }

    fn top(&self) -> Group {
        self.groups.last().copied().unwrap_or(Group {
            to: To::Nowhere,
            skip: 1,
            encoding: WINDOWS_1252,
            fonts: false,
            hidden: false,
            deleted: false,
        })
    }

    fn change(&mut self, change: impl FnOnce(&mut Group)) {
        if let Some(top) = self.groups.last_mut() {
            change(top);
        }
    }

    fn put(&mut self, text: &str) -> Take {
        let top = self.top();
        if text.is_empty() {
            return Ok(());
        }
        let is_text = top.to != To::Nowhere && !top.deleted;
        if top.hidden && is_text {
            if !text.trim().is_empty() && !std::mem::replace(&mut self.hiding, true) {
                self.hidden += 1;
            }
            return Ok(());
        }
        if top.deleted {
            return Ok(());
        }
        self.hiding &= !is_text;
        match top.to {
            To::Text => self.text.push(text),
            To::Aside => {
                self.aside.push_str(text);
                Ok(())
            }
            To::Nowhere => Ok(()),
        }
    }

    /// Decodes the bytes in `run` and adds their text.
    fn end_run(&mut self) -> Take {
        if self.run.is_empty() {
            return Ok(());
        }
        let run = std::mem::take(&mut self.run);
        let (text, _) = self.top().encoding.decode_without_bom_handling(&run);
        self.put(&text)
    }

    fn end(mut self) -> Take {
        self.end_run()?;
        self.text.push("\n")?;
        let aside = std::mem::take(&mut self.aside);
        self.text.push(&aside)?;
        self.text.end()
    }
}

fn code_page(number: i32) -> Option<&'static Encoding> {
    Some(match number {
        874 => WINDOWS_874,
        932 => SHIFT_JIS,
        936 => GBK,
        949 => EUC_KR,
        950 => BIG5,
        1250 => WINDOWS_1250,
        1251 => WINDOWS_1251,
        1252 => WINDOWS_1252,
        1253 => WINDOWS_1253,
        1254 => WINDOWS_1254,
        1255 => WINDOWS_1255,
        1256 => WINDOWS_1256,
        1257 => WINDOWS_1257,
        1258 => WINDOWS_1258,
        10000 => MACINTOSH,
        65001 => encoding_rs::UTF_8,
        _ => return None,
    })
}

/// Returns the encoding of a font from the number of its Windows character set.
fn charset(number: i32) -> Option<&'static Encoding> {
    code_page(match number {
        0 => 1252,
        77 => 10000,
        128 => 932,
        129 => 949,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    })
}
