//! What a reader asks of an index, and what it hands over.

use resemble_core::{ContentDigest, ContentId, Digest, EditedDigest, Made};
use resemble_index::Look;

/// What is known of a digest before its content is chunked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lookup {
    /// The index has it.
    Known(ContentId),
    /// Somebody else is digesting an equal file just now.
    InFlight,
    /// It is new, and it is now the asker's to digest.
    New,
}

/// Knows contents by digest.
pub trait Contents {
    /// Whether this content is known.
    fn look_up(&self, digest: &ContentDigest) -> Lookup;

    /// The content that a part has, if it is known. Asking claims nothing.
    fn part(&self, digest: &ContentDigest) -> Option<ContentId> {
        let _ = digest;
        None
    }

    /// Whether a known content was taken apart.
    fn look(&self, content: ContentId) -> Look {
        let _ = content;
        Look::Unseen
    }
}

/// Every content is new: for reading outside an index.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoContents;

impl Contents for NoContents {
    fn look_up(&self, _digest: &ContentDigest) -> Lookup {
        Lookup::New
    }
}

/// What a file holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Content {
    /// A content of the index.
    Known(ContentId),
    /// An equal file is on its way into the index.
    InFlight(ContentDigest),
    /// A new one.
    New(Box<Digest>),
    /// A new one of which most is as in one of the index.
    Edited(Box<EditedDigest>),
}

impl From<Made> for Content {
    fn from(made: Made) -> Self {
        match made {
            Made::Whole(digest) => Self::New(digest),
            Made::Edited(edited) => Self::Edited(edited),
        }
    }
}

impl Content {
    /// Takes the digest out of a new content, which is on its way from then on.
    pub(crate) fn take(&mut self) -> Self {
        let left = match &*self {
            Self::New(digest) => Self::InFlight(digest.content),
            Self::Edited(edited) => Self::InFlight(edited.digest.content),
            other => other.clone(),
        };
        std::mem::replace(self, left)
    }

    /// Whether it is new and has this digest.
    pub(super) fn is_new(&self, digest: &ContentDigest) -> bool {
        match self {
            Self::New(new) => new.content == *digest,
            Self::Edited(new) => new.digest.content == *digest,
            Self::Known(_) | Self::InFlight(_) => false,
        }
    }
}
