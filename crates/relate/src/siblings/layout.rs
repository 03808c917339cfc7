//! Finds the direct members of the containers in a file, and the contents by which members are
//! compared.

use std::collections::{BTreeMap, HashMap};

use resemble_core::{ContentDigest, ContentId};
use resemble_index::{ContentRow, PartRole, ReadError, Snapshot};

use crate::renditions::faces::Faces;
use crate::renditions::{Rendition, WholeDigest};

/// A member of a container.
#[derive(Debug)]
pub(super) struct MemberLayout {
    /// The number of the member among the parts of the file.
    pub(super) number: u32,
    pub(super) own: ContentRow,
    pub(super) side: MemberSide,
    /// The contents of the member that are taken apart no further. A member that is a single file
    /// has one such content: that by which it is compared.
    pub(super) leaves: Vec<ContentRow>,
}

/// The content or contents by which a member is compared.
#[derive(Clone, Copy, Debug)]
pub(super) enum MemberSide {
    /// One content, in this rendition.
    Alone(Rendition, Faces),
    /// All contents of the member, given by its two wholes.
    Held([Option<WholeDigest>; 2]),
}

/// Returns the members of each container that has several members. The file itself is one of the
/// containers.
pub(super) fn containers_in(
    snapshot: &Snapshot,
    file: ContentId,
) -> Result<Vec<Vec<MemberLayout>>, ReadError> {
    let parts = snapshot.parts(file)?;
    // For each part, the nearest member that contains it.
    let mut above: Vec<Option<u32>> = Vec::with_capacity(parts.len());
    let mut has_parts = vec![false; parts.len()];
    for part in &parts {
        let parent = part.parent.map(|parent| parent as usize);
        let is_whole = matches!(part.role, PartRole::WholeText | PartRole::WholeBytes);
        if let Some(has) = parent
            .filter(|_| !is_whole)
            .and_then(|at| has_parts.get_mut(at))
        {
            *has = true;
        }
        above.push(match parent.zip(part.parent) {
            Some((at, number)) if parts[at].role == PartRole::Member => Some(number),
            Some((at, _)) => above.get(at).copied().flatten(),
            None => None,
        });
    }
    let mut children: BTreeMap<Option<u32>, Vec<u32>> = BTreeMap::new();
    let mut stand_ins: HashMap<u32, Vec<(Rendition, ContentRow)>> = HashMap::new();
    let mut leaves: HashMap<u32, Vec<ContentRow>> = HashMap::new();
    let mut own: HashMap<u32, ContentRow> = HashMap::new();
    for (number, (at, part)) in (0u32..).zip(parts.iter().enumerate()) {
        let row = part.content.map(|content| snapshot.content(content));
        let Some(row) = row.transpose()?.flatten() else {
            continue;
        };
        let rendition = Rendition::of(part.role);
        let mut within = above[at];
        if part.role == PartRole::Member {
            children.entry(within).or_default().push(number);
            own.insert(number, row);
            within = Some(number);
        } else if let Some(member) = within {
            stand_ins.entry(member).or_default().push((rendition, row));
        }
        while let Some(member) = within.filter(|_| !has_parts[at] && !rendition.is_whole()) {
            leaves.entry(member).or_default().push(row);
            within = above[member as usize];
        }
    }
    let mut containers = Vec::new();
    for members in children.into_values().filter(|members| members.len() > 1) {
        let member = |number: u32| {
            let own = own.remove(&number)?;
            let stand_ins = stand_ins.remove(&number).unwrap_or_default();
            let leaves = leaves.remove(&number).unwrap_or_default();
            member(number, own, &stand_ins, leaves)
        };
        containers.push(members.into_iter().filter_map(member).collect());
    }
    Ok(containers)
}

/// Returns the layout of a member. Returns `None` if the member has nothing that can be compared.
fn member(
    number: u32,
    own: ContentRow,
    stand_ins: &[(Rendition, ContentRow)],
    mut leaves: Vec<ContentRow>,
) -> Option<MemberLayout> {
    let kinds = stand_ins
        .iter()
        .map(|(rendition, row)| (*rendition, row.kind));
    let faces = Faces::of(own.kind, kinds);
    let side = if faces.holds_members() {
        let mut wholes = [None; 2];
        for (rendition, row) in stand_ins {
            if let Some(at) = rendition.which_whole() {
                wholes[at] = Some(WholeDigest::of(row));
            }
        }
        MemberSide::Held(wholes)
    } else {
        let alone = faces.alone();
        let stand_in = stand_ins.iter().find(|(rendition, _)| *rendition == alone);
        let row = stand_in.map_or(own, |(_, row)| *row);
        // Contents that are taken apart further are not in memory while the container is read. So a
        // member can be compared only if the content for its comparison is a leaf.
        leaves.retain(|leaf| leaf.id == row.id);
        leaves.truncate(1);
        MemberSide::Alone(alone, faces)
    };
    (!leaves.is_empty()).then_some(MemberLayout {
        number,
        own,
        side,
        leaves,
    })
}

impl MemberLayout {
    /// Returns whether the member can be compared with another member. Both must be compared by
    /// contents that are in memory while the container is read.
    pub(super) fn meets(&self, other: &Self) -> bool {
        match (self.side, other.side) {
            (MemberSide::Alone(one, faces), MemberSide::Alone(another, others)) => {
                faces.meeting(others) == (one, another)
            }
            _ => true,
        }
    }

    /// Returns the digests of all contents by which the member is compared.
    pub(super) fn digests(&self) -> impl Iterator<Item = ContentDigest> {
        self.leaves.iter().map(|leaf| leaf.digest)
    }
}
