//! Returns the renditions of a file that was just taken apart, by the rule of the index
//! (`renditions::owners`).

use std::collections::HashSet;

use resemble_core::Digest;
use resemble_core::similarity::too_small;
use resemble_relate::renditions::{MOST_MEMBERS, Rendition, held_among, renditions_among};
use resemble_scan::parts::DigestedParts;

/// Returns the contents that represent a file, each with its rendition.
pub(super) fn stand_ins(parts: &DigestedParts) -> Vec<(Rendition, &Digest)> {
    let roles = parts.pieces.iter().map(|piece| (piece.role, piece.parent));
    let digest = |at: usize| parts.pieces[at].digest.as_deref();
    let renditions = renditions_among(roles.clone(), None).into_iter();
    let renditions = renditions.filter_map(|(rendition, at)| Some((rendition, digest(at)?)));
    let mut stand_ins: Vec<(Rendition, &Digest)> = renditions.collect();
    if stand_ins.iter().any(|(rendition, _)| rendition.is_whole()) {
        let mut seen = HashSet::new();
        let held = held_among(roles, None).into_iter().filter_map(digest);
        let held = held
            .filter(|digest| seen.insert(digest.content))
            .take(MOST_MEMBERS);
        let members = held.filter(|digest| !too_small(digest.size));
        stand_ins.extend(members.map(|digest| (Rendition::Member, digest)));
    }
    stand_ins
}
