//! One file's family: every version that is reached from it by links, in order.
//!
//! Groups cannot chain; a family is the chain. A text that was edited for years shares nothing with
//! its first version any more, but each version with the one before, and that is what somebody
//! wants who asks for all versions. The members come by time, and the links are the steps: one for
//! each member but the first, from the member it resembles most on the way (the maximum spanning
//! tree). Which is the newest is an offer where the times are those of the files: a copy may have
//! lost its own. If all versions state a date of themselves, it is by these.
//!
//! A file that lies in another is no version of it: by way of a book, an archive or a mail with
//! many attachments one family would be a third of a home. So no step leads from a part to its
//! whole or back, and none between a file and something that holds files.

use std::collections::{HashMap, HashSet};

use resemble_core::Relation;
use resemble_core::cluster::{Network, Tie, chains, spanning_forest};
use resemble_proto::message::{Cluster, ClusterKind, Groups, times_of};
use resemble_relate::AskError;

use super::Collection;
use super::answer;
use super::links::{HalfLink, LinkSimilarity};
use super::meeting::{MEASURED, MeetingShares, Shown};

/// So much of each version lies in the next one: a part of a third one shares less of it.
const PARTLY: u32 = (Relation::PARTLY * 1e6) as u32;

/// The links that may be steps from one version to another.
struct Steps<'a> {
    links: LinkSimilarity<'a>,
    collection: &'a Collection,
    /// Whether the file that was asked about holds others.
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
    /// Everything that steps lead to from a content, itself included, ascending.
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

/// The family of a content as the only cluster; none if nothing is similar to it.
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
    let mut members = Vec::new();
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
        links: links
            .iter()
            .map(|link| answer::row(shown, link))
            .collect::<Result<_, _>>()?,
    };
    groups.clusters.push(family.with_contradictions());
    Ok(groups)
}
