//! `groups`: finds sets of identical files and clusters of similar files.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::message::status::is_zero;
use crate::message::{
    Discount, EstimateInterval, Layer, MeasureUnit, PairRelation, Parts, Scope, StatedDate,
};
use crate::number::Fraction;
use crate::path::{PathText, fields};

/// The request of `groups`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupsRequest {
    /// The files to group. If `within` is empty, they are those of all roots of the daemon.
    #[serde(flatten)]
    pub scope: Scope,
    /// The kinds of groups to make. Groups of other kinds are not computed.
    pub only: OnlyGroups,
    /// The relations of the links to show, in either direction. Sets of identical files are shown
    /// if `Identical` is among them. If this is empty, everything is shown.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relation: Vec<PairRelation>,
    /// If present, only the cluster of this file is shown.
    pub of: Option<PathText>,
    /// True to follow chains of versions from `of` to all earlier and later versions.
    pub family: bool,
    /// The minimum of the larger containment of a link. If it is absent, a link must have a
    /// relation.
    pub min: Fraction,
    /// The minimum number of shared bytes of a link. The default is 256 bytes.
    pub min_shared: Option<u64>,
    /// The rule for chunks and fingerprints that are ignored because many contents have them.
    pub degree: Degree,
    /// The maximum memory to use, in bytes. Data that do not fit are kept on disk.
    pub memory: Option<u64>,
    /// The maximum number of sets to send. It is also the maximum number of clusters.
    pub top: Option<u64>,
    /// True to compare also the texts of documents and the members of archives, if the index has
    /// them.
    #[serde(default = "crate::message::scope::yes")]
    pub text: bool,
    /// The unit in which texts are measured.
    pub unit: MeasureUnit,
}

/// The groups that are requested.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
pub enum OnlyGroups {
    /// Sets of identical files and clusters of similar ones.
    #[default]
    #[cfg_attr(feature = "clap", value(skip))]
    All,
    /// Clusters of similar files.
    Near,
    /// Sets of identical files.
    Identical,
}

/// The rule for ubiquitous chunks (Forman et al. 2005, section 2.5).
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Degree {
    /// A chunk is ubiquitous if more than 1,000 contents have it, as in all other questions.
    #[default]
    Usual,
    /// A chunk is ubiquitous if more than half of the files have it, as in the paper.
    Half,
    /// A chunk is ubiquitous if more contents than this have it.
    Over(u32),
}

/// The totals of `groups`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupsSummary {
    /// Files that took part.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// Identical sets.
    pub sets: u64,
    /// Files in these sets.
    pub set_files: u64,
    /// Bytes of all but one file of each set. In the sets that are listed, holes are not counted.
    pub overhead: u64,
    /// The part of `overhead` in blocks that the files already share. The removal of a file does
    /// not free such blocks. JSON omits the field if it is 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shared_blocks: u64,
    /// Clusters of similar files.
    pub clusters: u64,
    /// Files in these clusters; identical files are counted once.
    pub cluster_files: u64,
    /// Bytes of these files.
    pub cluster_bytes: u64,
    /// Links within these clusters.
    pub links: u64,
    /// Files that resemble members of clusters, but none of the centres. They are in no cluster.
    #[serde(default)]
    pub loose: u64,
    /// Connected components of more than one content.
    pub components: u64,
    /// Chunks and fingerprints that were ignored because too many contents have them.
    pub ignored: u64,
    /// Deviations from the request, one sentence each. For example, a component was solved on disk,
    /// or split at a higher threshold.
    pub notes: Vec<String>,
}

/// Files with equal bytes.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdenticalSet {
    /// The size of one file.
    pub size: u64,
    /// The paths of the files. A file with several hard links has only one path here.
    pub paths: Vec<PathText>,
    /// The times of the last changes of the files, in seconds since 1970, in the order of the
    /// paths.
    #[serde(default)]
    pub mtimes: Vec<i64>,
    /// A number for each file, in the order of the paths. Files with the same number share their
    /// blocks, like clones. A file with the number 0 shares no blocks. JSON omits the list if no
    /// files share blocks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<u32>,
    /// The number of bytes that each file takes on its disk, in the order of the paths. It is at
    /// most the size of the file. JSON omits the list if no file has holes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocated: Vec<u64>,
    /// The name of each file's owner, in the order of the paths. It is the owner's number if the
    /// owner has no name, and `null` if this machine has no file at the path. Absent if the command
    /// did not look up owners.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<Option<String>>,
}

impl IdenticalSet {
    /// Returns the number of bytes that all files but one take. The file that takes the most bytes
    /// is left out.
    pub fn overhead(&self) -> u64 {
        match self.allocated.iter().max() {
            Some(most) => self.allocated.iter().sum::<u64>() - most,
            None => self
                .size
                .saturating_mul((self.paths.len() as u64).saturating_sub(1)),
        }
    }

    /// Keeps only the files with these indices, in this order.
    pub fn select(&mut self, places: &[usize]) {
        fn of<T: Clone>(list: &mut Vec<T>, places: &[usize]) {
            let kept = places.iter().filter_map(|&at| list.get(at).cloned());
            *list = kept.collect();
        }
        of(&mut self.paths, places);
        of(&mut self.mtimes, places);
        of(&mut self.blocks, places);
        of(&mut self.allocated, places);
        of(&mut self.owners, places);
    }

    /// Returns the number of bytes of files whose blocks another file of the set shares. Of the
    /// files that share the same blocks, one is not counted.
    pub fn shared_blocks(&self) -> u64 {
        let mut seen = BTreeSet::new();
        let numbers = self.blocks.iter().enumerate();
        let again = numbers.filter(|(_, number)| **number != 0 && !seen.insert(**number));
        let bytes = again.map(|(at, _)| self.taken_by(at));
        bytes.fold(0, u64::saturating_add)
    }

    /// Returns the number of bytes that the file with index `at` takes.
    pub fn taken_by(&self, at: usize) -> u64 {
        self.allocated.get(at).copied().unwrap_or(self.size)
    }
}

/// The shape of a cluster.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ClusterKind {
    /// Two files that share content.
    Pair,
    /// One file that holds another file, or most of several other files.
    Contains,
    /// Files that are all near to each other: versions of one text.
    Versions,
    /// An archive or a mail that holds most of several other files.
    Archive,
    /// Any other group that links connect.
    Family,
}

impl ClusterKind {
    /// Returns the word for the kind in every output.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// A group of similar files. Every member is linked to the centre, unless chains are followed.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// The stable id. It depends on the content of the centre, and not on paths or order.
    pub id: String,
    /// The shape of the cluster.
    pub kind: ClusterKind,
    /// The file that all members are compared with.
    #[serde(flatten, with = "fields::center")]
    pub center: PathText,
    /// Mean of the larger containments of the links.
    pub average: Fraction,
    /// The score of the worst pair of members. Pairs without a link are compared by estimates.
    pub worst: Fraction,
    /// True if a link or the worst pair is an estimate. JSON omits the field if it is false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimate: bool,
    /// Bytes of all members.
    pub bytes: u64,
    /// The id of the connected component. Clusters of one component are connected by links.
    pub component: String,
    /// The archive or mail that contains the members of this cluster; absent if they are files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Box<ClusterContainer>>,
    /// The members. The centre is first, and the others follow, best first. Members of `versions`
    /// are sorted by time, newest last.
    pub members: Vec<Member>,
    /// Links between members, best first.
    pub links: Vec<Link>,
}

impl Cluster {
    /// Returns the members that are linked with the centre, each with the number of bytes that it
    /// shares with the centre.
    pub fn shared_with_center(&self) -> impl Iterator<Item = (&PathText, u64)> {
        self.links.iter().filter_map(|link| {
            let other = match (link.a == self.center, link.b == self.center) {
                (true, false) => &link.b,
                (false, true) => &link.a,
                _ => return None,
            };
            Some((other, link.shared_bytes))
        })
    }
}

/// The file that holds all members of a cluster.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ClusterContainer {
    /// The file.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Its size.
    pub size: u64,
}

/// A member of a cluster.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // each is a mark of its own
pub struct Member {
    /// The file; of several identical files, the file whose path sorts first.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Its size.
    pub size: u64,
    /// Its time of last change, in seconds since 1970.
    pub mtime: i64,
    /// The date that the document states; absent if it states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_date: Option<StatedDate>,
    /// The share of the member that is in the centre.
    pub a_in_b: Fraction,
    /// The share of the centre that is in the member.
    pub b_in_a: Fraction,
    /// True if the figures are estimates, not measured. JSON omits the field if it is false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimate: bool,
    /// The interval of the figures, if they are estimates of two files; otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<EstimateInterval>,
    /// True for the newest member of `versions`. JSON omits the field if it is false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub newest: bool,
    /// True if the member states an older date than another member that it contains whole. One of
    /// the two dates is then wrong. JSON omits the field if it is false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub older_than_held: bool,
    /// The number of files with these bytes, including this file.
    #[serde(default)]
    pub copies: u64,
    /// The beginning of the digest of the file's bytes. It is the id of a cluster with this file as
    /// its centre.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// True if the file is an archive or a mail, which holds other files. JSON omits the field if
    /// it is false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holds_others: bool,
    /// The name of the file's owner, or the owner's number if the owner has no name. Absent if the
    /// command did not look up the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

impl Cluster {
    /// Returns whether all members state a date that counts as past. Then `newest` and the order of
    /// `versions` follow these dates. Otherwise they follow the times of the files.
    pub fn has_stated_dates(&self) -> bool {
        let mut members = self.members.iter();
        members.all(|member| {
            member
                .document_date
                .as_ref()
                .is_some_and(StatedDate::is_past)
        })
    }

    /// Marks members whose stated dates contradict the chain of versions. If one of two linked
    /// members contains the other whole, and more, the containing member should be newer. That
    /// member is marked if it states an older date.
    #[must_use]
    pub fn with_contradictions(mut self) -> Self {
        // The shares of two files that are not identical are always below 1.000000. So a file that
        // is wholly in another file has a share of 0.999999.
        let is_whole = |share: Fraction| share.millionths() >= Some(999_999);
        for link in self.links.iter().filter(|link| !link.estimate) {
            let (held, holder) = match (is_whole(link.a_in_b), is_whole(link.b_in_a)) {
                (true, false) => (&link.a, &link.b),
                (false, true) => (&link.b, &link.a),
                _ => continue,
            };
            let stated = |path: &PathText| {
                let member = self.members.iter().find(|member| member.path == *path)?;
                let date = member.document_date.as_ref();
                Some(date.filter(|date| date.is_past())?.time)
            };
            if let (Some(older), Some(newer)) = (stated(holder), stated(held))
                && older < newer
            {
                let mut members = self.members.iter_mut();
                if let Some(member) = members.find(|member| member.path == *holder) {
                    member.older_than_held = true;
                }
            }
        }
        self
    }
}

impl Member {
    /// Returns the time of the last change of the file, and the date that the file states.
    pub fn dates(&self) -> (i64, Option<&StatedDate>) {
        (self.mtime, self.document_date.as_ref())
    }
}

/// Two similar members.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// One file.
    #[serde(flatten, with = "fields::a")]
    pub a: PathText,
    /// The other file.
    #[serde(flatten, with = "fields::b")]
    pub b: PathText,
    /// The share of a that is in b.
    pub a_in_b: Fraction,
    /// The share of b that is in a.
    pub b_in_a: Fraction,
    /// Bytes of the smaller file in common runs; for an estimate those that common chunks prove.
    pub shared_bytes: u64,
    /// True if both files have the same words in the same order. JSON omits the field if it is
    /// false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub same_text: bool,
    /// True if the figures are estimates, not measured. JSON omits the field if it is false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimate: bool,
    /// The interval of the figures, if they are estimates of two files; otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<EstimateInterval>,
    /// The layer of the figures. JSON omits the layer `bytes`.
    #[serde(default, skip_serializing_if = "Layer::is_bytes")]
    pub layer: Layer,
    /// The larger containment after the discount for common text, if the discount changes it.
    #[serde(flatten)]
    pub discount: Discount,
}

/// A row of `groups --order`: a path; similar files are adjacent.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderRow {
    /// The file; each hard link is a row.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
}

/// The answer of `groups`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Groups {
    /// Totals.
    pub summary: GroupsSummary,
    /// Sets of identical files; those with the most overhead are first.
    pub identical: Vec<IdenticalSet>,
    /// Clusters; those with the most bytes are first.
    pub clusters: Vec<Cluster>,
}

/// A row of the answer to `groups`, as it is sent. A large set or cluster is sent in pieces.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupsPart {
    /// The totals. They are sent first.
    Summary(Box<GroupsSummary>),
    /// A set, or the first files of a large set.
    Identical(IdenticalSet),
    /// Further files of the set that was sent last.
    MoreIdentical(IdenticalSet),
    /// A cluster without its members and links.
    Cluster(Box<Cluster>),
    /// Members of the cluster that was sent last.
    Members(Vec<Member>),
    /// Links of the cluster that was sent last.
    Links(Vec<Link>),
}

/// The maximum number of paths in one row. A path has at most 4,096 bytes. JSON, with escapes and
/// base64, needs at most eight times as many. So a row stays below [`crate::frame::MAX_ANSWER`].
const PIECE: usize = 500;

/// Returns the `at`-th piece of a list. Each piece has [`PIECE`] items, the last one perhaps fewer.
fn piece<T: Clone>(list: &[T], at: usize) -> Vec<T> {
    list.chunks(PIECE).nth(at).unwrap_or_default().to_vec()
}

/// Adds a piece to its list. A list of one piece is not copied.
fn append<T>(list: &mut Vec<T>, mut piece: Vec<T>) {
    if list.is_empty() {
        *list = piece;
    } else {
        list.append(&mut piece);
    }
}

impl IdenticalSet {
    fn into_parts(self) -> Vec<GroupsPart> {
        if self.paths.len() <= PIECE {
            return vec![GroupsPart::Identical(self)];
        }
        let paths = self.paths.chunks(PIECE).enumerate();
        let parts = paths.map(|(at, paths)| {
            let piece = Self {
                size: self.size,
                paths: paths.to_vec(),
                mtimes: piece(&self.mtimes, at),
                blocks: piece(&self.blocks, at),
                allocated: piece(&self.allocated, at),
                owners: piece(&self.owners, at),
            };
            if at == 0 {
                GroupsPart::Identical(piece)
            } else {
                GroupsPart::MoreIdentical(piece)
            }
        });
        parts.collect()
    }
}

impl Cluster {
    fn into_parts(mut self) -> Vec<GroupsPart> {
        /// Makes one part for each piece. A list of one piece is not copied.
        fn add<T: Clone>(
            (list, most): (Vec<T>, usize),
            part: fn(Vec<T>) -> GroupsPart,
            parts: &mut Vec<GroupsPart>,
        ) {
            if list.len() > most {
                parts.extend(list.chunks(most).map(|piece| part(piece.to_vec())));
            } else if !list.is_empty() {
                parts.push(part(list));
            }
        }
        let members = std::mem::take(&mut self.members);
        let links = std::mem::take(&mut self.links);
        let mut parts = vec![GroupsPart::Cluster(Box::new(self))];
        add((members, PIECE), GroupsPart::Members, &mut parts);
        // A link has two paths, so a row has half as many links as paths.
        add((links, PIECE / 2), GroupsPart::Links, &mut parts);
        parts
    }
}

impl Parts for Groups {
    type Part = GroupsPart;

    fn add(&mut self, part: GroupsPart) {
        match part {
            GroupsPart::Summary(summary) => self.summary = *summary,
            GroupsPart::Identical(set) => self.identical.push(set),
            GroupsPart::MoreIdentical(more) => {
                if let Some(set) = self.identical.last_mut() {
                    append(&mut set.paths, more.paths);
                    append(&mut set.mtimes, more.mtimes);
                    append(&mut set.blocks, more.blocks);
                    append(&mut set.allocated, more.allocated);
                    append(&mut set.owners, more.owners);
                }
            }
            GroupsPart::Cluster(cluster) => self.clusters.push(*cluster),
            GroupsPart::Members(members) => {
                if let Some(cluster) = self.clusters.last_mut() {
                    append(&mut cluster.members, members);
                }
            }
            GroupsPart::Links(links) => {
                if let Some(cluster) = self.clusters.last_mut() {
                    append(&mut cluster.links, links);
                }
            }
        }
    }

    fn into_parts(self) -> impl Iterator<Item = GroupsPart> {
        let summary = GroupsPart::Summary(Box::new(self.summary));
        let sets = self.identical.into_iter();
        let clusters = self.clusters.into_iter();
        std::iter::once(summary)
            .chain(sets.flat_map(IdenticalSet::into_parts))
            .chain(clusters.flat_map(Cluster::into_parts))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{MAX_ANSWER, encode};
    use crate::message::Reply;

    #[test]
    fn the_longest_paths_fit_into_the_rows() {
        // This path has only control characters, which are escaped, and a byte that is not UTF-8.
        // No path is longer in JSON.
        let path = PathText::from_bytes([&[1; 4095][..], b"\xff"].concat());
        let member = Member {
            estimate: false,
            interval: None,
            path: path.clone(),
            size: u64::MAX,
            mtime: i64::MIN,
            document_date: None,
            a_in_b: Fraction::ONE,
            b_in_a: Fraction::ONE,
            newest: true,
            older_than_held: false,
            copies: u64::MAX,
            id: String::new(),
            holds_others: false,
            owner: Some("x".repeat(32)),
        };
        let link = Link {
            estimate: false,
            interval: None,
            a: path.clone(),
            b: path.clone(),
            a_in_b: Fraction::ONE,
            b_in_a: Fraction::ONE,
            shared_bytes: u64::MAX,
            same_text: false,
            layer: Layer::Text,
            discount: Discount::default(),
        };
        let groups = Groups {
            summary: GroupsSummary::default(),
            identical: vec![IdenticalSet {
                size: u64::MAX,
                paths: vec![path.clone(); PIECE + 1],
                mtimes: vec![i64::MIN; PIECE + 1],
                blocks: vec![u32::MAX; PIECE + 1],
                allocated: vec![u64::MAX; PIECE + 1],
                owners: vec![None; PIECE + 1],
            }],
            clusters: vec![Cluster {
                estimate: false,
                id: "id".to_owned(),
                kind: ClusterKind::Family,
                center: path,
                average: Fraction::ONE,
                worst: Fraction::ONE,
                bytes: u64::MAX,
                component: "id".to_owned(),
                container: None,
                members: vec![member; PIECE + 1],
                links: vec![link; PIECE + 1],
            }],
        };
        let parts: Vec<GroupsPart> = groups.clone().into_parts().collect();
        assert!(
            parts
                .iter()
                .all(|part| encode(&Reply::Row(part), MAX_ANSWER).is_ok())
        );
        let mut together = Groups::default();
        for part in parts {
            together.add(part);
        }
        assert_eq!(together, groups);
    }
}
