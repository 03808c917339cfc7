//! Questions that a published method answers, and their answers.
//!
//! All are one request: whoever answers makes the signatures of the files in the scope and says
//! what follows from them. What needs no signature is left to the asker, who has the collated sets
//! of `groups`: thresholds, sizes, suffixes and a user's own rules cost no second question.

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
    /// So many processes share the work, where a method can; absent: one.
    pub shards: Option<u32>,
    /// The files, at or below one path at least.
    pub scope: Scope,
    /// What is asked.
    pub question: MethodQuestion,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq)]
pub enum MethodQuestion {
    /// One against all. Rows: [`MethodRow::Find`], best first.
    Find(MethodFind),
    /// All against all. Rows: [`MethodRow::Pair`], best first.
    Pairs(MethodPairs),
    /// What groups are made of. Rows: [`MethodRow::File`] for every file, by path; then of sif the
    /// collated sets ([`MethodRow::Sets`]), of other methods the pairs that the limits let through
    /// ([`MethodRow::Pair`]).
    Groups(MethodLimits),
    /// Clusters out of core. Rows: [`MethodRow::File`] for every file, by path; the commonest
    /// ignored shingles ([`MethodRow::Common`]), the files with one sketch ([`MethodRow::Same`]),
    /// the links ([`MethodRow::Link`]).
    Clusters(MethodClusters),
    /// The signatures. Rows: [`MethodRow::Text`], the lines of the files by path.
    Dump,
}

/// Clusters out of core.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MethodClusters {
    /// Links from this resemblance on; absent: the threshold of the paper. 0: whatever has anything
    /// in common.
    pub min: Figure,
    /// Links also from this containment on, of either in the other; absent: none by containment.
    pub contained: Figure,
    /// Shingles in more files than this are ignored; absent: 1,000. 0: none is.
    pub common: Option<u32>,
    /// Bytes for sorting; absent: 512 MiB.
    pub memory: Option<u64>,
    /// All links, where some would do: rules may tell them apart.
    pub every: bool,
    /// The folder to work in.
    pub work: Option<std::path::PathBuf>,
}

/// One against all.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodFind {
    /// The subject's signature.
    pub signature: MethodSignature,
    /// The digest of its content: what is equal is marked.
    pub content: ContentDigest,
    /// The name that rows carry in `file`.
    pub name: PathText,
    /// Which rows.
    pub limits: MethodLimits,
}

/// All against all.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodPairs {
    /// What sorts, and what `min` bounds.
    pub score: MethodScore,
    /// The figures of the rows are computed from the texts again.
    pub exact: bool,
    /// Which rows.
    pub limits: MethodLimits,
}

/// Which rows there are. Files of equal bytes have one whatever the limits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct MethodLimits {
    /// From this score on; absent: the threshold of the method's paper. 0: whatever has anything in
    /// common.
    pub min: Figure,
    /// For methods of chunks: with at least so many bytes in common chunks.
    pub min_shared: Option<u64>,
    /// Only the first so many rows.
    pub top: Option<u64>,
}

/// The score of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MethodScore {
    /// The paper's figure; where it depends on which file is asked about, the larger one.
    #[default]
    Paper,
    /// The larger of both containments.
    Containment,
    /// Shared over union.
    Resemblance,
}

/// A row of the answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MethodRow {
    /// A file similar to the subject.
    Find(MethodFindRow),
    /// Two similar files.
    Pair(MethodPairRow),
    /// A file, by the place of its row a number in the sets.
    File(MethodFileRow),
    /// The collated sets.
    Sets(Collated),
    /// A line of the dump, in ASCII.
    Text(String),
    /// Files with one sketch, by the places of their rows, ascending.
    Same(Vec<u32>),
    /// Similar files, each the first of those with its sketch.
    Link(MethodLinkRow),
    /// A shingle that was ignored.
    Common(MethodCommonRow),
}

/// Similar files, by the places of their rows; `a` is the lesser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MethodLinkRow {
    /// One file.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// Their resemblance.
    pub score: Figure,
}

/// A shingle that too many files have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MethodCommonRow {
    /// Its value, hexadecimal.
    pub shingle: String,
    /// How many different sketches have it.
    pub documents: u64,
    /// Its words, if they were found.
    pub text: Option<String>,
    /// How many shingles were ignored in all.
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
    /// Whether both have equal bytes: no other relation has a word in the papers.
    #[serde(rename = "relation", serialize_with = "relation")]
    pub identical: bool,
    /// Always the bytes.
    pub layer: Layer,
    /// How much of the subject is in this file; `null`: cannot be told.
    pub a_in_b: Fraction,
    /// How much of this file is in the subject; `null`: cannot be told.
    pub b_in_a: Fraction,
    /// Shared over union.
    pub resemblance: Fraction,
    /// Bytes in common chunks; `null`: the method knows no chunks.
    pub shared_bytes: Option<u64>,
    /// Where the estimates lie, of methods that say so.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interval: Option<MethodInterval>,
    /// The paper's figure.
    pub score: Figure,
    /// The file's size.
    pub size: u64,
}

/// Where estimates lie in 19 cases of 20.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct MethodInterval {
    /// The resemblance.
    pub resemblance: [Fraction; 2],
    /// How much of the subject is in this file; absent: the method cannot tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub a_in_b: Option<[Fraction; 2]>,
    /// How much of this file is in the subject; absent: the method cannot tell.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub b_in_a: Option<[Fraction; 2]>,
}

/// Two similar files; `a` has the lesser path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MethodPairRow {
    /// One file.
    #[serde(flatten, with = "fields::a")]
    pub a: PathText,
    /// The other.
    #[serde(flatten, with = "fields::b")]
    pub b: PathText,
    /// What sorts: the paper's figure unless another is asked for.
    pub score: Figure,
    /// How much of a is in b; `null`: cannot be told.
    pub a_in_b: Fraction,
    /// How much of b is in a; `null`: cannot be told.
    pub b_in_a: Fraction,
    /// Shared over union.
    pub resemblance: Fraction,
    /// Bytes in common chunks; `null`: the method knows no chunks.
    pub shared_bytes: Option<u64>,
    /// Both have equal bytes. In JSON only if true.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub identical: bool,
}

/// A file of the collated sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MethodFileRow {
    /// Its path.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Its size.
    pub size: u64,
    /// Whether it is text.
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
            b: PathText::from_bytes(b"\xff".to_vec()),
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
