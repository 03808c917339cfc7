//! The requests of a client.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Deserializer, Serialize, Serializer, de};
use strum::IntoStaticStr;

use crate::message::relation::PairRelation;
use crate::message::scope::yes;
use crate::message::{
    AlertRules, CompareRequest, CoveredRequest, DepartedRequest, DirsRequest, FileDates,
    FirstSeenRequest, GroupsRequest, HoldersRequest, Inode, MarkRequest, MeasureUnit, MountView,
    RootRules, Scope, WireDigest,
};
use crate::number::Fraction;
use crate::path::PathText;

/// A question or a command to the daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(tag = "request", rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Request {
    /// Finds files similar to one. Rows: [`crate::message::FindRow`], best first.
    Find(FindRequest),
    /// Finds every file that holds a piece of one. Rows: [`crate::message::HolderRow`], candidates.
    Holders(HoldersRequest),
    /// Finds where the contents of paths went. Rows: [`crate::message::DepartedRow`].
    Departed(DepartedRequest),
    /// Reports when the contents of files were first seen. Rows: [`crate::message::FirstSeenRow`].
    FirstSeen(FirstSeenRequest),
    /// Lists all pairs among files. Rows: [`crate::message::PairRow`], best first.
    Pairs(PairsRequest),
    /// Compares two directories by content. Rows: [`crate::message::ComparePart`].
    Compare(CompareRequest),
    /// Reports whether a directory can be deleted. Rows: [`crate::message::CoveredPart`].
    Covered(CoveredRequest),
    /// Lists similar directories. Rows: [`crate::message::DirRow`], biggest saving first.
    Dirs(DirsRequest),
    /// Lists identical sets and clusters. Rows: [`crate::message::GroupsPart`].
    Groups(GroupsRequest),
    /// Lists all paths with similar files side by side. Rows: [`crate::message::OrderRow`].
    Order(GroupsRequest),
    /// Marks the common content of files as a template. One row: [`crate::message::TemplateRow`].
    TemplatesMark(MarkRequest),
    /// Lists the templates. Rows: [`crate::message::TemplateRow`].
    TemplatesList,
    /// Unmarks a template. One row: [`crate::message::TemplateRow`].
    TemplatesUnmark {
        /// Its id or name.
        which: String,
    },
    /// Returns the state of the daemon. One row: [`crate::message::StatusAnswer`].
    Status,
    /// Waits until every earlier change is in the index, the overlay and the alert queue; no rows.
    /// Fails with [`crate::message::FailureKind::Timeout`].
    Sync {
        /// Milliseconds until it gives up; `None`: never.
        #[serde(default)]
        timeout_ms: Option<u64>,
    },
    /// Writes the canonical dump. Rows: [`crate::message::DumpRow`].
    Dump {
        /// Directories to include; empty: all roots.
        #[serde(default)]
        roots: Vec<PathText>,
    },
    /// Writes a dump in another form. Rows: [`crate::message::DumpRow`].
    DumpAs {
        /// Directories to include; empty: all roots.
        #[serde(default)]
        roots: Vec<PathText>,
        /// The form.
        form: DumpForm,
    },
    /// Adds a root, and keeps it across restarts. One row: [`crate::message::WatchRow`].
    WatchAdd {
        /// The directory, absolute.
        path: PathText,
        /// The rules of its scan.
        #[serde(flatten)]
        rules: RootRules,
        /// The rules of its alerts.
        #[serde(flatten)]
        alerts: AlertRules,
    },
    /// Imports a catalogue. It replaces any catalogue with the same label. One row:
    /// [`crate::message::WatchRow`].
    Import {
        /// The file, absolute.
        path: PathText,
        /// Its label: see [`crate::catalogued::is_label`].
        label: String,
    },
    /// Removes a root or a catalogue, and deletes its content from the index; no rows.
    WatchRemove {
        /// The root, absolute; or the path of the catalogue ([`crate::catalogued::of_label`]).
        path: PathText,
    },
    /// Lists the roots and the catalogues. Rows: [`crate::message::WatchRow`].
    WatchList,
    /// Lists the stored alerts, oldest first. Rows: [`crate::message::AlertRow`].
    Alerts {
        /// Continue with new alerts until the connection is closed.
        #[serde(default)]
        follow: bool,
        /// Only alerts with a greater number than this.
        #[serde(default)]
        after: u64,
    },
    /// Marks two files as seen together, which ends alerts about their contents. Rows:
    /// [`crate::message::AckRow`], the new marks.
    Ack {
        /// A file, absolute.
        a: PathText,
        /// The other one; `None`: every file that `a` resembles enough for an alert.
        #[serde(default)]
        b: Option<PathText>,
        /// True to mark `a` and all these files as one group: no two of them raise an alert.
        #[serde(default)]
        group: bool,
    },
    /// Lists the marks, oldest first. Rows: [`crate::message::AckRow`].
    AckList,
    /// Removes marks. Rows: [`crate::message::AckRow`], the removed marks.
    AckUndo {
        /// A file, absolute: all marks of its content.
        a: PathText,
        /// Another file, absolute: only marks about both contents.
        #[serde(default)]
        b: Option<PathText>,
    },
    /// Mounts the overlay, and answers when the mount point responds. One row:
    /// [`crate::message::MountRow`].
    Mount {
        /// The mount point, absolute; `None`: the configured one, with its link.
        #[serde(default)]
        path: Option<PathText>,
        /// The view; `None`: the configured one, or folders at any other mount point.
        #[serde(default)]
        view: Option<MountView>,
    },
    /// Unmounts the overlay. One row: its state before.
    Unmount {
        /// The mount point; `None`: the only one.
        #[serde(default)]
        path: Option<PathText>,
    },
    /// Reports which paths are covered: below a root, not left out, and not below a directory that
    /// could not be listed. One [`crate::message::CoverRow`] for each path, in the order of the
    /// request.
    Covers {
        /// Absolute paths.
        paths: Vec<PathText>,
        /// True if nothing below them may be left out, either.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        whole: bool,
    },
}

/// A request as a line, and whether to report progress. An older daemon ignores that field.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Asked<'a> {
    /// The request.
    #[serde(flatten)]
    pub request: &'a Request,
    /// True to send reports of progress ([`crate::message::StepProgress`]).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub progress: bool,
}

impl Asked<'_> {
    /// Returns whether the request in this line asks for progress.
    pub fn wants_progress(line: &[u8]) -> bool {
        #[derive(Deserialize)]
        struct Besides {
            #[serde(default)]
            progress: bool,
        }
        serde_json::from_slice(line).is_ok_and(|besides: Besides| besides.progress)
    }
}

impl Request {
    /// Returns the word on the wire and in logs.
    pub fn word(&self) -> &'static str {
        self.into()
    }
}

/// The forms of a dump.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DumpForm {
    /// One line for each path, with only the state of the tree.
    #[default]
    Canonical,
    /// One line for each chunk: length, MD5, number of the file.
    Chunks,
    /// One line for each file: its number among the chunks, and its path.
    Files,
    /// A catalogue. It is binary: each row carries a piece of it as base64.
    Catalogue(CatalogueForm),
}

/// Contents and size limits of a catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogueForm {
    /// Its label: see [`crate::catalogued::is_label`].
    pub label: String,
    /// Time of its export, in seconds since 1970.
    pub created: i64,
    /// True if the answer includes names, times of change, directories and links.
    pub names: bool,
    /// True if the answer includes the texts of documents and the members of archives.
    pub text: bool,
    /// Largest size of the catalogue, as a share of the bytes of the contents. Samples are thinned
    /// until it fits, see `resemble_catalogue`. 1: nothing is thinned.
    pub within: Fraction,
    /// A catalogue of at most this many bytes is never thinned.
    #[serde(default)]
    pub small: u64,
}

/// `find`: one subject and the files it is compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindRequest {
    /// The file or content to find similar files of.
    pub subject: Subject,
    /// The scope and the selection of rows.
    #[serde(flatten)]
    pub options: FindOptions,
}

/// The options of a `find`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FindOptions {
    /// The files to compare with. The subject itself need not be one of them.
    #[serde(flatten)]
    pub scope: Scope,
    /// Only rows whose larger containment is at least this; absent: those with a relation.
    #[serde(default)]
    pub min: Fraction,
    /// Only rows with at least this many shared bytes, identical files aside; absent: 256.
    #[serde(default)]
    pub min_shared: Option<u64>,
    /// Only rows of these relations, seen from the subject; empty: every row, with or without a
    /// relation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relation: Vec<PairRelation>,
    /// Include rows that the listing rule drops: many other files share their common content.
    #[serde(default)]
    pub all: bool,
    /// Number of rows to return, from the first; the header still counts all.
    #[serde(default)]
    pub top: Option<u64>,
    /// Compute the measures from the bytes of both files, where they can be read.
    #[serde(default)]
    pub exact: bool,
    /// The unit of the measures.
    #[serde(default)]
    pub unit: MeasureUnit,
    /// Compare also the texts of documents and the members of archives, where the roots have
    /// extracted them.
    #[serde(default = "yes")]
    pub text: bool,
}

/// The file or content that others are compared with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// An indexed file. Fails with [`crate::message::FailureKind::NotIndexed`] if it is not.
    File(PathText),
    /// Bytes that the client has read: standard input, or a file outside the roots.
    Content {
        /// The digest of the bytes, made with the parameters of [`crate::message::Hello`].
        digest: Box<WireDigest>,
        /// The name that rows carry in `file`.
        name: PathText,
        /// The file that the bytes were read from, if it was one. Files with its inode are left out
        /// of the answer.
        #[serde(default)]
        inode: Option<Inode>,
        /// The other renditions: the text of a document, the contents of an archive.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        others: Vec<WireRendition>,
        /// The members, if it is an archive or a mail, without chunks; at most 1,000.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        held: Vec<WireDigest>,
        /// The absolute path where the bytes can be read again, for exact measures.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<PathText>,
        /// The bytes, if they are few and cannot be read again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<Box<WireBytes>>,
        /// The last change of the file, and the date that it states.
        #[serde(default)]
        dates: FileDates,
    },
}

/// Bytes; base64 on the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WireBytes(pub Vec<u8>);

impl Serialize for WireBytes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&BASE64.encode(&self.0))
    }
}

impl<'de> Deserialize<'de> for WireBytes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        BASE64.decode(text).map(Self).map_err(de::Error::custom)
    }
}

/// A further rendition of a file, beyond its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireRendition {
    /// The role of the content.
    pub stands: StandsAs,
    /// The digest of the content. The digest of a whole has no chunks.
    pub digest: WireDigest,
}

/// The role of a content that represents a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StandsAs {
    /// The only content packed in the file.
    Unpacked,
    /// The text of the file.
    Text,
    /// All texts in the archive, as one whole.
    WholeText,
    /// All contents of the archive that are not texts, as one whole.
    WholeBytes,
}

/// `pairs`: every pair among the files of some directories.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // each is a switch of its own
pub struct PairsRequest {
    /// The files; `within` is not empty.
    #[serde(flatten)]
    pub scope: Scope,
    /// The score that rows are sorted by and `min` applies to.
    #[serde(default)]
    pub score: PairScore,
    /// Only pairs whose score is at least this; absent: every pair with enough evidence.
    #[serde(default)]
    pub min: Fraction,
    /// Only pairs with at least this many shared bytes, identical files aside; absent: 256.
    #[serde(default)]
    pub min_shared: Option<u64>,
    /// Number of rows to return, from the first; the header still counts all.
    #[serde(default)]
    pub top: Option<u64>,
    /// Compute the measures from the bytes of both files.
    #[serde(default)]
    pub exact: bool,
    /// Read no file: all figures are estimates, except those of equal contents.
    #[serde(default)]
    pub estimate: bool,
    /// The unit of the measures.
    #[serde(default)]
    pub unit: MeasureUnit,
    /// Compare documents by their texts, where the roots have extracted them.
    #[serde(default = "yes")]
    pub text: bool,
    /// With `text`, compare archives, mails and compressed files by their contents. Otherwise they
    /// have rows only with identical files.
    #[serde(default)]
    pub archives: bool,
    /// One row for every two of several identical files; otherwise one for all of them.
    #[serde(default)]
    pub all: bool,
    /// Only pairs of these relations, in either direction; empty: every pair, with or without a
    /// relation.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relation: Vec<PairRelation>,
    /// The order of rows.
    #[serde(default, skip_serializing_if = "PairOrder::is_score")]
    pub order: PairOrder,
}

/// The order of the rows of `pairs`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum PairOrder {
    /// The score, best first.
    #[default]
    Score,
    /// The pairs most worth reading first. Pairs that have a relation and differ precede those with
    /// the same bytes or words; the others follow. Within each, pairs with more common bytes that
    /// are rare in other files come first.
    Worth,
}

impl PairOrder {
    #[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
    pub(crate) fn is_score(&self) -> bool {
        *self == Self::Score
    }
}

/// The score of a pair.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum PairScore {
    /// The larger share of one file that is in the other.
    #[default]
    Containment,
    /// The common part over the union of both.
    Resemblance,
    /// The larger share of rare content; frames and boilerplate count less.
    Discounted,
}
