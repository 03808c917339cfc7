//! The requests that a client sends.

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
    /// Finds the files similar to a given file. Rows: [`crate::message::FindRow`], best first.
    Find(FindRequest),
    /// Finds every file that contains a piece of a given file. Rows: [`crate::message::HolderRow`],
    /// which are candidates.
    Holders(HoldersRequest),
    /// Finds where the former contents of paths are now. Rows: [`crate::message::DepartedRow`].
    Departed(DepartedRequest),
    /// Reports when the contents of files were first seen. Rows: [`crate::message::FirstSeenRow`].
    FirstSeen(FirstSeenRequest),
    /// Finds all pairs of similar files. Rows: [`crate::message::PairRow`], best first.
    Pairs(PairsRequest),
    /// Compares two directories by content. Rows: [`crate::message::ComparePart`].
    Compare(CompareRequest),
    /// Checks whether a directory can be deleted. Rows: [`crate::message::CoveredPart`].
    Covered(CoveredRequest),
    /// Finds similar directories. Rows: [`crate::message::DirRow`], the largest number of shared
    /// bytes first.
    Dirs(DirsRequest),
    /// Finds sets of identical files and clusters of similar files. Rows:
    /// [`crate::message::GroupsPart`].
    Groups(GroupsRequest),
    /// Lists all paths so that similar files are adjacent. Rows: [`crate::message::OrderRow`].
    Order(GroupsRequest),
    /// Makes a template of the common content of files. One row: [`crate::message::TemplateRow`].
    TemplatesMark(MarkRequest),
    /// Lists the templates. Rows: [`crate::message::TemplateRow`].
    TemplatesList,
    /// Removes a template. One row: [`crate::message::TemplateRow`].
    TemplatesUnmark {
        /// The id or the name of the template.
        which: String,
    },
    /// Returns the state of the daemon. One row: [`crate::message::StatusAnswer`].
    Status,
    /// Waits until every change made before this request is in the index, the overlay and the alert
    /// queue. There are no rows. Fails with [`crate::message::FailureKind::Timeout`] after the time
    /// limit.
    Sync {
        /// The time limit in milliseconds, or `None` for no limit.
        #[serde(default)]
        timeout_ms: Option<u64>,
    },
    /// Dumps roots in the canonical form. Rows: [`crate::message::DumpRow`].
    Dump {
        /// The directories to include. If there are none, all roots are included.
        #[serde(default)]
        roots: Vec<PathText>,
    },
    /// Dumps roots in another form. Rows: [`crate::message::DumpRow`].
    DumpAs {
        /// The directories to include. If there are none, all roots are included.
        #[serde(default)]
        roots: Vec<PathText>,
        /// The form of the dump.
        form: DumpForm,
    },
    /// Adds a root that is also watched after a restart. Rules that have their default value are
    /// taken from the configuration of the daemon. One row: [`crate::message::WatchRow`].
    WatchAdd {
        /// The absolute path of the directory.
        path: PathText,
        /// The rules for the scan of the root.
        #[serde(flatten)]
        rules: RootRules,
        /// The rules for the alerts of the root.
        #[serde(flatten)]
        alerts: AlertRules,
    },
    /// Imports a catalogue. It replaces any catalogue with the same label. One row:
    /// [`crate::message::WatchRow`].
    Import {
        /// The absolute path of the file.
        path: PathText,
        /// The label of the catalogue: see [`crate::catalogued::is_label`].
        label: String,
    },
    /// Removes a root or a catalogue, and deletes its files from the index. There are no rows.
    WatchRemove {
        /// The absolute path of the root, or the path of the catalogue
        /// ([`crate::catalogued::of_label`]).
        path: PathText,
    },
    /// Lists the roots and the catalogues. Rows: [`crate::message::WatchRow`].
    WatchList,
    /// Lists the stored alerts, oldest first. Rows: [`crate::message::AlertRow`].
    Alerts {
        /// True to send new alerts, too, until the connection is closed.
        #[serde(default)]
        follow: bool,
        /// The number after which alerts are returned.
        #[serde(default)]
        after: u64,
    },
    /// Marks a pair of files as seen, so that the two contents raise no more alerts. Rows:
    /// [`crate::message::AckRow`], the new marks.
    Ack {
        /// The absolute path of a file.
        a: PathText,
        /// The absolute path of the other file. `None` means every file that `a` resembles enough
        /// for an alert.
        #[serde(default)]
        b: Option<PathText>,
        /// True to mark `a` and all files that it resembles as one group. Then no two files of the
        /// group raise an alert.
        #[serde(default)]
        group: bool,
    },
    /// Lists the marks, oldest first. Rows: [`crate::message::AckRow`].
    AckList,
    /// Removes marks. Rows: [`crate::message::AckRow`], the removed marks.
    AckUndo {
        /// The absolute path of a file. All marks of its content are removed.
        a: PathText,
        /// The absolute path of another file. If it is given, only the marks about both contents
        /// are removed.
        #[serde(default)]
        b: Option<PathText>,
    },
    /// Mounts the overlay, and answers when the mount point responds. One row:
    /// [`crate::message::MountRow`].
    Mount {
        /// The absolute path of the mount point. `None` means the configured mount point, with its
        /// link.
        #[serde(default)]
        path: Option<PathText>,
        /// The view. `None` means the configured view at the configured mount point, and the view
        /// `folders` at any other mount point.
        #[serde(default)]
        view: Option<MountView>,
    },
    /// Unmounts the overlay. One row: the state that the overlay had before.
    Unmount {
        /// The mount point. `None` means the only mounted overlay.
        #[serde(default)]
        path: Option<PathText>,
    },
    /// Reports which paths are covered. A covered path is below a root, and no rule leaves it out.
    /// It is not below a directory that could not be listed. One [`crate::message::CoverRow`] for
    /// each path, in the order of the request.
    Covers {
        /// The absolute paths to check.
        paths: Vec<PathText>,
        /// True to require that nothing below a covered path is left out, either.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        whole: bool,
    },
}

/// A request as it is sent. The field `progress` asks for reports of progress; an older daemon
/// ignores that field.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Asked<'a> {
    /// The request itself.
    #[serde(flatten)]
    pub request: &'a Request,
    /// True if the daemon should report its progress ([`crate::message::StepProgress`]).
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
    /// Returns the word for the request on the wire and in logs.
    pub fn word(&self) -> &'static str {
        self.into()
    }
}

/// The forms of a dump.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DumpForm {
    /// One line for each path. The lines depend only on the state of the tree.
    #[default]
    Canonical,
    /// One line for each chunk: its length, its MD5, and the number of the file.
    Chunks,
    /// One line for each file: its number in the dump of chunks, and its path.
    Files,
    /// A catalogue. It is binary, so each row has a piece of it as base64.
    Catalogue(CatalogueForm),
}

/// The contents of a catalogue, and the limits for its size.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogueForm {
    /// The label of the catalogue: see [`crate::catalogued::is_label`].
    pub label: String,
    /// The time of the export, in seconds since 1970.
    pub created: i64,
    /// True if the catalogue has names, times of change, directories and links.
    pub names: bool,
    /// True if the catalogue has the texts of documents and the members of archives.
    pub text: bool,
    /// The maximum size of the catalogue, as a share of the bytes of the contents. Samples are
    /// thinned until it fits, see `resemble_catalogue`. If this is 1, nothing is thinned.
    pub within: Fraction,
    /// The size in bytes up to which a catalogue is never thinned.
    #[serde(default)]
    pub small: u64,
}

/// The request of `find`: a file or content (the subject), and the files to compare it with.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FindRequest {
    /// The file or content for which similar files are searched.
    pub subject: Subject,
    /// The scope, and the rows to return.
    #[serde(flatten)]
    pub options: FindOptions,
}

/// The options of a `find`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FindOptions {
    /// The files to compare with the subject. The subject need not be one of them.
    #[serde(flatten)]
    pub scope: Scope,
    /// The minimum of the larger containment of a row. If it is absent, rows must have a relation.
    #[serde(default)]
    pub min: Fraction,
    /// The minimum number of shared bytes of a row that is not an identical file. The default is
    /// 256 bytes.
    #[serde(default)]
    pub min_shared: Option<u64>,
    /// The relations of the rows to return, seen from the subject. If this is empty, rows may have
    /// any relation or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relation: Vec<PairRelation>,
    /// True to include rows that the listing rule drops because many other files share the common
    /// content.
    #[serde(default)]
    pub all: bool,
    /// The maximum number of rows to return. The header still counts all rows.
    #[serde(default)]
    pub top: Option<u64>,
    /// True to measure the bytes of both files, if they can be read.
    #[serde(default)]
    pub exact: bool,
    /// The unit of the measures.
    #[serde(default)]
    pub unit: MeasureUnit,
    /// True to compare also the texts of documents and the members of archives, if the roots have
    /// extracted them.
    #[serde(default = "yes")]
    pub text: bool,
}

/// The file or content with which other files are compared.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Subject {
    /// An indexed file. The request fails with [`crate::message::FailureKind::NotIndexed`] if the
    /// index does not have the file.
    File(PathText),
    /// Bytes that the client has read, from standard input or from a file outside the roots.
    Content {
        /// The digest of the bytes, made with the parameters of [`crate::message::Hello`].
        digest: Box<WireDigest>,
        /// The name of the subject in the field `file` of the rows.
        name: PathText,
        /// The file from which the bytes were read, if they were read from a file. Files with its
        /// inode are left out of the answer.
        #[serde(default)]
        inode: Option<Inode>,
        /// The other renditions of the subject: the text of a document, or the contents of an
        /// archive.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        others: Vec<WireRendition>,
        /// The digests of the members if the subject is an archive or a mail. They have no chunks,
        /// and there are at most 1,000.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        held: Vec<WireDigest>,
        /// The absolute path at which the bytes can be read again for exact measures.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<PathText>,
        /// The bytes of the subject, if they are few and cannot be read again.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<Box<WireBytes>>,
        /// The last change of the file, and the date that it states.
        #[serde(default)]
        dates: FileDates,
    },
}

/// Bytes that are base64 on the wire.
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

/// A rendition of a file other than its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireRendition {
    /// The role of the rendition.
    pub stands: StandsAs,
    /// The digest of the rendition. If several contents were joined, it has no chunks.
    pub digest: WireDigest,
}

/// The role of a rendition of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StandsAs {
    /// The only content in a compressed file.
    Unpacked,
    /// The text of the file.
    Text,
    /// All texts in an archive, joined.
    WholeText,
    /// All contents in an archive that are not texts, joined.
    WholeBytes,
}

/// The request of `pairs`: all pairs of similar files below some directories.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // each is a switch of its own
pub struct PairsRequest {
    /// The files to compare. `within` is not empty.
    #[serde(flatten)]
    pub scope: Scope,
    /// The score with which `min` is compared. Rows are sorted by it unless `order` is `worth`.
    #[serde(default)]
    pub score: PairScore,
    /// The minimum score of a pair. If it is absent, every pair with enough evidence is returned.
    #[serde(default)]
    pub min: Fraction,
    /// The minimum number of shared bytes of a pair that is not identical. The default is 256
    /// bytes.
    #[serde(default)]
    pub min_shared: Option<u64>,
    /// The maximum number of rows to return. The header still counts all rows.
    #[serde(default)]
    pub top: Option<u64>,
    /// True to measure the bytes of both files of each pair.
    #[serde(default)]
    pub exact: bool,
    /// True to read no file. Then all figures are estimates, except those of files with equal
    /// content.
    #[serde(default)]
    pub estimate: bool,
    /// The unit of the measures.
    #[serde(default)]
    pub unit: MeasureUnit,
    /// True to compare documents by their texts, if the roots have extracted them.
    #[serde(default = "yes")]
    pub text: bool,
    /// True to compare archives, mails and compressed files by their contents, if `text` is true.
    /// Otherwise they have rows only with identical files.
    #[serde(default)]
    pub archives: bool,
    /// True to return a row for each pair of several identical files. Otherwise one row represents
    /// all of them.
    #[serde(default)]
    pub all: bool,
    /// The relations of the pairs to return, in either direction. If this is empty, pairs may have
    /// any relation or none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relation: Vec<PairRelation>,
    /// The order of the rows.
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
    /// the same bytes or words. Pairs without a relation are last. Pairs of one kind are sorted by
    /// their number of common bytes that are rare in other files, most first.
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
    /// The larger of the two shares: of the first file in the second, and of the second in the
    /// first.
    #[default]
    Containment,
    /// The common part of both files, divided by their union.
    Resemblance,
    /// The larger share of rare content. Frames and boilerplate have less weight.
    Discounted,
}
