//! Questions that a published method answers (`--method`).
//!
//! All are one request: whoever answers makes the signatures of the files in the scope and says
//! what follows from them. What needs no signature is left to the asker, who has the collated sets
//! of `groups`: thresholds, sizes, suffixes and a user's own rules cost no second question.

use resemble_core::Relation;
use serde::{Deserialize, Serialize};

use crate::figure::Figure;
use crate::message::answer::relation_word;
use crate::message::{Inode, Layer, Scope};
use crate::number::Fraction;
use crate::path::{PathText, fields};

/// A question for a published method.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodRequest {
    /// The params id, as `resemble_core`'s `MethodParams` prints it.
    pub params: String,
    /// The file of anchors that the params id names, if they are not the usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub anchors: Option<String>,
    /// The seed that the params id names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<String>,
    /// The dictionary that the params id names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dictionary: Option<String>,
    /// The table of basic forms that the params id names.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lemmas: Option<String>,
    /// So many processes share the work, where a method can; absent: one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shards: Option<u32>,
    /// The files; `within` empty: all roots of the daemon.
    #[serde(flatten)]
    pub scope: Scope,
    /// What is asked.
    pub question: MethodQuestion,
}

/// What is asked.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MethodQuestion {
    /// One against all. Rows: [`MethodRow::Find`], best first.
    Find(MethodFind),
    /// All against all. Rows: [`MethodRow::Pair`], best first.
    Pairs(MethodPairs),
    /// What groups are made of. Rows: [`MethodRow::File`] for every file, by path; then of sif the
    /// collated sets ([`MethodRow::Sets`]), of other methods the pairs that the bar lets through
    /// ([`MethodRow::Pair`]).
    Groups(MethodBar),
    /// Clusters out of core. Rows: [`MethodRow::File`] for every file, by path; the commonest
    /// ignored shingles ([`MethodRow::Common`]), the files with one sketch ([`MethodRow::Same`]),
    /// the links ([`MethodRow::Link`]).
    Clusters(MethodClusters),
    /// The signatures. Rows: [`MethodRow::Text`], the lines of the files by path.
    Dump,
    /// Whether all are signed. No rows: what was not signed is read and kept, what cannot be is an
    /// error.
    Sign,
}

/// Clusters out of core.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodClusters {
    /// Links from this resemblance on; absent: the threshold of the paper. 0: whatever has anything
    /// in common.
    #[serde(default)]
    pub min: Figure,
    /// Links also from this containment on, of either in the other; absent: none by containment.
    #[serde(default)]
    pub contained: Figure,
    /// Shingles in more files than this are ignored; absent: 1,000. 0: none is.
    #[serde(default)]
    pub common: Option<u32>,
    /// Bytes for sorting; absent: 512 MiB.
    #[serde(default)]
    pub memory: Option<u64>,
    /// All links, where some would do: rules may tell them apart.
    #[serde(default)]
    pub every: bool,
    /// The folder to work in. Never sent: nobody tells a daemon where to write.
    #[serde(skip)]
    pub work: Option<std::path::PathBuf>,
}

/// One against all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodFind {
    /// The subject's signature as bytes, in base64; empty: the one that the catalogue of `recorded`
    /// carries.
    pub signature: String,
    /// The digest of its content, 64 hex digits: what is equal is marked. Empty as well for a
    /// subject that is recorded.
    pub content: String,
    /// A subject that only a catalogue has: where it stands in the index.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub recorded: Option<PathText>,
    /// The name that rows carry in `file`.
    pub name: PathText,
    /// The file itself, which is left out.
    #[serde(default)]
    pub inode: Option<Inode>,
    /// Which rows.
    #[serde(flatten)]
    pub bar: MethodBar,
}

/// All against all.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MethodPairs {
    /// What sorts, and what `min` bounds.
    #[serde(default)]
    pub score: MethodScore,
    /// The figures of the rows are computed from the texts again.
    #[serde(default)]
    pub exact: bool,
    /// Which rows.
    #[serde(flatten)]
    pub bar: MethodBar,
}

/// Which rows there are. Files of equal bytes have one whatever the bar.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodBar {
    /// From this score on; absent: the threshold of the method's paper. 0: whatever has anything in
    /// common.
    #[serde(default)]
    pub min: Figure,
    /// For methods of chunks: with at least so many bytes in common chunks.
    #[serde(default)]
    pub min_shared: Option<u64>,
    /// Only the first so many rows.
    #[serde(default)]
    pub top: Option<u64>,
}

/// The score of a pair.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum MethodRow {
    /// A file similar to the subject.
    Find(MethodFindRow),
    /// Two similar files.
    Pair(MethodPairRow),
    /// A file, by the place of its row a number in the sets.
    File(MethodFileRow),
    /// The collated sets, a piece of them, in base64.
    Sets(String),
    /// A piece of the dump, in ASCII: pieces are to be put together as they are.
    Text(String),
    /// Files with one sketch, by the places of their rows, ascending.
    Same(Vec<u32>),
    /// Similar files, each the first of those with its sketch.
    Link(MethodLinkRow),
    /// A shingle that was ignored.
    Common(MethodCommonRow),
}

/// Similar files, by the places of their rows; `a` is the lesser.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodLinkRow {
    /// One file.
    pub a: u32,
    /// The other.
    pub b: u32,
    /// Their resemblance.
    pub score: Figure,
}

/// A shingle that too many files have.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodFindRow {
    /// The subject as the request named it.
    #[serde(flatten, with = "fields::file")]
    pub file: PathText,
    /// The similar file; of several hard links the least path.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// `identical`, or `null`: the papers have no such words.
    #[serde(with = "relation_word")]
    pub relation: Option<Relation>,
    /// Always the bytes.
    #[serde(default)]
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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<MethodInterval>,
    /// The paper's figure.
    pub score: Figure,
    /// The file's size.
    pub size: u64,
}

/// Where estimates lie in 19 cases of 20.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodInterval {
    /// The resemblance.
    pub resemblance: [Fraction; 2],
    /// How much of the subject is in this file; absent: the method cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub a_in_b: Option<[Fraction; 2]>,
    /// How much of this file is in the subject; absent: the method cannot tell.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub b_in_a: Option<[Fraction; 2]>,
}

/// Two similar files; `a` has the lesser path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
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
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub identical: bool,
}

/// A file of the collated sets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MethodFileRow {
    /// Its path.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Its size.
    pub size: u64,
    /// Whether it is text.
    pub text: bool,
}

impl MethodRow {
    /// The most bytes of text in one row.
    pub const PIECE: usize = 1 << 18;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Request;

    #[test]
    fn questions_and_rows_survive_the_wire() {
        let find = MethodFind {
            signature: "AAA=".into(),
            content: "00".into(),
            recorded: None,
            name: "a".into(),
            inode: Some(Inode { dev: 1, ino: 2 }),
            bar: MethodBar {
                min: Figure::new(0.1),
                min_shared: Some(7),
                top: None,
            },
        };
        for question in [
            MethodQuestion::Find(find),
            MethodQuestion::Pairs(MethodPairs {
                score: MethodScore::Containment,
                exact: true,
                bar: MethodBar::default(),
            }),
            MethodQuestion::Groups(MethodBar::default()),
            MethodQuestion::Clusters(MethodClusters {
                common: Some(0),
                ..MethodClusters::default()
            }),
            MethodQuestion::Dump,
            MethodQuestion::Sign,
        ] {
            let request = Request::Method(Box::new(MethodRequest {
                params: "sif.v1".into(),
                anchors: None,
                seed: None,
                dictionary: Some("a".into()),
                lemmas: None,
                shards: Some(2),
                scope: Scope {
                    within: vec!["/a".into()],
                    ..Scope::default()
                },
                question,
            }));
            let json = serde_json::to_string(&request).unwrap();
            assert_eq!(
                serde_json::from_str::<Request>(&json).unwrap(),
                request,
                "{json}"
            );
        }
        let row = MethodRow::Pair(MethodPairRow {
            a: "a".into(),
            b: PathText::from_bytes(b"\xff".to_vec()),
            score: Figure::new(4.0 / 3.0),
            a_in_b: Fraction::NONE,
            b_in_a: Fraction::ONE,
            resemblance: Fraction::ZERO,
            shared_bytes: None,
            identical: false,
        });
        let json = serde_json::to_string(&row).unwrap();
        assert!(
            json.contains("\"score\":1.3333333333333333,\"a_in_b\":null"),
            "{json}"
        );
        assert_eq!(serde_json::from_str::<MethodRow>(&json).unwrap(), row);
    }
}
