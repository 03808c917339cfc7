//! Questions that a published method answers, and their answers.
//!
//! There is one request for all of them: the files in the scope are signed, and the answer follows
//! from the signatures. Steps that need no signature are left to the caller, who gets the collated
//! sets of `groups`. So thresholds, sizes, suffixes and a user's own rules need no second question.

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
    /// The method with its parameters.
    pub params: MethodParams,
    /// The number of processes that share the work, if the method supports it; one if absent.
    pub shards: Option<u32>,
    /// The files, at or below at least one path.
    pub scope: Scope,
    /// The question.
    pub question: MethodQuestion,
}

/// The question.
#[derive(Clone, Debug, PartialEq)]
pub enum MethodQuestion {
    /// Compares one file with all others. The rows are [`MethodRow::Find`], best first.
    Find(MethodFind),
    /// Compares all files with each other. The rows are [`MethodRow::Pair`], best first.
    Pairs(MethodPairs),
    /// Asks for the data from which groups are made. The rows are [`MethodRow::File`] for every
    /// file, by path; then for sif the collated sets ([`MethodRow::Sets`]), for other methods the
    /// pairs within the limits ([`MethodRow::Pair`]).
    Groups(MethodLimits),
    /// Asks for out-of-core clusters: the work is done on disk, so memory does not limit their
    /// number. The rows are [`MethodRow::File`] for every file, by path; the commonest ignored
    /// shingles ([`MethodRow::Common`]), the files with equal sketches ([`MethodRow::Same`]), the
    /// links ([`MethodRow::Link`]).
    Clusters(MethodClusters),
    /// Asks for the signatures. The rows are [`MethodRow::Text`].
    Dump(SignatureForm),
}

/// The form in which signatures are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SignatureForm {
    /// A line for each file, by path.
    Lines,
    /// The list `All_Fingers` of sif: the files by number, then their fingerprints.
    AllFingers,
    /// An [export](crate::method::exported).
    Export,
}

/// The parameters of out-of-core clusters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MethodClusters {
    /// The least resemblance of a link. If it is absent, the threshold of the paper holds; 0 links
    /// files that have anything in common.
    pub min: Figure,
    /// The least containment, of either file in the other, that also makes a link. If it is absent,
    /// containment makes no links.
    pub contained: Figure,
    /// Shingles in more files than this are ignored. 1,000 if it is absent; 0 ignores no shingle.
    pub common: Option<u32>,
    /// The memory for sorting, in bytes; 512 MiB if it is absent.
    pub memory: Option<u64>,
    /// True if all links are needed, even if fewer make the same clusters: a rule may accept only
    /// some of them.
    pub every: bool,
    /// The folder to work in, if the user has named one.
    pub work: Option<std::path::PathBuf>,
}

/// The comparison of one file with all others.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodFind {
    /// The subject's signature.
    pub signature: MethodSignature,
    /// The digest of its content, by which equal files are recognized.
    pub content: ContentDigest,
    /// The name that rows carry in `file`.
    pub name: PathText,
    /// The least containment, of either file in the other, that also makes a row. If it is absent,
    /// containment makes no rows.
    pub contained: Figure,
    /// The limits of the rows.
    pub limits: MethodLimits,
}

/// The comparison of all files with each other.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodPairs {
    /// The score that sorts the rows, and that `min` bounds.
    pub score: MethodScore,
    /// True if the figures of the rows are computed again from the texts.
    pub exact: bool,
    /// The limits of the rows.
    pub limits: MethodLimits,
}

/// The limits of the rows. Files of equal bytes have a row at any limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MethodLimits {
    /// The least score. If it is absent, the threshold of the method's paper holds; 0 accepts files
    /// that have anything in common.
    pub min: Figure,
    /// For methods of chunks, the fewest bytes in common chunks.
    pub min_shared: Option<u64>,
    /// The maximum number of rows. If there are more, the best ones stay.
    pub top: Option<u64>,
}

/// The score of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MethodScore {
    /// The paper's figure. If it depends on the subject, it is the larger of the two.
    #[default]
    Paper,
    /// The larger of both containments.
    Containment,
    /// The size of the intersection over that of the union.
    Resemblance,
}

/// A row of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MethodRow {
    /// A file similar to the subject.
    Find(MethodFindRow),
    /// Two similar files.
    Pair(MethodPairRow),
    /// A file. The place of its row is its number in the other rows.
    File(MethodFileRow),
    /// The collated sets.
    Sets(Collated),
    /// A line of the dump, in ASCII.
    Text(String),
    /// Files with equal sketches, by the places of their rows, ascending.
    Same(Vec<u32>),
    /// Two similar files, each the first of those with its sketch.
    Link(MethodLinkRow),
    /// An ignored shingle.
    Common(MethodCommonRow),
}

/// Two similar files, by the places of their rows; `a` is the lesser place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MethodLinkRow {
    /// The first file.
    pub a: u32,
    /// The second file.
    pub b: u32,
    /// Their resemblance.
    pub score: Figure,
}

/// A shingle that too many files have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MethodCommonRow {
    /// Its value in hexadecimal.
    pub shingle: String,
    /// The number of different sketches that have it.
    pub documents: u64,
    /// Its words, if a file that has it could be read.
    pub text: Option<String>,
    /// The number of all ignored shingles.
    pub all: u64,
}

/// A file similar to the subject (a: the subject, b: this file).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MethodFindRow {
    /// The subject as the request named it.
    #[serde(flatten, with = "fields::file")]
    pub file: PathText,
    /// The similar file; of several hard links the least path.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// True if both have equal bytes. The papers have no word for any other relation.
    #[serde(rename = "relation", serialize_with = "relation")]
    pub identical: bool,
    /// Always the bytes.
    pub layer: Layer,
    /// The share of the subject that is in this file; `null` if it is unknown.
    pub a_in_b: Fraction,
    /// The share of this file that is in the subject; `null` if it is unknown.
    pub b_in_a: Fraction,
    /// The intersection over the union; `null` if it is unknown.
    pub resemblance: Fraction,
    /// Bytes in common chunks; `null` if the method knows no chunks.
    pub shared_bytes: Option<u64>,
    /// The intervals of the estimates, if the method has them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<MethodInterval>,
    /// The paper's figure.
    pub score: Figure,
    /// The file's size.
    pub size: u64,
}

/// The intervals that contain the true values in 19 cases of 20.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MethodInterval {
    /// The resemblance.
    pub resemblance: [Fraction; 2],
    /// The share of the subject that is in this file; absent if the method does not estimate it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a_in_b: Option<[Fraction; 2]>,
    /// The share of this file that is in the subject; absent if the method does not estimate it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b_in_a: Option<[Fraction; 2]>,
}

/// Two similar files; `a` has the lesser path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MethodPairRow {
    /// The first file.
    #[serde(flatten, with = "fields::a")]
    pub a: PathText,
    /// The second file.
    #[serde(flatten, with = "fields::b")]
    pub b: PathText,
    /// The score that sorts: the paper's figure unless another one is asked for.
    pub score: Figure,
    /// The share of a that is in b; `null` if it is unknown.
    pub a_in_b: Fraction,
    /// The share of b that is in a; `null` if it is unknown.
    pub b_in_a: Fraction,
    /// The intersection over the union; `null` if it is unknown.
    pub resemblance: Fraction,
    /// Bytes in common chunks; `null` if the method knows no chunks.
    pub shared_bytes: Option<u64>,
    /// True if both have equal bytes. JSON has this only if it is true.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub identical: bool,
}

/// A file of the scope.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MethodFileRow {
    /// Its path.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Its size.
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
