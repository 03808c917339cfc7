//! Questions that a published method answers, and their answers.
//!
//! All questions have one type of request. The files in the scope get signatures, and the answer is
//! computed from the signatures. For `groups`, the caller gets the collated sets of sif, or the
//! similar pairs of another method, and makes the groups itself. So another rule for groups or
//! another threshold of sif does not need a second question.

use crate::figure::Figure;
use resemble_core::ContentDigest;
use resemble_methods::collate::Collated;
use resemble_methods::{MethodParams, MethodSignature};
use resemble_proto::message::{Layer, Scope};
use resemble_proto::number::Fraction;
use resemble_proto::path::{PathText, fields};
use serde::{Serialize, Serializer};

/// A question for a published method.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodRequest {
    /// The method and its parameters.
    pub params: MethodParams,
    /// The number of processes that share the work, if the method supports that. `None` means one
    /// process.
    pub shards: Option<u32>,
    /// The files that the question is about: those at or below at least one path.
    pub scope: Scope,
    /// The question.
    pub question: MethodQuestion,
}

/// The kinds of questions.
#[derive(Clone, Debug, PartialEq)]
pub enum MethodQuestion {
    /// Compares one file with all other files. The rows are [`MethodRow::Find`], best first.
    Find(MethodFind),
    /// Compares all files with each other. The rows are [`MethodRow::Pair`], best first.
    Pairs(MethodPairs),
    /// Asks for the data from which groups are made. The first rows are [`MethodRow::File`] for
    /// every file, by path. The next rows are the collated sets ([`MethodRow::Sets`]) for sif, and
    /// the pairs within the limits ([`MethodRow::Pair`]) for other methods.
    Groups(MethodLimits),
    /// Asks for clusters that are computed on disk, so that memory does not limit their number. The
    /// rows are first [`MethodRow::File`] for every file, by path. The next rows are the most
    /// frequent ignored shingles ([`MethodRow::Common`]), the files with equal sketches
    /// ([`MethodRow::Same`]) and the links ([`MethodRow::Link`]).
    Clusters(MethodClusters),
    /// Asks for the signatures. The rows are [`MethodRow::Text`].
    Dump(SignatureForm),
}

/// The form in which signatures are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureForm {
    /// One line for each file, by path.
    Lines,
    /// The list `All_Fingers` of sif: the files by number, then their fingerprints.
    AllFingers,
    /// An [export](crate::method::exported).
    Export,
}

/// The parameters of clusters that are computed on disk.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MethodClusters {
    /// The least resemblance of a link. If it is absent, the threshold of the paper applies. If it
    /// is 0, files that have anything in common are linked.
    pub min: Figure,
    /// The least containment of a link. Files are also linked if one of them contains this share of
    /// the other. If it is absent, containment makes no links.
    pub contained: Figure,
    /// A shingle is ignored if more than this number of files have it. The default is 1,000. If the
    /// number is 0, no shingle is ignored.
    pub common: Option<u32>,
    /// The memory for sorting, in bytes. The default is 512 MiB.
    pub memory: Option<u64>,
    /// True if the answer must contain all links, even if fewer links make the same clusters. All
    /// links are needed if a rule may accept only some of them.
    pub every: bool,
    /// The folder for the work, if the user named one.
    pub work: Option<std::path::PathBuf>,
}

/// The parameters of a comparison of one file with all other files.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodFind {
    /// The signature of the subject.
    pub signature: MethodSignature,
    /// The digest of the subject's content, by which equal files are recognized.
    pub content: ContentDigest,
    /// The name of the subject, which rows have in the field `file`.
    pub name: PathText,
    /// The least containment of a row. A file also has a row if one of the two files contains this
    /// share of the other. If it is absent, containment makes no rows.
    pub contained: Figure,
    /// The limits of the rows.
    pub limits: MethodLimits,
}

/// The parameters of a comparison of all files with each other.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodPairs {
    /// The score by which rows are sorted, and to which the limit `min` applies.
    pub score: MethodScore,
    /// True if the figures of the rows are computed again from the texts.
    pub exact: bool,
    /// The limits of the rows.
    pub limits: MethodLimits,
}

/// The limits of the rows. For files with equal bytes, only `top` is applied.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MethodLimits {
    /// The least score. If it is absent, the threshold of the method's paper applies. If it is 0,
    /// files that have anything in common have a row.
    pub min: Figure,
    /// The fewest bytes in common chunks, for methods that cut files into chunks.
    pub min_shared: Option<u64>,
    /// The maximum number of rows. If there are more, the best ones are returned.
    pub top: Option<u64>,
}

/// The kinds of scores of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MethodScore {
    /// The figure of the method's paper. The figure may depend on which file is the subject. If
    /// neither file is the subject, the score is the larger of the two figures.
    #[default]
    Paper,
    /// The larger of both containments.
    Containment,
    /// The size of the intersection divided by the size of the union.
    Resemblance,
}

/// The kinds of rows in an answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MethodRow {
    /// A file similar to the subject.
    Find(MethodFindRow),
    /// Two similar files.
    Pair(MethodPairRow),
    /// A file. Other rows refer to it by the index of its row.
    File(MethodFileRow),
    /// The collated sets of sif.
    Sets(Collated),
    /// A line of the dump, in ASCII.
    Text(String),
    /// Files with equal sketches, by the indices of their rows in ascending order.
    Same(Vec<u32>),
    /// A link between two similar files. Each of the two files is the first file with its sketch.
    Link(MethodLinkRow),
    /// A shingle that is ignored because many files have it.
    Common(MethodCommonRow),
}

/// A link between two similar files, by the indices of their rows. `a` is the lesser index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MethodLinkRow {
    /// The first file.
    pub a: u32,
    /// The second file.
    pub b: u32,
    /// The resemblance of the two files.
    pub score: Figure,
}

/// A shingle that is ignored because too many files have it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MethodCommonRow {
    /// The value of the shingle in hexadecimal.
    pub shingle: String,
    /// The number of different sketches that have the shingle.
    pub documents: u64,
    /// The words of the shingle, if a file that has it could be read.
    pub text: Option<String>,
    /// The total number of ignored shingles. It is the same in all rows.
    pub all: u64,
}

/// A file that is similar to the subject. In the measures, `a` is the subject and `b` is this file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MethodFindRow {
    /// The subject as the request named it.
    #[serde(flatten, with = "fields::file")]
    pub file: PathText,
    /// The path of the similar file. If the file has several hard links, this is the first of their
    /// paths in sorted order.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// True if both files have equal bytes. The papers define no other relation.
    #[serde(rename = "relation", serialize_with = "relation")]
    pub identical: bool,
    /// The layer of the comparison, which is always the bytes.
    pub layer: Layer,
    /// The share of the subject that is in this file; `null` if it is unknown.
    pub a_in_b: Fraction,
    /// The share of this file that is in the subject; `null` if it is unknown.
    pub b_in_a: Fraction,
    /// The intersection divided by the union; `null` if it is unknown.
    pub resemblance: Fraction,
    /// The number of bytes in common chunks; `null` if the method does not cut files into chunks.
    pub shared_bytes: Option<u64>,
    /// The intervals of the estimates, if the method has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<MethodInterval>,
    /// The figure of the paper.
    pub score: Figure,
    /// The size of the similar file in bytes.
    pub size: u64,
}

/// The intervals of a pair's estimates. Each contains the true value in 19 cases of 20.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MethodInterval {
    /// The interval of the resemblance.
    pub resemblance: [Fraction; 2],
    /// The interval of the share of the subject that is in this file; absent if the method does not
    /// estimate it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a_in_b: Option<[Fraction; 2]>,
    /// The interval of the share of this file that is in the subject; absent if the method does not
    /// estimate it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b_in_a: Option<[Fraction; 2]>,
}

/// A pair of similar files. `a` is the file whose path sorts first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MethodPairRow {
    /// The path of the first file.
    #[serde(flatten, with = "fields::a")]
    pub a: PathText,
    /// The path of the second file.
    #[serde(flatten, with = "fields::b")]
    pub b: PathText,
    /// The score by which rows are sorted: the paper's figure unless the question names another
    /// score.
    pub score: Figure,
    /// The share of a that is in b; `null` if it is unknown.
    pub a_in_b: Fraction,
    /// The share of b that is in a; `null` if it is unknown.
    pub b_in_a: Fraction,
    /// The intersection divided by the union; `null` if it is unknown.
    pub resemblance: Fraction,
    /// The number of bytes in common chunks; `null` if the method does not cut files into chunks.
    pub shared_bytes: Option<u64>,
    /// True if both files have equal bytes. In JSON the field is absent if it is false.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub identical: bool,
}

/// A file of the scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MethodFileRow {
    /// The path of the file.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// The size of the file in bytes.
    pub size: u64,
    /// True if the file is text.
    pub text: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature that serde asks for
fn relation<S: Serializer>(identical: &bool, serializer: S) -> Result<S::Ok, S::Error> {
    identical
        .then(|| resemble_core::Relation::Identical.word())
        .serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_written_as_those_of_the_default_measure() {
        let row = MethodPairRow {
            a: "a".into(),
            b: PathText::from_bytes(*b"\xff"),
            score: Figure::new(4.0 / 3.0),
            a_in_b: Fraction::NONE,
            b_in_a: Fraction::ONE,
            resemblance: Fraction::ZERO,
            shared_bytes: None,
            identical: false,
        };
        let json = serde_json::to_string(&row).expect("text");
        assert!(
            json.contains("\"score\":1.3333333333333333,\"a_in_b\":null"),
            "{json}"
        );
        let row = |identical| MethodFindRow {
            file: "a".into(),
            path: "b".into(),
            identical,
            layer: Layer::Bytes,
            a_in_b: Fraction::ONE,
            b_in_a: Fraction::ONE,
            resemblance: Fraction::ONE,
            shared_bytes: Some(3),
            interval: None,
            score: Figure::new(1.0),
            size: 3,
        };
        let begins = |identical, relation: &str| {
            let json = serde_json::to_string(&row(identical)).expect("text");
            let begin = format!(
                "{{\"file\":\"a\",\"path\":\"b\",\"relation\":{relation},\"layer\":\"bytes\","
            );
            assert!(json.starts_with(&begin), "{json}");
        };
        begins(true, "\"identical\"");
        begins(false, "null");
    }
}
