//! What stands for a file, and where a content stands.
//!
//! A file is compared by several contents, its **renditions**: its own bytes; the text of a
//! document; the one thing that a compressed file holds, and what stands for that; and of an
//! archive or a mail all that it holds, as a whole. So has each member of an archive. A file and
//! the members in it are **places**: a content of a file, and one of the parts of that or none.
//! Whatever archive lies in another, all its parts are in one list under the file's content, so the
//! way from a part to its place is a walk up one list.
//!
//! Wholes nominate wholes only. A question about one file says what that has in common with an
//! archive that holds it by the row of the member. Questions about all pairs of files have rows of
//! archives alone; there a member nominates its archive for a single file (`held_among`).

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

/// What separates the names on the way to a member, and a file from the members in it.
pub const INTO: u8 = b'!';

/// What a content is to the file or archive member that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Rendition {
    /// Its own bytes.
    Own,
    /// The only thing in it.
    Unpacked,
    /// The text that a reader took out of it.
    Text,
    /// All texts in it.
    WholeText,
    /// All else in it.
    WholeBytes,
    /// One of the contents in it. It nominates the pair of the archive and a single file, which
    /// are compared by all that they hold.
    Member,
}

/// So many contents in an archive nominate it, the first ones.
pub const MOST_MEMBERS: usize = 1000;

impl Rendition {
    /// What a part in this role is to what it was found in.
    pub const fn of(role: PartRole) -> Self {
        match role {
            PartRole::Member => Self::Own,
            PartRole::Unpacked => Self::Unpacked,
            PartRole::Text => Self::Text,
            PartRole::WholeText => Self::WholeText,
            PartRole::WholeBytes => Self::WholeBytes,
        }
    }

    /// As it is stored.
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

    /// What was stored as this number.
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

    /// Whether it is one of the two wholes of an archive.
    pub const fn is_whole(self) -> bool {
        matches!(self, Self::WholeText | Self::WholeBytes)
    }

    /// Which of the two wholes it is: 0 of texts, 1 of all else.
    pub const fn which_whole(self) -> Option<usize> {
        match self {
            Self::WholeText => Some(0),
            Self::WholeBytes => Some(1),
            Self::Own | Self::Unpacked | Self::Text | Self::Member => None,
        }
    }

    /// Whether it is a text that a reader made.
    pub const fn is_text(self) -> bool {
        matches!(self, Self::Text | Self::WholeText)
    }

    /// Whether this rendition of one file is compared with that of another.
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
    /// The word for it in messages; `None` for its own bytes, which need no word, and for what
    /// lies in it, which stands for itself.
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

/// The layer that the figures of such a pair belong to.
pub fn layer(a: Rendition, b: Rendition) -> Layer {
    if (a, b) == (Rendition::Own, Rendition::Own) {
        Layer::Bytes
    } else {
        Layer::Text
    }
}

/// All texts that an archive holds as one content, or all else in it.
#[derive(Clone, Copy, Debug)]
pub struct WholeDigest {
    /// The digest of all of it.
    pub digest: ContentDigest,
    /// Its bytes.
    pub size: ByteLen,
}

impl WholeDigest {
    /// A content of the index.
    pub const fn of(row: &ContentRow) -> Self {
        Self {
            digest: row.digest,
            size: row.size,
        }
    }
}

/// What decides whether two contents are equal, and whether they are the same text.
#[derive(Clone, Copy, Debug)]
pub struct Named {
    /// Equal: the same bytes.
    pub content: ContentDigest,
    /// Equal: the same words in the same order.
    pub words: Option<WordsDigest>,
}

impl Named {
    /// A content that was read.
    pub const fn of(digest: &Digest) -> Self {
        Self {
            content: digest.content,
            words: digest.words,
        }
    }

    /// A content of the index.
    pub const fn row(row: &ContentRow) -> Self {
        Self {
            content: row.digest,
            words: row.words,
        }
    }
}

/// Whether two contents that stand for two files say that these have the same text.
///
/// Equal bytes are equal however few they are, packed or not. A few words that a reader made of
/// something are not enough: of pictures and empty forms it makes the same few.
pub(crate) fn same_text(a: (Rendition, Named), b: (Rendition, Named), size: ByteLen) -> bool {
    if a.1.content == b.1.content {
        is_same_text(a.0, b.0, size)
    } else {
        same_words(a.1.words, b.1.words)
    }
}

/// Whether two contents are equal but for markup, capitals and blanks.
pub fn same_words(a: Option<WordsDigest>, b: Option<WordsDigest>) -> bool {
    a.is_some() && a == b
}

/// `same_text` of one and the same content.
pub fn is_same_text(a: Rendition, b: Rendition, size: ByteLen) -> bool {
    let exact = |rendition| matches!(rendition, Rendition::Own | Rendition::Unpacked);
    (exact(a) && exact(b)) || !too_small(size)
}

/// A file, named by its content, or an archive member in it, named by its number among the parts of
/// that content.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Place {
    /// The content of the file.
    pub content: ContentId,
    /// The member; `None`: the file itself.
    pub member: Option<u32>,
}

impl Place {
    /// A file.
    pub const fn file(content: ContentId) -> Self {
        Self {
            content,
            member: None,
        }
    }
}

/// A place that has a content as a rendition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Occurrence {
    /// The place.
    pub place: Place,
    /// What the content is to it.
    pub rendition: Rendition,
    /// Its number among the parts, if it is one.
    pub number: Option<u32>,
}

/// All places that have a content as a rendition, files first. Without `parts` only files.
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

/// The archive member that a part found in `parent` is a rendition of; `None` for the file itself.
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

/// The renditions of a place besides its own bytes.
pub fn renditions(
    snapshot: &Snapshot,
    place: Place,
) -> Result<Vec<(Rendition, ContentId)>, ReadError> {
    let parts = snapshot.parts(place.content)?;
    let rows = parts.iter().map(|part| (part.role, part.parent));
    let occurrence = renditions_among(rows, place.member);
    let contents = occurrence.into_iter();
    Ok(contents
        .filter_map(|(rendition, number)| Some((rendition, parts[number].content?)))
        .collect())
}

/// What a file or member is compared by; without `parts` its own bytes alone. `None`: the index
/// knows no such place.
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

/// Which parts are renditions of a member, or of the file: what they are to it, and their numbers.
/// `parts` are the roles of all parts, each with the part that it was found in.
pub fn renditions_among(
    parts: impl Iterator<Item = (PartRole, Option<u32>)>,
    member: Option<u32>,
) -> Vec<(Rendition, usize)> {
    // Whether each part is the place itself or a rendition of it. A part comes after the one that
    // it was found in.
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
        if stands_for && !is_place {
            found.push((Rendition::of(role), number));
        }
    }
    found
}

/// The other whole of the same archive.
pub fn other_whole(
    snapshot: &Snapshot,
    content: ContentId,
    number: u32,
) -> Result<Option<ContentId>, ReadError> {
    let Some(whole) = snapshot.part(content, number)? else {
        return Ok(None);
    };
    // The two wholes have consecutive numbers.
    let beside = match whole.role {
        PartRole::WholeText => (number + 1, PartRole::WholeBytes),
        _ => (number.wrapping_sub(1), PartRole::WholeText),
    };
    let other = snapshot.part(content, beside.0)?;
    let other = other.filter(|other| other.role == beside.1 && other.parent == whole.parent);
    Ok(other.and_then(|other| other.content))
}

/// The two wholes of a place: of texts, of all else.
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

/// The distinct contents that lie in a place and are taken apart no further, at most so many of
/// them, in the order of the parts.
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

/// Which parts lie in a member, or in the file, and are taken apart no further. `parts` as for
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

/// Whether one place lies in the other, or is it.
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

/// The names of the members on the way to a place, joined; empty for a file.
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

/// The path of a member in a file, such as `mail.eml!report.zip!a.txt`. Without names it is the
/// path of the file.
pub fn shown(file: &Path, names: &[u8]) -> PathBuf {
    if names.is_empty() {
        return file.to_owned();
    }
    let mut shown = file.as_os_str().as_bytes().to_vec();
    shown.push(INTO);
    shown.extend_from_slice(names);
    PathBuf::from(OsString::from_vec(shown))
}

/// A file of the index, and a member in it.
#[derive(Clone, Debug)]
pub struct Located {
    /// Where the file stands.
    pub path: PathBuf,
    /// What the index knows of it.
    pub row: FileRow,
    /// The member: its place among the parts, and its content.
    pub member: Option<(u32, ContentId)>,
}

/// The indexed file at a path, or the member that the path names after a `!`. If the index has a
/// file whose own name contains the `!`, it is that file.
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

/// Where a path could leave the file system: the file, and the names in it.
pub fn ways_into(path: &Path) -> impl Iterator<Item = (&Path, &[u8])> {
    let bytes = path.as_os_str().as_bytes();
    let marks = (1..bytes.len()).filter(|&at| bytes[at] == INTO);
    marks.map(|at| {
        let file = Path::new(std::ffi::OsStr::from_bytes(&bytes[..at]));
        (file, &bytes[at + 1..])
    })
}

/// The first member of a content that these names lead to.
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

/// The members that these names lead to: an archive may have several of one name. Of each part its
/// role, what it was found in and its name.
pub fn members_at<'p>(
    parts: impl Iterator<Item = (PartRole, Option<u32>, &'p [u8])>,
    names: &[u8],
) -> Vec<u32> {
    // What is left of the names below each part; `None` if they do not lead there.
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
