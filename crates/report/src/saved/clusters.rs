//! Reduces a cluster to some of its members or links. The result may be one cluster, several
//! clusters, or none.
//!
//! The rest of a cluster is divided as in an answer, by those links that the report has. `worst` is
//! computed from these links if every pair has a link; otherwise the old value is kept. `component`
//! is not changed.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::convert::Infallible;

use resemble_core::cluster::{Network, Shape, Tie, stars};
use resemble_proto::clock::newest_of;
use resemble_proto::message::{
    Cluster, ClusterKind, EstimateInterval, IdenticalSet, Link, Member, times_of,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;

use super::{Picked, has_enough};

/// A function that returns whether a file with this name and size is kept.
pub(super) type KeepFile<'k> = dyn Fn(&PathText, u64) -> bool + 'k;

/// Names each member by its first copy that is kept, as in an answer about only the kept files. The
/// copies are known if the report has the set of identical files. Returns whether the name of any
/// member has changed.
fn name_by_kept_copies(cluster: &mut Cluster, sets: &[IdenticalSet], keep: &KeepFile<'_>) -> bool {
    let mut has_others = false;
    for member in cluster
        .members
        .iter_mut()
        .filter(|member| member.copies > 1)
    {
        let Some(set) = sets.iter().find(|set| set.paths.contains(&member.path)) else {
            continue;
        };
        let mut kept = (0..set.paths.len()).filter(|&at| keep(&set.paths[at], set.size));
        let Some(first) = kept.next() else {
            continue;
        };
        member.copies = kept.count() as u64 + 1;
        let path = set.paths[first].clone();
        if path == member.path {
            continue;
        }
        has_others = true;
        member.mtime = set.mtimes.get(first).copied().unwrap_or(member.mtime);
        member.owner = set.owners.get(first).cloned().unwrap_or_default();
        let before = std::mem::replace(&mut member.path, path.clone());
        let ends = cluster
            .links
            .iter_mut()
            .flat_map(|link| [&mut link.a, &mut link.b]);
        for name in ends
            .chain([&mut cluster.center])
            .filter(|name| **name == before)
        {
            name.clone_from(&path);
        }
    }
    for link in cluster.links.iter_mut().filter(|link| link.a > link.b) {
        std::mem::swap(&mut link.a, &mut link.b);
        std::mem::swap(&mut link.a_in_b, &mut link.b_in_a);
        link.interval = link.interval.map(EstimateInterval::swapped);
    }
    has_others
}

/// Returns the kept part of a cluster as clusters, possibly none. In each of them, every member is
/// linked to the centre. `sets` are all sets of identical files of the report.
pub(super) fn pick(
    mut cluster: Cluster,
    picked: &Picked,
    (sets, keep): (&[IdenticalSet], &KeepFile<'_>),
) -> Vec<Cluster> {
    let (members, links) = (cluster.members.len(), cluster.links.len());
    let mut is_same = true;
    if let Some(container) = &cluster.container {
        // All members lie in one container file, so they are kept or dropped together.
        if !keep(&container.path, container.size) {
            return Vec::new();
        }
    } else {
        is_same = !name_by_kept_copies(&mut cluster, sets, keep);
        let keep = |member: &Member| keep(&member.path, member.size);
        cluster.members.retain(keep);
    }
    let stays: HashSet<&PathText> = cluster.members.iter().map(|member| &member.path).collect();
    cluster.links.retain(|link| {
        let shared = (!link.same_text).then_some(link.shared_bytes);
        stays.contains(&link.a)
            && stays.contains(&link.b)
            && has_enough(picked, link.a_in_b, link.b_in_a, shared)
    });
    if is_same && (members, links) == (cluster.members.len(), cluster.links.len()) {
        return vec![cluster];
    }
    // Members are numbered in the order of their digests, as in an answer.
    cluster
        .members
        .sort_by(|a, b| (&a.id, &a.path).cmp(&(&b.id, &b.path)));
    let mut rest = RemainingLinks::of(&cluster);
    let Ok(found) = stars(&mut rest);
    let members = found.members();
    let groups = members.chunk_by(|a, b| a.0 == b.0);
    let clusters = groups.enumerate().map(|(part, group)| {
        let nodes: Vec<u32> = group.iter().map(|&(_, member)| member).collect();
        group_of(&cluster, &rest, (group[0].0, &nodes), part)
    });
    clusters.collect()
}

/// The links that remain between the members of a cluster.
struct RemainingLinks {
    sizes: Vec<u64>,
    ties: Vec<Vec<Tie>>,
}

impl RemainingLinks {
    fn of(cluster: &Cluster) -> Self {
        let places = (0u32..).zip(&cluster.members);
        let places: HashMap<&PathText, u32> = places
            .map(|(place, member)| (&member.path, place))
            .collect();
        let mut ties = vec![Vec::new(); cluster.members.len()];
        for link in &cluster.links {
            let (Some(&a), Some(&b)) = (places.get(&link.a), places.get(&link.b)) else {
                continue;
            };
            let raw = link.a_in_b.max(link.b_in_a);
            let left = link.discount.discounted;
            let score = if left.is_none() { raw } else { left };
            let tie = Tie {
                to: b,
                there: link.a_in_b.millionths(),
                back: link.b_in_a.millionths(),
                score: score.millionths().unwrap_or(0),
                shared: link.shared_bytes,
                is_of_kin: false,
            };
            ties[a as usize].push(tie);
            ties[b as usize].push(tie.swapped(a));
        }
        for of_one in &mut ties {
            of_one.sort_by_key(|tie| tie.to);
        }
        Self {
            sizes: cluster.members.iter().map(|member| member.size).collect(),
            ties,
        }
    }
}

impl Network for RemainingLinks {
    type Error = Infallible;

    fn nodes(&self) -> u32 {
        self.sizes.len() as u32
    }

    fn size(&self, node: u32) -> u64 {
        self.sizes[node as usize]
    }

    fn ties(&mut self, node: u32, ties: &mut Vec<Tie>) -> Result<(), Infallible> {
        ties.clone_from(&self.ties[node as usize]);
        Ok(())
    }

    fn has_kin(&self) -> bool {
        false
    }
}

/// Makes a cluster of some remaining members. `center` and `nodes` are their indexes in the cluster
/// `before`.
fn group_of(
    before: &Cluster,
    rest: &RemainingLinks,
    (center, nodes): (u32, &[u32]),
    part: usize,
) -> Cluster {
    let of_center: HashMap<u32, &Tie> = rest.ties[center as usize]
        .iter()
        .filter(|tie| nodes.binary_search(&tie.to).is_ok())
        .map(|tie| (tie.to, tie))
        .collect();
    let mut members: Vec<Member> = Vec::with_capacity(nodes.len());
    let center_path = &before.members[center as usize].path;
    for &node in nodes {
        let mut member = before.members[node as usize].clone();
        let link = before.links.iter().find(|link| {
            let ends = [&link.a, &link.b];
            ends.contains(&center_path) && ends.contains(&&member.path)
        });
        let link = link.filter(|_| node != center);
        let seen = link.map(|link| {
            if link.a == *center_path {
                (
                    link.b_in_a,
                    link.a_in_b,
                    link.interval.map(EstimateInterval::swapped),
                )
            } else {
                (link.a_in_b, link.b_in_a, link.interval)
            }
        });
        (member.a_in_b, member.b_in_a, member.interval) =
            seen.unwrap_or((Fraction::ONE, Fraction::ONE, None));
        member.estimate = link.is_some_and(|link| link.estimate);
        (member.newest, member.older_than_held) = (false, false);
        members.push(member);
    }
    let ties: Vec<Tie> = nodes
        .iter()
        .filter_map(|node| of_center.get(node).copied().copied())
        .collect();
    let of_center = &before.members[center as usize];
    let holders = members.iter().filter(|member| member.holds_others).count();
    let is_mixed = before.container.is_none() && holders > 0 && holders < members.len();
    let kind = kind(&ties, is_mixed, of_center.holds_others);
    members.sort_by_cached_key(|member| {
        let score = member.a_in_b.max(member.b_in_a);
        let is_center = member.path == *center_path;
        (
            !is_center,
            Reverse((score, member.a_in_b)),
            member.path.clone(),
        )
    });
    // All members of a container have the time of the container, so none of them is the newest.
    if kind == ClusterKind::Versions && before.container.is_none() {
        mark_newest(&mut members);
    }
    let inside: HashSet<&PathText> = members.iter().map(|member| &member.path).collect();
    let links = before.links.iter();
    let links = links.filter(|link| inside.contains(&link.a) && inside.contains(&link.b));
    let links: Vec<Link> = links.cloned().collect();
    let sum: u64 = links
        .iter()
        .map(|link| u64::from(score(link).millionths().unwrap_or(0)))
        .sum();
    let average = (sum / (links.len() as u64).max(1)) as u32;
    let id = match part {
        _ if !of_center.id.is_empty() => of_center.id.clone(),
        0 => before.id.clone(),
        // In reports of an older program, members have no id. So the id is that of the cluster,
        // with a number.
        part => format!("{}.{part}", before.id),
    };
    Cluster {
        id,
        kind,
        center: center_path.clone(),
        average: Fraction::from_millionths(average),
        worst: worst(&members, &links, before.worst),
        estimate: links.iter().any(|link| link.estimate),
        bytes: members.iter().map(|member| member.size).sum(),
        component: before.component.clone(),
        container: before.container.clone(),
        members,
        links,
    }
    .with_contradictions()
}

fn score(link: &Link) -> Fraction {
    link.a_in_b.max(link.b_in_a)
}

/// Sorts versions by their times, and marks the newest version if no other version has the same
/// time.
fn mark_newest(members: &mut Vec<Member>) {
    let times = times_of(members.iter().map(Member::dates));
    if let Some(at) = newest_of(&times) {
        members[at].newest = true;
    }
    let mut dated: Vec<(i64, Member)> = times.into_iter().zip(members.drain(..)).collect();
    dated.sort_by_key(|&(time, _)| time);
    members.extend(dated.into_iter().map(|(_, member)| member));
}

/// Returns the least score of any two members. If not all pairs have links, that score is not
/// known, and the old value is kept.
fn worst(members: &[Member], links: &[Link], before: Fraction) -> Fraction {
    let pairs = members.len() * (members.len() - 1) / 2;
    if links.len() < pairs {
        return before;
    }
    links.iter().map(score).min().unwrap_or(before)
}

/// Returns the kind of a cluster, as in an answer. It depends on the links of the centre.
fn kind(ties: &[Tie], is_mixed: bool, is_holder: bool) -> ClusterKind {
    match Shape::of(ties) {
        Shape::Pair => ClusterKind::Pair,
        Shape::Versions if is_mixed && is_holder => ClusterKind::Archive,
        Shape::Versions if is_mixed => ClusterKind::Family,
        Shape::Versions => ClusterKind::Versions,
        Shape::Archive if is_holder => ClusterKind::Archive,
        Shape::Contains | Shape::Archive => ClusterKind::Contains,
        Shape::Family => ClusterKind::Family,
    }
}
