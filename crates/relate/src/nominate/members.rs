//! Which contents have something in common with what an archive holds: one look for all members.
//!
//! The samples of all members together are one subject. A file that is an edited version of one
//! member, or a part of it, has most of its samples among these, however much else the archive
//! holds.

use resemble_core::{ContentId, Fingerprint, Relation, Score, Signature, similarity};
use resemble_index::{PostingKind, ReadError, Snapshot};

use crate::nominate::evidence::{Counts, LOOKED_UP, hits};
use crate::scope::ScopedFiles;

/// A content that has something in common with members.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MemberNominee {
    /// Which content it is.
    pub content: ContentId,
    /// The share of its samples that members have.
    pub in_members: Score,
}

/// The contents that may be related to all these together, by content.
pub fn nominate_by_members(
    snapshot: &Snapshot,
    members: &[ContentId],
    scoped: Option<&ScopedFiles>,
) -> Result<Vec<MemberNominee>, ReadError> {
    let mut fingerprints: Vec<Fingerprint> = Vec::new();
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
    let keys: Vec<u64> = all.fingerprints.iter().map(|sample| sample.0).collect();
    let mut counts = Counts::new(snapshot.boilerplate_limit());
    let kind = PostingKind::Fingerprint;
    let files = (snapshot, scoped);
    let found = hits(files, kind, &keys, &mut counts, &mut |_, _| {})?;
    let mut nominees = Vec::new();
    for (content, common) in found {
        if common < 2 || members.contains(&content) {
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
        if could(of_it) || could(all.at_level(level).count() as u64) {
            let in_members = share(of_it);
            nominees.push(MemberNominee {
                content,
                in_members,
            });
        }
    }
    Ok(nominees)
}
