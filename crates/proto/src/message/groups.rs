//! `groups`: identical sets and clusters of similar files.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::message::status::is_zero;
use crate::message::{
    Discount, EstimateInterval, Layer, MeasureUnit, PairRelation, Parts, Scope, StatedDate,
};
use crate::number::Fraction;
use crate::path::{PathText, fields};

/// `groups`: the question.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct GroupsRequest {
    /// The files; `within` empty: all roots of the daemon.
    #[serde(flatten)]
    pub scope: Scope,
    /// Which groups are made. What is not asked for costs nothing.
    pub only: OnlyGroups,
    /// Only links of these relations, whichever file is the first, and sets of identical files if
    /// that is one of them; empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub relation: Vec<PairRelation>,
    /// Only the cluster of this file.
    pub of: Option<PathText>,
    /// With `of`: follow chains to all earlier and later versions.
    pub family: bool,
    /// Only links whose larger containment is at least this; none: all links with a relation.
    pub min: Fraction,
    /// The least number of shared bytes of a link; absent: 256.
    pub min_shared: Option<u64>,
    /// How many contents may have a chunk or fingerprint before it is ignored.
    pub degree: Degree,
    /// The most memory to use, in bytes; where it is not enough, the disk is used.
    pub memory: Option<u64>,
    /// The most sets, and the most clusters, to send.
    pub top: Option<u64>,
    /// Compare the texts of documents and the members of archives too, where the index has them.
    #[serde(default = "crate::message::scope::yes")]
    pub text: bool,
    /// What the measures of texts are shares of.
    pub unit: MeasureUnit,
}

/// Which groups are asked for.
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

/// When a chunk is ubiquitous (Forman et al. 2005, section 2.5).
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Degree {
    /// If more than 1,000 contents have it, as everywhere.
    #[default]
    Usual,
    /// If more than half of the files have it, as in the paper.
    Half,
    /// If more contents than this have it.
    Over(u32),
}

/// The totals of `groups`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct GroupsSummary {
    /// Files that took part.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Identical sets.
    pub sets: u64,
    /// Files in these sets.
    pub set_files: u64,
    /// Bytes of all but one file of each set; holes of listed ones take nothing.
    pub overhead: u64,
    /// How much of these bytes is in blocks that the files share already: their removal frees
    /// nothing. In JSON only if it is some.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub shared_blocks: u64,
    /// Clusters of similar files.
    pub clusters: u64,
    /// Files in these clusters, identical ones once.
    pub cluster_files: u64,
    /// Bytes of these files.
    pub cluster_bytes: u64,
    /// Links between similar files, including those from one cluster to another.
    pub links: u64,
    /// Files that resemble members of clusters, but none of the centres, and so are in no cluster.
    #[serde(default)]
    pub loose: u64,
    /// Connected components of more than one content.
    pub components: u64,
    /// Chunks and fingerprints that were ignored because too many contents have them.
    pub ignored: u64,
    /// What was not done as asked, with one sentence for each case: a component was solved on disk,
    /// or split at a higher threshold.
    pub notes: Vec<String>,
}

/// Files of equal bytes.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IdenticalSet {
    /// The size of one file.
    pub size: u64,
    /// Their paths; hard links of one inode once.
    pub paths: Vec<PathText>,
    /// Their times of last change, in seconds since 1970, in the order of the paths.
    #[serde(default)]
    pub mtimes: Vec<i64>,
    /// In the order of the paths a number for each file: those with the same one share their
    /// blocks, as clones do; 0 shares with none of them. In JSON only if some do.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub blocks: Vec<u32>,
    /// In the order of the paths the bytes that each file takes on its disk, at most its size. In
    /// JSON only if some have holes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub allocated: Vec<u64>,
    /// In the order of the paths the name of each file's owner, or the owner's number if it has no
    /// name; `null` where no file of this machine is. Absent where the command has not looked.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub owners: Vec<Option<String>>,
}

impl IdenticalSet {
    /// Bytes of all files but one, which is the one that takes most. Holes take nothing.
    pub fn overhead(&self) -> u64 {
        match self.allocated.iter().max() {
            Some(most) => self.allocated.iter().sum::<u64>() - most,
            None => self
                .size
                .saturating_mul((self.paths.len() as u64).saturating_sub(1)),
        }
    }

    /// Bytes of files that share the blocks of another one of the set.
    pub fn shared_blocks(&self) -> u64 {
        let mut seen = BTreeSet::new();
        let numbers = self.blocks.iter().enumerate();
        let again = numbers.filter(|(_, number)| **number != 0 && !seen.insert(**number));
        let bytes = again.map(|(at, _)| self.taken_by(at));
        bytes.fold(0, u64::saturating_add)
    }

    /// Bytes that the file of this number takes.
    pub fn taken_by(&self, at: usize) -> u64 {
        self.allocated.get(at).copied().unwrap_or(self.size)
    }
}

/// What a cluster looks like.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum ClusterKind {
    /// Two files that share.
    Pair,
    /// One file holds another, or most of several others.
    Contains,
    /// All near to each other: versions of one text.
    Versions,
    /// An archive or a mail that holds most of several others.
    Archive,
    /// Any other group that links connect.
    Family,
}

impl ClusterKind {
    /// The word of the contract.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// A group of similar files that cannot chain: every member is linked to the centre.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Cluster {
    /// Stable: made of the centre's content, not of paths or order.
    pub id: String,
    /// What it looks like.
    pub kind: ClusterKind,
    /// The file that all members are compared with.
    #[serde(flatten, with = "fields::center")]
    pub center: PathText,
    /// Mean of the links' larger containments.
    pub average: Fraction,
    /// The score of the worst pair of members: of those that are no link it is chosen by estimates.
    pub worst: Fraction,
    /// A link or the worst pair is an estimate. In JSON only if true.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimate: bool,
    /// Bytes of all members.
    pub bytes: u64,
    /// The id of the connected component. Clusters of one component are connected by links.
    pub component: String,
    /// The archive or mail whose members these are; absent of files.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<Box<ClusterContainer>>,
    /// The centre first, then best first; `versions`: by time, newest last.
    pub members: Vec<Member>,
    /// Links between members, best first.
    pub links: Vec<Link>,
}

impl Cluster {
    /// For each member that is linked with the centre the bytes that both have.
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
    /// The file; of identical ones the least path.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Its size.
    pub size: u64,
    /// Its time of last change, in seconds since 1970.
    pub mtime: i64,
    /// The date that the document states of itself; absent if it states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_date: Option<StatedDate>,
    /// How much of it is in the centre.
    pub a_in_b: Fraction,
    /// How much of the centre is in it.
    pub b_in_a: Fraction,
    /// The figures are estimates; else they are those of the contents. In JSON only if true.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimate: bool,
    /// Where the figures lie, if they are estimates of two files; else absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<EstimateInterval>,
    /// The newest of `versions`. In JSON only if true.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub newest: bool,
    /// It states an older date than a member that it holds whole, so one of the dates is wrong. In
    /// JSON only if true.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub older_than_held: bool,
    /// How many files have these bytes, itself counted.
    #[serde(default)]
    pub copies: u64,
    /// The beginning of the digest of its bytes: the id of a cluster around it.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub id: String,
    /// It is an archive or a mail, which holds others. In JSON only if true.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub holds_others: bool,
    /// The name of its owner, or the owner's number if it has no name; absent where the command has
    /// not looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
}

impl Cluster {
    /// Whether all members state a date: then `newest`, and the order of `versions`, go by these.
    /// Else they go by the times of the files.
    pub fn has_stated_dates(&self) -> bool {
        self.members
            .iter()
            .all(|member| member.document_date.is_some())
    }

    /// Marks members whose stated dates contradict the chain of versions: of two that are linked
    /// the one that holds the other whole, and more, states an older date.
    #[must_use]
    pub fn with_contradictions(mut self) -> Self {
        // Files that are not identical have less than all in common, by as little as can be said.
        let is_whole = |share: Fraction| share.millionths() >= Some(999_999);
        for link in self.links.iter().filter(|link| !link.estimate) {
            let (held, holder) = match (is_whole(link.a_in_b), is_whole(link.b_in_a)) {
                (true, false) => (&link.a, &link.b),
                (false, true) => (&link.b, &link.a),
                _ => continue,
            };
            let stated = |path: &PathText| {
                let member = self.members.iter().find(|member| member.path == *path)?;
                Some(member.document_date.as_ref()?.time)
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
    /// When its file was changed last, and the date that it states.
    pub fn dates(&self) -> (i64, Option<&StatedDate>) {
        (self.mtime, self.document_date.as_ref())
    }
}

/// The times that say which of some files is the newest: the dates that they state if all state
/// one, else when the files were changed last. Each file is given with both.
pub fn times_of<'d>(files: impl IntoIterator<Item = (i64, Option<&'d StatedDate>)>) -> Vec<i64> {
    let files: Vec<_> = files.into_iter().collect();
    let stated = files.iter().map(|(_, stated)| stated.map(|date| date.time));
    let stated: Option<Vec<i64>> = stated.collect();
    stated.unwrap_or_else(|| files.iter().map(|(changed, _)| *changed).collect())
}

/// Two similar members.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Link {
    /// One file.
    #[serde(flatten, with = "fields::a")]
    pub a: PathText,
    /// The other.
    #[serde(flatten, with = "fields::b")]
    pub b: PathText,
    /// How much of a is in b.
    pub a_in_b: Fraction,
    /// How much of b is in a.
    pub b_in_a: Fraction,
    /// Bytes of the smaller file that are in common runs; of an estimate those that common chunks
    /// prove.
    pub shared_bytes: u64,
    /// The figures are estimates; else they are those of the contents. In JSON only if true.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub estimate: bool,
    /// Where the figures lie, if they are estimates of two files; else absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<EstimateInterval>,
    /// Which layer the figures are from. In JSON only if it is not the bytes.
    #[serde(default, skip_serializing_if = "Layer::is_bytes")]
    pub layer: Layer,
    /// The larger containment after the discount for common text, where that makes a difference.
    #[serde(flatten)]
    pub discount: Discount,
}

/// A row of `groups --order`: a path; similar files come next to each other.
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
    /// Sets of identical files, most overhead first.
    pub identical: Vec<IdenticalSet>,
    /// Clusters, most bytes first.
    pub clusters: Vec<Cluster>,
}

/// A row of `groups` on the wire. A set or a cluster comes in pieces if it is large.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum GroupsPart {
    /// Totals; first.
    Summary(Box<GroupsSummary>),
    /// A set, or its first files.
    Identical(IdenticalSet),
    /// Further files of the last set.
    MoreIdentical(IdenticalSet),
    /// A cluster without members and links.
    Cluster(Box<Cluster>),
    /// Members of the last cluster.
    Members(Vec<Member>),
    /// Links of the last cluster.
    Links(Vec<Link>),
}

/// The most paths in one row of the wire. A path has at most 4,096 bytes, and one in JSON, escaped
/// and as base64, at most eight times as many: so a row stays below [`crate::frame::MAX_ANSWER`].
const PIECE: usize = 500;

/// What a list says of the paths in the piece of this number.
fn piece<T: Clone>(list: &[T], at: usize) -> Vec<T> {
    list.chunks(PIECE).nth(at).unwrap_or_default().to_vec()
}

impl Parts for Groups {
    type Part = GroupsPart;

    fn add(&mut self, part: GroupsPart) {
        match part {
            GroupsPart::Summary(summary) => self.summary = *summary,
            GroupsPart::Identical(set) => self.identical.push(set),
            GroupsPart::MoreIdentical(more) => {
                if let Some(set) = self.identical.last_mut() {
                    set.paths.extend(more.paths);
                    set.mtimes.extend(more.mtimes);
                    set.blocks.extend(more.blocks);
                    set.allocated.extend(more.allocated);
                    set.owners.extend(more.owners);
                }
            }
            GroupsPart::Cluster(cluster) => self.clusters.push(*cluster),
            GroupsPart::Members(members) => {
                if let Some(cluster) = self.clusters.last_mut() {
                    cluster.members.extend(members);
                }
            }
            GroupsPart::Links(links) => {
                if let Some(cluster) = self.clusters.last_mut() {
                    cluster.links.extend(links);
                }
            }
        }
    }

    fn into_parts(self) -> Vec<GroupsPart> {
        let mut parts = vec![GroupsPart::Summary(Box::new(self.summary))];
        for set in self.identical {
            for (at, paths) in set.paths.chunks(PIECE).enumerate() {
                let piece = IdenticalSet {
                    size: set.size,
                    paths: paths.to_vec(),
                    mtimes: piece(&set.mtimes, at),
                    blocks: piece(&set.blocks, at),
                    allocated: piece(&set.allocated, at),
                    owners: piece(&set.owners, at),
                };
                parts.push(if at == 0 {
                    GroupsPart::Identical(piece)
                } else {
                    GroupsPart::MoreIdentical(piece)
                });
            }
        }
        for mut cluster in self.clusters {
            let members = std::mem::take(&mut cluster.members);
            let links = std::mem::take(&mut cluster.links);
            parts.push(GroupsPart::Cluster(Box::new(cluster)));
            parts.extend(
                members
                    .chunks(PIECE)
                    .map(|m| GroupsPart::Members(m.to_vec())),
            );
            // A link has two paths.
            let links = links.chunks(PIECE / 2);
            parts.extend(links.map(|l| GroupsPart::Links(l.to_vec())));
        }
        parts
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::frame::{MAX_ANSWER, encode};
    use crate::message::Reply;

    #[test]
    fn the_longest_paths_fit_into_the_rows() {
        // Controls are escaped, and the last byte is not UTF-8: a path cannot be longer in JSON.
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
        let parts = groups.clone().into_parts();
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
