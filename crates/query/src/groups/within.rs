//! Finds groups of members of one container: form letters in a mailbox, versions of a document in
//! an archive.
//!
//! These groups follow the rules for groups of files. They are listed among the groups of files,
//! with the paths of the members. Members are not files, so they are in no set of identical files.
//! A plan acts on files, so no step of a plan concerns a member.

use std::cmp::Reverse;
use std::convert::Infallible;

use resemble_core::cluster::{Network, Shape, Tie, UnionFind, stars};
use resemble_index::Snapshot;
use resemble_proto::message::{
    Cluster, ClusterContainer, ClusterKind, Groups, GroupsRequest, Layer, Link, Member,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_relate::AskError;
use resemble_scan::parts::PartReader;

use super::answer::{average, cut, short_id};
use super::links::{By, HalfLink};
use super::meeting::MEASURED;
use super::terms::{LinkTerms, PairFound};
use super::{About, Collection, accepts};
use resemble_relate::siblings::{SiblingPairs, SiblingTerms, Siblings};

/// Adds the groups within the containers of a question to the groups of its files.
pub(super) fn add(
    (snapshot, part_reader): (&Snapshot, Option<&dyn PartReader>),
    collection: &Collection,
    request: &GroupsRequest,
    body: &mut Groups,
) -> Result<(), AskError> {
    let terms = LinkTerms::of(request);
    let files = (snapshot, &collection.scoped);
    let of_members = SiblingTerms {
        unit: terms.unit,
        min_shared: terms.min_shared,
    };
    let mut siblings = Siblings::of(files, &collection.renditions, part_reader, of_members);
    let mut holders = siblings.holders();
    match collection.about {
        About::Everything => {}
        About::Content(place) => holders.retain(|&one| one == collection.table.id(place)),
        About::Nothing => return Ok(()),
    }
    let mut found = Vec::new();
    for holder in holders {
        let file = collection.scoped.holders(holder).next();
        let file = file.map(|file| ClusterContainer {
            path: file.path.clone(),
            size: file.size.0,
        });
        for container in siblings.within(holder)? {
            let network = MemberNetwork::of(&container, &terms, request);
            let clusters = network.clusters(snapshot)?.into_iter();
            found.extend(clusters.map(|cluster| Cluster {
                container: file.clone().map(Box::new),
                ..cluster
            }));
        }
    }
    let summary = &mut body.summary;
    for cluster in &found {
        summary.clusters += 1;
        summary.cluster_files += cluster.members.len() as u64;
        summary.cluster_bytes += cluster.bytes;
        summary.links += cluster.links.len() as u64;
    }
    body.clusters.append(&mut found);
    body.clusters.sort_by_key(|cluster| Reverse(cluster.bytes));
    cut(&mut body.clusters, request.top);
    Ok(())
}

/// The members of one container with their links.
struct MemberNetwork<'c> {
    container: &'c SiblingPairs<'c>,
    /// The links of each member, in which the member is `from`.
    links: Vec<Vec<HalfLink>>,
}

impl Network for MemberNetwork<'_> {
    type Error = Infallible;

    fn nodes(&self) -> u32 {
        self.links.len() as u32
    }

    fn size(&self, node: u32) -> u64 {
        self.container.members[node as usize].file.size.0
    }

    fn ties(&mut self, node: u32, ties: &mut Vec<Tie>) -> Result<(), Infallible> {
        ties.clear();
        ties.extend(self.links[node as usize].iter().map(HalfLink::tie));
        Ok(())
    }

    fn has_kin(&self) -> bool {
        false
    }
}

impl<'c> MemberNetwork<'c> {
    fn of(container: &'c SiblingPairs<'c>, terms: &LinkTerms, request: &GroupsRequest) -> Self {
        let mut links = vec![Vec::new(); container.members.len()];
        for pair in &container.pairs {
            let found = PairFound {
                sizes: pair.found.sizes,
                measures: pair.found.measures,
                relation: pair.found.relation,
                is_estimate: pair.found.is_estimate,
                rarity: pair.found.rarity,
                of_both: None,
            };
            let by = match pair.found.layer {
                Layer::Bytes => By::Bytes,
                Layer::Text => By::Text,
            };
            let link = terms.link_of((pair.a, pair.b), &found);
            if let Some(link) = link.filter(|link| accepts(request, link)) {
                let link = link.with_match(by);
                links[pair.a as usize].push(link);
                links[pair.b as usize].push(link.swapped());
            }
        }
        Self { container, links }
    }

    fn clusters(mut self, snapshot: &Snapshot) -> Result<Vec<Cluster>, AskError> {
        let Ok(stars) = stars(&mut self);
        let mut components = UnionFind::new(self.nodes());
        for link in self.links.iter().flatten() {
            components.union(link.from, link.to);
        }
        let components = components.into_least();
        let members = stars.members();
        let groups = members.chunk_by(|a, b| a.0 == b.0);
        let cluster = |group: &[(u32, u32)]| {
            let (center, members) = (group[0].0, group.iter().map(|&(_, member)| member));
            let component = components[center as usize];
            self.cluster(
                snapshot,
                (center, component),
                &members.collect::<Vec<u32>>(),
            )
        };
        groups.map(cluster).collect()
    }

    fn path(&self, member: u32) -> PathText {
        PathText::from(&*self.container.members[member as usize].file.path)
    }

    fn id(&self, snapshot: &Snapshot, member: u32) -> Result<String, AskError> {
        short_id(
            snapshot,
            self.container.members[member as usize].file.content,
        )
    }

    /// Builds the cluster of a group. `members` is in ascending order.
    fn cluster(
        &self,
        snapshot: &Snapshot,
        (center, component): (u32, u32),
        members: &[u32],
    ) -> Result<Cluster, AskError> {
        let is_within = |half: &&HalfLink| members.binary_search(&half.to).is_ok();
        let of_one = |member: u32| self.links[member as usize].iter().filter(is_within);
        let mut links: Vec<HalfLink> = Vec::new();
        for &member in members {
            links.extend(of_one(member).filter(|half| half.to > member));
        }
        let of_center: Vec<HalfLink> = of_one(center).copied().collect();
        let ties: Vec<Tie> = of_center.iter().map(HalfLink::tie).collect();
        let holds_others = self.container.members[center as usize].holds_others();
        let kind = match Shape::of(&ties) {
            Shape::Pair => ClusterKind::Pair,
            Shape::Versions => ClusterKind::Versions,
            Shape::Archive if holds_others => ClusterKind::Archive,
            Shape::Contains | Shape::Archive => ClusterKind::Contains,
            Shape::Family => ClusterKind::Family,
        };
        let mut rows: Vec<Member> = Vec::with_capacity(members.len());
        for &at in members {
            let member = &self.container.members[at as usize];
            let link = of_center.iter().find(|half| half.to == at);
            let shares = link.map_or((Fraction::ONE, Fraction::ONE), HalfLink::shares);
            rows.push(Member {
                path: self.path(at),
                size: member.file.size.0,
                mtime: member.file.mtime,
                document_date: None,
                a_in_b: shares.1,
                b_in_a: shares.0,
                estimate: link.is_some_and(HalfLink::is_estimate),
                interval: None,
                newest: false,
                older_than_held: false,
                copies: member.copies.len() as u64 + 1,
                id: self.id(snapshot, at)?,
                holds_others: member.holds_others(),
                owner: None,
            });
        }
        let center_path = self.path(center);
        rows.sort_by_cached_key(|member| {
            let score = member.a_in_b.max(member.b_in_a);
            let is_center = member.path == center_path;
            (
                !is_center,
                Reverse((score, member.a_in_b)),
                member.path.clone(),
            )
        });
        let worst = self.worst(&links, members);
        links.sort_by_key(|link| Reverse((link.tie().containment(), link.tie().there)));
        Ok(Cluster {
            id: self.id(snapshot, center)?,
            kind,
            center: center_path,
            average: average(&links),
            worst,
            estimate: links.iter().any(HalfLink::is_estimate),
            bytes: members.iter().map(|&member| self.size(member)).sum(),
            component: self.id(snapshot, component)?,
            container: None,
            members: rows,
            links: links.iter().map(|link| self.row(link)).collect(),
        })
    }

    /// Returns the least containment of any two members. Pairs without a link are considered only
    /// among the first [`MEASURED`] members.
    fn worst(&self, links: &[HalfLink], members: &[u32]) -> Fraction {
        let linked = |a: u32, b: u32| self.links[a as usize].iter().any(|half| half.to == b);
        let mut worst = links.iter().map(|link| link.tie().containment()).min();
        let looked_at = &members[..members.len().min(MEASURED)];
        for (at, &a) in looked_at.iter().enumerate() {
            for &b in looked_at[at + 1..].iter().filter(|&&b| !linked(a, b)) {
                let measures = self.container.measure(a, b);
                let share = measures.and_then(|measures| measures.containment());
                let share = Fraction::from(share).millionths();
                worst = share.map_or(worst, |share| worst.map(|worst| worst.min(share)));
            }
        }
        worst.map_or(Fraction::ZERO, Fraction::from_millionths)
    }

    fn row(&self, link: &HalfLink) -> Link {
        let is_swapped = self.path(link.from) > self.path(link.to);
        let link = if is_swapped { link.swapped() } else { *link };
        let (a_in_b, b_in_a) = link.shares();
        Link {
            a: self.path(link.from),
            b: self.path(link.to),
            a_in_b,
            b_in_a,
            shared_bytes: link.shared(),
            same_text: link.is_same_text(),
            estimate: link.is_estimate(),
            interval: None,
            layer: match link.matched_by() {
                By::Bytes => Layer::Bytes,
                By::Text | By::Whole(_) => Layer::Text,
            },
            discount: link.discount(),
        }
    }
}
