//! Chooses the renditions by which two files are compared: one content of each file.
//!
//! A file may have a **text** to compare: its own bytes, or a text that was extracted from it. It
//! always has **bytes** to compare: those of its unpacked content if it is compressed, and
//! otherwise its own bytes. If both files have a text, they are compared by their texts. Otherwise
//! they are compared by their bytes. Common samples of other renditions do not change this. So the
//! styles and fonts of two documents never make them similar, and every question gives the same
//! measures. An archive or a mail is compared by all its members, even with a file that has no
//! members.

use resemble_core::ContentKind;

use crate::renditions::Rendition;

/// The renditions by which a file or a member is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Faces {
    text: Option<Rendition>,
    bytes: Rendition,
    holds_members: bool,
}

impl Faces {
    /// Chooses the renditions of a file whose own bytes are of kind `own`, and which has these
    /// `others`.
    pub fn of(
        own: ContentKind,
        others: impl IntoIterator<Item = (Rendition, ContentKind)>,
    ) -> Self {
        let text_of = |kind, rendition| (kind == ContentKind::Text).then_some(rendition);
        let mut faces = Self {
            text: text_of(own, Rendition::Own),
            bytes: Rendition::Own,
            holds_members: false,
        };
        let mut has_text = false;
        for (rendition, kind) in others {
            match rendition {
                Rendition::Text => {
                    faces.text = Some(Rendition::Text);
                    has_text = true;
                }
                Rendition::Unpacked => {
                    faces.bytes = Rendition::Unpacked;
                    if !has_text {
                        faces.text = text_of(kind, Rendition::Unpacked);
                    }
                }
                Rendition::WholeText | Rendition::WholeBytes => faces.holds_members = true,
                Rendition::Own | Rendition::Member => {}
            }
        }
        faces
    }

    /// Returns whether the file is compared by its members.
    pub const fn holds_members(self) -> bool {
        self.holds_members
    }

    /// Returns the rendition by which this file, if it has no members, is compared with a file that
    /// has members.
    pub fn alone(self) -> Rendition {
        self.text.unwrap_or(self.bytes)
    }

    /// Returns whether a member of an archive and a rendition of a single file nominate these two.
    /// The single file must be compared by this rendition. Returns `None` if neither of the two
    /// renditions is a member. If both files are archives, a common member is weak evidence, so it
    /// nominates nothing.
    pub fn named_by_member(
        self,
        own: Rendition,
        other: Self,
        rendition: Rendition,
    ) -> Option<bool> {
        let (archive, single, alone) = match (own, rendition) {
            (Rendition::Member, alone) => (self, other, alone),
            (alone, Rendition::Member) => (other, self, alone),
            _ => return None,
        };
        let is_single = archive.holds_members && !single.holds_members;
        Some(is_single && alone == single.alone())
    }

    /// Returns the renditions of this file and of `other` that are compared with each other.
    pub const fn meeting(self, other: Self) -> (Rendition, Rendition) {
        match (self.text, other.text) {
            (Some(one), Some(other)) => (one, other),
            _ => (self.bytes, other.bytes),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::renditions::Rendition::{Own, Text, Unpacked, WholeBytes};

    #[test]
    fn texts_meet_texts_and_bytes_meet_bytes() {
        let plain = Faces::of(ContentKind::Text, []);
        let binary = Faces::of(ContentKind::Binary, []);
        let document = Faces::of(ContentKind::Binary, [(Text, ContentKind::Text)]);
        let packed = Faces::of(ContentKind::Binary, [(Unpacked, ContentKind::Text)]);
        let packed_document = Faces::of(
            ContentKind::Binary,
            [(Unpacked, ContentKind::Binary), (Text, ContentKind::Text)],
        );
        assert_eq!(plain.meeting(plain), (Own, Own));
        assert_eq!(plain.meeting(binary), (Own, Own));
        assert_eq!(plain.meeting(document), (Own, Text));
        assert_eq!(document.meeting(document), (Text, Text));
        assert_eq!(document.meeting(binary), (Own, Own));
        assert_eq!(plain.meeting(packed), (Own, Unpacked));
        assert_eq!(packed.meeting(binary), (Unpacked, Own));
        assert_eq!(packed_document.meeting(document), (Text, Text));
        assert_eq!(packed_document.meeting(binary), (Unpacked, Own));
        let mail = Faces::of(
            ContentKind::Text,
            [(Text, ContentKind::Text), (WholeBytes, ContentKind::Binary)],
        );
        assert!(mail.holds_members() && !packed_document.holds_members());
        assert_eq!((packed.alone(), binary.alone()), (Unpacked, Own));
    }
}
