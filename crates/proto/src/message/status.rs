//! The status of the daemon: its state, its roots, its overlays and its alerts.

use resemble_core::Relation;
use serde::{Deserialize, Serialize};
use strum::{EnumString, IntoStaticStr};

use crate::message::figures::relation_word;
use crate::number::Fraction;
use crate::path::{PathText, fields};

/// The state of the daemon.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusAnswer {
    /// The roots, in the order in which they were named.
    pub roots: Vec<RootStatus>,
    /// The index.
    pub index: IndexStatus,
    /// Increases with every change that reaches the index. Answers with equal clocks are equal.
    pub clock: u64,
    /// True if no scan is under way and nothing is known to be stale.
    pub fresh: bool,
    /// Conditions that make answers slower or less certain than promised; empty is good.
    pub degraded: Vec<Degraded>,
    /// Overlays that are mounted.
    #[serde(default)]
    pub mounts: Vec<MountStatus>,
    /// The watches of the roots.
    #[serde(default)]
    pub watch: WatchStatus,
    /// The daemon's process id.
    #[serde(default)]
    pub pid: u32,
    /// Questions that are being computed at this moment.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub questions: u64,
    /// Files that have grown and were read from their old end. The part before that end is assumed
    /// unchanged until it is verified.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub assumed: u64,
    /// Files that wait longer than others to be read, because reading them takes long: the first
    /// [`Self::MOST_WAITS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WaitStatus>,
    /// Documents and archives that could not be opened, sorted by path: the first
    /// [`Self::MOST_UNOPENED`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unopened: Vec<Unopened>,
    /// The sinks of alerts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<SinkStatus>,
    /// Seconds since the oldest change that is not read yet became known; 0 if no change waits.
    #[serde(default)]
    pub lag_seconds: u64,
    /// Resources that the daemon uses.
    #[serde(default)]
    pub process: ProcessStatus,
}

/// Resources that the daemon uses.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessStatus {
    /// The version of the program.
    #[serde(default)]
    pub version: String,
    /// Seconds since the daemon started.
    #[serde(default)]
    pub uptime_seconds: u64,
    /// Bytes of memory that the daemon uses now.
    #[serde(default)]
    pub resident_bytes: u64,
    /// The largest number of bytes of memory that the daemon has used since its start.
    #[serde(default)]
    pub peak_bytes: u64,
    /// Open files.
    #[serde(default)]
    pub descriptors: u64,
    /// The limit of open files.
    #[serde(default)]
    pub most_descriptors: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A changed file that waits to be read; expensive files wait longer.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitStatus {
    /// Its path.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Seconds until the file is read, unless it is written to again before then.
    pub seconds: u64,
    /// Seconds that its last reading took, rounded down, but at least 1.
    pub reading_seconds: u64,
}

/// A sink of alerts.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkStatus {
    /// Its name.
    pub name: String,
    /// Its kind: `journal`, `file`, `command`, `mail`.
    pub sink: String,
    /// The number of the last alert that it accepted or filtered out.
    pub after: u64,
    /// The number of alerts that are not delivered yet.
    pub waiting: u64,
    /// The reason why the last delivery failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<String>,
    /// Seconds until the next attempt.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_seconds: Option<u64>,
}

/// A document or archive, or a part of one, that could not be opened.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unopened {
    /// The file, and the names that lead to the part in it, joined by `!`.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// The reason.
    pub reason: String,
}

impl StatusAnswer {
    /// The maximum number of entries in [`Self::unopened`].
    pub const MOST_UNOPENED: usize = 100;

    /// The maximum number of entries in [`Self::waits`].
    pub const MOST_WAITS: usize = 10;

    /// Returns whether everything is in order. `resemble status` then exits with code 0.
    pub fn is_live(&self) -> bool {
        let is_well = |state| matches!(state, RootState::Live | RootState::Catalogue);
        self.degraded.is_empty() && self.roots.iter().all(|root| is_well(root.state))
    }
}

/// Rules that select what is scanned in a root.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RootRules {
    /// True if ignore files are honoured and `.git` is skipped.
    #[serde(default)]
    pub ignore: bool,
    /// True if other file systems below the root are left out.
    #[serde(default)]
    pub one_file_system: bool,
    /// True if documents and archives are opened.
    #[serde(default = "crate::message::scope::yes")]
    pub text: bool,
    /// Patterns of names that are left out with everything below, as in ignore files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Size in bytes above which a file is known by its name alone.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_size: Option<u64>,
}

impl Default for RootRules {
    fn default() -> Self {
        Self {
            ignore: false,
            one_file_system: false,
            text: true,
            exclude: Vec::new(),
            max_size: None,
        }
    }
}

/// Rules that select which changes in a root raise an alert. A rule that is `None` has its default.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AlertRules {
    /// The least share of the smaller file that must be common.
    #[serde(default, rename = "alert_min", skip_serializing_if = "Option::is_none")]
    pub min: Option<Fraction>,
    /// The least size of the changed file, in bytes.
    #[serde(
        default,
        rename = "alert_min_size",
        skip_serializing_if = "Option::is_none"
    )]
    pub min_size: Option<u64>,
    /// The kinds of alerts; empty: no alerts.
    #[serde(
        default,
        rename = "alert_kinds",
        skip_serializing_if = "Option::is_none"
    )]
    pub kinds: Option<Vec<AlertWord>>,
}

impl AlertRules {
    /// The default of `min`, in millionths.
    const USUAL_SHARE: u32 = 800_000;
    /// The default of `min_size`, in bytes.
    pub const USUAL_SIZE: u64 = 1024;

    /// Returns the minimum share of the smaller file that must be common.
    pub fn least_share(&self) -> Fraction {
        self.min
            .unwrap_or_else(|| Fraction::from_millionths(Self::USUAL_SHARE))
    }

    /// Returns the minimum size of the changed file, in bytes.
    pub fn least_size(&self) -> u64 {
        self.min_size.unwrap_or(Self::USUAL_SIZE)
    }

    /// Returns the same rules without the values that equal the defaults.
    #[must_use]
    pub fn spelt_short(self) -> Self {
        let usual = Self::default();
        Self {
            min: self.min.filter(|min| *min != usual.least_share()),
            min_size: self.min_size.filter(|size| *size != usual.least_size()),
            kinds: self.kinds,
        }
    }

    /// Returns whether alerts of this kind are sent.
    pub fn accept(&self, word: AlertWord) -> bool {
        (self.kinds.as_ref()).is_none_or(|kinds| kinds.contains(&word))
    }
}

/// The relation that an alert reports, or the word for a copied tree.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr, EnumString,
)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum AlertWord {
    /// Equal bytes.
    Identical,
    /// The same words in the same order.
    SameText,
    /// Most of each file is in the other file.
    Near,
    /// Most of the other file is in the changed file.
    Contains,
    /// Most of the changed file is in the other file.
    Contained,
    /// The two files share less than in the other cases.
    Shares,
    /// A copied tree.
    Tree,
}

impl AlertWord {
    /// The list of all words, as messages show it.
    pub const WORDS: &str = "identical, same-text, near, contains, contained, shares, tree";

    /// Returns the word in every output.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

impl From<Relation> for AlertWord {
    fn from(relation: Relation) -> Self {
        match relation {
            Relation::Identical => Self::Identical,
            Relation::SameText => Self::SameText,
            Relation::Near => Self::Near,
            Relation::Contains => Self::Contains,
            Relation::Contained => Self::Contained,
            Relation::Shares => Self::Shares,
        }
    }
}

impl AlertRow {
    /// Returns the word of the alert. Returns `None` for a summary, and for files without a
    /// relation.
    pub fn word(&self) -> Option<AlertWord> {
        match self.kind {
            AlertKind::File => self.relation.map(AlertWord::from),
            AlertKind::Tree => Some(AlertWord::Tree),
            AlertKind::Summary => None,
        }
    }
}

/// The state of one root.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootStatus {
    /// The root.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Regular files in the index. A file with several hard links is counted once.
    pub files: u64,
    /// Bytes of these files.
    pub bytes: u64,
    /// The state of its scan.
    pub state: RootState,
    /// Files that are known to have changed but were not read yet.
    pub pending: u64,
    /// Files and directories left out on purpose. Entries below such a directory are not counted.
    pub skipped: u64,
    /// Files that could not be read, and directories that could not be listed.
    pub unreadable: u64,
    /// Real entries that the overlay hides, because its `.similar` or the folder of a root has the
    /// same name.
    #[serde(default)]
    pub hidden: u64,
    /// The rules of its scan.
    #[serde(flatten)]
    pub rules: RootRules,
    /// The rules of its alerts.
    #[serde(flatten)]
    pub alerts: AlertRules,
    /// Documents and archives with a part that could not be read.
    #[serde(default)]
    pub unopened: u64,
    /// Documents of which only hidden text was left out. Everything else in them was read.
    #[serde(default)]
    pub hidden_text: u64,
}

/// The state of a root.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum RootState {
    /// The first scan, or a rescan, is under way; old answers stay.
    Scanning,
    /// Watched, and every change reaches the index within seconds.
    Live,
    /// Answers are right, but changes take longer to reach the index.
    Degraded,
    /// The root cannot be reached; its last answers stay.
    Unavailable,
    /// A catalogue, with the state at the time of its export.
    Catalogue,
}

impl RootState {
    /// Returns the word for the state in every output.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// Figures of the whole index.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexStatus {
    /// Bytes of the index file.
    pub bytes: u64,
    /// Contents.
    pub contents: u64,
    /// Chunks, including repeated chunks.
    pub chunks: u64,
    /// Files read since the daemon started; a restart reads only what changed.
    #[serde(default)]
    pub files_read: u64,
    /// Bytes read since the daemon started.
    #[serde(default)]
    pub bytes_read: u64,
}

/// The watches of the roots.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchStatus {
    /// Directories with a watch.
    pub directories: u64,
    /// Directories without a watch, which are checked from time to time.
    pub polled: u64,
    /// Overflows of the kernel's event queue since the daemon started.
    pub overflows: u64,
}

/// A condition that impairs the daemon.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Degraded {
    /// The subtree concerned.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// One sentence that describes the fault and its consequence.
    pub reason: String,
    /// The command that removes the condition, if there is one.
    #[serde(default)]
    pub remedy: Option<String>,
}

/// The form in which the overlay shows the tree.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
pub enum MountView {
    /// Each file is a folder: `ls MOUNT/report.txt/.similar`.
    #[default]
    Folders,
    /// The tree as it is: `ls MOUNT/.similar/report.txt`.
    Files,
}

/// A mounted overlay.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountStatus {
    /// Its mount point.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Its view.
    pub view: MountView,
    /// The symbolic link that leads to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub link: Option<PathText>,
    /// The places where it shows the watched directories.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<SeenRoot>,
}

/// The place where a mounted overlay shows a watched directory.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SeenRoot {
    /// The directory.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Its place in the view.
    pub view: PathText,
}

/// The answer to a request to mount or to unmount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MountRow {
    /// A warning about the mount point, in one sentence for people.
    pub warning: Option<String>,
    /// The overlay that is now at the mount point, or that was there before it was unmounted.
    #[serde(default)]
    pub mount: Option<MountStatus>,
}

/// An alert: a change made `a` resemble `b`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertRow {
    /// Its number, counted from 1 in one state folder.
    pub seq: u64,
    /// Time in seconds since 1970.
    pub time: u64,
    /// The subject of the alert.
    pub kind: AlertKind,
    /// The file or directory that changed.
    #[serde(flatten, with = "fields::a")]
    pub a: PathText,
    /// The file or directory that a resembles.
    #[serde(flatten, with = "fields::b")]
    pub b: PathText,
    /// The relation of a and b.
    #[serde(with = "relation_word")]
    pub relation: Option<Relation>,
    /// Share of a that is in b.
    pub a_in_b: Fraction,
    /// Share of b that is in a.
    pub b_in_a: Fraction,
    /// Proven common bytes, a lower bound.
    pub shared_bytes: u64,
    /// The number of files: 1 for a file, or all files of a copied tree. For a summary, the number
    /// of alerts that it replaces.
    pub files: u64,
    /// For a summary of logged alerts: the summary covers the alerts after this number, up to its
    /// own number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// The name of the owner of a, or the owner's number if the owner has no name. Absent if the
    /// command did not look up the owner.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_a: Option<String>,
    /// The name or the number of the owner of b, as in `owner_a`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_b: Option<String>,
}

/// Contents that were marked as seen.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AckRow {
    /// Time in seconds since 1970.
    pub time: u64,
    /// True if the mark applies to any two of the contents, false if it applies only to this pair.
    pub group: bool,
    /// The paths that the contents had when they were marked.
    pub paths: Vec<PathText>,
}

/// The subject of an alert.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlertKind {
    /// Two files.
    File,
    /// A copied tree: two directories.
    Tree,
    /// Alerts that were too many to be sent one by one; `a` is the folder above all their files.
    Summary,
}

/// A root of the daemon.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchRow {
    /// The root.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Its origin.
    pub origin: WatchOrigin,
    /// The rules of its scan.
    #[serde(flatten)]
    pub rules: RootRules,
    /// The rules of its alerts.
    #[serde(flatten)]
    pub alerts: AlertRules,
}

/// The origin of a root.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum WatchOrigin {
    /// The command line or configuration of this start.
    Start,
    /// `watch add`: kept in the state folder.
    Kept,
    /// `import`: a catalogue, kept in the state folder.
    Catalogue,
}

impl WatchOrigin {
    /// Returns the word for the origin in every output.
    pub fn word(self) -> &'static str {
        self.into()
    }
}
