//! Which contents have something in common with what an archive holds: one look for all members.
//!
//! The samples of all members together are one subject. A file that is an edited version of one
//! member, or a part of it, has most of its samples among these, however much else the archive
//! holds.

use resemble_core::{
    ContentDigest, ContentId, ContentKind, Digest, Fingerprint, Params, Relation, Score, Signature,
    similarity,
};
use resemble_index::{PostingKind, ReadError, Snapshot};

use crate::nominate::evidence::{Counts, LOOKED_UP, hits};
use crate::nominate::levels::SamplesFrom;
use crate::renditions::{MOST_MEMBERS, Place, held_contents};
use crate::scope::ScopedFiles;

/// A content that has something in common with members.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemberNominee {
    /// Which content it is.
    pub content: ContentId,
    /// The share of its samples that members have.
    pub in_members: Score,
    /// It is one of them.
    pub is_member: bool,
}

/// What an archive holds, as others are nominated by it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeldMembers {
    /// The members.
    pub contents: Vec<ContentDigest>,
    /// The samples of all of them, at one level.
    pub samples: Signature,
}

impl HeldMembers {
    /// Of members that were digested now. Their samples are those that an index keeps of them.
    pub fn of<'d>(members: impl Iterator<Item = &'d Digest>, params: &Params) -> Self {
        let (mut contents, mut samples) = (Vec::new(), Vec::new());
        for member in members.take(MOST_MEMBERS) {
            contents.push(member.content);
            samples.extend(match member.kind {
                ContentKind::Text => member.signature.thinned(&params.shingles).fingerprints,
                _ => member.signature.fingerprints.clone(),
            });
        }
        let samples = together(samples);
        Self { contents, samples }
    }

    /// Of a place of the index, for another one.
    pub fn in_place(snapshot: &Snapshot, place: Place) -> Result<Self, ReadError> {
        let (members, samples) = members_in(snapshot, place)?;
        let mut contents = Vec::new();
        for member in members {
            contents.extend(snapshot.content(member)?.map(|row| row.digest));
        }
        Ok(Self { contents, samples })
    }
}

fn together(mut fingerprints: Vec<Fingerprint>) -> Signature {
    fingerprints.sort_unstable();
    fingerprints.dedup();
    let all = Signature {
        level: Fingerprint::BASE_LEVEL,
        fingerprints,
        repeats: None,
    };
    all.thinned(&LOOKED_UP)
}

/// The members that lie in a place of the index, and their samples.
pub fn members_in(
    snapshot: &Snapshot,
    place: Place,
) -> Result<(Vec<ContentId>, Signature), ReadError> {
    let members = held_contents(snapshot, place, MOST_MEMBERS)?;
    let mut samples = Vec::new();
    for &member in &members {
        samples.extend(snapshot.signature(member)?.fingerprints);
    }
    Ok((members, together(samples)))
}

/// The members that the index has, and the contents that may be related to all of them together.
/// `all`: the samples of the members, at one level.
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
