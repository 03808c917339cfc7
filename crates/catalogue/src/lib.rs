//! Portable catalogues: all that the index knows of a tree, in one file, without the tree.
//!
//! Such a tree may be on a disk in a drawer, on another machine, or in an archive that was shipped.
//! With a catalogue, questions about the contents of the tree can be answered without the tree.
//! Forman, Eshghi and Chiocchetti (2005, section 4) share "only the file-chunk metadata" between
//! sites. A catalogue has that metadata (digests and chunks), and everything else that a question
//! needs: names, samples, and members of archives.
//!
//! ```text
//! Snapshot ── write ──► FILE ── read ──► records ── load ──► index, under a path that no file has
//! ```
//!
//! 1. **A catalogue becomes a tree of the index** ([`load()`]), so every question treats it like
//!    any other root. The path of that tree ([`resemble_proto::catalogued`]) cannot exist in a file
//!    system, so the files of the tree cannot be opened. If a question has to open such a file, it
//!    fails with `AskError::Elsewhere` (`resemble-relate`).
//! 2. **The format is a stream of records** (`format`), written in one pass. A content precedes the
//!    records that refer to it. At the end is a digest of everything before it. A catalogue is read
//!    twice: the first pass verifies this digest, and the second pass reads the records.
//! 3. **A catalogue may be malformed**: anyone can compute the digest at its end. So lengths are
//!    checked before memory is allocated, names before they are joined, and numbers before they are
//!    added. Digests, chunks and samples have to be trusted, because the bytes that would prove
//!    them are not available.
//! 4. **The index's own data take precedence**: if a file of the index has a content, the catalogue
//!    does not replace the data of that content. A catalogue that is loaded for one question is
//!    removed after the answer. The data of a kept catalogue also serve later files with the same
//!    contents.
//! 5. **Samples are thinned to limit the size** ([`Samples`]). A set of samples can always be
//!    thinned further. So two sets are compared after the denser set is thinned to the level of the
//!    other set. All chunks are written, because they prove shared bytes.
//! 6. **The same state of a tree gives the same bytes** on every machine. A catalogue has no ids,
//!    inodes, device numbers, host names or times of reading. The time of writing is set by the
//!    caller.

pub mod delta;
mod format;
mod kept;
mod load;
mod read;
mod records;
#[cfg(test)]
mod tests;
mod thin;
mod write;

use std::io;
use std::path::{Path, PathBuf};

use resemble_index::{ApplyError, ReadError};
use resemble_proto::message::{CatalogueForm, reason};
use resemble_proto::number::Fraction;
use serde::{Deserialize, Serialize};

pub use format::{Apart, CatalogueRecord, EntryKind, PackedContent, Part};
pub use kept::{Received, claimed_checksum, file_of_label, forget, kept, receive};
pub use load::{Loaded, fits, load, unload, unload_stray};
pub use read::{Catalogue, is_catalogue, open};
pub use write::write;

/// The version of the format that is written. It is the only version that is read.
pub const VERSION: u64 = 1;

/// The options of writing a catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Details {
    /// The label of the catalogue: see [`resemble_proto::catalogued::is_label`].
    pub label: String,
    /// The time of writing, in seconds since 1970.
    pub created: i64,
    /// True if names, modification times, directories and links are written. If false, only the
    /// files are written, in the order of their digests.
    pub names: bool,
    /// True if the texts of documents and the members of archives are also written.
    pub text: bool,
    /// The density of the samples.
    pub samples: Samples,
}

/// Limits the number of samples in a catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Samples {
    /// All samples of the index.
    #[default]
    All,
    /// At most this number of fingerprints for each content.
    AtMost(u32),
    /// The largest number of samples with which the size of the catalogue is within a fraction of
    /// the size of its files. But at least 16 samples of each content are written. The written
    /// catalogue states the number that was chosen ([`Self::AtMost`]), or [`Self::All`] if all
    /// samples fitted.
    Within {
        /// The maximum size of the catalogue as a fraction of the size of the files.
        part: Fraction,
        /// If a catalogue with all samples has at most this number of bytes, it keeps all samples.
        small: u64,
    },
}

impl From<&CatalogueForm> for Details {
    fn from(form: &CatalogueForm) -> Self {
        Self {
            label: form.label.clone(),
            created: form.created,
            names: form.names,
            text: form.text,
            samples: if form.within == Fraction::ONE {
                Samples::All
            } else {
                Samples::Within {
                    part: form.within,
                    small: form.small,
                }
            },
        }
    }
}

/// The first record of a catalogue.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Head {
    /// The parameters with which the contents of the catalogue were digested, as
    /// [`resemble_core::Params`] prints them.
    pub params: String,
    /// The options with which the catalogue was written.
    pub details: Details,
}

/// The totals of a catalogue.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Totals {
    /// The number of distinct contents, including contents in archives.
    pub contents: u64,
    /// The number of files. Hard links to one file count as one file.
    pub files: u64,
    /// The sum of the sizes of the files in bytes.
    pub bytes: u64,
    /// The number of files that could not be read, and of files that the index left out. The
    /// catalogue has no content for them.
    pub unread: u64,
}

/// The reason why a catalogue cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CatalogueError {
    /// The catalogue cannot be read.
    #[error("cannot read the catalogue {}: {}", file.display(), reason(source))]
    Read {
        /// The file.
        file: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The file is not a catalogue, or it has changed since it was written.
    #[error("{} cannot be used as a catalogue: {what}", file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// The fault, and how to correct it.
        what: &'static str,
    },
    /// The catalogue was written by another version.
    #[error(
        "{} was written in version {version} of its format, and this program reads version \
         {VERSION}: write it again, or use the program that wrote it",
        file.display()
    )]
    Version {
        /// The file.
        file: PathBuf,
        /// The version of the file's format.
        version: u64,
    },
    /// A delta was made from another catalogue than the given base.
    #[error(
        "{} does not continue {}: it was made of another catalogue, or of an older or newer one",
        delta.display(),
        base.display()
    )]
    OtherBase {
        /// The delta.
        delta: PathBuf,
        /// The catalogue that the delta was to be joined with.
        base: PathBuf,
    },
    /// The contents of the catalogue were digested with other parameters than those of the index.
    #[error(
        "{} was made with the parameters {theirs}, and this index has {ours}: pieces of other \
         sizes have nothing in common; write it again with the same --chunk-size, or ask with its \
         own",
        file.display()
    )]
    Params {
        /// The file.
        file: PathBuf,
        /// The parameters of the catalogue.
        theirs: String,
        /// The parameters of the index.
        ours: String,
    },
    /// No catalogue has this label.
    #[error("no catalogue {label:?} is kept; `resemble catalogue list` names them")]
    Unknown {
        /// The label.
        label: String,
    },
    /// The catalogue cannot be stored in the folder of imported catalogues, or removed from it.
    #[error("cannot keep {}: {}", file.display(), reason(source))]
    Keep {
        /// The file that could not be written or removed.
        file: PathBuf,
        /// The kernel's error.
        source: io::Error,
    },
    /// The index cannot be written.
    #[error(transparent)]
    Apply(#[from] ApplyError),
    /// The index cannot be read.
    #[error(transparent)]
    Index(#[from] ReadError),
}

impl CatalogueError {
    /// In the errors `Damaged`, `Version` and `Params`, replaces the path of a copy by the path of
    /// the original file. Returns other errors unchanged.
    #[must_use]
    pub fn of(self, original: &Path) -> Self {
        let file = original.to_owned();
        match self {
            Self::Damaged { what, .. } => Self::Damaged { file, what },
            Self::Version { version, .. } => Self::Version { file, version },
            Self::Params { theirs, ours, .. } => Self::Params { file, theirs, ours },
            other => other,
        }
    }
}

/// Returns the catalogue file that a path of a question refers to. `folder` is the folder of
/// imported catalogues.
pub fn file_of(root: &Path, folder: Option<&Path>) -> Result<PathBuf, CatalogueError> {
    use resemble_proto::catalogued::{Source, source_of};
    match source_of(root) {
        Some((Source::File(file), ..)) => Ok(file),
        Some((Source::Label(label), ..)) => {
            let file = folder.map(|folder| file_of_label(folder, &label));
            file.filter(|file| file.is_file())
                .ok_or(CatalogueError::Unknown { label })
        }
        None => Err(CatalogueError::Unknown {
            label: root.display().to_string(),
        }),
    }
}
