//! The family of a file: all versions that links lead to, in order.
//!
//! In a group, every member is linked with the centre. A family is a chain of links. A text that
//! was edited for years shares nothing with its first version. But each version shares text with
//! the one before. A request for all versions asks for this chain.
//!
//! Members are sorted by time. Each member except the first has one link: the link by which the
//! maximum spanning tree reaches it. File times only suggest which version is newest, because
//! copying may lose them. If all versions state a date in their content, that date is used.
//!
//! A part of a file is no version of it. Otherwise, through a book, an archive or a mail, one
//! family could include a third of a home directory. So no step leads from a part to its whole or
//! back, or between a file and a container.

use std::collections::{HashMap, HashSet};

use resemble_core::Relation;
use resemble_core::cluster::{Network, Tie, chains, spanning_forest};
use resemble_proto::message::{Cluster, ClusterKind, Groups, times_of};
use resemble_relate::AskError;

use super::Collection;
use super::answer;
use super::links::{HalfLink, LinkSimilarity};
use super::meeting::{MEASURED, MeetingShares, Shown};

/// The minimum that each of two versions must contain of the other. Two files that only share a
/// part of a third file have less in common.
const PARTLY: u32 = (Relation::PARTLY * 1e6) as u32;

/// The links that may be steps from one version to another.
struct Steps<'a> {
    links: LinkSimilarity<'a>,
    collection: &'a Collection,
    /// True if the file in question is a container.
    of_holders: bool,
}

impl Network for Steps<'_> {
    type Error = AskError;

    fn nodes(&self) -> u32 {
        self.links.nodes()
    }

    fn size(&self, node: u32) -> u64 {
        self.links.size(node)
    }

    fn ties(&mut self, node: u32, ties: &mut Vec<Tie>) -> Result<(), AskError> {
        self.links.ties(node, ties)?;
        ties.retain(|tie| {
            let is_part = tie.containment() >= Tie::MOSTLY || tie.lesser() < PARTLY;
            (tie.is_near() || !is_part) && self.collection.holds_others(tie.to) == self.of_holders
        });
        Ok(())
    }

    fn has_kin(&self) -> bool {
        self.links.has_kin()
    }
}

impl Steps<'_> {
    /// Returns a content and all contents that steps from it reach, in ascending order.
    fn reached(&mut self, of: u32) -> Result<Vec<u32>, AskError> {
        let (mut seen, mut next, mut ties) = (HashSet::from([of]), vec![of], Vec::new());
        while let Some(node) = next.pop() {
            self.ties(node, &mut ties)?;
            next.extend(ties.iter().map(|tie| tie.to).filter(|&to| seen.insert(to)));
        }
        let mut reached: Vec<u32> = seen.into_iter().collect();
        reached.sort_unstable();
        Ok(reached)
    }
}

/// Returns the family of a content as the only cluster. Returns no cluster if nothing is similar to
/// the content.
pub(super) fn family(shown: &Shown<'_>, of: u32) -> Result<Groups, AskError> {
    let (snapshot, collection) = (shown.snapshot, shown.collection);
    let table = &collection.table;
    let least = collection.links.components[of as usize];
    let mut network = Steps {
        links: collection.network(),
        collection,
        of_holders: collection.holds_others(of),
    };
    let nodes = network.reached(of)?;
    let mut groups = Groups {
        summary: answer::totals(collection),
        ..Groups::default()
    };
    if nodes.len() < 2 {
        return Ok(groups);
    }
    let stated = nodes.iter();
    let stated = stated.map(|&node| answer::stated(snapshot, collection, node));
    let stated = stated.collect::<Result<Vec<_>, _>>()?;
    let dates = nodes.iter().zip(&stated);
    let dates = dates.map(|(&node, stated)| (answer::mtime(collection, node), stated.as_ref()));
    let times = times_of(dates);
    let times: HashMap<u32, i64> = nodes.iter().copied().zip(times).collect();
    let forest = spanning_forest(&mut network, &nodes)?;
    let time = |node: u32| times.get(&node).copied().unwrap_or(0);
    let steps: Vec<_> = chains(&nodes, &forest, &time)
        .into_iter()
        .flat_map(|chain| chain.steps)
        .collect();

    let center = shown.kept_of(of)?;
    let mut members = Vec::with_capacity(steps.len());
    let mut links = Vec::new();
    let mut halves = Vec::new();
    for step in &steps {
        let shares = if step.node == of {
            MeetingShares::ALL
        } else {
            let other = shown.kept_of(step.node)?;
            shown.measured((step.node, &other[..]), (of, &center[..]))?
        };
        members.push(answer::member(snapshot, collection, step.node, shares)?);
        if let Some((from, tie)) = step.from {
            collection.links.read(from, &mut halves)?;
            links.extend(
                halves
                    .iter()
                    .copied()
                    .find(|half: &HalfLink| half.to == tie.to),
            );
        }
    }
    answer::mark_newest(&mut members);
    let order: Vec<u32> = steps.iter().map(|step| step.node).collect();
    if order.len() > MEASURED {
        groups.summary.notes.push(format!(
            "not every two versions were compared: `worst` is of the first {MEASURED}"
        ));
    }
    let (worst, is_estimate) = shown.worst(&links, &order)?;
    let summary = &mut groups.summary;
    summary.clusters = 1;
    summary.links = links.len() as u64;
    summary.cluster_files = nodes.len() as u64;
    summary.cluster_bytes = nodes.iter().map(|&node| table.size(node)).sum();
    let family = Cluster {
        id: answer::id(snapshot, collection, of)?,
        kind: ClusterKind::Family,
        center: answer::path(collection, of),
        average: answer::average(&links),
        worst,
        estimate: is_estimate || links.iter().any(HalfLink::is_estimate),
        bytes: groups.summary.cluster_bytes,
        component: answer::id(snapshot, collection, least)?,
        container: None,
        members,
        links: answer::rows(shown, &links)?,
    };
    groups.clusters.push(family.with_contradictions());
    Ok(groups)
}
