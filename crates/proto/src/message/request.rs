//! What a client asks.

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

/// A question or an order to the daemon.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, IntoStaticStr)]
#[serde(tag = "request", rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum Request {
    /// Files similar to one. Rows: [`crate::message::FindRow`], best first.
    Find(FindRequest),
    /// Every file that holds a piece of one. Rows: [`crate::message::HolderRow`], candidates.
    Holders(HoldersRequest),
    /// Where what was at paths went. Rows: [`crate::message::DepartedRow`].
    Departed(DepartedRequest),
    /// When what files have was first seen. Rows: [`crate::message::FirstSeenRow`].
    FirstSeen(FirstSeenRequest),
    /// All pairs among files. Rows: [`crate::message::PairRow`], best first.
    Pairs(PairsRequest),
    /// Two directories by content. Rows: [`crate::message::ComparePart`].
    Compare(CompareRequest),
    /// Can a directory go? Rows: [`crate::message::CoveredPart`].
    Covered(CoveredRequest),
    /// Similar directories. Rows: [`crate::message::DirRow`], biggest saving first.
    Dirs(DirsRequest),
    /// Identical sets and clusters. Rows: [`crate::message::GroupsPart`].
    Groups(GroupsRequest),
    /// All paths, similar files side by side. Rows: [`crate::message::OrderRow`].
    Order(GroupsRequest),
    /// Marks what files have in common as a template. One row: [`crate::message::TemplateRow`].
    TemplatesMark(MarkRequest),
    /// The templates. Rows: [`crate::message::TemplateRow`].
    TemplatesList,
    /// Unmarks a template. One row: [`crate::message::TemplateRow`].
    TemplatesUnmark {
        /// Its id or name.
        which: String,
    },
    /// The state of the daemon. One row: [`crate::message::StatusAnswer`].
    Status,
    /// Answered when every change made before the question is in the index, the overlay and the
    /// alert queue; no rows. Fails with [`crate::message::FailureKind::Timeout`].
    Sync {
        /// Give up after this many milliseconds; `None`: never.
        #[serde(default)]
        timeout_ms: Option<u64>,
    },
    /// The canonical dump. Rows: [`crate::message::DumpRow`].
    Dump {
        /// Only what lies under these; empty: all roots.
        #[serde(default)]
        roots: Vec<PathText>,
    },
    /// A dump of another form. Rows: [`crate::message::DumpRow`].
    DumpAs {
        /// Only what lies under these; empty: all roots.
        #[serde(default)]
        roots: Vec<PathText>,
        /// The form.
        form: DumpForm,
    },
    /// Adds a root, and keeps it over restarts. One row: [`crate::message::WatchRow`].
    WatchAdd {
        /// The directory, absolute.
        path: PathText,
        /// What of it is looked at, and how.
        #[serde(flatten)]
        rules: RootRules,
        /// What of it is worth an alert.
        #[serde(flatten)]
        alerts: AlertRules,
    },
    /// Imports a catalogue in the place of any with the same label. One row:
    /// [`crate::message::WatchRow`].
    Import {
        /// The file, absolute.
        path: PathText,
        /// See [`crate::catalogued::is_label`].
        label: String,
    },
    /// Stops watching a root, or forgets a catalogue, and forgets its content; no rows.
    WatchRemove {
        /// The root, absolute; or the path of the catalogue ([`crate::catalogued::of_label`]).
        path: PathText,
    },
    /// The roots and the catalogues. Rows: [`crate::message::WatchRow`].
    WatchList,
    /// The alerts that are kept, oldest first. Rows: [`crate::message::AlertRow`].
    Alerts {
        /// Go on with new alerts until the connection is closed.
        #[serde(default)]
        follow: bool,
        /// Only those with a greater number.
        #[serde(default)]
        after: u64,
    },
    /// Marks two files as seen together: no more alerts about their contents. Rows:
    /// [`crate::message::AckRow`], the new marks.
    Ack {
        /// A file, absolute.
        a: PathText,
        /// The other one; `None`: each that `a` resembles enough for an alert.
        #[serde(default)]
        b: Option<PathText>,
        /// As one group: no more alerts about any two of them.
        #[serde(default)]
        group: bool,
    },
    /// What was marked as seen, oldest first. Rows: [`crate::message::AckRow`].
    AckList,
    /// Takes marks away. Rows: [`crate::message::AckRow`], those that are gone.
    AckUndo {
        /// A file, absolute: all marks about its content.
        a: PathText,
        /// Only those about the content of this file as well.
        #[serde(default)]
        b: Option<PathText>,
    },
    /// Mounts the overlay; answered when the mount point answers. One row:
    /// [`crate::message::MountRow`].
    Mount {
        /// The mount point, absolute; `None`: that of the configuration, with its link.
        #[serde(default)]
        path: Option<PathText>,
        /// The view; `None`: that of the configuration, or folders at any other mount point.
        #[serde(default)]
        view: Option<MountView>,
    },
    /// Unmounts the overlay; one row, which says what was there.
    Unmount {
        /// The mount point; `None`: the only one.
        #[serde(default)]
        path: Option<PathText>,
    },
    /// Which of the paths lie under a root and are not left out, nor below a directory that could
    /// not be listed. One [`crate::message::CoverRow`]
    /// for each path, in the order asked.
    Covers {
        /// Absolute paths.
        paths: Vec<PathText>,
        /// Whether nothing below them may be left out, either.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        whole: bool,
    },
}

/// A request as a line, with what the client wants to hear besides its answer. A daemon that does
/// not know of that answers all the same.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Asked<'a> {
    /// The request.
    #[serde(flatten)]
    pub request: &'a Request,
    /// Whether to say how far the work is ([`crate::message::StepProgress`]).
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub progress: bool,
}

impl Asked<'_> {
    /// Whether the request in this line asks for progress.
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
    /// The word on the wire and in logs.
    pub fn word(&self) -> &'static str {
        self.into()
    }
}

/// The forms of a dump.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum DumpForm {
    /// One line for each path, with nothing but the state of the tree.
    #[default]
    Canonical,
    /// One line for each chunk: length, MD5, number of the file.
    Chunks,
    /// One line for each file: its number among the chunks, and its path.
    Files,
    /// A catalogue. It is no text: each row carries a piece of it as base64.
    Catalogue(CatalogueForm),
}

/// What a catalogue contains, and how large it may be.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CatalogueForm {
    /// What people call it: see [`crate::catalogued::is_label`].
    pub label: String,
    /// When it was made, in seconds since 1970.
    pub created: i64,
    /// Whether names, times of change, directories and links are in it.
    pub names: bool,
    /// Whether the texts of documents and the members of archives are in it.
    pub text: bool,
    /// The most bytes that it may take, as a share of the bytes of the contents: samples are
    /// thinned until it is small enough, see `resemble_catalogue`. 1: nothing is thinned.
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
    /// Among which files, and which rows.
    #[serde(flatten)]
    pub options: FindOptions,
}

/// Which rows a `find` has.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FindOptions {
    /// Among which files. The subject itself need not be one of them.
    #[serde(flatten)]
    pub scope: Scope,
    /// Only rows whose larger containment is at least this; absent: those with a relation.
    #[serde(default)]
    pub min: Fraction,
    /// Only rows with at least this many shared bytes, identical files aside; absent: 256.
    #[serde(default)]
    pub min_shared: Option<u64>,
    /// Only rows of these relations, seen from the subject; empty: of all, and of none.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub relation: Vec<PairRelation>,
    /// Rows as well that the listing rule leaves out: what both files have, many others have too.
    #[serde(default)]
    pub all: bool,
    /// Only this many rows, the first ones; the header still counts all.
    #[serde(default)]
    pub top: Option<u64>,
    /// Compute the measures on the bytes of both files, where they can be read.
    #[serde(default)]
    pub exact: bool,
    /// What the measures are about.
    #[serde(default)]
    pub unit: MeasureUnit,
    /// Compare by the texts of documents and by what archives hold, too, as far as the roots have
    /// them.
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
        /// What was read, digested with the parameters of [`crate::message::Hello`].
        digest: Box<WireDigest>,
        /// The name that rows carry in `file`.
        name: PathText,
        /// The file the bytes came from, if it was one: files with this inode are the subject
        /// itself and are left out.
        #[serde(default)]
        inode: Option<Inode>,
        /// The other renditions: the text of a document, what an archive holds.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        others: Vec<WireRendition>,
        /// The members, if it is an archive or a mail, without chunks; at most 1,000.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        held: Vec<WireDigest>,
        /// Where the bytes can be read again, for exact measures; absolute.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        path: Option<PathText>,
        /// The bytes, if they cannot be read again and are not many.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        bytes: Option<Box<WireBytes>>,
        /// When the file was changed last, and the date that it states.
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

/// A rendition of a file besides its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WireRendition {
    /// What the content is to the file.
    pub stands: StandsAs,
    /// The digest of the content. That of a whole has no chunks.
    pub digest: WireDigest,
}

/// What a content is to the file that it stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum StandsAs {
    /// The only content packed in the file.
    Unpacked,
    /// The text of the file.
    Text,
    /// All texts in the archive, as one whole.
    WholeText,
    /// All that is no text in the archive, as one whole.
    WholeBytes,
}

/// `pairs`: every pair among the files of some directories.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[allow(clippy::struct_excessive_bools)] // each is a switch of its own
pub struct PairsRequest {
    /// The files; `within` is not empty.
    #[serde(flatten)]
    pub scope: Scope,
    /// The score that sorts, and that `min` bounds.
    #[serde(default)]
    pub score: PairScore,
    /// Only pairs whose score is at least this; absent: every pair with enough evidence.
    #[serde(default)]
    pub min: Fraction,
    /// Only pairs with at least this many shared bytes, identical files aside; absent: 256.
    #[serde(default)]
    pub min_shared: Option<u64>,
    /// Only this many rows, the first ones; the header still counts all.
    #[serde(default)]
    pub top: Option<u64>,
    /// Compute the measures on the bytes of both files.
    #[serde(default)]
    pub exact: bool,
    /// Read nothing: all figures but those of equal contents are estimates.
    #[serde(default)]
    pub estimate: bool,
    /// What the measures are about.
    #[serde(default)]
    pub unit: MeasureUnit,
    /// Compare documents by their texts, as far as the roots have these.
    #[serde(default = "yes")]
    pub text: bool,
    /// With `text`, compare archives, mails and compressed files by what they hold; else none of
    /// them has a row but with what is identical.
    #[serde(default)]
    pub archives: bool,
    /// A row for each two of several identical files; else one for all of them.
    #[serde(default)]
    pub all: bool,
    /// Only pairs of these relations, whichever file is the first; empty: of all, and of none.
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
    /// What is most worth reading first: pairs that have a relation and differ, then those with
    /// the same bytes or words, then the others; of each those with most bytes in common that are
    /// not in many other files, too.
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
    /// What both have over what either has.
    Resemblance,
    /// The larger share, of what is rare among the files: frames and boilerplate weighed down.
    Discounted,
}
