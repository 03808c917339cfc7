//! Finds the contents by which the files of two sides are compared.
//!
//! A file is compared by its own content or by another rendition. Examples are the text of a
//! document, and the content of a compressed file. Renditions are contents, too. They are looked up
//! like any other content, and they nominate their files.
//!
//! Two files are compared by the same rule as in every question ([`Faces`]). If one of the files
//! holds members, the files are compared by all their contents. Otherwise, if both files have
//! texts, they are compared by their texts. In all other cases, they are compared by their bytes.
//! So a pair can be nominated by one content and measured by another.

use resemble_core::{ContentId, ContentKind};
use resemble_relate::prove::members::AloneSide;
use resemble_relate::renditions::Rendition;
use resemble_relate::renditions::faces::Faces;
use resemble_relate::renditions::owners::{RenditionOwners, StandIn};

use super::sides::Sides;

/// The files of both sides, with their renditions. A file is named by its content.
pub(super) struct ComparedFiles<'a> {
    sides: &'a Sides,
    pub(super) renditions: RenditionOwners,
}

/// The contents by which two files are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum FilesMeet {
    /// The files are compared by this pair of contents.
    Contents(u32, u32),
    /// The files are compared by all contents that they hold.
    Members,
}

impl<'a> ComparedFiles<'a> {
    pub(super) fn of(sides: &'a Sides) -> Self {
        let mut renditions = RenditionOwners::default();
        for (&owner, stand_ins) in &sides.apart {
            let stand_ins = stand_ins
                .iter()
                .map(|&(rendition, content)| stand_in(sides, rendition, content));
            let own = sides.contents[owner as usize].kind;
            renditions.add(ContentId(owner), own, stand_ins.collect());
        }
        Self { sides, renditions }
    }

    /// Returns whether no file has a rendition beyond its bytes.
    pub(super) fn are_plain(&self) -> bool {
        self.sides.apart.is_empty()
    }

    fn kind(&self, content: u32) -> ContentKind {
        self.sides.contents[content as usize].kind
    }

    fn faces(&self, file: u32) -> Faces {
        self.renditions.faces(ContentId(file), self.kind(file))
    }

    /// Returns the content that is this rendition of a file. Returns the file's own content if it
    /// has no such rendition.
    fn rendition(&self, file: u32, rendition: Rendition) -> u32 {
        let mut stand_ins = self.renditions.stand_ins(ContentId(file)).iter();
        let found = stand_ins.find(|one| one.rendition == rendition);
        found.map_or(file, |one| one.content.0)
    }

    /// Returns the contents that are renditions of a file beyond its bytes.
    pub(super) fn stand_ins(&self, file: u32) -> impl Iterator<Item = u32> {
        let stand_ins = self.renditions.stand_ins(ContentId(file)).iter();
        stand_ins.map(|one| one.content.0)
    }

    /// Returns the files that have a content as a rendition beyond their own bytes. Each file is
    /// returned with the kind of the rendition.
    pub(super) fn owners(&self, content: u32) -> impl Iterator<Item = (u32, Rendition)> {
        let owners = self.renditions.owners(ContentId(content)).iter();
        owners.map(|&(owner, rendition)| (owner.0, rendition))
    }

    /// Returns the contents by which two files are compared.
    pub(super) fn meeting(&self, a: u32, b: u32) -> FilesMeet {
        if self.are_plain() {
            return FilesMeet::Contents(a, b);
        }
        let (of_a, of_b) = (self.faces(a), self.faces(b));
        if of_a.holds_members() || of_b.holds_members() {
            return FilesMeet::Members;
        }
        let (one, other) = of_a.meeting(of_b);
        FilesMeet::Contents(self.rendition(a, one), self.rendition(b, other))
    }

    /// Returns whether a match of these two renditions nominates their files. If neither file has
    /// members, the files must be compared by these renditions. A file with members is nominated by
    /// its wholes and by the text of a mail. A file without members is nominated by the rendition
    /// by which it is compared. A member of the other file can match that rendition, too.
    pub(super) fn nominate(&self, a: (u32, Rendition), b: (u32, Rendition)) -> bool {
        let (of_a, of_b) = (self.faces(a.0), self.faces(b.0));
        if !(of_a.holds_members() || of_b.holds_members()) {
            return of_a.meeting(of_b) == (a.1, b.1);
        }
        if let Some(is_named) = of_a.named_by_member(a.1, of_b, b.1) {
            return is_named;
        }
        let speaks = |faces: Faces, rendition: Rendition| {
            if faces.holds_members() {
                rendition.is_whole() || rendition == Rendition::Text
            } else {
                rendition == faces.alone()
            }
        };
        speaks(of_a, a.1) && speaks(of_b, b.1)
    }

    /// Returns the content by which a file without members is compared with an archive. Returns
    /// `None` if the file has members.
    pub(super) fn alone(&self, file: u32) -> Option<u32> {
        let faces = self.faces(file);
        (!faces.holds_members()).then(|| self.rendition(file, faces.alone()))
    }

    /// Returns the members of a file that can nominate it.
    pub(super) fn members(&self, file: u32) -> impl Iterator<Item = u32> {
        let stand_ins = self.renditions.stand_ins(ContentId(file)).iter();
        let members = stand_ins.filter(|one| one.rendition == Rendition::Member);
        members.map(|one| one.content.0)
    }

    /// Returns the contents by which a file is compared with an archive: the whole of its texts,
    /// and the whole of its other contents. A file without members has only one of these two
    /// contents: the content by which the file is compared.
    pub(super) fn wholes(&self, file: u32) -> [Option<u32>; 2] {
        let mut wholes = [None; 2];
        if let Some(alone) = self.alone(file) {
            wholes[usize::from(self.kind(alone) != ContentKind::Text)] = Some(alone);
            return wholes;
        }
        for one in self.renditions.stand_ins(ContentId(file)) {
            if let Some(at) = one.rendition.which_whole() {
                wholes[at] = Some(one.content.0);
            }
        }
        wholes
    }

    /// Returns a file as a single content, which is its own bytes.
    pub(super) fn own(&self, file: u32) -> AloneSide {
        AloneSide::of(&stand_in(self.sides, Rendition::Own, file))
    }
}

fn stand_in(sides: &Sides, rendition: Rendition, content: u32) -> StandIn {
    let known = sides.contents[content as usize];
    StandIn {
        rendition,
        content: ContentId(content),
        digest: known.digest,
        size: known.size,
        kind: known.kind,
    }
}
