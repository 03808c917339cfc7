//! Prints the first screen of `groups`: totals, folders, and the groups with the most duplicated
//! bytes.
//!
//! The first question about a collection returns thousands of groups. The user wants to know how
//! much of the collection is duplicated, in which folders, and where to begin. So groups are sorted
//! by their duplicated bytes, and each group is one line. An option shows all groups, file by file.

use std::cmp::Reverse;
use std::io;

use resemble_proto::documents::GroupsDocument;
use resemble_proto::message::{Cluster, Groups, IdenticalSet};
use resemble_proto::path::PathText;

use super::super::fold::{Line, fold};
use crate::human::{counted, files_and_bytes, human_count, human_size, shared_blocks};
use crate::lines::{Cell, TextStyle, TextWriter, Tint};
use crate::rows::marked;

/// The maximum number of groups shown.
const GROUPS: usize = 20;

/// The maximum number of shown folders, which have the most duplicated bytes.
const FOLDERS: usize = 3;

/// If the common folder of all files has a path with fewer bytes than this, each name is printed
/// with that path.
const LEAST_PREFIX: usize = 12;

/// A set or a cluster, with its duplicated bytes.
enum Group<'a> {
    Identical(&'a IdenticalSet),
    Similar(&'a Cluster),
}

impl<'a> Group<'a> {
    /// Returns the files of the group. The file that should be kept is first.
    fn paths(&self) -> Vec<&'a PathText> {
        match self {
            Self::Identical(set) => set.paths.iter().collect(),
            Self::Similar(cluster) => {
                let others = cluster.members.iter().map(|member| &member.path);
                let others = others.filter(|path| **path != cluster.center);
                std::iter::once(&cluster.center).chain(others).collect()
            }
        }
    }

    /// Returns each file except the first, with the number of its bytes that another file of the
    /// group has, too.
    fn again(&self) -> Vec<(&'a PathText, u64)> {
        match self {
            Self::Identical(set) => {
                let copies = set.paths.iter().enumerate().skip(1);
                copies.map(|(at, path)| (path, set.taken_by(at))).collect()
            }
            Self::Similar(cluster) => cluster.shared_with_center().collect(),
        }
    }
}

/// Prints totals, the folders with most duplicated bytes, and the first groups.
pub(super) fn print(out: &mut TextWriter<'_>, document: &GroupsDocument) -> io::Result<()> {
    let body = &document.body;
    let mut groups: Vec<(u64, Group<'_>)> = all(body).collect();
    // The sets arrive before the clusters. Sets are sorted by overhead, and clusters by the bytes
    // of their members. This sort is stable, so groups with equal numbers keep that order.
    groups.sort_by_key(|(again, _)| Reverse(*again));
    let prefix = prefix(&groups);
    let mut head = totals(body, &groups);
    if prefix.len() >= LEAST_PREFIX {
        let folder = out.name(&PathText::from_bytes(&prefix[..]), Tint::Plain);
        head.push(Cell::left("All of them are in", Tint::Plain).joined(" ", &folder));
    }
    head.extend(places(out, &groups, prefix.len()));
    out.print(head.into_iter().map(|cell| vec![cell]))?;
    if groups.is_empty() {
        return Ok(());
    }
    out.say("", Tint::Plain)?;
    let columns = "bytes there more than once, kind, and the average share of a file that is in \
                   the other:";
    if out.style().terminal {
        out.say(columns, Tint::Faint)?;
    }
    let (style, first) = (out.style(), groups.iter().take(GROUPS));
    out.print(first.map(|(again, group)| line(style, *again, group, prefix.len())))?;
    let shown = match groups.len() {
        count if count <= GROUPS => String::new(),
        count => format!(
            "These are {GROUPS} of {} groups. ",
            human_count(count as u64)
        ),
    };
    let more = format!(
        "{shown}More: --all (each file of every group), --of FILE, --only identical, --only near"
    );
    out.say("", Tint::Plain)?;
    out.say(more, Tint::Faint)
}

fn all(body: &Groups) -> impl Iterator<Item = (u64, Group<'_>)> {
    let sets = body.identical.iter().map(Group::Identical);
    let clusters = body.clusters.iter().map(Group::Similar);
    sets.chain(clusters).map(|group| {
        let again = group.again().iter().map(|(_, bytes)| bytes).sum();
        (again, group)
    })
}

/// Returns a line for the sets and a line for the clusters, if there are any.
fn totals(body: &Groups, groups: &[(u64, Group<'_>)]) -> Vec<Cell> {
    let sum = &body.summary;
    let mut head = Vec::new();
    if sum.sets > 0 {
        let text = format!(
            "{} of identical files: {}, of which {} could go{}",
            counted(sum.sets, "set"),
            counted(sum.set_files, "file"),
            human_size(sum.overhead),
            shared_blocks(sum.shared_blocks)
        );
        head.push(Cell::prose(text, Tint::Heading));
    }
    if sum.clusters > 0 {
        let similar = groups
            .iter()
            .filter(|(_, group)| matches!(group, Group::Similar(_)));
        let again: u64 = similar.map(|(again, _)| again).sum();
        let text = format!(
            "{} of similar files: {}, of which {} are there more than once",
            counted(sum.clusters, "cluster"),
            files_and_bytes(sum.cluster_files, sum.cluster_bytes),
            human_size(again)
        );
        head.push(Cell::prose(text, Tint::Heading));
    }
    head
}

/// Returns the common folder of all files of all groups, with its `/`. If its path is short enough
/// to be printed with each file, returns only a leading `./`, or nothing.
fn prefix(groups: &[(u64, Group<'_>)]) -> Vec<u8> {
    let mut paths = groups.iter().flat_map(|(_, group)| group.paths());
    let Some(first) = paths.next() else {
        return Vec::new();
    };
    let mut prefix = first.as_bytes();
    for path in paths {
        let same = prefix.iter().zip(path.as_bytes());
        let length = same.take_while(|(a, b)| a == b).count();
        prefix = &prefix[..length];
    }
    let folder = prefix.iter().rposition(|&byte| byte == b'/');
    let prefix = &prefix[..folder.map_or(0, |at| at + 1)];
    if prefix.len() >= LEAST_PREFIX {
        return prefix.to_vec();
    }
    let here = if prefix.starts_with(b"./") { 2 } else { 0 };
    prefix[..here].to_vec()
}

/// Returns the folders with most duplicated bytes.
fn places(out: &TextWriter<'_>, groups: &[(u64, Group<'_>)], prefix: usize) -> Option<Cell> {
    let again = groups.iter().flat_map(|(_, group)| group.again());
    let files = again.map(|(path, bytes)| (&path.as_bytes()[prefix..], bytes));
    let all: u64 = files.clone().map(|(_, bytes)| bytes).sum();
    let folded = fold(files, FOLDERS);
    let folders = folded.lines.iter().filter_map(|line| match line {
        Line::Folder { path, bytes, .. } if !path.is_empty() && *bytes > all / 10 => {
            let name = out.name(&PathText::from_bytes(*path), Tint::Plain);
            Some(name.followed_by(&format!(" ({})", human_size(*bytes))))
        }
        Line::Folder { .. } | Line::File(_) => None,
    });
    folders.fold(None, |places: Option<Cell>, folder| {
        Some(match places {
            None => Cell::left("Much of it is in", Tint::Plain).joined(" ", &folder),
            Some(places) => places.joined(", ", &folder),
        })
    })
}

/// Returns a group as one line.
fn line(style: TextStyle, again: u64, group: &Group<'_>, prefix: usize) -> Vec<Cell> {
    let (kind, share) = match group {
        Group::Identical(_) => (
            Cell::left("identical", Tint::Good),
            Cell::right("100%", Tint::Good),
        ),
        Group::Similar(cluster) => (
            Cell::left(cluster.kind.word(), Tint::Heading),
            marked(cluster.average, cluster.estimate, Tint::Plain),
        ),
    };
    let paths = group.paths();
    let name = |path: &PathText| {
        let below = PathText::from_bytes(&path.as_bytes()[prefix..]);
        style.name(&below, Tint::Plain)
    };
    let names = if let [a, b] = &paths[..] {
        name(a).joined(", ", &name(b))
    } else {
        let more = human_count(paths.len() as u64 - 1);
        name(paths[0]).followed_by(&format!(" and {more} more"))
    };
    let files = counted(paths.len() as u64, "file");
    vec![
        Cell::right(human_size(again), Tint::Plain),
        kind,
        share,
        Cell::right(files, Tint::Faint),
        names.shortening(),
    ]
}

#[cfg(test)]
mod tests {
    use resemble_core::Params;
    use resemble_proto::documents::GroupsParameters;
    use resemble_proto::message::{
        ClusterKind, Degree, Discount, GroupsSummary, Header, Layer, Link, Member, OnlyGroups,
    };
    use resemble_proto::number::Fraction;
    use resemble_proto::report::CommonParameters;

    use super::*;
    use crate::lines::TextStyle;

    fn set(size: u64, paths: &[&str]) -> IdenticalSet {
        IdenticalSet {
            size,
            paths: paths.iter().map(|&path| path.into()).collect(),
            mtimes: vec![0; paths.len()],
            ..IdenticalSet::default()
        }
    }

    /// Returns a cluster whose centre is the first path. Every other member shares this many bytes
    /// with the centre.
    fn cluster(paths: &[&str], shared: u64) -> Cluster {
        let share = Fraction::from_millionths(910_000);
        let member = |path: &&str| Member {
            path: (*path).into(),
            size: 2048,
            mtime: 0,
            document_date: None,
            a_in_b: share,
            b_in_a: share,
            estimate: false,
            interval: None,
            newest: false,
            older_than_held: false,
            copies: 1,
            id: String::new(),
            holds_others: false,
            owner: None,
        };
        let links = paths[1..].iter().flat_map(|other| {
            // A link between two members of which neither is the centre adds no duplicated bytes.
            let from = if *other == paths[1] { 1 } else { 2 };
            paths[..from].iter().map(|path| Link {
                a: (*path).into(),
                b: (*other).into(),
                a_in_b: share,
                b_in_a: share,
                shared_bytes: shared,
                same_text: false,
                estimate: false,
                interval: None,
                layer: Layer::Bytes,
                discount: Discount::default(),
            })
        });
        Cluster {
            id: "abc".into(),
            kind: ClusterKind::Family,
            center: paths[0].into(),
            average: share,
            worst: share,
            estimate: false,
            bytes: 2048 * paths.len() as u64,
            component: "abc".into(),
            container: None,
            links: links.collect(),
            members: paths.iter().map(member).collect(),
        }
    }

    fn printed(identical: Vec<IdenticalSet>, clusters: Vec<Cluster>) -> String {
        let summary = GroupsSummary {
            sets: identical.len() as u64,
            set_files: identical.iter().map(|set| set.paths.len() as u64).sum(),
            overhead: 4096,
            clusters: clusters.len() as u64,
            cluster_files: 3,
            cluster_bytes: 6144,
            ..GroupsSummary::default()
        };
        let body = Groups {
            summary,
            identical,
            clusters,
        };
        let parameters = GroupsParameters {
            roots: Vec::new(),
            only: OnlyGroups::All,
            relation: Vec::new(),
            of: None,
            family: false,
            degree: Degree::Usual,
            common: CommonParameters::plain(&Params::default()),
        };
        let document = GroupsDocument::new(parameters, Header::default(), body, Vec::new());
        let mut bytes = Vec::new();
        let style = TextStyle {
            terminal: true,
            ..TextStyle::default()
        };
        print(&mut TextWriter::new(&mut bytes, style), &document).unwrap();
        String::from_utf8(bytes).unwrap()
    }

    #[test]
    fn what_has_most_bytes_again_comes_first_and_a_long_folder_is_named_once() {
        let shown = printed(
            vec![
                set(2048, &["/home/me/docs/a b", "/home/me/docs/old/a"]),
                set(
                    10,
                    &["/home/me/docs/x", "/home/me/docs/y", "/home/me/docs/z"],
                ),
            ],
            vec![cluster(
                &[
                    "/home/me/docs/v1",
                    "/home/me/docs/old/v2",
                    "/home/me/docs/old/v3",
                ],
                1500,
            )],
        );
        assert_eq!(
            shown,
            "\
2 sets of identical files: 5 files, of which 4.0 KiB could go
1 cluster of similar files: 3 files, 6.0 KiB, of which 2.9 KiB are there more than once
All of them are in /home/me/docs/
Much of it is in old/ (4.9 KiB)

bytes there more than once, kind, and the average share of a file that is in the other:
2.9 KiB  family      91%  3 files  v1 and 2 more
2.0 KiB  identical  100%  2 files  'a b', old/a
   20 B  identical  100%  3 files  x and 2 more

More: --all (each file of every group), --of FILE, --only identical, --only near
"
        );
    }

    #[test]
    fn twenty_groups_are_shown_and_the_others_counted() {
        let names: Vec<[String; 2]> = (0..1234)
            .map(|n| [format!("./{n}"), format!("./{n}.copy")])
            .collect();
        let set = |(n, [a, b]): (usize, &[String; 2])| set(1 + n as u64, &[a, b]);
        let shown = printed(names.iter().enumerate().map(set).collect(), Vec::new());
        let rows: Vec<&str> = shown.lines().filter(|row| row.contains("100%")).collect();
        assert_eq!(rows.len(), GROUPS);
        assert_eq!(
            rows[0],
            "1.2 KiB  identical  100%  2 files  1233, 1233.copy"
        );
        assert!(shown.contains("These are 20 of 1,234 groups."), "{shown}");
        assert!(!shown.contains("All of them are in"), "{shown}");
        assert!(!shown.contains("Much of it is in"), "{shown}");
    }

    #[test]
    fn nothing_is_said_of_nothing() {
        assert_eq!(printed(Vec::new(), Vec::new()), "");
    }
}
