//! Formats groups as answers.
//!
//! Totals cover all groups. Paths, times and links are looked up only for groups that are shown.
//! Every group is made independently, so several threads make them.

use std::cmp::Reverse;

use resemble_core::ContentId;
use resemble_core::cluster::{Shape, Stars, Tie};
use resemble_index::{ReadError, Snapshot};
use resemble_proto::clock::newest_of;
use resemble_proto::message::{
    Cluster, ClusterKind, Groups, GroupsSummary, Layer, Link, Member, StatedDate, times_of,
};
use resemble_proto::number::Fraction;
use resemble_proto::path::PathText;
use resemble_relate::AskError;
use resemble_relate::parallel::ordered;

use super::links::{By, HalfLink};
use super::meeting::{MEASURED, MeetingShares, Shown};
use super::{About, Collection};

/// The number of hex digits of an id. Among a million contents, the probability that two share an
/// id is one in 500.
const ID_DIGITS: usize = 12;

/// Returns whether a text can be the id of a cluster: it has the digits of an id.
pub fn is_cluster_id(text: &str) -> bool {
    let is_digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
    text.len() == ID_DIGITS && text.bytes().all(is_digit)
}

/// A group before it is formatted.
#[derive(Clone, Copy, Debug)]
struct Group {
    bytes: u64,
    center: u32,
    /// The range of the group's members in the list of all members.
    from: usize,
    to: usize,
}

/// Returns the totals, and the clusters that are shown.
pub(super) fn clusters(
    shown: &Shown<'_>,
    stars: &Stars,
    top: Option<u64>,
) -> Result<Groups, AskError> {
    let collection = shown.collection;
    let table = &collection.table;
    let mut groups: Vec<Group> = Vec::new();
    let mut members: Vec<u32> = Vec::new();
    if let About::Content(place) = collection.about {
        // Only the group of the requested file is shown. If the file is in no group, the files that
        // are linked with it are shown.
        let center = stars.center(place);
        members = match center {
            Some(center) => (0..table.file_contents())
                .filter(|&other| stars.center(other) == Some(center))
                .collect(),
            None => with_neighbours(collection, place)?,
        };
        if members.len() > 1 {
            groups.push(Group {
                bytes: members.iter().map(|&member| table.size(member)).sum(),
                center: center.unwrap_or(place),
                from: 0,
                to: members.len(),
            });
        }
    } else {
        for (center, member) in stars.members() {
            if groups.last().is_none_or(|group| group.center != center) {
                groups.push(Group {
                    bytes: 0,
                    center,
                    from: members.len(),
                    to: members.len(),
                });
            }
            members.push(member);
            if let Some(group) = groups.last_mut() {
                group.bytes += table.size(member);
                group.to = members.len();
            }
        }
    }
    groups.sort_unstable_by_key(|group| (Reverse(group.bytes), table.rank(group.center)));

    let mut summary = totals(collection);
    summary.clusters = groups.len() as u64;
    summary.cluster_files = groups
        .iter()
        .map(|group| (group.to - group.from) as u64)
        .sum();
    summary.cluster_bytes = groups.iter().map(|group| group.bytes).sum();
    for group in &groups {
        let of_one = &members[group.from..group.to];
        links_within(collection, of_one, |_| summary.links += 1)?;
    }
    if collection.about == About::Everything {
        summary.loose = stars.loose;
    }

    cut(&mut groups, top);
    let large = groups
        .iter()
        .filter(|group| group.to - group.from > MEASURED)
        .count();
    if large > 0 {
        summary.notes.push(format!(
            "not every two files of {} with more than {MEASURED} files were compared: `worst` is \
             of the {MEASURED} files least like the center",
            clusters_in_words(large)
        ));
    }
    let in_words = |at: usize, (): &mut ()| cluster(shown, groups[at], &members);
    let clusters: Vec<Cluster> = ordered(groups.len(), || (), in_words)?;
    Ok(Groups {
        summary,
        identical: Vec::new(),
        clusters,
    })
}

fn clusters_in_words(count: usize) -> String {
    let s = if count == 1 { "" } else { "s" };
    format!("{count} cluster{s}")
}

/// Returns the totals that are known before anything is grouped.
pub(super) fn totals(collection: &Collection) -> GroupsSummary {
    let components = &collection.links.components;
    let several = (0u32..)
        .zip(components)
        .filter(|&(place, &least)| place == least && collection.links.degree(place) > 0);
    GroupsSummary {
        files: collection.scoped.files.len() as u64,
        bytes: collection.table.bytes,
        components: several.count() as u64,
        ignored: collection.ignored,
        notes: collection.notes.clone(),
        ..GroupsSummary::default()
    }
}

pub(super) fn cut<T>(list: &mut Vec<T>, top: Option<u64>) {
    list.truncate(top.map_or(usize::MAX, |top| usize::try_from(top).unwrap_or(usize::MAX)));
}

fn with_neighbours(collection: &Collection, place: u32) -> Result<Vec<u32>, AskError> {
    let mut halves = Vec::new();
    collection.links.read(place, &mut halves)?;
    let mut members: Vec<u32> = halves.iter().map(|half| half.to).chain([place]).collect();
    members.sort_unstable();
    Ok(members)
}

/// Calls `take` with every link between two of these members, seen from the lesser of its two ends.
/// The members are in ascending order.
fn links_within(
    collection: &Collection,
    members: &[u32],
    mut take: impl FnMut(HalfLink),
) -> Result<(), AskError> {
    let mut halves = Vec::new();
    for &member in members {
        collection.links.read(member, &mut halves)?;
        let later = halves.iter().filter(|half| half.to > member);
        let within = later.filter(|half| members.binary_search(&half.to).is_ok());
        within.copied().for_each(&mut take);
    }
    Ok(())
}

/// Formats one group. `members` has the members of all groups, in ascending order within each
/// group.
fn cluster(shown: &Shown<'_>, group: Group, members: &[u32]) -> Result<Cluster, AskError> {
    let (snapshot, collection) = (shown.snapshot, shown.collection);
    let members = &members[group.from..group.to];
    let mut links = Vec::new();
    links_within(collection, members, |link| links.push(link))?;
    let mut of_center: Vec<HalfLink> = Vec::new();
    collection.links.read(group.center, &mut of_center)?;
    of_center.retain(|half| members.binary_search(&half.to).is_ok());
    let to_center = |member: u32| {
        let at = of_center.binary_search_by_key(&member, |half| half.to);
        at.ok().map(|at| of_center[at])
    };
    let ties: Vec<Tie> = of_center.iter().map(HalfLink::tie).collect();
    // A container is not a version of its members, even if it has only one member.
    let holders = members
        .iter()
        .filter(|&&member| collection.holds_others(member))
        .count();
    let is_mixed = holders > 0 && holders < members.len();
    let shape = match Shape::of(&ties) {
        Shape::Versions if is_mixed && collection.holds_others(group.center) => Shape::Archive,
        Shape::Versions if is_mixed => Shape::Family,
        // Only a container is shown as an archive. A book that contains its chapters is not a
        // container.
        Shape::Archive if !collection.holds_others(group.center) => Shape::Contains,
        shape => shape,
    };
    let mut rows = Vec::with_capacity(members.len());
    for &place in members {
        let shares = match to_center(place).map(HalfLink::swapped) {
            Some(link) => shown.of_link(&link)?,
            None => MeetingShares::ALL,
        };
        rows.push((place, member(snapshot, collection, place, shares)?));
    }
    rows.sort_by(|(a, one), (b, other)| {
        let is_center = |place: u32| place == group.center;
        let score = |member: &Member| member.a_in_b.max(member.b_in_a);
        is_center(*b)
            .cmp(&is_center(*a))
            .then_with(|| score(other).cmp(&score(one)))
            .then_with(|| other.a_in_b.cmp(&one.a_in_b))
            .then_with(|| one.path.cmp(&other.path))
    });
    let mut rows: Vec<Member> = rows.into_iter().map(|(_, member)| member).collect();
    if shape == Shape::Versions {
        let mut by_time: Vec<(i64, Member)> = times_of(rows.iter().map(Member::dates))
            .into_iter()
            .zip(rows)
            .collect();
        by_time.sort_by_key(|(time, _)| *time);
        rows = by_time.into_iter().map(|(_, member)| member).collect();
        mark_newest(&mut rows);
    }
    // The members that are least similar to the centre come first.
    let mut far: Vec<u32> = members.to_vec();
    far.sort_by_cached_key(|&place| {
        let score = to_center(place).map(|half| half.tie().containment());
        (score.unwrap_or(u32::MAX), place)
    });
    let (worst, is_estimate) = shown.worst(&links, &far)?;
    Ok(Cluster {
        id: id(snapshot, collection, group.center)?,
        kind: match shape {
            Shape::Pair => ClusterKind::Pair,
            Shape::Contains => ClusterKind::Contains,
            Shape::Versions => ClusterKind::Versions,
            Shape::Archive => ClusterKind::Archive,
            Shape::Family => ClusterKind::Family,
        },
        center: path(collection, group.center),
        average: average(&links),
        worst,
        estimate: is_estimate || links.iter().any(HalfLink::is_estimate),
        bytes: group.bytes,
        component: id(
            snapshot,
            collection,
            collection.links.components[group.center as usize],
        )?,
        container: None,
        members: rows,
        links: in_words(shown, links)?,
    }
    .with_contradictions())
}

/// Marks the youngest member as newest, unless two members are the youngest. File times are only a
/// hint, because copying may lose them.
pub(super) fn mark_newest(members: &mut [Member]) {
    if let Some(at) = newest_of(&times_of(members.iter().map(Member::dates))) {
        members[at].newest = true;
    }
}

/// Returns the first path of a content's files.
pub(super) fn path(collection: &Collection, place: u32) -> PathText {
    collection
        .table
        .first(&collection.scoped, place)
        .path
        .clone()
}

/// Returns a content as a member. `shares` has the share of the content that lies in the centre,
/// and the share of the centre that lies in the content.
pub(super) fn member(
    snapshot: &Snapshot,
    collection: &Collection,
    place: u32,
    shares: MeetingShares,
) -> Result<Member, AskError> {
    Ok(Member {
        path: path(collection, place),
        size: collection.table.size(place),
        mtime: mtime(collection, place),
        document_date: stated(snapshot, collection, place)?,
        a_in_b: shares.there,
        b_in_a: shares.back,
        estimate: shares.is_estimate,
        interval: shares.interval,
        newest: false,
        older_than_held: false,
        copies: u64::from(collection.table.files(place)),
        id: id(snapshot, collection, place)?,
        holds_others: collection.holds_others(place),
        owner: None,
    })
}

/// Returns the date that a content states. Returns `None` if files are compared by their bytes:
/// then the question reads no document, and the index may know its date from another question.
pub(super) fn stated(
    snapshot: &Snapshot,
    collection: &Collection,
    place: u32,
) -> Result<Option<StatedDate>, ReadError> {
    let content = snapshot.content(collection.table.id(place))?;
    let date = content.and_then(|row| row.date);
    Ok(date.filter(|_| collection.text).map(Into::into))
}

/// Returns the time of the last change of a content's first file, in seconds since 1970.
pub(super) fn mtime(collection: &Collection, place: u32) -> i64 {
    collection.table.first(&collection.scoped, place).mtime
}

/// Returns the name of a content: the beginning of its digest.
pub(super) fn id(
    snapshot: &Snapshot,
    collection: &Collection,
    place: u32,
) -> Result<String, AskError> {
    short_id(snapshot, collection.table.id(place))
}

/// Returns the beginning of a content's digest.
pub(super) fn short_id(snapshot: &Snapshot, content: ContentId) -> Result<String, AskError> {
    let row = snapshot.content(content)?;
    let mut id = row.map_or(String::new(), |row| row.digest.to_string());
    id.truncate(ID_DIGITS);
    id.shrink_to_fit();
    Ok(id)
}

/// Each link has two containments. Returns the mean of the larger ones.
pub(super) fn average(links: &[HalfLink]) -> Fraction {
    let sum: u64 = links
        .iter()
        .map(|link| u64::from(link.tie().containment()))
        .sum();
    Fraction::from_millionths((sum / (links.len() as u64).max(1)) as u32)
}

/// Returns links as rows, best first. In each, `a` is the file with the lesser path.
fn in_words(shown: &Shown<'_>, links: Vec<HalfLink>) -> Result<Vec<Link>, AskError> {
    let rank = |place: u32| shown.collection.table.rank(place);
    let mut links: Vec<HalfLink> = links
        .into_iter()
        .map(|link| {
            if rank(link.from) <= rank(link.to) {
                link
            } else {
                link.swapped()
            }
        })
        .collect();
    links.sort_unstable_by_key(|link| {
        let tie = link.tie();
        (
            Reverse(tie.containment()),
            Reverse(tie.there),
            rank(link.from),
            rank(link.to),
        )
    });
    rows(shown, &links)
}

/// Returns links as rows, in their order.
pub(super) fn rows(shown: &Shown<'_>, links: &[HalfLink]) -> Result<Vec<Link>, AskError> {
    // An answer may have millions of links, so its lists get no more room than they need.
    let mut rows = Vec::with_capacity(links.len());
    for link in links {
        rows.push(row(shown, link)?);
    }
    Ok(rows)
}

/// Returns a link as a row, in which `a` is the end that the link is seen from.
fn row(shown: &Shown<'_>, link: &HalfLink) -> Result<Link, AskError> {
    let shares = shown.of_link(link)?;
    Ok(Link {
        a: path(shown.collection, link.from),
        b: path(shown.collection, link.to),
        a_in_b: shares.there,
        b_in_a: shares.back,
        shared_bytes: link.shared(),
        same_text: link.is_same_text(),
        estimate: shares.is_estimate,
        interval: shares.interval,
        layer: match link.matched_by() {
            By::Bytes => Layer::Bytes,
            By::Text | By::Whole(_) => Layer::Text,
        },
        discount: link.discount(),
    })
}
