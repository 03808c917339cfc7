//! The contents of a catalogue in the order of their names.

use std::ops::Range;

use resemble_catalogue::PackedContent;
use resemble_core::{ByteLen, ContentDigest};

use crate::{TablesError, cid};

/// The places of the contents in a catalogue.
#[derive(Debug)]
pub(crate) struct Order {
    salt: u64,
    /// The name and the size of each content. The index is the content's number in the catalogue.
    contents: Vec<(i64, ByteLen)>,
    places: Vec<Place>,
}

#[derive(Debug)]
struct Place {
    cid: i64,
    at: u64,
    length: u32,
}

impl Order {
    pub(crate) const fn new(salt: u64) -> Self {
        Self {
            salt,
            contents: Vec::new(),
            places: Vec::new(),
        }
    }

    /// Adds the next content. `body` is the range of its record's body in the catalogue. Returns
    /// `false` if the body is too long.
    pub(crate) fn push(&mut self, content: &PackedContent, body: &Range<u64>) -> bool {
        let cid = cid(content.digest(), self.salt);
        self.contents.push((cid, content.size()));
        let Ok(length) = u32::try_from(body.end - body.start) else {
            return false;
        };
        self.places.push(Place {
            cid,
            at: body.start,
            length,
        });
        true
    }

    /// Returns the name and the size of a content by its number in the catalogue.
    pub(crate) fn content(&self, number: u32) -> Option<(i64, ByteLen)> {
        self.contents.get(number as usize).copied()
    }

    /// Returns the name of each content and the range of its record's body, in the order of the
    /// names.
    pub(crate) fn sorted(mut self) -> impl Iterator<Item = (i64, Range<u64>)> {
        self.contents = Vec::new();
        self.places
            .sort_unstable_by_key(|place| (place.cid, place.at));
        let places = self.places.into_iter();
        places.map(|place| (place.cid, place.at..place.at + u64::from(place.length)))
    }
}

/// Checks that no two contents have the same name.
#[derive(Debug, Default)]
pub(crate) struct Distinct(Option<(i64, ContentDigest)>);

impl Distinct {
    /// Checks the next content in the order of names.
    pub(crate) fn see(&mut self, cid: i64, content: ContentDigest) -> Result<(), TablesError> {
        match self.0.replace((cid, content)) {
            Some((before, other)) if before == cid => Err(TablesError::Collision {
                cid,
                first: other,
                second: content,
            }),
            _ => Ok(()),
        }
    }
}
