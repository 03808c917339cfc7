//! Reads the XML of documents. Elements are identified by their local names. Entities in text are
//! resolved.
//!
//! Entities that a document defines are not resolved, so a small document cannot expand to a large
//! text.

use std::borrow::Cow;
use std::io::{BufRead, BufReader, Cursor, Read};

use quick_xml::Reader;
use quick_xml::escape::resolve_predefined_entity;
use quick_xml::events::{BytesEnd, BytesStart, Event};

use crate::read::{Stop, Take, damaged, reason};

/// The next item of a document.
#[derive(Debug)]
pub(super) enum Node<'a> {
    Open(Element<'a>),
    Close(Closed<'a>),
    Text(Cow<'a, str>),
    /// A comment, or another item that readers ignore.
    Other,
    End,
}

/// The start of an element.
#[derive(Debug)]
pub(super) struct Element<'a>(BytesStart<'a>);

impl Element<'_> {
    /// Returns the name of the element without its prefix.
    pub(super) fn name(&self) -> &str {
        local(self.0.name().into_inner())
    }

    /// Returns the name of the element with its prefix.
    pub(super) fn full_name(&self) -> &str {
        self.0.name().into_inner()
    }

    /// Returns the value of the attribute whose name without prefix is `name`.
    pub(super) fn attribute(&self, name: &str) -> Option<String> {
        self.value(|of| local(of) == name)
    }

    /// Returns the value of the attribute whose name with prefix is `name`.
    pub(super) fn prefixed(&self, name: &str) -> Option<String> {
        self.value(|of| of == name)
    }

    fn value(&self, is: impl Fn(&str) -> bool) -> Option<String> {
        let mut all = self.0.attributes();
        let mut all = all.with_checks(false).flatten();
        let attribute = all.find(|attribute| is(attribute.key.into_inner()))?;
        Some(match quick_xml::escape::unescape(&attribute.value) {
            Ok(value) => value.into_owned(),
            Err(_) => attribute.value.into_owned(),
        })
    }
}

/// The end of an element.
#[derive(Debug)]
pub(super) struct Closed<'a>(BytesEnd<'a>);

impl Closed<'_> {
    /// Returns the name of the element without its prefix.
    pub(super) fn name(&self) -> &str {
        local(self.0.name().into_inner())
    }
}

/// Returns a name without its prefix.
pub(super) fn local(name: &str) -> &str {
    name.rsplit(':').next().unwrap_or(name)
}

/// Reads a document.
pub(super) struct Xml<'a> {
    reader: Reader<Box<dyn BufRead + 'a>>,
    buffer: Vec<u8>,
}

impl<'a> Xml<'a> {
    pub(super) fn new(from: impl Read + 'a) -> Take<Self> {
        let mut from = BufReader::with_capacity(32 << 10, from);
        let utf16 = matches!(from.fill_buf()?, [0xff, 0xfe, ..] | [0xfe, 0xff, ..]);
        let from: Box<dyn BufRead + 'a> = if utf16 {
            let mut all = Vec::new();
            from.read_to_end(&mut all)?;
            let (text, _, _) = encoding_rs::UTF_16LE.decode(&all);
            Box::new(Cursor::new(text.into_owned()))
        } else {
            Box::new(from)
        };
        let mut reader = Reader::from_reader(from);
        let config = reader.config_mut();
        config.expand_empty_elements = true;
        config.check_end_names = false;
        config.allow_unmatched_ends = true;
        config.allow_dangling_amp = true;
        Ok(Self {
            reader,
            buffer: Vec::new(),
        })
    }

    pub(super) fn next(&mut self) -> Take<Node<'_>> {
        self.buffer.clear();
        let event = match self.reader.read_event_into(&mut self.buffer) {
            Ok(event) => event,
            Err(error) => return Err(of_xml(error)),
        };
        Ok(match event {
            Event::Start(start) | Event::Empty(start) => Node::Open(Element(start)),
            Event::End(end) => Node::Close(Closed(end)),
            Event::Text(text) => Node::Text(text.into_inner()),
            Event::CData(text) => Node::Text(text.into_inner()),
            Event::GeneralRef(entity) => {
                let text = match entity.resolve_char_ref() {
                    Ok(Some(character)) => String::from(character).into(),
                    _ => resolve_predefined_entity(&entity).unwrap_or(" ").into(),
                };
                Node::Text(text)
            }
            Event::Eof => Node::End,
            Event::Comment(_) | Event::Decl(_) | Event::PI(_) | Event::DocType(_) => Node::Other,
        })
    }

    /// Skips the element that was opened last, and everything within it.
    pub(super) fn skip(&mut self) -> Take {
        let mut depth = 1u64;
        while depth > 0 {
            match self.next()? {
                Node::Open(_) => depth += 1,
                Node::Close(_) => depth -= 1,
                Node::End => break,
                _ => {}
            }
        }
        Ok(())
    }
}

fn of_xml(error: quick_xml::Error) -> Stop {
    match &error {
        // `damaged` cannot find this I/O error among the sources, because it is in a shared
        // pointer.
        quick_xml::Error::Io(inner) => Stop::This(reason(&**inner)),
        _ => damaged(error),
    }
}
