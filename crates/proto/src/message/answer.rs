//! What the daemon, or the command in its place, answers.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use resemble_core::Relation;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::message::figures::relation_word;
use crate::message::{
    Differs, Discount, EstimateInterval, Failure, FiguresTold, FirstSeen, Layer, MeasureUnit,
    Newer, SoftError, StatedDate, WireParams,
};
use crate::number::Fraction;
use crate::path::{PathText, fields};

/// The first line of a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// [`crate::PROTOCOL`] of the server.
    pub resemble: u32,
    /// Its version, for people.
    pub version: String,
    /// The parameters of its index: a client that sends a digest must use the same.
    pub params: WireParams,
    /// Its process id.
    pub pid: u32,
    /// Its state folder, by which a client that was given one knows the daemon that it means.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<PathText>,
}

impl Hello {
    /// The hello line of this process, for an index with these parameters.
    pub fn new(params: &resemble_core::Params) -> Self {
        Self {
            resemble: crate::PROTOCOL,
            version: crate::VERSION.to_owned(),
            params: WireParams::from(params),
            pid: std::process::id(),
            state: None,
        }
    }
}

/// One line of an answer. `R` is the type of the request's rows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply<R> {
    /// How far the work is; before the header, any number, and only if the request asks for it.
    Progress(StepProgress),
    /// First of the answer itself, exactly once.
    Header(Header),
    /// A row.
    Row(R),
    /// Something that could not be looked at; after the rows.
    Error(SoftError),
    /// Last, unless the answer failed.
    End(End),
    /// Last instead of `End`: no answer, or no whole one.
    Failed(Failure),
}

/// How far the work is that an answer waits for. It is done in steps one after the other.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepProgress {
    /// The number of the step, from 1: with another one, another step has begun.
    pub step: u64,
    /// What it does, for people.
    pub doing: String,
    /// Things that are done with: files, if there are bytes.
    pub done: u64,
    /// All of them, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<u64>,
    /// The bytes of what is done with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// All bytes, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_bytes: Option<u64>,
}

/// What holds for the answer as a whole.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// Whether the answer is that of the files as they are: no scan under way, nothing known to be
    /// stale.
    pub fresh: bool,
    /// Files known to be changed and not read yet.
    pub pending: u64,
    /// Rows of the whole answer, before `top` cuts it.
    pub total: u64,
    /// Rows that follow.
    pub shown: u64,
    /// What the question looked at, so that an answer without rows says something.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked: Option<Looked>,
    /// Files in families of so many near-copies that not every two of them are compared: `pairs`
    /// has rows of each with the first one of its family and with its neighbours by path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near_copies: Option<u64>,
    /// Archives, mails and compressed files that `pairs` did not look into.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unopened: Option<u64>,
    /// What the roots of the daemon leave out of what was asked about, by root and rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

impl Header {
    /// What holds for two answers together. Rows are added up; `looked` is that of the first
    /// answer, since both looked at the same files.
    #[must_use]
    pub fn and(self, next: Self) -> Self {
        Self {
            fresh: self.fresh && next.fresh,
            pending: self.pending.max(next.pending),
            total: self.total + next.total,
            shown: self.shown + next.shown,
            looked: self.looked.or(next.looked),
            near_copies: sum(self.near_copies, next.near_copies),
            unopened: sum(self.unopened, next.unopened),
            left_out: if self.left_out.is_empty() {
                next.left_out
            } else {
                self.left_out
            },
        }
    }
}

/// What a root leaves out on purpose, by one of its rules.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeftOut {
    /// The root.
    #[serde(flatten, with = "fields::root")]
    pub root: PathText,
    /// The rule.
    pub rule: LeftOutWord,
    /// Names that the rule leaves out. A directory is one, however much is below.
    pub entries: u64,
}

/// The rule that leaves something out.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum LeftOutWord {
    /// A pattern of the root.
    Exclude,
    /// An ignore file, or the name `.git`.
    Ignore,
    /// The most size of the root.
    MaxSize,
    /// Another file system.
    OneFileSystem,
    /// Any rule that only a newer server knows.
    #[serde(other)]
    Other,
}

impl LeftOutWord {
    /// The word in every output.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// Of two numbers both, if there are both.
fn sum(ours: Option<u64>, theirs: Option<u64>) -> Option<u64> {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) => Some(ours + theirs),
        (ours, theirs) => ours.or(theirs),
    }
}

/// What a question looked at.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    /// Regular files that took part, hard links once.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Files that could not be read.
    pub unreadable: u64,
    /// Files left out by rule: a pattern, a size, a file system.
    pub skipped: u64,
    /// Files of fewer than 256 bytes, too small to be judged unless identical.
    pub small: u64,
    /// From this length in bytes on, a common run is found for certain, unless too many files have
    /// it.
    pub least_run: u64,
}

/// The last line of a whole answer, to tell it from one that was cut off.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// Rows that were sent.
    pub rows: u64,
    /// Soft errors that were sent.
    pub errors: u64,
}

/// A whole answer in memory: what a question returns, and what the daemon turns into lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer<R> {
    /// What holds for all rows.
    pub header: Header,
    /// The rows, in the order of the request.
    pub rows: Vec<R>,
    /// What could not be looked at, by path.
    pub errors: Vec<SoftError>,
}

impl<R> Answer<R> {
    /// A fresh answer of these rows, all of them shown.
    pub fn fresh(rows: Vec<R>, errors: Vec<SoftError>) -> Self {
        let count = rows.len() as u64;
        let header = Header {
            fresh: true,
            pending: 0,
            total: count,
            shown: count,
            ..Header::default()
        };
        Self {
            header,
            rows,
            errors,
        }
    }

    /// Keeps the first `top` rows; the header says so.
    #[must_use]
    pub fn cut(mut self, top: Option<u64>) -> Self {
        if let Some(top) = top {
            self.rows
                .truncate(usize::try_from(top).unwrap_or(usize::MAX));
        }
        self.header.shown = self.rows.len() as u64;
        self
    }

    /// The lines of the answer, in order.
    pub fn into_replies(self) -> impl Iterator<Item = Reply<R>> {
        let end = End {
            rows: self.rows.len() as u64,
            errors: self.errors.len() as u64,
        };
        std::iter::once(Reply::Header(self.header))
            .chain(self.rows.into_iter().map(Reply::Row))
            .chain(self.errors.into_iter().map(Reply::Error))
            .chain(std::iter::once(Reply::End(end)))
    }
}

/// A file similar to the subject (a: the subject, b: this file).
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindRow {
    /// The subject as the request named it.
    #[serde(flatten, with = "fields::file")]
    pub file: PathText,
    /// The similar file; of several hard links the least path.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// How they relate; `null` below every threshold (with a low `min` only).
    #[serde(with = "relation_word")]
    pub relation: Option<Relation>,
    /// What the shares are of.
    #[serde(default)]
    pub unit: MeasureUnit,
    /// Which layer the figures are from.
    #[serde(default)]
    pub layer: Layer,
    /// The figures are estimates; else they are those of the contents.
    #[serde(default)]
    pub estimate: bool,
    /// How much of the subject is in this file.
    pub a_in_b: Fraction,
    /// How much of this file is in the subject.
    pub b_in_a: Fraction,
    /// Shared over union.
    pub resemblance: Fraction,
    /// Proven common bytes, a lower bound.
    pub shared_bytes: u64,
    /// Where the figures lie, if they are estimates of two contents; else absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<EstimateInterval>,
    /// `only in numbers`, if both texts were read and differ in nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<Differs>,
    /// In how many numbers they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<u64>,
    /// The date that this file, a document, states of itself; absent if it states none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_date: Option<StatedDate>,
    /// The name of this file's owner, or the owner's number if it has no name; absent where the
    /// command has not looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// When and as what the content of this file was first seen; absent where no daemon knows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_seen: Option<FirstSeen>,
    /// Which of both is the newer one.
    #[serde(flatten)]
    pub age: Newer,
    /// The score after the discount for common text, where that makes a difference.
    #[serde(flatten)]
    pub discount: Discount,
}

impl FindRow {
    /// Whether both have equal bytes.
    pub fn is_identical(&self) -> bool {
        self.relation == Some(Relation::Identical)
    }

    /// The score that sorts and that `min` bounds: the larger containment.
    pub fn score(&self) -> Fraction {
        self.a_in_b.max(self.b_in_a)
    }
}

/// A pair of files with something in common; `a` has the lesser path.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairRow {
    /// One file.
    #[serde(flatten, with = "fields::a")]
    pub a: PathText,
    /// The other.
    #[serde(flatten, with = "fields::b")]
    pub b: PathText,
    /// The score asked for, by which rows are sorted.
    pub score: Fraction,
    /// How much of a is in b.
    pub a_in_b: Fraction,
    /// How much of b is in a.
    pub b_in_a: Fraction,
    /// Shared over union.
    pub resemblance: Fraction,
    /// Bytes of the smaller file that the other has too; of an estimate those that are proven.
    pub shared_bytes: u64,
    /// How they relate, and what the figures are.
    #[serde(flatten)]
    pub told: FiguresTold,
    /// Whether both have equal bytes: only such pairs are 100 % in text. In JSON only if true.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub identical: bool,
    /// How many files have the bytes of both, if this row stands for more than two. In JSON only
    /// then.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<u64>,
    /// Which layer the figures are from. In JSON only if it is not the bytes.
    #[serde(default, skip_serializing_if = "Layer::is_bytes")]
    pub layer: Layer,
    /// Which of both is the newer one.
    #[serde(flatten)]
    pub age: Newer,
    /// The name of the owner of a, or the owner's number if it has no name; absent where the
    /// command has not looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_a: Option<String>,
    /// The same of b.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_b: Option<String>,
    /// The score after the discount for common text, where that makes a difference.
    #[serde(flatten)]
    pub discount: Discount,
}

/// Whether the daemon can answer for a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverRow {
    /// The path asked about.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Whether it lies under a root that is there, and is not left out by rule.
    pub covered: bool,
}

/// A piece of a dump. The pieces, one after the other, are the dump. A piece is not a line: a file
/// of many chunks has a line of any length in the dump, and a line of the protocol has a limit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DumpRow {
    /// ASCII with the dump's own newlines, or base64 if the dump is no text.
    pub text: String,
}

impl DumpRow {
    /// The most bytes of a piece.
    pub const PIECE: usize = 64 * 1024;

    /// A row for a piece that is no text, as base64.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self {
            text: BASE64.encode(bytes),
        }
    }

    /// The bytes of a piece that is no text; `None` if it is no base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        BASE64.decode(&self.text).ok()
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
