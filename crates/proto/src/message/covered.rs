//! `covered`: checks whether a directory can be deleted.

use serde::{Deserialize, Serialize};

use crate::message::{PairFigures, Parts};
use crate::number::Fraction;
use crate::path::{PathText, fields};

/// The request of `covered`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoveredRequest {
    /// The absolute path of the directory to be deleted.
    pub dir: PathText,
    /// The absolute paths of the directories that must contain an equal file for each file of
    /// `dir`. Files inside `dir` are not used.
    pub by: Vec<PathText>,
    /// True if an equal file in a catalogue also covers a file. Such files are found by their
    /// digests.
    #[serde(default)]
    pub by_digest: bool,
    /// The maximum memory to use for near copies, in bytes. If it is not enough, all files are
    /// compared in several passes.
    #[serde(default)]
    pub memory: Option<u64>,
}

/// A file of the directory that has no equal file elsewhere.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MissingRow {
    /// The file.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// Its size in bytes; 0 if it is not a regular file.
    pub size: u64,
    /// The reason: `no equal file`, `its equal changed`, `only a catalogue has its equal`,
    /// `symbolic link`, `fifo` or another type, `cannot be read: …`.
    pub reason: String,
}

/// A file that has a near copy. A near copy does not make it safe to delete the file.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct NearRow {
    /// The file.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// The near copy: the file that most resembles the file at `path`.
    #[serde(flatten, with = "fields::by")]
    pub by: PathText,
    /// The share of the file that is in the near copy.
    pub a_in_b: Fraction,
    /// The share of the near copy that is in the file.
    pub b_in_a: Fraction,
    /// Proven common bytes.
    pub shared_bytes: u64,
    /// The relation, and the kind of the figures.
    #[serde(flatten)]
    pub told: PairFigures,
}

/// A file, and the equal file that covers it.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CoverPair {
    /// The file.
    #[serde(flatten, with = "fields::path")]
    pub path: PathText,
    /// The equal file in one of the directories of `by`.
    #[serde(flatten, with = "fields::by")]
    pub by: PathText,
    /// The size of each of the two files.
    pub size: u64,
}

/// The answer of `covered`.
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Coverage {
    /// True if everything is covered: exit code 0.
    pub covered: bool,
    /// Entries of the directory that must be covered: files, links, special files.
    pub files: u64,
    /// Bytes of its regular files.
    pub bytes: u64,
    /// Files without an equal file, sorted by path. Files that have only a near copy are among
    /// them.
    pub missing: Vec<MissingRow>,
    /// The `missing` files that resemble a file in a directory of `by`; it is not safe to delete
    /// them.
    pub near: Vec<NearRow>,
    /// Files that are covered only by a hard link of the same inode.
    pub linked: Vec<CoverPair>,
    /// Files that are covered by another file with equal bytes.
    #[serde(default)]
    pub copies: Vec<CoverPair>,
    /// Files whose only equal file is in a catalogue. Digests were compared, but no bytes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub recorded: Vec<CoverPair>,
}

/// A row of the answer to `covered`, as it is sent.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum CoveredPart {
    /// The totals. They are sent first.
    Summary {
        /// True if everything is covered: see [`Coverage`].
        covered: bool,
        /// The number of entries that must be covered: see [`Coverage`].
        files: u64,
        /// The number of bytes of regular files: see [`Coverage`].
        bytes: u64,
    },
    /// A file that is not covered.
    Missing(MissingRow),
    /// A file that is not covered, but has a near copy.
    Near(NearRow),
    /// A file that is covered by a hard link.
    Linked(CoverPair),
    /// A file that is covered by another file.
    Copy(CoverPair),
    /// A file whose only equal file is in a catalogue. Only the digests were compared.
    Recorded(CoverPair),
}

impl Parts for Coverage {
    type Part = CoveredPart;

    fn add(&mut self, part: CoveredPart) {
        match part {
            CoveredPart::Summary {
                covered,
                files,
                bytes,
            } => {
                self.covered = covered;
                self.files = files;
                self.bytes = bytes;
            }
            CoveredPart::Missing(row) => self.missing.push(row),
            CoveredPart::Near(row) => self.near.push(row),
            CoveredPart::Linked(row) => self.linked.push(row),
            CoveredPart::Copy(row) => self.copies.push(row),
            CoveredPart::Recorded(row) => self.recorded.push(row),
        }
    }

    fn into_parts(self) -> impl Iterator<Item = CoveredPart> {
        let summary = CoveredPart::Summary {
            covered: self.covered,
            files: self.files,
            bytes: self.bytes,
        };
        std::iter::once(summary)
            .chain(self.missing.into_iter().map(CoveredPart::Missing))
            .chain(self.near.into_iter().map(CoveredPart::Near))
            .chain(self.linked.into_iter().map(CoveredPart::Linked))
            .chain(self.copies.into_iter().map(CoveredPart::Copy))
            .chain(self.recorded.into_iter().map(CoveredPart::Recorded))
    }
}
