//! What remains of a cluster without some of its members or links: a cluster, several, or none.

use std::collections::{HashMap, HashSet};

use resemble_proto::message::{Cluster, ClusterKind, Link, Member, times_of};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

use super::{Picked, has_enough};

/// What is kept of the cluster: clusters in which every member is linked to the centre. The first
/// is the one around the old centre, if that is kept.
pub(super) fn pick(
    mut cluster: Cluster,
    picked: &Picked,
    keep: &dyn Fn(&PathText, u64) -> bool,
) -> Vec<Cluster> {
    let (members, links) = (cluster.members.len(), cluster.links.len());
    cluster
        .members
        .retain(|member| keep(&member.path, member.size));
    let stays: HashSet<&PathText> = cluster.members.iter().map(|member| &member.path).collect();
    cluster.links.retain(|link| {
        stays.contains(&link.a)
            && stays.contains(&link.b)
            && has_enough(picked, link.a_in_b, link.b_in_a, link.shared_bytes)
    });
    if (members, links) == (cluster.members.len(), cluster.links.len()) {
        return vec![cluster];
    }
    let mut parts = Vec::new();
    while cluster.members.len() > 1 && !cluster.links.is_empty() {
        let Some(center) = center(&cluster) else {
            break;
        };
        parts.push(split(&mut cluster, &center, parts.len()));
    }
    parts
}

/// The old centre if it still has a link, otherwise the member with the most links (of several
/// such, the first).
fn center(cluster: &Cluster) -> Option<PathText> {
    let mut degrees: HashMap<&PathText, usize> = HashMap::new();
    for link in &cluster.links {
        *degrees.entry(&link.a).or_default() += 1;
        *degrees.entry(&link.b).or_default() += 1;
    }
    if degrees.contains_key(&cluster.center) {
        return Some(cluster.center.clone());
    }
    let paths = cluster.members.iter().map(|member| &member.path);
    let degree = |path: &PathText| degrees.get(path).copied().unwrap_or(0);
    // `max_by_key` would take the last of equals.
    paths.rev().max_by_key(|path| degree(path)).cloned()
}

/// Takes `center` and the members that are linked to it out of `rest` and makes them a cluster.
fn split(rest: &mut Cluster, center: &PathText, part: usize) -> Cluster {
    // How much of each neighbour is in the centre, and how much of the centre is in it.
    let mut shares: HashMap<PathText, (Fraction, Fraction, bool)> = HashMap::new();
    for link in &rest.links {
        if link.b == *center {
            let of_a = (link.a_in_b, link.b_in_a, link.estimate);
            shares.insert(link.a.clone(), of_a);
        } else if link.a == *center {
            let of_b = (link.b_in_a, link.a_in_b, link.estimate);
            shares.insert(link.b.clone(), of_b);
        }
    }
    let inside = |path: &PathText| path == center || shares.contains_key(path);
    let (mut members, others): (Vec<Member>, Vec<Member>) = std::mem::take(&mut rest.members)
        .into_iter()
        .partition(|member| inside(&member.path));
    let all_links = std::mem::take(&mut rest.links);
    let (links, outside): (Vec<Link>, Vec<Link>) = all_links
        .into_iter()
        .partition(|link| inside(&link.a) && inside(&link.b));
    let left: HashSet<&PathText> = others.iter().map(|member| &member.path).collect();
    rest.links = outside
        .into_iter()
        .filter(|link| left.contains(&link.a) && left.contains(&link.b))
        .collect();
    rest.members = others;

    for member in &mut members {
        (member.a_in_b, member.b_in_a, member.estimate) = shares
            .get(&member.path)
            .copied()
            .unwrap_or((Fraction::ONE, Fraction::ONE, false));
        member.newest = false;
    }
    let kind = kind(rest.kind, &members, center);
    if kind == ClusterKind::Versions {
        let times = times_of(members.iter().map(Member::dates));
        let newest = times.iter().copied().max();
        let at = times.iter().rposition(|time| Some(*time) == newest);
        if let Some(at) = at {
            members[at].newest = true;
        }
    } else {
        // The centre goes first; the others stay in their order.
        members.sort_by_key(|member| member.path != *center);
    }
    let scores = || links.iter().map(|link| link.a_in_b.max(link.b_in_a));
    let sum: u64 = scores()
        .map(|score| u64::from(score.millionths().unwrap_or(0)))
        .sum();
    let average = (sum / (links.len() as u64).max(1)) as u32;
    Cluster {
        id: match part {
            0 => rest.id.clone(),
            part => format!("{}.{part}", rest.id),
        },
        kind,
        center: center.clone(),
        average: Fraction::from_millionths(average),
        worst: worst(&members, &links, rest.worst),
        estimate: rest.estimate,
        bytes: members.iter().map(|member| member.size).sum(),
        component: rest.component.clone(),
        members,
        links,
    }
}

/// The least score of any two members. It is known if all pairs have links; otherwise the old one
/// is kept.
fn worst(members: &[Member], links: &[Link], before: Fraction) -> Fraction {
    let pairs = members.len() * (members.len() - 1) / 2;
    if links.len() < pairs {
        return before;
    }
    let scores = links.iter().map(|link| link.a_in_b.max(link.b_in_a));
    scores.min().unwrap_or(before)
}

/// The kind of what is left. Two files are versions, a pair, or one in the other; a larger cluster
/// stays what it was.
fn kind(before: ClusterKind, members: &[Member], center: &PathText) -> ClusterKind {
    let other = members.iter().find(|member| member.path != *center);
    match (members.len(), other) {
        (2, Some(other)) => {
            let near = Fraction::from_millionths(700_000);
            match (other.a_in_b >= near, other.b_in_a >= near) {
                (true, true) => ClusterKind::Versions,
                (false, false) => ClusterKind::Pair,
                _ => ClusterKind::Contains,
            }
        }
        _ => before,
    }
}
