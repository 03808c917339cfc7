//! Nominates contents by the members of an archive. One look-up is made for all members together.
//!
//! The samples of all members together are treated as those of one subject. If a file is an edited
//! version or a part of one member, most of the file's samples are among these. This does not
//! depend on the other members of the archive.

use resemble_core::similarity::Unit;
use resemble_core::{
    ByteLen, ChunkList, ContentId, ContentKind, Digest, Fingerprint, Params, Relation, Score,
    Signature, similarity,
};
use resemble_index::{ContentRow, PostingKind, ReadError, Snapshot};

use crate::judge::archives::shown_of_archives;
use crate::judge::matched::Match;
use crate::judge::members::shown_of_members;
use crate::nominate::evidence::{Counts, LOOKED_UP, hits};
use crate::renditions::faces::Faces;
use crate::renditions::{MOST_MEMBERS, Place, faces_of, held_contents, renditions, wholes_of};
use crate::scope::ScopedFiles;
use resemble_core::sample::SamplesFrom;

/// A content that shares something with the members of an archive.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemberNominee {
    /// The id of the content.
    pub content: ContentId,
    /// The share of the content's samples that the members have.
    pub in_members: Score,
    /// True if the content is itself a member.
    pub is_member: bool,
}

/// The members of an archive by which contents are nominated.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeldMembers {
    /// The first members, as the index stores them, but without chunks.
    pub members: Vec<Digest>,
}

impl HeldMembers {
    /// Makes an instance with the first [`MOST_MEMBERS`] of these members.
    pub fn of<'d>(members: impl Iterator<Item = &'d Digest>, params: &Params) -> Self {
        let members = members.take(MOST_MEMBERS);
        let members = members.map(|member| Digest {
            chunks: ChunkList::default(),
            signature: match member.kind {
                ContentKind::Text => member.signature.thinned(&params.shingles),
                _ => member.signature.clone(),
            },
            besides: Vec::new(),
            ..*member
        });
        Self {
            members: members.collect(),
        }
    }

    /// Reads the members that the index has of a place.
    pub fn in_place(snapshot: &Snapshot, place: Place) -> Result<Self, ReadError> {
        let mut members = Vec::new();
        for member in held_contents(snapshot, place, MOST_MEMBERS)? {
            if let Some(row) = snapshot.content(member)? {
                members.push(sampled(snapshot, &row)?);
            }
        }
        Ok(Self { members })
    }

    /// Returns the samples of all members, thinned to one level.
    pub fn samples(&self) -> Signature {
        let samples = self.members.iter();
        let samples = samples.flat_map(|member| member.signature.fingerprints.iter().copied());
        let mut fingerprints: Vec<Fingerprint> = samples.collect();
        fingerprints.sort_unstable();
        fingerprints.dedup();
        let all = Signature {
            level: Fingerprint::BASE_LEVEL,
            fingerprints,
            repeats: None,
        };
        all.thinned(&LOOKED_UP)
    }
}

/// Returns what the index stores of a content, without its chunks and without templates.
pub fn sampled(snapshot: &Snapshot, row: &ContentRow) -> Result<Digest, ReadError> {
    let mut chunks = ChunkList::default();
    let mut signature = snapshot.signature(row.id)?;
    let templates = snapshot.templates();
    let size = templates.strip(row.size, &mut chunks, &mut signature);
    Ok(Digest {
        content: row.digest,
        size,
        kind: row.kind,
        chunks,
        signature,
        besides: Vec::new(),
        words: row.words,
    })
}

/// Estimates the match of two files by their members, without reading the files. Returns `None` if
/// neither file has members, or if nothing is known to be common.
pub fn shown_of_files(
    snapshot: &Snapshot,
    (a, b): (ContentId, ContentId),
    asked: Unit,
    least: ByteLen,
) -> Result<Option<Match>, ReadError> {
    let alone = |file: ContentId| {
        let place = Place::file(file);
        let faces = faces_of(snapshot, place, true)?.filter(|faces| !faces.holds_members());
        let Some(rendition) = faces.map(Faces::alone) else {
            return Ok(None);
        };
        let mut others = renditions(snapshot, place)?.into_iter();
        let found = others.find(|other| other.0 == rendition);
        let row = snapshot.content(found.map_or(file, |found| found.1))?;
        row.map(|row| sampled(snapshot, &row)).transpose()
    };
    let beside = |archive: ContentId, single: &Digest| {
        let place = Place::file(archive);
        let members = HeldMembers::in_place(snapshot, place)?.members.into_iter();
        let archive = (wholes_of(snapshot, place)?, members.map(Ok));
        shown_of_members(asked, archive, single, least)
    };
    match (alone(a)?, alone(b)?) {
        (None, Some(single)) => beside(a, &single),
        (Some(single), None) => Ok(beside(b, &single)?.map(Match::swapped)),
        (None, None) => {
            let side = |archive: ContentId| {
                let place = Place::file(archive);
                let members = HeldMembers::in_place(snapshot, place)?.members;
                Ok::<_, ReadError>((wholes_of(snapshot, place)?, members))
            };
            let (ours, theirs) = (side(a)?, side(b)?);
            let sides = ((ours.0, &ours.1[..]), (theirs.0, &theirs.1[..]));
            Ok(shown_of_archives(asked, sides.0, sides.1, least))
        }
        (Some(_), Some(_)) => Ok(None),
    }
}

/// Returns the members themselves, and the contents that may be related to all members together.
/// `all` has the samples of all members, at one level.
pub fn nominate_by_members(
    snapshot: &Snapshot,
    members: &[ContentId],
    all: &Signature,
    scoped: Option<&ScopedFiles>,
) -> Result<Vec<MemberNominee>, ReadError> {
    let mut of_archive = members.to_vec();
    of_archive.sort_unstable();
    let of_all = SamplesFrom::of(all.fingerprints.iter().copied());
    let keys: Vec<u64> = all.fingerprints.iter().map(|sample| sample.0).collect();
    let mut counts = Counts::new(snapshot.boilerplate_limit());
    let kind = PostingKind::Fingerprint;
    let files = (snapshot, scoped);
    let found = hits(files, kind, &keys, &mut counts, &mut |_, _| {})?;
    let equal = members.iter().map(|&content| MemberNominee {
        content,
        in_members: Score::ALL_BUT_IDENTICAL,
        is_member: true,
    });
    let mut nominees: Vec<MemberNominee> = equal.collect();
    for (content, common) in found {
        if common < 2 || of_archive.binary_search(&content).is_ok() {
            continue;
        }
        let signature = snapshot.signature(content)?;
        let level = signature.level.max(all.level);
        let samples = signature.at_level(level);
        let (mut of_it, mut shared) = (0u64, 0u64);
        for sample in samples {
            of_it += 1;
            shared += u64::from(all.fingerprints.binary_search(&sample).is_ok());
        }
        let share = |of: u64| Score::new(shared as f64 / of.max(1) as f64);
        let could = |of: u64| similarity::interval(share(of), of).1.get() >= Relation::PARTLY;
        if could(of_it) || could(of_all.level(level) as u64) {
            nominees.push(MemberNominee {
                content,
                in_members: share(of_it),
                is_member: false,
            });
        }
    }
    Ok(nominees)
}
