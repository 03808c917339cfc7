//! Answers, which the daemon sends or the command itself makes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use resemble_core::Relation;
use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::message::figures::relation_word;
use crate::message::{
    Differs, Discount, EstimateInterval, Failure, FirstSeen, Layer, MeasureUnit, Newer,
    PairFigures, SoftError, StatedDate, WireParams,
};
use crate::number::Fraction;
use crate::path::{PathText, fields};

/// The first line that the daemon sends on a connection.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// The number of the server's protocol, [`crate::PROTOCOL`].
    pub resemble: u32,
    /// The version of the server, for people.
    pub version: String,
    /// The parameters of the server's index. A client that sends a digest must use the same
    /// parameters.
    pub params: WireParams,
    /// The process id of the server.
    pub pid: u32,
    /// The state folder of the server. A client that was started with a state folder compares that
    /// folder with this one. So the client knows whether the daemon is its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub state: Option<PathText>,
}

impl Hello {
    /// Returns the hello line of this process, whose index has these parameters.
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

/// A line of an answer. `R` is the type of the rows of the answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reply<R> {
    /// The progress of the work. Lines of this kind precede the header, and are sent only on
    /// request.
    Progress(StepProgress),
    /// The first line of the answer itself. There is exactly one.
    Header(Header),
    /// A row of the answer. Rows follow the header.
    Row(R),
    /// A path that could not be checked. Lines of this kind follow the rows.
    Error(SoftError),
    /// The last line of an answer that has not failed.
    End(End),
    /// The last line of an answer that has failed or is incomplete. It replaces `End`.
    Failed(Failure),
}

/// The progress of the work before an answer. The work is a sequence of steps.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StepProgress {
    /// The number of the step, counted from 1. A new number means that another step has begun.
    pub step: u64,
    /// The action of this step, for people.
    pub doing: String,
    /// The number of finished items. The items are files if `bytes` is present.
    pub done: u64,
    /// The number of all items, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<u64>,
    /// The number of bytes of the finished items.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bytes: Option<u64>,
    /// The number of bytes of all items, if it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all_bytes: Option<u64>,
}

/// The fields that apply to the whole answer.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Header {
    /// True if the answer is about the present files: no scan is under way, and nothing is known to
    /// be stale.
    pub fresh: bool,
    /// The number of files that are known to have changed but were not read yet.
    pub pending: u64,
    /// The number of rows of the whole answer, before `top` cuts it.
    pub total: u64,
    /// The number of rows that follow.
    pub shown: u64,
    /// The scope of the question, so that an answer without rows is informative.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub looked: Option<Looked>,
    /// The number of files in families that are too large for all their pairs to be compared. In
    /// `pairs`, such a file has rows only with the first file of its family and with its neighbours
    /// by path.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub near_copies: Option<u64>,
    /// The number of archives, mails and compressed files that `pairs` did not open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unopened: Option<u64>,
    /// The names in the scope of the question that the roots of the daemon leave out. They are
    /// counted by root and rule.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub left_out: Vec<LeftOut>,
}

impl Header {
    /// Merges the headers of two answers about the same files. The counts are added up, except
    /// `pending`: the larger number is kept. `looked` and `left_out` are those of the first answer
    /// that has them.
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

/// Names that a root leaves out on purpose, by one of its rules.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LeftOut {
    /// The root.
    #[serde(flatten, with = "fields::root")]
    pub root: PathText,
    /// The rule.
    pub rule: LeftOutWord,
    /// The number of names that the rule leaves out. A directory and everything below it count as
    /// one name.
    pub entries: u64,
}

/// A rule by which names are left out.
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
    /// The maximum size of the root.
    MaxSize,
    /// Another file system.
    OneFileSystem,
    /// Any rule that only a newer server has.
    #[serde(other)]
    Other,
}

impl LeftOutWord {
    /// Returns the word for the rule in every output.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// Adds two numbers if both exist. If only one exists, returns it.
fn sum(ours: Option<u64>, theirs: Option<u64>) -> Option<u64> {
    match (ours, theirs) {
        (Some(ours), Some(theirs)) => Some(ours + theirs),
        (ours, theirs) => ours.or(theirs),
    }
}

/// The files that a question covered.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Looked {
    /// The number of regular files that took part. A file with several hard links is counted once.
    pub files: u64,
    /// The bytes of these files.
    pub bytes: u64,
    /// Files that could not be read.
    pub unreadable: u64,
    /// Files left out by a rule: a pattern, a size, a file system.
    pub skipped: u64,
    /// Files of fewer than 256 bytes, which are too small to judge unless identical.
    pub small: u64,
    /// A common run of at least this many bytes is certainly found, unless too many files have it.
    pub least_run: u64,
}

/// The last line of a complete answer. An answer without it is truncated.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct End {
    /// The number of rows that were sent.
    pub rows: u64,
    /// The number of soft errors that were sent.
    pub errors: u64,
}

/// A complete answer in memory. A question returns it, and the daemon sends it as lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer<R> {
    /// The header, which applies to all rows.
    pub header: Header,
    /// The rows, in the order that the request demands.
    pub rows: Vec<R>,
    /// The paths that could not be checked, in order.
    pub errors: Vec<SoftError>,
}

impl<R> Answer<R> {
    /// Returns an answer with all these rows. The header says that the answer is fresh.
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

    /// Keeps only the first `top` rows, and updates the number of rows in the header.
    #[must_use]
    pub fn cut(mut self, top: Option<u64>) -> Self {
        if let Some(top) = top {
            self.rows
                .truncate(usize::try_from(top).unwrap_or(usize::MAX));
        }
        self.header.shown = self.rows.len() as u64;
        self
    }

    /// Returns the lines of the answer in the order in which they are sent.
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
    /// The similar file. If it has several hard links, this is the path that sorts first.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// The relation; `null` if the pair is below every threshold (only with a low `min`).
    #[serde(with = "relation_word")]
    pub relation: Option<Relation>,
    /// The unit of the shares.
    #[serde(default)]
    pub unit: MeasureUnit,
    /// The layer of the figures.
    #[serde(default)]
    pub layer: Layer,
    /// True if the figures are estimates, false if they were measured on the contents.
    #[serde(default)]
    pub estimate: bool,
    /// Share of the subject that is in this file.
    pub a_in_b: Fraction,
    /// Share of this file that is in the subject.
    pub b_in_a: Fraction,
    /// The shared part of all content of both files.
    pub resemblance: Fraction,
    /// Proven common bytes, a lower bound.
    pub shared_bytes: u64,
    /// The intervals of the figures, if they are estimates of two contents; otherwise absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub interval: Option<EstimateInterval>,
    /// `only in numbers`, if both texts were read and are equal otherwise.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub differs: Option<Differs>,
    /// The number of differing numbers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbers: Option<u64>,
    /// The date that this file states, if it is a document; absent if it states no date.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub document_date: Option<StatedDate>,
    /// The name of this file's owner, or the owner's number if the owner has no name. Absent if the
    /// command did not look up the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The time and path at which this file's content was first seen; absent if no daemon knows
    /// them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub first_seen: Option<FirstSeen>,
    /// The newer of the two files.
    #[serde(flatten)]
    pub age: Newer,
    /// The score after the discount for common text, if the discount changes it.
    #[serde(flatten)]
    pub discount: Discount,
}

impl FindRow {
    /// Returns whether the two files have equal bytes.
    pub fn is_identical(&self) -> bool {
        self.relation == Some(Relation::Identical)
    }

    /// Returns the larger containment. Rows are sorted by this score, and `min` is compared with
    /// it.
    pub fn score(&self) -> Fraction {
        self.a_in_b.max(self.b_in_a)
    }
}

/// A pair of files with something in common; the path of `a` sorts first.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PairRow {
    /// The file whose path sorts first.
    #[serde(flatten, with = "fields::a")]
    pub a: PathText,
    /// The other file.
    #[serde(flatten, with = "fields::b")]
    pub b: PathText,
    /// The requested score. Rows are sorted by it unless the order is `worth`.
    pub score: Fraction,
    /// Share of a that is in b.
    pub a_in_b: Fraction,
    /// Share of b that is in a.
    pub b_in_a: Fraction,
    /// The shared part of all content of both files.
    pub resemblance: Fraction,
    /// Bytes of the smaller file that the other file also has; for an estimate, only the proven
    /// bytes.
    pub shared_bytes: u64,
    /// The relation, and the kind of the figures.
    #[serde(flatten)]
    pub told: PairFigures,
    /// True if both files have equal bytes. Only such pairs are shown as 100 % in text. JSON omits
    /// the field if it is false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub identical: bool,
    /// The number of files with these bytes, if this row represents more than two files. JSON omits
    /// the field in all other cases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub copies: Option<u64>,
    /// The layer of the figures. JSON omits the layer `bytes`.
    #[serde(default, skip_serializing_if = "Layer::is_bytes")]
    pub layer: Layer,
    /// The newer of the two files.
    #[serde(flatten)]
    pub age: Newer,
    /// The name of the owner of a, or the owner's number if the owner has no name. Absent if the
    /// command did not look up the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_a: Option<String>,
    /// The name or the number of the owner of b, as in `owner_a`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_b: Option<String>,
    /// The score after the discount for common text, if the discount changes it.
    #[serde(flatten)]
    pub discount: Discount,
}

/// The answer to the question whether the daemon can answer for a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverRow {
    /// The path that was asked about.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// True if the path is covered: see [`crate::message::Request::Covers`].
    pub covered: bool,
}

/// A piece of a dump. The dump is all pieces, joined. A piece is not a line: a line of the dump may
/// be longer than a line of the protocol.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DumpRow {
    /// The text of the piece with its newlines, all ASCII. If the dump is binary, it is base64.
    pub text: String,
}

impl DumpRow {
    /// The maximum size of a piece in bytes.
    pub const PIECE: usize = 64 * 1024;

    /// Returns the row of a binary piece, which becomes base64.
    pub fn of_bytes(bytes: &[u8]) -> Self {
        Self {
            text: BASE64.encode(bytes),
        }
    }

    /// Returns the bytes of a binary piece. Returns `None` if the text is not base64.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        BASE64.decode(&self.text).ok()
    }
}

#[cfg(test)]
#[path = "answer_tests.rs"]
mod tests;
