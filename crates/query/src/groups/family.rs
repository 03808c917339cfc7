//! One file's family: everything that is reached from it by links, in order.
//!
//! Groups cannot chain; a family is the chain. A text that was edited for years shares nothing with
//! its first version any more, but each version with the one before, and that is what somebody
//! wants who asks for all versions. The members come by time, and the links are the steps: one for
//! each member but the first, from the member it resembles most on the way (the maximum spanning
//! tree). Which is the newest is an offer: times are what they are.

use std::collections::HashMap;

use resemble_core::cluster::{chains, spanning_forest};
use resemble_proto::message::{Cluster, ClusterKind, Groups};
use resemble_relate::AskError;

use super::answer;
use super::links::HalfLink;
use super::meeting::{MEASURED, MeetingShares, Shown};

/// The family of a content as the only cluster; none if nothing is similar to it.
pub(super) fn family(shown: &Shown<'_>, of: u32) -> Result<Groups, AskError> {
    let (snapshot, collection) = (shown.snapshot, shown.collection);
    let table = &collection.table;
    let components = &collection.links.components;
    let least = components[of as usize];
    let nodes: Vec<u32> = (0..table.len())
        .filter(|&place| components[place as usize] == least)
        .collect();
    let mut groups = Groups {
        summary: answer::totals(collection),
        ..Groups::default()
    };
    if nodes.len() < 2 {
        return Ok(groups);
    }
    let mut times = HashMap::new();
    for &node in &nodes {
        times.insert(node, answer::mtime(collection, node));
    }
    let forest = spanning_forest(&mut collection.network(), &nodes)?;
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
        members.push(answer::member(collection, step.node, shares));
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
    answer::mark_newest(members.iter_mut());
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
    groups.clusters.push(Cluster {
        id: answer::id(snapshot, collection, of)?,
        kind: ClusterKind::Family,
        center: answer::path(collection, of),
        average: answer::average(&links),
        worst,
        estimate: is_estimate || links.iter().any(HalfLink::is_estimate),
        bytes: groups.summary.cluster_bytes,
        component: answer::id(snapshot, collection, least)?,
        members,
        links: links
            .iter()
            .map(|link| answer::row(shown, link))
            .collect::<Result<_, _>>()?,
    });
    Ok(groups)
}
