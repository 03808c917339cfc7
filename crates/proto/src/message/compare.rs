//! `compare`: compares two directories (or two files) by content.

use serde::{Deserialize, Serialize};
use strum::IntoStaticStr;

use crate::message::{Discount, MeasureUnit, PairFigures, Parts, Scope};
use crate::number::Fraction;
use crate::path::{PathText, fields};

/// The request of `compare`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CompareRequest {
    /// The absolute path of the first directory or file.
    pub a: PathText,
    /// The absolute path of the second directory or file.
    pub b: PathText,
    /// The options: which files are partners, and which rows are sent.
    #[serde(flatten)]
    pub options: CompareOptions,
}

/// Options of a comparison.
#[allow(clippy::struct_excessive_bools)] // each is a switch of its own
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct CompareOptions {
    /// The globs and the minimum size. `within` is empty, because the two directories are the
    /// scope.
    #[serde(flatten)]
    pub scope: Scope,
    /// The minimum ratio of the smaller to the larger size of partners with unequal content (sif,
    /// section 4). If it is absent, any sizes are allowed.
    pub size_ratio: Fraction,
    /// True if files of unequal content are partners only if they have the same suffix (sif,
    /// section 4).
    pub same_suffix: bool,
    /// True if, among partners of equal score, the one with the same file name comes first (sif,
    /// section 6).
    pub names: bool,
    /// The minimum of the larger of the two containments of partners with unequal content. If the
    /// minimum is absent, such partners must have a relation.
    pub min: Fraction,
    /// The minimum number of shared bytes of partners with unequal content. The default is 256
    /// bytes.
    pub min_shared: Option<u64>,
    /// True to look for further partners of every file, even if most of its content is in the file
    /// at the same path.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// True to measure all candidates, and to report a file as an error if it cannot be read.
    pub exact: bool,
    /// True to compare the texts of documents and the members of archives, too.
    #[serde(default = "crate::message::scope::yes")]
    pub text: bool,
    /// The unit in which texts are measured.
    pub unit: MeasureUnit,
    /// The classes whose rows are sent. The summary counts all classes. If this is empty, all rows
    /// are sent.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<CompareClass>,
    /// The maximum number of rows to send.
    pub top: Option<u64>,
    /// The maximum memory to use, in bytes. If it is not enough, all files are scanned several
    /// times.
    pub memory: Option<u64>,
}

/// The class of a file.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, IntoStaticStr,
)]
#[cfg_attr(feature = "clap", derive(clap::ValueEnum))]
#[serde(rename_all = "kebab-case")]
#[strum(serialize_all = "kebab-case")]
pub enum CompareClass {
    /// Same path, equal bytes.
    Same,
    /// Same path, other bytes.
    Edited,
    /// Equal bytes, other path.
    Moved,
    /// Alike, other path.
    MovedEdited,
    /// The file of A lies in the file of B.
    Contained,
    /// The file of B lies in the file of A.
    Contains,
    /// B has nothing of this file of A.
    OnlyA,
    /// A has nothing of this file of B.
    OnlyB,
}

impl CompareClass {
    /// All classes, in the order of their declaration.
    pub const ALL: [Self; 8] = [
        Self::Same,
        Self::Edited,
        Self::Moved,
        Self::MovedEdited,
        Self::Contained,
        Self::Contains,
        Self::OnlyA,
        Self::OnlyB,
    ];

    /// Returns the word for the class in every output.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// A row: a file of A, a file of B, or both. Paths are relative to the two directories.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompareRow {
    /// The class of the row.
    pub class: CompareClass,
    /// The file of A.
    #[serde(flatten, with = "fields::opt_a")]
    pub a: Option<PathText>,
    /// The file of B.
    #[serde(flatten, with = "fields::opt_b")]
    pub b: Option<PathText>,
    /// Share of a that is in b.
    pub a_in_b: Fraction,
    /// Share of b that is in a.
    pub b_in_a: Fraction,
    /// Bytes of the smaller file in common runs; for an estimate the bytes that common chunks
    /// prove.
    pub shared_bytes: u64,
    /// The relation, and the kind of the figures.
    #[serde(flatten)]
    pub told: PairFigures,
    /// Size of a.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_a: Option<u64>,
    /// Size of b.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_b: Option<u64>,
    /// True for a surplus copy: an equal file already has a row. JSON omits the field if it is
    /// false.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub copy: bool,
    /// Further partners (a split or merged file), best first.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub others: Vec<Partner>,
    /// The larger containment after the discount for common text, if the discount changes it.
    #[serde(flatten)]
    pub discount: Discount,
}

/// A further partner of a row's file.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Partner {
    /// The file on the other side, relative to that side's directory.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Share of the row's file that is in this partner.
    pub a_in_b: Fraction,
    /// Share of this partner that is in the row's file.
    pub b_in_a: Fraction,
    /// Bytes of the smaller file in common runs; for an estimate the bytes that common chunks
    /// prove.
    pub shared_bytes: u64,
    /// The relation, and the kind of the figures.
    #[serde(flatten)]
    pub told: PairFigures,
}

/// Numbers of files by class.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub struct ClassCounts {
    /// Equal bytes at the same path.
    pub same: u64,
    /// Equal bytes at another path.
    pub moved: u64,
    /// Other bytes at the same path.
    pub edited: u64,
    /// Alike, at another path.
    pub moved_edited: u64,
    /// Files of A that lie in a file of B. Also containers of such files, if they have no other
    /// row.
    pub contained: u64,
    /// Files of B that lie in a file of A. Also containers of such files, if they have no other
    /// row.
    pub contains: u64,
    /// Files of A without a partner.
    pub only_a: u64,
    /// Files of B without a partner.
    pub only_b: u64,
}

impl ClassCounts {
    /// Returns the counter of a class.
    pub const fn of(&mut self, class: CompareClass) -> &mut u64 {
        match class {
            CompareClass::Same => &mut self.same,
            CompareClass::Edited => &mut self.edited,
            CompareClass::Moved => &mut self.moved,
            CompareClass::MovedEdited => &mut self.moved_edited,
            CompareClass::Contained => &mut self.contained,
            CompareClass::Contains => &mut self.contains,
            CompareClass::OnlyA => &mut self.only_a,
            CompareClass::OnlyB => &mut self.only_b,
        }
    }
}

/// Numbers of files by class, and numbers of bytes.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompareSummary {
    /// For each class, the number of files on the side that has more files of this class.
    #[serde(flatten)]
    pub classes: ClassCounts,
    /// Files of A by class; the sum of the numbers is `files_a`.
    pub classes_a: ClassCounts,
    /// Files of B by class; the sum of the numbers is `files_b`.
    pub classes_b: ClassCounts,
    /// Regular files of A.
    pub files_a: u64,
    /// Regular files of B.
    pub files_b: u64,
    /// Bytes of A's files.
    pub bytes_a: u64,
    /// Bytes of B's files.
    pub bytes_b: u64,
    /// Bytes of A's files found in any file of B.
    pub bytes_a_in_b: u64,
    /// Bytes of B's files found in any file of A.
    pub bytes_b_in_a: u64,
    /// Files of A with no equal and no resembling file in B.
    pub files_a_not_in_b: u64,
    /// Files of B with no equal and no resembling file in A.
    pub files_b_not_in_a: u64,
    /// Links, special files and unreadable files.
    pub other: OtherSummary,
}

impl CompareSummary {
    /// Counts a file of one side. Side 0 is A, side 1 is B.
    pub fn count(&mut self, side: usize, class: CompareClass) {
        let counts = if side == 0 {
            &mut self.classes_a
        } else {
            &mut self.classes_b
        };
        let count = counts.of(class);
        *count += 1;
        let most = self.classes.of(class);
        *most = (*most).max(*count);
    }

    /// Returns whether nothing differs. The exit code is then 0.
    pub fn is_same(&self) -> bool {
        let same = self.classes.same;
        let only_same = ClassCounts {
            same,
            ..ClassCounts::default()
        };
        let other = self.other;
        self.classes == only_same && other.differ + other.only_a + other.only_b == 0
    }
}

/// Counts of links (compared by target), special files (compared by type) and unreadable files.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherSummary {
    /// Equal on both sides.
    pub same: u64,
    /// On both sides, but unequal or unreadable.
    pub differ: u64,
    /// In A alone.
    pub only_a: u64,
    /// In B alone.
    pub only_b: u64,
}

/// An entry that differs between the sides. It is not a regular file, or could not be read.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OtherRow {
    /// Relative path.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Its type in A (`file`, `link`, `fifo` …), if it exists there.
    pub a: Option<String>,
    /// Its type in B, if it exists there.
    pub b: Option<String>,
}

/// A directory of one side whose content lies in a directory of the other side.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeRow {
    /// The directory of A, relative; empty: A itself.
    #[serde(flatten, with = "fields::a")]
    pub a: PathText,
    /// The directory of B.
    #[serde(flatten, with = "fields::b")]
    pub b: PathText,
    /// The share of the bytes of a's files that is in files below b.
    pub a_in_b: Fraction,
    /// The share of the bytes of b's files that is in files below a.
    pub b_in_a: Fraction,
    /// Files below a.
    pub files_a: u64,
    /// Files below b.
    pub files_b: u64,
    /// Bytes of the files below a.
    pub bytes_a: u64,
    /// Bytes of the files below b.
    pub bytes_b: u64,
}

/// The answer of `compare`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Comparison {
    /// Totals.
    pub summary: CompareSummary,
    /// The sub-trees that moved as a whole; those with the most bytes are first.
    #[serde(default)]
    pub trees: Vec<TreeRow>,
    /// The rows, sorted by the path of a, then by the path of b.
    pub entries: Vec<CompareRow>,
    /// Links, special files and unreadable files that are not the same on both sides.
    #[serde(default)]
    pub others: Vec<OtherRow>,
}

/// A row of the answer to `compare`, as it is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ComparePart {
    /// The totals. They are sent first.
    Summary(Box<CompareSummary>),
    /// A sub-tree that moved as a whole.
    Tree(TreeRow),
    /// A file of one side or of both.
    Entry(CompareRow),
    /// A link, a special file or an unreadable entry.
    Other(OtherRow),
}

impl Parts for Comparison {
    type Part = ComparePart;

    fn add(&mut self, part: ComparePart) {
        match part {
            ComparePart::Summary(summary) => self.summary = *summary,
            ComparePart::Tree(row) => self.trees.push(row),
            ComparePart::Entry(row) => self.entries.push(row),
            ComparePart::Other(row) => self.others.push(row),
        }
    }

    fn into_parts(self) -> impl Iterator<Item = ComparePart> {
        std::iter::once(ComparePart::Summary(Box::new(self.summary)))
            .chain(self.trees.into_iter().map(ComparePart::Tree))
            .chain(self.entries.into_iter().map(ComparePart::Entry))
            .chain(self.others.into_iter().map(ComparePart::Other))
    }
}
