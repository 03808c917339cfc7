//! Finds the renditions of a file, and the places that have a content.
//!
//! A file is compared by several contents, its **renditions**. A document has its own bytes and its
//! text. A compressed file has its own bytes, the content in it, and the other renditions of that
//! content, such as its text. If that content is compressed again, the innermost content takes its
//! place. An archive or a mail also has two **wholes**: all texts in it joined, and all its other
//! contents joined. A member of an archive has renditions, too.
//!
//! A file is a **place**, and so is each member in it. A place is stored as the content of the file
//! and, for a member, the number of a part. The parts of nested archives are in one list under the
//! content of the file. To find the place of a part, this list is followed from the part to its
//! parents.
//!
//! A whole nominates only other wholes. If a question about one file finds a similar member of an
//! archive, the row is about that member. In questions about all pairs of files, rows are about
//! archives, and not about members. In these questions, a member nominates the pair of its archive
//! and a single file (`held_among`).

use std::collections::HashSet;
use std::ffi::OsString;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};

use resemble_core::similarity::too_small;
use resemble_core::{ByteLen, ContentDigest, ContentId, Digest, WordsDigest};
use resemble_index::{ContentRow, FileRow, PartRole, ReadError, Snapshot};
use resemble_proto::message::{Layer, StandsAs};

use crate::renditions::faces::Faces;

pub mod faces;
pub mod owners;

/// The character between a file and the names of nested members in a path.
pub const INTO: u8 = b'!';

/// The role of a content for the file or archive member that it represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rendition {
    /// The bytes of the file or member.
    Own,
    /// The only content of a compressed file.
    Unpacked,
    /// The text that a reader extracted from the file or member.
    Text,
    /// All texts in an archive, joined.
    WholeText,
    /// All other contents of an archive, joined.
    WholeBytes,
    /// One content in an archive. It nominates the pair of the archive and a single file. The
    /// archive and the file are then compared by all that they contain.
    Member,
}

/// The maximum number of contents by which an archive is nominated. They are the first contents of
/// the archive.
pub const MOST_MEMBERS: usize = 1000;

impl Rendition {
    /// Returns the kind of rendition for a part with this role.
    pub const fn of(role: PartRole) -> Self {
        match role {
            PartRole::Member => Self::Own,
            PartRole::Unpacked => Self::Unpacked,
            PartRole::Text => Self::Text,
            PartRole::WholeText => Self::WholeText,
            PartRole::WholeBytes => Self::WholeBytes,
        }
    }

    /// Returns the number by which the rendition is stored.
    pub const fn number(self) -> u8 {
        match self {
            Self::Own => 0,
            Self::Unpacked => 1,
            Self::Text => 2,
            Self::WholeText => 3,
            Self::WholeBytes => 4,
            Self::Member => 5,
        }
    }

    /// Returns the rendition that is stored as this number.
    pub const fn of_number(number: u8) -> Option<Self> {
        Some(match number {
            0 => Self::Own,
            1 => Self::Unpacked,
            2 => Self::Text,
            3 => Self::WholeText,
            4 => Self::WholeBytes,
            5 => Self::Member,
            _ => return None,
        })
    }

    /// Returns whether this is one of the two wholes of an archive.
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::WholeText | Self::WholeBytes)
    }

    /// Returns which of the two wholes this is: 0 for the texts, 1 for the other contents. Returns
    /// `None` for other renditions.
    pub const fn which_whole(self) -> Option<usize> {
        match self {
            Self::WholeText => Some(0),
            Self::WholeBytes => Some(1),
            Self::Own | Self::Unpacked | Self::Text | Self::Member => None,
        }
    }

    /// Returns whether this is a text that a reader extracted.
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::WholeText)
    }

    /// Returns whether this rendition of one file is compared with the `other` rendition of another
    /// file.
    pub fn meets(self, other: Self) -> bool {
        if self.is_whole() || other.is_whole() {
            self == other
        } else {
            true
        }
    }
}

impl From<StandsAs> for Rendition {
    fn from(stands: StandsAs) -> Self {
        match stands {
            StandsAs::Unpacked => Self::Unpacked,
            StandsAs::Text => Self::Text,
            StandsAs::WholeText => Self::WholeText,
            StandsAs::WholeBytes => Self::WholeBytes,
        }
    }
}

impl Rendition {
    /// Returns the role as it is sent. Returns `None` for the own bytes of a file and for members,
    /// which are never sent as a role.
    pub const fn stands_as(self) -> Option<StandsAs> {
        match self {
            Self::Own | Self::Member => None,
            Self::Unpacked => Some(StandsAs::Unpacked),
            Self::Text => Some(StandsAs::Text),
            Self::WholeText => Some(StandsAs::WholeText),
            Self::WholeBytes => Some(StandsAs::WholeBytes),
        }
    }
}

/// Returns the layer by which two renditions of these kinds are compared. It is the bytes if both
/// are their files' own bytes, and otherwise the text.
pub fn layer(a: Rendition, b: Rendition) -> Layer {
    if (a, b) == (Rendition::Own, Rendition::Own) {
        Layer::Bytes
    } else {
        Layer::Text
    }
}

/// The digest of one of the two wholes of an archive: of all texts joined, or of all other contents
/// joined.
#[derive(Clone, Copy, Debug)]
pub struct WholeDigest {
    /// The digest of the joined content.
    pub digest: ContentDigest,
    /// The number of bytes of the joined content.
    pub size: ByteLen,
}

impl WholeDigest {
    /// Describes a whole that is in the index.
    pub const fn of(row: &ContentRow) -> Self {
        Self {
            digest: row.digest,
            size: row.size,
        }
    }
}

/// The digests by which equal contents and equal texts are recognised.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// The digest of the bytes. Equal bytes have equal digests.
    pub content: ContentDigest,
    /// The digest of the words. Two texts with the same words in the same order have equal digests.
    pub words: Option<WordsDigest>,
}

impl Named {
    /// Takes the digests of a content that was read.
    pub const fn of(digest: &Digest) -> Self {
        Self {
            content: digest.content,
            words: digest.words,
        }
    }

    /// Takes the digests of a content that is in the index.
    pub const fn row(row: &ContentRow) -> Self {
        Self {
            content: row.digest,
            words: row.words,
        }
    }
}

/// Returns whether two renditions show that their files have the same text.
///
/// Equal bytes or unpacked contents of the two files are enough at any size. Equal extracted texts
/// or words must have a minimum size. Otherwise all pictures and all empty forms would have the
/// same text, because they have the same few words.
pub(crate) fn same_text(a: (Rendition, Named), b: (Rendition, Named), size: ByteLen) -> bool {
    if a.1.content == b.1.content {
        is_same_text(a.0, b.0, size)
    } else {
        same_words(a.1.words, b.1.words)
    }
}

/// Returns whether two contents differ only in markup, capitals and blanks.
pub fn same_words(a: Option<WordsDigest>, b: Option<WordsDigest>) -> bool {
    a.is_some() && a == b
}

/// Returns the result of `same_text` for two renditions that have the same bytes.
pub fn is_same_text(a: Rendition, b: Rendition, size: ByteLen) -> bool {
    let exact = |rendition| matches!(rendition, Rendition::Own | Rendition::Unpacked);
    (exact(a) && exact(b)) || !too_small(size)
}

/// A file, given by its content, or a member of an archive, given by its part number in the content
/// of the archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The content of the file.
    pub content: ContentId,
    /// The part number of the member. It is `None` for the file itself.
    pub member: Option<u32>,
}

impl Place {
    /// Returns the place of a file.
    pub const fn file(content: ContentId) -> Self {
        Self {
            content,
            member: None,
        }
    }
}

/// A place, and the role that a content has there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The file or member that has the content.
    pub place: Place,
    /// The role of the content at the place.
    pub rendition: Rendition,
    /// The part number of the content, if it is a part.
    pub number: Option<u32>,
}

/// Returns all places that have a content as a rendition. Files that have it as their own bytes
/// come first. If `parts` is false, returns only these files.
pub fn occurrences(
    snapshot: &Snapshot,
    row: &ContentRow,
    parts: bool,
) -> Result<Vec<Occurrence>, ReadError> {
    let mut found = Vec::new();
    if row.files > 0 {
        found.push(Occurrence {
            place: Place::file(row.id),
            rendition: Rendition::Own,
            number: None,
        });
    }
    if row.uses == 0 || !parts {
        return Ok(found);
    }
    for (content, number) in snapshot.part_of(row.id)? {
        let Some(part) = snapshot.part(content, number)? else {
            continue;
        };
        let rendition = Rendition::of(part.role);
        let member = if part.role == PartRole::Member {
            Some(number)
        } else {
            stands_for(snapshot, content, part.parent)?
        };
        found.push(Occurrence {
            place: Place { content, member },
            rendition,
            number: Some(number),
        });
    }
    Ok(found)
}

/// Returns the archive member that is represented by a part whose parent is `parent`. Returns
/// `None` if the part represents the file itself.
fn stands_for(
    snapshot: &Snapshot,
    content: ContentId,
    parent: Option<u32>,
) -> Result<Option<u32>, ReadError> {
    let mut above = parent;
    while let Some(number) = above {
        match snapshot.part(content, number)? {
            Some(part) if part.role != PartRole::Member => above = part.parent,
            _ => break,
        }
    }
    Ok(above)
}

/// Returns the renditions of a place, without its own bytes.
pub fn renditions(
    snapshot: &Snapshot,
    place: Place,
) -> Result<Vec<(Rendition, ContentId)>, ReadError> {
    let parts = snapshot.parts(place.content)?;
    let rows = parts.iter().map(|part| (part.role, part.parent));
    Ok(renditions_among(rows, place.member, |at| parts[at].content))
}

/// Returns the renditions by which a file or member is compared. If `parts` is false, only its own
/// bytes are considered. Returns `None` if the index has no such place.
pub fn faces_of(
    snapshot: &Snapshot,
    place: Place,
    parts: bool,
) -> Result<Option<Faces>, ReadError> {
    let Some(file) = snapshot.content(place.content)? else {
        return Ok(None);
    };
    let own = match place.member {
        None => Some(file.kind),
        Some(number) => {
            let part = snapshot.part(place.content, number)?;
            let content = part.and_then(|part| part.content);
            let row = content.map(|content| snapshot.content(content));
            row.transpose()?.flatten().map(|row| row.kind)
        }
    };
    let mut others = Vec::new();
    if parts && file.parts > 0 {
        for (rendition, content) in renditions(snapshot, place)? {
            if let Some(row) = snapshot.content(content)? {
                others.push((rendition, row.kind));
            }
        }
    }
    Ok(own.map(|own| Faces::of(own, others)))
}

/// Returns the renditions of a member, or of the file if `member` is `None`. `parts` has the role
/// and the parent of each part, and `content` returns the content of a part, if it is known.
pub fn renditions_among<T>(
    parts: impl Iterator<Item = (PartRole, Option<u32>)>,
    member: Option<u32>,
    mut content: impl FnMut(usize) -> Option<T>,
) -> Vec<(Rendition, T)> {
    // For each part, true if it is `member` itself or one of the renditions that are searched for.
    // A parent precedes its parts, so the entry of the parent is set first.
    let mut stands = Vec::new();
    let mut found = Vec::new();
    for (number, (role, parent)) in parts.enumerate() {
        let is_place = member == Some(number as u32);
        let of_place = match parent {
            None => member.is_none(),
            Some(parent) => stands.get(parent as usize) == Some(&true),
        };
        let stands_for = of_place && role != PartRole::Member;
        stands.push(is_place || stands_for);
        if stands_for
            && !is_place
            && let Some(content) = content(number)
        {
            // A file that is packed several times is compared by its innermost content.
            if role == PartRole::Unpacked {
                found.retain(|(rendition, _)| *rendition != Rendition::Unpacked);
            }
            found.push((Rendition::of(role), content));
        }
    }
    found
}

/// Returns whether an unpacked content is itself compressed. Then the file is compared by the
/// content in it.
pub fn is_packed_again(snapshot: &Snapshot, occurrence: &Occurrence) -> Result<bool, ReadError> {
    let is_unpacked = occurrence.rendition == Rendition::Unpacked;
    let Some(number) = occurrence.number.filter(|_| is_unpacked) else {
        return Ok(false);
    };
    // The content of a part is the next part.
    let next = snapshot.part(occurrence.place.content, number + 1)?;
    Ok(next.is_some_and(|next| {
        let is_its_content = next.role == PartRole::Unpacked && next.parent == Some(number);
        is_its_content && next.content.is_some()
    }))
}

/// Returns the content of the other whole of the same archive, if there is one.
pub fn other_whole(
    snapshot: &Snapshot,
    content: ContentId,
    number: u32,
) -> Result<Option<ContentId>, ReadError> {
    let Some(whole) = snapshot.part(content, number)? else {
        return Ok(None);
    };
    // The two wholes of an archive have consecutive part numbers.
    let beside = match whole.role {
        PartRole::WholeText => (number + 1, PartRole::WholeBytes),
        _ => (number.wrapping_sub(1), PartRole::WholeText),
    };
    let other = snapshot.part(content, beside.0)?;
    let other = other.filter(|other| other.role == beside.1 && other.parent == whole.parent);
    Ok(other.and_then(|other| other.content))
}

/// Returns the two wholes of a place: that of all texts, and that of all other contents.
pub fn wholes_of(snapshot: &Snapshot, place: Place) -> Result<[Option<WholeDigest>; 2], ReadError> {
    let mut wholes = [None; 2];
    for (rendition, content) in renditions(snapshot, place)? {
        if let Some(at) = rendition.which_whole() {
            let row = snapshot.content(content)?;
            wholes[at] = row.as_ref().map(WholeDigest::of);
        }
    }
    Ok(wholes)
}

/// Returns the distinct contents within a place that have no parts of their own, in the order of
/// part numbers. Returns at most `most` contents.
pub fn held_contents(
    snapshot: &Snapshot,
    place: Place,
    most: usize,
) -> Result<Vec<ContentId>, ReadError> {
    if most == 0 {
        return Ok(Vec::new());
    }
    let parts = snapshot.parts(place.content)?;
    let rows = parts.iter().map(|part| (part.role, part.parent));
    let mut held = Vec::new();
    let mut seen = HashSet::new();
    for at in held_among(rows, place.member) {
        let leaf = parts[at].content;
        held.extend(leaf.filter(|&content| held.len() < most && seen.insert(content)));
    }
    Ok(held)
}

/// Returns the numbers of the parts that are within a member and have no parts of their own. If
/// `member` is `None`, these are the parts within the file. Wholes are left out. `parts` is as for
/// [`renditions_among`].
pub fn held_among(
    parts: impl Iterator<Item = (PartRole, Option<u32>)>,
    member: Option<u32>,
) -> Vec<usize> {
    let (mut has_parts, mut lies_within) = (Vec::new(), Vec::new());
    for (role, parent) in parts {
        has_parts.push(false);
        let is_whole = Rendition::of(role).is_whole();
        let above = parent.map(|parent| parent as usize);
        let is_within = |above: usize| lies_within.get(above) == Some(&true);
        lies_within.push(!is_whole && (parent == member || above.is_some_and(is_within)));
        if let Some(above) = above.filter(|_| !is_whole) {
            has_parts[above] = true;
        }
    }
    let leaf = |&at: &usize| lies_within[at] && !has_parts[at];
    (0..lies_within.len()).filter(leaf).collect()
}

/// Returns whether `inner` is the same place as `outer`, or lies in `outer`.
pub fn lies_in(snapshot: &Snapshot, inner: Place, outer: Place) -> Result<bool, ReadError> {
    if inner.content != outer.content {
        return Ok(false);
    }
    let mut at = inner.member;
    loop {
        match at {
            _ if at == outer.member => return Ok(true),
            None => return Ok(false),
            Some(number) => {
                let part = snapshot.part(inner.content, number)?;
                at = part.and_then(|part| part.parent);
            }
        }
    }
}

/// Returns the names of the members that lead to a place, joined. They are empty for a file.
pub fn names(snapshot: &Snapshot, place: Place) -> Result<Vec<u8>, ReadError> {
    let mut names = Vec::new();
    let mut at = place.member;
    while let Some(number) = at {
        let Some(part) = snapshot.part(place.content, number)? else {
            break;
        };
        if part.role == PartRole::Member {
            names.push(part.name);
        }
        at = part.parent;
    }
    names.reverse();
    Ok(names.join(&INTO))
}

/// Returns the path of a member in a file, such as `mail.eml!report.zip!a.txt`. If `names` is
/// empty, returns the path of the file.
pub fn shown(file: &Path, names: &[u8]) -> PathBuf {
    if names.is_empty() {
        return file.to_owned();
    }
    let mut shown = file.as_os_str().as_bytes().to_vec();
    shown.push(INTO);
    shown.extend_from_slice(names);
    PathBuf::from(OsString::from_vec(shown))
}

/// A file of the index, or a member in it.
#[derive(Clone, Debug)]
pub struct Located {
    /// The path of the file.
    pub path: PathBuf,
    /// The row of the file in the index.
    pub row: FileRow,
    /// The part number and the content, if this is a member.
    pub member: Option<(u32, ContentId)>,
}

/// Finds the indexed file at a path, or the member that the path names after a `!`. A file whose
/// own name contains the `!` takes precedence.
pub fn locate(snapshot: &Snapshot, path: &Path) -> Result<Option<Located>, ReadError> {
    if let Some(row) = snapshot.file_at(path)? {
        return Ok(Some(Located {
            path: path.to_owned(),
            row,
            member: None,
        }));
    }
    for (file, names) in ways_into(path) {
        if let Some(row) = snapshot.file_at(file)? {
            let content = row.state.content();
            let member = content
                .map(|content| member(snapshot, content, names))
                .transpose()?;
            return Ok(member.flatten().map(|member| Located {
                path: file.to_owned(),
                row,
                member: Some(member),
            }));
        }
    }
    Ok(None)
}

/// Returns all ways to split a path at a `!` into the path of a file and names in it.
pub fn ways_into(path: &Path) -> impl Iterator<Item = (&Path, &[u8])> {
    let bytes = path.as_os_str().as_bytes();
    let marks = (1..bytes.len()).filter(|&at| bytes[at] == INTO);
    marks.map(|at| {
        let file = Path::new(std::ffi::OsStr::from_bytes(&bytes[..at]));
        (file, &bytes[at + 1..])
    })
}

/// Returns the first member with these names whose content is known.
fn member(
    snapshot: &Snapshot,
    content: ContentId,
    names: &[u8],
) -> Result<Option<(u32, ContentId)>, ReadError> {
    let parts = snapshot.parts(content)?;
    let rows = parts
        .iter()
        .map(|part| (part.role, part.parent, &part.name[..]));
    let found = members_at(rows, names).into_iter();
    let mut with_content =
        found.filter_map(|number| Some((number, parts[number as usize].content?)));
    Ok(with_content.next())
}

/// Returns all members with these names. There may be several members, because a name may contain a
/// `!`. `parts` has the role, the parent and the name of each part.
pub fn members_at<'p>(
    parts: impl Iterator<Item = (PartRole, Option<u32>, &'p [u8])>,
    names: &[u8],
) -> Vec<u32> {
    // For each part, the rest of `names` after the path of the part. It is `None` if `names` does
    // not begin with that path, or has nothing after it.
    let mut left: Vec<Option<&[u8]>> = Vec::new();
    let mut found = Vec::new();
    for (number, (role, parent, name)) in parts.enumerate() {
        let above = match parent {
            None => Some(names),
            Some(parent) => left.get(parent as usize).copied().flatten(),
        };
        let here = match (above, role) {
            (Some(above), PartRole::Member) => match above.strip_prefix(name) {
                Some([]) => {
                    found.push(number as u32);
                    None
                }
                Some([INTO, rest @ ..]) => Some(rest),
                _ => None,
            },
            (above, PartRole::Unpacked) => above,
            _ => None,
        };
        left.push(here);
    }
    found
}
