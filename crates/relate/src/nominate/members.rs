//! Which contents have something in common with what an archive holds: one look for all members.
//!
//! The samples of all members together are one subject. A file that is an edited version of one
//! member, or a part of it, has most of its samples among these, however much else the archive
//! holds.

use resemble_core::{ContentId, Fingerprint, Relation, Score, Signature, similarity};
use resemble_index::{PostingKind, ReadError, Snapshot};

use crate::nominate::evidence::{Counts, LOOKED_UP, hits};
use crate::nominate::levels::SamplesFrom;
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

/// The members, and the contents that may be related to all of them together.
pub fn nominate_by_members(
    snapshot: &Snapshot,
    members: &[ContentId],
    scoped: Option<&ScopedFiles>,
) -> Result<Vec<MemberNominee>, ReadError> {
    let mut fingerprints: Vec<Fingerprint> = Vec::new();
    let mut of_archive = members.to_vec();
    of_archive.sort_unstable();
    for &member in members {
        fingerprints.extend(snapshot.signature(member)?.fingerprints);
    }
    fingerprints.sort_unstable();
    fingerprints.dedup();
    let all = Signature {
        level: Fingerprint::BASE_LEVEL,
        fingerprints,
        repeats: None,
    };
    let all = all.thinned(&LOOKED_UP);
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
