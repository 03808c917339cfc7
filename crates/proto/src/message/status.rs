//! What the daemon says about itself: its state, its roots and overlays, its alerts.

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
    /// The roots, in the order given.
    pub roots: Vec<RootStatus>,
    /// The index.
    pub index: IndexStatus,
    /// Rises with every change that reached the index; with equal clocks, answers are equal.
    pub clock: u64,
    /// Whether no scan is under way and nothing is known to be stale.
    pub fresh: bool,
    /// What keeps answers from being as quick or as certain as promised; empty is good.
    pub degraded: Vec<Degraded>,
    /// Overlays that are mounted.
    #[serde(default)]
    pub mounts: Vec<MountStatus>,
    /// How the roots are watched.
    #[serde(default)]
    pub watch: WatchStatus,
    /// The daemon's process id.
    #[serde(default)]
    pub pid: u32,
    /// Questions that are being computed at this moment.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub questions: u64,
    /// Files that have grown and were read from where they ended: what stands before that is taken
    /// for what it was until it is verified.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub assumed: u64,
    /// Files that wait longer than others to be read, because that takes long: the first
    /// [`Self::MOST_WAITS`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub waits: Vec<WaitStatus>,
    /// What could not be looked into, by path: the first [`Self::MOST_UNOPENED`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unopened: Vec<Unopened>,
    /// Where alerts go.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub notify: Vec<SinkStatus>,
    /// For so many seconds the change has been known that has waited longest to be read; 0 if none
    /// waits.
    #[serde(default)]
    pub lag_seconds: u64,
    /// What the daemon takes.
    #[serde(default)]
    pub process: ProcessStatus,
}

/// What the daemon takes of the machine.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ProcessStatus {
    /// The version of the program.
    #[serde(default)]
    pub version: String,
    /// For so many seconds it runs.
    #[serde(default)]
    pub uptime_seconds: u64,
    /// Bytes of memory.
    #[serde(default)]
    pub resident_bytes: u64,
    /// The most bytes of memory since its start.
    #[serde(default)]
    pub peak_bytes: u64,
    /// Open files.
    #[serde(default)]
    pub descriptors: u64,
    /// Files that it may open.
    #[serde(default)]
    pub most_descriptors: u64,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // as serde calls it
pub(super) fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// A file that was written to and waits to be read, in proportion to what that costs.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WaitStatus {
    /// Which.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// In so many seconds it is read, if it is not written to before.
    pub seconds: u64,
    /// So many seconds its last reading took, rounded down, at least 1.
    pub reading_seconds: u64,
}

/// A sink of alerts.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SinkStatus {
    /// Its name.
    pub name: String,
    /// What it is: `journal`, `file`, `command`, `mail`.
    pub sink: String,
    /// The number of the last alert that it took, or did not want.
    pub after: u64,
    /// How many alerts it has still to take.
    pub waiting: u64,
    /// Why the last delivery failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failing: Option<String>,
    /// When it is tried again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_seconds: Option<u64>,
}

/// A document or archive, or something in one, that could not be looked into.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unopened {
    /// The file, and the names that lead to the part in it, joined by `!`.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Why.
    pub reason: String,
}

impl StatusAnswer {
    /// The most entries that [`Self::unopened`] names.
    pub const MOST_UNOPENED: usize = 100;

    /// The most entries that [`Self::waits`] names.
    pub const MOST_WAITS: usize = 10;

    /// Whether everything is as it should be: then `resemble status` ends with exit code 0.
    pub fn is_live(&self) -> bool {
        let is_well = |state| matches!(state, RootState::Live | RootState::Catalogue);
        self.degraded.is_empty() && self.roots.iter().all(|root| is_well(root.state))
    }
}

/// What of a root is looked at, and how.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RootRules {
    /// Whether ignore files are honoured and `.git` is skipped.
    #[serde(default)]
    pub ignore: bool,
    /// Whether other file systems below it are left out.
    #[serde(default)]
    pub one_file_system: bool,
    /// Whether documents and archives are looked into.
    #[serde(default = "crate::message::scope::yes")]
    pub text: bool,
    /// Names that are left out, with all below: patterns as in ignore files.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub exclude: Vec<String>,
    /// Bytes; larger files are known by their names alone.
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

/// Which changes in a root are worth an alert; `None` is what is usual.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct AlertRules {
    /// The least share of the smaller file.
    #[serde(default, rename = "alert_min", skip_serializing_if = "Option::is_none")]
    pub min: Option<Fraction>,
    /// The least size of the changed file, in bytes.
    #[serde(
        default,
        rename = "alert_min_size",
        skip_serializing_if = "Option::is_none"
    )]
    pub min_size: Option<u64>,
    /// What is told; empty: nothing.
    #[serde(
        default,
        rename = "alert_kinds",
        skip_serializing_if = "Option::is_none"
    )]
    pub kinds: Option<Vec<AlertWord>>,
}

impl AlertRules {
    /// The share that is usual, in millionths.
    const USUAL_SHARE: u32 = 800_000;
    /// The size that is usual.
    pub const USUAL_SIZE: u64 = 1024;

    /// The least share of the smaller file.
    pub fn least_share(&self) -> Fraction {
        self.min
            .unwrap_or_else(|| Fraction::from_millionths(Self::USUAL_SHARE))
    }

    /// The least size of the changed file, in bytes.
    pub fn least_size(&self) -> u64 {
        self.min_size.unwrap_or(Self::USUAL_SIZE)
    }

    /// The same rules, without saying what is usual.
    #[must_use]
    pub fn spelt_short(self) -> Self {
        let usual = Self::default();
        Self {
            min: self.min.filter(|min| *min != usual.least_share()),
            min_size: self.min_size.filter(|size| *size != usual.least_size()),
            kinds: self.kinds,
        }
    }

    /// Whether such alerts are told.
    pub fn accept(&self, word: AlertWord) -> bool {
        (self.kinds.as_ref()).is_none_or(|kinds| kinds.contains(&word))
    }
}

/// What an alert says of a file, or that it is about a copied tree.
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
    /// Both are mostly in the other.
    Near,
    /// The other one is mostly in the changed file.
    Contains,
    /// The changed file is mostly in the other one.
    Contained,
    /// They share less than that.
    Shares,
    /// A copied tree.
    Tree,
}

impl AlertWord {
    /// All words, as they are written in a message.
    pub const WORDS: &str = "identical, same-text, near, contains, contained, shares, tree";

    /// The word in every output.
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
    /// What it says; `None` for a summary.
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
    /// Regular files in the index, hard links once.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// What is going on with it.
    pub state: RootState,
    /// Files known to be changed and not read yet.
    pub pending: u64,
    /// Files and directories left out on purpose; what lies below such a directory is not counted.
    pub skipped: u64,
    /// Files that could not be read, and directories that could not be listed.
    pub unreadable: u64,
    /// Real entries called as the `.similar` of the overlay, which hides them.
    #[serde(default)]
    pub hidden: u64,
    /// What of it is looked at, and how.
    #[serde(flatten)]
    pub rules: RootRules,
    /// What of it is worth an alert.
    #[serde(flatten)]
    pub alerts: AlertRules,
    /// Documents and archives of which something could not be read.
    #[serde(default)]
    pub unopened: u64,
    /// Documents of which text is left out on purpose, and nothing else is missing.
    #[serde(default)]
    pub hidden_text: u64,
}

/// What is going on with a root.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, IntoStaticStr)]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum RootState {
    /// The first scan, or a rescan, is under way; old answers stay.
    Scanning,
    /// Watched, and every change reaches the index within seconds.
    Live,
    /// Answers are right, but changes take longer to be seen.
    Degraded,
    /// The root cannot be reached; its last answers stay.
    Unavailable,
    /// A catalogue: it is as it was when it was exported.
    Catalogue,
}

impl RootState {
    /// The word in every output.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// Whole-index figures.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexStatus {
    /// Bytes of the index file.
    pub bytes: u64,
    /// Contents.
    pub contents: u64,
    /// Chunks, repeats counted.
    pub chunks: u64,
    /// Files read since the daemon started; a restart reads only what changed.
    #[serde(default)]
    pub files_read: u64,
    /// Bytes read since the daemon started.
    #[serde(default)]
    pub bytes_read: u64,
}

/// How the roots are watched.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchStatus {
    /// Directories with a watch.
    pub directories: u64,
    /// Directories without one, which are looked at from time to time.
    pub polled: u64,
    /// Times that the kernel's event queue ran over since the daemon started.
    pub overflows: u64,
}

/// One thing that is not as it should be.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Degraded {
    /// The subtree concerned.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// One sentence: what is wrong and what it means.
    pub reason: String,
    /// The command that mends it, if there is one.
    #[serde(default)]
    pub remedy: Option<String>,
}

/// How the overlay shows the tree.
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
    /// Where it shows each watched directory.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub roots: Vec<SeenRoot>,
}

/// Where a mounted overlay shows a watched directory.
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
    /// A warning about its place: one sentence for people.
    pub warning: Option<String>,
    /// The overlay that is there now, or was there before.
    #[serde(default)]
    pub mount: Option<MountStatus>,
}

/// An alert: a change made `a` resemble `b`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AlertRow {
    /// Counts up from 1 in one state folder.
    pub seq: u64,
    /// When, in seconds since 1970.
    pub time: u64,
    /// One file, or a tree as a whole.
    pub kind: AlertKind,
    /// The file or directory that changed.
    #[serde(flatten, with = "fields::a")]
    pub a: PathText,
    /// What it resembles.
    #[serde(flatten, with = "fields::b")]
    pub b: PathText,
    /// How they relate.
    #[serde(with = "relation_word")]
    pub relation: Option<Relation>,
    /// How much of a is in b.
    pub a_in_b: Fraction,
    /// How much of b is in a.
    pub b_in_a: Fraction,
    /// Proven common bytes, a lower bound.
    pub shared_bytes: u64,
    /// How many files the alert is about: 1, those of a copied tree, or the alerts that a summary
    /// stands for.
    pub files: u64,
    /// In a summary of alerts that are in the log: they are those after this number, up to its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// The name of the owner of a, or the owner's number if it has no name; absent where the
    /// command has not looked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_a: Option<String>,
    /// The same of b.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner_b: Option<String>,
}

/// Contents that were marked as seen.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct AckRow {
    /// When, in seconds since 1970.
    pub time: u64,
    /// Any two of them, or only the two.
    pub group: bool,
    /// Where the contents were then.
    pub paths: Vec<PathText>,
}

/// What an alert is about.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum AlertKind {
    /// Two files.
    File,
    /// A copied tree: two directories.
    Tree,
    /// Alerts that were too many to be told one by one: `a` is the folder above them all.
    Summary,
}

/// A root of the daemon.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct WatchRow {
    /// The root.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Where it comes from.
    pub origin: WatchOrigin,
    /// What of it is looked at, and how.
    #[serde(flatten)]
    pub rules: RootRules,
    /// What of it is worth an alert.
    #[serde(flatten)]
    pub alerts: AlertRules,
}

/// Where a root comes from.
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
    /// The word in every output.
    pub fn word(self) -> &'static str {
        self.into()
    }
}
